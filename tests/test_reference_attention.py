"""Attention of the reference: the fast path, the explicit one and torch's own say the same."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from helpers import attention, masks

B, H, TQ, TK, K, DV = 2, 3, 5, 7, 4, 6
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 4e-2}


def random(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def make_mask(kind, n_queries=TQ, n_keys=TK, dtype=torch.float32):
    generator = torch.Generator().manual_seed(9)
    pairs = torch.rand(n_queries, n_keys, generator=generator) < 0.6
    padding = torch.arange(n_keys) < torch.tensor([n_keys, n_keys - 3])[:, None]  # (B, Tk)
    padding = padding[:, None, None, :]
    bias = random(H, n_queries, n_keys, dtype=dtype).masked_fill(~pairs, -math.inf)
    pairs[1] = False  # a query with nothing to see
    return {
        "none": None,
        "boolean": pairs,
        "padding": padding,
        "additive": masks.additive(pairs, dtype),
        "bias": bias,
        "combined": masks.combine(pairs, padding),
        "combined additive": masks.combine(bias, pairs, padding),
    }[kind]


KINDS = ["none", "boolean", "padding", "additive", "bias", "combined", "combined additive"]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_explicit_attention_equals_the_fast_path(kind, dtype):
    leaves = [random(B, H, n, d, seed=i, dtype=dtype) for i, (n, d) in enumerate([(TQ, K), (TK, K), (TK, DV)])]
    mask = make_mask(kind, dtype=dtype)
    results = []
    for function in (lambda *x: attention.attend(*x)[0], F.scaled_dot_product_attention):
        q, k, v = (x.clone().requires_grad_() for x in leaves)
        output = function(q, k, v, mask)
        (output * random(*output.shape, seed=8, dtype=dtype)).sum().backward()
        results.append([output, q.grad, k.grad, v.grad])
    for explicit, fast in zip(*results, strict=True):
        assert explicit.dtype == dtype
        assert not explicit.isnan().any()
        torch.testing.assert_close(explicit, fast, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_attend_equals_a_loop():
    q, k, v = random(TQ, K), random(TK, K, seed=1), random(TK, DV, seed=2)
    mask = masks.prefix(TK, 2)[:TQ]
    output, weights = attention.attend(q, k, v, mask)
    for i in range(TQ):
        seen = [j for j in range(TK) if mask[i, j] == 0]
        exponentials = {j: math.exp(float(q[i] @ k[j]) / math.sqrt(K)) for j in seen}
        for j in range(TK):
            expected = exponentials.get(j, 0) / sum(exponentials.values())
            assert float(weights[i, j]) == pytest.approx(expected, abs=1e-6)
        expected = sum(exponentials[j] * v[j] for j in seen) / sum(exponentials.values())
        torch.testing.assert_close(output[i], expected)


def test_a_query_with_nothing_to_see_gets_zeros():
    mask = make_mask("boolean")
    output, weights = attention.attend(random(B, H, TQ, K), random(B, H, TK, K), random(B, H, TK, DV), mask)
    assert (output[:, :, 1] == 0).all()
    assert (weights[:, :, 1] == 0).all()
    torch.testing.assert_close(weights.sum(-1)[:, :, 2], torch.ones(B, H))


def test_additive_scores_equal_a_loop():
    q, k = random(B, TQ, K), random(B, TK, K, seed=1)
    w_q, w_k, v = random(K, DV, seed=2), random(K, DV, seed=3), random(DV, seed=4)
    scores = attention.additive_scores(q, k, w_q, w_k, v)
    assert scores.shape == (B, TQ, TK)
    for b, i, j in [(0, 0, 0), (1, 4, 6), (1, 2, 5)]:
        torch.testing.assert_close(scores[b, i, j], torch.tanh(q[b, i] @ w_q + k[b, j] @ w_k) @ v)


def test_heads_are_slices_of_the_features():
    x = random(B, TQ, H * K)
    heads = attention.split_heads(x, H)
    assert heads.shape == (B, H, TQ, K)
    for h in range(H):
        assert torch.equal(heads[:, h], x[..., h * K : (h + 1) * K])
    assert torch.equal(attention.merge_heads(heads), x)


@pytest.mark.parametrize("make", [attention.MultiHeadAttention, lambda d, h: attention.split_heads(random(2, d), h)])
def test_heads_that_do_not_fit_are_refused(make):
    with pytest.raises(ValueError, match="3 heads cannot share d_model=10"):
        make(10, 3)


def twins(d_model=H * K, n_heads=H, dtype=torch.float32):
    """Our layer and torch's, with the same random weights."""
    torch.manual_seed(4)
    ours = attention.MultiHeadAttention(d_model, n_heads).to(dtype).eval()
    theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True).to(dtype).eval()
    projections = ours.q_proj, ours.k_proj, ours.v_proj
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_(random(*p.shape, seed=p.numel(), dtype=dtype) / 2)
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    return ours, theirs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", ["none", "boolean", "additive"])
def test_equal_to_torch_multihead_attention(kind, dtype):
    ours, theirs = twins(dtype=dtype)
    x, memory = random(B, TQ, H * K, dtype=dtype), random(B, TK, H * K, seed=1, dtype=dtype)
    mask = make_mask(kind, dtype=dtype)
    if mask is not None:
        mask[1] = mask[2]  # torch's layer gives NaN to a query with nothing to see
    torch_mask = None if mask is None else masks.to_torch(mask)
    expected, maps = theirs(x, memory, memory, attn_mask=torch_mask, average_attn_weights=False)
    torch.testing.assert_close(ours(x, memory, mask), expected)
    torch.testing.assert_close(ours.weights(x, memory, mask), maps)
    self_attention, _ = theirs(x, x, x)
    torch.testing.assert_close(ours(x), self_attention)


def test_maps_explain_the_output():
    ours, _ = twins()
    x, memory, mask = random(B, TQ, H * K), random(B, TK, H * K, seed=1), make_mask("combined")
    values = attention.split_heads(ours.v_proj(memory), H)
    rebuilt = ours.out_proj(attention.merge_heads(ours.weights(x, memory, mask) @ values))
    torch.testing.assert_close(ours(x, memory, mask), rebuilt)
    torch.testing.assert_close(ours(x, memory, mask)[0, 1], ours.out_proj.bias)  # nothing to see


def test_dropout_is_off_in_evaluation():
    layer = attention.MultiHeadAttention(H * K, H, dropout=0.5)
    x = random(B, TQ, H * K)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_roles_say_who_asks_and_who_answers():
    x, y = random(B, TQ, K), random(B, TK, K)
    roles = attention.roles(x, y)
    for name, shape in [("x attends to y", (B, TQ, TK)), ("decoder attends to encoder", (B, TQ, TK))]:
        assert roles[name][0] is x
        assert attention.attend(*roles[name])[1].shape == shape
    assert all(given is x for given in roles["self-attention over x"])


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_two_patterns_in_one_layer(n):
    w_q, w_k = attention.two_patterns(n)
    x = torch.eye(n)
    weights = ((x @ w_q) @ (x @ w_k).transpose(1, 2) / math.sqrt(n)).softmax(-1)
    assert (weights[0].diagonal(-1) >= 0.99).all()
    assert (weights[1, :, 0] >= 0.99).all()
