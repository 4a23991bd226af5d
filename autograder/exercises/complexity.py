"""04_complexity: how cost grows, as claims that counting decides."""

import math
from functools import cache, lru_cache

import torch

from autograder import expressions
from autograder.compare import show
from autograder.exercise import exercise, holds, mistake
from autograder.plain import Expression
from helpers import complexity
from helpers.counting import head_flops

POSITIVE = holds(
    "more than nothing",
    lambda found, *sizes: found > 0,
    "Even the smallest case multiplies something: the number is positive.",
)

# ---- the table ----

KINDS = ("self-attention", "recurrent", "convolutional", "restricted self-attention")
COLUMNS = ("cost", "sequential", "path")
NO_EXPRESSION = "which is no positive SymPy expression"


_growth_of = lru_cache(1000)(lambda text: expressions.growth(expressions.read(text)))  # most entries are alike


def _growth(entry):
    """What an entry of the table grows like, as text."""
    if isinstance(entry, Expression):
        return _growth_of(entry.text)
    return "1" if type(entry) in (int, float) and entry > 0 else f"{show(entry)}, {NO_EXPRESSION}"


def _grown(table):
    return {kind: [_growth(entry) for entry in row] for kind, row in table.items()}


def _table(**changes):
    """The right table but for some rows, each a function of n, d, k, r; `_` stands for a space or a hyphen."""

    @cache
    def table():
        from sympy import symbols

        found = complexity.table()
        sizes = symbols("n d k r", positive=True)
        for kind, row in changes.items():
            name = next(k for k in KINDS if k.replace("-", "_").replace(" ", "_") == kind)
            found[name] = tuple(
                new if new is not None else old for new, old in zip(row(*sizes), found[name], strict=True)
            )
        return found

    return table


def _log(*given):
    from sympy import log

    return log(*given)


WORDS = {
    ("self-attention", "cost"): "each of n tokens meets each, and a meeting costs d",
    ("self-attention", "sequential"): "no token waits for another, however many there are",
    ("self-attention", "path"): "every output reads every input at once",
    ("recurrent", "cost"): "each of n tokens goes through a matrix of d by d",
    ("recurrent", "sequential"): "each token waits for the state of the one before",
    ("recurrent", "path"): "what the first token said is handed on from token to token",
    ("convolutional", "cost"): "each of n outputs reads k tokens, each through a matrix of d by d of its own",
    ("convolutional", "sequential"): "no output waits for another",
    ("convolutional", "path"): "a layer reaches k tokens further, as kernels are contiguous",
    ("restricted self-attention", "cost"): "each of n tokens meets r others, and a meeting costs d",
    ("restricted self-attention", "sequential"): "no token waits for another",
    ("restricted self-attention", "path"): "a layer reaches r tokens further",
}


def _entry(kind, column):
    place = COLUMNS.index(column)
    return holds(
        f"{column} of {kind}",
        lambda grown: grown[kind][place] == _grown_reference()[kind][place],
        f'The {column} of "{kind}" is not right: {WORDS[kind, column]}. How does that grow?',
    )


def _grown_reference():
    return _grown({k: [Expression(expressions.write(e)) for e in row] for k, row in complexity.table().items()})


