"""01_attention: who looks at whom, and how strongly. Heads and cost have pages of their own."""

import torch
from torch import nn

from autograder.ask import Case
from autograder.exercise import Draws, exercise, holds, mistake
from helpers import attention
from helpers.attention import additive_scores, scores

INF = torch.inf


def allowed(rng: Draws, *shape: int) -> torch.Tensor:
    """A boolean mask (…, Tq, Tk): every query sees something, and the first one not everything."""
    mask = rng.coins(*shape, p=0.6)
    seen = rng.integer(0, shape[-1])
    mask[..., 0, (seen + 1) % shape[-1]] = False
    mask[..., seen] = True
    return mask


def additive(mask: torch.Tensor) -> torch.Tensor:
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -INF)


# ---- scores ----


@exercise("attention.scores", points=2, minutes=8, difficulty=1)
class Scores:
    """How well each query fits each key: q kᵀ / √d_k, for any axes in front (a batch, heads, both or neither)."""

    signature = "scores(q: Tensor (…, Tq, d_k), k: Tensor (…, Tk, d_k)) -> Tensor (…, Tq, Tk)"
    reference = attention.scores
    why = "All of attention starts from this one table: a row for each who asks, a column for each who may answer."
    hints = [
        "One score is one dot product, of a query with a key. Which product of matrices gives them all at once?",
        "`@` works on the last two axes and leaves the others alone. So must the transpose: count axes from the end.",
        "`q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5`",
    ]

    def cases(rng):
        d = rng.integer(8, 16)
        return [
            (rng.normal(2, 5, 4), rng.normal(2, 7, 4)),
            (rng.normal(3, 4), rng.normal(5, 4)),
            (rng.normal(1, 1), rng.normal(3, 1)),
            (30 * rng.normal(3, 4), 30 * rng.normal(6, 4)),
            (rng.normal(2, 6, 5), rng.normal(2, 6, 5)),
            (rng.normal(2, 3, 5, d), rng.normal(2, 3, 7, d)),
        ]

    properties = [
        holds(
            "a row for each query",
            lambda s, q, k: s.shape == (*q.shape[:-1], k.shape[-2]),
            "There is a score for each query and each key: a row for each query, a column for each key, (…, Tq, Tk).",
        ),
    ]
    mistakes = [
        mistake(
            "no scale",
            lambda q, k: q @ k.mT,
            "These are the bare dot products, whose spread grows with d_k: divide by √d_k, the root of the last axis.",
        ),
        mistake(
            "divided by d_k",
            lambda q, k: q @ k.mT / q.shape[-1],
            "You divide by d_k. The spread of a dot product grows with the root of d_k, so divide by √d_k: "
            "by d_k they shrink so much that all keys look nearly alike.",
        ),
        mistake(
            "divided by √Tk",
            lambda q, k: q @ k.mT / k.shape[-2] ** 0.5,
            "You divide by the root of the number of keys: a score knows one query and one key, and what counts is "
            "their length d_k, the last axis.",
        ),
        mistake(
            "divided by √Tq",
            lambda q, k: q @ k.mT / q.shape[-2] ** 0.5,
            "You divide by the root of the number of queries: what counts is the length of a vector, d_k.",
        ),
        mistake(
            "divided by √shape[1]",
            lambda q, k: q @ k.mT / q.shape[1] ** 0.5,
            "You divide by the root of `shape[1]`, which is d_k only as long as there is no batch: "
            "d_k is the last axis, `shape[-1]`.",
        ),
        mistake(
            "root rounded",
            lambda q, k: q @ k.mT / int(q.shape[-1] ** 0.5),
            "You round √d_k to a whole number, which is right for 4 and 64 alone: leave out `int` or `//`.",
        ),
        mistake(
            "queries and keys swapped",
            lambda q, k: k @ q.mT / q.shape[-1] ** 0.5,
            "Your table lies on its side: rows are queries and columns are keys, q kᵀ, not k qᵀ.",
        ),
        mistake(
            "multiplied",
            lambda q, k: q @ k.mT * q.shape[-1] ** 0.5,
            "You multiply by √d_k where you should divide: the scale is there to make the scores smaller.",
        ),
        mistake(
            "softmax included",
            lambda q, k: scores(q, k).softmax(-1),
            "These are weights already, each row sums to one: scores are what goes into the softmax, so leave it out.",
        ),
        mistake(
            "cosine",
            lambda q, k: nn.functional.normalize(q, dim=-1) @ nn.functional.normalize(k, dim=-1).mT,
            "You compare directions only, as a cosine does: here long vectors count for more, so divide by √d_k "
            "and by nothing that depends on the numbers.",
        ),
        mistake(
            "transpose(0, 1)",
            lambda q, k: q @ k.transpose(0, 1) / q.shape[-1] ** 0.5,
            "`transpose(0, 1)` turns a single table, but with a batch it swaps batch and time: "
            "count axes from the end, `transpose(-2, -1)`.",
        ),
        mistake(
            "transpose(1, 2)",
            lambda q, k: q @ k.transpose(1, 2) / q.shape[-1] ** 0.5,
            "`transpose(1, 2)` knows (batch, time, d_k) only and fails without a batch or with heads: "
            "count axes from the end, `transpose(-2, -1)`.",
        ),
    ]


