"""The simple method that a comparison needs beside it: which words occur, and a weight for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Labelled = Sequence[tuple[str, int]]
STRENGTHS = (0.3, 1.0, 3.0)


def words(text: str) -> set[str]:
    """The words and marks that occur in a text, in lower case, each once."""
    return set(re.findall(r"[\w']+|[^\w\s]", text.lower()))


def accuracy(train: Labelled, validation: Labelled, test: Labelled) -> float:
    """Accuracy on `test` of a logistic regression on the words of `train`.

    How strongly its weights are held small is what does best on `validation`.
    """
    known = {word: i for i, word in enumerate(Counter(w for text, _ in train for w in sorted(words(text))))}
    fitted = [_fit(train, known, strength) for strength in STRENGTHS]
    best = max(fitted, key=lambda weights: _right(weights, validation, known))
    return _right(best, test, known)


def _bags(texts: Labelled, known: dict[str, int]) -> tuple[Tensor, Tensor, Tensor]:
    """Ids of known words (M,), where each text begins (N,), and labels (N,)."""
    found = [[known[w] for w in sorted(words(text)) if w in known] for text, _ in texts]
    ends = torch.tensor([0, *map(len, found)]).cumsum(0)  # (N + 1,)
    return (
        torch.tensor([i for ids in found for i in ids], dtype=torch.long),
        ends[:-1],
        torch.tensor([y for _, y in texts]),
    )


def _scores(weights: Tensor, ids: Tensor, starts: Tensor) -> Tensor:
    """Log-odds (N,): the sum of the words' weights (V + 1, 1) and the last, which every text has."""
    return F.embedding_bag(ids, weights[:-1], starts, mode="sum")[:, 0] + weights[-1]  # (N,)


def _fit(train: Labelled, known: dict[str, int], strength: float) -> Tensor:
    """Weights (V + 1, 1) of least loss plus strength · their squares / 2."""
    ids, starts, labels = _bags(train, known)
    # In float64 and nearly to the end, or the order of sums would decide about some sentences.
    weights = torch.zeros(len(known) + 1, 1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=100, history_size=5, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        fit = F.binary_cross_entropy_with_logits(_scores(weights, ids, starts), labels.double(), reduction="sum")
        total = (fit + strength * weights.square().sum() / 2) / len(train)
        total.backward()
        return total

    optimizer.step(loss)
    return weights.detach()


def _right(weights: Tensor, texts: Labelled, known: dict[str, int]) -> float:
    ids, starts, labels = _bags(texts, known)
    return ((_scores(weights, ids, starts) > 0) == labels.bool()).double().mean().item()
