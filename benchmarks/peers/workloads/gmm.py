"""The objective of ADBench for mixtures of Gaussians: log-likelihood and Wishart prior, by all parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import special

from ..case import Arrays, Case, derivative

GAMMA, FREEDOM = 1.0, 0
#: d, K, n: dimensions, components, points.
SIZES = ((10, 5, 1_000), (10, 25, 1_000), (64, 5, 1_000), (10, 25, 10_000), (64, 25, 10_000))


def lower(d: int) -> np.ndarray:
    """For each place of a d x d matrix the parameter below the diagonal that stands there, counted from 1; else 0."""
    places = np.zeros((d, d), np.int64)
    start = 1
    for j in range(d):
        places[j + 1 :, j] = np.arange(start, start + d - j - 1)
        start += d - j - 1
    return places.ravel()


def constant(d: int, k: int, n: int) -> float:
    """What does not depend on parameters."""
    freedom = d + FREEDOM + 1
    wishart = freedom * d * (math.log(GAMMA) - 0.5 * math.log(2)) - float(special.multigammaln(0.5 * freedom, d))
    return -0.5 * n * d * math.log(2 * math.pi) + k * wishart


def formula_of(d: int, k: int, n: int) -> Callable[[Any], Callable[..., Any]]:
    places, rest = lower(d), constant(d, k, n)

    def formula(m: Any) -> Callable[..., Any]:
        def objective(x: Any, unit: Any, alphas: Any, means: Any, factors: Any) -> Any:
            """`x` [d, n] are the points, `unit` is the unit matrix; `factors` [K, d (d + 1) / 2]."""
            logs, below = factors[:, :d], factors[:, d:]
            diagonals = m.exp(logs)
            padded = m.concatenate((alphas.reshape(k, 1) * 0.0, below), 1)
            matrices = m.columns(padded, places).reshape(k, d, d) + unit * diagonals.reshape(k, 1, d)
            y = matrices @ (x - means.reshape(k, d, 1))
            inner = alphas.reshape(k, 1) + logs.sum(1).reshape(k, 1) - 0.5 * (y * y).sum(1)
            prior = 0.5 * GAMMA**2 * ((diagonals * diagonals).sum() + (below * below).sum()) - FREEDOM * logs.sum()
            return m.logsumexp(inner, 0).sum() - n * m.logsumexp(alphas, 0) - prior + rest

        return objective

    return formula


def by_hand_of(d: int, k: int, n: int) -> Callable[..., Any]:
    places, rest = lower(d).reshape(d, d), constant(d, k, n)
    below_diagonal = np.nonzero(places)

    def by_hand(x: Any, unit: Any, alphas: Any, means: Any, factors: Any) -> tuple[Any, ...]:
        logs, below = factors[:, :d], factors[:, d:]
        diagonals = np.exp(logs)
        matrices = np.concatenate((np.zeros((k, 1)), below), 1)[:, places] + unit * diagonals[:, None, :]
        centred = x - means[:, :, None]
        y = matrices @ centred
        inner = alphas[:, None] + logs.sum(1)[:, None] - 0.5 * (y * y).sum(1)
        total = special.logsumexp(inner, 0)
        prior = 0.5 * GAMMA**2 * ((diagonals**2).sum() + (below**2).sum()) - FREEDOM * logs.sum()
        value = total.sum() - n * special.logsumexp(alphas) - prior + rest

        weights = np.exp(inner - total)
        shares = weights.sum(1)
        weighted = y * weights[:, None, :]
        d_means = (np.swapaxes(matrices, 1, 2) @ weighted).sum(2)
        d_matrices = -weighted @ np.swapaxes(centred, 1, 2)
        d_logs = shares[:, None] + FREEDOM
        d_logs = d_logs + (np.diagonal(d_matrices, axis1=1, axis2=2) - GAMMA**2 * diagonals) * diagonals
        d_below = np.empty_like(below)
        d_below[:, places[below_diagonal] - 1] = d_matrices[:, below_diagonal[0], below_diagonal[1]]
        d_alphas = shares - n * special.softmax(alphas)
        return value, d_alphas, d_means, np.concatenate((d_logs, d_below - GAMMA**2 * below), 1)

    return by_hand


def cases() -> Iterator[Case]:
    for d, k, n in SIZES:

        def given(d: int = d, k: int = k, n: int = n) -> Arrays:
            rng = np.random.default_rng(0)
            shapes = ((k,), (k, d), (k, d * (d + 1) // 2))
            return [rng.standard_normal((d, n)), np.eye(d), *(0.3 * rng.standard_normal(s) for s in shapes)]

        large = d * k * n > 2_000_000
        absent = {"autograd": "takes gigabytes"} if large else {}
        yield derivative(
            f"GMM d={d} K={k} n={n:,}", formula_of(d, k, n), given, (2, 3, 4), by_hand_of(d, k, n),
            absent=absent, rounds=3 if large else 1000,
        )  # fmt: skip
