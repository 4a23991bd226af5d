"""A missing token guessed by counting: what its two neighbours say of it, without a model.

Letters for shapes: N tokens in a stream, M missing ones, V vocabulary.
"""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor


class Neighbours:
    """P(middle | left, right) from counts, backed off where the pair was seldom seen (MacKay and Peto 1995).

        (c(l, m, r) + s · b(m)) / (c(l, ·, r) + s),  b(m) ∝ P(m | l) · P(r | m)

    with both P from pairs of tokens, backed off likewise. Counts come from a stream ids (N,), on its device.
    """

    def __init__(self, ids: Tensor, vocab_size: int, strength: float = 4.0) -> None:
        self.vocab_size, self.strength = vocab_size, strength
        self.single = torch.bincount(ids, minlength=vocab_size).double() / len(ids)  # (V,)
        pairs = torch.bincount(ids[:-1] * vocab_size + ids[1:], minlength=vocab_size**2).view(-1, vocab_size).float()
        seen = pairs.sum(1, keepdim=True)  # (V, 1)
        smoothed = (pairs + 4 * self.single.float().clamp(min=1e-9)) / (seen + 4)  # (V, V): row left, column right
        self.log_next = smoothed.log()
        triples = (ids[:-2] * vocab_size + ids[2:]) * vocab_size + ids[1:-1]  # (N − 2,): sorted by both neighbours
        self.triples, self.counts = torch.unique(triples, return_counts=True)

    def scores(self, left: Tensor, right: Tensor) -> Tensor:
        """Neighbours (M,) each → (M, V), proportional to the probability of each token between them."""
        v = self.vocab_size
        backed_off = (self.log_next[left] + self.log_next[:, right].T).softmax(-1)  # (M, V)
        found = self.strength * backed_off
        key = (left * v + right) * v  # (M,)
        low, high = torch.searchsorted(self.triples, key), torch.searchsorted(self.triples, key + v)  # (M,) each
        rows = torch.repeat_interleave(torch.arange(len(left), device=left.device), high - low)
        before = (high - low).cumsum(0) - (high - low)  # (M,)
        place = torch.arange(len(rows), device=left.device) - before[rows] + low[rows]
        found[rows, self.triples[place] % v] += self.counts[place]
        return found

    def accuracy(self, left: Tensor, middle: Tensor, right: Tensor) -> float:
        """How often the likeliest token between two neighbours is the true one, (M,) each."""
        pieces = zip(left.split(4096), middle.split(4096), right.split(4096), strict=True)
        return sum(int((self.scores(a, c).argmax(-1) == b).sum()) for a, b, c in pieces) / len(middle)

    def tuned(self, left: Tensor, middle: Tensor, right: Tensor) -> Neighbours:
        """The same counts with the strength, out of a few, that suits a development part best."""
        made, best = copy(self), -1.0
        for strength in (0.25, 1.0, 4.0, 16.0, 64.0):
            one = copy(self)
            one.strength = strength
            found = one.accuracy(left, middle, right)
            if found > best:
                made, best = one, found
        return made
