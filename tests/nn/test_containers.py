"""Containers of Cells: lists, dicts, sequences; and questions about parts in compiled code."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops

X = Tensor([[1.0, 2.0]])


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


def scale(k: float) -> nn.Dense:
    """A layer that multiplies by k."""
    return nn.Dense(2, 2, weight_init=Tensor(k * np.eye(2)), has_bias=False)


# ------------------------------------------------------------------------------------------------ lists
def test_a_cell_list_is_used_as_a_list() -> None:
    a, b, c, d = (scale(k) for k in (1, 2, 3, 4))
    cells = nn.CellList([a, b])
    assert cells.append(c) is cells
    cells.extend([d])
    assert list(cells) == [a, b, c, d]
    assert (len(cells), cells[0], cells[-1], b in cells, scale(1) in cells) == (4, a, d, True, False)
    assert cells.pop() is d
    assert cells.pop(0) is a
    cells.insert(0, a)
    cells[2] = d
    assert list(cells) == [a, b, d]
    assert names(cells) == ["0.weight", "1.weight", "2.weight"]
    del cells[0]
    assert (list(cells), names(cells)) == ([b, d], ["0.weight", "1.weight"])
    same = cells
    cells += (a, c)
    assert cells is same
    assert list(cells[1:3]) == [d, a]
    assert names(cells[1:3]) == ["1.weight", "2.weight"]  # the Cells keep their names
    assert list(reversed(cells)) == [c, a, d, b]
    del cells[1:]
    assert list(cells) == [b]
    assert list(nn.CellList(cells)) == [b]


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda cells: cells.append(3), TypeError),
        (lambda cells: cells.extend([scale(1), 3]), TypeError),
        (lambda cells: cells.extend(3), TypeError),
        (lambda cells: cells.insert(0, None), TypeError),
        (lambda cells: cells.__setitem__(0, "x"), TypeError),
        (lambda cells: cells.__setitem__(5, scale(1)), IndexError),
        (lambda cells: cells[2], IndexError),
        (lambda cells: cells["0"], TypeError),
        (lambda cells: cells.__delitem__(2), IndexError),
        (lambda cells: cells.pop(7), IndexError),
        (lambda cells: nn.CellList([3]), TypeError),
    ],
)
def test_a_refused_change_leaves_the_list_as_it_was(act: object, error: type[Exception]) -> None:
    cells = nn.CellList([scale(1), scale(2)])
    before = list(cells)
    with pytest.raises(error):
        act(cells)
    assert list(cells) == before


CHANGES = [
    lambda cells: cells.append(scale(7)),
    lambda cells: cells.insert(0, scale(7)),
    lambda cells: cells.pop(),
    lambda cells: cells.extend([scale(7), scale(5)]),
    lambda cells: cells.__setitem__(1, scale(7)),
    lambda cells: cells.__delitem__(0),
    lambda cells: setattr(cells, "1", scale(7)),
    lambda cells: delattr(cells, "1"),
    lambda cells: cells.__delitem__(slice(None)),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [nn.CellList, nn.SequentialCell])
def test_compiled_loops_see_each_change(change: object, kind: type[nn.Cell]) -> None:
    """Also when calls take the short way: a loop, a length, and the truth of what may be empty."""

    class Products(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.cells = kind([scale(2), scale(3)])

        def construct(self, x: Tensor) -> Tensor:
            for cell in self.cells:
                x = cell(x)
            return x + len(self.cells) if self.cells else x - 100

    net = Products()
    run = ms.jit(net)
    for _ in range(20):
        assert run(X).tolist() == [[8.0, 14.0]]  # 6 x + 2
    change(net.cells)
    product = float(np.prod([cell.weight.asnumpy()[0, 0] for cell in net.cells]))
    wanted = product * X.asnumpy() + (len(net.cells) or -100)
    for _ in range(20):
        assert run(X).tolist() == wanted.tolist()


def test_a_list_with_a_length_of_its_own_is_asked(mode: str) -> None:
    """What a class of the user's answers may change without any attribute of a Cell."""
    limit = [1]

    class Few(nn.CellList):
        def __len__(self) -> int:
            return min(limit[0], len(self.cell_list))

        def __iter__(self):
            return iter(self.cell_list[: limit[0]])

    cells = Few([scale(2), scale(3)])

    def run(x: Tensor) -> Tensor:
        for cell in list(cells):
            x = cell(x)
        return x + len(cells)

    call = ms.jit(run) if mode == "graph" else run
    assert call(X).tolist() == [[3.0, 5.0]]
    limit[0] = 2
    assert call(X).tolist() == [[8.0, 14.0]]


