"""03_positions: how a model that treats tokens as a set learns their order."""

import re
import unicodedata

import torch

from autograder.ask import Case, Probe
from autograder.exercise import exercise, holds, mistake
from helpers import positions

# ---- what permuting does ----

ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-5}


def layer(rng, kind, n, d_in):
    """The weights of a probe that takes features (B, n, d_in): a set's layer, or one of several that know an order."""
    d = 6
    mean = torch.full((n, n), 1 / n, dtype=torch.float64)
    mix, over = torch.stack([mean * rng.normal(), mean * rng.normal()]), torch.ones(n, n, dtype=torch.float64)
    place = torch.zeros(n, d, dtype=torch.float64)
    if kind == "positions":
        place = rng.normal(n, d)
    elif kind == "one position":
        place[rng.integer(0, n), 0] = 0.05
    elif kind == "causal":
        mix[0], over = rng.normal(n, n).abs().tril(), torch.eye(n, dtype=torch.float64)
    elif kind == "neighbour":
        mix[1] += torch.eye(n, dtype=torch.float64).roll(1, 0)
    weights = (rng.normal(d_in, d), place, mix, 0.5 * rng.normal(d_in, d), over, rng.normal(d, d_in), rng.normal(d_in))
    return dict(zip(Probe.NAMES, weights, strict=True))


def _turning(rng, n):
    """A permutation that is not its own inverse, so that the two can be told apart."""
    while True:
        found = rng.permutation(n)
        if not torch.equal(found[found], torch.arange(n)):
            return found


def _beyond_rounding(gap, model, x, permutation):
    if (isinstance(gap, torch.Tensor) and gap.dim()) or type(gap) is bool:
        return gap
    return 0.0 if abs(gap) < ROUNDING[x.dtype] else float(gap)


def _gap(after=lambda y, p: y[:, p], before=lambda x, p: x[:, p], size=lambda gap: gap.abs().max()):
    """The gap with one of its sides, or its size, exchanged."""

    def gap(layer, x, permutation):
        with torch.no_grad():
            return size(after(layer(x), permutation) - layer(before(x, permutation)))

    return gap


