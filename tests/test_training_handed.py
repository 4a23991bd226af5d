"""Weights that are handed over: hostile bytes get a sentence, good ones their points, wherever they lie.

The exercise is a small one made here: a line y = 2x, to be learned better than by a constant.
"""

import copy
import json
import os
import shutil
import struct
import zipfile
from dataclasses import asdict, replace

import papers
import pytest
import torch
from rich.console import Console
from safetensors.torch import save, save_file
from torch import nn

from autograder import bundle, check, cli, exercise, notebooks, trained
from autograder.exercise import Exercise, all_exercises
from autograder.exercises import finetune_compare
from autograder.grading import cohort as pool
from autograder.grading import grade, nbgrader_plugin, sandbox
from autograder.grading.controller import Limits
from autograder.grading.handed import collect
from autograder.grading.submission import template
from autograder.refusal import Refusal
from autograder.weights import MAX_HEADER, Slip, Weights
from helpers.checkpoints import hand_in
from helpers.experiments import compare, live
from helpers.text import reviews

FILE = "start.line.safetensors"
GOOD = {"weight": torch.tensor([[2.0]]), "bias": torch.zeros(1)}
POOR = {"weight": torch.tensor([[-9.0]]), "bias": torch.zeros(1)}


def build():
    return nn.Linear(1, 1)


def score(model, x):
    return float((model(x) - 2 * x).square().mean())


LINE = Exercise(
    "start.line",
    2,
    5,
    1,
    "Learn a line.",
    kind="training",
    why="A line it is.",
    page=__name__,
    weights=Weights(
        file=FILE,
        build=build,
        data=lambda rng: (rng.normal(50, 1).float(),),
        score=score,
        baseline=lambda x: float((2 * x).square().mean()),
        enough=lambda found: found.yours < found.baseline,
        told=lambda found: f"Yours misses by {found.yours:.2f}, the constant by {found.baseline:.2f}.",
        advice="Train for longer.",
        slips=(
            Slip("turned round", lambda found: found.model.weight.item() == -2, lambda _: "It falls where y rises."),
        ),
    ),
)


