"""Wrong versions of a module that hold the same layers and compute something else with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from torch import nn


def version(base: type[nn.Module], **steps: Callable) -> Callable[..., nn.Module]:
    """A maker of modules as `base` makes them, but for the methods in `steps`.

    All versions share one module for each size: making its layers is most of the time that a diagnosis takes.
    """
    kind = type(base.__name__, (base,), steps)

    def made(*sizes: Any) -> nn.Module:
        module = _built(base, *sizes)
        module.__class__ = kind
        return module

    return made


@lru_cache(maxsize=32)
def _built(base: type[nn.Module], *sizes: Any) -> nn.Module:
    return base(*sizes)
