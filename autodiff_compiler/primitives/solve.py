"""Linear systems, inverses, the matrix exponential; the kernels give nan instead of raising, as in `decompositions`.

Formulas: M. B. Giles, Collected matrix derivative results (2008); G. Golub and V. Pereyra, The differentiation of
pseudo-inverses and nonlinear least squares problems (1973); A. Al-Mohy and N. Higham, Computing the Frechet derivative
of the matrix exponential (2009).
"""

from __future__ import annotations

import numpy as np

from ..dtypes import float32
from ..ir.primitive import F, Number, call, composite
from ..ir.types import TensorType, dim_product, same_dim, same_shape, tensor
from .decompositions import (
    F22,
    I22,
    Lapack,
    SquareMatrices,
    attempted,
    float_matrices,
    square_floats,
    square_type,
    symmetric_part,
    symmetrised,
    triangle,
)
from .family import broadcast_shapes, broadcast_to, float_unary, promoted_dtype, same_type, zeros_like
from .flops import cubes, size_of_type
from .linalg import square
from .requirements import require, require_dtype
from .samples import F2, M23
from .shape import matrix_transpose, permuted

F32 = tensor(float32, (3, 2))
D22 = tensor(F22.dtype, (1, 2, 2))


# ------------------------------------------------------------------------------------------------ linear systems
def _floats(*xs):
    return promoted_dtype(*xs, floating=True)


def _system_type(a, b, what):
    square_type(a, what)
    require_dtype(a.dtype is b.dtype, f"dtypes differ: {a} and {b}")
    require(b.ndim >= 2 and same_shape(a.shape[:-2], b.shape[:-2]), f"batches differ: {a} and {b}")
    _require_fitting(a, b, what)


def _require_fitting(a, b, what):
    n, m = a.shape[-2], b.shape[-2]
    require(same_dim(n, m), f"{what}: {n} equations do not fit right sides of {m} elements", between=(n, m))


def _solved(apply, a, b, what):
    """`apply` to matrices of one batch size; a vector b is one right side, and one matrix a serves a whole batch."""
    square(a, what)
    require(b.ndim > 0, f"{what} needs right sides of at least one dimension")
    vector = b.ndim == 1
    b = F.expand_dims(b, axes=(-1,)) if vector else b
    _require_fitting(a, b, what)
    if a.ndim == 2 and b.ndim > 2:
        # All right sides at once, as columns of one matrix: the matrix is decomposed once.
        first = (-2, *range(-b.ndim, -2), -1)
        columns = permuted(b, first)
        flat = F.reshape(columns, shape=(b.shape[-2], dim_product(columns.shape[1:])))
        out = F.reshape(apply(a, flat), shape=columns.shape)
        return permuted(out, (*range(1 - b.ndim, -1), -b.ndim, -1))
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]], f"batch dimensions of {what}")
    out = apply(broadcast_to(a, (*batch, *a.shape[-2:])), broadcast_to(b, (*batch, *b.shape[-2:])))
    return F.squeeze(out, axes=(-1,)) if vector else out


def _solve(a, b):
    """x with a @ x = b, for square matrices a; batches broadcast, and b of one dimension is one right side.

    LinAlgError: a is singular.
    """
    a, b = _floats(a, b)

    def apply(a, b):
        return F.check_solved(F.solve(a, b), a, b, message="solve: the matrix is singular")

    return _solved(apply, a, b, "solve")


class Solve(Lapack):
    """x with a @ x = b, for square matrices a; nan where a is singular."""

    def infer(a: TensorType, b: TensorType):
        _system_type(a, b, "solve")
        return b

    flops = lambda a, b: cubes(2, 3)(a) + 2 * size_of_type(a) * b.shape[-1]

    def numpy(a, b):
        return attempted(np.linalg.solve, a, b)

    call = _solve

    def vjp(c, g, a, b):
        gb = F.solve(matrix_transpose(a), g)
        return (-F.matmul(gb, matrix_transpose(c.out)) if c.needs.a else None), gb

    def samples(rng):
        yield rng(3, 3) + 5 * np.eye(3), rng(3, 2)
        yield rng(2, 2, 2) + 4 * np.eye(2), rng(2, 2, 1)

    errors = [
        ((M23, F2), {}, "needs square matrices"), ((I22, I22), {}, "not defined for int64"),
        ((F22, F32), {}, "2 equations do not fit right sides of 3 elements"), ((F22, F2), {}, "batches differ"),
    ]  # fmt: skip


