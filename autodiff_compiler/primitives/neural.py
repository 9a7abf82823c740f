"""Softmax and its logarithm, embeddings and dropout."""

from __future__ import annotations

import numpy as np

from ..dtypes import int64
from ..ir.primitive import F, Primitive, call, composite
from ..ir.types import TensorType, dim_product, tensor
from .family import as_tensor, broadcast_to, constant, expand, float_unary, normal_axis, promoted
from .flops import flops_of_functions, size_of_type
from .index import checked
from .requirements import require, require_dtype, static_int
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


def _softmax_flops(x):
    return size_of_type(x) * (flops_of_functions()["exp"] + 4)


class Softmax(Primitive):
    """exp(x) divided by its sum along an axis, without overflow."""

    def infer(x: TensorType, *, axis: int):
        return _float_with_axis(x, axis)

    flops = lambda x, *, axis: _softmax_flops(x)

    def numpy(x, *, axis):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)

    def aclnn(c, x):
        c.op("Softmax", x, c.axis % x.ndim, c.out)

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


def _log_softmax_flops(x, *, axis):
    rows = dim_product(x.shape[:axis] + x.shape[axis + x.ndim + 1 :])
    return _softmax_flops(x) + rows * flops_of_functions()["log"]


class LogSoftmax(Primitive):
    """Logarithm of softmax along an axis: x - log(sum(exp(x))), without overflow."""

    def infer(x: TensorType, *, axis: int):
        return _float_with_axis(x, axis)

    flops = _log_softmax_flops

    def numpy(x, *, axis):
        z = x - np.max(x, axis=axis, keepdims=True)
        return z - np.log(np.sum(np.exp(z), axis=axis, keepdims=True))

    def aclnn(c, x):
        c.op("LogSoftmax", x, c.axis % x.ndim, c.out)

    widen = True
    call = _along("log_softmax")
    methods = ("log_softmax",)

    def vjp(c, g, x):
        total = F.sum(g, axes=(c.axis,), keepdims=True)
        return g - F.exp(c.out) * expand(total, (c.axis,), x.shape, keepdims=True)

    samples = Softmax.samples

    errors = [((I2,), {"axis": -1}, "not defined for int32"), ((EMPTY,), {"axis": -1}, "is empty")]


@composite()
def embedding(indices, weight, padding_idx=None, scale_grad_by_freq=False):
    """The rows of `weight` that integers name; the row `padding_idx` gets no cotangent.

    With `scale_grad_by_freq` the cotangent of a row is divided by how often it was named.
    """
    weight, indices = as_tensor(weight, "weight"), as_tensor(indices, "indices")
    require(weight.ndim == 2, f"the weight of an embedding must have 2 dimensions, not {weight.ndim}")
    places = checked(indices, weight.shape[0], negative=False)
    rows = F.gather(weight, places, axis=-2)
    if scale_grad_by_freq:
        times = F.expand_dims(F.gather(_named(places, weight), places, axis=-1), axes=(-1,))
        rows = _with_value(call.div(rows, times), rows)
    if padding_idx is None:
        return rows
    padding = static_int(padding_idx, "padding_idx")
    if not -weight.shape[0] <= padding < weight.shape[0]:
        raise ValueError(f"padding_idx {padding} is no row of a weight of {weight.shape[0]}")
    padded = F.expand_dims(call.equal(indices, padding % weight.shape[0]), axes=(-1,))
    return call.where(padded, F.stop_gradient(rows), rows)


def _named(places, weight):
    """How often each row of the weight is named."""
    ones = constant(1, tensor(int64, places.shape))
    return F.scatter_add(constant(0, tensor(int64, weight.shape[:1])), places, ones, axis=-1)


def _with_value(x, value):
    """`value`, with the derivative of x."""
    return F.stop_gradient(value) + (x - F.stop_gradient(x))


@composite(internal=True)
def limited_rows(weight, indices, max_norm, norm_type=2.0):
    """`weight` with those named rows that are longer than `max_norm` scaled to it; its derivative ignores that."""
    weight = as_tensor(weight, "weight")
    require(weight.ndim == 2, f"the weight of an embedding must have 2 dimensions, not {weight.ndim}")
    places = checked(as_tensor(indices, "indices"), weight.shape[0], negative=False)
    norms = call.vector_norm(F.stop_gradient(weight), norm_type, -1, True)
    named = F.expand_dims(F.greater(_named(places, weight), 0), axes=(-1,))
    scale = call.where(call.logical_and(named, call.greater(norms, max_norm)), call.div(max_norm, norms), 1)
    return _with_value(weight, call.mul(weight, scale))


@composite(internal=True)
def masked_dropout(x, mask, p):
    """x / (1 - p) where the mask holds, else 0; the mask is drawn elsewhere, with probability 1 - p of each element."""
    (x,) = promoted(x, floating=True)
    if not 0 <= p < 1:
        raise ValueError(f"p must be from 0 to less than 1, not {p}")
    mask = as_tensor(mask, "mask")
    require_dtype(mask.dtype.is_bool, f"the mask must hold bools, not {mask.dtype.name}")
    return F.kept(broadcast_to(mask, x.shape), call.mul(x, 1 / (1 - p)))
