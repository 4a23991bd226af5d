"""03_positions, continued: the sinusoidal table, and what shifting does to it."""

import torch

from autograder.exercise import exercise, holds, mistake
from helpers import positions

# ---- the table ----


def _table(angle=None, even=torch.sin, odd=torch.cos, first=0):
    """The table with one of its steps exchanged; `angle(x, j, d, base)` of position x and feature j."""
    angle = angle or (lambda x, j, d, base: x / base ** ((j - j % 2) / d))

    def sinusoidal(n, d, base=10000.0):
        x, j = torch.arange(first, first + n, dtype=torch.get_default_dtype())[:, None], torch.arange(d)
        angles = angle(x, j, d, base)  # (n, D)
        return torch.where(j % 2 == 0, even(angles), odd(angles))

    return sinusoidal


def _sines(n, d, base):
    """Sines and cosines of each pair, (n, ⌈D/2⌉) both."""
    table = positions.sinusoidal(n, d + d % 2, base if d % 2 == 0 else base ** ((d + 1) / d))
    return table[:, 0::2], table[:, 1::2]


def _cut_into_halves(n, d, base=10000.0):
    return torch.cat(_sines(n, d, base), 1)[:, :d]


def _even_alone(n, d, base=10000.0):
    table = torch.zeros(n, d)
    table[:, 0::2], table[:, 1::2] = _sines(n, d, base)  # one cosine too many where d is odd
    return table


def _odd_left_out(n, d, base=10000.0):
    return positions.sinusoidal(n, d - d % 2, base)


def _odd_left_at_nought(n, d, base=10000.0):
    table = positions.sinusoidal(n, d, base)
    table[:, d - d % 2 :] = 0
    return table


