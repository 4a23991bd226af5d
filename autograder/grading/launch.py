"""Starting a zygote. Nothing here loads torch: a command starts one first, and loads its own share meanwhile."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from autograder.grading import cgroup
from autograder.refusal import Refusal

GIBIBYTE = 2**30
PREFIX, LOCK = "workbook-", "lock"
# Nothing of the instructor's environment reaches a worker but what Python and torch need to start.
KEPT = ("PATH", "PYTHONPATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
KEPT += ("CUDA_VISIBLE_DEVICES", "CUDA_HOME", "VIRTUAL_ENV")


class Unable(Refusal):
    """Grading cannot start here; the message is a sentence for the instructor."""


class Launched:
    """A zygote that was started and may not be ready yet; use as a context manager. Ending it twice does no harm.

    On each of its `lines`, one process at a time asks for workers.
    """

    def __init__(self, device: str = "cpu", lines: int = 1) -> None:
        if not hasattr(os, "fork"):
            raise Unable("Grading needs a system that can fork processes (Linux or macOS): run it there or under WSL.")
        pairs = [socket.socketpair() for _ in range(lines)]
        self.lines, theirs = [ours for ours, _ in pairs], [other for _, other in pairs]
        self.home, self.lock = _home()
        env = {name: os.environ[name] for name in KEPT if name in os.environ}
        env |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONHASHSEED": "0"}
        env |= {"IPYTHONDIR": self.home} | ({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {})
        env |= {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # large pages, of which a fork has fewer to list
        numbers = [other.fileno() for other in theirs]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "autograder.grading.zygote", ",".join(map(str, numbers)), device],
            pass_fds=numbers,
            env=env,
            # `-m` puts this folder on the path. From where the instructor stands, a student's torch.py would be
            # imported out of the cage, and the course's folder be readable within.
            cwd=Path(__file__).resolve().parents[2],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for other in theirs:
            other.close()

    def __enter__(self) -> Launched:
        return self

    def __exit__(self, *_: Any) -> None:
        for line in self.lines:
            with contextlib.suppress(OSError):
                line.close()
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        cgroup.sweep(self.process.pid, patience=2)
        shutil.rmtree(self.home, ignore_errors=True)
        self.lock.close()

    def last_words(self) -> str:
        """Why it could not start, once it has ended."""
        self.process.kill()
        return "".join(self.process.stderr.read().decode("utf-8", "replace").strip().splitlines()[-1:])


def _home() -> tuple[str, IO]:
    """A folder for this grading, and the file in it whose lock is held for as long as any process of it lives."""
    import fcntl

    sweep()
    folder = tempfile.mkdtemp(prefix=PREFIX)
    lock = open(f"{folder}/new", "w")  # noqa: SIM115
    fcntl.flock(lock, fcntl.LOCK_EX)
    lock.write(_mark(folder))
    lock.flush()
    os.rename(f"{folder}/new", f"{folder}/{LOCK}")  # there is no moment at which it has its name and no lock
    return folder, lock


def _mark(folder: str | Path) -> str:
    """What the lock of this folder says. A file of that name that was handed in cannot know where it will lie."""
    found = os.lstat(folder)
    return f"{folder} {found.st_dev} {found.st_ino}"


def sweep() -> None:
    """Remove the folders of this user's gradings that were killed: the kernel has let go of their locks."""
    import fcntl

    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError, ValueError):
            if {path.lstat().st_uid, path.parent.lstat().st_uid} != {os.getuid()}:
                continue
            with open(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), "r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if file.read(10_000) == _mark(path.parent):
                    shutil.rmtree(path.parent)


def side_by_side(asked: int | None = None) -> int:
    """How many submissions to grade at a time: one for each core, fewer where memory is short."""
    if asked:
        return max(1, asked)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _free_memory() // GIBIBYTE))


def _free_memory() -> int:
    """Bytes that may still be used, by the system's word and by this group's limit; plenty where neither is told."""
    free = 2**50
    with contextlib.suppress(OSError, ValueError, IndexError):
        line = next(row for row in Path("/proc/meminfo").read_text().splitlines() if row.startswith("MemAvailable"))
        free = int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError):
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        free = min(free, limit - used)
    return free
