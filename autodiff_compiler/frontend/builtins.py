"""Python's builtin functions on static and dynamic values."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import operator
from typing import Any

from ..errors import SideEffectError, StaticValueError, UnsupportedCallError
from ..ir.primitive import METHODS, F
from ..ir.primitive import call as public
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from . import operators
from .calls import call, intrinsic, to_number
from .control import branch, iterate_static
from .iteration import Enumerate, Forced, Iteration, RangeOf, Reversed, Zip, iteration_of
from .joins import NUMBER_DTYPE
from .lowering import Lowering
from .operators import truth
from .values import LocalDict, LocalList, StateVar, TensorVar, Weak, describe, elements, is_dynamic, is_static

_SHOWN_AS = {TensorVar: Tensor, StateVar: Parameter, LocalList: list, LocalDict: dict}


def _is_tensor(x: Any) -> bool:
    return type(x) in (TensorVar, StateVar)


# ---------------------------------------------------------------------------------------------------- iteration
@intrinsic(range)
def _range(lw: Lowering, *given: Any) -> Any:
    bounds = tuple(operators.as_index(lw, b) for b in given)
    if is_static(bounds):
        return range(*bounds)
    for b in bounds:
        if not (isinstance(b, int) or (type(b) is Weak and b.kind is not float) or _is_tensor(b)):
            raise TypeError(f"'{describe(b)}' cannot be interpreted as an integer")
    fixed = [to_number(lw, b, int) if _is_tensor(b) else b for b in bounds]
    return RangeOf(0, fixed[0]) if len(fixed) == 1 else RangeOf(*fixed)


@intrinsic(enumerate)
def _enumerate(lw: Lowering, x: Any, start: Any = 0) -> Any:
    return Enumerate(iteration_of(lw, x), start)


@intrinsic(zip)
def _zip(lw: Lowering, *xs: Any, strict: bool = False) -> Any:
    parts = [iteration_of(lw, x) for x in xs]
    if strict and len({p.length for p in parts}) > 1:
        raise ValueError("zip() arguments have different lengths")
    return Zip(parts)


@intrinsic(reversed)
def _reversed(lw: Lowering, x: Any) -> Any:
    result = operators.special(lw, x, "__reversed__")
    return Reversed(iteration_of(lw, x)) if result is NotImplemented else iteration_of(lw, result)


@intrinsic(map)
def _map(lw: Lowering, fn: Any, *xs: Any) -> Any:
    rows = zip(*(iterate_static(lw, x) for x in xs), strict=False)
    return tuple(call(lw, fn, list(row), {}) for row in rows)


@intrinsic(filter)
def _filter(lw: Lowering, fn: Any, x: Any) -> Any:
    kept = []
    for item in iterate_static(lw, x):
        condition = truth(lw, item if fn is None else call(lw, fn, [item], {}))
        if not isinstance(condition, bool):
            raise StaticValueError("which elements `filter` keeps must be known at compile time", code="AC1303")
        if condition:
            kept.append(item)
    return tuple(kept)


@intrinsic(sorted)
def _sorted(lw: Lowering, x: Any, *, key: Any = None, reverse: bool = False) -> Any:
    items = list(x) if isinstance(x, set | frozenset) else list(iterate_static(lw, x))
    keys = items if key is None else [call(lw, key, [i], {}) for i in items]
    if not is_static(keys):
        raise StaticValueError("sorting needs keys known at compile time", hint="for Tensors use ops.sort")
    operators.check_seen(keys, "sorting")
    order = sorted(range(len(items)), key=lambda i: keys[i], reverse=reverse)
    return LocalList(items[i] for i in order)


@intrinsic("unroll")
def _unroll(lw: Lowering, x: Any) -> Any:
    return Forced(iteration_of(lw, x), keep=False)


@intrinsic("keep")
def _keep(lw: Lowering, x: Any) -> Any:
    return Forced(iteration_of(lw, x), keep=True)


# ---------------------------------------------------------------------------------------------------- containers
@intrinsic(len)
def _len(lw: Lowering, x: Any) -> Any:
    if _is_tensor(x):
        if not x.type.shape:
            raise TypeError("len() of a 0-d tensor")
        return x.type.shape[0]
    if isinstance(x, Iteration):
        return x.length if isinstance(x.length, int) else Weak(x.length, int)
    result = operators.special(lw, x, "__len__")
    if result is not NotImplemented:
        return result
    if isinstance(x, str | bytes | tuple | list | dict | set | range | LocalList | LocalDict):
        return len(x)  # an outside container has its content guarded
    return lw.outside.property(x, "length", f"the length of a {type(x).__name__}", lambda: len(x))


@intrinsic(tuple)
def _tuple(lw: Lowering, x: Any = ()) -> Any:
    return tuple(iterate_static(lw, x))


@intrinsic(list)
def _list(lw: Lowering, x: Any = ()) -> Any:
    return LocalList(iterate_static(lw, x))


@intrinsic(dict)
def _dict(lw: Lowering, x: Any = (), **kwargs: Any) -> Any:
    pairs = x.items() if isinstance(x, dict) else [tuple(iterate_static(lw, p)) for p in iterate_static(lw, x)]
    return LocalDict([*pairs, *kwargs.items()])


@intrinsic(set)
def _set(lw: Lowering, x: Any = ()) -> Any:
    return set(operators.require_static(list(iterate_static(lw, x)), "an element of a set"))


# ---------------------------------------------------------------------------------------------------- objects
@intrinsic(isinstance)
def _isinstance(lw: Lowering, x: Any, classes: Any) -> bool:
    kinds = classes if isinstance(classes, tuple) else (classes,)
    if type(x) in _SHOWN_AS and is_dynamic(x):
        return any(issubclass(_SHOWN_AS[type(x)], k) for k in kinds)
    if type(x) is Weak:
        return any(issubclass(x.kind, k) for k in kinds)
    return isinstance(x, kinds)


@intrinsic(type)
def _type(lw: Lowering, x: Any) -> Any:
    return x.kind if type(x) is Weak else _SHOWN_AS.get(type(x), type(x))


@intrinsic(hasattr)
def _hasattr(lw: Lowering, x: Any, name: str) -> bool:
    if _is_tensor(x):
        return name in METHODS or hasattr(_SHOWN_AS[type(x)], name)
    if isinstance(x, LocalList | LocalDict | tuple):
        return hasattr(x, name)
    what = f"whether a {type(x).__name__} has {name!r}"
    return bool(lw.outside.property(x, f"has {name}", what, lambda: hasattr(x, name)))


_NOTHING = object()


@intrinsic(getattr)
def _getattr(lw: Lowering, x: Any, name: str, default: Any = _NOTHING) -> Any:
    if default is not _NOTHING and not _hasattr(lw, x, name):
        return default
    return operators.attribute(lw, x, name)


@intrinsic(callable)
def _callable(lw: Lowering, x: Any) -> bool:
    return not is_dynamic(x) and callable(x)


# ---------------------------------------------------------------------------------------------------- numbers
_CONVERSIONS: dict[type, tuple[str, ...]] = {
    int: ("__int__", "__index__", "__trunc__"), float: ("__float__", "__index__"), bool: ("__bool__",),
}  # fmt: skip


def _conversion(kind: type) -> Any:
    def convert(lw: Lowering, x: Any = 0, *rest: Any) -> Any:
        if _is_tensor(x):
            return to_number(lw, x, kind)
        if type(x) is Weak:
            if x.kind is kind:
                return x
            return Weak(F.not_equal(x.value, 0) if kind is bool else F.cast(x.value, dtype=NUMBER_DTYPE[kind]), kind)
        if kind is bool:
            value = truth(lw, x)
            return value if isinstance(value, bool) else Weak(value, bool)
        result = operators.special(lw, x, *_CONVERSIONS[kind])
        return kind(x, *rest) if result is NotImplemented else convert(lw, result)

    return convert


intrinsic(int)(_conversion(int))
intrinsic(float)(_conversion(float))
intrinsic(bool)(_conversion(bool))


@intrinsic(abs)
def _abs(lw: Lowering, x: Any) -> Any:
    if _is_tensor(x):
        return lw.native(public.abs, [x])
    if type(x) is Weak:
        return Weak(F.abs(x.value), x.kind)
    result = operators.special(lw, x, "__abs__")
    return abs(x) if result is NotImplemented else result


@intrinsic(pow)
def _pow(lw: Lowering, x: Any, y: Any) -> Any:
    return operators.binary(lw, "Pow", x, y)


@intrinsic(divmod)
def _divmod(lw: Lowering, x: Any, y: Any) -> Any:
    return operators.binary(lw, "FloorDiv", x, y), operators.binary(lw, "Mod", x, y)


def _operator_function(op: str) -> Any:
    return lambda lw, x, y: operators.binary(lw, op, x, y)


for _function, _op in (
    (operator.add, "Add"), (operator.sub, "Sub"), (operator.mul, "Mult"), (operator.truediv, "Div"),
    (operator.floordiv, "FloorDiv"), (operator.mod, "Mod"), (operator.pow, "Pow"), (operator.matmul, "MatMult"),
):  # fmt: skip
    intrinsic(_function)(_operator_function(_op))


for _function, _op in (
    (operator.lt, "Lt"), (operator.le, "LtE"), (operator.gt, "Gt"), (operator.ge, "GtE"), (operator.eq, "Eq"),
    (operator.ne, "NotEq"), (operator.is_, "Is"), (operator.is_not, "IsNot"),
):  # fmt: skip
    intrinsic(_function)(lambda lw, x, y, op=_op: operators.compare(lw, op, x, y))
intrinsic(operator.neg)(lambda lw, x: operators.unary(lw, "USub", x))
intrinsic(operator.pos)(lambda lw, x: operators.unary(lw, "UAdd", x))
intrinsic(operator.invert)(lambda lw, x: operators.unary(lw, "Invert", x))
intrinsic(operator.contains)(lambda lw, x, item: operators.compare(lw, "In", item, x))
intrinsic(operator.getitem)(operators.subscript)
intrinsic(operator.truth)(_conversion(bool))
intrinsic(operator.abs)(_abs)


@intrinsic(functools.reduce)
def _reduce(lw: Lowering, fn: Any, x: Any, *initial: Any) -> Any:
    return functools.reduce(lambda a, b: call(lw, fn, [a, b], {}), iterate_static(lw, x), *initial)


@intrinsic(round)
def _round(lw: Lowering, x: Any, digits: Any = None) -> Any:
    if is_static(x):
        operators.check_seen(x, "round()")
        return round(x, digits)
    raise UnsupportedCallError("round() of a run-time value is not available yet", code="AC1806")


def _extreme(name: str, comparison: str) -> Any:
    def rule(lw: Lowering, *args: Any, key: Any = None, default: Any = _NOTHING) -> Any:
        if len(args) == 1 and _is_tensor(args[0]) and len(args[0].type.shape) <= 1:
            return lw.native(METHODS[name], [args[0]])
        items = list(iterate_static(lw, args[0])) if len(args) == 1 else list(args)
        if not items:
            if default is _NOTHING:
                raise ValueError(f"{name}() arg is an empty sequence")
            return default
        best, best_key = items[0], _key(lw, key, items[0])
        for item in items[1:]:
            item_key = _key(lw, key, item)
            better = truth(lw, operators.compare(lw, comparison, item_key, best_key))
            if isinstance(better, bool):
                best, best_key = (item, item_key) if better else (best, best_key)
            elif key is None:
                best = best_key = _select(lw, better, item, best)
            else:
                raise StaticValueError(f"{name}() with a key needs keys known at compile time")
        return best

    return rule


def _select(lw: Lowering, condition: Any, a: Any, b: Any) -> Any:
    return branch(lw, condition, lambda: a, lambda: b, node=lw.frame.prepared.node, name="the result")


def _key(lw: Lowering, key: Any, item: Any) -> Any:
    return item if key is None else call(lw, key, [item], {})


intrinsic(max)(_extreme("max", "Gt"))
intrinsic(min)(_extreme("min", "Lt"))


@intrinsic(sum)
def _sum(lw: Lowering, x: Any, start: Any = 0) -> Any:
    return functools.reduce(lambda a, b: operators.binary(lw, "Add", a, b), iterate_static(lw, x), start)


@intrinsic(any)
def _any(lw: Lowering, x: Any) -> Any:
    result: Any = False
    for item in iterate_static(lw, x):
        value = truth(lw, item)
        if value is True:
            return True
        result = operators.either(lw, result, value)
    return result


@intrinsic(all)
def _all(lw: Lowering, x: Any) -> Any:
    result: Any = True
    for item in iterate_static(lw, x):
        value = truth(lw, item)
        if value is False:
            return False
        result = operators.both(lw, result, value)
    return result


# ---------------------------------------------------------------------------------------------------- text
def _text(name: str) -> Any:
    fn = getattr(builtins, name)

    def rule(lw: Lowering, *args: Any) -> Any:
        if not is_static(args):
            dynamic = next(a for a in args if not is_static(a))
            raise StaticValueError(
                f"text made of a {describe(dynamic)} is known only at run time", hint="print it, or return the value"
            )
        return text(lw, fn, *args)

    return rule


def text(lw: Lowering, fn: Any, x: Any = "", *spec: Any) -> Any:
    """``str(x)``, ``repr(x)`` or ``format(x, spec)``; the methods of users' classes are compiled."""
    method = operators.python_method(lw, x, "__format__") if fn is format else None
    if method is not None:
        return lw.call_python(method, [x, *(spec or ("",))], {})
    if fn is not repr and not any(spec):
        method = operators.python_method(lw, x, "__str__")
    method = method or operators.python_method(lw, x, "__repr__")
    if method is None or operators.is_ours(method):
        if elements(x) is not None:
            operators.check_seen(x, "its text")
        return fn(x, *spec)
    if not operators.is_generated(x, method):
        return lw.call_python(method, [x], {})
    parts = [(f.name, operators.attribute(lw, x, f.name)) for f in dataclasses.fields(x) if f.repr]
    return f"{type(x).__qualname__}({', '.join(f'{name}={text(lw, repr, part)}' for name, part in parts)})"


