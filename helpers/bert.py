"""What BERT is fed and asked: pieces of words, inputs, masked tokens and next sentences. (Devlin et al. 2018)

The model itself is `models.Bert`. Letters for shapes: B batch, T time, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

S = TypeVar("S")  # a sentence, of text or of ids
UNKNOWN, INSIDE = "[UNK]", "##"
NOT_PREDICTED = -100  # the label that torch's cross-entropy leaves out
CHOSEN, MASKED, REPLACED = 0.15, 0.8, 0.1  # the last two are shares of what is chosen; the rest of it stays


def wordpiece(word: str, vocabulary: Collection[str]) -> list[str]:
    """A word as pieces, each the longest in the vocabulary that fits; pieces inside a word begin with `##`.

    `["[UNK]"]` where nothing fits: there is no way back. (Wu et al. 2016; Devlin et al. 2018, section 3)
    """
    pieces, start = [], 0
    while start < len(word):
        ends = range(len(word), start, -1)
        tries = ((INSIDE if start else "") + word[start:end] for end in ends)
        piece = next((p for p in tries if p in vocabulary), None)
        if piece is None:
            return [UNKNOWN]
        pieces.append(piece)
        start += len(piece) - (len(INSIDE) if start else 0)
    return pieces


def build_inputs(
    a: list[int], b: list[int] | None, max_len: int, pad_id: int = 0, cls_id: int = 101, sep_id: int = 102
) -> tuple[list[int], list[int], list[int]]:
    """`[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, padded → ids, segment ids and attention mask, max_len each.

    What is too long loses tokens from the end of the longer text, b's where both are as long. A [SEP] belongs to the
    text that it ends; padding is of segment 0 and has mask 0. ValueError where max_len holds no special tokens.
    """
    room = max_len - (2 if b is None else 3)
    if room < 0:
        raise ValueError(
            f"max_len = {max_len} leaves no room for [CLS] and [SEP]: it must be {max_len - room} or more."
        )
    a, b = list(a), None if b is None else list(b)
    while len(a) + len(b or ()) > room:
        (a if len(a) > len(b or ()) else b).pop()
    first, second = [cls_id, *a, sep_id], [] if b is None else [*b, sep_id]
    real = len(first) + len(second)
    n_pads = max_len - real
    return (
        first + second + [pad_id] * n_pads,
        [0] * len(first) + [1] * len(second) + [0] * n_pads,
        [1] * real + [0] * n_pads,
    )


def mask_tokens(
    ids: Tensor, special_ids: Sequence[int], vocab_size: int, mask_id: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ids (B, T) → inputs and labels, (B, T) each: 15 % of the tokens are to be predicted. (Devlin et al. 2018, A.1)

    Of these 80 % become mask_id, 10 % any token and 10 % stay. Labels are −100 elsewhere. Special tokens are neither
    chosen nor put in. `generator` lives where ids do.
    """

    def lots() -> Tensor:
        return torch.rand(ids.shape, generator=generator, device=ids.device)  # (B, T)

    special = torch.tensor(special_ids, dtype=ids.dtype, device=ids.device)
    vocabulary = torch.arange(vocab_size, device=ids.device)  # (V,)
    ordinary = vocabulary[~torch.isin(vocabulary, special)]  # (V',)
    chosen = ~torch.isin(ids, special) & (lots() < CHOSEN)  # (B, T)
    labels = ids.masked_fill(~chosen, NOT_PREDICTED)  # (B, T)
    words = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator, device=ids.device)]  # (B, T)
    lot = lots()
    inputs = ids.masked_fill(chosen & (lot < MASKED), mask_id)  # (B, T)
    replaced = chosen & (lot >= MASKED) & (lot < MASKED + REPLACED)  # (B, T)
    return torch.where(replaced, words, inputs), labels


def mlm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean nats over the tokens whose label is not −100, 0 where there is none: (B, T, V) and (B, T) → ()."""
    total = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=NOT_PREDICTED, reduction="sum")  # ()
    return total / (labels != NOT_PREDICTED).sum().clamp(min=1)  # a mean over none would be 0/0


def next_sentence_pairs(documents: Sequence[Sequence[S]], generator: torch.Generator) -> list[tuple[S, S, bool]]:
    """`(a, b, is_next)` for each sentence a that has a successor, in order. (Devlin et al. 2018, section 3.1)

    By a fair coin b is what follows a, or a random sentence of a random other document. ValueError where fewer than
    two documents have a sentence.
    """
    documents = [sentences for sentences in documents if len(sentences)]
    if len(documents) < 2:
        raise ValueError("Sentences that do not follow come from another document: give two or more that have any.")
    places = [(i, j) for i, sentences in enumerate(documents) for j in range(len(sentences) - 1)]
    lots = torch.rand(len(places), 3, generator=generator, device=generator.device, dtype=torch.float64).tolist()
    pairs = []
    for (i, j), (coin, which, where) in zip(places, lots, strict=True):
        other = documents[(i + 1 + int(which * (len(documents) - 1))) % len(documents)]
        b = documents[i][j + 1] if coin < 0.5 else other[int(where * len(other))]
        pairs.append((documents[i][j], b, coin < 0.5))
    return pairs
