"""LeNet on handwritten digits: a pipeline of data, a `Model`, and its accuracy on images it has not seen.

    python examples/lenet.py [--epochs 6] [--mode graph|eager] [--small]

The images are those of scikit-learn (8 x 8 pixels, here resized to 16 x 16); without it, or with --synthetic, bars in
four directions with noise.
"""

from __future__ import annotations

import argparse

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import dataset as ds
from autodiff_compiler import nn
from autodiff_compiler.dataset import transforms, vision
from autodiff_compiler.train import Callback, Model

BATCH = 32


class LeNet(nn.Cell):
    """Two convolutions, each halved by pooling, and three layers on what they see."""

    def __init__(self, classes: int):
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 6, 5, pad_mode="same", has_bias=True),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 16, 3, pad_mode="valid", has_bias=True),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Flatten(),
        )
        self.decide = nn.SequentialCell(
            nn.Dense(16 * 3 * 3, 64), nn.ReLU(), nn.Dense(64, 32), nn.ReLU(), nn.Dense(32, classes)
        )

    def construct(self, x):
        return self.decide(self.features(x))


def digits():
    """Images [n, 8, 8, 1] from 0 to 16 and their digits, or None without scikit-learn."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return None
    found = load_digits()
    return found.images[..., None].astype(np.float32), found.target.astype(np.int32)


def bars(count=800):
    """Images of a bar (flat, upright, and both diagonals) with noise, and its direction."""
    numbers = np.random.RandomState(0)
    labels = numbers.randint(4, size=count).astype(np.int32)
    images = numbers.uniform(0, 6, (count, 8, 8, 1)).astype(np.float32)
    i = np.arange(8)
    for image, label in zip(images, labels, strict=True):
        at = numbers.randint(2, 6)
        rows, columns = ((at, i), (i, at), (i, i), (i, 7 - i))[label]
        image[rows, columns] += 8
    return images, labels


def pipelines(images, labels):
    """Batches to train on, in another order in each epoch, and batches to test on."""
    data = ds.NumpySlicesDataset((images, labels), ["image", "label"])
    data = data.map([vision.Rescale(1 / 16, 0.0), vision.Resize(16), vision.HWC2CHW()], "image")
    data = data.map(transforms.TypeCast(ms.int32), "label")
    train, test = data.split([0.8, 0.2])
    return train.shuffle(len(train)).batch(BATCH, drop_remainder=True), test.batch(BATCH)


class Losses(Callback):
    """Notes the loss of each step, and prints the mean of each epoch."""

    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_step_end(self, run_context):
        self.losses.append(float(run_context.original_args().net_outputs))

    def on_train_epoch_end(self, run_context):
        now = run_context.original_args()
        print(f"epoch {now.cur_epoch_num}: loss {np.mean(self.losses[-now.batch_num :]):.4f}")


def main(argv=None):
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--epochs", type=int, default=6)
    options.add_argument("--mode", choices=("graph", "eager"), default="graph")
    options.add_argument("--small", action="store_true", help="400 images only")
    options.add_argument("--synthetic", action="store_true", help="bars in place of digits")
    given = options.parse_args(argv)

    ms.set_context(mode=ms.GRAPH_MODE if given.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(3)
    found = None if given.synthetic else digits()
    images, labels = bars() if found is None else found
    if given.small:
        images, labels = images[:400], labels[:400]
    train, test = pipelines(images, labels)
    print(f"{'bars' if found is None else 'digits'}: {len(train)} batches of {BATCH} images to train on")

    net = LeNet(classes=int(labels.max()) + 1)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss, nn.Adam(net.trainable_params(), 3e-3), metrics={"accuracy"})
    noted = Losses()
    model.train(given.epochs, train, callbacks=noted, dataset_sink_mode=False)
    accuracy = model.eval(test)["accuracy"]
    print(f"accuracy on {test.get_dataset_size()} other batches: {accuracy:.4f}")
    return noted.losses, accuracy


if __name__ == "__main__":
    main()
