"""Sentiment of Rotten Tomatoes' sentences: from the pretrained body, from a frozen one, and from scratch.

    python -m helpers.experiments.fine_tune --out helpers/checkpoints

writes sentiment.json: accuracy on the test sentences after each epoch, for each seed; accuracy against the number of
labels; the bag of words; and the difference with its 95 % interval. `--tiny` is a run of seconds on a CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from helpers import checkpoints, device, finetune
from helpers.experiments import Watch, bag_of_words, toy_reviews
from helpers.models import Classifier
from helpers.text import Parts, reviews, sentences
from helpers.training import Batch, Plan, epochs_at, train

WAYS = ("pretrained", "probe", "scratch")  # the whole model from the checkpoint; its head alone; from first weights


@dataclass(frozen=True)
class Settings:
    """The run's sizes; learning rates in the order of WAYS. Where labels are few, at least `min_steps` are taken."""

    max_len: int = 96
    batch_size: int = 64
    epochs: int = 8
    min_steps: int = 100
    dropout: float = 0.3
    learning_rates: tuple[float, float, float] = (3e-4, 3e-3, 3e-4)
    weight_decay: float = 0.1
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    n_labels: tuple[int, ...] = (100, 300, 1000, 3000)


TINY = Settings(epochs=2, min_steps=3, seeds=(0, 1), n_labels=(20,), batch_size=16)


@dataclass(frozen=True)
class Task:
    """What all runs share: examples as ids (N, T) and labels (N,), and what a checkpoint holds."""

    train: Batch
    test: Batch
    state: dict[str, Tensor]
    shape: tuple[int, int, int, int, int]
    where: torch.device


def classifier(task: Task, way: str, settings: Settings) -> Classifier:
    """A classifier with a fresh head, its body as `way` wants it."""
    model = Classifier(*task.shape, n_classes=2, dropout=settings.dropout)
    if way != "scratch":
        finetune.load_body(model, task.state)
    return finetune.freeze(model) if way == "probe" else model


