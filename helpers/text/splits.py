"""Which texts teach and which texts test: three parts that share nothing.

Where a text belongs follows from its words alone, so it is the same on every machine and in every session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic, TypeVar

import numpy as np

RUN = 13  # texts that share so many words in a row are near-duplicates (Brown et al. 2020, appendix C)
PARTS = ("train", "validation", "test")

Text = TypeVar("Text")


@dataclass(frozen=True)
class Parts(Generic[Text]):
    """A corpus in three parts that share no text."""

    train: list[Text]
    validation: list[Text]
    test: list[Text]


def normalise(text: str) -> str:
    """The words alone, in lower case: two texts that are alike here are duplicates."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def part(text: str) -> str:
    """The part a text belongs to, by a hash of its normalised form: eight tenths train, one validates, one tests."""
    tenth = int.from_bytes(sha256(normalise(text).encode()).digest()[:8], "big") % 10
    return {0: "test", 1: "validation"}.get(tenth, "train")


def split(*corpora: Iterable, text: Callable[[Any], str] = lambda x: x if isinstance(x, str) else x[0]) -> list[Parts]:
    """Each corpus in three parts; a corpus holds texts, or tuples whose first entry is one.

    Of duplicates the first stays. No text for training is a near-duplicate of one for validation or testing, and none
    for validation of one for testing, in any of the corpora: those in the earlier part go.
    """
    seen: set[str] = set()
    vocabulary: dict[str, int] = {}
    bins = [{name: [] for name in PARTS} for _ in corpora]
    for corpus, parts in zip(corpora, bins, strict=True):
        for item in corpus:
            words = normalise(text(item))
            if words and words not in seen:
                seen.add(words)
                ids = [vocabulary.setdefault(w, len(vocabulary)) for w in words.split()]
                parts[part(words)].append((item, _runs(ids)))
    held_out: set[int] = set()
    for name in reversed(PARTS):
        for parts in bins:
            parts[name] = [(item, runs) for item, runs in parts[name] if held_out.isdisjoint(runs.tolist())]
        held_out.update(*(runs.tolist() for parts in bins for _, runs in parts[name] if name != "train"))
    return [Parts(**{name: [item for item, _ in parts[name]] for name in PARTS}) for parts in bins]


def _runs(ids: list[int]) -> np.ndarray:
    """A number for each run of RUN words (a polynomial modulo 2^64), for a shorter text one for all of it."""
    words = np.array(ids, np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
    size = min(RUN, len(words))
    runs = np.zeros(len(words) - size + 1, np.uint64)
    for i in range(size):
        runs = runs * np.uint64(0xD6E8FEB86659FD93) + words[i : i + len(runs)]
    return runs
