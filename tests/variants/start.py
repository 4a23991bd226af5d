"""Right and wrong answers of 00_start_here, written otherwise."""

import numpy as np
import torch


def _loop(x):
    out = torch.zeros_like(x).flatten()
    for i, number in enumerate(x.flatten()):
        out[i] = number + number
    return out.reshape(x.shape)


def _in_place_on_a_copy(x):
    y = x.clone()
    y *= 2
    return y


def _in_place(x):
    x += x
    return x


VARIANTS = {
    "start.double": [
        lambda x: 2 * x,
        lambda x: x * 2,
        lambda x: x.mul(2),
        lambda x: torch.add(x, x),
        lambda x: torch.stack([x, x]).sum(0),
        lambda x: x - -x,
        lambda x: torch.einsum("...,->...", x, torch.tensor(2, dtype=x.dtype, device=x.device)),
        _loop,
        _in_place_on_a_copy,
    ],
}

WRONG = {
    "start.double": [
        lambda x: (2 * x).clamp(-1000, 1000),
        lambda x: x**2,
        lambda x: 3 * x,
        lambda x: -2 * x,
        lambda x: 2 * x.abs(),
        lambda x: 2 * x + 1e-3,
        lambda x: 2 * x.detach(),
        lambda x: 2 * x.flatten(),
        lambda x: 2 * x.mean(),
        lambda x: 2 * x[None],
        lambda x: (2 * x).tolist(),
        lambda x: (2 * x).float(),
        lambda x: 2 * x.round(),
        lambda x: (2 * x).transpose(0, -1),
        lambda x: 2 * torch.randn_like(x, dtype=torch.float64),
        lambda x: np.asarray(x.detach()) * 2,
        lambda x: torch.tensor((2 * x).tolist()),
        lambda x: str(2 * x),
        lambda x: "2 * x",
        lambda x: 2,
        lambda x: double,  # noqa: F821
        _in_place,
    ],
}
