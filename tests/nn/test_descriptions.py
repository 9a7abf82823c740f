"""Layers that are described: constructors, attributes, `repr` and classes made of rows."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import CompileError
from autodiff_compiler.nn.layer import Layer
from autodiff_compiler.surface.cells import CELLS


class Scaled(Layer, parameters="by: number = 2, times: positive = 1, *, note=None", shown="by, count=times"):
    def _make(self, note: Any) -> None:
        self.said = str(note) * self.times

    def construct(self, x: Any) -> Any:
        return x * self.by**self.times


class Shifted(Scaled, parameters="shift: number, by: number = 3", shown="shift, by"):
    def construct(self, x: Any) -> Any:
        return super().construct(x) + self.shift


def test_a_constructor_has_the_parameters_of_its_description() -> None:
    assert str(inspect.signature(Scaled, eval_str=False)).replace("'", "") == (
        "(by: float = 2, times: int = 1, *, note: Any = None) -> None"
    )
    cell = Scaled(1.5, note="a", times=2)
    assert (cell.by, cell.times, cell.said, cell(Tensor(2.0)).item()) == (1.5, 2, "aa", 4.5)
    assert repr(cell) == "Scaled(by=1.5, count=2)"
    assert pickle.loads(pickle.dumps(cell)).said == "aa"


def test_the_constructor_of_the_base_gets_what_it_takes_and_makes_its_part_once() -> None:
    cell = Shifted(1)
    assert (cell.shift, cell.by, cell.said, cell(Tensor(2.0)).item()) == (1, 3, "None", 7.0)
    assert repr(cell) == "Shifted(shift=1, by=3)"


@pytest.mark.parametrize(
    ("arguments", "error"), [(("a",), TypeError), ((1, 0), ValueError), ((1, 1.5), TypeError), ((1, 1, 1), TypeError)]
)
def test_arguments_are_checked(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        Scaled(*arguments)


def test_a_subclass_of_a_users_has_its_own_constructor() -> None:
    class Twice(nn.LeakyReLU):
        def __init__(self) -> None:
            super().__init__(alpha=0.5)

        def construct(self, x: Any) -> Any:
            return super().construct(super().construct(x))

    assert Twice()(Tensor([-4.0, 4.0])).tolist() == [-1.0, 4.0]
    assert ms.jit(Twice())(Tensor([-4.0, 4.0])).tolist() == [-1.0, 4.0]


@pytest.mark.parametrize("name", CELLS)
def test_a_class_of_a_row_is_like_one_that_is_written(name: str) -> None:
    cls = getattr(nn, name)
    assert getattr(nn, name) is cls
    assert pickle.loads(pickle.dumps(cls)) is cls
    assert (cls.__module__, cls.__qualname__) == ("autodiff_compiler.nn", name)
    assert cls.__doc__.strip()
    assert cls.construct.__qualname__ == f"{name}.construct"
    assert inspect.getsource(cls.construct).startswith("def construct(self")
    constants = CELLS[name].signature.partition("(")[2].partition(")(")[0]
    assert len(inspect.signature(cls).parameters) == len([p for p in constants.split(",") if p.strip()])


def test_an_error_in_compiled_code_shows_the_users_line() -> None:
    @ms.jit
    def f(x: Any) -> Any:
        return nn.MatDet()(x) + ops.ones((2,))

    with pytest.raises(
        CompileError, match=r"(?s)det needs matrices.*test_descriptions\.py.*return nn\.MatDet\(\)\(x\)"
    ):
        f(Tensor([1.0, 2.0]))
