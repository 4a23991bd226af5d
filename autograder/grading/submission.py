"""A student's file is hostile bytes: read with limits, and rebuilt from the instructor's copy plus the answers.

The instructor's copy says which cells there are; from the student come only the sources of answers and of cells of
their own. Tags, outputs, timestamps and everything else that the file says of itself are not looked at.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from autograder.exercise import Exercise, exists, find

MAX_FILE = 100 * 2**20
MAX_OPENED = 3_000_000  # brackets in a file: what bounds the memory that reading it takes
MAX_PIECES = 10_000_000  # quotes and commas: what bounds the number of its strings and numbers
MAX_CELLS = 2_000
MAX_SOURCE = 200_000
MAX_CODE, MAX_TEXT = 1_000_000, 5_000_000  # characters in all code cells, and in all others: trees of syntax are large


class Unreadable(Exception):
    """The file is no notebook; the message is a sentence for the student."""


@dataclass(frozen=True)
class Cell:
    """A cell of a student's file, as much as is believed of it."""

    kind: str
    source: str
    id: str = ""
    grade_id: str = ""


@dataclass(frozen=True)
class Placed:
    """A cell of the rebuilt notebook.

    `role` is given, answer, written, check or own; `exercise` is what an answer, a written answer or a check is for.
    `template` is the instructor's cell, or None for one of the student's own.
    """

    role: str
    kind: str
    source: str
    template: dict | None = None
    exercise: str = ""


@dataclass(frozen=True)
class Template:
    """The instructor's copy of one notebook: nbformat's JSON as it was released."""

    name: str
    notebook: dict

    @property
    def cells(self) -> list[dict]:
        return self.notebook["cells"]


# ---- reading ----

BEGINNINGS = {
    b"<": "a web page, not a notebook: download the .ipynb itself and hand that in.",
    b"PK\x03\x04": "a zip archive under a notebook's name: hand in the .ipynb, or call it .zip.",
    b"%PDF": "a PDF, not a notebook: hand in the .ipynb itself.",
}


def read(data: bytes) -> list[Cell]:
    """The cells of a notebook of format 2 to 4. Raises Unreadable with a sentence."""
    if not data.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        raise Unreadable("The file is empty: save the notebook again and hand that in.")
    many = data.count(b"{") + data.count(b"[") > MAX_OPENED or data.count(b'"') + data.count(b",") > MAX_PIECES
    if len(data) > MAX_FILE or many:
        raise Unreadable("The file is too large to be read: clear the outputs, save, and hand that in.")
    for beginning, sentence in BEGINNINGS.items():
        if data.lstrip().startswith(beginning):
            raise Unreadable(f"The file is {sentence}")
    try:
        found = json.loads(data)
    except (RecursionError, MemoryError):
        raise Unreadable("The file is nested too deeply to be a notebook: hand in the .ipynb itself.") from None
    except ValueError:
        raise Unreadable(_damaged(data)) from None
    cells = _cells(found) if isinstance(found, dict) else None
    if cells is None:
        raise Unreadable("The file holds data but no cells: hand in the .ipynb as JupyterLab saves it.")
    found = [cell for cell in map(_cell, cells[:MAX_CELLS]) if cell]
    code = sum(len(cell.source) for cell in found if cell.kind == "code")
    if code > MAX_CODE or sum(len(cell.source) for cell in found) - code > MAX_TEXT:
        raise Unreadable("The cells hold more than a notebook can: take out what was pasted in, and hand that in.")
    return found


def _damaged(data: bytes) -> str:
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "The file is not a notebook: hand in the .ipynb as JupyterLab saves it."
    if not data.rstrip(b"\0 \t\r\n").endswith(b"}"):
        return "The file breaks off before its end: save the notebook again and hand that in."
    return "The file is damaged somewhere inside: save the notebook again and hand that in."


def _cells(found: dict) -> list | None:
    """The cells of format 4, or of all worksheets of format 3."""
    sheets = found.get("worksheets")
    if "cells" not in found and isinstance(sheets, list):
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for some in lists if isinstance(some, list) for cell in some]
    return found["cells"] if isinstance(found.get("cells"), list) else None


def _cell(found: Any) -> Cell | None:
    if not isinstance(found, dict):
        return None
    metadata = found.get("metadata")
    mark = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    kind = found.get("cell_type")
    return Cell(
        kind if kind in ("code", "raw") else "markdown",
        _text(found.get("source", found.get("input")))[:MAX_SOURCE],
        _text(found.get("id")),
        _text(mark.get("grade_id")) if isinstance(mark, dict) else "",
    )


