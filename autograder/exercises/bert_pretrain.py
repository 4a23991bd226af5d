"""bert.pretrain: a small BERT of the learner's own, handed over as weights and asked for hidden tokens."""

from __future__ import annotations

from torch import nn

from autograder.exercise import Draws, exercise
from autograder.weights import Found, Slip, Weights
from helpers.experiments import live_masked
from helpers.training import Batch

ROUNDS = 4  # 2,500 hidden tokens or so: a second on one thread
MARGIN = 0.03  # more than three standard errors of a difference on so many


def held_out(rng: Draws) -> tuple[list[Batch]]:
    """Sentences that are in no training part, asked at [MASK] alone."""
    return (live_masked.held_out(live_masked.texts().test, ROUNDS, rng.integer(1, 2**31)),)


def accuracy(model: nn.Module, batches: list[Batch]) -> float:
    return live_masked.told(model, batches)


def commonest(batches: list[Batch]) -> float:
    return (live_masked.answers(batches) == live_masked.commonest()).double().mean().item()


def told(found: Found) -> str:
    return (
        f"Your model tells {found.yours:.1%} of the tokens behind [MASK] in held-out sentences; who always says the "
        f"commonest token is right at {found.baseline:.1%}."
    )


def constant(found: Found) -> bool:
    """Whether the model says one token whatever it reads."""
    batches = live_masked.held_out(live_masked.texts().validation, 1, seed=0)
    return len(live_masked.said(found.model, batches).unique()) == 1


def copies(found: Found) -> bool:
    """Whether the model says, of each token that it sees, that token."""
    *inputs, _ = live_masked.held_out(live_masked.texts().validation, 1, seed=0)[0]
    ids, tokens = inputs[0], found.model(*inputs)[0]  # (B, T), (B, T, V)
    seen = ids >= len(live_masked.SPECIAL)  # (B, T)
    return bool((tokens.argmax(-1) == ids)[seen].double().mean() > 0.9) and found.yours < found.baseline + MARGIN


@exercise("bert.pretrain", points=4, minutes=20, difficulty=3, kind="training")
class Pretrain:
    """Pretrain a tiny BERT until it tells more hidden tokens than who always says the commonest one, and hand over its
    weights. What counts is the file `bert.pretrain.safetensors` beside the notebook: the grader puts it into a model of
    its own and hides tokens in sentences that yours has not read. It asks at [MASK] alone.
    """

    signature = "def pretrain(model: nn.Module, batch_at: Callable) -> nn.Module"
    hints = (
        "Each batch holds ids, segment ids, attention mask and labels. The model gives two logits: the first are those "
        "of the tokens.",
        "The loss is `bert.mlm_loss`, or the sum of it where a loop divides. AdamW with a rate of 3e-3 that rises for "
        "forty steps and then falls, clipped gradients, 400 steps.",
        "`training.train(model, batch_at, live_masked.settings.plan, live_masked.loss)`, then `return model`.",
    )
    why = "Your model has learned from what stands on both sides of a gap, and nobody labelled a word for it."
    weights = Weights(
        file="bert.pretrain.safetensors",
        build=live_masked.model,
        data=held_out,
        score=accuracy,
        baseline=commonest,
        enough=lambda found: found.yours >= found.baseline + MARGIN,
        told=told,
        advice=(
            f"At least {100 * MARGIN:.0f} points more are asked for, so that chance does not decide: does the loss "
            "still fall? Then train for more steps."
        ),
        slips=(
            Slip(
                "copies",
                copies,
                lambda _: (
                    "Your model says of each token that token, and nothing of use at [MASK]: it was asked for tokens "
                    "that stood in its input. Train on masked inputs, with labels of −100 where nothing was chosen."
                ),
            ),
            Slip(
                "the same answer to everything",
                constant,
                lambda _: (
                    "Your model says one and the same token at every [MASK]: it has learned which is common, not what "
                    "goes with what. Train for more steps; and with a far higher rate it may never get beyond this."
                ),
            ),
            Slip(
                "not trained",
                lambda found: found.yours < found.baseline / 4,
                lambda _: (
                    "These weights know next to nothing, not even which tokens are common. Hand in the model that was "
                    "trained, after its training, not a new one like it."
                ),
            ),
        ),
    )
