"""Writing parts of Parameters in place, in eager and in compiled code, against NumPy's unbuffered operations."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ac
from autodiff_compiler import Parameter, Tensor, ops

RNG = np.random.default_rng(17)
UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum}


def written(kind, x, at, updates):
    out = x.copy()
    if kind == "update":
        out[at] = updates
    else:
        UFUNCS[kind].at(out, at, updates)
    return out


@pytest.mark.parametrize(
    "name", ["scatter_update", "scatter_add", "scatter_mul", "scatter_div", "scatter_max", "scatter_min"]
)
@pytest.mark.parametrize("compiled", [False, True])
def test_rows(name, compiled):
    kind = name.removeprefix("scatter_")
    x, index = RNG.normal(size=(4, 2)), np.array([[3], [0]] if kind == "update" else [[3], [3]])
    updates = RNG.normal(size=(2, 1, 2)) + 3
    p, function = Parameter(x.copy()), getattr(ops, name)

    def step(i, u):
        out = function(p, i, u)
        return out * 1, p * 2  # what follows reads the new value

    out, doubled = (ac.jit(step) if compiled else step)(Tensor(index), Tensor(updates))
    expected = written(kind, x, index, updates)
    np.testing.assert_allclose(p.asnumpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(doubled.asnumpy(), expected * 2, rtol=1e-14)


@pytest.mark.parametrize(
    "name",
    ["scatter_nd_update", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_mul", "scatter_nd_div", "scatter_nd_max",
     "scatter_nd_min"],
)  # fmt: skip
@pytest.mark.parametrize("compiled", [False, True])
def test_places(name, compiled):
    kind = name.removeprefix("scatter_nd_")
    x, index, updates = RNG.normal(size=(3, 4)), np.array([[2, 1], [0, 3]]), RNG.normal(size=2) + 3
    if kind != "update":
        index[1] = index[0]
    p, function = Parameter(x.copy()), getattr(ops, name)
    step = ac.jit(lambda i, u: function(p, i, u)) if compiled else lambda i, u: function(p, i, u)
    step(Tensor(index), Tensor(updates))
    np.testing.assert_allclose(p.asnumpy(), written(kind, x, tuple(index.T), updates), rtol=1e-14)


@pytest.mark.parametrize("compiled", [False, True])
def test_slices_along_an_axis(compiled):
    x, updates = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 2))
    p = Parameter(x.copy())
    step = lambda u: ops.inplace_index_add(p, Tensor(np.array([1, 1], np.int32)), u, 1)
    (ac.jit(step) if compiled else step)(Tensor(updates))
    expected = x.copy()
    np.add.at(expected, (slice(None), [1, 1]), updates)
    np.testing.assert_allclose(p.asnumpy(), expected, rtol=1e-14)


def test_the_gradient_reaches_the_updates():
    p = Parameter(np.ones((3, 2)))

    def loss(u):
        return (ops.scatter_mul(p, Tensor([2]), u) ** 2).sum()

    for run in (ac.grad(loss), ac.jit(ac.grad(loss))):
        p.set_data(Tensor(np.full((3, 2), 3.0)))
        np.testing.assert_allclose(run(Tensor([[1.0, 2.0]], ac.float64)).asnumpy(), [[18.0, 36.0]], rtol=1e-14)
        np.testing.assert_allclose(p.asnumpy(), [[3, 3], [3, 3], [3, 6]], rtol=1e-14)


def test_what_is_no_parameter_is_refused():
    with pytest.raises(TypeError, match="changes a Parameter"):
        ops.scatter_add(Tensor([1.0]), Tensor([0]), Tensor([1.0]))
    with pytest.raises(IndexError):
        ops.scatter_add(Parameter([1.0]), Tensor([1]), Tensor([1.0]))
