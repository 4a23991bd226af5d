"""Symbolic expressions as checked text: a JSON tree of a closed list of heads, written by who has SymPy's objects and
read by who judges. What is read is data: no object, no name and no code of a student's comes back.

    n**2 * d / 2   ↔   ["Mul", ["Rational", 1, 2], ["Symbol", "d"], ["Pow", ["Symbol", "n"], ["Integer", 2]]]
"""

from __future__ import annotations

import ast
import json
import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any

MAX_NODES = 300
MAX_DEPTH = 30
MAX_INTEGER = 10**40
MAX_POWER = 64
MAX_EXPONENT = 10_000
MAX_TEXT = 20_000

OPERATORS = ("Add", "Mul", "Pow", "log", "exp", "sin", "cos", "floor", "ceiling")
MATRICES = ("MatMul", "Transpose", "softmax")
MANY = ("Add", "Mul", "MatMul")
NAMED = ("Symbol", "MatrixSymbol")
CONSTANTS = ("I", "pi", "Identity")
Tree = list


# ---- writing: SymPy → text ----


def write(value: Any) -> str:
    """The text of a SymPy expression. Raises ValueError for anything that is not made of the heads above.

    Types are compared exactly: an object that pretends to be SymPy's is none.
    """
    return json.dumps(_down(value, [MAX_NODES], 0))


def _down(value: Any, budget: list[int], depth: int) -> Tree:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise ValueError(f"an expression of more than {MAX_NODES} nodes, or deeper than {MAX_DEPTH}")
    head = _heads().get(type(value))
    if head in NAMED:
        return [head, str(value.name)[:20]]
    if head in CONSTANTS:
        return [head]
    if head == "Integer":
        return [head, _small(int(value))]
    if head == "Rational":
        return [head, _small(int(value.p)), _small(int(value.q))]
    if head == "Float":
        return [head, float(value)]
    if head is None:
        raise ValueError(f"a SymPy {type(value).__name__[:40]}")
    return [head, *(_down(argument, budget, depth + 1) for argument in value.args)]


@cache
def _heads() -> dict[type, str]:
    """SymPy's types by the heads that stand for them; it is loaded when the first expression comes."""
    import sympy
    from sympy import S

    from helpers.proofs import softmax

    constants = {type(S.Half): "Rational", type(S.ImaginaryUnit): "I", type(S.Pi): "pi", softmax: "softmax"}
    constants |= {type(x): "Integer" for x in (S.Zero, S.One, S.NegativeOne)}
    names = (*NAMED, "Integer", "Rational", "Float", "Identity", *OPERATORS, "MatMul", "Transpose")
    return constants | {getattr(sympy, name): name for name in names}


def _small(n: int) -> int:
    if abs(n) > MAX_INTEGER:
        raise ValueError("an expression with a number of more than 40 digits")
    return n


def is_tower(number: Any) -> bool:
    """Whether a SymPy number holds a power such as 9**9**9 that nobody can write out, kept unevaluated."""
    from sympy import Pow, exp

    exponents = [power.exp for power in number.atoms(Pow, exp)]
    return any(abs(exponent.evalf(5)) > MAX_EXPONENT for exponent in exponents)


# ---- reading: text → tree ----


def read(text: str) -> Tree:
    """The tree in `text`. Raises ValueError for anything that `write` would not have written."""
    if len(text) > MAX_TEXT:
        raise ValueError("an expression too long to read")
    try:
        return _up(json.loads(text), [MAX_NODES], 0)
    except (RecursionError, ValueError):
        raise ValueError("no expression") from None


def _up(node: Any, budget: list[int], depth: int) -> Tree:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH or type(node) is not list:
        raise ValueError("no expression")
    head, *rest = node
    if type(head) is not str:
        raise ValueError("no expression")
    if head in NAMED and len(rest) == 1 and type(rest[0]) is str and len(rest[0]) <= 20:
        return node
    if head in CONSTANTS and not rest:
        return node
    if head == "Integer" and len(rest) == 1 and type(rest[0]) is int:
        return ["Integer", _small(rest[0])]
    if head == "Rational" and len(rest) == 2 and all(type(n) is int for n in rest) and rest[1] > 0:
        return ["Rational", *map(_small, rest)]
    if head == "Float" and len(rest) == 1 and type(rest[0]) is float:
        return node
    if (head in MANY and rest) or (head in OPERATORS + MATRICES and len(rest) == (2 if head == "Pow" else 1)):
        return [head, *(_up(child, budget, depth + 1) for child in rest)]
    raise ValueError("no expression")


def parse(text: str) -> Tree:
    """The tree of an expression written in Python, by who writes an exercise: `parse("sin(w*(x + k))")`.

    With `@` for products of matrices, `.T` for transposes: `parse("softmax(Q @ K.T) @ V")`.
    """
    return _parse(ast.parse(text, mode="eval").body, "@" in text)


_BINARY = {ast.Add: "Add", ast.Mult: "Mul", ast.Pow: "Pow", ast.MatMult: "MatMul", ast.Sub: "Sub", ast.Div: "Div"}


