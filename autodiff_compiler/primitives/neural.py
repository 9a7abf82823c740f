"""Functions of neural networks that need a kernel or a derivative of their own, and losses written over them."""

from __future__ import annotations

import numpy as np

from ..ir.primitive import F, Primitive, composite
from ..ir.types import TensorType
from .family import as_tensor, cast, expand, float_unary, normal_axis, promoted, require, require_dtype
from .index import checked
from .reduce import mean
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

    def samples(rng):
        yield rng(2, 3), {"axis": -1}
        yield rng(3, 2), {"axis": -2}
        yield 1000 * rng(3), {"axis": -1}

    errors = [((I2,), {"axis": -1}, "not defined for int32"), ((EMPTY,), {"axis": -1}, "is empty")]


def _reduced(loss, reduction):
    if reduction == "mean":
        return mean(loss)
    if reduction == "sum":
        return F.sum(loss, axes=tuple(range(-loss.ndim, 0)))
    if reduction == "none":
        return loss
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")


@composite()
def nll_loss(log_probabilities, labels, axis=-1, reduction="mean"):
    """Negative log-likelihood: minus the entry that each integer label selects along the class axis.

    The shape of `labels` is that of `log_probabilities` without the axis; a label outside raises IndexError.
    """
    logp = as_tensor(log_probabilities, "log_probabilities")
    axis = normal_axis(axis, logp.ndim)
    at = logp.ndim + axis
    labels = as_tensor(labels, "labels")
    require(
        labels.shape == (*logp.shape[:at], *logp.shape[at + 1 :]),
        f"labels of shape {list(labels.shape)} do not fit {list(logp.shape)} with classes along axis {axis}",
    )
    position = F.expand_dims(checked(labels, logp.shape[axis], negative=False), axes=(axis,))
    picked = F.take_along_axis(logp, position, axis=axis)
    return _reduced(-F.squeeze(picked, axes=(axis,)), reduction)


@composite()
def cross_entropy(logits, labels, axis=-1, reduction="mean"):
    """Cross entropy of logits against integer labels, or against probabilities of the logits' shape.

    Integer labels have the shape of the logits without the class axis.
    """
    (logits,) = promoted(logits, floating=True)
    labels = as_tensor(labels, "labels")
    axis = normal_axis(axis, logits.ndim)
    logp = F.log_softmax(logits, axis=axis)
    if labels.dtype.is_int:
        return nll_loss(logp, labels, axis, reduction)
    require_dtype(labels.dtype.is_float, f"labels must be integers or probabilities, not {labels.dtype.name}")
    fits = labels.shape == logits.shape
    require(fits, f"probabilities of shape {list(labels.shape)} do not fit logits of shape {list(logits.shape)}")
    return _reduced(-F.sum(logp * cast(labels, logp.dtype), axes=(axis,)), reduction)
