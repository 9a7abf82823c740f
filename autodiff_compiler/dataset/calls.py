"""Calls of the user's functions on columns of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import kind_of
from .rows import distinct, names, places

__all__ = ["Called", "operations_of"]


def operations_of(operations: Any) -> Callable[..., Any]:
    """One function for a list of them; TypeError, ValueError for what is none."""
    listed = list(operations) if isinstance(operations, list | tuple) else [operations]
    if not listed:
        raise ValueError("`operations` is empty")
    for operation in listed:
        if not callable(operation):
            raise ValueError(f"`operations` must be a function or a list of them, not {kind_of(operation)}")
    return listed[0] if len(listed) == 1 else Chain(listed)


class Chain:
    """The composition of functions; a tuple that one returns becomes the arguments of the next."""

    def __init__(self, operations: Sequence[Callable[..., Any]]) -> None:
        self._operations = list(operations)
        self.__name__ = " > ".join(_name(operation) for operation in operations)

    def __call__(self, *values: Any) -> Any:
        given: Any = values
        for operation in self._operations:
            given = operation(*given) if isinstance(given, tuple) else operation(given)
        return given


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


class Called:
    """A function with its input columns and its output columns."""

    def __init__(
        self,
        part: Any,
        there: Sequence[str],
        function: Callable[..., Any],
        input_columns: Any,
        output_columns: Any,
        all_columns: bool = False,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a function is wanted, not {kind_of(function)}")
        if input_columns is None or input_columns == []:
            self._inputs = list(there) if all_columns else list(there[:1])
        else:
            self._inputs = names("input_columns", input_columns)
        self._part, self._function = part, function
        self._places = places(there, self._inputs, "`input_columns`")
        self._outputs = list(self._inputs) if output_columns in (None, []) else names("output_columns", output_columns)
        self._told = [f"what {self.label()} gave for {name!r}" for name in self._outputs]
        self.columns, self._order = self._result(there)
        distinct(self.columns, "with these `output_columns` the rows have column")

    def _result(self, there: Sequence[str]) -> tuple[list[str], list[tuple[bool, int]]]:
        """The columns after the call, and where each comes from: from the results, or from the row."""
        if len(self._outputs) == len(self._inputs):
            own = dict(zip(self._places, range(len(self._places)), strict=True))
            order = [(i in own, own.get(i, i)) for i in range(len(there))]
        else:
            rest = [(False, i) for i in range(len(there)) if i not in self._places]
            order = [*((True, i) for i in range(len(self._outputs))), *rest]
        return [self._outputs[i] if made else there[i] for made, i in order], order

    def label(self) -> str:
        return _name(self._function)

    def value(self, row: Sequence[Any], number: int, what: str, *more: Any) -> Any:
        """The function's result for a row; RuntimeError if it raises."""
        try:
            return self._function(*[row[i] for i in self._places], *more)
        except Exception as error:
            raise RuntimeError(
                f"{what} {number} at {self._part.chain()}: {type(error).__name__} in {self.label()}: {error}"
            ) from error

    def __call__(
        self, row: Sequence[Any], number: int, what: str, *more: Any, convert: Callable[[Any, str], Any]
    ) -> list[Any]:
        """The row after the call; RuntimeError for a result that does not fit the output columns."""
        given = self.value(row, number, what, *more)
        several = isinstance(given, tuple) or (isinstance(given, list) and len(given) == len(self._outputs) > 1)
        made = tuple(given) if several else (given,)
        try:
            if len(made) != len(self._outputs):
                advice = "" if len(made) == 1 else "; name all of them in `output_columns`"
                raise RuntimeError(f"{self.label()} gave {len(made)} values for the columns {self._outputs}{advice}")
            made = tuple([convert(value, told) for value, told in zip(made, self._told, strict=True)])
        except RuntimeError as error:
            raise RuntimeError(f"{what} {number} at {self._part.chain()}: {error}") from None
        return [made[i] if from_call else row[i] for from_call, i in self._order]
