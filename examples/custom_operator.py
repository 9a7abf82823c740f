"""An operator with a derivative of its own: Lambert's W, the w with w exp(w) = x.

    python examples/custom_operator.py [--steps 200] [--mode graph|eager]

`construct` finds w by Newton's method, in a `while` that stops when all elements are found.  The derivative needs none
of these steps: from w exp(w) = x follows dw/dx = 1 / (exp(w) (1 + w)), and that is the `bprop`.  `check_bprop` compares
it with differences in both modes; then the operator is used in a fit: which current flows through a diode.
"""

from __future__ import annotations

import argparse

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.testing import check_bprop


class LambertW(nn.Cell):
    """W(x) for x >= 0, of any shape."""

    def construct(self, x):
        w = ops.log1p(x)
        change = ops.ones_like(w)
        steps = 0
        while ops.abs(change).max() > 1e-6 and steps < 50:
            e = ops.exp(w)
            change = (w * e - x) / (e * (1 + w))
            w = w - change
            steps = steps + 1
        return w

    def bprop(self, x, out, dout):
        return (dout / (ops.exp(out) * (1 + out)),)


class Diode(nn.Cell):
    """The current through a diode and a resistor in series, at voltages [n]: I = Vt / R * W(I0 R / Vt * exp(V / Vt)).

    (Shockley's law without its small term -I0.)  The two unknown numbers are kept as logarithms.
    """

    def __init__(self):
        super().__init__()
        self.lambert = LambertW()
        self.log_i0 = Parameter(np.float32(-2.0), name="log_i0")
        self.log_r = Parameter(np.float32(1.0), name="log_r")

    def construct(self, voltage):
        i0, r = ops.exp(self.log_i0), ops.exp(self.log_r)
        return self.lambert(i0 * r * ops.exp(voltage)) / r  # voltages in units of Vt


def measured():
    """Voltages, and currents for I0 = 0.05 and R = 0.8: the voltage of each current is known in closed form."""
    current = np.linspace(0.05, 4, 64)
    return (0.8 * current + np.log(current / 0.05)).astype(np.float32), current.astype(np.float32)


def main(argv=None):
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--mode", choices=("graph", "eager"), default="graph")
    given = options.parse_args(argv)

    ms.set_context(mode=ms.GRAPH_MODE if given.mode == "graph" else ms.PYNATIVE_MODE)
    print("its bprop is its derivative:", check_bprop(LambertW(), Tensor([0.1, 1.0, 5.0], ms.float64)))
    diode = Diode()
    voltage, current = map(Tensor, measured())
    step = nn.TrainOneStepCell(
        nn.WithLossCell(diode, nn.MSELoss()), nn.Adam(diode.trainable_params(), learning_rate=0.05)
    )
    losses = []
    for i in range(1, given.steps + 1):
        losses.append(step(voltage, current).item())
        if i % 50 == 0:
            print(f"step {i}: loss {losses[-1]:.3g}")
    i0, r = np.exp(diode.log_i0.item()), np.exp(diode.log_r.item())
    print(f"I0 = {i0:.4f} (was 0.05), R = {r:.4f} (was 0.8)")
    return losses, (i0, r)


if __name__ == "__main__":
    main()
