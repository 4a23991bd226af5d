"""Masks: who may look at whom.

A boolean mask is True where attention may look; an additive mask is exactly 0 where it may and −inf where it
may not. Both broadcast to (B, H, Tq, Tk): rows are queries, columns are keys.
(Vaswani et al. 2017, section 3.2.3)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor


def additive(allowed: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """The additive twin of a boolean mask, same shape; torch's default dtype unless `dtype` is given."""
    zeros = torch.zeros(allowed.shape, dtype=dtype or torch.get_default_dtype(), device=allowed.device)
    return zeros.masked_fill(~allowed, -math.inf)


def boolean(mask: Tensor) -> Tensor:
    """The boolean twin of an additive mask, same shape; a boolean mask is returned as it is."""
    return mask if mask.dtype == torch.bool else mask > -math.inf


def causal(n: int) -> Tensor:
    """Additive mask (n, n): query i sees key j where j ≤ i."""
    return sliding_window(n, n)


def sliding_window(n: int, window: int) -> Tensor:
    """Additive mask (n, n): query i sees itself and the window − 1 keys before it, 0 ≤ i − j < window."""
    back = torch.arange(n)[:, None] - torch.arange(n)  # (n, n), i − j
    return additive((back >= 0) & (back < window))


def prefix(n: int, n_prefix: int) -> Tensor:
    """Additive mask (n, n): the first n_prefix positions see each other both ways, the rest is causal."""
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return additive((j <= i) | (j < n_prefix))


def padding(ids: Tensor, pad_id: int) -> Tensor:
    """Boolean mask (B, 1, 1, T) for ids (B, T): every query sees the real tokens and no pad."""
    return (ids != pad_id)[:, None, None, :]  # (B, 1, 1, T)


def combine(*masks: Tensor) -> Tensor:
    """One mask that lets through what all let through; boolean if all are boolean, additive otherwise.

    Shapes broadcast. ValueError without a mask.
    """
    if not masks:
        raise ValueError("combine() got no mask: give it at least one.")
    floating = [mask.dtype for mask in masks if mask.dtype != torch.bool]
    result = masks[0]
    for mask in masks[1:]:
        if result.dtype == mask.dtype == torch.bool:
            result = result & mask
        else:
            result = _float(result, floating[0]) + _float(mask, floating[0])
    return result


def _float(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return additive(mask, dtype) if mask.dtype == torch.bool else mask


def to_torch(mask: Tensor) -> Tensor:
    """The same mask for `nn.MultiheadAttention`, where a boolean True is hidden. Shape kept."""
    return ~mask if mask.dtype == torch.bool else mask


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over keys of scores (…, Tq, Tk), under a boolean mask that broadcasts to them.

    A row with nothing to see gives zeros, and a zero gradient: softmax of −inf alone would be 0/0.
    """
    empty = ~mask.any(-1, keepdim=True)  # (…, Tq, 1)
    # Only −inf is exact in every dtype. An empty row gets equal scores first and is emptied after: no 0/0 anywhere.
    hidden = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)  # (…, Tq, Tk)
    weights = hidden.softmax(-1)  # (…, Tq, Tk)
    return weights.masked_fill(empty, 0)


@torch.no_grad()
def leaks_future(model: Callable[[Tensor], Tensor], vocab_size: int, n: int) -> bool:
    """Whether logits of a position change when only later tokens do.

    `model(ids (B, T))` gives logits (B, T, V) for any T ≤ n. It is asked in the mode it is in: dropout
    changes the past as well, and looks like a leak. Every cut between past and future is tried, with every
    token on both sides of it (with as many as are cheap, if the vocabulary is large).
    """
    if n < 2:
        return False
    with torch.device("cpu"):
        ids, is_past = _cuts(vocab_size, n)  # (n, R, n), (n, 1, n)
    device = _device(model)
    ids, is_past = ids.to(device), is_past.to(device)
    for part in ids.split(max(1, 2**24 // (n * n * vocab_size)), dim=1):
        logits = model(part.flatten(0, 1)).unflatten(0, part.shape[:2])  # (n, R, n, V)
        scale = logits.nan_to_num(posinf=0, neginf=0).abs().max()
        same = torch.isclose(logits, logits[:1], rtol=0, atol=_tolerance(scale), equal_nan=True).all(-1)  # (n, R, n)
        if (is_past & ~same).any():
            return True
    return False


def _cuts(vocab_size: int, n: int) -> tuple[Tensor, Tensor]:
    """Sequences (n, R, n) that share row r's past up to each cut and differ after it, and what is past (n, 1, n)."""
    generator = torch.Generator().manual_seed(2017)
    # Rows enough to see most pairs of tokens around some cut, while the n² · V logits of each row are cheap.
    rows = max(2, min(max(64, 2 * vocab_size, 4 * vocab_size**2 // n), 2**21 // (n * n * vocab_size)))
    past, future = (_shuffles(rows, vocab_size, n, generator) for _ in range(2))  # (R, n)
    cut = torch.arange(n)[:, None, None]  # (n, 1, 1): the past is what comes before; cut 0 stands for no cut
    is_past = torch.arange(n) < cut  # (n, 1, n)
    return torch.where(is_past | (cut == 0), past, future), is_past


def _tolerance(scale: Tensor) -> float:
    """Rounding differs with the shape of a product: 1e-5 of the scale in float32, 1e-11 in float64."""
    return float(scale) * torch.finfo(scale.dtype).eps ** 0.7


def _shuffles(rows: int, vocab_size: int, n: int, generator: torch.Generator) -> Tensor:
    """Tokens (rows, n); each column shuffles the vocabulary: few rows show every token everywhere."""
    keys = torch.rand(-(-rows // vocab_size), vocab_size, n, generator=generator)
    return keys.argsort(1).flatten(0, 1)[:rows]  # (rows, n)


def _device(model: Callable) -> torch.device:
    """Where the model's weights live; the default device for a plain function."""
    if isinstance(model, torch.nn.Module):
        for weight in [*model.parameters(), *model.buffers()]:
            return weight.device
    return torch.get_default_device()


def what_becomes_zero(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> dict[str, bool]:
    """What masking turns into exact zeros: "scores", "weights", "values", "output".

    q (…, Tq, d_k), k (…, Tk, d_k), v (…, Tk, d_v). Scores and weights are looked at where the mask blocks,
    values at keys hidden from some query, the output at queries from which some key is hidden.
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, Tq, Tk)
    allowed, scores = torch.broadcast_tensors(boolean(mask), scores)  # (…, Tq, Tk) both
    v = v.expand(*allowed.shape[:-2], *v.shape[-2:])  # (…, Tk, d_v)
    masked = scores.masked_fill(~allowed, -math.inf)
    weights, masked_weights = scores.softmax(-1), masked_softmax(scores, allowed)
    return {
        "scores": _made_zero(scores, masked, ~allowed),
        "weights": _made_zero(weights, masked_weights, ~allowed),
        "values": _made_zero(v, v, ~allowed.all(-2)),  # masking leaves them alone
        "output": _made_zero(weights @ v, masked_weights @ v, ~allowed.all(-1)),
    }


def _made_zero(before: Tensor, after: Tensor, where: Tensor) -> bool:
    return bool((after[where] == 0).all() and (before[where] != 0).any())
