import autodiff_compiler as ms
from autodiff_compiler import Tensor, implicit

state = {"wanted": Tensor(2.0)}


def root_of(a):
    state["wanted"] = a * 2
    found = implicit.root(lambda x: x * x - state["wanted"], Tensor(1.0)).value
    state["wanted"] = a * 3
    return found


def fails():
    ms.grad(root_of)(Tensor(2.0))
#>
