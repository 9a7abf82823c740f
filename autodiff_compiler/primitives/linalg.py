"""Products of matrices and vectors, and diagonals."""

from __future__ import annotations

import numpy as np

from ..dtypes import float32
from ..ir.core import Value
from ..ir.primitive import F, Primitive, call, composite
from ..ir.sizes import largest, smallest
from ..ir.types import Size, TensorType, dim_product, same_dim, same_shape, tensor
from .family import (
    as_tensor,
    broadcast_shapes,
    broadcast_to,
    cast,
    is_tensor,
    normal_axis,
    number_binary,
    promoted_dtype,
)
from .flops import size_of_type
from .requirements import require, require_dtype, static_int
from .samples import F2, F3, M23
from .shape import matrix_transpose, permuted


# ------------------------------------------------------------------------------------------------ matmul
def _matmul(a, b):
    """The matrix product over the last two dimensions, in the common dtype; leading dimensions broadcast.

    An operand of one dimension is a row on the left and a column on the right, as in NumPy.  ShapeError: sizes that do
    not fit, or a number.

    >>> from autodiff_compiler import ops
    >>> ops.matmul(ops.ones((5, 2, 3)), ops.ones((3, 4))).shape
    (5, 2, 4)
    """
    if is_tensor(a) and is_tensor(b) and a.dtype is b.dtype and a.ndim == b.ndim == 2:
        return F.matmul(a, b)  # fast path: finding out that nothing is to convert takes longer than a small product
    a, b = promoted_dtype(a, b)
    require(a.ndim > 0 and b.ndim > 0, "matmul needs at least one dimension on both sides: multiply by a scalar with *")
    _require_inner(a, b)
    row, column = a.ndim == 1, b.ndim == 1
    a = F.expand_dims(a, axes=(-2,)) if row else a
    b = F.expand_dims(b, axes=(-1,)) if column else b
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
    k, n = a.shape[-1], b.shape[-min(b.ndim, 2)]
    if a.ndim > 1 and b.ndim > 1:
        hint = "columns of the left matrix meet rows of the right one; transpose one of them"
    else:
        sides = "element" if a.ndim == 1 else "column", "element" if b.ndim == 1 else "row"
        hint = f"each {sides[0]} of the left one meets one {sides[1]} of the right one"
    require(same_dim(k, n), f"inner sizes differ: {_text(a)} @ {_text(b)}: {k} != {n}", hint, between=(k, n))


def _text(x):
    return "[" + ",".join(map(str, x.shape)) + "]"


class Matmul(Primitive):
    """Matrix product over the last two dimensions; the others are batches of equal sizes."""

    def infer(a: TensorType, b: TensorType):
        require(a.ndim >= 2 and b.ndim >= 2, f"matmul of {a} and {b}: both need two dimensions")
        require_dtype(a.dtype is b.dtype and not a.dtype.is_bool, f"matmul is not defined for {a} and {b}")
        _require_inner(a, b)
        batches = a.shape[:-2], b.shape[:-2]
        require(same_shape(*batches), f"batch dimensions differ: {a} @ {b}", between=batches)
        return tensor(a.dtype, (*a.shape[:-1], b.shape[-1]))

    flops = lambda a, b: 2 * size_of_type(a) * b.shape[-1]
    blas = True

    def numpy(a, b):
        return np.matmul(a, b)

    def aclnn(c, a, b):
        c.product(a, b)

    def batch(c, n, a, b):
        if c.needs.a and not c.needs.b and b.ndim == 2:
            return _matmul(a, b)
        a, b = [x if had else broadcast_to(x, (n, *x.shape)) for x, had in ((a, c.needs.a), (b, c.needs.b))]
        return F.matmul(a, b)

    widen = True
    call = _matmul
    methods = ("__matmul__", "__rmatmul__", "matmul")

    def vjp(c, g, a, b):
        ga = _product(g, matrix_transpose(b), _is_column_major(a)) if c.needs.a else None
        return ga, (_product(matrix_transpose(a), g, _is_column_major(b)) if c.needs.b else None)

    def samples(rng):
        yield rng(3, 4), rng(4, 2)
        yield rng(2, 3, 4), rng(2, 4, 1)
        yield rng(2, 0), rng(0, 3)

    errors = [
        ((tensor(float32, (2, 3)), tensor(float32, (4, 5))), {}, "inner sizes differ: [2,3] @ [4,5]: 3 != 4"),
        ((tensor(float32, (2, 2)), F2), {}, "two dimensions"),
        ((tensor(float32, (1, 2, 2)), tensor(float32, (3, 2, 2))), {}, "batch dimensions differ"),
    ]


