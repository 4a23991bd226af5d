"""Right and wrong answers of 01_attention, written otherwise: scores, attention, roles, additive scores."""

import math

import numpy as np
import torch
from torch.nn import functional as F

# ---- scores ----


def _scores_einsum(q, k):
    return torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5


def _scores_root_of_a_tensor(q, k):
    return torch.matmul(q, k.transpose(-1, -2)) / torch.sqrt(torch.tensor(k.shape[-1]))


def _scores_scaled_first(q, k):
    return (q / np.sqrt(q.shape[-1])) @ k.mT


def _scores_broadcast(q, k):
    return (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1).div(math.sqrt(q.shape[-1]))


def _scores_loop(q, k):
    dot = lambda i, j: (q[..., i, :] * k[..., j, :]).sum(-1)  # noqa: E731
    rows = [torch.stack([dot(i, j) for j in range(k.shape[-2])], -1) for i in range(q.shape[-2])]
    return torch.stack(rows, -2) / q.shape[-1] ** 0.5


def _scores_by_distance(q, k):
    """q·k = (|q|² + |k|² − |q − k|²) / 2."""
    apart = (q[..., :, None, :] - k[..., None, :, :]).square().sum(-1)
    dots = (q.square().sum(-1)[..., None] + k.square().sum(-1)[..., None, :] - apart) / 2
    return dots / q.shape[-1] ** 0.5


# ---- attend ----


def _additive(mask, s):
    if mask is None:
        return torch.zeros_like(s)
    if mask.dtype == torch.bool:
        return torch.zeros_like(s).masked_fill(mask.logical_not(), float("-inf"))
    return mask


def _attend_added(q, k, v, mask=None):
    s = q @ k.mT / math.sqrt(q.shape[-1])
    weights = F.softmax(s + _additive(mask, s), dim=-1)
    return weights @ v, weights


def _attend_where(q, k, v, mask=None):
    s = torch.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        seen = mask if mask.dtype == torch.bool else mask == 0
        s = torch.where(seen, s, torch.full_like(s, -torch.inf))
    weights = torch.softmax(s, -1)
    return torch.einsum("...ij,...jd->...id", weights, v), weights


def _attend_stable_by_hand(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    s = s + _additive(mask, s)
    e = (s - s.max(dim=-1, keepdim=True).values).exp()
    weights = e / e.sum(-1, keepdim=True)
    return weights @ v, weights


def _attend_log(q, k, v, mask=None):
    s = q @ k.mT / q.shape[-1] ** 0.5
    s = s + _additive(mask, s)
    weights = (s - s.logsumexp(-1, keepdim=True)).exp()
    return [weights.matmul(v), weights]


def _attend_renormalised(q, k, v, mask=None):
    """Hidden after the softmax and then shared out anew: the same weights."""
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    if mask is not None:
        weights = weights * (mask if mask.dtype == torch.bool else mask > -1).to(weights.dtype)
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ v, weights


def _attend_large_number(q, k, v, mask=None):
    s = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask if mask.dtype == torch.bool else mask < 0, torch.finfo(s.dtype).min)
    weights = s.softmax(-1)
    return weights @ v, weights


def _attend_rows(q, k, v, mask=None):
    rows = []
    for i in range(q.shape[-2]):
        s = (q[..., i, None, :] * k).sum(-1) / q.shape[-1] ** 0.5
        full = s[..., None, :].expand(*q.shape[:-1], k.shape[-2])
        rows.append((full + _additive(mask, full))[..., i, :].softmax(-1))
    weights = torch.stack(rows, -2)
    return (weights[..., None] * v[..., None, :, :]).sum(-2), weights


def _attention(s, v, mask=None):
    weights = (s + _additive(mask, s)).softmax(-1)
    return weights @ v, weights


