"""Chains of expressions: what is proved, what is not, and that whatever is handed in gets a sentence."""

import functools
import json
import random
import time
from html import unescape

import pytest
from sympy import (
    Add,
    Eq,
    Expr,
    Float,
    Function,
    Integer,
    Integral,
    MatMul,
    Matrix,
    MatrixSymbol,
    Mul,
    Pow,
    Rational,
    Symbol,
    cos,
    exp,
    nan,
    oo,
    pi,
    sin,
    symbols,
)
from variants import positions_proofs as lines

from autograder import algebra, expressions, lemmas
from autograder.ask import ask
from autograder.card import html
from autograder.exercise import cases, find
from autograder.forms import reads
from autograder.grading.wire import pack, unpack
from autograder.judge import judge
from autograder.plain import Expression, plain
from autograder.proofs import Chain, written
from helpers.proofs import softmax

x, k, w = symbols("x k w", real=True)
START, APART, DONE = lines.SINE
P, Q, K, V = lines.P, lines.Q, lines.K, lines.V
SHIFT, MOVED = find("positions.shift_proof").proof, find("positions.equivariance_proof").proof


def checked(answer, proof):
    """As in grading: plain, over the wire, then checked."""
    return proof.check(unpack(pack(plain(answer))))


def sine(*chain):
    return checked((list(chain), lines.COSINE), SHIFT)


def moved(*chain):
    return checked(list(chain), MOVED)


A, B, C, D = sin(w * x), cos(w * x), sin(w * k), cos(w * k)

TWENTY = {
    "sign": (sine, [START, APART, A * D - B * C], "line 3 is not equal to line 2: at x = 1, k = 2, w = 0.5 line 2 is"),
    "sign early": (sine, [START, sin(w * x - w * k), A * D - B * C], "line 2 is not equal to line 1: at x = 1"),
    "missing term": (sine, [START, APART, A * D], "line 2 is 0.997 and line 3 is 0.259"),
    "swapped sin and cos": (sine, [START, APART, B * D - A * C], "line 2 is 0.997 and line 3 is 0.0707"),
    "sum of sines": (sine, [START, APART, A + C], "line 3 is not equal to line 2"),
    "w lost": (sine, [START, sin(w * x + k), A * cos(k) + B * sin(k)], "line 2 is not equal to line 1"),
    "true but not from the claim": (
        sine,
        [sin(2 * w * x), 2 * A * B, 2 * B * A],
        "line 1 is not the claim's left side",
    ),
    "from an equal line": (sine, [A * D + B * C, APART, A * D + B * C], "line 1 is equal to the claim's left side but"),
    "circular": (
        sine,
        [START, APART, A * D + B * C, START],
        "the last line does not have the asked form: sin(w*(k + x))",
    ),
    "back and forth": (sine, [START, DONE, START, DONE], "2 different ones (one that is repeated, or reordered"),
    "jumped": (sine, [START, DONE], "2 different ones where 3 are asked"),
    "jumped behind padding": (sine, [START, START * (A**2 + B**2), DONE], "takes the angle w*(x + k) apart"),
    "ends too early": (sine, [START, APART], "sin(k*w + w*x) is neither sin(w*x) nor cos(w*x)"),
    "coefficient with x": (sine, [START, APART, DONE, DONE * (A**2 + B**2)], "and both hold x"),
    "a constant beside": (
        sine,
        [START, APART, DONE, DONE + C**2 + D**2 - 1],
        "-1 stands in it without sin(w*x) or cos(w*x)",
    ),
    "rounded": (sine, [START, APART, Float(0.99999999999) * DONE], "Is that a rounded number?"),
    "true at friendly points only": (
        sine,
        [START, START + sin(2 * pi * x) * sin(pi * k) * sin(2 * pi * w), DONE],
        "line 2 is not equal to line 1: at x = ",
    ),
    "P on one side": (
        moved,
        [lines.START, P * softmax(Q * K.T) * P * V, lines.DONE],
        "Line 2 is not equal to line 1: with",
    ),
    "both lemmas at once": (moved, [lines.START, lines.DONE], "From line 1 to line 2 is a jump"),
    "queries and keys exchanged": (
        moved,
        [lines.START, P * softmax(K * Q.T) * P.T * P * V, lines.DONE],
        "line 1 is (",
    ),
}


@pytest.mark.parametrize(("how", "chain", "words"), TWENTY.values(), ids=TWENTY)
def test_a_wrong_proof_is_refused_in_words(how, chain, words):
    found = how(*chain)
    assert found.fault
    assert words in found.sentence
    assert len(found.sentence) < 500


