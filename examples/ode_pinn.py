"""A network that becomes the solution of a differential equation, without ever seeing it.

    python examples/ode_pinn.py [--steps 1500] [--mode graph|eager]

The equation is u' = u (1 - u) with u(0) = 0.1 (logistic growth) from 0 to 6.  The loss is how far u' and u (1 - u) of
the network are apart.  Time goes forward: a stretch of time counts only while the one before it is solved to a
tolerance, so `construct` has a `while` that runs as often as the network's residuals allow, with the derivative of the
network by time inside.  The gradient goes back through all of it.
"""

from __future__ import annotations

import argparse

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops

START = 0.1
END = 6.0
STRETCHES = 6
POINTS = 16


def solution(t):
    """The solution of the equation."""
    return START / (START + (1 - START) * np.exp(-t))


class Curve(nn.Cell):
    """u(t) for t [n, 1]; u(0) is right whatever the weights are."""

    def __init__(self, hidden: int = 24):
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(1, hidden), nn.Tanh(), nn.Dense(hidden, hidden), nn.Tanh(), nn.Dense(hidden, 1)
        )

    def construct(self, t):
        return START + t * self.layers(t - END / 2)


class Residual(nn.Cell):
    """The loss, and how many stretches of time counted."""

    def __init__(self, curve: Curve, tolerance: float = 3e-3):
        super().__init__()
        self.curve = curve
        self.tolerance = tolerance

    def construct(self, times):
        loss = ops.zeros((), ms.float32)
        apart = ops.zeros((), ms.float32)
        i = 0
        while i < STRETCHES and apart < self.tolerance:
            t = times[i]
            u, slope = ms.jvp(self.curve, t, ops.ones_like(t))
            apart = ops.square(slope - u * (1 - u)).mean()
            loss = loss + apart
            i = i + 1
        return loss, i


def main(argv=None):
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--steps", type=int, default=1500)
    options.add_argument("--mode", choices=("graph", "eager"), default="graph")
    given = options.parse_args(argv)

    ms.set_context(mode=ms.GRAPH_MODE if given.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(6)
    curve = Curve()
    optimizer = nn.Adam(curve.trainable_params(), learning_rate=5e-3)
    derivative = ms.value_and_grad(Residual(curve), None, optimizer.parameters, has_aux=True)
    times = Tensor(np.linspace(0, END, STRETCHES * POINTS, dtype=np.float32).reshape(STRETCHES, POINTS, 1))

    losses, counted = [], []
    for step in range(1, given.steps + 1):
        (loss, stretches), gradients = derivative(times)
        optimizer(gradients)
        losses.append(loss.item())
        counted.append(int(stretches))
        if step % 250 == 0 or step == given.steps:
            error = np.abs(curve(times.reshape((-1, 1))).asnumpy()[:, 0] - solution(times.asnumpy().ravel())).max()
            print(
                f"step {step}: {stretches} of {STRETCHES} stretches, loss {losses[-1]:.5f}, largest error {error:.4f}"
            )
    return losses, counted, curve


if __name__ == "__main__":
    main()
