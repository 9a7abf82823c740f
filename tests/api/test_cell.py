"""Cells: what belongs to them, what it is called, and how they are called."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops
from autodiff_compiler.common.initializer import Constant


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


class Scale(nn.Cell):
    """Two own Parameters around a child, set before and after it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Parameter([2.0])
        self.fc = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        self.last = Parameter([3.0], name="given")

    def construct(self, x, shift=0.0):
        return self.fc(x) * self.first + self.last + shift


class Outer(nn.Cell):
    def __init__(self, inner: nn.Cell, auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix)
        self.a = inner

    def construct(self, x):
        return self.a(x)


# ---------------------------------------------------------------------------------------------------- names
def test_own_parameters_come_first_and_nested_ones_are_named_by_path() -> None:
    assert names(Scale()) == ["first", "given", "fc.weight", "fc.bias"]
    # Inside of another Cell the attribute's path counts, whatever `name` said.
    assert names(Outer(Scale())) == ["a.first", "a.last", "a.fc.weight", "a.fc.bias"]
    assert names(Outer(Outer(nn.Dense(1, 1)))) == ["a.a.weight", "a.a.bias"]


def test_without_auto_prefix_names_stay() -> None:
    assert names(Outer(nn.Dense(1, 1), auto_prefix=False)) == ["weight", "bias"]
    assert names(Outer(Outer(nn.Dense(1, 1), auto_prefix=False))) == ["a.a.weight", "a.a.bias"]


def test_children_of_lists_are_numbered_and_python_lists_hold_nothing() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.unseen = [nn.Dense(1, 1)]
            self.seq = nn.SequentialCell(nn.Dense(1, 1, has_bias=False), nn.ReLU(), nn.Dense(1, 1))
            self.l = nn.CellList([nn.Dense(1, 1, has_bias=False)])
            self.ps = ParameterTuple([Parameter(1.0, name="p0"), Parameter(2.0, name="p1")])

    assert names(Net()) == ["p0", "p1", "seq.0.weight", "seq.2.weight", "seq.2.bias", "l.0.weight"]
    nested = Outer(Outer(Net()))
    assert names(nested)[:3] == ["a.a.p0", "a.a.p1", "a.a.seq.0.weight"]
    paths = ["", "a", "a.a", "a.a.seq", "a.a.seq.0", "a.a.seq.1", "a.a.seq.2", "a.a.l", "a.a.l.0"]
    assert [path for path, _ in nested.cells_and_names()] == paths