def test_a_cell_list_computes_nothing(mode: str) -> None:
    with pytest.raises(NotImplementedError, match="CellList"):
        nn.CellList([scale(1)])(X)


def test_sequences_by_name_and_in_parts(mode: str) -> None:
    net = nn.SequentialCell(OrderedDict(twice=scale(2), thrice=scale(3)))
    assert net(X).tolist() == [[6.0, 12.0]]
    assert names(net) == ["twice.weight", "thrice.weight"]
    assert net[1:](X).tolist() == [[3.0, 6.0]]
    net.append(scale(10))
    assert net(X).tolist() == [[60.0, 120.0]]


# ------------------------------------------------------------------------------------------------ dicts
def test_a_cell_dict_is_used_as_a_dict() -> None:
    a, b, c = (scale(k) for k in (1, 2, 3))
    cells = nn.CellDict([["one", a], ("two", b)])
    assert (list(cells), list(cells.keys()), list(cells.values())) == (["one", "two"], ["one", "two"], [a, b])
    assert list(cells.items()) == [("one", a), ("two", b)]
    assert (len(cells), "two" in cells, "three" in cells, cells["two"]) == (2, True, False, b)
    cells["three"] = c
    cells["one"] = c
    assert (list(cells), cells["one"]) == (["one", "two", "three"], c)
    assert cells.pop("three") is c
    del cells["two"]
    cells.update({"four": b})
    cells.update(nn.CellDict({"five": a}))
    assert list(cells) == ["one", "four", "five"]
    assert names(cells) == ["one.weight", "four.weight", "five.weight"]
    cells.clear()
    assert (len(cells), bool(cells), list(cells.get_parameters())) == (0, False, [])
    assert names(nn.SequentialCell(nn.CellDict({"a": scale(1)}))) == ["0.a.weight"]


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda cells: cells["missing"], KeyError),
        (lambda cells: cells.pop("missing"), KeyError),
        (lambda cells: cells.__delitem__("training"), KeyError),
        (lambda cells: cells.__setitem__("", scale(1)), KeyError),
        (lambda cells: cells.__setitem__("a.b", scale(1)), KeyError),
        (lambda cells: cells.__setitem__("keys", scale(1)), KeyError),
        (lambda cells: cells.__setitem__("training", scale(1)), KeyError),
        (lambda cells: cells.__setitem__(1, scale(1)), TypeError),
        (lambda cells: cells.__setitem__("x", 1), TypeError),
        (lambda cells: cells.update(3), TypeError),
        (lambda cells: cells.update(["ab"]), TypeError),
        (lambda cells: nn.CellDict({}, {}), TypeError),
    ],
)
def test_a_refused_change_leaves_the_dict_as_it_was(act: object, error: type[Exception]) -> None:
    cells = nn.CellDict({"a": scale(1)})
    with pytest.raises(error):
        act(cells)
    assert list(cells) == ["a"]


def test_a_cell_dict_in_a_network(mode: str) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.CellDict({"two": scale(2), "three": scale(3)})

        def construct(self, x):
            for name, part in self.parts.items():
                x = part(x) + len(name)
            for name in self.parts:
                x = self.parts[name](x)
            for part in self.parts.values():
                x = part(x)
            return x * len(self.parts) if "two" in self.parts and "one" not in self.parts else x

    net = Net()
    # (2x + 3) * 3 + 5, times 6 * 6, times 2
    assert net(X).tolist() == [[(6 * x + 14) * 36 * 2 for x in (1.0, 2.0)]]
    net.parts["one"] = scale(1)
    assert net(X).tolist() == [[((6 * x + 14) + 3) * 36 for x in (1.0, 2.0)]]


