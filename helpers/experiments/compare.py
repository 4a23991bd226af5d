"""The small comparison that 08 runs live: a classifier from the checkpoint and one from scratch, all else the same.

    python -m helpers.experiments.compare --out helpers/checkpoints

writes compare.json: what both reach on all test sentences, for each seed. `--tiny` is a run of seconds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from helpers import checkpoints, device, finetune
from helpers.experiments import Watch
from helpers.models import Classifier
from helpers.text import reviews, sentences
from helpers.training import Batch, Plan, epochs_at, train

WAYS = ("pretrained", "scratch")
RECORD = checkpoints.HERE / "compare.json"


@dataclass(frozen=True)
class Settings:
    """Half a minute for each run on one core: short sentences, few steps."""

    longest: int = 16  # words of a sentence to learn from
    max_len: int = 96
    batch_size: int = 16
    steps: int = 120
    learning_rate: float = 5e-4
    warmup: int = 12
    weight_decay: float = 0.1
    dropout: float = 0.1
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


settings = Settings()


@cache
def shape() -> tuple[int, int, int, int, int]:
    """The checkpoint's sizes, as `Classifier` takes them."""
    made = json.loads((checkpoints.HERE / "reviews.json").read_text("utf-8"))["settings"]
    return tuple(made[name] for name in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers"))


def model(dropout: float = 0.0) -> Classifier:
    """An untrained classifier of the checkpoint's sizes."""
    return Classifier(*shape(), n_classes=2, dropout=dropout)


def held_out(examples: Sequence[tuple[str, int]], size: int = 64) -> list[Batch]:
    """Labelled sentences as batches of ids (B, T) and labels (B,), those of one length together: few pads."""
    tokenizer = checkpoints.tokenizers.load(checkpoints.HERE / "reviews.tokenizer.json")
    ordered = sorted(examples, key=lambda example: len(example[0]))
    parts = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    return [finetune.trimmed(finetune.examples(tokenizer, part, settings.max_len)) for part in parts]


def run(way: str, seed: int, chosen: Settings, where: torch.device) -> float:
    """Accuracy on all test sentences of a classifier that was trained in one of WAYS."""
    state, tokenizer, _ = checkpoints.load("reviews")
    texts = sentences()
    short = [example for example in texts.train if len(example[0].split()) <= chosen.longest]
    torch.manual_seed(seed)
    made = model(chosen.dropout)
    made = (finetune.load_body(made, state) if way == "pretrained" else made).to(where)
    batch_at = epochs_at(finetune.examples(tokenizer, short, chosen.max_len), chosen.batch_size, seed)
    plan = Plan(chosen.steps, chosen.learning_rate, chosen.warmup, weight_decay=chosen.weight_decay, seed=seed)
    train(made, lambda step: finetune.trimmed(batch_at(step)), plan, title=f"{way}, seed {seed}")
    return finetune.evaluate(made, [tuple(x.to(where) for x in batch) for batch in held_out(texts.test)])


@cache
def recorded() -> dict[str, Any]:
    """What the command found."""
    return json.loads(RECORD.read_text("utf-8"))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.compare", description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for compare.json")
    parser.add_argument("--device", help="cpu or cuda; the best there is by default")
    parser.add_argument("--tiny", action="store_true", help="two steps, one seed")
    asked = parser.parse_args(arguments)
    asked.out = checkpoints.out(asked.out, asked.tiny)
    chosen = replace(settings, steps=2, seeds=(0,)) if asked.tiny else settings
    where, watch = device.pick(asked.device), Watch(chosen)
    try:
        found = {way: [run(way, seed, chosen, where) for seed in chosen.seeds] for way in WAYS}
        data = reviews.checksum()
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    asked.out.mkdir(parents=True, exist_ok=True)
    checkpoints.write(watch.record(where) | {"data": data, "accuracy": found}, asked.out / RECORD.name)
    for way, accuracies in found.items():
        print(f"{way:10}: {', '.join(f'{x:.3f}' for x in accuracies)}")


if __name__ == "__main__":
    main()
