"""The parameter calculator: choose a model's sizes and see how many numbers it learns, part by part."""

from __future__ import annotations

from html import escape

import ipywidgets
from torch import nn

from helpers import config, parameters
from helpers.figures.parameters import PARTS, parts

KINDS = {
    "language model": parameters.seed_model,
    "translation, tied": parameters.tied_transformer,
    "BERT": parameters.bert,
}
PRESETS = {
    "seed": ("language model", config.seed),
    "base": ("translation, tied", config.base),
    "big": ("translation, tied", config.big),
    "BERT": ("BERT", config.bert_base),
}
WIDTH = 640


def build(kind: str, vocab_size: int, d_model: int, n_heads: int, d_ff: int, n_layers: int) -> nn.Module:
    """A real model of these sizes on the meta device; ValueError if n_heads does not divide d_model."""
    return KINDS[kind](config.Config(vocab_size, d_model, n_heads, d_ff, n_layers, max_len=512))


def draw(counted: dict[str, int]) -> str:
    """One bar, stacked by part, over a table of the same numbers. Hover over a part for its count."""
    total, left, bar, rows = sum(counted.values()), 0.0, [], []
    for part, n in counted.items():
        width, colour = WIDTH * n / total, PARTS[part]
        hint = f"{part}: {n:,}, {n / total:.1%}"
        bar.append(
            f"<rect x='{left:.1f}' y='0' width='{width:.1f}' height='34' fill='{colour}'><title>{hint}</title></rect>"
        )
        left += width
        rows.append(
            f"<tr><td style='background:{colour};width:1em'></td><td style='text-align:left'>{part}</td>"
            f"<td style='text-align:right'>{n:,}</td><td style='text-align:right'>{n / total:.1%}</td></tr>"
        )
    said = escape("; ".join(f"{part} {n:,}" for part, n in counted.items()), quote=True)
    return (
        f"<svg width='{WIDTH}' height='34' viewBox='0 0 {WIDTH} 34' role='img' aria-label='{said}'>{''.join(bar)}</svg>"
        f"<table style='border-spacing:.6em .1em;color:inherit;font:inherit'>{''.join(rows)}"
        f"<tr><td></td><td style='text-align:left'><b>total</b></td><td style='text-align:right'><b>{total:,}</b></td>"
        "<td></td></tr></table>"
    )


def parameter_calculator(preset: str = "seed") -> ipywidgets.Widget:
    """Choose a preset or sizes of your own; each change builds the real model, without memory, and counts it."""
    known = ipywidgets.ToggleButtons(options=list(PRESETS), value=preset, description="Preset")
    kind = ipywidgets.Dropdown(options=list(KINDS), description="Model")
    sizes = {
        "vocab_size": ipywidgets.BoundedIntText(100, min=1, max=1_000_000, description="vocab_size"),
        "d_model": ipywidgets.BoundedIntText(200, min=1, max=20_000, description="d_model"),
        "n_heads": ipywidgets.BoundedIntText(2, min=1, max=256, description="n_heads"),
        "d_ff": ipywidgets.BoundedIntText(200, min=1, max=100_000, description="d_ff"),
        "n_layers": ipywidgets.BoundedIntText(4, min=1, max=48, description="n_layers"),
    }
    picture, note, filling = ipywidgets.HTML(), ipywidgets.HTML(), []

    def redraw(_: object = None) -> None:
        if filling:
            return
        chosen = {name: control.value for name, control in sizes.items()}
        own = (kind.value, tuple(chosen.values()))
        known.value = next((name for name, (k, c) in PRESETS.items() if (k, tuple(c.shape)) == own), None)
        if chosen["d_model"] % chosen["n_heads"]:
            note.value = (
                f"{chosen['n_heads']} heads cannot share {chosen['d_model']} features: choose a divisor. "
                "The bar above is still that of the sizes before."
            )
            return
        counted = parts(build(kind.value, **chosen))
        picture.value = draw(counted)
        size = 4 * sum(counted.values()) / 1e6
        note.value = f"In float32 that is {size:,.1f} MB; counting took none, as no weights were made."

    def fill(_: object = None) -> None:
        if known.value is None:  # sizes of your own
            return
        filling.append(True)  # one drawing at the end, not one for each size
        kind.value, shape = PRESETS[known.value]
        for control, value in zip(sizes.values(), shape.shape, strict=True):
            control.value = value
        filling.clear()
        redraw()

    known.observe(fill, "value")
    for control in (kind, *sizes.values()):
        control.observe(redraw, "value")
    fill()
    rows = [ipywidgets.HBox(list(sizes.values())[:3]), ipywidgets.HBox(list(sizes.values())[3:])]
    return ipywidgets.VBox([known, kind, *rows, picture, note])
