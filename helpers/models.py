"""Whole models: the Transformer of 2017, a causal language model, a classifier with the same body, and BERT.

Letters for shapes: B batch, S source time, T time, D d_model, V vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers import masks
from helpers.layers import Activation, DecoderLayer, EncoderLayer
from helpers.positions import LearnedPositions, SinusoidalPositions


def start_at(embedding: nn.Embedding, size: float) -> None:
    """First weights N(0, size²). Embeddings that are then multiplied by √D start at 1/√D, so that they meet positions
    of their own size: at unit normals they would be √D times as large, and words would drown their order.
    """
    with torch.no_grad():
        embedding.weight.mul_(size)


class Transformer(nn.Module):
    """Encoder and decoder for translation; makes its own masks. (Vaswani et al. 2017, figure 1)

    Embeddings times √d_model plus sinusoidal positions; a head of its own. With norm_first each stack ends in a
    norm, without which nothing would be normalised at its end. ValueError if n_heads does not divide d_model.
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        pad_id: int = 0,
        norm_first: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.scale = math.sqrt(d_model)
        layer = d_model, n_heads, d_ff, norm_first, dropout
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        start_at(self.source_embedding, 1 / self.scale)
        start_at(self.target_embedding, 1 / self.scale)
        self.positions = SinusoidalPositions(d_model)
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*layer) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*layer) for _ in range(n_layers))
        self.encoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.head = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Ids (B, S) and (B, T) → logits (B, T, V) of the token that follows each target token."""
        return self.decode(target, self.encode(source), source)

    def encode(self, source: Tensor) -> Tensor:
        """Ids (B, S) → memory (B, S, D); pads are seen by nobody."""
        mask = masks.padding(source, self.pad_id)  # (B, 1, 1, S)
        x = self._embed(self.source_embedding, source)  # (B, S, D)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Ids (B, T), memory (B, S, D) and the source ids (B, S) that it comes from → logits (B, T, V)."""
        memory_mask = masks.padding(source, self.pad_id)  # (B, 1, 1, S)
        mask = _causal_padding(target, self.pad_id)  # (B, 1, T, T)
        x = self._embed(self.target_embedding, target)  # (B, T, D)
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask)
        return self.head(self.decoder_norm(x))  # (B, T, V)

    def _embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        return self.dropout(self.positions(embedding(ids) * self.scale))


def _causal_padding(ids: Tensor, pad_id: int | None) -> Tensor:
    """Boolean (T, T), or (B, 1, T, T) where there are pads to hide."""
    n = ids.shape[1]
    causal = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()  # (T, T)
    return causal if pad_id is None else causal & masks.padding(ids, pad_id)


