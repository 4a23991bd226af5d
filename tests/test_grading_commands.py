"""The commands as people use them: sentences, files and exit codes."""

import io
import json
import re
import zipfile

import papers
import pytest
import torch

from autograder import bundle, cli, demo
from autograder.ask import ask
from autograder.exercise import cases, find, seed
from autograder.grading import grade
from autograder.grading.cohort import Graded
from autograder.judge import judge


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with one notebook of the course's, in which the small course of `papers` was handed out."""
    (tmp_path / "released").mkdir()
    (tmp_path / "released" / "02_masks.ipynb").write_text(json.dumps(papers.released()))
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "02_masks.ipynb").write_text(json.dumps(papers.student()[0]))
    monkeypatch.setattr(grade, "released", lambda: tmp_path / "released")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def workbook(capsys, *arguments):
    """Exit code, what was said, and what was refused."""
    code = cli.main([str(a) for a in arguments])
    said, refused = capsys.readouterr()
    assert "Traceback" not in said + refused
    return code, said, refused


# ---- lab ----


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """What JupyterLab would have been started with, by an ordinary user in a workbook's folder."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_start_here.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    started = []
    monkeypatch.setattr("subprocess.call", lambda command, **_: started.append(command) or 0)
    return started


def test_lab_opens_the_first_notebook_and_terminals_in_the_folder_of_the_course(opened, tmp_path, capsys):
    assert workbook(capsys, "lab", "--no-browser", "--port", "8889")[0] == 0
    assert {"notebooks/00_start_here.ipynb", f"--ServerApp.root_dir={tmp_path}"} <= set(opened[0])
    assert opened[0][-3:] == ["--no-browser", "--port", "8889"]


def test_lab_as_root_says_how_to_insist(opened, capsys, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    code, _, refused = workbook(capsys, "lab")
    assert code == 2
    assert "workbook lab --allow-root" in refused
    assert not opened
    assert workbook(capsys, "lab", "--allow-root")[0] == 0
    assert len(opened) == 1


# ---- submit ----


def test_submit_packs_and_says_what_is_not_attempted(here, capsys):
    code, said, _ = workbook(capsys, "submit")
    assert code == 0
    assert "masks.padding, masks.why" in said
    assert "masks.causal" not in said
    assert zipfile.ZipFile(here / "submission.zip").namelist() == ["02_masks.ipynb"]


def test_submit_knows_answers_in_a_clone_too(here, capsys, monkeypatch):
    monkeypatch.setattr(grade, "released", lambda: here / "notebooks")  # handed out is what is worked in
    assert "Not attempted in notebooks/02_masks.ipynb: masks.padding, masks.why." in workbook(capsys, "submit")[1]


@pytest.mark.parametrize(
    ("answer", "blank"),
    [
        ("def f(x):\n    raise NotImplementedError", True),
        ("class F:\n    def __init__(self):\n        super().__init__()\n        raise NotImplementedError", True),
        ('def f(x):\n    """Says."""\n    return x\n    raise NotImplementedError', False),
        ("def f(x):\n    retrun x", False),
        ("1. Why?\n\n*Your answer here.*", True),
        ("1. Why?\n\nBecause rows are queries.", False),
    ],
)
def test_an_answer_is_blank_if_a_stub_is_all_there_is(answer, blank):
    assert bundle._blank(answer) == blank


@pytest.mark.parametrize("line", [["foo"], ["grade"], ["check", "--bad"], ["grade", "x", "--jobs", "many"]])
def test_a_command_that_is_no_command_gets_a_sentence(capsys, line):
    with pytest.raises(SystemExit) as stopped:
        cli.main(line)
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert said.count("\n") == 1
    assert "--help" in said


@pytest.mark.parametrize("name", ["tpu", "CUDA", "cuda:x", "meta", "xpu", ""])
@pytest.mark.parametrize(
    "line", [["check"], ["grade", "in"], ["demo"], ["judge", "masks.causal", "x.py"]], ids=lambda x: x[0]
)
def test_an_unknown_device_is_refused_and_what_is_there_is_named(here, capsys, line, name):
    code, said, refused = workbook(capsys, *line, "--device", name)
    assert (code, said) == (2, "")
    assert repr(name) in refused and "cpu" in refused
    assert refused.count("\n") == 1


def test_submit_replaces_its_own_zip_and_nothing_else(here, capsys):
    (here / "thesis.txt").write_text("years of work")
    assert workbook(capsys, "submit")[0] == workbook(capsys, "submit")[0] == 0
    code, _, refused = workbook(capsys, "submit", "--out", "thesis.txt")
    assert code == 2
    assert "--out" in refused
    assert (here / "thesis.txt").read_text() == "years of work"


def test_submit_packs_no_broken_notebook(here, capsys):
    (here / "notebooks" / "02_masks.ipynb").write_bytes(json.dumps(papers.released()).encode()[:500])
    code, _, refused = workbook(capsys, "submit")
    assert code == 2
    assert "breaks off" in refused
    assert not (here / "submission.zip").exists()


@pytest.mark.parametrize("name", ["submit", "check"])
def test_without_notebooks_there_is_a_sentence(here, capsys, name):
    (here / "notebooks" / "02_masks.ipynb").unlink()
    code, _, refused = workbook(capsys, name)
    assert code == 2
    assert "notebook" in refused


# ---- check ----


def test_check_says_what_each_answer_is_worth(here, capsys):
    code, said, _ = workbook(capsys, "check", "--unsafe", "--json")
    assert code == 1
    (found,) = json.loads(said)
    assert {m["exercise"]: m["score"] for m in found["marks"]} == {"masks.causal": 2.0, "masks.padding": 0.0}


def test_check_says_how_many_points_a_person_gives(here, capsys):
    said = workbook(capsys, "check", "--unsafe")[1]
    assert "2 of 3 points" in said
    assert f"{find('masks.why').points} points are marked by your instructor" in said


def test_check_of_a_broken_file_is_no_success(here, capsys):
    (here / "notebooks" / "02_masks.ipynb").write_text("")
    code, said, _ = workbook(capsys, "check", "--unsafe")
    assert code == 1
    assert "empty" in said


# ---- grade, release, demo ----


@pytest.mark.parametrize("what", ["nowhere", "empty", "damaged.zip"])
def test_grade_refuses_in_a_sentence(here, capsys, what):
    (here / "empty").mkdir()
    (here / "damaged.zip").write_bytes(b"PK\x03\x04")
    code, _, refused = workbook(capsys, "grade", what)
    assert code == 2
    assert what in refused
    assert refused.strip().endswith(".")


def test_a_whole_cohort_in_a_zip_is_collected(here):
    from autograder.grading.handed import collect

    copies = grade.instructors(here / "released")
    data = json.dumps(papers.student()[0])
    with zipfile.ZipFile(here / "all.zip", "w") as archive:
        for name in ("class/ann/02_masks.ipynb", "class/bob/02 (2).ipynb", "class/bob/__MACOSX/02_masks.ipynb"):
            archive.writestr(name, data)
    assert [(h.student, h.notebook, h.problem) for h in collect(here / "all.zip", copies)] == [
        ("ann", "02_masks", ""),
        ("bob", "02_masks", ""),
    ]


def test_nothing_in_a_zip_is_lost_without_a_word(here):
    from autograder.grading.handed import collect

    with zipfile.ZipFile(here / "all.zip", "w") as archive:
        archive.writestr("02_masks.ipynb", json.dumps(papers.released()))
        archive.writestr("../02_masks.ipynb", json.dumps(papers.released()))
    found = collect(here / "all.zip", grade.instructors(here / "released"))
    assert found
    assert all("no student's folder" in h.problem or "second file" in h.problem for h in found)


def test_a_zip_that_unpacks_to_too_much_is_not_read(here, monkeypatch):
    from autograder.grading import handed

    copies = grade.instructors(here / "released")
    (here / "in").mkdir()
    for path, prefix in ((here / "in" / "eve.zip", ""), (here / "all.zip", "eve/")):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for i in range(30):
                archive.writestr(f"{prefix}{'x' * i}.ipynb", b" " * 100_000)
            if prefix:
                archive.writestr("ann/02_masks.ipynb", json.dumps(papers.student()[0]))
    monkeypatch.setattr(handed, "MAX_UNPACKED", 2_000_000)
    (one,), two = handed.collect(here / "in", copies), handed.collect(here / "all.zip", copies)
    assert "more than can be read" in one.problem
    assert {h.student: h.problem for h in two} == {"eve": one.problem.replace("eve.zip", "all.zip"), "ann": ""}


def test_of_two_files_for_one_notebook_one_is_graded_and_both_are_named(here):
    from autograder.grading.handed import collect

    for name in ("02_masks.ipynb", "02_masks (1).ipynb"):
        (here / "in" / "ann").mkdir(parents=True, exist_ok=True)
        (here / "in" / "ann" / name).write_text(json.dumps(papers.released()))
    good, other = sorted(collect(here / "in", grade.instructors(here / "released")), key=lambda h: h.problem)
    assert good.problem == ""
    assert "02_masks (1).ipynb" in good.path + other.problem
    assert "second file" in other.problem


def test_a_release_holds_no_solutions_and_overwrites_nothing(tmp_path):
    out = bundle.release(tmp_path / "bundle")
    held = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {"notebooks/02_masks.ipynb", "helpers/masks.py", "autograder/cli.py", "Makefile", "LICENSE"} <= held
    assert not [name for name in held if name.startswith(("solutions", "tests")) or "secret" in name]
    for name in held:
        if name.endswith(".ipynb"):
            assert "BEGIN SOLUTION" not in (out / name).read_text("utf-8")
    with pytest.raises(bundle.Unfit):
        bundle.release(out)


def test_what_a_bundle_says_can_be_done_can_be_done_in_it(tmp_path):
    out = bundle.release(tmp_path / "bundle")
    text, make = (out / "README.md").read_text("utf-8"), (out / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"(?m)^([a-z]+):", make))
    assert targets == {"help", "setup", "lab", "clean"}
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", text + (out / ".ci" / "setup").read_text(), re.M)) <= targets
    assert set(re.findall(r"^workbook ([a-z]+)", text, re.M)) == {"lab", "check", "submit"}
    folders, files = re.findall(r"^\| `(\w+)/`", text, re.M), re.findall(r"\]\(([A-Z-]+)\)", text)
    assert folders
    assert all((out / name).exists() for name in folders + files)
    assert "<!--" not in text
    assert "tests" not in text
    assert "solutions" not in text


@pytest.mark.parametrize(
    ("exercise", "name", "source"), [(e, *row) for rows in demo.WRONG.values() for e, row in rows.items() if row[0]]
)
def test_the_demos_wrong_answers_are_recognised(exercise, name, source):
    page, made = find(exercise), {"torch": torch}
    exec(source, made)
    asked = cases(page, seed(page))
    assert judge(page, asked, [ask(made[page.last], page.ask, case) for case in asked]).mistake == name


def test_the_demo_is_a_cohort_with_every_kind_of_trouble():
    assert len(demo.WRONG) >= 12
    assert len(demo.BROKEN) == 3


def test_an_unreadable_submission_has_a_place_for_its_page(tmp_path):
    path = grade.feedback_path(tmp_path, Graded("ann", "../../x (1).zip", "", problem="No."))
    assert path.resolve().is_relative_to(tmp_path / "feedback" / "ann")


def test_no_name_of_a_file_or_folder_stops_the_others(here):
    from autograder.grading.handed import collect

    data = json.dumps(papers.student()[0])
    with zipfile.ZipFile(here / "all.zip", "w") as archive:
        for name in ("ann/02_masks.ipynb", "s" * 300 + "/02_masks.ipynb", "bob/" + "é" * 3_000 + ".ipynb"):
            archive.writestr(name, data if name.startswith("ann") else "{}")
    (here / "in" / "eve").mkdir(parents=True)
    (here / "in" / "eve" / ("x" * 249 + ".ipynb")).write_text("{}")
    (here / "in" / "eve" / b"\xff.ipynb".decode("utf-8", "surrogateescape")).write_text("{}")
    found = [h for name in ("all.zip", "in") for h in collect(here / name, grade.instructors(here / "released"))]
    assert [h.student for h in found if not h.problem] == ["ann"]
    assert len(found) == 5
    for one in found:
        path = grade.feedback_path(here / "out", Graded(one.student, one.notebook, one.path))
        path.parent.mkdir(parents=True)
        path.write_text(one.student + one.notebook + one.problem, "utf-8")


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_zip_that_is_damaged_inside_gets_a_sentence(here, kind):
    from autograder.grading.handed import collect

    (here / "in").mkdir()
    with zipfile.ZipFile(here / "in" / "ann.zip", "w", kind) as archive:
        archive.writestr("mine.ipynb", "".join(map(str, range(2_000))))
    data = bytearray((here / "in" / "ann.zip").read_bytes())
    data[60:160] = bytes(b ^ 0xFF for b in data[60:160])
    (here / "in" / "ann.zip").write_bytes(data)
    assert "cannot be read" in collect(here / "in", grade.instructors(here / "released"))[0].problem


def test_brackets_of_a_students_are_no_markup_of_the_table():
    from rich.console import Console

    console = Console(width=200, record=True, file=io.StringIO())
    console.print(grade.table([Graded("[b]ann", "x", "", problem="It holds [/red] and [link=x]this[/link].")]))
    assert "[b]ann" in (said := console.export_text())
    assert "[/red] and [link=x]this[/link]" in said
