"""02_masks: who may look at whom."""

from functools import reduce
from operator import add, and_, or_

import torch

from autograder.ask import Case, Probe
from autograder.exercise import Draws, exercise, holds, mistake
from helpers import masks
from helpers.attention import attend

INF = torch.inf


def _where(rule):
    """An additive mask made from `rule(i, j)`, which says where query i may see key j."""

    def made(n, *more):
        return masks.additive(rule(torch.arange(n)[:, None], torch.arange(n), *more))

    return made


def _forms(right):
    """The right additive mask in forms that are not asked for."""

    def hidden(*sizes):
        return (right(*sizes) != 0).to(torch.get_default_dtype())

    return [
        mistake(
            "keep and hide as 1 and 0",
            lambda *sizes: 1 - hidden(*sizes),
            "An additive mask is added to the scores, so 0 must mean 'may look' and −inf 'may not'.",
        ),
        mistake(
            "hide as 1",
            hidden,
            "You mark what is hidden with 1, but adding 1 to a score makes it larger: mark it with −inf.",
        ),
        mistake(
            "boolean",
            lambda *sizes: right(*sizes) == 0,
            "Your boolean mask says the right thing, but an additive one is asked for: 0 where True, −inf elsewhere.",
        ),
        mistake(
            "boolean, True is hidden",
            lambda *sizes: right(*sizes) != 0,
            "You found what to hide, as booleans, but an additive mask is asked for: "
            "`torch.zeros(n, n).masked_fill(hidden, float('-inf'))`.",
        ),
        mistake(
            "0 · −inf",
            lambda *sizes: hidden(*sizes) * -INF,
            "Zero times −inf is NaN, so what may be seen is NaN: fill −inf in with `masked_fill` or `torch.where`.",
        ),
        mistake(
            "a large number",
            lambda *sizes: right(*sizes).clamp(min=-1e9),
            "−1e9 is not −inf: it overflows in half precision, and a row with nothing else to see would read it all.",
        ),
        mistake(
            "+inf",
            lambda *sizes: -right(*sizes) + 0,
            "You add +inf, which makes what is hidden irresistible, and the softmax NaN: the sign is minus.",
        ),
        mistake(
            "for a batch",
            lambda *sizes: right(*sizes)[None, None],
            "You added axes for batch and heads: (n, n) is asked for, and broadcasting adds them when needed.",
        ),
        mistake(
            "dtype written in",
            lambda *sizes: right(*sizes).to(torch.float32),
            "Your mask is float32 whatever the model computes in: leave `dtype` out, so that torch's default is used.",
        ),
    ]


TWO_VALUES = holds(
    "only 0 and −inf",
    lambda m, n, *more: ((m == 0) | (m == -INF)).all(),
    "An additive mask holds exactly two values: 0 where one may look and −inf where one may not.",
)
SQUARE = holds(
    "n × n",
    lambda m, n, *more: m.shape == (n, n),
    "The mask has a row for each of the n queries and a column for each of the n keys: its shape is (n, n).",
)
DIAGONAL = holds(
    "the diagonal is 0",
    lambda m, n, *more: (m.diagonal() == 0).all(),
    "A token may always see itself: the diagonal must be 0, or row 0 has nothing left to see.",
)
NO_FUTURE = holds(
    "the future is hidden",
    lambda m, n, *more: (m[torch.ones(n, n).triu(1) == 1] == -INF).all(),
    "Some token sees a later one: every entry above the diagonal, j > i, must be −inf.",
)


@exercise("masks.causal", points=2, minutes=8, difficulty=2)
class Causal:
    """Additive mask (n, n): 0 where query i may see key j ≤ i, −inf where j > i."""

    signature = "causal(n: int) -> Tensor (n, n)"
    reference = masks.causal
    book = ["helpers.masks.sliding_window", "helpers.masks.prefix"]
    shortcuts = ["generate_square_subsequent_mask"]
    why = "With this triangle one pass over n tokens is n honest predictions, so a whole text trains at once."
    hints = [
        "Rows are queries, columns are keys. Which entries lie in the future of row i?",
        "`torch.ones(n, n, dtype=torch.bool).triu(1)` is True strictly above the diagonal.",
        "`torch.zeros(n, n).masked_fill(future, float('-inf'))`",
    ]

    def cases(rng):
        return [(1,), (2,), (rng.integer(65, 80),), (rng.integer(5, 12),)]

    properties = [
        SQUARE,
        TWO_VALUES,
        DIAGONAL,
        NO_FUTURE,
        holds(
            "the past is open",
            lambda m, n: (m.tril() == 0).all(),
            "Some token does not see all of its past: every entry below the diagonal, j < i, must be 0.",
        ),
    ]
    mistakes = [
        mistake(
            "transposed",
            lambda n: masks.causal(n).T,
            "Your mask hides the past and shows the future. Rows are queries, columns are keys: hide j > i.",
        ),
        mistake(
            "diagonal blocked",
            _where(lambda i, j: j < i),
            "Your mask hides each token from itself, so row 0 has nothing left to see: keep the diagonal, j = i, at 0.",
        ),
        mistake(
            "one step too far",
            _where(lambda i, j: j <= i + 1),
            "Each token sees the next one, which is the very token it is to predict: hide j = i + 1 too, `triu(1)`.",
        ),
        mistake(
            "inverted",
            _where(lambda i, j: j > i),
            "Your −inf and 0 have changed places: −inf belongs on the future, j > i, and 0 on the past and the "
            "token itself.",
        ),
        mistake(
            "fixed size",
            lambda n: masks.causal(5),
            "Your mask has one size whatever n is: build it from n.",
        ),
        mistake(
            "sides of a larger mask",
            lambda n: masks.causal(10)[:n, :n],
            "Your mask is cut from one of a fixed size, so a longer text has none: build it from n.",
        ),
        *_forms(masks.causal),
    ]


