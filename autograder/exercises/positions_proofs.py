"""03_positions: two claims about positions, proved line by line."""

from autograder import lemmas
from autograder.exercise import exercise, mistake
from autograder.forms import combination, reads, taken_apart
from autograder.proofs import Chain, Chains, written

# ---- shift ----

SINE = ("sin(w*(x + k))", "sin(w*x + w*k)", "sin(w*x)*cos(w*k) + cos(w*x)*sin(w*k)")
COSINE = ("cos(w*(x + k))", "cos(w*x + w*k)", "cos(w*x)*cos(w*k) - sin(w*x)*sin(w*k)")


def _of(wave):
    return Chain(
        start=f"{wave}(w*(x + k))",
        symbols="x k w",
        least=3,
        form=combination("w*x", free_of="x"),
        shows=taken_apart("x"),
        hidden="No line before the last takes the angle w*(x + k) apart: write it as w*x + w*k in a line of its own.",
        name="the sine" if wave == "sin" else "the cosine",
    )


def _shift(sine=SINE, cosine=COSINE):
    return lambda: (written(*sine)(), written(*cosine)())


def _ends(sine=SINE[2], cosine=COSINE[2]):
    return _shift((*SINE[:2], sine), (*COSINE[:2], cosine))


@exercise("positions.shift_proof", points=4, minutes=20, difficulty=3, kind="proof")
class ShiftProof:
    """Two chains of SymPy expressions in x, k and w, each line equal to the one before: one from `sin(w*(x + k))`,
    one from `cos(w*(x + k))`, both to a sum of `sin(w*x)` and `cos(w*x)` with coefficients in which x does not occur.

    At least three different lines each; the order of a sum makes no difference. Write `Rational(1, 2)` for a half.
    """

    signature = (
        "shift_proof() -> ([sin(w*(x + k)), …, …], [cos(w*(x + k)), …, …]), with x, k, w = sympy.symbols('x k w')"
    )
    proof = Chains((_of("sin"), _of("cos")))
    reference = _shift()
    why = (
        "So PE(x + k) is one matrix times PE(x), and the matrix knows k alone: to look k tokens back is something that "
        "a linear layer can learn once, for all places."
    )
    hints = [
        "Take the angle apart first: `w*(x + k)` is `w*x + w*k`, in a line of its own.",
        "sin(a + b) = sin(a)cos(b) + cos(a)sin(b), and cos(a + b) = cos(a)cos(b) − sin(a)sin(b).",
        "In the last line `w*k` may stand in the coefficients and `w*x` only in `sin(w*x)` and `cos(w*x)`.",
    ]
    mistakes = [
        mistake(
            "sign in the sine",
            _ends(sine="sin(w*x)*cos(w*k) - cos(w*x)*sin(w*k)"),
            "That is the sine of a difference, w*x − w*k: for the sine of a sum the two products are added.",
        ),
        mistake(
            "sign in the cosine",
            _ends(cosine="cos(w*x)*cos(w*k) + sin(w*x)*sin(w*k)"),
            "That is the cosine of a difference: cos(a + b) = cos(a)cos(b) − sin(a)sin(b), with a minus.",
        ),
        mistake(
            "sine and cosine exchanged",
            _ends(sine="cos(w*x)*cos(w*k) - sin(w*x)*sin(w*k)"),
            "You used the formula of the cosine for the sine: sin(a + b) pairs each sine with a cosine.",
        ),
        mistake(
            "cosine and sine exchanged",
            _ends(cosine="sin(w*x)*cos(w*k) + cos(w*x)*sin(w*k)"),
            "You used the formula of the sine for the cosine: cos(a + b) pairs cosine with cosine and sine with sine.",
        ),
        mistake(
            "pairs exchanged",
            _ends(sine="sin(w*x)*sin(w*k) + cos(w*x)*cos(w*k)"),
            "That is cos(w*x − w*k): in sin(a + b) each product has one sine and one cosine.",
        ),
        mistake(
            "the sine of a sum as a sum of sines",
            _ends(sine="sin(w*x) + sin(w*k)"),
            "A sine is not linear, so sin(a + b) is not sin(a) + sin(b): try a = b = π/2.",
        ),
        mistake(
            "the cosine of a sum as a sum of cosines",
            _ends(cosine="cos(w*x) + cos(w*k)"),
            "A cosine is not linear, so cos(a + b) is not cos(a) + cos(b): at a = b = 0 that would be 2.",
        ),
        mistake(
            "a term missing in the sine",
            _ends(sine="sin(w*x)*cos(w*k)"),
            "Half of the angle sum is missing: sin(a + b) has a second product, cos(a)sin(b).",
        ),
        mistake(
            "a term missing in the cosine",
            _ends(cosine="cos(w*x)*cos(w*k)"),
            "Half of the angle sum is missing: cos(a + b) has a second product, −sin(a)sin(b).",
        ),
        mistake(
            "w left behind",
            _shift(sine=(SINE[0], "sin(w*x + k)", "sin(w*x)*cos(k) + cos(w*x)*sin(k)")),
            "w multiplies the whole bracket: w*(x + k) is w*x + w*k, not w*x + k.",
        ),
        mistake(
            "the frequency lost",
            _shift(sine=(SINE[0], "sin(x + k)", "sin(x)*cos(k) + cos(x)*sin(k)")),
            "The frequency w is lost on the way: the claim is about w*(x + k), so w stands in every angle.",
        ),
        mistake(
            "chains exchanged",
            _shift(COSINE, SINE),
            "The first chain is the sine's and the second the cosine's: you return them the other way round.",
        ),
        mistake(
            "backwards",
            _shift(sine=SINE[::-1]),
            "You walk from the right side to the left: begin with sin(w*(x + k)), and end with what you want to show.",
        ),
        mistake(
            "ends too early",
            _shift(sine=(SINE[0], SINE[1])),
            "Your last line still has the sine of a sum, in which x and k are together: apply the angle sum to it.",
        ),
        mistake(
            "jumped",
            _shift(sine=(SINE[0], SINE[2])),
            "True, but you jump to the result: a reader wants the angle taken apart first, w*x + w*k, so that the "
            "formula for a sum can be seen to apply. Three different lines at least.",
        ),
    ]


