"""Rounding, remainders that truncate, clamping, and predicates of floats (nan, infinite, sign)."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import bfloat16, bool_, float16, float32, float64, int32, int64
from ..errors import StaticValueError
from ..ir.primitive import F, Number, Primitive, call, composite
from ..ir.types import TensorType, tensor
from .family import (
    as_tensor,
    binary,
    broadcasting,
    constant,
    cotangent_in,
    float_unary,
    is_tensor,
    number_binary,
    promoted,
    promoted_dtype,
    promoting,
    where_else_0,
)
from .requirements import require_dtype, static_int
from .samples import D2, F2, F3, I2, real


# ------------------------------------------------------------------------------------------------ integers
def _whole(name):
    """The user-facing form of a rounding: integers are what they are."""

    def public(x):
        (x,) = promoted(x)
        return x if x.dtype.is_int else getattr(F, name)(x)

    return promoting(public, name)


class _Rounding(Primitive, abstract=True):
    """A whole number near each float; its derivative is 0."""

    infer = float_unary
    cost = 1
    public = _whole

    def vjp(c, g, x):
        return None

    def samples(rng):
        """Away from integers and from halves, where rounding jumps."""
        yield (rng.ints(2, 3) + rng(2, 3, low=0.1, high=0.4),)
        yield (rng.ints() - rng(low=0.1, high=0.4),)


class Floor(_Rounding):
    """The greatest integer not above each element; its derivative is 0."""

    scalar = lambda k, x: k.floor(x)
    aclnn = "Floor"
    methods = ("floor", "floor_")


class Ceil(_Rounding):
    """The smallest integer not below each element; its derivative is 0."""

    scalar = lambda k, x: k.ceil(x)
    aclnn = "Ceil"
    methods = ("ceil", "ceil_")


class Trunc(_Rounding):
    """Each element rounded towards 0; its derivative is 0."""

    scalar = lambda k, x: k.trunc(x)
    aclnn = "Trunc"
    methods = ("trunc", "fix")


def _round(x, decimals=0):
    (x,) = promoted(x)
    decimals = static_int(decimals, "decimals")
    if x.dtype.is_int and decimals >= 0:
        return x
    require_dtype(x.dtype.is_float, f"round to {decimals} decimals is not defined for {x.dtype.name}")
    if decimals == 0:
        return F.round(x)
    if abs(decimals) > 308:  # no float has digits there
        return x if decimals > 0 else F.round(x) * 0
    power = 10.0 ** abs(decimals)
    if decimals > 0:
        return call.div(F.round(call.mul(x, power)), power)
    return call.mul(F.round(call.div(x, power)), power)


class Round(_Rounding):
    """The integer nearest to each element, halves to the even one; its derivative is 0."""

    scalar = lambda k, x: k.rint(x)

    aclnn = "Round"
    call = _round
    methods = ("round", "round_")


@composite("frac")
def frac(x):
    """Every element minus its whole part, with the sign of the element."""
    (x,) = promoted(x)
    return call.sub(x, call.trunc(x))


class Fmod(Primitive):
    """Remainder of the quotient rounded towards 0, with the sign of the dividend; an integer modulo zero gives 0."""

    infer = number_binary
    scalar = lambda k, x, y: k.fmod(x, y)
    flops = 5
    aclnn = lambda c, x, y: c.truncated(x, y)
    call = broadcasting("fmod", bools=False)
    methods = ("fmod",)
    python = math.fmod

    def vjp(c, g, x, y):
        # (x - out) / y is whole up to rounding, where trunc(x / y) may be one off.
        if not c.needs.y:
            return g, None
        whole = F.floordiv(x - c.out, y) if x.dtype.is_int else F.round((x - c.out) / y)
        return g, -(g * whole)

    def samples(rng):  # quotients stay away from integers, where the remainder jumps
        whole, part, y = rng.ints(2, 3, low=0), rng(2, 3, low=0.2, high=0.8), rng(2, 3, low=1.0, high=2.0)
        yield (whole + part) * y, y
        yield -(whole + part) * y, y


# ------------------------------------------------------------------------------------------------ bounds
class ClampMin(Primitive):
    """The greater of an element and its bound; at the bound the whole cotangent goes to the element."""

    internal = True
    scalar = lambda k, x, low: k.maximum(x, low)
    cost = 1
    call = broadcasting("clamp_min")

    def infer(x: TensorType, low: TensorType):
        return binary(x, low)

    aclnn = lambda c, x, y: c.greater(x, y, c.out)

    def vjp(c, g, x, low):
        below = F.less(x, low)
        gx = where_else_0(F.logical_not(below), g) if c.needs.x else None
        return gx, (where_else_0(below, g) if c.needs.low else None)

    def samples(rng):
        x = rng.distinct(2, 2, 3)
        yield x[0], x[1]

    errors = [((F2, D2), {}, "dtypes differ"), ((F2, F3), {}, "shapes differ")]
    ties = [(([1.0, 2.0, 0.0], [1.0, 1.0, 3.0]), {}, ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0]))]


class ClampMax(Primitive):
    """The smaller of an element and its bound; at the bound the whole cotangent goes to the element."""

    internal = True
    scalar = lambda k, x, high: k.minimum(x, high)
    cost = 1
    call = broadcasting("clamp_max")

    def infer(x: TensorType, high: TensorType):
        return binary(x, high)

    aclnn = lambda c, x, y: c.lesser(x, y, c.out)

    def vjp(c, g, x, high):
        above = F.greater(x, high)
        gx = where_else_0(F.logical_not(above), g) if c.needs.x else None
        return gx, (where_else_0(above, g) if c.needs.high else None)

    def samples(rng):
        x = rng.distinct(2, 2, 3)
        yield x[0], x[1]

    errors = [((F2, D2), {}, "dtypes differ"), ((F2, F3), {}, "shapes differ")]
    ties = [(([1.0, 2.0, 0.0], [1.0, 1.0, 3.0]), {}, ([1.0, 0.0, 1.0], [0.0, 1.0, 0.0]))]


def _clamp(x, min=None, max=None):
    """Elements below `min` and above `max` replaced by these; nan stays, and where min > max the result is max.

    A bound is a number or a tensor that broadcasts, and one may be missing.  At a bound the whole cotangent goes to the
    element.  ValueError: no bound.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([-3.0, 0.5, 3.0]).clamp(-1, 1).tolist()
    [-1.0, 0.5, 1.0]
    """
    if min is None and max is None:
        raise ValueError("clamp needs at least one bound")
    if not is_tensor(x):
        x = promoted_dtype(x, *[bound for bound in (min, max) if bound is not None])[0]
    if x.dtype.is_float and _is_number(min) and _is_number(max):
        return F.clamp(x, low=-math.inf if min is None else float(min), high=math.inf if max is None else float(max))
    if min is not None:
        x = call.clamp_min(x, min)
    return x if max is None else call.clamp_max(x, max)


def _is_number(bound):
    return bound is None or isinstance(bound, int | float)


class Clamp(Primitive):
    """Elements below `low` and above `high` replaced by these; nan stays, and where low > high the result is high.

    At a bound the part `edge` of the cotangent goes to the element: all of it for `clamp`, half for `clip_by_value`.
    """

    def infer(x: TensorType, *, low: Number, high: Number, edge: Number = 1):
        return float_unary(x)

    scalar = lambda k, x, low, high, edge: k.minimum(k.maximum(x, low), high)
    cost = 2

    def numpy(x, *, low, high, edge):  # one pass over x instead of two
        return np.clip(x, low, high)

    widen = True
    call = _clamp
    methods = ("clamp", "clip", "clamp_")

    def decomposed(c, x):
        x = F.maximum(x, c.low) if c.low > -math.inf else x
        return F.minimum(x, c.high) if c.high < math.inf else x

    cuts = True

    def vjp(c, g, x):
        # MindSpore 2.10: at a bound `clamp` passes all of the cotangent on, `clip_by_value` and `hardtanh` half,
        # `relu6` none.
        if c.edge == 0:
            outside = F.logical_or(F.less_equal(x, c.low), F.greater_equal(x, c.high))
            return where_else_0(F.logical_not(outside), g)
        if c.edge != 1:
            at_bound = F.logical_or(F.equal(x, c.low), F.equal(x, c.high))
            g = F.select(at_bound, cotangent_in(g * c.edge, g.dtype), g)
        return where_else_0(F.logical_not(F.logical_or(F.less(x, c.low), F.greater(x, c.high))), g)

    def samples(rng):
        yield rng.distinct(2, 3), {"low": -0.4, "high": 0.2}
        yield rng.distinct(), {"low": -math.inf, "high": 0.0}
        yield rng.distinct(3), {"low": -0.4, "high": 0.2, "edge": 0}
        yield rng.distinct(3), {"low": -0.4, "high": 0.2, "edge": 0.5}

    errors = [((I2,), {"low": 0.0, "high": 1.0}, "not defined for int32")]
    ties = [
        (([-2.0, -1.0, 0.0, 1.0, 2.0],), {"low": -1.0, "high": 1.0}, ([0.0, 1.0, 1.0, 1.0, 0.0],)),
        (([-2.0, -1.0, 0.0, 1.0, 2.0],), {"low": -1.0, "high": 1.0, "edge": 0}, ([0.0, 0.0, 1.0, 0.0, 0.0],)),
        (([-2.0, -1.0, 0.0, 1.0, 2.0],), {"low": -1.0, "high": 1.0, "edge": 0.5}, ([0.0, 0.5, 1.0, 0.5, 0.0],)),
    ]


@composite()
def clip_by_value(x, low=None, high=None):
    """Elements below the lower bound and above the upper one replaced by it; at a bound the cotangent is halved.

    Several tensors in a tuple or list are clipped one by one.
    """
    if low is None and high is None:
        raise ValueError("clip_by_value needs at least one bound")
    if isinstance(x, tuple | list) and any(is_tensor(t) for t in x):
        return type(x)([clip_by_value(t, low, high) for t in x])
    if not is_tensor(x):
        x = promoted_dtype(x, *[bound for bound in (low, high) if bound is not None])[0]
    if x.dtype.is_float and type(low) in (int, float) and type(high) in (int, float) and low < high:
        return F.clamp(x, low=low, high=high, edge=0.5)
    if high is not None:
        x = call.minimum(x, high)
    return x if low is None else call.maximum(x, low)


def _nan_to_num(x, nan=None, posinf=None, neginf=None):
    """nan replaced by `nan` (0 by default), infinities by `posinf` and `neginf` (the extreme finite numbers).

    No cotangent passes where that happened.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([float("nan"), float("inf")]).nan_to_num(posinf=9.0).tolist()
    [0.0, 9.0]
    """
    x = as_tensor(x)
    if not x.dtype.is_float:
        return x
    for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if is_tensor(value):
            raise StaticValueError(f"`{name}` of nan_to_num must be a Python number", hint="use where(isnan(x), t, x)")
    largest = _LARGEST[x.dtype]
    return F.nan_to_num(
        x, nan=0.0 if nan is None else nan, posinf=largest if posinf is None else posinf,
        neginf=-largest if neginf is None else neginf,
    )  # fmt: skip


#: The greatest finite number of every float dtype.
_LARGEST = {
    float16: 65504.0, bfloat16: (2 - 2.0**-7) * 2.0**127, float32: (2 - 2.0**-23) * 2.0**127,
    float64: (2 - 2.0**-52) * 2.0**1023,
}  # fmt: skip


class NanToNum(Primitive):
    """nan replaced by `nan` and infinities by `posinf` and `neginf`; no cotangent passes where that happened."""

    def infer(x: TensorType, *, nan: Number, posinf: Number, neginf: Number):
        return float_unary(x)

    def numpy(x, *, nan, posinf, neginf):
        return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)

    widen = True
    call = _nan_to_num
    methods = ("nan_to_num",)

    def decomposed(c, x):
        x = F.select(F.equal(x, math.inf), c.posinf, F.select(F.equal(x, -math.inf), c.neginf, x))
        return F.select(F.isnan(x), c.nan, x)

    def vjp(c, g, x):
        return F.select(F.isfinite(x), g, 0)

    def samples(rng):
        yield rng(2, 3), {"nan": 0.0, "posinf": 1.0, "neginf": -1.0}

    errors = [((I2,), {"nan": 0.0, "posinf": 1.0, "neginf": -1.0}, "not defined for int32")]
    ties = [
        (([math.nan, math.inf, -math.inf, 2.0],), {"nan": 0.0, "posinf": 1.0, "neginf": -1.0}, ([0.0, 0.0, 0.0, 1.0],))
    ]


@composite("lerp")
def lerp(x, end, weight):
    """x + weight * (end - x), element by element."""
    if isinstance(weight, int | float):  # it stays a number
        x, end = promoted_dtype(x, end, floating=True)
    else:
        x, end, weight = promoted_dtype(x, end, weight, floating=True)
    return call.add(x, call.mul(call.sub(end, x), weight))


# ------------------------------------------------------------------------------------------------ kinds of floats
def _kind(x: TensorType):
    return tensor(bool_, float_unary(x).shape)


def _float_predicate(name, of_integers):
    """The user-facing form of a predicate on floats: of integers and bools the answer is `of_integers`."""

    def public(x):
        x = as_tensor(x)
        return getattr(F, name)(x) if x.dtype.is_float else constant(of_integers, tensor(bool_, x.shape))

    public.__name__ = public.__qualname__ = name
    return public


class _FloatPredicate(Primitive, abstract=True):
    """A bool for every float; it has no derivative."""

    infer = _kind
    cost = 1

    def vjp(c, g, x):
        return None

    samples = real()
    errors = [((I2,), {}, "not defined for int32")]


class Isnan(_FloatPredicate):
    """Whether each element is nan."""

    scalar = lambda k, x: k.isnan(x)

    def aclnn(c, x):
        c.op("NeTensor", x, x, c.out)

    call = _float_predicate("isnan", False)
    methods = ("isnan",)


class Isinf(_FloatPredicate):
    """Whether each element is inf or -inf."""

    scalar = lambda k, x: k.isinf(x)
    aclnn = "IsInf"
    call = _float_predicate("isinf", False)
    methods = ("isinf",)


class Isfinite(_FloatPredicate):
    """Whether each element is finite: neither infinite nor nan."""

    scalar = lambda k, x: k.isfinite(x)
    aclnn = "IsFinite"
    call = _float_predicate("isfinite", True)
    methods = ("isfinite",)


def _signbit(x):
    x = as_tensor(x)
    return F.signbit(x) if x.dtype.is_float else call.less(x, 0)


class Signbit(_FloatPredicate):
    """Whether the sign bit of each element is set: negative numbers, -0.0 included."""

    scalar = lambda k, x: k.signbit(x)
    call = _signbit
    methods = ("signbit",)

    def aclnn(c, x):
        x = c.cast(x, c.wide(x.dtype))  # comparing int16 is slow
        bits = x.low_bytes(int64 if x.dtype is float64 else int32) if x.dtype.is_float else x
        c.op("LtTensor", bits, c.number(0, bits), c.out)


@composite("isposinf")
def isposinf(x):
    """Whether each element is inf."""
    return call.equal(x, math.inf)


@composite("isneginf")
def isneginf(x):
    """Whether each element is -inf."""
    return call.equal(x, -math.inf)


@composite("isclose")
def isclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether |x - y| <= atol + rtol * |y|; equal infinities are close, nans only with `equal_nan`."""
    x, y = promoted_dtype(x, y)
    exact = call.equal(x, y)
    x, y = promoted_dtype(x, y, floating=True)
    near = call.less_equal(call.abs(call.sub(x, y)), call.add(call.mul(call.abs(y), rtol), atol))
    close = call.logical_or(exact, call.logical_and(near, call.isfinite(y)))
    return call.logical_or(close, call.logical_and(call.isnan(x), call.isnan(y))) if equal_nan else close
