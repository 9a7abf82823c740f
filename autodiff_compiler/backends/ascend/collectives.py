"""Collectives: HCCL's functions, queued between segments of operators, on the same stream and in memory of the device.

HCCL reduces no unsigned integers, bools and float64, and does not multiply all others: where a wider dtype holds the
same numbers, the reduction runs in it.  Parts lie along the first axis there, so other axes are permuted views.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...collectives import Group
from ...dtypes import DType, float32, int32, int64
from ...ir.core import Op
from ...ir.types import TensorType
from ...primitives.collective import in_group, shapes_of
from ...source import calling_place
from . import hccl
from .communicators import communicator
from .device import Block
from .emit import Buffer, Ref, Refused, contiguous_strides
from .lower import Lowering, control
from .steps import Collective, Run

#: How a run of a collective begins: with the run, HCCL's communicator and the addresses of what is read.
_Queue = Callable[["_Call"], None]
#: For dtypes that HCCL does not reduce, one that it does: by elements that are cast, or by the same bytes.
_WIDER = {"bool": int32, "u8": int32, "u16": int32, "u32": int64, "bf16": float32, "i16": int32}
_SAME_BYTES = {"u32": int32, "u64": int64}
_WRAPPING = ("sum", "prod")


class _Call:
    """One run of a collective."""

    def __init__(self, site: _Site, run: Run) -> None:
        self.site, self.run, self.device = site, run, run.device
        self.group: Group = in_group(site.attrs["group"], site.attrs["size"])  # type: ignore[no-untyped-call]
        self.loc = site.loc or getattr(calling_place(), "short", "")

    def address(self, x: Ref) -> int:
        """Where an operand is."""
        return self.run.block(x.buffer).address

    def room(self, x: Ref) -> Block:
        """New memory for a result."""
        made = self.run.frame[x.buffer] = self.device.allocate(x.buffer.nbytes, x.buffer.label)
        return made

    def zeros(self, x: Ref) -> None:
        """Makes a result zeros."""
        self.device.clear(self.room(x), x.buffer.nbytes)

    def same(self, x: Ref, source: Ref) -> None:
        """Makes a result the operand's memory, which nobody changes."""
        self.run.frame[x.buffer] = self.run.block(source.buffer)

    def queue(self, function: str, *args: Any) -> None:
        communicator(self.device, self.group, self.loc).queue(function, *args, loc=self.loc)


class _Site:
    """A collective that is lowered."""

    def __init__(self, low: Lowering, op: Op) -> None:
        self.low, self.op, self.loc = low, op, str(op.loc or "")
        self.attrs: dict[str, Any] = dict(zip(op.defn.schema, op.attrs, strict=True))
        self.x = low.ref(op.operands[0]) if op.operands else None

    @property
    def axis(self) -> int:
        """The axis of parts, counted from the end."""
        return int(self.attrs["axis"])

    def operand(self, x: Ref) -> Ref:
        """An operand as all of a buffer of its own."""
        return self.low.whole(x, self.loc)

    def room(self, dtype: DType, shape: Sequence[int], i: int = 0) -> Ref:
        """A place for a result."""
        label = self.op.results[i].name or ""
        return Ref(Buffer(math.prod(shape) * dtype.itemsize, label), dtype, tuple(shape), contiguous_strides(shape))

    def step(self, reads: Sequence[Ref], makes: Sequence[Ref], queue: _Queue) -> None:
        """Adds the step that runs it."""
        self.low.ways.setdefault(self.op.defn.name, "collectives")
        self.low.step(
            Collective(
                self.op.defn.name, lambda run: queue(_Call(self, run)),
                [x.buffer for x in reads], [x.buffer for x in makes], self.loc,
            )
        )  # fmt: skip

    def give(self, *results: Ref) -> None:
        self.low.env.update(zip(self.op.results, results, strict=True))


def _front(x: Ref, axis: int) -> Ref:
    """A view with an axis, counted from the end, as the first one."""
    place = x.ndim + axis
    return x.permuted([place, *[i for i in range(x.ndim) if i != place]])


def _back(x: Ref, axis: int) -> Ref:
    """A view with the first axis at this place, counted from the end."""
    place = x.ndim + axis
    return x.permuted([*range(1, place + 1), 0, *range(place + 1, x.ndim)])


def _code(x: Ref) -> int:
    return hccl.DTYPE_CODES[x.dtype.short]