@exercise("masks.padding", points=1, minutes=5, difficulty=2)
class Padding:
    """For ids (B, T) a boolean mask (B, 1, 1, T): True at real tokens, False at pads."""

    signature = "padding(ids: Tensor (B, T), pad_id: int) -> bool Tensor (B, 1, 1, T)"
    reference = masks.padding
    why = "Now a sentence gets the same answer alone and in a batch, which is what padding must never change."
    hints = [
        "A comparison of a tensor with a number is a boolean tensor.",
        "The mask has to line up with scores (B, H, Tq, Tk): which of those axes is the keys'?",
        "Axes of length 1 come from indexing with None: `real[:, None, None, :]`.",
    ]

    def cases(rng):
        def ids(pad, *lengths, left=False, size=None):
            rows = rng.integers(0, 8, len(lengths), size or max(lengths))
            rows = rows + (rows >= pad)  # no pad among the real tokens, ids on both sides of it
            back = torch.arange(rows.shape[1]).expand(len(lengths), -1)
            back = back.flip(1) if left else back
            return rows.masked_fill(back >= torch.tensor(lengths)[:, None], pad), pad

        return [
            ids(0, 1),
            ids(4, 5, 2, 3),
            ids(0, 7, 0),
            ids(3, 2, 7, 4, 1, left=True),
            ids(7, 5, 5, 5),
            ids(5, 3, 6, 4, size=7),
        ]

    properties = [
        holds(
            "shape",
            lambda m, ids, pad: m.shape == (ids.shape[0], 1, 1, ids.shape[1]),
            "The mask must broadcast over heads and queries: its shape is (B, 1, 1, T), T being the keys.",
        ),
        holds(
            "boolean",
            lambda m, ids, pad: m.dtype == torch.bool,
            "A boolean mask is asked for: True at real tokens, False at pads.",
        ),
    ]
    mistakes = [
        mistake(
            "inverted",
            lambda ids, pad: (ids == pad)[:, None, None, :],
            "Your mask is True at the pads, and would let everybody read those alone: True means 'may look' here.",
        ),
        mistake(
            "queries masked",
            lambda ids, pad: (ids != pad)[:, None, :, None],
            "You hide pads as queries: whole rows are closed, and the pads are still read. "
            "Keys are the last axis: (B, 1, 1, T).",
        ),
        mistake(
            "queries and keys masked",
            lambda ids, pad: (ids != pad)[:, None, None, :] & (ids != pad)[:, None, :, None],
            "You close the pads' rows too, and so leave them with nothing to see: hide pads as keys only, (B, 1, "
            "1, T).",
        ),
        mistake(
            "no axes",
            lambda ids, pad: ids != pad,
            "The values are right, but (B, T) meets the scores (B, H, T, T) from the right, "
            "as if B were the queries: make it (B, 1, 1, T).",
        ),
        mistake(
            "one axis",
            lambda ids, pad: (ids != pad)[:, None, :],
            "With one new axis the batch stands where the heads are: two are needed, (B, 1, 1, T).",
        ),
        mistake(
            "batch and heads swapped",
            lambda ids, pad: (ids != pad)[None, :, None, :],
            "Your batch stands on the heads' axis: the first axis is the batch's, (B, 1, 1, T).",
        ),
        mistake(
            "axes at the end",
            lambda ids, pad: (ids != pad)[:, :, None, None],
            "Your time stands on the heads' axis: the keys are the last axis, (B, 1, 1, T).",
        ),
        mistake(
            "spread out",
            lambda ids, pad: (ids != pad)[:, None, None, :].repeat(1, 1, ids.shape[1], 1),
            "You wrote the same row out for each query: an axis of length 1 says that by broadcasting, (B, 1, 1, T).",
        ),
        mistake(
            "pad is 0",
            lambda ids, pad: (ids != 0)[:, None, None, :],
            "You look for 0, whatever the padding token is: compare with `pad_id`.",
        ),
        mistake(
            "larger than the pad",
            lambda ids, pad: (ids > pad)[:, None, None, :],
            "You take only ids above `pad_id` for real: those below are tokens too, so compare with `!=`.",
        ),
        mistake(
            "numbers",
            lambda ids, pad: (ids != pad)[:, None, None, :].long(),
            "You give 0 and 1 as numbers, which attention would add to the scores: keep the comparison's booleans.",
        ),
        mistake(
            "additive",
            lambda ids, pad: masks.additive((ids != pad)[:, None, None, :]),
            "Your additive mask says the right thing, but a boolean one is asked for: the comparison itself is enough.",
        ),
        mistake(
            "real tokens counted",
            lambda ids, pad: (torch.arange(ids.shape[1], device=ids.device) < (ids != pad).sum(1, keepdim=True))[
                :, None, None, :
            ],
            "You count the real tokens and open as many from the left, but pads may stand on the left: "
            "compare each id with `pad_id`.",
        ),
        mistake(
            "up to the first pad",
            lambda ids, pad: ((ids == pad).cumsum(1) == 0)[:, None, None, :],
            "You close everything from the first pad on, but pads may stand on the left, before the real tokens: "
            "each id is compared by itself.",
        ),
        mistake(
            "pads at the end only",
            lambda ids, pad: ((ids != pad).flip(1).cumsum(1) > 0).flip(1)[:, None, None, :],
            "You look for pads at the end only: they may stand on the left as well, so compare each id with `pad_id`.",
        ),
        mistake(
            "up to the first pad of any",
            lambda ids, pad: (ids != pad).all(0, keepdim=True).expand(ids.shape)[:, None, None, :],
            "You use one mask for all sentences: each row of the batch has pads of its own.",
        ),
    ]


def _join(both, mixed):
    """Combine two by two: `both` for booleans, `mixed` where one of them is additive."""

    def combined(*given):
        def step(a, b):
            return (both if a.dtype == b.dtype == torch.bool else mixed)(a, b)

        return reduce(step, given)

    return combined


def _dtype(*given):
    return next((m.dtype for m in given if m.dtype != torch.bool), None)


def _as_additive(mask, dtype=None):
    return masks.additive(mask, dtype) if mask.dtype == torch.bool else mask


def _added(a, b):
    return _as_additive(a, _dtype(a, b)) + _as_additive(b, _dtype(a, b))


def _either(a, b):
    return masks.additive(masks.boolean(a) | masks.boolean(b), _dtype(a, b))


def _inverted_when_mixed(a, b):
    return _added(*[~m if m.dtype == torch.bool else m for m in (a, b)])


