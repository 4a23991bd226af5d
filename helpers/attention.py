"""Attention: explicit, with its weights, and as one fast layer (Vaswani et al. 2017, section 3.2).

Letters for shapes: B batch, T time, D d_model, H heads, K d_k.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.masks import boolean, masked_softmax


def scores(q: Tensor, k: Tensor) -> Tensor:
    """How well each query fits each key: q kᵀ / √d_k, (…, Tq, K) and (…, Tk, K) → (…, Tq, Tk). (Eq. 1)"""
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, Tq, Tk)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Attention written out: output (…, Tq, d_v) and weights (…, Tq, Tk). (Eq. 1)

    The mask is boolean (True: may look) or additive, and broadcasts to the weights. A query with nothing to
    see gets weights and output of zero.
    """
    s = scores(q, k)  # (…, Tq, Tk)
    if mask is None:
        weights = s.softmax(-1)
    else:
        s = s if mask.dtype == torch.bool else s + mask.to(s.dtype)
        weights = masked_softmax(s, boolean(mask))
    return weights @ v, weights  # (…, Tq, d_v), (…, Tq, Tk)


def additive_scores(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
    """vᵀ tanh(q w_q + k w_k) for q (…, Tq, K), k (…, Tk, K), w_q and w_k (K, d_hidden), v (d_hidden,).

    Returns (…, Tq, Tk); needs Tq · Tk · d_hidden numbers on the way. (Bahdanau et al. 2015, appendix A.1.2)
    """
    pairs = (q @ w_q)[..., :, None, :] + (k @ w_k)[..., None, :, :]  # (…, Tq, Tk, d_hidden)
    return pairs.tanh() @ v  # (…, Tq, Tk)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, D) → (B, H, T, K): head h takes the features h·K … (h + 1)·K − 1."""
    _check_heads(x.shape[-1], n_heads)
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)  # (B, H, T, K)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, K) → (B, T, H·K), the inverse of `split_heads`."""
    return x.transpose(-3, -2).flatten(-2)  # (B, T, D)


def _check_heads(d_model: int, n_heads: int) -> None:
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(f"{n_heads} heads cannot share d_model={d_model}: choose n_heads that divides d_model.")


class MultiHeadAttention(nn.Module):
    """Many heads side by side, each on its own slice of projected queries, keys and values. (Section 3.2.2)

    ValueError if n_heads does not divide d_model. `dropout` acts on the weights, while training.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        _check_heads(d_model, n_heads)
        self.n_heads = n_heads
        self.dropout = dropout
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """x (B, Tq, D) attends to memory (B, Tk, D), or to itself; the mask broadcasts to (B, H, Tq, Tk).

        Returns (B, Tq, D). A query with nothing to see gets the output projection's bias.
        """
        q, k, v = self._heads(x, memory)
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.to(q.dtype)
        dropout = self.dropout if self.training else 0.0
        output = F.scaled_dot_product_attention(q, k, v, mask, dropout)  # (B, H, Tq, K)
        return self.out_proj(merge_heads(output))  # (B, Tq, D)

    def weights(self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Who looks at whom, for maps: (B, H, Tq, Tk), without dropout."""
        return attend(*self._heads(x, memory), mask)[1]

    def _heads(self, x: Tensor, memory: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        memory = x if memory is None else memory
        projected = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)  # (B, T, D) each
        return tuple(split_heads(p, self.n_heads) for p in projected)  # (B, H, T, K) each


def roles(x: Tensor, y: Tensor) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
    """Who asks and who answers: (queries' source, keys' source, values' source) of three kinds of attention.

    In "decoder attends to encoder" x is the decoder's state and y the encoder's output. (Section 3.2.3)
    """
    return {
        "self-attention over x": (x, x, x),
        "x attends to y": (x, y, y),
        "decoder attends to encoder": (x, y, y),
    }


def two_patterns(n: int) -> tuple[Tensor, Tensor]:
    """Weights w_q and w_k, each (2, n, n), for inputs X = eye(n).

    With scores (X w_q[h])(X w_k[h])ᵀ/√n, head 0 looks at the token before (row 0 is free), head 1 at
    the first: one layer does both at once.
    """
    sure = (math.log(n) + 7) * math.sqrt(n)  # e⁷ times the weight of all others together: above 0.99
    w_q = torch.zeros(2, n, n)
    w_q[0] = sure * torch.eye(n).roll(-1, dims=1)  # row i points at i − 1
    w_q[1, :, 0] = sure
    return w_q, torch.eye(n).repeat(2, 1, 1)  # (2, n, n) each