def _text(value: Any) -> str:
    """Text, in one piece or in lines, without halves of characters; anything else is no text."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


# ---- the instructor's copy ----


def template(path: Path) -> Template:
    """Read an instructor's copy, which is trusted."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = source_of(cell)  # nbgrader's gradebook takes text, not lines
    return Template(path.stem, notebook)


def source_of(cell: dict) -> str:
    """The source of a cell in nbformat's JSON."""
    return "".join(cell["source"])


def mark_of(cell: dict) -> str:
    """nbgrader's name of an instructor's cell."""
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def role_of(cell: dict) -> tuple[str, str]:
    """What a cell of the instructor's copy is for, and its exercise."""
    mark = cell["metadata"].get("nbgrader", {})
    name = mark_of(cell).removesuffix("-check").replace("-", ".")
    name = name if exists(name) else ""
    if mark.get("solution"):
        return ("written" if mark.get("grade") else "answer"), name
    return ("check", name) if mark.get("grade") else ("given", "")


def is_explore(cell: dict) -> bool:
    """Whether grading leaves this cell of the instructor's copy out; the student's tags have no say."""
    return "explore" in cell["metadata"].get("tags", [])


def notebook_for(file: str, names: list[str]) -> str | None:
    """Which notebook a file is by its name, however a browser or a person has changed that; None if it says none."""
    plain = re.sub(r"[^a-z0-9]+", "_", unicodedata.normalize("NFKC", Path(file).stem).casefold())
    for part in (str, lambda name: re.sub(r"^\d+_", "", name), lambda name: name.split("_")[0]):
        named = [name for name in names if re.search(rf"(^|_){re.escape(part(name.casefold()))}(_|$)", plain)]
        if len(named) == 1:
            return named[0]
    return None


def notebook_of(cells: list[Cell], templates: dict[str, Template]) -> str | None:
    """Which notebook these cells are from, by their marks, else by the names that they define."""
    marks = {c.grade_id for c in cells} | {c.id for c in cells}
    defined = set().union(*(_top_names(c.source) for c in cells))
    best, most = None, 0
    for name, one in templates.items():
        roles = [role_of(cell) for cell in one.cells]
        shared = 1_000 * len(marks & {mark_of(cell) for cell in one.cells} - {""})
        shared += sum(role == "answer" and _last(exercise) in defined for role, exercise in roles)
        if shared > most:
            best, most = name, shared
    return best


def _last(name: str) -> str:
    return name.split(".")[-1]


# ---- rebuilding ----


def rebuild(instructor: Template, cells: list[Cell]) -> tuple[list[Placed], list[str]]:
    """The instructor's notebook with the student's answers, and a sentence for each repair.

    What the student does not have is left as it was released.
    """
    work = _Rebuilding(instructor, cells)
    placed = [*work.own.get(-1, [])]
    for i, cell in enumerate(instructor.cells):
        role, name = work.roles[i]
        source, own = work.source(i), work.own.get(i, [])
        below = [p for p in own if p.kind == "markdown"]
        if role == "written" and below and source.strip() == source_of(cell).strip():
            work.repairs.append(f"{name}: the answer was written in a cell below its own; it was put in.")
            source, own = "\n\n".join(p.source for p in below), [p for p in own if p not in below]
        placed.append(Placed(role, cell["cell_type"], source, cell, name))
        placed += own
    return placed, work.repairs


def exercises_of(placed: list[Placed]) -> list[Exercise]:
    """The exercises that are asked in a rebuilt notebook, in order."""
    return [find(p.exercise) for p in placed if p.role == "check"]