@exercise("positions.equivariance_gap", points=2, minutes=8, difficulty=2, ask="models")
class EquivarianceGap:
    """The greatest absolute difference between layer(x)[:, permutation] and layer(x[:, permutation]), as one number."""

    signature = (
        "equivariance_gap(layer, x: Tensor (B, T, D), permutation: Tensor (T,)) -> float\n"
        "layer(x (B, T, D)) -> Tensor (B, T, D)"
    )
    reference = positions.equivariance_gap
    measure = _beyond_rounding
    tolerance = 1e-4
    gradient = False
    fake = False
    why = "Nought means that the layer cannot know any order: whoever permutes tokens gets the same rows, permuted."
    hints = [
        "Two ways to the same place: permute and then ask the layer, or ask the layer and then permute.",
        "`x[:, permutation]` takes the tokens of each sentence in a new order; axis 0 is the batch.",
        "`(layer(x)[:, permutation] - layer(x[:, permutation])).abs().max()`",
    ]

    def cases(rng):
        made = []
        for kind, b, n, d in [
            ("positions", 2, 5, 3),
            ("a set", 2, 7, 4),
            ("one position", 7, 4, 3),
            ("neighbour", 1, 5, 4),
            ("causal", 3, rng.integer(5, 9), 4),
        ]:
            made.append(Case((layer(rng, kind, n, d), rng.normal(b, n, d), _turning(rng, n))))
        turned, last = dict(made[0].inputs[0]), made[-1].inputs
        turned["f"], turned["g"] = -turned["f"], -turned["g"]  # what was largest is now lowest
        last[0]["f"][:, 0], last[1][0] = 0, 0  # a feature and a sentence that say nothing
        alone = Case((layer(rng, "positions", 1, 3), rng.normal(2, 1, 3), torch.tensor([0])))
        still = Case((layer(rng, "positions", 5, 3), rng.normal(2, 5, 3), torch.arange(5)))
        return [made[0], alone, still, Case((turned, *made[0].inputs[1:])), *made[1:]]

    properties = [
        holds(
            "one number",
            lambda gap, *inputs: not (isinstance(gap, torch.Tensor) and gap.dim()) and type(gap) is not bool,
            "One number is due, the greatest of all differences: `.abs().max()`.",
        ),
        holds(
            "not below nought",
            lambda gap, *inputs: not gap < 0,
            "A gap cannot be negative: take the absolute value before the maximum.",
        ),
        holds(
            "identity",
            lambda gap, layer, x, p: gap == 0 or not torch.equal(p, torch.arange(len(p))),
            "The permutation that leaves everything in its place leaves no gap, whatever the layer.",
        ),
    ]
    mistakes = [
        mistake(
            "output left in place",
            _gap(after=lambda y, p: y),
            "You permute what goes in and compare with an output in the old order: even a layer that knows no order "
            "gives the same rows *in the new order*, so permute its output too, `layer(x)[:, permutation]`.",
        ),
        mistake(
            "input left in place",
            _gap(before=lambda x, p: x),
            "You permute the output alone and compare it with itself: the layer has to be asked again, "
            "with `x[:, permutation]`.",
        ),
        mistake(
            "the batch permuted",
            _gap(lambda y, p: y[p], lambda x, p: x[p]),
            "`x[permutation]` takes sentences, along axis 0: the tokens are axis 1, `x[:, permutation]`.",
        ),
        mistake(
            "features permuted",
            _gap(lambda y, p: y[..., p], lambda x, p: x[..., p]),
            "You permute features, along the last axis: tokens are axis 1, `x[:, permutation]`.",
        ),
        mistake(
            "permuted back",
            _gap(after=lambda y, p: y[:, p.argsort()]),
            "One side is permuted forth and the other back: use the same permutation on both.",
        ),
        mistake(
            "sorted",
            _gap(lambda y, p: y.sort(1).values, lambda x, p: x.sort(1).values),
            "You sort the numbers of each feature apart, which tears tokens to pieces: index with the permutation.",
        ),
        mistake(
            "no absolute value",
            _gap(size=lambda gap: gap.max()),
            "You take the largest difference with its sign, and miss one far below nought: `.abs()` before `.max()`.",
        ),
        mistake(
            "mean",
            _gap(size=lambda gap: gap.abs().mean()),
            "You average, so one large difference drowns among small ones: the greatest is asked for, `.max()`.",
        ),
        mistake(
            "sum",
            _gap(size=lambda gap: gap.abs().sum()),
            "You add all differences up, so longer texts seem to differ more: the greatest is asked for, `.max()`.",
        ),
        mistake(
            "mean square",
            _gap(size=lambda gap: gap.square().mean()),
            "That is the mean square: the greatest absolute difference is asked for, `.abs().max()`.",
        ),
        mistake(
            "square",
            _gap(size=lambda gap: gap.square().max()),
            "You square the difference, which shrinks small ones further: `.abs()` in place of the square.",
        ),
        mistake(
            "pooled",
            lambda layer, x, p: (layer(x)[:, p].mean(1) - layer(x[:, p]).mean(1)).abs().max(),
            "You compare means over the tokens, so a layer that only exchanges their rows escapes you: "
            "compare token by token.",
        ),
        mistake(
            "turned round in place of permuted",
            _gap(lambda y, p: y.flip(1), lambda x, p: x.flip(1)),
            "You turn the text round whatever the permutation is: index with the one that is given.",
        ),
        mistake(
            "norm",
            _gap(size=lambda gap: gap.norm()),
            "That is the norm of all differences together: the greatest single one is asked for, `.abs().max()`.",
        ),
        mistake(
            "greatest of each feature",
            _gap(size=lambda gap: gap.abs().amax((0, 1))),
            "You give a maximum for each feature: one number over batch, tokens and features is due.",
        ),
        mistake(
            "all differences",
            _gap(size=lambda gap: gap.abs()),
            "You give all differences: the greatest of them is due, `.max()`.",
        ),
        mistake(
            "True or False",
            _gap(size=lambda gap: gap.abs().max() < 1e-6),
            "You answer whether there is a gap: how large it is, is asked for.",
        ),
        mistake(
            "the first sentence",
            _gap(size=lambda gap: gap[0].abs().max()),
            "You look at the first sentence of the batch alone: the greatest difference may be in another.",
        ),
    ]


# ---- the same words ----


def words(sentence):
    """The words of a sentence: no case, no punctuation."""
    text = unicodedata.normalize("NFC", sentence).casefold().replace("\u2019", "'")
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text)


