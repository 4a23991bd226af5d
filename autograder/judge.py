"""Judging: a pure function of an exercise, its cases and plain answers. It never holds a student's object."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import torch

from autograder import choices
from autograder.ask import Answer, Case, ask
from autograder.compare import Difference, difference
from autograder.exercise import Exercise
from autograder.plain import Other, map_tensors, tensors
from autograder.versions import version

SHOWN = 144  # entries that a picture shows with ease
REFUSALS = ("ValueError: ", "RuntimeError: Error(s) in loading state_dict")
LEFT = {  # in the order in which they are told
    "weights": (
        "`{name}` changes weights or buffers of the model that it was given, and its caller did not ask for that: "
        "use the model as it is, or work on `copy.deepcopy(model)`."
    ),
    "mode": (
        "`{name}` leaves the model, or a part of it, in another mode than it came in: `model.training` decides "
        "whether dropout acts, so put it back (`was = model.training`, …, `model.train(was)`) or leave it alone."
    ),
    "trainable": (
        "`{name}` changes which weights of the model can be trained, so its caller's training quietly stops or starts "
        "for them: leave each `requires_grad` as it came (`with torch.no_grad():` is enough where no gradient is "
        "needed)."
    ),
    "arguments": (
        "`{name}` switches `requires_grad` of a tensor that it was given, which is its caller's: "
        "work on a copy, `x.detach().clone()`."
    ),
    "grad mode": (
        "`{name}` leaves gradients switched off for all that comes after it, so that nothing can be trained any more: "
        "`with torch.no_grad():` ends by itself, `torch.set_grad_enabled(False)` does not."
    ),
    "default dtype": (
        "`{name}` leaves torch with another default dtype, so all that is made after it differs: give your own "
        "tensors a dtype, `dtype=x.dtype`, rather than call `torch.set_default_dtype`."
    ),
}
ADVICE = {  # what torch's words mean
    "Index tensor must have the same number of dimensions": (
        " `gather` and `scatter` take indices with as many axes as the tensor has: keep the column, (B, 1), and take "
        "`[:, 0]` afterwards."
    ),
    "probability tensor contains either": (
        " A row with nothing left but −∞, or with a NaN, has no probabilities: each must keep at least one token."
    ),
    "element 0 of tensors does not require grad": (
        " No gradient leads back from there: was the loss computed under `no_grad`, detached, or made of plain numbers?"
    ),
    "'NoneType' object is not iterable": " Something is None there: is a `return` or a `yield` missing?",
    "backward through the graph a second time": (
        " Each `backward()` uses up its graph: run the model anew for each part, or call it once on the sum."
    ),
}
VERDICTS = ("right", "recorded", "wrong", "not attempted", "not your own", "error", "timeout")


@dataclass(frozen=True)
class Verdict:
    """What a learner is told. `score` is in points; `yours` and `target` are what a picture shows, if anything."""

    exercise: str
    verdict: str
    score: float
    points: int
    sentence: str
    mistake: str | None = None
    where: str = ""
    detail: str = ""
    yours: torch.Tensor | None = None
    target: torch.Tensor | None = None


@dataclass(frozen=True)
class _Fault:
    kind: str
    case: Case
    answer: Answer
    difference: Difference | None = None
    sentence: str = ""


def judge(exercise: Exercise, cases: list[Case], answers: list[Answer]) -> Verdict:
    """The verdict on one student's answers, one for each case and in their order.

    An answer that is missing counts as silence: only an explicit right answer to every case scores.
    """
    if not cases:  # nothing was asked, so nothing is right
        return not_attempted(exercise)
    answers = answers + [Answer("crash", note="it gave no answer")] * (len(cases) - len(answers))
    pairs = list(zip(cases, answers, strict=False))
    early = _early(exercise, answers)
    if early:
        return early
    targets = [_target(exercise, case) for case in cases]
    faults = [_fault(exercise, *three) for three in zip(cases, answers, targets, strict=True)]
    faults = [fault for fault in faults if fault]
    if not faults and exercise.questions:
        return _chosen(exercise, answers[0].value)
    if not faults:
        shown = f"Shown {_measured(exercise, answers[0].value, cases[0]).shown}." if exercise.proof else ""
        return Verdict(exercise.name, "right", float(exercise.points), exercise.points, _praise(exercise), detail=shown)
    fault = _telling(faults)
    if fault.kind != "refusal":  # what else is wrong is the same whether or not it refuses what it should
        pairs = [pair for pair, target in zip(pairs, targets, strict=True) if not (target and _refuses(target))]
    failed = [other.case for other in faults if other.kind == fault.kind]
    pairs.sort(key=lambda pair: _rank(pair[0], fault.case, failed))
    return _explain(exercise, pairs, fault)


def _rank(case: Case, shown: Case, failed: list[Case]) -> tuple[bool, int, bool]:
    """A wrong answer first, since it tells most mistakes apart, and among those one to a small question."""
    size = sum(x.numel() for x in tensors((case.inputs, case.named, case.state)))
    return all(case is not other for other in failed), size, case is not shown


def _target(exercise: Exercise, case: Case) -> Answer | None:
    """The right answer, where there is one to compare with.

    Raises RuntimeError where the book itself fails: a fault of ours must never be told to a student as theirs.
    """
    if not exercise.unique or case.fake:
        return None
    right = version(exercise.reference) if exercise.ask == "module" else exercise.reference
    found = ask(right, exercise.ask, replace(case, rehearse=False))
    if found.status != "value" and not _refuses(found):
        raise RuntimeError(f"the book's own answer to {exercise.name} failed: {found.status} {found.note}")
    return found


def refuse(exercise: Exercise, verdict: str, sentence: str) -> Verdict:
    """A verdict without points."""
    return Verdict(exercise.name, verdict, 0.0, exercise.points, sentence)


def not_attempted(exercise: Exercise) -> Verdict:
    return refuse(exercise, "not attempted", f"Not attempted: `{exercise.last}` was not written, or its cell not run.")


def not_your_own(exercise: Exercise, found: str) -> Verdict:
    return refuse(
        exercise,
        "not your own",
        f"`{exercise.last}` leans on the book's `{found}`: reading the book is welcome, handing it in is not, "
        f"so write your own `{exercise.last}` in this cell (and compare with the book's in another).",
    )


def _early(exercise: Exercise, answers: list[Answer]) -> Verdict | None:
    """Verdicts for which no value is looked at."""
    for answer in answers:
        if answer.status == "book":
            return not_your_own(exercise, answer.note)
        if answer.status in ("not attempted", "missing"):
            return not_attempted(exercise)
    return None


def _chosen(exercise: Exercise, value: dict[str, str]) -> Verdict:
    """A choice is judged where the key is."""
    key = choices.key(exercise.name)
    if key is None:
        return refuse(exercise, "recorded", choices.RECORDED)
    found = choices.wrong(value, key["answers"])
    if found:
        return refuse(exercise, "wrong", found)
    return Verdict(exercise.name, "right", float(exercise.points), exercise.points, key["why"])


def _praise(exercise: Exercise) -> str:
    return exercise.why or "Right."


# ---- faults ----


def _fault(exercise: Exercise, case: Case, answer: Answer, target: Answer | None) -> _Fault | None:
    if target is not None and _refuses(target) and answer.status in ("value", "error"):
        return None if _refuses(answer) else _Fault("refusal", case, answer)
    if answer.status != "value":
        return _Fault(answer.status, case, answer)
    if answer.device:
        return _Fault("device", case, answer)
    if case.fake:
        return None
    yours = _measured(exercise, answer.value, case)
    if target is not None:
        found = difference(yours, _measured(exercise, target.value, case), exercise.tolerance)
        if found:
            return _Fault("value", case, answer, found)
        if case.gradient and _gradients_differ(answer.gradients, target.gradients):
            return _Fault("gradient", case, answer)
    else:
        broken = _broken(exercise, case, yours)
        if broken:
            return _Fault("property", case, answer, sentence=broken)
    if answer.changed:
        return _Fault("changed", case, answer)
    if answer.random and not exercise.may_use_global_random:
        return _Fault("random", case, answer)
    if _left(exercise, answer):
        return _Fault("left", case, answer)
    return None


def _left(exercise: Exercise, answer: Answer) -> list[str]:
    """What it leaves changed that is to stay as it was."""
    return [kind for kind in LEFT if kind in (answer.left or []) and kind not in exercise.may_change]


def _refuses(answer: Answer) -> bool:
    """Whether it raised ValueError with a sentence, or let torch refuse a state_dict: where the reference refuses, that
    is what is asked for.
    """
    return answer.status == "error" and answer.note.startswith(REFUSALS)


def _raised(answer: Answer) -> str:
    """The name of the exception."""
    return answer.note.split(":")[0].split(" ")[0]


def _telling(faults: list[_Fault]) -> _Fault:
    """The first fault, or one like it on a case that shows more: a picture of one entry tells nothing.

    "The values are right, but …" is said only where they are right in every case.
    """
    first = next((f for f in faults if f.kind not in ("gradient", "changed", "random", "left")), faults[0])
    if first.kind == "error":  # what one call leaves behind may be what fails the next one
        first = next((f for f in faults if f.kind == "left"), first)
    if first.difference is None or first.difference.target is None:
        return first
    alike = [f for f in faults if f.difference and f.difference.kind == first.difference.kind]
    return max(alike, key=lambda f: min(f.difference.target.numel(), SHOWN) if f.difference.target is not None else 0)


def _measured(exercise: Exercise, value: Any, case: Case) -> Any:
    if exercise.measure is None:
        return value
    try:
        return exercise.measure(value, *_inputs(case))
    except Exception:  # an answer of the wrong type or shape has no measure: it is compared, and shown, as it is
        return value


def _inputs(case: Case) -> tuple:
    """The inputs as the student's object saw them."""
    dtype = getattr(torch, case.dtype)
    put = lambda x: x.to(dtype) if x.is_floating_point() else x  # noqa: E731
    return map_tensors(put, (*case.init, *case.inputs, *case.named.values()))