@exercise("complexity.table", points=4, minutes=20, difficulty=3, kind="claim")
class Table:
    """(cost, sequential, path) of one layer of each kind, as SymPy expressions in n, d, k, r; constants do not count.

    n tokens, width d, kernels of width k, r tokens seen by restricted attention. Cost: FLOPs, for attention scores and
    weighted sum alone. Sequential: steps that wait for one another. Path: layers (or steps) until the last input can
    reach the first output. Kernels are contiguous.
    """

    signature = (
        'table() -> {"self-attention": (cost, sequential, path), "recurrent": (…), "convolutional": (…),\n'
        '            "restricted self-attention": (…)}, with n, d, k, r = sympy.symbols("n d k r")'
    )
    reference = complexity.table
    measure = _grown
    gradient = False
    dtypes = []
    why = "The paper's table 1, for contiguous kernels; the points that you count next lie on these lines."
    hints = [
        "Cost: how many products of vectors or matrices are there, and what does each cost?",
        "Sequential: which of them could all be done at once by a device that is large enough?",
        "Path: how far to the left does information travel in one layer (or step)? How many make up n?",
    ]

    def cases(rng):
        return [()]

    properties = [
        holds(
            "expressions",
            lambda grown: not any(NO_EXPRESSION in entry for row in grown.values() for entry in row),
            "Each entry is a SymPy expression, neither text nor O(…): `n, d, k, r = sympy.symbols('n d k r')`, then "
            "for example `n * d` or `n / k`; for a constant, 1.",
        ),
        *(_entry(kind, column) for kind in KINDS for column in COLUMNS),
    ]
    mistakes = [
        mistake(
            "n·d² for attention",
            _table(self_attention=lambda n, d, k, r: (n * d**2, None, None)),
            "n·d² is what the projections cost: scores and weighted sum let each of n tokens meet each, n²·d.",
        ),
        mistake(
            "attention with projections",
            _table(self_attention=lambda n, d, k, r: (n**2 * d + n * d**2, None, None)),
            "You count the projections of self-attention as well, n·d²: this table has scores and weighted sum alone, "
            "and the next exercise has all.",
        ),
        mistake(
            "attention without d",
            _table(self_attention=lambda n, d, k, r: (n**2, None, None)),
            "n² is the number of scores: each is a product of d features.",
        ),
        mistake(
            "attention linear",
            _table(self_attention=lambda n, d, k, r: (n * d, None, None)),
            "n·d is what one query costs: there are n of them.",
        ),
        mistake(
            "attention waits",
            _table(self_attention=lambda n, d, k, r: (None, n, None)),
            "No query of self-attention waits for another: all n are one product of matrices, 1 step.",
        ),
        mistake(
            "attention's path n",
            _table(self_attention=lambda n, d, k, r: (None, None, n)),
            "In self-attention each output reads each input directly: a path of 1.",
        ),
        mistake(
            "attention's path log n",
            _table(self_attention=lambda n, d, k, r: (None, None, _log(n))),
            "Self-attention needs no tree of layers: each output reads each input directly, a path of 1.",
        ),
        mistake(
            "costs exchanged",
            _table(
                self_attention=lambda n, d, k, r: (n * d**2, None, None),
                recurrent=lambda n, d, k, r: (n**2 * d, None, None),
            ),
            "The costs of self-attention and recurrence are exchanged: tokens meet tokens in attention, n²·d, and "
            "features meet features in recurrence, n·d².",
        ),
        mistake(
            "recurrent n²·d",
            _table(recurrent=lambda n, d, k, r: (n**2 * d, None, None)),
            "In a recurrent layer tokens do not meet: each goes through matrices of d by d, n·d².",
        ),
        mistake(
            "recurrent d²",
            _table(recurrent=lambda n, d, k, r: (d**2, None, None)),
            "d² is one step of a recurrent layer: there are n.",
        ),
        mistake(
            "recurrent n·d",
            _table(recurrent=lambda n, d, k, r: (n * d, None, None)),
            "A recurrent step multiplies by a matrix of d by d, so d appears twice: n·d².",
        ),
        mistake(
            "recurrent does not wait",
            _table(recurrent=lambda n, d, k, r: (None, 1, None)),
            "In a recurrent layer each step needs the state of the one before: n steps wait for one another.",
        ),
        mistake(
            "recurrent path 1",
            _table(recurrent=lambda n, d, k, r: (None, None, 1)),
            "In a recurrent layer the first token reaches the last through all that lie between: a path of n.",
        ),
        mistake(
            "recurrent path log n",
            _table(recurrent=lambda n, d, k, r: (None, None, _log(n))),
            "A recurrent layer is a chain, not a tree: the path is n.",
        ),
        mistake(
            "k missing",
            _table(convolutional=lambda n, d, k, r: (n * d**2, None, None)),
            "Each output of a convolution reads k tokens, each through a matrix of its own: multiply by k.",
        ),
        mistake(
            "one filter",
            _table(convolutional=lambda n, d, k, r: (k * n * d, None, None)),
            "k·n·d is one filter (or one for each feature alone): there are d filters, each over all d features.",
        ),
        mistake(
            "k squared",
            _table(convolutional=lambda n, d, k, r: (k**2 * n * d**2, None, None)),
            "A text has one dimension, an image two: k appears once.",
        ),
        mistake(
            "convolution quadratic in n",
            _table(convolutional=lambda n, d, k, r: (k * n**2 * d, None, None)),
            "A convolution's outputs meet k tokens, not n: k·n·d².",
        ),
        mistake(
            "convolution waits",
            _table(convolutional=lambda n, d, k, r: (None, n, None)),
            "No output of a convolution waits for another: 1 step.",
        ),
        mistake(
            "convolution waits n/k",
            _table(convolutional=lambda n, d, k, r: (None, n / k, None)),
            "n/k is how many layers a signal needs: within one layer no output waits for another, 1 step.",
        ),
        mistake(
            "log n for contiguous kernels",
            _table(convolutional=lambda n, d, k, r: (None, None, _log(n, k))),
            "log_k n holds for dilated kernels, whose gaps grow layer by layer: contiguous ones reach k tokens further "
            "with each layer, n/k.",
        ),
        mistake(
            "log n without a base",
            _table(convolutional=lambda n, d, k, r: (None, None, _log(n))),
            "A logarithm holds for dilated kernels, to the base k: contiguous ones reach k tokens further with each "
            "layer, n/k.",
        ),
        mistake(
            "convolution's path 1",
            _table(convolutional=lambda n, d, k, r: (None, None, 1)),
            "One layer of a convolution reaches k tokens: for n of them layers must be put on top of each other.",
        ),
        mistake(
            "convolution's path n",
            _table(convolutional=lambda n, d, k, r: (None, None, n)),
            "Each layer of a convolution reaches k tokens further, not one: n/k.",
        ),
        mistake(
            "convolution's path k",
            _table(convolutional=lambda n, d, k, r: (None, None, k)),
            "k is how far one layer reaches: how many such layers make up n?",
        ),
        mistake(
            "convolution's path upside down",
            _table(convolutional=lambda n, d, k, r: (None, None, k / n)),
            "Your fraction is upside down: the longer the text, the more layers, n/k.",
        ),
        mistake(
            "restricted costs like full attention",
            _table(restricted_self_attention=lambda n, d, k, r: (n**2 * d, None, None)),
            "In restricted attention a token meets r others, not all n: r·n·d.",
        ),
        mistake(
            "restricted r²",
            _table(restricted_self_attention=lambda n, d, k, r: (r**2 * d, None, None)),
            "r²·d is one neighbourhood by itself: each of n tokens meets r others, r·n·d.",
        ),
        mistake(
            "restricted r²·n·d",
            _table(restricted_self_attention=lambda n, d, k, r: (r**2 * n * d, None, None)),
            "You let all r tokens of a neighbourhood meet for each of the n tokens: only the token itself asks, r·n·d.",
        ),
        mistake(
            "restricted with d²",
            _table(restricted_self_attention=lambda n, d, k, r: (r * n * d**2, None, None)),
            "That is a convolution of width r, with a matrix for each place: a score takes d products, r·n·d.",
        ),
        mistake(
            "restricted without d",
            _table(restricted_self_attention=lambda n, d, k, r: (r * n, None, None)),
            "r·n is the number of scores: each is a product of d features.",
        ),
        mistake(
            "restricted waits",
            _table(restricted_self_attention=lambda n, d, k, r: (None, n / r, None)),
            "n/r is how many layers a signal needs: within one layer no token waits for another, 1 step.",
        ),
        mistake(
            "restricted path 1",
            _table(restricted_self_attention=lambda n, d, k, r: (None, None, 1)),
            "A token of restricted attention sees r others: for n of them layers must be put on top of each other.",
        ),
        mistake(
            "restricted path r",
            _table(restricted_self_attention=lambda n, d, k, r: (None, None, r)),
            "r is how far one layer reaches: how many such layers make up n?",
        ),
        mistake(
            "restricted path n",
            _table(restricted_self_attention=lambda n, d, k, r: (None, None, n)),
            "Each layer of restricted attention reaches r tokens further, not one: n/r.",
        ),
    ]


