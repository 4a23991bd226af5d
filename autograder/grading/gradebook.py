"""nbgrader's course folder and gradebook, filled from what was graded, through nbgrader's own API.

One assignment for each notebook, so that formgrader, manual grading, late penalties and exports go on from here.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path

import nbgrader
from alembic.script import ScriptDirectory
from nbgrader.api import Comment, Grade, Gradebook, GradeCell, Notebook, SolutionCell, SourceCell, SubmittedNotebook

from autograder.grading import outputs
from autograder.grading.cohort import Graded, Mark, Shown
from autograder.grading.submission import Template, mark_of, source_of
from autograder.reports.feedback import ByHand

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
        warnings.filterwarnings("ignore", module="nbgrader")
        file = (self.folder / "gradebook.db").resolve()
        _stamp(file)
        self.url = f"sqlite:///{file}"
        self.book = Gradebook(self.url, "transformers")
        self.book.db().expire_on_commit = False  # nobody else writes while we do, so nothing is read twice
        return self

    def __exit__(self, *_: object) -> None:
        self.book.close()

    def add_assignment(self, instructor: Template, solution: Path | None) -> None:
        """An assignment of one notebook: its cells in the gradebook, its source and release in the folder."""
        self.book.update_or_create_assignment(instructor.name)
        self._register(self.book.update_or_create_notebook(instructor.name, instructor.name), instructor)
        release = self._place("release", "", instructor.name)
        release.write_text(json.dumps(instructor.notebook, indent=1), "utf-8")
        source = self._place("source", "", instructor.name)
        source.write_text(solution.read_text("utf-8") if solution else release.read_text("utf-8"), "utf-8")

    def _register(self, notebook: Notebook, instructor: Template) -> None:
        """The notebook's cells, and their places in earlier submissions, as the instructor's copy has them now."""
        kept = {(type(cell), cell.name): cell for cell in (*notebook._base_cells, *notebook.source_cells)}
        for (kind, name), values in _entries(instructor).items():
            cell = kept.pop((kind, name), None) or kind(name=name, notebook=notebook)
            self.book.db.add(cell)
            for key, value in values.items():
                setattr(cell, key, value)
        for gone in kept.values():
            for row in (*(getattr(gone, "grades", None) or ()), *(getattr(gone, "comments", None) or ()), gone):
                self.book.db.delete(row)
        self.book.db.commit()
        self.book.db.expire_all()  # cells have come and gone
        for submitted in notebook.submissions:
            there = {row.cell_id for row in (*submitted.grades, *submitted.comments)}
            for kind, cells in ((Grade, notebook.grade_cells), (Comment, notebook.solution_cells)):
                for cell in cells:
                    if cell.id not in there:
                        self.book.db.add(kind(cell_id=cell.id, notebook=submitted))
        self.book.db.commit()
        self.book.db.expire_all()

    def add(self, graded: Graded, instructor: Template, data: bytes) -> Path:
        """A graded submission: scores, the rebuilt notebook, the file as it came. Returns the rebuilt notebook's path.

        Scores and comments that a person gave in formgrader stay; where what they were given for has changed since,
        formgrader asks for another look.
        """
        name, student = graded.notebook, graded.student
        before = _sources(self.folder / "autograded" / student / name / f"{name}.ipynb")
        self._place("submitted", student, name).write_bytes(data)
        rebuilt, made = self._place("autograded", student, name), notebook(graded, instructor)
        rebuilt.write_text(json.dumps(made, indent=1), "utf-8")
        with self._one_commit():
            self.book.update_or_create_student(student)
            self.book.update_or_create_submission(name, student)
            _score(self.book.find_submission_notebook(name, name, student), graded, instructor, before, _by_mark(made))
        return rebuilt

    def by_hand(self, graded: Graded) -> list[ByHand]:
        """What a person has given for the written answers of a submission that was added."""
        kept = self.book.find_submission_notebook(graded.notebook, graded.notebook, graded.student)
        comments = {comment.cell.name: comment.comment for comment in kept.comments}
        written = {cell.grade_id: cell.exercise for cell in graded.cells if cell.role == "written" and cell.exercise}
        grades = {grade.cell.name: grade for grade in kept.grades}
        return [_given(exercise, grades[mark], comments.get(mark)) for mark, exercise in written.items()]

    @contextlib.contextmanager
    def _one_commit(self) -> Iterator[None]:
        """All or nothing, and one wait for the disk: nbgrader's API alone commits at each of its steps."""
        db = self.book.db
        db.commit = db.flush
        try:
            yield
        except BaseException:
            db.rollback()
            raise
        finally:
            del db.commit
        db.commit()

    def _place(self, step: str, student: str, name: str) -> Path:
        folder = self.folder / step / student / name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.ipynb"
        path.unlink(missing_ok=True)  # nbgrader leaves its files read-only
        return path


