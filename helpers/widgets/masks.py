"""The mask explorer: choose a mask, see who may look at whom and what is left of the weights."""

from __future__ import annotations

import ipywidgets
import torch
from torch import Tensor

from helpers import masks
from helpers.figures import BLUE, GREY, ORANGE

KINDS = ("causal", "sliding window", "prefix", "padding", "causal and padding", "causal, pads on the left")
CELL = 22


def make(kind: str, n: int, size: int) -> Tensor:
    """A boolean mask (n, n). `size` is the window, the prefix or the number of pads."""
    pads = torch.arange(n) < n - min(size, n)  # (n,)
    allowed = {
        "causal": lambda: masks.boolean(masks.causal(n)),
        "sliding window": lambda: masks.boolean(masks.sliding_window(n, size)),
        "prefix": lambda: masks.boolean(masks.prefix(n, size)),
        "padding": lambda: pads.expand(n, n),
        "causal and padding": lambda: masks.combine(masks.boolean(masks.causal(n)), pads),
        "causal, pads on the left": lambda: masks.combine(masks.boolean(masks.causal(n)), pads.flip(0)),
    }
    return allowed[kind]().expand(n, n)


def draw(allowed: Tensor, weights: Tensor) -> str:
    """Two maps side by side: may look or not, and the weights that are left; rows with nothing to see are marked."""
    n = allowed.shape[0]
    parts = []
    for title, left in (("may look", 60), ("weights", 110 + n * CELL)):
        parts.append(f"<text x='{left}' y='14'>{title}</text>")
        parts.append(f"<text x='{left}' y='{n * CELL + 44}' opacity='.6'>keys →</text>")
        for i in range(n):
            for j in range(n):
                may = bool(allowed[i, j])
                strength = float(weights[i, j]) if title == "weights" else float(may)
                hint = f"query {i}, key {j}: {'may look' if may else 'hidden'}, weight {float(weights[i, j]):.2f}"
                parts.append(
                    f"<rect x='{left + j * CELL}' y='{24 + i * CELL}' width='{CELL - 2}' height='{CELL - 2}' "
                    f"fill='{BLUE}' fill-opacity='{strength:.2f}' stroke='{GREY}' stroke-opacity='.5'>"
                    f"<title>{hint}</title></rect>"
                )
    for i in range(n):
        blind = not bool(allowed[i].any())
        colour = ORANGE if blind else "currentColor"
        parts.append(
            f"<text x='52' y='{39 + i * CELL}' text-anchor='end' fill='{colour}'>{i}{' ∅' if blind else ''}</text>"
        )
    width, height = 130 + 2 * n * CELL, n * CELL + 56
    return (
        f"<svg width='{width}' height='{height}' viewBox='0 0 {width} {height}' role='img' "
        "aria-label='a mask and the weights under it' style='font:13px sans-serif;fill:currentColor'>"
        f"<text x='4' y='14' opacity='.6'>queries</text>{''.join(parts)}</svg>"
    )


def mask_explorer(n: int = 8) -> ipywidgets.Widget:
    """Choose a kind of mask and its size; the same random scores are softmaxed under it. Hover for numbers."""
    kind = ipywidgets.Dropdown(options=KINDS, description="Mask")
    length = ipywidgets.IntSlider(n, min=2, max=14, description="Tokens")
    size = ipywidgets.IntSlider(3, min=0, max=14, description="Size")
    picture, note = ipywidgets.HTML(), ipywidgets.HTML()

    def redraw(_: object = None) -> None:
        allowed = make(kind.value, length.value, size.value)
        generator = torch.Generator().manual_seed(length.value)
        scores = torch.randn(length.value, length.value, generator=generator)
        picture.value = draw(allowed, masks.masked_softmax(scores, allowed))
        blind = int((~allowed.any(-1)).sum())
        note.value = (
            f"{int(allowed.sum())} of {allowed.numel()} pairs may look; {blind} queries have nothing to see (∅)."
        )

    for control in (kind, length, size):
        control.observe(redraw, "value")
    redraw()
    return ipywidgets.VBox([ipywidgets.HBox([kind, length, size]), picture, note])
