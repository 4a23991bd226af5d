"""What training costs: FLOPs, days, and the rate that a device really sustains."""

from __future__ import annotations

import time

import torch
from torch import nn

from helpers.config import Config, tiny
from helpers.counting import count
from helpers.models import LanguageModel

# Single-precision FLOPs a second of one P100, as the paper takes it. (Vaswani et al. 2017, section 6.1, footnote 5)
P100 = 9.5e12
DAY = 24 * 60 * 60


def training_flops(n_parameters: float, n_tokens: float) -> float:
    """6·N·D: two FLOPs for each parameter and token forward, four backward. (Kaplan et al. 2020, section 2.1)"""
    return 6 * n_parameters * n_tokens


def days(flops: float, n_devices: float, flops_per_second: float, utilisation: float) -> float:
    """Days that n_devices take, each at `utilisation` (0 to 1) of its peak of flops_per_second."""
    return flops / (n_devices * flops_per_second * utilisation) / DAY


def by_the_clock(hours: float, n_devices: int, flops_per_second: float = P100) -> float:
    """FLOPs as the paper estimates them: time × devices × rate. (Vaswani et al. 2017, section 6.1)"""
    return hours * 60 * 60 * n_devices * flops_per_second


def paper_training(name: str) -> dict[str, float]:
    """The paper's runs, "base" and "big": steps, tokens (source and target) in a step, hours, devices. (5.1, 5.2)

    ValueError for another name.
    """
    runs = {
        "base": {"steps": 100_000, "tokens_per_step": 50_000, "hours": 12, "n_devices": 8},
        "big": {"steps": 300_000, "tokens_per_step": 50_000, "hours": 3.5 * 24, "n_devices": 8},
    }
    if name not in runs:
        raise ValueError(f'The paper trains "base" and "big", not {name!r}: choose one of these.')
    return runs[name]


def sustained_rate(seconds: float = 10.0, device: str | torch.device = "cpu", preset: Config = tiny) -> float:
    """FLOPs a second, by 6·N·D, of real training steps of a small language model on that device for that long."""
    model = LanguageModel(*preset.shape).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(preset.vocab_size, (32, preset.max_len + 1), device=device)  # (B, T + 1)
    _step(model, optimizer, ids)  # the first step loads kernels: it is not timed
    _wait(device)
    start, n_tokens = time.perf_counter(), 0
    while not n_tokens or time.perf_counter() - start < seconds:
        _step(model, optimizer, ids)
        _wait(device)
        n_tokens += ids[:, 1:].numel()
    return training_flops(sum(count(model)), n_tokens) / (time.perf_counter() - start)


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, ids: torch.Tensor) -> None:
    logits = model(ids[:, :-1])  # (B, T, V)
    nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()


def _wait(device: str | torch.device) -> None:
    """A GPU works behind the caller's back: wait until it is done."""
    if torch.device(device).type != "cpu":
        torch.accelerator.synchronize()
