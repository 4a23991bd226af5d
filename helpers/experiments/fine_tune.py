"""Sentiment of Rotten Tomatoes' sentences: from the pretrained body, from a frozen one, and from scratch.

    python -m helpers.experiments.fine_tune --out helpers/checkpoints

writes sentiment.json: accuracy on the test sentences after each epoch, for each seed; accuracy against the number of
labels; the bag of words; and the difference with its 95 % interval. `--tune` prints instead what each recipe reaches
on the validation sentences. `--tiny` is a run of seconds on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures import TimeoutError as TooLong
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from multiprocessing import get_context
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

BAG = "bag of words"
WAYS = ("pretrained", "probe", "scratch")  # the whole model from the checkpoint; its head alone; from first weights


@dataclass(frozen=True)
class Recipe:
    """How a classifier is trained. Where labels are few, at least `min_steps` are taken."""

    learning_rate: float
    dropout: float = 0.3
    epochs: int = 8
    batch_size: int = 64
    min_steps: int = 100
    weight_decay: float = 0.1


@dataclass(frozen=True)
class Settings:
    """The run's sizes, and a recipe for each of WAYS: what did best for it on the validation sentences."""

    pretrained: Recipe = Recipe(2e-4)
    probe: Recipe = Recipe(1e-3)
    scratch: Recipe = Recipe(1e-3)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    n_labels: tuple[int, ...] = (100, 300, 1000, 3000)


SMALL = Recipe(1e-3, epochs=2, batch_size=16, min_steps=3)
TINY = Settings(SMALL, SMALL, SMALL, seeds=(0, 1), n_labels=(20,))


@dataclass(frozen=True)
class Source:
    """What all runs of a command share, in a few words, so that each process can find it by itself."""

    csv: str | None
    checkpoint: Path
    device: str | None
    validation: bool = False
    max_len: int = 96


@dataclass(frozen=True)
class Task:
    """The texts, as they are and as ids (N, T) with labels (N,), and what the checkpoint holds."""

    texts: Parts
    train: Batch
    test: Batch
    state: dict[str, Tensor]
    shape: tuple[int, int, int, int, int]
    where: torch.device


