"""A memory sanitizer, AC_POISON=1: shows reads of uninitialised memory and accesses out of bounds.

Every argument, result and buffer of a call then has bytes of its own in the frame, with a guard behind them.  Frames
and records of loops are filled with NaN (the bytes 0xff) before a call, so a read of them makes a wrong result.  An
overwritten guard raises SystemError.  Programs are several times as slow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ....environment import flag
from ....ir.sizes import Size
from ..codegen.emit import Reg, Text
from ..codegen.emitter import Context
from ..codegen.values import Buffer

_ALIGNMENT = 64


def poisoned() -> bool:
    """Whether the mode is on; asked for each program."""
    return flag("AC_POISON")


class Given(NamedTuple):
    """A parameter of main: the size of its copy (None: it is passed itself), and whether it is a result."""

    name: str
    nbytes: Size | None
    result: bool


class Apart:
    """An allocator of places in the frame that share no bytes, each with a guard behind it."""

    def __init__(self, start: int) -> None:
        self.end: Size = start
        #: where guards begin and end
        self.guards: list[tuple[Size, Size]] = []

    def place(self, nbytes: Size) -> Size:
        """The offset of a new place of so many bytes."""
        found = self.end
        self.end = found + (nbytes + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT + _ALIGNMENT
        self.guards.append((found + nbytes, self.end))
        return found

    def buffers(self, buffers: Iterable[Buffer]) -> dict[Buffer, Size]:
        """The offsets of all buffers of the frame."""
        mine = [b for b in buffers if b.result is None and b.argument is None and not b.virtual]
        return {b: self.place(b.nbytes) for b in mine}


def guarded_main(text: Text, parameters: Sequence[Given], apart: Apart, context: Context) -> Reg:
    """Emits the call of `program` with copies; its code, or 1 with SystemError if a guard was overwritten."""
    copies = {p: Reg(f"%{p.name}", "ptr") for p in parameters}
    for p in parameters:
        if p.nbytes is not None:
            copies[p] = text.at(Reg("%frame", "ptr"), apart.place(p.nbytes))
            if not p.result:
                text.copy(copies[p], Reg(f"%{p.name}", "ptr"), p.nbytes)
    apart.place(0)  # there is one guard at least
    count = len(apart.guards)
    text.needs["guards"] = _GUARDS
    text.declares |= {"declare void @PyErr_SetString(ptr, ptr)", "declare ptr @memset(ptr, i32, i64)"}
    table = text.make("ptr", f"alloca [{2 * count} x i64], align 8")
    for i, end in enumerate(x for guard in apart.guards for x in guard):
        text.store(text.whole(end), text.at(table, 8 * i), 8)
    text.do(f"call void @guards.set(ptr %frame, {table}, i64 {count})")
    given = ", ".join(["ptr %frame", *[str(copies[p]) for p in parameters], *map(str, text.sizes_for(text))])
    code = text.make("i32", f"call i32 @program({given})")
    for p in parameters:
        if p.nbytes is not None and p.result:
            text.copy(Reg(f"%{p.name}", "ptr"), copies[p], p.nbytes)
    intact = text.make("i1", f"call i1 @guards.intact(ptr %frame, {table}, i64 {count})")

    def broken() -> list[Reg]:
        error = text.make("ptr", f"load ptr, ptr {context.place('SystemError')}, align 8")
        text.do(f"call void @PyErr_SetString({error}, ptr @guards.message)")
        return [Reg("1", "i32")]

    (found,) = text.branch(intact, lambda: [code], broken)
    return found


def poisoned_room(room: str) -> str:
    """The functions of the room, with code that fills memory with NaN in place of their `; poison` lines."""
    lines = []
    for number, line in enumerate(room.splitlines()):
        place, _, size = line.partition("; poison ")[2].partition(", ")
        lines.append(f"  %poison.{number} = call ptr @memset(ptr {place}, i32 255, i64 {size})" if place else line)
    return "\n".join(lines)


_MESSAGE = "compiled code wrote beside a buffer"
_GUARDS = f"""
@guards.message = private constant [{len(_MESSAGE) + 1} x i8] c"{_MESSAGE}\\00"

define internal void @guards.set(ptr %frame, ptr %guards, i64 %count) noinline {{
start:
  br label %loop
loop:
  %i = phi i64 [0, %start], [%next, %loop]
  %here = getelementptr {{i64, i64}}, ptr %guards, i64 %i
  %first = load i64, ptr %here, align 8
  %end.at = getelementptr i8, ptr %here, i64 8
  %end = load i64, ptr %end.at, align 8
  %place = getelementptr i8, ptr %frame, i64 %first
  %bytes = sub i64 %end, %first
  %set = call ptr @memset(ptr %place, i32 90, i64 %bytes)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}

define internal i1 @guards.intact(ptr %frame, ptr %guards, i64 %count) noinline {{
start:
  br label %loop
loop:
  %i = phi i64 [0, %start], [%next, %following]
  %here = getelementptr {{i64, i64}}, ptr %guards, i64 %i
  %first = load i64, ptr %here, align 8
  %end.at = getelementptr i8, ptr %here, i64 8
  %end = load i64, ptr %end.at, align 8
  br label %look
look:
  %at = phi i64 [%first, %loop], [%behind, %fine]
  %place = getelementptr i8, ptr %frame, i64 %at
  %byte = load i8, ptr %place
  %kept = icmp eq i8 %byte, 90
  br i1 %kept, label %fine, label %broken
fine:
  %behind = add i64 %at, 1
  %rest = icmp ult i64 %behind, %end
  br i1 %rest, label %look, label %following
following:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %whole
broken:
  ret i1 false
whole:
  ret i1 true
}}"""
