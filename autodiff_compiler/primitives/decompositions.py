"""Decompositions of matrices: Cholesky, eigenvalues of symmetric matrices, singular values, QR.

All take batches of matrices.  The kernels are NumPy's and never raise for the numbers they get: where LAPACK refuses a
matrix, its result is nan throughout.  So they may be moved and repeated as any other op; the public functions ask
`check_solved` afterwards, which raises LinAlgError where finite numbers led to nan.  (NaNs in the operands lead to NaNs
in all of these functions, also where NumPy raises.)  16-bit floats are computed in float32 and rounded.

Formulas: I. Murray, Differentiation of the Cholesky decomposition (2016); M. B. Giles, Collected matrix derivative
results (2008); J. Townsend, Differentiating the singular value decomposition (2016); D. Roberts and L. Roberts, QR and
LQ decomposition matrix backpropagation algorithms (2020).
"""

from __future__ import annotations

import functools

import numpy as np

from ..dtypes import float32, int64
from ..errors import NotDifferentiableError
from ..ir.primitive import Effect, F, Primitive, call, composite
from ..ir.sizes import smallest
from ..ir.types import TensorType, same_shape, tensor
from .family import as_tensor, expand, float_unary, promoted, zeros_like
from .flops import cubes
from .linalg import square
from .requirements import require
from .samples import F2, M23
from .shape import matrix_transpose

#: Types for error samples.
F22, I22 = tensor(float32, (2, 2)), tensor(int64, (2, 2))


# ------------------------------------------------------------------------------------------------ shared
def attempted(function, x, *rest, **options):
    """The function of batches of matrices; nan throughout for every matrix of x that LAPACK refuses."""
    try:
        return function(x, *rest, **options)
    except np.linalg.LinAlgError:
        fine = np.ones(x.shape[:-2], bool)
        for i in np.ndindex(fine.shape):
            try:
                function(x[i], *[r[i] for r in rest], **options)
            except np.linalg.LinAlgError:
                fine[i] = False
        harmless = np.where(fine[..., None, None], x, np.eye(*x.shape[-2:], dtype=x.dtype))
        out = function(harmless, *rest, **options)  # raises again where the shapes are at fault
        for result in out if isinstance(out, tuple) else (out,):
            result[~fine] = np.nan
        return out


def symmetric_part(x):
    total = x + np.swapaxes(x, -1, -2)
    total *= 0.5
    return total


def float_matrices(x, what):
    """An operand as matrices of floats; integers and bools become float32."""
    (x,) = promoted(as_tensor(x), floating=True)
    require(x.ndim >= 2, f"{what} needs matrices, not a tensor of shape {list(x.shape)}")
    return x


def square_floats(x, what):
    """An operand as square matrices of floats; integers and bools become float32."""
    x = float_matrices(x, what)
    square(x, what)
    return x


def square_type(x, what):
    """The type rule of one square float matrix; returns its size."""
    float_unary(x)
    return square(x, what)


def triangle(x, lower, strict):
    """`x` with zeros outside of a triangle, and on the diagonal too if `strict`."""
    return F.tril(x, k=-1 if strict else 0) if lower else F.triu(x, k=1 if strict else 0)


def mirrored(x):
    """The symmetric matrix with the lower triangle of x."""
    return F.tril(x, k=0) + matrix_transpose(F.tril(x, k=-1))


def symmetrised(x):
    return (x + matrix_transpose(x)) * 0.5


def _of_squares(name):
    """The user-facing form of an op of square matrices."""
    return lambda x: getattr(F, name)(square_floats(x, name))


class Lapack(Primitive, abstract=True):
    """What LAPACK computes, in float32 at least."""

    blas = True
    widen = True


class SquareMatrices(Lapack, abstract=True):
    """What LAPACK computes of square matrices."""

    public = _of_squares
    errors = [((M23,), {}, "needs square matrices"), ((I22,), {}, "not defined for int64")]


