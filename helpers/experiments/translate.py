"""Train the translator of the course, English to French:

    python -m helpers.experiments.translate --corpus tatoeba --out helpers/checkpoints
    python -m helpers.experiments.translate --corpus grammar --out /tmp/grammar --seed 1

The first takes a GPU some minutes, the second a CPU about one. Each writes NAME.safetensors, NAME.tokenizer.json and
NAME.json (how it was made, the curve, BLEU on held-out sentences). `--tiny` is a run of seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import nn

from helpers import checkpoints, device, translator
from helpers.experiments import Watch
from helpers.models import Transformer
from helpers.text import tatoeba, translation
from helpers.text.splits import Parts, split
from helpers.training import Plan, Point, summed_loss, train


@dataclass(frozen=True)
class Settings:
    """The run's sizes: by default those for Tatoeba on a GPU."""

    vocab_size: int = 4000
    d_model: int = 256
    n_heads: int = 4
    d_ff: int = 480
    n_layers: int = 3
    norm_first: bool = True
    dropout: float = 0.2
    smoothing: float = 0.1
    max_len: int = 48  # tokens: longer pairs are not trained on
    batch_size: int = 1024
    steps: int = 20_000
    learning_rate: float = 2e-3
    warmup: int = 2_000
    schedule: str = "inverse root"
    averaged: int = 8  # the last so many points' weights are averaged (Vaswani et al. 2017, section 6.1)
    every: int = 500
    n_validation: int = 1000  # sentences translated at each point
    n_beam: int = 2000  # sentences translated by beam search too
    width: int = 4
    alpha: float = 0.6
    seed: int = 2017

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """What `translator.build` takes."""
        return self.vocab_size, self.d_model, self.n_heads, self.d_ff, self.n_layers


GRAMMAR = Settings(
    2000, 128, 4, 256, 2, dropout=0.0, batch_size=64, steps=700, warmup=100, schedule="cosine", averaged=1, every=100,
    n_validation=100, n_beam=100,
)  # fmt: skip
TINY = Settings(
    200, 24, 2, 32, 1, dropout=0.0, batch_size=16, steps=30, warmup=5, every=10, averaged=2, n_validation=8, n_beam=4
)


# ---- data ----


def grammar_corpus(n_train: int = 30_000, n_test: int = 1000) -> Parts[tatoeba.Sentence]:
    """The course's own pairs, in the form of Tatoeba's."""
    from helpers.text import grammar

    parts = grammar.split(n_train, n_test, 2017)
    return Parts(**{name: [(english, [french]) for english, french in rows] for name, rows in vars(parts).items()})


def toy_corpus() -> Parts[tatoeba.Sentence]:
    """Some hundred sentences, for runs of seconds."""
    things = {"car": "voiture", "door": "porte", "apple": "pomme", "table": "table", "house": "maison"}
    kinds = {"red": "rouge", "yellow": "jaune", "huge": "énorme", "strange": "étrange", "clean": "propre"}
    places = {"here": "ici", "there": "là", "far away": "loin", "in the street": "dans la rue"}
    every = [
        (f"The {kind} {thing} is {place}.", [f"La {things[thing]} {kinds[kind]} est {places[place]}."])
        for thing in things
        for kind in kinds
        for place in places
    ]
    return split(every)[0]


# ---- the run ----


class Average:
    """The mean of a model's weights at the last points of a run."""

    def __init__(self, n_points: int) -> None:
        self.kept: deque[dict[str, torch.Tensor]] = deque(maxlen=n_points)

    def note(self, model: nn.Module) -> None:
        """Remember the weights as they are now."""
        self.kept.append({key: x.detach().clone() for key, x in model.named_parameters()})

    @torch.no_grad()
    def put(self, model: nn.Module) -> None:
        """Give the model the mean of what was remembered."""
        for key, x in model.named_parameters():
            x.copy_(torch.stack([state[key] for state in self.kept]).mean(0))


def run(
    settings: Settings, parts: Parts[tatoeba.Sentence], where: torch.device, minutes: float = float("inf")
) -> tuple[Transformer, Tokenizer, dict[str, Any]]:
    """The model, its weights rounded to half precision, its tokenizer, and what was found, as plain values.

    Training ends after `settings.steps` steps, or after the first point that comes after so many minutes.
    """
    started = time.monotonic()
    pairs = [(english, one) for english, french in parts.train for one in french]
    tokenizer = translation.train_tokenizer((text for pair in pairs for text in pair), settings.vocab_size)
    settings = replace(settings, vocab_size=tokenizer.get_vocab_size())
    torch.manual_seed(settings.seed)
    model = translator.build(*settings.shape, norm_first=settings.norm_first, dropout=settings.dropout).to(where)
    checkpoints.check_size(model)
    n_weights = sum(x.numel() for x in model.parameters())
    source, target = _short(tokenizer, pairs, settings.max_len)
    print(f"{len(source):,} pairs, {settings.vocab_size:,} tokens, {n_weights:,} weights", flush=True)
    average = Average(settings.averaged)

    def evaluate(model: nn.Module) -> float:
        average.note(model)
        return score(model, tokenizer, parts.validation[: settings.n_validation])

    def stop(point: Point) -> bool:
        seconds = time.monotonic() - started
        print(f"step {point.step:,}, {seconds:.0f} s: loss {point.loss:.3f}, BLEU {point.measured:.1f}", flush=True)
        return seconds > 60 * minutes

    plan = Plan(
        settings.steps, settings.learning_rate, settings.warmup, settings.schedule, seed=settings.seed,
        every=settings.every,
    )  # fmt: skip
    batch_at = translation.batches_at(source.to(where), target.to(where), settings.batch_size, settings.seed)
    loss = partial(summed_loss, smoothing=settings.smoothing)
    curve = train(model, batch_at, plan, loss, evaluate, title="translator", stop=stop)
    average.put(model)
    checkpoints.round_to_half(model.eval())
    print(f"trained in {time.monotonic() - started:.0f} s, now the test", flush=True)
    found = {
        "pairs": len(source),
        "weights": n_weights,
        "seconds_training": round(time.monotonic() - started, 1),
        "curve": [asdict(point) for point in curve],
        "validation": {
            "last": curve[-1].measured,
            "averaged": score(model, tokenizer, parts.validation[: settings.n_validation]),
        },
        "test": measure(model, tokenizer, parts.test, settings),
    }
    return model, tokenizer, found


