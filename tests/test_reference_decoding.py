"""Decoding of the reference, on models whose best answer is known."""

import itertools
import math

import pytest
import torch

from helpers.decoding import beam, greedy, sample
from helpers.models import Transformer

BOS, EOS = 1, 2


def trained(seed=0, vocab_size=7):
    """A random model sharp enough for its choices to matter, in float64 so that ties are none."""
    torch.manual_seed(seed)
    model = Transformer(5, vocab_size, 6, 2, 9, 1).double().eval()
    with torch.no_grad():
        model.head.weight.mul_(3)
    return model


class Scripted:
    """Says row b's next line at each step, and remembers how often and with what it was asked."""

    def __init__(self, rows, vocab_size=9):
        self.rows, self.vocab_size, self.calls = rows, vocab_size, []

    def __call__(self, source, target):
        self.calls.append(target.clone())
        logits = torch.zeros(*target.shape, self.vocab_size)
        for b, row in enumerate(self.rows):
            for t in range(target.shape[1]):
                logits[b, t, row[min(t, len(row) - 1)]] = 5
        return logits


def test_greedy_fills_ended_rows_and_stops_when_all_have_ended():
    model = Scripted([[4, EOS, 6, 6, 6, 6], [5, 3, 7, EOS, 6, 6]])
    ids = greedy(model, torch.zeros(2, 3, dtype=torch.long), BOS, EOS, max_len=6)
    assert ids.tolist() == [[4, EOS, EOS, EOS], [5, 3, 7, EOS]]
    assert len(model.calls) == 4
    assert all((target[:, 0] == BOS).all() for target in model.calls)


def test_greedy_stops_at_max_len():
    model = Scripted([[4]])
    assert greedy(model, torch.zeros(1, 3, dtype=torch.long), BOS, EOS, max_len=5).tolist() == [[4] * 5]
    assert len(model.calls) == 5


@pytest.mark.parametrize("seed", range(5))
def test_greedy_rows_do_not_depend_on_each_other(seed):
    model, source = trained(seed), torch.randint(1, 5, (3, 4), generator=torch.Generator().manual_seed(seed))
    together = greedy(model, source, BOS, EOS, 6)
    for b in range(3):
        alone = greedy(model, source[b : b + 1], BOS, EOS, 6)[0].tolist()
        assert together[b].tolist()[: len(alone)] == alone


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("alpha", [0.0, 0.7, 2.0])
def test_beam_of_width_one_is_greedy(seed, alpha):
    model, source = trained(seed), torch.tensor([[3, 4, 1]])
    ids, score = beam(model, source, BOS, EOS, 6, 1, alpha)
    assert torch.equal(ids, greedy(model, source, BOS, EOS, 6))
    assert score == pytest.approx(log_probability(model, source, ids[0].tolist()) / ids.shape[1] ** alpha)


@torch.no_grad()
def log_probability(model, source, ids):
    target = torch.tensor([[BOS, *ids]])
    log_probabilities = model(source, target[:, :-1])[0].log_softmax(-1)
    return float(log_probabilities.gather(-1, target[0, 1:, None]).sum())


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_beam_wide_enough_finds_the_best_of_all(alpha):
    model, source, max_len = trained(4, vocab_size=4), torch.tensor([[3, 4, 1]]), 3
    everything = []
    for length in range(1, max_len + 1):
        for ids in itertools.product(range(4), repeat=length):
            if EOS not in ids[:-1] and (ids[-1] == EOS or length == max_len):
                everything.append((log_probability(model, source, ids) / length**alpha, list(ids)))
    expected_score, expected = max(everything)
    ids, score = beam(model, source, BOS, EOS, max_len, 4**max_len, alpha)
    assert ids[0].tolist() == expected
    assert score == pytest.approx(expected_score)


def test_beam_beats_greedy_where_the_first_step_misleads():
    def model(source, target):
        probabilities = torch.full((len(target), target.shape[1], 6), 1e-6)
        for b, row in enumerate(target.tolist()):
            follow = {(): {3: 0.6, 4: 0.4}, (3,): {3: 0.5, 5: 0.5}, (4,): {EOS: 1.0}}
            for token, p in follow.get(tuple(row[1:]), {EOS: 1.0}).items():
                probabilities[b, -1, token] = p
        return probabilities.log()

    source = torch.zeros(1, 2, dtype=torch.long)
    assert greedy(model, source, BOS, EOS, 5)[0, 0] == 3
    ids, score = beam(model, source, BOS, EOS, 5, width=2, alpha=0.0)
    assert ids.tolist() == [[4, EOS]]
    assert score == pytest.approx(math.log(0.4), abs=1e-4)


def frequencies(logits, n=40_000, **options):
    generator = torch.Generator().manual_seed(1)
    drawn = sample(logits.expand(n, -1), generator=generator, **options)
    assert drawn.shape == (n,)
    return torch.bincount(drawn, minlength=logits.shape[-1]) / n


