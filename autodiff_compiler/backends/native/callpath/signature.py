"""The signature of a compiled module's entry: arguments, results, and how main is called."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ....dtypes import DType
from ....ir.open_shapes import OpenShapes, Relation
from ....ir.sizes import Size
from ....ir.types import Shape
from ....locks import remembered
from ..memory.frame_pool import HEADER, SHARED_FROM


@dataclass(frozen=True)
class _Array:
    dtype: DType
    shape: Shape = ()

    @property
    def kind(self) -> tuple[DType, Shape]:
        return self.dtype, self.shape

    @property
    def nbytes(self) -> Size:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Argument(_Array):
    """An array that main reads: C-contiguous, of this dtype and shape.

    It is the caller's next argument, or what the context holds under the name `captured`.  Where arguments are Tensors,
    this one may be a Parameter unless it is `plain`, and is an ndarray if it is an `array`.
    """

    captured: str | None = None
    plain: bool = False
    array: bool = False


@dataclass(frozen=True)
class Result(_Array):
    """An array that main writes: a new one, or the `argument` of that number, which it writes over."""

    argument: int | None = None


@dataclass(frozen=True)
class Form:
    """The structure of what a call returns: a container of forms, or a leaf.

    `kind`: a new "tuple", "list" or "dict" of `items`; the "result" or "argument" of a `number`; an "array", a new
    result that is not wrapped in a Tensor and stands nowhere else; or a "constant", which the context holds under its
    `name`.  `keys`: those of a dict, by their names in the context.
    """

    kind: str
    number: int = 0
    name: str = ""
    items: tuple[Form, ...] = ()
    keys: tuple[str, ...] = ()

    def leaves(self) -> Iterator[Form]:
        """The forms in it that have no items."""
        if not self.items:
            yield self
        for item in self.items:
            yield from item.leaves()


@dataclass(frozen=True)
class Signature:
    """How a module's main is called: ``i32 @main(ptr %frame, ptr %argument..., ptr %new_result..., i64 %symbol...)``.

    The symbols are those of the arguments' shapes, in the order of `shapes.definitions`; calls for which one of the
    `relations` does not hold are not for this module.
    `frame_bytes`: of the frame with its header (see `memory/frame_pool.py`); 0 if main gets a null pointer.
    `tensors`: whether arguments and results are Tensors.  `bare`: whether the one result is returned itself, not a
    tuple with it; `form`: what is returned instead of either.  `release_gil`: whether other threads run during
    main.  `calls_python`: whether Python code may run in main with the lock held; `resumes`: whether main goes on
    after that (False: it only raises).
    `watched`: the entry checks a guard table, whose address is "watched" in the context: pairs of the address of a
    word and what it must be, up to an address of 0 (`memory_guards.BY_VALUE` and `BYTES` are flags of addresses);
    and it counts in "calls" the calls that pass.  `poison`: frames and new results are filled with NaN before main,
    and whether main wrote behind its frame is checked afterwards.
    """

    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    frame_bytes: Size = 0
    tensors: bool = False
    bare: bool = False
    form: Form | None = None
    release_gil: bool = False
    calls_python: bool = False
    resumes: bool = False
    watched: bool = False
    poison: bool = False
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        if self.bare and len(self.results) != 1:
            raise ValueError(f"{len(self.results)} results cannot be returned without a tuple")
        if isinstance(self.frame_bytes, int) and 0 < self.frame_bytes < HEADER:
            raise ValueError(f"a frame of {self.frame_bytes} bytes has no room for its header")
        for r in self.results:
            if r.argument is not None and r.kind != self.arguments[r.argument].kind:
                raise ValueError(f"a result {r} cannot be argument {r.argument}: {self.arguments[r.argument]}")

    @remembered
    def overwritten(self) -> frozenset[int]:
        """The numbers of the arguments that main writes over."""
        return frozenset(r.argument for r in self.results if r.argument is not None)

    @property
    def count(self) -> int:
        """How many arguments the caller gives."""
        return sum(a.captured is None for a in self.arguments)

    @property
    def shares_frames(self) -> bool:
        """Whether its frames come from the pool of the process."""
        return not isinstance(self.frame_bytes, int) or (self.frame_bytes > SHARED_FROM and not self.poison)

    @remembered
    def shapes(self) -> OpenShapes:
        """The shapes of the arguments."""
        return OpenShapes([a.shape for a in self.arguments])

    @remembered
    def fresh(self) -> tuple[int, ...]:
        """The numbers of the results that are new arrays."""
        return tuple(i for i, r in enumerate(self.results) if r.argument is None)

    @remembered
    def alias_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of arguments that must share no memory, because one of them is overwritten."""
        sized = [i for i, a in enumerate(self.arguments) if a.nbytes]
        first = [i for i in sized if i in self.overwritten]
        return tuple((i, j) for i in first for j in sized if j != i and (j not in self.overwritten or j > i))
