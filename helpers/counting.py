"""Counting parameters and cost. A multiply-add of a matrix product is two FLOPs; nothing else is counted."""

from __future__ import annotations

import math

from torch import nn


def count(model: nn.Module) -> tuple[int, int]:
    """(trainable, frozen) parameters; shared weights once, buffers not at all; works on the meta device."""
    trainable = frozen = 0
    for weight in model.parameters():
        if weight.requires_grad:
            trainable += weight.numel()
        else:
            frozen += weight.numel()
    return trainable, frozen


def score_std(d_k: int) -> float:
    """Standard deviation of q·k, unscaled, for unit normals: √d_k. (Vaswani et al. 2017, footnote 4)"""
    return math.sqrt(d_k)


def dot_cost(n: int, d_k: int) -> int:
    """FLOPs of q kᵀ for n queries and n keys."""
    return 2 * n * n * d_k


def additive_cost(n: int, d_k: int, d_hidden: int) -> int:
    """FLOPs of vᵀ tanh(q w_q + k w_k), n queries and n keys: both projections once each, then v."""
    return 2 * (2 * n * d_k * d_hidden) + 2 * n * n * d_hidden


def head_flops(n: int, d_model: int, n_heads: int) -> int:
    """FLOPs of one multi-head self-attention over n tokens, with its four projections: the heads change nothing."""
    d_k = d_model // n_heads
    projections = 4 * (2 * n * d_model * d_model)
    scores_and_sum = n_heads * 2 * (2 * n * n * d_k)
    return projections + scores_and_sum


def receptive_field(n_layers: int, n_heads: int, residual: bool) -> int:
    """The most inputs whose values can reach one node of argmax attention, choices held fixed.

    A node reads one node below for each head, and itself along the residual path.
    """
    return (n_heads + int(residual)) ** n_layers
