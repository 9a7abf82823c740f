"""Parameters: named Tensors that outlive a call and that training changes."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import escape
from ..config import check_device
from ..dtypes import promote
from ..errors import ParameterError
from . import epoch
from .tensor import Array, Tensor, array_of

__all__ = ["DEFAULT_NAME", "NAME_APART", "Parameter", "ParameterTuple", "versions"]

#: The name of a Parameter to which neither the user nor a Cell gave one.
DEFAULT_NAME = "Parameter"
#: What to do about two Parameters of one name, as those of two networks have it.
NAME_APART = (
    "put the networks into one, as `nn.CellList([a, b])`, whose Parameters have names of their own, or rename those of "
    "one network with `net.update_parameters_name('net.')`"
)
#: For the names of Parameters that have none, in tuples.
_numbers = itertools.count(1)


class _Versions(threading.local):
    """The node of each Parameter's current value on the tapes of this thread.

    All threads share a Parameter, but each has its own tapes, so the node is not kept in the Parameter.  Parameters
    without an entry are constants.
    """

    def __init__(self) -> None:
        self.nodes: dict[Parameter, Any] = {}


versions = _Versions()


class _Note:
    """An attribute of a Parameter about parallel training: it can be read and set, and has no effect in this module."""

    def __init__(self, default: Any) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, parameter: Parameter | None, owner: type) -> Any:
        if parameter is None:
            return self
        return (parameter._notes or {}).get(self._name, self._default)

    def __set__(self, parameter: Parameter, value: Any) -> None:
        parameter._notes = {**(parameter._notes or {}), self._name: value}


class Parameter(Tensor):
    """A Tensor with a name that a network trains.

    `default_input` is anything a Tensor can be made from, but for a bool; it is copied.  An int gives an int32.  A
    Parameter with `requires_grad=False` is left out of `trainable_params`.  `layerwise_parallel`, `parallel_optimizer`
    and `storage_format` are kept for the caller, like what can be noted about several devices (`comm_fusion`, `sliced`
    ...): they change nothing here.  A `device` is checked, and the elements get there where they are first used.

    ValueError: a bool, a name that is no string.  OverflowError: an int beyond int32.

    >>> Parameter([1.0, 2.0], name="w")
    Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)
    """

    __slots__ = ("_name", "_notes", "_requires_grad", "layerwise_parallel", "parallel_optimizer", "storage_format")
    _notes: dict[str, Any] | None

    cache_enable, cache_shape, is_init = _Note(False), _Note([]), _Note(False)
    comm_fusion, key, sliced = _Note(1), _Note(-1), _Note(False)
    parallel_optimizer_comm_recompute = _Note(False)
    #: The shape of the Parameter of whose elements this one is the part that this process has; None: it is whole.
    whole_shape = _Note(None)

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: str | None = None,
    ) -> None:
        self._data = _initial(default_input)
        self._held = 0
        self._name: str | None = None
        self.name = name
        self._notes = None
        self._requires_grad = _checked_flag(requires_grad)
        self.layerwise_parallel, self.parallel_optimizer = layerwise_parallel, parallel_optimizer
        self.storage_format = storage_format
        if device is not None:
            check_device(device)

    @property
    def _node(self) -> Any:
        return versions.nodes.get(self)

    @_node.setter
    def _node(self, node: Any) -> None:
        if node is None:
            versions.nodes.pop(self, None)
        else:
            versions.nodes[self] = node

    @property
    def name(self) -> str:
        """The name; "Parameter" if none was given."""
        return self._name or DEFAULT_NAME

    @name.setter
    def name(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"the name of a Parameter must be a string, not {type(name).__name__}")
        if name != self._name:
            self._name = name
            epoch.bump()

    @property
    def requires_grad(self) -> bool:
        """Whether training changes this Parameter."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if _checked_flag(flag) is not self._requires_grad:
            self._requires_grad = flag
            epoch.bump()

    @property
    def inited_param(self) -> None:
        """What took the Parameter's place when it got its values: nothing, as it has them from the start."""
        return None

    @property
    def data(self) -> Parameter:
        """The Parameter itself, as in MindSpore."""
        return self

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Replaces the value, and returns the Parameter.

        The dtype stays: lower ones are cast, higher ones are a TypeError.  Another shape is a ValueError unless
        `slice_shape` is true.  On a tape the new value is a constant.  The new value has memory of its own: arrays that
        `asnumpy` gave before keep theirs.

        >>> p = Parameter([1.0, 2.0]); old = p.asnumpy(); p.set_data([3, 4]).tolist(), old.tolist()
        ([3.0, 4.0], [1.0, 2.0])
        """
        array = data._data if isinstance(data, Tensor) else array_of(data)
        given = data.dtype if isinstance(data, Tensor) else Tensor(array).dtype
        if promote(self.dtype, given) is not self.dtype:
            raise TypeError(f"Parameter {self.name} holds {self.dtype.name}, {given.name} does not fit: cast it first")
        resized = array.shape != self.shape
        if resized and not slice_shape:
            raise ValueError(f"Parameter {self.name} has shape {self.shape}, the data has {array.shape}")
        with np.errstate(all="ignore"):
            self._data = np.array(array, self._data.dtype, order="C")
        self._held, self._node = 0, None
        if resized:
            epoch.bump()
        return self

    def _write(self, array: Array) -> None:
        target = self._own()
        with np.errstate(all="ignore"):
            target[...] = array

    def clone(self, init: Any = "same") -> Parameter:
        """A new Parameter of the same description; `init` "same" copies the values, "zeros", "ones" or a number fill.

        >>> Parameter([1.0, 2.0], name="w").clone(init="zeros").tolist()
        [0.0, 0.0]
        """
        new: Parameter = object.__new__(type(self))
        new._data, new._held = self._data.copy(), 0
        for slot in Parameter.__slots__:
            setattr(new, slot, getattr(self, slot))
        if init != "same":
            fill = {"zeros": 0, "ones": 1}.get(init) if isinstance(init, str) else init
            if not isinstance(fill, int | float):
                raise ValueError(f"`init` of clone() must be 'same', 'zeros', 'ones' or a number, not {init!r}")
            new._data[...] = fill
        return new

    def __copy__(self) -> Parameter:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        rest = (self.layerwise_parallel, self.parallel_optimizer, self.storage_format)
        return type(self), (self._data, self._name, self.requires_grad, *rest)

    def __repr__(self) -> str:
        facts = f"shape={self.shape}, dtype={self.dtype}, requires_grad={self.requires_grad}"
        return f"Parameter (name={escape.line(self.name)}, {facts})"

    __str__ = __repr__


def _initial(given: Any) -> Array:
    """The elements of a new Parameter."""
    if isinstance(given, bool):
        raise ValueError("a Parameter cannot be made from a bool: give a number, or `Tensor(True)`")
    if not isinstance(given, int):
        return array_of(given)
    if not -(2**31) <= given < 2**31:
        raise OverflowError(f"a Parameter made from an int is an int32, which cannot be {given}: give a Tensor")
    return np.array(given, np.int32)


def _checked_flag(flag: bool) -> bool:
    if not isinstance(flag, bool):
        raise TypeError(f"`requires_grad` must be a bool, not {type(flag).__name__}")
    return flag


class ParameterTuple(tuple[Parameter, ...]):
    """Parameters in a fixed order, each with a name of its own: if several have none, they get names as `Parameter$1`.

    TypeError: something else than Parameters.  ValueError: one stands twice, or two have the same name.

    >>> ParameterTuple([Parameter(1.0, name="a"), Parameter(2.0, name="b")]).clone("moments")[1].name
    'moments.b'
    """

    __slots__ = ()

    def __new__(cls, parameters: Iterable[Parameter] = ()) -> ParameterTuple:
        items = tuple(parameters)
        for p in items:
            if not isinstance(p, Parameter):
                raise TypeError(f"a ParameterTuple holds Parameters, not {type(p).__name__}")
        if len({id(p) for p in items}) != len(items):
            raise ValueError("a ParameterTuple holds every Parameter once")
        unnamed = [p for p in items if p.name == DEFAULT_NAME]
        for p in unnamed if len(unnamed) > 1 else ():
            p.name = f"{DEFAULT_NAME}${next(_numbers)}"
        for name, times in Counter(p.name for p in items).items():
            if times > 1:
                raise ParameterError(
                    f"{times} Parameters of a ParameterTuple are called {name!r}",
                    hint=f"{NAME_APART}; `check_names()` of a Cell says which two they are",
                )
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """Clones of all Parameters, named ``prefix.name``."""
        out = []
        for p in self:
            new = p.clone(init)
            new.name = f"{prefix}.{p.name}"
            out.append(new)
        return ParameterTuple(out)
