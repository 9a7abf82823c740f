"""Sums, extremes, norms and statistics over axes, and running ones along an axis."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("sum(input, dim=None, keepdim=False, *, dtype=None)", calls="call.sum(input, all_if_none(dim), dtype, keepdim)",
        mint="sum", doc="""
    Sum over dimensions (all by default); smaller integers and bools are summed as int64.

    >>> ops.sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0).tolist()
    [4.0, 6.0]
    """),
    Row("amax(input, axis=None, keepdims=False, *, initial=None, where=None)",
        calls="call.amax(input, all_if_none(axis), keepdims, initial=initial, where=where)", doc="""
    Greatest element over axes (all by default) where `where` holds, or `initial` if that is greater.

    Ties share the cotangent evenly.  ValueError for `where` without `initial`.
    """),
    Row("amin(input, axis=None, keepdims=False, *, initial=None, where=None)",
        calls="call.amin(input, all_if_none(axis), keepdims, initial=initial, where=where)", doc="""
    Smallest element over axes (all by default) where `where` holds, or `initial` if that is smaller.

    Ties share the cotangent evenly.  ValueError for `where` without `initial`.
    """),
    Row("reduce_mean(x, axis=())", calls="call.mean(x, all_if_none(axis))", doc="""
    Mean over axes, all for an empty tuple.

    >>> ops.reduce_mean(Tensor([[1.0, 3.0], [5.0, 7.0]]), 0).tolist()
    [3.0, 5.0]
    """),
    Row("reduce_max(x, axis=())", calls="call.max(x, all_if_none(axis))",
        doc="Greatest element over axes, all for an empty tuple; ties share the cotangent evenly."),
    Row("reduce_min(x, axis=())", calls="call.min(x, all_if_none(axis))",
        doc="Smallest element over axes, all for an empty tuple; ties share the cotangent evenly."),
    Row("all(input, axis=None, keep_dims=False)", calls="call.all(input, all_if_none(axis), keep_dims)",
        mint="all(input, dim=None, keepdim=False)",
        doc="Whether every element over the axes (all by default) holds; numbers hold where they are not zero."),
    Row("any(input, axis=None, keep_dims=False)", calls="call.any(input, all_if_none(axis), keep_dims)",
        mint="any(input, dim=None, keepdim=False)",
        doc="Whether any element over the axes (all by default) holds; numbers hold where they are not zero."),
    Row("argmax(input, dim=None, keepdim=False)", mint="argmax", doc="""
    Index (int64) of the greatest element along a dimension, of the flat tensor by default.

    >>> ops.argmax(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
    [1, 0]
    """),
    Row("argmin(input, axis=None, keepdims=False)",
        doc="Index (int32) of the smallest element along an axis, of the flat tensor by default."),
    Row("cumsum(x, axis: int, dtype=None)", doc="""
    Running sum along an axis; integers keep their dtype.

    >>> ops.cumsum(Tensor([1, 2, 3]), 0).tolist()
    [1, 3, 6]
    """),
    Row("cumprod(input, dim: int, dtype=None)", mint="cumprod",
        doc="Running product along a dimension; integers keep their dtype."),
    Row("cummax(input, axis: int) -> tuple[Tensor, Tensor]", doc="""
    The greatest element so far along an axis, and its index (int64): of several the last.

    >>> [t.tolist() for t in ops.cummax(Tensor([1, 3, 2, 3]), 0)]
    [[1, 3, 3, 3], [0, 1, 1, 3]]
    """),
    Row("cummin(input, axis: int) -> tuple[Tensor, Tensor]",
        doc="The smallest element so far along an axis, and its index (int64): of several the last."),
    Row("logcumsumexp(input, axis: int)",
        doc="Logarithm of the running sum of exp(input) along an axis, without overflow."),
    Row("diff(x, n=1, axis=-1, prepend=None, append=None)",
        mint="diff(input, n=1, dim=-1, prepend=None, append=None)", doc="""
    Differences of neighbours along an axis, n times; of bools whether they differ.

    `prepend` and `append` are Tensors that extend x along the axis first.
    """),
    Row("prod(input, axis=None, keep_dims=False, dtype=None)",
        calls="call.prod(input, all_if_none(axis), keep_dims, dtype)",
        mint="prod(input, dim=None, keepdim=False, *, dtype=None)", doc="""
    Product over axes (all by default); smaller integers and bools are multiplied as int64.

    >>> ops.prod(Tensor([1.0, 2.0, 4.0])).item()
    8.0
    """),
    Row("logsumexp(input, dim, keepdim=False)",
        calls="call.logsumexp(input, all_if_none(dim), keepdim)", mint="logsumexp", doc="""
    log(sum(exp(input))) over dimensions (all for an empty tuple), without overflow.

    >>> ops.logsumexp(Tensor([1000.0, 1000.0]), 0)
    Tensor(shape=[], dtype=Float32, value= 1000.69)
    """),
    Row("norm(A, ord=None, dim=None, keepdim=False, *, dtype=None)", doc="""
    Norm of the vectors in one dimension or of the matrices in two; by default the Euclidean norm of all numbers.

    Vectors have norms of every order, matrices "fro", "nuc", inf, -inf, 1, -1, 2, -2.  Where all numbers are 0 the
    derivative of a vector's norm is 0.

    >>> ops.norm(Tensor([3.0, -4.0])).item(), ops.norm(Tensor([3.0, -4.0]), 1).item()
    (5.0, 7.0)
    """),
    Row("vector_norm(x, ord=2, axis=None, keepdims=False, *, dtype=None)",
        calls="call.vector_norm(x, ord, axis, keepdims, dtype)",
        doc="Norm of the numbers over axes (all by default), of any order."),
    Row("matrix_norm(A, ord='fro', axis=(-2, -1), keepdims=False, *, dtype=None)",
        calls="call.matrix_norm(A, ord, axis, keepdims, dtype)",
        doc='Norm of matrices, which lie in two axes: "fro", "nuc", inf, -inf, 1, -1, 2, -2.'),
    Row("var(input, axis=None, ddof=0, keepdims=False)",
        calls="call.var(input, all_if_none(axis), ddof, keepdims)",
        mint="var(input, dim=None, *, correction=1, keepdim=False)", doc="""
    Mean squared deviation from the mean over axes (all by default), divided by the count less `ddof`.

    >>> ops.var(Tensor([1.0, 3.0])).item()
    1.0
    """),
    Row("std(input, axis=None, ddof=0, keepdims=False)", calls="call.std(input, all_if_none(axis), ddof, keepdims)",
        mint="std(input, dim=None, *, correction=1, keepdim=False)",
        doc="Square root of `var`; where all numbers are equal its derivative is 0."),
    Row("var_mean(input, axis=None, ddof=0, keepdims=False) -> tuple[Tensor, Tensor]",
        calls="call.var_mean(input, all_if_none(axis), ddof, keepdims)",
        mint="var_mean(input, dim=None, *, correction=1, keepdim=False)", doc="`var` and `mean` at once."),
    Row("std_mean(input, axis=None, ddof=0, keepdims=False) -> tuple[Tensor, Tensor]",
        calls="call.std_mean(input, all_if_none(axis), ddof, keepdims)",
        mint="std_mean(input, dim=None, *, correction=1, keepdim=False)", doc="`std` and `mean` at once."),
    Row("median(input, axis=-1, keepdims=False) -> tuple[Tensor, Tensor]", doc="""
    The median along an axis and its index (int64); of two middle elements the lower, nan if there is one.

    >>> [t.item() for t in ops.median(Tensor([4.0, 1.0, 3.0, 2.0]))]
    [2.0, 3]
    """),
    Row("nanmedian(input, axis=-1, keepdims=False) -> tuple[Tensor, Tensor]",
        doc="The `median` of the elements that are not nan, and its index."),
    Row("nansum(input, axis=None, keepdims=False, *, dtype=None)",
        calls="call.nansum(input, all_if_none(axis), keepdims, dtype=dtype)",
        mint="nansum(input, dim=None, keepdim=False, *, dtype=None)",
        doc="Sum over axes (all by default) of the elements that are not nan."),
    Row("nanmean(input, axis=None, keepdims=False, *, dtype=None)",
        calls="call.nanmean(input, all_if_none(axis), keepdims, dtype=dtype)",
        doc="Mean over axes (all by default) of the elements that are not nan; nan where there is none."),
    Row("count_nonzero(x, axis=(), keep_dims=False, dtype='int32')",
        calls="call.count_nonzero(x, all_if_none(axis), keep_dims, dtype)",
        doc="How many elements over axes (all for an empty tuple) differ from 0."),
    Row("cov(input, *, correction=1, fweights=None, aweights=None)",
        calls="call.cov(input, correction, fweights, aweights)", doc="""
    Covariances of the rows of a matrix, whose columns are observations; of a vector its variance.

    `fweights` says how often each observation was made, `aweights` how much it counts.

    >>> ops.cov(Tensor([[0.0, 2.0], [1.0, -1.0]])).tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """),
    Row("histc(input, bins=100, min=0.0, max=0.0)", mint="histc", doc="""
    How many numbers lie in each of `bins` equal parts of min ... max; by default from the smallest to the greatest.

    >>> ops.histc(Tensor([1.0, 2.0, 1.0]), 4, 0.0, 3.0).tolist()
    [0.0, 2.0, 1.0, 0.0]
    """),
    Row("trapz(y, x=None, *, dx=1.0, dim=-1)", calls="call.trapz(y, x, dx, dim)", doc="""
    The integral along a dimension by the trapezoidal rule, between points x or, without them, points `dx` apart.

    >>> ops.trapz(Tensor([1.0, 2.0, 4.0]), Tensor([0.0, 1.0, 3.0])).item()
    7.5
    """),
    Row("aminmax(input, *, axis: int | None = 0, keepdims=False) -> tuple[Tensor, Tensor]",
        calls="tuple(call.aminmax(input, axis=axis, keepdims=keepdims))",
        doc="Smallest and greatest element along an axis; ties share the cotangent evenly."),
)