def _broken(exercise: Exercise, case: Case, value: Any) -> str | None:
    """The sentence of the first property that does not hold."""
    for prop in exercise.properties:
        try:
            fine = bool(prop.test(value, *_inputs(case)))
        except Exception:
            fine = False
        if not fine:
            return prop.sentence(value) if callable(prop.sentence) else prop.sentence
    return None


def _gradients_differ(yours: list | None, target: list | None) -> bool:
    if yours is None or target is None or len(yours) != len(target):
        return True
    for a, b in zip(yours, target, strict=True):
        if b is None and a is None:
            continue
        a, b = (torch.zeros_like(b) if a is None else a), (torch.zeros_like(a) if b is None else b)
        if isinstance(a, Other) or difference(a, b, 1e-5):
            return True
    return False


# ---- words ----


def _explain(exercise: Exercise, pairs: list[tuple[Case, Answer]], fault: _Fault) -> Verdict:
    """Which mistake it is, else which property fails, else where it first differs."""
    verdict = {"error": "error", "timeout": "timeout", "crash": "error"}.get(fault.kind, "wrong")
    known = _diagnose(exercise, pairs, fault)
    sentence, mistake = (known.sentence, known.name) if known else (_words(exercise, fault), None)
    if known:
        verdict = "wrong"
    shown = fault.difference
    return Verdict(
        exercise.name,
        verdict,
        0.0,
        exercise.points,
        sentence,
        mistake,
        where="" if exercise.proof else describe(exercise, fault.case),
        detail=f"Here {shown.text}." if shown else fault.sentence if known and exercise.proof else "",
        yours=shown.yours if shown else None,
        target=shown.target if shown else None,
    )


