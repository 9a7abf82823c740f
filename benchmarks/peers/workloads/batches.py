"""A network's value and gradients for 24 batch sizes that are new each: what a loader with ragged batches does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Arrays, Case
from ..frameworks import arrays_of, put, uncached, vocabulary
from .mlp import LARGE

BATCHES = range(8, 200, 8)


def all_of(derivative: Callable[..., Any], column: str) -> Callable[[], Any]:
    parameters = put(column, LARGE.parameters(), gradients=True)
    data = [put(column, LARGE.data(batch)) for batch in BATCHES]
    return lambda: [derivative(*pair, *parameters) for pair in data]


def torch(column: str) -> Callable[[], Any]:
    import torch

    loss = LARGE.loss(vocabulary(column))
    if column != "torch":
        torch._dynamo.reset()
        torch._inductor.config.force_disable_caches = True
        loss = torch.compile(loss)  # it finds out by itself that the sizes change

    def derivative(x: Any, t: Any, *parameters: Any) -> Any:
        value = loss(x, t, *parameters)
        return value, torch.autograd.grad(value, parameters)

    return all_of(derivative, column)


def eager() -> Callable[[], Any]:
    import autodiff_compiler as ms

    wanted = tuple(range(2, 2 + len(LARGE.parameters())))
    return all_of(ms.value_and_grad(LARGE.loss(vocabulary("eager")), wanted), "eager")


def reference() -> Arrays:
    parameters = [p.astype(np.float64) for p in LARGE.parameters()]
    results = [LARGE.by_hand(*(a.astype(np.float64) for a in LARGE.data(batch)), *parameters) for batch in BATCHES]
    return arrays_of(results)


def cases() -> Iterator[Case]:
    makers = {
        "compiled": lambda: uncached(all_of(LARGE.value_and_gradients("numpy"), "numpy")),
        "eager": eager,
        "jax": lambda: all_of(LARGE.value_and_gradients("jax"), "jax"),
        "torch": lambda: torch("torch"),
        "torch.compile": lambda: torch("torch.compile"),
        "hand": lambda: all_of(LARGE.by_hand, "hand"),
    }
    yield Case(
        f"value_and_grad of MLP 784-512-256-10, {len(BATCHES)} batch sizes, first calls included", makers, reference,
        {"jax": 3.0}, kind="first", threads=(1,), rounds=3,
    )  # fmt: skip
