"""MindSpore's functional names of neural networks: activations, convolution, pooling, normalization, losses, resizing.

As everything in `ops` they promote as `Tensor` operators do and run in eager mode and in compiled code.  Layouts are
[batch, channels, ...]; convolution takes [channels, ...] too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from ..errors import UnsupportedCallError
from ..ir.primitive import call
from ..keywords import answering, refuse_unknown
from ..primitives.family import as_tensor
from ..primitives.requirements import require
from ..runtime.parameter import Parameter
from ..runtime.precision import whole
from ..runtime.tensor import Tensor
from .state import assign, compiled_from_source

__all__ = [
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv3d",
    "cross_entropy",
    "embedding",
    "lrn",
    "nll_loss",
    "softmax",
    "softmin",
]

_Function = Callable[..., Any]


# ------------------------------------------------------------------------------------------------ activations


@answering
def softmax(input: Any, axis: int = -1, *, dtype: Any = None, **unknown: Never) -> Any:
    """exp(x) divided by its sum along an axis, without overflow.

    >>> from autodiff_compiler import Tensor
    >>> softmax(Tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    if unknown:
        refuse_unknown(softmax, unknown)
    return call.softmax(input if dtype is None else call.cast(input, dtype), axis)


@answering
def softmin(x: Any, axis: int = -1, *, dtype: Any = None, **unknown: Never) -> Any:
    """softmax(-x) along an axis."""
    if unknown:
        refuse_unknown(softmin, unknown)
    return call.softmin(x if dtype is None else call.cast(x, dtype), axis)


# ------------------------------------------------------------------------------------------------ linear layers


@compiled_from_source
def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Any:
    """The rows of `weight` that integers name; the row `padding_idx` gets no gradient.

    With `max_norm` longer rows among them are scaled to it first, in the Parameter `weight`; its gradient ignores that.
    With `scale_grad_by_freq` the gradient of a row is divided by how often it was named.  IndexError: a number outside.
    """
    if max_norm is not None:
        assign(weight, call.limited_rows(weight, input, max_norm, norm_type))
    return call.embedding(input, weight, padding_idx, scale_grad_by_freq)


def _convolution(n: int) -> _Function:
    def conv(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        return call.convolution(input, weight, bias, stride, pad_mode, padding, dilation, groups, n)

    conv.__name__ = conv.__qualname__ = f"conv{n}d"
    conv.__doc__ = f"""Convolution over {n} dimensions of [batch, channels, ...] with [filters, channels / groups, ...].

    `pad_mode`: "valid" (no padding), "same" (as many windows as elements, divided by the stride), or "pad", for which
    `padding` is one int, {n}, or {2 * n} (before and after each dimension).  ShapeError: operands that do not fit.

    >>> from autodiff_compiler import ops
    >>> ops.conv{n}d(ops.ones((1, 1{", 4" * n})), ops.ones((2, 1{", 3" * n}))).shape
    (1, 2{", 2" * n})
    """
    return conv


conv1d, conv2d, conv3d = (_convolution(n) for n in (1, 2, 3))


# ------------------------------------------------------------------------------------------------ normalization
@compiled_from_source
def _move(running: Any, x: Any, share: Any) -> None:
    if isinstance(running, Parameter):
        assign(running, running * (1 - share) + x * share)
    elif isinstance(running, Tensor):
        running[...] = running * (1 - share) + x * share
    else:
        raise TypeError(f"batch_norm in training moves Parameters or Tensors, not a {type(running).__name__}")


@compiled_from_source
def batch_norm(
    input_x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Any:
    """[batch, channels, ...] normalized by a mean and a variance per channel, times weight plus bias.

    In training they are those of the batch, and `running_mean` and `running_var`, Parameters or Tensors, move towards
    them (the variance unbiased) by the part `momentum`; otherwise they are the running ones.  TypeError: neither, in
    training.

    >>> from autodiff_compiler import Tensor
    >>> mean, variance, ones = Tensor([0.0]), Tensor([1.0]), Tensor([1.0])
    >>> y = batch_norm(Tensor([[1.0], [3.0]]), mean, variance, ones, Tensor([0.0]), training=True, momentum=0.5)
    >>> y.numpy().round(3).tolist(), mean.item(), variance.item()
    ([[-1.0], [1.0]], 1.0, 1.5)
    """
    if not training:
        return call.batch_norm(input_x, running_mean, running_var, weight, bias, eps)
    center, variance, number = call.batch_moments(input_x)
    unbiased = variance * (number / max(number - 1, 1))
    _move(whole(running_mean), call.stop_gradient(center), momentum)
    _move(whole(running_var), call.stop_gradient(unbiased), momentum)
    return call.batch_norm(input_x, center, variance, weight, bias, eps)


def lrn(
    x: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Any:
    """Local response normalization over 2 depth_radius + 1 neighbouring channels."""
    if norm_region != "ACROSS_CHANNELS":
        raise UnsupportedCallError(f"lrn knows no norm_region {norm_region!r}: it is ACROSS_CHANNELS")
    return call.local_response_norm(x, depth_radius, bias, alpha, beta)


# ------------------------------------------------------------------------------------------------ losses
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Cross entropy of logits [N, C, ...] against integer classes [N, ...] or probabilities of the logits' shape.

    The class `ignore_index` counts as no sample; another one outside of 0 ... C - 1 raises IndexError.

    >>> from autodiff_compiler import Tensor
    >>> cross_entropy(Tensor([[0.0, 0.0]]), Tensor([1]))
    Tensor(shape=[], dtype=Float32, value= 0.693147)
    """
    logits = as_tensor(input, "input")
    return call.cross_entropy(logits, target, _classes(logits), reduction, weight, ignore_index, label_smoothing)


def nll_loss(
    inputs: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Negative log-likelihood of log-probabilities [N, C, ...] for integer classes [N, ...]; see `cross_entropy`."""
    logp = as_tensor(inputs, "inputs")
    return call.nll_loss(logp, target, _classes(logp), reduction, weight, ignore_index, label_smoothing)


def _classes(x: Any) -> int:
    require(x.ndim > 0, "a loss of classes needs a dimension of classes")
    return 1 if x.ndim > 1 else 0