# ---- attend ----


def hide(s, mask):
    """Scores under a mask of either kind."""
    if mask is None:
        return s
    return s.masked_fill(~mask, -INF) if mask.dtype == torch.bool else s + mask


def attention_with(score=scores, hide=hide, weigh=lambda s: s.softmax(-1), after=lambda w, mask: w):
    """Attention with one of its steps exchanged."""

    def attend(q, k, v, mask=None):
        weights = after(weigh(hide(score(q, k), mask)), mask)
        return weights @ v, weights

    return attend


def _boolean(hide_boolean):
    """A wrong way with boolean masks only."""
    return lambda s, mask: hide_boolean(s, mask) if mask is not None and mask.dtype == torch.bool else hide(s, mask)


def zeroed(weights, mask):
    if mask is None:
        return weights
    return weights.masked_fill(~mask if mask.dtype == torch.bool else mask == -INF, 0)


def _exp_by_hand(s):
    return s.exp() / s.exp().sum(-1, keepdim=True)


def _bare_weights(q, k, v, mask=None):
    return attention.attend(q, k, v, mask)[0], scores(q, k).softmax(-1)


@exercise("attention.attend", points=3, minutes=15, difficulty=2)
class Attend:
    """Attention written out: softmax of the masked scores over the keys, then that mix of the values.

    The mask is None, boolean (True: may look) or additive (0 or −inf) and broadcasts to the scores; every query sees
    at least one key.
    """

    signature = (
        "attend(q (…, Tq, d_k), k (…, Tk, d_k), v (…, Tk, d_v), mask=None)\n"
        "    -> (output (…, Tq, d_v), weights (…, Tq, Tk))"
    )
    reference = attention.attend
    shortcuts = ["scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward"]
    why = "Four lines, and every Transformer is made of them; in `weights` you can read who looked at whom."
    hints = [
        "Four steps: scores, mask, softmax, mix of the values. Which axis of the scores are the keys?",
        "A hidden key needs a score of −inf before the softmax. Boolean: `masked_fill`; additive: it brings its own.",
        "`if mask.dtype == torch.bool: s = s.masked_fill(~mask, -math.inf)`, else `s = s + mask`; "
        "then `weights = s.softmax(-1)` and `weights @ v`.",
    ]

    def cases(rng):
        b, h, tq, tk, dk, dv = 2, 3, 5, 7, 4, 6
        q, k, v = rng.normal(b, h, tq, dk), rng.normal(b, h, tk, dk), rng.normal(b, h, tk, dv)
        # One feature that all share lifts all scores by the same amount: nothing changes, but exp alone overflows.
        high_q, high_k = rng.normal(3, dk), rng.normal(4, dk)
        high_q[:, 0], high_k[:, 0] = 50, 60
        # And scores that lie below many a "large negative number", so only −inf hides a key from them.
        low_q, low_k = rng.normal(3, dk), rng.normal(4, dk)
        low_q[:, 0], low_k[:, 0] = 400, -500
        return [
            (q, k, v, allowed(rng, b, 1, tq, tk)),
            Case((q, k, v, additive(allowed(rng, b, h, tq, tk))), dtype="float32"),
            (rng.normal(2, 5, 3), rng.normal(2, 5, 3), rng.normal(2, 5, 3), None),
            (rng.normal(1, 4), rng.normal(1, 4), rng.normal(1, 2), None),
            (high_q, high_k, rng.normal(4, 5), None),
            (low_q, low_k, rng.normal(4, 5), allowed(rng, 3, 4)),
            Case((q, k, v, additive(allowed(rng, tq, tk))), dtype="float32"),
            (rng.normal(2, 6, 4), rng.normal(2, 5, 4), rng.normal(2, 5, 3), allowed(rng, 6, 5)),
            (q, k, v, allowed(rng, b, 1, 1, tk)),
        ]

    properties = [
        holds(
            "output and weights",
            lambda a, q, k, v, mask=None: (
                (a[0].shape, a[1].shape) == ((*q.shape[:-1], v.shape[-1]), (*q.shape[:-1], k.shape[-2]))
            ),
            "Two things are due: the output (…, Tq, d_v), a mix of values for each query, and the weights (…, Tq, Tk).",
        ),
        holds(
            "hidden keys weigh nothing",
            lambda a, q, k, v, mask=None: mask is None or (a[1] * torch.isinf(hide(a[1] * 0, mask)) == 0).all(),
            "A key that the mask hides still has weight: its score must be −inf when the softmax comes.",
        ),
        holds(
            "rows sum to one",
            lambda a, q, k, v, mask=None: ((a[1].sum(-1) - 1).abs() < 1e-4).all(),
            "Each query shares out exactly one unit of attention, but the rows of your weights do not sum to one.",
        ),
        holds(
            "the output mixes the values",
            lambda a, q, k, v, mask=None: (a[0] - a[1] @ v).abs().max() < 1e-3,
            "Your weights look like weights, but the output is not their mix of the values: it is `weights @ v`.",
        ),
    ]
    mistakes = [
        mistake(
            "no scale",
            attention_with(score=lambda q, k: q @ k.mT),
            "The bare dot products go into your softmax, which saturates as d_k grows: divide them by √d_k first.",
        ),
        mistake(
            "divided by d_k",
            attention_with(score=lambda q, k: q @ k.mT / q.shape[-1]),
            "You divide the scores by d_k; their spread is √d_k, so divide by that, or all keys weigh nearly the same.",
        ),
        mistake(
            "softmax over the queries",
            attention_with(weigh=lambda s: s.softmax(-2)),
            "Your columns sum to one: queries compete for a key. It is the keys that compete for a query, "
            "so the softmax runs over the last axis.",
        ),
        mistake(
            "softmax over axis 1",
            attention_with(weigh=lambda s: s.softmax(1)),
            "Axis 1 holds the keys only if there is no batch; the keys are always the last axis: `softmax(-1)`.",
        ),
        mistake(
            "softmax over everything",
            attention_with(weigh=lambda s: s.flatten().softmax(0).view_as(s)),
            "All your weights together sum to one: each query has one unit of attention of its own, `softmax(-1)`.",
        ),
        mistake(
            "no softmax",
            attention_with(weigh=lambda s: s),
            "You mix values by bare scores, which may be negative and sum to anything: a softmax makes them weights.",
        ),
        mistake(
            "exp by hand",
            attention_with(weigh=_exp_by_hand),
            "Your exp overflows when scores are large, and inf/inf is NaN: take each row's maximum off first, "
            "or leave it to `softmax`, which does.",
        ),
        mistake(
            "mask after the softmax",
            attention_with(hide=lambda s, mask: s, after=zeroed),
            "You hide keys after the softmax, so the rest no longer sums to one: mask the scores first, "
            "and the softmax shares out everything among those who may be seen.",
        ),
        mistake(
            "boolean mask added",
            attention_with(hide=lambda s, mask: s if mask is None else s + mask),
            "You add a boolean mask: True counts as 1 there, so keys in sight gain one point and nothing is hidden. "
            "Put −inf where it is False.",
        ),
        mistake(
            "boolean mask multiplied",
            attention_with(hide=_boolean(lambda s, mask: s * mask)),
            "A hidden key scores 0 in your answer (`scores * mask` does that too), which is an ordinary score: "
            "it needs −inf.",
        ),
        mistake(
            "mask inverted",
            attention_with(hide=_boolean(lambda s, mask: s.masked_fill(mask, -INF))),
            "You hide what should be seen: True means 'may look' here, so fill −inf in where it is False, `~mask`.",
        ),
        mistake(
            "hidden where the mask is 0",
            attention_with(hide=lambda s, mask: s if mask is None else s.masked_fill(mask == 0, -INF)),
            "`mask == 0` finds what a boolean mask hides, but in an additive mask 0 is what may be seen: "
            "ask `mask.dtype` first, and add an additive mask.",
        ),
        mistake(
            "boolean masks only",
            attention_with(hide=lambda s, mask: s if mask is None else s.masked_fill(~mask, -INF)),
            "`~mask` is for booleans only: a mask of zeros and −inf is added to the scores. Ask `mask.dtype` first.",
        ),
        mistake(
            "0 · −inf",
            attention_with(hide=_boolean(lambda s, mask: s + ~mask * -INF)),
            "Zero times −inf is NaN, which spreads to the whole row: fill −inf in with `masked_fill` or `torch.where`.",
        ),
        mistake(
            "mask ignored",
            attention_with(hide=lambda s, mask: s),
            "The mask changes nothing in your answer: give hidden keys a score of −inf before the softmax.",
        ),
        mistake(
            "a number not low enough",
            attention_with(hide=_boolean(lambda s, mask: s.masked_fill(~mask, -1e4))),
            "You hide keys with a number that is only large: where all scores are lower still, it is the hidden keys "
            "that are read. Nothing is lower than −inf.",
        ),
        mistake(
            "divided by √d_v",
            lambda q, k, v, mask=None: attention_with(lambda q, k: q @ k.mT / v.shape[-1] ** 0.5)(q, k, v, mask),
            "You divide by the root of the values' length: it is queries and keys that are multiplied, so √d_k.",
        ),
        mistake(
            "scores returned",
            lambda q, k, v, mask=None: (attention.attend(q, k, v, mask)[0], hide(scores(q, k), mask)),
            "Your output is right, but you return the scores beside it: the weights are what the softmax made of them.",
        ),
        mistake(
            "weights before the mask",
            _bare_weights,
            "Your output is right, but the weights you return are those from before the mask: "
            "return the ones that made the output.",
        ),
        mistake(
            "weights first",
            lambda q, k, v, mask=None: attention.attend(q, k, v, mask)[::-1],
            "Both are right and in the wrong order: `return output, weights`.",
        ),
        mistake(
            "output only",
            lambda q, k, v, mask=None: attention.attend(q, k, v, mask)[0],
            "You return the output alone: the weights, who looked at whom, are due as well, `return output, weights`.",
        ),
        mistake(
            "weights only",
            lambda q, k, v, mask=None: attention.attend(q, k, v, mask)[1],
            "You return the weights alone: mix the values with them, and `return weights @ v, weights`.",
        ),
    ]


