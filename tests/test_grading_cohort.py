"""A cohort, graded once: honest work gets its points, cheats their honest score, broken files a sentence."""

import copy
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import papers
import pytest
from nbgrader.api import Gradebook
from rich.console import Console

from autograder.grading import sandbox
from autograder.grading.controller import Limits
from autograder.grading.grade import Settings, grade

WHY = papers.QUESTION.replace("*Your answer here.*", "It is the answer. <script>alert(1)</script>")
WRONG = "def causal(n):\n    return torch.ones(n, n).tril()"
PADDING = "def padding(ids, pad_id):\n    return (ids != pad_id)[:, None, None, :]"
LIMITS = Limits(cell_seconds=3, ask_seconds=3, memory_bytes=2**30)

# A student's answer to masks.causal, and what it must score of 2 points.
ANSWERS = {
    "right": (papers.ANSWER, 2),
    "wrong": (WRONG, 0),
    "stub": (papers.STUB, 0),
    "warns": ("import warnings, sys\nwarnings.warn('old')\nprint('careful', file=sys.stderr)\n" + papers.ANSWER, 2),
    "prints-50-mb": ("print('x' * 50_000_000)\n" + papers.ANSWER, 2),
    "leaves": (papers.ANSWER + "\nimport os\nos._exit(0)", 0),
    "leaves-when-asked": ("import os\ndef causal(n): os._exit(0)", 0),
    "loops": ("def causal(n):\n    while True: pass", 0),
    "loops-in-the-cell": (papers.ANSWER + "\nwhile True: pass", 0),
    "borrows": ("import helpers.masks\ncausal = helpers.masks.causal", 0),
    "wraps": ("from helpers import masks\ndef causal(n): return masks.causal(n)", 0),
    "equals-everything": ("class E:\n    def __eq__(s, o): return True\ndef causal(n): return E()", 0),
    # Its own cells after it become 2.0 as well, the right answer among them: that is what it asked for.
    "transforms": ("get_ipython().input_transformers_post.append(lambda lines: ['2.0\\n'])\n" + WRONG, -1),
    "pretends-to-check": ("import autograder\nautograder.check = lambda *a: 2.0\n" + WRONG, 0),
    "shows-a-script": (
        papers.ANSWER + "\nfrom IPython.display import HTML, display\ndisplay(HTML('<script>alert(1)</script>'))",
        2,
    ),
    "shows-a-picture": (
        papers.ANSWER + "\nimport matplotlib.pyplot as plt\nfrom IPython.display import Image, display\n"
        "import io\nb = io.BytesIO(); plt.figure(); plt.savefig(b); display(Image(b.getvalue(), alt='a line'))",
        2,
    ),
}
# What may happen to a right notebook without costing a point.
DAMAGES = {
    "lost-metadata": papers.lost_metadata,
    "lost-marks": papers.lost_all_marks,
    "duplicated": papers.duplicated,
    "deleted-check": papers.deleted_check,
    "markdown": papers.markdown,
    "retyped": papers.retyped_at_the_bottom,
}
BROKEN = {
    "cut-off": json.dumps(papers.released()).encode()[:900],
    "web-page": b"<!DOCTYPE html><html></html>",
    "empty": b"",
}


def paper(answer=papers.ANSWER):
    notebook, cells = papers.student(answer)
    cells[5]["source"] = PADDING
    cells[7]["source"] = WHY
    return notebook, cells


def skips_checks():
    notebook, cells = paper(WRONG)
    cells[4]["metadata"]["tags"] = cells[6]["metadata"]["tags"] = ["skip-execution"]
    return notebook


def unknown_kernel():
    return paper()[0] | {"metadata": {"kernelspec": {"name": "no-such", "display_name": "?", "language": "r"}}}


