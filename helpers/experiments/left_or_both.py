"""Does it help to read both sides? The same body pretrained left to right and by masked tokens, then on sentiment.

    python -m helpers.experiments.left_or_both --out helpers/checkpoints

writes left_or_both.json: for each seed of each way the pretraining's curve, and accuracy on Rotten Tomatoes' test
sentences after each epoch; and the difference with its 95 % interval. Runs go side by side (`--jobs`), and what is
done is written at once. `--tiny` is a run of seconds on a CPU.

It is what *No NSP* against *LTR & No NSP* compares in table 5 of Devlin et al. 2018. Letters for shapes: B batch,
T time, D d_model, V vocabulary, N sentences.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers import checkpoints, device, finetune, training
from helpers.bert import mask_tokens
from helpers.experiments import Watch, toy_reviews
from helpers.experiments.fine_tune import interval
from helpers.experiments.masked import predicted, token_logits
from helpers.models import Bert, pool
from helpers.text import reviews, sentences, wordpiece
from helpers.text.wordpiece import CLS, MASK, PAD, SPECIAL, Documents
from helpers.training import IGNORED, Batch, Plan, epochs_at

WAYS = ("masked", "left to right", "both sides, from scratch", "left side, from scratch")
COMPARED = (
    "One body, head and classifier (BERT's, without next sentences; the classifier reads the mean of all tokens), the "
    "same windows of text in the same order, as many steps, the same learning rates. Only mask and objective differ: "
    "'left to right' reads the past alone, in fine-tuning too, and predicts each next token; 'masked' reads both "
    "sides and predicts 15 % of the tokens, so the same text gives it a seventh of the answers. A seed stands for a "
    "whole run: first weights, windows, masks, head, order of the labelled sentences."
)
PAPER = {  # Devlin et al. 2018, table 5
    "tasks": ["MNLI-m", "QNLI", "MRPC", "SST-2", "SQuAD F1"],
    "No NSP": [83.9, 84.9, 86.5, 92.6, 87.9],
    "LTR & No NSP": [82.1, 84.3, 77.5, 92.1, 77.8],
}


@dataclass(frozen=True)
class Settings:
    """The sizes of all runs; what begins with `tune` is the classifier's."""

    vocab_size: int = 4096
    d_model: int = 256
    n_heads: int = 4
    d_ff: int = 768
    n_layers: int = 4
    max_len: int = 128
    dropout: float = 0.1
    batch_size: int = 64
    steps: int = 5_000
    learning_rate: float = 7e-4
    warmup: int = 500
    weight_decay: float = 0.01
    every: int = 1_000
    tune_len: int = 64
    tune_batch: int = 64
    tune_epochs: int = 6
    tune_rate: float = 3e-4
    tune_decay: float = 0.1
    tune_dropout: float = 0.3
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)

    @property
    def shape(self) -> tuple[int, int, int, int, int, int]:
        """What `Bert` takes."""
        return self.vocab_size, self.d_model, self.n_heads, self.d_ff, self.n_layers, self.max_len


TINY = Settings(
    300, 24, 2, 48, 2, 48, 0.0, 16, 30, 5e-3, 5, every=15, tune_len=32, tune_batch=16, tune_epochs=2, seeds=(0, 1)
)


class Sentiment(nn.Module):
    """A reader's body, the mean of what it says of each token, and a fresh head."""

    def __init__(self, reader: Bert, n_classes: int = 2) -> None:
        super().__init__()
        self.reader = reader
        self.head = nn.Linear(reader.pooler.in_features, n_classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T), padded → logits (B, n_classes)."""
        real = ids != PAD  # (B, T)
        return self.head(pool(self.reader.hidden(ids, attention_mask=real), real, "mean"))


# ---- pretraining ----


def windows_at(documents: Documents, settings: Settings, causal: bool, seed: int) -> Callable[[int], Batch]:
    """A step's (inputs, labels), (B, T) each: [CLS] and text from a random sentence on; the same text both ways."""
    ids, t = documents.ids, torch.arange(settings.max_len, device=documents.ids.device)  # (N,), (T,)

    def at(step: int) -> Batch:
        generator = torch.Generator(ids.device).manual_seed(seed * 1_000_003 + step)
        sentence = torch.randint(
            len(documents.starts), (settings.batch_size, 1), generator=generator, device=ids.device
        )  # (B, 1)
        text = ids[(documents.starts[sentence] + t).clamp(max=len(ids) - 1)]  # (B, T)
        row = torch.cat([torch.full_like(sentence, CLS), text[:, :-1]], 1)  # (B, T)
        return (row, text) if causal else mask_tokens(row, range(len(SPECIAL)), settings.vocab_size, MASK, generator)

    return at


