"""Counting: the exact numbers that the course names, and every formula against a count or an experiment."""

import pytest
import sympy
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from helpers import complexity, config, cost, counting, parameters
from helpers.attention import MultiHeadAttention
from helpers.layers import DecoderLayer, EncoderLayer, FeedForward
from helpers.models import Classifier, LanguageModel

SEED = {"vocab_size": 100, "d_model": 200, "d_ff": 200, "n_layers": 4, "n_heads": 2}


def size(make):
    with torch.device("meta"):
        return sum(counting.count(make()))


# ---- parameters ----


@pytest.mark.parametrize(
    ("formula", "make", "due"),
    [
        (lambda: parameters.embedding(100, 200), lambda: nn.Embedding(100, 200), 20_000),
        (lambda: parameters.attention(200, 2), lambda: MultiHeadAttention(200, 2), 160_800),
        (lambda: parameters.feed_forward(200, 200), lambda: FeedForward(200, 200), 80_400),
        (lambda: 2 * parameters.layer_norm(200), lambda: nn.ModuleList([nn.LayerNorm(200), nn.LayerNorm(200)]), 800),
        (lambda: parameters.encoder_layer(200, 200, 2), lambda: EncoderLayer(200, 2, 200), 242_000),
        (
            lambda: 4 * parameters.encoder_layer(200, 200, 2),
            lambda: nn.ModuleList(EncoderLayer(200, 2, 200) for _ in range(4)),
            968_000,
        ),
        (
            lambda: parameters.embedding(100, 200) + 4 * parameters.encoder_layer(200, 200, 2),
            lambda: nn.ModuleList([nn.Embedding(100, 200), *(EncoderLayer(200, 2, 200) for _ in range(4))]),
            988_000,
        ),
        (lambda: parameters.language_model(**SEED), lambda: LanguageModel(100, 200, 2, 200, 4), 1_008_100),
        (lambda: parameters.classifier(**SEED, n_classes=2), lambda: Classifier(100, 200, 2, 200, 4, 2), 988_402),
        (lambda: parameters.decoder_layer(15, 22, 3), lambda: DecoderLayer(15, 3, 22), 2_707),
    ],
)
def test_a_closed_form_is_what_a_real_module_has(formula, make, due):
    assert formula() == size(make) == due


def test_bert_base_with_and_without_its_heads():
    assert parameters.bert_base() == 109_482_240
    assert parameters.bert_base_with_heads() == 110_106_428


@pytest.mark.parametrize(
    ("preset", "name", "due"), [(config.base, "base", 63_082_496), (config.big, "big", 214_245_376)]
)
def test_the_paper_beside_exact_counts(preset, name, due):
    assert parameters.translation(preset) == sum(counting.count(parameters.tied_transformer(preset))) == due
    assert due == pytest.approx(parameters.paper(name), rel=0.05)


def test_no_one_vocabulary_explains_both_totals_of_the_paper():
    base, big = (parameters.vocabulary(c, parameters.paper(n)) for c, n in ((config.base, "base"), (config.big, "big")))
    assert base - big > 4_000  # half a million parameters of rounding would move them by 1,000 and 500


def test_the_published_count_that_does_not_add_up():
    assert (160_800 + 80_400 + 400) * 4 == 966_400
    assert parameters.audit() == {"line": "norms", "per_layer": 800, "total": 968_000}


def test_a_ledger_ends_in_a_match_or_names_the_line_that_differs():
    claims = parameters.claimed(**SEED)
    assert parameters.ledger(claims, parameters.seed_model()).endswith("match: True")
    slip = parameters.ledger({**claims, "encoder.2.norm1": 200}, parameters.seed_model())
    assert slip.endswith("match: False, first at encoder.2.norm1: 200 claimed, 400 counted")
    extra = parameters.ledger({**claims, "positions": 51_200}, parameters.seed_model())
    assert extra.endswith("match: False, first at positions: 51,200 claimed, 0 counted")


@pytest.mark.parametrize("look_up", [parameters.paper, cost.paper_training])
def test_a_model_that_the_paper_does_not_have_is_refused_in_a_sentence(look_up):
    with pytest.raises(ValueError, match="'huge': choose one of these"):
        look_up("huge")


# ---- cost ----


def test_two_estimates_of_the_papers_training_differ():
    run = cost.paper_training("base")
    n_tokens = run["steps"] * run["tokens_per_step"]
    assert cost.training_flops(parameters.translation(config.base), n_tokens) == pytest.approx(1.9e18, rel=0.01)
    clock = cost.by_the_clock(run["hours"], run["n_devices"])
    assert clock == pytest.approx(3.3e18, rel=0.01)
    assert cost.days(clock, run["n_devices"], cost.P100, 1.0) == pytest.approx(0.5)


