"""The sentiment reader: type a sentence and see the classifier make up its mind, token by token."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import ipywidgets
from torch import Tensor

from helpers import finetune
from helpers.figures import BLUE, GREY, ORANGE
from helpers.models import Classifier

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_TOKENS = 40
COLUMN, HEIGHT = 26, 120


def draw(tokens: list[str], classes: Tensor) -> str:
    """A bar at each token, up and blue for praise, down and orange for blame; classes (T, 2). Hover for numbers."""
    middle = HEIGHT / 2 + 10
    parts = []
    for i, (token, p) in enumerate(zip(tokens, classes[:, 1].tolist(), strict=True)):
        x, size = 60 + i * COLUMN, abs(p - 0.5) * HEIGHT
        parts.append(
            f"<rect x='{x}' y='{middle - size if p >= 0.5 else middle:.1f}' width='{COLUMN - 5}' height='{size:.1f}' "
            f"fill='{BLUE if p >= 0.5 else ORANGE}'><title>… {escape(token)}: praise {p:.2f}</title></rect>"
            f"<text transform='translate({x + 14},{HEIGHT + 30}) rotate(-55)' text-anchor='end'>{escape(token)}</text>"
        )
    width = 80 + max(len(tokens), 8) * COLUMN
    return (
        f"<svg width='{width}' height='{HEIGHT + 110}' viewBox='0 0 {width} {HEIGHT + 110}' role='img' "
        "aria-label='probability of praise after each token' style='font:13px sans-serif;fill:currentColor'>"
        f"<line x1='56' x2='{width - 10}' y1='{middle}' y2='{middle}' stroke='{GREY}'/>"
        f"<text x='4' y='22'>praise</text><text x='4' y='{HEIGHT + 8}'>blame</text>{''.join(parts)}</svg>"
    )


def sentiment_reader(
    models: dict[str, Classifier], tokenizer: Tokenizer, sentence: str = "a quiet delight, if you can stay awake."
) -> ipywidgets.Widget:
    """Type a sentence and choose who reads it: what each model says had the text ended at a token."""
    text = ipywidgets.Text(sentence, description="Sentence", layout={"width": "44em"}, continuous_update=True)
    who = ipywidgets.ToggleButtons(options=list(models), description="Who reads")
    picture, note = ipywidgets.HTML(), ipywidgets.HTML()

    def redraw(_: object = None) -> None:
        tokens, classes = finetune.as_it_reads(models[who.value], tokenizer, text.value)
        picture.value = draw(tokens[:MAX_TOKENS], classes[:MAX_TOKENS])
        if not tokens:
            note.value = "Write something."
        elif len(tokens) > MAX_TOKENS:
            note.value = f"Of {len(tokens)} tokens the first {MAX_TOKENS} are shown."
        else:
            p = float(classes[-1, 1])
            note.value = f"In the end: {'praise' if p >= 0.5 else 'blame'}, with probability {max(p, 1 - p):.2f}."

    for control in (text, who):
        control.observe(redraw, "value")
    redraw()
    return ipywidgets.VBox([text, who, picture, note])
