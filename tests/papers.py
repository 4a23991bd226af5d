"""A small course and what students make of it: notebooks as JSON, built by hand."""

import copy

from autograder.grading.submission import Template

STUB = "def causal(n):\n    raise NotImplementedError"
ANSWER = "def causal(n):\n    return torch.full((n, n), -torch.inf).triu(1)"
QUESTION = "Why is the future hidden?\n\n*Your answer here.*"


def cell(kind, source, mark, tags=(), **nbgrader):
    defaults = {"grade": False, "solution": False, "locked": True, "task": False, "schema_version": 3}
    metadata = {"nbgrader": defaults | {"grade_id": mark, "cell_type": kind} | nbgrader}
    if tags:
        metadata["tags"] = list(tags)
    made = {"cell_type": kind, "id": mark, "metadata": metadata, "source": source}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def released():
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            cell("markdown", "# Masks", "02_masks-1"),
            cell("code", "import torch\nfrom autograder import check", "02_masks-2"),
            cell("code", "print('a long training')", "02_masks-3", tags=["explore"]),
            cell("code", STUB, "masks-causal", solution=True, locked=False),
            cell("code", 'check("masks.causal", causal)', "masks-causal-check", grade=True, points=2),
            cell("code", "def padding(ids, pad_id):\n    raise NotImplementedError", "masks-padding", solution=True),
            cell("code", 'check("masks.padding", padding)', "masks-padding-check", grade=True, points=1),
            cell("markdown", QUESTION, "masks-why", grade=True, solution=True, locked=False, points=3),
        ],
    }


INSTRUCTOR = Template("02_masks", released())


def student(answer=ANSWER):
    """A student's notebook with one answer, and the list of its cells."""
    notebook = copy.deepcopy(INSTRUCTOR.notebook)
    notebook["cells"][3]["source"] = answer
    return notebook, notebook["cells"]


def as_format_3(notebook):
    cells = [{k: v for k, v in c.items() if k not in ("id", "metadata", "source")} for c in notebook["cells"]]
    for old, new in zip(cells, notebook["cells"], strict=True):
        old["input" if new["cell_type"] == "code" else "source"] = new["source"].splitlines(keepends=True)
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells, "metadata": {}}]}


# ---- what happens to notebooks ----


def lost_metadata(cells):
    for c in cells:
        c["metadata"] = {}


def lost_all_marks(cells):
    lost_metadata(cells)
    for c in cells:
        del c["id"]


def duplicated(cells):
    cells.insert(4, copy.deepcopy(cells[3]))
    cells[3]["source"] = "def causal(n):\n    return 'the first try'"


def duplicated_and_then_untouched(cells):
    cells.insert(4, copy.deepcopy(cells[3]))
    cells[4]["source"] = STUB


def deleted_check(cells):
    del cells[4]


def markdown(cells):
    cells[3] |= {"cell_type": "markdown"}


def raw(cells):
    cells[3] |= {"cell_type": "raw"}


def retyped_at_the_bottom(cells):
    cells[3]["source"] = STUB
    cells.append({"cell_type": "code", "source": ANSWER, "metadata": {}, "id": "b1"})


def answer_cell_deleted_and_retyped(cells):
    del cells[3]
    cells.append({"cell_type": "code", "source": ANSWER, "metadata": {}, "id": "b1"})


def all_in_disorder(cells):
    cells.reverse()
