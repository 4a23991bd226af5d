"""What a translator looks at while it speaks: the weights of its cross-attention, word by word.

Letters for shapes: L layers, H heads, T target time, S source time.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor

from helpers.attention import MultiHeadAttention
from helpers.models import Transformer
from helpers.text.translation import source_ids, target_ids


@dataclass(frozen=True)
class Map:
    """Weights (L, H, T, S): how strongly each word of `source`, S in all, is looked at when each of `target` is said.

    A word of several tokens is looked at with all of them together, and looks with their mean.
    """

    source: list[str]
    target: list[str]
    weights: Tensor

    def at(self, said: str, heard: str) -> Tensor:
        """Weights (L, H) between two words. ValueError if one is not there."""
        return self.weights[:, :, self.target.index(said), self.source.index(heard)]


@torch.no_grad()
def look(model: Transformer, tokenizer: Tokenizer, english: str, french: str) -> Map:
    """The map of one pair, for a model in evaluation mode. A row is what the model sees when the word is next."""
    source, target = source_ids(tokenizer, [english]), target_ids(tokenizer, [french])  # (1, S), (1, T + 1)
    weights = cross_weights(model, source, target[:, :-1])  # (L, H, T, S)
    asking, (rows, said) = _words(tokenizer, target[0, 1:])
    answering, (columns, heard) = _words(tokenizer, source[0])
    by_word = torch.zeros(*weights.shape[:2], said, weights.shape[3]).index_add(2, rows, weights)
    by_word = by_word / rows.bincount()[:, None]  # (L, H, words, S)
    by_word = torch.zeros(*weights.shape[:2], said, heard).index_add(3, columns, by_word)
    return Map(answering, asking, by_word)


@torch.no_grad()
def cross_weights(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Source (1, S) and what the decoder reads (1, T) → weights (L, H, T, S) of all its cross-attention."""
    found = []

    def note(attention: MultiHeadAttention, given: tuple[Tensor, ...]) -> None:
        found.append(attention.weights(*given)[0])  # (H, T, S)

    hooks = [layer.cross_attention.register_forward_pre_hook(note) for layer in model.decoder]
    try:
        model(source, target)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found)


def _words(tokenizer: Tokenizer, ids: Tensor) -> tuple[list[str], tuple[Tensor, int]]:
    """The words that tokens (N,) spell, and for each token the number of its word, (N,), with how many there are."""
    words: list[str] = []
    places = []
    for i in ids.tolist():
        piece = tokenizer.id_to_token(i)
        if piece.startswith("▁") or piece.startswith("<") or piece in ".,;:!?" or (words and words[-1].endswith("'")):
            words.append("")
        words[-1:] = [(words or [""])[-1] + piece.removeprefix("▁")]
        places.append(len(words) - 1)
    return words, (torch.tensor(places), len(words))
