"""Scopes of a file: what its names are bound to, as far as the text tells."""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import gast

from ..frontend.variables.foreign import IMPURE

#: Names that Python binds in every module and method.
_GIVEN = {"__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__builtins__", "__class__"}
#: Functions that may bind names of a module behind its text: called anywhere, or at its top only.
_HIDDEN = {"globals", "vars"}
_HIDDEN_AT_TOP = {"exec", "setattr", "__import__"}
_DISPLAYS = {
    **dict.fromkeys((gast.List, gast.ListComp), "list"),
    **dict.fromkeys((gast.Dict, gast.DictComp), "dict"),
    **dict.fromkeys((gast.Set, gast.SetComp), "set"),
}
_PERHAPS_CONSTANT = (
    gast.Constant, gast.Name, gast.Attribute, gast.Tuple, gast.UnaryOp, gast.BinOp, gast.BoolOp, gast.Compare,
    gast.Subscript,
)  # fmt: skip

_PACKAGE = __name__.partition(".")[0]
#: What `jit` is called here and in older MindSpore.
_JIT = ("jit", "ms_function")
#: The longest chain of names bound to names that is followed.
FAR = 20

#: An unknown value, and a name that a module does not have.
UNKNOWN, MISSING = object(), object()


@dataclass(frozen=True)
class Imported:
    """A name that stands for a module or a part of one; a path that begins with dots is a relative one."""

    path: str


@dataclass(frozen=True)
class Container:
    """A name that was bound once, to a new list, dict or set; `called` where that was made by a call of its class."""

    kind: str
    called: bool = False


@dataclass(frozen=True)
class Made:
    """A name bound once, to the result of a call of a (dotted) name."""

    call: Any

    @property
    def maker(self) -> Any:
        """The name that is called."""
        return self.call.func


@dataclass(frozen=True)
class Value:
    """A name bound once, to an expression that may be constant."""

    node: Any


#: What a name of a scope stands for: one of the above, the node of a function or class, None where nothing is known.
Scope: TypeAlias = dict[str, Any]


def container_of(node: Any) -> Container | None:
    """The container that an expression makes: a display, a comprehension, or ``list()`` and the like."""
    kind = _DISPLAYS.get(type(node))
    if kind is None and isinstance(node, gast.Call) and isinstance(node.func, gast.Name):
        return Container(node.func.id, called=True) if node.func.id in ("list", "dict", "set") else None
    return Container(kind) if kind is not None else None


def is_jit(node: Any, scopes: Scopes, far: int = 0) -> bool:
    """Whether a decorator, or what is called, compiles: ``jit``, ``jit(...)`` with options, or ``partial(jit, ...)``.

    Names are followed to what they were imported from or bound to.  `jit` of another library is not meant, and neither
    is ``jit(f)``, which is a compiled function.
    """
    if isinstance(node, gast.Call):
        if scopes.real_name(node.func) == "partial":
            return len(node.args) == 1 and is_jit(node.args[0], scopes, far)
        return not given_to_jit(node) and is_jit(node.func, scopes, far)
    if scopes.real_name(node) in _JIT and scopes.perhaps_ours(node):
        return True
    name, around = scopes.followed(node)
    depth, meaning = around.find(name.id) if isinstance(name, gast.Name) else (-1, None)
    return isinstance(meaning, Made) and far < FAR and is_jit(meaning.call, around.up_to(depth), far + 1)


def given_to_jit(call: Any) -> list[Any]:
    """The function that a call of `jit` compiles."""
    return [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("function", "fn"))]


