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
from .straight import always_raised

__all__ = ["Checked", "check_file"]

_PACKAGE = __name__.partition(".")[0]


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
        # Of a function inside another one nobody knows whether the outer one is compiled: it is read with that.
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
        self._scopes = Scopes(self.module)
        self._of_node = {id(tree.node): tree for tree in self.trees}
        self._classes = {node.name: node for node in gast.walk(self.module) if isinstance(node, gast.ClassDef)}
        #: attributes that are bound, with the class where that is done by `self`
        self._bound_attributes = list(_bound_attributes(self.module, ""))
        # `setattr(net, "w", value)`: a text given to a call may be the name of an attribute, and a computed one any.
        given = (a for node in gast.walk(self.module) if isinstance(node, gast.Call) for a in node.args)
        self._texts = {a.value for a in given if isinstance(a, gast.Constant) and isinstance(a.value, str)}
        self._hidden_attributes = any(map(_binds_any_attribute, gast.walk(self.module)))

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
            errors = reader.read(alone)
            refused = [e for e in fence.check(alone) if not any(_stands_in(e, part) for part in reader.skipped)]
            paused = fence.pausing(alone)  # by a `yield` that is never reached, too
            found[id(tree.node)] = [*refused, *([paused] if paused else []), *errors, *self._overridden(tree)]
            mentioned = [node for node in reader.mentioned if not _runs_outside(node)]
            todo += [self._of_node[id(node)] for node in mentioned if id(node) in self._of_node]
            owner = tree.function.rpartition(".")[0]
            methods = [t for name in reader.of_self if owner for t in self._methods(owner, name)]
            todo += [t for t in methods if not _runs_outside(t.node)]
        return found

    def always_raised(self, roots: list[SourceTree]) -> Iterator[CompileError]:
        """What is raised whenever these functions run, also in those of the file that they always call."""
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
        """Where the method that is read, or `construct` that belongs to it, is not what a call of the Cell runs."""
        owner, _, method = tree.function.rpartition(".")
        if method in ("construct", "__call__") and self._in_cell(tree):
            for place in (t for t in self._methods(owner, "__call__") if owner):
                yield overrides_call(owner.rpartition(".")[2]).at(place.loc(place.node))

    def _methods(self, owner: str, name: str) -> list[SourceTree]:
        """The methods of this name that a class has, or the nearest of its bases in the file that has one."""
        found = [tree for tree in self.trees if tree.function == f"{owner}.{name}"]
        cls = self._classes.get(owner.rpartition(".")[2])
        for base in () if found or cls is None else [last_name(b) for b in cls.bases]:
            if base != owner:
                found += self._methods(base, name)
        return found

    def _attributes(self, tree: SourceTree) -> dict[str, Any]:
        """The attributes that the class of a method binds once, in `__init__`, to what is known of their values.

        Of one that a subclass, a base in the file, or other code may bind as well nothing is known.
        """
        cls = self._classes.get(tree.function.rpartition(".")[0].rpartition(".")[2])
        if cls is None or self._hidden_attributes:
            return {}
        found: dict[str, Any] = {}
        for method in (m for m in cls.body if getattr(m, "name", "") == "__init__"):
            local = self._scopes.inside(method).chain[-1]
            for node in gast.walk(method):
                match node:
                    case gast.Assign(targets=targets, value=value) | gast.AnnAssign(target=targets, value=value):
                        names = {n.id for n in gast.walk(getattr(value, "func", value)) if isinstance(n, gast.Name)}
                        made = None if value is None or names & local.keys() else made_of(value)
                        for target in targets if isinstance(targets, list) else [targets]:
                            if isinstance(target, gast.Attribute) and getattr(target.value, "id", "") == "self":
                                found[target.attr] = made
        family = self._family(cls.name)
        elsewhere = self._texts.union(*(_names_in_body(c) for c in self._classes.values() if c.name in family))
        bound = [name for name, owner in self._bound_attributes if not owner or owner in family]
        return {
            name: made
            for name, made in found.items()
            if made is not None and bound.count(name) == 1 and name not in elsewhere
        }

    def _family(self, name: str) -> set[str]:
        """A class with its bases and subclasses in the file."""
        bases = {c.name: {last_name(b) for b in c.bases} & self._classes.keys() for c in self._classes.values()}
        above, below = {name}, {name}
        for _ in bases:
            above |= {b for c in above for b in bases[c]}
            below |= {c for c in bases if bases[c] & below}
        return above | below


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


def _stands_in(error: CompileError, node: Any) -> bool:
    """Whether one of the places of an error is in a part of the file."""
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return any(first <= place[1:3] < last for place, _ in error.spans)


def _bound_attributes(node: Any, cls: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, gast.Attribute) and not isinstance(node.ctx, gast.Load):
        yield node.attr, cls if getattr(node.value, "id", "") == "self" else ""
    inside = node.name if isinstance(node, gast.ClassDef) else cls
    for child in gast.iter_child_nodes(node):
        yield from _bound_attributes(child, inside)


def _names_in_body(cls: Any) -> set[str]:
    """The names that the body of a class binds."""
    stored = {n.id for n in _own_nodes(cls) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)}
    return stored | {s.name for s in cls.body if isinstance(s, gast.FunctionDef | gast.ClassDef)}


def _binds_any_attribute(node: Any) -> bool:
    """Whether a call binds an attribute whose name stands in no text of its own, or may do so."""
    if isinstance(node, gast.Attribute):
        return node.attr in ("__dict__", "__setattr__")
    called = last_name(node.func) if isinstance(node, gast.Call) else ""
    return called == "vars" or (called == "setattr" and not isinstance(node.args[1:2] and node.args[1], gast.Constant))


def _names_of(decorator: Any) -> set[str]:
    return {last_name(n) for n in gast.walk(decorator) if isinstance(n, gast.Name | gast.Attribute)}
