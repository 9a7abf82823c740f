"""Pooling: the greatest element, the sum and the mean of every window of the trailing dimensions.

Sums over windows are linear, so their two primitives are each other's derivative.  The derivative of a maximum goes to
the position that `max_pool_index` names, by the indexing primitives.  Both are computed one axis after the other.
"""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import bool_, int32, int64
from ..ir.primitive import F, Ints, Primitive, call, composite
from ..ir.sizes import may_be_at_most
from ..ir.types import Shape, TensorType, dim_product, known_same, same_shape, tensor
from .convolution import resolved_padding
from .family import as_tensor, cast, constant, float_unary, int_range, normal_axis, number_unary
from .flops import size_of_type
from .normalization import wide
from .requirements import known_size, known_sizes, require
from .samples import B2, F2, I2, M23
from .window import axis_taps, counts_of, per_dimension, window_counts


# ------------------------------------------------------------------------------------------------ kernels
def along(axis, part):
    """The index that takes a part of one axis (negative) and all of those after it."""
    return (..., part, *(slice(None),) * (-1 - axis))


def slide_sum(x, axis, count, taps):
    """The sum of the elements under each of `count` windows along an axis."""
    out = np.zeros((*x.shape[:axis], count, *x.shape[len(x.shape) + axis + 1 :]), x.dtype)
    for windows, elements in taps:
        out[along(axis, windows)] += x[along(axis, elements)]
    return out


def slide_spread(g, axis, size, taps):
    """The transpose of `slide_sum`: every window's number added to each of the elements under it."""
    out = np.zeros((*g.shape[:axis], size, *g.shape[len(g.shape) + axis + 1 :]), g.dtype)
    for windows, elements in taps:
        out[along(axis, elements)] += g[along(axis, windows)]
    return out


def first_met(count, stride, before, dilation):
    """The first element under each of `count` windows along an axis: a slice, or with padding an array of positions."""
    if before == 0:
        return slice(0, (count - 1) * stride + 1, stride)
    start = np.arange(count) * stride - before
    return start + dilation * -(np.minimum(start, 0) // dilation)


def _meets(size, count, stride, before, dilation):
    """Whether every window along an axis meets an element: the last one, and those that begin on padding."""
    return may_be_at_most((count - 1) * stride - before + 1, size) and all(
        may_be_at_most(start % dilation + 1, size) or may_be_at_most(count, i)
        for i, start in enumerate(range(-before, 0, stride))
    )


def _pool_type(x, kernel, stride, padding, dilation):
    n = len(kernel)
    require(x.ndim >= n, f"{x} has no {n} dimensions to pool")
    counts = window_counts(x.shape[x.ndim - n :], kernel, stride, padding, dilation)
    for size, count, k, s, before, d in zip(
        x.shape[x.ndim - n :], counts, kernel, stride, padding[::2], dilation, strict=True
    ):
        meets = _meets(size, count, s, before, d) and before <= d * (k - 1)
        require(meets, f"with padding {list(padding)} a window of {list(kernel)} meets no element of {x}")
    return tensor(x.dtype, (*x.shape[: x.ndim - n], *counts))


def _window_flops(x, *, kernel, stride, padding, dilation=None):
    counts = counts_of(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation or (1,) * len(kernel))
    return math.prod(x.shape[: x.ndim - len(kernel)]) * math.prod(counts) * math.prod(kernel)


class MaxPool(Primitive):
    """The greatest element of every window over the trailing dimensions, nan if it holds one.

    The whole cotangent goes to the first of several greatest elements, in row-major order.
    """

    internal = True

    def infer(x: TensorType, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints):
        return _pool_type(number_unary(x), kernel, stride, padding, dilation)

    flops = _window_flops

    def numpy(x, *, kernel, stride, padding, dilation):
        n = len(kernel)
        counts = counts_of(x.shape[x.ndim - n :], kernel, stride, padding, dilation)
        for i in range(n):  # the leading axis first: there the inner loops are longest
            axis = i - n
            taps = axis_taps(x.shape[axis], counts[i], kernel[i], stride[i], padding[2 * i], dilation[i])
            first = x[along(axis, first_met(counts[i], stride[i], padding[2 * i], dilation[i]))]
            if padding[2 * i] == padding[2 * i + 1] == 0 and len(taps) > 1:  # the first two fit every window
                out = np.maximum(first, x[along(axis, taps[1][1])])
                taps = taps[2:]
            else:
                out = first.copy()
            for windows, elements in taps:
                target = out[along(axis, windows)]
                np.maximum(target, x[along(axis, elements)], out=target)
            x = out
        return x

    def aclnn(c, x):
        lead, lowest = x.ndim - len(c.kernel), -math.inf if x.dtype.is_float else int_range(x.dtype)[0]
        x = c.bordered(x, c.padding, lowest)
        for i, geometry in enumerate(zip(c.kernel, c.stride, c.dilation, strict=True)):
            best, *others = c.slid(x, lead + i, c.out.shape[lead + i], *geometry)
            for other in others:
                made = c.temp(best.shape, best.dtype)
                c.greater(best, other, made)
                best = made
            x = best
        c.give(x)

    def vjp(c, g, x):
        n = len(c.kernel)
        index = F.max_pool_index(x, kernel=c.kernel, stride=c.stride, padding=c.padding, dilation=c.dilation)
        flat = (*x.shape[: x.ndim - n], dim_product(x.shape[x.ndim - n :]))
        zeros = constant(0, tensor(x.dtype, flat))
        gx = F.add_along_axis(zeros, flattened(index, n), flattened(g, n), axis=-1)
        return F.reshape(gx, shape=x.shape)

    def samples(rng):
        for shape, attrs in _pool_samples():
            yield rng.distinct(*shape), attrs

    errors = [
        ((B2,), {"kernel": (1,), "stride": (1,), "padding": (0, 0), "dilation": (1,)}, "not defined for bools"),
        ((F2,), {"kernel": (3,), "stride": (1,), "padding": (0, 0), "dilation": (1,)}, "does not fit into [2]"),
        ((F2,), {"kernel": (2,), "stride": (1,), "padding": (2, 0), "dilation": (1,)}, "meets no element"),
        ((F2,), {"kernel": (2, 2), "stride": (1, 1), "padding": (0,) * 4, "dilation": (1, 1)}, "no 2 dimensions"),
    ]
    ties = [
        (([[1.0, 2.0, 2.0], [2.0, 0.0, 2.0]],),
         {"kernel": (2, 2), "stride": (1, 1), "padding": (0,) * 4, "dilation": (1, 1)},
         ([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]],)),
        (([-math.inf, -math.inf, math.nan, math.nan],),
         {"kernel": (2,), "stride": (2,), "padding": (0, 0), "dilation": (1,)}, ([1.0, 0.0, 1.0, 0.0],)),
    ]  # fmt: skip