# ------------------------------------------------------------------------------------------------ reductions
def _reducible(site: _Site, x: Ref, op: str) -> Ref:
    """The same numbers in a dtype that HCCL reduces; `Refused` if there is none."""
    short = x.dtype.short
    if short in hccl.REDUCED and not (op == "prod" and short in hccl.NOT_MULTIPLIED):
        return x
    if short in _SAME_BYTES and op in _WRAPPING:
        return x.low_bytes(_SAME_BYTES[short])
    if short not in _WIDER:
        raise Refused(f"HCCL does not reduce {x.dtype.name} by {op}")
    return site.low.emitter(site.op, ()).cast(x, _WIDER[short])


def _as_before(site: _Site, x: Ref, dtype: DType) -> Ref:
    """A result in the dtype of the operand."""
    same = x.dtype.itemsize == dtype.itemsize and x.dtype.is_int and dtype.is_int
    return x.low_bytes(dtype) if same else site.low.emitter(site.op, ()).cast(x, dtype)


def _reduces(site: _Site, op: str, queue: Callable[[_Call, Ref, Ref], None], shape: Sequence[int]) -> None:
    """A reduction of the operand, whose first axis has the parts if there are some; without HCCL's help on the host."""
    x = site.x
    assert x is not None
    length = len(site.low.calls)
    try:
        source = site.operand(_reducible(site, x, op))
    except Refused as refused:
        del site.low.calls[length:]
        site.low.on_host(site.op, str(refused))
        return
    made = site.room(source.dtype, shape)
    site.step([source], [made], lambda call: queue(call, source, made))
    site.give(_as_before(site, made, x.dtype))


