"""Notebooks and their sources, on a course of one small notebook; then the real ones."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbgrader.nbgraderformat import MetadataValidator

from autograder import exercise, notebooks
from autograder.exercise import Exercise, all_exercises
from autograder.notebooks import build, derived
from autograder.source import STUB, TEXT_STUB, card_text

REAL = sorted((notebooks.ROOT / "solutions").glob("*.py"))
TINY = '''# %% [markdown]
# # Tiny
# ![A cat, asleep](cat.png)

# %%
from autograder import check

# %% tags=["explore", "nbval-ignore-output"]
print("look around")

# %% [markdown]
# {{card start.double}}

# %% tags=["exercise:start.double"]
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    result = x + x
    return result
    ### END SOLUTION

# %%
check("start.double", double)

# %% [markdown]
# {{card start.why}}

# %% [markdown] tags=["written:start.why"]
# Why twice?
#
# <!-- BEGIN SOLUTION -->
# Because once is too little.
# <!-- END SOLUTION -->
'''
CHECK = 'check("start.double", double)'


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A function that writes the small source, with replacements, and returns its path."""
    all_exercises()
    why = Exercise("start.why", 3, 5, 2, "Say why.", kind="written", rubric="Any reason.")
    monkeypatch.setitem(exercise._registry, why.name, why)
    path = tmp_path / "solutions" / "00_tiny.py"
    path.parent.mkdir()

    def write(*replacements):
        text = TINY
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def built(course, monkeypatch):
    """The small course, derived but not run: its source, solution and student's version."""
    monkeypatch.setattr(notebooks, "execute", lambda solution, path: None)
    path = course()
    assert build([], root=path.parent.parent) == 0
    return path, *derived(path)


def faults(path, capsys, check=True):
    """What a build says that found something wrong."""
    capsys.readouterr()
    assert build([], check, path.parent.parent) == 1
    return capsys.readouterr().out


def cells(path):
    return {cell.id: cell for cell in nbformat.read(path, nbformat.NO_CONVERT).cells}


def edit(path, change):
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    change({cell.id: cell for cell in notebook.cells})
    path.write_text(nbformat.writes(notebook, nbformat.NO_CONVERT) + "\n", "utf-8")


# ---- what is derived ----


def test_the_solution_is_run_and_the_student_gets_no_outputs(course):
    path = course()
    assert build(["00_tiny"], root=path.parent.parent) == 0
    solution, student = map(cells, derived(path))
    assert solution["start-double-check"].outputs[0].data["text/plain"] == "1.0"
    assert "right" in solution["start-double-check"].outputs[0].data["text/html"]
    assert all(cell.cell_type == "markdown" or not cell.outputs for cell in student.values())
    assert all("execution" not in cell.metadata for cell in solution.values())
    assert not (path.parent / ".workbook").exists()
    assert build([], check=True, root=path.parent.parent) == 0


def test_the_student_gets_signature_docstring_and_stub(built):
    student = cells(built[2])
    assert student["start-double"].source == f'def double(x):\n    """Twice x."""\n    {STUB}'
    assert student["start-why"].source == f"Why twice?\n\n{TEXT_STUB}"


def test_nbgrader_finds_its_metadata_with_points_of_the_registry(built):
    for path in built[1:]:
        notebook = nbformat.read(path, nbformat.NO_CONVERT)
        nbformat.validate(notebook)
        MetadataValidator().validate_nb(notebook)
        marks = {cell.id: cell.metadata.nbgrader for cell in notebook.cells}
        assert len(marks) == len(notebook.cells)
        assert all(mark.grade_id == id for id, mark in marks.items())
        assert {id: mark.points for id, mark in marks.items() if mark.grade} == {
            "start-double-check": 1,
            "start-why": 3,
        }
        assert {id for id, mark in marks.items() if not mark.locked} == {"start-double", "start-why"}


def test_students_may_edit_answers_and_explore_cells_and_nothing_else(built):
    editable = {id for id, cell in cells(built[2]).items() if cell.metadata.get("editable", True)}
    assert editable == {"start-double", "start-why", "00_tiny-3"}


def test_tags_are_kept_but_for_ours(built):
    for path in built[1:]:
        tags = {id: cell.metadata.tags for id, cell in cells(path).items() if "tags" in cell.metadata}
        assert tags == {"00_tiny-3": ["explore", "nbval-ignore-output"]}


def test_a_second_build_gives_the_same_bytes(built):
    before = [path.read_bytes() for path in built[1:]]
    assert build([], root=built[0].parent.parent) == 0
    assert [path.read_bytes() for path in built[1:]] == before


def test_a_card_shows_everything_and_its_hints_one_inside_the_other():
    text = card_text(Exercise("masks.x", 2, 8, 3, "A goal.", hints=("one", "two"), signature="x(n: int)", rubric=""))
    for part in ("masks.x", "A goal.", "x(n: int)", "●●●○○ (3 of 5)", "8 minutes", "2 points"):
        assert part in text
    first, second = text.index("Hint 1 of 2"), text.index("Hint 2 of 2")
    assert text.index("one") < second < text.index("</details>")
    assert first < text.index("one")


@pytest.mark.parametrize("page", all_exercises().values(), ids=lambda page: page.name)
def test_numbered_questions_of_a_card_stand_in_lines_of_their_own(page):
    assert not re.search(r"\S +[2-9]\. [A-Z]", page.goal)


# ---- what is refused ----


STALE = {
    "an edited cell": lambda c: c["00_tiny-1"].update(source="# Other"),
    "an edited answer": lambda c: c["start-double"].update(source="def double(x): ..."),
    "an id": lambda c: c["start-double"].update(id="other"),
    "points": lambda c: c["start-double-check"].metadata.nbgrader.update(points=9),
    "a lost tag": lambda c: c["00_tiny-3"].metadata.pop("tags"),
}


