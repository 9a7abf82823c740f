"""Functions being compiled and the names they see: prepared trees, frames, binding of arguments."""

from __future__ import annotations

import ast
import weakref
from dataclasses import dataclass, field
from typing import Any

import gast

from ...errors import ArgumentError
from ...locks import Lock
from ...source import Loc
from . import jumps, source_tree, unsupported_syntax
from .source_tree import SourceTree


@dataclass(frozen=True, eq=False)
class Prepared:
    """A function ready for lowering: its jump-free node and the names that are local to it."""

    tree: SourceTree
    node: Any
    local_names: frozenset[str]
    #: the functions defined inside, by the id of their node in `node`
    nested: dict[int, Prepared] = field(default_factory=dict)
    #: what it declares `global` and `nonlocal`, and those of its variables that functions inside declare `nonlocal`
    global_names: frozenset[str] = frozenset()
    nonlocal_names: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    #: see `interpreter.filled_tuples`: by the id of a loop what it may fill, and the loop that fills lists
    filled: dict[int, dict[str, int]] = field(default_factory=dict)
    with_lists: dict[tuple[int, frozenset[str]], Any] = field(default_factory=dict)


_prepared: dict[int, tuple[weakref.ref[Any], Prepared]] = {}
_lock = Lock()


def prepare(fn: Any) -> Prepared:
    """The prepared form of a Python function, made once per code object and forgotten with it."""
    code = fn.__code__
    found = _prepared.get(id(code))
    if found is not None and found[0]() is code:
        return found[1]
    made = _prepare(_without_pauses(source_tree.load(fn)))
    key = id(code)
    with _lock:
        _prepared[key] = (weakref.ref(code, lambda _: _prepared.pop(key, None)), made)
    return made


def prepare_nested(outer: Prepared, node: Any) -> Prepared:
    """The prepared form of a function defined inside another, made once per node."""
    found = outer.nested.get(id(node))
    if found is None:
        found = outer.nested.setdefault(id(node), _prepare(_without_pauses(outer.tree.inner(node))))
    return found


def _without_pauses(tree: SourceTree) -> SourceTree:
    """A tree, unless its call gives a generator or a coroutine: that is refused, whichever line runs first."""
    error = unsupported_syntax.pausing(tree)
    if error is not None:
        raise error
    return tree


def _prepare(tree: SourceTree) -> Prepared:
    node = jumps.remove_jumps(tree.node)
    params = {a.id for a in parameters(node)}
    body = node.body if isinstance(node.body, list) else []
    declared = _Declared()
    for stmt in body:
        declared.visit(stmt)
    own = (params | assigned_names(body)) - declared.globals - declared.nonlocals
    names = [frozenset(x) for x in (declared.globals, declared.nonlocals, own & declared.inside)]
    return Prepared(tree, node, frozenset(own), {}, names[0], names[1], names[2])


class _Declared(gast.NodeVisitor):
    """The names in the `global` and `nonlocal` statements of a function, and in `nonlocal` ones of functions inside."""

    def __init__(self) -> None:
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.inside: set[str] = set()

    def visit_Global(self, node: Any) -> None:
        self.globals |= {*node.names}

    def visit_Nonlocal(self, node: Any) -> None:
        self.nonlocals |= {*node.names}

    def _scope(self, node: Any) -> None:
        inner = _Declared()
        inner.generic_visit(node)
        self.inside |= inner.nonlocals | inner.inside

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope


def parameters(node: Any) -> list[Any]:
    """All parameter nodes of a function, in the order of its signature."""
    a = node.args
    return [*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []), *a.kwonlyargs, *([a.kwarg] if a.kwarg else [])]


_SCOPES = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda, gast.ClassDef)
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)


def assigned_names(stmts: list[Any]) -> set[str]:
    """Names that these statements bind in the scope they stand in (nested functions have scopes of their own)."""
    names: set[str] = set()
    stack: list[Any] = list(stmts)
    while stack:
        node = stack.pop()
        if isinstance(node, _SCOPES):
            if not isinstance(node, gast.Lambda):
                names.add(node.name)
            continue
        if isinstance(node, _COMPREHENSIONS):
            # The targets of a comprehension are its own; a walrus inside binds here.
            stack += [w for w in gast.walk(node) if isinstance(w, gast.NamedExpr)]
            continue
        if isinstance(node, gast.Import | gast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, gast.Name) and isinstance(node.ctx, gast.Store | gast.Del):
            names.add(node.id)
        stack += gast.iter_child_nodes(node)
    return names


def bind_arguments(
    node: Any,
    name: str,
    args: list[Any],
    kwargs: dict[str, Any],
    defaults: tuple[Any, ...],
    kw_defaults: dict[str, Any],
    loc: Loc | None,
    tree: SourceTree | None = None,
) -> dict[str, Any]:
    """Parameter names to values, by Python's rules; `tree` is that of the function, which an error shows."""
    a = node.args

    def misfit(problem: str, hint: str | None = None) -> ArgumentError:
        kwonly = [p.id for p in a.kwonlyargs]
        known = {*positional[: len(args)], *kwargs, *positional[len(positional) - len(defaults) :], *kw_defaults}
        absent = [p for p in (*positional, *kwonly) if p not in known]
        given = [f"{len(args)} by position"] * bool(args) + [f"'{k}' by name" for k in kwargs]
        notes = [f"given: {', '.join(given) or 'nothing'}"]
        notes += [f"missing: {', '.join(map(repr, absent))}"] if absent and "needs" not in problem else []
        spans = [(place, note) for place, note in ((loc, ""), (_head(tree), "defined here")) if place is not None]
        signature = ast.unparse(gast.gast_to_ast(a))
        hint = hint or f"call it as {name}({signature})"
        return ArgumentError(f"{name}() {problem}", spans=spans, notes=notes, hint=hint)

    positional = [p.id for p in (*a.posonlyargs, *a.args)]
    only_positional = {p.id for p in a.posonlyargs}
    env: dict[str, Any] = dict(zip(positional, args, strict=False))
    if len(args) > len(positional) and a.vararg is None:
        raise misfit(f"takes {_count(len(positional))}, {len(args)} were given")
    if a.vararg is not None:
        env[a.vararg.id] = tuple(args[len(positional) :])
    keywords = set(positional) - only_positional | {p.id for p in a.kwonlyargs}
    rest = {}
    for key, value in kwargs.items():
        if key in keywords:
            if key in env:
                raise misfit(f"got the argument '{key}' twice", "give it by position or by name")
            env[key] = value
        elif a.kwarg is not None:
            rest[key] = value
        else:
            raise misfit(f"has no parameter '{key}'")
    if a.kwarg is not None:
        env[a.kwarg.id] = rest
    for p, default in zip(reversed(positional), reversed(defaults), strict=False):
        env.setdefault(p, default)
    for key, default in kw_defaults.items():
        env.setdefault(key, default)
    missing = [p for p in (*positional, *(p.id for p in a.kwonlyargs)) if p not in env]
    if missing:
        raise misfit(f"needs {', '.join(repr(m) for m in missing)}")
    return env


def _count(n: int) -> str:
    return f"{n} positional argument{'s' * (n != 1)}"


def _head(tree: SourceTree | None) -> Loc | None:
    """The place of a definition, if it is the user's."""
    loc = tree.loc(tree.node) if tree is not None else None
    return loc if loc is not None and loc.of_user() is loc else None