for _name in ("str", "repr", "format"):
    intrinsic(getattr(builtins, _name))(_text(_name))


@intrinsic(print)
def _print(lw: Lowering, *args: Any, sep: str | None = " ", end: str | None = "\n", flush: bool = False) -> None:
    parts: list[Any] = []
    operands: list[Any] = []
    for a in args:
        if is_dynamic(a):
            parts.append(len(operands))
            operands.append(a.value if type(a) is Weak else lw.unwrap(a))
        else:
            if not is_static(a):
                raise UnsupportedCallError(
                    "a container of run-time values cannot be printed in compiled code yet",
                    code="AC1302",
                    hint="print its elements",
                )
            parts.append(text(lw, str, a))
    F.print(*operands, parts=tuple(parts), sep=" " if sep is None else sep, end="\n" if end is None else end)


@intrinsic("assign")
def _assign(lw: Lowering, variable: Any, value: Any) -> Any:
    from .statements import assign_state

    if type(variable) is TensorVar and variable.snapshot is not None:
        raise SideEffectError(
            "assign() got a Tensor that is one of several, chosen at run time, and may be a Parameter",
            code="AC1606",
            hint="assign each Parameter in the branch that chooses it",
        )
    if type(variable) is not StateVar:
        raise TypeError(f"assign() needs a Parameter, got a {describe(variable)}")
    assign_state(lw, variable, value)
    return variable


@intrinsic("assign_add")
def _assign_add(lw: Lowering, variable: Any, value: Any) -> Any:
    return _assign(lw, variable, operators.binary(lw, "Add", variable, value))


@intrinsic("assign_sub")
def _assign_sub(lw: Lowering, variable: Any, value: Any) -> Any:
    return _assign(lw, variable, operators.binary(lw, "Sub", variable, value))
