"""An input that does not fit a layer: the error names the layer, what it takes, and the layer that would fit."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, mint, nn, ops

ROWS = [
    (lambda: nn.Dense(3, 2), (2, 4), "Dense(3, 2) takes 3 features, not an input of shape [2, 4]", "`Dense(4, 2)`"),
    (lambda: nn.Dense(3, 2), (), "Dense(3, 2) takes 3 features, not an input of shape []", "one sample as [1, 3]"),
    (lambda: mint.nn.Linear(3, 2), (4,), "Linear(3, 2) takes 3 features, not an input of shape [4]", "`Linear(4, 2)`"),
    (
        lambda: nn.SequentialCell(nn.Dense(4, 3), nn.ReLU(), nn.Dense(5, 2)),
        (2, 4),
        "Dense(5, 2) takes 5 features, not an input of shape [2, 3]",
        "`Dense(3, 2)`",
    ),
    (
        lambda: nn.BatchNorm2d(3),
        (2, 4, 5, 6),
        "BatchNorm2d(num_features=3) takes 3 channels, not the 4 of an input of shape [2, 4, 5, 6]",
        "`BatchNorm2d(4)`",
    ),
    (
        lambda: nn.BatchNorm2d(4, data_format="NHWC"),
        (2, 4, 5, 6),
        "BatchNorm2d(num_features=4) takes 4 channels, not the 6 of an input of shape [2, 4, 5, 6]",
        "`BatchNorm2d(6)`",
    ),
    (
        lambda: nn.InstanceNorm2d(3),
        (2, 4, 5, 6),
        "InstanceNorm2d(num_features=3) takes 3 channels, not the 4 of an input of shape [2, 4, 5, 6]",
        "`InstanceNorm2d(4)`",
    ),
]


@pytest.mark.parametrize(("make", "shape", "told", "fitting"), ROWS)
def test_the_layer_is_named_and_the_one_that_would_fit(make, shape, told, fitting):
    layer, x = make(), ops.ones(shape)

    def f(x):
        return layer(x)

    for call in (f, ms.jit(f), lambda x: ms.grad(f)(x), ms.jit(ms.grad(f))):
        with pytest.raises(ms.ShapeError) as caught:
            call(x)
        assert caught.value.message == told
        assert fitting in caught.value.hint
    with pytest.raises(ms.ShapeError) as caught:
        ms.jit(f)(x)
    assert caught.value.spans[0][0].function.endswith("f")  # the user's call, and not our own code


def test_the_weight_counts_that_a_dense_layer_has_now():
    layer = nn.Dense(3, 1, weight_init="ones", has_bias=False)
    layer.weight = ms.Parameter(Tensor([[1.0, 2.0]]), name="weight")
    for f in (layer, ms.jit(layer)):
        assert f(Tensor([10.0, 1.0])).tolist() == [12.0]


def test_float_labels_that_number_classes_are_to_be_cast():
    loss, logits, labels = nn.CrossEntropyLoss(), ops.ones((4, 3)), Tensor([0.0, 1.0, 2.0, 0.0])
    for f in (loss, ms.jit(loss)):
        with pytest.raises(ms.ShapeError) as caught:
            f(logits, labels)
        assert "float32 labels are probabilities" in caught.value.message
        assert "labels.astype(ms.int32)" in caught.value.hint
        with pytest.raises(ms.ShapeError) as caught:
            f(logits, ops.ones((4, 2)))
        assert caught.value.hint is None or "int32" not in caught.value.hint
    cast = loss(logits, labels.astype(ms.int32))
    assert cast.item() == pytest.approx(1.0986123)  # log 3


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nn.TrainOneStepCell(nn.Dense(1, 1), 3), "`optimizer` must be an optimizer, .*, not an int"),
        (lambda: nn.TrainOneStepCell(3, nn.SGD(nn.Dense(1, 1).trainable_params())), "`network` must be .*, not an int"),
        (lambda: nn.LayerNorm(3), "must be a tuple or a list, not an int"),
        (lambda: nn.SequentialCell(1, 2), "in a container of Cells, not an int"),
        (lambda: ms.profile(3), "a derivative, not an int"),
        (lambda: ms.benchmark(3, Tensor(1.0)), "a function or a Cell, not an int"),
    ],
)
def test_values_of_the_wrong_class(make, says):
    with pytest.raises(TypeError, match=says):
        make()
