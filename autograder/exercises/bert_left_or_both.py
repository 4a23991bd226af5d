"""bert.left_or_both: the left-to-right twin of the small BERT, handed over as weights and asked for next tokens."""

from __future__ import annotations

from torch import nn

from autograder.exercise import Draws, exercise
from autograder.weights import Found, Slip, Weights
from helpers.experiments import live_masked
from helpers.training import IGNORED, Batch

N_SENTENCES = 400  # 3,000 next tokens or so: a second on one thread
MARGIN = 0.03  # more than three standard errors of a difference on so many


def twin() -> nn.Module:
    return live_masked.model(causal=True)


def held_out(rng: Draws) -> tuple[list[Batch]]:
    """Sentences that are in no training part, each word asked for at the token before it."""
    test = live_masked.texts().test
    return ([live_masked.next_tokens(test[rng.permutation(len(test))[:N_SENTENCES]])],)


def accuracy(model: nn.Module, batches: list[Batch]) -> float:
    return live_masked.told(model, batches)


def pairs(batches: list[Batch]) -> float:
    """What a table of pairs tells: after each token the one that follows it most often."""
    says = [live_masked.follower()[ids][labels != IGNORED] for ids, *_, labels in batches]  # (M,) each
    right = [x == labels[labels != IGNORED] for x, (*_, labels) in zip(says, batches, strict=True)]
    return sum(int(x.sum()) for x in right) / sum(len(x) for x in right)


def told(found: Found) -> str:
    return (
        f"Reading the past alone, your model tells {found.yours:.1%} of the next tokens in held-out sentences; a table "
        f"of pairs is right at {found.baseline:.1%}."
    )


def watched() -> list[Batch]:
    return [live_masked.next_tokens(live_masked.texts().validation[:200])]


def unmasked(found: Found) -> nn.Module:
    """The same weights in a model that reads both sides."""
    model = live_masked.model()
    model.load_state_dict(found.model.state_dict())
    return model.eval()


def looks_ahead(found: Found) -> bool:
    """Whether the same weights do far better where each token may see the next one."""
    return live_masked.told(unmasked(found), watched()) > max(found.yours, found.baseline) + 0.1


def fills_gaps(found: Found) -> bool:
    """Whether the same weights are those of a BERT, which tells what is behind [MASK] and not what comes next."""
    gaps = live_masked.held_out(live_masked.texts().validation, 1, seed=0)
    common = (live_masked.answers(gaps) == live_masked.commonest()).double().mean().item()
    return live_masked.told(unmasked(found), gaps) > max(found.yours, common) + MARGIN


def copies(found: Found) -> bool:
    """Whether the model says, at each token, that token."""
    ((ids, *rest, labels),) = watched()
    asked = (labels != IGNORED) & (ids >= len(live_masked.SPECIAL))  # (B, T)
    return bool((found.model(ids, *rest)[0].argmax(-1) == ids)[asked].double().mean() > 0.5)


def constant(found: Found) -> bool:
    """Whether the model says one token whatever it reads."""
    return len(live_masked.said(found.model, watched()).unique()) == 1


@exercise("bert.left_or_both", points=4, minutes=20, difficulty=3, kind="training")
class LeftOrBoth:
    """Train BERT's twin, which reads from left to right, until it tells more next tokens than a table of pairs, and
    hand over its weights.

    `sentences_at(step)` gives a batch of sentences as they are, ids (B, T) with [CLS] in front and [SEP] and padding at
    the end; what is asked, and where, is yours to write. `live_masked.model(causal=True)` hides the future; without
    `causal` the weights have the same names.

    What counts is the file `bert.left_or_both.safetensors` beside the notebook: the grader puts it into a model of its
    own that reads the past alone, and asks for the next word in sentences that yours has not read.
    """

    signature = "def left_to_right(sentences_at: Callable) -> nn.Module"
    hints = (
        "At place t the model has read the tokens up to t, so it is asked for token t + 1. Where there is none, or "
        "[SEP] or padding comes next, nothing is asked: a label of −100.",
        "A batch is (ids, segment ids, attention mask, labels): zeros for the segments, ids ≠ PAD for the mask. The "
        "loop, rate and loss are those of `bert.pretrain`; 200 steps will do.",
        "`live_masked.next_tokens(ids)` makes such a batch, and `live_masked.loss` is the loss: make a model with "
        "`causal=True`, train it on `lambda step: live_masked.next_tokens(sentences_at(step))`, return it.",
    )
    why = (
        "Your twin has BERT's network and BERT's sentences, and learned another task: only mask and question differ, "
        "which is what makes the two comparable."
    )
    weights = Weights(
        file="bert.left_or_both.safetensors",
        build=twin,
        data=held_out,
        score=accuracy,
        baseline=pairs,
        enough=lambda found: found.yours >= found.baseline + MARGIN,
        told=told,
        advice=(
            f"At least {100 * MARGIN:.0f} points more are asked for, so that chance does not decide: does the loss "
            "still fall? Then train for more steps."
        ),
        slips=(
            Slip(
                "looks ahead",
                looks_ahead,
                lambda _: (
                    "Your model was trained without a causal mask: it has learned to look up the next token, and where "
                    "the future is hidden it knows little. Train `live_masked.model(causal=True)`."
                ),
            ),
            Slip(
                "copies",
                copies,
                lambda _: (
                    "Your model says at each token that very token: it was asked for what it reads, not for what comes "
                    "next. The label at place t is token t + 1."
                ),
            ),
            Slip(
                "masked",
                fills_gaps,
                lambda _: (
                    "These weights fill gaps from both sides, as those of `bert.pretrain` do. The twin reads sentences "
                    "in which nothing is hidden, and is asked at each token for the next one."
                ),
            ),
            Slip(
                "the same answer to everything",
                constant,
                lambda _: (
                    "Your model says one and the same token everywhere: it has learned which is common, not what comes "
                    "after what. Train for more steps; and with a far higher rate it may never get beyond this."
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
