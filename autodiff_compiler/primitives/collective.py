"""Collectives: ops that all processes of a group run together, and that exchange arrays between processes.

The derivative of a collective is that of the sum, over the processes, of what these differentiate.  So its adjoint is a
collective, too: `all_gather` and `reduce_scatter`, `broadcast_from` and `reduce_to`, `gather_to` and `scatter_from`,
`send_to` and `receive_from` are each other's, `all_reduce` and `all_to_all` their own.  No process knows what the
others do with their results: `Definition.collective` says what follows.

The parts of the processes lie along an axis of their own, which is as long as the group; a reshape joins them.
"""

from __future__ import annotations

import numpy as np

from ..collectives import sent, transfer, world
from ..collectives.group import WORLD_NAMES
from ..dtypes import DType, int32
from ..ir.primitive import Effect, F, Ints, Primitive
from ..ir.types import Shape, TensorType, tensor
from .family import constant, expand, where_else_0
from .reduce import winners_of
from .requirements import require, require_dtype
from .samples import F2

#: How elements of the processes are combined.
REDUCTIONS = ("sum", "prod", "max", "min")
#: A group of one process, for the tests.
_ALONE = {"group": WORLD_NAMES[0], "size": 1}


def in_group(group, size):
    """The group of that name; RuntimeError if it has not as many processes as the program was made for."""
    found = world.group(group)
    if found.size != size:
        raise RuntimeError(f"the program is for {size} processes of the group {group!r}, which has {found.size}")
    return found


def _is_member(rank, size, what):
    require(0 <= rank < size, f"{what} cannot be process {rank}: there are {size} in the group")


def _reduces(op):
    require_dtype(op in REDUCTIONS, f"a reduction is one of {', '.join(REDUCTIONS)}, not {op!r}")


def _parts(x, axis, size):
    """The type of as many parts as there are processes."""
    place = x.ndim + 1 + axis
    require(0 <= place <= x.ndim, f"axis {axis} does not exist in a tensor of {x.ndim + 1} dimensions")
    return tensor(x.dtype, (*x.shape[:place], size, *x.shape[place:]))


def _part(x, axis, size):
    """The type of one of the parts along an axis."""
    require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
    require(x.shape[axis] == size, f"{x} has {x.shape[axis]} parts along axis {axis}, and the group {size} processes")
    place = x.ndim + axis
    return tensor(x.dtype, x.shape[:place] + x.shape[place + 1 :])


def first(x, axis):
    """The parts along the first axis, one behind the other."""
    return np.asarray(np.moveaxis(x, axis, 0), order="C")


class Collective(Primitive, abstract=True):
    """An op that all processes of a group run, in the same order on all."""

    internal = True
    effect = Effect.IO
    collective = True


# ------------------------------------------------------------------------------------------------ all have a part
class AllReduce(Collective):
    """The elements of all processes, combined; ties of `max` and `min` share the cotangent evenly.

    In compiled code, sums of one line and one number `fusion` share a bucket; with 0 the pass `buckets` chooses.
    """

    def infer(x: TensorType, *, op: str, group: str, size: int, fusion: int = 0):
        _reduces(op)
        return x

    def numpy(x, *, op, group, size, fusion, out=None, at=""):
        return transfer.all_reduce(x, op, in_group(group, size), out=out, at=at)

    @staticmethod
    def start(x, *, op, group, size, fusion, at):
        out = np.empty(x.shape, x.dtype)
        return out, transfer.start_all_reduce(x, op, in_group(group, size), out=out, at=at)

    def vjp(c, g, x):
        of = {"group": c.group, "size": c.size}
        if c.op == "sum":
            return F.all_reduce(g, op="sum", **of)
        if c.op == "prod":  # exact at zeros: the product of the others, for each of the processes
            axis = -x.ndim - 1
            xs = F.all_gather(x, axis=axis, **of)
            others = F.cumprod(xs, axis=axis, exclusive=True) * F.cumprod(xs, axis=axis, exclusive=True, reverse=True)
            return F.reduce_scatter(expand(g, (axis,), xs.shape) * others, axis=axis, **of)
        winners = winners_of(x, c.out)
        count = F.all_reduce(F.cast(winners, dtype=int32), op="sum", **of)  # integers have no derivative
        share = F.all_reduce(g, op="sum", **of) / F.cast(count, dtype=x.dtype)
        return where_else_0(winners, share)

    def samples(rng):
        for op in REDUCTIONS:
            yield rng(2, 3), {"op": op, **_ALONE}

    errors = [((F2,), {"op": "mean", **_ALONE}, "a reduction is one of")]


