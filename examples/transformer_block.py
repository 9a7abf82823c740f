"""One block of a transformer learns to read a row of digits backwards: each place must look at the place across.

    python examples/transformer_block.py [--steps 400] [--mode graph|eager]

What the attention looks at is printed at the end: the antidiagonal.
"""

from __future__ import annotations

import argparse

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler import dataset as ds
from autodiff_compiler.common.initializer import Normal, initializer

LENGTH = 6
DIGITS = 10
WIDTH = 32
BATCH = 32


class Block(nn.Cell):
    """Embeddings of digits and places, attention and a feed-forward network with residuals, and scores for digits."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(DIGITS, WIDTH, embedding_table=Normal(0.5))
        self.places = Parameter(initializer(Normal(0.5), (LENGTH, WIDTH)), name="places")
        self.attend = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.norm1 = nn.LayerNorm((WIDTH,))
        self.forward = nn.SequentialCell(nn.Dense(WIDTH, 2 * WIDTH), nn.GELU(), nn.Dense(2 * WIDTH, WIDTH))
        self.norm2 = nn.LayerNorm((WIDTH,))
        self.score = nn.Dense(WIDTH, DIGITS)

    def construct(self, x):
        h = self.embed(x) + self.places
        looked, weights = self.attend(h, h, h)
        h = self.norm1(h + looked)
        h = self.norm2(h + self.forward(h))
        return self.score(h), weights


class Loss(nn.Cell):
    """The mean cross entropy of the digits."""

    def __init__(self, block: Block):
        super().__init__()
        self.block = block

    def construct(self, x, y):
        scores, _ = self.block(x)
        return ops.cross_entropy(scores.reshape((-1, DIGITS)), y.reshape((-1,)))


def rows(seed):
    """Rows of digits without end, and the same backwards."""
    numbers = np.random.RandomState(seed)
    while True:
        row = numbers.randint(DIGITS, size=LENGTH).astype(np.int32)
        yield row, row[::-1]


def main(argv=None):
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--steps", type=int, default=400)
    options.add_argument("--mode", choices=("graph", "eager"), default="graph")
    given = options.parse_args(argv)

    ms.set_context(mode=ms.GRAPH_MODE if given.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(2)
    block = Block()
    step = nn.TrainOneStepCell(Loss(block), nn.Adam(block.trainable_params(), 3e-3))
    data = ds.GeneratorDataset(lambda: rows(seed=0), ["row", "backwards"])
    losses = []
    for x, y in data.batch(BATCH).take(given.steps):
        losses.append(step(x, y).item())
        if len(losses) % 50 == 0:
            print(f"step {len(losses)}: loss {np.mean(losses[-50:]):.4f}")

    others = rows(seed=1)
    new = np.stack([next(others)[0] for _ in range(100)])
    scores, weights = block(Tensor(new))
    accuracy = float((scores.asnumpy().argmax(-1) == new[:, ::-1]).mean())
    looks = weights.asnumpy().mean(0)
    print(f"digits right in new rows: {accuracy:.4f}")
    print("where each place looks:")
    print(np.array2string(looks, precision=2, suppress_small=True))
    return losses, accuracy, looks


if __name__ == "__main__":
    main()
