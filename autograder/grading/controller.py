"""The controller: plays a student's notebook in a worker and judges the answers. It runs no code of a student's."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder import book
from autograder.ask import LEFT, Answer, Case
from autograder.exercise import Exercise, cases
from autograder.grading import sandbox, wire
from autograder.grading.launch import Launched, Unable
from autograder.judge import Verdict, judge, not_your_own, refuse

MAX_SOURCE = 2**20
MAX_SHOWN = 20 * 2**20  # characters of a notebook's outputs
LEFT_OUT = json.dumps([{"output_type": "stream", "text": "[left out: the notebook shows more than can be kept]"}])
STATUSES = ("value", "not attempted", "error", "names", "book", "missing")


@dataclass(frozen=True)
class Limits:
    """What one worker may use. Seconds are wall clock except `cpu_seconds`; memory is on top of torch's own."""

    cell_seconds: float = 30.0
    ask_seconds: float = 20.0
    notebook_seconds: float = 240.0
    cpu_seconds: int = 240
    memory_bytes: int = 2 * 2**30
    file_bytes: int = 64 * 2**20
    disk_bytes: int = 128 * 2**20
    processes: int = 64


class Zygote:
    """A running zygote; use as a context manager. `device` is where workers answer.

    `unsafe` leaves out the cage that keeps workers from files, network and other processes; without it, a system that
    has no namespaces raises Unable with the line that allows them. `launched` is one that was started already.
    """

    def __init__(
        self, device: str = "cpu", limits: Limits | None = None, unsafe: bool = False, launched: Launched | None = None
    ) -> None:
        self.device, self.limits, self.unsafe = device, limits or Limits(), unsafe
        self.launched, self.socket = launched, None

    def __enter__(self) -> Zygote:
        self.launched = self.launched or Launched(self.device)
        self.use(0)
        try:
            ready = wire.receive(self.socket, 180)
        except (EOFError, OSError, TimeoutError):
            why = self.launched.last_words()
            self.__exit__()
            raise Unable(f"The process that answers could not start ({why}).") from None
        if ready["no_cage"] and not self.unsafe:
            self.__exit__()
            raise Unable(f"Student code cannot be isolated here ({ready['no_cage']}). {sandbox.HINT}")
        return self

    def __exit__(self, *_: Any) -> None:
        self.launched.__exit__()

    def use(self, line: int) -> None:
        """Ask for workers on this line, which no other process uses."""
        self.socket = self.launched.lines[line]

    def fork(self) -> Worker:
        """A fresh worker in a folder of its own."""
        ours, theirs = socket.socketpair()
        folder = tempfile.mkdtemp(prefix="worker-", dir=self.launched.home)
        limits = asdict(self.limits)
        if self.device != "cpu":
            limits["memory_bytes"] = 0  # CUDA maps more addresses than there is memory
        order = wire.pack({"folder": folder, "device": self.device, "limits": limits, "unsafe": self.unsafe})
        socket.send_fds(self.socket, [order], [theirs.fileno()])
        theirs.close()
        return Worker(wire.receive(self.socket, 60)["pid"], ours, folder, self.device)


class Failed(Exception):
    """A worker gave no answer: `status` is timeout or crash."""

    def __init__(self, status: str, note: str, answers: list[Answer] | None = None) -> None:
        super().__init__(note)
        self.status, self.note, self.answers = status, note, answers or []


class Worker:
    """The controller's end of one worker."""

    def __init__(self, pid: int, sock: socket.socket, folder: str, device: str) -> None:
        self.pid, self.socket, self.folder, self.device = pid, sock, folder, device

    def run(self, source: str, seconds: float) -> dict:
        """Outputs and error of one cell. Raises Failed."""
        with self._failing([]):
            wire.send(self.socket, {"do": "run", "source": source})
            reply = wire.receive(self.socket, seconds)
            if type(reply) is not dict or type(reply.get("outputs")) is not list or type(reply.get("error")) is not str:
                raise wire.Malformed("no reply to a cell")
            if any(type(piece) is not str for piece in reply["outputs"]):
                raise wire.Malformed("outputs that are no text")
            return {"outputs": "".join(reply["outputs"]), "error": reply["error"][:1_000]}

    def ask(self, exercise: Exercise, asked: list[Case], seconds: float, device: str) -> list[Answer]:
        """Answers to all cases, fewer if the first ones settle it. Raises Failed."""
        answers: list[Answer] = []
        with self._failing(answers):
            order = {"do": "ask", "name": exercise.last, "verb": exercise.ask, "closed": list(exercise.closed)}
            wire.send(self.socket, order | {"device": device, "cases": [vars(case) for case in asked]})
            until = time.monotonic() + seconds
            while len(answers) < len(asked):
                answers.append(_answer(wire.receive(self.socket, until - time.monotonic())))
                if answers[-1].status in ("not attempted", "book", "missing"):
                    break
        return answers

    @contextlib.contextmanager
    def _failing(self, answers: list[Answer]) -> Any:
        try:
            yield
        except (TimeoutError, BlockingIOError):
            raise Failed("timeout", "time was up", answers) from None
        except (EOFError, OSError):
            raise Failed("crash", "its process ended", answers) from None
        except wire.Malformed as error:
            raise Failed("crash", f"what it sent cannot be read: {error}", answers) from None

    def close(self) -> None:
        """End the worker, all that it started, and its folder."""
        self.socket.close()
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def _answer(reply: Any) -> Answer:
    """An answer of exact types, or Malformed."""
    fields = {"status": str, "note": str, "random": bool, "device": str}
    if type(reply) is not dict or set(reply) != set(Answer.__dataclass_fields__):
        raise wire.Malformed("no answer")
    lists = all(reply[name] is None or type(reply[name]) is list for name in ("gradients", "changed", "left"))
    if not lists or any(type(reply[name]) is not kind for name, kind in fields.items()):
        raise wire.Malformed("an answer of the wrong types")
    if reply["status"] not in STATUSES or any(type(i) is not int or i < 0 for i in reply["changed"] or []):
        raise wire.Malformed("an answer of no status")
    if any(type(kind) is not str or kind not in LEFT for kind in reply["left"] or []):
        raise wire.Malformed("an answer that leaves something unheard of")
    return Answer(**reply | {"note": reply["note"][:500], "device": reply["device"][:300]})


