"""Figures of 09: what BERT reads, what is hidden from it, what it guesses, and whether both sides help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from helpers.figures import BLUE, GREY, ORANGE, PINK, SKY, YELLOW, show, style
from helpers.figures.masks import _panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from helpers.experiments.live_twins import Race

Record = dict[str, Any]
FATES = {"not asked": GREY, "[MASK]": BLUE, "another token": ORANGE, "left as it is": SKY}


def inputs(pieces: Sequence[str], segment_ids: Sequence[int], attention_mask: Sequence[int]) -> None:
    """The rows that BERT is fed, a column for each token."""
    rows = {
        "token": list(pieces),
        "position": list(range(len(pieces))),
        "segment": list(segment_ids),
        "attention mask": list(attention_mask),
    }
    with style():
        figure, (ax,) = _panels(1, 9.2, 2.3, "Two texts in one row: segments tell them apart, the mask tells pads")
        for y, values in enumerate(rows.values()):
            for x, value in enumerate(values):
                kind = SKY if segment_ids[x] == 0 else YELLOW
                _tile(ax, x, y, value, kind if attention_mask[x] else GREY)
        _grid(ax, len(pieces), list(rows))
    said = "; ".join(f"{name}: {' '.join(map(str, values))}" for name, values in rows.items())
    show(figure, f"A table with a column for each token. {said}.")


def masking(before: Sequence[str], after: Sequence[str], chosen: Sequence[bool], shares: Mapping[str, float]) -> None:
    """A text before and after masking, its chosen places in colour; below, the fates of many tokens as shares."""
    fates = [_fate(*place) for place in zip(before, after, chosen, strict=True)]
    with style():
        figure, (top, below) = _rows(9.2, 3.6, "Few tokens are asked for, and most of these are hidden")
        for y, row in enumerate((before, after)):
            for x, (piece, fate) in enumerate(zip(row, fates, strict=True)):
                _tile(top, x, y, piece, FATES[fate])
        _grid(top, len(before), ["text", "input"])
        names = list(shares)
        below.barh(names[::-1], [100 * shares[name] for name in names[::-1]], color=[FATES[n] for n in names[::-1]])
        for y, name in enumerate(names[::-1]):
            below.annotate(
                f"{shares[name]:.1%}", (100 * shares[name], y), (4, 0), textcoords="offset points", va="center"
            )
        below.set(xlabel="per cent of all tokens that may be chosen", xlim=(0, 100))
    told = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    asked = "; ".join(f"{a}: {fate}" for a, fate in zip(before, fates, strict=True) if fate != "not asked")
    show(figure, f"A text in two rows, before and after masking. Chosen: {asked}. Of very many tokens: {told}.")


def _fate(before: str, after: str, chosen: bool) -> str:
    if not chosen:
        return "not asked"
    return "left as it is" if after == before else "[MASK]" if after == "[MASK]" else "another token"


def counting(record: Record) -> None:
    """How many chosen tokens the checkpoint tells, beside what counting tells. `record` is bert.json's."""
    told = {
        "always the commonest token": record["baselines"]["unigram"],
        "both neighbours, counted": record["baselines"]["neighbours"],
        "BERT": record["test"]["masked"],
    }
    lead = 100 * (told["BERT"] - told["both neighbours, counted"])
    title = f"Of the chosen tokens BERT tells {lead:.1f} points more than a table"
    with style():
        figure, (ax,) = _panels(1, 7.2, 2.2, title if lead > 0 else "A table tells as many of the chosen tokens")
        ax.barh(list(told), [100 * share for share in told.values()], color=[GREY, ORANGE, BLUE])
        for y, share in enumerate(told.values()):
            ax.annotate(f"{share:.1%}", (100 * share, y), (4, 0), textcoords="offset points", va="center")
        ax.set(xlabel="per cent of chosen tokens told", xlim=(0, 100 * max(told.values()) * 1.15))
    show(
        figure, "Bars of chosen tokens told: " + ", ".join(f"{name} {share:.1%}" for name, share in told.items()) + "."
    )


