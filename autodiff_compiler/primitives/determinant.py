"""Determinants and cofactors; the kernels give nan instead of raising, as in `decompositions`.

Formulas: M. B. Giles, Collected matrix derivative results (2008).
"""

from __future__ import annotations

import numpy as np

from ..ir.primitive import F, composite
from ..ir.types import TensorType, tensor
from .decompositions import I22, Lapack, SquareMatrices, attempted, square_floats, square_type
from .family import expand, same_type
from .flops import cubes
from .samples import M23
from .shape import matrix_transpose


class Det(SquareMatrices):
    """Determinants of square matrices."""

    def infer(x: TensorType):
        square_type(x, "det")
        return tensor(x.dtype, x.shape[:-2])

    flops = cubes(2, 3)

    def numpy(x):
        return np.linalg.det(x)

    methods = ("det", "matrix_determinant")

    def vjp(c, g, x):
        return expand(g, (-2, -1), x.shape) * F.cofactor(x)

    def samples(rng):
        yield (rng(3, 3) + np.eye(3),)
        yield (rng(2, 2, 2) + 2 * np.eye(2),)

    ties = [
        (([[1.0, 2.0], [2.0, 4.0]],), {}, ([[4.0, -2.0], [-2.0, 1.0]],)),
        (([[0.0, 0.0], [0.0, 3.0]],), {}, ([[3.0, 0.0], [0.0, 0.0]],)),
        (([[0.0, 0.0], [0.0, 0.0]],), {}, ([[0.0, 0.0], [0.0, 0.0]],)),
    ]


def cofactors_of_any(x):
    """Cofactors by singular values: exact products of all but one, also where some are zero."""
    u, s, vh = np.linalg.svd(x)
    others = np.ones_like(s)
    others[..., 1:] = np.cumprod(s, axis=-1)[..., :-1]
    others[..., :-1] *= np.cumprod(s[..., ::-1], axis=-1)[..., ::-1][..., 1:]
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return np.matmul(u * others[..., None, :], vh) * sign


class Cofactor(Lapack):
    """Matrices of cofactors, the derivative of the determinant: det(x) * inverse(x).T, defined for a singular x too."""

    internal = True

    def infer(x: TensorType):
        square_type(x, "cofactor")
        return x

    flops = cubes(16)

    def numpy(x):
        try:
            inverse = np.linalg.inv(x)
            condition = np.max(np.abs(inverse), initial=0) * np.max(np.abs(x), initial=0)
            safe = bool(condition**2 * np.finfo(x.dtype).eps < 1)
        except np.linalg.LinAlgError:
            safe = False
        if not safe:
            return attempted(cofactors_of_any, x)
        return np.swapaxes(inverse, -1, -2) * np.expand_dims(np.linalg.det(x), (-2, -1))

    def vjp(c, g, x):
        return F.cofactor_slope(x, g)

    def samples(rng):
        yield (rng(3, 3) + np.eye(3),)
        yield (rng(2, 2, 2) + 2 * np.eye(2),)

    errors = SquareMatrices.errors
    ties = [(([[0.0, 0.0], [0.0, 3.0]],), {}, ([[1.0, -1.0], [-1.0, 1.0]],))]


def cofactor_slopes(x, g):
    """The derivative of the cofactors of x along g, in the bases of the singular vectors, where x is diagonal.

    There the cofactors i, i and i, j change with the elements j, j and j, i by the product of all singular values but
    the i-th and the j-th (and the opposite of it).
    """
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    others = np.zeros_like(x)
    for i in range(n):
        for j in range(i):
            rest = [k for k in range(n) if k != i and k != j]
            others[..., i, j] = others[..., j, i] = np.prod(s[..., rest], axis=-1)
    turned = np.matmul(np.matmul(np.swapaxes(u, -1, -2), g), np.swapaxes(vh, -1, -2))
    slope = -others * np.swapaxes(turned, -1, -2)
    diagonal = np.arange(n)
    slope[..., diagonal, diagonal] = np.matmul(others, turned[..., diagonal, diagonal, None])[..., 0]
    return np.matmul(np.matmul(u, slope), vh) * sign


class CofactorSlope(Lapack):
    """The derivative of `cofactor` at x along g, which is linear and symmetric; defined where x is singular.

    Its own derivative by x is only defined where x is not.
    """

    internal = True

    def infer(x: TensorType, g: TensorType):
        square_type(x, "cofactor_slope")
        return same_type(x, g)

    flops = cubes(24)

    def numpy(x, g):
        return attempted(cofactor_slopes, x, g)

    def vjp(c, ct, x, g):
        gx = _cofactor_curvature(x, g, ct) if c.needs.x else None
        return gx, (F.cofactor_slope(x, ct) if c.needs.g else None)

    def samples(rng):
        yield rng(3, 3) + np.eye(3), rng(3, 3)
        yield rng(2, 2, 2) + 2 * np.eye(2), rng(2, 2, 2)

    errors = [((M23, M23), {}, "needs square matrices"), ((I22, I22), {}, "not defined for int64")]


def _cofactor_curvature(x, g, h):
    """The gradient by x of det(x) (tr(k g) tr(k h) - tr(k g k h)), k being the inverse of x: a third derivative."""
    k = F.inverse(x)
    kg, kh = F.matmul(k, g), F.matmul(k, h)

    def total(matrix):
        return expand(F.sum(matrix, axes=(-2, -1), keepdims=True), (), x.shape, keepdims=True)

    along_g, along_h, both = (total(p * matrix_transpose(q)) for p, q in ((k, g), (k, h), (kg, kh)))
    det = expand(F.expand_dims(F.det(x), axes=(-2, -1)), (), x.shape, keepdims=True)
    turned = along_h * kg + along_g * kh - F.matmul(kg, kh) - F.matmul(kh, kg)
    return matrix_transpose(det * ((along_g * along_h - both) * k - F.matmul(turned, k)))


class Slogdet(SquareMatrices):
    """Sign and logarithm of the absolute value of determinants.

    They are 0 and -inf where x is singular, and the cotangent is nan there.
    """

    multiple = True

    def infer(x: TensorType):
        square_type(x, "slogdet")
        number = tensor(x.dtype, x.shape[:-2])
        return number, number

    flops = cubes(2, 3)

    def numpy(x):
        return np.linalg.slogdet(x)

    methods = ("slogdet", "log_matrix_determinant")

    def vjp(c, gs, x):
        if gs[1] is None:  # the sign is constant where it has a derivative
            return None
        return expand(gs[1], (-2, -1), x.shape) * matrix_transpose(F.inverse(x))

    def samples(rng):
        yield (rng(3, 3) + 3 * np.eye(3),)
        yield (rng(2, 2, 2) - 3 * np.eye(2),)


@composite("logdet")
def logdet(x):
    """Logarithm of determinants: -inf where one is 0, nan where it is negative."""
    sign, logarithm = F.slogdet(square_floats(x, "logdet"))
    return F.select(F.less(sign, 0), float("nan"), logarithm)
