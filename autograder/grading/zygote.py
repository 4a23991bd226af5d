"""The zygote: a process that has imported torch, helpers and the verbs once, and forks a worker for each request.

It never touches CUDA and runs no parallel tensor operation before a fork, and it never saw an exercise's page.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import socket
import sys
from typing import Any


def main() -> None:
    """Serve fork requests on the sockets whose numbers are the first argument."""
    import torch

    torch.set_num_threads(1)
    from autograder.ask import warm_up
    from autograder.grading import cgroup, sandbox, wire, worker

    lines = [socket.socket(fileno=int(number)) for number in sys.argv[1].split(",")]
    sandbox.die_with_parent()
    worker.hide_the_judge()
    for module in ("helpers.models", "helpers.masks", "matplotlib.pyplot"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)

    if sys.argv[2] == "cpu":
        warm_up()  # where there is a GPU this would start CUDA, which must not be before a fork
    shell = worker.make_shell()
    cgroup.sweep()  # what a grading that was killed has left
    sandbox.shown()
    gc.collect()
    gc.freeze()
    wire.send(lines[0], {"no_cage": sandbox.possible()})
    while lines:
        for line in select.select(lines, [], [], 0.5)[0]:
            data, fds, _, _ = socket.recv_fds(line, 65_536, 1)
            if not data:
                lines.remove(line)
                continue
            pid = _fork(wire.unpack(data), fds[0], shell)
            os.close(fds[0])
            wire.send(line, {"pid": pid})
        _reap()


def _fork(order: dict, number: int, shell: Any) -> int:
    """A worker that serves the socket of that number; its process number."""
    from autograder.grading import cgroup, sandbox, worker

    zygote, pid = os.getpid(), os.fork() if order["unsafe"] else sandbox.fork()
    if pid:
        return pid
    try:
        sandbox.die_with_parent()
        sandbox.first_to_go()
        cgroup.join(zygote, order["limits"]["memory_bytes"])
        os.setsid()
        if order["unsafe"]:
            os.chdir(order["folder"])
            sandbox.limit(order["limits"])
        else:
            sandbox.enter(order["limits"], order["device"])
        worker.become(socket.socket(fileno=number), shell)
    finally:
        os._exit(1)


def _reap() -> None:
    from autograder.grading import cgroup

    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            cgroup.sweep(os.getpid())


if __name__ == "__main__":
    main()
