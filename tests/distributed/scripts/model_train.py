"""`Model.train` with callbacks, and checkpoints by process, as MindSpore's pages on distributed training have it."""

import os
import sys

import mindspore.dataset as ds
import numpy as np
from mindspore import context, nn, train
from mindspore.communication import get_group_size, get_rank, init
from mindspore.context import ParallelMode

context.set_context(mode=context.GRAPH_MODE, device_target="CPU")
init()
context.reset_auto_parallel_context()
context.set_auto_parallel_context(
    device_num=get_group_size(), parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True, parameter_broadcast=True
)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2, 2)
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(4 * 4 * 4, 3)

    def construct(self, x):
        return self.fc(self.flatten(self.pool(self.relu(self.bn(self.conv(x))))))


rng = np.random.default_rng(0)
labels = rng.integers(0, 3, 64).astype(np.int32)
images = (rng.standard_normal((64, 1, 8, 8)) + labels[:, None, None, None]).astype(np.float32)
data = ds.NumpySlicesDataset(
    {"image": images, "label": labels}, shuffle=True, num_shards=get_group_size(), shard_id=get_rank()
).batch(8, drop_remainder=True)

net = Net()
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.05, momentum=0.9)
config = train.CheckpointConfig(save_checkpoint_steps=data.get_dataset_size(), keep_checkpoint_max=1)
saves = train.ModelCheckpoint(prefix="net", directory=os.path.join(sys.argv[1], f"rank_{get_rank()}"), config=config)
model = train.Model(net, loss_fn=loss, optimizer=optimizer, metrics={"accuracy"})
model.train(3, data, callbacks=[train.LossMonitor(data.get_dataset_size()), saves], dataset_sink_mode=False)
print("weights", float(sum(abs(p.asnumpy()).astype(np.float64).sum() for p in net.trainable_params())))
print("accuracy", model.eval(data)["accuracy"])