class CheckSolved(Primitive):
    """`out`, the matrices made from others; LinAlgError with `message` where one is nan though its origin is finite."""

    internal = True
    effect = Effect.IO

    def infer(out: TensorType, *origins: TensorType, message: str):
        require(out.ndim >= 2, f"{out} holds no matrices")
        for t in origins:
            require(t.ndim >= 2 and same_shape(t.shape[:-2], out.shape[:-2]), f"batches differ: {out} made from {t}")
        return out

    def numpy(out, *origins, message):
        if np.isnan(out[..., :1, :1]).any():  # what LAPACK refused is nan from its first element on
            lost = np.isnan(out).all(axis=(-2, -1))
            for x in origins:
                lost &= np.isfinite(x).all(axis=(-2, -1))
            if lost.any():
                raise np.linalg.LinAlgError(message)
        return out

    view = "out"

    def vjp(c, g, *operands):
        return g, *[None for _ in operands[1:]]

    def samples(rng):
        yield rng(2, 3), rng(2, 2), {"message": "it is singular"}
        yield rng(2, 2, 1), rng(2, 3, 3), rng(2, 3, 1), {"message": "it is singular"}

    errors = [((F22, F2), {"message": ""}, "batches differ"), ((F2, F22), {"message": ""}, "holds no matrices")]