class MaxPoolIndex(Primitive):
    """The row-major position (int64), within the trailing dimensions, of the first greatest element of every window."""

    internal = True

    def infer(x: TensorType, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints):
        return tensor(int64, _pool_type(number_unary(x), kernel, stride, padding, dilation).shape)

    flops = _window_flops

    def numpy(x, *, kernel, stride, padding, dilation):
        n, sizes = len(kernel), x.shape[x.ndim - len(kernel) :]
        counts = counts_of(sizes, kernel, stride, padding, dilation)
        small = np.int32 if math.prod(sizes) < 2**31 else np.int64
        position = np.zeros((1,) * n, small)
        for i in reversed(range(n)):  # the last axis first: of equal elements the one in the first row wins
            axis = i - n
            step = np.arange(sizes[i], dtype=small) * math.prod(sizes[i + 1 :])
            position = position + step.reshape(-1, *(1,) * (-1 - axis))
            taps = axis_taps(sizes[i], counts[i], kernel[i], stride[i], padding[2 * i], dilation[i])
            first = along(axis, first_met(counts[i], stride[i], padding[2 * i], dilation[i]))
            best, where = x[first], position[first]
            if padding[2 * i] == padding[2 * i + 1] == 0 and len(taps) > 1:  # the first two fit every window
                second = along(axis, taps[1][1])
                where = np.where(np.greater(best == best, x[second] <= best), position[second], where)
                best, taps = np.maximum(best, x[second]), taps[2:]
            else:
                best, where = best.copy(), np.array(np.broadcast_to(where, best.shape))
            for windows, elements in taps:
                met, known = x[along(axis, elements)], best[along(axis, windows)]
                better = np.greater(known == known, met <= known)  # greater, or the first nan
                np.maximum(known, met, out=known)
                np.copyto(where[along(axis, windows)], position[along(axis, elements)], where=better)
            x, position = best, where
        return np.array(np.broadcast_to(position, x.shape), np.int64)

    def aclnn(c, x):
        lead, lowest = x.ndim - len(c.kernel), -math.inf if x.dtype.is_float else int_range(x.dtype)[0]
        sizes, widths = x.shape[lead:], list(zip(c.padding[::2], c.padding[1::2], strict=True))
        places = np.pad(np.arange(math.prod(sizes)).reshape(sizes), widths, constant_values=-1)
        where = c.array(places.reshape(*[1] * lead, *places.shape), int32)
        x = c.bordered(x, c.padding, lowest)
        for i in reversed(range(len(sizes))):  # the last axis first: of equal elements the one in the first row wins
            along = lead + i, c.out.shape[lead + i], c.kernel[i], c.stride[i], c.dilation[i]
            pairs = list(zip(c.slid(x, *along), c.slid(where, *along), strict=True))
            x, where = pairs[0]
            for other, place in pairs[1:]:
                better = c.test("LeTensor", other, x, x.shape)
                c.op("LogicalNot", better, better := c.like(better))
                if x.dtype.is_float:
                    better = c.test("LogicalAnd", better, c.test("EqTensor", x, x, x.shape), x.shape)
                if any(c.padding):  # only padding was seen so far
                    nothing = c.test("LtTensor", where, c.number(0, where), where.shape)
                    better = c.test("LogicalOr", better, nothing, x.shape)
                x, where = c.where(better, other, x), c.where(better, place, where)
        c.op("Cast", c.dense(where.broadcast(c.out.shape)), int64, c.out)

    def vjp(c, g, x):
        return None

    def samples(rng):
        for shape, attrs in _pool_samples():
            yield rng.distinct(*shape), attrs

    errors = [
        ((B2,), {"kernel": (1,), "stride": (1,), "padding": (0, 0), "dilation": (1,)}, "not defined for bools"),
        ((F2,), {"kernel": (2,), "stride": (1,), "padding": (0, 2), "dilation": (1,)}, "meets no element"),
    ]


