"""Probes of this processor: the throughput and the latency of multiply-adds, and memory bandwidth, of one thread."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from ..codegen.emit import Int, Reg, Text
from ..codegen.vectors import Vectors
from ..jit.engine import Loaded, load
from ..jit.machine import machine

#: Accumulators: more than multiply-adds in flight, fewer than registers.
_ACCUMULATORS = 12
#: Vectors per trip of the triad.
_UNROLLED = 4


@cache
def _functions() -> Loaded:
    texts = [_multiply_adds("f32"), _multiply_adds("f64"), _triad(), _chain()]
    declares = sorted(set().union(*(text.declares for text in texts)))
    return load("\n\n".join([*map(str, texts), *declares]) + "\n")


def _lanes(single: bool) -> int:
    return machine().lanes(4 if single else 8)


def _multiply_adds(short: str) -> Text:
    """`n` rounds of independent multiply-adds, one per accumulator."""
    text = Text(f"fma_{short}", [("i64", "n"), ("ptr", "out")])
    v = Vectors(text, _lanes(short == "f32"), single=short == "f32")

    def trip(_: Int, now: list[Reg]) -> list[Reg]:
        return [v.fma(acc, 0.5, 1.0) for acc in now]

    ends = text.loop(0, Reg("%n", "i64"), 1, [v.number(float(i)) for i in range(_ACCUMULATORS)], trip)
    total = ends[0]
    for end in ends[1:]:
        total = v.add(total, end)
    text.store(total, Reg("%out", "ptr"), 8)
    text.ret()
    return text


def _triad() -> Text:
    """`rounds` times: c = a + 3 b over `nbytes` bytes of f64."""
    params = [("ptr", "a"), ("ptr", "b"), ("ptr", "c"), ("i64", "nbytes"), ("i64", "rounds")]
    text = Text("triad", params)
    v, width = Vectors(text, _lanes(False), single=False), machine().vector_bytes
    a, b, c = (Reg(f"%{name}", "ptr") for name in "abc")

    def piece(i: Int) -> None:
        for k in range(_UNROLLED):
            at = text.add(i, k * width)
            x, y = (text.load(v.type, text.at(p, at), 8) for p in (a, b))
            text.store(v.fma(y, 3.0, x), text.at(c, at), 8)

    step = width * _UNROLLED
    text.repeated(0, Reg("%rounds", "i64"), 1, lambda _: text.repeated(0, Reg("%nbytes", "i64"), step, piece))
    text.ret()
    return text


def _chain() -> Text:
    """A dependency chain of `n` multiply-adds."""
    text = Text("chain", [("i64", "n"), ("ptr", "out")])
    v = Vectors(text, 1, single=False)
    (end,) = text.loop(0, Reg("%n", "i64"), 1, [v.number(1.0)], lambda _, now: [v.fma(now[0], 0.5, 1.0)])
    text.store(end, Reg("%out", "ptr"), 8)
    text.ret()
    return text


def multiply_adds(short: str) -> tuple[Callable[[int], None], int]:
    """A function that runs so many rounds of independent multiply-adds, and the operations of a round."""
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(_functions().address(f"fma_{short}"))
    room = ctypes.create_string_buffer(64)
    return (lambda n: run(n, ctypes.addressof(room))), 2 * _ACCUMULATORS * _lanes(short == "f32")


def chain() -> Callable[[int], None]:
    """A function that runs a dependency chain of so many multiply-adds."""
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(_functions().address("chain"))
    room = ctypes.create_string_buffer(8)
    return lambda n: run(n, ctypes.addressof(room))


def triad() -> Callable[[Any, Any, Any, int], None]:
    """A function of three f64 arrays, whose length is a multiple of 64, and rounds: c = a + 3 b in each."""
    types = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
    run = ctypes.CFUNCTYPE(None, *types)(_functions().address("triad"))
    return lambda a, b, c, rounds: run(a.ctypes.data, b.ctypes.data, c.ctypes.data, a.nbytes, rounds)
