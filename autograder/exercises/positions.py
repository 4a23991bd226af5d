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
    """In your own words, two or three sentences each, with a number from this notebook wherever there is one."""

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