RIGHT = {
    "plainly": [START, APART, DONE],
    "with a factored last line": [START, APART, DONE, sin(w * x) * cos(w * k) + sin(w * k) * (B / 2 + B / 2)],
    "by Euler": lines.euler()[0],
    "by product to sum": lines.product_to_sum()[0],
    "symbols without assumptions": lines.other_symbols()[0],
    "by a constant that is 1": lines.by_points()[0],
    "by the cosine": [START, cos(pi / 2 - w * x - w * k), APART, DONE],
    "by a quotient": [START, START * (x**2 - k**2) / ((x - k) * (x + k)), APART, DONE],
}


@pytest.mark.parametrize("chain", RIGHT.values(), ids=RIGHT)
def test_a_right_proof_holds_by_whatever_route(chain):
    found = sine(*chain)
    assert (found.fault, found.sentence) == ("", "")
    assert "line" in found.shown


def test_it_is_said_how_each_line_was_shown():
    assert "line 2 at 20 random points with 50 digits, line" not in sine(START, APART, DONE).shown
    assert (
        "lines 2–3 at 20 random points with 50 digits, line 4 symbolically"
        in sine(*RIGHT["by a constant that is 1"]).shown
    )
    assert (
        "line 2 by softmax(PAPᵀ) = P softmax(A) Pᵀ, line 3 by PᵀP = PPᵀ = I"
        in moved(lines.START, lines.OUT, lines.IDENTITY, lines.DONE).shown
    )


def test_a_counter_example_holds_on_a_calculator():
    sentence = sine(START, APART, A * D - B * C).sentence
    assert "at x = 1, k = 2, w = 0.5 line 2 is 0.997 and line 3 is -0.479" in sentence
    at = {x: 1, k: 2, w: Rational(1, 2)}
    assert f"{float(APART.subs(at)):.3f}" == "0.997" and f"{float((A * D - B * C).subs(at)):.3f}" == "-0.479"


@pytest.mark.parametrize(
    ("before", "after", "how", "fault"),
    [
        ("(P @ Q) @ (P @ K).T", "P @ Q @ K.T @ P.T", "by the rules of products and transposes", ""),
        ("softmax(P @ Q @ K.T) @ V", "P @ softmax(Q @ K.T) @ V", f"by {lemmas.SOFTMAX}", ""),
        ("(softmax(Q @ P) @ P.T).T @ P @ P.T", "(softmax(Q @ P) @ P.T).T", f"by {lemmas.INVERSE}", ""),
        ("softmax(P @ Q @ P.T) @ P", "P @ softmax(Q)  @ Identity", "", "shapes"),
        ("softmax(P @ Q @ K.T) @ P @ P.T", "P @ softmax(Q @ K.T)", "", "jump"),
        ("softmax(Identity) @ P", "P @ softmax(Identity)", "", "unexplained"),
        ("Q @ K.T @ P", "Q @ K.T @ P.T", "", "unequal"),
        ("Q @ K.T", "Q.T @ K", "", "unequal"),
    ],
)
def test_a_step_of_matrices_is_by_at_most_one_lemma(before, after, how, fault):
    found = lemmas.step(*map(expressions.parse, (before, after)), ("line 1", "line 2"), (), [0])
    assert (found.how, found.fault) == (how, fault)
    assert bool(found.sentence) == bool(fault)


# ---- whatever is handed in ----


class Pretender(Symbol):
    """Equal to everything, for who asks it."""

    def __eq__(self, other):
        return True

    __hash__ = Symbol.__hash__


class Shadow(Expr):
    """An expression of the student's own, that says it is what is wanted."""

    is_number = False
    args = (START,)
    __module__ = "sympy.core.expr"


class Chameleon:
    __class__ = list

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([START, APART, DONE])


def kept(head, *parts):
    return head(*parts, evaluate=False)


TOWER = kept(Pow, 9, kept(Pow, 9, 9))