def _triangular_solve(a, b, lower=False, transpose=False, unit=False):
    """x with a @ x = b for a triangle of a, the upper by default (a.T @ x = b if `transpose`); the other is not read.

    With `unit` the diagonal counts as ones and is not read either.  Batches broadcast, and b of one dimension is one
    right side.  LinAlgError: a zero on the diagonal.
    """
    a, b = _floats(a, b)

    def apply(a, b):
        out = F.triangular_solve(a, b, lower=lower, transpose=transpose, unit=unit)
        if unit:
            return out
        diagonal = F.expand_dims(F.diagonal(a, offset=0), axes=(-1,))  # only a zero here makes a result nan throughout
        return F.check_solved(out, diagonal, b, message="triangular_solve: the matrix is singular")

    return _solved(apply, a, b, "triangular_solve")


def substituted(a, b, lower, transpose, unit):
    """`triangular_solve` of many small systems, all at once: row by row, with the systems in the last dimension."""
    n, forward = a.shape[-1], lower != transpose
    many = np.moveaxis(a.reshape(-1, n, n), (0, 1, 2), (2, 1, 0) if transpose else (2, 0, 1)).copy()
    out = np.moveaxis(b.reshape(-1, *b.shape[-2:]), 0, 2).copy()
    for i in range(n) if forward else reversed(range(n)):
        if not unit:
            out[i] /= many[i, i]
        rest = slice(i + 1, None) if forward else slice(i)
        out[rest] -= many[rest, i, None] * out[i]
    if not unit:
        out[..., (many.diagonal() == 0).any(-1)] = np.nan
    return np.ascontiguousarray(np.moveaxis(out, 2, 0)).reshape(b.shape)


class TriangularSolve(Lapack):
    """x with a @ x = b for a triangle of a (a.T @ x = b if `transpose`); the other triangle is not read.

    With `unit` the diagonal counts as ones and is not read either; else nan where it holds a zero.
    """

    def infer(a: TensorType, b: TensorType, *, lower: bool = False, transpose: bool = False, unit: bool = False):
        _system_type(a, b, "triangular_solve")
        return b

    flops = lambda a, b, **_: size_of_type(a) * b.shape[-1]

    def numpy(a, b, *, lower, transpose, unit):
        from scipy.linalg.blas import get_blas_funcs

        if a.shape[-1] <= 16 and a.size > 2 * a.shape[-1] ** 3:
            return substituted(a, b, lower, transpose, unit)
        out = np.array(b, order="C")
        if not out.size:
            return out
        trsm, trsv = get_blas_funcs(("trsm", "trsv"), dtype=a.dtype)
        for m, x in zip(a.reshape(-1, *a.shape[-2:]), out.reshape(-1, *b.shape[-2:]), strict=True):
            # Rows are columns to BLAS: it sees the transposed matrix, and solves from the right, in place.
            if b.shape[-1] == 1:
                trsv(m.T, x.reshape(-1), lower=not lower, trans=not transpose, diag=unit, overwrite_x=True)
            else:
                trsm(1, m.T, x.T, side=1, lower=not lower, trans_a=transpose, diag=unit, overwrite_b=True)
        if not unit:
            out[(np.diagonal(a, 0, -2, -1) == 0).any(-1)] = np.nan
        return out

    call = _triangular_solve

    def vjp(c, g, a, b):
        gb = F.triangular_solve(a, g, lower=c.lower, transpose=not c.transpose, unit=c.unit)
        if not c.needs.a:
            return None, gb
        left, right = (c.out, gb) if c.transpose else (gb, c.out)
        return triangle(-F.matmul(left, matrix_transpose(right)), c.lower, strict=c.unit), gb

    def samples(rng):
        yield rng(3, 3) + 5 * np.eye(3), rng(3, 2), {"lower": True}
        yield rng(2, 2, 2) + 4 * np.eye(2), rng(2, 2, 1), {"transpose": True}
        yield rng(3, 3), rng(3, 1), {"lower": True, "transpose": True, "unit": True}

    errors = [
        ((M23, F2), {}, "needs square matrices"), ((I22, I22), {}, "not defined for int64"),
        ((F22, F32), {}, "2 equations do not fit right sides of 3 elements"), ((F22, D22), {}, "batches differ"),
    ]  # fmt: skip


@composite("cholesky_solve")
def cholesky_solve(b, factor, upper=False):
    """x with a @ x = b, from the Cholesky factor of a (lower, or upper)."""
    half = _triangular_solve(factor, b, lower=not upper, transpose=upper)
    return _triangular_solve(factor, half, lower=not upper, transpose=not upper)


@composite("cholesky_inverse")
def cholesky_inverse(factor, upper=False):
    """The inverse of a, from the Cholesky factor of a (lower, or upper)."""
    factor = square_floats(factor, "cholesky_inverse")
    return cholesky_solve(call.matrix_power(factor, 0), factor, upper)


