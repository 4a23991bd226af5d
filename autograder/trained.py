"""Judging of handed-over weights: the grader's own model, on data of its own, against a baseline of its own."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from autograder import weights
from autograder.exercise import Draws, Exercise
from autograder.judge import Verdict, refuse
from autograder.refusal import Refusal
from autograder.weights import Found, Missing, Unfit, Weights


def judge_file(exercise: Exercise, path: Path, seed: int) -> Verdict:
    """The verdict on the weights in a file."""
    try:
        return judge_bytes(exercise, weights.take(path, exercise.weights), seed)
    except Missing as missing:
        return refuse(exercise, "not attempted", str(missing))
    except Unfit as problem:
        return refuse(exercise, "wrong", str(problem))


def judge_bytes(exercise: Exercise, data: bytes, seed: int) -> Verdict:
    """The verdict on the bytes of a file. Raises Refusal where the grader's data are not to be had."""
    asked = exercise.weights
    try:
        found = measure(asked, weights.read(data, asked), seed)
    except Unfit as problem:
        return refuse(exercise, "wrong", str(problem))
    for slip in asked.slips:
        if slip.test(found):
            said = slip.sentence(found)
            return Verdict(exercise.name, "wrong", 0.0, exercise.points, said, slip.name, detail=asked.told(found))
    if not asked.enough(found):
        return refuse(exercise, "wrong", f"{asked.told(found)} {asked.advice}")
    return Verdict(
        exercise.name, "right", float(exercise.points), exercise.points, exercise.why, detail=asked.told(found)
    )


def measure(asked: Weights, state: dict[str, torch.Tensor], seed: int) -> Found:
    """What the model and the baseline reach on the data of one seed. Raises Unfit if the model gives no number."""
    inputs = inputs_for(asked, seed)
    model = asked.build()
    model.load_state_dict(state)
    with _calmly(), _finite(model) as finite:
        yours = float(asked.score(model.eval(), *inputs))
        baseline = float(asked.baseline(*inputs))
    if not (math.isfinite(yours) and all(finite)):
        raise Unfit(
            f"With the weights in `{asked.file}` the model's answers are not finite: "
            "look at the losses of the training run, lower the learning rate or clip, and train again."
        )
    return Found(model, yours, baseline)


def inputs_for(asked: Weights, seed: int) -> tuple:
    """The grader's data for one seed. Raises Refusal where they are not to be had."""
    try:
        return asked.data(Draws(seed))
    except (FileNotFoundError, ValueError) as missing:
        raise Refusal(str(missing)) from None


@contextlib.contextmanager
def _finite(model: nn.Module) -> Iterator[list[bool]]:
    """Whether each answer of the model is finite: the largest of NaN is some class, so accuracy would not tell."""
    finite: list[bool] = []

    def look(_: nn.Module, __: tuple, out: object) -> None:
        answers = out if isinstance(out, tuple) else (out,)
        finite.extend(bool(torch.isfinite(x).all()) for x in answers if torch.is_tensor(x))

    hook = model.register_forward_hook(look)
    try:
        yield finite
    finally:
        hook.remove()


@contextlib.contextmanager
def _calmly() -> Iterator[None]:
    """Without gradients, on one thread, and with numbers too small to matter as 0: they would take a hundred times as
    long.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)
