"""Gradients that explode on their way back through time, and a hook that clips them there.

    python examples/clip_by_hook.py [--steps 150] [--mode graph|eager]

A recurrent network with large weights is chaotic: a gradient grows at each step on its way back.  A hook on the state
of each step keeps it, going back, below a bound.  The same training is run with the hook and without it.
"""

from __future__ import annotations

import argparse

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler import dataset as ds

LENGTH = 25
HIDDEN = 24
GAIN = 4.0
BOUND = 0.05


def clipped(gradient):
    """The gradient, made as short as BOUND if it is longer; all else about it stays."""
    norm = ops.sqrt(ops.square(gradient).sum())
    return gradient * ops.minimum(BOUND / (norm + 1e-12), Tensor(1.0))


class Listener(nn.Cell):
    """Reads numbers one by one and says the last one; `clip`: with the hook."""

    def __init__(self, clip: bool):
        super().__init__()
        numbers = np.random.RandomState(0)
        turn = GAIN / HIDDEN**0.5 * numbers.normal(size=(HIDDEN, HIDDEN))
        self.turn = Parameter(turn.astype(np.float32), name="turn")
        self.read = nn.Dense(1, HIDDEN)
        self.say = nn.Dense(HIDDEN, 1)
        self.clip = clip

    def construct(self, x):
        state = ops.zeros((x.shape[0], HIDDEN), ms.float32)
        for i in range(LENGTH):
            state = ops.tanh(ops.matmul(state, self.turn) + self.read(x[:, i : i + 1]))
            if self.clip:
                state.register_hook(clipped)
        return self.say(state)


def rows():
    """Rows of numbers, and the last of each."""
    numbers = np.random.RandomState(1)
    while True:
        x = numbers.uniform(-1, 1, LENGTH).astype(np.float32)
        yield x, x[-1:]


def train(clip, steps):
    """Losses, and the norm of the gradient of the recurrent weights, of each step."""
    ms.set_seed(0)
    net = Listener(clip)
    optimizer = nn.SGD(net.trainable_params(), learning_rate=0.05)
    criterion = nn.MSELoss()
    derivative = ms.value_and_grad(lambda x, y: criterion(net(x), y), None, optimizer.parameters)
    losses, norms = [], []
    for x, y in ds.GeneratorDataset(rows, ["x", "last"]).batch(16).take(steps):
        loss, gradients = derivative(x, y)
        optimizer(gradients)
        losses.append(loss.item())
        norms.append(float(np.linalg.norm(gradients[0].asnumpy())))
    return losses, norms


def main(argv=None):
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--steps", type=int, default=150)
    options.add_argument("--mode", choices=("graph", "eager"), default="graph")
    given = options.parse_args(argv)

    ms.set_context(mode=ms.GRAPH_MODE if given.mode == "graph" else ms.PYNATIVE_MODE)
    results = {}
    for clip in (False, True):
        losses, norms = results[clip] = train(clip, given.steps)
        print(
            f"{'with' if clip else 'without'} the hook: loss {losses[0]:.4g} at first, {losses[-1]:.4g} at last; "
            f"largest gradient {max(norms):.4g}"
        )
    return results


if __name__ == "__main__":
    main()
