"""`root`, `fixed_point` and `argmin`: places that an equation defines, and their derivatives.

Where ``F(x, theta) = 0`` defines x, its differential is ``-J^-1 dF`` with the Jacobian J by x.  The pullback solves one
linear system with the transposed Jacobian, at the place found, and pulls the solution back through F by theta.  That
rule is made of differentiable parts (`linear_solve`, and the place itself), so that derivatives of every order follow.
"""

from __future__ import annotations

from typing import Any

from ..runtime.tensor import Tensor
from ..transforms.grad import grad
from ..transforms.jvp import jvp
from .flat import Solution, default_tolerance, flat, itself, on_vectors, or_nan, scaled, shaped
from .linear import SOLVERS, Operator, Options, method_for, pulled_back, solved
from .modes import EAGER, Compiled, Mode, from_source, runs_eagerly
from .searches import anderson, bfgs, broyden, iterate, minimise, newton, newton_krylov

_ROOT = {"newton": newton, "newton_krylov": newton_krylov, "broyden": broyden}
_FIXED = {"iterate": iterate, "anderson": anderson}
_ARGMIN = {"newton": minimise, "bfgs": bfgs}


def _found(
    mode: Mode, what: str, search: Any, searched: Any, equation: Any, captured: list[Any], start: Any,
    tol: float | None, max_steps: int, solver: str | None, throw: bool,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """What a search finds, with derivatives: x with ``equation(captured, x) = 0``."""
    limit = mode.call(default_tolerance, start) if tol is None else tol

    def to_search(v: Any) -> Any:
        return mode.call(searched, captured, v)

    x, steps, residual, converged = mode.constant(search, mode.function(to_search), start, limit, max_steps)
    if throw:
        mode.call(_require, converged, what, max_steps)

    def rule(value: Any, *rest: Any) -> list[Any]:
        *theta, out, dout = rest
        g = mode.call(or_nan, dout, converged)
        chosen = Options(method_for(mode, solver, value, SOLVERS, what), mode.call(default_tolerance, value), 1000)
        u, *_ = solved(mode, _jacobian(mode, equation).transposed, g, [out, *theta], chosen, reliable=converged)
        minus = mode.call(scaled, u, -1.0)
        return [None, *pulled_back(mode, lambda *c: mode.call(equation, list(c), out), theta, minus)]

    return mode.with_rule(rule, x, captured, rule, what), converged, steps, residual


def _jacobian(mode: Mode, equation: Any) -> Operator:
    """The Jacobian of ``equation(captured, x)`` by x, as an operator that captures x and the rest."""

    def place(captured: Any, like: Any) -> tuple[Any, Any]:
        return mode.function(lambda x: mode.call(equation, list(captured[1:]), x)), captured[0]

    def forward(captured: Any, v: Any) -> Any:
        return mode.call(jvp, *place(captured, v), v)[1]

    return Operator(mode, forward).with_pullback(place)


@from_source
def _require(converged: Any, what: str, max_steps: int) -> None:
    if ~converged:
        raise ArithmeticError(f"`{what}` did not converge within {max_steps} steps")


@from_source
def _difference(a: Any, b: Any) -> Any:
    return a - b


def _result_of(what: str) -> str:
    return f"the result of the function of `{what}`"


def _method(methods: dict[str, Any], method: str, what: str) -> Any:
    if method not in methods:
        raise ValueError(f"`{what}` has no method {method!r}; it has {', '.join(map(repr, methods))}")
    return methods[method]


def _begun(mode: Mode, x0: Any, what: str) -> tuple[Any, Any]:
    """Where a search starts, as a tree and as a vector; no derivative goes through either."""
    like = mode.constant(itself, x0)
    return like, mode.constant(flat, like, f"`x0` of `{what}`")


# ------------------------------------------------------------------------------------------------ root
def _root(
    mode: Mode, f: Any, x0: Any, *args: Any, method: str = "newton", tol: float | None = None, max_steps: int = 100,
    solver: str | None = None, throw: bool = False,
) -> Solution:  # fmt: skip
    search = _method(_ROOT, method, "root")
    like, start = _begun(mode, x0, "root")
    closed, captured = mode.closed_over(on_vectors(mode, f, like, args, _result_of("root")), [start], "root")
    x, *how = _found(mode, "root", search, closed, closed, captured, start, tol, max_steps, solver, throw)
    return Solution(mode.call(shaped, x, like), *how)


@runs_eagerly
def root(
    f: Any, x0: Any, *args: Any, method: str = "newton", tol: float | None = None, max_steps: int = 100,
    solver: str | None = None, throw: bool = False,
) -> Solution:  # fmt: skip
    """The x near `x0` with ``f(x, *args) = 0``, with derivatives of every order.

    x is a Tensor or a tree of Tensors, `f` returns its like.  `method` is "newton" (with the whole Jacobian),
    "newton_krylov" (without it, for many unknowns) or "broyden" (the Jacobian once).  It ends when a step is below
    ``tol * norm(x)``.  Derivatives by `args` and by all that `f` captures (Tensors, Parameters) are those of the
    implicit function theorem: linear solves at x by `solver` ("direct", "gmres", "cg"), nothing of the steps is kept; x
    does not depend on `x0`.  Where it did not converge they are NaN; with `throw` that raises ArithmeticError.

    >>> from autodiff_compiler import Tensor, grad
    >>> grad(lambda a: root(lambda x: x * x - a, Tensor(1.0)).value)(Tensor(4.0)).tolist()
    0.25
    """
    return _root(EAGER, f, x0, *args, method=method, tol=tol, max_steps=max_steps, solver=solver, throw=throw)


# ------------------------------------------------------------------------------------------------ fixed points
def _fixed_point(
    mode: Mode, f: Any, x0: Any, *args: Any, method: str = "iterate", tol: float | None = None, max_steps: int = 1000,
    solver: str | None = None, throw: bool = False,
) -> Solution:  # fmt: skip
    what = "fixed_point"
    search = _method(_FIXED, method, what)
    like, start = _begun(mode, x0, what)
    closed, captured = mode.closed_over(on_vectors(mode, f, like, args, _result_of(what)), [start], what)
    equation = mode.function(lambda c, x: mode.call(_difference, mode.call(closed, c, x), x))
    x, *how = _found(mode, what, search, closed, equation, captured, start, tol, max_steps, solver, throw)
    return Solution(mode.call(shaped, x, like), *how)


@runs_eagerly
def fixed_point(
    f: Any, x0: Any, *args: Any, method: str = "iterate", tol: float | None = None, max_steps: int = 1000,
    solver: str | None = None, throw: bool = False,
) -> Solution:  # fmt: skip
    """The x with ``x = f(x, *args)`` that is found from `x0`, with derivatives of every order.

    `method` is "iterate" or "anderson", which needs fewer steps where `f` contracts slowly.  It ends when
    ``norm(f(x) - x)`` is below ``tol * (1 + norm(x))``.  The rest is as for `root`.

    >>> from autodiff_compiler import Tensor, ops
    >>> round(fixed_point(ops.cos, Tensor(1.0)).value.item(), 4)
    0.7391
    """
    return _fixed_point(EAGER, f, x0, *args, method=method, tol=tol, max_steps=max_steps, solver=solver, throw=throw)


# ------------------------------------------------------------------------------------------------ minima
def _argmin(
    mode: Mode, f: Any, x0: Any, *args: Any, method: str = "newton", tol: float | None = None, max_steps: int = 200,
    solver: str | None = None, throw: bool = False,
) -> Solution:  # fmt: skip
    search = _method(_ARGMIN, method, "argmin")
    like, start = _begun(mode, x0, "argmin")
    objective = mode.function(lambda v: mode.call(_number, mode.call(f, mode.call(shaped, v, like), *args)))
    closed, captured = mode.closed_over(objective, [start], "argmin")

    def slope(c: Any, v: Any) -> Any:
        return mode.call(mode.call(grad, mode.function(lambda x: mode.call(closed, c, x))), v)

    equation = mode.function(slope)
    x, *how = _found(mode, "argmin", search, closed, equation, captured, start, tol, max_steps, solver, throw)
    return Solution(mode.call(shaped, x, like), *how)


@from_source
def _number(y: Any) -> Any:
    if not isinstance(y, Tensor):
        raise TypeError(f"the function of `argmin` returns a Tensor, not a {type(y).__name__}")
    if len(y.shape) > 0:
        raise TypeError(
            f"the function of `argmin` returns one number, not a Tensor of shape {list(y.shape)}: take its `.sum()`"
        )
    return y


@runs_eagerly
def argmin(
    f: Any, x0: Any, *args: Any, method: str = "newton", tol: float | None = None, max_steps: int = 200,
    solver: str | None = None, throw: bool = False,
) -> Solution:  # fmt: skip
    """The x near `x0` where the number ``f(x, *args)`` is least, with derivatives of every order.

    `method` is "newton" (with the whole Hessian) or "bfgs".  The derivatives are those of the place where the slope of
    `f` is zero; `residual` is the norm of the slope.  The rest is as for `root`.

    >>> from autodiff_compiler import Tensor, grad
    >>> grad(lambda a: argmin(lambda x: (x - a) ** 2 + x * x, Tensor(0.0)).value)(Tensor(3.0)).tolist()
    0.5
    """
    return _argmin(EAGER, f, x0, *args, method=method, tol=tol, max_steps=max_steps, solver=solver, throw=throw)


for _function, _run in ((root, _root), (fixed_point, _fixed_point), (argmin, _argmin)):
    _function.__graph_call__ = lambda ctx, args, kwargs, _run=_run: _run(Compiled(ctx), *args, **kwargs)  # type: ignore[attr-defined]