def _pool_samples():
    yield (2, 4, 5), {"kernel": (2, 3), "stride": (2, 1), "padding": (0, 0, 1, 1), "dilation": (1, 1)}
    yield (2, 7), {"kernel": (3,), "stride": (2,), "padding": (2, 1), "dilation": (2,)}
    yield (2, 2, 3), {"kernel": (2, 1, 2), "stride": (1, 1, 1), "padding": (0,) * 6, "dilation": (1, 1, 1)}


class WindowSum(Primitive):
    """The sum of every window over the trailing dimensions; padding counts as zeros."""

    internal = True

    def infer(x: TensorType, *, kernel: Ints, stride: Ints, padding: Ints):
        return _sum_type(float_unary(x), kernel, stride, padding)

    flops = _window_flops

    def numpy(x, *, kernel, stride, padding):
        n, ones = len(kernel), (1,) * len(kernel)
        counts = counts_of(x.shape[x.ndim - n :], kernel, stride, padding, ones)
        for i in range(n):
            taps = axis_taps(x.shape[i - n], counts[i], kernel[i], stride[i], padding[2 * i], 1)
            x = slide_sum(x, i - n, counts[i], taps)
        return x

    widen = True

    def aclnn(c, x):
        lead, x = x.ndim - len(c.kernel), c.bordered(c.cast(x, c.wide(x.dtype)), c.padding, 0)
        for i, (kernel, stride) in enumerate(zip(c.kernel, c.stride, strict=True)):
            total, *others = c.slid(x, lead + i, c.out.shape[lead + i], kernel, stride)
            for other in others:
                made = c.temp(total.shape, total.dtype)
                c.op("Add", total, other, 1, made)
                total = made
            x = total
        c.give(c.cast(x, c.out.dtype))

    def vjp(c, g, x):
        n = len(c.kernel)
        size = x.shape[x.ndim - n :]
        return F.window_spread(g, size=size, kernel=c.kernel, stride=c.stride, padding=c.padding)

    def samples(rng):
        yield rng(2, 4, 5), {"kernel": (2, 3), "stride": (2, 1), "padding": (0, 0, 1, 1)}
        yield rng(7), {"kernel": (3,), "stride": (2,), "padding": (2, 1)}
        yield rng(0, 2), {"kernel": (2,), "stride": (1,), "padding": (0, 0)}

    errors = [
        ((I2,), {"kernel": (1,), "stride": (1,), "padding": (0, 0)}, "not defined for int32"),
        ((M23,), {"kernel": (2, 4), "stride": (1, 1), "padding": (0, 0, 0, 0)}, "does not fit into [2, 3]"),
    ]


