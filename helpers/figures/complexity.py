"""Figures of 04_complexity. Lines are claims, marks are measurements; both are worked out when they are drawn."""

from __future__ import annotations

import math
import os
import time
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from helpers import attention, complexity
from helpers.complexity import LAYERS, fit_exponent
from helpers.figures import BLUE, COLOURS, GREY, ORANGE, show, style
from helpers.figures.masks import _panels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

LOOK = {kind: {"color": colour, "marker": m} for kind, colour, m in zip(LAYERS, COLOURS, "os^D", strict=False)}
SHORT = {kind: kind.replace("self-attention", "attention") for kind in LAYERS}


def claim(kind: str, column: int, **sizes: int) -> float:
    """An entry of the table at these sizes; restricted attention sees as many tokens as a kernel has."""
    entry = complexity.table()[kind][column]
    return float(
        entry.subs({symbol: sizes["k" if symbol.name == "r" else symbol.name] for symbol in entry.free_symbols})
    )


def _against(
    ax: Axes, name: str, sizes: Sequence[int], claims: Sequence[float], found: Sequence[float], look: dict
) -> str:
    """Marks for what was found, and the claim as a line, times the constant that it leaves open. Returns the label."""
    constant = found[-1] / claims[-1]
    ax.plot(sizes, [constant * claim for claim in claims], color=look["color"], linewidth=1.2)
    label = f"{name}: {fit_exponent(sizes, found):.2f}"
    ax.plot(sizes, found, linestyle="", fillstyle="none", markersize=8, label=label, **look)
    return label


def _powers(ax: Axes, sizes: Sequence[int], **names: str) -> None:
    """Both axes logarithmic, with a tick at each size."""
    ax.set(xscale="log", yscale="log", **names)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    top = ax.get_ylim()[1] / ax.get_ylim()[0]
    ax.set_ylim(top=ax.get_ylim()[1] * top**0.45)  # room for the legend
    ax.legend(title="measured exponent", loc="upper left", fontsize=8.5, title_fontsize=8.5)


# ---- the three columns ----


def four_layers(n: int = 6, width: int = 3) -> None:
    """Who reads whom in one layer of each kind; what the first output reads is drawn in colour."""
    reads = {
        "self-attention": {i: range(n) for i in range(n)},
        "recurrent": {i: (i,) for i in range(n)},
        "convolutional": {i: range(i, min(n, i + width)) for i in range(n)},
        "restricted self-attention": {i: range(i, min(n, i + width)) for i in range(n)},
    }
    with style():
        figure, axes = _panels(4, 2.9, 2.6, "Who reads whom: only attention has a line from everyone to everyone")
        for ax, (kind, lines) in zip(axes, reads.items(), strict=True):
            colour = LOOK[kind]["color"]
            for i, j in [(here, there) for here in range(n) for there in lines[here]]:
                first = i == 0
                ax.plot(
                    [i, j], [1, 0], color=colour if first else GREY, linewidth=2 if first else 0.8, zorder=1 + first
                )
            for i in range(n - 1 if kind == "recurrent" else 0):
                ax.annotate(
                    "", (i + 0.1, 1), (i + 0.9, 1), arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 2}
                )
            ax.scatter(range(n), [0] * n, color=GREY, s=35, zorder=3)
            ax.scatter(range(n), [1] * n, color=colour, s=35, zorder=3)
            ax.set(
                title=SHORT[kind] + {"convolutional": f", k = {width}"}.get(kind, ""), xticks=range(n), xlabel="token"
            )
            ax.set_yticks([0, 1], ["inputs", "outputs"] if ax is axes[0] else ["", ""])
            ax.margins(0.12)
        axes[-1].set_title(f"restricted attention, r = {width}")
        show(
            figure,
            f"Four layers over {n} tokens, inputs below and outputs above. Self-attention: lines from every input to "
            "every output. Recurrent: each output reads its own input and the output to its right. Convolutional and "
            f"restricted: each output reads its own input and the {width - 1} to the right.",
        )


