"""Comments on a text of the IR: what the ops do besides computing, which sums are cotangents, what constants hold.

They help to read a dump.  The text without them is the module's, so no comment says what the IR does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .. import escape
from ..source import Loc
from .core import Block, Function, Module, Op, Value
from .definition import Effect
from .printer import print_declarations
from .walk import ops_of

_FIRST_ELEMENTS = 3
#: How many lines a comment names.
_PLACES = 8


def remarks(function: Function, names: Mapping[Value, str], outputs: Sequence[str] = ()) -> dict[Op | Block, list[str]]:
    """What is to be said behind the ops of a function, whose values have these names.

    `outputs`: the states whose next versions its last results are.
    """
    found: dict[Op | Block, list[str]] = {}
    written = dict(zip(function.outs[len(function.outs) - len(outputs) :], outputs, strict=True))
    for op in ops_of(function.body):
        states = [f"effect: becomes the state @{written[x]}" for x in op.results if x in written]
        texts = [*_of_sum(op), *_of_places(op), *_of_effect(op, names), *states]
        if texts:
            found[op] = texts
    return found


def _of_sum(op: Op) -> Iterator[str]:
    # Other ops may have the same place: checks of a sum, say.
    if op.loc is not None and op.loc.uses and any(x.name and x.name.startswith("d") for x in op.results):
        counts = Counter(line_of_place(place) for use in reversed(op.loc.uses) for place in use.places)
        places = [f"{place}{times(n)}" for place, n in counts.items()]
        more = f" and {len(places) - _PLACES} more lines" if len(places) > _PLACES else ""
        yield f"sum of the uses at {', '.join(places[:_PLACES])}{more}"


def _of_places(op: Op) -> Iterator[str]:
    if op.loc is not None and op.loc.also:
        said = {line_of_place(place) for at in (op.loc.alone, *op.loc.uses) for place in at.places}
        also = {line_of_place(at): " adjoint" * (at.tag == "adjoint" != op.loc.tag) for at in op.loc.also}
        others = [f"{place}{part}" for place, part in also.items() if place not in said]
        if others:
            yield f"also at {', '.join(others)}"


def times(n: int) -> str:
    """What is said behind something that is there so often: nothing, " (twice)", " (3 times)"."""
    return "" if n == 1 else f" ({'twice' if n == 2 else f'{n} times'})"


def line_of_place(loc: Loc) -> str:
    """The user's line of a place, e.g. ``model.py:14``."""
    place = loc.of_user().short
    return place if loc.tag in ("", "adjoint") else f"{place} {escape.line(loc.tag)}"


def _of_effect(op: Op, names: Mapping[Value, str]) -> Iterator[str]:
    defn, name = op.defn, op.defn.name
    if name == "undef":
        yield "holds nothing: it is never read"
    elif name == "print":
        yield "effect: prints"
    elif name == "raise":
        yield "effect: raises"
    elif name == "assert":
        yield f"effect: raises unless {names.get(op.operands[0], '?')}"
    elif name == "host_call":
        yield f"effect: calls {op.attr('fn')} in Python"
    elif defn.effect is Effect.WRITE:
        yield "effect: writes a state"
    elif defn.effect is Effect.IO and not op.blocks:
        yield "effect: keeps its place among the others"
    elif name.startswith("random_") and op.operands:
        yield f"draws random numbers, which follow from {names.get(op.operands[0], '?')}"


def declarations(module: Module) -> Iterator[str]:
    """The lines before the functions; constants that are too large to be written are summarised.

    Of a callable they say what it `tells` about itself: the exception that it makes, say.
    """
    arrays, callables = iter(module.constants.values()), iter(module.callables.values())
    for line in print_declarations(module).split("\n"):
        if line.startswith("constant "):
            array = next(arrays)
            yield line if " = " in line else f"{line}  // {escape.ascii_line(_summary(array))}"
        elif line.startswith("callable "):
            tells = getattr(next(callables), "tells", None)
            yield line if tells is None else f"{line}  // {escape.ascii_line(tells)}"
        else:
            yield line


def _summary(array: object) -> str:
    if not isinstance(array, np.ndarray) or not array.size:
        return "no elements" if isinstance(array, np.ndarray) else "contents unknown"
    flat = array.ravel().astype(np.float64) if array.dtype.kind not in "biu" else array.ravel()
    begins = ", ".join(_number(x) for x in flat[:_FIRST_ELEMENTS].tolist())
    with np.errstate(all="ignore"):
        bad = int(flat.size - np.isfinite(flat).sum()) if flat.dtype.kind == "f" else 0
        finite = flat[np.isfinite(flat)] if bad else flat
    span = f"{_number(finite.min().item())} .. {_number(finite.max().item())}" if finite.size else "nothing finite"
    return f"{span}; begins {begins}" + (f"; {bad} not finite" if bad else "")


def _number(x: float) -> str:
    return format(x, ".6g") if isinstance(x, float) else str(x)
