"""The language model that 07 pretrains while you watch, in under a minute on two cores: its sizes, text and rival.

The rival counts pairs in the same training text (`lm.bigram`), and both are measured on the same held-out stretch.

    python -m helpers.experiments.live --out FOLDER

trains one and writes lm.pretrain.safetensors, which is what a learner hands in. `--tiny` stops after two steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from helpers import checkpoints, lm
from helpers.models import LanguageModel
from helpers.text import tokenizer
from helpers.text.cache import kept
from helpers.text.reviews import checksum
from helpers.training import Plan, train, windows_at

TOKENIZER = checkpoints.HERE / "reviews.tokenizer.json"


@dataclass(frozen=True)
class Settings:
    """Sizes and recipe. The vocabulary is the shipped tokenizer's, so perplexities compare with the checkpoint's."""

    n_tokens: int = 1_000_000  # of training text
    vocab_size: int = 4096
    d_model: int = 96
    n_heads: int = 4
    d_ff: int = 256
    n_layers: int = 2
    context: int = 64
    batch_size: int = 16
    steps: int = 250
    learning_rate: float = 8e-3
    warmup: int = 20
    seed: int = 7

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """What `LanguageModel` takes."""
        return self.vocab_size, self.d_model, self.n_heads, self.d_ff, self.n_layers

    @property
    def plan(self) -> Plan:
        """What `training.train` takes."""
        return Plan(self.steps, self.learning_rate, self.warmup, weight_decay=0.1, seed=self.seed, every=50)


settings = Settings()


def model() -> LanguageModel:
    """An untrained model of these sizes. Pre-norm: in so few steps post-norm gets no further than counting tokens."""
    return LanguageModel(*settings.shape, norm_first=True)


@dataclass(frozen=True)
class Texts:
    """Token ids to train on (n_tokens,), and held-out ones (N,) with the bigram's nats for each from the second on."""

    train: Tensor
    test: Tensor
    bigram: Tensor


@cache
def texts() -> Texts:
    """IMDB's reviews for the live run, kept in the cache folder. Raises FileNotFoundError with a sentence."""
    learned = sha256(TOKENIZER.read_bytes()).hexdigest()[:16]
    found = kept(f"live-{settings.n_tokens}-{learned}-{checksum()}.safetensors", _make, save_file, load_file)
    return Texts(found["train"].long(), found["test"].long(), found["bigram"])


def _make() -> dict[str, Tensor]:
    corpus = tokenizer.corpus(tokenizer.load(TOKENIZER))
    train, test = corpus.train[: settings.n_tokens], corpus.test  # (n_tokens,), (N,)
    table = lm.bigram(train, settings.vocab_size)  # (V, V)
    bigram = -table[test[:-1], test[1:]].log()  # (N − 1,)
    return {"train": train.to(torch.int16), "test": test.to(torch.int16), "bigram": bigram.float()}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.live", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(), help="folder for lm.pretrain.safetensors")
    parser.add_argument("--tiny", action="store_true", help="two steps")
    asked = parser.parse_args(arguments)
    plan = replace(settings.plan, steps=2) if asked.tiny else settings.plan
    try:
        ids = texts().train
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    torch.manual_seed(settings.seed)
    made = model()
    train(made, windows_at(ids, settings.batch_size, settings.context, settings.seed), plan)
    asked.out.mkdir(parents=True, exist_ok=True)
    checkpoints.hand_in(made, "lm.pretrain", asked.out)


if __name__ == "__main__":
    main()
