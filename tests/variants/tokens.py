"""Right and wrong answers of tokens.*, written otherwise than in the pages."""

from collections import Counter, defaultdict
from functools import reduce
from itertools import pairwise

import numpy as np
import torch

# ---- most_frequent_pair ----


def pair_by_counting_in_the_list(ids):
    pairs = list(pairwise(ids))
    return max(pairs, key=pairs.count) if pairs else None


def pair_by_hand(ids):
    counts = {}
    for i in range(len(ids) - 1):
        pair = ids[i], ids[i + 1]
        counts[pair] = counts.get(pair, 0) + 1
    best, most = None, 0
    for pair, n in counts.items():
        if n > most:
            best, most = pair, n
    return best


def pair_by_sorting(ids):
    counts, first = defaultdict(int), {}
    for i, pair in enumerate(pairwise(ids)):
        counts[pair] += 1
        first.setdefault(pair, i)
    return sorted(counts, key=lambda pair: (-counts[pair], first[pair]))[0] if counts else None


def pair_by_most_common(ids):
    return Counter(pairwise(ids)).most_common(1)[0][0] if len(ids) > 1 else None


def pair_in_numpy(ids):
    if len(ids) < 2:
        return None
    pairs = np.stack([ids[:-1], ids[1:]], 1)
    found, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    best = min(range(len(found)), key=lambda i: (-counts[i], first[i]))
    return tuple(found[best])


def pair_as_a_list(ids):
    return list(pair_by_hand(ids))


# ---- merge ----


def merge_recursively(ids, pair, new_id):
    for i in range(len(ids) - 1):
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            return [*ids[:i], new_id, *merge_recursively(ids[i + 2 :], pair, new_id)]
    return list(ids)


def merge_with_a_flag(ids, pair, new_id):
    out, skip = [], False
    for x, y in zip(ids, [*ids[1:], None], strict=False):
        if skip:
            skip = False
        elif (x, y) == tuple(pair):
            out.append(new_id)
            skip = True
        else:
            out.append(x)
    return out


def merge_of_a_copy(ids, pair, new_id):
    ids, i = ids.copy(), 0
    while i < len(ids) - 1:
        if ids[i : i + 2] == list(pair):
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


def merge_backwards_into(ids, pair, new_id):
    def step(out, x):
        if out and out[-1] == pair[0] and x == pair[1]:
            return [*out[:-1], new_id]
        return [*out, x]

    return reduce(step, ids, [])


def merge_as_text(ids, pair, new_id):
    text = "".join(map(chr, ids)).replace(chr(pair[0]) + chr(pair[1]), chr(new_id))
    return [ord(x) for x in text]


def merge_by_digits(ids, pair, new_id):
    text = " ".join(map(str, ids)).replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(x) for x in text.split()]


def merge_by_iterator(ids, pair, new_id):
    out, rest = [], iter(ids)
    for x in rest:
        if x != pair[0]:
            out.append(x)
            continue
        while True:
            y = next(rest, None)
            if y == pair[1]:
                out.append(new_id)
                break
            out.append(x)
            if y != pair[0]:
                out += [] if y is None else [y]
                break
            x = y
    return out


# ---- train_bpe ----


def bpe_of(pair_of, merge_of, as_ids=lambda text: list(text.encode("utf-8"))):
    def train(text, n_merges):
        ids, pairs = as_ids(text), []
        for k in range(n_merges):
            if len(ids) < 2:
                break
            pairs.append(pair_of(ids))
            ids = merge_of(ids, pairs[-1], 256 + k)
        return pairs

    return train


def bpe_recursively(text, n_merges):
    def go(ids, left, new):
        pair = pair_by_hand(ids) if left > 0 else None
        return [pair, *go(merge_recursively(ids, pair, new), left - 1, new + 1)] if pair else []

    return go([*bytearray(text, "utf8")], n_merges, 256)


def bpe_through_a_dictionary(text, n_merges):
    ids, made = [*text.encode()], {}
    while len(made) < n_merges and len(ids) >= 2:
        pair = pair_by_most_common(ids)
        made[pair] = 256 + len(made)
        ids = merge_of_a_copy(ids, pair, made[pair])
    return list(made)


def bpe_that_keeps_counts(text, n_merges):
    """Counts are kept up to date rather than made anew; only where a pair was first met is looked for again."""
    ids, pairs = list(text.encode()), []
    counts = Counter(pairwise(ids))
    while len(pairs) < n_merges and +counts:
        most = max(counts.values())
        pair = next(p for p in pairwise(ids) if counts[p] == most)
        merged = merge_with_a_flag(ids, pair, 256 + len(pairs))
        counts = counts - Counter(pairwise(ids)) + Counter(pairwise(merged))
        ids, pairs = merged, [*pairs, pair]
    return pairs


def bpe_forgets_the_rest(text, n_merges):
    ids = list(text.encode())
    return [(ids[k], ids[k + 1]) for k in range(min(n_merges, len(ids) - 1))]


def of_a_tie(compare):
    def pair_of(ids):
        counts = Counter(pairwise(ids))
        return max(counts, key=lambda pair: (counts[pair], compare(pair)))

    return pair_of


