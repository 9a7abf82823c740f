"""Transforms of arrays for `Dataset.map`; each can also be called by itself.

They take what `map` passes (ndarrays), and also Tensors, numbers and lists, and return ndarrays.  Random ones draw from
the seed that was set; without one they differ from run to run.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import bool_, dtype_of
from ..errors import kind_of
from ..nn.arguments import number, positive
from .calls import Chain
from .config import Draws
from .rows import array_of

__all__ = [
    "Compose",
    "Concatenate",
    "Duplicate",
    "Fill",
    "Mask",
    "OneHot",
    "PadEnd",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "Relational",
    "Slice",
    "TypeCast",
]


class Transform:
    """The base of transforms of one array; a call on several returns a tuple."""

    def __call__(self, *values: Any) -> Any:
        if not values:
            raise ValueError(f"{type(self).__name__} takes an array")
        made = tuple([self.of(array_of(value, f"what {type(self).__name__} gets")) for value in values])
        return made[0] if len(made) == 1 else made

    def of(self, x: np.ndarray) -> Any:
        """The transform of one array."""
        raise NotImplementedError


def functions(given: Any) -> list[Callable[..., Any]]:
    """A list of functions; TypeError, ValueError."""
    if not isinstance(given, list | tuple):
        raise TypeError(f"`transforms` must be a list of functions, not {kind_of(given)}")
    if not given:
        raise ValueError("`transforms` is empty")
    for one in given:
        if not callable(one):
            raise TypeError(f"`transforms` must hold functions, not {kind_of(one)}")
    return list(given)


def share(name: str, value: Any) -> float:
    """A number from 0 to 1; TypeError, ValueError."""
    if not 0 <= number(name, value) <= 1:
        raise ValueError(f"`{name}` must be from 0 to 1, not {value}")
    return float(value)


class Compose(Chain):
    """The composition of functions; a tuple that one returns becomes the arguments of the next.

    >>> Compose([TypeCast("float32"), lambda x: x + 1])([1, 2])
    array([2., 3.], dtype=float32)
    """

    def __init__(self, transforms: list[Callable[..., Any]]) -> None:
        super().__init__(functions(transforms))
        self.transforms = self._operations


class TypeCast(Transform):
    """To another dtype, ours or NumPy's; floats are truncated when they become ints.

    >>> import autodiff_compiler as ms
    >>> TypeCast(ms.int32)([1.7, 2.2])
    array([1, 2], dtype=int32)
    """

    def __init__(self, data_type: Any) -> None:
        self._dtype = np.dtype(dtype_of(data_type).numpy)

    def of(self, x: np.ndarray) -> np.ndarray:
        return x.astype(self._dtype)


class OneHot(Transform):
    """Numbers of classes (ints of shape [] or [n]) as rows of 0 and 1: [num_classes] for one, else [n, num_classes].

    With `smoothing_rate` s the 1 is 1 - s and s / num_classes is added everywhere, in float64.  RuntimeError: other
    dtypes and shapes, numbers that are no class.

    >>> OneHot(3)([2, 0]).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        self._classes = positive("num_classes", num_classes)
        self._smoothing = share("smoothing_rate", smoothing_rate)

    def of(self, x: np.ndarray) -> np.ndarray:
        if x.dtype.kind not in "iu":
            raise RuntimeError(f"OneHot takes numbers of classes, ints, not {x.dtype}")
        if x.ndim > 1 and x.size != len(x):
            raise RuntimeError(f"OneHot takes one number or a list of them, not the shape {x.shape}")
        x = x.reshape(-1)
        if ((x < 0) | (x >= self._classes)).any():
            raise RuntimeError(
                f"OneHot has classes 0 to {self._classes - 1}, and gets {x[(x < 0) | (x >= self._classes)][0]}"
            )
        hot = (x[:, None] == np.arange(self._classes)).astype(x.dtype)
        if self._smoothing:
            hot = hot * (1 - self._smoothing) + self._smoothing / self._classes
        return hot[0] if len(hot) == 1 else hot


class Fill(Transform):
    """An array of the same shape and dtype that holds one value.

    >>> Fill(3)([1.0, 2.0])
    array([3., 3.])
    """

    def __init__(self, fill_value: Any) -> None:
        self._value = fill_value

    def of(self, x: np.ndarray) -> np.ndarray:
        if isinstance(self._value, str) != (x.dtype.kind == "U"):
            raise RuntimeError(f"Fill cannot put {self._value!r} into an array of {x.dtype}")
        return np.full(x.shape, self._value, np.array(self._value).dtype if x.dtype.kind == "U" else x.dtype)


class PadEnd(Transform):
    """An array of another shape: filled up with `pad_value` (None: 0 or an empty text) at the ends, or cut off there.

    None in `pad_shape` keeps a length.  RuntimeError: another number of dimensions.

    >>> PadEnd([4], -1)([1, 2])
    array([ 1,  2, -1, -1])
    """

    def __init__(self, pad_shape: list[int | None], pad_value: Any = None) -> None:
        if not isinstance(pad_shape, list | tuple):
            raise TypeError(f"`pad_shape` must be a list of ints, not {kind_of(pad_shape)}")
        self._shape = [None if n is None else positive("pad_shape", n) for n in pad_shape]
        self._value = pad_value

    def of(self, x: np.ndarray) -> np.ndarray:
        if x.ndim != len(self._shape):
            raise RuntimeError(f"PadEnd makes {len(self._shape)} dimensions, and gets the shape {x.shape}")
        full = [n if m is None else m for n, m in zip(x.shape, self._shape, strict=True)]
        x = x[tuple(map(slice, full))]
        value = ("" if x.dtype.kind == "U" else 0) if self._value is None else self._value
        return np.pad(x, [(0, m - n) for n, m in zip(x.shape, full, strict=True)], constant_values=value)


