"""Optimizers written by users on top of the base class, as published ones are."""

import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, UnrollWarning, nn, ops
from autodiff_compiler.optim.optimizer import Optimizer, opt_init_args_register

_step = ops.MultitypeFuncGraph("step")


@_step.register("Tensor", "Tensor", "Tensor", "Tensor")
def _one(rate, p, m, g):
    ops.assign(m, m * 0.5 + g)
    return ops.depend(True, ops.assign(p, p - rate * ops.sign(m)))


class SignOfMean(Optimizer):
    @opt_init_args_register
    def __init__(self, params, learning_rate=0.25, weight_decay=0.0, loss_scale=1.0, factor=0.5):
        super().__init__(learning_rate, params, weight_decay=weight_decay, loss_scale=loss_scale)
        self.moments = self._parameters.clone(prefix="mean", init="zeros")

    @ms.jit
    def construct(self, gradients):
        gradients = self.flatten_gradients(gradients)
        gradients = self.decay_weight(gradients)
        gradients = self.gradients_centralization(gradients)
        gradients = self.scale_grad(gradients)
        gradients = self._grad_sparse_indices_deduplicate(gradients)
        return self.map_(ops.partial(_step, self.get_lr()), self._parameters, self.moments, gradients)

    @Optimizer.target.setter
    def target(self, value):
        self._set_base_target(value)


def parameter(value):
    return Parameter(Tensor(value), name="p")


def test_a_step(mode):
    p = parameter([1.0, 2.0])
    SignOfMean([p])((Tensor([3.0, -4.0]),))
    assert p.tolist() == [0.75, 2.25]


def test_what_it_was_called_with_is_kept():
    p = parameter([1.0])
    found = SignOfMean([p], 0.125, factor=2.0)
    assert found.init_params == {"params": [p]}
    assert found.init_learning_rate == 0.125
    assert found.init_args == {"weight_decay": 0.0, "loss_scale": 1.0, "factor": 2.0}
    assert SignOfMean([p], nn.ExponentialDecayLR(0.5, 0.5, 1)).init_learning_rate is None


def test_parameters_are_updated_on_the_cpu():
    found = SignOfMean([parameter([1.0])])
    found.target = "CPU"
    assert found.target == "CPU"
    with pytest.raises(ValueError, match="'CPU'"):
        found.target = "Ascend"


def test_users_are_not_warned_of_long_loops_of_the_package():
    ps = [Parameter(Tensor(np.zeros((i % 3 + 1,), np.float32)), name=f"p{i}") for i in range(150)]
    optimizer = nn.Momentum(ps, 0.5, 0.5)
    step = ms.jit(lambda *grads: optimizer(grads))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnrollWarning)
        step(*[Tensor(np.ones(p.shape, np.float32)) for p in ps])
    assert ps[0].tolist() == [-0.5]