def cost() -> None:
    """FLOPs of the four layers against n, d and k, with the exponents that were measured."""
    at = {"n": 32, "d": 64, "k": 8}
    ranges = {"n": [16, 64, 256, 1024], "d": [16, 64, 256, 1024], "k": [2, 4, 8, 16]}
    with style():
        figure, axes = _panels(3, 3.5, 4.3, "Cost: every measured exponent is the table's")
        said = []
        for ax, (letter, sizes) in zip(axes, ranges.items(), strict=True):
            for kind, layer in LAYERS.items():
                places = [at | {letter: size} for size in sizes]
                claims = [claim(kind, 0, **place) for place in places]
                found = [complexity.measured_flops(layer, p["n"], p["d"], p["k"]) for p in places]
                said.append(f"{letter}, {_against(ax, SHORT[kind], sizes, claims, found, LOOK[kind])}")
            rest = ", ".join(f"{name} = {size}" for name, size in at.items() if name != letter)
            _powers(ax, sizes, title=f"against {letter} ({rest})", xlabel=letter)
        axes[0].set_ylabel("FLOPs of one layer")
        show(
            figure,
            f"FLOPs against n, d and k (also r) on log scales; marks lie on lines. Exponents: {'; '.join(said)}.",
        )


def waiting() -> None:
    """Products that wait for one another, against n."""
    sizes = [4, 8, 16, 32, 64]
    with style():
        figure, (ax,) = _panels(1, 6.4, 4.0, "Waiting: recurrence alone waits longer where the text is longer")
        said = []
        for kind, layer in LAYERS.items():
            found = [complexity.waiting_steps(layer, n) for n in sizes]
            said.append(_against(ax, SHORT[kind], sizes, [claim(kind, 1, n=n) for n in sizes], found, LOOK[kind]))
        _powers(ax, sizes, xlabel="n", ylabel="products that wait for one another")
        show(figure, f"Longest chain of products against n. Measured exponents: {'; '.join(said)}.")


def path(width: int = 4) -> None:
    """Layers, or steps of recurrence, until the last input reaches the first output, against n."""
    sizes = [8, 16, 32, 64, 128]
    layers = LAYERS | {"recurrent": complexity.recurrent_step}
    with style():
        figure, (ax,) = _panels(
            1, 6.4, 4.0, f"Path: one layer of attention, or more the longer the text (k = r = {width})"
        )
        said = []
        for kind, layer in layers.items():
            found = [complexity.layers_to_reach(layer, n, width) for n in sizes]
            claims = [claim(kind, 2, n=n, k=width) for n in sizes]
            said.append(_against(ax, SHORT[kind], sizes, claims, found, LOOK[kind]))
        _powers(ax, sizes, xlabel="n", ylabel="layers (steps, if recurrent)")
        show(figure, f"Layers until the last input has a gradient at the first output. Exponents: {'; '.join(said)}.")


def dilation(width: int = 3) -> None:
    """Kernels without and with gaps: who reaches the first output, and layers needed against n."""
    sizes = [width**power for power in range(1, 6)]
    contiguous = [complexity.layers_to_reach(complexity.convolutional, n, width) for n in sizes]
    dilated = [complexity.dilated_layers_to_reach(n, width) for n in sizes]
    with style():
        figure, axes = _panels(3, 3.5, 3.7, "log n is for kernels with gaps: side by side they reach n / k")
        _stack(axes[0], width**2, width, [1] * contiguous[1])
        _stack(axes[1], width**2, width, [width**layer for layer in range(dilated[1])])
        axes[0].set_title(f"contiguous: {contiguous[1]} layers for n = {sizes[1]}")
        axes[1].set_title(f"dilated: {dilated[1]} layers for n = {sizes[1]}")
        for colour, marker, name, found in ((BLUE, "o", "contiguous", contiguous), (ORANGE, "s", "dilated", dilated)):
            axes[2].plot(
                sizes, found, marker=marker, linestyle="", fillstyle="none", markersize=8, color=colour, label=name
            )
        axes[2].plot(sizes, [(n - 1) / (width - 1) for n in sizes], color=BLUE, linewidth=1.2)
        axes[2].plot(sizes, range(1, 6), color=ORANGE, linewidth=1.2)
        axes[2].annotate(
            f"(n − 1) / {width - 1}", (sizes[-2], contiguous[-2]), (-8, 0), textcoords="offset points", ha="right"
        )
        axes[2].annotate(f"log$_{width}$ n", (sizes[-2], dilated[-2]), (0, 9), textcoords="offset points", ha="center")
        axes[2].set(title="layers until the ends meet", xlabel="n", xscale="log", yscale="log", ylim=(0.8, None))
        axes[2].set_xticks(sizes, sizes)
        axes[2].minorticks_off()
        axes[2].legend(loc="upper left")
        show(
            figure,
            f"Two stacks of convolutions of width {width} over {sizes[1]} tokens. From the last input to the first "
            f"output contiguous kernels take {contiguous[1]} layers, dilated ones {dilated[1]}. For n = {sizes} it is "
            f"{contiguous} and {dilated} layers.",
        )


