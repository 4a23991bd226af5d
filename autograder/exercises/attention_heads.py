"""01_attention, continued: many heads side by side."""

import math

import torch
from torch import nn

from autograder.ask import Case
from autograder.exercise import exercise, holds, mistake
from autograder.exercises.attention import INF, additive, allowed, attention_with, hide, zeroed
from helpers import attention
from helpers.attention import MultiHeadAttention as Book
from helpers.attention import attend, merge_heads, split_heads

# ---- splitting and merging ----


@exercise("attention.split_heads", points=2, minutes=8, difficulty=2)
class SplitHeads:
    """(B, T, D) → (B, H, T, K): head h gets the features h·K … (h + 1)·K − 1 of every token, K = D / n_heads."""

    signature = "split_heads(x: Tensor (B, T, D), n_heads: int) -> Tensor (B, n_heads, T, D // n_heads)"
    reference = attention.split_heads
    why = "With heads as one more batch axis, `attend` serves all of them at once and needs no change."
    hints = [
        "Each token's own features are cut, never the sentence. Which axis is that?",
        "Cut the last axis into (n_heads, d_k) where it stands; only then move the heads in front of time.",
        "`x.view(B, T, n_heads, -1).transpose(1, 2)`",
    ]

    def cases(rng):
        return [
            (rng.normal(2, 5, 12), 3),
            (rng.normal(1, 1, 6), 2),
            (rng.normal(2, 7, 5), 1),
            (rng.normal(3, 4, 5), 5),
            (rng.normal(2, 3, 6), 3),
            (rng.normal(3, rng.integer(5, 9), 14), 2),
        ]

    properties = [
        holds(
            "(B, H, T, K)",
            lambda y, x, h: y.shape == (x.shape[0], h, x.shape[1], x.shape[2] // h),
            "The shape due is (B, n_heads, T, d_k): heads right after the batch, then time, and d_k = D / n_heads.",
        ),
        holds(
            "a head keeps to its features",
            lambda y, x, h: torch.equal(y[:, 0], x[..., : x.shape[2] // h]),
            "The shape is right, but head 0 should hold the first d_k features of every token.",
        ),
    ]
    mistakes = [
        mistake(
            "view without transpose",
            lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1),
            "Your shape is right, but the heads cut the sentence: head 0 got whole early tokens in place of a slice of "
            "every token. Cut the last axis first, `view(B, T, n_heads, d_k)`, then `transpose(1, 2)`.",
        ),
        mistake(
            "heads interleaved",
            lambda x, h: x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2),
            "Your heads take every n_heads-th feature; each should take a block of neighbours: cut the last axis into "
            "(n_heads, d_k), in this order.",
        ),
        mistake(
            "time before heads",
            lambda x, h: x.unflatten(-1, (h, -1)),
            "The features are cut well, but time still comes before the heads, so attention would run among the heads "
            "of one token: `transpose(1, 2)`.",
        ),
        mistake(
            "n_heads and d_k exchanged",
            lambda x, h: x.unflatten(-1, (-1, h)).transpose(1, 2),
            "You made d_k heads of width n_heads: it is n_heads that counts the heads.",
        ),
        mistake(
            "time last",
            lambda x, h: x.unflatten(-1, (h, -1)).permute(0, 2, 3, 1),
            "Your last axis is time: it should be the features, (B, H, T, K), so that `attend` finds d_k at the end.",
        ),
        mistake(
            "heads first",
            lambda x, h: torch.stack(x.chunk(h, -1)),
            "The right slices, but the batch comes first, (B, H, T, K), and the heads second: `stack(…, dim=1)`.",
        ),
        mistake(
            "folded into the batch",
            lambda x, h: split_heads(x, h).flatten(0, 1),
            "You folded the heads into the batch, three axes in all: keep them on an axis of their own, (B, H, T, K).",
        ),
        mistake(
            "a list",
            lambda x, h: list(x.chunk(h, -1)),
            "You give a list of heads: one tensor with an axis for them is due, `torch.stack(…, dim=1)`.",
        ),
        mistake(
            "copies, not slices",
            lambda x, h: x[:, None].expand(-1, h, -1, -1),
            "Every head got all D features: heads share them out, d_k = D / n_heads each.",
        ),
    ]


@exercise("attention.merge_heads", points=1, minutes=5, difficulty=2)
class MergeHeads:
    """(B, H, T, K) → (B, T, H·K): the heads of each token side by side again, the inverse of `split_heads`."""

    signature = "merge_heads(x: Tensor (B, H, T, K)) -> Tensor (B, T, H * K)"
    reference = attention.merge_heads
    why = "Split and merged, nothing is lost; between the two each head has gone its own way."
    hints = [
        "Undo `split_heads` step by step, last step first.",
        "Heads and features must be neighbours, in this order, before they can become one axis.",
        "`x.transpose(1, 2).reshape(B, T, H * K)` (`reshape`, since a transposed tensor has no `view` of this shape)",
    ]

    def cases(rng):
        return [
            (rng.normal(2, 3, 5, 4),),
            (rng.normal(1, 1, 1, 6),),
            (rng.normal(2, 1, 7, 5),),
            (rng.normal(3, 4, 1, 2),),
            (rng.normal(2, 3, 3, 3),),
            (rng.normal(3, 2, rng.integer(5, 9), 7),),
        ]

    properties = [
        holds(
            "(B, T, D)",
            lambda y, x: y.shape == (x.shape[0], x.shape[2], x.shape[1] * x.shape[3]),
            "The shape due is (B, T, H·K): a row for each token, with its heads side by side.",
        ),
    ]
    mistakes = [
        mistake(
            "reshape without transposing back",
            lambda x: x.reshape(x.shape[0], x.shape[2], -1),
            "Your shape is right, but each row mixes tokens: heads still stand before time. `transpose(1, 2)` first.",
        ),
        mistake(
            "heads interleaved",
            lambda x: x.permute(0, 2, 3, 1).flatten(-2),
            "You take turns, one feature of each head: put whole heads side by side, axes (B, T, H, K) and then merge.",
        ),
        mistake(
            "not merged",
            lambda x: x.transpose(1, 2),
            "Tokens come before heads, as they should, but the last two axes are still apart: `flatten(-2)`.",
        ),
        mistake(
            "view after transpose",
            lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),
            "A transposed tensor is not contiguous, so `view` refuses: use `reshape`, or `contiguous()` before `view`.",
        ),
        mistake(
            "heads merged with time",
            lambda x: x.flatten(1, 2),
            "You lay the heads one after another in time, H·T rows: it is the features that grow, not the sentence.",
        ),
        mistake(
            "mean of heads",
            lambda x: x.mean(1),
            "You average the heads, so they cannot say different things: keep them side by side, H·K features.",
        ),
        mistake(
            "sum of heads",
            lambda x: x.sum(1),
            "You add the heads up and lose which said what: keep them side by side, H·K features.",
        ),
        mistake(
            "first head",
            lambda x: x[:, 0],
            "You keep head 0 and drop the others: all of them stay, side by side.",
        ),
        mistake(
            "batch and time swapped",
            lambda x: x.permute(2, 0, 1, 3).flatten(-2),
            "You put time before the batch: everything here is batch-first, (B, T, D).",
        ),
    ]


