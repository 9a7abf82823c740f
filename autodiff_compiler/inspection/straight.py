"""Errors that every run of a function raises: in its straight-line prefix, for constants, unbound names and endless
recursion."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

import gast

from ..errors import CompileError, RecursionDepthError, UnboundVariableError
from ..frontend.syntax.source_tree import SourceTree
from .scopes import Scopes, container_of, is_jit

#: Expressions that are cheap to evaluate if their operands are constants.
_CONSTANT = (
    gast.Constant, gast.List, gast.Tuple, gast.Dict, gast.Set, gast.UnaryOp, gast.USub, gast.BinOp, gast.Add, gast.Sub,
    gast.Div, gast.FloorDiv, gast.Mod, gast.Subscript, gast.Load, gast.Call, gast.Name,
)  # fmt: skip
#: Straight-line statements: behind one the next is reached.
_STRAIGHT = (
    gast.Expr, gast.Assign, gast.AugAssign, gast.AnnAssign, gast.Global, gast.Nonlocal, gast.Pass, gast.Delete,
    gast.Import, gast.ImportFrom, gast.FunctionDef,
)  # fmt: skip
_CONSTANT_CALLS = {"len", "int", "float", "abs", "min", "max", "sum", "sorted", "tuple", "list", "set"}


def always_raised(tree: SourceTree, scopes: Scopes) -> tuple[list[CompileError], list[Any]]:
    """The errors of the statements of a function that are reached for sure, and the functions that are called there.

    `scopes` are those in its body.
    """
    body = tree.node.body
    names = _Names(tree, scopes)
    errors: list[CompileError] = []
    for statement in body if isinstance(body, list) else [gast.Expr(body)]:
        for part in _computed(statement):
            errors += _constants(part, tree, scopes)
            errors += names.read_in(part)
        names.bind_in(statement)
        if not isinstance(statement, _STRAIGHT):
            break  # what comes after may not be reached
    return errors, names.called


def _computed(statement: Any) -> list[Any]:
    """The expressions that a statement evaluates unconditionally, in order."""
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
    """The subexpressions that are always evaluated, in order, and the `:=` that may be."""
    perhaps: list[Any] = []
    match node:
        case gast.Lambda():
            return
        case gast.IfExp(test=test):
            parts, perhaps = [test], [node.body, node.orelse]
        case gast.BoolOp(values=[first, *perhaps]):
            parts = [first]
        case gast.Compare(left=left, comparators=[first, *perhaps]):
            parts = [left, first]
        case gast.ListComp() | gast.SetComp() | gast.DictComp() | gast.GeneratorExp():
            parts, perhaps = [node.generators[0].iter], [node]
        case gast.Dict(keys=keys, values=values):
            parts = [part for pair in zip(keys, values, strict=True) for part in pair if part is not None]
        case _:
            parts = list(gast.iter_child_nodes(node))
    for part in parts:
        yield from _for_sure(part)
    yield from (n for part in perhaps for n in gast.walk(part) if isinstance(n, gast.NamedExpr))
    yield node


class _Names:
    """Definite assignment: which local names of a function are bound."""

    def __init__(self, tree: SourceTree, scopes: Scopes) -> None:
        self._tree, self._scopes = tree, scopes
        self._local = set(scopes.chain[-1])
        self._bound = {n.id for n in gast.walk(tree.node.args) if isinstance(n, gast.Name)}
        #: the functions of the file that are called
        self.called: list[Any] = []

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
                case gast.Call(func=gast.Name(id=name)):
                    yield from self._called(name, node)

    def _called(self, name: str, call: Any) -> Iterator[CompileError]:
        function = self._scopes.find(name)[1]
        if not isinstance(function, gast.FunctionDef) or not all(
            is_jit(d, self._scopes) for d in function.decorator_list
        ):
            return  # a decorator may leave the function alone
        self.called.append(function)
        if function is self._tree.node:
            text = f"{name} calls itself whenever it is called"
            hint = "write it as a loop, or stop it earlier by a number known at compile time"
            yield RecursionDepthError(text, loc=self._tree.loc(call), hint=hint)

    def bind_in(self, statement: Any) -> None:
        """Notes the names that a statement binds or deletes."""
        if isinstance(statement, gast.AnnAssign) and statement.value is None:
            return  # it only says what the name may have
        for node in gast.walk(statement):
            match node:
                case gast.Name(id=name, ctx=gast.Store()):
                    self._bound.add(name)
                case gast.alias():
                    self._bound.add(node.asname or node.name.partition(".")[0])
                case gast.FunctionDef(name=name) | gast.ClassDef(name=name):
                    self._bound.add(name)
        if isinstance(statement, gast.Delete):
            self._bound -= {t.id for t in statement.targets if isinstance(t, gast.Name)}


# ---------------------------------------------------------------------------------------------------- constants
def _constants(part: Any, tree: SourceTree, scopes: Scopes) -> Iterator[CompileError]:
    """The error of the first constant expression in a reached part that raises."""
    for node in _for_sure(part):
        raised = _raised_by(node, scopes)
        if raised is not None:
            kind = type(raised)
            shown: Any = type(kind.__name__, (CompileError, kind), {})
            hint = "correct the expression: Python raises this without `jit`, too"
            yield shown(str(raised), code="", loc=tree.loc(node), hint=hint)
            return


def _raised_by(node: Any, scopes: Scopes) -> Exception | None:
    """The exception that a constant expression raises; None if it has none, or is none."""
    if not isinstance(node, gast.BinOp | gast.Subscript | gast.Call | gast.Set | gast.Dict):
        return None
    hashed = node.elts if isinstance(node, gast.Set) else node.keys if isinstance(node, gast.Dict) else []
    for part in hashed:
        made = container_of(part)
        if made is not None and scopes.sure(made):
            return TypeError(f"unhashable type: '{made.kind}'")
    parts = list(gast.walk(node))
    names = [p for p in parts if isinstance(p, gast.Name)]
    called = [p.func for p in parts if isinstance(p, gast.Call)]
    simple = all(isinstance(p, _CONSTANT) for p in parts) and all(any(n is f for f in called) for n in names)
    ours = any(n.id not in _CONSTANT_CALLS or scopes.resolve(n) is not getattr(builtins, n.id) for n in names)
    if not simple or ours:
        return None
    try:
        eval(compile(ast.fix_missing_locations(ast.Expression(gast.gast_to_ast(node))), "<constant>", "eval"))
    except Exception as error:
        return error
    return None
