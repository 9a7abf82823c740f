import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = ms.Parameter(x, name="w")
        self.inner = nn.Cell()
        self.b = ms.Parameter(x * 2, name="w")

    def construct(self, x):
        for name, parameter in self.parameters_dict().items():
#> self.parameters_dict()
            x = x * parameter
        return x


def fails():
    jit(Net())(x)