# ------------------------------------------------------------------------------------------------ inverses
def _inverse(x):
    """The inverse of square matrices; LinAlgError if one is singular.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([[2.0, 0.0], [0.0, 4.0]]).inverse().tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    x = square_floats(x, "inverse")
    return F.check_solved(F.inverse(x), x, message="inverse: the matrix is singular")


class Inverse(SquareMatrices):
    """The inverse of square matrices; nan where one is singular."""

    def infer(x: TensorType):
        square_type(x, "inverse")
        return x

    flops = cubes(2)

    def numpy(x):
        return attempted(np.linalg.inv, x)

    call = _inverse
    methods = ("inverse",)

    def vjp(c, g, x):
        out = matrix_transpose(c.out)
        return -F.matmul(F.matmul(out, g), out)

    def samples(rng):
        yield (rng(3, 3) + 5 * np.eye(3),)
        yield (rng(2, 2, 2) + 4 * np.eye(2),)


def _relative_cutoff(x, rtol, atol):
    """What counts as zero beside the greatest singular value: rounding, unless something else is given."""
    if rtol is not None:
        return float(rtol)
    if atol is not None:
        return 0.0
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[x.dtype.name]
    return max(x.shape[-2:]) * 2.0**-digits


def pseudo_inverse(x, atol, rtol, hermitian):
    """The pseudo-inverse of matrices whose singular values up to max(atol, rtol * the greatest) count as zeros."""
    if hermitian:
        values, v = np.linalg.eigh(symmetric_part(x))
        u, vh = v, np.swapaxes(v, -1, -2)
    else:
        u, values, vh = np.linalg.svd(x, full_matrices=False)
    sizes = np.abs(values)
    nonzero = sizes > np.maximum(rtol * np.max(sizes, axis=-1, keepdims=True, initial=0), atol)
    factors = np.divide(1, values, where=nonzero, out=np.zeros(values.shape, values.dtype))
    return np.matmul(np.swapaxes(vh, -1, -2) * factors[..., None, :], np.swapaxes(u, -1, -2))


def _pinv(x, *, atol=None, rtol=None, hermitian=False):
    x = float_matrices(x, "pinv")
    if hermitian:
        square(x, "pinv(hermitian=True)")
    cutoff = _relative_cutoff(x, rtol, atol)
    return F.pinv(x, atol=0.0 if atol is None else float(atol), rtol=cutoff, hermitian=hermitian)


class Pinv(Lapack):
    """The Moore-Penrose inverse; singular values up to max(atol, rtol * the greatest) count as zeros.

    With `hermitian` it is that of the symmetric part.  The derivative holds where the rank does not change.
    """

    def infer(x: TensorType, *, atol: Number, rtol: Number, hermitian: bool = False):
        float_unary(x)
        require(x.ndim >= 2, f"pinv needs matrices, not {x}")
        if hermitian:
            square(x, "pinv(hermitian=True)")
        return tensor(x.dtype, (*x.shape[:-2], x.shape[-1], x.shape[-2]))

    flops = cubes(16)

    def numpy(x, *, atol, rtol, hermitian):
        return attempted(pseudo_inverse, x, atol=atol, rtol=rtol, hermitian=hermitian)

    call = _pinv

    def vjp(c, g, x):
        x = symmetrised(x) if c.hermitian else x
        p, pt, gt = c.out, matrix_transpose(c.out), matrix_transpose(g)
        right = F.matmul(gt, F.matmul(p, pt))
        left = F.matmul(F.matmul(pt, p), gt)
        gx = right - F.matmul(x, F.matmul(p, right)) + left - F.matmul(F.matmul(left, p), x)
        gx = gx - F.matmul(F.matmul(pt, g), pt)
        return symmetrised(gx) if c.hermitian else gx

    def samples(rng):
        zero = {"atol": 0.0, "rtol": 1e-12}
        yield rng(3, 2) + 3 * np.eye(3, 2), zero
        yield rng(2, 2, 3) + 3 * np.eye(2, 3), zero
        yield rng(2, 2) + np.diag([3.0, -3.0]), {**zero, "hermitian": True}

    errors = [
        ((F2,), {"atol": 0.0, "rtol": 0.0}, "needs matrices"),
        ((I22,), {"atol": 0.0, "rtol": 0.0}, "not defined for int64"),
        ((M23,), {"atol": 0.0, "rtol": 0.0, "hermitian": True}, "needs square matrices"),
    ]


def least_squares(a, b, rtol):
    """NumPy's least squares for batches."""
    out = np.empty((*a.shape[:-2], a.shape[-1], b.shape[-1]), a.dtype)
    for i in np.ndindex(a.shape[:-2]):
        out[i] = np.linalg.lstsq(a[i], b[i], rcond=rtol)[0]
    return out


