"""A training loop with `value_and_grad` and a reducer, as MindSpore's page on data parallelism has it."""

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
init()
ms.set_seed(1)


class Digits:
    """Images of noise with a bright pixel whose place is the label."""

    def __init__(self, count):
        rng = np.random.default_rng(0)
        self.labels = rng.integers(0, 10, count)
        self.images = rng.integers(0, 80, (count, 28, 28, 1)).astype(np.uint8)
        self.images[np.arange(count), self.labels, self.labels] = 255

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


def create_dataset(batch_size):
    dataset = ds.GeneratorDataset(Digits(96), ["image", "label"], num_shards=get_group_size(), shard_id=get_rank())
    dataset = dataset.map([ds.vision.Rescale(1.0 / 255.0, 0), ds.vision.HWC2CHW()], "image")
    dataset = dataset.map(ds.transforms.TypeCast(ms.int32), "label")
    return dataset.batch(batch_size)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(
            nn.Dense(28 * 28, 32, weight_init="normal", bias_init="zeros"),
            nn.ReLU(),
            nn.Dense(32, 10, weight_init="normal", bias_init="zeros"),
        )

    def construct(self, x):
        return self.layers(self.flatten(x))


net = Network()
data_set = create_dataset(8)
optimizer = nn.SGD(net.trainable_params(), 5e-2)
loss_fn = nn.CrossEntropyLoss()


def forward_fn(data, target):
    logits = net(data)
    return loss_fn(logits, target), logits


grad_fn = ms.value_and_grad(forward_fn, None, net.trainable_params(), has_aux=True)
grad_reducer = nn.DistributedGradReducer(optimizer.parameters)

for epoch in range(2):
    for step, (image, label) in enumerate(data_set):
        (loss_value, _), grads = grad_fn(image, label)
        grads = grad_reducer(grads)
        optimizer(grads)
        if step % 3 == 0:
            print(f"epoch: {epoch}, step: {step}, loss is {loss_value}")
print("weights", float(sum(abs(p.asnumpy()).astype(np.float64).sum() for p in net.trainable_params())))
