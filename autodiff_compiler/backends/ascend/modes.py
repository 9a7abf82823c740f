"""How a segment's operators get onto the stream: planned each time, planned once, or captured and replayed.

Executors and captured graphs hold addresses, so the addresses of all that their segment mentions are their cache key:
they are found again if the pool gives out the same blocks in the same order.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from ...errors import AscendError, AscendMemoryError
from .cache import Cache, Entry, cache_of
from .device import Block, Device
from .emit import Buffer, Call, Ref
from .launch import Executor, Planned, launch
from .steps import Run, Segment

#: How many keys (sets of addresses) a segment remembers.
_KEPT = 4
#: How many of the user's lines an error for lack of memory names.
_LINES = 3
_THREAD_LOCAL = 1
_Key: TypeAlias = tuple[Any, ...]
_Known: TypeAlias = "OrderedDict[_Key, Entry | None]"


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
        """Gives the segment's buffers their blocks; the address of its arena, which lives until it is queued."""
        wanted: Buffer | None = None
        try:
            for wanted in segment.made:
                run.frame[wanted] = run.device.allocate(wanted.nbytes, wanted.label)
            wanted = None
            if not segment.arena:
                return 0
            block = run.frame[id(segment)] = run.device.allocate(segment.arena, "values in between")
            return block.address
        except AscendMemoryError as error:
            lines = dict.fromkeys(c.loc for c in segment.calls if c.loc and (wanted is None or _mentions(c, wanted)))
            if lines:
                error.add_note(f"needed at {', '.join(list(lines)[:_LINES])}")
            raise


def _mentions(call: Call, buffer: Buffer) -> bool:
    values = [x for v in call.values for x in (v if isinstance(v, list) else [v])]
    return any(isinstance(x, Ref) and x.buffer is buffer for x in values)


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


def _key(segment: Segment, run: Run, arena: int) -> _Key:
    """The cache key of executors and graphs of a segment."""
    return (run.device.deterministic, arena, *[run.block(b).address for b in segment.outside])


