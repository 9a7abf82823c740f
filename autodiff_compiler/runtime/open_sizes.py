"""The placeholder for the array of a Tensor that only describes inputs of unknown sizes."""

from __future__ import annotations

from typing import Any, NoReturn

from ..dtypes import DType

__all__ = ["OpenSizes"]


class OpenSizes:
    """A shape, with -1 for each open size (-2 alone: not even the rank is known), and an element type.

    It has of an ndarray only what describes it; whatever else is asked of it is a ValueError.
    """

    def __init__(self, shape: tuple[int | None, ...] | None, dtype: DType) -> None:
        self.shape = (-2,) if shape is None else tuple([-1 if n is None else n for n in shape])
        self.dtype = dtype.numpy
        self.ndim = len(self.shape)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ValueError(
            f"a Tensor of open sizes {list(self.shape)} has no elements: it only describes inputs, for `set_inputs`"
        )

    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __getattr__ = __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __str__ = _refuse
