"""Blocks of space moved into channels or the batch, and back; channels shuffled; positions turned into rotations."""

from __future__ import annotations

import math

from ..ir.primitive import F, call, composite
from ..ir.sizes import may_be_at_most
from .family import as_tensor, promoted_dtype
from .requirements import require, static_int
from .shape import permuted


def _parted(x, n, what):
    """The sizes in front of the last n, and these."""
    require(x.ndim >= n, f"{what} takes a tensor of at least {n} dimensions, not {list(x.shape)}")
    return x.shape[: x.ndim - n], x.shape[x.ndim - n :]


def _factor(value, parameter):
    factor = static_int(value, parameter)
    if factor < 1:
        raise ValueError(f"`{parameter}` must be positive, not {factor}")
    return factor


def _ordered(x, shape, order, final):
    """`x` seen as `shape`, its last dimensions in another order (counted from the first of them), as shape `final`."""
    lead = len(shape) - len(order)
    axes = (*range(lead), *(lead + i for i in order))
    x = permuted(F.reshape(x, shape=shape), tuple([i - len(shape) for i in axes]))
    return F.reshape(x, shape=final)


# ------------------------------------------------------------------------------------------------ channels
@composite()
def pixel_shuffle(x, factor):
    """[..., channels * r * r, height, width] as [..., channels, height * r, width * r]; r is the factor."""
    x, r = as_tensor(x), _factor(factor, "upscale_factor")
    lead, (c, h, w) = _parted(x, 3, "pixel_shuffle")
    require(c % (r * r) == 0, f"{c} channels do not split into blocks of {r} x {r}")
    out = c // (r * r)
    return _ordered(x, (*lead, out, r, r, h, w), (0, 3, 1, 4, 2), (*lead, out, h * r, w * r))


@composite()
def pixel_unshuffle(x, factor):
    """[..., channels, height * r, width * r] as [..., channels * r * r, height, width]; r is the factor."""
    x, r = as_tensor(x), _factor(factor, "downscale_factor")
    lead, (c, h, w) = _parted(x, 3, "pixel_unshuffle")
    require(h % r == 0 and w % r == 0, f"{h} x {w} elements do not split into blocks of {r} x {r}")
    return _ordered(x, (*lead, c, h // r, r, w // r, r), (0, 2, 4, 1, 3), (*lead, c * r * r, h // r, w // r))


@composite()
def channel_shuffle(x, groups):
    """[..., channels, height, width] with the channels of all groups interleaved."""
    x, groups = as_tensor(x), _factor(groups, "groups")
    lead, (c, h, w) = _parted(x, 3, "channel_shuffle")
    require(c % groups == 0, f"{c} channels do not split into {groups} groups")
    return _ordered(x, (*lead, groups, c // groups, h, w), (1, 0, 2, 3), x.shape)


# ------------------------------------------------------------------------------------------------ batch
def _blocks(block, pairs, parameter):
    """The size of a block and two widths per spatial dimension, as tuples."""
    pairs = [tuple([static_int(p, parameter) for p in pair]) for pair in pairs]
    ok = len(pairs) > 0 and all(len(pair) == 2 and min(pair) >= 0 for pair in pairs)
    if not ok:
        raise ValueError(f"`{parameter}` must hold two widths (not negative) for every dimension, not {pairs}")
    sizes = tuple(block) if isinstance(block, tuple | list) else (block,) * len(pairs)
    if len(sizes) != len(pairs):
        raise ValueError(f"a block of {len(sizes)} dimensions does not fit {len(pairs)} pairs of `{parameter}`")
    return tuple([_factor(b, "block size") for b in sizes]), pairs


@composite()
def space_to_batch_nd(x, block, paddings):
    """Blocks of the last dimensions, which are padded with zeros first, spread over the batch.

    Element j of a block of B elements goes to the j-th of the B copies of the batch.
    """
    x = as_tensor(x)
    block, pairs = _blocks(block, paddings, "paddings")
    m = len(block)
    _parted(x, m + 1, "space_to_batch_nd")
    x = F.pad(x, before=(0,) * (x.ndim - m) + tuple(p[0] for p in pairs),
              after=(0,) * (x.ndim - m) + tuple(p[1] for p in pairs), value=0)  # fmt: skip
    front, space = x.shape[: x.ndim - m], x.shape[x.ndim - m :]
    fits = all(d % b == 0 for d, b in zip(space, block, strict=True))
    require(fits, f"{list(space)} elements (padding included) do not split into blocks of {list(block)}")
    parts = [n for d, b in zip(space, block, strict=True) for n in (d // b, b)]
    k = len(front)
    order = (*range(k + 1, k + 2 * m, 2), *range(k), *range(k, k + 2 * m, 2))
    final = (front[0] * math.prod(block), *front[1:], *[d // b for d, b in zip(space, block, strict=True)])
    return _ordered(x, (*front, *parts), order, final)


@composite()
def batch_to_space_nd(x, block, crops):
    """The inverse of `space_to_batch_nd`: the batch gathered to blocks, the borders of the result cropped."""
    x = as_tensor(x)
    block, pairs = _blocks(block, crops, "crops")
    m, count = len(block), math.prod(block)
    _parted(x, m + 1, "batch_to_space_nd")
    front, space = x.shape[: x.ndim - m], x.shape[x.ndim - m :]
    require(front[0] % count == 0, f"a batch of {front[0]} does not split into blocks of {list(block)}")
    k = len(front)
    order = (*range(m, m + k), *[i for j in range(m) for i in (m + k + j, j)])
    whole = tuple([d * b for d, b in zip(space, block, strict=True)])
    final = (front[0] // count, *front[1:], *whole)
    x = _ordered(x, (*block, front[0] // count, *front[1:], *space), order, final)
    stops = [d - after for d, (_, after) in zip(whole, pairs, strict=True)]
    starts = [before for before, _ in pairs]
    fits = all(may_be_at_most(a, b) for a, b in zip(starts, stops, strict=True))
    require(fits, f"crops {pairs} take more than {list(whole)} away")
    return F.slice(x, axes=tuple(range(-m, 0)), starts=starts, stops=stops, steps=(1,) * m)


# ------------------------------------------------------------------------------------------------ positions
@composite()
def rotary_position_embedding(x, cos, sin, mode=0):
    """x * cos plus x with its pairs of elements turned by 90 degrees * sin, along the last dimension.

    A pair is element i of both halves (mode 0), or two neighbours (mode 1).
    """
    x, cos, sin = promoted_dtype(as_tensor(x), as_tensor(cos, "cos"), as_tensor(sin, "sin"))
    if mode not in (0, 1):
        raise ValueError(f"mode must be 0 (halves) or 1 (neighbours), not {mode!r}")
    lead, (d,) = _parted(x, 1, "rotary_position_embedding")
    require(d % 2 == 0, f"{d} elements do not make pairs")
    pairs = F.reshape(x, shape=(*lead, 2, d // 2) if mode == 0 else (*lead, d // 2, 2))
    axis = -2 if mode == 0 else -1
    first, second = (F.slice(pairs, axes=(axis,), starts=(i,), stops=(i + 1,), steps=(1,)) for i in (0, 1))
    turned = F.reshape(F.concat(-second, first, axis=axis), shape=x.shape)
    return call.add(call.mul(x, cos), call.mul(turned, sin))
