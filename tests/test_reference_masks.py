"""Masks of the reference: values, conventions, and a detector of leaks that can be trusted."""

import math

import pytest
import torch
from torch import nn

from helpers import masks
from helpers.attention import attend

INF = math.inf


def test_causal_shows_the_past_and_the_token_itself():
    assert torch.equal(masks.causal(3), torch.tensor([[0, -INF, -INF], [0, 0, -INF], [0, 0, 0]]))
    assert torch.equal(masks.causal(1), torch.zeros(1, 1))


@pytest.mark.parametrize("make", [masks.causal, lambda n: masks.sliding_window(n, 3), lambda n: masks.prefix(n, 2)])
def test_additive_masks_follow_the_default_dtype(make):
    torch.set_default_dtype(torch.float64)
    try:
        assert make(5).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("n", "window"), [(7, 1), (7, 3), (5, 9), (1, 1)])
def test_sliding_window_counts_the_token_itself(n, window):
    allowed = masks.sliding_window(n, window) == 0
    assert allowed.sum(-1).tolist() == [min(i + 1, window) for i in range(n)]
    assert not allowed.triu(1).any()


def test_prefix_is_open_both_ways_and_causal_after():
    allowed = masks.prefix(5, 3) == 0
    for i in range(5):
        for j in range(5):
            assert allowed[i, j] == (j <= i or (i < 3 and j < 3))


def test_padding_hides_pads_as_keys():
    ids = torch.tensor([[5, 3, 7], [2, 7, 7]])
    assert torch.equal(masks.padding(ids, 7), torch.tensor([[[[True, True, False]]], [[[True, False, False]]]]))


def test_combine_of_booleans_stays_boolean_and_broadcasts():
    causal, padding = masks.causal(3) == 0, masks.padding(torch.tensor([[1, 1, 0], [1, 0, 0]]), 0)
    both = masks.combine(causal, padding)
    assert both.dtype == torch.bool
    assert both.shape == (2, 1, 3, 3)
    assert torch.equal(both, causal & padding)


def test_combine_with_an_additive_mask_is_additive():
    padding = masks.padding(torch.tensor([[1, 1, 0], [1, 0, 0]]), 0)
    for both in (masks.combine(masks.causal(3), padding), masks.combine(padding, padding, masks.causal(3))):
        assert torch.equal(both, masks.additive((masks.causal(3) == 0) & padding))
    bias = torch.randn(3, 3, dtype=torch.float64)
    assert torch.equal(masks.combine(masks.causal(3) == 0, bias), bias.masked_fill(masks.causal(3) != 0, -INF))


def test_combine_without_masks_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        masks.combine()


def test_to_torch_means_the_same_to_torch():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 6)
    attention = nn.MultiheadAttention(6, 1, batch_first=True)
    by_boolean, _ = attention(x, x, x, attn_mask=masks.to_torch(masks.causal(5) == 0))
    by_addition, _ = attention(x, x, x, attn_mask=masks.to_torch(masks.causal(5)))
    torch.testing.assert_close(by_boolean, by_addition)
    everything, _ = attention(x, x, x)
    torch.testing.assert_close(by_boolean[:, -1], everything[:, -1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_masked_softmax_is_exact(dtype):
    generator = torch.Generator().manual_seed(3)
    scores = 30 * torch.randn(3, 5, 7, generator=generator, dtype=torch.float64)
    mask = torch.rand(5, 7, generator=generator) < 0.5
    mask[2], mask[0, 0] = False, True
    scores = scores.to(dtype).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        weights = masks.masked_softmax(scores, mask)
        weights.square().sum().backward()
    assert weights.dtype == dtype
    assert (weights[:, ~mask] == 0).all()
    for b in range(3):
        for i in range(5):
            if mask[i].any():
                torch.testing.assert_close(weights[b, i, mask[i]], scores[b, i, mask[i]].softmax(-1))
    assert not scores.grad.isnan().any()
    assert (scores.grad[:, ~mask] == 0).all()


def test_masked_softmax_takes_a_mask_with_more_dimensions():
    weights = masks.masked_softmax(torch.zeros(3, 4), torch.ones(2, 1, 3, 4, dtype=torch.bool))
    assert torch.equal(weights, torch.full((2, 1, 3, 4), 0.25))


def test_masking_makes_weights_zero_and_nothing_else():
    generator = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(2, 3, n, 4, generator=generator) for n in (5, 7, 7))
    mask = torch.rand(2, 1, 5, 7, generator=generator) < 0.6
    mask[..., 0], mask[..., 6] = True, False
    expected = {"scores": False, "weights": True, "values": False, "output": False}
    assert masks.what_becomes_zero(q, k, v, mask) == expected
    assert masks.what_becomes_zero(q, k, v, masks.additive(mask)) == expected
    assert not any(masks.what_becomes_zero(q, k, v, torch.ones(5, 7, dtype=torch.bool)).values())


class Leaky(nn.Module):
    """An attention model with one fault; "honest" has none."""

    def __init__(self, fault, vocab_size, n):
        super().__init__()
        self.fault, self.n = fault, n
        self.embedding = nn.Embedding(vocab_size, 12)
        self.head = nn.Linear(12, vocab_size)

    def forward(self, ids):
        x, n = self.embedding(ids), ids.shape[1]
        y, _ = attend(x, x, x, masks.causal(n).to(x))
        after = torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1)
        next_ids = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], -1)], 1)
        if self.fault == "one step":
            y = y + 1e-3 * after
        elif self.fault == "normalisation over time":
            y = y / (1 + 1e-3 * x.square().mean((1, 2), keepdim=True))
        elif self.fault == "late":
            y = y + after * (torch.arange(n) == self.n - 2)[:, None]
        elif self.fault == "some tokens":
            y = y + after * (next_ids == 3)[..., None]
        elif self.fault == "told by the present token":
            y = y + after * (ids == 2)[..., None]
        elif self.fault == "far":
            y = y + x[:, -1:] * (torch.arange(n) == 0)[:, None]
        return self.head(y)


FAULTS = ["one step", "normalisation over time", "late", "some tokens", "told by the present token", "far"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("vocab_size", "n"), [(19, 16), (7, 5), (4, 2), (53, 11)])
def test_leaks_are_found_and_honest_models_are_believed(vocab_size, n, dtype):
    torch.manual_seed(vocab_size)
    state = torch.get_rng_state()
    for fault in FAULTS:
        model = Leaky(fault, vocab_size, n).to(dtype).eval()
        assert masks.leaks_future(model, vocab_size, n), fault
    for _ in range(3):
        assert not masks.leaks_future(Leaky("honest", vocab_size, n).to(dtype).eval(), vocab_size, n)
    torch.set_rng_state(state)
    masks.leaks_future(model, vocab_size, n)
    assert torch.equal(state, torch.get_rng_state()), "the global random state was used"


def test_one_token_has_no_future():
    assert not masks.leaks_future(Leaky("one step", 5, 1).eval(), 5, 1)


def test_a_large_vocabulary_is_affordable():
    assert masks.leaks_future(Leaky("one step", 20_000, 8).eval(), 20_000, 8)
    assert not masks.leaks_future(Leaky("honest", 20_000, 8).eval(), 20_000, 8)
