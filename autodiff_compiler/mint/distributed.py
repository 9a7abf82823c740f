"""MindSpore's `mint.distributed`: collectives that write their result into a Tensor that is given.

Each returns a `CommHandle` if `async_op` is true, and the Tensor has its new elements once that has been waited for;
else None.  They are for eager code: in compiled code the functions of `communication.comm_func` return what comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..collectives import world
from ..collectives.group import WORLD_NAMES
from ..communication import management
from ..config import called_outside
from ..ir.primitive import call
from ..ops import communication as comm
from ..ops import together
from ..ops.communication import CommHandle, P2POp, ReduceOp, barrier, batch_isend_irecv

__all__ = [
    "CommHandle",
    "P2POp",
    "ReduceOp",
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "irecv",
    "is_available",
    "is_initialized",
    "isend",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_tensor",
    "send",
]

_Group = str | None
_Found = tuple[Any, CommHandle | None]


# ------------------------------------------------------------------------------------------------ processes
@called_outside
def init_process_group(
    backend: str = "hccl",
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: int | None = None,
) -> None:
    """Finds the other processes; all call it.  ValueError: there are not `world_size`, or this one is not `rank`.

    How the processes find each other is known to what started them, so the other arguments have no effect.

    >>> init_process_group(); get_rank(), get_world_size()
    (0, 1)
    """
    management.init(None if backend == "mccl" else backend)
    if world_size not in (-1, get_world_size()) or rank not in (-1, get_rank()):
        raise ValueError(f"this is process {get_rank()} of {get_world_size()}, not {rank} of {world_size}")


def destroy_process_group(group: _Group = None) -> None:
    """Forgets a group, or all that were created."""
    if group is None or group in WORLD_NAMES:
        management.release()
    else:
        management.destroy_group(group)


def is_available() -> bool:
    """Whether there are these functions: True."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return world.is_initialized()


def get_rank(group: _Group = None) -> int:
    """The number of this process in a group; -1 where it is not in it."""
    return together.group_of(group).rank


def get_world_size(group: _Group = None) -> int:
    """How many processes are in a group; -1 where this one is not in it."""
    found = together.group_of(group)
    return found.size if found.rank >= 0 else -1


def get_backend(group: _Group = None) -> str:
    """The name of the communication library, as in MindSpore."""
    together.group_of(group)
    return management.GlobalComm.BACKEND


def get_global_rank(group: _Group, group_rank: int) -> int:
    """The number among all processes of one of a group."""
    return management.get_world_rank_from_group_rank(together.group_of(group).name, group_rank)


def get_group_rank(group: _Group, global_rank: int) -> int:
    """The number in a group of one of all processes."""
    return management.get_group_rank_from_world_rank(global_rank, together.group_of(group).name)


def get_process_group_ranks(group: _Group = None) -> list[int]:
    """The processes of a group."""
    return list(together.group_of(group).ranks)


@called_outside
def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
) -> str:
    """Makes a group of processes, all by default, and gives its name; "" where this process is not in it."""
    chosen = list(together.group_of(None).ranks) if ranks is None else list(ranks)
    name = group_desc or "-".join(map(str, ["ranks", *chosen]))
    management.create_group(name, chosen)
    return name if world.group(name).rank >= 0 else ""


# ------------------------------------------------------------------------------------------------ collectives
def _into(tensor: Any, found: _Found, async_op: bool) -> CommHandle | None:
    """Writes a result into a Tensor, when it is there."""
    value, handle = found
    together.operand("a collective", tensor)
    if tuple(value.shape) != tuple(tensor.shape) or value.dtype is not tensor.dtype:
        if handle is not None:
            handle.wait()
        raise TypeError(
            f"{value.dtype}{list(value.shape)} comes, which does not fit {tensor.dtype}{list(tensor.shape)}"
        )
    return _then(handle, lambda: tensor.copy_(value), async_op)


def _then(handle: CommHandle | None, write: Callable[[], Any], async_op: bool) -> CommHandle | None:
    if not async_op:
        write()
        return None

    def end() -> None:
        if handle is not None:
            handle.wait()
        write()

    return CommHandle(None, end)


