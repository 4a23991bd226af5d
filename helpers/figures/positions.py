"""Figures of 03_positions. Blue is positive, orange negative, clear is 0; everything is computed as it is drawn."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers import positions
from helpers.attention import MultiHeadAttention, attend
from helpers.figures import BLUE, COLOURS, GREY, ORANGE, show, style
from helpers.figures.masks import _panels, _write, grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# ---- order is lost ----


def _signed(ax: Axes, x: Tensor, title: str, numbers: bool = False) -> None:
    """A matrix of signed numbers as cells: blue above 0, orange below."""
    size = x / x.abs().max()
    grid(ax, size.clamp(min=0), title)
    grid(ax, (-size).clamp(min=0), title, colour=ORANGE)
    for i, j in product(*map(range, x.shape)) if numbers else ():
        _write(ax, j, i, f"{x[i, j] + 0:.2f}".replace("-", "−"), on_colour=bool(size[i, j].abs() > 0.25))


def pooled(one: str, other: str, with_positions: bool = False) -> None:
    """Outputs of a layer of self-attention for the same words in two orders, and the mean over each."""
    sentences = [one.split(), other.split()]
    words, d_model = sorted(set(sentences[0])), 8
    generator = torch.Generator().manual_seed(1)
    embedding = torch.randn(len(words), d_model, generator=generator)  # (V, D)
    layer = _layer(d_model, seed=1)
    outputs = []
    for sentence in sentences:
        x = embedding[[words.index(word) for word in sentence]]  # (T, D)
        x = x + positions.sinusoidal(len(sentence), d_model) if with_positions else x  # (T, D)
        outputs.append(layer(x[None])[0])  # (T, D)
    means = [output.mean(0) for output in outputs]  # (D,) each
    apart = (means[0] - means[1]).abs().max().item()
    title = (
        "With positions the two orders part" if with_positions else "Without positions: the same rows, the same mean"
    )
    with style():
        figure, axes = _panels(3, 3.7, 2.6, title)
        for ax, sentence, output in zip(axes, sentences, outputs, strict=False):
            _signed(ax, output, "output of each token")
            ax.set_yticks(range(len(sentence)), sentence)
            ax.set(xlabel="feature", ylabel="")
        for marker, sentence, mean in zip("ox", (one, other), means, strict=True):
            axes[2].plot(range(d_model), mean, marker=marker, linestyle="--" if marker == "x" else "-", label=sentence)
        axes[2].set(title=f"the mean: {apart:.2f} apart", xlabel="feature", ylabel="mean over the tokens")
        axes[2].legend(fontsize=9)
        show(
            figure,
            f"Outputs of self-attention for “{one}” and “{other}”, and the mean over the tokens of each. "
            + ("The rows and the means differ." if with_positions else "The rows are the same in another order, "
               "and the means are the same curve."),
        )  # fmt: skip


def _layer(d_model: int, seed: int) -> nn.Module:
    """A layer of self-attention with one head and fixed random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layer = MultiHeadAttention(d_model, 1).requires_grad_(False)
        for projection in (layer.q_proj, layer.k_proj):
            projection.weight *= 3  # freshly made, all weights would be nearly uniform
        return layer


# ---- the sinusoidal table ----