def answers(model: Bert, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits (M, V) where something is predicted, and the labels (M,)."""
    ids, labels = batch
    x = model.hidden(ids)  # (B, T, D)
    return (token_logits(model, x).flatten(0, 1), labels.flatten()) if model.causal else predicted(model, x, labels)


def summed_loss(model: Bert, batch: Batch) -> Tensor:
    """Nats, summed over all that is predicted."""
    logits, labels = answers(model, batch)
    return F.cross_entropy(logits.float(), labels, ignore_index=IGNORED, reduction="sum")


@torch.no_grad()
def told(model: Bert, batches: Sequence[Batch]) -> float:
    """The share of what is to be predicted that the model tells."""
    right = total = 0
    for batch in batches:
        logits, labels = answers(model, batch)
        right += int((logits.argmax(-1) == labels).sum())
        total += int((labels != IGNORED).sum())
    return right / max(total, 1)


# ---- one run ----


@dataclass(frozen=True)
class Job:
    """One way with one seed, and what it needs to know of the whole."""

    way: str
    seed: int
    settings: Settings
    csv: str | None
    where: str
    started: float

    def say(self, what: str) -> None:
        """A line with the time since the command began."""
        print(f"{time.time() - self.started:6.0f} s  {self.way}, seed {self.seed}: {what}", flush=True)


def one_run(job: Job) -> dict[str, Any]:
    """Pretrain if the way says so, then fine-tune; which test sentences were right is a string of 0 and 1."""
    settings, where, causal = job.settings, torch.device(job.where), job.way.startswith("left")
    torch.manual_seed(job.seed)
    reader = Bert(*settings.shape, causal=causal, dropout=settings.dropout).to(where)
    found = {"way": job.way, "seed": job.seed}
    corpus = wordpiece.corpus(settings.vocab_size, job.csv)
    if "scratch" not in job.way:
        found["pretraining"] = pretrain(reader, corpus.to(where), job)
    return found | fine_tune(reader, corpus.tokenizer, job)


def pretrain(reader: Bert, corpus: wordpiece.Corpus, job: Job) -> list[dict[str, Any]]:
    """Train in place; the curve's points."""
    settings = job.settings
    held_out = windows_at(corpus.validation, settings, reader.causal, seed=2018)
    batches = [held_out(i) for i in range(16)]

    def evaluate(model: Bert) -> float:
        share = told(model, batches)
        job.say(f"{share:.3f} of the held-out tokens told")
        return share

    batch_at = windows_at(corpus.train, settings, reader.causal, job.seed)
    points = training.train(reader, batch_at, plan(settings, job.seed), summed_loss, evaluate, show=False)
    return [asdict(point) for point in points]


def plan(settings: Settings, seed: int) -> Plan:
    """How a reader is pretrained."""
    rate, warmup, decay = settings.learning_rate, settings.warmup, settings.weight_decay
    return Plan(settings.steps, rate, warmup, weight_decay=decay, seed=seed, every=settings.every)


def fine_tune(reader: Bert, tokenizer: wordpiece.Tokenizer, job: Job) -> dict[str, Any]:
    """A classifier on the reader's body: accuracy on the test sentences after each epoch, and who was right at last."""
    settings, where = job.settings, torch.device(job.where)
    texts = sentences(job.csv)
    taught, tested = (
        tuple(x.to(where) for x in labelled(tokenizer, some, settings.tune_len)) for some in (texts.train, texts.test)
    )
    torch.manual_seed(job.seed)
    for part in reader.modules():
        if isinstance(part, nn.Dropout):
            part.p = settings.tune_dropout
    model = Sentiment(reader).to(where)
    batch_at = epochs_at(taught, settings.tune_batch, job.seed)
    an_epoch = -(-len(taught[1]) // settings.tune_batch)
    how = Plan(
        settings.tune_epochs * an_epoch,
        settings.tune_rate,
        warmup=an_epoch // 2,
        weight_decay=settings.tune_decay,
        seed=job.seed,
        every=an_epoch,
    )
    measure = lambda m: right(m, tested).double().mean().item()  # noqa: E731
    points = training.train(model, batch_at, how, evaluate=measure, show=False)
    accuracy = [point.measured for point in points]
    job.say(f"sentiment {accuracy[-1]:.3f} of {len(tested[1])}")
    return {"accuracy": accuracy, "right": "".join(map(str, right(model.eval(), tested).int().tolist()))}


def labelled(tokenizer: wordpiece.Tokenizer, some: Sequence[tuple[str, int]], max_len: int) -> Batch:
    """Texts with labels as ids (N, T), [CLS] first, and labels (N,)."""
    ids, labels = finetune.examples(tokenizer, some, max_len - 1, PAD)  # (N, T − 1), (N,)
    return torch.cat([torch.full((len(ids), 1), CLS), ids], 1), labels


@torch.no_grad()
def right(model: Sentiment, tested: Batch) -> Tensor:
    """Which test sentences the model gets right: bool (N,), on the CPU."""
    ids, labels = tested
    said = torch.cat([model(part).argmax(-1) for part in ids.split(512)])  # (N,)
    return (said == labels).cpu()


# ---- all runs ----


def seconds_a_step(job: Job, n: int = 80) -> float:
    """How long a step of pretraining takes while the others run beside it."""
    settings, where = job.settings, torch.device(job.where)
    reader = Bert(*settings.shape, causal=job.way.startswith("left"), dropout=settings.dropout).to(where)
    batch_at = windows_at(wordpiece.corpus(settings.vocab_size, job.csv).to(where).train, settings, reader.causal, 0)
    for steps in (10, n):  # the first few warm up
        started = time.monotonic()
        how = replace(plan(settings, 0), steps=steps, every=steps)
        training.train(reader, batch_at, how, summed_loss, show=False)
    return (time.monotonic() - started) / n


def run(jobs: Sequence[Job], n_jobs: int, done: Callable[[list[dict[str, Any]]], None]) -> list[dict[str, Any]]:
    """All runs, at most n_jobs side by side; `done` is told after each what there is."""
    found: list[dict[str, Any]] = []
    for one in _side_by_side(one_run, jobs, n_jobs):
        found.append(one)
        done(found)
    return found


def _side_by_side(work: Callable[[Job], Any], jobs: Sequence[Job], n_jobs: int) -> Iterator[Any]:
    """What each job gives, in the order in which they end; one job at a time needs no other process."""
    if n_jobs == 1:
        yield from map(work, jobs)
        return
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    with ProcessPoolExecutor(n_jobs, context, torch.set_num_threads, (1,)) as pool:
        yield from (future.result() for future in as_completed([pool.submit(work, job) for job in jobs]))


def summary(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Runs by way, and what pretraining and reading both sides bring, with 95 % intervals, as far as there are runs."""
    runs = {way: sorted((one for one in found if one["way"] == way), key=lambda one: one["seed"]) for way in WAYS}
    rights = {
        way: torch.tensor([[c == "1" for c in one["right"]] for one in some]) for way, some in runs.items() if some
    }  # (seeds, N) each
    pairs = {
        "masked − left to right": WAYS[:2],
        "masked − from scratch": (WAYS[0], WAYS[2]),
        "left to right − from scratch": (WAYS[1], WAYS[3]),
    }
    return {
        "accuracy": {way: statistics.mean(one["accuracy"][-1] for one in some) for way, some in runs.items() if some},
        "intervals": {
            name: interval(rights[a], rights[b]) for name, (a, b) in pairs.items() if a in rights and b in rights
        },
        "epochs": {way: [one["accuracy"] for one in some] for way, some in runs.items()},
        "pretraining": {way: [one["pretraining"] for one in runs[way]] for way in WAYS[:2]},
        "right": {way: [one["right"] for one in some] for way, some in runs.items()},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.left_or_both", description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for left_or_both.json")
    parser.add_argument("--tiny", action="store_true", help="seconds on a CPU, on made-up reviews")
    parser.add_argument("--from", dest="csv", help="the reviews' CSV, instead of the package's")
    parser.add_argument("--device", help="cpu or cuda; the best there is by default")
    parser.add_argument("--seeds", type=int, help="how many")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rate", type=float, help="the learning rate of pretraining at its highest")
    parser.add_argument("--minutes", type=float, help="of pretraining, in place of --steps; the record says the steps")
    parser.add_argument("--jobs", type=int, help="runs side by side: all that are pretrained on a GPU, 1 on a CPU")
    asked = parser.parse_args(arguments)
    asked.out = checkpoints.out(asked.out, asked.tiny)
    settings = TINY if asked.tiny else Settings()
    settings = replace(settings, seeds=tuple(range(asked.seeds))) if asked.seeds else settings
    settings = replace(settings, steps=asked.steps) if asked.steps else settings
    settings = replace(settings, learning_rate=asked.rate) if asked.rate else settings
    where, watch = device.pick(asked.device), Watch(settings)
    n_jobs = asked.jobs or (2 * len(settings.seeds) if where.type == "cuda" else 1)
    asked.out.mkdir(parents=True, exist_ok=True)

    def write(found: list[dict[str, Any]]) -> None:
        about = {"data": reviews.checksum(csv), "compared": COMPARED, "paper": PAPER, "missing": len(jobs) - len(found)}
        checkpoints.write(watch.record(where) | about | summary(found), asked.out / "left_or_both.json")

    try:
        csv = toy_reviews() if asked.tiny else asked.csv
        size = wordpiece.corpus(settings.vocab_size, csv).tokenizer.get_vocab_size()  # kept for those to come
        settings = replace(settings, vocab_size=size)
        all_jobs = lambda: [  # noqa: E731
            Job(way, seed, settings, csv and str(csv), str(where), started) for way in WAYS for seed in settings.seeds
        ]
        started = time.time()
        jobs = all_jobs()
        if asked.minutes:
            slowest = max(_side_by_side(seconds_a_step, jobs[: 2 * len(settings.seeds)], n_jobs))
            settings = replace(settings, steps=max(int(60 * asked.minutes / slowest), 1))
            print(f"{settings.steps:,} steps of {1000 * slowest:.0f} ms each.", flush=True)
            jobs = all_jobs()
        watch.settings = settings
        found = summary(run(jobs, n_jobs, write))
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    print(", ".join(f"{way} {mean:.3f}" for way, mean in found["accuracy"].items()))
    gap = found["intervals"]["masked − left to right"]
    print(f"masked − left to right {gap['difference']:.3f}, 95 % from {gap['low']:.3f} to {gap['high']:.3f}")


if __name__ == "__main__":
    main()
