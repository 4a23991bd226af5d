"""What takes seconds to make is made once and kept in the user's cache folder, never in the project."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import TypeVar

Made = TypeVar("Made")


def folder() -> Path:
    """WORKBOOK_CACHE if set, else `transformer-workbook` in the user's cache folder. It may not exist yet."""
    named = os.environ.get("WORKBOOK_CACHE")
    return Path(named or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "transformer-workbook").expanduser()


def kept(
    name: str, make: Callable[[], Made], write: Callable[[Made, Path], None], read: Callable[[Path], Made]
) -> Made:
    """What the file `name` in the folder holds; made, and kept there, if the file is missing or broken.

    `name` has to say everything that the result depends on. Where nothing can be written, nothing is kept.
    """
    with suppress(Exception):
        return read(folder() / name)
    made = make()
    with suppress(OSError, RuntimeError):
        folder().mkdir(parents=True, exist_ok=True)
        open_file, temporary = mkstemp(dir=folder(), prefix=name)
        os.close(open_file)
        try:
            write(made, Path(temporary))
            os.replace(temporary, folder() / name)  # at once or not at all: another session may be reading
        finally:
            Path(temporary).unlink(missing_ok=True)
    return made