# ---- roles ----


def _roles(self_attention=lambda x, y: (x, x, x), cross=lambda x, y: (x, y, y), decoder=None):
    decoder = decoder or cross

    def roles(x, y):
        return {
            "self-attention over x": self_attention(x, y),
            "x attends to y": cross(x, y),
            "decoder attends to encoder": decoder(x, y),
        }

    return roles


@exercise("attention.roles", points=2, minutes=6, difficulty=1, kind="claim")
class Roles:
    """Where queries, keys and values come from: a dict of (q, k, v) under the three names that the card gives.

    Use "self-attention over x", "x attends to y" and "decoder attends to encoder" (x is the decoder's state, y the
    encoder's output), and take the tensors as they are, without projections.
    """

    signature = "roles(x: Tensor (B, Tx, D), y: Tensor (B, Ty, D)) -> dict[str, tuple[Tensor, Tensor, Tensor]]"
    reference = attention.roles
    dtypes = []
    why = "Who asks gives the number of rows, who answers gives the content: with that, no diagram can confuse you."
    hints = [
        "Whoever *attends* asks the questions, so its tensor gives the queries. Who answers?",
        "The output has as many rows as there are queries. A decoder wants one row for each of its own tokens.",
        "Keys say what a token offers and values what it hands over: both come from the one who is looked at.",
    ]

    def cases(rng):
        return [
            (rng.normal(2, 5, 3), rng.normal(2, 7, 3)),
            (rng.normal(1, 1, 2), rng.normal(1, 4, 2)),
            (rng.normal(2, 4, 3), rng.normal(2, 4, 3)),
        ]

    mistakes = [
        mistake(
            "who attends gives the answers",
            _roles(cross=lambda x, y: (y, x, x)),
            "You have it the other way round: who attends asks. 'x attends to y' takes queries from x, and the output "
            "has a row for each token of x.",
        ),
        mistake(
            "the encoder asks",
            _roles(decoder=lambda x, y: (y, x, x)),
            "In your third line the encoder asks the decoder. It is the decoder (x) that needs something, "
            "one row for each of its own tokens, and the encoder (y) that answers.",
        ),
        mistake(
            "y stands for the asker in the second line",
            _roles(cross=lambda x, y: (y, x, x), decoder=lambda x, y: (x, y, y)),
            "Your decoder is right, and 'x attends to y' is the same picture: x asks, so queries from x, "
            "keys and values from y.",
        ),
        mistake(
            "values from the asker",
            _roles(cross=lambda x, y: (x, y, x)),
            "Your values come from the one who asks. Weights belong to keys, a weight for each token of y, "
            "so the values that they weigh are tokens of y too.",
        ),
        mistake(
            "keys from the asker",
            _roles(cross=lambda x, y: (x, x, y)),
            "Your keys come from the one who asks: a query of x is compared with what y offers, so keys come from y.",
        ),
        mistake(
            "queries and keys from the other",
            _roles(cross=lambda x, y: (y, y, x)),
            "Only your values come from x: it is the queries that do, and keys and values come from the other.",
        ),
        mistake(
            "self-attention everywhere",
            _roles(cross=lambda x, y: (x, x, x)),
            "In your answer x only ever looks at itself: to attend to y, its queries must meet keys and values of y.",
        ),
        mistake(
            "self-attention over y",
            _roles(self_attention=lambda x, y: (y, y, y)),
            "Self-attention over x never sees y: queries, keys and values are all x.",
        ),
        mistake(
            "self-attention looks at y",
            _roles(self_attention=lambda x, y: (x, y, y)),
            "In self-attention the asker and the answerer are the same tokens: queries, keys and values are all x.",
        ),
        mistake(
            "the decoder looks at itself",
            _roles(decoder=lambda x, y: (x, x, x)),
            "Your decoder looks at itself, which is its other attention layer: here it reads the encoder, "
            "keys and values from y.",
        ),
        mistake(
            "both together answer",
            _roles(cross=lambda x, y: (x, torch.cat([x, y], 1), torch.cat([x, y], 1))),
            "You let x and y answer together, one after the other: 'x attends to y' means that y alone answers.",
        ),
        mistake(
            "keys first",
            _roles(cross=lambda x, y: (y, x, y)),
            "Order matters: each triple is (queries, keys, values), and yours begins with the keys.",
        ),
    ]


