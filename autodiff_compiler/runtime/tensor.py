"""The Tensor: a box over an ndarray, with the array protocols of NumPy, Python and other frameworks.

Operators and most methods are attached by `eager` from the primitives that declare them; the methods here need no
derivative, or leave the tapes on purpose (`asnumpy`, `item`, `float`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Never, NoReturn, Self, TypeAlias

import numpy as np

from .. import logs
from ..config import check_device
from ..dtypes import NO_COMPLEX, DType, bool_, dtype_of, float32, from_numpy, int64, uint64
from ..errors import AmbiguousTruthError, TooLittleMemoryError
from ..ir.primitive import trace
from ..keywords import answering, refuse_unknown
from ..no_memory import made
from ..peer_names import TENSOR
from ..source import calling_expression, calling_place
from . import epoch
from .device_array import DeviceArray, is_of_device
from .open_sizes import OpenSizes, Symbol
from .storage import SHARED, holders
from .tensor_methods import Methods
from .text import tensor_repr

__all__ = [
    "NO_DELETION",
    "NO_ELEMENTS",
    "NO_LENGTH",
    "NO_LIST_OF_TENSORS",
    "Array",
    "Tensor",
    "array_of",
    "no_single",
    "no_truth",
    "wrap",
]

Array: TypeAlias = np.ndarray[Any, Any]

#: How an array is got of an object with an attribute: of pandas, of other frameworks, of a range or generator.
_WAYS = {
    "to_numpy": "give its `.to_numpy()`",
    "__dlpack__": "`Tensor.from_dlpack(x)` shares its memory, `numpy.asarray(x)` is its array",
    "__array__": "give `numpy.asarray(x)`",
    "__iter__": "give a list of it",
}

# Messages of errors, in eager and compiled code alike.
NO_LENGTH = "a tensor without dimensions has no len()"
NO_DELETION = "'{}' object doesn't support item deletion"
NO_ELEMENTS = "a tensor without dimensions cannot be iterated over or unpacked"
NO_LIST_OF_TENSORS = "a list of Tensors is not data: join them with ops.stack, which keeps gradients"


def no_truth(shape: tuple[Any, ...]) -> AmbiguousTruthError:
    """The error for ``if x`` with a Tensor of several elements, or none."""
    return AmbiguousTruthError(
        f"a tensor of shape {list(shape)} has no truth value: only one of exactly one element has",
        hint="reduce it first with `.any()` or `.all()`; to choose between elements use `ops.where` or `ops.maximum`",
    )


def no_single(shape: tuple[Any, ...]) -> ValueError:
    """The error for a Tensor of several elements, or none, where one number is needed."""
    return ValueError(f"only a tensor of one element is a number; this one has the shape {list(shape)}")


class Tensor(Methods):
    """A dense array of any rank whose operations can be differentiated and compiled.

    `input_data` is a number, a (nested) list or tuple of numbers, an ndarray, a NumPy scalar or a Tensor; it is copied.
    Python floats become float32, ints int64, bools bool; arrays keep their dtype unless `dtype` is given.  Without
    `input_data`, `init` fills an array of `shape` and `dtype`: a number, or a function that is given the ndarray.
    `const_arg` changes nothing; a `device` is checked, and the elements get there where they are first used.  A `dtype`
    alone, or with a `shape`, which may have None or a `Symbol` in it, describes inputs, for `Cell.set_inputs`: such a
    Tensor has no elements.

    TypeError: what is no number (strings, None, complex, ragged lists).  ValueError: `shape` differs from the data's.

    >>> Tensor([1.0, 2.0])
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])
    >>> Tensor(shape=(2,), dtype=int64, init=7).tolist()
    [7, 7]
    """

    # Machine code reads these slots.  `_node` is the op on a tape that made this Tensor (or None), `_held` the holders
    # of its buffer (see `storage`), `_hooks` is set by the first `register_hook`.
    __slots__ = ("_data", "_node", "_held", "_hooks", "__weakref__")  # noqa: RUF023
    _data: Array
    _node: Any
    _held: int
    _hooks: Any

    __hash__ = object.__hash__
    __array_priority__ = 1000.0

    @answering
    def __init__(
        self,
        input_data: Any = None,
        dtype: Any = None,
        shape: tuple[int, ...] | int | None = None,
        init: float | Callable[[Array], object] | None = None,
        const_arg: bool = False,
        device: str | None = None,
        **unknown: Never,
    ) -> None:
        if unknown:
            refuse_unknown(Tensor.__init__, unknown)
        wanted = None if dtype is None else dtype_of(dtype)
        if device is not None:
            check_device(device)
        if shape is not None:
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if init is not None:
            self._data = _initial(input_data, wanted, shape, init)
        else:
            self._data = _described(shape, wanted) if input_data is None else array_of(input_data, wanted)
            if input_data is not None and shape is not None and shape != self._data.shape:
                raise ValueError(f"`shape` is {shape}, but the data has shape {self._data.shape}")
        self._node = None
        self._held = 0

    def __getattr__(self, name: str) -> NoReturn:
        advice = TENSOR.get(name)
        text = f"{type(self).__name__!r} object has no attribute {name!r}" + (f": {advice}" if advice else "")
        raise AttributeError(text, name=name, obj=self)

    @staticmethod
    def from_numpy(array: Array) -> Tensor:
        """A Tensor over the memory of an ndarray: each sees what is written to the other.

        Eager code ends that where it writes to a Tensor whose elements something else needs as they were: a slice or
        reshaped Tensor made of it, a tape.  Such Tensors, too, see what is written to the array.

        TypeError: dtypes without a Tensor dtype (complex, strings, objects).

        >>> a = np.zeros(2); t = Tensor.from_numpy(a); a[0] = 5; t.tolist()
        [5.0, 0.0]
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(f"from_numpy() takes an ndarray, not {type(array).__name__}")
        return wrap(_native(np.asarray(array)))

    @staticmethod
    def from_dlpack(source: Any) -> Tensor:
        """A Tensor over the memory of any object with `__dlpack__` (on the CPU).

        >>> Tensor.from_dlpack(np.arange(3)).tolist()
        [0, 1, 2]
        """
        return wrap(_native(np.from_dlpack(source)))

    # ------------------------------------------------------------------------------------------- description
    @property
    def dtype(self) -> DType:
        """The element type."""
        return from_numpy(self._data.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        shape: tuple[int, ...] = self._data.shape
        return shape

    @property
    def device(self) -> str:
        """Where the elements are: "CPU", or "Ascend:0" on the first accelerator."""
        data: Any = self._data
        return data.place if isinstance(data, DeviceArray) else "CPU"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._data.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._data.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._data.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._data.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next of each dimension, of elements that lie one after the other.

        >>> Tensor([[1, 2], [3, 4]]).strides
        (16, 8)
        """
        sizes = self._data.shape
        return tuple(self._data.itemsize * math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))

    def set_dtype(self, dtype: Any) -> DType:
        """Gives the Tensor's elements another type, and returns that; derivatives do not pass.

        >>> t = Tensor([1.5, 2.0]); t.set_dtype("int32"), t.tolist()
        (autodiff_compiler.int32, [1, 2])
        """
        wanted = dtype_of(dtype)
        if wanted is not self.dtype:
            with np.errstate(all="ignore"):
                self._data = self._data.astype(wanted.numpy)
            self._held, self._node = 0, None
            epoch.bump()
        return wanted

    # ------------------------------------------------------------------------------------------- leaving
    def asnumpy(self) -> Array:
        """The elements as an ndarray that shares this Tensor's memory: writing to it changes the Tensor.

        Until eager code writes to the Tensor where others need its elements as they were, see `from_numpy`.

        >>> t = Tensor([1.0, 2.0]); t.asnumpy()[0] = 5; t.tolist()
        [5.0, 2.0]
        """
        if self._node is not None:
            self._tell_of_leaving("an array")
        return self._of_host()

    def _tell_of_leaving(self, form: str) -> None:
        """Tells listeners of `logs` that a float on a tape that still records becomes a number or an array."""
        if self._node.mask & holders.live & ~SHARED and self.dtype.is_float and logs.listener("gradients"):
            logs.leaves_derivative(calling_place(), form)

    numpy = asnumpy

    def item(self) -> bool | int | float:
        """The single element as a Python number; ValueError if there is not exactly one."""
        if self._data.size != 1:
            raise no_single(self.shape)
        if self._node is not None:
            holders.lost |= self._node.mask
            self._tell_of_leaving("a number")
        value: bool | int | float = self._data.item()
        return value

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers (a bare number for a 0-d Tensor)."""
        return self._data.tolist()

    def get_bytes(self) -> bytes:
        """The elements in memory, one after the other.

        >>> Tensor([1, 2], dtype="uint8").get_bytes()
        b'\\x01\\x02'
        """
        return self._data.tobytes()

    def data_ptr(self) -> int:
        """The address of the first element, as long as nothing gives the Tensor another value."""
        return int(self._of_host().ctypes.data)

    def to_dlpack(self) -> Any:
        """The memory as a DLPack capsule; `from_dlpack` of other packages takes the Tensor itself, too."""
        return self.__dlpack__()

    def move_to(self, to: str, blocking: bool = True) -> Tensor:
        """The Tensor on the "CPU", or on "Ascend" from its first use there on; RuntimeError: it cannot be used."""
        check_device(to)
        return wrap(np.asarray(self._data), self._node) if to == "CPU" and is_of_device(self._data) else self

    def data_sync(self, blocking: bool = True) -> None:
        """Nothing: whoever asks for elements waits for them."""

    def set_const_arg(self, const_arg: bool = True) -> None:
        """Nothing: compiled code reads its arguments at every call."""

    @property
    def has_init(self) -> bool:
        """Whether `init_data` has still to be called: never."""
        return False

    def init_data(self, *args: Any, **kwargs: Any) -> Self:
        """The Tensor itself: it has its initial values from the start, and MindSpore's arguments change nothing.

        >>> t = Tensor(shape=(2,), dtype=float32, init=1); t.init_data() is t
        True
        """
        return self

    def _own(self) -> Array:
        """The buffer, safe to write to: copied if a live tape holds it or another Tensor may alias it."""
        data = self._data
        if self._held & holders.live or not data.flags.writeable:
            self._data = data = data.copy()
            self._held = 0
        return data

    def _leave(self) -> None:
        """Gives the buffer up to arrays that `asnumpy` gave: the next write goes to another one."""
        self._held |= SHARED

    def _of_host(self) -> Array:
        """`_own` in the host's memory: an array of a device is fetched, until it is used there again."""
        data: Any = self._own()
        if isinstance(data, DeviceArray):
            self._data = data = data.fetch()
            self._held = 0
        own: Array = data
        return own

    # ------------------------------------------------------------------------------------------- protocols
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        data = np.asarray(self._data) if copy else self._of_host()
        if dtype is not None and np.dtype(dtype) != data.dtype:
            if copy is False:
                raise ValueError(f"converting {self.dtype.name} to {np.dtype(dtype)} needs a copy")
            return data.astype(dtype)
        return data.copy() if copy else data

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self._of_host())  # type: ignore[arg-type]  # NumPy declares it from Python 3.12 on

    def __dlpack__(self, **options: Any) -> Any:
        return self._of_host().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, index = self._of_host().__dlpack_device__()
        return int(kind), int(index)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self._data,)

    def copy(self) -> Tensor:
        """The same values in memory of their own; gradients pass."""
        return wrap(self._data.copy(), self._node)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.copy()

    def __len__(self) -> int:
        if self._data.ndim == 0:
            raise TypeError(NO_LENGTH)
        return len(self._data)

    def __iter__(self) -> Iterator[Tensor]:
        if self._data.ndim == 0:
            raise TypeError(NO_ELEMENTS)
        return (self[i] for i in range(len(self._data)))

    def __delitem__(self, index: Any) -> None:
        raise TypeError(NO_DELETION.format(type(self).__name__))

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise no_truth(self.shape)
        return bool(self._data.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_int:
            raise TypeError(f"only an integer tensor can be an index, not one of {self.dtype.name}")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self._data.size != 1:
            raise TypeError(f"the format {spec!r} is for one number, not for a tensor of shape {list(self.shape)}")
        return format(self.item(), spec)

    def __str__(self) -> str:
        return repr(self) if isinstance(self._data, OpenSizes) else str(self._data)

    def __repr__(self) -> str:
        if isinstance(self._data, OpenSizes):
            return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value= )"
        return tensor_repr(np.asarray(self._data), str(self.dtype))


