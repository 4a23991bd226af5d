"""Figures of 01_attention, one function each."""

from __future__ import annotations

import math
import time

import torch
from matplotlib import pyplot

from helpers.attention import additive_scores, attend, two_patterns
from helpers.counting import head_flops, receptive_field
from helpers.figures import BLUE, GREEN, GREY, ORANGE, show, style

WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)


def saturation(n_keys: int = 16, draws: int = 400) -> None:
    """Largest weight and gradient of the softmax against d_k, for three ways to scale. (Vaswani et al. 2017, §3.2.1)"""
    generator = torch.Generator().manual_seed(1)
    scales = {"not scaled": lambda d: 1.0, "÷ √d_k": math.sqrt, "÷ d_k": float}
    largest: dict[str, list] = {name: [] for name in scales}
    slope: dict[str, list] = {name: [] for name in scales}
    for d_k in WIDTHS:
        q, k = (torch.randn(draws, n, d_k, generator=generator) for n in (1, n_keys))
        for name, scale in scales.items():
            scores = (q @ k.transpose(-2, -1) / scale(d_k)).requires_grad_()  # (draws, 1, n_keys)
            weights = scores.softmax(-1)
            (slopes,) = torch.autograd.grad(weights[..., 0].sum(), scores)
            largest[name].append(weights.amax(-1).mean().item())
            slope[name].append(slopes.norm(dim=-1).mean().item())
    with style():
        figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2))
        panels = ((axes[0], largest, "largest weight"), (axes[1], slope, "gradient's norm"))
        for axis, values, label in panels:
            for (name, line), marker in zip(values.items(), "os^", strict=True):
                axis.plot(WIDTHS, line, marker=marker, label=name)
            axis.set(xscale="log", xlabel="d_k", ylabel=label, ylim=(0, None))
        axes[0].legend(labelcolor=GREY)
        figure.suptitle("Only √d_k keeps the softmax alive: without it, it saturates; d_k flattens it", color=GREY)
    show(
        figure,
        "Two line plots against d_k. Without a scale the largest weight climbs to one and the gradient falls to zero; "
        "divided by √d_k both stay level; divided by d_k the weights become uniform.",
    )


def roles() -> None:
    """Who asks and who answers, as the shape of the map."""
    generator = torch.Generator().manual_seed(2)
    x, y = torch.randn(3, 8, generator=generator), torch.randn(5, 8, generator=generator)
    maps = {"x over itself": (x, x), "x attends to y": (x, y), "y attends to x": (y, x)}
    with style():
        figure, axes = pyplot.subplots(1, 3, figsize=(8.5, 3))
        for axis, (title, (asks, answers)) in zip(axes, maps.items(), strict=True):
            weights = attend(asks, answers, answers)[1]
            axis.imshow(weights, cmap="Blues", vmin=0, vmax=1)
            axis.set(title=title, xlabel=f"{len(answers)} answer", ylabel=f"{len(asks)} ask", xticks=[], yticks=[])
        figure.suptitle("As many rows as tokens that ask, as many columns as tokens that answer", color=GREY)
    show(figure, "Three maps of weights, 3 by 3, 3 by 5 and 5 by 3: rows are who asks, columns who answers.")


def dot_or_additive(n: int = 128, d_hidden: int = 64) -> None:
    """Time and memory of both kinds of scores on this machine, against d_k."""
    times: dict[str, list] = {"dot product": [], "additive": []}
    for d_k in WIDTHS[2:]:
        q, k, w = torch.randn(n, d_k), torch.randn(n, d_k), torch.randn(d_k, d_hidden)
        v = torch.randn(d_hidden)
        times["dot product"].append(_best(lambda q=q, k=k: q @ k.T))
        times["additive"].append(_best(lambda q=q, k=k, w=w, v=v: additive_scores(q, k, w, w, v)))
    lengths = [2**i for i in range(4, 12)]
    with style():
        figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2))
        for (name, line), marker in zip(times.items(), "os", strict=True):
            axes[0].plot(WIDTHS[2:], line, marker=marker, label=name)
        axes[0].set_xscale("log", base=2)
        axes[0].set(yscale="log", xlabel="d_k", ylabel="milliseconds", title=f"time, n = {n}")
        axes[0].legend(labelcolor=GREY)
        axes[1].plot(lengths, [4 * m * m / 2**20 for m in lengths], marker="o")
        axes[1].plot(lengths, [4 * m * m * d_hidden / 2**20 for m in lengths], marker="s")
        axes[1].set(xscale="log", yscale="log", xlabel="n", ylabel="MiB", title=f"memory, d_hidden = {d_hidden}")
        figure.suptitle("Additive scores cost time and memory: n²·d_hidden numbers for a table of n²", color=GREY)
    show(figure, "Left: additive scores take longer at every d_k. Right: their memory is d_hidden times larger.")


