"""Which parts of a network compute in lower precision, by what rounding can be seen, in both modes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, amp, nn, ops

F16, F32, BF16 = ms.float16, ms.float32, ms.bfloat16
TINY = 2.0**-12  # lost beside 1 in float16 and in bfloat16


class Seen(nn.Cell):
    """Returns its input and the dtype it had, as the size of a Tensor."""

    def construct(self, x):
        return x, ops.zeros((x.dtype.itemsize,))


class Normal(nn.LayerNorm):
    """Stands on the black list, and passes its input on."""

    def __init__(self) -> None:
        super().__init__((2,))

    def construct(self, x):
        return x + TINY


class Net(nn.Cell):
    """Every part adds something that lower precision loses."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Dense(1, 2, Tensor([[1.0], [1 + TINY]]), has_bias=False)
        self.norm = Normal()
        self.mul = ops.MatMul()
        self.eye = Parameter(Tensor(np.eye(2) * (1 + TINY), F32), name="eye")

    def construct(self, x):
        dense = self.fc(x)
        return dense, x + TINY, self.norm(x), self.mul(ops.ones((1, 2)), self.eye)


#: Whether the dense layer, an addition in between, the normalization and the primitive keep the tiny part.
KEPT = {"O0": (1, 1, 1, 1), "O1": (0, 1, 1, 0), "O2": (0, 0, 0, 0), "O3": (0, 0, 0, 0)}


@pytest.mark.parametrize("level", KEPT)
@pytest.mark.parametrize("dtype", [F16, BF16])
def test_levels(mode: str, level: str, dtype: Any) -> None:
    net = Net()
    names = [p.name for p in net.get_parameters()]
    lower = amp.auto_mixed_precision(net, level, dtype)
    found = lower(Tensor([[1.0]]))
    assert {t.dtype for t in found} == {F32}
    assert tuple(int(t.asnumpy().max() != 1.0) for t in found) == KEPT[level]
    # Parameters stay what and where they are.
    assert [p.name for p in lower.get_parameters()] == names
    assert {p.dtype for p in lower.get_parameters()} == {F32}
    assert lower.fc.weight is net.fc.weight
    assert lower.eye is net.eye

    def loss(x):
        return lower(x)[0].sum()

    dx, dw = ms.grad(loss, 0, lower.trainable_params())(Tensor([[3.0]]))
    assert {g.dtype for g in (dx, *dw)} == {F32}
    np.testing.assert_allclose(dw[0].asnumpy() if dw[0].shape == (2, 1) else dw[1].asnumpy(), [[3.0], [3.0]])


def test_what_is_on_the_black_list_computes_in_float32_and_returns_what_the_network_computes_in(mode: str) -> None:
    class Squares(nn.BatchNorm1d):
        def construct(self, x):
            return (x * 256.0) * 256.0 / 256.0 / 256.0  # infinite on the way in float16

    class Around(nn.Cell):
        def __init__(self):
            super().__init__()
            self.norms = nn.SequentialCell(Squares(2), Seen())

        def construct(self, x):
            return self.norms(x)

    x = Tensor([[3.0, 5.0]])
    for level, wanted in (("O2", [[3.0, 5.0]]), ("O3", [[np.inf, np.inf]])):
        value, size = amp.auto_mixed_precision(Around(), level)(x)
        assert (value.tolist(), size.shape) == (wanted, (2,))


def test_the_network_given_is_changed_and_has_another_type(mode: str) -> None:
    net = nn.SequentialCell(nn.Dense(1, 1))
    lower = amp.auto_mixed_precision(net, "O3")
    x = Tensor([[1.0]])
    assert (lower(x).dtype, net(x).dtype) == (F32, F16)


def test_what_the_user_set_stays_with_level_1(mode: str) -> None:
    net = nn.SequentialCell(nn.Dense(1, 1, 1 + TINY, has_bias=False).to_float(F32))
    assert amp.auto_mixed_precision(net, "O1")(Tensor([[1.0]])).item() == 1 + TINY


def test_custom_lists(mode: str) -> None:
    x = Tensor([[1 + TINY]])

    class Add(nn.Cell):
        def construct(self, x):
            return x + 1.0

    def run(**lists: Any) -> tuple[float, Any]:
        found = amp.custom_mixed_precision(nn.SequentialCell(Add()), **lists)(x)
        return found.item(), found.dtype

    assert run(white_list=[Add]) == (2.0, F32)
    assert run(white_list=[nn.ReLU]) == (np.float32(2 + TINY), F32)
    assert run(black_list=[nn.ReLU], dtype=BF16) == (2.0, F32)
    again = amp.custom_mixed_precision(Add(), white_list=[Add])  # the network itself is listed
    assert again(x).item() == 2.0


def test_a_shared_part_stays_shared() -> None:
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = self.b = nn.Dense(1, 1)
            self.act, self.same = (ops.ReLU(),) * 2

    net = amp.auto_mixed_precision(Twice(), "O1")
    assert net.a is net.b
    assert net.act is net.same
    assert len(net.trainable_params()) == 2


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_copies_and_training_flags(mode: str, level: str) -> None:
    net = amp.auto_mixed_precision(nn.SequentialCell(nn.Dense(2, 2), nn.BatchNorm1d(2)), level)
    x = Tensor(np.random.RandomState(1).standard_normal((4, 2)).astype(np.float32))
    wanted = net(x).asnumpy()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_array_equal(other(x).asnumpy(), wanted)
        assert [p.name for p in other.get_parameters()] == [p.name for p in net.get_parameters()]
    assert all(cell.training for _, cell in net.set_train().cells_and_names())
    with pytest.raises(AttributeError, match="nothing_such"):
        net.nothing_such