@pytest.mark.parametrize("which", [1, 2], ids=["solution", "student"])
@pytest.mark.parametrize("change", STALE.values(), ids=STALE)
def test_a_derived_notebook_that_was_changed_by_hand_is_named(built, capsys, change, which):
    edit(built[which], change)
    said = faults(built[0], capsys)
    assert f"{built[which].parent.name}/00_tiny.ipynb is not what its source gives" in said
    assert "run `workbook build 00_tiny`" in said


def test_a_changed_source_makes_both_stale(built, capsys):
    built[0].write_text(TINY.replace("# # Tiny", "# # Big"), "utf-8")
    assert "run `workbook build 00_tiny`" in faults(built[0], capsys)


def test_a_missing_notebook_is_named(built, capsys):
    built[2].unlink()
    assert "notebooks/00_tiny.ipynb is missing: run `workbook build 00_tiny`." in faults(built[0], capsys)


def output(text):
    return nbformat.v4.new_output("stream", name="stdout", text=text)


def test_outputs_of_a_solution_are_not_compared_but_a_student_has_none(built, capsys):
    edit(built[1], lambda c: c["00_tiny-3"].update(outputs=[output("look around\n")], execution_count=2))
    assert build([], check=True, root=built[0].parent.parent) == 0
    edit(built[2], lambda c: c["00_tiny-3"].update(outputs=[output("look around\n")]))
    assert "notebooks/00_tiny.ipynb is not what its source gives" in faults(built[0], capsys)


UNFIT = {
    "no check": ((CHECK, "double(1)"), "start.double has 0 cells of the kind check where 1 is due"),
    "a check that is part of a cell": ((CHECK, f"{CHECK}\nprint()"), "0 cells of the kind check"),
    "two checks": ((CHECK, f"{CHECK}\n\n# %%\n{CHECK}"), "2 cells of the kind check"),
    "another name": ((f"{CHECK}", 'check("start.double", twice)'), "a grader looks for that name"),
    "no card": (("{{card start.double}}", "Double it."), "0 cells of the kind card"),
    "no written answer": ((' tags=["written:start.why"]', ""), "must have no solution, or a tag"),
    "a name that is none": (("{{card start.double}}", "{{card start.duoble}}"), "Did you mean start.double"),
    "no end": (("    ### END SOLUTION\n", ""), "the answer to start.double must have one line BEGIN SOLUTION"),
    "no solution": (("### BEGIN SOLUTION\n", "\n"), "the answer to start.double must have"),
    "an answer without its tag": ((' tags=["exercise:start.double"]', ""), "must have no solution, or a tag"),
    "no alt text": (("![A cat, asleep]", "![]"), "an image has no alt text"),
    "no alt text in HTML": (("![A cat, asleep](cat.png)", "<img src='cat.png'>"), "an image has no alt text"),
    "the solution told": (("# Why twice?", "# result = x + x\n# return result"), "can be read elsewhere"),
}


@pytest.mark.parametrize(("replacement", "sentence"), UNFIT.values(), ids=UNFIT)
def test_an_unfit_source_is_refused_in_a_sentence(course, built, capsys, replacement, sentence):
    course(replacement)
    build([], root=built[0].parent.parent)
    said = faults(built[0], capsys)
    assert said.startswith("00_tiny.py: ")
    assert sentence in said


def test_cells_of_an_exercise_stand_in_order(course, built, capsys):
    card, check = "# %% [markdown]\n# {{card start.double}}\n", f"# %%\n{CHECK}\n"
    built[0].write_text(TINY.replace(check, "").replace(card, f"{check}\n{card}"), "utf-8")
    assert "start.double has its cells in another order than card, exercise, check" in faults(built[0], capsys)


@pytest.mark.parametrize(
    ("replacement", "sentence"),
    [
        (("result = x + x", "result = x * x"), "the solution of start.double scores 0.0"),
        (('print("look around")', "1 / 0"), "the cell 00_tiny-3 raised ZeroDivisionError: division by zero."),
        (('print("look around")', "import os; os._exit(3)"), "the kernel died in the cell 00_tiny-3"),
    ],
    ids=["wrong", "raises", "dies"],
)
def test_a_solution_that_fails_is_named_and_nothing_is_written(course, capsys, replacement, sentence):
    path = course(replacement)
    assert sentence in faults(path, capsys, check=False)
    assert not any(target.exists() for target in derived(path))


def test_a_name_without_a_source_is_refused(built, capsys):
    assert build(["07_nothing"], root=built[0].parent.parent) == 1
    assert "There is no source solutions/07_nothing.py." in capsys.readouterr().out


# ---- the real course ----


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_the_course_is_what_its_sources_give(path, capsys):
    assert build([path.stem], check=True) == 0, capsys.readouterr().out


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_a_released_notebook_run_untouched_has_every_exercise_not_attempted(path, tmp_path):
    notebook = nbformat.read(derived(path)[1], nbformat.NO_CONVERT)
    env = os.environ | {"WORKBOOK_PROGRESS": str(tmp_path / "progress.json"), "OMP_NUM_THREADS": "1"}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
    client.execute(env=env, cwd=str(Path(derived(path)[1]).parent))
    outputs = [(cell.id, out) for cell in notebook.cells for out in cell.get("outputs", [])]
    assert {out.ename for _, out in outputs if out.output_type == "error"} <= {"NotImplementedError"}
    checks = {id: out.data for id, out in outputs if id.endswith("-check") and out.output_type == "execute_result"}
    assert len(checks) == sum(cell.id.endswith("-check") for cell in notebook.cells) > 0
    assert all(data["text/plain"] == "0.0" and "not attempted" in data["text/html"] for data in checks.values())