def _dots(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5


def _in_place(q, k, v, mask=None):
    q /= q.shape[-1] ** 0.5
    return _attention(q @ k.mT, v, mask)


def _additive_as_boolean(q, k, v, mask=None):
    s = _dots(q, k)
    if mask is not None:
        s = s.masked_fill(~mask.bool(), -torch.inf)
    weights = s.softmax(-1)
    return weights @ v, weights


def _sign_lost(q, k, v, mask=None):
    s = _dots(q, k)
    if mask is not None and mask.dtype != torch.bool:
        mask = -mask
    return _attention(s, v, mask)


def _hidden_by_minus_five(q, k, v, mask=None):
    """Hidden keys keep a small weight."""
    s = _dots(q, k)
    if mask is not None:
        s = s.masked_fill(~mask if mask.dtype == torch.bool else mask < 0, -5.0)
    return _attention(s, v)


def _numpy_attention(q, k, v, mask=None):
    out, weights = _attention(_dots(q, k), v, mask)
    return torch.from_numpy(out.detach().numpy()), torch.from_numpy(weights.detach().numpy())


# ---- additive scores ----


def _additive_einsum(q, k, w_q, w_k, v):
    a = torch.einsum("...qd,dh->...qh", q, w_q)
    b = torch.einsum("...kd,dh->...kh", k, w_k)
    return torch.einsum("...h,h->...", torch.tanh(a.unsqueeze(-2) + b.unsqueeze(-3)), v)


def _additive_key_by_key(q, k, w_q, w_k, v):
    a, b = q @ w_q, k @ w_k
    return torch.stack([torch.tanh(a + b[..., j : j + 1, :]) @ v for j in range(k.shape[-2])], dim=-1)


def _additive_one_layer(q, k, w_q, w_k, v):
    """A layer on [q, k] side by side, for each pair: the same numbers, projected anew each time."""
    tq, tk = q.shape[-2], k.shape[-2]
    left = q[..., :, None, :].expand(*q.shape[:-1], tk, q.shape[-1])
    right = k[..., None, :, :].expand(*k.shape[:-2], tq, *k.shape[-2:])
    return torch.tanh(torch.cat([left, right], -1) @ torch.cat([w_q, w_k])) @ v


def _additive_by_exp(q, k, w_q, w_k, v):
    pairs = (q @ w_q).unsqueeze(-2) + (k @ w_k).unsqueeze(-3)
    return ((2 * torch.sigmoid(2 * pairs) - 1) * v).sum(-1)


def _pairs(q, k, w_q, w_k):
    return (q @ w_q)[..., :, None, :] + (k @ w_k)[..., None, :, :]


VARIANTS = {
    "attention.scores": [
        _scores_einsum,
        _scores_root_of_a_tensor,
        _scores_scaled_first,
        _scores_broadcast,
        _scores_loop,
        _scores_by_distance,
        lambda q, k: (k @ q.mT).mT / q.shape[-1] ** 0.5,
    ],
    "attention.attend": [
        _attend_added,
        _attend_where,
        _attend_stable_by_hand,
        _attend_log,
        _attend_renormalised,
        _attend_large_number,
        _attend_rows,
    ],
    "attention.roles": [
        lambda x, y: {
            "decoder attends to encoder": [x, y, y],
            "x attends to y": [x, y, y],
            "self-attention over x": [x, x, x],
        },
        lambda x, y: (
            dict.fromkeys(["x attends to y", "decoder attends to encoder"], (x, y, y))
            | {"self-attention over x": (x.clone(),) * 3}
        ),
    ],
    "attention.additive_scores": [_additive_einsum, _additive_key_by_key, _additive_one_layer, _additive_by_exp],
}

WRONG = {
    "attention.scores": [
        lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).clamp(-30, 30),
        lambda q, k: q @ k.mT / math.sqrt(q.shape[-1] - 1 + 1e-9),
        lambda q, k: q @ k.mT / q.shape[0] ** 0.5,
        lambda q, k: q @ k.mT // q.shape[-1] ** 0.5,
        lambda q, k: q @ k.mT / math.sqrt(64),
        lambda q, k: q @ k.mT / (q.shape[-2] * k.shape[-2]) ** 0.5,
        lambda q, k: q @ k.mT / q.shape[-1] ** 0.25,
        lambda q, k: q @ k.mT - q.shape[-1] ** 0.5,
        lambda q, k: q @ k / q.shape[-1] ** 0.5,
        lambda q, k: q * k / q.shape[-1] ** 0.5,
        lambda q, k: q @ q.mT / q.shape[-1] ** 0.5,
        lambda q, k: k @ k.mT / q.shape[-1] ** 0.5,
        lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2),
        lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).log_softmax(-1),
        lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).abs(),
        lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).detach(),
        lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).float(),
        lambda q, k: q.mT @ k / q.shape[-1] ** 0.5,
        lambda q, k: -torch.cdist(q, k) / q.shape[-1] ** 0.5,
        lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).tolist(),
        lambda q, k: q @ k.mT / torch.linalg.vector_norm(q, dim=-1, keepdim=True),
        lambda q, k: q.mul_(q.shape[-1] ** -0.5) @ k.mT,
        lambda q, k: torch.tensor((q @ k.mT / q.shape[-1] ** 0.5).tolist(), dtype=q.dtype),
    ],
    "attention.attend": [
        _in_place,
        _additive_as_boolean,
        _sign_lost,
        _hidden_by_minus_five,
        _numpy_attention,
        lambda q, k, v, mask=None: _attention(_dots(q, k).softmax(-1), v, mask),
        lambda q, k, v, mask=None: _attention(_dots(q, k), k, mask),
        lambda q, k, v, mask=None: _attention(_dots(q, v), k, mask),
        lambda q, k, v, mask=None: _attention(_dots(k, q), v, mask),
        lambda q, k, v, mask=None: _attention(_dots(q, k).mT, v, mask),
        lambda q, k, v, mask=None: _attention(_dots(q, k) * 8, v, mask),
        lambda q, k, v, mask=None: _attention(q @ k.mT / k.shape[-2] ** 0.5, v, mask),
        lambda q, k, v, mask=None: _attention(_dots(q, k).argmax(-1, keepdim=True).expand_as(_dots(q, k)) * 1.0, v),
        lambda q, k, v, mask=None: _attention(_dots(q, k), v, mask)[0].float(),
        lambda q, k, v, mask=None: (_attention(_dots(q, k), v, mask)[0], _dots(q, k)),
        lambda q, k, v, mask=None: (_attention(_dots(q, k), v)[0], _attention(_dots(q, k), v, mask)[1]),
        lambda q, k, v, mask=None: (*_attention(_dots(q, k), v, mask), mask),
        lambda q, k, v, mask=None: _attention(_dots(q, k), v, None if mask is None else mask.mT),
        lambda q, k, v, mask=None: _attention(_dots(q, k), v.softmax(-1), mask),
        lambda q, k, v, mask=None: dict(zip("ow", _attention(_dots(q, k), v, mask), strict=True)),
        lambda q, k, v, mask=None: _attention(_dots(q, k).sigmoid().log(), v, mask),
        lambda q, k, v, mask: _attention(_dots(q, k).detach(), v, mask),
        lambda q, k, v, mask=None: _attention(F.dropout(_dots(q, k), 0.5), v, mask),
    ],
    "attention.roles": [
        lambda x, y: {
            "self-attention over x": (x, x, x),
            "x attends to y": (x, y.detach(), y.detach()),
            "decoder attends to encoder": (x, y.detach(), y.detach()),
        },
        lambda x, y: {},
        lambda x, y: {"self-attention over x": (x, x, x)},
        lambda x, y: dict.fromkeys(
            ["self-attention over x", "x attends to y", "decoder attends to encoder"], (y, x, x)
        ),
        lambda x, y: {"self-attention over x": x, "x attends to y": y, "decoder attends to encoder": y},
        lambda x, y: {"self-attention over x": "xxx", "x attends to y": "xyy", "decoder attends to encoder": "xyy"},
        lambda x, y: [(x, x, x), (x, y, y), (x, y, y)],
        lambda x, y: {
            "self-attention over x": (x, x),
            "x attends to y": (x, y),
            "decoder attends to encoder": (x, y),
        },
        lambda x, y: {
            "self-attention over x": (x, x, x),
            "x attends to y": (x, y, y),
            "decoder attends to encoder": (y, y, y),
        },
        lambda x, y: {
            "self-attention over x": (x, x, x),
            "x attends to y": (x, x, x),
            "decoder attends to encoder": (x, y, y),
        },
        lambda x, y: {
            "Self-attention over x": (x, x, x),
            "x attends to y": (x, y, y),
            "decoder attends to encoder": (x, y, y),
        },
    ],
    "attention.additive_scores": [
        lambda q, k, w_q, w_k, v: _pairs(q, k, w_q, w_k).tanh().sum(-1),
        lambda q, k, w_q, w_k, v: _pairs(q, k, w_q, w_k).tanh(),
        lambda q, k, w_q, w_k, v: _pairs(q, k, w_q, w_k).sin() @ v,
        lambda q, k, w_q, w_k, v: _pairs(q, k, w_q, w_k).erf() @ v,
        lambda q, k, w_q, w_k, v: F.gelu(_pairs(q, k, w_q, w_k)) @ v,
        lambda q, k, w_q, w_k, v: _pairs(q, k, w_q, w_k).tanh() @ v.abs(),
        lambda q, k, w_q, w_k, v: _pairs(q, k, w_q, w_k).tanh() @ v / v.norm(),
        lambda q, k, w_q, w_k, v: _pairs(q, k, w_q, -w_k).tanh() @ v,
        lambda q, k, w_q, w_k, v: (_pairs(q, k, w_q, w_k).tanh() @ v).mT,
        lambda q, k, w_q, w_k, v: (_pairs(q, k, w_q, w_k).tanh() @ v).unsqueeze(-1),
        lambda q, k, w_q, w_k, v: (_pairs(q, k, w_q, w_k).tanh() @ v).detach(),
        lambda q, k, w_q, w_k, v: (_pairs(q, k, w_q, w_k).tanh() @ v).float(),
        lambda q, k, w_q, w_k, v: (_pairs(q, k, w_q, w_k) / 2).tanh() @ v,
        lambda q, k, w_q, w_k, v: _pairs(q, k, w_q.mT, w_k.mT).tanh() @ v,
        lambda q, k, w_q, w_k, v: (q @ w_q) @ (k @ w_k).mT,
        lambda q, k, w_q, w_k, v: q @ k.mT / q.shape[-1] ** 0.5,
        lambda q, k, w_q, w_k, v: (_pairs(q, k, w_q, w_k).tanh() @ v).tanh(),
        lambda q, k, w_q, w_k, v: (_pairs(q, k, w_q, w_k).tanh() @ v).log_softmax(-1),
    ],
}