def _stamp(file: Path) -> None:
    """Note in a new database which of nbgrader's schemas it has. nbgrader would start a process for it, in seconds."""
    with contextlib.closing(sqlite3.connect(file)) as book, book:
        if book.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return
        version = ScriptDirectory(str(Path(nbgrader.__file__).parent / "alembic")).get_current_head()
        book.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        book.execute("INSERT INTO alembic_version VALUES (?)", (version,))


def _entries(instructor: Template) -> dict[tuple[type, str], dict]:
    """What the gradebook holds of each cell."""
    made: dict[tuple[type, str], dict] = {}
    for cell in instructor.cells:
        mark, name = cell["metadata"].get("nbgrader", {}), mark_of(cell)
        if mark.get("grade"):
            made[GradeCell, name] = {"max_score": float(mark["points"]), "cell_type": cell["cell_type"]}
        if mark.get("solution"):
            made[SolutionCell, name] = {}
        if mark.get("grade") or mark.get("solution") or mark.get("locked"):
            made[SourceCell, name] = {
                "cell_type": cell["cell_type"],
                "locked": bool(mark.get("locked")),
                "source": source_of(cell),
                "checksum": mark.get("checksum"),
            }
    return made


def _score(
    kept: SubmittedNotebook, graded: Graded, instructor: Template, before: dict[str, str], now: dict[str, str]
) -> None:
    """Scores and comments; `before` and `now` are the sources of the last grading and of this, by the cells' marks."""
    marks = {m.exercise.replace(".", "-"): m for m in graded.marks}
    released = {mark_of(cell): source_of(cell).strip() for cell in instructor.cells}
    for grade in kept.grades:
        cell = grade.cell.name
        mark = marks.get(cell.removesuffix("-check"))
        untouched = now.get(cell, "").strip() in ("", released.get(cell))
        score = mark.score if mark else 0.0 if untouched else None
        changed = score != grade.auto_score or now.get(cell) != before.get(cell)
        if grade.manual_score is None:
            grade.needs_manual_grade = score is None
        elif changed:
            grade.needs_manual_grade = True
        grade.auto_score = score
    for comment in kept.comments:
        cell = comment.cell.name
        written = cell in released and cell not in marks
        comment.auto_comment = _remark(marks.get(cell), written and now.get(cell, "").strip() == released[cell])


def _given(exercise: str, grade: Grade, comment: str | None) -> ByHand:
    score = grade.manual_score if grade.manual_score is not None else grade.auto_score
    return ByHand(exercise, grade.max_score, None if score is None else score + (grade.extra_credit or 0), comment)


def _remark(mark: Mark | None, untouched: bool) -> str | None:
    if mark and not mark.score:
        return mark.sentence
    return "No response." if untouched else None


def _sources(path: Path) -> dict[str, str]:
    """What an earlier grading read, by the cells' marks."""
    try:
        return _by_mark(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError):
        return {}


def _by_mark(notebook: dict) -> dict[str, str]:
    return {mark_of(cell): source_of(cell) for cell in notebook["cells"] if mark_of(cell)}


def notebook(graded: Graded, instructor: Template) -> dict:
    """The rebuilt notebook with outputs: the instructor's cells, the student's answers, the judge's verdicts."""
    given = {mark_of(cell): cell for cell in instructor.cells if mark_of(cell)}
    marks = {m.exercise: m for m in graded.marks}
    cells = []
    for number, shown in enumerate(graded.cells):
        template = given.get(shown.grade_id)
        cell = dict(template) if template else {"metadata": {}, "id": f"own-{number}"}
        theirs = shown.kind != "code" and shown.role in ("written", "own")
        cell |= {"cell_type": shown.kind, "source": outputs.harmless(shown.source) if theirs else shown.source}
        if shown.kind == "code":
            cell |= {"outputs": _outputs(shown, marks), "execution_count": None}
        cells.append(cell)
    return instructor.notebook | {"cells": cells}


def _outputs(shown: Shown, marks: dict[str, Mark]) -> list[dict]:
    mark = marks.get(shown.exercise) if shown.role == "check" else None
    if mark:
        data = {"text/plain": str(mark.score), "text/html": mark.card}
        return [{"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None}]
    made = outputs.clean(shown.outputs)
    if shown.error and not made:
        made = [{"output_type": "error", "ename": "Stopped", "evalue": shown.error, "traceback": [shown.error]}]
    return made
