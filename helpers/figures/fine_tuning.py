"""Figures of 07 and 08, drawn from the records of runs on a GPU: what pretraining reached and what it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from helpers.figures import BLUE, GREY, ORANGE, PINK, SKY, show, style
from helpers.figures.masks import _panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from helpers.training import Point

Record = dict[str, Any]
LOOKS = {  # name in the record: (name in the figure, colour, marker)
    "pretrained": ("fine-tuned", BLUE, "o"),
    "probe": ("frozen body, new head", SKY, "^"),
    "scratch": ("from scratch", ORANGE, "s"),
    "bag of words": ("bag of words", PINK, "D"),
}


def pretraining(record: Record) -> None:
    """Held-out perplexity while pretraining, beside what counting reaches. `record` is a checkpoint's."""
    curve = [point for point in record["curve"] if point["measured"] is not None]
    found = torch.tensor([point["measured"] for point in curve]).exp().tolist()
    counted = {name: record["baselines"][name]["perplexity"] for name in ("bigram", "trigram")}
    last = record["test"][0]["perplexity"]
    verdict = "below" if last < counted["trigram"] else "not yet below"
    title = f"Test perplexity {last:.0f}, {verdict} the trigram's {counted['trigram']:.0f}"
    with style():
        figure, (ax,) = _panels(1, 7.2, 3.4, title)
        ax.plot([point["step"] for point in curve], found, color=BLUE, marker="o", label="Transformer")
        for (name, value), colour, dashes in zip(counted.items(), (PINK, ORANGE), ("--", ":"), strict=True):
            ax.axhline(value, color=colour, linestyle=dashes, label=f"{name}, counted")
        ax.set(xlabel="step", ylabel="perplexity per token", yscale="log")
        _plain_ticks(ax)
        ax.legend(loc="upper right", bbox_to_anchor=(1, 0.92))
    show(
        figure,
        f"A falling curve: held-out perplexity of the Transformer goes from {found[0]:.0f} to {found[-1]:.0f}. "
        f"Level lines: bigram {counted['bigram']:.0f}, trigram {counted['trigram']:.0f}.",
    )


def _plain_ticks(ax: Axes) -> None:
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    low, high = ax.get_ylim()
    ax.set_yticks([n * 10**k for k in range(5) for n in (1, 1.5, 2, 3, 5, 7) if low <= n * 10**k <= high])


def epochs(record: Record) -> None:
    """Accuracy after each epoch, the mean and spread of all seeds; `record` is sentiment.json's."""
    gap = record["pretrained against scratch"]
    bag = _mean(record["labels"][str(record["n_train"])]["bag of words"])
    n_seeds = len(record["epochs"]["pretrained"])
    title = f"Pretraining is worth {_points(gap)} of accuracy"
    with style():
        figure, (ax,) = _panels(1, 7.2, 3.6, title if gap["low"] > 0 else f"No gain for sure: {_points(gap)}")
        for way in ("pretrained", "probe", "scratch"):
            rows = torch.tensor(record["epochs"][way])  # (seeds, epochs)
            _band(ax, range(1, rows.shape[1] + 1), rows, way)
        name, colour, _ = LOOKS["bag of words"]
        ax.axhline(bag, color=colour, linestyle="--", label=name)
        ax.set(xlabel="epoch", ylabel="accuracy on test sentences")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(loc="lower right")
    ends = ", ".join(f"{LOOKS[w][0]} {_mean(r[-1] for r in record['epochs'][w]):.3f}" for w in record["epochs"])
    show(
        figure,
        f"Three curves of accuracy by epoch, each the mean of {n_seeds} seeds with a band from the lowest to the "
        f"highest. At the end: {ends}; the bag of words, a level line, has {bag:.3f}. "
        f"Fine-tuned minus from scratch: {_points(gap)}.",
    )


