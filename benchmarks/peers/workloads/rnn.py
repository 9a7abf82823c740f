"""A recurrent network over 100 steps, with its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Arrays, Case, derivative

STEPS, BATCH, INPUTS, HIDDEN = 100, 16, 32, 64


def formula(m: Any) -> Callable[..., Any]:
    def loss(x: Any, wx: Any, wh: Any, b: Any) -> Any:
        h = m.tanh(x[0] @ wx + b)
        for t in range(1, STEPS):
            h = m.tanh(x[t] @ wx + h @ wh + b)
        return (h * h).mean()

    return loss


def scanned(m: Any) -> Callable[..., Any]:
    import jax

    def loss(x: Any, wx: Any, wh: Any, b: Any) -> Any:
        def one(h: Any, row: Any) -> Any:
            return m.tanh(row @ wx + h @ wh + b), None

        h, _ = jax.lax.scan(one, m.tanh(x[0] @ wx + b), x[1:])
        return (h * h).mean()

    return loss


def by_hand(x: Any, wx: Any, wh: Any, b: Any) -> tuple[Any, ...]:
    states = [np.tanh(x[0] @ wx + b)]
    for t in range(1, STEPS):
        states.append(np.tanh(x[t] @ wx + states[-1] @ wh + b))
    h = states[-1]
    d = 2 * h / h.size
    dwx, dwh, db = np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b)
    for t in range(STEPS - 1, -1, -1):
        d = d * (1 - states[t] * states[t])
        dwx += x[t].T @ d
        db += d.sum(0)
        if t:
            dwh += states[t - 1].T @ d
            d = d @ wh.T
    return (h * h).mean(), dwx, dwh, db


def given() -> Arrays:
    rng = np.random.default_rng(0)
    shapes = ((STEPS, BATCH, INPUTS), (INPUTS, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN,))
    scales = (1, INPUTS**-0.5, HIDDEN**-0.5, 0.1)
    return [(scale * rng.standard_normal(s)).astype(np.float32) for scale, s in zip(scales, shapes, strict=True)]


def cases() -> Iterator[Case]:
    yield derivative(
        f"RNN of {STEPS} steps, batch {BATCH}, {INPUTS} to {HIDDEN}", formula, given, (1, 2, 3), by_hand,
        formulas={"jax": scanned}, absent={"torch.compile": "unrolls the loop and takes minutes"},
    )  # fmt: skip
