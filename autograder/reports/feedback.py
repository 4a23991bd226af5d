"""The page that a student gets back: one file, opened from disk, nothing fetched."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jinja2

from autograder.grading.cohort import Graded

_env = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)


def page(graded: Graded) -> str:
    """HTML of one submission: score, each exercise with its card, what was repaired, the notebook as it ran."""
    template = _env.from_string(files("autograder.reports").joinpath("feedback.html").read_text("utf-8"))
    cells = [
        {"source": c.source, "kind": c.kind, "role": c.role, "error": c.error, "outputs": list(_outputs(c.outputs))}
        for c in graded.cells
        if c.role in ("answer", "own", "written")
    ]
    total = sum(mark.points for mark in graded.marks)
    return template.render(graded=graded, cells=cells, total=total)


def _outputs(text: str) -> Any:
    """Plain text and pictures of a cell. A student's HTML is not shown: a page opened from disk must run no script."""
    try:
        outputs = json.loads(text)
    except ValueError:
        return
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        data = output.get("data") if isinstance(output.get("data"), dict) else {}
        if isinstance(data.get("image/png"), str):
            alt = (output.get("metadata") or {}).get("image/png", {})
            yield {"png": data["image/png"].strip(), "alt": alt.get("alt", "") if isinstance(alt, dict) else ""}
        elif output.get("output_type") == "error":
            yield {"text": str(output.get("evalue", ""))}
        else:
            yield {"text": str(output.get("text") or data.get("text/plain") or "")}
