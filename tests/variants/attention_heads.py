"""Right and wrong answers of 01_attention, written otherwise: heads, the layer, two patterns."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

# ---- split and merge ----


def _split_view(x, n_heads):
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).permute(0, 2, 1, 3)


def _split_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def _split_slices(x, n_heads):
    d_k = x.size(-1) // n_heads
    return torch.cat([x[:, None, :, h * d_k : (h + 1) * d_k] for h in range(n_heads)], dim=1)


def _split_token_by_token(x, n_heads):
    return torch.stack([x[:, i].reshape(x.shape[0], n_heads, -1) for i in range(x.shape[1])], dim=2)


def _split_unfold(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return x.unfold(2, d_k, d_k).transpose(1, 2)


def _merge_reshape(x):
    b, h, t, k = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * k)


def _merge_contiguous(x):
    return x.transpose(1, 2).contiguous().view(x.shape[0], x.shape[2], -1)


def _merge_cat(x):
    return torch.cat(x.unbind(1), dim=-1)


def _merge_filled(x):
    b, h, t, k = x.shape
    out = x.new_zeros(b, t, h * k)
    for head in range(h):
        out[..., head * k : (head + 1) * k] = x[:, head]
    return out


# ---- the layer ----


class _Four(nn.Module):
    """Four named projections; each version below differs in forward."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h, self.d_k = n_heads, d_model // n_heads
        for name in ("k_proj", "q_proj", "out_proj", "v_proj"):
            self.add_module(name, nn.Linear(d_model, d_model))

    def cut(self, x):
        return x.view(*x.shape[:2], self.h, self.d_k).transpose(1, 2)  # (B, H, T, K)

    def glue(self, x):
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)  # (B, T, D)

    def qkv(self, x, memory):
        memory = x if memory is None else memory
        return self.cut(self.q_proj(x)), self.cut(self.k_proj(memory)), self.cut(self.v_proj(memory))


class _Fused(_Four):
    def forward(self, x, memory=None, mask=None):
        return self.out_proj(self.glue(F.scaled_dot_product_attention(*self.qkv(x, memory), attn_mask=mask)))


class _HeadByHead(_Four):
    def forward(self, x, memory=None, mask=None):
        memory = memory if memory is not None else x
        q, k, v = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)
        outs = []
        for h in range(self.h):
            part = slice(h * self.d_k, (h + 1) * self.d_k)
            s = q[..., part] @ k[..., part].mT / math.sqrt(self.d_k)  # (B, Tq, Tk)
            if mask is not None:
                m = mask.expand(x.shape[0], self.h, *s.shape[1:])[:, h]
                s = s.masked_fill(~m, -torch.inf) if m.dtype == torch.bool else s + m
            outs.append(s.softmax(-1) @ v[..., part])
        return self.out_proj(torch.cat(outs, -1))


class _Einsum(_Four):
    def forward(self, x, memory=None, mask=None):
        q, k, v = self.qkv(x, memory)
        s = torch.einsum("bhid,bhjd->bhij", q, k) * self.d_k**-0.5
        if mask is not None:
            seen = mask if mask.dtype == torch.bool else mask == 0
            s = torch.where(seen, s, torch.finfo(s.dtype).min)
        out = torch.einsum("bhij,bhjd->bihd", s.softmax(-1), v)
        return self.out_proj(out.flatten(2))


class _FoldedIntoBatch(_Four):
    def forward(self, x, memory=None, mask=None):
        q, k, v = (t.flatten(0, 1) for t in self.qkv(x, memory))  # (B·H, T, K)
        s = torch.bmm(q / self.d_k**0.5, k.mT)
        if mask is not None:
            if mask.dtype == torch.bool:
                mask = torch.zeros_like(mask, dtype=s.dtype).masked_fill(~mask, -torch.inf)
            s = (s.unflatten(0, (-1, self.h)) + mask).flatten(0, 1)
        return self.out_proj(self.glue(torch.bmm(s.softmax(-1), v).unflatten(0, (-1, self.h))))


class _SumOfHeads(_Four):
    """The output projection cut by rows: each head adds its own share."""

    def forward(self, x, memory=None, mask=None):
        out = F.scaled_dot_product_attention(*self.qkv(x, memory), mask)  # (B, H, Tq, K)
        w = self.out_proj.weight.view(-1, self.h, self.d_k)  # (D, H, K)
        return torch.einsum("bhtk,dhk->btd", out, w) + self.out_proj.bias


class _KeepsWeights(_Fused):
    """Extra buffers and attributes are nobody's business."""

    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__(d_model, n_heads)
        self.drop = nn.Dropout(0.1)  # off in evaluation
        self.register_buffer("scale", torch.tensor(self.d_k**-0.5, dtype=torch.float64), persistent=False)

    def forward(self, x, memory=None, mask=None):
        return self.drop(super().forward(x, memory, mask))


