"""The self-test of a device, in stages; one that fails stops only those that need it.

The stages here need CANN's interface only; those that run primitives and programs are in `testing.ascend`.
"""

from __future__ import annotations

import ctypes
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dtypes import float32
from ...errors import AscendError
from .acl import DEVICE_FAILURES, DEVICE_TO_DEVICE, Acl
from .device import Device, current, shutdown
from .launch import Placed, launch
from .library import MissingSymbolError
from .tables import functions, operators

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
_SYNC, _TIMELINE = 1, 8


class StageFailure(Exception):
    """A stage found something wrong; the text says what."""


@dataclass
class Stage:
    """One stage of the report: its outcome, as text and as data."""

    name: str
    status: str = NOT_RUN
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def say(self, line: str, **data: Any) -> None:
        self.lines.append(line)
        self.data.update(data)


class SelfTest:
    """Runs stages in order and collects their outcomes; `progress` gets each stage's name when it begins."""

    def __init__(self, progress: Callable[[str], None] = lambda name: None) -> None:
        self.stages: list[Stage] = []
        self._progress = progress

    def run(self, name: str, needs: Iterable[str], body: Callable[[Stage], None]) -> Stage:
        """Runs a stage, unless one of those that it needs failed; whatever it raises is its outcome."""
        stage = Stage(name)
        self.stages.append(stage)
        broken = [s.name for s in self.stages if s.name in set(needs) and s.status != PASSED]
        if broken:
            stage.say(f"needs: {', '.join(broken)}")
            return stage
        self._progress(name)
        began = time.perf_counter()
        try:
            body(stage)
            stage.status = PASSED
        except StageFailure as failure:
            stage.status = FAILED
            stage.say(str(failure))
        except Exception as error:
            stage.status = FAILED
            stage.say(told(error), raised=type(error).__name__)
            if not isinstance(error, AscendError):
                stage.lines += traceback.format_exc().rstrip().splitlines()
            recover(error)
        stage.seconds = round(time.perf_counter() - began, 3)
        return stage

    @property
    def passed(self) -> bool:
        return all(stage.status == PASSED for stage in self.stages)


def told(error: BaseException) -> str:
    """What an exception says, with its notes, on one line."""
    return "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]).replace("\n", "; ")


def recover(error: BaseException) -> None:
    """Starts the device anew after an error that cost its memory."""
    if isinstance(error, AscendError) and error.status in DEVICE_FAILURES:
        shutdown()


def basics(test: SelfTest, acl: Acl, needed: Callable[[], Iterable[str]]) -> None:
    """From the libraries to one operator; `needed` are the operators that the rules of primitives use."""
    test.run("libraries", (), lambda stage: _libraries(stage, acl))
    test.run("symbols", ("libraries",), lambda stage: _symbols(stage, acl, needed()))
    test.run("device", ("libraries",), lambda stage: _device(stage, acl))
    test.run("memory", ("device",), _memory)
    test.run("copies", ("memory",), _copies)
    test.run("streams and events", ("device",), _streams)
    test.run("one operator", ("copies",), _one_operator)


def _libraries(stage: Stage, acl: Acl) -> None:
    missing = []
    for group in ("runtime", "base", "operators"):
        try:
            found = [library._name for library in acl.libraries.load(group)]
            stage.say(f"{group}: {', '.join(found)}", **{group: found})
        except MissingSymbolError as error:
            missing.append(str(error))
    if missing:
        raise StageFailure("\n".join(missing))


def _symbols(stage: Stage, acl: Acl, needed: Iterable[str]) -> None:
    """Missing operators are listed, as only some programs need them; a missing runtime function is a failure."""
    lacking: list[str] = []
    known = sorted(name for name, function in functions().items() if function.library != "hccl")
    for name in known:
        try:
            acl.libraries.function(name)
        except MissingSymbolError:
            lacking.append(name)
    absent = []
    wanted = sorted(set(needed))
    for name in wanted:
        try:
            acl.libraries.phases(name)
        except MissingSymbolError:
            absent.append(name + (" (newer than CANN 8.1)" if operators()[name].newer else ""))
    stage.say(
        f"{len(known) - len(lacking)} of {len(known)} functions, {len(wanted) - len(absent)} of "
        f"{len(wanted)} operators are there",
        functions_missing=lacking,
        operators_missing=absent,
    )
    if absent:
        stage.say(
            "missing operators, whose primitives are refused, or computed by the host with ascend_fallback: "
            + ", ".join(absent)
        )
    if lacking:
        raise StageFailure("missing functions: " + ", ".join(lacking))