def one_run(task: Task, way: str, seed: int, n_labels: int, settings: Settings) -> dict[str, Any]:
    """Train one classifier on n_labels examples: its loss before, accuracy after each epoch, and who was right."""
    torch.manual_seed(seed)
    model = classifier(task, way, settings).to(task.where)
    order = torch.randperm(len(task.train[1]), generator=torch.Generator().manual_seed(seed))  # (N,)
    chosen = tuple(x[order[:n_labels]] for x in task.train)
    batch_at = epochs_at(chosen, settings.batch_size, seed)
    an_epoch = -(-n_labels // settings.batch_size)
    steps = max(settings.epochs * an_epoch, settings.min_steps)
    plan = Plan(
        steps,
        settings.learning_rates[WAYS.index(way)],
        warmup=min(100, steps // 5),
        weight_decay=settings.weight_decay,
        seed=seed,
        every=-(-steps // settings.epochs),
    )
    started = start_loss(model, chosen, task.where)
    curve = train(
        model,
        lambda step: finetune.trimmed(batch_at(step)),
        plan,
        evaluate=lambda m: right(m, task).double().mean().item(),
        show=False,
    )
    return {
        "start_loss": started,
        "accuracy": [point.measured for point in curve],
        "right": right(model.eval(), task),
    }


@torch.no_grad()
def start_loss(model: Classifier, batch: Batch, where: torch.device, n: int = 512) -> float:
    """Mean nats on the first n examples, before anything is trained."""
    ids, labels = (x[:n].to(where) for x in batch)
    return F.cross_entropy(model.eval()(ids), labels).item()


@torch.no_grad()
def right(model: Classifier, task: Task) -> Tensor:
    """Which test sentences the model gets right: bool (N,), on the CPU."""
    ids, labels = (x.to(task.where) for x in task.test)
    said = torch.cat([model(part).argmax(-1) for part in ids.split(512)])  # (N,)
    return (said == labels).cpu()


def interval(a: Tensor, b: Tensor, draws: int = 4_000, seed: int = 0) -> dict[str, float]:
    """Mean accuracy of a minus that of b, bool (seeds, N) each on the same sentences, and its 95 % interval.

    Bootstrap over sentences and over seeds, both drawn anew each time: another test and another training count.
    (Efron and Tibshirani 1993, chapter 13)
    """
    generator = torch.Generator().manual_seed(seed)
    found = torch.empty(draws, dtype=torch.float64)
    for i in range(draws):
        chosen = torch.randint(a.shape[1], (a.shape[1],), generator=generator)  # (N,)
        means = [x[torch.randint(len(x), (len(x),), generator=generator)].double().mean(0) for x in (a, b)]  # (N,) each
        found[i] = (means[0] - means[1])[chosen].mean()
    low, high = found.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {"difference": a.double().mean().item() - b.double().mean().item(), "low": low, "high": high}


def run(task: Task, texts: Parts, settings: Settings) -> dict[str, Any]:
    """All runs of all ways, as plain values."""
    n_train = len(task.train[1])
    counts = [n for n in settings.n_labels if n < n_train]
    runs = {way: [one_run(task, way, seed, n_train, settings) for seed in settings.seeds] for way in WAYS}
    by_labels = {
        n: {way: [one_run(task, way, seed, n, settings)["accuracy"][-1] for seed in settings.seeds] for way in WAYS}
        for n in counts
    }
    by_labels[n_train] = {way: [one["accuracy"][-1] for one in runs[way]] for way in WAYS}
    rights = {way: torch.stack([one["right"] for one in runs[way]]) for way in WAYS}  # (seeds, N) each
    return {
        "n_train": n_train,
        "n_test": len(task.test[1]),
        "start_loss": {way: [one["start_loss"] for one in runs[way]] for way in WAYS},
        "epochs": {way: [one["accuracy"] for one in runs[way]] for way in WAYS},
        "labels": {str(n): found | {"bag of words": _bags(texts, n, settings)} for n, found in by_labels.items()},
        "pretrained against scratch": interval(rights["pretrained"], rights["scratch"]),
        "pretrained against probe": interval(rights["pretrained"], rights["probe"]),
    }


def _bags(texts: Parts, n: int, settings: Settings) -> list[float]:
    """Accuracy of the bag of words on the same n examples of each seed; with all of them, once."""
    found = []
    for seed in settings.seeds[: 1 if n == len(texts.train) else None]:
        order = torch.randperm(len(texts.train), generator=torch.Generator().manual_seed(seed))  # (N,)
        found.append(bag_of_words.accuracy([texts.train[i] for i in order[:n]], texts.validation, texts.test))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.fine_tune", description=__doc__)
    parser.add_argument("--out", type=Path, default=checkpoints.HERE, help="folder for sentiment.json")
    parser.add_argument("--checkpoint", type=Path, default=checkpoints.HERE / "reviews", help="folder and name")
    parser.add_argument("--tiny", action="store_true", help="seconds on a CPU, on made-up reviews")
    parser.add_argument("--from", dest="csv", help="the reviews' CSV, instead of the package's")
    parser.add_argument("--device", help="cpu or cuda; the best there is by default")
    parser.add_argument("--validation", action="store_true", help="measure on the validation part: to choose settings")
    parser.add_argument("--seeds", type=int, help="how many")
    asked = parser.parse_args(arguments)
    settings = TINY if asked.tiny else Settings()
    settings = replace(settings, seeds=tuple(range(asked.seeds))) if asked.seeds else settings
    where, watch = device.pick(asked.device), Watch(settings)
    try:
        csv = toy_reviews() if asked.tiny else asked.csv
        texts = sentences(csv)
        texts = replace(texts, test=texts.validation) if asked.validation else texts
        state, tokenizer, record = checkpoints.load(asked.checkpoint.name, asked.checkpoint.parent)
        shape = tuple(record["settings"][x] for x in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers"))
        parts = (finetune.examples(tokenizer, some, settings.max_len) for some in (texts.train, texts.test))
        task = Task(*parts, state, shape, where)
        found = run(task, texts, settings)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    asked.out.mkdir(parents=True, exist_ok=True)
    checkpoints.write(watch.record(where) | {"data": reviews.checksum(csv)} | found, asked.out / "sentiment.json")
    last = {way: sum(row[-1] for row in found["epochs"][way]) / len(settings.seeds) for way in WAYS}
    gap = found["pretrained against scratch"]
    print(", ".join(f"{way} {mean:.3f}" for way, mean in last.items()))
    print(f"pretrained − scratch {gap['difference']:.3f}, 95 % from {gap['low']:.3f} to {gap['high']:.3f}")


if __name__ == "__main__":
    main()
