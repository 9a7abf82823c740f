"""`mindspore.numpy`: the functions that only convert their operands and call a primitive.

Operands are converted by `numpy.operands`: `operand` takes numbers and lists, too, `given_tensor` Tensors only,
`together` promotes to one dtype, `angle` and `floating` to floats; `converted` casts the result where a dtype is asked
for.  Examples know `np`.
"""

from __future__ import annotations

from .row import Row, names_of

__all__ = ["ROWS"]

# fmt: off
_ARITHMETIC = (
    Row("add(x1, x2, dtype=None)", """
    Sums, element by element.

    >>> np.add(np.array([1, 2]), 0.5).tolist()
    [1.5, 2.5]
    """, "converted(call.add(*operands(x1, x2)), dtype)"),
    Row("subtract(x1, x2, dtype=None)", "Differences, element by element.",
        "converted(call.sub(*operands(x1, x2)), dtype)"),
    Row("multiply(x1, x2, dtype=None)", "Products, element by element; of bools whether both hold.",
        "converted(call.mul(*operands(x1, x2)), dtype)"),
    Row("divide(x1, x2, dtype=None)", """
    Quotients, element by element; integers become float32 first.

    >>> np.divide(np.array([1, 3]), 2).tolist()
    [0.5, 1.5]
    """, "converted(call.div(*operands(x1, x2)), dtype)", also="true_divide"),
    Row("floor_divide(x1, x2, dtype=None)", "The greatest whole number not above the quotient.",
        "converted(call.floordiv(*operands(x1, x2)), dtype)"),
    Row("remainder(x1, x2, dtype=None)", "What a floor division leaves; it has the sign of the divisor.",
        "converted(call.mod(*operands(x1, x2)), dtype)", also="mod"),
    Row("fmod(x1, x2, dtype=None)", "What a division cut off towards 0 leaves; it has the sign of the dividend.",
        "converted(call.fmod(*operands(x1, x2)), dtype)"),
    Row("power(x1, x2, dtype=None)", """
    The first operand to the power of the second; integers keep their dtype.

    >>> np.power(np.array([2, 3]), 2).tolist()
    [4, 9]
    """, "converted(call.pow(*operands(x1, x2)), dtype)"),
    Row("gcd(x1, x2, dtype=None)", "Greatest common divisors of whole numbers.",
        "converted(call.gcd(*operands(x1, x2)), dtype)"),
    Row("lcm(x1, x2, dtype=None)", "Least common multiples of whole numbers.",
        "converted(call.lcm(*operands(x1, x2)), dtype)"),
    Row("hypot(x1, x2, dtype=None)", "Lengths of the hypotenuses over two legs.",
        "converted(call.hypot(*operands(x1, x2)), dtype)"),
    Row("negative(a, dtype=None)", "The elements with the other sign.", "converted(call.neg(operand(a, 'a')), dtype)"),
    Row("exp(x, dtype=None)", "e to the power of the elements.", "converted(call.exp(operand(x)), dtype)"),
    Row("expm1(x, dtype=None)", "``exp(x) - 1``, accurate near 0.", "converted(call.expm1(operand(x)), dtype)"),
    Row("log(x, dtype=None)", "Natural logarithms.", "converted(call.log(operand(x)), dtype)"),
    Row("log2(x, dtype=None)", "Logarithms to the base 2.", "converted(call.log2(operand(x)), dtype)"),
    Row("log10(x, dtype=None)", "Logarithms to the base 10.", "converted(call.log10(operand(x)), dtype)"),
    Row("log1p(x, dtype=None)", "``log(1 + x)``, accurate near 0.", "converted(call.log1p(operand(x)), dtype)"),
    Row("logaddexp(x1, x2, dtype=None)", "``log(exp(x1) + exp(x2))`` without overflow.",
        "converted(call.logaddexp(*operands(x1, x2)), dtype)"),
    Row("logaddexp2(x1, x2, dtype=None)", "``log2(2**x1 + 2**x2)`` without overflow.",
        "converted(call.logaddexp2(*operands(x1, x2)), dtype)"),
    Row("sqrt(x, dtype=None)", "Square roots, nan for negative elements.", "converted(call.sqrt(operand(x)), dtype)"),
    Row("square(x, dtype=None)", "The elements times themselves.", "converted(call.square(operand(x)), dtype)"),
    Row("floor(x, dtype=None)", "The greatest whole numbers not above the elements.",
        "converted(call.floor(operand(x)), dtype)"),
    Row("rint(x, dtype=None)", "The nearest whole numbers; halves go to the even one.",
        "converted(call.round(operand(x)), dtype)"),
)

