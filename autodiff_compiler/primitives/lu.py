"""LAPACK's packed factorisations: LU with row exchanges, QR as Householder reflections.

G. Golub and C. Van Loan, Matrix computations, 3.4 and 5.1 (the product of reflections in compact form).
"""

from __future__ import annotations

import numpy as np

from ..dtypes import int64
from ..errors import UnsupportedCallError
from ..ir.primitive import F, Primitive, call, composite
from ..ir.sizes import smallest
from ..ir.types import TensorType, same_shape, tensor
from .decompositions import I22, Lapack, float_matrices, square_floats, triangle
from .family import as_tensor, broadcast_shapes, broadcast_to, cast, constant, promoted_dtype
from .flops import cubes
from .index import checked
from .linalg import square
from .requirements import require, require_dtype
from .samples import F2, L2
from .shape import matrix_transpose


# ------------------------------------------------------------------------------------------------ LU
class RowOrder(Primitive):
    """Which row comes to which place when row i is exchanged with row `pivots[i]`, for i = 0, 1, ...: [..., size]."""

    internal = True

    def infer(pivots: TensorType, *, size: int):
        require_dtype(pivots.dtype is int64, f"positions must be int64, not {pivots}")
        fits = pivots.ndim >= 1 and type(pivots.shape[-1]) is int and pivots.shape[-1] <= size
        require(fits, f"{pivots} exchanges no {size} rows")
        return tensor(int64, (*pivots.shape[:-1], size))

    def numpy(pivots, *, size):
        out = np.empty((*pivots.shape[:-1], size), np.int64)
        out[...] = np.arange(size)
        for i in range(pivots.shape[-1]):
            with_row = pivots[..., i : i + 1]
            moved = np.take_along_axis(out, with_row, -1)
            np.put_along_axis(out, with_row, out[..., i : i + 1].copy(), -1)
            out[..., i : i + 1] = moved
        return out

    def samples(rng):
        yield np.array([2, 2, 2]), {"size": 3}
        yield np.array([[1, 1], [0, 2]]), {"size": 3}

    errors = [((F2,), {"size": 2}, "must be int64"), ((L2,), {"size": 1}, "exchanges no 1 rows")]


def _row_order(pivots, size):
    """The order of the rows for LAPACK's pivots, which count from 1."""
    pivots = as_tensor(pivots, "LU_pivots")
    require_dtype(pivots.dtype.is_int, f"pivots must be integers, not {pivots.dtype.name}")
    require(pivots.ndim >= 1 and pivots.shape[-1] <= size, f"pivots {list(pivots.shape)} for {size} rows")
    return F.row_order(checked(cast(pivots, int64) - 1, size, negative=False), size=size)


@composite("lu_solve")
def lu_solve(b, lu, pivots):
    """x with a @ x = b, from a's LU decomposition: both triangles in `lu`, and its row exchanges, counted from 1.

    IndexError: a pivot that is no row.  A singular a gives inf or nan.
    """
    b, lu = promoted_dtype(as_tensor(b, "b"), as_tensor(lu, "LU_data"), floating=True)
    square(lu, "lu_solve")
    require(b.ndim >= 2 and b.shape[-2] == lu.shape[-1], f"{list(b.shape)} holds no right sides for {list(lu.shape)}")
    order = _row_order(pivots, lu.shape[-1])
    require(same_shape(order.shape, lu.shape[:-1]), f"pivots {list(order.shape)} do not belong to {list(lu.shape)}")
    batch = broadcast_shapes([b.shape[:-2], lu.shape[:-2]], "batch dimensions of lu_solve")
    b, lu = broadcast_to(b, (*batch, *b.shape[-2:])), broadcast_to(lu, (*batch, *lu.shape[-2:]))
    order = F.expand_dims(broadcast_to(order, (*batch, lu.shape[-1])), axes=(-1,))
    b = F.take_along_axis(b, broadcast_to(order, b.shape), axis=-2, distinct=True)
    half = F.triangular_solve(lu, b, lower=True, unit=True)
    return F.triangular_solve(lu, half)


@composite("triangular_solve", internal=True)
def solved_triangle(b, a, upper=True, transpose=False, unitriangular=False):
    """`triangular_solve` as a method of the right sides: x with a @ x = b for one triangle of a; and a."""
    return call.triangular_solve(a, b, not upper, transpose, unitriangular), as_tensor(a, "A")