def _stack(ax: Axes, n: int, width: int, gaps: Sequence[int]) -> None:
    """Lines from the first output down to all inputs that reach it; gaps from the lowest layer up."""
    nodes = {0}
    for layer in range(len(gaps), 0, -1):
        below = {i + step * gaps[layer - 1] for i in nodes for step in range(width)}
        for i in nodes:
            for j in (i + step * gaps[layer - 1] for step in range(width)):
                if j < n:
                    ax.plot([i, j], [layer, layer - 1], color=BLUE, linewidth=1, zorder=1)
        ax.scatter(range(n), [layer] * n, s=12, color=GREY, alpha=0.5, zorder=2)
        ax.scatter(list(nodes), [layer] * len(nodes), s=30, color=BLUE, zorder=3)
        nodes = {j for j in below if j < n}
    ax.scatter(range(n), [0] * n, s=30, color=[ORANGE if j == n - 1 else BLUE for j in range(n)], zorder=3)
    ax.set(xlabel="token", ylabel="layer (0: the inputs)", yticks=range(len(gaps) + 1), xticks=range(n))


# ---- what the table leaves out ----


def layer_flops(n: int, d_model: int) -> int:
    """FLOPs of one self-attention with its four projections, counted as it runs; nothing is calculated."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        layer, x = attention.MultiHeadAttention(d_model, 1), torch.empty(1, n, d_model)  # (1, T, D)
        q, k, v = layer.q_proj(x), layer.k_proj(x), layer.v_proj(x)  # (1, T, D) each
        layer.out_proj(attention.attend(q, k, v)[0])  # (1, T, D)
    return counter.get_total_flops()


def projections(d_model: int = 512) -> None:
    """FLOPs of self-attention with and without its projections, against n and against d_model."""
    lengths, widths = [2**p for p in range(5, 15)], [2**p for p in range(5, 15)]
    with style():
        figure, axes = _panels(2, 4.7, 3.8, "Up to n = 2·d_model, projections are most of what attention costs")
        meet = {axes[0]: 2 * d_model, axes[1]: d_model / 2}
        for ax, places in zip(axes, ([(n, d_model) for n in lengths], [(d_model, d) for d in widths]), strict=True):
            x = lengths if ax is axes[0] else widths
            ax.plot(x, [8 * n * d * d for n, d in places], color=ORANGE, linestyle="--", label="projections, 8·n·d²")
            ax.plot(x, [4 * n * n * d for n, d in places], color=BLUE, label="scores and sum, 4·n²·d")
            counted = [layer_flops(n, d) for n, d in places]
            ax.plot(
                x, counted, linestyle="", marker="o", fillstyle="none", color=GREY, label="the whole layer, counted"
            )
            for part, where, place, side in ((slice(3), 0, (-4, 34), "left"), (slice(-3, None), -2, (-8, 12), "right")):
                said = f"exponent {fit_exponent(x[part], counted[part]):.2f}"
                ax.annotate(said, (x[where], counted[where]), place, textcoords="offset points", ha=side)
            ax.axvline(meet[ax], color=GREY, linewidth=1, linestyle=":")
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(x[::3], x[::3])
            ax.minorticks_off()
        axes[0].set(title=f"against n (d_model = {d_model})", xlabel="n", ylabel="FLOPs of one layer")
        axes[1].set(title=f"against d_model (n = {d_model})", xlabel="d_model")
        axes[0].legend(loc="upper left", fontsize=8.5)
        show(
            figure,
            f"Left, d_model {d_model}: the whole layer follows its projections, linear in n, up to n = {2 * d_model}, "
            f"and then scores and sum, quadratic in n. Right, n = {d_model}: it is linear in d_model up to "
            f"{d_model // 2}, and quadratic beyond.",
        )


def gated(x: Tensor, gates: int) -> Tensor:
    """x (n, d) → (1, d): a recurrent layer's products. One gate is an Elman layer, three a GRU, four an LSTM."""
    w, h = x.new_empty(x.shape[1], gates * x.shape[1]), x[:1]  # (D, gates · D), (1, D)
    for t in range(len(x)):
        h = (x[t : t + 1] @ w + h @ w)[:, : x.shape[1]]  # (1, D)
    return h