# ---- attention with everything ----


@exercise("complexity.attention_flops", points=2, minutes=8, difficulty=2, kind="claim")
class AttentionFlops:
    """FLOPs of one self-attention over n tokens with its four projections, exactly.

    Two FLOPs for each multiply-add of a matrix product; biases, scale and softmax count nothing.
    """

    signature = "attention_flops(n: int, d_model: int) -> int"
    reference = complexity.attention_flops
    book = ["helpers.counting.head_flops"]
    gradient = False
    dtypes = []
    why = 'Below n = 2·d_model the projections cost more than attention itself: "quadratic in n" is true of long texts.'
    hints = [
        "Six products: four projections, the scores, the weighted sum. Write down the shapes of each.",
        "A product of (n, d) and (d, m) takes n · d · m multiply-adds, two FLOPs each.",
        "The projections take 8·n·d² together. What do scores and weighted sum take?",
    ]

    def cases(rng):
        return [(1, 1), (2, 3), (7, 5), (rng.integer(10, 40), rng.integer(41, 90)), (2048, 64)]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "additions counted one by one",
            lambda n, d: 4 * n * d * (2 * d - 1) + n * n * (2 * d - 1) + n * d * (2 * n - 1),
            "You count 2·d − 1 for a product of d features, one addition fewer: in this course each multiply-add is "
            "two FLOPs, 2·d.",
        ),
        mistake(
            "no projections",
            lambda n, d: 4 * n * n * d,
            "You count scores and weighted sum alone: the four projections, 8·n·d², are most of it for short texts.",
        ),
        mistake(
            "projections alone",
            lambda n, d: 8 * n * d * d,
            "You count the projections alone: scores and weighted sum take 2·n²·d each.",
        ),
        mistake(
            "no output projection",
            lambda n, d: 6 * n * d * d + 4 * n * n * d,
            "You count three projections: the output goes through a fourth.",
        ),
        mistake(
            "one projection",
            lambda n, d: 2 * n * d * d + 4 * n * n * d,
            "You count one projection: queries, keys, values and the output have one each.",
        ),
        mistake(
            "no weighted sum",
            lambda n, d: 8 * n * d * d + 2 * n * n * d,
            "You count the scores but not the weighted sum of values (or the other way round): 2·n²·d each.",
        ),
        mistake(
            "multiply-adds",
            lambda n, d: 4 * n * d * d + 2 * n * n * d,
            "You count multiply-adds: each is two FLOPs in this course.",
        ),
        mistake(
            "n and d_model exchanged",
            lambda n, d: 8 * n * n * d + 4 * n * d * d,
            "n and d_model are exchanged: projections mix features, n·d², and scores compare tokens, n²·d.",
        ),
        mistake(
            "softmax counted",
            lambda n, d: 8 * n * d * d + 4 * n * n * d + 3 * n * n,
            "You count the softmax: matrix products alone count here.",
        ),
        mistake(
            "scale counted",
            lambda n, d: 8 * n * d * d + 4 * n * n * d + n * n,
            "You count the scale, one division for each score: matrix products alone count here.",
        ),
        mistake(
            "biases counted",
            lambda n, d: 8 * n * d * d + 4 * n * d + 4 * n * n * d,
            "You count the biases' additions: matrix products alone count here.",
        ),
        mistake(
            "causal half",
            lambda n, d: 8 * n * d * d + 2 * n * (n + 1) * d,
            "You count half of the scores, as under a causal mask: nothing is masked, and a mask saves no product.",
        ),
        mistake(
            "feed-forward too",
            lambda n, d: 24 * n * d * d + 4 * n * n * d,
            "You count a feed-forward layer of width 4·d_model as well: attention alone is asked for.",
        ),
        mistake(
            "projections of one token",
            lambda n, d: 8 * d * d + 4 * n * n * d,
            "You project one token: each of the n tokens goes through the projections.",
        ),
    ]


# ---- encoder, cross, decoder ----


def _three(encoder, cross, decoder):
    return lambda M, N, k: {"encoder": encoder(M, N, k), "cross": cross(M, N, k), "decoder": decoder(M, N, k)}


def _logarithms(found, M, N, k):
    """Powers of two: a constant factor moves them a little, a wrong exponent a lot."""
    return {name: math.log2(value) for name, value in found.items()}


GROWTH = 0.12  # of the exponent: constant factors up to 8 do not count


def _about(name):
    """Whether the growth of that entry is right up to a factor of about 16."""

    def test(found, M, N, k):
        due = math.log2(complexity.encoder_decoder(M, N, k)[name])
        return abs(found[name] - due) <= GROWTH * due

    return test