def pretraining(record: Record) -> None:
    """Masked accuracy while pretraining, beside both ways to count. `record` is bert.json's."""
    points = [(p["step"], 100 * p["measured"]) for p in record["curve"] if p["measured"] is not None]
    first = next((step for step, share in points if share > 100 * record["baselines"]["neighbours"]), None)
    title = f"From step {first:,} on it tells more than counting" if first else "Counting is not yet passed"
    with style():
        figure, (ax,) = _panels(1, 7.2, 3.0, title)
        ax.plot(*zip(*points, strict=True), color=BLUE, marker="o", label="BERT")
        for name, colour, label in (("neighbours", ORANGE, "both neighbours"), ("unigram", GREY, "commonest token")):
            ax.axhline(100 * record["baselines"][name], color=colour, linestyle="--", label=f"{label}, counted")
        ax.set(xlabel="step", ylabel="chosen tokens told (%)", ylim=(0, None))
        ax.legend(loc="lower right", bbox_to_anchor=(1, 0.12))
    show(
        figure,
        f"A rising curve of chosen tokens told, from {points[0][1]:.0f} to {points[-1][1]:.0f} per cent, with level "
        f"lines for counting at {100 * record['baselines']['neighbours']:.0f} and "
        f"{100 * record['baselines']['unigram']:.0f} per cent. {title}.",
    )


def candidates(filled: Mapping[str, Sequence[tuple[str, float]]]) -> None:
    """The likeliest pieces at the one [MASK] of each text."""
    with style():
        figure, axes = _panels(len(filled), 9.2 / len(filled), 2.4, "What it would write depends on both sides")
        for ax, (text, found) in zip(axes, filled.items(), strict=True):
            ax.barh([piece for piece, _ in found][::-1], [100 * p for _, p in found][::-1], color=BLUE)
            ax.set(xlabel="probability (%)")
            ax.set_title(text, fontsize=9)
    said = "; ".join(f"“{text}”: {', '.join(f'{w} {p:.0%}' for w, p in found)}" for text, found in filled.items())
    show(figure, f"For each text bars of its likeliest candidates. {said}.")


def left_or_both(record: Record) -> None:
    """Sentiment after both ways to pretrain, seed by seed; beside it what the paper found, task by task."""
    gap = record["intervals"]["masked − left to right"]
    d, low, high = (100 * gap[name] for name in ("difference", "low", "high"))
    sure = low > 0 or high < 0
    with style():
        title = f"Masked − left to right, here {d:+.1f} points: the interval {_excludes(sure)} zero"
        figure, (ours, theirs) = _panels(2, 4.6, 3.4, title)
        for y, (way, colour) in enumerate(zip(record["accuracy"], (BLUE, ORANGE, SKY, PINK), strict=True)):
            ends = [100 * row[-1] for row in record["epochs"][way]]
            ours.scatter(ends, [y] * len(ends), color=colour, alpha=0.6)
            ours.scatter([100 * record["accuracy"][way]], [y], color=colour, marker="|", s=400)
        ours.set_yticks(range(len(record["accuracy"])), list(record["accuracy"]))
        ours.set_ylim(len(record["accuracy"]) - 0.5, -0.5)
        ours.set(xlabel="sentiment accuracy (%), a dot for each seed")
        paper = record["paper"]
        gains = [a - b for a, b in zip(paper["No NSP"], paper["LTR & No NSP"], strict=True)]
        theirs.barh(paper["tasks"][::-1], gains[::-1], color=BLUE)
        for y, gain in enumerate(gains[::-1]):
            theirs.annotate(f"{gain:+.1f}", (gain, y), (4, 0), textcoords="offset points", va="center")
        theirs.set(xlabel="No NSP − LTR & No NSP (points)", xlim=(0, 1.2 * max(gains)))
        theirs.set_title("The paper, table 5", fontsize=10)
    means = ", ".join(f"{way} {share:.3f}" for way, share in record["accuracy"].items())
    told = ", ".join(f"{task} {gain:+.1f}" for task, gain in zip(paper["tasks"], gains, strict=True))
    show(
        figure,
        f"Left, sentiment accuracy for each seed of four ways; means: {means}; masked minus left to right {d:+.1f} "
        f"points, 95 per cent from {low:.1f} to {high:.1f}. Right, the paper's gains by reading both sides: {told}.",
    )