class AllGather(Collective):
    """The tensors of all processes, along a new axis."""

    def infer(x: TensorType, *, axis: int, group: str, size: int):
        return _parts(x, axis, size)

    def numpy(x, *, axis, group, size, out=None, at=""):
        of = in_group(group, size)
        place = x.ndim + 1 + axis
        if place == 0:
            return transfer.all_gather(x[None], of, out=out, at=at)
        return np.moveaxis(transfer.all_gather(x[None], of, at=at), 0, place)

    @staticmethod
    def start(x, *, axis, group, size, at):
        out = np.empty((size, *x.shape), x.dtype)
        handle = transfer.start_all_gather(x[None], in_group(group, size), out=out, at=at)
        return np.moveaxis(out, 0, x.ndim + 1 + axis), handle

    def vjp(c, g, x):
        return F.reduce_scatter(g, axis=c.axis, group=c.group, size=c.size)

    def samples(rng):
        yield rng(2, 3), {"axis": -3, **_ALONE}
        yield rng(2, 3), {"axis": -1, **_ALONE}
        yield rng(), {"axis": -1, **_ALONE}

    errors = [((F2,), {"axis": -3, **_ALONE}, "does not exist")]


class ReduceScatter(Collective):
    """The sum over the processes of their parts for this one."""

    def infer(x: TensorType, *, axis: int, group: str, size: int):
        return _part(x, axis, size)

    def numpy(x, *, axis, group, size, out=None, at=""):
        of = in_group(group, size)
        room = None if out is None else out[None]
        return transfer.reduce_scatter(first(x, axis), "sum", of, out=room, at=at)[0]

    @staticmethod
    def start(x, *, axis, group, size, at):
        parts = first(x, axis)
        out = np.empty((1, *parts.shape[1:]), x.dtype)
        return out[0], transfer.start_reduce_scatter(parts, "sum", in_group(group, size), out=out, at=at)

    def vjp(c, g, x):
        return F.all_gather(g, axis=c.axis, group=c.group, size=c.size)

    def samples(rng):
        yield rng(1, 3), {"axis": -2, **_ALONE}
        yield rng(2, 1), {"axis": -1, **_ALONE}

    errors = [((F2,), {"axis": -1, **_ALONE}, "has 2 parts")]


class AllToAll(Collective):
    """Along an axis the part of this process in the tensor of each."""

    def infer(x: TensorType, *, axis: int, group: str, size: int):
        _part(x, axis, size)
        return x

    def numpy(x, *, axis, group, size, out=None, at=""):
        of = in_group(group, size)
        if x.ndim + axis == 0:
            return transfer.all_to_all(x, of, out=out, at=at)
        return np.moveaxis(transfer.all_to_all(first(x, axis), of, at=at), 0, axis)

    def vjp(c, g, x):
        return F.all_to_all(g, axis=c.axis, group=c.group, size=c.size)

    samples = ReduceScatter.samples
    errors = ReduceScatter.errors


class AllToAllV(Collective):
    """Along an axis rows of all processes: `sent` says how many of this one's go to each, `received` how many come."""

    def infer(x: TensorType, *, axis: int, sent: Ints, received: Ints, group: str, size: int):
        require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
        for counts in (sent, received):
            require(
                len(counts) == size and min(counts) >= 0, f"there is one count for each of {size} processes: {counts}"
            )
        require(x.shape[axis] == sum(sent), f"{x} has {x.shape[axis]} rows along axis {axis}, not {sum(sent)}")
        place = x.ndim + axis
        return tensor(x.dtype, (*x.shape[:place], sum(received), *x.shape[place + 1 :]))

    def numpy(x, *, axis, sent, received, group, size, out=None, at=""):
        of = in_group(group, size)
        if x.ndim + axis == 0:
            return transfer.all_to_all_v(x, sent, received, of, out=out, at=at)
        return np.moveaxis(transfer.all_to_all_v(first(x, axis), sent, received, of, at=at), 0, axis)

    @staticmethod
    def start(x, *, axis, sent, received, group, size, at):
        rows = first(x, axis)
        out = np.empty((sum(received), *rows.shape[1:]), x.dtype)
        handle = transfer.start_all_to_all_v(rows, sent, received, in_group(group, size), out=out, at=at)
        return np.moveaxis(out, 0, axis), handle

    def vjp(c, g, x):
        return F.all_to_all_v(g, axis=c.axis, sent=c.received, received=c.sent, group=c.group, size=c.size)

    def samples(rng):
        yield rng(2, 3), {"axis": -2, "sent": (2,), "received": (2,), **_ALONE}
        yield rng(2, 3), {"axis": -1, "sent": (3,), "received": (3,), **_ALONE}

    errors = [((F2,), {"axis": -1, "sent": (3,), "received": (3,), **_ALONE}, "has 2 rows")]


