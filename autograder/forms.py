"""What a line of a proof about numbers may be asked to look like."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from autograder import algebra
from autograder.algebra import contains, names, normal
from autograder.expressions import Tree, parse, show

WAVES = ("sin", "cos", "exp")


def reads(text: str, rules: ModuleType = algebra) -> Callable[[Tree], str]:
    """A form for `Chain`: the last line is this expression, up to the order of sums and the brackets of products."""
    due = rules.look(parse(text))
    return lambda tree: "" if rules.look(tree) == due else f"it is {_cut(tree)}, and not {text}"


def combination(angle: str, free_of: str) -> Callable[[Tree], str]:
    """A form for `Chain`: sines and cosines of `angle`, times coefficients that are free of a symbol, added up."""
    due = normal(parse(angle))

    def wrong(tree: Tree) -> str:
        head, *rest = tree
        holding = [child for child in rest if type(child) is list and free_of in names(child)]
        if head == "Add":
            alone = next((child for child in rest if child not in holding), None)
            if alone:
                return f"{_cut(alone)} stands in it without sin({angle}) or cos({angle})"
            return next(filter(None, map(wrong, rest)), "")
        if head == "Mul" and len(holding) == 1:
            return wrong(holding[0])
        if head == "Mul" and holding:
            return f"it multiplies {' by '.join(map(_cut, holding[:2]))}, and both hold {free_of}"
        if head in ("sin", "cos") and holding:
            return "" if normal(rest[0]) == due else f"{_cut(tree)} is neither sin({angle}) nor cos({angle})"
        return f"{_cut(tree)} is no sum of sin({angle}) and cos({angle}) times what is free of {free_of}"

    return wrong


def taken_apart(symbol: str) -> Callable[[Tree], bool]:
    """A test for `Chain`: no angle multiplies a sum in which the symbol stands: w·x + w·k may be one, w·(x + k) not."""

    def test(tree: Tree) -> bool:
        if tree[0] in WAVES:
            return not _bracketed(tree[1], symbol)
        return all(test(child) for child in tree[1:] if type(child) is list)

    return test


def _bracketed(angle: Tree, symbol: str) -> bool:
    head, *rest = angle
    inner = [child for child in rest if type(child) is list]
    if head in ("Mul", "Pow") and any(contains(c, ("Add",)) and symbol in names(c) for c in inner):
        return True
    return any(_bracketed(child, symbol) for child in inner)


def _cut(tree: Tree) -> str:
    text = show(tree)
    return text if len(text) <= 60 else f"{text[:57]}…"
