"""Positions of the reference: the table, what shifting does to it, and what scores see of it."""

import math

import pytest
import torch
from torch import nn

from helpers import positions


@pytest.mark.parametrize(("n", "d_model", "base"), [(11, 6, 10000.0), (5, 7, 100.0), (3, 1, 10000.0)])
def test_sinusoidal_is_the_papers_formula(n, d_model, base):
    table = positions.sinusoidal(n, d_model, base)
    assert table.shape == (n, d_model)
    for x in range(n):
        for feature in range(d_model):
            angle = x / base ** ((feature - feature % 2) / d_model)
            expected = math.cos(angle) if feature % 2 else math.sin(angle)
            assert float(table[x, feature]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_positions_are_added_exactly_in_every_dtype(dtype):
    layer = positions.SinusoidalPositions(6)
    for n in (5, 300, 7):  # growing and shrinking
        exact = positions._sinusoidal(n, 6)
        assert torch.equal(layer(torch.zeros(2, n, 6, dtype=dtype)), exact.to(dtype).expand(2, n, 6))
    assert not layer.state_dict()
    other = torch.float64 if dtype == torch.float32 else torch.float32
    assert torch.equal(layer(torch.zeros(7, 6, dtype=other)), positions._sinusoidal(7, 6).to(other))


@pytest.mark.parametrize("k", [0, 1, -3, 17])
def test_shifting_is_a_matrix(k):
    table = positions._sinusoidal(40, 8).float()
    matrix = positions.shift_matrix(k, 8)
    start, end = max(0, -k), min(40, 40 - k)
    torch.testing.assert_close(table[start:end] @ matrix.T, table[start + k : end + k], rtol=0, atol=1e-5)


def test_odd_widths_have_no_pairs_to_turn():
    with pytest.raises(ValueError, match="d_model=5 is odd"):
        positions.shift_matrix(1, 5)
    with pytest.raises(ValueError, match="d_model=5 is odd"):
        positions.rotary(torch.zeros(3, 5), torch.arange(3))


def test_learned_positions_are_indexed_by_time():
    layer = positions.LearnedPositions(7, 4)
    x = torch.randn(3, 5, 4)
    torch.testing.assert_close(layer(x) - x, layer.embedding.weight[:5].expand(3, 5, 4))
    with pytest.raises(ValueError, match="8 tokens, but only 7 positions"):
        layer(torch.zeros(1, 8, 4))


def test_relative_bias_depends_on_query_minus_key():
    table = torch.randn(3, 2 * 6 - 1)
    for n in (1, 4, 6):
        bias = positions.relative_bias(table, n)
        assert bias.shape == (3, n, n)
        for i in range(n):
            for j in range(n):
                assert torch.equal(bias[:, i, j], table[:, i - j + 5])
    with pytest.raises(ValueError, match="reaches 6 positions, not 7"):
        positions.relative_bias(table, 7)


def test_rotary_turns_pairs_keeps_norms_and_sees_only_distances():
    torch.manual_seed(0)
    q, k = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    time = torch.arange(5)
    turned = positions.rotary(q, time)
    for t in range(5):
        for i in range(4):
            number = torch.complex(q[..., t, 2 * i], q[..., t, 2 * i + 1])
            number = number * torch.exp(torch.tensor(1j * t * 10000 ** (-2 * i / 8)))
            torch.testing.assert_close(turned[..., t, 2 * i], number.real)
            torch.testing.assert_close(turned[..., t, 2 * i + 1], number.imag)
    torch.testing.assert_close(turned.norm(dim=-1), q.norm(dim=-1))
    here = turned @ positions.rotary(k, time).transpose(-2, -1)
    later = positions.rotary(q, time + 100) @ positions.rotary(k, time + 100).transpose(-2, -1)
    torch.testing.assert_close(here, later)
    assert positions.rotary(q.bfloat16(), time).dtype == torch.bfloat16


def test_positions_work_where_the_model_is():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = positions.SinusoidalPositions(6)

    with torch.device("meta"):
        assert positions.sinusoidal(5, 6).device.type == "meta"
        assert Model().positions(torch.zeros(2, 5, 6)).device.type == "meta"


def test_the_gap_is_nought_for_a_set_and_not_where_order_counts():
    torch.manual_seed(0)
    x, permutation = torch.randn(3, 5, 4, dtype=torch.float64), torch.tensor([2, 0, 1, 4, 3])
    weight = torch.randn(5, 5, dtype=torch.float64)
    assert positions.equivariance_gap(lambda x: (x @ x.mT).softmax(-1) @ x, x, permutation) < 1e-12
    expected = ((weight @ x)[:, permutation] - weight @ x[:, permutation]).abs().max()
    assert positions.equivariance_gap(lambda x: weight @ x, x, permutation) == pytest.approx(float(expected))
    assert expected > 0.1


@pytest.mark.parametrize("k", [0, 1, -4, 30])
def test_similarity_is_the_same_at_every_position(k):
    table = positions._sinusoidal(100, 6, 50.0)
    for x in (4, 17, 60):
        assert positions.similarity(k, 6, 50.0) == pytest.approx(float(table[x] @ table[x + k]))
    with pytest.raises(ValueError, match="d_model=3 is odd"):
        positions.similarity(k, 3)


def test_terms_of_added_and_of_concatenated_positions():
    x_i, p_i, x_j, p_j = torch.randn(4, 7, dtype=torch.float64)
    added, joined = positions.add_or_concat(x_i, p_i, x_j, p_j)
    assert list(added) == ["xx", "xp", "px", "pp"] and list(joined) == ["xx", "pp"]
    torch.testing.assert_close(sum(added.values()), (x_i + p_i) @ (x_j + p_j))
    torch.testing.assert_close(sum(joined.values()), torch.cat([x_i, p_i]) @ torch.cat([x_j, p_j]))
    torch.testing.assert_close(added["xp"], x_i @ p_j)


def test_concatenated_positions_are_a_bias():
    q, k, q_pos, k_pos = torch.randn(5, 4), torch.randn(7, 4), torch.randn(5, 3), torch.randn(7, 3)
    joined = torch.cat([q, q_pos], -1) @ torch.cat([k, k_pos], -1).T
    torch.testing.assert_close(q @ k.T + positions.bias_from_concat(q_pos, k_pos), joined)


def test_relative_biases_are_as_many_as_the_table_has():
    assert positions.extra_parameters(6, 3) == torch.empty(3, 2 * 6 - 1).numel()
