"""Figures of 01_attention. Rows ask, columns answer; everything is measured or counted when it is drawn."""

from __future__ import annotations

import time
from itertools import product
from statistics import median
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.nn import functional as F

from helpers import attention, counting
from helpers.figures import BLUE, COLOURS, GREY, ORANGE, show, style
from helpers.figures.masks import _name, _numbers, _panels, _write, grid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

# ---- scores, weights, values ----


def steps(sentence: str) -> None:
    """Scores of a sentence with itself beside the weights that a softmax makes of them."""
    words = sentence.split()
    n, generator = len(words), torch.Generator().manual_seed(4)
    kinds = sorted(set(words))
    x = torch.randn(len(kinds), 8, generator=generator)[[kinds.index(word) for word in words]]  # (T, D)
    q, k = x @ torch.randn(8, 8, generator=generator) / 8**0.5, x  # (T, D) each
    s, weights = attention.scores(q, k), attention.attend(q, k, x)[1]  # (T, T) each
    with style():
        figure, axes = _panels(2, 4.7, 4.7, "The softmax shares out 1 in each row: the higher the score, the more")
        grid(axes[0], (s - s.min()) / (s.max() - s.min()), "scores: any number", [[f"{v:.1f}" for v in r] for r in s])
        grid(axes[1], weights, "weights: each row adds up to 1", _numbers(weights))
        for ax in axes:
            _name(ax, words)
        show(
            figure,
            f"Two {n} by {n} tables for “{sentence}”: scores, which may be negative, and the weights made of them row "
            "by row. Columns of equal words are equal.",
        )


def mix() -> None:
    """The weights of one query, and its output among the values in the plane."""
    words = ["cat", "sat", "mat", "red"]
    values = torch.tensor([[0.0, 0.0], [3.0, 0.3], [2.2, 2.4], [0.4, 2.0]])  # (T, 2)
    weights = torch.tensor([2.0, 0.3, 1.2, -0.5]).softmax(-1)  # (T,)
    output = weights @ values  # (2,)
    with style():
        figure, (left, right) = _panels(2, 4.4, 3.3, "The output is a weighted mean: it stays among the values")
        left.bar(words, weights)
        left.set(title="what one query gives to each key", xlabel="key", ylabel="weight", ylim=(0, 1))
        right.plot(*values[[0, 1, 2, 3, 0]].T, color=GREY, linewidth=1, linestyle="--")
        right.scatter(*values.T, s=weights * 900 + 15)
        for word, (x, y) in zip(words, values.tolist(), strict=True):
            right.annotate(word, (x, y), xytext=(6, 16), textcoords="offset points")
        right.scatter(*output, marker="X", s=130, color=ORANGE)
        right.annotate("output", output.tolist(), xytext=(10, -4), textcoords="offset points", color=ORANGE)
        right.set(title="the values, and their mean", xlabel="feature 0", ylabel="feature 1")
        right.margins(0.25)
        show(
            figure,
            f"Left, the weights of four keys, the largest {weights.max():.2f}. Right, their values as points in the "
            "plane, larger where the weight is; the output lies inside the shape that they span.",
        )


# ---- the scale ----

SCALES = {"unscaled": 0.0, "divided by √d_k": 0.5, "divided by d_k": 1.0}  # the power of d_k that one divides by
MARKERS = "os^D"


def saturation(n_keys: int = 32, draws: int = 200) -> None:
    """Typical largest weight and typical gradient that reaches the query, against d_k, for three scales."""
    widths = [1, 4, 16, 64, 256, 1024]
    measured = {
        name: [_largest_and_gradient(d, power, n_keys, draws) for d in widths] for name, power in SCALES.items()
    }
    with style():
        figure, axes = _panels(2, 4.6, 3.8, "Only √d_k keeps both: weights that choose, and a gradient that arrives")
        for marker, (name, pairs) in zip(MARKERS, measured.items(), strict=False):
            for ax, values in zip(axes, zip(*pairs, strict=True), strict=True):
                ax.plot(widths, [max(v, 1e-6) for v in values], marker=marker, label=name)
        axes[0].set(title="the largest of the weights", ylabel="weight (median)", ylim=(0, 1.05))
        axes[0].axhline(1 / n_keys, color=GREY, linewidth=1, linestyle=":", label="all keys alike")
        axes[1].set(title="gradient that reaches the query", ylabel="norm of ∂weights/∂q (median)", yscale="log")
        for ax in axes:
            ax.set(xlabel="d_k", xscale="log", xticks=widths, xticklabels=widths)
            ax.minorticks_off()
        axes[0].legend(loc=(0.5, 0.3))
        show(
            figure,
            f"For one query and {n_keys} random keys, against d_k from 1 to 1024. Unscaled, the largest weight rises "
            "to 1, and the gradient grows at first and then falls to nothing. Divided by d_k, the weights become "
            "uniform and the gradient falls too. Divided by the root of d_k, both stay as they are.",
        )


