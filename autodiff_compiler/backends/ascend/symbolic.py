"""Programs for sizes that only a call knows: their formulas are evaluated at its begin, then operators are chosen.

Which operators run depends on sizes: none is given an empty operand, one of size 1 is broadcast, windows and scans are
an operator per step, CANN refuses some lengths.  So a call gets what a compilation for its sizes alone would run, and
only what comes before (the frontend, derivatives, passes) is done once for all sizes.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ... import escape
from ...depth import deep
from ...errors import InternalCompilerError
from ...ir.core import Module, Value
from ...ir.failure import stage
from ...ir.known_sizes import with_known_sizes
from ...ir.sizes import Dim, Symbol, linear_in, symbols_of
from ...ir.types import TensorType
from ...locks import Lock
from ...whole_files import write_text
from .program import AscendProgram

#: Of how many calls' sizes a program keeps the operators.
KEPT = 64
#: What is said of a program before it is called is said for this size, or the nearest one that a symbol may have.
_EXAMPLE = 16


class SymbolicProgram:
    """A compiled module with symbolic sizes, called with arrays of any: see `AscendProgram`.

    `compiled` makes the program for known sizes; those of the `KEPT` last ones are kept.
    """

    def __init__(self, module: Module, compiled: Callable[[Module], AscendProgram]) -> None:
        self._module, self._compiled = module, compiled
        self.name = module.entry.name
        self.filename = f"<ascend program {escape.line(self.name)}>"
        self.run = self
        self.overwrites: tuple[int, ...] = ()
        self._places = _places(module.entry.args)
        #: by the values of the symbols, the least recently used first
        self._programs: OrderedDict[tuple[int, ...], AscendProgram] = OrderedDict()
        self._lock = Lock()

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self._at(tuple([_value(s, places, arrays) for s, places in self._places.items()]))(*arrays)

    def _at(self, values: tuple[int, ...]) -> AscendProgram:
        """The program for these values of the symbols."""
        with self._lock:
            found = self._programs.get(values)
            if found is None:
                found = self._made(values)
                while len(self._programs) >= KEPT:
                    self._programs.popitem(last=False)
                self._programs[values] = found
            self._programs.move_to_end(values)
            return found

    @deep
    def _made(self, values: tuple[int, ...]) -> AscendProgram:
        with stage("backend", self._module):
            return self._compiled(_at(self._module, dict(zip(self._places, values, strict=True))))

    @property
    def source(self) -> str:
        """The sequence of operators for the sizes of the last call; before there was one, for an example."""
        with self._lock:
            values = next(reversed(self._programs), None)
        if values is None:
            values = tuple(map(_example, self._places))
            program = self._made(values)
        else:
            program = self._at(values)
        sizes = ", ".join(f"{s} = {n}" for s, n in zip(self._places, values, strict=True))
        return escape.line(f"# a sequence of operators for each size, here for {sizes}") + f"\n{program.source}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the sequence of operators as text; it is for reading."""
        write_text(path, self.source)


# ------------------------------------------------------------------------------------------------ values of symbols
#: Where a symbol is found: the argument, its axis, and what the size there is times it and besides.
_Place = tuple[int, int, int, int, int]


def _places(args: Sequence[Value]) -> dict[Symbol, list[_Place]]:
    """The symbols in the types of a function's arguments, each with where calls tell it."""
    shapes = [(i, x.type.shape) for i, x in enumerate(args) if isinstance(x.type, TensorType)]
    found: dict[Symbol, list[_Place]] = {s: [] for _, shape in shapes for d in shape for s in symbols_of(d)}
    for i, shape in shapes:
        for axis, size in enumerate(shape):
            one = linear_in(size) if isinstance(size, Dim) else None
            if one is not None:
                found[one[0]].append((i, len(shape), axis, *one[1:]))
    missing = [s.name for s, places in found.items() if not places]
    if missing:
        raise InternalCompilerError(
            f"no argument has a dimension that tells the size {', '.join(missing)}, which the types of others need"
        )
    return found


def _value(s: Symbol, places: Sequence[_Place], arrays: Sequence[Any]) -> int:
    """What a symbol is in a call; the least that it can be where all that have it are undefined."""
    for i, ndim, axis, factor, more in places:
        shape = getattr(arrays[i], "shape", ())
        if len(shape) == ndim:
            return int(shape[axis] - more) // factor
    return s.low


def _example(s: Symbol) -> int:
    return max(s.low, min(_EXAMPLE, s.high) if isinstance(s.high, int) else _EXAMPLE)


def example_of(module: Module) -> Module:
    """A module at sizes that calls may have; one of known sizes is its own."""
    if not module.has_open_sizes:
        return module
    return _at(module, {s: _example(s) for s in _places(module.entry.args)})


def _at(module: Module, values: Mapping[Symbol, int]) -> Module:
    """A module at known sizes; arrays that its lowering adds are its own."""
    made = with_known_sizes(module, values)
    return replace(made, constants=dict(made.constants))
