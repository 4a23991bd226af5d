"""`workbook grade`: from a folder of submissions to a gradebook, rebuilt notebooks and a feedback page for each."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import secrets
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder import trained
from autograder.exercise import find
from autograder.grading import submission
from autograder.grading.cohort import Graded, Mark, grade_all
from autograder.grading.controller import Limits
from autograder.grading.handed import Handed, collect, load, load_weights
from autograder.grading.launch import Launched, Unable
from autograder.grading.submission import Template, Unreadable
from autograder.reports import feedback
from autograder.weights import Unfit

if TYPE_CHECKING:
    from autograder.grading.gradebook import Course

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Settings:
    """How a cohort is graded; `again` names exercises that are judged anew though nothing changed."""

    out: Path
    device: str = "cpu"
    unsafe: bool = False
    jobs: int | None = None
    again: frozenset[str] = frozenset()
    limits: Limits = field(default_factory=Limits)
    notebooks: Path = ROOT / "notebooks"


def instructors(folder: Path) -> dict[str, Template]:
    """The instructor's copies, by name. Raises Unable where there are none."""
    found = {path.stem: submission.template(path) for path in sorted(folder.glob("*.ipynb"))}
    if not found:
        raise Unable(f"There are no notebooks in {folder}: run `workbook build` first.")
    return found


def released() -> Path:
    """The notebooks as they were handed out. In a student's bundle those in notebooks/ are being worked on."""
    kept = ROOT / "autograder" / "released"
    return kept if kept.is_dir() else ROOT / "notebooks"


def secret(out: Path) -> tuple[bytes, bool]:
    """The course's secret, and whether it was made just now: readable by its owner alone."""
    path = out / ".secret"
    out.mkdir(parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        made = True
    except FileExistsError:
        made = False
    found = path.read_bytes()
    if len(found) < 32:
        raise Unable(f"{path} is too short to be the course's secret: delete it, and cases will be drawn anew.")
    return found, made


def grade(folder: Path, settings: Settings, console: Console, launched: Launched | None = None) -> list[Graded]:
    """Grade all that lies in `folder`; writes everything under `settings.out`. Raises Unable with a sentence."""
    if not folder.exists():
        raise Unable(f"There is no folder {folder}: name the one that holds a folder or a zip for each student.")
    copies = instructors(settings.notebooks)
    try:
        handed = collect(folder, copies)
    except Unreadable as problem:
        raise Unable(str(problem)) from None
    if not handed:
        raise Unable(f"{folder} holds no submissions: they are looked for as {folder}/<student>/<notebook>.ipynb.")
    _ready(handed, copies)
    _load_ahead()
    key, made = secret(settings.out)
    if made:
        console.print(f"A secret for this course was made in {settings.out / '.secret'}: keep it, and keep it private.")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
        _Written(settings, copies) as written,
    ):
        task = bar.add_task("grading", total=len(handed))
        problems = 0

        def each(i: int, graded: Graded) -> None:
            nonlocal problems
            written.add(graded, handed[i])
            problems += bool(graded.problem)
            words = f"grading, {problems} unreadable" if problems else "grading"
            bar.update(task, advance=1, description=words)

        return grade_all(
            handed,
            copies,
            settings.out / ".journal",
            key,
            settings.device,
            settings.limits,
            settings.unsafe,
            settings.jobs,
            settings.again,
            each,
            launched,
        )


def _ready(handed: list[Handed], copies: dict[str, Template]) -> None:
    """Load what weights are measured on, once for all processes. Raises Refusal where it is not to be had."""
    for name in {one.notebook for one in handed} & set(copies):
        for exercise in {submission.role_of(cell)[1] for cell in copies[name].cells} - {""}:
            if find(exercise).weights:
                trained.inputs_for(find(exercise).weights, 0)


