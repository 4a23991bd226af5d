"""`workbook demo`: a cohort made from right answers and from mistakes, to see grading at work."""

from __future__ import annotations

import json
import zipfile
from copy import deepcopy
from pathlib import Path

from autograder.grading.submission import Template, role_of

# Who hands in what: right answers but for these, and the mistake by which each ought to be recognised.
WRONG: dict[str, dict[str, tuple[str, str]]] = {
    "bea hides the past": {
        "masks.causal": ("transposed", "def causal(n):\n    return torch.full((n, n), -torch.inf).tril(-1)")
    },
    "cem keeps with ones": {
        "masks.causal": ("keep and hide as 1 and 0", "def causal(n):\n    return torch.ones(n, n).tril()")
    },
    "dov turned round": {
        "masks.padding": ("inverted", "def padding(ids, pad_id):\n    return (ids == pad_id)[:, None, None, :]")
    },
    "eli forgot blind rows": {
        "masks.masked_softmax": (
            "NaN",
            "def masked_softmax(scores, mask):\n    return scores.masked_fill(~mask, -torch.inf).softmax(-1)",
        )
    },
    "fay trusts torch": {"masks.to_torch": ("passed on unchanged", "def to_torch(mask):\n    return mask")},
    "gil does not scale": {
        "attention.scores": ("no scale", "def scores(q, k):\n    return q @ k.transpose(-2, -1)"),
    },
    "hal asks the keys": {
        "attention.scores": (
            "queries and keys swapped",
            "def scores(q, k):\n    return k @ q.transpose(-2, -1) / k.shape[-1] ** 0.5",
        ),
    },
    "ida cuts through time": {
        "attention.split_heads": (
            "view without transpose",
            "def split_heads(x, n_heads):\n    b, t, d = x.shape\n    return x.reshape(b, n_heads, t, d // n_heads)",
        ),
    },
    "joe doubles twice": {"start.double": ("squared", "def double(x):\n    return x * x")},
    "tom's waves are too fast": {
        "positions.sinusoidal": (
            "exponent i/d",
            "def sinusoidal(n_positions, d_model, base=10000.0):\n"
            "    i = torch.arange((d_model + 1) // 2)\n"
            "    angles = torch.arange(n_positions)[:, None] * 1.0 / base ** (i / d_model)\n"
            "    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d_model]",
        ),
        "positions.shift_proof": (
            "sign in the cosine",
            "def shift_proof():\n    import sympy\n    from sympy import cos, sin\n"
            "    x, k, w = sympy.symbols('x k w')\n"
            "    one = [sin(w * (x + k)), sin(w * x + w * k), sin(w * x) * cos(w * k) + cos(w * x) * sin(w * k)]\n"
            "    two = [cos(w * (x + k)), cos(w * x + w * k), cos(w * x) * cos(w * k) + sin(w * x) * sin(w * k)]\n"
            "    return one, two",
        ),
    },
    "uma forgets projections": {
        "complexity.attention_flops": (
            "no projections",
            "def attention_flops(n, d_model):\n    return 4 * n**2 * d_model",
        ),
    },
    "vic leaves biases out": {
        "parameters.feed_forward": (
            "biases left out",
            "def feed_forward(d_model, d_ff):\n    return 2 * d_model * d_ff",
        ),
    },
    "kim borrows the book": {"masks.causal": ("", "from helpers import masks\n\ncausal = masks.causal")},
    "lou never ends": {"masks.prefix": ("", "def prefix(n, n_prefix):\n    while True:\n        pass")},
    "mia leaves": {"masks.sliding_window": ("", "import os\n\n\ndef sliding_window(n, window):\n    os._exit(0)")},
}
BROKEN = {
    "nat's file is cut off": b'{"cells": [{"cell_type": "code", "source": "def cau',
    "oda saved the web page": b"<!DOCTYPE html><html><body>02_masks</body></html>",
    "pit's file is empty": b"",
}


def make(folder: Path, released: dict[str, Template], solved: dict[str, Template]) -> None:
    """Write the cohort's submissions to `folder`, which must not be there yet."""
    folder.mkdir(parents=True)
    for student, notebooks in {"ada is right": solved, "zoe has not begun": released}.items():
        for name, template in notebooks.items():
            _write(folder / student / f"{name}.ipynb", template.notebook)
    for student, answers in WRONG.items():
        for name, template in solved.items():
            topics = {_exercise(cell) for cell in template.notebook["cells"]}
            if topics & set(answers):
                notebook = _with(template, {exercise: source for exercise, (_, source) in answers.items()})
                _write(folder / student / f"{name}.ipynb", notebook)
    _honest_oddities(folder, solved)
    for student, data in BROKEN.items():
        (folder / student).mkdir()
        (folder / student / "02_masks.ipynb").write_bytes(data)


def _honest_oddities(folder: Path, solved: dict[str, Template]) -> None:
    """Right work in odd shapes: a renamed file, cells without their marks, a zip with a folder too many."""
    for name, template in solved.items():
        _write(folder / "quin has another editor" / f"{name} (1).ipynb", _unmarked(template))
    with zipfile.ZipFile(folder / "ria sends a zip.zip", "w") as archive:
        for name, template in solved.items():
            archive.writestr(f"my work/{name}.ipynb", json.dumps(template.notebook))


def _unmarked(template: Template) -> dict:
    notebook = deepcopy(template.notebook)
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    return notebook


def _exercise(cell: dict) -> str:
    role, name = role_of(cell)
    return name if role == "answer" else ""


def _with(template: Template, answers: dict[str, str]) -> dict:
    notebook = deepcopy(template.notebook)
    for cell in notebook["cells"]:
        if _exercise(cell) in answers:
            cell["source"] = answers[_exercise(cell)]
    return notebook


def _write(path: Path, notebook: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), "utf-8")
