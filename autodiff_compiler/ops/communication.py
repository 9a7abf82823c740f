"""MindSpore's functions of processes: `mindspore.communication.comm_func`, and `mindspore.ops.communication`.

Each gives its tensor and a `CommHandle`: None, unless `async_op` is true.  Then eager code goes on at once, and the
tensor may be read once the handle has been waited for; compiled code waits by itself.  Processes are named by their
number among all.  Derivatives are those of the sum over the processes of what these differentiate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..collectives import Group, Handle
from ..collectives.group import WORLD_NAMES
from ..eager.started import started
from ..ir.core import Value
from ..ir.primitive import REGISTRY, F, call
from ..primitives.requirements import with_article
from ..runtime.tensor import Tensor
from . import together

__all__ = [
    "CommHandle",
    "P2POp",
    "ReduceOp",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all_single_with_output_shape",
    "all_to_all_with_output_shape",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "gather_into_tensor",
    "irecv",
    "isend",
    "recv",
    "reduce",
    "reduce_scatter_tensor",
    "scatter_tensor",
    "send",
]

_WORLD = WORLD_NAMES[0]


class ReduceOp:
    """How elements are combined: SUM, PROD, MAX, MIN; AVG is the sum, divided by the number of processes."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    AVG = together.AVERAGE


class CommHandle:
    """A collective that may be under way: its tensor may be read after `wait`."""

    def __init__(self, handle: Handle | None = None, then: Callable[[], None] | None = None) -> None:
        self._handle, self._then = handle, then

    def wait(self) -> None:
        """Returns when the tensor is there.  CollectiveError: not all processes that it needs have come."""
        handle, then = self._handle, self._then
        self._handle = self._then = None
        if handle is not None:
            handle.wait()
        if then is not None:
            then()

    def is_completed(self) -> bool:
        """Whether `wait` would return at once."""
        return self._handle is None or self._handle.is_completed()


def _group_rank(rank: int, parameter: str, group: Group) -> int:
    """The number in a group of one of all processes."""
    if type(rank) is not int:
        raise TypeError(f"`{parameter}` is the number of a process, not {with_article(type(rank))}")
    if rank not in group.ranks:
        raise ValueError(f"`{parameter}` is process {rank}, and the group {group.name!r} has {list(group.ranks)}")
    return group.ranks.index(rank)


def _begun(
    name: str, x: Any, async_op: bool, run: Callable[[Any], Any], attrs: dict[str, Any]
) -> tuple[Any, CommHandle | None]:
    """The result of a collective and its handle: begun in eager code where that is asked for, else done."""
    if not async_op:
        return run(x), None
    if isinstance(x, Value) or not attrs:
        return run(x), CommHandle()
    defn = REGISTRY[name]
    found, handle = started(defn, (x,), defn.attrs_of(attrs))
    return found, CommHandle(handle)


def all_reduce(
    tensor: Any, op: str = ReduceOp.SUM, group: str | None = _WORLD, async_op: bool = False
) -> tuple[Any, CommHandle | None]:
    """Elements of all processes, combined by `op`, and a handle.

    TypeError: no Tensor.  ValueError: there is no such group or reduction.

    >>> from autodiff_compiler import Tensor
    >>> all_reduce(Tensor([1.0, 2.0]))[0].tolist()    # in one process
    [1.0, 2.0]
    """
    together.operand("all_reduce", tensor)
    of = together.group_of(group)
    attrs = {} if op == ReduceOp.AVG else {"op": together.checked_op(op), **together.named(of)}
    return _begun("all_reduce", tensor, async_op, lambda x: together.all_reduced(x, op, of), attrs)


def all_gather_into_tensor(
    tensor: Any, group: str | None = _WORLD, async_op: bool = False
) -> tuple[Any, CommHandle | None]:
    """The tensors of all processes, one behind the other along axis 0, and a handle."""
    together.operand("all_gather_into_tensor", tensor)
    of = together.group_of(group)
    attrs = {"axis": -tensor.ndim - 1, **together.named(of)}
    if async_op and not isinstance(tensor, Value):
        found, handle = _begun("all_gather", tensor, True, lambda x: x, attrs)
        return together.joined(found), handle
    return _begun("all_gather", tensor, async_op, lambda x: together.all_gathered(x, of), {})