_ANGLES = (
    Row("sin(x, dtype=None)", "Sines of angles in radians.", "converted(call.sin(angle(x)), dtype)"),
    Row("cos(x, dtype=None)", "Cosines of angles in radians.", "converted(call.cos(angle(x)), dtype)"),
    Row("tan(x, dtype=None)", "Tangents of angles in radians.", "converted(call.tan(angle(x)), dtype)"),
    Row("sinh(x, dtype=None)", "Hyperbolic sines.", "converted(call.sinh(angle(x)), dtype)"),
    Row("cosh(x, dtype=None)", "Hyperbolic cosines.", "converted(call.cosh(angle(x)), dtype)"),
    Row("tanh(x, dtype=None)", "Hyperbolic tangents.", "converted(call.tanh(angle(x)), dtype)"),
    Row("arcsin(x, dtype=None)", "Angles of given sines, nan beyond -1 ... 1.",
        "converted(call.asin(angle(x)), dtype)"),
    Row("arccos(input, dtype=None)", "Angles of given cosines, nan beyond -1 ... 1.",
        "converted(call.acos(angle(input, 'input')), dtype)"),
    Row("arctan(x, dtype=None)", "Angles of given tangents.", "converted(call.atan(angle(x)), dtype)"),
    Row("arctan2(x1, x2, dtype=None)", "Angles of the points (x2, x1), from -pi to pi.",
        "converted(call.atan2(angle(x1, 'x1'), angle(x2, 'x2')), dtype)"),
    Row("arcsinh(x, dtype=None)", "Inverse hyperbolic sines.", "converted(call.asinh(angle(x)), dtype)"),
    Row("arccosh(x, dtype=None)", "Inverse hyperbolic cosines, nan below 1.",
        "converted(call.acosh(angle(x)), dtype)"),
    Row("arctanh(x, dtype=None)", "Inverse hyperbolic tangents, nan beyond -1 ... 1.",
        "converted(call.atanh(angle(x)), dtype)"),
    Row("deg2rad(x, dtype=None)", """
    Degrees as radians.

    >>> print(np.deg2rad(np.array([180.0])))
    [3.1415927]
    """, "converted(call.deg2rad(floating(x)), dtype)"),
    Row("radians(x, dtype=None)", "Degrees as radians.", "converted(call.deg2rad(floating(x)), dtype)"),
    Row("rad2deg(x, dtype=None)", "Radians as degrees.", "converted(call.rad2deg(floating(x)), dtype)"),
)

_LOGIC = (
    Row("equal(x1, x2, dtype=None)", "Whether the elements are equal.",
        "converted(call.equal(*operands(x1, x2)), dtype)"),
    Row("not_equal(x1, x2, dtype=None)", "Whether the elements differ.",
        "converted(call.not_equal(*operands(x1, x2)), dtype)"),
    Row("less(x1, x2, dtype=None)", "Whether those of `x1` are less.",
        "converted(call.less(*operands(x1, x2)), dtype)"),
    Row("less_equal(x1, x2, dtype=None)", "Whether those of `x1` are not greater.",
        "converted(call.less_equal(*operands(x1, x2)), dtype)"),
    Row("greater(x1, x2, dtype=None)", "Whether those of `x1` are greater.",
        "converted(call.greater(*operands(x1, x2)), dtype)"),
    Row("greater_equal(x1, x2, dtype=None)", "Whether those of `x1` are not less.",
        "converted(call.greater_equal(*operands(x1, x2)), dtype)"),
    Row("logical_and(x1, x2, dtype=None)", "Whether both differ from 0.",
        "converted(call.logical_and(*operands(x1, x2)), dtype)"),
    Row("logical_or(x1, x2, dtype=None)", "Whether one of both differs from 0.",
        "converted(call.logical_or(*operands(x1, x2)), dtype)"),
    Row("logical_xor(x1, x2, dtype=None)", "Whether exactly one of both differs from 0.",
        "converted(call.logical_xor(*operands(x1, x2)), dtype)"),
    Row("logical_not(a, dtype=None)", "Whether the elements are 0.",
        "converted(call.logical_not(operand(a, 'a')), dtype)"),
    Row("bitwise_and(x1, x2, dtype=None)", "The bits that both have; of whole numbers and bools.",
        "converted(call.bitwise_and(*operands(x1, x2)), dtype)"),
    Row("bitwise_or(x1, x2, dtype=None)", "The bits that one of both has; of whole numbers and bools.",
        "converted(call.bitwise_or(*operands(x1, x2)), dtype)"),
    Row("bitwise_xor(x1, x2, dtype=None)", "The bits that exactly one of both has; of whole numbers and bools.",
        "converted(call.bitwise_xor(*operands(x1, x2)), dtype)"),
    Row("invert(x, dtype=None)", """
    The bits that are not set; of integers and bools.

    >>> np.invert(np.array([0, 5])).tolist()
    [-1, -6]
    """, "converted(call.invert(operand(x)), dtype)", also="bitwise_not"),
    Row("isfinite(x, dtype=None)", "Which elements are neither infinite nor nan.",
        "converted(call.isfinite(operand(x)), dtype)"),
    Row("isinf(x, dtype=None)", "Which elements are infinite.", "converted(call.isinf(operand(x)), dtype)"),
    Row("isnan(x, dtype=None)", "Which elements are nan.", "converted(call.isnan(operand(x)), dtype)"),
)

