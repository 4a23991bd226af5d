"""How the cost of a layer grows: formulas, and layers written as plain products on which they are measured.

Letters: n tokens, d d_model, k the width of a convolution's kernel, r tokens that restricted attention sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from helpers.counting import head_flops

if TYPE_CHECKING:
    from sympy import Expr

# ---- formulas ----


def table() -> dict[str, tuple[Expr, Expr, Expr]]:
    """(cost, sequential steps, path) of each kind of layer, up to constants, in the symbols n, d, k and r.

    Scores and weighted sum alone for attention; contiguous kernels, so n/k and not log_k n.
    (Vaswani et al. 2017, table 1)
    """
    from sympy import Integer, symbols

    n, d, k, r = symbols("n d k r", positive=True)
    one = Integer(1)
    return {
        "self-attention": (n**2 * d, one, one),
        "recurrent": (n * d**2, n, n),
        "convolutional": (k * n * d**2, one, n / k),
        "restricted self-attention": (r * n * d, one, n / r),
    }


def attention_flops(n: int, d_model: int) -> int:
    """FLOPs of one self-attention over n tokens with its four projections: 8·n·d² + 4·n²·d, exactly."""
    return head_flops(n, d_model, 1)


def encoder_decoder(M: float, N: float, k: float) -> dict[str, float]:
    """Growth of the three attentions over M source and N target tokens of width k, without projections."""
    return {"encoder": M**2 * k, "cross": M * N * k, "decoder": N**2 * k}


def crossover(d_model: int) -> int:
    """The n at which attention's 4·n²·d (scores, weighted sum) equals an Elman layer's 4·n·d² (two products)."""
    return d_model


def weights_memory(batch: int, n_heads: int, n: int, bytes_per_number: int) -> int:
    """Bytes of the attention weights (B, H, n, n) alone."""
    return batch * n_heads * n * n * bytes_per_number


def generation_flops(n: int, d_model: int, cached: bool) -> int:
    """FLOPs of one self-attention layer with projections that generates n tokens one by one, t = 1 … n.

    With a cache step t projects one token and looks at t; without, it does the whole layer over t tokens again.
    """
    if cached:
        return sum(8 * d_model**2 + 4 * t * d_model for t in range(1, n + 1))
    return sum(attention_flops(t, d_model) for t in range(1, n + 1))


# ---- reading measurements ----


def fit_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of the least-squares line through (log size, log cost): the p of cost ≈ c · size^p."""
    x, y = (torch.as_tensor(v, dtype=torch.float64).log() for v in (sizes, costs))
    x = x - x.mean()
    return float(x @ (y - y.mean()) / (x @ x))


def path_length(reads: Tensor) -> int | None:
    """Least number of equal layers, at least one, after which every output depends on every input; None if never.

    reads (n, n) is True where output i of a layer reads input j.
    """
    n = len(reads)
    step = reads.double()
    reached = torch.eye(n, dtype=torch.float64, device=reads.device)
    # A pattern that ever fills up does so within (n − 1)² + 1 layers. (Wielandt 1950)
    for layers in range(1, (n - 1) ** 2 + 2):
        reached = (step @ reached).clamp(max=1)  # (n, n)
        if reached.all():
            return layers
    return None


# ---- layers as plain products ----

Layer = Callable[[Tensor, int], Tensor]


def self_attention(x: Tensor, width: int) -> Tensor:
    """x (n, d) → (n, d): scores and weighted sum, without projections."""
    return (x @ x.T / math.sqrt(x.shape[1])).softmax(-1) @ x  # (n, d)


def recurrent(x: Tensor, width: int) -> Tensor:
    """x (n, d) → (n, d): an Elman layer, h_t = tanh(x_t W + h_{t−1} U), which runs from the last token to the first."""
    w, u = _weight(x, x.shape[1]), _weight(x, x.shape[1])
    h, states = x.new_zeros(1, x.shape[1]), []
    for t in reversed(range(len(x))):
        h = torch.tanh(x[t : t + 1] @ w + h @ u)  # (1, d)
        states.append(h)
    return torch.cat(states[::-1])  # (n, d)