# ------------------------------------------------------------------------------------------------ one has the whole
class AtRoot(Primitive):
    """The tensor in one process, zeros in the others; nothing is sent."""

    internal = True

    def infer(x: TensorType, *, root: int, group: str, size: int):
        _is_member(root, size, "the root")
        return x

    def numpy(x, *, root, group, size):
        rank = in_group(group, size).rank
        return x.copy() if rank == root else np.zeros_like(x)

    def vjp(c, g, x):
        return F.at_root(g, root=c.root, group=c.group, size=c.size)

    def samples(rng):
        yield rng(2, 3), {"root": 0, **_ALONE}

    errors = [((F2,), {"root": 1, **_ALONE}, "cannot be process 1")]


class BroadcastFrom(Collective):
    """The tensor of one process."""

    infer = AtRoot.infer

    def numpy(x, *, root, group, size, out=None, at=""):
        return transfer.broadcast(x, root, in_group(group, size), out=out, at=at)

    @staticmethod
    def start(x, *, root, group, size, at):
        out = np.empty(x.shape, x.dtype)
        return out, transfer.start_broadcast(x, root, in_group(group, size), out=out, at=at)

    def vjp(c, g, x):
        return F.reduce_to(g, root=c.root, group=c.group, size=c.size)

    samples = AtRoot.samples
    errors = AtRoot.errors


class ReduceTo(Collective):
    """The sum over the processes in one of them, zeros in the others."""

    infer = AtRoot.infer

    def numpy(x, *, root, group, size, out=None, at=""):
        of = in_group(group, size)
        found = transfer.reduce(x, "sum", root, of, out=out if of.rank == root else None, at=at)
        return found if of.rank == root else np.zeros_like(x)

    def vjp(c, g, x):
        return F.broadcast_from(g, root=c.root, group=c.group, size=c.size)

    samples = AtRoot.samples
    errors = AtRoot.errors


class GatherTo(Collective):
    """The tensors of all processes along a new axis in one of them, zeros in the others."""

    def infer(x: TensorType, *, axis: int, root: int, group: str, size: int):
        _is_member(root, size, "the root")
        return _parts(x, axis, size)

    def numpy(x, *, axis, root, group, size, out=None, at=""):
        of = in_group(group, size)
        found = transfer.gather(x[None], root, of, at=at)
        if of.rank != root:
            found = np.zeros((size, *x.shape), x.dtype)
        return np.moveaxis(found, 0, x.ndim + 1 + axis)

    def vjp(c, g, x):
        return F.scatter_from(g, axis=c.axis, root=c.root, group=c.group, size=c.size)

    def samples(rng):
        yield rng(2, 3), {"axis": -3, "root": 0, **_ALONE}
        yield rng(2), {"axis": -1, "root": 0, **_ALONE}

    errors = [((F2,), {"axis": -3, "root": 0, **_ALONE}, "does not exist")]


class ScatterFrom(Collective):
    """The part for this process of the tensor of one."""

    def infer(x: TensorType, *, axis: int, root: int, group: str, size: int):
        _is_member(root, size, "the root")
        return _part(x, axis, size)

    def numpy(x, *, axis, root, group, size, out=None, at=""):
        return transfer.scatter(first(x, axis), root, in_group(group, size), at=at)[0]

    def vjp(c, g, x):
        return F.gather_to(g, axis=c.axis, root=c.root, group=c.group, size=c.size)

    def samples(rng):
        yield rng(1, 3), {"axis": -2, "root": 0, **_ALONE}

    errors = [((F2,), {"axis": -1, "root": 0, **_ALONE}, "has 2 parts")]


