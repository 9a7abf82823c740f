"""Calls that are only looked at: of types that are written, whose sizes may be symbolic, and of symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import CompileError
from ..frontend.lower import Options
from ..ir.sizes import Dim, evaluate, symbols_of
from ..ir.types import Shape
from ..runtime.host import TensorSpec
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import parts, with_parts
from .call_sizes import Sizes
from .specialised import Specialised, specialise

#: What a compilation raises where it needs sizes that are not known, or cannot do what is asked of it at all.
_RAISED = (CompileError, TypeError, ValueError, IndexError)
#: What symbolic sizes are in a call that is only looked at: different from each other, and divided by few numbers.
_EXAMPLES = (37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


class StandIns:
    """Tensors of the same types, without memory, in the place of TensorSpecs: `made`, those of one call.

    Symbolic sizes are numbers there: `values`, by the names of the symbols.
    """

    def __init__(self) -> None:
        self.made: list[Tensor] = []
        self.values: dict[str, int] = {}
        #: the shapes as they were written, by the ids of the Tensors
        self._shapes: dict[int, Shape] = {}

    def of(self, tree: Any, _inside: tuple[int, ...] = ()) -> Any:
        """A structure of arguments with Tensors for its TensorSpecs."""
        if isinstance(tree, TensorSpec):
            return self._tensor(tree)
        items = None if id(tree) in _inside else parts(tree)
        if items is None:
            return tree
        found = [self.of(x, (*_inside, id(tree))) for x in items]
        return tree if all(x is y for x, y in zip(items, found, strict=True)) else with_parts(tree, found)

    def sizes(self, leaves: Iterable[Tensor]) -> Sizes:
        """The sizes of Tensors, as they were written where they stand for a type; ValueError where no call has them."""
        return _sizes([self._shapes.get(id(x), x.shape) for x in leaves], self.values)

    def _tensor(self, spec: TensorSpec) -> Tensor:
        for s in (s for size in spec.shape for s in symbols_of(size)):
            if s.name not in self.values:
                number = len(self.values)
                self.values[s.name] = _EXAMPLES[number] if number < len(_EXAMPLES) else 100 + number
        shape = [evaluate(size, self.values) for size in spec.shape]
        self.made.append(wrap(np.broadcast_to(np.zeros((), spec.dtype.numpy), shape)))
        self._shapes[id(self.made[-1])] = spec.shape
        return self.made[-1]


def _sizes(shapes: Sequence[Shape], values: Mapping[str, int]) -> Sizes:
    """The sizes for calls of shapes that have symbols, compiled for a call in which they are `values`.

    ValueError where a symbol is nowhere alone, so that no call would say what it is.
    """
    found = Sizes(shapes, values)
    alone = {s.name for s in found.symbols}
    for name in values:
        if name not in alone:
            raise ValueError(f"what the size {name} is cannot be told from {', '.join(_shown(s) for s in shapes)}")
    return found


def _check_still_open(shapes: Sequence[Shape], sizes: Sizes | None) -> None:
    """ValueError where a size that was to be symbolic had to be known: the form is of no use for other sizes."""
    for i, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            if isinstance(size, Dim) and (sizes is None or not isinstance(sizes.shapes[i][axis], Dim)):
                raise ValueError(f"{size} had to be a number")


def _shown(shape: Shape) -> str:
    return f"[{','.join(map(str, shape))}]"


def with_symbols(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, name: str, sizes: Sizes
) -> Specialised:
    """A function compiled for types with symbols; ValueError where it can be for numbers only."""
    try:
        made = specialise(fn, args, kwargs, options, name, sizes)
        _check_still_open(sizes.shapes, made.sizes)
        return made
    except _RAISED as error:
        try:
            specialise(fn, args, kwargs, options, name)
        except _RAISED:
            raise error from None  # whatever the sizes are
        why = str(error).partition("\n")[0]
        raise ValueError(f"sizes must be known, write numbers for {', '.join(sizes.values)}: {why}") from None


def with_open_sizes(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, name: str, sizes: Sizes | None
) -> Specialised:
    """A function compiled for symbolic sizes, if there are any, unless it can be for known ones only."""
    try:
        return specialise(fn, args, kwargs, options, name, sizes)
    except _RAISED:
        if sizes is None:
            raise
        return specialise(fn, args, kwargs, options, name)
