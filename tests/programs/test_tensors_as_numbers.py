"""Tensors beside other objects and as numbers: what eager code gives, compiled code gives, errors too."""

from __future__ import annotations

import enum
import math
import operator
import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn


class Colour(enum.IntEnum):
    RED = 1


class Answering:
    """It compares itself with everything."""

    def __eq__(self, other):
        return "equal"

    def __lt__(self, other):
        return "less"

    __hash__ = None


NUMBERS = {"int": 1, "float": 1.0, "bool": True, "enum": Colour.RED, "numpy": np.float32(1), "mutable": ms.mutable(1)}
STRANGERS = {
    "None": None,
    "str": "a",
    "list": [1.0],
    "list of its size": [1.0, 2.0],
    "tuple": (1.0, 2.0),
    "dict": {},
    "object": object(),
    "complex": 1j,
    "class": int,
    "range": range(2),
    "dtype": ms.float32,
}
ORDERS = [operator.lt, operator.le, operator.gt, operator.ge]
X = Tensor([1.0, 2.0])


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("op", [operator.eq, operator.ne, *ORDERS])
def test_a_tensor_beside_a_number(name, op):
    number = NUMBERS[name]
    for found in (op(X, number), ms.jit(lambda x: op(x, number))(X)):
        assert found.tolist() == op(np.array([1.0, 2.0]), 1).tolist()
    for found in (op(number, X), ms.jit(lambda x: op(number, x))(X)):
        assert found.tolist() == op(1, np.array([1.0, 2.0])).tolist()


@pytest.mark.parametrize("name", STRANGERS)
def test_a_tensor_beside_what_is_no_number(name):
    other = STRANGERS[name]
    for equal in (lambda x: (x == other, x != other), lambda x: (other == x, other != x)):
        assert equal(X) == ms.jit(equal)(X) == (False, True)
    for op in ORDERS:
        for run in (lambda x, op=op: op(x, other), lambda x, op=op: op(other, x)):
            for call in (run, ms.jit(run)):
                with pytest.raises(TypeError, match=r"not supported between instances of .*'Tensor'"):
                    call(X)


LITERALS = {
    "imaginary": lambda x: (x == 1j, x != 1j, 1j == x),
    "negative": lambda x: (x == -1j, x != -1j, -1j == x),
    "of two parts": lambda x: (x == 1 - 2j, x != -1.5 + 2j, 1 + 2j == x),
}


@pytest.mark.parametrize("name", LITERALS)
def test_a_tensor_beside_a_complex_number_that_is_written_there(name):
    equal = LITERALS[name]
    assert equal(X) == ms.jit(equal)(X) == (False, True, False)
    for call in (lambda x: x < 1j, ms.jit(lambda x: x < 1j)):
        with pytest.raises(TypeError, match="not supported between instances of 'Tensor' and 'complex'"):
            call(X)


def test_complex_numbers_are_compared_as_in_python():
    assert ms.jit(lambda x: (1j == 1j, 1 + 2j == 1j, 2j != 2, x))(X)[:3] == (True, False, True)


def test_an_order_with_none_is_an_error_where_it_is_written(mode):
    """It was False in compiled code."""

    def f(x, limit=None):
        if x < limit:
            return x
        return x * 2

    with pytest.raises(TypeError, match="'<' not supported between instances of 'Tensor' and 'NoneType'"):
        (ms.jit(f) if mode == "graph" else f)(Tensor(1.0))


def test_the_methods_of_the_other_are_asked():
    other = Answering()
    for f in (lambda x: x == other, lambda x: other == x):
        assert f(X) == ms.jit(f)(X) == "equal"
    for f in (lambda x: other < x, lambda x: x > other):
        assert f(X) == ms.jit(f)(X) == "less"
    assert Tensor.__eq__(X, "a") is NotImplemented


def test_containers_compare_identities_first_and_stop_where_they_differ():
    for f in (lambda x: (x, 1) == (x, None), lambda x: (1, x) == (2, x * 1), lambda x: x in ["a", None, x]):
        assert f(X) is ms.jit(f)(X)


CONVERSIONS = {
    "float": float,
    "int": int,
    "bool": bool,
    "sin": math.sin,
    "floor": math.floor,
    "hypot": lambda x: math.hypot(x, x),
    "isnan": math.isnan,
    "a power": lambda x: math.pow(x, 2),
}


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_one_element_is_a_number(name, dtype, shape):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = CONVERSIONS[name](np.ones((), dtype).item())
        for found in (
            CONVERSIONS[name](Tensor(np.ones(shape, dtype))),
            ms.jit(CONVERSIONS[name])(Tensor(np.ones(shape, dtype))),
        ):
            assert (type(found), found) == (type(wanted), wanted)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_integer_is_an_index(shape):
    for make in (lambda f: f, ms.jit):
        assert make(operator.index)(Tensor(np.ones(shape, np.int32))) == 1
        assert make(lambda x: operator.index(x) + 1)(Tensor(np.ones(shape, np.uint8))) == 2
        for wrong in (np.float32, np.bool_):
            with pytest.raises(TypeError, match="only an integer tensor can be an index"):
                make(operator.index)(Tensor(np.ones(shape, wrong)))


def test_one_integer_of_an_array_is_an_index():
    def f(x):
        total = x.sum() * 0
        for _ in range(x.asnumpy()[1]):
            total = total + x[0]
        return operator.index(x.asnumpy()[1]), total

    for g in (f, ms.jit(f)):
        number, total = g(Tensor(np.array([5, 2], np.int64)))
        assert (number, total.item()) == (2, 10)
        with pytest.raises(TypeError, match="object cannot be interpreted as an integer"):
            g(Tensor(np.array([5.0, 2.0], np.float32)))


@pytest.mark.parametrize("shape", [(2,), (1, 2), (0,)])
def test_more_or_fewer_elements_are_no_number(shape, mode):
    for name, conversion in CONVERSIONS.items():
        run = ms.jit(conversion) if mode == "graph" else conversion
        with pytest.raises(ValueError, match="no truth value" if name == "bool" else "only a tensor of one element"):
            run(Tensor(np.ones(shape, np.float32)))
    with pytest.raises(TypeError, match="__round__"):
        (ms.jit(round) if mode == "graph" else round)(Tensor(np.ones(shape, np.float32)))


def test_the_step_of_an_optimizer_is_a_number(mode):
    """Its shape is (1,)."""
    weight = Parameter(np.ones(2, np.float32), name="w")
    optimizer = nn.Momentum([weight], 0.5, 0.0)
    optimizer((Tensor([1.0, 1.0]),))
    assert (optimizer.global_step.shape, int(optimizer.global_step), f"{float(optimizer.global_step):.1f}") == (
        (1,),
        1,
        "1.0",
    )
    read = lambda: int(optimizer.global_step) + 1
    assert (ms.jit(read) if mode == "graph" else read)() == 2