@control("all_reduce")
def _all_reduce(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    reduction: str = site.attrs["op"]
    number = hccl.REDUCTION_CODES[reduction]

    def queue(call: _Call, x: Ref, made: Ref) -> None:
        call.queue("HcclAllReduce", call.address(x), call.room(made).address, x.size, _code(x), number)

    if not _alone(site):
        assert site.x is not None
        _reduces(site, reduction, queue, site.x.shape)


@control("begin_all_reduce")
def _begin_all_reduce(low: Lowering, op: Op) -> None:
    """Packs the tensors of a bucket into one buffer, which is added up in its place."""
    site = _Site(low, op)
    xs = [low.ref(v) for v in op.operands]
    if xs[0].dtype.short not in hccl.REDUCED:
        low.on_host(op, f"HCCL does not reduce {xs[0].dtype.name}")
        return
    total, start = sum(x.size for x in xs), 0
    packed = Ref(Buffer(total * xs[0].dtype.itemsize, "a bucket"), xs[0].dtype, (total,), (1,))
    for x in xs:
        low.copy(replace(packed, shape=x.shape, strides=contiguous_strides(x.shape), offset=start), x, site.loc)
        start += x.size

    def queue(call: _Call) -> None:
        address, number = call.address(packed), hccl.REDUCTION_CODES["sum"]
        call.queue("HcclAllReduce", address, address, total, _code(packed), number)

    if total:
        site.step([packed], [], queue)
    low.buckets[site.attrs["number"]] = packed


@control("end_all_reduce")
def _end_all_reduce(low: Lowering, op: Op) -> None:
    """The sums are views of the bucket: later work on the stream comes after it."""
    site = _Site(low, op)
    packed = low.buckets.pop(site.attrs["number"], None)
    if packed is None:
        low.on_host(op, "")
        return
    low.ways.setdefault(op.defn.name, "collectives")
    start = 0
    shapes = shapes_of(site.attrs["ranks"], site.attrs["sizes"])  # type: ignore[no-untyped-call]
    for result, shape in zip(op.results, shapes, strict=True):
        made = replace(packed, shape=shape, strides=contiguous_strides(shape), offset=start)
        low.env[result] = made if made.size else low.nothing(result)
        start += made.size


@control("reduce_to")
def _reduce_to(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    root: int = site.attrs["root"]

    def queue(call: _Call, x: Ref, made: Ref) -> None:
        target = call.room(made)
        number = hccl.REDUCTION_CODES["sum"]
        call.queue("HcclReduce", call.address(x), target.address, x.size, _code(x), number, root)
        if call.group.rank != root:
            call.device.clear(target, made.buffer.nbytes)

    if not _alone(site):
        assert site.x is not None
        _reduces(site, "sum", queue, site.x.shape)


@control("reduce_scatter")
def _reduce_scatter(low: Lowering, op: Op) -> None:
    site = _Site(low, op)

    def queue(call: _Call, x: Ref, made: Ref) -> None:
        number = hccl.REDUCTION_CODES["sum"]
        call.queue("HcclReduceScatter", call.address(x), call.room(made).address, made.size, _code(x), number)

    if not _alone(site):
        assert site.x is not None
        site.x = _front(site.x, site.axis)
        _reduces(site, "sum", queue, site.x.shape[1:])


# ------------------------------------------------------------------------------------------------ parts
def _alone(site: _Site) -> bool:
    """Lowers what a group of one process or a tensor without elements makes of the operand: other axes."""
    low, name, x = site.low, site.op.defn.name, site.x
    assert x is not None
    if site.attrs["size"] > 1 and (x.size or name == "all_to_all_v"):
        return False
    low.ways.setdefault(name, "collectives")
    if not x.size:
        site.give(*map(low.nothing, site.op.results))
    elif name in ("all_gather", "gather_to"):
        site.give(x.expanded((site.axis,)))
    elif name in ("reduce_scatter", "scatter_from"):
        site.give(x.squeezed((site.axis,)))
    else:
        site.give(x)
    return True


@control("all_gather")
def _all_gather(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if _alone(site):
        return
    assert site.x is not None
    x = site.operand(site.x)
    made = site.room(x.dtype, (site.attrs["size"], *x.shape))

    def queue(call: _Call) -> None:
        call.queue("HcclAllGather", call.address(x), call.room(made).address, x.size, _code(x))

    site.step([x], [made], queue)
    site.give(_back(made, site.axis))


@control("scatter_from")
def _scatter_from(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if _alone(site):
        return
    assert site.x is not None
    x, root = site.operand(_front(site.x, site.axis)), site.attrs["root"]
    made = site.room(x.dtype, x.shape[1:])

    def queue(call: _Call) -> None:
        call.queue("HcclScatter", call.address(x), call.room(made).address, made.size, _code(x), root)

    site.step([x], [made], queue)
    site.give(made)


@control("all_to_all")
def _all_to_all(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if _alone(site):
        return
    assert site.x is not None
    x = site.operand(_front(site.x, site.axis))
    made, count = site.room(x.dtype, x.shape), x.size // site.attrs["size"]

    def queue(call: _Call) -> None:
        target = call.room(made).address
        call.queue("HcclAlltoAll", call.address(x), count, _code(x), target, count, _code(x))

    site.step([x], [made], queue)
    site.give(_back(made, site.axis))


def _in_parts(call: _Call, x: Ref, made: Ref, sent: Sequence[int], received: Sequence[int]) -> None:
    """Queues an all-to-all of so many elements for and from each process."""
    lists = []
    for counts in (sent, received):
        starts = [sum(counts[:i]) for i in range(len(counts))]
        lists += [(ctypes.c_uint64 * len(counts))(*numbers) for numbers in (counts, starts)]
    code, target = _code(x), call.room(made).address
    call.queue("HcclAlltoAllV", call.address(x), *lists[:2], code, target, *lists[2:], code)


@control("all_to_all_v")
def _all_to_all_v(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if _alone(site):
        return
    assert site.x is not None
    x = site.operand(_front(site.x, site.axis))
    row = math.prod(x.shape[1:])
    sent, received = ([n * row for n in site.attrs[name]] for name in ("sent", "received"))
    made = site.room(x.dtype, (sum(site.attrs["received"]), *x.shape[1:]))
    site.step([x], [made], lambda call: _in_parts(call, x, made, sent, received))
    site.give(_back(made, site.axis))


@control("gather_to")
def _gather_to(low: Lowering, op: Op) -> None:
    """HCCL has no such function: an all-to-all, in which only the root receives."""
    site = _Site(low, op)
    if _alone(site):
        return
    assert site.x is not None
    x, size, root = site.operand(site.x), site.attrs["size"], site.attrs["root"]
    made = site.room(x.dtype, (size, *x.shape))
    sent = [x.size if rank == root else 0 for rank in range(size)]

    def queue(call: _Call) -> None:
        mine = call.group.rank == root
        _in_parts(call, x, made, sent, [x.size if mine else 0] * size)
        if not mine:
            call.device.clear(call.run.block(made.buffer), made.buffer.nbytes)

    site.step([x], [made], queue)
    site.give(_back(made, site.axis))


# ------------------------------------------------------------------------------------------------ one has the whole
@control("broadcast_from")
def _broadcast_from(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if _alone(site):
        return
    assert site.x is not None
    x, root = site.operand(site.x), site.attrs["root"]
    made = site.room(x.dtype, x.shape)

    def queue(call: _Call) -> None:
        if call.group.rank == root:
            call.same(made, x)  # it is only read there
        else:
            call.room(made)
        call.queue("HcclBroadcast", call.address(made), x.size, _code(x), root)

    site.step([x], [made], queue)
    site.give(made)


@control("at_root")
def _at_root(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if _alone(site):
        return
    assert site.x is not None
    x = site.operand(site.x)
    made = site.room(x.dtype, x.shape)

    def queue(call: _Call) -> None:
        if call.group.rank == site.attrs["root"]:
            call.same(made, x)
        else:
            call.zeros(made)

    site.step([x], [made], queue)
    site.give(made)


@control("barrier")
def _barrier(low: Lowering, op: Op) -> None:
    """The host waits, too: what follows it there comes after all processes."""
    site = _Site(low, op)
    if site.attrs["size"] == 1:
        return

    def queue(call: _Call) -> None:
        call.queue("HcclBarrier")
        call.device.synchronize()

    site.step([], [], queue)


# ------------------------------------------------------------------------------------------------ messages
def _tagged(site: _Site) -> bool:
    """Leaves a message to the host that cannot be one of HCCL's, which have no tags; whether it did so."""
    if site.attrs["size"] == 1:
        site.low.on_host(site.op, "")
    elif site.attrs["tag"]:
        site.low.on_host(site.op, "HCCL matches messages by their order, not by tags: use tag 0 on an Ascend device")
    return site.attrs["size"] == 1 or bool(site.attrs["tag"])


@control("send_to")
def _send_to(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if _tagged(site):
        return
    assert site.x is not None
    x = site.operand(site.x)

    def queue(call: _Call) -> None:
        if x.size:
            call.queue("HcclSend", call.address(x), x.size, _code(x), site.attrs["to"])

    site.step([x], [], queue)
    site.give(x)


@control("receive_from")
def _receive_from(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if _tagged(site):
        return
    type = op.results[0].type
    assert isinstance(type, TensorType)
    made = low.room(type, op.results[0].name)

    def queue(call: _Call) -> None:
        target = call.room(made)
        if made.size:
            call.queue("HcclRecv", target.address, made.size, _code(made), site.attrs["source"])

    site.step([], [made], queue)
    site.give(made)


@control("exchange")
def _exchange(low: Lowering, op: Op) -> None:
    site = _Site(low, op)
    if site.attrs["size"] == 1:
        low.on_host(op, "")
        return
    xs = [site.operand(low.ref(v)) for v in op.operands]
    shapes = shapes_of(site.attrs["ranks"], site.attrs["sizes"])  # type: ignore[no-untyped-call]
    made = [site.room(site.attrs["dtype"], shape, i) for i, shape in enumerate(shapes)]
    site.step(xs, made, lambda call: _messages(call, xs, made))
    site.give(*made)


def _messages(call: _Call, xs: Sequence[Ref], made: Sequence[Ref]) -> None:
    """Queues an exchange in rounds: HCCL takes one message at most from one process to another at a time."""
    rounds: list[list[hccl.Message]] = []
    known: dict[tuple[int, int], int] = {}
    own: list[Ref] = []
    sent = [(hccl.SENT, x, to) for x, to in zip(xs, call.site.attrs["to"], strict=True)]
    received = [(hccl.RECEIVED, x, source) for x, source in zip(made, call.site.attrs["sources"], strict=True)]
    for way, x, rank in [*sent, *received]:
        address = call.address(x) if way == hccl.SENT else call.room(x).address
        if rank == call.group.rank:
            if way == hccl.SENT:
                own.append(x)
            else:
                call.same(x, own.pop(0))
            continue
        if x.size:
            number = known[way, rank] = known.get((way, rank), -1) + 1
            rounds += [[]] if number == len(rounds) else []
            rounds[number].append(hccl.Message(way, address, x.size, _code(x), rank))
    for messages in rounds:
        call.queue("HcclBatchSendRecv", (hccl.Message * len(messages))(*messages), len(messages))