@exercise("masks.combine", points=2, minutes=12, difficulty=3, gradient=False)
class Combine:
    """One mask that allows what all of them allow, broadcast: boolean if all are boolean, otherwise additive."""

    signature = "combine(*masks: Tensor) -> Tensor, of the shape they broadcast to"
    reference = masks.combine
    why = "A decoder's own sentence is causal and padded at once, and every further rule is one more mask here."
    hints = [
        "Two booleans: a key may be read where both say True. Two additive masks: what is 0 + −inf?",
        "If one of them is additive, turn the boolean ones into additive ones first, in its dtype: True is 0, "
        "False −inf.",
        "`&` for booleans, `+` for additive masks, in a loop over all of them; broadcasting sees to the shapes.",
    ]

    def cases(rng):
        def boolean(*shape):
            return rng.coins(*shape, p=0.7)

        def additive(*shape):
            return masks.additive(rng.coins(*shape, p=0.7), torch.float64)

        return [
            (boolean(3, 1, 5, 7),),
            (additive(5, 7),),
            (boolean(5, 7), boolean(3, 1, 1, 7)),
            (additive(5, 7), additive(3, 1, 5, 7)),
            (boolean(3, 1, 1, 7), boolean(5, 7), boolean(2, 1, 1)),
            (boolean(5, 7), boolean(5, 7), additive(3, 1, 5, 7)),
            (additive(5, 7), boolean(3, 2, 1, 7), boolean(5, 1), additive(5, 7)),
        ]

    properties = [
        holds(
            "boolean if all are",
            lambda m, *given: (m.dtype == torch.bool) == all(x.dtype == torch.bool for x in given),
            "The result is boolean if all masks are boolean, and additive if at least one is.",
        ),
        holds(
            "0 and −inf",
            lambda m, *given: m.dtype == torch.bool or ((m == 0) | (m == -INF)).all(),
            "An additive mask holds 0 and −inf only: look at what your boolean masks were turned into.",
        ),
    ]
    mistakes = [
        mistake(
            "or for and",
            _join(or_, _either),
            "You allow what *any* mask allows, so padding is back as soon as it lies in the past: all must agree, `&`.",
        ),
        mistake(
            "or for and, of booleans only",
            lambda *given: reduce(or_, given),
            "`|` allows what *any* mask allows, and knows booleans only: all must agree, so `&` among booleans, "
            "and additive masks are added.",
        ),
        mistake(
            "booleans only",
            lambda *given: reduce(and_, given),
            "`&` knows booleans only: where a mask is additive, make the boolean ones additive too (0 and −inf), "
            "and add them all.",
        ),
        mistake(
            "added with +",
            lambda *given: reduce(add, given),
            "`+` on booleans is 'or', and True + 0 is 1: use `&` among booleans, "
            "and turn them into 0 and −inf before adding them to an additive mask.",
        ),
        mistake(
            "counted",
            lambda *given: sum(given),
            "You count how many masks allow a key: True + True is 2. All must agree: `&` among booleans.",
        ),
        mistake(
            "multiplied",
            lambda *given: reduce(torch.mul, given),
            "Multiplying is 'and' for booleans, but 0 · −inf is NaN: additive masks are added.",
        ),
        mistake(
            "boolean added to additive",
            _join(torch.logical_and, add),
            "Your booleans are added to the scores as 0 and 1 when a mask is additive: turn them into −inf and 0 "
            "first.",
        ),
        mistake(
            "inverted when mixed",
            _join(torch.logical_and, _inverted_when_mixed),
            "Turning booleans into additive masks you put −inf where True stands: True means 'may look', so it "
            "becomes 0.",
        ),
        mistake(
            "always additive",
            lambda *given: reduce(add, [_as_additive(m, _dtype(*given) or torch.get_default_dtype()) for m in given]),
            "Right, but always additive: if all masks are boolean, the result is to be boolean as well.",
        ),
        mistake(
            "always boolean",
            lambda *given: reduce(torch.logical_and, [masks.boolean(m) for m in given]),
            "Right, but always boolean: as soon as one mask is additive, the result is to be additive.",
        ),
        mistake(
            "additive as it looks",
            lambda *given: reduce(torch.logical_and, given),
            "In an additive mask 0 is 'may look', but as a boolean 0 is False: "
            "do not send additive masks through `&` or `logical_and`.",
        ),
        mistake(
            "the first two only",
            lambda *given: masks.combine(*given[:2]),
            "Only the first two masks count: there may be any number, so loop over all of them.",
        ),
        mistake(
            "the last mask only",
            lambda *given: masks.combine(given[-1]),
            "Only the last mask is left: each turn of your loop must build on the result so far.",
        ),
        mistake(
            "float32 booleans",
            lambda *given: (
                reduce(add, [_as_additive(m, torch.float32).float() for m in given])
                if _dtype(*given)
                else masks.combine(*given)
            ),
            "Your result is float32 whatever the additive masks are: make the new parts in the dtype of those given.",
        ),
        mistake(
            "large numbers",
            _join(torch.logical_and, lambda a, b: torch.clamp(_added(a, b), min=-1e9)),
            "−1e9 is not −inf: an additive mask blocks with −inf, exactly.",
        ),
    ]


@exercise("masks.to_torch", points=1, minutes=5, difficulty=2, gradient=False)
class ToTorch:
    """`mask`, boolean (True: may look) or additive, as `nn.MultiheadAttention` wants it; the shape stays."""

    signature = "to_torch(mask: Tensor) -> Tensor, of the same shape and dtype"
    reference = masks.to_torch
    why = "The two conventions differ in one sign, nothing warns of it, and a loss falls under the wrong one as well."
    hints = [
        "Look up `attn_mask` in the documentation of `nn.MultiheadAttention`: what does True mean there?",
        "An additive mask means the same everywhere.",
        "`mask.dtype == torch.bool` tells which one you have, and `~mask` is its opposite.",
    ]

    def cases(rng):
        allowed = rng.coins(3, 1, 5, 7)
        allowed[0, 0, 0, :2] = torch.tensor([True, False])
        return [
            (torch.ones(1, 1, dtype=torch.bool),),
            (torch.zeros(1, 1),),
            (rng.coins(5, 7),),
            (rng.coins(2, 1, 1, 7),),
            (masks.additive(allowed[0, 0], torch.float64),),
            (masks.additive(allowed, torch.float64),),
        ]

    properties = [
        holds(
            "same shape",
            lambda m, mask: m.shape == mask.shape,
            "The mask keeps its shape: only what True means changes.",
        ),
        holds(
            "same kind",
            lambda m, mask: m.dtype == mask.dtype,
            "A boolean mask stays boolean, and an additive one additive, in its dtype.",
        ),
    ]
    mistakes = [
        mistake(
            "passed on unchanged",
            lambda mask: mask.clone(),
            "You pass booleans on as they are, but in `nn.MultiheadAttention` True means *hidden*: turn them "
            "round, `~mask`.",
        ),
        mistake(
            "everything inverted",
            lambda mask: ~mask,
            "`~` works on booleans only: an additive mask means the same everywhere, so hand it on as it is.",
        ),
        mistake(
            "one minus the mask",
            lambda mask: 1 - mask,
            "Torch refuses to subtract booleans: the opposite of a boolean mask is `~mask`, and additive ones stay.",
        ),
        mistake(
            "additive inverted",
            lambda mask: ~mask if mask.dtype == torch.bool else masks.additive(mask == -INF, mask.dtype),
            "Booleans are right, but you turned the additive mask round too: it means the same everywhere.",
        ),
        mistake(
            "additive negated",
            lambda mask: ~mask if mask.dtype == torch.bool else -mask,
            "Booleans are right, but −(−inf) is +inf: an additive mask means the same everywhere, hand it on as it is.",
        ),
        mistake(
            "always additive",
            lambda mask: masks.additive(mask) if mask.dtype == torch.bool else mask.clone(),
            "`nn.MultiheadAttention` would understand it, but a boolean mask is to stay boolean: True where hidden.",
        ),
        mistake(
            "always boolean",
            lambda mask: ~masks.boolean(mask),
            "`nn.MultiheadAttention` would understand it, but an additive mask is to be handed on as it is.",
        ),
        mistake(
            "not equal to zero",
            lambda mask: mask != 0,
            "Your comparison reads both kinds alike: booleans must be turned round, and an additive mask left alone.",
        ),
        mistake(
            "not a number",
            lambda mask: mask == 0,
            "Booleans are right, but in an additive mask 0 means 'may look': leave that one as it is.",
        ),
        mistake(
            "only two axes",
            lambda mask: masks.to_torch(mask)[(0,) * (mask.dim() - 2)],
            "You keep one table of queries and keys: the mask must keep all its axes, each sentence has its own.",
        ),
        mistake(
            "numbers",
            lambda mask: (~mask).long() if mask.dtype == torch.bool else mask.clone(),
            "Your 0 and 1 are numbers, and `nn.MultiheadAttention` would refuse them: keep booleans, `~mask`.",
        ),
    ]


