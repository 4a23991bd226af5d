"""The cost explorer and the figures of 04_complexity say what counting says."""

from html import escape

import pytest

from helpers import complexity
from helpers.figures import complexity as figures
from helpers.widgets.complexity import cost_explorer, costs, crossing, sentence


@pytest.mark.parametrize("kind", complexity.LAYERS)
def test_the_explorer_shows_counted_flops(kind):
    assert costs(32, 16, 4)[kind] == complexity.measured_flops(complexity.LAYERS[kind], 32, 16, 4)


def test_the_explorer_counts_projections_when_asked():
    assert costs(24, 16, 4, projections=True)["self-attention"] == figures.layer_flops(24, 16)


@pytest.mark.parametrize(
    ("other", "projections"), [("recurrent", False), ("convolutional", False), ("convolutional", True)]
)
def test_both_cost_the_same_where_lines_cross(other, projections):
    n = crossing(other, 64, 8, projections)
    row = costs(n, 64, 8, projections)
    assert row["self-attention"] == row[other]


def test_the_sentence_names_the_crossing_or_says_that_there_is_none():
    assert "meets the recurrent layer at n = 512; at n = 64 it costs 8 times less" in sentence(64, 512, 8)
    assert "more than the recurrent layer at any n" in sentence(64, 512, 8, projections=True)


def test_sliders_redraw():
    explorer = cost_explorer()
    controls, whole, picture, note = explorer.children
    before = picture.value, note.value
    controls.children[0].value = 4096
    moved = picture.value, note.value
    whole.value = True
    assert len({before, moved, (picture.value, note.value)}) == 3


@pytest.mark.parametrize("cached", [True, False])
def test_counted_steps_of_writing_are_the_formula(cached):
    assert sum(figures.step_flops(9, 6, cached)) == complexity.generation_flops(9, 6, cached)


@pytest.mark.parametrize("name", ["four_layers", "waiting", "dilation", "memory"])
def test_a_figure_is_shown_once_with_words_for_those_who_do_not_see_it(name, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    getattr(figures, name)()
    picture, words = shown
    assert len(picture.alt) > 60
    assert escape(picture.alt) in words.data
