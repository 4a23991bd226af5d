"""finetune.compare: a fine-tuned classifier, handed over as weights and measured against training from scratch."""

from __future__ import annotations

from torch import Tensor, nn

from autograder.exercise import Draws, exercise
from autograder.weights import Found, Slip, Weights
from helpers import finetune
from helpers.experiments import compare
from helpers.text import sentences

N_SENTENCES = 500  # held-out sentences that are read: two seconds on one thread
MARGIN = 0.05  # more than two standard errors of a difference on so many


def held_out(rng: Draws) -> tuple[list[tuple[Tensor, Tensor]]]:
    """Sentences that are in no training part, in batches of ids (B, T) and labels (B,)."""
    test = sentences().test
    order = rng.permutation(len(test))[:N_SENTENCES].tolist()
    return (compare.held_out([test[i] for i in order]),)


def accuracy(model: nn.Module, batches: list[tuple[Tensor, Tensor]]) -> float:
    return finetune.evaluate(model, batches)


def from_scratch(batches: list[tuple[Tensor, Tensor]]) -> float:
    """The best of the recorded runs from scratch, of the same sizes and steps as the notebook's."""
    return max(compare.recorded()["accuracy"]["scratch"])


def told(found: Found) -> str:
    return (
        f"Right on {found.yours:.1%} of {N_SENTENCES} held-out sentences; "
        f"the best of {len(compare.settings.seeds)} short runs from scratch was right on {found.baseline:.1%}."
    )


@exercise("finetune.compare", points=4, minutes=20, difficulty=3, kind="training")
class Compare:
    """Fine-tune the pretrained model on sentences with a label until it beats what the same training reaches from
    scratch, and hand over its weights. What counts is the file `finetune.compare.safetensors` beside the notebook: the
    grader reads sentences that are in no training part, and has trained from scratch itself. A frozen body under a good
    head may be enough.
    """

    signature = "def fine_tune(model: nn.Module, batch_at: Callable) -> nn.Module"
    hints = (
        "The body's weights are loaded before training, and the loss is that of the classes.",
        "`finetune.load_body` puts the checkpoint's body under a new head; a learning rate far below pretraining's "
        "keeps what it knows.",
        "`training.train(model, batch_at, plan)` with a learning rate of 5e-4, a hundred steps or more, "
        "then `return model`.",
    )
    why = "With few labelled sentences, most of what the classifier knows came from text that nobody had to label."
    weights = Weights(
        file="finetune.compare.safetensors",
        build=compare.model,
        data=held_out,
        score=accuracy,
        baseline=from_scratch,
        enough=lambda found: found.yours >= found.baseline + MARGIN,
        told=told,
        advice=(
            f"At least {MARGIN * 100:.0f} points more are asked for, so that chance does not decide: was the body "
            "loaded before training, and does the learning rate leave it what it knows?"
        ),
        slips=(
            Slip(
                "classes swapped",
                lambda found: found.yours < 0.4,
                lambda found: (
                    f"Your classifier is wrong on {1 - found.yours:.1%} of the sentences, far more than a coin: it has "
                    "learned the task with the classes the wrong way round. Row 1 of the head must stand for praise."
                ),
            ),
            Slip(
                "no better than a coin",
                lambda found: found.yours < 0.55,
                lambda found: (
                    f"With {found.yours:.1%} right your classifier is no better than a coin: was its head trained, and "
                    "are labels and sentences still in the same order after shuffling?"
                ),
            ),
        ),
    )
