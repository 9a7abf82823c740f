"""Layers whose subclasses compute in their own way with the operator behind the layer, as published networks do."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops

R = np.random.RandomState(1)


class ChannelsFirstNorm(nn.LayerNorm):
    def construct(self, x):
        y, _, _ = self.layer_norm(ops.transpose(x, (0, 2, 3, 1)), self.gamma, self.beta)
        return ops.transpose(y, (0, 3, 1, 2))


class StandardizedConv(nn.Conv2d):
    def construct(self, x):
        w = self.weight
        w = (w - ops.mean(w, (1, 2, 3), True)) / ops.sqrt(w.var((1, 2, 3), keepdims=True) + 1e-10)
        return self.bias_add(self.conv2d(x, w), self.bias)


class TwiceDense(nn.Dense):
    def construct(self, x):
        return self.bias_add(self.matmul(x, self.weight * 2), self.bias)


class OwnOperator(nn.Dense):
    def __init__(self):
        super().__init__(3, 2)
        self.matmul = ops.MatMul()

    def construct(self, x):
        return self.matmul(x, self.weight.T)


def test_layer_norm_over_the_channels(mode):
    x = R.randn(2, 3, 4, 4).astype(np.float32)
    y = ChannelsFirstNorm((3,), epsilon=1e-6)(Tensor(x)).asnumpy()
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_convolution_with_another_weight(mode):
    net = StandardizedConv(3, 4, 3, stride=2, pad_mode="pad", padding=1, has_bias=True)
    x = R.randn(2, 3, 8, 8).astype(np.float32)
    w = net.weight.asnumpy()
    w = (w - w.mean((1, 2, 3), keepdims=True)) / np.sqrt(w.var((1, 2, 3), keepdims=True) + 1e-10)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    expected = np.einsum("bchwij,ocij->bohw", windows, w) + net.bias.asnumpy()[:, None, None]
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), expected, rtol=1e-4, atol=1e-4)


def test_dense_with_another_weight(mode):
    net, x = TwiceDense(3, 2), R.randn(4, 3).astype(np.float32)
    expected = x @ (2 * net.weight.asnumpy().T) + net.bias.asnumpy()
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_subclass_sets_an_operator_of_its_own(mode):
    net, x = OwnOperator(), R.randn(4, 3).astype(np.float32)
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), x @ net.weight.asnumpy().T, rtol=1e-5, atol=1e-6)


def test_phase_says_what_set_train_was_called_for():
    net = nn.SequentialCell(nn.Dense(1, 1))
    assert (net.phase, net.set_train(False).phase, net[0].phase, net.set_train().phase) == (
        *("train", "predict", "predict", "train"),
    )
    net.phase = "export"
    assert net.phase == "export"


class ScaledStep(nn.TrainOneStepWithLossScaleCell):
    """A step as published code writes it, in terms of what its base class has."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        grads = self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss) * scale)
        grads = self.grad_reducer(self.hyper_map(ops.partial(_unscaled, scale), grads))
        if not self.process_loss_scale(self.get_overflow_status(status, grads)):
            loss = ops.depend(loss, self.optimizer(grads))
        return loss


_unscaled = ops.MultitypeFuncGraph("unscaled")


@_unscaled.register("Tensor", "Tensor")
def _unscaled_tensor(scale, grad):
    return grad * ops.reciprocal(scale)


def test_a_loss_scaled_step_written_by_the_user(mode):
    net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    optimizer = nn.SGD(net.trainable_params(), 0.25)
    step = ScaledStep(nn.WithLossCell(net, nn.MSELoss()), optimizer, Tensor(1024.0, ms.float32))
    assert step(Tensor([[1.0]]), Tensor([[1.0]])).item() == 4.0  # (3 - 1)^2
    assert net.weight.item() == 2.0  # 3 - 0.25 * 2 * (3 - 1)
