"""What a notebook's source says: `solutions/NN_topic.py` becomes the solution and the student's version.

Cells of a source that mean something here: a markdown cell `{{card NAME}}`; a cell tagged `exercise:NAME` with the
solution between BEGIN SOLUTION and END SOLUTION; `check("NAME", …)` in a cell of its own; `written:NAME` for prose.
"""

from __future__ import annotations

import ast
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.choices import listed
from autograder.exercise import STUB, TEXT_STUB, Exercise, all_exercises, find

CARD = re.compile(r"\{\{card ([\w.]+)\}\}")
WIDTH = 96  # of a signature on a card
EDGE = re.compile(r"BEGIN SOLUTION|END SOLUTION")
BARE_IMAGE = re.compile(r"!\[\s*\][(\[]|<img\b(?![^>]*\balt=(?:\"[^\"]+\"|'[^']+'))[^>]*>")


class Stale(Exception):
    """A notebook that is not what its source gives, or a source that is not as it must be; a sentence."""


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
    _edges(solution, names, path)
    _described(solution, path)
    _number(solution, names, path.stem)
    _complete(names, path)
    return solution, _for_students(solution)


def _dress(cell: NotebookNode, path: Path) -> tuple[str, str]:
    """Give a cell its metadata; returns its role and the name of its exercise."""
    tags = [t for t in cell.metadata.get("tags", []) if not t.startswith(("exercise:", "written:"))]
    named = dict(t.split(":", 1) for t in cell.metadata.get("tags", []) if t.startswith(("exercise:", "written:")))
    cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
    card, check = CARD.fullmatch(cell.source.strip()), checked(cell)
    if card:
        cell.source = card_text(_find(card[1], path))
        return _mark(cell, "card", _find(card[1], path))
    if "exercise" in named:
        return _mark(cell, "exercise", _find(named["exercise"], path))
    if "written" in named:
        return _mark(cell, "written", _find(named["written"], path))
    if check:
        return _mark(cell, "check", _asked_for(cell, _find(check, path), path))
    return _mark(cell, "", None)


def _asked_for(cell: NotebookNode, exercise: Exercise, path: Path) -> Exercise:
    """The exercise of a check cell, which gives the answer under the name that a grader looks for."""
    due = f'check("{exercise.name}", {exercise.last})'
    if not exercise.weights and cell.source.strip() != due:
        raise Stale(f"{path.name}: the check of {exercise.name} must be `{due}`, since a grader looks for that name.")
    return exercise


def checked(cell: NotebookNode) -> str | None:
    """The exercise's name in a code cell that is a single call of `check`, with a literal name."""
    if cell.cell_type != "code" or not cell.source.startswith("check("):
        return None
    try:
        body = ast.parse(cell.source).body
    except SyntaxError:
        return None
    match body:
        case [ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str(name)), *_]))]:
            return name
    return None


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


def _edges(notebook: NotebookNode, names: list[tuple[str, str]], path: Path) -> None:
    """Solutions stand between their two lines, in answer cells only: nothing else is taken out for students."""
    for cell, (role, name) in zip(notebook.cells, names, strict=True):
        edges, answer = EDGE.findall(cell.source), role in ("exercise", "written")
        if edges != ["BEGIN SOLUTION", "END SOLUTION"] * (len(edges) // 2) or bool(edges) != answer:
            where = f"the answer to {name}" if answer else f"the cell that starts {_start(cell)}"
            due = "one line BEGIN SOLUTION, then one END SOLUTION" if answer else "no solution, or a tag exercise:NAME"
            raise Stale(f"{path.name}: {where} must have {due}.")


def _described(notebook: NotebookNode, path: Path) -> None:
    """Who cannot see an image of the prose reads its alt text."""
    for cell in notebook.cells:
        bare = BARE_IMAGE.search(re.sub(r"`[^`]*`", "", cell.source)) if cell.cell_type == "markdown" else None
        if bare:
            raise Stale(f"{path.name}: an image has no alt text, in the cell that starts {_start(cell)}.")


def _start(cell: NotebookNode) -> str:
    return repr(cell.source.split("\n")[0][:50])


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
        if [role for role, name in names if name == exercise.name] != list(roles):
            raise Stale(f"{path.name}: {exercise.name} has its cells in another order than {', '.join(roles)}.")


def _for_students(solution: NotebookNode) -> NotebookNode:
    from nbgrader.preprocessors import ClearOutput, ClearSolutions, ComputeChecksums, LockCells
    from traitlets.config import Config

    config = Config()
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.text_stub = TEXT_STUB
    student, resources = deepcopy(solution), {}
    for step in (LockCells, ClearSolutions, ClearOutput, ComputeChecksums):
        student, resources = step(config=config).preprocess(student, resources)
    for cell in student.cells:
        if "explore" in cell.metadata.get("tags", []):
            cell.metadata.pop("editable", None)  # made to be changed; the instructor's copy has it as it was
    return student


def card_text(exercise: Exercise) -> str:
    """The card above an exercise, in markdown that reads well without styles too."""
    dots = "●" * exercise.difficulty + "○" * (5 - exercise.difficulty)
    points = f"{exercise.points} point{'s' if exercise.points != 1 else ''}"
    facts = f"difficulty {dots} ({exercise.difficulty} of 5) · about {exercise.minutes} minutes · {points}"
    lines = [f"### Exercise `{exercise.name}`", "", exercise.goal, ""]
    if exercise.signature:
        lines += ["```python", _folded(exercise.signature), "```", ""]
    if exercise.questions:
        lines += [listed(exercise.questions), ""]
    lines += [facts]
    return "\n".join(lines) + _hints(exercise.hints)


def _folded(signature: str) -> str:
    """Lines too long for a notebook's column are broken before their arrow, not where the browser breaks them."""
    lines = signature.split("\n")
    return "\n".join(line.replace(" -> ", "\n    -> ", 1) if len(line) > WIDTH else line for line in lines)


def _hints(hints: tuple[str, ...]) -> str:
    """Hints in tiers: each unfolds inside the one before."""
    text = ""
    for i in reversed(range(len(hints))):
        text = f"\n\n<details><summary>Hint {i + 1} of {len(hints)}</summary>\n\n{hints[i]}{text}\n\n</details>"
    return text
