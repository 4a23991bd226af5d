"""Right and wrong proofs of 03_positions, written otherwise than in the pages."""

from sympy import Float, I, Identity, MatMul, MatrixSymbol, Rational, Symbol, Transpose, cos, exp, pi, sin, symbols

from helpers.proofs import softmax

x, k, w = symbols("x k w", real=True)
n, d = symbols("n d")
P, Q, K, V = MatrixSymbol("P", n, n), MatrixSymbol("Q", n, d), MatrixSymbol("K", n, d), MatrixSymbol("V", n, d)

SINE = [sin(w * (x + k)), sin(w * x + w * k), sin(w * x) * cos(w * k) + cos(w * x) * sin(w * k)]
COSINE = [cos(w * (x + k)), cos(w * x + w * k), cos(w * x) * cos(w * k) - sin(w * x) * sin(w * k)]
START, OUT, DONE = softmax(P * Q * K.T * P.T) * P * V, P * softmax(Q * K.T) * P.T * P * V, P * softmax(Q * K.T) * V
IDENTITY = MatMul(P, softmax(Q * K.T), Identity(n), V)


def euler():
    """By exponentials, and never with w·x + w·k inside a sine."""
    a, b = exp(I * w * x), exp(I * w * k)
    whole = exp(I * w * (x + k))
    waves = (cos(w * x) + I * sin(w * x)) * (cos(w * k) + I * sin(w * k))
    back = (cos(w * x) - I * sin(w * x)) * (cos(w * k) - I * sin(w * k))
    sine = [SINE[0], (whole - 1 / whole) / (2 * I), (a * b - 1 / (a * b)) / (2 * I), (waves - back) / (2 * I), SINE[2]]
    return sine, [COSINE[0], (whole + 1 / whole) / 2, (a * b + 1 / (a * b)) / 2, (waves + back) / 2, COSINE[2]]


def product_to_sum():
    """By sums of angles in two products; the last line keeps a half and brackets."""
    half = Rational(1, 2)
    more, less = w * x + w * k, w * x - w * k
    sine = [SINE[0], half * (sin(more) + sin(less)) + half * (sin(more) - sin(less)), SINE[2]]
    cosine = [COSINE[0], half * (cos(more) + cos(less)) - half * (cos(less) - cos(more)), COSINE[2]]
    return sine, cosine


def other_symbols():
    """Symbols without assumptions, the angle written out from the start, one line repeated."""
    x, k, w = Symbol("x"), Symbol("k"), Symbol("w")
    angle = w * x + w * k
    sine = [sin(angle), sin(w * x) * cos(w * k) + cos(w * x) * sin(w * k)]
    sine += [sine[-1], sin(w * x) * (1 * cos(w * k)) + sin(w * k) * cos(w * x) * (sin(k) ** 2 + cos(k) ** 2)]
    return tuple(sine), (cos(angle), Float(0.5) * cos(angle) + COSINE[2] / 2, cos(w * k + x * w), COSINE[2])


def by_points():
    """With π, which has no normal form: shown at points."""
    turned = sin(w * x + w * k) * (cos(pi / 5) ** 2 + sin(pi / 5) ** 2)
    return [SINE[0], turned, SINE[1], SINE[2]], COSINE


def brackets():
    """With the brackets in which attention is written, and the transpose in a line of its own."""
    inside = MatMul(MatMul(P, Q), Transpose(MatMul(P, K)))
    return [MatMul(softmax(inside), MatMul(P, V)), START, OUT, DONE]


def by_insertion():
    """PPᵀ = I on the left first, then the lemma with Pᵀ in place of P."""
    inside = P * Q * K.T * P.T
    pulled = P * softmax(P.T * inside * P) * V
    return [START, P * P.T * softmax(inside) * P * V, pulled, P * softmax(Q * K.T * P.T * P) * V, DONE]


def one_side_at_a_time():
    """The rows first, then the columns."""
    return [START, P * softmax(Q * K.T * P.T) * P * V, OUT, IDENTITY, DONE]


VARIANTS = {
    "positions.shift_proof": [
        lambda: (SINE, COSINE),
        lambda: [SINE, COSINE],
        euler,
        product_to_sum,
        other_symbols,
        by_points,
    ],
    "positions.equivariance_proof": [
        lambda: [START, OUT, IDENTITY, DONE],
        lambda: (START, OUT, OUT, IDENTITY, DONE),
        brackets,
        by_insertion,
        one_side_at_a_time,
        lambda: [START, OUT, P @ softmax(Q @ K.T) @ (P.T @ P) @ V, IDENTITY, DONE],
    ],
}

WRONG = {
    "positions.shift_proof": [
        lambda: SINE,
        lambda: (SINE, SINE),
        lambda: ([], []),
        lambda: ([SINE[0]] * 3, COSINE),
        lambda: (SINE[:1] + SINE[2:], COSINE),
        lambda: (SINE, [*COSINE, COSINE[0]]),
        lambda: {"sine": SINE, "cosine": COSINE},
        lambda: (["sin(w*(x+k))", "sin(w*x + w*k)", "sin(w*x)*cos(w*k) + cos(w*x)*sin(w*k)"], COSINE),
    ],
    "positions.equivariance_proof": [
        lambda: DONE,
        lambda: [START, DONE],
        lambda: [START, START, START, DONE],
        lambda: [START, OUT, IDENTITY],
        lambda: [START, OUT, IDENTITY, IDENTITY],
        lambda: [str(line) for line in (START, OUT, IDENTITY, DONE)],
        lambda: [P * V, P * V, P * V, DONE],
        lambda: [START, OUT, IDENTITY, P * softmax(Q * V.T) * V],
    ],
}
