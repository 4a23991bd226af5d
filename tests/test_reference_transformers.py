"""The reference against the transformers library's GPT-2 and BERT, with the same random weights; nothing is fetched."""

from functools import partial

import pytest
import torch
from torch.nn import functional as F
from transformers import BertConfig, BertForPreTraining, GPT2Config, GPT2LMHeadModel

from helpers.models import Bert, LanguageModel

V, D, HEADS, FF, LAYERS, MAX_LEN = 37, 20, 5, 44, 3, 13


def shuffled(module, scale=0.2):
    """Every weight random, norms and biases too: a fault could hide behind 1 and 0."""
    generator = torch.Generator().manual_seed(6)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(scale * (torch.randn(p.shape, generator=generator) + (p.ndim == 1) * 2.5))
    return module.eval()


def renamed(state, names):
    """Our state from theirs: each of our module names takes the weights of theirs."""
    return {
        f"{ours}.{part}": state[f"{theirs}.{part}"]
        for ours, theirs in names.items()
        for part in ("weight", "bias")
        if f"{theirs}.{part}" in state
    }


def gpt2_pair():
    config = GPT2Config(
        vocab_size=V, n_positions=MAX_LEN, n_embd=D, n_layer=LAYERS, n_head=HEADS, n_inner=FF, resid_pdrop=0,
        embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    theirs = shuffled(GPT2LMHeadModel(config))
    gelu_new = partial(F.gelu, approximate="tanh")
    ours = LanguageModel(V, D, HEADS, FF, LAYERS, 0, True, gelu_new, MAX_LEN, tie=True).eval()
    state = {k.removeprefix("transformer."): v for k, v in theirs.state_dict().items()}
    names = {"embedding": "wte", "positions.embedding": "wpe", "norm": "ln_f", "head": "wte"}
    for i in range(LAYERS):
        qkv = state[f"h.{i}.attn.c_attn.weight"].chunk(3, -1), state[f"h.{i}.attn.c_attn.bias"].chunk(3)
        for name, weight, bias in zip("qkv", *qkv, strict=True):
            state |= {f"h.{i}.{name}.weight": weight, f"h.{i}.{name}.bias": bias}
            names[f"encoder.{i}.attention.{name}_proj"] = f"h.{i}.{name}"
        names |= {f"encoder.{i}.norm1": f"h.{i}.ln_1", f"encoder.{i}.norm2": f"h.{i}.ln_2"}
        names |= {f"encoder.{i}.attention.out_proj": f"h.{i}.attn.c_proj"}
        names |= {f"encoder.{i}.feed_forward.up": f"h.{i}.mlp.c_fc"}
        names |= {f"encoder.{i}.feed_forward.down": f"h.{i}.mlp.c_proj"}
    mine = renamed(state, names)
    for name in mine:  # GPT-2 keeps its linear layers transposed
        if name.startswith("encoder") and mine[name].ndim == 2:
            mine[name] = mine[name].T
    ours.load_state_dict(mine)
    return ours, theirs


def bert_pair(scale=0.2):
    config = BertConfig(
        vocab_size=V, hidden_size=D, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=FF,
        max_position_embeddings=MAX_LEN, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
        attn_implementation="eager",
    )  # fmt: skip
    theirs = shuffled(BertForPreTraining(config), scale)
    ours = Bert(V, D, HEADS, FF, LAYERS, MAX_LEN).eval()
    embeddings, heads = "bert.embeddings", "cls.predictions"
    names = {
        "embeddings.token": f"{embeddings}.word_embeddings",
        "embeddings.position": f"{embeddings}.position_embeddings",
        "embeddings.segment": f"{embeddings}.token_type_embeddings",
        "embeddings.norm": f"{embeddings}.LayerNorm",
        "pooler": "bert.pooler.dense",
        "transform": f"{heads}.transform.dense",
        "transform_norm": f"{heads}.transform.LayerNorm",
        "token_head": f"{heads}.decoder",
        "next_head": "cls.seq_relationship",
    }
    for i in range(LAYERS):
        mine, its = f"encoder.{i}", f"bert.encoder.layer.{i}"
        for letter, word in [("q", "query"), ("k", "key"), ("v", "value")]:
            names[f"{mine}.attention.{letter}_proj"] = f"{its}.attention.self.{word}"
        names[f"{mine}.attention.out_proj"] = f"{its}.attention.output.dense"
        names[f"{mine}.norm1"] = f"{its}.attention.output.LayerNorm"
        names[f"{mine}.feed_forward.up"] = f"{its}.intermediate.dense"
        names[f"{mine}.feed_forward.down"] = f"{its}.output.dense"
        names[f"{mine}.norm2"] = f"{its}.output.LayerNorm"
    state = theirs.state_dict()
    state.setdefault(f"{heads}.decoder.bias", state[f"{heads}.bias"])
    ours.load_state_dict(renamed(state, names))
    return ours, theirs


def assert_close(ours, theirs):
    scale = min(1.0, float(theirs.abs().max()))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize("time", [1, 7, MAX_LEN])
@torch.no_grad()
def test_language_model_equals_gpt2(time):
    ours, theirs = gpt2_pair()
    ids = torch.randint(V, (3, time), generator=torch.Generator().manual_seed(0))
    assert_close(ours(ids), theirs(ids).logits)


@torch.no_grad()
def test_language_model_equals_gpt2_on_a_padded_batch():
    ours, theirs = gpt2_pair()
    ids = torch.randint(V, (2, 7), generator=torch.Generator().manual_seed(0))
    real = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    expected = theirs(ids, attention_mask=real).logits
    assert_close(ours(ids)[real.bool()], expected[real.bool()])


@pytest.mark.parametrize("scale", [0.02, 0.2])  # small weights show the norms' epsilon
@torch.no_grad()
def test_bert_equals_the_librarys(scale):
    ours, theirs = bert_pair(scale)
    generator = torch.Generator().manual_seed(0)
    ids, segments = torch.randint(V, (3, 11), generator=generator), torch.randint(2, (3, 11), generator=generator)
    real = torch.arange(11) < torch.tensor([11, 7, 2])[:, None]
    for segment_ids, mask in [(None, None), (segments, None), (segments, real.long())]:
        expected = theirs(ids, attention_mask=mask, token_type_ids=segment_ids)
        tokens, following = ours(ids, segment_ids, mask)
        kept = slice(None) if mask is None else real
        assert_close(tokens[kept], expected.prediction_logits[kept])
        assert_close(following, expected.seq_relationship_logits)


def test_counts_equal_the_librarys():
    for ours, theirs in (gpt2_pair(), bert_pair()):
        assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())
