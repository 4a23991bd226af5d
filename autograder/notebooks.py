"""`workbook build`: notebooks from their sources, executed; or, with `--check`, whether they are still what these give.

Outputs are not compared: whether they come out again is for a replay (`make replay`) to say.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.exercise import Exercise, find
from autograder.source import STUB, TEXT_STUB, Stale, checked, derive

ROOT = Path(__file__).resolve().parent.parent
SOLUTION = re.compile(r"(?m)^([ \t]*)[^\n]*?BEGIN SOLUTION(.*?)^[^\n]*END SOLUTION[^\n]*$", re.DOTALL)
SECONDS = 300


def build(names: list[str], check: bool = False, root: Path = ROOT) -> int:
    """Derive the named notebooks, or all: written and executed, or with `check` compared with what is committed.

    Returns 0, or 1 after a sentence for each fault.
    """
    sources = sorted((root / "solutions").glob("*.py"))
    if not sources:
        print(f"There are no sources in {root / 'solutions'}: notebooks are built in a clone of the course.")
        return 1
    if names:
        wanted = {Path(name).stem for name in names}
        unknown = wanted - {path.stem for path in sources}
        if unknown:
            print(f"There is no source solutions/{min(unknown)}.py.")
            return 1
        sources = [path for path in sources if path.stem in wanted]
    faults = 0
    for path in sources:
        try:
            _compare(path) if check else _write(path)
        except Stale as fault:
            faults += 1
            print(fault)
        else:
            print(f"{path.stem}: {'as its source gives it' if check else 'built'}")
    return 1 if faults else 0


def derived(path: Path) -> tuple[Path, Path]:
    """Where the solution and the student's version of a source stand."""
    return path.with_suffix(".ipynb"), path.parent.parent / "notebooks" / f"{path.stem}.ipynb"


def _write(path: Path) -> None:
    solution, student = derive(path)
    execute(solution, path)
    for notebook, target in zip((solution, student), derived(path), strict=True):
        target.parent.mkdir(exist_ok=True)
        target.write_text(_text(notebook), "utf-8")


def _text(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def execute(solution: NotebookNode, path: Path) -> None:
    """Run a solution in place, without times. Raises Stale if a cell raises or a check scores less than all."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    running = [""]
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"WORKBOOK_PROGRESS": f"{folder}/progress.json", "OMP_NUM_THREADS": "1"}
        client = NotebookClient(
            solution,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],
            on_cell_start=lambda cell, cell_index: running.append(cell.id),
        )
        try:
            client.execute(env=env, cwd=str(path.parent))
        except CellExecutionError as error:
            said = error.evalue.split("\n")[0].rstrip(".")
            raise Stale(f"{path.name}: the cell {running[-1]} raised {error.ename}: {said}.") from None
        except CellTimeoutError:
            raise Stale(f"{path.name}: the cell {running[-1]} ran longer than {SECONDS} s.") from None
        except DeadKernelError:
            raise Stale(f"{path.name}: the kernel died in the cell {running[-1]}.") from None
    solution.metadata.language_info = nbformat.from_dict({"name": "python"})
    for cell in solution.cells:
        name = checked(cell)
        if name:
            _full(cell, find(name), path)


def _full(cell: NotebookNode, exercise: Exercise, path: Path) -> None:
    shown = [o.data.get("text/plain", "") for o in cell.outputs if o.output_type == "execute_result"]
    if shown != [str(float(exercise.points))]:
        raise Stale(f"{path.name}: the solution of {exercise.name} scores {''.join(shown) or 'nothing'}.")


def _compare(path: Path) -> None:
    solution, student = derive(path)
    for notebook, target in zip((solution, student), derived(path), strict=True):
        name = f"{target.parent.name}/{target.name}"
        if not target.exists():
            raise Stale(f"{name} is missing: run `workbook build {path.stem}`.")
        committed = nbformat.read(target, nbformat.NO_CONVERT)
        for cell in committed.cells if notebook is solution else []:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        if _text(committed) != _text(notebook):
            raise Stale(f"{name} is not what its source gives: run `workbook build {path.stem}`.")
    _prove(solution, student, path)


def _prove(solution: NotebookNode, student: NotebookNode, path: Path) -> None:
    """The student's version is the source minus its solutions, and nothing else: said again, in another way."""
    shown = _lines("\n".join(cell.source for cell in student.cells if not cell.id.endswith("-card")))
    for full, bare in zip(solution.cells, student.cells, strict=True):
        stub = TEXT_STUB if full.cell_type == "markdown" else STUB
        if bare.source != SOLUTION.sub(lambda found, stub=stub: found[1] + stub, full.source):
            raise Stale(f"{path.name}: the student's cell {bare.id} is not the source minus its solution.")
        if bare.get("outputs"):
            raise Stale(f"{path.name}: the student's cell {bare.id} has outputs.")
        for _, text in SOLUTION.findall(full.source):
            if len(_lines(text)) > 25 and _lines(text) in shown:
                raise Stale(f"{path.name}: the solution of {bare.id} can be read elsewhere in the student's version.")


def _lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().split("\n"))