def _parse(node: ast.AST, matrices: bool) -> Tree:
    if isinstance(node, ast.Constant):
        return ["Integer", node.value]
    if isinstance(node, ast.Name):
        return [node.id] if node.id in CONSTANTS else [NAMED[matrices], node.id]
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return ["Transpose", _parse(node.value, matrices)]
    if isinstance(node, ast.Call):
        return [node.func.id, *(_parse(argument, matrices) for argument in node.args)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return ["Mul", ["Integer", -1], _parse(node.operand, matrices)]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _parse(node.left, matrices), _parse(node.right, matrices)
        if isinstance(node.op, ast.Sub):
            return ["Add", left, ["Mul", ["Integer", -1], right]]
        if isinstance(node.op, ast.Div):
            return ["Mul", left, ["Pow", right, ["Integer", -1]]]
        head = _BINARY[type(node.op)]
        return [*left, right] if left[0] == head and head in MANY else [head, left, right]
    raise ValueError(f"no expression: {ast.unparse(node)}")


def show(tree: Tree) -> str:
    """The tree as one would write it in Python, bracketed where in doubt."""
    head, *rest = tree
    if head in (*NAMED, "Integer", "Float"):
        return str(rest[0])
    if head in CONSTANTS:
        return "I" if head == "Identity" else head
    if head == "Rational":
        return f"{rest[0]}/{rest[1]}"
    if head in MATRICES and head != "softmax":
        parts = [f"({show(child)})" if child[0] == "MatMul" else show(child) for child in rest]
        return " @ ".join(parts) if head == "MatMul" else f"{parts[0]}.T"
    loose = () if head == "Add" else ("Add", "Mul", "Rational")
    parts = [show(child) if child[0] not in loose else f"({show(child)})" for child in rest]
    if head in ("Add", "Mul", "Pow"):
        return {"Add": " + ", "Mul": "*", "Pow": "**"}[head].join(parts)
    return f"{head}({', '.join(show(child) for child in rest)})"


# ---- growth ----

# Sizes as powers of ten: n and d in either order, k and r far below n.
_RAYS = ((200, 124, 46, 62), (124, 200, 46, 62), (180, 60, 86, 74), (140, 220, 34, 106))
_EXACT = Context(prec=700, Emax=10**9, Emin=-(10**9))
_ROUGH = Context(prec=40, Emax=10**9, Emin=-(10**9))


def growth(tree: Tree, symbols: str = "ndkr") -> str:
    """What an expression grows like, up to constants: "n²·d", or "n²·d + n·d²" where neither is always the larger.

    Sizes are positive and large, and k and r are far below n. An expression that is no such sum of powers is shown
    as it is.
    """
    try:
        found = {_exponents(tree, symbols, ray) for ray in _RAYS}
    except (ArithmeticError, KeyError, ValueError):
        return show(tree)
    return " + ".join(sorted(_monomial(symbols, powers) for powers in found))


def _exponents(tree: Tree, symbols: str, ray: tuple[int, ...]) -> tuple[Fraction, ...]:
    """By how many powers of two the value grows when each symbol doubles."""
    point = {s: Decimal(10) ** a for s, a in zip(symbols, ray, strict=True)}
    here = _value(tree, point)
    if here <= 0:
        raise ValueError("not positive")
    powers = []
    for s in symbols:
        there = _value(tree, {**point, s: point[s] * 2})
        ratio = _EXACT.divide(there, here)
        power = math.log2(ratio)
        whole = Fraction(power).limit_denominator(6)
        if abs(power - whole) > 1e-6:
            raise ValueError("no power")
        powers.append(whole)
    return tuple(powers)


def _value(tree: Tree, point: dict[str, Decimal]) -> Decimal:
    head, *rest = tree
    if head == "Symbol":
        return point[rest[0]]
    if head in ("Integer", "Float"):
        return Decimal(rest[0])
    if head == "Rational":
        return _EXACT.divide(Decimal(rest[0]), Decimal(rest[1]))
    if head == "Pow":
        return _power(rest[0], rest[1], point)
    values = [_value(child, point) for child in rest]
    if head == "Add":
        return _fold(_EXACT.add, values)
    if head == "Mul":
        return _fold(_EXACT.multiply, values)
    if head in ("floor", "ceiling"):
        return values[0]  # within one of it, and sizes are huge
    if head == "log":
        return _ROUGH.ln(values[0])
    raise ValueError("no power")


def _power(base: Tree, power: Tree, point: dict[str, Decimal]) -> Decimal:
    """Powers by plain numbers alone: a tower of sizes would take all of time."""
    if power[0] not in ("Integer", "Rational", "Float"):
        raise ValueError("no power")
    exponent = _value(power, point)
    if abs(exponent) > MAX_POWER:
        raise ValueError("no power")
    context = _EXACT if power[0] == "Integer" else _ROUGH
    return context.power(_value(base, point), exponent)


def _fold(operation: Any, values: list[Decimal]) -> Decimal:
    total = values[0]
    for value in values[1:]:
        total = operation(total, value)
    return total


def _monomial(symbols: str, powers: tuple[Fraction, ...]) -> str:
    above = [_written(s, p) for s, p in zip(symbols, powers, strict=True) if p > 0]
    below = [_written(s, -p) for s, p in zip(symbols, powers, strict=True) if p < 0]
    top = "·".join(above) or "1"
    return top if not below else f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'·'.join(below)})"


def _written(symbol: str, power: Fraction) -> str:
    return symbol + {1: "", 2: "²", 3: "³"}.get(power, f"^{power}")
