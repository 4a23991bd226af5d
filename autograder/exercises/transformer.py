"""05_parameters, first half: the layers that everything is stacked from, and the whole Transformer."""

from dataclasses import replace
from functools import cache

import torch
from torch import nn
from torch.nn import functional as F

from autograder.ask import Case
from autograder.exercise import exercise, holds, mistake
from autograder.exercises.attention import additive, allowed
from autograder.versions import version
from helpers import layers, masks, models

SAME_SHAPE = holds(
    "shaped as x",
    lambda y, *given: y.shape == next(x for x in given if isinstance(x, torch.Tensor)).shape,
    "A layer gives a row of d_model numbers for each token of x: its output is shaped as x.",
)


@cache
def _shapes(module, *init):
    """The exercise's module without weights, for their names and shapes. Building one takes longer than asking it."""
    with torch.device("meta"):
        return module(*init)


# ---- feed-forward ----


def _feed(forward):
    return version(layers.FeedForward, forward=forward)


class _WithNorm(layers.FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.norm = nn.LayerNorm(d_model)


class _NoBiases(layers.FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.up, self.down = nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_ff, d_model, bias=False)


class _Exchanged(layers.FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.up, self.down = nn.Linear(d_ff, d_model), nn.Linear(d_model, d_ff)


@exercise("transformer.FeedForward", points=2, minutes=8, difficulty=2, ask="module")
class FeedForward:
    """Two linear layers with a ReLU between them, the same for each token: d_model → d_ff → d_model.

    Submodules `up` and `down`, both with biases.
    """

    signature = "FeedForward(d_model: int, d_ff: int)\nforward(x: Tensor (B, T, d_model)) -> Tensor (B, T, d_model)"
    reference = layers.FeedForward
    why = "Attention moves information between tokens; here each token works on what it got, by itself."
    hints = [
        "`super().__init__()` first, then two `nn.Linear` under the names on the card.",
        "`up` leads from d_model to d_ff, `down` back; what stands between them makes it more than one linear layer.",
        "`self.down(torch.relu(self.up(x)))`",
    ]

    def cases(rng):
        def case(d, ff, *shape):
            return Case((rng.normal(*shape, d),), init=(d, ff), state=rng.weights(_shapes(layers.FeedForward, d, ff)))

        large = case(4, 9, 2, 5)
        large = replace(large, inputs=(10 * large.inputs[0],))  # far beyond where some activations flatten
        return [case(5, 7, 2, 3), case(1, 1, 1, 1), case(7, 3, 1, 4), large, case(6, 13, 3, rng.integer(4, 8))]

    properties = [SAME_SHAPE]
    mistakes = [
        mistake(
            "no ReLU",
            _feed(lambda self, x: self.down(self.up(x))),
            "Nothing bends between your two layers, so they are one linear layer in two parts: put a ReLU between.",
        ),
        mistake(
            "ReLU at the end",
            _feed(lambda self, x: self.down(self.up(x)).relu()),
            "Your ReLU comes after `down`, and none between: it belongs between the two layers.",
        ),
        mistake(
            "ReLU at the start",
            _feed(lambda self, x: self.down(self.up(x.relu()))),
            "Your ReLU cuts x before `up`: it belongs between the two layers.",
        ),
        mistake(
            "ReLU after both",
            _feed(lambda self, x: self.down(self.up(x).relu()).relu()),
            "Your output goes through a ReLU too, so it is never negative: leave `down` as it comes.",
        ),
        mistake(
            "GELU",
            _feed(lambda self, x: self.down(F.gelu(self.up(x)))),
            "You bend with GELU, as BERT does: the 2017 paper's layer has a ReLU.",
        ),
        mistake(
            "ReLU6",
            _feed(lambda self, x: self.down(F.relu6(self.up(x)))),
            "Your ReLU stops at 6: what is positive passes as it is, however large.",
        ),
        mistake(
            "tanh",
            _feed(lambda self, x: self.down(self.up(x).tanh())),
            "You bend with tanh: a ReLU stands between the layers here.",
        ),
        mistake(
            "sigmoid",
            _feed(lambda self, x: self.down(self.up(x).sigmoid())),
            "You bend with a sigmoid: a ReLU stands between the layers here.",
        ),
        mistake(
            "SiLU",
            _feed(lambda self, x: self.down(F.silu(self.up(x)))),
            "You bend with SiLU, as newer models do: a ReLU stands between the layers here.",
        ),
        mistake(
            "leaky ReLU",
            _feed(lambda self, x: self.down(F.leaky_relu(self.up(x)))),
            "Your ReLU leaks: here what is negative becomes exactly 0.",
        ),
        mistake(
            "softmax",
            _feed(lambda self, x: self.down(self.up(x).softmax(-1))),
            "A softmax stands between your layers: that is for attention's weights, here a ReLU is due.",
        ),
        mistake(
            "x added",
            _feed(lambda self, x: x + self.down(self.up(x).relu())),
            "You add x to the output: the residual path belongs to the layer around this one.",
        ),
        mistake(
            "up alone",
            _feed(lambda self, x: self.up(x).relu()),
            "You stop after `up`, with d_ff features: `down` leads back to d_model.",
        ),
        mistake(
            "a norm of its own",
            _WithNorm,
            "You gave it a norm: that belongs to the layer around, and `up` and `down` are all that this one learns.",
        ),
        mistake(
            "no biases",
            _NoBiases,
            "Your linear layers have no biases: leave `bias=False` out.",
        ),
        mistake(
            "sizes exchanged",
            _Exchanged,
            "`up` should lead from d_model to d_ff, `nn.Linear(d_model, d_ff)`, and `down` back: yours are exchanged.",
        ),
    ]


# ---- encoder layer ----


def _encoder(forward):
    return version(layers.EncoderLayer, forward=forward)


def _two(attend, feed):
    """Two sublayers in a row, each a function (self, x, sublayer, norm) → x."""

    def forward(self, x, mask=None):
        x = attend(self, x, lambda y: self.attention(y, mask=mask), self.norm1)
        return feed(self, x, self.feed_forward, self.norm2)

    return _encoder(forward)


def _right(self, x, sublayer, norm):
    return x + sublayer(norm(x)) if self.norm_first else norm(x + sublayer(x))


def _post(self, x, sublayer, norm):
    return norm(x + sublayer(x))


def _pre(self, x, sublayer, norm):
    return x + sublayer(norm(x))


def _no_residual(self, x, sublayer, norm):
    return sublayer(norm(x)) if self.norm_first else norm(sublayer(x))


def _norm_inside(self, x, sublayer, norm):
    return x + norm(sublayer(x))


def _norm_inside_post(self, x, sublayer, norm):
    return x + (sublayer(norm(x)) if self.norm_first else norm(sublayer(x)))


def _norm_twice(self, x, sublayer, norm):
    return norm(x + sublayer(norm(x))) if self.norm_first else norm(x + sublayer(x))


def _norm_before_both(self, x, sublayer, norm):
    y = norm(x) if self.norm_first else x
    return y + sublayer(y) if self.norm_first else norm(x + sublayer(x))


def _bare(self, x, sublayer, norm):
    return x + sublayer(x)


def _with_norms(first, second):
    """The layer with the norms of these names."""

    def forward(self, x, mask=None):
        x = _right(self, x, lambda y: self.attention(y, mask=mask), getattr(self, first))
        return _right(self, x, self.feed_forward, getattr(self, second))

    return _encoder(forward)


def _feed_first(self, x, mask=None):
    x = _right(self, x, self.feed_forward, self.norm2)
    return _right(self, x, lambda y: self.attention(y, mask=mask), self.norm1)


def _parallel(self, x, mask=None):
    if self.norm_first:
        return x + self.attention(self.norm1(x), mask=mask) + self.feed_forward(self.norm2(x))
    return self.norm2(self.norm1(x + self.attention(x, mask=mask)) + self.feed_forward(x))


def _input_again(self, x, mask=None):
    h = _right(self, x, lambda y: self.attention(y, mask=mask), self.norm1)
    if self.norm_first:
        return x + self.feed_forward(self.norm2(h))
    return self.norm2(x + self.feed_forward(h))


def _inverted(self, x, mask=None):
    mask = ~mask if mask is not None and mask.dtype == torch.bool else mask
    return layers.EncoderLayer.forward(self, x, mask)


class _OneNorm(layers.EncoderLayer):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        del self.norm2

    def forward(self, x, mask=None):
        x = _right(self, x, lambda y: self.attention(y, mask=mask), self.norm1)
        return _right(self, x, self.feed_forward, self.norm1)


class _NormsAsList(layers.EncoderLayer):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.norms = nn.ModuleList([self.norm1, self.norm2])
        del self.norm1, self.norm2


NO_MASK = "The mask changes nothing in your layer: hand it on, `self.attention(…, mask=mask)`."


@exercise("transformer.EncoderLayer", points=3, minutes=15, difficulty=3, ask="module")
class EncoderLayer:
    """Self-attention, then feed-forward; around each a residual path and a norm.

    Post-norm as in 2017: norm(x + sublayer(x)). With norm_first: x + sublayer(norm(x)). Submodules `attention` (a
    MultiHeadAttention), `feed_forward`, `norm1`, `norm2`; you may use those of `helpers`.
    """

    signature = (
        "EncoderLayer(d_model: int, n_heads: int, d_ff: int, norm_first: bool = False)\n"
        "forward(x: Tensor (B, T, d_model), mask=None) -> Tensor (B, T, d_model)"
    )
    reference = layers.EncoderLayer
    shortcuts = ["TransformerEncoderLayer"]
    why = "PyTorch's own `nn.TransformerEncoderLayer` gives the same numbers with these weights, both ways round."
    hints = [
        "Two parts, each with a norm of its own: norm1 goes with attention, norm2 with the feed-forward.",
        "Each part's output is added to that part's own input: the second starts from what the first one gave.",
        "Post-norm: `x = self.norm1(x + self.attention(x, mask=mask))`, then the same with `feed_forward` and `norm2`.",
    ]

    def cases(rng):
        def case(b, h, k, t, ff, mask=None, norm_first=(), dtype="float64"):
            init = (h * k, h, ff, *norm_first)
            state = rng.weights(_shapes(layers.EncoderLayer, *init))
            return Case((rng.normal(b, t, h * k), mask), init=init, state=state, dtype=dtype)

        return [
            case(2, 3, 2, 5, 7, allowed(rng, 2, 1, 5, 5)),
            case(2, 2, 5, 3, 4, None, (True,)),
            case(1, 1, 3, 1, 2),
            case(2, 2, 3, 4, 5, additive(allowed(rng, 4, 4)), (True,), "float32"),
            case(3, 2, 3, 5, 11, allowed(rng, 3, 1, 1, 5), (False,)),
        ]

    properties = [SAME_SHAPE]
    mistakes = [
        mistake(
            "no residual",
            _two(_no_residual, _no_residual),
            "Nothing of x gets past your two parts: add x to what each gives, norm(x + sublayer(x)).",
        ),
        mistake(
            "no residual around attention",
            _two(_no_residual, _right),
            "The residual path around attention is missing: norm1(x + attention(x)).",
        ),
        mistake(
            "no residual around feed-forward",
            _two(_right, _no_residual),
            "The residual path around the feed-forward is missing: norm2(x + feed_forward(x)).",
        ),
        mistake(
            "norm before the sum",
            _two(_norm_inside_post, _norm_inside_post),
            "Without norm_first you norm what the sublayer gives, and then add x: add first, norm(x + sublayer(x)).",
        ),
        mistake(
            "norm before the sum, both ways",
            _two(_norm_inside, _norm_inside),
            "You norm what the sublayer gives, x + norm(sublayer(x)): the norm comes after the sum, "
            "or with norm_first before the sublayer.",
        ),
        mistake(
            "norm_first ignored",
            _two(_post, _post),
            "norm_first changes nothing in your layer: with it, x + sublayer(norm(x)).",
        ),
        mistake(
            "always norm_first",
            _two(_pre, _pre),
            "You always norm first: without norm_first it is norm(x + sublayer(x)), as in 2017.",
        ),
        mistake(
            "norm_first turned over",
            _two(
                lambda self, *parts: (_post if self.norm_first else _pre)(self, *parts),
                lambda self, *parts: (_post if self.norm_first else _pre)(self, *parts),
            ),
            "Your two ways are exchanged: with norm_first the norm comes before the sublayer, else after the sum.",
        ),
        mistake(
            "norm_first in attention alone",
            _two(_right, _post),
            "Around the feed-forward norm_first changes nothing: both parts follow it.",
        ),
        mistake(
            "residual of what was normed",
            _two(_norm_before_both, _norm_before_both),
            "With norm_first you add norm(x) to the sublayer's output: the residual path carries x itself.",
        ),
        mistake(
            "normed twice",
            _two(_norm_twice, _norm_twice),
            "With norm_first you norm after the sum too: once, before the sublayer, is all.",
        ),
        mistake(
            "no norms",
            _two(_bare, _bare),
            "Your norms are made and never used: norm1 goes with attention, norm2 with the feed-forward.",
        ),
        mistake(
            "one norm for both",
            _with_norms("norm1", "norm1"),
            "You use norm1 twice: the feed-forward has a norm of its own, norm2.",
        ),
        mistake(
            "one norm made",
            _OneNorm,
            "You made one norm for both parts: each has its own, `norm1` and `norm2`.",
        ),
        mistake(
            "norms exchanged",
            _with_norms("norm2", "norm1"),
            "You have the norms exchanged: norm1 goes with attention, norm2 with the feed-forward.",
        ),
        mistake(
            "norms in a list",
            _NormsAsList,
            "Your norms are in a list: on the card they are called `norm1` and `norm2`.",
        ),
        mistake(
            "feed-forward first",
            _encoder(_feed_first),
            "Your feed-forward comes before attention: tokens look around first, then each works on what it found.",
        ),
        mistake(
            "side by side",
            _encoder(_parallel),
            "Both of your parts read x: the feed-forward should read what attention and its residual path gave.",
        ),
        mistake(
            "the input added again",
            _encoder(_input_again),
            "Around the feed-forward you add the layer's input: add what went into the feed-forward, "
            "or what attention added is lost.",
        ),
        mistake(
            "no feed-forward",
            _two(_right, lambda self, x, sublayer, norm: x),
            "You stop after attention: the feed-forward with its norm comes next.",
        ),
        mistake(
            "no attention",
            _two(lambda self, x, sublayer, norm: x, _right),
            "You leave attention out: each token keeps to itself.",
        ),
        mistake(
            "mask ignored",
            _encoder(lambda self, x, mask=None: layers.EncoderLayer.forward(self, x)),
            NO_MASK,
        ),
        mistake(
            "mask ignored with norm_first",
            _encoder(
                lambda self, x, mask=None: layers.EncoderLayer.forward(self, x, None if self.norm_first else mask)
            ),
            "With norm_first the mask changes nothing in your layer: hand it on in both ways.",
        ),
        mistake(
            "mask inverted",
            _encoder(_inverted),
            "You hide what should be seen: True means 'may look' here, the opposite of PyTorch's layers.",
        ),
        mistake(
            "mask as memory",
            _encoder(
                lambda self, x, mask=None: _right(
                    self,
                    _right(self, x, lambda y: self.attention(y, mask), self.norm1),
                    self.feed_forward,
                    self.norm2,
                )
            ),
            "You hand the mask on as second argument, where attention takes a memory: name it, `mask=mask`.",
        ),
    ]


# ---- decoder layer ----


def _decoder(forward):
    return version(layers.DecoderLayer, forward=forward)


def _three(self_step=_right, cross_step=_right, feed_step=_right, order="scf", norms="123", cross=None):
    """Three sublayers in an order, with the norms of these numbers; `cross` is a wrong attention to memory."""
    cross = cross or (lambda self, y, memory, mask: self.cross_attention(y, memory, mask))

    def forward(self, x, memory, mask=None, memory_mask=None):
        parts = {
            "s": (self_step, lambda y: self.self_attention(y, mask=mask)),
            "c": (cross_step, lambda y: cross(self, y, memory, memory_mask)),
            "f": (feed_step, self.feed_forward),
        }
        for name, number in zip(order, norms, strict=True):
            step, sublayer = parts[name]
            x = step(self, x, sublayer, getattr(self, f"norm{number}"))
        return x

    return _decoder(forward)


def _memory_normed(self, x, memory, mask=None, memory_mask=None):
    memory = self.norm2(memory) if self.norm_first else memory
    return layers.DecoderLayer.forward(self, x, memory, mask, memory_mask)


def _masks_exchanged(self, x, memory, mask=None, memory_mask=None):
    return layers.DecoderLayer.forward(self, x, memory, memory_mask, mask)


def _exchange(self):
    """The two attentions with each other's weights."""
    return self.cross_attention, self.self_attention


def _attentions_exchanged(self, x, memory, mask=None, memory_mask=None):
    first, second = _exchange(self)
    x = _right(self, x, lambda y: first(y, mask=mask), self.norm1)
    x = _right(self, x, lambda y: second(y, memory, memory_mask), self.norm2)
    return _right(self, x, self.feed_forward, self.norm3)


class _OneAttention(layers.DecoderLayer):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.attention = self.self_attention
        del self.self_attention, self.cross_attention


class _OneAttentionTwice(layers.DecoderLayer):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.cross_attention = self.self_attention


def _always_causal(self, x, memory, mask=None, memory_mask=None):
    mask = torch.ones(*[x.shape[1]] * 2, dtype=torch.bool, device=x.device).tril() if mask is None else mask
    return layers.DecoderLayer.forward(self, x, memory, mask, memory_mask)


class _TwoNorms(layers.DecoderLayer):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        del self.norm3


@exercise("transformer.DecoderLayer", points=3, minutes=15, difficulty=3, ask="module")
class DecoderLayer:
    """Self-attention, attention to the encoder's output `memory`, feed-forward; a residual path and a norm around each.

    Norms as in `EncoderLayer`, memory is not normed. Submodules `self_attention`, `cross_attention`, `feed_forward`,
    `norm1`, `norm2`, `norm3`. `mask` is for self-attention, `memory_mask` for the attention to memory.
    """

    signature = (
        "DecoderLayer(d_model: int, n_heads: int, d_ff: int, norm_first: bool = False)\n"
        "forward(x (B, T, d_model), memory (B, S, d_model), mask=None, memory_mask=None) -> Tensor (B, T, d_model)"
    )
    reference = layers.DecoderLayer
    shortcuts = ["TransformerDecoderLayer"]
    why = "In the middle part alone the two languages meet: each French token asks, and the English ones answer."
    hints = [
        "Three parts in the order of the card, each with the norm of its number.",
        "In the middle one x asks and memory answers: `self.cross_attention(x, memory, memory_mask)`.",
        "Post-norm: `x = self.norm2(x + self.cross_attention(x, memory, memory_mask))`, and the others alike.",
    ]

    def cases(rng):
        def case(b, h, k, t, s, ff, mask=None, memory_mask=None, norm_first=(), dtype="float64"):
            init = (h * k, h, ff, *norm_first)
            state = rng.weights(_shapes(layers.DecoderLayer, *init))
            inputs = rng.normal(b, t, h * k), rng.normal(b, s, h * k), mask, memory_mask
            return Case(inputs, init=init, state=state, dtype=dtype)

        causal = torch.ones(5, 5, dtype=torch.bool).tril()
        return [
            case(2, 3, 2, 5, 7, 11, causal, allowed(rng, 2, 1, 1, 7)),
            case(2, 2, 3, 4, 3, 5, None, None, (True,)),
            case(1, 1, 3, 1, 2, 2),
            case(2, 2, 3, 5, 5, 4, additive(causal), additive(allowed(rng, 5, 5)), (True,), "float32"),
            case(3, 2, 3, 5, 4, 7, causal, allowed(rng, 3, 1, 5, 4), (False,)),
        ]

    properties = [SAME_SHAPE]
    mistakes = [
        mistake(
            "cross-attention reads the decoder",
            _three(cross=lambda self, y, memory, mask: self.cross_attention(y)),
            "Your second attention looks at the decoder again: its keys and values come from memory.",
        ),
        mistake(
            "memory added to itself",
            _three(cross=lambda self, y, memory, mask: self.cross_attention(memory)),
            "In your second attention memory looks at itself: x asks and memory answers, "
            "`self.cross_attention(x, memory, …)`.",
        ),
        mistake(
            "memory asks",
            _three(cross=lambda self, y, memory, mask: self.cross_attention(memory, y)),
            "In your second attention memory asks and x answers: it is x that asks, so x comes first.",
        ),
        mistake(
            "memory first",
            _three(order="csf"),
            "You attend to memory first: self-attention comes first, then memory, then the feed-forward.",
        ),
        mistake(
            "memory first, with its norm",
            _three(order="csf", norms="213"),
            "You attend to memory first: self-attention comes first, with norm1, then memory with norm2.",
        ),
        mistake(
            "memory last",
            _three(order="sfc"),
            "You attend to memory after the feed-forward: it comes between self-attention and feed-forward.",
        ),
        mistake(
            "memory last, with its norm",
            _three(order="sfc", norms="132"),
            "Your feed-forward comes before the attention to memory: it is the last of the three, with norm3.",
        ),
        mistake(
            "feed-forward first",
            _three(order="fsc"),
            "Your feed-forward comes first: it is the last of the three.",
        ),
        mistake(
            "no cross-attention",
            _three(cross_step=lambda self, x, sublayer, norm: x),
            "You never look at memory: after self-attention x attends to it, `self.cross_attention(x, memory, …)`.",
        ),
        mistake(
            "no self-attention",
            _three(self_step=lambda self, x, sublayer, norm: x),
            "Your decoder never looks at itself: self-attention comes first.",
        ),
        mistake(
            "no feed-forward",
            _three(feed_step=lambda self, x, sublayer, norm: x),
            "Your feed-forward is made and never used: it is the last of the three.",
        ),
        mistake(
            "no residual",
            _three(_no_residual, _no_residual, _no_residual),
            "Nothing of x gets past your three parts: add x to what each gives, norm(x + sublayer(x)).",
        ),
        mistake(
            "no residual around self-attention",
            _three(self_step=_no_residual),
            "The residual path around self-attention is missing: norm1(x + self_attention(x)).",
        ),
        mistake(
            "no residual around cross-attention",
            _three(cross_step=_no_residual),
            "The residual path around the attention to memory is missing: what the decoder knew of itself is lost.",
        ),
        mistake(
            "no residual around feed-forward",
            _three(feed_step=_no_residual),
            "The residual path around the feed-forward is missing: norm3(x + feed_forward(x)).",
        ),
        mistake(
            "norm before the sum",
            _three(_norm_inside_post, _norm_inside_post, _norm_inside_post),
            "Without norm_first you norm what the sublayer gives, and then add x: add first, norm(x + sublayer(x)).",
        ),
        mistake(
            "norm before the sum, both ways",
            _three(_norm_inside, _norm_inside, _norm_inside),
            "You norm what the sublayer gives, x + norm(sublayer(x)): the norm comes after the sum, "
            "or with norm_first before the sublayer.",
        ),
        mistake(
            "norm_first ignored",
            _three(_post, _post, _post),
            "norm_first changes nothing in your layer: with it, x + sublayer(norm(x)).",
        ),
        mistake(
            "always norm_first",
            _three(_pre, _pre, _pre),
            "You always norm first: without norm_first it is norm(x + sublayer(x)), as in 2017.",
        ),
        mistake(
            "memory normed",
            _decoder(_memory_normed),
            "With norm_first you norm memory too: it comes as the encoder gave it, and only x is normed.",
        ),
        mistake(
            "no norms",
            _three(_bare, _bare, _bare),
            "Your norms are made and never used: one goes with each of the three parts.",
        ),
        mistake(
            "one norm for all",
            _three(norms="111"),
            "You use norm1 three times: each part has a norm of its own.",
        ),
        mistake(
            "the second norm twice",
            _three(norms="122"),
            "You use norm2 twice: norm3 goes with the feed-forward.",
        ),
        mistake(
            "norms of the second and third exchanged",
            _three(norms="132"),
            "norm2 and norm3 are exchanged: norm2 goes with the attention to memory, norm3 with the feed-forward.",
        ),
        mistake(
            "two norms made",
            _TwoNorms,
            "You made two norms: a decoder layer has three parts, and norm3 goes with the feed-forward.",
        ),
        mistake(
            "one attention made",
            _OneAttention,
            "You made one attention: `self_attention` and `cross_attention` have weights of their own.",
        ),
        mistake(
            "one attention under two names",
            _OneAttentionTwice,
            "Your cross_attention is your self_attention under another name: make two, with weights of their own.",
        ),
        mistake(
            "a mask of its own",
            _decoder(_always_causal),
            "Where no mask is given you make a causal one: the layer uses the masks that it gets, and none is none.",
        ),
        mistake(
            "attentions exchanged",
            _decoder(_attentions_exchanged),
            "You look at x with cross_attention and at memory with self_attention: exchange them.",
        ),
        mistake(
            "mask ignored",
            _decoder(
                lambda self, x, memory, mask=None, memory_mask=None: layers.DecoderLayer.forward(
                    self, x, memory, None, memory_mask
                )
            ),
            "`mask` changes nothing in your layer, so tokens see the future: hand it to self_attention.",
        ),
        mistake(
            "memory_mask ignored",
            _decoder(
                lambda self, x, memory, mask=None, memory_mask=None: layers.DecoderLayer.forward(self, x, memory, mask)
            ),
            "`memory_mask` changes nothing in your layer, so pads of memory are read: hand it to cross_attention.",
        ),
        mistake(
            "both masks ignored",
            _decoder(lambda self, x, memory, mask=None, memory_mask=None: layers.DecoderLayer.forward(self, x, memory)),
            "Your layer uses neither mask: `mask` is for self_attention, `memory_mask` for cross_attention.",
        ),
        mistake(
            "masks exchanged",
            _decoder(_masks_exchanged),
            "Your masks are exchanged: `mask` is for self_attention, `memory_mask` for cross_attention.",
        ),
    ]


# ---- the whole model ----


class _Parts(models.Transformer):
    """The whole model in steps that can be exchanged one by one."""

    def embed(self, embedding, ids):
        return self.positions(embedding(ids) * self.scale)

    def source_mask(self, source):
        return masks.padding(source, self.pad_id)

    memory_mask = source_mask

    def target_mask(self, target):
        return torch.ones(*[target.shape[1]] * 2, dtype=torch.bool, device=target.device).tril()

    def encoded(self, source):
        x = self.embed(self.source_embedding, source)
        for layer in self.encoder:
            x = layer(x, self.source_mask(source))
        return x

    def decoded(self, target, memory, memory_mask):
        x = self.embed(self.target_embedding, target)
        for layer in self.decoder:
            x = layer(x, memory, self.target_mask(target), memory_mask)
        return x

    def forward(self, source, target):
        return self.head(self.decoded(target, self.encoded(source), self.memory_mask(source)))


def _model(**steps):
    return version(_Parts, **steps)


def _position_by_batch(self, embedding, ids):
    x = embedding(ids) * self.scale
    return self.positions(x.transpose(0, 1)).transpose(0, 1)


def _halves(self, embedding, ids):
    x = embedding(ids) * self.scale
    table = self.positions(torch.zeros_like(x[:1]))  # (1, T, D)
    return x + torch.cat([table[..., 0::2], table[..., 1::2]], -1)


def _positions_from_one(self, embedding, ids):
    x = embedding(ids) * self.scale
    return self.positions(F.pad(x, (0, 0, 1, 0)))[:, 1:]


def _layer_by_layer(self, source, target):
    """Each decoder layer reads the encoder layer of its own number."""
    x, y = self.embed(self.source_embedding, source), self.embed(self.target_embedding, target)
    for encoder, decoder in zip(self.encoder, self.decoder, strict=True):
        x = encoder(x, self.source_mask(source))
        y = decoder(y, x, self.target_mask(target), self.memory_mask(source))
    return self.head(y)


def _first_layer_again(self, source):
    x = self.embed(self.source_embedding, source)
    for _ in self.encoder:
        x = self.encoder[0](x, self.source_mask(source))
    return x


def _last_layer_alone(self, source):
    return self.encoder[-1](self.embed(self.source_embedding, source), self.source_mask(source))


def _shifted(self, source, target):
    return _Parts.forward(self, source, F.pad(target, (1, 0), value=1)[:, :-1])


def _zero_is_pad(self, source):
    return masks.padding(source, 0)


def _pads_at_the_end(self, source):
    lengths = (source != self.pad_id).sum(1)[:, None]  # (B, 1)
    return (torch.arange(source.shape[1], device=source.device) < lengths)[:, None, None]  # (B, 1, 1, S)


def _short_table(self, embedding, ids):
    x = embedding(ids) * self.scale
    return x + self.positions(torch.zeros_like(x[:1]))[:, :32]


class _NormFirst(_Parts):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        for layer in (*self.encoder, *self.decoder):
            layer.norm_first = True


def _causal_source(self, source):
    causal = torch.ones(*[source.shape[1]] * 2, dtype=torch.bool, device=source.device).tril()
    return causal & masks.padding(source, self.pad_id)


def _tied_head(self, source, target):
    return self.decoded(target, self.encoded(source), self.memory_mask(source)) @ self.target_embedding.weight.T


class _StackOfModules(_Parts):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.encoder_layers, self.decoder_layers = self.encoder, self.decoder
        del self.encoder, self.decoder


class _NormAtTheEnd(_Parts):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.norm = nn.LayerNorm(sizes[2])


def _at_real_tokens(logits, *given):
    """Logits (B, T, V) where the target is a token: what stands at its pads is nobody's business."""
    target, pad_id = given[-1], given[6] if len(given) == 9 else 0
    return logits.masked_fill((target == pad_id)[..., None], 0)


@exercise("transformer.Transformer", points=5, minutes=30, difficulty=4, ask="module")
class Transformer:
    """The whole model of 2017, from ids of two languages to logits of each next target token.

    Embeddings times √d_model plus sinusoidal positions; n_layers post-norm layers on each side; the last encoder layer
    feeds every decoder layer; then the head. It makes its own masks: source pads (pad_id) are read by nobody, a target
    token reads no later one. Submodules `source_embedding`, `target_embedding`, `encoder` and `decoder` (ModuleLists),
    `head` (with bias). Use what `helpers` has but its Transformer. Logits at pads of the target are not looked at.
    """

    signature = (
        "Transformer(source_vocab: int, target_vocab: int, d_model: int, n_heads: int, d_ff: int, n_layers: int, "
        "pad_id: int = 0)\n"
        "forward(source: Tensor (B, S), target: Tensor (B, T)) -> Tensor (B, T, target_vocab)"
    )
    reference = models.Transformer
    shortcuts = ["Transformer", "TransformerEncoder", "TransformerDecoder"]
    shortcuts += ["TransformerEncoderLayer", "TransformerDecoderLayer"]
    measure = _at_real_tokens
    dtypes = ()  # two of the cases are in float32
    why = "Figure 1 of the paper, whole, with every parameter named: in 06 it learns French."
    hints = [
        "Draw the paper's figure 1 and name the submodule of each box. What goes into each, and which mask?",
        "`helpers.masks.padding(source, pad_id)` serves the encoder and the attention to it; "
        "`torch.ones(T, T).tril().bool()` on the target's device serves the decoder's self-attention.",
        "`x = embedding(ids) * d_model ** 0.5`, then `helpers.positions.SinusoidalPositions(d_model)(x)`; "
        "loop over the encoder's layers, then over the decoder's with the memory you got; head.",
    ]

    def cases(rng):
        def ids(vocab, pad, n, *lengths):
            place, lengths = torch.arange(n), torch.tensor(lengths)[:, None]
            real = torch.where(lengths < 0, place >= n + lengths, place < lengths)  # (B, n); below 0 pads come first
            drawn = rng.integers(0, vocab - 1, len(lengths), n)
            return (drawn + (drawn >= pad)).masked_fill(~real, pad)  # no pad among the tokens

        def case(sizes, n_source, source_lengths, n_target, target_lengths, pad=(), dtype="float64"):
            state = rng.weights(_shapes(models.Transformer, *sizes))
            state |= {n: w * w.shape[-1] ** 0.5 for n, w in state.items() if "embedding" in n}
            source = ids(sizes[0], *pad or (0,), n_source, *source_lengths)
            target = ids(sizes[1], *pad or (0,), n_target, *target_lengths)
            return Case((source, target), init=(*sizes, *pad), state=state, dtype=dtype)

        # A gradient is of all logits, those at pads as well: targets in float64 have none.
        return [
            case((13, 11, 6, 2, 7, 1), 7, (4, -5), 5, (5, 5), (3,)),
            case((10, 14, 9, 3, 5, 2), 4, (2, 4), 6, (6, 1), (6,), "float32"),
            case((7, 5, 4, 2, 3, 1), 50, (50, 41), 46, (46, 9), (2,), "float32"),
            case((9, 12, 5, 1, 4, 1), 2, (1, 2), 1, (1, 1)),
        ]

    properties = [
        holds(
            "logits for each target token",
            lambda y, *given: y.shape == (*given[-1].shape, given[1]),
            "Logits are due for each target token: their shape is (B, T, target_vocab).",
        ),
    ]
    mistakes = [
        mistake(
            "embeddings not scaled",
            _model(embed=lambda self, embedding, ids: self.positions(embedding(ids))),
            "Your embeddings go in as they are: they are multiplied by √d_model first (section 3.4).",
        ),
        mistake(
            "embeddings divided",
            _model(embed=lambda self, embedding, ids: self.positions(embedding(ids) / self.scale)),
            "You divide embeddings by √d_model: they are multiplied by it, so that positions do not drown them.",
        ),
        mistake(
            "embeddings times d_model",
            _model(embed=lambda self, embedding, ids: self.positions(embedding(ids) * self.scale**2)),
            "You multiply embeddings by d_model: its root is due.",
        ),
        mistake(
            "positions scaled too",
            _model(embed=lambda self, embedding, ids: self.positions(embedding(ids)) * self.scale),
            "You scale positions as well: multiply the embedding by √d_model first, then add the positions.",
        ),
        mistake(
            "no positions",
            _model(embed=lambda self, embedding, ids: embedding(ids) * self.scale),
            "Your model knows no order: add sinusoidal positions to both embeddings.",
        ),
        mistake(
            "positions at the source alone",
            _model(
                embed=lambda self, embedding, ids: (
                    self.positions(embedding(ids) * self.scale)
                    if embedding is self.source_embedding
                    else embedding(ids) * self.scale
                )
            ),
            "The target gets no positions: both sides need them.",
        ),
        mistake(
            "positions at the target alone",
            _model(
                embed=lambda self, embedding, ids: (
                    self.positions(embedding(ids) * self.scale)
                    if embedding is self.target_embedding
                    else embedding(ids) * self.scale
                )
            ),
            "The source gets no positions: both sides need them.",
        ),
        mistake(
            "positions by batch",
            _model(embed=_position_by_batch),
            "Your positions run along the batch, so sentence 2 differs from sentence 1: they run along time, axis 1.",
        ),
        mistake(
            "positions from one",
            _model(embed=_positions_from_one),
            "Your positions begin at 1: the first token stands at 0.",
        ),
        mistake(
            "no causal mask",
            _model(target_mask=lambda self, target: None),
            "Your decoder sees the future, so in training it copies the next token: give its self-attention the "
            "causal mask.",
        ),
        mistake(
            "future alone",
            _model(
                target_mask=lambda self, target: (
                    ~torch.ones(*[target.shape[1]] * 2, dtype=torch.bool).tril(-1).to(target.device)
                )
            ),
            "Your causal mask is turned over: a target token reads itself and what came before, `tril()`.",
        ),
        mistake(
            "causal source",
            _model(source_mask=_causal_source),
            "Your encoder is causal: the whole source is there from the start, so each of its tokens may read all.",
        ),
        mistake(
            "source padding attended to",
            _model(source_mask=lambda self, source: None, memory_mask=lambda self, source: None),
            "Pads of the source are read, so a sentence's translation depends on its batch: mask them in the encoder "
            "and in the attention to it.",
        ),
        mistake(
            "source padding attended to by the encoder",
            _model(source_mask=lambda self, source: None),
            "Your encoder reads the pads of its source: give its layers the padding mask.",
        ),
        mistake(
            "source padding attended to by the decoder",
            _model(memory_mask=lambda self, source: None),
            "Your decoder reads the source's pads: hand the padding mask to its layers as memory_mask.",
        ),
        mistake(
            "pad is 0",
            _model(source_mask=_zero_is_pad, memory_mask=_zero_is_pad),
            "You look for 0, whatever the padding token is: compare with `pad_id`.",
        ),
        mistake(
            "pads at the end",
            _model(source_mask=_pads_at_the_end, memory_mask=_pads_at_the_end),
            "You mask as many tokens at the end as there are pads: pads may also stand in front, so compare each "
            "token with `pad_id`.",
        ),
        mistake(
            "table too short",
            _model(embed=_short_table),
            "Your table of positions ends after a few dozen tokens: make it as long as the text that comes.",
        ),
        mistake(
            "norm_first",
            _NormFirst,
            "Your layers norm first: here they are post-norm, as in 2017, so leave norm_first out.",
        ),
        mistake(
            "memory is the embedding",
            _model(encoded=lambda self, source: self.embed(self.source_embedding, source)),
            "Your decoder reads the source's embeddings: it should read what the encoder made of them.",
        ),
        mistake(
            "one encoder layer",
            _model(
                encoded=lambda self, source: self.encoder[0](
                    self.embed(self.source_embedding, source), self.source_mask(source)
                )
            ),
            "Only the first layer of your encoder is used: go through all of them, one after the other.",
        ),
        mistake(
            "each layer starts over",
            _model(encoded=_last_layer_alone),
            "Each of your encoder's layers reads the embeddings, so only the last counts: hand on what the one before "
            "gave.",
        ),
        mistake(
            "one layer's weights",
            _model(encoded=_first_layer_again),
            "You go through your encoder's first layer n_layers times: each layer has weights of its own.",
        ),
        mistake(
            "layer by layer",
            _model(forward=_layer_by_layer),
            "Your decoder's layers read the encoder's layer of the same number: all of them read the last one.",
        ),
        mistake(
            "decoder layers unused",
            _model(decoded=lambda self, target, memory, memory_mask: self.embed(self.target_embedding, target)),
            "Your decoder's layers are never used: target, memory and both masks go through each of them.",
        ),
        mistake(
            "softmax",
            _model(forward=lambda self, source, target: _Parts.forward(self, source, target).softmax(-1)),
            "You give probabilities: logits are due, and the loss takes its own softmax.",
        ),
        mistake(
            "log-softmax",
            _model(forward=lambda self, source, target: _Parts.forward(self, source, target).log_softmax(-1)),
            "You give log-probabilities: logits are due, and the loss takes its own softmax.",
        ),
        mistake(
            "no head",
            _model(
                forward=lambda self, source, target: self.decoded(
                    target, self.encoded(source), self.memory_mask(source)
                )
            ),
            "You give hidden states: the head turns each into target_vocab logits.",
        ),
        mistake(
            "tied head",
            _model(forward=_tied_head),
            "You use the target embedding as head: here the head is a linear layer of its own, with a bias.",
        ),
        mistake(
            "last token alone",
            _model(forward=lambda self, source, target: _Parts.forward(self, source, target)[:, -1]),
            "You give logits for the last token alone: in training each target token is a prediction, (B, T, V).",
        ),
        mistake(
            "shifted inside",
            _model(forward=_shifted),
            "You shift the target inside the model: whoever calls it has done that, so read the target as it comes.",
        ),
        mistake(
            "a norm at the end",
            _NormAtTheEnd,
            "You made a norm for the end: in post-norm each layer ends in one, and no other is on the card.",
        ),
        mistake(
            "other names",
            _StackOfModules,
            "Your stacks are there under other names: on the card they are `encoder` and `decoder`.",
        ),
    ]
