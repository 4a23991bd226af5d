"""Right and wrong answers of 01_attention, written otherwise: what it costs, how far it reaches."""

import math

import numpy as np
import sympy
import torch
from torch.utils.flop_counter import FlopCounterMode


def _measured(d_k):
    return (torch.randn(100_000, d_k) * torch.randn(100_000, d_k)).sum(-1).std()


def _measured_by_numpy(d_k):
    draws = np.random.default_rng(0)
    return np.std((draws.standard_normal((100_000, d_k)) * draws.standard_normal((100_000, d_k))).sum(1))


def _counted(run):
    with FlopCounterMode(display=False) as counter, torch.device("meta"):
        run()
    return counter.get_total_flops()


def _dot_counted(n, d_k):
    return _counted(lambda: torch.empty(n, d_k) @ torch.empty(d_k, n))


def _additive_counted(n, d_k, d_hidden):
    def run():
        _ = torch.empty(n, d_k) @ torch.empty(d_k, d_hidden)
        _ = torch.empty(n, d_k) @ torch.empty(d_k, d_hidden)
        _ = torch.empty(n * n, d_hidden) @ torch.empty(d_hidden, 1)

    return _counted(run)


def _heads_counted(n, d_model, n_heads):
    def run():
        x, w = torch.empty(n, d_model), torch.empty(d_model, d_model)
        q, k, v, _ = (x @ w for _ in range(4))
        cut = lambda t: t.view(n, n_heads, -1).transpose(0, 1)  # noqa: E731
        _ = (cut(q) @ cut(k).mT) @ cut(v)

    return _counted(run)


def _reach_by_walking(n_layers, n_heads, residual):
    """Every node of an n-ary tree, each one's children numbered apart."""
    nodes = {0}
    for _ in range(n_layers):
        nodes = {node * 100 + branch for node in nodes for branch in range(n_heads + residual)}
    return len(nodes)


def _reach_recursive(n_layers, n_heads, residual):
    if n_layers == 0:
        return 1
    below = _reach_recursive(n_layers - 1, n_heads, residual)
    return n_heads * below + (below if residual else 0)


VARIANTS = {
    "attention.score_std": [
        _measured,
        _measured_by_numpy,
        math.sqrt,
        lambda d_k: sympy.sqrt(d_k),
        lambda d_k: torch.tensor(float(d_k)).sqrt(),
        lambda d_k: d_k**0.5,
    ],
    "attention.dot_cost": [
        _dot_counted,
        lambda n, d_k: sum(2 * d_k for _ in range(n) for _ in range(n)) if n < 100 else 2 * d_k * n**2,
        lambda n, d_k: 2.0 * d_k * n**2,
        lambda n, d_k: np.int64(2) * n * n * d_k,
        lambda n, d_k: sympy.Integer(2) * n**2 * d_k,
        lambda n, d_k: torch.tensor(2 * n * n * d_k),
    ],
    "attention.additive_cost": [
        _additive_counted,
        lambda n, d_k, d_hidden: 2 * n * d_hidden * (2 * d_k + n),
        lambda n, d_k, d_hidden: float(4 * n * d_k * d_hidden) + 2 * n**2 * d_hidden,
    ],
    "attention.head_flops": [
        _heads_counted,
        lambda n, d_model, n_heads: 4 * n * d_model * (2 * d_model + n),
        lambda n, d_model, n_heads: 8 * n * d_model**2 + n_heads * 4 * n**2 * (d_model / n_heads),
    ],
    "attention.receptive_field": [
        _reach_recursive,
        lambda n_layers, n_heads, residual: math.prod([n_heads + 1 if residual else n_heads] * n_layers),
        lambda n_layers, n_heads, residual: (
            _reach_by_walking(n_layers, n_heads, residual) if n_layers < 4 else np.power(n_heads + residual, n_layers)
        ),
    ],
}