@pytest.fixture(autouse=True)
def registered(monkeypatch, tmp_path):
    all_exercises()
    monkeypatch.setitem(exercise._registry, LINE.name, LINE)
    monkeypatch.setenv("WORKBOOK_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.chdir(tmp_path)


def judged(data):
    return trained.judge_bytes(LINE, data, 0)


# ---- verdicts ----


def test_good_weights_score_and_both_numbers_are_told():
    found = judged(save(GOOD))
    assert (found.verdict, found.score, found.sentence) == ("right", 2, "A line it is.")
    assert "misses by 0.00" in found.detail


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_half_precision_will_do(dtype):
    assert judged(save({name: x.to(dtype) for name, x in GOOD.items()})).verdict == "right"


def test_weights_below_the_baseline_get_both_numbers_and_what_to_do():
    found = judged(save(POOR))
    assert (found.verdict, found.score) == ("wrong", 0)
    assert "the constant by" in found.sentence
    assert found.sentence.endswith("Train for longer.")


def test_a_slip_has_its_name_and_sentence():
    found = judged(save(GOOD | {"weight": torch.tensor([[-2.0]])}))
    assert (found.verdict, found.mistake, found.sentence) == ("wrong", "turned round", "It falls where y rises.")


def test_answers_that_overflow_are_told():
    found = judged(save(GOOD | {"weight": torch.tensor([[3e38]])}))
    assert found.verdict == "wrong"
    assert "not finite" in found.sentence


def test_answers_that_are_no_numbers_are_told_even_where_the_score_is_one():
    places = replace(LINE, weights=replace(LINE.weights, score=lambda model, x: float(model(x).argmax())))
    found = trained.judge_bytes(places, save(GOOD | {"weight": torch.tensor([[3e38]])}), 0)
    assert found.verdict == "wrong"
    assert "not finite" in found.sentence


@pytest.mark.parametrize("name", ["bert.pretrain", "bert.left_or_both"])
def test_a_model_with_two_heads_is_told_as_well(name):
    asked = exercise.find(name)
    state = {key: x.clone() for key, x in asked.weights.build().state_dict().items()}
    found = trained.judge_bytes(asked, save(state | {"transform.weight": 3e38 * torch.ones(96, 96)}), 0)
    assert found.verdict == "wrong"
    assert "not finite" in found.sentence


def test_it_is_measured_in_evaluation_mode_without_gradients_on_one_thread_and_without_denormal_numbers(monkeypatch):
    seen = {}

    def watching(model, x):
        tiny = torch.full((8,), 1e-30) * 1e-10
        seen.update(mode=model.training, grad=torch.is_grad_enabled(), threads=torch.get_num_threads(), tiny=tiny)
        return score(model, x)

    threads = torch.get_num_threads()
    monkeypatch.setitem(vars(LINE.weights), "score", watching)
    assert judged(save(GOOD)).verdict == "right"
    assert (seen["mode"], seen["grad"], seen["threads"]) == (False, False, 1)
    assert not seen["tiny"].any()
    assert (torch.full((8,), 1e-30) * 1e-10).any(), "as it was before"
    assert torch.get_num_threads() == threads


# ---- bytes ----


def raw(header, numbers=b"\0" * 8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + numbers


def entry(shape=(1, 1), start=0, end=4, dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


WEIGHT, BIAS = entry(), entry((1,), 4, 8)
TWICE = b'{"weight": %s, "weight": %s, "bias": %s}' % tuple(json.dumps(x).encode() for x in (WEIGHT, WEIGHT, BIAS))
FAULTS = {
    "empty": (b"", "is empty"),
    "no header": (b"\1", "not a safetensors file"),
    "a web page": (b"<!DOCTYPE html><html></html>", "not a safetensors file"),
    "a notebook": (b'{"cells": []}', "but text"),
    "NaN": (save(GOOD | {"weight": torch.tensor([[torch.nan]])}), "1 of the 1 numbers of `weight`"),
    "infinite": (save(GOOD | {"bias": torch.tensor([-torch.inf])}), "of `bias`"),
    "another shape": (save(GOOD | {"weight": torch.zeros(3, 1)}), "has the shape 3×1 where 1×1 is asked for"),
    "a name missing": (save({"weight": GOOD["weight"]}), "`bias` is missing"),
    "a name too many": (save(GOOD | {"more": torch.zeros(1)}), "`more` is not of this model"),
    "wrapped names": (save({f"module.{n}": x for n, x in GOOD.items()}), "and 1 more"),
    "double precision": (save({n: x.double() for n, x in GOOD.items()}), "of the type F64"),
    "whole numbers": (save({n: x.long() for n, x in GOOD.items()}), "of the type I64"),
    "cut off": (save(GOOD)[:-3], "breaks off before its end"),
    "cut off in the header": (save(GOOD)[:30], "breaks off before its numbers"),
    "bytes behind the end": (save(GOOD) + b"more", "bytes that belong to no tensor"),
    "one inside another": (raw({"weight": WEIGHT, "bias": entry((1,), 0, 4)}), "lies about where"),
    "a gap": (raw({"weight": WEIGHT, "bias": entry((1,), 6, 10)}, b"\0" * 10), "lies about where"),
    "far away": (raw({"weight": WEIGHT, "bias": entry((1,), 4, 2**60)}), "does not say where `bias` lies"),
    "before the start": (raw({"weight": entry(start=-4, end=0), "bias": BIAS}), "does not say where `weight`"),
    "turned round": (raw({"weight": entry(start=4, end=0), "bias": BIAS}), "does not say where `weight`"),
    "no place": (raw({"weight": {"dtype": "F32"}, "bias": BIAS}), "does not say where `weight`"),
    "no entry": (raw({"weight": [], "bias": BIAS}), "does not say where `weight`"),
    "true and false": (raw({"weight": entry(shape=(True, True)), "bias": BIAS}), "does not say where `weight`"),
    "a name twice": (raw(TWICE), "`weight` twice"),
    "thousands of names, one twice": (
        raw(b"{%s}" % b",".join(b'"%x":0' % (i % 13_000) for i in range(13_001))),
        "twice",
    ),
    "a list": (raw(b'{"a": [[[[', b""), "is damaged"),
    "nested deeply": (raw(b'{"a":' * 20_000), "is damaged"),
    "a long number": (raw(b'{"a": ' + b"9" * 9_000 + b"}"), "is damaged"),
    "a header too large": (struct.pack("<Q", 100 * 2**20) + b"{" + b" " * 1000, "104,857,600 bytes"),
    "no text": (raw(b"{\xff\xfe}"), "is damaged"),
    "UTF-16": (raw(json.dumps({"weight": WEIGHT, "bias": BIAS}).encode("utf-16-le")), "is damaged"),
    "an odd name": (raw({"\ud800`\u202e": WEIGHT, "weight": WEIGHT, "bias": BIAS}), "is not of this model"),
}


@pytest.mark.parametrize(("data", "says"), FAULTS.values(), ids=FAULTS)
def test_each_fault_of_a_file_has_its_sentence(data, says):
    found = judged(data)
    assert (found.verdict, found.score) == ("wrong", 0)
    assert says in found.sentence
    assert FILE in found.sentence
    assert found.sentence.endswith((".", "again."))
    found.sentence.encode()


class Boom:
    def __reduce__(self):
        return open, ("ran", "w")


@pytest.mark.parametrize("old", [True, False])
def test_a_pickle_is_never_opened(tmp_path, old):
    torch.save({"weight": Boom()}, tmp_path / FILE, _use_new_zipfile_serialization=not old)
    found = check("start.line", FILE).verdict
    assert (found.verdict, found.score) == ("wrong", 0)
    assert "not opened" in found.sentence
    assert "hand_in(model" in found.sentence
    assert not (tmp_path / "ran").exists()


# ---- files ----


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(2 * 2**30)


PLACES = {
    "two gigabytes": (sparse, "larger than the"),
    "a folder": (lambda path: path.mkdir(), "folder"),
    "a pipe": (os.mkfifo, "pipe"),
    "a link": (lambda path: path.symlink_to("/etc/passwd"), "is a link"),
    "a link to good weights": (lambda path: (save_file(GOOD, "good"), path.symlink_to("good")), "is a link"),
}


@pytest.mark.parametrize(("make", "says"), PLACES.values(), ids=PLACES)
def test_what_is_no_file_of_its_size_is_not_read(tmp_path, make, says):
    make(tmp_path / FILE)
    found = check("start.line", FILE).verdict
    assert (found.verdict, found.score) == ("wrong", 0)
    assert says in found.sentence


def test_no_file_is_not_attempted():
    found = check("start.line", FILE).verdict
    assert (found.verdict, found.score) == ("not attempted", 0)
    assert FILE in found.sentence
    assert "hand_in" in found.sentence


@pytest.mark.parametrize("answer", [None, build(), 5, GOOD])
def test_who_gives_something_else_than_a_name_is_told_what_to_give(answer):
    assert FILE in check("start.line", answer).verdict.sentence


def test_the_size_allowed_is_that_of_the_weights_and_a_header():
    assert LINE.weights.max_bytes == 8 + MAX_HEADER + 4 * 2


# ---- handing in ----


def test_what_hand_in_writes_is_taken(capsys):
    model = build()
    model.load_state_dict(GOOD)
    assert hand_in(lambda: model, "start.line").name == FILE
    assert check("start.line", FILE).verdict.score == 2
    assert FILE in capsys.readouterr().out


def test_a_training_not_written_yet_hands_in_nothing(tmp_path, capsys):
    def train():
        raise NotImplementedError

    assert hand_in(train, "start.line") is None
    assert "yet" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.safetensors*"))


def test_who_forgets_to_return_the_model_is_told():
    with pytest.raises(ValueError, match="return its model"):
        hand_in(lambda: None, "start.line")


# ---- grading ----

NAME = "00_line"


def notebook():
    made = papers.released()
    made["cells"] = [
        papers.cell("markdown", "# A line", "00_line-1"),
        papers.cell("code", "def line():\n    raise NotImplementedError", "start-line", ["explore"], solution=True),
        papers.cell("code", f'check("start.line", "{FILE}")', "start-line-check", grade=True, points=2),
        papers.cell("code", "def double(x):\n    raise NotImplementedError", "start-double", solution=True),
        papers.cell("code", 'check("start.double", double)', "start-double-check", grade=True, points=1),
    ]
    return made


def answered():
    made = copy.deepcopy(notebook())
    made["cells"][1]["source"] = "def line():\n    raise SystemExit('a training that grading does not run')\nline()"
    made["cells"][3]["source"] = "def double(x):\n    return x + x"
    return made


@pytest.fixture
def course(tmp_path):
    (tmp_path / "notebooks").mkdir()
    path = tmp_path / "notebooks" / f"{NAME}.ipynb"
    path.write_text(json.dumps(notebook()))
    return {NAME: template(path)}


def hand(place, state=GOOD, file=FILE):
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{NAME}.ipynb").write_text(json.dumps(answered()))
    if state:
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        save_file(state, place / file)


def packed(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.fixture
def cohort(tmp_path):
    """Students who hand in good weights in each way that there is, and some who do not."""
    root = tmp_path / "handed"
    hand(root / "beside")
    hand(root / "in-a-folder", file=f"model/{FILE}")
    hand(root / "second-download", file=FILE.replace(".safetensors", " (1).safetensors"))
    hand(root / "poor", POOR)
    hand(root / "none", None)
    hand(root / "piped", None)
    os.mkfifo(root / "piped" / FILE)
    hand(root / "linked", None)
    (root / "linked" / FILE).symlink_to(root / "beside" / FILE)
    text = json.dumps(answered())
    packed(root / "zipped.zip", {f"{NAME}.ipynb": text, FILE: save(GOOD)})
    packed(root / "zipped-twice" / "a.zip", {f"work/{NAME}.ipynb": text, f"work\\{FILE}": save(GOOD)})
    packed(root / "bomb.zip", {f"{NAME}.ipynb": text, FILE: b"\0" * 50_000_000})
    return root


SCORES = {
    "beside": 2,
    "in-a-folder": 2,
    "second-download": 2,
    "zipped": 2,
    "zipped-twice": 2,
    **dict.fromkeys(("poor", "none", "piped", "linked", "bomb"), 0),
}
SAID = {"none": "no `start.line", "piped": "pipe", "linked": "link", "bomb": "larger than", "poor": "the constant by"}


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Where autograd was used, as other tests of this process may have, it does not work in a fork."""

    def one_by_one(open_, zygote):
        zygote.use(0)
        monkeypatch.setitem(pool._own, "zygote", zygote)
        yield from ((i, pool._grade(*task)) for i, task in open_.items())

    monkeypatch.setattr(pool, "_in_pool", one_by_one)


def graded(root, tmp_path):
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    settings = grade.Settings(tmp_path / "course", notebooks=tmp_path / "notebooks", limits=Limits(cell_seconds=5))
    return {one.student: one for one in grade.grade(root, settings, Console(quiet=True))}


def test_weights_are_found_wherever_a_student_put_them_and_cost_nothing_else(cohort, course, tmp_path):
    found = graded(cohort, tmp_path)
    assert {student: one.marks[0].score for student, one in found.items()} == SCORES
    assert all(one.marks[1].score == 1 for one in found.values()), "the rest of the notebook is graded as ever"
    for student, says in SAID.items():
        assert says in found[student].marks[0].sentence
    assert (tmp_path / "course" / "submitted" / "zipped" / NAME / FILE).read_bytes() == save(GOOD)
    page = (tmp_path / "course" / "feedback" / "beside" / NAME / f"{NAME}.html").read_text("utf-8")
    assert "A line it is." in page


def test_a_zip_of_the_whole_class_holds_weights_too(course, tmp_path):
    text = json.dumps(answered())
    members = {f"class/{who}/{NAME}.ipynb": text for who in ("ada", "bob")} | {f"class/ada/m/{FILE}": save(GOOD)}
    packed(tmp_path / "class.zip", members)
    found = graded(tmp_path / "class.zip", tmp_path)
    assert {student: one.marks[0].score for student, one in found.items()} == {"ada": 2, "bob": 0}


def test_other_weights_are_judged_anew_and_the_same_ones_are_not(course, tmp_path, monkeypatch):
    root = tmp_path / "handed"
    hand(root / "ada", POOR)
    assert graded(root, tmp_path)["ada"].score == 1
    hand(root / "ada", GOOD)
    assert graded(root, tmp_path)["ada"].score == 3
    monkeypatch.setattr(trained, "judge_bytes", lambda *a: pytest.fail("judged again"))
    assert graded(root, tmp_path)["ada"].score == 3


def test_without_its_data_grading_does_not_begin(course, tmp_path, monkeypatch):
    def gone(rng):
        raise FileNotFoundError("The reviews are not here: install them.")

    hand(tmp_path / "handed" / "ada")
    monkeypatch.setitem(vars(LINE.weights), "data", gone)
    with pytest.raises(Exception, match="The reviews are not here"):
        graded(tmp_path / "handed", tmp_path)
    assert not (tmp_path / "course" / "gradebook.db").exists()
    hand(tmp_path)
    assert check("start.line", FILE).verdict.sentence == "The reviews are not here: install them."


def test_a_class_whose_notebooks_ask_for_no_weights_may_hold_such_files(tmp_path, course):
    hand(tmp_path / "handed" / "ada", file="another.safetensors")
    (one,) = collect(tmp_path / "handed", course)
    assert one.weights == ()


# ---- commands ----


@pytest.fixture
def here(course, tmp_path, monkeypatch):
    monkeypatch.setattr(grade, "released", lambda: tmp_path / "notebooks")
    hand(tmp_path / "work")
    return tmp_path / "work"


def workbook(capsys, *arguments):
    code = cli.main([str(a) for a in arguments])
    said, refused = capsys.readouterr()
    assert "Traceback" not in said + refused
    return code, said, refused


def test_check_reads_the_weights_beside_the_notebook(here, capsys):
    code, said, _ = workbook(capsys, "check", here / f"{NAME}.ipynb")
    assert (code, "3 of 3 points" in said) == (0, True)
    assert said.count("Yours misses by 0.00, the constant by") == 1, "what was measured is told, right or wrong"
    save_file(POOR, here / FILE)
    code, said, _ = workbook(capsys, "check", here / f"{NAME}.ipynb")
    assert (code, said.count("the constant by")) == (1, 1)
    (here / FILE).unlink()
    code, said, _ = workbook(capsys, "check", here / f"{NAME}.ipynb")
    assert (code, "1 of 3 points" in said) == (1, True)


def test_judge_takes_weights(here, capsys):
    code, said, _ = workbook(capsys, "judge", "start.line", here / FILE)
    assert code == 0
    assert said.startswith(f"{here / FILE}: right, 2 of 2. A line it is. Yours misses by 0.00")
    shutil.copy(here / FILE, here / "start.line__mine.safetensors")
    assert workbook(capsys, "judge", here / "start.line__mine.safetensors")[0] == 0


def test_judge_given_code_where_weights_are_due_says_what_to_name(here, capsys):
    (here / "mine.py").write_text("def line(): ...")
    code, _, refused = workbook(capsys, "judge", "start.line", here / "mine.py")
    assert (code, refused.count("\n")) == (2, 1)
    assert "mine.py is code, and start.line is judged by weights" in refused
    assert "hand_in(model" in refused


def test_submit_packs_the_weights_and_misses_them(here, capsys, tmp_path):
    code, said, _ = workbook(capsys, "submit", here / f"{NAME}.ipynb")
    assert code == 0
    assert "Not attempted" not in said
    assert FILE in said
    assert set(zipfile.ZipFile("submission.zip").namelist()) == {f"{NAME}.ipynb", FILE}
    (here / FILE).unlink()
    assert "Not attempted in" in workbook(capsys, "submit", here / f"{NAME}.ipynb")[1]


def test_submit_refuses_weights_that_no_grader_would_take(here, capsys):
    (here / FILE).unlink()
    sparse(here / FILE)
    code, _, refused = workbook(capsys, "submit", here / f"{NAME}.ipynb")
    assert (code, "larger than" in refused) == (2, True)
    (here / FILE).write_bytes(save(GOOD)[:-1])
    code, _, refused = workbook(capsys, "submit", here / f"{NAME}.ipynb")
    assert (code, "breaks off before its end" in refused) == (2, True)


def test_a_release_holds_nobodys_weights(tmp_path, monkeypatch):
    hand(tmp_path / "notebooks")
    monkeypatch.setattr(bundle, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks, "build", lambda *a, **k: 0)
    out = bundle.release(tmp_path / "out")
    assert (out / "autograder" / "released" / f"{NAME}.ipynb").exists()
    assert not list(out.rglob("*.safetensors"))


def test_nbgrader_with_this_judge_finds_them_where_it_puts_a_submission(here, tmp_path):
    import nbformat

    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    names = {"notebook": NAME, "student": "ada", "db_url": f"sqlite:///{tmp_path}/gradebook.db"}
    handed = nbformat.from_dict(answered())
    resources = {"nbgrader": names, "metadata": {"path": str(here)}}
    made, _ = nbgrader_plugin.Judge().preprocess(handed, resources)
    shown = {cell.id: cell.outputs[0]["data"]["text/plain"] for cell in made.cells if cell.id.endswith("-check")}
    assert shown == {"start-line-check": "2.0", "start-double-check": "1.0"}


# ---- the record that finetune.compare is measured against ----


def test_the_recorded_runs_are_those_of_these_settings_and_leave_chance_no_say():
    record, best = compare.recorded(), max(compare.recorded()["accuracy"]["scratch"])
    settings = json.loads(json.dumps(asdict(compare.settings)))
    assert (record["settings"], record["data"]) == (settings, reviews.checksum()), f"run {record['command']} again"
    assert min(record["accuracy"]["pretrained"]) > best + finetune_compare.MARGIN
    assert len(record["accuracy"]["scratch"]) == len(settings["seeds"]) >= 5


def test_too_little_text_to_measure_on_is_a_sentence(monkeypatch):
    few = replace(live.texts(), test=torch.arange(100))
    monkeypatch.setattr(live, "texts", lambda: few)
    with pytest.raises(Refusal, match=r"only 100 tokens are held out, .* name its whole CSV"):
        trained.inputs_for(exercise.find("lm.pretrain").weights, 0)
