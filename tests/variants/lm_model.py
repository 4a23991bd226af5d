"""Right and wrong answers of lm.LanguageModel, written otherwise."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from helpers import masks
from helpers.layers import EncoderLayer
from helpers.positions import LearnedPositions, SinusoidalPositions, sinusoidal


class _Plain(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers, dropout=0.0):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = SinusoidalPositions(d_model)
        self.encoder = nn.ModuleList([EncoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers)])
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        n = ids.shape[1]
        mask = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()
        x = self.drop(self.positions(math.sqrt(self.d_model) * self.embedding(ids)))
        for layer in self.encoder:
            x = layer(x, mask)
        return self.head(x)


class _AdditiveMask(_Plain):
    def forward(self, ids):
        x = self.embedding(ids) * self.d_model**0.5
        x = self.positions(x)
        mask = masks.causal(ids.shape[1]).to(x)
        for i in range(len(self.encoder)):
            x = self.encoder[i](x, mask[None, None])
        return F.linear(x, self.head.weight, self.head.bias)


class _TableEachTime(_Plain):
    def forward(self, ids):
        table = sinusoidal(ids.shape[1], self.d_model).to(self.embedding.weight)
        x = F.embedding(ids, self.embedding.weight).mul(self.d_model**0.5) + table
        i = torch.arange(ids.shape[1], device=ids.device)
        for layer in self.encoder:
            x = layer(x, i[:, None] >= i)
        return self.head(x)


class _TokenByToken(_Plain):
    """Each prefix by itself, without a mask: in a second layer its tokens have seen what came after them."""

    def forward(self, ids):
        kept = []
        for t in range(1, ids.shape[1] + 1):
            x = self.positions(self.embedding(ids[:, :t]) * self.d_model**0.5)
            for layer in self.encoder:
                x = layer(x)
            kept.append(self.head(x[:, -1]))
        return torch.stack(kept, 1)


class _Buffered(_Plain):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
        self.register_buffer("mask", torch.ones(512, 512, dtype=torch.bool).tril(), persistent=False)

    def forward(self, ids):
        n = ids.shape[1]
        x = self.positions(self.embedding(ids) * self.d_model**0.5)
        for layer in self.encoder:
            x = layer(x, self.mask[:n, :n])
        return self.head(x)


class _FixedSize(_Plain):
    def forward(self, ids):
        mask = torch.ones(5, 5, dtype=torch.bool, device=ids.device).tril()
        x = self.positions(self.embedding(ids) * self.d_model**0.5)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.head(x)


class _MaskedOnce(_Plain):
    """The second layer sees the future."""

    def forward(self, ids):
        n = ids.shape[1]
        mask = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()
        x = self.positions(self.embedding(ids) * self.d_model**0.5)
        for layer in self.encoder:
            x = layer(x, mask)
            mask = None
        return self.head(x)


class _CpuMask(_Plain):
    def forward(self, ids):
        n = ids.shape[1]
        x = self.positions(self.embedding(ids) * self.d_model**0.5)
        for layer in self.encoder:
            x = layer(x, torch.ones(n, n).tril().bool())
        return self.head(x)


class _Learned(_Plain):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
        self.positions = LearnedPositions(256, d_model)


class _DropsOut(_Plain):
    def forward(self, ids):
        return F.dropout(super().forward(ids), 0.1)


class _Windowed(_Plain):
    def forward(self, ids):
        n = ids.shape[1]
        i = torch.arange(n, device=ids.device)
        x = self.positions(self.embedding(ids) * self.d_model**0.5)
        for layer in self.encoder:
            x = layer(x, (i[:, None] >= i) & (i[:, None] - i < 4))
        return self.head(x)


class _KeepsItsMask(_Plain):
    def forward(self, ids):
        n = ids.shape[1]
        if not hasattr(self, "mask"):
            self.mask = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()
        x = self.positions(self.embedding(ids) * self.d_model)
        for layer in self.encoder:
            x = layer(x, self.mask)
        return self.head(x)


VARIANTS = {"lm.LanguageModel": [_Plain, _AdditiveMask, _TableEachTime, _Buffered]}

WRONG = {
    "lm.LanguageModel": [
        _FixedSize,
        _TokenByToken,
        _MaskedOnce,
        _CpuMask,
        _Learned,
        _DropsOut,
        _Windowed,
        _KeepsItsMask,
        lambda vocab_size, d_model, n_heads, d_ff, n_layers: nn.Embedding(vocab_size, vocab_size),
        lambda vocab_size, d_model, n_heads, d_ff, n_layers: _Plain(vocab_size, d_model, n_heads, d_ff, n_layers + 1),
        lambda vocab_size, d_model, n_heads, d_ff, n_layers: _Plain(vocab_size, d_model, 1, d_ff, n_layers),
    ]
}
