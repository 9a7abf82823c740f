"""Products, diagonals, systems of equations, decompositions and distances."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("mm(input, mat2)", mint="mm", doc="Product of two matrices; ShapeError for any other number of dimensions."),
    Row("mv(mat, vec)", mint="mv(input, vec)", doc="Product of a matrix and a vector."),
    Row("bmm(input_x, mat2)", mint="bmm(input, mat2)", doc="""
    Products of the matrices of two batches of equal size; ShapeError for others.

    >>> ops.bmm(Tensor([[[1.0, 2.0]]]), Tensor([[[3.0], [4.0]]])).tolist()
    [[[11.0]]]
    """),
    Row("inner(input, other)", doc="Sum of products over the last dimensions of both; a number scales."),
    Row("outer(input, vec2)", op="Ger", also="ger", mint="outer", doc="""
    Products of every element of `input` and every element of `vec2`: a matrix.

    >>> ops.outer(Tensor([1, 2]), Tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """),
    Row("vecdot(x, y, *, axis=-1)", calls="call.vecdot(x, y, axis)",
        doc="Sum over an axis of the products of two tensors, which broadcast."),
    Row("cross(input, other, dim: int | None = None)", mint="cross",
        doc="Cross product along a dimension of size 3, by default the first one that has it."),
    Row("kron(input, other)", doc="""
    Kronecker product: every element of `input` times `other`, as blocks.

    >>> ops.kron(Tensor([1, 2]), Tensor([1, 10])).tolist()
    [1, 10, 2, 20]
    """),
    Row("tensordot(a, b, axes=2)",
        doc="Sum of products over pairs of dimensions: a number of them, or two lists that are paired in order."),
    Row("tensor_dot(x1, x2, axes)", calls="call.tensordot(x1, x2, axes)", doc="MindSpore's name of `tensordot`."),
    Row("einsum(equation: str, *operands)", also="einsum_ext", mint="einsum", doc="""
    Sum of products over named dimensions, as `numpy.einsum`; the order of the products is chosen by cost.

    ValueError for an equation that does not fit the operands, ShapeError for sizes that do not.

    >>> ops.einsum("ij,j->i", Tensor([[1, 2], [3, 4]]), Tensor([1, 10])).tolist()
    [21, 43]
    """),
    Row("addmm(input, mat1, mat2, *, beta=1, alpha=1)", mint="addmm", doc="beta * input + alpha * (mat1 @ mat2)."),
    Row("addmv(input, mat, vec, *, beta=1, alpha=1)", mint="addmv", doc="beta * input + alpha * (mat @ vec)."),
    Row("addr(x, vec1, vec2, *, beta=1, alpha=1)", doc="beta * x + alpha * outer(vec1, vec2)."),
    Row("diagflat(input, offset=0)", doc="All elements of `input` on a diagonal of a matrix of zeros."),
    Row("diag_embed(input, offset=0, dim1=-2, dim2=-1)",
        doc="Matrices of zeros, in two new dimensions, with the last dimension of `input` on a diagonal."),
    Row("diagonal(input, offset=0, dim1=0, dim2=1)",
        doc="A diagonal of two dimensions, as the last dimension of the result."),
    Row("diagonal_scatter(input, src, offset=0, dim1=0, dim2=1)", doc="""
    The tensor with a diagonal of two dimensions replaced by `src`, which has the shape of that diagonal.

    >>> ops.diagonal_scatter(Tensor([[1, 2], [3, 4]]), Tensor([8, 9])).tolist()
    [[8, 2], [3, 9]]
    """),
    Row("solve(a, b)",
        doc="x with a @ x = b; a vector b is one right side, batches broadcast.  LinAlgError if a is singular."),
    Row("triangular_solve(a, b, lower=False, transpose=False, unit=False)",
        doc="x with a @ x = b for one triangle of a, the upper by default; with `unit` its diagonal counts as ones."),
    Row("lstsq(input, A)", doc="The x of least norm among those of least |input @ x - A|, by singular values."),
    Row("inverse(input)", mint="inverse", doc="The inverse of square matrices; LinAlgError if one is singular."),
    Row("pinv(x, *, atol: float | None = None, rtol: float | None = None, hermitian=False)", doc="""
    The Moore-Penrose inverse; singular values up to max(atol, rtol * the greatest) count as zeros.

    `rtol` is the greater size times the rounding of the dtype, or 0 where `atol` is given.
    """),
    Row("matrix_power(input, n: int)",
        doc="A square matrix times itself, n times; of its inverse for negative n, the identity for 0."),
    Row("expm(input)", op="MatrixExp", also="matrix_exp", doc="The matrix exponential of square matrices."),
    Row("det(input)", op="MatrixDeterminant", also="matrix_determinant",
        doc="Determinants of square matrices; the derivative is defined where they are singular too, its own is not."),
    Row("slogdet(input) -> tuple[Tensor, Tensor]", op="LogMatrixDeterminant", also="log_matrix_determinant",
        doc="Signs of determinants and logarithms of their absolute values."),
    Row("logdet(input)", doc="Logarithms of determinants: nan where one is negative, -inf where it is 0."),
    Row("cholesky(input_x, upper=False)", doc="""
    Lower triangular L with L @ L.T = input_x, or L.T if `upper`; LinAlgError if it is not positive definite.

    Only the symmetric part of `input_x` counts, and so the gradient is symmetric.
    """),
    Row("cholesky_solve(input, input2, upper=False)",
        doc="x with a @ x = input, from the Cholesky factor `input2` of a."),
    Row("cholesky_inverse(input_x, upper=False)", doc="The inverse of a, from its Cholesky factor."),
    Row("eigh(x) -> tuple[Tensor, Tensor]", doc="""
    Eigenvalues in ascending order and eigenvectors, in columns, of the symmetric part of x.

    The gradient of eigenvectors, and the second derivative of eigenvalues, is inf or nan where eigenvalues coincide.
    """),
    Row("eigvalsh(x)", doc="Eigenvalues of the symmetric part of x, in ascending order."),
    Row("svd(input, full_matrices=False, compute_uv=True)",
        calls="call.decomposed(input, full_matrices, compute_uv)", doc="""
    s, u, v with input = u @ diag(s) @ v.T, in MindSpore's order; s alone without `compute_uv`.

    The gradient of singular vectors is inf or nan where singular values coincide; the vectors that only full matrices
    have carry none (NotDifferentiableError).
    """),
    Row("svdvals(input)", doc="Singular values in descending order."),
    Row("lu_solve(b, LU_data, LU_pivots)", op="LuSolve", doc="""
    x with a @ x = b, from a's LU decomposition: both triangles in one matrix, and row exchanges counted from 1.

    IndexError: a pivot that is no row.  A singular a gives inf or nan.
    """),
    Row("orgqr(input, input2)", op="Orgqr",
        doc="The first columns of q, as many as `input` has, from what `geqrf` packed: reflections and their factors."),
    Row("ormqr(input, tau, other, left=True, transpose=False)",
        doc="q @ other (q.T with `transpose`, or other @ q unless `left`), from what `geqrf` packed."),
    Row("eigvals(A)",
        doc="Refused with UnsupportedCallError: eigenvalues of a general matrix are complex; see `eigvalsh`."),
    Row("matrix_diag(x, k=0, num_rows=-1, num_cols=-1, padding_value=0, align='RIGHT_LEFT')", doc="""
    Matrices with the given diagonals k, or k[0] to k[1], and `padding_value` elsewhere.

    Several diagonals are rows of x, the uppermost first; shorter ones lie in them as `align` says.  By default the
    matrices are the smallest square ones.

    >>> ops.matrix_diag(Tensor([1, 2]), 1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """),
    Row("matrix_diag_part(x, k, padding_value, align='RIGHT_LEFT')", doc="""
    The diagonals k, or k[0] to k[1], of matrices; several as rows of one length, filled up with `padding_value`.

    >>> ops.matrix_diag_part(Tensor([[1, 2], [3, 4]]), (0, 1), 9).tolist()
    [[9, 2], [1, 4]]
    """),
    Row("matrix_set_diag(x, diagonal, k=0, align='RIGHT_LEFT')", doc="""
    Matrices with other numbers in the diagonals k, or k[0] to k[1].

    >>> ops.matrix_set_diag(Tensor([[1, 2], [3, 4]]), Tensor([7, 8])).tolist()
    [[7, 2], [3, 8]]
    """),
    Row("matrix_band_part(x, lower: int, upper: int)", op="MatrixBandPart", doc="""
    Zeros but for so many diagonals below and above the main one; a negative number keeps all on its side.

    >>> ops.matrix_band_part(Tensor([[1, 2], [3, 4]]), 0, -1).tolist()
    [[1, 2], [0, 4]]
    """),
    Row("block_diag(*inputs)", doc="""
    Matrices, vectors as rows and numbers, one after the other along the diagonal of a matrix of zeros.

    >>> ops.block_diag(Tensor([[1], [2]]), Tensor([3, 4])).tolist()
    [[1, 0, 0], [2, 0, 0], [0, 3, 4]]
    """),
    Row("cond(A, p=None)", doc="""
    Condition numbers of matrices: the norm of order p times that of the inverse, by default the 2-norm.

    >>> ops.cond(Tensor([[2.0, 0.0], [0.0, -8.0]]), 1).item()
    4.0
    """),
    Row("vander(x, N: int | None = None)", doc="""
    The powers N - 1, ..., 1, 0 of a vector as columns; by default as many as it has elements.

    >>> ops.vander(Tensor([1, 2, 3])).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """),
    Row("cdist(x1, x2, p=2.0)", doc="""
    Distances [..., n, m] of order p between the points x1 [..., n, d] and x2 [..., m, d]; p is from 0 to inf.

    >>> ops.cdist(Tensor([[0.0, 0.0]]), Tensor([[3.0, 4.0], [1.0, 0.0]])).tolist()
    [[5.0, 1.0]]
    """),
    Row("pdist(input, p=2.0)", doc="""
    Distances of order p between the points i < j of [..., n, d], in the order (0, 1), (0, 2), ..., (1, 2), ...

    >>> ops.pdist(Tensor([[0.0], [1.0], [3.0]])).tolist()
    [1.0, 3.0, 2.0]
    """),
    Row("dist(input, other, p: float = 2)", doc="""
    The norm of order p of all differences.

    >>> ops.dist(Tensor([3.0, 4.0]), Tensor([0.0, 0.0])).item()
    5.0
    """),
    Row("renorm(input, p: float, axis: int, maxnorm: float)", doc="""
    Slices along an axis whose norm of order p exceeds `maxnorm` scaled down to it.

    >>> ops.renorm(Tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 2.5).tolist()
    [[1.5, 2.0], [0.0, 1.0]]
    """),
)