def _largest_and_gradient(d_k: int, power: float, n_keys: int, draws: int) -> tuple[float, float]:
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(draws, 1, d_k, generator=generator), torch.randn(draws, n_keys, d_k, generator=generator)
    k = k / d_k**power
    p = (q @ k.mT).softmax(-1).mT  # (draws, n_keys, 1)
    towards_q = p * k - p * (p.mT @ k)  # (draws, n_keys, d_k): the Jacobian of a softmax, diag(p) − p pᵀ, times k
    return p.amax(1).median().item(), towards_q.flatten(1).norm(dim=1).median().item()


# ---- who asks, who answers ----


def roles() -> None:
    """Three kinds of attention between a French and an English sentence whose words know their translations."""
    meaning = {"je": 0, "I": 0, "lis": 1, "read": 1, "un": 2, "a": 2, "livre": 3, "book": 3, "today": 4}
    x, y = ["je", "lis", "un", "livre"], ["today", "I", "read", "a", "book"]
    ways = {"self-attention over x": (x, x), "x attends to y": (x, y), "y attends to x": (y, x)}
    with style():
        figure, axes = _panels(3, 3.2, 3.9, "A row for each word that asks, a column for each word that answers")
        for ax, (title, (asks, answers)) in zip(axes, ways.items(), strict=True):
            q, k = (5**0.5 * torch.eye(5)[[meaning[word] for word in words]] for words in (3 * asks, answers))
            weights = attention.attend(1.6 * q[: len(asks)], k, k)[1]  # (Tq, Tk)
            grid(ax, weights, title, _numbers(weights))
            ax.set_xticks(range(len(answers)), answers, rotation=60, ha="right", rotation_mode="anchor")
            ax.set_yticks(range(len(asks)), asks)
            ax.set(xlabel="answers", ylabel="asks" if ax is axes[0] else "")
        show(
            figure,
            f"Three maps between x, “{' '.join(x)}”, and y, “{' '.join(y)}”. Self-attention over x: {len(x)} rows, "
            f"{len(x)} columns. x attends to y: {len(x)} rows, {len(y)} columns. y attends to x: {len(y)} rows, "
            f"{len(x)} columns. Each word looks at its translation; “today” has none in French and looks everywhere.",
        )


