"""Searches for zeros, fixed points and minima of functions of vectors.  No derivative goes through them.

Each returns the place, the number of steps, the norm of what shall be zero, and whether it converged.  A comparison
with NaN is false, so a search that meets NaN ends, not converged.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..transforms.grad import grad
from ..transforms.jacobian import jacfwd
from ..transforms.jvp import jvp
from .linear import eliminated, krylov, norm
from .modes import from_source

#: How many earlier points `anderson` mixes.
_HISTORY = 5


@from_source
def _zero_int(size: Any) -> Any:
    return ops.zeros_like(size).astype("int32")


# ------------------------------------------------------------------------------------------------ zeros
@from_source
def newton(f: Any, start: Any, tol: float, max_steps: int) -> Any:
    """Newton's method with the whole Jacobian."""
    return _newton(f, lambda x, fx: eliminated(jacfwd(f)(x), -fx), start, tol, max_steps)


@from_source
def newton_krylov(f: Any, start: Any, tol: float, max_steps: int) -> Any:
    """Newton's method without a matrix: its steps are found by GMRES."""
    return _newton(f, lambda x, fx: krylov(lambda v: jvp(f, x, v)[1], -fx), start, tol, max_steps)


@from_source
def _newton(f: Any, step_at: Any, start: Any, tol: float, max_steps: int) -> Any:
    """Ends with a whole step that is small beside x; steps before it are halved until f gets smaller."""
    x = start
    fx = f(x)
    size = norm(fx)
    k = _zero_int(size)
    small = size <= 0
    while ~small & (k < max_steps) & (size < float("inf")):
        d = step_at(x, fx)
        small = norm(d) <= tol * norm(x + d)
        t = ops.ones_like(size)
        after = f(x + d)
        while (norm(after) > size * (1 - 1e-4 * t)) & ~small & (t > 1e-4):
            t = t / 2
            after = f(x + t * d)
        x = x + t * d
        fx = after
        size = norm(fx)
        small = small | (size <= 0)
        k = k + 1
    return x, k, size, small


@from_source
def broyden(f: Any, start: Any, tol: float, max_steps: int) -> Any:
    """Broyden's first method: the inverse of the Jacobian at the start, corrected by what each step shows."""
    x = start
    fx = f(x)
    size = norm(fx)
    inverse = eliminated(jacfwd(f)(x), ops.eye(x.shape[0], x.shape[0], x.dtype))
    k = _zero_int(size)
    small = size <= 0
    while ~small & (k < max_steps) & (size < float("inf")):
        d = -(inverse @ fx)
        after = f(x + d)
        change = inverse @ (after - fx)
        by = (d * change).sum()
        safe = ops.where(by == 0, ops.ones_like(by), by)
        inverse = inverse + ops.outer(d - change, d @ inverse) * ops.where(by == 0, ops.zeros_like(by), 1 / safe)
        x = x + d
        fx = after
        size = norm(fx)
        small = (norm(d) <= tol * norm(x)) | (size <= 0)
        k = k + 1
    return x, k, size, small & (size < float("inf"))


# ------------------------------------------------------------------------------------------------ fixed points
@from_source
def iterate(f: Any, start: Any, tol: float, max_steps: int) -> Any:
    """x becomes f(x) until it stays."""
    x = start
    fx = f(x)
    size = norm(fx - x)
    k = _zero_int(size)
    while (size > tol * (1 + norm(x))) & (k < max_steps) & (size < float("inf")):
        x = fx
        fx = f(x)
        size = norm(fx - x)
        k = k + 1
    return fx, k, size, size <= tol * (1 + norm(x))


@from_source
def anderson(f: Any, start: Any, tol: float, max_steps: int) -> Any:
    """Anderson's acceleration: the next point is the mixture of the last ones that leaves the smallest residual."""
    x = start
    fx = f(x)
    size = norm(fx - x)
    images = ops.tile(fx.reshape(1, -1), (_HISTORY, 1))
    residuals = ops.tile((fx - x).reshape(1, -1), (_HISTORY, 1))
    k = _zero_int(size)
    while (size > tol * (1 + norm(x))) & (k < max_steps) & (size < float("inf")):
        weights = _mixture(residuals)
        x = weights @ images
        fx = f(x)
        size = norm(fx - x)
        images = ops.concat([images[1:], fx.reshape(1, -1)])
        residuals = ops.concat([residuals[1:], (fx - x).reshape(1, -1)])
        k = k + 1
    return fx, k, size, size <= tol * (1 + norm(x))


@from_source
def _mixture(residuals: Any) -> Any:
    """Weights with the sum 1 for which the mixture of the residuals is about the smallest."""
    gram = residuals @ residuals.T
    least = 1e-10 if "64" in str(gram.dtype) else 1e-5
    eye = ops.eye(_HISTORY, _HISTORY, gram.dtype)
    scale = (gram * eye).sum()
    found = eliminated(gram / ops.where(scale > 0, scale, scale + 1) + least * eye, ops.ones_like(gram[0]))
    return found / found.sum()


# ------------------------------------------------------------------------------------------------ minima
@from_source
def minimise(f: Any, start: Any, tol: float, max_steps: int) -> Any:
    """Newton's method with the whole Hessian; where its step leads upwards, the negative gradient instead."""
    slope = grad(f)
    x = start
    g = slope(x)
    size = norm(g)
    k = _zero_int(size)
    small = size <= 0
    while ~small & (k < max_steps) & (size < float("inf")):
        d = eliminated(jacfwd(slope)(x), -g)
        d = ops.where((d * g).sum() <= 0, d, -g)
        small = norm(d) <= tol * norm(x + d)
        x = x + d * ops.where(small, ops.ones_like(size), _downhill(f, x, d, (d * g).sum()))
        g = slope(x)
        size = norm(g)
        small = small | (size <= 0)
        k = k + 1
    return x, k, size, small


@from_source
def bfgs(f: Any, start: Any, tol: float, max_steps: int) -> Any:
    """The method of Broyden, Fletcher, Goldfarb and Shanno, which learns the inverse of the Hessian."""
    slope = grad(f)
    x = start
    g = slope(x)
    size = norm(g)
    limit = tol * (1 + size)
    eye = ops.eye(x.shape[0], x.shape[0], x.dtype)
    inverse = eye
    k = _zero_int(size)
    moved = size >= 0
    while (size > limit) & (k < max_steps) & moved & (size < float("inf")):
        d = -(inverse @ g)
        t = _downhill(f, x, d, (d * g).sum())
        s = t * d
        new = slope(x + s)
        y = new - g
        sy = (s * y).sum()
        curved = sy > 0
        by = ops.where(curved, 1 / ops.where(curved, sy, ops.ones_like(sy)), ops.zeros_like(sy))
        left = eye - by * ops.outer(s, y)
        inverse = left @ inverse @ left.T + by * ops.outer(s, s)
        moved = norm(s) > 0
        x = x + s
        g = new
        size = norm(g)
        k = k + 1
    return x, k, size, size <= limit


@from_source
def _downhill(f: Any, x: Any, d: Any, slope: Any) -> Any:
    """The longest of 1, 1/2, 1/4, ... for which a step along d brings f down by a part of what its slope promises."""
    t = ops.ones_like(slope)
    fx = f(x)
    room = 1e-14 if "64" in str(fx.dtype) else 1e-6
    while (f(x + t * d) > fx + 1e-4 * t * slope + room * fx.abs()) & (t > 1e-10):
        t = t / 2
    return t
