"""Throughput against nbgrader's own autograde: the same submissions, the same executed cells, isolation on.

    .venv/bin/python tests/benchmarks/grading.py [--submissions 40] [--rounds 2] [--notebook 02_masks]

Cells tagged `explore` are left out of what is handed in, since nbgrader would run them and we would not. nbgrader runs
with its best settings: bytecode compiled, kernels shut down at once. Both run as commands, from their start to their
end, and alternate round by round.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from autograder.demo import WRONG, _with
from autograder.grading import submission
from autograder.grading.cohort import grade_one
from autograder.grading.controller import Zygote
from autograder.grading.grade import ROOT
from autograder.grading.handed import Handed

CONFIG = """c = get_config()
c.CourseDirectory.course_id = "benchmark"
c.Execute.shutdown_kernel = "immediate"
"""


def bare(path: Path) -> submission.Template:
    """An instructor's copy without its `explore` cells."""
    made = submission.template(path)
    cells = [c for c in made.notebook["cells"] if "explore" not in c["metadata"].get("tags", [])]
    return submission.Template(made.name, made.notebook | {"cells": cells})


def write(path: Path, notebook: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), "utf-8")


def submissions(solved: submission.Template, count: int) -> dict[str, dict]:
    """Right work and wrong work by turns, for that many students."""
    answers = [{}] + [{n: source for n, (_, source) in row.items()} for who, row in WRONG.items() if "never" not in who]
    answers = [row for row in answers if "os._exit" not in "".join(row.values())]
    return {f"s{i:03}": _with(solved, answers[i % len(answers)]) for i in range(count)}


def with_nbgrader(folder: Path, name: str, source: dict, handed: dict[str, dict]) -> float:
    """Seconds that `nbgrader autograde` takes, its set-up not counted."""
    write(folder / "source" / name / f"{name}.ipynb", source)
    (folder / "nbgrader_config.py").write_text(CONFIG)
    for student, notebook in handed.items():
        write(folder / "submitted" / student / name / f"{name}.ipynb", notebook)
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    env["WORKBOOK_PROGRESS"] = str(folder / "progress.json")
    run = [sys.executable, "-m", "nbgrader"]
    subprocess.run(
        [*run, "generate_assignment", name, "--create"], cwd=folder, env=env, capture_output=True, check=True
    )
    begin = time.perf_counter()
    subprocess.run([*run, "autograde", name, "--create"], cwd=folder, env=env, capture_output=True, check=True)
    return time.perf_counter() - begin


def with_workbook(folder: Path, name: str, handed: dict[str, dict]) -> float:
    """Seconds that `workbook grade` takes, start-up, gradebook and feedback pages included."""
    for student, notebook in handed.items():
        write(folder / "handed" / student / f"{name}.ipynb", notebook)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "autograder.cli", "grade", folder / "handed", "--out", folder / "course"]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return time.perf_counter() - begin


def one_by_one(released: submission.Template, handed: dict[str, dict]) -> list[float]:
    """Seconds for each submission in one warm process."""
    times = []
    with tempfile.TemporaryDirectory() as folder, Zygote() as zygote:
        for student, notebook in handed.items():
            path = Path(folder) / f"{student}.ipynb"
            write(path, notebook)
            begin = time.perf_counter()
            grade_one(zygote, Handed(student, released.name, str(path)), released, b"x" * 32, "cpu")
            times.append(time.perf_counter() - begin)
    return sorted(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--notebook", default="02_masks")
    options = parser.parse_args()
    for folder in (ROOT / "helpers", ROOT / "autograder", sysconfig.get_path("purelib")):
        compileall.compile_dir(folder, quiet=2, workers=0)
    released, solved = (bare(ROOT / folder / f"{options.notebook}.ipynb") for folder in ("notebooks", "solutions"))
    handed = submissions(solved, options.submissions)
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            ours = with_workbook(Path(folder), options.notebook, handed)
        with tempfile.TemporaryDirectory() as folder:
            theirs = with_nbgrader(Path(folder), options.notebook, solved.notebook, handed)
        print(f"{len(handed)} submissions: nbgrader {theirs:.1f} s, workbook {ours:.1f} s, ratio {theirs / ours:.1f}")
    times = one_by_one(released, handed)
    print(f"one by one: median {times[len(times) // 2]:.2f} s, p95 {times[int(0.95 * len(times)) - 1]:.2f} s")


if __name__ == "__main__":
    main()
