"""Running sums, products, extremes along an axis, and the linear recurrence their derivatives are made of."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import dtype_of, int16, int64
from ..ir.primitive import F, Primitive, call, composite
from ..ir.types import TensorType, tensor
from .family import as_tensor, broadcast_to, cast, normal_axis, promoted, promoted_dtype, same_type, zeros_like
from .flops import flops_of_functions, size_of_type
from .reduce import exp_ratio
from .requirements import require, require_dtype, static_int
from .samples import B2, F2, I2


def _require_axis(x, axis):
    require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")


def _numbers_along(x, axis):
    require_dtype(not x.dtype.is_bool, f"not defined for bools: {x}", hint="cast it to a number first")
    _require_axis(x, axis)
    return x


def _along(name):
    def public(x, axis, dtype=None, *, reverse=False, exclusive=False):
        x = as_tensor(x)
        dtype = dtype_of(dtype) if dtype is not None else int64 if x.dtype.is_bool else x.dtype
        axis = normal_axis(axis, x.ndim)
        return getattr(F, name)(cast(x, dtype), axis=axis, reverse=bool(reverse), exclusive=bool(exclusive))

    public.__name__ = public.__qualname__ = name
    return public


def _accumulated(ufunc, start, x, axis, reverse, exclusive):
    """The ufunc accumulated along an axis, without the element itself if `exclusive`."""
    out = np.empty_like(x)
    source, target = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    if reverse:
        source, target = source[::-1], target[::-1]
    if exclusive:
        target[:1] = start
        source, target = source[:-1], target[1:]
    ufunc.accumulate(source, axis=0, out=target)
    return out


class Cumsum(Primitive):
    """Running sum along an axis, from the end with `reverse`, without the element itself with `exclusive`.

    Integers keep their dtype; bools are counted as int64.
    """

    def infer(x: TensorType, *, axis: int, reverse: bool = False, exclusive: bool = False):
        return _numbers_along(x, axis)

    flops = 1

    def numpy(x, *, axis, reverse, exclusive):
        return (
            _accumulated(np.add, 0, x, axis, reverse, exclusive)
            if reverse or exclusive
            else np.add.accumulate(x, axis=axis, dtype=x.dtype)
        )

    def aclnn(c, x):
        wide = c.cast(x, c.wide(x.dtype))
        out = c.out if wide is x else c.like(wide)
        c.op("CumsumV2", wide, c.axis % x.ndim, c.exclusive, c.reverse, out)
        c.convert(out, c.out)

    widen = True
    call = _along("cumsum")
    methods = ("cumsum",)

    def vjp(c, g, x):
        return F.cumsum(g, axis=c.axis, reverse=not c.reverse, exclusive=c.exclusive)

    def samples(rng):
        yield rng(2, 3), {"axis": -1}
        yield rng(3, 2), {"axis": -2, "reverse": True, "exclusive": True}
        yield rng(0), {"axis": -1, "exclusive": True}

    errors = [((B2,), {"axis": -1}, "not defined for bools"), ((F2,), {"axis": -2}, "does not exist")]


class Cumprod(Primitive):
    """Running product along an axis, from the end with `reverse`, without the element itself with `exclusive`.

    Its derivative is exact at zeros too.  Integers keep their dtype; bools are counted as int64.
    """

    def infer(x: TensorType, *, axis: int, reverse: bool = False, exclusive: bool = False):
        return _numbers_along(x, axis)

    flops = 1

    def numpy(x, *, axis, reverse, exclusive):
        return (
            _accumulated(np.multiply, 1, x, axis, reverse, exclusive)
            if reverse or exclusive
            else np.multiply.accumulate(x, axis=axis, dtype=x.dtype)
        )

    widen = True
    call = _along("cumprod")
    methods = ("cumprod",)

    def aclnn(c, x):
        axis, wide = c.axis % x.ndim, c.cast(x, c.wide(x.dtype))
        turned = (axis,) if c.reverse else ()
        wide = c.flipped(wide, turned)
        if c.exclusive:
            one = c.number(1, wide).broadcast(wide.sliced(axis, 0, 1).shape)
            moved = c.like(wide)
            c.op("Cat", [c.dense(one), wide.sliced(axis, 0, x.shape[axis] - 1)][: x.shape[axis]], axis, moved)
            wide = moved
        found = c.like(wide)
        c.op("Cumprod", wide, axis, wide.dtype, found)
        c.give(c.flipped(found, turned))

    def vjp(c, g, x):
        # The product before place i times what the products after it weigh: w[i] = g[i] + x[i+1] w[i+1], where the
        # exclusive product at i + 1 is the first that contains x[i].
        before = c.out if c.exclusive else F.cumprod(x, axis=c.axis, reverse=c.reverse, exclusive=True)
        towards = 1 if c.reverse else -1
        g = _shifted(g, c.axis, towards) if c.exclusive else g
        return before * F.linear_recurrence(g, _shifted(x, c.axis, towards), axis=c.axis, reverse=not c.reverse)

    def samples(rng):
        yield rng(2, 3), {"axis": -1}
        yield rng(3, 2), {"axis": -2, "reverse": True}
        yield rng(3), {"axis": -1, "exclusive": True}
        yield np.array([2.0, 0.0, 3.0, 0.0]), {"axis": -1}
        yield rng(0), {"axis": -1}

    errors = [((B2,), {"axis": -1}, "not defined for bools"), ((F2,), {"axis": -2}, "does not exist")]
    ties = [
        (([0.0, 2.0, 3.0],), {"axis": -1}, ([9.0, 0.0, 0.0],)),
        (([2.0, 0.0, 3.0],), {"axis": -1}, ([1.0, 8.0, 0.0],)),
    ]


def _shifted(x, axis, by):
    """The elements shifted by one along an axis, forwards (by = 1) or backwards (by = -1); a 0 moves in."""
    n = x.shape[axis]
    if type(n) is not int:  # there may be no element
        one = tuple([int(i == axis) for i in range(-x.ndim, 0)])
        none = (0,) * x.ndim
        wide = F.pad(x, before=one, after=none) if by == 1 else F.pad(x, before=none, after=one)
        return _part(wide, axis, 0, n) if by == 1 else _part(wide, axis, 1, n + 1)
    if n == 0:
        return x
    one = {"axes": (axis,), "steps": (1,)}
    head, tail = {"starts": (0,), "stops": (n - 1,)}, {"starts": (1,), "stops": (n,)}
    source, target = (head, tail) if by == 1 else (tail, head)
    return F.slice_update(zeros_like(x), F.slice(x, **source, **one), **target, **one)


def _part(x, axis, start, stop):
    return F.slice(x, axes=(axis,), starts=(start,), stops=(stop,), steps=(1,))


class LinearRecurrence(Primitive):
    """r[i] = x[i] + a[i] r[i-1] along an axis, r[-1] = 0; from the end with `reverse`."""

    internal = True

    def infer(x: TensorType, a: TensorType, *, axis: int, reverse: bool = False):
        require_dtype(not x.dtype.is_bool, f"not defined for bool: {x}")
        same_type(x, a)
        _require_axis(x, axis)
        return x

    flops = 2

    def numpy(x, a, *, axis, reverse):
        out = x.copy()
        r, a = np.moveaxis(out, axis, 0), np.moveaxis(a, axis, 0)
        if reverse:
            r, a = r[::-1], a[::-1]
        for i in range(1, len(r)):
            r[i] += a[i] * r[i - 1]
        return out

    widen = True

    def aclnn(c, x, a):
        x, a = c.cast(x, c.wide(x.dtype)), c.cast(a, c.wide(a.dtype))
        axis, out = c.axis % x.ndim, c.out
        c.give(out if x.dtype is out.dtype else c.like(x))

        def step(i, before):
            here = x.sliced(axis, i, 1)
            made = here if before is None else c.like(here)
            if before is not None and x.dtype is int16:  # which Addcmul does not take
                product = c.like(here)
                c.op("Mul", a.sliced(axis, i, 1), before, product)
                c.op("Add", here, product, 1, made)
            elif before is not None:
                c.op("Addcmul", here, a.sliced(axis, i, 1), before, 1, made)
            return made

        c.recurrence(axis, c.reverse, step)

    def vjp(c, g, x, a):
        back, forth = (1, -1) if c.reverse else (-1, 1)
        gx = F.linear_recurrence(g, _shifted(a, c.axis, back), axis=c.axis, reverse=not c.reverse)
        return gx, (gx * _shifted(c.out, c.axis, forth) if c.needs.a else None)

    def samples(rng):
        yield rng(2, 3), rng(2, 3), {"axis": -1}
        yield rng(3, 2), rng(3, 2), {"axis": -2, "reverse": True}
        yield rng(0), rng(0), {"axis": -1}

    errors = [((B2, B2), {"axis": -1}, "not defined for bool"), ((F2, F2), {"axis": -2}, "does not exist")]


def _logcumsumexp(x, axis):
    (x,) = promoted(x, floating=True)
    return F.logcumsumexp(x, axis=normal_axis(axis, x.ndim))


class Logcumsumexp(Primitive):
    """log(cumsum(exp(x))) along an axis, without overflow."""

    def infer(x: TensorType, *, axis: int):
        require_dtype(x.dtype.is_float, f"not defined for {x.dtype.name}: {x}", hint="cast it to a float first")
        _require_axis(x, axis)
        return x

    def numpy(x, *, axis):
        return np.logaddexp.accumulate(x, axis=axis)

    flops = lambda x, *, axis: size_of_type(x) * flops_of_functions()["logaddexp"]

    widen = True
    call = _logcumsumexp
    methods = ("logcumsumexp",)

    def decomposed(c, x):
        step, size = 1, x.shape[c.axis]
        while step < size:  # every element is combined with the one `step` before, which covers `step` elements itself
            first, rest, before = [_part(x, c.axis, a, b) for a, b in ((0, step), (step, size), (0, size - step))]
            x = F.concat(first, F.logaddexp(rest, before), axis=c.axis)
            step *= 2
        return x

    def vjp(c, g, x):
        # The sum over j >= i of g[j] exp(x[i] - out[j]): its terms never exceed g, and no factor overflows.
        fading = exp_ratio(c.out, _next_element(c.out, c.axis))
        return exp_ratio(x, c.out) * F.linear_recurrence(g, fading, axis=c.axis, reverse=True)

    def samples(rng):
        yield rng(2, 3), {"axis": -1}
        yield 300 * rng(3, 2), {"axis": -2}
        yield rng(0), {"axis": -1}

    errors = [((I2,), {"axis": -1}, "not defined for int32"), ((F2,), {"axis": -2}, "does not exist")]
    ties = [
        (([-math.inf, 0.0, 0.0],), {"axis": -1}, ([0.0, 1.5, 0.5],)),
        (([0.0, 1000.0],), {"axis": -1}, ([1.0, 1.0],)),
    ]


def _next_element(x, axis):
    """The next element along an axis; for the last one, itself."""
    n = x.shape[axis]
    if type(n) is not int:
        following = F.iota(start=1, step=1, size=n, dtype=int64)
        last = broadcast_to(F.size_value(size=n - 1), following.shape)
        return F.gather(x, F.minimum(following, last), axis=axis)
    if n == 0:
        return x
    one = {"axes": (axis,), "steps": (1,)}
    return F.slice_update(x, F.slice(x, starts=(1,), stops=(n,), **one), starts=(0,), stops=(n - 1,), **one)


# ------------------------------------------------------------------------------------------------ extremes
def _running_extreme(ufunc, x, axis):
    """The extreme so far along an axis and its position (int64): the last of equal ones, nan from the first nan on."""
    x = np.moveaxis(x, axis, -1)
    best = ufunc.accumulate(x, axis=-1)
    reached, last = x == best, best[..., -1:]
    if (last != last).any():  # nan stays the extreme
        reached |= x != x
    # The first element of every row is a new extreme: each position counts up to the next one, also across rows.
    (places,) = reached.reshape(-1).nonzero()
    counts = np.empty_like(places)
    counts[:-1] = places[1:] - places[:-1]
    counts[-1:] = x.size - places[-1:]
    index = (places % max(x.shape[-1], 1)).repeat(counts).reshape(x.shape)
    return np.ascontiguousarray(np.moveaxis(best, -1, axis)), np.ascontiguousarray(np.moveaxis(index, -1, axis))


def _with_index(x: TensorType, *, axis: int):
    _require_axis(x, axis)
    return x, tensor(int64, x.shape)


def _scatter_to_extremes(c, gs, x):
    """The cotangents of the running extremes, added at the positions they came from."""
    return None if gs[0] is None else F.add_along_axis(zeros_like(x), c.outs[1], gs[0], axis=c.axis)


def _extremes_by_doubling(extreme, x, axis):
    """`cummax` or `cummin` by log2(size) doublings; then, likewise, the last position of each extreme."""
    size = x.shape[axis]

    def run(extreme, x):
        step = 1
        while step < size:
            before = _part(x, axis, 0, size - step)
            x = F.concat(_part(x, axis, 0, step), extreme(_part(x, axis, step, size), before), axis=axis)
            step *= 2
        return x

    found = run(extreme, x)
    same = F.equal(x, found)
    if x.dtype.is_float:
        same = F.logical_or(same, F.not_equal(x, x))
    shape = [size if i == axis else 1 for i in range(-x.ndim, 0)]
    places = broadcast_to(F.reshape(F.iota(start=0, step=1, size=size, dtype=int64), shape=shape), x.shape)
    return found, run(F.maximum, F.select(same, places, 0))


def _extreme_so_far(name):
    def public(x, axis):
        x = as_tensor(x)
        return getattr(F, name)(x, axis=normal_axis(axis, x.ndim))

    return public


class _RunningExtreme(Primitive, abstract=True):
    """The extreme element so far along an axis, and where it stands."""

    multiple = True
    infer = _with_index
    flops = 1
    public = _extreme_so_far
    vjp = _scatter_to_extremes

    def samples(rng):
        yield rng.distinct(2, 3), {"axis": -1}
        yield rng.distinct(3, 2), {"axis": -2}
        yield rng(0, 2), {"axis": -2}

    errors = [((F2,), {"axis": -2}, "does not exist")]


class Cummax(_RunningExtreme):
    """The greatest element so far along an axis, nan from the first on, and where it stands (int64).

    Of several it is the last, which gets the cotangent.
    """

    def numpy(x, *, axis):
        return _running_extreme(np.maximum, x, axis)

    methods = ("cummax",)
    decomposed = lambda c, x: _extremes_by_doubling(F.maximum, x, c.axis)


class Cummin(_RunningExtreme):
    """The smallest element so far along an axis, nan from the first on, and where it stands (int64).

    Of several it is the last, which gets the cotangent.
    """

    def numpy(x, *, axis):
        return _running_extreme(np.minimum, x, axis)

    methods = ("cummin",)
    decomposed = lambda c, x: _extremes_by_doubling(F.minimum, x, c.axis)


# ------------------------------------------------------------------------------------------------ differences
@composite("diff")
def diff(x, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times; of bools whether they differ."""
    x = as_tensor(x)
    n, axis = static_int(n, "n"), normal_axis(axis, x.ndim)
    require(n >= 0, f"diff needs n >= 0, not {n}")
    parts = [as_tensor(part) for part in (prepend, x, append) if part is not None]
    x = call.concat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        size = x.shape[axis]
        one = {"axes": (axis,), "steps": (1,)}
        later = F.slice(x, starts=(min(1, size),), stops=(size,), **one)
        sooner = F.slice(x, starts=(0,), stops=(max(size - 1, 0),), **one)
        x = F.not_equal(later, sooner) if x.dtype.is_bool else later - sooner
    return x


@composite()
def trapz(y, x=None, dx=1.0, dim=-1):
    """The integral along an axis by the trapezoidal rule, between points x or, without them, points `dx` apart.

    The points are a vector along that axis or a tensor that broadcasts with y.
    """
    y, x = promoted_dtype(y, dx if x is None else x, floating=True)
    axis = normal_axis(dim, y.ndim, "dim")
    if x.ndim == 1:
        require(x.shape[0] == y.shape[axis], f"{x.shape[0]} points for {y.shape[axis]} values along axis {dim}")
        x = F.reshape(x, shape=(x.shape[0], *(1,) * (-axis - 1)))
    width = diff(x, 1, axis) if x.ndim >= -axis and x.shape[axis] != 1 else x
    size = y.shape[axis]
    one = {"axes": (axis,), "steps": (1,)}
    later = F.slice(y, starts=(min(1, size),), stops=(size,), **one)
    both = later + F.slice(y, starts=(0,), stops=(max(size - 1, 0),), **one)
    return call.sum(call.mul(call.mul(both, 0.5), width), axis)
