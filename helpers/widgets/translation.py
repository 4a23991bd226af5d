"""The beam explorer: type a sentence, and watch hypotheses compete."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import ipywidgets
from tokenizers import Tokenizer
from torch import Tensor

from helpers import decoding
from helpers.figures import BLUE, GREY, ORANGE
from helpers.kv_cache import Cached
from helpers.models import Transformer
from helpers.text.translation import BOS, EOS, source_ids, text

GAP, ROW, LEFT, TOP = 20, 44, 14, 26
LONGEST = 24  # words of a sentence
# A rim in the background's colour, so that lines do not cross letters; none where no such colour is known.
HALO = (
    "paint-order:stroke;stroke-width:3px;stroke-linejoin:round;"
    "stroke:var(--jp-layout-color0,var(--vscode-editor-background,transparent))"
)
Ids = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A hypothesis as it was at some step: its ids after BOS, and its log-probability."""

    ids: Ids
    total: float


class Watched:
    """Stands where a model stands in `decoding.beam`, and notes what it is asked and what it answers."""

    def __init__(self, model: Transformer) -> None:
        self.model = Cached(model)
        self.asked: list[tuple[Tensor, Tensor]] = []  # target (W, T), log-probabilities of what comes next (W, V)

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        logits = self.model(source, target)  # (W, N, V)
        self.asked.append((target, logits[:, -1].log_softmax(-1)))
        return logits


def search(
    model: Transformer, tokenizer: Tokenizer, english: str, width: int, alpha: float, max_len: int = 40
) -> tuple[list[Node], Ids, float]:
    """Every hypothesis that was kept at some step of a beam search, the ids of the best, and its score."""
    watched = Watched(model)
    source = source_ids(tokenizer, [english])  # (1, S)
    ids, score = decoding.beam(watched, source, BOS, EOS, min(max_len, 2 * source.shape[1] + 8), width, alpha)
    best = tuple(ids[0].tolist())
    totals: dict[Ids, float] = {(): 0.0}
    places = width
    for step, (target, log_p) in enumerate(watched.asked):
        live = [tuple(row[1:]) for row in target.tolist()]
        sums = log_p + log_p.new_tensor([totals[row] for row in live])[:, None]  # (W, V)
        ranked = sums.flatten().topk(min(places, sums.numel()))
        kept = [divmod(i, sums.shape[1]) for i in ranked.indices.tolist()]
        totals |= {(*live[w], token): x for x, (w, token) in zip(ranked.values.tolist(), kept, strict=True)}
        places = len(watched.asked[step + 1][0]) if step + 1 < len(watched.asked) else 0
    return [Node(*item) for item in totals.items()], best, score


