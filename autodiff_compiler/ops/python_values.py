"""MindSpore's functions of Python numbers, tuples, lists and dicts.  Compiled code compiles them from their source."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

from ..common.kinds import get_py_obj_dtype, issubclass_
from ..runtime.tensor import no_single
from .state import compiled_from_source

# fmt: off
__all__ = [
    "array_to_scalar", "augassign_add", "augassign_div", "augassign_floordiv", "augassign_mod", "augassign_mul",
    "augassign_sub", "bool_and", "bool_eq", "bool_not", "bool_or", "deepcopy", "dict_getitem", "dict_setitem",
    "hastype", "identity", "in_dict", "is_", "is_nonzero", "is_not", "is_sequence_shape_unknown",
    "is_sequence_value_unknown", "list_equal", "list_getitem", "list_len", "list_setitem", "make_dict", "make_list",
    "make_range", "make_slice", "make_tuple", "not_in_dict", "scalar_add", "scalar_div", "scalar_eq",
    "scalar_floordiv", "scalar_ge", "scalar_gt", "scalar_le", "scalar_log", "scalar_lt", "scalar_max", "scalar_min",
    "scalar_mod", "scalar_mul", "scalar_ne", "scalar_pow", "scalar_sub", "scalar_uadd", "scalar_usub", "shape_mul",
    "string_concat", "string_eq", "tail", "tuple_div", "tuple_equal", "tuple_getitem", "tuple_len",
    "tuple_reversed", "tuple_setitem", "typeof",
]
# fmt: on


# ------------------------------------------------------------------------------------------------ numbers
def scalar_add(x: Any, y: Any) -> Any:
    """x + y.

    >>> scalar_add(2, 3)
    5
    """
    return x + y


def scalar_sub(x: Any, y: Any) -> Any:
    """x - y."""
    return x - y


def scalar_mul(x: Any, y: Any) -> Any:
    """x * y."""
    return x * y


def scalar_div(x: Any, y: Any) -> Any:
    """x / y."""
    return x / y


def scalar_floordiv(x: Any, y: Any) -> Any:
    """x // y."""
    return x // y


def scalar_mod(x: Any, y: Any) -> Any:
    """x % y."""
    return x % y


def scalar_pow(x: Any, y: Any) -> Any:
    """x ** y."""
    return x**y


def scalar_max(x: Any, y: Any) -> Any:
    """The greater number."""
    return max(x, y)


def scalar_min(x: Any, y: Any) -> Any:
    """The lesser number."""
    return min(x, y)


def scalar_eq(x: Any, y: Any) -> Any:
    """x == y."""
    return x == y


def scalar_ne(x: Any, y: Any) -> Any:
    """x != y."""
    return x != y


def scalar_lt(x: Any, y: Any) -> Any:
    """x < y."""
    return x < y


def scalar_le(x: Any, y: Any) -> Any:
    """x <= y."""
    return x <= y


def scalar_gt(x: Any, y: Any) -> Any:
    """x > y."""
    return x > y


def scalar_ge(x: Any, y: Any) -> Any:
    """x >= y."""
    return x >= y


def scalar_uadd(x: Any) -> Any:
    """x itself."""
    return x


def scalar_usub(x: Any) -> Any:
    """-x."""
    return -x


def scalar_log(x: float) -> float:
    """The natural logarithm of a number."""
    return math.log(x)


def bool_and(x: Any, y: Any) -> Any:
    """x and y."""
    return x and y


def bool_or(x: Any, y: Any) -> Any:
    """x or y."""
    return x or y


def bool_not(x: Any) -> bool:
    """not x."""
    return not x


def bool_eq(x: Any, y: Any) -> Any:
    """x == y."""
    return x == y


augassign_add, augassign_sub, augassign_mul, augassign_div = scalar_add, scalar_sub, scalar_mul, scalar_div
augassign_floordiv, augassign_mod = scalar_floordiv, scalar_mod


# ------------------------------------------------------------------------------------------------ of tensors
def identity(x: Any) -> Any:
    """The argument itself.

    >>> identity(3)
    3
    """
    return x


def deepcopy(input_x: Any) -> Any:
    """A copy of a Tensor, or of what holds Tensors.

    >>> from autodiff_compiler import Tensor
    >>> deepcopy(Tensor([1, 2])).tolist()
    [1, 2]
    """
    return copy.deepcopy(input_x)


def is_nonzero(input: Any) -> bool:
    """Whether the only element of a Tensor differs from 0; ValueError if there is not exactly one.

    >>> from autodiff_compiler import Tensor
    >>> is_nonzero(Tensor([0.5]))
    True
    """
    if input.size != 1:
        raise no_single(input.shape)
    return bool(input.reshape(()))


def array_to_scalar(x: Any) -> Any:
    """The only element of a Tensor as a Python number.

    >>> from autodiff_compiler import Tensor
    >>> array_to_scalar(Tensor([3]))
    3
    """
    return x.item()


