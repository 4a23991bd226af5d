"""The attention explorer: head by head, who looks at whom, on a sentence of your own."""

from __future__ import annotations

import math
from html import escape
from itertools import pairwise

import ipywidgets
import torch
from torch import Tensor

from helpers import masks
from helpers.attention import attend
from helpers.figures import COLOURS

HEADS = ("the token before", "the first token", "words that look alike", "everyone alike")
MAX_TOKENS = 14
ROW = 26


def head_maps(tokens: list[str], sharpness: float = 1.0, causal: bool = False) -> Tensor:
    """Attention weights (H, T, T) of four heads built by hand: queries and keys chosen so that each does one thing."""
    n = len(tokens)
    here, before = torch.eye(n), torch.eye(n).roll(-1, dims=1)
    before[0] = here[0]  # the first token has nobody before it
    first = torch.zeros(n, n)
    first[:, 0] = 1
    letters = torch.stack([_letters(token) for token in tokens])  # (T, 2 · 26²)
    pairs = [(before, here), (first, here), (letters, letters), (torch.zeros(n, 1), torch.zeros(n, 1))]
    mask = masks.causal(n) if causal else None
    # `attend` divides by √d_k; here a perfect match shall score 6 · sharpness whatever the width.
    return torch.stack([attend(6 * sharpness * math.sqrt(q.shape[1]) * q, k, k, mask)[1] for q, k in pairs])


def _letters(token: str) -> Tensor:
    """A unit vector of the token's letters and of its pairs of letters."""
    counts = torch.zeros(26 * 26 + 26)
    codes = [ord(c) - 97 for c in token.lower() if "a" <= c <= "z"]
    for code in codes:
        counts[26 * 26 + code] += 0.5
    for a, b in pairwise(codes):
        counts[26 * a + b] += 1
    return counts / counts.norm().clamp(min=1e-6)


def draw(tokens: list[str], weights: Tensor, colour: str) -> str:
    """One head as SVG: queries on the left, keys on the right, a line as strong as its weight. Hover over a query."""
    n = len(tokens)
    width, height = 330, n * ROW + 30
    rows = []
    for i, token in enumerate(tokens):
        y = 38 + i * ROW
        lines = "".join(
            f"<line x1='118' y1='{y}' x2='212' y2='{38 + j * ROW}' stroke='{colour}' stroke-width='3' "
            f"stroke-opacity='{w:.2f}'><title>{escape(token)} → {escape(tokens[j])}: {w:.2f}</title></line>"
            for j, w in enumerate(weights[i].tolist())
            if w > 0.02
        )
        rows.append(f"<g class='query'><text x='110' y='{y + 4}' text-anchor='end'>{escape(token)}</text>{lines}</g>")
    keys = "".join(f"<text x='220' y='{42 + j * ROW}'>{escape(token)}</text>" for j, token in enumerate(tokens))
    heading = (
        "<text x='110' y='14' text-anchor='end' opacity='.6'>asks</text>"
        "<text x='220' y='14' opacity='.6'>answers</text>"
    )
    return (
        f"<svg class='attention' width='{width}' height='{height}' viewBox='0 0 {width} {height}' role='img' "
        f"aria-label='attention of one head'>{heading}{''.join(rows)}{keys}</svg>"
    )


STYLE = (
    "<style>svg.attention{font:13px sans-serif;fill:currentColor}svg.attention .query{cursor:default}"
    "svg.attention:hover .query line{opacity:.08}svg.attention .query:hover line{opacity:1}"
    "svg.attention .query:hover text{font-weight:bold}</style>"
)


def attention_explorer(sentence: str = "the cat saw the other cats and the dog") -> ipywidgets.Widget:
    """Type a sentence, choose heads, mask the future: each panel is one head. Hover over a word for its row alone."""
    text = ipywidgets.Text(sentence, description="Sentence", layout={"width": "34em"}, continuous_update=True)
    shown = [ipywidgets.ToggleButton(i < 3, description=name) for i, name in enumerate(HEADS)]
    sharpness = ipywidgets.FloatSlider(1.0, min=0.0, max=2.0, step=0.1, description="Sharpness")
    causal = ipywidgets.Checkbox(False, description="causal mask", indent=False)
    picture = ipywidgets.HTML()

    def redraw(_: object = None) -> None:
        tokens = text.value.split()[:MAX_TOKENS] or ["…"]
        maps = head_maps(tokens, sharpness.value, causal.value)
        panels = "".join(
            f"<div><b style='color:{COLOURS[i]}'>{name}</b><br>{draw(tokens, maps[i], COLOURS[i])}</div>"
            for i, name in enumerate(HEADS)
            if shown[i].value
        )
        picture.value = f"{STYLE}<div style='display:flex;flex-wrap:wrap;gap:1em'>{panels}</div>"

    for control in (text, *shown, sharpness, causal):
        control.observe(redraw, "value")
    redraw()
    return ipywidgets.VBox([text, ipywidgets.HBox(shown), ipywidgets.HBox([sharpness, causal]), picture])
