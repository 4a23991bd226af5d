"""A student's file is hostile bytes: read with limits, and rebuilt from the instructor's copy plus the answers.

The instructor's copy says which cells there are; from the student come only the sources of answers and of cells of
their own. Tags, outputs, timestamps and everything else that the file says of itself are not looked at.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.exercise import Exercise, all_exercises

MAX_FILE = 200 * 2**20
MAX_CELLS = 2_000
MAX_SOURCE = 200_000


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
    """A cell of the rebuilt notebook. `exercise` is asked after it (role "check") or answered in it ("answer").

    `template` is the instructor's cell, or None for one of the student's own.
    """

    role: str  # "given", "answer", "written", "check", "own"
    kind: str
    source: str
    template: dict | None = None
    exercise: str = ""


# ---- reading ----


def read(data: bytes) -> list[Cell]:
    """The cells of a notebook of format 3 or 4. Raises Unreadable with a sentence."""
    if not data.strip():
        raise Unreadable("The file is empty: save the notebook again and hand that in.")
    if len(data) > MAX_FILE:
        raise Unreadable("The file is larger than 200 MB: clear the outputs, save and hand in again.")
    if data.lstrip()[:1] == b"<":
        raise Unreadable("The file is a web page, not a notebook: download the .ipynb itself and hand that in.")
    try:
        found = json.loads(data)
    except RecursionError:
        raise Unreadable("The file is nested too deeply to be a notebook.") from None
    except ValueError:
        raise Unreadable("The file is cut off or damaged: save the notebook again and hand that in.") from None
    if not isinstance(found, dict):
        raise Unreadable("The file holds JSON but no notebook: hand in the .ipynb.")
    sheets = found.get("worksheets")
    cells = found.get("cells")
    if cells is None and isinstance(sheets, list):  # format 3
        cells = [c for sheet in sheets if isinstance(sheet, dict) for c in sheet.get("cells") or []]
    if not isinstance(cells, list):
        raise Unreadable("The file holds JSON but no cells: hand in the .ipynb as JupyterLab saves it.")
    return [cell for cell in map(_cell, cells[:MAX_CELLS]) if cell]


def _cell(found: Any) -> Cell | None:
    if not isinstance(found, dict):
        return None
    source = found.get("source", found.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    metadata = found.get("metadata")
    mark = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    named = mark.get("grade_id") if isinstance(mark, dict) else ""
    kind, own_id = found.get("cell_type"), found.get("id")
    return Cell(
        kind if kind in ("code", "markdown", "raw") else "markdown",
        source[:MAX_SOURCE] if isinstance(source, str) else "",
        own_id if isinstance(own_id, str) else "",
        named if isinstance(named, str) else "",
    )


# ---- the instructor's copy ----


@dataclass(frozen=True)
class Template:
    """The instructor's copy of one notebook: nbformat's JSON as it was released."""

    name: str
    notebook: dict


def template(path: Path) -> Template:
    """Read an instructor's copy, which is trusted."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return Template(path.stem, notebook)


def role_of(cell: dict) -> tuple[str, str]:
    """What a cell of the instructor's copy is for, and its exercise."""
    mark = cell["metadata"].get("nbgrader", {})
    name = _exercises().get(mark.get("grade_id", "").removesuffix("-check"), "")
    if mark.get("solution"):
        return ("written" if mark.get("grade") else "answer"), name
    return ("check", name) if mark.get("grade") else ("given", "")


def _exercises() -> dict[str, str]:
    return {name.replace(".", "-"): name for name in all_exercises()}


def notebook_for(file: str, names: list[str]) -> str | None:
    """Which notebook a file is, however a browser or a person has renamed it."""
    plain = re.sub(r"[^a-z0-9]+", "_", Path(file).stem.lower())
    matching = [name for name in names if name.lower() in plain or re.sub(r"^\d+_", "", name.lower()) in plain]
    numbered = [name for name in names if re.search(rf"(^|_){name.split('_')[0]}(_|$)", plain)]
    return (matching or numbered or [None])[0]


# ---- rebuilding ----


def rebuild(instructor: Template, cells: list[Cell]) -> tuple[list[Placed], list[str]]:
    """The instructor's notebook with the student's answers, and a sentence for each repair."""
    repairs: list[str] = []
    wanted = {i: role_of(cell) for i, cell in enumerate(instructor.notebook["cells"])}
    taken: dict[int, int] = {}  # template cell → student's cell
    for i, (role, name) in wanted.items():
        if role in ("answer", "written"):
            found = _find(instructor.notebook["cells"][i], role, name, cells, repairs)
            if found is not None:
                taken[i] = found
    given = _given(instructor, cells, wanted)
    _missing(instructor, cells, wanted, repairs)
    own = _own(cells, set(taken.values()), given, wanted, instructor)
    placed: list[Placed] = [Placed("own", c.kind, c.source) for c in own.get(-1, [])]
    for i, cell in enumerate(instructor.notebook["cells"]):
        role, name = wanted[i]
        source = cells[taken[i]].source if i in taken else cell["source"]
        placed.append(Placed(role, cell["cell_type"], source, cell, name))
        placed += [Placed("own", c.kind, c.source) for c in own.get(i, [])]
    return placed, repairs