@exercise("complexity.encoder_decoder", points=2, minutes=8, difficulty=2, kind="claim")
class EncoderDecoder:
    """Growth of three attentions in sizes: M source tokens, N target tokens, width k. Constant factors do not count.

    "encoder" is its self-attention, "cross" the decoder's attention to the encoder, "decoder" its self-attention;
    scores and weighted sums, without projections.
    """

    signature = 'encoder_decoder(M: int, N: int, k: int) -> {"encoder": number, "cross": number, "decoder": number}'
    reference = complexity.encoder_decoder
    measure = _logarithms
    tolerance = GROWTH
    gradient = False
    dtypes = []
    why = "Measured exponents agree: of a long source and a short answer, the encoder pays nearly all."
    hints = [
        "For each of the three: who asks, who answers, and how many are they?",
        "Every query meets every key, and each meeting costs k.",
        'In "cross" the N target tokens ask and the M source tokens answer.',
    ]

    def cases(rng):
        return [
            (2 ** rng.integer(7, 9), 2 ** rng.integer(22, 24), 2**12),
            (2 ** rng.integer(22, 24), 2 ** rng.integer(7, 9), 2**11),
            (2**9, 2 ** rng.integer(15, 17), 2**27),
        ]

    properties = [
        holds(
            "encoder",
            _about("encoder"),
            "The encoder's growth is not right: M tokens ask, M answer, and each meeting costs k.",
        ),
        holds(
            "decoder",
            _about("decoder"),
            "The decoder's growth is not right: N tokens ask, N answer, and each meeting costs k.",
        ),
        holds(
            "cross",
            _about("cross"),
            'The growth of "cross" is not right: N tokens ask, M answer, and each meeting costs k.',
        ),
    ]
    mistakes = [
        mistake(
            "all in M",
            _three(lambda M, N, k: M * M * k, lambda M, N, k: M * M * k, lambda M, N, k: M * M * k),
            'All three grow with M in your answer: in the decoder N tokens ask, and in "cross" N ask and M answer.',
        ),
        mistake(
            "source and target exchanged",
            _three(lambda M, N, k: N * N * k, lambda M, N, k: M * N * k, lambda M, N, k: M * M * k),
            "Encoder and decoder are exchanged: the encoder has the M source tokens.",
        ),
        mistake(
            "cross in M",
            _three(lambda M, N, k: M * M * k, lambda M, N, k: M * M * k, lambda M, N, k: N * N * k),
            'In "cross" M tokens ask and M answer with you: the queries come from the decoder, N of them.',
        ),
        mistake(
            "cross in N",
            _three(lambda M, N, k: M * M * k, lambda M, N, k: N * N * k, lambda M, N, k: N * N * k),
            'In "cross" N tokens ask and N answer with you: keys and values come from the encoder, M of them.',
        ),
        mistake(
            "cross of both together",
            _three(lambda M, N, k: M * M * k, lambda M, N, k: (M + N) ** 2 * k, lambda M, N, k: N * N * k),
            'In "cross" all M + N tokens meet with you, or you add the other two: N ask there and M answer, M·N.',
        ),
        mistake(
            "cross as a sum",
            _three(lambda M, N, k: M * M * k, lambda M, N, k: (M + N) * k, lambda M, N, k: N * N * k),
            'In "cross" you add M and N: each of the N queries meets each of the M keys, so they multiply.',
        ),
        mistake(
            "decoder reads the source",
            _three(lambda M, N, k: M * M * k, lambda M, N, k: M * N * k, lambda M, N, k: M * N * k),
            "The decoder's self-attention stays among its own N tokens: N²·k.",
        ),
        mistake(
            "decoder of both together",
            _three(lambda M, N, k: M * M * k, lambda M, N, k: M * N * k, lambda M, N, k: N * N * k + M * N * k),
            'You added "cross" to the decoder: here it stands for the self-attention alone.',
        ),
        mistake(
            "k left out",
            _three(lambda M, N, k: M * M, lambda M, N, k: M * N, lambda M, N, k: N * N),
            "You count the scores, but each of them is a dot product of k features: multiply by k.",
        ),
        mistake(
            "quadratic in k",
            _three(lambda M, N, k: M * M * k * k, lambda M, N, k: M * N * k * k, lambda M, N, k: N * N * k * k),
            "One dot product takes k multiply-adds, not k²: k appears once.",
        ),
        mistake(
            "projections",
            _three(lambda M, N, k: M * k * k, lambda M, N, k: (M + N) * k * k, lambda M, N, k: N * k * k),
            "Those are the projections: scores and weighted sums are asked for, where tokens meet tokens.",
        ),
        mistake(
            "with projections",
            _three(
                lambda M, N, k: M * M * k + M * k * k,
                lambda M, N, k: M * N * k + (M + N) * k * k,
                lambda M, N, k: N * N * k + N * k * k,
            ),
            "You count the projections as well, which matter where k is large: scores and weighted sums alone here.",
        ),
        mistake(
            "linear",
            _three(lambda M, N, k: M * k, lambda M, N, k: M * N * k, lambda M, N, k: N * k),
            "In self-attention each token meets each, so its length appears twice.",
        ),
        mistake(
            "all linear",
            _three(lambda M, N, k: M * k, lambda M, N, k: N * k, lambda M, N, k: N * k),
            "Each query meets each key, so two lengths appear in each: M·M, M·N and N·N.",
        ),
    ]


# ---- reading measurements ----


def _logs(values):
    return torch.tensor([float(v) for v in values], dtype=torch.float64).log()


def _slope(x, y):
    x = x - x.mean()
    return float(x @ (y - y.mean()) / (x @ x))


def _plain(values):
    return torch.tensor([float(v) for v in values], dtype=torch.float64)


def _steps(sizes, costs):
    """Slopes between neighbours."""
    x, y = _logs(sizes), _logs(costs)
    return y.diff() / x.diff()


def _correlation(sizes, costs):
    x, y = _logs(sizes), _logs(costs)
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / (x.norm() * y.norm()))


def _intercept(sizes, costs):
    x, y = _logs(sizes), _logs(costs)
    return float(y.mean() - _slope(x, y) * x.mean())


