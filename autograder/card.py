"""The card that a learner sees: verdict, sentence, and for arrays yours beside the target.

Plain HTML with inline styles, the same bytes for the same verdict: GitHub strips styles and SVG, and what is left must
still read well. Colours are Okabe and Ito's, chosen so that text keeps its contrast in light and dark themes.
"""

from __future__ import annotations

import math
from html import escape

import torch

from autograder.exercise import Exercise
from autograder.judge import Verdict

BLUE, ORANGE, GREY = (0, 114, 178), (213, 94, 0), (128, 128, 128)
SIGNS = {
    "right": ("✓", "#009E73"),
    "wrong": ("✗", "#D55E00"),
    "error": ("✗", "#D55E00"),
    "timeout": ("✗", "#D55E00"),
    "not your own": ("✗", "#CC79A7"),
    "not attempted": ("○", "#888888"),
    "recorded": ("●", "#0072B2"),
}
MAX_SIDE = 24
CELL = 9


def html(verdict: Verdict, exercise: Exercise) -> str:
    """The card for one verdict."""
    sign, colour = SIGNS.get(verdict.verdict, ("○", "#888888"))
    points = f"{verdict.score:g} of {verdict.points} point{'s' if verdict.points != 1 else ''}"
    parts = [
        f"<p style='margin:0'><strong><span style='color:{colour}'>{sign}</span> "
        f"<code>{escape(verdict.exercise)}</code>: {escape(verdict.verdict)}</strong> · {points}</p>",
        f"<p style='margin:.4em 0 0'>{_code(verdict.sentence)}</p>",
    ]
    if verdict.detail and verdict.detail.rstrip(".").removeprefix("Here ") not in verdict.sentence:
        asked = f"Asked with {verdict.where}. " if verdict.where else ""
        parts.append(f"<p style='margin:.4em 0 0;opacity:.8'>{_code(asked + verdict.detail)}</p>")
    if verdict.yours is not None and verdict.target is not None:
        parts.append(picture(verdict.yours, verdict.target))
    body = "".join(parts)
    return f"<div style='border-left:4px solid {colour};padding:.5em .9em;margin:.3em 0;max-width:52em'>{body}</div>"


def _code(text: str) -> str:
    """Text with `code` between backticks set as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))


# ---- yours, target, difference ----


def picture(yours: torch.Tensor, target: torch.Tensor) -> str:
    """Yours, the target and where they differ, as three small maps of one slice; nothing for a single number."""
    if target.dim() == 0 or 0 in (*target.shape, *yours.shape):
        return ""
    slice_of, yours_map, target_map = _slices(yours.double(), target.double())
    finite = torch.cat([yours_map.flatten(), target_map.flatten()])
    finite = finite[torch.isfinite(finite)].abs()
    scale = float(finite.max()) if finite.numel() else 1.0
    maps = [
        _map("yours", yours_map, scale),
        _map("target", target_map, scale),
    ]
    if yours_map.shape == target_map.shape:
        same = torch.isclose(yours_map, target_map, rtol=1e-4, atol=1e-6 * (scale or 1.0), equal_nan=True)
        maps.append(_map(f"difference: {int((~same).sum())} of {same.numel()} entries", (~same).double(), 1.0, True))
    row = "".join(f"<td style='vertical-align:top;padding:.4em 1em 0 0;text-align:left'>{m}</td>" for m in maps)
    note = (
        f"<div style='opacity:.7;font-size:.85em'>{escape(slice_of)}blue positive, orange negative, ▪ −∞, × NaN</div>"
    )
    return f"<table style='border:none'><tr style='background:none'>{row}</tr></table>{note}"


def _slices(yours: torch.Tensor, target: torch.Tensor) -> tuple[str, torch.Tensor, torch.Tensor]:
    """The leading slice in which the two differ most, as matrices."""
    if yours.shape == target.shape and target.dim() > 2:
        gap = torch.nan_to_num(torch.where(yours == target, 0.0, (yours - target).abs()), nan=1e30, posinf=1e30)
        lead = gap.flatten(-2).amax(-1)
        index = tuple(int(i) for i in torch.unravel_index(lead.argmax(), lead.shape))
        name = f"slice {list(index)}; "
        return name, yours[index], target[index]
    return "", _matrix(yours), _matrix(target)


def _matrix(x: torch.Tensor) -> torch.Tensor:
    while x.dim() > 2:
        x = x[0]
    return x if x.dim() == 2 else x.reshape(1, -1)


def _map(title: str, x: torch.Tensor, scale: float, marks: bool = False) -> str:
    x = _matrix(x)
    rows, columns = min(x.shape[0], MAX_SIDE), min(x.shape[1], MAX_SIDE)
    cells = "".join(
        _cell(r, c, value, scale, marks)
        for r, line in enumerate(x[:rows, :columns].tolist())
        for c, value in enumerate(line)
    )
    cut = " (upper left corner)" if (rows, columns) != tuple(x.shape) else ""
    width, height = columns * CELL, rows * CELL
    zoom = 2 if max(rows, columns) <= 8 else 1
    return (
        f"<div style='font-size:.85em;margin-bottom:.2em'>{escape(title)} {tuple(x.shape)}{cut}</div>"
        f"<svg width='{zoom * (width + 2)}' height='{zoom * (height + 2)}' viewBox='-1 -1 {width + 2} {height + 2}' "
        f"role='img' aria-label='{escape(title)}'>"
        f"<rect x='-.5' y='-.5' width='{width + 1}' height='{height + 1}' fill='none' "
        f"stroke='rgb{GREY}'/>{cells}</svg>"
    )


def _cell(row: int, column: int, value: float, scale: float, marks: bool) -> str:
    x, y = column * CELL, row * CELL
    if math.isnan(value):
        return f"<path d='M{x + 2} {y + 2}l5 5m0 -5l-5 5' stroke='rgb{ORANGE}' stroke-width='1.5'/>"
    if math.isinf(value):
        colour = GREY if value < 0 else BLUE
        return f"<rect x='{x + 2}' y='{y + 2}' width='5' height='5' fill='rgb{colour}'/>"
    strength = min(abs(value) / (scale or 1.0), 1.0)
    if strength < 0.01:
        return ""
    colour = GREY if marks else BLUE if value > 0 else ORANGE
    return (
        f"<rect x='{x}' y='{y}' width='{CELL}' height='{CELL}' fill='rgb{colour}' fill-opacity='{strength:.2f}'/>"
    ).replace(", ", ",")


def progress(rows: list[tuple[str, float, int]]) -> str:
    """A table with a bar for each topic."""
    lines = "".join(
        f"<tr style='background:none'><td style='text-align:left'>{escape(topic)}</td><td>{_bar(done, points)}</td>"
        f"<td style='text-align:left'>{done:g} of {points}</td></tr>"
        for topic, done, points in rows
    )
    return f"<table style='border:none'>{lines}</table>"


def _bar(done: float, points: int) -> str:
    width = round(180 * done / points) if points else 0
    return (
        f"<svg width='182' height='12' role='img' aria-label='{done:g} of {points} points'>"
        f"<rect x='.5' y='.5' width='181' height='11' fill='none' stroke='#888'/>"
        f"<rect x='1' y='1' width='{width}' height='10' fill='#009E73'/></svg>"
    )
