"""English sentences and what people made of them in French: the Tatoeba project's pairs, as manythings.org gives them.

`workbook data tatoeba` gets them. They are kept in the user's cache folder and never in the project.
"""

from __future__ import annotations

import http.client
import json
import lzma
import os
import re
import sys
import unicodedata
import urllib.request
import zipfile
import zlib
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from helpers.text import splits
from helpers.text.cache import folder, kept
from helpers.text.splits import Parts, normalise

ADDRESS = "https://www.manythings.org/anki/fra-eng.zip"
EDITION = "2019-04-07"  # what the course's checkpoint was trained on
SHA256 = "161c93f18da3a7e6df611ed961426613260de8af06ccf8c79c977afe5135ac44"
LICENCE = (
    "English–French sentences from tatoeba.org, chosen by www.manythings.org/anki, "
    "under CC BY 2.0 FR (https://creativecommons.org/licenses/by/2.0/fr/): name both when you pass them on."
)
INSIDE = "fra.txt"
MAX_BYTES = 2**28
RUDE = re.compile(r"\b(?:bordel|chier|connard|conne|cons|emmerd\w*|foutre|merde|nègre|pisse|salaud)\b", re.IGNORECASE)

MARKS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "…": "...", "\u200b": "", "\xad": "", "‽": "?!"})

Sentence = tuple[str, list[str]]  # English, and every French translation of it


def corpus(path: str | Path | None = None) -> Parts[Sentence]:
    """Each English sentence with all its translations, in three parts that share no English sentence.

    `path` is a zip like manythings.org's. Without it the one named by the environment variable WORKBOOK_TATOEBA, or
    else what `workbook data tatoeba` kept, is read. Raises FileNotFoundError or ValueError with a sentence.
    """
    return _load(find(path))


def find(path: str | Path | None = None) -> Path:
    """Where the zip is. Raises FileNotFoundError with a sentence that says how to get it."""
    named = path or os.environ.get("WORKBOOK_TATOEBA")
    file = Path(named or home())
    if file.is_file():
        return file.resolve()
    if named:
        what = f"{named} is no file" if file.exists() else f"There is no file {named}"
        raise FileNotFoundError(f"{what}: name a zip like {ADDRESS}.")
    raise FileNotFoundError("The Tatoeba sentences are not here yet: run `workbook data tatoeba`.")


def home() -> Path:
    """Where the zip is kept; it may not be there yet."""
    return folder() / "fra-eng.zip"


def checksum(path: str | Path | None = None) -> str:
    """Sixteen hexadecimal digits that stand for the zip and for how it is cleaned and split."""
    code = [Path(__file__), Path(splits.__file__)]
    return sha256(b"".join(file.read_bytes() for file in (find(path), *code))).hexdigest()[:16]


# ---- getting it ----


def install(source: str | Path | None = None) -> list[str]:
    """Download the zip, or take the file `source`, and keep it; returns what there is to say, a sentence each.

    Raises ConnectionError, FileNotFoundError, OSError or ValueError with a sentence; then nothing has changed.
    """
    known = True
    if source is None:
        data = download()
        if sha256(data).hexdigest() != SHA256:
            _pairs(data, ADDRESS)  # a truncated file is called one
            raise ValueError(
                f"{ADDRESS} is no longer the edition of {EDITION} that the course was made with: look at the file, "
                "and if you want it all the same, `workbook data tatoeba --from FILE` takes it."
            )
    else:
        data = _read_file(find(source))
        known = sha256(data).hexdigest() == SHA256
    n_pairs = len(_pairs(data, source or ADDRESS))
    try:
        home().parent.mkdir(parents=True, exist_ok=True)
        part = home().with_suffix(".part")
        try:
            part.write_bytes(data)
            part.replace(home())
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(
            f"{home()} cannot be written ({error.strerror}): make room there, or name another folder in the "
            "environment variable WORKBOOK_CACHE."
        ) from None
    other = f"This is not the edition of {EDITION} that the course was made with: your figures will differ a little."
    return [f"{n_pairs:,} pairs are kept in {home()}.", LICENCE, *([] if known else [other])]


