"""`grad` inside compiled code: the differentiated function becomes the block of a `grad` op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import GradientError, SideEffectError
from ..ir.core import Value
from ..ir.primitive import REGISTRY, trace
from .calls import call
from .lowering import Lowering
from .values import OUTSIDE, StateVar, TensorVar, Weak, describe, flatten, map_leaves

__all__ = ["differentiate"]


def differentiate(
    lw: Lowering,
    fn: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    wrt: Sequence[Any],
    weights: Sequence[Any] = (),
    select: Any = None,
    sens: Any = None,
) -> tuple[Any, list[Any], list[Any]]:
    """``fn(*args, **kwargs)`` and its derivatives.

    `wrt` are argument values (Tensors) to differentiate by, `weights` Parameters.  ``select(result)`` picks the part
    of the result that is differentiated (default: all of it); `sens` gives its cotangents (default: ones).
    Returns the result, the gradients of `wrt` and the gradients of `weights`.
    """
    given = [x for x in flatten((list(args), list(kwargs.values()))) if type(x) in (TensorVar, StateVar)]
    inputs: dict[int, Value] = {}
    for x in [*given, *wrt]:
        if type(x) not in (TensorVar, StateVar):
            raise GradientError(f"only the derivative by a Tensor can be taken, not by a {describe(x)}")
        inputs.setdefault(id(x), lw.unwrap(x))
    order = list(inputs)
    operands = list(inputs.values())
    loc = trace.builder.loc
    builder = trace.builder.nested([v.type for v in operands], [v.name for v in operands])
    boxes = {key: TensorVar(arg, OUTSIDE) for key, arg in zip(order, builder.block.args, strict=True)}

    def inside(x: Any) -> Any:
        return map_leaves(lambda v: boxes.get(id(v), v), x)

    with lw.region() as region, builder:
        result = call(lw, fn, [inside(a) for a in args], {k: inside(v) for k, v in kwargs.items()})
        if region.saved:
            lw.restore(region)
            raise SideEffectError("a function that is differentiated changes an object made outside of it", loc=loc)
        outs, slots = _outputs(lw, result)
        chosen = _outputs(lw, result if select is None else select(result))[0]
    seeds, seed_values = _seeds(lw, outs, chosen, sens, select)
    block = builder.ret(*outs)
    positions = tuple(order.index(id(x)) for x in wrt)
    states = tuple(lw.outside.state(w).name for w in weights)
    op = trace.builder.emit_op(REGISTRY["grad"], (*operands, *seed_values), (positions, seeds, states), (block,))
    n = len(outs)
    values = iter(op.results[:n])
    out = map_leaves(lambda v: _rewrap(v, values) if id(v) in slots else v, result)
    grads = [TensorVar(v) for v in op.results[n : n + len(wrt)]]
    return out, grads, [TensorVar(v) for v in op.results[n + len(wrt) :]]


def _outputs(lw: Lowering, result: Any) -> tuple[list[Value], set[int]]:
    """The Values of the dynamic leaves of a result, in order."""
    leaves = [x for x in flatten(result) if type(x) in (TensorVar, StateVar, Weak)]
    return [x.value if type(x) is Weak else lw.unwrap(x) for x in leaves], {id(x) for x in leaves}


def _rewrap(leaf: Any, values: Any) -> Any:
    value = next(values)
    return Weak(value, leaf.kind) if type(leaf) is Weak else TensorVar(value, getattr(leaf, "locked", OUTSIDE))


def _seeds(
    lw: Lowering, outs: list[Value], chosen: list[Value], sens: Any, select: Any
) -> tuple[tuple[int, ...] | None, list[Value]]:
    """Which results are seeded and with what: given cotangents, or ones for every float result."""
    if sens is None and select is None:
        return None, []
    positions = [next(i for i, o in enumerate(outs) if o is v) for v in chosen]
    if sens is None:
        floats = [p for p in positions if outs[p].dtype.is_float]
        return tuple(floats), [trace.builder.const(1, outs[p].type) for p in floats]
    given = [lw.unwrap(s) for s in flatten(sens)]
    if len(given) != len(positions):
        raise GradientError(f"{len(given)} sensitivities were given for {len(positions)} outputs")
    for p, s in zip(positions, given, strict=True):
        if s.type is not outs[p].type:
            raise GradientError(f"the sensitivity of an output {outs[p].type} is {s.type}")
    return tuple(positions), given
