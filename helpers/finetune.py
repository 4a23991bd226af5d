"""Fine-tuning: what becomes of a pretrained model when its task changes.

A model is a body and a `head`; the body is everything whose name does not begin with `head.`.
Letters for shapes: B batch, T time, D d_model.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers.models import Classifier, pool

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["as_it_reads", "evaluate", "examples", "freeze", "load_body", "pool", "swap_head", "trimmed"]


def swap_head(model: nn.Module, n_classes: int) -> nn.Module:
    """A copy of the model with the same body, not shared, and a new linear `head` (n_classes, D)."""
    fresh = copy.deepcopy(model)
    old = model.head.weight
    fresh.head = nn.Linear(old.shape[1], n_classes, device=old.device, dtype=old.dtype)
    return fresh


def load_body(classifier: nn.Module, state: Mapping[str, Tensor]) -> nn.Module:
    """The classifier, its body loaded from a state_dict whose `head.*` is ignored; its own head stays.

    ValueError if an entry of the body is missing, unexpected or of another shape: then nothing is loaded.
    """
    own, given = body(classifier.state_dict()), body(state)
    faults = [f"{name} is missing" for name in own if name not in given]
    faults += [f"{name} is not of this body" for name in given if name not in own]
    faults += [
        f"{name} is {tuple(given[name].shape)} where {tuple(own[name].shape)} is needed"
        for name in own
        if name in given and given[name].shape != own[name].shape
    ]
    if faults:
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ValueError(
            f"These weights do not fit the classifier's body ({'; '.join(faults[:3])}{more}): "
            "build it with the sizes of the pretrained model."
        )
    classifier.load_state_dict(given, strict=False)
    return classifier


def body(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The entries of a state_dict that are not the head's."""
    return {name: weight for name, weight in state.items() if not name.startswith("head.")}


def freeze(model: nn.Module) -> nn.Module:
    """The same model, where nothing but `head` can be trained: a linear probe of what the body knows."""
    model.requires_grad_(False)
    model.head.requires_grad_(True)
    return model


@torch.no_grad()
def evaluate(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]) -> float:
    """Accuracy over batches of (ids (B, T), labels (B,)): the fraction of examples whose largest logit is right.

    The model is in evaluation mode meanwhile, and then in the mode that it was in. ValueError without an example.
    """
    was_training = model.training
    model.eval()
    right = total = 0
    try:
        for ids, labels in batches:
            right += int((model(ids).argmax(-1) == labels).sum())
            total += len(labels)
    finally:
        model.train(was_training)
    if not total:
        raise ValueError("evaluate() got no example, so there is no accuracy: give it at least one batch.")
    return right / total


def examples(
    tokenizer: Tokenizer, labelled: Sequence[tuple[str, int]], max_len: int, pad_id: int = 0
) -> tuple[Tensor, Tensor]:
    """Texts with labels as ids (N, T) and labels (N,), padded on the right; longer ones lose their end.

    T is the longest text's length, at most max_len. ValueError without a text.
    """
    if not labelled:
        raise ValueError("examples() got no text: give it at least one.")
    rows = [found.ids[:max_len] for found in tokenizer.encode_batch([text for text, _ in labelled])]
    ids = torch.full((len(rows), max(map(len, rows))), pad_id)  # (N, T)
    for row, found in zip(ids, rows, strict=True):
        row[: len(found)] = torch.tensor(found, dtype=torch.long)
    return ids, torch.tensor([label for _, label in labelled])  # (N, T), (N,)


def trimmed(batch: tuple[Tensor, Tensor], pad_id: int = 0) -> tuple[Tensor, Tensor]:
    """The same batch of ids (B, T) and labels (B,) without the columns that hold pads alone."""
    ids, labels = batch
    return ids[:, : max(int((ids != pad_id).sum(1).max()), 1)], labels


@torch.no_grad()
def as_it_reads(model: Classifier, tokenizer: Tokenizer, text: str) -> tuple[list[str], Tensor]:
    """A text's tokens, and the probability of each class (T, n_classes) had it ended there.

    One pass is enough: the body is causal, so at each token it has read what came so far and no more.
    """
    ids = tokenizer.encode(text).ids
    if not ids:
        return [], torch.empty(0, model.head.out_features)
    hidden = model.eval().hidden(torch.tensor([ids], device=model.head.weight.device))  # (1, T, D)
    return [tokenizer.decode([i]) for i in ids], model.head(hidden)[0].softmax(-1).cpu()  # (T, n_classes)
