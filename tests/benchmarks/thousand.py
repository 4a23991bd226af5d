"""A thousand submissions, one in ten hostile, the controller killed with −9 five times on the way.

    .venv/bin/python tests/benchmarks/thousand.py [--submissions 1000] [--kills 5] [--seed 0]

Prints minutes, peak memory, and whether every submission has the score that it must have.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import hostile
from grading import bare, submissions, write

from autograder.demo import _with
from autograder.grading.grade import ROOT

NAME = "02_masks"


def cohort(folder: Path, count: int) -> dict[str, str]:
    """Write the submissions; returns what kind each student's is."""
    solved = bare(ROOT / "solutions" / f"{NAME}.ipynb")
    honest = list(submissions(solved, count).values())
    rows = [(kind, source, expected) for kind, found in hostile.KINDS.items() for source, expected in found]
    kinds = {}
    for i in range(count):
        student = f"s{i:04}"
        kinds[student] = "honest"
        notebook = honest[i]
        if i % 10 == 5:
            kind, source, expected = rows[(i // 10) % len(rows)]
            kinds[student] = f"{kind}: {expected or 'any'}{'' if hostile.HONEST in source else ', no point for causal'}"
            notebook = _with(solved, {"masks.causal": source})
        write(folder / student / f"{NAME}.ipynb", notebook)
    return kinds


class Watch(threading.Thread):
    """Peak of the memory that this process's descendants have for themselves, in bytes; shared pages counted once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.over = 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.5):
            total = 0
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit() and self._ours(entry):
                    total += self._pss(entry)
            self.peak = max(self.peak, total)

    @staticmethod
    def _ours(entry: Path) -> bool:
        try:
            return b"autograder" in (entry / "cmdline").read_bytes()
        except OSError:
            return False

    @staticmethod
    def _pss(entry: Path) -> int:
        try:
            rows = (entry / "smaps_rollup").read_text().splitlines()
            return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))
        except (OSError, StopIteration):
            return 0


def grade(folder: Path, kills: int, expected_minutes: float, dice: random.Random) -> tuple[list[dict], list[float]]:
    """Grade to the end; the first `kills` runs are killed after a random part of the time."""
    command = [sys.executable, "-m", "autograder.cli", "grade", folder / "handed", "--out", folder / "course", "--json"]
    killed = []
    while True:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if len(killed) < kills:
            time.sleep(dice.uniform(10, 60 * expected_minutes / (kills + 1)))
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
                done = len(list((folder / "course" / ".journal").glob("*.json")))
                killed.append(done)
                print(f"killed with {done} in the journal", flush=True)
                continue
        return json.loads(process.communicate()[0]), killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = cohort(folder / "handed", options.submissions)
        watch = Watch()
        watch.start()
        begin = time.perf_counter()
        results, _ = grade(folder, options.kills, options.submissions / 250, random.Random(options.seed))
        minutes = (time.perf_counter() - begin) / 60
        watch.over.set()
    print(
        f"{len(results)} of {options.submissions} accounted for in {minutes:.1f} min, peak {watch.peak / 2**30:.2f} GiB"
    )
    report(results, kinds)


def report(results: list[dict], kinds: dict[str, str]) -> None:
    """Scores by kind; a kind with more than one score, or a hostile one with an undeserved point, stands out."""
    by_kind: dict[str, dict[str, int]] = {}
    for one in results:
        marks = {mark["exercise"]: mark for mark in one["marks"]}
        causal = marks.get("masks.causal", {"score": None, "verdict": one["problem"]})
        rest = sum(mark["score"] for mark in one["marks"]) - (causal["score"] or 0)
        kind = kinds[one["student"]]
        row = f"causal {causal['score']} ({causal['verdict']})" + ("" if kind == "honest" else f", rest {rest:g}")
        by_kind.setdefault(kind, {}).setdefault(row, 0)
        by_kind[kind][row] += 1
        if "no point for causal" in kind and causal["score"] and not kind.split(": ")[1].startswith("right"):
            print(f"UNDESERVED: {one['student']} {kind}")
    for kind, rows in sorted(by_kind.items()):
        print(f"{kind}: {rows}")


if __name__ == "__main__":
    main()
