"""Ops that move elements without computing on them, and the sizes of tensors as values."""

from __future__ import annotations

from math import prod

import numpy as np

from ..dtypes import int64
from ..errors import DynamicShapeError, ShapeError
from ..ir.core import Value
from ..ir.primitive import F, Ints, Primitive, composite
from ..ir.sizes import depends_on_data, is_at_most, may_be_at_most, quotients_of, refuse_unknown
from ..ir.types import (
    Dim,
    Shape,
    Size,
    TensorType,
    dim_product,
    has_erased_sizes,
    known_same,
    same_dim,
    same_shape,
    tensor,
)
from .family import (
    as_shape,
    as_tensor,
    broadcast_to,
    cast,
    normal_axes,
    normal_axis,
    number,
    promoted_dtype,
    rows,
    same_type,
    sum_to,
)
from .requirements import require
from .samples import D2, F2, F3


# ------------------------------------------------------------------------------------------------ one operand
def _reshape(x, *shape):
    """The same elements in row-major order under another shape, of which one size may be -1.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([[1, 2, 3], [4, 5, 6]]).reshape(3, -1).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    x = as_tensor(x)
    return F.reshape(x, shape=_completed(as_shape(shape), x.shape))


def _completed(shape, source):
    """The shape with its one -1 replaced by the size that fits."""
    if -1 not in shape:
        return shape
    require(shape.count(-1) == 1, f"shape {list(shape)} leaves more than one size open")
    total, rest = prod(source), prod([d for d in shape if d != -1])
    missing = total // rest if rest != 0 else 0
    if type(total) is Dim or type(rest) is Dim:
        if missing * rest is not total:
            _ask_remainders(rest)
        if not same_dim(missing * rest, total):
            raise DynamicShapeError(f"the size that -1 stands for in {list(shape)} cannot be found from {list(source)}")
    else:
        fits = rest != 0 and missing * rest == total
        message = f"a tensor of shape {list(source)} cannot be reshaped to {list(shape)}"
        require(fits, message, between=(total, missing * rest))
    return tuple([missing if d == -1 else d for d in shape])


def _ask_remainders(size):
    """Asks the call that is compiled for whether quotients in a size leave remainders.

    Of one that leaves none the symbol becomes another one (``n = 2*m``), for which the sizes of a shape come out even.
    """
    for quotient in quotients_of(size):
        if quotient.left % quotient.right == 0:
            return


def _may_be_size(d: Size, known: Shape) -> bool:
    """Whether a number is no less than 0, as the sizes of a shape are known to be."""
    return any(d is size for size in known) or may_be_at_most(0, d)


class Reshape(Primitive):
    """The same elements in row-major order under another shape."""

    def infer(x: TensorType, *, shape: Shape):
        fits = same_dim(dim_product(x.shape), dim_product(shape)) and all(_may_be_size(d, x.shape) for d in shape)
        message = f"a tensor of shape {list(x.shape)} cannot be reshaped to {list(shape)}"
        require(fits, message, between=(dim_product(x.shape), dim_product(shape)))
        return tensor(x.dtype, shape)

    def numpy(x, *, shape):
        return x.reshape(shape)  # the method: NumPy's functions of this kind spend microseconds on their arguments

    def aclnn(c, x):
        c.give(c.reshaped(x, c.shape))

    def batch(c, n, x):
        return F.reshape(x, shape=(n, *c.shape))

    view = "x"
    call = _reshape
    methods = ("reshape", "view")

    def vjp(c, g, x):
        return F.reshape(g, shape=x.shape)

    def samples(rng):
        yield rng(2, 3), {"shape": (3, 1, 2)}
        yield rng(1), {"shape": ()}
        yield rng(0, 2), {"shape": (4, 0)}

    errors = [((F2,), {"shape": (3,)}, "cannot be reshaped"), ((F2,), {"shape": (-1,)}, "cannot be reshaped")]


@composite("ravel")
def ravel(x):
    """All elements in row-major order, in one dimension."""
    x = as_tensor(x)
    return F.reshape(x, shape=(dim_product(x.shape),))


@composite("flatten")
def flatten(x, order="C", *, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` (all by default) as one; in order "F" the first changes fastest."""
    x = as_tensor(x)
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    if order == "F":
        x = _transpose(x)
    if x.ndim == 0:
        return F.reshape(x, shape=(1,))
    first, last = x.ndim + normal_axis(start_dim, x.ndim), x.ndim + normal_axis(end_dim, x.ndim)
    require(first <= last, f"no dimensions lie from {start_dim} to {end_dim} of {x.ndim}")
    if first == last:
        return x
    return F.reshape(x, shape=(*x.shape[:first], dim_product(x.shape[first : last + 1]), *x.shape[last + 1 :]))


