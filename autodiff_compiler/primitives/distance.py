"""Distances between points, and slices brought to a bounded length."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import int64
from ..ir.primitive import F, call, composite
from ..ir.types import tensor
from .family import constant, normal_axis, promoted, promoted_dtype
from .requirements import require, static_number
from .statistics import vector_norm


def _order(p):
    p = float(static_number(p, "p"))
    require(p >= 0, f"a distance has an order p >= 0, not {p}")
    return p


def _lengths(apart, p):
    """Norms of order p along the last axis."""
    return vector_norm(apart, int(p) if p in (0, 1, 2) else p, -1)


@composite()
def cdist(x, y, p=2.0):
    """Distances [..., n, m] of order p between all points of x [..., n, d] and of y [..., m, d].

    Orders are 0 (how many coordinates differ), positive, inf.  Where two points coincide the derivative is 0.
    """
    x, y = promoted_dtype(x, y, floating=True)
    fit = x.ndim >= 2 and y.ndim >= 2 and x.shape[-1] == y.shape[-1]
    require(fit, f"no distances between points of {list(x.shape)} and of {list(y.shape)}: they are [..., points, size]")
    return _lengths(call.sub(F.expand_dims(x, axes=(-2,)), F.expand_dims(y, axes=(-3,))), _order(p))


@composite()
def pdist(x, p=2.0):
    """Distances of order p between the points i < j of x [..., n, d], in the order (0, 1), (0, 2), ..., (1, 2), ..."""
    (x,) = promoted(x, floating=True)
    require(x.ndim >= 2, f"pdist takes points [..., n, d], not {list(x.shape)}")
    first, second = (constant(i.astype(np.int64), tensor(int64, i.shape)) for i in np.triu_indices(x.shape[-2], 1))
    return _lengths(F.gather(x, first, axis=-2) - F.gather(x, second, axis=-2), _order(p))


@composite()
def dist(x, y, p=2):
    """The norm of order p of all differences of two tensors that broadcast."""
    apart = call.flatten(call.sub(*promoted_dtype(x, y, floating=True)))
    return _lengths(call.reshape(apart, (-1,)), _order(p))


@composite("renorm")
def renorm(x, p, axis, maxnorm):
    """Slices along an axis whose norm of order p exceeds `maxnorm` scaled down to it."""
    (x,) = promoted(x, floating=True)
    p, bound = float(static_number(p, "p")), float(static_number(maxnorm, "maxnorm"))
    if not p > 0 or math.isnan(bound) or bound < 0:
        raise ValueError(f"renorm needs an order p > 0 and a norm of at least 0, not {p} and {bound}")
    axis = normal_axis(axis, x.ndim)
    others = tuple(a for a in range(-x.ndim, 0) if a != axis)
    length = vector_norm(x, 2 if p == 2 else p, others, True) if others else call.abs(x)
    long = call.greater(length, bound)
    return call.mul(x, call.where(long, call.div(bound, call.where(long, length, 1)), 1))
