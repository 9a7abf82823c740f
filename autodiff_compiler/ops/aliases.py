"""MindSpore's aliases of functions, and functions that query or convert Python values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Never

from ..dtypes import DType, dtype_of, float32
from ..errors import DTypeError
from ..ir.primitive import METHODS, F, call, distinct
from ..keywords import answering, refuse_unknown
from ..primitives.family import as_tensor, cast
from ..primitives.family import is_tensor as _is_tensor
from ..primitives.requirements import SymScalar
from ..runtime.tensor import Tensor
from ..surface.table import public
from . import array, basic, linalg

__all__ = [
    "adaptive_avg_pool2d_ext",
    "add_ext",
    "baddbmm_ext",
    "depend",
    "diff_ext",
    "dtype",
    "dyn_shape",
    "is_tensor",
    "isconstant",
    "mixed_precision_cast",
    "print_",
    "scalar_cast",
    "scalar_to_array",
    "scalar_to_tensor",
    "shape_",
    "sub_ext",
    "tensor_range",
    "tensor_slice",
    "tuple_to_array",
]

# ------------------------------------------------------------------------------------------------ names


def adaptive_avg_pool2d_ext(input: Any, output_size: Any) -> Any:
    """MindSpore's other name of `adaptive_avg_pool2d`."""
    return public.adaptive_avg_pool2d(input, output_size)


def shape_(x: Any) -> Any:
    """The sizes of the dimensions, as a tuple of numbers."""
    return basic.shape(x)


def tensor_range(start: Any, end: Any, step: Any) -> Any:
    """The numbers from `start` up to before `end`, `step` apart."""
    return array.range(start, end, step)


def tensor_slice(input: Any, begin: Any, size: Sequence[int]) -> Any:
    """`size` elements of every dimension from `begin` on; see `slice`."""
    return public.slice(input, begin, size)


def baddbmm_ext(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * (batch1 @ batch2), matrix by matrix."""
    return linalg.baddbmm(input, batch1, batch2, beta, alpha)


def add_ext(input: Any, other: Any, alpha: Any = 1) -> Any:
    """input + alpha * other."""
    return METHODS["add"](as_tensor(input), other, alpha=alpha)


def sub_ext(input: Any, other: Any, alpha: Any = 1) -> Any:
    """input - alpha * other."""
    return METHODS["sub"](as_tensor(input), other, alpha=alpha)


@answering
def diff_ext(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None, **unknown: Never) -> Any:
    """`diff` with its axis called `dim`."""
    if unknown:
        refuse_unknown(diff_ext, unknown)
    return public.diff(input, n, dim, prepend, append)


# ------------------------------------------------------------------------------------------------ questions
def is_tensor(obj: Any) -> bool:
    """Whether something is a Tensor.

    >>> is_tensor(3)
    False
    """
    return _is_tensor(obj)


def isconstant(x: Any) -> bool:
    """Whether a value is known while compiling: no Tensor, and no number that is computed from one.

    >>> from autodiff_compiler import Tensor
    >>> isconstant(3), isconstant(Tensor(3))
    (True, False)
    """
    return not (_is_tensor(x) or x.__class__ is SymScalar)


def dtype(x: Any) -> DType:
    """The dtype of a tensor.

    >>> from autodiff_compiler import Tensor
    >>> dtype(Tensor([1.0]))
    autodiff_compiler.float32
    """
    if not _is_tensor(x):
        raise DTypeError(f"only tensors have a dtype, not a {type(x).__name__}")
    return x.dtype


def dyn_shape(input_x: Any) -> Any:
    """The shape as a tensor (int64).

    >>> from autodiff_compiler import Tensor
    >>> dyn_shape(Tensor([[1.0, 2.0]])).tolist()
    [1, 2]
    """
    return call.stack([F.shape_of(input_x, axis=a) for a in range(-input_x.ndim, 0)])


# ------------------------------------------------------------------------------------------------ conversions
def scalar_to_tensor(input_x: Any, dtype: Any = float32) -> Any:
    """A number as a tensor without dimensions.

    >>> scalar_to_tensor(2)
    Tensor(shape=[], dtype=Float32, value= 2)
    """
    if _is_tensor(input_x):
        raise TypeError("scalar_to_tensor converts a Python number, not a Tensor")
    return cast(as_tensor(input_x, "input_x"), dtype_of(dtype))


def scalar_to_array(input_x: Any) -> Any:
    """A number as a tensor without dimensions: float32, int64 or bool."""
    return as_tensor(input_x, "input_x")


def mixed_precision_cast(dst_dtype: Any, x: Any) -> Any:
    """Float tensors in another dtype, also in tuples, lists and dicts; everything else as it is.

    >>> import autodiff_compiler as ms
    >>> [t.dtype for t in mixed_precision_cast(ms.float16, (ms.Tensor([1.0]), ms.Tensor([1])))]
    [autodiff_compiler.float16, autodiff_compiler.int64]
    """
    if isinstance(x, dict):
        return {k: mixed_precision_cast(dst_dtype, v) for k, v in x.items()}
    if isinstance(x, tuple | list):
        return type(x)([mixed_precision_cast(dst_dtype, v) for v in x])
    return cast(x, dtype_of(dst_dtype)) if _is_tensor(x) and x.dtype.is_float else x


def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """A number as another kind of number: a float, an int or a bool, as the dtype `input_y` is.

    >>> import autodiff_compiler as ms
    >>> scalar_cast(2.7, ms.int64)
    2
    """
    target = dtype_of(input_y)
    kind = bool if target.is_bool else int if target.is_int else float
    if _is_tensor(input_x) or input_x.__class__ is SymScalar:
        raise TypeError("scalar_cast converts a number that is known while compiling, not a Tensor")
    return kind(input_x)


def tuple_to_array(input_x: Sequence[Any]) -> Any:
    """Numbers as a tensor of one dimension: float32 if one is a float, else int64 or bool.

    >>> tuple_to_array((1, 2, 3)).tolist()
    [1, 2, 3]
    """
    return call.stack(list(input_x))


# ------------------------------------------------------------------------------------------------ order of effects
def depend(value: Any, expr: Any) -> Any:
    """The value.  Effects need no such help to keep their order: it is that of the program.

    >>> depend(3, None)
    3
    """
    return distinct(value, value) if _is_tensor(value) else value


def print_(*input_x: Any) -> None:
    """Prints values, also in compiled code: a line for each, and Tensors with their shape and dtype.

    >>> from autodiff_compiler import Tensor
    >>> print_("sum", Tensor([1.0, 2.0]).sum())
    sum
    Tensor(shape=[], dtype=Float32, value= 3)
    """
    print(*[repr(x) if isinstance(x, Tensor) else x for x in input_x], sep="\n")


print_.__graph_call__ = lambda ctx, args, kwargs: ctx.call_python(print_, args, kwargs)  # type: ignore[attr-defined]