BAD_LINES = {
    "text": ("sin(w*x + w*k)", "line 2 is text: write it without quotes"),
    "a foreign symbol": (sin(w * x + w * Symbol("y")), "line 2 holds y, which the claim does not: use x, k, w"),
    "NaN": (nan, "line 2 is an object of the class NaN"),
    "infinity": (oo * x, "line 2 is a SymPy Infinity"),
    "a float that is none": (float("nan"), "line 2 is a number that is not finite"),
    "None": (None, "line 2 is None"),
    "an equation": (Eq(START, APART), "line 2 is a SymPy Equality"),
    "an unknown function": (Function("f")(x), "line 2 is an object of the class"),
    "an integral": (Integral(START, x), "line 2 is a SymPy Integral"),
    "a matrix": (softmax(P), "line 2 holds P"),
    "thousands of nodes": (sum(sin(i * x) for i in range(2000)), "more than 300 nodes"),
    "too large a number": (10**50, "line 2 is too large a number"),
    "deep nesting": (functools.reduce(lambda e, _: kept(sin, e), range(200), x), "deeper than 30"),
    "a huge number": (Integer(10) ** 50 * x, "a number of more than 40 digits"),
    "a tower of powers": (TOWER, "a SymPy number too large to compute"),
    "a tower on a symbol": (x**TOWER, "line 2 cannot be compared with line 1: one of them has a power too large"),
    "the sine of a tower": (sin(x * TOWER), "line 2 cannot be compared with line 1"),
    "a power of a power": (functools.reduce(lambda e, _: kept(Pow, e, 64), range(20), x + k + w), "line 2"),
    "a huge angle": (sin(Integer(10) ** 39 * x), "too large to compute with at x = 1, k = 2, w = 0.5"),
    "many angles": (kept(Pow, sum(sin(i * x + k) for i in range(20)), 60), "line 2 is not equal to line 1"),
    "nested sines": (functools.reduce(lambda e, _: sin(e + x), range(12), x), "line 2 is not equal to line 1"),
    "exponentials of exponentials": (functools.reduce(lambda e, _: exp(e), range(20), x), "line 2 cannot be compared"),
    "a division by zero": (kept(Mul, START, kept(Pow, kept(Add, x, -x), -1)), "divides by zero"),
    "a pretender": (Pretender("x"), "line 2 is an object of the class Pretender"),
    "a pretender within": (sin(Pretender("x")), "line 2 is a SymPy Pretender"),
    "a class of one's own": (Shadow(), "line 2 is a SymPy Shadow"),
    "a list in a list": ([START], "line 2 is of type list"),
}


@pytest.mark.parametrize(("bad", "words"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_line_that_is_none_gets_a_sentence(bad, words):
    start = time.process_time()
    found = sine(START, bad, DONE)
    assert found.fault
    assert words in found.sentence and len(found.sentence) < 400
    assert time.process_time() - start < 10  # it ends at all


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "and not None"),
        (START, "and not one expression"),
        ("proof", "and not of type str"),
        (Chameleon(), "and not an object of the class Chameleon"),
        ([START, APART, DONE], "and not 3 things in a row"),
        ((None, None), "a proof is a list of SymPy expressions, line by line, and not None"),
        (([], []), "there is no line yet"),
        ((DONE, DONE), "and not one expression"),
        (([START] * 40, []), "there are 40 lines: 30 are more than enough"),
        (([START, *[sum(x**i for i in range(2, 60)) + j for j in range(1, 12)]], []), "shorten them"),
        (([Shadow()] * 3, [Shadow()] * 3), "line 1 is a SymPy Shadow"),
        ({"sine": lines.SINE}, "and not of type dict"),
    ],
)
def test_an_answer_that_is_no_pair_of_chains_gets_a_sentence(answer, words):
    found = checked(answer, SHIFT)
    assert found.fault
    assert words in found.sentence


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ([START, DONE], "Line 1 holds k, which the claim does not: use P, Q, K, V"),
        ([lines.START, 2 * lines.OUT], "Line 2 holds Integer: a line is made of products, transposes"),
        ([lines.START, lines.START + lines.OUT], "Line 2 is a SymPy MatAdd"),
        ([lines.START, lines.START, P**-1], "Line 3 is a SymPy Inverse"),
        ([lines.START, MatrixSymbol("R", lines.n, lines.d)], "Line 2 holds R, which the claim does not"),
        ([lines.START, Symbol("P") * Symbol("V")], "Line 2 holds Mul: a line is made of products, transposes"),
        ([lines.START, Matrix([[1, 2], [3, 4]])], "Line 2 is a SymPy MutableDenseMatrix"),
        ([lines.START, Q], "Line 2 is not equal to line 1: "),
        ([lines.START, MatMul(*[Q, Q.T] * 60, V)], "Line 2 is not equal to line 1: "),
    ],
)
def test_a_line_that_is_none_of_matrices_gets_a_sentence(chain, words):
    assert words in checked(chain, MOVED).sentence