class Body(nn.Module):
    """What a language model and its classifier share: embeddings, positions, and a causal stack of layers.

    As in the 2017 paper: embeddings times √d_model, sinusoidal positions, post-norm, no norm at the end. With
    `max_len` positions are learned and embeddings are left as they are, and with norm_first the stack ends in a
    norm: both as in GPT-2 (Radford et al. 2019, section 2.3). ValueError if n_heads does not divide d_model.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Activation = F.relu,
        max_len: int | None = None,
    ) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model) if max_len is None else 1.0
        self.embedding = nn.Embedding(vocab_size, d_model)
        start_at(self.embedding, 1 / self.scale)
        self.positions = SinusoidalPositions(d_model) if max_len is None else LearnedPositions(max_len, d_model)
        self.dropout = nn.Dropout(dropout)
        layer = d_model, n_heads, d_ff, norm_first, dropout, activation
        self.encoder = nn.ModuleList(EncoderLayer(*layer) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def hidden(self, ids: Tensor, pad_id: int | None = None) -> Tensor:
        """Ids (B, T) → hidden states (B, T, D), each of which has read itself and what came before."""
        mask = _causal_padding(ids, pad_id)  # (T, T) or (B, 1, T, T)
        x = self.dropout(self.positions(self.embedding(ids) * self.scale))  # (B, T, D)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.norm(x)


def start_small(module: nn.Module) -> None:
    """First weights N(0, 0.02²), biases 0: an embedding that is a head too must not begin with unit normals, or the
    untrained model is sure of nonsense. (Radford et al. 2018, section 4.1; as in BERT's code)
    """
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


class LanguageModel(Body):
    """A causal language model: `Body` and a head. `tie` uses the embedding as head, then without a bias."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Activation = F.relu,
        max_len: int | None = None,
        tie: bool = False,
    ) -> None:
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers, dropout, norm_first, activation, max_len)
        self.head = nn.Linear(d_model, vocab_size, bias=not tie)
        if tie:
            self.head.weight = self.embedding.weight
            self.apply(start_small)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T) → logits (B, T, V) of the token that follows each."""
        return self.head(self.hidden(ids))  # (B, T, V)


class Classifier(Body):
    """A language model's body that reads a text to its end and then says its class. Pads stand on the right."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        n_classes: int,
        pad_id: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers, dropout)
        self.pad_id = pad_id
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, T) → logits (B, n_classes), read from the last real token."""
        hidden = self.hidden(ids, self.pad_id)  # (B, T, D)
        return self.head(pool(hidden, ids != self.pad_id, "last"))  # (B, n_classes)


def pool(hidden: Tensor, padding_mask: Tensor, how: str) -> Tensor:
    """One vector (B, D) from hidden (B, T, D): the "last", the "first" or the "mean" of the real tokens.

    padding_mask (B, T) is True at real tokens; pads may stand on either side. A row of pads alone gives zeros.
    ValueError for another `how`.
    """
    if how == "last":
        chosen = padding_mask & (padding_mask.flip(-1).cumsum(-1).flip(-1) == 1)  # (B, T)
    elif how == "first":
        chosen = padding_mask & (padding_mask.cumsum(-1) == 1)  # (B, T)
    elif how == "mean":
        chosen = padding_mask
    else:
        raise ValueError(f'pool() knows "last", "first" and "mean", not {how!r}.')
    # The others are emptied, not multiplied by 0: 0 · inf would be NaN.
    total = hidden.masked_fill(~chosen[..., None], 0).sum(1)  # (B, D)
    return total / chosen.sum(-1, keepdim=True).clamp(min=1)  # (B, D)


class BertEmbeddings(nn.Module):
    """Token + position + segment, then a norm. (Devlin et al. 2018, section 3, figure 2)"""

    def __init__(self, vocab_size: int, d_model: int, max_len: int, n_segments: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.position = nn.Embedding(max_len, d_model)
        self.segment = nn.Embedding(n_segments, d_model)
        self.norm = nn.LayerNorm(d_model, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, segment_ids: Tensor) -> Tensor:
        """Ids and segment ids (B, T) → (B, T, D); ValueError where T is more than max_len."""
        n, max_len = ids.shape[1], self.position.num_embeddings
        if n > max_len:
            raise ValueError(f"{n} tokens, but only {max_len} positions were learned: shorten the input.")
        x = self.token(ids) + self.segment(segment_ids) + self.position.weight[:n]  # (B, T, D)
        return self.dropout(self.norm(x))


class Bert(nn.Module):
    """BERT with both heads, masked tokens and next sentence. (Devlin et al. 2018, sections 3 and 3.1, A.2)

    Body: `embeddings encoder pooler`; heads: `transform transform_norm token_head`, whose weight is the token
    embedding's, and `next_head`. With `causal` each token reads itself and what comes before it: the left-to-right
    twin (section 5.1). ValueError if n_heads does not divide d_model.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        max_len: int,
        dropout: float = 0.0,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.causal = causal
        layer = d_model, n_heads, d_ff, False, dropout, F.gelu, 1e-12
        self.embeddings = BertEmbeddings(vocab_size, d_model, max_len, dropout=dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*layer) for _ in range(n_layers))
        self.pooler = nn.Linear(d_model, d_model)
        self.transform = nn.Linear(d_model, d_model)
        self.transform_norm = nn.LayerNorm(d_model, eps=1e-12)
        self.token_head = nn.Linear(d_model, vocab_size)
        self.token_head.weight = self.embeddings.token.weight
        self.next_head = nn.Linear(d_model, 2)
        self.apply(start_small)

    def forward(
        self, ids: Tensor, segment_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Ids, segment ids and attention mask (1 at real tokens), (B, T) each → logits (B, T, V) and (B, 2).

        Without segment ids all are 0; without attention mask all tokens are real.
        """
        x = self.hidden(ids, segment_ids, attention_mask)  # (B, T, D)
        tokens = self.token_head(self.transform_norm(F.gelu(self.transform(x))))  # (B, T, V)
        return tokens, self.next_head(self.pooler(x[:, 0]).tanh())  # (B, T, V), (B, 2)

    def hidden(self, ids: Tensor, segment_ids: Tensor | None = None, attention_mask: Tensor | None = None) -> Tensor:
        """The same arguments → hidden states (B, T, D)."""
        segment_ids = torch.zeros_like(ids) if segment_ids is None else segment_ids
        mask = None if attention_mask is None else attention_mask.bool()[:, None, None, :]  # (B, 1, 1, T)
        if self.causal:
            n = ids.shape[1]
            past = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()  # (T, T)
            mask = past if mask is None else mask & past  # (B, 1, T, T)
        x = self.embeddings(ids, segment_ids)  # (B, T, D)
        for layer in self.encoder:
            x = layer(x, mask)
        return x