@exercise("complexity.fit_exponent", points=2, minutes=8, difficulty=2)
class FitExponent:
    """The exponent p of cost ≈ c · size^p: the slope of the least-squares line through (log size, log cost)."""

    signature = "fit_exponent(sizes: list of positive numbers, costs: list of positive numbers) -> float"
    reference = complexity.fit_exponent
    gradient = False
    fake = False
    dtypes = []
    why = "Whatever the constant and the base of the logarithm, a power is a straight line here and p its slope."
    hints = [
        "Take logarithms on both sides of cost = c · size^p. What is linear in what?",
        "The slope is the sum of (x − x̄)(y − ȳ) over the sum of (x − x̄)².",
        "`np.polyfit(np.log(sizes), np.log(costs), 1)[0]`",
    ]

    def cases(rng):
        def noisy(n, p, low=2, high=400):
            sizes = sorted({rng.integer(low, high) for _ in range(n + 4)})[: n + 2]
            noise = (0.3 * rng.normal(len(sizes))).exp().tolist()
            return sizes, [3.0 * s**p * e for s, e in zip(sizes, noise, strict=True)]

        sizes, costs = noisy(5, 2)
        return [
            (sizes, costs),
            ([1, 2, 4, 8], [5, 20, 80, 320]),
            ([3, 7], [10.0, 11.0]),
            (sizes[::-1], costs[::-1]),
            ([10.0, 0.5, 3.0], [7.0, 2.0, 2.5]),
            noisy(rng.integer(4, 7), 1.5),
        ]

    mistakes = [
        mistake(
            "linear fit",
            lambda sizes, costs: _slope(_plain(sizes), _plain(costs)),
            "That is the slope of cost over size: take the logarithm of both first.",
        ),
        mistake(
            "log of the costs alone",
            lambda sizes, costs: _slope(_plain(sizes), _logs(costs)),
            "You take the logarithm of the costs alone, which fits an exponential: sizes need it too.",
        ),
        mistake(
            "log of the sizes alone",
            lambda sizes, costs: _slope(_logs(sizes), _plain(costs)),
            "You take the logarithm of the sizes alone: costs need it too.",
        ),
        mistake(
            "end points",
            lambda sizes, costs: float((_logs(costs)[-1] - _logs(costs)[0]) / (_logs(sizes)[-1] - _logs(sizes)[0])),
            "You join the first point and the last: the least-squares line listens to all of them.",
        ),
        mistake(
            "first two points",
            lambda sizes, costs: float(_steps(sizes, costs)[0]),
            "You use the first two points: the least-squares line listens to all of them.",
        ),
        mistake(
            "last two points",
            lambda sizes, costs: float(_steps(sizes, costs)[-1]),
            "You use the last two points: the least-squares line listens to all of them.",
        ),
        mistake(
            "mean of slopes",
            lambda sizes, costs: float(_steps(sizes, costs).mean()),
            "You average the slopes between neighbours, so close points with noise count most: fit one line to all.",
        ),
        mistake(
            "axes exchanged",
            lambda sizes, costs: _slope(_logs(costs), _logs(sizes)) if len(set(costs)) > 1 else 0.0,
            "You fit sizes over costs: sizes are x, costs are y.",
        ),
        mistake(
            "through the origin",
            lambda sizes, costs: float(_logs(sizes) @ _logs(costs) / (_logs(sizes) @ _logs(sizes))),
            "Your line goes through the origin, as if c were 1: subtract the means first, or fit an intercept too.",
        ),
        mistake(
            "ratio of logarithms",
            lambda sizes, costs: float((_logs(costs)[1:] / _logs(sizes)[1:]).mean()),
            "You divide log cost by log size, which is p only where c is 1: fit a line with an intercept.",
        ),
        mistake("intercept", _intercept, "That is the line's intercept, log c: the exponent is its slope."),
        mistake(
            "slope and intercept",
            lambda sizes, costs: [_slope(_logs(sizes), _logs(costs)), _intercept(sizes, costs)],
            "You give slope and intercept: the slope alone is asked for.",
        ),
        mistake(
            "correlation",
            lambda sizes, costs: _correlation(sizes, costs) if len(set(costs)) > 1 else 0.0,
            "That is the correlation, which says how straight the line is: its slope is asked for.",
        ),
        mistake(
            "rounded",
            lambda sizes, costs: round(_slope(_logs(sizes), _logs(costs))),
            "You round to a whole exponent: give the slope as it is, and let the reader round.",
        ),
        mistake(
            "log2 of one axis",
            lambda sizes, costs: _slope(_logs(sizes) / math.log(2), _logs(costs)),
            "Your two logarithms have different bases: any base will do, if it is the same for both.",
        ),
        mistake(
            "log10 of one axis",
            lambda sizes, costs: _slope(_logs(sizes), _logs(costs) / math.log(10)),
            "Your costs have a decimal logarithm and your sizes a natural one: take the same for both.",
        ),
    ]


# ---- paths ----


def _walk(start, until, none=lambda n: None, limit=lambda n: (n - 1) ** 2 + 1, first=1, step=None):
    """Layers until `until(reached)`, from `start(reads)` on; `step(reached, reads)` puts a layer on top."""
    step = step or (lambda reached, reads: (reads.float() @ reached.float()) > 0)

    def path_length(reads):
        n = len(reads)
        reads = start(reads)
        reached = reads
        for layers in range(first, first + limit(n)):
            if until(reached):
                return layers
            reached = step(reached, reads)
        return none(n)

    return path_length


def _as_it_is(reads):
    return reads


def _all(reached):
    return bool(reached.all())


def _with_self(reads):
    return reads | torch.eye(len(reads), dtype=torch.bool, device=reads.device)


def _layer(n, rule):
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return rule(i, j)


def _ways(reads):
    """The count of layers by the number of ways, which grows beyond what its dtype holds."""
    ways = reads
    for layer in range(1, len(reads) ** 2 + 1):
        if (ways > 0).all():
            return layer
        ways = reads @ ways  # (n, n)
    return None


def _by_doubling(reads):
    reached, layers = reads, 1
    while not reached.all():
        if layers > len(reads) ** 2:
            return None
        reached, layers = (reached.float() @ reached.float()) > 0, 2 * layers
    return layers


