"""Buckets: sums over processes travel together, while the program goes on.

`all_reduce` ops of the entry that do not depend on each other are put into buckets, in the order in which their
operands are there.  A bucket is begun behind the op that makes the last of its operands, which in a backward pass is
long before the end, and waited for before the first op that reads one of its sums.  All processes decide alike: by the
ops and their sizes, and by AC_BUCKET_SIZE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..environment import amount
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import REGISTRY
from ..ir.types import TensorType
from ..ir.walk import Cloner, uses
from .manager import module_pass

#: The bytes of a bucket, unless AC_BUCKET_SIZE says otherwise: on a machine with 1 to 4 GB/s between processes, a call
#: of some 30 us is then a few hundredths of the time of its bytes.
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
    bytes: int
    begins: int
    ends: int

    @property
    def key(self) -> tuple[object, ...]:
        """What those of a bucket have in common."""
        return _key(self.ops[0])


def _key(op: Op) -> tuple[object, ...]:
    return op.operands[0].dtype, op.attr("group"), op.attr("size")


class _Plan:
    """The buckets of a function's body, in the order in which they begin."""

    def __init__(self, function: Function) -> None:
        self._body = function.body
        found = [op for op in self._body.ops if _fits(op)]
        self.buckets: list[_Bucket] = []
        if not found:
            return
        self._place = {op: i for i, op in enumerate(self._body.ops)}
        readers = uses(function)
        limit = amount("AC_BUCKET_SIZE")
        limit = DEFAULT if limit is None else limit
        first_of = {op: self._first_reader(op, readers) for op in found}
        begins = {op: self._made(op.operands[0]) for op in found}
        for op in sorted(found, key=lambda op: begins[op]):
            self._add(op, begins[op], first_of[op], limit)
        self.buckets = [b for b in self.buckets if len(b.ops) > 1 or b.ends - b.begins > 2]

    def _add(self, op: Op, begins: int, ends: int, limit: int) -> None:
        """Puts an op into the bucket that was begun last and has room, if no sum of that is read before."""
        size = _bytes(op)
        for bucket in reversed(self.buckets):
            if bucket.key == _key(op):
                if bucket.bytes + size <= limit and begins < bucket.ends:
                    bucket.ops.append(op)
                    bucket.bytes += size
                    bucket.begins, bucket.ends = max(bucket.begins, begins), min(bucket.ends, ends)
                    return
                break
        self.buckets.append(_Bucket([op], size, begins, ends))

    def _made(self, x: Value) -> int:
        """The number of the op of the body that makes a value; -1 for an argument."""
        return self._place.get(x.op, -1) if x.op is not None else -1

    def _first_reader(self, op: Op, readers: dict[Value, list[tuple[Op | Block, int]]]) -> int:
        """The number of the first op of the body that reads the result, or holds one that does."""
        places = [len(self._body.ops)]
        for reader, _ in readers.get(op.results[0], ()):
            at = reader
            while at is not self._body and not (isinstance(at, Op) and at.parent is self._body):
                at = at.parent  # type: ignore[assignment]
            if isinstance(at, Op):
                places.append(self._place[at])
        return min(places)


def _fits(op: Op) -> bool:
    """Whether an op is a sum of floats over several processes, of a size that is known."""
    if op.defn.name != "all_reduce" or op.attr("op") != "sum" or op.attr("size") == 1:
        return False
    type = op.operands[0].type
    return isinstance(type, TensorType) and type.dtype.is_float and all(isinstance(d, int) for d in type.shape)


def _bytes(op: Op) -> int:
    type = op.operands[0].type
    assert isinstance(type, TensorType)
    return math.prod(type.shape) * type.dtype.itemsize  # type: ignore[arg-type]


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
