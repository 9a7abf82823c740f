"""The docstrings of operator classes that their functions do not tell: the call, what it computes, an example."""

from __future__ import annotations

__all__ = ["DOCS"]

_IMPORT = ">>> from autodiff_compiler import Tensor, ops"

#: By the name of the class.
_LINES = {
    "ArgMinWithValue": (
        "``ArgMinWithValue(axis=0, keep_dims=False)(x)``: the index (int32) of the smallest element, and that element."
    ),
    "Argmax": "``Argmax(axis=-1, output_type=int32)(x)``: the index of the greatest element along an axis.",
    "Argmin": "``Argmin(axis=-1, output_type=int32)(x)``: the index of the smallest element along an axis.",
    "AvgPool3D": "``AvgPool3D(kernel_size=1, strides=1, ...)(x)``: `AvgPool` over the last 3 dimensions.",
    "BatchNorm": (
        "``BatchNorm(is_training=False, ...)(x, scale, bias, mean, variance)``: normalization per channel.\n\n"
        "Returns the result and four statistics.  In training those of the batch are used, and the "
        "Parameters `mean`\n"
        "and `variance` become ``(1 - momentum) * old + momentum * batch``."
    ),
    "Bernoulli": "``Bernoulli(seed=-1, offset=0)(x, p)``: 1 with probability p, else 0, in the shape and dtype of x.",
    "Bincount": "``Bincount()(array, size, weights)``: the sums of the weights per number 0 ... size - 1.",
    "Cauchy": "``Cauchy(size, median=0.0, sigma=1.0)()``: random numbers of the Cauchy distribution.",
    "ConfusionMatrix": (
        '``ConfusionMatrix(num_classes, dtype="int32")(labels, predictions, weights=None)``: counts [label, '
        "prediction]."
    ),
    "Conv2DBackpropInput": (
        "``Conv2DBackpropInput(...)(g, weight, input_size)``: the transpose of `Conv2D` in its input."
    ),
    "Conv2DTranspose": (
        "``Conv2DTranspose(...)(x, weight, size)``: the transpose of `Conv2D` in its input, of shape `size`."
    ),
    "Conv3D": (
        "``Conv3D(out_channel, kernel_size, ...)(x, weight)``: convolution over depth, height and width; see `Conv2D`."
    ),
    "Conv3DTranspose": "``Conv3DTranspose(...)(x, weight)``: the transpose of `Conv3D` in its input.",
    "CountNonZero": "``CountNonZero(dims=None)(x)``: how many elements over axes differ from 0 (int64).",
    "CumulativeLogsumexp": (
        "``CumulativeLogsumexp(exclusive=False, reverse=False)(x, axis)``: log of the running sum of exp(x)."
    ),
    "DataFormatDimMap": (
        '``DataFormatDimMap(src_format="NHWC", dst_format="NCHW")(x)``: dimension numbers of one layout in another.'
    ),
    "DataFormatVecPermute": (
        '``DataFormatVecPermute(src_format="NHWC", dst_format="NCHW")(x)``: one number per dimension, reordered.'
    ),
    "DepthToSpace": "``DepthToSpace(block_size)(x)``: channels [N, C, H, W] moved into blocks of the image.",
    "DepthwiseConv2dNative": (
        "``DepthwiseConv2dNative(channel_multiplier, kernel_size, ...)(x, weight)``: every channel by "
        "filters of its own."
    ),
    "DiagPart": "``DiagPart()(x)``: the diagonal ``x[i, j, ..., i, j, ...]`` of a tensor of shape [*sizes, *sizes].",
    "DivNoNan": "``DivNoNan()(x, y)``: x / y, and 0 where y is 0.",
    "Dropout": (
        "``Dropout(keep_prob=0.5, Seed0=0, Seed1=0)(x)``: x / keep_prob where it is kept, else 0; and that mask."
    ),
    "Dropout2D": "``Dropout2D(keep_prob=0.5)(x)``: dropout of whole channels [N, C, H, W], and the mask (bools).",
    "Dropout3D": "``Dropout3D(keep_prob=0.5)(x)``: dropout of whole channels [N, C, D, H, W], and the mask (bools).",
    "EmbeddingLookup": (
        "``EmbeddingLookup()(params, indices, offset)``: rows by index - offset; zeros where that is out of range."
    ),
    "EuclideanNorm": "``EuclideanNorm(keep_dims=False)(x, axes)``: the root of the sum of squares over axes.",
    "Gamma": (
        "``Gamma(seed=0, seed2=0)(shape, alpha, beta)``: random numbers of gamma distributions of shape "
        "alpha, rate beta."
    ),
    "GridSampler2D": "``GridSampler2D(...)(x, grid)``: x [N, C, H, W] sampled at coordinates; see `ops.grid_sample`.",
    "GridSampler3D": (
        "``GridSampler3D(...)(x, grid)``: x [N, C, D, H, W] sampled at coordinates; see `ops.grid_sample`."
    ),
    "IdentityN": "``IdentityN()(tensors)``: new tensors with the same elements, as a tuple.",
    "Im2Col": (
        "``Im2Col(ksizes, strides=1, dilations=1, pads=0)(x)``: the windows of images as [N, C, elements, windows]."
    ),
    "InvertPermutation": "``InvertPermutation()(x)``: the inverse of a permutation of 0 ... n - 1.",
    "L2Normalize": "``L2Normalize(axis=0, epsilon=1e-4)(x)``: x / sqrt(max(sum of squares along axes, epsilon)).",
    "LayerNorm": (
        "``LayerNorm(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)(x, gamma, beta)``: y, mean, variance.\n\n"
        "y is x standardized over the dimensions from `begin_norm_axis` on, times gamma plus beta, which have the\n"
        "shape of x from `begin_params_axis` on.  ShapeError: another gamma or beta."
    ),
    "LogNormalReverse": (
        "``LogNormalReverse(mean=1.0, std=2.0)(x)``: random numbers whose logarithms are normal, in the shape of x."
    ),
    "Lstsq": (
        "``Lstsq(fast=True, l2_regularizer=0.0)(x, a)``: least squares, see `ops.lstsq`; ValueError for a regularizer."
    ),
    "MatrixInverse": "``MatrixInverse(adjoint=False)(x)``: the inverse of square matrices, or of their transposes.",
    "MaxPool3D": "``MaxPool3D(kernel_size=1, strides=1, ...)(x)``: `MaxPool` over the last 3 dimensions.",
    "MaxPoolWithArgmaxV2": (
        "``MaxPoolWithArgmaxV2(kernel_size, ...)(x)``: the greatest element of every window, and its position."
    ),
    "MaxUnpool2D": (
        "``MaxUnpool2D(ksize, ...)(x, argmax)``: zeros with the elements of x where a max pooling found them."
    ),
    "MaxUnpool3D": (
        "``MaxUnpool3D(ksize, ...)(x, argmax)``: zeros with the elements of x where a max pooling found them."
    ),
    "Median": (
        "``Median(global_median=False, axis=0, keep_dims=False, ignore_nan=False)(x)``: the lower median and its index."
    ),
    "MoveTo": '``MoveTo()(x, to="CPU", blocking=True)``: x itself, as there is one device; ValueError for another.',
    "MulNoNan": "``MulNoNan()(x, y)``: x * y, and 0 where y is 0, whatever x is.",
    "Multinomial": (
        "``Multinomial(seed=0, seed2=0, dtype=int32)(weights, n)``: positions drawn in proportion to weights."
    ),
    "MultinomialWithReplacement": (
        "``MultinomialWithReplacement(numsamples, replacement=False)(weights, seed, offset)``: positions (int64)."
    ),
    "NLLLoss": (
        '``NLLLoss(reduction="mean", ignore_index=-100)(logits, labels, weight)``: the loss, and the sum of '
        "the weights."
    ),
    "NthElement": (
        "``NthElement(reverse=False)(x, n)``: the n-th smallest (or greatest) element of the last dimension, from 0."
    ),
    "Pad": "``Pad(paddings)(x)``: zeros around x; one (before, after) pair of widths per dimension.",
    "PadV3": '``PadV3(mode="constant", paddings_contiguous=True)(x, paddings, value=None)``: see `ops.pad`.',
    "Poisson": "``Poisson(seed=0, seed2=0)(shape, mean)``: random numbers (int32) of Poisson distributions.",
    "RandomCategorical": (
        "``RandomCategorical(dtype=int64)(logits, num_sample, seed=0)``: positions drawn by logarithms of weights."
    ),
    "RandomChoiceWithMask": (
        "``RandomChoiceWithMask(count=256, ...)(mask)``: random indices of true elements, and which of them exist."
    ),
    "RandomGamma": (
        "``RandomGamma(seed=0, seed2=0)(shape, alpha)``: random numbers of gamma distributions: [*shape, *alpha.shape]."
    ),
    "RandomPoisson": (
        "``RandomPoisson(seed=0, seed2=0, dtype=int64)(shape, rate)``: Poisson numbers: [*shape, *rate.shape]."
    ),
    "RandomShuffle": "``RandomShuffle(seed=0, seed2=0)(x)``: the slices along the first dimension in a random order.",
    "Randperm": (
        "``Randperm(max_length=1, pad=-1, dtype=int32)(n)``: 0 ... n - 1 in a random order, padded to a length."
    ),
    "RandpermV2": "``RandpermV2(seed=0, offset=0, dtype=int64)(n)``: 0 ... n - 1 in a random order.",
    "ReduceAll": "``ReduceAll(keep_dims=False)(x, axis=())``: whether all elements over axes are true.",
    "ReduceAny": "``ReduceAny(keep_dims=False)(x, axis=())``: whether any element over axes is true.",
    "ReduceMin": (
        "``ReduceMin(keep_dims=False)(x, axis=())``: the smallest element over axes; ties share the cotangent evenly."
    ),
    "ReduceProd": "``ReduceProd(keep_dims=False)(x, axis=())``: the product over axes; integers keep their dtype.",
    "ReduceStd": (
        "``ReduceStd(axis=(), unbiased=True, keep_dims=False)(x)``: the standard deviation and the mean over axes."
    ),
    "ResizeBicubic": (
        "``ResizeBicubic(align_corners=False, half_pixel_centers=False)(images, size)``: one of the flags must be set."
    ),
    "ResizeLinear1D": (
        '``ResizeLinear1D(coordinate_transformation_mode="align_corners")(x, size)``: the last dimension resized.'
    ),
    "ResizeNearestNeighbor": (
        "``ResizeNearestNeighbor(size, ...)(x)``: images [batch, channels, height, width] resized to nearest elements."
    ),
    "ResizeNearestNeighborV2": (
        "``ResizeNearestNeighborV2(...)(x, size)``: images [N, C, H, W] resized to nearest elements."
    ),
    "SegmentMax": "``SegmentMax()(x, segment_ids)``: greatest rows by segment; ids never decrease.  Eager code only.",
    "SegmentMean": "``SegmentMean()(x, segment_ids)``: means of rows by segment; ids never decrease.  Eager code only.",
    "SegmentMin": "``SegmentMin()(x, segment_ids)``: smallest rows by segment; ids never decrease.  Eager code only.",
    "SegmentProd": (
        "``SegmentProd()(x, segment_ids)``: products of rows by segment; ids never decrease.  Eager code only."
    ),
    "SegmentSum": "``SegmentSum()(x, segment_ids)``: sums of rows by segment; ids never decrease.  Eager code only.",
    "SigmoidCrossEntropyWithLogits": (
        "``SigmoidCrossEntropyWithLogits()(logits, labels)``: binary cross entropy, element by element."
    ),
    "SoftmaxCrossEntropyWithLogits": (
        "``SoftmaxCrossEntropyWithLogits()(logits, labels)``: the loss of each row, and its gradient by the "
        "logits.\n\n"
        "`labels` are probabilities of the logits' shape [N, C].  The gradient returned is a constant."
    ),
    "SpaceToDepth": "``SpaceToDepth(block_size)(x)``: blocks of images [N, C, H, W] moved into the channels.",
    "SparseSoftmaxCrossEntropyWithLogits": (
        "``SparseSoftmaxCrossEntropyWithLogits(is_grad=False)(logits, labels)``: the mean loss of integer labels.\n\n"
        "With `is_grad` its gradient by the logits instead."
    ),
    "SplitV": (
        "``SplitV(size_splits, split_dim, num_split)(x)``: parts of these sizes along a dimension; one may be -1."
    ),
    "StandardLaplace": (
        "``StandardLaplace(seed=0, seed2=0)(shape)``: random numbers (float32) of the Laplace distribution."
    ),
    "StandardNormal": (
        "``StandardNormal(seed=0, seed2=0)(shape)``: random numbers (float32) of the standard normal distribution."
    ),
    "Svd": (
        "``Svd(full_matrices=False, compute_uv=True)(x)``: s, u, v with x = u @ diag(s) @ v.T; s alone "
        "without `compute_uv`."
    ),
    "TridiagonalMatMul": (
        "``TridiagonalMatMul()(superdiag, maindiag, subdiag, rhs)``: tridiagonal matrices times `rhs`."
    ),
    "TruncatedNormal": (
        "``TruncatedNormal(dtype=float32, seed=0, seed2=0)(shape)``: standard normal numbers between -2 and 2."
    ),
    "UniformInt": (
        "``UniformInt(seed=0, seed2=0)(shape, minval, maxval)``: random integers (int32) from minval to maxval - 1."
    ),
    "UniformReal": "``UniformReal(seed=0, seed2=0)(shape)``: random numbers (float32) of [0, 1).",
    "Unpack": "``Unpack(axis=0)(x)``: the slices along a dimension, MindSpore's older `Unstack`.",
    "Unstack": "``Unstack(axis=0, num=None)(x)``: the slices along a dimension; ValueError if they are not `num`.",
}

