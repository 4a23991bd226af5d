"""What was handed in: which files of a folder, or of a zip in it, are whose answer to which notebook."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.exercise import all_exercises
from autograder.grading import submission
from autograder.grading.submission import Template, Unreadable
from autograder.weights import Missing, Unfit, Weights, fits, take

MAX_MEMBERS = 5_000
MAX_UNPACKED = 5 * submission.MAX_FILE  # bytes in all notebooks of one student's zip
MAX_NAME = 255  # bytes in the name of a folder
WEIGHTS = ".safetensors"
UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, NotImplementedError, EOFError)


@dataclass(frozen=True)
class Handed:
    """A file that a student handed in: it is read from `path` (or from `member` of that zip) when it is graded.

    `weights` are the student's files of weights, each under the name of its exercise in place of a notebook's.
    """

    student: str
    notebook: str
    path: str
    member: str = ""
    problem: str = ""
    weights: tuple[Handed, ...] = ()


def collect(place: Path, copies: dict[str, Template]) -> list[Handed]:
    """What lies in PLACE/<student>/… or PLACE/<student>.zip, one for each student and notebook; PLACE may be a zip.

    Raises Unreadable if it is none that can be read.
    """
    if place.is_file():
        return _cohort_in_zip(place, copies)
    files: dict[str, list[Path]] = {}
    for entry in sorted(place.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            files.setdefault(entry.name, []).extend(_files(entry))
        elif entry.is_symlink() and entry.is_dir():
            files.setdefault(entry.name, []).append(entry)
        elif entry.suffix.lower() == ".zip":
            files.setdefault(entry.stem, []).append(entry)
    return [_legible(one) for student, own in files.items() for one in _of_student(student, own, copies)]


def _cohort_in_zip(path: Path, copies: dict[str, Template]) -> list[Handed]:
    """A zip of <student>/<notebook>.ipynb, perhaps in one folder more."""
    members = _members(path)
    if members is None:
        raise Unreadable(f"{path} is damaged or no zip: name a folder or a zip that holds a folder for each student.")
    parts = {member.filename: _name(member).split("/") for member in members}
    top = ""
    if parts and all(len(p) > 2 for p in parts.values()) and len({p[0] for p in parts.values()}) == 1:
        top = next(iter(parts.values()))[0]
        parts = {name: p[1:] for name, p in parts.items()}
    found: dict[str, list[Handed]] = {}
    given: dict[str, list[Handed]] = {}
    unpacked: dict[str, int] = {}
    for member in _members(path, WEIGHTS) or []:
        student, *rest = [part for part in _name(member).split("/") if part != top]
        if rest:
            given.setdefault(student.strip(". "), []).append(Handed(student, "", str(path), member.filename))
    for member in members:
        student = parts[member.filename][0].strip(". ") if len(parts[member.filename]) > 1 else ""
        unpacked[student] = unpacked.get(student, 0) + member.file_size
        if unpacked[student] > MAX_UNPACKED:
            found[student or "unknown"] = [_too_much(student or "unknown", path)]
            continue
        one = _of_member(student or "unknown", path, member, copies)
        if not student:
            one = replace(one, problem=f"{_name(member)} in {path.name} lies in no student's folder.")
        found.setdefault(one.student, []).append(one)
    return [_legible(one) for who, own in found.items() for one in _with(_one_of_each(own), given.get(who, []))]


def _legible(one: Handed) -> Handed:
    """With names that can be written on a page, and a student's that can be a folder's."""
    texts = {
        part: os.fsencode(getattr(one, part)).decode("utf-8", "backslashreplace")
        for part in ("student", "notebook", "problem")
    }
    long = texts["student"].encode()
    if len(long) > MAX_NAME:
        texts["student"] = f"{texts['student'][:50]}-{hashlib.sha256(long).hexdigest()[:8]}"
        texts["problem"] = f"The name of the student's folder is longer than {MAX_NAME} bytes: shorten it."
    return replace(one, **texts)


def _files(folder: Path) -> list[Path]:
    hidden = (".ipynb_checkpoints", "__MACOSX")
    every = sorted(folder.rglob("*"), key=lambda p: (len(p.parts), str(p)))
    return [p for p in every if not p.is_dir() and not any(part in hidden for part in p.parts)]


def _of_student(student: str, files: list[Path], copies: dict[str, Template]) -> list[Handed]:
    handed: list[Handed] = []
    given: list[Handed] = []
    for path in files:
        if path.suffix.lower() == WEIGHTS:
            given.append(Handed(student, "", str(path)))
            continue
        if path.is_symlink():
            words = f"{path.name} is a link, which is not followed."
            handed.append(Handed(student, path.name, str(path), problem=words))
        elif not path.is_file():  # to open a named pipe is to wait for ever
            words = f"{path.name} is a pipe or a device, not a notebook."
            handed.append(Handed(student, path.name, str(path), problem=words))
        elif path.suffix.lower() == ".zip":
            handed += _in_zip(student, path, copies)
            given += [Handed(student, "", str(path), member.filename) for member in _members(path, WEIGHTS) or []]
        elif path.suffix.lower() in (".ipynb", ".json", ""):
            handed.append(named(Handed(student, path.name, str(path)), copies))
    found = _one_of_each(handed) or [Handed(student, "", "", problem="Nothing was handed in: there is no notebook.")]
    return _with(found, given)


def named(one: Handed, copies: dict[str, Template]) -> Handed:
    """With the notebook that its file is named after, or else that its cells are from."""
    file = (one.member.replace("\\", "/") or one.path).rsplit("/", 1)[-1]
    name, problem = submission.notebook_for(file, list(copies)), ""
    try:
        name = name or submission.notebook_of(submission.read(load(one)), copies)
    except Unreadable as error:
        problem = str(error)
    if not name and not problem:
        problem = f"{file} is none of the notebooks of this course, neither by its name nor by its cells."
    return replace(one, notebook=name or file, problem=problem)


def _in_zip(student: str, path: Path, copies: dict[str, Template]) -> list[Handed]:
    members = _members(path)
    if members is None:
        return [Handed(student, path.name, str(path), problem=f"{path.name} is damaged or no zip: pack it again.")]
    if sum(member.file_size for member in members) > MAX_UNPACKED:
        return [_too_much(student, path)]
    found = [_of_member(student, path, member, copies) for member in members]
    return found or [Handed(student, path.name, str(path), problem=f"{path.name} holds no notebook.")]


def _too_much(student: str, path: Path) -> Handed:
    words = f"The notebooks in {path.name} are more than can be read: clear their outputs, save, and pack them again."
    return Handed(student, path.name, str(path), problem=words)


def _members(path: Path, suffix: str = ".ipynb") -> list[zipfile.ZipInfo] | None:
    """The notebooks in a zip, or other files; None if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None
    junk = ("__MACOSX", ".ipynb_checkpoints")
    found = [m for m in members if _name(m).lower().endswith(suffix) and not any(j in _name(m) for j in junk)]
    return found[:MAX_MEMBERS]


