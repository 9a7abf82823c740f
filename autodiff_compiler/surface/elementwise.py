"""Arithmetic, comparison, elementary functions, rounding and bounds: element by element."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("abs(input)", op="Abs", also="absolute", mint="abs absolute"),
    Row("neg(input)", op="Neg", also="negative", mint="neg negative"),
    Row("sign(input)", op="Sign", mint="sign"),
    Row("exp(input)", op="Exp", also="tensor_exp", mint="exp"),
    Row("log(input)", op="Log", mint="log"),
    Row("sqrt(x)", op="Sqrt", mint="sqrt(input)"),
    Row("sin(input)", op="Sin", mint="sin"),
    Row("cos(input)", op="Cos", mint="cos"),
    Row("tanh(input)", op="Tanh", mint="tanh"),
    Row("sigmoid(input)", op="Sigmoid", mint="sigmoid"),
    Row("logical_not(input)", op="LogicalNot", mint="logical_not"),
    Row("add(input, other)", op="TensorAdd", also="tensor_add"),
    Row("mul(input, other)", also="multiply tensor_mul tensor_muls", mint="mul"),
    Row("sub(input, other)", also="tensor_sub"),
    Row("floor_div(x, y)", op="FloorDiv", calls="call.floordiv(x, y)"),
    Row("floor_divide(input, other)", calls="call.floordiv(input, other)", also="tensor_floordiv floordiv",
        mint="floor_divide"),
    Row("floor_mod(x, y)", calls="call.mod(x, y)", also="tensor_mod"),
    Row("remainder(input, other)", calls="call.mod(input, other)", mint="remainder"),
    Row("maximum(input, other)", mint="maximum"),
    Row("minimum(input, other)", mint="minimum"),
    Row("matmul(input, other)", mint="matmul"),
    Row("equal(input, other)", op="Equal", also="eq", mint="eq equal"),
    Row("not_equal(input, other)", op="NotEqual", also="ne", mint="ne not_equal"),
    Row("less(input, other)", op="Less", also="lt tensor_lt", mint="less lt"),
    Row("less_equal(input, other)", op="LessEqual", also="le tensor_le", mint="le less_equal"),
    Row("greater(input, other)", op="Greater", also="gt tensor_gt", mint="greater gt"),
    Row("greater_equal(input, other)", op="GreaterEqual", also="ge tensor_ge", mint="greater_equal ge"),
    Row("logical_and(input, other)", op="LogicalAnd", mint="logical_and"),
    Row("logical_or(input, other)", op="LogicalOr", mint="logical_or"),
    Row("logical_xor(input, other)", op="LogicalXor", mint="logical_xor"),
    Row("bitwise_and(input, other)", op="BitwiseAnd", mint="bitwise_and"),
    Row("bitwise_or(input, other)", op="BitwiseOr", mint="bitwise_or"),
    Row("bitwise_xor(input, other)", op="BitwiseXor", mint="bitwise_xor"),
    Row("true_divide(dividend, divisor)", op="Div", calls="call.div(dividend, divisor)",
        doc="True quotient; integers become float32 first."),
    Row("pow(input, exponent)", op="Pow", also="tensor_pow pows", mint="pow", doc="""
    `input` to the power of `exponent`, element by element.

    >>> ops.pow(Tensor([1.0, 2.0, 3.0]), 2).tolist()
    [1.0, 4.0, 9.0]
    """),
    Row("square(input)", calls="call.mul(input, input)", mint="square", doc="""
    The square of every element.

    >>> ops.square(Tensor([2.0, -3.0])).tolist()
    [4.0, 9.0]
    """),
    Row("clip_by_value(x, clip_value_min=None, clip_value_max=None)", doc="""
    Elements below the lower bound and above the upper one replaced by it; at a bound the cotangent is halved.

    Several tensors in a tuple or list are clipped one by one.

    >>> [t.tolist() for t in ops.clip_by_value((Tensor([3.0]), Tensor([-2.0])), -1.0, 1.0)]
    [[1.0], [-1.0]]
    """),
    Row("where(condition, input, other)", doc="""
    The elements of `input` where the condition holds, else those of `other`; both sides are computed.

    >>> ops.where(Tensor([True, False]), Tensor([1.0, 2.0]), 0.0).tolist()
    [1.0, 0.0]
    """),
    Row("select(condition, input, other)", calls="call.where(condition, input, other)",
        doc="MindSpore's older name of `where`."),
    Row("masked_fill(input_x, mask, value)", doc="""
    `input_x` with `value` where the mask holds.

    >>> ops.masked_fill(Tensor([1.0, 2.0]), Tensor([True, False]), 9.0).tolist()
    [9.0, 2.0]
    """),
    Row("cast(input, dtype)",
        doc="The same numbers in another dtype; a cast of a float to an integer or bool ends its derivative."),
    Row("expm1(input)", op="Expm1", also="tensor_expm1", mint="expm1"),
    Row("exp2(input)", mint="exp2"),
    Row("log1p(input)", op="Log1p", mint="log1p"),
    Row("log2(input)", mint="log2"),
    Row("log10(input)", mint="log10"),
    Row("reciprocal(input)", op="Reciprocal", mint="reciprocal"),
    Row("rsqrt(input)", op="Rsqrt", mint="rsqrt"),
    Row("cbrt(input)"),
    Row("tan(input)", op="Tan", mint="tan"),
    Row("sinh(input)", op="Sinh", mint="sinh"),
    Row("cosh(input)", op="Cosh", mint="cosh"),
    Row("asin(input)", op="Asin", mint="asin"),
    Row("arcsin(x)", calls="call.asin(x)", mint="arcsin"),
    Row("acos(input)", op="ACos", also="arccos", mint="acos arccos"),
    Row("atan(input)", op="Atan", also="arctan", mint="arctan atan"),
    Row("asinh(input)", op="Asinh", also="arcsinh", mint="arcsinh asinh"),
    Row("acosh(input)", op="Acosh", also="arccosh", mint="acosh arccosh"),
    Row("atanh(input)", op="Atanh", also="arctanh", mint="arctanh atanh"),
    Row("erf(input)", op="Erf", mint="erf"),
    Row("erfc(input)", op="Erfc", mint="erfc"),
    Row("erfinv(input)", op="Erfinv", mint="erfinv"),
    Row("lgamma(input)", op="Lgamma", also="gammaln"),
    Row("digamma(input)", op="Digamma"),
    Row("floor(input)", op="Floor", mint="floor"),
    Row("ceil(input)", op="Ceil", mint="ceil"),
    Row("frac(x)", mint="frac(input)"),
    Row("trunc(input)", op="Trunc", also="fix", mint="fix trunc"),
    Row("sgn(input)", calls="call.sign(input)"),
    Row("isnan(input)", op="IsNan", mint="isnan(tensor)"),
    Row("isinf(input)", op="IsInf", mint="isinf"),
    Row("isfinite(input)", op="IsFinite", mint="isfinite"),
    Row("isposinf(input)"),
    Row("isneginf(input)", mint="isneginf"),
    Row("signbit(input)"),
    Row("bitwise_not(input)", calls="call.invert(input)", mint="bitwise_not"),
    Row("angle(input)", op="Angle"),
    Row("positive(input)"),
    Row("deg2rad(x)"),
    Row("rad2deg(x)"),
    Row("round(input, *, decimals=0)", calls="call.round(input, decimals)", mint="round",
        doc="The nearest number with so many decimals (before the point, if negative), of two the even one."),
    Row("polygamma(n: int, input)", doc="The n-th derivative of `digamma`, n >= 0."),
    Row("mvlgamma(input, p: int)",
        doc="Logarithm of the multivariate gamma function of dimension p, for elements above (p - 1) / 2."),
    Row("logit(input, eps: float | None = None)",
        doc="log(x / (1 - x)); with `eps` elements are first brought into eps ... 1 - eps."),
    Row("softplus(input, beta: float = 1, threshold: float = 20)", op="Softplus", doc="""
    log(1 + exp(beta x)) / beta without overflow; x itself where beta x exceeds the threshold.

    >>> ops.softplus(Tensor([0.0, 800.0])).tolist()
    [0.6931471824645996, 800.0]
    """),
    Row("logaddexp(input, other)", mint="logaddexp"),
    Row("logaddexp2(input, other)", mint="logaddexp2"),
    Row("xlogy(input, other)", op="Xlogy", mint="xlogy"),
    Row("hypot(input, other)", op="Hypot"),
    Row("fmax(input, other)", op="Fmax"),
    Row("fmin(input, other)", op="Fmin"),
    Row("atan2(input, other)", op="Atan2", also="arctan2", mint="arctan2 atan2"),
    Row("fmod(input, other)", op="Mod TruncateMod", mint="fmod"),
    Row("truncate_mod(x, y)", calls="call.fmod(x, y)"),
    Row("mod(input, other)", op="FloorMod"),
    Row("floormod(x, y)", calls="call.mod(x, y)"),
    Row("bitwise_left_shift(input, other)", op="LeftShift", calls="call.left_shift(input, other)"),
    Row("bitwise_right_shift(input, other)", op="RightShift", calls="call.right_shift(input, other)"),
    Row("heaviside(input, values)", op="Heaviside", doc="""
    0 for negative elements, 1 for positive ones, `values` for zeros.

    >>> ops.heaviside(Tensor([-3.0, 0.0, 2.0]), Tensor(0.5)).tolist()
    [0.0, 0.5, 1.0]
    """),
    Row("lerp(input, end, weight)", op="Lerp LerpScalar", mint="lerp",
        doc="input + weight * (end - input), element by element."),
    Row("addcmul(input, tensor1, tensor2, value=1)", op="Addcmul", doc="input + value * tensor1 * tensor2."),
    Row("addcdiv(input, tensor1, tensor2, value=1)", op="Addcdiv",
        mint="addcdiv(input, tensor1, tensor2, *, value=1)", doc="input + value * tensor1 / tensor2."),
    Row("isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)", mint="isclose",
        doc="Whether |input - other| <= atol + rtol * |other|; equal infinities are close, nans only with "
        "`equal_nan`."),
    Row("clamp(input, min=None, max=None)", also="clip", mint="clamp clip", doc="""
    Elements below `min` and above `max` replaced by these; at a bound the whole cotangent goes to the element.

    ValueError without any bound.  `clip_by_value` differs at the bounds: it halves the cotangent.

    >>> ops.clamp(Tensor([-3.0, 0.5, 3.0]), -1, 1).tolist()
    [-1.0, 0.5, 1.0]
    """),
    Row("nan_to_num(input, nan: float | None = None, posinf: float | None = None, neginf: float | None = None)",
        mint="nan_to_num",
        doc="nan replaced by `nan` (0) and infinities by `posinf` and `neginf` (the greatest and smallest finite "
        "number)."),
    Row("tensor_div(x, y)", calls="call.div(x, y)"),
    Row("isnan_ext(tensor)", calls="call.isnan(tensor)", doc="Which elements are nan."),
    Row("approximate_equal(x, y, tolerance=1e-05)", doc="""
    Whether |x - y| < tolerance.

    >>> ops.approximate_equal(Tensor([1.0, 2.0]), Tensor([1.0, 2.1])).tolist()
    [True, False]
    """),
)