def _hidden(scores, mask, with_=-INF):
    return scores.masked_fill(~mask, with_)


def _exponentials(scores, mask):
    parts = torch.where(mask, scores.exp(), 0)
    whole = parts.sum(-1, keepdim=True)
    return parts / torch.where(whole == 0, 1, whole)


@exercise("masks.masked_softmax", points=3, minutes=20, difficulty=4)
class MaskedSoftmax:
    """Softmax over keys under a boolean mask that broadcasts; a row with nothing to see gives zeros, gradient too."""

    signature = "masked_softmax(scores: Tensor (…, Tq, Tk), mask: bool Tensor) -> Tensor (…, Tq, Tk)"
    reference = masks.masked_softmax
    dtypes = ["float32", "float16"]
    why = "One empty sentence in a batch can no longer turn every weight of the model into NaN."
    hints = [
        "First without blind rows: what must a score be for its weight to be exactly 0?",
        "For a row with nothing to see: let its softmax run over harmless numbers, and empty it afterwards.",
        "`blind = ~mask.any(-1, keepdim=True)`; fill −inf where `~(mask | blind)`, softmax, then "
        "`masked_fill(blind, 0)`.",
    ]

    def cases(rng):
        def mask(*shape):
            made = rng.coins(*shape, p=0.6)
            made[..., 0] |= ~made.any(-1)
            made[..., -1] &= ~made.all(-1)
            return made

        one_blind = mask(2, 1, 5, 7)
        one_blind[1, 0, 3] = False
        sentences = mask(3, 1, 1, 7)
        sentences[1] = False
        last = mask(5, 7)
        last[2] = False
        # What may be seen scores lower than many a "large negative number", and what is hidden scores high.
        sparse = mask(4, 6)
        low = torch.where(sparse, -1e5, 50) + rng.normal(4, 6)
        return [
            (rng.normal(1, 1), torch.ones(1, 1, dtype=torch.bool)),
            (rng.normal(5, 7), mask(5, 7)),
            (rng.normal(3, 4), torch.ones(3, 4, dtype=torch.bool)),
            (1000 + rng.normal(2, 3, 5, 7), mask(2, 1, 5, 7)),
            (low, sparse),
            (rng.normal(2, 3, 5, 7), one_blind),
            (rng.normal(3, 2, 5, 7), sentences),
            (rng.normal(2, 2, 3), torch.zeros(2, 3, dtype=torch.bool)),
            (2 * rng.normal(2, 3, 5, 7), last),
        ]

    properties = [
        holds(
            "no NaN",
            lambda w, scores, mask: not w.isnan().any(),
            "There is NaN in your weights: 0/0 in a row with nothing to see, which must be all zeros, or inf/inf where "
            "a large score went through a bare `exp`.",
        ),
        holds(
            "hidden keys get nothing",
            lambda w, scores, mask: (w.masked_select(~mask) == 0).all(),
            "A key that is hidden must get a weight of exactly 0: give it a score of −inf before the softmax.",
        ),
        holds(
            "rows sum to one",
            lambda w, scores, mask: torch.allclose(
                w.double().sum(-1),
                mask.expand(w.shape).any(-1).double(),
                atol=0.05 if w.dtype == torch.float16 else 1e-3,
            ),
            "The weights of a row that sees something sum to 1 over its keys, the last axis.",
        ),
    ]
    mistakes = [
        mistake(
            "NaN",
            lambda s, m: _hidden(s, m).softmax(-1),
            "A row with nothing to see is NaN: the softmax of −inf alone is 0/0. Such a row is to give zeros.",
        ),
        mistake(
            "NaN in the gradient",
            lambda s, m: (s + masks.additive(m, s.dtype)).softmax(-1).nan_to_num(0),
            "The weights are right, but the gradient of a row with nothing to see is NaN: it flows back through 0/0. "
            "Keep such a row finite *before* the softmax, and empty it after.",
        ),
        mistake(
            "zeroed after the softmax",
            lambda s, m: s.softmax(-1) * m,
            "You take weights away after the softmax, so rows no longer sum to 1: hide the scores before it.",
        ),
        mistake(
            "a large number",
            lambda s, m: _hidden(s, m, torch.finfo(s.dtype).min).softmax(-1),
            "A row with nothing to see reads all the hidden keys in equal parts: "
            "a large negative score is only small beside others. Such a row is to give zeros.",
        ),
        mistake(
            "a number not low enough",
            lambda s, m: _hidden(s, m, -1e4).softmax(-1),
            "−1e4 fails twice: where the scores in sight are lower still, hidden keys are read instead, and a row with "
            "nothing to see reads them all. Fill with −inf, and empty such rows.",
        ),
        mistake(
            "a number not low enough, rows emptied",
            lambda s, m: _hidden(s, m, -1e4).softmax(-1) * m,
            "Rows with nothing to see are right, but −1e4 is only a large number: where the scores in sight are lower "
            "still, the hidden keys take all the weight. Fill with −inf.",
        ),
        mistake(
            "blind rows left open",
            lambda s, m: _hidden(s, m | ~m.any(-1, keepdim=True)).softmax(-1),
            "You open a row with nothing to see, which keeps NaN away, and leave it open, so it reads what is hidden: "
            "empty it after the softmax.",
        ),
        mistake(
            "hidden and divided after the softmax",
            lambda s, m: s.softmax(-1) * m / (s.softmax(-1) * m).sum(-1, keepdim=True).clamp(min=1e-12),
            "You hide keys after the softmax and divide again: where a hidden key has nearly all the weight, what is "
            "left rounds to 0. Hide scores before the softmax.",
        ),
        mistake(
            "−1e9 in half precision",
            lambda s, m: _hidden(s, m, -1e9).softmax(-1) * m,
            "Good in float32, but float16 ends at 65,504 and −1e9 does not fit: fill with −inf, which exists in "
            "every dtype.",
        ),
        mistake(
            "−1e9",
            lambda s, m: _hidden(s, m, -1e9).softmax(-1),
            "−1e9 fails twice: a row with nothing to see reads what it must not, in equal parts, "
            "and in float16 the number does not exist. Fill with −inf, and empty such rows.",
        ),
        mistake(
            "wrong axis",
            lambda s, m: _hidden(s, m).softmax(-2).nan_to_num(0),
            "Your columns sum to 1: each *query* shares its attention among the keys, so the softmax runs over "
            "the last axis.",
        ),
        mistake(
            "inverted",
            lambda s, m: masks.masked_softmax(s, ~m),
            "You read exactly what is hidden: True means 'may look', so −inf belongs where the mask is False, `~mask`.",
        ),
        mistake(
            "mask added",
            lambda s, m: (s + m).softmax(-1),
            "You add the mask as 0 and 1, which makes a key a little dearer and hides none: fill −inf where it "
            "is False.",
        ),
        mistake(
            "scores set to zero",
            lambda s, m: (s * m).softmax(-1),
            "You set hidden scores to 0, but exp(0) is 1, so they get weight: a hidden score must be −inf.",
        ),
        mistake(
            "no mask",
            lambda s, m: s.softmax(-1),
            "The mask is not used: hidden keys get weight too.",
        ),
        mistake(
            "exponentials by hand",
            _exponentials,
            "exp(1000) is too large for any float, so large scores give NaN: "
            "take away each row's maximum first, which changes no weight, or use `softmax`.",
        ),
        mistake(
            "left unnormalised",
            lambda s, m: torch.where(m, (s - s.amax(-1, keepdim=True)).exp(), 0),
            "These are exponentials only: divide each row by its sum, so that it sums to 1.",
        ),
        mistake(
            "changed in place",
            lambda s, m: masks.masked_softmax(s.masked_fill_(~m, -INF), m),
            "The weights are right, but your `masked_fill_` wrote −inf into the caller's scores: "
            "the name without the underscore makes a new tensor.",
        ),
    ]


