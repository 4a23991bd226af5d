"""Right and wrong answers of 04_complexity, written otherwise."""

import math

import numpy as np
import sympy
import torch
from torch.utils.flop_counter import FlopCounterMode


def _counted(work):
    with FlopCounterMode(display=False) as counter, torch.device("meta"):
        work()
    return counter.get_total_flops()


# ---- attention ----


def _attention_counted(n, d_model):
    def work():
        x, w = torch.empty(n, d_model), torch.empty(d_model, d_model)
        q, k, v = x @ w, x @ w, x @ w
        _ = ((q @ k.T).softmax(-1) @ v) @ w

    return _counted(work)


def _meetings(n_queries, n_keys, width):
    def work():
        q, k = torch.empty(n_queries, width), torch.empty(n_keys, width)
        _ = (q @ k.T).softmax(-1) @ k

    return _counted(work)


def _three_counted(M, N, k):
    return {"encoder": _meetings(M, M, k), "cross": _meetings(N, M, k), "decoder": _meetings(N, N, k)}


# ---- exponents ----


def _normal_equations(sizes, costs):
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float))
    n = len(x)
    return (n * (x * y).sum() - x.sum() * y.sum()) / (n * (x * x).sum() - x.sum() ** 2)


def _by_loops(sizes, costs):
    x, y = [math.log10(s) for s in sizes], [math.log10(c) for c in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def _by_lstsq(sizes, costs):
    x = torch.tensor(sizes, dtype=torch.float64).log2()
    y = torch.tensor(costs, dtype=torch.float64).log2()
    return torch.linalg.lstsq(torch.stack([x, torch.ones_like(x)], 1), y[:, None]).solution[0, 0]


# ---- paths ----


def _by_sets(reads):
    n = len(reads)
    one = [{j for j in range(n) if reads[i, j]} for i in range(n)]
    now = one
    for layers in range(1, n * n + 1):
        if all(len(known) == n for known in now):
            return layers
        now = [set().union(*(now[j] for j in one[i])) for i in range(n)]
    return None


def _until_it_repeats(reads):
    """Patterns that have been seen before will come again, so nothing new can follow."""
    now, seen, layers = reads.clone(), [], 1
    while not now.all():
        if any(torch.equal(now, old) for old in seen):
            return None
        seen.append(now)
        now, layers = (now[:, :, None] & reads[None]).any(1), layers + 1
    return layers


def _by_numpy(reads):
    step = reads.numpy().astype(np.int64)
    now = np.eye(len(step), dtype=np.int64)
    for layers in range(1, len(step) ** 2 + 2):
        now = np.minimum(step @ now, 1)
        if now.min() == 1:
            return np.int64(layers)
    return None


def _powers(reads, limit):
    now = reads
    for layers in range(1, limit(len(reads)) + 1):
        if now.all():
            return layers
        now = (now.float() @ reads.float()) > 0
    return None


# ---- generation ----


def _generation_counted(n, d_model, cached):
    w = torch.empty(d_model, d_model, device="meta")
    kept = torch.empty(0, d_model, device="meta")

    def work():
        nonlocal kept
        for t in range(1, n + 1):
            x = torch.empty(1 if cached else t, d_model)
            q, k, v = x @ w, x @ w, x @ w
            kept = torch.cat([kept, k]) if cached else k
            v = torch.cat([torch.empty(len(kept) - len(v), d_model), v])
            _ = (q @ kept.T).softmax(-1) @ v @ w

    return _counted(work)


def _closed_form(n, d_model, cached):
    d = d_model
    if cached:
        return 8 * n * d**2 + 2 * d * n * (n + 1)
    return 4 * d**2 * n * (n + 1) + 2 * d * n * (n + 1) * (2 * n + 1) // 3


# ---- the table ----

_N, _D, _K, _R = sympy.symbols("n d k r")


def _says(attention=None, recurrent=None, convolution=None, restricted=None):
    return lambda: {
        "self-attention": attention or (_N**2 * _D, 1, 1),
        "recurrent": recurrent or (_N * _D**2, _N, _N),
        "convolutional": convolution or (_K * _N * _D**2, 1, _N / _K),
        "restricted self-attention": restricted or (_R * _N * _D, 1, _N / _R),
    }


def _exact_costs():
    n, d, k, r = sympy.symbols("n d k r", integer=True, positive=True)
    return {
        "recurrent": [4 * n * d**2, sympy.Integer(1) * n, n - 1],
        "restricted self-attention": [4 * r * n * d, sympy.Integer(2), sympy.ceiling((n - 1) / (r - 1))],
        "convolutional": [2 * n * k * d * d, sympy.S.One, (n - 1) / (k - 1) + sympy.Rational(1, 2)],
        "self-attention": [2 * n * d * n + 2 * n * n * d + 3 * n**2, 2, 1.0],
    }


def _by_counts(reads):
    """Ways from input to output, counted until they overflow."""
    ways = reads
    for layers in range(1, len(reads) ** 2 + 1):
        if (ways > 0).all():
            return layers
        ways = ways @ reads
    return None


VARIANTS = {
    "complexity.table": [
        _says(),
        _exact_costs,
        _says(attention=(_N * _D * (_N + 5), 3, np.int64(2)), convolution=(_K * _N * _D * (_D + 1), 1, 2 * _N / _K)),
        _says(restricted=(_N * _D * (_R + sympy.sqrt(_R)), 1, _N / (_R + 1) + 7)),
    ],
    "complexity.attention_flops": [
        _attention_counted,
        lambda n, d_model: 4 * n * d_model * (2 * d_model + n),
        lambda n, d: sympy.Integer(8) * n * d**2 + 4 * n**2 * d,
        lambda n, d: torch.tensor(8 * n * d**2 + 4 * n**2 * d),
        lambda n, d: 2.0 * (4 * n * d * d + 2 * n * n * d),
    ],
    "complexity.encoder_decoder": [
        _three_counted,
        lambda M, N, k: {"decoder": 4.0 * N**2 * k, "encoder": 4 * k * M**2, "cross": 4 * k * N * M},
        lambda M, N, k: {"encoder": M * M * k / 2, "cross": M * N * k + M, "decoder": N * (N + 1) * k},
        lambda M, N, k: {
            "encoder": M * M * k / 7,
            "cross": 4 * M * N * k + 3 * M * N,
            "decoder": 4 * N * N * k + 9 * N,
        },
        lambda M, N, k: {
            name: sympy.Integer(a) * b * k for name, a, b in (("encoder", M, M), ("cross", M, N), ("decoder", N, N))
        },
        lambda M, N, k: {"encoder": M * M * (2 * k + 5), "cross": M * N * (2 * k + 5), "decoder": N * N * (2 * k + 5)},
    ],
    "complexity.fit_exponent": [
        lambda sizes, costs: np.polyfit(np.log(sizes), np.log(costs), 1)[0],
        _normal_equations,
        _by_loops,
        _by_lstsq,
        lambda sizes, costs: float(np.cov(np.log(sizes), np.log(costs))[0, 1] / np.log(sizes).var(ddof=1)),
    ],
    "complexity.path_length": [
        _by_sets,
        _until_it_repeats,
        _by_numpy,
        lambda reads: _powers(reads, lambda n: n * n),
        lambda reads: _powers(reads.T, lambda n: (n - 1) ** 2 + 1),
    ],
    "complexity.crossover": [
        lambda d_model: float(d_model),
        lambda d: next(n for n in range(1, 10**4) if 4 * n * n * d >= 4 * n * d * d),
        lambda d: torch.tensor(d),
        lambda d: sympy.solve(4 * sympy.Symbol("n", positive=True) * d - 4 * d * d)[0],
    ],
    "complexity.weights_memory": [
        lambda batch, n_heads, n, bytes_per_number: batch * n_heads * n**2 * bytes_per_number,
        lambda b, h, n, s: torch.empty(b, h, n, n, device="meta").numel() * s,
        lambda b, h, n, s: math.prod((b, h, n, n, s)),
        lambda b, h, n, s: np.float64(b) * h * n * n * s,
    ],
    "complexity.generation_flops": [_generation_counted, _closed_form],
}

WRONG = {
    "complexity.table": [
        dict,
        lambda: {"self-attention": (_N**2 * _D, 1, 1)},
        lambda: [(_N**2 * _D, 1, 1)] * 4,
        lambda: {kind: tuple(map(str, row)) for kind, row in _says()().items()},
        _says(attention=("n**2*d", 1, 1)),
        _says(attention=(_N**2 * _D, 1)),
        _says(attention=(-(_N**2) * _D, 1, 1)),
        _says(attention=(_N**2 * _D, 0, 1)),
        _says(attention=(sympy.O(_N**2), 1, 1)),
        _says(attention=(_N**3 * _D, 1, 1)),
        _says(attention=(_N ** sympy.Rational(21, 10) * _D, 1, 1)),
        _says(attention=(_N**2 * _D * sympy.log(_N), 1, 1)),
        _says(attention=(_N**_N, 1, 1)),
        _says(attention=(sympy.Symbol("N") ** 2 * sympy.Symbol("D"), 1, 1)),
        _says(attention=(sympy.nan, sympy.nan, sympy.nan)),
        _says(attention=(sympy.oo, 1, 1)),
        _says(attention=(sum(_N**i for i in range(2000)), 1, 1)),
        _says(attention=(1000, 1, 1)),
        _says(attention=(_K * _N**2 * _D, 1, 1)),
        _says(recurrent=(_N * _D**2, sympy.log(_N), _N)),
        _says(recurrent=(_N * _D**2 + _N**2 * _D, _N, _N)),
        _says(recurrent=(_N * _D**3, _N, _N)),
        _says(convolution=(_K * _N * _D**2, _K, _N / _K)),
        _says(convolution=(_K * _N * _D**2, 1, _N - _K)),
        _says(convolution=(_K * _N * _D**2, 1, sympy.sqrt(_N))),
        _says(restricted=(_R * _N * _D, 1, sympy.log(_N) / sympy.log(_R))),
        _says(restricted=(_R * _D, 1, _N / _R)),
        _says(restricted=(_K * _N * _D, 1, _N / _K)),
        lambda: {kind: row[::-1] for kind, row in _says()().items()},
    ],
    "complexity.attention_flops": [
        lambda n, d: 8 * n * d**2 + 4 * n**2 * d + 1,
        lambda n, d: 4 * n**2 * d + 8 * d**2 * n**2,
        lambda n, d: 12 * n * d**2,
        lambda n, d: 16 * n * d**2 + 8 * n**2 * d,
        lambda n, d: n**2 * d,
        lambda n, d: n * d**2,
        lambda n, d: 8 * n * d**2 + 4 * n**2,
        lambda n, d: "8nd² + 4n²d",
        lambda n, d: math.inf,
    ],
    "complexity.encoder_decoder": [
        lambda M, N, k: (M * M * k, M * N * k, N * N * k),
        lambda M, N, k: {"encoder": M * M * k, "cross": M * N * k},
        lambda M, N, k: {"Encoder": M * M * k, "Cross": M * N * k, "Decoder": N * N * k},
        lambda M, N, k: {"encoder": "M²k", "cross": "MNk", "decoder": "N²k"},
        lambda M, N, k: {"encoder": 1, "cross": 1, "decoder": 1},
        lambda M, N, k: {"encoder": -M * M * k, "cross": -M * N * k, "decoder": -N * N * k},
        lambda M, N, k: {"encoder": M**3 * k, "cross": M * N * k, "decoder": N**3 * k},
        lambda M, N, k: {"encoder": M * M * k, "cross": M * N * N * k, "decoder": N * N * k},
        lambda M, N, k: {"encoder": M * M * k, "cross": M * N * k, "decoder": math.inf},
        lambda M, N, k: {"encoder": M * math.log(M) * k, "cross": M * N * k, "decoder": N * math.log(N) * k},
        lambda M, N, k: {"encoder": math.nan, "cross": math.nan, "decoder": math.nan},
        lambda M, N, k: {"encoder": 0, "cross": 0, "decoder": 0},
    ],
    "complexity.fit_exponent": [
        lambda sizes, costs: (_by_loops(sizes, costs), sizes.clear())[0],
        lambda sizes, costs: (_by_loops(sizes, costs), costs.sort())[0],
        lambda sizes, costs: 2.0,
        lambda sizes, costs: math.log(costs[-1]) / math.log(sizes[-1] + 1),
        lambda sizes, costs: _by_loops(sizes, costs) * math.log(2),
        lambda sizes, costs: _by_loops(sizes, costs) + 0.001,
        lambda sizes, costs: -_by_loops(sizes, costs),
        lambda sizes, costs: math.exp(_by_loops(sizes, costs)),
        lambda sizes, costs: _by_loops(sizes[1:], costs[1:]) if len(sizes) > 2 else _by_loops(sizes, costs),
        lambda sizes, costs: np.polyfit(np.log(sizes), np.log(costs), 2)[0] if len(sizes) > 2 else 0.0,
        lambda sizes, costs: np.polyfit(np.log(sizes), np.log(costs), 1),
        lambda sizes, costs: np.median(np.diff(np.log(costs)) / np.diff(np.log(sizes))) + 1e-3,
        lambda sizes, costs: None,
        lambda sizes, costs: float("nan"),
    ],
    "complexity.path_length": [
        lambda reads: 1,
        lambda reads: None,
        lambda reads: len(reads),
        lambda reads: len(reads) - 1,
        lambda reads: _powers(reads, lambda n: 2 * n),
        lambda reads: _powers(reads, lambda n: 20),
        lambda reads: (_by_sets(reads) or 0) + 1,
        lambda reads: str(_by_sets(reads)),
        lambda reads: [_by_sets(reads)],
        lambda reads: reads.sum().item(),
        lambda reads: _by_sets(reads | reads.T),
        lambda reads: _by_sets(reads) or math.nan,
        lambda reads: _by_counts(reads.long()),
        lambda reads: _by_counts(reads.to(torch.uint8)),
        lambda reads: _by_sets(reads) if len(reads) > 1 else None,
        lambda reads: _by_sets(reads) if len(reads) <= 12 else None,
    ],
    "complexity.crossover": [
        lambda d: d + 1,
        lambda d: d - 1,
        lambda d: 8 * d,
        lambda d: d**1.5,
        lambda d: None,
        lambda d: "d_model",
        lambda d: math.nan,
        lambda d: d * 1.001,
    ],
    "complexity.weights_memory": [
        lambda b, h, n, s: b * h * h * n * n * s,
        lambda b, h, n, s: b * h * n**3 * s,
        lambda b, h, n, s: (b + h) * n * n * s,
        lambda b, h, n, s: b * h * n * n * s + 1,
        lambda b, h, n, s: 0,
        lambda b, h, n, s: b * h * n * n * s / 1000,
        lambda b, h, n, s: 3 * b * h * n * n * s,
    ],
    "complexity.generation_flops": [
        lambda n, d, cached: _closed_form(n, d, cached) + 1,
        lambda n, d, cached: _closed_form(n + 1, d, cached),
        lambda n, d, cached: _closed_form(n, d, not cached),
        lambda n, d, cached: n**2 * d if cached else n**3 * d,
        lambda n, d, cached: 8 * n * d * d + 2 * d * n * (n - 1),
        lambda n, d, cached: _closed_form(n, d, cached) / 2 if cached else _closed_form(n, d, cached),
        lambda n, d, cached: _closed_form(n, d, cached) if cached else n * _closed_form(n, d, True),
        lambda n, d, cached: 0,
        lambda n, d, cached: {"cached": _closed_form(n, d, True), "fresh": _closed_form(n, d, False)},
    ],
}
