"""From a Python function to typed SSA: `lower`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.core import Module, Value
from ..ir.types import TensorType
from . import builtins, control, expressions, loops, statements  # noqa: F401  (their rules register themselves)
from .calls import call
from .lowering import Diverged, Lowering, NumberArgument, Options, TensorArgument
from .outside import AnyGuard, Capture
from .values import StateVar, TensorVar, Weak, map_leaves

__all__ = ["Arg", "Lowered", "NumberArgument", "Options", "Out", "State", "TensorArgument", "lower"]


@dataclass
class Lowered:
    """A function as typed SSA, and how to call it.

    `module.entry` takes the dynamic leaves of the arguments in order, then the captured Tensors.  `result` is the
    structure of the returned value: `Out` leaves are results, `Arg` leaves are arguments returned as they are.
    """

    module: Module
    argument_types: list[TensorType]
    captures: list[Capture]
    guards: list[AnyGuard]
    states: dict[str, Any]
    result: Any


@dataclass(frozen=True)
class Out:
    """Result number `index`; a Python number of `kind` unless None."""

    index: int
    kind: type | None = None


@dataclass(frozen=True)
class Arg:
    """Dynamic argument leaf number `index`, returned unchanged."""

    index: int


@dataclass(frozen=True)
class State:
    """A Parameter returned as it is."""

    source: Any


def lower(
    fn: Any, args: Sequence[Any], kwargs: dict[str, Any], options: Options | None = None, name: str | None = None
) -> Lowered:
    """Compiles ``fn(*args, **kwargs)`` to typed SSA.

    Arguments are given as specifications: `TensorArgument` and `NumberArgument` leaves are dynamic, everything else is
    static.
    """
    lowering = Lowering(name or getattr(fn, "__name__", type(fn).__name__).strip("<>") or "main", options or Options())
    old_limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(old_limit, 40_000))
    try:
        with lowering.builder:
            given = [lowering.argument(a, _name_of(fn, i)) for i, a in enumerate(args)]
            named = {k: lowering.argument(v, k) for k, v in kwargs.items()}
            try:
                returned = call(lowering, fn, given, named)
            except Diverged:
                returned = None
            result, outs = _result(lowering, returned)
            lowering.builder.ret(*outs)
    finally:
        sys.setrecursionlimit(old_limit)
    return _finish(lowering, result)


def _name_of(fn: Any, i: int) -> str:
    """What the user calls argument number `i`."""
    while hasattr(fn, "fn") or hasattr(fn, "__wrapped__"):  # a derivative takes the arguments of its function
        fn = fn.fn if hasattr(fn, "fn") else fn.__wrapped__
    method = getattr(type(fn), "construct", None)
    code = getattr(method or getattr(fn, "__func__", fn), "__code__", None)
    i += method is not None or hasattr(fn, "__self__")
    return str(code.co_varnames[i]) if code is not None and i < code.co_argcount else f"arg{i}"


def _result(lowering: Lowering, returned: Any) -> tuple[Any, list[Value]]:
    """The structure of the returned value, and the Values that the entry returns."""
    outs: list[Value] = []
    places: dict[int, int] = {}
    arguments = {id(a): i for i, a in enumerate(lowering.arguments)}
    entry_args = set(lowering.entry.args)

    def out(x: Any, value: Value, kind: type | None) -> Out:
        if id(x) not in places:  # one Tensor returned twice is one object, two equal Tensors are two
            places[id(x)] = len(outs)
            outs.append(value)
        return Out(places[id(x)], kind)

    def leaf(x: Any) -> Any:
        if id(x) in arguments and (type(x) is Weak or x.value in entry_args):
            return Arg(arguments[id(x)])
        if type(x) is TensorVar:
            lowering.snapshots.note_read(x, lowering.here)
            return out(x, x.value, None)
        if type(x) is Weak:
            return out(x, x.value, x.kind)
        if type(x) is StateVar:
            return State(x.source)
        return x

    return map_leaves(leaf, returned), outs


def _finish(lowering: Lowering, result: Any) -> Lowered:
    entry = lowering.entry
    types: list[Any] = [a.type for a in entry.args]
    entry.body.args += lowering.captured
    for i, arg in enumerate(entry.args):
        arg.index = i
    lowering.module.functions = {entry.name: entry, **lowering.module.functions}
    outside = lowering.outside
    return Lowered(lowering.module, types, outside.captures, list(outside.guards.values()), outside.states, result)
