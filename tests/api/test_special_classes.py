"""Operator classes of special functions, diagonals, distances and plain values against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, special
from scipy.spatial import distance

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops

X, Y = np.array([[0.5, 1.5, 2.0], [3.0, 0.25, 0.75]]), np.array([[2.0, 1.25, 1.0], [0.5, 4.0, 3.0]])
I, J = np.array([12, -7, 0]), np.array([18, 2, 5])
PARTS = np.array([[0.0, 8, 9], [1, 2, 3], [4, 5, 0]])
WHOLE = np.array([[1.0, 8, 0], [4, 2, 9], [0, 5, 3]])

#: class, constants, operands, result
CASES = [
    ("AccumulateNV2", (), ((X, Y, X),), X + Y + X), ("AddN", (), ((X, Y),), X + Y),
    ("ApproximateEqual", (0.6,), (X, X + [0.5, 0.7, 0]), np.array([[True, False, True]] * 2)),
    ("BesselI0", (), (X,), special.i0(X)), ("BesselI0e", (), (X,), special.i0e(X)),
    ("BesselI1", (), (X,), special.i1(X)), ("BesselI1e", (), (X,), special.i1e(X)),
    ("BesselJ0", (), (X,), special.j0(X)), ("BesselJ1", (), (X,), special.j1(X)), ("BesselK0", (), (X,), special.k0(X)),
    ("BesselK0e", (), (X,), special.k0e(X)), ("BesselK1", (), (X,), special.k1(X)),
    ("BesselK1e", (), (X,), special.k1e(X)), ("BesselY0", (), (X,), special.y0(X)),
    ("BesselY1", (), (X,), special.y1(X)),
    ("Cdist", (1.0,), (X, Y), distance.cdist(X, Y, "cityblock")), ("Conj", (), (X,), X), ("Depend", (), (X, Y), X),
    ("DynamicShape", (ac.int32,), (X,), np.array([2, 3], np.int32)), ("Eps", (), (X,), np.full((2, 3), 2.0**-52)),
    ("Gcd", (), (I, J), np.gcd(I, J)), ("Histogram", (2, 0.0, 4.0), (X,), np.array([4, 2], np.int32)),
    ("Identity", (), (X,), X), ("Igamma", (), (X, Y), special.gammainc(X, Y)),
    ("Igammac", (), (X, Y), special.gammaincc(X, Y)), ("Imag", (), (X,), X * 0),
    ("InTopK", (1,), (X, np.array([2, 1])), np.array([True, False])), ("Inv", (), (X,), 1 / X),
    ("Invert", (), (I,), ~I),
    ("Lcm", (), (I, J), np.lcm(I, J)), ("MatrixBandPart", (), (X, 0, 1), np.triu(np.tril(X, 1))),
    ("MatrixDiagPartV3", (), (WHOLE, (-1, 1), 0), PARTS), ("MatrixDiagV3", (), (PARTS, (-1, 1), -1, -1, 0), WHOLE),
    ("MatrixDiagPartV3", ("LEFT_RIGHT",), (WHOLE, (0, 1), 7), np.array([[8.0, 9, 7], [1, 2, 3]])),
    ("MatrixSetDiagV3", (), (X, np.array([-1.0, -2.0]), 1), np.where(np.eye(2, 3, 1), [0, -1, -2], X)),
    ("NextAfter", (), (X, Y), np.nextafter(X, Y)), ("Pdist", (), (X,), distance.pdist(X)),
    ("PopulationCount", (), (np.array([7, 8]),), np.array([3, 1], np.uint8)), ("Real", (), (X,), X),
    ("Renorm", (2, 0, 1.0), (X,), X / np.maximum(1, linalg.norm(X, axis=1, keepdims=True))),
    ("ScalarToArray", (), (3,), np.array(3)), ("ScalarToTensor", (), (3, ac.int32), np.array(3, np.int32)),
    ("Sinc", (), (X,), np.sinc(X)), ("TensorAdd", (), (X, Y), X + Y), ("TensorShape", (), (X,), np.array([2, 3])),
    ("TupleToArray", (), ((1, 2),), np.array([1, 2])), ("Xdivy", (), (X, Y), X / Y),
    ("Zeta", (), (X + 1, Y), special.zeta(X + 1, Y)),
]  # fmt: skip
#: classes whose result is no tensor
OTHERS = {"DType", "Print", "ScalarCast"}


def as_operand(x):
    if isinstance(x, tuple):
        return tuple(map(as_operand, x))
    return Tensor(x) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize(("name", "constants", "operands", "expected"), CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_objects_agree_with_numpy(name, constants, operands, expected, compiled):
    def run(*operands):
        return getattr(ops, name)(*constants)(*operands)

    found = (ac.jit(run) if compiled else run)(*map(as_operand, operands)).asnumpy()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_plain_values(capsys):
    assert ops.DType()(Tensor(X)) is ac.float64
    assert ops.ScalarCast()(2.5, ac.int32) == 2

    def printing(x):
        ops.Print()("x", x)
        return x

    for run in (printing, ac.jit(printing)):
        run(Tensor([1.0]))
    lines = ["x", "Tensor(shape=[1], dtype=Float32, value= [ 1.00000000e+00])"]
    assert capsys.readouterr().out.splitlines() == lines * 2
    with pytest.raises(TypeError, match="Sinc"):
        ops.Sinc(3)