@exercise("positions.order_matters", points=1, minutes=5, difficulty=1, kind="claim")
class OrderMatters:
    """Two sentences of the same words in another order, whose meanings differ. Case and punctuation do not count."""

    signature = "order_matters() -> tuple[str, str]"
    unique = False
    gradient = False
    dtypes = []
    why = "A model without positions sees two bags of the same words: whatever it makes of one, it makes of the other."
    hints = [
        "Who does it, and to whom? In English only the order tells.",
        "Exchange subject and object, or move a word such as *only* or *not*.",
        'Two animals and a verb between them: `return "the … the …", "the … the …"`.',
    ]

    def cases(rng):
        return [()]

    properties = [
        holds(
            "two sentences",
            lambda two: type(two) in (tuple, list) and [type(one) for one in two] == [str, str],
            'Two sentences are due, as text: `return "…", "…"`.',
        ),
        holds(
            "words",
            lambda two: all(len(words(one)) >= 2 for one in two),
            "One word alone has no order: write sentences of at least two words.",
        ),
        holds(
            "the same words",
            lambda two: set(words(two[0])) == set(words(two[1])),
            "The two do not have the same words: a model without positions could tell them apart by the words alone. "
            "Forms of a word are different words here.",
        ),
        holds(
            "as often",
            lambda two: sorted(words(two[0])) == sorted(words(two[1])),
            "The same words, but one of them more often in one sentence than in the other: that, a bag of words shows.",
        ),
        holds(
            "another order",
            lambda two: words(two[0]) != words(two[1]),
            "The words stand in the same order, and neither capitals nor punctuation count: change the order.",
        ),
    ]
    mistakes = [
        mistake(
            "one sentence",
            lambda: "the dog bit the man",
            'You give one text: two are due, with a comma between them, `return "…", "…"`.',
        ),
        mistake(
            "the same sentence",
            lambda: ("the dog bit the man", "the dog bit the man"),
            "You give the same sentence twice: exchange two of its words, and see what that does to the meaning.",
        ),
        mistake(
            "nothing",
            lambda: ("", ""),
            "Both of your sentences are empty: write some words.",
        ),
    ]


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
            (rng.integer(5, 12), rng.integer(3, 6) * 4, float(rng.integer(20, 90))),
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


# ---- learned positions ----


def _learned(pick=None, finish=lambda x, p: x + p):
    """The layer, with its choice of vectors, or what becomes of them, exchanged; too long a text fails as it may."""
    pick = pick or (lambda self, x: self.embedding.weight[: x.shape[1]])

    class Learned(torch.nn.Module):
        def __init__(self, max_len, d_model):
            super().__init__()
            self.embedding = torch.nn.Embedding(max_len, d_model)

        def forward(self, x):
            return finish(x, pick(self, x))

    return Learned


def _rows(index):
    return _learned(lambda self, x: self.embedding(index(torch.arange(x.shape[1], device=x.device), self, x)))


