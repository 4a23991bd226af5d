"""Language models without the model: batches, the loss, perplexity, and baselines that only count.

Letters for shapes: N tokens in a stream, B batch, T time, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy

import torch
from torch import Tensor
from torch.nn import functional as F


def batches(ids: Tensor, batch_size: int, context: int) -> Iterator[tuple[Tensor, Tensor]]:
    """A stream ids (N,) as `(inputs, targets)`, each (batch_size, context): windows in order, without overlap.

    A target is the token that follows its input. What fills no whole batch at the end is dropped.
    """
    n_windows = (len(ids) - 1) // context
    for start in range(0, n_windows - batch_size + 1, batch_size):
        piece = ids[start * context : (start + batch_size) * context + 1]  # (B · T + 1,)
        yield piece[:-1].view(batch_size, context), piece[1:].view(batch_size, context)  # (B, T) each


def loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood in nats: logits (B, T, V), targets (B, T) → ()."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def perplexity(losses: Sequence[float | Tensor], n_tokens: Sequence[int]) -> float:
    """exp(Σ lᵢ nᵢ / Σ nᵢ) for mean losses lᵢ (nats) of batches with nᵢ tokens each."""
    total = sum(float(mean) * n for mean, n in zip(losses, n_tokens, strict=True))
    return math.exp(total / sum(n_tokens))


@torch.no_grad()
def held_out(
    model: Callable[[Tensor], Tensor], ids: Tensor, context: int, stride: int | None = None, batch_size: int = 32
) -> float:
    """Mean nats per token of a stream ids (N,), read in windows of `context` that start `stride` apart.

    Each token but the first is predicted once, by the first window that holds it: with stride < context most have
    at least context − stride tokens before them. The same however windows are batched. stride: context by default.
    """
    stride = stride or context
    total, done = 0.0, 0
    starts = range(0, max(len(ids) - 1 - (context - stride), 1), stride)
    for i in range(0, len(starts), batch_size):
        spans = [(s, min(s + context, len(ids) - 1)) for s in starts[i : i + batch_size]]
        for same in ([s for s in spans if s[1] - s[0] == context], [s for s in spans if s[1] - s[0] < context]):
            if same:
                inputs = torch.stack([ids[a:b] for a, b in same])  # (B, T)
                targets = torch.stack([ids[a + 1 : b + 1] for a, b in same])  # (B, T)
                nats = F.cross_entropy(model(inputs).transpose(1, 2).double(), targets, reduction="none")  # (B, T)
                for (a, b), row in zip(same, nats, strict=True):
                    total += float(row[max(done - a, 0) :].sum())
                    done = b
    return total / done


def bits_per_byte(nats_per_token: float, n_tokens: int, n_bytes: int) -> float:
    """Loss per byte of text, in bits: what compares models whose tokenizers differ."""
    return nats_per_token * n_tokens / (n_bytes * math.log(2))


# ---- baselines ----


def bigram(ids: Tensor, vocab_size: int) -> Tensor:
    """P(next | current) from counts plus one: ids (N,) → (V, V), a row for each current token."""
    pairs = ids[:-1] * vocab_size + ids[1:]  # (N − 1,)
    counts = torch.bincount(pairs, minlength=vocab_size**2).view(vocab_size, vocab_size)  # (V, V)
    smoothed = (counts + 1).to(torch.get_default_dtype())  # (V, V)
    return smoothed / smoothed.sum(1, keepdim=True)  # (V, V)


class Trigram:
    """Counts of one, two and three tokens in a row, mixed. (Jelinek and Mercer 1980)

    `weights` are those of unigram, bigram and trigram; what a missing history would have had goes to the shorter one.
    """

    def __init__(self, ids: Tensor, vocab_size: int, weights: tuple[float, float, float] = (0.1, 0.4, 0.5)) -> None:
        self.vocab_size, self.weights = vocab_size, weights
        self.counts = [_counted(_grams(ids.cpu(), n, vocab_size)) for n in (1, 2, 3)]
        self.histories = [(torch.zeros(1, dtype=torch.int64), torch.tensor([len(ids)]))]
        self.histories += [_counted(_grams(ids.cpu()[:-1], n, vocab_size)) for n in (1, 2)]

    def nats(self, ids: Tensor) -> float:
        """Mean nats per token of a stream ids (N,), from its third token on."""
        return self._nats(ids, self.weights)

    def _nats(self, ids: Tensor, weights: tuple[float, float, float]) -> float:
        ids = ids.cpu()
        chance = torch.full((len(ids) - 2,), 1 / self.vocab_size, dtype=torch.float64)  # (N − 2,), never seen at all
        for n, weight in enumerate(weights, 1):
            grams = _grams(ids, n, self.vocab_size)[-len(chance) :]  # (N − 2,)
            before = grams // self.vocab_size  # (N − 2,), the history: all but the last token
            seen, whole = _look_up(self.counts[n - 1], grams), _look_up(self.histories[n - 1], before)
            share = 1 - 1e-3 if n == 1 else weight / sum(weights[:n])
            chance = torch.where(whole > 0, share * seen / whole.clamp(min=1) + (1 - share) * chance, chance)
        return float(-chance.log().mean())

    def tuned(self, ids: Tensor) -> Trigram:
        """The same counts with the weights, out of a coarse grid, that suit a development stream ids (N,) best."""
        made = copy(self)
        tenths = [(a / 10, b / 10, 1 - a / 10 - b / 10) for a in range(1, 9) for b in range(1, 10 - a)]
        made.weights = min(tenths, key=lambda weights: self._nats(ids, weights))
        return made


def _grams(ids: Tensor, n: int, vocab_size: int) -> Tensor:
    """Each run of n tokens as one number: (N,) → (N − n + 1,)."""
    found = torch.zeros(len(ids) - n + 1, dtype=torch.int64)
    for i in range(n):
        found = found * vocab_size + ids[i : len(ids) - n + 1 + i]
    return found


def _counted(grams: Tensor) -> tuple[Tensor, Tensor]:
    return torch.unique(grams, return_counts=True)  # sorted


def _look_up(table: tuple[Tensor, Tensor], wanted: Tensor) -> Tensor:
    """How often each was counted, 0 if never."""
    known, counts = table
    place = torch.searchsorted(known, wanted).clamp(max=len(known) - 1)
    return torch.where(known[place] == wanted, counts[place], 0)
