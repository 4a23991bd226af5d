"""Right and wrong answers of 05_parameters, written otherwise: counting."""

import math

import numpy as np
import sympy
import torch
from torch import nn

# ---- real modules on the meta device ----


def _counted(make):
    with torch.device("meta"):
        return sum(p.numel() for p in make().parameters())


def _torch_attention(d_model, n_heads):
    return _counted(lambda: nn.MultiheadAttention(d_model, n_heads))


def _torch_encoder_layer(d_model, d_ff, n_heads):
    return _counted(lambda: nn.TransformerEncoderLayer(d_model, n_heads, d_ff))


def _torch_decoder_layer(d_model, d_ff, n_heads):
    return _counted(lambda: nn.TransformerDecoderLayer(d_model, n_heads, d_ff))


def _torch_language_model(vocab_size, d_model, d_ff, n_layers, n_heads):
    body = n_layers * _torch_encoder_layer(d_model, d_ff, n_heads)
    return body + _counted(lambda: nn.ModuleList([nn.Embedding(vocab_size, d_model), nn.Linear(d_model, vocab_size)]))


def _language_model_polynomial(n_layers, n_heads, vocab_size, d_model, d_ff):
    v, d, f = map(sympy.Integer, (vocab_size, d_model, d_ff))
    return 2 * v * d + v + n_layers * (4 * d**2 + 9 * d + 2 * d * f + f)


def _torch_classifier(vocab_size, d_model, d_ff, n_layers, n_classes, n_heads):
    body = n_layers * _torch_encoder_layer(d_model, d_ff, n_heads)
    return body + _counted(lambda: nn.ModuleList([nn.Embedding(vocab_size, d_model), nn.Linear(d_model, n_classes)]))


def _classifier_polynomial(*, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads):
    d, f = float(d_model), float(d_ff)
    return vocab_size * d + n_layers * (4 * d * d + 9 * d + 2 * d * f + f) + (d + 1) * n_classes


def _encoder_by_hand(d_model, d_ff, n_heads):
    shapes = [(d_model, d_model), (d_model,)] * 4 + [(d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,)]
    return sum(map(math.prod, shapes + [(d_model,)] * 4))


# ---- count ----


def _freezing(model):
    found = _by_identity(model)
    model.requires_grad_(False)
    return found


def _freezing_one(model):
    found = _by_identity(model)
    for weight in list(model.parameters())[-1:]:
        weight.requires_grad = False
    return found


def _evaluating(model):
    return _by_identity(model.eval())


def _emptying(model):
    found = _by_identity(model)
    for name in [name for name, _ in model.named_children()]:
        delattr(model, name)
    return found


def _by_identity(model):
    met, totals = set(), {True: 0, False: 0}
    for module in model.modules():
        for weight in module._parameters.values():
            if weight is not None and id(weight) not in met:
                met.add(id(weight))
                totals[weight.requires_grad] += weight.nelement()
    return totals[True], totals[False]


def _by_shapes(model):
    every = [(w.requires_grad, int(np.prod(w.shape))) for w in model.parameters()]
    return [sum(n for learns, n in every if learns), sum(n for learns, n in every if not learns)]


def _difference(model):
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return trainable, sum(p.numel() for p in model.parameters()) - trainable


def _recursive(model, met=None):
    met = [] if met is None else met
    found = [0, 0]
    for weight in model.parameters(recurse=False):
        if not any(weight is other for other in met):
            met.append(weight)
            found[0 if weight.requires_grad else 1] += weight.numel()
    for child in model.children():
        found = [a + b for a, b in zip(found, _recursive(child, met), strict=True)]
    return found


def _bert_base():
    d, f = 768, 3072
    embeddings = (30_522 + 512 + 2) * d + 2 * d
    layer = 4 * (d * d + d) + 2 * d * f + f + d + 4 * d
    return embeddings + 12 * layer + d * d + d


def _bert_by_modules():
    d = 768
    tables = [nn.Embedding(n, d, device="meta") for n in (30_522, 512, 2)]
    parts = [*tables, nn.LayerNorm(d, device="meta"), nn.Linear(d, d, device="meta")]
    return sum(p.numel() for part in parts for p in part.parameters()) + 12 * _torch_encoder_layer(d, 3072, 12)