# ------------------------------------------------------------------------------------------------ tuples and lists
def make_tuple(*elements: Any) -> tuple[Any, ...]:
    """A tuple of the arguments.

    >>> make_tuple(1, 2)
    (1, 2)
    """
    return elements


def make_list(*elements: Any) -> list[Any]:
    """A list of the arguments."""
    return list(elements)


def make_dict(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """A dict of keys and values.

    >>> make_dict(("a", "b"), (1, 2))
    {'a': 1, 'b': 2}
    """
    return dict(zip(keys, values, strict=True))


def make_slice(start: int | None, stop: int | None, step: int | None) -> slice:
    """``slice(start, stop, step)``."""
    return slice(start, stop, step)


def make_range(*bounds: int) -> tuple[int, ...]:
    """The numbers of ``range(...)``, as a tuple.

    >>> make_range(1, 4)
    (1, 2, 3)
    """
    return tuple(range(*bounds))


def tuple_getitem(x: Sequence[Any], index: int) -> Any:
    """x[index]."""
    return x[index]


def tuple_setitem(x: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    """The tuple with another element; IndexError if there is none at that place.

    >>> tuple_setitem((1, 2, 3), -1, 9)
    (1, 2, 9)
    """
    changed = list(x)
    changed[index] = value
    return tuple(changed)


def tuple_len(x: Sequence[Any]) -> int:
    """How many elements there are."""
    return len(x)


def tuple_reversed(x: tuple[Any, ...]) -> tuple[Any, ...]:
    """The elements from the last to the first."""
    return x[::-1]


def tuple_equal(x: Any, y: Any) -> Any:
    """x == y."""
    return x == y


def tuple_div(x: tuple[Any, ...], y: tuple[Any, ...]) -> tuple[Any, ...]:
    """The quotients of integers that divide without remainder; ValueError for others.

    >>> tuple_div((8, 6), (2, 3))
    (4, 2)
    """
    if len(x) != len(y):
        raise ValueError(f"tuple_div takes tuples of one length, not of {len(x)} and {len(y)}")
    for a, b in zip(x, y, strict=True):
        if a % b != 0:
            raise ValueError(f"tuple_div: {a} is no multiple of {b}")
    return tuple([a // b for a, b in zip(x, y, strict=True)])


def tail(x: Sequence[Any]) -> Any:
    """All elements but the first."""
    return x[1:]


def shape_mul(input_data: Sequence[int]) -> int:
    """The product of integers.

    >>> shape_mul((2, 3, 4))
    24
    """
    product = 1
    for size in input_data:
        product = product * size
    return product


def list_setitem(x: list[Any], index: int, value: Any) -> list[Any]:
    """The list with another element; the list given stays as it is."""
    changed = list(x)
    changed[index] = value
    return changed


list_getitem, list_len, list_equal = tuple_getitem, tuple_len, tuple_equal


def is_sequence_value_unknown(x: Sequence[Any]) -> bool:
    """False: the elements of a tuple or list are known one by one, or are Tensors."""
    return False


def is_sequence_shape_unknown(x: Sequence[Any]) -> bool:
    """False: the shape of a Tensor is known."""
    return False


# ------------------------------------------------------------------------------------------------ dicts and texts
def dict_getitem(x: dict[Any, Any], key: Any) -> Any:
    """x[key]."""
    return x[key]


def dict_setitem(x: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    """The dict with another value for a key; the dict given stays as it is."""
    changed = dict(x)
    changed[key] = value
    return changed


def in_dict(key: Any, x: dict[Any, Any]) -> bool:
    """key in x."""
    return key in x


def not_in_dict(key: Any, x: dict[Any, Any]) -> bool:
    """key not in x."""
    return key not in x


def string_concat(x: str, y: str) -> str:
    """x + y."""
    return x + y


def string_eq(x: str, y: str) -> bool:
    """x == y."""
    return x == y


def is_(x: Any, y: Any) -> bool:
    """x is y."""
    return x is y


def is_not(x: Any, y: Any) -> bool:
    """x is not y."""
    return x is not y


def typeof(x: Any) -> Any:
    """The type of a value, as in `common.dtype`: of a Tensor a `TensorType`, of a number an element type.

    >>> typeof(3), typeof("text")
    (autodiff_compiler.int64, String)
    """
    return get_py_obj_dtype(x)


def hastype(x: Any, t: Any) -> bool:
    """Whether a value is of a type of `common.dtype`.

    >>> from autodiff_compiler import Tensor, tensor_type
    >>> hastype(Tensor([1.0]), tensor_type()), hastype((1, 2), tensor_type())
    (True, False)
    """
    return issubclass_(get_py_obj_dtype(x), t)


for _name in __all__:
    compiled_from_source(globals()[_name])
for _function in (get_py_obj_dtype, issubclass_):
    compiled_from_source(_function)
