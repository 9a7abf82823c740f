"""Calls of plain Python from compiled code: at run time by `py_call`, at compile time by `constexpr`."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import BpropError, StaticValueError, UnsupportedCallError
from ..ir.core import Value
from ..ir.primitive import REGISTRY, F, trace
from ..ir.types import tensor
from ..runtime.host import TensorSpec, called, checked, filled, name_of, spec_leaves
from ..runtime.tensor import wrap
from .calls import call, intrinsic
from .commits import emit_commit
from .effects import run_now
from .foreign import localized
from .joins import NUMBER_DTYPE
from .lowering import Lowering
from .operators import BoundContainer, check_seen
from .scope import Closure
from .values import (
    ArrayVar,
    LocalDict,
    LocalList,
    StateVar,
    TensorVar,
    Weak,
    describe,
    elements,
    flatten,
    is_dynamic,
    is_static,
    map_leaves,
    plain_copy,
)

__all__ = ["HostArguments", "at_compile_time", "emit_host_call", "native_function"]


def at_compile_time(lw: Lowering, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a `constexpr` function: it runs now."""
    given = (tuple(args), tuple(kwargs.values()))
    if not is_static(given):
        dynamic = next(x for x in flatten(given) if not is_static(x))
        raise StaticValueError(
            f"an argument of {name_of(fn)}(), which runs while compiling, is a {describe(dynamic)}",
            hint="give it numbers, shapes and texts; py_call runs a function at run time",
        ).about(dynamic)
    check_seen(given, f"{name_of(fn)}()")
    plain, named = [plain_copy(a) for a in args], {k: plain_copy(v) for k, v in kwargs.items()}
    return localized(run_now(lambda: fn(*plain, **named)))


# ---------------------------------------------------------------------------------------------------- py_call
class HostArguments:
    """The arguments of a host function: the Values among them, and how to put them together at run time.

    The function gets copies: ndarrays, or Tensors.
    """

    def __init__(self, lw: Lowering, args: Sequence[Any], tensors: bool = False) -> None:
        self._lw, self._tensors = lw, tensors
        self.values: list[Value] = []
        self._recipes = [self._recipe(a) for a in args]

    def _recipe(self, x: Any) -> Callable[[Sequence[Any]], Any]:
        n, kind = len(self.values), type(x)
        if is_dynamic(x):
            self.values.append(x.value if kind is Weak else self._lw.unwrap(x))
            if kind is Weak:
                return lambda arrays: arrays[n].item()
            if self._tensors and kind is not ArrayVar:
                return lambda arrays: wrap(np.array(arrays[n]))
            scalar = kind is ArrayVar and x.kind is np.generic
            return lambda arrays: np.array(arrays[n])[()] if scalar else np.array(arrays[n])
        parts = elements(x)
        if parts is None or (is_static(x) and not isinstance(x, LocalList | LocalDict)):
            if not is_static(x) or kind is Closure:
                raise UnsupportedCallError(
                    f"a {describe(x)} made by compiled code cannot be given to py_call", hint="define it outside"
                )
            return lambda arrays: x
        inner = [self._recipe(p) for p in parts]
        if isinstance(x, dict):
            keys = list(x)
            return lambda arrays: {k: r(arrays) for k, r in zip(keys, inner, strict=True)}
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return lambda arrays: kind(*[r(arrays) for r in inner])
        if not isinstance(x, tuple | list):
            raise UnsupportedCallError(f"a {describe(x)} cannot be given to py_call", hint="give it Tensors or numbers")
        container = tuple if isinstance(x, tuple) else list
        return lambda arrays: container([r(arrays) for r in inner])

    def made_of(self, arrays: Sequence[Any]) -> list[Any]:
        """The arguments for the arrays of the Values."""
        return [r(arrays) for r in self._recipes]


