"""MindSpore's types of values that are no dtype: Tensors, tuples, strings, and numbers of any width."""

from __future__ import annotations

import types
from typing import Any

from ..dtypes import ALL, DType, bool_, dtype_of, float64, int64
from ..runtime.tensor import Tensor

__all__ = [
    "Kind",
    "TensorType",
    "dictionary",
    "float_",
    "function",
    "get_py_obj_dtype",
    "int_",
    "issubclass_",
    "list_",
    "number",
    "slice_",
    "string",
    "tensor",
    "tuple_",
    "type_none",
    "type_type",
    "uint",
]


class Kind:
    """The type of values that are no elements of a Tensor, or of elements of any width.

    >>> str(tuple_), issubclass_(float64, float_)
    ('Tuple', True)
    """

    __slots__ = ("members", "name")

    def __init__(self, name: str, members: tuple[Any, ...] = ()) -> None:
        self.name, self.members = name, members

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class TensorType(Kind):
    """The type of Tensors with elements of one type; without one, of all Tensors.

    >>> TensorType(float64) == get_py_obj_dtype(Tensor([1.0], float64))
    True
    """

    __slots__ = ("_element",)

    def __init__(self, element: Any = None) -> None:
        self._element = None if element is None else dtype_of(element)
        super().__init__("Tensor" if element is None else f"Tensor[{self._element}]")

    def element_type(self) -> DType | None:
        """The type of the elements; None where it is any."""
        return self._element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self._element is other._element

    def __hash__(self) -> int:
        return hash(self.name)


int_ = Kind("Int", tuple(d for d in ALL if d.kind == "i"))
uint = Kind("UInt", tuple(d for d in ALL if d.kind == "u"))
float_ = Kind("Float", tuple(d for d in ALL if d.is_float))
number = Kind("Number", (int_, uint, float_, *int_.members, *uint.members, *float_.members, bool_))
tensor = TensorType()
tuple_, list_, dictionary, string = Kind("Tuple"), Kind("List"), Kind("Dictionary"), Kind("String")
function, slice_, type_none, type_type = Kind("Func"), Kind("Slice"), Kind("None"), Kind("TypeType")

_TENSORS = {d: TensorType(d) for d in ALL}
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


def get_py_obj_dtype(obj: Any) -> Any:
    """The type of a value: of a Tensor a `TensorType`, of a number an element type; TypeError for what has none.

    >>> get_py_obj_dtype(3), get_py_obj_dtype(Tensor(1.5)), get_py_obj_dtype((1, 2))
    (autodiff_compiler.int64, Tensor[Float32], Tuple)
    """
    if isinstance(obj, Tensor):
        return _TENSORS[obj.dtype]
    if isinstance(obj, bool):
        return bool_
    if isinstance(obj, int):
        return int64
    if isinstance(obj, float):
        return float64
    if isinstance(obj, str):
        return string
    if isinstance(obj, tuple):
        return tuple_
    if isinstance(obj, list):
        return list_
    if isinstance(obj, dict):
        return dictionary
    if obj is None:
        return type_none
    if isinstance(obj, slice):
        return slice_
    if isinstance(obj, (DType, Kind, type)):
        return type_type
    if isinstance(obj, _FUNCTIONS):
        return function
    raise TypeError("only Tensors, numbers, texts, containers, types and functions have a type of MindSpore's")


def issubclass_(type_: Any, dtype: Any) -> bool:
    """Whether a type is another one, or one of those that it stands for.

    >>> issubclass_(int64, number), issubclass_(TensorType(int64), tensor), issubclass_(int64, float_)
    (True, True, False)
    """
    if type_ == dtype:
        return True
    if dtype == tensor:
        return isinstance(type_, TensorType)
    return isinstance(dtype, Kind) and type_ in dtype.members