def test_a_shared_part_is_listed_once() -> None:
    class Tied(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Dense(2, 2, has_bias=False)
            self.b = nn.Dense(2, 2, has_bias=False)
            self.b.weight = self.a.weight
            self.again = self.a

    net = Tied()
    assert names(net) == ["again.weight"]  # the last place a Cell was set counts
    assert [path for path, _ in net.cells_and_names()] == ["", "a", "b"]
    assert list(net.name_cells()) == ["a", "b"]


def test_parameters_dict_refuses_two_parameters_of_one_name() -> None:
    class Twice(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = Parameter(1.0, name="w"), Parameter(1.0, name="w")

    with pytest.raises(ValueError, match="both called 'w'"):
        Twice().parameters_dict()
    assert list(Scale().parameters_dict()) == ["first", "given", "fc.weight", "fc.bias"]


def test_trainable_and_untrainable_parameters() -> None:
    net = Scale()
    net.fc.weight.requires_grad = False
    assert [p.name for p in net.trainable_params()] == ["first", "given", "fc.bias"]
    assert [p.name for p in net.untrainable_params()] == ["fc.weight"]
    assert [p.name for p in net.trainable_params(recurse=False)] == ["first", "given"]


# ---------------------------------------------------------------------------------------------------- attributes
def test_a_tensor_set_to_a_parameter_changes_its_value() -> None:
    net = nn.Dense(2, 1)
    weight = net.weight
    net.weight = Tensor([[1.0, 2.0]])
    assert net.weight is weight
    assert weight.tolist() == [[1.0, 2.0]]
    with pytest.raises(ValueError, match="shape"):
        net.weight = Tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(("attribute", "value"), [("weight", 3), ("weight", "w"), ("activation", 5)])
def test_a_part_is_not_replaced_by_something_else(attribute: str, value: object) -> None:
    net = nn.Dense(2, 1, activation="relu")
    with pytest.raises(TypeError, match=attribute):
        setattr(net, attribute, value)
    assert net.activation is not None
    assert names(net) == ["weight", "bias"]


def test_none_and_del_remove_a_part() -> None:
    net = Outer(nn.Dense(1, 1))
    net.a.bias = None
    assert names(net) == ["a.weight"]
    del net.a
    assert names(net) == []
    with pytest.raises(AttributeError, match="no attribute"):
        net.a


def test_a_replaced_child_takes_over_place_and_name() -> None:
    net = nn.SequentialCell(nn.Dense(1, 1), nn.Dense(1, 2, has_bias=False))
    net[0] = nn.Dense(1, 1, has_bias=False)
    assert names(net) == ["0.weight", "1.weight"]


@pytest.mark.parametrize("part", [Parameter(1.0), nn.ReLU(), ParameterTuple()], ids=["Parameter", "Cell", "tuple"])
def test_parts_before_init_are_refused(part: object) -> None:
    class Hasty(nn.Cell):
        def __init__(self) -> None:
            self.part = part

    with pytest.raises(AttributeError, match="__init__"):
        Hasty()


def test_insertion_checks_what_it_gets() -> None:
    net = Scale()
    net.insert_child_to_cell("more", nn.Dense(1, 1, has_bias=False))
    net.insert_param_to_cell("p", Parameter(1.0))
    assert names(net) == ["first", "given", "p", "fc.weight", "fc.bias", "weight"]
    with pytest.raises(TypeError, match="child_cell"):
        net.insert_child_to_cell("x", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="child_name"):
        net.insert_child_to_cell(3, nn.ReLU())  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="fc"):
        net.insert_child_to_cell("fc", nn.ReLU())
    with pytest.raises(KeyError, match="dot"):
        net.insert_param_to_cell("a.b", Parameter(1.0))


def test_flags_go_to_all_children_and_return_the_cell() -> None:
    net = Outer(nn.SequentialCell(nn.ReLU()))
    assert net.set_train() is net
    assert all(cell.training for _, cell in net.cells_and_names())
    net.a.set_train(False)
    assert [cell.training for _, cell in net.cells_and_names()] == [True, False, False]
    assert net.set_grad() is net
    assert net.a.requires_grad
    assert not net.set_grad(False).requires_grad


def test_apply_visits_children_first() -> None:
    seen: list[str] = []
    net = Outer(nn.SequentialCell(nn.ReLU(), nn.Tanh()))
    assert net.apply(lambda c: seen.append(c.cls_name)) is net
    assert seen == ["ReLU", "Tanh", "SequentialCell", "Outer"]


def test_repr_shows_the_tree() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.ReLU()
            self.seq = nn.SequentialCell(nn.Tanh(), nn.Sigmoid())

    # As MindSpore 2.10 prints it.
    tree = "Net(\n  (relu): ReLU()\n  (seq): SequentialCell(\n    (0): Tanh()\n    (1): Sigmoid()\n  )\n)"
    assert repr(Net()) == tree
    assert repr(nn.Cell()) == "Cell()"


# ---------------------------------------------------------------------------------------------------- copies
def test_a_deep_copy_shares_nothing_and_keeps_ties() -> None:
    net = Scale()
    net.tied = net.first
    twin = copy.deepcopy(net)
    assert names(twin) == names(net)
    assert twin.first is twin.tied
    twin.first.set_data(Tensor([7.0]))
    assert net.first.tolist() == [2.0]
    assert not set(map(id, twin.get_parameters())) & set(map(id, net.get_parameters()))


def test_a_pickled_cell_computes_the_same(mode: str) -> None:
    net = Scale().set_train()
    x = Tensor([[1.0, 2.0]])
    expected = net(x)
    twin = pickle.loads(pickle.dumps(net))
    assert names(twin) == names(net)
    assert twin.training
    assert twin(x).tolist() == expected.tolist() == [[9.0]]
    twin.first.set_data(Tensor([0.0]))
    assert (twin(x).tolist(), net(x).tolist()) == ([[3.0]], [[9.0]])


# ---------------------------------------------------------------------------------------------------- calls
def test_keywords_and_defaults(mode: str) -> None:
    net, x = Scale(), Tensor([[1.0, 2.0]])
    assert net(x).tolist() == [[9.0]]
    assert net(x, 1.0).tolist() == net(x, shift=1.0).tolist() == net(shift=1.0, x=x).tolist() == [[10.0]]
    assert net(x, shift=Tensor([5.0])).tolist() == [[14.0]]


@pytest.mark.parametrize("args", [(), (1, 2, 3)])
def test_a_wrong_call_is_a_type_error(mode: str, args: tuple[int, ...]) -> None:
    with pytest.raises(TypeError):
        Scale()(*args)


def test_a_cell_without_construct(mode: str) -> None:
    with pytest.raises(AttributeError, match="construct"):
        nn.Cell()(Tensor(1.0))


class Flagged(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.factor = 2.0
        self.part: nn.Cell = nn.Identity()

    def construct(self, x):
        if self.training:
            return self.part(x)
        return self.part(x) * self.factor


def test_changes_from_outside_are_seen_at_the_next_call(mode: str) -> None:
    net, x = Flagged(), Tensor([-1.0, 2.0])
    seen = [net(x).tolist()]
    net.factor = 3.0
    seen.append(net(x).tolist())
    net.set_train()
    seen.append(net(x).tolist())
    net.part = nn.ReLU()
    seen.append(net(x).tolist())
    assert seen == [[-2.0, 4.0], [-3.0, 6.0], [-1.0, 2.0], [0.0, 2.0]]


def test_an_unchanged_cell_is_compiled_once() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        net, x = Flagged(), Tensor([1.0])
        for _ in range(3):
            net(x)
        Flagged().set_train()  # another Cell's change
        net(x)
        assert net._compiled.cache_info()["compiles"] == 1
        net(Tensor([1.0, 2.0]))
        assert net._compiled.cache_info()["compiles"] == 2
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


class Counter(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.n = Parameter(0.0, requires_grad=False)
        self.w = Parameter([2.0, 3.0])

    def construct(self, x):
        self.n = self.n + 1
        while x.sum() < 10:
            x = x * self.w
        if self.n % 2 == 0:
            return x * self.n
        return x


def test_construct_assigns_parameters_and_is_differentiated(mode: str) -> None:
    net, x = Counter(), Tensor([1.0, 1.0])
    derivative = ms.value_and_grad(net, 0, net.trainable_params())
    # (1, 1) -> (2, 3) -> (4, 9): x * w**2, doubled in every second call.
    for call in (1, 2):
        y, (dx, (dw,)) = derivative(x)
        assert y.tolist() == [4.0 * call, 9.0 * call]
        assert dx.tolist() == [4.0 * call, 9.0 * call]
        assert dw.tolist() == [4.0 * call, 6.0 * call]
    assert net.n.item() == 2.0


# ---------------------------------------------------------------------------------------------------- containers
def test_a_sequential_cell_applies_its_cells_in_order(mode: str) -> None:
    relu = nn.ReLU()
    net = nn.SequentialCell([nn.Dense(2, 2, weight_init=-1.0, bias_init=1.0), relu, nn.Dense(2, 1, 2.0, 0.0), relu])
    assert net(Tensor([[0.25, 0.25]])).tolist() == [[2.0]]
    assert len(net) == 4
    assert net[1] is net[-1] is relu
    named = nn.SequentialCell({"up": nn.Dense(1, 2), "down": nn.Dense(2, 1)})
    assert names(named) == ["up.weight", "up.bias", "down.weight", "down.bias"]
    assert named.append(nn.ReLU()) is named
    assert list(named.name_cells()) == ["up", "down", "2"]


def test_a_cell_list_behaves_as_a_list_and_renumbers() -> None:
    a, b, c = (nn.Dense(1, n, has_bias=False) for n in (1, 2, 3))
    cells = nn.CellList([a])
    cells.extend([c])
    cells.insert(1, b)
    assert list(cells) == [a, b, c]
    assert [p.name for p in cells.get_parameters()] == ["0.weight", "1.weight", "2.weight"]
    assert list(cells[1:]) == [b, c]
    assert c.weight.name == "2.weight"  # a slice names nothing anew
    del cells[0]
    assert (len(cells), b.weight.name) == (2, "0.weight")
    for wrong in (lambda: cells.append(3), lambda: cells.extend([3]), lambda: nn.CellList([3])):
        with pytest.raises(TypeError, match="only Cells"):
            wrong()
    with pytest.raises(NotImplementedError, match="CellList"):
        cells(Tensor([1.0]))


def test_a_loop_over_a_cell_list(mode: str) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.CellList([nn.Dense(1, 1, float(i), 1.0) for i in range(12)])

        def construct(self, x):
            for i, layer in enumerate(self.layers):
                x = layer(x) if i else x
            return x

    expected = 1.0
    for i in range(1, 12):
        expected = expected * i + 1
    assert Net()(Tensor([[1.0]])).item() == expected


# ---------------------------------------------------------------------------------------------------- layers
def test_dense_starts_evenly_spread() -> None:
    np.random.seed(3)
    layer = nn.Dense(25, 400)
    for array in (layer.weight.asnumpy(), layer.bias.asnumpy()):
        assert 0.19 < np.abs(array).max() <= 0.2  # 1 / sqrt(25)
        assert abs(array.mean()) < 0.03
    assert abs(layer.weight.asnumpy().std() - 0.2 / np.sqrt(3)) < 0.005
    np.random.seed(3)
    assert np.array_equal(nn.Dense(25, 400).weight.asnumpy(), layer.weight.asnumpy())


def test_dense_takes_initial_values_of_every_kind(mode: str) -> None:
    x = Tensor([[[1.0, 2.0]], [[3.0, 4.0]]])  # leading dimensions are batches
    layer = nn.Dense(2, 1, weight_init=Tensor([[2.0, 0.5]]), bias_init=Constant(0.25), activation=ops.neg)
    assert layer(x).tolist() == [[[-3.25]], [[-8.25]]]
    layer = nn.Dense(2, 1, "ones", has_bias=False, activation=nn.Tanh(), dtype=ms.float64)
    assert layer.weight.dtype is ms.float64
    np.testing.assert_allclose(layer(x).asnumpy().ravel(), np.tanh([3.0, 7.0]), rtol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"in_channels": 0}, ValueError),
        ({"in_channels": 2.0}, TypeError),
        ({"weight_init": "unknown"}, ValueError),
        ({"weight_init": Tensor([1.0])}, ValueError),
        ({"bias_init": None, "has_bias": 1}, TypeError),
        ({"activation": "unknown"}, KeyError),
        ({"activation": 3}, TypeError),
        ({"weight_init": [1.0]}, TypeError),
    ],
)
def test_dense_refuses_what_it_cannot_use(arguments: dict, error: type[Exception]) -> None:
    with pytest.raises(error):
        nn.Dense(**{"in_channels": 2, "out_channels": 2, **arguments})


