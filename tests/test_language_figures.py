"""The sampling explorer shows the distribution that is really drawn from."""

import pytest
import torch

from helpers import decoding
from helpers.figures import language_model as figures
from helpers.models import LanguageModel
from helpers.widgets import language_model as widget

LOGITS = torch.tensor([0.2, 3.0, 1.1, -2.0, 2.4, 0.9, -0.5])
NAMES = list("abcdefg")


@pytest.mark.parametrize("knobs", [(1.0, None, None), (0.5, 3, None), (2.0, None, 0.6), (1.5, 4, 0.8), (1.0, 1, 0.1)])
def test_what_is_left_is_what_is_drawn(knobs):
    left = widget.left(LOGITS, *knobs)
    drawn = decoding.sample(LOGITS.expand(20_000, -1), *knobs, generator=torch.Generator().manual_seed(0))
    shares = drawn.bincount(minlength=len(LOGITS)) / len(drawn)
    assert torch.allclose(left.float(), shares, atol=0.02)
    assert torch.equal(left > 0, shares > 0)


def test_a_knob_redraws_the_picture_and_the_button_draws_other_tokens():
    explorer = widget.sampling_explorer({"x": LOGITS, "y": -LOGITS}, NAMES)
    (context, _), (top_k, _, again), picture, note = (
        explorer.children[0].children,
        explorer.children[1].children,
        *explorer.children[2:],
    )
    assert "cut" not in picture.value
    drawn = note.value
    again.click()
    assert note.value != drawn
    top_k.value = 2
    assert picture.value.count("cut") == 5
    assert note.value.startswith("2 tokens are left")
    first = picture.value
    context.value = "y"
    assert picture.value != first


def test_a_model_that_reads_the_future_is_seen_in_the_picture(monkeypatch):
    said = []
    monkeypatch.setattr(figures, "show", lambda figure, alt: said.append(alt))
    ids = torch.randint(20, (1, 6), generator=torch.Generator().manual_seed(0))
    model = LanguageModel(20, 8, 2, 16, 1)
    figures.perturbed(model, ids)
    figures.perturbed(lambda ids: model(ids.flip(1)).flip(1), ids)
    assert "Above the diagonal all are exactly 0" in said[0]
    assert "moves above the diagonal" in said[1]
