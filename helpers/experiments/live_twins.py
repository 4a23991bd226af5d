"""Left to right against masked while you watch: the tiny BERT of 09 and its twin, asked for the same words.

Same network, first weights, sentences in the same order, steps and rates; only mask and question differ. One seed of a
tiny grammar: it shows how fast each learns from the same text, not which is better in the end.

Letters for shapes: N sentences, T time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from helpers.experiments import live_masked
from helpers.text.wordpiece import MASK, PAD, SPECIAL
from helpers.training import IGNORED, Batch

WAYS = ("left to right", "masked")


@dataclass(frozen=True)
class Race:
    """After so many steps: the answers that training had given to each way, and the share of the words told by each.

    `left_alone` is the masked model's share in the end if what stands on the right of the word is cut off.
    """

    steps: list[int]
    answers: dict[str, list[int]]
    told: dict[str, list[float]]
    left_alone: float
    n_words: int


def race(steps: int = 320) -> Race:
    """Train both, and ask them for the same held-out words again and again."""
    words = same_words(live_masked.texts().validation, rounds=2, seed=0)
    plan = replace(live_masked.settings.plan, steps=steps)
    told, answers = {}, {}
    for way in WAYS:
        causal, asked = way == "left to right", words[way]
        model, curve = live_masked.pretrain(plan, causal, lambda m, asked=asked: live_masked.told(m, asked), way)
        told[way] = [point.measured for point in curve]
        counted = [int((live_masked.batch_at(step, causal)[-1] != IGNORED).sum()) for step in range(steps)]
        answers[way] = [sum(counted[: point.step]) for point in curve]
    alone = live_masked.told(model.eval(), words["left side alone"])  # the masked one's, which came last
    return Race([point.step for point in curve], answers, told, alone, len(live_masked.answers(asked)))


def same_words(ids: Tensor, rounds: int, seed: int) -> dict[str, list[Batch]]:
    """A word of each sentence (N, T), `rounds` times: as a gap, at the token before it, and as a gap with nothing
    behind it.
    """
    generator = torch.Generator().manual_seed(seed)
    asked: dict[str, list[Batch]] = {way: [] for way in (*WAYS, "left side alone")}
    for _ in range(rounds):
        place = torch.multinomial((ids >= len(SPECIAL)).float(), 1, generator=generator)  # (N, 1)
        here = torch.arange(ids.shape[1])  # (T,)
        labels = ids.masked_fill(here != place, IGNORED)  # (N, T)
        gap = ids.masked_fill(here == place, MASK)  # (N, T)
        asked["masked"].append(live_masked.with_marks(gap, labels))
        asked["left to right"].append(live_masked.with_marks(ids, live_masked.one_earlier(labels)))
        asked["left side alone"].append(live_masked.with_marks(gap.masked_fill(here > place, PAD), labels))
    return asked
