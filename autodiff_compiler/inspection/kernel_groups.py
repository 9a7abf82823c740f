"""Kernels of machine code as lines of text: the ops that share one, with their lines, and why others do not."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import escape
from ..ir.core import Op
from ..source import Loc

if TYPE_CHECKING:
    from ..backends.native.prepare.unfused import Grouped

#: Ops without work: constants and views.
_NO_WORK = frozenset({"const", "undef", "reshape", "expand_dims", "squeeze", "broadcast_to", "transpose", "slice"})
#: How many reasons are given why ops have kernels of their own.
_APART = 8
_PLACE_OR_SIZE = re.compile(r"\([^)]*\)|\[[^]]*\]")
#: Characters of a line.
WIDTH = 116


def shared_kernels(native: Grouped) -> list[str]:
    """The fused kernels, a line each."""
    fused = Counter[str]()
    for ops in working(native):
        if len(ops) > 1:
            by_place: dict[str, list[str]] = {}
            for op in ops:
                by_place.setdefault(marked(op), []).append(op.defn.name)
            fused[f"{len(ops)} ops: " + "; ".join(f"{', '.join(n)} ({at})" for at, n in by_place.items())] += 1
    return counted(fused)


def working(native: Grouped) -> Iterator[list[Op]]:
    """The ops of each kernel, without those that do no work."""
    for kernel in native.kernels:
        yield [op for op in kernel if op.defn.name not in _NO_WORK]


def unfused(native: Grouped) -> Iterator[str]:
    """Why a producer and its consumer are not fused; reasons that differ in places or sizes only are summed up."""
    found: dict[str, dict[str, None]] = {}
    for a in native.unfused:
        pair = f"{a.maker.defn.name} ({marked(a.maker)}) and {a.reader.defn.name} ({marked(a.reader)})"
        found.setdefault(_PLACE_OR_SIZE.sub("", a.why), {})[f"apart: {pair}: {a.why}"] = None
    for lines in [*found.values()][:_APART]:
        first, *others = lines
        yield from wrapped(first + (f" (and {len(others)} more like this)" if others else ""))
    more = sum(map(len, [*found.values()][_APART:]))
    if more:
        yield f"and {more} more like these"


def counted(found: Counter[str]) -> list[str]:
    return [f"{what} x{n}" if n > 1 else what for what, n in found.items()]


#: What a wrapped line begins with, except for its first part.
CONTINUED = "    "


def wrapped(line: str) -> list[str]:
    """A line as lines that can be read, those below the first with space in front."""
    return textwrap.wrap(line, WIDTH, subsequent_indent=CONTINUED, break_long_words=False, break_on_hyphens=False)


def marked(op: Op) -> str:
    tag = op.loc.tag if op.loc is not None else ""
    return f"{place(op.loc)} {escape.line(tag)}".rstrip()


def place(loc: Loc | None) -> str:
    """A user's line, e.g. ``net.py:12``."""
    if loc is None:
        return "?"
    user = loc.of_user()
    return user.short
