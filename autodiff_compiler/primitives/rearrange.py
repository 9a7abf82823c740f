"""Rearranging elements: flipped, rolled, repeated, split, joined, cut to triangles."""

from __future__ import annotations

import itertools

import numpy as np

from ..dtypes import int64
from ..ir.core import Value
from ..ir.primitive import F, Ints, Primitive, call, composite, trace
from ..ir.sizes import largest, may_be_at_most, smallest
from ..ir.types import Dim, TensorType, dim_product, same_dim, tensor
from .family import as_tensor, broadcast_to, cast, constant, is_tensor, normal_axis, rows, sum_of_cotangents
from .index import checked
from .requirements import known_array, known_size, known_sizes, require, static_int
from .samples import F2
from .shape import permuted
from .sizes_of_data import sized


def _listed(x):
    return list(x) if isinstance(x, tuple | list) else [x]


# ------------------------------------------------------------------------------------------------ other order
@composite("moveaxis", "movedim")
def moveaxis(x, source, destination):
    """Dimensions moved to other positions; the others stay in order."""
    x = as_tensor(x)
    away = [normal_axis(a, x.ndim, "source") for a in _listed(source)]
    to = [normal_axis(a, x.ndim, "destination") for a in _listed(destination)]
    fits = len(away) == len(to) == len(set(away)) == len(set(to))
    require(fits, f"source {source} and destination {destination} must name as many dimensions, each one once")
    order = [a for a in range(-x.ndim, 0) if a not in away]
    for place, a in sorted(zip(to, away, strict=True)):
        order.insert(place + x.ndim, a)
    return permuted(x, tuple(order))


@composite("t")
def t(x):
    """A matrix transposed; a tensor of less than two dimensions as it is."""
    x = as_tensor(x)
    require(x.ndim <= 2, f"t() takes at most 2 dimensions, not {x.ndim}")
    return permuted(x, (-1, -2)) if x.ndim == 2 else x


@composite("flip")
def flip(x, *dims):
    """The elements in reverse order along the given dimensions (an int, several, a tuple)."""
    x = as_tensor(x)
    dims = dims[0] if len(dims) == 1 else dims
    axes = tuple([normal_axis(a, x.ndim, "dims") for a in _listed(dims)])
    require(len(set(axes)) == len(axes), f"dims {dims} name one dimension twice")
    if not axes:
        return x
    starts = tuple([x.shape[a] - 1 for a in axes])
    return F.slice(x, axes=axes, starts=starts, stops=(-1,) * len(axes), steps=(-1,) * len(axes))


@composite("fliplr")
def fliplr(x):
    """The elements in reverse order along the second dimension."""
    return flip(x, 1)


@composite("flipud")
def flipud(x):
    """The elements in reverse order along the first dimension."""
    return flip(x, 0)


@composite("reverse")
def reverse(x, axis):
    """The elements in reverse order along the given axes."""
    return flip(x, axis)


@composite("rot90")
def rot90(x, k=1, dims=(0, 1)):
    """The plane of two dimensions rotated k times by 90 degrees, from the first towards the second."""
    x = as_tensor(x)
    require(len(dims) == 2, f"rot90 turns a plane of 2 dimensions, not of {len(dims)}")
    a, b = (normal_axis(d, x.ndim, "dims") for d in dims)
    require(a != b, f"dims {dims} name one dimension twice")
    turns = static_int(k, "k") % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (a, b))
    return call.swapaxes(flip(x, b), a, b) if turns == 1 else flip(call.swapaxes(x, a, b), b)


def _roll(x, shifts, dims=None):
    x = as_tensor(x)
    shifts = _counts((_listed(shifts),), "shifts")
    if dims is None:
        require(len(shifts) == 1, "several shifts need `dims`")
        flat = F.reshape(x, shape=(dim_product(x.shape),))
        return F.reshape(_rolled(flat, shifts, (-1,)), shape=x.shape)
    axes = tuple([normal_axis(a, x.ndim, "dims") for a in _listed(dims)])
    require(len(axes) == len(shifts), f"{len(shifts)} shifts do not fit {len(axes)} dims")
    return _rolled(x, shifts, axes)


