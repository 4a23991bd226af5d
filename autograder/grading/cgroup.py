"""A limit on the memory of a worker and all that it starts, by a control group, where the system lets us make one.

A limit of the process (`sandbox.limit`) is each child's own, so twenty children would take twenty times as much.
(Linux kernel documentation, Control Group v2 "Memory", and cgroup-v1/memory)
"""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")


@cache
def home() -> tuple[Path, str] | None:
    """The folder in which this process may make groups, and the name of their file for a limit; None without one."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        rows = [row.split(":", 2) for row in Path("/proc/self/cgroup").read_text().splitlines()]
        first = next((path for _, names, path in rows if "memory" in names.split(",")), None)
        if first is not None:
            return _usable(MOUNT / "memory" / first.lstrip("/"), "memory.limit_in_bytes")
        own = MOUNT / next(path for number, _, path in rows if number == "0").lstrip("/")
        if "memory" not in (own / "cgroup.subtree_control").read_text().split():
            (own / "cgroup.subtree_control").write_text("+memory")  # refused where processes live in it
        return _usable(own, "memory.max")
    return None


def _usable(folder: Path, limit: str) -> tuple[Path, str] | None:
    trial = folder / f"workbook-{os.getpid()}-trial"
    trial.mkdir()
    try:
        return (folder, limit) if (trial / limit).exists() else None
    finally:
        trial.rmdir()


def join(zygote: int, memory_bytes: int) -> None:
    """Put this process, a zygote's child, into a group of its own. Where that fails, the process's limit stands.

    The group may have a quarter more than `memory_bytes`: one process alone meets its own limit first, which Python
    can tell it of, where the kernel would end it.
    """
    found = home()
    if not found or not memory_bytes:
        return
    with contextlib.suppress(OSError):
        group = found[0] / f"workbook-{zygote}-{os.readlink('/proc/self')}"  # its number outside its namespace
        group.mkdir()
        (group / found[1]).write_text(str(memory_bytes * 5 // 4))
        (group / "cgroup.procs").write_text("0")  # itself


def sweep(zygote: int | None = None, patience: float = 0.0) -> None:
    """Remove the groups of a zygote, or of all, that no process is in; for `patience` seconds wait for those to end."""
    found, until = home(), time.monotonic() + patience
    while found and (groups := list(found[0].glob(f"workbook-{zygote or '*'}-*"))):
        for group in groups:
            with contextlib.suppress(OSError):
                group.rmdir()
        if time.monotonic() >= until:
            return
        time.sleep(0.01)
