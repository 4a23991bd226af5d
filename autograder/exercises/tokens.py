"""07_language_model: from text to tokens, one frequent pair at a time."""

from collections import Counter
from itertools import pairwise

from autograder.exercise import exercise, holds, mistake
from helpers.text import bpe

PLAIN = {"gradient": False, "fake": False, "dtypes": ()}  # lists and text: no tensor, so no gradient and no GPU


def _last_met(ids):
    counts = Counter(pairwise(ids))
    return max(reversed(counts), key=counts.get, default=None)


def _smallest(ids):
    counts = Counter(pairwise(ids))
    return min(counts, key=lambda pair: (-counts[pair], pair), default=None)


def _largest(ids):
    counts = Counter(pairwise(ids))
    return max(counts, key=lambda pair: (counts[pair], pair), default=None)


def _without_overlap(ids):
    counts, i, before = Counter(), 0, None
    while i < len(ids) - 1:
        pair = (ids[i], ids[i + 1])
        overlaps = pair == before and pair[0] == pair[1]
        before = None if overlaps else pair
        counts[pair] += not overlaps
        i += 1
    return max(counts, key=counts.get, default=None)


def _of(pairs):
    """The first of the most frequent among `pairs(ids)`."""

    def found(ids):
        counts = Counter(pairs(ids))
        return max(counts, key=counts.get, default=None)

    return found


@exercise("tokens.most_frequent_pair", points=1, minutes=8, difficulty=1, **PLAIN)
class MostFrequentPair:
    """Of a list of ids, the pair that stands side by side most often; of equals, the one met first."""

    signature = "most_frequent_pair(ids: list[int]) -> tuple[int, int]"
    reference = bpe.most_frequent_pair
    why = "One pair, counted honestly, is all that byte-pair encoding ever decides; the rest is repetition."
    hints = [
        "`zip(ids, ids[1:])` walks over every two neighbours, overlaps included.",
        "A `Counter` (or a dictionary) remembers the order in which its keys were first met.",
        "`max(counts, key=counts.get)` keeps the first of equals.",
    ]

    def cases(rng):
        a, b, c, d, e, f = (rng.permutation(90) + 10)[:6].sort().values.tolist()
        return [
            ([d, a],),
            ([b, b],),
            ([c, d, a, b, c, d],),
            ([d, e, a, f, a, f, d, e],),  # a tie, met first: neither the smallest nor the largest
            ([c, a, d, b, e, f],),  # everything once
            ([b, c, e, c, e, a, b, f, a, b, d, a],),  # (a, b) would win if the end met the beginning
            ([e, a, e, a, b, b, b, b],),  # three overlapping pairs
            ([b, a, c, a, b, c, b, b, a, d, a, b, e, a, b],),
            ([f, c, d, f, c, d, b, f, b, e, a, e, b, e, a],),
            ([c, d, c, d, *range(200, 241), a, b, a, b, e, a, b],),  # decided late
            (rng.integers(0, 4, rng.integer(37, 60)).tolist(),),
            (rng.integers(0, 300, 7).repeat(3).tolist(),),
        ]

    properties = [
        holds(
            "two numbers",
            lambda pair, ids: len(pair) == 2 and all(type(x) is int for x in pair),
            "A pair is two ids, as in `(101, 32)`, and nothing beside them.",
        ),
        holds(
            "neighbours",
            lambda pair, ids: tuple(pair) in pairwise(ids),
            "Your pair stands nowhere side by side in this order: walk over `zip(ids, ids[1:])`.",
        ),
    ]
    mistakes = [
        mistake(
            "last of equals",
            _last_met,
            "Of pairs that are equally frequent you take the one met last: replace the best only when the count is "
            "larger (`>`, not `>=`).",
        ),
        mistake(
            "smallest of equals",
            _smallest,
            "Of pairs that are equally frequent you take the one with the smallest ids: the one met first is asked "
            "for, so do not sort.",
        ),
        mistake(
            "largest of equals",
            _largest,
            "Of pairs that are equally frequent you take the one with the largest ids, as `max` does with "
            "`(count, pair)`: compare counts alone.",
        ),
        mistake(
            "overlaps not counted",
            _without_overlap,
            "In a run such as 7 7 7 you count (7, 7) once, but it stands at two positions: count every position.",
        ),
        mistake(
            "two by two",
            _of(lambda ids: zip(ids[::2], ids[1::2], strict=False)),
            "You cut the list into pieces of two, so every second pair of neighbours is never seen: step by one.",
        ),
        mistake(
            "either order",
            _of(lambda ids: (tuple(sorted(pair)) for pair in pairwise(ids))),
            "You count (a, b) and (b, a) as one pair, but a merge has an order: keep each as it stands.",
        ),
        mistake(
            "reversed",
            lambda ids: bpe.most_frequent_pair(ids)[::-1],
            "You found the right pair and give it backwards: the left id comes first.",
        ),
        mistake(
            "around the end",
            _of(lambda ids: zip(ids, ids[1:] + ids[:1], strict=True)),
            "You count the last id with the first one, as if the text were a ring: stop one before the end.",
        ),
        mistake(
            "the last pair missed",
            _of(lambda ids: [*pairwise(ids)][:-1]),
            "The pair at the very end is not counted: a list of n ids has n − 1 pairs.",
        ),
        mistake(
            "the first pair missed",
            _of(lambda ids: [*pairwise(ids)][1:]),
            "The pair at the very beginning is not counted: start at position 0.",
        ),
        mistake(
            "one apart",
            _of(lambda ids: zip(ids, ids[2:], strict=False)),
            "You pair each id with the one after the next: neighbours are `ids[i]` and `ids[i + 1]`.",
        ),
        mistake(
            "most frequent ids",
            lambda ids: tuple(x for x, _ in Counter(ids).most_common(2)),
            "You take the two most frequent ids, which need not stand side by side: count pairs.",
        ),
        mistake(
            "the rarest",
            lambda ids: min(counts := Counter(pairwise(ids)), key=counts.get),
            "You take the pair that is met least: it is `max` that finds the most frequent one.",
        ),
        mistake(
            "the largest pair",
            lambda ids: max(pairwise(ids)),
            "`max` compared the pairs themselves, not how often they are met: give it `key=counts.get`.",
        ),
        mistake(
            "the first pair",
            lambda ids: (ids[0], ids[1]),
            "You give the first pair whatever comes later: count them all before choosing.",
        ),
        mistake(
            "with its count",
            lambda ids: Counter(pairwise(ids)).most_common(1)[0],
            "You give the pair together with its count, as `most_common` does: the pair alone, `[0][0]`.",
        ),
        mistake(
            "in a list",
            lambda ids: Counter(pairwise(ids)).most_common(1),
            "You give a list with the pair and its count, as `most_common(1)` does: the pair alone, `[0][0]`.",
        ),
        mistake(
            "the count",
            lambda ids: max(Counter(pairwise(ids)).values()),
            "You give how often the pair is met, not which one it is.",
        ),
    ]


