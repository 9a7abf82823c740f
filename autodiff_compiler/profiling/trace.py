"""A profile in the Trace Event Format of chrome://tracing and Perfetto."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..backends.base import Piece
from ..backends.timed import Span, Table, Times
from ..compiler.recorder import Event, Ran
from ..inspection.measured import Row, seconds_of
from ..inspection.user_lines import user_line
from ..ir.sizes import Size
from ..primitives.flops import flops_of
from ..source import Loc, line_of
from ..whole_files import write_text

__all__ = ["write_trace"]

_NOTE = (
    "Calls, and kernels of eager mode, stand where they were. Of each program the last run is shown in detail: its "
    "parts in their order with what they took in it; a part that ran several times is one event, with its runs."
)


def write_trace(
    path: str,
    name: str,
    start: int,
    calls: Sequence[Event],
    programs: Sequence[Ran],
    eager: Sequence[tuple[Loc | None, Event]],
    kernels: Mapping[object, Row],
) -> None:
    """Writes the file; times count from `start`, `kernels` are those of a `Tally`."""
    threads: dict[int, int] = {}
    events: list[dict[str, Any]] = []

    def add(what: str, kind: str, thread: int, began: float, nanoseconds: float, **args: Any) -> None:
        number = threads.setdefault(thread, len(threads) + 1)
        times = {"ts": (began - start) / 1e3, "dur": nanoseconds / 1e3}
        events.append({"name": what, "cat": kind, "ph": "X", "pid": 1, "tid": number, **times, "args": args})

    for call in calls:
        add(call.name, "call", call.thread, call.began, call.ended - call.began)
    for loc, event in eager:
        add(event.name, "eager", event.thread, event.began, event.ended - event.began, **_line(*user_line(loc)))
    for ran in programs:
        if ran.last is not None:
            began, ended, thread, table = ran.last
            add(f"{ran.name} (program)", "program", thread, began, ended - began)
            for span, at, seconds in _laid_out(ran.times.spans, ran.times, table, float(began)):
                runs = span.runs(table)
                row = kernels[id(span)]
                add(row.name, "kernel", thread, at, seconds * 1e9, runs=runs, **_described(span, table, row))
    head: list[dict[str, Any]] = [{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": name}}]
    for i in threads.values():
        head.append({"name": "thread_name", "ph": "M", "pid": 1, "tid": i, "args": {"name": f"thread {i}"}})
    whole = {"traceEvents": head + events, "displayTimeUnit": "ns", "otherData": {"note": _NOTE}}
    write_text(path, json.dumps(whole))


def _laid_out(spans: Sequence[Span], times: Times, table: Table, began: float) -> Iterator[tuple[Span, float, float]]:
    """Spans laid out on a time axis, inner ones at the start of outer ones: each with its begin and seconds."""
    for span in spans:
        if not span.runs(table):
            continue
        inner = [list(_laid_out(block, times, table, 0.0)) for block in span.blocks]
        whole = seconds_of(span, times, table) + sum(_whole(block, times, table) for block in span.blocks)
        yield span, began, whole
        at = began
        for block, found in zip(span.blocks, inner, strict=True):
            for one, offset, seconds in found:
                yield one, at + offset, seconds
            at += _whole(block, times, table) * 1e9
        began += whole * 1e9


def _whole(block: Sequence[Span], times: Times, table: Table) -> float:
    inner = (sum(_whole(b, times, table) for b in span.blocks) for span in block)
    return sum(seconds_of(span, times, table) for span in block) + sum(inner)


def _described(span: Span, table: Table, kernel: Row) -> dict[str, Any]:
    moved: Size = 0
    flops: Size = 0
    for piece, row in span.pieces:
        runs, (one, other) = int(table[row, 0]), _amounts(piece)
        moved, flops = moved + runs * one, flops + runs * other
    amounts = {name: n for name, n in (("bytes", moved), ("flops", flops)) if isinstance(n, int)}
    line = _line(kernel.file, kernel.line, kernel.part)
    others = {"also": list(kernel.others)} if kernel.others else {}
    return {**line, **others, "ops": [op.defn.name for op in span.ops], **amounts}


def _amounts(piece: Piece) -> tuple[Size, Size]:
    """Bytes moved and operations; blocks count once."""
    moved = sum([move.read + move.written for move in piece.moves], 0)
    flops = sum(map(flops_of, piece.ops), 0)
    for block in piece.blocks:
        for inner in block:
            one, other = _amounts(inner)
            moved, flops = moved + one, flops + other
    return moved, flops


def _line(file: str, number: int, part: str) -> dict[str, str]:
    return {"line": f"{file}:{number} {part}".rstrip(), "source": line_of(file, number).strip()} if file else {}
