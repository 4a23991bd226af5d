"""01_attention, concluded: what it costs and how far it reaches, as claims that an experiment or a count decides."""

import math

from autograder.exercise import exercise, holds, mistake
from helpers import counting

POSITIVE = holds(
    "more than nothing",
    lambda flops, *sizes: flops > 0,
    "Even the smallest case multiplies something: the number of FLOPs is positive.",
)


@exercise("attention.score_std", points=2, minutes=8, difficulty=2, kind="claim")
class ScoreStd:
    """Standard deviation of q·k, unscaled, if all d_k features of q and of k are independent unit normals.

    Measure it on 100,000 draws, find the formula, and return either: within 5 % is right.
    """

    signature = "score_std(d_k: int) -> float"
    reference = counting.score_std
    tolerance = 0.05
    gradient = False
    dtypes = []
    may_use_global_random = True
    why = "Divided by √d_k the scores keep a spread of 1 at any width, and the softmax keeps its gradient."
    hints = [
        "`q = torch.randn(100_000, d_k)`, the same for k; one dot product for each row, then `.std()`.",
        "One product of two unit normals has variance 1. What is the variance of a sum of d_k independent ones?",
        "Variances add up: d_k of them make d_k. A standard deviation is the root of a variance.",
    ]

    def cases(rng):
        return [(1,), (2,), (3,), (rng.integer(9, 17),)]

    mistakes = [
        mistake(
            "d_k",
            lambda d_k: d_k,
            "That is the variance: the standard deviation is its root, and so it is √d_k that one divides scores by.",
        ),
        mistake(
            "always 1",
            lambda d_k: 1.0,
            "One product of two unit normals has spread 1, but a dot product adds d_k of them: measure it at d_k = 16.",
        ),
        mistake(
            "1/√d_k",
            lambda d_k: d_k**-0.5,
            "That is the factor which brings the spread back to 1; the spread itself grows with d_k.",
        ),
        mistake(
            "√(2·d_k)",
            lambda d_k: (2 * d_k) ** 0.5,
            "You add the variances of q and of k, as for a sum: the variance of a product of two unit normals is 1.",
        ),
        mistake(
            "d_k²",
            lambda d_k: d_k**2,
            "You square where a root is due: variances add up to d_k, and the spread is the root of that.",
        ),
        mistake(
            "2·√d_k",
            lambda d_k: 2 * d_k**0.5,
            "The root is right, the 2 is not: each of the d_k products has variance 1, not 4.",
        ),
        mistake(
            "mean size",
            lambda d_k: 2 / math.pi**0.5 * math.exp(math.lgamma((d_k + 1) / 2) - math.lgamma(d_k / 2)),
            "You measured the mean of |q·k|, which is smaller: the standard deviation is the root of the mean square, "
            "`.std()`.",
        ),
        mistake(
            "torch.rand",
            lambda d_k: (7 * d_k / 144) ** 0.5,
            "Your draws are uniform between 0 and 1, from `rand`: unit normals come from `torch.randn`.",
        ),
        mistake(
            "rounded down",
            lambda d_k: math.isqrt(d_k),
            "You round the root to a whole number, which only a square d_k allows: leave it as it is.",
        ),
        mistake(
            "degrees of freedom",
            lambda d_k: (d_k - 1) ** 0.5,
            "You count d_k − 1 products: no mean is estimated here, so all d_k of them are free.",
        ),
    ]