@intrinsic("py_call")
def _py_call(lw: Lowering, fn: Any, *args: Any, out: Any = None, bprop: Any = None) -> Any:
    fn = native_function(lw, fn)
    specs = list(spec_leaves(map_leaves(_spec, out)))
    promise = filled(out, iter(specs))
    given = HostArguments(lw, args)
    kinds = tuple([_type(s) for s in specs])

    def run(*arrays: Any) -> tuple[Any, ...]:
        return tuple(checked(fn, fn(*given.made_of(arrays)), promise))

    def host(*arrays: Any) -> tuple[Any, ...]:
        return called(lambda: run(*arrays)) if kinds else run(*arrays)

    name = f"py_call{len(lw.module.callables)}"
    lw.module.callables[name] = host
    emit_commit(lw)
    if bprop is None:
        results: Sequence[Value] = emit_host_call(given.values, name, kinds)
    else:
        results = _with_bprop(lw, fn, args, given.values, name, kinds, specs, promise, bprop)
    return filled(promise, iter([_wrapped(r, s) for r, s in zip(results, specs, strict=True)]))


def emit_host_call(operands: Sequence[Value], name: str, results: tuple[Any, ...]) -> list[Value]:
    """Emits the call of a host function; `results` are the types of what it returns."""
    return list(trace.builder.emit(REGISTRY["host_call"], tuple(operands), (name, results)) or ())


def native_function(lw: Lowering, fn: Any) -> Callable[..., Any]:
    """The function as Python calls it at run time."""
    if type(fn) is Closure:
        return _function_of(lw, fn)
    if type(fn) is BoundContainer and not isinstance(fn.owner, LocalList | LocalDict):
        return getattr(fn.owner, fn.name)
    if is_dynamic(fn) or type(fn) is BoundContainer or not callable(fn):
        raise UnsupportedCallError(
            f"py_call cannot call a {describe(fn)} in compiled code", hint="give it a function defined outside"
        )
    return fn


def _function_of(lw: Lowering, closure: Closure) -> types.FunctionType:
    """The function that Python would have made of a `def` or `lambda` inside compiled code, if it can be told."""
    found = [c for c in _codes_inside(closure.frame.bindings.code) if _is_code_of(c, closure)]
    defaults = tuple(closure.defaults)
    if len(found) != 1 or not is_static(defaults) or closure.kw_defaults:
        raise UnsupportedCallError(
            f"py_call cannot call {closure.__name__}, which is defined in compiled code", hint="define it outside"
        )
    cells = []
    for name in found[0].co_freevars:
        holder = closure.frame.holder(name)
        here = lw.here
        assert here is not None
        value = closure.frame.bindings.lookup(name)[1] if holder is None else holder.local(name, here)
        if not is_static(value):
            raise StaticValueError(
                f"{closure.__name__}, which py_call runs, reads '{name}' of compiled code, a {describe(value)}",
                hint=f"give '{name}' to py_call as an argument",
            ).about(value)
        cells.append(types.CellType(native_function(lw, value) if type(value) is Closure else plain_copy(value)))
    names = closure.frame.bindings.globals
    return types.FunctionType(found[0], names, closure.__name__, tuple(map(plain_copy, defaults)), tuple(cells))


