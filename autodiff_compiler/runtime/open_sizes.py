"""Descriptions of inputs of unknown sizes: the placeholder for the array of such a Tensor, and a size."""

from __future__ import annotations

from typing import Any, NoReturn

from ..dtypes import DType

__all__ = ["OpenSizes", "Symbol"]


class Symbol:
    """A size in a description of inputs: ``divisor * k + remainder`` for an integer k, from `min` on up to `max`.

    A `max` of 0 is none.  Axes that are described by one Symbol have the same size if it is `unique`; else each has its
    own.  MindSpore's other arguments are taken and change nothing.

    TypeError: a number that is no int, a `unique` that is no bool.  ValueError: `max` below `min`, a `divisor` or `min`
    below 1, a `remainder` that is negative.

    >>> from autodiff_compiler import Tensor, float32
    >>> Tensor(shape=[Symbol(max=64, divisor=8), None], dtype=float32).shape
    (-1, -1)
    """

    def __init__(
        self, max: int = 0, min: int = 1, divisor: int = 1, remainder: int = 0, unique: bool = False, **kwargs: Any
    ) -> None:
        given = {"max": max, "min": min, "divisor": divisor, "remainder": remainder}
        for name, number in given.items():
            if type(number) is not int:
                raise TypeError(f"`{name}` of a Symbol is an int, not of type {type(number).__name__}")
            least = 1 if name in ("min", "divisor") else 0
            if number < least:
                raise ValueError(f"`{name}` of a Symbol is at least {least}, not {number}")
        if type(unique) is not bool:
            raise TypeError(f"`unique` of a Symbol is a bool, not of type {type(unique).__name__}")
        if max and max < min:
            raise ValueError(f"a Symbol cannot be at least {min} and at most {max}")
        self.max, self.min, self.divisor, self.remainder, self.unique = max, min, divisor, remainder, unique

    def __repr__(self) -> str:
        return (
            f"Symbol(max={self.max}, min={self.min}, divisor={self.divisor}, remainder={self.remainder}, "
            f"unique={self.unique})"
        )


class OpenSizes:
    """A shape, with -1 for each open size (-2 alone: not even the rank is known), and an element type.

    `sizes` has them as they were described: an int, None or a `Symbol`.

    It has of an ndarray only what describes it; whatever else is asked of it is a ValueError.
    """

    def __init__(self, shape: tuple[int | Symbol | None, ...] | None, dtype: DType) -> None:
        self.sizes = shape
        self.shape = (-2,) if shape is None else tuple([n if isinstance(n, int) else -1 for n in shape])
        self.dtype = dtype.numpy
        self.ndim = len(self.shape)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ValueError(
            f"a Tensor that is made from a shape, {list(self.shape)}, and a dtype alone has no elements: it describes "
            "inputs, for `set_inputs`; `init=0` fills it"
        )

    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __getattr__ = __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __str__ = _refuse
