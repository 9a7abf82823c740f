"""MindSpore's operator classes of processes: the group is given when the object is made, tensors when it is called.

In one process a group has one process, and what is combined or gathered is the tensor itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..collectives.group import WORLD_NAMES
from ..dtypes import DType
from ..ir.primitive import F, call
from ..primitives.requirements import require
from . import together
from .operation import operation

__all__: list[str] = []

_WORLD = WORLD_NAMES[0]
_Function = Callable[..., Any]


def _operation(name: str, make: Callable[..., _Function]) -> None:
    globals()[name] = operation(name, make, __name__)
    __all__.append(name)


def _all_reduce(op: str = "sum", group: str = _WORLD) -> _Function:
    """Elements of all processes, combined by `op`: sum, prod, max, min.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.AllReduce(ops.ReduceOp.SUM)(Tensor([1.0, 2.0])).tolist()    # in one process
    [1.0, 2.0]
    """
    return lambda input_x: together.all_reduced(together.operand("AllReduce", input_x), op, together.group_of(group))


def _all_gather(group: str = _WORLD) -> _Function:
    """The tensors of all processes, one behind the other along axis 0."""
    return lambda input_x: together.all_gathered(together.operand("AllGather", input_x), together.group_of(group))


def _all_gather_v(group: str = _WORLD) -> _Function:
    """Vectors of all processes, one behind the other; `output_split_sizes` says how long each is."""

    def run(input_x: Any, output_split_sizes: Any) -> Any:
        of, sizes = together.group_of(group), together.counts_of("output_split_sizes", output_split_sizes)
        _check_counts("AllGatherV", sizes, of.size)
        require(input_x.shape == (sizes[of.rank],), f"process {of.rank} gives {sizes[of.rank]} elements of a vector")
        room = max(sizes)
        whole = call.concat([input_x, call.zeros((room - sizes[of.rank],), input_x.dtype)], 0)
        found = together.all_gathered(whole, of)
        return call.concat([together.rows_of(found, i * room, i * room + n) for i, n in enumerate(sizes)], 0)

    return run


def _reduce_scatter(op: str = "sum", group: str = _WORLD) -> _Function:
    """Of the elements of all processes, combined by `op`, the part of axis 0 that belongs to this process."""
    return lambda input_x: together.reduce_scattered(
        together.operand("ReduceScatter", input_x), op, together.group_of(group)
    )


def _reduce_scatter_v(op: str = "sum", group: str = _WORLD) -> _Function:
    """As `ReduceScatter` for a vector in parts of `input_split_sizes` elements."""

    def run(input_x: Any, input_split_sizes: Any) -> Any:
        of, sizes = together.group_of(group), together.counts_of("input_split_sizes", input_split_sizes)
        _check_counts("ReduceScatterV", sizes, of.size)
        require(input_x.shape == (sum(sizes),), f"parts of {sizes} elements are a vector of {sum(sizes)} elements")
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        room = max(sizes)
        whole = []
        for n, end in zip(sizes, ends, strict=True):
            whole += [together.rows_of(input_x, end - n, end), call.zeros((room - n,), input_x.dtype)]
        return together.rows_of(together.reduce_scattered(call.concat(whole, 0), op, of), 0, sizes[of.rank])

    return run


def _broadcast(root_rank: int, group: str = _WORLD) -> _Function:
    """The tensors of one process, as a tuple; it takes a tuple of tensors."""

    def run(input_x: Sequence[Any]) -> tuple[Any, ...]:
        of = together.group_of(group)
        return tuple([together.broadcasted(x, root_rank, of) for x in input_x])

    return run


def _reduce(dest_rank: int, op: str = "sum", group: str = _WORLD) -> _Function:
    """Elements of all processes, combined by `op`, in one of them; the others get a vector of one 0."""
    return lambda input_x: together.reduced(
        together.operand("Reduce", input_x), dest_rank, op, together.group_of(group)
    )


def _gather(dest_rank: int, group: str = _WORLD) -> _Function:
    """The tensors of all processes along axis 0 in one of them; the others get a vector of one 0."""
    return lambda input_x: together.gathered(
        together.operand("CollectiveGather", input_x), dest_rank, together.group_of(group)
    )


def _scatter(src_rank: int = 0, group: str = _WORLD) -> _Function:
    """The part for this process of the tensor of one, which is divided along axis 0."""
    return lambda input_x: together.scattered(
        together.operand("CollectiveScatter", input_x), src_rank, together.group_of(group)
    )


def _all_to_all(split_count: int, split_dim: int, concat_dim: int, group: str = _WORLD) -> _Function:
    """Sends part number r along `split_dim` to process r, and joins what comes along `concat_dim`."""

    def run(input_x: Any) -> Any:
        of = together.group_of(group)
        if split_count != of.size:
            raise ValueError(f"there is one part for each of {of.size} processes, not {split_count}")
        return together.swapped(together.operand("AlltoAll", input_x), of, split_dim, concat_dim)

    return run


def _all_to_all_v(group: str = _WORLD, block_size: int = 1) -> _Function:
    """Sends so many blocks of a vector to each process, and receives so many from each."""

    def run(input_x: Any, send_numel_list: Any, recv_numel_list: Any) -> Any:
        sent = together.counts_of("send_numel_list", send_numel_list)
        received = together.counts_of("recv_numel_list", recv_numel_list)
        of = together.group_of(group)
        return together.swapped_rows(input_x, [n * block_size for n in sent], [n * block_size for n in received], of)

    return run


def _all_to_all_vc(group: str = _WORLD, block_size: int = 1, transpose: bool = False) -> _Function:
    """As `AlltoAllV`, with the numbers of all processes in one matrix: row i says what process i sends."""

    def run(input_x: Any, send_count_matrix: Any) -> Any:
        of = together.group_of(group)
        found = send_count_matrix.reshape(-1) if hasattr(send_count_matrix, "reshape") else send_count_matrix
        counts = [n * block_size for n in together.counts_of("send_count_matrix", found)]
        _check_counts("AlltoAllVC", counts, of.size**2)
        row, column = counts[of.rank * of.size :][: of.size], counts[of.rank :: of.size]
        return together.swapped_rows(input_x, *((column, row) if transpose else (row, column)), of)

    return run


def _check_counts(name: str, counts: Sequence[int], wanted: int) -> None:
    if len(counts) != wanted or min(counts) < 0:
        raise ValueError(f"{name} takes {wanted} counts, none of them negative, not {list(counts)}")


def _neighbor_exchange(
    send_rank_ids: Sequence[int],
    recv_rank_ids: Sequence[int],
    recv_shapes: Sequence[Sequence[int]],
    send_shapes: Sequence[Sequence[int]],
    recv_type: DType,
    group: str = _WORLD,
) -> _Function:
    """Sends a tuple of tensors to processes, one each, and receives a tuple of tensors from others."""

    def run(input_x: Sequence[Any]) -> tuple[Any, ...]:
        shapes = [tuple(x.shape) for x in input_x]
        if shapes != [tuple(shape) for shape in send_shapes]:
            raise ValueError(f"tensors of shapes {list(send_shapes)} are sent, not of {shapes}")
        of = together.group_of(group)
        return together.exchanged(input_x, send_rank_ids, recv_rank_ids, recv_shapes, recv_type, of)

    return run


def _send(sr_tag: int, dest_rank: int, group: str = _WORLD, group_back: str = _WORLD) -> _Function:
    """Sends a tensor to another process, which receives it with the same tag; gives the tensor."""

    def run(input_x: Any) -> Any:
        return F.send_to(input_x, to=dest_rank, tag=sr_tag, **together.named(together.group_of(group)))

    return run


def _receive(
    sr_tag: int, src_rank: int, shape: Sequence[int], dtype: DType, group: str = _WORLD, group_back: str = _WORLD
) -> _Function:
    """The tensor that another process sends with the same tag."""

    def run(input_x: Any = None) -> Any:
        of = together.named(together.group_of(group))
        return F.receive_from(source=src_rank, tag=sr_tag, dtype=dtype, shape=tuple(shape), **of)

    return run


def _barrier(group: str = _WORLD) -> _Function:
    """Waits for all processes of the group."""
    return lambda: F.barrier(**together.named(together.group_of(group)))


_operation("AllGather", _all_gather)
_operation("AllGatherV", _all_gather_v)
_operation("AllReduce", _all_reduce)
_operation("AlltoAll", _all_to_all)
_operation("AlltoAllV", _all_to_all_v)
_operation("AlltoAllVC", _all_to_all_vc)
_operation("Barrier", _barrier)
_operation("Broadcast", _broadcast)
_operation("CollectiveGather", _gather)
_operation("CollectiveScatter", _scatter)
_operation("NeighborExchange", _neighbor_exchange)
_operation("Receive", _receive)
_operation("Reduce", _reduce)
_operation("ReduceScatter", _reduce_scatter)
_operation("ReduceScatterV", _reduce_scatter_v)
_operation("Send", _send)
