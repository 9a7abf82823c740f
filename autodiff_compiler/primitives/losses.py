"""Losses and similarities, as composites: compiled code fuses them.

Operands of different shapes broadcast where the loss is elementwise.  `reduction` is "mean", "sum" or "none".
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.primitive import F, Primitive, call, composite
from ..ir.types import same_shape
from .family import as_tensor, broadcast_shapes, broadcast_to, cast, float_unary, normal_axis, promoted_dtype
from .index import checked
from .normalization import wide
from .reduce import mean
from .requirements import require, require_dtype
from .samples import real
from .statistics import vector_norm


# ------------------------------------------------------------------------------------------------ reduction
def reduced(loss, reduction):
    """The mean, the sum, or (reduction "none") the losses themselves."""
    if reduction == "mean":
        return mean(loss)
    if reduction == "sum":
        return call.sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")


def _floats(*xs):
    """Operands of an elementwise loss at their common float dtype and shape, 16-bit ones as float32; and the dtype."""
    xs = promoted_dtype(*xs, floating=True)
    shape = broadcast_shapes([x.shape for x in xs])
    return [broadcast_to(wide(x)[0], shape) for x in xs], xs[0].dtype


def _weighted(loss, weight):
    return loss if weight is None else call.mul(loss, weight)


def _finished(loss, weight, reduction, dtype):
    return cast(reduced(_weighted(loss, weight), reduction), dtype)


# ------------------------------------------------------------------------------------------------ differences
@composite()
def mse_loss(x, target, reduction="mean"):
    """The squared difference."""
    (x, target), dtype = _floats(x, target)
    difference = x - target
    return _finished(difference * difference, None, reduction, dtype)


@composite()
def l1_loss(x, target, reduction="mean"):
    """The absolute difference; where it is 0, so is the derivative."""
    (x, target), dtype = _floats(x, target)
    return _finished(F.abs(x - target), None, reduction, dtype)


@composite()
def huber_loss(x, target, reduction="mean", delta=1.0):
    """Half the squared difference up to delta, beyond it linear with the slope delta."""
    if not delta > 0:
        raise ValueError(f"delta of huber_loss must be positive, not {delta}")
    (x, target), dtype = _floats(x, target)
    return _finished(_quadratic_then_linear(x - target, delta), None, reduction, dtype)


@composite()
def smooth_l1_loss(x, target, beta=1.0, reduction="none"):
    """`huber_loss` divided by beta: the absolute difference but for a constant beyond beta, and all of it at beta 0."""
    if beta < 0:
        raise ValueError(f"beta of smooth_l1_loss must not be negative: {beta}")
    if beta == 0:
        return l1_loss(x, target, reduction)
    (x, target), dtype = _floats(x, target)
    return _finished(call.div(_quadratic_then_linear(x - target, beta), beta), None, reduction, dtype)


def _quadratic_then_linear(x, bound):
    """x * x / 2 up to the bound, beyond it bound * (abs(x) - bound / 2): the same product, of x no greater than it."""
    inner = call.clamp(x, -bound, bound)
    return inner * (x - call.mul(inner, 0.5))


# ------------------------------------------------------------------------------------------------ probabilities
class FlooredLog(Primitive):
    """log(max(x, 1e-12)), whose derivative below 1e-12 is 1e12."""

    internal = True
    infer = float_unary

    def numpy(x):
        return np.log(np.clip(x, 1e-12, np.inf))

    widen = True
    decomposed = lambda c, x: F.log(F.maximum(x, 1e-12))

    def vjp(c, g, x):
        return g / (x + F.stop_gradient(F.maximum(x, 1e-12) - x))  # the second derivative is as steep too

    samples = real(0.3, 3.0)
    ties = [(([0.0, 1e-12, 0.5],), {}, ([1e12, 1e12, 2.0],))]


@composite()
def binary_cross_entropy(probability, target, weight=None, reduction="mean"):
    """-target * log(p) - (1 - target) * log(1 - p); a logarithm is no lower than log(1e-12)."""
    (p, target), dtype = _floats(probability, target)
    loss = -(target * F.floored_log(p) + (1 - target) * F.floored_log(1 - p))
    return _finished(loss, weight, reduction, dtype)


@composite()
def binary_cross_entropy_with_logits(logits, target, weight=None, pos_weight=None, reduction="mean"):
    """Binary cross entropy of sigmoid(logits), without overflow; `pos_weight` multiplies the part of the positives."""
    (x, target), dtype = _floats(logits, target)
    if pos_weight is None:
        loss = F.softplus(x) - x * target
    else:
        positives = call.add(call.mul(target, call.sub(pos_weight, 1)), 1)
        loss = call.add(call.mul(1 - target, x), call.mul(positives, F.softplus(-x)))
    return _finished(loss, weight, reduction, dtype)


@composite()
def kl_div(log_probability, target, reduction="mean"):
    """target * (log(target) - log_probability), which is 0 where the target is.

    Reduction "batchmean" is the sum divided by the size of the first dimension.
    """
    (logp, target), dtype = _floats(log_probability, target)
    loss = call.xlogy(target, target) - target * logp
    if reduction == "batchmean":
        require(loss.ndim > 0, "reduction 'batchmean' needs a dimension of samples")
        return cast(call.div(call.sum(loss), loss.shape[0]), dtype)
    return _finished(loss, None, reduction, dtype)


@composite()
def gaussian_nll_loss(x, target, variance, full=False, eps=1e-6, reduction="mean"):
    """Negative log-likelihood of a normal distribution of mean x; a variance is at least eps.

    The constant log(2 pi) / 2 counts with `full`.
    """
    if not eps > 0:
        raise ValueError(f"eps of gaussian_nll_loss must be positive, not {eps}")
    (x, target, variance), dtype = _floats(x, target, variance)
    variance = call.maximum(variance, eps)
    difference = x - target
    loss = call.mul(F.log(variance) + difference * difference / variance, 0.5)
    return _finished(call.add(loss, 0.5 * math.log(2 * math.pi)) if full else loss, None, reduction, dtype)


@composite()
def poisson_nll_loss(x, target, log_input=True, full=False, eps=1e-8, reduction="mean"):
    """Negative log-likelihood of a Poisson distribution of rate exp(x), or x; `full` adds Stirling's log(target!)."""
    (x, target), dtype = _floats(x, target)
    loss = F.exp(x) - target * x if log_input else x - target * F.log(call.add(x, eps))
    if full:
        many = F.greater(target, 1)
        t = F.select(many, target, 1)
        stirling = call.add(t * F.log(t) - t, call.mul(F.log(call.mul(t, 2 * math.pi)), 0.5))
        loss = loss + F.select(many, stirling, 0)
    return _finished(loss, None, reduction, dtype)