def _device(stage: Stage, acl: Acl) -> None:
    acl.initialise()
    version = [ctypes.c_int32() for _ in range(3)]
    acl.call("aclrtGetVersion", *map(ctypes.byref, version))
    text = ".".join(str(number.value) for number in version)
    count = acl.get("aclrtGetDeviceCount", ctypes.c_uint32)
    soc = (acl.libraries.function("aclrtGetSocName")() or b"").decode("utf-8", "replace")
    stage.say(f"interface {text}, SoC {soc or 'unknown'}, {count} device(s)", version=text, soc=soc, devices=count)
    here = current()
    free, total = here.memory()
    overflow = "saturates" if here.saturates else "gives infinities and nan"
    stage.say(f"device {here.number} started: {free:,} of {total:,} bytes are free; overflow {overflow}")
    stage.data |= {"number": here.number, "free": free, "total": total, "saturates": here.saturates}


def _memory(stage: Stage) -> None:
    here = current()
    for nbytes in (1, 4096, 1 << 20, 1 << 26):
        block = here.allocate(nbytes, "self-test")
        if block.address % 64:
            raise StageFailure(f"an allocation of {nbytes:,} bytes is at {block.address:#x}, not a multiple of 64")
        del block
    here.trim()
    stage.say("allocations from 1 byte to 64 MB, aligned to 64 bytes, and given back")


def _copies(stage: Stage) -> None:
    here = current()
    for nbytes in (1, 33, 4096, 1 << 22):
        data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
        first, second, found = here.allocate(nbytes), here.allocate(nbytes), np.zeros(nbytes, np.uint8)
        here.upload(data, first.address)
        here._copy(second.address, first.address, nbytes, DEVICE_TO_DEVICE)
        here.download(second.address, found)
        if not np.array_equal(data, found):
            raise StageFailure(f"{nbytes:,} bytes came back changed, {int((data != found).sum()):,} of them")
    stage.say("to the device, on it and back: 1 byte to 4 MB, all bytes as sent")


def _streams(stage: Stage) -> None:
    """Another stream waits for ours by an event; two events tell the time between them."""
    here = current()
    acl = here.acl
    events = [acl.get("aclrtCreateEventExWithFlag", ctypes.c_void_p, _SYNC | _TIMELINE) for _ in range(2)]
    other = acl.get("aclrtCreateStream", ctypes.c_void_p)
    block = here.allocate(4096, "self-test")
    try:
        acl.call("aclrtRecordEvent", events[0], here.stream)
        acl.call("aclrtMemsetAsync", block.address, 4096, 7, 4096, here.stream)
        acl.call("aclrtRecordEvent", events[1], here.stream)
        acl.call("aclrtStreamWaitEvent", other, events[1])
        acl.call("aclrtMemsetAsync", block.address, 4096, 9, 2048, other)
        acl.call("aclrtSynchronizeStream", other)
        found = np.zeros(4096, np.uint8)
        here.download(block.address, found)
        if found.tolist() != [9] * 2048 + [7] * 2048:
            raise StageFailure("a stream did not wait for the event of another")
        elapsed = acl.get("aclrtEventElapsedTime", ctypes.c_float, *events)
        stage.say(f"a second stream waited for an event; {elapsed:.3f} ms between two events", milliseconds=elapsed)
    finally:
        acl.call("aclrtDestroyStream", other)
        for event in events:
            acl.call("aclrtDestroyEvent", event)


def _one_operator(stage: Stage) -> None:
    here = current()
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    places = [here.allocate(x.nbytes, "self-test") for _ in range(2)]
    found = np.zeros_like(x)
    here.upload(x, places[0].address)
    launch(here, "Exp", [_whole(here, place.address, x.size) for place in places])
    here.download(places[1].address, found)
    error = float(np.abs(found / np.exp(x.astype(np.float64)) - 1).max())
    stage.say(f"aclnnExp of 1,000 float32: relative error at most {error:.1e}", error=error)
    if not error < 1e-4:
        raise StageFailure("that is too much")


def _whole(device: Device, address: int, count: int) -> Placed:
    return Placed(address, count, float32, (count,), (1,), 0)