_ARRAYS = (
    Row("dot(a, b)", """
    Sums of products over the last axis of `a` and the last but one of `b` (of a vector its only one).

    >>> np.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])).item()
    11.0
    """, "call.dot(*together(a, b))"),
    Row("inner(a, b)", "Sums of products over the last axes; of single numbers products.",
        "call.inner(*together(a, b))"),
    Row("tensordot(a, b, axes=2)", """
    Sums of products over axes: the last ones of `a` and first ones of `b`, or two sequences of them.

    >>> np.tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 2)), ((1, 2), (1, 0))).shape
    (2, 2)
    """, "call.tensordot(*together(a, b), axes)"),
    Row("matmul(x1, x2, dtype=None)", """
    Matrix products; axes before the last two are broadcast.

    >>> np.matmul(np.ones((5, 2, 3)), np.ones((3, 4))).shape
    (5, 2, 4)
    """, "converted(call.matmul(*together(x1, x2)), dtype)"),
    Row("kron(a, b)", "The Kronecker product: every element of `a` times all of `b`.", "call.kron(*together(a, b))"),
    Row("trace(a, offset=0, axis1=0, axis2=1, dtype=None)",
        "The sum along a diagonal of two axes; integers are summed as int64.",
        "converted(call.trace(given_tensor(a, 'a'), offset, axis1, axis2), dtype)"),
    Row("diagflat(v, k=0)", "The matrix with all elements of an array on its k-th diagonal.",
        "call.diagflat(given_tensor(v, 'v'), k)"),
    Row("diagonal(a, offset=0, axis1=0, axis2=1)", "A diagonal of two axes, in a new last one.",
        "call.diagonal(given_tensor(a, 'a'), offset, axis1, axis2)"),
    Row("ptp(x, axis=None, keepdims=False)", "The greatest less the least element over axes.",
        "call.ptp(given_tensor(x), axis, keepdims)"),
    Row("std(x, axis=None, ddof=0, keepdims=False)", "The square root of `var`.",
        "call.std(operand(x), axis, ddof, keepdims)"),
    Row("var(x, axis=None, ddof=0, keepdims=False)", """
    Mean squared deviations from the mean over axes, divided by the count less `ddof`.

    >>> np.var(np.array([1.0, 2.0, 3.0]), ddof=1).item()
    1.0
    """, "call.var(operand(x), axis, ddof, keepdims)"),
    Row("count_nonzero(x, axis=None, keepdims=False)", "How many elements (int32) over axes differ from 0.",
        "call.count_nonzero(operand(x), axis, keepdims, int32)"),
    Row("argwhere(a)", """
    The indices (int64) of the nonzero elements, one in each row.

    >>> np.argwhere(np.array([0, 3, 5])).tolist()
    [[1], [2]]
    """, "call.argwhere(operand(a, 'a'))"),
    Row("transpose(a, axes=None)", """
    The axes in another order, by default reversed.

    >>> np.transpose(np.ones((1, 2, 3))).shape
    (3, 2, 1)
    """, "call.transpose(given_tensor(a, 'a'), axes)"),
    Row("swapaxes(x, axis1: int, axis2: int)", "Two axes exchanged.", "call.swapaxes(given_tensor(x), axis1, axis2)"),
    Row("moveaxis(a, source, destination)", """
    Axes moved to other positions; the others stay in order.

    >>> np.moveaxis(np.zeros((3, 4, 5)), 0, -1).shape
    (4, 5, 3)
    """, "call.moveaxis(given_tensor(a, 'a'), source, destination)"),
    Row("squeeze(a, axis=None)", "Without axes of size 1: all of them, or those given.",
        "call.squeeze(given_tensor(a, 'a'), axis)"),
    Row("reshape(x, new_shape)", "The elements in row-major order under another shape, of which one size may be -1.",
        "call.reshape(given_tensor(x), new_shape)"),
    Row("ravel(x)", "The elements in row-major order, in one dimension.", "call.reshape(given_tensor(x), (-1,))"),
    Row("repeat(a, repeats, axis: int | None = None)", """
    Every element along an axis (of the flat array by default) repeated: a number of times, or one for each.

    >>> np.repeat(np.array([1, 2]), [1, 2]).tolist()
    [1, 2, 2]
    """, "call.repeat_interleave(operand(a, 'a'), repeats, axis)"),
    Row("copy(a)", "A new Tensor with the same elements.", "call.clone(operand(a, 'a'))"),
)

#: The rows by each of their names.
ROWS = {name: row for row in (*_ARITHMETIC, *_ANGLES, *_LOGIC, *_ARRAYS) for name in names_of(row)}
