"""Right and wrong answers of bert.wordpiece and bert.build_inputs, written otherwise."""


def _loops(word, vocabulary):
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in vocabulary:
                pieces.append(piece)
                start = end
                break
        else:
            return ["[UNK]"]
    return pieces


def _recursive(word, vocabulary, mark=""):
    for n in range(len(word), 0, -1):
        if mark + word[:n] in vocabulary:
            rest = _recursive(word[n:], vocabulary, "##") if word[n:] else []
            return ["[UNK]"] if rest == ["[UNK]"] else [mark + word[:n], *rest]
    return ["[UNK]"]


def _through_the_vocabulary(word, vocabulary):
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        fit = [p for p in vocabulary if p.startswith(mark) and rest.startswith(p[len(mark) :]) and len(p) > len(mark)]
        if not fit:
            return ["[UNK]"]
        pieces.append(max(fit, key=len))
        rest = rest[len(pieces[-1]) - len(mark) :]
    return pieces


def _marked_rest(word, vocabulary):
    """The rest of the word keeps its mark, so that it is looked up as it stands."""
    known, pieces, rest = set(vocabulary), [], word
    while rest not in ("", "##"):
        end = len(rest)
        while end > 0 and rest[:end] not in known:
            end -= 1
        if end == 0 or rest[:end] == "##":
            return ["[UNK]"]
        pieces.append(rest[:end])
        rest = "##" + rest[end:]
    return pieces


def _longest_anywhere(word, vocabulary):
    """The longest piece wherever it stands, then what is left of it and right of it."""
    for n in range(len(word), 0, -1):
        for i in range(len(word) - n + 1):
            if ("##" if i else "") + word[i : i + n] in vocabulary:
                left, right = word[:i], word[i + n :]
                pieces = _longest_anywhere(left, vocabulary) if left else []
                pieces = [*pieces, ("##" if i else "") + word[i : i + n]]
                return pieces + (["##" + p for p in _longest_anywhere(right, vocabulary)] if right else [])
    return ["[UNK]"]


def _no_growth(word, vocabulary):
    """Letter by letter: stops at the first prefix that is unknown, though a longer one may be known."""
    pieces, start = [], 0
    while start < len(word):
        end, mark = start, "##" if start else ""
        while end < len(word) and mark + word[start : end + 1] in vocabulary:
            end += 1
        if end == start:
            return ["[UNK]"]
        pieces.append(mark + word[start:end])
        start = end
    return pieces


def _one_hash(word, vocabulary):
    return [p.replace("##", "#") for p in _loops(word, vocabulary)]


def _sets(word, vocabulary):
    return list(dict.fromkeys(_loops(word, vocabulary)))


def _never_unknown(word, vocabulary):
    found = _loops(word, vocabulary)
    return [word] if found == ["[UNK]"] else found


def _other_unknown(word, vocabulary):
    found = _loops(word, vocabulary)
    return ["<unk>"] if found == ["[UNK]"] else found


def _popping(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    a, b, pair = a[:], (b or [])[:], b is not None
    while len(a) + len(b) + 2 + pair > max_len:
        if len(b) >= len(a):
            del b[-1]
        else:
            del a[-1]
    ids = [cls_id, *a, sep_id]
    segments = [0] * len(ids)
    if pair:
        ids += [*b, sep_id]
        segments += [1] * (len(b) + 1)
    mask = [1] * len(ids)
    while len(ids) < max_len:
        ids.append(pad_id)
        segments.append(0)
        mask.append(0)
    return ids, segments, mask


def _computed(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    """How much of each is kept, without a loop."""
    if b is None:
        ids = [cls_id, *a[: max_len - 2], sep_id]
        n_first = len(ids)
    else:
        room = max_len - 3
        n_a, n_b = len(a), len(b)
        if n_a + n_b > room:
            half = room - room // 2
            n_a, n_b = (n_a, room - n_a) if n_a < half else (room - n_b, n_b) if n_b < room // 2 else (half, room // 2)
        ids = [cls_id, *a[:n_a], sep_id, *b[:n_b], sep_id]
        n_first = n_a + 2
    n = len(ids)
    segments = [int(n_first <= i < n) for i in range(max_len)]
    return ids + [pad_id] * (max_len - n), segments, [int(i < n) for i in range(max_len)]


def _lists(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    """By rows of (id, segment, mask), and as a list of lists."""
    if b is not None:
        excess = max(len(a) + len(b) + 3 - max_len, 0)
        for _ in range(excess):
            a, b = (a[:-1], b) if len(a) > len(b) else (a, b[:-1])
    rows = [(i, 0, 1) for i in [cls_id, *(a if b is not None else a[: max_len - 2]), sep_id]]
    rows += [] if b is None else [(i, 1, 1) for i in [*b, sep_id]]
    rows += [(pad_id, 0, 0)] * (max_len - len(rows))
    return [list(column) for column in zip(*rows, strict=True)]


def _change(change):
    return lambda a, b, max_len, pad_id=0, cls_id=101, sep_id=102: change(
        *_popping(a, b, max_len, pad_id, cls_id, sep_id), max_len, pad_id, cls_id, sep_id
    )


def _empty_is_none(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    return _popping(a, b or None, max_len, pad_id, cls_id, sep_id)


def _one_short(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    rows = _popping(a, b, max_len - 1, pad_id, cls_id, sep_id)
    return rows[0] + [pad_id], rows[1] + [0], rows[2] + [0]


def _swapped(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    return _popping(a if b is None else b, None if b is None else a, max_len, pad_id, cls_id, sep_id)


VARIANTS = {
    "bert.wordpiece": [_loops, _recursive, _through_the_vocabulary, _marked_rest],
    "bert.build_inputs": [_popping, _computed, _lists],
}

WRONG = {
    "bert.wordpiece": [
        _longest_anywhere,
        _no_growth,
        _one_hash,
        _sets,
        _never_unknown,
        _other_unknown,
        lambda word, vocabulary: [word] if word in vocabulary else ["[UNK]"],
        lambda word, vocabulary: _loops(word, vocabulary)[::-1],
        lambda word, vocabulary: [list(vocabulary).index(p) for p in _loops(word, vocabulary)],
        lambda word, vocabulary: ["[CLS]", *_loops(word, vocabulary), "[SEP]"],
        lambda word, vocabulary: _loops(word, [p for p in vocabulary if len(p) < 8]),
        lambda word, vocabulary: _loops(word, vocabulary) if len(word) < 12 else ["[UNK]"],
    ],
    "bert.build_inputs": [
        _one_short,
        _swapped,
        _change(lambda ids, segments, mask, *_: (ids, segments)),
        _change(lambda ids, segments, mask, *_: {"ids": ids, "segments": segments, "mask": mask}),
        _change(lambda ids, segments, mask, *_: (ids, [1 - s for s in segments], mask)),
        _change(
            lambda ids, segments, mask, *_: (ids, segments, [float("-inf") * (1 - m) if 1 - m else 0 for m in mask])
        ),
        _change(lambda ids, segments, mask, n, pad, cls, sep: ([i for i in ids if i != pad], segments, mask)),
        _change(lambda ids, segments, mask, n, pad, cls, sep: (ids, [int(i == sep) for i in ids], mask)),
        _change(lambda ids, segments, mask, n, pad, cls, sep: ([sep, *ids[1:]], segments, mask)),
        lambda a, b, max_len, pad_id=0, cls_id=101, sep_id=102: _popping(sorted(a), b, max_len, pad_id, cls_id, sep_id),
    ],
}