class _Written:
    """The gradebook, the rebuilt notebooks and the feedback pages, each written as soon as its grading is done."""

    def __init__(self, settings: Settings, copies: dict[str, Template]) -> None:
        self.settings, self.copies = settings, copies
        self.open, self.assignments = contextlib.ExitStack(), set()

    def __enter__(self) -> _Written:
        return self

    def __exit__(self, *_: object) -> None:
        self.open.close()

    @cached_property
    def course(self) -> Course:
        from autograder.grading.gradebook import Course

        return self.open.enter_context(Course(self.settings.out))

    def add(self, graded: Graded, file: Handed) -> None:
        by_hand = None
        if not graded.problem:
            self._assignment(graded.notebook)
            self.course.add(graded, self.copies[graded.notebook], _bytes(file))
            self._keep_weights(graded, file)
            by_hand = self.course.by_hand(graded)
        path = feedback_path(self.settings.out, graded)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(feedback.page(graded, by_hand), "utf-8")

    def _keep_weights(self, graded: Graded, file: Handed) -> None:
        """Weights lie beside the notebook as it came, where nbgrader too would look for them."""
        for asked in (find(mark.exercise) for mark in graded.marks):
            if asked.weights:
                with contextlib.suppress(Unfit):
                    data = load_weights(file, asked.name, asked.weights)
                    folder = self.settings.out / "submitted" / graded.student / graded.notebook
                    (folder / asked.weights.file).write_bytes(data)

    def _assignment(self, name: str) -> None:
        if name not in self.assignments:
            solution = self.settings.notebooks.parent / "solutions" / f"{name}.ipynb"
            self.course.add_assignment(self.copies[name], solution if solution.exists() else None)
            self.assignments.add(name)


def _load_ahead() -> None:
    """Load what the gradebook needs while the zygote gets ready, and leave out what no notebook needs.

    jsonschema takes two seconds for a grammar of addresses, if it is there.
    """
    sys.modules.setdefault("rfc3987_syntax", None)
    importlib.import_module("autograder.grading.gradebook")


def _bytes(file: Handed) -> bytes:
    try:
        return load(file)
    except Unreadable:
        return b""


def feedback_path(out: Path, one: Graded) -> Path:
    """Where a submission's page stands, as nbgrader lays it out; a file of no notebook has its own name."""
    name = "".join(c if c.isalnum() or c in "._- ()" else "_" for c in one.notebook).strip(". ") or "submission"
    if len(name) > 60:  # a name on disk has 255 bytes, and a character up to 4
        name = f"{name[:45]}-{hashlib.sha256(one.notebook.encode()).hexdigest()[:8]}"
    return out / "feedback" / one.student / name / f"{name}.html"


def table(graded: list[Graded]) -> Table:
    """Student, score for each notebook, and in words what was wrong. It fits a terminal, however many notebooks."""
    made = Table(title="Scores", show_lines=True)
    made.add_column("student", overflow="fold")
    made.add_column("notebook: points", no_wrap=True)
    made.add_column("what was wrong", overflow="fold", ratio=1)
    for student in dict.fromkeys(g.student for g in graded):
        of_student = sorted((g for g in graded if g.student == student), key=lambda g: g.notebook)
        scores = [_score(g) for g in of_student if g.marks]
        row = (student, "\n".join(scores) or "–", "\n".join(words(of_student)) or "nothing")
        made.add_row(*map(Text, row))  # as it stands: a student's brackets are no markup
    written = {g.notebook: g.by_hand for g in graded if g.by_hand}
    if written:
        points = ", ".join(f"{written[name]} in {name}" for name in sorted(written))
        made.caption = f"Not counted here are the points that you give by hand: {points}."
    return made


def _score(graded: Graded) -> str:
    return f"{graded.notebook}: {graded.score:g} of {sum(m.points for m in graded.marks)}"


def words(of_student: list[Graded], most: int = 4) -> list[str]:
    """What an instructor wants to know of a student's work, a line each, the rest counted."""
    lines = [f"{g.notebook}: {g.problem}" for g in of_student if g.problem]
    marks = [m for g in of_student for m in g.marks]
    lines += [f"{m.exercise}: {_brief(m)}" for m in marks if not m.score and m.verdict != "not attempted"]
    lines += [f"close to the book, read it: {name}" for g in of_student for name in g.copies]
    absent = sum(m.verdict == "not attempted" for m in marks)
    repairs = [repair for g in of_student for repair in g.repairs]
    if repairs:
        lines.append(f"repaired: {repairs[0]}" if len(repairs) == 1 else f"{len(repairs)} repairs, see the page")
    shown = lines[:most] + ([f"and {len(lines) - most} more"] if len(lines) > most else [])
    return shown + ([f"{absent} not attempted"] if absent else [])


def _brief(mark: Mark) -> str:
    """The mistake by its name; else the verdict, or the sentence's beginning where only that says what is wrong."""
    if mark.mistake or mark.verdict != "wrong":
        return mark.mistake or mark.verdict
    return mark.sentence if len(mark.sentence) <= 90 else f"{mark.sentence[:87]}…"
