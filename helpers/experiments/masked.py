"""Pretrain the course's small BERT on IMDB's reviews, by masked tokens and next sentences:

    python -m helpers.experiments.masked --out helpers/checkpoints

writes bert.safetensors, bert.tokenizer.json and bert.json (how it was made, the curve, and on held-out text how often
a masked token and a next sentence is told, beside what counting reaches). `--tiny` is a run of seconds on a CPU.

Letters for shapes: B batch, T time, V vocabulary, M masked tokens, N tokens in a stream.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from helpers import checkpoints, device
from helpers.bert import CHOSEN, mask_tokens
from helpers.experiments import Watch, toy_reviews
from helpers.models import Bert
from helpers.neighbours import Neighbours
from helpers.text import reviews, wordpiece
from helpers.text.wordpiece import CLS, MASK, PAD, SEP, SPECIAL, Corpus, Documents
from helpers.training import IGNORED, Batch, Plan, train

FOLLOWS, ELSEWHERE = 0, 1  # the classes of `next_head`, in the order of BERT's own code


@dataclass(frozen=True)
class Settings:
    """The run's sizes. A share of `short` pairs is of random shorter length, as in BERT's own code."""

    vocab_size: int = 4096
    d_model: int = 256
    n_heads: int = 4
    d_ff: int = 768
    n_layers: int = 4
    max_len: int = 128
    dropout: float = 0.1
    short: float = 0.2
    batch_size: int = 256
    steps: int = 12_000
    learning_rate: float = 7e-4
    warmup: int = 1_000
    weight_decay: float = 0.01
    seed: int = 2018
    every: int = 500

    @property
    def shape(self) -> tuple[int, int, int, int, int, int]:
        """What `Bert` takes."""
        return self.vocab_size, self.d_model, self.n_heads, self.d_ff, self.n_layers, self.max_len


TINY = Settings(300, 32, 2, 64, 2, 32, 0.0, 0.2, 16, 40, 5e-3, 5, every=20)


# ---- batches, made where the documents are ----


@dataclass(frozen=True)
class Pairs:
    """[CLS] a [SEP] b [SEP] and pads: (B, T) each but next (B,). `places` are those in the stream, −1 outside it."""

    ids: Tensor
    segment_ids: Tensor
    attention_mask: Tensor
    next: Tensor
    places: Tensor


def draw_pairs(
    documents: Documents, batch_size: int, max_len: int, generator: torch.Generator, short: float = 0.0
) -> Pairs:
    """Random pairs of texts: a is one sentence or more, and b what follows it, or by a fair coin other text.

    The other text comes from another document. Each text begins with a sentence; what is too long loses its end.
    """
    where, n_sentences = documents.ids.device, len(documents.starts)

    def lots() -> Tensor:
        return torch.rand(batch_size, generator=generator, device=where)  # (B,)

    def up_to(n: int) -> Tensor:
        return torch.randint(n, (batch_size,), generator=generator, device=where)  # (B,)

    room = torch.where(lots() < short, 4 + up_to(max_len - 6), max_len - 3)  # (B,): tokens of both texts
    a_room = (room * (0.25 + 0.5 * lots())).long().clamp(min=1)  # (B,)
    a = (lots() * n_sentences).long().clamp(max=n_sentences - 1)  # (B,)
    a = torch.where(a == documents.lasts[a], (a - 1).clamp(min=0), a)  # a text's last sentence has no next one
    a_start = documents.starts[a]  # (B,)
    fits = torch.searchsorted(documents.starts, a_start + a_room, right=True) - 1  # (B,): starts within a's room
    follows = torch.minimum(fits.clamp(min=0).maximum(a + 1), documents.lasts[a])  # (B,): the sentence after a
    a_end = torch.where(follows > a, documents.starts[follows], documents.ends[a])  # (B,)
    n_a = (a_end - a_start).minimum(a_room)  # (B,)
    other = up_to(n_sentences)
    same = documents.lasts[other] == documents.lasts[a]  # (B,)
    other = torch.where(same, (documents.lasts[a] + 1) % n_sentences, other)
    next_is = torch.where((lots() < 0.5) & (follows > a), FOLLOWS, ELSEWHERE)  # (B,)
    b = torch.where(next_is == FOLLOWS, follows, other)  # (B,)
    n_b = (documents.ends[b] - documents.starts[b]).minimum(room - n_a)  # (B,)
    return _lay_out(documents, max_len, a_start, n_a, documents.starts[b], n_b, next_is)


def _lay_out(
    documents: Documents, max_len: int, a_start: Tensor, n_a: Tensor, b_start: Tensor, n_b: Tensor, next_is: Tensor
) -> Pairs:
    """Two spans of the stream, (B,) each, as one input."""
    t = torch.arange(max_len, device=n_a.device)  # (T,)
    a_start, n_a, b_start, n_b = (x[:, None] for x in (a_start, n_a, b_start, n_b))  # (B, 1) each
    in_a, in_b = (t > 0) & (t <= n_a), (t > n_a + 1) & (t <= n_a + 1 + n_b)  # (B, T) each
    places = torch.where(in_a, a_start + t - 1, torch.where(in_b, b_start + t - n_a - 2, -1))  # (B, T)
    real = t <= n_a + n_b + 2  # (B, T)
    special = torch.where(t == 0, CLS, torch.where(real, SEP, PAD))  # (B, T)
    ids = torch.where(in_a | in_b, documents.ids[places.clamp(min=0)], special)
    return Pairs(ids, (real & (t > n_a + 1)).long(), real.long(), next_is, places)


def batch_of(pairs: Pairs, vocab_size: int, generator: torch.Generator) -> Batch:
    """(ids, segment ids, attention mask, next, labels), masked anew each time."""
    inputs, labels = mask_tokens(pairs.ids, range(len(SPECIAL)), vocab_size, MASK, generator)  # (B, T) each
    return inputs, pairs.segment_ids, pairs.attention_mask, pairs.next, labels


def pairs_at(documents: Documents, settings: Settings) -> Callable[[int], Batch]:
    """A step's batch, on the documents' device; the same for the same step and seed."""

    def at(step: int) -> Batch:
        generator = _generator(settings.seed * 1_000_003 + step, documents)
        pairs = draw_pairs(documents, settings.batch_size, settings.max_len, generator, settings.short)
        return batch_of(pairs, settings.vocab_size, generator)

    return at


def _generator(seed: int, documents: Documents) -> torch.Generator:
    return torch.Generator(documents.ids.device).manual_seed(seed)


# ---- the loss, and what is measured ----


def predicted(model: Bert, hidden: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden states (B, T, D) and labels (B, T) → logits (M, V) of the masked tokens and their labels (M,).

    The head, the largest product by far, is spared where nothing is predicted. M is a bound that six standard
    deviations keep, filled with ignored labels: to count would make the host wait for the GPU.
    """
    n = labels.numel()
    most = min(n, int(CHOSEN * n + 6 * math.sqrt(CHOSEN * (1 - CHOSEN) * n)) + 1)
    first = (labels.flatten() == IGNORED).byte().argsort(stable=True)[:most]  # (M,)
    return token_logits(model, hidden.flatten(0, 1)[first]), labels.flatten()[first]


