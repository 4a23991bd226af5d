"""Reviews that nobody wrote: a tiny grammar, for tests and for machines without the real ones."""

from __future__ import annotations

import csv
import random
from pathlib import Path

THINGS = ["the plot", "the acting", "the music", "the camera work", "the ending", "the dialogue", "the leading man"]
PEOPLE = ["my sister", "the whole family", "a friend of mine", "nobody in the hall", "the critic beside me"]
VERBS = ["laughed at", "remembered", "talked about", "waited for", "slept through"]
GOOD = ["wonderful", "moving", "clever", "a quiet delight", "worth the ticket", "beautifully paced"]
BAD = ["dreadful", "dull", "clumsy", "a long yawn", "a waste of an evening", "badly paced"]
SHAPES = [
    "{thing} is {view}.",
    "{thing} and {other} are both {view}, and {person} {verb} {thing}.",
    "although {person} {verb} {other}, {thing} is {view}.",
    "I found {thing} {view}; {person} {verb} it.",
]


def made_up(n: int = 400, seed: int = 0) -> list[tuple[str, int]]:
    """`n` different short reviews, each with 1 if it praises and 0 if it does not; the same for the same seed."""
    draw, found = random.Random(seed), {}
    while len(found) < n:
        label = draw.randrange(2)
        text = " ".join(_sentence(draw, GOOD if label else BAD) for _ in range(draw.randint(1, 4)))
        found.setdefault(text, label)
    return list(found.items())


def _sentence(draw: random.Random, views: list[str]) -> str:
    thing, other = draw.sample(THINGS, 2)
    words = {"view": draw.choice(views), "person": draw.choice(PEOPLE), "verb": draw.choice(VERBS)}
    sentence = draw.choice(SHAPES).format(thing=thing, other=other, **words)
    return sentence[0].upper() + sentence[1:]


def write_csv(path: str | Path, n: int = 400, seed: int = 0) -> Path:
    """The same as a CSV that `imdb(path)` and `sentences(path)` read, in equal shares."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        rows = [(*row, ("imdb", "rotten_tomatoes")[i % 2]) for i, row in enumerate(made_up(n, seed))]
        csv.writer(file).writerows([("text", "label", "source"), *rows])
    return Path(path)
