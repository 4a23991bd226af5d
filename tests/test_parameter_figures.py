"""The calculator and the figures of 05_parameters count what the models hold."""

import pytest

from helpers import cost, counting, parameters
from helpers.figures import parameters as figures
from helpers.widgets import parameters as widget


@pytest.mark.parametrize("name", list(figures.presets()))
def test_the_parts_of_a_preset_add_up_to_the_whole_and_to_what_the_calculator_says(name):
    whole = sum(counting.count(figures.presets()[name]))
    kind, shape = widget.PRESETS[name]
    found = figures.parts(widget.build(kind, *shape.shape))
    assert sum(found.values()) == whole
    assert f"{whole:,}" in widget.draw(found)


def test_the_calculator_follows_its_presets_and_refuses_heads_that_do_not_divide():
    known, _, first, _, picture, note = widget.parameter_calculator().children
    known.value = "base"
    assert "63,082,496" in picture.value
    before = picture.value
    first.children[2].value = 7  # n_heads
    assert "7 heads cannot share 512 features" in note.value
    assert picture.value == before


def test_after_sizes_of_ones_own_the_same_preset_can_be_chosen_again():
    known, _, first, _, picture, _ = widget.parameter_calculator().children
    before = picture.value
    first.children[0].value = 5000  # vocab_size
    assert known.value is None and picture.value != before
    known.value = "seed"
    assert picture.value == before and first.children[0].value == 100


def test_tokens_on_their_own_side_meet_each_weight_on_one_side_only():
    preset = widget.PRESETS["base"][1]
    flops = figures.sided_flops(parameters.tied_transformer(preset), 1000)
    # Each side has half of the tokens, and together the sides have every weight once.
    assert flops == cost.training_flops(parameters.translation(preset), 500)