#: With an example.
_WITH_EXAMPLES = {
    "Add": (
        "``Add()(x, y)``: the sum of two tensors, which broadcast and are promoted to their common dtype.",
        ">>> ops.Add()(Tensor([1, 2]), Tensor([[10], [20]])).tolist()\n[[11, 12], [21, 22]]",
    ),
    "AddN": (
        "``AddN()(tensors)``: the sum of several tensors of one shape.",
        ">>> ops.AddN()((Tensor([1, 2]), Tensor([3, 4]))).tolist()\n[4, 6]",
    ),
    "ArgMaxWithValue": (
        "``ArgMaxWithValue(axis=0, keep_dims=False)(x)``: the index (int32) of the greatest element, and that element.",
        ">>> [t.tolist() for t in ops.ArgMaxWithValue()(Tensor([1.0, 4.0, 2.0]))]\n[1, 4.0]",
    ),
    "AvgPool": (
        "``AvgPool(kernel_size=1, strides=1, ...)(x)``: the mean of every window over height and width.",
        ">>> ops.AvgPool(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]])).tolist()\n[[[[1.5]]]]",
    ),
    "BatchMatMul": (
        "``BatchMatMul(transpose_a=False, transpose_b=False)(x, y)``: matrix products of batches, as `MatMul`.",
        ">>> ops.BatchMatMul()(ops.ones((2, 1, 3)), ops.ones((2, 3, 4))).shape\n(2, 1, 4)",
    ),
    "BiasAdd": (
        '``BiasAdd(data_format="NCHW")(x, bias)``: x [batch, channels, ...] plus one number per channel.',
        ">>> ops.BiasAdd()(ops.zeros((1, 2, 1)), Tensor([1.0, 2.0])).tolist()\n[[[1.0], [2.0]]]",
    ),
    "BroadcastTo": (
        "``BroadcastTo(shape)(x)``: the tensor broadcast to a shape; -1 keeps a size.",
        ">>> ops.BroadcastTo((2, 2))(Tensor([1, 2])).tolist()\n[[1, 2], [1, 2]]",
    ),
    "Cast": (
        "``Cast()(x, dtype)``: the same numbers in another dtype.",
        ">>> import autodiff_compiler as ms\n>>> ops.Cast()(Tensor([1.7]), ms.int32).tolist()\n[1]",
    ),
    "Concat": (
        "``Concat(axis=0)(tensors)``: tensors joined along an existing dimension.",
        ">>> ops.Concat(1)((Tensor([[1, 2]]), Tensor([[3]]))).tolist()\n[[1, 2, 3]]",
    ),
    "Conv2D": (
        "``Conv2D(out_channel, kernel_size, ...)(x, weight)``: convolution over height and width.\n\n"
        "x is [batch, channels, height, width], the weight [out_channel, channels / group, *kernel_size].\n"
        "ShapeError: another weight.",
        ">>> ops.Conv2D(2, 3)(ops.ones((1, 1, 4, 4)), ops.ones((2, 1, 3, 3))).shape\n(1, 2, 2, 2)",
    ),
    "Dense": (
        "``Dense()(x, weight, bias=None)``: x @ weight.T + bias, along the last dimension.",
        ">>> ops.Dense()(Tensor([1.0, 2.0]), Tensor([[3.0, 4.0]])).tolist()\n[11.0]",
    ),
    "ExpandDims": (
        "``ExpandDims()(x, axis)``: a new dimension of size 1 at `axis` of the result.",
        ">>> ops.ExpandDims()(Tensor([1, 2]), 0).shape\n(1, 2)",
    ),
    "Gather": (
        "``Gather(batch_dims=0)(x, indices, axis)``: slices along an axis; the shape of `indices` replaces the axis.",
        ">>> ops.Gather()(Tensor([[1, 2], [3, 4]]), Tensor([1]), 0).tolist()\n[[3, 4]]",
    ),
    "L2Loss": (
        "``L2Loss()(x)``: half the sum of squares of all elements.",
        ">>> ops.L2Loss()(Tensor([3.0, 4.0])).item()\n12.5",
    ),
    "MatMul": (
        "``MatMul(transpose_a=False, transpose_b=False)(x, y)``: the matrix product over the last two dimensions.\n\n"
        "With a flag the operand's last two dimensions are exchanged first; leading dimensions broadcast.",
        ">>> ops.MatMul(transpose_b=True)(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]])).tolist()\n[[11.0]]",
    ),
    "MaxPool": (
        "``MaxPool(kernel_size=1, strides=1, ...)(x)``: the greatest element of every window over height and width.",
        ">>> ops.MaxPool(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]])).tolist()\n[[[[3.0]]]]",
    ),
    "Maximum": (
        "``Maximum()(x, y)``: the greater element of two tensors; nan if either is, at a tie the cotangent is halved.",
        ">>> ops.Maximum()(Tensor([1, 5]), Tensor([4, 2])).tolist()\n[4, 5]",
    ),
    "Minimum": (
        "``Minimum()(x, y)``: the smaller element of two tensors; nan if either is, at a tie the cotangent is halved.",
        ">>> ops.Minimum()(Tensor([1, 5]), Tensor([4, 2])).tolist()\n[1, 2]",
    ),
    "Mul": (
        "``Mul()(x, y)``: the product of two tensors, element by element; they broadcast.",
        ">>> ops.Mul()(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).tolist()\n[3.0, 8.0]",
    ),
    "OneHot": (
        "``OneHot(axis=-1)(indices, depth, on_value, off_value)``: one-hot codes along a new dimension.",
        ">>> ops.OneHot()(Tensor([0, 2]), 3, 1.0, 0.0).tolist()\n[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]",
    ),
    "ReLU": (
        "``ReLU()(x)``: max(x, 0) for every element; its derivative at 0 is 0.",
        ">>> ops.ReLU()(Tensor([-1.0, 2.0])).tolist()\n[0.0, 2.0]",
    ),
    "RealDiv": (
        "``RealDiv()(x, y)``: the true quotient of two tensors, which broadcast; integers become float32 first.",
        ">>> ops.RealDiv()(Tensor([1, 3]), 2).tolist()\n[0.5, 1.5]",
    ),
    "ReduceMax": (
        "``ReduceMax(keep_dims=False)(x, axis=())``: the greatest element over axes; ties share the cotangent evenly.",
        ">>> ops.ReduceMax()(Tensor([[1, 5], [4, 2]]), 1).tolist()\n[5, 4]",
    ),
    "ReduceMean": (
        "``ReduceMean(keep_dims=False)(x, axis=())``: the mean over axes; that of integers is truncated.",
        ">>> ops.ReduceMean()(Tensor([[1.0, 3.0], [5.0, 7.0]]), 0).tolist()\n[3.0, 5.0]",
    ),
    "ReduceSum": (
        "``ReduceSum(keep_dims=False, skip_mode=False)(x, axis=())``: the sum over axes; integers keep their dtype.\n\n"
        "An empty `axis` means all axes, with `skip_mode` none.",
        ">>> ops.ReduceSum(keep_dims=True)(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1).tolist()\n[[3.0], [7.0]]",
    ),
    "Reshape": (
        "``Reshape()(x, shape)``: the same elements in row-major order under another shape; one size may be -1.",
        ">>> ops.Reshape()(Tensor([[1, 2, 3], [4, 5, 6]]), (3, -1)).shape\n(3, 2)",
    ),
    "ResizeBilinear": (
        "``ResizeBilinear(size, ...)(x)``: images [batch, channels, height, width] resized by linear interpolation.",
        ">>> ops.ResizeBilinear((2, 2))(ops.ones((1, 1, 4, 4))).shape\n(1, 1, 2, 2)",
    ),
    "ResizeBilinearV2": (
        "``ResizeBilinearV2(...)(x, size)``: images [batch, channels, height, width] resized by linear interpolation.",
        ">>> ops.ResizeBilinearV2()(ops.ones((1, 1, 4, 4)), (2, 2)).shape\n(1, 1, 2, 2)",
    ),
    "Select": (
        "``Select()(condition, x, y)``: the elements of x where the condition holds, else those of y.",
        ">>> ops.Select()(Tensor([True, False]), Tensor([1, 2]), Tensor([3, 4])).tolist()\n[1, 4]",
    ),
    "Softmax": (
        "``Softmax(axis=-1)(x)``: exp(x) divided by its sum along an axis, without overflow.",
        ">>> ops.Softmax()(Tensor([0.0, 0.0])).tolist()\n[0.5, 0.5]",
    ),
    "Sort": (
        "``Sort(axis=-1, descending=False)(x)``: the elements sorted along an axis, and their positions (int32).",
        ">>> [t.tolist() for t in ops.Sort()(Tensor([2, 1, 3]))]\n[[1, 2, 3], [1, 0, 2]]",
    ),
    "Split": (
        "``Split(axis=0, output_num=1)(x)``: `output_num` parts along a dimension; ValueError if they are not equal.",
        ">>> [part.tolist() for part in ops.Split(0, 2)(Tensor([1, 2, 3, 4]))]\n[[1, 2], [3, 4]]",
    ),
    "Squeeze": (
        "``Squeeze(axis=())(x)``: dimensions of size 1 removed, all of them by default.",
        ">>> ops.Squeeze(0)(Tensor([[1, 2]])).shape\n(2,)",
    ),
    "Stack": (
        "``Stack(axis=0)(tensors)``: tensors of one shape joined along a new dimension.",
        ">>> ops.Stack()((Tensor([1, 2]), Tensor([3, 4]))).tolist()\n[[1, 2], [3, 4]]",
    ),
    "StridedSlice": (
        "``StridedSlice(...)(x, begin, end, strides)``: ``x[begin:end:strides]`` for the first dimensions.\n\n"
        "Bit i of a mask changes entry i: see `ops.strided_slice`.",
        ">>> ops.StridedSlice()(Tensor([1, 2, 3, 4]), (0,), (4,), (2,)).tolist()\n[1, 3]",
    ),
    "Sub": (
        "``Sub()(x, y)``: the difference of two tensors, which broadcast.",
        ">>> ops.Sub()(Tensor([5, 7]), 1).tolist()\n[4, 6]",
    ),
    "TopK": (
        "``TopK(sorted=True)(x, k)``: the k greatest elements along the last dimension, and their positions (int32).",
        ">>> [t.tolist() for t in ops.TopK()(Tensor([1.0, 4.0, 3.0]), 2)]\n[[4.0, 3.0], [1, 2]]",
    ),
    "Transpose": (
        "``Transpose()(x, order)``: the dimensions in another order.",
        ">>> ops.Transpose()(ops.ones((2, 3, 4)), (2, 0, 1)).shape\n(4, 2, 3)",
    ),
}

DOCS = _LINES | {name: f"{text}\n\n{_IMPORT}\n{example}" for name, (text, example) in _WITH_EXAMPLES.items()}
