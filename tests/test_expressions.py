"""Expressions travel as checked text: what is written, what is refused, and what they grow like."""

import json
import time

import pytest
import sympy

from autograder import expressions
from autograder.compare import show
from autograder.grading.wire import pack, unpack
from autograder.plain import Expression, Other, plain

n, d, k, r = sympy.symbols("n d k r", positive=True)


def grown(expression):
    return expressions.growth(expressions.read(plain(expression).text))


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        (n**2 * d, "n²·d"),
        (4 * n**2 * d + 7 * n * d + 3, "n²·d"),
        (n * (n - 1) / 2 * d, "n²·d"),
        (n**2 * d + n * d**2, "n²·d + n·d²"),
        ((n - 1) / (k - 1) + 1, "n/k"),
        (sympy.ceiling(n / k), "n/k"),
        ((n + 1) ** 2 - n**2, "n"),
        (n / (k * r), "n/(k·r)"),
        (sympy.sqrt(n) * d**3, "n^1/2·d³"),
        (1 / n, "1/n"),
        (sympy.Float(0.5) * n, "n"),
    ],
)
def test_growth_forgets_constants_and_lower_terms(expression, due):
    assert grown(expression) == due


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (sympy.log(n), "log(n)"),
        (-n, "-1*n"),
        (n**n, "n**n"),
        (sympy.Symbol("N") * 2, "2*N"),
        (n ** sympy.Rational(21, 10), "n**(21/10)"),
        (n**1000, "n**1000"),
        (sympy.sin(n), "sin(n)"),
    ],
)
def test_what_is_no_sum_of_powers_is_shown_as_it_is(expression, shown):
    assert grown(expression) == shown


def test_an_expression_crosses_the_wire_as_text():
    value = {"row": (plain(n**2 * d + sympy.Rational(1, 3)), 1)}
    assert type(value["row"][0]) is Expression
    assert unpack(pack(value)) == value
    assert show(value["row"][0]) == "1/3 + d*n**2"


class Pretender(sympy.Symbol):
    def __eq__(self, other):
        return True

    __hash__ = sympy.Symbol.__hash__


@pytest.mark.parametrize(
    "value",
    [
        sympy.O(n),
        sympy.Matrix([n]),
        sympy.Function("f")(n),
        sympy.Integral(n, n),
        10**50 * n,
        sum(n**i for i in range(2000)),
        Pretender("n"),
        Pretender("n") * d,
        n < d,
        sympy.oo * n,
    ],
    ids=str,
)
def test_anything_else_is_not_plain(value):
    assert type(plain(value)) is Other


def test_a_number_too_large_to_write_out_is_not_computed():
    tower = sympy.Pow(9, sympy.Pow(9, 9, evaluate=False), evaluate=False)
    for number in (tower, sympy.sin(tower, evaluate=False), sympy.exp(tower, evaluate=False), sympy.sqrt(2) * tower):
        assert plain(number) == Other("a SymPy number too large to compute")
    assert (plain(sympy.sqrt(16)), plain(sympy.pi)) == (4, pytest.approx(3.14159265))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sin(w*(x + k)) - 2", "sin(w*(x + k)) + -1*2"),
        ("x/2 + I*pi", "x*2**-1 + I*pi"),
        ("softmax(Q @ K.T @ P.T) @ (P @ V).T", "softmax(Q @ K.T @ P.T) @ (P @ V).T"),
    ],
)
def test_an_expression_is_read_from_an_instructors_text(text, shown):
    assert expressions.show(expressions.read(json.dumps(expressions.parse(text)))) == shown


@pytest.mark.parametrize("text", ["x if y else z", "x < y", "[x]", "x.y", "lambda: x"])
def test_an_instructors_text_that_is_no_expression_is_refused(text):
    with pytest.raises(ValueError, match="no expression"):
        expressions.parse(text)


def _deep(levels):
    tree = ["Symbol", "n"]
    for _ in range(levels):
        tree = ["exp", tree]
    return json.dumps(tree)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n**2",
        "[]",
        "{}",
        "null",
        "[1, 2]",
        '["Symbol"]',
        '["Symbol", 1]',
        '["Symbol", "' + "n" * 30 + '"]',
        '["Integer", true]',
        '["Integer", 1.5]',
        '["Integer", 1' + "0" * 60 + "]",
        '["Rational", 1, 0]',
        '["Add"]',
        '["Pow", ["Integer", 2]]',
        '["__import__", ["Symbol", "os"]]',
        '["Add", "n"]',
        _deep(40),
        "[" * 50_000,
        '["Mul"' + ', ["Integer", 2]' * 400 + "]",
        '["Symbol", "' + "n" * 100_000 + '"]',
    ],
)
def test_text_that_was_never_written_is_refused(text):
    with pytest.raises(ValueError, match="expression"):
        expressions.read(text)


def _tower(levels):
    tree = ["Symbol", "n"]
    for _ in range(levels):
        tree = ["Pow", tree, ["Integer", 64]]
    return tree


@pytest.mark.parametrize(
    "tree",
    [
        _tower(28),
        ["Pow", ["Symbol", "n"], ["Pow", ["Integer", 64], ["Integer", 64]]],
        ["Mul", *[["Pow", ["Symbol", "n"], ["Rational", 63, 64]] for _ in range(90)]],
        ["Float", float("nan")],
        ["Pow", ["Symbol", "n"], ["Float", float("inf")]],
        ["log", ["Integer", -1]],
        ["Pow", ["Integer", 0], ["Integer", -1]],
    ],
    ids=range(7),
)
def test_growth_ends_soon_whatever_it_is_given(tree):
    start = time.process_time()
    assert isinstance(expressions.growth(expressions.read(json.dumps(tree))), str)
    assert time.process_time() - start < 1