@exercise("attention.dot_cost", points=1, minutes=5, difficulty=2, kind="claim")
class DotCost:
    """FLOPs of the scores q kᵀ alone, for n queries and n keys of length d_k.

    Two FLOPs for each multiply-add of a matrix product; nothing else counts, so no scale and no softmax.
    """

    signature = "dot_cost(n: int, d_k: int) -> int"
    reference = counting.dot_cost
    gradient = False
    dtypes = []
    why = "Twice the text costs four times as much: this n² is what all of 04_complexity is about."
    hints = [
        "How many scores are there, and how many multiply-adds does one of them take?",
        "A product of (n, d) and (d, m) takes n · d · m multiply-adds.",
        "n · n scores, d_k multiply-adds each, 2 FLOPs each.",
    ]

    def cases(rng):
        return [(1, 1), (2, 3), (7, 5), (rng.integer(10, 40), rng.integer(41, 90)), (1024, 64)]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "multiply-adds",
            lambda n, d: n * n * d,
            "You count multiply-adds; each is two FLOPs in this course, a product and a sum.",
        ),
        mistake(
            "linear in n",
            lambda n, d: 2 * n * d,
            "That is the cost of one query: each of the n queries meets each of the n keys.",
        ),
        mistake(
            "quadratic in d_k",
            lambda n, d: 2 * n * d * d,
            "That is n vectors through a (d_k, d_k) projection: here n queries meet n keys, and d_k appears once.",
        ),
        mistake(
            "quadratic in both",
            lambda n, d: 2 * n * n * d * d,
            "One dot product takes d_k multiply-adds, not d_k²: only paired features meet.",
        ),
        mistake(
            "the scores alone",
            lambda n, d: n * n,
            "n² is how many scores there are: each takes d_k multiply-adds, two FLOPs each.",
        ),
        mistake(
            "d_k − 1 sums",
            lambda n, d: n * n * (2 * d - 1),
            "You count d_k − 1 sums; the course counts two FLOPs for each multiply-add, so 2·d_k for each score.",
        ),
        mistake(
            "scale counted",
            lambda n, d: 2 * n * n * d + n * n,
            "You count the division by √d_k too: only matrix products count here.",
        ),
        mistake(
            "both products",
            lambda n, d: 4 * n * n * d,
            "You count the mix of the values too, which costs as much again: the scores alone are asked for.",
        ),
        mistake(
            "half of them",
            lambda n, d: n * (n + 1) * d,
            "You count only the pairs that a causal mask leaves: here each query meets all keys.",
        ),
    ]


@exercise("attention.additive_cost", points=2, minutes=10, difficulty=3, kind="claim")
class AdditiveCost:
    """FLOPs of the additive scores vᵀ tanh(q w_q + k w_k) alone, for n queries and n keys of length d_k.

    Both projections are done once for each token, then v meets every pair. Two FLOPs for each multiply-add of a matrix
    product; sums and tanh do not count.
    """

    signature = "additive_cost(n: int, d_k: int, d_hidden: int) -> int"
    reference = counting.additive_cost
    gradient = False
    dtypes = []
    why = "With d_hidden = d_k the n² part is that of dot products: the price is a memory of n² · d_hidden numbers."
    hints = [
        "Three products of matrices: q w_q, k w_k, and the product with v. Which of them happen once a token?",
        "A projection: n tokens, d_k · d_hidden multiply-adds each. The product with v: n² pairs, d_hidden each.",
        "2 · (2 · n · d_k · d_hidden + n² · d_hidden)",
    ]

    def cases(rng):
        return [
            (1, 1, 1),
            (2, 3, 5),
            (7, 5, 3),
            (rng.integer(10, 40), rng.integer(41, 90), rng.integer(3, 9)),
            (512, 64, 32),
        ]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "multiply-adds",
            lambda n, d, h: 2 * n * d * h + n * n * h,
            "You count multiply-adds; each is two FLOPs in this course.",
        ),
        mistake(
            "projected for each pair",
            lambda n, d, h: 2 * (2 * n * n * d * h + n * n * h),
            "You project anew for each of the n² pairs: project each query and each key once, and keep the results.",
        ),
        mistake(
            "one projection",
            lambda n, d, h: 2 * (n * d * h + n * n * h),
            "You count one projection: queries and keys each have theirs.",
        ),
        mistake(
            "projections left out",
            lambda n, d, h: 2 * n * n * h,
            "You count the product with v and not the two projections, q w_q and k w_k.",
        ),
        mistake(
            "v left out",
            lambda n, d, h: 4 * n * d * h,
            "You count the two projections and not the product with v, which meets all n² pairs.",
        ),
        mistake(
            "v for each token",
            lambda n, d, h: 4 * n * d * h + 2 * n * h,
            "Your product with v happens once a token: it is each of the n² pairs that v turns into a score.",
        ),
        mistake(
            "sum or tanh counted",
            lambda n, d, h: 4 * n * d * h + 3 * n * n * h,
            "You count the sum or the tanh of each pair as well: only matrix products count here.",
        ),
        mistake(
            "sum and tanh counted",
            lambda n, d, h: 4 * n * d * h + 4 * n * n * h,
            "You count the sum and the tanh of each pair as well: only matrix products count here.",
        ),
        mistake(
            "d_hidden taken for d_k",
            lambda n, d, h: 4 * n * d * d + 2 * n * n * d,
            "You let everything have length d_k: the projections go from d_k to d_hidden, and v has d_hidden entries.",
        ),
        mistake(
            "v meets d_k",
            lambda n, d, h: 4 * n * d * h + 2 * n * n * d,
            "Your v has length d_k: it meets the hidden features, d_hidden of them for each pair.",
        ),
        mistake(
            "dot products",
            lambda n, d, h: 2 * n * n * d,
            "That is the cost of dot products: here there are two projections and a product with v.",
        ),
    ]