def _codes_inside(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes_inside(constant)


def _is_code_of(code: types.CodeType, closure: Closure) -> bool:
    """Whether code was compiled from the very place of a closure; by lines and columns, as lambdas share lines."""
    node = closure.prepared.tree.node
    if code.co_name != closure.__name__ or not node.lineno <= code.co_firstlineno <= node.end_lineno:
        return False
    columns = [(line, col) for line, _, col, _ in code.co_positions() if line is not None and col]
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return all(first <= place <= last for place in columns)


def _spec(x: Any) -> Any:
    return TensorSpec(x.type.shape, x.type.dtype) if type(x) in (TensorVar, StateVar) else x


def _type(spec: TensorSpec | type) -> Any:
    return tensor(NUMBER_DTYPE[spec], ()) if isinstance(spec, type) else tensor(spec.dtype, spec.shape)


def _wrapped(value: Value, spec: TensorSpec | type) -> Any:
    return Weak(value, spec) if isinstance(spec, type) else TensorVar(value)


def _with_bprop(
    lw: Lowering, fn: Any, args: Sequence[Any], operands: list[Value], name: str, results: tuple[Any, ...],
    specs: list[Any], promise: Any, bprop: Any,
) -> Sequence[Value]:  # fmt: skip
    """The call as a `custom_vjp`: the host function forward, the user's code backward."""
    kinds = [v.type for v in operands]
    forward = trace.builder.nested(kinds, [v.name for v in operands])
    with forward:
        forward.ret(*emit_host_call(forward.block.args, name, results))
    backward = trace.builder.nested([*kinds, *results, *results], [None] * (len(kinds) + 2 * len(results)))
    n, k = len(kinds), len(results)
    with lw.region() as region, backward:
        values = iter(backward.block.args)
        inputs = [map_leaves(lambda x: _inside(x, values), a) for a in args]
        rest = backward.block.args[n:]
        made, seeds = ([_wrapped(v, s) for v, s in zip(part, specs, strict=True)] for part in (rest[:k], rest[k:]))
        found = call(lw, bprop, [*inputs, filled(promise, iter(made)), filled(promise, iter(seeds))], {})
        if lw.restore(region):
            raise BpropError(
                f"the bprop of py_call({name_of(fn)}, ...) changes a list, dict, Tensor or attribute from outside",
                code="AC1606",
                hint="return what it computes",
            )
        backward.ret(*_cotangents(lw, fn, inputs, found))
    op = trace.builder.emit_op(REGISTRY["custom_vjp"], tuple(operands), (), (forward.block, backward.block))
    return op.results


def _inside(x: Any, values: Iterator[Value]) -> Any:
    """An argument of the call as the backward block sees it."""
    if type(x) is Weak:
        return Weak(next(values), x.kind)
    if type(x) is ArrayVar:
        return ArrayVar(next(values), x.kind)
    return TensorVar(next(values)) if is_dynamic(x) else x


def _cotangents(lw: Lowering, fn: Any, inputs: Sequence[Any], found: Any) -> list[Value]:
    """One Value for each dynamic leaf of the arguments."""
    given = list(found) if isinstance(found, tuple | list) else [found]
    if len(given) < len(inputs):
        raise BpropError(
            f"the bprop of py_call({name_of(fn)}, ...) returns {len(given)} cotangents for {len(inputs)} arguments",
            code="AC1703",
            hint="return a tuple with one entry per argument, None for zero",
        )
    return [c for x, g in zip(inputs, given, strict=False) for c in _of_argument(lw, fn, x, g)]


def _of_argument(lw: Lowering, fn: Any, x: Any, g: Any) -> list[Value]:
    if type(x) is TensorVar:
        return [_fitting(lw, fn, x.value, g)]
    if is_dynamic(x):
        return [trace.builder.const(0, x.value.type)]
    parts = elements(x)
    if parts is None:
        return []
    entries = [None] * len(parts) if g is None else elements(g)
    return [c for p, e in zip(parts, entries, strict=True) for c in _of_argument(lw, fn, p, e)]


def _fitting(lw: Lowering, fn: Any, x: Value, g: Any) -> Value:
    """A cotangent in the type of its argument."""
    if g is None:
        return trace.builder.const(0, x.type)
    value = g.value if type(g) is Weak else g if isinstance(g, bool | int | float) else lw.unwrap(g)
    if not isinstance(value, Value):
        return trace.builder.const(value, x.type)
    value = value if value.dtype is x.dtype else F.cast(value, dtype=x.dtype)
    if value.shape not in ((), x.shape):
        raise BpropError(
            f"the bprop of py_call({name_of(fn)}, ...) returns a cotangent of shape {list(value.shape)} for an "
            f"argument of shape {list(x.shape)}",
            code="AC1704",
            hint="return the gradient in the shape of the argument, None for zero",
        )
    return value if value.shape == x.shape else F.broadcast_to(value, shape=x.shape)
