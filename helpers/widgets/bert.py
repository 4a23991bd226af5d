"""The mask filler: write a sentence with [MASK] in it, and see what BERT would put there."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import ipywidgets

from helpers.figures import BLUE, GREY
from helpers.fill_mask import fill_mask
from helpers.models import Bert

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ROW, LEFT, WIDTH = 22, 130, 560


def draw(found: Sequence[tuple[str, float]]) -> str:
    """A bar for each candidate, the likeliest at the top; the scale goes to 100 %."""
    unit = WIDTH - LEFT - 70
    parts = []
    for row, (piece, chance) in enumerate(found):
        y, name = row * ROW, escape(piece)
        parts.append(
            f"<g><title>{name}: {chance:.2%}</title>"
            f"<text x='{LEFT - 8}' y='{y + 15}' text-anchor='end'>{name}</text>"
            f"<rect x='{LEFT}' y='{y + 3}' width='{unit}' height='{ROW - 6}' fill='{GREY}' opacity='.15'/>"
            f"<rect x='{LEFT}' y='{y + 3}' width='{chance * unit:.1f}' height='{ROW - 6}' fill='{BLUE}'/>"
            f"<text x='{LEFT + unit + 8}' y='{y + 15}'>{chance:.1%}</text></g>"
        )
    height = len(found) * ROW + 4
    return (
        f"<svg width='{WIDTH}' height='{height}' viewBox='0 0 {WIDTH} {height}' role='img' "
        "aria-label='the likeliest candidates with their probabilities' "
        f"style='font:13px sans-serif;fill:currentColor;max-width:100%;height:auto'>{''.join(parts)}</svg>"
    )


def mask_filler(
    model: Bert, tokenizer: Tokenizer, sentence: str = "this film is not [MASK], it is a masterpiece."
) -> ipywidgets.Widget:
    """Type a text with one [MASK] or more; choose how many candidates are shown for each."""
    text = ipywidgets.Text(sentence, description="Text", layout={"width": "44em"}, continuous_update=False)
    many = ipywidgets.IntSlider(8, min=1, max=20, description="candidates")
    picture = ipywidgets.HTML()

    def redraw(_: object = None) -> None:
        try:
            filled = fill_mask(model, tokenizer, text.value, many.value)
        except ValueError as problem:
            picture.value = f"<p>{escape(str(problem))}</p>"
            return
        titles = [f"<p>[MASK] number {i} of {len(filled)}</p>" for i in range(1, len(filled) + 1)]
        heads = titles if len(filled) > 1 else [""]
        picture.value = "".join(head + draw(found) for head, found in zip(heads, filled, strict=True))

    for control in (text, many):
        control.observe(redraw, "value")
    redraw()
    return ipywidgets.VBox([text, many, picture])
