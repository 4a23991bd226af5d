"""Equality of scalar expressions, read as trees: exactly where sums of powers, sines, cosines and exponentials have a
normal form, and otherwise at points with 50 digits. Both are bounded, whatever they are given.

The normal form is a sum of c · x^a y^b … · e^p with p a polynomial, as sin θ = (e^iθ − e^−iθ)/2i. Terms that differ in
powers or in p are linearly independent, so two such sums are equal only if they are the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from autograder.expressions import Tree

HEADS = ("Symbol", "Integer", "Rational", "Float", "I", "pi", "Add", "Mul", "Pow", "exp", "log", "sin", "cos")
HEADS += ("floor", "ceiling")
DIGITS = 50
POINTS = 20
MAX_PRODUCTS = 3_000  # of terms, in all lines of a proof
MAX_POWER = 64
MAX_SIZE = 20_000  # bits of a coefficient
MAX_EXPONENT = 1_000
MAX_ANGLE = 10**5
MAX_BITS = 1_000  # of a whole number on the way: some 300 digits

# Values for the symbols of a claim that one would try on a calculator, and then hundredths between −3 and 3.
_FRIENDLY = ((1, 2, Fraction(1, 2)), (2, 1, 3), (Fraction(1, 2), 3, 1))


# ---- normal forms ----


class _None(Exception):
    """There is no normal form of this kind, or none of a size that we would compute."""


def normal(tree: Tree, budget: list[int] | None = None) -> dict | None:
    """{(powers, exponent): (real part, imaginary part)}, exact; None where there is none.

    `budget` holds how many products of two terms may still be made, and is used up.
    """
    try:
        return _normal(tree, [MAX_PRODUCTS] if budget is None else budget)
    except (_None, ZeroDivisionError, OverflowError):
        return None


def _normal(tree: Tree, budget: list[int]) -> dict:
    head, *rest = tree
    if head == "Symbol":
        return {(((rest[0], 1),), ()): (Fraction(1), Fraction(0))}
    if head in ("Integer", "Rational", "Float"):
        return _constant(_fraction(tree))
    if head == "I":
        return _constant(0, 1)
    if head == "Pow":
        return _power(_normal(rest[0], budget), rest[1], budget)
    if head not in ("Add", "Mul", "exp", "sin", "cos"):
        raise _None
    parts = [_normal(child, budget) for child in rest]
    if head == "Add":
        return _sum(parts)
    if head == "Mul":
        return _product(parts, budget)
    if head == "exp":
        return _exponential(parts[0])
    turned, back = (_exponential(_product([parts[0], _constant(0, sign)], budget)) for sign in (1, -1))
    if head == "cos":
        return _product([_sum([turned, back]), _constant(Fraction(1, 2))], budget)
    back = _product([back, _constant(-1)], budget)
    return _product([_sum([turned, back]), _constant(0, Fraction(-1, 2))], budget)


def _fraction(tree: Tree) -> Fraction:
    if tree[0] == "Float":
        try:
            return Fraction(repr(tree[1]))  # 0.1 means a tenth
        except ValueError:
            raise _None from None
    return Fraction(*tree[1:])


def _constant(real: Any, imaginary: Any = 0) -> dict:
    return {((), ()): (Fraction(real), Fraction(imaginary))} if real or imaginary else {}


def _sum(parts: list[dict]) -> dict:
    total: dict = {}
    for part in parts:
        for key, (a, b) in part.items():
            c, d = total.get(key, (0, 0))
            total[key] = (a + c, b + d)
    return {key: value for key, value in total.items() if any(value)}


def _product(parts: list[dict], budget: list[int]) -> dict:
    total = parts[0]
    for part in parts[1:]:
        budget[0] -= len(total) * len(part)
        if budget[0] < 0:
            raise _None
        total = _sum([{_joined(p, q): _times(total[p], part[q])} for p in total for q in part])
        if any(n.numerator.bit_length() > MAX_SIZE for pair in total.values() for n in pair):
            raise _None
    return total


def _joined(p: tuple, q: tuple) -> tuple:
    powers = dict(p[0])
    for name, power in q[0]:
        powers[name] = powers.get(name, 0) + power
    exponent = dict(p[1])
    for key, (a, b) in q[1]:
        c, d = exponent.get(key, (0, 0))
        exponent[key] = (a + c, b + d)
    kept = tuple(sorted((name, power) for name, power in powers.items() if power))
    return kept, tuple(sorted((key, value) for key, value in exponent.items() if any(value)))


def _times(x: tuple, y: tuple) -> tuple:
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def _power(base: dict, exponent: Tree, budget: list[int]) -> dict:
    if exponent[0] != "Integer" or abs(exponent[1]) > MAX_POWER:
        raise _None
    n = exponent[1]
    if n < 0:
        base = _inverse(base)
    total, n = _constant(1), abs(n)
    while n:
        if n % 2:
            total = _product([total, base], budget)
        n //= 2
        base = _product([base, base], budget) if n else base
    return total


def _inverse(base: dict) -> dict:
    if len(base) != 1:
        raise _None
    [((powers, exponent), (a, b))] = base.items()
    size = a * a + b * b
    turned = tuple((key, (-c, -d)) for key, (c, d) in exponent)
    return {(tuple((name, -power) for name, power in powers), turned): (a / size, -b / size)}


def _exponential(exponent: dict) -> dict:
    if any(inner for _, inner in exponent) or len(exponent) > 40:
        raise _None
    return {((), tuple(sorted((powers, value) for (powers, _), value in exponent.items()))): (Fraction(1), Fraction(0))}


# ---- values ----


@cache
def _mp() -> Any:
    """Numbers with twice the digits that are compared; loaded when the first proof comes."""
    from mpmath import MPContext

    context = MPContext()
    context.dps = 2 * DIGITS + 10
    return context


class Unknown(Exception):
    """An expression has no value at a point, or none that we would compute; the text says which."""


def value(tree: Tree, point: dict[str, Fraction]) -> Any:
    """The value at a point, a real or complex number of more than 50 digits. Raises Unknown."""
    try:
        found = _value(tree, point)
    except ZeroDivisionError:
        raise Unknown("divides by zero") from None
    except (ArithmeticError, ValueError):
        raise Unknown("has no value") from None
    if not _mp().isfinite(found):
        raise Unknown("has no value")
    return found


def _value(tree: Tree, point: dict[str, Fraction]) -> Any:
    head, *rest = tree
    if head == "Symbol":
        return _number(point[rest[0]])
    if head in ("Integer", "Rational"):
        return _number(Fraction(*rest))
    if head == "Float":
        return _mp().mpf(repr(rest[0]))
    if head == "I":
        return _mp().mpc(0, 1)
    if head == "pi":
        return +_mp().pi
    parts = [_value(child, point) for child in rest]
    found = _done(head, parts)
    if found and _mp().mag(found) > MAX_BITS:
        raise Unknown("comes to a number too large to compute with")
    return found


def _done(head: str, parts: list) -> Any:
    if head == "Add":
        return sum(parts[1:], parts[0])
    if head == "Mul":
        return _mp().fprod(parts)
    if head == "Pow":
        return _raised(*parts)
    if head in ("exp", "sin", "cos") and not abs(parts[0]) <= MAX_ANGLE:
        raise Unknown("takes the sine, cosine or exponential of a number too large to compute with")
    return getattr(_mp(), "ceil" if head == "ceiling" else head)(parts[0])


def _number(x: Fraction) -> Any:
    return _mp().mpf(x.numerator) / x.denominator


def _raised(base: Any, exponent: Any) -> Any:
    if not _mp().isfinite(base) or not abs(exponent) <= MAX_EXPONENT:
        raise Unknown("has a power too large to compute")
    if base and abs(_mp().mag(base)) * abs(exponent) > MAX_BITS:
        raise Unknown("has a power too large to compute")
    if not base and exponent.real < 0:
        raise ZeroDivisionError
    whole = exponent.imag == 0 and exponent.real == int(exponent.real)
    return base ** (int(exponent.real) if whole else exponent)


def points(symbols: tuple[str, ...]) -> Iterator[dict[str, Fraction]]:
    """Points at which two lines are compared, the same each time; the first are friendly to a calculator."""
    for row in _FRIENDLY:
        yield {name: Fraction(row[i % 3]) + i // 3 for i, name in enumerate(symbols)}
    draw = random.Random(len(symbols))
    for _ in range(POINTS - len(_FRIENDLY)):
        yield {name: Fraction(draw.choice((-1, 1)) * draw.randrange(7, 300), 100) for name in symbols}


def fingerprint(tree: Tree, symbols: tuple[str, ...]) -> str:
    """The same text for expressions that are equal at the friendly points."""
    found = []
    for point, _ in zip(points(symbols), _FRIENDLY, strict=False):
        try:
            found.append(_short(value(tree, point), 8))
        except Unknown as why:
            found.append(str(why))
    return " ".join(found)


def _short(x: Any, digits: int) -> str:
    if abs(x.imag) < _mp().mpf(10) ** -DIGITS:
        return _mp().nstr(x.real, digits, min_fixed=-6, max_fixed=9) if abs(x.real) > _mp().mpf(10) ** -DIGITS else "0"
    return _mp().nstr(_mp().mpc(x), digits)


# ---- two lines ----


@dataclass(frozen=True)
class Step:
    """What was found of two lines: `how` they were shown equal, or else the kind of fault and a sentence."""

    how: str = ""
    fault: str = ""
    sentence: str = ""


def step(before: Tree, after: Tree, lines: tuple[str, str], symbols: tuple[str, ...], budget: list[int]) -> Step:
    """Whether a line equals the one before; `budget` is that of `normal`, for all lines together."""
    first, second = normal(before, budget), normal(after, budget)
    if first is not None and first == second:
        return Step("symbolically")
    tried, why = 0, None
    for point in points(symbols):
        try:
            here, there = _both(before, after, point)
        except Unknown as found:
            why = why or f"{found} at {_written(point)}"
            continue
        if _far(here, there):
            return Step(fault="unequal", sentence=_differ(here, there, point, lines))
        tried += 1
    if tried < POINTS // 2:
        return Step(
            fault="unknown", sentence=f"{upper(lines[1])} cannot be compared with {lines[0]}: one of them {why}."
        )
    if first is not None and second is not None:
        sentence = f"{upper(lines[1])} is not equal to {lines[0]}: they differ beyond the {DIGITS}th digit."
        return Step(fault="unequal", sentence=sentence)
    return Step(f"at {tried} random points with {DIGITS} digits")


def _far(here: Any, there: Any) -> bool:
    return abs(here - there) > _mp().mpf(10) ** -DIGITS * max(1, abs(here), abs(there))


def _both(before: Tree, after: Tree, point: dict) -> tuple[Any, Any]:
    """Two values; where they differ, with many more digits, as large numbers may have cancelled out."""
    here, there = value(before, point), value(after, point)
    if _far(here, there):
        with _mp().workdps(8 * DIGITS):
            return value(before, point), value(after, point)
    return here, there


def _differ(here: Any, there: Any, point: dict, lines: tuple[str, str]) -> str:
    digits = 3
    while _short(here, digits) == _short(there, digits) and digits < DIGITS:
        digits += 3
    sentence = (
        f"{upper(lines[1])} is not equal to {lines[0]}: at {_written(point)} {lines[0]} is {_short(here, digits)} "
        f"and {lines[1]} is {_short(there, digits)}."
    )
    rounded = abs(here - there) < _mp().mpf(10) ** -9 * max(abs(here), abs(there))
    return sentence + (" Is that a rounded number? Write Rational(1, 3), not 1/3." if rounded else "")


def _written(point: dict[str, Fraction]) -> str:
    return ", ".join(f"{name} = {float(x):g}" for name, x in point.items())


def upper(text: str) -> str:
    """A sentence with its first letter large."""
    return text[0].upper() + text[1:]


# ---- what is written, beyond what it is worth ----


def look(tree: Tree) -> tuple:
    """What a line looks like: the same for lines that differ in order, brackets of sums, 0, 1 and sums of numbers."""
    head, *rest = tree
    if head in ("Integer", "Rational", "Float"):
        return _numeral(tree)
    if head in ("Symbol", "I", "pi"):
        return tuple(tree)
    kids = [look(child) for child in rest]
    if head == "Pow" and kids[1] == ("Rational", 1, 1):
        return kids[0]
    return _gathered(head, kids) if head in ("Add", "Mul") else (head, *kids)


def _numeral(tree: Tree) -> tuple:
    try:
        x = _fraction(tree)
    except _None:
        return ("Float", repr(tree[1]))
    return ("Rational", x.numerator, x.denominator)


def _gathered(head: str, kids: list[tuple]) -> tuple:
    """A sum or product, flat, sorted and with its numbers made one."""
    flat = [inner for kid in kids for inner in (kid[1:] if kid[0] == head else (kid,))]
    number = Fraction(0 if head == "Add" else 1)
    for kid in flat:
        if kid[0] == "Rational":
            number = number + Fraction(*kid[1:]) if head == "Add" else number * Fraction(*kid[1:])
    if head == "Mul" and not number:
        return ("Rational", 0, 1)
    rest = sorted((kid for kid in flat if kid[0] != "Rational"), key=repr)
    if number != (0 if head == "Add" else 1) or not rest:
        rest.insert(0, ("Rational", number.numerator, number.denominator))
    return rest[0] if len(rest) == 1 else (head, *rest)


def same_start(tree: Tree, start: Tree) -> bool:
    """Whether a line is the claim's left side, up to how its sums and products are written out."""
    return _written_out(tree) == _written_out(start)


def _written_out(tree: Tree) -> Any:
    found = None if contains(tree, ("sin", "cos", "exp")) else normal(tree)
    if found is not None:
        return ("sum", *sorted(found.items()))
    head, *rest = tree
    if head in ("Symbol", "I", "pi", "Integer", "Rational", "Float"):
        return look(tree)
    kids = [_written_out(child) for child in rest]
    return _gathered(head, kids) if head in ("Add", "Mul") else (head, *kids)


def contains(tree: Tree, heads: tuple[str, ...]) -> bool:
    """Whether one of the heads occurs in a tree."""
    return tree[0] in heads or any(contains(child, heads) for child in tree[1:] if type(child) is list)


def names(tree: Tree) -> set[str]:
    """The names of a tree's symbols."""
    if tree[0] in ("Symbol", "MatrixSymbol"):
        return {tree[1]}
    return set().union(*(names(child) for child in tree[1:] if type(child) is list))