# ------------------------------------------------------------------------------------------------ classes
def _class_weights(weight, logp, axis):
    """One weight per class, in the dtype of the log-probabilities."""
    weight = cast(as_tensor(weight, "weight"), logp.dtype)
    classes = logp.shape[axis]
    fits = weight.ndim == 1 and weight.shape[0] == classes
    require(fits, f"`weight` of {classes} classes must have the shape [{classes}], not {list(weight.shape)}")
    return weight


def _along_classes(weight, logp, axis):
    return broadcast_to(F.reshape(weight, shape=(weight.shape[0], *(1,) * (-1 - axis))), logp.shape)


@composite()
def nll_loss(log_probabilities, labels, axis=-1, reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0):
    """Negative log-likelihood: minus the entry that each integer label selects along the class axis.

    The shape of `labels` is that of `log_probabilities` without the axis; a label outside raises IndexError, but the
    label `ignore_index` counts as no sample.  A `weight` per class weighs the mean.  `label_smoothing` is the part of
    every label that is spread evenly over all classes.
    """
    logp, dtype = wide(log_probabilities)
    axis = normal_axis(axis, logp.ndim)
    at = logp.ndim + axis
    labels = as_tensor(labels, "labels")
    require_dtype(labels.dtype.is_int, f"labels must be integers, not {labels.dtype.name}")
    samples = (*logp.shape[:at], *logp.shape[at + 1 :])
    require(
        same_shape(labels.shape, samples),
        f"labels of shape {list(labels.shape)} do not fit {list(logp.shape)} with classes along axis {axis}",
        between=(labels.shape, samples),
    )
    counted = None
    if ignore_index is not None:
        counted = call.not_equal(labels, ignore_index)
        labels = F.select(counted, labels, 0)
    position = checked(labels, logp.shape[axis], negative=False)
    picked = F.take_along_axis(logp, F.expand_dims(position, axes=(axis,)), axis=axis)
    loss, share = -F.squeeze(picked, axes=(axis,)), None
    if weight is not None:
        weight = _class_weights(weight, logp, axis)
        share = F.gather(weight, position, axis=-1)
        loss = loss * share
    if label_smoothing:
        spread = logp if weight is None else logp * _along_classes(weight, logp, axis)
        even = call.mul(F.sum(spread, axes=(axis,)), -label_smoothing / logp.shape[axis])
        loss = call.add(call.mul(loss, 1 - label_smoothing), even)
    if counted is not None:
        loss = F.select(counted, loss, 0)
        share = F.cast(counted, dtype=logp.dtype) if share is None else F.select(counted, share, 0)
    if reduction == "mean" and share is not None:
        return cast(call.div(call.sum(loss), call.sum(share)), dtype)
    return cast(reduced(loss, reduction), dtype)


