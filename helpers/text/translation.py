"""From pairs of sentences to ids: one vocabulary for both languages, padded tensors, batches of like lengths.

Letters for shapes: N pairs, B batch, S source time, T target time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from helpers.training import IGNORED, Batch

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
PAD, BOS, EOS, UNK = range(4)


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """A BPE of at most `vocab_size` tokens, SPECIALS first, learned from the texts of both languages.

    A token never crosses a blank, a mark or an apostrophe ("▁l'", "homme"); "▁" stands for the blank before a word.
    """
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIALS[UNK]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(),
            pre_tokenizers.Split(Regex("'"), "merged_with_previous"),
            pre_tokenizers.Split(Regex('▁?[.,;:!?"]'), "isolated"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=list(SPECIALS), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def source_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """What the encoder reads, (N, S): a text's ids, EOS, then PAD."""
    return _padded([[*ids, EOS] for ids in _ids(tokenizer, texts)])


def target_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """What the decoder reads and predicts, (N, T): BOS, a text's ids, EOS, then PAD."""
    return _padded([[BOS, *ids, EOS] for ids in _ids(tokenizer, texts)])


def text(tokenizer: Tokenizer, ids: Sequence[int] | Tensor) -> str:
    """The text of ids (T,) up to the first EOS, without specials."""
    ids = [int(i) for i in ids]
    return tokenizer.decode(ids[: ids.index(EOS)] if EOS in ids else ids)


def _ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    tokenizer.encode_special_tokens = True  # who writes "<eos>" in a sentence ends nothing
    return [found.ids for found in tokenizer.encode_batch_fast(list(texts))]


def _padded(rows: list[list[int]]) -> Tensor:
    padded = torch.full((len(rows), max(map(len, rows), default=0)), PAD)  # (N, T)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = torch.tensor(ids)
    return padded


def batch(source: Tensor, target: Tensor) -> Batch:
    """Ids (B, S) and (B, T) → (source, what the decoder reads (B, T − 1), what it is to say (B, T − 1))."""
    said = target[:, 1:]  # (B, T − 1)
    return source, target[:, :-1], said.masked_fill(said == PAD, IGNORED)


def batches_at(source: Tensor, target: Tensor, batch_size: int, seed: int = 0) -> Callable[[int], Batch]:
    """A step's batch of pairs of like lengths, cut to its longest: source (N, S), target (N, T), on any device.

    An epoch has ⌈N / batch_size⌉ steps and shows each pair once; pairs meet others, and batches come in another order,
    in each.
    """
    lengths = torch.stack([(ids != PAD).sum(1) for ids in (source, target)]).cpu()  # (2, N)
    n_pairs = len(source)
    n_steps = math.ceil(n_pairs / batch_size)

    @lru_cache(1)
    def epoch(number: int) -> list[tuple[Tensor, int, int]]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
        order = (lengths.amax(0) + torch.rand(n_pairs, generator=generator)).argsort()  # (N,), chance among equals
        parts = [(part.to(source.device), *lengths[:, part].amax(1).tolist()) for part in order.split(batch_size)]
        return [parts[i] for i in torch.randperm(n_steps, generator=generator).tolist()]

    def at(step: int) -> Batch:
        number, place = divmod(step, n_steps)
        chosen, n_source, n_target = epoch(number)[place]
        return batch(source[chosen, :n_source], target[chosen, :n_target])

    return at
