"""What a derivative is taken by: Tensors among the arguments, alone or in containers marked as `mutable`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import GradientError, GradientWarning, warn_once
from ..frontend.lower import name_of_argument
from ..frontend.values import flatten, map_leaves
from ..runtime.mutable import Mutable, kind_of, plain
from ..source import Loc, calling_place

__all__ = ["Inputs", "holds_variables", "refuse_constant"]

IsTensor = Callable[[Any], bool]


def holds_variables(x: Any, is_tensor: IsTensor) -> bool:
    """Whether an argument is a Tensor, or a mutable container with Tensors in it."""
    return is_tensor(x) or (isinstance(x, Mutable) and any(map(is_tensor, flatten(x))))


def refuse_constant(fn: Any, position: int, x: Any, is_tensor: IsTensor, place: Loc | None) -> None:
    """GradientError for an argument, the only one asked for, that no derivative can be taken by.

    A plain container with Tensors in it has the gradient ``()``, as in MindSpore: a warning says what to do about it.
    """
    name = name_of_argument(fn, position)
    if any(map(is_tensor, flatten(x))):
        text = (
            f"argument '{name}' is a plain {type(x).__name__}, so its gradient is (): "
            f"pass `mutable({name})` to get one for every Tensor in it"
        )
        warn_once(GradientWarning(text), place or calling_place())
        return
    raise GradientError(
        f"the derivative by argument {position}, '{name}', is asked for, but it is of type {kind_of(x).__name__}: "
        "only the derivative by a Tensor can be taken",
        loc=place,
        hint="make it a Tensor, or choose another grad_position",
    )


class Inputs:
    """The arguments at the positions `chosen`; `tensors` are the Tensors in them, from left to right."""

    def __init__(self, args: Sequence[Any], chosen: Sequence[int], is_tensor: IsTensor) -> None:
        self._args, self.chosen, self._is_tensor = args, chosen, is_tensor
        #: whether every one of them is a Tensor itself
        self.whole = not any(isinstance(args[p], Mutable) for p in chosen)
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
        """The gradients of the Tensors, in the structure of their arguments; what is no Tensor there has ``()``."""
        found = iter(gradients)
        if self.whole:
            return dict(zip(self.chosen, found, strict=True))
        return {p: plain(self._with(self._args[p], found, lambda x: ())) for p in self.chosen}

    def _with(self, x: Any, found: Iterator[Any], other: Callable[[Any], Any]) -> Any:
        return map_leaves(lambda leaf: next(found) if self._is_tensor(leaf) else other(leaf), x)

    def taken_apart(self, fn: Any) -> Any:
        """The function of the Tensors alone, for compiled code."""
        return _TakenApart(fn, self)


class _TakenApart:
    def __init__(self, fn: Any, inputs: Inputs) -> None:
        self.fn, self._inputs = fn, inputs

    def __graph_call__(self, lw: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return lw.call(self.fn, self._inputs.arguments(args), kwargs)
