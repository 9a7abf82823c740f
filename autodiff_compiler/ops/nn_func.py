"""MindSpore's functional names of neural networks: activations, convolution, pooling, normalization, losses, resizing.

As everything in `ops` they promote as `Tensor` operators do and run in eager mode and in compiled code.  Layouts are
[batch, channels, ...]; convolution takes [channels, ...] too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import UnsupportedCallError
from ..ir.primitive import call
from ..primitives.family import as_tensor, require
from ..runtime.parameter import Parameter
from ..runtime.precision import whole
from ..runtime.tensor import Tensor
from .forwarding import unary
from .state import assign, compiled_from_source

# fmt: off
__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "bias_add",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "conv1d", "conv2d", "conv3d",
    "conv3d_transpose", "conv_transpose1d", "conv_transpose2d", "cosine_embedding_loss", "cosine_similarity",
    "cross_entropy", "elu", "embedding", "fast_gelu", "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "interpolate",
    "kl_div", "l1_loss", "layer_norm", "leaky_relu", "log_softmax", "logsigmoid", "lrn", "margin_ranking_loss",
    "max_pool1d", "max_pool2d", "max_pool3d", "mish", "mse_loss", "multi_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "prelu", "relu6", "rms_norm", "selu", "silu", "smooth_l1_loss", "soft_margin_loss", "soft_shrink",
    "softmax", "softmin", "softshrink", "softsign", "swiglu", "tanhshrink", "threshold", "triplet_margin_loss",
    "upsample",
]
# fmt: on

_Function = Callable[..., Any]


# ------------------------------------------------------------------------------------------------ activations
silu, mish, selu, relu6 = unary("silu"), unary("mish", "x"), unary("selu", "input_x"), unary("relu6", "x")
fast_gelu, logsigmoid, softsign = unary("fast_gelu", "x"), unary("logsigmoid", "x"), unary("softsign", "x")
tanhshrink, hardsigmoid, hardswish = unary("tanhshrink"), unary("hardsigmoid"), unary("hardswish")


def gelu(input: Any, approximate: str = "none") -> Any:
    """x times the standard normal distribution function at x, or (``approximate="tanh"``) its approximation by tanh."""
    return call.gelu(input, approximate)


def elu(input_x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1); its derivative at 0 is alpha."""
    return call.elu(input_x, alpha)


def celu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x / alpha) - 1)."""
    return call.celu(x, alpha)


def leaky_relu(input: Any, alpha: float = 0.2) -> Any:
    """x where it is positive, else alpha * x; its derivative at 0 is alpha."""
    return call.leaky_relu(input, alpha)


def prelu(input: Any, weight: Any) -> Any:
    """x where it is positive, else weight * x (at 0 too); one weight per channel (axis 1), or one for all."""
    return call.prelu(input, weight)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half of an axis times the sigmoid of the second."""
    return call.glu(x, axis)


def swiglu(input: Any, dim: int = -1) -> Any:
    """silu of the first half of a dimension times the second."""
    return call.swiglu(input, dim)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """x between two bounds; at a bound the cotangent is halved, as by maximum and minimum."""
    return call.hardtanh(input, min_val, max_val)


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """x, but 0 from -lambd to lambd; its derivative at both is 0."""
    return call.hardshrink(input, lambd)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """x moved by lambd towards 0; 0 from -lambd to lambd, and so is its derivative."""
    return call.softshrink(input, lambd)


soft_shrink = softshrink


def threshold(input: Any, thr: float, value: float) -> Any:
    """x where it is greater than `thr`, else `value`; its derivative at `thr` is 0."""
    return call.threshold(input, thr, value)


