"""Weights that a learner hands over: a safetensors file, which is hostile bytes, read with limits and never unpickled.

A file is eight bytes with the length N of its header, N bytes of JSON (for each name dtype, shape and place), and the
numbers, one tensor after the other.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

MAX_HEADER = 2**17  # bytes; a model of this course has below a hundred names
DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
BEGINNINGS = {
    b"PK\x03\x04": "a zip, such as `torch.save` writes: it may hold code, so it is not opened",
    b"\x80": "a pickle, which may hold code, so it is not opened",
    b"\x89HDF": "HDF5",
    b"{": "text",
}


class Unfit(Exception):
    """The file cannot be judged; the message is a sentence for who handed it in."""


class Missing(Unfit):
    """There is no file."""


@dataclass(frozen=True)
class Found:
    """What was measured of a learner's model, and of the grader's own baseline on the same data."""

    model: nn.Module
    yours: float
    baseline: float


@dataclass(frozen=True)
class Slip:
    """A mistake that shows in the weights: `test(found)` is true of it."""

    name: str
    test: Callable[[Found], bool]
    sentence: Callable[[Found], str]


@dataclass(frozen=True)
class Weights:
    """What an exercise of the kind `training` asks for, and how it is judged.

    `file` is its name beside the notebook, `build` the model whose names and shapes it must have. `data(rng)` draws
    inputs for `score(model, *inputs)` and `baseline(*inputs)`, a budget of seconds on one thread in all. The first of
    `slips` that is true speaks; else `enough(found)` decides, and `told(found)` says the two numbers in a sentence.
    """

    file: str
    build: Callable[[], nn.Module]
    data: Callable[[Any], tuple]
    score: Callable[..., float]
    baseline: Callable[..., float]
    enough: Callable[[Found], bool]
    told: Callable[[Found], str]
    advice: str
    slips: tuple[Slip, ...] = ()

    @property
    def how(self) -> str:
        """How the file is written."""
        return f'`hand_in(model, "{self.file.removesuffix(".safetensors")}")`'

    @property
    def max_bytes(self) -> int:
        """What the file takes in float32, at most."""
        return 8 + MAX_HEADER + 4 * sum(x.numel() for x in wanted(self.build).values())


@cache
def wanted(build: Callable[[], nn.Module]) -> dict[str, Tensor]:
    """Names and shapes, as tensors without numbers."""
    with torch.device("meta"):
        return build().state_dict()


# ---- reading ----


def take(path: Path, asked: Weights) -> bytes:
    """The bytes of a file, if it is one and no larger than it may be. Raises Unfit or Missing."""
    name = asked.file
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        if path.is_symlink():
            raise Unfit(f"`{name}` is a link, which is not followed: write the file itself with {asked.how}.")
        opened = os.open(path, flags)
    except FileNotFoundError:
        raise Missing(f"Not attempted: there is no `{name}`. Once a model is trained, {asked.how} writes it.") from None
    except (OSError, ValueError) as error:
        raise Unfit(f"`{name}` cannot be opened ({type(error).__name__}): write it with {asked.how}.") from None
    with os.fdopen(opened, "rb") if stat.S_ISREG(os.fstat(opened).st_mode) else _refused(opened, asked) as file:
        fits(os.fstat(opened).st_size, asked)
        data = file.read(asked.max_bytes + 1)
    fits(len(data), asked)
    return data


def _refused(opened: int, asked: Weights) -> Any:
    os.close(opened)
    raise Unfit(f"`{asked.file}` is a folder, a pipe or a device, not a file: write the file with {asked.how}.")


def fits(size: int, asked: Weights) -> None:
    """Raises Unfit if a file of `size` bytes is too large, before it is read."""
    if size > asked.max_bytes:
        raise Unfit(
            f"`{asked.file}` is larger than the {asked.max_bytes:,} bytes that these weights take at most, in "
            f"float32: hand in the model of this exercise alone, with {asked.how}."
        )


def read(data: bytes, asked: Weights) -> dict[str, Tensor]:
    """The weights by name, float32, all of them finite and of the shapes that are asked for. Raises Unfit."""
    fits(len(data), asked)
    header, body = _header(data, asked)
    want = wanted(asked.build)
    _same_names(header, want, asked)
    spans = {name: _span(name, header[name], want[name], asked) for name in want}
    _in_a_row(spans, len(body), asked)
    state = {}
    for name, (dtype, start, end) in spans.items():
        numbers = torch.frombuffer(bytearray(body[start:end]), dtype=dtype) if end > start else torch.empty(0)
        state[name] = numbers.float().view(want[name].shape)
        bad = int((~torch.isfinite(state[name])).sum())
        if bad:
            raise Unfit(
                f"{bad:,} of the {numbers.numel():,} numbers of `{name}` in `{asked.file}` are NaN or infinite: "
                "training ran away, so look at its losses, lower the learning rate or clip, and train again."
            )
    return state


def _header(data: bytes, asked: Weights) -> tuple[dict[str, Any], memoryview]:
    """The header without its remarks, and the bytes of the numbers."""
    size = int.from_bytes(data[:8], "little")
    if not data:
        raise Unfit(f"`{asked.file}` is empty: write it again with {asked.how}.")
    if data[8:9] != b"{":
        what = next((words for start, words in BEGINNINGS.items() if data.startswith(start)), "something else")
        raise Unfit(f"`{asked.file}` is not a safetensors file but {what}: write it with {asked.how}.")
    if size > MAX_HEADER:
        raise Unfit(
            f"`{asked.file}` says that its header has {size:,} bytes, {MAX_HEADER:,} is the limit: "
            f"write it with {asked.how}."
        )
    if size > len(data) - 8:
        raise Unfit(f"`{asked.file}` breaks off before its numbers begin: write it again with {asked.how}.")
    try:
        header = json.loads(data[8 : 8 + size].decode("utf-8"), object_pairs_hook=_once)  # bytes might be UTF-16
        assert type(header) is dict
    except _Twice as twice:
        raise Unfit(f"`{asked.file}` has `{twice}` twice in its header: write it with {asked.how}.") from None
    except (ValueError, RecursionError, AssertionError):
        raise Unfit(f"The header of `{asked.file}` is damaged: write it again with {asked.how}.") from None
    header.pop("__metadata__", None)
    return header, memoryview(data)[8 + size :]


class _Twice(Exception):
    """A name that is there twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = {}
    for name, entry in pairs:
        if name in made:
            raise _Twice(_shown(name))
        made[name] = entry
    return made


