"""Decoding without doing anything twice: keys and values of what was read stay (Pope et al. 2022, section 2.1).

`Cached(model)` stands where a `Transformer` stands in `greedy` and `beam`, and says the same.

Letters for shapes: B batch, S source time, T target time, N new tokens, D d_model, H heads, K d_k, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from helpers import masks
from helpers.attention import MultiHeadAttention, merge_heads, split_heads
from helpers.layers import DecoderLayer
from helpers.models import Transformer, _causal_padding

KeysValues = tuple[Tensor, Tensor]  # (B, H, T, K) each


class Cached:
    """source (B, S), target (B, T) → logits (B, N, V) of the N tokens that are new since the last call.

    A row goes on from the row of the last call that had its source and all of its target but the last token: rows may
    be reordered, repeated or left out, as in beam search. If one has no such row, all begin anew, N = T. No gradients;
    put the model in evaluation mode first.
    """

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.source = self.target = self.memory_mask = torch.empty(0, 0)
        self.own: list[KeysValues] = []  # of each layer, keys and values of the target's tokens so far
        self.crossed: list[KeysValues] = []  # of each layer, those of the source

    @torch.no_grad()
    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        """The new tokens' logits; the last one's are what `greedy` and `beam` ask for."""
        before = self._rows_before(source, target)
        if before is None:
            self._begin(source)
            n_known = 0
        else:
            self._choose(before)
            n_known = target.shape[1] - 1
        self.source, self.target = source, target
        return self._read(target, n_known)

    def _rows_before(self, source: Tensor, target: Tensor) -> Tensor | None:
        """The row (B,) of the last call that each row goes on from; None if there is none for some."""
        past = target[:, :-1]  # (B, T − 1)
        if source.shape[1:] != self.source.shape[1:] or past.shape[1:] != self.target.shape[1:] or not past.shape[1]:
            return None
        now, last = torch.cat([source, past], 1), torch.cat([self.source, self.target], 1)  # (B, S + T − 1), (B', same)
        same = (now[:, None] == last).all(-1)  # (B, B')
        return same.int().argmax(1) if same.any(1).all() else None  # (B,)

    def _begin(self, source: Tensor) -> None:
        memory = self.model.encode(source)  # (B, S, D)
        self.memory_mask = masks.padding(source, self.model.pad_id)  # (B, 1, 1, S)
        self.crossed = [_keys_values(layer.cross_attention, memory) for layer in self.model.decoder]
        empty = [(k[:, :, :0], v[:, :, :0]) for k, v in self.crossed]  # (B, H, 0, K) each
        self.own = empty

    def _choose(self, rows: Tensor) -> None:
        if torch.equal(rows, torch.arange(len(self.source), device=rows.device)):
            return
        self.memory_mask = self.memory_mask[rows]
        self.own, self.crossed = ([(k[rows], v[rows]) for k, v in held] for held in (self.own, self.crossed))

    def _read(self, target: Tensor, n_known: int) -> Tensor:
        """The target's tokens from n_known on, through the decoder: logits (B, N, V)."""
        model = self.model
        mask = _causal_padding(target, model.pad_id)[..., n_known:, :]  # (B, 1, N, T)
        x = model._embed(model.target_embedding, target)[:, n_known:]  # (B, N, D)
        for i, layer in enumerate(model.decoder):
            x = self._layer(i, layer, x, mask)
        return model.head(model.decoder_norm(x))  # (B, N, V)

    def _layer(self, i: int, layer: DecoderLayer, x: Tensor, mask: Tensor) -> Tensor:
        def look_back(x: Tensor) -> Tensor:
            new = _keys_values(layer.self_attention, x)  # (B, H, N, K) each
            self.own[i] = tuple(torch.cat(pair, 2) for pair in zip(self.own[i], new, strict=True))  # (B, H, T, K) each
            return _attend(layer.self_attention, x, self.own[i], mask)

        x = layer._residual(x, layer.norm1, look_back)  # (B, N, D)
        x = layer._residual(
            x, layer.norm2, lambda x: _attend(layer.cross_attention, x, self.crossed[i], self.memory_mask)
        )
        return layer._residual(x, layer.norm3, layer.feed_forward)


def _keys_values(attention: MultiHeadAttention, x: Tensor) -> KeysValues:
    return tuple(split_heads(project(x), attention.n_heads) for project in (attention.k_proj, attention.v_proj))


def _attend(attention: MultiHeadAttention, x: Tensor, keys_values: KeysValues, mask: Tensor) -> Tensor:
    q = split_heads(attention.q_proj(x), attention.n_heads)  # (B, H, N, K)
    return attention.out_proj(merge_heads(F.scaled_dot_product_attention(q, *keys_values, mask)))  # (B, N, D)
