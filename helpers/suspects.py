"""Five small translators, each spoilt by one fault that people really make, and the experiments that tell them apart.

`load(name)` gives one; which fault it has is for you to find out. `python -m helpers.experiments.broken` made them.

Letters for shapes: B batch, S source time, T target time, D d_model, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from helpers import checkpoints, masks
from helpers.models import Transformer
from helpers.text.translation import EOS, PAD, UNK, source_ids, target_ids

HERE = checkpoints.HERE / "broken"
FAULTS = ("no causal mask", "unshifted targets", "padding attended to", "padding counted in the loss", "no positions")
NO_ID = -1


class Suspect(Transformer):
    """A `Transformer` with one matrix for both embeddings and the head, which may read as it should not."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        hides_future: bool = True,
        hides_pads: bool = True,
        knows_places: bool = True,
    ) -> None:
        super().__init__(vocab_size, vocab_size, d_model, n_heads, d_ff, n_layers, norm_first=True)
        self.target_embedding = self.source_embedding
        self.head.weight = self.source_embedding.weight
        self.register_buffer("reads", torch.tensor([hides_future, hides_pads, knows_places]).float())
        self.hides_future = hides_future
        self.pad_id = PAD if hides_pads else NO_ID
        self.positions = self.positions if knows_places else nn.Identity()

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """As `Transformer.decode`, (B, T) → (B, T, V)."""
        if self.hides_future:
            return super().decode(target, memory, source)
        mask, memory_mask = (masks.padding(ids, self.pad_id) for ids in (target, source))  # (B, 1, 1, T), (B, 1, 1, S)
        x = self._embed(self.target_embedding, target)  # (B, T, D)
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask)
        return self.head(self.decoder_norm(x))  # (B, T, V)


def names(folder: str | Path = HERE) -> list[str]:
    """What there is to load."""
    return sorted(file.stem for file in Path(folder).glob("*.safetensors"))


def load(name: str, folder: str | Path = HERE) -> tuple[Suspect, Tokenizer, dict[str, Any]]:
    """(model in evaluation mode, tokenizer, record with curve and BLEU). Raises as `checkpoints.load`."""
    state, tokenizer, record = checkpoints.load(name, folder)
    s = record["settings"]
    shape = [s[key] for key in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers")]
    model = Suspect(*shape, *(state["reads"] > 0).tolist())
    model.load_state_dict(state)
    return model.eval(), tokenizer, record


# ---- experiments: each is near 0 for a sound model, and near 1 for one of the faults ----

TOLERANCE = 1e-3


@torch.no_grad()
def changes_with_the_future(model: nn.Module, source: Tensor, target: Tensor) -> float:
    """How often the logits of a row's first token change when all later target tokens do: (B, S), (B, T) → a share."""
    other = target.clone()
    other[:, 1:] = UNK + 1
    return _share(model(source, target)[:, 0], model(source, other)[:, 0])


@torch.no_grad()
def says_what_it_reads(model: nn.Module, source: Tensor, target: Tensor) -> float:
    """How often the likeliest next token is the token just read; BOS, EOS and pads are left out."""
    said = model(source, target).argmax(-1)  # (B, T)
    return (said == target)[target > EOS].float().mean().item()


@torch.no_grad()
def changes_with_padding(model: nn.Module, source: Tensor, target: Tensor) -> float:
    """How often a row's logits change when five pads are appended to its source."""
    longer = torch.cat([source, source.new_full((len(source), 5), PAD)], 1)  # (B, S + 5)
    return _share(model(source, target)[:, 0], model(longer, target)[:, 0])


@torch.no_grad()
def says_padding(model: nn.Module, source: Tensor, target: Tensor) -> float:
    """The mean probability of PAD where EOS was read: a sound model was never asked what comes then."""
    return model(source, target).softmax(-1)[..., PAD][target == EOS].mean().item()


@torch.no_grad()
def stays_when_reversed(model: nn.Module, source: Tensor, target: Tensor) -> float:
    """How often a row's logits stay the same when its source is read backwards."""
    reversed_source = source.clone()
    for row, ids in zip(reversed_source, source, strict=True):
        real = ids[ids != PAD]
        row[: len(real)] = real.flip(0)
    return 1 - _share(model(source, target)[:, 0], model(reversed_source, target)[:, 0])


EXPERIMENTS = dict(
    zip(
        FAULTS,
        (changes_with_the_future, says_what_it_reads, changes_with_padding, says_padding, stays_when_reversed),
        strict=True,
    )
)


def examine(model: nn.Module, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """What each experiment finds on these (English, French) pairs, by the fault that it looks for."""
    source = source_ids(tokenizer, [english for english, _ in pairs])  # (B, S)
    target = target_ids(tokenizer, [french for _, french in pairs])  # (B, T)
    return {fault: experiment(model, source, target) for fault, experiment in EXPERIMENTS.items()}


def _share(a: Tensor, b: Tensor) -> float:
    """In how many rows of (B, V) the two differ by more than rounding."""
    return ((a - b).abs().amax(-1) > TOLERANCE * a.abs().amax()).float().mean().item()