# ---- equivariance ----

EQUIVARIANCE = (
    "softmax(P @ Q @ K.T @ P.T) @ P @ V",
    "P @ softmax(Q @ K.T) @ P.T @ P @ V",
    "P @ softmax(Q @ K.T) @ Identity @ V",
    "P @ softmax(Q @ K.T) @ V",
)


def _then(*lines):
    return written(EQUIVARIANCE[0], *lines)


@exercise("positions.equivariance_proof", points=4, minutes=20, difficulty=4, kind="proof")
class EquivarianceProof:
    """softmax(P Q Kᵀ Pᵀ) P V = P softmax(Q Kᵀ) V, as a list of at least four different lines.

    P is a permutation. Each line follows from the one before by one lemma: PᵀP = PPᵀ = I, or
    softmax(PAPᵀ) = P softmax(A) Pᵀ. Brackets, (AB)ᵀ = BᵀAᵀ and IA = A are free. Write P, Q, K, V as
    `sympy.MatrixSymbol("P", n, n)`, `MatrixSymbol("Q", n, d)` and so on, the softmax with
    `from helpers.proofs import softmax`, and a line that shows I as `MatMul(P, …, Identity(n), V)`, because `*` drops
    it at once.
    """

    signature = "equivariance_proof() -> [softmax(P*Q*K.T*P.T)*P*V, …, …, P*softmax(Q*K.T)*V]"
    proof = Chain(
        start=EQUIVARIANCE[0],
        symbols="P Q K V",
        least=4,
        form=reads(EQUIVARIANCE[3], lemmas),
        rules=lemmas,
    )
    reference = written(*EQUIVARIANCE)
    why = (
        "Attention commutes with permutations: without positions, tokens in another order give the same outputs in "
        "that order, and anything pooled over them is blind to order."
    )
    hints = [
        "The softmax first: Q Kᵀ stands between P and Pᵀ, so the lemma applies with A = Q Kᵀ.",
        "Pᵀ then meets P. What is their product? Show it as Identity(n) in a line of its own.",
        "Lines: softmax(P Q Kᵀ Pᵀ) P V, P softmax(Q Kᵀ) Pᵀ P V, P softmax(Q Kᵀ) I V, P softmax(Q Kᵀ) V.",
    ]
    mistakes = [
        mistake(
            "P taken out on one side",
            _then("P @ softmax(Q @ K.T) @ P @ V", EQUIVARIANCE[3]),
            "The columns of the scores are permuted too, with Pᵀ, so Pᵀ comes out on the right: P softmax(A) Pᵀ.",
        ),
        mistake(
            "P cancelled through the softmax",
            _then("softmax(Q @ K.T) @ P @ V", EQUIVARIANCE[3]),
            "P and Pᵀ stand on two sides of Q Kᵀ, and matrices do not change places: P A Pᵀ is not A.",
        ),
        mistake(
            "P lost",
            _then("P @ softmax(Q @ K.T) @ P.T @ P @ V", "softmax(Q @ K.T) @ V"),
            "You lost the P on the left: outputs move with the tokens (equivariance), they do not stay in place.",
        ),
        mistake(
            "queries and keys exchanged",
            _then("P @ softmax(K @ Q.T) @ P.T @ P @ V", EQUIVARIANCE[3]),
            "K Qᵀ is the transpose of Q Kᵀ, and a softmax by rows is not the same of both.",
        ),
        mistake(
            "softmax dropped",
            _then("P @ Q @ K.T @ P.T @ P @ V", EQUIVARIANCE[3]),
            "The softmax has gone: it commutes with permutations of rows and columns, but it is not the identity.",
        ),
        mistake(
            "backwards",
            written(*EQUIVARIANCE[::-1]),
            "You walk from the right side to the left: begin with softmax(P Q Kᵀ Pᵀ) P V.",
        ),
        mistake(
            "ends too early",
            _then(EQUIVARIANCE[1]),
            "Not done yet: Pᵀ P is still there. What is it equal to?",
        ),
        mistake(
            "both lemmas at once",
            _then(EQUIVARIANCE[3]),
            "True, but you jump: that step takes softmax(PAPᵀ) = P softmax(A) Pᵀ and PᵀP = I. One lemma a line.",
        ),
        mistake(
            "three lines",
            _then(EQUIVARIANCE[1], EQUIVARIANCE[3]),
            "True, and nearly whole: show what PᵀP is before it goes, as `MatMul(P, softmax(Q*K.T), Identity(n), V)`.",
        ),
    ]
