"""Pairs in any number, and three parts whose test asks for combinations that training never showed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from random import Random

from helpers.text.grammar import actions, doings, orders, scenes, wishes
from helpers.text.grammar.nouns import nouns
from helpers.text.grammar.setting import Said
from helpers.text.grammar.spelling import sentence
from helpers.text.grammar.verbs import VERBS
from helpers.text.splits import Parts

# How often each kind of sentence is drawn.
KINDS = {
    actions.transitive: 30, actions.with_pronoun: 6, actions.it: 6, actions.nothing: 2, actions.what: 2,
    actions.who: 3, actions.giving: 5, actions.talking: 3, doings.moving: 5, doings.daily: 5, doings.playing: 3,
    scenes.describing: 8, scenes.comparing: 2, scenes.full_of: 2, scenes.trade: 2, scenes.being_where: 4,
    scenes.there_is: 3, scenes.this_is: 2, scenes.weather: 1, wishes.having: 5, wishes.age: 1, wishes.feeling: 2,
    wishes.needing: 2, wishes.liking: 4, wishes.wishing: 2, wishes.loving: 3, wishes.cannot_help: 2,
    wishes.did_not_mean: 2, doings.animals: 2, orders.order: 2, orders.order_about_somebody: 1,
    orders.order_to_give: 2, orders.helping: 2,
}  # fmt: skip
LONGEST = 14  # words and marks, in either language
HELD_OUT = 0.12  # of the verb–object pairs, half for validation and half for the test
TOKEN = re.compile(r"\w+(?:-\w+)*'?|[^\w\s]")


def pairs(n: int, seed: int) -> list[tuple[str, str]]:
    """`n` distinct English–French pairs, no English sentence twice; the same for the same seed.

    "You" is "tu"; "I", "you" and "they" speak of men; apostrophes are straight; "?" and "!" have a space before them
    in French.
    """
    return [pair for pair, _ in islice(_stream(Random(seed)), n)]


def split(n_train: int, n_test: int, seed: int) -> Parts[tuple[str, str]]:
    """`n_train` pairs for training, `n_test` to validate and `n_test` to test.

    Each test sentence has a verb with an object it never has in training or validation; the same for validation. Each
    verb and each noun itself is trained on, with other partners.
    """
    draw = Random(seed)
    held = held_out(draw)
    parts = Parts([], [], [])
    wanted = {"train": n_train, "validation": n_test, "test": n_test}
    for pair, combinations in _stream(draw):
        names = {held.get(c, "train") for c in combinations} - {"train"} or {"train"}
        name = names.pop()
        if not names and len(getattr(parts, name)) < wanted[name]:
            getattr(parts, name).append(pair)
        if all(len(getattr(parts, name)) == wanted[name] for name in wanted):
            return parts
    raise AssertionError


def more_tests(n: int, seed: int, again: int) -> list[tuple[str, str]]:
    """`n` pairs for the test of the split of `seed`, drawn anew from `again`: none is in its training part."""
    held, found = held_out(Random(seed)), []
    for pair, combinations in _stream(Random(again)):
        if {held.get(c, "train") for c in combinations} - {"train"} == {"test"}:
            found.append(pair)
        if len(found) == n:
            return found
    raise AssertionError


def held_out(draw: Random) -> dict[tuple[str, str], str]:
    """A tenth of the verb–object pairs, each with the part that alone may show it."""
    every = sorted({(v.french, n.french[0]) for v in VERBS for n in nouns(v.objects)})
    left = Counter(word for pair in every for word in zip(("verb", "noun"), pair, strict=True))
    total = Counter(left)
    held: dict[tuple[str, str], str] = {}
    draw.shuffle(every)
    for pair in every:
        words = [*zip(("verb", "noun"), pair, strict=True)]
        if len(held) < HELD_OUT * len(every) and all(left[w] > max(2, 0.7 * total[w]) for w in words):
            left.subtract(words)
            held[pair] = "validation" if len(held) % 2 else "test"
    return held


def _stream(draw: Random) -> Iterator[tuple[tuple[str, str], tuple]]:
    """Distinct pairs without end."""
    kinds, weights = list(KINDS), list(KINDS.values())
    seen: set[str] = set()
    while True:
        for kind in draw.choices(kinds, weights, k=1000):
            said: Said = kind(draw)
            english, french = sentence(said.english, said.mark, False), sentence(said.french, said.mark, True)
            if english not in seen and max(length(english), length(french)) <= LONGEST:
                seen.add(english)
                yield (english, french), said.pairs


def length(text: str) -> int:
    """Words and marks: "J'ai faim." has four."""
    return len(TOKEN.findall(text))
