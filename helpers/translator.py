"""A translator: a Transformer, the tokenizer it shares with both languages, and its score.

Letters for shapes: B batch, S source time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from torch import nn

from helpers import checkpoints
from helpers.decoding import beam, greedy
from helpers.kv_cache import Cached
from helpers.models import Transformer
from helpers.text.translation import BOS, EOS, PAD, source_ids, text


def build(vocab_size: int, d_model: int, n_heads: int, d_ff: int, n_layers: int, **options: Any) -> Transformer:
    """A `Transformer` with one matrix for both embeddings and the head. (Vaswani et al. 2017, section 3.4)"""
    model = Transformer(vocab_size, vocab_size, d_model, n_heads, d_ff, n_layers, pad_id=PAD, **options)
    model.target_embedding = model.source_embedding
    model.head.weight = model.source_embedding.weight
    return model


def load(name: str = "tatoeba", folder: str | Path = checkpoints.HERE) -> tuple[Transformer, Tokenizer, dict[str, Any]]:
    """(model in evaluation mode, tokenizer, record) of a checkpoint. Raises as `checkpoints.load`."""
    state, tokenizer, record = checkpoints.load(name, folder)
    s = record["settings"]
    shape = [s[key] for key in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers")]
    model = build(*shape, norm_first=s["norm_first"])
    model.load_state_dict(state)
    return model.eval(), tokenizer, record


def translate(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    width: int = 1,
    alpha: float = 0.6,
    batch_size: int = 256,
) -> list[str]:
    """A translation of each text: greedy, or by beam search if `width` is above 1. Put the model in eval mode first."""
    device = next(model.parameters()).device
    asked = Cached(model) if type(model) is Transformer else model  # another model may read in its own way
    found = [""] * len(texts)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # like lengths together: little padding
    size = 1 if width > 1 else batch_size
    for some in (order[i : i + size] for i in range(0, len(order), size)):
        source = source_ids(tokenizer, [texts[i] for i in some]).to(device)  # (B, S)
        limits = [2 * n + 8 for n in (source != PAD).sum(1).tolist()]  # of each its own: batch mates change nothing
        if width > 1:
            rows, _ = beam(asked, source, BOS, EOS, max(limits), width, alpha)  # (1, T)
        else:
            rows = greedy(asked, source, BOS, EOS, max(limits))  # (B, T)
        for i, ids, limit in zip(some, rows.tolist(), limits, strict=True):
            found[i] = text(tokenizer, ids[:limit])
    return found


def bleu(translations: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU of a corpus (0 … 100) by sacrebleu's defaults; each sentence may have several references.

    (Papineni et al. 2002; Post 2018)
    """
    from sacrebleu import corpus_bleu

    return corpus_bleu(list(translations), [list(column) for column in zip_longest(*references)]).score