def softmax(input: Any, axis: int = -1, *, dtype: Any = None) -> Any:
    """exp(x) divided by its sum along an axis, without overflow.

    >>> from autodiff_compiler import Tensor
    >>> softmax(Tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    return call.softmax(input if dtype is None else call.cast(input, dtype), axis)


def softmin(x: Any, axis: int = -1, *, dtype: Any = None) -> Any:
    """softmax(-x) along an axis."""
    return call.softmin(x if dtype is None else call.cast(x, dtype), axis)


def log_softmax(logits: Any, axis: int = -1) -> Any:
    """Logarithm of softmax along an axis, without overflow."""
    return call.log_softmax(logits, axis)


# ------------------------------------------------------------------------------------------------ linear layers
def bias_add(input_x: Any, bias: Any) -> Any:
    """[batch, channels, ...] plus one number per channel.

    >>> from autodiff_compiler import Tensor, ops
    >>> bias_add(ops.zeros((1, 2, 1)), Tensor([1.0, 2.0])).tolist()
    [[[1.0], [2.0]]]
    """
    return call.bias_add(input_x, bias)


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


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Transpose of a convolution over the last dimension; see `conv_transpose2d`."""
    return call.transposed_convolution(input, weight, bias, stride, "pad", padding, output_padding, dilation, groups, 1)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Transpose of a convolution over 2 dimensions, with a weight [channels, channels of the result / groups, ...]."""
    return call.transposed_convolution(input, weight, bias, stride, "pad", padding, output_padding, dilation, groups, 2)


def conv3d_transpose(
    inputs: Any,
    weight: Any,
    pad_mode: str = "valid",
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
) -> Any:
    """Transpose of a convolution over 3 dimensions, with a weight [channels, channels of the result / group, ...]."""
    return call.transposed_convolution(
        inputs, weight, None, stride, pad_mode, padding, output_padding, dilation, group, 3
    )


# ------------------------------------------------------------------------------------------------ pooling
def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:
    """The greatest element of every window over the last 2 dimensions, with `return_indices` also its position.

    Windows lie side by side by default.  The whole gradient goes to the first of several greatest elements.

    >>> from autodiff_compiler import Tensor
    >>> max_pool2d(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]]), 2).tolist()
    [[[[3.0]]]]
    """
    return call.max_pooling(x, kernel_size, stride, "pad", padding, dilation, ceil_mode, return_indices, 2)


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:
    """The greatest element of every window over the last dimension; see `max_pool2d`."""
    return call.max_pooling(x, kernel_size, stride, "pad", padding, dilation, ceil_mode, return_indices, 1)


def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest element of every window over the last 3 dimensions; see `max_pool2d`."""
    return call.max_pooling(x, kernel_size, stride, "pad", padding, dilation, ceil_mode, return_indices, 3)


def avg_pool1d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of every window over the last dimension; padding counts as zeros with `count_include_pad`."""
    return call.avg_pooling(input_x, kernel_size, stride, "pad", padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Any:
    """The mean of every window over the last 2 dimensions; `divisor_override` replaces the number of elements."""
    return call.avg_pooling(
        input_x, kernel_size, stride, "pad", padding, ceil_mode, count_include_pad, divisor_override, 2
    )


def avg_pool3d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Any:
    """The mean of every window over the last 3 dimensions; `divisor_override` replaces the number of elements."""
    return call.avg_pooling(
        input_x, kernel_size, stride, "pad", padding, ceil_mode, count_include_pad, divisor_override, 3
    )


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """Means of `output_size` nearly equal parts of the last dimension."""
    return call.adaptive_avg_pooling(input, output_size, 1)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Means of `output_size` nearly equal parts of the last 2 dimensions; None keeps a size."""
    return call.adaptive_avg_pooling(input, output_size, 2)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """Means of `output_size` nearly equal parts of the last 3 dimensions; None keeps a size."""
    return call.adaptive_avg_pooling(input, output_size, 3)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """Greatest elements of `output_size` nearly equal parts of the last dimension."""
    return call.adaptive_max_pooling(input, output_size, False, 1)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Greatest elements of nearly equal parts of the last 2 dimensions, with `return_indices` also their positions."""
    return call.adaptive_max_pooling(input, output_size, return_indices, 2)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Greatest elements of nearly equal parts of the last 3 dimensions, with `return_indices` also their positions."""
    return call.adaptive_max_pooling(input, output_size, return_indices, 3)


