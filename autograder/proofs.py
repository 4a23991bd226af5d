"""Proofs that a machine can check: a chain of expressions, each equal to the one before.

An instructor adds one so, in a module of `exercises`:

    @exercise("positions.triple_angle", points=1, minutes=5, difficulty=2, kind="proof")
    class TripleAngle:
        \"\"\"sin(3a) = 3 sin(a) − 4 sin³(a), as a list of SymPy expressions in a.\"\"\"

        signature = "triple_angle() -> [sin(3*a), …, 3*sin(a) - 4*sin(a)**3]"
        proof = Chain("sin(3*a)", "a", least=3, form=reads("3*sin(a) - 4*sin(a)**3"))
        reference = written("sin(3*a)", "sin(2*a)*cos(a) + cos(2*a)*sin(a)", "3*sin(a) - 4*sin(a)**3")
        hints = ["3a = 2a + a."]
        why = "Every identity of angles comes from the angle sum."

Choose a claim with steps that SymPy does not take by itself: it writes sin(a)*cos(a) + cos(a)*sin(a) in one term.
Its mistakes are chains that are wrong; one is recognised by its first wrong line, wherever that stands.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, pairwise
from types import ModuleType
from typing import Any

from autograder import algebra, expressions, lemmas
from autograder.expressions import Tree, parse
from autograder.plain import Expression, Other

MAX_LINES = 30
MAX_TOTAL = 1_000  # symbols and operations in a chain
USES = {
    algebra: "numbers, sums, products, powers, sin, cos and exp",
    lemmas: "products, transposes, Identity(n) and softmax",
}


@dataclass(frozen=True)
class Finding:
    """What was found of a proof. Two findings are equal if their `fault` is: "" for a proof that holds."""

    fault: str
    sentence: str = field(default="", compare=False)
    shown: str = field(default="", compare=False)


class Refused(Exception):
    """A chain that is no proof: what kind of fault, and the sentence for the learner."""

    def __init__(self, fault: str, sentence: str) -> None:
        super().__init__(sentence)
        self.fault, self.sentence = fault, sentence


@dataclass(frozen=True)
class Chain:
    """A claim by its left side, and what a proof of it must be.

    `start` and `symbols` are text ("sin(w*(x + k))", "x k w"). `form(tree)` says of a last line what is wrong with it,
    or "". At least `least` lines look different; `shows(tree)`, if given, holds of one before the last, or `hidden` is
    said. `rules` is `algebra` for numbers, `lemmas` for matrices. `name` is how sentences speak of this chain.
    """

    start: str
    symbols: str
    least: int
    form: Callable[[Tree], str]
    shows: Callable[[Tree], bool] | None = None
    hidden: str = ""
    rules: ModuleType = algebra
    name: str = ""

    def check(self, answer: Any, *inputs: Any) -> Finding:
        """What holds of a plain answer. It never raises, and ends soon whatever it is given."""
        known = type(answer) in (list, tuple) and all(type(given) is Expression for given in answer)
        return _remembered(self, tuple(answer)) if known else self._check(answer)

    def _check(self, answer: Any) -> Finding:
        try:
            return Finding("", shown=self._shown(self._steps(self._read(answer))))
        except Refused as why:
            text = why.sentence
            where = f"In the lines for {self.name}, " if self.name else ""
            return Finding(f"{self.name}: {why.fault}", where + (text[0].lower() + text[1:] if where else text))

    # ---- reading ----

    def _read(self, answer: Any) -> list[Tree]:
        if type(answer) not in (list, tuple):
            raise Refused("no list", f"A proof is a list of SymPy expressions, line by line, and not {_kind(answer)}.")
        if not answer:
            raise Refused("no line", "There is no line yet: start with the claim's left side.")
        if len(answer) > MAX_LINES:
            raise Refused("long", f"There are {len(answer)} lines: {MAX_LINES} are more than enough.")
        trees = [self._line(value, f"Line {i}") for i, value in enumerate(answer, 1)]
        if sum(map(_nodes, trees)) > MAX_TOTAL:
            raise Refused("large", f"The lines hold more than {MAX_TOTAL:,} symbols and operations: shorten them.")
        return trees

    def _line(self, value: Any, line: str) -> Tree:
        if type(value) is int and abs(value) <= expressions.MAX_INTEGER:
            return ["Integer", value]
        if type(value) is float and abs(value) < float("inf"):
            return ["Float", value]
        known = self.symbols.split()
        need = f"a SymPy expression in {', '.join(known)}"
        if type(value) is str:
            raise Refused("text", f"{line} is text: write it without quotes, as {need}.")
        try:
            tree = expressions.read(value.text) if type(value) is Expression else None
        except ValueError:
            tree = None
        if tree is None:
            found = "an expression that cannot be read" if type(value) is Expression else _kind(value)
            raise Refused("unread", f"{line} is {found}, and not {need}.")
        strange = sorted(algebra.names(tree) - set(known))
        if strange:
            raise Refused("symbols", f"{line} holds {strange[0]}, which the claim does not: use {', '.join(known)}.")
        odd = sorted(_heads(tree) - set(self.rules.HEADS))
        if odd:
            raise Refused("heads", f"{line} holds {odd[0]}: a line is made of {USES[self.rules]}.")
        return tree

    # ---- checking ----

    def _steps(self, trees: list[Tree]) -> list[str]:
        """How each line but the first was shown to be equal to the one before. Raises Refused."""
        symbols, budget = tuple(self.symbols.split()), [algebra.MAX_PRODUCTS]
        self._started(trees[0], symbols)
        ways = []
        for i, (before, after) in enumerate(pairwise(trees), 2):
            found = self.rules.step(before, after, (f"line {i - 1}", f"line {i}"), symbols, budget)
            if found.fault:
                mark = f" {self.rules.fingerprint(after, symbols)}" if found.fault == "unequal" else ""
                raise Refused(found.fault + mark, found.sentence)
            ways.append(found.how)
        self._finished(trees)
        return ways

    def _started(self, first: Tree, symbols: tuple[str, ...]) -> None:
        start = parse(self.start)
        if self.rules.same_start(first, start):
            return
        mark = self.rules.fingerprint(first, symbols)
        equal = mark == self.rules.fingerprint(start, symbols)
        but = "is equal to the claim's left side but is not it" if equal else "is not the claim's left side"
        raise Refused(f"start {mark}", f"Line 1 {but}: start with {self.start}.")

    def _finished(self, trees: list[Tree]) -> None:
        wrong = self.form(trees[-1])
        if wrong:
            raise Refused(f"form {self.rules.look(trees[-1])}", f"The last line does not have the asked form: {wrong}.")
        different = len({self.rules.look(tree) for tree in trees})
        if different < self.least:
            again = " (one that is repeated, or reordered, does not count)" if different < len(trees) else ""
            raise Refused(
                "short",
                f"Each line is right, but there are {different} different ones{again} where {self.least} are asked: "
                "show the steps between.",
            )
        if self.shows and not any(map(self.shows, trees[:-1])):
            raise Refused("hidden", self.hidden)

    def _shown(self, ways: list[str]) -> str:
        """`line 2 symbolically, lines 3–4 at 20 random points with 50 digits`."""
        parts = []
        for way, group in groupby(enumerate(ways, 2), key=lambda pair: pair[1]):
            lines = [i for i, _ in group]
            several = f"lines {lines[0]}–{lines[-1]}" if len(lines) > 1 else f"line {lines[0]}"
            parts.append(f"{several} {way}")
        return (f"for {self.name}: " if self.name else "") + ", ".join(parts)


@dataclass(frozen=True)
class Chains:
    """Several chains, given as a tuple in this order."""

    parts: tuple[Chain, ...]

    def check(self, answer: Any, *inputs: Any) -> Finding:
        """The first fault of any chain."""
        if type(answer) not in (list, tuple) or len(answer) != len(self.parts):
            names = " and ".join(f"one for {part.name}" for part in self.parts)
            found = _kind(answer) if type(answer) not in (list, tuple) else f"{len(answer)} things in a row"
            return Finding("no chains", f"Return {len(self.parts)} lists, {names}, and not {found}.")
        findings = [part.check(given) for part, given in zip(self.parts, answer, strict=True)]
        wrong = next((found for found in findings if found.fault), None)
        return wrong or Finding("", shown="; ".join(found.shown for found in findings))


@lru_cache(256)
def _remembered(chain: Chain, answer: tuple[Expression, ...]) -> Finding:
    """An answer is compared with many mistakes: it is checked once."""
    return chain._check(answer)


def _kind(value: Any) -> str:
    """What was given in place of an expression, in a few words."""
    if isinstance(value, Other):
        if value.kind.startswith(("a ", "an ")):
            return value.kind
        return f"a {value.kind}" if " " in value.kind else f"an object of the class {value.kind.split('.')[-1]}"
    if type(value) is Expression:
        return "one expression"
    if type(value) in (int, float):
        return "a number that is not finite" if value != value or abs(value) == float("inf") else "too large a number"
    return "None" if value is None else f"of type {type(value).__name__}"


def _heads(tree: Tree) -> set[str]:
    return {tree[0]}.union(*(_heads(child) for child in tree[1:] if type(child) is list))


def _nodes(tree: Tree) -> int:
    return 1 + sum(_nodes(child) for child in tree[1:] if type(child) is list)


def line(text: str) -> Expression:
    """A line as it would come from a learner who wrote this with SymPy."""
    return Expression(json.dumps(parse(text)))


def written(*texts: str) -> Callable[[], list[Expression]]:
    """A function that gives these lines, for the reference and the mistakes of a page."""
    return lambda: [line(text) for text in texts]
