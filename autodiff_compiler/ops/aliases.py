"""MindSpore's other names of operations, and what asks or converts a Python value rather than compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import DType, dtype_of, float32
from ..errors import DTypeError
from ..ir.primitive import F, call
from ..primitives.family import Weak, as_tensor, cast, is_tensor
from . import array, functional, indexing, linalg, math, nn_func, special

# fmt: off
__all__ = [
    "adjoint", "approximate_equal", "baddbmm_ext", "depend", "diff_ext", "dtype", "dyn_shape", "einsum_ext",
    "float_power_ext", "floordiv", "is_tensor", "isconstant", "isnan_ext", "mse_loss_ext", "pows", "print_",
    "scalar_cast", "scalar_to_array", "scalar_to_tensor", "shape_", "tensor_add", "tensor_div", "tensor_exp",
    "tensor_expm1", "tensor_floordiv", "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt", "tensor_mod", "tensor_mul",
    "tensor_muls", "tensor_pow", "tensor_range", "tensor_slice", "tensor_sub", "tuple_to_array",
]
# fmt: on

# ------------------------------------------------------------------------------------------------ names
tensor_add, tensor_sub, tensor_div = functional.add, functional.sub, functional.div
tensor_mul = tensor_muls = functional.mul
tensor_floordiv = floordiv = functional.floor_div
tensor_mod = functional.floor_mod
tensor_pow = pows = functional.pow
tensor_exp, tensor_expm1 = functional.exp, math.expm1
tensor_lt, tensor_le, tensor_gt, tensor_ge = functional.lt, functional.le, functional.gt, functional.ge
tensor_range, tensor_slice = array.range, indexing.slice
baddbmm_ext, einsum_ext = linalg.baddbmm, linalg.einsum
float_power_ext, isnan_ext, mse_loss_ext = special.float_power, math.isnan, nn_func.mse_loss
shape_ = functional.shape


def diff_ext(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """`diff` with its axis called `dim`."""
    return math.diff(input, n, dim, prepend, append)


def adjoint(x: Any) -> Any:
    """Matrices with rows and columns exchanged.

    >>> from autodiff_compiler import Tensor
    >>> adjoint(Tensor([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    return call.swapaxes(x, -1, -2)


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-05) -> Any:
    """Whether |x - y| < tolerance.

    >>> from autodiff_compiler import Tensor
    >>> approximate_equal(Tensor([1.0, 2.0]), Tensor([1.0, 2.1])).tolist()
    [True, False]
    """
    return call.approximate_equal(x, y, tolerance)


# ------------------------------------------------------------------------------------------------ questions
def isconstant(x: Any) -> bool:
    """Whether a value is known while compiling: no Tensor, and no number that is computed from one.

    >>> from autodiff_compiler import Tensor
    >>> isconstant(3), isconstant(Tensor(3))
    (True, False)
    """
    return not (is_tensor(x) or x.__class__ is Weak)


def dtype(x: Any) -> DType:
    """The dtype of a tensor.

    >>> from autodiff_compiler import Tensor
    >>> dtype(Tensor([1.0]))
    autodiff_compiler.float32
    """
    if not is_tensor(x):
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
    if is_tensor(input_x):
        raise TypeError("scalar_to_tensor converts a Python number, not a Tensor")
    return cast(as_tensor(input_x, "input_x"), dtype_of(dtype))


def scalar_to_array(input_x: Any) -> Any:
    """A number as a tensor without dimensions: float32, int64 or bool."""
    return as_tensor(input_x, "input_x")


def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """A number as another kind of number: a float, an int or a bool, as the dtype `input_y` is.

    >>> import autodiff_compiler as ms
    >>> scalar_cast(2.7, ms.int64)
    2
    """
    target = dtype_of(input_y)
    kind = bool if target.is_bool else int if target.is_int else float
    if is_tensor(input_x) or input_x.__class__ is Weak:
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
    return value


def print_(*input_x: Any) -> None:
    """Prints values, also in compiled code, as `print` does.

    >>> from autodiff_compiler import Tensor
    >>> print_("sum", Tensor([1.0, 2.0]).sum())
    sum 3.0
    """
    print(*input_x)


print_.__graph_call__ = lambda lw, args, kwargs: lw.call_python(print_, args, kwargs)  # type: ignore[attr-defined]