def test_lists_are_the_callers_own() -> None:
    amp.get_white_list().clear()
    amp.get_black_list().clear()
    assert nn.GRUCell in amp.get_white_list()
    assert ops.Ger in amp.get_white_list()
    assert nn.BatchNorm3d in amp.get_black_list()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: amp.auto_mixed_precision(lambda x: x, "O1"), TypeError),
        (lambda: amp.auto_mixed_precision(nn.ReLU(), "O4"), ValueError),
        (lambda: amp.auto_mixed_precision(nn.ReLU(), "O2", ms.float64), ValueError),
        (lambda: amp.auto_mixed_precision(nn.ReLU(), "auto"), ms.UnsupportedCallError),
        (lambda: amp.custom_mixed_precision(nn.ReLU()), ValueError),
        (lambda: amp.custom_mixed_precision(nn.ReLU(), white_list=[], black_list=[]), ValueError),
        (lambda: amp.custom_mixed_precision(nn.ReLU(), white_list=(nn.ReLU,)), TypeError),
        (lambda: amp.custom_mixed_precision(nn.ReLU(), white_list=[nn.ReLU()]), TypeError),
        (lambda: amp.custom_mixed_precision(nn.ReLU(), black_list=[ops.ReLU]), TypeError),
        (lambda: amp.custom_mixed_precision(nn.ReLU(), white_list=[nn.ReLU], dtype=F32), ValueError),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


# ---------------------------------------------------------------------------------------------------- training
X = np.random.RandomState(2).standard_normal((32, 3)).astype(np.float32)
Y = X.sum(1, keepdims=True)


def network() -> nn.Cell:
    rng = np.random.RandomState(3)
    first, second = (Tensor(rng.uniform(-0.7, 0.7, s).astype(np.float32)) for s in ((8, 3), (1, 8)))
    return nn.SequentialCell(
        nn.Dense(3, 8, first, "zeros"), nn.BatchNorm1d(8), nn.ReLU(), nn.Dense(8, 1, second, "zeros")
    )


@pytest.mark.some(2)
@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_networks_learn_at_every_level(mode: str, level: str) -> None:
    net = network()
    optimizer = nn.Adam(net.trainable_params(), 0.03)
    step = amp.build_train_network(net, optimizer, nn.MSELoss(), level)
    assert step.training
    wanted = nn.TrainOneStepWithLossScaleCell if level == "O2" else nn.TrainOneStepCell
    assert type(step) is wanted
    found = [step(Tensor(X), Tensor(Y)) for _ in range(60)]
    losses = [f[0].item() if level == "O2" else f.item() for f in found]
    assert losses[-1] < 0.1 * losses[0]
    assert {p.dtype for p in net.get_parameters()} == {F32}
    if mode == "graph":
        assert step._as_compiled().cache_info()["compiles"] == 1


@pytest.mark.parametrize(
    ("level", "options", "halves", "cell", "scale"),
    [
        ("O0", {"cast_model_type": F16}, (True, True), nn.TrainOneStepCell, None),
        ("O2", {"cast_model_type": F32, "loss_scale_manager": None}, (False, False), nn.TrainOneStepCell, None),
        ("O2", {"keep_batchnorm_fp32": False, "loss_scale_manager": None}, (True, True), nn.TrainOneStepCell, None),
        ("O3", {"keep_batchnorm_fp32": True}, (True, False), nn.TrainOneStepCell, None),
        ("O0", {"loss_scale_manager": amp.FixedLossScaleManager(8.0, False)}, (False,) * 2, nn.TrainOneStepCell, 8.0),
        (
            "O0",
            {"loss_scale_manager": amp.FixedLossScaleManager(8.0)},
            (False,) * 2,
            nn.TrainOneStepWithLossScaleCell,
            8.0,
        ),
    ],
)
def test_options(level: str, options: dict[str, Any], halves: tuple[bool, bool], cell: type, scale: float) -> None:
    net = network()
    dense, norm = net[0], net[1]
    step = amp.build_train_network(net, nn.SGD(net.trainable_params(), 0.1), nn.MSELoss(), level, **options)
    assert type(step) is cell
    assert (dense._precision is F16, norm._precision is F16) == halves
    if scale is not None:
        assert (step.sens if cell is nn.TrainOneStepCell else step.scale_sense.item()) == scale


def test_a_network_that_has_its_loss(mode: str) -> None:
    net = nn.WithLossCell(nn.Dense(1, 1, 1.0, has_bias=False), nn.MSELoss())
    step = amp.build_train_network(net, nn.SGD(net.trainable_params(), 0.25))
    assert step(Tensor([[2.0]]), Tensor([[1.0]])).item() == 1.0
    assert net.trainable_params()[0].item() == 1.0 - 0.25 * 2 * 2


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"level": "O5"}, ValueError),
        ({"level": 2}, TypeError),
        ({"boost_level": "O9"}, ValueError),
        ({"no_such": 1}, ValueError),
        ({"cast_model_type": ms.float64}, ValueError),
        ({"keep_batchnorm_fp32": 1}, TypeError),
        ({"loss_scale_manager": 1024.0}, TypeError),
        ({"loss_fn": lambda a, b: a}, TypeError),
        ({"optimizer": 3}, TypeError),
    ],
)
def test_train_networks_that_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    net = network()
    given = {"optimizer": nn.SGD(net.trainable_params(), 0.1), **options}
    with pytest.raises(error):
        amp.build_train_network(net, **given)