class Slice(Transform):
    """Parts along the first dimensions.

    Each is chosen by an int or a list of ints (which keep the dimension), a slice with a positive step, None (all), or
    ``...``.

    >>> Slice(slice(0, 2), 1)([[1, 2], [3, 4], [5, 6]])
    array([[2],
           [4]])
    """

    def __init__(self, *slices: Any) -> None:
        self._slices = []
        for part in slices:
            if isinstance(part, bool) or not isinstance(part, int | list | slice | type(None) | type(...)):
                raise TypeError(f"Slice takes ints, lists of ints, slices, None and ..., not {kind_of(part)}")
            if isinstance(part, slice) and part.step is not None and part.step < 1:
                raise ValueError(f"Slice takes steps from 1 on, not {part.step}")
            self._slices.append([part] if isinstance(part, int) else slice(None) if part is None else part)
        if not slices:
            raise ValueError("Slice needs to know which part")

    def of(self, x: np.ndarray) -> np.ndarray:
        parts = list(self._slices)
        if ... in [p for p in parts if not isinstance(p, list)]:
            i = next(i for i, p in enumerate(parts) if p is ...)
            parts[i : i + 1] = [slice(None)] * (x.ndim - len(parts) + 1)
        if len(parts) > x.ndim:
            raise RuntimeError(f"Slice has {len(parts)} parts, and gets the shape {x.shape}")
        try:
            for axis, part in enumerate(parts):
                x = np.take(x, part, axis) if isinstance(part, list) else x[(slice(None),) * axis + (part,)]
        except IndexError as error:
            raise RuntimeError(f"Slice: {error}") from None
        return x


class Relational(enum.IntEnum):
    """How `Mask` compares: EQ, NE, GT, GE, LT, LE."""

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


_COMPARED = {
    Relational.EQ: np.equal,
    Relational.NE: np.not_equal,
    Relational.GT: np.greater,
    Relational.GE: np.greater_equal,
    Relational.LT: np.less,
    Relational.LE: np.less_equal,
}


class Mask(Transform):
    """The elementwise comparison of an array with a constant by `operator`, in `dtype`.

    >>> Mask(Relational.GT, 2)([1, 2, 3]).tolist()
    [False, False, True]
    """

    def __init__(self, operator: Relational, constant: Any, dtype: Any = bool_) -> None:
        if not isinstance(operator, Relational):
            raise TypeError(f"`operator` must be a Relational, not {kind_of(operator)}")
        self._compare, self._constant = _COMPARED[operator], constant
        self._dtype = np.dtype(dtype_of(dtype).numpy)

    def of(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._compare(x, self._constant)).astype(self._dtype)


class Concatenate:
    """Arrays of one dimension as one, between `prepend` and `append`; `axis` is 0 or -1.

    RuntimeError: other dimensions, or several dtypes.

    >>> Concatenate(append=[9])([1, 2], [3])
    array([1, 2, 3, 9])
    """

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None) -> None:
        if axis not in (0, -1):
            raise ValueError(f"`axis` must be 0 or -1, not {axis}")
        self._before = [] if prepend is None else [array_of(prepend, "`prepend`")]
        self._after = [] if append is None else [array_of(append, "`append`")]

    def __call__(self, *values: Any) -> np.ndarray:
        parts = [*self._before, *(array_of(value, "what Concatenate gets") for value in values), *self._after]
        if not parts or any(part.ndim != 1 for part in parts):
            raise RuntimeError(
                f"Concatenate takes arrays of one dimension, not the shapes {[part.shape for part in parts]}"
            )
        if len({part.dtype for part in parts}) > 1 and any(part.dtype.kind != "U" for part in parts):
            raise RuntimeError(f"Concatenate takes arrays of one dtype, not {[str(part.dtype) for part in parts]}")
        return np.concatenate(parts)


class Duplicate(Transform):
    """The array twice, for two columns.

    >>> Duplicate()(1)
    (array(1), array(1))
    """

    def of(self, x: np.ndarray) -> Any:
        return x, x.copy()


class RandomApply:
    """All transforms one after the other, or, with probability 1 - `prob`, none.

    >>> RandomApply([lambda x: x + 1], prob=1.0)(1)
    2
    """

    def __init__(self, transforms: list[Callable[..., Any]], prob: float = 0.5) -> None:
        self.transforms, self._all = functions(transforms), Compose(transforms)
        self._prob = share("prob", prob)
        self._draws = Draws()

    def __call__(self, *values: Any) -> Any:
        if self._draws().random() < self._prob:
            return self._all(*values)
        return values[0] if len(values) == 1 else values


class RandomChoice:
    """One of several transforms, at random.

    >>> RandomChoice([lambda x: -x])(1)
    -1
    """

    def __init__(self, transforms: list[Callable[..., Any]]) -> None:
        self.transforms = functions(transforms)
        self._draws = Draws()

    def __call__(self, *values: Any) -> Any:
        return self.transforms[self._draws().integers(len(self.transforms))](*values)


class RandomOrder:
    """All transforms, in random order.

    >>> RandomOrder([lambda x: x + 1, lambda x: x + 2])(1)
    4
    """

    def __init__(self, transforms: list[Callable[..., Any]]) -> None:
        self.transforms = functions(transforms)
        self._draws = Draws()

    def __call__(self, *values: Any) -> Any:
        order = self._draws().permutation(len(self.transforms))
        return Chain([self.transforms[i] for i in order])(*values)
