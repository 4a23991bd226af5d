"""Plain values: all that may pass from a student's code to the judge.

None, bool, int, float, str, lists, tuples and dictionaries with text keys of these, dense tensors, and symbolic
expressions as checked text.
Types are compared exactly (`type(x) is int`), so an object that pretends to be equal, or a tensor subclass that
lies about its shape, arrives as an `Other` that carries nothing but the name of its type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from autograder import expressions

MAX_DEPTH = 12
MAX_ITEMS = 20_000
MAX_TEXT = 200_000
MAX_ELEMENTS = 4_000_000
MAX_BITS = 4_096

DTYPES = {
    name: getattr(torch, name)
    for name in (
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    )
}


@dataclass(frozen=True)
class Other:
    """A value that is not plain; only the name of its type, or why it was refused, is kept."""

    kind: str


@dataclass(frozen=True)
class Expression:
    """A symbolic expression as the text that `expressions` writes and reads."""

    text: str


def _number(value: Any, module: str) -> Any:
    """NumPy and SymPy numbers become Python's, SymPy's expressions text; anything else of theirs is refused."""
    if module == "numpy" and getattr(value, "shape", None) == ():
        return plain(value.item(), MAX_DEPTH)
    if module == "sympy" and getattr(value, "is_number", False) is True:
        if not value.is_Number and expressions.is_tower(value):
            return Other("a SymPy number too large to compute")
        if value.is_integer is True:
            return plain(int(value), MAX_DEPTH)
        if value.is_real is True:
            return float(value)
    elif module == "sympy" or str(type(value).__module__) == "helpers.proofs":
        try:
            return Expression(expressions.write(value))
        except ValueError as error:
            return Other(str(error))
    return Other(_type_name(value))


def _type_name(value: Any) -> str:
    kind = type(value)
    module, name = kind.__module__, kind.__qualname__
    if type(module) is not str or type(name) is not str:
        return "object"
    return (name if module in ("builtins", "__main__") else f"{module}.{name}")[:200]


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of `value` made of plain types alone, on the CPU and cut from its gradient.

    Anything else is replaced by an `Other` with the name of its type. It never raises.
    """
    budget = [MAX_ITEMS]
    try:
        return _plain(value, depth, budget)
    except Exception as error:  # a hostile __class__, a tensor that cannot be read
        return Other(f"unreadable value ({type(error).__name__})")


def _plain(value: Any, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    kind = type(value)
    if budget[0] < 0 or depth > MAX_DEPTH:
        return Other("value too large or too deep")
    if value is None or kind is bool or kind is float or kind is Other or kind is Expression:
        return value
    if kind is int:
        return value if value.bit_length() <= MAX_BITS else Other("int of more than 4096 bits")
    if kind is str:
        return value if len(value) <= MAX_TEXT else Other("text of more than 200,000 characters")
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        return _tensor(value)
    if kind in (list, tuple, dict) and len(value) > budget[0]:
        return Other("value too large or too deep")
    if kind is list:
        return [_plain(item, depth + 1, budget) for item in value]
    if kind is tuple:
        return tuple(_plain(item, depth + 1, budget) for item in value)
    if kind is torch.Size:
        return tuple(int(item) for item in value)
    if kind is dict:
        if any(type(key) is not str for key in value):
            return Other("dictionary with keys that are not text")
        return {key: _plain(item, depth + 1, budget) for key, item in value.items()}
    return _number(value, str(kind.__module__).split(".")[0])


def _tensor(value: torch.Tensor) -> Any:
    if value.layout is not torch.strided or value.is_quantized:
        return Other("sparse or quantized tensor")
    if value.is_nested:
        return Other("nested tensor")
    if value.dtype not in DTYPES.values():
        return Other(f"tensor of {value.dtype}")
    if value.numel() > MAX_ELEMENTS:
        return Other("tensor of more than 4,000,000 elements")
    return torch.Tensor.cpu(torch.Tensor.detach(value)).clone().resolve_conj().resolve_neg().contiguous()


def map_tensors(change: Any, value: Any, depth: int = 0) -> Any:
    """The same nest of lists, tuples and dictionaries with `change` applied to each tensor, down to MAX_DEPTH."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if depth > MAX_DEPTH:
        return value
    if type(value) in (list, tuple):
        return type(value)(map_tensors(change, item, depth + 1) for item in value)
    if type(value) is dict:
        return {key: map_tensors(change, item, depth + 1) for key, item in value.items()}
    return value


def tensors(value: Any) -> list[torch.Tensor]:
    """All tensors in a nest, in order."""
    found: list[torch.Tensor] = []
    map_tensors(lambda tensor: found.append(tensor) or tensor, value)
    return found
