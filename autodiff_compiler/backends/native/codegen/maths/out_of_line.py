"""Elementary functions as functions of the module, written once and called, for modules that use a lot of them.

In place, a function costs its 20 to 60 instructions at each use, and most of the time of a compilation is theirs.  A
call costs 5 to 20 % of a walk that does little else (60 % of one that is a single `exp` of f32), as no register
survives it; in a large module it is 0 to 3 %, as code in place does not fit into the processor's cache.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from .....ir.core import Op
from ...jit.machine import Machine, machine
from ..emit import Reg, Text
from ..vectors import Vectors
from . import FUNCTIONS

__all__ = ["many", "written"]

#: Uses of such functions up to which a module has them in place: a walk may hold as many.
_FEW = 48


def many(ops: Iterable[Op]) -> bool:
    """Whether ops use so many functions that they are called."""
    return sum(op.defn.name in FUNCTIONS for op in ops) > _FEW


def written(name: str, v: Vectors, args: Sequence[Reg]) -> Reg:
    """The value of a function of `FUNCTIONS`: its code in place, or a call of it where `Text.sparing` asks for that."""
    if not v.text.sparing or v.width == 1:
        return FUNCTIONS[name](v, *args)
    own, text, declares, needs = _function(name, len(args), v.width, v.single, v.quick, machine())
    v.text.needs |= {**needs, own: text}
    v.text.declares |= declares
    return v.text.let(v.type, f"call {v.type} @{own}({', '.join(map(str, args))})")


@functools.cache
def _function(
    name: str, count: int, width: int, single: bool, quick: bool, host: Machine
) -> tuple[str, str, frozenset[str], dict[str, str]]:
    """Its name and text for the processor that code is made for (`host`), and what that declares and needs."""
    own = f"{name}_{'f32' if single else 'f64'}x{width}{'_quick' if quick else ''}"
    type = Vectors(Text("", []), width, single=single).type
    text = Text(own, [(type, f"x{i}") for i in range(count)], f"internal {type}", "noinline ")
    v = Vectors(text, width, single=single, quick=quick)
    text.ret(str(FUNCTIONS[name](v, *[Reg(f"%x{i}", type) for i in range(count)])))
    return own, str(text), frozenset(text.declares), text.needs