def crossing(d_model: int = 512) -> None:
    """FLOPs for each token against n: attention, with and without projections, and three recurrent layers."""
    sizes, recurrent = [64 * 2**p for p in range(7)], {"Elman layer": 1, "GRU": 3, "LSTM": 4}
    with style():
        figure, (ax,) = _panels(1, 8, 4.4, "Where attention gets dearer depends on what you count, and against whom")
        both = [complexity.attention_flops(n, d_model) / n / 1e6 for n in sizes]
        alone = [4 * n * d_model / 1e6 for n in sizes]
        ax.plot(sizes, both, color=BLUE, linestyle="--", linewidth=1.3)
        ax.plot(sizes, alone, color=BLUE, linewidth=1.3)
        found = [layer_flops(n, d_model) / n / 1e6 for n in sizes]
        ax.plot(sizes, found, "D", fillstyle="none", color=BLUE)
        found = [complexity.measured_flops(complexity.self_attention, n, d_model) / n / 1e6 for n in sizes]
        ax.plot(sizes, found, "o", fillstyle="none", color=BLUE)
        _end(ax, "attention with projections", sizes[-1], both[-1], BLUE)
        _end(ax, "scores and sum alone", sizes[-1], alone[-1], BLUE)
        for (name, gates), marker in zip(recurrent.items(), "s^v", strict=True):
            each = 4 * gates * d_model**2 / 1e6
            ax.plot(sizes, [each] * len(sizes), color=ORANGE, linewidth=1.3)
            found = [complexity.measured_flops(gated, n, d_model, gates) / n / 1e6 for n in sizes[:3]]
            ax.plot(sizes[:3], found, marker, fillstyle="none", color=ORANGE)
            _end(ax, name, sizes[-1], each, ORANGE)
        meets = [(gates * d_model, gates) for gates in recurrent.values()] + [(d_model, 3), (2 * d_model, 4)]
        ax.scatter([n for n, _ in meets], [4 * g * d_model**2 / 1e6 for _, g in meets], s=110, c="none", edgecolor=GREY)
        ax.set(xlabel="n", ylabel="FLOPs for each token, millions", xscale="log", yscale="log")
        ax.set_xticks(sizes, sizes)
        ax.minorticks_off()
        show(
            figure,
            f"FLOPs for each token against n, d_model {d_model}. Recurrent layers are flat: Elman, GRU, LSTM. Scores "
            f"and sum meet them at n = {d_model}, {3 * d_model} and {4 * d_model}. With projections attention is "
            f"always above the Elman layer, and meets the GRU at {d_model} and the LSTM at {2 * d_model}.",
        )


def _end(ax: Axes, name: str, x: float, y: float, colour: str) -> None:
    """A line's name at its right end."""
    ax.annotate(name, (x, y), (10, 0), textcoords="offset points", va="center", color=colour, annotation_clip=False)


