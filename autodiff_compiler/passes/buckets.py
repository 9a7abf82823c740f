"""Buckets: sums over processes travel together, while the program goes on.

The `all_reduce` ops that come from one line of the program, as ``[add(g) for g in gradients]``, are put into buckets,
the last one first: that is the order in which a backward pass has gradients.  A bucket is begun behind the op that
makes the last of its operands, long before the end of the backward pass, and waited for before the first op that reads
one of its sums.

All processes must decide alike, though their programs may differ in all but their collectives, and operands of one may
be constants in another.  So neither which ops share a bucket nor the order of buckets depends on when operands are
there, and a bucket is not begun before another collective that stands before it.

Bytes close a bucket, unless the user has numbered the sums (`fusion`): then each number is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..environment import amount
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import REGISTRY
from ..ir.types import TensorType
from ..ir.walk import Cloner, ops_of, uses
from .manager import module_pass

#: The bytes of a bucket, unless AC_BUCKET_SIZE says otherwise (0: there are none).  Between processes that move 1 to 4
#: GB/s, what a call costs by itself, some 30 us, is then a few hundredths of its time.
DEFAULT = 4 << 20


@module_pass("buckets")
def buckets(module: Module) -> Module:
    """The module with the sums over processes of its entry in buckets; where there is nothing to gain, the module."""
    entry = module.entry
    plan = _Plan(entry)
    if not plan.buckets:
        return module
    new = module.like()
    for function in module:
        new.add(_rebuilt(function, new, plan) if function is entry else function)
    return new


@dataclass
class _Bucket:
    """Some `all_reduce` ops: `begins` and `ends` are the numbers of the ops behind and before which it is."""

    ops: list[Op]
    bytes: int = 0
    begins: int = -1
    ends: int = 0

    def takes(self, op: Op, limit: int) -> bool:
        """Whether an op may be one of them: of the user's number, or without one, as bytes allow."""
        first = self.ops[0]
        same = first.operands[0].dtype is op.operands[0].dtype and first.attr("fusion") == op.attr("fusion")
        return same and (op.attr("fusion") != 0 or self.bytes + _bytes(op) <= limit)


class _Plan:
    """The buckets of a function's body, in the order in which they begin."""

    def __init__(self, function: Function) -> None:
        self._body = function.body
        self.buckets: list[_Bucket] = []
        found: dict[tuple[object, ...], list[Op]] = {}
        for op in self._body.ops:
            if _fits(op):
                found.setdefault(_line(op), []).append(op)
        limit = amount("AC_BUCKET_SIZE")
        if not found or limit == 0:
            return
        self._limit = DEFAULT if limit is None else limit
        self._place = {op: i for i, op in enumerate(self._body.ops)}
        self._readers = uses(function)
        self._meetings = [i for i, op in enumerate(self._body.ops) if _meets(op)]
        for ops in found.values():
            self.buckets += self._of_line(ops)

    def _of_line(self, ops: list[Op]) -> list[_Bucket]:
        """The buckets of the ops of one line; none if they depend on each other, or other collectives are between."""
        places = {self._place[op] for op in ops}
        inside = [i for i in self._meetings if min(places) <= i <= max(places)]
        if len(inside) != len(places):
            return []
        begins = max((i for i in self._meetings if i < min(places)), default=-1)
        made: list[_Bucket] = []
        for op in reversed(ops):
            size, last = _bytes(op), made[-1] if made else None
            if last is None or not last.takes(op, self._limit):
                last = _Bucket([], 0, begins, len(self._body.ops))
                made.append(last)
            begins = max(begins, self._made(op.operands[0]))
            last.ops.append(op)
            last.bytes += size
            last.begins, last.ends = begins, min(last.ends, self._first_reader(op))
        if any(bucket.begins >= bucket.ends or bucket.begins in places for bucket in made):
            return []
        return made if len(ops) > 1 or made[0].ends - made[0].begins > 2 else []

    def _made(self, x: Value) -> int:
        """The number of the op of the body that makes a value; -1 for an argument."""
        return -1 if x.op is None else self._place.get(x.op, -1)

    def _first_reader(self, op: Op) -> int:
        """The number of the first op of the body that reads the result, or holds one that does."""
        places = [len(self._body.ops)]
        for reader, _ in self._readers.get(op.results[0], ()):
            at: Any = reader
            while at is not self._body and not (isinstance(at, Op) and at.parent is self._body):
                at = at.parent
            if isinstance(at, Op):
                places.append(self._place[at])
        return min(places)


def _line(op: Op) -> tuple[object, ...]:
    """What ops of one line have in common."""
    assert op.loc is not None
    return op.loc.file, op.loc.line, op.loc.caller, op.attr("group"), op.attr("size")


def _meets(op: Op) -> bool:
    """Whether an op is a collective, or holds one."""
    return op.defn.collective or any(each.defn.collective for block in op.blocks for each in ops_of(block))


def _fits(op: Op) -> bool:
    """Whether an op is a sum of floats over several processes that the user wrote, of a size that is known."""
    if op.loc is None or op.loc.tag:  # what a derivative made depends on what this process reads
        return False
    if op.defn.name != "all_reduce" or op.attr("op") != "sum" or op.attr("size") == 1:
        return False
    type = op.operands[0].type
    return isinstance(type, TensorType) and type.dtype.is_float and all(isinstance(d, int) for d in type.shape)


def _bytes(op: Op) -> int:
    type: Any = op.operands[0].type
    found: int = math.prod(type.shape) * type.dtype.itemsize
    return found


def _rebuilt(function: Function, module: Module, plan: _Plan) -> Function:
    body = Block.like(function.args)
    builder = Builder(body, module=module)
    copy = Cloner(builder, dict(zip(function.args, body.args, strict=True)))
    begin, end = _by_place(plan.buckets, "begins"), _by_place(plan.buckets, "ends")
    members = {op for bucket in plan.buckets for op in bucket.ops}
    with builder:
        for number in begin.get(-1, ()):
            _begin(copy, plan.buckets[number], number)
        for i, op in enumerate(function.body.ops):
            for number in end.get(i, ()):
                _end(copy, plan.buckets[number], number)
            if op not in members:
                copy.clone_op(op)
            for number in begin.get(i, ()):
                _begin(copy, plan.buckets[number], number)
        for number in end.get(len(function.body.ops), ()):
            _end(copy, plan.buckets[number], number)
    builder.ret(*[copy.mapping[x] for x in function.outs])
    return Function(function.name, body, function.loc)


def _by_place(found: Sequence[_Bucket], what: str) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for number, bucket in enumerate(found):
        places.setdefault(getattr(bucket, what), []).append(number)
    return places


def _begin(copy: Cloner, bucket: _Bucket, number: int) -> None:
    first = bucket.ops[0]
    copy.builder.loc = first.loc
    operands = tuple([copy.mapping.get(op.operands[0], op.operands[0]) for op in bucket.ops])
    copy.builder.emit(REGISTRY["begin_all_reduce"], operands, (number, first.attr("group"), first.attr("size")))


def _end(copy: Cloner, bucket: _Bucket, number: int) -> None:
    shapes = [op.operands[0].shape for op in bucket.ops]
    ranks, sizes = tuple([len(s) for s in shapes]), tuple([d for s in shapes for d in s])
    copy.builder.loc = bucket.ops[0].loc
    attrs = (number, bucket.ops[0].operands[0].dtype, ranks, sizes)
    found = copy.builder.emit(REGISTRY["end_all_reduce"], (), attrs)
    for op, result in zip(bucket.ops, found, strict=True):
        copy.map_results(op, [result])
