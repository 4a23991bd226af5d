"""Decoding against exhaustive search, and sampling against the distribution it promises."""

import itertools
import subprocess
import sys

import pytest
import torch

from helpers import decoding

BOS, EOS, VOCAB = 0, 1, 5


def translator(seed, length=4):
    """A model with its own logits for each source's first token and each prefix of up to `length` tokens."""
    table = torch.randn(3, VOCAB**length, VOCAB, generator=torch.Generator().manual_seed(seed))

    def model(source, target):
        place = VOCAB ** torch.arange(target.shape[1])  # (T,)
        prefixes = (target * place).cumsum(1)  # (B, T), a number for each prefix
        return table[source[:, :1], prefixes]  # (B, T, V)

    return model


def score_of(model, source, ids, alpha):
    """log-probability / length^alpha of ids, a list of tokens without BOS."""
    log_p = model(source, torch.tensor([[BOS, *ids[:-1]]])).log_softmax(-1)[0]
    return float(sum(log_p[t, token] for t, token in enumerate(ids))) / len(ids) ** alpha


def every_sentence(max_len):
    """All that a decoder can say: EOS last and nowhere else, or cut off at max_len."""
    for length in range(1, max_len + 1):
        for ids in itertools.product(range(VOCAB), repeat=length):
            if EOS not in ids[:-1] and (ids[-1] == EOS or length == max_len):
                yield list(ids)


def scripted(*lines):
    """A model that says a given line for each row, whatever it read."""
    script = torch.nn.functional.one_hot(torch.tensor(lines), VOCAB).float()  # (B, T, V)
    return lambda source, target: script[:, : target.shape[1]]


def test_greedy_takes_the_best_token_of_the_last_step():
    model, source = translator(3), torch.tensor([[2, 0, 1]])
    ids = [BOS]
    while len(ids) < 5 and ids[-1] != EOS:
        ids.append(int(model(source, torch.tensor([ids]))[0, -1].argmax()))
    assert decoding.greedy(model, source, BOS, EOS, 4).tolist() == [ids[1:]]


def test_greedy_fills_with_eos_and_stops_when_all_have_ended():
    model = scripted([3, EOS, 4, 2, 2, 2], [4, 4, 2, EOS, 2, 2])
    ids = decoding.greedy(model, torch.zeros(2, 3, dtype=torch.long), BOS, EOS, 6)
    assert ids.tolist() == [[3, EOS, EOS, EOS], [4, 4, 2, EOS]]


def test_greedy_stops_at_max_len():
    ids = decoding.greedy(scripted([3, 4, 2, 2, 2]), torch.zeros(1, 3, dtype=torch.long), BOS, EOS, 3)
    assert ids.tolist() == [[3, 4, 2]]


def test_greedy_in_a_batch_says_what_each_row_says_alone():
    model, source = translator(5), torch.tensor([[0, 1], [1, 1], [2, 0]])
    together = decoding.greedy(model, source, BOS, EOS, 4)
    for row, ids in zip(source, together, strict=True):
        alone = decoding.greedy(model, row[None], BOS, EOS, 4)[0]
        assert ids[: len(alone)].tolist() == alone.tolist()
        assert (ids[len(alone) :] == EOS).all()


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(8))
def test_width_one_is_greedy(seed, alpha):
    model, source = translator(seed), torch.tensor([[seed % 3, 2]])
    ids, _ = decoding.beam(model, source, BOS, EOS, 4, width=1, alpha=alpha)
    assert ids.tolist() == decoding.greedy(model, source, BOS, EOS, 4).tolist()


def test_width_one_is_greedy_where_tokens_tie_and_in_half_precision():
    source = torch.zeros(1, 1, dtype=torch.long)
    close = torch.zeros(1, 4, 997)
    close[..., 500] = 1.0
    close[..., 300] = 1.0 - 2**-8  # a neighbour in bfloat16, the same number after its log_softmax
    for logits in (torch.zeros(1, 4, 997), close.bfloat16()):
        model = lambda source, target, logits=logits: logits[:, : target.shape[1]]  # noqa: E731
        ids, _ = decoding.beam(model, source, BOS, EOS, 4, width=1, alpha=1.0)
        assert ids.tolist() == decoding.greedy(model, source, BOS, EOS, 4).tolist()


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_wide_enough_finds_the_best_of_all_sentences(seed, alpha):
    model, source = translator(seed, length=3), torch.tensor([[1, 2, 0]])
    best = max(every_sentence(3), key=lambda ids: score_of(model, source, ids, alpha))
    ids, score = decoding.beam(model, source, BOS, EOS, 3, width=VOCAB**3, alpha=alpha)
    assert ids.tolist() == [best]
    assert score == pytest.approx(score_of(model, source, best, alpha), rel=1e-5)


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_beam_reports_the_score_of_what_it_says(seed, width):
    model, source = translator(seed), torch.tensor([[0]])
    ids, score = decoding.beam(model, source, BOS, EOS, 4, width, alpha=0.8)
    assert ids.tolist()[0] in list(every_sentence(4))
    assert score == pytest.approx(score_of(model, source, ids.tolist()[0], 0.8), rel=1e-5)