def _transpose(x, *axes):
    x = as_tensor(x)
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)):
        axes = axes[0] or ()
    order = tuple([normal_axis(a, x.ndim) for a in axes]) or tuple(range(-1, -x.ndim - 1, -1))
    require(
        sorted(order) == list(range(-x.ndim, 0)), f"axes {list(axes)} do not order {x.ndim} dimensions: each one once"
    )
    return permuted(x, order)


def permuted(x, order):
    """`x` with its dimensions in another order (negative axes); itself where the order is the same."""
    return x if order == tuple(range(-x.ndim, 0)) else F.transpose(x, axes=order)


class Transpose(Primitive):
    """The dimensions in another order, `axes`; reversed by default."""

    def infer(x: TensorType, *, axes: Ints):
        require(sorted(axes) == list(range(-x.ndim, 0)), f"axes {list(axes)} do not order the dimensions of {x}")
        return tensor(x.dtype, tuple([x.shape[a] for a in axes]))

    def numpy(x, *, axes):
        return x.transpose(axes)

    def aclnn(c, x):
        c.give(x.permuted(c.axes))

    def batch(c, n, x):
        return F.transpose(x, axes=(-x.ndim, *c.axes))

    view = "x"
    call = _transpose
    methods = ("transpose", "permute")

    def vjp(c, g, x):
        n = len(c.axes)
        return F.transpose(g, axes=tuple([c.axes.index(i) - n for i in range(-n, 0)]))

    def samples(rng):
        yield rng(2, 3, 4), {"axes": (-1, -3, -2)}
        yield rng(2, 3), {"axes": (-1, -2)}

    errors = [((F2,), {"axes": (-1, -1)}, "do not order")]


@composite(properties=("T",), internal=True)
def reversed_dims(x):
    """All dimensions in reverse order."""
    return _transpose(x)


@composite(properties=("H",), internal=True)
def conjugate_transpose(x):
    """A matrix transposed: its elements are real."""
    require(x.ndim in (0, 2), f"only a matrix has a conjugate transpose, not a tensor of {x.ndim} dimensions")
    return _transpose(x)


@composite("swapaxes", "swapdims")
def swapaxes(x, axis0, axis1):
    """Two dimensions exchanged."""
    x = as_tensor(x)
    a, b = normal_axis(axis0, x.ndim, "axis0"), normal_axis(axis1, x.ndim, "axis1")
    order = list(range(-x.ndim, 0))
    order[a], order[b] = b, a
    return permuted(x, tuple(order))


@composite("adjoint", properties=("mT",), internal=True)
def matrix_transpose(x):
    """The last two dimensions exchanged: every matrix of a batch transposed."""
    require(x.ndim >= 2, f"only matrices can be transposed so, not a tensor of {x.ndim} dimensions")
    return swapaxes(x, -1, -2)


def _broadcast_to(x, *shape):
    """The tensor broadcast to a shape: repeated along new leading dimensions and dimensions of size 1; -1 keeps a size.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([1, 2]).broadcast_to((2, -1)).tolist()
    [[1, 2], [1, 2]]
    """
    x = as_tensor(x)
    shape = as_shape(shape)
    lead = len(shape) - x.ndim
    require(lead >= 0, f"a tensor of shape {list(x.shape)} does not broadcast to {list(shape)}")
    shape = tuple([x.shape[i - lead] if type(d) is int and d == -1 and i >= lead else d for i, d in enumerate(shape)])
    return broadcast_to(x, shape)


def _stretches(size, wanted):
    """Whether a size broadcasts to another one; where it is the number 1 nobody asks what the other is."""
    return (type(size) is int and size == 1) or same_dim(size, wanted) or size == 1


class BroadcastTo(Primitive):
    """The tensor repeated along new leading dimensions and dimensions of size 1."""

    def infer(x: TensorType, *, shape: Shape):
        lead = len(shape) - x.ndim
        fits = lead >= 0 and all(_stretches(d, n) for d, n in zip(x.shape, shape[lead:], strict=True))
        message = f"a tensor of shape {list(x.shape)} does not broadcast to {list(shape)}"
        require(fits, message, between=(x.shape, shape[lead:]))
        return tensor(x.dtype, shape)

    def numpy(x, *, shape):
        return np.broadcast_to(x, shape)

    def aclnn(c, x):
        c.give(x.broadcast(c.shape))

    def batch(c, n, x):
        added = tuple(range(-len(c.shape), 1 - x.ndim))
        return F.broadcast_to(F.expand_dims(x, axes=added) if added else x, shape=(n, *c.shape))

    view = "x"
    call = _broadcast_to
    methods = ("broadcast_to",)

    def vjp(c, g, x):
        return sum_to(g, x.shape)

    def samples(rng):
        yield rng(1, 3), {"shape": (2, 2, 3)}
        yield rng(), {"shape": (2,)}
        yield rng(2, 1), {"shape": (2, 0)}

    errors = [((F2,), {"shape": (3,)}, "does not broadcast"), ((F2,), {"shape": ()}, "does not broadcast")]


