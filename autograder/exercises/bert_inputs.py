"""09_bert: from a word to its pieces, and from pieces to what the model is fed."""

from autograder.exercise import exercise, holds, mistake
from helpers import bert

PLAIN = {"gradient": False, "fake": False, "dtypes": ()}  # lists and text: no tensor, so no gradient and no GPU
UNKNOWN = ["[UNK]"]


def _inside(start):
    return "##" if start else ""


def _from_the_end(n, start):
    return range(n, start, -1)


def _pieces(ends=_from_the_end, looked_up=_inside, written=_inside, stuck=lambda pieces, rest: UNKNOWN):
    """Greedy matching in steps that can be exchanged one by one."""

    def made(word, vocabulary):
        pieces, start = [], 0
        while start < len(word):
            tries = (word[start:end] for end in ends(len(word), start))
            found = next((piece for piece in tries if looked_up(start) + piece in vocabulary), None)
            if found is None:
                return stuck(pieces, word[start:])
            pieces.append(written(start) + found)
            start += len(found)
        return pieces

    return made


def _letter_unknown(word, vocabulary):
    """What does not match costs one letter, and the rest goes on."""
    pieces, start = [], 0
    while start < len(word):
        tries = (_inside(start) + word[start:end] for end in _from_the_end(len(word), start))
        found = next((piece for piece in tries if piece in vocabulary), None)
        pieces.append(found or "[UNK]")
        start += len(found) - len(_inside(start)) if found else 1
    return pieces


def _all_ways(word, vocabulary, start=0):
    """Every way to cut the word, the longest first pieces first."""
    if start == len(word):
        yield []
    for end in _from_the_end(len(word), start):
        piece = _inside(start) + word[start:end]
        if piece in vocabulary:
            yield from ([piece, *rest] for rest in _all_ways(word, vocabulary, end))


def _backtracking(word, vocabulary):
    return next(_all_ways(word, vocabulary), UNKNOWN)


def _fewest(word, vocabulary):
    return min(_all_ways(word, vocabulary), key=len, default=UNKNOWN)


def _from_the_right(word, vocabulary):
    pieces, end = [], len(word)
    while end:
        tries = (_inside(start) + word[start:end] for start in range(end))
        found = next((piece for piece in tries if piece in vocabulary), None)
        if found is None:
            return UNKNOWN
        pieces.insert(0, found)
        end -= len(found.removeprefix("##"))
    return pieces


def _hashes_counted(word, vocabulary):
    """The two signs of `##` are taken for letters of the word."""
    pieces, start = [], 0
    while start < len(word):
        tries = (_inside(start) + word[start:end] for end in _from_the_end(len(word), start))
        found = next((piece for piece in tries if piece in vocabulary), None)
        if found is None:
            return UNKNOWN
        pieces.append(found)
        start += len(found)
    return pieces


def _put_together(pieces, word, vocabulary):
    return pieces == UNKNOWN or "".join(p.removeprefix("##") if i else p for i, p in enumerate(pieces)) == word


