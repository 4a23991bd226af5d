"""Folders of a grading go with it, if need be with the next one."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autograder.grading import launch, sandbox
from autograder.grading.controller import Run, Zygote, play

HOLD = "from autograder.grading import launch; held = launch._home(); print(held[0], flush=True); input()"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def start():
    """A process that holds a folder, and the folder, in which a worker has left something."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    home = Path(process.stdout.readline().strip())
    (home / "worker-1").mkdir()
    (home / "worker-1" / "x").touch()
    return process, home


def test_what_a_killed_grading_left_is_removed_and_what_lives_is_not(folder):
    (dead, left), (alive, held) = start(), start()
    os.kill(dead.pid, signal.SIGKILL)
    dead.wait()
    launch.sweep()
    assert held.exists() and not left.exists()
    alive.communicate("\n")
    launch.sweep()
    assert not held.exists()


def test_nothing_else_is_removed(folder):
    theirs, own = folder / "workbook-of-somebody", folder / "elsewhere"
    for one in (theirs, own):
        one.mkdir()
        (one / "thesis.txt").touch()
    (own / "lock").touch()
    (folder / "workbook-link").symlink_to(own)
    (theirs / "lock").symlink_to(own / "lock")
    launch.sweep()
    assert (theirs / "thesis.txt").exists() and (own / "thesis.txt").exists()


@pytest.mark.parametrize("text", [b"", b"\xff\xfe"])
def test_a_file_that_was_handed_in_is_no_lock(folder, text):
    """Submissions unpacked in a folder whose name begins as ours do."""
    unpacked = folder / "workbook-week-1"
    unpacked.mkdir()
    (unpacked / "lock").write_bytes(text)
    launch.sweep()
    assert (unpacked / "lock").exists()


def test_a_grading_removes_its_folder(folder):
    with launch.Launched() as launched:
        assert os.listdir(folder) == [os.path.basename(launched.home)]
        launched.__exit__()
    assert os.listdir(folder) == []


def test_a_copy_that_was_forked_keeps_it(folder):
    home, lock = launch._home()
    pid = os.fork()
    if pid == 0:
        signal.pause()
    lock.close()
    launch.sweep()
    assert os.path.exists(home)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    launch.sweep()
    assert not os.path.exists(home)


def test_a_worker_sees_no_folder_of_the_instructors_own_pythonpath(tmp_path_factory, monkeypatch):
    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    own = tmp_path_factory.mktemp("own")
    (own / "marks.py").touch()
    packages = os.path.dirname(os.path.dirname(pytest.__file__))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(own), packages]))
    source = f"import os, jinja2, sympy\nprint([os.path.exists(path) for path in ({str(own)!r}, {packages!r})])"
    with Zygote() as zygote:
        assert "[False, True]" in play(zygote, [Run(source)]).outputs[0]
