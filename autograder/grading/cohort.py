"""A cohort: what was handed in, each judged on its own, the results journalled as they come."""

from __future__ import annotations

import hashlib
import inspect
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from autograder import algebra, ask, book, card, choices, compare, judge, lemmas, proofs, trained, weights
from autograder.exercise import Exercise, find, seed
from autograder.grading import controller, sandbox, submission
from autograder.grading.controller import Ask, Limits, Run, Zygote, play
from autograder.grading.copies import is_near_copy, reaches_behind
from autograder.grading.handed import Handed, load, load_weights
from autograder.grading.launch import Launched, side_by_side
from autograder.grading.submission import Placed, Template, Unreadable
from autograder.weights import Missing, Unfit


@dataclass(frozen=True)
class Mark:
    """The verdict on one exercise, as plain data."""

    exercise: str
    verdict: str
    score: float
    points: int
    sentence: str
    mistake: str | None = None
    card: str = ""
    fingerprint: str = ""
    detail: str = ""  # what was measured of weights


@dataclass(frozen=True)
class Shown:
    """A cell of the rebuilt notebook as it is kept: outputs are nbformat's, in JSON text."""

    role: str
    kind: str
    source: str
    grade_id: str = ""
    exercise: str = ""
    outputs: str = "[]"
    error: str = ""


@dataclass(frozen=True)
class Graded:
    """One submission, graded. `problem` is a sentence if there was nothing to grade; `repairs` are the instructor's."""

    student: str
    notebook: str
    path: str
    problem: str = ""
    marks: list[Mark] = field(default_factory=list)
    cells: list[Shown] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    key: str = ""

    @property
    def score(self) -> float:
        return sum(mark.score for mark in self.marks)

    @property
    def by_hand(self) -> int:
        """Points that a person has to give, for written answers."""
        return sum(find(cell.exercise).points for cell in self.cells if cell.role == "written" and cell.exercise)


# ---- grading one ----


def grade_one(
    zygote: Zygote | None,
    handed: Handed,
    instructor: Template | None,
    secret: bytes | None,
    device: str,
    before: Graded | None = None,
    again: frozenset[str] = frozenset(),
) -> Graded | None:
    """Grade one submission. What `before` says under the same key stands, but for the exercises in `again`.

    Without a secret the cases are the public ones. Without a zygote nothing is run: None if something would have to be.
    """
    try:
        if handed.problem or instructor is None:
            raise Unreadable(handed.problem or f"{handed.notebook} is not a notebook of this course.")
        data = load(handed)
        placed, repairs = submission.rebuild(instructor, submission.read(data))
        given = _weights(handed, placed)
        key = _key([data, *given.values()], instructor, secret, device)
        kept = {m.exercise: m for m in before.marks} if before and before.key == key else {}
        kept = {n: m for n, m in kept.items() if n not in again and m.fingerprint == fingerprint(find(n))}
        if kept and all(e.name in kept for e in submission.exercises_of(placed)):
            return before
    except Unreadable as problem:
        return Graded(handed.student, handed.notebook, handed.path, problem=str(problem))
    if zygote is None:
        return None
    return replace(_play(zygote, handed, placed, given, secret, kept), repairs=repairs, key=key)


def _weights(handed: Handed, placed: list[Placed]) -> dict[str, bytes | judge.Verdict]:
    """For each exercise of a notebook that asks for weights the bytes handed in, or why there are none."""
    found: dict[str, bytes | judge.Verdict] = {}
    for exercise in submission.exercises_of(placed):
        if exercise.weights:
            try:
                found[exercise.name] = load_weights(handed, exercise.name, exercise.weights)
            except Unfit as problem:
                verdict = "not attempted" if isinstance(problem, Missing) else "wrong"
                found[exercise.name] = judge.refuse(exercise, verdict, str(problem))
    return found


