"""Batches, losses and counted baselines, against loops written plainly."""

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch

from helpers import lm
from helpers.models import LanguageModel

IDS = torch.randint(0, 7, (230,), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("n", [1, 12, 13, 24, 25, 230])
def test_batches_go_through_the_stream_once_in_order(n):
    found = list(lm.batches(torch.arange(n), 3, 4))
    targets = torch.cat([t.flatten() for _, t in found]) if found else torch.tensor([])
    assert targets.tolist() == list(range(1, 1 + (n - 1) // 12 * 12))
    assert all(torch.equal(x + 1, y) and x.shape == y.shape == (3, 4) for x, y in found)


def test_perplexity_does_not_depend_on_how_tokens_were_batched():
    nats = torch.rand(30)
    cut = [nats[:7], nats[7:9], nats[9:]]
    assert lm.perplexity([c.mean() for c in cut], [len(c) for c in cut]) == pytest.approx(math.exp(nats.mean()))


def test_the_loss_at_the_start_is_that_of_guessing():
    assert lm.loss(torch.zeros(2, 3, 7), torch.ones(2, 3, dtype=torch.int64)) == pytest.approx(math.log(7))


def test_bigram_rows_are_probabilities_and_count_pairs():
    table = lm.bigram(torch.tensor([0, 1, 0, 1, 2]), 4)
    assert torch.allclose(table.sum(1), torch.ones(4))
    assert table[0].tolist() == pytest.approx([1 / 6, 3 / 6, 1 / 6, 1 / 6])
    assert table[3].tolist() == pytest.approx([1 / 4] * 4)


@pytest.mark.parametrize("stride", [3, 8])
@pytest.mark.parametrize("n", [5, 9, 100, 101])
def test_held_out_loss_is_that_of_the_plain_loop_however_it_is_batched(n, stride):
    torch.manual_seed(0)
    model, ids, context = LanguageModel(7, 8, 2, 8, 1).double().eval(), IDS[:n], 8
    nats, done = 0.0, 0
    while done < n - 1:
        start = 0 if done == 0 else done - (context - stride)
        end = min(start + context, n - 1)
        rows = model(ids[None, start:end])[0].log_softmax(-1)
        nats -= sum(rows[t - start, ids[t + 1]].item() for t in range(done, end))
        done = end
    for batch_size in (1, 5, 64):
        assert lm.held_out(model, ids, context, stride, batch_size) == pytest.approx(nats / (n - 1))


def test_longer_windows_give_another_number():
    torch.manual_seed(0)
    model = LanguageModel(7, 8, 2, 8, 1).eval()
    assert lm.held_out(model, IDS, 4) != pytest.approx(lm.held_out(model, IDS, 16), rel=1e-4)


def test_bits_per_byte():
    assert lm.bits_per_byte(math.log(16), 10, 40) == pytest.approx(1)


def test_the_trigram_mixes_three_counts():
    train, held = IDS[:200].tolist(), IDS[200:].tolist()
    one, two, three = (Counter(zip(*(train[i:] for i in range(n)), strict=False)) for n in (1, 2, 3))
    histories, total = Counter(train[:-1]), 0.0
    pairs = Counter(pairwise(train[:-1]))
    for a, b, c in zip(held, held[1:], held[2:], strict=False):
        p = 0.999 * one[(c,)] / 200 + 0.001 / 7
        p = 0.2 * p + 0.8 * two[b, c] / histories[b] if histories[b] else p
        p = 0.5 * p + 0.5 * three[a, b, c] / pairs[a, b] if pairs[a, b] else p
        total -= math.log(p)
    assert lm.Trigram(IDS[:200], 7, (0.1, 0.4, 0.5)).nats(IDS[200:]) == pytest.approx(total / 28)


def test_the_trigrams_chances_are_those_of_a_distribution():
    model = lm.Trigram(IDS, 7)
    streams = [torch.cat([IDS[:2], torch.tensor([c])]) for c in range(7)]
    assert sum(math.exp(-model.nats(stream)) for stream in streams) == pytest.approx(1)


def test_tuned_weights_are_no_worse():
    model = lm.Trigram(IDS[:150], 7)
    assert model.tuned(IDS[150:]).nats(IDS[150:]) <= model.nats(IDS[150:])
    assert model.nats(IDS[:150]) < math.log(7)