def test_six_n_d_is_what_training_steps_are_counted_to_cost():
    """Products with weights alone; heads, embeddings and attention's own products are small beside them here."""
    model = nn.Sequential(*(FeedForward(64, 256) for _ in range(4))).to("meta")
    x = torch.empty(1, 512, 64, device="meta", requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    assert counter.get_total_flops() == pytest.approx(cost.training_flops(sum(counting.count(model)), 512), rel=0.02)


def test_a_rate_is_measured_on_real_steps():
    assert cost.sustained_rate(seconds=0.0) > 0


# ---- complexity ----

SIZES = (32, 64, 128)


@pytest.mark.parametrize("kind", complexity.LAYERS)
def test_the_tables_cost_grows_as_what_is_counted(kind):
    formula = complexity.table()[kind][0]
    degree = {str(s): sympy.degree(formula, s) for s in formula.free_symbols}
    layer = complexity.LAYERS[kind]
    grows = {
        "n": complexity.fit_exponent(SIZES, [complexity.measured_flops(layer, n, 64) for n in SIZES]),
        "d": complexity.fit_exponent(SIZES, [complexity.measured_flops(layer, 64, d) for d in SIZES]),
        "width": complexity.fit_exponent((2, 4, 8), [complexity.measured_flops(layer, 64, 8, w) for w in (2, 4, 8)]),
    }
    width = degree.get("k", degree.get("r", 0))
    assert grows == pytest.approx({"n": degree["n"], "d": degree["d"], "width": width}, abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "waits"), [("self-attention", 2), ("convolutional", 1), ("restricted self-attention", 2)]
)
def test_all_but_the_recurrent_layer_wait_for_as_many_products_at_any_length(kind, waits):
    assert {complexity.waiting_steps(complexity.LAYERS[kind], n) for n in SIZES} == {waits}


def test_a_recurrent_layer_waits_for_each_token():
    assert [complexity.waiting_steps(complexity.recurrent, n) for n in SIZES] == [*SIZES]


@pytest.mark.parametrize(
    ("layer", "due"),
    [
        (complexity.self_attention, lambda n, k: 1),
        (complexity.recurrent_step, lambda n, k: n - 1),
        (complexity.convolutional, lambda n, k: -(-(n - 1) // (k - 1))),
        (complexity.restricted, lambda n, k: -(-(n - 1) // (k - 1))),
    ],
)
def test_layers_until_the_last_input_reaches_the_first_output(layer, due):
    for n, k in [(2, 2), (9, 3), (20, 4), (33, 5)]:
        assert complexity.layers_to_reach(layer, n, k) == due(n, k)


def test_only_dilated_kernels_reach_in_log_n_layers():
    assert [complexity.dilated_layers_to_reach(n, 3) for n in (3, 9, 27, 81)] == [1, 2, 3, 4]
    assert complexity.layers_to_reach(complexity.convolutional, 81, 3) == 40


def test_a_layer_that_never_reaches_is_none():
    assert complexity.layers_to_reach(lambda x, width: x * 2, 5, most=10) is None


def test_exponents_of_encoder_decoder_are_what_is_counted():
    m, n, k = 48, 20, 12

    def attended(queries, keys):
        q, x = torch.empty(queries, k, device="meta"), torch.empty(keys, k, device="meta")
        with FlopCounterMode(display=False) as counter:
            (q @ x.T).softmax(-1) @ x
        return counter.get_total_flops()

    due = complexity.encoder_decoder(m, n, k)
    found = {"encoder": attended(m, m), "cross": attended(n, m), "decoder": attended(n, n)}
    assert found == {name: 4 * value for name, value in due.items()}


def test_at_the_crossover_attention_costs_as_much_as_recurrence():
    n = complexity.crossover(48)
    layers = complexity.self_attention, complexity.recurrent
    assert len({complexity.measured_flops(layer, n, 48) for layer in layers}) == 1


def _projected(x, seen, w):
    return ((x @ w) @ (seen @ w).T).softmax(-1) @ (seen @ w) @ w


def test_generation_without_a_cache_is_what_is_counted():
    w = torch.empty(5, 5, device="meta")
    with FlopCounterMode(display=False) as counter:
        for t in range(1, 8):
            x = torch.empty(t, 5, device="meta")
            _projected(x, x, w)
    assert counter.get_total_flops() == complexity.generation_flops(7, 5, cached=False)


def test_generation_with_a_cache_is_what_is_counted():
    w = torch.empty(5, 5, device="meta")
    keys = values = torch.empty(0, 5, device="meta")
    with FlopCounterMode(display=False) as counter:
        for _ in range(7):
            x = torch.empty(1, 5, device="meta")
            keys, values = torch.cat([keys, x @ w]), torch.cat([values, x @ w])
            ((x @ w) @ keys.T).softmax(-1) @ values @ w
    assert counter.get_total_flops() == complexity.generation_flops(7, 5, cached=True)


def test_weights_memory_is_what_a_tensor_takes():
    weights = torch.empty(3, 4, 7, 7, dtype=torch.float16)
    assert complexity.weights_memory(3, 4, 7, 2) == weights.nbytes


def test_fit_exponent_is_exact_on_a_power_and_a_slope_otherwise():
    assert complexity.fit_exponent([1, 10, 100], [3, 300, 30_000]) == pytest.approx(2)
    assert complexity.fit_exponent(torch.tensor([1, 2, 8]), [5.0, 5.0, 5.0]) == pytest.approx(0, abs=1e-12)


def test_path_length_of_patterns_that_fill_up_late_or_never():
    n = 6
    ring = torch.eye(n).roll(1, 0).bool()
    late = ring.clone()
    late[0, n - 2] = True  # Wielandt's pattern, the slowest there is
    assert complexity.path_length(torch.ones(3, 3, dtype=torch.bool)) == 1
    assert complexity.path_length(ring) is None
    assert complexity.path_length(late) == (n - 1) ** 2 + 1
    assert complexity.path_length(torch.eye(4).bool()) is None
    assert complexity.path_length(torch.ones(4, 4).tril().bool()) is None
    assert complexity.path_length(ring | ring.T | torch.eye(n).bool()) == 3