@composite()
def lu_unpack(lu, pivots):
    """p, l, u with a = p @ l @ u, from a's LU decomposition and its row exchanges, counted from 1."""
    lu = float_matrices(lu, "lu_unpack")
    m, n = lu.shape[-2:]
    k = min(m, n)
    order = _row_order(pivots, m)
    one = constant(np.eye(m).astype(lu.dtype.numpy), tensor(lu.dtype, (m, m)))
    p = matrix_transpose(F.gather(one, order, axis=-2))
    return p, _unit_lower(lu, k), F.triu(_leading(lu, -2, k), k=0)


def _leading(x, axis, count):
    return F.slice(x, axes=(axis,), starts=(0,), stops=(count,), steps=(1,))


def _unit_lower(x, count):
    """The strictly lower triangle of the first columns, with ones on the diagonal."""
    x = _leading(x, -1, count)
    diagonal = np.eye(*x.shape[-2:]).astype(x.dtype.numpy)
    diagonal = constant(diagonal, tensor(x.dtype, diagonal.shape))
    return triangle(x, lower=True, strict=True) + broadcast_to(diagonal, x.shape)


# ------------------------------------------------------------------------------------------------ reflections
class Geqrf(Lapack):
    """QR packed: r and, below the diagonal, the vectors of the reflections whose product is q; and their factors.

    It has no derivative: `qr` has.
    """

    multiple = True

    def infer(x: TensorType):
        require(x.ndim >= 2, f"geqrf needs matrices, not {x}")
        require_dtype(x.dtype.is_float, f"not defined for {x.dtype.name}: {x}", hint="cast it to a float first")
        return x, tensor(x.dtype, (*x.shape[:-2], smallest(*x.shape[-2:])))

    flops = cubes(4, 3)

    def numpy(x):
        packed, factors = np.linalg.qr(x, "raw")
        return np.swapaxes(packed, -1, -2), factors

    call = lambda x: F.geqrf(float_matrices(x, "geqrf"))
    methods = ("geqrf",)

    def samples(rng):
        yield (rng(3, 2),)
        yield (rng(2, 2, 3),)

    errors = [((F2,), {}, "needs matrices"), ((I22,), {}, "not defined for int64")]


def _reflections(x, factors, what):
    """v, t and the size m with H_1 ... H_k = 1 - v @ t @ v.T for the reflections H_i = 1 - factor_i v_i v_i.T."""
    x, factors = promoted_dtype(as_tensor(x), as_tensor(factors, "tau"), floating=True)
    x = float_matrices(x, what)
    m, n = x.shape[-2:]
    k = factors.shape[-1] if factors.ndim else -1
    fits = 0 <= k <= n <= m and same_shape(factors.shape[:-1], x.shape[:-2])
    require(fits, f"{what}: {list(factors.shape)} factors of reflections do not fit {list(x.shape)}")
    v = _unit_lower(x, k)
    d = F.diag_embed(factors, offset=0, rows=k, cols=k)
    mixed = F.matmul(d, F.triu(F.matmul(matrix_transpose(v), v), k=1))
    return v, F.triangular_solve(mixed, d, unit=True), m, n


@composite("orgqr")
def orgqr(x, factors):
    """The first columns of q, as many as x has, from what `geqrf` packed: the reflections in x and their factors."""
    v, t, m, n = _reflections(x, factors, "orgqr")
    first = matrix_transpose(_leading(v, -2, n))
    one = constant(np.eye(m, n).astype(v.dtype.numpy), tensor(v.dtype, (m, n)))
    reflected = F.matmul(v, F.matmul(t, first))
    return broadcast_to(one, reflected.shape) - reflected


@composite("ormqr")
def ormqr(x, factors, other, left=True, transpose=False):
    """q @ other (q.T with `transpose`, or other @ q unless `left`), from what `geqrf` packed."""
    v, t, m, _ = _reflections(x, factors, "ormqr")
    other = cast(as_tensor(other, "other"), v.dtype)
    fits = other.ndim == v.ndim and other.shape[-2 if left else -1] == m and same_shape(other.shape[:-2], v.shape[:-2])
    require(fits, f"ormqr: {list(other.shape)} does not fit reflections of {m} elements in {list(v.shape)}")
    t, back = (matrix_transpose(t) if transpose else t), matrix_transpose(v)
    if left:
        return other - F.matmul(v, F.matmul(t, F.matmul(back, other)))
    return other - F.matmul(F.matmul(F.matmul(other, v), t), back)


@composite("eigvals")
def eigvals(x):
    """Refused: eigenvalues of a general matrix are complex."""
    square_floats(x, "eigvals")
    raise UnsupportedCallError(
        "eigenvalues of a general matrix are complex, and there are no complex tensors",
        hint="for symmetric matrices use eigvalsh or eigh",
    )
