"""The tiny BERT that 09 pretrains while you watch, in half a minute, and its left-to-right twin: sizes, text, rivals.

Everyday sentences of the course's own grammar, whole words, masked tokens and no next sentences: on reviews so small
a model needs many minutes before it looks at neighbours at all. BERT's rival says the commonest token each time. Both
are asked at [MASK] alone: at a chosen token that stands as it was, a model that copies its input would be right. The
twin (`causal`) has the same weights by name, reads the past alone, and is asked at each token for the next one; its
rival says what most often follows a token.

    python -m helpers.experiments.live_masked --out FOLDER

trains one and writes bert.pretrain.safetensors, which is what a learner hands in; with `--causal` it is the twin and
bert.left_or_both.safetensors. `--tiny` stops after two steps.
Letters for shapes: N sentences, B batch, T time, V vocabulary, M tokens that are asked for.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn

from helpers import checkpoints
from helpers.bert import build_inputs, mask_tokens
from helpers.models import Bert
from helpers.text import grammar
from helpers.text.wordpiece import CLS, MASK, PAD, SEP, SPECIAL, UNK
from helpers.training import IGNORED, Batch, Plan, Point, train

WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Settings:
    """Sizes and recipe."""

    n_train: int = 6_000
    n_test: int = 600
    d_model: int = 96
    n_heads: int = 4
    d_ff: int = 192
    n_layers: int = 2
    max_len: int = 20
    batch_size: int = 64
    steps: int = 400
    learning_rate: float = 3e-3
    warmup: int = 40
    seed: int = 2018

    @property
    def plan(self) -> Plan:
        """What `training.train` takes."""
        return Plan(self.steps, self.learning_rate, self.warmup, weight_decay=0.01, seed=self.seed, every=40)


settings = Settings()


@dataclass(frozen=True)
class Texts:
    """Sentences as ids (N, T), [CLS] first, in three parts, and the vocabulary: the special tokens, then words."""

    vocabulary: list[str]
    train: Tensor
    validation: Tensor
    test: Tensor


@cache
def texts() -> Texts:
    """What the grammar says, the same each time."""
    said = grammar.split(settings.n_train, settings.n_test, seed=settings.seed)
    parts = [
        [WORD.findall(english.lower()) for english, _ in part] for part in (said.train, said.validation, said.test)
    ]
    vocabulary = [*SPECIAL, *sorted({word for sentence in parts[0] for word in sentence})]
    places = {word: i for i, word in enumerate(vocabulary)}
    return Texts(vocabulary, *(_ids(part, places) for part in parts))


def _ids(sentences: Sequence[Sequence[str]], places: dict[str, int]) -> Tensor:
    rows = [[places.get(word, UNK) for word in sentence] for sentence in sentences]
    laid_out = [build_inputs(row, None, settings.max_len, PAD, CLS, SEP)[0] for row in rows]
    return torch.tensor(laid_out, device="cpu")  # (N, T): kept, so on no device of the moment


def model(causal: bool = False) -> Bert:
    """An untrained model of these sizes."""
    size = settings
    shape = len(texts().vocabulary), size.d_model, size.n_heads, size.d_ff, size.n_layers, size.max_len
    return Bert(*shape, causal=causal)


def batch(ids: Tensor, generator: torch.Generator) -> Batch:
    """Sentences (B, T) → (inputs, segment ids, attention mask, labels), (B, T) each."""
    return with_marks(*mask_tokens(ids, range(len(SPECIAL)), len(texts().vocabulary), MASK, generator))


def next_tokens(ids: Tensor) -> Batch:
    """The same for the twin: nothing is hidden, and each word is asked for at the token before it."""
    return with_marks(ids, one_earlier(ids.masked_fill(ids < len(SPECIAL), IGNORED)))


def one_earlier(labels: Tensor) -> Tensor:
    """Labels (B, T) moved one place to the left: who reads the past alone must say there what comes next."""
    return torch.cat([labels[:, 1:], torch.full_like(labels[:, :1], IGNORED)], 1)  # (B, T)


def with_marks(inputs: Tensor, labels: Tensor) -> Batch:
    """Inputs and labels (B, T), with segment ids and attention mask between them."""
    return inputs, torch.zeros_like(inputs), (inputs != PAD).long(), labels


def batch_at(step: int, causal: bool = False) -> Batch:
    """A step's batch: random training sentences, masked anew each time, or with `causal` the twin's."""
    generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + step)
    ids = _drawn(generator)  # (B, T)
    return next_tokens(ids) if causal else batch(ids, generator)


def sentences_at(step: int) -> Tensor:
    """The sentences (B, T) of a step's batch, as they are."""
    return _drawn(torch.Generator().manual_seed(settings.seed * 1_000_003 + step))