def meetings(n_queries: int, n_keys: int, width: int) -> int:
    """FLOPs of scores and weighted sum, counted as they run."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        q, k = torch.empty(n_queries, width), torch.empty(n_keys, width)
        attention.attend(q, k, k)
    return counter.get_total_flops()


def encoder_decoder(other: int = 64, width: int = 64) -> None:
    """FLOPs of an encoder-decoder's three attentions against the lengths of source and target."""
    sizes = [16, 64, 256, 1024]
    names = {"encoder": lambda M, N: (M, M), "cross": lambda M, N: (N, M), "decoder": lambda M, N: (N, N)}
    with style():
        figure, axes = _panels(2, 4.5, 4.2, "A long source is paid for by the encoder, a long target by the decoder")
        said = []
        for ax, letter in zip(axes, "MN", strict=True):
            places = [(size, other) if letter == "M" else (other, size) for size in sizes]
            for (name, sides), colour, marker in zip(names.items(), COLOURS, "osD", strict=False):
                found = [meetings(*sides(*place), width) for place in places]
                claims = [complexity.encoder_decoder(*place, width)[name] for place in places]
                look = {"color": colour, "marker": marker}
                said.append(f"{letter}, {_against(ax, name, sizes, claims, found, look)}")
            _powers(ax, sizes, xlabel={"M": "M source tokens", "N": "N target tokens"}[letter])
            ax.set_title(f"against {letter} ({'N' if letter == 'M' else 'M'} = {other})")
        axes[0].set_ylabel("FLOPs, scores and sum")
        show(figure, f"FLOPs of three attentions on log scales, marks on lines. Exponents: {'; '.join(said)}.")


# ---- memory, time, writing ----


def memory(batch: int = 2, n_heads: int = 4, d_k: int = 16) -> None:
    """Bytes that the allocator gives out: for the weights, for attention at its peak, and for the fused kernel."""
    sizes = [64, 128, 256, 512, 1024]
    found: dict[str, list[int]] = {"the weights": [], "written out, at its peak": [], "fused, at its peak": []}
    for n in sizes:
        q = torch.randn(batch, n_heads, n, d_k, generator=torch.Generator().manual_seed(n))  # (B, H, T, K)
        weights, peak = _allocated(lambda q=q: attention.attend(q, q, q)[0])
        fused = _allocated(lambda q=q: torch.nn.functional.scaled_dot_product_attention(q, q, q))[1]
        for row, value in zip(found.values(), (weights, peak, fused), strict=True):
            row.append(value)
    with style():
        figure, (ax,) = _panels(1, 7.6, 4.0, "The weights grow with n²; a fused kernel never writes them down")
        claim = [complexity.weights_memory(batch, n_heads, n, q.element_size()) / 1e6 for n in sizes]
        ax.plot(sizes, claim, color=BLUE, linewidth=1.2)
        for (name, row), (colour, marker) in zip(found.items(), ((BLUE, "o"), (GREY, "^"), (ORANGE, "s")), strict=True):
            dash = "" if name == "the weights" else ":"
            ax.plot(sizes, [v / 1e6 for v in row], dash, marker=marker, fillstyle="none", color=colour, linewidth=1)
            _end(ax, f"{name}: n^{fit_exponent(sizes[-3:], row[-3:]):.1f}", sizes[-1], row[-1] / 1e6, colour)
        ax.set(xlabel="n", ylabel="MB, from the allocator", xscale="log", yscale="log")
        ax.set_xticks(sizes, sizes)
        ax.minorticks_off()
        show(
            figure,
            f"Memory of attention, batch {batch}, {n_heads} heads. The weights lie on batch · heads · n² · 4 bytes. At "
            f"n = {sizes[-1]}: {', '.join(f'{name} {row[-1] / 1e6:.1f} MB' for name, row in found.items())}.",
        )