@exercise("attention.head_flops", points=2, minutes=10, difficulty=3, kind="claim")
class HeadFlops:
    """FLOPs of one multi-head self-attention over n tokens, with its four projections.

    Two FLOPs for each multiply-add of a matrix product; nothing else counts. How does it depend on n_heads?
    """

    signature = "head_flops(n: int, d_model: int, n_heads: int) -> int"
    reference = counting.head_flops
    gradient = False
    dtypes = []
    why = "The number of heads has dropped out: they cost nothing, save nothing, and see several things at once."
    hints = [
        "Six kinds of products: four projections, the scores, the mix of the values. What is the size of each?",
        "A projection takes n · d_model² multiply-adds. One head's scores take n² · d_k, with d_k = d_model / n_heads.",
        "2 · (4 · n · d_model² + 2 · n² · d_model)",
    ]

    def cases(rng):
        h = rng.integer(2, 6)
        return [
            (1, 1, 1),
            (5, 12, 1),
            (5, 12, 3),
            (7, 12, 12),
            (rng.integer(10, 40), 11 * h, h),
            (1024, 512, 8),
        ]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "multiply-adds",
            lambda n, d, h: 4 * n * d * d + 2 * n * n * d,
            "You count multiply-adds; each is two FLOPs in this course.",
        ),
        mistake(
            "each head at full width",
            lambda n, d, h: 8 * n * d * d + 4 * h * n * n * d,
            "You let each head work on all d_model features: it has d_model / n_heads, so all cost what one would.",
        ),
        mistake(
            "heads save work",
            lambda n, d, h: 8 * n * d * d + 4 * n * n * d // h,
            "You count the scores and the mix of one head: there are n_heads of them, and nothing is saved.",
        ),
        mistake(
            "all times n_heads",
            lambda n, d, h: h * (8 * n * d * d + 4 * n * n * d),
            "You multiply everything by n_heads: heads share out d_model, so their number changes nothing.",
        ),
        mistake(
            "all divided by n_heads",
            lambda n, d, h: (8 * n * d * d + 4 * n * n * d) // h,
            "You divide everything by n_heads: that is one head's share, and there are n_heads of them.",
        ),
        mistake(
            "each head projects its own slice",
            lambda n, d, h: 6 * n * d * d // h + 2 * n * d * d + 4 * n * n * d,
            "You let each head project its slice alone, d_k to d_k: queries, keys and values of every head are made "
            "from all d_model features.",
        ),
        mistake(
            "a projection within each head",
            lambda n, d, h: 8 * n * d * d // h + 4 * n * n * d,
            "Your projections make d_k features in all: each goes from d_model to d_model, however it is cut.",
        ),
        mistake(
            "no output projection",
            lambda n, d, h: 6 * n * d * d + 4 * n * n * d,
            "You count three projections: queries, keys, values and the output make four.",
        ),
        mistake(
            "one projection",
            lambda n, d, h: 2 * n * d * d + 4 * n * n * d,
            "You count one projection: queries, keys, values and the output make four.",
        ),
        mistake(
            "projections left out",
            lambda n, d, h: 4 * n * n * d,
            "You count what happens between tokens only: add the four projections, 2·n·d_model² FLOPs each.",
        ),
        mistake(
            "the mix left out",
            lambda n, d, h: 8 * n * d * d + 2 * n * n * d,
            "You count one product with n²: there are two, the scores q kᵀ and the mix of the values.",
        ),
        mistake(
            "projections alone",
            lambda n, d, h: 8 * n * d * d,
            "You count the four projections only: scores and the mix of the values add 2·n²·d_model FLOPs each.",
        ),
        mistake(
            "softmax counted",
            lambda n, d, h: 8 * n * d * d + 4 * n * n * d + h * n * n,
            "You count the softmax or the scale as well: only matrix products count here.",
        ),
        mistake(
            "biases counted",
            lambda n, d, h: 8 * n * d * d + 4 * n * n * d + 4 * n * d,
            "You count the biases' sums as well: only matrix products count here.",
        ),
    ]


