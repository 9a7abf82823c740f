"""What tests of `Model` share: what a training gives by the formulas, and datasets and callbacks of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_compiler import train


def trained(epochs: int, data: list[Any]) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Weight, bias and losses of `model_of`'s training, by the formulas of the squared error and of momentum."""
    w, b, v, u, losses = np.ones(2), np.zeros(1), np.zeros(2), np.zeros(1), []
    for _ in range(epochs):
        for x, y in data:
            error = x.astype(float) @ w + b - y[:, 0]
            losses.append(float((error**2).mean()))
            v = 0.5 * v + 2 * (error[:, None] * x).mean(0)
            u = 0.5 * u + 2 * error.mean()
            w, b = w - 0.125 * v, b - 0.125 * u
    return w, b, losses


class Again:
    """Batches of a size that is not known before."""

    def __init__(self, data: list[Any]) -> None:
        self.data = data

    def __iter__(self) -> Iterator[Any]:
        yield from self.data


class Ends(train.Callback):
    def __init__(self, step: int, error: BaseException) -> None:
        self.step, self.error, self.log = step, error, []

    def __exit__(self, *error: Any) -> None:
        self.log.append(error[0])

    def on_train_step_end(self, run_context: Any) -> None:
        if run_context.original_args().cur_step_num == self.step:
            raise self.error

    def on_train_end(self, run_context: Any) -> None:
        self.log.append("end")