# ------------------------------------------------------------------------------------------------ normalization
@compiled_from_source
def _move(running: Any, x: Any, share: Any) -> None:
    if isinstance(running, Parameter):
        assign(running, running * (1 - share) + x * share)
    elif isinstance(running, Tensor):
        running[...] = running * (1 - share) + x * share  # type: ignore[index]
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


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any:
    """Standardized over the last dimensions, which are `normalized_shape`; times weight plus bias of that shape."""
    return call.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any:
    """Standardized over groups of neighbouring channels; times weight plus bias per channel."""
    return call.group_norm(input, num_groups, weight, bias, eps)


def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-06) -> tuple[Any, Any]:
    """Divided by the root of the mean square over the last dimensions, times gamma; and the root's reciprocal."""
    return call.rms_norm(x, gamma, epsilon)


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


# ------------------------------------------------------------------------------------------------ resizing
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """[batch, channels, ...] resized over its spatial dimensions to `size`, or by `scale_factor`.

    Modes: nearest, nearest-exact, area, linear (1 dimension), bilinear, bicubic (2), trilinear (3).

    >>> from autodiff_compiler import Tensor
    >>> interpolate(Tensor([[[0.0, 2.0]]]), size=3, mode="linear", align_corners=True).tolist()
    [[[0.0, 1.0, 2.0]]]
    """
    return call.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


upsample = interpolate


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """[batch, channels, ...] sampled at the coordinates in `grid` [batch, ..., n], which run from -1 to 1."""
    return call.grid_sample(input, grid, mode, padding_mode, align_corners)


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Any:
    """Coordinates for `grid_sample`: a grid of `size` mapped by theta [batch, n, n + 1]."""
    return call.affine_grid(theta, size, align_corners)


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


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Squared difference of two tensors: its mean, its sum, or (``reduction="none"``) element by element.

    >>> from autodiff_compiler import Tensor
    >>> mse_loss(Tensor([1.0, 3.0]), Tensor([1.0, 1.0])).item()
    2.0
    """
    return call.mse_loss(input, target, reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Absolute difference of two tensors: its mean, its sum, or (``reduction="none"``) element by element."""
    return call.l1_loss(input, target, reduction)


def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Any:
    """Half the squared difference over beta up to beta, beyond it the absolute difference less beta / 2."""
    return call.smooth_l1_loss(input, target, beta, reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the squared difference up to delta, beyond it linear with the slope delta."""
    return call.huber_loss(input, target, reduction, delta)


def binary_cross_entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """Cross entropy of probabilities against labels from 0 to 1; finite at 0 and 1."""
    return call.binary_cross_entropy(logits, labels, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """Binary cross entropy of sigmoid(input), without overflow; `pos_weight` multiplies the part of the positives."""
    return call.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def kl_div(logits: Any, labels: Any, reduction: str = "mean") -> Any:
    """labels * (log(labels) - logits); reduction "batchmean" divides the sum by the first dimension."""
    return call.kl_div(logits, labels, reduction)


def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-06, reduction: str = "mean"
) -> Any:
    """Negative log-likelihood of a normal distribution of mean x and variance `var`, which is at least eps."""
    return call.gaussian_nll_loss(x, target, var, full, eps, reduction)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1, weight: Any = None, reduction: str = "mean"
) -> Any:
    """The mean over the other classes of max(0, margin - input[target] + input[class]) ** p."""
    return call.multi_margin_loss(input, target, p, margin, weight, reduction)


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """Binary cross entropy with logits, averaged over the classes, for [batch, classes]."""
    return call.multilabel_soft_margin_loss(input, target, weight, reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
    return call.soft_margin_loss(input, target, reduction)


def hinge_embedding_loss(inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    return call.hinge_embedding_loss(inputs, targets, margin, reduction)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-08) -> Any:
    """The cosine of the angle between vectors along a dimension."""
    return call.cosine_similarity(x1, x2, dim, eps)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    return call.cosine_embedding_loss(input1, input2, target, margin, reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """max(0, margin - target * (input1 - input2))."""
    return call.margin_ranking_loss(input1, input2, target, margin, reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(0, margin + distance to the positive - distance to the negative)."""
    return call.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)
