"""07_language_model: one training step."""

import torch
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from autograder.exercise import exercise, holds, mistake
from helpers import training


def _mean(model, inputs, targets):
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def _weights(after, weights, rate, batches, max_norm, accumulate):
    """The weights, and whether the largest part was the whole batch though parts were asked for."""
    whole = accumulate > 1 and after["rows"] >= len(batches[0][0])
    return {name: after[name] for name in weights} | {"at once": whole}


def _all_at_once(model, batch, optimizer, max_norm, accumulate):
    _step()(model, batch, optimizer, max_norm, 1)


def _shifted(model, inputs, targets):
    return F.cross_entropy(model(inputs)[:, :-1].flatten(0, 1), targets[:, 1:].flatten())


def _evaluating(model, *given):
    model.eval()
    _step()(model, *given)


def _evaluating_meanwhile(model, *given):
    _evaluating(model, *given)
    model.train()


def _evaluating_afterwards(model, *given):
    _step()(model, *given)
    model.eval()


def _even(x, n_parts):
    return x.tensor_split(n_parts)


def _step(
    clear="first",
    clip="before",
    weight=lambda part, whole, n: len(part) / len(whole),
    split=_even,
    steps="once",
    clipper=clip_grad_norm_,
    loss=_mean,
):
    """A training step whose parts can be exchanged one by one."""

    def made(model, batch, optimizer, max_norm, accumulate):
        inputs, targets = batch
        if clear == "first":
            optimizer.zero_grad()
        for x, y in zip(split(inputs, accumulate), split(targets, accumulate), strict=True):
            if clear == "each part":
                optimizer.zero_grad()
            (loss(model, x, y) * weight(x, inputs, accumulate)).backward()
            if clip == "each part":
                clipper(model.parameters(), max_norm)
            if steps == "each part":
                clipper(model.parameters(), max_norm)
                optimizer.step()
        if clip == "before":
            clipper(model.parameters(), max_norm)
        if steps == "once":
            optimizer.step()
        if clip == "after":
            clipper(model.parameters(), max_norm)

    return made


def _by_length(parameters, max_norm):
    """Every gradient is brought to max_norm, the small ones too."""
    parameters = list(parameters)
    length = torch.stack([p.grad.norm() for p in parameters]).norm()
    for p in parameters:
        p.grad.mul_(max_norm / length)


def _each_alone(parameters, max_norm):
    for p in parameters:
        clip_grad_norm_([p], max_norm)


def _clip_weights(parameters, max_norm):
    with torch.no_grad():
        for p in parameters:
            p.clamp_(-max_norm, max_norm)


def _along_time(x, n_parts):
    return x.tensor_split(n_parts, dim=1)


def _chunk_of_equal(x, n_parts):
    """What does not fill a part is left out."""
    size = len(x) // n_parts
    return [x[i * size : (i + 1) * size] for i in range(n_parts)]


def _first_alone(x, n_parts):
    return x.tensor_split(n_parts)[:1]


def _equally(part, whole, n):
    return 1 / n