# ---- a notebook ----


@dataclass(frozen=True)
class Run:
    """A cell to run. `own` tells whether a student wrote it."""

    source: str
    own: bool = True


@dataclass(frozen=True)
class Ask:
    """An exercise to be answered at this point, with the cases for this student."""

    exercise: Exercise
    seed: int


@dataclass
class Played:
    """What became of each step: for a cell its outputs (JSON text) and error, for an exercise its verdict."""

    outputs: dict[int, str]
    errors: dict[int, str]
    verdicts: dict[int, Verdict]


def play(zygote: Zygote, steps: list[Run | Ask]) -> Played:
    """Run a notebook's cells in order and judge each exercise where it is asked.

    A cell or an exercise that takes its worker down, or lets it hang, costs itself alone: the rest goes on in a fresh
    worker, without it. What ends a GPU's worker is asked once more on the CPU, since an index out of range, which there
    is an exception, leaves a process without its GPU.
    """
    done = Played({}, {}, {})
    limits, until = zygote.limits, time.monotonic() + zygote.limits.notebook_seconds
    asked = {i: cases(s.exercise, s.seed) for i, s in enumerate(steps) if isinstance(s, Ask)}
    for i, leaning in _leaning(steps).items():
        done.verdicts[i] = leaning
    lost: set[int] = set()
    on_cpu: set[int] = set()
    while True:
        worker = zygote.fork()
        try:
            for i, step in enumerate(steps):
                if i in lost or i in done.verdicts:
                    continue
                left = until - time.monotonic()
                try:
                    if isinstance(step, Run):
                        reply = worker.run(step.source, min(limits.cell_seconds, max(left, 0)))
                        done.errors[i] = reply["error"]
                        shown = sum(len(text) for j, text in done.outputs.items() if j != i)
                        done.outputs[i] = reply["outputs"] if shown + len(reply["outputs"]) <= MAX_SHOWN else LEFT_OUT
                    else:
                        device = "cpu" if i in on_cpu else step.exercise.device(zygote.device)
                        answers = worker.ask(step.exercise, asked[i], min(limits.ask_seconds, max(left, 0)), device)
                        done.verdicts[i] = _judge(step.exercise, asked[i], answers, _failed_cell(steps, done, i))
                except Failed as failed:
                    if isinstance(step, Ask) and failed.status == "crash" and device != "cpu":
                        on_cpu.add(i)
                        break
                    lost.add(i)
                    _lose(done, i, step, asked.get(i), failed, limits)
                    break
            else:
                return done
        finally:
            worker.close()


def _lose(done: Played, i: int, step: Run | Ask, asked: list[Case] | None, failed: Failed, limits: Limits) -> None:
    if isinstance(step, Run):
        words = {
            "timeout": f"This cell was still running after {limits.cell_seconds:g} seconds and was stopped.",
            "crash": f"This cell ended the process that it ran in ({failed.note}).",
        }
        done.outputs[i], done.errors[i] = "[]", words[failed.status]
        return
    answers = [*failed.answers, Answer(failed.status, note=failed.note)]
    done.verdicts[i] = judge(step.exercise, asked, answers)


def _judge(exercise: Exercise, asked: list[Case], answers: list[Answer], failed: str) -> Verdict:
    """The verdict; where the name was never defined because its cell failed, that is what is said."""
    if failed and answers and answers[-1].status == "missing":
        kind = "timeout" if "still running" in failed else "error"
        return refuse(
            exercise, kind, f"`{exercise.last}` was never defined, since its cell failed: {failed.rstrip('.')}."
        )
    return judge(exercise, asked, answers)


def _failed_cell(steps: list[Run | Ask], done: Played, i: int) -> str:
    """What went wrong in the last of the student's cells before step `i` that names the exercise."""
    name = steps[i].exercise.last
    for j in reversed(range(i)):
        if isinstance(steps[j], Run) and steps[j].own and name in steps[j].source:
            return done.errors.get(j, "")
    return ""


def _leaning(steps: list[Run | Ask]) -> dict[int, Verdict]:
    """Exercises whose cells mention the book's answer."""
    found: dict[int, Verdict] = {}
    sources: list[str] = []
    for i, step in enumerate(steps):
        if isinstance(step, Run):
            if step.own:
                sources.append(step.source)
            continue
        exercise = step.exercise
        leaning = book.mentions(sources, exercise.last, exercise.closed, exercise.shortcuts)
        if leaning:
            found[i] = not_your_own(exercise, leaning)
    return found


def judge_file(zygote: Zygote, exercise: Exercise, path: Path, seed: int) -> Verdict:
    """The verdict on the object that a Python file defines under the exercise's last name."""
    try:
        source = path.read_bytes()[:MAX_SOURCE].decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return refuse(exercise, "error", f"{path.name} cannot be read as Python text ({type(error).__name__}).")
    return play(zygote, [Run(source), Ask(exercise, seed)]).verdicts[1]