def _every_level(n_layers, n_heads):
    return sum(n_heads**level for level in range(n_layers + 1))


@exercise("attention.receptive_field", points=2, minutes=15, difficulty=4, kind="claim")
class ReceptiveField:
    """The most inputs whose values can reach one node, n_layers up, with argmax attention.

    Each head reads the value of exactly one node below, the choices held fixed; with `residual` a node keeps its own
    value too. The text is as long as you need.
    """

    signature = "receptive_field(n_layers: int, n_heads: int, residual: bool) -> int"
    reference = counting.receptive_field
    gradient = False
    dtypes = []
    why = "One hard head without the residual path reads a single input at any depth: heads and paths widen it."
    hints = [
        "Draw it as a tree from the node downwards. How many branches has each node?",
        "One head and no residual path: how many inputs, three layers down? Now two heads.",
        "The residual path is one more branch at every node of every layer.",
    ]

    def cases(rng):
        return [
            (2, 2, False),
            (3, 2, True),
            (1, 1, False),
            (1, 1, True),
            (4, 1, False),
            (3, 1, True),
            (1, 5, True),
            (3, 4, False),
            (rng.integer(4, 7), rng.integer(3, 6), True),
            (rng.integer(4, 7), rng.integer(3, 6), False),
        ]

    properties = [
        holds(
            "at least one",
            lambda size, *sizes: size >= 1,
            "Some input always reaches the node: the number is at least 1.",
        ),
    ]
    mistakes = [
        mistake(
            "residual ignored",
            lambda n_layers, n_heads, residual: n_heads**n_layers,
            "You leave out the residual path: with it a node also keeps its own value, one more branch in every layer.",
        ),
        mistake(
            "residual always",
            lambda n_layers, n_heads, residual: (n_heads + 1) ** n_layers,
            "You count the residual path even where there is none: the node's own value then survives only "
            "if a head chooses it.",
        ),
        mistake(
            "product",
            lambda n_layers, n_heads, residual: (n_heads + residual) * n_layers,
            "You add the same number in each layer: each node reached branches again, so it multiplies.",
        ),
        mistake(
            "product and itself",
            lambda n_layers, n_heads, residual: n_heads * n_layers + residual,
            "You add n_heads in each layer: each node reached branches again, so layers multiply, and a residual path "
            "adds a branch to each of them.",
        ),
        mistake(
            "residual once",
            lambda n_layers, n_heads, residual: n_heads**n_layers + residual,
            "You add the residual path once, at the end: it is one more branch at every node, in every layer.",
        ),
        mistake(
            "residual sums the levels",
            lambda n_layers, n_heads, residual: _every_level(n_layers, n_heads) if residual else n_heads**n_layers,
            "You add up the levels of the tree, as if a value that stays stayed for good: with it every node has "
            "n_heads + 1 branches in every layer, and those that stayed branch again.",
        ),
        mistake(
            "layers to the power of heads",
            lambda n_layers, n_heads, residual: n_layers ** (n_heads + residual),
            "Base and exponent are exchanged: each layer multiplies by the number of branches.",
        ),
        mistake(
            "one layer fewer",
            lambda n_layers, n_heads, residual: (n_heads + residual) ** (n_layers - 1),
            "You have one layer too few: a single layer already reads one input for each head.",
        ),
        mistake(
            "one layer more",
            lambda n_layers, n_heads, residual: (n_heads + residual) ** (n_layers + 1),
            "You have one layer too many: after one layer each branch has read one input.",
        ),
        mistake(
            "doubling",
            lambda n_layers, n_heads, residual: 2**n_layers,
            "You double in every layer: a node has a branch for each head, and one more with the residual path.",
        ),
        mistake(
            "one head however many",
            lambda n_layers, n_heads, residual: (1 + residual) ** n_layers,
            "You count one head: each of the n_heads may choose another node.",
        ),
        mistake(
            "the choices counted too",
            lambda n_layers, n_heads, residual: (n_heads + 1 + residual) ** n_layers,
            "You count one branch too many at each node: the query only chooses, and choices are held fixed; "
            "what reaches the node are the values.",
        ),
    ]