@exercise("complexity.path_length", points=3, minutes=15, difficulty=3)
class PathLength:
    """The least number of equal layers, at least one, after which every output depends on every input; None if never.

    Output i of a layer reads input j where reads[i, j] is True. A layer has no residual path but what reads says.
    """

    signature = "path_length(reads: bool Tensor (n, n)) -> int or None"
    reference = complexity.path_length
    gradient = False
    fake = False  # who counts may do so with NumPy
    dtypes = []
    why = "One for attention, n/k for a kernel of width k: the third column of the table, now counted."
    hints = [
        "Which inputs does an output of two layers depend on? Those that are read by what it reads.",
        "That is a product of matrices, and what is above 0 counts: `(reads.float() @ reached.float()) > 0`.",
        'Stop when all are True. For "never": a pattern that fills up at all does so within (n − 1)² + 1 layers.',
    ]

    def cases(rng):
        n = rng.integer(7, 11)
        ring = torch.eye(6, dtype=torch.bool).roll(1, 0)
        late = ring.clone()
        late[0, 4] = True  # the slowest pattern that fills up at all
        window = _layer(n, lambda i, j: (j - i >= 0) & (j - i < 3)) | _layer(n, lambda i, j: (j == 0) | (j == n - 1))
        order = rng.permutation(n)
        lopsided = _layer(n, lambda i, j: ((i - j) % n <= 2) & (i != j))[order][:, order]
        # 16 that all read one another, and a long chain behind them: so many ways that counts of them overflow.
        crowd = _layer(52, lambda i, j: ((i < 16) & (j < 16)) | (i - j == 1) | ((i == 0) & (j == 51)))
        return [
            (_layer(n, lambda i, j: (i - j).abs() <= 1),),
            (torch.ones(5, 5, dtype=torch.bool),),
            (late,),
            (ring,),
            (torch.tensor([[False, True], [True, False]]),),
            (_layer(7, lambda i, j: j <= i),),
            (torch.eye(4, dtype=torch.bool),),
            (torch.ones(1, 1, dtype=torch.bool),),
            (lopsided,),
            (crowd,),
            (window & _layer(n, lambda i, j: i > 0),),
            (_layer(9, lambda i, j: ((i - j) % 9 == 1) | ((i == 0) & (j >= 5))),),
        ]

    properties = [
        holds(
            "a number or None",
            lambda found, reads: found is None or float(found) >= 1,
            "The answer is a number of layers, at least one, or None.",
        ),
        holds(
            "None if never",
            lambda found, reads: (found is None) == (complexity.path_length(reads) is None),
            "Some patterns never fill up and are None, and others take more than n layers and are not: "
            "try as many as (n − 1)² + 1.",
        ),
    ]
    mistakes = [
        mistake(
            "one too few",
            _walk(_as_it_is, _all, first=0),
            "You count one layer too few: a single layer that reads everything is 1.",
        ),
        mistake(
            "one too many",
            _walk(_as_it_is, _all, first=2),
            "You count one layer too many: a single layer that reads everything is 1.",
        ),
        mistake(
            "last to first alone",
            _walk(_as_it_is, lambda reached: bool(reached[0, -1])),
            "You wait until output 0 depends on the last input: every output should, on every input.",
        ),
        mistake(
            "first to last alone",
            _walk(_as_it_is, lambda reached: bool(reached[-1, 0])),
            "You wait until the last output depends on input 0: every output should, on every input.",
        ),
        mistake(
            "both ends",
            _walk(_as_it_is, lambda reached: bool(reached[0, -1] and reached[-1, 0])),
            "You wait for the two ends alone: every output should depend on every input.",
        ),
        mistake(
            "one output is enough",
            _walk(_as_it_is, lambda reached: bool(reached.all(1).any())),
            "You stop when one output depends on all inputs: all outputs should.",
        ),
        mistake(
            "the first output is enough",
            _walk(_as_it_is, lambda reached: bool(reached[0].all())),
            "You stop when output 0 depends on all inputs: all outputs should.",
        ),
        mistake(
            "one input is enough",
            _walk(_as_it_is, lambda reached: bool(reached.any(1).all())),
            "You stop when each output depends on some input: it should on all of them, so `all()` over both axes.",
        ),
        mistake(
            "residual paths",
            _walk(_with_self, _all),
            "You let each output keep its own input: these layers have no residual path but what reads says.",
        ),
        mistake(
            "ever reached",
            _walk(_as_it_is, _all, step=lambda reached, reads: reached | ((reads.float() @ reached.float()) > 0)),
            "You keep what was reached in earlier layers: an output of the last layer knows what arrives there, "
            "and no layer may be skipped.",
        ),
        mistake(
            "twice as many each round",
            _by_doubling,
            "You double the number of layers each time and pass over those between: put one layer on top at a time.",
        ),
        mistake(
            "doubling",
            _walk(_as_it_is, _all, step=lambda reached, reads: (reached.float() @ reached.float()) > 0),
            "You double the number of layers in each round and count the rounds: put one layer on top at a time.",
        ),
        mistake(
            "ways counted",
            lambda reads: _ways(reads.float()),
            "You count the ways from input to output, more than a float32 or an int64 can hold: ask after "
            "each layer only whether there is one, `(…) > 0`.",
        ),
        mistake(
            "no layer at all",
            lambda reads: 0 if len(reads) == 1 and reads.all() else complexity.path_length(reads),
            "You start from no layer at all, which is enough for one token: count at least one layer.",
        ),
        mistake(
            "gives up at n",
            _walk(_as_it_is, _all, limit=lambda n: n),
            "You give up after n layers: some patterns fill up later, within (n − 1)² + 1.",
        ),
        mistake(
            "0 for never",
            _walk(_as_it_is, _all, none=lambda n: 0),
            "You say 0 for never: None is asked for, since 0 is a number of layers.",
        ),
        mistake(
            "−1 for never",
            _walk(_as_it_is, _all, none=lambda n: -1),
            "You say −1 for never: None is asked for.",
        ),
        mistake(
            "infinity for never",
            _walk(_as_it_is, _all, none=lambda n: math.inf),
            "You say infinity for never: None is asked for.",
        ),
        mistake(
            "False for never",
            _walk(_as_it_is, _all, none=lambda n: False),
            "You say False for never: None is asked for.",
        ),
        mistake(
            "n for never",
            _walk(_as_it_is, _all, none=lambda n: n),
            "You say n for never: None is asked for.",
        ),
        mistake(
            "one layer or none",
            lambda reads: 1 if reads.all() else None,
            "You look at a single layer: put more on top, until every output depends on every input.",
        ),
        mistake(
            "never by a ring",
            lambda reads: None if not _all(_with_self(reads)) else 1,
            "You allow one layer with a residual path: put layers on top of each other, and add no path.",
        ),
    ]


# ---- where curves cross ----