# ------------------------------------------------------------------------------------------------ from one to another
class SendTo(Collective):
    """The tensor itself, which another process is sent; it need not have arrived."""

    view = "x"

    def infer(x: TensorType, *, to: int, tag: int, group: str, size: int):
        _is_member(to, size, "the receiver")
        return x

    def numpy(x, *, to, tag, group, size, at=""):
        sent.post(x, to, tag, in_group(group, size), at=at)
        return x

    def vjp(c, g, x):
        of = {"dtype": x.dtype, "shape": x.shape, "group": c.group, "size": c.size}
        return g + F.receive_from(source=c.to, tag=c.tag, **of)


class ReceiveFrom(Collective):
    """The tensor that another process sends."""

    def infer(*, source: int, tag: int, dtype: DType, shape: Shape, group: str, size: int):
        _is_member(source, size, "the sender")
        return tensor(dtype, shape)

    def numpy(*, source, tag, dtype, shape, group, size, out=None, at=""):
        return transfer.receive(shape, dtype, source, tag, in_group(group, size), out=out, at=at)

    @staticmethod
    def start(*, source, tag, dtype, shape, group, size, at):
        out = np.empty(shape, dtype.numpy)
        return out, transfer.start_receive(shape, dtype, source, tag, in_group(group, size), out=out, at=at)

    def batch(c, n):
        of = {"group": c.group, "size": c.size}
        return F.receive_from(source=c.source, tag=c.tag, dtype=c.dtype, shape=(n, *c.shape), **of)

    def vjp(c, g):
        F.send_to(g, to=c.source, tag=c.tag, group=c.group, size=c.size)
        return ()


def shapes_of(ranks, sizes):
    """Shapes that are written one behind the other, with how many sizes each has."""
    ends = [sum(ranks[: i + 1]) for i in range(len(ranks))]
    return [tuple(sizes[end - rank : end]) for rank, end in zip(ranks, ends, strict=True)]


class Exchange(Collective):
    """Sends each operand to a process, and receives as many tensors from others, all at the same time.

    What is received has the shapes of `ranks` dimensions whose `sizes` are written one behind the other.
    """

    multiple = True

    def infer(
        *operands: TensorType,
        to: Ints,
        sources: Ints,
        dtype: DType,
        ranks: Ints,
        sizes: Shape,
        group: str,
        size: int,
    ):
        require(len(to) == len(operands), f"{len(operands)} tensors are sent to {len(to)} processes")
        require(len(sources) == len(ranks), f"{len(ranks)} tensors come from {len(sources)} processes")
        require(sum(ranks) == len(sizes), f"shapes of {sum(ranks)} sizes do not have {len(sizes)}")
        for rank in (*to, *sources):
            _is_member(rank, size, "a neighbor")
        for x in operands:
            require_dtype(x.dtype is dtype, f"tensors of {dtype.name} are exchanged, not {x}")
        return tuple([tensor(dtype, shape) for shape in shapes_of(ranks, sizes)])

    def numpy(*operands, to, sources, dtype, ranks, sizes, group, size, at=""):
        of = in_group(group, size)
        shapes = shapes_of(ranks, sizes)
        pairs = zip(shapes, sources, strict=True)
        coming = [transfer.start_receive(shape, dtype, rank, 0, of, at=at) for shape, rank in pairs]
        for x, rank in zip(operands, to, strict=True):
            sent.post(x, rank, 0, of, at=at)
        return tuple([each.wait() for each in coming])

    def batch(c, n, *operands):
        return exchanged(operands, c, [(n, *shape) for shape in shapes_of(c.ranks, c.sizes)], c.to, c.sources)

    def vjp(c, gs, *operands):
        types = [tensor(c.dtype, shape) for shape in shapes_of(c.ranks, c.sizes)]
        given = [constant(0, t) if g is None else g for g, t in zip(gs, types, strict=True)]
        return exchanged(given, c, [x.shape for x in operands], c.sources, c.to)


def exchanged(operands, c, shapes, to, sources):
    """An exchange in the group of another one."""
    ranks, sizes = tuple([len(shape) for shape in shapes]), tuple([d for shape in shapes for d in shape])
    of = {"dtype": c.dtype, "group": c.group, "size": c.size}
    return F.exchange(*operands, to=to, sources=sources, ranks=ranks, sizes=sizes, **of)


class Barrier(Collective):
    """Waits until all processes of the group are here."""

    def infer(*, group: str, size: int):
        return ()

    def numpy(*, group, size, at=""):
        transfer.barrier(in_group(group, size), at=at)
        return ()
