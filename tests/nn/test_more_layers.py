"""Layers of matrices and special functions, similarity in several sizes, sampled softmax, batches in parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.signal import correlate

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, grad, nn, ops
from autodiff_compiler.errors import DTypeError, ShapeError

RNG = np.random.default_rng(31)


def array(*shape: int) -> Any:
    return RNG.random(shape).astype(np.float32)


def close(found: Tensor, wanted: Any) -> None:
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=2e-5, atol=2e-6)


def test_matrices(mode: str) -> None:
    x, d = array(3, 2, 2) + 2 * np.eye(2, dtype=np.float32), array(3, 2)
    close(nn.MatDet()(Tensor(x)), np.linalg.det(x))
    close(nn.MatInverse()(Tensor(x)), np.linalg.inv(x))
    close(nn.MatrixDiagPart()(Tensor(x)), np.diagonal(x, axis1=1, axis2=2))
    close(nn.MatrixDiag()(Tensor(d)), np.eye(2) * d[:, None])
    close(nn.MatrixSetDiag()(Tensor(x), Tensor(d)), x * (1 - np.eye(2)) + np.eye(2) * d[:, None])


def test_special_functions(mode: str) -> None:
    a, x = array(4) + 0.5, array(4) + 0.2
    close(nn.LGamma()(Tensor(x)), special.gammaln(x))
    close(nn.DiGamma()(Tensor(x)), special.digamma(x))
    close(nn.IGamma()(Tensor(a), Tensor(x)), special.gammainc(a, x))
    close(nn.LBeta()(Tensor(a), Tensor(x)), special.betaln(a, x))


# ------------------------------------------------------------------------------------------------ images
def similarities(x: Any, y: Any, c1: float, c2: float) -> tuple[float, float]:
    """The mean similarity of one channel with and without lightness, in float64."""
    bell = np.exp(-((np.arange(3) - 1) ** 2) / (2 * 1.5**2))
    window = np.outer(bell, bell) / bell.sum() ** 2
    a, b, aa, bb, ab = (correlate(v, window, "valid") for v in (x, y, x * x, y * y, x * y))
    light = (2 * a * b + c1) / (a * a + b * b + c1)
    rest = (2 * (ab - a * b) + c2) / (aa - a * a + bb - b * b + c2)
    return float((light * rest).mean()), float(rest.mean())


def test_similarity_in_two_sizes(mode: str) -> None:
    x, y = array(2, 3, 8, 10), array(2, 3, 8, 10)
    factors = 0.4, 0.6
    wanted = []
    for one, two in zip(x.astype(float), y.astype(float), strict=True):
        channels = []
        for a, b in zip(one, two, strict=True):
            _, first = similarities(a, b, 0.01**2, 0.03**2)
            half = (v.reshape(4, 2, 5, 2).mean((1, 3)) for v in (a, b))
            last, _ = similarities(*half, 0.01**2, 0.03**2)
            channels.append(max(first, 0) ** factors[0] * max(last, 0) ** factors[1])
        wanted.append(np.mean(channels))
    close(nn.MSSSIM(power_factors=factors, filter_size=3)(Tensor(x), Tensor(y)), wanted)


def test_images_of_bytes_are_compared_in_float32(mode: str) -> None:
    x, y = RNG.integers(0, 256, (2, 1, 1, 6, 6)).astype(np.uint8)
    for net in (nn.SSIM(255.0, 3), nn.MSSSIM(255.0, (0.5, 0.5), 3)):
        found = net(Tensor(x), Tensor(y))
        assert found.dtype is ms.float32
        close(found, net(Tensor(x.astype(np.float32)), Tensor(y.astype(np.float32))).asnumpy())


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ShapeError):
        nn.MSSSIM()(ops.ones((1, 1, 8, 8)), ops.ones((1, 1, 8, 9)))
    with pytest.raises(TypeError, match="power_factors"):
        nn.MSSSIM(power_factors=0.5)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ sampled softmax
def test_given_samples(mode: str) -> None:
    """The formula of S. Jean and others in float64: logits less the logarithms of the expected counts."""
    weights, biases, x = array(6, 4), array(6), array(3, 4)
    labels, drawn = np.array([[0, 1], [2, 3], [1, 5]]), np.array([4, 2])
    of_labels, of_drawn = array(3, 2) + 0.1, array(2) + 0.1
    logits = x.astype(float) @ weights.T + biases
    true = np.take_along_axis(logits, labels, 1) - np.log(of_labels)
    everything = np.concatenate([true, logits[:, drawn] - np.log(of_drawn)], 1)
    wanted = -(true - special.logsumexp(everything, axis=1, keepdims=True)).mean(1)
    sampled = Tensor(drawn), Tensor(of_labels), Tensor(of_drawn)
    given = Tensor(weights), Tensor(biases), Tensor(labels), Tensor(x)
    close(nn.SampledSoftmaxLoss(2, 6, 2, sampled)(*given), wanted)
    close(nn.SampledSoftmaxLoss(2, 6, 2, sampled, reduction="mean")(*given), wanted.mean())


def test_all_classes_drawn_are_the_full_softmax(mode: str) -> None:
    weights, biases, x, labels = array(5, 4), array(5), array(3, 4), np.array([0, 2, 0])
    logits = x.astype(float) @ weights.T + biases
    given = Tensor(weights), Tensor(biases), Tensor(labels), Tensor(x)
    others = nn.SampledSoftmaxLoss(3, 5)(*given)  # the classes 1, 3 and 4 are no labels
    for found, label, row in zip(others.tolist(), labels, logits, strict=True):
        assert found == pytest.approx(special.logsumexp(row[[label, 1, 3, 4]]) - row[label], rel=1e-4)
    # With fewer others than are asked for, the labels among the drawn ones count not.
    np.testing.assert_allclose(nn.SampledSoftmaxLoss(5, 5)(*given).asnumpy(), others.asnumpy(), rtol=1e-5)
    twice = nn.SampledSoftmaxLoss(5, 5, remove_accidental_hits=False)(*given)
    for found, label, row in zip(twice.tolist(), labels, logits, strict=True):
        assert found == pytest.approx(math.log(np.exp(row).sum() + math.exp(row[label])) - row[label], rel=1e-4)


def test_samples_are_drawn_anew_or_by_a_seed(mode: str) -> None:
    given = Tensor(array(50, 4)), ops.zeros((50,)), Tensor([0, 1]), Tensor(array(2, 4))
    free = nn.SampledSoftmaxLoss(3, 50)
    assert len({tuple(free(*given).tolist()) for _ in range(4)}) > 1
    ms.set_seed(1)
    first = nn.SampledSoftmaxLoss(3, 50, seed=7)(*given).tolist()
    ms.set_seed(1)
    ops.rand(3)  # from another stream
    assert nn.SampledSoftmaxLoss(3, 50, seed=7)(*given).tolist() == first
    total = nn.SampledSoftmaxLoss(3, 50, reduction="sum")
    slope = grad(total)(*given)
    assert (slope != 0).any(1).sum().item() == 2 + 3


def test_what_cannot_be_sampled() -> None:
    with pytest.raises(ValueError, match="5 classes"):
        nn.SampledSoftmaxLoss(6, 5)
    with pytest.raises(ValueError, match="not 2"):
        nn.SampledSoftmaxLoss(2, 5, sampled_values=(1, 2))
    with pytest.raises(DTypeError):
        nn.SampledSoftmaxLoss(1, 5)(ops.ones((5, 1)), ops.ones((5,)), Tensor([1.0]), ops.ones((1, 1)))


# ------------------------------------------------------------------------------------------------ batches in parts
def test_gradients_of_the_parts_add_up(mode: str) -> None:
    net = nn.Dense(3, 2)
    x, y = Tensor(array(6, 3)), Tensor(array(6, 2))
    whole = nn.WithLossCell(net, nn.MSELoss("sum"))
    for parts in (nn.GradAccumulationCell(whole, 3), nn.MicroBatchInterleaved(whole)):
        close(parts(x, y), whole(x, y).asnumpy())
        for a, b in zip(
            ms.grad(parts, None, net.trainable_params())(x, y),
            ms.grad(whole, None, net.trainable_params())(x, y),
            strict=True,
        ):
            close(a, b.asnumpy())
        assert list(parts.parameters_dict()) == ["weight", "bias"]


def test_a_batch_that_cannot_be_divided() -> None:
    with pytest.raises(ShapeError, match="4 equal parts"):
        nn.GradAccumulationCell(nn.ReLU(), 4)(ops.ones((6, 1)))
    with pytest.raises(TypeError, match="Cell"):
        nn.MicroBatchInterleaved(abs)
    with pytest.raises(ValueError, match="interleave_num"):
        nn.MicroBatchInterleaved(nn.ReLU(), 0)


# ------------------------------------------------------------------------------------------------ small things
def test_windows_of_three_dimensions_count_zeros_around() -> None:
    """As MindSpore 2.10 computes it on the CPU: "same" is of zeros there, for three dimensions only."""
    x = array(1, 1, 3, 4, 5)
    padded = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 2, 2), (2, 3, 4))
    inside = np.lib.stride_tricks.sliding_window_view(np.pad(np.ones(x.shape[2:]), [(0, 1)] * 3), (2, 2, 2)).sum(
        (3, 4, 5)
    )
    sums = windows.sum((5, 6, 7))
    close(nn.AvgPool3d(2, 1, "same")(Tensor(x)), sums / 8)
    close(ops.AvgPool3D(2, 1, "same")(Tensor(x)), sums / 8)
    close(nn.AvgPool3d(2, 1, "same", count_include_pad=False)(Tensor(x)), sums / inside)
    close(nn.AvgPool3d(2, 1, "same", divisor_override=3)(Tensor(x)), sums / 3)


def test_a_sequence_without_a_batch_has_one_loss(mode: str) -> None:
    """One label in two steps: all paths but the one of blanks only spell it."""
    logs = np.log(np.array([[0.25, 0.75], [0.5, 0.5]], np.float32))
    loss = nn.CTCLoss(reduction="none")(Tensor(logs), Tensor([1]), Tensor([2]), Tensor([1]))
    close(loss, -math.log(1 - 0.25 * 0.5))
    assert loss.shape == ()


def test_an_update_is_no_parameter(mode: str) -> None:
    weight = Parameter(Tensor([1.0, 2.0]), name="w")
    found = nn.ParameterUpdate(weight)(Tensor([3.0, 4.0]))
    assert (type(found), found.tolist(), weight.tolist()) == (Tensor, [3.0, 4.0], [3.0, 4.0])


def test_the_momentum_is_shown_as_it_was_given() -> None:
    assert "momentum=0.9, " in repr(nn.BatchNorm2d(3, momentum=0.9))
    assert str(nn.CellDict({"a": nn.ReLU()}).keys()) == "odict_keys(['a'])"


def test_a_network_made_without_values_has_them() -> None:
    with nn.no_init_parameters():
        net = nn.Dense(2, 1, weight_init="ones")
    assert net.weight.tolist() == [[1.0, 1.0]]