def token_logits(model: Bert, hidden: Tensor) -> Tensor:
    """The head for tokens: (…, D) → (…, V)."""
    return model.token_head(model.transform_norm(F.gelu(model.transform(hidden))))


def both_heads(model: Bert, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """As `predicted`, and the logits (B, 2) of the next sentence."""
    ids, segment_ids, attention_mask, _, labels = batch
    x = model.hidden(ids, segment_ids, attention_mask)  # (B, T, D)
    return *predicted(model, x, labels), model.next_head(model.pooler(x[:, 0]).tanh())


def summed_loss(model: Bert, batch: Batch) -> Tensor:
    """Nats summed over the masked tokens, and as often the mean nats of the next sentence: `train_step` divides."""
    tokens, labels, follows = both_heads(model, batch)
    n_predictions = (labels != IGNORED).sum().clamp(min=1)  # ()
    next_loss = F.cross_entropy(follows.float(), batch[3])  # ()
    return F.cross_entropy(tokens.float(), labels, ignore_index=IGNORED, reduction="sum") + next_loss * n_predictions


def held_out(documents: Documents, settings: Settings, n_batches: int, seed: int = 0) -> list[tuple[Pairs, Batch]]:
    """Pairs at full length, masked once for all."""
    generator, found = _generator(seed, documents), []
    for _ in range(n_batches):
        pairs = draw_pairs(documents, settings.batch_size, settings.max_len, generator)
        found.append((pairs, batch_of(pairs, settings.vocab_size, generator)))
    return found


@torch.no_grad()
def accuracies(model: Bert, batches: Iterable[Batch]) -> dict[str, float]:
    """How many of the masked tokens, and of the next sentences, the model tells; nats per masked token."""
    right = next_right = nats = 0.0
    n = n_pairs = 0
    for batch in batches:
        tokens, labels, follows = both_heads(model, batch)
        real = labels != IGNORED
        right += int((tokens.argmax(-1) == labels)[real].sum())
        nats += float(F.cross_entropy(tokens.float(), labels, ignore_index=IGNORED, reduction="sum"))
        next_right += int((follows.argmax(-1) == batch[3]).sum())
        n, n_pairs = n + int(real.sum()), n_pairs + len(follows)
    n = max(n, 1)
    return {"masked": right / n, "nats": nats / n, "next": next_right / n_pairs, "n_masked": n, "n_pairs": n_pairs}


def missing(documents: Documents, made: Sequence[tuple[Pairs, Batch]]) -> tuple[Tensor, Tensor, Tensor]:
    """The masked tokens with their true neighbours in the text: (left, middle, right), (M,) each."""
    places = torch.cat([pairs.places[batch[-1] != IGNORED] for pairs, batch in made])  # (M,)
    return documents.ids[places - 1], documents.ids[places], documents.ids[places + 1]


def baselines(corpus: Corpus, made: Sequence[tuple[Pairs, Batch]], settings: Settings) -> dict[str, float]:
    """What counting tells of the same masked tokens: always the commonest one, and from both neighbours.

    Those see the true neighbours, also where the model sees [MASK] in their place.
    """
    counted = Neighbours(corpus.train.ids, settings.vocab_size)
    counted = counted.tuned(*missing(corpus.validation, held_out(corpus.validation, settings, 2, seed=1)))
    left, middle, right = missing(corpus.test, made)
    return {
        "unigram": (middle == counted.single.argmax()).double().mean().item(),
        "neighbours": counted.accuracy(left, middle, right),
        "strength": counted.strength,
    }


# ---- the run ----


def run(settings: Settings, corpus: Corpus, where: torch.device) -> tuple[Bert, dict[str, Any]]:
    """The model, its weights rounded to half precision, and what the run found, as plain values."""
    torch.manual_seed(settings.seed)
    model = Bert(*settings.shape, dropout=settings.dropout).to(where)
    checkpoints.check_size(model)
    started = time.monotonic()
    validation = [batch for _, batch in held_out(corpus.validation, settings, 8)]
    curve = train(model, pairs_at(corpus.train, settings), plan(settings), summed_loss, _watched(validation, started))
    checkpoints.round_to_half(model)
    made = held_out(corpus.test, settings, 26)
    test = accuracies(model.eval(), [batch for _, batch in made])
    counted = baselines(corpus, made, settings)
    found = {
        "curve": [asdict(point) for point in curve],
        "tokens": {part: len(getattr(corpus, part).ids) for part in ("train", "validation", "test")},
        "test": test,
        "baselines": counted,
        "margins": {name: test["masked"] - counted[name] for name in ("unigram", "neighbours")},
        "standard error": math.sqrt(test["masked"] * (1 - test["masked"]) / test["n_masked"]),
        "next_head": ["b follows a", "b is of another document"],
    }
    return model, found


def plan(settings: Settings) -> Plan:
    """How it is trained."""
    return Plan(
        settings.steps,
        settings.learning_rate,
        settings.warmup,
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        every=settings.every,
    )


def _watched(batches: list[Batch], started: float) -> Callable[[Bert], float]:
    """Masked accuracy at each point of the curve, with a printed line."""

    def evaluate(model: Bert) -> float:
        found = accuracies(model, batches)
        spent = time.monotonic() - started
        print(f"{spent:6.0f} s  masked {found['masked']:.3f}  next {found['next']:.3f}", flush=True)
        return found["masked"]

    return evaluate


def steps_within(minutes: float, settings: Settings, corpus: Corpus, where: torch.device, n: int = 100) -> int:
    """How many steps take so long here, from the time of n of them."""
    model = Bert(*settings.shape, dropout=settings.dropout).to(where)
    batch_at = pairs_at(corpus.train, settings)
    for steps in (10, n):  # the first few warm up
        started = time.monotonic()
        train(model, batch_at, replace(plan(settings), steps=steps, every=steps), summed_loss, show=False)
    return max(int(60 * minutes * n / (time.monotonic() - started)), 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.masked", description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the three files")
    parser.add_argument("--name", default="bert")
    parser.add_argument("--tiny", action="store_true", help="seconds on a CPU, on made-up reviews")
    parser.add_argument("--from", dest="csv", help="the reviews' CSV, instead of the package's")
    parser.add_argument("--device", help="cpu or cuda; the best there is by default")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rate", type=float, help="the learning rate at its highest")
    parser.add_argument("--minutes", type=float, help="as many steps as fit, in place of --steps; the record says them")
    asked = parser.parse_args(arguments)
    asked.out = checkpoints.out(asked.out, asked.tiny)
    settings = TINY if asked.tiny else Settings()
    settings = replace(settings, steps=asked.steps) if asked.steps else settings
    settings = replace(settings, learning_rate=asked.rate) if asked.rate else settings
    where, watch = device.pick(asked.device), Watch(settings)
    try:
        csv = toy_reviews() if asked.tiny else asked.csv
        corpus = wordpiece.corpus(settings.vocab_size, csv)
        settings = replace(settings, vocab_size=corpus.tokenizer.get_vocab_size())
        corpus = corpus.to(where)
        if asked.minutes:
            settings = replace(settings, steps=steps_within(asked.minutes, settings, corpus, where))
            print(f"{settings.steps:,} steps take about {asked.minutes:g} minutes here.", flush=True)
        watch.settings = settings
        model, found = run(settings, corpus, where)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    record = watch.record(where) | {"data": reviews.checksum(csv)} | found
    checkpoints.save(asked.name, model, corpus.tokenizer, record, asked.out)
    test, counted = record["test"], record["baselines"]
    print(
        f"Masked tokens told: {test['masked']:.3f}; by both neighbours {counted['neighbours']:.3f}, by the commonest "
        f"token {counted['unigram']:.3f}; next sentences {test['next']:.3f}: {asked.out}/{asked.name}.json"
    )


if __name__ == "__main__":
    main()