def draw(nodes: list[Node], best: Ids, tokenizer: Tokenizer, alpha: float) -> str:
    """The search as SVG: a column for each step, the likeliest on top; rings have ended, the best is orange."""
    columns: dict[int, list[Node]] = {}
    for node in sorted(nodes, key=lambda node: -node.total):
        columns.setdefault(len(node.ids), []).append(node)
    pieces = {n.ids: tokenizer.id_to_token(n.ids[-1]).replace("▁", "␣") if n.ids else "<bos>" for n in nodes}
    wide = [max(26, 7 * max(len(pieces[n.ids]) for n in columns[k])) for k in sorted(columns)]  # pixels of each column
    middle = [LEFT + sum(wide[:k]) + wide[k] / 2 + k * GAP for k in range(len(wide))]
    place = {n.ids: (middle[k], TOP + row * ROW) for k, c in columns.items() for row, n in enumerate(c)}
    lines, words = [], []
    for node in nodes:
        x, y = place[node.ids]
        won = best[: len(node.ids)] == node.ids
        colour, thick = (ORANGE, 3) if won else (BLUE, 1.5)
        if node.ids:
            from_x, from_y = place[node.ids[:-1]]
            bend = (from_x + x) / 2
            curve = f"M{from_x} {from_y} C{bend} {from_y} {bend} {y} {x} {y}"
            line = f"<path d='{curve}' fill='none' stroke='{colour}' stroke-width='{thick}' stroke-opacity='.8'/>"
            lines.insert(len(lines) if won else 0, line)
        score = node.total / max(len(node.ids), 1) ** alpha
        hint = f"{text(tokenizer, node.ids)}: log-probability {_minus(node.total)}, score {_minus(score)}"
        ended = bool(node.ids) and node.ids[-1] == EOS
        words.append(
            f"<g><title>{escape(hint)}</title>"
            f"<circle cx='{x}' cy='{y}' r='{6 if ended else 3}' fill='{'none' if ended else colour}' stroke='{colour}' "
            f"stroke-width='2'/><text x='{x}' y='{y - 9}' text-anchor='middle'>{escape(pieces[node.ids])}</text>"
            f"<text x='{x}' y='{y + 17}' text-anchor='middle' fill='{GREY}' font-size='10'>{_minus(score)}</text></g>"
        )
    width, height = LEFT * 2 + sum(wide) + GAP * (len(wide) - 1), TOP + ROW * max(map(len, columns.values()))
    size = f"width='{width}' height='{height}' viewBox='0 0 {width} {height}'"
    return (
        f"<div style='overflow-x:auto'><svg {size} role='img' "
        f"aria-label='beam search as a tree; the best hypothesis is {escape(text(tokenizer, best), quote=True)}' "
        f"style='font:12px sans-serif;fill:currentColor'>{''.join(lines)}"
        f"<g style='{HALO}'>{''.join(words)}</g></svg></div>"
    )


def _minus(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def found(nodes: list[Node], best: Ids, tokenizer: Tokenizer, alpha: float) -> str:
    """The hypotheses that ended, as rows with their scores, the best in bold on top."""

    def score(node: Node) -> float:
        return node.total / len(node.ids) ** alpha

    ended = [node for node in nodes if node.ids and (node.ids[-1] == EOS or node.ids == best)]
    rows = []
    for node in sorted(ended, key=lambda node: (node.ids != best, -score(node))):
        said = escape(text(tokenizer, node.ids)) or "(nothing)"
        words = f"<b>{said}</b>" if node.ids == best else said
        rows.append(f"<tr><td style='text-align:right'>{_minus(score(node))}</td><td>{words}</td></tr>")
    return (
        "<table style='border-spacing:.6em 0;color:inherit;font:inherit;text-align:left'>"
        f"<tr><td>score</td><td>ended</td></tr>{''.join(rows)}</table>"
    )


def beam_explorer(model: Transformer, tokenizer: Tokenizer, english: str) -> ipywidgets.Widget:
    """Type a sentence, choose width and alpha. The model is in evaluation mode."""
    typed = ipywidgets.Text(english, description="English", continuous_update=False, layout={"width": "560px"})
    width = ipywidgets.IntSlider(3, min=1, max=8, description="width", continuous_update=False)
    alpha = ipywidgets.FloatSlider(0.6, min=0, max=1.5, step=0.1, description="alpha", continuous_update=False)
    picture, note = ipywidgets.HTML(), ipywidgets.HTML()

    def redraw(_: object = None) -> None:
        words = typed.value.split()
        english = " ".join(words[:LONGEST])
        if not english:
            picture.value, note.value = "", "Type an English sentence."
            return
        nodes, best, _ = search(model, tokenizer, english, width.value, alpha.value)
        picture.value = draw(nodes, best, tokenizer, alpha.value)
        _, greedy, score = search(model, tokenizer, english, 1, alpha.value)
        said = "the same." if greedy == best else f"{escape(text(tokenizer, greedy))} ({_minus(score)})"
        cut = f" Only the first {LONGEST} words were translated." if len(words) > LONGEST else ""
        note.value = f"{found(nodes, best, tokenizer, alpha.value)}Greedy says {said}{cut}"

    for control in (typed, width, alpha):
        control.observe(redraw, "value")
    redraw()
    return ipywidgets.VBox([typed, ipywidgets.HBox([width, alpha]), picture, note])
