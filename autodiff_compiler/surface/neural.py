"""Activations, layers, pooling, normalization and losses."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("silu(input)"),
    Row("mish(x)", op="Mish"),
    Row("selu(input_x)", op="SeLU"),
    Row("relu6(x)", op="ReLU6"),
    Row("fast_gelu(x)", op="FastGeLU FastGelu"),
    Row("logsigmoid(x)"),
    Row("softsign(x)", op="Softsign"),
    Row("tanhshrink(input)"),
    Row("hardsigmoid(input)", op="HSigmoid"),
    Row("hardswish(input)", op="HSwish"),
    Row("gelu(input, approximate='none')",
        doc='x times the standard normal distribution function at x, or (``approximate="tanh"``) its approximation '
        'by tanh.'),
    Row("elu(input_x, alpha=1.0)",
        doc="x where it is positive, else alpha * (exp(x) - 1); its derivative at 0 is alpha."),
    Row("celu(x, alpha=1.0)", doc="x where it is positive, else alpha * (exp(x / alpha) - 1)."),
    Row("leaky_relu(input, alpha=0.2)", doc="x where it is positive, else alpha * x; its derivative at 0 is alpha."),
    Row("prelu(input, weight)", op="PReLU",
        doc="x where it is positive, else weight * x (at 0 too); one weight per channel (axis 1), or one for all."),
    Row("glu(x, axis=-1)", doc="The first half of an axis times the sigmoid of the second."),
    Row("swiglu(input, dim=-1)", doc="silu of the first half of a dimension times the second."),
    Row("hardtanh(input, min_val=-1.0, max_val=1.0)",
        doc="x between two bounds; at a bound the cotangent is halved, as by maximum and minimum."),
    Row("hardshrink(input, lambd=0.5)", doc="x, but 0 from -lambd to lambd; its derivative at both is 0."),
    Row("softshrink(input, lambd=0.5)", also="soft_shrink",
        doc="x moved by lambd towards 0; 0 from -lambd to lambd, and so is its derivative."),
    Row("threshold(input, thr: float, value: float)",
        doc="x where it is greater than `thr`, else `value`; its derivative at `thr` is 0."),
    Row("log_softmax(logits, axis=-1)", doc="Logarithm of softmax along an axis, without overflow."),
    Row("bias_add(input_x, bias)", doc="""
    [batch, channels, ...] plus one number per channel.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.bias_add(ops.zeros((1, 2, 1)), Tensor([1.0, 2.0])).tolist()
    [[[1.0], [2.0]]]
    """),
    Row("conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
        calls="call.transposed_convolution(input, weight, bias, stride, 'pad', padding, output_padding, dilation, "
        "groups, 1)",
        doc="Transpose of a convolution over the last dimension; see `conv_transpose2d`."),
    Row("conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
        calls="call.transposed_convolution(input, weight, bias, stride, 'pad', padding, output_padding, dilation, "
        "groups, 2)",
        doc="Transpose of a convolution over 2 dimensions, with a weight [channels, channels of the result / "
        "groups, ...]."),
    Row("conv3d_transpose(inputs, weight, pad_mode='valid', padding=0, stride=1, dilation=1, group=1, "
        "output_padding=0)",
        calls="call.transposed_convolution(inputs, weight, None, stride, pad_mode, padding, output_padding, "
        "dilation, group, 3)",
        doc="Transpose of a convolution over 3 dimensions, with a weight [channels, channels of the result / group, "
        "...]."),
    Row("max_pool2d(x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False)",
        calls="call.max_pooling(x, kernel_size, stride, 'pad', padding, dilation, ceil_mode, return_indices, 2)",
        doc="""
    The greatest element of every window over the last 2 dimensions, with `return_indices` also its position.

    Windows lie side by side by default.  The whole gradient goes to the first of several greatest elements.

    >>> ops.max_pool2d(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]]), 2).tolist()
    [[[[3.0]]]]
    """),
    Row("max_pool1d(x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False)",
        calls="call.max_pooling(x, kernel_size, stride, 'pad', padding, dilation, ceil_mode, return_indices, 1)",
        doc="The greatest element of every window over the last dimension; see `max_pool2d`."),
    Row("max_pool3d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)",
        calls="call.max_pooling(x, kernel_size, stride, 'pad', padding, dilation, ceil_mode, return_indices, 3)",
        doc="The greatest element of every window over the last 3 dimensions; see `max_pool2d`."),
    Row("avg_pool1d(input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True)",
        calls="call.avg_pooling(input_x, kernel_size, stride, 'pad', padding, ceil_mode, count_include_pad, None, 1)",
        doc="The mean of every window over the last dimension; padding counts as zeros with `count_include_pad`."),
    Row("avg_pool2d(input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True, "
        "divisor_override=0)",
        calls="call.avg_pooling(input_x, kernel_size, stride, 'pad', padding, ceil_mode, count_include_pad, "
        "divisor_override, 2)",
        doc="The mean of every window over the last 2 dimensions; `divisor_override` replaces the number of elements."),
    Row("avg_pool3d(input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True, "
        "divisor_override=0)",
        calls="call.avg_pooling(input_x, kernel_size, stride, 'pad', padding, ceil_mode, count_include_pad, "
        "divisor_override, 3)",
        doc="The mean of every window over the last 3 dimensions; `divisor_override` replaces the number of elements."),
    Row("adaptive_avg_pool1d(input, output_size)", calls="call.adaptive_avg_pooling(input, output_size, 1)",
        doc="Means of `output_size` nearly equal parts of the last dimension."),
    Row("adaptive_avg_pool2d(input, output_size)", calls="call.adaptive_avg_pooling(input, output_size, 2)",
        doc="Means of `output_size` nearly equal parts of the last 2 dimensions; None keeps a size."),
    Row("adaptive_avg_pool3d(input, output_size)", calls="call.adaptive_avg_pooling(input, output_size, 3)",
        doc="Means of `output_size` nearly equal parts of the last 3 dimensions; None keeps a size."),
    Row("adaptive_max_pool1d(input, output_size)", calls="call.adaptive_max_pooling(input, output_size, False, 1)",
        doc="Greatest elements of `output_size` nearly equal parts of the last dimension."),
    Row("adaptive_max_pool2d(input, output_size, return_indices=False)",
        calls="call.adaptive_max_pooling(input, output_size, return_indices, 2)",
        doc="Greatest elements of nearly equal parts of the last 2 dimensions, with `return_indices` also their "
        "positions."),
    Row("adaptive_max_pool3d(input, output_size, return_indices=False)",
        calls="call.adaptive_max_pooling(input, output_size, return_indices, 3)",
        doc="Greatest elements of nearly equal parts of the last 3 dimensions, with `return_indices` also their "
        "positions."),
    Row("layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)",
        doc="Standardized over the last dimensions, which are `normalized_shape`; times weight plus bias of that "
        "shape."),
    Row("group_norm(input, num_groups: int, weight=None, bias=None, eps=1e-05)",
        doc="Standardized over groups of neighbouring channels; times weight plus bias per channel."),
    Row("rms_norm(x, gamma, epsilon=1e-06) -> tuple[Tensor, Tensor]",
        doc="Divided by the root of the mean square over the last dimensions, times gamma; and the root's reciprocal."),
    Row("interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners: bool | None = None, "
        "recompute_scale_factor: bool | None = None)",
        also="upsample", doc="""
    [batch, channels, ...] resized over its spatial dimensions to `size`, or by `scale_factor`.

    Modes: nearest, nearest-exact, area, linear (1 dimension), bilinear, bicubic (2), trilinear (3).

    >>> ops.interpolate(Tensor([[[0.0, 2.0]]]), size=3, mode="linear", align_corners=True).tolist()
    [[[0.0, 1.0, 2.0]]]
    """),
    Row("grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners: bool | None = None)",
        doc="[batch, channels, ...] sampled at the coordinates in `grid` [batch, ..., n], which run from -1 to 1."),
    Row("affine_grid(theta, size, align_corners=False)",
        doc="Coordinates for `grid_sample`: a grid of `size` mapped by theta [batch, n, n + 1]."),
    Row("mse_loss(input, target, reduction='mean')", also="mse_loss_ext", doc="""
    Squared difference of two tensors: its mean, its sum, or (``reduction="none"``) element by element.

    >>> ops.mse_loss(Tensor([1.0, 3.0]), Tensor([1.0, 1.0])).item()
    2.0
    """),
    Row("l1_loss(input, target, reduction='mean')",
        doc='Absolute difference of two tensors: its mean, its sum, or (``reduction="none"``) element by element.'),
    Row("smooth_l1_loss(input, target, beta=1.0, reduction='none')",
        doc="Half the squared difference over beta up to beta, beyond it the absolute difference less beta / 2."),
    Row("huber_loss(input, target, reduction='mean', delta=1.0)",
        doc="Half the squared difference up to delta, beyond it linear with the slope delta."),
    Row("binary_cross_entropy(logits, labels, weight=None, reduction='mean')",
        doc="Cross entropy of probabilities against labels from 0 to 1; finite at 0 and 1."),
    Row("binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction='mean')",
        doc="Binary cross entropy of sigmoid(input), without overflow; `pos_weight` multiplies the part of the "
        "positives."),
    Row("kl_div(logits, labels, reduction='mean')",
        doc='labels * (log(labels) - logits); reduction "batchmean" divides the sum by the first dimension.'),
    Row("gaussian_nll_loss(x, target, var, full=False, eps=1e-06, reduction='mean')",
        doc="Negative log-likelihood of a normal distribution of mean x and variance `var`, which is at least eps."),
    Row("multi_margin_loss(input, target, p=1, margin: float = 1, weight=None, reduction='mean')",
        doc="The mean over the other classes of max(0, margin - input[target] + input[class]) ** p."),
    Row("multilabel_soft_margin_loss(input, target, weight=None, reduction='mean')",
        doc="Binary cross entropy with logits, averaged over the classes, for [batch, classes]."),
    Row("soft_margin_loss(input, target, reduction='mean')", doc="log(1 + exp(-target * input)) for targets 1 and -1."),
    Row("hinge_embedding_loss(inputs, targets, margin=1.0, reduction='mean')",
        doc="The input where the target is 1, max(0, margin - input) where it is -1."),
    Row("cosine_similarity(x1, x2, dim=1, eps=1e-08)",
        doc="The cosine of the angle between vectors along a dimension."),
    Row("cosine_embedding_loss(input1, input2, target, margin=0.0, reduction='mean')",
        doc="1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."),
    Row("margin_ranking_loss(input1, input2, target, margin=0.0, reduction='mean')",
        doc="max(0, margin - target * (input1 - input2))."),
    Row("triplet_margin_loss(anchor, positive, negative, margin=1.0, p: float = 2, eps=1e-06, swap=False, "
        "reduction='mean')",
        doc="max(0, margin + distance to the positive - distance to the negative)."),
    Row("multilabel_margin_loss(input, target, reduction='mean')", doc="""
    The sum of max(0, 1 - input[label] + input[other]) over the labels before the first -1 and all other classes.

    It is divided by the number of classes; `input` and `target` are [batch, classes] or [classes].
    """),
    Row("rotary_position_embedding(x, cos, sin, mode=0)", doc="""
    x * cos plus x with its pairs of elements turned by 90 degrees * sin, along the last dimension.

    A pair is element i of both halves (mode 0), or two neighbours (mode 1).

    >>> ops.rotary_position_embedding(Tensor([1.0, 2.0, 3.0, 4.0]), 0.0, 1.0, mode=1).tolist()
    [-2.0, 1.0, -4.0, 3.0]
    """),
    Row("dense(input, weight, bias=None)", doc="""
    input @ weight.T + bias, along the last dimension.

    >>> ops.dense(Tensor([1.0, 2.0]), Tensor([[3.0, 4.0]]), Tensor([0.5])).tolist()
    [11.5]
    """),
    Row("bidense(input1, input2, weight, bias=None)",
        doc="input1 @ weight[i] @ input2 + bias[i] for every i, along the last dimensions."),
    Row("batch_dot(x1, x2, axes=None)", doc="""
    Sum of products over one axis of each tensor, for every element of the batch: the first dimension of both.

    By default over the last axis of x1 and the last but one of x2 (the last, if it has two dimensions).

    >>> from autodiff_compiler import ops
    >>> ops.batch_dot(ops.ones((6, 2, 3, 4)), ops.ones((6, 5, 4, 8))).shape
    (6, 2, 3, 5, 8)
    """),
    Row("clip_by_norm(x, max_norm: float, norm_type=2.0, error_if_nonfinite=False)", doc="""
    A tensor, or several, times max_norm / (their common norm + 1e-6) if that is less than 1.

    With `error_if_nonfinite`, in eager code only: RuntimeError for a norm that is nan or infinite.
    """),
    Row("clip_by_global_norm(x, clip_norm=1.0, use_norm=None)", doc="""
    Several tensors times clip_norm / the greater of clip_norm and their common norm, or `use_norm` in its place.

    >>> [t.tolist() for t in ops.clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 1.0, use_norm=2.0)]
    [[1.5], [2.0]]
    """),
    Row("ctc_loss(log_probs, targets, input_lengths, target_lengths, blank: int = 0, reduction='mean', "
        "zero_infinity=False) -> tuple[Tensor, Tensor]", doc="""
    -log of the sum of the probabilities of all alignments, and the logarithms of the sums over their beginnings.

    `log_probs` [time, batch, classes] (or without batch), `targets` [batch, labels] or all labels one after the other.
    Reduction "mean" divides by the lengths of the targets first.  Where no alignment exists the loss is inf, or 0 with
    `zero_infinity`, and its derivative is 0.  IndexError: a label that is no class, an input longer than there is time.

    >>> p = Tensor([[[0.5, 0.5]], [[0.5, 0.5]]])                  # three of four paths spell [1]
    >>> loss, _ = ops.ctc_loss(p.log(), Tensor([[1]]), Tensor([2]), Tensor([1]))
    >>> print(f"{loss.exp().item():.6f}")
    1.333333
    """),
    Row("ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True) "
        "-> tuple[Tensor, Tensor, Tensor, Tensor]", doc="""
    The likeliest class at every time without the blank, which is the last class; eager code only.

    Of [time, batch, classes]: places [labels, 2], classes and shape of a sparse matrix of the labels [batch, time], and
    minus the sum of the greatest numbers [batch, 1].
    """),
)
