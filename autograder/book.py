"""The open-book rule: reading `helpers` is fine, handing it in is not.

Three looks, none of them a proof: whether the object itself is the book's, whether the cells that define it mention
what the exercise asks for, and whether the book is opened while the object answers.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import importlib
import inspect
import os
import re
import symtable
import textwrap
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

OURS = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ("helpers", "torch", "autograder", "transformers")
CELLS = ("<ipython-input", "<timed ")  # what IPython calls cells, and cells under %%time
MODULE_PATH = re.compile(r"(helpers|autograder)(\.\w+)*")


# PyTorch's own versions of what is asked for, where more of them can be closed than their name in a cell.
_OF_NN = ("MultiheadAttention", "Transformer", "TransformerEncoder", "TransformerDecoder")
_OF_NN += ("TransformerEncoderLayer", "TransformerDecoderLayer")
READY_MADE = {name: f"torch.nn.{name}" for name in _OF_NN} | {
    "multi_head_attention_forward": "torch.nn.functional.multi_head_attention_forward",
    "scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention",
    "generate_square_subsequent_mask": "torch.nn.modules.transformer._generate_square_subsequent_mask",
}


class Opened(BaseException):
    """Raised in place of the book's own answer while a student's object answers."""


# ---- the object ----


def owner(target: Any) -> str | None:
    """The dotted name of the book's object that `target` is, or None if it is the student's own."""
    for _ in range(20):
        if isinstance(target, functools.partial):
            target = target.func
        elif getattr(target, "__func__", None) is not None:
            target = target.__func__
        else:
            break
    if isinstance(target, type):  # a class that inherits from the book's has its parts
        for base in type.mro(target)[1:]:
            if str(base.__module__).split(".")[0] == "helpers":
                return f"{base.__module__}.{base.__qualname__}"
    code = getattr(target, "__code__", None)
    module = getattr(target, "__module__", None)
    name = getattr(target, "__qualname__", getattr(target, "__name__", "?"))
    path = os.path.abspath(getattr(code, "co_filename", "")) if code is not None else ""
    if isinstance(module, str) and module.split(".")[0] in LIBRARIES:
        return f"{module}.{name}"
    library = os.path.join(os.path.dirname(OURS), "helpers") + os.sep
    return f"helpers.{name}" if path.startswith(library) else None


# ---- the cells ----


def mentions(sources: Iterable[str], name: str, closed: Iterable[str], shortcuts: Iterable[str] = ()) -> str | None:
    """The first thing of the book that the definition of `name` leans on, or None.

    `sources` are the student's cells in order; `closed` holds dotted names (`helpers.masks.causal`), `shortcuts`
    last names (`MultiheadAttention`). Followed from the cell that defines `name` through the cells that define what
    it uses.
    """
    cells = [cell for cell in map(_read, sources) if cell is not None]
    aliases = {alias: full for cell in cells for alias, full in cell.imports}
    bound = set().union(*(cell.binds for cell in cells))
    waiting, seen = [(name, len(cells))], set()
    while waiting:
        read, before = waiting.pop()
        place = next((i for i in reversed(range(before)) if read in cells[i].binds), None)
        if place is None or place in seen:
            continue
        seen.add(place)
        found = _leans_on(cells[place], aliases, set(closed), set(shortcuts), bound)
        if found:
            return found
        waiting += [(other, len(cells)) for other in cells[place].reads]
        waiting += [(other, place) for other in cells[place].early]  # `f = f` binds what an earlier cell has made
    return None


@dataclass(frozen=True)
class _Cell:
    """A cell as read: its imports (alias, full name), the global names that it reads and those that it binds.

    `early` are those that it reads, as it runs, before it binds them itself.
    """

    tree: ast.Module
    imports: tuple[tuple[str, str], ...]
    reads: frozenset[str]
    binds: frozenset[str]
    early: frozenset[str]


@functools.lru_cache(maxsize=1024)
def _read(source: str) -> _Cell | None:
    tree = _parse(source)
    return None if tree is None else _Cell(tree, tuple(_imports(tree)), *map(frozenset, (*_scopes(tree), _early(tree))))


def _parse(source: str) -> ast.Module | None:
    """Of what only IPython understands, the code behind `%time` and `%%time` is kept; the rest is left out."""
    kept = functools.partial(
        re.compile(r"(?m)^([^\S\n]*)%%?(?:time|timeit|prun|capture)\b(?:[^\S\n]+-\S+)*[^\S\n]*").sub, r"\1"
    )
    lines = functools.partial(re.compile(r"(?m)^[^\S\n]*[%!?].*$").sub, "")
    values = functools.partial(re.compile(r"=[^\S\n]*[%!].*").sub, "= None")
    for changes in ((), (kept, lines), (kept, lines, values), (lines,), (lines, values)):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            text = functools.reduce(lambda text, change: change(text), changes, source)
            return ast.parse(textwrap.dedent(text) if changes else text)
    return None


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                top = item.name.split(".")[0]
                yield (item.asname, item.name) if item.asname else (top, top)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for item in node.names:
                yield item.asname or item.name, f"{node.module}.{item.name}"


def _scopes(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The global names that a cell reads, and those that it binds. Arguments and local names are nobody else's."""
    reads, binds = set(), set()
    waiting = []
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # such a cell never ran
        waiting = [symtable.symtable(ast.unparse(tree), "cell", "exec")]
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        for symbol in scope.get_symbols():
            if scope.get_type() == "module" or symbol.is_global():
                if symbol.is_referenced():
                    reads.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
                    binds.add(symbol.get_name())
    return reads, binds