@exercise("positions.sinusoidal", points=3, minutes=15, difficulty=3)
class Sinusoidal:
    """The table of positions: PE[x, 2i] = sin(x / base^(2i/d_model)), PE[x, 2i + 1] = cos of the same angle.

    Positions x begin at 0. An odd d_model ends in a sine. (Vaswani et al. 2017, section 3.5)
    """

    signature = "sinusoidal(n_positions: int, d_model: int, base: float = 10000.0) -> Tensor (n_positions, d_model)"
    reference = positions.sinusoidal
    tolerance = 3e-5  # angles in float32 are right
    book = ["helpers.positions._sinusoidal", "helpers.positions.SinusoidalPositions"]
    why = "Each pair is a clock hand of its own speed, so two positions never look alike, however long the text."
    hints = [
        "Angles first: positions down, pairs across, one angle for each. `x[:, None] * speed` has this shape.",
        "`torch.arange(0, d_model, 2)` holds the numbers 2i; each of them serves a sine and the cosine beside it.",
        "`table[:, 0::2] = angles.sin()`; `table[:, 1::2]` has one column fewer where d_model is odd: "
        "`angles.cos()[:, : d_model // 2]`.",
    ]

    def cases(rng):
        return [
            (4, 4, 100.0),
            (1, 1),
            (7, 6),
            (3, 1, 50.0),
            (rng.integer(30, 40), rng.integer(2, 5) * 2 + 1),
            (rng.integer(600, 700), 2),
            (rng.integer(5, 9), rng.integer(3, 6) * 4, float(rng.integer(4, 10))),  # small angles: float32 holds them
        ]

    properties = [
        holds(
            "shape",
            lambda table, n, d, base=None: table.shape == (n, d),
            "The table has a row for each position and a column for each feature: its shape is (n_positions, d_model).",
        ),
        holds(
            "position 0",
            lambda table, n, d, base=None: (table[0, 0::2] == 0).all() and (table[0, 1::2] == 1).all(),
            "At position 0 every angle is 0, so the first row is 0, 1, 0, 1, …: sin 0 = 0 and cos 0 = 1.",
        ),
        holds(
            "between −1 and 1",
            lambda table, *sizes: (table.abs() <= 1).all(),
            "Sines and cosines lie between −1 and 1, and some entry of yours does not.",
        ),
        holds(
            "the first pair",
            lambda table, n, d, base=None: n < 2 or abs(table[1, 0] - 0.8414709848) < 1e-5,
            "The first pair turns fastest, by 1 radian a position: PE[1, 0] is sin 1 = 0.841.",
        ),
        holds(
            "pairs on a circle",
            lambda table, n, d, base=None: (
                ((table[:, : d - d % 2].unflatten(1, (-1, 2)) ** 2).sum(-1) - 1).abs() < 1e-5
            ).all(),
            "Features 2i and 2i + 1 are sine and cosine of one and the same angle, so their squares sum to 1. "
            "Some pair of yours does not.",
        ),
    ]
    mistakes = [
        mistake(
            "sines, then cosines",
            _cut_into_halves,
            "Your values are right and stand in halves, all sines and then all cosines: they take turns, a sine at 2i "
            "and its cosine at 2i + 1.",
        ),
        mistake(
            "an exponent for each feature",
            _table(lambda x, j, d, base: x / base ** (j / d)),
            "Your sine and cosine of a pair turn at different speeds: both have the exponent 2i/d_model, where 2i is "
            "the even feature of the pair.",
        ),
        mistake(
            "exponent i/d",
            _table(lambda x, j, d, base: x / base ** (j // 2 / d)),
            "Your exponent is i/d_model, half of what it should be, so the slowest hand is still fast: pair i has "
            "2i/d_model.",
        ),
        mistake(
            "feature number doubled",
            _table(lambda x, j, d, base: x / base ** (2 * j / d)),
            "You take i for the number of the feature and double it: i numbers the pairs, so the exponent of features "
            "2i and 2i + 1 is 2i/d_model.",
        ),
        mistake(
            "pair doubled twice",
            _table(lambda x, j, d, base: x / base ** (2 * (j - j % 2) / d)),
            "You double twice: `arange(0, d_model, 2)` holds the numbers 2i already.",
        ),
        mistake(
            "i/(d // 2)",
            _table(lambda x, j, d, base: x / base ** (j // 2 / max(d // 2, 1))),
            "For an odd d_model your exponent is off: i/(d_model // 2) is 2i/d_model for even widths only, so write "
            "2i/d_model.",
        ),
        mistake(
            "cut from a wider table",
            lambda n, d, base=10000.0: positions.sinusoidal(n, d + d % 2, base)[:, :d],
            "For an odd d_model you cut the table of d_model + 1 features, whose hands turn at other speeds: the "
            "exponent is 2i/d_model all the same.",
        ),
        mistake(
            "pairs from 1",
            _table(lambda x, j, d, base: x / base ** ((j - j % 2 + 2) / d)),
            "You count the pairs from 1, so the fastest is missing: pair 0 has exponent 0 and turns by 1 a position.",
        ),
        mistake(
            "positions between 0 and 1",
            lambda n, d, base=10000.0: _table(lambda x, j, d, base: x / n / base ** ((j - j % 2) / d))(n, d, base),
            "You divide positions by the length of the text, so the same place looks different in another text: "
            "x is 0, 1, 2, … as it is.",
        ),
        mistake(
            "2i/(d − 2)",
            _table(lambda x, j, d, base: x / base ** ((j - j % 2) / max(d - 2, 1))),
            "You spread the exponents from 0 up to 1: in the paper they are 2i/d_model and stop short of 1.",
        ),
        mistake(
            "positions from 1",
            _table(first=1),
            "Your positions begin at 1: the first row belongs to position 0, and is 0, 1, 0, 1, …",
        ),
        mistake(
            "sine and cosine swapped",
            _table(even=torch.cos, odd=torch.sin),
            "Your cosines stand at the even features: the sine comes first, at 2i.",
        ),
        mistake(
            "sines alone",
            _table(odd=torch.sin),
            "Both features of your pairs are sines: the odd one is the cosine, or a hand would show only its height.",
        ),
        mistake(
            "one too many cosines",
            _even_alone,
            "For an odd d_model there is a sine more than there are cosines, and your columns do not match: drop the "
            "last cosine, `angles.cos()[:, : d_model // 2]`.",
        ),
        mistake(
            "the last feature left out",
            _odd_left_out,
            "For an odd d_model you lose the last feature: it is a sine without its cosine.",
        ),
        mistake(
            "the last feature at nought",
            _odd_left_at_nought,
            "For an odd d_model your last feature stays 0: it is a sine without its cosine.",
        ),
        mistake(
            "base ignored",
            lambda n, d, base=10000.0: positions.sinusoidal(n, d),
            "You divide by powers of 10000 whatever `base` is: use the argument.",
        ),
        mistake(
            "times, not divided by",
            _table(lambda x, j, d, base: x * base ** ((j - j % 2) / d)),
            "You multiply by base^(2i/d_model), so the hands turn faster and faster: divide, the first is the fastest.",
        ),
        mistake(
            "no exponent",
            _table(lambda x, j, d, base: x / base + 0 * j),
            "All your pairs turn at one speed: pair i has its own, base^(2i/d_model) times slower than the first.",
        ),
        mistake(
            "one speed",
            _table(lambda x, j, d, base: x + 0.0 * j),
            "All your pairs turn at the speed of the first: divide the angle by base^(2i/d_model).",
        ),
        mistake(
            "full turns",
            _table(lambda x, j, d, base: 2 * torch.pi * x / base ** ((j - j % 2) / d)),
            "You turn by 2π·x: the angles are in radians as they are, so the first hand turns by 1 a position.",
        ),
        mistake(
            "degrees",
            _table(lambda x, j, d, base: torch.deg2rad(x / base ** ((j - j % 2) / d))),
            "You take the angles for degrees: they are radians, which is what sin and cos want.",
        ),
        mistake(
            "transposed",
            lambda n, d, base=10000.0: positions.sinusoidal(n, d, base).T,
            "Your table lies on its side: positions are rows, features columns.",
        ),
        mistake(
            "angles",
            _table(even=lambda a: a, odd=lambda a: a),
            "You give the angles: their sine (at even features) and cosine (at odd ones) are due.",
        ),
        mistake(
            "for a batch",
            lambda n, d, base=10000.0: positions.sinusoidal(n, d, base)[None],
            "You added an axis for the batch: (n_positions, d_model) is due, and broadcasting adds it when needed.",
        ),
        mistake(
            "dtype written in",
            lambda n, d, base=10000.0: positions.sinusoidal(n, d, base).to(torch.float32),
            "Your table is float32 whatever the model computes in: leave `dtype` out, so that torch's default is used.",
        ),
    ]


# ---- what shifting does ----


def _turn(k, d, base=10000.0, speed=lambda i, d, base: base ** (-2 * i / d), block=None):
    """A shift matrix with its speeds, or its 2 × 2 blocks, exchanged."""
    block = block or (lambda cos, sin: [[cos, sin], [-sin, cos]])
    i = torch.arange(d // 2, dtype=torch.float64, device="cpu")
    angles = (k * speed(i, d, base) + 0 * i).to(torch.get_default_dtype()).to(torch.get_default_device())
    return torch.block_diag(*[torch.stack([torch.stack(row) for row in block(a.cos(), a.sin())]) for a in angles])


def _with_block(block):
    return lambda k, d, base=10000.0: _turn(k, d, base, block=block)


def _with_speed(speed):
    return lambda k, d, base=10000.0: _turn(k, d, base, speed)


def _in_halves(k, d, base=10000.0):
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    return positions.shift_matrix(k, d, base)[order][:, order]


def _ratio(k, d, base=10000.0):
    """Entry by entry what PE(1) must be multiplied with; right at x = 1 alone."""
    at = lambda x: positions.shift_matrix(x, d, base)[:, 1::2].sum(1)  # noqa: E731
    return torch.diag(at(1 + k) / at(1))


def _outer(k, d, base=10000.0):
    """PE(k) PE(0)ᵀ/|PE(0)|², right at x = 0 alone."""
    start = torch.tensor([0.0, 1.0]).repeat(d // 2).to(torch.get_default_dtype())
    return torch.outer(positions.shift_matrix(k, d, base) @ start, start) / (d // 2)


@exercise("positions.shift_matrix", points=3, minutes=15, difficulty=3)
class ShiftMatrix:
    """The matrix M with PE(x + k) = M PE(x) at every position x, for an even d_model; PE(x) is a column.

    So M depends on k, d_model and base, and never on x.
    """

    signature = "shift_matrix(k: int, d_model: int, base: float = 10000.0) -> Tensor (d_model, d_model)"
    reference = positions.shift_matrix
    tolerance = 3e-5  # angles in float32 are right
    book = ["helpers.positions.rotary"]
    why = (
        "Looking k tokens back is one fixed linear map, wherever one stands: just what a head's projections can learn."
    )
    hints = [
        "Take one pair first: write sin(w(x + k)) and cos(w(x + k)) with sin(wx) and cos(wx) alone.",
        "The first row of a pair's block says what the new sine is made of: cos(wk) old sines and sin(wk) old cosines.",
        "`[[cos, sin], [-sin, cos]]` for each pair, its angle being k / base^(2i/d_model), and "
        "`torch.block_diag(*blocks)`.",
    ]

    def cases(rng):
        return [
            (3, 4, 100.0),
            (1, 2),
            (0, 6),
            (-rng.integer(2, 6), 8),
            (rng.integer(30, 40), 10),
            (rng.integer(5, 12), rng.integer(3, 6) * 2, float(rng.integer(20, 90))),
        ]

    properties = [
        holds(
            "square",
            lambda m, k, d, base=None: m.shape == (d, d),
            "M takes a vector of d_model numbers to another: its shape is (d_model, d_model).",
        ),
        holds(
            "k = 0",
            lambda m, k, d, base=None: k != 0 or torch.equal(m, torch.eye(d, dtype=m.dtype)),
            "To shift by 0 changes nothing: there M is the identity.",
        ),
        holds(
            "nothing between pairs",
            lambda m, k, d, base=None: (m[torch.block_diag(*[torch.ones(2, 2)] * (d // 2)) == 0].abs() < 1e-6).all(),
            "Some entry of yours mixes two pairs: each turns by itself, so M is zero outside the 2 × 2 blocks on its "
            "diagonal.",
        ),
        holds(
            "a rotation",
            lambda m, k, d, base=None: (m @ m.T - torch.eye(d, dtype=m.dtype)).abs().max() < 1e-5,
            "Each hand keeps its length when it turns, so M Mᵀ is the identity. Yours stretches something.",
        ),
        holds(
            "the first pair",
            lambda m, k, d, base=None: (m[:2, :2] - _turn(k, 2)).abs().max() < 1e-5,
            "Look at the first pair alone, whose hand turns by k: PE(0) = (0, 1) must go to (sin k, cos k).",
        ),
    ]
    mistakes = [
        mistake(
            "the wrong way",
            _with_block(lambda cos, sin: [[cos, -sin], [sin, cos]]),
            "Your matrix turns the wrong way and gives PE(x − k): the textbook's rotation turns (cos, sin), and here "
            "the sine comes first. PE(x) is a column, M PE(x); for rows, PE(x) M, yours would be right.",
        ),
        mistake(
            "one frequency for all pairs",
            _with_speed(lambda i, d, base: 1.0),
            "All your pairs turn by k: pair i turns base^(2i/d_model) times more slowly than the first.",
        ),
        mistake(
            "right at x = 1 alone",
            _ratio,
            "Your diagonal matrix holds ratios PE(1 + k)/PE(1), which are others at x = 2: a new sine needs the old "
            "sine *and* the old cosine.",
        ),
        mistake(
            "right at x = 0 alone",
            _outer,
            "Your matrix takes PE(0) to PE(k) and forgets all else: at x = 1 it fails, so turn each pair instead.",
        ),
        mistake(
            "halves",
            _in_halves,
            "Your matrix is for sines in one half and cosines in the other: here they are neighbours, so its 2 × 2 "
            "blocks stand on the diagonal.",
        ),
        mistake(
            "exponent i/d",
            _with_speed(lambda i, d, base: base ** (-i / d)),
            "Your pair i turns by k/base^(i/d_model): the exponent is 2i/d_model, as in the table.",
        ),
        mistake(
            "pair doubled twice",
            _with_speed(lambda i, d, base: base ** (-4 * i / d)),
            "You double twice: `arange(0, d_model, 2)` holds the numbers 2i already.",
        ),
        mistake(
            "times, not divided by",
            _with_speed(lambda i, d, base: base ** (2 * i / d)),
            "You multiply by base^(2i/d_model), so the hands turn faster and faster: divide, the first is the fastest.",
        ),
        mistake(
            "base ignored",
            lambda k, d, base=10000.0: _turn(k, d),
            "You divide by powers of 10000 whatever `base` is: use the argument.",
        ),
        mistake(
            "both signs plus",
            _with_block(lambda cos, sin: [[cos, sin], [sin, cos]]),
            "Your blocks have no minus: cos(a + b) = cos a cos b − sin a sin b, so the second row begins with −sin.",
        ),
        mistake(
            "a mirror",
            _with_block(lambda cos, sin: [[sin, cos], [cos, -sin]]),
            "Your blocks have sines and cosines in each other's places: a shift by 0 must change nothing, so cos 0 = 1 "
            "belongs on the diagonal.",
        ),
        mistake(
            "sine and cosine exchanged",
            _with_block(lambda cos, sin: [[sin, cos], [-cos, sin]]),
            "Your blocks have sin where cos belongs: a shift by 0 must change nothing, so cos 0 = 1 on the diagonal.",
        ),
        mistake(
            "diagonal",
            _with_block(lambda cos, sin: [[cos, 0 * sin], [0 * sin, cos]]),
            "Your matrix has its diagonal alone: the new sine takes sin(wk) of the old cosine too.",
        ),
        mistake(
            "the transpose of a row of pairs",
            lambda k, d, base=10000.0: _turn(k, d, base)[:2],
            "You give a block for the first pair alone: M has one for each of the d_model/2 pairs, on its diagonal.",
        ),
        mistake(
            "a stack of blocks",
            lambda k, d, base=10000.0: torch.stack([_turn(k, d, base)[i : i + 2, i : i + 2] for i in range(0, d, 2)]),
            "You give the blocks one behind the other: `torch.block_diag(*blocks)` puts them into one matrix.",
        ),
        mistake(
            "the encoding moved",
            lambda k, d, base=10000.0: positions.sinusoidal(d + abs(k), d, base)[abs(k) :],
            "You give a piece of the table: what is due is the matrix that takes any row of it to the one k further.",
        ),
        mistake(
            "k left out",
            lambda k, d, base=10000.0: _turn(1, d, base),
            "You shift by 1 whatever k is: each hand turns k times as far.",
        ),
        mistake(
            "k in absolute value",
            lambda k, d, base=10000.0: _turn(abs(k), d, base),
            "You shift a negative k forward: its sign stays, and the hands turn back.",
        ),
        mistake(
            "dtype written in",
            lambda k, d, base=10000.0: _turn(k, d, base).to(torch.float32),
            "Your matrix is float32 whatever the model computes in: leave `dtype` out, so that torch's default is "
            "used.",
        ),
    ]


def _sum_of(term):
    """A claim made from the angles k/base^(2i/d) of all pairs."""

    def similarity(k, d, base=10000.0):
        return term(k * positions.frequencies(d, base), d)

    return similarity


def _counted_from_the_end(k, d, base=10000.0):
    table = positions.sinusoidal(abs(k) + 1, d, base)
    return (table[0] @ table[k]).item()


@exercise("positions.similarity", points=2, minutes=10, difficulty=3, kind="claim")
class Similarity:
    """The dot product PE(x)·PE(x + k), which is the same at every x, as a number. k may be negative, d_model is even.

    Measure it, or find the formula.
    """

    signature = "similarity(k: int, d_model: int, base: float = 10000.0) -> float"
    reference = positions.similarity
    tolerance = 1e-4
    gradient = False
    dtypes = []
    why = "It is the same for k and −k: bare positions tell a dot product how far, and never whether before or after."
    hints = [
        "Two rows of the table, k apart, multiplied and summed. Does it matter which two?",
        "Within a pair: sin a sin b + cos a cos b. There is a formula for that.",
        "cos(a − b), and a − b is k/base^(2i/d_model) whatever x is: sum that over the pairs.",
    ]

    def cases(rng):
        def telling():
            """Not close to 0, where a measurement in float32 would lose its digits."""
            while True:
                k, d, base = rng.integer(3, 40), 2 * rng.integer(2, 9), float(rng.integer(50, 999))
                if abs(positions.similarity(k, d, base)) > 0.1 * d:
                    return k, d, base

        k, d, base = telling()
        return [(0, 6), (1, 2), (4, 8), (-3, 8), (-k, d, base), telling()]

    properties = [
        holds(
            "k = 0",
            lambda s, k, d, base=None: k != 0 or abs(s - d / 2) < 1e-3,
            "With itself, each pair gives sin² + cos² = 1: for k = 0 the sum is d_model/2.",
        ),
        holds(
            "no more than k = 0",
            lambda s, k, d, base=None: s <= d / 2 + 1e-3,
            "No position is more alike to another than to itself: the product is at most d_model/2.",
        ),
    ]
    mistakes = [
        mistake(
            "mean of the pairs",
            _sum_of(lambda a, d: a.cos().mean().item()),
            "You divide by d_model/2, which gives the cosine of the angle between the two: the bare product is due.",
        ),
        mistake(
            "each pair twice",
            _sum_of(lambda a, d: 2 * a.cos().sum().item()),
            "You count each pair twice, once for its sine and once for its cosine: the two *together* make one cos.",
        ),
        mistake(
            "scaled",
            _sum_of(lambda a, d: a.cos().sum().item() / d**0.5),
            "You divide by √d_model, as attention does: the bare product is due.",
        ),
        mistake(
            "mean of the features",
            _sum_of(lambda a, d: a.cos().sum().item() / d),
            "You average over the features: a dot product sums.",
        ),
        mistake(
            "sines",
            _sum_of(lambda a, d: a.sin().sum().item()),
            "You sum sines: sin a sin b + cos a cos b = cos(a − b).",
        ),
        mistake(
            "sines and cosines",
            _sum_of(lambda a, d: (a.cos() + a.sin()).sum().item()),
            "You sum the entries of PE(k): the sines drop out, since sin a sin b + cos a cos b = cos(a − b).",
        ),
        mistake(
            "squares",
            _sum_of(lambda a, d: a.cos().square().sum().item()),
            "You square the cosines: one cos(a − b) for each pair, as it is.",
        ),
        mistake(
            "cosine of the sum",
            _sum_of(lambda a, d: a.sum().cos().item()),
            "You sum the angles and take one cosine: take the cosine of each pair's angle, then sum.",
        ),
        mistake(
            "the first pair",
            _sum_of(lambda a, d: a[0].cos().item()),
            "You take the first pair alone: the product sums over all d_model/2 of them.",
        ),
        mistake(
            "always d/2",
            _sum_of(lambda a, d: d / 2),
            "That is the product of a position with itself, k = 0: with k the hands part.",
        ),
        mistake(
            "negative k counted from the end",
            _counted_from_the_end,
            "For a negative k your row `table[k]` is counted from the end of the table: begin at an x that is large "
            "enough for x + k, or use that k and −k give the same.",
        ),
        mistake(
            "an odd function of k",
            lambda k, d, base=10000.0: (1 if k >= 0 else -1) * positions.similarity(k, d, base),
            "You let the sign of k change the result: PE(x)·PE(x + k) and PE(x + k)·PE(x) are the same product.",
        ),
        mistake(
            "base ignored",
            lambda k, d, base=10000.0: positions.similarity(k, d),
            "You use 10000 whatever `base` is: use the argument.",
        ),
        mistake(
            "exponent i/d",
            lambda k, d, base=10000.0: positions.similarity(k, d, base**0.5),
            "Your pair i turns by k/base^(i/d_model): the exponent is 2i/d_model, as in the table.",
        ),
        mistake(
            "one speed",
            _sum_of(lambda a, d: a[0].cos().item() * d / 2),
            "All your pairs turn by k: pair i turns base^(2i/d_model) times more slowly than the first.",
        ),
        mistake(
            "distance",
            _sum_of(lambda a, d: (d - 2 * a.cos().sum().item()) ** 0.5),
            "That is the distance between the two: their dot product is due.",
        ),
        mistake(
            "squared distance",
            _sum_of(lambda a, d: d - 2 * a.cos().sum().item()),
            "That is the squared distance between the two: their dot product is due.",
        ),
    ]
