"""Figures of 06_translation: what a decoder reads, the paper's learning rate, a run's curve, maps, and symptoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from helpers import translation
from helpers.figures import BLUE, COLOURS, ORANGE, SKY, show, style
from helpers.figures.masks import _numbers, _panels, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from helpers.attention_maps import Map

# ---- training ----


def shifted(read: Sequence[str], said: Sequence[str]) -> None:
    """What the decoder reads at each position, above what it is to say there."""
    with style():
        figure, (ax,) = _panels(
            1, 9.6, 1.5, "At each place the decoder has read what stands before, and says what is next"
        )
        for t, (above, below) in enumerate(zip(read, said, strict=True)):
            _cell(ax, t, 0, above, SKY)
            _cell(ax, t, 1.2, below, ORANGE)
        ax.set(xlim=(-0.5, len(read) - 0.5), ylim=(1.7, -0.5), xticks=[])
        ax.set_yticks([0, 1.2], ["reads", "says"])
        ax.tick_params(length=0)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        show(figure, f"Two rows of tokens. Reads: {' | '.join(read)}. Says: {' | '.join(said)}, one place further on.")


def _cell(ax: Axes, x: float, y: float, word: str, colour: str) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x - 0.47, y - 0.43), 0.94, 0.86, color=colour, alpha=0.2, linewidth=0))
    ax.text(x, y, word, ha="center", va="center", fontsize=9)


def learning_rates(choices: Sequence[tuple[int, int]], n_steps: int = 20_000) -> None:
    """The paper's schedule for some (d_model, warmup)."""
    steps = range(1, n_steps, 50)
    with style():
        figure, (ax,) = _panels(1, 7.2, 3.3, "The rate rises in a straight line, and falls like 1/√step")
        said = []
        for (d_model, warmup), colour, dashes in zip(choices, COLOURS, ("-", "--", ":", "-."), strict=False):
            top = translation.learning_rate(warmup, d_model, warmup)
            label = f"d_model {d_model}, warmup {warmup:,}"
            rates = [translation.learning_rate(step, d_model, warmup) for step in steps]
            ax.plot(steps, rates, color=colour, linestyle=dashes, label=label)
            said.append(f"{label}: highest at step {warmup:,}, {top:.1e}")
        ax.set(xlabel="step", ylabel="learning rate")
        ax.legend()
        show(figure, f"Learning rate against steps, up to {n_steps:,}. {'; '.join(said)}.")


def curve(record: Mapping[str, Any]) -> None:
    """Loss and BLEU of a recorded run."""
    steps, losses, scores = zip(*(point.values() for point in record["curve"]), strict=True)
    with style():
        quarter = scores[len(scores) // 4]
        title = f"BLEU {quarter:.0f} after a quarter of the steps, {scores[-1]:.0f} after all of them"
        figure, (left, right) = _panels(2, 4.6, 3.1, title)
        left.plot(steps, losses, color=BLUE, marker=".")
        left.set(title="while training", xlabel="step", ylabel="smoothed loss (nats per token)")
        right.plot(steps, scores, color=ORANGE, marker=".")
        right.set(title="translated greedily", xlabel="step", ylabel="BLEU", ylim=(0, 70))
        show(
            figure,
            f"Over {steps[-1]:,} steps the training loss falls from {losses[0]:.2f} to {losses[-1]:.2f}, and BLEU on "
            f"validation sentences rises from {scores[0]:.1f} to {scores[-1]:.1f}, {quarter:.1f} after a quarter.",
        )


# ---- maps ----


def heads(scores: Tensor, title: str) -> None:
    """A number in [0, 1] for each head: scores (L, H)."""
    with style():
        figure, (ax,) = _panels(1, 5.6, 3.2, title)
        grid(ax, scores, "", _numbers(scores))
        ax.set(xlabel="head", ylabel="layer of the decoder")
        layer, head = divmod(int(scores.argmax()), scores.shape[1])
        show(
            figure,
            f"A {scores.shape[0]} by {scores.shape[1]} table, "
            f"the largest number {scores.max():.2f} in layer {layer}, head {head}.",
        )


def looking(found: Map, layer: int, head: int, marked: Sequence[tuple[str, str]] = ()) -> None:
    """One head of a map: rows are the words that are said, columns those that are heard; `marked` pairs are framed."""
    weights = found.weights[layer, head]  # (T, S)
    n_rows, n_columns = weights.shape
    with style():
        title = f"Layer {layer}, head {head}: which English word it looks at to say the next French one"
        figure, (ax,) = _panels(1, 1.6 + 0.52 * n_columns, 1.7 + 0.42 * n_rows, title)
        grid(
            ax,
            weights,
            "",
            [[f"{w:.2f}".removeprefix("0") if w >= 0.05 else "" for w in row] for row in weights.tolist()],
        )
        ax.set_xticks(range(n_columns), found.source, rotation=60, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(n_rows), found.target)
        ax.set(xlabel="English, heard", ylabel="French, about to be said")
        for said, heard in marked:
            _frame(ax, found.source.index(heard), found.target.index(said))
        best = weights.argmax(-1).tolist()
        pairs = ", ".join(f"{said} → {found.source[j]}" for said, j in zip(found.target, best, strict=True))
        show(figure, f"A table of weights. Each French word looks most at: {pairs}.")


def _frame(ax: Axes, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=ORANGE, linewidth=2.5))


# ---- models that went wrong ----


def losses(records: Mapping[str, Mapping[str, Any]]) -> None:
    """The training losses of some models, and the BLEU that each reached, on the right."""
    with style():
        last = sorted((record["curve"][-1]["loss"], name) for name, record in records.items())
        lowest = " and ".join(f"{name} (BLEU {records[name]['bleu']:.0f})" for _, name in last[:2])
        figure, (ax,) = _panels(1, 7.6, 3.8, f"The lowest losses: {lowest}")
        said = []
        for (name, record), colour, marker in zip(records.items(), COLOURS, "os^Dv", strict=False):
            steps, values = zip(*((point["step"], max(point["loss"], 1e-8)) for point in record["curve"]), strict=True)
            ax.plot(
                steps, values, color=colour, marker=marker, markersize=5, label=f"{name}: BLEU {record['bleu']:.0f}"
            )
            said.append(f"{name}: loss {record['curve'][-1]['loss']:.1e}, BLEU {record['bleu']:.0f}")
        ax.set(xlabel="step", ylabel="training loss (nats per token)", yscale="log")
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        show(figure, f"Training losses of five models on a logarithmic scale. At the end: {'; '.join(said)}.")


def symptoms(found: Mapping[str, Mapping[str, float]]) -> None:
    """What each experiment found of each model: a row for a model, a column for an experiment."""
    names, experiments = list(found), list(next(iter(found.values())))
    table = torch.tensor([[found[name][e] for e in experiments] for name in names])  # (models, experiments)
    with style():
        figure, (ax,) = _panels(1, 8.2, 1.8 + 0.45 * len(names), "A sound model has 0 everywhere")
        grid(ax, table, "", _numbers(table))
        ax.set_xticks(range(len(experiments)), experiments, rotation=25, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(names)), names)
        ax.set(xlabel="", ylabel="")
        rows = (
            f"{n}: {', '.join(f'{e} {x:.2f}' for e, x in zip(experiments, r, strict=True))}"
            for n, r in zip(names, table.tolist(), strict=True)
        )
        show(figure, f"A table of {len(names)} models and {len(experiments)} experiments. {'; '.join(rows)}.")
