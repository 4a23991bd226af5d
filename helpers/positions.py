"""Positions: how a model that treats tokens as a set learns their order.

Letters for shapes: B batch, T time, D d_model, H heads. Pairs of features are (2i, 2i + 1) throughout, and pair i
has the frequency base^(−2i/d_model).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable


def equivariance_gap(layer: Callable[[Tensor], Tensor], x: Tensor, permutation: Tensor) -> float:
    """Greatest absolute difference between layer(x)[:, permutation] and layer(x[:, permutation]).

    x (B, T, D), permutation (T,). Nought up to rounding for a layer that treats tokens as a set.
    """
    with torch.no_grad():
        gap = layer(x)[:, permutation] - layer(x[:, permutation])  # (B, T, D)
    return gap.abs().max().item()


def frequencies(d_model: int, base: float = 10000.0) -> Tensor:
    """One frequency for each pair of features, float64 on the CPU: (⌈D/2⌉,)."""
    # float64: at position 5000 a float32 angle would already be off in the fourth digit.
    return base ** -(torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu") / d_model)


def sinusoidal(n_positions: int, d_model: int, base: float = 10000.0) -> Tensor:
    """The fixed table (n_positions, D): sin(x/base^(2i/D)) at 2i, cos of the same at 2i + 1.

    An odd D ends in a sine. On torch's default device, in its default dtype. (Vaswani et al. 2017, section 3.5)
    """
    table = _sinusoidal(n_positions, d_model, base)  # (n_positions, D)
    return table.to(torch.get_default_dtype()).to(torch.get_default_device())


def _sinusoidal(n_positions: int, d_model: int, base: float = 10000.0) -> Tensor:
    positions = torch.arange(n_positions, dtype=torch.float64, device="cpu")
    angles = positions[:, None] * frequencies(d_model, base)  # (n_positions, ⌈D/2⌉)
    pairs = torch.stack([angles.sin(), angles.cos()], -1)  # (n_positions, ⌈D/2⌉, 2)
    return pairs.flatten(1)[:, :d_model]  # (n_positions, D)


class SinusoidalPositions(nn.Module):
    """x (B, T, D) → x + the fixed table, for any T. Nothing is learned, nothing is saved."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self._table = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) → (B, T, D)."""
        n = x.shape[-2]
        table = self._table
        # Made anew rather than moved, so that the table is exact in every dtype.
        if len(table) < n or (table.dtype, table.device) != (x.dtype, x.device):
            self._table = _sinusoidal(max(n, 256), self.d_model).to(x.dtype).to(x.device)  # (≥ T, D)
        return x + self._table[:n]  # (B, T, D)


class LearnedPositions(nn.Module):
    """x (B, T, D) → x plus one learned vector for each position. (Devlin et al. 2018, section 3)"""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(max_len, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) → (B, T, D); ValueError where T is more than max_len."""
        n, max_len = x.shape[-2], self.embedding.num_embeddings
        if n > max_len:
            raise ValueError(f"{n} tokens, but only {max_len} positions were learned: shorten the input.")
        return x + self.embedding.weight[:n]  # (B, T, D)


def relative_bias(table: Tensor, n: int) -> Tensor:
    """Biases for scores, (H, n, n), from one number for each head and distance, table (H, 2T − 1), n ≤ T.

    bias[h, i, j] = table[h, i − j + T − 1], i the query and j the key; ValueError where n is more than T.
    (Shaw et al. 2018, section 3.2, with scalars in place of vectors as in Raffel et al. 2020, section 2.1)
    """
    reach = (table.shape[-1] + 1) // 2  # T
    if n > reach:
        raise ValueError(f"The table reaches {reach} positions, not {n}: shorten the input.")
    i = torch.arange(n, device=table.device)
    return table[:, i[:, None] - i + reach - 1]  # (H, n, n)


def rotary(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of features of x (…, T, D) by its position/base^(2i/D), positions (T,). (Su et al. 2021, 3.2)

    Dot products then depend on i − j alone, and norms stay. Same shape and dtype; ValueError where D is odd.
    """
    _check_even(x.shape[-1])
    exact = torch.promote_types(x.dtype, torch.float32)
    turn = frequencies(x.shape[-1], base).to(exact).to(x.device)  # (D/2,)
    angles = positions.to(exact)[:, None] * turn  # (T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]  # (…, T, D/2) each
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)  # (…, T, D)


def shift_matrix(k: float, d_model: int, base: float = 10000.0) -> Tensor:
    """The matrix M (D, D) with PE(x + k) = M PE(x) at every x. (Vaswani et al. 2017, section 3.5)

    ValueError where D is odd: the last sine has no cosine to turn with.
    """
    _check_even(d_model)
    angles = k * frequencies(d_model, base)
    cos, sin = angles.cos(), angles.sin()
    blocks = torch.stack([torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2)  # (D/2, 2, 2)
    matrix = torch.block_diag(*blocks)  # (D, D)
    return matrix.to(torch.get_default_dtype()).to(torch.get_default_device())


def similarity(k: float, d_model: int, base: float = 10000.0) -> float:
    """PE(x) · PE(x + k), whatever x is: the sum over pairs of cos(k/base^(2i/D)).

    From cos a cos b + sin a sin b = cos(a − b). ValueError where D is odd.
    """
    _check_even(d_model)
    return (k * frequencies(d_model, base)).cos().sum().item()


def add_or_concat(x_i: Tensor, p_i: Tensor, x_j: Tensor, p_j: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The terms of z_i · z_j, each (…), for z = x + p and for z = [x, p]; tokens x and positions p (…, D).

    "xp" is x_i · p_j, "px" is p_i · x_j: concatenating loses these two. (Ke et al. 2021, section 3.1)
    """
    xx, pp = (x_i * x_j).sum(-1), (p_i * p_j).sum(-1)  # (…)
    xp, px = (x_i * p_j).sum(-1), (p_i * x_j).sum(-1)  # (…)
    return {"xx": xx, "xp": xp, "px": px, "pp": pp}, {"xx": xx, "pp": pp}


def bias_from_concat(q_pos: Tensor, k_pos: Tensor) -> Tensor:
    """What concatenated positions add to unscaled scores: (Tq, Tk) for q_pos (Tq, K) and k_pos (Tk, K)."""
    return q_pos @ k_pos.mT  # (Tq, Tk)


def extra_parameters(max_len: int, n_heads: int) -> int:
    """Numbers that relative biases add to a layer: one for each head and each distance from −(max_len − 1) up.

    Causal attention never looks ahead and would need n_heads · max_len. (Raffel et al. 2020, section 2.1)
    """
    return n_heads * (2 * max_len - 1)


def _check_even(d_model: int) -> None:
    if d_model % 2:
        raise ValueError(f"Features are turned in pairs and d_model={d_model} is odd: choose an even d_model.")
