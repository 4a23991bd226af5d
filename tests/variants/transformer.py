"""Right and wrong answers of 05_parameters, written otherwise: layers and the whole Transformer."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from helpers.attention import MultiHeadAttention

# ---- feed-forward ----


class _UpDown(nn.Module):
    """The two linear layers; each version below differs in forward."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.down = nn.Linear(d_ff, d_model)
        self.up = nn.Linear(d_model, d_ff)


def _feed(forward):
    return type("FeedForward", (_UpDown,), {"forward": forward})


class _InPlaceModule(_UpDown):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.bend = nn.ReLU(inplace=True)
        self.dropout = nn.Dropout(0.1)  # off in evaluation

    def forward(self, x):
        return self.dropout(self.down(self.bend(self.up(x))))


class _ByHand(_UpDown):
    def forward(self, x):
        h = torch.einsum("...d,fd->...f", x, self.up.weight) + self.up.bias
        return h.clamp(min=0) @ self.down.weight.T + self.down.bias


class _OtherNames(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(self.linear1(x).relu())


class _Sequential(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)


class _DoublyWide(_UpDown):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, 2 * d_ff)

    def forward(self, x):
        return self.down(self.up(x).relu())


_forward = _feed(lambda self, x: self.down(F.relu(self.up(x))))

# ---- layers ----


class _Encoder(nn.Module):
    """Everything but forward, with an attention and a feed-forward of its own making."""

    def __init__(self, d_model, n_heads, d_ff, norm_first=False):
        super().__init__()
        self.pre = norm_first
        self.norm2, self.norm1 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = _forward(d_model, d_ff)
        self.attention = MultiHeadAttention(d_model, n_heads)


class _EncoderBranches(_Encoder):
    def forward(self, x, mask=None):
        if self.pre:
            x = x + self.attention(self.norm1(x), mask=mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attention(x, mask=mask))
        return self.norm2(x + self.feed_forward(x))


class _EncoderLoop(_Encoder):
    def forward(self, x, mask=None):
        steps = [(self.norm1, lambda y: self.attention(y, y, mask)), (self.norm2, self.feed_forward)]
        for norm, step in steps:
            before = norm(x) if self.pre else x
            x = x + step(before)
            x = x if self.pre else norm(x)
        return x


class _EncoderFunctional(_Encoder):
    """Norms by their formula, attention through scaled_dot_product_attention."""

    def forward(self, x, mask=None):
        after = (lambda y, norm: y) if self.pre else self._norm
        before = self._norm if self.pre else (lambda y, norm: y)
        x = after(x + self._attend(before(x, self.norm1), mask), self.norm1)
        return after(x + self.feed_forward(before(x, self.norm2)), self.norm2)

    def _norm(self, x, norm):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (x.var(-1, keepdim=True, unbiased=False) + norm.eps).sqrt() * norm.weight + norm.bias

    def _attend(self, x, mask):
        a = self.attention
        q, k, v = (p(x).unflatten(-1, (a.n_heads, -1)).transpose(1, 2) for p in (a.q_proj, a.k_proj, a.v_proj))
        return a.out_proj(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))


class _EncoderWithDropout(_EncoderBranches):
    def __init__(self, d_model, n_heads, d_ff, norm_first=False, dropout=0.1):
        super().__init__(d_model, n_heads, d_ff, norm_first)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        return self.dropout(super().forward(x, mask))


def _encoder(forward, base=_EncoderBranches):
    return type("EncoderLayer", (base,), {"forward": forward})


def _encoder_eps(eps):
    class Layer(_EncoderBranches):
        def __init__(self, d_model, n_heads, d_ff, norm_first=False):
            super().__init__(d_model, n_heads, d_ff, norm_first)
            self.norm1, self.norm2 = nn.LayerNorm(d_model, eps=eps), nn.LayerNorm(d_model, eps=eps)

    return Layer


class _EncoderTorch(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm_first=False):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, 0.0, batch_first=True, norm_first=norm_first)

    def forward(self, x, mask=None):
        return self.layer(x)


class _Decoder(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm_first=False):
        super().__init__()
        self.pre = norm_first
        self.self_attention, self.cross_attention = (MultiHeadAttention(d_model, n_heads) for _ in range(2))
        self.feed_forward = _forward(d_model, d_ff)
        for i in (3, 1, 2):
            setattr(self, f"norm{i}", nn.LayerNorm(d_model))


