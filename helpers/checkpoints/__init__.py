"""Models that the course trained itself: weights in half precision, tokenizer, and the record of how they were made.

`NAME.safetensors`, `NAME.tokenizer.json` and `NAME.json` lie beside this file. They are plain data: loading runs
nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from helpers.text import tokenizer as tokenizers

HERE = Path(__file__).parent
MAX_BYTES = 10_000_000


def out(asked: Path | None, tiny: bool, usual: Path = HERE) -> Path:
    """Where an experiment writes: where it was told to, else beside the course's models, which no tiny run replaces."""
    if asked or not tiny:
        return asked or usual
    folder = Path(tempfile.mkdtemp(prefix="tiny-"))
    print(f"A tiny run leaves the course's models as they are and writes to {folder}.", flush=True)
    return folder


def load(name: str, folder: str | Path = HERE) -> tuple[dict[str, Tensor], Tokenizer, dict[str, Any]]:
    """(weights by name in float32, tokenizer, record). Raises FileNotFoundError or ValueError with a sentence."""
    folder = Path(folder)
    weights = folder / f"{name}.safetensors"
    if not weights.is_file():
        known = sorted(file.stem for file in folder.glob("*.safetensors"))
        have = f"there are {', '.join(known)}" if known else "there is none yet"
        raise FileNotFoundError(f"There is no checkpoint named {name!r} in {folder}: {have}.")
    try:
        state = {key: tensor.float() for key, tensor in load_file(weights).items()}
        with safe_open(weights, "pt") as file:
            again = json.loads((file.metadata() or {}).get("shared", "{}"))
        state |= {key: state[first] for key, first in again.items()}
        record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise ValueError(f"The checkpoint {weights} cannot be read ({type(error).__name__}): restore it.") from None
    return state, tokenizers.load(folder / f"{name}.tokenizer.json"), record


def save(name: str, model: nn.Module, tokenizer: Tokenizer, record: dict[str, Any], folder: str | Path = HERE) -> None:
    """Write the three files. ValueError if the weights would take more than MAX_BYTES in half precision."""
    shared, state = _shared(model), model.state_dict()
    state = {key: state[key].to("cpu", torch.float16).contiguous() for key in dict.fromkeys(shared.values())}
    again = {key: first for key, first in shared.items() if key != first}
    check_size(model)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(state, folder / f"{name}.safetensors", {"shared": json.dumps(again)} if again else None)
    tokenizers.save(tokenizer, folder / f"{name}.tokenizer.json")
    write(record, folder / f"{name}.json")


def hand_in(model: nn.Module | Callable[[], nn.Module], name: str, folder: str | Path = ".") -> Path | None:
    """Write `NAME.safetensors`, in half precision, by which an exercise that trains is judged; returns its path.

    `model` may also be a function that trains one. If that is not written yet (it raises NotImplementedError), nothing
    is handed in, and None is returned. ValueError if it is or gives no model.
    """
    try:
        made = model if isinstance(model, nn.Module) else model()
    except NotImplementedError:
        print(f"Nothing to hand in for {name} yet: write the function that trains, then run this cell again.")
        return None
    if not isinstance(made, nn.Module):
        raise ValueError(
            f"hand_in() was given {type(made).__name__}, not a model: does your function return its model?"
        )
    path = Path(folder) / f"{name}.safetensors"
    part = path.with_name(f"{path.name}.part")
    save_file({key: x.detach().to("cpu", torch.float16).clone() for key, x in made.state_dict().items()}, part)
    part.replace(path)  # at no moment is there half a file
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, handed in beside the notebook.")
    return path


def check_size(model: nn.Module) -> None:
    """ValueError if the weights would take more than MAX_BYTES in half precision."""
    state = model.state_dict()
    size = 2 * sum(state[key].numel() for key in set(_shared(model).values()))
    if size > MAX_BYTES:
        raise ValueError(f"The weights take {size:,} bytes in half precision, {MAX_BYTES:,} is the limit: shrink it.")


def _shared(model: nn.Module) -> dict[str, str]:
    """Each name of a tensor → the first name that the same tensor goes by (a head tied to an embedding has two)."""
    first: dict[int, str] = {}
    return {key: first.setdefault(id(x), key) for key, x in model.state_dict(keep_vars=True).items()}


def write(record: dict[str, Any], path: str | Path) -> None:
    """A record as JSON that a person can read: a line for each entry."""
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    Path(path).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@torch.no_grad()
def round_to_half(model: nn.Module) -> None:
    """Round the weights in place to what `save` keeps, so that what is measured is what is shipped.

    A bias on keys becomes 0: it adds the same to all scores of a query, so the softmax does not see it, and long
    training lets it drift. Where it made all scores of some queries fall to −80, fine-tuning in bfloat16 gave NaN.
    """
    for name, x in model.state_dict().items():
        x.copy_(torch.zeros_like(x) if name.endswith("k_proj.bias") else x.half())