# ---- the layer ----


def layer(
    project=lambda self, x, memory: (self.q_proj(x), self.k_proj(memory), self.v_proj(memory)),
    heads=split_heads,
    attend=attend,
    merge=merge_heads,
    finish=lambda self, out, x: self.out_proj(out),
):
    """The multi-head layer, written out, with one of its steps exchanged."""

    class Layer(Book):
        def forward(self, x, memory=None, mask=None):
            q, k, v = project(self, x, x if memory is None else memory)
            out, _ = attend(heads(q, self.n_heads), heads(k, self.n_heads), heads(v, self.n_heads), mask)
            return finish(self, merge(out), x)

    return Layer


def _cut_by_view(x, n_heads):
    return x.reshape(x.shape[0], n_heads, x.shape[1], -1)


def _merge_by_view(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


def _interleaved(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


def _deinterleaved(x):
    return x.permute(0, 2, 3, 1).flatten(-2)


def _squeezed(s, mask):
    return hide(s, mask if mask is None or mask.dim() < 4 else mask[:, 0])


def _first_head_masked(s, mask):
    return torch.cat([hide(s[:, :1], mask), s[:, 1:]], 1)


class _Bare(Book):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))


class _BatchSecond(layer()):
    def forward(self, x, memory=None, mask=None):
        turn = lambda t: None if t is None else t.transpose(0, 1)  # noqa: E731
        return turn(super().forward(turn(x), turn(memory), mask))


