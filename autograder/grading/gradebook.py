"""nbgrader's course folder and gradebook, filled from what was graded, through nbgrader's own API.

One assignment for each notebook, so that formgrader, manual grading, late penalties and exports go on from here.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from copy import deepcopy
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from nbgrader.preprocessors import SaveCells

from autograder.grading.cohort import Graded, Shown
from autograder.grading.submission import Template

CONFIG = """c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "transformers"
# One line makes `nbgrader autograde` use the workbook's judge:
# c.Autograde.autograde_preprocessors = __import__("autograder.grading.nbgrader_plugin", fromlist=["JUDGE"]).JUDGE
"""


class Course:
    """A course folder in nbgrader's layout; use as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Course:
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "nbgrader_config.py"
        if not config.exists():
            config.write_text(CONFIG, "utf-8")
        # nbgrader calls `alembic`, which lies beside this Python and need not be on the PATH.
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        warnings.filterwarnings("ignore", module="nbgrader")
        self.url = f"sqlite:///{(self.folder / 'gradebook.db').resolve()}"
        self.book = Gradebook(self.url, "transformers")
        return self

    def __exit__(self, *_: object) -> None:
        self.book.close()

    def add_assignment(self, instructor: Template, solution: Path | None) -> None:
        """An assignment of one notebook: its cells in the gradebook, its source and release in the folder."""
        self.book.update_or_create_assignment(instructor.name)
        notebook = nbformat.from_dict(deepcopy(instructor.notebook))
        names = {"notebook": instructor.name, "assignment": instructor.name, "db_url": self.url}
        SaveCells().preprocess(notebook, {"nbgrader": names})
        release = self._place("release", "", instructor.name)
        release.write_text(json.dumps(instructor.notebook, indent=1), "utf-8")
        source = self._place("source", "", instructor.name)
        source.write_text(solution.read_text("utf-8") if solution else release.read_text("utf-8"), "utf-8")

    def add(self, graded: Graded, instructor: Template, data: bytes) -> Path:
        """A graded submission: scores, the rebuilt notebook, the file as it came. Returns the rebuilt notebook's path.

        Scores and comments that a person gave in formgrader stay.
        """
        name, student = graded.notebook, graded.student
        self._place("submitted", student, name).write_bytes(data)
        rebuilt = self._place("autograded", student, name)
        rebuilt.write_text(json.dumps(notebook(graded, instructor), indent=1), "utf-8")
        self.book.update_or_create_student(student)
        self.book.update_or_create_submission(name, student)
        marks = {m.exercise.replace(".", "-"): m for m in graded.marks}
        sources = {cell.grade_id: cell.source for cell in graded.cells}
        kept = self.book.find_submission_notebook(name, name, student)
        for grade in kept.grades:
            mark = marks.get(grade.cell.name.removesuffix("-check"))
            if mark:
                grade.auto_score = mark.score
                grade.needs_manual_grade = grade.manual_score is not None
            else:
                untouched = sources.get(grade.cell.name, "").strip() in ("", _released(instructor, grade.cell.name))
                grade.auto_score = 0.0 if untouched else None
                grade.needs_manual_grade = not untouched and grade.manual_score is None
        for comment in kept.comments:
            mark = marks.get(comment.cell.name.removesuffix("-check"))
            comment.auto_comment = mark.sentence if mark and not mark.score else None
        self.book.db.commit()
        return rebuilt

    def _place(self, step: str, student: str, name: str) -> Path:
        folder = self.folder / step / student / name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.ipynb"
        path.unlink(missing_ok=True)  # nbgrader leaves its files read-only
        return path


def _released(instructor: Template, grade_id: str) -> str:
    for cell in instructor.notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id:
            return cell["source"].strip()
    return ""


def notebook(graded: Graded, instructor: Template) -> dict:
    """The rebuilt notebook with outputs: the instructor's cells, the student's answers, the judge's verdicts."""
    given = {c["metadata"].get("nbgrader", {}).get("grade_id"): c for c in instructor.notebook["cells"]}
    marks = {m.exercise: m for m in graded.marks}
    cells = []
    for number, shown in enumerate(graded.cells):
        cell = deepcopy(given.get(shown.grade_id)) or {"metadata": {}, "id": f"own-{number}"}
        cell |= {"cell_type": shown.kind, "source": shown.source}
        if shown.kind == "code":
            cell |= {"outputs": _outputs(shown, marks), "execution_count": None}
        else:
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
        cells.append(cell)
    return deepcopy(instructor.notebook) | {"cells": cells}


def _outputs(shown: Shown, marks: dict) -> list[dict]:
    mark = marks.get(shown.exercise) if shown.role == "check" else None
    if mark:
        data = {"text/plain": str(mark.score), "text/html": mark.card}
        return [{"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None}]
    try:
        outputs = [o for o in json.loads(shown.outputs) if isinstance(o, dict)]
    except ValueError:
        outputs = []
    if shown.error and not outputs:
        outputs = [{"output_type": "error", "ename": "Stopped", "evalue": shown.error, "traceback": [shown.error]}]
    return outputs