KINDS_OF_LEAK = (
    "honest",
    "rounding",
    "every step",
    "first step",
    "middle step",
    "last step",
    "far",
    "normalisation",
    "one guess",
    "one token",
    "one token, first step",
    "one token, middle step",
    "one token, last step",
    "one token, far",
)


def probe(rng: Draws, leak: str, vocab: int, n: int) -> dict[str, torch.Tensor]:
    """Weights of a generic model that leaks the future in one way, or not at all ("honest", "rounding").

    `c[0]` mixes positions for all tokens, `c[1]` for those whose gate in `d` is open, `e` says over which positions
    a normalisation runs. Leaks "one token" open for a token that counting up from 0 never meets.
    """
    d = 6
    past = torch.ones(n, n, dtype=torch.float64).tril()
    mix = 0.5 * rng.normal(2, n, n) * past  # (2, T, T)
    gates, over = rng.normal(vocab, d), past
    head, bias = rng.normal(d, vocab), rng.normal(vocab)
    token, _, where = leak.partition(", ")
    if leak == "rounding":
        mix[0] += 3e-15 * rng.normal(n, n) * (1 - past)
    elif leak == "normalisation":
        over = torch.ones_like(past)
    elif leak != "honest":
        middle = rng.integer(1, n - 2) if n > 3 else 0
        places = {
            "first step": [(0, 1)],
            "middle step": [(middle, middle + 1)],
            "last step": [(n - 2, n - 1)],
            "far": [(0, n - 1)],
        }
        mixed = mix[1] if token == "one token" else mix[0]
        for i, j in places.get(where or token, [(i, i + 1) for i in range(n - 1)]):
            mixed[i, j] = 1.5 + rng.normal().abs()
    if where == "far" or token == "far":
        over = torch.eye(n, dtype=torch.float64)  # or the normalisation would carry it on to neighbours
    if token == "one token":
        open_for = torch.zeros(vocab, 1, dtype=torch.float64)
        open_for[rng.integer(n + 2, vocab - 1)] = 1
        gates = (1 + gates.abs()) * open_for
    if leak == "one guess":  # the likeliest token is always the same, so the guesses tell nothing
        head, bias = 0.1 * head, 0.3 * bias
        bias[rng.integer(0, vocab)] = 6
    weights = (rng.normal(vocab, d), rng.normal(n, d), mix, gates, over, head, bias)
    return dict(zip(Probe.NAMES, weights, strict=True))


def made_to_leak(model, vocab_size, n):
    """The truth about a probe, read from its weights: beyond rounding, does a position read a later one?"""
    weights = model if isinstance(model, dict) else dict(model.named_buffers())
    reads = weights["c"].abs().sum(0) + weights["e"]  # (T, T)
    return bool((reads.triu(1) > 1e-9).any())


def _past(before, after, position):
    return not torch.allclose(before[:, :position], after[:, :position], atol=1e-6)


def _search(positions=lambda n: range(1, n), steps=lambda v: range(1, v), differ=_past, view=lambda logits: logits):
    """A search for leaks that looks only at some positions, replacements, or logits."""

    def leaks(model, vocab_size, n):
        replacements = torch.tensor(list(steps(vocab_size)))  # (S,)
        ids = (torch.arange(n) % vocab_size).repeat(len(replacements), 1)  # (S, T)
        with torch.no_grad():
            before = view(model(ids))  # (S, T, V)
            for position in positions(n):
                others = ids.clone()
                others[:, position] = (ids[:, position] + replacements) % vocab_size
                if differ(before, view(model(others)), position):
                    return True
        return False

    return leaks