def test_length_normalisation_lets_the_longer_sentence_win():
    """[EOS] has probability 0.5; [3, EOS] has 0.4: shorter is likelier, but not per token."""

    def model(source, target):
        first = torch.tensor([0.02, 0.5, 0.04, 0.4, 0.04])
        rest = torch.tensor([0.0001, 0.9996, 0.0001, 0.0001, 0.0001])
        return torch.stack([first, *[rest] * (target.shape[1] - 1)]).log().expand(len(target), -1, -1)

    source = torch.zeros(1, 1, dtype=torch.long)
    assert decoding.beam(model, source, BOS, EOS, 4, width=2, alpha=0.0)[0].tolist() == [[EOS]]
    assert decoding.beam(model, source, BOS, EOS, 4, width=2, alpha=1.0)[0].tolist() == [[3, EOS]]


def test_decoding_records_no_graph():
    weight = torch.ones(VOCAB, requires_grad=True)
    seen = []

    def model(source, target):
        seen.append(torch.is_grad_enabled())
        return weight.expand(*target.shape, VOCAB)

    source = torch.zeros(1, 1, dtype=torch.long)
    decoding.greedy(model, source, BOS, EOS, 2)
    decoding.beam(model, source, BOS, EOS, 2, width=2, alpha=1.0)
    assert not any(seen)


@pytest.mark.parametrize(("rows", "width", "max_len"), [(2, 1, 3), (1, 0, 3), (1, 2, 0)])
def test_beam_refuses_in_a_sentence(rows, width, max_len):
    source = torch.zeros(rows, 2, dtype=torch.long)
    with pytest.raises(ValueError, match=r"beam\(\) got .*: give it one source"):
        decoding.beam(scripted([2, 2, 2]), source, BOS, EOS, max_len, width, alpha=1.0)


def frequencies(probabilities, draws=40_000, dtype=torch.float32, **options):
    """How often each token is drawn, (V,), when `probabilities` go in as logits."""
    logits = torch.tensor(probabilities).log().to(dtype).expand(draws, -1)
    drawn = decoding.sample(logits, generator=torch.Generator().manual_seed(11), **options)
    return torch.bincount(drawn, minlength=len(probabilities)) / draws


P = [0.05, 0.4, 0.15, 0.3, 0.1]


def squared(p):
    q = [x**2 for x in p]
    return [x / sum(q) for x in q]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, P),
        ({"top_k": 99}, P),
        ({"top_p": 1.0}, P),
        ({"temperature": 0.5}, squared(P)),
        ({"top_k": 2}, [0, 4 / 7, 0, 3 / 7, 0]),
        ({"top_k": 1}, [0, 1, 0, 0, 0]),
        ({"top_p": 0.01}, [0, 1, 0, 0, 0]),
        ({"top_p": 0.5}, [0, 4 / 7, 0, 3 / 7, 0]),  # 0.3 crosses one half, and stays
        ({"top_p": 0.75}, [0, 8 / 17, 3 / 17, 6 / 17, 0]),
        ({"top_k": 2, "top_p": 0.5}, [0, 1, 0, 0, 0]),  # 0.4 / 0.7 is above one half already
        ({"temperature": 0.5, "top_p": 0.55}, [0, 1, 0, 0, 0]),  # 0.16 / 0.285 is, too: temperature comes first
    ],
)
def test_sample_draws_from_the_distribution_it_promises(options, expected):
    # Six standard deviations of a frequency near one half; what is cut off is never drawn.
    drawn, expected = frequencies(P, **options), torch.tensor(expected, dtype=torch.float32)
    torch.testing.assert_close(drawn, expected, rtol=0, atol=6 * 0.5 / 200)
    assert (drawn[expected == 0] == 0).all()


def test_sample_cuts_each_row_by_itself():
    logits = torch.tensor([P, P[::-1]]).log().repeat(500, 1)
    drawn = decoding.sample(logits, top_k=2, generator=torch.Generator().manual_seed(1)).view(500, 2)
    assert set(drawn[:, 0].tolist()) == {1, 3}
    assert set(drawn[:, 1].tolist()) == {1, 3}
    assert (drawn[:, 0] == 1).float().mean() > 0.5 > (drawn[:, 1] == 1).float().mean()


def test_sample_counts_a_flat_vocabulary_right_in_half_precision():
    kept = frequencies([1 / 1001] * 1001, draws=20_000, dtype=torch.float16, top_p=0.5).nonzero().numel()
    assert kept == pytest.approx(501, abs=2)


def test_sample_repeats_with_the_same_generator_and_leaves_everything_else_alone():
    logits = torch.randn(64, 7, generator=torch.Generator().manual_seed(0))
    before, state = logits.clone(), torch.get_rng_state()
    first, again = (decoding.sample(logits, 0.9, 4, 0.8, generator=torch.Generator().manual_seed(2)) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert first.shape == (64,)
    torch.testing.assert_close(logits, before, rtol=0, atol=0)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    "wrong", [{"temperature": 0.0}, {"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}]
)
def test_sample_refuses_in_a_sentence(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"^{name}="):
        decoding.sample(torch.zeros(1, 3), **wrong)


def test_helpers_load_neither_the_grader_nor_matplotlib():
    code = (
        "import sys, pkgutil, importlib, helpers\n"
        "for m in ('masks', 'attention', 'positions', 'layers', 'config', 'models', 'decoding', 'counting',"
        " 'device'):\n"
        "    importlib.import_module('helpers.' + m)\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'matplotlib', 'autograder'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