def _diagnose(exercise: Exercise, pairs: list[tuple[Case, Answer]], fault: _Fault) -> Any:
    """The mistake whose answers equal the student's, gradients and all; if values are wrong, values are enough."""
    if fault.kind in ("timeout", "crash"):
        return None
    near = None
    if fault.kind == "device":
        pairs = [(case, _elsewhere(exercise, case, answer)) for case, answer in pairs]
    asked = [
        (case, answer, _measured(exercise, answer.value, case) if answer.status == "value" and not case.fake else None)
        for case, answer in pairs
        if not case.fake or fault.kind == "device"
    ]
    told_apart = any(_left(exercise, answer) or answer.changed or answer.random for _, answer, _ in asked)
    enough = fault.kind in ("value", "names") and not told_apart
    for mistake in exercise.mistakes:
        if all(_like(exercise, mistake.version, *one, strict=False) for one in asked):
            if enough or all(_like(exercise, mistake.version, *one, strict=True) for one in asked):
                return mistake
            near = near or mistake
    return near if fault.kind in ("value", "property", "error", "names", "refusal") else None


def _elsewhere(exercise: Exercise, case: Case, answer: Answer) -> Answer:
    """Where a GPU gave no value, the right one stands for it: what it would be, were all on one device."""
    stopped = bool(answer.device) and answer.value is None and not case.fake
    return (_target(exercise, case) or answer) if stopped else answer


