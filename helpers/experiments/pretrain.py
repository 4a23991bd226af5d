"""Pretrain the causal language model of the course on IMDB's reviews:

    python -m helpers.experiments.pretrain --out helpers/checkpoints

writes reviews.safetensors, reviews.tokenizer.json and reviews.json (how it was made, the curve, perplexities and
baselines on held-out text). `--tiny` is a run of seconds on a CPU, on made-up reviews.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from helpers import checkpoints, device, lm
from helpers.experiments import Watch, toy_reviews
from helpers.models import LanguageModel
from helpers.text import reviews, tokenizer
from helpers.text.tokenizer import Corpus
from helpers.training import Plan, train, windows_at

WINDOWS = ((256, 256), (256, 64), (64, 64))  # (context, stride): perplexity is stated for each


@dataclass(frozen=True)
class Settings:
    """The run's sizes. Texts are lowercased, as Rotten Tomatoes' sentences are."""

    vocab_size: int = 4096
    lowercase: bool = True
    d_model: int = 256
    n_heads: int = 4
    d_ff: int = 768
    n_layers: int = 4
    dropout: float = 0.1
    context: int = 256
    batch_size: int = 128
    steps: int = 19_000
    learning_rate: float = 1e-3
    warmup: int = 500
    weight_decay: float = 0.1
    seed: int = 2017
    every: int = 500

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """What `LanguageModel` takes."""
        return self.vocab_size, self.d_model, self.n_heads, self.d_ff, self.n_layers


TINY = Settings(300, True, 24, 2, 32, 2, 0.0, 32, 8, 30, 3e-3, 5, every=10)


def run(settings: Settings, corpus: Corpus, where: torch.device) -> tuple[LanguageModel, dict[str, Any]]:
    """The model, its weights rounded to half precision, and what the run found, as plain values."""
    torch.manual_seed(settings.seed)
    model = LanguageModel(*settings.shape, dropout=settings.dropout).to(where)
    checkpoints.check_size(model)
    plan = Plan(
        settings.steps,
        settings.learning_rate,
        settings.warmup,
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        every=settings.every,
    )
    batch_at = windows_at(corpus.train, settings.batch_size, settings.context, settings.seed)
    validation = corpus.validation.to(where)
    curve = train(model, batch_at, plan, evaluate=lambda m: lm.held_out(m, validation, settings.context))
    checkpoints.round_to_half(model)
    windows = [(c, s) for c, s in WINDOWS if c <= settings.context] or [(settings.context, settings.context)]
    found = {
        "curve": [asdict(point) for point in curve],
        "tokens": {part: len(getattr(corpus, part)) for part in ("train", "validation", "test")},
        "test": [measure(model.eval(), corpus, where, *window) for window in windows],
        "baselines": baselines(corpus),
    }
    return model, found


def measure(model: LanguageModel, corpus: Corpus, where: torch.device, context: int, stride: int) -> dict[str, Any]:
    """Perplexity and bits per byte of the test text, read in windows of `context` that start `stride` apart."""
    nats = lm.held_out(model, corpus.test.to(where), context, stride)
    return {"context": context, "stride": stride} | in_words(nats, corpus)


def baselines(corpus: Corpus) -> dict[str, dict[str, float]]:
    """What counting alone reaches on the same test text, from the same training text."""
    vocab_size = corpus.tokenizer.get_vocab_size()
    table, test = lm.bigram(corpus.train, vocab_size), corpus.test  # (V, V), (N,)
    bigram = -table[test[:-1], test[1:]].log().double().mean().item()
    trigram = lm.Trigram(corpus.train, vocab_size).tuned(corpus.validation[:100_000])
    return {
        "bigram": in_words(bigram, corpus),
        "trigram": in_words(trigram.nats(test), corpus) | {"weights": list(trigram.weights)},
    }


def in_words(nats: float, corpus: Corpus) -> dict[str, float]:
    """A loss in nats per token as perplexity, and as bits per byte of text."""
    return {"perplexity": math.exp(nats), "bits_per_byte": nats * _tokens_per_byte(corpus.test, corpus) / math.log(2)}


def _tokens_per_byte(ids: Tensor, corpus: Corpus) -> float:
    return (len(ids) - 1) / int(tokenizer.token_bytes(corpus.tokenizer)[ids[1:]].sum())


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.pretrain", description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the three files")
    parser.add_argument("--name", default="reviews")
    parser.add_argument("--tiny", action="store_true", help="seconds on a CPU, on made-up reviews")
    parser.add_argument("--from", dest="csv", help="the reviews' CSV, instead of the package's")
    parser.add_argument("--device", help="cpu or cuda; the best there is by default")
    parser.add_argument("--steps", type=int)
    asked = parser.parse_args(arguments)
    asked.out = checkpoints.out(asked.out, asked.tiny)
    settings = TINY if asked.tiny else Settings()
    settings = replace(settings, steps=asked.steps) if asked.steps else settings
    where, watch = device.pick(asked.device), Watch(settings)
    try:
        csv = toy_reviews() if asked.tiny else asked.csv
        corpus = tokenizer.corpus(settings.vocab_size, csv, settings.lowercase)
        settings = watch.settings = replace(settings, vocab_size=corpus.tokenizer.get_vocab_size())
        model, found = run(settings, corpus, where)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    record = watch.record(where) | {"data": reviews.checksum(csv)} | found
    checkpoints.save(asked.name, model, corpus.tokenizer, record, asked.out)
    test, bigram = record["test"][0], record["baselines"]["bigram"]
    print(f"Test perplexity {test['perplexity']:.1f}, bigram {bigram['perplexity']:.1f}: {asked.out}/{asked.name}.json")


if __name__ == "__main__":
    main()
