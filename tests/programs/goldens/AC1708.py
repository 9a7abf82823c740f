import numpy as np

from autodiff_compiler import Tensor, jit, nn

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))


def show(cell, inputs, output):
    print(output)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def construct(self, x):
        self.relu.register_forward_hook(show)
#> self.relu.register_forward_hook(show)
        return self.relu(x)


def fails():
    jit(Net())(x)