# ---- additive scores ----


def _additive(pair=lambda a, b: a[..., :, None, :] + b[..., None, :, :], bend=torch.tanh, q_first=True):
    """Additive scores with one of their steps exchanged."""

    def additive_scores(q, k, w_q, w_k, v):
        a, b = (q @ w_q, k @ w_k) if q_first else (q @ w_k, k @ w_q)
        return bend(pair(a, b)) @ v

    return additive_scores


@exercise("attention.additive_scores", points=3, minutes=15, difficulty=3)
class AdditiveScores:
    """Scores as Bahdanau et al. (2015, appendix A.1.2) compute them: vᵀ tanh(q w_q + k w_k) for each query and key."""

    signature = (
        "additive_scores(q (…, Tq, d_k), k (…, Tk, d_k), w_q (d_k, d_hidden), w_k (d_k, d_hidden), v (d_hidden,))\n"
        "    -> Tensor (…, Tq, Tk)"
    )
    reference = attention.additive_scores
    why = "It needs Tq · Tk · d_hidden numbers on the way where a dot product needs Tq · Tk: that, not its slope, "
    why += "is why the dot product won."
    hints = [
        "Project first, queries and keys once each. Then every query must meet every key: what shape has that?",
        "`[..., :, None, :]` and `[..., None, :, :]` put the queries on one axis and the keys on another: "
        "their sum is (…, Tq, Tk, d_hidden).",
        "`pairs.tanh() @ v` takes the last axis away.",
    ]

    def cases(rng):
        def case(lead, tq, tk, d, hidden):
            w_q, w_k = rng.normal(d, hidden), rng.normal(d, hidden)
            return rng.normal(*lead, tq, d), rng.normal(*lead, tk, d), w_q, w_k, rng.normal(hidden)

        return [
            case((2,), 5, 7, 4, 6),
            case((), 3, 3, 2, 5),
            case((), 1, 4, 3, 1),
            case((2,), 4, 4, 5, 5),
            case((2, 3), 5, 3, 4, 7),
        ]

    properties = [
        holds(
            "a row for each query",
            lambda s, q, k, *rest: s.shape == (*q.shape[:-1], k.shape[-2]),
            "There is one score for each query and each key, a row for each query: (…, Tq, Tk).",
        ),
        holds(
            "bounded",
            lambda s, q, k, w_q, w_k, v: (s.abs() <= v.abs().sum() * 1.001).all(),
            "tanh lies between −1 and 1, so no score can be larger than the sum of |v|, but one of yours is.",
        ),
    ]
    mistakes = [
        mistake(
            "no tanh",
            _additive(bend=lambda x: x),
            "Without tanh the score falls apart into one part for the query and one for the key, and the softmax "
            "cancels the query's: every query would look at the same keys. Bend the sum before v.",
        ),
        mistake(
            "queries and keys swapped",
            _additive(pair=lambda a, b: a[..., None, :, :] + b[..., :, None, :]),
            "Your table lies on its side: the queries' axis comes first, `[..., :, None, :]` for them and "
            "`[..., None, :, :]` for the keys.",
        ),
        mistake(
            "position by position",
            _additive(pair=lambda a, b: a + b),
            "You add query i to key i alone. Every query meets every key: give the two an axis each with `None`, "
            "so that their sum has (…, Tq, Tk, d_hidden).",
        ),
        mistake(
            "axes counted from the front",
            _additive(pair=lambda a, b: a.unsqueeze(2) + b.unsqueeze(1)),
            "`unsqueeze(2)` and `unsqueeze(1)` fit one batch axis only: count from the end, `[..., :, None, :]` for "
            "the queries and `[..., None, :, :]` for the keys.",
        ),
        mistake(
            "tanh before the sum",
            _additive(pair=lambda a, b: a.tanh()[..., :, None, :] + b.tanh()[..., None, :, :], bend=lambda x: x),
            "You bend query and key apart and then add: the sum is linear in each, so the query's part cancels "
            "in the softmax. Add first, then tanh.",
        ),
        mistake(
            "tanh after v",
            lambda q, k, w_q, w_k, v: _additive(bend=lambda x: x)(q, k, w_q, w_k, v).tanh(),
            "You apply v first and tanh last, so all features are added up before anything bends: "
            "tanh acts on each of the d_hidden features, then v weighs them.",
        ),
        mistake(
            "weights swapped",
            _additive(q_first=False),
            "You project queries with w_k and keys with w_q: w_q is the queries' own.",
        ),
        mistake(
            "one projection for both",
            lambda q, k, w_q, w_k, v: additive_scores(q, k, w_q, w_q, v),
            "Your keys go through w_q, like the queries: w_k is theirs.",
        ),
        mistake(
            "product in place of the sum",
            _additive(pair=lambda a, b: a[..., :, None, :] * b[..., None, :, :]),
            "You multiply query and key feature by feature, which is a kind of dot product: additive scores add them.",
        ),
        mistake(
            "sigmoid",
            _additive(bend=torch.sigmoid),
            "You bend with a sigmoid: tanh is asked for, which is centred at 0.",
        ),
        mistake(
            "relu",
            _additive(bend=torch.relu),
            "You bend with a ReLU: tanh is asked for, which keeps both signs and stays between −1 and 1.",
        ),
        mistake(
            "scaled",
            lambda q, k, w_q, w_k, v: additive_scores(q, k, w_q, w_k, v) / q.shape[-1] ** 0.5,
            "You divide by √d_k, which is for dot products: tanh keeps these scores in bounds already.",
        ),
        mistake(
            "v left out",
            lambda q, k, w_q, w_k, v: additive_scores(q, k, w_q, w_k, torch.ones_like(v)),
            "You add the d_hidden features up as they are: v says how much each one counts, `@ v`.",
        ),
        mistake(
            "features kept",
            lambda q, k, w_q, w_k, v: ((q @ w_q)[..., :, None, :] + (k @ w_k)[..., None, :, :]).tanh() * v,
            "You weigh the features by v but do not add them up: `@ v` in place of `* v` leaves one score a pair.",
        ),
        mistake(
            "softmax included",
            lambda q, k, w_q, w_k, v: additive_scores(q, k, w_q, w_k, v).softmax(-1),
            "These are weights already, each row sums to one: the scores are what goes into the softmax.",
        ),
    ]


