"""`odeint`: the solution of a differential equation at given times, and its derivatives."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..implicit.flat import flat, flat_like, itself, shaped
from ..implicit.linear import pulled_back
from ..implicit.modes import EAGER, Compiled, Mode, from_source, runs_eagerly
from ..runtime.tensor import Tensor
from ..transforms.loops import keep
from .steps import at_times, by_rk4

_METHODS = ("dopri5", "rk4")
#: The steps of the continuous adjoint depend on the cotangent.
_INSTEAD = 'take `adjoint="discrete"`, or ask in reverse mode: `grad`, `vjp`, `jacrev`, also of one another'


@from_source
def tolerances(y: Any, rtol: float | None, atol: float | None) -> Any:
    """The tolerances, and the least step relative to the time: by default what the dtype allows with ease."""
    single = "64" not in str(y.dtype)
    rtol = (1e-5 if single else 1e-8) if rtol is None else rtol
    atol = (1e-6 if single else 1e-9) if atol is None else atol
    eps = 1.2e-7 if single else 2.3e-16
    return max(rtol, 10 * eps), atol, 4 * eps


@from_source
def direction(ts: Any) -> Any:
    """1, or -1 where time runs backwards."""
    one = ops.ones_like(ops.stop_gradient(ts[0]))
    return ops.where(ops.stop_gradient(ts[-1] >= ts[0]), one, -one)


@from_source
def as_times(ts: Any, like: Any) -> Any:
    if not isinstance(ts, Tensor):
        ts = Tensor(ts, like.dtype)
    if len(ts.shape) != 1 or ts.shape[0] == 0:
        raise TypeError(f"the times of `odeint` are a Tensor of one dimension, not of shape {list(ts.shape)}")
    return ts.astype(like.dtype)


def forwards(mode: Mode, f: Any, orientation: Any) -> Any:
    """The equation in the time ``orientation * t``."""
    return mode.function(
        lambda y, t: mode.call(_times, orientation, mode.call(f, y, mode.call(_times, orientation, t)))
    )


@from_source
def _times(a: Any, b: Any) -> Any:
    return a * b


def on_states(mode: Mode, f: Any, like: Any, args: Any, what: str) -> Any:
    """``f(y, t, *args)``, of trees like `like`, as a function of a vector and a time."""

    def run(v: Any, t: Any) -> Any:
        return mode.call(flat_like, mode.call(f, mode.call(shaped, v, like), t, *args), like, what)

    return mode.function(run)


@from_source
def _integrated(f: Any, y0: Any, ts: Any, orientation: Any, method: str, rtol: Any, atol: Any, max_steps: int) -> Any:
    if method == "rk4":
        return by_rk4(f, y0, orientation * ts)
    relative, absolute, least = tolerances(y0, rtol, atol)
    return at_times(f, y0, orientation * ts, relative, absolute, least, max_steps)


def _odeint(
    mode: Mode, f: Any, y0: Any, ts: Any, *args: Any, rtol: float | None = None, atol: float | None = None,
    method: str = "dopri5", adjoint: str = "discrete", max_steps: int = 10_000,
) -> Any:  # fmt: skip
    if method not in _METHODS:
        raise ValueError(f"`odeint` has no method {method!r}; it has {', '.join(map(repr, _METHODS))}")
    if adjoint not in ("discrete", "continuous"):
        raise ValueError(f"the adjoint of `odeint` is 'discrete' or 'continuous', not {adjoint!r}")
    start = mode.call(flat, y0, "`y0` of `odeint`")
    like = mode.constant(itself, y0)
    times = mode.call(as_times, ts, start)
    equation = on_states(mode, f, like, args, "the slope that the function of `odeint` returns")
    orientation = mode.call(direction, times)
    options = (method, rtol, atol, max_steps)
    if adjoint == "discrete":
        rows = mode.call(_integrated, forwards(mode, equation, orientation), start, times, orientation, *options)
    else:
        rows = _with_continuous_adjoint(mode, equation, start, times, orientation, options)
    return mode.call(shaped, rows, like)


# ------------------------------------------------------------------------------------------------ continuous adjoint
def _with_continuous_adjoint(mode: Mode, equation: Any, y0: Any, ts: Any, orientation: Any, options: Any) -> Any:
    """The states, whose pullback is another differential equation, run backwards in time: nothing is kept of the steps.

    Its state is y, the cotangent a of y, and the cotangents of what the equation captures.
    """
    first = mode.constant(_first, ts)
    closed, captured = mode.closed_over(equation, [mode.constant(itself, y0), first], "odeint")
    here = mode.function(lambda y, t: mode.call(closed, captured, y, t))
    rows = mode.constant(_integrated, forwards(mode, here, orientation), y0, ts, orientation, *options)

    def rule(value: Any, y0: Any, ts: Any, *rest: Any) -> list[Any]:
        *theta, out, dout = rest

        def backwards(state: Any, t: Any) -> Any:
            y, a, _ = mode.call(_parts, state, y0)
            slope = mode.call(closed, theta, y, t)
            by_y, *by_theta = pulled_back(mode, lambda y, *c: mode.call(closed, list(c), y, t), [y, *theta], a)
            return mode.call(_joined, slope, by_y, by_theta)

        slopes = mode.function(lambda y, t: mode.call(closed, theta, y, t))
        equation = forwards(mode, mode.function(backwards), mode.call(_times, orientation, -1.0))
        dy, dts, dtheta = mode.call(_swept, equation, slopes, out, dout, ts, theta, orientation, *options)
        return [None, dy, dts, *mode.call(_apart, dtheta, theta)]

    return mode.with_rule(rule, rows, [y0, ts, *captured], rule, "odeint", reverse_only=_INSTEAD)


@from_source
def _first(ts: Any) -> Any:
    return ts[0]


@from_source
def _parts(state: Any, y0: Any) -> Any:
    n = y0.shape[0]
    return state[:n], state[n : 2 * n], state[2 * n :]


@from_source
def _joined(slope: Any, by_y: Any, by_theta: Any) -> Any:
    return ops.concat([slope, -by_y, *[-g.reshape(-1) for g in by_theta]])


@from_source
def _apart(g: Any, like: Any) -> Any:
    return shaped(g, list(like)) if len(like) > 0 else []


@from_source
def _swept(
    f: Any, slopes: Any, out: Any, dout: Any, ts: Any, theta: Any, orientation: Any, method: str, rtol: Any, atol: Any,
    max_steps: int,
) -> Any:  # fmt: skip
    """The cotangents of the first state, of the times and of the rest: from the last time to the first."""
    n = ts.shape[0]
    a = dout[n - 1]
    size = sum([x.size for x in theta])
    gathered = ops.zeros((size,), a.dtype)
    rows = ops.zeros((n,), a.dtype)
    for i in keep(range(n - 1, 0, -1)):
        state = ops.concat([out[i], a, gathered])
        back = -orientation * ops.stack([ts[i], ts[i - 1]])
        relative, absolute, least = tolerances(state, rtol, atol)
        if method == "rk4":
            end = by_rk4(f, state, back)[1]
        else:
            end = at_times(f, state, back, relative, absolute, least, max_steps)[1]
        rows[i] = (dout[i] * slopes(out[i], ts[i])).sum()
        m = a.shape[0]
        a = end[m : 2 * m] + dout[i - 1]
        gathered = end[2 * m :]
    through = a - dout[0]
    rows[0] = -(through * slopes(out[0], ts[0])).sum()
    return a, rows, gathered


@runs_eagerly
def odeint(
    f: Any, y0: Any, ts: Any, *args: Any, rtol: float | None = None, atol: float | None = None,
    method: str = "dopri5", adjoint: str = "discrete", max_steps: int = 10_000,
) -> Any:  # fmt: skip
    """The solution of ``dy/dt = f(y, t, *args)`` with ``y(ts[0]) = y0``, at the times `ts`.

    y is a Tensor or a tree of Tensors; what is returned has one more dimension in front, for the times, which increase
    or decrease.  `method` is "dopri5" (steps as large as `rtol` and `atol` allow) or "rk4" (a step from time to time).
    Derivatives by `y0`, `ts`, `args` and what `f` captures: the "discrete" adjoint differentiates the steps taken and
    keeps them, the "continuous" one integrates the adjoint equation backwards, keeps nothing, and is for reverse mode.
    Times that are not reached (after `max_steps`, or as the step got too small) have states of NaN, and so have those
    in no order.

    >>> from autodiff_compiler import Tensor
    >>> ys = odeint(lambda y, t: -y, Tensor(1.0), Tensor([0.0, 1.0, 2.0]))
    >>> [round(y, 4) for y in ys.tolist()]
    [1.0, 0.3679, 0.1353]
    """
    return _odeint(EAGER, f, y0, ts, *args, rtol=rtol, atol=atol, method=method, adjoint=adjoint, max_steps=max_steps)


odeint.__graph_call__ = lambda ctx, args, kwargs: _odeint(Compiled(ctx), *args, **kwargs)  # type: ignore[attr-defined]