P = torch.tensor([0.1, 0.4, 0.05, 0.25, 0.2])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, P),
        ({"temperature": 0.5}, P**2 / (P**2).sum()),
        ({"top_k": 2}, torch.tensor([0, 0.4, 0, 0.25, 0]) / 0.65),
        ({"top_k": 99}, P),
        ({"top_p": 0.5}, torch.tensor([0, 0.4, 0, 0.25, 0]) / 0.65),
        ({"top_p": 0.01}, torch.tensor([0, 1.0, 0, 0, 0])),
        ({"top_p": 1.0}, P),
        ({"top_k": 3, "top_p": 0.7}, torch.tensor([0, 0.4, 0, 0.25, 0]) / 0.65),
        ({"temperature": 0.5, "top_p": 0.6}, torch.tensor([0, 0.16, 0, 0.0625, 0]) / 0.2225),
    ],
)
def test_sampling_draws_what_it_says(options, expected):
    logits = P.log() + 3
    before = logits.clone()
    assert (frequencies(logits, **options) - expected).abs().max() < 0.015
    assert (frequencies(logits, **options)[expected == 0] == 0).all()
    assert torch.equal(logits, before)


def test_sampling_repeats_with_its_generator_and_leaves_the_global_one_alone():
    state = torch.get_rng_state()
    draws = [sample(torch.zeros(50, 9), generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(*draws)
    assert torch.equal(state, torch.get_rng_state())


def test_rows_are_drawn_from_their_own_logits():
    logits = torch.full((4, 6), -50.0).index_put((torch.arange(4), torch.tensor([5, 0, 3, 2])), torch.tensor(50.0))
    assert sample(logits, top_k=3, top_p=0.9).tolist() == [5, 0, 3, 2]


def test_temperature_zero_is_refused():
    with pytest.raises(ValueError, match="use top_k=1"):
        sample(torch.zeros(1, 3), temperature=0)


@pytest.mark.parametrize("close", [False, True])
def test_beam_of_width_one_is_greedy_at_ties_and_in_half_precision(close):
    logits = torch.zeros(1, 4, 997, dtype=torch.bfloat16)
    if close:  # neighbours in bfloat16, and the same number after its log_softmax
        logits[..., 500], logits[..., 300] = 1, 1 - 2**-8
    source = torch.zeros(1, 1, dtype=torch.long)
    arguments = (lambda source, target: logits[:, : target.shape[1]], source, BOS, EOS, 4)
    assert torch.equal(beam(*arguments, width=1, alpha=1.0)[0], greedy(*arguments))


def test_a_beam_that_ends_gives_up_its_place():
    rows = []

    def model(source, target):
        rows.append(len(target))
        return torch.tensor([0.0, 1.0, 9.0, 8.0, 2.0]).expand(*target.shape, -1)  # EOS before all, then 3

    beam(model, torch.zeros(1, 1, dtype=torch.long), BOS, EOS, 5, width=3, alpha=1.0)
    assert rows == [1, 2, 1]


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, [EOS]), (1.0, [3, EOS])])
def test_length_normalisation_lets_the_longer_sentence_win(alpha, expected):
    """[EOS] has probability 0.5 and [3, EOS] 0.4: shorter is likelier, but not by the token."""

    def model(source, target):
        probabilities = torch.tensor([1e-6, 1e-6, 1 - 4e-6, 1e-6, 1e-6]).repeat(*target.shape, 1)
        probabilities[:, 0] = torch.tensor([0.03, 0.03, 0.5, 0.4, 0.04])
        return probabilities.log()

    source = torch.zeros(1, 2, dtype=torch.long)
    assert beam(model, source, BOS, EOS, 4, width=2, alpha=alpha)[0].tolist() == [expected]


@pytest.mark.parametrize(("rows", "width", "max_len"), [(2, 1, 3), (1, 0, 3), (1, 2, 0)])
def test_beam_refuses_in_a_sentence(rows, width, max_len):
    with pytest.raises(ValueError, match=r"^beam\(\) got .*: give it one source"):
        beam(Scripted([[4]]), torch.zeros(rows, 2, dtype=torch.long), BOS, EOS, max_len, width, alpha=1.0)


def test_top_p_counts_a_flat_vocabulary_right_in_half_precision():
    kept = frequencies(torch.zeros(1001, dtype=torch.float16), n=20_000, top_p=0.5).nonzero().numel()
    assert kept == pytest.approx(501, abs=2)


@pytest.mark.parametrize(("name", "value"), [("temperature", -1.0), ("top_k", 0), ("top_p", 0.0), ("top_p", 1.5)])
def test_sampling_refuses_in_a_sentence(name, value):
    with pytest.raises(ValueError, match=f"^{name}={value} "):
        sample(torch.zeros(1, 3), **{name: value})
