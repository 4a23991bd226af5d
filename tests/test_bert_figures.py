"""09's figures and mask filler: what they say aloud is what was measured, and a bad text gets a sentence."""

import json

import pytest
import torch

from helpers import checkpoints
from helpers.experiments import live_masked, live_twins
from helpers.figures import bert as figures
from helpers.fill_mask import load
from helpers.text.wordpiece import MASK, SPECIAL
from helpers.widgets.bert import mask_filler


@pytest.fixture
def said(monkeypatch):
    found = []

    def keep(figure, alt):
        from matplotlib import pyplot

        found.append((figure, alt))
        pyplot.close(figure)

    monkeypatch.setattr(figures, "show", keep)
    return found


def record(name):
    return json.loads((checkpoints.HERE / f"{name}.json").read_text("utf-8"))


def test_the_comparison_says_the_difference_its_interval_and_the_papers(said):
    figures.left_or_both(record("left_or_both"))
    (figure, alt), *_ = said
    gap = record("left_or_both")["intervals"]["masked − left to right"]
    assert f"{100 * gap['difference']:+.1f} points" in alt and "SQuAD F1 +10.1" in alt
    excludes = gap["low"] > 0 or gap["high"] < 0
    assert ("excludes" if excludes else "includes") in figure.get_suptitle()


def test_counting_is_named_beside_the_model(said):
    figures.counting(record("bert"))
    figures.pretraining(record("bert"))
    counted, told = record("bert")["baselines"]["neighbours"], record("bert")["test"]["masked"]
    assert f"both neighbours, counted {counted:.1%}, BERT {told:.1%}" in said[0][1]


def test_fates_of_tokens_add_up_and_are_told_apart(said):
    ids, made = torch.tensor([[7, 8, 9, 10]]), torch.tensor([[7, MASK, 11, 10]])
    shares = figures.shares(ids, made, torch.tensor([[-100, 8, 9, 10]]), MASK)
    assert set(shares.values()) == {0.25}
    figures.masking(["a", "b", "c", "d"], ["a", "[MASK]", "x", "d"], [False, True, True, True], shares)
    assert "Chosen: b: [MASK]; c: another token; d: left as it is." in said[0][1]


def test_the_filler_shows_candidates_and_says_what_is_missing():
    widget = mask_filler(*load(), "do not [MASK] your time.")
    text, _, picture = widget.children
    assert "waste" in picture.value and "<svg" in picture.value
    text.value = "no gap <b>here</b>"
    assert "write [MASK]" in picture.value and "<svg" not in picture.value
    text.value = "[MASK] and [MASK]"
    assert "number 2 of 2" in picture.value


def test_the_live_task_asks_only_for_what_cannot_be_seen():
    batches = live_masked.held_out(live_masked.texts().test, 2, seed=0)
    assert all((inputs[labels != -100] == MASK).all() for inputs, *_, labels in batches)
    asked, chosen = len(live_masked.answers(batches)), 0.15 * 0.8 * 2 * (live_masked.texts().test > 4).sum()
    assert abs(asked - chosen) < 6 * chosen**0.5


def test_the_live_sentences_are_in_one_part_only():
    parts = [set(map(tuple, part.tolist())) for part in (live_masked.texts().train, live_masked.texts().test)]
    assert not parts[0] & parts[1]


def test_the_twin_is_asked_for_each_word_where_it_has_read_what_comes_before():
    inputs, _, real, labels = live_masked.batch_at(0, causal=True)
    assert torch.equal(inputs, live_masked.sentences_at(0)) and torch.equal(real.bool(), inputs != 0)
    words = inputs[:, 1:] >= len(SPECIAL)  # (B, T − 1)
    assert torch.equal(labels[:, :-1][words], inputs[:, 1:][words])
    assert (labels == -100).sum() == labels.numel() - words.sum()


def test_both_ways_are_asked_for_the_same_words():
    ids = live_masked.texts().test[:50]
    asked = live_twins.same_words(ids, rounds=2, seed=0)
    same = [live_masked.answers(batches) for batches in asked.values()]
    assert len(same[0]) == 100 and all(torch.equal(same[0], other) for other in same)
    for (gap, *_), (cut, _, real, labels) in zip(asked["masked"], asked["left side alone"], strict=True):
        assert ((gap == MASK).sum(1) == 1).all() and (gap != ids).sum() == len(ids)
        place = (labels != -100).int().argmax(1)  # (N,)
        assert torch.equal(real.sum(1), place + 1) and (cut[:, 0] == ids[:, 0]).all()


def test_a_race_asks_as_often_as_it_trains_and_its_figure_says_who_leads(said):
    figures.race(live_twins.race(steps=2))
    left = {"left to right": [0.2, 0.3, 0.4], "masked": [0.1, 0.2, 0.35]}
    answers = {"left to right": [100, 200, 300], "masked": [50, 100, 150]}
    figures.race(live_twins.Race([1, 2, 3], answers, left, 0.1, 100))
    assert "from" in said[0][1] and "both in 2 steps" in said[0][1]
    title = said[1][0].get_suptitle()
    assert title == "Left to right 5.0 points ahead after as many steps, masked 10.0 points ahead after as many answers"
