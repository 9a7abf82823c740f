"""The mapped NumPy functions over dtypes and shapes: NumPy's own results, or refused."""

from __future__ import annotations

import inspect
import zlib

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.ir import primitive
from autodiff_compiler.primitives import numpy_names

DTYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]
SHAPES = [(), (3,), (2, 3), (0,), (3, 3)]
OPTIONS = [{}, {}, {"axis": 0}, {"axis": -1}, {"keepdims": True}]
TOLERANCE = {2: 2e-3, 4: 2e-6, 8: 1e-12}


def _required(ours):
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.default is p.empty and p.kind in kinds for p in inspect.signature(ours).parameters.values())


UFUNCS = {function.__name__: function for function in (*primitive.UFUNCS, *numpy_names._COMPOSED)}
UNARY = {f"{f.__module__}.{f.__name__}": f for f, ours in numpy_names._FUNCTIONS.items() if _required(ours) == 1}


def array(rng, dtype, shape):
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    kind = np.dtype(dtype).kind
    low, high = (0, 250) if kind == "u" else (-100, 100)
    found = rng.normal(size=shape) * 2 if kind == "f" else rng.integers(low, high, shape)
    return np.asarray(found).astype(dtype)


def outcome(function, tensors):
    """The result, or the exception it raises; "refused" where compiled code says that it cannot do it."""
    with np.errstate(all="ignore"):
        try:
            return function(*tensors)
        except ms.CompileError as error:
            return "refused" if error.code in ("AC1801", "AC1805", "AC1307") else error
        except Exception as error:
            return error


def assert_alike(got, wanted, what):
    assert type(got) is type(wanted) or (isinstance(wanted, Exception) and isinstance(got, type(wanted))), (what, got)
    if isinstance(wanted, tuple | list):
        for x, y in zip(got, wanted, strict=True):
            assert_alike(x, y, what)
    elif isinstance(wanted, np.ndarray | np.generic):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), what
        if wanted.dtype.kind == "f":
            tolerance = TOLERANCE[wanted.dtype.itemsize]
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=what)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=what)
    elif not isinstance(wanted, Exception):
        assert got == wanted or got != got, what


def check(name, function, nin, options):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for _ in range(8):
        shape, named = SHAPES[rng.integers(5)], options[rng.integers(len(options))]
        dtypes = [DTYPES[i] for i in rng.integers(9, size=nin)]
        if rng.random() < 0.5:
            dtypes = dtypes[:1] * nin
        arrays = [array(rng, dtype, shape) for dtype in dtypes]
        call = lambda *ts, named=named: function(*[t.asnumpy() for t in ts], **named)
        tensors = [ms.Tensor(a) for a in arrays]
        wanted, got = outcome(call, tensors), outcome(ms.jit(call), tensors)
        if not isinstance(got, str):
            assert_alike(got, wanted, f"{name} of {dtypes} {shape} {named}")


@pytest.mark.some(4)
@pytest.mark.parametrize("name", UFUNCS)
def test_elementwise_functions(name):
    check(name, UFUNCS[name], UFUNCS[name].nin, [{}])


@pytest.mark.some(4)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name):
    check(name, UNARY[name], 1, OPTIONS)


NARROW = {
    "cumsum": lambda a: np.cumsum(a.asnumpy()),
    "a sum": lambda a: a.asnumpy().sum(),
    "reciprocal": lambda a: np.reciprocal(a.asnumpy()),
    "square": lambda a: np.square(a.asnumpy()),
    "rint": lambda a: np.rint(a.asnumpy()),
    "at least one dimension": lambda a: np.atleast_1d(a.asnumpy()),
    "a mean": lambda a: np.mean(a.asnumpy()),
    "a product with itself": lambda a: np.dot(a.asnumpy(), a.asnumpy()),
}


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("name", NARROW)
def test_narrow_integers(name, dtype):
    for values in ([1, 2, 100], [1, 1, 1]):
        a = ms.Tensor(np.array(values).astype(dtype))
        got = outcome(ms.jit(NARROW[name]), [a])
        if not isinstance(got, str):
            assert_alike(got, outcome(NARROW[name], [a]), name)


def test_what_numpy_would_wrap_around_is_refused():
    a = ms.Tensor(np.array([100, 100, 100], np.int8))
    assert outcome(ms.jit(lambda a: np.trapezoid(a.asnumpy())), [a]) == "refused"


def test_negative_powers_of_integers_are_refused_as_numpy_does():
    f = lambda a, b: np.power(a.asnumpy(), b.asnumpy())
    for g in (f, ms.jit(f)):
        with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
            g(ms.Tensor([2, 3]), ms.Tensor([1, -1]))
        assert g(ms.Tensor([2, 3]), ms.Tensor([1, 2])).tolist() == [2, 9]


def test_matrices_are_read_as_numpy_reads_them():
    """`eigh` and `cholesky` look at the lower triangle only, and give NumPy's named tuples."""
    a = ms.Tensor(np.array([[4.0, 9.0], [1.0, 3.0]]))
    f = lambda a: (np.linalg.eigh(a.asnumpy()).eigenvalues, np.linalg.cholesky(a.asnumpy()))
    for x, y in zip(ms.jit(f)(a), f(a), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    assert ms.jit(lambda a: np.linalg.eigh(a.asnumpy()))(a)._fields == ("eigenvalues", "eigenvectors")