class WindowSpread(Primitive):
    """The transpose of `window_sum`: every number added to all elements of its window in zeros of size `size`."""

    internal = True

    def infer(g: TensorType, *, size: Shape, kernel: Ints, stride: Ints, padding: Ints):
        n = len(size)
        require(g.ndim >= n, f"{g} has no {n} dimensions to spread")
        x = tensor(float_unary(g).dtype, (*g.shape[: g.ndim - n], *size))
        made = _sum_type(x, kernel, stride, padding)
        same = made.dtype is g.dtype and same_shape(made.shape, g.shape)
        require(same, f"the sums over the windows of {x} are {made}, not {g}")
        return x

    flops = lambda g, *, kernel, **_: size_of_type(g) * math.prod(kernel)

    def numpy(g, *, size, kernel, stride, padding):
        n = len(size)
        for i in range(n):
            taps = axis_taps(size[i], g.shape[i - n], kernel[i], stride[i], padding[2 * i], 1)
            g = slide_spread(g, i - n, size[i], taps)
        return g

    widen = True

    def aclnn(c, g):
        lead, g = g.ndim - len(c.kernel), c.cast(g, c.wide(g.dtype))
        for i, (size, kernel, stride) in enumerate(zip(c.size, c.kernel, c.stride, strict=True)):
            before, after = c.padding[2 * i : 2 * i + 2]
            shape = (*g.shape[: lead + i], before + size + after, *g.shape[lead + i + 1 :])
            wide = c.full(shape, g.dtype, 0)
            for place in c.slid(wide, lead + i, g.shape[lead + i], kernel, stride):
                c.op("InplaceAdd", place, g, 1)
            g = wide.sliced(lead + i, before, size)
        c.give(c.cast(g, c.out.dtype))

    def vjp(c, ct, g):
        return F.window_sum(ct, kernel=c.kernel, stride=c.stride, padding=c.padding)

    def samples(rng):
        yield rng(2, 2, 5), {"size": (4, 5), "kernel": (2, 3), "stride": (2, 1), "padding": (0, 0, 1, 1)}
        yield rng(4), {"size": (7,), "kernel": (3,), "stride": (2,), "padding": (2, 1)}

    errors = [
        ((I2,), {"size": (2,), "kernel": (1,), "stride": (1,), "padding": (0, 0)}, "not defined for int32"),
        ((F2,), {"size": (2,), "kernel": (2,), "stride": (1,), "padding": (0, 0)}, "are f32[1], not f32[2]"),
    ]


def _sum_type(x, kernel, stride, padding):
    n = len(kernel)
    require(x.ndim >= n, f"{x} has no {n} dimensions to sum over")
    counts = window_counts(x.shape[x.ndim - n :], kernel, stride, padding, (1,) * n)
    return tensor(x.dtype, (*x.shape[: x.ndim - n], *counts))


# ------------------------------------------------------------------------------------------------ public forms
def flattened(x, n):
    """The last n dimensions made one."""
    return F.reshape(x, shape=(*x.shape[: x.ndim - n], dim_product(x.shape[x.ndim - n :])))


def _with_ceiling(sizes, kernel, stride, padding, dilation):
    """The padding with which a last window that lies only partly on elements counts, too (`ceil_mode`)."""
    padding = list(padding)
    for i, (size, k, s, d) in enumerate(zip(sizes, kernel, stride, dilation, strict=True)):
        before, after, span = padding[2 * i], padding[2 * i + 1], d * (k - 1) + 1
        # how far the last window reaches over the end, unless it would begin there
        over = known_size((span - size - before - after) % s, f"how a stride of {s} divides {size} must be known")
        padding[2 * i + 1] = after + (over if after + over < span else 0)
    return tuple(padding)


def pooling_geometry(x, kernel, stride, pad_mode, padding, dilation, ceil_mode, n):
    kernel = per_dimension(kernel, n, "kernel_size")
    require(x.ndim >= n, f"a tensor of {x.ndim} dimensions has no {n} to pool")
    sizes = x.shape[x.ndim - n :]
    stride = kernel if stride is None else per_dimension(stride, n, "stride")
    dilation = per_dimension(dilation, n, "dilation")
    given = resolved_padding(pad_mode, padding, sizes, kernel, stride, dilation)
    full = _with_ceiling(sizes, kernel, stride, given, dilation) if ceil_mode else given
    return kernel, stride, given, full, dilation


