"""Integration with steps of run time: a loop whose step sizes carry no derivative, and all else does.

The steps are constants of the derivative: what is differentiated is the method with the steps that it took, and its
polynomials between them.  Where the start moves, the whole grid moves with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import ops
from ..implicit.flat import or_nan
from ..implicit.modes import from_source
from ..transforms.loops import keep
from .dormand_prince import between, step

#: The least and the greatest factor between two steps, and the part of the step asked for that is taken.
_LEAST, _MOST, _PART = 0.2, 10.0, 0.9


class Reached(NamedTuple):
    """Where an integration is: time, state, slope, next step, the last step (start, state, length, coefficients)."""

    t: Any
    y: Any
    slope: Any
    h: Any
    t_last: Any
    y_last: Any
    h_last: Any
    coefficients: Any
    steps: Any
    alive: Any


@from_source
def begun(f: Any, y0: Any, t0: Any, end: Any, rtol: float, atol: float) -> Any:
    """Before the first step; the polynomial is the tangent."""
    slope = f(y0, t0)
    h = first_step(f, ops.stop_gradient(y0), ops.stop_gradient(t0), ops.stop_gradient(slope), end, rtol, atol)
    coefficients = ops.stack([slope, slope * 0, slope * 0, slope * 0])
    one = ops.ones_like(h)
    steps = ops.zeros_like(h).astype("int32")
    return Reached(t0, y0, slope, h, t0, y0, one, coefficients, steps, one > 0)


@from_source
def first_step(f: Any, y: Any, t: Any, slope: Any, end: Any, rtol: float, atol: float) -> Any:
    """A first step for which an Euler step is about right (Hairer, Norsett, Wanner, II.4)."""
    scale = atol + rtol * y.abs()
    d0, d1 = mean_norm(y / scale), mean_norm(slope / scale)
    small = (d0 < 1e-5) | (d1 < 1e-5)
    safe = ops.where(d1 > 0, d1, ops.ones_like(d1))
    h0 = smaller_of(ops.where(small, d0 * 0 + 1e-6, 0.01 * d0 / safe), end - t)
    positive = ops.where(h0 > 0, h0, ops.ones_like(h0))
    d2 = mean_norm((f(y + h0 * slope, t + h0) - slope) / scale) / positive
    most = greater_of(d1, d2)
    h1 = ops.where(most <= 1e-15, greater_of(h0 * 1e-3, h0 * 0 + 1e-6), (0.01 / (most + 1e-30)) ** 0.2)
    found = ops.stop_gradient(smaller_of(100 * h0, h1))
    return ops.where(found > 0, found, h0)


@from_source
def smaller_of(a: Any, b: Any) -> Any:
    return ops.where(a < b, a, b)


@from_source
def greater_of(a: Any, b: Any) -> Any:
    return ops.where(a > b, a, b)


@from_source
def mean_norm(x: Any) -> Any:
    return (x * x).mean() ** 0.5


@from_source
def advanced(f: Any, now: Any, end: Any, rtol: float, atol: float, least: float) -> Any:
    """One step, taken or refused; it does not pass `end`."""
    last = now.h >= end - ops.stop_gradient(now.t)
    h = ops.where(last, end - ops.stop_gradient(now.t), now.h)
    y1, slope1, coefficients, error = step(f, now.t, now.y, now.slope, h)
    t1 = now.t + h
    t1 = t1 + ops.where(last, ops.stop_gradient(end - t1), h * 0)
    scale = atol + rtol * greater_of(now.y.abs(), y1.abs())
    ratio = ops.stop_gradient(mean_norm(error / scale))
    taken = ratio <= 1
    known = ops.where(ratio >= 0, greater_of(ratio, ratio * 0 + 1e-10), h * 0 + 1e10)
    h1 = h * ops.clip(_PART * known**-0.2, _LEAST, _MOST)
    # a last step that was cut says little about the next one
    h1 = ops.where(taken & last, greater_of(h1, now.h), h1)
    alive = (taken & last) | (h1 > greater_of(least * ops.stop_gradient(now.t).abs(), h * 0 + 1e-30))
    t, y, slope, t_last, y_last, h_last = now.t, now.y, now.slope, now.t_last, now.y_last, now.h_last
    kept = now.coefficients
    if taken:
        t_last, y_last, h_last, kept = t, y, h, coefficients
        t, y, slope = t1, y1, slope1
    return Reached(t, y, slope, h1, t_last, y_last, h_last, kept, now.steps + 1, alive)


@from_source
def at_time(now: Any, t: Any) -> Any:
    """The state at a time inside of the last step."""
    return between(now.y_last, now.h_last, now.coefficients, (t - now.t_last) / now.h_last)


@from_source
def at_times(f: Any, y0: Any, ts: Any, rtol: float, atol: float, least: float, max_steps: int) -> Any:
    """The states at increasing times, NaN where they were not reached."""
    n = ts.shape[0]
    end = ops.stop_gradient(ts[n - 1])
    found = ops.zeros((n, y0.shape[0]), y0.dtype)
    found[0] = y0
    if n == 1:
        return found
    now = begun(f, y0, ts[0], end, rtol, atol)
    in_order = (ops.stop_gradient(ts[1:] - ts[:-1]) >= 0).all()
    for i in keep(range(1, n)):
        target = ops.stop_gradient(ts[i])
        while (now.t < target) & in_order & now.alive & (now.steps < max_steps):
            now = advanced(f, now, end, rtol, atol, least)
        good = (ops.stop_gradient(now.t) >= target) & in_order
        y = at_time(now, ts[i])
        found[i] = or_nan(y, good)
    return found


@from_source
def by_rk4(f: Any, y0: Any, ts: Any) -> Any:
    """The states at the times by one step of the classical method of order 4 between each two."""
    found = ops.zeros((ts.shape[0], y0.shape[0]), y0.dtype)
    found[0] = y0
    y = y0
    for i in keep(range(1, ts.shape[0])):
        t, h = ts[i - 1], ts[i] - ts[i - 1]
        k1 = f(y, t)
        k2 = f(y + h / 2 * k1, t + h / 2)
        k3 = f(y + h / 2 * k2, t + h / 2)
        k4 = f(y + h * k3, t + h)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found[i] = y
    return found
