"""Equality of matrix expressions, read as trees: a step is tested with numbers and explained by one named lemma.

P stands for any permutation matrix. Products have no brackets, (AB)ᵀ = BᵀAᵀ, and an identity may come and go: that is
free in every step. A step may use, beside, one of the lemmas, as often as it likes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.algebra import Step, upper
from autograder.expressions import Tree

HEADS = ("MatrixSymbol", "Identity", "MatMul", "Transpose", "softmax")
INVERSE = "PᵀP = PPᵀ = I"
SOFTMAX = "softmax(PAPᵀ) = P softmax(A) Pᵀ"
SIZES = ((3, 1, 1), (4, 3, 2), (5, 2, 3), (7, 4, 5))  # n, d, d_v
P, P_T = ("MatrixSymbol", "P"), ("Transpose", ("MatrixSymbol", "P"))


# ---- by lemmas ----


def normal(tree: Tree, lemmas: tuple[str, ...] = ()) -> tuple:
    """A product's factors in order, with transposes pushed inwards and `lemmas` applied from left to right."""
    return _factors(tree, False, lemmas)


def _factors(tree: Tree, turned: bool, lemmas: tuple[str, ...]) -> tuple:
    head, *rest = tree
    if head == "Identity":
        return ()
    if head == "MatrixSymbol":
        return (("Transpose", tuple(tree)),) if turned else (tuple(tree),)
    if head == "Transpose":
        return _factors(rest[0], not turned, lemmas)
    if head == "MatMul":
        parts = [_factors(child, turned, lemmas) for child in (reversed(rest) if turned else rest)]
        return _cancelled([f for part in parts for f in part], lemmas)
    return _cancelled(_softmax(_factors(rest[0], False, lemmas), turned, lemmas), lemmas)


def _cancelled(factors: list[tuple], lemmas: tuple[str, ...]) -> tuple:
    kept: list[tuple] = []
    for factor in factors:
        if INVERSE in lemmas and kept and {kept[-1], factor} == {P, P_T}:
            kept.pop()
        else:
            kept.append(factor)
    return tuple(kept)


def _softmax(inside: tuple, turned: bool, lemmas: tuple[str, ...]) -> list[tuple]:
    """Permutations of rows and of columns come out of a softmax by rows."""
    first, last = 0, len(inside)
    if SOFTMAX in lemmas:
        while first < last and inside[first] in (P, P_T):
            first += 1
        while last > first and inside[last - 1] in (P, P_T):
            last -= 1
    core = ("softmax", inside[first:last])
    factors = [*inside[:first], core, *inside[last:]]
    return [_transposed(f) for f in reversed(factors)] if turned else factors


def _transposed(factor: tuple) -> tuple:
    return factor[1] if factor[0] == "Transpose" else ("Transpose", factor)


# ---- by numbers ----


def value(tree: Tree, given: dict[str, Tensor]) -> Tensor:
    """The matrix that an expression stands for, float64. Raises RuntimeError where shapes do not fit."""
    head, *rest = tree
    if head == "MatrixSymbol":
        return given[rest[0]]
    if head == "Identity":
        return torch.eye(len(given["P"]), dtype=torch.float64)
    parts = [value(child, given) for child in rest]
    if head == "Transpose":
        return parts[0].T
    if head == "softmax":
        return parts[0].softmax(-1)
    total = parts[0]
    for part in parts[1:]:
        total = total @ part
    return total


def _given(sizes: tuple[int, int, int]) -> dict[str, Tensor]:
    """P turns rows round, so that it is no inverse of its own; the rest are small whole numbers."""
    n, d, d_v = sizes
    draw = torch.Generator().manual_seed(n)
    made = {"P": torch.eye(n, dtype=torch.float64).roll(1, 0)}
    for name, width in (("Q", d), ("K", d), ("V", d_v)):
        made[name] = torch.randint(-2, 3, (n, width), generator=draw).double()
    return made


def fingerprint(tree: Tree, symbols: tuple[str, ...]) -> str:
    """The same text for expressions that are equal at the sizes tried."""
    try:
        return str([[f"{x:.6f}" for x in value(tree, _given(s)).flatten().tolist()] for s in SIZES[:2]])
    except RuntimeError:
        return "no shape"


# ---- two lines ----


def step(before: Tree, after: Tree, lines: tuple[str, str], symbols: tuple[str, ...], budget: list[int]) -> Step:
    """Whether a line follows from the one before by at most one lemma."""
    for lemmas in ((), (INVERSE,), (SOFTMAX,)):
        if normal(before, lemmas) == normal(after, lemmas):
            return Step(f"by {lemmas[0]}" if lemmas else "by the rules of products and transposes")
    for sizes in SIZES:
        given = _given(sizes)
        try:
            here, there = value(before, given), value(after, given)
        except RuntimeError:
            return Step(
                fault="shapes", sentence=f"The shapes in {lines[1]} do not fit: P is (n, n), Q and K are (n, d)."
            )
        if here.shape != there.shape or not torch.allclose(here, there, 1e-9, 1e-9):
            return Step(fault="unequal", sentence=_differ(here, there, given, lines))
    if normal(before, (INVERSE, SOFTMAX)) == normal(after, (INVERSE, SOFTMAX)):
        sentence = (
            f"From {lines[0]} to {lines[1]} is a jump: it takes both {INVERSE} and {SOFTMAX}, so write a line between."
        )
        return Step(fault="jump", sentence=sentence)
    sentence = f"{upper(lines[1])} equals {lines[0]} in all examples, but neither {INVERSE} nor {SOFTMAX} says so."
    return Step(fault="unexplained", sentence=sentence)


def _differ(here: Tensor, there: Tensor, given: dict[str, Tensor], lines: tuple[str, str]) -> str:
    if here.shape != there.shape:
        found = f"{lines[0]} is {_shape(here, given)} and {lines[1]} is {_shape(there, given)}"
    else:
        found = f"with {', '.join(f'{name} = {_rows(x)}' for name, x in given.items())} "
        found += f"{lines[0]} is {_rows(here)} and {lines[1]} is {_rows(there)}"
    return f"{upper(lines[1])} is not equal to {lines[0]}: {found}."


def _rows(x: Tensor) -> str:
    """A matrix as nested lists; a column as a list that says so."""
    numbers = [[f"{entry:.3g}" for entry in row] for row in x.tolist()]
    if x.shape[1] == 1:
        return f"({', '.join(row[0] for row in numbers)})ᵀ"
    return "[" + ", ".join(f"[{', '.join(row)}]" for row in numbers) + "]"


def _shape(x: Tensor, given: dict[str, Tensor]) -> str:
    letters = {len(given["P"]): "n", given["Q"].shape[1]: "d", given["V"].shape[1]: "d"}
    return f"({', '.join(letters.get(size, str(size)) for size in x.shape)})"


# ---- what is written ----


def look(tree: Tree) -> tuple:
    """What a line looks like: the same for lines that differ in brackets alone."""
    head, *rest = tree
    if head in ("MatrixSymbol", "Identity"):
        return tuple(tree)
    kids = [look(child) for child in rest]
    if head != "MatMul":
        return (head, *kids)
    flat = [inner for kid in kids for inner in (kid[1:] if kid[0] == "MatMul" else (kid,))]
    return flat[0] if len(flat) == 1 else (head, *flat)


def same_start(tree: Tree, start: Tree) -> bool:
    """Whether a line is the claim's left side, up to brackets and where transposes are written."""
    return normal(tree) == normal(start)