class _WithWeights(layer()):
    def forward(self, x, memory=None, mask=None):
        return super().forward(x, memory, mask), self.weights(x, memory, mask)


@exercise("attention.MultiHeadAttention", points=4, minutes=25, difficulty=4, ask="module")
class MultiHeadAttention:
    """A layer in which n_heads heads attend side by side, each on its own slice of projected queries, keys and values.

    Submodules `q_proj`, `k_proj`, `v_proj`, `out_proj`: linear, with biases. x attends to memory, or to itself without
    one. The mask is None, boolean (True: may look) or additive, and broadcasts to (B, n_heads, Tq, Tk).
    """

    signature = (
        "MultiHeadAttention(d_model: int, n_heads: int)\n"
        "forward(x (B, Tq, d_model), memory=None (B, Tk, d_model), mask=None) -> Tensor (B, Tq, d_model)"
    )
    reference = attention.MultiHeadAttention
    shortcuts = ["MultiheadAttention", "multi_head_attention_forward"]
    why = "This is the layer itself: with the same weights, PyTorch's own gives the same numbers as yours."
    hints = [
        "Five steps: project, split into heads, attend, merge, project. You have written three of them already.",
        "Queries come from x; keys and values both come from memory, or from x without one.",
        "`split_heads(self.q_proj(x), self.n_heads)` and so on; attend; "
        "`self.out_proj(merge_heads(output))`. Each head scales by the root of its own width, d_model / n_heads.",
    ]

    def cases(rng):
        def case(b, h, k, tq, tk=None, mask=None, dtype="float64"):
            with torch.device("meta"):  # names and shapes alone: no first weights are drawn
                shapes = Book(h * k, h)
            x, memory = rng.normal(b, tq, h * k), None if tk is None else rng.normal(b, tk, h * k)
            return Case((x, memory, mask), init=(h * k, h), state=rng.weights(shapes), dtype=dtype)

        # One feature of each head lowers all scores by the same amount: only −inf hides a key from such scores.
        low = case(3, 2, 3, 5, 4, allowed(rng, 3, 1, 1, 4))
        for name, size in (("q_proj", 400), ("k_proj", -500)):
            low.state[f"{name}.weight"][::3], low.state[f"{name}.bias"][::3] = 0, size
        return [
            case(2, 3, 4, 5, 7, allowed(rng, 2, 1, 5, 7)),
            case(2, 2, 5, 5, 5),
            case(2, 2, 3, 5, None, additive(allowed(rng, 2, 1, 5, 5)), "float32"),
            case(1, 1, 4, 1),
            low,
            case(2, 3, 4, 5, None, allowed(rng, 5, 5)),
        ]

    properties = [
        holds(
            "a row for each query",
            lambda y, d_model, n_heads, x, memory=None, mask=None: y.shape == x.shape,
            "The output has a row of d_model numbers for each token of x: its shape is the shape of x.",
        ),
    ]
    mistakes = [
        mistake(
            "scaled by √d_model",
            layer(attend=lambda q, k, v, mask: attend(q / q.shape[1] ** 0.5, k, v, mask)),
            "Each head compares vectors of length d_k = d_model / n_heads: divide its scores by √d_k, not by √d_model.",
        ),
        mistake(
            "no scale",
            layer(attend=attention_with(score=lambda q, k: q @ k.mT)),
            "Your scores are bare dot products: divide them by √d_k, where d_k = d_model / n_heads.",
        ),
        mistake(
            "divided by d_k",
            layer(attend=attention_with(score=lambda q, k: q @ k.mT / q.shape[-1])),
            "You divide scores by d_k: the spread of a dot product is its root, so divide by √d_k.",
        ),
        mistake(
            "divided by √n_heads",
            layer(attend=attention_with(score=lambda q, k: q @ k.mT / q.shape[1] ** 0.5)),
            "You divide scores by the root of the number of heads: a head's vectors have length d_k, so √d_k.",
        ),
        mistake(
            "no output projection",
            layer(finish=lambda self, out, x: out),
            "The heads' outputs are laid side by side but never mixed: send them through out_proj at the end.",
        ),
        mistake(
            "x added",
            layer(finish=lambda self, out, x: x + self.out_proj(out)),
            "You add x to the output: the residual path belongs to the layer around this one.",
        ),
        mistake(
            "values from x",
            layer(project=lambda self, x, memory: (self.q_proj(x), self.k_proj(memory), self.v_proj(x))),
            "Your values come from x: keys and values both come from memory, whose tokens are the ones looked at.",
        ),
        mistake(
            "keys from x",
            layer(project=lambda self, x, memory: (self.q_proj(x), self.k_proj(x), self.v_proj(memory))),
            "Your keys come from x: keys and values both come from memory, whose tokens are the ones looked at.",
        ),
        mistake(
            "memory ignored",
            layer(project=lambda self, x, memory: (self.q_proj(x), self.k_proj(x), self.v_proj(x))),
            "You never look at memory: where there is one, keys and values come from it, and x gives only the queries.",
        ),
        mistake(
            "memory asks",
            layer(project=lambda self, x, memory: (self.q_proj(memory), self.k_proj(x), self.v_proj(x))),
            "In your layer memory asks and x answers: x attends to memory, so x gives the queries, "
            "memory the keys and values.",
        ),
        mistake(
            "queries from memory",
            layer(project=lambda self, x, memory: (self.q_proj(memory), self.k_proj(memory), self.v_proj(memory))),
            "Your queries come from memory too, so x never asks: x attends to memory, a row of output for each token "
            "of x.",
        ),
        mistake(
            "keys through q_proj",
            layer(project=lambda self, x, memory: (self.q_proj(x), self.q_proj(memory), self.v_proj(memory))),
            "Your keys go through q_proj, like the queries: k_proj is theirs, or 'who looks' and 'what is found' "
            "would be one and the same.",
        ),
        mistake(
            "one projection for all",
            layer(project=lambda self, x, memory: (self.q_proj(x), self.q_proj(memory), self.q_proj(memory))),
            "You send queries, keys and values all through q_proj: k_proj and v_proj are there for the other two.",
        ),
        mistake(
            "projections of queries and keys exchanged",
            layer(project=lambda self, x, memory: (self.k_proj(x), self.q_proj(memory), self.v_proj(memory))),
            "You send queries through k_proj and keys through q_proj: exchange them.",
        ),
        mistake(
            "values not projected",
            layer(project=lambda self, x, memory: (self.q_proj(x), self.k_proj(memory), memory)),
            "Your values go in as they are: v_proj says what a token hands over, so send them through it.",
        ),
        mistake(
            "heads by view",
            layer(heads=_cut_by_view),
            "Your heads cut through time: split the last axis into (n_heads, d_k) first, then swap time and heads.",
        ),
        mistake(
            "merged by view",
            layer(merge=_merge_by_view),
            "You merge heads while they still stand before time, so tokens get mixed: `transpose(1, 2)`, then merge.",
        ),
        mistake(
            "split and merged by view",
            layer(heads=_cut_by_view, merge=_merge_by_view),
            "You split and merge by `view` alone. The shapes fit, but your heads cut through time, and a token looks "
            "at parts of its neighbours: swap time and heads after the split, and back before the merge.",
        ),
        mistake(
            "heads interleaved",
            layer(heads=_interleaved, merge=_deinterleaved),
            "Your heads take every n_heads-th feature: each head takes a block of d_k neighbours, "
            "so cut the last axis into (n_heads, d_k), in this order.",
        ),
        mistake(
            "time before heads",
            layer(heads=lambda x, h: x.unflatten(-1, (h, -1)), merge=lambda x: x.flatten(-2)),
            "Time still comes before heads when you attend, so the heads of one token look at each other: "
            "swap the two, `transpose(1, 2)`.",
        ),
        mistake(
            "a single head",
            layer(heads=lambda x, h: split_heads(x, 1)),
            "You attend once over all d_model features: split into n_heads heads first, each with weights of its own.",
        ),
        mistake(
            "one head's weights reused",
            layer(attend=lambda q, k, v, mask: attend(q[:, :1], k[:, :1], v, None if mask is None else mask)),
            "Your heads all use the weights of head 0: each has queries and keys of its own, and so its own weights.",
        ),
        mistake(
            "softmax over the queries",
            layer(attend=attention_with(weigh=lambda s: s.softmax(-2))),
            "Your softmax runs over the queries: keys compete for a query, so it runs over the last axis.",
        ),
        mistake(
            "softmax over the heads",
            layer(attend=attention_with(weigh=lambda s: s.softmax(1))),
            "Your softmax runs over axis 1, which are the heads here: it is the keys, the last axis, that compete.",
        ),
        mistake(
            "mask ignored",
            layer(attend=lambda q, k, v, mask: attend(q, k, v)),
            "The mask changes nothing in your layer: hand it on to where the scores are, before the softmax.",
        ),
        mistake(
            "mask inverted",
            layer(
                attend=lambda q, k, v, mask: attend(
                    q, k, v, ~mask if mask is not None and not mask.is_floating_point() else mask
                )
            ),
            "You hide what should be seen: True means 'may look' here, the opposite of `nn.MultiheadAttention`.",
        ),
        mistake(
            "boolean mask added",
            layer(attend=attention_with(hide=lambda s, mask: s if mask is None else s + mask)),
            "You add a boolean mask to the scores: that adds 1 where one may look and hides nothing. "
            "Put −inf where it is False.",
        ),
        mistake(
            "hidden where the mask is 0",
            layer(attend=attention_with(hide=lambda s, m: s if m is None else s.masked_fill(m == 0, -INF))),
            "`mask == 0` finds what a boolean mask hides, but in an additive mask 0 is what may be seen: "
            "ask `mask.dtype` first, and add an additive mask.",
        ),
        mistake(
            "boolean masks only",
            layer(attend=attention_with(hide=lambda s, m: s if m is None else s.masked_fill(~m, -INF))),
            "`~mask` exists for booleans only: an additive mask is added to the scores. Ask `mask.dtype` first.",
        ),
        mistake(
            "a number not low enough",
            layer(
                attend=attention_with(
                    hide=lambda s, m: s.masked_fill(~m, -1e4) if m is not None and m.dtype == torch.bool else hide(s, m)
                )
            ),
            "You hide keys with a number that is only large: where all scores are lower still, it is the hidden keys "
            "that are read. Fill −inf in.",
        ),
        mistake(
            "mask after the softmax",
            layer(attend=attention_with(hide=lambda s, mask: s, after=zeroed)),
            "You hide keys after the softmax, so the rest no longer sums to one: mask the scores, then the softmax.",
        ),
        mistake(
            "mask not broadcast over heads",
            layer(attend=attention_with(hide=_squeezed)),
            "You take the heads' axis off the mask, so its batch lines up with the heads: leave (B, 1, Tq, Tk), "
            "and the 1 broadcasts over all heads.",
        ),
        mistake(
            "first head masked",
            layer(attend=attention_with(hide=_first_head_masked)),
            "The mask hides keys from head 0 only: it holds for all heads, which broadcasting does by itself.",
        ),
        mistake(
            "no biases",
            _Bare,
            "Your projections have no biases and the exercise's do: leave `bias=False` out.",
        ),
        mistake(
            "batch second",
            _BatchSecond,
            "You take the first axis for time: everything here is batch-first, (B, T, D).",
        ),
        mistake(
            "weights returned too",
            _WithWeights,
            "You return the weights as well, as `nn.MultiheadAttention` does: here the output alone is due.",
        ),
    ]


