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


def main() -> None:
    """Serve fork requests on the socket whose number is the first argument."""
    import torch

    torch.set_num_threads(1)
    from autograder.ask import warm_up
    from autograder.grading import sandbox, wire, worker

    control = socket.socket(fileno=int(sys.argv[1]))
    sandbox.die_with_parent()
    worker.hide_the_judge()
    for module in ("helpers.models", "helpers.masks", "matplotlib.pyplot"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)

    if sys.argv[2] == "cpu":
        warm_up()  # where there is a GPU this would start CUDA, which must not be before a fork
    shell = worker.make_shell()
    gc.collect()
    gc.freeze()
    wire.send(control, {"no_cage": sandbox.possible()})
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
                sandbox.die_with_parent()
                sandbox.first_to_go()
                os.setsid()
                if order["unsafe"]:
                    os.chdir(order["folder"])
                    sandbox.limit(order["limits"])
                else:
                    sandbox.enter(order["limits"], order["device"])
                worker.become(socket.socket(fileno=fds[0]), shell)
            finally:
                os._exit(1)
        os.close(fds[0])
        wire.send(control, {"pid": pid})
        _reap()


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()