def _twice_where_they_overlap(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == tuple(pair):
            merged.append(new_id)
            i += 1 if tuple(ids[i + 1 : i + 3]) == tuple(pair) else 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def _from_the_right(ids, pair, new_id):
    return bpe.merge(ids[::-1], tuple(pair)[::-1], new_id)[::-1]


def _in_place(ids, pair, new_id):
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == tuple(pair):
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


def _once(ids, pair, new_id):
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == tuple(pair):
            return [*ids[:i], new_id, *ids[i + 2 :]]
    return list(ids)


def _beside_the_second(ids, pair, new_id):
    return [new_id if tuple(ids[i : i + 2]) == tuple(pair) else x for i, x in enumerate(ids)]


def _without_the_last(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids) - 1:
        found = (ids[i], ids[i + 1]) == tuple(pair)
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged


def _last_pair_missed(ids, pair, new_id):
    return bpe.merge(ids[:-1], pair, new_id) + ids[-1:]


def _either_order(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        found = sorted(ids[i : i + 2]) == sorted(pair)
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged


def _always_two_on(ids, pair, new_id):
    merged = []
    for i in range(0, len(ids), 2):
        merged += [new_id] if tuple(ids[i : i + 2]) == tuple(pair) else ids[i : i + 2]
    return merged


@exercise("tokens.merge", points=1, minutes=10, difficulty=2, **PLAIN)
class Merge:
    """A new list in which `new_id` stands for each `pair`, found from left to right without overlap."""

    signature = "merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]"
    reference = bpe.merge
    why = "The text is shorter now and nothing is lost: `new_id` still says exactly which two ids it stands for."
    hints = [
        "After a merge the two ids are used up: go on behind both of them.",
        "A `while` loop with an index that grows by 2 after a merge and by 1 otherwise.",
        "`tuple(ids[i:i + 2]) == pair` is False at the last id by itself, since the slice has one entry there.",
    ]

    def cases(rng):
        a, b, c, d = ((rng.permutation(90) + 10)[:4]).tolist()
        new = rng.integer(256, 900)
        return [
            ([c, a, b, d, a, b, b, a, c, a, b], (a, b), new),
            ([], (a, b), new),
            ([a], (a, b), new),
            ([a, b], (a, b), new),
            ([a, b, a, b, b, a, d], (a, b), new),
            ([b, a, c, b, a, d], (a, b), new),  # the other order only: nothing to merge
            ([a] * 5, (a, a), new),
            ([c, *[a] * 3, c, *[a] * 4, d], (a, a), new),
            ([b, new, a, b, new, c], (b, new), new + 1),
            ([100 + a, b, c, a, 10 * b, a, b, 100 + a], (a, b), new),  # digits alike, ids not
            (rng.integers(0, 3, rng.integer(37, 60)).tolist(), (2, 1), 3),
        ]

    properties = [
        holds(
            "a list",
            lambda new, ids, pair, new_id: type(new) is list and all(type(x) is int for x in new),
            "A list of ids is asked for: return the new one.",
        ),
        holds(
            "nothing left to merge",
            lambda new, ids, pair, new_id: tuple(pair) not in pairwise(new),
            "Somewhere the pair still stands side by side: go through the whole list.",
        ),
        holds(
            "nothing lost",
            lambda new, ids, pair, new_id: [y for x in new for y in (pair if x == new_id else [x])] == ids,
            "With `new_id` written out as its pair your list is not the one you were given: each merge takes exactly "
            "two ids, and every other id stays.",
        ),
    ]
    mistakes = [
        mistake(
            "overlapping merged twice",
            _twice_where_they_overlap,
            "In a run such as 7 7 7 you merge at both positions, so the middle 7 is used twice: go on behind both ids.",
        ),
        mistake(
            "from the right",
            _from_the_right,
            "You merge from the right end, so 7 7 7 becomes 7 and the new id: from left to right it is the new id "
            "and 7.",
        ),
        mistake(
            "changes its input",
            _in_place,
            "You change the list you were given, so the caller's text is gone: build a new list.",
        ),
        mistake(
            "nothing returned",
            lambda ids, pair, new_id: _in_place(ids, pair, new_id) and None,
            "You change the list you were given and return nothing: build a new list and return it.",
        ),
        mistake(
            "only once",
            _once,
            "You merge the first place and stop: every place where the pair stands is merged.",
        ),
        mistake(
            "second id kept",
            _beside_the_second,
            "You put the new id for the first of the two and keep the second: it stands for both, so skip two.",
        ),
        mistake(
            "last id lost",
            _without_the_last,
            "Your list ends one id early unless a merge stands at the end: the last id has no neighbour, but it stays.",
        ),
        mistake(
            "a pair at the end missed",
            _last_pair_missed,
            "A pair at the very end is not merged: let the index reach the last but one id.",
        ),
        mistake(
            "either order",
            _either_order,
            "You merge (b, a) as well as (a, b): the order counts, or nobody could undo the merge.",
        ),
        mistake(
            "two by two",
            _always_two_on,
            "You look at pieces of two only, so a pair that starts at an odd place is missed: after no merge go on by "
            "one.",
        ),
        mistake(
            "each of the two",
            lambda ids, pair, new_id: [new_id if x in pair else x for x in ids],
            "You replace each id that is in the pair, wherever it stands: only both, side by side, become one.",
        ),
        mistake(
            "removed",
            lambda ids, pair, new_id: [x for x in bpe.merge(ids, pair, new_id) if x != new_id],
            "You take the pairs out and put nothing in: append `new_id` in their place.",
        ),
        mistake(
            "not merged",
            lambda ids, pair, new_id: [new_id if ids[i : i + 2] == pair else x for i, x in enumerate(ids)],
            "Nothing is merged: a slice is a list, which never equals a tuple (nor does a single id), so compare "
            "`(ids[i], ids[i + 1])` with `pair`.",
        ),
        mistake(
            "past the end",
            lambda ids, pair, new_id: [x for i, x in enumerate(ids) if (ids[i], ids[i + 1]) != tuple(pair)],
            "At the last id you ask for `ids[i + 1]`, which is not there: look at a neighbour only where there is one.",
        ),
    ]


def _trained(ids=lambda text: list(text.encode()), best=bpe.most_frequent_pair, merge=bpe.merge, first=256, least=1):
    """Training with one part exchanged."""

    def train_bpe(text, n_merges):
        now, merges = ids(text), []
        while len(merges) < n_merges:
            pair = best(now)
            if pair is None or Counter(pairwise(now))[pair] < least:
                break
            now = merge(now, pair, first(text) + len(merges) if callable(first) else first + len(merges))
            merges.append(tuple(pair))
        return merges

    return train_bpe


def _counted_once(text, n_merges):
    return [pair for pair, _ in Counter(pairwise(text.encode())).most_common(n_merges)]


def _no_end(text, n_merges):
    ids, merges = list(text.encode()), []
    for k in range(n_merges):
        counts = Counter(pairwise(ids))
        merges.append(max(counts, key=counts.get))
        ids = bpe.merge(ids, merges[-1], 256 + k)
    return merges


def _within_words(text, n_merges):
    words, merges = [list(word.encode()) for word in text.split()], []
    while len(merges) < n_merges:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        merges.append(max(counts, key=counts.get))
        words = [bpe.merge(word, merges[-1], 255 + len(merges)) for word in words]
    return merges


def _written_out(text, n_merges):
    pieces = bpe.vocabulary(found := bpe.train_bpe(text, n_merges))
    return [(pieces[a], pieces[b]) for a, b in found]


@exercise("tokens.train_bpe", points=3, minutes=15, difficulty=3, **PLAIN)
class TrainBpe:
    """Byte-pair encoding: merge the most frequent pair of a text's bytes, and again, and list the pairs in order."""

    signature = "train_bpe(text: str, n_merges: int) -> list[tuple[int, int]]"
    reference = bpe.train_bpe
    why = "Frequent words become one token, rare ones fall into pieces, and no text is ever unknown: bytes spell it."
    hints = [
        "Start from `list(text.encode())`: the ids 0 to 255 are the bytes.",
        "Each round counts anew, in what the rounds before have left: find the pair, note it, merge it.",
        "The k-th merge (from 0) makes the id 256 + k. With fewer than two ids left there is no pair: stop there.",
    ]

    def cases(rng):
        words = ["low", "lower", "newest", "widest", "Été", "naïve", "…", "the", "then", "aaaa", "Low", "日本"]
        drawn = " ".join(words[i] for i in rng.integers(0, len(words), 17).tolist())
        letters = [chr(97 + i) for i in rng.permutation(26).tolist()]
        a, b, c, d = letters[:4]
        return [
            ("low lower lowest, newer newest, wide wider widest; slow, slower", 11),
            ("", 5),
            (a, 3),
            (f"{a}{b}{c}", 7),  # no pair is left after two merges
            (f"{a}{a}{a}{a}{a}{b}{a}{a}{a}", 4),
            (f"{c}{d}{c}{d}{a}{a}{a}{a}{b}", 3),  # a run wins by its overlaps alone
            (f"{d}{c}{a}{b}{c}{d}", 0),
            (f"{c}{d}{a}{b}{d}{c}{c}{d}{d}{c}{b}{a}{a}{b}", 6),  # ties
            ("Äpfel, Übel, Öl: ÄÄ ÖÖ ÜÜ, naïve café, 日本 日本語", 9),
            ("The theme THE THEN the Then", 6),
            (drawn, 12),
        ]

    properties = [
        holds(
            "pairs",
            lambda pairs, text, n: all(len(pair) == 2 and all(type(x) is int for x in pair) for pair in pairs),
            "A list of pairs of ids is asked for, such as `[(101, 32), (256, 116)]`.",
        ),
        holds(
            "at most n",
            lambda pairs, text, n: len(pairs) <= n,
            "You give more pairs than `n_merges`: one for each round.",
        ),
        holds(
            "ids that exist",
            lambda pairs, text, n: all(max(pair) < 256 + k for k, pair in enumerate(pairs)),
            "A pair holds an id that no round before it has made: ids below 256 are bytes, and the k-th merge (from "
            "0) makes 256 + k.",
        ),
        holds(
            "starts with bytes",
            lambda pairs, text, n: not pairs or bytes(pairs[0]) in text.encode(),
            "Your first pair does not stand side by side among the text's UTF-8 bytes: start from "
            "`list(text.encode())`.",
        ),
        holds(
            "as many as there are",
            lambda pairs, text, n: len(pairs) == len(bpe.train_bpe(text, n)),
            "The number of merges is not right: there are `n_merges`, fewer only when a single id is left.",
        ),
    ]
    mistakes = [
        mistake(
            "characters",
            _trained(ids=lambda text: [ord(x) for x in text]),
            "You start from characters (`ord`), and there are 150,000 of those: start from `text.encode()`, so that "
            "256 bytes spell everything.",
        ),
        mistake(
            "characters that fit",
            _trained(ids=lambda text: list(text.encode("ascii", "ignore"))),
            "You drop what is not ASCII, so é and 日 are lost: `text.encode()` gives UTF-8, in which nothing is.",
        ),
        mistake(
            "new ids from 255",
            _trained(first=255),
            "Your first new id is 255, which is a byte already: start at 256.",
        ),
        mistake(
            "new ids from 257",
            _trained(first=257),
            "Your new ids start at 257: the bytes end at 255, so the first merge makes 256.",
        ),
        mistake(
            "new ids after the bytes met",
            _trained(first=lambda text: len(set(text.encode()))),
            "You number new ids from how many different bytes the text has, so they collide with bytes: start at 256.",
        ),
        mistake(
            "new ids from the largest byte",
            _trained(first=lambda text: max(text.encode(), default=0) + 1),
            "Your new ids start after the largest byte of this text: others may use those bytes, so start at 256.",
        ),
        mistake(
            "counted once",
            _counted_once,
            "You count pairs once and take the most frequent ones: after each merge other pairs stand side by side, "
            "so count anew.",
        ),
        mistake(
            "one id for all",
            lambda text, n_merges: _trained(merge=lambda ids, pair, new: bpe.merge(ids, pair, 256))(text, n_merges),
            "Every merge of yours makes the id 256, so two tokens cannot be told apart: the k-th makes 256 + k.",
        ),
        mistake(
            "stops at pairs met once",
            _trained(least=2),
            "You stop when no pair is met twice: the rule here is to go on for `n_merges` rounds, as long as any pair "
            "is left.",
        ),
        mistake(
            "no end",
            _no_end,
            "When a single id is left there is no pair, and `max` has nothing to choose from: end early with the pairs "
            "so far.",
        ),
        mistake(
            "last of equals",
            _trained(best=_last_met),
            "Of pairs that are equally frequent you merge the one met last: the one met first is asked for.",
        ),
        mistake(
            "smallest of equals",
            _trained(best=_smallest),
            "Of pairs that are equally frequent you merge the one with the smallest ids: take the one met first.",
        ),
        mistake(
            "largest of equals",
            _trained(best=_largest),
            "Of pairs that are equally frequent you merge the one with the largest ids: take the one met first.",
        ),
        mistake(
            "overlaps not counted",
            _trained(best=_without_overlap),
            "In a run such as aaa you count (a, a) once, but it stands at two positions: count every position.",
        ),
        mistake(
            "overlapping merged twice",
            _trained(merge=_twice_where_they_overlap),
            "In a run such as aaa you merge at both positions, so the middle a is used twice: go on behind both ids.",
        ),
        mistake(
            "from the right",
            _trained(merge=_from_the_right),
            "You merge from the right end, so aaa becomes a and the new id: merge from left to right.",
        ),
        mistake(
            "merged once a round",
            _trained(merge=_once),
            "Each round merges a single place: merge the pair wherever it stands, then count anew.",
        ),
        mistake(
            "within words",
            _within_words,
            "You split at blanks first, as many tokenizers do, so no pair holds a blank: here the text is one line of "
            "bytes, blanks included.",
        ),
        mistake(
            "lower case",
            lambda text, n_merges: bpe.train_bpe(text.lower(), n_merges),
            "You lower the case first: The and the are different bytes, and the text is taken as it is.",
        ),
        mistake(
            "one merge too many",
            lambda text, n_merges: bpe.train_bpe(text, n_merges + 1),
            "You merge once more than asked: `n_merges` rounds, and none for 0.",
        ),
        mistake(
            "one merge too few",
            lambda text, n_merges: bpe.train_bpe(text, n_merges - 1),
            "You merge once less than asked: `range(n_merges)` has `n_merges` rounds.",
        ),
        mistake(
            "the text's ids",
            lambda text, n_merges: bpe.encode(text, bpe.train_bpe(text, n_merges)),
            "You give the text's ids after the merges: the pairs that were merged are asked for, in order.",
        ),
        mistake(
            "with their ids",
            lambda text, n_merges: [(pair, 256 + k) for k, pair in enumerate(bpe.train_bpe(text, n_merges))],
            "You give each pair with its new id: the pairs alone, since the k-th makes 256 + k anyway.",
        ),
        mistake(
            "a dictionary",
            lambda text, n_merges: {pair: 256 + k for k, pair in enumerate(bpe.train_bpe(text, n_merges))},
            "You give a dictionary from pairs to ids: a list of the pairs in order says the same.",
        ),
        mistake(
            "new ids alone",
            lambda text, n_merges: [256 + k for k, _ in enumerate(bpe.train_bpe(text, n_merges))],
            "You give the new ids: which pairs they stand for is what is asked.",
        ),
        mistake(
            "written out",
            _written_out,
            "You write the pairs out as bytes: give them as ids, in which earlier merges are numbers from 256 on.",
        ),
    ]
