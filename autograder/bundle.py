"""What goes to students, and what comes back from them: `workbook release` and `workbook submit`."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASED = ("notebooks", "helpers", "autograder", ".ci", "pyproject.toml", "requirements.txt", "requirements-setup.txt")
RELEASED += ("README.md", "LICENSE", "LICENSE-PROSE", "Makefile", ".gitignore")
LEFT_OUT = ("__pycache__", "*.pyc", ".ipynb_checkpoints", ".workbook", "keys*", "*.key", ".secret")


class Unfit(Exception):
    """It cannot be done; the message is a sentence that says why and what to do."""


def release(out: Path) -> Path:
    """Write the students' bundle, without solutions, tests and keys, to a new folder. Raises Unfit."""
    if out.exists():
        raise Unfit(f"{out} is there already: name a folder that is not, so that nothing is overwritten.")
    if not list((ROOT / "notebooks").glob("*.ipynb")):
        raise Unfit("There are no notebooks to release: run `workbook build` first.")
    for name in RELEASED:
        source, target = ROOT / name, out / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    # Students work in notebooks/; what was handed out is kept apart, so that their cells can be found again.
    shutil.copytree(ROOT / "notebooks", out / "autograder" / "released", ignore=shutil.ignore_patterns(*LEFT_OUT))
    return out


def submit(notebooks: list[Path], out: Path) -> Path:
    """Pack notebooks into a zip, which is what is handed in. Raises Unfit."""
    missing = [path for path in notebooks if not path.is_file()]
    if missing or not notebooks:
        raise Unfit(f"There is no notebook {missing[0]}." if missing else "There are no notebooks here to hand in.")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in notebooks:
            archive.write(path, path.name)
    return out
