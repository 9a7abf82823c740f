"""Names of Parameters: what MindSpore 2.10 calls them, as its checkpoints hold them."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


def dense(k: float = 1.0) -> nn.Dense:
    return nn.Dense(1, 1, weight_init=k, has_bias=False)


def net(build: Callable[[nn.Cell], object]) -> nn.Cell:
    """A Cell whose `__init__` does what `build` does."""

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            build(self)

    return Net()


def grown(self: nn.Cell, kind: type = nn.CellList, name: str = "l", parts: int = 2) -> None:
    """A container that is empty when it becomes an attribute."""
    setattr(self, name, kind())
    for _ in range(parts):
        getattr(self, name).append(dense())


def begun(self: nn.Cell) -> None:
    self.l = nn.CellList([dense()])
    self.l.append(dense())
    self.l.insert(0, dense())
    self.l.extend([dense()])


def pair() -> nn.SequentialCell:
    return nn.SequentialCell([dense(), nn.ReLU(), dense()])


def nested(self: nn.Cell) -> None:
    self.l = nn.CellList()
    self.l.append(pair())
    self.l.append(pair())


def nested_at_once(self: nn.Cell) -> None:
    self.l = nn.CellList()
    self.l.extend([pair(), pair()])


def inner(self: nn.Cell) -> None:
    self.a = net(grown)
    grown(self, nn.SequentialCell, "s")


def added(self: nn.Cell) -> None:
    self.l = nn.CellList()
    self.l += [dense()]


def inserted_before(self: nn.Cell) -> None:
    grown(self)
    self.l.insert(0, dense())


def replaced(self: nn.Cell) -> None:
    grown(self)
    begun_list = nn.CellList([dense(), dense()])
    self.m = begun_list
    self.l[0], self.m[1] = dense(), dense()


def deleted(self: nn.Cell) -> None:
    begun(self)
    del self.l[0]


def by_key(self: nn.Cell) -> None:
    self.s = nn.SequentialCell(OrderedDict(a=dense(), b=dense(), c=dense()))
    self.s.append(dense())
    del self.s[0]


def sliced(self: nn.Cell) -> None:
    self.s = nn.SequentialCell(dense(), dense(), dense())[1:]
    self.l = nn.CellList([dense(), dense(), dense()])[1:]


def dict_filled_later(self: nn.Cell) -> None:
    self.d = nn.CellDict()
    self.d["x"] = dense()
    self.e = nn.CellDict({"x": dense()})
    self.e["y"] = dense()


def without_weights_first(self: nn.Cell) -> None:
    self.l = nn.CellList([nn.ReLU()])
    self.l.append(dense())
    self.l.append(dense())


def child_inserted(self: nn.Cell) -> None:
    self.fc = dense()
    self.insert_child_to_cell("late", dense())


def part_of_a_part(self: nn.Cell) -> None:
    self.a = net(lambda part: setattr(part, "fc", dense()))
    self.a.head = dense()
    self.a.scale = Parameter(1.0)


def set_twice(self: nn.Cell) -> None:
    grown(self)
    self.l = self.l


def tied(self: nn.Cell) -> None:
    self.a, self.b = dense(), dense()
    self.b.weight = self.a.weight


def in_a_tuple(self: nn.Cell) -> None:
    self.ps = ParameterTuple([Parameter(1.0, name="p"), Parameter(2.0, name="q")])
    self.rest = ParameterTuple([Parameter(1.0)])


#: What is built, the names at the top and the names as a part `n` of another Cell.
TABLE = [
    # Measured.
    (grown, "0.weight 1.weight", "n.l.0.weight n.l.1.weight"),
    (begun, "l.0.weight l.1.weight l.2.weight l.3.weight", "n.l.0.weight n.l.1.weight n.l.2.weight n.l.3.weight"),
    (nested, "0.0.weight 0.2.weight 0.1.0.weight 0.1.2.weight", "n.l.0.0 n.l.0.2 n.l.1.0 n.l.1.2"),
    (inner, "a.l.0.weight a.l.1.weight 0.weight 1.weight", "n.a.l.0 n.a.l.1 n.s.0 n.s.1"),
    (child_inserted, "fc.weight weight", "n.fc n.late"),
    (deleted, "l.0.weight l.1.weight l.2.weight", "n.l.0 n.l.1 n.l.2"),
    # By the same rules.
    (nested_at_once, "0.0.weight 0.2.weight 1.0.weight 1.2.weight", "n.l.0.0 n.l.0.2 n.l.1.0 n.l.1.2"),
    (added, "l.0.weight", "n.l.0"),
    (inserted_before, "0.weight 1.weight 2.weight", "n.l.0 n.l.1 n.l.2"),
    (replaced, "0.weight 1.weight m.0.weight m.1.weight", "n.l.0 n.l.1 n.m.0 n.m.1"),
    (by_key, "s.b.weight s.c.weight s.2.weight", "n.s.b n.s.c n.s.2"),
    (sliced, "s.1.weight s.2.weight l.0.weight l.1.weight", "n.s.1 n.s.2 n.l.0 n.l.1"),
    (dict_filled_later, "x.weight e.x.weight e.y.weight", "n.d.x n.e.x n.e.y"),
    (without_weights_first, "1.weight 2.weight", "n.l.1 n.l.2"),
    (part_of_a_part, "scale a.fc.weight head.weight", "n.a.scale n.a.fc n.a.head"),
    (set_twice, "l.0.weight l.1.weight", "n.l.0 n.l.1"),
    (tied, "a.weight", "n.a"),
    (in_a_tuple, "p q Parameter", "n.p n.q n.Parameter"),
]


@pytest.mark.parametrize(("build", "alone", "within"), TABLE, ids=[row[0].__name__ for row in TABLE])
def test_names_of_mindspore(build: Callable[[nn.Cell], object], alone: str, within: str) -> None:
    def long(name: str) -> str:
        own = {"n.a.scale", "n.p", "n.q", "n.Parameter"}
        return name if name.endswith(".weight") or name in own else f"{name}.weight"

    made = net(build)
    assert names(made) == alone.split()
    paths = [path for path, _ in made.parameters_and_names()]
    outer = net(lambda self: setattr(self, "n", made))
    assert names(outer) == [long(name) for name in within.split()]
    # Names by path are what `update_parameters_name` gives, and the paths themselves do not change.
    made.update_parameters_name("x.")
    assert names(made) == [f"x.{path}" for path in paths]
    assert [path for path, _ in made.parameters_and_names()] == paths


def test_the_container_alone_is_named_by_places() -> None:
    for kind in (nn.CellList, nn.SequentialCell):
        cells = kind([dense()])
        cells.append(dense())
        assert names(cells) == ["0.weight", "1.weight"]


def test_without_auto_prefix_cells_keep_their_names() -> None:
    cells = nn.CellList([dense()], auto_prefix=False)
    cells.append(dense())
    assert names(cells) == ["weight", "weight"]


def test_cells_of_the_raw_register_keep_their_names() -> None:
    made = net(grown)
    made.l._cells["0"] = dense()
    assert names(made) == ["weight", "1.weight"]


def test_a_sequence_by_key_never_loses_a_cell() -> None:
    cells = nn.SequentialCell(dense(1), dense(2), dense(3))[1:]  # called "1" and "2"
    cells.append(dense(4))
    assert [float(cell.weight) for cell in cells] == [2.0, 3.0, 4.0]
    assert list(cells.name_cells()) == ["1", "2", "3"]


def test_a_prefix_is_a_path_once_it_is_asked_for() -> None:
    made = net(begun)
    assert made.l[0].param_prefix == ""
    made.update_cell_prefix()
    assert [cell.param_prefix for cell in made.l] == ["l.0", "l.1", "l.2", "l.3"]


# ------------------------------------------------------------------------------------------------ equal names
class Twice(nn.Cell):
    """Two lists filled later: two Parameters called `0.weight`."""

    def __init__(self) -> None:
        super().__init__()
        self.l, self.m = nn.CellList(), nn.CellList()
        self.l.append(dense(2.0))
        self.m.append(dense(3.0))

    def construct(self, x: Tensor) -> Tensor:
        return self.m[0](self.l[0](x) ** 2)


X = Tensor([[5.0]])


def test_parameters_of_one_name_are_two(mode: str) -> None:
    made = Twice()
    first, second = made.trainable_params()
    assert (first.name, second.name) == ("0.weight", "0.weight")
    assert made(X).item() == 300.0  # m (l x)^2
    by_both = ms.grad(made, None, [first, second])(X)
    assert [g.item() for g in by_both] == [300.0, 100.0]  # 2 m l x^2, (l x)^2
    by_both = ms.grad(made, None, [second, first])(X)
    assert [g.item() for g in by_both] == [100.0, 300.0]
    assert ms.grad(made, None, second)(X).item() == 100.0
    (gx, (ga, gb)) = ms.grad(made, 0, made.trainable_params())(X)
    assert (gx.item(), ga.item(), gb.item()) == (120.0, 300.0, 100.0)


def test_each_of_one_name_is_written(mode: str) -> None:
    made = Twice()

    def step(x: Tensor) -> Tensor:
        a, b = ms.grad(made, None, made.trainable_params())(x)
        ops.assign_sub(made.l[0].weight, a * 0.01)
        ops.assign_sub(made.m[0].weight, b * 0.01)
        return made(x)

    call = ms.jit(step) if mode == "graph" else step
    assert call(X).item() == pytest.approx(2.0 * (-1.0 * 5) ** 2)  # l = 2 - 3, m = 3 - 1
    assert [p.item() for p in made.get_parameters()] == pytest.approx([-1.0, 2.0])


def test_a_third_name_that_looks_like_the_second(mode: str) -> None:
    made = Twice()
    made.extra = Parameter([[7.0]], name="0.weight.1")
    grads = ms.grad(lambda x: made(x) * made.extra, None, made.trainable_params())(X)
    assert [g.item() for g in grads] == [300.0, 2100.0, 700.0]


REFUSED = {
    "an optimizer": lambda made, path: nn.Momentum(made.trainable_params(), 0.1, 0.9),
    "an experimental optimizer": lambda made, path: ms.experimental.optim.SGD(made.trainable_params(), 0.1),
    "a tuple": lambda made, path: ParameterTuple(made.get_parameters()),
    "a checkpoint": lambda made, path: ms.save_checkpoint(made, path),
    "parameters_dict": lambda made, path: made.parameters_dict(),
    "check_names": lambda made, path: made.check_names(),
    "loading": lambda made, path: ms.load_param_into_net(made, {"0.weight": Parameter([[1.0]], name="0.weight")}),
}


@pytest.mark.parametrize("user", REFUSED)
def test_equal_names_are_refused_where_names_count(user: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, RuntimeError), match=r"called '0\.weight'"):
        REFUSED[user](Twice(), str(tmp_path / "x.ckpt"))


def test_a_gradient_is_not_found_by_a_name_of_two() -> None:
    made = Twice()
    found = ms.grad(made, None, made.trainable_params(), return_ids=True)(X)
    with pytest.raises(ValueError, match=r"2 gradients labelled '0\.weight'"):
        ms.get_grad(found, made.m[0].weight)


def test_parameters_without_a_name_are_numbered_in_a_tuple() -> None:
    several = ParameterTuple([Parameter(1.0), Parameter(2.0, name="b"), Parameter(3.0)])
    first, second, third = (p.name for p in several)
    assert first.startswith("Parameter$")
    assert second == "b"
    assert third.startswith("Parameter$")
    assert first != third
    assert ParameterTuple([Parameter(1.0)])[0].name == "Parameter"


# ------------------------------------------------------------------------------------------------ checkpoints
def test_a_checkpoint_has_these_names(tmp_path: Path, mode: str) -> None:
    def build(self: nn.Cell) -> None:
        self.stages = nn.CellList()
        for k in (2.0, 3.0):
            self.stages.append(nn.SequentialCell([nn.Dense(1, 1, weight_init=k)]))

    made, path = net(build), str(tmp_path / "x.ckpt")
    optimizer = nn.Momentum(made.trainable_params(), 0.1, 0.9)
    assert [m.name for m in optimizer.moments] == [f"moments.{p.name}" for p in made.get_parameters()]
    ms.save_checkpoint(made, path)
    kept = ms.load_checkpoint(path)
    assert list(kept) == ["0.0.weight", "0.0.bias", "0.1.0.weight", "0.1.0.bias"]
    other = net(build)
    for p in other.get_parameters():
        p.set_data(ops.zeros_like(p))
    assert ms.load_param_into_net(other, kept) == ([], [])
    for p, q in zip(made.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_array_equal(p.asnumpy(), q.asnumpy())


# ------------------------------------------------------------------------------------------------ several networks
def test_networks_in_one_function_have_states_named_by_the_variables_that_hold_them() -> None:
    generator, critic = nn.Dense(2, 3), nn.SequentialCell(nn.Dense(3, 1), nn.Tanh())
    other = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh())

    def f(x):
        return critic(generator(x)).sum() + other(x).sum()

    x = Tensor([[1.0, -2.0]])
    states = re.findall(r'^state @"?([\w.]+)"?:', str(ms.jit(f).lower(x).ir()), re.M)
    assert states == ["weight", "bias", "0.weight", "0.bias", "other.0.weight", "other.0.bias"]
    weights = [*generator.trainable_params(), *critic.trainable_params(), *other.trainable_params()]
    eager = ms.grad(f, None, weights)(x)
    for found, expected in zip(ms.jit(ms.grad(f, None, weights))(x), eager, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


def test_what_is_kept_of_two_networks_by_name_is_refused_with_a_way_out(tmp_path: Path) -> None:
    one, other = nn.Dense(2, 3), nn.Dense(3, 1)
    both = [*one.get_parameters(), *other.get_parameters()]
    for keep in (lambda: ms.save_checkpoint(both, tmp_path / "both.ckpt"), lambda: nn.Adam(both)):
        with pytest.raises(ms.ParameterError, match=r"called 'weight'[\s\S]*net.update_parameters_name\('net.'\)"):
            keep()
    assert not list(tmp_path.iterdir())
    other.update_parameters_name("other.")
    ms.save_checkpoint(both, tmp_path / "both.ckpt")
    assert list(ms.load_checkpoint(str(tmp_path / "both.ckpt"))) == ["weight", "bias", "other.weight", "other.bias"]
    nn.Adam(both)
