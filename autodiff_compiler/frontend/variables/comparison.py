"""Comparisons, and `in`, `any` and `all`, which look at items up to the first that settles the answer."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import StaticValueError, UnsupportedSyntaxError
from ...ir.abstract import abstract
from .base import class_name, variable_of
from .elements import iterate_live
from .interpreter import ValueContext
from .iteration import Iteration
from .operators import attribute
from .requirements import is_generated, is_seen, python_method
from .structure import elements, flatten, is_static
from .truth_values import as_bool, both, either, negate, truth
from .values import LocalObject, class_of, describe, is_tensor, usable

COMPARE = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}
MIRRORED = {"Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}
COMPARE_SLOT = {op: f"__{function.__name__}__" for op, function in COMPARE.items()}


def compare(ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
    """One comparison of a chain."""
    if op in ("Is", "IsNot"):
        return _identity(op == "Is", a, b)
    if op in ("In", "NotIn"):
        found = variable_of(b).contains(ctx, a)
        return as_bool(found) if op == "In" else negate(found)
    a, b = ctx.outside.met(a), ctx.outside.met(b)
    result = _user_compare(ctx, op, a, b)
    if result is not NotImplemented:
        return result
    left, right = variable_of(a), variable_of(b)
    return (right if right.precedence > left.precedence else left).compare(ctx, op, a, b)


def compare_known(ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
    """A comparison of which neither operand is a Tensor or an array, nor both are numbers of run time."""
    if LocalObject in (type(a), type(b)):
        return compare_objects(op, a, b)
    for x in (a, b):
        abstract(x).refuse("a comparison")
    if not is_static(a) or not is_static(b):
        return _compare_containers(ctx, op, a, b)
    if elements(a) is not None and elements(b) is not None and not all(map(is_seen, flatten((a, b)))):
        return _compare_containers(ctx, op, a, b)
    return COMPARE[op](a, b)


def compare_objects(op: str, a: Any, b: Any) -> bool:
    """Without methods for it, objects are equal to themselves only."""
    if op not in ("Eq", "NotEq"):
        sign, names = _COMPARE_SIGN[op], f"'{class_name(a)}' and '{class_name(b)}'"
        raise TypeError(f"'{sign}' not supported between instances of {names}")
    return (a is b) == (op == "Eq")


_COMPARE_SIGN = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">="}


def _user_compare(ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
    """``a op b`` by the methods of a user's class; NotImplemented if there are none."""
    sides = [(a, op, b), (b, MIRRORED.get(op, op), a)]
    if type(a) is not type(b) and issubclass(type(b), type(a)):
        sides.reverse()
    for x, asked, y in sides:
        result = _ask(ctx, x, asked, y)
        if result is not NotImplemented:
            return result
    return NotImplemented


def _ask(ctx: ValueContext, x: Any, op: str, y: Any) -> Any:
    method = python_method(ctx, x, COMPARE_SLOT[op])
    if method is None:
        equal = _ask(ctx, x, "Eq", y) if op == "NotEq" else NotImplemented
        return equal if equal is NotImplemented else negate(truth(ctx, equal))
    if not is_generated(x, method):
        return ctx.call_python(method, [x, y], {})
    if class_of(x) is not class_of(y):
        return NotImplemented
    parts = (tuple(attribute(ctx, v, f.name) for f in dataclasses.fields(class_of(x)) if f.compare) for v in (x, y))
    return compare(ctx, op, *parts)


