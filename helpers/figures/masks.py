"""Figures of 02_masks. Blue: may look, or a weight. Orange: something that should not be there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from helpers import masks
from helpers.attention import attend
from helpers.figures import BLUE, GREY, ORANGE, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Model = Callable[[Tensor], Tensor]
KEYS, QUERIES = "key j (answers)", "query i (asks)"


def grid(
    ax: Axes, strength: Tensor, title: str, text: Sequence[Sequence[str]] | None = None, colour: str = BLUE
) -> None:
    """A matrix (rows, columns) of strengths in [0, 1] as cells from clear to `colour`, each with its text if given."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    rows, columns = strength.shape
    ramp = LinearSegmentedColormap.from_list("ramp", [to_rgba(colour, 0), to_rgba(colour, 1)])
    ax.imshow(strength.numpy(), cmap=ramp, vmin=0, vmax=1)
    ax.set(title=title, xlabel=KEYS, ylabel=QUERIES, xticks=range(columns), yticks=range(rows))
    ax.set_xticks([x - 0.5 for x in range(columns + 1)], minor=True)
    ax.set_yticks([y - 0.5 for y in range(rows + 1)], minor=True)
    ax.grid(which="minor", color=GREY, linewidth=0.5, alpha=0.6)
    ax.tick_params(which="both", length=0)
    for i, line in enumerate(text or []):
        for j, word in enumerate(line):
            _write(ax, j, i, word, on_colour=bool(strength[i, j] > 0.25))


def _write(ax: Axes, x: float, y: float, word: str, on_colour: bool) -> None:
    """Grey on bare ground; on colour, white with a dark rim."""
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=1.8, foreground="#333333")] if on_colour else None
    ax.text(x, y, word, ha="center", va="center", color="white" if on_colour else GREY, fontsize=9, path_effects=rim)