def reduce_scatter_tensor(
    tensor: Any, op: str = ReduceOp.SUM, group: str | None = _WORLD, async_op: bool = False
) -> tuple[Any, CommHandle | None]:
    """Of the elements of all processes, combined by `op`, the part of axis 0 for this process, and a handle."""
    together.operand("reduce_scatter_tensor", tensor)
    of = together.group_of(group)
    if async_op and op == ReduceOp.SUM and not isinstance(tensor, Value):
        each = together.parts(tensor, of, "reduce_scatter")
        return _begun("reduce_scatter", each, True, lambda x: x, {"axis": -each.ndim, **together.named(of)})
    return _begun("reduce_scatter", tensor, async_op, lambda x: together.reduce_scattered(x, op, of), {})


def broadcast(
    tensor: Any, src: int = 0, group: str | None = _WORLD, async_op: bool = False
) -> tuple[Any, CommHandle | None]:
    """The tensor of process `src`, and a handle."""
    together.operand("broadcast", tensor)
    of = together.group_of(group)
    root = _group_rank(src, "src", of)
    attrs = {"root": root, **together.named(of)}
    return _begun("broadcast_from", tensor, async_op, lambda x: together.broadcasted(x, root, of), attrs)


def reduce(
    tensor: Any, dst: int, op: str = ReduceOp.SUM, group: str | None = _WORLD, async_op: bool = False
) -> tuple[Any, CommHandle | None]:
    """Elements of all processes, combined by `op`, in process `dst`, and a handle; others get a vector of one 0."""
    together.operand("reduce", tensor)
    of = together.group_of(group)
    root = _group_rank(dst, "dst", of)
    return _begun("reduce_to", tensor, async_op, lambda x: together.reduced(x, root, op, of), {})


def gather_into_tensor(
    tensor: Any, dst: int = 0, group: str | None = _WORLD, async_op: bool = False
) -> tuple[Any, CommHandle | None]:
    """The tensors of all processes along axis 0 in process `dst`, and a handle; others get a vector of one 0."""
    together.operand("gather_into_tensor", tensor)
    of = together.group_of(group)
    root = _group_rank(dst, "dst", of)
    return _begun("gather_to", tensor, async_op, lambda x: together.gathered(x, root, of), {})


def scatter_tensor(
    tensor: Any, src: int = 0, group: str | None = _WORLD, async_op: bool = False
) -> tuple[Any, CommHandle | None]:
    """The part for this process of the tensor of process `src`, which is divided along axis 0, and a handle."""
    together.operand("scatter_tensor", tensor)
    of = together.group_of(group)
    root = _group_rank(src, "src", of)
    return _begun("scatter_from", tensor, async_op, lambda x: together.scattered(x, root, of), {})


def all_to_all_single_with_output_shape(
    output_shape: Any,
    tensor: Any,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: str | None = _WORLD,
    async_op: bool = False,
) -> tuple[Any, CommHandle | None]:
    """Rows of axis 0 by counts, equal ones by default: so many to each process, so many from each; and a handle.

    `output_shape` is the shape of what comes, or a Tensor of that shape.  ValueError: the counts do not fit.
    """
    together.operand("all_to_all_single_with_output_shape", tensor)
    of = together.group_of(group)
    shape = tuple(getattr(output_shape, "shape", output_shape))
    sent = _counts("input_split_sizes", input_split_sizes, tensor.shape[0], of)
    received = _counts("output_split_sizes", output_split_sizes, shape[0], of)
    if shape[1:] != tuple(tensor.shape[1:]):
        raise ValueError(f"rows of {list(tensor.shape[1:])} elements are sent, and {list(shape[1:])} expected")
    attrs = {"axis": -tensor.ndim, "sent": sent, "received": received, **together.named(of)}
    return _begun("all_to_all_v", tensor, async_op, lambda x: together.swapped_rows(x, sent, received, of), attrs)