@composite()
def cross_entropy(logits, labels, axis=-1, reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0):
    """Cross entropy of logits against integer labels, or against probabilities of the logits' shape.

    Integer labels have the shape of the logits without the class axis; see `nll_loss`.  A mean over probabilities is
    one over samples, whatever their weights.
    """
    logits, dtype = wide(logits)
    labels = as_tensor(labels, "labels")
    axis = normal_axis(axis, logits.ndim)
    logp = F.log_softmax(logits, axis=axis)
    if labels.dtype.is_int:
        return cast(nll_loss(logp, labels, axis, reduction, weight, ignore_index, label_smoothing), dtype)
    require_dtype(labels.dtype.is_float, f"labels must be integers or probabilities, not {labels.dtype.name}")
    fits = same_shape(labels.shape, logits.shape)
    classes = len(labels.shape) == logits.ndim - 1
    require(
        fits,
        f"{labels.dtype.name} labels are probabilities: their shape {list(labels.shape)} must be that of the logits, "
        f"{list(logits.shape)}",
        "labels that number classes are integers: `labels.astype(ms.int32)`" if classes else None,
        between=(labels.shape, logits.shape),
    )
    target = cast(labels, logp.dtype)
    if label_smoothing:
        target = call.add(call.mul(target, 1 - label_smoothing), label_smoothing / logits.shape[axis])
    if weight is not None:
        target = target * _along_classes(_class_weights(weight, logp, axis), logp, axis)
    return cast(reduced(-F.sum(logp * target, axes=(axis,)), reduction), dtype)


@composite()
def multi_margin_loss(x, labels, p=1, margin=1.0, weight=None, reduction="mean"):
    """The mean over other classes of max(0, margin - x[label] + x[class]) ** p, for x [batch, classes] or [classes]."""
    x, dtype = wide(x)
    labels = as_tensor(labels, "labels")
    fits = x.ndim in (1, 2) and same_shape(labels.shape, x.shape[:-1])
    message = f"labels of shape {list(labels.shape)} do not fit {list(x.shape)}"
    require(fits, message, between=(labels.shape, x.shape[:-1]))
    position = F.expand_dims(checked(labels, x.shape[-1], negative=False), axes=(-1,))
    own = F.take_along_axis(x, position, axis=-1)
    short = F.relu(call.add(call.sub(x, own), margin))
    short = short if p == 1 else call.pow(short, p)
    if weight is not None:
        short = call.mul(short, F.gather(_class_weights(weight, x, -1), position, axis=-1))
    others = call.not_equal(call.arange(x.shape[-1]), position)
    loss = call.div(call.sum(call.where(others, short, 0), -1), x.shape[-1])
    return cast(reduced(loss, reduction), dtype)