# ---- what heads are for ----


def _patterns(w_q, w_k):
    """Attention weights of the two heads on inputs eye(n), (2, n, n)."""
    return (w_q @ w_k.mT / w_q.shape[-1] ** 0.5).softmax(-1)


def where_they_look(answer, n):
    """For each head and query (2, n, n): 2 at a key of weight ≥ 0.99, else 1 at the heaviest; one row is free."""
    weights = _patterns(*answer)
    code = (weights == weights.amax(-1, keepdim=True)).long() + (weights >= 0.99)
    code[0, 0] = 0
    return code


def _pair(head_0, head_1):
    """w_q and w_k for two heads; each head is a function of n that gives scores (n, n)."""

    def two_patterns(n):
        return torch.stack([head_0(n), head_1(n)]), torch.eye(n).repeat(2, 1, 1)

    return two_patterns


def _sure(n):
    return (math.log(n) + 7) * n**0.5


def _previous(n):
    return _sure(n) * torch.eye(n).roll(-1, dims=1)


def _next(n):
    return _sure(n) * torch.eye(n).roll(1, dims=1)


def _itself(n):
    return _sure(n) * torch.eye(n)


def _column(j):
    def head(n):
        made = torch.zeros(n, n)
        made[:, j] = _sure(n)
        return made

    return head