# ---- in words ----


@exercise("attention.why", points=5, minutes=20, difficulty=2, kind="written")
class Why:
    """In your own words, two or three sentences each, with a number from this notebook wherever there is one."""

    why = "A reason that you can say in two sentences is one that you can check."
    rubric = """One point for each part; half a point where the claim is right and no reason or measurement is given.
1. The spread of q·k grows like √d_k (measured by `score_std`); large scores saturate the softmax, and its gradient
   vanishes. Dividing by d_k makes scores too small and the weights nearly uniform. Not enough: "the numbers get large"
   without the softmax. Wrong: that the scale is d_k.
2. Self-attention: queries, keys and values from the same tokens. Decoder to encoder: queries from the decoder, keys and
   values from the encoder, so the output has the decoder's length. Both reach every position, unless a mask says no.
   Wrong: that self-attention looks at a neighbourhood; "attention of y over x" without saying who asks.
3. Hardware: one matrix product, and n² numbers on the way where additive scores need n²·d_hidden (`dot_cost`,
   `additive_cost`). Wrong: that additive scores are not differentiable or learn worse. They do better than *unscaled*
   dot products at large d_k, and the scale closes that gap (Vaswani et al. 2017, section 3.2.1).
4. The same FLOPs whatever the number of heads (`head_flops`), and n_heads · n² weights for each text, so no memory is
   saved either. They bring several places to look at in one layer. Wrong: that small heads are cheaper.
5. Two patterns with different targets for the same query, such as the token before and the first token
   (`two_patterns`). One softmax has one set of weights for each query, so a single head blurs the two."""