@exercise("bert.wordpiece", points=2, minutes=12, difficulty=2, **PLAIN)
class WordPiece:
    """A word as pieces of the vocabulary: each time the longest that fits, from left to right, with no way back.

    A piece that does not begin the word is found, and given, with `##` before it. Where nothing fits the whole word is
    `["[UNK]"]`. Upper and lower case are different letters here. The vocabulary may be any collection: ask it
    `piece in vocabulary`.
    """

    signature = "wordpiece(word: str, vocabulary: list[str]) -> list[str]"
    reference = bert.wordpiece
    shortcuts = ["WordPiece", "BertWordPieceTokenizer", "BertTokenizer", "BertTokenizerFast", "AutoTokenizer"]
    why = "A few thousand pieces now spell every word, and the `tokenizers` library cuts 10,000 words just as you do."
    hints = [
        "At a place in the word try the whole rest, then one letter less, and so on: the first hit is the longest.",
        "Two numbers are enough, start and end. The piece to look up is `word[start:end]`, after `##` if start > 0.",
        "Outer loop: `while start < len(word)`. Inner: `for end in range(len(word), start, -1)`; at a hit append, set "
        'start to end, break. Without a hit (`for … else`) return `["[UNK]"]`.',
    ]

    def cases(rng):
        a, b, c, d, e = (chr(97 + i) for i in rng.permutation(26)[:5].tolist())
        known = [a, a + b, "##" + b, "##" + c, "##" + c + d, "##" + d, b, c, c + d + e, "##" + a, "##" + a + b + c]
        return [
            (a + b + c + d + a, ["[UNK]", *known]),
            (a + b + a + b + c, known),
            (a + b, known),
            (a, known),
            (a + c + d + e, known),  # stuck at its end
            (e + a + b, known),  # stuck at its beginning
            (a + e + b, known),  # stuck in the middle
            (d + a, known),  # d is known inside a word only
            (a + b + c, [a, a + b, "##" + b + c]),  # there is a way, but no greedy one
            (a + b + c + d, [a, a + b, a + b + c, "##" + b + c + d, "##" + d, "##" + c]),
            (a + b + c + d + e, [a + b + c, a, "##" + d, "##" + e, "##" + b + c + d + e]),  # three, where two would do
            (a + b + c + d + e, [a + b, a, "##" + c, "##" + d + e, "##" + b + c + d, "##" + c + d, "##" + e]),
            (a * 7, [a, a * 3, "##" + a, "##" + a * 2]),
            (a + b + b, [a, a + b, b, b + b]),  # nothing that goes inside a word
            ((a + b).upper(), known),
            (b.upper() + a, [*known, b.upper()]),
            ("é" + a + "ß", [a, "é", "##ß", "##" + a, "##é"]),
            (a + b + c + c + d, dict.fromkeys(known, 0)),
            ((a + b + c + d + e) * 5, [a, (a + b + c + d + e) * 3, "##" + (a + b + c + d + e) * 2]),  # long pieces
        ]

    properties = [
        holds(
            "a list of pieces",
            lambda pieces, *given: type(pieces) is list and all(type(piece) is str for piece in pieces),
            'A list of texts is due, `["[UNK]"]` too.',
        ),
        holds(
            "pieces of the vocabulary",
            lambda pieces, word, vocabulary: pieces == UNKNOWN or all(piece in vocabulary for piece in pieces),
            "Some piece of yours is not in the vocabulary as you give it: with its `##`, if it stands inside the word.",
        ),
        holds(
            "the word again",
            _put_together,
            "Your pieces, put together again without `##`, are not the word: no letter may be lost or told twice.",
        ),
    ]
    mistakes = [
        mistake(
            "shortest match",
            _pieces(ends=lambda n, start: range(start + 1, n + 1)),
            "You take the shortest piece that fits: start from the whole rest and shorten it from the end.",
        ),
        mistake(
            "## missing",
            _pieces(looked_up=lambda start: "", written=lambda start: ""),
            "You look for pieces inside the word as if they began one: there the vocabulary has them with `##`.",
        ),
        mistake(
            "## only looked up",
            _pieces(written=lambda start: ""),
            "You look pieces up with `##` and give them without: then nobody can tell where a word begins.",
        ),
        mistake(
            "## only given",
            _pieces(looked_up=lambda start: ""),
            "You write `##` before pieces that you looked up without it: look up what you give.",
        ),
        mistake(
            "## everywhere",
            _pieces(looked_up=lambda start: "##", written=lambda start: "##"),
            "Your first piece has `##`, too: only what does not begin the word has it.",
        ),
        mistake(
            "## counted as letters",
            _hashes_counted,
            "After a piece inside the word you go on two letters too far: `##` is in the vocabulary, not in the word.",
        ),
        mistake(
            "part kept",
            _pieces(stuck=lambda pieces, rest: pieces),
            'Where nothing fits you give the pieces found before: the whole word becomes `["[UNK]"]`.',
        ),
        mistake(
            "part kept before [UNK]",
            _pieces(stuck=lambda pieces, rest: pieces + UNKNOWN),
            'Where nothing fits you put "[UNK]" behind the pieces found before: it stands for the whole word, alone.',
        ),
        mistake(
            "[UNK] for a letter",
            _letter_unknown,
            "You call one letter unknown and go on: where nothing fits the whole word is unknown.",
        ),
        mistake(
            "[UNK] is no list",
            _pieces(stuck=lambda pieces, rest: "[UNK]"),
            'You give "[UNK]" by itself: a list is due, `["[UNK]"]`, so that nobody takes it for five pieces.',
        ),
        mistake(
            "empty where stuck",
            _pieces(stuck=lambda pieces, rest: []),
            'Where nothing fits you give no piece at all, and the word is gone: `["[UNK]"]`.',
        ),
        mistake(
            "the rest as it is",
            _pieces(stuck=lambda pieces, rest: [*pieces, _inside(len(pieces)) + rest]),
            "Where nothing fits you give the rest as it stands, and the model has no id for it: the word is unknown.",
        ),
        mistake(
            "backtracking",
            _backtracking,
            "You go back to shorter pieces where the longest lead nowhere: greedy means no way back, so it is unknown.",
        ),
        mistake(
            "fewest pieces",
            _fewest,
            "You look for the fewest pieces: WordPiece takes the longest at each place, even where it costs one more.",
        ),
        mistake(
            "from the right",
            _from_the_right,
            "You take the longest piece at the end of the word first: begin on the left.",
        ),
        mistake(
            "never the whole rest",
            _pieces(ends=lambda n, start: range(max(n - 1, start + 1), start, -1)),
            "You never try the whole rest: the first end to try is `len(word)`, and slices stop before their end.",
        ),
        mistake(
            "single letters never tried",
            _pieces(ends=lambda n, start: range(n, start + 1, -1)),
            "You stop before pieces of one letter: `range(len(word), start, -1)` ends at start + 1.",
        ),
        mistake(
            "lower case",
            lambda word, vocabulary: bert.wordpiece(word.lower(), vocabulary),
            "You make the word lower case: that is for another step, before this one; here it stays as it is.",
        ),
        mistake(
            "letters",
            lambda word, vocabulary: [_inside(i) + letter for i, letter in enumerate(word)],
            "You give every letter by itself: a piece is the longest part that the vocabulary has.",
        ),
        mistake(
            "only the first piece",
            lambda word, vocabulary: bert.wordpiece(word, vocabulary)[:1],
            "You stop after the first piece: go on with the rest until nothing is left.",
        ),
        mistake(
            "one text",
            lambda word, vocabulary: " ".join(bert.wordpiece(word, vocabulary)),
            "You give one text: a list of pieces is due.",
        ),
    ]