def test_what_has_no_value_is_equal_to_nothing():
    nothing = ["Add", expressions.parse("sin(w*(x + k))"), ["Float", float("nan")]]
    answer = [plain(START), Expression(json.dumps(nothing)), Expression(json.dumps(nothing))]
    assert "one of them has no value at x = 1" in SHIFT.parts[0].check(answer).sentence


@pytest.mark.parametrize(("power", "how"), [(60, "at 20 random points with 50 digits"), (990, "")])
def test_digits_lost_to_large_numbers_are_no_difference(power, how):
    large = f"(x**2 + k**2 + w**2 + exp(x) + sin(k) + 900)**{power}"
    before, after = expressions.parse("x"), expressions.parse(f"x + {large} - {large}")
    found = algebra.step(before, after, ("line 1", "line 2"), ("x", "k", "w"), [3000])
    assert found.how == how
    assert how or "has a power too large to compute" in found.sentence


def test_forged_text_is_no_line():
    forged = [Expression('["Function", "f"]'), Expression('["MatMul", ["MatrixSymbol", "Q"], ["MatrixSymbol", "Q"]]')]
    assert "Line 1 is an expression that cannot be read" in MOVED.check([forged[0]]).sentence
    assert "shapes in line 2 do not fit" in MOVED.check([plain(lines.START), forged[1]]).sentence


# ---- a proof of an instructor's own ----


def test_a_proof_is_added_in_ten_lines():
    from autograder import exercise as registry

    @registry.exercise("positions.triple_angle", points=1, minutes=5, difficulty=2, kind="proof")
    class TripleAngle:
        """sin(3a) = 3 sin(a) − 4 sin³(a), as a list of SymPy expressions in a."""

        signature = "triple_angle() -> [sin(3*a), …, 3*sin(a) - 4*sin(a)**3]"
        proof = Chain("sin(3*a)", "a", least=3, form=reads("3*sin(a) - 4*sin(a)**3"))
        reference = written("sin(3*a)", "sin(2*a)*cos(a) + cos(2*a)*sin(a)", "3*sin(a) - 4*sin(a)**3")

    registry._registry.pop(TripleAngle.name)
    a = Symbol("a")

    def told(*chain):
        asked = cases(TripleAngle, 0)
        return judge(TripleAngle, asked, [ask(lambda: list(chain), TripleAngle.ask, case) for case in asked])

    right = told(sin(3 * a), sin(2 * a) * cos(a) + cos(2 * a) * sin(a), 3 * sin(a) - 4 * sin(a) ** 3)
    assert (right.score, right.detail) == (1, "Shown lines 2–3 symbolically.")
    assert told(sin(3 * a), sin(2 * a) * cos(a) + cos(2 * a) * sin(a), sin(3 * a)).sentence == (
        "The last line does not have the asked form: it is sin(3*a), and not 3*sin(a) - 4*sin(a)**3."
    )
    assert "Line 2 is not equal to line 1: at a = 1" in told(sin(3 * a), 3 * sin(a)).sentence


def test_a_named_mistake_keeps_its_counter_example():
    page = find("positions.shift_proof")
    asked = cases(page, 0)
    answer = ask(lambda: ([START, sin(w * k + w * x), APART, A * D - C * B], lines.COSINE), page.ask, asked[0])
    found = judge(page, asked, [answer])
    assert found.mistake == "sign in the sine"
    assert "line 4 is not equal to line 3: at x = 1, k = 2, w = 0.5" in found.detail
    assert found.detail in unescape(html(found, page))


TREES = ("Add", "Mul", "Pow", "exp", "sin", "cos", "log", "floor", "ceiling", "MatMul", "Transpose", "softmax")
LEAVES = (["Integer", 0], ["Integer", -7], ["Integer", 10**39], ["Rational", 1, 3], ["Float", 1e308], ["I"], ["pi"])
LEAVES += (
    ["Float", float("nan")],
    *(["Symbol", s] for s in "xkw"),
    *(["MatrixSymbol", s] for s in "PQKV"),
    ["Identity"],
)


def grown(draw, depth):
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(LEAVES)
    head = draw.choice(TREES)
    size = draw.randrange(1, 4) if head in ("Add", "Mul", "MatMul") else 2 if head == "Pow" else 1
    return [head, *(grown(draw, depth - 1) for _ in range(size))]


def test_random_expressions_are_always_answered():
    draw = random.Random(0)
    for _ in range(300):
        answer = [Expression(json.dumps(grown(draw, draw.randrange(1, 7)))) for _ in range(2)]
        assert SHIFT.parts[0].check([plain(START), *answer]).sentence
        assert MOVED.check([plain(lines.START), *answer]).sentence