def _is_column_major(x):
    """Whether matrices lie in memory column by column, as transposed views do: x @ weight.T."""
    if x.__class__ is Value:
        return x.made_by("transpose") and x.op.attrs[0][-2] % x.ndim == x.ndim - 1
    return x._data.strides[-2] < x._data.strides[-1]


def _product(a, b, column_major):
    """a @ b; its matrices lie in memory column by column if `column_major`.

    A cotangent with the layout of its operand is row-major again once the transposition is undone.
    """
    return matrix_transpose(F.matmul(matrix_transpose(b), matrix_transpose(a))) if column_major else F.matmul(a, b)


# ------------------------------------------------------------------------------------------------ named products
def _sized(x, ndim, parameter, function):
    x = as_tensor(x, parameter)
    require(x.ndim == ndim, f"`{parameter}` of {function} must have {ndim} dimension{'s' * (ndim > 1)}, not {x.ndim}")
    return x


@composite("mm")
def mm(a, b):
    """Product of two matrices, without batches and without broadcasting."""
    return _matmul(_sized(a, 2, "a", "mm"), _sized(b, 2, "b", "mm"))


@composite()
def mv(a, x):
    """Product of a matrix and a vector."""
    return _matmul(_sized(a, 2, "a", "mv"), _sized(x, 1, "x", "mv"))


@composite("bmm")
def bmm(a, b):
    """Products of the matrices of two batches of equal size, which may have several dimensions."""
    a, b = promoted_dtype(a, b)
    require(
        a.ndim >= 3 and same_shape(a.shape[:-2], b.shape[:-2]),
        f"bmm needs two batches of matrices of one size, not {_text(a)} and {_text(b)}",
        hint="matmul broadcasts batches",
    )
    return _matmul(a, b)