VARIANTS = {
    "tokens.most_frequent_pair": [
        pair_by_counting_in_the_list,
        pair_by_hand,
        pair_by_sorting,
        pair_by_most_common,
        pair_in_numpy,
        pair_as_a_list,
    ],
    "tokens.merge": [
        merge_recursively,
        merge_with_a_flag,
        merge_of_a_copy,
        merge_backwards_into,
        merge_as_text,
        merge_by_iterator,
    ],
    "tokens.train_bpe": [
        bpe_of(pair_by_hand, merge_recursively),
        bpe_of(pair_in_numpy, merge_with_a_flag),
        bpe_of(pair_by_sorting, merge_of_a_copy, lambda text: [*bytes(text, "utf-8")]),
        bpe_recursively,
        bpe_through_a_dictionary,
        bpe_that_keeps_counts,
    ],
}

WRONG = {
    "tokens.most_frequent_pair": [
        of_a_tie(lambda pair: -pair[0]),
        of_a_tie(lambda pair: pair[1]),
        lambda ids: pair_by_hand(sorted(ids)),
        lambda ids: pair_by_hand(ids[::-1]),
        lambda ids: pair_by_hand(list(dict.fromkeys(ids))),
        lambda ids: pair_by_hand(ids[:20]),
        lambda ids: sum(pair_by_hand(ids)),
        lambda ids: set(pair_by_hand(ids)),
        lambda ids: (*pair_by_hand(ids), 0),
        lambda ids: tuple(map(float, pair_by_hand(ids))) if len(ids) > 30 else (0, 0),
        lambda ids: torch.tensor(pair_by_hand(ids)),
        lambda ids: str(pair_by_hand(ids)),
        lambda ids: (max(ids, key=ids.count), max(ids, key=ids.count)),
        lambda ids: ids.sort() or pair_by_hand(ids),
        lambda ids: bytes(pair_by_hand(ids)),
    ],
    "tokens.merge": [
        merge_by_digits,
        lambda ids, pair, new_id: [new_id, *ids],
        lambda ids, pair, new_id: merge_recursively(ids, pair, 256),
        lambda ids, pair, new_id: merge_recursively(ids, pair, pair),
        lambda ids, pair, new_id: merge_recursively(ids, pair[::-1], new_id),
        lambda ids, pair, new_id: merge_recursively(merge_recursively(ids, pair, new_id), (new_id, new_id), new_id),
        lambda ids, pair, new_id: [x for x in ids if x not in pair],
        lambda ids, pair, new_id: len(merge_recursively(ids, pair, new_id)),
        lambda ids, pair, new_id: set(merge_recursively(ids, pair, new_id)),
        lambda ids, pair, new_id: merge_recursively(ids, pair, new_id) + [0] * (len(ids) < 2),
        lambda ids, pair, new_id: merge_recursively(ids[1:], pair, new_id),
        lambda ids, pair, new_id: sum(1 for p in pairwise(ids) if p == pair),
        lambda ids, pair, new_id: [new_id if p == pair else p[0] for p in pairwise(ids)],
        lambda ids, pair, new_id: merge_recursively(ids[:30], pair, new_id),
    ],
    "tokens.train_bpe": [
        bpe_forgets_the_rest,
        bpe_of(pair_by_hand, merge_by_digits),
        bpe_of(pair_by_hand, merge_recursively, lambda text: list(text.encode("utf-16"))),
        bpe_of(pair_by_hand, merge_recursively, lambda text: list(text.encode("latin-1", "replace"))),
        bpe_of(pair_by_hand, merge_recursively, lambda text: list(text.strip().replace(" ", "").encode())),
        bpe_of(pair_by_hand, merge_recursively, lambda text: list(text.encode())[:20]),
        bpe_of(pair_by_hand, merge_recursively, lambda text: [x for x in text.encode() if x < 128]),
        bpe_of(pair_by_hand, lambda ids, pair, new: merge_recursively(ids, pair, pair[0])),
        bpe_of(pair_by_hand, lambda ids, pair, new: [new if x == pair[0] else x for x in ids if x != pair[1]]),
        bpe_of(of_a_tie(lambda pair: -pair[0]), merge_recursively),
        bpe_of(pair_as_a_list, lambda ids, pair, new: ids),
        lambda text, n_merges: [],
        lambda text, n_merges: bpe_recursively(text, n_merges)[::-1],
        lambda text, n_merges: sorted(bpe_recursively(text, n_merges)),
        lambda text, n_merges: bpe_recursively(text, 3)[:n_merges],
        lambda text, n_merges: bpe_recursively(text, n_merges) + [None] * (n_merges - len(text.encode())),
        lambda text, n_merges: [pair[::-1] for pair in bpe_recursively(text, n_merges)],
        lambda text, n_merges: [x for pair in bpe_recursively(text, n_merges) for x in pair],
        lambda text, n_merges: [chr(a) + chr(b) for a, b in bpe_recursively(text, n_merges)],
        lambda text, n_merges: len(bpe_recursively(text, n_merges)),
    ],
}
