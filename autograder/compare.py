"""Whether two plain answers are the same, and if not, where they part first."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import torch

from autograder import expressions
from autograder.plain import Expression, Other, tensors

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 3e-2}


@dataclass(frozen=True)
class Difference:
    """`kind` is one of type, shape, dtype, values, length, keys; `text` says it in half a sentence.

    `yours` and `target` are the tensors that differ, where they can be drawn side by side.
    """

    kind: str
    text: str
    yours: torch.Tensor | None = None
    target: torch.Tensor | None = None


def difference(yours: Any, target: Any, tolerance: float | None = None, where: str = "") -> Difference | None:
    """The first difference between two plain values, or None.

    Shapes are never broadcast. Floating tensors must have the same dtype and agree to `tolerance` (by default one for
    each dtype) relative to the target's largest entry; a number may also be a 0-dim tensor. NaN equals only NaN.
    """
    if isinstance(target, torch.Tensor):
        return _tensors(yours, target, tolerance, where)
    if type(target) in (bool, int, float):
        return _numbers(yours, target, tolerance, where)
    if type(target) in (list, tuple):
        return _lists(yours, target, tolerance, where)
    if type(target) is dict:
        return _dictionaries(yours, target, tolerance, where)
    if type(yours) is not type(target) or yours != target:
        return Difference("values", f"{where or 'the answer'} is {show(yours)} where {show(target)} is right")
    return None


def show(value: Any) -> str:
    """A plain value in a few words."""
    if isinstance(value, Other):
        return value.kind
    if isinstance(value, Expression):
        with contextlib.suppress(ValueError):
            return expressions.show(expressions.read(value.text))[:60]
        return "no expression"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}" if value.dim() else f"{value.item():.6g}"
    if type(value) is float:
        return f"{value:.6g}"
    if type(value) in (list, tuple) and tensors(value):  # torch is slow to print, and prints too much
        return f"a {type(value).__name__} of {', '.join(show(item) for item in value[:3])}{', …' * (len(value) > 3)}"
    if type(value) is dict and tensors(value):
        return f"a dictionary with the keys {sorted(value)[:6]}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _tensors(yours: Any, target: torch.Tensor, tolerance: float | None, where: str) -> Difference | None:
    name = where or "the answer"
    if not isinstance(yours, torch.Tensor):
        if target.dim() == 0 and type(yours) in (bool, int, float):
            return _numbers(yours, target.item(), tolerance, where)
        return Difference("type", f"{name} is {show(yours)} where a tensor of shape {tuple(target.shape)} is due")
    if yours.shape != target.shape:
        text = f"{name} has shape {tuple(yours.shape)} where {tuple(target.shape)} is due"
        return Difference("shape", text, yours, target)
    if _kind(yours) != _kind(target) or (target.is_floating_point() and yours.dtype != target.dtype):
        text = f"{name} has dtype {_short(yours.dtype)} where {_short(target.dtype)} is due"
        return Difference("dtype", text, yours, target)
    if agree(yours, target, tolerance):
        return None
    index, a, b = _worst(yours, target)
    place = f" at {list(index)}" if index else ""
    return Difference("values", f"{name}{place} is {_apart(a, b)} is right", yours, target)


def _apart(a: float, b: float) -> str:
    """`0.19431 where 0.19433`: both with as many digits as it takes to tell them apart."""
    digits = next((n for n in (4, 6, 8, 12) if f"{a:.{n}g}" != f"{b:.{n}g}"), 17)
    return f"{a:.{digits}g} where {b:.{digits}g}"


def _kind(x: torch.Tensor) -> str:
    return "bool" if x.dtype == torch.bool else "float" if x.is_floating_point() else "int"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def agree(yours: torch.Tensor, target: torch.Tensor, tolerance: float | None = None) -> bool:
    """Whether two tensors of one shape hold the same values, to the tolerance of the target's dtype."""
    if not target.is_floating_point():
        return torch.equal(yours.to(torch.int64), target.to(torch.int64))
    tolerance = TOLERANCE[target.dtype] if tolerance is None else tolerance
    yours, target = yours.double(), target.double()
    finite = torch.isfinite(target)
    if not finite.all():
        if not torch.allclose(yours[~finite], target[~finite], equal_nan=True):  # the greatest number is not infinite
            return False
        yours, target = yours[finite], target[finite]
    if torch.equal(yours, target):
        return True
    size = target.abs()
    return bool(((yours - target).abs() <= (size + size.max()) * (tolerance / 2) + 1e-12).all())


def _worst(yours: torch.Tensor, target: torch.Tensor) -> tuple[tuple[int, ...], float, float]:
    gap = (yours.double() - target.double()).abs()
    gap = torch.where(yours == target, 0.0, torch.nan_to_num(gap, nan=math.inf, posinf=math.inf))
    index = tuple(int(i) for i in torch.unravel_index(gap.argmax(), gap.shape)) if gap.dim() else ()
    return index, float(yours[index]), float(target[index])


def _numbers(yours: Any, target: float, tolerance: float | None, where: str) -> Difference | None:
    name = where or "the answer"
    if isinstance(yours, torch.Tensor) and yours.dim() == 0:
        yours = yours.item()
    if type(yours) not in (bool, int, float) or (type(yours) is bool) != (type(target) is bool):
        due = "True or False" if type(target) is bool else "a number"
        return Difference("type", f"{name} is {show(yours)} where {due} is due")
    if type(target) is bool or not math.isfinite(target):
        right = yours == target or (yours != yours and target != target)
    elif type(yours) is int and type(target) is int:
        right = abs(yours - target) * 10**9 <= round((tolerance or 0) * 10**9) * abs(target)
    elif type(yours) is int and yours.bit_length() > 1000:
        right = False
    else:
        tolerance = tolerance or (1e-9 if type(target) is int else 1e-6)  # what is counted is exact
        right = abs(yours - target) <= tolerance * max(abs(target), 1e-12)
    if right:
        return None
    numbers = type(yours) is float or type(target) is float
    texts = _apart(yours, target) if numbers and show(yours) == show(target) else f"{show(yours)} where {show(target)}"
    return Difference("values", f"{name} is {texts} is right")


def _lists(yours: Any, target: Any, tolerance: float | None, where: str) -> Difference | None:
    name = where or "the answer"
    if type(yours) not in (list, tuple):
        return Difference("type", f"{name} is {show(yours)} where {len(target)} things in a row are due")
    if len(yours) != len(target):
        return Difference("length", f"{name} has {len(yours)} parts where {len(target)} are due")
    for i, (a, b) in enumerate(zip(yours, target, strict=True)):
        found = difference(a, b, tolerance, f"part {i} of {name}")
        if found:
            return found
    return None


def _dictionaries(yours: Any, target: dict, tolerance: float | None, where: str) -> Difference | None:
    name = where or "the answer"
    if type(yours) is not dict:
        return Difference("type", f"{name} is {show(yours)} where a dictionary is due")
    if set(yours) != set(target):
        return Difference("keys", f"{name} has the keys {sorted(yours)} where {sorted(target)} are due")
    for key in target:
        found = difference(yours[key], target[key], tolerance, f"{name} for {key!r}" if where else f"{key!r}")
        if found:
            return found
    return None
