"""MindSpore's operator classes for networks: activations, convolutions, pooling, normalizations, losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_of, int64
from ..errors import ShapeError
from ..ir.primitive import call
from ..primitives.family import as_tensor
from ..primitives.window import per_dimension
from ..surface.table import public
from . import nn_func
from .operation import operation
from .state import assign, compiled_from_source

__all__: list[str] = []

_Function = Callable[..., Any]


def _channels_first(data_format: str, name: str, dimensions: int = 2) -> None:
    wanted = {2: "NCHW", 3: "NCDHW"}[dimensions]
    if data_format != wanted:
        raise ValueError(f"{name} takes data_format={wanted!r} (channels first), not {data_format!r}: transpose first")


# ------------------------------------------------------------------------------------------------ convolutions
def _pad(pad_mode: str, pad: Any) -> tuple[str, Any]:
    """`pad_mode` in the functions' spelling, and `pad` only where it means something."""
    mode = pad_mode.lower()
    return mode, pad if mode == "pad" else 0


def _checked_weight(name: str, weight: Any, out_channel: int, kernel: tuple[int, ...]) -> Any:
    weight = as_tensor(weight, "weight")
    if (weight.shape[0], *weight.shape[2:]) != (out_channel, *kernel):
        raise ShapeError(
            f"{name}(out_channel={out_channel}, kernel_size={kernel}) takes a weight [{out_channel}, channels, "
            f"{', '.join(map(str, kernel))}], not {list(weight.shape)}"
        )
    return weight


def _convolution(name: str, dimensions: int) -> Callable[..., _Function]:
    def make(
        out_channel: int,
        kernel_size: Any,
        mode: int = 1,
        pad_mode: str = "valid",
        pad: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        group: int = 1,
        data_format: str = "NCHW" if dimensions == 2 else "NCDHW",
    ) -> _Function:
        _channels_first(data_format, name, dimensions)
        kernel = per_dimension(kernel_size, dimensions, "kernel_size")
        padding = _pad(pad_mode, pad)
        convolve = nn_func.conv2d if dimensions == 2 else nn_func.conv3d

        def run(x: Any, weight: Any) -> Any:
            weight = _checked_weight(name, weight, out_channel, kernel)
            return convolve(x, weight, None, stride, *padding, dilation, group)

        return run

    make.__qualname__ = name
    return make


def _depthwise(
    channel_multiplier: int,
    kernel_size: Any,
    mode: int = 3,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
) -> _Function:
    kernel = per_dimension(kernel_size, 2, "kernel_size")
    padding = _pad(pad_mode, pad)

    def run(x: Any, weight: Any) -> Any:
        weight = _checked_weight("DepthwiseConv2dNative", weight, channel_multiplier, kernel)
        channels = weight.shape[1]
        own = call.reshape(call.swapaxes(weight, 0, 1), (channels * channel_multiplier, 1, *kernel))
        return nn_func.conv2d(x, own, None, stride, *padding, dilation, channels)

    return run


