"""Every formula against a count or an experiment; devices that are missing."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from helpers import counting, device
from helpers.attention import merge_heads, scores, split_heads


def flops(work):
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def test_count_takes_shared_weights_once_and_tells_frozen_from_trainable():
    model = nn.ModuleDict({"embedding": nn.Embedding(11, 3), "body": nn.Linear(3, 5), "head": nn.Linear(3, 11)})
    model["head"].weight = model["embedding"].weight
    model["body"].requires_grad_(False)
    model.register_buffer("positions", torch.zeros(100))
    assert counting.count(model) == (11 * 3 + 11, 3 * 5 + 5)


def test_count_allocates_nothing():
    with torch.device("meta"):
        model = nn.Linear(10**6, 10**6)
    assert counting.count(model) == (10**12 + 10**6, 0)


@pytest.mark.parametrize("d_k", [1, 7, 64, 300])
def test_score_std_is_what_draws_show(d_k):
    generator = torch.Generator().manual_seed(d_k)
    q, k = torch.randn(2, 100_000, d_k, generator=generator)
    assert float((q * k).sum(-1).std()) == pytest.approx(counting.score_std(d_k), rel=0.03)


@pytest.mark.parametrize(("n", "d_k", "d_hidden"), [(1, 1, 1), (7, 5, 3), (4, 9, 11)])
def test_costs_of_scores_are_what_is_counted(n, d_k, d_hidden):
    q, k = torch.ones(n, d_k), torch.ones(n, d_k)
    w_q, w_k, v = torch.ones(d_k, d_hidden), torch.ones(d_k, d_hidden), torch.ones(d_hidden, 1)
    assert counting.dot_cost(n, d_k) == flops(lambda: scores(q, k))

    def additive():  # a product with a vector is not counted by torch, so v is a matrix of one column
        ((q @ w_q)[:, None] + (k @ w_k)).tanh() @ v

    assert counting.additive_cost(n, d_k, d_hidden) == flops(additive)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6])
def test_head_flops_are_what_is_counted_for_any_number_of_heads(n_heads):
    n, d_model = 7, 6 * 5
    x, weight = torch.ones(1, n, d_model), torch.ones(d_model, d_model)

    def layer():
        q, k, v = (split_heads(x @ weight, n_heads) for _ in range(3))
        merge_heads(scores(q, k).softmax(-1) @ v) @ weight

    assert counting.head_flops(n, d_model, n_heads) == flops(layer)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize(("n_layers", "n_heads"), [(1, 1), (3, 1), (4, 2), (2, 3), (0, 2)])
def test_receptive_field_is_reached_by_a_network_built_for_it(n_layers, n_heads, residual):
    reads = n_heads + residual  # nodes that a node reads, itself first if there is a residual path
    n = 2 * reads**n_layers + 3
    x = torch.ones(n, dtype=torch.float64, requires_grad=True)
    hidden = x
    for layer in range(n_layers):
        steps = [(h + 1 - residual) * reads**layer for h in range(reads)]
        hidden = sum(hidden.roll(step) for step in steps)
    hidden[0].backward()
    assert int((x.grad != 0).sum()) == counting.receptive_field(n_layers, n_heads, residual)


@pytest.mark.parametrize("name", ["quantum", "cuda:99", "", "mps:7"])
def test_a_missing_device_is_the_cpu_and_said_on_stdout(name, capsys):
    device._say.cache_clear()
    assert device.pick(name) == torch.device("cpu")
    said = capsys.readouterr()
    assert repr(name) in said.out
    assert "CPU" in said.out
    assert said.err == ""


def test_a_missing_device_is_said_once(capsys):
    device._say.cache_clear()
    for _ in range(2):
        device.pick("cuda:99")
    assert capsys.readouterr().out.count("the CPU is used") == 1


def test_a_device_that_is_there_is_picked_without_a_word(capsys):
    assert device.pick("cpu") == torch.device("cpu")
    best = device.pick()
    assert torch.ones(3, device=best).sum() == 3
    assert best.type == "cpu" or torch.accelerator.is_available()
    assert capsys.readouterr().out == ""


def test_describe_names_the_device_and_the_version():
    sentence = device.describe("cpu")
    assert "CPU" in sentence
    assert torch.__version__ in sentence


def test_the_reference_loads_no_plotting_and_no_grader():
    names = "attention config counting decoding device layers masks models positions"
    code = f"import sys; [__import__('helpers.' + n) for n in '{names}'.split()]; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "helpers.models" in loaded
    assert not {"matplotlib", "autograder", "sympy.plotting", "IPython"} & set(loaded)
