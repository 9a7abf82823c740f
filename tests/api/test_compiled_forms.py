"""Cells and derivatives show what they are compiled to, as functions given to `jit` do."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import UnsupportedCallError

X = Tensor(np.ones((4, 2), np.float32))


def new_loss():
    return lambda x: (x * x).sum()  # a function of its own: derivatives of one function share their compiled form


FORMS = {
    "grad": lambda: ms.grad(new_loss()),
    "value_and_grad": lambda: ms.value_and_grad(new_loss()),
    "get_all": lambda: ms.ops.GradOperation(get_all=True)(new_loss()),
    "vmap": lambda: ms.vmap(new_loss()),
    "jacrev": lambda: ms.jacrev(new_loss()),
    "jacfwd": lambda: ms.jacfwd(new_loss()),
    "hessian": lambda: ms.hessian(new_loss()),
    "Cell": lambda: nn.Dense(2, 3),
    "derivative of a Cell": lambda: ms.grad(nn.ReLU()),
    "vmap of a derivative": lambda: ms.vmap(ms.grad(new_loss())),
}


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
@pytest.mark.parametrize("name", FORMS)
def test_lower_says_what_jit_says(name, mode):
    made = FORMS[name]()
    ms.set_context(mode=mode)
    try:
        mine, that_of_jit = [how.lower(X).ir("opt") for how in (made, ms.jit(made))]
        assert mine == that_of_jit
        assert len(made.explain_recompiles()) == 0  # looking is no compilation for calls
        for rows in (4, 5):
            made._as_compiled()(Tensor(np.ones((rows, 2), np.float32)))
        (change,) = made.explain_recompiles()[1].changes
        assert (change.kind, change.before, change.after) == ("dimension", "Tensor f32[4,2]", "Tensor f32[5,2]")
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_a_cell_may_have_an_attribute_of_that_name():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.lower = nn.Dense(2, 3, weight_init="ones", bias_init="zeros")

        def construct(self, x):
            return self.lower(x)

    net = Net()
    assert net(X)[0].tolist() == ms.jit(net)(X)[0].tolist() == [2.0, 2.0, 2.0]
    assert [p.name for p in net.trainable_params()] == ["lower.weight", "lower.bias"]


def test_errors_have_no_frames_of_ours():
    def bad(x):
        return ops.matmul(x, x)

    with pytest.raises(ValueError, match="matmul") as caught:
        ms.grad(bad).lower(X)
    files = [frame.path for frame in caught.traceback]
    assert {str(f) for f in files} <= {__file__}


def test_compiled_code_cannot_ask():
    net = nn.ReLU()
    with pytest.raises(UnsupportedCallError, match="outside"):
        ms.jit(lambda x: net.lower(x))(X)
