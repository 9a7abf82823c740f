"""Short functions for ops whose kernels are long because they are fast: printed above the programs that call them.

Each says the same as the kernel of the primitive of its name and takes the same operands, and those attributes that it
needs.  They use NumPy and builtins only, change no operand, and have no annotations, as their text becomes part of
programs.
"""

import numpy as np

__all__ = [
    "add_along_axis", "check_index", "conv", "conv_filter", "conv_input", "max_pool", "max_pool_index",
    "window_spread", "window_sum",
]  # fmt: skip


def window_elements(place, counts, stride, dilation):
    """Which elements of a padded array stand at one place of all windows."""
    return (..., *[slice(p * d, p * d + n * s, s) for p, n, s, d in zip(place, counts, stride, dilation)])  # noqa: B905


def padded(x, padding, value=0):
    """The array with a border around its last dimensions."""
    widths = list(zip(padding[::2], padding[1::2]))  # noqa: B905
    return np.pad(x, [(0, 0)] * (x.ndim - len(widths)) + widths, constant_values=value)


def inner_elements(before, size):
    """Which elements of an array with a border are not the border."""
    return (..., *[slice(b, b + n) for b, n in zip(before, size)])  # noqa: B905


def window_counts_of(x, kernel, stride, dilation):
    """How many places a window has over the last dimensions of a padded array."""
    sizes = x.shape[x.ndim - len(kernel) :]
    return [(size - d * (k - 1) - 1) // s + 1 for size, k, s, d in zip(sizes, kernel, stride, dilation)]  # noqa: B905


def conv(x, w, stride, padding, dilation, groups):
    """Slides the filters w [filters, channels / groups, ...] over x [batch, channels, ...]."""
    x, filters, kernel = padded(x, padding), len(w), w.shape[2:]
    counts = window_counts_of(x, kernel, stride, dilation)
    x = x.reshape(len(x), groups, w.shape[1], *x.shape[2:])
    w = w.reshape(groups, filters // groups, *w.shape[1:])
    out = np.zeros((len(x), groups, filters // groups, *counts), x.dtype)
    for place in np.ndindex(*kernel):
        seen = x[window_elements(place, counts, stride, dilation)]
        out += np.einsum("bgc...,gfc->bgf...", seen, w[(..., *place)])
    return out.reshape(len(x), filters, *counts)


def conv_input(g, w, size, stride, padding, dilation, groups):
    """The gradient of conv by its input of that size; g is the gradient of its result."""
    (filters, *_), counts, kernel = w.shape, g.shape[2:], w.shape[2:]
    g = g.reshape(len(g), groups, filters // groups, *counts)
    w = w.reshape(groups, filters // groups, *w.shape[1:])
    before, after = padding[::2], padding[1::2]
    wide = [n + b + a for n, b, a in zip(size, before, after)]  # noqa: B905
    out = np.zeros((len(g), groups, w.shape[2], *wide), g.dtype)
    for place in np.ndindex(*kernel):
        added = np.einsum("bgf...,gfc->bgc...", g, w[(..., *place)])
        seen = out[window_elements(place, counts, stride, dilation)]
        seen += added
    return out.reshape(len(g), groups * w.shape[2], *wide)[inner_elements(before, size)]


def conv_filter(x, g, kernel, stride, padding, dilation, groups):
    """The gradient of conv by its filters; g is the gradient of its result."""
    (batch, filters, *counts), channels = g.shape, x.shape[1] // groups
    x = padded(x, padding)
    x = x.reshape(batch, groups, channels, *x.shape[2:])
    g = g.reshape(batch, groups, filters // groups, np.prod(counts, dtype=int))
    out = np.zeros((groups, filters // groups, channels, *kernel), x.dtype)
    for place in np.ndindex(*kernel):
        seen = x[window_elements(place, counts, stride, dilation)]
        out[(..., *place)] = np.einsum("bgcn,bgfn->gfc", seen.reshape(*x.shape[:3], g.shape[3]), g)
    return out.reshape(filters, channels, *kernel)


def max_pool(x, kernel, stride, padding, dilation):
    """The greatest element of every window."""
    lowest = -np.inf if x.dtype.kind != "i" else np.iinfo(x.dtype).min
    x = padded(x, padding, lowest)
    counts = window_counts_of(x, kernel, stride, dilation)
    places = np.ndindex(*kernel)
    best = x[window_elements(next(places), counts, stride, dilation)]
    for place in places:
        best = np.maximum(best, x[window_elements(place, counts, stride, dilation)])
    return best


def max_pool_index(x, kernel, stride, padding, dilation):
    """Where the first greatest element of every window stands, counted in row-major order."""
    sizes = x.shape[x.ndim - len(kernel) :]
    number = padded(np.arange(np.prod(sizes, dtype=np.int64)).reshape(sizes), padding, -1)
    x = padded(x, padding)
    counts = window_counts_of(x, kernel, stride, dilation)
    best = np.zeros((*x.shape[: x.ndim - len(kernel)], *counts), x.dtype)
    index = np.full(best.shape, -1)
    for place in np.ndindex(*kernel):
        seen = window_elements(place, counts, stride, dilation)
        greater = (best == best) & ~(x[seen] <= best)  # or the first nan
        better = ((index < 0) | greater) & (number[seen] >= 0)
        best = np.where(better, x[seen], best)
        index = np.where(better, number[seen], index)
    return index


def window_sum(x, kernel, stride, padding):
    """The sum of every window; the border counts as zeros."""
    x, ones = padded(x, padding), [1] * len(kernel)
    counts = window_counts_of(x, kernel, stride, ones)
    return sum(x[window_elements(place, counts, stride, ones)] for place in np.ndindex(*kernel))


def window_spread(g, size, kernel, stride, padding):
    """The gradient of window_sum by its operand of that size; g is the gradient of its result."""
    n, ones = len(size), [1] * len(size)
    lead, counts = g.shape[: g.ndim - n], g.shape[g.ndim - n :]
    before, after = padding[::2], padding[1::2]
    out = np.zeros((*lead, *[s + b + a for s, b, a in zip(size, before, after)]), g.dtype)  # noqa: B905
    for place in np.ndindex(*kernel):
        seen = out[window_elements(place, counts, stride, ones)]
        seen += g
    return out[inner_elements(before, size)]


def add_along_axis(x, index, updates, axis):
    """The array with every update added at the place along one axis that the index names for it."""
    out, place = x.copy(), list(np.indices(index.shape, sparse=True))
    place[axis] = index
    np.add.at(out, tuple(place), updates)
    return out


def check_index(index, size, negative):
    """The index, counted from the start; IndexError if it lies outside."""
    index = np.asarray(index)
    index = index if index.dtype == np.uint64 else index.astype(np.int64)
    if np.any(index < (-size if negative else 0)) or np.any(index >= size):
        raise IndexError(f"index is out of bounds for size {size}")
    return np.where(index < 0, index + size, index).astype(np.int64)
