"""Products of matrices."""

from __future__ import annotations

import numpy as np

from ..dtypes import float32
from ..ir.primitive import F, Primitive
from ..ir.types import TensorType, dim_product, same_dim, same_shape, tensor
from .family import as_tensor, broadcast_shapes, broadcast_to, promoted_dtype, require, require_dtype
from .samples import F2
from .shape import matrix_transpose


def _matmul(a, b):
    a, b = promoted_dtype(as_tensor(a, "a"), as_tensor(b, "b"))
    require(a.ndim > 0 and b.ndim > 0, "matmul needs at least one dimension on both sides: multiply by a scalar with *")
    row, column = a.ndim == 1, b.ndim == 1
    a = F.expand_dims(a, axes=(-2,)) if row else a
    b = F.expand_dims(b, axes=(-1,)) if column else b
    _require_inner(a, b)
    if a.ndim > 2 and b.ndim == 2:
        # One large product instead of many small ones, and no copies of b (nor of its cotangent) per batch entry.
        flat = F.reshape(a, shape=(dim_product(a.shape[:-1]), a.shape[-1]))
        out = F.reshape(F.matmul(flat, b), shape=(*a.shape[:-1], b.shape[-1]))
    else:
        batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]], "batch dimensions of matmul")
        out = F.matmul(broadcast_to(a, (*batch, *a.shape[-2:])), broadcast_to(b, (*batch, *b.shape[-2:])))
    gone = (-2,) * row + (-1,) * column
    return F.squeeze(out, axes=gone) if gone else out


def _require_inner(a, b):
    k, n = a.shape[-1], b.shape[-2]
    require(
        same_dim(k, n), f"inner sizes differ: {_text(a)} @ {_text(b)}: {k} != {n}",
        hint="columns of the left matrix meet rows of the right one; transpose one of them",
    )


def _text(x):
    return "[" + ",".join(map(str, x.shape)) + "]"


class Matmul(Primitive):
    """Matrix product over the last two dimensions; the others are batches, which broadcast in `call`.

    In `call` an operand of one dimension is a row on the left and a column on the right, as in NumPy.
    """

    def infer(a: TensorType, b: TensorType):
        require(a.ndim >= 2 and b.ndim >= 2, f"matmul of {a} and {b}: both need two dimensions")
        require_dtype(a.dtype is b.dtype and not a.dtype.is_bool, f"matmul is not defined for {a} and {b}")
        _require_inner(a, b)
        require(same_shape(a.shape[:-2], b.shape[:-2]), f"batch dimensions differ: {a} @ {b}")
        return tensor(a.dtype, (*a.shape[:-1], b.shape[-1]))

    def numpy(a, b):
        return np.matmul(a, b)

    widen = True
    call = _matmul
    methods = ("__matmul__", "__rmatmul__", "matmul")

    def vjp(c, g, a, b):
        ga = F.matmul(g, matrix_transpose(b)) if c.needs.a else None
        return ga, (F.matmul(matrix_transpose(a), g) if c.needs.b else None)

    def samples(rng):
        yield rng(3, 4), rng(4, 2)
        yield rng(2, 3, 4), rng(2, 4, 1)
        yield rng(2, 0), rng(0, 3)

    errors = [
        ((tensor(float32, (2, 3)), tensor(float32, (4, 5))), {}, "inner sizes differ: [2,3] @ [4,5]: 3 != 4"),
        ((tensor(float32, (2, 2)), F2), {}, "two dimensions"),
        ((tensor(float32, (1, 2, 2)), tensor(float32, (3, 2, 2))), {}, "batch dimensions differ"),
    ]