def _rolled(x, shifts, axes):
    """The elements moved along axes; by sizes of arguments it is a matter of two slices."""
    known = [(s, a) for s, a in zip(shifts, axes, strict=True) if type(s) is not Dim]
    if known:
        x = F.roll(x, shifts=tuple([s for s, _ in known]), axes=tuple([a for _, a in known]))
    for shift, axis in zip(shifts, axes, strict=True):
        size = x.shape[axis]
        if type(shift) is not Dim or size == 0:
            continue
        moved = shift if shift >= 0 else shift + size
        cut = size - (moved if 0 <= moved <= size else moved % size)
        x = F.concat(*reversed(_parts(x, axis, [0, cut, size])), axis=axis)
    return x


class Roll(Primitive):
    """The elements moved along axes cyclically: elements that leave the end come back at the start."""

    def infer(x: TensorType, *, shifts: Ints, axes: Ints):
        require(len(shifts) == len(axes), f"{len(shifts)} shifts do not fit {len(axes)} axes")
        require(all(-x.ndim <= a < 0 for a in axes), f"axes {list(axes)} do not exist in {x}")
        return x

    def numpy(x, *, shifts, axes):
        if len(axes) > 1:
            return np.roll(x, shifts, axes)
        size, after = x.shape[axes[0]], (slice(None),) * (-1 - axes[0])
        cut = size - shifts[0] % max(1, size)
        return np.concatenate((x[(..., slice(cut, None), *after)], x[(..., slice(cut), *after)]), axes[0])

    def aclnn(c, x):
        c.op("Roll", x, c.shifts, c.axes_of(x, c.axes), c.out) if c.axes else c.give(x)

    call = _roll
    methods = ("roll",)

    def vjp(c, g, x):
        return F.roll(g, shifts=tuple([-s for s in c.shifts]), axes=c.axes)

    def samples(rng):
        yield rng(2, 3), {"shifts": (1, -2), "axes": (-2, -1)}
        yield rng(3), {"shifts": (4,), "axes": (-1,)}
        yield rng(0), {"shifts": (1,), "axes": (-1,)}

    errors = [
        ((F2,), {"shifts": (1,), "axes": (-2,)}, "do not exist"),
        ((F2,), {"shifts": (), "axes": (-1,)}, "do not fit"),
    ]


# ------------------------------------------------------------------------------------------------ repeated
def _counts(given, parameter):
    """Numbers of repeats, given as several ints or a tuple of them: known, or made of sizes of arguments."""
    given = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    return tuple([n if type(n) is Dim else static_int(n, parameter) for n in given])


@composite("tile")
def tile(x, *dims):
    """The whole tensor repeated `dims[i]` times along dimension i; missing dimensions come first."""
    x = as_tensor(x)
    counts = _counts(dims, "dims")
    positive = all(may_be_at_most(0, n) for n in counts)
    require(positive, f"tensors are repeated 0 times or more, not {list(counts)}")
    counts = (1,) * (x.ndim - len(counts)) + counts
    sizes = (1,) * (len(counts) - x.ndim) + x.shape
    if not any(type(n) is not int or n != 1 for n in counts):
        return x if sizes == x.shape else F.reshape(x, shape=sizes)
    apart, places = [], []
    for n, size in zip(counts, sizes, strict=True):
        if type(n) is not int or n != 1:
            places.append((len(apart), n))
            apart.append(1)
        apart.append(size)
    x = F.reshape(x, shape=tuple(apart))
    for place, n in reversed(places):
        if type(n) is int:
            x = F.repeat_elements(x, count=n, axis=place - x.ndim)
        else:
            x = F.broadcast_to(x, shape=(*x.shape[:place], n, *x.shape[place + 1 :]))
    return F.reshape(x, shape=tuple([n * size for n, size in zip(counts, sizes, strict=True)]))


