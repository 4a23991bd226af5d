"""Layers and stacks of the reference against torch.nn, with the same weights."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from helpers import masks
from helpers.layers import DecoderLayer, EncoderLayer
from helpers.models import Body, Transformer

D, HEADS, FF, B, T, S = 15, 3, 22, 2, 5, 7


def attention_state(layer, prefix):
    projections = layer.q_proj, layer.k_proj, layer.v_proj
    return {
        f"{prefix}.in_proj_weight": torch.cat([p.weight for p in projections]),
        f"{prefix}.in_proj_bias": torch.cat([p.bias for p in projections]),
        f"{prefix}.out_proj.weight": layer.out_proj.weight,
        f"{prefix}.out_proj.bias": layer.out_proj.bias,
    }


def torch_state(layer):
    """The weights of one of our layers under torch's names."""
    if isinstance(layer, DecoderLayer):
        state = attention_state(layer.self_attention, "self_attn")
        state |= attention_state(layer.cross_attention, "multihead_attn")
    else:
        state = attention_state(layer.attention, "self_attn")
    names = {"feed_forward.up": "linear1", "feed_forward.down": "linear2"}
    names |= {name: name for name in ("norm1", "norm2", "norm3") if hasattr(layer, name)}
    for ours, theirs in names.items():
        module = layer.get_submodule(ours)
        state |= {f"{theirs}.weight": module.weight, f"{theirs}.bias": module.bias}
    return state


def stack_state(layers):
    return {f"layers.{i}.{name}": x for i, layer in enumerate(layers) for name, x in torch_state(layer).items()}


def shuffled(module, seed=1):
    """No weight stays at its start: norms and biases would hide faults at 1 and 0."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(0.3 * torch.randn(p.shape, generator=generator) + (p.ndim == 1) * 0.5)
    return module.eval()


def torch_layer(kind, norm_first, activation=F.relu):
    return kind(D, HEADS, FF, dropout=0, activation=activation, norm_first=norm_first, batch_first=True)


def inputs():
    generator = torch.Generator().manual_seed(2)
    real = torch.arange(S) < torch.tensor([S, S - 3])[:, None]  # (B, S)
    return *(torch.randn(B, n, D, generator=generator) for n in (T, S)), real


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", [F.relu, F.gelu])
def test_encoder_layer_equals_torch(norm_first, activation):
    ours = shuffled(EncoderLayer(D, HEADS, FF, norm_first, activation=activation))
    theirs = torch_layer(nn.TransformerEncoderLayer, norm_first, activation)
    theirs.load_state_dict(torch_state(ours))
    _, x, real = inputs()
    torch.testing.assert_close(ours(x), theirs(x))
    expected = theirs(x, src_mask=masks.to_torch(masks.causal(S) == 0), src_key_padding_mask=~real)
    padding = real[:, None, None, :]
    torch.testing.assert_close(ours(x, masks.combine(masks.causal(S), padding)), expected)
    torch.testing.assert_close(ours(x, masks.combine(masks.causal(S) == 0, padding)), expected)


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer_equals_torch(norm_first):
    ours = shuffled(DecoderLayer(D, HEADS, FF, norm_first))
    theirs = torch_layer(nn.TransformerDecoderLayer, norm_first)
    theirs.load_state_dict(torch_state(ours))
    x, memory, real = inputs()
    torch.testing.assert_close(ours(x, memory), theirs(x, memory))
    expected = theirs(x, memory, tgt_mask=masks.causal(T), memory_key_padding_mask=~real)
    torch.testing.assert_close(ours(x, memory, masks.causal(T), real[:, None, None, :]), expected)


@pytest.mark.parametrize("norm_first", [False, True])
def test_body_equals_a_torch_stack(norm_first):
    body = shuffled(Body(11, D, HEADS, FF, 3, norm_first=norm_first))
    norm = nn.LayerNorm(D) if norm_first else None
    theirs = nn.TransformerEncoder(
        torch_layer(nn.TransformerEncoderLayer, norm_first), 3, norm, enable_nested_tensor=False
    )
    state = stack_state(body.encoder)
    theirs.load_state_dict(state | ({"norm." + k: v for k, v in body.norm.state_dict().items()}))
    ids = torch.randint(11, (B, T), generator=torch.Generator().manual_seed(0))
    embedded = body.positions(body.embedding(ids) * D**0.5)
    expected = theirs.eval()(embedded, mask=masks.causal(T))
    torch.testing.assert_close(body.hidden(ids), expected)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_equals_torch(norm_first):
    ours = shuffled(Transformer(11, 13, D, HEADS, FF, 2, norm_first=norm_first))
    encoder = nn.TransformerEncoder(
        torch_layer(nn.TransformerEncoderLayer, norm_first),
        2,
        nn.LayerNorm(D) if norm_first else None,
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        torch_layer(nn.TransformerDecoderLayer, norm_first), 2, nn.LayerNorm(D) if norm_first else None
    )
    theirs = nn.Transformer(D, HEADS, custom_encoder=encoder, custom_decoder=decoder, batch_first=True).eval()
    for name, stack in [("encoder", ours.encoder), ("decoder", ours.decoder)]:
        norm = getattr(ours, f"{name}_norm").state_dict()
        getattr(theirs, name).load_state_dict(stack_state(stack) | {"norm." + k: v for k, v in norm.items()})
    source = torch.tensor([[4, 8, 2, 9, 1, 3, 10], [7, 5, 6, 1, 0, 0, 0]])
    target = torch.tensor([[1, 12, 6, 3, 2], [1, 4, 9, 0, 0]])
    expected = theirs(
        ours.positions(ours.source_embedding(source) * D**0.5),
        ours.positions(ours.target_embedding(target) * D**0.5),
        tgt_mask=masks.to_torch(masks.causal(5) == 0),
        src_key_padding_mask=source == 0,
        tgt_key_padding_mask=target == 0,
        memory_key_padding_mask=source == 0,
    )
    torch.testing.assert_close(ours(source, target), ours.head(expected))