def download() -> bytes:
    """What lies at ADDRESS. Raises ConnectionError with a sentence."""
    from rich.console import Console
    from rich.progress import wrap_file

    request = urllib.request.Request(ADDRESS, headers={"User-Agent": "transformer-workbook"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            size = int(answer.headers.get("Content-Length") or 0)
            console, hidden = Console(stderr=True), not sys.stderr.isatty()
            with wrap_file(answer, size, description="fra-eng.zip", console=console, disable=hidden) as file:
                return b"".join(iter(lambda: file.read(2**16), b""))  # in parts, so that the bar moves
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ConnectionError(
            f"{ADDRESS} cannot be reached ({reason}): try again later, or get the file in another way and run "
            "`workbook data tatoeba --from FILE`."
        ) from None


def _read_file(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path} is far too large: give a copy of {ADDRESS}.")
        return path.read_bytes()
    except OSError as error:
        raise OSError(f"{path} cannot be read ({error.strerror}): see to its permissions.") from None


# ---- reading it ----


@cache
def _load(path: Path) -> Parts[Sentence]:
    return kept(f"tatoeba-{checksum(path)}.json", lambda: _make(path), _write, _read)


def _make(path: Path) -> Parts[Sentence]:
    return splits.split(grouped(_pairs(_read_file(path), path)))[0]


def _write(parts: Parts[Sentence], path: Path) -> None:
    path.write_text(json.dumps(vars(parts)), encoding="utf-8")


def _read(path: Path) -> Parts[Sentence]:
    held = json.loads(path.read_text(encoding="utf-8"))
    return Parts(**{name: [(english, french) for english, french in rows] for name, rows in held.items()})


def grouped(pairs: list[tuple[str, str]]) -> list[Sentence]:
    """Pairs by English sentence, alike but for case and marks, in the order of their first meeting; no rude ones."""
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for english, french in pairs:
        if not RUDE.search(french):
            english, french = clean(english), clean(french, french=True)
            found.setdefault(normalise(english), (english, {}))[1][french] = None
    return [(english, list(translations)) for english, translations in found.values()]


def clean(text: str, french: bool = False) -> str:
    """Straight quotes, plain single spaces; in French one space before ? and !, and none of the marks' own."""
    text = unicodedata.normalize("NFC", text).translate(MARKS)
    if french:
        text = re.sub(r"« *| *»", '"', " ".join(text.split()))
        text = re.sub(r"\s*([?!]+)", r" \1", text)
    return " ".join(text.split())


def _pairs(data: bytes, name: str | Path) -> list[tuple[str, str]]:
    """(English, French) of each line. ValueError with a sentence if `data` is no such zip."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as file:
            inside = [x for x in file.infolist() if Path(x.filename).name == INSIDE]
            held = file.read(inside[0]) if inside and inside[0].file_size <= MAX_BYTES else b""
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, ValueError, EOFError, RuntimeError):
        raise ValueError(f"{name} is no whole zip, cut short or of another kind: get {ADDRESS} anew.") from None
    if not inside or inside[0].file_size > MAX_BYTES:
        what = f"whose {INSIDE} is too large" if inside else f"without a {INSIDE}"
        raise ValueError(f"{name} is a zip {what}: give a copy of {ADDRESS}.")
    try:
        text = held.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{INSIDE} in {name} is not UTF-8: give a copy of {ADDRESS}.") from None
    rows = [line.split("\t") for line in text.splitlines() if line.strip()]
    bad = next((i for i, row in enumerate(rows, 1) if len(row) < 2 or not (row[0].strip() and row[1].strip())), None)
    if bad or not rows:
        where = f"Line {bad} of {INSIDE}" if bad else f"{INSIDE}"
        raise ValueError(f"{where} in {name} is no English sentence, tab, French sentence: give a copy of {ADDRESS}.")
    return [(row[0], row[1]) for row in rows]