class _Rebuilding:
    """Which of the student's cells goes where."""

    def __init__(self, instructor: Template, cells: list[Cell]) -> None:
        self.cells, self.theirs = cells, instructor.cells
        self.repairs: list[str] = []
        self.roles = [role_of(cell) for cell in self.theirs]
        self.places = {mark_of(c): i for i, c in enumerate(self.theirs)}
        given = [i for i, (role, _) in enumerate(self.roles) if role in ("given", "check")]
        self.sources = {source_of(self.theirs[i]).strip(): i for i in reversed(given)}
        self.taken: dict[int, int] = {}  # instructor's cell → student's cell
        for i, (role, name) in enumerate(self.roles):
            found = self._answer(i, name) if role == "answer" else self._written(i, name) if role == "written" else None
            if found is not None:
                self.taken[i] = found
        self.own = self._own()
        self._deleted_checks()

    def source(self, place: int) -> str:
        """What stands in a place of the rebuilt notebook."""
        return self.cells[self.taken[place]].source if place in self.taken else source_of(self.theirs[place])

    def _place(self, cell: Cell) -> int | None:
        """Where the instructor's copy has this cell, by its marks."""
        return self.places.get(cell.grade_id, self.places.get(cell.id))

    def _marked(self, place: int) -> list[int]:
        return [j for j, cell in enumerate(self.cells) if self._place(cell) == place]

    def _answer(self, place: int, name: str) -> int | None:
        """The student's cell that answers an exercise: the marked one, unless only another defines its name."""
        stub, marked = source_of(self.theirs[place]).strip(), self._marked(place)
        sources = [cell.source.strip() for cell in self.cells]
        defining = [
            j
            for j, source in enumerate(sources)
            if source != stub and source not in self.sources and _last(name) in _top_names(source)
        ]
        good = [j for j in marked if j in defining] or [j for j in defining if self.cells[j].kind == "code"] or defining
        if not good:
            if not marked:
                self.repairs.append(f"{name}: its answer cell is gone, so it counts as not attempted.")
            return marked[-1] if marked else None
        found = good[-1]
        if found not in marked:
            how = "in another cell than its own" if marked else "by its name, since its cell had lost its mark"
            self.repairs.append(f"{name}: the answer was found {how}.")
        elif len(marked) > 1:
            self.repairs.append(f"{name}: its cell was there {len(marked)} times; the last with an answer was taken.")
        if self.cells[found].kind != "code":
            self.repairs.append(f"{name}: its cell had become {self.cells[found].kind}; it was read as code.")
        return found

    def _written(self, place: int, name: str) -> int | None:
        """The student's cell with a written answer: the marked one, else one that begins with the question."""
        stub = source_of(self.theirs[place]).strip()
        found = self._marked(place) or [
            j for j, c in enumerate(self.cells) if c.source.strip().startswith(stub.splitlines()[0])
        ]
        if not found:
            self.repairs.append(f"{name}: its answer cell is gone.")
            return None
        answered = [j for j in found if self.cells[j].source.strip() != stub] or found
        if len(found) > 1:
            self.repairs.append(f"{name}: its cell was there {len(found)} times; the last with an answer was taken.")
        return answered[-1]

    def _own(self) -> dict[int, list[Placed]]:
        """The student's own cells, by the instructor's cell after which they stand."""
        released = {source_of(c).strip() for c in self.theirs} | {""}
        where = {j: i for i, j in self.taken.items()}
        own: dict[int, list[Placed]] = {}
        after, seen = -1, set()
        for j, cell in enumerate(self.cells):
            place = where.get(j, self._place(cell))
            place = self.sources.get(cell.source.strip()) if place is None else place
            if place is not None and place not in seen:
                seen.add(place)
                after = place
            if j in where or cell.source.strip() in released or (place is not None and not self._changed(cell, place)):
                continue
            earlier = place in self.taken and j < self.taken[place]  # an attempt before the answer runs before it
            own.setdefault(after - 1 if earlier else after, []).append(Placed("own", cell.kind, cell.source))
        return own

    def _changed(self, cell: Cell, place: int) -> bool:
        """Whether a given cell was changed in a way that honest work may need, such as one more import."""
        given = self.theirs[place]
        if self.roles[place][0] not in ("given", "check"):
            return True
        if is_explore(given) or given["cell_type"] != "code" or cell.kind != "code":
            return False
        self.repairs.append(
            f"{mark_of(given)}: this given cell had been changed; it was put back, and the change run too."
        )
        return True

    def _deleted_checks(self) -> None:
        there = {self._place(c) for c in self.cells} | {self.sources.get(c.source.strip()) for c in self.cells}
        for i, (role, name) in enumerate(self.roles):
            if role == "check" and i not in there:
                self.repairs.append(f"{name}: its check cell had been deleted; it was put back.")


@lru_cache(maxsize=1024)
def _top_names(source: str) -> set[str]:
    """Names that a cell binds at its top level; what is no Python is searched for `def name` and `name =`."""
    try:
        waiting: list[ast.AST] = [ast.parse(source)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"(?m)^(?:def|class)\s+(\w+)", source)) | set(re.findall(r"(?m)^(\w+)\s*=", source))
    names: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            waiting += ast.iter_child_nodes(node)
    return names