class _CachingMode(Mode):
    """Caches executors or graphs of segments by key; of each segment the most recent keys."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], _Known] = {}

    def __del__(self) -> None:
        for known in self._known.values():
            for item in known.values():
                if item is not None and item.alive:
                    item.abandon()

    def run(self, segment: Segment, run: Run) -> None:
        arena = self.places(segment, run)
        self.run_at(segment, run, arena, _key(segment, run, arena))

    def run_at(self, segment: Segment, run: Run, arena: int, key: _Key) -> None:
        """Queues a segment at the addresses of the key.  At their first use nothing is cached."""
        known = self._known.setdefault((id(segment), run.device.number), OrderedDict())
        if key in known:
            known.move_to_end(key)
            self.run_again(segment, run, arena, key, known)
            return
        while len(known) >= _KEPT and _forgotten(known):
            pass
        known[key] = None
        self.launch_all(segment, run, arena)

    def run_again(self, segment: Segment, run: Run, arena: int, key: _Key, known: _Known) -> None:
        """Queues a segment at addresses that were seen before; its cache entries are in `known`."""
        raise NotImplementedError


def _forgotten(known: _Known) -> bool:
    """Drops the least recently used key; False if all are in use."""
    key = next((key for key, item in known.items() if item is None or not item.users), None)
    if key is None:
        return False
    item = known.pop(key)
    if item is not None and item.alive:
        item.cache.drop(item)
    return True


def _used(item: Entry, queue: Callable[[], None]) -> bool:
    """Queues a cache entry; False if it was destroyed before that.

    If it fails it is not used again: CANN does not document its state then.
    """
    item.users += 1
    try:
        if not item.alive:
            return False
        item.cache.use(item)
        queue()
        return True
    except BaseException:
        item.alive = False
        raise
    finally:
        item.users -= 1
        if not (item.alive or item.users):
            item.abandon()


class _Executors(Entry):
    """The executors of a segment; None where CANN refuses to repeat one."""

    what, most = "executors that are planned once", 8192
    instead = "other operators are planned each time"

    def __init__(self, cache: Cache, segment: Segment) -> None:
        self.items: list[Executor | None] = []
        super().__init__(cache, len(segment.calls))

    def fill(self, segment: Segment, run: Run, arena: int) -> None:
        """Plans the operators."""
        for call in segment.calls:
            executor = Executor(run.device, call.operator, call.loc)
            self.items.append(executor)
            executor.plan(placed(call, segment, run, arena))
            if not executor.repeat():
                executor.destroy()
                self.items[-1] = None

    def queue(self, segment: Segment, run: Run, arena: int) -> None:
        """Queues the operators."""
        for call, executor in zip(segment.calls, self.items, strict=True):
            if executor is not None:
                executor.run()
            else:
                launched(call, segment, run, arena)

    def release(self) -> None:
        while self.items:
            executor = self.items[-1]
            if executor is not None:
                executor.destroy()
            del self.items[-1]


class Cached(_CachingMode):
    """The first phase once per operator, where CANN can repeat it and has room for it, from the second run on."""

    def run_again(self, segment: Segment, run: Run, arena: int, key: _Key, known: _Known) -> None:
        found = known[key]
        if not isinstance(found, _Executors) or not found.alive:
            found = known[key] = self._made(segment, run, arena)
        if found is None or not _used(found, partial(found.queue, segment, run, arena)):
            self.launch_all(segment, run, arena)

    def _made(self, segment: Segment, run: Run, arena: int) -> _Executors | None:
        """New executors; None where there is no room for them."""
        cache = cache_of(run.device, _Executors)
        if not cache.room(len(segment.calls)):
            return None
        made = _Executors(cache, segment)
        made.users += 1  # planning may need memory
        try:
            made.fill(segment, run, arena)
        except BaseException as error:
            made.destroy()
            if isinstance(error, AscendError) and cache.refused(error):
                return None
            raise
        finally:
            made.users -= 1
        return made


class _Graph(Entry):
    """A captured graph."""

    what, most = "captured graphs", 64
    instead = "other segments run by executors that are planned once"

    def __init__(self, cache: Cache) -> None:
        self.handle = ctypes.c_void_p()
        self.planned: list[Planned] = []
        self.workspace: Block | None = None
        self.broken = False
        super().__init__(cache, 1)

    def plan(self, segment: Segment, run: Run, arena: int) -> None:
        """Before the capture: plans the operators and allocates the workspace."""
        for call in segment.calls:
            operator = Planned(run.device, call.operator, call.loc)
            self.planned.append(operator)
            operator.plan(placed(call, segment, run, arena))
        most = max((p.size for p in self.planned), default=0)
        self.workspace = run.device.workspace(most) if most else None

    def record(self) -> bool:
        """Captures the operators; False if a signal handler ended the capture.  The stream is left uncaptured."""
        device, place = self.cache.device, ctypes.byref(self.handle)
        begin, end = (device.acl.libraries.function(f"aclmdlRICapture{word}") for word in ("Begin", "End"))
        workspace = self.workspace.address if self.workspace is not None else 0
        stream, status = device.stream, 0

        def broken_off() -> None:
            device.recording, self.broken = None, True
            end(stream, place)

        device.recording = broken_off
        try:
            status = begin(stream, _THREAD_LOCAL)
            if status:
                device.recording = None
                raise device.acl.error("aclmdlRICaptureBegin", status)
            for p in self.planned:
                p.queue(workspace)
                if self.broken:
                    return False
        finally:
            # Interrupts come after a call has returned: none comes between this test and the call.
            if device.recording is not None:
                device.recording = None
                status = end(stream, place)
        if status:
            raise device.acl.error("aclmdlRICaptureEnd", status)
        return True

    def done(self) -> None:
        """Destroys what only the capture needs."""
        while self.planned:
            self.planned[-1].destroy()
            del self.planned[-1]

    def queue(self) -> None:
        """Queues the graph."""
        device = self.cache.device
        device.acl.call("aclmdlRIExecuteAsync", self.handle, device.stream)

    def release(self) -> None:
        self.done()
        destroy = self.cache.device.acl.libraries.function("aclmdlRIDestroy") if self.handle else None
        handle, self.handle = self.handle, ctypes.c_void_p()
        if destroy is not None:
            destroy(handle)
        self.workspace = None


class Captured(_CachingMode):
    """The second run of a segment at the same addresses is captured, and replayed by one call from then on.

    What CANN does not capture, or has no room for, runs as `Cached` has it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cached = Cached()
        #: segments, with devices, that CANN does not capture
        self._refused: set[tuple[int, int]] = set()

    def run_at(self, segment: Segment, run: Run, arena: int, key: _Key) -> None:
        if (id(segment), run.device.number) in self._refused:
            self._cached.run_at(segment, run, arena, key)
        else:
            super().run_at(segment, run, arena, key)

    def run_again(self, segment: Segment, run: Run, arena: int, key: _Key, known: _Known) -> None:
        graph = known[key]
        if not isinstance(graph, _Graph) or not graph.alive:
            graph = known[key] = self._captured(segment, run, arena)
        if graph is not None and self._replayed(graph, run.device):
            run.device.queued(f"a captured graph of {len(segment.calls)} operators")
        else:
            self._cached.run_at(segment, run, arena, key)

    def _replayed(self, graph: _Graph, device: Device) -> bool:
        """Queues the graph; False if it was destroyed before, or CANN has no room to run it."""
        try:
            return _used(graph, graph.queue)
        except AscendError as error:
            if cache_of(device, _Graph).refused(error):
                return False
            raise

    def _captured(self, segment: Segment, run: Run, arena: int) -> _Graph | None:
        """The segment as a graph; None where CANN refuses."""
        cache = cache_of(run.device, _Graph)
        if not cache.room(1):
            return None
        graph = _Graph(cache)
        graph.users += 1  # planning may need memory
        refusal: AscendError | None = None
        try:
            graph.plan(segment, run, arena)
            try:
                if graph.record():
                    graph.done()
                    return graph
            except AscendError as error:
                refusal = error
        except BaseException:
            graph.destroy()
            raise
        finally:
            graph.users -= 1
        graph.destroy()
        if refusal is not None and not cache.refused(refusal):
            self._refused.add((id(segment), run.device.number))
            cache.say(str(refusal))
        return None


#: Modes by the name that `set_context(ascend_mode=...)` takes.
MODES: dict[str, type[Mode]] = {"per_call": Mode, "cached": Cached, "captured": Captured}
