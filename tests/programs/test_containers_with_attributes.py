"""Lists and dicts of users' classes that have attributes: eager and compiled code read the same, and see changes."""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn

X = np.array([1.0, 2.0], np.float32)


class Items(dict):
    """Every name is a key; another one raises KeyError."""

    __getattr__ = dict.__getitem__


class Written(dict):
    def __getattr__(self, name):
        return self[name]


class More(dict):
    __slots__ = ("scale",)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.scale = 3.0

    @property
    def double(self):
        return self["w"] * 2.0

    def of(self, name):
        return self[name]


class Numbered(list):
    def __getattr__(self, name):
        return self[int(name[1:])]


def read(x, c):
    return x * c.w


class Net(nn.Cell):
    def __init__(self, c):
        super().__init__()
        self.c = c

    def construct(self, x):
        return x * self.c.w


@pytest.mark.parametrize("kind", [Items, Written])
def test_keys_as_attributes(kind):
    """Of a global name or closure, of a Cell, of an argument; changes are seen, also after many calls."""
    c = kind(w=2.0, inner=kind(w=5.0))

    def f(x):
        return x * c.w + c.inner.w

    compiled, cell = ms.jit(f), Net(c)
    cell.set_train(False)
    for value in (2.0, 3.0, 2.0):
        c["w"] = value
        for _ in range(20):
            np.testing.assert_array_equal(compiled(Tensor(X)).asnumpy(), X * value + 5.0)
            np.testing.assert_array_equal(ms.jit(read)(Tensor(X), c).asnumpy(), X * value)
            np.testing.assert_array_equal(ms.jit(cell.construct)(Tensor(X)).asnumpy(), X * value)


@pytest.mark.parametrize(("kind", "error"), [(Items, KeyError), (Written, KeyError)])
def test_a_key_that_is_not_there(kind, error):
    c = kind(v=2.0)
    with pytest.raises(error):
        ms.jit(lambda x: x * c.w)(Tensor(X))


def test_tensors_in_them():
    """Those of an argument are arguments, and have derivatives."""
    c = Items(w=Tensor(X), v=1.0)
    np.testing.assert_array_equal(ms.jit(read)(Tensor(X), c).asnumpy(), X * X)
    np.testing.assert_array_equal(ms.jit(ms.grad(lambda x: (x * c.w).sum()))(Tensor(X)).asnumpy(), X)


def test_what_is_returned_keeps_its_class():
    found = ms.jit(lambda c: c)(Items(w=Tensor(X), v=2.0))
    assert type(found) is Items
    assert (list(found), found.v) == (["w", "v"], 2.0)
    np.testing.assert_array_equal(found.w.asnumpy(), X)


def test_slots_properties_and_methods():
    c = More(w=2.0)

    def f(x):
        return x * c.scale + c.double + c.of("w") + len(c.keys())

    np.testing.assert_array_equal(ms.jit(f)(Tensor(X)).asnumpy(), X * 3.0 + 4.0 + 2.0 + 1)
    np.testing.assert_array_equal(ms.jit(lambda x, c: x * c.scale)(Tensor(X), c).asnumpy(), X * 3.0)


def test_a_list():
    c = Numbered([2.0, 5.0])
    np.testing.assert_array_equal(ms.jit(lambda x: x * c.n1)(Tensor(X)).asnumpy(), X * 5.0)


def test_no_code_of_the_class_runs_while_compiling():
    asked = []

    class Noting(dict):
        def __getattribute__(self, name):
            asked.append(name)
            return dict.__getattribute__(self, name)

    c = Noting(w=2.0)
    ms.jit(lambda x: x * c["w"])(Tensor(X))
    assert set(asked) <= {"__class__"}  # which `isinstance` of Python asks for