def _lstsq(a, b, rtol=None):
    a, b = _floats(a, b)
    require(a.ndim >= 2 and b.ndim > 0, f"lstsq needs matrices and vectors, not {list(a.shape)} and {list(b.shape)}")
    vector = b.ndim == 1
    b = F.expand_dims(b, axes=(-1,)) if vector else b
    _require_fitting(a, b, "lstsq")
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]], "batch dimensions of lstsq")
    a, b = broadcast_to(a, (*batch, *a.shape[-2:])), broadcast_to(b, (*batch, *b.shape[-2:]))
    out = F.lstsq(a, b, rtol=_relative_cutoff(a, rtol, None))
    return F.squeeze(out, axes=(-1,)) if vector else out


class Lstsq(Lapack):
    """The x of least norm among those of least |a @ x - b|; singular values up to rtol * the greatest count as zeros.

    The derivative holds where the rank of a does not change.
    """

    def infer(a: TensorType, b: TensorType, *, rtol: Number):
        float_unary(a)
        require_dtype(a.dtype is b.dtype, f"dtypes differ: {a} and {b}")
        fits = a.ndim >= 2 and b.ndim >= 2 and same_shape(a.shape[:-2], b.shape[:-2])
        require(fits, f"lstsq needs matrices of one batch size, not {a} and {b}")
        _require_fitting(a, b, "lstsq")
        return tensor(a.dtype, (*a.shape[:-2], a.shape[-1], b.shape[-1]))

    flops = cubes(16)

    def numpy(a, b, *, rtol):
        return attempted(least_squares, a, b, rtol=rtol)

    call = _lstsq
    methods = ("lstsq",)

    def vjp(c, g, a, b):
        p = F.pinv(a, atol=0.0, rtol=c.rtol)
        pt, xt = matrix_transpose(p), matrix_transpose(c.out)
        gb = F.matmul(pt, g)
        if not c.needs.a:
            return None, gb
        residual = b - F.matmul(a, c.out)
        outside = F.matmul(F.matmul(residual, matrix_transpose(g)), F.matmul(p, pt))
        turned = F.matmul(pt, F.matmul(c.out, matrix_transpose(g)))
        inside = turned - F.matmul(F.matmul(turned, p), a)
        return outside + inside - F.matmul(gb, xt), gb

    def samples(rng):
        yield rng(3, 2) + 3 * np.eye(3, 2), rng(3, 2), {"rtol": 1e-12}
        yield rng(2, 2, 3) + 3 * np.eye(2, 3), rng(2, 2, 1), {"rtol": 1e-12}

    errors = [
        ((F22, F2), {"rtol": 0.0}, "needs matrices"), ((I22, I22), {"rtol": 0.0}, "not defined for int64"),
        ((F22, F32), {"rtol": 0.0}, "2 equations do not fit"),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------ exponential
class Expm(SquareMatrices):
    """The matrix exponential of square matrices."""

    def infer(x: TensorType):
        square_type(x, "expm")
        return x

    flops = cubes(20)

    def numpy(x):
        from scipy.linalg import expm

        return expm(x)

    def vjp(c, g, x):
        return F.expm_frechet(matrix_transpose(x), g)

    def samples(rng):
        yield (rng(2, 2),)
        yield (rng(2, 2, 2),)


class ExpmFrechet(Lapack):
    """The derivative of the matrix exponential at x in the direction e: the upper right of exp([[x, e], [0, x]])."""

    internal = True

    def infer(x: TensorType, e: TensorType):
        square_type(x, "expm_frechet")
        return same_type(x, e)

    flops = cubes(60)

    def numpy(x, e):
        from scipy.linalg import expm

        n = x.shape[-1]
        return expm(np.block([[x, e], [np.zeros(x.shape, x.dtype), x]]))[..., :n, n:].copy()

    def vjp(c, g, x, e):
        xt = matrix_transpose(x)
        if not c.needs.x:
            return None, F.expm_frechet(xt, g)
        # The same for the block matrix itself: its cotangent has g in the upper right.
        zeros, n = zeros_like(x), x.shape[-1]
        block = _blocks(xt, zeros, matrix_transpose(e), xt)
        whole = F.expm_frechet(block, _blocks(zeros, g, zeros, zeros))
        return _block(whole, 0, 0, n) + _block(whole, n, n, n), _block(whole, 0, n, n)

    def samples(rng):
        yield rng(2, 2), rng(2, 2)
        yield rng(2, 1, 1), rng(2, 1, 1)

    errors = [
        ((M23, M23), {}, "needs square matrices"), ((I22, I22), {}, "not defined for int64"),
        ((F22, F32), {}, "shapes differ"),
    ]  # fmt: skip


def _block(x, row, column, n):
    return F.slice(x, axes=(-2, -1), starts=(row, column), stops=(row + n, column + n), steps=(1, 1))


def _blocks(a, b, c, d):
    """The matrices [[a, b], [c, d]]."""
    return F.concat(F.concat(a, b, axis=-1), F.concat(c, d, axis=-1), axis=-2)
