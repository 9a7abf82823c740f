"""What happens in a function whenever it runs, in the statements before its first branch or loop: what Python raises
there for constants and unbound names, and calls of the function itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import gast

from ..errors import CompileError, RecursionDepthError, UnboundVariableError
from ..frontend.source_tree import SourceTree
from .scopes import Scopes, container_of, is_jit

__all__ = ["always_raised"]

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
#: Of these, constants can be computed without much work.
_CONSTANT = (
    gast.Constant, gast.List, gast.Tuple, gast.Dict, gast.Set, gast.UnaryOp, gast.USub, gast.BinOp, gast.Add, gast.Sub,
    gast.Div, gast.FloorDiv, gast.Mod, gast.Subscript, gast.Load, gast.Call, gast.Name,
)  # fmt: skip
#: Statements after which the next one is reached, with what is computed in them.
_STRAIGHT = (
    gast.Expr, gast.Assign, gast.AugAssign, gast.AnnAssign, gast.Global, gast.Nonlocal, gast.Pass, gast.Delete,
    gast.Import, gast.ImportFrom, gast.FunctionDef,
)  # fmt: skip
_CONSTANT_CALLS = {"len", "int", "float", "abs", "min", "max", "sum", "sorted", "tuple", "list", "set"}


def always_raised(tree: SourceTree, scopes: Scopes) -> Iterator[CompileError]:
    """The errors of the statements of a function that are reached for sure; `scopes` are those in its body."""
    body = tree.node.body
    names = _Names(tree, scopes)
    for statement in body if isinstance(body, list) else [gast.Expr(body)]:
        for part in _computed(statement):
            yield from _constants(part, tree)
            yield from names.read_in(part)
        names.bind_in(statement)
        if not isinstance(statement, _STRAIGHT):
            return  # what comes after may not be reached


def _computed(statement: Any) -> list[Any]:
    """The expressions that are computed first in a statement, in this order."""
    match statement:
        case gast.AnnAssign(target=target, value=value):
            inner = [] if isinstance(target, gast.Name) else [target]
            return [*([value] if value is not None else []), *inner]
        case gast.AugAssign(target=target, value=value):
            read = gast.Name(target.id, gast.Load(), None, None) if isinstance(target, gast.Name) else None
            return [gast.copy_location(read, target) if read is not None else target, value]
        case gast.Assign(targets=targets, value=value):
            return [value, *targets]
        case gast.FunctionDef(args=args, decorator_list=decorators):
            return [*decorators, *args.defaults, *(d for d in args.kw_defaults if d is not None)]
        case gast.Expr() | gast.Return() | gast.Delete():
            return [statement]
        case gast.If(test=test) | gast.While(test=test) | gast.Assert(test=test):
            return [test]
        case gast.For():
            return [statement.iter]
        case gast.With(items=[first, *_]):
            return [first.context_expr]
    return []


def _for_sure(node: Any) -> Iterator[Any]:
    """The expressions in one that are computed whenever it is."""
    match node:
        case gast.Lambda():
            return
        case gast.IfExp(test=test):
            parts = [test]
        case gast.BoolOp(values=[first, *_]):
            parts = [first]
        case gast.Compare(left=left, comparators=[first, *_]):
            parts = [left, first]
        case gast.ListComp() | gast.SetComp() | gast.DictComp() | gast.GeneratorExp():
            parts = [node.generators[0].iter]
        case _:
            parts = list(gast.iter_child_nodes(node))
    for part in parts:
        yield from _for_sure(part)
    yield node


class _Names:
    """Which local names of a function have a value."""

    def __init__(self, tree: SourceTree, scopes: Scopes) -> None:
        self._tree, self._scopes = tree, scopes
        self._local = set(scopes.chain[-1])
        self._bound = {n.id for n in gast.walk(tree.node.args) if isinstance(n, gast.Name)}
        self._itself = tree.node if all(map(is_jit, getattr(tree.node, "decorator_list", ()))) else None

    def read_in(self, part: Any) -> Iterator[CompileError]:
        """What is raised for names that have no value, and for calls of the function itself."""
        for node in _for_sure(part):
            match node:
                case gast.NamedExpr(target=gast.Name(id=name)):
                    self._bound.add(name)
                case gast.Name(id=name, ctx=gast.Load() | gast.Del()) if name in self._local - self._bound:
                    self._bound.add(name)  # to be said once
                    hint = f"give '{name}' a value before this line"
                    yield UnboundVariableError(f"'{name}' has no value here", loc=self._tree.loc(node), hint=hint)
                case gast.Call(func=gast.Name(id=name)) if self._itself is not None:
                    if self._scopes.find(name)[1] is self._itself:
                        text = f"{name} calls itself whenever it is called"
                        hint = "write it as a loop, or stop it earlier by a number known at compile time"
                        yield RecursionDepthError(text, loc=self._tree.loc(node), hint=hint)

    def bind_in(self, statement: Any) -> None:
        """Notes the names that a statement gives values or, as `del` does, takes them from."""
        for node in gast.walk(statement):
            match node:
                case gast.Name(id=name, ctx=gast.Store()):
                    self._bound.add(name)
                case gast.alias():
                    self._bound.add(node.asname or node.name.partition(".")[0])
                case gast.FunctionDef(name=name) | gast.ClassDef(name=name):
                    self._bound.add(name)
        if isinstance(statement, gast.AnnAssign) and statement.value is None:
            self._bound -= {getattr(statement.target, "id", "")}
        if isinstance(statement, gast.Delete):
            self._bound -= {t.id for t in statement.targets if isinstance(t, gast.Name)}


# ---------------------------------------------------------------------------------------------------- constants
def _constants(part: Any, tree: SourceTree) -> Iterator[CompileError]:
    """What Python raises for the constant expressions in a part of a statement that is reached for sure."""
    todo = [part]
    while todo:
        node = todo.pop()
        if isinstance(node, (gast.Lambda, gast.IfExp, gast.BoolOp, *_COMPREHENSIONS)):
            continue  # parts of it may never be computed
        raised = _raised_by(node) if isinstance(node, gast.expr) and not isinstance(node, gast.Name) else None
        if raised is not None:
            kind = type(raised)
            shown: Any = type(kind.__name__, (CompileError, kind), {})
            hint = "correct the expression: Python raises this without `jit`, too"
            yield shown(str(raised), code="", loc=tree.loc(node), hint=hint)
        else:
            todo += gast.iter_child_nodes(node)


def _raised_by(node: Any) -> Exception | None:
    """The exception that a constant expression raises; None if it has none, or is none."""
    if not isinstance(node, gast.BinOp | gast.Subscript | gast.Call | gast.Set | gast.Dict):
        return None
    hashed = node.elts if isinstance(node, gast.Set) else node.keys if isinstance(node, gast.Dict) else []
    for part in hashed:
        made = container_of(part)
        if made is not None:
            return TypeError(f"unhashable type: '{made.kind}'")
    parts = list(gast.walk(node))
    names = [p for p in parts if isinstance(p, gast.Name)]
    called = [p.func for p in parts if isinstance(p, gast.Call)]
    simple = all(isinstance(p, _CONSTANT) for p in parts) and all(any(n is f for f in called) for n in names)
    if not simple or any(n.id not in _CONSTANT_CALLS for n in names):
        return None
    try:
        eval(compile(ast.fix_missing_locations(ast.Expression(gast.gast_to_ast(node))), "<constant>", "eval"))
    except Exception as error:
        return error
    return None
