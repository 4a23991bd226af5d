"""Training: one step, and one loop around it for every notebook.

A batch is a tuple of tensors whose first axis is the batch B: what the model takes, then the targets, `IGNORED` where
nothing is to be predicted. In the loop a batch is a function of the step's number, so a run that is taken up again
sees what an uninterrupted one would have seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.progress import watching

IGNORED = -100
Batch = tuple[Tensor, ...]
Loss = Callable[[nn.Module, Batch], Tensor]
SCHEDULES = ("cosine", "inverse root", "constant")


def summed_loss(model: nn.Module, batch: Batch, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy in nats, summed over the predictions of a batch: logits (B, …, V), targets (B, …) → ()."""
    *inputs, targets = batch
    logits = model(*inputs)  # (B, …, V)
    logits, targets = logits.flatten(0, -2), targets.flatten()  # (B · …, V), (B · …,)
    return F.cross_entropy(logits, targets, ignore_index=IGNORED, label_smoothing=smoothing, reduction="sum")


def train_step(
    model: nn.Module,
    batch: Batch,
    optimizer: torch.optim.Optimizer,
    max_norm: float | None = None,
    accumulate: int = 1,
    loss: Loss = summed_loss,
) -> Tensor:
    """One step on the mean loss of a batch, which is returned (nats, as it was before the step).

    The batch goes through the model in `accumulate` parts, to save memory: each part's share is its predictions among
    those of the whole, so uneven parts and padding change nothing. All gradients together are then clipped to
    `max_norm` (Pascanu et al. 2013, section 3.2), None for no clipping. ValueError if accumulate is below 1.
    """
    if accumulate < 1:
        raise ValueError(f"accumulate={accumulate} is no number of parts: give at least 1.")
    optimizer.zero_grad()
    n_predictions = (batch[-1] != IGNORED).sum().clamp(min=1)  # ()
    mean = torch.zeros((), device=batch[-1].device)
    for part in zip(*(x.tensor_split(min(accumulate, len(x))) for x in batch), strict=True):
        share = loss(model, part) / n_predictions  # ()
        share.backward()
        mean = mean + share.detach()
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return mean


# ---- the loop ----


@dataclass(frozen=True)
class Plan:
    """How to train. `every` steps a point is noted, and `save_every` steps (0: never) a checkpoint is written.

    `schedule` is what follows `warmup` steps of rising rate: "cosine" to a tenth, "inverse root" (Vaswani et al.
    2017, section 5.3), or "constant".
    """

    steps: int
    learning_rate: float = 1e-3
    warmup: int = 100
    schedule: str = "cosine"
    max_norm: float | None = 1.0
    accumulate: int = 1
    weight_decay: float = 0.01
    seed: int = 0
    every: int = 50
    save_every: int = 0
    bfloat16: bool = True  # on CUDA alone

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(f"There is no schedule {self.schedule!r}: choose one of {', '.join(SCHEDULES)}.")
        if self.steps < 1 or self.every < 1:
            raise ValueError(f"steps={self.steps} and every={self.every}: both must be at least 1.")

    def rate(self, step: int) -> float:
        """The learning rate of step 0 … steps − 1."""
        rising = (step + 1) / max(self.warmup, 1)
        if rising < 1 or self.schedule == "constant":
            return self.learning_rate * min(rising, 1)
        if self.schedule == "inverse root":
            return self.learning_rate * (max(self.warmup, 1) / (step + 1)) ** 0.5
        done = (step + 1 - self.warmup) / max(self.steps - self.warmup, 1)
        return self.learning_rate * (0.55 + 0.45 * math.cos(math.pi * done))


@dataclass(frozen=True)
class Point:
    """After `step` steps: the mean training loss since the point before, and what `evaluate` said of the model."""

    step: int
    loss: float
    measured: float | None = None