_new = Tensor.__new__


def wrap(data: Array, node: Any = None) -> Tensor:
    """A Tensor over an ndarray of a supported dtype in native byte order, unchecked."""
    tensor = _new(Tensor)
    tensor._data = data
    tensor._node = node
    tensor._held = 0
    return tensor


def _native(array: Array) -> Array:
    """The array itself, or a copy in native byte order."""
    from_numpy(array.dtype)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def array_of(data: Any, dtype: DType | None = None) -> Array:
    """A new array with the contents of anything a Tensor can be made from."""
    if isinstance(data, Tensor):
        array = data._data
    elif isinstance(data, np.ndarray | np.generic):
        array = _native(np.asarray(data))
    elif isinstance(data, bool):
        array = np.array(data)
    elif isinstance(data, int | float | complex):
        array = _numbers(data, dtype)
    elif isinstance(data, list | tuple):
        _refuse_tensors(data)
        array = _numbers(data, dtype)
    else:
        raise TypeError(f"a Tensor is made from numbers, lists of numbers or arrays, not from {_named(data)}")
    if dtype is None:
        weak = isinstance(data, float | list | tuple) and not isinstance(data, np.generic)
        dtype = float32 if weak and array.dtype == np.float64 else from_numpy(array.dtype)
    with np.errstate(all="ignore"):
        return np.array(array, dtype=dtype.numpy)


