"""Makes a module one function of ops that fused loops can compute: calls are inlined, other ops decomposed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import Any

from ....ir.build import Builder
from ....ir.core import Block, Function, Module, Op, Value
from ....ir.primitive import Context, F
from ....ir.sizes import usual
from ....ir.types import TensorType
from ....ir.walk import Cloner, callee_of, callees, count_ops, ops_of
from ....ir.walk import inline as copied
from ..codegen.lanes import NotNativeError, computed_in
from ..fusion.clusters import REDUCTIONS, reduced_axes
from ..kernels import positions


def _softmax(c: Any, x: Value) -> Value:
    top = F.broadcast_to(F.max(x, axes=(c.axis,), keepdims=True), shape=x.shape)
    e = F.exp(x - top)
    return e / F.broadcast_to(F.sum(e, axes=(c.axis,), keepdims=True), shape=x.shape)  # type: ignore[no-any-return]


def _log_softmax(c: Any, x: Value) -> Value:
    z = x - F.broadcast_to(F.max(x, axes=(c.axis,), keepdims=True), shape=x.shape)
    total = F.log(F.sum(F.exp(z), axes=(c.axis,), keepdims=True))
    return z - F.broadcast_to(total, shape=x.shape)  # type: ignore[no-any-return]


def _pow(c: Any, x: Value, y: Value) -> Value | None:
    """Products and roots for constant exponents; they have the special values of powers at zeros and infinities."""
    number = _known(y)
    if not x.dtype.is_float or number is None:
        return None
    if number in (1, 2, 3, 4):
        square = x * x
        return (x, square, square * x, square * square)[int(number) - 1]
    if number in (-1, -2):
        inverse = F.reciprocal(x)
        return inverse if number == -1 else inverse * inverse  # type: ignore[no-any-return]
    if number in (0.5, -0.5):
        root = F.select(F.equal(x, -math.inf), math.inf, F.sqrt(x) + 0.0)  # that of -0 is 0
        return root if number == 0.5 else F.reciprocal(root)  # type: ignore[no-any-return]
    return None


def _known(x: Value) -> float | None:
    """The number that all elements are, if that is a constant."""
    while isinstance(x.owner, Op) and x.owner.defn.name in ("cast", "broadcast_to"):
        x = x.owner.operands[0]
    return None if x.constant is None else float(x.constant)


def _widened(c: Any, x: Value) -> Value:
    """The same reduction; `_made` has cast 16-bit floats to f32."""
    return getattr(F, c.defn.name)(x, **dict(zip(c.defn.schema, c.attrs, strict=True)))  # type: ignore[no-any-return]


def _is_pointwise(c: Any, kernel: tuple[int, ...]) -> bool:
    """Whether a convolution is a matrix product for each sample: kernel and stride of 1, no padding."""
    return set(kernel) == set(c.stride) == {1} and set(c.padding) == {0}


def _matrices(x: Value, groups: int) -> Value:
    """[samples, channels, ...] as [samples, groups, channels of a group, elements]."""
    samples, channels, *sizes = x.shape
    return F.reshape(x, shape=(samples, groups, channels // groups, prod(sizes)))  # type: ignore[no-any-return]


def _turned(x: Value) -> Value:
    return F.transpose(x, axes=(-4, -3, -1, -2))  # type: ignore[no-any-return]


def _filters(w: Value, groups: int, samples: Any) -> Value:
    """[samples, groups, filters of a group, channels of a group]"""
    shape = (groups, w.shape[0] // groups, w.shape[1])
    return F.broadcast_to(F.reshape(w, shape=shape), shape=(samples, *shape))  # type: ignore[no-any-return]


def _conv(c: Any, x: Value, w: Value) -> Value | None:
    if not _is_pointwise(c, w.shape[2:]):  # type: ignore[arg-type]
        return None
    found = F.matmul(_filters(w, c.groups, x.shape[0]), _matrices(x, c.groups))
    return F.reshape(found, shape=(x.shape[0], w.shape[0], *x.shape[2:]))  # type: ignore[no-any-return]


def _conv_input(c: Any, g: Value, w: Value) -> Value | None:
    if not _is_pointwise(c, w.shape[2:]):  # type: ignore[arg-type]
        return None
    found = F.matmul(_turned(_filters(w, c.groups, g.shape[0])), _matrices(g, c.groups))
    return F.reshape(found, shape=(g.shape[0], w.shape[1] * c.groups, *c.size))  # type: ignore[no-any-return]


def _conv_filter(c: Any, x: Value, g: Value) -> Value | None:
    """The sum of a matrix product for each sample; None if the products would be larger than their operands."""
    channels, filters = x.shape[1] // c.groups, g.shape[1]
    sizes: Any = x.shape[2:]
    larger = usual(channels * filters) > usual(prod(sizes) * (x.shape[1] + filters))
    if larger or not _is_pointwise(c, c.kernel):
        return None
    found = F.sum(F.matmul(_matrices(g, c.groups), _turned(_matrices(x, c.groups))), axes=(-4,))
    return F.reshape(found, shape=(filters, channels, *c.kernel))  # type: ignore[no-any-return]


def _without_ones(c: Any, x: Value) -> Value:
    """The same reduction without the last axes, of size 1: a fused loop would take them for its rows."""
    one = "axis" in c.defn.schema
    count, axes = 0, {a % len(x.shape) for a in ((c.axis,) if one else c.axes)}
    while x.shape[-1 - count] == 1 and len(x.shape) - 1 - count not in axes:
        count += 1
    ones = tuple(range(-count, 0))
    kept = tuple(a - (len(x.shape) - count) for a in sorted(axes))
    over: dict[str, Any] = {"axis": kept[0]} if one else {"axes": kept}
    found = getattr(F, c.defn.name)(F.squeeze(x, axes=ones), **over, keepdims=c.keepdims)
    return F.expand_dims(found, axes=ones)  # type: ignore[no-any-return]


_RULES: dict[str, Callable[..., Any]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "pow": _pow,
    "conv": _conv,
    "conv_input": _conv_input,
    "conv_filter": _conv_filter,
    **positions.RULES,
}
#: Ops that are decomposed without elements, too: a sum of nothing is 0.
_SUMS = frozenset({"nansum", "count", "product_sum", "euclidean_norm"})
#: Ops whose class's `decomposed` is used.
_OWN = frozenset(
    {
        "abs_power",
        "count",
        "cross",
        "euclidean_norm",
        "floored_log",
        "logsumexp",
        "nan_to_num",
        "nansum",
        "product_sum",
        "tanhshrink",
    }
)


def decomposed(module: Module) -> Module:
    """The module with such ops decomposed, or itself where there are none."""
    replaced = _replaced(module, _rule)
    return replaced if replaced is module else _replaced(replaced, _reduction_rule)


def _replaced(module: Module, rule: Callable[[Op], Callable[..., Any] | None]) -> Module:
    if not any(rule(op) for function in module for op in ops_of(function.body)):
        return module
    new = module.like()
    for function in module:
        body = Block.like(function.args)
        builder = Builder(body, module=new)
        with builder:
            copy = _Decompose(builder, dict(zip(function.args, body.args, strict=True)), rule)
            body.outs = copy.clone_ops(function.body)
        new.add(Function(function.name, body, function.loc))
    return new


def _rule(op: Op) -> Callable[..., Any] | None:
    """The rule that decomposes the op; None if it stays."""
    name = op.defn.name
    if not all(isinstance(x.type, TensorType) and (0 not in x.type.shape or name in _SUMS) for x in op.operands):
        return None
    if name in REDUCTIONS:
        return _reduction_rule(op)
    return _RULES.get(name) or (op.defn.decomposed if name in _OWN else None)


def _reduction_rule(op: Op) -> Callable[..., Any] | None:
    if op.defn.name not in REDUCTIONS or 0 in op.operands[0].shape:
        return None
    axes, shape = reduced_axes(op), op.operands[0].shape
    if shape and shape[-1] == 1 and len(shape) - 1 not in axes and any(shape[a] != 1 for a in axes):
        return _without_ones
    x = op.operands[0]
    return _widened if op.defn.name in ("sum", "prod") and computed_in(x.dtype) is not x.dtype else None


class _Decompose(Cloner):
    """Copies ops, and decomposes those that have a rule."""

    def __init__(self, builder: Builder, mapping: dict[Value, Value], rule_of: Callable[[Op], Any]) -> None:
        super().__init__(builder, mapping)
        self.rule_of = rule_of

    def nested(self, builder: Builder) -> _Decompose:
        return _Decompose(builder, self.mapping, self.rule_of)

    def clone_op(self, op: Op) -> None:
        rule = self.rule_of(op)
        found = None if rule is None else self._made(op, rule)
        if found is None:
            super().clone_op(op)
        else:
            self.mapping[op.results[0]] = found
            found.name = found.name or op.results[0].name

    def _made(self, op: Op, rule: Callable[..., Any]) -> Any:
        self.builder.loc = op.loc
        with self.builder:
            xs = [self.mapping.get(x, x) for x in op.operands]
            wide = [x if computed_in(x.dtype) is x.dtype else F.cast(x, dtype=computed_in(x.dtype)) for x in xs]
            found = rule(Context(op.defn, op.attrs, (), ()), *wide)
            if found is None:
                return None
            dtype = op.results[0].dtype
            return found if found.dtype is dtype else F.cast(found, dtype=dtype)


# ------------------------------------------------------------------------------------------------ calls
# Inlined, so that one plan of loops and memory covers the program.
#: The most ops of a function with its calls inlined.
_MOST = 20_000


def without_calls(module: Module) -> Module:
    """The module as one function; NotNativeError where functions are recursive, or too large once inlined."""
    if not any(op.defn.name == "call" for op in ops_of(module.entry.body)):
        return module
    graph = {f.name: list(dict.fromkeys(callees(f))) for f in module}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError:
        raise NotNativeError("functions that call themselves") from None
    made = module.like()
    sizes: dict[str, int] = {}
    for name in order:
        function = module.functions[name]
        called = [callee for op in ops_of(function.body) if (callee := callee_of(op)) is not None]
        sizes[name] = count_ops(function) + sum(sizes[callee] for callee in called)
        if sizes[name] > _MOST:
            raise NotNativeError(f"calls of more than {_MOST} ops")
        made.add(_written_out(function, made))
    new = module.like()
    new.add(made.functions[module.entry.name])
    return new


def _written_out(function: Function, made: Module) -> Function:
    body = Block.like(function.args)
    cloner = _Inline(Builder(body, module=made), dict(zip(function.args, body.args, strict=True)))
    cloner.made = made
    body.outs = cloner.clone_ops(function.body)
    return Function(function.name, body, function.loc)


class _Inline(Cloner):
    """Copies a function and inlines its callees, which have no calls any more."""

    made: Module

    def nested(self, builder: Builder) -> _Inline:
        inner = type(self)(builder, self.mapping, self.relocate)
        inner.made = self.made
        return inner

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        callee = callee_of(op)
        if callee is None:
            return super().clone_structured(op, operands)
        return copied(self.builder, self.made.functions[callee].body, operands, caller=op.loc)
