"""Near-copies of the book: the same syntax tree once names, docstrings and annotations are gone.

A copy cannot be told from a good answer by machine, and short answers are alike by nature. So this never changes a
score; it lists what an instructor may want to read.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import pkgutil
import textwrap
from functools import cache

import helpers
from autograder.exercise import Exercise, find

BEHIND = {  # no answer needs these; whoever gets at the book or the judge unseen does
    *("__code__", "__globals__", "__subclasses__", "__import__", "FunctionType", "CodeType", "getsource", "exec"),
    *("import_module", "spec_from_file_location", "SourceFileLoader", "get_objects", "get_referrers", "sys.modules"),
    *("ctypes", "importlib", "marshal", "runpy", "get_ipython"),
    *("DisableTorchFunction", "DisableTorchFunctionSubclass", "_pop_mode_temporarily", "_pop_mode"),
    *("_native_multi_head_attention", "_transformer_encoder_layer_fwd", "torch.jit"),
}
BY_NAME = {"getattr", "vars", "attrgetter", "eval", "dir"}  # with them a name can be put together
TOO_SHORT = 60  # nodes; below this honest answers coincide


def is_near_copy(exercise: Exercise, source: str) -> bool:
    """Whether a cell defines the exercise with the syntax tree of the book's own version."""
    book = _book(exercise.name)
    return book is not None and book == shape(source, exercise.last)


def reaches_behind(source: str) -> bool:
    """Whether a cell names Python's own machinery, by which code is loaded, copied or patched at run time.

    Or puts a name of the book together, which it could have written down.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    nodes = list(ast.walk(tree))
    return any(BEHIND & set(_names(node)) for node in nodes) or _opens_by_name(nodes)


def _opens_by_name(nodes: list[ast.AST]) -> bool:
    book = set(_given())
    for node in nodes:
        if isinstance(node, ast.Import):
            book |= {item.asname for item in node.names if item.name.split(".")[0] == "helpers" and item.asname}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "helpers":
            book |= {item.asname or item.name for item in node.names}
    calls = [node for node in nodes if isinstance(node, ast.Call) and BY_NAME & set(_names(node.func))]
    looks = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == "__dict__"]
    inside = [child for node in calls + looks for child in ast.walk(node)]
    return any(isinstance(child, ast.Name) and child.id in book for child in inside)


@cache
def _given() -> frozenset[str]:
    """The book and its parts, which given cells import."""
    return frozenset({"helpers", *(module.name for module in pkgutil.iter_modules(helpers.__path__))})


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr, f"{node.value.id}.{node.attr}"] if isinstance(node.value, ast.Name) else [node.attr]
    if isinstance(node, ast.Import):
        return [item.name.split(".")[0] for item in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module.split(".")[0], *(f"{node.module}.{item.name}" for item in node.names)]
    return []


@cache
def _book(name: str) -> str | None:
    reference = find(name).reference
    with contextlib.suppress(OSError, TypeError):
        return shape(textwrap.dedent(inspect.getsource(reference)), reference.__name__)
    return None


def shape(source: str, name: str) -> str | None:
    """The syntax tree of the function or class `name` without what a copyist changes; None if short or not there."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == name]
    if not found or sum(1 for _ in ast.walk(found[-1])) < TOO_SHORT:
        return None
    return ast.dump(_Plain().visit(found[-1]))


class _Plain(ast.NodeTransformer):
    """Numbers names in the order of their first use, and drops docstrings, annotations and decorators."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def _rename(self, name: str) -> str:
        return self.names.setdefault(name, f"v{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._rename(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self._rename(node.arg))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Attribute(self.visit(node.value), self._rename(node.attr), node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list, node.returns, node.name = [], None, self._rename(node.name)
        return self._without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list, node.name = [], self._rename(node.name)
        return self._without_docstring(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return self.visit(ast.Assign([node.target], node.value)) if node.value else ast.Pass()

    def _without_docstring(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        if node.body and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)