def _shown(name: str) -> str:
    """A name as it can be printed, on a terminal too."""
    return name[:60].encode("unicode_escape").decode().replace("`", "'")


def _same_names(header: dict[str, Any], want: dict[str, Tensor], asked: Weights) -> None:
    missing, more = [n for n in want if n not in header], [_shown(n) for n in header if n not in want]
    faults = [f"`{name}` is missing" for name in missing] + [f"`{name}` is not of this model" for name in more]
    if faults:
        rest = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise Unfit(
            f"The names in `{asked.file}` are not those of the model asked for ({'; '.join(faults[:3])}{rest}): "
            f"hand in the model of this exercise, with {asked.how}."
        )


def _span(name: str, entry: Any, want: Tensor, asked: Weights) -> tuple[torch.dtype, int, int]:
    """dtype and place of one tensor."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        kind, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        if type(shape) is list and all(type(n) is int for n in (*shape, start, end)) and type(kind) is str:
            if shape != list(want.shape):
                given = "×".join(map(str, shape[:8])) or "one number"
                raise Unfit(
                    f"`{name}` in `{asked.file}` has the shape {given[:60]} where "
                    f"{'×'.join(map(str, want.shape))} is asked for: hand in a model of this exercise's sizes."
                )
            if kind not in DTYPES:
                raise Unfit(
                    f"`{name}` in `{asked.file}` is of the type {_shown(kind)}: hand in float32, or half precision "
                    f"(float16, bfloat16), with {asked.how}."
                )
            if start >= 0 and end - start == want.numel() * DTYPES[kind].itemsize:
                return DTYPES[kind], start, end
    raise Unfit(f"The header of `{asked.file}` does not say where `{name}` lies: write it again with {asked.how}.")


def _in_a_row(spans: dict[str, tuple], n_bytes: int, asked: Weights) -> None:
    """One after the other, without a gap, none inside another, up to the end."""
    at = 0
    for _, start, end in sorted(spans.values(), key=lambda span: span[1:]):
        if start != at:
            raise Unfit(f"The header of `{asked.file}` lies about where its numbers are: write it with {asked.how}.")
        at = end
    if at != n_bytes:
        what = "breaks off before its end" if at > n_bytes else "has bytes that belong to no tensor"
        raise Unfit(f"`{asked.file}` {what} ({n_bytes:,} bytes of numbers where {at:,} are due): write it again.")
