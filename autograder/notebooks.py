"""One source for each notebook: `solutions/NN_topic.py` gives an executed solution and the student's version.

Cells of a source that mean something here: a markdown cell `{{card NAME}}`; a cell tagged `exercise:NAME` with the
solution between BEGIN SOLUTION and END SOLUTION; `check("NAME", …)` in a cell of its own; `written:NAME` for prose.
"""

from __future__ import annotations

import os
import re
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.exercise import Exercise, all_exercises, find

ROOT = Path(__file__).resolve().parent.parent
CARD = re.compile(r"\{\{card ([\w.]+)\}\}")
CHECK = re.compile(r"check\(\s*\"([\w.]+)\"")
SOLUTION = re.compile(r"(?m)^([ \t]*)(?:### |<!-- )?BEGIN SOLUTION.*?END SOLUTION[^\n]*$", re.DOTALL)
STUB, TEXT_STUB = "raise NotImplementedError", "*Your answer here.*"
SECONDS = 300


class Stale(Exception):
    """A notebook that is not what its source gives, or a source that is not as it must be; a sentence."""


# ---- from source to notebook ----


def derive(path: Path) -> tuple[NotebookNode, NotebookNode]:
    """The solution (not executed) and the student's version of one source. Raises Stale if the source is unfit."""
    solution = jupytext.read(path)
    solution.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    solution.nbformat, solution.nbformat_minor = 4, 5
    names = [_dress(cell, path) for cell in solution.cells]
    _number(solution, names, path.stem)
    _complete(names, path)
    return solution, _for_students(solution)


def _dress(cell: NotebookNode, path: Path) -> tuple[str, str]:
    """Give a cell its metadata; returns its role and the name of its exercise."""
    tags = [t for t in cell.metadata.get("tags", []) if not t.startswith(("exercise:", "written:"))]
    named = dict(t.split(":", 1) for t in cell.metadata.get("tags", []) if t.startswith(("exercise:", "written:")))
    cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    card, check = CARD.fullmatch(cell.source.strip()), CHECK.match(cell.source)
    if card:
        cell.source = card_text(_find(card[1], path))
        return _mark(cell, "card", _find(card[1], path))
    if "exercise" in named:
        return _mark(cell, "exercise", _find(named["exercise"], path))
    if "written" in named:
        return _mark(cell, "written", _find(named["written"], path))
    if check and cell.cell_type == "code":
        return _mark(cell, "check", _find(check[1], path))
    return _mark(cell, "", None)


def _find(name: str, path: Path) -> Exercise:
    try:
        return find(name)
    except KeyError as error:
        raise Stale(f"{path.name}: {error.args[0]}") from None


def _mark(cell: NotebookNode, role: str, exercise: Exercise | None) -> tuple[str, str]:
    """nbgrader's metadata, from the registry."""
    graded = role in ("check", "written")
    mark: dict[str, Any] = {
        "grade": graded,
        "solution": role in ("exercise", "written"),
        "locked": role not in ("exercise", "written"),
        "task": False,
        "schema_version": 3,
        "cell_type": cell.cell_type,
    }
    if graded:
        mark["points"] = exercise.points
    cell.metadata["nbgrader"] = nbformat.from_dict(mark)
    return role, exercise.name if exercise else ""


def grade_id(name: str, role: str = "exercise") -> str:
    """nbgrader's name of an exercise's cell: letters, digits, `-` and `_`."""
    return name.replace(".", "-") + {"exercise": "", "written": "", "check": "-check", "card": "-card"}[role]


def _number(notebook: NotebookNode, names: list[tuple[str, str]], stem: str) -> None:
    """Ids from the exercise, or the place after it: the same at each build, and few change when a cell is added."""
    last, count = stem, 0
    for cell, (role, name) in zip(notebook.cells, names, strict=True):
        if role:
            cell.id = grade_id(name, role)
            last, count = cell.id, 0
        else:
            count += 1
            cell.id = f"{last}-{count}"[-64:]
        cell.metadata["nbgrader"]["grade_id"] = cell.id


def _complete(names: list[tuple[str, str]], path: Path) -> None:
    """Each exercise of the notebook's topics has one card, one answer and one check; a written one an answer."""
    topics = {name.split(".")[0] for role, name in names if role in ("exercise", "written")}
    for exercise in all_exercises().values():
        if exercise.topic not in topics:
            continue
        roles = ("card", "written") if exercise.kind == "written" else ("card", "exercise", "check")
        for role in roles:
            found = names.count((role, exercise.name))
            if found != 1:
                raise Stale(f"{path.name}: {exercise.name} has {found} cells of the kind {role} where 1 is due.")


def _for_students(solution: NotebookNode) -> NotebookNode:
    from nbgrader.preprocessors import ClearOutput, ClearSolutions, ComputeChecksums, LockCells
    from traitlets.config import Config

    config = Config()
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.text_stub = TEXT_STUB
    student, resources = deepcopy(solution), {}
    for step in (LockCells, ClearSolutions, ClearOutput, ComputeChecksums):
        student, resources = step(config=config).preprocess(student, resources)
    return student


