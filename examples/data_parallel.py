"""Handwritten digits, learned by one process or by many, each with a part of every batch.

    python examples/data_parallel.py
    mpiexec -n 2 python examples/data_parallel.py
    python -m autodiff_compiler launch -n 4 examples/data_parallel.py --shard-state

The losses that are printed are those of the whole batches, so that they do not depend on the number of processes but
for the rounding of sums.  With --shard-state each process has a part of the optimizer's state only.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, communication, nn, ops, train
from autodiff_compiler import dataset as ds

BATCH = 64
TRAINED = 1408
SEED = 5


def load():
    """Training and test images [n, 64] between 0 and 1, and their digits."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("this example needs scikit-learn for its images: pip install 'autodiff-compiler[examples]'")
    digits = load_digits()
    images, labels = (digits.data / 16).astype(np.float32), digits.target.astype(np.int32)
    return images[:TRAINED], labels[:TRAINED], images[TRAINED:], labels[TRAINED:]


class MeanLoss(train.Callback):
    """Notes the loss of each whole batch: the mean over the processes."""

    def __init__(self, processes):
        super().__init__()
        self.sum, self.processes, self.losses = ops.AllReduce(), processes, []

    def on_train_step_end(self, run_context):
        own = run_context.original_args().net_outputs
        self.losses.append(float(self.sum(own).item()) / self.processes)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=["eager", "graph"], default="graph")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--shard-state", action="store_true", help="cut the optimizer's state between the processes")
    options = parser.parse_args(arguments)

    communication.init()
    rank, processes = communication.get_rank(), communication.get_group_size()
    ms.set_context(mode=ms.GRAPH_MODE if options.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_auto_parallel_context(
        parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, enable_parallel_optimizer=options.shard_state
    )
    ms.set_seed(SEED)  # all processes begin with the same weights, and shuffle alike

    images, labels, test_images, test_labels = load()
    data = ds.NumpySlicesDataset((images, labels), ["x", "y"], num_shards=processes, shard_id=rank)
    data = data.batch(BATCH // processes, drop_remainder=True)
    net = nn.SequentialCell(nn.Dense(64, 96), nn.ReLU(), nn.Dense(96, 10))
    optimizer = nn.Adam(net.trainable_params(), 3e-3)
    model = train.Model(net, nn.CrossEntropyLoss(), optimizer)
    noted = MeanLoss(processes)
    model.train(options.epochs, data, callbacks=noted)

    found = net(Tensor(test_images)).asnumpy().argmax(axis=1)
    accuracy = float((found == test_labels).mean())
    if rank == 0:
        steps = data.get_dataset_size()
        for epoch in range(options.epochs):
            print(f"epoch {epoch + 1}  loss {np.mean(noted.losses[epoch * steps : (epoch + 1) * steps]):.4f}")
        kept = sum(p.nbytes for p in (*optimizer.moment1, *optimizer.moment2))
        print(f"{processes} process(es), {kept} bytes of moments in each, test accuracy {accuracy:.4f}")
    ms.reset_auto_parallel_context()
    return noted.losses, accuracy


if __name__ == "__main__":
    main()
