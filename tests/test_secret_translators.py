"""The secret translators of translation.greedy and translation.beam behave as their plans say."""

import pytest
import torch

from autograder.ask import Reader
from autograder.exercise import Draws, cases, find
from autograder.exercises.translation_decoding import reader, source
from helpers import decoding

BOS, EOS, VOCAB = 1, 2, 7
PLANS = [
    {(): {3: 0.5, 4: 0.4}, (3,): {EOS: 0.9}, (4,): {5: 0.8}},
    {(): {6: 0.7}, (6,): {3: 0.6}, (6, 3): {EOS: 0.8}},
]


def made(seed):
    rng = Draws(seed)
    return Reader(reader(rng, PLANS, BOS, EOS, VOCAB, 5)), source(rng, 2, 5, 4)


@pytest.mark.parametrize("seed", range(5))
def test_what_a_plan_says_is_how_likely_it_is(seed):
    model, ids = made(seed)
    for row, plan in enumerate(PLANS):
        for written, next_ in plan.items():
            chances = model(ids[row : row + 1], torch.tensor([[BOS, *written]]))[0, -1].softmax(-1)
            assert chances.sum() == pytest.approx(1)
            for token, chance in next_.items():
                assert chances[token].item() == pytest.approx(chance)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_causal_and_batch_mates_change_nothing(seed):
    model, ids = made(seed)
    target = torch.tensor([[BOS, 3, EOS, 4], [BOS, 6, 3, EOS]])
    whole = model(ids, target)
    for t in range(1, 5):
        assert torch.equal(model(ids, target[:, :t]), whole[:, :t])
    assert torch.equal(model(ids[1:], target[1:]), whole[1:])


def test_one_source_serves_many_targets_and_others_must_match():
    model, ids = made(0)
    target = torch.tensor([[BOS], [BOS], [BOS]])
    assert torch.equal(model(ids[:1], target), model(ids[:1].expand(3, -1), target))
    with pytest.raises(RuntimeError, match="source has 2 rows and target 3"):
        model(ids, target)


@pytest.mark.parametrize("seed", range(20))
def test_the_beams_cases_ask_for_what_greedy_does_not_find(seed):
    found = {}
    for case in cases(find("translation.beam"), seed):
        weights, ids, bos_id, eos_id, max_len, width, alpha = case.inputs
        model = Reader(weights)
        greedy, score = decoding.beam(model, ids, bos_id, eos_id, max_len, 1, alpha)
        wide, better = decoding.beam(model, ids, bos_id, eos_id, max_len, width, alpha)
        found.setdefault(width, []).append(better > score + 1e-3 and wide.tolist() != greedy.tolist())
    assert sum(found[2]) >= 4 and any(found[3])