def reach_of_one_layer(n: int = 49, width: int = 5) -> None:
    """How strongly each input moves the middle output of one layer: self-attention beside a convolution."""
    with torch.random.fork_rng(devices=[]):  # layers draw their weights from the global generator
        torch.manual_seed(0)
        attend, convolution = attention.MultiHeadAttention(16, 2), nn.Conv1d(16, 16, width, padding=width // 2)
        x = torch.randn(1, n, 16, requires_grad=True)  # (1, T, D)
    layers = {"self-attention": attend, f"convolution, width {width}": lambda x: convolution(x.mT).mT}
    with style():
        figure, axes = _panels(2, 4.6, 2.9, "Self-attention has no neighbourhood: one layer reads the whole text")
        counts = []
        for ax, colour, (name, layer) in zip(axes, COLOURS, layers.items(), strict=False):
            (gradient,) = torch.autograd.grad(layer(x)[0, n // 2].square().sum(), x)
            strength = gradient[0].norm(dim=-1)  # (T,)
            counts.append(int((strength > 0).sum()))
            ax.bar(range(n), strength / strength.max(), width=0.8, color=colour)
            ax.set(title=f"{name}: {counts[-1]} of {n} tokens arrive", xlabel="input token", yscale="log")
            ax.set_ylim(1e-3, 1.5)
        axes[0].set_ylabel("gradient, relative")
        show(
            figure,
            f"Gradient of the middle output with respect to each of {n} inputs. Self-attention: {counts[0]} are "
            f"reached, far ones as well as near ones. A convolution of width {width}: {counts[1]}, all next to it.",
        )


# ---- dot against additive ----


def lookup_accuracy(kind: str, d_k: int, n_steps: int = 160, n_seeds: int = 4) -> float:
    """Accuracy of one learned look-up: which of 8 keys belongs to the query, and what value has it?

    `kind` is "unscaled", "scaled" or "additive". Adam, batches of 32; the mean of the last 20 steps over all seeds,
    which train side by side (S seeds, B batch, 8 keys).
    """
    n, width, batch, n_words, generator = 8, 32, 32, 16, torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(n_seeds, *shape, generator=generator)

    questions, answers = normal(n_words, width), normal(n_words, width)  # (S, 16, D) each
    w_q, w_k = normal(width, d_k) / width**0.5, normal(width, d_k) / width**0.5  # (S, D, K) each
    extra = [normal(d_k, width) / d_k**0.5, normal(d_k, width) / d_k**0.5, normal(width) / width**0.5]
    extra = extra if kind == "additive" else []
    score = {"unscaled": lambda q, k: q @ k.mT, "scaled": attention.scores, "additive": attention.additive_scores}[kind]
    read = torch.zeros(n_seeds, n, n)  # (S, 8, 8): from the values that were read to a guess
    weights = [w.requires_grad_() for w in (w_q, w_k, read, *extra)]
    optimiser, hits, seed = torch.optim.Adam(weights, lr=0.01), [], torch.arange(n_seeds)[:, None]
    for _ in range(n_steps):
        words = torch.rand(n_seeds, batch, n_words, generator=generator).argsort(-1)[..., :n]  # (S, B, 8)
        values = torch.randint(n, words.shape, generator=generator)  # (S, B, 8)
        q = (questions[seed, words[..., 0]] @ w_q)[:, :, None]  # (S, B, 1, K): the word asked for stands first
        k = answers[seed[..., None], words] @ w_k[:, None]  # (S, B, 8, K)
        looked = vmap(score)(q, k, *extra).softmax(-1) @ F.one_hot(values, n).float()  # (S, B, 1, 8)
        guess = looked[:, :, 0] @ read  # (S, B, 8)
        loss = n_seeds * F.cross_entropy(guess.flatten(0, 1), values[..., 0].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        hits.append((guess.argmax(-1) == values[..., 0]).float().mean().item())
    return sum(hits[-20:]) / 20


def accuracy() -> None:
    """Accuracy of a learned look-up against d_k, for three kinds of scores."""
    widths = [8, 32, 128, 512]
    found = {kind: [lookup_accuracy(kind, d) for d in widths] for kind in ("unscaled", "scaled", "additive")}
    with style():
        figure, (ax,) = _panels(
            1, 7.2, 3.6, "Wide and unscaled learns worst; the scale closes the gap to additive scores"
        )
        names = {"unscaled": "dot product, unscaled", "scaled": "dot product / √d_k", "additive": "additive"}
        for marker, dash, colour, kind in zip(
            MARKERS, ("-", "-", "--"), (ORANGE, BLUE, COLOURS[2]), names, strict=False
        ):
            ax.plot(widths, found[kind], marker=marker, linestyle=dash, color=colour, label=names[kind])
        ax.axhline(1 / 8, color=GREY, linewidth=1, linestyle=":")
        ax.annotate("guessing", (8, 1 / 8), xytext=(0, 4), textcoords="offset points", fontsize=9)
        ax.set(xlabel="d_k", ylabel="accuracy after training", xscale="log", ylim=(0, 1.05))
        ax.set_xticks(widths, widths)
        ax.minorticks_off()
        ax.legend(loc="center left", bbox_to_anchor=(0, 0.38))
        rows = "; ".join(f"{names[k]} {', '.join(f'{a:.2f}' for a in v)}" for k, v in found.items())
        show(figure, f"Accuracy of a learned look-up at d_k = {', '.join(map(str, widths))}: {rows}.")


def dot_against_additive(d: int = 64) -> None:
    """FLOPs of the scores, memory kept for the gradient, and time, against the number of tokens."""
    sizes = [32, 64, 128, 256, 512]
    generator = torch.Generator().manual_seed(0)
    w_q, w_k, v = (torch.randn(*s, generator=generator, requires_grad=True) for s in ((d, d), (d, d), (d,)))
    ways: dict[str, Callable] = {
        "dot": attention.scores,
        "additive": lambda q, k: attention.additive_scores(q, k, w_q, w_k, v),
    }
    flops = {"dot": lambda n: counting.dot_cost(n, d), "additive": lambda n: counting.additive_cost(n, d, d)}
    with style():
        figure, axes = _panels(3, 3.2, 3.5, "Additive scores: in the end the same FLOPs, but far more memory and time")
        ends = {}
        for marker, colour, (name, score) in zip("so", (BLUE, ORANGE), ways.items(), strict=True):
            measured = [_memory_and_time(score, n, d) for n in sizes]
            rows = ([flops[name](n) / 1e6 for n in sizes], *map(list, zip(*measured, strict=True)))
            ends[name] = [row[-1] for row in rows]
            for ax, row in zip(axes, rows, strict=True):
                ax.plot(sizes, row, marker=marker, color=colour, label=name)
        for ax, what in zip(
            axes, ("FLOPs, millions", "kept for the gradient, MB", "time there and back, ms"), strict=True
        ):
            ax.set(title=what, xlabel="n queries, n keys", xscale="log", yscale="log")
            ax.set_xticks(sizes, sizes)
            ax.minorticks_off()
        axes[0].legend()
        ratios = [b / a for a, b in zip(ends["dot"], ends["additive"], strict=True)]
        show(
            figure,
            f"Scores of n queries and n keys, d_k = d_hidden = {d}, against n. At n = {sizes[-1]} additive takes "
            f"{ratios[0]:.2f} times the FLOPs of dot products, {ratios[1]:.0f} times the memory and {ratios[2]:.0f} "
            "times the time.",
        )


def _memory_and_time(score: Callable, n: int, d: int) -> tuple[float, float]:
    """Megabytes that autograd keeps for scores and their softmax, and median milliseconds forward and backward."""
    q, k = (torch.randn(n, d, generator=torch.Generator().manual_seed(i), requires_grad=True) for i in (1, 2))
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        score(q, k).softmax(-1).sum().backward()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        score(q, k).softmax(-1).sum().backward()
        times.append(time.perf_counter() - start)
    return sum(kept.values()) / 1e6, 1000 * median(times)


# ---- heads ----


def two_cuts(n: int = 4, n_heads: int = 2, d_k: int = 3) -> None:
    """What each head gets by the right cut, and by `view` alone. A colour for each token."""
    d_model = n_heads * d_k
    features = torch.arange(n * d_model).view(n, d_model)  # (T, D)
    ways = {
        "x: a row for each token": features[None],
        "split, then swapped": attention.split_heads(features[None], n_heads)[0],
        "view alone": features.view(n_heads, n, d_k),
    }
    with style():
        figure, (ax,) = _panels(1, 8.5, 4.9, "By view alone a head gets a piece of the text, not of each token")
        left = 0.0
        for title, heads in ways.items():  # (H, T, K)
            ax.text(left, -0.4, title)
            _tokens(ax, heads, d_model, left)
            left += heads.shape[-1] + 2
        ax.set(xlim=(-0.2, left), ylim=(n_heads * (n + 0.8), -1), aspect="equal")
        ax.axis("off")
        show(
            figure,
            f"{n} tokens of {d_model} features, a colour for each token, cut into {n_heads} heads. Split and "
            "swapped, each head holds a part of every token. By view alone, head 0 holds only the first "
            f"{n // n_heads} tokens, and its rows are no longer tokens.",
        )


def _tokens(ax: Axes, heads: Tensor, d_model: int, left: float) -> None:
    """Tables (H, rows, columns) of feature numbers one above the other, coloured by the token they come from."""
    from matplotlib.patches import Rectangle

    n_heads, rows, columns = heads.shape
    for h, r, c in product(range(n_heads), range(rows), range(columns)):
        token, feature = divmod(int(heads[h, r, c]), d_model)
        x, y = left + c, h * (rows + 0.8) + r
        ax.add_patch(Rectangle((x, y), 0.95, 0.95, color=COLOURS[token], alpha=0.75, linewidth=0))
        _write(ax, x + 0.47, y + 0.5, f"{token}·{feature}", on_colour=True)
    for h in range(n_heads if n_heads > 1 else 0):
        ax.text(left - 0.15, h * (rows + 0.8) + rows / 2, f"head {h}", rotation=90, ha="right", va="center")


def head_cost(n: int = 256, d_model: int = 512) -> None:
    """FLOPs of a multi-head layer and memory of its weights, counted as the layer runs, against the number of heads."""
    heads = [1, 2, 4, 8, 16, 32, 64]
    flops, memory = zip(*(_layer_cost(n, d_model, h) for h in heads), strict=True)
    with style():
        title = "More heads: not a FLOP saved, and more weights to keep"
        figure, axes = _panels(2, 4.6, 3.5, title)
        axes[0].plot(heads, [f / 1e6 for f in flops], marker="o")
        axes[0].set(title="FLOPs of the layer, millions", ylim=(0, 1.3 * max(flops) / 1e6))
        axes[1].plot(heads, [m / 1e6 for m in memory], marker="s", color=ORANGE)
        axes[1].set(title="attention weights, MB", ylim=(0, None))
        for ax in axes:
            ax.set(xlabel="n_heads", xticks=[1, 8, 16, 32, 64])
        show(
            figure,
            f"One layer, {n} tokens, d_model {d_model}, with 1 to {heads[-1]} heads. FLOPs stay at "
            f"{flops[0] / 1e6:.0f} million; the weights grow from {memory[0] / 1e6:.2f} to {memory[-1] / 1e6:.1f} MB.",
        )


def _layer_cost(n: int, d_model: int, n_heads: int) -> tuple[int, int]:
    """FLOPs of one layer, and bytes of its weights; nothing is calculated, shapes alone run through it."""
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        layer, x = attention.MultiHeadAttention(d_model, n_heads), torch.empty(1, n, d_model)  # (1, T, D)
        q, k, v = (attention.split_heads(part(x), n_heads) for part in (layer.q_proj, layer.k_proj, layer.v_proj))
        output, weights = attention.attend(q, k, v)  # (1, H, T, K), (1, H, T, T)
        layer.out_proj(attention.merge_heads(output))  # (1, T, D)
    return counter.get_total_flops(), weights.numel() * weights.element_size()


def patterns(n: int = 7) -> None:
    """The two patterns of two heads, and what becomes of them in one."""
    w_q, w_k = attention.two_patterns(n)  # (2, n, n) each
    heads = attention.attend(w_q, w_k, w_k)[1]  # (2, n, n): with inputs eye(n) the weights are the queries and keys
    together = attention.scores(w_q, w_k).sum(0).softmax(-1)  # (n, n)
    titles = ("head 0: the token before", "head 1: the first token", "one head for both: half each")
    with style():
        figure, axes = _panels(3, 3.3, 4.3, "Two heads see two things clearly; one head sees both by half")
        for ax, title, weights in zip(axes, titles, (*heads, together), strict=True):
            grid(ax, weights, title)
        for ax in axes[1:]:
            ax.set_ylabel("")
        show(
            figure,
            f"Three {n} by {n} maps. Head 0 is dark just below the diagonal, head 1 in column 0. A single head that "
            "wants both gives each of the two places about one half.",
        )


# ---- how far a node sees ----


def hard_choices(n_layers: int, n_heads: int, residual: bool, n: int) -> list[Tensor]:
    """One-hot attention weights (H, n, n) for each layer, from the inputs up, chosen so that no two paths meet.

    In layer l node i reads the nodes i + bˡ, i + 2·bˡ, … (round the end), b being the number of branches at a node.
    """
    branches = n_heads + int(residual)
    shift = [[(h + 1) * branches**layer for h in range(n_heads)] for layer in range(n_layers)]
    return [torch.stack([torch.eye(n).roll(s, dims=1) for s in layer]) for layer in shift]


def count_inputs(n_layers: int, n_heads: int, residual: bool) -> int:
    """How many inputs have a gradient at node 0 of a network with argmax attention, built to reach the most."""
    n = (n_heads + int(residual)) ** n_layers + 1
    values = x = torch.ones(n, requires_grad=True)
    for weights in hard_choices(n_layers, n_heads, residual, n):
        read = (weights @ x).sum(0)  # (n,): each head brings one value, and they are added
        x = read + x if residual else read
    (gradient,) = torch.autograd.grad(x[0], values)
    return int((gradient != 0).sum())


def trees(n_layers: int = 2, n: int = 9) -> None:
    """Who reaches node 0 of the top layer with argmax attention: one head, two heads, two heads and a residual path."""
    ways = {"one head": (1, False), "two heads": (2, False), "two heads + residual": (2, True)}
    with style():
        figure, axes = _panels(3, 3.3, 3.3, "With argmax attention each head brings exactly one value")
        counts = []
        for ax, (title, (n_heads, residual)) in zip(axes, ways.items(), strict=True):
            choices = hard_choices(n_layers, n_heads, residual, n)
            counts.append(_draw_tree(ax, choices, residual, n))
            ax.set(title=title, xlabel="position", xticks=range(n), yticks=range(n_layers + 1))
            ax.set_ylim(-0.3, n_layers + 0.3)
        axes[0].set_ylabel("layer (0: the inputs)")
        show(
            figure,
            f"A network of {n_layers} layers over {n} inputs; lines lead from node 0 at the top to the inputs whose "
            f"values reach it. {'; '.join(f'{name}: {count}' for name, count in zip(ways, counts, strict=True))}.",
        )


def _draw_tree(ax: Axes, choices: Sequence[Tensor], residual: bool, n: int) -> int:
    nodes = {0}
    for layer in range(len(choices), 0, -1):
        below = set()
        for i in nodes:
            read = [(int(w[i].argmax()), BLUE, "-") for w in choices[layer - 1]]
            for j, colour, dash in read + [(i, ORANGE, "--")] * residual:
                ax.plot([i, j], [layer, layer - 1], color=colour, linestyle=dash, linewidth=1.5, zorder=1)
                below.add(j)
        ax.scatter(range(n), [layer] * n, s=14, color=GREY, alpha=0.5, zorder=2)
        ax.scatter(list(nodes), [layer] * len(nodes), s=45, color=BLUE, zorder=3)
        nodes = below
    ax.scatter(range(n), [0] * n, s=14, color=GREY, alpha=0.5, zorder=2)
    ax.scatter(list(nodes), [0] * len(nodes), s=45, color=BLUE, zorder=3)
    return len(nodes)


def growth(n_layers: int = 5) -> None:
    """Inputs counted on networks built for it, against the formula, with depth."""
    layers = range(1, n_layers + 1)
    with style():
        figure, (ax,) = _panels(
            1, 7.2, 3.6, "Every layer multiplies what a node sees (marks counted, lines the formula)"
        )
        for marker, colour, (n_heads, residual) in zip(
            "osD^", COLOURS, ((1, False), (2, False), (2, True), (3, True)), strict=False
        ):
            name = f"{n_heads} head{'s' if n_heads > 1 else ''}{' + residual' if residual else ''}"
            formula = [counting.receptive_field(layer, n_heads, residual) for layer in layers]
            counted = [count_inputs(layer, n_heads, residual) for layer in layers]
            ax.plot(layers, formula, color=colour, linewidth=1.2, linestyle=":" if residual else "-")
            ax.plot(layers, counted, marker=marker, linestyle="", fillstyle="none", markersize=9, color=colour)
            ax.annotate(name, (n_layers, counted[-1]), xytext=(10, -4), textcoords="offset points", color=colour)
        ax.set(xlabel="layers", ylabel="inputs that reach one node", yscale="log", xticks=list(layers))
        ax.margins(x=0.03)
        show(
            figure,
            f"Inputs that reach one node after 1 to {n_layers} layers of argmax attention, on a log scale: one head "
            "stays at 1, the others grow by a factor in each layer, and all counted marks lie on the formula's lines.",
        )