def _conv2d_transpose(
    out_channel: int,
    kernel_size: Any,
    pad_mode: str = "valid",
    pad: Any = 0,
    pad_list: Any = None,
    mode: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    data_format: str = "NCHW",
) -> _Function:
    _channels_first(data_format, "Conv2DTranspose")
    kernel = per_dimension(kernel_size, 2, "kernel_size")
    strides, dilations = per_dimension(stride, 2, "stride"), per_dimension(dilation, 2, "dilation")
    pad_mode, pad = _pad(pad_mode, pad if pad_list is None else pad_list)
    pads = (pad,) * 4 if isinstance(pad, int) else tuple(pad)

    def run(dout: Any, weight: Any, input_size: Any) -> Any:
        weight = _checked_weight("Conv2DTranspose", weight, out_channel, kernel)
        full = public.conv_transpose2d(dout, weight, None, strides, 0, 0, group, dilations)
        for i in (0, 1):  # the part of the input that the convolution reads
            size, whole = input_size[2 + i], full.shape[2 + i]
            total = max(0, (dout.shape[2 + i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 - size)
            before = pads[2 * i] if pad_mode == "pad" else total // 2 if pad_mode == "same" else 0
            missing = before + size - whole
            if missing > 0:  # elements that the last stride skips
                full = call.pad(full, (0, 0, 0, missing) if i == 0 else (0, missing))
            full = call.narrow(full, 2 + i, before, size)
        return full

    return run


def _conv3d_transpose(
    in_channel: int,
    out_channel: int,
    kernel_size: Any,
    mode: int = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
    data_format: str = "NCDHW",
) -> _Function:
    _channels_first(data_format, "Conv3DTranspose", 3)
    padding = _pad(pad_mode, pad)
    return lambda dout, weight: public.conv3d_transpose(dout, weight, *padding, stride, dilation, group, output_padding)


def _bias_add(data_format: str = "NCHW") -> _Function:
    if data_format not in ("NCHW", "NHWC", "NCDHW"):
        raise ValueError(f"BiasAdd takes data_format='NCHW', 'NHWC' or 'NCDHW', not {data_format!r}")
    return call.add if data_format == "NHWC" else lambda input_x, bias: public.bias_add(input_x, bias)


# ------------------------------------------------------------------------------------------------ pooling
def _window(size: Any, dimensions: int) -> Any:
    """A size per dimension; MindSpore also takes one for the batch and the channels, which must be 1."""
    if isinstance(size, tuple | list) and len(size) == dimensions + 2:
        if tuple(size[:2]) != (1, 1):
            raise ValueError(f"windows cannot go over the batch or the channels: {tuple(size)}")
        return tuple(size[2:])
    return size


def _max_pool(kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW") -> _Function:
    _channels_first(data_format, "MaxPool")
    kernel, step, mode = _window(kernel_size, 2), _window(strides, 2), pad_mode.lower()
    return lambda x: call.max_pooling(x, kernel, step, mode, 0, 1, False, False, 2)


def _avg_pool(kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID", data_format: str = "NCHW") -> _Function:
    _channels_first(data_format, "AvgPool")
    kernel, step, mode = _window(kernel_size, 2), _window(strides, 2), pad_mode.lower()
    return lambda x: call.avg_pooling(x, kernel, step, mode, 0, False, False, None, 2)


def _max_pool3d(
    kernel_size: Any = 1,
    strides: Any = 1,
    pad_mode: str = "VALID",
    pad_list: Any = 0,
    ceil_mode: bool | None = None,
    data_format: str = "NCDHW",
) -> _Function:
    _channels_first(data_format, "MaxPool3D", 3)
    kernel, step, padding = _window(kernel_size, 3), _window(strides, 3), _pad(pad_mode, pad_list)
    return lambda x: call.max_pooling(x, kernel, step, *padding, 1, bool(ceil_mode), False, 3)


def _avg_pool3d(
    kernel_size: Any = 1,
    strides: Any = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    data_format: str = "NCDHW",
) -> _Function:
    _channels_first(data_format, "AvgPool3D", 3)
    kernel, step, (mode, width) = _window(kernel_size, 3), _window(strides, 3), _pad(pad_mode, pad)
    counted = ceil_mode, count_include_pad, divisor_override
    return lambda x: call.avg_pooling(x, kernel, step, mode, width, *counted, 3)


def _max_pool_with_argmax(
    kernel_size: Any, strides: Any = None, pads: Any = 0, dilation: Any = (1, 1), ceil_mode: bool = False,
    argmax_type: Any = int64,
) -> _Function:  # fmt: skip
    def run(x: Any) -> tuple[Any, Any]:
        out, where = public.max_pool2d(x, kernel_size, strides, pads, dilation, True, ceil_mode)
        return out, call.cast(where, dtype_of(argmax_type))

    return run


def _max_unpool(unpool: _Function, dimensions: int) -> Callable[..., _Function]:
    def make(
        ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (),
        data_format: str = "NCHW" if dimensions == 2 else "NCDHW",
    ) -> _Function:  # fmt: skip
        _channels_first(data_format, f"MaxUnpool{dimensions}D", dimensions)
        step = None if strides == 0 else strides
        return lambda x, argmax: unpool(x, argmax, ksize, step, pads, tuple(output_shape) or None)

    return make


# ------------------------------------------------------------------------------------------------ normalization
def _batch_norm(
    is_training: bool = False, epsilon: float = 1e-5, momentum: float = 0.1, data_format: str = "NCHW"
) -> _Function:
    _channels_first(data_format, "BatchNorm")

    @compiled_from_source
    def run(input_x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
        if not is_training:
            out = call.batch_norm(input_x, mean, variance, scale, bias, epsilon)
            return out, mean, variance, mean, variance
        center, spread, number = call.batch_moments(input_x)
        unbiased = spread * (number / max(number - 1, 1))
        assign(mean, mean * (1 - momentum) + call.stop_gradient(center) * momentum)
        assign(variance, variance * (1 - momentum) + call.stop_gradient(unbiased) * momentum)
        return call.batch_norm(input_x, center, spread, scale, bias, epsilon), center, spread, center, spread

    return run


def _layer_norm(begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7) -> _Function:
    def run(input_x: Any, gamma: Any, beta: Any) -> tuple[Any, Any, Any]:
        x = as_tensor(input_x)
        axes = tuple(range(begin_norm_axis % x.ndim, x.ndim))
        wanted = tuple(x.shape[begin_params_axis % x.ndim :])
        if tuple(gamma.shape) != wanted or tuple(beta.shape) != wanted:
            raise ShapeError(
                f"LayerNorm(begin_params_axis={begin_params_axis}) of {list(x.shape)} takes gamma and beta of "
                f"the shape {list(wanted)}, not {list(gamma.shape)} and {list(beta.shape)}"
            )
        mean = call.mean(x, axes, True)
        centred = call.sub(x, mean)
        variance = call.mean(call.square(centred), axes, True)
        scale = call.mul(call.rsqrt(call.add(variance, epsilon)), gamma)
        return call.add(call.mul(centred, scale), beta), mean, variance

    return run


# ------------------------------------------------------------------------------------------------ losses
def _softmax_cross_entropy(logits: Any, labels: Any) -> tuple[Any, Any]:
    """The loss of each row, and its gradient by the logits."""
    loss = call.neg(call.sum(call.mul(labels, call.log_softmax(logits, -1)), -1))
    return loss, call.stop_gradient(call.sub(call.softmax(logits, -1), labels))


def _sparse_softmax_cross_entropy(is_grad: bool = False) -> _Function:
    def run(logits: Any, labels: Any) -> Any:
        if not is_grad:
            return nn_func.cross_entropy(logits, labels)
        x = as_tensor(logits)
        return call.div(call.sub(call.softmax(x, -1), public.one_hot(labels, x.shape[-1], 1.0, 0.0)), x.shape[0])

    return run


def _nll_loss(reduction: str = "mean", ignore_index: int = -100) -> _Function:
    def run(logits: Any, labels: Any, weight: Any) -> tuple[Any, Any]:
        counts = call.not_equal(labels, ignore_index)
        of_each = call.gather(weight, call.where(counts, labels, call.zeros_like(labels)), 0, 0)
        total = call.sum(call.where(counts, of_each, call.zeros_like(of_each)))
        return nn_func.nll_loss(logits, labels, weight, ignore_index, reduction), total

    return run


#: The classes, and their docstrings.
_MAKERS: dict[str, tuple[Callable[..., _Function], str]] = {
    "AvgPool": (
        _avg_pool,
        """``AvgPool(kernel_size=1, strides=1, ...)(x)``: the mean of every window over height and width.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.AvgPool(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]])).tolist()
    [[[[1.5]]]]
    """,
    ),
    "AvgPool3D": (
        _avg_pool3d,
        "``AvgPool3D(kernel_size=1, strides=1, ...)(x)``: `AvgPool` over the last 3 dimensions.",
    ),
    "BatchNorm": (
        _batch_norm,
        """``BatchNorm(is_training=False, ...)(x, scale, bias, mean, variance)``: normalization per channel.

    Returns the result and four statistics.  In training those of the batch are used, and the Parameters `mean`
    and `variance` become ``(1 - momentum) * old + momentum * batch``.
    """,
    ),
    "BiasAdd": (
        _bias_add,
        """``BiasAdd(data_format="NCHW")(x, bias)``: x [batch, channels, ...] plus one number per channel.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.BiasAdd()(ops.zeros((1, 2, 1)), Tensor([1.0, 2.0])).tolist()
    [[[1.0], [2.0]]]
    """,
    ),
    "Conv2D": (
        _convolution("Conv2D", 2),
        """``Conv2D(out_channel, kernel_size, ...)(x, weight)``: convolution over height and width.

    x is [batch, channels, height, width], the weight [out_channel, channels / group, *kernel_size].
    ShapeError: another weight.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.Conv2D(2, 3)(ops.ones((1, 1, 4, 4)), ops.ones((2, 1, 3, 3))).shape
    (1, 2, 2, 2)
    """,
    ),
    "Conv2DBackpropInput": (
        _conv2d_transpose,
        "``Conv2DBackpropInput(...)(g, weight, input_size)``: the transpose of `Conv2D` in its input.",
    ),
    "Conv2DTranspose": (
        _conv2d_transpose,
        "``Conv2DTranspose(...)(x, weight, size)``: the transpose of `Conv2D` in its input, of shape `size`.",
    ),
    "Conv3D": (
        _convolution("Conv3D", 3),
        (
            "``Conv3D(out_channel, kernel_size, ...)(x, weight)``: convolution over depth, height and width; "
            "see `Conv2D`."
        ),
    ),
    "Conv3DTranspose": (
        _conv3d_transpose,
        "``Conv3DTranspose(...)(x, weight)``: the transpose of `Conv3D` in its input.",
    ),
    "DepthwiseConv2dNative": (
        _depthwise,
        (
            "``DepthwiseConv2dNative(channel_multiplier, kernel_size, ...)(x, weight)``: every channel by "
            "filters of its own."
        ),
    ),
    "LayerNorm": (
        _layer_norm,
        """``LayerNorm(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)(x, gamma, beta)``: y, mean, variance.

    y is x standardized over the dimensions from `begin_norm_axis` on, times gamma plus beta, which have the
    shape of x from `begin_params_axis` on.  ShapeError: another gamma or beta.
    """,
    ),
    "MaxPool": (
        _max_pool,
        """``MaxPool(kernel_size=1, strides=1, ...)(x)``: the greatest element of every window over height and width.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.MaxPool(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]])).tolist()
    [[[[3.0]]]]
    """,
    ),
    "MaxPool3D": (
        _max_pool3d,
        "``MaxPool3D(kernel_size=1, strides=1, ...)(x)``: `MaxPool` over the last 3 dimensions.",
    ),
    "MaxPoolWithArgmaxV2": (
        _max_pool_with_argmax,
        "``MaxPoolWithArgmaxV2(kernel_size, ...)(x)``: the greatest element of every window, and its position.",
    ),
    "MaxUnpool2D": (
        _max_unpool(public.max_unpool2d, 2),
        "``MaxUnpool2D(ksize, ...)(x, argmax)``: zeros with the elements of x where a max pooling found them.",
    ),
    "MaxUnpool3D": (
        _max_unpool(public.max_unpool3d, 3),
        "``MaxUnpool3D(ksize, ...)(x, argmax)``: zeros with the elements of x where a max pooling found them.",
    ),
    "NLLLoss": (
        _nll_loss,
        (
            '``NLLLoss(reduction="mean", ignore_index=-100)(logits, labels, weight)``: the loss, and the sum '
            "of the weights."
        ),
    ),
    "SoftmaxCrossEntropyWithLogits": (
        lambda: _softmax_cross_entropy,
        """``SoftmaxCrossEntropyWithLogits()(logits, labels)``: the loss of each row, and its gradient by the logits.

    `labels` are probabilities of the logits' shape [N, C].  The gradient returned is a constant.
    """,
    ),
    "SparseSoftmaxCrossEntropyWithLogits": (
        _sparse_softmax_cross_entropy,
        """``SparseSoftmaxCrossEntropyWithLogits(is_grad=False)(logits, labels)``: the mean loss of integer labels.

    With `is_grad` its gradient by the logits instead.
    """,
    ),
}

for _name, (_make, _doc) in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__, _doc)
__all__ += _MAKERS