@cache
def load(source: Source) -> Task:
    """Read it all, once in a process."""
    texts = sentences(source.csv)
    texts = replace(texts, test=texts.validation) if source.validation else texts
    state, tokenizer, record = checkpoints.load(source.checkpoint.name, source.checkpoint.parent)
    shape = tuple(record["settings"][x] for x in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers"))
    parts = (finetune.examples(tokenizer, some, source.max_len) for some in (texts.train, texts.test))
    return Task(texts, *parts, state, shape, device.pick(source.device))


# ---- one run ----


@dataclass(frozen=True)
class Job:
    """A classifier to train: which way, on how many labels, from which seed; a bag of words needs no recipe."""

    way: str
    n_labels: int
    seed: int
    recipe: Recipe | None = None

    def __str__(self) -> str:
        return f"{self.way}, {self.n_labels:,} labels, seed {self.seed}"


def classifier(task: Task, way: str, recipe: Recipe) -> Classifier:
    """A classifier with a fresh head, its body as `way` wants it."""
    model = Classifier(*task.shape, n_classes=2, dropout=recipe.dropout)
    if way != "scratch":
        finetune.load_body(model, task.state)
    return finetune.freeze(model) if way == "probe" else model


def do(source: Source, job: Job) -> dict[str, Any]:
    """The job's loss before training, accuracy after each epoch, and who was right in the end, as plain values."""
    task = load(source)
    order = torch.randperm(len(task.train[1]), generator=torch.Generator().manual_seed(job.seed))  # (N,)
    chosen = order[: job.n_labels]  # (n,): each way learns from the same ones
    if job.recipe is None:
        some = [task.texts.train[i] for i in chosen]
        return {"accuracy": [bag_of_words.accuracy(some, task.texts.validation, task.texts.test)]}
    return _train(task, job, tuple(x[chosen] for x in task.train))


def _train(task: Task, job: Job, examples: Batch) -> dict[str, Any]:
    recipe, n = job.recipe, len(examples[1])
    torch.manual_seed(job.seed)
    model = classifier(task, job.way, recipe).to(task.where)
    test = tuple(x.to(task.where) for x in task.test)
    batch_at = epochs_at(examples, recipe.batch_size, job.seed)
    steps = max(recipe.epochs * -(-n // recipe.batch_size), recipe.min_steps)
    plan = Plan(
        steps,
        recipe.learning_rate,
        warmup=min(100, steps // 5),
        weight_decay=recipe.weight_decay,
        seed=job.seed,
        every=-(-steps // recipe.epochs),
    )
    started = start_loss(model, examples, task.where)
    curve = train(
        model,
        lambda step: finetune.trimmed(batch_at(step)),
        plan,
        evaluate=lambda model: right(model, test).double().mean().item(),
        show=False,
    )
    return {
        "start_loss": started,
        "accuracy": [point.measured for point in curve],
        "right": right(model, test).tolist(),
    }


@torch.no_grad()
def start_loss(model: Classifier, batch: Batch, where: torch.device, n: int = 512) -> float:
    """Mean nats on the first n examples, before anything is trained."""
    ids, labels = (x[:n].to(where) for x in batch)
    return F.cross_entropy(model.eval()(ids), labels).item()


@torch.no_grad()
def right(model: Classifier, test: Batch) -> Tensor:
    """Which examples the model gets right: bool (N,), on the CPU."""
    model.eval()
    said = torch.cat([model(part).argmax(-1) for part in test[0].split(512)])  # (N,)
    return (said == test[1]).cpu()


# ---- all runs ----


def side_by_side(
    source: Source, jobs: Sequence[Job], n: int, log: Path, minutes: float | None = None
) -> dict[Job, dict[str, Any]]:
    """What each job found, n at a time, each in a process of its own; those not done after `minutes` are missing.

    A line is printed, and written to `log` in full, as each one ends: a run that is cut off leaves what it has.
    """
    started, done = time.monotonic(), {}
    print(f"{len(jobs)} runs, {n} side by side", flush=True)
    with log.open("w", encoding="utf-8") as file:
        for job, found in _results(source, jobs, n, minutes):
            done[job] = found
            file.write(json.dumps({"job": str(job), "recipe": str(job.recipe)} | found) + "\n")
            file.flush()
            passed = time.monotonic() - started
            print(f"{passed:6.1f} s  {len(done)}/{len(jobs)}  {job}: {found['accuracy'][-1]:.3f}", flush=True)
    return done


def _results(
    source: Source, jobs: Sequence[Job], n: int, minutes: float | None
) -> Iterator[tuple[Job, dict[str, Any]]]:
    if n == 1:
        yield from ((job, do(source, job)) for job in jobs)
        return
    # One thread each: with more, processes that share the cores wait for one another.
    workers = ProcessPoolExecutor(n, get_context("spawn"), torch.set_num_threads, (1,))
    waiting = {workers.submit(do, source, job): job for job in jobs}
    try:
        for future in as_completed(waiting, minutes and 60 * minutes):
            yield waiting[future], future.result()
    except TooLong:
        print(f"{minutes:g} minutes are over.", flush=True)
    finally:
        workers.shutdown(cancel_futures=True)


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


def plan(settings: Settings, n_train: int) -> list[Job]:
    """All jobs of the record, long ones first. With all labels a bag of words is the same for each seed."""
    counts = [n_train, *sorted((n for n in settings.n_labels if n < n_train), reverse=True)]
    trained = [Job(way, n, seed, getattr(settings, way)) for n in counts for way in WAYS for seed in settings.seeds]
    bags = [Job(BAG, n, seed) for n in counts for seed in settings.seeds[: 1 if n == n_train else None]]
    return trained + bags


def summary(found: dict[Job, dict[str, Any]], settings: Settings) -> dict[str, Any]:
    """The record of all jobs, as plain values."""
    n_train = max(job.n_labels for job in found)

    def of(way: str, n: int, key: str) -> list:
        return [found[job][key] for job in plan(settings, n_train) if (job.way, job.n_labels) == (way, n)]

    rights = {way: torch.tensor(of(way, n_train, "right")) for way in WAYS}  # (seeds, N) each
    return {
        "n_train": n_train,
        "n_test": rights["scratch"].shape[1],
        "start_loss": {way: of(way, n_train, "start_loss") for way in WAYS},
        "epochs": {way: of(way, n_train, "accuracy") for way in WAYS},
        "labels": {
            str(n): {way: [row[-1] for row in of(way, n, "accuracy")] for way in (*WAYS, BAG)}
            for n in sorted({job.n_labels for job in found})
        },
        "right": {way: ["".join(str(int(x)) for x in row) for row in rights[way]] for way in WAYS},
        "pretrained against scratch": interval(rights["pretrained"], rights["scratch"]),
        "pretrained against probe": interval(rights["pretrained"], rights["probe"]),
    }


def recorded(folder: str | Path = checkpoints.HERE) -> dict[str, Any]:
    """sentiment.json, as this command wrote it. FileNotFoundError with a sentence where it is missing."""
    path = Path(folder) / "sentiment.json"
    if not path.is_file():
        made = f"`python -m helpers.experiments.fine_tune --out {folder}`"
        raise FileNotFoundError(f"There is no {path}: restore it, or make it with {made} on a GPU.")
    return json.loads(path.read_text(encoding="utf-8"))


def who_was_right(record: dict[str, Any], way: str) -> Tensor:
    """From sentiment.json: bool (seeds, N), whether each seed's model of one way got each test sentence right."""
    return torch.tensor([[x == "1" for x in row] for row in record["right"][way]])  # (seeds, N)


# ---- which recipe ----


def grid(tiny: bool, n_train: int, seeds: Sequence[int]) -> list[Job]:
    """What is tried, seed after seed: learning rates.

    Other dropouts, fewer epochs, the mean of all tokens, the mean of the last epochs' weights, and the language model's
    loss beside the class did no better for any way.
    """
    small = {"batch_size": 16, "min_steps": 3, "epochs": 2} if tiny else {}
    return [
        Job(way, n_train, seed, Recipe(rate, **small))
        for seed, way, rate in product(seeds, WAYS, (2e-4, 3e-4, 5e-4, 1e-3, 3e-3))
    ]


def table(found: dict[Job, dict[str, Any]]) -> str:
    """Mean accuracy of the seeds that are done, by recipe: the best of each way first."""
    rows: dict[tuple[str, Recipe], list[float]] = {}
    for job, result in found.items():
        rows.setdefault((job.way, job.recipe), []).append(result["accuracy"][-1])
    ranked = sorted(rows.items(), key=lambda row: (row[0][0], -sum(row[1]) / len(row[1])))
    return "\n".join(
        f"{way:11} rate {r.learning_rate:.0e}  {sum(all_seeds) / len(all_seeds):.4f} of {len(all_seeds)}"
        for (way, r), all_seeds in ranked
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.fine_tune", description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for sentiment.json")
    parser.add_argument("--checkpoint", type=Path, default=checkpoints.HERE / "reviews", help="folder and name")
    parser.add_argument("--tiny", action="store_true", help="seconds on a CPU, on made-up reviews")
    parser.add_argument("--from", dest="csv", help="the reviews' CSV, instead of the package's")
    parser.add_argument("--device", help="cpu or cuda; the best there is by default")
    parser.add_argument("--validation", action="store_true", help="measure on the validation part: to choose settings")
    parser.add_argument("--tune", action="store_true", help="print what each recipe reaches on the validation part")
    parser.add_argument("--minutes", type=float, default=4, help="how long --tune may go on")
    parser.add_argument("--seeds", type=int, help="how many")
    parser.add_argument("--jobs", type=int, help="runs side by side, each in a process; 12 at most by default")
    asked = parser.parse_args(arguments)
    asked.out = checkpoints.out(asked.out, asked.tiny)
    settings = TINY if asked.tiny else Settings()
    settings = replace(settings, seeds=tuple(range(asked.seeds))) if asked.seeds else settings
    n = asked.jobs or (1 if asked.tiny else min(12, os.cpu_count() or 1))
    watch = Watch(settings)
    asked.out.mkdir(parents=True, exist_ok=True)
    log = asked.out / "sentiment.partial.jsonl"
    try:
        csv = str(toy_reviews()) if asked.tiny else asked.csv
        source = Source(csv, asked.checkpoint, asked.device, asked.validation or asked.tune)
        task = load(source)
        n_train = len(task.train[1])
        if asked.tune:
            seeds = range(asked.seeds or 3)
            print(table(side_by_side(source, grid(asked.tiny, n_train, seeds), n, log, asked.minutes)))
            log.unlink()
            return
        found = summary(side_by_side(source, plan(settings, n_train), n, log), settings)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    checkpoints.write(watch.record(task.where) | {"data": reviews.checksum(csv)} | found, asked.out / "sentiment.json")
    log.unlink()
    last = {way: sum(row[-1] for row in found["epochs"][way]) / len(settings.seeds) for way in WAYS}
    gap = found["pretrained against scratch"]
    print(", ".join(f"{way} {mean:.3f}" for way, mean in last.items()))
    print(f"pretrained − scratch {gap['difference']:.3f}, 95 % from {gap['low']:.3f} to {gap['high']:.3f}")


if __name__ == "__main__":
    main()
