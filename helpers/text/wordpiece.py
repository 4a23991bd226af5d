"""From text to pieces of words and back, as BERT does it (Wu et al. 2016, section 4.1; Devlin et al. 2018, section 4).

    python -m helpers.text.wordpiece --vocab-size 4096 --out tokenizer.json

trains on the reviews' training part and saves what it learned. Texts are lowercased and lose their accents.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor

from helpers.text.cache import kept
from helpers.text.reviews import checksum, imdb
from helpers.text.splits import PARTS
from helpers.text.tokenizer import load, save

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(len(SPECIAL))


@dataclass(frozen=True)
class Documents:
    """A stream of ids (N,) that begins with SEP and has one after each document, and its S sentences.

    Sentence s begins at starts[s]; its document ends before ends[s], and the document's last sentence is lasts[s].
    """

    ids: Tensor
    starts: Tensor
    ends: Tensor
    lasts: Tensor

    def to(self, device: torch.device) -> Documents:
        """The same on another device."""
        return Documents(**{name: x.to(device) for name, x in vars(self).items()})


@dataclass(frozen=True)
class Corpus:
    """Documents in three parts, and the tokenizer that cut them into pieces."""

    tokenizer: Tokenizer
    train: Documents
    validation: Documents
    test: Documents

    def to(self, device: torch.device) -> Corpus:
        """The same with its documents on another device."""
        return Corpus(self.tokenizer, *(getattr(self, part).to(device) for part in PARTS))


def train(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """A WordPiece vocabulary of at most `vocab_size` pieces, the five SPECIAL ones first."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL), limit_alphabet=200, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def split_sentences(text: str) -> list[str]:
    """The sentences of a text: what ends in a full stop, a question or exclamation mark, or a line."""
    return [sentence for part in re.split(r"(?<=[.!?])\s+|\n+", text) if (sentence := part.strip())]


def encode(tokenizer: Tokenizer, texts: Iterable[str]) -> Documents:
    """Texts as documents; one without a piece is left out. ValueError if nothing is left."""
    ids, starts, ends, lasts = [SEP], [], [], []
    tokenizer.encode_special_tokens = True  # who writes "[MASK]" in a review hides nothing
    for text in texts:
        first = len(starts)
        for found in tokenizer.encode_batch_fast(split_sentences(text), add_special_tokens=False):
            if found.ids:
                starts.append(len(ids))
                ids += found.ids
        n_sentences = len(starts) - first
        if n_sentences:
            ends += [len(ids)] * n_sentences
            lasts += [len(starts) - 1] * n_sentences
            ids.append(SEP)
    tokenizer.encode_special_tokens = False
    if not starts:
        raise ValueError("These texts hold no piece of a word: give at least one that does.")
    return Documents(*map(torch.tensor, (ids, starts, ends, lasts)))


def corpus(tokenizer: int | Tokenizer, path: str | Path | None = None) -> Corpus:
    """IMDB's reviews as documents, kept in the user's cache folder from the second time on.

    `tokenizer`, or its vocabulary's size: then it is trained on the training part, and kept too. `path` as in `imdb`.
    """
    if isinstance(tokenizer, int):
        name, size = f"wordpiece-{tokenizer}-{checksum(path)}.json", tokenizer
        tokenizer = kept(name, lambda: train(imdb(path).train, size), save, load)
    learned = sha256(tokenizer.to_str().encode() + Path(__file__).read_bytes()).hexdigest()[:16]
    name = f"documents-{learned}-{checksum(path)}.safetensors"
    made = kept(name, lambda: _encoded(tokenizer, path), save_file, load_file)
    parts = {part: {x.name: made[f"{part}.{x.name}"].long() for x in fields(Documents)} for part in PARTS}
    return Corpus(tokenizer, **{part: Documents(**found) for part, found in parts.items()})


def _encoded(tokenizer: Tokenizer, path: str | Path | None) -> dict[str, Tensor]:
    found = {part: encode(tokenizer, getattr(imdb(path), part)) for part in PARTS}
    return {f"{part}.{name}": x.int() for part, documents in found.items() for name, x in vars(documents).items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Train a vocabulary on the reviews' training part and save it."""
    parser = argparse.ArgumentParser(prog="python -m helpers.text.wordpiece", description=main.__doc__)
    parser.add_argument("--vocab-size", type=int, default=4096, metavar="V", help="pieces, at most (default 4096)")
    parser.add_argument("--from", dest="source", metavar="CSV", help="reviews other than the package's")
    parser.add_argument("--out", required=True, metavar="FILE", help="where to write the JSON")
    asked = parser.parse_args(arguments)
    try:
        save(train(imdb(asked.source).train, asked.vocab_size), asked.out)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