def _drawn(generator: torch.Generator) -> Tensor:
    return texts().train[torch.randint(settings.n_train, (settings.batch_size,), generator=generator)]  # (B, T)


def held_out(ids: Tensor, rounds: int, seed: int) -> list[Batch]:
    """All of some sentences (N, T), `rounds` times, asked at [MASK] alone."""
    generator = torch.Generator().manual_seed(seed)
    return [only_hidden(batch(ids, generator)) for _ in range(rounds)]


def only_hidden(batch: Batch) -> Batch:
    """The same batch, asking for nothing that can be seen in it."""
    inputs, *rest, labels = batch
    return inputs, *rest, labels.masked_fill(inputs != MASK, IGNORED)  # (B, T)


@torch.no_grad()
def said(model: nn.Module, batches: Iterable[Batch]) -> Tensor:
    """What a model says where it is asked, (M,)."""
    found = [model(*inputs)[0].argmax(-1)[labels != IGNORED] for *inputs, labels in batches]  # (M,) each
    return torch.cat(found)


def answers(batches: Iterable[Batch]) -> Tensor:
    """What is asked for, (M,)."""
    return torch.cat([labels[labels != IGNORED] for *_, labels in batches])


def told(model: nn.Module, batches: Sequence[Batch]) -> float:
    """The share of what is asked for that a model tells, in the mode that it is in."""
    return (said(model, batches) == answers(batches)).double().mean().item()


@cache
def commonest() -> int:
    """The token that the training sentences hold most often."""
    counts = torch.bincount(texts().train.flatten(), minlength=len(texts().vocabulary))  # (V,)
    return int(counts[len(SPECIAL) :].argmax()) + len(SPECIAL)


@cache
def follower() -> Tensor:
    """For each token the one that most often comes next in the training sentences, (V,)."""
    vocabulary, before = len(texts().vocabulary), texts().train[:, :-1].flatten()  # (N · (T − 1),)
    after = texts().train[:, 1:].flatten()  # (N · (T − 1),)
    pairs = torch.bincount(before * vocabulary + after, minlength=vocabulary**2).view(vocabulary, -1)  # (V, V)
    pairs[:, : len(SPECIAL)] = 0  # they are never asked for
    return pairs.argmax(-1)


def pretrain(
    plan: Plan, causal: bool = False, evaluate: Callable[[nn.Module], float] | None = None, title: str = "training"
) -> tuple[Bert, list[Point]]:
    """A model trained one way or the other, from the same first weights, and its curve."""
    with torch.random.fork_rng([]):
        torch.manual_seed(settings.seed)
        made = model(causal)
    return made, train(made, lambda step: batch_at(step, causal), plan, loss, evaluate, title=title)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.live_masked", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the weights")
    parser.add_argument("--causal", action="store_true", help="the left-to-right twin")
    parser.add_argument("--tiny", action="store_true", help="two steps")
    asked = parser.parse_args(arguments)
    plan = replace(settings.plan, steps=2) if asked.tiny else settings.plan
    ids = texts().validation
    watched = [next_tokens(ids)] if asked.causal else held_out(ids, 2, seed=0)
    made, curve = pretrain(plan, asked.causal, lambda m: told(m, watched))
    print(f"{'Of next tokens' if asked.causal else 'At [MASK]'} {curve[-1].measured:.3f} are told.")
    asked.out.mkdir(parents=True, exist_ok=True)
    checkpoints.hand_in(made, "bert.left_or_both" if asked.causal else "bert.pretrain", asked.out)


def loss(model: nn.Module, batch: Batch) -> Tensor:
    """Nats summed over what is asked for."""
    *inputs, labels = batch
    logits, _ = model(*inputs)  # (B, T, V)
    asked = labels != IGNORED  # (B, T)
    return nn.functional.cross_entropy(logits[asked], labels[asked], reduction="sum")


if __name__ == "__main__":
    main()