# ------------------------------------------------------------------------------------------------ Cholesky
def _cholesky(x, upper=False):
    """Lower triangular L with L @ L.T = x, or L.T if `upper`, of the symmetric part of x; the cotangent is symmetric.

    LinAlgError: x is not positive definite.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([[4.0, 0.0], [0.0, 9.0]]).cholesky().tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    x = square_floats(x, "cholesky")
    out = F.check_solved(F.cholesky(x), x, message="cholesky: the matrix is not positive definite")
    return matrix_transpose(out) if upper else out


class Cholesky(SquareMatrices):
    """Lower triangular L with L @ L.T = x, of the symmetric part of x; nan where it is not positive definite.

    The cotangent is symmetric.
    """

    def infer(x: TensorType):
        square_type(x, "cholesky")
        return x

    flops = cubes(1, 3)

    def numpy(x):
        return attempted(np.linalg.cholesky, symmetric_part(x))

    call = _cholesky
    methods = ("cholesky",)

    def vjp(c, g, x):
        inner = mirrored(F.matmul(matrix_transpose(c.out), g))
        half = F.triangular_solve(c.out, inner, lower=True, transpose=True)
        return F.triangular_solve(c.out, matrix_transpose(half), lower=True, transpose=True) * 0.5

    def samples(rng):
        for shape in ((3, 3), (2, 2, 2)):
            yield (0.3 * rng(*shape) + 3 * np.eye(shape[-1]),)


# ------------------------------------------------------------------------------------------------ symmetric matrices
class Eigh(SquareMatrices):
    """Eigenvalues in ascending order and eigenvectors, in columns, of the symmetric part of x.

    The sign of an eigenvector is LAPACK's choice, so only functions that do not depend on it have a meaning.  Where
    eigenvalues coincide, their eigenvectors are any basis: cotangents of eigenvectors lead to inf or nan there, as do
    second derivatives of eigenvalues.
    """

    multiple = True

    def infer(x: TensorType):
        square_type(x, "eigh")
        return tensor(x.dtype, x.shape[:-1]), x

    flops = cubes(9)

    def numpy(x):
        return attempted(np.linalg.eigh, symmetric_part(x))

    def vjp(c, gs, x):
        w, v = c.outs
        inner = None if gs[0] is None else _embedded(gs[0])
        if gs[1] is not None:
            of_rows, of_cols = _crossed(w)
            identity = _identities(w)
            turn = F.matmul(matrix_transpose(v), gs[1]) * (1 / (of_cols - of_rows + identity) - identity)
            inner = turn if inner is None else inner + turn
        return symmetrised(F.matmul(F.matmul(v, inner), matrix_transpose(v)))

    def samples(rng):
        yield (rng(3, 3) + np.diag([0.0, 4.0, 9.0]),)
        yield (rng(2, 2, 2) + np.diag([0.0, 5.0]),)


def _embedded(w):
    return F.diag_embed(w, offset=0, rows=w.shape[-1], cols=w.shape[-1])


def _identities(w):
    """Identity matrices, one per vector of w."""
    return _embedded(call.ones(w.shape, w.dtype))


def _crossed(w):
    """The vectors of w along the rows of square matrices, and along their columns: w[i] and w[j] at [i, j]."""
    shape = (*w.shape, w.shape[-1])
    return expand(w, (-1,), shape), expand(w, (-2,), shape)


class Eigvalsh(SquareMatrices):
    """Eigenvalues of the symmetric part of x, in ascending order; where some coincide, see `eigh`."""

    def infer(x: TensorType):
        square_type(x, "eigvalsh")
        return tensor(x.dtype, x.shape[:-1])

    flops = cubes(4, 3)

    def numpy(x):
        return attempted(np.linalg.eigvalsh, symmetric_part(x))

    def vjp(c, g, x):
        _, v = F.eigh(x)
        return F.matmul(v * expand(g, (-2,), v.shape), matrix_transpose(v))

    samples = Eigh.samples


# ------------------------------------------------------------------------------------------------ singular values
def _matrix_type(x, what):
    float_unary(x)
    require(x.ndim >= 2, f"{what} needs matrices, not {x}")
    return x.shape[:-2], *x.shape[-2:], smallest(*x.shape[-2:])


class Svd(Lapack):
    """u, s, vh with x = u @ diag(s) @ vh: singular values in descending order, singular vectors in orthonormal columns
    of u and rows of vh; with ``full_matrices`` u and vh are square.

    The signs of singular vectors are LAPACK's choice.  Where singular values coincide, or one is 0 and x is not square,
    cotangents of singular vectors lead to inf or nan.  The vectors that only full matrices have carry no derivative.
    """

    multiple = True

    def infer(x: TensorType, *, full_matrices: bool = False):
        batch, m, n, k = _matrix_type(x, "svd")
        u, vh = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
        return tensor(x.dtype, (*batch, *u)), tensor(x.dtype, (*batch, k)), tensor(x.dtype, (*batch, *vh))

    flops = cubes(14)

    def numpy(x, *, full_matrices):
        return attempted(np.linalg.svd, x, full_matrices=full_matrices)

    call = lambda x, full_matrices=False: F.svd(float_matrices(x, "svd"), full_matrices=full_matrices)

    def vjp(c, gs, x):
        gu, gs, gvh = gs
        if c.full_matrices and x.shape[-1] != x.shape[-2]:
            _require_reduced(gu is None and gvh is None, "svd", "full_matrices=False")
            return _from_singular_values(gs, x)
        u, s, vh = c.outs
        of_rows, of_cols = _crossed(s)
        gaps = (of_cols - of_rows) * (of_cols + of_rows) + _identities(s)
        parts = [] if gs is None else [F.matmul(F.matmul(u, _embedded(gs)), vh)]
        if gu is not None:
            turn = F.matmul(matrix_transpose(u), gu)
            inner = (turn - matrix_transpose(turn)) / gaps * of_cols
            parts.append(F.matmul(F.matmul(u, inner), vh))
            if x.shape[-2] != s.shape[-1]:
                parts.append(F.matmul((gu - F.matmul(u, turn)) / expand(s, (-2,), gu.shape), vh))
        if gvh is not None:
            turn = F.matmul(gvh, matrix_transpose(vh))
            inner = (matrix_transpose(turn) - turn) / gaps * of_rows
            parts.append(F.matmul(F.matmul(u, inner), vh))
            if x.shape[-1] != s.shape[-1]:
                parts.append(F.matmul(u, (gvh - F.matmul(turn, vh)) / expand(s, (-1,), gvh.shape)))
        return functools.reduce(lambda a, b: a + b, parts)

    def samples(rng):
        yield (rng(2, 2) + np.diag([4.0, 1.0]),)
        yield (rng(3, 2) + 3 * np.eye(3, 2) * [2.0, 1.0],)
        yield (rng(2, 2, 3) + 3 * np.eye(2, 3) * [[2.0], [1.0]],)

    errors = [((F2,), {}, "needs matrices"), ((I22,), {}, "not defined for int64")]


@composite("svd", internal=True)
def decomposed(x, full_matrices=False, compute_uv=True):
    """MindSpore's order of `svd`: s, u, v with x = u @ diag(s) @ v.T, or s alone without `compute_uv`."""
    if not compute_uv:
        return call.svdvals(x)
    # MindSpore 2.10: the order is s, u, v, with x = u @ diag(s) @ v.T.
    u, s, vh = call.svd(x, full_matrices)
    return s, u, matrix_transpose(vh)


