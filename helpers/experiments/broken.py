"""Train five translators that are each spoilt by one real fault, on the course's own pairs:

    python -m helpers.experiments.broken --names one,two,three,four,five --out helpers/checkpoints/broken

takes a CPU some minutes. The names stand for the faults in the order of `helpers.suspects.FAULTS`; nothing that is
written says so. `--tiny` is a run of seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from helpers import checkpoints, suspects
from helpers.experiments.translate import grammar_corpus, score, toy_corpus
from helpers.suspects import FAULTS, Suspect
from helpers.text import tatoeba, translation
from helpers.text.splits import Parts
from helpers.training import IGNORED, Batch, Plan, epochs_at, train


@dataclass(frozen=True)
class Settings:
    """The sizes of each: 400 kB in half precision."""

    vocab_size: int = 800
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 64
    n_layers: int = 2
    max_len: int = 24
    batch_size: int = 64
    steps: int = 2000
    learning_rate: float = 4e-3
    warmup: int = 100
    every: int = 200
    n_test: int = 200
    seed: int = 2017


TINY = Settings(160, 16, 2, 16, 1, batch_size=8, steps=20, warmup=5, every=10, n_test=5)


def spoil(fault: str, batch: Batch) -> Batch:
    """The batch that a learner with this fault would train on."""
    source, read, said = batch
    if fault == "unshifted targets":
        read = said.masked_fill(said == IGNORED, translation.PAD)
    if fault == "padding counted in the loss":
        said = said.masked_fill(said == IGNORED, translation.PAD)
    return source, read, said


def make(fault: str, settings: Settings) -> Suspect:
    """A fresh model with this fault, or with none if it has another name."""
    shape = (settings.vocab_size, settings.d_model, settings.n_heads, settings.d_ff, settings.n_layers)
    torch.manual_seed(settings.seed)
    return Suspect(
        *shape,
        hides_future=fault != "no causal mask",
        hides_pads=fault != "padding attended to",
        knows_places=fault != "no positions",
    )


def prepare(settings: Settings, parts: Parts[tatoeba.Sentence]) -> tuple[Tokenizer, Tensor, Tensor]:
    """The tokenizer, and the training pairs' ids (N, S) and (N, T), all padded to the longest of the corpus."""
    pairs = [(english, french[0]) for english, french in parts.train]
    tokenizer = translation.train_tokenizer((text for pair in pairs for text in pair), settings.vocab_size)
    source = translation.source_ids(tokenizer, [english for english, _ in pairs])
    target = translation.target_ids(tokenizer, [french for _, french in pairs])
    short = (source != translation.PAD).sum(1).maximum((target != translation.PAD).sum(1)) <= settings.max_len  # (N,)
    return tokenizer, source[short, : settings.max_len], target[short, : settings.max_len]


def run(
    fault: str, settings: Settings, tokenizer: Tokenizer, source: Tensor, target: Tensor, parts: Parts[tatoeba.Sentence]
) -> tuple[Suspect, dict[str, Any]]:
    """The spoilt model, rounded to half precision, and what is told of it: its curve and BLEU, not its fault."""
    model = make(fault, settings)
    at = epochs_at((source, target), settings.batch_size, settings.seed)
    plan = Plan(settings.steps, settings.learning_rate, settings.warmup, seed=settings.seed, every=settings.every)
    curve = train(model, lambda step: spoil(fault, translation.batch(*at(step))), plan, title=fault)
    checkpoints.round_to_half(model.eval())
    bleu = score(model, tokenizer, parts.test[: settings.n_test])
    record = {"settings": asdict(settings), "curve": [asdict(point) for point in curve], "bleu": bleu}
    return model, record


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.broken", description=__doc__)
    parser.add_argument("--names", required=True, help="five, with commas, in the order of the faults")
    parser.add_argument("--out", type=Path, help="folder for three files of each")
    parser.add_argument("--tiny", action="store_true", help="seconds, on a hundred sentences")
    asked = parser.parse_args(arguments)
    asked.out = checkpoints.out(asked.out, asked.tiny, suspects.HERE)
    names = asked.names.split(",")
    if len(set(names)) != len(FAULTS):
        raise SystemExit(f"--names {asked.names} are not {len(FAULTS)} names: give one for each fault.")
    settings = TINY if asked.tiny else Settings()
    parts = toy_corpus() if asked.tiny else grammar_corpus()
    tokenizer, source, target = prepare(settings, parts)
    settings = replace(settings, vocab_size=tokenizer.get_vocab_size())
    for fault, name in zip(FAULTS, names, strict=True):
        model, record = run(fault, settings, tokenizer, source, target, parts)
        checkpoints.save(name, model, tokenizer, record, asked.out)
        found = suspects.examine(model, tokenizer, [(english, french[0]) for english, french in parts.test[:50]])
        symptoms = ", ".join(f"{other} {share:.2f}" for other, share in found.items())
        print(f"{name}: loss {record['curve'][-1]['loss']:.3f}, BLEU {record['bleu']:.1f}; {symptoms}", flush=True)


if __name__ == "__main__":
    main()