@composite()
def multilabel_margin_loss(x, labels, reduction="mean"):
    """The sum of max(0, 1 - x[label] + x[other]) over the labels before the first -1 and all other classes, divided by
    the number of classes; IndexError for a label before it that is no class.
    """
    (x, dtype), labels = wide(x), as_tensor(labels, "labels")
    require(x.ndim in (1, 2) and x.shape == labels.shape, f"labels {list(labels.shape)} for {list(x.shape)} scores")
    require_dtype(labels.dtype.is_int, f"labels must be integers, not {labels.dtype.name}")
    n = x.shape[-1]
    listed = call.equal(call.cumsum(call.cast(call.equal(labels, -1), "int64"), -1), 0)
    places = checked(call.where(listed, labels, 0), n, negative=False)
    named = call.logical_and(call.one_hot(places, n, True, False), call.expand_dims(listed, -1))
    others = call.expand_dims(call.logical_not(call.any(named, -2)), -2)
    gap = call.sub(1, call.sub(call.expand_dims(F.take_along_axis(x, places, axis=-1), -1), call.expand_dims(x, -2)))
    counted = call.logical_and(others, call.expand_dims(listed, -1))
    loss = call.sum(call.where(call.logical_and(counted, call.greater(gap, 0)), gap, 0), (-2, -1))
    return _finished(call.div(loss, n), None, reduction, dtype)


@composite()
def multilabel_soft_margin_loss(x, target, weight=None, reduction="mean"):
    """Binary cross entropy with logits, averaged over the classes, for x and target [batch, classes]."""
    loss = binary_cross_entropy_with_logits(x, target, weight, None, "none")
    return reduced(mean(loss, -1), reduction)


@composite()
def soft_margin_loss(x, target, reduction="mean"):
    """log(1 + exp(-target * x)) for targets 1 and -1, without overflow."""
    (x, target), dtype = _floats(x, target)
    return _finished(F.softplus(-(target * x)), None, reduction, dtype)


@composite()
def hinge_embedding_loss(x, target, margin=1.0, reduction="mean"):
    """x where the target is 1, max(0, margin - x) where it is -1; at the margin the derivative is 0."""
    (x, target), dtype = _floats(x, target)
    similar, different = F.kept(F.equal(target, 1), x), F.kept(F.equal(target, -1), F.relu(call.sub(margin, x)))
    return _finished(similar + different, None, reduction, dtype)


# ------------------------------------------------------------------------------------------------ distances
@composite()
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along a dimension; a length is at least eps."""
    (x1, x2), dtype = _floats(x1, x2)
    axes = (normal_axis(dim, x1.ndim, "dim"),)
    # the bound is on the square: at 0 its root then has a derivative
    lengths = [F.sqrt(call.maximum(F.sum(x * x, axes=axes), eps * eps)) for x in (x1, x2)]
    return cast(F.sum(x1 * x2, axes=axes) / (lengths[0] * lengths[1]), dtype)


@composite()
def cosine_embedding_loss(x1, x2, target, margin=0.0, reduction="mean"):
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1, for vectors in the last dimension."""
    cosine, dtype = wide(cosine_similarity(x1, x2, -1))
    target = as_tensor(target, "target")
    similar = call.where(call.equal(target, 1), call.sub(1, cosine), 0)
    loss = call.add(similar, call.where(call.equal(target, -1), F.relu(call.sub(cosine, margin)), 0))
    return cast(reduced(loss, reduction), dtype)


@composite()
def margin_ranking_loss(x1, x2, target, margin=0.0, reduction="mean"):
    """max(0, margin - target * (x1 - x2)): x1 should be the greater where the target is 1, x2 where it is -1."""
    (x1, x2, target), dtype = _floats(x1, x2, target)
    return _finished(F.relu(call.sub(margin, target * (x1 - x2))), None, reduction, dtype)


@composite()
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction="mean"):
    """max(0, margin + distance to the positive - distance to the negative), of vectors in the last dimension.

    A distance is the p-norm of the difference + eps.  With `swap` that of positive and negative counts if it is less.
    """
    (anchor, positive, negative), dtype = _floats(anchor, positive, negative)
    require(anchor.ndim > 0, "triplet_margin_loss needs vectors")
    near, far = _distance(anchor, positive, p, eps), _distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, _distance(positive, negative, p, eps))
    return _finished(F.relu(call.add(near - far, margin)), None, reduction, dtype)


def _distance(x, y, p, eps):
    return vector_norm(call.add(x - y, eps), p, -1)  # whose derivative at distance 0 is 0
