"""Ops that are made up of others here, so that walks take them in: in one pass over memory where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtypes import bfloat16, float16, float32
from ...ir.build import Builder
from ...ir.core import Block, Function, Module, Op, Value
from ...ir.primitive import Context, F
from ...ir.types import TensorType
from ...ir.walk import Cloner, ops_of
from . import positions

__all__ = ["decomposed"]


def _softmax(c: Any, x: Value) -> Value:
    top = F.broadcast_to(F.max(x, axes=(c.axis,), keepdims=True), shape=x.shape)
    e = F.exp(x - top)
    return e / F.broadcast_to(F.sum(e, axes=(c.axis,), keepdims=True), shape=x.shape)  # type: ignore[no-any-return]


def _log_softmax(c: Any, x: Value) -> Value:
    z = x - F.broadcast_to(F.max(x, axes=(c.axis,), keepdims=True), shape=x.shape)
    total = F.log(F.sum(F.exp(z), axes=(c.axis,), keepdims=True))
    return z - F.broadcast_to(total, shape=x.shape)  # type: ignore[no-any-return]


def _widened(c: Any, x: Value) -> Value:
    """The same reduction: narrow floats have become f32 by then."""
    return getattr(F, c.defn.name)(x, **dict(zip(c.defn.schema, c.attrs, strict=True)))  # type: ignore[no-any-return]


_RULES: dict[str, Callable[..., Any]] = {"softmax": _softmax, "log_softmax": _log_softmax, **positions.RULES}
#: What is a sum of nothing where there are no elements.
_SUMS = frozenset({"nansum", "count", "product_sum", "euclidean_norm"})
#: Ops whose own `decomposed` suits.
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
    """The module with such ops replaced, or itself where there are none."""
    if not any(_rule(op) for function in module for op in ops_of(function.body)):
        return module
    new = module.like()
    for function in module:
        body = Block([x.type for x in function.args], [x.name for x in function.args])
        builder = Builder(body, module=new)
        with builder:
            copy = _Decompose(builder, dict(zip(function.args, body.args, strict=True)))
            body.outs = copy.clone_ops(function.body)
        new.add(Function(function.name, body, function.loc))
    return new


def _rule(op: Op) -> Callable[..., Any] | None:
    """How the op is replaced; None if it is not."""
    name = op.defn.name
    if not all(isinstance(x.type, TensorType) and (0 not in x.type.shape or name in _SUMS) for x in op.operands):
        return None
    if name in ("sum", "prod") and op.operands[0].dtype in (float16, bfloat16):
        return _widened
    return _RULES.get(name) or (op.defn.decomposed if name in _OWN else None)


class _Decompose(Cloner):
    """Copies ops, and replaces those that are made up of others."""

    def clone_op(self, op: Op) -> None:
        rule = _rule(op)
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
            wide = [F.cast(x, dtype=float32) if x.dtype in (float16, bfloat16) else x for x in xs]
            found = rule(Context(op.defn, op.attrs, (), ()), *wide)
            if found is None:
                return None
            dtype = op.results[0].dtype
            return found if found.dtype is dtype else F.cast(found, dtype=dtype)