def test_shapes_that_do_not_fit_are_named(mode: str) -> None:
    with pytest.raises(ValueError, match="takes 3 features, not an input of shape"):
        nn.Dense(3, 1)(Tensor([[1.0, 2.0]]))


def test_losses_have_their_closed_forms(mode: str) -> None:
    logits = np.array([[0.5, -1.0, 2.0], [0.0, 3.0, 1.0]])
    labels = np.array([2, 0])
    logp = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    expected = -logp[[0, 1], labels]
    x, y = Tensor(logits), Tensor(labels)
    close = lambda got, want: np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-12)
    close(nn.CrossEntropyLoss()(x, y), expected.mean())
    close(nn.CrossEntropyLoss(reduction="sum")(x, Tensor(np.eye(3)[labels])), expected.sum())
    close(nn.SoftmaxCrossEntropyWithLogits(sparse=True)(x, y), expected)
    close(nn.SoftmaxCrossEntropyWithLogits(reduction="mean")(x, Tensor(np.eye(3)[labels])), expected.mean())
    close(nn.MSELoss()(x, x * 0.5), (logits**2 / 4).mean())
    close(nn.MSELoss("none")(x, x * 0.5), logits**2 / 4)
    close(nn.L1Loss("sum")(x, -x), 2 * np.abs(logits).sum())


def test_losses_refuse_labels_of_the_wrong_kind(mode: str) -> None:
    x, y = Tensor([[0.0, 1.0]]), Tensor([1])
    with pytest.raises(TypeError, match="integer classes"):
        nn.SoftmaxCrossEntropyWithLogits(sparse=True)(x, x)
    with pytest.raises(TypeError, match="probabilities"):
        nn.SoftmaxCrossEntropyWithLogits()(x, y)
    with pytest.raises(IndexError):
        nn.CrossEntropyLoss()(x, Tensor([2]))
    smooth = nn.CrossEntropyLoss(label_smoothing=0.1)(x, y).item()
    assert smooth == pytest.approx(np.log(1 + np.e) - 0.9 - 0.1 * 0.5, rel=1e-6)
    with pytest.raises(ValueError, match="reduction"):
        nn.MSELoss("average")