@composite("repeat")
def repeat(x, *repeats, axis=None):
    """The whole tensor repeated `repeats[i]` times along dimension i, as `tile`.

    With `axis`, NumPy's and older MindSpore's meaning: the elements along it, each as many times.
    """
    if axis is not None:
        require(len(repeats) == 1, "with `axis` there is one argument `repeats`")
        return repeat_interleave(x, repeats[0], axis)
    x = as_tensor(x)
    counts = _counts(repeats, "repeats")
    require(len(counts) >= x.ndim, f"{len(counts)} numbers of repeats are too few for {x.ndim} dimensions")
    return tile(x, counts)


class Repeat(Primitive):
    """Every element along an axis repeated as many times, one after the other."""

    name = "repeat_elements"

    def infer(x: TensorType, *, count: int, axis: int):
        require(-x.ndim <= axis < 0 <= count, f"{x} cannot be repeated {count} times along axis {axis}")
        at = x.ndim + axis
        return tensor(x.dtype, (*x.shape[:at], x.shape[at] * count, *x.shape[at + 1 :]))

    def numpy(x, *, count, axis):
        return np.repeat(x, count, axis)

    call = lambda x, rep, axis=0: repeat_interleave(x, rep, axis)

    def aclnn(c, x):
        at = c.axis % x.ndim
        parts = (*x.shape[: at + 1], c.count, *x.shape[at + 1 :])
        c.copy(c.reshaped(c.out, parts), x.expanded((at + 1,)).broadcast(parts))

    def vjp(c, g, x):
        at = x.ndim + c.axis
        parts = F.reshape(g, shape=(*x.shape[: at + 1], c.count, *x.shape[at + 1 :]))
        return sum_of_cotangents(parts, (c.axis,))

    def samples(rng):
        yield rng(2, 3), {"count": 2, "axis": -1}
        yield rng(2, 3), {"count": 3, "axis": -2}
        yield rng(2), {"count": 0, "axis": -1}

    errors = [((F2,), {"count": 2, "axis": -2}, "cannot be repeated"), ((F2,), {"count": -1, "axis": -1}, "cannot be")]


@composite("repeat_interleave")
def repeat_interleave(x, repeats, dim=None):
    """Every element along a dimension (of the flat tensor by default) repeated: a number of times, or one for each."""
    x = as_tensor(x)
    if dim is None:
        x, dim = F.reshape(x, shape=(dim_product(x.shape),)), -1
    axis = normal_axis(dim, x.ndim, "dim")
    if repeats.__class__ is Value and trace.builder.known(repeats) is None:
        return _repeated(x, repeats, axis)
    if is_tensor(repeats):
        repeats = known_array(repeats, "repeats").reshape(-1).tolist()
    counts = _counts((_listed(repeats),), "repeats")
    positive = all(may_be_at_most(0, n) for n in counts)
    require(positive, f"elements are repeated 0 times or more, not {list(counts)}")
    if len(counts) == 1 and type(counts[0]) is Dim:
        at = x.ndim + axis
        before, size, after = x.shape[:at], x.shape[at], x.shape[at + 1 :]
        spread = F.broadcast_to(F.expand_dims(x, axes=(axis,)), shape=(*before, size, counts[0], *after))
        return F.reshape(spread, shape=(*before, size * counts[0], *after))
    if len(counts) == 1:
        return F.repeat_elements(x, count=counts[0], axis=axis)
    counts = known_sizes(counts, "the numbers of repeats must be known")
    require(len(counts) == x.shape[axis], f"{len(counts)} numbers of repeats for {x.shape[axis]} elements")
    places = np.repeat(np.arange(len(counts)), counts)
    return F.gather(x, constant(places, tensor(int64, places.shape)), axis=axis)


