"""An LSTM that reads a text letter by letter, says which comes next, and then writes by itself.

python examples/lstm_characters.py [--steps 300] [--mode graph|eager]
"""

from __future__ import annotations

import argparse

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler import dataset as ds

TEXT = (
    "the loop runs as often as the data asks for, and the way back runs as often as the loop did. "
    "what the way back needs, the loop has kept; what it does not need, the loop has not kept. "
) * 4
LENGTH = 32
BATCH = 16
LETTERS = sorted(set(TEXT))
NUMBERS = np.array([LETTERS.index(letter) for letter in TEXT], np.int32)


class Reader(nn.Cell):
    """Scores [batch, length, letters] for the letter after each letter of [batch, length], and the state at the end."""

    def __init__(self, letters: int, hidden: int = 64):
        super().__init__()
        self.embed = nn.Embedding(letters, 24, embedding_table="normal")
        self.lstm = nn.LSTM(24, hidden, batch_first=True)
        self.score = nn.Dense(hidden, letters)

    def construct(self, x, state=None):
        seen, state = self.lstm(self.embed(x), state)
        return self.score(seen), state


class NextLetter(nn.Cell):
    """The mean cross entropy of the next letters, in nats."""

    def __init__(self, reader: Reader):
        super().__init__()
        self.reader = reader
        self.loss = nn.CrossEntropyLoss()

    def construct(self, x, y):
        scores, _ = self.reader(x)
        return self.loss(scores.reshape((-1, scores.shape[-1])), y.reshape((-1,)))


def windows():
    """Batches of pieces of the text, and of the same pieces one letter later."""

    class Pieces:
        def __len__(self):
            return len(NUMBERS) - LENGTH

        def __getitem__(self, i):
            return NUMBERS[i : i + LENGTH], NUMBERS[i + 1 : i + LENGTH + 1]

    return ds.GeneratorDataset(Pieces(), ["now", "next"]).batch(BATCH, drop_remainder=True).repeat()


def write(reader, start, count):
    """`start`, and `count` letters more: always the most likely one."""
    text, state = start, None
    x = [LETTERS.index(letter) for letter in start]
    for _ in range(count):
        scores, state = reader(Tensor([x], ms.int32), state)
        x = [int(ops.argmax(scores[0, -1]))]
        text += LETTERS[x[0]]
    return text


def entropy_of_letters():
    """The cross entropy of who knows only how often each letter comes."""
    shares = np.bincount(NUMBERS) / len(NUMBERS)
    return float(-(shares * np.log(shares)).sum())


def main(argv=None):
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--steps", type=int, default=300)
    options.add_argument("--mode", choices=("graph", "eager"), default="graph")
    given = options.parse_args(argv)

    ms.set_context(mode=ms.GRAPH_MODE if given.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(1)
    reader = Reader(len(LETTERS))
    step = nn.TrainOneStepCell(NextLetter(reader), nn.Adam(reader.trainable_params(), 1e-2))
    step.set_train()
    losses = []
    for x, y in windows().take(given.steps):
        losses.append(step(x, y).item())
        if len(losses) % 50 == 0:
            print(f"step {len(losses)}: loss {np.mean(losses[-50:]):.4f}")
    reader.set_train(False)
    written = write(reader, "the ", 60)
    print(f"knowing only how often each letter comes: {entropy_of_letters():.4f}")
    print(f"it writes: {written}")
    return losses, written


if __name__ == "__main__":
    main()