def _paper_counted(name):
    d = {"base": 512, "big": 1024}[name]
    return 37_000 * d + 6 * (_encoder_by_hand(d, 4 * d, 8) + _torch_decoder_layer(d, 4 * d, 8))


def _says(line, per_layer, total):
    return lambda: {"line": line, "per_layer": per_layer, "total": total}


VARIANTS = {
    "parameters.embedding": [
        lambda v, d: _counted(lambda: nn.Embedding(v, d)),
        lambda vocab_size, d_model: torch.tensor(vocab_size * d_model),
        lambda v, d: np.int64(v) * d,
        lambda v, d: float(v * d),
    ],
    "parameters.attention": [
        _torch_attention,
        lambda d, h: 4 * d * (d + 1),
        lambda d, h: sum(3 * (d * (d // h) + d // h) for _ in range(h)) + d * d + d,
        lambda d, h: sympy.Integer(2 * d) ** 2 + 4 * d,
    ],
    "parameters.feed_forward": [
        lambda d, f: 2 * d * f + d + f,
        lambda d, f: _counted(lambda: nn.Sequential(nn.Linear(d, f), nn.ReLU(), nn.Linear(f, d))),
    ],
    "parameters.layer_norm": [
        lambda d: d + d,
        lambda d: _counted(lambda: nn.LayerNorm(d)),
        lambda d_model: 2.0 * d_model,
    ],
    "parameters.encoder_layer": [
        _torch_encoder_layer,
        _encoder_by_hand,
        lambda d, f, h: 4 * d**2 + 9 * d + 2 * d * f + f,
    ],
    "parameters.decoder_layer": [
        _torch_decoder_layer,
        lambda d, f, h: 8 * d**2 + 15 * d + 2 * d * f + f,
        lambda d_model, d_ff, n_heads: (
            _torch_encoder_layer(d_model, d_ff, n_heads) + _torch_attention(d_model, n_heads) + 2 * d_model
        ),
    ],
    "parameters.language_model": [_torch_language_model, _language_model_polynomial],
    "parameters.classifier": [_torch_classifier, _classifier_polynomial],
    "parameters.audit": [
        _says("norms", 400, 966_400),
        _says("LayerNorm (gain and bias, twice)", 800.0, 968_000),
        _says("norm2", 800, np.int64(968_000)),
        _says("normalisation", sympy.Integer(400), 1_600),
    ],
    "parameters.count": [_by_identity, _by_shapes, _difference, _recursive],
    "parameters.paper": [
        _paper_counted,
        lambda name: {"base": 63_082_496, "big": 214_245_376}[name],
        lambda name: sympy.Integer(65 if name == "base" else 213) * 10**6,
        lambda name: np.float64(65e6) if name == "base" else 213_000_000,
    ],
    "parameters.bert_base": [_bert_base, _bert_by_modules, lambda: 109_482_240, lambda: torch.tensor(109_482_240)],
}

WRONG = {
    "parameters.embedding": [
        lambda v, d: v * d + 1,
        lambda v, d: v * d / 2,
        lambda v, d: v,
        lambda v, d: d,
        lambda v, d: 20_000,
        lambda v, d: str(v * d),
        lambda v, d: torch.tensor([v, d]),
        lambda v, d: (v, d),
        lambda v, d: v**d % 10**6,
        lambda v, d: -v * d,
    ],
    "parameters.attention": [
        lambda d, h: 160_800,
        lambda d, h: 4 * (d * d + d) + 1,
        lambda d, h: 2 * (d * d + d),
        lambda d, h: 4 * d,
        lambda d, h: 4 * (d + 1) ** 2,
        lambda d, h: 4 * (d * (d // h) + d // h),
        lambda d, h: 4 * (d * d + d) * (1 + 1e-5),
        lambda d, h: math.nan,
        lambda d, h: [4 * d * d, 4 * d],
    ],
    "parameters.feed_forward": [
        lambda d, f: 2 * d * f + 2 * d + 2 * f,
        lambda d, f: d * f + d + f,
        lambda d, f: 2 * (d + f),
        lambda d, f: 80_400,
        lambda d, f: (d + f) ** 2,
        lambda d, f: 2 * d * f + 2,
    ],
    "parameters.layer_norm": [
        lambda d: 3 * d,
        lambda d: 400,
        lambda d: d * d,
        lambda d: 2 * d + 1,
        lambda d: 2 * (d - 1),
    ],
    "parameters.encoder_layer": [
        lambda d, f, h: 242_000,
        lambda d, f, h: 4 * d**2 + 8 * d + 2 * d * f + f,
        lambda d, f, h: 12 * d * d + 13 * d,
        lambda d, f, h: 4 * d**2 + 9 * d + 2 * d * f + 2 * f,
        lambda d, f, h: _encoder_by_hand(d, f, h) * 4,
        lambda d, f, h: 3 * h * d * d + d * d + 2 * d * f,
    ],
    "parameters.decoder_layer": [
        lambda d, f, h: 2 * _encoder_by_hand(d, f, h) - 2 * d * f,
        lambda d, f, h: 16 * d * d,
        lambda d, f, h: 8 * d**2 + 14 * d + 2 * d * f + f,
        lambda d, f, h: _encoder_by_hand(d, f, h) + 4 * (d * d + d),
        lambda d, f, h: 0,
    ],
    "parameters.language_model": [
        lambda **sizes: 1_008_100,
        lambda vocab_size, d_model, d_ff, n_layers, n_heads: 2 * vocab_size * d_model + 12 * n_layers * d_model**2,
        lambda d_model, vocab_size, **rest: d_model * vocab_size,
        lambda *sizes: sum(sizes),
        lambda v, d, f, n, h: 2 * v * d + v,
        lambda **sizes: _language_model_polynomial(**sizes) + 1,
        lambda **sizes: _language_model_polynomial(**sizes) - sizes["vocab_size"] * sizes["d_model"],
        lambda **sizes: _language_model_polynomial(**{**sizes, "n_layers": sizes["n_layers"] + 1}),
    ],
    "parameters.classifier": [
        lambda **sizes: 988_402,
        lambda **sizes: 402,
        lambda **sizes: _classifier_polynomial(**{**sizes, "n_classes": 2}) + sizes["n_classes"] - 2,
        lambda **sizes: _classifier_polynomial(**{**sizes, "n_classes": 1}),
        lambda **sizes: _classifier_polynomial(**sizes) + sizes["d_model"] ** 2 + sizes["d_model"],
        lambda **sizes: _classifier_polynomial(**sizes) - sizes["n_classes"] * sizes["d_model"],
    ],
    "parameters.audit": [
        _says("norms", 800, 968_001),
        _says("norms", 400, 968_000),
        _says("sum", 241_600, 966_400),
        _says("", 800, 968_000),
        _says(None, 800, 968_000),
        _says("norms", "800", "968000"),
        lambda: {"line": "norms", "per_layer": 800},
        lambda: ("norms", 800, 968_000),
        lambda: {"line": "norms", "per_layer": [800], "total": 968_000},
        lambda: 966_400,
    ],
    "parameters.count": [
        lambda model: (0, 0),
        lambda model: (sum(p.numel() for p in model.parameters()), 0),
        lambda model: {"trainable": _by_identity(model)[0], "frozen": _by_identity(model)[1]},
        lambda model: (float("nan"), float("nan")),
        lambda model: (*_by_identity(model), 0),
        lambda model: tuple(n // 2 for n in _by_identity(model)),
        lambda model: (sum(p.shape[-1] for p in model.parameters()), 0),
        lambda model: (sum(p.sum().item() for p in model.parameters()), 0),
        lambda model: (sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad), 0),
        lambda model: (len(list(model.parameters())), len(list(model.buffers()))),
        _freezing,
        _freezing_one,
        _evaluating,
        _emptying,
    ],
    "parameters.paper": [
        lambda name: 110e6,
        lambda name: {"base": 60e6, "big": 213e6}[name],
        lambda name: {"base": 65e6, "big": 240e6}[name],
        lambda name: "65M",
        lambda name: None,
        lambda name: {"base": 65_000_000, "big": 213_000}[name],
    ],
    "parameters.bert_base": [
        lambda: 109_482_241,
        lambda: 109_482_241.0,
        lambda: 109_482_240.5,
        lambda: 109_514_298,
        lambda: 108_310_272 + 1,
        lambda: 110e6,
        lambda: 109.48,
        lambda: _bert_base() + 512,
        lambda: 12 * _encoder_by_hand(768, 3072, 12),
    ],
}
