"""`quad`: the integral of a function of one number, and its derivatives by limits and parameters.

The interval is divided where the error is greatest, by numbers that carry no derivative.  Then the integral over the
parts found is an ordinary sum, which is differentiated by what the function captures.  By the limits the derivative is
the function there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import ops
from ..dtypes import float32
from ..implicit.flat import or_nan
from ..implicit.linear import pulled_back
from ..implicit.modes import EAGER, Compiled, Mode, from_source, runs_eagerly
from ..runtime.tensor import Tensor
from ..transforms.vmap import vmap
from .steps import greater_of, smaller_of

#: The rule of Gauss with 10 points and that of Kronrod with 21, which holds its points (QUADPACK): the points above 0
#: and their weights, the last one of 0; of Gauss the weights of every second point.
_POINTS = (
    0.995657163025808080735527280689, 0.973906528517171720077964012084, 0.930157491355708226001207180060,
    0.865063366688984510732096688423, 0.780817726586416897063717578345, 0.679409568299024406234327365115,
    0.562757134668604683339000099273, 0.433395394129247190799265943166, 0.294392862701460198131126603104,
    0.148874338981631210884826001130,
)  # fmt: skip
_KRONROD = (
    0.011694638867371874278064396062, 0.032558162307964727478818972459, 0.054755896574351996031381300245,
    0.075039674810919952767043140916, 0.093125454583697605535065465083, 0.109387158802297641899210590326,
    0.123491976262065851077958109831, 0.134709217311473325928054001772, 0.142775938577060080797094273139,
    0.147739104901338491374841515972, 0.149445554002916905664936468390,
)  # fmt: skip
_GAUSS = (
    0.066671344308688137593568809893, 0.149451349150580593145776339658, 0.219086362515982043995534934228,
    0.269266719309996355091226921569, 0.295524224714752870173892994651,
)  # fmt: skip


class Integral(NamedTuple):
    """An integral, an estimate of its error (of the largest element), whether that is small enough, and the parts."""

    value: Any
    error: Any
    converged: Any
    parts: Any


@from_source
def _rule_on(f: Any, left: Any, right: Any) -> Any:
    """The integral from left to right by both rules, and by Kronrod's that of the distance from the mean."""
    dtype = left.dtype
    points = Tensor([-p for p in _POINTS] + [0.0] + list(reversed(_POINTS)), dtype)
    kronrod = Tensor(list(_KRONROD) + list(reversed(_KRONROD[:10])), dtype)
    halves = [0.0 if i % 2 == 0 else _GAUSS[i // 2] for i in range(10)]
    gauss = Tensor([*halves, 0.0, *reversed(halves)], dtype)
    half = (right - left) / 2
    values = vmap(f)((left + right) / 2 + half * points)
    rows = values.reshape(21, -1)
    fine = kronrod @ rows
    spread = (kronrod @ (rows - fine / 2).abs()).max() * half.abs()
    return half * fine, half * (gauss @ rows), spread


@from_source
def _error_of(fine: Any, coarse: Any, spread: Any) -> Any:
    """QUADPACK's estimate: the difference of both rules, which is far greater_of than the error where it is small."""
    difference = (fine - coarse).abs().max()
    safe = ops.where(spread > 0, spread, ops.ones_like(spread))
    better = safe * smaller_of((200 * difference / safe) ** 1.5, ops.ones_like(spread))
    return ops.where(spread > 0, better, difference)


@from_source
def _divided(f: Any, a: Any, b: Any, rtol: float, atol: float, most: int) -> Any:
    """The ends of the parts as parts of the way from a to b, how many there are, the error, and whether it is small."""
    fine, coarse, spread = _rule_on(f, a, b)
    n = fine.shape[0]
    lefts, rights = ops.zeros((most,), a.dtype), ops.zeros((most,), a.dtype)
    errors, values = ops.zeros((most,), fine.dtype), ops.zeros((most, n), fine.dtype)
    rights[0] = 1.0
    errors[0] = _error_of(fine, coarse, spread)
    values[0] = fine
    count = ops.ones_like(a).astype("int32")
    limit = greater_of(rtol * fine.abs().max(), errors[0] * 0 + atol)
    error = errors[0]
    while (error > limit) & (count < most):
        worst = errors.argmax()
        left, right = lefts[worst], rights[worst]
        middle = (left + right) / 2
        fine1, coarse1, spread1 = _rule_on(f, a + (b - a) * left, a + (b - a) * middle)
        fine2, coarse2, spread2 = _rule_on(f, a + (b - a) * middle, a + (b - a) * right)
        rights[worst] = middle
        lefts[count] = middle
        rights[count] = right
        errors[worst] = _error_of(fine1, coarse1, spread1)
        errors[count] = _error_of(fine2, coarse2, spread2)
        values[worst] = fine1
        values[count] = fine2
        count = count + 1
        error = errors.sum()
        limit = greater_of(rtol * values.sum(axis=0).abs().max(), errors[0] * 0 + atol)
    return lefts, rights, count, error, error <= limit


@from_source
def _summed(f: Any, a: Any, b: Any, lefts: Any, rights: Any, count: Any) -> Any:
    total, _, _ = _rule_on(f, a + (b - a) * lefts[0], a + (b - a) * rights[0])
    i = ops.ones_like(count)
    while i < count:
        part, _, _ = _rule_on(f, a + (b - a) * lefts[i], a + (b - a) * rights[i])
        total = total + part
        i = i + 1
    return total


@from_source
def _tolerances(x: Any, rtol: float | None, atol: float | None) -> Any:
    double = "64" in str(x.dtype)
    rtol = (1e-10 if double else 1e-5) if rtol is None else rtol
    return rtol, 1e-12 if atol is None and double else 1e-7 if atol is None else atol


@from_source
def _limit(x: Any, other: Any, dtype: Any) -> Any:
    kind = other.dtype if isinstance(other, Tensor) else dtype
    if kind is None or not kind.is_float:
        kind = float32
    if isinstance(x, Tensor):
        if x.size != 1:
            raise TypeError(
                f"a limit of `quad` is one number, not a Tensor of shape {list(x.shape)}:"
                " `vmap` gives the integrals for several"
            )
        return x.reshape(()) if x.dtype.is_float else x.reshape(()).astype(kind)
    return Tensor(x, kind)


@from_source
def _tensor(y: Any) -> Any:
    if not isinstance(y, Tensor):
        raise TypeError(f"the function of `quad` returns a Tensor, not a {type(y).__name__}")
    return y


@from_source
def _flattened(y: Any) -> Any:
    return _tensor(y).reshape(-1)


@from_source
def _reshaped(v: Any, y: Any) -> Any:
    return v.reshape(y.shape)


@from_source
def _dotted(a: Any, b: Any, by: float, like: Any) -> Any:
    return ((a * b).sum() * by).astype(like.dtype)


# ------------------------------------------------------------------------------------------------ infinite intervals
@from_source
def _ends(a: Any, b: Any) -> Any:
    """The limits in u: of an interval that ends t itself, else from 0 to 1, or from -1 to 1 where both are infinite."""
    below, above = a == -float("inf"), b == float("inf")
    one = ops.ones_like(a)
    return ops.where(below & above, -one, ops.where(below | above, one * 0, a)), ops.where(below | above, one, b)


@from_source
def _substituted(f: Any, a: Any, b: Any, u: Any) -> Any:
    """The integrand over u.  At infinity it is some number, which nobody asks for."""
    below, above = a == -float("inf"), b == float("inf")
    infinite, whole = below | above, below & above
    zero = ops.zeros_like(u)
    v = ops.where(infinite, u, zero)
    room = ops.where(whole, 1 - v * v, 1 - v)
    room = ops.where(room > 0, room, zero + 1)
    begin = ops.where(infinite & ~below, a, ops.where(infinite & ~above, b, zero))
    step = ops.where(below & ~above, -v, v) / room
    slope = ops.where(whole, 1 + v * v, zero + 1) / (room * room)
    return _tensor(f(ops.where(infinite, begin + step, u))) * ops.where(infinite, slope, zero + 1)


def _finite(mode: Mode, f: Any, a: Any, b: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """The same integral over an interval that ends."""
    if isinstance(a, int | float) and isinstance(b, int | float) and float("inf") in (a, -b):
        raise ValueError(f"the limits of `quad` are in order where one is infinite, not {a} and {b}")
    first = mode.call(_limit, a, b, dtype)
    last = mode.call(_limit, b, first, dtype)
    if all(isinstance(x, int | float) and abs(x) < float("inf") for x in (a, b)):
        return f, first, last
    lower, upper = mode.call(_ends, first, last)
    return mode.function(lambda u: mode.call(_substituted, f, first, last, u)), lower, upper


# ------------------------------------------------------------------------------------------------ the function
def _quad(
    mode: Mode, f: Any, a: Any, b: Any, *args: Any, rtol: float | None = None, atol: float | None = None,
    max_parts: int = 50, dtype: Any = None,
) -> Integral:  # fmt: skip
    called = mode.function(lambda t: mode.call(f, t, *args))
    of, lower, upper = _finite(mode, called, a, b, dtype)
    form = mode.constant(_value, of, lower, upper)
    integrand = mode.function(lambda t: mode.call(_flattened, mode.call(of, t)))
    closed, captured = mode.closed_over(integrand, [mode.constant(_middle, lower, upper)], "quad")
    limits = mode.call(_tolerances, lower, rtol, atol)
    here = mode.function(lambda t: mode.call(closed, captured, t))
    lefts, rights, count, error, small = mode.constant(_divided, here, lower, upper, *limits, max_parts)
    total = mode.constant(_summed, here, lower, upper, lefts, rights, count)

    def rule(value: Any, a: Any, b: Any, *rest: Any) -> list[Any]:
        *theta, _, dout = rest
        g = mode.call(or_nan, dout, small)
        by_a = mode.call(_dotted, g, mode.call(closed, theta, a), -1.0, a)
        by_b = mode.call(_dotted, g, mode.call(closed, theta, b), 1.0, b)

        def total_of(*c: Any) -> Any:
            inside = mode.function(lambda t: mode.call(closed, list(c), t))
            return mode.call(_summed, inside, a, b, lefts, rights, count)

        return [None, by_a, by_b, *pulled_back(mode, total_of, theta, g)]

    value = mode.with_rule(rule, total, [lower, upper, *captured], rule, "quad")
    return Integral(mode.call(_reshaped, value, form), error, small, count)


@from_source
def _middle(a: Any, b: Any) -> Any:
    return (a + b) / 2


@from_source
def _value(f: Any, a: Any, b: Any) -> Any:
    return f((a + b) / 2)


@runs_eagerly
def quad(
    f: Any, a: Any, b: Any, *args: Any, rtol: float | None = None, atol: float | None = None, max_parts: int = 50,
    dtype: Any = None,
) -> Integral:  # fmt: skip
    """The integral of ``f(t, *args)`` for t from a to b, by the rules of Gauss and Kronrod on parts of the interval.

    `f` takes a Tensor without dimensions and returns a Tensor; it is evaluated at 21 points at once (`vmap`).  A limit
    is a Tensor or a number, and may be infinite.  `dtype` is that of t where both are numbers (float32).  The
    interval is divided until the error is below ``max(atol, rtol * abs(value))``, into at most `max_parts`.
    Derivatives by the limits, by `args` and by what `f` captures are integrals of derivatives, and NaN where it did not
    converge.

    >>> from autodiff_compiler import Tensor, grad, ops
    >>> round(quad(lambda t: ops.exp(-t * t), -float("inf"), float("inf")).value.item(), 5)
    1.77245
    >>> grad(lambda b: quad(lambda t: t * t, 0.0, b).value)(Tensor(3.0)).tolist()
    9.0
    """
    return _quad(EAGER, f, a, b, *args, rtol=rtol, atol=atol, max_parts=max_parts, dtype=dtype)


quad.__graph_call__ = lambda ctx, args, kwargs: _quad(Compiled(ctx), *args, **kwargs)  # type: ignore[attr-defined]
