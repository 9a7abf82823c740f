from autodiff_compiler import Tensor, jit, ops


@jit
def f(x):
    y = x * 2.0
    z = ops.broadcast_to(y, (2**45, 3)); return z * x
#> ops.broadcast_to(y, (2**45, 3))


def fails():
    f(Tensor([1.0, 2.0, 3.0]))
