"""Tensors made larger at their borders: by a constant, mirrored, by the last element, around."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import bool_, int64
from ..ir.primitive import F, Ints, Number, Primitive, composite
from ..ir.sizes import largest, may_be_at_most
from ..ir.types import Shape, TensorType, tensor
from .family import as_tensor, broadcast_to, constant, in_dtype, is_tensor, static_size, sum_of_cotangents
from .requirements import known_array, known_sizes, require
from .samples import F2


class Pad(Primitive):
    """`x` with `before` and `after` more elements in every dimension, all of them `value`."""

    def infer(x: TensorType, *, before: Shape, after: Shape, value: Number = 0):
        fits = len(before) == len(after) == x.ndim and all(may_be_at_most(0, p) for p in (*before, *after))
        require(fits, f"widths {list(before)} and {list(after)} do not pad {x}: one number >= 0 for each dimension")
        sizes: list[Any] = list(x.shape)
        for i, wider in enumerate(zip(before, after, strict=True)):
            sizes[i] += sum(wider)
        return tensor(x.dtype, tuple(sizes))

    def numpy(x, *, before, after, value):
        out = np.empty([b + d + a for b, d, a in zip(before, x.shape, after, strict=True)], x.dtype)
        out[...] = np.asarray(value).astype(x.dtype)
        out[tuple([slice(b, b + d) for b, d in zip(before, x.shape, strict=True)])] = x
        return out

    def aclnn(c, x):
        if x.size:
            widths = [w for pair in zip(reversed(c.before), reversed(c.after), strict=True) for w in pair]
            c.op("ConstantPadNd", x, widths, c.value, c.out) if widths else c.give(x)
        else:
            c.op("InplaceFillScalar", c.out, c.value)

    def batch(c, n, x):
        return F.pad(x, before=(0, *c.before), after=(0, *c.after), value=c.value)

    call = lambda x, padding, mode="constant", value=None: pad(x, padding, mode, value)

    def vjp(c, g, x):
        axes = [i for i in range(-x.ndim, 0) if c.before[i] or c.after[i]]
        starts, stops = [c.before[i] for i in axes], [c.before[i] + x.shape[i] for i in axes]
        return F.slice(g, axes=axes, starts=starts, stops=stops, steps=[1] * len(axes)) if axes else g

    def samples(rng):
        yield rng(2, 3), {"before": (1, 0), "after": (0, 2)}
        yield rng(2), {"before": (2,), "after": (0,), "value": 1.5}
        yield rng(0, 2), {"before": (1, 1), "after": (0, 0)}
        yield rng(), {"before": (), "after": ()}

    errors = [
        ((F2,), {"before": (1, 1), "after": (0, 0)}, "do not pad"),
        ((F2,), {"before": (-1,), "after": (0,)}, "do not pad"),
    ]


def pad(x, padding, mode="constant", value=None):
    """`x` with more elements at the borders of its last dimensions.

    `padding` holds two widths for the last dimension, then two for the one before, and so on; negative widths crop
    the tensor.  ``mode``: "constant" (`value`, 0 by default), "reflect" (mirrored at the border element, which is
    not repeated), "symmetric" (which is), "replicate" (the border element), "circular" (from the other end).
    """
    x = as_tensor(x)
    widths = _widths(padding)
    require(len(widths) <= x.ndim, f"{len(widths)} pairs of widths for a tensor of {x.ndim} dimensions")
    x, widths = _cropped(x, widths)
    if mode == "constant":
        if all(type(p) is int and p == 0 for pair in widths for p in pair):
            return x
        return _filled(x, widths, 0 if value is None else value)
    if mode not in _NEEDED:
        raise ValueError(f"mode must be 'constant', {', '.join(map(repr, _NEEDED))}, not {mode!r}")
    require(value is None or value == 0, f"`value` has no meaning in mode {mode!r}")
    widths = [known_sizes(pair, f"how far {mode} padding goes must be known, not {pair}") for pair in widths]
    if not any(map(any, widths)):
        return x
    for i, (before, after) in enumerate(widths):
        size = x.shape[-1 - i]
        fits = not (before or after) or may_be_at_most(_NEEDED[mode](max(before, after)), size)
        require(fits, f"{mode} padding by {(before, after)} needs more than the {size} elements of axis {-1 - i}")
    rest = (0,) * (x.ndim - len(widths))
    before, after = ((*rest, *[w[i] for w in reversed(widths)]) for i in (0, 1))
    return F.extend(x, before=before, after=after, mode=mode)


def _widths(padding):
    if is_tensor(padding):
        padding = known_array(padding, "padding").reshape(-1).tolist()
    padding = (padding,) * 2 if isinstance(padding, int) else padding
    if any(isinstance(p, tuple | list) for p in padding):
        pairs = [p if isinstance(p, tuple | list) else (p,) for p in padding]
        flat = tuple(width for pair in reversed(pairs) for width in pair)
        raise TypeError(
            "`padding` is one flat list, two widths per dimension, the last dimension first: "
            f"write {flat}, not {padding}"
        )
    numbers = [static_size(p, "padding") for p in padding]
    require(len(numbers) % 2 == 0, f"`padding` holds pairs of widths, but it has {len(numbers)} numbers")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _cropped(x, widths):
    """`x` without what negative widths take away, and the widths that are left."""
    axes, starts, stops = [], [], []
    for i, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            axes.append(-1 - i)
            starts.append(largest(0, -before))
            stops.append(x.shape[-1 - i] - largest(0, -after))
            fits = may_be_at_most(starts[-1], stops[-1])
            require(fits, f"widths {(before, after)} take more than {x.shape[-1 - i]} elements away")
    if axes:
        x = F.slice(x, axes=axes, starts=starts, stops=stops, steps=[1] * len(axes))
    return x, [(largest(0, before), largest(0, after)) for before, after in widths]


def _filled(x, widths, value):
    rest = (0,) * (x.ndim - len(widths))
    before, after = ((*rest, *[w[i] for w in reversed(widths)]) for i in (0, 1))
    if not is_tensor(value) and isinstance(value, bool | int | float):
        return F.pad(x, before=before, after=after, value=value)
    value = in_dtype(value, x.dtype)  # known only at run time: it fills where nothing of x lies
    require(value.ndim == 0, f"`value` must be one number, not of shape {list(value.shape)}")
    padded = F.pad(x, before=before, after=after)
    inside = F.pad(constant(True, tensor(bool_, x.shape)), before=before, after=after)
    return F.select(inside, padded, broadcast_to(value, padded.shape))


#: Mode: how many elements a dimension needs for a border of some width.
_NEEDED = {
    "reflect": lambda width: width + 1,
    "symmetric": lambda width: width,
    "replicate": lambda width: 1,
    "circular": lambda width: width,
}


#: The names of the modes in `numpy.pad`.
_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "symmetric": "symmetric"}


class Extend(Primitive):
    """`x` with `before` and `after` more elements in every dimension, which are some of its own: see `pad`."""

    internal = True

    def infer(x: TensorType, *, before: Ints, after: Ints, mode: str):
        wider = tensor(x.dtype, tuple([d if b or a else 1 for d, b, a in zip(x.shape, before, after, strict=True)]))
        sizes = Pad.infer(wider, before=before, after=after).shape
        for d, b, a in zip(wider.shape, before, after, strict=True):
            fits = not (b or a) or may_be_at_most(_NEEDED[mode](max(b, a)), d)
            require(fits, f"{mode} padding by {(b, a)} of {d} elements")
        whole = zip(x.shape, sizes, before, after, strict=True)
        return tensor(x.dtype, tuple([size if b or a else d for d, size, b, a in whole]))

    def numpy(x, *, before, after, mode):
        out = np.empty([b + d + a for b, d, a in zip(before, x.shape, after, strict=True)], x.dtype)
        part = [slice(b, b + d) for b, d in zip(before, x.shape, strict=True)]
        out[tuple(part)] = x
        for axis in range(x.ndim - 1, -1, -1):
            first, end, size = part[axis].start, part[axis].stop, out.shape[axis]
            skip = mode == "reflect"
            if mode == "replicate":
                left, right = slice(first, first + 1), slice(end - 1, end)
            elif mode == "circular":
                left, right = slice(end - first, end), slice(first, first + size - end)
            else:
                left = slice(2 * first - 1 + skip, first - 1 + skip, -1)
                last = 2 * end - 1 - skip - size
                right = slice(end - 1 - skip, last if last >= 0 else None, -1)
            for wide, target, source in ((first, slice(first), left), (size - end, slice(end, size), right)):
                if wide:
                    out[(*part[:axis], target)] = out[(*part[:axis], source)]
            part[axis] = slice(size)
        return out

    def batch(c, n, x):
        return F.extend(x, before=(0, *c.before), after=(0, *c.after), mode=c.mode)

    def aclnn(c, x):
        for axis, (size, widths) in enumerate(zip(x.shape, zip(c.before, c.after, strict=True), strict=True)):
            if any(widths):
                places = np.pad(np.arange(size), widths, _MODES[c.mode])
                made = c.temp((*x.shape[:axis], len(places), *x.shape[axis + 1 :]), x.dtype)
                c.op("IndexSelect", x, axis, c.array(places, int64), made)
                x = made
        c.give(x)

    def vjp(c, g, x):
        for axis in range(-x.ndim, 0):
            if c.before[axis] or c.after[axis]:
                g = _folded(g, axis, c.before[axis], c.after[axis], c.mode)
        return g

    def samples(rng):
        for mode in _NEEDED:
            yield rng(2, 4, 3), {"before": (0, 2, 0), "after": (0, 3, 1), "mode": mode}
        yield rng(3), {"before": (2,), "after": (0,), "mode": "reflect"}

    errors = [((F2,), {"before": (2,), "after": (0,), "mode": "reflect"}, "reflect padding by")]


def _folded(g, axis, before, after, mode):
    """The cotangent of `extend` along one axis: what was copied to the borders is added where it came from."""
    size = g.shape[axis] - before - after

    def part(start, stop):
        return F.slice(g, axes=(axis,), starts=(start,), stops=(stop,), steps=(1,))

    def placed(piece, at):
        count = piece.shape[axis]
        if mode == "replicate":
            piece, count = sum_of_cotangents(piece, (axis,), keepdims=True), 1
        elif mode != "circular":
            piece = F.slice(piece, axes=(axis,), starts=(count - 1,), stops=(-1,), steps=(-1,))
        one = [i == axis for i in range(-g.ndim, 0)]
        widths = [[n * here for here in one] for n in (at, size - at - count)]
        return F.pad(piece, before=widths[0], after=widths[1])

    left, right = {
        "reflect": (1, size - 1 - after), "symmetric": (0, size - after), "replicate": (0, size - 1),
        "circular": (size - before, 0),
    }[mode]  # fmt: skip
    total = part(before, before + size)
    if before:
        total = total + placed(part(0, before), left)
    if after:
        total = total + placed(part(before + size, before + size + after), right)
    return total


@composite()
def mirror_pad(x, paddings, mode):
    """`x` mirrored by pairs of widths, one pair for every dimension from the first on; REFLECT or SYMMETRIC."""
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"mode must be 'REFLECT' or 'SYMMETRIC', not {mode!r}")
    pairs = known_array(paddings, "paddings").tolist() if is_tensor(paddings) else paddings
    return pad(x, [width for pair in reversed(pairs) for width in pair], mode.lower())
