"""What was graded stays graded: a run that was killed goes on, and only what changed is judged anew."""

import json
import os
import signal
import subprocess
import sys
import time

import papers
import pytest
from rich.console import Console

from autograder.exercise import all_exercises
from autograder.grading import cohort, sandbox
from autograder.grading.grade import ROOT, Settings, grade

MARKER = "This came from the journal."


@pytest.fixture
def course(tmp_path):
    """One submission, graded, whose verdicts in the journal were then marked: fresh ones can be told from kept ones."""
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "02_masks.ipynb").write_text(json.dumps(papers.released()))
    (tmp_path / "handed" / "ada").mkdir(parents=True)
    (tmp_path / "handed" / "ada" / "02_masks.ipynb").write_text(json.dumps(papers.student()[0]))
    again(tmp_path)
    mark(tmp_path, sentence=MARKER)
    return tmp_path


def again(course, *exercises):
    """Grade; returns which exercises' verdicts were kept."""
    settings = Settings(course / "course", notebooks=course / "notebooks", again=frozenset(exercises))
    (graded,) = grade(course / "handed", settings, Console(quiet=True))
    return {m.exercise for m in graded.marks if m.sentence == MARKER}


def mark(course, only=None, **values):
    (entry,) = (course / "course" / ".journal").glob("*.json")
    kept = json.loads(entry.read_text())
    for row in kept["marks"]:
        if only in (None, row["exercise"]):
            row |= values
    entry.write_text(json.dumps(kept))


def test_an_unchanged_submission_starts_no_process(course, monkeypatch):
    monkeypatch.setattr(cohort, "Launched", None)
    assert again(course) == {"masks.causal", "masks.padding"}


def test_only_the_exercise_that_is_named_is_judged_anew(course):
    assert again(course, "masks.causal") == {"masks.padding"}


def test_only_the_exercise_that_was_mended_is_judged_anew(course):
    mark(course, only="masks.padding", fingerprint="before it was mended")
    assert again(course) == {"masks.causal"}


def test_every_exercise_is_known_by_its_own_page():
    known = all_exercises().values()
    assert all(e.page == f"autograder.exercises.{e.page.split('.')[-1]}" for e in known)
    assert len({cohort.fingerprint(e) for e in known if e.kind in ("proof", "choice")}) > 1


def test_who_ends_a_process_of_the_graders_costs_nobody_else(course, monkeypatch):
    def fall(zygote, one, *rest):
        if one.student == "mallory":
            os._exit(1)
        time.sleep(0.3)
        return grade_one(zygote, one, *rest)

    grade_one = cohort.grade_one
    monkeypatch.setattr(cohort, "grade_one", lambda zygote, *rest: None if zygote is None else fall(zygote, *rest))
    for student in ("bob", "mallory"):
        (course / "handed" / student).mkdir()
        (course / "handed" / student / "02_masks.ipynb").write_text(json.dumps(papers.student()[0]))
    settings = Settings(course / "other", notebooks=course / "notebooks", jobs=2)
    found = {g.student: g.problem for g in grade(course / "handed", settings, Console(quiet=True))}
    assert found["ada"] == found["bob"] == ""
    assert "the submission is not at fault" in found["mallory"]


def test_a_submission_that_changed_is_judged_anew(course):
    notebook = papers.student(papers.ANSWER + "  # at last")[0]
    (course / "handed" / "ada" / "02_masks.ipynb").write_text(json.dumps(notebook))
    assert again(course) == set()


def test_a_journal_that_was_cut_off_counts_as_none(course):
    (entry,) = (course / "course" / ".journal").glob("*.json")
    entry.write_bytes(entry.read_bytes()[:300])
    assert again(course) == set()


def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path):
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    work = (ROOT / "solutions" / "02_masks.ipynb").read_text("utf-8")
    for i in range(10):
        (tmp_path / "handed" / f"s{i}").mkdir(parents=True)
        (tmp_path / "handed" / f"s{i}" / "02_masks.ipynb").write_text(work)
    command = [
        sys.executable,
        "-m",
        "autograder.cli",
        "grade",
        tmp_path / "handed",
        "--out",
        tmp_path / "out",
        "--json",
    ]
    first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while first.poll() is None and len(stamps(tmp_path)) < 2:
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    before = stamps(tmp_path)
    second = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    scores = {one["student"]: one["score"] for one in json.loads(second.stdout)}
    assert len(scores) == 10
    assert len(set(scores.values())) == 1 and scores["s0"] > 10
    assert len(before) < 10, "it was killed on the way"
    assert {name: stamp for name, stamp in stamps(tmp_path).items() if name in before} == before, "graded twice"


def stamps(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "out" / ".journal").glob("*.json")}