def _repeated(x, repeats, axis):
    """The elements along an axis, each as often as counts known only at run time say."""
    require(repeats.ndim <= 1, f"`repeats` is a number or a vector, not of shape {list(repeats.shape)}")
    size = x.shape[axis]
    one = repeats.ndim == 0 or (repeats.shape[0].__class__ is int and repeats.shape[0] == 1)
    if not one:
        fits = same_dim(repeats.shape[0], size)
        require(fits, f"{repeats.shape[0]} numbers of repeats for {size} elements")
        repeats = F.with_sizes(repeats, type=tensor(repeats.dtype, (size,)))
    counts = broadcast_to(repeats, (size,))
    places = trace.builder.once(("repeated_places", counts), lambda: sized(F.repeated_places(counts)))
    return F.gather(x, places, axis=axis)


@composite("expand")
def expand(x, *size):
    """The tensor broadcast to a shape, new dimensions first; -1 keeps a size."""
    return call.broadcast_to(x, *size)


@composite("expand_as")
def expand_as(x, other):
    """The tensor broadcast to the shape of another."""
    return call.broadcast_to(x, other.shape)


@composite("reshape_as", "view_as")
def reshape_as(x, other):
    """The same elements in row-major order under the shape of another tensor."""
    return call.reshape(x, other.shape)


# ------------------------------------------------------------------------------------------------ parts
def _parts(x, axis, bounds):
    """The slices of an axis between neighbouring bounds."""
    pairs = itertools.pairwise(bounds)
    return tuple([F.slice(x, axes=(axis,), starts=(a,), stops=(b,), steps=(1,)) for a, b in pairs])


@composite("split")
def split(x, split_size_or_sections, axis=0):
    """Neighbouring parts along an axis: of one size (the last may be smaller), or of the sizes in a list."""
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    if isinstance(split_size_or_sections, tuple | list):
        sizes, size = _counts((split_size_or_sections,), "split_size_or_sections"), x.shape[axis]
        fits = same_dim(sum(sizes), size) and all(may_be_at_most(0, n) for n in sizes)
        message = f"parts of sizes {list(sizes)} do not make up the {size} elements of axis {axis}"
        require(fits, message, between=(sum(sizes), size))
        return _parts(x, axis, [0, *itertools.accumulate(sizes)])
    (step,) = _counts((split_size_or_sections,), "split_size_or_sections")
    require(may_be_at_most(1, step), f"the size of parts must be positive, not {step}")
    return _parts_of(x, axis, step)


#: How many parts there are at most for which a call is asked whether there are so many.
_MOST_PARTS = 16


def _parts_of(x, axis, step):
    """Parts of one size, the last of which may be smaller; where the size depends on the call, it says how many."""
    size = x.shape[axis]
    if type(step) is Dim:
        for count in range(1, _MOST_PARTS + 1):
            if size <= count * step:
                return _parts(x, axis, [*(i * step for i in range(count)), size])
    instead = "slices, and `ops.chunk` into at most 16 parts, take any size"
    size, step = known_sizes((size, step), "a dimension of symbolic size cannot be split yet", instead)
    return _parts(x, axis, [*range(0, max(size, 1), step), size])