def race(run: Race) -> None:
    """The same held-out words told by both live runs, against steps and against answers."""
    (left, right), answers = (run.told[way] for way in run.told), list(run.answers.values())
    by_steps = 100 * (left[-1] - right[-1])
    by_answers = 100 * (_at(answers[1][-1], answers[0], left) - right[-1])
    title = f"{_ahead(by_steps)} after as many steps, {_ahead(by_answers).lower()} after as many answers"
    with style():
        figure, axes = _panels(2, 4.6, 3.2, title)
        for (way, told), colour, marker in zip(run.told.items(), (ORANGE, BLUE), "so", strict=True):
            shares = [100 * share for share in told]
            for ax, along in zip(axes, (run.steps, run.answers[way]), strict=True):
                ax.plot(along, shares, color=colour, marker=marker, markersize=4, label=way)
        axes[0].set(xlabel="steps", ylabel="held-out words told (%)", ylim=(0, None))
        axes[1].set(xlabel="answers in training so far", xscale="log", ylim=(0, None))
        axes[0].legend(loc="lower right")
    ends = ", ".join(
        f"{way} from {100 * told[0]:.1f} to {100 * told[-1]:.1f} per cent with {run.answers[way][-1]:,} answers"
        for way, told in run.told.items()
    )
    show(
        figure,
        f"Two panels with a rising curve for each way, held-out words told against steps and against answers: {ends}, "
        f"both in {run.steps[-1]} steps. {title}.",
    )


def _at(place: float, along: Sequence[float], values: Sequence[float]) -> float:
    """A curve's value between its points."""
    from numpy import interp

    return float(interp(place, along, values))


def _ahead(points: float) -> str:
    """Who leads by how many points; positive where left to right does."""
    return f"{'Left to right' if points > 0 else 'Masked'} {abs(points):.1f} points ahead"


def _excludes(sure: bool) -> str:
    return "excludes" if sure else "includes"


def _tile(ax: Axes, x: int, y: int, value: object, colour: str) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    pale = [0.65 + 0.35 * part for part in to_rgb(colour)]  # opaque, so black is read on it in dark themes as well
    ax.add_patch(Rectangle((x - 0.46, y - 0.42), 0.92, 0.84, color=pale, linewidth=0))
    size = 8 * min(1, 7 / len(str(value)))  # long pieces stay in their tile
    ax.text(x, y, str(value), ha="center", va="center", fontsize=size, color="black")


def _grid(ax: Axes, width: int, names: Sequence[str]) -> None:
    ax.set(xlim=(-0.6, width - 0.4), ylim=(len(names) - 0.5, -0.5), xticks=[])
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _rows(width: float, height: float, title: str) -> tuple[Any, Any]:
    """Two panels, one above the other."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 1, figsize=(width, height))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure, axes


def shares(ids: torch.Tensor, made: torch.Tensor, labels: torch.Tensor, mask_id: int) -> dict[str, float]:
    """What became of tokens, as shares of all: ids, inputs and labels of one shape."""
    chosen = labels != -100
    fates = {
        "not asked": ~chosen,
        "[MASK]": chosen & (made == mask_id),
        "another token": chosen & (made != mask_id) & (made != ids),
        "left as it is": chosen & (made == ids),
    }
    return {name: where.double().mean().item() for name, where in fates.items()}