def all_reduce(tensor: Any, op: str = ReduceOp.SUM, group: _Group = None, async_op: bool = False) -> CommHandle | None:
    """Replaces a tensor by the elements of all processes, combined by `op`.

    >>> from autodiff_compiler import Tensor
    >>> x = Tensor([1.0, 2.0]); all_reduce(x); x.tolist()    # in one process
    [1.0, 2.0]
    """
    return _into(tensor, comm.all_reduce(tensor, op, group, async_op), async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: _Group = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the tensors of all processes into one, one behind the other along axis 0."""
    return _into(output_tensor, comm.all_gather_into_tensor(input_tensor, group, async_op), async_op)


def all_gather(tensor_list: list[Any], tensor: Any, group: _Group = None, async_op: bool = False) -> CommHandle | None:
    """Writes the tensors of all processes into those of a list."""
    size = together.group_of(group).size
    _check_list("tensor_list", tensor_list, size)
    found, handle = comm.all_gather_into_tensor(tensor.expand_dims(0), group, async_op)
    return _then(handle, lambda: [each.copy_(found[i]) for i, each in enumerate(tensor_list)], async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: str = ReduceOp.SUM, group: _Group = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the part of axis 0 for this process, of the elements of all, combined by `op`."""
    return _into(output, comm.reduce_scatter_tensor(input, op, group, async_op), async_op)


def reduce_scatter(
    output: Any, input_list: Sequence[Any], op: str = ReduceOp.SUM, group: _Group = None, async_op: bool = False
) -> CommHandle | None:
    """Writes element number `rank` of the lists of all processes, combined by `op`."""
    _check_list("input_list", input_list, together.group_of(group).size)
    whole = call.stack(list(input_list), 0)
    found, handle = comm.reduce_scatter_tensor(whole, op, group, async_op)
    return _then(handle, lambda: output.copy_(found[0]), async_op)


def broadcast(tensor: Any, src: int, group: _Group = None, async_op: bool = False) -> CommHandle | None:
    """Replaces a tensor by that of process `src`."""
    return _into(tensor, comm.broadcast(tensor, src, group, async_op), async_op)


def reduce(
    tensor: Any, dst: int, op: str = ReduceOp.SUM, group: _Group = None, async_op: bool = False
) -> CommHandle | None:
    """Replaces the tensor of process `dst` by the elements of all, combined by `op`; the others keep theirs."""
    found = comm.reduce(tensor, dst, op, group)
    if get_rank() == dst:
        return _into(tensor, found, async_op)
    return CommHandle() if async_op else None


def gather(
    tensor: Any, gather_list: list[Any] | None = None, dst: int = 0, group: _Group = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the tensors of all processes into those of the list of process `dst`."""
    found, handle = comm.gather_into_tensor(tensor.expand_dims(0), dst, group)
    if get_rank() != dst:
        return CommHandle() if async_op else None
    _check_list("gather_list", gather_list or (), together.group_of(group).size)
    return _then(handle, lambda: [each.copy_(found[i]) for i, each in enumerate(gather_list or ())], async_op)


def scatter(
    tensor: Any, scatter_list: Sequence[Any] | None = None, src: int = 0, group: _Group = None, async_op: bool = False
) -> CommHandle | None:
    """Writes element number `rank` of the list of process `src`."""
    of = together.group_of(group)
    if get_rank() == src:
        _check_list("scatter_list", scatter_list or (), of.size)
    given = scatter_list if get_rank() == src else [tensor] * of.size
    found, handle = comm.scatter_tensor(call.stack(list(given or ()), 0), src, group)
    return _then(handle, lambda: tensor.copy_(found[0]), async_op)


def scatter_tensor(
    output_tensor: Any, input_tensor: Any, src: int = 0, group: _Group = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the part for this process of the tensor of process `src`, which is divided along axis 0."""
    return _into(output_tensor, comm.scatter_tensor(input_tensor, src, group), async_op)


def all_to_all(
    output_tensor_list: list[Any], input_tensor_list: Sequence[Any], group: _Group = None, async_op: bool = False
) -> CommHandle | None:
    """Sends tensor number r of a list to process r, and writes those that come into a list."""
    shapes = [tuple(x.shape) for x in output_tensor_list]
    found, handle = comm.all_to_all_with_output_shape(shapes, list(input_tensor_list), group)
    pairs = list(zip(output_tensor_list, found, strict=True))
    return _then(handle, lambda: [x.copy_(y) for x, y in pairs], async_op)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: _Group = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Writes rows of axis 0 by counts, equal ones by default: so many go to each process, so many come from each."""
    counts = (output_split_sizes, input_split_sizes)
    found = comm.all_to_all_single_with_output_shape(output.shape, input, *counts, group, async_op)
    return _into(output, found, async_op)


def send(tensor: Any, dst: int = 0, group: _Group = None, tag: int = 0) -> int:
    """Sends a tensor to process `dst`; gives 0."""
    comm.send(tensor, dst, group, tag)
    return 0


def isend(tensor: Any, dst: int = 0, group: _Group = None, tag: int = 0) -> CommHandle:
    """Sends a tensor to process `dst`."""
    return comm.isend(tensor, dst, group, tag)


def recv(tensor: Any, src: int = 0, group: _Group = None, tag: int = 0) -> int:
    """Replaces a tensor by the one that process `src` sends; gives 0."""
    tensor.copy_(comm.recv(tensor, src, group, tag))
    return 0


def irecv(tensor: Any, src: int = 0, group: _Group = None, tag: int = 0) -> CommHandle | None:
    """Replaces a tensor by the one that process `src` sends, once the handle has been waited for."""
    return _into(tensor, comm.irecv(tensor, src, group, tag), True)


def _check_list(parameter: str, given: Sequence[Any], size: int) -> None:
    if len(given) != size:
        raise TypeError(f"`{parameter}` has one Tensor for each of {size} processes, not {len(given)}")
