"""Activity: the values through which a derivative flows, found once per differentiated block.

A value is active if it depends on an input asked for (*varied*) and a seeded result depends on it (*useful*), both
along values that carry derivatives.  Floats do.  Integers do where they depend on an integer input asked for: all
others are indices, counts, or floats that were rounded, and cost nothing.  Bools do only as inputs themselves, through
casts.  The dependencies of all blocks, nested ones and loop carries included, are one flat graph, so both questions are
answered by walking it, whatever the nesting.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

from ..errors import CompileError
from ..ir.build import Builder
from ..ir.core import Block, Op, Value
from ..ir.primitive import Context
from ..ir.types import Seq, TensorType, TupleType, Type
from ..ir.walk import is_met, ops_of
from ..primitives.autodiff import OF_USERS

_Sources = dict[Value, Sequence[Value]]


@functools.cache
def differentiable(type: Type) -> bool:
    """Whether values of a type may carry cotangents: tensors of numbers, and what contains some."""
    return _holds(type, integers=True)


@functools.cache
def holds_floats(type: Type) -> bool:
    """Whether values of a type carry cotangents whatever they depend on: floats, and what contains some."""
    return _holds(type, integers=False)


def _holds(type: Type, integers: bool) -> bool:
    if isinstance(type, TensorType):
        return type.dtype.is_float or (integers and type.dtype.is_int)
    if isinstance(type, TupleType):
        return any(_holds(t, integers) for t in type.elems)
    return isinstance(type, Seq) and _holds(type.elem, integers)


def active_values(block: Block, wrt: Iterable[Value], seeds: Iterable[Value], hooks: bool = True) -> set[Value]:
    """The values of a block, and of the blocks inside it, that are varied by `wrt` and useful to `seeds`.

    With `hooks` also those varied by a `gradient_source`: gradient hooks observe their cotangents.  What a collective
    of floats gives counts as varied, and what it takes as useful: for all this process knows, they are in another one.
    """
    wrt = list(wrt)
    met = [op for op in ops_of(block) if is_met(op) or (op.defn.name in OF_USERS and any(map(is_met, _inside(op))))]
    sources: _Sources = {}
    cut: list[Value] = []
    _collect(block, sources, cut)
    integers = _led_by_integers(sources, [v for v in wrt if not holds_floats(v.type)], cut)
    useful: set[Value] = set()
    readers: dict[Value, list[Value]] = {}
    stack = [v for v in seeds if holds_floats(v.type) or v in integers]
    stack += [v for op in met for v in (*op.operands, *op.results) if holds_floats(v.type)]
    useful.update(stack)
    while stack:
        v = stack.pop()
        for x in sources.get(v, ()):
            if not holds_floats(x.type) and x not in integers:
                continue
            if integers and not _carried(x, v):
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
    stack += [v for op in met for v in op.results if v in useful]
    active = set(stack)
    while stack:
        for v in readers.get(stack.pop(), ()):
            if v not in active:
                active.add(v)
                stack.append(v)
    return active


def _inside(op: Op) -> Iterator[Op]:
    return (inner for block in op.blocks for inner in ops_of(block))


def _led_by_integers(sources: _Sources, variables: Sequence[Value], cut: Sequence[Value]) -> set[Value]:
    """The values, floats too, that depend on integer inputs or on cotangents that were truncated to integers."""
    found = {*variables, *cut}
    if not found:
        return found
    readers: dict[Value, list[Value]] = {}
    for v, xs in sources.items():
        for x in xs:
            readers.setdefault(x, []).append(v)
    stack = list(found)
    while stack:
        x = stack.pop()
        for v in readers.get(x, ()):
            if v not in found and differentiable(v.type) and _carried(x, v):
                found.add(v)
                stack.append(v)
    return found


def _carried(x: Value, result: Value) -> bool:
    """Whether a derivative flows from a result to the operand `x` of its op, where one of the two is not a float.

    Indices, sizes and step functions have none: their rule gives None for that operand.
    """
    op = result.owner
    if type(op) is not Op or op.blocks or op.defn.infer_blocks is not None:
        return True
    if holds_floats(x.type) and holds_floats(result.type):
        return True
    if op.defn.vjp is None:
        return False
    scratch = Builder(Block([r.type for r in op.results]))
    gs = [g if r is result else None for g, r in zip(scratch.block.args, op.results, strict=True)]
    context = Context(op.defn, op.attrs, op.results, tuple([y is x for y in op.operands]))
    with scratch:
        try:
            shares = op.defn.vjp(context, gs if op.defn.multiple or len(gs) > 1 else gs[0], *op.operands)
        except CompileError:
            return True  # the sweep calls the rule again and raises it there
    if not isinstance(shares, tuple | list):
        shares = (shares,)
    return any(y is x and share is not None for y, share in zip(op.operands, shares, strict=True))


def _collect(block: Block, sources: _Sources, cut: list[Value]) -> None:
    """Notes for every value which values it may depend on, and in `cut` the cotangents that are cast to integers."""
    for op in block.ops:
        if not op.blocks:
            if op.defn.name == "cast" and op.attr("linear"):
                cut += op.results
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
            _collect(inner, sources, cut)


def _collect_loop(
    body: Block, inits: Sequence[Value], carries: Sequence[Value], results: Sequence[Value], sources: _Sources
) -> None:
    k = len(inits)
    for init, carry, out, final in zip(inits, carries, body.outs, results, strict=False):
        sources[carry] = (init, out)
        sources[final] = (carry,)  # after no trip at all the result is the initial value
    for out, collected in zip(body.outs[k:], results[k:], strict=True):
        sources[collected] = (out,)
