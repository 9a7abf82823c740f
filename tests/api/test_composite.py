"""`ops.composite`: maps over nested values, functions chosen by types, partial; in eager and in compiled code."""

from __future__ import annotations

from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.ops import composite as C

BOTH = pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "graph"])


def numbers(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x)(map(numbers, x))
    return x.tolist() if isinstance(x, Tensor) else x


def made() -> ops.MultitypeFuncGraph:
    scale = ops.MultitypeFuncGraph("scale")

    @scale.register("Tensor", "Number")
    def of_tensor(x, k):
        return x * k

    @scale.register("Number", "Number")
    def of_numbers(x, k):
        return x + k

    @scale.register("None", "Number")
    def of_none(x, k):
        return k

    @scale.register("Tuple", "Number")
    def of_tuple(x, k):
        return len(x) * k

    @scale.register("String", ms.float32)
    def of_text(x, k):
        return x

    return scale


@BOTH
def test_a_hyper_map_reaches_the_leaves(run: Any) -> None:
    scale = made()
    walk = ops.HyperMap()
    x = Tensor([1.0, 2.0])

    @run
    def f(x):
        bound = ops.HyperMap(ops.Partial()(lambda k, v: v * k, 3))((x, [x, (2, x)]))
        return walk(scale, (x, None, 4), (2, 3, 0.5)), bound

    assert numbers(f(x)) == (([2.0, 4.0], 3, 4.5), ([3.0, 6.0], ([3.0, 6.0], (6, [3.0, 6.0]))))


@BOTH
def test_a_map_reaches_the_elements(run: Any) -> None:
    scale = made()
    x = Tensor([1.0, 2.0])
    found = run(lambda x: ops.Map(scale)(((x, x), x, "a"), (5, 2, 1.0)))(x)
    assert numbers(found) == (10, [2.0, 4.0], "a")


@BOTH
def test_the_order_of_visits(run: Any) -> None:
    def visits(reverse):
        seen = []

        def visit(x):
            seen.append(x)
            return x + 1

        return ops.HyperMap(visit, reverse)((1, (2, 3))), tuple(seen)

    @run
    def f(x):
        return visits(False), visits(True), x

    forwards, backwards, _ = f(Tensor(0.0))
    assert forwards == ((2, (3, 4)), (1, 2, 3))
    assert backwards == ((2, (3, 4)), (3, 2, 1))


@BOTH
def test_structures_that_differ_are_refused(run: Any) -> None:
    add = ops.HyperMap(lambda a, b: a + b)
    with pytest.raises(ValueError, match="of one structure"):
        run(lambda x: add((x, x), (x,)))(Tensor(1.0))
    with pytest.raises(ValueError, match="of one structure"):
        run(lambda x: add((x, (x,)), (x, x)))(Tensor(1.0))
    with pytest.raises(TypeError, match="nothing to apply"):
        run(lambda x: add())(Tensor(1.0))


@BOTH
def test_no_implementation_fits(run: Any) -> None:
    scale = made()
    with pytest.raises(TypeError, match="no implementation of scale takes these 2 arguments"):
        run(lambda x: scale(x, "a"))(Tensor(1.0))
    with pytest.raises(TypeError, match=r"there is \(Tensor, int or float or bool\)"):
        run(lambda x: scale(x))(Tensor(1.0))


@BOTH
def test_kinds_of_numbers_are_told_apart(run: Any) -> None:
    kind = ops.MultitypeFuncGraph("kind")
    kind.register("Bool")(lambda x: "bool")
    kind.register("Int")(lambda x: "int")
    kind.register("Float")(lambda x: "float")
    kind.register(Tensor)(lambda x: "tensor")
    kind.register("List")(lambda x: "list")
    kind.register("Dictionary")(lambda x: "dict")
    kind.register("Function")(lambda x: "function")
    found = run(lambda x: (kind(True), kind(1), kind(1.0), kind(x), kind([x]), kind({"a": x}), kind(len)))(Tensor(1.0))
    assert found == ("bool", "int", "float", "tensor", "list", "dict", "function")


def test_a_single_implementation_is_not_chosen_and_unknown_types_are_refused() -> None:
    one = ops.MultitypeFuncGraph("one")
    one.register("Tensor")(lambda x: x)
    assert one("text") == "text"
    with pytest.raises(ValueError, match="there is no type 'Tenser' to register for"):
        one.register("Tenser")


def test_an_implementation_added_later_counts_in_compiled_code() -> None:
    scale = made()
    f = ms.jit(lambda x: scale([x], 2))
    with pytest.raises(TypeError):
        f(Tensor(3.0))
    scale.register("List", "Number")(lambda x, k: x[0] * k)
    assert f(Tensor(3.0)).item() == 6.0


def test_gradients_are_clipped_as_networks_do() -> None:
    clip = ops.MultitypeFuncGraph("clip")

    @clip.register("Number", "Tensor")
    def clip_one(limit, g):
        return ops.clip_by_value(g, -limit, limit)

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.a = ms.Parameter(Tensor([1.0, -5.0]), name="a")
            self.b = ms.Parameter(Tensor([0.25]), name="b")

        def construct(self, x):
            return (self.a * self.a * x).sum() + (self.b * self.b).sum()

    class Clipped(nn.Cell):
        def __init__(self, net: nn.Cell) -> None:
            super().__init__()
            self.net, self.weights = net, ms.ParameterTuple(net.trainable_params())
            self.grad, self.map = C.GradOperation(get_by_list=True), ops.HyperMap()

        def construct(self, x):
            return self.map(C.partial(clip, 3.0), self.grad(self.net, self.weights)(x))

    cell = Clipped(Net())
    for run in (cell, ms.jit(cell)):
        assert numbers(run(Tensor([1.0, 1.0]))) == ([2.0, -3.0], [0.5])


@BOTH
def test_loops_as_operators(run: Any) -> None:
    x = Tensor(1.0)
    assert run(lambda x: ops.WhileLoop()(lambda v: v < 20, lambda v: v * 3, x))(x).item() == 27.0
    assert run(lambda x: ops.ForiLoop()(1, 5, lambda i, v: v * i, x))(x).item() == 24.0
    total, sums = run(lambda x: ops.Scan()(lambda c, v: (c + v, c * v), x, [x, x * 2, x * 3]))(x)
    assert (total.item(), [s.item() for s in sums]) == (7.0, [1.0, 4.0, 12.0])
    assert run(ms.grad(lambda x: ops.ForiLoop()(0, 3, lambda i, v: v * x, x)))(Tensor(2.0)).item() == 4 * 2.0**3
