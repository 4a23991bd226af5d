"""Right and wrong answers of 05_parameters, written otherwise: cost."""

import math

import numpy as np
import sympy
import torch


def _step_by_step(flops, n_devices, flops_per_second, utilisation):
    rate = utilisation * flops_per_second
    seconds = flops / n_devices / rate
    return seconds / 60 / 60 / 24


VARIANTS = {
    "cost.training_flops": [
        lambda n_parameters, n_tokens: 2 * n_parameters * n_tokens + 4 * n_parameters * n_tokens,
        lambda n, d: 6.0 * n * d,
        lambda n, d: np.float64(n) * d * 6,
        lambda n, d: sympy.Integer(6) * n * d,
        lambda n, d: torch.tensor(6.0 * n * d, dtype=torch.float64),
    ],
    "cost.days": [
        _step_by_step,
        lambda flops, n_devices, flops_per_second, utilisation: (
            flops / (86_400 * n_devices * flops_per_second * utilisation)
        ),
        lambda f, n, r, u: math.exp(math.log(f) - math.log(n) - math.log(r) - math.log(u)) / 24 / 3600,
    ],
}

WRONG = {
    "cost.training_flops": [
        lambda n, d: 5 * n * d,
        lambda n, d: 6 * n * d + n,
        lambda n, d: 6 * n * n * d,
        lambda n, d: 6 * n / d,
        lambda n, d: 1.9e18,
        lambda n, d: 3.3e18,
        lambda n, d: "6ND",
        lambda n, d: math.inf,
        lambda n, d: 6e-15 * n * d,
        lambda n, d: (2 * n * d, 4 * n * d),
    ],
    "cost.days": [
        lambda f, n, r, u: 0.5,
        lambda f, n, r, u: _step_by_step(f, n, r, u) * 1.001,
        lambda f, n, r, u: _step_by_step(f, n, r, u) / 7,
        lambda f, n, r, u: _step_by_step(f, n, r, u) / 30,
        lambda f, n, r, u: math.ceil(_step_by_step(f, n, r, u)),
        lambda f, n, r, u: round(_step_by_step(f, n, r, u), 2),
        lambda f, n, r, u: -_step_by_step(f, n, r, u),
        lambda f, n, r, u: _step_by_step(f, n, r, 1 - u + 1e-9),
        lambda f, n, r, u: f / (n + r * u) / 86_400,
        lambda f, n, r, u: None,
    ],
}
