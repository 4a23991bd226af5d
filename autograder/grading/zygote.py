"""The zygote: a process that has imported torch, helpers and the verbs once, and forks a worker for each request.

It never touches CUDA and runs no parallel tensor operation before a fork, and it never saw an exercise's page.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import resource
import select
import signal
import socket
import sys

GIB = 2**30
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve fork requests on the socket whose number is the first argument."""
    import torch

    torch.set_num_threads(1)
    from autograder.ask import warm_up
    from autograder.grading import wire, worker

    control = socket.socket(fileno=int(sys.argv[1]))
    _die_with_parent()
    worker.hide_the_judge()
    for module in ("helpers.models", "helpers.masks", "matplotlib.pyplot"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)

    warm_up()
    shell = worker.make_shell()
    gc.collect()
    gc.freeze()
    wire.send(control, {"ready": True})
    while True:
        if not select.select([control], [], [], 0.5)[0]:
            _reap()
            continue
        data, fds, _, _ = socket.recv_fds(control, 65_536, 1)
        if not data:
            return
        order = wire.unpack(data)
        pid = os.fork()
        if pid == 0:
            try:
                control.close()
                _die_with_parent()
                os.setsid()
                _limit(order["limits"])
                worker.become(socket.socket(fileno=fds[0]), order["folder"], order["device"], shell)
            finally:
                os._exit(1)
        os.close(fds[0])
        wire.send(control, {"pid": pid})
        _reap()


def _die_with_parent() -> None:
    """A worker must not outlive the zygote, nor the zygote its controller."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _limit(limits: dict) -> None:
    """CPU seconds, memory on top of what torch has mapped, size of files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_seconds"], limits["cpu_seconds"] + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"],) * 2)
    if limits["memory_bytes"] and sys.platform == "linux":
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + limits["memory_bytes"],) * 2)


if __name__ == "__main__":
    main()
