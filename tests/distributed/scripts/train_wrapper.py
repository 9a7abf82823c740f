"""A train step of one's own that combines gradients, as the example of MindSpore's DistributedGradReducer has it."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, context, nn, ops
from mindspore.communication import get_group_size, init

ms.set_context(mode=ms.GRAPH_MODE)
init()
ms.reset_auto_parallel_context()
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL)


class TrainingWrapper(nn.Cell):
    def __init__(self, network, optimizer, sens=1.0):
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.add_flags(defer_inline=True)
        self.weights = optimizer.parameters
        self.optimizer = optimizer
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)
        self.sens = sens
        self.reducer_flag = False
        self.grad_reducer = None
        self.parallel_mode = context.get_auto_parallel_context("parallel_mode")
        self.depend = ops.Depend()
        if self.parallel_mode in [ms.ParallelMode.DATA_PARALLEL, ms.ParallelMode.HYBRID_PARALLEL]:
            self.reducer_flag = True
        if self.reducer_flag:
            mean = context.get_auto_parallel_context("gradients_mean")
            degree = context.get_auto_parallel_context("device_num")
            self.grad_reducer = nn.DistributedGradReducer(optimizer.parameters, mean, degree)

    def construct(self, *args):
        weights = self.weights
        loss = self.network(*args)
        sens = ops.Fill()(ops.DType()(loss), ops.Shape()(loss), self.sens)
        grads = self.grad(self.network, weights)(*args, sens)
        if self.reducer_flag:
            grads = self.grad_reducer(grads)
        return self.depend(loss, self.optimizer(grads))


class Net(nn.Cell):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = Parameter(Tensor(np.ones([in_features, out_features]).astype(np.float32)), name="weight")
        self.matmul = ops.MatMul()

    def construct(self, x):
        return self.matmul(x, self.weight)


size, in_features, out_features = 16, 16, 10
network = Net(in_features, out_features)
net_with_loss = nn.WithLossCell(network, nn.MSELoss())
optimizer = nn.Momentum(net_with_loss.trainable_params(), learning_rate=0.1, momentum=0.9)
train_cell = TrainingWrapper(net_with_loss, optimizer)
inputs = Tensor(np.ones([size, in_features]).astype(np.float32))
label = Tensor(np.zeros([size, out_features]).astype(np.float32))
print("loss", train_cell(inputs, label))
# The gradient of one process is 2 * 16 * 16 / 160 everywhere, and gradients are added.
print("weight", network.weight.asnumpy()[0, 0], "wanted", 1 - 0.1 * get_group_size() * 2 * 16 * 16 / 160)
