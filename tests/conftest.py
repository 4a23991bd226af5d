"""How tests are shared out among processes, with `--dist loadgroup`."""

import pytest


def pytest_collection_modifyitems(items):
    """A file's tests stay together, for what they prepare once; those of the exercises prepare nothing, so go apart."""
    for item in items:
        if item.path.name != "test_exercises.py":
            item.add_marker(pytest.mark.xdist_group(item.path.name))
