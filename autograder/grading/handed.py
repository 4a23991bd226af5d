"""What was handed in: which files of a folder, or of a zip in it, are whose answer to which notebook."""

from __future__ import annotations

import stat
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.grading import submission
from autograder.grading.submission import Unreadable

MAX_MEMBERS = 500


@dataclass(frozen=True)
class Handed:
    """A file that a student handed in: `data` is read from `path` (or from `member` of that zip) when it is graded."""

    student: str
    notebook: str
    path: str
    member: str = ""
    problem: str = ""


def collect(folder: Path, names: list[str]) -> list[Handed]:
    """What lies in FOLDER/<student>/… or FOLDER/<student>.zip, one for each student and notebook."""
    found: list[Handed] = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            found += _of_student(entry.name, _files(entry), names)
        elif entry.suffix.lower() == ".zip":
            found += _of_student(entry.stem, [entry], names)
    return found


def _files(folder: Path) -> list[Path]:
    hidden = (".ipynb_checkpoints", "__MACOSX")
    every = sorted(folder.rglob("*"), key=lambda p: (len(p.parts), str(p)))
    return [p for p in every if not p.is_dir() and not any(part in hidden for part in p.parts)]


def _of_student(student: str, files: list[Path], names: list[str]) -> list[Handed]:
    handed: list[Handed] = []
    for path in files:
        if path.is_symlink():
            handed.append(
                Handed(student, path.name, str(path), problem=f"{path.name} is a link, which is not followed.")
            )
        elif path.suffix.lower() == ".zip":
            handed += _in_zip(student, path, names)
        elif path.suffix.lower() in (".ipynb", ".json", ""):
            handed.append(_named(student, path.name, str(path), "", names))
    return _one_of_each(handed)


def _named(student: str, file: str, path: str, member: str, names: list[str]) -> Handed:
    name = submission.notebook_for(file, names)
    problem = "" if name else f"{file} is none of the notebooks of this course: its name must hold one of theirs."
    return Handed(student, name or file, path, member, problem)


def _in_zip(student: str, path: Path, names: list[str]) -> list[Handed]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()[:MAX_MEMBERS]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return [Handed(student, path.name, str(path), problem=f"{path.name} is damaged or no zip: pack it again.")]
    found = []
    for member in members:
        name = member.filename.replace("\\", "/")
        junk = "__MACOSX" in name or ".ipynb_checkpoints" in name
        if junk or not name.lower().endswith(".ipynb"):
            continue
        if stat.S_ISLNK(member.external_attr >> 16):
            found.append(Handed(student, name, str(path), problem=f"{name} in {path.name} is a link, not a notebook."))
        else:
            found.append(_named(student, name.rsplit("/", 1)[-1], str(path), member.filename, names))
    return found or [Handed(student, path.name, str(path), problem=f"{path.name} holds no notebook.")]


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


def load(handed: Handed) -> bytes:
    """The bytes of a submission, at most MAX_FILE of them. Raises Unreadable."""
    limit = submission.MAX_FILE + 1
    try:
        if not handed.member:
            with open(handed.path, "rb") as file:
                return file.read(limit)
        with zipfile.ZipFile(handed.path) as archive, archive.open(handed.member) as file:
            return file.read(limit)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise Unreadable(f"The file cannot be read ({type(error).__name__}): hand it in again.") from None
