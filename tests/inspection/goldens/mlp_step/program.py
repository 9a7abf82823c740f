"""A step of training: two layers of the library, a loss, the gradient by the parameters, an optimizer that writes."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(3, 4)
        self.second = nn.Dense(4, 1)
        for i, p in enumerate(self.get_parameters()):
            p.set_data(ms.Tensor(np.sin(np.arange(p.size) + i).reshape(p.shape).astype(np.float32)))

    def construct(self, x):
        return self.second(ops.tanh(self.first(x)))


ARGUMENTS = [np.cos(np.arange(6)).reshape(2, 3).astype(np.float32), np.array([[1.0], [-1.0]], np.float32)]
net = Net()
optimizer = nn.SGD(net.trainable_params(), 0.1)


def forward(x, y):
    d = net(x) - y
    return (d * d).mean()


def step(x, y):
    loss, grads = ms.value_and_grad(forward, None, net.trainable_params())(x, y)
    optimizer(grads)
    return loss


def lowered():
    return ms.jit(step).lower(*map(ms.Tensor, ARGUMENTS))
