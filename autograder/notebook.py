"""The notebook's side: `check` an answer, see `progress`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from autograder import book, card, trained
from autograder.ask import Answer, ask, warm_up
from autograder.exercise import Exercise, all_exercises, cases, find, seed
from autograder.judge import Verdict, judge, not_attempted, not_your_own, refuse
from autograder.refusal import Refusal

threading.Thread(target=warm_up, daemon=True).start()


class Result:
    """What `check` returns: a card for people; its plain text is the score, which is nbgrader's protocol."""

    def __init__(self, verdict: Verdict, exercise: Exercise) -> None:
        self.verdict, self.exercise = verdict, exercise

    def __repr__(self) -> str:
        return str(self.verdict.score)

    def _repr_html_(self) -> str:
        return card.html(self.verdict, self.exercise)


def check(name: str, answer: Any = None) -> Result | None:
    """Judge `answer` as graders do, on public inputs; returns a card whose plain text is the score in points.

    Nothing that the answer prints, on stdout or stderr, gets out; it never raises for what an answer does.
    """
    try:
        exercise = find(name)
    except KeyError as error:
        print(error.args[0])
        return None
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        verdict = check_quietly(exercise, answer)
    record(verdict)
    return Result(verdict, exercise)


def check_quietly(exercise: Exercise, answer: Any, sources: list[str] | None = None) -> Verdict:
    """The verdict on an object in this process. `sources` are the cells so far, by default IPython's."""
    if exercise.weights:
        return _weigh(exercise, answer)
    if exercise.cases is None:
        return refuse(exercise, "not attempted", "Written answers are read by a person: your text is kept.")
    if answer is None:
        return not_attempted(exercise)
    leaning = lean(exercise, answer, _cells() if sources is None else sources)
    if leaning:
        return not_your_own(exercise, leaning)
    asked = sorted(cases(exercise, seed(exercise)), key=lambda case: case.fake)
    real = [case for case in asked if not case.fake]
    answers: list[Answer] = []
    for case in real:
        answers.append(ask(answer, exercise.ask, case, exercise.closed))
        if answers[-1].status in ("not attempted", "book"):
            break
    verdict = judge(exercise, real, answers)
    if verdict.verdict != "right" or len(real) == len(asked):
        return verdict
    # A pretended GPU takes as long as all else, and tells nothing about an answer that is wrong anyway.
    answers += [ask(answer, exercise.ask, case, exercise.closed) for case in asked[len(real) :]]
    fine = all(more.status == "value" and not more.device for more in answers[len(real) :])
    return verdict if fine else judge(exercise, asked, answers)


def _weigh(exercise: Exercise, answer: Any) -> Verdict:
    """The verdict on the weights in a file; `answer` is its name."""
    if not isinstance(answer, str | os.PathLike):
        asked = exercise.weights
        words = f"Give the name of the file, `{asked.file}`: {asked.how} writes it beside the notebook."
        return refuse(exercise, "not attempted", words)
    try:
        return trained.judge_file(exercise, Path(answer), seed(exercise))
    except Refusal as missing:  # the text that it is measured on
        return refuse(exercise, "error", str(missing))


def lean(exercise: Exercise, answer: Any, sources: list[str]) -> str | None:
    """What of the book the answer is, or leans on by its text."""
    return book.owner(answer) or book.mentions(sources, exercise.last, exercise.closed, exercise.shortcuts)


def _cells() -> list[str]:
    """The cells that this kernel has run so far, oldest first."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return [str(cell) for cell in shell.user_ns.get("In", [])] if shell else []


# ---- progress ----


def _store() -> Path:
    """`.workbook/progress.json` beside the notebooks; WORKBOOK_PROGRESS names another file."""
    return Path(os.environ.get("WORKBOOK_PROGRESS") or Path.cwd() / ".workbook" / "progress.json")


def recorded() -> dict[str, dict]:
    """The last result of each exercise checked here, by name; what cannot be read counts as nothing."""
    try:
        found = json.loads(_store().read_text("utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def record(verdict: Verdict) -> None:
    """Keep a result for `progress`. A folder that cannot be written costs the record, never the check."""
    path = _store()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        found = recorded() | {verdict.exercise: {"verdict": verdict.verdict, "score": verdict.score}}
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found, indent=1), "utf-8")
        part.replace(path)


NOTHING_YET = "Nothing checked yet: run a cell with `check` first."


class Progress:
    """A bar for each topic that was begun, from what was recorded; its plain text is a short table."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, int]] = []
        found = recorded()
        topics: dict[str, list[Exercise]] = {}
        for exercise in all_exercises().values():
            topics.setdefault(exercise.topic, []).append(exercise)
        for topic, of_topic in topics.items():
            if not any(e.name in found for e in of_topic):
                continue
            done = sum(float(found.get(e.name, {}).get("score", 0)) for e in of_topic)
            self.rows.append((topic, done, sum(e.points for e in of_topic)))

    def __repr__(self) -> str:
        rows = [f"{topic:<14} {done:g} of {points} points" for topic, done, points in self.rows]
        return "\n".join(rows) or NOTHING_YET

    def _repr_html_(self) -> str:
        return card.progress(self.rows) if self.rows else NOTHING_YET


def progress() -> Progress:
    """Your results so far, in all notebooks."""
    return Progress()
