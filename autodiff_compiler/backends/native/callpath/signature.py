"""What the entry of a compiled module takes and gives, and where the module finds objects of this process."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....dtypes import BY_NAME, DType
from ....locks import remembered
from ....runtime.parameter import Parameter
from ....runtime.storage import holders
from ....runtime.tensor import Tensor
from .. import pages
from ..frames import HEADER, POOL, SHARED_FROM, functions
from .abi import slot_offset

__all__ = ["Argument", "Context", "Form", "Result", "Signature"]


@dataclass(frozen=True)
class _Array:
    dtype: DType
    shape: tuple[int, ...] = ()

    @property
    def kind(self) -> tuple[DType, tuple[int, ...]]:
        return self.dtype, self.shape

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Argument(_Array):
    """An array that main reads: C-contiguous, of this dtype and shape.

    It is the next one that the caller gives, or what the context holds under the name `captured`.  Where there are
    Tensors, it may be a Parameter, unless it is `plain`, or an ndarray itself, if it is an `array`.
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
    """How what a call returns is put together: a container of forms, or one of what there is.

    `kind`: a new "tuple", "list" or "dict" of `items`; the "result" or "argument" of a `number`; a new result as an
    "array", also where there are Tensors, which stands nowhere else; or a "constant", which the context holds under its
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
    """How a module's main is called: ``i32 @main(ptr %frame, ptr %argument..., ptr %new_result...)``.

    `frame_bytes`: of the frame with its header (see `frames`); 0 if main gets a null pointer.  `stacks`: how many
    growable stacks stand in its table.  `tensors`: whether arguments and results are Tensors.  `bare`: whether the one
    result is returned itself, not a tuple with it; `form`: what is returned in place of either.  `release_gil`: whether
    other threads run during main.  `calls_python`: whether Python code may run in main while it holds the lock;
    `resumes`: whether main goes on after that, so not only where it raises.
    `watched`: a table, whose address is "watched" in the context, has pairs of the address of a word and what the word
    must be, up to an address of zero; else Python takes the call (with `words.BY_VALUE` on the address, the word may
    point to another object that is equal, with `words.BYTES` it points to bytes that must be those of a `bytes`
    object); and "calls" in the context counts the calls that Python did not take.  `poison`: frames and new results
    are filled with NaN before main, and whether main wrote behind its frame is checked afterwards.
    """

    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    frame_bytes: int = 0
    stacks: int = 0
    tensors: bool = False
    bare: bool = False
    form: Form | None = None
    release_gil: bool = False
    calls_python: bool = False
    resumes: bool = False
    watched: bool = False
    poison: bool = False

    def __post_init__(self) -> None:
        if self.bare and len(self.results) != 1:
            raise ValueError(f"{len(self.results)} results cannot be returned without a tuple")
        if self.frame_bytes < (HEADER + 16 * self.stacks if self.frame_bytes or self.stacks else 0):
            raise ValueError(f"a frame of {self.frame_bytes} bytes has no room for its header and {self.stacks} stacks")
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
        return self.frame_bytes > SHARED_FROM and not self.poison

    @remembered
    def fresh(self) -> tuple[int, ...]:
        """The numbers of the results that are new arrays."""
        return tuple(i for i, r in enumerate(self.results) if r.argument is None)

    @remembered
    def rivals(self) -> tuple[tuple[int, int], ...]:
        """Pairs of arguments that must share no memory, because one of them is written over."""
        sized = [i for i, a in enumerate(self.arguments) if a.nbytes]
        first = [i for i in sized if i in self.overwritten]
        return tuple((i, j) for i in first for j in sized if j != i and (j not in self.overwritten or j > i))


class Context:
    """The pointers in a module's `@context`, by names that mean the same in every process.

    The names of what the entry needs are known here; what others there are, their owner fills in.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._places = {name: i for i, name in enumerate(names)}

    @property
    def names(self) -> list[str]:
        """What the context holds, in order."""
        return list(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def place(self, name: str) -> str:
        """Where the pointer of that name is found, as LLVM writes it; a new place for a new name.

        >>> context = Context(["none"]); context.place("ndarray"), context.names
        ('getelementptr (i8, ptr @context, i64 8)', ['none', 'ndarray'])
        """
        return f"getelementptr (i8, ptr @context, i64 {8 * self.number(name)})"

    def number(self, name: str) -> int:
        """The number of that place."""
        return self._places.setdefault(name, len(self._places))

    def pointers(self, others: Mapping[str, int] | None = None) -> list[int]:
        """The contents in this process; KeyError for a name that is unknown here and not among `others`."""
        given = others or {}
        return [given[name] if name in given else _pointer(name) for name in self._places]


#: Objects that live as long as the process, by their names in a context.
_OBJECTS: dict[str, Any] = {
    "ndarray": np.ndarray, "none": None, "zero": 0, "one": 1, "SystemError": SystemError, "MemoryError": MemoryError,
    "IndexError": IndexError, "tensor": Tensor, "parameter": Parameter, "float": float,
}  # fmt: skip
#: Functions of `frames`.
_FUNCTIONS = {"frame_take", "frame_give", "frame_poison", "frame_intact", "fill"}
#: By the number of a type: of another one with the same elements, as two of C's integers have the same width.
_SAME: dict[int, int] = {}
for _a, _b in ("il", "lq", "IL", "LQ"):
    if np.dtype(_a) == np.dtype(_b):
        _SAME |= {np.dtype(_a).num: np.dtype(_b).num, np.dtype(_b).num: np.dtype(_a).num}
_TP_ALLOC = 47  # the number of the slot in CPython's stable ABI


def _pointer(name: str) -> int:
    """What stands in the context under a name of the entry's."""
    if name in _OBJECTS:
        return id(_OBJECTS[name])
    if name in ("frames", "calls"):  # the list of free frames: none yet
        return 0
    if name == "pool":
        return ctypes.addressof(POOL)
    if name == "live":
        return id(holders) + slot_offset(type(holders), "live")
    if name == "tensor_alloc":
        return _slot_of(Tensor, _TP_ALLOC)
    if name in _FUNCTIONS:
        return functions().address(name)
    if name == "array_new":
        return pages.functions().address(name)
    kind, _, dtype = name.partition(" ")
    found = BY_NAME[dtype].numpy
    if kind == "descr":
        return id(found)
    if kind == "numbers":
        return found.num | _SAME.get(found.num, found.num) << 32
    raise KeyError(name)


def _slot_of(cls: type, number: int) -> int:
    get = ctypes.pythonapi.PyType_GetSlot
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    found: int = get(cls, number)
    return found