def _name(member: zipfile.ZipInfo) -> str:
    return member.filename.replace("\\", "/")


def _of_member(student: str, path: Path, member: zipfile.ZipInfo, copies: dict[str, Template]) -> Handed:
    if stat.S_ISLNK(member.external_attr >> 16):
        words = f"{_name(member)} in {path.name} is a link, not a notebook."
        return Handed(student, _name(member), str(path), problem=words)
    return named(Handed(student, "", str(path), member.filename), copies)


def _one_of_each(handed: list[Handed]) -> list[Handed]:
    """Of several files for one notebook, the one nearest to the top; the others are named as a problem of their own."""
    kept: dict[str, Handed] = {}
    extra: list[Handed] = []
    for one in sorted(handed, key=lambda h: (bool(h.problem), (h.member or h.path).count("/"))):
        if one.notebook not in kept:
            kept[one.notebook] = one
        elif not one.problem:
            file = one.member or Path(one.path).name
            first = kept[one.notebook].member or Path(kept[one.notebook].path).name
            words = f"{file} is a second file for {one.notebook}: {first} was graded."
            extra.append(replace(one, notebook=f"{one.notebook} ({file})", problem=words))
    return list(kept.values()) + extra


def load(handed: Handed, limit: int = submission.MAX_FILE + 1) -> bytes:
    """The bytes of a submission, at most `limit` of them. Raises Unreadable."""
    try:
        if not handed.member:
            with open(handed.path, "rb") as file:
                return file.read(limit)
        with zipfile.ZipFile(handed.path) as archive, archive.open(handed.member) as file:
            return file.read(limit)
    except (*UNREADABLE, ValueError) as error:
        raise Unreadable(f"The file cannot be read ({type(error).__name__}): hand it in again.") from None


# ---- weights ----


def beside(notebook: Path, student: str) -> tuple[Handed, ...]:
    """The files of weights in the folder of a notebook, each under its exercise's name."""
    files = sorted(notebook.parent.glob(f"*{WEIGHTS}"))
    return _with([Handed(student, "", str(notebook))], [Handed(student, "", str(file)) for file in files])[0].weights


def _with(notebooks: list[Handed], files: list[Handed]) -> list[Handed]:
    """A student's notebooks, each with the file for each exercise that asks for weights: the one nearest to the top."""
    names = {one.weights.file: one.name for one in all_exercises().values() if one.weights} if files else {}
    best: dict[str, Handed] = {}
    for one in sorted(files, key=lambda one: (one.member or one.path).count("/")):
        file = (one.member or one.path).replace("\\", "/").rsplit("/", 1)[-1]
        for wanted, name in names.items():
            if _plain(file) == _plain(wanted):
                best.setdefault(name, replace(one, notebook=name))
    return [replace(one, weights=tuple(best.values())) for one in notebooks]


def _plain(file: str) -> str:
    """A file's name without what browsers add to a second download: `lm.pretrain (1).safetensors`."""
    return re.sub(r"[ _-]*\(?\d*\)?(?=\.safetensors$)", "", file.casefold())


def load_weights(handed: Handed, exercise: str, asked: Weights) -> bytes:
    """The bytes of the file that an exercise asks for. Raises Unfit or Missing."""
    one = next((one for one in handed.weights if one.notebook == exercise), None)
    if one is None:
        raise Missing(f"Not attempted: no `{asked.file}` was handed in beside the notebook. {asked.how} writes it.")
    if not one.member:
        return take(Path(one.path), asked)
    try:
        data = load(one, asked.max_bytes + 1)
    except Unreadable as problem:
        raise Unfit(f"`{asked.file}`: {problem}") from None
    fits(len(data), asked)
    return data