def last_name(node: Any) -> str:
    """The name that a dotted name ends in; empty for what is none."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def made_of(node: Any) -> Any:
    """What is known of the value of an expression: a `Container`, what a call made, a lambda; None for others."""
    if isinstance(node, gast.Lambda):
        return node
    if isinstance(node, _PERHAPS_CONSTANT) or last_name(getattr(node, "func", None)) == "hasattr":
        return Value(node)
    called = isinstance(node, gast.Call) and isinstance(node.func, gast.Name | gast.Attribute)
    return container_of(node) or (Made(node) if called else None)


def _scope_of(node: Any) -> Scope:
    """The bindings of a module or function; a name bound several times is unknown."""
    found: Scope = {}
    outer: set[str] = set()
    for name, meaning in _bindings(node, outer):
        found[name] = None if name in found else meaning
    return {name: meaning for name, meaning in found.items() if name not in outer}


def _bindings(scope: Any, outer: set[str]) -> Iterator[tuple[str, Any]]:
    todo: list[Any] = [*scope.body] if isinstance(scope.body, list) else [scope.body]
    if not isinstance(scope, gast.Module):
        todo.append(scope.args)
    while todo:
        node = todo.pop()
        match node:
            case (
                gast.Assign(targets=[gast.Name(id=name)], value=value)
                | gast.AnnAssign(target=gast.Name(id=name), value=value)
            ):
                yield name, made_of(value)
                todo += [value] if value is not None else []
                continue
            case gast.Assign(targets=[gast.Tuple(elts=names)], value=gast.Tuple(elts=values)) if _fits(names, values):
                yield from [(n.id, made_of(v)) for n, v in zip(names, values, strict=True)]
                todo += values
                continue
            case gast.Name(id=name, ctx=gast.Store() | gast.Del() | gast.Param()):
                yield name, None
            case gast.Import():
                for alias in node.names:
                    name, top = alias.asname or alias.name.partition(".")[0], alias.name.partition(".")[0]
                    yield name, Imported(alias.name if alias.asname else top)
            case gast.ImportFrom():
                for alias in node.names:
                    start = "." * (node.level or 0) + (f"{node.module}." if node.module else "")
                    yield alias.asname or alias.name, Imported(start + alias.name)
            case gast.FunctionDef() | gast.AsyncFunctionDef() | gast.ClassDef():
                yield node.name, node
                continue
            case gast.Lambda():
                continue
            case gast.Global() | gast.Nonlocal():
                outer.update(node.names)
            case gast.comprehension():
                todo += [node.iter, *node.ifs]  # the target is the comprehension's own
                continue
            case gast.MatchAs(name=str(name)) | gast.MatchStar(name=str(name)) | gast.MatchMapping(rest=str(name)):
                yield name, None
        todo += gast.iter_child_nodes(node)


def _names_at_top(module: Any) -> set[str]:
    """The names that a module reads while it is imported."""
    names, todo = set(), [*module.body]
    while todo:
        node = todo.pop()
        if isinstance(node, gast.Name):
            names.add(node.id)
        if not isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda):
            todo += gast.iter_child_nodes(node)
    return names


def _fits(targets: list[Any], values: list[Any]) -> bool:
    """Whether each target is a name that gets the value of the same number."""
    return len(targets) == len(values) and all(isinstance(t, gast.Name) for t in targets)


def _assigned_elsewhere(module: Any, top: Scope) -> Scope:
    """The module's names to which a `global` statement lets other code give something else than what is known."""
    found: Scope = {}
    for scope in gast.walk(module):
        if isinstance(scope, gast.ClassDef | gast.Module):  # what their own statements bind is not looked at
            names = [n for s in scope.body if isinstance(s, gast.Global) for n in s.names]
            found |= dict.fromkeys(names)
        elif isinstance(scope, gast.FunctionDef | gast.AsyncFunctionDef):
            declared = {n for s in gast.walk(scope) if isinstance(s, gast.Global) for n in s.names}
            bound = list(_bindings(scope, set())) if declared else []
            found |= {n: None for n in declared if n not in top}
            found |= {n: None for n, meaning in bound if n in declared and (meaning is None or meaning != top.get(n))}
    return found


