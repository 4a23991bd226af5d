"""Where to compute. A device that is missing is never an error: the CPU is used, and said."""

from __future__ import annotations

from functools import cache

import torch


def pick(name: str | None = None) -> torch.device:
    """The device called `name` ("cpu", "cuda", "cuda:1", "mps"), or without a name the best there is.

    Where it is missing the CPU, with one printed sentence the first time.
    """
    if name is None:
        return torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    device = _parse(name)
    if device is None or not _present(device):
        _say(f"There is no device {name!r} here: the CPU is used.")
        return torch.device("cpu")
    return device


def describe(name: str | None = None) -> str:
    """One sentence about the device that `pick(name)` gives."""
    device = pick(name)
    if device.type == "cpu":
        n = torch.get_num_threads()
        return f"Computing on the CPU with {n} thread{'s' if n != 1 else ''}, torch {torch.__version__}."
    title = torch.cuda.get_device_name(device) if device.type == "cuda" else "the built-in GPU"
    return f"Computing on {title} ({device}), torch {torch.__version__}."


def _parse(name: str) -> torch.device | None:
    try:
        return torch.device(name)
    except RuntimeError:
        return None


def _present(device: torch.device) -> bool:
    if device.type == "cpu":
        return True
    if not torch.accelerator.is_available() or torch.accelerator.current_accelerator().type != device.type:
        return False
    return (device.index or 0) < torch.accelerator.device_count()


@cache
def _say(sentence: str) -> None:
    print(sentence)
