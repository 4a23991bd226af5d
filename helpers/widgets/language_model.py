"""The sampling explorer: turn the three knobs, see what is left of a distribution and what is drawn from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import ipywidgets
import torch
from torch import Tensor

from helpers.decoding import sample
from helpers.figures import BLUE, GREY

SHOWN, ROW, LEFT, WIDTH = 14, 21, 120, 560
DRAWS = 12


def left(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    """Probabilities (V,) after the knobs, 0 where a token is cut: logits (V,)."""
    chances, order = (logits.double() / temperature).softmax(-1).sort(descending=True, stable=True)  # (V,) each
    if top_k:
        chances[top_k:] = 0
        chances = chances / chances.sum()
    if top_p:
        chances = chances.masked_fill(chances.cumsum(0) - chances >= top_p, 0)
    return torch.zeros_like(chances).scatter(0, order, chances / chances.sum())


def draw(before: Tensor, after: Tensor, names: Sequence[str]) -> str:
    """The likeliest tokens: an outline for their chance before (V,), a bar for it after (V,)."""
    order = before.argsort(descending=True, stable=True)[:SHOWN].tolist()
    unit = (WIDTH - LEFT - 60) / max(float(before.max()), float(after.max()))
    parts = []
    for row, i in enumerate(order):
        y, was, now = row * ROW, float(before[i]), float(after[i])
        name = escape(names[i].replace(" ", "␣").replace("\n", "⏎"))
        hint = f"{name}: {was:.1%} before, {now:.1%} now"
        parts.append(
            f"<g opacity='{1 if now else 0.5}'><title>{hint}</title>"
            f"<text x='{LEFT - 8}' y='{y + 15}' text-anchor='end'>{name}</text>"
            f"<rect x='{LEFT}' y='{y + 3}' width='{now * unit:.1f}' height='{ROW - 6}' fill='{BLUE}'/>"
            f"<rect x='{LEFT}' y='{y + 3}' width='{was * unit:.1f}' height='{ROW - 6}' fill='none' stroke='{GREY}'/>"
            f"<text x='{LEFT + max(was, now) * unit + 6:.1f}' y='{y + 15}'>{f'{now:.1%}' if now else 'cut'}</text></g>"
        )
    height = SHOWN * ROW + 4
    return (
        f"<svg width='{WIDTH}' height='{height}' viewBox='0 0 {WIDTH} {height}' role='img' "
        "aria-label='chances of the likeliest tokens, before and after the knobs' "
        f"style='font:12px sans-serif;fill:currentColor;max-width:100%;height:auto'>{''.join(parts)}</svg>"
    )


def sampling_explorer(contexts: Mapping[str, Tensor], names: Sequence[str]) -> ipywidgets.Widget:
    """Choose what was read, then turn the knobs. `contexts` holds logits (V,) for each text, `names` the tokens."""
    context = ipywidgets.Dropdown(options=list(contexts), description="after")
    temperature = ipywidgets.FloatLogSlider(1.0, base=10, min=-1, max=0.7, step=0.02, description="temperature")
    top_k = ipywidgets.IntSlider(0, min=0, max=40, description="top_k")
    top_p = ipywidgets.FloatSlider(1.0, min=0.05, max=1.0, step=0.05, description="top_p")
    again = ipywidgets.Button(description="draw again")
    picture, note = ipywidgets.HTML(), ipywidgets.HTML()
    seeds = {"now": 0}

    def redraw(_: object = None) -> None:
        logits = contexts[context.value].double()  # (V,)
        knobs = temperature.value, top_k.value or None, top_p.value if top_p.value < 1 else None
        after = left(logits, *knobs)
        picture.value = draw(logits.softmax(-1), after, names)
        generator = torch.Generator().manual_seed(seeds["now"])
        drawn = sample(logits.expand(DRAWS, -1), *knobs, generator=generator).tolist()
        entropy = -float((after * after.clamp(min=1e-300).log()).sum())
        words = " · ".join(escape(names[i].replace("\n", "⏎").strip() or "␣") for i in drawn)
        note.value = (
            f"{int((after > 0).sum()):,} tokens are left; as unsure as between {math.exp(entropy):,.1f} that are "
            f"equally likely. Drawn: {words}"
        )

    def anew(_: object = None) -> None:
        seeds["now"] += 1
        redraw()

    for control in (context, temperature, top_k, top_p):
        control.observe(redraw, "value")
    again.on_click(anew)
    redraw()
    knobs = [ipywidgets.HBox([context, temperature]), ipywidgets.HBox([top_k, top_p, again])]
    return ipywidgets.VBox([*knobs, picture, note])