# ---- inputs ----


def _shorter(a, b, room):
    """Longest first, ties from b."""
    a, b = list(a), list(b)
    while len(a) + len(b) > room:
        (a if len(a) > len(b) else b).pop()
    return a, b


def _ties_from_a(a, b, room):
    return tuple(reversed(_shorter(b, a, room)))


def _from_the_front(a, b, room):
    kept_a, kept_b = _shorter(a, b, room)
    return a[len(a) - len(kept_a) :], b[len(b) - len(kept_b) :]


def _in_place(a, b, room):
    while len(a) + len(b) > room:
        (a if len(a) > len(b) else b).pop()
    return a, b


def _one_of_each(a, b, room):
    while len(a) + len(b) > room:
        a, b = a[:-1], b[:-1]
    return a, b


def _in_proportion(a, b, room):
    whole = len(a) + len(b)
    if whole <= room:
        return a, b
    n = round(room * len(a) / whole)
    return a[:n], b[: room - n]


def _inputs(
    shorten=_shorter,
    room=lambda max_len, paired: max_len - (3 if paired else 2),
    join=lambda a, b, cls, sep: ([cls, *a, sep], [] if b is None else [*b, sep]),
    segments=lambda first, second, n_pads: [0] * len(first) + [1] * len(second) + [0] * n_pads,
    mask=lambda n_real, n_pads: [1] * n_real + [0] * n_pads,
    pad=lambda ids, n_pads, pad_id: ids + [pad_id] * n_pads,
    paired=lambda b: b is not None,
    cut=lambda row, max_len: row,
):
    """Inputs in steps that can be exchanged one by one."""

    def made(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
        a, kept = shorten(a, b if paired(b) else [], room(max_len, paired(b)))
        first, second = join(a, kept if paired(b) else None, cls_id, sep_id)
        n_real = min(len(first) + len(second), max_len)
        n_pads = max_len - n_real
        rows = pad(first + second, n_pads, pad_id), segments(first, second, n_pads), mask(n_real, n_pads)
        return tuple(cut(row, max_len) for row in rows)

    return made


def _middle_sep_counted_to_b(first, second, n_pads):
    return [0] * (len(first) - bool(second)) + [1] * (len(second) + bool(second)) + [0] * n_pads


def _no_middle_sep(a, b, cls, sep):
    return ([cls, *a, sep], []) if b is None else ([cls, *a], [*b, sep])


def _second_cls(a, b, cls, sep):
    return [cls, *a, sep], [] if b is None else [cls, *b, sep]


def _second_sep_always(a, b, cls, sep):
    return [cls, *a, sep], [*(b or []), sep]


def _hard_coded(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    return bert.build_inputs(a, b, max_len)


def _pads_first(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    ids, segments, mask = bert.build_inputs(a, b, max_len, pad_id, cls_id, sep_id)
    n = sum(mask)
    return ids[n:] + ids[:n], segments[n:] + segments[:n], mask[n:] + mask[:n]


def _unpadded(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    rows = bert.build_inputs(a, b, max_len, pad_id, cls_id, sep_id)
    return tuple(row[: sum(rows[2])] for row in rows)


def _each(change):
    """The right rows, changed."""
    return lambda a, b, max_len, *ids, **more: change(*bert.build_inputs(a, b, max_len, *ids, **more))


def _of_length(rows, max_len):
    return len(rows) == 3 and all(type(row) in (list, tuple) and len(row) == max_len for row in rows)


@exercise("bert.build_inputs", points=3, minutes=15, difficulty=2, **PLAIN)
class BuildInputs:
    """`[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]`, padded: ids, segment ids and attention mask, lists of max_len each.

    Too long together? Tokens go one by one from the end of the longer text, from b's where both are as long. A [SEP]
    belongs to the text that it ends: 0 for a, 1 for b. Padding has segment 0; the mask is 1 at all else. b is None
    where there is one text only; max_len has room for the special tokens.
    """

    signature = (
        "build_inputs(a: list[int], b: list[int] | None, max_len: int, pad_id: int = 0, cls_id: int = 101,\n"
        "             sep_id: int = 102) -> tuple[list[int], list[int], list[int]]"
    )
    reference = bert.build_inputs
    shortcuts = ["BertTokenizer", "BertTokenizerFast", "AutoTokenizer", "BertProcessing", "TemplateProcessing"]
    why = "Three rows of numbers: what stands there, whose it is, and what is real. BERT is told nothing else."
    hints = [
        "First make room (max_len less two special tokens, or three), then put the special tokens in, then pad.",
        "`while len(a) + len(b) > room:` take the last token from the longer one; copy the lists first.",
        "`first = [cls_id, *a, sep_id]`, `second = [*b, sep_id]` or `[]`: ids are both and pads, segments "
        "`[0] * len(first) + [1] * len(second)` and zeros, the mask ones for both and zeros.",
    ]

    def cases(rng):
        def text(n):
            return (rng.permutation(800)[:n] + 1000).tolist()

        ids = {"pad_id": 3, "cls_id": 997, "sep_id": 998}
        return [
            (text(5), text(3), 14, *ids.values()),
            (text(9), text(4), 12),  # nine or room: a loses first
            (text(3), text(8), 11),
            (text(6), text(6), 12),  # an odd number left: b gives the last
            (text(7), text(6), 12),
            (text(4), None, 9, *ids.values()),
            (text(11), None, 8),
            (text(5), None, 7),  # just full
            (text(4), text(3), 10),  # just full
            (text(1), text(1), 4),  # one token's room: a's
            (text(2), text(5), 3),  # none left of either
            (text(3), None, 2),
            (text(rng.integer(20, 40)), text(rng.integer(41, 60)), 43, *ids.values()),
            (text(rng.integer(2, 9)), text(rng.integer(2, 9)), 31),
        ]

    properties = [
        holds(
            "three lists of max_len",
            lambda rows, a, b, max_len, *ids: _of_length(rows, max_len),
            "Three lists of max_len numbers each are due: ids, segment ids, attention mask.",
        ),
        holds(
            "begins with [CLS]",
            lambda rows, a, b, max_len, *ids: rows[0][0] == ([*ids, 0, 101][1] if ids else 101),
            "The first id is [CLS], `cls_id`: what it sees is what the text as a whole is judged by.",
        ),
        holds(
            "as many [SEP] as texts",
            lambda rows, a, b, max_len, *ids: rows[0].count(ids[2] if ids else 102) == 1 + (b is not None),
            "Each text ends in one [SEP], however short it was cut: count them in your ids.",
        ),
        holds(
            "mask 1 for all that is real",
            lambda rows, a, b, max_len, *ids: (
                rows[2] == [int(i < min(len(a) + 2 + (b is not None) + len(b or ()), max_len)) for i in range(max_len)]
            ),
            "Your mask is not 1 at tokens, special ones too, and 0 at padding.",
        ),
    ]
    mistakes = [
        mistake(
            "last [SEP] lost",
            _inputs(shorten=lambda a, b, room: (a, b), cut=lambda row, max_len: row[:max_len]),
            "You cut at max_len when the special tokens are in, so the last [SEP] is lost: make room first.",
        ),
        mistake(
            "segment of the middle [SEP]",
            _inputs(segments=_middle_sep_counted_to_b),
            "Your middle [SEP] has segment 1: it ends a, so it is of segment 0.",
        ),
        mistake(
            "mask inverted",
            _inputs(mask=lambda n_real, n_pads: [0] * n_real + [1] * n_pads),
            "Your mask is 1 at padding: it is 1 at what may be looked at.",
        ),
        mistake(
            "mask of ones",
            _inputs(mask=lambda n_real, n_pads: [1] * (n_real + n_pads)),
            "Your mask is 1 everywhere, so pads are read as tokens: 0 at padding.",
        ),
        mistake(
            "special tokens hidden",
            _inputs(mask=lambda n_real, n_pads: [0] + [1] * (n_real - 2) + [0] * (n_pads + 1)),
            "Your mask hides [CLS] and the last [SEP]: they are tokens like others, only padding is hidden.",
        ),
        mistake(
            "mask of True and False",
            _inputs(mask=lambda n_real, n_pads: [True] * n_real + [False] * n_pads),
            "Your mask says True and False: 1 and 0 are asked for, `int(…)`.",
        ),
        mistake(
            "padding of segment 1",
            _inputs(segments=lambda first, second, n_pads: [0] * len(first) + [1] * (len(second) + n_pads)),
            "Your padding has segment 1: it belongs to no text and has 0.",
        ),
        mistake(
            "one segment",
            _inputs(segments=lambda first, second, n_pads: [0] * (len(first) + len(second) + n_pads)),
            "Your segment ids are all 0, so nothing but a [SEP] tells b from a: 1 for b and the [SEP] that ends it.",
        ),
        mistake(
            "segments from 1",
            _inputs(segments=lambda first, second, n_pads: [1] * len(first) + [2] * len(second) + [0] * n_pads),
            "Your segments are 1 and 2: they are 0 for a and 1 for b, there are only two embeddings.",
        ),
        mistake(
            "ties from a",
            _inputs(shorten=_ties_from_a),
            "Where both texts are as long you shorten a: then it is b's turn, so take from a only where it is longer.",
        ),
        mistake(
            "from the front",
            _inputs(shorten=_from_the_front),
            "You take tokens from the front: they go from the end.",
        ),
        mistake(
            "only b is cut",
            _inputs(shorten=lambda a, b, room: (a[:room], b[: max(room - len(a), 0)])),
            "You keep a as it is and shorten b alone: it is the longer one's turn, token by token.",
        ),
        mistake(
            "only a is cut",
            _inputs(shorten=lambda a, b, room: (a[: max(room - len(b), 0)], b[:room])),
            "You keep b as it is and shorten a alone: it is the longer one's turn, token by token.",
        ),
        mistake(
            "half for each",
            _inputs(shorten=lambda a, b, room: (a[: room - room // 2], b[: room // 2]) if b else (a[:room], b)),
            "You give each text half the room, and lose tokens though the other leaves some: shorten only until both "
            "fit together.",
        ),
        mistake(
            "one of each",
            _inputs(shorten=_one_of_each),
            "You take a token from both texts at a time: take it from the longer one, and look anew.",
        ),
        mistake(
            "in proportion",
            _inputs(shorten=_in_proportion),
            "You shorten both in proportion: the longer one gives until both are as long.",
        ),
        mistake(
            "changes its input",
            _inputs(shorten=_in_place),
            "You `pop()` from the lists that you were given, and the caller's texts are gone: copy them first.",
        ),
        mistake(
            "room of a pair",
            _inputs(room=lambda max_len, paired: max_len - 3 if max_len > 2 else 0),
            "You keep room for three special tokens where there is one text: it has two.",
        ),
        mistake(
            "no room for special tokens",
            _inputs(room=lambda max_len, paired: max_len),
            "You fill all of max_len with the texts, and your ids are longer: leave room for [CLS] and each [SEP].",
        ),
        mistake(
            "a second [SEP] without b",
            _inputs(join=_second_sep_always),
            "Without b you put a second [SEP]: there is one text, and one [SEP].",
        ),
        mistake(
            "no [SEP] between",
            _inputs(join=_no_middle_sep, room=lambda max_len, paired: max_len - 2),
            "There is no [SEP] between your texts: each ends in one.",
        ),
        mistake(
            "a second [CLS]",
            _inputs(join=_second_cls, room=lambda max_len, paired: max(max_len - 2 - 2 * paired, 0)),
            "You put a [CLS] before b, too: there is one, at the very beginning.",
        ),
        mistake(
            "b emptied and left out",
            lambda a, b, max_len, *ids: _inputs()(
                a, b if b and _shorter(a, b, max_len - 3)[1] else None, max_len, *ids
            ),
            "Where b has lost all its tokens you leave its [SEP] out, too: `b is not None`, not `if b`.",
        ),
        mistake(
            "ids hard-coded",
            _hard_coded,
            "You put 0, 101 and 102, whatever you are given: use pad_id, cls_id and sep_id.",
        ),
        mistake(
            "pads first",
            _pads_first,
            "Your padding stands in front, so [CLS] is not at position 0: pad at the end.",
        ),
        mistake(
            "no padding",
            _unpadded,
            "Short texts are not padded: fill all three lists up to max_len.",
        ),
        mistake(
            "only ids padded",
            _each(lambda ids, segments, mask: (ids, segments[: sum(mask)], mask[: sum(mask)])),
            "Only your ids are padded: segment ids and mask need max_len numbers, too, zeros at padding.",
        ),
        mistake(
            "mask before segments",
            _each(lambda ids, segments, mask: (ids, mask, segments)),
            "You give the mask before the segment ids: ids, segment ids, mask.",
        ),
        mistake(
            "ids alone",
            _each(lambda ids, segments, mask: ids),
            "You give the ids alone: segment ids and attention mask come with them, in a tuple of three.",
        ),
    ]
