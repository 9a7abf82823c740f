"""MindSpore's operator classes that only call a function: made with what is constant, called with operands."""

from __future__ import annotations

from .row import Operator

__all__ = ["OPERATORS"]

# fmt: off
OPERATORS = (
    Operator("AccumulateNV2()", "ops.accumulate_n"),
    Operator("AdaptiveAvgPool2D(output_size)(x)", "ops.adaptive_avg_pool2d(x, output_size)"),
    Operator("AdaptiveAvgPool3D(output_size)(x)", "ops.adaptive_avg_pool3d(x, output_size)"),
    Operator("AdaptiveMaxPool2D(output_size)(x)", "ops.adaptive_max_pool2d(x, output_size, True)"),
    Operator("AdaptiveMaxPool3D()(x, output_size)", "ops.adaptive_max_pool3d(x, output_size, True)"),
    Operator("Add()", "ops.add", doc="""
    the sum of two tensors, which broadcast and are promoted to their common dtype.

    >>> ops.Add()(Tensor([1, 2]), Tensor([[10], [20]])).tolist()
    [[11, 12], [21, 22]]
    """),
    Operator("AddN()", "ops.addn", doc="""
    the sum of several tensors of one shape.

    >>> ops.AddN()((Tensor([1, 2]), Tensor([3, 4]))).tolist()
    [4, 6]
    """),
    Operator("AffineGrid(align_corners=False)(theta, size)", "ops.affine_grid(theta, size, align_corners)"),
    Operator("ApproximateEqual(tolerance=1e-05)(x, y)", "ops.approximate_equal(x, y, tolerance)"),
    Operator("Argmax(axis=-1, output_type=int32)(x)", "call.cast(call.argmax(x, axis), dtype_of(output_type))",
        doc="the index of the greatest element along an axis."),
    Operator("Argmin(axis=-1, output_type=int32)(x)", "call.cast(call.argmin(x, axis), dtype_of(output_type))",
        doc="the index of the smallest element along an axis."),
    Operator("Assign()", "ops.assign"),
    Operator("AssignAdd()", "ops.assign_add"),
    Operator("AssignSub()", "ops.assign_sub"),
    Operator("BCEWithLogitsLoss(reduction='mean')(predict, target, weight=None, pos_weight=None)",
        "ops.binary_cross_entropy_with_logits(predict, target, weight, pos_weight, reduction)"),
    Operator("BartlettWindow(periodic=True, dtype=float32)(n)", "ops.bartlett_window(n, periodic, dtype=dtype)"),
    Operator("BatchMatMul(transpose_a=False, transpose_b=False)(x, y)",
        "call.matmul(call.matrix_transpose(x) if transpose_a else x, "
        "call.matrix_transpose(y) if transpose_b else y)", doc="""
    matrix products of batches, as `MatMul`.

    >>> ops.BatchMatMul()(ops.ones((2, 1, 3)), ops.ones((2, 3, 4))).shape
    (2, 1, 4)
    """),
    Operator("BatchToSpace(block_size, crops)(x)", "ops.batch_to_space_nd(x, (block_size, block_size), crops)"),
    Operator("BatchToSpaceND(block_shape, crops)(x)", "ops.batch_to_space_nd(x, block_shape, crops)"),
    Operator("BinaryCrossEntropy(reduction='mean')(logits, labels, weight=None)",
        "ops.binary_cross_entropy(logits, labels, weight, reduction)"),
    Operator("BlackmanWindow(periodic=True, dtype=float32)(n)", "ops.blackman_window(n, periodic, dtype=dtype)"),
    Operator("BoundingBoxDecode(max_shape, means=(0.0,) * 4, stds=(1.0,) * 4, wh_ratio_clip=0.016)(anchor, deltas)",
        "ops.bounding_box_decode(anchor, deltas, max_shape, means, stds, wh_ratio_clip)"),
    Operator("BoundingBoxEncode(means=(0.0,) * 4, stds=(1.0,) * 4)(anchor, truth)",
        "ops.bounding_box_encode(anchor, truth, means, stds)"),
    Operator("BroadcastTo(shape)(x)", "call.broadcast_to(x, shape)", doc="""
    the tensor broadcast to a shape; -1 keeps a size.

    >>> ops.BroadcastTo((2, 2))(Tensor([1, 2])).tolist()
    [[1, 2], [1, 2]]
    """),
    Operator("Bucketize(boundaries)(x)", "call.cast(ops.bucketize(x, boundaries, right=True), 'int32')",
        doc="the bucket (int32) of each element; a boundary is in the bucket after it."),
    Operator("CTCGreedyDecoder(merge_repeated=True)(inputs, sequence_length)",
        "ops.ctc_greedy_decoder(inputs, sequence_length, merge_repeated)"),
    Operator("CTCLossV2(blank=0, reduction='none', zero_infinity=False)"
        "(log_probs, targets, input_lengths, target_lengths)",
        "ops.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)"),
    Operator("Cast()(x, dtype)", "call.cast(x, dtype)", doc="""
    the same numbers in another dtype.

    >>> import autodiff_compiler as ms
    >>> ops.Cast()(Tensor([1.7]), ms.int32).tolist()
    [1]
    """),
    Operator("Cdist(p=2.0)(x, y)", "ops.cdist(x, y, p)"),
    Operator("CeLU(alpha=1.0)(x)",
        "call.celu(x, alpha)", doc="x where it is positive, else alpha * (exp(x / alpha) - 1)."),
    Operator("ChannelShuffle(group)(x)", "ops.channel_shuffle(x, group)"),
    Operator("CheckValid()(bboxes, img_metas)", "ops.check_valid(bboxes, img_metas)"),
    Operator("Cholesky(upper=False)(input_x)", "ops.cholesky(input_x, upper)"),
    Operator("CholeskyInverse(upper=False)(x)", "ops.cholesky_inverse(x, upper)"),
    Operator("CholeskySolve(upper=False)(x1, x2)", "ops.cholesky_solve(x1, x2, upper)"),
    Operator("Col2Im(kernel_size, dilation=1, padding=0, stride=1)(x, output_size)",
        "ops.col2im(x, output_size, kernel_size, dilation, padding, stride)"),
    Operator("Concat(axis=0)(tensors)", "call.concat(tensors, axis)", doc="""
    tensors joined along an existing dimension.

    >>> ops.Concat(1)((Tensor([[1, 2]]), Tensor([[3]]))).tolist()
    [[1, 2, 3]]
    """),
    Operator("CountNonZero(dims=None)(x)", "call.count_nonzero(x, all_if_none(dims), False, int64)",
        doc="how many elements over axes differ from 0 (int64)."),
    Operator("CropAndResize(method='bilinear', extrapolation_value=0.0)(x, boxes, index, size)",
        "ops.crop_and_resize(x, boxes, index, size, method, extrapolation_value)"),
    Operator("Cross(dim=-65530)(x1, x2)",
        "call.cross(x1, x2, None if dim == -65530 else dim)",
        doc="cross products along a dimension of size 3, by default the first one that has it."),
    Operator("CumProd(exclusive=False, reverse=False)(x, axis)",
        "call.cumprod(x, axis, reverse=reverse, exclusive=exclusive)", doc="the running product along an axis."),
    Operator("CumSum(exclusive=False, reverse=False)(x, axis)",
        "call.cumsum(x, axis, reverse=reverse, exclusive=exclusive)", doc="the running sum along an axis."),
    Operator("Cummax(axis)(x)", "ops.cummax(x, axis)"),
    Operator("Cummin(axis)(x)", "ops.cummin(x, axis)"),
    Operator("DType()", "ops.dtype"),
    Operator("Dense()(x, w, b=None)", "ops.dense(x, w, b)", doc="""
    x @ w.T + b, along the last dimension.

    >>> ops.Dense()(Tensor([1.0, 2.0]), Tensor([[3.0, 4.0]])).tolist()
    [11.0]
    """),
    Operator("Depend()", "ops.depend"),
    Operator("Diag()", "ops.diag"),
    Operator("DynamicShape(dtype='int64')(x)",
        "call.cast(ops.dyn_shape(x), dtype_of(dtype))", doc="the shape as a tensor."),
    Operator("Einsum(equation)(inputs)",
        "call.einsum(equation, *inputs)", doc="sums of products over named dimensions, as `ops.einsum`."),
    Operator("Elu(alpha=1.0)(x)", "call.elu(x, alpha)", doc="x where it is positive, else alpha * (exp(x) - 1)."),
    Operator("Eps()", "ops.eps"),
    Operator("EqualCount()(x, y)",
        "call.reshape(call.cast(call.sum(call.equal(x, y)), as_tensor(x).dtype), (1,))",
        doc="how many elements are equal, [1], in the dtype of x."),
    Operator("EuclideanNorm(keep_dims=False)(x, axes)", "call.vector_norm(x, 2, all_if_none(axes), keep_dims)",
        doc="the root of the sum of squares over axes."),
    Operator("Expand()(x, shape)", "call.expand(x, shape)",
        doc="the tensor broadcast to a shape, new dimensions first; -1 keeps a size."),
    Operator("ExpandDims()(x, axis)", "call.expand_dims(x, axis)", doc="""
    a new dimension of size 1 at `axis` of the result.

    >>> ops.ExpandDims()(Tensor([1, 2]), 0).shape
    (1, 2)
    """),
    Operator("Eye()(n, m, dtype)", "call.eye(n, m, dtype)", doc="an n x m matrix with ones on its main diagonal."),
    Operator("FillDiagonal(fill_value, wrap=False)(x)", "call.fill_diagonal(x, fill_value, wrap)",
        doc="x with one number on its diagonal."),
    Operator("FillV2()(shape, value)", "call.full(shape, value, as_tensor(value).dtype)",
        doc="a tensor whose elements all are `value`."),
    Operator("Flatten()", "ops.flatten"),
    Operator("FloatStatus()(x)",
        "call.reshape(call.cast(call.any(call.logical_not(call.isfinite(x))), float32), (1,))",
        doc="1 if any element is infinite or nan, else 0: float32 [1]."),
    Operator("GLU(axis=-1)(x)", "call.glu(x, axis)", doc="the first half of an axis times the sigmoid of the second."),
    Operator("Gather(batch_dims=0)(x, index, axis)", "call.gather(x, index, axis, batch_dims)", doc="""
    slices along an axis; the shape of `index` replaces the axis.

    >>> ops.Gather()(Tensor([[1, 2], [3, 4]]), Tensor([1]), 0).tolist()
    [[3, 4]]
    """),
    Operator("GatherV2()(x, index, axis)", "call.gather(x, index, axis, 0)",
        doc="slices along an axis; the shape of `index` replaces the axis."),
    Operator("GeLU()(x)", "call.gelu(x, 'tanh')", doc="the approximation of gelu by tanh."),
    Operator("Gelu()(x)", "call.gelu(x, 'tanh')", doc="the approximation of gelu by tanh."),
    Operator("Geqrf()", "ops.geqrf"),
    Operator("GridSampler2D(interpolation_mode='bilinear', padding_mode='zeros', align_corners=False)(input_x, grid)",
        "ops.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)",
        doc="x [N, C, H, W] sampled at coordinates; see `ops.grid_sample`."),
    Operator("GridSampler3D(interpolation_mode='bilinear', padding_mode='zeros', align_corners=False)(input_x, grid)",
        "ops.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)",
        doc="x [N, C, D, H, W] sampled at coordinates; see `ops.grid_sample`."),
    Operator("HShrink(lambd=0.5)(input_x)", "call.hardshrink(input_x, lambd)", doc="x, but 0 from -lambd to lambd."),
    Operator("HammingWindow(periodic=True, alpha=0.54, beta=0.46, dtype=float32)(n)",
        "ops.hamming_window(n, periodic, alpha, beta, dtype=dtype)"),
    Operator("Histogram(bins=100, min=0.0, max=0.0)(x)",
        "call.cast(ops.histc(x, bins, min, max), 'int32')", doc="how many numbers lie in each bin (int32)."),
    Operator("IOU(mode='iou')(anchor_boxes, gt_boxes)", "ops.iou(anchor_boxes, gt_boxes, mode)"),
    Operator("Identity()(x)", "call.mul(x, 1)", doc="a new tensor with the elements of x."),
    Operator("IdentityN()(tensors)", "tuple([call.mul(part, 1) for part in tensors])",
        doc="new tensors with the same elements, as a tuple."),
    Operator("InTopK(k)(x1, x2)", "ops.intopk(x1, x2, k)"),
    Operator("IndexAdd(axis, use_lock=True, check_index_bound=True)(x, i, y)", "call.index_add(x, i, y, axis)",
        doc="x with the slices of y added along an axis."),
    Operator("IndexPut(accumulate=0)(x1, x2, indices)", "call.index_put(x1, indices, x2, bool(accumulate))",
        doc="x1 with ``x1[indices]`` replaced by x2, or raised by it."),
    Operator("InplaceAdd(indices)(x, v)", "ops.inplace_add(x, v, indices)"),
    Operator("InplaceSub(indices)(x, v)", "ops.inplace_sub(x, v, indices)"),
    Operator("InplaceUpdate(indices)(x, v)", "ops.inplace_update(x, v, indices)"),
    Operator("InplaceUpdateV2()(x, indices, v)", "ops.inplace_update(x, v, indices)"),
    Operator("IsClose(rtol=1e-05, atol=1e-08, equal_nan=False)(x, y)",
        "call.isclose(x, y, rtol, atol, equal_nan)", doc="whether |x - y| <= atol + rtol * |y|."),
    Operator("KLDivLoss(reduction='mean')(logits, labels)", "ops.kl_div(logits, labels, reduction)"),
    Operator("L2Loss()(input_x)", "call.div(call.sum(call.square(input_x)), 2)", doc="""
    half the sum of squares of all elements.

    >>> ops.L2Loss()(Tensor([3.0, 4.0])).item()
    12.5
    """),
    Operator("L2Normalize(axis=0, epsilon=0.0001)(x)",
        "call.div(x, call.sqrt(call.maximum(call.sum(call.square(x), axis, keepdims=True), epsilon)))",
        doc="x / sqrt(max(sum of squares along axes, epsilon))."),
    Operator("LRN(depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region='ACROSS_CHANNELS')(x)",
        "ops.lrn(x, depth_radius, bias, alpha, beta, norm_region)"),
    Operator("LinSpace()(start, stop, num)", "call.linspace(start, stop, num)",
        doc="`num` numbers from start to stop, both included."),
    Operator("LogSoftmax(axis=-1)(logits)",
        "call.log_softmax(logits, axis)", doc="the logarithm of softmax along an axis, without overflow."),
    Operator("LogSoftmaxExt()(x, dim=-1)",
        "call.log_softmax(x, dim)", doc="the logarithm of softmax along a dimension."),
    Operator("LogSpace(steps=10, base=10, dtype=float32)(start, end)",
        "ops.logspace(start, end, steps, base, dtype=dtype)"),
    Operator("Logit(eps=-1.0)(x)",
        "call.logit(x, None if eps < 0 else eps)",
        doc="log(x / (1 - x)); with eps >= 0 elements are first clamped to eps ... 1 - eps."),
    Operator("LowerBound(out_type='int32')(x, values)", "call.cast(ops.searchsorted(x, values), out_type)",
        doc="how many elements of sorted rows are less than each value."),
    Operator("LpNorm(axis, p=2, keep_dims=False, epsilon=1e-12)(x)",
        "call.vector_norm(x, p, axis, keep_dims)", doc="the p-norm of the vectors along axes."),
    Operator("LuUnpack(unpack_data=True, unpack_pivots=True)(data, pivots)",
        "ops.lu_unpack(data, pivots, unpack_data, unpack_pivots)"),
    Operator("MaskedFill()(x, mask, value)", "call.masked_fill(x, mask, value)",
        doc="x with `value` where the mask holds."),
    Operator("MaskedScatter()(x, mask, updates)", "call.masked_scatter(x, mask, updates)",
        doc="x with the elements where the mask holds replaced, one after the other."),
    Operator("MatMul(transpose_a=False, transpose_b=False)(x, y)",
        "call.matmul(call.matrix_transpose(x) if transpose_a else x, "
        "call.matrix_transpose(y) if transpose_b else y)", doc="""
    the matrix product over the last two dimensions.

    With a flag the operand's last two dimensions are exchanged first; leading dimensions broadcast.

    >>> ops.MatMul(transpose_b=True)(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]])).tolist()
    [[11.0]]
    """),
    Operator("MatrixDiagPartV3(align='RIGHT_LEFT')(x, k, padding_value)",
        "ops.matrix_diag_part(x, k, padding_value, align)"),
    Operator("MatrixDiagV3(align='RIGHT_LEFT')(x, k, num_rows, num_cols, padding_value)",
        "ops.matrix_diag(x, k, num_rows, num_cols, padding_value, align)"),
    Operator("MatrixInverse(adjoint=False)(x)", "call.inverse(call.matrix_transpose(x) if adjoint else x)",
        doc="the inverse of square matrices, or of their transposes."),
    Operator("MatrixPower(n)(x)", "ops.matrix_power(x, n)"),
    Operator("MatrixSetDiagV3(align='RIGHT_LEFT')(x, diagonal, k)", "ops.matrix_set_diag(x, diagonal, k, align)"),
    Operator("MatrixSolve(adjoint=False)(matrix, rhs)", "ops.matrix_solve(matrix, rhs, adjoint)"),
    Operator("MatrixTriangularSolve(lower=True, adjoint=False)(matrix, rhs)",
        "call.triangular_solve(matrix, rhs, lower, adjoint)", doc="x with matrix @ x = rhs for one triangle."),
    Operator("Maximum()", "ops.maximum", doc="""
    the greater element of two tensors; nan if either is, at a tie the cotangent is halved.

    >>> ops.Maximum()(Tensor([1, 5]), Tensor([4, 2])).tolist()
    [4, 5]
    """),
    Operator("Meshgrid(indexing='xy')(inputs)", "ops.meshgrid(*inputs, indexing=indexing)"),
    Operator("Minimum()", "ops.minimum", doc="""
    the smaller element of two tensors; nan if either is, at a tie the cotangent is halved.

    >>> ops.Minimum()(Tensor([1, 5]), Tensor([4, 2])).tolist()
    [1, 2]
    """),
    Operator("MirrorPad(mode='REFLECT')(x, paddings)", "call.mirror_pad(x, paddings, mode)",
        doc="x mirrored by one pair of widths per dimension."),
    Operator("Mul()", "ops.mul", doc="""
    the product of two tensors, element by element; they broadcast.

    >>> ops.Mul()(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).tolist()
    [3.0, 8.0]
    """),
    Operator("MultiMarginLoss(p=1, margin=1.0, reduction='mean')(inputs, target, weight=None)",
        "ops.multi_margin_loss(inputs, target, p, margin, weight, reduction)"),
    Operator("Mvlgamma(p)(x)", "ops.mvlgamma(x, p)"),
    Operator("NanToNum(nan=None, posinf=None, neginf=None)(x)", "ops.nan_to_num(x, nan, posinf, neginf)"),
    Operator("NuclearNorm(dim=None, keepdim=False)(x)",
        "call.matrix_norm(x, 'nuc', (-2, -1) if dim is None else tuple(dim), keepdim)",
        doc="the sum of the singular values of matrices."),
    Operator("OneHot(axis=-1)(x, depth, on, off)", "ops.one_hot(x, depth, on, off, axis)", doc="""
    one-hot codes along a new dimension.

    >>> ops.OneHot()(Tensor([0, 2]), 3, 1.0, 0.0).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """),
    Operator("Ones()(shape, dtype)", "call.ones(shape, dtype)", doc="a tensor of ones."),
    Operator("OnesLike()(x)", "call.ones_like(x)", doc="ones of the shape and dtype of x."),
    Operator("Ormqr(left=True, transpose=False)(x, tau, other)", "ops.ormqr(x, tau, other, left, transpose)"),
    Operator("Pack(axis=0)(tensors)", "call.stack(tensors, axis)", doc="MindSpore's older name of `Stack`."),
    Operator("Padding(pad_dim_size=8)(x)", "ops.padding(x, pad_dim_size)"),
    Operator("ParallelConcat()(values)", "call.concat(values, 0)", doc="tensors joined along the first dimension."),
    Operator("Pdist(p=2.0)(x)", "ops.pdist(x, p)"),
    Operator("Polygamma()(a, x)", "ops.polygamma(a, x)"),
    Operator("Print()", "ops.print_"),
    Operator("Qr(full_matrices=False)(x)", "ops.qr(x, 'complete' if full_matrices else 'reduced')"),
    Operator("Range(maxlen=1000000)(start, end, step)", "ops.range(start, end, step, maxlen)"),
    Operator("Rank()", "ops.rank"),
    Operator("ReLU()", "call.relu", doc="""
    max(x, 0) for every element; its derivative at 0 is 0.

    >>> ops.ReLU()(Tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """),
    Operator("RealDiv()", "ops.true_divide", doc="""
    the true quotient of two tensors, which broadcast; integers become float32 first.

    >>> ops.RealDiv()(Tensor([1, 3]), 2).tolist()
    [0.5, 1.5]
    """),
    Operator("ReduceAll(keep_dims=False)(x, axis=())", "call.all(x, all_if_none(axis), keep_dims)",
        doc="whether all elements over axes are true."),
    Operator("ReduceAny(keep_dims=False)(x, axis=())", "call.any(x, all_if_none(axis), keep_dims)",
        doc="whether any element over axes is true."),
    Operator("ReduceMax(keep_dims=False)(x, axis=())", "call.max(x, all_if_none(axis), keep_dims)", doc="""
    the greatest element over axes; ties share the cotangent evenly.

    >>> ops.ReduceMax()(Tensor([[1, 5], [4, 2]]), 1).tolist()
    [5, 4]
    """),
    Operator("ReduceMean(keep_dims=False)(x, axis=())", "ops.mean(x, all_if_none(axis), keep_dims)", doc="""
    the mean over axes; that of integers is truncated.

    >>> ops.ReduceMean()(Tensor([[1.0, 3.0], [5.0, 7.0]]), 0).tolist()
    [3.0, 5.0]
    """),
    Operator("ReduceMin(keep_dims=False)(x, axis=())", "call.min(x, all_if_none(axis), keep_dims)",
        doc="the smallest element over axes; ties share the cotangent evenly."),
    Operator("ReduceStd(axis=(), unbiased=True, keep_dims=False)(x)",
        "(call.std(x, all_if_none(axis), int(unbiased), keep_dims), call.mean(x, all_if_none(axis), keep_dims))",
        doc="the standard deviation and the mean over axes."),
    Operator("Renorm(p, dim, maxnorm)(x)", "ops.renorm(x, p, dim, maxnorm)"),
    Operator("Reshape()(x, shape)", "call.reshape(x, shape)", doc="""
    the same elements in row-major order under another shape; one size may be -1.

    >>> ops.Reshape()(Tensor([[1, 2, 3], [4, 5, 6]]), (3, -1)).shape
    (3, 2)
    """),
    Operator("ReverseSequence(seq_dim, batch_dim=0)(x, lengths)",
        "call.reverse_sequence(x, lengths, seq_dim, batch_dim)",
        doc="the first `lengths[b]` elements in reverse order."),
    Operator("ReverseV2(axis)(x)", "call.flip(x, axis)", doc="the elements in reverse order along axes."),
    Operator("Rint()(input_x)",
        "call.round(input_x)", doc="the integer nearest to each element, halves to the even one, in the dtype of x."),
    Operator("RmsNorm(epsilon=1e-06)(x, gamma)", "ops.rms_norm(x, gamma, epsilon)"),
    Operator("Roll(shifts, dims=None)(x)", "call.roll(x, shifts, dims)",
        doc="the elements shifted cyclically along dimensions."),
    Operator("Round()(input_x, decimals=0)",
        "call.round(input_x, decimals)", doc="the nearest number with so many decimals, halves to the even one."),
    Operator("ScalarCast()", "ops.scalar_cast"),
    Operator("ScalarToArray()", "ops.scalar_to_array"),
    Operator("ScalarToTensor()", "ops.scalar_to_tensor"),
    Operator("ScatterAdd(use_locking=False)", "ops.scatter_add"),
    Operator("ScatterAddWithAxis(axis=0)(x, i, u)", "ops.tensor_scatter_elements(x, i, u, axis, 'add')"),
    Operator("ScatterDiv(use_locking=False)", "ops.scatter_div"),
    Operator("ScatterMax(use_locking=False)", "ops.scatter_max"),
    Operator("ScatterMin(use_locking=False)", "ops.scatter_min"),
    Operator("ScatterMul(use_locking=False)", "ops.scatter_mul"),
    Operator("ScatterNdAdd(use_locking=False)", "ops.scatter_nd_add"),
    Operator("ScatterNdDiv(use_locking=False)", "ops.scatter_nd_div"),
    Operator("ScatterNdMax(use_locking=False)", "ops.scatter_nd_max"),
    Operator("ScatterNdMin(use_locking=False)", "ops.scatter_nd_min"),
    Operator("ScatterNdMul(use_locking=False)", "ops.scatter_nd_mul"),
    Operator("ScatterNdSub(use_locking=False)", "ops.scatter_nd_sub"),
    Operator("ScatterNdUpdate(use_locking=True)", "ops.scatter_nd_update"),
    Operator("ScatterNonAliasingAdd()", "ops.scatter_nd_add"),
    Operator("ScatterUpdate(use_locking=True)", "ops.scatter_update"),
    Operator("SearchSorted(dtype='int64', right=False)(sequence, values)",
        "call.cast(ops.searchsorted(sequence, values, right=right), dtype)",
        doc="where values belong in ascending sequences."),
    Operator("Select()(condition, x, y)", "call.where(condition, x, y)", doc="""
    the elements of x where the condition holds, else those of y.

    >>> ops.Select()(Tensor([True, False]), Tensor([1, 2]), Tensor([3, 4])).tolist()
    [1, 4]
    """),
    Operator("Shape()", "ops.shape"),
    Operator("SigmoidCrossEntropyWithLogits()(logits, label)",
        "ops.binary_cross_entropy_with_logits(logits, label, None, None, 'none')",
        doc="binary cross entropy, element by element."),
    Operator("SmoothL1Loss(beta=1.0, reduction='none')(logits, labels)",
        "ops.smooth_l1_loss(logits, labels, beta, reduction)"),
    Operator("SoftMarginLoss(reduction='mean')(logits, labels)", "ops.soft_margin_loss(logits, labels, reduction)"),
    Operator("SoftShrink(lambd=0.5)(input_x)",
        "call.softshrink(input_x, lambd)", doc="x moved by lambd towards 0; 0 from -lambd to lambd."),
    Operator("Softmax(axis=-1)(logits)", "ops.softmax(logits, axis)", doc="""
    exp(x) divided by its sum along an axis, without overflow.

    >>> ops.Softmax()(Tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """),
    Operator("Sort(axis=-1, descending=False)(x)", "ops.sort(x, axis, descending)", doc="""
    the elements sorted along an axis, and their positions (int32).

    >>> [t.tolist() for t in ops.Sort()(Tensor([2, 1, 3]))]
    [[1, 2, 3], [1, 0, 2]]
    """),
    Operator("SpaceToBatch(block_size, paddings)(x)", "ops.space_to_batch_nd(x, (block_size, block_size), paddings)"),
    Operator("SpaceToBatchND(block_shape, paddings)(x)", "ops.space_to_batch_nd(x, block_shape, paddings)"),
    Operator("Square()", "call.square"),
    Operator("SquareSumAll()(x, y)",
        "(call.sum(call.square(x)), call.sum(call.square(y)))", doc="the sums of squares of two tensors, as a pair."),
    Operator("SquaredDifference()(x, y)", "call.square(call.sub(x, y))", doc="(x - y) ** 2, element by element."),
    Operator("Squeeze(axis=())(x)", "call.squeeze(x, None if axis == () else axis)", doc="""
    dimensions of size 1 removed, all of them by default.

    >>> ops.Squeeze(0)(Tensor([[1, 2]])).shape
    (2,)
    """),
    Operator("Stack(axis=0)(tensors)", "call.stack(tensors, axis)", doc="""
    tensors of one shape joined along a new dimension.

    >>> ops.Stack()((Tensor([1, 2]), Tensor([3, 4]))).tolist()
    [[1, 2], [3, 4]]
    """),
    Operator("StopGradient()", "ops.stop_gradient"),
    Operator("StridedSlice(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)(x, begin, "
        "end, strides)",
        "call.strided_slice(x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, "
        "shrink_axis_mask)", doc="""
    ``x[begin:end:strides]`` for the first dimensions.

    Bit i of a mask changes entry i: see `ops.strided_slice`.

    >>> ops.StridedSlice()(Tensor([1, 2, 3, 4]), (0,), (4,), (2,)).tolist()
    [1, 3]
    """),
    Operator("Sub()", "ops.sub", doc="""
    the difference of two tensors, which broadcast.

    >>> ops.Sub()(Tensor([5, 7]), 1).tolist()
    [4, 6]
    """),
    Operator("Svd(full_matrices=False, compute_uv=True)(x)", "ops.svd(x, full_matrices, compute_uv)",
        doc="s, u, v with x = u @ diag(s) @ v.T; s alone without `compute_uv`."),
    Operator("TensorScatterElements(axis=0, reduction='none')(x, i, u)",
        "ops.tensor_scatter_elements(x, i, u, axis, reduction)"),
    Operator("TensorShape()", "ops.dyn_shape"),
    Operator("Tile()(x, multiples)", "call.tile(x, multiples)", doc="the whole tensor repeated along its dimensions."),
    Operator("TopK(sorted=True)(x, k)", "ops.topk(x, k, sorted=sorted)", doc="""
    the k greatest elements along the last dimension, and their positions (int32).

    >>> [t.tolist() for t in ops.TopK()(Tensor([1.0, 4.0, 3.0]), 2)]
    [[4.0, 3.0], [1, 2]]
    """),
    Operator("Trace()", "call.trace"),
    Operator("Transpose()(x, order)", "call.transpose(x, order)", doc="""
    the dimensions in another order.

    >>> ops.Transpose()(ops.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """),
    Operator("TransposeExtView()(x, dim0, dim1)", "call.swapaxes(x, dim0, dim1)", doc="two dimensions exchanged."),
    Operator("TransposeView()(x, order)", "call.transpose(x, order)", doc="the dimensions in another order."),
    Operator("Tril(diagonal=0)(x)", "call.tril(x, diagonal)",
        doc="the elements of matrices on and below a diagonal, zeros above."),
    Operator("TrilIndices(row, col, offset=0, dtype='int32')()", "ops.tril_indices(row, col, offset, dtype=dtype)"),
    Operator("TripletMarginLoss(p=2, swap=False, eps=1e-06, reduction='mean')(x, positive, negative, margin)",
        "ops.triplet_margin_loss(x, positive, negative, margin, p, eps, swap, reduction)"),
    Operator("Triu(diagonal=0)(x)", "call.triu(x, diagonal)",
        doc="the elements of matrices on and above a diagonal, zeros below."),
    Operator("TriuIndices(row, col, offset=0, dtype='int32')()", "ops.triu_indices(row, col, offset, dtype=dtype)"),
    Operator("TruncateDiv()", "ops.truncate_div"),
    Operator("TupleToArray()", "ops.tuple_to_array"),
    Operator("Unique()", "ops.unique"),
    Operator("UniqueConsecutive(return_inverse=False, return_counts=False, dim=None)(x)",
        "ops.unique_consecutive(x, return_inverse, return_counts, dim)"),
    Operator("UniqueWithPad()", "ops.unique_with_pad"),
    Operator("Unpack(axis=0)(x)", "call.unbind(x, axis)",
        doc="the slices along a dimension, MindSpore's older `Unstack`."),
    Operator("UpperBound(out_type='int32')(x, values)",
        "call.cast(ops.searchsorted(x, values, right=True), out_type)",
        doc="how many elements of sorted rows are at most each value."),
    Operator("UpsampleNearest3D()(x, output_size=None, scales=None)",
        "ops.interpolate(x, output_size, None if scales is None else tuple(scales), 'nearest')"),
    Operator("UpsampleTrilinear3D(align_corners=False)(x, output_size=None, scales=None)",
        "ops.interpolate(x, output_size, None if scales is None else tuple(scales), 'trilinear', align_corners)"),
    Operator("Zeros()(shape, dtype)", "call.zeros(shape, dtype)", doc="a tensor of zeros."),
    Operator("ZerosLike()(x)", "call.zeros_like(x)", doc="zeros of the shape and dtype of x."),
)
