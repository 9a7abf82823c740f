"""Reachability by constant folding: which conditions and branches the text of a file decides."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import gast

from .classes import Attributes
from .scopes import FAR, UNKNOWN, Scopes, Value

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    gast.Eq: operator.eq, gast.NotEq: operator.ne, gast.Lt: operator.lt, gast.LtE: operator.le, gast.Gt: operator.gt,
    gast.GtE: operator.ge, gast.Is: operator.is_, gast.IsNot: operator.is_not, gast.In: lambda a, b: _within(a, b),
    gast.NotIn: lambda a, b: not _within(a, b), gast.Add: operator.add, gast.Sub: operator.sub, gast.Mod: operator.mod,
    gast.FloorDiv: operator.floordiv,
}  # fmt: skip
_VALUES = (bool, int, float, str, tuple, type(None))
_DISPLAYS = {gast.Tuple: tuple, gast.List: list, gast.Set: set}
#: Builtins that are cheap to evaluate on any constant.
_FOLDED = (len, range, bool, int, float, str, abs)


def truth(node: Any, scopes: Scopes, attributes: Attributes, far: int = 0) -> bool | None:
    """The constant truth of a condition; None where the file does not decide it.

    `attributes` has what is known of those of objects.
    """
    match node:
        case gast.BoolOp(op=op, values=values):
            each = [truth(v, scopes, attributes, far) for v in values]
            decides = isinstance(op, gast.Or)
            return decides if decides in each else None if None in each else not decides
        case gast.UnaryOp(op=gast.Not(), operand=operand):
            inner = truth(operand, scopes, attributes, far)
            return None if inner is None else not inner
        case gast.Compare(ops=[_, _, *_], comparators=operands):
            pairs = zip([node.left, *operands], node.ops, operands, strict=False)
            links = [gast.Compare(left, [op], [right]) for left, op, right in pairs]
            return truth(gast.BoolOp(gast.And(), links), scopes, attributes, far)
        case gast.List() | gast.Tuple() | gast.Set() | gast.Dict():
            parts = node.keys if isinstance(node, gast.Dict) else node.elts
            spread = any(part is None or isinstance(part, gast.Starred) for part in parts)
            return None if spread else bool(parts)
        case gast.Name(id=name):
            depth, found = scopes.find(name)
            if isinstance(found, Value) and far < FAR:
                return truth(found.node, scopes.up_to(depth), attributes.outside(), far + 1)
    value = _known(node, scopes, attributes, far)
    return bool(value) if isinstance(value, (*_VALUES, range)) else None


def _known(node: Any, scopes: Scopes, attributes: Attributes, far: int) -> Any:
    """The value of an expression, or `UNKNOWN`."""
    if far > FAR:
        return UNKNOWN

    def known(part: Any) -> Any:
        return _known(part, scopes, attributes, far + 1)

    match node:
        case gast.Constant(value=value):
            return value
        case gast.Name(id=name) if isinstance(scopes.find(name)[1], Value):
            depth, found = scopes.find(name)
            return _known(found.node, scopes.up_to(depth), attributes.outside(), far + 1)
        case gast.Name() | gast.Attribute():
            bound, around = attributes.find(node, scopes)
            if isinstance(bound, Value):
                return _known(bound.node, around, attributes.outside(), far + 1)
            found = scopes.resolve(node)
            return found if isinstance(found, _VALUES) else UNKNOWN
        case gast.Tuple(elts=parts) | gast.List(elts=parts) | gast.Set(elts=parts):
            return _computed(lambda *values: _DISPLAYS[type(node)](values), *map(known, parts))
        case gast.UnaryOp(op=gast.USub(), operand=operand):
            return _computed(operator.neg, known(operand))
        case gast.UnaryOp(op=gast.Not()) | gast.BoolOp() | gast.Compare(ops=[_, _, *_]):
            value = truth(node, scopes, attributes, far + 1)
            return UNKNOWN if value is None else value
        case gast.BinOp(left=left, op=op, right=right) | gast.Compare(left=left, ops=[op], comparators=[right]):
            return _computed(_OPERATORS.get(type(op)), known(left), known(right))
        case gast.Subscript(value=owner, slice=gast.Slice(lower=lower, upper=upper, step=None)):
            bounds = [None if bound is None else known(bound) for bound in (lower, upper)]
            return _computed(lambda o, a, b: o[a:b], known(owner), *bounds)
        case gast.Subscript(value=owner, slice=index):
            return _computed(operator.getitem, known(owner), known(index))
        case gast.Call(func=gast.Name(), args=parts, keywords=[]):
            return _called(scopes.resolve(node.func), parts, known, scopes)
    return UNKNOWN


def _called(function: Any, parts: list[Any], known: Callable[[Any], Any], scopes: Scopes) -> Any:
    """The result of a call of a builtin, or `UNKNOWN`."""
    if any(function is folded for folded in _FOLDED):
        return _computed(function, *map(known, parts))
    if len(parts) != 2:
        return UNKNOWN
    if function is isinstance:
        classes = parts[1].elts if isinstance(parts[1], gast.Tuple) else [parts[1]]
        types_of = tuple(map(scopes.resolve, classes))
        sure = all(isinstance(t, type) for t in types_of)
        return _computed(isinstance, known(parts[0]), types_of) if sure else UNKNOWN
    owner, name = scopes.resolve(parts[0]), known(parts[1])
    if function is hasattr and isinstance(owner, types.ModuleType | type) and isinstance(name, str):
        return hasattr(owner, name)
    return UNKNOWN


def _within(part: Any, whole: Any) -> bool:
    if isinstance(whole, range):
        raise TypeError("to look for a number may take long")
    return part in whole


def _computed(compute: Callable[..., Any] | None, *operands: Any) -> Any:
    if compute is None or any(o is UNKNOWN for o in operands):
        return UNKNOWN
    try:
        return compute(*operands)
    except Exception:
        return UNKNOWN  # what raises is not a matter of which path is taken


def ends(statement: Any, holds: Callable[[Any], bool | None]) -> bool:
    """Whether the statements after this one, in the same block, are unreachable.

    `holds` is `truth` at this place.
    """
    match statement:
        case gast.Return() | gast.Raise() | gast.Break() | gast.Continue():
            return True
        case gast.Assert(test=test):
            return holds(test) is False
        case gast.If(test=test, body=body, orelse=orelse):
            held = holds(test)
            blocks = [body, orelse] if held is None else [body if held else orelse]
            return all(any(ends(s, holds) for s in block) for block in blocks)
        case gast.While(test=test, body=body):
            return holds(test) is True and not any(isinstance(n, gast.Break) for s in body for n in gast.walk(s))
        case gast.With(body=body):
            return any(ends(s, holds) for s in body)
    return False


def ruled_out(node: Any, holds: Callable[[Any], bool | None]) -> list[Any]:
    """The dead parts of a node; `holds` is `truth` at this place."""
    match node:
        case gast.If(test=test, body=body, orelse=orelse) | gast.IfExp(test=test, body=body, orelse=orelse):
            held = holds(test)
            dead = [] if held is None else orelse if held else body
            return dead if isinstance(dead, list) else [dead]
        case gast.While(test=test, body=body, orelse=orelse):
            held = holds(test)
            return [] if held is None else orelse if held else body
        case gast.For(iter=items, body=body):
            return body if holds(items) is False else []
        case gast.Assert(test=test, msg=gast.expr() as message):
            return [message] if holds(test) else []
        case gast.BoolOp(op=op, values=values):
            decides = isinstance(op, gast.Or)
            first = next((n for n, value in enumerate(values) if holds(value) is decides), len(values))
            return list(values[first + 1 :])
        case gast.Compare(left=left, ops=ops, comparators=parts):
            heads = (gast.Compare(left, ops[:n], parts[:n]) for n in range(1, len(parts)))
            return list(next((parts[n:] for n, head in enumerate(heads, 1) if holds(head) is False), []))
        case gast.ListComp() | gast.SetComp() | gast.GeneratorExp() | gast.DictComp():
            conditions = [c for g in node.generators for c in (g.iter, *g.ifs)]
            made = [node.key, node.value] if isinstance(node, gast.DictComp) else [node.elt]
            return made if any(holds(c) is False for c in conditions) else []
    return []