def _like(exercise: Exercise, version: Any, case: Case, answer: Answer, yours: Any, strict: bool) -> bool:
    """Whether this version gives the student's answer to a case, which `yours` measures."""
    if case.fake and not strict:
        return True
    if not strict and answer.status != "error":  # half the time, for the many mistakes that it is not
        case = replace(case, gradient=False, rehearse=False)
    theirs = ask(version, exercise.ask, case)
    if theirs.status != answer.status:
        return False
    if theirs.status == "error":
        return _raised(theirs) == _raised(answer)
    if theirs.status == "names":
        return theirs.note == answer.note
    if case.fake:
        return bool(theirs.device) == bool(answer.device)
    known = _measured(exercise, theirs.value, case)
    if difference(yours, known, exercise.tolerance) or difference(known, yours, exercise.tolerance):
        return False
    if not strict:
        return True
    flows = not case.gradient or not _gradients_differ(answer.gradients, theirs.gradients)
    flows = flows and _left(exercise, answer) == _left(exercise, theirs)
    return flows and bool(answer.changed) == bool(theirs.changed) and answer.random == theirs.random


def _words(exercise: Exercise, fault: _Fault) -> str:
    name, where = exercise.last, describe(exercise, fault.case)
    if fault.kind == "error" and "modified by an inplace operation" in fault.answer.note:
        return (
            f"`{name}` changes in place a tensor that its gradient still needs: "
            "make a new one, `x = x + y` rather than `x += y`."
        )
    if fault.kind == "error":
        advice = next((words for said, words in ADVICE.items() if said in fault.answer.note), "")
        return f"`{name}` raised {fault.answer.note or 'an exception'}, asked with {where}.{advice}"
    if fault.kind == "crash":
        return f"`{name}` gave no answer, asked with {where}: {fault.answer.note or 'its process ended'}."
    if fault.kind == "timeout":
        return f"`{name}` did not answer in time, asked with {where}: look for a loop that never ends."
    if fault.kind == "refusal":
        raised = _raised(fault.answer) + " without a word" * (_raised(fault.answer) == "ValueError")
        instead = f"raised {raised}" if fault.answer.status == "error" else "gave an answer"
        return (
            f"Asked with {where}, `{name}` {instead} where `raise ValueError(…)` is due, "
            "with a sentence that says what is wrong and what to do."
        )
    if fault.kind == "names":
        return (
            f"`{name}` cannot be given the weights of the exercise, because {fault.answer.note}: "
            "keep to the names on the card."
        )
    if fault.kind == "device":
        return (
            f"`{name}` would fail on a GPU ({fault.answer.device}): make new tensors where the inputs live, "
            "for example with `device=x.device`, and keep a module's own tensors with `register_buffer`."
        )
    if fault.kind == "gradient":
        if _severed(fault.answer.gradients):
            return (
                f"The values of `{name}` are right but no gradient flows back: "
                "something detached it (`.item()`, `.data`, `torch.tensor(…)`)."
            )
        return (
            f"The values of `{name}` are right but its gradient is not, so it could not be trained: "
            "is some step cut off, or NaN on the way back?"
        )
    if fault.kind == "changed":
        return (
            f"`{name}` changed its argument {_changed(exercise, fault)} in place, so the caller loses it: "
            "work on a new tensor or a copy (no `+=`, no `masked_fill_`, no `sort()`)."
        )
    if fault.kind == "random":
        return f"`{name}` drew from torch's global random state: nothing here is random, or a generator is passed in."
    if fault.kind == "left":
        return LEFT[_left(exercise, fault.answer)[0]].format(name=name)
    if fault.kind == "property":
        return fault.sentence
    return _values(exercise, fault)


