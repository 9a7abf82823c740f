"""`jet` and `derivative`: derivatives of a function along a curve, of every order up to a given one, in one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..config import compiles
from ..errors import GradientError, users_frames
from ..ir.primitive import call
from .jit import jit
from .jvp import jvp
from .memo import memoised


def _listed(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def _curve(x: Any, series: Any, t: Any) -> Any:
    """The point at time t of the curve with these derivatives at 0."""
    order = series.shape[0]
    step = series[order - 1]
    for k in range(order - 1, 0, -1):
        step = series[k - 1] + step * t / (k + 1)
    return x + step * t


def _tower(fn: Callable[[Any], Any], t: Any, order: int) -> tuple[Any, ...]:
    """``fn(t)`` and its derivatives up to an order: each is the slope of the one before."""
    if order == 0:
        return (fn(t),)
    values, slopes = jvp(lambda t: _tower(fn, t, order - 1), t, call.ones_like(t))
    return (*values, slopes[-1])


def _stacked(parts: Any) -> Any:
    if isinstance(parts[0], tuple | list):
        return tuple([_stacked([part[i] for part in parts]) for i in range(len(parts[0]))])
    return call.stack(parts)


def _along_curve(fn: Callable[..., Any], primals: Any, series: Any) -> Any:
    points, series = _listed(primals), _listed(series)
    if len(points) != len(series) or len(points) == 0:
        raise GradientError(f"{len(series)} series were given for {len(points)} inputs")
    for x, s in zip(points, series, strict=True):
        if not x.dtype.is_float or s.dtype is not x.dtype:
            raise GradientError(f"inputs and series must be floats of one dtype, not {x.dtype} and {s.dtype}")
        if s.ndim == 0 or s.shape[0] == 0 or tuple(s.shape[1:]) != tuple(x.shape):
            raise GradientError(f"the series of an input of shape {list(x.shape)} has the shape {list(s.shape)}")

    def at(t: Any) -> Any:
        return fn(*[_curve(x, s, t) for x, s in zip(points, series, strict=True)])

    first, *rest = _tower(at, call.zeros_like(call.sum(points[0])), series[0].shape[0])
    return first, _stacked(rest)


class _Jet:
    """`jet` of one function, for `jit`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.__name__ = f"jet_{getattr(fn, '__name__', type(fn).__name__)}".replace("<lambda>", "lambda")

    def __call__(self, primals: Any, series: Any) -> Any:
        return _along_curve(self.fn, primals, series)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return ctx.call_python(_along_curve, [self.fn, *args], kwargs)


def _run(fn: Callable[..., Any], primals: Any, series: Any) -> Any:
    if compiles():
        return memoised(fn, ("jet",), lambda: jit(_Jet(fn)))(primals, series)
    return _along_curve(fn, primals, series)


@users_frames
def jet(fn: Callable[..., Any], primals: Any, series: Any) -> tuple[Any, Any]:
    """``fn(*primals)``, and its derivatives along the curve through `primals` that `series` describes.

    `primals` and `series` are a Tensor each or tuples of them.  A series has one more dimension in front: its k-th
    entry is the (k + 1)-th derivative of the curve.  So has every output's: what is returned is the derivative of
    ``fn(curve(t))`` by t, of every order up to that of the series.  GradientError: a series that does not fit.

    >>> from autodiff_compiler import Tensor
    >>> y, derivatives = jet(lambda x: x * x * x, Tensor([2.0]), Tensor([[1.0], [0.0], [0.0]]))
    >>> y.tolist(), derivatives.tolist()
    ([8.0], [[12.0], [12.0], [6.0]])
    """
    return _run(fn, primals, series)


@users_frames
def derivative(fn: Callable[..., Any], primals: Any, order: int) -> tuple[Any, Any]:
    """``fn(*primals)``, and the derivative of that order when all elements of `primals` move at speed 1.

    For a function of one Tensor that works element by element this is its derivative at every element.  ValueError: an
    order below 1.

    >>> from autodiff_compiler import Tensor
    >>> y, third = derivative(lambda x: x * x * x, Tensor([2.0, 3.0]), 3)
    >>> third.tolist()
    [6.0, 6.0]
    """
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"`order` must be an int of at least 1, not {order!r}")
    series = tuple([_speed_one(x, order) for x in _listed(primals)])
    first, rest = _run(fn, primals, series)
    return first, _last(rest)


def _speed_one(x: Any, order: int) -> Any:
    return call.stack([call.ones_like(x)] + [call.zeros_like(x)] * (order - 1))


def _last(x: Any) -> Any:
    return tuple([_last(part) for part in x]) if isinstance(x, tuple | list) else x[-1]


def _from_source(function: Any, body: Callable[..., Any]) -> None:
    """Compiled code compiles the source of `body` where it meets the function."""
    function.__graph_call__ = lambda ctx, args, kwargs: ctx.call_python(body, args, kwargs)


_from_source(jet, _along_curve)
_from_source(derivative, derivative.__wrapped__)  # type: ignore[attr-defined]
_from_source(_run, _along_curve)
for _part in (_curve, _last, _tower):
    _from_source(_part, _part)