def labels(record: Record) -> None:
    """Accuracy against the number of labels, all ways; `record` is sentiment.json's."""
    counts = [int(n) for n in record["labels"]]
    fewest = record["labels"][str(counts[0])]
    lead = 100 * (_mean(fewest["pretrained"]) - _mean(fewest["scratch"]))
    title = f"With {counts[0]:,} labels the pretrained model leads by {lead:.0f} points"
    with style():
        figure, (ax,) = _panels(1, 7.2, 3.6, title if lead > 0 else f"With {counts[0]:,} labels neither way leads")
        for way in LOOKS:
            rows = [torch.tensor(record["labels"][str(n)][way]) for n in counts]  # (seeds,) each
            _band(ax, counts, rows, way)
        ax.axhline(0.5, color=GREY, linewidth=1, linestyle=":")
        ax.annotate("a coin", (counts[0], 0.5), (0, -12), textcoords="offset points", color=GREY, fontsize=9)
        ax.set_ylim(bottom=min(ax.get_ylim()[0], 0.47))
        ax.set(xlabel="labelled sentences", ylabel="accuracy on test sentences", xscale="log")
        ax.set_xticks(counts, [f"{n:,}" for n in counts], minor=False)
        ax.minorticks_off()
        ax.legend(loc="lower right", bbox_to_anchor=(1, 0.12), ncols=2)
    rows = "; ".join(
        f"{n:,} labels: " + ", ".join(f"{LOOKS[way][0]} {_mean(record['labels'][str(n)][way]):.2f}" for way in LOOKS)
        for n in counts
    )
    show(figure, f"Four rising curves of accuracy against the number of labels. {rows}.")


def _band(ax: Axes, x: Any, rows: Any, way: str) -> None:
    """The mean over seeds, with a band from the lowest to the highest; rows (seeds, n), or n tensors of seeds."""
    name, colour, marker = LOOKS[way]
    columns = list(rows.T) if isinstance(rows, torch.Tensor) else rows
    ax.plot(list(x), [_mean(c) for c in columns], color=colour, marker=marker, label=name)
    low, high = [float(min(c)) for c in columns], [float(max(c)) for c in columns]
    ax.fill_between(list(x), low, high, color=colour, alpha=0.2, linewidth=0)


def _mean(values: Any) -> float:
    values = [float(x) for x in values]
    return sum(values) / len(values)


def _points(gap: dict[str, float]) -> str:
    """A difference with its interval, in points of accuracy."""
    d, low, high = (100 * gap[name] for name in ("difference", "low", "high"))
    return f"{d:.1f} points (95 %: {low:.1f} to {high:.1f})"


def live(curves: dict[str, list[Point]], coin: float = 0.5) -> None:
    """Accuracy while training, both ways; `curves` by name in the record, as `training.train` gives them."""
    ends = {way: curve[-1].measured for way, curve in curves.items()}
    lead = 100 * (ends["pretrained"] - ends["scratch"])
    title = (
        f"Same steps, same sentences: {abs(lead):.0f} points {'ahead' if lead > 0 else 'behind'} with the checkpoint"
    )
    with style():
        figure, (ax,) = _panels(1, 7.2, 3.2, title)
        for way, curve in curves.items():
            name, colour, marker = LOOKS[way]
            rows = [(point.step, point.measured) for point in curve]
            ax.plot(*zip(*rows, strict=True), color=colour, marker=marker, label=name)
        ax.axhline(coin, color=GREY, linewidth=1, linestyle=":")
        ax.annotate("a coin", (0, coin), (0, -12), textcoords="offset points", color=GREY, fontsize=9)
        ax.set(xlabel="step", ylabel="accuracy on sentences\nthat it was not trained on", xlim=(0, None))
        ax.set_ylim(bottom=min(ax.get_ylim()[0], coin - 0.04))
        ax.legend(loc="upper left")
    said = ", ".join(f"{LOOKS[way][0]} {end:.2f}" for way, end in ends.items())
    show(figure, f"Two curves of accuracy against steps of training. At the end: {said}.")


def reading(read: dict[str, tuple[list[str], Tensor]]) -> None:
    """How sure of praise a classifier is after each token; `read` is text → `finetune.as_it_reads`."""
    with style():
        figure, axes = _panels(len(read), 4.4, 3.3, "Its mind changes while it reads")
        for ax, (tokens, classes) in zip(axes, read.values(), strict=True):
            sure = classes[:, 1].tolist()
            colours = [BLUE if p >= 0.5 else ORANGE for p in sure]
            ax.bar(range(len(sure)), [p - 0.5 for p in sure], bottom=0.5, color=colours)
            ax.axhline(0.5, color=GREY, linewidth=1)
            words = [token.strip() or "·" for token in tokens]
            ax.set_xticks(range(len(words)), words, rotation=60, ha="right", rotation_mode="anchor")
            ax.set(ylim=(0, 1), ylabel="probability of praise" if ax is axes[0] else "")
    said = "; ".join(f"“{text}” ends at {classes[-1, 1]:.2f}" for text, (_, classes) in read.items())
    show(figure, f"For each text a bar at each token, up for praise and down for blame. {said}.")
