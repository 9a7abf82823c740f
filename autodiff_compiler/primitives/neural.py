"""Softmax and its logarithm, embeddings and dropout."""

from __future__ import annotations

import numpy as np

from ..ir.primitive import F, Primitive, call, composite
from ..ir.types import TensorType
from .family import as_tensor, expand, float_unary, normal_axis, promoted, require, require_dtype, static_int
from .index import checked
from .samples import EMPTY, I2


def _along(name):
    def public(x, axis=-1):
        (x,) = promoted(x, floating=True)
        return getattr(F, name)(x, axis=normal_axis(axis, x.ndim))

    return public


def _float_with_axis(x, axis):
    require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
    require(x.shape[axis] != 0, f"axis {axis} of {x} is empty")
    return float_unary(x)


class Softmax(Primitive):
    """exp(x) divided by its sum along an axis, without overflow."""

    def infer(x: TensorType, *, axis: int):
        return _float_with_axis(x, axis)

    def numpy(x, *, axis):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)

    widen = True
    call = _along("softmax")
    methods = ("softmax",)

    def vjp(c, g, x):
        total = F.sum(g * c.out, axes=(c.axis,), keepdims=True)
        return c.out * (g - expand(total, (c.axis,), x.shape, keepdims=True))

    def samples(rng):
        yield rng(2, 3), {"axis": -1}
        yield rng(3, 2), {"axis": -2}
        yield 1000 * rng(3), {"axis": -1}

    errors = [((I2,), {"axis": -1}, "not defined for int32"), ((EMPTY,), {"axis": -1}, "is empty")]


class LogSoftmax(Primitive):
    """Logarithm of softmax along an axis: x - log(sum(exp(x))), without overflow."""

    def infer(x: TensorType, *, axis: int):
        return _float_with_axis(x, axis)

    def numpy(x, *, axis):
        z = x - np.max(x, axis=axis, keepdims=True)
        return z - np.log(np.sum(np.exp(z), axis=axis, keepdims=True))

    widen = True
    call = _along("log_softmax")
    methods = ("log_softmax",)

    def vjp(c, g, x):
        total = F.sum(g, axes=(c.axis,), keepdims=True)
        return g - F.exp(c.out) * expand(total, (c.axis,), x.shape, keepdims=True)

    samples = Softmax.samples

    errors = [((I2,), {"axis": -1}, "not defined for int32"), ((EMPTY,), {"axis": -1}, "is empty")]


@composite()
def embedding(indices, weight, padding_idx=None):
    """The rows of `weight` that integers name; the row `padding_idx` gets no cotangent."""
    weight, indices = as_tensor(weight, "weight"), as_tensor(indices, "indices")
    require(weight.ndim == 2, f"the weight of an embedding must have 2 dimensions, not {weight.ndim}")
    rows = F.gather(weight, checked(indices, weight.shape[0], negative=False), axis=-2)
    if padding_idx is None:
        return rows
    padding = static_int(padding_idx, "padding_idx")
    if not -weight.shape[0] <= padding < weight.shape[0]:
        raise ValueError(f"padding_idx {padding} is no row of a weight of {weight.shape[0]}")
    padded = F.expand_dims(call.equal(indices, padding % weight.shape[0]), axes=(-1,))
    return call.where(padded, F.stop_gradient(rows), rows)


@composite()
def masked_dropout(x, mask, p):
    """x / (1 - p) where the mask holds, else 0; the mask is drawn elsewhere, with probability 1 - p of each element."""
    (x,) = promoted(x, floating=True)
    if not 0 <= p < 1:
        raise ValueError(f"p must be from 0 to less than 1, not {p}")
    mask = as_tensor(mask, "mask")
    require_dtype(mask.dtype.is_bool, f"the mask must hold bools, not {mask.dtype.name}")
    return call.where(mask, call.mul(x, 1 / (1 - p)), 0)