def small_table(sentence: str, d_model: int = 4, base: float = 100.0) -> None:
    """The sinusoidal table of a short sentence, in numbers."""
    words = sentence.split()
    table = positions.sinusoidal(len(words), d_model, base)  # (T, D)
    names = [f"{wave}(x/{base ** (2 * i / d_model):g})" for i in range((d_model + 1) // 2) for wave in ("sin", "cos")]
    with style():
        title = f"A row for each position, two features for each speed (d_model {d_model}, base {base:g})"
        figure, (ax,) = _panels(1, 6.2, 3.2, title)
        _signed(ax, table, "", numbers=True)
        ax.set_aspect("auto")
        ax.set_xticks(range(d_model), names[:d_model])
        ax.set_yticks(range(len(words)), [f"{word}  x = {x}" for x, word in enumerate(words)])
        ax.set(xlabel="feature", ylabel="")
        rows = "; ".join(", ".join(f"{v:.2f}" for v in row) for row in table.tolist())
        show(figure, f"The sinusoidal table of “{sentence}”: {rows}.")


def table(n_positions: int = 100, d_model: int = 64, base: float = 10000.0) -> None:
    """The sinusoidal table as a picture, and three of its columns as waves."""
    values = positions.sinusoidal(n_positions, d_model, base)  # (n_positions, D)
    columns = [0, d_model // 8 * 2, d_model // 4 * 2]
    with style():
        figure, (left, right) = _panels(2, 5, 4, "Fast features tell neighbours apart, slow ones the parts of a text")
        _signed(left, values, "the table: blue +1, orange −1")
        left.set_aspect("auto")
        left.grid(visible=False, which="minor")
        left.set(xlabel="feature", ylabel="position", xticks=range(0, d_model, d_model // 8))
        left.set_yticks(range(0, n_positions, 20))
        for column, line in zip(columns, ("-", "--", "-."), strict=True):
            right.plot(range(n_positions), values[:, column], line, label=f"feature {column}")
        right.set(title="three of its columns", xlabel="position", ylabel="value", ylim=(-1.1, 1.5))
        right.legend(ncols=3, loc="upper center", fontsize=9)
        show(
            figure,
            f"The table of {n_positions} positions and {d_model} features. On the left, low features change from row "
            "to row, high ones hardly over the whole table. On the right, three columns as waves, each slower.",
        )


def wavelengths(d_model: int = 64, bases: Sequence[float] = (100.0, 10000.0), n: int = 512) -> None:
    """How many positions each pair of features takes for one turn."""
    from matplotlib import pyplot

    with style():
        figure, ax = pyplot.subplots(figsize=(7.2, 3.8))
        for marker, base in zip("os", bases, strict=False):
            turns = 2 * math.pi / positions.frequencies(d_model, base)  # (D/2,)
            ax.plot(range(len(turns)), turns, marker=marker, markersize=4, label=f"base {base:g}")
        ax.axhline(n, color=GREY, linewidth=1, linestyle=":")
        ax.text(0, n * 1.25, f"a text of {n} tokens", fontsize=9)
        ax.set(
            title="Each pair turns slower by the same factor: the base says how slow the last one is",
            xlabel="pair of features i",
            ylabel="positions for one turn",
            yscale="log",
        )
        ax.legend(loc="lower right")
        show(
            figure,
            f"Positions for one turn against the pair of features, on a logarithmic scale: a straight line for each "
            f"of the bases {', '.join(f'{b:g}' for b in bases)}, both from 2π. The larger base soon needs more "
            f"than {n} positions.",
        )


# ---- a shift is a turn ----


def clock_hands(k: float = 3.0, starts: Sequence[float] = (2.0, 11.0), d_model: int = 8, base: float = 100.0) -> None:
    """The hands of each pair at some positions x, and k later: the angle between depends on k alone."""
    speeds = positions.frequencies(d_model, base).tolist()  # (D/2,)
    with style():
        title = f"{k:g} positions later each hand has turned by its own angle, wherever it stood before"
        figure, axes = _panels(len(speeds), 2.7, 3.4, title)
        for i, (ax, w) in enumerate(zip(axes, speeds, strict=True)):
            ax.add_patch(_circle())
            for x, radius, line in zip(starts, (0.95, 0.6), ("-", (0, (2, 1))), strict=True):
                for at, colour in ((x, GREY), (x + k, BLUE)):
                    ax.plot(
                        [0, radius * math.sin(w * at)], [0, radius * math.cos(w * at)], color=colour, linestyle=line
                    )
                turn = torch.linspace(w * x, w * (x + k), 60)
                ax.plot(radius * 0.8 * turn.sin(), radius * 0.8 * turn.cos(), color=ORANGE, linewidth=1.5)
            ax.set(title=f"pair {i}: w = {w:.2g}\nturned by {math.degrees(k * w):.0f}°", aspect="equal")
            ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xlabel="sin(wx)", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        axes[0].set_ylabel("cos(wx)")
        where = " and ".join(f"{x:g}" for x in starts)
        show(
            figure,
            f"A clock for each of {len(speeds)} pairs of features. Grey hands at positions {where}, one long, one "
            f"short and dashed; blue hands {k:g} positions later. In each clock both have turned by the same angle: "
            f"{', '.join(f'{math.degrees(k * w):.0f}' for w in speeds)} degrees.",
        )


def _circle() -> object:
    from matplotlib.patches import Circle

    return Circle((0, 0), 1, fill=False, edgecolor=GREY, linewidth=1)


def shift_matrices(d_model: int = 8, base: float = 100.0, shifts: Sequence[float] = (1, 3, 10)) -> None:
    """The matrices M(k): a turn of two features by two on the diagonal, and nothing else."""
    with style():
        title = "One matrix for each shift k: every pair turns by itself, at its own speed"
        figure, axes = _panels(len(shifts), 3.5, 4.1, title)
        for ax, k in zip(axes, shifts, strict=True):
            _signed(ax, positions.shift_matrix(k, d_model, base), f"k = {k:g}")
            ax.set(xlabel="feature of PE(x)", ylabel="feature of PE(x + k)" if ax is axes[0] else "")
        show(
            figure,
            f"Matrices of {d_model} by {d_model} for shifts of {', '.join(f'{k:g}' for k in shifts)}. Only blocks of "
            "two by two on the diagonal are not zero: cosines on the diagonal, sines with opposite signs beside it.",
        )


def similarity(reach: int = 60, widths: Sequence[int] = (16, 128), bases: Sequence[float] = (100.0, 10000.0)) -> None:
    """PE(x)·PE(x + k) over k, as a part of its largest value, for several widths and bases."""
    k = torch.arange(-reach, reach + 1, dtype=torch.float64)  # (K,)
    with style():
        title = "Near positions are alike, and k steps to the left look like k to the right"
        figure, axes = _panels(len(bases), 4.6, 3.6, title)
        for ax, base in zip(axes, bases, strict=True):
            for line, d_model in zip(("-", "--"), widths, strict=True):
                curve = (k[:, None] * positions.frequencies(d_model, base)).cos().mean(-1)  # (K,)
                ax.plot(k, curve, line, label=f"d_model {d_model}")
            ax.set(title=f"base {base:g}", xlabel="k, in positions", ylim=(-0.6, 1.05))
            ax.axvline(0, color=GREY, linewidth=1, linestyle=":")
        axes[0].set_ylabel("PE(x)·PE(x + k), of its maximum")
        axes[0].legend(loc="lower right", fontsize=9)
        show(
            figure,
            f"Similarity against the shift k from −{reach} to {reach}, for widths {' and '.join(map(str, widths))} and "
            f"bases {' and '.join(f'{b:g}' for b in bases)}. All curves peak at 0 and are mirror images of "
            "themselves. With the larger base they fall more slowly; wide ones wiggle less.",
        )


# ---- where positions meet words ----


def terms(sentence: str, d_model: int = 32) -> None:
    """The four terms of the scores when positions are added to words, and the two when they are laid beside them."""
    words = sentence.split()
    kinds = sorted(set(words))
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(len(kinds), d_model, generator=generator)[[kinds.index(word) for word in words]]  # (T, D)
    p = positions.sinusoidal(len(words), d_model)  # (T, D)
    panels = {"xx: word, word": x @ x.T, "pp: place, place": p @ p.T, "xp: word, place": x @ p.T,
              "px: place, word": p @ x.T}  # fmt: skip
    largest = max(float(m.abs().max()) for m in panels.values())
    with style():
        title = "Added: four terms make a score. Side by side: the two on the left alone"
        figure, axes = _panels(4, 3, 3.9, title)
        for ax, (name, matrix) in zip(axes, panels.items(), strict=True):
            grid(ax, (matrix / largest).clamp(min=0), name)
            grid(ax, (-matrix / largest).clamp(min=0), name, colour=ORANGE)
            ax.set_xticks(range(len(words)), words, rotation=60, ha="right", rotation_mode="anchor")
            ax.set_yticks(range(len(words)), words if ax is axes[0] else [""] * len(words))
            ax.set(xlabel="key j", ylabel="query i" if ax is axes[0] else "")
        show(
            figure,
            f"Four tables for “{sentence}”. Word with word: large where words are equal. Place with place: a band "
            "along the diagonal. Word with place: each word's row prefers some places, "
            "whatever stands there. Place with word: its transpose.",
        )


def relative_bias(n: int = 5) -> None:
    """A table of one number for each distance, and the bias it makes, for two heads."""
    distance = torch.arange(1 - n, n, dtype=torch.float32)  # (2T − 1,)
    heads = {
        "head 0: the nearer the better": -0.5 * distance.abs(),
        "head 1: the token before": torch.where(distance == 1, 2.0, -0.5),
    }
    tables = torch.stack(list(heads.values()))  # (H, 2T − 1)
    biases = positions.relative_bias(tables, n)  # (H, n, n)
    with style():
        title = "One number for each distance fills a whole diagonal"
        figure, axes = _panels(4, 3.1, 3.5, title)
        for h, name in enumerate(heads):
            row, matrix = axes[2 * h], axes[2 * h + 1]
            row.bar(distance, tables[h], color=[BLUE if v > 0 else ORANGE for v in tables[h]])
            row.axhline(0, color=GREY, linewidth=1)
            row.set(title=name, xlabel="distance i − j", ylabel="bias", ylim=(-2.2, 2.2), box_aspect=1)
            _signed(matrix, biases[h], "added to the scores", numbers=True)
        show(
            figure,
            f"For two heads, {2 * n - 1} numbers by distance as bars, and the {n} by {n} matrix of biases made of "
            "them. Each diagonal of a matrix has one value. The first head falls off on both sides; the second "
            "prefers the diagonal below the main one.",
        )


def by_distance(n: int = 12, d_model: int = 16) -> None:
    """Scores of one and the same word with itself at all pairs of places: added positions beside rotary ones."""
    generator = torch.Generator().manual_seed(0)
    word = torch.randn(d_model, generator=generator)  # (D,)
    w_q, w_k = torch.randn(2, d_model, d_model, generator=generator) / d_model**0.5  # (D, D) each
    added = word + positions.sinusoidal(n, d_model)  # (T, D)
    q, k = (word @ w_q).expand(n, -1), (word @ w_k).expand(n, -1)  # (T, D) each
    places = torch.arange(n)
    scores = {
        "sinusoids added to the word": (added @ w_q) @ (added @ w_k).T,
        "queries and keys turned": positions.rotary(q, places) @ positions.rotary(k, places).T,
    }
    with style():
        title = "Turned, a score depends on i − j alone; added, on both places"
        figure, axes = _panels(3, 3.7, 4, title)
        for ax, marker, (name, s) in zip(axes, "ox", scores.items(), strict=False):
            _signed(ax, s, name)
            for i, j in ((5, 2), (9, 6)):
                ax.plot(j, i, marker=marker, color=GREY, markersize=9, markeredgewidth=2, fillstyle="none")
            along = [s.diagonal(-distance) for distance in range(n)]
            spread = [float(line.max() - line.min()) for line in along]
            axes[2].plot(range(n), spread, marker=marker, label=name)
        axes[2].set(title="how far scores of one distance differ", xlabel="distance i − j", ylabel="largest − smallest")
        axes[2].set(box_aspect=1, ylim=(-0.5, None))
        axes[2].legend(fontsize=9)
        show(
            figure,
            f"Scores of the same word at {n} by {n} pairs of places. With added sinusoids no diagonal is of one "
            "colour; with rotary positions each is, and the spread along every diagonal is 0. Two places of the same "
            "distance are marked.",
        )


# ---- longer than in training ----


class _Reader(nn.Module):
    """One head of attention that knows places in one of five ways, to say which token stood one place before."""

    def __init__(self, kind: str, vocab_size: int, d_model: int, longest: int) -> None:
        super().__init__()
        self.kind = kind
        self.embed, self.out = nn.Embedding(vocab_size, d_model), nn.Linear(d_model, vocab_size)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(d_model, d_model) for _ in range(3))
        absolute = {"learned": lambda: positions.LearnedPositions(longest, d_model),
                    "sinusoidal": lambda: positions.SinusoidalPositions(d_model)}  # fmt: skip
        self.places = absolute.get(kind, nn.Identity)()
        self.table = nn.Parameter(torch.zeros(1, 2 * longest - 1))  # (H, 2T − 1)

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) → logits (B, T, V)."""
        x = self.places(self.embed(ids))  # (B, T, D)
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)  # (B, T, D) each
        n = ids.shape[1]
        if self.kind == "rotary":
            q, k = (positions.rotary(part, torch.arange(n)) for part in (q, k))  # (B, T, D) each
        bias = positions.relative_bias(self.table, n) if self.kind == "relative bias" else None  # (1, T, T)
        return self.out(attend(q, k, v, bias)[0])  # (B, T, V)


def _trained(kind: str, trained: int, tested: int, steps: int = 400, vocab_size: int = 12) -> _Reader:
    """A reader trained on random texts of `trained` tokens, with room for `tested`."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        reader = _Reader(kind, vocab_size, d_model=32, longest=tested)
        optimiser = torch.optim.Adam(reader.parameters(), lr=0.01)
        for _ in range(steps):
            ids = torch.randint(vocab_size, (32, trained))  # (B, T)
            loss = nn.functional.cross_entropy(reader(ids)[:, 1:].flatten(0, 1), ids[:, :-1].flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return reader.requires_grad_(False)


def accuracy_by_place(reader: _Reader, n: int, vocab_size: int = 12) -> Tensor:
    """How often a reader is right at places 1 to n − 1 of random texts of n tokens: (n − 1,)."""
    ids = torch.randint(vocab_size, (1000, n), generator=torch.Generator().manual_seed(1))  # (B, T)
    return (reader(ids)[:, 1:].argmax(-1) == ids[:, :-1]).float().mean(0)  # (T − 1,)


def beyond(trained: int = 16, tested: int = 32) -> None:
    """Readers of the token before, trained on short texts and tested on long ones, by place; and a learned bias."""
    from matplotlib import pyplot

    kinds = ("rotary", "relative bias", "sinusoidal", "learned", "none")
    readers = {kind: _trained(kind, trained, tested) for kind in kinds}
    bias, distance = readers["relative bias"].table[0], torch.arange(1 - tested, tested)  # (2T − 1,) each
    with style():
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(11.5, 4.2), width_ratios=[3, 2])
        figure.suptitle("Which token stood before? Only a rotary reader finds it in a longer text as well",
                        color=GREY, x=0.01, ha="left", fontsize=12)  # fmt: skip
        for kind, marker, colour in zip(kinds, "o^sDx", (*COLOURS[:4], GREY), strict=True):
            hits = accuracy_by_place(readers[kind], tested)  # (tested − 1,)
            left.plot(range(1, tested), hits, marker=marker, markersize=4, linewidth=1.5, color=colour, label=kind)
        left.axvline(trained - 0.5, color=GREY, linewidth=1, linestyle=":")
        left.text(trained - 0.3, 1.04, "never seen in training →", fontsize=9)
        left.set(title=f"trained on {trained} tokens, tested on {tested}", xlabel="place in the text",
                 ylabel="part that is right", ylim=(-0.03, 1.12))  # fmt: skip
        left.legend(loc="center left", bbox_to_anchor=(0, 0.4), fontsize=9)
        right.bar(distance, bias)
        right.axhline(0, color=GREY, linewidth=1)
        for edge in (-trained + 0.5, trained - 0.5):
            right.axvline(edge, color=GREY, linewidth=1, linestyle=":")
        right.set(title=f"the learned bias: still 0 from distance {trained} on", xlabel="distance i − j", ylabel="bias")
        show(
            figure,
            f"Left, how often models name the token before, at each place of {tested} tokens, after training on "
            f"{trained}. Rotary: always. Learned positions: nearly always up to place {trained - 1}, mostly by chance "
            "after it. Sinusoidal: the same, then now and then. A relative bias: less almost everywhere in the longer "
            f"text. None: hardly ever. Right, the learned bias by distance: high at 1, below 0 at the others up to "
            f"{trained - 1}, and 0 at all distances that never occurred.",
        )