# ------------------------------------------------------------------------------------------------ parts
class Asking(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter([1.0, 2.0])
        self.layers = nn.CellList([nn.Dense(2, 2, weight_init=0.1, bias_init=0.2) for _ in range(3)])

    def construct(self, x):
        total, n = 0.0, 0
        for p in self.trainable_params():
            total = total + (p * p).sum()
        for p in self.untrainable_params():
            total = total - 100 * p.sum()
        for name, p in self.parameters_and_names():
            total = total + 1000 * p.sum() if "bias" in name else total
        for p in self.get_parameters():
            n += p.size
        for _, cell in self.cells_and_names():
            n += 1000 * isinstance(cell, nn.Dense)
        for name, _ in self.name_cells().items():
            n += 10000 * len(name)
        for layer in self.layers[1:]:
            x = layer(x)
        n += 100000 * (len(self.parameters_dict()) + len(list(self.cells())))
        return (x * 10 if self.training else x), total, n


def expected(net: Asking) -> float:
    total = 0.0
    for p in net.get_parameters():
        values = p.asnumpy().astype(float)
        total += (values**2).sum() if p.requires_grad else -100 * values.sum()
        total += 1000 * values.sum() if "bias" in p.name else 0.0
    return total


def test_questions_about_parts_are_constants(mode: str) -> None:
    net = Asking()
    _, total, n = net(X)
    assert n == 2 + 3 * 6 + 3 * 1000 + 6 * 10000 + 8 * 100000
    np.testing.assert_allclose(total.item(), expected(net), rtol=1e-6)
    net.layers[0].weight.requires_grad = False
    np.testing.assert_allclose(net(X)[1].item(), expected(net), rtol=1e-6)
    net.layers.append(nn.Dense(2, 2, weight_init=0.5, bias_init=0.5))
    assert net(X)[2] == 2 + 4 * 6 + 4 * 1000 + 6 * 10000 + 10 * 100000
    np.testing.assert_allclose(net(X)[1].item(), expected(net), rtol=1e-6)
    del net.layers[1:]
    assert net(X)[0].tolist() == X.tolist()
    assert net.set_train()(X)[0].tolist() == (10 * X).tolist()


def test_answers_that_stay_compile_nothing() -> None:
    net = Asking()
    compiled = ms.jit(net)
    compiled(X)
    nn.Dense(1, 1).set_train()  # moves the epoch
    compiled(X)
    net.w.requires_grad = True
    compiled(X)
    assert compiled.cache_info()["compiles"] == 1


def test_weights_found_in_compiled_code_are_differentiated(mode: str) -> None:
    net = Asking()
    g = ms.grad(lambda x: net(x)[1], None, [net.w])(X)
    assert g[0].tolist() == [2.0, 4.0]


# ------------------------------------------------------------------------------------------------ texts and copies
def test_repr_shows_the_tree() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.CellDict({"act": nn.ReLU(), "inner": nn.CellList([nn.Dense(2, 1)])})

        def extra_repr(self):
            return "k=3"

    assert repr(Net()) == (
        "Net(\n"
        "  k=3\n"
        "  (parts): CellDict(\n"
        "    (act): ReLU()\n"
        "    (inner): CellList(\n"
        "      (0): Dense(input_channels=2, output_channels=1, has_bias=True)\n"
        "    )\n"
        "  )\n"
        ")"
    )

    class Leaf(nn.Cell):
        def extend_repr(self):
            return "n=1"

    assert repr(Leaf()) == "Leaf(n=1)"


def test_a_summary_counts_elements() -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 1, has_bias=False))
    net[0].bias.requires_grad = False
    assert net.summary().splitlines() == [
        "name      shape   dtype    elements  trained",
        "0.weight  (4, 3)  Float32        12  yes",
        "0.bias    (4,)    Float32         4  no",
        "1.weight  (1, 4)  Float32         4  yes",
        "20 elements in 3 Parameters, 16 of them trained",
    ]
    assert nn.ReLU().summary().splitlines()[-1] == "0 elements in 0 Parameters, 0 of them trained"