def _find(cell: dict, role: str, name: str, cells: list[Cell], repairs: list[str]) -> int | None:
    """The student's cell that answers an exercise: by grade_id, by id, else by the name that it defines."""
    mark, last = cell["metadata"]["nbgrader"]["grade_id"], name.split(".")[1]
    marked = [i for i, c in enumerate(cells) if c.grade_id == mark] or [
        i for i, c in enumerate(cells) if c.id and c.id == cell.get("id")
    ]
    if role == "written":
        if len(marked) > 1:
            repairs.append(f"{name}: the answer stands in {len(marked)} cells; the last was taken.")
        return marked[-1] if marked else None
    stub = cell["source"].strip()
    defining = [i for i, c in enumerate(cells) if _defines(c.source, last) and c.source.strip() != stub]
    good = [i for i in marked if i in defining]
    if good:
        if len(good) > 1:
            repairs.append(f"{name}: its cell was duplicated; the last one was taken.")
        elif cells[good[0]].kind != "code":
            repairs.append(f"{name}: its cell had become {cells[good[0]].kind}; it was read as code.")
        return good[-1]
    if defining:
        how = "retyped in another cell" if marked else "found by its name, since the cell had lost its mark"
        repairs.append(f"{name}: the answer was {how}.")
        return defining[-1]
    if not marked:
        repairs.append(f"{name}: its answer cell is gone.")
        return None
    return marked[-1]


def _defines(source: str, name: str) -> bool:
    return name in source and name in _top_names(source)


def _top_names(source: str) -> set[str]:
    """Names that a cell binds at its top level; what is no Python is searched for `def name` and `name =`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"(?m)^(?:def|class)\s+(\w+)", source)) | set(re.findall(r"(?m)^(\w+)\s*=", source))
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(a.asname or a.name).split(".")[0] for a in node.names}
        else:
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names


def _given(instructor: Template, cells: list[Cell], wanted: dict[int, tuple[str, str]]) -> dict[int, int]:
    """Student's cells that are the instructor's own, by place in the instructor's copy."""
    by_mark: dict[str, int] = {}
    by_source: dict[str, int] = {}
    for i, cell in enumerate(instructor.notebook["cells"]):
        if wanted[i][0] in ("given", "check"):
            by_mark[cell["metadata"]["nbgrader"]["grade_id"]] = i
            by_source.setdefault(cell["source"].strip(), i)
    found = {}
    for j, cell in enumerate(cells):
        place = by_mark.get(cell.grade_id, by_mark.get(cell.id, by_source.get(cell.source.strip())))
        if place is not None:
            found[j] = place
    return found


def _missing(instructor: Template, cells: list[Cell], wanted: dict, repairs: list[str]) -> None:
    marks = {c.grade_id for c in cells} | {c.id for c in cells}
    sources = {c.source.strip() for c in cells}
    for i, (role, name) in wanted.items():
        cell = instructor.notebook["cells"][i]
        if role == "check" and cell["metadata"]["nbgrader"]["grade_id"] not in marks:
            gone = cell["source"].strip() not in sources
            if gone:
                repairs.append(f"{name}: its check cell was deleted; it was put back.")


def _own(
    cells: list[Cell], answers: set[int], given: dict[int, int], wanted: dict, instructor: Template
) -> dict[int, list[Cell]]:
    """The student's own code cells, by the instructor's cell after which they stand."""
    marks = {c["metadata"]["nbgrader"]["grade_id"]: i for i, c in enumerate(instructor.notebook["cells"])}
    stubs = {c["source"].strip() for i, c in enumerate(instructor.notebook["cells"]) if wanted[i][0] == "answer"}
    own: dict[int, list[Cell]] = {}
    place = -1
    for j, cell in enumerate(cells):
        if j in given:
            place = max(place, given[j])
            continue
        if j in answers:
            place = max(place, marks.get(cell.grade_id, marks.get(cell.id, place)))
            continue
        if cell.kind == "code" and cell.source.strip() and cell.source.strip() not in stubs:
            own.setdefault(place, []).append(cell)
    return own


def exercises_of(placed: list[Placed]) -> list[Exercise]:
    """The exercises that are asked in a rebuilt notebook, in order."""
    known = all_exercises()
    return [known[p.exercise] for p in placed if p.role == "check"]