def hand_in(folder):
    """Write all submissions; returns the score that each student must get."""
    expected = {}

    def put(student, content, name="02_masks.ipynb", score=3.0):
        (folder / student).mkdir(parents=True)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / student / name).write_bytes(data)
        expected[student] = score

    for student, (answer, score) in ANSWERS.items():
        put(student, paper(answer)[0], score=score + 1.0)
    for student, damage in DAMAGES.items():
        notebook, cells = paper()
        damage(cells)
        put(student, notebook)
    for student, data in BROKEN.items():
        put(student, data, score=None)
    put("skips-checks", skips_checks(), score=1.0)
    put("unknown-kernel", unknown_kernel())
    put("format-3", papers.as_format_3(paper()[0]))
    put("renamed", paper()[0], "02 MASKS (1).ipynb")
    put("anyhow-named", paper()[0], "homework.ipynb")
    put("größe", paper()[0], "02_masks – größe.ipynb")
    put("odd-stamp", paper()[0])
    (folder / "odd-stamp" / "timestamp.txt").write_bytes(b"yesterday \xff")
    with zipfile.ZipFile(folder / "zipped.zip", "w") as archive:
        archive.writestr("../../escaped/02_masks.ipynb", json.dumps(paper()[0]))
    expected["zipped"] = 3.0
    (folder / "bad-zip.zip").write_bytes(b"PK\x03\x04 nothing")
    expected["bad-zip"] = None
    (folder / "nothing-handed-in").mkdir()
    return expected


class Cohort:
    def __init__(self, root):
        self.root, self.out = root, root / "course"
        (root / "notebooks").mkdir()
        (root / "notebooks" / "02_masks.ipynb").write_text(json.dumps(papers.released()))
        self.expected = hand_in(root / "submissions")
        self.grade()

    def grade(self):
        self.console = Console(file=open(os.devnull, "w"), width=200)  # noqa: SIM115
        settings = Settings(self.out, limits=LIMITS, notebooks=self.root / "notebooks")
        self.graded = {g.student: g for g in grade(self.root / "submissions", settings, self.console)}

    def book(self):
        return Gradebook(f"sqlite:///{self.out / 'gradebook.db'}", "transformers")

    def page(self, student):
        (found,) = (self.out / "feedback" / student).rglob("*.html")
        return found.read_text("utf-8")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    return Cohort(tmp_path_factory.mktemp("cohort"))


# ---- scores and sentences ----


def test_everybody_gets_the_score_that_is_due(cohort):
    scores = {s: cohort.graded[s].score for s, due in cohort.expected.items() if due is not None}
    assert scores == {s: due for s, due in cohort.expected.items() if due is not None}


@pytest.mark.parametrize("student", [*BROKEN, "bad-zip"])
def test_a_broken_file_gets_a_sentence_and_a_page(cohort, student):
    assert cohort.graded[student].problem.endswith(".")
    assert cohort.graded[student].problem.rstrip(".") in cohort.page(student).replace("&#39;", "'")


def test_somebody_without_a_file_is_not_forgotten(cohort):
    assert "nothing" in cohort.graded["nothing-handed-in"].problem.lower()


@pytest.mark.parametrize(
    ("student", "word"),
    [
        ("wrong", "0 must mean"),
        ("stub", "Not attempted"),
        ("loops", "in time"),
        ("loops-in-the-cell", "still running"),
        ("leaves", "ended the process"),
        ("borrows", "write your own"),
    ],
)
def test_what_was_wrong_is_said(cohort, student, word):
    (mark,) = [m for m in cohort.graded[student].marks if m.exercise == "masks.causal"]
    assert word in mark.sentence
    assert mark.exercise in cohort.page(student)


def test_a_zip_writes_nowhere_else(cohort):
    assert not list(cohort.root.parent.rglob("escaped"))


def test_the_secret_is_its_owners_alone(cohort):
    path = cohort.out / ".secret"
    assert len(path.read_bytes()) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# ---- nbgrader's gradebook ----


def test_the_gradebook_holds_every_score(cohort):
    with cohort.book() as book:
        found = {s.student.id: s.notebooks[0].code_score for s in book.assignment_submissions("02_masks")}
        waiting = {s.student.id for s in book.assignment_submissions("02_masks") if s.needs_manual_grade}
    assert found == {s: due for s, due in cohort.expected.items() if due is not None}
    assert waiting == set(found), "written answers wait for a person"


def test_formgrader_lists_every_submission(cohort, monkeypatch):
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config, PyFileConfigLoader

    config = Config(PyFileConfigLoader("nbgrader_config.py", str(cohort.out)).load_config())
    config.CourseDirectory.root = str(cohort.out)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    listed = NbGraderAPI(CourseDirectory(config=config), config=config).get_submissions("02_masks")
    assert {s["student"] for s in listed if s["autograded"] and s["submitted"]} == {
        s for s, due in cohort.expected.items() if due is not None
    }