def _short(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], max_len: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids (N, S) and (N, T) of the pairs that have no more than max_len tokens on either side."""
    english, french = zip(*pairs, strict=True)
    source, target = translation.source_ids(tokenizer, english), translation.target_ids(tokenizer, french)
    short = ((source != translation.PAD).sum(1) <= max_len) & ((target != translation.PAD).sum(1) <= max_len)  # (N,)
    return source[short, :max_len], target[short, :max_len]


def score(model: nn.Module, tokenizer: Tokenizer, sentences: Sequence[tatoeba.Sentence], width: int = 1) -> float:
    """BLEU against all translations that people gave."""
    said = translator.translate(model, tokenizer, [english for english, _ in sentences], width)
    return translator.bleu(said, [french for _, french in sentences])


def measure(
    model: nn.Module, tokenizer: Tokenizer, test: Sequence[tatoeba.Sentence], settings: Settings
) -> dict[str, Any]:
    """BLEU on the test part: greedy on all of it, greedy and beam on some of it, and a few translations."""
    every = [english for english, _ in test]
    step = max(1, len(test) // settings.n_beam)
    some = test[::step][: settings.n_beam]  # from all over the part, whose sentences come short to long
    greedy = translator.translate(model, tokenizer, every)
    beam = translator.translate(model, tokenizer, [english for english, _ in some], settings.width, settings.alpha)
    references, of_some = [french for _, french in test], [french for _, french in some]
    of_greedy = greedy[::step][: settings.n_beam]
    return {
        "sentences": len(test),
        "references": sum(map(len, references)),
        "greedy": translator.bleu(greedy, references),
        "greedy, first reference alone": translator.bleu(greedy, [french[:1] for french in references]),
        "some": {
            "sentences": len(some),
            "greedy": translator.bleu(of_greedy, of_some),
            f"beam of {settings.width}, alpha {settings.alpha}": translator.bleu(beam, of_some),
        },
        "samples": [
            {"english": some[i][0], "greedy": of_greedy[i], "beam": beam[i], "people": some[i][1]}
            for i in range(0, len(some), max(1, len(some) // 20))
        ],
    }


def _others(given: Sequence[str]) -> dict[str, Any]:
    """What NAME=VALUE set. ValueError with a sentence."""
    found, known = {}, asdict(Settings())
    for one in given:
        name, _, value = one.partition("=")
        try:
            found[name] = type(known[name])(json.loads(value))
        except (KeyError, ValueError, TypeError):
            raise ValueError(f"--set {one} sets nothing: NAME=VALUE, NAME one of {', '.join(known)}.") from None
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m helpers.experiments.translate", description=__doc__)
    parser.add_argument("--corpus", choices=["tatoeba", "grammar"], default="tatoeba")
    parser.add_argument("--out", type=Path, help="folder for the three files")
    parser.add_argument("--name", help="what they are called; by default as the corpus")
    parser.add_argument("--tiny", action="store_true", help="seconds on a CPU, on a hundred sentences")
    parser.add_argument("--from", dest="zip", help="Tatoeba's zip, instead of the one that `workbook data` keeps")
    parser.add_argument("--device", help="cpu or cuda; the best there is by default")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of training, at most")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="other settings, e.g. dropout=0.3")
    asked = parser.parse_args(arguments)
    asked.out = checkpoints.out(asked.out, asked.tiny)
    settings = TINY if asked.tiny else GRAMMAR if asked.corpus == "grammar" else Settings()
    where = device.pick(asked.device)
    try:
        settings = replace(settings, **_others(asked.set))
        settings = settings if asked.seed is None else replace(settings, seed=asked.seed)
        watch = Watch(settings)
        if asked.tiny:
            parts, data = toy_corpus(), "a hundred sentences of our own"
        elif asked.corpus == "grammar":
            parts, data = grammar_corpus(), "a grammar of our own"
        else:
            parts, data = tatoeba.corpus(asked.zip), tatoeba.checksum(asked.zip)
        model, tokenizer, found = run(settings, parts, where, asked.minutes)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    watch.settings = replace(settings, vocab_size=tokenizer.get_vocab_size())
    record = watch.record(where) | {"data": data} | found
    name = asked.name or asked.corpus
    checkpoints.save(name, model, tokenizer, record, asked.out)
    test = record["test"]
    print(json.dumps({key: test[key] for key in ("sentences", "references", "greedy", "some")}))
    print(f"Test BLEU {test['greedy']:.1f}: {asked.out}/{name}.json")


if __name__ == "__main__":
    main()
