"""The inputs that a derivative is taken by: Tensors among the arguments, alone or in containers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..errors import GradientError
from ..frontend.lower import name_of_argument
from ..frontend.variables.structure import flatten, map_leaves, structure
from ..frontend.variables.values import is_marked, unmarked
from ..runtime.mutable import kind_of
from ..runtime.records import is_named_tuple
from ..source import Loc

__all__ = [
    "Inputs",
    "as_tuple",
    "directions",
    "flag",
    "holds_variables",
    "is_one_of_all",
    "is_several",
    "no_variable",
    "tangents_given",
    "with_keywords",
]

IsTensor = Callable[[Any], bool]


def flag(name: str, value: Any) -> bool:
    """A bool that says how to differentiate; TypeError for everything else."""
    if not isinstance(value, bool):
        kind = "a bool of NumPy" if isinstance(value, np.bool_) else errors.kind_of(value)
        raise TypeError(f"`{name}` must be a bool, not {kind}")
    return value


def with_keywords(fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int]) -> Sequence[Any]:
    """The positional arguments up to the last of `positions`: those given by keyword are taken out of `kwargs`."""
    for i in range(len(args), max(positions, default=-1) + 1):
        name = name_of_argument(fn, i)
        if name not in kwargs:
            break
        args = (*args, kwargs.pop(name))
    return args


def holds_variables(x: Any, is_tensor: IsTensor) -> bool:
    """Whether an argument is a Tensor, or a container with Tensors in it."""
    return any(map(is_tensor, flatten(x)))


def is_one_of_all(x: Any, is_tensor: IsTensor) -> bool:
    """Whether `GradOperation(get_all=True)` differentiates by an argument: as in MindSpore, of the containers only by
    those marked as `mutable`."""
    return is_tensor(x) or (is_marked(x) and holds_variables(x, is_tensor))


def no_variable(fn: Any, position: int, x: Any, place: Loc | None) -> GradientError:
    """The error for an argument without Tensors, the only one asked for."""
    number = f", as `Tensor({float(x)!r})`" if type(x) in (int, float) else ""
    return GradientError(
        f"the derivative by argument {position}, '{name_of_argument(fn, position)}', is asked for, but it is of "
        f"type {kind_of(x).__name__}: only the derivative by a Tensor can be taken",
        loc=place,
        hint=f"make it a Tensor{number}, or choose another grad_position",
    )


class Inputs:
    """The arguments at the positions `chosen`; `tensors` are the Tensors in them, from left to right."""

    def __init__(self, args: Sequence[Any], chosen: Sequence[int], is_tensor: IsTensor) -> None:
        self._args, self.chosen, self._is_tensor = args, chosen, is_tensor
        #: whether every one of them is a Tensor itself
        self.whole = all(is_tensor(args[p]) for p in chosen)
        self.tensors: list[Any] = [args[p] for p in chosen]
        if not self.whole:
            self.tensors = [x for part in self.tensors for x in flatten(part) if is_tensor(x)]

    def arguments(self, tensors: Sequence[Any]) -> list[Any]:
        """All arguments, with other Tensors in the place of these."""
        given, found = list(self._args), iter(tensors)
        for p in self.chosen:
            given[p] = next(found) if self.whole else self._with(given[p], found, lambda x: x)
        return given

    def by_position(self, gradients: Sequence[Any]) -> dict[int, Any]:
        """The gradients of the Tensors, in the structure of their arguments; what is no Tensor there has None."""
        found = iter(gradients)
        if self.whole:
            return dict(zip(self.chosen, found, strict=True))
        return {p: unmarked(self._with(self._args[p], found, lambda x: None)) for p in self.chosen}

    def _with(self, x: Any, found: Iterator[Any], other: Callable[[Any], Any]) -> Any:
        return map_leaves(lambda leaf: next(found) if self._is_tensor(leaf) else other(leaf), x)

    def of_tensors(self, fn: Any) -> Any:
        """The function of the Tensors alone, for eager code."""
        return lambda *tensors: fn(*self.arguments(tensors))

    def taken_apart(self, fn: Any) -> tuple[Any, Sequence[Any], Sequence[int]]:
        """A function, its arguments and the positions of the Tensors among them, for compiled code."""
        if self.whole:
            return fn, self._args, self.chosen
        return _TakenApart(fn, self), tuple(self.tensors), range(len(self.tensors))


# ---------------------------------------------------------------------------------------------------- tangents
def as_tuple(x: Any) -> tuple[Any, ...]:
    """Inputs, or tangents, given bare or in a tuple or list; a container of another kind is one of them."""
    return tuple(x) if is_several(x) else (x,)


def is_several(x: Any) -> bool:
    """Whether inputs are given in a tuple or list, which is no NamedTuple and not marked as `mutable`."""
    return isinstance(x, tuple | list) and not is_named_tuple(x) and not is_marked(x)


def tangents_given(inputs: Any, v: Any) -> tuple[Any, ...]:
    """The tangents of `inputs`, in a tuple."""
    return (v,) if is_marked(inputs) else as_tuple(v)


def directions(inputs: Sequence[Any], tangents: Sequence[Any], is_tensor: IsTensor) -> tuple[Inputs, list[Any]]:
    """The Tensors of the inputs, and a tangent for each.

    GradientError: there are others than Tensors and containers of them, or tangents of another structure.
    """
    if len(inputs) != len(tangents):
        raise GradientError(f"{len(tangents)} tangents were given for {len(inputs)} inputs")
    along = []
    for x, t in zip(inputs, tangents, strict=True):
        if not holds_variables(x, is_tensor):
            raise GradientError("a tangent is taken along Tensors: inputs and `v` must be Tensors")
        if structure(x) != structure(t):
            raise GradientError("the tangent of a container must be a container of the same structure")
        along += [of_leaf for leaf, of_leaf in zip(flatten(x), flatten(t), strict=True) if is_tensor(leaf)]
    if not all(map(is_tensor, along)):
        raise GradientError("a tangent is taken along Tensors: inputs and `v` must be Tensors")
    return Inputs(inputs, range(len(inputs)), is_tensor), along


class _TakenApart:
    def __init__(self, fn: Any, inputs: Inputs) -> None:
        self.fn, self._inputs = fn, inputs

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return ctx.call(self.fn, self._inputs.arguments(args), kwargs)