def _values(exercise: Exercise, fault: _Fault) -> str:
    """Words for values that differ and that no known mistake explains."""
    found = fault.difference
    if found.kind in ("length", "keys") and exercise.measure:  # what differs is a fact about the answer
        broken = _broken(exercise, fault.case, _measured(exercise, fault.answer.value, fault.case))
        if broken:
            return broken
    if found.kind in ("type", "shape", "dtype", "length", "keys"):
        advice = _of_dtype(fault) if found.kind == "dtype" else ""
        return f"Asked with {describe(exercise, fault.case)}, {found.text}{advice}."
    if fault.answer.random and not exercise.may_use_global_random:
        return (
            f"`{exercise.last}` draws at random, so it answers differently each time: nothing here is random "
            "(and dropout acts while training alone, `self.training`)."
        )
    sentence = _broken(exercise, fault.case, _measured(exercise, fault.answer.value, fault.case))
    return sentence or f"Asked with {describe(exercise, fault.case)}, {found.text}."


def _of_dtype(fault: _Fault) -> str:
    """What to do about a floating answer in another floating dtype."""
    found = fault.difference
    if not (found.yours.is_floating_point() and found.target.is_floating_point()):
        return ""
    given = tensors((fault.case.inputs, fault.case.named))
    source = "the inputs' dtype" if any(x.is_floating_point() for x in given) else "torch's default dtype"
    return f": compute in {source}, with none written in"


def _severed(gradients: list | None) -> bool:
    return gradients is not None and all(g is None for g in gradients)


def _changed(exercise: Exercise, fault: _Fault) -> str:
    names = [name for name, _ in _named(exercise, fault.case)]
    return f"`{names[fault.answer.changed[0]]}`" if fault.answer.changed[0] < len(names) else ""


def _named(exercise: Exercise, case: Case) -> list[tuple[str, Any]]:
    target = exercise.reference
    if isinstance(target, type):
        target = target.forward
    try:
        parameters = inspect.signature(target).parameters
        names = [n for n in parameters if n not in ("self", "args")]
        if names and parameters[names[0]].kind is inspect.Parameter.VAR_POSITIONAL:
            names = [f"{names[0]}[{i}]" for i in range(len(case.inputs))]
    except (TypeError, ValueError):
        names = []
    if exercise.ask == "trains":  # the optimizer is made of a rate, and steps are taken on several batches
        names = ["model", "rate", "batches", *names[3:]]
    names += [f"argument {i + 1}" for i in range(len(names), len(case.inputs))]
    return [*zip(names, case.inputs, strict=False), *case.named.items()]


def describe(exercise: Exercise, case: Case) -> str:
    """A case in a few words: `q (2, 5, 4), k (2, 7, 4)`."""
    words = [f"{name} {_brief(value)}" for name, value in _named(exercise, case) if value is not None]
    words = [word.replace("model a model", "a model") for word in words]
    if case.init:
        words.insert(0, f"{exercise.last}{case.init}")
    if case.dtype != "float64" and case.dtype in exercise.dtypes:
        words.append(case.dtype)
    return ", ".join(words) or "no argument"


def _brief(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{tuple(value.shape)}" if value.dtype is not torch.bool else f"{tuple(value.shape)} bool"
    if type(value) is dict:
        return "a model" if any(name in value for name in ("a", "weights", "head")) else f"of {len(value)} entries"
    text = repr(value)
    return f"= {text}" if len(text) <= 40 else f"of {len(value)} items" if hasattr(value, "__len__") else "…"