def _counts(parameter: str, counts: Any, rows: int, group: Group) -> tuple[int, ...]:
    if not counts:
        if rows % group.size:
            raise ValueError(f"{rows} rows are no equal parts for {group.size} processes: give `{parameter}`")
        return (rows // group.size,) * group.size
    found = together.counts_of(parameter, counts)
    if len(found) != group.size or sum(found) != rows:
        raise ValueError(f"`{parameter}` are {group.size} numbers whose sum is {rows}, not {list(found)}")
    return found


def all_to_all_with_output_shape(
    output_shape_list: Sequence[Any],
    input_tensor_list: Sequence[Any],
    group: str | None = _WORLD,
    async_op: bool = False,
) -> tuple[tuple[Any, ...], CommHandle | None]:
    """Sends tensor number r to process r; gives those that come, of the given shapes, and a handle."""
    of = together.group_of(group)
    shapes = [tuple(getattr(each, "shape", each)) for each in output_shape_list]
    if len(shapes) != of.size or len(input_tensor_list) != of.size:
        raise ValueError(f"there is one tensor, and one shape, for each of {of.size} processes")
    whole = call.concat([call.reshape(x, (-1,)) for x in input_tensor_list], 0)
    sent = [math.prod(x.shape) for x in input_tensor_list]
    received = [math.prod(shape) for shape in shapes]
    found = together.swapped_rows(whole, sent, received, of)
    ends = [sum(received[: i + 1]) for i in range(of.size)]
    rows = zip(received, ends, shapes, strict=True)
    outs = tuple([call.reshape(together.rows_of(found, end - n, end), shape) for n, end, shape in rows])
    return outs, CommHandle() if async_op else None


def barrier(group: str | None = _WORLD) -> None:
    """Returns when all processes of the group have called it."""
    F.barrier(**together.named(together.group_of(group)))


def send(tensor: Any, dst: int = 0, group: str | None = _WORLD, tag: int = 0) -> None:
    """Sends a tensor to process `dst`, which calls `recv` with the same tag; it need not have arrived."""
    isend(tensor, dst, group, tag)


def isend(tensor: Any, dst: int = 0, group: str | None = _WORLD, tag: int = 0) -> CommHandle:
    """Sends a tensor to process `dst`; the handle says whether it is on its way."""
    together.operand("isend", tensor)
    of = together.group_of(group)
    F.send_to(tensor, to=_group_rank(dst, "dst", of), tag=tag, **together.named(of))
    return CommHandle()


def recv(tensor: Any, src: int = 0, group: str | None = _WORLD, tag: int = 0) -> Any:
    """The tensor that process `src` sends, of the shape and dtype of a given one, whose elements do not matter."""
    together.operand("recv", tensor)
    of = together.group_of(group)
    source = _group_rank(src, "src", of)
    return F.receive_from(source=source, tag=tag, dtype=tensor.dtype, shape=tensor.shape, **together.named(of))


def irecv(tensor: Any, src: int = 0, group: str | None = _WORLD, tag: int = 0) -> tuple[Any, CommHandle]:
    """The tensor that process `src` sends, as for `recv`, and a handle to wait for."""
    together.operand("irecv", tensor)
    if isinstance(tensor, Value):
        return recv(tensor, src, group, tag), CommHandle()
    of = together.group_of(group)
    defn = REGISTRY["receive_from"]
    attrs = {"source": _group_rank(src, "src", of), "tag": tag, "dtype": tensor.dtype, "shape": tensor.shape}
    found, handle = started(defn, (), defn.attrs_of({**attrs, **together.named(of)}))
    return found, CommHandle(handle)


class P2POp:
    """One of the messages of `batch_isend_irecv`: "isend" or "irecv", its tensor and the other process.

    To receive, the tensor says shape and dtype, or is a shape, with `recv_dtype`.
    """

    def __init__(
        self, op: Any, tensor: Any, peer: int, group: str | None = None, tag: int = 0, *, recv_dtype: Any = None
    ) -> None:
        name = op if isinstance(op, str) else getattr(op, "__name__", "")
        if name not in ("isend", "irecv"):
            raise ValueError(f"`op` is isend or irecv, not {op!r}")
        if tag != 0:
            raise NotImplementedError("messages of a batch have no tags: they come in the order of the list")
        if isinstance(tensor, tuple | list) and (name == "isend" or recv_dtype is None):
            raise TypeError("a shape says what is received, with `recv_dtype`; what is sent is a Tensor")
        self.op, self.tensor, self.peer, self.group, self.tag, self.recv_dtype = (
            name,
            tensor,
            peer,
            group,
            tag,
            recv_dtype,
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> tuple[Any, ...]:
    """Sends and receives at the same time; for each message what was received, or for one that was sent a number 0."""
    if not p2p_op_list or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise TypeError("batch_isend_irecv() takes a list of P2POp")
    of = together.group_of(p2p_op_list[0].group)
    going = [each for each in p2p_op_list if each.op == "isend"]
    coming = [each for each in p2p_op_list if each.op == "irecv"]
    shapes = [tuple(getattr(each.tensor, "shape", each.tensor)) for each in coming]
    dtypes = {getattr(each.tensor, "dtype", each.recv_dtype) for each in p2p_op_list}
    if len(dtypes) > 1:
        raise TypeError(f"messages of a batch have one dtype, not {', '.join(sorted(map(str, dtypes)))}")
    found = iter(
        together.exchanged(
            [each.tensor for each in going],
            [_group_rank(each.peer, "peer", of) for each in going],
            [_group_rank(each.peer, "peer", of) for each in coming],
            shapes,
            dtypes.pop(),
            of,
        )
    )
    return tuple([Tensor(0.0) if each.op == "isend" else next(found) for each in p2p_op_list])
