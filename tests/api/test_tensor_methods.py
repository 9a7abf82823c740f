"""Methods of Tensors are what they say they are: names, signatures, docstrings and messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, mint, nn, ops
from autodiff_compiler import numpy as mnp
from autodiff_compiler.primitives.in_place import IN_PLACE

PLACES = (ms, mint, mint.linalg, mint.nn.functional, mint.special, mnp, mnp.fft, nn, ops, Parameter, Tensor)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_nothing_public_is_called_by_the_function_that_made_it(place: Any) -> None:
    names = [name for name in dir(place) if place in (Parameter, Tensor) or not name.startswith("_")]
    found = [(name, getattr(place, name, None)) for name in names]
    assert not [name for name, value in found if "<" in getattr(value, "__qualname__", "")]


@pytest.mark.parametrize("name", sorted(IN_PLACE))
def test_an_in_place_method_has_its_name_and_says_what_it_does(name: str) -> None:
    method = getattr(Tensor, name)
    assert (method.__name__, method.__qualname__) == (name, f"Tensor.{name}")
    assert method.__doc__.startswith("Gives the Tensor a new value, and returns it: ")


def add(x: Tensor) -> Tensor:
    y = x * 1
    y.add_(x, beta=2)
    return y


def copy(x: Tensor) -> Tensor:
    y = x * 1
    y.copy_(x, beta=2)
    return y


def fill(x: Tensor) -> Tensor:
    y = x * 1
    y.zero_(beta=2)
    return y


@pytest.mark.parametrize("function", [add, copy, fill], ids=lambda f: f.__name__)
@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_messages_name_the_method(function: Callable[[Tensor], Tensor], run: Any) -> None:
    method = {"add": "add_", "copy": "copy_", "fill": "zero_"}[function.__name__]
    with pytest.raises(TypeError, match=rf"^{method}\(\) got an unexpected keyword argument 'beta'"):
        run(function)(Tensor([1.0, 2.0]))


def test_messages_name_what_draws() -> None:
    x = Tensor([1.0, 2.0])
    for name in ("normal_", "uniform_", "bernoulli_", "uniform", "cauchy"):
        with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'beta'"):
            getattr(x, name)(beta=2)


def test_signatures_are_those_of_what_computes_the_value() -> None:
    assert str(inspect.signature(Tensor.add_)) == "(x, /, other, *, alpha=1)"
    assert [*inspect.signature(Tensor.scatter_).parameters] == ["x", "dim", "index", "src", "reduce", "value"]