@exercise("complexity.crossover", points=2, minutes=8, difficulty=2, kind="claim")
class Crossover:
    """The n at which self-attention (scores and weighted sum) costs as many FLOPs as an Elman layer's two products.

    The Elman layer is h = tanh(x W + h U) at each of n tokens, W and U both (d_model, d_model).
    """

    signature = "crossover(d_model: int) -> number"
    reference = complexity.crossover
    gradient = False
    dtypes = []
    why = "With d_model in the hundreds that is a page or so: sentences are far below it, and a book far above."
    hints = [
        "Write both costs down in n and d_model, each with its factor.",
        "Attention: two products of n² · d. The Elman layer: two products of n · d².",
        "4·n²·d = 4·n·d²",
    ]

    def cases(rng):
        return [(1,), (2,), (512,), (rng.integer(3, 99),)]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "scores alone",
            lambda d: 2 * d,
            "You count one of attention's two products, or the Elman layer's twice: both have two, and the factors "
            "cancel.",
        ),
        mistake(
            "one product of the Elman layer",
            lambda d: d / 2,
            "You count one product of the Elman layer: x and h have a matrix each.",
        ),
        mistake("d squared", lambda d: d * d, "Divide both costs by n and by d: what is left of d² is d."),
        mistake("root", lambda d: d**0.5, "Divide both costs by n and by d: no square is left to take the root of."),
        mistake("one", lambda d: 1, "At n = 1 the Elman layer costs d_model times as much: the two meet later."),
        mistake(
            "a GRU",
            lambda d: 3 * d,
            "That is where attention meets a GRU, with six products: an Elman layer has two.",
        ),
        mistake(
            "an LSTM",
            lambda d: 4 * d,
            "That is where attention meets an LSTM, with eight products: an Elman layer has two.",
        ),
        mistake(
            "with projections",
            lambda d: -d,
            "With four projections attention always costs more, so a negative n comes out: here scores and weighted "
            "sum alone count.",
        ),
        mistake("512", lambda d: 512, "That is right at one width: give it for any d_model."),
        mistake(
            "never",
            lambda d: math.inf,
            "They do meet: attention costs less for short texts, and more for long ones.",
        ),
    ]


@exercise("complexity.weights_memory", points=1, minutes=5, difficulty=2, kind="claim")
class WeightsMemory:
    """Bytes that the attention weights of one layer take: for batch texts of n tokens, n_heads heads."""

    signature = "weights_memory(batch: int, n_heads: int, n: int, bytes_per_number: int) -> int"
    reference = complexity.weights_memory
    gradient = False
    dtypes = []
    why = "This n² is what fused attention never writes down: it keeps a block at a time, and memory grows with n."
    hints = [
        "What shape have the weights of all heads?",
        "(batch, n_heads, n, n), and each number takes bytes_per_number.",
    ]

    def cases(rng):
        return [(1, 1, 1, 4), (3, 2, 7, 4), (2, 5, rng.integer(20, 90), 2), (32, 8, 2048, 2)]

    properties = [POSITIVE]
    mistakes = [
        mistake("heads left out", lambda b, h, n, s: b * n * n * s, "Each head has weights of its own: times n_heads."),
        mistake("batch left out", lambda b, h, n, s: h * n * n * s, "Each text has weights of its own: times batch."),
        mistake(
            "one text, one head",
            lambda b, h, n, s: n * n * s,
            "That is one head of one text: multiply by n_heads and by batch.",
        ),
        mistake("numbers", lambda b, h, n, s: b * h * n * n, "You count numbers: each takes bytes_per_number bytes."),
        mistake("bits", lambda b, h, n, s: 8 * b * h * n * n * s, "Those are bits: a byte has eight."),
        mistake(
            "linear in n",
            lambda b, h, n, s: b * h * n * s,
            "Each query has a weight for each key: n appears twice.",
        ),
        mistake(
            "scores too",
            lambda b, h, n, s: 2 * b * h * n * n * s,
            "You count the scores as well: the weights alone are asked for.",
        ),
        mistake(
            "causal half",
            lambda b, h, n, s: b * h * n * (n + 1) // 2 * s,
            "You count the lower triangle alone: the zeros above it are stored as well.",
        ),
        mistake(
            "shared out among heads",
            lambda b, h, n, s: b * n * n * s / h,
            "You divide by n_heads: heads share features out, but each has its own n × n weights.",
        ),
        mistake(
            "batch squared",
            lambda b, h, n, s: b * b * h * n * n * s,
            "Texts do not look at each other: batch appears once.",
        ),
        mistake("kilobytes", lambda b, h, n, s: b * h * n * n * s / 1024, "Those are kilobytes: bytes are asked for."),
        mistake(
            "megabytes",
            lambda b, h, n, s: b * h * n * n * s / 2**20,
            "Those are megabytes: bytes are asked for.",
        ),
        mistake("4 bytes", lambda b, h, n, s: b * h * n * n * 4, "You take 4 bytes whatever bytes_per_number says."),
    ]


# ---- writing, one token at a time ----


def _generation(cached, fresh):
    """Sums over the steps t = 1 … n of these costs (t, n, d)."""

    def generation_flops(n, d_model, use_cache):
        step = cached if use_cache else fresh
        return sum(step(t, n, d_model) for t in range(1, n + 1))

    return generation_flops


def _cached(t, n, d):
    return 8 * d * d + 4 * t * d


def _fresh(t, n, d):
    return head_flops(t, d, 1)