def adamw(model: nn.Module, plan: Plan) -> torch.optim.Optimizer:
    """AdamW (Loshchilov and Hutter 2019) on what is trainable; matrices alone decay, not biases and norms."""
    trainable = [p for p in model.parameters() if p.requires_grad]
    matrices, vectors = [p for p in trainable if p.dim() > 1], [p for p in trainable if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": plan.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    fused = any(p.is_cuda for p in trainable)
    return torch.optim.AdamW([g for g in groups if g["params"]], plan.learning_rate, betas=(0.9, 0.98), fused=fused)


def train(
    model: nn.Module,
    batch_at: Callable[[int], Batch],
    plan: Plan,
    loss: Loss = summed_loss,
    evaluate: Callable[[nn.Module], float] | None = None,
    checkpoint: Path | None = None,
    title: str = "training",
    show: bool = True,
    stop: Callable[[Point], bool] | None = None,
) -> list[Point]:
    """Train `model` in place on `batch_at(0)`, `batch_at(1)` …; returns the curve, a point each `plan.every` steps.

    `evaluate(model)`, asked in evaluation mode at each point, gives a number that is noted beside the loss; where
    `stop(point)` says True the training ends. With a `checkpoint` file the run is taken up where that file stops, to
    the same losses as if it had never stopped.
    Shows a live curve in a notebook and a progress bar in a terminal. ValueError if the checkpoint is of another plan.
    """
    device = next(model.parameters()).device
    optimizer = adamw(model, plan)
    since = torch.zeros((), device=device)  # losses since the last point, added up where they are: no waiting
    start, curve = _resume(checkpoint, model, optimizer, plan, since)
    before, loss = model.training, _autocast(loss, device, plan)
    model.train()
    with torch.random.fork_rng([device] if device.type == "cuda" else []), watching(title, plan.steps, show) as watch:
        for step in range(start, plan.steps):
            torch.manual_seed(plan.seed * 1_000_003 + step)  # dropout, the same after a break
            for group in optimizer.param_groups:
                group["lr"] = plan.rate(step)
            batch = tuple(x.to(device, non_blocking=True) for x in batch_at(step))
            since += train_step(model, batch, optimizer, plan.max_norm, plan.accumulate, loss)
            if (step + 1) % plan.every == 0 or step + 1 == plan.steps:
                n_steps = step + 1 - (curve[-1].step if curve else 0)
                curve.append(Point(step + 1, since.item() / n_steps, _measured(model, evaluate)))
                since.zero_()
                watch(step + 1, curve)
                if stop and stop(curve[-1]):
                    break
            if checkpoint and plan.save_every and (step + 1) % plan.save_every == 0:
                _save(checkpoint, model, optimizer, plan, step + 1, curve, since)
    model.train(before)
    return curve


def _autocast(loss: Loss, device: torch.device, plan: Plan) -> Loss:
    """The same loss, with bfloat16 products on CUDA; weights and the loss itself stay as they are."""
    if device.type != "cuda" or not plan.bfloat16:
        return loss

    def cast(model: nn.Module, batch: Batch) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            return loss(model, batch)

    return cast


def _measured(model: nn.Module, evaluate: Callable[[nn.Module], float] | None) -> float | None:
    if evaluate is None:
        return None
    model.eval()
    with torch.no_grad():
        found = float(evaluate(model))
    model.train()
    return found


# ---- checkpoints ----


def _save(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    plan: Plan,
    step: int,
    curve: list[Point],
    since: Tensor,
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    held = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "plan": asdict(plan), "since": since}
    torch.save(held | {"step": step, "curve": [asdict(point) for point in curve]}, part)
    part.replace(path)  # at no moment is there half a file


def _resume(
    path: Path | None, model: nn.Module, optimizer: torch.optim.Optimizer, plan: Plan, since: Tensor
) -> tuple[int, list[Point]]:
    """Put a checkpoint's state in place, if there is one; the step to go on with, and the curve so far."""
    if path is None or not path.exists():
        return 0, []
    try:
        held = torch.load(path, map_location=since.device, weights_only=True)
        same = held["plan"] == asdict(plan)
        if same:
            model.load_state_dict(held["model"])
            optimizer.load_state_dict(held["optimizer"])
            since.copy_(held["since"])
            return held["step"], [Point(**point) for point in held["curve"]]
    except Exception as error:
        raise ValueError(f"{path} is no checkpoint of this model ({type(error).__name__}): delete it.") from None
    raise ValueError(f"{path} is of a run with another plan: delete it, or name another file.")


# ---- batches by step ----


def windows_at(ids: Tensor, batch_size: int, context: int, seed: int = 0) -> Callable[[int], Batch]:
    """Random windows of a stream ids (N,): a step's `(inputs, targets)`, (batch_size, context) each, on the CPU.

    ValueError if the stream is shorter than one window and its last target.
    """
    if len(ids) <= context:
        raise ValueError(f"{len(ids)} tokens hold no window of {context} and its target: shorten the context.")

    def at(step: int) -> Batch:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        starts = torch.randint(0, len(ids) - context, (batch_size, 1), generator=generator)  # (B, 1)
        windows = ids[starts + torch.arange(context + 1)]  # (B, T + 1)
        return windows[:, :-1], windows[:, 1:]

    return at


def epochs_at(examples: Batch, batch_size: int, seed: int = 0) -> Callable[[int], Batch]:
    """All examples once an epoch, in a new order each time: (N, …) tensors → a step's batch, the last one smaller.

    An epoch has ⌈N / batch_size⌉ steps.
    """
    n_examples = len(examples[0])
    n_steps = math.ceil(n_examples / batch_size)

    def at(step: int) -> Batch:
        epoch, place = divmod(step, n_steps)
        order = torch.randperm(n_examples, generator=torch.Generator().manual_seed(seed * 1_000_003 + epoch))  # (N,)
        chosen = order[place * batch_size : (place + 1) * batch_size]  # (B,)
        return tuple(x[chosen] for x in examples)

    return at
