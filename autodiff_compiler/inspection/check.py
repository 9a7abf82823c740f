"""Static check of a file: what cannot be compiled, found without importing or running it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gast

from ..depth import deep
from ..errors import CompileError
from ..frontend.derivatives.cell_calls import overrides_call
from ..frontend.syntax import source_tree, unsupported_syntax
from ..frontend.syntax.source_tree import SourceTree
from .classes import Attributes, Classes, own_nodes
from .refusals import Reader
from .scopes import Scopes, given_to_jit, is_jit
from .straight import always_raised


@dataclass
class Checked:
    """The functions that were looked at, and what is refused in them."""

    functions: list[str]
    errors: list[CompileError]


@deep
def check_file(path: str, name: str | None = None, *, everything: bool = False) -> Checked:
    """Lists what of a file no argument types can make compile, on a path that constants do not rule out.

    Constants are what the text tells: literals, names and attributes of `self` bound once to one, ``hasattr`` of a
    module, ``sys.version_info``.  Paths that arguments decide, also by their defaults, are all looked at.
    Looked at are the functions and lambdas decorated with `jit` or given to `jit(...)`, the `construct` of every Cell,
    and what these call in the same file; with `name` (``function`` or ``Class.method``; ``Class`` is its `construct`)
    that one and what it calls; with `everything` every function but `__init__`.

    Raises SyntaxError, KeyError for an unknown name, and RecursionDepthError where the code is nested too deeply.
    """
    outline = _Outline(path)
    if name is not None:
        roots = [tree for tree in outline.trees if tree.function in (name, f"{name}.construct")]
        if not roots:
            raise KeyError(name)
    elif everything:
        named = [tree for tree in outline.trees if getattr(tree.node, "name", "__init__") != "__init__"]
        # A nested function is read with the outer one, of which it is not known whether it is compiled.
        roots = [*(tree for tree in named if tree.outer is None), *outline.roots()]
    else:
        roots = list(outline.roots())
    found = outline.read(roots)
    every = [*(e for errors in found.values() for e in errors), *outline.always_raised(roots)]
    errors = {(e.code, e.message, e.loc and e.loc[1:3]): e for e in every}
    ordered = sorted(errors.values(), key=lambda e: e.spans[0][0][1:3])
    return Checked([tree.function for tree in outline.trees if id(tree.node) in found], ordered)


class _Outline:
    """The functions and classes of a file."""

    def __init__(self, path: str) -> None:
        self.module, self.trees = source_tree.parse(path)
        self._scopes = Scopes(self.module, path)
        self._of_node = {id(tree.node): tree for tree in self.trees}
        self._classes = Classes(self.module, self._placed_classes())

    def _placed_classes(self) -> Iterator[tuple[Any, Scopes]]:
        """The classes with the scopes around them."""
        for tree in (None, *self.trees):
            inside = [n for n in own_nodes(self.module if tree is None else tree.node) if isinstance(n, gast.ClassDef)]
            around = self._around(tree) if inside else self._scopes
            yield from ((node, around) for node in inside)

    def roots(self) -> Iterator[SourceTree]:
        """The functions that are compiled for sure."""
        given = {id(node) for tree in (None, *self.trees) for node in self._given_in(tree)}
        for tree in self.trees:
            around = self._around(tree.outer)
            decorated = any(is_jit(d, around) for d in getattr(tree.node, "decorator_list", ()))
            construct = tree.function.endswith(".construct") and self._in_cell(tree)
            if decorated or construct or id(tree.node) in given:
                yield tree

    def _given_in(self, tree: SourceTree | None) -> Iterator[Any]:
        """The functions and lambdas that a function, or the module, gives to `jit`."""
        scopes = self._around(tree)
        for node in own_nodes(self.module if tree is None else tree.node):
            if not (isinstance(node, gast.Call) and is_jit(node.func, scopes)):
                continue
            for part in (p for a in given_to_jit(node) for p in _functions_in(a)):
                if isinstance(part, gast.Lambda):
                    yield part
                elif isinstance(part, gast.Name):
                    yield scopes.find(part.id)[1]
                else:
                    yield from (t.node for t in self.trees if t.function.endswith(f".{part.attr}") and not t.outer)

    def _around(self, tree: SourceTree | None) -> Scopes:
        """The scopes in the body of a function."""
        return self._scopes if tree is None else self._around(tree.outer).inside(tree.node)

    def _in_cell(self, tree: SourceTree) -> bool:
        return self._classes.is_cell(_owner(tree))

    def read(self, roots: list[SourceTree]) -> dict[int, list[CompileError]]:
        """The errors of these functions and of all that they reach, by the ids of the nodes."""
        found: dict[int, list[CompileError]] = {}
        todo = list(roots)
        while todo:
            tree = todo.pop()
            if id(tree.node) in found:
                continue
            alone = replace(tree, outer=None)  # the functions around it are not compiled
            attributes = Attributes(self._classes, _owner(tree))
            reader = Reader(self._around(tree.outer), attributes, self._classes.is_cell)
            errors = reader.read(alone)
            refused = [
                e for e in unsupported_syntax.check(alone) if not any(_stands_in(e, part) for part in reader.skipped)
            ]
            paused = unsupported_syntax.pausing(alone)  # by a `yield` that is never reached, too
            found[id(tree.node)] = [*refused, *([paused] if paused else []), *errors, *self._overridden(tree)]
            reached = [self._of_node[id(node)] for node in reader.mentioned if id(node) in self._of_node]
            owner = tree.function.rpartition(".")[0]
            reached += [t for name in reader.of_self if owner for t in self._methods(owner, name)]
            todo += [t for t in reached if not self._runs_outside(t)]
        return found

    def always_raised(self, roots: list[SourceTree]) -> Iterator[CompileError]:
        """Errors that every run of these functions raises, callees that are always reached included."""
        todo, seen = list(roots), set()
        while todo:
            tree = todo.pop()
            if id(tree.node) in seen or isinstance(tree.node, gast.AsyncFunctionDef):
                continue
            seen.add(id(tree.node))
            errors, called = always_raised(tree, self._around(tree))
            yield from errors
            todo += [self._of_node[id(node)] for node in called if id(node) in self._of_node]

    def _overridden(self, tree: SourceTree) -> Iterator[CompileError]:
        """Errors for a Cell whose `__call__` is overridden, so that calls do not run its `construct`."""
        owner, _, method = tree.function.rpartition(".")
        if method in ("construct", "__call__") and self._in_cell(tree):
            for place in (t for t in self._methods(owner, "__call__") if owner):
                yield overrides_call(owner.rpartition(".")[2]).at(place.loc(place.node))

    def _methods(self, owner: str, name: str) -> list[SourceTree]:
        """The definitions of a method in a class or its nearest base in the file."""
        found, line = [], [owner]
        for cls in line:
            here = [tree for tree in self.trees if tree.function == f"{cls}.{name}"]
            bases = [] if here else self._classes.bases(cls.rpartition(".")[2])
            line += [base for base in bases if base not in line]
            found += here
        return found

    def _runs_outside(self, tree: SourceTree) -> bool:
        """Whether a function is opaque to compiled code."""
        around = self._around(tree.outer)
        decorators = [n for d in getattr(tree.node, "decorator_list", ()) for n in gast.walk(d)]
        return any(around.real_name(n) in ("constexpr", "py_call") for n in decorators)


def _owner(tree: SourceTree) -> str:
    """The name of the class that a method stands in; that of something else for other functions."""
    return tree.function.rpartition(".")[0].rpartition(".")[2]


def _functions_in(argument: Any) -> Iterator[Any]:
    """The names and lambdas in what is given to `jit`: ``f``, ``self.f``, ``grad(f)``, ``lambda x: ...``."""
    if isinstance(argument, gast.Name | gast.Attribute | gast.Lambda):
        yield argument
    elif isinstance(argument, gast.Call):
        for a in argument.args:
            yield from _functions_in(a)


def _stands_in(error: CompileError, node: Any) -> bool:
    """Whether an error has a place in this part of the file."""
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return any(first <= place[1:3] < last for place, _ in error.spans)
