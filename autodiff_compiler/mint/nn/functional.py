"""MindSpore's `mint.nn.functional`."""

from __future__ import annotations

from typing import Any, Never

from ... import ops
from ...dtypes import int64
from ...keywords import answering, refuse_unknown
from ...ops import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool2d,
    conv_transpose2d,
    cosine_embedding_loss,
    cross_entropy,
    embedding,
    fold,
    gelu,
    grid_sample,
    group_norm,
    hardtanh,
    interpolate,
    layer_norm,
    mse_loss,
    pixel_shuffle,
    prelu,
    relu,
    sigmoid,
    silu,
    soft_margin_loss,
    tanh,
    unfold,
)
from ...ops.state import compiled_from_source
from ..functions import flatten

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d", "avg_pool1d",
    "avg_pool2d", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv2d",
    "conv_transpose2d", "cosine_embedding_loss", "cross_entropy", "dropout", "elu", "embedding", "flatten", "fold",
    "gelu", "glu", "grid_sample", "group_norm", "hardtanh", "interpolate", "layer_norm", "leaky_relu", "linear",
    "log_softmax", "logsigmoid", "max_pool2d", "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "pixel_shuffle",
    "prelu", "relu", "relu6", "sigmoid", "silu", "soft_margin_loss", "softmax", "tanh", "unfold",
]  # fmt: skip


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""
    return ops.dense(input, weight, bias)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The convolution of images; `padding` is a number, a pair, "same" or "valid"."""
    mode = padding if isinstance(padding, str) else "pad"
    return ops.conv2d(input, weight, bias, stride, mode, 0 if mode == padding else padding, dilation, groups)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window."""
    return ops.max_pool2d(input, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of every window."""
    stride = kernel_size if stride is None else stride
    return ops.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of every window; `divisor_override` replaces the number of elements."""
    stride = kernel_size if stride is None else stride
    return ops.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override or 0)


@compiled_from_source
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Batch normalization per channel, times weight plus bias."""
    weight = ops.ones_like(running_mean) if weight is None else weight
    bias = ops.zeros_like(running_mean) if bias is None else bias
    return ops.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@compiled_from_source
def dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """0 with probability p, else x / (1 - p)."""
    return ops.dropout(input, p, training)


@answering
def softmax(input: Any, dim: int | None = None, dtype: Any = None, **unknown: Never) -> Any:
    """Exponentials along a dimension, divided by their sum."""
    if unknown:
        refuse_unknown(softmax, unknown)
    return ops.softmax(input, _default(input, dim), dtype=dtype)


@answering
def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None, **unknown: Never) -> Any:
    """The logarithm of `softmax`."""
    if unknown:
        refuse_unknown(log_softmax, unknown)
    return ops.log_softmax(input if dtype is None else ops.cast(input, dtype), _default(input, dim))


def _default(input: Any, dim: int | None) -> int:
    """PyTorch's default dimension: 0 for Tensors of 0, 1 or 3 dimensions, else 1."""
    return dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1


@answering
def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, **unknown: Never) -> Any:
    """Divided by the p-norm along a dimension, or by `eps` if that is larger."""
    if unknown:
        refuse_unknown(normalize, unknown)
    return ops.div(input, ops.clamp(ops.vector_norm(input, p, dim, True), eps))


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """x where it is positive, else negative_slope * x."""
    return ops.leaky_relu(input, negative_slope)


def elu(input: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    return ops.where(ops.gt(input, 0), input, ops.mul(ops.expm1(ops.minimum(input, ops.zeros_like(input))), alpha))


@answering
def glu(input: Any, dim: int = -1, **unknown: Never) -> Any:
    """The first half along a dimension times the sigmoid of the second."""
    if unknown:
        refuse_unknown(glu, unknown)
    return ops.glu(input, dim)


def relu6(input: Any) -> Any:
    """x clamped to [0, 6]."""
    return ops.relu6(input)


def logsigmoid(input: Any) -> Any:
    """log(1 / (1 + exp(-x)))."""
    return ops.logsigmoid(input)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """1 at each index, else 0 (int64), along a new last dimension; by default with max(index) + 1 classes."""
    depth = int(ops.amax(tensor)) + 1 if num_classes == -1 else num_classes
    return ops.cast(ops.one_hot(tensor, depth, 1, 0), int64)


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Padding by pairs of widths from the last dimension on; "constant", "reflect", "replicate" or "circular"."""
    return ops.pad(input, pad, mode, value)


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """Binary cross entropy of probabilities."""
    return ops.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """Binary cross entropy of sigmoid(input), without overflow."""
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """Negative log-likelihood: minus the log-probabilities [N, C, ...] at the targets [N, ...]."""
    return ops.nll_loss(input, target, weight, ignore_index, reduction)
