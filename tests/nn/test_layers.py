"""Every layer: eager and compiled alike, differentiable twice, copied and pickled, with and without training."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.nn import activation
from autodiff_compiler.testing import assert_modes_equal, gradcheck

Make = Callable[[], Any]


def x(*shape: int, seed: int = 0) -> Tensor:
    """Numbers that differ from each other and from 0, so that no function is at a kink."""
    rng = np.random.default_rng(seed)
    values = np.linspace(-2.0, 2.0, int(np.prod(shape))) + 0.013
    return Tensor(rng.permutation(values).reshape(shape), ms.float64)


def f64(make: Make) -> Make:
    """The layer with its Parameters in float64."""

    def made() -> Any:
        np.random.seed(3)
        cell = make()
        for p in cell.get_parameters():
            p.set_dtype(ms.float64)
        return cell

    return made


SMOOTH: dict[str, tuple[Make, tuple[Tensor, ...]]] = {
    "Dense": (lambda: nn.Dense(3, 2), (x(4, 3),)),
    "Dense activation": (lambda: nn.Dense(3, 2, activation="tanh"), (x(4, 3),)),
    "Linear": (lambda: nn.Linear(3, 2), (x(4, 3),)),
    "BiDense": (lambda: nn.BiDense(3, 2, 4), (x(5, 3), x(5, 2))),
    "Conv1d": (lambda: nn.Conv1d(2, 3, 3, stride=2, has_bias=True), (x(2, 2, 7),)),
    "Conv1d pad": (lambda: nn.Conv1d(2, 3, 3, pad_mode="pad", padding=(2, 1), dilation=2), (x(2, 2, 7),)),
    "Conv2d same": (lambda: nn.Conv2d(2, 3, 3, stride=2), (x(1, 2, 5, 6),)),
    "Conv2d valid": (lambda: nn.Conv2d(4, 6, (3, 2), pad_mode="valid", group=2, has_bias=True), (x(2, 4, 5, 5),)),
    "Conv2d pad": (lambda: nn.Conv2d(2, 3, 3, pad_mode="pad", padding=(1, 0, 2, 1), dilation=2), (x(1, 2, 6, 6),)),
    "Conv2d NHWC": (lambda: nn.Conv2d(2, 3, 3, has_bias=True, data_format="NHWC"), (x(1, 5, 5, 2),)),
    "Conv3d": (lambda: nn.Conv3d(2, 2, 2, pad_mode="valid", has_bias=True), (x(1, 2, 3, 3, 3),)),
    "Conv1dTranspose": (lambda: nn.Conv1dTranspose(2, 3, 3, stride=2, has_bias=True), (x(2, 2, 4),)),
    "Conv2dTranspose valid": (
        lambda: nn.Conv2dTranspose(2, 4, 3, stride=2, pad_mode="valid", group=2),
        (x(1, 2, 3, 3),),
    ),
    "Conv2dTranspose pad": (
        lambda: nn.Conv2dTranspose(2, 3, 3, stride=2, pad_mode="pad", padding=1, output_padding=1, has_bias=True),
        (x(1, 2, 3, 3),),
    ),
    "Conv3dTranspose": (lambda: nn.Conv3dTranspose(1, 2, 2, stride=2), (x(1, 1, 2, 2, 2),)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (x(4, 3),)),
    "BatchNorm1d sequences": (lambda: nn.BatchNorm1d(3), (x(4, 3, 2),)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2, gamma_init="ones"), (x(2, 2, 2, 3),)),
    "BatchNorm2d NHWC": (lambda: nn.BatchNorm2d(2, data_format="NHWC"), (x(2, 2, 3, 2),)),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(2), (x(2, 2, 2, 2, 2),)),
    "SyncBatchNorm": (lambda: nn.SyncBatchNorm(2), (x(2, 2, 2, 3),)),
    "LayerNorm": (lambda: nn.LayerNorm((4,)), (x(3, 4),)),
    "LayerNorm two": (lambda: nn.LayerNorm((2, 3), 1, 1), (x(2, 2, 3),)),
    "LayerNorm params": (lambda: nn.LayerNorm((3,), 1, 2), (x(2, 2, 3),)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (x(2, 4, 2, 2),)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(2), (x(2, 2, 5),)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(2), (x(2, 2, 3, 3),)),
    "InstanceNorm3d": (lambda: nn.InstanceNorm3d(2), (x(1, 2, 2, 2, 3),)),
    "LRN": (lambda: nn.LRN(1), (x(1, 3, 2, 2),)),
    "MaxPool1d": (lambda: nn.MaxPool1d(2, 2), (x(1, 2, 6),)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, 2), (x(1, 2, 5, 5),)),
    "MaxPool2d same": (lambda: nn.MaxPool2d(3, 2, "same"), (x(1, 2, 5, 5),)),
    "MaxPool2d pad": (lambda: nn.MaxPool2d(2, 2, "pad", 1, ceil_mode=True), (x(1, 2, 4, 5),)),
    "MaxPool2d NHWC": (lambda: nn.MaxPool2d(2, 2, data_format="NHWC"), (x(1, 4, 4, 2),)),
    "MaxPool3d": (lambda: nn.MaxPool3d(2, 1), (x(1, 1, 3, 3, 3),)),
    "AvgPool1d": (lambda: nn.AvgPool1d(2, 2), (x(1, 2, 6),)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, 1), (x(1, 2, 4, 4),)),
    "AvgPool2d pad": (lambda: nn.AvgPool2d(2, 2, "pad", 1, divisor_override=3), (x(1, 2, 4, 4),)),
    "AvgPool2d NHWC": (lambda: nn.AvgPool2d(2, 2, data_format="NHWC"), (x(1, 4, 4, 2),)),
    "AvgPool3d": (lambda: nn.AvgPool3d(2, 2, "same"), (x(1, 1, 3, 3, 3),)),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(2), (x(1, 2, 5),)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((2, None)), (x(1, 2, 5, 3),)),
    "AdaptiveAvgPool3d": (lambda: nn.AdaptiveAvgPool3d(2), (x(1, 1, 4, 4, 4),)),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(2), (x(1, 2, 5),)),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(2), (x(1, 2, 5, 4),)),
    "AdaptiveMaxPool3d": (lambda: nn.AdaptiveMaxPool3d(2), (x(1, 1, 4, 4, 4),)),
    "LPPool1d": (lambda: nn.LPPool1d(2, 2), (x(1, 2, 6),)),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2, 1), (x(1, 2, 3, 3),)),
    "ConstantPad1d": (lambda: nn.ConstantPad1d((1, 2), 0.5), (x(2, 3),)),
    "ConstantPad3d": (lambda: nn.ConstantPad3d((-1, 1, 0, 1, 1, 0), 0.5), (x(1, 2, 3, 4),)),
    "ZeroPad2d": (lambda: nn.ZeroPad2d(1), (x(1, 2, 2),)),
    "ReflectionPad1d": (lambda: nn.ReflectionPad1d(2), (x(2, 3),)),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d((1, 0, 2, 1)), (x(1, 3, 3),)),
    "ReflectionPad3d": (lambda: nn.ReflectionPad3d(1), (x(1, 2, 2, 2),)),
    "ReplicationPad2d": (lambda: nn.ReplicationPad2d((1, 0, 2, 1)), (x(1, 2, 2),)),
    "Pad": (lambda: nn.Pad(((1, 1), (2, 0)), "REFLECT"), (x(2, 3),)),
    "Flatten": (lambda: nn.Flatten(), (x(2, 2, 2),)),
    "Unflatten": (lambda: nn.Unflatten(-1, (2, -1)), (x(2, 6),)),
    "Unfold": (lambda: nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "same"), (x(1, 2, 3, 3),)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (x(1, 4, 2, 2),)),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), (x(1, 1, 4, 4),)),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), (x(1, 4, 2, 2),)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2.0, mode="bilinear", recompute_scale_factor=True), (x(1, 1, 2, 2),)),
    "Norm": (lambda: nn.Norm(axis=1, keep_dims=True), (x(2, 3),)),
    "Moments": (lambda: nn.Moments(1), (x(2, 3),)),
    "MatMul": (lambda: nn.MatMul(True, True), (x(3, 2), x(4, 3))),
    "ReduceLogSumExp": (lambda: nn.ReduceLogSumExp((0,)), (x(2, 3),)),
    "ClipByNorm": (lambda: nn.ClipByNorm(), (x(3), Tensor(1.0, ms.float64))),
    "L1Regularizer": (lambda: nn.L1Regularizer(0.5), (x(3),)),
    "Roll": (lambda: nn.Roll(1, 0), (x(3),)),
    "Tril": (lambda: nn.Tril(), (x(3, 3),)),
    "Triu": (lambda: nn.Triu(), (x(3, 3),)),
    "CentralCrop": (lambda: nn.CentralCrop(0.5), (x(2, 4, 5),)),
    "ImageGradients": (nn.ImageGradients, (x(1, 2, 3, 3),)),
    "PSNR": (lambda: nn.PSNR(2.0), (x(2, 1, 3, 3), x(2, 1, 3, 3, seed=1))),
    "SSIM": (lambda: nn.SSIM(2.0, 3), (x(1, 2, 4, 4), x(1, 2, 4, 4, seed=1))),
    "Conv2dBnAct": (lambda: nn.Conv2dBnAct(1, 2, 2, has_bn=True, activation="tanh"), (x(2, 1, 3, 3),)),
    "DenseBnAct": (lambda: nn.DenseBnAct(2, 3, has_bn=True, activation="leakyrelu"), (x(4, 2),)),
    "TimeDistributed": (lambda: nn.TimeDistributed(nn.Dense(2, 3), 1), (x(2, 3, 2),)),
    "TimeDistributed joined": (lambda: nn.TimeDistributed(nn.Dense(2, 3), 1, 0), (x(2, 3, 2),)),
    "RNNCell": (lambda: nn.RNNCell(3, 2), (x(2, 3), x(2, 2))),
    "GRUCell": (lambda: nn.GRUCell(3, 2), (x(2, 3), x(2, 2))),
    "RNN": (lambda: nn.RNN(2, 3, bidirectional=True), (x(3, 2, 2), x(2, 2, 3))),
    "GRU": (lambda: nn.GRU(2, 3, 2, has_bias=False, batch_first=True), (x(2, 3, 2), x(2, 2, 3))),
    "LSTM": (lambda: nn.LSTM(2, 3), (x(3, 2, 2),)),
    "RNN long": (lambda: nn.RNN(1, 2), (x(20, 1, 1),)),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 2), (x(3, 2, 4), x(2, 2, 4), x(2, 2, 4, seed=1))),
    "MultiheadAttention sizes": (
        lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True, add_zero_attn=True, batch_first=True),
        (x(2, 3, 4), x(2, 2, 3), x(2, 2, 2)),
    ),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 5, 0.0, "gelu"), (x(3, 2, 4),)),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(4, 2, 5, 0.0, norm_first=True),
        (x(3, 2, 4), x(2, 2, 4)),
    ),
    "PReLU": (lambda: nn.PReLU(3), (x(2, 3),)),
}
for _name in (
    "CELU ELU FastGelu GELU HShrink HSigmoid HSwish Hardtanh Identity LeakyReLU LogSigmoid LogSoftmax Mish ReLU ReLU6 "
    "SeLU SiLU Sigmoid SoftShrink Softmax Softmin Softplus Softsign Tanh Tanhshrink"
).split():
    SMOOTH[_name] = (getattr(nn, _name), (x(2, 3),))
SMOOTH["GLU"] = (nn.GLU, (x(2, 4),))
SMOOTH["Softmax2d"] = (nn.Softmax2d, (x(1, 3, 2, 2),))
SMOOTH["Threshold"] = (lambda: nn.Threshold(0.1, 5.0), (x(2, 3),))


def layer(name: str) -> tuple[Any, tuple[Tensor, ...]]:
    make, args = SMOOTH[name]
    return f64(make)(), args


def leaves(out: Any) -> list[Any]:
    return [v for o in out for v in leaves(o)] if isinstance(out, tuple | list) else [out]


def total(cell: Any) -> Callable[..., Any]:
    """A number in which every element of the results counts, not linearly."""

    def run(*args: Any) -> Any:
        found = 0.0
        for k, out in enumerate(leaves(cell(*args))):
            weights = ops.reshape(ops.sin(ops.arange(out.size).astype(ms.float64) + 1.0 + k), out.shape)
            found = found + (out * weights).sum() + (out * out * weights).sum()
        return found

    return run


@pytest.mark.some(4)
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("name", SMOOTH)
def test_a_layer_is_the_same_in_both_modes(name: str, training: bool) -> None:
    cell, args = layer(name)
    cell.set_train(training)
    weights = cell.trainable_params()
    positions = tuple(range(len(args)))
    assert_modes_equal(total(cell), *args, grad_position=positions, weights=weights or None, rtol=1e-9, atol=1e-10)
    assert_modes_equal(cell, *args, rtol=1e-9, atol=1e-10)


@pytest.mark.some(10)
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_a_layer_are_right(name: str) -> None:
    """The first and the second derivative against differences, in both modes."""
    cell, args = layer(name)
    cell.set_train()
    assert gradcheck(total(cell), args, order=2)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_layer_is_copied_and_pickled(name: str) -> None:
    cell, args = layer(name)
    wanted = leaves(cell(*args))
    for other in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell))):
        assert repr(other) == repr(cell)
        assert [p.name for p in other.get_parameters()] == [p.name for p in cell.get_parameters()]
        for a, b in zip(wanted, leaves(other(*args)), strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_every_name_is_found_and_listed() -> None:
    for name in nn.__all__:
        assert getattr(nn, name) is not None
    for module, names in nn._MODULES.items():
        if module.startswith(".") and not module.startswith(".."):
            found = importlib.import_module(f"autodiff_compiler.nn{module}")
            own = {n for n, v in vars(found).items() if n[0] != "_" and getattr(v, "__module__", "") == found.__name__}
            assert set(names) == set(getattr(found, "__all__", own - {"OneDevice"})), module  # a base of Cell


@pytest.mark.parametrize("name", sorted(activation._BY_NAME))
def test_an_activation_by_name(name: str) -> None:
    cell = nn.get_activation(name)
    assert cell(x(1, 2, 2, 2) if name == "softmax2d" else x(2, 4)).dtype == ms.float64


def test_an_unknown_activation_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="no activation"):
        nn.get_activation("no_such")
    assert nn.get_activation("") is None
