"""The wire: what is sent arrives, and what was not sent by us is Malformed, whatever it is."""

import json
import random
import socket
import struct
import tracemalloc

import pytest
import torch

from autograder.grading import wire
from autograder.grading.wire import Malformed, pack, unpack
from autograder.plain import Other

VALUE = {
    "status": "value",
    "value": [torch.arange(6.0).view(2, 3), (1, 2.5, None, True), {"a": torch.tensor([], dtype=torch.int64)}],
    "big": 10**30,
    "bools": torch.tensor([True, False]),
    "half": torch.ones(3, dtype=torch.bfloat16),
    "other": Other("object"),
    "text": "−∞ größer",
}


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def test_what_is_sent_arrives():
    assert same(VALUE, unpack(pack(VALUE)))


@pytest.mark.parametrize("seed", range(20))
def test_damaged_messages_are_malformed_or_plain(seed):
    rng, whole = random.Random(seed), pack(VALUE)
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = data[: rng.randint(0, len(data))] if rng.random() < 0.3 else data
        try:
            unpack(bytes(data))
        except Malformed:
            continue


def message(header, buffers=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">I", len(text)) + text + buffers


FORGED = {
    "empty": b"",
    "no header": struct.pack(">I", 2**31),
    "no JSON": message(b"\xff\xfe"),
    "deep": message(b"[" * 100_000),
    "deep lists": message(b'["list",[' * 100 + b"1" + b"]]" * 100),
    "a plain list": message([1, 2]),
    "an empty list": message([]),
    "a JSON object": message({"a": 1}),
    "an unknown kind": message(["pickle", "gASV"]),
    "a kind of no text": message([["list"], []]),
    "a list of no list": message(["list", 5]),
    "keys of no text": message(["dict", [[5, 1]]]),
    "pairs of three": message(["dict", [["a", 1, 2]]]),
    "an unknown dtype": message(["tensor", "complex1000", [1], 0]),
    "a dtype of no text": message(["tensor", [], [1], 0]),
    "a negative shape": message(["tensor", "float64", [-1], 0], b"\0" * 8),
    "a shape of text": message(["tensor", "float64", "12", 0], b"\0" * 8),
    "a shape beyond memory": message(["tensor", "float64", [2**40, 2**40], 0]),
    "an empty shape beyond memory": message(["tensor", "float64", [0, 2**80], 0]),
    "a negative offset": message(["tensor", "float64", [1], -8], b"\0" * 8),
    "an offset of truth": message(["tensor", "float64", [1], True], b"\0" * 9),
    "too few bytes": message(["tensor", "float64", [2], 0], b"\0" * 8),
    "too many parts": message(["tensor", "float64", [1], 0, 5], b"\0" * 8),
    "too many tensors": message(["list", [["tensor", "uint8", [1], 0]] * 3_000], b"\0"),
    "too many items": message(["list", [1] * 30_000]),
    "an int of no digits": message(["int", "zz"]),
    "an int without end": message(["int", "0x" + "f" * 10_000]),
    "an unnamed other": message(["other"]),
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED)
def test_forged_messages_are_malformed(data):
    with pytest.raises(Malformed):
        unpack(data)


def test_bytes_that_are_no_bools_become_bools():
    found = unpack(message(["tensor", "bool", [2], 0], b"\x05\x00"))
    assert found.view(torch.uint8).tolist() == [1, 0]


def test_a_message_that_claims_to_be_huge_is_not_waited_for():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack(">Q", 2**60))
        with pytest.raises(Malformed):
            wire.receive(ours, 5)


def test_a_message_that_drips_is_given_up():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack(">Q", 100) + b"\0" * 50)
        with pytest.raises(TimeoutError):
            wire.receive(ours, 0.2)


@pytest.mark.parametrize("item", [b"[],", b"{},", b"0.1,"])
def test_a_bomb_of_items_takes_no_memory(item):
    header = b"[" + item * (50 * 2**20 // len(item)) + b"0]"
    data = struct.pack(">I", len(header)) + header
    tracemalloc.start()
    with pytest.raises(Malformed):
        unpack(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20
