"""Right and wrong answers of bert.Embeddings and bert.Bert, written otherwise."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.layers import EncoderLayer
from helpers.models import BertEmbeddings


class _Plain(nn.Module):
    def __init__(self, vocab_size, d_model, max_len, n_segments=2, dropout=0.0):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.position = nn.Embedding(max_len, d_model)
        self.segment = nn.Embedding(n_segments, d_model)
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, ids, segment_ids):
        places = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        return self.drop(self.norm(self.token(ids) + self.position(places) + self.segment(segment_ids)))


class _Sliced(_Plain):
    def forward(self, ids, segment_ids):
        x = F.embedding(ids, self.token.weight) + self.position.weight[: ids.size(1)].unsqueeze(0)
        one_hot = F.one_hot(segment_ids, self.segment.num_embeddings).to(x)
        return F.layer_norm(x + one_hot @ self.segment.weight, x.shape[-1:], self.norm.weight, self.norm.bias)


class _Buffered(_Plain):
    """Places in a buffer, and the norm by hand."""

    def __init__(self, vocab_size, d_model, max_len, n_segments=2):
        super().__init__(vocab_size, d_model, max_len, n_segments)
        self.register_buffer("places", torch.arange(max_len), persistent=False)

    def forward(self, ids, segment_ids):
        x = self.segment(segment_ids) + self.token(ids) + self.position(self.places[: ids.shape[1]])
        x = x - x.mean(-1, keepdim=True)
        return x / x.square().mean(-1, keepdim=True).sqrt() * self.norm.weight + self.norm.bias


class _Mean(_Plain):
    """The mean is a third of the sum, and the norm takes that back."""

    def __init__(self, vocab_size, d_model, max_len, n_segments=2):
        super().__init__(vocab_size, d_model, max_len, n_segments)
        self.norm = nn.LayerNorm(d_model, eps=1e-12)

    def forward(self, ids, segment_ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        three = [self.token(ids), self.position(places).expand(len(ids), -1, -1), self.segment(segment_ids)]
        return self.norm(torch.stack(three).mean(0))


def _other(forward):
    return type("Embeddings", (_Plain,), {"forward": forward})


class _KeepsItsPlaces(_Plain):
    def forward(self, ids, segment_ids):
        if not hasattr(self, "places"):
            self.places = torch.arange(ids.shape[1], device=ids.device)
        return self.norm(self.token(ids) + self.position(self.places) + self.segment(segment_ids))


class _OtherNames(_Plain):
    def __init__(self, vocab_size, d_model, max_len, n_segments=2):
        super().__init__(vocab_size, d_model, max_len, n_segments)
        self.word, self.layer_norm = self.token, self.norm
        del self.token, self.norm


# ---- the model ----


class _Bert(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers, max_len, dropout=0.0):
        super().__init__()
        self.embeddings = BertEmbeddings(vocab_size, d_model, max_len)
        self.encoder = nn.ModuleList()
        for _ in range(n_layers):
            self.encoder.append(EncoderLayer(d_model, n_heads, d_ff, dropout=dropout, activation=F.gelu))
        self.transform = nn.Linear(d_model, d_model)
        self.transform_norm = nn.LayerNorm(d_model)
        self.token_head = nn.Linear(d_model, vocab_size)
        self.token_head.weight = self.embeddings.token.weight
        self.pooler = nn.Linear(d_model, d_model)
        self.next_head = nn.Linear(d_model, 2)

    def forward(self, ids, segment_ids, attention_mask):
        mask = (attention_mask != 0).unsqueeze(1).unsqueeze(2)
        x = self.embeddings(ids, segment_ids)
        for layer in self.encoder:
            x = layer(x, mask)
        tokens = self.token_head(self.transform_norm(F.gelu(self.transform(x))))
        return tokens, self.next_head(torch.tanh(self.pooler(x[:, 0, :])))


class _Additive(_Bert):
    """An additive mask, all square; a list for a pair."""

    def forward(self, ids, segment_ids, attention_mask):
        x = self.embeddings(ids, segment_ids)
        hidden = torch.zeros_like(x[:, None, :1, :1]).expand(-1, -1, ids.shape[1], ids.shape[1])
        hidden = hidden.masked_fill(attention_mask[:, None, None, :] == 0, float("-inf"))
        for layer in self.encoder:
            x = layer(x, hidden)
        y = self.transform(x)
        y = y * 0.5 * (1 + torch.erf(y / 2**0.5))
        first = x.select(1, 0)
        return [F.linear(self.transform_norm(y), self.embeddings.token.weight, self.token_head.bias),
                self.next_head(self.pooler(first).tanh())]  # fmt: skip


class _HeadFirst(_Bert):
    """The head is made first, and the embedding takes its weight."""

    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers, max_len):
        nn.Module.__init__(self)
        self.token_head = nn.Linear(d_model, vocab_size)
        self.next_head, self.pooler = nn.Linear(d_model, 2), nn.Linear(d_model, d_model)
        self.transform, self.transform_norm = nn.Linear(d_model, d_model), nn.LayerNorm(d_model, 1e-12)
        self.encoder = nn.ModuleList(
            EncoderLayer(d_model, n_heads, d_ff, activation=nn.functional.gelu, norm_eps=1e-12) for _ in range(n_layers)
        )
        self.embeddings = BertEmbeddings(vocab_size, d_model, max_len)
        self.embeddings.token.weight = self.token_head.weight


class _PadsBlind(_Bert):
    """Padding reads only itself, which nobody looks at."""

    def forward(self, ids, segment_ids, attention_mask):
        same = attention_mask[:, :, None] == attention_mask[:, None, :]
        x = self.embeddings(ids, segment_ids)
        for layer in self.encoder:
            x = layer(x, same[:, None])
        tokens = self.token_head(self.transform_norm(F.gelu(self.transform(x))))
        return tokens, self.next_head(torch.tanh(self.pooler(x[:, 0])))


def _after(change):
    def forward(self, ids, segment_ids, attention_mask):
        return change(*_Bert.forward(self, ids, segment_ids, attention_mask))

    return type("Bert", (_Bert,), {"forward": forward})


def _before(change):
    def forward(self, ids, segment_ids, attention_mask):
        return _Bert.forward(self, *change(ids, segment_ids, attention_mask))

    return type("Bert", (_Bert,), {"forward": forward})


class _KeepsItsMask(_Bert):
    def forward(self, ids, segment_ids, attention_mask):
        if not hasattr(self, "mask"):
            self.mask = attention_mask
        return super().forward(ids, segment_ids, self.mask)


class _OtherBody(_Bert):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.layers = self.encoder
        del self.encoder


VARIANTS = {
    "bert.Embeddings": [_Plain, _Sliced, _Buffered, _Mean],
    "bert.Bert": [_Bert, _Additive, _HeadFirst, _PadsBlind],
}

WRONG = {
    "bert.Embeddings": [
        _KeepsItsPlaces,
        _OtherNames,
        _other(lambda self, ids, s: F.dropout(_Plain.forward(self, ids, s), 0.1)),
        _other(lambda self, ids, s: _Plain.forward(self, ids, s.roll(1, 1))),
        _other(lambda self, ids, s: _Plain.forward(self, ids, s).detach()),
        _other(
            lambda self, ids, s: self.norm(self.token(ids) * self.position.weight[: ids.shape[1]] + self.segment(s))
        ),
        _other(lambda self, ids, s: self.norm(self.token(ids) + self.position.weight + self.segment(s))),
        _other(
            lambda self, ids, s: self.norm(self.token(ids) + self.position.weight[-ids.shape[1] :] + self.segment(s))
        ),
        _other(lambda self, ids, s: _Plain.forward(self, ids, s).transpose(0, 1)),
        _other(lambda self, ids, s: _Plain.forward(self, ids, s).relu()),
    ],
    "bert.Bert": [
        _KeepsItsMask,
        _OtherBody,
        _after(lambda tokens, following: (tokens.argmax(-1), following)),
        _after(lambda tokens, following: (tokens, following.flip(-1))),
        _after(lambda tokens, following: (tokens.detach(), following)),
        _after(lambda tokens, following: (F.dropout(tokens, 0.1), following)),
        _after(lambda tokens, following: (tokens[:, 1:], following)),
        _after(lambda tokens, following: {"tokens": tokens, "next": following}),
        _before(lambda ids, segments, mask: (ids, 1 - segments, mask)),
        _before(lambda ids, segments, mask: (ids, mask, mask)),
        _before(lambda ids, segments, mask: (ids * mask, segments, torch.ones_like(mask))),
        _before(lambda ids, segments, mask: (ids, segments, mask.cummax(1).values * mask[:1])),
        lambda vocab_size, d_model, n_heads, d_ff, n_layers, max_len: _Bert(
            vocab_size, d_model, 1, d_ff, n_layers, max_len
        ),
        lambda vocab_size, d_model, n_heads, d_ff, n_layers, max_len: _Bert(
            vocab_size, d_model, n_heads, d_ff, 1, max_len
        ),
    ],
}
