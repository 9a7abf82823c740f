"""Tensor methods that change the element type or only describe the tensor."""

from __future__ import annotations

import math

from ..dtypes import DType, bfloat16, bool_, dtype_of, float16, float32, float64, int16, int32, int64, uint8
from ..ir.primitive import F, Primitive, composite
from ..ir.types import TensorType, tensor
from .family import as_tensor, cast, normal_axis
from .requirements import require, require_dtype
from .samples import B2, F2


# ------------------------------------------------------------------------------------------------ element types
def _conversion(name, dtype, doc):
    def convert(x):
        return cast(as_tensor(x), dtype)

    convert.__name__ = convert.__qualname__ = f"to_{name}"
    convert.__doc__ = doc
    composite(name, internal=True)(convert)


for _name, _dtype, _doc in (
    ("bool", bool_, "Whether the elements differ from 0."),
    ("byte", uint8, "The elements as uint8."),
    ("short", int16, "The elements as int16."),
    ("int", int32, "The elements as int32, without what follows the point."),
    ("long", int64, "The elements as int64, without what follows the point."),
    ("half", float16, "The elements as float16."),
    ("bfloat16", bfloat16, "The elements as bfloat16."),
    ("float", float32, "The elements as float32."),
    ("double", float64, "The elements as float64."),
):
    _conversion(_name, _dtype, _doc)


@composite("type", internal=True)
def to_type(x, dtype=None):
    """The elements in another dtype; without one, the name of the dtype they have."""
    x = as_tensor(x)
    return str(x.dtype) if dtype is None else cast(x, dtype_of(dtype))


class Bitcast(Primitive):
    """The bits of the elements read as another dtype: the last dimension changes with their size.  No derivative."""

    internal = True

    def infer(x: TensorType, *, dtype: DType):
        require_dtype(not (x.dtype.is_bool or dtype.is_bool), "bools have no bits to read")
        if x.dtype.itemsize == dtype.itemsize:
            return tensor(dtype, x.shape)
        last = x.shape[-1] if x.ndim else None
        size = last * x.dtype.itemsize if isinstance(last, int) else -1
        fits = size >= 0 and size % dtype.itemsize == 0
        require(fits, f"the last dimension of {x} is no whole number of {dtype.name}")
        return tensor(dtype, (*x.shape[:-1], size // dtype.itemsize))

    def numpy(x, *, dtype):
        return x.copy().view(dtype)

    call = lambda input, type: F.bitcast(as_tensor(input), dtype=dtype_of(type))
    aclnn = lambda c, x: c.give(c.bits(x, c.dtype, c.out.shape))

    def vjp(c, g, x):
        return None

    def samples(rng):
        yield rng(2, 8), {"dtype": "int32"}
        yield rng.ints(2, 8), {"dtype": "float64"}

    errors = [
        ((B2,), {"dtype": "int32"}, "no bits"),
        ((F2,), {"dtype": "bool"}, "no bits"),
        ((tensor(float32, (2, 3)),), {"dtype": "int64"}, "no whole number"),
    ]


# ------------------------------------------------------------------------------------------------ the same tensor
@composite("clone", "contiguous", "value")
def clone(x):
    """The same values as a Tensor of its own; gradients pass."""
    return as_tensor(x)


# ------------------------------------------------------------------------------------------------ description
@composite("is_floating_point")
def is_floating_point(x):
    """Whether the elements are floats."""
    return bool(x.dtype.is_float)


@composite("is_signed")
def is_signed(x):
    """Whether the dtype is signed."""
    return bool(x.dtype.kind in "if")


@composite("is_complex")
def is_complex(x):
    """False: there are no complex tensors."""
    return False


@composite("is_contiguous")
def is_contiguous(x):
    """True: as far as a program can see, elements lie in row-major order."""
    return True


@composite("storage_offset", internal=True)
def storage_offset(x):
    """0: the elements of a tensor begin where its memory does."""
    return 0


@composite("stride")
def stride(x, dim=None):
    """How many elements lie between neighbours along a dimension (all of them: a list) in row-major order."""
    steps = [math.prod(x.shape[i + 1 :]) for i in range(x.ndim)]
    return steps if dim is None else steps[normal_axis(dim, x.ndim, "dim")]
