"""The clocks and the figures of 03_positions say what is so."""

import re

import pytest

from helpers import positions
from helpers.figures import positions as figures
from helpers.widgets import positions as widget


def turns(svg):
    return re.findall(r"turned ([^<]*)°", svg)


def test_arcs_and_curve_depend_on_k_and_not_on_x():
    here, there, further = widget.draw(3, 5, 8, 100), widget.draw(31, 5, 8, 100), widget.draw(3, 6, 8, 100)
    assert len(turns(here)) == 4
    assert turns(here) == turns(there)
    assert turns(here)[0] == "286"  # 5 radians
    assert not set(turns(here)) & set(turns(further))


def test_moving_a_slider_redraws_and_says_the_similarity():
    explorer = widget.clock_explorer(8)
    (_, k), (width, _), picture, note = (
        explorer.children[0].children,
        explorer.children[1].children,
        *explorer.children[2:],
    )
    before = picture.value
    k.value, width.value = -7, 12
    assert picture.value != before
    assert f"= {positions.similarity(-7, 12, 100):.2f}".replace("-", "−") in note.value
    assert "k = −7 as for k = 7" in note.value
    k.value = 40
    assert turns(picture.value)[0] == "2,292"  # 40 radians


@pytest.mark.parametrize(("kind", "finds"), [("rotary", True), ("learned", False)])
def test_who_finds_the_token_before_beyond_the_texts_of_training(kind, finds):
    right = figures.accuracy_by_place(figures._trained(kind, trained=16, tested=32), 32)  # (31,)
    assert right[:15].mean() > 0.9
    assert right[15:].min() > 0.9 if finds else right[15:].mean() < 0.3
