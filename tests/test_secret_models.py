"""The secret models of masks.leaks_future leak as they were made to, and each kind of leak can be seen."""

import pytest
import torch

from autograder.ask import Probe
from autograder.exercise import Draws
from autograder.exercises.masks import KINDS_OF_LEAK, made_to_leak, probe
from helpers import masks


@pytest.mark.parametrize("kind", KINDS_OF_LEAK)
def test_how_a_model_was_made_is_how_it_behaves(kind):
    for seed in range(20):
        rng = Draws(seed)
        vocab, n = rng.pick([17, 19]), rng.integer(4, 6)
        weights = probe(rng, kind, vocab, n)
        assert made_to_leak(weights, vocab, n) == (kind not in ("honest", "rounding"))
        assert masks.leaks_future(Probe(weights), vocab, n) == made_to_leak(weights, vocab, n)


@pytest.mark.parametrize("kind", KINDS_OF_LEAK)
def test_every_token_at_every_place_is_enough_from_any_text(kind):
    for seed in range(20):
        rng = Draws(seed)
        vocab, n = rng.pick([17, 19]), rng.integer(4, 6)
        model = Probe(probe(rng, kind, vocab, n))
        for text in (torch.zeros(n, dtype=torch.long), torch.arange(n), rng.integers(0, vocab, n)):
            moved = 0.0
            for position in range(1, n):
                ids = text.repeat(vocab, 1)
                ids[:, position] = torch.arange(vocab)
                past = model(ids)[:, :position]
                moved = max(moved, float((past - past[:1]).abs().max()))
            assert moved < 1e-10 if kind in ("honest", "rounding") else moved > 1e-2