@composite(internal=True)
def max_pooling(
    x, kernel, stride=None, pad_mode="pad", padding=0, dilation=1, ceil_mode=False, return_indices=False, n=2
):
    """The greatest element of every window over the last n dimensions; the windows lie side by side by default.

    With `return_indices` also their positions in row-major order within those dimensions.
    """
    x = as_tensor(x)
    kernel, stride, _, padding, dilation = pooling_geometry(
        x, kernel, stride, pad_mode, padding, dilation, ceil_mode, n
    )
    attrs = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    out = F.max_pool(x, **attrs)
    return (out, F.max_pool_index(x, **attrs)) if return_indices else out


@composite(internal=True)
def avg_pooling(
    x, kernel, stride=None, pad_mode="pad", padding=0, ceil_mode=False, count_include_pad=True, divisor=None, n=2
):
    """The mean of every window over the last n dimensions; the windows lie side by side by default.

    Padding counts as zeros with `count_include_pad`, else the mean is that of the elements met; a `divisor` replaces
    their number.
    """
    x, dtype = wide(x)  # the sum may overflow where the mean does not
    kernel, stride, given, padding, ones = pooling_geometry(x, kernel, stride, pad_mode, padding, 1, ceil_mode, n)
    if known_same(x.shape[x.ndim - n :], kernel) and not any(padding) and not divisor:  # one window
        return cast(call.mean(x, tuple(range(-n, 0)), True), dtype)
    total = F.window_sum(x, kernel=kernel, stride=stride, padding=padding)
    if divisor:
        return cast(call.div(total, divisor), dtype)
    sizes = x.shape[x.ndim - n :]
    counts = window_counts(sizes, kernel, stride, padding, ones)
    if padding == given and (count_include_pad or not any(given)):
        return cast(call.div(total, math.prod(kernel)), dtype)
    if any(type(d) is not int for d in sizes):
        return cast(call.div(total, _elements_met(x, kernel, stride, given, padding, count_include_pad)), dtype)
    numbers = np.ones((), np.int64)
    for i, (size, count, k, s) in enumerate(zip(sizes, counts, kernel, stride, strict=True)):
        start, end = np.arange(count) * s - given[2 * i], size
        if count_include_pad:
            end = size + given[2 * i + 1]
        met = np.minimum(start + k, end) - (start if count_include_pad else np.maximum(start, 0))
        numbers = np.multiply.outer(numbers, met)
    return cast(_divided(total, numbers), dtype)


def _elements_met(x, kernel, stride, given, padding, count_include_pad):
    """How many elements every window meets, where sizes are symbolic: the sums of windows over ones."""
    sizes = x.shape[x.ndim - len(kernel) :]
    if count_include_pad:  # those that are `given`
        sizes = tuple([d + given[2 * i] + given[2 * i + 1] for i, d in enumerate(sizes)])
        padding = tuple([p - q for p, q in zip(padding, given, strict=True)])
    ones = F.broadcast_to(constant(1, tensor(x.dtype, ())), shape=sizes)
    return F.window_sum(ones, kernel=kernel, stride=stride, padding=padding)


def _divided(x, numbers):
    """`x` divided by an array of counts, or by one number where they are equal."""
    if numbers.size and (numbers == numbers.flat[0]).all():
        return call.div(x, int(numbers.flat[0]))
    return call.div(x, constant(numbers.astype(x.dtype.numpy), tensor(x.dtype, numbers.shape)))


# ------------------------------------------------------------------------------------------------ adaptive
def _output_size(x, output_size, n):
    sizes = x.shape[x.ndim - n :]
    require(x.ndim >= n and all(may_be_at_most(1, d) for d in sizes), f"{list(x.shape)} cannot be pooled over {n}")
    wanted = output_size if isinstance(output_size, tuple | list) else (output_size,) * n
    require(len(wanted) == n, f"`output_size` must be one size or {n}, not {list(wanted)}")
    given = [w for w in wanted if w is not None]
    numbers = iter(per_dimension(given, len(given), "output_size"))
    return sizes, tuple([s if w is None else next(numbers) for w, s in zip(wanted, sizes, strict=True)])


def _are_known(sizes):
    return all(type(size) is int for size in sizes)