def card_text(exercise: Exercise) -> str:
    """The card above an exercise, in markdown that reads well without styles too."""
    dots = "●" * exercise.difficulty + "○" * (5 - exercise.difficulty)
    points = f"{exercise.points} point{'s' if exercise.points != 1 else ''}"
    facts = f"difficulty {dots} ({exercise.difficulty} of 5) · about {exercise.minutes} minutes · {points}"
    lines = [f"### Exercise `{exercise.name}`", "", exercise.goal, ""]
    if exercise.signature:
        lines += ["```python", exercise.signature, "```", ""]
    lines += [facts]
    return "\n".join(lines) + _hints(exercise.hints)


def _hints(hints: tuple[str, ...]) -> str:
    """Hints in tiers: each unfolds inside the one before."""
    text = ""
    for i in reversed(range(len(hints))):
        text = f"\n\n<details><summary>Hint {i + 1} of {len(hints)}</summary>\n\n{hints[i]}{text}\n\n</details>"
    return text


# ---- building ----


def build(names: list[str], check: bool = False) -> int:
    """Derive the named notebooks, or all: written and executed, or with `check` compared with what is committed.

    Returns 0, or 1 after a sentence for each fault.
    """
    sources = sorted((ROOT / "solutions").glob("*.py"))
    if names:
        wanted = {Path(name).stem for name in names}
        unknown = wanted - {path.stem for path in sources}
        if unknown:
            print(f"There is no source solutions/{min(unknown)}.py.")
            return 1
        sources = [path for path in sources if path.stem in wanted]
    faults = 0
    for path in sources:
        try:
            _compare(path) if check else _write(path)
        except Stale as fault:
            faults += 1
            print(fault)
        else:
            print(f"{path.stem}: {'as its source gives it' if check else 'built'}")
    return 1 if faults else 0


def derived(path: Path) -> tuple[Path, Path]:
    """Where the solution and the student's version of a source stand."""
    return path.with_suffix(".ipynb"), path.parent.parent / "notebooks" / f"{path.stem}.ipynb"


def _write(path: Path) -> None:
    solution, student = derive(path)
    execute(solution, path)
    for notebook, target in zip((solution, student), derived(path), strict=True):
        target.parent.mkdir(exist_ok=True)
        target.write_text(_text(notebook), "utf-8")


def _text(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def execute(solution: NotebookNode, path: Path) -> None:
    """Run a solution in place, without times. Raises Stale if a cell raises or a check scores less than all."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"WORKBOOK_PROGRESS": f"{folder}/progress.json", "OMP_NUM_THREADS": "1"}
        client = NotebookClient(
            solution, timeout=SECONDS, kernel_name="python3", record_timing=False, store_widget_state=False
        )
        try:
            client.execute(env=env, cwd=str(path.parent))
        except CellExecutionError as error:
            raise Stale(f"{path.name}: a cell raised {error.ename}: {error.evalue}.") from None
    solution.metadata.language_info = nbformat.from_dict({"name": "python"})
    for cell in solution.cells:
        match = CHECK.match(cell.source) if cell.cell_type == "code" else None
        if match:
            _full(cell, find(match[1]), path)


def _full(cell: NotebookNode, exercise: Exercise, path: Path) -> None:
    shown = [o.data.get("text/plain", "") for o in cell.outputs if o.output_type == "execute_result"]
    if shown != [str(float(exercise.points))]:
        raise Stale(f"{path.name}: the solution of {exercise.name} scores {''.join(shown) or 'nothing'}.")


def _compare(path: Path) -> None:
    solution, student = derive(path)
    for notebook, target in zip((solution, student), derived(path), strict=True):
        name = f"{target.parent.name}/{target.name}"
        if not target.exists():
            raise Stale(f"{name} is missing: run `workbook build {path.stem}`.")
        committed = nbformat.read(target, nbformat.NO_CONVERT)
        for cell in committed.cells if notebook is solution else []:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        if _text(committed) != _text(notebook):
            raise Stale(f"{name} is not what its source gives: run `workbook build {path.stem}`.")
    _prove(solution, student, path)


def _prove(solution: NotebookNode, student: NotebookNode, path: Path) -> None:
    """The student's version is the source minus its solutions, and nothing else: said again, in another way."""
    for full, bare in zip(solution.cells, student.cells, strict=True):
        stub = TEXT_STUB if full.cell_type == "markdown" else STUB
        expected = SOLUTION.sub(lambda found, stub=stub: found[1] + stub, full.source)
        if full.metadata.nbgrader.solution and expected == full.source:
            raise Stale(f"{path.name}: the cell {full.id} has no BEGIN SOLUTION … END SOLUTION to take out.")
        if bare.source != expected:
            raise Stale(f"{path.name}: the student's cell {bare.id} is not the source minus its solution.")
