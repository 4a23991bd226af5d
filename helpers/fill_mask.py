"""What BERT would write in place of [MASK]: its candidates, each with its probability."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from helpers import checkpoints
from helpers.bert import build_inputs
from helpers.models import Bert

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Candidates = list[tuple[str, float]]  # a piece and its probability, the likeliest first


@torch.no_grad()
def fill_mask(model: Bert, tokenizer: Tokenizer, text: str, k: int = 5) -> list[Candidates]:
    """For each [MASK] of a text, in order, the k likeliest pieces with their probabilities.

    The model is asked in evaluation mode, and is then in the mode that it was in. ValueError without a [MASK], where
    the text is longer than the model's positions, or where k is not from 1 to the vocabulary's size.
    """
    size = tokenizer.get_vocab_size()
    if not 1 <= k <= size:
        raise ValueError(f"k = {k} is no number of candidates: give one from 1 to {size}.")
    pad, cls, sep, mask = (tokenizer.token_to_id(name) for name in ("[PAD]", "[CLS]", "[SEP]", "[MASK]"))
    pieces = tokenizer.encode(text, add_special_tokens=False).ids
    if mask not in pieces:
        raise ValueError("There is no [MASK] in this text: write [MASK] in place of the word to be guessed.")
    most = model.embeddings.position.num_embeddings - 2
    if len(pieces) > most:
        raise ValueError(f"This text has {len(pieces)} pieces and the model reads {most} at most: shorten it.")
    inputs = build_inputs(pieces, None, len(pieces) + 2, pad, cls, sep)
    where = model.embeddings.token.weight.device
    ids, segment_ids, attention_mask = (torch.tensor([x], device=where) for x in inputs)  # (1, T) each
    was_training = model.training
    model.eval()
    try:
        logits, _ = model(ids, segment_ids, attention_mask)  # (1, T, V)
    finally:
        model.train(was_training)
    chances, found = logits[ids == mask].double().softmax(-1).topk(k)  # (M, k) each
    return [
        [(tokenizer.id_to_token(i), chance) for i, chance in zip(row, of_row, strict=True)]
        for row, of_row in zip(found.tolist(), chances.tolist(), strict=True)
    ]


@cache
def load(name: str = "bert", folder: str | Path = checkpoints.HERE) -> tuple[Bert, Tokenizer]:
    """The course's own BERT, in evaluation mode, and its tokenizer. FileNotFoundError or ValueError with a sentence."""
    state, tokenizer, record = checkpoints.load(name, folder)
    sizes = ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers", "max_len")
    model = Bert(*(record["settings"][size] for size in sizes))
    model.load_state_dict(state)
    return model.eval(), tokenizer
