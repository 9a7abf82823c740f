"""The product of a Hessian with a vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import special

from ..case import Arrays, Call, Case, Formula
from ..frameworks import blocking, put, vocabulary
from . import logistic, rosenbrock


def rosenbrock_by_hand(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    a, b = x[:-1], x[1:]
    found = np.zeros_like(x)
    found[:-1] = (1200.0 * a * a - 400.0 * b + 2.0) * v[:-1] - 400.0 * a * v[1:]
    found[1:] += 200.0 * v[1:] - 400.0 * a * v[:-1]
    return found


def product(name: str, formula: Formula, before: Callable[[], Arrays], x: Callable[[], Arrays], by_hand: Any) -> Case:
    """Of a loss by its last argument; `before` makes the others, `x` that argument and the vector."""

    def function(column: str) -> Callable[..., Any]:
        f, others = formula(vocabulary(column)), put(column, before())
        return (lambda x: f(*others, x)) if others else f

    def ours(column: str) -> Call:
        import autodiff_compiler as ms

        f = function(column)

        def hvp(x: Any, v: Any) -> Any:
            return ms.hvp(f, x, v)

        return Call(hvp if column == "eager" else ms.jit(hvp), *put(column, x()))

    def jax() -> Call:
        import jax

        f = function("jax")
        return Call(blocking(lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1]), *put("jax", x()))

    def torch() -> Callable[[], Any]:
        import torch

        f, (at, v) = function("torch"), put("torch", x())
        at.requires_grad_()

        def call() -> Any:
            (gradient,) = torch.autograd.grad(f(at), at, create_graph=True)
            return torch.autograd.grad(gradient, at, v)

        return call

    def autograd() -> Call:
        import autograd

        return Call(autograd.hessian_vector_product(function("autograd")), *x())

    def hand() -> Call:
        others = before()
        return Call(lambda x, v: by_hand(*others, x, v), *x())

    def reference() -> Arrays:
        return [by_hand(*(a.astype(np.float64) for a in [*before(), *x()]))]

    makers = {
        "compiled": lambda: ours("numpy"), "eager": lambda: ours("eager"), "jax": jax, "torch": torch,
        "autograd": autograd, "hand": hand,
    }  # fmt: skip
    absent = {"torch.compile": "has no second derivatives of compiled functions"}
    return Case(name, makers, reference, absent=absent, threads=(1,))


def logistic_by_hand(x: Any, y: Any, w: Any, v: Any) -> Any:
    p = special.expit((x @ w) * y)
    return x.T @ (p * (1 - p) * (x @ v)) / len(y)


def logistic_data() -> Arrays:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1000, 100)), np.where(rng.random(1000) < 0.5, 1.0, -1.0)]


def cases() -> Iterator[Case]:
    def vectors() -> Arrays:
        rng = np.random.default_rng(3)
        return [rng.uniform(-0.3, 0.3, 100), rng.standard_normal(100)]

    yield product("H v of Rosenbrock n=100", rosenbrock.formula, list, vectors, rosenbrock_by_hand)
    yield product("H v of logistic regression 1,000 x 100", logistic.formula, logistic_data, vectors, logistic_by_hand)