def _allocated(work: Callable[[], Tensor]) -> tuple[int, int]:
    """Bytes that the softmax asked the CPU's allocator for, and the most that was held at one time."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or it tells on stderr that it starts and stops
    from torch.profiler import ProfilerActivity, profile

    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = work()
    moves = [e.nbytes() for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    del kept  # it was held until everything had been written down
    softmax = [e.self_cpu_memory_usage for e in profiler.key_averages() if e.key == "aten::_softmax"]
    return sum(softmax), max(accumulate(moves))


def same_flops() -> None:
    """Seconds that self-attention and an Elman layer take here, where both have the same FLOPs: n = d_model."""
    sizes = [64, 128, 256, 512]
    found = {kind: [_seconds(LAYERS[kind], n, complexity.crossover(n)) for n in sizes] for kind in list(LAYERS)[:2]}
    with style():
        figure, (ax,) = _panels(1, 6.4, 3.8, "The same FLOPs, another time: n steps wait for one another")
        for kind, row in found.items():
            ax.plot(sizes, [1000 * seconds for seconds in row], label=kind, fillstyle="none", **LOOK[kind])
        ax.set(xlabel="n = d_model", ylabel="milliseconds on this machine", xscale="log", yscale="log")
        ax.set_xticks(sizes, sizes)
        ax.minorticks_off()
        ax.legend()
        ratios = ", ".join(f"{b / a:.0f}" for a, b in zip(*found.values(), strict=True))
        show(figure, f"Time against n = d_model = {sizes}: the Elman layer takes {ratios} times as long as attention.")


def _seconds(layer: Callable, n: int, d: int) -> float:
    """Median of five runs, after one that is not counted."""
    x, times = torch.randn(n, d, generator=torch.Generator().manual_seed(0)), []
    for _ in range(6):
        start = time.perf_counter()
        layer(x, 3)
        times.append(time.perf_counter() - start)
    return median(times[1:])


def step_flops(n: int, d_model: int, cached: bool) -> list[int]:
    """FLOPs of each step in which a layer of attention writes n tokens, counted as it runs."""
    steps, keys, values = [], [], []
    with torch.device("meta"):
        layer = attention.MultiHeadAttention(d_model, 1)
        for t in range(1, n + 1):
            x = torch.empty(1, 1 if cached else t, d_model)  # (1, 1 or t, D): the newest token, or all
            with FlopCounterMode(display=False) as counter:
                keys.append(layer.k_proj(x))  # (1, 1 or t, D)
                values.append(layer.v_proj(x))  # (1, 1 or t, D)
                k, v = (torch.cat(kept, 1) if cached else kept[-1] for kept in (keys, values))  # (1, t, D) each
                layer.out_proj(attention.attend(layer.q_proj(x), k, v)[0])  # (1, 1 or t, D)
            steps.append(counter.get_total_flops())
    return steps


def writing(n: int = 128, d_model: int = 64) -> None:
    """FLOPs of each step while a text is written, and of all steps so far, with and without a cache."""
    ways = {"without a cache": (False, ORANGE, "s"), "with a cache": (True, BLUE, "o")}
    with style():
        figure, axes = _panels(2, 4.6, 3.9, "A cache takes one power of n away")
        marks, said = [2**p for p in range(int(math.log2(n)) + 1)], []
        for name, (cached, colour, marker) in ways.items():
            steps = step_flops(n, d_model, cached)
            total = list(accumulate(steps))
            claim = [complexity.generation_flops(t, d_model, cached) for t in marks]
            axes[0].plot(range(1, n + 1), steps, color=colour, label=name)
            axes[1].plot(marks, claim, color=colour, linewidth=1.2)
            axes[1].plot(marks, [total[t - 1] for t in marks], marker, fillstyle="none", color=colour, label=name)
            said.append(f"{name} {steps[-1]:,} in the last step and {total[-1]:,} in all")
        axes[0].set(title="each step", xlabel="step t", ylabel="FLOPs", yscale="log")
        axes[1].set(title="all steps up to n: formula and count", xlabel="n", xscale="log", yscale="log")
        axes[1].set_xticks(marks[::2], marks[::2])
        axes[1].minorticks_off()
        axes[1].legend()
        show(figure, f"FLOPs of writing {n} tokens, d_model {d_model}: {'; '.join(said)}. Counts lie on the formulas.")
