"""The worker: runs a student's cells and answers cases. It knows no exercise's page, no key and no other student."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autograder import book
from autograder.ask import Answer, Case, _describe, ask
from autograder.grading import wire
from autograder.plain import MAX_TEXT

MAX_STREAM = 20_000
MAX_DATA = 150_000
MAX_OUTPUTS = 50
ALLOWED = {f"autograder.{name}" for name in ("ask", "plain", "expressions", "book", "notebook", "grading")}


class _Capped:
    """A text stream that keeps its beginning and counts the rest."""

    def __init__(self) -> None:
        self.kept, self.size = "", 0

    def write(self, text: Any) -> int:
        text = str(text)
        self.size += len(text)
        if len(self.kept) < MAX_STREAM:
            self.kept += text[: MAX_STREAM - len(self.kept)]
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def text(self) -> str:
        left_out = self.size - len(self.kept)
        return self.kept + (f"\n[{left_out:,} more characters left out]" if left_out > 0 else "")


class _Hook(DisplayHook):
    """Keeps the value of a cell's last line as an output instead of printing it."""

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        self.shell.results.append(("execute_result", dict(format_dict), dict(md_dict or {})))

    def finish_displayhook(self) -> None:
        pass


class Shell(InteractiveShell):
    """IPython's shell without a protocol: cells, magics and rich outputs, nothing printed."""

    displayhook_class = _Hook
    display_pub_class = CapturingDisplayPublisher

    def __init__(self, **named: Any) -> None:
        self.results: list[tuple[str, dict, dict]] = []
        super().__init__(**named)

    def enable_gui(self, gui: str | None = None) -> None:
        pass

    def showtraceback(self, *args: Any, **named: Any) -> None:
        pass

    def showsyntaxerror(self, *args: Any, **named: Any) -> None:
        pass


def make_shell() -> Shell:
    """One shell for this process, without history or a banner."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = Shell.instance(config=config)
    run(shell, "None")  # the first cell loads what all others need
    return shell


def hide_the_judge() -> None:
    """In a worker `from autograder import check` gives a stand-in, and the rest of the judge is not to be had."""
    stand_in = types.ModuleType("autograder.notebook")
    stand_in.check = lambda name=None, answer=None: None
    stand_in.progress = lambda: None
    sys.modules["autograder.notebook"] = stand_in
    sys.meta_path.insert(0, _Closed())


class _Closed:
    """Refuses to import what stays with the judge. A courtesy: what a hostile worker reads tells it no case."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.startswith("autograder.") and not any(name == a or name.startswith(f"{a}.") for a in ALLOWED):
            raise ImportError(f"{name} stays with the judge while work is graded: write your own answer.")


# ---- doing ----


def serve(sock: socket.socket, shell: Shell) -> None:
    """Do what the controller says until it hangs up. A copy that a cell forked off never speaks."""
    me = os.getpid()
    while os.getpid() == me:
        try:
            order = wire.receive(sock)
        except (EOFError, OSError):
            return
        if order["do"] == "run":
            reply = run(shell, order["source"])
            if os.getpid() == me:
                wire.send(sock, reply)
        else:
            cases = [Case(**case) for case in order["cases"]]
            for answer in answers(shell, order["name"], order["verb"], cases, tuple(order["closed"]), order["device"]):
                if os.getpid() != me:
                    break
                wire.send(sock, vars(answer))


@contextlib.contextmanager
def _captured() -> Iterator[tuple[_Capped, _Capped]]:
    out, err = _Capped(), _Capped()
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        yield out, err
    finally:
        sys.stdout, sys.stderr = kept


def run(shell: Shell, source: str) -> dict:
    """Run one cell; its outputs as JSON text in nbformat's form, in pieces, and its exception in a line, if any."""
    shell.results.clear()
    shell.display_pub.outputs.clear()
    error = None
    with _captured() as (out, err):
        try:
            result = shell.run_cell(source, store_history=True)
            error = result.error_before_exec or result.error_in_exec
        except BaseException as raised:
            error = raised
        note = _describe(error) if error is not None else ""
    text = json.dumps(_outputs(shell, out, err, error, note))
    return {"outputs": [text[i : i + MAX_TEXT] for i in range(0, len(text), MAX_TEXT)], "error": note}


def _outputs(shell: Shell, out: _Capped, err: _Capped, error: BaseException | None, note: str) -> list[dict]:
    made = [
        {"output_type": "stream", "name": name, "text": stream.text()}
        for name, stream in (("stdout", out), ("stderr", err))
        if stream.size
    ]
    shown = [("display_data", o.get("data", {}), o.get("metadata", {})) for o in shell.display_pub.outputs]
    for kind, data, metadata in (shown + shell.results)[:MAX_OUTPUTS]:
        output = {"output_type": kind, "data": _data(data), "metadata": _small(metadata)}
        made.append(output | ({"execution_count": None} if kind == "execute_result" else {}))
    if error is not None:
        made.append({"output_type": "error", "ename": type(error).__name__, "evalue": note, "traceback": [note]})
    return made


def _small(metadata: dict) -> dict:
    """Metadata such as a picture's alternative text, if it is small and plain."""
    try:
        return metadata if len(json.dumps(metadata)) < 5_000 else {}
    except (TypeError, ValueError):
        return {}


def _data(data: dict) -> dict:
    kept = {str(k): v for k, v in data.items() if type(v) is str and len(v) <= MAX_DATA}
    return kept or {"text/plain": "[an output that was too large or no text was left out]"}


def answers(
    shell: Shell, name: str, verb: str, cases: list[Case], closed: tuple[str, ...], device: str
) -> Iterator[Answer]:
    """One answer for each case; a name that is not there, or is the book's, is answered once."""
    if name not in shell.user_ns:
        yield Answer("missing")
        return
    target = shell.user_ns[name]
    try:
        owner = book.owner(target)
    except Exception:
        owner = None
    if owner:
        yield Answer("book", note=owner)
        return
    book.find_copies(closed)
    for case in cases:
        if case.fake and device != "cpu":  # a real device shows what a pretended one would
            yield Answer("value")
            continue
        with _captured():
            answer = ask(target, verb, case, closed, device)
        if _gpu_is_lost():
            os._exit(1)
        yield answer
        if answer.status in ("not attempted", "book"):
            return


def _gpu_is_lost() -> bool:
    """Whether a failed assertion on the GPU has left this process without it: whatever came next would fail, too.

    An answer does not always show it, since the GPU fails later than it is asked.
    """
    if not torch.cuda.is_initialized():
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def become(sock: socket.socket, shell: Shell) -> None:
    """What a freshly forked child does: quiet its streams, serve, and go without clean-up."""
    os.environ |= {
        "HOME": "/tmp",
        "USER": "student",
        "LOGNAME": "student",
        "IPYTHONDIR": "/tmp",
        "MPLCONFIGDIR": "/tmp",
    }
    os.closerange(3, sock.fileno())
    os.closerange(sock.fileno() + 1, 1024)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    serve(sock, shell)
    os._exit(0)