@pytest.mark.parametrize("way", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))], ids=["deepcopy", "pickle"])
def test_copies_of_containers_are_independent(way: object, mode: str) -> None:
    net = nn.SequentialCell(scale(2), nn.CellList([scale(3)])[0])
    net[0].weight.requires_grad = False
    net(X)
    other = way(net)
    assert (names(other), [p.requires_grad for p in other.get_parameters()]) == (names(net), [False, True])
    other[0].weight.set_data(Tensor(np.zeros((2, 2), np.float32)))
    assert other(X).tolist() == [[0.0, 0.0]]
    assert net(X).tolist() == [[6.0, 12.0]]


class Tied(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.a = scale(2)
        self.b = scale(3)
        self.b.weight = self.a.weight
        self.both = ParameterTuple([self.a.weight])


def test_a_shared_parameter_stays_shared_in_copies() -> None:
    for other in (copy.deepcopy(Tied()), pickle.loads(pickle.dumps(Tied()))):
        assert other.b.weight is other.a.weight
        assert len(list(other.get_parameters())) == 1


# ------------------------------------------------------------------------------------------------ flags and the rest
def test_flags_are_attributes_of_all_cells() -> None:
    net = nn.SequentialCell(nn.ReLU())
    assert net.add_flags(fast=True) is net
    assert (net.get_flags(), net.fast, nn.ReLU().get_flags()) == ({"fast": True}, True, {})
    assert (nn.Cell(flags={"k": 1}).get_flags(), nn.Cell(flags={"k": 1}).k) == ({"k": 1}, 1)
    net.add_flags_recursive(level=3)
    assert (net.get_flags(), net[0].get_flags(), net[0].level) == ({"fast": True, "level": 3}, {"level": 3}, 3)


def test_names_are_checked() -> None:
    net = nn.CellList([scale(1), scale(2)])
    net.check_names()
    net[0].weight.name = net[1].weight.name
    with pytest.raises(ValueError, match="both called"):
        net.check_names()


def test_parameters_have_their_data() -> None:
    net = scale(1)
    assert net.init_parameters_data() == {net.weight: net.weight}
    assert ops.ones(2).init_data().tolist() == [1.0, 1.0]


# ------------------------------------------------------------------------------------------------ nested containers
class Residual(nn.SequentialCell):
    def construct(self, x):
        return x + super().construct(x)


def test_a_lone_container_stays_a_cell_of_its_own() -> None:
    inner = Residual(scale(2))
    net = nn.SequentialCell(inner)
    assert net[0] is inner
    assert names(net) == ["0.0.weight"]
    assert net(X).tolist() == ms.jit(net)(X).tolist() == [[3.0, 6.0]]
    assert nn.SequentialCell([inner])[0] is nn.CellList(inner)[0] is nn.SequentialCell(inner, nn.ReLU())[:1][0] is inner


def test_hooks_and_rules_of_a_lone_container_count() -> None:
    hooked = nn.SequentialCell(scale(2))
    hooked.register_forward_hook(lambda cell, inputs, output: output * 100)
    assert nn.SequentialCell(hooked)(X).tolist() == [[200.0, 400.0]]

    class Ruled(nn.SequentialCell):
        def bprop(self, x, out, dout):
            return (dout * 5,)

    assert ms.grad(nn.SequentialCell(Ruled(nn.ReLU())))(X).tolist() == [[5.0, 5.0]]


def test_cell_lists_are_joined() -> None:
    a, b = nn.CellList([scale(1)]), nn.CellList([scale(2), scale(3)])
    assert list(a + b) == [*a, *b]
    assert list(nn.CellList(b)) == list(b)
    assert (len(a), len(b)) == (1, 2)
