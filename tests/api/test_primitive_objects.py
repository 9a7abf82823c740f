"""Operators as objects: those that write Parameters, factorizations, attributes, copies, errors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.ops import operations, state_classes

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
Y = np.array([[2.0, -1.25, 1.0], [0.5, 4.0, 3.0]])
IMAGE = np.arange(32.0).reshape(1, 2, 4, 4) * 0.25 - 1.7
WEIGHT = np.arange(12.0).reshape(3, 2, 1, 2)


# ---------------------------------------------------------------------------------------------------- Parameters
def applied(ufunc: Any) -> Callable[..., Any]:
    def expected(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        x = x.copy()
        ufunc.at(x, i, u)
        return x

    return expected


def replaced(x: np.ndarray, i: Any, u: np.ndarray) -> np.ndarray:
    x = x.copy()
    x[i] = u
    return x


UFUNCS = {
    "ScatterAdd": np.add, "ScatterSub": np.subtract, "ScatterMul": np.multiply, "ScatterDiv": np.divide,
    "ScatterMax": np.maximum, "ScatterMin": np.minimum, "ScatterNdAdd": np.add, "ScatterNdSub": np.subtract,
    "ScatterNdMul": np.multiply, "ScatterNdDiv": np.divide, "ScatterNdMax": np.maximum, "ScatterNdMin": np.minimum,
}  # fmt: skip
START = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
ROWS = np.array([2, 0, 2], np.int32)
CHANGES = np.array([[10.0, 0.5], [2.0, 4.0], [-1.0, 8.0]])
WRITING: list[tuple[str, tuple[Any, ...], Any]] = [
    ("Assign", (CHANGES,), CHANGES),
    ("AssignAdd", (CHANGES,), START + CHANGES),
    ("AssignSub", (CHANGES,), START - CHANGES),
    *[
        (name, (ROWS[:, None] if "Nd" in name else ROWS, CHANGES), applied(ufunc)(START, ROWS, CHANGES))
        for name, ufunc in UFUNCS.items()
    ],
    ("ScatterUpdate", (ROWS[:2], CHANGES[:2]), replaced(START, ROWS[:2], CHANGES[:2])),
    ("ScatterNdUpdate", (ROWS[:2, None], CHANGES[:2]), replaced(START, ROWS[:2], CHANGES[:2])),
    ("ScatterNonAliasingAdd", (ROWS[:, None], CHANGES), applied(np.add)(START, ROWS, CHANGES)),
    ("InplaceIndexAdd", (ROWS, CHANGES), applied(np.add)(START, ROWS, CHANGES)),
]


@pytest.mark.parametrize(("name", "operands", "expected"), WRITING, ids=[c[0] for c in WRITING])
@pytest.mark.parametrize("compiled", [False, True])
def test_classes_write_parameters(name: str, operands: tuple[Any, ...], expected: np.ndarray, compiled: bool) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(START), name="w")
            self.write = getattr(ops, name)(*((0,) if name == "InplaceIndexAdd" else ()))

        def construct(self, *operands):
            self.write(self.w, *operands)
            return self.w * 1

    net = Net()
    run = ms.jit(net) if compiled else net
    found = run(*map(Tensor, operands))
    np.testing.assert_allclose(net.w.asnumpy(), expected)
    np.testing.assert_allclose(found.asnumpy(), expected)


def test_every_class_that_writes_has_a_case() -> None:
    assert set(state_classes.__all__) <= {case[0] for case in WRITING}


@pytest.mark.parametrize("compiled", [False, True])
def test_batch_norm_moves_its_parameters(compiled: bool) -> None:
    class Net(nn.Cell):
        def __init__(self, training: bool) -> None:
            super().__init__()
            self.norm = ops.BatchNorm(is_training=training, epsilon=1e-3, momentum=0.25)
            self.mean = Parameter(Tensor([0.0, 1.0], ms.float64), requires_grad=False)
            self.variance = Parameter(Tensor([1.0, 2.0], ms.float64), requires_grad=False)

        def construct(self, x, scale, bias):
            return self.norm(x, scale, bias, self.mean, self.variance)[0]

    x, scale, bias = IMAGE, np.array([2.0, -1.0]), np.array([0.5, 0.25])
    training, inference = Net(True), Net(False)
    wrap = ms.jit if compiled else (lambda net: net)
    given = [Tensor(v) for v in (x, scale, bias)]

    def normal(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        mean, variance, s, b = (v[:, None, None] for v in (mean, variance, scale, bias))
        return (x - mean) / np.sqrt(variance + 1e-3) * s + b

    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    np.testing.assert_allclose(wrap(training)(*given).asnumpy(), normal(mean, variance))
    np.testing.assert_allclose(training.mean.asnumpy(), 0.75 * np.array([0.0, 1.0]) + 0.25 * mean)
    np.testing.assert_allclose(
        training.variance.asnumpy(), 0.75 * np.array([1.0, 2.0]) + 0.25 * x.var((0, 2, 3), ddof=1)
    )
    np.testing.assert_allclose(wrap(inference)(*given).asnumpy(), normal(np.array([0.0, 1.0]), np.array([1.0, 2.0])))


# ---------------------------------------------------------------------------------------------------- factors
def test_classes_of_several_factors_multiply_back() -> None:
    a = Tensor(X)
    u, s, v = (lambda r: (r[1], r[0], r[2]))(ops.Svd()(a))
    np.testing.assert_allclose((u @ ops.diag(s) @ ops.t(v)).asnumpy(), X, atol=1e-12)
    q, r = ops.Qr()(a)
    np.testing.assert_allclose((q @ r).asnumpy(), X, atol=1e-12)
    assert ops.Qr(True)(Tensor(X.T))[0].shape == (3, 3)
    factors, tau = ops.Geqrf()(Tensor(X.T))
    q = ops.Orgqr()(factors, tau)
    np.testing.assert_allclose((ops.t(q) @ q).asnumpy(), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(ops.Ormqr(True, True)(factors, tau, Tensor(X.T)).asnumpy()[2:], 0, atol=1e-12)


# ---------------------------------------------------------------------------------------------------- objects
def test_attributes_repr_and_copies() -> None:
    p = ops.ReduceSum(keep_dims=True)
    assert (p.name, p.keep_dims, p.skip_mode, repr(p)) == (
        "ReduceSum", True, False, "Prim[ReduceSum]<keep_dims=True, skip_mode=False>",
    )  # fmt: skip
    assert repr(ops.Add()) == "Prim[Add]"
    for twin in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert (repr(twin), twin(Tensor(X), 0).shape) == (repr(p), (1, 3))
    assert p.add_prim_attr("tag", 3) is p
    assert p.tag == 3
    assert "tag=3" in repr(p)
    assert "tag" not in repr(p.del_prim_attr("tag"))
    assert p.shard(((1, 1),)).set_stage(1).recompute() is p  # there is one device


def test_a_changed_attribute_counts_also_in_compiled_code() -> None:
    p = ops.ReduceSum()
    f = ms.jit(lambda x: p(x, 0))
    assert f(Tensor(X)).shape == (3,)
    p.keep_dims = True
    assert p(Tensor(X), 0).shape == f(Tensor(X)).shape == (1, 3)
    p.add_prim_attr("keep_dims", False)
    assert p(Tensor(X), 0).shape == f(Tensor(X)).shape == (3,)


def test_bad_constants_and_weights_are_refused() -> None:
    with pytest.raises(TypeError, match=r"ReduceMean\(\) got an unexpected keyword argument 'keepdims'"):
        ops.ReduceMean(keepdims=True)
    for name in ("MatMul", "BatchMatMul", "BatchNorm", "Conv2D", "StandardNormal", "AddN"):
        with pytest.raises(TypeError, match=rf"^{name}\(\) "):
            getattr(ops, name)(*range(20))
    with pytest.raises(ms.ShapeError, match=r"takes a weight \[5, channels, 1, 2\], not \[3, 2, 1, 2\]"):
        ops.Conv2D(5, (1, 2))(Tensor(IMAGE), Tensor(WEIGHT))
    with pytest.raises(ValueError, match="channels first"):
        ops.MaxPool(2, 2, data_format="NHWC")
    with pytest.raises(ValueError, match="exclude each other"):
        ops.ResizeBilinearV2(True, True)
    with pytest.raises(TypeError, match="assign"):
        ops.Assign()(Tensor(X), Tensor(Y))


@pytest.mark.parametrize(("name", "text"), [("Pull", "one device"), ("Softmx", "use `Softmax`"), ("Eig", "complex")])
def test_what_is_lacking_says_why(name: str, text: str) -> None:
    for module in (ops, operations, ops.functional, ops.composite):
        with pytest.raises(AttributeError, match=text):
            getattr(module, name)
    with pytest.raises(AttributeError, match=text):
        ms.jit(lambda x: getattr(ops, name)()(x))(Tensor(X))


@pytest.mark.parametrize("name", ["HyperMap", "conv2d", "exp", "log1p", "matmul", "sum", "tanh"])
def test_functions_are_pickled_by_name(name: str) -> None:
    function = getattr(ops, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert getattr(ops.functional, name) is function


def test_functional_and_composite_have_every_function() -> None:
    assert ops.functional.conv2d is ops.conv2d
    assert ops.composite.clip_by_global_norm is ops.clip_by_global_norm
    assert operations.Primitive is ops.Primitive
