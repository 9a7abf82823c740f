"""What of a file cannot be compiled, found from its text alone: nothing of it is imported or run."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gast

from ..depth import deep
from ..errors import CompileError
from ..frontend import fence, source_tree
from ..frontend.calls import overrides_call
from ..frontend.source_tree import SourceTree
from .refusals import Reader
from .scopes import Scopes, is_jit, last_name, made_of

__all__ = ["Checked", "check_file"]

_PACKAGE = __name__.partition(".")[0]


@dataclass
class Checked:
    """The functions that were looked at, and what is refused in them."""

    functions: list[str]
    errors: list[CompileError]


@deep
def check_file(path: str, name: str | None = None, *, everything: bool = False) -> Checked:
    """Lists what of a file no argument types can make compile.

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
        # Of a function inside another one nobody knows whether the outer one is compiled: it is read with that.
        roots = [*(tree for tree in named if tree.outer is None), *outline.roots()]
    else:
        roots = list(outline.roots())
    found = outline.read(roots)
    errors = {(e.code, e.message, e.loc and e.loc[1:3]): e for es in found.values() for e in es}
    ordered = sorted(errors.values(), key=lambda e: e.spans[0][0][1:3])
    return Checked([tree.function for tree in outline.trees if id(tree.node) in found], ordered)


