"""Handwritten digits: one network with Python control flow, trained eagerly and as a compiled graph.

    python examples/digits.py

The network settles: it refines its state until a step hardly changes it, so that the number of steps depends on the
images, and it turns dark ink on white paper into light ink on black.  The `while` and the `if` are plain Python on
Tensors; in graph mode they become part of one program, and so do their derivatives.
"""

from __future__ import annotations

import os
import sys
import time
from typing import NamedTuple

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops

SEED = 7
EPOCHS = 12
BATCH = 48
#: Lines of IR that are shown, and characters of a line.
SHOWN, WIDTH = 8, 118


class Settling(nn.Cell):
    """Classifies 8 x 8 images; also returns how many refinement steps it took."""

    def __init__(self, hidden: int = 96, tolerance: float = 0.02, max_steps: int = 20):
        super().__init__()
        self.look = nn.Dense(64, hidden)
        self.refine = nn.Dense(hidden, hidden)
        self.decide = nn.Dense(hidden, 10)
        self.tolerance = tolerance
        self.max_steps = max_steps

    def construct(self, x):
        if x.mean() > 0.5:  # dark ink on white paper
            x = 1.0 - x
        seen = self.look(x)
        state = ops.tanh(seen)
        steps = 0
        change = ops.sqrt(ops.square(state).mean())
        while change > self.tolerance and steps < self.max_steps:
            refined = ops.tanh(seen + self.refine(state))
            change = ops.sqrt(ops.square(refined - state).mean())
            state = refined
            steps = steps + 1
        return self.decide(state), steps


def load():
    """Training and test images [n, 64] between 0 and 1, and their digits."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("this example needs scikit-learn for its images: pip install 'autodiff-compiler[examples]'")
    digits = load_digits()
    order = np.random.RandomState(SEED).permutation(len(digits.target))
    images = (digits.data[order] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    return images[:1437], labels[:1437], images[1437:], labels[1437:]


def batches(images, labels, epoch):
    """Shuffled batches; in every second one the paper is white."""
    order = np.random.RandomState(epoch).permutation(len(labels))
    for i, start in enumerate(range(0, len(order) - BATCH + 1, BATCH)):
        chosen = order[start : start + BATCH]
        yield Tensor(1 - images[chosen] if i % 2 else images[chosen]), Tensor(labels[chosen])


def make(seed, steps):
    """The network and one step of its training, of which an epoch has so many."""
    np.random.seed(seed)
    net = Settling()
    rates = nn.cosine_decay_lr(0.0, 3e-3, EPOCHS * steps, steps, EPOCHS)  # small at the end, so that it comes to rest
    optimizer = nn.Adam(net.trainable_params(), learning_rate=rates)
    criterion = nn.CrossEntropyLoss()

    def loss(x, y):
        logits, steps = net(x)
        return criterion(logits, y), steps

    derivative = ms.value_and_grad(loss, None, optimizer.parameters, has_aux=True)

    def train(x, y):
        (value, steps), gradients = derivative(x, y)
        optimizer(gradients)
        return value, steps

    return net, train


def accuracy(net, images, labels):
    logits, _ = net(Tensor(images))
    return float((logits.asnumpy().argmax(axis=1) == labels).mean())


class Run(NamedTuple):
    """A finished training: per step losses and seconds, accuracy on the test images, and what was trained."""

    losses: list
    seconds: list
    accuracy: float
    net: Settling


def fit(name, mode, data):
    """Trains from scratch in one mode."""
    images, labels, test_images, test_labels = data
    ms.set_context(mode=mode)
    net, step = make(SEED, len(labels) // BATCH)
    train = ms.jit(step) if mode == ms.GRAPH_MODE else step
    losses, seconds, taken = [], [], []
    for epoch in range(EPOCHS):
        for batch in batches(images, labels, epoch):
            start = time.perf_counter()
            value, steps = train(*batch)
            seconds.append(time.perf_counter() - start)
            losses.append(value.item())
            taken.append(steps)
        if epoch % 3 == 2:
            recent = slice(-(len(labels) // BATCH), None)
            print(
                f"{name}  epoch {epoch + 1:>2}  loss {np.mean(losses[recent]):.4f}"
                f"  refinement steps {min(taken[recent])} to {max(taken[recent])}"
            )
    black, white = accuracy(net, test_images, test_labels), accuracy(net, 1 - test_images, test_labels)
    print(f"{name}  test accuracy {black:.4f} on black paper, {white:.4f} on white paper")
    return Run(losses, seconds, min(black, white), net)


def show(title, command, text, start):
    """Prints a few lines of a long text, from behind the first that contains `start`, and the command that prints all.

    Nothing is trained for that: what is looked at there is a new network.
    """
    lines = text.rstrip().split("\n")
    first = next(i for i, line in enumerate(lines) if start in line) + 1
    print(f"\n--- {title}: {SHOWN} of {len(lines)} lines ---")
    for line in lines[first : first + SHOWN]:
        print(line if len(line) <= WIDTH else line[: WIDTH - 3] + "...")
    print(f"--- all of them: {command}")


def show_compiled(net):
    """A step of refinement as the compiler sees it, and the way back through it."""
    images = ms.TensorSpec(f"f32[{BATCH},64]")
    python = os.path.relpath(sys.executable) if sys.executable.startswith(os.getcwd()) else "python"
    commands = f"{python} -m autodiff_compiler"
    target = f'{sys.argv[0]}:Settling --args "f32[{BATCH},64]"'
    show("the loop, compiled", f"{commands} dump {target}", net.lower(images).ir("opt"), "} body {")
    derivative = ms.grad(net, None, net.trainable_params()).lower(images)
    show("the way back through it", f"{commands} dump {target} --grad weights", derivative.ir("opt"), " scan ")
    print(f"--- source, IR and machine code side by side: {commands} view {target} --grad weights")


def main():
    data = load()
    print(f"digits: {len(data[1])} images to train on, {len(data[3])} to test\n")
    eager = fit("eager", ms.PYNATIVE_MODE, data)
    graph = fit("graph", ms.GRAPH_MODE, data)

    first = len(data[1]) // BATCH  # later steps make more and more of what the last place was rounded to
    difference = max(abs(a - b) for a, b in zip(eager.losses[:first], graph.losses[:first], strict=True))
    print(f"\nlosses of the first {first} steps: eager and graph differ by at most {difference:.2g}")
    show_compiled(graph.net)

    eager_ms, graph_ms = (1e3 * float(np.median(run.seconds[1:])) for run in (eager, graph))
    print(
        f"\ntime per training step (median): eager {eager_ms:.2f} ms, graph {graph_ms:.2f} ms:"
        f" {eager_ms / graph_ms:.1f} times as fast (the first step, with compilation: {graph.seconds[0]:.2f} s)"
    )
    assert difference < 1e-3, "the modes must give the same losses"
    assert min(eager.accuracy, graph.accuracy) >= 0.95, "the network must reach 95 % on the test images"


if __name__ == "__main__":
    main()