def _panels(n: int, width: float, height: float, title: str) -> tuple[Figure, list[Axes]]:
    """A row of n panels, each width × height inches, under one title."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, n, figsize=(n * width, height), layout="compressed", squeeze=False)
    figure.suptitle(title, color=GREY, x=0.01, ha="left", fontsize=12)
    return figure, list(axes[0])


def _name(ax: Axes, words: Sequence[str]) -> None:
    """Words in place of numbers along the keys, and along the queries."""
    ax.set_xticks(range(len(words)), words, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(words)), words)


def _numbers(x: Tensor) -> list[list[str]]:
    return [[f"{value:.2f}".removeprefix("0") if value else "0" for value in line] for line in x.tolist()]


def causal(sentence: str) -> None:
    """The causal mask beside the weights that are left under it."""
    words = sentence.split()
    n = len(words)
    mask = masks.causal(n)  # (T, T)
    scores = torch.randn(n, n, generator=torch.Generator().manual_seed(3))  # (T, T)
    weights = (scores + mask).softmax(-1)  # (T, T)
    with style():
        figure, axes = _panels(2, 4.5, 4.6, "Nobody looks to the right of the diagonal")
        grid(axes[0], (mask == 0).float(), "The mask: 0 or −∞", [["0" if x == 0 else "−∞" for x in r] for r in mask])
        grid(axes[1], weights, "The weights under it: rows add up to 1", _numbers(weights))
        for ax in axes:
            _name(ax, words)
        show(
            figure,
            f"Two {n} by {n} tables for “{sentence}”. Left, the causal mask: 0 up to the diagonal, "
            "minus infinity above it. Right, attention weights: zero wherever the mask says minus infinity.",
        )


def conventions(n: int = 4) -> None:
    """The same mask three times: boolean, additive, and as `nn.MultiheadAttention` wants it."""
    allowed = masks.boolean(masks.causal(n))  # (n, n)
    ways = {
        "boolean here and in SDPA:\nTrue may look": ("True", "False"),
        "additive, everywhere:\n0 may look": ("0", "−∞"),
        "boolean in nn.MultiheadAttention:\nFalse may look": ("False", "True"),
    }
    with style():
        figure, axes = _panels(3, 3.1, 4.1, "One mask, three spellings: blue may look in all of them")
        for ax, (title, (may, may_not)) in zip(axes, ways.items(), strict=True):
            grid(ax, allowed.float(), title, [[may if x else may_not for x in row] for row in allowed])
        for ax in axes[1:]:
            ax.set_ylabel("")
        show(
            figure,
            "The same causal mask in three conventions. Where one may look it says True as a boolean mask, 0 as an "
            "additive mask, and False in the convention of nn.MultiheadAttention.",
        )


def padding(sentences: Sequence[str], mask: Tensor) -> None:
    """One panel for each sentence of a batch: its row of the padding mask (B, 1, 1, T), as every query sees it."""
    n = len(sentences[0].split())
    with style():
        figure, axes = _panels(len(sentences), 3.1, 3.7, "A padding mask hides columns: nobody reads a pad")
        for ax, sentence, allowed in zip(axes, sentences, mask, strict=True):
            grid(ax, allowed[0].expand(n, n).float(), "")
            _name(ax, sentence.split())
        for ax in axes[1:]:
            ax.set_ylabel("")
        show(
            figure,
            f"{len(sentences)} sentences of {n} tokens, some of them padded. In each table whole columns are hidden, "
            "those whose key is a pad; rows are never hidden.",
        )


def blind_row(n: int = 4) -> None:
    """Three things that happen to a query with nothing to see."""
    scores = torch.tensor([1.5, -0.5, 0.3, 0.8, -1.0, 0.1])[:n]
    hidden = torch.zeros(n, dtype=torch.bool)  # may look nowhere
    ways = {
        "−∞: 0 divided by 0": scores.masked_fill(~hidden, -torch.inf).softmax(-1),
        "−1e9: everyone alike": scores.masked_fill(~hidden, -1e9).softmax(-1),
        "what we want: nobody": masks.masked_softmax(scores[None], hidden[None])[0],
    }
    with style():
        figure, axes = _panels(3, 3, 2.8, "A query that may look nowhere: three endings")
        for ax, (title, weights) in zip(axes, ways.items(), strict=True):
            ax.bar(range(n), weights.nan_to_num(), color=BLUE)
            ax.set(title=title, xlabel=KEYS, ylim=(0, 1), xticks=range(n))
            for j, value in enumerate(weights.tolist()):
                word, colour = ("NaN", ORANGE) if math.isnan(value) else (f"{value:.2f}", GREY)
                ax.text(j, 0.04 if math.isnan(value) else value + 0.04, word, ha="center", color=colour)
        axes[0].set_ylabel("weight")
        show(
            figure,
            f"Weights of one query over {n} hidden keys. With minus infinity all are NaN; with minus 1e9 "
            f"all are {1 / n:.2f}, so hidden keys are read after all; with the masked softmax all are 0.",
        )


def window_and_prefix(n: int, window: int, n_prefix: int) -> None:
    """A sliding window and a prefix mask, side by side."""
    with style():
        figure, axes = _panels(2, 4, 4.7, "Two relatives of the causal mask")
        grid(axes[0], (masks.sliding_window(n, window) == 0).float(), f"window of {window}: only the latest")
        grid(axes[1], (masks.prefix(n, n_prefix) == 0).float(), f"prefix of {n_prefix}: it reads itself both ways")
        show(
            figure,
            f"Left, a band of width {window} on and below the diagonal. Right, a causal triangle; "
            f"its first {n_prefix} columns are open to every row.",
        )


def reach(n: int, window: int, n_layers: int) -> None:
    """Which inputs can reach which outputs through 1, 2, … layers with a sliding window."""
    looks = (masks.sliding_window(n, window) == 0).float()  # (T, T)
    reached = torch.eye(n)  # (T, T)
    with style():
        title = f"A window of {window} reaches {window - 1} further with every layer"
        figure, axes = _panels(n_layers, 3.2, 3.9, title)
        for layer, ax in enumerate(axes, start=1):
            reached = ((looks @ reached) > 0).float()  # (T, T)
            far = int(reached[-1].sum())
            grid(ax, reached, f"{layer} layer{'s' if layer > 1 else ''}: the last reads {far}")
            ax.set(xlabel="input", ylabel="output" if layer == 1 else "")
        show(
            figure,
            f"Which inputs reach which outputs after 1 to {n_layers} layers with a window of {window}: the band "
            f"below the diagonal grows by {window - 1} with each layer.",
        )


@torch.no_grad()
def perturbation_map(model: Model, vocab_size: int, n: int) -> Tensor:
    """How much logits at position j move, at most, when the token at i alone is changed: (T, T), row i, column j."""
    start = torch.arange(n) % vocab_size  # (T,)
    rows = []
    for i in range(n):
        ids = start.repeat(vocab_size, 1)  # (V, T)
        ids[:, i] = torch.arange(vocab_size)
        logits = model(ids)  # (V, T, V)
        rows.append((logits - logits[:1]).abs().amax((0, 2)))  # (T,)
    return torch.stack(rows)  # (T, T)


def leaks(models: dict[str, Model], vocab_size: int, n: int) -> None:
    """A perturbation map for each model; changes of the past are orange."""
    with style():
        title = "Orange is a leak: a later token changed an earlier prediction"
        figure, axes = _panels(len(models), 2.8, 3.6, title)
        for ax, (name, model) in zip(axes, models.items(), strict=True):
            moved = perturbation_map(model, vocab_size, n)  # (T, T)
            moved = (moved > 1e-5) * (0.25 + 0.75 * moved / moved.max())  # a small change is seen too
            grid(ax, moved.triu(), name)
            grid(ax, moved.tril(-1), name, colour=ORANGE)
            ax.set(xlabel="position affected", ylabel="")
        axes[0].set_ylabel("position changed")
        show(
            figure,
            f"Perturbation maps of {', '.join(models)}: position changed down, position affected across. "
            "An honest model has nothing below the diagonal; each leaky one has marks there.",
        )


def decoding(gaps: dict[str, Sequence[float]]) -> None:
    """How far the newest output moves when the causal mask is left out, by length of the prefix."""
    from matplotlib import pyplot

    with style():
        figure, ax = pyplot.subplots(figsize=(7, 3.4))
        for marker, (name, values) in zip("os", gaps.items(), strict=True):
            lengths = range(1, len(values) + 1)
            ax.plot(lengths, values, marker=marker)
            ax.annotate(name, (lengths[-1], values[-1]), xytext=(8, 0), textcoords="offset points", va="center")
        ax.set(
            title="Without the mask, what is fed again changes; what is cached cannot",
            xlabel="length of the prefix, tokens",
            ylabel="greatest change",
            xticks=lengths,
        )
        ax.margins(x=0.02)
        show(
            figure,
            f"Change of the newest output when the causal mask is left out, for prefixes of 1 to {len(values)} tokens. "
            "Fed again: zero for one token, then clearly above zero. From the cache: zero throughout.",
        )


def bert_mask(sentence: str, hidden: int) -> None:
    """Hiding a token by an attention mask, beside replacing it by [MASK], on the same random embeddings."""
    words = sentence.split()
    n = len(words)
    generator = torch.Generator().manual_seed(5)
    embedding = torch.randn(n + 1, 6, generator=generator) * 0.8  # (T + 1, D): the words, then [MASK]
    allowed = torch.ones(n, n, dtype=torch.bool)
    allowed[:, hidden] = False
    replaced = [n if i == hidden else i for i in range(n)]
    x, y = embedding[:n], embedding[replaced]  # (T, D) each
    panels = [
        (f"an attention mask on “{words[hidden]}”: a column of zeros", attend(x, x, x, allowed)[1], words),
        ("[MASK] put in its place: read by all", attend(y, y, y)[1],
         [*words[:hidden], "[MASK]", *words[hidden + 1 :]]),
    ]  # fmt: skip
    with style():
        title = "A masked token is an input like any other; a masked key is not there"
        figure, axes = _panels(2, 4.8, 4.9, title)
        for ax, (title, weights, names) in zip(axes, panels, strict=True):
            grid(ax, weights, title, _numbers(weights))
            _name(ax, names)
        show(
            figure,
            f"Attention weights over “{sentence}”. Left, with an attention mask: the column of {words[hidden]} is "
            "zero. Right, with the token replaced by [MASK]: no column is zero.",
        )