@composite("chunk")
def chunk(x, chunks, axis=0):
    """At most `chunks` neighbouring parts along an axis, all of one size but the last, which may be smaller."""
    x = as_tensor(x)
    chunks = static_int(chunks, "chunks")
    require(chunks > 0, f"`chunks` must be positive, not {chunks}")
    axis = normal_axis(axis, x.ndim)
    size = x.shape[axis]
    return _parts_of(x, axis, 1 if size == 0 else largest(1, (size + chunks - 1) // chunks))


@composite("tensor_split")
def tensor_split(x, indices_or_sections, axis=0):
    """Neighbouring parts along an axis: a number of them as equal as possible, or cut before the given positions."""
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    size = x.shape[axis]
    if isinstance(indices_or_sections, tuple | list):
        cuts = [0, *[_place(i, size) for i in _counts((indices_or_sections,), "indices_or_sections")], size]
        return tuple([_parts(x, axis, (a, largest(a, b)))[0] for a, b in itertools.pairwise(cuts)])
    count = static_int(indices_or_sections, "indices_or_sections")
    require(count > 0, f"a tensor is split into one part or more, not {count}")
    sizes = [(size + count - 1 - i) // count for i in range(count)]  # the first ones are larger by 1
    return _parts(x, axis, [0, *itertools.accumulate(sizes)])


def _place(index, size):
    """Where a slice begins at an index that may count from the end, or lie outside."""
    return smallest(index, size) if may_be_at_most(0, index) else largest(0, index + size)


@composite("hsplit")
def hsplit(x, indices_or_sections):
    """`tensor_split` along the second dimension, of a vector along its only one."""
    x = as_tensor(x)
    return tensor_split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@composite("vsplit")
def vsplit(x, indices_or_sections):
    """`tensor_split` along the first dimension."""
    return tensor_split(x, indices_or_sections, 0)


@composite("dsplit")
def dsplit(x, indices_or_sections):
    """`tensor_split` along the third dimension."""
    return tensor_split(x, indices_or_sections, 2)


@composite("unbind")
def unbind(x, dim=0):
    """The slices along a dimension, which disappears."""
    x = as_tensor(x)
    axis = normal_axis(dim, x.ndim, "dim")
    instead = "`for row in x` takes any number of rows"
    size = known_size(x.shape[axis], "a dimension of symbolic size cannot be split yet", instead)
    return tuple([F.squeeze(part, axes=(axis,)) for part in _parts(x, axis, range(size + 1))])


# ------------------------------------------------------------------------------------------------ joined
def at_least(x, ndim):
    """`x` with dimensions of size 1 added until there are `ndim`, where NumPy's atleast functions put them."""
    x = as_tensor(x)
    if x.ndim >= ndim:
        return x
    if ndim == 3:
        return F.reshape(x, shape=(*(1,) * (x.ndim < 2), *(x.shape or (1,)), 1))
    return F.reshape(x, shape=(*(1,) * (ndim - x.ndim), *x.shape))


@composite()
def hstack(tensors):
    """Tensors joined along the second dimension, vectors along their only one."""
    xs = [at_least(x, 1) for x in rows(tensors)]
    return call.concat(xs, 0 if xs and xs[0].ndim == 1 else 1)


@composite()
def vstack(tensors):
    """Tensors joined along the first dimension; vectors are rows."""
    return call.concat([at_least(x, 2) for x in rows(tensors)], 0)


@composite()
def dstack(tensors):
    """Tensors joined along the third dimension."""
    return call.concat([at_least(x, 3) for x in rows(tensors)], 2)


@composite()
def column_stack(tensors):
    """Vectors as columns, and matrices, side by side."""
    xs = [as_tensor(x) for x in rows(tensors)]
    return call.concat([x if x.ndim > 1 else F.reshape(x, shape=(dim_product(x.shape), 1)) for x in xs], 1)


@composite()
def meshgrid(*inputs, indexing="xy"):
    """The coordinates of a grid over vectors, one tensor for each; "xy" exchanges the first two dimensions of "ij"."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', not {indexing!r}")
    xs = [as_tensor(x, "inputs") for x in inputs]
    require(len(xs) > 1 and all(x.ndim == 1 for x in xs), "meshgrid takes two vectors or more")
    places = list(range(len(xs)))
    if indexing == "xy":
        places[0], places[1] = 1, 0
    shape = tuple([x.shape[0] for _, x in sorted(zip(places, xs, strict=True), key=lambda pair: pair[0])])
    after = [len(xs) - 1 - i for i in places]
    laid = [F.reshape(x, shape=(*x.shape, *(1,) * n)) for x, n in zip(xs, after, strict=True)]
    return tuple([broadcast_to(x, shape) for x in laid])


@composite()
def cartesian_prod(*inputs):
    """All combinations of elements of vectors, one from each, as rows; the last changes fastest."""
    xs = [as_tensor(x, "inputs") for x in inputs]
    if len(xs) == 1:
        return xs[0]
    grid = meshgrid(*xs, indexing="ij")
    return call.stack([F.reshape(x, shape=(dim_product(x.shape),)) for x in grid], -1)


@composite()
def combinations(x, r=2, with_replacement=False):
    """All choices of r elements of a vector, in order, as rows."""
    x = as_tensor(x)
    r = static_int(r, "r")
    require(x.ndim == 1 and r >= 0, f"combinations of {r} out of a tensor of {x.ndim} dimensions")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(range(x.shape[0]), r))
    rows = np.array(chosen, np.int64).reshape(len(chosen), r)
    return call.gather(x, rows, 0)


# ------------------------------------------------------------------------------------------------ triangles
def _triangle(name):
    def public(x, diagonal=0):
        x = as_tensor(x)
        require(x.ndim >= 2, f"{name} takes matrices, not a tensor of {x.ndim} dimensions")
        return getattr(F, name)(x, k=static_int(diagonal, "diagonal"))

    public.__name__ = public.__qualname__ = name
    return public


def _matrices(x: TensorType, *, k: int = 0):
    require(x.ndim >= 2, f"only matrices have triangles, not {x}")
    return x


class Tril(Primitive):
    """The elements of matrices on and below their k-th diagonal, zeros above."""

    infer = _matrices

    def numpy(x, *, k):
        return np.tril(x, k)

    def aclnn(c, x):
        c.op("Tril", x, c.k, c.out)

    call = _triangle("tril")
    methods = ("tril",)

    def vjp(c, g, x):
        return F.tril(g, k=c.k)

    def samples(rng):
        yield rng(3, 3), {"k": 0}
        yield rng(2, 2, 3), {"k": -1}

    errors = [((F2,), {}, "only matrices")]


class Triu(Primitive):
    """The elements of matrices on and above their k-th diagonal, zeros below."""

    infer = _matrices

    def numpy(x, *, k):
        return np.triu(x, k)

    def aclnn(c, x):
        c.op("Triu", x, c.k, c.out)

    call = _triangle("triu")
    methods = ("triu",)

    def vjp(c, g, x):
        return F.triu(g, k=c.k)

    def samples(rng):
        yield rng(3, 3), {"k": 0}
        yield rng(2, 3, 2), {"k": 1}

    errors = [((F2,), {}, "only matrices")]


# ------------------------------------------------------------------------------------------------ sequences
@composite("reverse_sequence")
def reverse_sequence(x, seq_lengths, seq_dim, batch_dim=0):
    """The first `seq_lengths[b]` elements along `seq_dim` in reverse order, for every index b along `batch_dim`."""
    x, lengths = as_tensor(x), as_tensor(seq_lengths, "seq_lengths")
    along, batch = normal_axis(seq_dim, x.ndim, "seq_dim"), normal_axis(batch_dim, x.ndim, "batch_dim")
    require(along != batch, "`seq_dim` and `batch_dim` are one dimension")
    require(lengths.shape == (x.shape[batch],), f"{list(lengths.shape)} lengths for {x.shape[batch]} sequences")
    size = x.shape[along]

    def laid(v, axis):  # a vector along an axis of x
        shape = tuple([d if i == axis else 1 for i, d in enumerate(x.shape, -x.ndim)])
        return broadcast_to(F.reshape(v, shape=shape), x.shape)

    lengths = laid(checked(lengths, size + 1, negative=False), batch)
    place = laid(F.iota(start=0, step=1, size=size, dtype=int64), along)
    return F.take_along_axis(x, F.select(F.less(place, lengths), lengths - place - 1, place), axis=along, distinct=True)


@composite()
def sequence_mask(lengths, maxlen=None):
    """A mask: whether each position 0 ... maxlen - 1 lies within each length, along a new last dimension.

    Without `maxlen` it is the greatest length, which must be known: not in compiled code.
    """
    lengths = as_tensor(lengths, "lengths")
    if maxlen is None:
        maxlen = static_int(call.max(lengths), "maxlen")
    size = static_int(maxlen, "maxlen")
    require(size >= 0, f"`maxlen` must not be negative: {size}")
    shape = (*lengths.shape, size)
    place = broadcast_to(F.iota(start=0, step=1, size=size, dtype=int64), shape)
    return F.less(place, broadcast_to(F.expand_dims(cast(lengths, int64), axes=(-1,)), shape))