WRONG = {
    "attention.score_std": [
        lambda d_k: d_k / 2,
        lambda d_k: math.log(d_k + 1),
        lambda d_k: d_k**0.25,
        lambda d_k: d_k ** (2 / 3),
        lambda d_k: -math.sqrt(d_k),
        lambda d_k: math.sqrt(d_k + 1),
        lambda d_k: 8.0,
        lambda d_k: "sqrt(d_k)",
        lambda d_k: math.sqrt(d_k) * 1.1,
        lambda d_k: torch.randn(1000, d_k).std(),
        lambda d_k: float("nan"),
        lambda d_k: torch.full((3,), d_k**0.5),
        lambda d_k: (torch.randn(100_000, d_k) * torch.randn(100_000, d_k)).sum(-1).abs().mean(),
    ],
    "attention.dot_cost": [
        lambda n, d_k: 2 * n * n * d_k + 1,
        lambda n, d_k: 2 * n**3 * d_k,
        lambda n, d_k: n + d_k,
        lambda n, d_k: 2 * n * n * (d_k + 1),
        lambda n, d_k: 3 * n * n * d_k,
        lambda n, d_k: 2 * (n - 1) * n * d_k,
        lambda n, d_k: 2 * n * n * d_k * (1 + 1e-5),
        lambda n, d_k: f"{2 * n * n * d_k}",
        lambda n, d_k: math.inf,
        lambda n, d_k: -2 * n * n * d_k,
        lambda n, d_k: True,
    ],
    "attention.additive_cost": [
        lambda n, d_k, d_hidden: 2 * (n * d_k * d_hidden + n * d_hidden),
        lambda n, d_k, d_hidden: 8 * n * d_k * d_hidden + 2 * n * n * d_hidden,
        lambda n, d_k, d_hidden: 4 * n * d_k * d_hidden + 2 * n * n,
        lambda n, d_k, d_hidden: 4 * n * d_k * d_hidden + n * n * (2 * d_hidden - 1),
        lambda n, d_k, d_hidden: 4 * n * d_k + 2 * n * n * d_hidden,
        lambda n, d_k, d_hidden: 4 * n * n * d_k * d_hidden,
        lambda n, d_k, d_hidden: 4 * n * d_k * d_hidden + 4 * n * n * d_hidden * d_hidden,
        lambda n, d_k, d_hidden: 6 * n * d_k * d_hidden,
    ],
    "attention.head_flops": [
        lambda n, d_model, n_heads: 8 * n * d_model**2 + 4 * n * n,
        lambda n, d_model, n_heads: 8 * n * d_model**2 + 4 * n * n * n_heads,
        lambda n, d_model, n_heads: 8 * n * n * d_model + 4 * n * d_model**2,
        lambda n, d_model, n_heads: 8 * n * (d_model**2 + d_model) + 4 * n * n * d_model,
        lambda n, d_model, n_heads: 24 * n * d_model**2 + 4 * n * n * d_model,
        lambda n, d_model, n_heads: 8 * d_model**2 + 4 * n * n * d_model,
        lambda n, d_model, n_heads: 8 * n * d_model**2 + 2 * n * (n + 1) * d_model,
        lambda n, d_model, n_heads: 6 * n * d_model**2 // n_heads + 2 * n * d_model**2 + 4 * n * n * d_model,
    ],
    "attention.receptive_field": [
        lambda n_layers, n_heads, residual: math.inf,
        lambda n_layers, n_heads, residual: n_heads * (1 + residual) ** n_layers,
        lambda n_layers, n_heads, residual: (2 * n_heads if residual else n_heads) ** n_layers,
        lambda n_layers, n_heads, residual: n_heads**n_layers + (n_layers if residual else 0),
        lambda n_layers, n_heads, residual: 1,
        lambda n_layers, n_heads, residual: n_heads ** (n_layers + residual),
        lambda n_layers, n_heads, residual: math.comb(n_layers + n_heads, n_heads),
        lambda n_layers, n_heads, residual: (n_heads + residual) ** n_layers + 1,
        lambda n_layers, n_heads, residual: residual,
    ],
}
