"""The wire between controller and worker: typed plain bytes, with caps; nothing is ever unpickled.

A message is a length, a JSON header and the raw bytes of its tensors. In the header a scalar stands for itself and
everything else is a list that begins with its kind: `["tensor", "float64", [2, 3], 0]`.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

import torch

from autograder.expressions import MAX_TEXT
from autograder.plain import DTYPES, MAX_DEPTH, MAX_ITEMS, Expression, Other, plain
from autograder.plain import MAX_TEXT as MAX_PLAIN

MAX_BYTES = 64 * 2**20
MAX_TENSORS = 2_000
MAX_HEADER, MAX_OPENED = 32 * 2**20, 1_000_000  # bytes, and brackets in them: what bounds the memory that reading takes
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Malformed(Exception):
    """What came over the wire is not a message."""


def pack(value: Any) -> bytes:
    """A plain value as bytes; what is not plain goes as an `Other`."""
    buffers: list[bytes] = []
    header = json.dumps(_down(plain(value), buffers)).encode("ascii")
    return struct.pack(">I", len(header)) + header + b"".join(buffers)


def _down(value: Any, buffers: list[bytes]) -> Any:
    if isinstance(value, torch.Tensor):
        offset = sum(map(len, buffers))
        buffers.append(value.contiguous().view(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b"")
        return ["tensor", _NAMES[value.dtype], list(value.shape), offset]
    if type(value) in (list, tuple):
        return [type(value).__name__, [_down(x, buffers) for x in value]]
    if type(value) is dict:
        return ["dict", [[key, _down(x, buffers)] for key, x in value.items()]]
    if isinstance(value, Other):
        return ["other", value.kind]
    if isinstance(value, Expression):
        return ["expression", value.text]
    return ["int", hex(value)] if type(value) is int and abs(value) >= 2**53 else value


def unpack(data: bytes) -> Any:
    """The plain value in `data`. Raises Malformed for anything that `pack` would not have written."""
    try:
        (size,) = struct.unpack_from(">I", data)
        body = data[4 : 4 + size]
        if len(body) != size:
            raise Malformed("the header is cut off")
        if size > MAX_HEADER or body.count(b"[") + body.count(b"{") > MAX_OPENED:
            raise Malformed("too large or too deep")
        return _up(json.loads(body), memoryview(data)[4 + size :], [MAX_ITEMS, MAX_TENSORS], 0)
    except Malformed:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        OverflowError,
        RecursionError,
        struct.error,
        RuntimeError,
    ) as error:
        raise Malformed(f"not a message ({type(error).__name__})") from None


def _up(node: Any, buffers: memoryview, budget: list[int], depth: int) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH + 2:
        raise Malformed("too large or too deep")
    if node is None or type(node) in (bool, int, float, str):
        if type(node) is str and len(node) > MAX_PLAIN:
            raise Malformed("a text of no end")
        return node
    kind, *rest = node
    if kind == "list" or kind == "tuple":
        items = [_up(x, buffers, budget, depth + 1) for x in rest[0]]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {_text(key): _up(x, buffers, budget, depth + 1) for key, x in rest[0]}
    if kind == "tensor":
        return _tensor(*rest, buffers, budget)
    if kind == "other":
        return Other(_text(rest[0])[:300])
    if kind == "expression":
        return Expression(_text(rest[0])[:MAX_TEXT])
    if kind == "int" and len(_text(rest[0])) < 1_100:
        return int(rest[0], 16)
    raise Malformed(f"unknown kind {str(kind)[:20]!r}")


def _text(value: Any) -> str:
    if type(value) is not str:
        raise Malformed("text is due")
    return value


def _tensor(name: str, shape: list, offset: int, buffers: memoryview, budget: list[int]) -> torch.Tensor:
    budget[1] -= 1
    dtype = DTYPES[name]
    if budget[1] < 0 or len(shape) > 12 or any(type(n) is not int or n < 0 for n in shape) or type(offset) is not int:
        raise Malformed("a tensor of no shape")
    count = 1
    for n in shape:
        count *= n
    size = count * dtype.itemsize
    if offset < 0 or offset + size > len(buffers):
        raise Malformed("a tensor is cut off")
    if not count:
        return torch.empty(shape, dtype=dtype)
    raw = torch.frombuffer(bytearray(buffers[offset : offset + size]), dtype=torch.uint8)
    if dtype is torch.bool:  # a byte that is neither 0 nor 1 would be a bool of no meaning
        return (raw != 0).view(shape)
    return raw.view(dtype).view(shape)


# ---- sockets ----


def send(sock: socket.socket, value: Any) -> None:
    """Send one message."""
    data = pack(value)
    if len(data) > MAX_BYTES:
        data = pack(Other("message of more than 64 MiB"))
    sock.sendall(struct.pack(">Q", len(data)) + data)


def receive(sock: socket.socket, seconds: float | None = None) -> Any:
    """Receive one message, whole, within `seconds`. Raises EOFError at the end, Malformed or TimeoutError."""
    until = None if seconds is None else time.monotonic() + seconds
    (size,) = struct.unpack(">Q", _exactly(sock, 8, until))
    if size > MAX_BYTES:
        raise Malformed("a message of more than 64 MiB")
    return unpack(_exactly(sock, size, until))


def _exactly(sock: socket.socket, size: int, until: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            sock.settimeout(left)
        part = sock.recv(min(size - len(parts), 2**20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
