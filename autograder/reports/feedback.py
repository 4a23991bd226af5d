"""The page that a student gets back: one file, opened from disk, nothing fetched."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import jinja2

from autograder.exercise import find
from autograder.grading import outputs
from autograder.grading.cohort import Graded, Shown

TITLES = {"own": "Your own cell", "given": "Given"}
_env = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_page = _env.from_string(files("autograder.reports").joinpath("feedback.html").read_text("utf-8"))


@dataclass(frozen=True)
class ByHand:
    """What a person has given so far for a written answer; None where nothing was given yet."""

    exercise: str
    points: float
    score: float | None = None
    comment: str | None = None


def page(graded: Graded, by_hand: list[ByHand] | None = None) -> str:
    """HTML of one submission: score, each exercise with its card, what was repaired, the notebook as it ran."""
    written = by_hand if by_hand is not None else _unread(graded)
    cells = [
        {
            "title": TITLES.get(cell.role) or cell.exercise,
            "source": cell.source,
            "error": cell.error,
            "outputs": [_shown(output) for output in outputs.clean(cell.outputs)],
        }
        for cell in graded.cells
        if cell.role in ("answer", "own", "written") or (cell.role == "given" and cell.error)
    ]
    return _page.render(
        graded=graded,
        cells=cells,
        written=written,
        score=graded.score + sum(w.score or 0 for w in written),
        total=sum(mark.points for mark in graded.marks) + sum(w.points for w in written),
        waiting=sum(w.points for w in written if w.score is None),
    )


def _unread(graded: Graded) -> list[ByHand]:
    return [ByHand(c.exercise, find(c.exercise).points) for c in graded.cells if _is_written(c)]


def _is_written(cell: Shown) -> bool:
    return cell.role == "written" and bool(cell.exercise)


def _shown(output: dict) -> dict:
    """A cleaned output as text, or as a picture with its alternative text."""
    data = output.get("data", {})
    for kind in outputs.PICTURES:
        if kind in data:
            return {"picture": f"data:{kind};base64,{data[kind]}", "alt": output["metadata"][kind]["alt"]}
    return {"text": output.get("text") or output.get("evalue") or data.get("text/plain", "")}
