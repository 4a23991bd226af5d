"""The small translator that 06 trains while you watch, on the course's own pairs: its sizes, pairs and rival.

The rival translates word by word, with a dictionary counted in the same training pairs.

    python -m helpers.experiments.small_translator --out FOLDER

trains one and writes translation.train.safetensors, which is what a learner hands in. `--tiny` stops after two steps.

    python -m helpers.experiments.small_translator --seeds 3 --out helpers/checkpoints

trains three that differ by their seeds alone, and writes small_translator.json: the BLEU that each reached.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import torch
from tokenizers import Tokenizer

from helpers import checkpoints, suspects, translator
from helpers.experiments import Watch
from helpers.models import Transformer
from helpers.text import grammar, translation
from helpers.text import tokenizer as tokenizers
from helpers.text.grammar.corpus import TOKEN
from helpers.text.splits import Parts
from helpers.training import Plan, summed_loss, train

Pair = tuple[str, str]
TOKENIZER = suspects.HERE / "ash.tokenizer.json"  # all five have the same one, learned from the grammar's pairs


@dataclass(frozen=True)
class Settings:
    """Sizes and recipe of the live run: under a minute on one core."""

    n_pairs: int = 20_000
    n_held_out: int = 300
    vocab_size: int = 800
    d_model: int = 96
    n_heads: int = 4
    d_ff: int = 192
    n_layers: int = 2
    batch_size: int = 32
    steps: int = 900
    learning_rate: float = 4e-3
    warmup: int = 80
    smoothing: float = 0.1
    every: int = 100
    seed: int = 2017

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """What `translator.build` takes."""
        return self.vocab_size, self.d_model, self.n_heads, self.d_ff, self.n_layers

    @property
    def plan(self) -> Plan:
        """What `training.train` takes."""
        return Plan(self.steps, self.learning_rate, self.warmup, seed=self.seed, every=self.every)


settings = Settings()


def model() -> Transformer:
    """An untrained translator of these sizes. Pre-norm, which needs fewer steps."""
    return translator.build(*settings.shape, norm_first=True)


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer of the grammar's pairs."""
    return tokenizers.load(TOKENIZER)


@cache
def pairs(n_train: int = settings.n_pairs) -> Parts[Pair]:
    """Pairs to learn from, to look at, and to test; each of the last two has verbs with objects that no other has."""
    return grammar.split(n_train, settings.n_held_out, settings.seed)


def some_pairs() -> Parts[Pair]:
    """The same test, beside fewer pairs to learn from: enough to count a dictionary, in a second."""
    return pairs(4000)


# ---- the rival ----


def words(text: str) -> list[str]:
    """Words and marks, "l'" being one."""
    return TOKEN.findall(text)


def count(some: Iterable[Pair]) -> dict[str, str]:
    """A dictionary: for each English word the French one that keeps it company most faithfully.

    Faithful is a word that comes wherever the other does, and nowhere else: n(e, f)² / n(e) n(f) is near 1.
    """
    together, english, french = Counter(), Counter(), Counter()
    for e, f in some:
        left, right = set(words(e)), set(words(f))
        english.update(left)
        french.update(right)
        together.update((a, b) for a in left for b in right)
    best: dict[str, tuple[float, str]] = {}
    for (a, b), n in together.items():
        best[a] = max(best.get(a, (0.0, "")), (n * n / (english[a] * french[b]), b))
    return {a: b for a, (_, b) in best.items()}


@cache
def dictionary() -> dict[str, str]:
    """Counted in some of the training pairs."""
    return count(some_pairs().train)


def word_by_word(texts: Sequence[str]) -> list[str]:
    """Each word by the one that stands in the dictionary, in English order."""
    said = (" ".join(dictionary().get(word, word) for word in words(text)) for text in texts)
    return [re.sub(r" (?=[.,])", "", text).replace("' ", "'") for text in said]


# ---- the run ----


def run(parts: Parts[Pair], seed: int, steps: int) -> tuple[Transformer, dict[str, float]]:
    """A trained model, and what was found: its seed, processor seconds of training, BLEU on the test."""
    tokens, plan = tokenizer(), replace(settings.plan, steps=steps, seed=seed)
    english, french = zip(*parts.train, strict=True)
    source, target = translation.source_ids(tokens, english), translation.target_ids(tokens, french)
    torch.manual_seed(seed)
    made = model()
    at, began = translation.batches_at(source, target, settings.batch_size, seed), time.process_time()
    train(made, at, plan, partial(summed_loss, smoothing=settings.smoothing), title=f"seed {seed}")
    seconds = time.process_time() - began
    said = translator.translate(made.eval(), tokens, [english for english, _ in parts.test])
    return made, {"seed": seed, "cpu_seconds": round(seconds, 1), "bleu": bleu(said, parts)}


def bleu(said: Sequence[str], parts: Parts[Pair]) -> float:
    """BLEU on the test part."""
    return translator.bleu(said, [[french] for _, french in parts.test])


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.small_translator", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(), help="folder for what is written")
    parser.add_argument("--seed", type=int, default=settings.seed, help="the first one")
    parser.add_argument("--seeds", type=int, help="how many; then small_translator.json is written")
    parser.add_argument("--tiny", action="store_true", help="two steps")
    asked = parser.parse_args(arguments)
    watch, steps = Watch(settings), 2 if asked.tiny else settings.steps
    parts = pairs(200 if asked.tiny else settings.n_pairs)
    neighbour = bleu(word_by_word([english for english, _ in parts.test]), parts)
    runs = []
    for seed in range(asked.seed, asked.seed + (asked.seeds or 1)):
        made, found = run(parts, seed, steps)
        runs.append(found)
        print(f"seed {seed}: BLEU {found['bleu']:.1f}; word by word {neighbour:.1f}", flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.seeds:
        about = {"word by word": neighbour, "runs": runs}
        checkpoints.write(watch.record(torch.device("cpu")) | about, asked.out / "small_translator.json")
    else:
        checkpoints.hand_in(made, "translation.train", asked.out)


if __name__ == "__main__":
    main()
