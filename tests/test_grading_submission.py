"""Files that students hand in: broken ones get a sentence, mended ones their answers, and no file is believed."""

import json
import os
import re
import tracemalloc

import papers
import pytest
from nbconvert.filters.markdown import markdown2html
from papers import ANSWER, INSTRUCTOR, STUB, as_format_3, released, student

from autograder.grading import outputs
from autograder.grading.cohort import steps
from autograder.grading.controller import Ask, Run
from autograder.grading.handed import collect
from autograder.grading.submission import (
    MAX_CELLS,
    MAX_FILE,
    Unreadable,
    notebook_for,
    notebook_of,
    read,
    rebuild,
)


def rebuilt(notebook):
    placed, repairs = rebuild(INSTRUCTOR, read(json.dumps(notebook).encode()))
    return placed, " ".join(repairs)


def answer(placed, name="masks.causal"):
    return next(p.source for p in placed if p.exercise == name and p.role in ("answer", "written"))


# ---- what cannot be read ----

WHOLE = json.dumps(released()).encode()
BROKEN = {
    "empty": (b"", "empty"),
    "only zeros": (b"\0" * 4096, "empty"),
    "cut off": (WHOLE[: len(WHOLE) // 2], "breaks off"),
    "damaged inside": (WHOLE[:100] + b"\xff\xfe" + WHOLE[102:], "damaged"),
    "a web page": (b"\n<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
    "a PDF": (b"%PDF-1.7 ...", "PDF"),
    "a zip": (b"PK\x03\x04....", "zip"),
    "a Python file": (ANSWER.encode(), "not a notebook"),
    "a list": (b"[1, 2]", "no cells"),
    "no cells": (b'{"nbformat": 4}', "no cells"),
    "cells of no list": (b'{"cells": {"a": 1}}', "no cells"),
    "worksheets of no list": (b'{"worksheets": 5}', "no cells"),
    "nested deeply": (b'{"cells": ' + b"[" * 200_000, "nested"),
    "a number without end": (b'{"cells": ' + b"9" * 100_000 + b"}", "damaged"),
    "too many brackets": (b'{"cells": [' + b"{}," * 4_000_000 + b"0]}", "too large"),
    "too much code": (json.dumps({"cells": [{"cell_type": "code", "source": "a," * 50_000}] * 20}).encode(), "pasted"),
    "too many strings": (b'{"cells": [' + b'"",' * 4_000_000 + b"0]}", "too large"),
    "too many numbers": (b'{"cells": [' + b"9," * 11_000_000 + b"0]}", "too large"),
    "too large": (b" " * MAX_FILE + b"{}", "too large"),
}


@pytest.mark.parametrize(("data", "word"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_notebook_gets_a_sentence(data, word):
    with pytest.raises(Unreadable) as found:
        read(data)
    assert word in str(found.value)
    assert str(found.value).endswith(".")


def test_a_bomb_of_brackets_takes_no_memory():
    tracemalloc.start()
    with pytest.raises(Unreadable):
        read(b'{"cells": [' + b"{}," * 4_000_000 + b"0]}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20


@pytest.mark.parametrize(
    "odd", [None, 5, "text", [], [[]], {"cell_type": 5, "source": {"a": 1}, "id": [], "metadata": {"nbgrader": []}}]
)
def test_cells_of_no_shape_cost_only_themselves(odd):
    notebook, cells = student()
    cells[1:1] = [odd, {"cell_type": "code", "source": ["x = ", 5, None, "1"]}]
    placed, _ = rebuilt(notebook)
    assert answer(placed) == ANSWER


def test_halves_of_characters_do_not_get_in():
    found = read(b'{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}]}')
    found[0].source.encode("utf-8")


def test_no_more_cells_than_a_notebook_has():
    assert len(read(json.dumps({"cells": [{"source": "1"}] * (MAX_CELLS + 5)}).encode())) == MAX_CELLS


# ---- what can be mended ----


def test_an_untouched_release_is_rebuilt_as_it_is_without_a_repair():
    placed, repairs = rebuilt(released())
    assert [p.source for p in placed] == [c["source"] for c in INSTRUCTOR.cells]
    assert repairs == ""


def test_format_3_is_read():
    placed, repairs = rebuilt(as_format_3(student()[0]))
    assert answer(placed) == ANSWER
    assert "masks.causal" in repairs


def test_utf_16_is_read():
    assert len(read(json.dumps(released()).encode("utf-16"))) == 8


MENDED = {
    "metadata lost": (papers.lost_metadata, ""),
    "all marks lost": (papers.lost_all_marks, "by its name"),
    "duplicated": (papers.duplicated, "2 times"),
    "duplicated, then untouched": (papers.duplicated_and_then_untouched, "2 times"),
    "check deleted": (papers.deleted_check, "check cell had been deleted"),
    "turned to markdown": (papers.markdown, "had become markdown"),
    "turned to raw": (papers.raw, "had become raw"),
    "retyped at the bottom": (papers.retyped_at_the_bottom, "another cell"),
    "deleted and retyped": (papers.answer_cell_deleted_and_retyped, "by its name"),
    "in disorder": (papers.all_in_disorder, ""),
}


@pytest.mark.parametrize(("damage", "word"), MENDED.values(), ids=MENDED)
def test_an_answer_is_found_and_the_repair_is_named(damage, word):
    notebook, cells = student()
    damage(cells)
    placed, repairs = rebuilt(notebook)
    assert answer(placed) == ANSWER
    assert word in repairs
    assert [p.role for p in placed if p.role == "check"] == ["check"] * 2
    given = [p.source for p in placed if p.role in ("given", "check")]
    assert given == [c["source"] for i, c in enumerate(INSTRUCTOR.cells) if i in (0, 1, 2, 4, 6)]


def test_a_deleted_answer_counts_as_released():
    notebook, cells = student()
    del cells[3]
    placed, repairs = rebuilt(notebook)
    assert answer(placed) == STUB
    assert "answer cell is gone" in repairs


def test_cells_of_ones_own_stay_where_they_were():
    notebook, cells = student()
    cells.insert(3, {"cell_type": "code", "source": "helper = 3", "metadata": {}})
    placed, _ = rebuilt(notebook)
    at = [p.source for p in placed].index("helper = 3")
    assert placed[at + 1].source == ANSWER
    assert placed[at].role == "own"


def test_a_changed_given_cell_is_put_back_and_the_change_run_too():
    notebook, cells = student()
    cells[1]["source"] += "\nimport math"
    placed, repairs = rebuilt(notebook)
    sources = [p.source for p in placed]
    assert sources.index("import torch\nfrom autograder import check") < sources.index(cells[1]["source"])
    assert "02_masks-2" in repairs


def test_a_written_answer_is_found_by_its_question():
    notebook, cells = student()
    cells[7]["source"] = "Why is the future hidden?\n\nBecause it is the answer."
    papers.lost_all_marks(cells)
    assert "Because it is" in answer(rebuilt(notebook)[0], "masks.why")


def test_a_written_answer_below_its_cell_is_put_in():
    notebook, cells = student()
    cells.append({"cell_type": "markdown", "source": "Because it is the answer.", "metadata": {}})
    placed, repairs = rebuilt(notebook)
    assert answer(placed, "masks.why") == "Because it is the answer."
    assert "below its own" in repairs


# ---- what is not believed ----


def plan(notebook):
    placed, _ = rebuilt(notebook)
    return [step for _, step in steps(placed, {"masks.causal": 1, "masks.padding": 1}, set())]


def test_tags_are_the_instructors():
    notebook, cells = student()
    for c in cells:
        c["metadata"]["tags"] = ["skip-execution", "explore"]
        c["metadata"]["nbgrader"] |= {"points": 1000, "grade": False, "locked": False}
    steps_ = plan(notebook)
    assert sum(isinstance(s, Ask) for s in steps_) == 2
    sources = [s.source for s in steps_ if isinstance(s, Run)]
    assert ANSWER in sources
    assert "print('a long training')" not in sources


def test_who_wrote_a_cell_is_known():
    notebook, cells = student()
    cells[1]["source"] = "import torch  # mine"
    own = {s.source: s.own for s in plan(notebook) if isinstance(s, Run)}
    assert own["import torch\nfrom autograder import check"] is False
    assert own["import torch  # mine"] is True
    assert own[ANSWER] is True


def test_a_check_cell_cannot_be_exchanged():
    notebook, cells = student()
    cells[4]["source"] = "2.0"
    placed, _ = rebuilt(notebook)
    assert next(p for p in placed if p.role == "check").source == 'check("masks.causal", causal)'
    assert sum(isinstance(s, Ask) for s in plan(notebook)) == 2


# ---- whose notebook ----

NAMES = ["00_start_here", "01_attention", "02_masks"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("01_attention.ipynb", "01_attention"),
        ("01_attention (1).ipynb", "01_attention"),
        ("01_ATTENTION.IPYNB", "01_attention"),
        ("Copy of 01 Attention.ipynb", "01_attention"),
        ("mia_01_attention-final.ipynb", "01_attention"),
        ("attention.ipynb", "01_attention"),
        ("02.ipynb", "02_masks"),
        ("０２_masks.ipynb", "02_masks"),
        ("homework.ipynb", None),
        ("attention and masks.ipynb", None),
    ],
)
def test_a_renamed_file_is_recognised(file, name):
    assert notebook_for(file, NAMES) == name


def test_a_file_of_any_name_is_known_by_its_cells():
    known = {"02_masks": INSTRUCTOR}
    assert notebook_of(read(WHOLE), known) == "02_masks"
    assert notebook_of(read(json.dumps(as_format_3(student()[0])).encode()), known) == "02_masks"
    assert notebook_of(read(b'{"cells": [{"cell_type": "code", "source": "x = 1"}]}'), known) is None


@pytest.mark.parametrize(
    "text",
    [
        "[a](javascript:alert(1))",
        "[a]( <javascript:alert(1)>)",
        "[a](\n javascript:alert(1))",
        "[a](&#106;avascript:alert(1))",
        "[a](&Tab;java&Tab;script:alert(1))",
        "[a](data:text/html,x)",
        "![a](javascript:alert(1))",
        "[a\\](javascript:alert(1))",
        "[a][b]\n\n[b]: javascript:alert(1)",
        "[a][b]\n\n[b]:\n  javascript:alert(1)",
        "[b]\n\n> [b]:\n> javascript:alert(1)",
        "<javascript:alert(1)>",
        "<a href='javascript:alert(1)'>a</a>",
        "$\\href{javascript:alert(1)}{x}$",
    ],
)
def test_a_students_markdown_leads_nowhere_but_to_the_web(text):
    page = markdown2html(outputs.harmless(text))
    assert not re.search(r"<\w[^>]*(?:href|src)\s*=|\\href", page), page
    assert 'href="https://x.org"' in markdown2html(outputs.harmless("[a](https://x.org)"))


def test_what_is_no_file_is_never_opened(tmp_path):
    for student_ in ("pipe", "zip"):
        (tmp_path / student_).mkdir()
    os.mkfifo(tmp_path / "pipe" / "02_masks.ipynb")
    os.mkfifo(tmp_path / "zip" / "all.zip")
    os.mkfifo(tmp_path / "top.zip")
    (tmp_path / "linked").symlink_to(tmp_path / "pipe")
    found = {one.student: one.problem for one in collect(tmp_path, {})}
    assert all("is a pipe" in found[name] for name in ("pipe", "zip", "top"))
    assert "is a link" in found["linked"]
