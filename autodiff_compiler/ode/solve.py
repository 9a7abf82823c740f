"""`solve`: one integration, to a time or to an event, with its states at all times between if these are asked for."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import ops
from ..implicit.equations import root
from ..implicit.flat import flat, itself, or_nan, shaped
from ..implicit.modes import EAGER, Compiled, Mode, from_source, runs_eagerly
from ..runtime.tensor import Tensor
from ..transforms.vmap import vmap
from .dormand_prince import between
from .odeint import forwards, on_states, tolerances
from .steps import advanced, at_time, begun, greater_of


class Trajectory(NamedTuple):
    """Where an integration ended, and how.

    `converged` (a bool): it reached the time asked for, or an event (`event`, a bool).  Else `t` and `y` are NaN.
    """

    t: Any
    y: Any
    converged: Any
    event: Any
    steps: Any
    #: the steps, if asked for: how many there are, their starts, states, lengths and polynomials, and the direction
    dense: Any = None


class Steps(NamedTuple):
    """The steps of an integration, in rows of which the first `count` are in use."""

    count: Any
    starts: Any
    states: Any
    lengths: Any
    coefficients: Any
    orientation: Any


@from_source
def _no_steps(y: Any, t: Any, orientation: Any, rows: int) -> Any:
    n = y.shape[0]
    return Steps(
        ops.zeros_like(t).astype("int32"), ops.zeros((rows,), y.dtype), ops.zeros((rows, n), y.dtype),
        ops.ones((rows,), y.dtype), ops.zeros((rows, 4, n), y.dtype), orientation,
    )  # fmt: skip


@from_source
def _noted(steps: Any, now: Any, taken: Any) -> Any:
    """The last step in the row behind those in use, which it is in from then on if it was taken."""
    k = steps.count
    starts, states, lengths, coefficients = steps.starts, steps.states, steps.lengths, steps.coefficients
    if taken:
        starts[k] = now.t_last
        states[k] = now.y_last
        lengths[k] = now.h_last
        coefficients[k] = now.coefficients
        k = k + 1
    return Steps(k, starts, states, lengths, coefficients, steps.orientation)


@from_source
def _crossed(before: Any, after: Any, direction: int) -> Any:
    up = (before < 0) & (after >= 0)
    down = (before > 0) & (after <= 0)
    return up if direction > 0 else down if direction < 0 else up | down


@from_source
def _run(
    f: Any,
    g: Any,
    y0: Any,
    t0: Any,
    t1: Any,
    orientation: Any,
    direction: int,
    dense: bool,
    rtol: Any,
    atol: Any,
    most: int,
) -> Any:
    relative, absolute, least = tolerances(y0, rtol, atol)
    end = ops.stop_gradient(t1)
    now = begun(f, y0, t0, end, relative, absolute)
    steps = _no_steps(y0, t0, orientation, most if dense else 1)
    fired = now.h < 0
    value = ops.zeros_like(t0) if g is None else ops.stop_gradient(g(y0, t0))
    while (now.t < end) & now.alive & (now.steps < most) & ~fired:
        before = now.t
        now = advanced(f, now, end, relative, absolute, least)
        if dense:
            steps = _noted(steps, now, ops.stop_gradient(now.t) > ops.stop_gradient(before))
        if g is not None:
            after = ops.stop_gradient(g(now.y, now.t))
            fired = _crossed(value, after, direction)
            value = after
    done = (ops.stop_gradient(now.t) >= end) | fired
    t = t1
    if g is not None:
        place = _event_place(g, now, fired)
        t = ops.where(fired, now.t_last + now.h_last * place, t1)
    t = or_nan(t, done)
    return t, at_time(now, t), done, fired, now.steps, steps


@from_source
def _event_place(g: Any, now: Any, fired: Any) -> Any:
    """Where in the last step the event is, from 0 to 1: bisection finds it, and `root` gives it its derivatives."""

    def value(at: Any) -> Any:
        y = between(now.y_last, now.h_last, now.coefficients, at)
        return ops.where(fired, g(y, now.t_last + at * now.h_last), at - 1)

    left = ops.zeros_like(now.h)
    right = ops.ones_like(now.h)
    first = ops.stop_gradient(value(left))
    for _ in range(30):
        middle = (left + right) / 2
        same = first * ops.stop_gradient(value(middle)) > 0
        left, right = ops.where(same, middle, left), ops.where(same, right, middle)
    return root(value, ops.stop_gradient(ops.where(fired, right, ops.ones_like(right))), max_steps=20).value


def _solve(
    mode: Mode, f: Any, y0: Any, t0: Any, t1: Any, *args: Any, event: Any = None, direction: int = 0,
    dense: bool = False, rtol: float | None = None, atol: float | None = None, max_steps: int = 1000,
) -> Trajectory:  # fmt: skip
    start = mode.call(flat, y0, "`y0` of `solve`")
    like = mode.constant(itself, y0)
    first, last = mode.call(_time, t0, start), mode.call(_time, t1, start)
    orientation = mode.call(_direction, first, last)
    equation = forwards(
        mode, on_states(mode, f, like, args, "the slope that the function of `solve` returns"), orientation
    )
    crossing = None
    if event is not None:
        crossing = mode.function(
            lambda v, t: mode.call(
                _number, mode.call(event, mode.call(shaped, v, like), mode.call(_times, orientation, t), *args)
            )
        )
    begin, end = mode.call(_times, orientation, first), mode.call(_times, orientation, last)
    options = (orientation, direction, dense, rtol, atol, max_steps)
    t, y, done, fired, count, steps = mode.call(_run, equation, crossing, start, begin, end, *options)
    time = mode.call(_times, orientation, t)
    return Trajectory(time, mode.call(shaped, y, like), done, fired, count, (steps, like) if dense else None)


@from_source
def _time(t: Any, like: Any) -> Any:
    if isinstance(t, Tensor):
        if t.size != 1:
            raise TypeError(
                f"`solve` integrates to one time, not to a Tensor of shape {list(t.shape)}:"
                " `odeint` gives the states at several, and so does `at` with `dense=True`"
            )
        t = t.reshape(())
    return like[0] * 0 + t


@from_source
def _direction(t0: Any, t1: Any) -> Any:
    one = ops.ones_like(ops.stop_gradient(t0))
    return ops.where(ops.stop_gradient(t1) >= ops.stop_gradient(t0), one, -one)


@from_source
def _times(a: Any, b: Any) -> Any:
    return a * b


@from_source
def _number(y: Any) -> Any:
    if not isinstance(y, Tensor) or y.size != 1:
        found = f"Tensor of shape {list(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
        raise TypeError(
            f"the event of `solve` is a function to one number, not to a {found}: choose an element, `y[0]`"
        )
    return y.reshape(())


@from_source
def at(trajectory: Trajectory, t: Any) -> Any:
    """The state of a `Trajectory` with dense output at a time within it, or at several in rows; NaN outside.

    >>> from autodiff_compiler import Tensor
    >>> path = solve(lambda y, t: 2 * t, Tensor(0.0), 0.0, 2.0, dense=True, max_steps=20)
    >>> [round(y, 4) for y in at(path, Tensor([0.5, 1.0, 1.5])).tolist()]
    [0.25, 1.0, 2.25]
    """
    if trajectory.dense is None:
        raise ValueError("the steps of this trajectory were not kept: call `solve` with `dense=True`")
    steps, like = trajectory.dense
    if not isinstance(t, int | float):
        times = t if isinstance(t, Tensor) else Tensor(t, steps.starts.dtype)
        if len(times.shape) > 1:
            raise TypeError(f"the times of `at` have at most one dimension; these are of shape {list(times.shape)}")
        if len(times.shape) == 1:
            return vmap(lambda one: at(trajectory, one))(times)
    tau = steps.orientation * (steps.starts[0] * 0 + t)
    rows = ops.arange(steps.starts.shape[0])
    fixed = ops.stop_gradient(tau)
    before = (rows < steps.count) & (ops.stop_gradient(steps.starts) <= fixed)
    k = greater_of(before.astype("int32").sum() - 1, 0)
    part = (tau - steps.starts[k]) / steps.lengths[k]
    end = ops.stop_gradient(steps.orientation * trajectory.t)
    room = 1e-5 * steps.lengths[k].abs()
    inside = (fixed >= ops.stop_gradient(steps.starts[0] - room)) & (fixed <= end + ops.stop_gradient(room))
    y = between(steps.states[k], steps.lengths[k], steps.coefficients[k], part)
    return shaped(or_nan(y, inside), like)


@runs_eagerly
def solve(
    f: Any, y0: Any, t0: Any, t1: Any, *args: Any, event: Any = None, direction: int = 0,
    dense: bool = False, rtol: float | None = None, atol: float | None = None, max_steps: int = 1000,
) -> Trajectory:  # fmt: skip
    """Integrates ``dy/dt = f(y, t, *args)`` from ``y(t0) = y0`` to `t1`, or to the first event before.

    An event is a time where ``event(y, t, *args)`` changes its sign: to positive with a `direction` of 1, to negative
    with -1.  Its time and state have derivatives of every order.  With `dense` the steps are kept (room for `max_steps`
    of them), and `at` gives the states between.  The derivatives are those of the steps taken, as for `odeint`.

    >>> from autodiff_compiler import Tensor, grad
    >>> falls = lambda y, t: Tensor([0.0, -2.0]) + y[1] * Tensor([1.0, 0.0])
    >>> landing = lambda h: solve(falls, Tensor([1.0, 0.0]) * h, 0.0, 9.0, event=lambda y, t: y[0], direction=-1).t
    >>> round(landing(Tensor(4.0)).item(), 4), round(grad(landing)(Tensor(4.0)).item(), 4)
    (2.0, 0.25)
    """
    return _solve(
        EAGER, f, y0, t0, t1, *args,
        event=event, direction=direction, dense=dense, rtol=rtol, atol=atol, max_steps=max_steps,
    )  # fmt: skip


solve.__graph_call__ = lambda ctx, args, kwargs: _solve(Compiled(ctx), *args, **kwargs)  # type: ignore[attr-defined]
