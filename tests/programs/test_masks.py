"""`t[mask] = v` and `t[mask] op= v` with a mask known only at run time."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, ops

from .compare import assert_same, check, define

pytestmark = pytest.mark.both_backends

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.25]])
Y = np.array([1.5, 0.75, -0.5])

# Run by Python on NumPy arrays, too; z is a matrix of its own.
PROGRAMS = {
    "a number": "z[z > 0.0] = 3.0\nreturn z * x",
    "a Tensor of no dimensions": "z[z > 0.0] = y[0] * y[1]\nreturn z * x",
    "rows": "z[y[:2] > 1.0] = y * y\nreturn z * x",
    "one row": "z[y[:2] > 1.0] = (y * y).reshape(1, 3)\nreturn z * x",
    "a mask of columns": "z[:, y > 0.0] = 2.0\nreturn z * x",
    "a mask of columns behind an ellipsis": "z[..., y > 0.0] *= y[1]\nreturn z * x",
    "a mask of rows and a column": "z[y[:2] > 1.0, -1] += y[0]\nreturn z * x",
    "a mask of rows and a slice": "z[y[:2] > 1.0, 1:] -= 0.5\nreturn z * x",
    "added": "z[z > 0.0] += 1.5\nreturn z * x",
    "multiplied by rows": "z[y[:2] > 1.0] *= y\nreturn z * x",
    "divided": "z[z > 0.0] /= y[1]\nreturn z * x",
    "the fractional power of what is positive": "z[z > 0.0] **= 0.5\nreturn z * x",
    "divided by what is zero elsewhere": "w = y * 0.0 + 1.0\nw[2] = 0.0\nz[:, w > 0.5] /= w[0]\nreturn z * x",
    "nothing selected": "z[z > 50.0] /= y[0] * 0.0\nreturn z * x",
    "twice": "m = z > 0.0\nz[m] += y[0]\nz[m] *= z[0, 0]\nreturn z * x",
    "in a branch": "if y[0] > 0.0:\n    z[z > 0.0] *= y[0]\nreturn z * x",
    "in a kept loop": "for i in range(12):\n    z[z > 0.2] *= 0.9\nreturn z * x",
    "of a name that may be two": "w = x * y if y[0] > 0.0 else z\nw[w > 0.0] += y[1]\nreturn w * z",
}


def function(body):
    return define("def f(x, y):\n    z = x * 1.0\n" + "".join(f"    {line}\n" for line in body.splitlines()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name):
    check(function(PROGRAMS[name]), X, Y)


@pytest.mark.some(2)
@pytest.mark.parametrize("op", ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "|="])
@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32"])
@pytest.mark.parametrize("value", ["2", "n", "v", "0", "2.5"])
def test_dtypes_as_in_eager_mode(op, dtype, value):
    f = define(f"def f(t, v, n):\n    t[t > v[1]] {op} {value}\n    return t\n", "f")

    def run(g):
        v = ms.Tensor(np.array(3, dtype)) if value == "v" else ms.Tensor(np.array([1, 1], dtype))
        try:
            return g(ms.Tensor(np.array([1, 2, 3, 4], dtype)), v, ms.mutable(3))
        except (TypeError, ValueError) as error:
            return type(error).__name__

    if value == "v":
        f = define(f"def f(t, v, n):\n    t[t > v] {op} v\n    return t\n", "f")
    expected, found = run(f), run(ms.jit(f))
    if isinstance(expected, str):
        assert found == expected
    else:
        assert_same(found, expected, "compiled and eager")


def test_the_caller_and_a_parameter_see_it():
    w = ms.Parameter(ms.Tensor([1.0, -2.0, 3.0]), name="w")

    @ms.jit
    def f(t):
        t[t > 1.0] *= 10.0
        w[w > 0.0] += 1.0
        return w * 1.0

    t = ms.Tensor([1.0, 2.0, 3.0])
    assert f(t).tolist() == [2.0, -2.0, 4.0]
    assert t.tolist() == [1.0, 20.0, 30.0]
    assert w.tolist() == [2.0, -2.0, 4.0]


#: Statements with a value for each of the selected elements; with the mask of one element, and of two.
FOR_EACH = {
    "a value": "t[t > 1.0] = u",
    "an operand": "t[t > 1.0] += u",
    "what a mask selects": "t[t > 1.0] = t[t > 1.0] * 2.0",
    "rows under a mask and a slice": "t = t.reshape(2, 1)\n    t[t[:, 0] > 1.0, 0:] = u[:1]",
    "two masks": "t = t.reshape(2, 1)\n    t[t[:, 0] > 1.0, u[:1] > 0.0] = 1.0",
    "a matrix product": "t[t > 1.0] @= t[t > 1.0].reshape(-1, 1) @ t[t > 1.0].reshape(1, -1)",
}


@pytest.mark.parametrize("name", FOR_EACH)
@pytest.mark.parametrize(("t", "u"), [([1.0, 2.0], [3.0]), ([3.0, 2.0], [3.0, 4.0])])
def test_values_for_each_of_the_selected(name, t, u):
    f = define(f"def f(t, u):\n    {FOR_EACH[name]}\n    return t\n")
    expected = f(ms.Tensor(t), ms.Tensor(u))
    assert ms.jit(f)(ms.Tensor(t), ms.Tensor(u)).tolist() == expected.tolist()


def test_a_mask_of_another_shape():
    for statement in ("t[u > 1.0] = 1.0", "t[u > 1.0] += 1.0"):
        f = define(f"def f(t, u):\n    {statement}\n    return t\n")
        for g in (f, ms.jit(f)):
            with pytest.raises((ValueError, IndexError), match="shape"):
                g(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0, 5.0]))


# ------------------------------------------------------------------------------------------------ deletion
@pytest.mark.parametrize("what", ["t", "(t, t)", "'text'", "int(t[1])", "None"])
def test_what_has_no_elements_to_delete(what):
    f = define(f"def f(t):\n    x = {what}\n    t[0] = 5.0\n    del x[0]\n    return t\n")
    told = []
    for g in (f, ms.jit(f)):
        t = ms.Tensor([1.0, 2.0])
        with pytest.raises(TypeError) as caught:
            g(t)
        told.append(str(caught.value).splitlines()[0])
        assert t.tolist() == [5.0, 2.0]  # the write came before
    assert told[0] == told[1]
    if what == "t":
        assert told[0] == "'Tensor' object doesn't support item deletion"


MISFITS = {
    "too many indices": "z[z > 2, :]",
    "too many, the mask last": "z[:, z > 2]",
    "a mask of more dimensions": "z[z.reshape(1, 2, 3) > 2]",
    "another length": "z[z[0] > 2]",
    "another length behind a slice": "z[:, z[:, 0] > 2]",
    "another length behind an ellipsis": "z[..., z[:, 0] > 2]",
    "another length before an ellipsis": "z[z[0] > 2, ...]",
}


@pytest.mark.parametrize("change", ["= 1.0", "+= 1.0", "*= 2.0"])
@pytest.mark.parametrize("place", MISFITS)
def test_a_mask_that_does_not_fit_is_the_same_error_in_every_mode(place, change):
    """NumPy, too, raises an IndexError."""
    source = f"def f(z):\n    z = z * 1\n    {MISFITS[place]} {change}\n    return z\n"
    with pytest.raises(IndexError):
        define(source)(X)
    with pytest.raises(IndexError) as eager:
        define(source)(ms.Tensor(X))
    with pytest.raises(IndexError) as graph:
        ms.jit(define(source))(ms.Tensor(X))
    assert str(graph.value) == str(eager.value)


@pytest.mark.parametrize("asked", ["x[x > 9].max()", "x[x > 9].min()", "ops.argmax(x[x > 9])"])
def test_no_elements_have_no_extreme_one(asked):
    """Data say how many there are: the error is that of eager mode, and names the user's line."""
    f = define(f"def f(x):\n    y = x * 2\n    return y.sum() + {asked}\n", ops=ops)
    x = Tensor(np.array([0.3, 0.5], np.float32))
    calls = [f, jit(f)] if "arg" in asked else [f, jit(f), jit(ms.grad(f)), ms.grad(jit(f))]
    for call in calls:
        with pytest.raises(ms.ShapeError, match="an empty tensor has no extreme element") as caught:
            call(x)
        assert call is f or f"return y.sum() + {asked}" in str(caught.value)


def test_numpy_errors_of_users_functions_stay_as_they_are():
    def host(x):
        return np.array(np.array([]).max())

    with pytest.raises(ValueError, match="zero-size array") as caught:
        jit(lambda x: ms.py_call(host, x, out=x))(Tensor(np.array(1.0)))
    assert not isinstance(caught.value, ms.ShapeError)
