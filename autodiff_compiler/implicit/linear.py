"""`linear_solve`: the solution of a linear system whose matrix is a function, and its derivatives.

The derivative of ``x = A^-1 b`` is ``A^-1 (db - dA x)``, the pullback ``u = A^-T g``, with ``u`` for b and ``-u x^T``
for A: linear solves again, with the transposed function, which is the pullback of the function.  So derivatives of
every order are solves, no search is differentiated, and nothing of its steps is kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import ops
from ..ir.primitive import F
from ..runtime.tensor import Tensor
from ..transforms.jacobian import jacfwd
from ..transforms.vjp import vjp
from .flat import Solution, default_tolerance, flat, itself, on_vectors, or_nan, scaled, shaped
from .modes import EAGER, Compiled, Mode, from_source, runs_eagerly

#: Systems up to this size are solved by elimination where nothing else is asked for.
SMALL = 64
#: How many directions `gmres` keeps before it begins again.
_RESTART = 20


class Options(NamedTuple):
    """How a linear system is solved."""

    method: str
    tol: float
    max_steps: int


class Operator:
    """A linear function of a vector, ``operator(captured, v)``, and the transposed one.

    `prepared`: of what it captures and a vector like v, the same function for many calls.
    """

    def __init__(self, mode: Mode, apply: Any, prepared: Any = None, transposed: Operator | None = None) -> None:
        self.mode, self._apply, self._prepared, self._transposed = mode, apply, prepared, transposed

    def __call__(self, captured: Any, v: Any) -> Any:
        return self._apply(captured, v)

    def at(self, captured: Any, like: Any) -> Any:
        """The function of a vector alone."""
        if self._prepared is not None:
            return self._prepared(captured, like)
        return self.mode.function(lambda v: self._apply(captured, v))

    @property
    def transposed(self) -> Operator:
        if self._transposed is None:

            def place(captured: Any, like: Any) -> tuple[Any, Any]:
                return self.at(captured, like), self.mode.call(zeros, like)

            self.with_pullback(place)
        assert self._transposed is not None
        return self._transposed

    def with_pullback(self, place: Any) -> Operator:
        """The same operator, whose transposed is the pullback of a function at a point: those of `place`."""

        def prepared(captured: Any, like: Any) -> Any:
            _, pull = self.mode.call(vjp, *place(captured, like))
            return self.mode.function(lambda w: self.mode.call(pull, w)[0])

        def apply(captured: Any, w: Any) -> Any:
            return self.mode.call(prepared(captured, w), w)

        self._transposed = Operator(self.mode, apply, prepared, self)
        return self


def solved(
    mode: Mode, operator: Operator, b: Any, captured: list[Any], options: Options, start: Any = None,
    reliable: Any = None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The solution of ``operator(captured, x) = b``, whether it converged, the number of steps and the residual.

    `reliable` is given in rules: whether the solution that they are of converged.  There a solution that did not is NaN
    itself.
    """

    method, tol, max_steps = options
    first = mode.constant(zeros, b) if start is None else start

    def search(b: Any, first: Any) -> Any:
        return mode.call(_SEARCHES[method], operator.at(captured, b), b, first, tol, max_steps)

    x, iterations, residual, converged = mode.constant(mode.function(search), b, first)
    if reliable is None:
        reliable = converged
    else:
        x = mode.call(or_nan, x, converged)

    def rule(value: Any, b: Any, *rest: Any) -> list[Any]:
        *captured, out, dout = rest
        g = mode.call(or_nan, dout, reliable)
        u, *_ = solved(mode, operator.transposed, g, captured, options, reliable=reliable)
        minus = mode.call(scaled, u, -1.0)
        return [None, u, *pulled_back(mode, lambda *c: operator(list(c), out), captured, minus)]

    x = mode.with_rule(operator, x, [b, *captured], rule, "linear_solve", linear=True)
    return x, converged, iterations, residual


def pulled_back(mode: Mode, fn: Any, at: list[Any], g: Any) -> list[Any]:
    """The cotangents of the arguments of a function, for that of its result."""
    if not at:
        return []
    _, pull = mode.call(vjp, mode.function(fn), *at)
    return list(mode.call(pull, g))


# ------------------------------------------------------------------------------------------------ searches
@from_source
def zeros(v: Any) -> Any:
    return ops.zeros_like(v)


@from_source
def norm(v: Any) -> Any:
    return ops.norm(v)


def eliminated(matrix: Any, b: Any) -> Any:
    """The solution by elimination; NaN where the matrix is singular.

    Not `ops.solve`: its check stays in a program whatever becomes of the solution.
    """
    columns = F.reshape(b, shape=(*b.shape, 1)) if len(b.shape) == 1 else b
    return F.reshape(F.solve(matrix, columns), shape=b.shape)


@from_source
def _direct(matvec: Any, b: Any, start: Any, tol: float, max_steps: int) -> Any:
    matrix = jacfwd(matvec)(ops.zeros_like(b))
    x = eliminated(matrix, b)
    residual = norm(b - matvec(x))
    # what is not linear leaves a residual
    return x, ops.ones_like(residual).astype("int32"), residual, residual <= 1e-3 * norm(b)


@from_source
def _cg(matvec: Any, b: Any, start: Any, tol: float, max_steps: int) -> Any:
    x = start
    r = b - matvec(x)
    p = r
    rr = (r * r).sum()
    limit = tol * tol * (b * b).sum()
    k = ops.zeros_like(rr).astype("int32")
    while (rr > limit) & (k < max_steps):
        ap = matvec(p)
        alpha = rr / (p * ap).sum()
        x = x + alpha * p
        r = r - alpha * ap
        new = (r * r).sum()
        p = r + (new / rr) * p
        rr = new
        k = k + 1
    return x, k, rr**0.5, rr <= limit