def _named(data: Any) -> str:
    """The class of what no Tensor is made from, and how to make one of it all the same."""
    name = type(data).__name__
    for attribute, way in _WAYS.items():
        if hasattr(data, attribute):
            return f"{name}: {way}"
    return name


def _numbers(data: Any, dtype: DType | None) -> Array:
    try:
        array = np.array(data)
        if array.dtype == np.float64 and (np.abs(array) >= 2.0**63).any() and _whole(data):
            array = np.array(data, np.uint64)  # NumPy makes floats of uint64s beside smaller ints
    except (ValueError, OverflowError) as error:
        raise TypeError(f"this {type(data).__name__} is not a rectangular block of numbers: {error}") from None
    if array.dtype.kind == "c":
        raise TypeError(f"a Tensor is made from real numbers: {NO_COMPLEX}")
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise TypeError(f"a Tensor is made from numbers, this {type(data).__name__} holds {array.dtype}")
    if array.dtype == np.uint64 and dtype is not uint64:
        raise TypeError(f"{data!r} holds integers that do not fit in {int64.name}")
    return array


def _whole(data: Any) -> bool:
    return all(map(_whole, data)) if isinstance(data, list | tuple) else isinstance(data, int)


def _refuse_tensors(data: Any) -> None:
    for x in data:
        if isinstance(x, Tensor):
            raise TypeError(NO_LIST_OF_TENSORS)
        if isinstance(x, list | tuple):
            _refuse_tensors(x)


