"""How many parameters a Transformer has: closed forms, and a ledger that holds them against real modules.

Linear layers have biases; a norm has a gain and a bias; fixed positions have nothing to learn.
Letters: V vocab_size, D d_model.
"""

from __future__ import annotations

import torch
from torch import nn

from helpers import config
from helpers.counting import count
from helpers.models import Bert, LanguageModel, Transformer

# ---- closed forms ----


def embedding(vocab_size: int, d_model: int) -> int:
    """One vector for each token of the vocabulary: V·D."""
    return vocab_size * d_model


def attention(d_model: int, n_heads: int) -> int:
    """Four projections with biases: 4·(D² + D). Heads share D out, so their number changes nothing."""
    return 4 * (d_model**2 + d_model)


def feed_forward(d_model: int, d_ff: int) -> int:
    """D → d_ff → D, each with its bias."""
    return (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)


def layer_norm(d_model: int) -> int:
    """A gain and a bias: 2·D."""
    return 2 * d_model


def encoder_layer(d_model: int, d_ff: int, n_heads: int) -> int:
    """One attention, one feed-forward, and a norm after each."""
    return attention(d_model, n_heads) + feed_forward(d_model, d_ff) + 2 * layer_norm(d_model)


def decoder_layer(d_model: int, d_ff: int, n_heads: int) -> int:
    """Two attentions, one feed-forward, and a norm after each."""
    return 2 * attention(d_model, n_heads) + feed_forward(d_model, d_ff) + 3 * layer_norm(d_model)


def language_model(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int) -> int:
    """Embedding, encoder and an untied head with bias; fixed positions and no norm at the end."""
    return body(vocab_size, d_model, d_ff, n_layers, n_heads) + d_model * vocab_size + vocab_size


def classifier(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_classes: int, n_heads: int) -> int:
    """The same body under a head with bias for n_classes."""
    return body(vocab_size, d_model, d_ff, n_layers, n_heads) + d_model * n_classes + n_classes


def body(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int) -> int:
    """What a language model and a classifier share: all but the head."""
    return embedding(vocab_size, d_model) + n_layers * encoder_layer(d_model, d_ff, n_heads)


def audit() -> dict:
    """The line of a published count that does not add up, with what it should be: in one layer, and four layers' sum.

    With 400 for the norms, as published, (160,800 + 80,400 + 400) · 4 is 966,400 and not the 968,000 it goes on with.
    """
    layer = encoder_layer(200, 200, 2)
    return {"line": "norms", "per_layer": 2 * layer_norm(200), "total": 4 * layer}


# ---- models that others published ----


def paper(name: str) -> float:
    """Parameters as reported for "base" and "big". (Vaswani et al. 2017, table 3)

    ValueError for another name.
    """
    reported = {"base": 65e6, "big": 213e6}
    if name not in reported:
        raise ValueError(f'The paper reports "base" and "big", not {name!r}: choose one of these.')
    return reported[name]


def translation(preset: config.Config) -> int:
    """Exact count of the 2017 model at that shape: one matrix for both embeddings and the head, no bias on it.

    (Vaswani et al. 2017, section 3.4)
    """
    d_model, d_ff, n_heads = preset.d_model, preset.d_ff, preset.n_heads
    layers = encoder_layer(d_model, d_ff, n_heads) + decoder_layer(d_model, d_ff, n_heads)
    return embedding(preset.vocab_size, d_model) + preset.n_layers * layers


def vocabulary(preset: config.Config, total: float) -> int:
    """The vocabulary with which `translation` would come nearest to `total`."""
    return round((total - translation(preset) + preset.vocab_size * preset.d_model) / preset.d_model)


def bert_base() -> int:
    """BERT-base, body and pooler: 109,482,240. (Devlin et al. 2018, section 3)"""
    return sum(n for name, n in components(bert()).items() if name.split(".")[0] in ("embeddings", "encoder", "pooler"))


def bert_base_with_heads() -> int:
    """BERT-base with both heads, the token head's matrix being the token embedding: 110,106,428."""
    return sum(count(bert()))


def bert(preset: config.Config = config.bert_base) -> Bert:
    """That BERT on the meta device, where a model has shapes and takes no memory."""
    with torch.device("meta"):
        return Bert(*preset.shape, preset.max_len)


def seed_model(preset: config.Config = config.seed) -> LanguageModel:
    """A language model on the meta device, of the sources' sizes unless said."""
    with torch.device("meta"):
        return LanguageModel(*preset.shape)


def tied_transformer(preset: config.Config) -> Transformer:
    """The 2017 model on the meta device with one matrix for both embeddings and the head. (Section 3.4)"""
    with torch.device("meta"):
        d = preset
        model = Transformer(d.vocab_size, d.vocab_size, d.d_model, d.n_heads, d.d_ff, d.n_layers)
        model.head = nn.Linear(d.d_model, d.vocab_size, bias=False)
    model.target_embedding.weight = model.head.weight = model.source_embedding.weight
    return model


# ---- the ledger ----

# A stack's parts are counted for each of its layers; everything else is one line.
STACKS = ("encoder", "decoder")


def components(model: nn.Module) -> dict[str, int]:
    """Parameters of each part, by name: "embedding", "encoder.0.attention", … Shared weights once, where first met."""
    found: dict[str, int] = {}
    for name, weight in model.named_parameters():
        parts = name.split(".")
        line = ".".join(parts[:3] if parts[0] in STACKS else parts[:1])
        found[line] = found.get(line, 0) + weight.numel()
    return found


def claimed(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int) -> dict[str, int]:
    """The closed forms of a language model, under the names that `components` gives its parts."""
    layer = {
        "attention": attention(d_model, n_heads),
        "feed_forward": feed_forward(d_model, d_ff),
        "norm1": layer_norm(d_model),
        "norm2": layer_norm(d_model),
    }
    lines = {f"encoder.{i}.{part}": n for i in range(n_layers) for part, n in layer.items()}
    return {"embedding": embedding(vocab_size, d_model), **lines, "head": d_model * vocab_size + vocab_size}


def ledger(claims: dict[str, int], model: nn.Module) -> str:
    """Claims against the counts of `model`, line by line; it ends in "match: True" or names the line that differs."""
    counted = components(model)
    names = list(dict.fromkeys([*counted, *claims]))
    width = max(map(len, [*names, "total"]))
    pairs = {name: (claims.get(name, 0), counted.get(name, 0)) for name in names}
    rows = {**pairs, "total": (sum(claims.values()), sum(counted.values()))}
    lines = [f"{'':{width}}  {'claimed':>13}  {'counted':>13}"]
    lines += [f"{name:{width}}  {a:>13,}  {b:>13,}{'' if a == b else '  ←'}" for name, (a, b) in rows.items()]
    wrong = next((name for name, (a, b) in pairs.items() if a != b), None)
    if wrong is None:
        return "\n".join([*lines, "match: True"])
    a, b = pairs[wrong]
    return "\n".join([*lines, f"match: False, first at {wrong}: {a:,} claimed, {b:,} counted"])
