"""Figures of 07_language_model: what merges do to a sentence, what a model reads, and what sampling leaves of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers import finetune, training
from helpers.figures import BLUE, COLOURS, GREY, ORANGE, SKY, show, style
from helpers.figures.masks import _numbers, _panels, grid
from helpers.text import bpe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from tokenizers import Tokenizer

    from helpers.models import Body

# ---- tokens ----


def merges(sentence: str, learned: list[bpe.Pair], stops: Sequence[int]) -> None:
    """A sentence cut into tokens after 0, some and all of the merges learned, a row for each."""
    rows = []
    for n in stops:
        pieces = bpe.vocabulary(learned[:n])
        rows.append([pieces[i].decode(errors="replace") for i in bpe.encode(sentence, learned[:n])])
    before, after = len(rows[0]), len(rows[-1])
    with style():
        title = f"{stops[-1]} merges: {before} bytes become {after} tokens"
        figure, (ax,) = _panels(1, 9.2, 0.55 * len(rows) + 0.7, title)
        for y, row in enumerate(rows):
            _strip(ax, row, y)
        ax.set_yticks(range(len(rows)), [f"{n} merges" for n in stops])
        ax.set_xticks(range(0, before + 1, 10))
        ax.set(xlim=(-0.5, before + 6), ylim=(len(rows) - 0.5, -0.5), xlabel="byte of the sentence")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        for y, row in enumerate(rows):
            ax.text(before + 0.6, y, f"{len(row)} tokens", va="center", fontsize=9)
        said = "; ".join(f"{n} merges: {'|'.join(row)}" for n, row in zip(stops[1:], rows[1:], strict=True))
        show(figure, f"“{sentence}” cut into tokens, a row for each number of merges. 0 merges: single bytes; {said}.")


def _strip(ax: Axes, pieces: Sequence[str], y: float) -> None:
    """Tokens side by side as boxes of two colours in turn, as wide as their letters."""
    from matplotlib.patches import Rectangle

    left = 0
    for i, piece in enumerate(pieces):
        width = len(piece.encode())
        colour = BLUE if i % 2 else SKY
        ax.add_patch(Rectangle((left + 0.06, y - 0.34), width - 0.12, 0.68, color=colour, alpha=0.22, linewidth=0))
        for k, letter in enumerate(piece):
            ax.text(left + k + 0.5, y, "␣" if letter == " " else letter, ha="center", va="center", fontsize=9)
        left += width


def windows(pieces: Sequence[str], batch_size: int, context: int) -> None:
    """A stream of tokens, cut into batches: what is read, and below each token what it has to predict."""
    n_batches = (len(pieces) - 1) // context // batch_size
    with style():
        figure, axes = _panels(n_batches, 9.6 / n_batches, 0.75 * batch_size + 0.9, "Below each token stands the next")
        for b, ax in enumerate(axes):
            for row in range(batch_size):
                start = (b * batch_size + row) * context
                for t in range(context):
                    _cell(ax, t, 2.4 * row, pieces[start + t], SKY)
                    _cell(ax, t, 2.4 * row + 1, pieces[start + t + 1], ORANGE)
            ax.set(title=f"batch {b}", xlim=(-0.5, context - 0.5), ylim=(2.4 * batch_size - 0.7, -0.6), xticks=[])
            lines = [f"{name}[{row}]" for row in range(batch_size) for name in ("inputs", "targets")]
            ax.set_yticks([2.4 * row + k for row in range(batch_size) for k in (0, 1)], lines if b == 0 else [])
            ax.tick_params(length=0)
            for side in ("left", "bottom"):
                ax.spines[side].set_visible(False)
        first = [pieces[:context], pieces[1 : context + 1]]
        said = " over ".join("|".join(row) for row in first)
        show(
            figure,
            f"{n_batches} batches of {batch_size} windows with {context} tokens each, inputs above their targets, "
            f"which are shifted by one token. The first window: {said}.",
        )


def _cell(ax: Axes, x: float, y: float, word: str, colour: str) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x - 0.47, y - 0.43), 0.94, 0.86, color=colour, alpha=0.2, linewidth=0))
    ax.text(x, y, word.replace(" ", "␣"), ha="center", va="center", fontsize=8.5)


# ---- the model ----


def perturbed(model: nn.Module, ids: Tensor) -> None:
    """How far each output of a model moves when one input is exchanged: ids (1, T)."""
    n = ids.shape[1]
    moved = torch.zeros(n, n)
    with torch.no_grad():
        before = model(ids)  # (1, T, V)
        for j in range(n):
            other = ids.clone()
            other[0, j] = (ids[0, j] + 1) % before.shape[-1]
            moved[:, j] = (model(other) - before).abs().amax(-1)[0]  # (T,)
    early = bool(moved.triu(1).any())
    shares = moved / moved.amax(-1, keepdim=True)  # (T, T)
    with style():
        title = "Some outputs move before their input is read" if early else "What comes later moves nothing before it"
        figure, (ax,) = _panels(1, 4.8, 4.2, title)
        grid(ax, shares, "", _numbers(shares))
        ax.set(xlabel="token that was exchanged", ylabel="output, as a share of its largest move")
        show(
            figure,
            f"A {n} by {n} table: how far each output moves when one token is exchanged. "
            + ("There are moves above the diagonal." if early else "Above the diagonal all are exactly 0."),
        )


def one_batch(model: nn.Module, batch: training.Batch, steps: int = 60) -> None:
    """Losses of a model that is trained on the same batch again and again; the model learns in place."""
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    losses = [float(training.train_step(model, batch, optimizer, 1.0)) for _ in range(steps)]
    with torch.no_grad():
        vocab_size = model(batch[0][:1]).shape[-1]
    with style():
        figure, (ax,) = _panels(1, 7, 3.2, "A model that can learn at all can learn one batch by heart")
        ax.plot(range(steps), losses, color=BLUE)
        ax.axhline(math.log(vocab_size), color=ORANGE, linestyle="--")
        ax.text(
            steps - 1, math.log(vocab_size), "ln V: a guess among all tokens", color=ORANGE, ha="right", va="bottom"
        )
        ax.set(xlabel="step", ylabel="loss (nats per token)", ylim=(0, 1.2 * max(losses[0], math.log(vocab_size))))
        show(
            figure,
            f"Loss on one batch, repeated: from {losses[0]:.1f}, near ln V = {math.log(vocab_size):.1f}, "
            f"down to {losses[-1]:.2f} after {steps} steps.",
        )


# ---- sampling ----


def sampling(chances: Tensor, names: Sequence[str], shown: int = 12) -> None:
    """One distribution (V,) under each of the three knobs: its likeliest tokens before and after."""
    ranked, order = chances.double().sort(descending=True)  # (V,) each
    words = [names[i] for i in order[:shown].tolist()]
    cut = ranked.cumsum(0) - ranked  # (V,), what is likelier than each
    panels = {
        "temperature 0.5": _tempered(ranked, 0.5),
        "temperature 2": _tempered(ranked, 2),
        "top_k = 4": _cut(ranked, torch.arange(len(ranked)) < 4),
        "top_p = 0.4": _cut(ranked, cut < 0.4),
    }
    with style():
        figure, axes = _panels(4, 2.5, 3.4, "Temperature bends a distribution, top-k and top-p cut it")
        said = []
        for ax, (name, found) in zip(axes, panels.items(), strict=True):
            ax.barh(range(shown), found[:shown], color=BLUE, alpha=0.8, height=0.7)
            ax.barh(range(shown), ranked[:shown], fill=False, edgecolor=GREY, height=0.7)
            left = int((found > 0).sum())
            beyond = float(found[shown:].sum())
            ax.set(title=f"{name}\n{left:,} left, {beyond:.0%} beyond", xlabel="chance", ylim=(shown - 0.4, -0.6))
            ax.set_yticks(range(shown), [w.replace(" ", "␣") for w in words] if ax is axes[0] else [])
            said.append(f"{name}: {left:,} tokens are left, the likeliest with {float(found[0]):.2f}")
        show(
            figure,
            f"The {shown} likeliest next tokens, before (outlines; the likeliest has {float(ranked[0]):.2f}) and after "
            f"(bars). {'; '.join(said)}.",
        )


def _tempered(chances: Tensor, temperature: float) -> Tensor:
    return (chances.log() / temperature).softmax(-1)


def _cut(chances: Tensor, kept: Tensor) -> Tensor:
    left = chances * kept
    return left / left.sum()


# ---- what a model knows ----


@torch.no_grad()
def by_position(model: nn.Module, ids: Tensor, context: int) -> None:
    """Loss against how much of the text the model has read: a stream ids (N,), cut into windows of `context`."""
    n = (len(ids) - 1) // context
    inputs, targets = ids[: n * context].view(n, context), ids[1 : n * context + 1].view(n, context)  # (B, T) each
    nats = torch.cat(
        [F.cross_entropy(model(x).transpose(1, 2), y, reduction="none") for x, y in _parts(inputs, targets)]
    )  # (B, T)
    steps = [2**k for k in range(int(math.log2(context)))]  # 1, 2, 4 …: tokens read, up to twice as many
    groups = [nats[:, low - 1 : 2 * low - 1].flatten() for low in steps]
    means = torch.stack([group.mean() for group in groups])
    errors = torch.stack([group.std() / len(group) ** 0.5 for group in groups])
    with style():
        figure, (ax,) = _panels(1, 7, 3.2, "A model is surprised most where it has read least")
        ax.errorbar(steps, means, 2 * errors, color=BLUE, marker="o", capsize=3)
        ax.set(xscale="log", xlabel="tokens of the window read so far", ylabel="loss (nats per token)")
        ax.set_xticks(steps, [f"{low}" if low == 1 else f"{low}–{2 * low - 1}" for low in steps])
        ax.minorticks_off()
        show(
            figure,
            f"Mean loss by position in windows of {context} tokens, with two standard errors: {means[0]:.2f} nats "
            f"after one token, {means[2]:.2f} after {steps[2]} to {2 * steps[2] - 1}, {means[-1]:.2f} in the second "
            "half of the window.",
        )


def _parts(inputs: Tensor, targets: Tensor) -> zip:
    return zip(inputs.split(16), targets.split(16), strict=True)


def transfer(bodies: dict[str, Body], tokenizer: Tokenizer, train: list, test: list) -> None:
    """What a linear classifier reads from frozen bodies: accuracy on labelled sentences, for each body by name."""
    found = {name: _probe(body.eval(), tokenizer, train, test) for name, body in bodies.items()}
    with style():
        title = f"{len(train)} labels, no weight of a body changed: what was learned elsewhere counts"
        figure, (ax,) = _panels(1, 7.2, 1.1 + 0.5 * len(found), title)
        ax.barh(list(found), list(found.values()), color=COLOURS[: len(found)], alpha=0.85, height=0.6)
        for y, value in enumerate(found.values()):
            ax.text(value, y, f" {value:.2f}", va="center")
        ax.axvline(0.5, color=GREY, linestyle=":")
        ax.text(0.5, len(found) - 0.45, "a coin", ha="center", va="bottom", fontsize=9)
        ax.set(xlim=(0, 1), xlabel="accuracy on held-out sentences", ylim=(-0.5, len(found) - 0.1))
        show(figure, "Accuracy of a linear classifier: " + ", ".join(f"{k} {v:.2f}" for k, v in found.items()) + ".")


def _probe(body: Body, tokenizer: Tokenizer, train: list, test: list, strength: float = 1000.0) -> float:
    """Accuracy of a ridge regression on the mean hidden state of each text."""
    (x, y), (x_test, y_test) = (_features(body, tokenizer, rows) for rows in (train, test))
    mean, spread = x.mean(0), x.std(0)
    x, x_test = (x - mean) / spread, (x_test - mean) / spread  # (N, D)
    weights = torch.linalg.solve(x.T @ x + strength * torch.eye(x.shape[1]), x.T @ y)  # (D,)
    return float(((x_test @ weights).sign() == y_test).float().mean())


@torch.no_grad()
def _features(body: Body, tokenizer: Tokenizer, rows: list) -> tuple[Tensor, Tensor]:
    """(N, D) mean hidden states and (N,) labels −1 or 1; short texts first, so that few pads are read."""
    rows = sorted(rows, key=lambda row: len(row[0]))
    found = []
    for i in range(0, len(rows), 32):
        ids = [torch.tensor(tokenizer.encode(text).ids) for text, _ in rows[i : i + 32]]
        ids = nn.utils.rnn.pad_sequence(ids, batch_first=True)  # (B, T)
        found.append(finetune.pool(body.hidden(ids), ids != 0, "mean"))  # (B, D)
    return torch.cat(found), torch.tensor([2.0 * label - 1 for _, label in rows])
