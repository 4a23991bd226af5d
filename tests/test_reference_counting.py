"""Counts of the reference against a FLOP counter and experiments; devices that are not there."""

import subprocess
import sys

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from helpers import attention, counting, device


def flops(function, *tensors):
    with FlopCounterMode(display=False) as counter:
        function(*tensors)
    return counter.get_total_flops()


@pytest.mark.parametrize(("n", "d_k", "d_hidden"), [(7, 5, 3), (11, 2, 13)])
def test_costs_of_scores_are_what_is_counted(n, d_k, d_hidden):
    q, k = torch.randn(2, n, d_k)
    w_q, w_k = torch.randn(2, d_k, d_hidden)
    v = torch.randn(d_hidden, 1)  # a column: the counter does not see matrix @ vector
    assert flops(attention.scores, q, k) == counting.dot_cost(n, d_k)
    assert flops(attention.additive_scores, q, k, w_q, w_k, v) == counting.additive_cost(n, d_k, d_hidden)


@pytest.mark.parametrize("n_heads", [1, 3, 5])
def test_heads_change_no_flops(n_heads):
    layer, x = attention.MultiHeadAttention(15, n_heads), torch.randn(1, 7, 15)

    def explicit(x):
        output, _ = attention.attend(*layer._heads(x, None))
        return layer.out_proj(attention.merge_heads(output))

    assert flops(explicit, x) == counting.head_flops(7, 15, n_heads)


@pytest.mark.parametrize("d_k", [3, 64])
def test_scores_of_unit_normals_spread_as_the_root(d_k):
    q, k = torch.randn(2, 100_000, d_k, generator=torch.Generator().manual_seed(0))
    assert float((q * k).sum(-1).std()) == pytest.approx(counting.score_std(d_k), rel=0.02)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize(("n_layers", "n_heads"), [(1, 1), (3, 1), (2, 2), (3, 2), (2, 3)])
def test_receptive_field_is_reached_by_a_network_built_for_it(n_layers, n_heads, residual):
    """Layer l looks back by steps of fan^l, so that no two paths meet."""
    fan = n_heads + residual
    steps = range(0 if residual else 1, fan if residual else fan + 1)
    reached = {0}
    for layer in range(n_layers):
        reached = {node + step * fan**layer for node in reached for step in steps}
    assert len(reached) == counting.receptive_field(n_layers, n_heads, residual)


def test_a_missing_device_is_said_once_and_the_cpu_is_used(capsys):
    device._say.cache_clear()
    for _ in range(2):
        assert device.pick("cuda:99") == torch.device("cpu")
    assert capsys.readouterr().out.count("the CPU is used") == 1
    assert device.pick("no such thing") == torch.device("cpu")
    assert device.pick("cpu") == torch.device("cpu")
    assert "CPU" in device.describe("cpu")
    assert isinstance(device.pick(), torch.device)


def test_the_reference_loads_no_plotting_and_no_grader():
    names = "attention config counting decoding device layers masks models positions"
    code = f"import sys; [__import__('helpers.' + n) for n in '{names}'.split()]; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "helpers.models" in loaded
    assert not {"matplotlib", "autograder", "sympy.plotting", "IPython"} & set(loaded)