class _Outline:
    """The functions and classes of a file."""

    def __init__(self, path: str) -> None:
        self.module, self.trees = source_tree.parse(path)
        self._scopes = Scopes(self.module)
        self._of_node = {id(tree.node): tree for tree in self.trees}
        self._classes = {node.name: node for node in gast.walk(self.module) if isinstance(node, gast.ClassDef)}

    def roots(self) -> Iterator[SourceTree]:
        """The functions that are compiled for sure."""
        given = {id(node) for tree in (None, *self.trees) for node in self._given_in(tree)}
        for tree in self.trees:
            decorated = any(map(is_jit, getattr(tree.node, "decorator_list", ())))
            construct = tree.function.endswith(".construct") and self._in_cell(tree)
            if decorated or construct or id(tree.node) in given:
                yield tree

    def _given_in(self, tree: SourceTree | None) -> Iterator[Any]:
        """The functions and lambdas that a function, or the module, gives to `jit`."""
        for node in _own_nodes(self.module if tree is None else tree.node):
            if not (isinstance(node, gast.Call) and last_name(node.func) == "jit"):
                continue
            arguments = [*node.args[:1], *(k.value for k in node.keywords if k.arg in ("function", "fn"))]
            for part in (p for a in arguments for p in _functions_in(a)):
                if isinstance(part, gast.Lambda):
                    yield part
                elif isinstance(part, gast.Name):
                    yield self._around(tree).find(part.id)[1]
                else:
                    yield from (t.node for t in self.trees if t.function.endswith(f".{part.attr}") and not t.outer)

    def _around(self, tree: SourceTree | None) -> Scopes:
        """The scopes in the body of a function."""
        return self._scopes if tree is None else self._around(tree.outer).inside(tree.node)

    def _in_cell(self, tree: SourceTree) -> bool:
        return self.is_cell(tree.function.rpartition(".")[0].rpartition(".")[2])

    def is_cell(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a class of the file derives from Cell, or from a class of the package that does."""
        nodes = self._classes[name].bases if name in self._classes else []
        if any(_is_package_cell(self._scopes.path(node)) for node in nodes):
            return True
        bases = [last_name(b) for b in nodes]
        return any(b.endswith("Cell") or (b not in seen and self.is_cell(b, seen | {name})) for b in bases)

    def read(self, roots: list[SourceTree]) -> dict[int, list[CompileError]]:
        """The errors of these functions and of those that they mention, directly or not, by the ids of the nodes."""
        found: dict[int, list[CompileError]] = {}
        todo = list(roots)
        while todo:
            tree = todo.pop()
            if id(tree.node) in found:
                continue
            alone = replace(tree, outer=None)  # the functions around it are not compiled
            reader = Reader(self._around(tree.outer), self._attributes(tree), self.is_cell)
            found[id(tree.node)] = [*fence.check(alone), *reader.read(alone), *self._overridden(tree)]
            mentioned = [node for node in reader.mentioned if not _runs_outside(node)]
            todo += [self._of_node[id(node)] for node in mentioned if id(node) in self._of_node]
            todo += self._methods_mentioned(tree)
        return found

    def _overridden(self, tree: SourceTree) -> Iterator[CompileError]:
        """Where the method that is read, or `construct` that belongs to it, is not what a call of the Cell runs."""
        owner, _, method = tree.function.rpartition(".")
        if method in ("construct", "__call__") and self._in_cell(tree):
            for place in (t for t in self._methods(owner, "__call__") if owner):
                yield overrides_call(owner.rpartition(".")[2]).at(place.loc(place.node))

    def _methods_mentioned(self, tree: SourceTree) -> Iterator[SourceTree]:
        owner = tree.function.rpartition(".")[0]
        for node in gast.walk(tree.node):
            if isinstance(node, gast.Attribute) and getattr(node.value, "id", "") == "self" and owner:
                yield from (t for t in self._methods(owner, node.attr) if not _runs_outside(t.node))

    def _methods(self, owner: str, name: str) -> list[SourceTree]:
        """The methods of this name that a class has, or the nearest of its bases in the file that has one."""
        found = [tree for tree in self.trees if tree.function == f"{owner}.{name}"]
        cls = self._classes.get(owner.rpartition(".")[2])
        for base in () if found or cls is None else [last_name(b) for b in cls.bases]:
            if base != owner:
                found += self._methods(base, name)
        return found

    def _attributes(self, tree: SourceTree) -> dict[str, Any]:
        """The attributes that the class of a method binds in `__init__` only, to what is known of their values."""
        cls = self._classes.get(tree.function.rpartition(".")[0].rpartition(".")[2])
        found: dict[str, Any] = {}
        for method in cls.body if cls is not None else ():
            for node in gast.walk(method):
                for target in node.targets if isinstance(node, gast.Assign) else ():
                    if isinstance(target, gast.Attribute) and getattr(target.value, "id", "") == "self":
                        fresh = getattr(method, "name", "") == "__init__" and target.attr not in found
                        found[target.attr] = made_of(node.value) if fresh else None
        return {name: made for name, made in found.items() if made is not None}


def _is_package_cell(path: str | None) -> bool:
    """Whether a dotted path, which may begin with MindSpore's name, leads to a Cell of this package."""
    root, *parts = (path or "").split(".")
    if root not in ("mindspore", _PACKAGE) or not parts:
        return False
    package: Any = sys.modules[_PACKAGE]
    # MindSpore's inner modules (`mindspore.nn.optim.optimizer`) are not ours: the last name counts.
    for names in (parts, ["nn", parts[-1]]):
        found = functools.reduce(lambda owner, name: getattr(owner, name, None), names, package)
        if isinstance(found, type) and hasattr(found, "__graph_state__"):
            return True
    return False


def _own_nodes(scope: Any) -> Iterator[Any]:
    """The nodes of a module or function, those of functions inside left out."""
    todo = list(gast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda):
            todo += gast.iter_child_nodes(node)


def _functions_in(argument: Any) -> Iterator[Any]:
    """The names and lambdas in what is given to `jit`: ``f``, ``self.f``, ``grad(f)``, ``lambda x: ...``."""
    if isinstance(argument, gast.Name | gast.Attribute | gast.Lambda):
        yield argument
    elif isinstance(argument, gast.Call):
        for a in argument.args:
            yield from _functions_in(a)


def _runs_outside(function: Any) -> bool:
    """Whether compiled code does not look into a function."""
    return any(_names_of(d) & {"constexpr", "py_call"} for d in getattr(function, "decorator_list", ()))


def _names_of(decorator: Any) -> set[str]:
    return {last_name(n) for n in gast.walk(decorator) if isinstance(n, gast.Name | gast.Attribute)}