def _best(run: object, repeats: int = 5) -> float:
    found = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return 1000 * min(found)


def gradient_left(n_keys: int = 16, draws: int = 200, d_hidden: int = 64) -> dict[str, list[float]]:
    """Norm of the softmax's gradient for three kinds of scores at d_k = 4, 64 and 512, unit normal queries and keys."""
    generator = torch.Generator().manual_seed(3)
    found: dict[str, list[float]] = {"dot, not scaled": [], "dot, ÷ √d_k": [], "additive": []}
    for d_k in (4, 64, 512):
        q, k = (torch.randn(draws, n, d_k, generator=generator) for n in (1, n_keys))
        w_q, w_k = (torch.randn(d_k, d_hidden, generator=generator) / math.sqrt(d_k) for _ in range(2))
        v = torch.randn(d_hidden, generator=generator) / math.sqrt(d_hidden)
        dot = q @ k.transpose(-2, -1)  # (draws, 1, n_keys)
        for name, scores in zip(found, (dot, dot / math.sqrt(d_k), additive_scores(q, k, w_q, w_k, v)), strict=True):
            scores = scores.clone().requires_grad_()
            (slopes,) = torch.autograd.grad(scores.softmax(-1)[..., 0].sum(), scores)
            found[name].append(slopes.norm(dim=-1).mean().item())
    return found


def heads(n: int = 64, d_model: int = 128) -> None:
    """FLOPs and memory of the weights against the number of heads."""
    counts = [1, 2, 4, 8, 16, 32]
    with style():
        figure, axes = pyplot.subplots(1, 2, figsize=(9, 3))
        axes[0].plot(counts, [head_flops(n, d_model, h) / 1e6 for h in counts], marker="o", color=BLUE)
        axes[0].set(xscale="log", xlabel="heads", ylabel="million FLOPs", ylim=(0, None))
        axes[1].plot(counts, [h * n * n * 4 / 1024 for h in counts], marker="s", color=ORANGE)
        axes[1].set(xscale="log", xlabel="heads", ylabel="KiB of weights", ylim=(0, None))
        figure.suptitle("More heads: the same work, and more memory for the weights", color=GREY)
    show(figure, "Left: FLOPs stay level as heads are added. Right: memory of the weights grows with their number.")


def patterns(n: int = 8) -> None:
    """The two heads of `two_patterns` as maps."""
    w_q, w_k = two_patterns(n)
    with style():
        figure, axes = pyplot.subplots(1, 2, figsize=(7, 3))
        for head, (axis, title) in enumerate(zip(axes, ("the token before", "the first token"), strict=True)):
            weights = (w_q[head] @ w_k[head].T / math.sqrt(n)).softmax(-1)
            axis.imshow(weights, cmap="Blues", vmin=0, vmax=1)
            axis.set(title=f"head {head}: {title}", xlabel="key (answers)", ylabel="query (asks)")
        figure.suptitle("One layer, two heads, two habits at once", color=GREY)
    show(figure, "Two maps: head 0 has its weight just below the diagonal, head 1 in the first column.")


def reach(n_layers: int = 5) -> None:
    """How many inputs can reach one node of argmax attention, by layer and heads."""
    layers = list(range(n_layers + 1))
    with style():
        figure, axis = pyplot.subplots(figsize=(6, 3))
        for heads_, colour in ((1, BLUE), (2, ORANGE), (3, GREEN)):
            for residual, line in ((False, "--"), (True, "-")):
                name = f"{heads_} head{'s' if heads_ > 1 else ''}{', residual' if residual else ''}"
                values = [receptive_field(layer, heads_, residual) for layer in layers]
                axis.plot(layers, values, line, color=colour, label=name)
        axis.set(yscale="log", xlabel="layers", ylabel="inputs that reach a node")
        axis.set_title("With one head and no residual a node hears of a single input, however deep")
        axis.legend(labelcolor=GREY, fontsize=8)
    show(figure, "Lines on a log scale: one head without residual stays at one; more heads grow as powers.")