def _key(given: list[bytes | judge.Verdict], instructor: Template, secret: bytes | None, device: str) -> str:
    digest = hashlib.sha256(json.dumps(instructor.notebook, sort_keys=True).encode())
    parts = [part if isinstance(part, bytes) else part.sentence.encode() for part in given]
    for part in (*parts, secret or b"public", device.encode()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


@cache
def fingerprint(exercise: Exercise) -> str:
    """Changes when the exercise or the judging of it does."""
    parts = [inspect.getsource(module) for module in (ask, book, compare, judge, controller, submission)]
    reference = inspect.getmodule(exercise.reference) if exercise.reference else None
    judges = (algebra, lemmas, proofs) if exercise.proof else ()
    parts += [inspect.getsource(module) for module in (sys.modules[exercise.page], reference, *judges) if module]
    if exercise.weights:
        parts += [inspect.getsource(m) for m in (weights, trained, inspect.getmodule(exercise.weights.build))]
    if exercise.questions:
        parts += [inspect.getsource(choices), repr((exercise.questions, choices.key(exercise.name)))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def steps(placed: list[Placed], seeds: dict[str, int], skip: set[str]) -> list[tuple[int, Run | Ask]]:
    """What is run and asked of a rebuilt notebook, each with its place. Cells tagged `explore` are not run."""
    made: list[tuple[int, Run | Ask]] = []
    for i, cell in enumerate(placed):
        explore = cell.template is not None and "explore" in cell.template["metadata"].get("tags", [])
        if cell.role == "check":
            if cell.exercise not in skip and not find(cell.exercise).weights:
                made.append((i, Ask(find(cell.exercise), seeds[cell.exercise])))
        elif cell.role in ("given", "answer", "own") and not explore and (cell.kind == "code"):
            made.append((i, Run(cell.source, own=cell.role != "given")))
    return made


def _play(
    zygote: Zygote,
    handed: Handed,
    placed: list[Placed],
    given: dict[str, bytes | judge.Verdict],
    secret: bytes | None,
    kept: dict[str, Mark],
) -> Graded:
    seeds = {c.exercise: seed(find(c.exercise), handed.student, secret) for c in placed if c.role == "check"}
    plan = steps(placed, seeds, set(kept))
    played = play(zygote, [step for _, step in plan])
    verdicts = {plan[j][1].exercise.name: verdict for j, verdict in played.verdicts.items()}
    for way in _second_chances(placed):
        open_ = {n for n, v in verdicts.items() if v.verdict in ("error", "not attempted")}
        if not open_:
            break
        other = steps(way, seeds, set(seeds) - open_)
        for j, verdict in play(zygote, [step for _, step in other]).verdicts.items():
            if verdict.score:
                verdicts[other[j][1].exercise.name] = verdict
    for name in given.keys() - kept.keys():
        data = given[name]
        verdicts[name] = trained.judge_bytes(find(name), data, seeds[name]) if isinstance(data, bytes) else data
    marks = [kept.get(name) or _mark(verdicts[name]) for name in seeds]
    outputs = {plan[j][0]: text for j, text in played.outputs.items()}
    errors = {plan[j][0]: text for j, text in played.errors.items() if text}
    cells = [_shown(cell, outputs.get(i, "[]"), errors.get(i, "")) for i, cell in enumerate(placed)]
    answers = {c.exercise: c.source for c in placed if c.role == "answer"}
    copies = [m.exercise for m in marks if m.score and is_near_copy(find(m.exercise), answers.get(m.exercise, ""))]
    behind = [c for c in placed if c.role in ("answer", "own") and c.kind == "code" and reaches_behind(c.source)]
    copies += [c.exercise or "a cell of their own" for c in behind]
    copies = list(dict.fromkeys(copies))
    return Graded(handed.student, handed.notebook, handed.path, marks=marks, cells=cells, copies=copies)


def _second_chances(placed: list[Placed]) -> Iterator[list[Placed]]:
    """Other honest readings, where a student added cells: all asked at the end; without those cells."""
    if any(cell.role == "own" for cell in placed):
        yield [c for c in placed if c.role != "check"] + [c for c in placed if c.role == "check"]
        yield [c for c in placed if c.role != "own"]


def _mark(verdict: judge.Verdict) -> Mark:
    exercise = find(verdict.exercise)
    keep = ("exercise", "verdict", "score", "points", "sentence", "mistake")
    values = {name: getattr(verdict, name) for name in keep}
    measured = verdict.detail if exercise.weights else ""
    return Mark(**values, card=card.html(verdict, exercise), fingerprint=fingerprint(exercise), detail=measured)


def _shown(cell: Placed, outputs: str, error: str) -> Shown:
    mark = cell.template["metadata"].get("nbgrader", {}) if cell.template else {}
    return Shown(cell.role, cell.kind, cell.source, mark.get("grade_id", ""), cell.exercise, outputs, error)


# ---- grading all ----

_own: dict = {}


def _start(zygote: Zygote, lines: Any) -> None:
    """A process of the pool: a line of its own to the zygote, and its end when the controller ends."""
    sandbox.die_with_parent()
    torch.set_num_threads(1)  # as many as there are cores work side by side
    zygote.use(lines.get())
    _own["zygote"] = zygote


def _grade(*arguments: object) -> Graded:
    return grade_one(_own["zygote"], *arguments)  # type: ignore[arg-type]


def grade_all(
    handed: list[Handed],
    instructors: dict[str, Template],
    journal: Path,
    secret: bytes | None,
    device: str = "cpu",
    limits: Limits | None = None,
    unsafe: bool = False,
    jobs: int | None = None,
    again: frozenset[str] = frozenset(),
    each: Callable[[int, Graded], None] = lambda i, graded: None,
    launched: Launched | None = None,
) -> list[Graded]:
    """Grade a cohort in processes of its own; every result is in the journal before it is told to `each`.

    A run that was killed is taken up where it stopped: what the journal holds of an unchanged submission stands.
    """
    journal.mkdir(parents=True, exist_ok=True)
    done: dict[int, Graded] = {}
    tasks = {}
    for i, one in enumerate(handed):
        tasks[i] = (one, instructors.get(one.notebook), secret, device, recall(journal, one), again)
        settled = grade_one(None, *tasks[i]) if tasks[i][4] else None
        if settled:
            done[i] = settled
            each(i, settled)
    alone = False  # where a process of the pool dies at once, one at a time shows on what
    while len(done) < len(handed):
        before = len(done)
        open_ = {i: task for i, task in tasks.items() if i not in done}
        launched = launched or Launched(device, 1 if alone else min(side_by_side(jobs), len(open_)))
        with Zygote(device, limits, unsafe, launched) as zygote:
            for i, graded in _in_pool(open_, zygote):
                done[i] = graded
                _remember(journal, handed[i], graded)
                each(i, graded)
        launched = None
        stuck = len(done) == before
        if stuck and alone:
            i = next(i for i in tasks if i not in done)
            done[i] = _failed(handed[i], "its process ended")
            each(i, done[i])
        alone = stuck and not alone
    return [done[i] for i in range(len(handed))]


def _in_pool(tasks: dict[int, tuple], zygote: Zygote) -> Iterator[tuple[int, Graded]]:
    """Results as they come; ends early if a process of the pool dies."""
    context = multiprocessing.get_context("fork")
    lines = context.SimpleQueue()
    for line in range(len(zygote.launched.lines)):
        lines.put(line)
    with ProcessPoolExecutor(len(zygote.launched.lines), context, _start, (zygote, lines)) as pool:
        futures = {pool.submit(_grade, *task): i for i, task in tasks.items()}
        for future in as_completed(futures):
            i = futures[future]
            try:
                yield i, future.result()
            except BrokenProcessPool:
                return
            except Exception as error:  # a fault of ours must not cost the others; nor is it silent
                yield i, _failed(tasks[i][0], f"{type(error).__name__}: {error}")


def _failed(one: Handed, why: str) -> Graded:
    words = f"The grader itself failed here ({why}): report it, the submission is not at fault."
    return Graded(one.student, one.notebook, one.path, problem=words)


def _entry(journal: Path, one: Handed) -> Path:
    digest = hashlib.sha256(json.dumps([one.student, one.notebook]).encode()).hexdigest()
    return journal / f"{digest[:32]}.json"


def _remember(journal: Path, one: Handed, graded: Graded) -> None:
    path = _entry(journal, one)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(graded)), "utf-8")
    part.replace(path)


def recall(journal: Path, one: Handed) -> Graded | None:
    """What the journal holds of a submission; what cannot be read counts as nothing."""
    try:
        found = json.loads(_entry(journal, one).read_text("utf-8"))
        found["marks"] = [Mark(**mark) for mark in found["marks"]]
        found["cells"] = [Shown(**cell) for cell in found["cells"]]
        return Graded(**found)
    except (OSError, ValueError, TypeError, KeyError):
        return None
