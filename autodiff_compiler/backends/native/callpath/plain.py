"""The plain call path: Python checks each call and all guards, and enters machine code by `ctypes`.

It reads no object of this process by its layout.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....ir.sizes import evaluate
from ....ir.types import MOST_BYTES
from ....no_memory import on_the_way
from ....runtime.parameter import Parameter
from ....runtime.storage import SHARED, holders
from ....runtime.tensor import Array, Tensor, wrap
from ..codegen.emitter import Context
from ..memory.anchor import anchor
from ..memory.frame_pool import GUARD, HEADER, MARK, ROOM, SHARED_FROM
from ..memory.large_alloc import new_array
from .objects import pointer
from .protocol import BoundProgram, CallPath, Entry
from .signature import Signature


class PlainPath(CallPath):
    """Entries have no guards, and guards no words: Python predicates are called instead."""

    name = "plain"

    def entry(self, signature: Signature, context: Context) -> Entry:
        return PlainEntry(signature, context)

    def refusal(self, bound: BoundProgram) -> str:
        return "calls take the plain call path, in which Python checks them"


class PlainEntry:
    """The entry by ctypes; it does the same as `MachineEntry`."""

    def __init__(self, signature: Signature, context: Context) -> None:
        self._signature, self._context = signature, context
        self.text, self.declares = _text(signature)
        for a in signature.arguments:
            if a.captured:
                context.place(a.captured)
        if signature.watched:
            context.place("watched"), context.place("calls")

    def bind(
        self, loaded: Any, slow: Callable[..., Any], name: str = "call", others: Mapping[str, int] | None = None
    ) -> Callable[..., Any]:
        s, pointers = self._signature, self._context.pointers(others or {}, pointer)
        loaded.fill(pointers)
        places = dict(zip(self._context.names, pointers, strict=True))
        captured = [None if a.captured is None else places[a.captured] for a in s.arguments]
        table, calls = (self._context.number(n) for n in ("watched", "calls")) if s.watched else (0, 0)
        main, frames = _Run(loaded.address("run")), _Frames(s)
        made = [s.results[i] for i in s.fresh]

        def call(*args: Any, **options: Any) -> Any:
            watched = _table(loaded.context[table]) if s.watched else ()
            if options or len(args) != s.count or any(_word(where) != what for where, what in watched):
                return slow(*args, **options)
            given = iter(args)
            found = [next(given) if at is None else _object(at) for at in captured]
            if any(a.plain and type(x) is not Tensor for a, x in zip(s.arguments, found, strict=True)):
                return slow(*args)
            arrays = _unwrapped(s, found) if s.tensors else found
            sizes = None if arrays is None else _sizes(s, arrays)
            if arrays is None or sizes is None:
                return slow(*args)
            if s.watched:
                loaded.context[calls] = (loaded.context[calls] or 0) + 1
            new = [new_array(tuple([evaluate(d, sizes) for d in r.shape]), r.dtype) for r in made]
            _run(main, frames, [*arrays, *new], s, sizes)
            fresh = iter(map(wrap, new) if s.tensors else new)
            results = tuple([next(fresh) if r.argument is None else found[r.argument] for r in s.results])
            return results[0] if s.bare else results

        call.__name__ = call.__qualname__ = name
        call.__dict__["owned"] = anchor(frames.free, loaded)
        return call


_Run = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def _word(address: int) -> int | None:
    return ctypes.c_void_p.from_address(address).value


def _table(address: int) -> Iterator[tuple[int, int | None]]:
    """The pairs of a guard table; a word of 0 is None."""
    while (where := _word(address)) is not None:
        yield where, _word(address + 8)
        address += 16


def _object(address: int) -> Any:
    return ctypes.cast(address, ctypes.py_object).value


def _text(signature: Signature) -> tuple[str, frozenset[str]]:
    """An LLVM function that calls main with the pointers of a table, behind which sizes stand."""
    count = len(signature.arguments) + len(signature.fresh)
    sizes = range(count, count + len(signature.shapes.definitions))
    lines = ["define i32 @run(ptr %frame, ptr %pointers) {"]
    for i in range(count):
        lines.append(f"  %at{i} = getelementptr ptr, ptr %pointers, i64 {i}")
        lines.append(f"  %p{i} = load ptr, ptr %at{i}")
    for i in sizes:
        lines.append(f"  %at{i} = getelementptr i64, ptr %pointers, i64 {i}")
        lines.append(f"  %p{i} = load i64, ptr %at{i}")
    given = ", ".join(["ptr %frame", *[f"ptr %p{i}" for i in range(count)], *[f"i64 %p{i}" for i in sizes]])
    call = f"  %code = call i32 @main({given})"
    declares = set()
    if signature.release_gil:
        declares = {"declare ptr @PyEval_SaveThread()", "declare void @PyEval_RestoreThread(ptr)"}
        lines += ["  %thread = call ptr @PyEval_SaveThread()", call, "  call void @PyEval_RestoreThread(ptr %thread)"]
    else:
        lines.append(call)
    return "\n".join([*lines, "  ret i32 %code", "}", ""]), frozenset(declares)


def _run(
    main: Callable[[int | None, Any], int],
    frames: _Frames,
    arrays: Sequence[Array],
    signature: Signature,
    sizes: Mapping[str, int],
) -> None:
    """Calls main; raises what it raised."""
    if signature.poison:
        for array in arrays[len(signature.arguments) :]:
            ctypes.memset(array.__array_interface__["data"][0], -1, array.nbytes)
    words = [*[a.__array_interface__["data"][0] for a in arrays], *sizes.values()]
    pointers = (ctypes.c_void_p * len(words))(*words)
    frame = frames.take(evaluate(signature.frame_bytes, sizes))
    try:
        if main(frame, pointers):
            raise SystemError("compiled code failed without an exception")
    finally:
        frames.give(frame)


# ------------------------------------------------------------------------------------------------ checks
def _unwrapped(signature: Signature, args: Sequence[Any]) -> Sequence[Any] | None:
    """The arrays of Tensors that are on no tape and have no hooks; None if an argument is anything else."""
    for i, x in enumerate(args):
        if type(x) is Parameter:
            free = holders.live == SHARED  # Parameters are on tapes per thread: no tape may be alive
        else:
            free = type(x) is Tensor and getattr(x, "_node", x) is None
        if not free or getattr(x, "_hooks", None) is not None or (i in signature.overwritten and x._held):
            return None
    return [getattr(x, "_data", None) for x in args]


def _sizes(signature: Signature, arrays: Sequence[Any]) -> dict[str, int] | None:
    """The values of the symbols, if arguments have the dtypes, shapes and flags that main needs, and do not alias."""
    for i, (x, argument) in enumerate(zip(arrays, signature.arguments, strict=True)):
        if type(x) is not np.ndarray or x.dtype != argument.dtype.numpy or x.ndim != len(argument.shape):
            return None
        flags = x.flags
        if not (flags.c_contiguous and flags.aligned and (flags.writeable or i not in signature.overwritten)):
            return None
    values = signature.shapes.values([x.shape for x in arrays])
    if values is None or not all(r.is_so(values) for r in signature.relations):
        return None
    return values if not signature.overwritten or _no_alias(signature, arrays) else None


def _no_alias(signature: Signature, arrays: Sequence[Array]) -> bool:
    """Whether no overwritten argument shares memory with another."""
    blocks = sorted(
        (x.__array_interface__["data"][0], x.nbytes, i in signature.overwritten)
        for i, x in enumerate(arrays)
        if x.nbytes
    )
    end = end_of_written = 0
    for start, size, written in blocks:
        if start < (end if written else end_of_written):
            return False
        end = max(end, start + size)
        if written:
            end_of_written = max(end_of_written, start + size)
    return True


# ------------------------------------------------------------------------------------------------ frames
class _Frames:
    """The frames of one module: small ones are kept for the next calls, large ones are freed after each call."""

    def __init__(self, signature: Signature) -> None:
        self._poison = signature.poison
        #: whether all calls have frames of one size
        self._alike = isinstance(signature.frame_bytes, int)
        #: addresses of free frames, and of their blocks; of frames in use, the block and the bytes
        self._free: list[tuple[int, int]] = []
        self._blocks: dict[int, tuple[int, int]] = {}

    def take(self, nbytes: int) -> int | None:
        """The address of a frame of so many bytes."""
        if not nbytes:
            return None
        try:
            frame, block = self._free.pop()
        except IndexError:
            block = (_malloc(nbytes + 64 + GUARD) if nbytes < MOST_BYTES else None) or 0
            if not block:
                raise MemoryError(on_the_way(nbytes)) from None
            frame = -(-block // 64) * 64
            ctypes.memset(frame, 0, HEADER)
        self._blocks[frame] = block, nbytes
        if self._poison:
            ctypes.memset(frame + HEADER, -1, nbytes - HEADER)
            ctypes.memset(frame + nbytes, MARK, GUARD)
        return frame

    def give(self, frame: int | None) -> None:
        """Takes a frame back."""
        if frame is None:
            return
        block, nbytes = self._blocks.pop(frame)
        broken = self._poison and ctypes.string_at(frame + nbytes, GUARD) != bytes([MARK]) * GUARD
        self._free.append((frame, block))
        if not self._alike or nbytes > SHARED_FROM or len(self._free) > 16:
            self.free()
        if broken:
            raise SystemError("compiled code wrote behind its frame")

    def free(self) -> None:
        """Frees the frames that are not in use."""
        while self._free:
            try:
                frame, block = self._free.pop()
            except IndexError:  # another thread was faster
                return
            _free(ctypes.c_void_p.from_address(frame + ROOM).value)
            _free(block)


_malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("PyMem_RawMalloc", ctypes.pythonapi))
_free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyMem_RawFree", ctypes.pythonapi))