def test_the_rebuilt_notebooks_are_valid_and_small_and_run_nothing(cohort):
    import nbformat

    for path in (cohort.out / "autograded").rglob("*.ipynb"):
        nbformat.validate(nbformat.read(path, nbformat.NO_CONVERT))
        assert path.stat().st_size < 10**6
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            shown = cell.get("outputs", []) if cell["cell_type"] == "code" else cell["source"]
            assert "<script" not in json.dumps(shown)


def test_repairs_are_told_in_kind_words(cohort):
    assert "It cost you nothing" in cohort.page("deleted-check")
    assert "check cell had been deleted" in cohort.page("deleted-check")
    assert "mending" not in cohort.page("right")


def test_feedback_pages_stand_alone_and_run_nothing(cohort):
    for student in cohort.expected:
        page = cohort.page(student)
        assert "<script" not in page
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert "https://" not in page
    assert 'alt="a line"' in cohort.page("shows-a-picture")


def test_nbgrader_generates_feedback_from_what_was_written(cohort, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(cohort.out, course)
    shutil.rmtree(course / "feedback")
    command = [sys.executable, "-m", "nbgrader", "generate_feedback", "02_masks", "--student=shows-a-script"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(command, cwd=course, capture_output=True, text=True, env=os.environ | {"PATH": path})
    assert done.returncode == 0, done.stderr
    page = (course / "feedback" / "shows-a-script" / "02_masks" / "02_masks.html").read_text("utf-8")
    assert "masks.causal" in page
    assert "alert(1)</script>" not in page


def grade_by_hand(cohort, student, score):
    with cohort.book() as book:
        given = book.find_grade("masks-why", "02_masks", "02_masks", student)
        given.manual_score, given.needs_manual_grade = score, False
        book.find_comment("masks-why", "02_masks", "02_masks", student).manual_comment = "Well said."
        book.db.commit()


def by_hand(cohort, student):
    with cohort.book() as book:
        given = book.find_grade("masks-why", "02_masks", "02_masks", student)
        comment = book.find_comment("masks-why", "02_masks", "02_masks", student).comment
        return given.manual_score, comment, given.needs_manual_grade


def test_what_a_person_gave_survives_a_second_grading(cohort):
    grade_by_hand(cohort, "right", 2.5)
    grade_by_hand(cohort, "wrong", 1.0)
    notebook, cells = paper(WRONG)
    cells[7]["source"] += " And more."
    (cohort.root / "submissions" / "wrong" / "02_masks.ipynb").write_text(json.dumps(notebook))
    secret = (cohort.out / ".secret").read_bytes()
    cohort.grade()
    assert by_hand(cohort, "right") == (2.5, "Well said.", False)
    assert by_hand(cohort, "wrong") == (1.0, "Well said.", True), "a new text needs another look"
    assert (cohort.out / ".secret").read_bytes() == secret
    assert "Well said." in cohort.page("right")
    assert "5.5 of 6" in cohort.page("right")
    assert "not given yet" in cohort.page("warns")


def test_a_mended_course_is_graded_again(cohort, tmp_path):
    root = tmp_path / "mended"
    shutil.copytree(cohort.root, root)
    mended = papers.released()
    del mended["cells"][5:7]
    mended["cells"].append(
        copy.deepcopy(
            papers.cell("code", 'check("masks.combine", combine)', "masks-combine-check", grade=True, points=1)
        )
    )
    (root / "notebooks" / "02_masks.ipynb").write_text(json.dumps(mended))
    for other in (root / "submissions").iterdir():
        if other.name != "right":
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    settings = Settings(root / "course", limits=LIMITS, notebooks=root / "notebooks")
    (again,) = grade(root / "submissions", settings, cohort.console)
    assert again.score == 2.0
    with Gradebook(f"sqlite:///{root / 'course' / 'gradebook.db'}", "transformers") as book:
        kept = book.find_submission_notebook("02_masks", "02_masks", "right")
        assert {g.name for g in kept.grades} == {"masks-causal-check", "masks-why", "masks-combine-check"}
