"""How a segment's operators get onto the stream: planned each time, planned once, or captured and replayed.

Executors and captured graphs hold addresses, so they are kept by the addresses of everything their segment mentions:
what the pool gives out again in the same order finds them again, all else is planned anew.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import AscendError
from .device import Block, Device
from .emit import Call, Ref
from .launch import Executor, Planned, launch, repeatable

if TYPE_CHECKING:
    from .program import Run, Segment

__all__ = ["MODES", "Cached", "Captured", "Mode"]

#: How many sets of addresses a segment remembers.
_KEPT = 4
_THREAD_LOCAL = 1


class Mode:
    """Both phases of every operator, each time: always right, and the default."""

    def run(self, segment: Segment, run: Run) -> None:
        """Queues a segment for the addresses of this run."""
        arena = self.places(segment, run)
        self.launch_all(segment, run, arena)

    def launch_all(self, segment: Segment, run: Run, arena: int) -> None:
        """Plans and queues all operators of a segment."""
        for call in segment.calls:
            launched(call, segment, run, arena)

    def places(self, segment: Segment, run: Run) -> int:
        """Gives the segment's buffers their blocks; the address of its arena, which lives as long as the run."""
        for buffer in segment.made:
            run.frame[buffer] = run.device.allocate(buffer.nbytes, buffer.label)
        if not segment.arena:
            return 0
        block = run.frame[id(segment)] = run.device.allocate(segment.arena, "values in between")
        return block.address


def placed(call: Call, segment: Segment, run: Run, arena: int) -> list[Any]:
    """The values of an operator with the addresses of a run."""
    return [
        run.placed(v, segment, arena) if isinstance(v, Ref)
        else [run.placed(x, segment, arena) for x in v] if isinstance(v, list) else v
        for v in call.values
    ]  # fmt: skip


def launched(call: Call, segment: Segment, run: Run, arena: int) -> None:
    """Plans and queues one operator."""
    launch(run.device, call.operator, placed(call, segment, run, arena), call.loc)


def _addresses(segment: Segment, run: Run, arena: int) -> tuple[int, ...]:
    return (run.device.number, arena, *[run.frame[b].address for b in segment.outside])


class _Keeping(Mode):
    """What was made for a segment and addresses, the least recently used thrown away first."""

    def __init__(self) -> None:
        self._kept: dict[int, OrderedDict[tuple[int, ...], Any]] = {}
        self._device: Device | None = None

    def __del__(self) -> None:
        # Only the thread of the next call may end them.
        if self._device is not None:
            self._device.abandoned.extend(item for known in self._kept.values() for item in known.values())

    def _of(self, segment: Segment, key: tuple[int, ...], make: Callable[[], Any], device: Device) -> Any:
        if self._device is not device:
            self.close()
            self._device = device
            device.keepers.add(self)
        known = self._kept.setdefault(id(segment), OrderedDict())
        if key in known:
            known.move_to_end(key)
        else:
            known[key] = make()
            if len(known) > _KEPT:
                _, old = known.popitem(last=False)
                device.synchronize()  # the stream may still be at it
                old.destroy()
        return known[key]

    def close(self) -> None:
        """Gives everything back."""
        for known in self._kept.values():
            for item in known.values():
                item.destroy()
        self._kept.clear()


class _Executors:
    """The executors of a segment; None where CANN refuses to repeat one."""

    def __init__(self, segment: Segment, run: Run, arena: int) -> None:
        self.items: list[Executor | None] = []
        try:
            for call in segment.calls:
                values = placed(call, segment, run, arena)
                self.items.append(repeatable(run.device, call.operator, values, call.loc))
        except BaseException:
            self.destroy()
            raise

    def destroy(self) -> None:
        for executor in self.items:
            if executor is not None:
                executor.destroy()


class Cached(_Keeping):
    """The first phase once per operator, where CANN can repeat it."""

    def run(self, segment: Segment, run: Run) -> None:
        arena = self.places(segment, run)
        key = _addresses(segment, run, arena)
        executors = self._of(segment, key, lambda: _Executors(segment, run, arena), run.device)
        for call, executor in zip(segment.calls, executors.items, strict=True):
            if executor is not None:
                executor.run()
            else:
                launched(call, segment, run, arena)


class _Graph:
    """What is known of a segment at some addresses: seen once, captured, or not to be captured."""

    def __init__(self) -> None:
        self.handle = 0
        self.refused = False
        self.acl: Any = None
        self.workspace: Block | None = None

    def destroy(self) -> None:
        if self.handle:
            self.acl.libraries.function("aclmdlRIDestroy")(self.handle)
            self.handle = 0


class Captured(_Keeping):
    """The second run of a segment at the same addresses is recorded, and replayed by one call from then on."""

    def run(self, segment: Segment, run: Run) -> None:
        arena = self.places(segment, run)
        key = _addresses(segment, run, arena)
        seen = key in self._kept.get(id(segment), ())
        graph: _Graph = self._of(segment, key, _Graph, run.device)
        if seen and not graph.handle and not graph.refused:
            self._capture(graph, segment, run, arena)
        if graph.handle:
            device = run.device
            device.acl.call("aclmdlRIExecuteAsync", graph.handle, device.stream)
            device.queued(f"a captured graph of {len(segment.calls)} operators")
            return
        self.launch_all(segment, run, arena)

    def _capture(self, graph: _Graph, segment: Segment, run: Run, arena: int) -> None:
        """Records the segment; marks the graph as refused where CANN does not go along."""
        device = run.device
        graph.acl = device.acl
        planned: list[Planned] = []
        try:
            for call in segment.calls:
                planned.append(Planned(device, call.operator, placed(call, segment, run, arena), call.loc))
            most = max((p.size for p in planned), default=0)
            graph.workspace = device.allocate(most, "workspace of a graph") if most else None
            device.acl.call("aclmdlRICaptureBegin", device.stream, _THREAD_LOCAL)
            try:
                for p in planned:
                    p.queue(graph.workspace.address if graph.workspace is not None else 0)
            finally:
                handle = ctypes.c_void_p()
                ended = device.acl.libraries.function("aclmdlRICaptureEnd")(device.stream, ctypes.byref(handle))
            graph.handle = handle.value or 0
            if ended:
                raise device.acl.error("aclmdlRICaptureEnd", ended)
        except AscendError:
            graph.destroy()
            graph.refused = True
        finally:
            for p in planned:
                p.destroy()


#: Modes by the name that `set_context(ascend_mode=...)` takes.
MODES: dict[str, type[Mode]] = {"per_call": Mode, "cached": Cached, "captured": Captured}
