"""Activity: the values through which a derivative flows, found once per differentiated block.

A value is active if it depends on an input asked for (*varied*) and a seeded result depends on it (*useful*), both
along float values only.  The dependencies of all blocks, nested ones and loop carries included, are one flat graph, so
both questions are answered by walking it once, whatever the nesting.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from ..ir.core import Block, Op, Value
from ..ir.types import Seq, TensorType, TupleType, Type

__all__ = ["active_values", "differentiable"]


@functools.cache
def differentiable(type: Type) -> bool:
    """Whether values of a type carry cotangents: float tensors, and what contains some."""
    if isinstance(type, TensorType):
        return type.dtype.is_float
    if isinstance(type, TupleType):
        return any(map(differentiable, type.elems))
    return isinstance(type, Seq) and differentiable(type.elem)


def active_values(block: Block, wrt: Iterable[Value], seeds: Iterable[Value], hooks: bool = True) -> set[Value]:
    """The values of a block, and of the blocks inside it, that are varied by `wrt` and useful to `seeds`.

    With `hooks` also those varied by a `gradient_source`: what a gradient hook that is on their way wants to see.

    An integer or bool listed in `wrt` is active too, but only through the casts that make it a float (and through calls
    of functions that do so): integer arithmetic, indices and integer carries have no derivative.
    """
    wrt = list(wrt)
    sources: dict[Value, Sequence[Value]] = {}
    _collect(block, sources)
    asked = {v for v in wrt if not differentiable(v.type)}
    useful: set[Value] = set()
    readers: dict[Value, list[Value]] = {}
    stack = [v for v in seeds if differentiable(v.type)]
    useful.update(stack)
    while stack:
        v = stack.pop()
        for x in sources.get(v, ()):
            if not differentiable(x.type) and not (x in asked and _takes_integers(v)):
                continue
            if x in readers:
                readers[x].append(v)
            else:
                readers[x] = [v]
            if x not in useful:
                useful.add(x)
                stack.append(x)
    stack = [v for v in wrt if v in useful]
    if hooks:
        stack += [v for v in useful if v.op is not None and v.op.defn.name == "gradient_source"]
    active = set(stack)
    while stack:
        for v in readers.get(stack.pop(), ()):
            if v not in active:
                active.add(v)
                stack.append(v)
    return active


def _takes_integers(result: Value) -> bool:
    return type(result.owner) is Op and result.owner.defn.name in ("cast", "call")


def _collect(block: Block, sources: dict[Value, Sequence[Value]]) -> None:
    """Notes for every value which values it may depend on."""
    for op in block.ops:
        if not op.blocks:
            if op.defn.name != "stop_gradient":
                for r in op.results:
                    sources[r] = op.operands
            continue
        name = op.defn.name
        if name == "if":
            then, other = op.blocks
            for r, a, b in zip(op.results, then.outs, other.outs, strict=True):
                sources[r] = (a, b)
        elif name == "while":
            _collect_loop(op.blocks[1], op.operands, op.blocks[1].args, op.results[1:], sources)
        elif name == "scan":
            body, k = op.blocks[0], op.attrs[0]
            _collect_loop(body, op.operands[1 : 1 + k], body.args[1 : 1 + k], op.results, sources)
            for elem, xs in zip(body.args[1 + k :], op.operands[1 + k :], strict=True):
                sources[elem] = (xs,)
        else:  # custom_vjp and grad_map: what their blocks mention gets no cotangent
            for r in op.results:
                sources[r] = op.operands
            continue
        for inner in op.blocks:
            _collect(inner, sources)


def _collect_loop(
    body: Block,
    inits: Sequence[Value],
    carries: Sequence[Value],
    results: Sequence[Value],
    sources: dict[Value, Sequence[Value]],
) -> None:
    k = len(inits)
    for init, carry, out, final in zip(inits, carries, body.outs, results, strict=False):
        sources[carry] = (init, out)
        sources[final] = (carry,)  # after no trip at all the result is the initial value
    for out, collected in zip(body.outs[k:], results[k:], strict=True):
        sources[collected] = (out,)
