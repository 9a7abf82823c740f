"""CTC against the enumeration of all paths; its documented example; derivatives of both orders; greedy decoding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import DynamicShapeError, ShapeError

RNG = np.random.default_rng(5)


def collapsed(path, blank):
    return [label for label, _ in itertools.groupby(path) if label != blank]


def total_probability(log_probs, labels, blank):
    """The sum over all paths [time] of classes that spell the labels."""
    time, classes = log_probs.shape
    return sum(
        np.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
        for path in itertools.product(range(classes), repeat=time)
        if collapsed(path, blank) == list(labels)
    )


def log_probabilities(*shape):
    x = RNG.normal(size=shape)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@pytest.mark.parametrize("blank", [0, 2])
def test_loss_is_the_sum_over_all_paths(modes, blank):
    x = log_probabilities(5, 4, 3)
    labels = [c for c in range(3) if c != blank]
    a, b = labels
    targets = np.array([[a, b, a], [a, a, b], [b, -7, 99], [-1, -1, -1]])  # what follows the last label is not read
    inputs, lengths = np.array([5, 4, 2, 3]), np.array([3, 2, 1, 0])

    def loss(reduction):
        return modes(
            lambda x: ops.ctc_loss(x, Tensor(targets), Tensor(inputs), Tensor(lengths), blank, reduction)[0], x
        )

    expected = [
        -np.log(total_probability(x[: inputs[i], i], targets[i, : lengths[i]], blank)) for i in range(len(inputs))
    ]
    np.testing.assert_allclose(loss("none")[0], expected, rtol=1e-12)
    np.testing.assert_allclose(loss("sum")[0], np.sum(expected), rtol=1e-12)
    np.testing.assert_allclose(loss("mean")[0], np.mean(expected / np.maximum(lengths, 1)), rtol=1e-12)


def test_the_documented_example():
    x = Tensor(np.array([[[0.3, 0.6, 0.6]], [[0.9, 0.4, 0.2]]], np.float32))
    loss, scores = ops.ctc_loss(x, Tensor([[0, 1]]), Tensor([2]), Tensor([1]), 0, "mean", True)
    assert loss.item() == pytest.approx(-2.2986124, rel=1e-6)
    low = -np.inf
    known = [[[0.3, 0.3, low, low, low], [1.2, 1.8931472, 1.2, low, low]]]
    np.testing.assert_allclose(scores.asnumpy(), known, rtol=1e-6)


def test_targets_one_after_the_other_and_without_a_batch(modes):
    x = log_probabilities(4, 2, 4)
    padded = ops.ctc_loss(Tensor(x), Tensor([[1, 2], [3, 0]]), (4, 4), (2, 1), reduction="none")[0].asnumpy()
    listed = modes(lambda x: ops.ctc_loss(x, Tensor([1, 2, 3]), (4, 4), (2, 1), reduction="none")[0], x)[0]
    np.testing.assert_array_equal(listed, padded)
    single = modes(lambda x: ops.ctc_loss(x, Tensor([1, 2]), 4, 2, reduction="none")[0], x[:, 0])[0]
    np.testing.assert_array_equal(single, padded[:1])


def test_derivatives(derivatives):
    targets, inputs, lengths = Tensor([[1, 1], [2, 0]]), Tensor([4, 3]), Tensor([2, 1])
    derivatives(lambda x: ops.ctc_loss(ops.log_softmax(x), targets, inputs, lengths, reduction="none")[0],
                RNG.normal(size=(4, 2, 3)))  # fmt: skip
    derivatives(lambda x: ops.ctc_loss(x, targets, inputs, lengths)[0].reshape(1), RNG.normal(size=(4, 2, 3)))


def test_operands_known_at_run_time_and_without_labels():
    x, targets = Tensor(log_probabilities(4, 2, 3)), Tensor(np.array([[1, 2], [2, 2]], np.int32))
    lengths = Tensor(np.array([4, 3], np.int32)), Tensor(np.array([2, 0], np.int32))

    def loss(x, targets, inputs, lengths):
        return ops.ctc_loss(x, targets, inputs, lengths, reduction="none")[0]

    expected = [-np.log(total_probability(x.asnumpy()[:, 0], [1, 2], 0)), -x.asnumpy()[:3, 1, 0].sum()]
    for run in (loss, ac.jit(loss)):
        np.testing.assert_allclose(run(x, targets, *lengths).asnumpy(), expected, rtol=1e-12)
        none = run(x, Tensor(np.zeros((2, 0), int)), lengths[0], Tensor([0, 0])).asnumpy()
        np.testing.assert_allclose(none, [-x.asnumpy()[:n, i, 0].sum() for i, n in enumerate((4, 3))], rtol=1e-12)
    together = ac.vmap(lambda x: loss(x, targets, *lengths))(Tensor(np.stack([x.asnumpy()] * 2)))
    np.testing.assert_allclose(together.asnumpy(), [expected] * 2, rtol=1e-12)


def test_a_target_without_an_alignment():
    x, targets = Tensor(log_probabilities(2, 2, 3)), Tensor([[1, 1], [1, 2]])  # the first needs a blank in between

    def loss(x, zero):
        return ops.ctc_loss(x, targets, (2, 2), (2, 2), reduction="none", zero_infinity=zero)[0]

    assert np.isposinf(loss(x, False).asnumpy()[0])
    assert loss(x, True).asnumpy()[0] == 0
    for zero in (False, True):
        gradient = ac.grad(lambda x: loss(x, zero).sum())
        for found in (gradient(x), ac.jit(gradient)(x)):
            assert np.isfinite(found.asnumpy()).all()
            assert (found.asnumpy()[:, 0] == 0).all()
            assert (found.asnumpy()[:, 1] != 0).any()


def test_16_bit_floats_are_computed_in_float32():
    x = log_probabilities(30, 1, 5).astype(np.float16)
    targets, options = Tensor(RNG.integers(1, 5, (1, 10))), ((30,), (10,), 0, "sum")
    wide = ops.ctc_loss(Tensor(x.astype(np.float64)), targets, *options)[0].item()
    narrow = ops.ctc_loss(Tensor(x), targets, *options)[0]
    assert narrow.dtype is ac.float16
    assert narrow.item() == pytest.approx(wide, rel=1e-3)


def test_what_the_loss_refuses():
    x = Tensor(log_probabilities(3, 1, 3))
    with pytest.raises(IndexError):
        ops.ctc_loss(x, Tensor([[3]]), (3,), (1,))
    with pytest.raises(IndexError):
        ops.ctc_loss(x, Tensor([[1]]), (4,), (1,))
    with pytest.raises(IndexError):
        ops.ctc_loss(x, Tensor([[1]]), (3,), (2,))
    with pytest.raises(ValueError, match="the blank 3 is none of 3 classes"):
        ops.ctc_loss(x, Tensor([[1]]), (3,), (1,), 3)
    with pytest.raises(ShapeError, match="must hold 1 numbers"):
        ops.ctc_loss(x, Tensor([[1]]), (3, 3), (1,))


def test_greedy_decoding():
    x = np.array([[[0.6, 0.4, 0.2], [0.8, 0.6, 0.3]], [[0.0, 0.6, 0.0], [0.5, 0.4, 0.5]]], np.float32)
    places, labels, shape, score = ops.ctc_greedy_decoder(Tensor(x), Tensor([2, 2]))  # the documented example
    assert places.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert labels.tolist() == [0, 1, 0]
    assert shape.tolist() == [2, 2]
    np.testing.assert_allclose(score.asnumpy(), [[-1.2], [-1.3]], rtol=1e-6)
    assert ops.ctc_greedy_decoder(Tensor(x), Tensor([2, 2]), False)[1].tolist() == [0, 1, 0, 0]
    assert ops.ctc_greedy_decoder(Tensor(x[..., ::-1].copy()), Tensor([1, 2]))[1].tolist() == [0]
    with pytest.raises(DynamicShapeError):
        ac.jit(ops.ctc_greedy_decoder)(Tensor(x), Tensor([2, 2]))