def _compare_containers(ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
    xs, ys = elements(a), elements(b)
    if op not in ("Eq", "NotEq"):
        return _order(ctx, op, a, b)
    same = xs is not None and ys is not None and len(xs) == len(ys)
    same = same and all(isinstance(a, c) == isinstance(b, c) for c in (tuple, dict))
    if same and isinstance(a, dict):
        same = a.keys() == b.keys()
        ys = [b[k] for k in a] if same else ys
    result: Any = same
    if same:
        for x, y in zip(xs, ys, strict=True):
            if result is False:  # Python compares no further
                break
            result = both(result, _is_or_equals(ctx, y, x))
    return result if op == "Eq" else negate(result)


def _order(ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
    """Two tuples or lists are ordered as the first elements that differ: which those are must be known here."""
    if not any(isinstance(a, c) and isinstance(b, c) for c in (tuple, list)):
        if is_static(a) and is_static(b):
            return COMPARE[op](a, b)
        raise UnsupportedSyntaxError(
            f"{describe(a)} and {describe(b)} cannot be ordered in compiled code", code="AC1103"
        )
    for x, y in zip(a, b, strict=False):
        same = _is_or_equals(ctx, y, x)
        if same is False:
            return compare(ctx, op, x, y)
        if same is not True:
            raise StaticValueError(
                f"which elements decide the order of a {describe(a)} and a {describe(b)} is known only at run time",
                hint="order them by their keys: `sorted(pairs, key=lambda pair: pair[0])`",
            )
    return COMPARE[op](len(a), len(b))


def is_less(ctx: ValueContext, a: Any, b: Any) -> bool:
    """Whether ``a < b``, which must be known while compiling."""
    found = truth(ctx, compare(ctx, "Lt", a, b))
    if not isinstance(found, bool):
        raise StaticValueError("sorting needs keys known at compile time", hint="for Tensors use ops.sort")
    return found


def _identity(positive: bool, a: Any, b: Any) -> bool:
    if is_tensor(a) and is_tensor(b):
        raise StaticValueError(
            "'is' between Tensors cannot be decided in compiled code", code="AC1304", hint="use `(a == b).all()`"
        )
    return _are_one(a, b) == positive


def _are_one(a: Any, b: Any) -> bool:
    for x, other in ((a, b), (b, a)):
        if hasattr(type(x), "stands_in") and x.stands_in and type(other) is x.cls:
            raise TypeError(f"a {x.describe()} stands for an argument, which may be the other one")
    return bool(variable_of(a).identity() is variable_of(b).identity())


def is_item(ctx: ValueContext, item: Any, of: Any) -> Any:
    """Whether one of the elements is the item, or equals it."""
    return first_that(ctx, of, lambda x: _is_or_equals(ctx, item, x), ends=True, sought=item)


def can_be_asked(item: Any, of: Any) -> bool:
    """Whether Python itself can tell while compiling if an object contains an item."""
    return is_static((item, of)) and (elements(of) is None or all(map(is_seen, flatten((item, of)))))


def _is_or_equals(ctx: ValueContext, a: Any, item: Any) -> Any:
    same = _are_one(a, item)
    return True if same else truth(ctx, compare(ctx, "Eq", item, a))


# ---------------------------------------------------------------------------------------------------- any, all, in
#: Methods of a user's class that run where its objects are tested or searched.
_ASKING = ("__bool__", "__len__", "__eq__", "__iter__", "__getitem__")


def first_that(ctx: ValueContext, x: Any, test: Callable[[Any], Any], *, ends: bool, sought: Any = None) -> Any:
    """`ends` if the test of an item gives that, after which no item is asked for; else `not ends`.

    After a test whose outcome is known only at run time, the later items are asked for in a branch, unless no code of
    the user's can run there.  `sought`: what the test compares items with.
    """
    result = _search(ctx, iterate_live(ctx, x), test, ends, flat=_is_data(ctx, x) and _is_data(ctx, sought))
    if isinstance(x, Iteration) and not isinstance(result, bool):
        x.end(ctx, certain=False)
    return result


def _search(ctx: ValueContext, items: Iterator[Any], test: Callable[[Any], Any], ends: bool, flat: bool) -> Any:
    result: Any = not ends
    for item in items:
        found = test(item)
        if found is ends:
            return ends
        if flat:
            result = (either if ends else both)(result, found)
        elif not isinstance(found, bool):

            def rest() -> Any:
                return _search(ctx, items, test, ends, flat)

            arms = (lambda: True, rest) if ends else (rest, lambda: False)
            return ctx.branch(found, *arms, name="the result")
    return result


def _is_data(ctx: ValueContext, x: Any) -> bool:
    """Whether the items of x, their truth and their equality are computed without code of the user's."""
    if isinstance(x, Iteration):
        return False
    own = any(python_method(ctx, x, slot) is not None for slot in _ASKING)
    return not own and all(_is_data(ctx, i) for i in (list(x) if isinstance(x, dict) else elements(usable(x))) or ())