class _BareParameter(torch.nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.embedding = torch.nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        return x + self.embedding[: x.shape[1]]


@exercise("positions.LearnedPositions", points=2, minutes=10, difficulty=2, ask="module")
class LearnedPositions:
    """A layer that adds to each token the learned vector of its position. Submodule `embedding`, an `nn.Embedding`.

    For a text longer than max_len it raises ValueError with a sentence.
    """

    signature = (
        "LearnedPositions(max_len: int, d_model: int)\nforward(x: Tensor (B, T, d_model)) -> Tensor (B, T, d_model)"
    )
    reference = positions.LearnedPositions
    why = "BERT's positions are learned like this: nothing to derive, and nothing to say about position max_len."
    hints = [
        "The positions of T tokens are 0, 1, …, T − 1, the same for each sentence of the batch.",
        "`torch.arange(x.shape[1], device=x.device)` goes through the embedding like any ids: (T, d_model).",
        "Broadcasting adds (T, d_model) to (B, T, d_model). Before that, `raise ValueError(f'…')` if T > max_len.",
    ]

    def cases(rng):
        def case(max_len, b, t, d):
            state = {"embedding.weight": rng.normal(max_len, d)}
            return Case((rng.normal(b, t, d),), init=(max_len, d), state=state)

        return [
            case(7, 2, 5, 4),
            case(1, 3, 1, 2),
            case(9, 3, 3, 3),
            case(5, 5, 5, 3),
            case(4, 2, rng.integer(6, 9), 3),
            case(rng.integer(40, 60), 3, rng.integer(5, 12), 6),
        ]

    properties = [
        holds(
            "shape",
            lambda y, max_len, d, x: y.shape == x.shape,
            "Positions are added, so the shape stays that of x, (B, T, d_model).",
        ),
        holds(
            "the same for each sentence",
            lambda y, max_len, d, x: ((y - x) - (y - x)[:1]).abs().max() < 1e-4,
            "What you add differs from sentence to sentence: it belongs to the position alone.",
        ),
    ]
    mistakes = [
        mistake(
            "indexed by batch",
            _learned(lambda self, x: self.embedding(torch.arange(x.shape[0], device=x.device))[:, None]),
            "Your positions run along the batch, so sentence 2 differs from sentence 1: they run along time, "
            "`x.shape[1]`.",
        ),
        mistake(
            "batch and time mixed up",
            _learned(lambda self, x: self.embedding(torch.arange(x.shape[0], device=x.device))),
            "You take `x.shape[0]` positions, which counts sentences: time is axis 1, `x.shape[1]`.",
        ),
        mistake(
            "IndexError",
            _rows(lambda t, self, x: t),
            "All is right up to max_len. Beyond it, `nn.Embedding` says *index out of range in self*, which helps "
            "nobody: raise ValueError with a sentence that says how long the text is and how long it may be.",
        ),
        mistake(
            "sizes do not match",
            _learned(),
            "All is right up to max_len. Beyond it, torch says that sizes do not match, which helps nobody: raise "
            "ValueError with a sentence that says how long the text is and how long it may be.",
        ),
        mistake(
            "begins again",
            _rows(lambda t, self, x: t % self.embedding.num_embeddings),
            "Beyond max_len you begin again at 0, so the model takes token max_len for the first: nothing was learned "
            "for it, so raise ValueError.",
        ),
        mistake(
            "the last one kept",
            _rows(lambda t, self, x: t.clamp(max=self.embedding.num_embeddings - 1)),
            "Beyond max_len all tokens get the last position, and their order is lost: raise ValueError.",
        ),
        mistake(
            "cut off",
            _learned(finish=lambda x, p: x[:, : len(p)] + p),
            "You cut a text that is too long, and nobody is told: raise ValueError, and let the caller decide.",
        ),
        mistake(
            "left as it is",
            _learned(finish=lambda x, p: x + torch.nn.functional.pad(p, (0, 0, 0, x.shape[1] - len(p)))),
            "Beyond max_len you add nothing, and nobody is told: raise ValueError.",
        ),
        mistake(
            "built and never added",
            _learned(finish=lambda x, p: x),
            "Your embedding is never used: what you return is x, without its positions.",
        ),
        mistake(
            "positions alone",
            _learned(finish=lambda x, p: p),
            "You return the positions alone: the tokens are lost unless you add them, `x + …`.",
        ),
        mistake(
            "positions alone, for a batch",
            _learned(finish=lambda x, p: p.expand_as(x)),
            "You return positions in the shape of x, but x itself is lost: add the two.",
        ),
        mistake(
            "positions from 1",
            _rows(lambda t, self, x: t + 1),
            "Your positions begin at 1: row 0 is never used, and a text of max_len tokens finds no last row.",
        ),
        mistake(
            "backwards",
            _rows(lambda t, self, x: t.flip(0)),
            "Your positions count down from the end, so the first token's vector changes with the length of the text: "
            "begin at 0.",
        ),
        mistake(
            "last rows",
            _learned(lambda self, x: self.embedding.weight[-x.shape[1] :]),
            "You take the last T rows of the embedding: positions begin at row 0.",
        ),
        mistake(
            "one position for all",
            _learned(lambda self, x: self.embedding.weight[x.shape[1] - 1]),
            "You add the vector of one position to all tokens, so they are as alike as before: an index for each, "
            "`torch.arange(T)`.",
        ),
        mistake(
            "the mean",
            _learned(lambda self, x: self.embedding.weight[: x.shape[1]].mean(0)),
            "You add the mean of all positions to each token: each gets its own.",
        ),
        mistake(
            "scaled",
            _learned(finish=lambda x, p: x + p * x.shape[-1] ** 0.5),
            "You multiply the positions by √d_model: if anything is scaled, it is the tokens' embeddings, before they "
            "come here.",
        ),
        mistake(
            "tokens scaled",
            _learned(finish=lambda x, p: x * x.shape[-1] ** 0.5 + p),
            "You multiply the tokens by √d_model: this layer only adds.",
        ),
        mistake(
            "multiplied",
            _learned(finish=lambda x, p: x * p),
            "You multiply tokens with positions: add them.",
        ),
        mistake(
            "concatenated",
            _learned(finish=lambda x, p: torch.cat([x, p.expand_as(x)], -1)),
            "You put the positions beside the tokens, and the width doubles: add them.",
        ),
        mistake(
            "sinusoidal added as well",
            _learned(finish=lambda x, p: x + p + positions.sinusoidal(*p.shape).to(x)),
            "You add the sinusoidal table too: the learned vectors take its place.",
        ),
        mistake(
            "cut from its gradient",
            _learned(lambda self, x: self.embedding.weight.data[: x.shape[1]]),
            "`.data` cuts the vectors from their gradient, so they stay what they are at the start and nothing is "
            "learned: `self.embedding.weight[:T]`.",
        ),
        mistake(
            "a bare parameter",
            _BareParameter,
            "Your `embedding` is a parameter: it is to be an `nn.Embedding(max_len, d_model)`, whose weight is named "
            "`embedding.weight`.",
        ),
        mistake(
            "on its side",
            lambda max_len, d_model: _learned()(d_model, max_len),
            "The weight of your `embedding` lies on its side: `nn.Embedding(max_len, d_model)` has "
            "a row for each position.",
        ),
    ]


# ---- in words ----


@exercise("positions.why", points=6, minutes=25, difficulty=3, kind="written")
class Why:
    """In your own words, two or three sentences each, with a number from this notebook wherever there is one.

    1. What do your two sentences mean, and why can a model without positions not tell them apart? 2. Is it because a
    dot product is symmetric? 3. Why has an odd d_model no shift matrix? 4. What can PE(x)·PE(x + k) not tell, and why
    can a head tell it all the same? 5. What do added positions bring into the scores that concatenated ones do not, and
    what does each of the two cost? 6. Your text is longer than any seen in training: what do sinusoidal, learned,
    relative and rotary positions each say about its last token?
    """

    why = "A reason that you can say in two sentences is one that you can check."
    hints = [
        "For 2, take a layer whose scores are not symmetric (queries and keys projected apart), and measure its gap.",
        "For 3 and 4, draw the clock hands: what does the last one lack, and which way do the others turn?",
        "For 5, count the terms of each dot product and the features of each vector; for 6, ask where each position's "
        "numbers come from.",
    ]
    rubric = """One point for each part; half a point where the claim is right and no reason or measurement is given.
1. The two meanings are stated and do differ (who does what to whom, or what *only* refers to). Without positions
   attention gives the same rows in another order, so any pooled vector (mean, maximum) is the same. Half a point if the
   meanings do not differ ("a and b", "b and a").
2. No. Attention commutes with permutations: softmax(P A Pᵀ) = P softmax(A) Pᵀ, whatever the scores A are. With queries
   and keys projected apart the scores are not symmetric, and the gap is still nought. Wrong: "because q·k = k·q".
3. Turning needs both coordinates of a hand: sin(w(x + k)) = cos(wk) sin(wx) + sin(wk) cos(wx). The last sine of an odd
   width has no cosine beside it, and no other feature supplies one, so no matrix serves every x.
4. The direction: cos is even, so k and −k give the same. A head projects queries and keys apart, PE(x)ᵀ W PE(x + k),
   and a W that turns (a shift matrix) peaks at one offset of its choice.
5. Adding gives four terms: also token with position, x_i·p_j and p_i·x_j; concatenating gives xx and pp alone, that is,
   a bias which does not look at the tokens. Concatenating widens vectors and every projection; adding costs nothing,
   and token and position share the same features. With learned projections the layer can, in principle, keep the two
   apart even when added. Half a point without the cross terms' meaning.
6. Sinusoidal: a row can be computed, but the model has never seen it. Learned: there is none, so the layer must refuse.
   Relative: distances up to T − 1 are known, farther ones are not in the table. Rotary: computed, scores depend on
   i − j alone, but farther distances than in training are new. Half a point for two of the four."""
