"""Logistic regression: one matrix product each way, which memory limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import special

from ..case import Arrays, Case, derivative


def formula(m: Any) -> Callable[..., Any]:
    """The mean of log(1 + exp(-y x.w)); classes y are 1 and -1."""

    def loss(x: Any, y: Any, w: Any) -> Any:
        z = (x @ w) * y
        return m.logaddexp(-z, z * 0.0).mean()

    return loss


def by_hand(x: Any, y: Any, w: Any) -> tuple[Any, Any]:
    z = (x @ w) * y
    return np.logaddexp(0, -z).mean(), x.T @ (-y * special.expit(-z) / len(y))


def cases() -> Iterator[Case]:
    for n, columns, dtype in ((100_000, 100, "float32"), (100_000, 100, "float64")):

        def given(n: int = n, columns: int = columns, dtype: str = dtype) -> Arrays:
            rng = np.random.default_rng(0)
            x, w = rng.standard_normal((n, columns)), rng.standard_normal(columns) / columns**0.5
            y = np.where(rng.random(n) < special.expit(x @ w), 1.0, -1.0)
            return [a.astype(dtype) for a in (x, y, 0.5 * w)]

        yield derivative(f"logistic regression {n:,} x {columns} {dtype}", formula, given, (2,), by_hand)
