"""What goes to students, and what comes back from them: `workbook release` and `workbook submit`."""

from __future__ import annotations

import ast
import re
import shutil
import zipfile
from pathlib import Path

from autograder import weights
from autograder.exercise import STUB, TEXT_STUB, find
from autograder.grading import handed, submission
from autograder.grading.submission import Template, Unreadable
from autograder.refusal import Refusal

ROOT = Path(__file__).resolve().parent.parent
RELEASED = ("notebooks", "helpers", "autograder", ".ci/setup", "pyproject.toml", "requirements.txt")
RELEASED += ("requirements-setup.txt", "README.md", "LICENSE", "LICENSE-PROSE", "Makefile", ".gitignore")
TEACHERS = re.compile(r"<!-- not for students -->\n.*?<!-- end -->\n\n?|^# -+ not for students -+\n.*\Z", re.S | re.M)
STUDENTS = re.compile(r"<!-- for students\n(.*?)-->\n", re.S)
LEFT_OUT = ("__pycache__", "*.pyc", ".ipynb_checkpoints", ".workbook", "keys*", "*.key", ".secret")


class Unfit(Refusal):
    """It cannot be done; the message is a sentence that says why and what to do."""


def release(out: Path) -> Path:
    """Write the students' bundle, without solutions, tests and keys, to a new folder. Raises Unfit.

    A notebook that is not what its source gives stops it: somebody may have worked in it, and it would hold answers.
    """
    from autograder import notebooks

    if out.exists():
        raise Unfit(f"{out} is there already: name a folder that is not, so that nothing is overwritten.")
    if not list((ROOT / "notebooks").glob("*.ipynb")):
        raise Unfit("There are no notebooks to release: run `workbook build` first.")
    if notebooks.build([], check=True):
        raise Unfit("Nothing was released, because of the above: run `workbook build` first.")
    for name in RELEASED:
        source, target = ROOT / name, out / name
        if source.is_dir():
            own = [f"*{handed.WEIGHTS}"] if name == "notebooks" else []  # what somebody trained there
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT, *own))
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for file in filter(Path.exists, (out / "README.md", out / "Makefile")):
        file.write_text(_for_students(file.read_text("utf-8"), out), "utf-8")
    # Students work in notebooks/; what was handed out is kept apart, so that their cells can be found again.
    shutil.copytree(out / "notebooks", out / "autograder" / "released")
    return out


def _for_students(text: str, out: Path) -> str:
    """What is marked for students or not for them is shown or taken out, with rows on folders that they do not get."""
    text = STUDENTS.sub(r"\1", TEACHERS.sub("", text))
    rows = re.compile(r"\| `(\w+)/` \|")
    lines = text.rstrip().splitlines()
    return "\n".join(x for x in lines if not (row := rows.match(x)) or (out / row[1]).is_dir()) + "\n"


def submit(paths: list[Path], out: Path) -> dict[str, list[str]]:
    """Pack notebooks and the weights beside them into a zip, which is what is handed in.

    Returns the exercises not attempted, by file. An earlier such zip is replaced, no other file is. Raises Unfit.
    """
    from autograder.grading.grade import instructors, released

    copies = instructors(released())
    left = {str(path): unattempted(path, copies) for path in paths}
    twice = [path for path in paths if [p.name for p in paths].count(path.name) > 1]
    if twice:
        raise Unfit(f"Two notebooks are called {twice[0].name}: hand in one of them.")
    if out.exists() and not _holds_only_notebooks(out):
        raise Unfit(f"{out} is there already and is no zip of notebooks: name another file with --out.")
    part = out.with_name(f"{out.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in paths:
                archive.write(path, path.name)
            for file in _weights(paths):
                archive.write(file, file.name)
        part.replace(out)
    except OSError as error:
        raise Unfit(f"{out} cannot be written ({error.strerror}): name another file with --out.") from None
    return left


def unattempted(path: Path, copies: dict[str, Template]) -> list[str]:
    """Exercises without an answer. Raises Unfit if the file is no notebook."""
    try:
        cells = submission.read(path.read_bytes())
    except OSError as error:
        raise Unfit(f"{path} cannot be read ({error.strerror}): name a notebook that is there.") from None
    except Unreadable as problem:
        raise Unfit(f"Nothing was packed, because of {path}. {problem}") from None
    name = submission.notebook_for(path.name, list(copies)) or submission.notebook_of(cells, copies)
    placed = submission.rebuild(copies[name], cells)[0] if name else []
    answers = [cell for cell in placed if cell.role in ("answer", "written")]
    return [cell.exercise for cell in answers if _open(cell, path.parent)]


def _open(cell: submission.Placed, folder: Path) -> bool:
    """Whether an exercise has no answer: no file where weights are asked for, else nothing but a stub."""
    asked = find(cell.exercise).weights if cell.exercise else None
    return not (folder / asked.file).is_file() if asked else _blank(cell.source)


def _weights(notebooks: list[Path]) -> list[Path]:
    """The weights that lie beside notebooks and that a grader could take. Raises Unfit."""
    found: dict[str, Path] = {}
    for path in notebooks:
        for one in handed.beside(path, ""):
            file, asked = Path(one.path), find(one.notebook).weights
            try:
                weights.read(weights.take(file, asked), asked)
            except weights.Unfit as problem:
                raise Unfit(f"Nothing was packed, because of {file}. {problem}") from None
            found.setdefault(file.name, file)
    return list(found.values())


def _blank(answer: str) -> bool:
    """Whether a stub is all there is. What was handed out cannot tell: in a clone it is the notebook worked in."""
    try:
        nodes = list(ast.walk(ast.parse(answer)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return answer.strip().endswith(TEXT_STUB)
    bodies = [node.body for node in nodes if isinstance(node, ast.FunctionDef)]
    left = [[line for line in body if not isinstance(line, ast.Expr)] for body in bodies]  # no docstrings, no super()
    return not answer.strip() or any(len(lines) == 1 and ast.unparse(lines[0]) == STUB for lines in left)


def _holds_only_notebooks(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return all(name.endswith((".ipynb", handed.WEIGHTS)) for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
