"""Decoding from kept keys and values says what decoding anew says, token for token."""

import pytest
import torch

from helpers.decoding import beam, greedy
from helpers.kv_cache import Cached
from helpers.models import Transformer
from helpers.text.translation import BOS, EOS, PAD

MAX_LEN = 9


def trained(seed, norm_first=False, n_layers=2):
    """A random model whose choices are sharp and differ from source to source."""
    torch.manual_seed(seed)
    model = Transformer(11, 9, 12, 3, 20, n_layers, PAD, norm_first).double().eval()
    with torch.no_grad():
        model.head.weight.mul_(4)
        for layer in model.decoder:
            layer.cross_attention.out_proj.weight.mul_(3)
    return model


def sources(seed, n):
    """(n, S) of random lengths, padded on the right."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, 11, (n, 7), generator=generator)
    lengths = torch.randint(1, 8, (n, 1), generator=generator)
    return ids.masked_fill(torch.arange(7) >= lengths, PAD)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_greedy_says_the_same_with_and_without_cache_over_200_inputs_in_all(seed, norm_first):
    model, source = trained(seed, norm_first), sources(seed, 20)
    expected = greedy(model, source, BOS, EOS, MAX_LEN)
    assert torch.equal(greedy(Cached(model), source, BOS, EOS, MAX_LEN), expected)
    assert len(set(map(tuple, expected.tolist()))) > 3


def test_beam_says_the_same_with_and_without_cache_over_200_inputs():
    models = [(model, Cached(model)) for model in (trained(seed, n_layers=1 + seed % 2) for seed in range(4))]
    for i, source in enumerate(sources(0, 200)[:, None]):
        (model, cached), width, alpha = models[i % 4], 1 + i % 5, i % 3 / 2
        ids, score = beam(model, source, BOS, EOS, MAX_LEN, width, alpha)
        same_ids, same_score = beam(cached, source, BOS, EOS, MAX_LEN, width, alpha)
        assert torch.equal(same_ids, ids)
        assert same_score == pytest.approx(score)


@pytest.mark.parametrize("seed", range(5))
def test_a_cached_beam_of_width_one_is_greedy(seed):
    model = trained(seed)
    for source in sources(seed, 8)[:, None]:
        ids, _ = beam(Cached(model), source, BOS, EOS, MAX_LEN, 1, 0.6)
        assert torch.equal(ids, greedy(model, source, BOS, EOS, MAX_LEN))


@pytest.mark.parametrize("seed", range(5))
def test_batch_mates_and_padding_change_nothing(seed):
    model, source = trained(seed), sources(seed, 12)
    together = greedy(Cached(model), source, BOS, EOS, MAX_LEN)
    for row, ids in zip(source, together.tolist(), strict=True):
        alone = greedy(Cached(model), row[None, row != PAD], BOS, EOS, MAX_LEN)[0].tolist()
        assert ids[: len(alone)] == alone
        assert set(ids[len(alone) :]) <= {EOS}


def test_rows_may_be_reordered_repeated_and_left_out():
    model, source = trained(1), sources(1, 6)
    cached, target = Cached(model), torch.full((6, 1), BOS)
    for chosen in ([0, 1, 2, 3, 4, 5], [5, 0, 0, 3], [1, 1, 2, 0, 3], [4]):
        source, target = source[chosen], target[chosen]
        logits = cached(source, target)
        assert logits.shape[1] == 1
        torch.testing.assert_close(logits[:, -1], model(source, target)[:, -1])
        token = torch.arange(len(chosen)) % 6 + 3
        target = torch.cat([target, token[:, None]], 1)


def test_a_target_that_did_not_follow_begins_anew():
    model, source = trained(2), sources(2, 3)
    cached = Cached(model)
    cached(source, torch.tensor([[BOS, 4], [BOS, 5], [BOS, 6]]))
    another_past, another_source = torch.tensor([[BOS, 4, 3], [BOS, 5, 3], [BOS, 7, 3]]), sources(3, 3)
    for now, target in [(source, another_past), (another_source, another_past), (source, another_past[:, :1])]:
        torch.testing.assert_close(cached(now, target), model(now, target))


def test_only_new_tokens_are_read():
    model, source = trained(0), sources(0, 4)
    read = []
    model.decoder[0].feed_forward.register_forward_hook(lambda module, x, y: read.append(y.shape[1]))
    model.encoder[0].register_forward_hook(lambda module, x, y: read.append("source"))
    ids = greedy(Cached(model), source, BOS, EOS, MAX_LEN)
    assert read == ["source"] + [1] * ids.shape[1]