def _early(tree: ast.Module) -> set[str]:
    """Names that are read before they are bound, but for those in functions, which are read later."""
    early, bound = set(), set()
    for statement in tree.body:
        waiting: list[ast.AST] = [statement]
        reads, binds = set(), {alias.split(".")[0] for alias, _ in _imports(statement)}
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                outside = [node.args, *getattr(node, "decorator_list", [])]
                binds.add(getattr(node, "name", ""))
                waiting += outside
                continue
            if isinstance(node, ast.ClassDef):
                binds.add(node.name)
            if isinstance(node, ast.Name):
                (reads if isinstance(node.ctx, ast.Load) else binds).add(node.id)
            waiting += ast.iter_child_nodes(node)
        early |= reads - bound
        bound |= binds
    return early


def _leans_on(
    cell: _Cell, aliases: dict[str, str], closed: set[str], shortcuts: set[str], bound: set[str]
) -> str | None:
    used = {full for _, full in cell.imports}
    for node in ast.walk(cell.tree):
        if isinstance(node, ast.Attribute):
            used.add(_dotted(node, aliases))
        elif isinstance(node, ast.Name):
            used.add(aliases.get(node.id, "" if node.id in bound else node.id))  # perhaps of `from … import *`
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE_PATH.fullmatch(node.value):
            return node.value
    for full in sorted(used):
        parts = full.split(".")
        if full in closed or parts[-1] in shortcuts:
            return full
        if parts[0] == "helpers" and parts[-1] == "*":
            return full
        if parts[0] == "autograder" and full not in ("autograder", "autograder.check", "autograder.progress"):
            return full
    return None


def _dotted(node: ast.Attribute, aliases: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    root = aliases.get(node.id, node.id) if isinstance(node, ast.Name) else "?"
    return ".".join([root, *reversed(parts)])


# ---- the answering ----

_opened: list[str] = []
_copies: list[tuple[types.FunctionType, str]] = []


def find_copies(names: tuple[str, ...]) -> None:
    """From now on `closed` closes copies of these functions too: made from their code, source or file at run time.

    A function written in a cell is never one, since short honest answers compile to the same code. Objects that
    `gc.freeze` has put away are older than the student's and are not looked at.
    """
    book = {
        _identity(function.__code__): (function, name)
        for function, name in zip(map(_function, names), names, strict=True)
        if hasattr(function, "__code__")
    }
    _copies.clear()
    for one in gc.get_objects() if book else ():
        if type(one) is types.FunctionType and not one.__code__.co_filename.startswith(CELLS):
            original, name = book.get(_identity(one.__code__), (one, ""))
            if one is not original:
                _copies.append((one, name))


def _identity(code: types.CodeType) -> tuple:
    return code.co_code, code.co_names, code.co_varnames


@contextlib.contextmanager
def closed(names: Iterable[str]) -> Iterator[list[str]]:
    """While this lasts, the named functions and classes raise; yields the list of those that were opened.

    The code of the function object itself is exchanged, so every alias of it is closed too, one kept from before
    included. What torch has in C++ has no such code: calls of it are seen where torch lets a mode see them.
    """
    _opened.clear()
    kept = [(_function(name), name) for name in names]
    kept += _copies if kept else []
    built_in = tuple(name for function, name in kept if not hasattr(function, "__code__"))
    kept = [(function, name) for function, name in kept if hasattr(function, "__code__")]
    codes = [(function, function.__code__) for function, _ in kept]
    try:
        for function, name in kept:
            function.__code__ = _refusal(name, function.__code__.co_freevars)
        with _watching(built_in) if built_in else contextlib.nullcontext():
            yield _opened
    finally:
        for function, code in codes:
            function.__code__ = code


def _watching(names: tuple[str, ...]) -> contextlib.AbstractContextManager:
    """A mode in which torch's functions of these names raise, under whatever alias, and their kernels by name."""
    from torch.overrides import TorchFunctionMode

    last = {name.rpartition(".")[2]: name for name in names}

    class Watching(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            called = str(getattr(func, "__name__", ""))
            for part, name in last.items():
                if part in called:
                    refuse(name)
            return func(*args, **(kwargs or {}))

    return Watching()


def refuse(name: str) -> None:
    """What a closed function does: it is remembered even if the student's code swallows the exception."""
    _opened.append(name)
    raise Opened(name)


def _refusal(name: str, free: tuple[str, ...]) -> Any:
    """Code that refuses, with the variables from around it (`super()` needs `__class__`) of what it replaces."""
    names: dict[str, Any] = {}
    source = (
        f"def around({', '.join(free)}):\n    def closed(*args, **named):\n        from autograder import book\n"
        f"        book.refuse({name!r})\n        return ({', '.join(free)})\n    return closed"
    )
    exec(compile(source, "<closed book>", "exec"), names)
    return names["around"](*free).__code__


def _function(name: str) -> Any:
    """The function behind a dotted name: for a class of layers its forward, else its __init__."""
    module, _, attribute = name.rpartition(".")
    target = getattr(importlib.import_module(module), attribute)
    if isinstance(target, type):
        target = target.__dict__.get("forward") or target.__init__
    return inspect.unwrap(target)  # behind a decorator such as `torch.no_grad`