@exercise("masks.leaks_future", points=3, minutes=20, difficulty=4, ask="models")
class LeaksFuture:
    """True if the logits of some position depend, by more than rounding, on a later token."""

    signature = "leaks_future(model, vocab_size: int, n: int) -> bool; model(ids (B, T)) -> logits (B, T, V), any T ≤ n"
    reference = made_to_leak
    book = ["helpers.masks.leaks_future"]
    gradient = False
    fake = False
    dtypes = []
    may_use_global_random = True
    why = "Ask the model, not its code. A leak makes the loss wonderful and the model useless."
    hints = [
        "Change one token and watch the logits before it: in a causal model they stay as they are.",
        "Try every position, the last one too: a leak may sit at one step only.",
        "Try every token in that place: a leak may open for a single one. A batch holds many sequences at once.",
    ]

    def cases(rng):
        small = Case((probe(rng, "every step", 5, 2), 5, 2))
        kinds = [*KINDS_OF_LEAK, "honest"]
        order = torch.randperm(len(kinds), generator=rng.generator).tolist()
        made = [small]
        for kind in (kinds[i] for i in order):
            vocab, n = rng.pick([17, 19]), rng.integer(4, 6)
            made.append(Case((probe(rng, kind, vocab, n), vocab, n)))
        return made

    properties = [
        holds(
            "True or False",
            lambda found, model, vocab, n: found in (True, False),
            "Answer with True (it leaks) or False.",
        ),
        holds(
            "no false alarm",
            lambda found, model, vocab, n: not found or made_to_leak(model, vocab, n),
            "You call an honest model leaky. Its logits before the changed token stay as they are, up to rounding: "
            "compare those only, with `torch.allclose`.",
        ),
        holds(
            "no leak missed",
            lambda found, model, vocab, n: found or not made_to_leak(model, vocab, n),
            "A leaky model escapes you: try every position, every token in that place, "
            "and compare all logits of all earlier positions.",
        ),
    ]
    mistakes = [
        mistake(
            "the changed token compared too",
            lambda model, vocab_size, n: True,
            "You call every model leaky. The logits at the changed token and after it may change: "
            "only those *before* it must stay, `logits[:, :position]`, up to rounding.",
        ),
        mistake(
            "never a leak",
            lambda model, vocab_size, n: False,
            "No model leaks in your eyes. Is the second sequence really another one? After `other = ids` "
            "both are the same tensor, `ids.clone()` makes a copy; and compare the logits *before* the change.",
        ),
        mistake(
            "answer turned round",
            lambda model, vocab_size, n: not made_to_leak(model, vocab_size, n),
            "You tell them apart perfectly, but with True for the honest ones: True is to mean that it leaks.",
        ),
        mistake(
            "exact comparison",
            _search(differ=lambda a, b, p: not torch.equal(a[:, :p], b[:, :p])),
            "You take rounding for a leak: sums of floats may differ in their last digits. "
            "Compare with a tolerance, `torch.allclose`.",
        ),
        mistake(
            "changes the last token only",
            _search(positions=lambda n: [n - 1]),
            "You change the last token only, so a leak from another position escapes you: try every position.",
        ),
        mistake(
            "looks at the first position only",
            _search(differ=lambda a, b, p: _past(a, b, 1)),
            "You watch the logits of the first position only: a later one may look ahead as well, so compare "
            "all before the change.",
        ),
        mistake(
            "changes the second token only",
            _search(positions=lambda n: [1]),
            "You change an early token only, so leaks that sit later escape you: try every position up to the last.",
        ),
        mistake(
            "leaves the last token alone",
            _search(positions=lambda n: range(1, n - 1)),
            "You never change the last token, so what leaks from there escapes you: `range(1, n)` ends with n − 1.",
        ),
        mistake(
            "one before is left out",
            _search(differ=lambda a, b, p: _past(a, b, p - 1)),
            "You leave out the position right before the change, where most leaks show: "
            "`logits[:, :position]` already ends before `position`.",
        ),
        mistake(
            "neighbours only",
            _search(differ=lambda a, b, p: _past(a[:, p - 1 :], b[:, p - 1 :], 1)),
            "You compare only the position right before the change: a leak may reach further, so compare all "
            "before it.",
        ),
        mistake(
            "one replacement for each position",
            _search(steps=lambda v: [1]),
            "You try few replacements at each position: a model that leaks for a single token escapes you. "
            "Try every token of the vocabulary.",
        ),
        mistake(
            "guesses compared",
            _search(view=lambda logits: logits.argmax(-1, keepdim=True).double()),
            "You compare the likeliest tokens: they may stay the same while the logits change. Compare the logits.",
        ),
    ]