def _described(shape: tuple[Any, ...] | None, dtype: DType | None) -> Any:
    """The placeholder for the array of a Tensor that describes inputs; TypeError for what is no size."""
    sizes = () if shape is None else shape
    if dtype is None or not all(n is None or isinstance(n, Symbol) or (isinstance(n, int) and n >= 0) for n in sizes):
        raise TypeError("a Tensor is made from `input_data`, or from `shape`, `dtype` and `init`")
    return OpenSizes(shape, dtype)


def _initial(data: Any, dtype: DType | None, shape: tuple[int, ...] | None, init: Any) -> Array:
    if data is not None:
        raise ValueError("give `input_data` or `init`, not both")
    if dtype is None or shape is None:
        raise ValueError("`init` needs `shape` and `dtype`")
    try:
        array: Array = made(shape, lambda: np.zeros(shape, dtype.numpy), dtype.numpy)
    except TooLittleMemoryError as error:
        if trace.builder is None:  # else the place in the compiled function is known better later
            error.at(calling_expression())
        raise
    if callable(init):
        init(array)
    elif isinstance(init, int | float):
        array[...] = init if dtype is not bool_ else bool(init)
    else:
        raise TypeError(f"`init` must be a number or a function that fills an ndarray, not {type(init).__name__}")
    return array
