"""Branches, loops and sequences: the host's part, with segments in the blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...ir.core import Block, Op, Value
from ...ir.types import Seq, TensorType, TupleType, Type, tensor
from ...primitives.control import COUNT
from ..loop_plan import LoopPlan
from .emit import Ref
from .launch import Number, Placed, launch
from .lower import Lowering, control
from .steps import Bind, Branch, Execute, Frame, Loop, Operand, Run, SeqKey, given, keys_of, taken


# ------------------------------------------------------------------------------------------------ branches
@control("if")
def _if(low: Lowering, op: Op) -> None:
    test, loc = low.ref(op.operands[0]), str(op.loc or "")
    results = [low.fresh(r.type, r.name) for r in op.results]

    def arm(block: Block) -> None:
        low.block(block)
        low.bind(results, [low.settled(low.env[v], loc) for v in block.outs])

    arms = [low.nested(lambda block=block: arm(block)) for block in op.blocks]  # type: ignore[misc]
    makes = [key for r in results for key in keys_of(r)]
    low.step(Branch(test, (arms[0], arms[1]), makes, loc))
    low.env.update(zip(op.results, results, strict=True))


# ------------------------------------------------------------------------------------------------ loops
def _carries(low: Lowering, loop: LoopPlan, loc: str) -> list[Operand]:
    """Names for the carries, which mean the initial values at first."""
    carries = [low.fresh(c.init.type, c.init.name) for c in loop.carries]
    low.bind(carries, [low.settled(low.env[c.init], loc) for c in loop.carries])
    for carry, operand in zip(loop.carries, carries, strict=True):
        low.env.update(dict.fromkeys(carry.args, operand))
    return carries


def _body(low: Lowering, loop: LoopPlan, carries: list[Operand], loc: str) -> tuple[list[Any], list[Operand]]:
    """The steps of a trip and its residuals, under names that outlive the next values of the carries."""
    saved = [low.fresh(out.type, out.name) for out, _ in loop.collected]

    def write() -> None:
        low.block(loop.body)
        nexts = [low.settled(low.env[c.next], loc) for c in loop.carries]
        low.bind([*saved, *carries], [*(low.settled(low.env[v], loc) for v, _ in loop.collected), *nexts])

    return low.nested(write), saved


def _number(run: Run, ref: Ref, number: int) -> None:
    """Stores a number that the host knows as a value of the device."""
    run.store(np.array(number, ref.dtype.numpy), ref.buffer)


@control("while")
def _while(low: Lowering, op: Op) -> None:
    loop, loc = LoopPlan(op, low.uses), str(op.loc or "")
    cond = loop.cond
    assert cond is not None
    carries = _carries(low, loop, loc)
    tests: list[Ref] = []

    def test() -> None:
        low.block(cond)
        tests.append(low.whole(low.ref(cond.outs[0]), loc))

    cond_steps = low.nested(test)
    body_steps, saved = _body(low, loop, carries, loc)
    count = low.fresh(loop.count.type)
    assert isinstance(count, Ref)
    sequences = [SeqKey() for _ in saved]
    wanted = bool(low.uses.get(loop.count))

    def run(execute: Execute, run: Run) -> None:
        collected: list[list[Any]] = [[] for _ in saved]
        trips = 0
        while True:
            execute(cond_steps, run)
            if not bool(run.fetch(tests[0])):
                break
            execute(body_steps, run)
            for items, x in zip(collected, saved, strict=True):
                items.append(taken(run.frame, x))
            trips += 1
        run.frame.update(zip(sequences, collected, strict=True))
        if wanted:
            _number(run, count, trips)

    made = {loop.count: count, **_results(loop, carries, sequences)}
    _finish(low, made, run, [cond_steps, body_steps], [tests[0], *saved], loc)


@control("scan")
def _scan(low: Lowering, op: Op) -> None:
    loop, loc = LoopPlan(op, low.uses), str(op.loc or "")
    length = low.ref(loop.count)
    carries = _carries(low, loop, loc)
    elements = {arg: low.fresh(arg.type, arg.name) for _, arg in loop.elements}
    low.env.update(elements)
    place = None
    if loop.index is not None:
        place = low.env[loop.index] = low.room(COUNT)
    steps, saved = _body(low, loop, carries, loc)
    sequences = [SeqKey() for _ in saved]
    low.meanings += [(key, None) for e in elements.values() for key in keys_of(e)]
    read = [low.env[xs] for xs, _ in loop.elements]

    def run(execute: Execute, run: Run) -> None:
        trips = max(int(length.number if length.number is not None else run.fetch(length)), 0)
        collected: list[list[Any]] = [[None] * trips for _ in saved]
        lists = [taken(run.frame, x) for x in read]
        for i in reversed(range(trips)) if loop.reverse else range(trips):
            if place is not None:
                _number(run, place, i)
            for x, items in zip(elements.values(), lists, strict=True):
                given(run.frame, x, None if items is None else items[i])
            execute(steps, run)
            for items, x in zip(collected, saved, strict=True):
                items[i] = taken(run.frame, x)
        run.frame.update(zip(sequences, collected, strict=True))

    inside = [*([place] if place is not None else []), *elements.values()]
    _finish(low, _results(loop, carries, sequences), run, [steps], [length, *read, *saved], loc, inside)


def _results(loop: LoopPlan, carries: list[Operand], sequences: list[SeqKey]) -> dict[Value, Operand]:
    """What the results of a loop are."""
    finals: dict[Value, Operand] = dict(zip((c.result for c in loop.carries), carries, strict=True))
    return finals | dict(zip((result for _, result in loop.collected), sequences, strict=True))


def _finish(
    low: Lowering,
    made: Mapping[Value, Operand],
    run: Any,
    blocks: list[list[Any]],
    reads: list[Operand],
    loc: str,
    inside: Sequence[Operand] = (),
) -> None:
    """The step that makes these values; `inside`: what it gives to its blocks."""
    makes = [key for r in [*made.values(), *inside] for key in keys_of(r)]
    low.step(Loop(run, blocks, [key for r in reads for key in keys_of(r)], makes, loc))
    low.env.update(made)


# ------------------------------------------------------------------------------------------------ sequences
@control("seq_len")
def _seq_len(low: Lowering, op: Op) -> None:
    key, made = low.env[op.operands[0]], low.fresh(op.results[0].type)
    assert isinstance(made, Ref)

    def run(execute: Execute, run: Run) -> None:
        _number(run, made, len(taken(run.frame, key) or ()))

    _finish(low, {op.results[0]: made}, run, [], [key], "")


@control("to_seq")
def _to_seq(low: Lowering, op: Op) -> None:
    x, key = low.ref(op.operands[0]), SeqKey()
    parts = [low.whole(x.sliced(0, i, 1).squeezed((0,)), str(op.loc or "")) for i in range(x.shape[0])]

    def run(frame: Frame) -> None:
        frame[key] = [frame.get(p.buffer) for p in parts]

    low.step(Bind(run, [p.buffer for p in parts], [key]))
    low.env[op.results[0]] = key


@control("from_seq")
def _from_seq(low: Lowering, op: Op) -> None:
    key, type = low.env[op.operands[0]], op.results[0].type
    assert isinstance(type, TensorType)
    made = low.room(type, op.results[0].name)
    parts = [made.sliced(0, i, 1).squeezed((0,)) for i in range(made.shape[0])]
    elements = [low.room(tensor(type.dtype, p.shape)) for p in parts]
    low.meanings += [(e.buffer, None) for e in elements]

    def run(frame: Frame) -> None:
        for e, block in zip(elements, taken(frame, key) or (), strict=True):
            given(frame, e, block)

    low.step(Bind(run, list(keys_of(key)), [k for e in elements for k in keys_of(e)]))
    for part, e in zip(parts, elements, strict=True):
        low.copy(part, e, str(op.loc or ""))
    low.env[op.results[0]] = made


@control("seq_add")
def _seq_add(low: Lowering, op: Op) -> None:
    a, b = (low.env[v] for v in op.operands)
    key, type = SeqKey(), op.results[0].type
    assert isinstance(type, Seq)

    def run(execute: Execute, run: Run) -> None:
        with run.device.order:
            run.device.enter()
            run.frame[key] = _sum(run, type, taken(run.frame, a), taken(run.frame, b), str(op.loc or ""))

    _finish(low, {op.results[0]: key}, run, [], [a, b], str(op.loc or ""))


def _sum(run: Run, type: Type, x: Any, y: Any, loc: str) -> Any:
    """The sum of two values of a type, tuples and sequences element by element; None stands for zero."""
    if x is None or y is None:
        return x if y is None else y
    if isinstance(type, Seq):
        return [_sum(run, type.elem, a, b, loc) for a, b in zip(x, y, strict=True)]
    if isinstance(type, TupleType):
        return tuple([_sum(run, t, a, b, loc) for t, a, b in zip(type.elems, x, y, strict=True)])
    assert isinstance(type, TensorType)
    size = math.prod([n for n in type.shape if isinstance(n, int)])
    made = run.device.allocate(size * type.dtype.itemsize)
    # blocks are contiguous: one dimension is enough
    places = [Placed(block.address, size, type.dtype, (size,), (1,), 0) for block in (x, y, made)]
    if size:
        launch(run.device, "Add", [places[0], places[1], Number.of(1), places[2]], loc)
    return made


# ------------------------------------------------------------------------------------------------ overflow
@control("without_overflow")
def _without_overflow(low: Lowering, op: Op) -> None:
    finite, made = low.ref(op.operands[0]), low.fresh(op.results[0].type)
    assert isinstance(made, Ref)

    def run(execute: Execute, run: Run) -> None:
        overflowed = run.device.saturates and run.device.overflowed()
        run.store(np.logical_and(run.fetch(finite), not overflowed), made.buffer)

    _finish(low, {op.results[0]: made}, run, [], [finite], str(op.loc or ""))