@from_source
def _gmres(matvec: Any, b: Any, start: Any, tol: float, max_steps: int) -> Any:
    x = start
    r = b - matvec(x)
    size = norm(r)
    limit = tol * norm(b)
    k = ops.zeros_like(size).astype("int32")
    best = size * 2 + 1
    while (size > limit) & (k < max_steps) & (size < best):
        best = size
        x = x + _cycle(matvec, r, size)
        r = b - matvec(x)
        size = norm(r)
        k = k + _RESTART
    return x, k, size, size <= tol**0.5 * norm(b)


@from_source
def krylov(matvec: Any, b: Any) -> Any:
    """About the solution, for a step of a search: one cycle of GMRES from zero, and another one."""
    size = norm(b)
    x = _cycle(matvec, b, size)
    r = b - matvec(x)
    return x + _cycle(matvec, r, norm(r))


@from_source
def _cycle(matvec: Any, r: Any, size: Any) -> Any:
    """The best step in the space of `_RESTART` powers of the operator on the residual."""
    m = min(_RESTART, r.shape[0])
    basis = ops.zeros((m + 1, r.shape[0]), r.dtype)
    basis[0] = r / ops.where(size > 0, size, size + 1)
    columns = ops.zeros((m, m + 1), r.dtype)
    tiny = size * 0 + default_tolerance(r) * 1e-2
    for j in range(m):
        w = matvec(basis[j])
        full = norm(w)
        h = basis @ w
        w = w - h @ basis
        again = basis @ w
        w = w - again @ basis
        h = h + again
        length = norm(w)
        alive = length > tiny * full
        basis[j + 1] = ops.where(alive, w / ops.where(alive, length, length + 1), w * 0)
        h[j + 1] = h[j + 1] + ops.where(alive, length, length * 0)
        columns[j] = h
    dead = (columns * columns).sum(axis=1) <= 0
    columns = columns + ops.where(dead, ops.ones_like(dead.astype(r.dtype)), 0).reshape(m, 1) * ops.eye(
        m, m + 1, r.dtype
    )
    q, upper = ops.qr(columns.T)
    y = eliminated(upper, q[0] * size)
    return y @ basis[:m]


_SEARCHES = {"cg": _cg, "gmres": _gmres, "direct": _direct}
SOLVERS = tuple(_SEARCHES)


# ------------------------------------------------------------------------------------------------ the function
def _linear_solve(
    mode: Mode, operator: Any, b: Any, *args: Any,
    method: str | None = None, x0: Any = None, tol: float | None = None, max_steps: int = 1000,
) -> Solution:  # fmt: skip
    what = "linear_solve"
    v = mode.call(flat, b, "the right side of `linear_solve`")
    chosen = method_for(mode, method, v, SOLVERS, what)
    like = mode.constant(itself, b)
    start = None if x0 is None else mode.constant(flat, x0, "`x0` of `linear_solve`")
    if not callable_in(mode, operator):
        matrix = operator
        operator, args = mode.function(lambda u: mode.call(_product, matrix, u)), ()
    apply = on_vectors(mode, operator, like, args, "the result of the operator of `linear_solve`")
    closed, captured = mode.closed_over(apply, [mode.constant(zeros, v)], what)
    linear = Operator(mode, lambda c, u: mode.call(closed, c, u))
    limit = mode.call(default_tolerance, v) if tol is None else tol
    x, converged, steps, residual = solved(mode, linear, v, captured, Options(chosen, limit, max_steps), start)
    return Solution(mode.call(shaped, x, like), converged, steps, residual)


def callable_in(mode: Mode, x: Any) -> bool:
    """Whether it is a function, not a Tensor."""
    return not (isinstance(x, Tensor) or (isinstance(mode, Compiled) and mode.ctx.is_tensor(x)))


def method_for(mode: Mode, method: str | None, v: Any, known: tuple[str, ...], what: str) -> str:
    """The method asked for; None: elimination for small systems.  ValueError: there is none of that name."""
    if method is None:
        return str(mode.call(_by_size, v))
    if method not in known:
        raise ValueError(f"`{what}` has no linear solver {method!r}; it has {', '.join(map(repr, known))}")
    return method


@from_source
def _by_size(v: Any) -> str:
    return "direct" if v.shape[0] <= SMALL else "gmres"


@from_source
def _product(matrix: Any, v: Any) -> Any:
    return matrix @ v


@runs_eagerly
def linear_solve(
    operator: Any, b: Any, *args: Any,
    method: str | None = None, x0: Any = None, tol: float | None = None, max_steps: int = 1000,
) -> Solution:  # fmt: skip
    """The solution x of ``operator(x, *args) = b``, with derivatives of every order.

    `operator` is a linear function of x, or a matrix; x and `b` are a Tensor or trees of Tensors.  `method` is "cg"
    (for symmetric positive definite operators), "gmres", or "direct" (the matrix is made, and eliminated).  By default
    it is "direct" up to 64 unknowns, "gmres" above.  It ends when the residual is below ``tol * norm(b)``; "gmres" also
    when rounding keeps that from getting smaller, and it has converged below ``sqrt(tol) * norm(b)``.  Derivatives by
    `b`, by `args` and by what the operator captures are linear solves, too; nothing of the steps is kept for them.

    >>> x = linear_solve(lambda x: 2.0 * x, Tensor([4.0, 6.0])).value
    >>> x.tolist()
    [2.0, 3.0]
    """
    return _linear_solve(EAGER, operator, b, *args, method=method, x0=x0, tol=tol, max_steps=max_steps)


linear_solve.__graph_call__ = lambda ctx, args, kwargs: _linear_solve(Compiled(ctx), *args, **kwargs)  # type: ignore[attr-defined]