class Scopes:
    """The scopes around a place of a file, the module's first."""

    def __init__(self, module: Any, file: str) -> None:
        top = _scope_of(module)
        top |= _assigned_elsewhere(module, top)
        names = {n.id for n in gast.walk(module) if isinstance(n, gast.Name)}
        #: whether the text shows every name of the module
        self.complete = "*" not in top and not names & _HIDDEN and not _names_at_top(module) & _HIDDEN_AT_TOP
        self.module, self._file = top, file
        self.chain: tuple[Scope, ...] = (top,)

    def inside(self, node: Any) -> Scopes:
        """The scopes in the body of a function or lambda."""
        return self.with_names(_scope_of(node))

    def with_names(self, names: Scope) -> Scopes:
        """The scopes with these names bound in addition."""
        new = object.__new__(Scopes)
        new.complete, new.module, new._file = self.complete, self.module, self._file
        new.chain = (*self.chain, names)
        return new

    def find(self, name: str) -> tuple[int, Any]:
        """The depth of the scope that binds a name (-1: builtin, or nowhere) and what it stands for there."""
        for depth in range(len(self.chain) - 1, -1, -1):
            if name in self.chain[depth]:
                return depth, self.chain[depth][name]
        if name in _GIVEN or "*" in self.module:
            return -1, UNKNOWN
        return -1, getattr(builtins, name, MISSING if self.complete else UNKNOWN)

    def up_to(self, depth: int) -> Scopes:
        """The scopes around, and with, the one of this depth."""
        new = self.with_names({})
        new.chain = self.chain[: depth + 1]
        return new

    def visible(self) -> set[str]:
        """All names that can be read here."""
        return {*dir(builtins), *(name for scope in self.chain for name in scope)}

    def followed(self, node: Any) -> tuple[Any, Scopes]:
        """The (dotted) name that a name was bound to, or the node itself, and the scopes around that."""
        scopes = self
        for _ in range(FAR):
            depth, meaning = scopes.find(node.id) if isinstance(node, gast.Name) else (-1, None)
            if not (isinstance(meaning, Value) and isinstance(meaning.node, gast.Name | gast.Attribute)):
                break
            node, scopes = meaning.node, scopes.up_to(depth)
        return node, scopes

    def path(self, node: Any) -> str | None:
        """The dotted path from which a (dotted) name, or what it was bound to, was imported, or None."""
        node, scopes = self.followed(node)
        if isinstance(node, gast.Attribute):
            owner = scopes.path(node.value)
            return owner and f"{owner}.{node.attr}"
        meaning = scopes.find(node.id)[1] if isinstance(node, gast.Name) else None
        return meaning.path if isinstance(meaning, Imported) else None

    def real_name(self, node: Any) -> str:
        """The last part of a (dotted) name, where it was imported that of its path; empty for what is no name."""
        return (self.path(node) or last_name(self.followed(node)[0])).rpartition(".")[2]

    def perhaps_ours(self, node: Any) -> bool:
        """Whether a (dotted) name may stand for something of this package: it does not come from another library.

        Modules of the user's own, which may hand on what is ours, stand beside the file or a folder that it is in.
        """
        root = (self.path(node) or "").partition(".")[0]
        if root in ("", "mindspore", _PACKAGE):
            return True
        folder, beside = os.path.dirname(os.path.abspath(self._file)), []
        while folder not in beside:
            beside += [os.path.join(folder, "src"), folder]
            folder = os.path.dirname(folder)
        return any(os.path.isdir(p) or os.path.isfile(f"{p}.py") for p in (os.path.join(b, root) for b in beside))

    def sure(self, made: Any) -> bool:
        """Whether what is known of a name or an expression is no `Container` made by a class of the user's own."""
        called = isinstance(made, Container) and made.called
        return not called or self.find(made.kind)[1] is getattr(builtins, made.kind)

    def resolve(self, node: Any) -> Any:
        """The object or definition that a (dotted) name stands for; `UNKNOWN`, or `MISSING` where it is no name."""
        if isinstance(node, gast.Name):
            meaning = self.find(node.id)[1]
            if meaning is None or isinstance(meaning, Value) or not self.sure(meaning):
                return UNKNOWN
            return _imported(meaning.path) if isinstance(meaning, Imported) else meaning
        if isinstance(node, gast.Attribute):
            owner = self.resolve(node.value)
            if isinstance(owner, type(sys)):
                return getattr(owner, node.attr, MISSING)
        return UNKNOWN


def _imported(path: str) -> Any:
    """A module, or a part of one, that is loaded already or belongs to the standard library."""
    root, *parts = path.split(".")
    if root not in sys.modules and not (root in IMPURE and root in sys.stdlib_module_names):
        return UNKNOWN
    found: Any = importlib.import_module(root)
    for n, part in enumerate(parts, 1):
        if not hasattr(found, part):
            inner = ".".join([root, *parts[:n]])
            if inner not in sys.modules:
                return UNKNOWN
        found = getattr(found, part, UNKNOWN)
    return found