def _means_of_parts(x, axis, count):
    """The means of `count` equal parts of an axis (negative)."""
    before, size, after = x.shape[: x.ndim + axis], x.shape[axis], x.shape[x.ndim + axis + 1 :]
    return call.mean(F.reshape(x, shape=(*before, count, size // count, *after)), axis)


def _regions(size, count):
    """Positions [count, largest size] in `count` nearly equal parts of an axis, padded with the last; and the sizes."""
    start = np.arange(count) * size // count
    end = -(-(np.arange(1, count + 1) * size) // count)
    steps = np.arange(int((end - start).max()))
    return np.minimum(start[:, None] + steps, end[:, None] - 1), end - start


def _positions(elements):
    return constant(np.ascontiguousarray(elements), tensor(int64, elements.shape))


@composite(internal=True)
def adaptive_avg_pooling(x, output_size, n=2):
    """Means of nearly equal parts of the last n dimensions, as many as `output_size` says; None keeps a size."""
    x, dtype = wide(x)
    sizes, wanted = _output_size(x, output_size, n)
    if _are_known(sizes) and all(size % count == 0 for size, count in zip(sizes, wanted, strict=True)):
        kernel = tuple([size // count for size, count in zip(sizes, wanted, strict=True)])
        return cast(avg_pooling(x, kernel, n=n), dtype)
    for i, (size, count) in enumerate(zip(sizes, wanted, strict=True)):
        axis = normal_axis(i - n, x.ndim)
        if count is size:
            continue
        if type(size) is not int and size % count == 0:
            x = _means_of_parts(x, axis, count)
            continue
        size = known_size(size, f"how {count} parts of {size} elements differ must be known")
        elements, numbers = _regions(size, count)
        common, spread = int(numbers.min()), (-1, *(1,) * (-1 - axis))
        parts = F.gather(x, _positions(elements[:, :common]), axis=axis)
        total = call.sum(parts, axis)
        for k in range(common, elements.shape[1]):  # sizes differ by at most two, so few elements are masked
            used = (k < numbers).reshape(spread)
            part = F.gather(x, _positions(elements[:, k]), axis=axis)
            total = call.add(total, call.where(constant(used, tensor(bool_, used.shape)), part, 0))
        x = _divided(total, numbers.reshape(spread))
    return cast(x, dtype)


@composite(internal=True)
def adaptive_max_pooling(x, output_size, return_indices=False, n=2):
    """Greatest elements of nearly equal parts of the last n dimensions; None keeps a size.

    With `return_indices` also their positions in row-major order within those dimensions.
    """
    x = as_tensor(x)
    sizes, wanted = _output_size(x, output_size, n)
    if not _are_known(sizes) and all(count == 1 for count in wanted):
        return _greatest_of_all(x, return_indices, n)
    sizes = known_sizes(sizes, f"how parts of {list(sizes)} elements differ must be known")
    wanted = known_sizes(wanted, f"how many parts there are must be known, not {list(wanted)}")
    if all(size % count == 0 for size, count in zip(sizes, wanted, strict=True)):
        kernel = tuple([size // count for size, count in zip(sizes, wanted, strict=True)])
        return max_pooling(x, kernel, return_indices=return_indices, n=n)
    elements = np.zeros((1, 1), np.int64)  # [windows, elements of each]
    for size, count in zip(sizes, wanted, strict=True):
        part, _ = _regions(size, count)
        joined = elements[:, None, :, None] * size + part[None, :, None, :]
        elements = joined.reshape(elements.shape[0] * count, -1)
    flat = flattened(x, n)
    positions = _positions(elements)
    first = F.argmax(F.gather(flat, positions, axis=-1), axis=-1, keepdims=True)
    index = F.take_along_axis(F.broadcast_to(positions, shape=(*flat.shape[:-1], *elements.shape)), first, axis=-1)
    index = F.squeeze(index, axes=(-1,))
    shape = (*x.shape[: x.ndim - n], *wanted)
    out = F.reshape(F.take_along_axis(flat, index, axis=-1), shape=shape)
    return (out, F.reshape(index, shape=shape)) if return_indices else out


def _greatest_of_all(x, return_indices, n):
    """The greatest element over the last n dimensions, each of which has one element then."""
    flat, shape = flattened(x, n), (*x.shape[: x.ndim - n], *(1,) * n)
    index = F.argmax(flat, axis=-1, keepdims=True)
    out = F.reshape(F.take_along_axis(flat, index, axis=-1), shape=shape)
    return (out, F.reshape(index, shape=shape)) if return_indices else out