def _squeeze(x, axis=None):
    x = as_tensor(x)
    if axis is None:
        for d in x.shape:
            if depends_on_data(d) and is_at_most(d, 1) is not False and is_at_most(1, d) is not False:
                refuse_unknown("==", d, 1)
    axes = tuple([i for i in range(-x.ndim, 0) if x.shape[i] == 1]) if axis is None else normal_axes(axis, x.ndim)
    return F.squeeze(x, axes=axes) if axes else x


class Squeeze(Primitive):
    """Dimensions of size 1 removed; all of them by default."""

    def infer(x: TensorType, *, axes: Ints):
        for a in axes:
            size = x.shape[a]
            require(same_dim(size, 1), f"only dimensions of size 1 can be squeezed: axis {a} of {x} has {size}")
        gone = {x.ndim + a for a in axes}
        return tensor(x.dtype, tuple([d for i, d in enumerate(x.shape) if i not in gone]))

    def numpy(x, *, axes):
        return x.squeeze(axes)

    def aclnn(c, x):
        c.give(x.squeezed(c.axes))

    view = "x"
    call = _squeeze
    methods = ("squeeze",)

    def vjp(c, g, x):
        return F.expand_dims(g, axes=c.axes)

    def samples(rng):
        yield rng(1, 3, 1), {"axes": (-3, -1)}
        yield rng(1, 3, 1), {"axes": (-1,)}

    errors = [((F2,), {"axes": (-1,)}, "size 1")]


def _expand_dims(x, axis):
    x = as_tensor(x)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    return F.expand_dims(x, axes=normal_axes(axis, x.ndim + count))


class ExpandDims(Primitive):
    """New dimensions of size 1 at the given places of the result."""

    def infer(x: TensorType, *, axes: Ints):
        n = x.ndim + len(axes)
        require(all(-n <= a < 0 for a in axes), f"axes {list(axes)} do not exist in a result of {n} dimensions")
        sizes = iter(x.shape)
        return tensor(x.dtype, tuple([1 if i in axes else next(sizes) for i in range(-n, 0)]))

    def numpy(x, *, axes):
        sizes = iter(x.shape)
        return x.reshape([1 if i in axes else next(sizes) for i in range(-x.ndim - len(axes), 0)])

    def aclnn(c, x):
        c.give(x.expanded(c.axes))

    view = "x"
    call = _expand_dims
    methods = ("expand_dims", "unsqueeze")

    def vjp(c, g, x):
        return F.squeeze(g, axes=c.axes)

    def samples(rng):
        yield rng(3), {"axes": (-3, -1)}
        yield rng(), {"axes": (-1,)}
        yield rng(), {"axes": ()}

    errors = [((F2,), {"axes": (-3,)}, "do not exist")]


# ------------------------------------------------------------------------------------------------ several operands
def _joined(tensors, what):
    """Tensors at their common dtype."""
    xs = rows(tensors)
    if not len(xs):
        raise ShapeError(f"{what} needs at least one tensor")
    return promoted_dtype(*xs)


def _in_shape(x, shape):
    """x in a shape of which data decide whether it has it: a check when the program runs."""
    open_sizes = x.__class__ is Value and x.ndim == len(shape) and any(map(depends_on_data, (*x.shape, *shape)))
    if open_sizes and not known_same(x.shape, shape) and same_shape(x.shape, shape):
        return F.with_sizes(x, type=tensor(x.dtype, shape))
    return x


def _concat(tensors, axis=0):
    xs = _joined(tensors, "concat")
    require(xs[0].ndim > 0, "tensors without dimensions cannot be concatenated: use stack")
    return F.concat(*xs, axis=normal_axis(axis, xs[0].ndim))