def convolutional(x: Tensor, width: int, dilation: int = 1) -> Tensor:
    """x (n, d) → (n, d): each output reads `width` inputs, itself and those that follow."""
    windows = _windows(x, width, dilation).flatten(1)  # (n, width · d)
    return windows @ _weight(x, windows.shape[1])  # (n, d)


def restricted(x: Tensor, width: int) -> Tensor:
    """x (n, d) → (n, d): attention that sees `width` inputs, itself and those that follow."""
    seen = _windows(x, width)  # (n, width, d)
    weights = (seen @ x[:, :, None] / math.sqrt(x.shape[1])).softmax(1)  # (n, width, 1)
    return (weights.mT @ seen)[:, 0]  # (n, d)


def recurrent_step(x: Tensor, width: int) -> Tensor:
    """x (n, d) → (n, d): how far a recurrent layer carries a signal in one of its steps, one token on."""
    return torch.tanh(_windows(x, 2).sum(1) @ _weight(x, x.shape[1]))  # (n, d)


LAYERS: dict[str, Layer] = {
    "self-attention": self_attention,
    "recurrent": recurrent,
    "convolutional": convolutional,
    "restricted self-attention": restricted,
}


def _weight(x: Tensor, d_in: int) -> Tensor:
    """A matrix (d_in, d) without a zero, so that nothing that could arrive is lost."""
    return x.new_full((d_in, x.shape[1]), 1 / d_in)


def _windows(x: Tensor, width: int, dilation: int = 1) -> Tensor:
    """x (n, d) → (n, width, d): rows i, i + dilation, …; zeros stand behind the end."""
    padded = F.pad(x, (0, 0, 0, (width - 1) * dilation))  # (n + …, d)
    steps = torch.arange(width, device=x.device) * dilation
    return padded[torch.arange(len(x), device=x.device)[:, None] + steps]  # (n, width, d)


# ---- measuring them ----


def measured_flops(layer: Layer, n: int, d: int, width: int = 3) -> int:
    """FLOPs of the layer's products as torch counts them; on the meta device, so nothing is computed."""
    with FlopCounterMode(display=False) as counter:
        layer(torch.empty(n, d, device="meta"), width)
    return counter.get_total_flops()


def waiting_steps(layer: Layer, n: int, d: int = 4, width: int = 3) -> int:
    """Products that must wait for one another: the longest chain of them from an input to an output."""
    output = layer(torch.ones(n, d, device="meta", requires_grad=True), width)
    longest: dict = {}
    for node in _from_the_inputs(output.grad_fn):
        below = max((longest[parent] for parent in _parents(node)), default=0)
        longest[node] = below + ("mmbackward" in node.name().lower())
    return longest[output.grad_fn]


def _parents(node: torch.autograd.graph.Node) -> list:
    return [parent for parent, _ in node.next_functions if parent is not None]


def _from_the_inputs(last: torch.autograd.graph.Node) -> list:
    """All nodes behind `last`, each after the nodes that it waits for."""
    order, done, waiting = [], set(), [(last, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif node not in done:
            done.add(node)
            waiting += [(node, True), *((parent, False) for parent in _parents(node))]
    return order


def layers_to_reach(layer: Layer, n: int, width: int = 3, most: int = 1000) -> int | None:
    """Layers until the first output depends on the last input, by gradient; None if not within `most`."""
    x = hidden = torch.ones(n, 2, dtype=torch.float64, requires_grad=True)
    for layers in range(1, most + 1):
        hidden = layer(hidden, width)
        (gradient,) = torch.autograd.grad(hidden[0].sum(), x, retain_graph=True)  # (n, 2)
        if (gradient[-1] != 0).any():
            return layers
    return None


def dilated_layers_to_reach(n: int, width: int = 3) -> int:
    """The same for a convolution whose dilation is width^0, width^1, …: about log_width n. (Table 1's other row)"""
    x = hidden = torch.ones(n, 2, dtype=torch.float64, requires_grad=True)
    layers = 0
    while layers == 0 or not (torch.autograd.grad(hidden[0].sum(), x, retain_graph=True)[0][-1] != 0).any():
        hidden = convolutional(hidden, width, width**layers)
        layers += 1
    return layers