def _wrong(score=None, after=None, qkv=None, out=None):
    class Wrong(_Four):
        def forward(self, x, memory=None, mask=None):
            q, k, v = qkv(self, x, memory) if qkv else self.qkv(x, memory)
            s = score(self, q, k) if score else q @ k.mT / self.d_k**0.5
            if mask is not None:
                s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s + mask
            w = s.softmax(-1)
            w = after(w) if after else w
            o = self.glue(w @ v)
            return out(self, o, x) if out else self.out_proj(o)

    return Wrong


class _OtherNames(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, memory=None, mask=None):
        return x


class _OneWideProjection(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.qkv_proj, self.out_proj = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, memory=None, mask=None):
        return self.out_proj(self.qkv_proj(x).chunk(3, -1)[2])


class _OneHeadWide(_Fused):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.q_proj = nn.Linear(d_model, d_model // n_heads)
        self.k_proj = nn.Linear(d_model, d_model // n_heads)


class _ExtraNorm(_Fused):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.norm = nn.LayerNorm(d_model)


class _MaskTransposed(_Fused):
    def forward(self, x, memory=None, mask=None):
        return super().forward(x, memory, None if mask is None else mask.mT)


class _MaskOnlyWithMemory(_Fused):
    def forward(self, x, memory=None, mask=None):
        return super().forward(x, memory, None if memory is None else mask)


class _AlwaysCausal(_Four):
    def forward(self, x, memory=None, mask=None):
        q, k, v = self.qkv(x, memory)
        return self.out_proj(self.glue(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


class _FirstMaskKept(_Fused):
    kept = None

    def forward(self, x, memory=None, mask=None):
        if self.kept is None:
            self.kept = mask
        return super().forward(x, memory, self.kept)


class _Detached(_Fused):
    def forward(self, x, memory=None, mask=None):
        return super().forward(x.detach(), memory, mask)


class _FrozenWeights(_Fused):
    def forward(self, x, memory=None, mask=None):
        with torch.no_grad():
            return super().forward(x, memory, mask)


class _DropoutInEvaluation(_Fused):
    def forward(self, x, memory=None, mask=None):
        return F.dropout(super().forward(x, memory, mask), 0.1, training=True)


class _OwnTensorOnTheCpu(_Fused):
    def forward(self, x, memory=None, mask=None):
        return super().forward(x, memory, mask) + torch.zeros(x.shape[-1], dtype=x.dtype, device="cpu")


# ---- two patterns ----


def _signs(n):
    """Scores by w_q alone; everything else is pushed down in place of lifting one."""
    big = 50.0 * n
    w_q = torch.full((2, n, n), -big)
    for i in range(n):
        w_q[0, i, max(i - 1, 0)] = 0
        w_q[1, i, 0] = 0
    return w_q, torch.stack([torch.eye(n), torch.eye(n)])


def _by_keys(n):
    """Queries are the tokens themselves; each key says who should look at it."""
    w_k = torch.zeros(2, n, n)
    w_k[0] = torch.diag(torch.full((max(n - 1, 0),), 1.0), 1) if n > 1 else torch.zeros(1, 1)
    w_k[1, 0] = 1
    return torch.eye(n).expand(2, n, n) * 40 * n, w_k


def _split_scale(n):
    shift = torch.diag(torch.ones(n - 1), -1)
    first = torch.zeros(n, n)
    first[:, 0] = 1
    root = math.sqrt(1000.0)
    return torch.stack([shift, first]) * root, torch.eye(n).repeat(2, 1, 1) * root


def _by_numpy(n):
    w_q = np.zeros((2, n, n))
    w_q[0, np.arange(1, n), np.arange(n - 1)] = 30 * n
    w_q[1, :, 0] = 30 * n
    return torch.tensor(w_q, dtype=torch.get_default_dtype()), torch.eye(n).repeat(2, 1, 1)


def _scaled(size):
    def two_patterns(n):
        w_q, w_k = _signs(n)
        return (w_q + 50.0 * n) * size / 50 / n, w_k

    return two_patterns


def _without_row(i):
    def two_patterns(n):
        w_q, w_k = _signs(n)
        w_q[0, min(i, n - 1)] = 0
        w_q[1, min(i, n - 1)] = 0
        return w_q, w_k

    return two_patterns


VARIANTS = {
    "attention.split_heads": [_split_view, _split_chunks, _split_slices, _split_token_by_token, _split_unfold],
    "attention.merge_heads": [_merge_reshape, _merge_contiguous, _merge_cat, _merge_filled],
    "attention.MultiHeadAttention": [
        _Fused,
        _HeadByHead,
        _Einsum,
        _FoldedIntoBatch,
        _SumOfHeads,
        _KeepsWeights,
    ],
    "attention.two_patterns": [_signs, _by_keys, _split_scale, _by_numpy, lambda n: list(_signs(n))],
}

WRONG = {
    "attention.split_heads": [
        lambda x, h: x,
        lambda x, h: x.reshape(h, x.shape[0], x.shape[1], -1),
        lambda x, h: x.transpose(1, 2).reshape(x.shape[0], h, x.shape[1], -1),
        lambda x, h: x.transpose(1, 2).unflatten(1, (h, -1)),
        lambda x, h: x.chunk(h, -1)[0],
        lambda x, h: tuple(x.chunk(h, -1)),
        lambda x, h: torch.stack(x.split(h, -1), 1),
        lambda x, h: _split_view(x, h).flip(1),
        lambda x, h: _split_view(x, h).flip(2),
        lambda x, h: _split_view(x, 2),
        lambda x, h: _split_view(x, h).detach(),
        lambda x, h: _split_view(x, h).float(),
        lambda x, h: _split_view(x, h) / h**0.5,
        lambda x, h: _split_view(x, h).mean(1),
        lambda x, h: _split_view(x.roll(1, -1), h),
        lambda x, h: _split_view(x, h)[None],
    ],
    "attention.merge_heads": [
        lambda x: x,
        lambda x: x.flatten(1),
        lambda x: x.flatten(2),
        lambda x: x.transpose(2, 3).flatten(1, 2).mT.flip(-1),
        lambda x: x.permute(0, 3, 2, 1).flatten(2),
        lambda x: x.transpose(1, 2).flatten(0, 1),
        lambda x: x.amax(1),
        lambda x: _merge_cat(x.flip(1)),
        lambda x: _merge_cat(x).flip(1),
        lambda x: _merge_cat(x) / x.shape[1],
        lambda x: _merge_cat(x).detach(),
        lambda x: _merge_cat(x).float(),
        lambda x: list(x.unbind(1)),
        lambda x: torch.cat(x.unbind(0), dim=-1),
        lambda x: torch.stack(x.unbind(1), dim=-1).flatten(2),
    ],
    "attention.MultiHeadAttention": [
        _OtherNames,
        _OneWideProjection,
        _OneHeadWide,
        _ExtraNorm,
        _MaskTransposed,
        _MaskOnlyWithMemory,
        _AlwaysCausal,
        _FirstMaskKept,
        _Detached,
        _FrozenWeights,
        _DropoutInEvaluation,
        _OwnTensorOnTheCpu,
        _wrong(score=lambda self, q, k: q @ k.mT / self.d_k),
        _wrong(score=lambda self, q, k: q @ k.mT / 8),
        _wrong(score=lambda self, q, k: q @ k.mT / k.shape[-2] ** 0.5),
        _wrong(score=lambda self, q, k: (q @ k.mT).relu() / self.d_k**0.5),
        _wrong(score=lambda self, q, k: (q @ k.mT).mean(1, keepdim=True) / self.d_k**0.5),
        _wrong(score=lambda self, q, k: q @ k.mT / self.d_k**0.5 * 1.01),
        _wrong(after=lambda w: w.mean(1, keepdim=True).expand_as(w)),
        _wrong(after=lambda w: w.flip(1)),
        _wrong(after=lambda w: w.softmax(-1)),
        _wrong(qkv=lambda self, x, memory: tuple(reversed(self.qkv(x, memory)))),
        _wrong(qkv=lambda self, x, memory: tuple(t.flip(1) for t in self.qkv(x, memory))),
        _wrong(qkv=lambda self, x, memory: self.qkv(x, x if memory is None else torch.cat([x, memory], 1))),
        _wrong(out=lambda self, o, x: self.out_proj(o).relu()),
        _wrong(out=lambda self, o, x: self.out_proj(self.out_proj(o))),
        _wrong(out=lambda self, o, x: self.v_proj(o)),
        _wrong(out=lambda self, o, x: o @ self.out_proj.weight + self.out_proj.bias),
        _wrong(out=lambda self, o, x: F.linear(o, self.out_proj.weight)),
        _wrong(out=lambda self, o, x: self.out_proj(o).mean(1, keepdim=True)),
        _wrong(out=lambda self, o, x: F.layer_norm(x + self.out_proj(o), x.shape[-1:])),
        lambda d_model, n_heads: _Fused(d_model, 1),
        lambda d_model, n_heads: nn.Linear(d_model, d_model),
        lambda d_model, n_heads: nn.MultiheadAttention(d_model, n_heads, batch_first=True),
        lambda d_model, n_heads: lambda x, memory=None, mask=None: x,
    ],
    "attention.two_patterns": [
        _scaled(0.0),
        _scaled(5.0),
        _scaled(100.0),
        _scaled(-100.0),
        _scaled(float("inf")),
        _without_row(0),
        _without_row(1),
        _without_row(3),
        lambda n: _signs(n)[0],
        lambda n: _signs(n)[::-1],
        lambda n: tuple(t[0] for t in _signs(n)),
        lambda n: tuple(t[:1] for t in _signs(n)),
        lambda n: tuple(t.flip(0) for t in _signs(n)),
        lambda n: (_signs(n)[0].softmax(-1), _signs(n)[1]),
        lambda n: (_signs(6)[0], _signs(6)[1]),
        lambda n: (torch.randn(2, n, n), torch.randn(2, n, n)),
        lambda n: (torch.ones(2, n, n), torch.ones(2, n, n)),
        lambda n: (*_signs(n), None),
        lambda n: (_signs(n)[0].tolist(), _signs(n)[1].tolist()),
    ],
}