@exercise("complexity.generation_flops", points=3, minutes=15, difficulty=3, kind="claim")
class GenerationFlops:
    """FLOPs of one self-attention layer, with its projections, while n tokens are written: steps t = 1, …, n.

    Without a cache step t runs the whole layer over all t tokens; with one it projects the newest token alone, whose
    query meets the t keys and values kept so far.
    """

    signature = "generation_flops(n: int, d_model: int, cached: bool) -> int"
    reference = complexity.generation_flops
    gradient = False
    dtypes = []
    why = "Without a cache it grows like n³, with one like n²: a text of a thousand tokens tells the difference."
    hints = [
        "One step first. Without a cache it is `attention_flops(t, d_model)`.",
        "With a cache one token goes through four projections, and one query meets t keys and t values.",
        "8·d² + 4·t·d in each step with a cache; then sum over t = 1 … n.",
    ]

    def cases(rng):
        sizes = [(1, 1), (2, 3), (7, 5), (rng.integer(10, 40), rng.integer(41, 90))]
        return [(*size, cached) for size in sizes for cached in (True, False)]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "flag turned over",
            _generation(_fresh, _cached),
            "Your two costs are exchanged: with a cache the newest token alone is projected.",
        ),
        mistake(
            "cache ignored",
            _generation(_fresh, _fresh),
            "`cached` changes nothing in your answer: with a cache the newest token alone is projected, and asks.",
        ),
        mistake(
            "always cached",
            _generation(_cached, _cached),
            "`cached` changes nothing in your answer: without a cache step t runs the layer over all t tokens again.",
        ),
        mistake(
            "full length at each step",
            _generation(lambda t, n, d: 8 * d * d + 4 * n * d, lambda t, n, d: head_flops(n, d, 1)),
            "You take all n tokens at each step: at step t there are t.",
        ),
        mistake(
            "full length at each step without a cache",
            _generation(_cached, lambda t, n, d: head_flops(n, d, 1)),
            "Without a cache you run the layer over n tokens at each step: at step t there are t.",
        ),
        mistake(
            "full length with a cache",
            _generation(lambda t, n, d: 8 * d * d + 4 * n * d, _fresh),
            "With a cache you let each query meet n keys: at step t there are t.",
        ),
        mistake(
            "last step alone",
            lambda n, d, cached: (_cached if cached else _fresh)(n, n, d),
            "That is the last step alone: sum over t = 1 … n.",
        ),
        mistake(
            "one pass without a cache",
            lambda n, d, cached: sum(_cached(t, n, d) for t in range(1, n + 1)) if cached else head_flops(n, d, 1),
            "Without a cache you run the layer once, as in training: each new token needs another pass.",
        ),
        mistake(
            "steps from 0",
            lambda n, d, cached: sum((_cached if cached else _fresh)(t, n, d) for t in range(n)),
            "Your steps go from 0 to n − 1: at step t there are t tokens, t = 1 … n.",
        ),
        mistake(
            "one step short",
            lambda n, d, cached: sum((_cached if cached else _fresh)(t, n, d) for t in range(1, n)),
            "You stop at n − 1: `range(1, n + 1)` includes the last step.",
        ),
        mistake(
            "cache without keys and values",
            _generation(lambda t, n, d: 4 * d * d + 4 * t * d, _fresh),
            "With a cache the newest token's key and value are projected too, before they are kept: four projections.",
        ),
        mistake(
            "cache of one projection",
            _generation(lambda t, n, d: 2 * d * d + 4 * t * d, _fresh),
            "With a cache you project the query alone: the newest token's key and value, and the output, "
            "have projections too.",
        ),
        mistake(
            "cache that projects all",
            _generation(lambda t, n, d: 8 * t * d * d + 4 * t * d, _fresh),
            "With a cache you still project all t tokens: earlier keys and values are kept, project the newest.",
        ),
        mistake(
            "cache that asks for all",
            _generation(lambda t, n, d: 8 * d * d + 4 * t * t * d, _fresh),
            "With a cache you let all t queries ask: only the newest token needs an answer.",
        ),
        mistake(
            "cache without attention",
            _generation(lambda t, n, d: 8 * d * d, _fresh),
            "With a cache the newest query still meets the t keys and values: 4·t·d more.",
        ),
        mistake(
            "one query without a cache",
            _generation(_cached, lambda t, n, d: 8 * t * d * d + 4 * t * d),
            "Without a cache you let the newest token alone ask: the layer is run whole, and all t queries ask.",
        ),
        mistake(
            "one projection without a cache",
            _generation(_cached, lambda t, n, d: 8 * d * d + 4 * t * t * d),
            "Without a cache all t tokens are projected again at each step.",
        ),
        mistake(
            "no projections",
            _generation(lambda t, n, d: 4 * t * d, lambda t, n, d: 4 * t * t * d),
            "You leave the four projections out.",
        ),
        mistake(
            "multiply-adds",
            _generation(lambda t, n, d: _cached(t, n, d) // 2, lambda t, n, d: _fresh(t, n, d) // 2),
            "You count multiply-adds: each is two FLOPs in this course.",
        ),
        mistake(
            "three projections",
            _generation(lambda t, n, d: 6 * d * d + 4 * t * d, lambda t, n, d: 6 * t * d * d + 4 * t * t * d),
            "You count three projections: the output goes through a fourth.",
        ),
        mistake(
            "integrals",
            lambda n, d, cached: 8 * n * d * d + 2 * n * n * d if cached else 4 * n * n * d * d + 4 * n**3 * d / 3,
            "You integrate over t where a sum is due: 1 + … + n is n(n + 1)/2, a little more than n²/2.",
        ),
    ]


# ---- in words ----


@exercise("complexity.when", points=3, minutes=15, difficulty=3, kind="written")
class When:
    """Which layer would you take where n is far below d_model, and which where it is far above?

    Three or four sentences for each of the two. Give cost, waiting steps and path of what you choose and of what you
    turn down, with a number that you measured in this notebook, and say what the table leaves out.
    """

    why = "Cost is one column of three: what a layer waits for, and how far a signal travels, decide as often."
    rubric = """
    1 point, n far below d_model (a sentence, d_model 512): self-attention costs less than recurrence, n²·d against
    n·d², waits for nothing and has a path of 1. Full points need a measured number. The projections, 8·n·d², are then
    most of its cost, so "less than recurrence" holds for scores and weighted sum and no longer with projections.

    1 point, n far above d_model (a book, audio): n² rules, in FLOPs and in the memory of the weights. Restricted
    attention (r·n·d, path n/r) or a convolution (k·n·d², path n/k, log_k n only if dilated) trade length of path for
    cost; recurrence is n·d² and needs constant memory while writing, but waits n steps. Any of them is right if its
    price is named. Not enough: "attention is quadratic" without saying in what.

    1 point, what the table leaves out: projections, constants, memory (weights take batch · heads · n²), hardware that
    likes large products, the cache in generation. Two of these with a number or a measured figure.

    Wrong: that heads make attention cheaper; log n for contiguous kernels; n·d² for attention.
    """