class Concat(Primitive):
    """Tensors joined along an existing dimension."""

    def infer(*xs: TensorType, axis: int):
        first = xs[0]
        require(-first.ndim <= axis < 0, f"axis {axis} does not exist in {first}")
        total: Size = 0
        for t in xs:
            same = t.ndim == first.ndim and all(
                same_dim(m, n) for i, (m, n) in enumerate(zip(t.shape, first.shape, strict=True)) if i != t.ndim + axis
            )
            others = [s.shape[: s.ndim + axis] + s.shape[s.ndim + axis + 1 :] for s in (first, t)]
            message = f"{first} and {t} cannot be joined along axis {axis}"
            require(same and t.dtype is first.dtype, message, between=(others[0], others[1]))
            total += t.shape[axis]
        at = first.ndim + axis
        return tensor(first.dtype, (*first.shape[:at], total, *first.shape[at + 1 :]))

    def numpy(*xs, axis):
        return np.concatenate(xs, axis=axis)

    def aclnn(c, *xs):
        c.op("Cat", [x for x in xs if x.size], c.axis % c.out.ndim, c.out)

    call = _concat

    def vjp(c, g, *xs):
        parts, start = [], 0
        for i, x in enumerate(xs):
            size = x.shape[c.axis]
            parts.append(
                F.slice(g, axes=(c.axis,), starts=(start,), stops=(start + size,), steps=(1,)) if c.needs[i] else None
            )
            start += size
        return tuple(parts)

    def samples(rng):
        yield rng(2, 3), rng(1, 3), {"axis": -2}
        yield rng(2, 1), rng(2, 2), rng(2, 0), {"axis": -1}

    errors = [((F2, D2), {"axis": -1}, "cannot be joined"), ((F2, F2), {"axis": -2}, "does not exist")]


def _stack(tensors, axis=0):
    xs = _joined(tensors, "stack")
    xs = [_in_shape(x, xs[0].shape) for x in xs]
    return F.stack(*xs, axis=normal_axis(axis, xs[0].ndim + 1))


class Stack(Primitive):
    """Tensors of one shape joined along a new dimension."""

    def infer(*xs: TensorType, axis: int):
        first = same_type(*xs)
        require(-first.ndim - 1 <= axis < 0, f"axis {axis} does not exist in a stack of {first}")
        at = first.ndim + 1 + axis
        return tensor(first.dtype, (*first.shape[:at], len(xs), *first.shape[at:]))

    def numpy(*xs, axis):
        return np.stack(xs, axis=axis)

    def aclnn(c, *xs):
        if xs[0].ndim:
            c.op("Stack", xs, c.axis % c.out.ndim, c.out)
        else:
            c.op("Cat", [x.expanded((0,)) for x in xs], 0, c.out)

    call = _stack

    def vjp(c, g, *xs):
        def part(i):
            row = F.slice(g, axes=(c.axis,), starts=(i,), stops=(i + 1,), steps=(1,))
            return F.squeeze(row, axes=(c.axis,))

        return tuple([part(i) if c.needs[i] else None for i in range(len(xs))])

    def samples(rng):
        yield rng(2, 3), rng(2, 3), {"axis": -2}
        yield rng(), rng(), rng(), {"axis": -1}

    errors = [((F2, F3), {"axis": -1}, "shapes differ"), ((F2, F2), {"axis": -3}, "does not exist")]


# ------------------------------------------------------------------------------------------------ sizes
class ShapeOf(Primitive):
    """The size of one dimension, as an int64 scalar."""

    internal = True
    cost = 0

    def infer(x: TensorType, *, axis: int):
        require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
        return tensor(int64, ())

    def numpy(x, *, axis):
        return np.asarray(x.shape[axis])

    def batch(c, n, x):
        return F.shape_of(x, axis=c.axis)

    call = lambda x, axis: F.shape_of(x, axis=normal_axis(axis, x.ndim))
    aclnn = lambda c, x: c.op("InplaceFillScalar", c.out, x.shape[c.axis])

    def vjp(c, g, x):
        return None

    def samples(rng):
        yield rng(2, 3), {"axis": -2}

    errors = [((F2,), {"axis": -2}, "does not exist")]


class SizeValue(Primitive):
    """A size that only a call knows, as an int64 scalar."""

    internal = True
    cost = 0

    def infer(*, size: Size):
        return tensor(int64, ())

    def numpy(*, size):
        return np.asarray(size)

    def samples(rng):
        yield ({"size": 3},)


def size_of(x, axes, like):
    """How many elements lie in `axes` of x: a number where it is known, else a Value of the type of `like`."""
    known = dim_product(tuple([x.shape[a] for a in axes]))
    if type(known) is int:
        return known
    if not has_erased_sizes(x.type):
        return number(known, like.type)
    sizes = [F.shape_of(x, axis=a) for a in axes]
    total = sizes[0]
    for size in sizes[1:]:
        total = total * size
    return broadcast_to(cast(total, like.dtype), like.shape)


@composite("numel", "nelement")
def numel(x):
    """How many elements there are, as a Python number."""
    return dim_product(as_tensor(x).shape)


@composite("dim", "ndimension")
def dim(x):
    """How many dimensions there are, as a Python number."""
    return as_tensor(x).ndim
