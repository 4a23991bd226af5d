"""From text to a line of numbers and back: byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019).

    python -m helpers.text.tokenizer --vocab-size 4096 --out tokenizer.json

trains on the reviews' training part and saves what it learned.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor

from helpers.text.cache import kept
from helpers.text.reviews import checksum, imdb
from helpers.text.splits import PARTS

END = "<|end|>"  # stands between documents: a text begins after one and ends with the next
END_ID = 0
BYTES = 256


@dataclass(frozen=True)
class Corpus:
    """Three streams of token ids (N,), int64, and the tokenizer that made them."""

    tokenizer: Tokenizer
    train: Tensor
    validation: Tensor
    test: Tensor


def train(texts: Iterable[str], vocab_size: int, lowercase: bool = False) -> Tokenizer:
    """A byte-level BPE of at most `vocab_size` tokens, the 256 bytes and END among them; no text is unknown to it.

    Raises ValueError if `vocab_size` leaves no room for these.
    """
    if vocab_size <= BYTES:
        raise ValueError(
            f"vocab_size={vocab_size} leaves no room for {BYTES} bytes and {END}: give {BYTES + 1} or more."
        )
    tokenizer = Tokenizer(models.BPE())
    if lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[END], initial_alphabet=sorted(alphabet), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, texts: Iterable[str]) -> Tensor:
    """All texts as one stream of ids (N,), int64: END first, and END after each text."""
    tokenizer.encode_special_tokens = True  # who writes "<|end|>" in a review ends nothing
    ids, rest = [END_ID], iter(texts)
    while some := list(islice(rest, 1000)):
        for found in tokenizer.encode_batch_fast(some):
            ids += [*found.ids, END_ID]
    return torch.tensor(ids)


def decode(tokenizer: Tokenizer, ids: Sequence[int] | Tensor) -> str:
    """The text that ids (N,) stand for, without END."""
    return tokenizer.decode([int(i) for i in ids])


def token_bytes(tokenizer: Tokenizer) -> Tensor:
    """Bytes of text behind each token (V,), int64, 0 for END: what bits per byte divide by."""
    size = tokenizer.get_vocab_size()
    return torch.tensor([0 if i == END_ID else len(tokenizer.id_to_token(i)) for i in range(size)])


def load(path: str | Path) -> Tokenizer:
    """A saved tokenizer. Raises FileNotFoundError or ValueError with a sentence."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no tokenizer at {path}: make one with `python -m helpers.text.tokenizer --out {path}`."
        )
    try:
        return Tokenizer.from_file(str(path))
    except Exception:
        raise ValueError(f"{path} holds no tokenizer: give a JSON file that `tokenizers` wrote.") from None


def save(tokenizer: Tokenizer, path: str | Path) -> None:
    """Write it as JSON, on one line."""
    tokenizer.save(str(path), pretty=False)


def corpus(tokenizer: int | Tokenizer, path: str | Path | None = None, lowercase: bool = False) -> Corpus:
    """IMDB's reviews as three streams of ids, kept in the user's cache folder from the second time on.

    `tokenizer`, or its vocabulary's size: then it is trained on the training part, and kept too. `path` as in `imdb`.
    """
    if isinstance(tokenizer, int):
        name = f"tokenizer-{tokenizer}{'-lower' * lowercase}-{checksum(path)}.json"
        size = tokenizer
        tokenizer = kept(name, lambda: train(imdb(path).train, size, lowercase), save, load)
    learned = sha256(tokenizer.to_str().encode()).hexdigest()[:16]
    dtype = torch.int16 if tokenizer.get_vocab_size() <= 2**15 else torch.int32  # a quarter of the room
    make = lambda: {part: encode(tokenizer, getattr(imdb(path), part)).to(dtype) for part in PARTS}  # noqa: E731
    ids = kept(f"tokens-{learned}-{checksum(path)}.safetensors", make, save_file, load_file)
    return Corpus(tokenizer, **{part: ids[part].long() for part in PARTS})


def main(arguments: list[str] | None = None) -> None:
    """Train a tokenizer on the reviews' training part and save it."""
    parser = argparse.ArgumentParser(prog="python -m helpers.text.tokenizer", description=main.__doc__)
    parser.add_argument("--vocab-size", type=int, default=4096, metavar="V", help="tokens, at most (default 4096)")
    parser.add_argument("--lowercase", action="store_true", help="read and write lower case only")
    parser.add_argument("--from", dest="source", metavar="CSV", help="reviews other than the package's")
    parser.add_argument("--out", required=True, metavar="FILE", help="where to write the JSON")
    given = parser.parse_args(arguments)
    try:
        texts = imdb(given.source).train
        tokenizer = train(texts, given.vocab_size, given.lowercase)
        Path(given.out).resolve().parent.mkdir(parents=True, exist_ok=True)
        save(tokenizer, given.out)
    except (ValueError, OSError) as error:
        parser.exit(2, f"{error}\n")
    n_bytes, n_tokens = sum(len(t.encode()) for t in texts), len(encode(tokenizer, texts))
    size = Path(given.out).stat().st_size
    print(f"{given.out}: {tokenizer.get_vocab_size()} tokens, {size:,} bytes, {n_bytes / n_tokens:.2f} bytes a token.")


if __name__ == "__main__":
    main()
