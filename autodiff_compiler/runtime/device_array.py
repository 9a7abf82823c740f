"""Arrays in the memory of a device, which take the place of a Tensor's ndarray."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np

__all__ = ["DeviceArray", "is_of_device", "nobody_else_sees", "residence"]

_Ndarray = np.ndarray[Any, Any]


class _Flags:
    """The flags of an ndarray that Tensors read."""

    writeable = True


def _new_like(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, dtype=None, **options: make(a.shape, a.dtype if dtype is None else dtype)


#: NumPy's functions that need no elements, for arrays of a device.
_ANSWERS: dict[Any, Callable[..., Any]] = {
    np.zeros_like: _new_like(np.zeros),
    np.ones_like: _new_like(np.ones),
    np.empty_like: _new_like(np.empty),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.size,
    # A write gives a box new memory, so two boxes never alias.
    np.may_share_memory: lambda a, b, max_work=None: a is b,
    np.shares_memory: lambda a, b, max_work=None: a is b,
}


class DeviceArray:
    """A contiguous array on a device, with an ndarray's description; its elements are fetched on demand.

    It is a box around immutable memory: a write gives the box new memory.  So a copy costs nothing, and operands of a
    running program never change.  NumPy does not compute with it by itself; ``np.asarray`` fetches it.  A backend's
    subclass says how elements are fetched and stored.
    """

    __slots__ = ("__weakref__", "dtype", "shape")
    __array_ufunc__ = None
    base = None
    flags = _Flags()

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape

    # ------------------------------------------------------------------------------------------- of a backend
    @property
    def place(self) -> str:
        """The device and its number, as in "Ascend:0"."""
        raise NotImplementedError

    def fetch(self) -> _Ndarray:
        """The elements as a new ndarray; waits until they are there."""
        raise NotImplementedError

    def store(self, array: _Ndarray) -> None:
        """Takes the elements of an ndarray of this dtype and shape."""
        raise NotImplementedError

    def copy(self) -> Self:
        """Another box around the same memory."""
        raise NotImplementedError

    def take(self, other: Any) -> bool:
        """Takes the memory of another array of this dtype and shape, if it can be shared."""
        raise NotImplementedError

    @property
    def memory(self) -> object:
        """The object that holds the elements; while it is the same, so are they."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------- description
    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        steps, step = [], self.dtype.itemsize
        for n in reversed(self.shape):
            steps.append(step)
            step *= max(n, 1)
        return tuple(reversed(steps))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # ------------------------------------------------------------------------------------------- elements
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _Ndarray:
        if copy is False:
            raise ValueError("an array of a device cannot be seen by the host without a copy")
        found = self.fetch()
        return found if dtype is None else found.astype(dtype, copy=False)

    def __array_function__(self, function: Any, types: Any, args: Any, options: dict[str, Any]) -> Any:
        answer = _ANSWERS.get(function)
        return NotImplemented if answer is None else answer(*args, **options)

    def __getitem__(self, index: Any) -> Any:
        return self.fetch()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is Ellipsis:
            if self.take(value):
                return
            whole = np.empty(self.shape, self.dtype)
        else:
            whole = self.fetch()
        whole[index] = value
        self.store(whole)

    def item(self) -> Any:
        return self.fetch().item()

    def tolist(self) -> Any:
        return self.fetch().tolist()

    def tobytes(self) -> bytes:
        return self.fetch().tobytes()

    def astype(self, dtype: Any) -> _Ndarray:
        return self.fetch().astype(dtype)

    def __bool__(self) -> bool:
        return bool(self.fetch())

    def __str__(self) -> str:
        return str(self.fetch())

    def __reduce__(self) -> tuple[Any, ...]:
        return np.array, (self.fetch(),)  # another process need not have the device


def is_of_device(data: Any) -> bool:
    """Whether a Tensor's array is on a device."""
    return isinstance(data, DeviceArray)


class _Residence:
    """`bring` moves the elements of a Tensor to the device in use; None where that is the CPU."""

    __slots__ = ("bring",)

    def __init__(self) -> None:
        self.bring: Callable[[Any], None] | None = None


residence = _Residence()


# ------------------------------------------------------------------------------------------------ who sees it
class _Box:
    __slots__ = ("_data",)


def _references(x: Any) -> int:
    return sys.getrefcount(x._data)


def _alone() -> int:
    box = _Box()
    box._data = np.empty(0)  # type: ignore[attr-defined]
    return _references(box)


_ALONE = _alone()


def nobody_else_sees(x: Any) -> bool:
    """Whether a Tensor holds the only reference to its ndarray, so that the elements may be moved."""
    return _references(x) == _ALONE and x._data.base is None
