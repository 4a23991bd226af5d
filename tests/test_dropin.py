"""nbgrader's own commands with this judge in place of `Execute`: the same scores, and the rest stays nbgrader's."""

import html
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder import demo
from autograder.grading import sandbox
from autograder.grading.grade import ROOT, instructors
from autograder.grading.handed import collect, load

NAME = "02_masks"
LINE = """
c.Autograde.autograde_preprocessors = __import__("autograder.grading.nbgrader_plugin", fromlist=["JUDGE"]).JUDGE
"""
PENALTY = """
from nbgrader.plugins import BasePlugin

class Penalty(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 2.0
"""


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """The demo cohort's masks through `workbook grade` and `nbgrader autograde`: what each found, and where it lies."""
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    root = tmp_path_factory.mktemp("dropin")
    copies, solved = (
        {name: made for name, made in instructors(ROOT / folder).items() if name == NAME}
        for folder in ("notebooks", "solutions")
    )
    demo.make(root / "submissions", copies, solved)
    shutil.rmtree(root / "submissions" / "lou never ends")  # a limit of seconds on each side
    command = [sys.executable, "-m", "autograder.cli", "grade", root / "submissions", "--out", root / "ours", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    graded = {one["student"]: one for one in json.loads(done.stdout) if not one["problem"]}
    theirs = _theirs(root, copies, list(graded))
    return graded, _by_student(theirs), theirs


def _theirs(root, copies, students):
    """A course folder for nbgrader with the same submissions and the same secret, autograded by nbgrader."""
    course = root / "theirs"
    for folder in ("source", "submitted"):
        (course / folder).mkdir(parents=True)
    (course / ".secret").write_bytes((root / "ours" / ".secret").read_bytes())
    (course / "penalty.py").write_text(PENALTY)
    config = f'c = get_config()\nc.CourseDirectory.course_id = "x"\n{LINE}\n'
    config += 'c.AssignLatePenalties.plugin_class = "penalty.Penalty"\n'
    (course / "nbgrader_config.py").write_text(config)
    (course / "source" / NAME).mkdir()
    (course / "source" / NAME / f"{NAME}.ipynb").write_text(json.dumps(copies[NAME].notebook))
    for handed in collect(root / "submissions", copies):
        if handed.student in students:
            place = course / "submitted" / handed.student / NAME
            place.mkdir(parents=True)
            (place / f"{NAME}.ipynb").write_bytes(load(handed))
            late = handed.student.startswith("ada")
            (place / "timestamp.txt").write_text("2026-01-04 00:00:00 UTC" if late else "2026-01-01 00:00:00 UTC")
    nbgrader(course, "generate_assignment", NAME, "--create", "--force")
    with book(course) as made:
        made.update_or_create_assignment(NAME, duedate="2026-01-02 00:00:00 UTC")
    nbgrader(course, "autograde", NAME, "--create")
    return course


def nbgrader(course, *command):
    path = os.pathsep.join([str(Path(sys.executable).parent), str(course), os.environ["PATH"]])
    env = os.environ | {"PATH": path, "PYTHONPATH": os.pathsep.join([str(ROOT), str(course)])}
    command = [sys.executable, "-m", "nbgrader", *command]
    done = subprocess.run(command, cwd=course, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def book(course):
    return Gradebook(f"sqlite:///{course / 'gradebook.db'}", "x")


def _by_student(course):
    with book(course) as made:
        return {s.student.id: s.notebooks[0].code_score for s in made.assignment_submissions(NAME)}


def test_both_give_the_same_scores(scores):
    ours, theirs = {student: one["score"] for student, one in scores[0].items()}, scores[1]
    assert len(ours) >= 8
    assert len(set(ours.values())) >= 3, "a cohort on which it could show"
    assert theirs == ours


def test_late_work_is_charged_by_nbgraders_own_plugin(scores):
    with book(scores[2]) as made:
        charged = {s.student.id: s.notebooks[0].late_submission_penalty for s in made.assignment_submissions(NAME)}
    assert {student for student, points in charged.items() if points} == {"ada is right"}


def test_a_written_answer_is_graded_by_hand_and_all_of_it_reaches_the_page(scores):
    graded, _, course = scores
    student, mark = next((who, m) for who, one in graded.items() for m in one["marks"] if m["mistake"])
    with book(course) as made:
        kept = made.find_submission_notebook(NAME, NAME, student)
        given = next(g for g in kept.grades if g.needs_manual_grade)
        given.manual_score, given.needs_manual_grade = 0.5, False
        next(c for c in kept.comments if c.cell.name == given.cell.name).manual_comment = "Half of it is so."
        made.db.commit()
    nbgrader(course, "generate_feedback", NAME, f"--student={student}")
    page = (course / "feedback" / student / NAME / f"{NAME}.html").read_text("utf-8")
    assert "Half of it is so." in page
    assert mark["sentence"].split("`")[0][:40] in html.unescape(page)