def _require_reduced(condition, what, advice):
    if not condition:
        raise NotDifferentiableError(
            f"the columns that only the full factors of {what} have are any basis: they carry no derivative",
            hint=f"use {advice}",
        )


def _from_singular_values(g, x):
    u, _, vh = F.svd(x, full_matrices=False)
    return F.matmul(u * expand(g, (-2,), u.shape), vh)


class Svdvals(Lapack):
    """Singular values in descending order; where some coincide or are 0, see `svd`."""

    def infer(x: TensorType):
        batch, _, _, k = _matrix_type(x, "svdvals")
        return tensor(x.dtype, (*batch, k))

    flops = cubes(8, 3)

    def numpy(x):
        return attempted(np.linalg.svd, x, compute_uv=False)

    call = lambda x: F.svdvals(float_matrices(x, "svdvals"))

    def vjp(c, g, x):
        return _from_singular_values(g, x)

    def samples(rng):
        yield (rng(3, 2) + 3 * np.eye(3, 2) * [2.0, 1.0],)
        yield (rng(2, 2, 3) + 3 * np.eye(2, 3) * [[2.0], [1.0]],)

    errors = [((F2,), {}, "needs matrices"), ((I22,), {}, "not defined for int64")]


# ------------------------------------------------------------------------------------------------ QR
class Qr(Lapack):
    """q, r with x = q @ r: orthonormal columns and an upper triangle; with ``complete`` q is square.

    The signs of r's diagonal are LAPACK's choice.  The derivative needs linearly independent columns (of the leading
    square block, if x is wide); a complete q of a tall x carries none.
    """

    multiple = True

    def infer(x: TensorType, *, complete: bool = False):
        batch, m, n, k = _matrix_type(x, "qr")
        inner = m if complete else k
        return tensor(x.dtype, (*batch, m, inner)), tensor(x.dtype, (*batch, inner, n))

    flops = cubes(8, 3)

    def numpy(x, *, complete):
        return np.linalg.qr(x, "complete" if complete else "reduced")

    call = lambda x, complete=False: F.qr(float_matrices(x, "qr"), complete=complete)

    def vjp(c, gs, x):
        q, r = c.outs
        gq, gr = gs
        m, n = x.shape[-2:]
        if c.complete:
            _require_reduced(smallest(m, n) is m or m == n, "qr", "complete=False")
        if m == n or smallest(m, n) == n:
            return _qr_cotangent(q, r, gq, gr)
        # Wide: q and the leading block of r come from the leading columns, and the rest of r is q.T @ the others.
        if gr is None:
            ga, others = _qr_cotangent(q, _columns(r, 0, m), gq, None), None
        else:
            others = _columns(gr, m, n)
            through = F.matmul(_columns(x, m, n), matrix_transpose(others))
            ga = _qr_cotangent(q, _columns(r, 0, m), through if gq is None else gq + through, _columns(gr, 0, m))
        gb = zeros_like(_columns(x, m, n)) if others is None else F.matmul(q, others)
        return F.concat(ga, gb, axis=-1)

    def samples(rng):
        yield (rng(2, 2) + np.diag([3.0, 3.0]),)
        yield (rng(3, 2) + 3 * np.eye(3, 2),)
        yield (rng(2, 2, 3) + 3 * np.eye(2, 3),)

    errors = [((F2,), {}, "needs matrices"), ((I22,), {}, "not defined for int64")]


@composite("qr", internal=True)
def factored(x, some=True):
    """`qr` as a method: q and r, reduced unless `some` is False."""
    return call.qr(x, complete=not some)


def _columns(x, start, stop):
    return F.slice(x, axes=(-1,), starts=(start,), stops=(stop,), steps=(1,))


def _qr_cotangent(q, r, gq, gr):
    """The cotangent of a matrix with at least as many rows as columns; one of `gq` and `gr` may be None."""
    inner = None if gr is None else F.matmul(r, matrix_transpose(gr))
    if gq is not None:
        turn = F.matmul(matrix_transpose(gq), q)
        inner = -turn if inner is None else inner - turn
    whole = F.matmul(q, mirrored(inner))
    if gq is not None:
        whole = whole + gq
    return matrix_transpose(F.triangular_solve(r, matrix_transpose(whole), lower=False, transpose=False))
