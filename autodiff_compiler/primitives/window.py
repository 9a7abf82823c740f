"""Windows that slide over the trailing dimensions of a tensor: their geometry, and what each of their taps reads.

A window has a size (`kernel`), a `stride` and a `dilation` per dimension.  `padding` counts the elements imagined
before and after each dimension, (before, after, before, after, ...); no array is ever padded for it.
"""

from __future__ import annotations

import itertools

from ..ir.sizes import may_be_at_most
from .requirements import require, static_int


# ------------------------------------------------------------------------------------------------ what users write
def per_dimension(value, n, parameter, least=1):
    """An int or n of them as a tuple of n ints, none below `least`."""
    values = tuple(value) if isinstance(value, tuple | list) else (value,) * n
    values = tuple([static_int(v, parameter) for v in values])
    require(len(values) == n, f"`{parameter}` must be one int or {n}, not {list(values)}")
    if any(v < least for v in values):
        raise ValueError(f"`{parameter}` must not be less than {least}: {list(values)}")
    return values


def padding_pairs(padding, n):
    """An int, n ints (for both sides of a dimension) or 2n ints (before and after it) as 2n ints."""
    if isinstance(padding, tuple | list) and len(padding) == 2 * n:
        return per_dimension(padding, 2 * n, "padding", 0)
    return tuple([p for p in per_dimension(padding, n, "padding", 0) for _ in range(2)])


# ------------------------------------------------------------------------------------------------ geometry
def counts_of(sizes, kernel, stride, padding, dilation):
    """How many windows fit in each dimension, of windows that `window_counts` has checked."""
    return tuple(
        [
            (size + padding[2 * i] + padding[2 * i + 1] - (d * (k - 1) + 1)) // s + 1
            for i, (size, k, s, d) in enumerate(zip(sizes, kernel, stride, dilation, strict=True))
        ]
    )


def window_counts(sizes, kernel, stride, padding, dilation):
    """How many windows fit in each dimension."""
    n = len(kernel)
    fits = len(sizes) == len(stride) == len(dilation) == n and len(padding) == 2 * n and min(kernel, default=1) > 0
    require(fits, f"a window of {list(kernel)} cannot slide over the dimensions {list(sizes)}")
    positive = min((*stride, *dilation), default=1) > 0
    require(positive, f"strides and dilations must be at least 1, they are {list(stride)} and {list(dilation)}")
    for i, (size, k, d) in enumerate(zip(sizes, kernel, dilation, strict=True)):
        room = size + padding[2 * i] + padding[2 * i + 1] - (d * (k - 1) + 1)
        fits = may_be_at_most(0, room)
        require(fits, f"a window of {list(kernel)} does not fit into {list(sizes)} with padding {list(padding)}")
    return counts_of(sizes, kernel, stride, padding, dilation)


def axis_taps(size, count, kernel, stride, before, dilation):
    """For every tap of a window along one axis: the windows in which it reads no padding, and the elements it reads."""
    taps = []
    for k in range(kernel):
        offset = k * dilation - before
        first = max(0, -(offset // stride))
        last = min(count, (size - 1 - offset) // stride + 1)
        if first < last:
            taps.append((slice(first, last), slice(first * stride + offset, (last - 1) * stride + offset + 1, stride)))
        else:
            taps.append((slice(0, 0), slice(0, 0)))
    return taps


def window_taps(sizes, counts, kernel, stride, padding, dilation):
    """`axis_taps` of all dimensions together: for every tap the slices of the windows and those of the elements."""
    axes = zip(sizes, counts, kernel, stride, padding[::2], dilation, strict=True)
    return [tuple(zip(*tap, strict=True)) for tap in itertools.product(*[axis_taps(*axis) for axis in axes])]
