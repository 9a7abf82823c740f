"""What each collective does: the messages it posts, and where its result is."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_of, from_numpy
from ..errors import CollectiveError
from ..source import calling_place
from . import check, messages, traffic, world
from .board import GIVEN_UP, RUNNING, WAITING
from .group import Group
from .messages import blocks, element, parts, reduction, slices
from .waiting import Handle, pending, state, wait

__all__ = [
    "Call",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "barrier",
    "broadcast",
    "gather",
    "now",
    "receive",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
    "start",
]

_Array = np.ndarray[Any, Any]
_HALF = ("float16", "bfloat16")


class Call:
    """One collective that is to be called: `post` gives its requests, `end` completes the result.

    `text` is equal on all processes whose calls belong together.  `alone` is what a group of one process copies.
    """

    def __init__(
        self,
        group: Group,
        text: str,
        result: Any,
        post: Callable[[], list[Any]],
        end: Callable[[], None] | None = None,
        alone: _Array | None = None,
        check: Callable[[str], Any] | None = None,
        peers: tuple[int, ...] | None = None,
        bytes: int | None = None,
    ) -> None:
        self.group, self.text, self.result, self.post, self.end = group, text, result, post, end
        self.alone, self._check, self.peers = alone, check, peers
        given = result if alone is None else alone
        #: Of the operand, or of what is received.
        self.bytes: int = bytes if bytes is not None else 0 if given is None else given.nbytes

    def header(self, call: str) -> Any:
        """What compares the call with those of the others, None where nothing does."""
        return check.begin(self.group, self.text, call) if self._check is None else self._check(call)

    def finish(self) -> None:
        """Completes the result, when all requests are done."""
        if self.end is not None:
            self.end()


def now(call: Call, at: str) -> Any:
    """Makes a call and waits for its result."""
    return _alone(call) if call.group.size == 1 else Handle(*_begun(call, at, True)).wait()


def start(call: Call, at: str) -> Handle:
    """Makes a call; the handle waits for its result."""
    if call.group.size == 1:
        return Handle(_alone(call))
    handle = Handle(*_begun(call, at, False))
    state.board.now(RUNNING)
    pending.add(handle)
    return handle


def _begun(call: Call, at: str, compared: bool) -> tuple[Any, list[Any], Callable[[float | None], None]]:
    """Posts the messages of a call: its result, the requests, and what waits for them.

    `compared` is to wait until all are known to make this call: MPICH ends the process where operands differ in dtype.
    """
    said, group = _said(call, at), call.group
    state.board.now(WAITING, said)
    waited = 0.0
    try:
        with group.lock:
            header = call.header(said)
            if header is not None and compared:
                began = time.perf_counter()
                header.wait()
                waited = time.perf_counter() - began
            requests = call.post()
    except BaseException:
        state.board.now(GIVEN_UP)
        raise
    if header is not None:
        requests += header.requests

    def end(timeout: float | None) -> None:
        state.board.now(WAITING, said)
        began = time.perf_counter()
        try:
            _wait(requests, call, said, timeout, header)
        except BaseException as error:
            group.broken = group.broken or f"{said} was not done: {getattr(error, 'message', type(error).__name__)}"
            state.board.now(GIVEN_UP)
            raise
        state.board.now(RUNNING)
        traffic.add(said, call.bytes, waited + time.perf_counter() - began)
        call.finish()

    return call.result, requests, end


def _wait(requests: list[Any], call: Call, said: str, timeout: float | None, header: Any) -> None:
    try:
        wait(requests, call.group, said, timeout, call.peers, header and header.look)
        if header is not None:
            header.look()
    except state.mpi.Exception as error:  # messages of unequal lengths: the calls say why
        if header is not None:
            header.wait(timeout)
        raise CollectiveError(f"{said} failed: {error}", code="AC3002") from None


def _alone(call: Call) -> Any:
    call.group.check()
    if call.alone is not None and call.result is not call.alone:
        np.copyto(call.result, call.alone)
    return call.result


def _said(call: Call, at: str) -> str:
    """What the call is called in messages; CollectiveError where it cannot be made."""
    world.check_process()
    call.group.check()
    place = at or getattr(calling_place(), "short", "")
    inside = "" if call.group.name in world.WORLD_NAMES else f" in {call.group.name!r}"
    return f"{call.text}{inside}{f' at {place}' if place else ''}"


# ------------------------------------------------------------------------------------------------ operands
def _operand(x: Any, group: Group | str) -> tuple[_Array, Group]:
    array = np.asarray(x, order="C")
    from_numpy(array.dtype)  # TypeError for what no Tensor has
    return array, world.as_group(group)


def _kind(x: _Array) -> str:
    return f"{x.dtype.name}[{','.join(map(str, x.shape))}]"


def _result(shape: tuple[int, ...], dtype: Any, out: _Array | None, zeros: bool = False) -> _Array:
    """Where the result goes: `out`, if it can be there, or a new array."""
    if out is None:
        return np.zeros(shape, dtype) if zeros else np.empty(shape, dtype)
    if out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(
            f"`out` is a writable C-contiguous array {dtype}{list(shape)}, not {out.dtype}{list(out.shape)}"
        )
    if zeros:
        out[...] = 0
    return out


def _root(root: int, group: Group) -> int:
    if not 0 <= root < group.size:
        raise ValueError(f"the group {group.name!r} has {group.size} processes: there is no process {root} in it")
    return root


def _rows(x: _Array, name: str) -> int:
    if not x.ndim:
        raise ValueError(f"{name}() works along axis 0, which a number has not")
    return len(x)


def _parts(x: _Array, name: str, group: Group) -> int:
    """The rows of axis 0 that belong to one process."""
    rows = _rows(x, name)
    if rows % group.size:
        raise ValueError(f"{name}() divides axis 0 into {group.size} equal parts, but it has {rows} elements")
    return rows // group.size


def _widened(x: _Array) -> _Array:
    """What is reduced: halves in float32, others as they are."""
    return x.astype(np.float32) if x.dtype.name in _HALF else x


def _apart(x: _Array, result: _Array) -> _Array:
    """`x` itself where the result lies elsewhere or in its very place, else a copy."""
    return x if x.ctypes.data == result.ctypes.data else _moved(x, result)


def _moved(x: _Array, result: _Array) -> _Array:
    """`x` itself where the result lies elsewhere, else a copy."""
    return x.copy() if np.may_share_memory(x, result) else x


def _narrowed(wide: _Array, result: _Array) -> Callable[[], None] | None:
    return None if wide is result else lambda: np.copyto(result, wide, casting="unsafe")


# ------------------------------------------------------------------------------------------------ reductions
def all_reduce(x: Any, op: str, group: Group | str, out: _Array | None) -> Call:
    x, group = _operand(x, group)
    result = _result(x.shape, x.dtype, out)
    wide = _widened(x)
    into = result if wide is x else wide
    given, to = _apart(wide, into).reshape(-1), into.reshape(-1)

    def post() -> list[Any]:
        mpi, in_place = reduction(op, x), given.ctypes.data == to.ctypes.data
        return [
            group.data.Iallreduce(state.mpi.IN_PLACE if in_place else element(given[s]), element(to[s]), mpi)
            for s in slices(to)
        ]

    return Call(group, f"all_reduce({_op(op)}) of {_kind(x)}", result, post, _narrowed(into, result), x)


def reduce(x: Any, op: str, root: int, group: Group | str, out: _Array | None) -> Call:
    x, group = _operand(x, group)
    root = _root(root, group)
    mine = group.rank == root
    result = _result(x.shape, x.dtype, out, zeros=not mine)
    wide = _widened(x)
    into = result if wide is x else np.empty_like(wide)
    given, to = _apart(wide, into).reshape(-1), into.reshape(-1)

    def post() -> list[Any]:
        mpi, in_place = reduction(op, x), mine and given.ctypes.data == to.ctypes.data
        return [
            group.data.Ireduce(
                state.mpi.IN_PLACE if in_place else element(given[s]), element(to[s]) if mine else None, mpi, root
            )
            for s in slices(to)
        ]

    text = f"reduce({_op(op)}) of {_kind(x)} to {group.ranks[root]}"
    return Call(group, text, result, post, _narrowed(into, result) if mine else None, x)


def reduce_scatter(x: Any, op: str, group: Group | str, out: _Array | None) -> Call:
    x, group = _operand(x, group)
    part = _parts(x, "reduce_scatter", group)
    result = _result((part, *x.shape[1:]), x.dtype, out)
    wide = _widened(x)
    into = result if wide is x else np.empty(result.shape, wide.dtype)

    def post() -> list[Any]:
        mpi, given = reduction(op, x), _moved(wide, into)
        if wide.size <= messages.most_at_once:
            memory, _, kind = element(given)
            return [group.data.Ireduce_scatter_block([memory, into.size, kind], element(into), mpi)]
        flat = given.reshape(group.size, -1)
        return [
            group.data.Ireduce(element(row[s]), element(into.reshape(-1)[s]) if root == group.rank else None, mpi, root)
            for root, row in enumerate(flat)
            for s in slices(row)
        ]

    return Call(group, f"reduce_scatter({_op(op)}) of {_kind(x)}", result, post, _narrowed(into, result), x)


def _op(op: str) -> str:
    if op not in ("sum", "prod", "max", "min"):
        raise ValueError(f"a reduction is one of sum, prod, max and min, not {op!r}")
    return op


# ------------------------------------------------------------------------------------------------ moves
def all_gather(x: Any, group: Group | str, out: _Array | None) -> Call:
    x, group = _operand(x, group)
    result = _result((group.size * _rows(x, "all_gather"), *x.shape[1:]), x.dtype, out)

    def post() -> list[Any]:
        return [group.data.Iallgather(blocks(x, 1), blocks(result, group.size))]

    return Call(group, f"all_gather of {_kind(x)}", result, post, None, x)


def gather(x: Any, root: int, group: Group | str, out: _Array | None) -> Call:
    x, group = _operand(x, group)
    root = _root(root, group)
    mine = group.rank == root
    result = _result((group.size * _rows(x, "gather"), *x.shape[1:]), x.dtype, out, zeros=not mine)

    def post() -> list[Any]:
        return [group.data.Igather(blocks(x, 1), blocks(result, group.size) if mine else None, root)]

    return Call(group, f"gather of {_kind(x)} to {group.ranks[root]}", result, post, None, x)


def scatter(x: Any, root: int, group: Group | str, out: _Array | None) -> Call:
    x, group = _operand(x, group)
    root = _root(root, group)
    result = _result((_parts(x, "scatter", group), *x.shape[1:]), x.dtype, out)

    def post() -> list[Any]:
        return [group.data.Iscatter(blocks(x, group.size) if group.rank == root else None, blocks(result, 1), root)]

    return Call(group, f"scatter of {_kind(x)} from {group.ranks[root]}", result, post, None, x)


def broadcast(x: Any, root: int, group: Group | str, out: _Array | None) -> Call:
    x, group = _operand(x, group)
    root = _root(root, group)
    result = _result(x.shape, x.dtype, out)

    def post() -> list[Any]:
        if group.rank == root and result is not x:
            np.copyto(result, x)
        return [group.data.Ibcast(blocks(result, 1), root)]

    return Call(group, f"broadcast of {_kind(x)} from {group.ranks[root]}", result, post, None, x)


def all_to_all(x: Any, group: Group | str, out: _Array | None) -> Call:
    x, group = _operand(x, group)
    _parts(x, "all_to_all", group)
    result = _result(x.shape, x.dtype, out)

    def post() -> list[Any]:
        return [group.data.Ialltoall(blocks(_moved(x, result), group.size), blocks(result, group.size))]

    return Call(group, f"all_to_all of {_kind(x)}", result, post, None, x)


def all_to_all_v(
    x: Any, send_counts: Sequence[int], receive_counts: Sequence[int], group: Group | str, out: _Array | None
) -> Call:
    x, group = _operand(x, group)
    sent, received = (tuple(map(int, counts)) for counts in (send_counts, receive_counts))
    rows = _rows(x, "all_to_all_v")
    for name, counts in (("send_counts", sent), ("receive_counts", received)):
        if len(counts) != group.size or min(counts) < 0:
            raise ValueError(f"`{name}` has a number of rows for each of {group.size} processes, not {list(counts)}")
    if sum(sent) != rows:
        raise ValueError(f"`send_counts` {list(sent)} add up to {sum(sent)}, but there are {rows} rows")
    if group.size == 1 and sent != received:
        raise ValueError(f"`receive_counts` is {list(received)} where {list(sent)} are sent")
    result = _result((sum(received), *x.shape[1:]), x.dtype, out)

    def post() -> list[Any]:
        return [group.data.Ialltoallv(parts(_moved(x, result), sent), parts(result, received))]

    text = f"all_to_all_v of {x.dtype.name}[*{''.join(f',{n}' for n in x.shape[1:])}]"
    head = functools.partial(check.begin, group, text, counts=(sent, received))
    return Call(group, text, result, post, None, x, head)


def barrier(group: Group | str) -> Call:
    group = world.as_group(group)
    return Call(group, "barrier", None, lambda: [group.data.Ibarrier()])


# ------------------------------------------------------------------------------------------------ from one to another
def send(x: Any, to: int, tag: int, group: Group | str) -> Call:
    x, group = _operand(x, group)
    to = _other(to, tag, group)

    def post() -> list[Any]:
        return [group.data.Isend(blocks(x, 1), to, tag)]

    text = f"send of {_kind(x)} to {group.ranks[to]} (tag {tag})"
    head = functools.partial(check.SentHeader, group, to, tag, _kind(x))
    return Call(group, text, None, post, None, None, head, (group.ranks[to],), x.nbytes)


def receive(shape: tuple[int, ...], dtype: Any, source: int, tag: int, group: Group | str, out: _Array | None) -> Call:
    group = world.as_group(group)
    source = _other(source, tag, group)
    result = _result(tuple(shape), dtype_of(dtype).numpy, out)

    def post() -> list[Any]:
        return [group.data.Irecv(blocks(result, 1), source, tag)]

    text = f"receive of {_kind(result)} from {group.ranks[source]} (tag {tag})"
    head = functools.partial(check.ReceivedHeader, group, source, tag, _kind(result))
    return Call(group, text, result, post, None, None, head, (group.ranks[source],))


def _other(rank: int, tag: int, group: Group) -> int:
    if not 0 <= tag <= check.MOST_TAG:
        raise ValueError(f"a tag is a number from 0 to {check.MOST_TAG}, not {tag}")
    if group.size == 1:
        raise ValueError(f"the group {group.name!r} has one process: there is nobody to send to or receive from")
    return _root(rank, group)