@composite("dot")
def dot(a, b):
    """NumPy's dot: the last dimension of a against the last but one of b (its only one); numbers scale."""
    a, b = promoted_dtype(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return call.mul(a, b)
    if b.ndim <= 2:
        return _matmul(a, b)
    return call.tensordot(a, b, ([-1], [-2]))


@composite()
def vecdot(a, b, axis=-1):
    """Sum over an axis of the products of two tensors, which broadcast."""
    a, b = promoted_dtype(a, b)
    require_dtype(not a.dtype.is_bool, "vecdot is not defined for bools")
    shape = broadcast_shapes([a.shape, b.shape])
    axis = normal_axis(axis, len(shape))
    if axis != -1 or not a.dtype.is_float:
        return kept_sum(call.mul(a, b), axis)
    a, b = [broadcast_to(x, shape) for x in (a, b)]
    product = F.matmul(F.expand_dims(a, axes=(-2,)), F.expand_dims(b, axes=(-1,)))
    return F.squeeze(product, axes=(-2, -1))


def kept_sum(x, axes):
    """Sum over axes in the dtype of x, as products of matrices sum."""
    return cast(call.sum(x, axes), x.dtype)


@composite("outer", "ger")
def outer(a, b):
    """Products of every element of a and every element of b, both flat: [i, j] is a[i] * b[j]."""
    a, b = promoted_dtype(a, b)
    return call.mul(call.reshape(a, (-1, 1)), call.reshape(b, (1, -1)))


def _cross(a, b, axis=None):
    """Cross products of vectors of three elements along an axis, by default the first of size 3; they broadcast.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([1, 0, 0]).cross(Tensor([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    a, b = promoted_dtype(a, b)
    shape = broadcast_shapes([a.shape, b.shape])
    if axis is None:
        require(3 in shape, f"cross needs an axis of size 3, but the shape is {list(shape)}")
        axis = shape.index(3)
    axis = normal_axis(axis, len(shape))
    require(shape[axis] == 3, f"cross needs an axis of size 3, but axis {axis} of {list(shape)} has {shape[axis]}")
    a, b = [call.swapaxes(broadcast_to(x, shape), axis, -1) for x in (a, b)]
    return call.swapaxes(F.cross(a, b), axis, -1)


class Cross(Primitive):
    """Cross products of vectors of three elements, in the last dimension."""

    def infer(a: TensorType, b: TensorType):
        number_binary(a, b)
        require(a.ndim > 0 and a.shape[-1] == 3, f"cross needs vectors of 3 elements, not {a}")
        return a

    def numpy(a, b):
        return np.cross(a, b)

    widen = True
    call = _cross
    methods = ("cross",)

    def decomposed(c, a, b):
        a, b = [[F.slice(x, axes=(-1,), starts=(i,), stops=(i + 1,), steps=(1,)) for i in (1, 2, 0)] for x in (a, b)]
        return F.concat(*[a[i] * b[i - 2] - a[i - 2] * b[i] for i in range(3)], axis=-1)

    def vjp(c, g, a, b):
        return F.cross(b, g), F.cross(g, a)

    def samples(rng):
        yield rng(3), rng(3)
        yield rng(2, 1, 3), rng(2, 1, 3)

    errors = [((F2, F2), {}, "vectors of 3 elements"), ((F2, F3), {}, "shapes differ")]


@composite("kron")
def kron(a, b):
    """Kronecker product: blocks a[i, j] * b; the tensor with fewer dimensions gets leading ones of size 1."""
    a, b = promoted_dtype(a, b)
    n = max(a.ndim, b.ndim)
    outer_sizes = (1,) * (n - a.ndim) + a.shape
    inner_sizes = (1,) * (n - b.ndim) + b.shape
    spread = tuple([d for size in outer_sizes for d in (size, 1)])
    tiled = tuple([d for size in inner_sizes for d in (1, size)])
    product = call.mul(F.reshape(a, shape=spread), F.reshape(b, shape=tiled))
    sizes = tuple([dim_product(pair) for pair in zip(outer_sizes, inner_sizes, strict=True)])
    return F.reshape(product, shape=sizes)


def _scaled_sum(x, product, beta, alpha):
    """beta * x + alpha * product; a factor of the number 1 costs nothing."""
    x, product = promoted_dtype(x, product)
    if not (isinstance(alpha, int | float) and alpha == 1):
        product = call.mul(product, alpha)
    if not (isinstance(beta, int | float) and beta == 1):
        x = call.mul(x, beta)
    return call.add(x, product)


@composite("addmm")
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2) of matrices; `input` broadcasts."""
    return _scaled_sum(input, mm(mat1, mat2), beta, alpha)


@composite("addmv")
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """beta * input + alpha * (mat @ vec) of a matrix and a vector; `input` broadcasts."""
    return _scaled_sum(input, mv(mat, vec), beta, alpha)


@composite("addr")
def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """beta * input + alpha * outer(vec1, vec2) of vectors; `input` broadcasts."""
    return _scaled_sum(input, outer(_sized(vec1, 1, "vec1", "addr"), _sized(vec2, 1, "vec2", "addr")), beta, alpha)


@composite("baddbmm")
def baddbmm(input, batch1, batch2, beta=1, alpha=1):
    """beta * input + alpha * bmm(batch1, batch2); `input` broadcasts."""
    return _scaled_sum(input, bmm(batch1, batch2), beta, alpha)


@composite("addbmm")
def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * the sum over the batch of batch1 @ batch2; `input` broadcasts."""
    a, b = _sized(batch1, 3, "batch1", "addbmm"), _sized(batch2, 3, "batch2", "addbmm")
    require(same_dim(a.shape[0], b.shape[0]), f"addbmm needs batches of one size, not {_text(a)} and {_text(b)}")
    _require_inner(a, b)
    return _scaled_sum(input, call.einsum("bik,bkj->ij", a, b), beta, alpha)


@composite("matrix_power")
def matrix_power(x, n):
    """A square matrix times itself, n times; the inverse's power for negative n, the identity for 0."""
    x = as_tensor(x)
    size = square(x, "matrix_power")
    n = static_int(n, "n")
    if n < 0:
        x, n = call.inverse(x), -n
    if n == 0:
        ones = call.ones(x.shape[:-1], x.dtype)
        return F.diag_embed(ones, offset=0, rows=size, cols=size)
    out = None
    while True:  # squares, and the product of those that n is made of
        if n & 1:
            out = x if out is None else F.matmul(out, x)
        n >>= 1
        if n == 0:
            return out
        x = F.matmul(x, x)


def square(x, what):
    """The size of the square matrices in x; ShapeError if they are none."""
    fits = x.ndim >= 2 and same_dim(x.shape[-1], x.shape[-2])
    require(fits, f"{what} needs square matrices, not a tensor of shape {list(x.shape)}")
    return x.shape[-1]


# ------------------------------------------------------------------------------------------------ diagonals
def _diagonal_length(rows, cols, offset):
    if offset == 0 and same_dim(rows, cols):
        return rows
    return largest(0, smallest(rows, cols - offset) if offset >= 0 else smallest(rows + offset, cols))


def _diagonal(x, offset=0, axis1=0, axis2=1):
    """A diagonal of two axes, as the last dimension: elements i of `axis1` and i + offset of `axis2`.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([[1, 2], [3, 4]]).diagonal().tolist()
    [1, 4]
    """
    x = as_tensor(x)
    require(x.ndim >= 2, f"a tensor of {x.ndim} dimension{'s' * (x.ndim != 1)} has no diagonal")
    pair = (normal_axis(axis1, x.ndim, "axis1"), normal_axis(axis2, x.ndim, "axis2"))
    require(pair[0] != pair[1], f"a diagonal runs along two axes, not along axis {axis1} twice")
    order = (*[a for a in range(-x.ndim, 0) if a not in pair], *pair)
    return F.diagonal(permuted(x, order), offset=static_int(offset, "offset"))


class Diagonal(Primitive):
    """The elements [..., i, i + offset], as the last dimension."""

    def infer(x: TensorType, *, offset: int = 0):
        require(x.ndim >= 2, f"{x} has no diagonal: it needs two dimensions")
        rows, cols = x.shape[-2:]
        return tensor(x.dtype, (*x.shape[:-2], _diagonal_length(rows, cols, offset)))

    def numpy(x, *, offset):
        return np.diagonal(x, offset, -2, -1)

    view = "x"
    call = _diagonal
    methods = ("diagonal",)

    def aclnn(c, x):
        c.give(x.diagonal(c.offset, c.out.shape[-1]))

    def vjp(c, g, x):
        return F.diag_embed(g, offset=c.offset, rows=x.shape[-2], cols=x.shape[-1])

    def samples(rng):
        yield rng(3, 3), {}
        yield rng(2, 3, 4), {"offset": 2}
        yield rng(3, 2), {"offset": -1}
        yield rng(2, 2), {"offset": 5}

    errors = [((F2,), {}, "has no diagonal")]


def _diag_embed(x, offset=0, dim1=-2, dim2=-1):
    x = as_tensor(x)
    require(x.ndim >= 1, "diag_embed needs at least one dimension")
    offset = static_int(offset, "offset")
    size = x.shape[-1]
    size = size + abs(offset)
    out = F.diag_embed(x, offset=offset, rows=size, cols=size)
    a, b = normal_axis(dim1, out.ndim, "dim1"), normal_axis(dim2, out.ndim, "dim2")
    require(a != b, f"a diagonal runs along two axes, not along axis {dim1} twice")
    rest = iter(range(-out.ndim, -2))
    return permuted(out, tuple([{a: -2, b: -1}.get(i) or next(rest) for i in range(-out.ndim, 0)]))


class DiagEmbed(Primitive):
    """Matrices of zeros with the last dimension of x on the diagonal [..., i, i + offset]."""

    def infer(x: TensorType, *, offset: int, rows: Size, cols: Size):
        require(x.ndim >= 1, "a number is no diagonal: it needs one dimension")
        length = _diagonal_length(rows, cols, offset)
        require(same_dim(x.shape[-1], length), f"the diagonal {offset} of [{rows},{cols}] has {length} elements: {x}")
        return tensor(x.dtype, (*x.shape[:-1], rows, cols))

    def numpy(x, *, offset, rows, cols):
        out = np.zeros((*x.shape[:-1], rows, cols), x.dtype)
        n, first = x.shape[-1], max(offset, 0) + max(-offset, 0) * cols
        out.reshape(*x.shape[:-1], rows * cols)[..., first :: cols + 1][..., :n] = x
        return out

    call = _diag_embed
    methods = ("diag_embed",)

    def aclnn(c, x):
        c.op("InplaceFillScalar", c.out, 0)
        if x.size:
            c.copy(c.out.diagonal(c.offset, x.shape[-1]), x)

    def vjp(c, g, x):
        return F.diagonal(g, offset=c.offset)

    def samples(rng):
        yield rng(3), {"offset": 0, "rows": 3, "cols": 3}
        yield rng(2, 2), {"offset": 1, "rows": 2, "cols": 4}
        yield rng(2), {"offset": -1, "rows": 3, "cols": 2}
        yield rng(0), {"offset": 5, "rows": 2, "cols": 2}

    errors = [
        ((M23,), {"offset": 1, "rows": 3, "cols": 3}, "has 2 elements"),
        ((F2,), {"offset": 0, "rows": 2, "cols": 1}, "has 1 elements"),
    ]


@composite("diag")
def diag(x, k=0):
    """A vector as the diagonal k of a matrix, or the diagonal k of a matrix as a vector."""
    x = as_tensor(x)
    require(1 <= x.ndim <= 2, f"diag takes a vector or a matrix, not {x.ndim} dimensions: see diagonal and diag_embed")
    return _diag_embed(x, k) if x.ndim == 1 else _diagonal(x, k)


@composite("diagflat")
def diagflat(x, offset=0):
    """All elements of x on a diagonal of a matrix of zeros."""
    return _diag_embed(call.flatten(x), offset)


@composite("trace")
def trace(x, offset=0, axis1=0, axis2=1, dtype=None):
    """Sum along a diagonal of two axes; smaller integers and bools are summed as int64, as in `sum`."""
    return call.sum(_diagonal(x, offset, axis1, axis2), -1, dtype)


@composite()
def vander(x, n=None):
    """The Vandermonde matrix of a vector: its powers n - 1, ..., 1, 0 as columns, by default a square one."""
    x = as_tensor(x)
    require(x.ndim == 1, f"vander takes a vector, not {x.ndim} dimensions")
    count = x.shape[0] if n is None else static_int(n, "N")
    require(count >= 0, f"a matrix has no {count} columns")
    if count == 0:
        return call.zeros((x.shape[0], 0), x.dtype)
    column = call.expand_dims(x, 1)
    factors = [call.ones_like(column), call.broadcast_to(column, (x.shape[0], count - 1))]
    powers = call.cumprod(call.concat(factors, 1), 1)  # products: pow(0, 0) has no derivative
    return call.flip(cast(powers, x.dtype), 1)