def _seen(q, k, v, mask, weigh=masks.masked_softmax, vacuous=False, allowed=None):
    """What becomes zero, looked up with `weigh` for the softmax."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (…, Tq, Tk)
    allowed = masks.boolean(mask) if allowed is None else allowed
    allowed = allowed.expand(scores.shape)  # (…, Tq, Tk)
    weights = weigh(scores, allowed)

    def zero(x, where):
        return bool((x[where] == 0).all() and (vacuous or where.any()))

    return {
        "scores": zero(_hidden(scores, allowed), ~allowed),
        "weights": zero(weights, ~allowed),
        "values": zero(v, ~allowed.all(-2)),
        "output": zero(weights @ v, ~allowed.all(-1)),
    }


def _believed(**beliefs):
    """The right answer, but for beliefs that count as soon as the mask hides anything."""

    def answer(q, k, v, mask):
        hides = not bool(masks.boolean(mask).all())
        return _seen(q, k, v, mask) | {name: belief and hides for name, belief in beliefs.items()}

    return answer


@exercise("masks.what_becomes_zero", points=2, minutes=20, difficulty=3, gradient=False)
class WhatBecomesZero:
    """Which of "scores", "weights", "values", "output" masking turns into exact zeros where it blocks, as bools."""

    signature = "what_becomes_zero(q (…, Tq, d_k), k (…, Tk, d_k), v (…, Tk, d_v), mask) -> dict of bool"
    reference = masks.what_becomes_zero
    why = "A mask lies between two tokens and makes weights zero; values stay, because other queries still read them."
    hints = [
        "Compute attention step by step, and look at each step's numbers where the mask blocks.",
        "Scores and weights belong to pairs; values to keys (those hidden from some query); outputs to queries "
        "(those from which some key is hidden).",
        "`bool(where.any() and (x[where] == 0).all())`: `.all()` of nothing is True, so ask first whether "
        "anything is hidden.",
    ]

    def cases(rng):
        def qkv(shape, tq, tk, d_k, d_v):
            return rng.normal(*shape, tq, d_k), rng.normal(*shape, tk, d_k), rng.normal(*shape, tk, d_v)

        some = rng.coins(2, 1, 5, 7, p=0.6)
        some[..., 0], some[..., 3] = True, False
        pads = torch.tensor([5, 7, 3])[:, None, None, None] > torch.arange(7)  # (3, 1, 1, 7)
        blind = torch.ones(5, 7, dtype=torch.bool)
        blind[rng.integer(0, 5)] = False
        return [
            (*qkv((), 1, 1, 4, 3), torch.ones(1, 1, dtype=torch.bool)),
            (*qkv((2,), 5, 5, 4, 3), masks.causal(5)),
            (*qkv((2, 3), 5, 7, 4, 6), some),
            (*qkv((2,), 5, 7, 4, 3), torch.zeros(5, 7)),
            (*qkv((3, 2), 5, 7, 4, 3), pads),
            (*qkv((2,), 5, 7, 4, 3), blind),
        ]

    properties = [
        holds(
            "four answers",
            lambda out, *inputs: set(out) == {"scores", "weights", "values", "output"},
            'Answer with a dictionary of four: "scores", "weights", "values" and "output".',
        ),
        holds(
            "values stay",
            lambda out, *inputs: not out["values"],
            "Values are the same with a mask and without: compare `v` before and after.",
        ),
        holds(
            "nothing hidden",
            lambda out, q, k, v, mask: not masks.boolean(mask).all() or not any(out.values()),
            "A mask that hides nothing makes no zeros: `.all()` of nothing is True, so ask first whether "
            "anything is hidden.",
        ),
    ]
    mistakes = [
        mistake(
            "values become zero",
            _believed(values=True),
            "Values do not become zero: a token that is hidden from one query is still read by others. Print `v` "
            "and see.",
        ),
        mistake(
            "output becomes zero",
            _believed(output=True),
            "The output is a mean of the values that are left, not zero, unless a query has nothing to see at all.",
        ),
        mistake(
            "values and output become zero",
            _believed(values=True, output=True),
            "Neither values nor outputs become zero: values stay as they are, and the output is a mean of those left.",
        ),
        mistake(
            "scores become zero",
            _believed(scores=True),
            "Blocked scores become −inf, not 0: a score of 0 would still get a weight, since exp(0) = 1.",
        ),
        mistake(
            "scores in place of weights",
            _believed(scores=True, weights=False),
            "It is the other way round: blocked scores are −inf, and exp(−inf) = 0 makes the *weights* zero.",
        ),
        mistake(
            "scores and values become zero",
            _believed(scores=True, values=True),
            "Blocked scores become −inf, and values stay as they are: of the four only the weights are made zero.",
        ),
        mistake(
            "values in place of weights",
            _believed(values=True, weights=False),
            "It is the weights that become zero, not the values: a value belongs to one token, a mask to a pair.",
        ),
        mistake(
            "everything becomes zero",
            _believed(scores=True, weights=True, values=True, output=True),
            "Not everything: blocked scores are −inf, values stay, and the output is a mean of what may be seen.",
        ),
        mistake(
            "nothing becomes zero",
            lambda q, k, v, mask: dict.fromkeys(("scores", "weights", "values", "output"), False),
            "You find no zeros at all. Is the mask on before the softmax? Then look at the weights where it blocks.",
        ),
        mistake(
            "the same answer always",
            lambda q, k, v, mask: {"scores": False, "weights": True, "values": False, "output": False},
            "Your answer is the same for every mask: one that hides nothing makes no zeros, "
            "and a query with nothing to see has an output of zeros. Compute it.",
        ),
        mistake(
            "all of nothing",
            lambda q, k, v, mask: _seen(q, k, v, mask, vacuous=True),
            "A mask that hides nothing makes no zeros, but `.all()` of nothing is True: ask first whether "
            "anything is hidden.",
        ),
        mistake(
            "blind rows not emptied",
            lambda q, k, v, mask: _seen(q, k, v, mask, weigh=lambda s, allowed: _hidden(s, allowed).softmax(-1)),
            "A query with nothing to see has weights and an output of zeros. Yours are NaN, or with −1e9 "
            "a mean of all that is hidden: see `masked_softmax`.",
        ),
        mistake(
            "mask inverted",
            lambda q, k, v, mask: _seen(q, k, v, mask, allowed=~masks.boolean(mask)),
            "You look at the pairs that *may* see each other: True, or 0 in an additive mask, means 'may look'.",
        ),
        mistake(
            "boolean masks only",
            lambda q, k, v, mask: _seen(q, k, v, mask, allowed=~~mask),
            "`~` works on booleans only, and masks may be additive too: take `mask == -torch.inf` for what is "
            "hidden there.",
        ),
    ]


def _sliced(n, window):
    mask = torch.full((n, n), -INF)
    for i in range(n):
        mask[i, i - window + 1 : i + 1] = 0
    return mask


@exercise("masks.sliding_window", points=1, minutes=8, difficulty=2)
class SlidingWindow:
    """Additive mask (n, n) of a causal window: query i sees itself and the window − 1 keys before it."""

    signature = "sliding_window(n: int, window: int) -> Tensor (n, n)"
    reference = masks.sliding_window
    why = "The cost now grows with n · window in place of n², and layer upon layer the window's reach still adds up."
    hints = [
        "How far back is key j from query i? Which distances may be seen?",
        "`back = torch.arange(n)[:, None] - torch.arange(n)` holds i − j: allowed where 0 ≤ back < window.",
        "`torch.zeros(n, n).masked_fill((back < 0) | (back >= window), float('-inf'))`",
    ]

    def cases(rng):
        n = rng.integer(7, 12)
        long = (rng.integer(65, 80), rng.integer(3, 7))
        return [(1, 1), (n, 1), (5, 5), (5, 8), (n, 2), long, (rng.integer(13, 20), rng.integer(3, 7))]

    properties = [SQUARE, TWO_VALUES, DIAGONAL, NO_FUTURE]
    mistakes = [
        mistake(
            "off by one",
            _where(lambda i, j, window: (j <= i) & (i - j <= window)),
            "Your window is one too wide: it counts the token itself, so i − j < window, and a window of 1 is "
            "itself alone.",
        ),
        mistake(
            "one too narrow",
            _where(lambda i, j, window: (j <= i) & (i - j < max(window - 1, 1))),
            "Your window is one too narrow: with the token itself it holds `window` tokens, 0 ≤ i − j < window.",
        ),
        mistake(
            "itself not counted",
            _where(lambda i, j, window: (j < i) & (i - j <= window)),
            "You count the keys before the token and leave out the token itself: it is the first of its window.",
        ),
        mistake(
            "symmetric",
            _where(lambda i, j, window: (i - j).abs() < window),
            "Your window opens both ways, so a token sees what comes after it: only 0 ≤ i − j is the past.",
        ),
        mistake(
            "centred",
            _where(lambda i, j, window: (i - j).abs() <= window // 2),
            "Your window is centred on the token and sees half of the future: it ends at the token, 0 ≤ i − j < "
            "window.",
        ),
        mistake(
            "future open",
            _where(lambda i, j, window: i - j < window),
            "You close what is too far back, but the future is open: a causal window also needs j ≤ i.",
        ),
        mistake(
            "no window",
            _where(lambda i, j, window: j <= i),
            "This is the causal mask: keys `window` steps back and more are still to be hidden.",
        ),
        mistake(
            "outside the window",
            _where(lambda i, j, window: (j <= i) & (i - j >= window)),
            "You show what lies beyond the window and hide the window itself: exchange 0 and −inf in the past.",
        ),
        mistake(
            "inverted",
            _where(lambda i, j, window: (j > i) | (i - j >= window)),
            "Your −inf and 0 have changed places: 0 belongs inside the window and −inf outside.",
        ),
        mistake(
            "transposed",
            lambda n, window: masks.sliding_window(n, window).T,
            "Your window looks ahead. Rows are queries, columns are keys: allow 0 ≤ i − j < window, i being the row.",
        ),
        mistake(
            "blocks",
            _where(lambda i, j, window: (j <= i) & (i // window == j // window)),
            "You cut the text into blocks, so the first of a block sees nothing before it: the window moves with "
            "each token.",
        ),
        mistake(
            "negative start",
            _sliced,
            "Near the beginning i − window + 1 is negative, and Python counts that from the end: start at "
            "`max(0, i - window + 1)`.",
        ),
        *_forms(masks.sliding_window),
    ]


@exercise("masks.prefix", points=1, minutes=8, difficulty=2)
class Prefix:
    """Additive mask (n, n): the first n_prefix positions see each other both ways, and the rest is causal."""

    signature = "prefix(n: int, n_prefix: int) -> Tensor (n, n)"
    reference = masks.prefix
    why = "One number now leads from a decoder (a prefix of 0) to an encoder (a prefix of n): read first, then write."
    hints = [
        "Start from the causal mask: which doors does the prefix open?",
        "Everybody may read the prefix, its own tokens and all later ones: the first n_prefix *columns* are open.",
        "Allowed is `(j <= i) | (j < n_prefix)`, with i as the rows and j as the columns.",
    ]

    def cases(rng):
        n = rng.integer(7, 12)
        return [
            (1, 0),
            (1, 1),
            (5, 0),
            (5, 5),
            (n, 1),
            (rng.integer(65, 80), rng.integer(4, 9)),
            (n, rng.integer(3, 6)),
        ]

    properties = [SQUARE, TWO_VALUES, DIAGONAL]
    mistakes = [
        mistake(
            "one too many",
            _where(lambda i, j, n_prefix: (j <= i) | (j <= n_prefix)),
            "Your prefix is one too long: counting from 0, its n_prefix positions are those with j < n_prefix.",
        ),
        mistake(
            "one too few",
            _where(lambda i, j, n_prefix: (j <= i) | (j < n_prefix - 1)),
            "Your prefix is one too short: counting from 0, its n_prefix positions are those with j < n_prefix.",
        ),
        mistake(
            "rows opened",
            _where(lambda i, j, n_prefix: (j <= i) | (i < n_prefix)),
            "Your prefix reads the rest too, which is still to be written: open the first *columns*, not the "
            "first rows.",
        ),
        mistake(
            "the prefix alone",
            _where(lambda i, j, n_prefix: ((i < n_prefix) & (j < n_prefix)) | ((j <= i) & (j >= n_prefix))),
            "The rest cannot read the prefix: later positions see all that came before them, the prefix first of all.",
        ),
        mistake(
            "only the prefix is read",
            _where(
                lambda i, j, n_prefix: ((i < n_prefix) & (j < n_prefix)) | ((i >= n_prefix) & (j < n_prefix)) | (i == j)
            ),
            "The rest reads the prefix and itself, but nothing in between: after the prefix the mask is causal, j ≤ i.",
        ),
        mistake(
            "nothing but the prefix",
            _where(lambda i, j, n_prefix: j < n_prefix + 0 * i),
            "Only the prefix can be read in your mask: later tokens see themselves and all before them, j ≤ i.",
        ),
        mistake(
            "the rest is open",
            _where(lambda i, j, n_prefix: (i >= n_prefix) | (j < n_prefix)),
            "After the prefix the future is open: only the prefix is read both ways, and the rest is causal, j ≤ i.",
        ),
        mistake(
            "the prefix is causal",
            _where(lambda i, j, n_prefix: j <= i),
            "This is the causal mask: within the prefix, tokens see each other in both directions.",
        ),
        mistake(
            "prefix at the end",
            _where(lambda i, j, n_prefix: (j <= i) | ((i >= i.numel() - n_prefix) & (j >= i.numel() - n_prefix))),
            "You opened the last n_prefix positions: the prefix is the *first* n_prefix.",
        ),
        mistake(
            "transposed",
            lambda n, n_prefix: masks.prefix(n, n_prefix).T,
            "Your mask hides the past and shows the future. Rows are queries, columns are keys: after the prefix "
            "hide j > i.",
        ),
        mistake(
            "inverted",
            _where(lambda i, j, n_prefix: (j > i) & (j >= n_prefix)),
            "Your −inf and 0 have changed places: 0 means 'may look', for the prefix and for the past.",
        ),
        *_forms(masks.prefix),
    ]


def needed_when_decoding():
    """The experiment: two layers of attention write the last of six tokens both ways, with the mask and without."""
    rng = Draws(0)
    x, layers = rng.normal(6, 4), rng.normal(2, 3, 4, 4)  # (T, D), (layers, q k v, D, D)

    def fed_again(mask):
        h = x
        for w in layers:
            h = h + attend(h @ w[0], h @ w[1], h @ w[2], mask)[0]  # (T, D)
        return h[-1]

    def cached(mask):
        kept = [[], []]
        for t in range(len(x)):
            h = x[t : t + 1]  # (1, D)
            for w, memory in zip(layers, kept, strict=True):
                memory.append(h)
                past = torch.cat(memory)  # (t + 1, D)
                h = h + attend(h @ w[0], past @ w[1], past @ w[2], mask[t : t + 1, : t + 1])[0]  # (1, D)
        return h[0]

    causal, open_ = masks.causal(6) == 0, torch.ones(6, 6, dtype=torch.bool)
    ways = {"with_cache": cached, "without_cache": fed_again}
    return {name: not torch.allclose(way(causal), way(open_)) for name, way in ways.items()}


def _says(with_cache, without_cache):
    return lambda: {"with_cache": with_cache, "without_cache": without_cache}


@exercise("masks.needed_when_decoding", points=1, minutes=10, difficulty=3, kind="claim")
class NeededWhenDecoding:
    """Does leaving the causal mask out change the next token? A dict of bool: "with_cache" and "without_cache"."""

    signature = 'needed_when_decoding() -> {"with_cache": bool, "without_cache": bool}'
    reference = needed_when_decoding
    gradient = False
    dtypes = []
    why = (
        "The mask protects the earlier tokens from the newest; in a cache they are frozen, so there is nothing to "
        "protect."
    )
    hints = [
        "Look at the newest token first: which entries of its row of the mask are −inf?",
        "Now the earlier tokens. Are they computed anew at each step, and who reads what they become?",
        "Fed again without a mask, token 2 reads token 5 in the first layer. A cache computed token 2 before 5 "
        "was there.",
    ]

    def cases(rng):
        return [()]

    properties = [
        holds(
            "two answers",
            lambda out: set(out) == {"with_cache", "without_cache"} and all(type(x) is bool for x in out.values()),
            'Answer with a dictionary of two, "with_cache" and "without_cache", each True or False.',
        ),
    ]
    mistakes = [
        mistake(
            "always needed",
            _says(True, True),
            "With a cache it is not needed: the newest token may read all that is there, and the earlier ones "
            "are frozen.",
        ),
        mistake(
            "never needed",
            _says(False, False),
            "Without a cache it is needed: the prefix is computed anew, so earlier tokens would read later ones "
            "in the first layer, and the newest reads what they have become in the second.",
        ),
        mistake(
            "turned round",
            _says(True, False),
            "It is the other way round. Which of the two computes earlier tokens anew, beside newer ones? There "
            "it is needed.",
        ),
    ]


@exercise("masks.why", points=3, minutes=15, difficulty=3, kind="written")
class Why:
    """In your own words: what the causal mask is for, when it can be left out, and what BERT's [MASK] is instead."""

    rubric = """
    1 point: in training all positions are predicted in one pass, and the answer to position i stands at i + 1 of the
    same input, so without a mask it would be copied. The mask puts −inf on the scores of later keys *before* the
    softmax, so their weights are exactly 0. Not: values, scores or outputs become zero (half a point at most).

    1 point: while writing, it can be left out with cached keys and values, where only the newest token asks and all
    that is cached is its past. It is needed if the whole prefix is fed again and there are two layers or more:
    earlier tokens would read later ones, and the newest would read these changed states.

    1 point: BERT's [MASK] replaces an input token, so that there is something to guess; it is read by all and reads
    all. An attention mask changes no input: it decides which query may read which key. Not: "BERT masks attention".
    """
    hints = [
        "Which token stands at position i + 1 of the input, while position i is trained to predict it?",
        "Go through one step of writing, with a cache and without: who is computed, and what does it read?",
        "Which of the two masks changes the input, and which changes who reads whom?",
    ]