@exercise("lm.train_step", points=4, minutes=20, difficulty=3, ask="trains")
class TrainStep:
    """One step of training in place: old gradients cleared, the mean loss of the batch, clipped, and a step taken.

    To save memory the batch (inputs and targets, (B, T) each) goes through the model in `accumulate` parts along B,
    uneven where B is no multiple; their gradients add up to that of the whole batch's mean loss. Then the norm of all
    gradients together is clipped to max_norm, and the optimizer steps once. The model comes in training mode and stays
    in it. What the function returns is not looked at.
    """

    signature = (
        "train_step(model: nn.Module, batch: tuple[Tensor, Tensor], optimizer: torch.optim.Optimizer,\n"
        "           max_norm: float, accumulate: int)\n"
        "model(inputs) -> logits (B, T, V)"
    )
    reference = training.train_step
    measure = _weights
    may_change = ["weights"]
    gradient = False
    fake = False
    dtypes = ("float32",)
    why = "Right, and a batch of any size now fits into any memory: only time is paid for it."
    hints = [
        "In which order: clear, forward, backward, clip, step? What happens once, and what once for each part?",
        "A part with b of the B rows has b/B of the mean: multiply its mean loss by that before `backward()`.",
        "`optimizer.zero_grad()`; for x, y from `inputs.tensor_split(accumulate)` and the same of the targets "
        "`(loss * len(x) / len(inputs)).backward()`; `torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)`; "
        "`optimizer.step()`.",
    ]

    def cases(rng):
        def asked(n, sizes, rate, max_norm, accumulate):
            batch, time, vocab, width = sizes
            weights = {
                "embedding": rng.normal(vocab, width),
                "head": rng.normal(width, vocab),
                "bias": rng.normal(vocab),
            }
            batches = [(rng.integers(0, vocab, batch, time), rng.integers(0, vocab, batch, time)) for _ in range(n)]
            return weights, rate, batches, max_norm, accumulate

        return [  # the case that tells most mistakes apart comes first
            asked(2, (7, 5, 11, 8), 2.0, 0.05, 3),
            asked(1, (4, 5, 7, 6), 0.5, 1e4, 1),
            asked(2, (4, 5, 7, 6), 0.5, 1e4, 1),
            asked(1, (4, 5, 7, 6), 0.5, 1e4, 2),
            asked(1, (5, 4, 7, 6), 0.5, 1e4, 3),
            asked(1, (3, 5, 7, 6), 2.0, 0.03, 1),
        ]

    properties = [
        holds(
            "something learned",
            lambda after, weights, *_: any((after[name] - x).abs().max() > 1e-6 for name, x in weights.items()),
            "The weights are as they were: `backward()` for the gradients, then `optimizer.step()`.",
        ),
        holds(
            "in parts",
            lambda after, *_: not after["at once"],
            "The whole batch goes through the model at once, and its memory is what `accumulate` parts save: give the "
            "model a part at a time, with a `backward()` for each.",
        ),
    ]
    mistakes = [
        mistake(
            "all at once",
            _all_at_once,
            "Your step is that of the whole batch at once, which is right in its numbers but saves no memory: give the "
            "model one of `accumulate` parts at a time, and let their gradients add up.",
        ),
        mistake(
            "gradients not cleared",
            _step(clear="never"),
            "The first step is right, the second adds its gradients to the first one's: `optimizer.zero_grad()` at the "
            "start of each step.",
        ),
        mistake(
            "cleared for each part",
            _step(clear="each part"),
            "You clear the gradients before each part, so only the last part counts: clear once, before the loop.",
        ),
        mistake(
            "not divided",
            _step(weight=lambda part, whole, n: 1),
            "Your parts' gradients add up to `accumulate` times too much: each mean loss counts by its part's share "
            "of the rows.",
        ),
        mistake(
            "uneven parts averaged equally",
            _step(weight=_equally),
            "You divide by `accumulate`, as if all parts had as many rows: where they are uneven each counts by its "
            "share, len(part) / B.",
        ),
        mistake(
            "divided once more",
            _step(weight=lambda part, whole, n: len(part) / len(whole) / n),
            "You weigh each part by its share and divide by `accumulate` too: the shares add up to one already.",
        ),
        mistake(
            "step for each part",
            _step(steps="each part", clip="no"),
            "You step after each part: then it is `accumulate` small batches. Add the gradients up and step once.",
        ),
        mistake(
            "clipped after the step",
            _step(clip="after"),
            "The step is taken with gradients that were not clipped: clip between the last `backward()` and "
            "`optimizer.step()`.",
        ),
        mistake(
            "each part clipped",
            _step(clip="each part"),
            "You clip after each part, when the gradients are not complete: clip once, after the loop.",
        ),
        mistake(
            "values clipped",
            _step(clipper=clip_grad_value_),
            "You clip each number by itself, which turns the direction: `clip_grad_norm_` shortens all together.",
        ),
        mistake(
            "each weight's gradient clipped",
            _step(clipper=_each_alone),
            "You clip each parameter's gradient by itself: the norm is that of all gradients together, "
            "`clip_grad_norm_(model.parameters(), max_norm)`.",
        ),
        mistake(
            "always to max_norm",
            _step(clipper=_by_length),
            "You bring every gradient to the length max_norm, short ones too: clipping only shortens what is longer.",
        ),
        mistake(
            "weights clipped",
            _step(clipper=_clip_weights),
            "You clip the weights: it is the gradients that are clipped, `clip_grad_norm_`.",
        ),
        mistake(
            "no step",
            _step(steps="never"),
            "The weights stay as they were: `optimizer.step()` comes last, and nothing clears the gradients before it.",
        ),
        mistake(
            "evaluation mode meanwhile",
            _evaluating_meanwhile,
            "You train in evaluation mode, without dropout, and switch back afterwards: a step of training belongs in "
            "training mode, `model.train()`.",
        ),
        mistake(
            "evaluation mode",
            _evaluating,
            "You call `model.eval()` to train, which switches dropout off, and leave it so: the model comes in "
            "training mode and stays in it.",
        ),
        mistake(
            "evaluation mode afterwards",
            _evaluating_afterwards,
            "Your first step is right, but it ends with `model.eval()`, so all that follow train without dropout: "
            "leave the model in training mode.",
        ),
        mistake(
            "split along time",
            _step(split=_along_time, weight=lambda part, whole, n: part.shape[1] / whole.shape[1]),
            "You cut the texts along time, so later parts have lost their context: split along the batch, axis 0.",
        ),
        mistake(
            "rest left out",
            _step(split=_chunk_of_equal, weight=_equally),
            "What does not fill a part is left out: `tensor_split(accumulate)` gives uneven parts, and all rows.",
        ),
        mistake(
            "first part alone",
            _step(split=_first_alone),
            "You use the first part alone: loop over all of them.",
        ),
        mistake(
            "targets are inputs",
            _step(loss=lambda model, x, y: _mean(model, x, x)),
            "Your loss compares with the inputs: the batch brings its targets.",
        ),
        mistake(
            "shifted once more",
            _step(loss=_shifted),
            "You shift logits against targets, but the batch's targets are the next tokens already: compare them as "
            "they come.",
        ),
        mistake(
            "loss summed",
            _step(loss=lambda model, x, y: _mean(model, x, y) * y.numel()),
            "Your loss is a sum over tokens, so the step grows with the batch: take the mean.",
        ),
        mistake(
            "uphill",
            _step(loss=lambda model, x, y: -_mean(model, x, y)),
            "Your step makes the loss larger: the loss is minus the log-likelihood, and the optimizer goes down.",
        ),
        mistake(
            "softmax first",
            _step(loss=lambda model, x, y: F.cross_entropy(model(x).softmax(-1).flatten(0, 1), y.flatten())),
            "You take a softmax before `cross_entropy`, which takes its own: hand it the logits.",
        ),
    ]
