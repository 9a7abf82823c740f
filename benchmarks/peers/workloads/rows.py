"""Softmax and layer normalization of rows, forward and backward with a given cotangent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Arrays, Case, pullback

EPSILON = 1e-5
TARGETS = {"jax": 1.2, "torch": 1.0}


def softmax(m: Any) -> Callable[..., Any]:
    return m.softmax


def softmax_by_hand(g: Any, x: Any) -> tuple[Any, ...]:
    e = np.exp(x - x.max(1, keepdims=True))
    y = e / e.sum(1, keepdims=True)
    return y, y * (g - (g * y).sum(1, keepdims=True))


def layer_norm(m: Any) -> Callable[..., Any]:
    return m.layer_norm


def layer_norm_by_hand(g: Any, x: Any, gamma: Any, beta: Any) -> tuple[Any, ...]:
    centred = x - x.mean(1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(1, keepdims=True) + EPSILON)
    y = centred * inverse
    d = g * gamma
    dx = inverse * (d - d.mean(1, keepdims=True) - y * (d * y).mean(1, keepdims=True))
    return y * gamma + beta, dx, (g * y).sum(0), g.sum(0)


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def cases() -> Iterator[Case]:
    for rows, columns in ((128, 10), (4096, 1000), (512, 32000)):

        def given(rows: int = rows, columns: int = columns) -> Arrays:
            return [normal(0, rows, columns)]

        def cotangent(rows: int = rows, columns: int = columns) -> np.ndarray:
            return normal(1, rows, columns)

        yield pullback(
            f"softmax {rows} x {columns}", softmax, given, cotangent, softmax_by_hand, targets=TARGETS,
            threads=(1,) if rows * columns < 10_000 else (1, 2),
        )  # fmt: skip
    for rows, columns in ((64, 64), (4096, 768)):

        def parts(rows: int = rows, columns: int = columns) -> Arrays:
            return [normal(0, rows, columns), normal(2, columns), normal(3, columns)]

        def seed(rows: int = rows, columns: int = columns) -> np.ndarray:
            return normal(1, rows, columns)

        yield pullback(
            f"layer norm {rows} x {columns}", layer_norm, parts, seed, layer_norm_by_hand, targets=TARGETS,
            threads=(1,) if rows * columns < 10_000 else (1, 2),
        )  # fmt: skip