class _DecoderBranches(_Decoder):
    def forward(self, x, memory, mask=None, memory_mask=None):
        if self.pre:
            x = x + self.self_attention(self.norm1(x), mask=mask)
            x = x + self.cross_attention(self.norm2(x), memory, memory_mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.self_attention(x, mask=mask))
        x = self.norm2(x + self.cross_attention(x, memory, memory_mask))
        return self.norm3(x + self.feed_forward(x))


class _DecoderLoop(_Decoder):
    def forward(self, x, memory, mask=None, memory_mask=None):
        steps = (
            lambda y: self.self_attention(y, None, mask),
            lambda y: self.cross_attention(y, mask=memory_mask, memory=memory),
            self.feed_forward,
        )
        for norm, step in zip((self.norm1, self.norm2, self.norm3), steps, strict=True):
            x = x + step(norm(x)) if self.pre else norm(step(x) + x)
        return x


def _decoder(forward):
    return type("DecoderLayer", (_DecoderBranches,), {"forward": forward})


def _right_decoder(self, x, memory, mask=None, memory_mask=None):
    return _DecoderBranches.forward(self, x, memory, mask, memory_mask)


# ---- the whole model ----


class _Table(nn.Module):
    """Fixed positions kept as a buffer that is not saved."""

    def __init__(self, d_model, longest=64):
        super().__init__()
        t, i = torch.arange(longest, dtype=torch.float64)[:, None], torch.arange(d_model)
        angles = t / 10000.0 ** (2 * (i // 2) / d_model)
        table = torch.where(i % 2 == 0, angles.sin(), angles.cos())
        self.register_buffer("table", table, persistent=False)

    def forward(self, x):
        return x + self.table[: x.shape[1]].to(x.dtype)


class _Whole(nn.Module):
    def __init__(self, source_vocab, target_vocab, d_model, n_heads, d_ff, n_layers, pad_id=0):
        super().__init__()
        self.pad_id, self.d_model, self.n_heads = pad_id, d_model, n_heads
        self.positions = _Table(d_model)
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        self.encoder = nn.ModuleList([_EncoderBranches(d_model, n_heads, d_ff) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([_DecoderLoop(d_model, n_heads, d_ff) for _ in range(n_layers)])
        self.head = nn.Linear(d_model, target_vocab)

    def embed(self, table, ids):
        return self.positions(table(ids) * math.sqrt(self.d_model))

    def seen(self, source):
        return (source != self.pad_id).unsqueeze(1).unsqueeze(2)

    def past(self, target):
        return torch.ones(target.shape[1], target.shape[1], device=target.device).tril().bool()

    def forward(self, source, target):
        x, y = self.embed(self.source_embedding, source), self.embed(self.target_embedding, target)
        for layer in self.encoder:
            x = layer(x, mask=self.seen(source))
        for layer in self.decoder:
            y = layer(y, x, mask=self.past(target), memory_mask=self.seen(source))
        return self.head(y)


class _TargetPadsHidden(_Whole):
    """Pads of the target hidden as well: nothing changes where there are tokens."""

    def past(self, target):
        return super().past(target) & (target != self.pad_id)[:, None, None, :]


class _AdditiveMasks(_Whole):
    def seen(self, source):
        hidden = (source == self.pad_id)[:, None, None, :]
        return torch.zeros(hidden.shape, device=source.device).masked_fill(hidden, -torch.inf)

    def past(self, target):
        n = target.shape[1]
        return torch.full((n, n), -torch.inf, device=target.device).triu(1)


class _PositionsEachTime(_Whole):
    """Sines written out in forward, in the dtype of the embedding."""

    def embed(self, table, ids):
        x = table(ids) * self.d_model**0.5
        t = torch.arange(ids.shape[1], device=x.device, dtype=torch.float64)
        pe = torch.zeros(ids.shape[1], self.d_model, device=x.device, dtype=torch.float64)
        rate = torch.exp(torch.arange(0, self.d_model, 2, device=x.device) * (-math.log(10000.0) / self.d_model))
        pe[:, 0::2] = torch.sin(t[:, None] * rate.double())
        pe[:, 1::2] = torch.cos(t[:, None] * rate.double()[: self.d_model // 2])
        return x + pe.to(x.dtype)


class _SequentialStack(_Whole):
    """A stack as nn.Sequential has the same names."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.encoder, self.decoder = nn.Sequential(*self.encoder), nn.Sequential(*self.decoder)


def _whole(**steps):
    return type("Transformer", (_Whole,), steps)


class _SharedEmbedding(_Whole):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        del self.source_embedding, self.target_embedding
        self.embedding = nn.Embedding(sizes[0], sizes[2])


class _NoHeadBias(_Whole):
    def __init__(self, source_vocab, target_vocab, d_model, *sizes):
        super().__init__(source_vocab, target_vocab, d_model, *sizes)
        self.head = nn.Linear(d_model, target_vocab, bias=False)


class _LearnedPositions(_Whole):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.position = nn.Embedding(64, sizes[2])


class _TableOnTheCpu(_Whole):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.kept = _Table(sizes[2]).table
        self.positions = lambda x: x + self.kept[: x.shape[1]].to(x.dtype)


class _PreNorm(_Whole):
    def __init__(self, source_vocab, target_vocab, d_model, n_heads, d_ff, n_layers, pad_id=0):
        super().__init__(source_vocab, target_vocab, d_model, n_heads, d_ff, n_layers, pad_id)
        for layer in (*self.encoder, *self.decoder):
            layer.pre = True


class _KeepsItsMask(_Whole):
    """The causal mask of the first text, cut to the next one's length."""

    kept = None

    def past(self, target):
        if self.kept is None:
            self.kept = super().past(target)
        n = target.shape[1]
        return self.kept[:n, :n]


class _ThirtyTwo(_Whole):
    def __init__(self, source_vocab, target_vocab, d_model, *sizes):
        super().__init__(source_vocab, target_vocab, d_model, *sizes)
        self.positions = _Table(d_model, 32)


def _lengths(self, source):
    lengths = (source != self.pad_id).sum(1)
    return (torch.arange(source.shape[1], device=source.device) < lengths[:, None])[:, None, None]


def _half_masked(self, source):
    return _Whole.seen(self, source[:1])


VARIANTS = {
    "transformer.FeedForward": [
        _forward,
        _InPlaceModule,
        _ByHand,
        _feed(lambda self, x: self.down(torch.maximum(self.up(x), torch.zeros_like(x[..., :1])))),
        _feed(lambda self, x: torch.stack([self.down(self.up(token).relu()) for token in x.unbind(1)], 1)),
        _feed(lambda self, x: F.linear(F.threshold(self.up(x), 0, 0), self.down.weight, self.down.bias)),
    ],
    "transformer.EncoderLayer": [_EncoderBranches, _EncoderLoop, _EncoderFunctional, _EncoderWithDropout],
    "transformer.DecoderLayer": [_DecoderBranches, _DecoderLoop],
    "transformer.Transformer": [_Whole, _TargetPadsHidden, _PositionsEachTime, _SequentialStack, _AdditiveMasks],
}

WRONG = {
    "transformer.FeedForward": [
        _OtherNames,
        _Sequential,
        _DoublyWide,
        nn.Linear,
        lambda d_model, d_ff: lambda x: x,
        _feed(lambda self, x: x),
        _feed(lambda self, x: self.down(self.up(x).abs())),
        _feed(lambda self, x: self.down(self.up(x).clamp(0, 8))),
        _feed(lambda self, x: self.down(F.dropout(self.up(x).relu(), 0.2))),
        _feed(lambda self, x: self.down(self.up(x).relu().square())),
        _feed(lambda self, x: self.down(self.up(x).clamp(max=0))),
        _feed(lambda self, x: self.down(F.elu(self.up(x)))),
        _feed(lambda self, x: self.down(F.gelu(self.up(x), approximate="tanh"))),
        _feed(lambda self, x: self.down(self.up(x.mean(1, keepdim=True).expand_as(x)).relu())),
        _feed(lambda self, x: self.down(self.up(x).relu().detach())),
        _feed(lambda self, x: self.down(self.up(x.detach()).relu())),
        _feed(lambda self, x: self.down(self.up(x).relu()).float()),
        _feed(lambda self, x: F.dropout(self.down(self.up(x).relu()), 0.1, training=True)),
        _feed(lambda self, x: self.down(self.up(x).relu()) + torch.zeros(x.shape[-1], dtype=x.dtype, device="cpu")),
        _feed(lambda self, x: (self.down(self.up(x).relu()), None)),
        _feed(lambda self, x: self.down(self.up(x).relu()) / self.up.out_features**0.5),
    ],
    "transformer.EncoderLayer": [
        _EncoderTorch,
        _encoder_eps(1e-2),
        _encoder(lambda self, x, mask=None: x),
        _encoder(lambda self, x, mask=None: _EncoderBranches.forward(self, x.detach(), mask)),
        _encoder(lambda self, x, mask=None: _EncoderBranches.forward(self, x, None if mask is None else mask.mT)),
        _encoder(lambda self, x, mask=None: _EncoderBranches.forward(self, x.transpose(0, 1)).transpose(0, 1)),
        _encoder(lambda self, x, mask=None: _EncoderBranches.forward(self, x.flip(1), mask).flip(1)),
        _encoder(lambda self, x, mask=None: self.norm2(_EncoderBranches.forward(self, x, mask))),
        _encoder(lambda self, x, mask=None: _EncoderBranches.forward(self, x, mask) + x),
        _encoder(lambda self, x, mask=None: _EncoderBranches.forward(self, self.norm1(x), mask)),
        _encoder(lambda self, x, mask=None: (_EncoderBranches.forward(self, x, mask), None)),
        _encoder(
            lambda self, x, mask=None: self.norm2(
                self.feed_forward(self.norm1(x + self.attention(x, mask=mask))) * 0.5 + x
            )
        ),
        _encoder(
            lambda self, x, mask=None: _EncoderBranches.forward(
                self, x, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
            )
        ),
    ],
    "transformer.DecoderLayer": [
        _EncoderBranches,
        _decoder(lambda self, x, memory, mask=None, memory_mask=None: x),
        _decoder(lambda self, x, memory, mask=None, memory_mask=None: memory),
        _decoder(lambda self, x, memory, mask=None, memory_mask=None: _right_decoder(self, x, memory.detach(), mask)),
        _decoder(
            lambda self, x, memory, mask=None, memory_mask=None: _right_decoder(
                self, x, memory.detach(), mask, memory_mask
            )
        ),
        _decoder(
            lambda self, x, memory, mask=None, memory_mask=None: _right_decoder(
                self, x, memory, None if mask is None else mask.mT, memory_mask
            )
        ),
        _decoder(
            lambda self, x, memory, mask=None, memory_mask=None: _right_decoder(
                self, x, memory.mean(1, keepdim=True), mask
            )
        ),
        _decoder(
            lambda self, x, memory, mask=None, memory_mask=None: _right_decoder(
                self, x, self.norm1(memory), mask, memory_mask
            )
        ),
        _decoder(
            lambda self, x, memory, mask=None, memory_mask=None: self.norm3(
                _right_decoder(self, x, memory, mask, memory_mask)
            )
        ),
        _decoder(
            lambda self, x, memory, mask=None, memory_mask=None: _right_decoder(
                self, torch.cat([memory, x], 1), memory, None, memory_mask
            )[:, memory.shape[1] :]
        ),
    ],
    "transformer.Transformer": [
        _SharedEmbedding,
        _NoHeadBias,
        _LearnedPositions,
        _TableOnTheCpu,
        _PreNorm,
        nn.Transformer,
        _whole(forward=lambda self, source, target: self.head(self.embed(self.target_embedding, target))),
        _whole(seen=_half_masked),
        _KeepsItsMask,
        _ThirtyTwo,
        _whole(seen=_lengths),
        _whole(seen=lambda self, source: source.bool()[:, None, None, :]),
        _whole(past=lambda self, target: (target != self.pad_id)[:, None, None, :]),
        _whole(past=lambda self, target: torch.ones(target.shape[1], target.shape[1]).tril().bool()),
        _whole(past=lambda self, target: torch.ones([target.shape[1]] * 2, device=target.device).tril(1).bool()),
        _whole(embed=lambda self, table, ids: self.positions(table(ids)) + table(ids) * (self.d_model**0.5 - 1.1)),
        _whole(embed=lambda self, table, ids: self.positions(table(ids).detach() * self.d_model**0.5)),
        _whole(embed=lambda self, table, ids: self.positions(table(ids) * self.n_heads)),
        _whole(forward=lambda self, source, target: _Whole.forward(self, target, source)),
        _whole(forward=lambda self, source, target: _Whole.forward(self, source, target).argmax(-1)),
        _whole(forward=lambda self, source, target: _Whole.forward(self, source, target).transpose(1, 2)),
        _whole(forward=lambda self, source, target: _Whole.forward(self, source, target)[:, 1:]),
        _whole(forward=lambda self, source, target: _Whole.forward(self, source.flip(1), target)),
    ],
}
