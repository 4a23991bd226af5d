"""Chains of expressions: what is proved, what is not, and that whatever is handed in gets a sentence."""

import pytest
from sympy import Float, Rational, cos, pi, sin, symbols
from variants import positions_proofs as lines

from autograder import expressions, lemmas
from autograder.exercise import find
from autograder.grading.wire import pack, unpack
from autograder.plain import plain
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
    "circular": (sine, [START, APART, A * D + B * C, START], "the last line has not the asked form: sin(w*(k + x))"),
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
