"""The clock explorer: hands that turn with the position, and how alike two positions are."""

from __future__ import annotations

import math

import ipywidgets
import torch

from helpers import positions
from helpers.figures import BLUE, GREY, ORANGE

SIZE, RADIUS = 118, 46
CURVE_WIDTH, CURVE_HEIGHT, REACH = 560, 130, 40


def clock(x: float, k: float, w: float, left: int) -> str:
    """One pair of features: a grey hand at x, a blue one at x + k, and an orange arc for the turn of k·w between."""
    cx, cy = left + SIZE / 2, 70
    parts = [f"<circle cx='{cx}' cy='{cy}' r='{RADIUS}' fill='none' stroke='{GREY}' stroke-opacity='.6'/>"]
    for at, colour, dash in ((x, GREY, "5 3"), (x + k, BLUE, "")):
        to_x, to_y = cx + RADIUS * math.sin(w * at), cy - RADIUS * math.cos(w * at)
        hint = f"position {at:g}: sin {math.sin(w * at):.2f}, cos {math.cos(w * at):.2f}"
        parts.append(
            f"<line x1='{cx}' y1='{cy}' x2='{to_x:.1f}' y2='{to_y:.1f}' stroke='{colour}' stroke-width='3' "
            f"stroke-dasharray='{dash}'><title>{hint}</title></line>"
        )
    # A turn of more than once around is drawn as the part that is left of it.
    turn = math.copysign(math.fmod(abs(k * w), 2 * math.pi), k)
    steps = [w * x + turn * s / 40 for s in range(41)]
    points = " ".join(f"{cx + 0.7 * RADIUS * math.sin(a):.1f},{cy - 0.7 * RADIUS * math.cos(a):.1f}" for a in steps)
    parts.append(f"<polyline points='{points}' fill='none' stroke='{ORANGE}' stroke-width='2'/>")
    degrees = math.degrees(k * w)
    turned = f"{degrees:,.0f}" if abs(degrees) >= 1000 else f"{degrees:.3g}"
    for y, label in ((9, f"w = {w:.2g}"), (21, f"turned {turned}°".replace("-", "−"))):
        parts.append(f"<text x='{cx}' y='{y}' text-anchor='middle'>{label}</text>")
    return f"<g>{''.join(parts)}</g>"


def curve(k: int, d_model: int, base: float) -> str:
    """PE(x)·PE(x + k) for all k up to REACH on both sides; the chosen k, and −k, are marked."""
    shifts = torch.arange(-REACH, REACH + 1, dtype=torch.float64)  # (K,)
    alike = (shifts[:, None] * positions.frequencies(d_model, base)).cos().sum(-1)  # (K,)
    top = d_model / 2

    def place(shift: float, value: float) -> tuple[float, float]:
        return 40 + (shift + REACH) * CURVE_WIDTH / (2 * REACH), 20 + CURVE_HEIGHT * (top - value) / (2 * top)

    line = " ".join("{:.1f},{:.1f}".format(*place(s, v)) for s, v in zip(shifts.tolist(), alike.tolist(), strict=True))
    parts = [f"<polyline points='{line}' fill='none' stroke='{BLUE}' stroke-width='2'/>"]
    (left, zero), (right, _), (middle, _) = place(-REACH, 0), place(REACH, 0), place(0, 0)
    parts.append(f"<line x1='{left}' y1='{zero}' x2='{right}' y2='{zero}' stroke='{GREY}' stroke-opacity='.6'/>")
    for shift, filled in ((-k, "none"), (k, ORANGE)):
        at_x, at_y = place(shift, float(alike[shift + REACH]))
        parts.append(f"<circle cx='{at_x:.1f}' cy='{at_y:.1f}' r='5' fill='{filled}' stroke='{ORANGE}'/>")
    for value, text in ((top, f"{top:g}"), (0, "0"), (-top, f"−{top:g}")):
        parts.append(f"<text x='34' y='{place(0, value)[1] + 4:.1f}' text-anchor='end'>{text}</text>")
    for shift, anchor in ((-REACH, "start"), (0, "middle"), (REACH, "end")):
        label = f"{shift}".replace("-", "−") if shift else "k = 0"
        parts.append(
            f"<text x='{place(shift, 0)[0]:.1f}' y='{CURVE_HEIGHT + 36}' text-anchor='{anchor}'>{label}</text>"
        )
    parts.append(f"<text x='{left}' y='12'>how alike: PE(x)·PE(x + k)</text>")
    parts.append(
        f"<line x1='{middle}' y1='20' x2='{middle}' y2='{CURVE_HEIGHT + 20}' stroke='{GREY}' stroke-dasharray='2 4'/>"
    )
    return "".join(parts)


def draw(x: int, k: int, d_model: int, base: float) -> str:
    """A clock for each pair of features, and below them the curve of similarity over k."""
    speeds = positions.frequencies(d_model, base).tolist()  # (D/2,)
    width, top = max(len(speeds) * SIZE, CURVE_WIDTH + 80), SIZE + 22
    clocks = "".join(clock(x, k, w, i * SIZE) for i, w in enumerate(speeds))
    return (
        f"<svg width='{width}' height='{top + CURVE_HEIGHT + 44}' viewBox='0 0 {width} {top + CURVE_HEIGHT + 44}' "
        "role='img' aria-label='clock hands of each pair of features, and how alike positions are' "
        f"style='font:11px sans-serif;fill:currentColor;max-width:100%;height:auto'>{clocks}"
        f"<g transform='translate(0 {top})'>{curve(k, d_model, base)}</g></svg>"
    )


def clock_explorer(d_model: int = 10) -> ipywidgets.Widget:
    """Move x: all hands move, no arc changes. Move k: each arc changes at its own speed. Hover over a hand."""
    x = ipywidgets.IntSlider(4, min=0, max=60, description="x")
    k = ipywidgets.IntSlider(3, min=-REACH, max=REACH, description="k")
    width = ipywidgets.IntSlider(d_model, min=2, max=16, step=2, description="d_model")
    base = ipywidgets.SelectionSlider(options=[4, 10, 100, 1000, 10000], value=100, description="base")
    picture, note = ipywidgets.HTML(), ipywidgets.HTML()

    def redraw(_: object = None) -> None:
        picture.value = draw(x.value, k.value, width.value, base.value)
        here, there = positions.sinusoidal(x.value + REACH + 1, width.value, base.value)[
            [x.value, x.value + abs(k.value)]
        ]
        both = f"k = {k.value} as for k = {-k.value}" if k.value else "k = 0"
        note.value = (
            f"PE(x)·PE(x + k) = {float(here @ there):.2f} of at most {width.value / 2:g}, for {both}, and for any x."
        ).replace("-", "−")

    for control in (x, k, width, base):
        control.observe(redraw, "value")
    redraw()
    return ipywidgets.VBox([ipywidgets.HBox([x, k]), ipywidgets.HBox([width, base]), picture, note])
