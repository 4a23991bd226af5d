"""Byte-pair encoding by hand (Sennrich et al. 2016, algorithm 1), on UTF-8 bytes: slow, and short enough to read."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

BYTES = 256  # ids 0 … 255 are the bytes, the first merge makes 256

Pair = tuple[int, int]


def most_frequent_pair(ids: list[int]) -> Pair | None:
    """The pair at most adjacent positions, overlaps counted; of equals the one met first. None if there is no pair."""
    counts = Counter(pairwise(ids))
    return max(counts, key=counts.get, default=None)  # a dictionary, and so max, keeps to the order of first meetings


def merge(ids: list[int], pair: Pair, new_id: int) -> list[int]:
    """A new list with `new_id` for each `pair`, found from left to right without overlap."""
    merged, i = [], 0
    while i < len(ids):
        found = tuple(ids[i : i + 2]) == tuple(pair)
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged


def train_bpe(text: str, n_merges: int) -> list[Pair]:
    """The pairs merged, in order, the k-th into the id 256 + k; fewer than `n_merges` if no pair is left."""
    ids, merges = list(text.encode()), []
    while len(merges) < n_merges and (pair := most_frequent_pair(ids)):
        ids = merge(ids, pair, BYTES + len(merges))
        merges.append(pair)
    return merges


def encode(text: str, merges: list[Pair]) -> list[int]:
    """The ids of a text: its bytes, then each merge in the order in which it was learned."""
    ids = list(text.encode())
    for k, pair in enumerate(merges):
        ids = merge(ids, pair, BYTES + k)
    return ids


def vocabulary(merges: list[Pair]) -> list[bytes]:
    """The bytes that each id stands for (V = 256 + merges)."""
    pieces = [bytes([i]) for i in range(BYTES)]
    for a, b in merges:
        pieces.append(pieces[a] + pieces[b])
    return pieces


def decode(ids: list[int], merges: list[Pair]) -> str:
    """The text of ids; bytes that are no whole character become �."""
    pieces = vocabulary(merges)
    return b"".join(pieces[i] for i in ids).decode(errors="replace")
