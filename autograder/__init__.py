"""The judge of the workbook: `from autograder import check, progress` is all that a notebook needs."""

from typing import Any

__all__ = ["check", "progress"]


def __getattr__(name: str) -> Any:
    """Load the notebook's side only when it is asked for: a grading worker must never import it."""
    if name in __all__:
        from autograder import notebook

        return getattr(notebook, name)
    raise AttributeError(f"autograder has no {name!r}; a notebook needs only check and progress.")
