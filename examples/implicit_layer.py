"""Handwritten digits read by a layer of infinite depth: its output is where repeating it changes nothing.

    python examples/implicit_layer.py [--epochs 8] [--mode graph|eager]

The state z solves z = tanh(W z + U x + b).  It is found by Anderson's acceleration, and its gradient comes from the
equation: one linear solve at z, whatever the search did, with the memory of one layer (S. Bai, J. Z. Kolter, V.
Koltun, Deep Equilibrium Models, 2019).  The rows of W are scaled so that their absolute values add up to less than 1:
then there is one equilibrium for every image (L. El Ghaoui and others, Implicit Deep Learning, 2019).
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, implicit, nn, ops

BATCH = 48


class Equilibrium(nn.Cell):
    """Classifies 8 x 8 images; also returns how many steps the search took, and whether it converged."""

    def __init__(self, hidden: int = 64):
        super().__init__()
        self.look = nn.Dense(64, hidden)
        self.w = ms.Parameter(ops.randn(hidden, hidden) / hidden, name="w")
        self.decide = nn.Dense(hidden, 10)

    def construct(self, x):
        seen = self.look(x)
        w = self.w * ops.minimum(1.0, 0.95 / self.w.abs().sum(axis=1, keepdims=True))
        found = implicit.fixed_point(
            lambda z: ops.tanh(seen + z @ w.T), ops.zeros_like(seen), method="anderson", tol=1e-4, max_steps=60
        )
        return self.decide(found.value), found.iterations, found.converged


def load():
    """Training and test images [n, 64] between 0 and 1, and their digits."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("this example needs scikit-learn for its images: pip install 'autodiff-compiler[examples]'")
    digits = load_digits()
    order = np.random.RandomState(7).permutation(len(digits.target))
    images, labels = (digits.data[order] / 16).astype(np.float32), digits.target[order].astype(np.int32)
    return images[:1437], labels[:1437], images[1437:], labels[1437:]


def main(argv=None):
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--epochs", type=int, default=8)
    options.add_argument("--mode", choices=("graph", "eager"), default="graph")
    given = options.parse_args(argv)

    ms.set_context(mode=ms.GRAPH_MODE if given.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(3)
    images, labels, test_images, test_labels = load()
    net = Equilibrium()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=3e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(x, y):
        logits, *how = net(x)
        return criterion(logits, y), *how

    derivative = ms.value_and_grad(loss, None, optimizer.parameters, has_aux=True)
    losses, steps, failed = [], [], 0
    for epoch in range(1, given.epochs + 1):
        order = np.random.RandomState(epoch).permutation(len(labels))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            (value, taken, converged), gradients = derivative(Tensor(images[chosen]), Tensor(labels[chosen]))
            optimizer(gradients)
            losses.append(value.item())
            steps.append(int(taken))
            failed += not converged
        recent = slice(-(len(order) // BATCH), None)
        print(
            f"epoch {epoch}: loss {np.mean(losses[recent]):.4f},"
            f" {min(steps[recent])} to {max(steps[recent])} steps to the equilibrium, {failed} searches failed"
        )
    accuracy = float((net(Tensor(test_images))[0].asnumpy().argmax(axis=1) == test_labels).mean())
    print(f"test accuracy {accuracy:.4f}")
    return losses, steps, failed, accuracy


if __name__ == "__main__":
    main()