def _first_row(n):
    return _column(0)(n).T


def _times(size, head):
    return lambda n: size(n) * head(n) / _sure(n)


_first, _last = _column(0), _column(-1)


def _all_before(n):
    return torch.zeros(n, n).masked_fill(torch.ones(n, n).tril(-1) == 1, _sure(n))


@exercise("attention.two_patterns", points=3, minutes=20, difficulty=4)
class TwoPatterns:
    """Weights by hand: head 0 puts at least 0.99 on the token before, head 1 at least 0.99 on the first token.

    The inputs are X = eye(n), so token i is the unit vector i; head h's scores are (X w_q[h])(X w_k[h])ᵀ/√n, and its
    weights their softmax over the last axis. Row 0 of head 0, which has nothing before it, is free.
    """

    signature = "two_patterns(n: int) -> tuple[Tensor (2, n, n), Tensor (2, n, n)], w_q and w_k"
    reference = attention.two_patterns
    unique = False
    measure = where_they_look
    gradient = False
    why = "One layer looks at two places at once, where a single head's softmax would have to share itself out."
    hints = [
        "With X = eye(n) row i of w_q[h] *is* the query of token i, and row j of w_k[h] the key of token j.",
        "Let the keys be eye(n): then w_q[h] is the table of scores (but for √n), and you draw it as you like.",
        "One large entry in each row does it: at i − 1 for head 0, in column 0 for head 1. How large, "
        "if n − 1 others share less than 0.01 and √n divides it?",
    ]

    def cases(rng):
        return [(6,), (1,), (2,), (3,), (rng.integer(7, 12),), (rng.integer(200, 240),), (rng.integer(20, 50),)]

    properties = [
        holds(
            "two tensors (2, n, n)",
            lambda code, n: code.shape == (2, n, n),
            "Two tensors are due, w_q and w_k, each (2, n, n): a matrix for each head, in torch's default dtype.",
        ),
        holds(
            "no NaN",
            lambda code, n: code.amax(-1).sum() >= 2 * n - 1,
            "There is NaN in your weights: inf times 0 is NaN, so draw with large numbers that are finite.",
        ),
        holds(
            "head 0 prefers the token before",
            lambda code, n: (code[0].diagonal(-1) > 0).all() and (code[0, 1:] > 0).sum() == n - 1,
            "Head 0 should look at the token before: its weights are largest at (i, i − 1), just below the diagonal, "
            "and nowhere else.",
        ),
        holds(
            "head 1 prefers the first token",
            lambda code, n: (code[1, :, 0] > 0).all() and (code[1] > 0).sum() == n,
            "Head 1 should look at the first token: in every row its weight is largest in column 0, and nowhere else.",
        ),
        holds(
            "they are sure",
            lambda code, n: (code[0].diagonal(-1) == 2).all() and (code[1, :, 0] == 2).all(),
            "Both heads look at the right places but not firmly enough for 0.99: the √n divides your scores, and n − 1 "
            "other tokens share what is left, so make the entries larger as n grows.",
        ),
    ]
    mistakes = [
        mistake(
            "next token",
            _pair(_next, _first),
            "Your head 0 looks at the token *after*: rows are queries, so row i has its large entry in column i − 1.",
        ),
        mistake(
            "itself",
            _pair(_itself, _first),
            "Your head 0 makes each token look at itself: move the large entries one to the left, to (i, i − 1).",
        ),
        mistake(
            "all before",
            _pair(_all_before, _first),
            "Your head 0 spreads over all tokens before: only the one just before counts, one large entry in each row.",
        ),
        mistake(
            "heads exchanged",
            _pair(_first, _previous),
            "Both patterns are there, in each other's place: head 0 is the token before, head 1 the first token.",
        ),
        mistake(
            "heads exchanged, row 0 free in both",
            _pair(_first, lambda n: _previous(n).tril()),
            "Both patterns are right, but their order is not: the token before belongs to head 0, the first to head 1.",
        ),
        mistake(
            "both themselves",
            _pair(_itself, _itself),
            "Both heads make each token look at itself: equal queries and keys always do. Give them different tables.",
        ),
        mistake(
            "last token",
            _pair(_previous, _last),
            "Your head 1 looks at the last token: the first is column 0.",
        ),
        mistake(
            "first row",
            _pair(_previous, _first_row),
            "In head 1 you filled row 0, which only gives the first token strong questions: rows are queries, "
            "so it is column 0 that every row must prefer.",
        ),
        mistake(
            "transposed",
            _pair(lambda n: _previous(n).T, _first_row),
            "Both your tables lie on their side: rows are queries, columns are keys. Exchange w_q and w_k.",
        ),
        mistake(
            "only the first token looks at the first",
            _pair(_previous, lambda n: _sure(n) * torch.eye(n)[0].diag()),
            "In head 1 only token 0 looks at the first token: every row needs its large entry in column 0.",
        ),
        mistake(
            "both heads the same",
            _pair(_previous, _previous),
            "Your two heads do the same: head 1 should look at the first token, from everywhere.",
        ),
        mistake(
            "both heads at the first",
            _pair(_first, _first),
            "Your two heads both look at the first token: head 0 should look at the one just before.",
        ),
        mistake(
            "ones",
            _pair(_times(lambda n: 1.0, _previous), _times(lambda n: 1.0, _first)),
            "You look at the right places, but faintly, and the others get most of the weight: 1 becomes 1/√n, "
            "and e to that is hardly more than 1. Make the entries large.",
        ),
        mistake(
            "√n forgotten",
            _pair(_times(lambda n: math.log(n) + 7, _previous), _times(lambda n: math.log(n) + 7, _first)),
            "Your entries are large enough for short texts only: scores are divided by √n, so multiply by it.",
        ),
    ]
