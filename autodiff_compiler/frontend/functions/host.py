"""Calls of plain Python from compiled code: at run time by `py_call`, at compile time by `constexpr`."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...errors import StaticValueError, UnsupportedCallError
from ...ir.core import Value
from ...ir.primitive import REGISTRY, trace
from ...ir.types import tensor
from ...runtime.commits import seeing
from ...runtime.host import TensorSpec, called, checked, filled, name_of, spec_leaves
from ...runtime.mutable import NUMBER_DTYPE
from ...runtime.rules import names_of
from ..effects.commits import emit_commit
from ..effects.effects import EffectContext
from ..variables.base import Variable, kind, variable_of
from ..variables.frames import Closure
from ..variables.interpreter import ValueContext
from ..variables.rules import intrinsic
from ..variables.structure import is_static, map_leaves, plain_copy
from ..variables.values import SymScalar, TensorVar, describe, is_tensor


# ---------------------------------------------------------------------------------------------------- py_call
class Listed(NamedTuple):
    """What ``tolist()`` of a Tensor will give a host function."""

    tensor: Any


@kind(Listed)
class ListedVariable(Variable):
    """What ``tolist()`` will give."""

    def unwrap(self, ctx: ValueContext) -> Any:
        return ctx.unwrap(self.value.tensor)

    def of_array(self, array: Any, tensors: bool) -> Any:
        return array.tolist()


class HostArguments:
    """The arguments of a host function: the Values among them, and how to put them together at run time.

    The function gets copies: ndarrays, or Tensors.
    """

    def __init__(self, ctx: EffectContext, args: Sequence[Any], tensors: bool = False) -> None:
        self.values: list[Value] = []
        self._recipes = [variable_of(a).recipe(ctx, self.values, tensors) for a in args]

    def made_of(self, arrays: Sequence[Any]) -> list[Any]:
        """The arguments for the arrays of the Values."""
        return [r(arrays) for r in self._recipes]


@intrinsic("py_call")
def _py_call(ctx: EffectContext, fn: Any, *args: Any, out: Any = None, bprop: Any = None) -> Any:
    called_by_python = native_function(ctx, fn)
    host = _HostCall(called_by_python, map_leaves(_spec, out))
    emit_commit(ctx)
    if bprop is None:
        return host.__graph_call__(ctx, list(args), {})
    what = f"the bprop of py_call({name_of(called_by_python)}, ...)"
    return ctx.call_with_rule(host, args, names_of(called_by_python, len(args)), bprop, what)


class _HostCall:
    """The call of a function at run time, which returns what was promised."""

    def __init__(self, fn: Callable[..., Any], out: Any) -> None:
        self.fn = fn
        self.specs = list(spec_leaves(out))
        self.promise = filled(out, iter(self.specs))

    def __graph_call__(self, ctx: EffectContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        fn, promise, given = self.fn, self.promise, HostArguments(ctx, args)
        kinds, home = tuple([_type(s) for s in self.specs]), ctx.program.module.states

        def run(*arrays: Any) -> tuple[Any, ...]:
            return tuple(checked(fn, seeing(home, lambda: fn(*given.made_of(arrays))), promise))

        def host(*arrays: Any) -> tuple[Any, ...]:
            return called(lambda: run(*arrays)) if kinds else run(*arrays)

        host.tells = name_of(fn)  # type: ignore[attr-defined]
        name = f"py_call{len(ctx.program.module.callables)}"
        expose(ctx, name, host)
        results = emit_host_call(given.values, name, kinds)
        return filled(promise, iter([_wrapped(r, s) for r, s in zip(results, self.specs, strict=True)]))


def expose(ctx: EffectContext, name: str, host: Any) -> None:
    """Adds a host function that runs code of the user's, which may look at all state and change it."""
    host.sees_state = True
    ctx.program.module.callables[name] = host
    ctx.effects.host_ran.note(ctx.effects.in_backward)


def emit_host_call(operands: Sequence[Value], name: str, results: tuple[Any, ...]) -> list[Value]:
    """Emits the call of a host function; `results` are the types of what it returns."""
    return list(trace.builder.emit(REGISTRY["host_call"], tuple(operands), (name, results)) or ())


def native_function(ctx: EffectContext, fn: Any) -> Callable[..., Any]:
    """The function as Python calls it at run time."""
    if type(fn) is Closure:
        return _function_of(ctx, fn)
    return variable_of(fn).host_function()


def _function_of(ctx: EffectContext, closure: Closure) -> types.FunctionType:
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
        here = ctx.here
        assert here is not None
        value = closure.frame.bindings.lookup(name)[1] if holder is None else holder.local(name, here)
        if not is_static(value):
            raise StaticValueError(
                f"{closure.__name__}, which py_call runs, reads '{name}' of compiled code, a {describe(value)}",
                hint=f"give '{name}' to py_call as an argument",
            ).about(value)
        cells.append(types.CellType(native_function(ctx, value) if type(value) is Closure else plain_copy(value)))
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
    return TensorSpec(x.type.shape, x.type.dtype) if is_tensor(x) else x


def _type(spec: TensorSpec | type) -> Any:
    return tensor(NUMBER_DTYPE[spec], ()) if isinstance(spec, type) else tensor(spec.dtype, spec.shape)


def _wrapped(value: Value, spec: TensorSpec | type) -> Any:
    return SymScalar(value, spec) if isinstance(spec, type) else TensorVar(value)
