"""NumPy in compiled code: its functions on Tensors, the arrays of `asnumpy`, and calls that run while compiling."""

from __future__ import annotations

import math
import operator
import os
import random
import time

import numpy as np
import pytest
import scipy.linalg

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from autodiff_compiler.primitives.numpy_names import proposal
from tests.agreement import same_text

from .compare import assert_close, assert_same, check

rng = np.random.default_rng(3)
A = rng.uniform(0.5, 2.0, (3, 4))
B = rng.uniform(1.0, 2.0, (2, 3, 4))
C = rng.uniform(1.0, 2.0, (4, 5))
S = rng.uniform(0.5, 2.0, (3, 3)) + 3 * np.eye(3)
P = S @ S.T
V, W = rng.uniform(1.0, 2.0, 3), rng.uniform(1.0, 2.0, 3)
ORDER = np.argsort(A, axis=1)

# Calls of NumPy functions of arrays: every one must mean the same on Tensors.
CALLS = {
    "sum": lambda: (np.sum, (A, 0), {"keepdims": True}),
    "nansum": lambda: (np.nansum, (A, 1), {}),
    "prod": lambda: (np.prod, (A,), {}),
    "mean": lambda: (np.mean, (A,), {"axis": (0, 1)}),
    "nanmean": lambda: (np.nanmean, (A, 0), {}),
    "var": lambda: (np.var, (A, 1), {"ddof": 1}),
    "std": lambda: (np.std, (A,), {}),
    "average": lambda: (np.average, (A, 0), {"weights": V}),
    "average of all": lambda: (np.average, (A,), {"weights": A}),
    "median": lambda: (np.median, (A,), {}),
    "median of an even number": lambda: (np.median, (A, 1), {"keepdims": True}),
    "cumsum": lambda: (np.cumsum, (A,), {}),
    "cumprod": lambda: (np.cumprod, (A, 1), {}),
    "diff": lambda: (np.diff, (A, 2), {}),
    "trapezoid": lambda: (np.trapezoid, (V, W), {}),
    "max": lambda: (np.max, (A, 1), {}),
    "min": lambda: (np.amin, (A,), {}),
    "ptp": lambda: (np.ptp, (A, 0), {}),
    "argmax": lambda: (np.argmax, (A, 1), {}),
    "any": lambda: (np.any, (A > 1, 0), {}),
    "dot of vectors": lambda: (np.dot, (V, W), {}),
    "dot of matrices": lambda: (np.dot, (A, C), {}),
    "dot of a matrix and a vector": lambda: (np.dot, (S, V), {}),
    "dot of blocks": lambda: (np.dot, (B, B.mT), {}),
    "dot of a number": lambda: (np.dot, (2.0, A), {}),
    "vdot": lambda: (np.vdot, (A, A), {}),
    "outer": lambda: (np.outer, (A, V), {}),
    "inner": lambda: (np.inner, (A, A), {}),
    "einsum": lambda: (np.einsum, ("ij,jk->ik", A, C), {}),
    "cross": lambda: (np.cross, (V, W), {}),
    "kron": lambda: (np.kron, (S, V), {}),
    "tensordot": lambda: (np.tensordot, (B, B, ([0, 1], [0, 1])), {}),
    "trace": lambda: (np.trace, (A, 1), {}),
    "where": lambda: (np.where, (A > 1, A, 0.0), {}),
    "clip": lambda: (np.clip, (A, 0.7, 1.5), {}),
    "take": lambda: (np.take, (A, [0, 5]), {}),
    "take along": lambda: (np.take_along_axis, (A, ORDER, 1), {}),
    "sort": lambda: (np.sort, (A, 0), {}),
    "round": lambda: (np.round, (A, 1), {}),
    "isclose": lambda: (np.isclose, (A, A + 1e-9), {}),
    "tril": lambda: (np.tril, (A,), {}),
    "triu": lambda: (np.triu, (A, 1), {}),
    "diag": lambda: (np.diag, (V, -1), {}),
    "diag of a matrix": lambda: (np.diag, (S,), {}),
    "diagonal": lambda: (np.diagonal, (B,), {}),
    "concatenate": lambda: (np.concatenate, ([A, S], 1), {}),
    "concatenate flat": lambda: (np.concatenate, ([A, S], None), {}),
    "stack": lambda: (np.stack, ([A, A], -1), {}),
    "append": lambda: (np.append, (A, V), {}),
    "vstack": lambda: (np.vstack, ([V, W],), {}),
    "hstack": lambda: (np.hstack, ([A, S],), {}),
    "split": lambda: (np.split, (A, 2, 1), {}),
    "array_split": lambda: (np.array_split, (V, 2), {}),
    "reshape": lambda: (np.reshape, (A, (2, -1)), {}),
    "ravel": lambda: (np.ravel, (A,), {}),
    "transpose": lambda: (np.transpose, (B, (1, 0, 2)), {}),
    "moveaxis": lambda: (np.moveaxis, (B, 0, -1), {}),
    "squeeze": lambda: (np.squeeze, (A[None],), {}),
    "flip": lambda: (np.flip, (A,), {}),
    "roll": lambda: (np.roll, (A, (1, 2), (0, 1)), {}),
    "rot90": lambda: (np.rot90, (A, 3), {}),
    "tile": lambda: (np.tile, (V, (2, 2)), {}),
    "repeat": lambda: (np.repeat, (A, 2, 1), {}),
    "pad": lambda: (np.pad, (A, ((1, 0), (0, 2))), {"constant_values": 3.0}),
    "pad by reflection": lambda: (np.pad, (A, (1, 2), "reflect"), {}),
    "pad around": lambda: (np.pad, (V, 1, "wrap"), {}),
    "meshgrid": lambda: (np.meshgrid, (V, W), {"indexing": "ij"}),
    "full_like": lambda: (np.full_like, (A, 3), {}),
    "norm": lambda: (np.linalg.norm, (A,), {}),
    "norm of rows": lambda: (np.linalg.norm, (A,), {"axis": 1}),
    "nuclear norm": lambda: (np.linalg.norm, (A, "nuc"), {}),
    "det": lambda: (np.linalg.det, (S,), {}),
    "slogdet": lambda: (np.linalg.slogdet, (S,), {}),
    "inv": lambda: (np.linalg.inv, (S,), {}),
    "pinv": lambda: (np.linalg.pinv, (A,), {}),
    "solve": lambda: (np.linalg.solve, (S, A), {}),
    "cholesky": lambda: (np.linalg.cholesky, (P,), {}),
    "eigvalsh": lambda: (np.linalg.eigvalsh, (P,), {}),
    "singular values": lambda: (np.linalg.svd, (A,), {"compute_uv": False}),
    "multi_dot": lambda: (np.linalg.multi_dot, ([S, A, C],), {}),
    "power": lambda: (np.linalg.matrix_power, (S, 3), {}),
    "all": lambda: (np.all, (A > 1, 0), {}),
    "argmin": lambda: (np.argmin, (A,), {}),
    "argsort": lambda: (np.argsort, (A, None), {}),
    "broadcast_to": lambda: (np.broadcast_to, (V, (2, 3)), {}),
    "column_stack": lambda: (np.column_stack, ([V, A],), {}),
    "copy": lambda: (np.copy, (A,), {}),
    "count_nonzero": lambda: (np.count_nonzero, (A > 1, 1), {}),
    "dstack": lambda: (np.dstack, ([A, A],), {}),
    "eigh": lambda: (lambda x: np.abs(np.linalg.eigh(x)[1]), (P,), {}),
    "expand_dims": lambda: (np.expand_dims, (A, 1), {}),
    "fliplr": lambda: (np.fliplr, (A,), {}),
    "flipud": lambda: (np.flipud, (A,), {}),
    "matrix norm": lambda: (np.linalg.matrix_norm, (A,), {}),
    "vector norm": lambda: (np.linalg.vector_norm, (A,), {}),
    "matrix_transpose": lambda: (np.matrix_transpose, (B,), {}),
    "nan_to_num": lambda: (np.nan_to_num, (np.array([1.0, np.nan, -np.inf]),), {}),
    "ones_like": lambda: (np.ones_like, (A, np.float32), {}),
    "zeros_like": lambda: (np.zeros_like, (A,), {}),
    "permute_dims": lambda: (np.permute_dims, (B, (2, 0, 1)), {}),
    "qr": lambda: (np.linalg.qr, (A,), {}),
    "searchsorted": lambda: (np.searchsorted, (np.sort(V), W, "right"), {}),
    "sinc": lambda: (np.sinc, (A,), {}),
    "svdvals": lambda: (np.linalg.svdvals, (A,), {}),
    "swapaxes": lambda: (np.swapaxes, (B, 0, 2), {}),
    "shape": lambda: (lambda x: (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1), np.real(x)), (A,), {}),
    "products": lambda: (lambda x, y: (np.linalg.outer(x, y), np.linalg.matmul(x, y)), (V, W), {}),
    "largest": lambda: (lambda x: (np.amax(x, 1), np.min(x)), (A,), {}),
}


def tensors(x):
    if isinstance(x, np.ndarray):
        return ms.Tensor(x)
    return [tensors(v) for v in x] if isinstance(x, list) and isinstance(x[0], np.ndarray) else x


@pytest.mark.parametrize("name", CALLS)
def test_functions_on_tensors_mean_what_they_mean_on_arrays(name):
    function, args, options = CALLS[name]()
    expected = function(*args, **options)
    fixed = [None if isinstance(a, np.ndarray | list) else a for a in args]
    places = [i for i, a in enumerate(args) if tensors(a) is not a]
    weights = {k: tensors(v) for k, v in options.items()}

    def program(*given):
        filled = list(fixed)
        for i, x in zip(places, given):
            filled[i] = x
        for i, a in enumerate(args):
            if filled[i] is None:
                filled[i] = a
        return function(*filled, **weights)

    given = [tensors(args[i]) for i in places]
    found = program(*given)
    assert_close(found, expected, "eager and NumPy", 1e-10)
    assert_same(ms.jit(program)(*given), found, "compiled and eager")


def test_derivatives_pass_through_numpy_functions():
    def f(x, y):
        return np.sum(np.exp(np.dot(x, y)) * np.where(x > 1.0, x, np.sin(x))) + np.linalg.norm(np.einsum("ij->j", y))

    check(f, S, S / 5)


def test_a_result_is_never_a_bare_numpy_scalar():
    t = ms.Tensor(A)
    for function in (np.median, np.std, np.linalg.norm, lambda x: np.percentile(x, 30), np.nanstd):
        assert isinstance(function(t), ms.Tensor)


@pytest.mark.parametrize(
    ("function", "names"), [(np.nanprod, "ops.prod"), (np.percentile, "py_call"), (np.fft.fft, "py_call")]
)
def test_unmapped_functions_propose_what_exists(function, names):
    with pytest.raises(CompileError, match=names) as caught:
        ms.jit(lambda x: function(x, 50) if function is np.percentile else function(x))(ms.Tensor(A))
    assert caught.value.code == "AC1805"
    assert caught.value.spans


def test_no_proposal_names_something_that_does_not_exist():
    functions = [f for f in vars(np).values() if callable(f) and not isinstance(f, type)]
    for f in [*functions, *(f for f in vars(np.linalg).values() if callable(f))]:
        for name in proposal(f).split("`")[1::2]:
            assert hasattr(ms.ops, name.removeprefix("ops.")), f


@pytest.mark.parametrize("source", [lambda x: np.sum(x, where=x > 1), lambda x: np.add.reduce(x)])
def test_forms_that_have_no_counterpart_are_refused(source):
    with pytest.raises(CompileError, match="AC1805"):
        ms.jit(source)(ms.Tensor(A))


# ---------------------------------------------------------------------------------------------------- static calls
def doubled(a):
    return a * 2 + 1


K = np.array([[0.0, 1.0], [2.0, 3.0]])

STATIC = {
    "eye": lambda x: x @ np.eye(2),
    "identity": lambda x: x @ np.identity(2, np.float32),
    "tri": lambda x: x * np.tri(2),
    "iinfo": lambda x: x * np.iinfo(np.int32).max,
    "leggauss": lambda x: x * np.polynomial.legendre.leggauss(2)[0],
    "fftfreq": lambda x: x * np.fft.fftfreq(2),
    "fromfunction": lambda x: x * np.fromfunction(lambda i, j: i + j, (2, 2)),
    "vectorize": lambda x: x * np.vectorize(doubled)(K),
    "toeplitz": lambda x: x * scipy.linalg.toeplitz([1.0, 2.0]),
    "poly1d": lambda x: x * np.poly1d([1, 2])(3.0),
    "polynomial": lambda x: x * np.polynomial.Polynomial([1, 2])(3.0),
    "interp": lambda x: x * np.interp(0.5, [0.0, 1.0], [2.0, 4.0]),
    "math": lambda x: x * math.gcd(12, 18),
}


@pytest.mark.parametrize("name", STATIC)
def test_calls_with_static_arguments_run_while_compiling(name):
    x = ms.Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    assert_same(ms.jit(STATIC[name])(x), STATIC[name](x), name)


FACTOR = 2.0


def scaled(a):
    return a * FACTOR


def test_what_a_function_given_to_numpy_reads_is_guarded(monkeypatch):
    compiled = ms.jit(lambda x: x * np.vectorize(scaled)(K))
    x = ms.Tensor(np.ones((2, 2)))
    np.testing.assert_array_equal(compiled(x).asnumpy(), K * 2.0)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    np.testing.assert_array_equal(compiled(x).asnumpy(), K * 5.0)


@pytest.mark.parametrize(
    "impure",
    [
        lambda x: x * np.random.rand(), lambda x: x * np.random.default_rng(0).normal(), lambda x: x * time.time(),
        lambda x: x * random.randint(1, 3), lambda x: x * len(os.environ.get("PATH", "")),
    ],
)  # fmt: skip
def test_impure_calls_would_be_frozen(impure):
    with pytest.raises(CompileError, match="AC1604"):
        ms.jit(impure)(ms.Tensor(V))


@pytest.mark.parametrize("change", [lambda: K.sort(), lambda: np.copyto(K, 1.0), lambda: np.add(K, 1.0, out=K)])
def test_arrays_are_not_changed_while_compiling(change):
    before = K.copy()
    with pytest.raises(CompileError, match="AC1602"):
        ms.jit(lambda x: (change(), x))(ms.Tensor(V))
    np.testing.assert_array_equal(K, before)


def test_every_call_gets_a_constant_array_of_its_own():
    compiled = ms.jit(lambda x: np.eye(2))
    compiled(ms.Tensor(V))[0, 0] = 7.0
    np.testing.assert_array_equal(compiled(ms.Tensor(V)), np.eye(2))


# ---------------------------------------------------------------------------------------------------- asnumpy
def rows(x):
    total = 0.0
    for row in x.asnumpy():
        total = total + row.sum()
    return total


def kept(x):
    a = x.asnumpy()
    for _ in range(20):
        a = a * 1.5
    return a


def joined(x):
    a = x.asnumpy()
    if a.sum() > 3:
        a = a * 2
    return a


ARRAYS = {
    "itself": lambda x, i: x.asnumpy(),
    "a number": lambda x, i: x.asnumpy() + 1.5,
    "int and float": lambda x, i: i.asnumpy() * 1.5,
    "int division": lambda x, i: i.asnumpy() / 2,
    "float32 and int64": lambda x, i: x.asnumpy()[0, 0] + i.asnumpy(),
    "matmul": lambda x, i: x.asnumpy() @ x.asnumpy(),
    "comparisons": lambda x, i: (x.asnumpy() > 2, (x.asnumpy() > 2).any(), i.asnumpy() == i.asnumpy()),
    "indexing": lambda x, i: (x.asnumpy()[0], x.asnumpy()[0, 1], x.asnumpy()[..., 0], i.asnumpy()[i.asnumpy()[0]]),
    "reductions": lambda x, i: (x.asnumpy().sum(), i.asnumpy().mean(), x.asnumpy().max(axis=0), np.std(x.asnumpy())),
    "shapes": lambda x, i: (x.asnumpy().T, x.asnumpy().reshape(4), x.asnumpy().reshape(1, -1), x.asnumpy().flatten()),
    "attributes": lambda x, i: (x.asnumpy().shape, x.asnumpy().ndim, x.asnumpy().dtype.name, x.asnumpy().size),
    "astype": lambda x, i: (x.asnumpy().astype(np.int32), i.asnumpy().astype("float32")),
    "unary": lambda x, i: (-x.asnumpy(), abs(-x.asnumpy()), ~(x.asnumpy() > 2)),
    "numbers": lambda x, i: (x.asnumpy().sum().item(), float(x.asnumpy()[0, 0]), int(i.asnumpy()[1])),
    "functions": lambda x, i: (np.exp(x.asnumpy()), np.where(x.asnumpy() > 2, x.asnumpy(), 0.0), np.exp(i.asnumpy())),
    "with a Tensor": lambda x, i: (x * x.asnumpy(), x.asnumpy() * x, i * x.asnumpy().sum()),
    "Tensor of it": lambda x, i: (ms.Tensor(x.asnumpy() * 2), ms.Tensor(i.asnumpy(), ms.float16)),
    "Tensor of scalars": lambda x, i: ms.Tensor([x.asnumpy().sum(), 1]),
    "ops": lambda x, i: ms.ops.exp(x.asnumpy()),
    "array of parts": lambda x, i: np.array([x.asnumpy()[0, 0], 2.0]),
    "array of a Tensor": lambda x, i: np.array(x),
    "number of run time": lambda x, i: (np.exp(x.sum().item()), x.sum().item() * x.asnumpy(), K * x.sum().item()),
    "classes": lambda x, i: (
        isinstance(x.asnumpy(), np.ndarray),
        type(x.asnumpy().sum()) is np.float32,
        len(x.asnumpy()),
    ),
    "branch": lambda x, i: x * 2 if x.asnumpy().sum() > 3 else x,
    "rows": lambda x, i: rows(x),
    "loop": lambda x, i: kept(x),
    "join": lambda x, i: joined(x),
    "join with a constant": lambda x, i: x.asnumpy() if x.sum() > 3 else np.zeros((2, 2), np.float32),
    "membership": lambda x, i: (3.0 in x.asnumpy(), 7 in i.asnumpy(), 7 not in i.asnumpy()),
    "scalar types": lambda x, i: (np.float32(x.sum()) * x, np.float64(i.sum().item()), np.int32(i)),
    "builtins": lambda x, i: (max(x.asnumpy()[0]), sum(i.asnumpy()), round(x.asnumpy()[0, 1] * 1.26, 1)),
    "powers": lambda x, i: (x.asnumpy() ** 2, 2 ** i.asnumpy(), divmod(i.asnumpy(), 2), i.asnumpy() % 2),
}


def kinds(x):
    return [kinds(v) for v in x] if isinstance(x, tuple | list) else type(x)


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_follow_numpys_rules(name):
    x, i = ms.Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)), ms.Tensor(np.array([1, 2]))
    expected, found = ARRAYS[name](x, i), ms.jit(ARRAYS[name])(x, i)
    assert kinds(found) == kinds(expected)
    assert_same(found, expected, name)


def test_arrays_have_no_derivative():
    x = ms.Tensor(V)
    f = lambda x: (x * x.asnumpy() + np.exp(np.asarray(x))).sum()
    np.testing.assert_array_equal(ms.grad(f)(x).asnumpy(), V)
    np.testing.assert_array_equal(ms.jit(ms.grad(f))(x).asnumpy(), V)


def test_arrays_are_printed_as_in_eager_code(capsys):
    def f(x):
        print(x.asnumpy(), x.asnumpy().sum(), f"{x.asnumpy()[0]:.2f}")

    f(ms.Tensor(V))
    expected = capsys.readouterr().out
    ms.jit(f)(ms.Tensor(V))
    assert same_text(capsys.readouterr().out, expected)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.asnumpy().tolist(), lambda x: x.asnumpy().sort(), lambda x: x.asnumpy()[x.asnumpy() > 1],
        lambda x: x.tolist(), lambda x: operator.iadd(x.asnumpy(), 1.0), lambda x: x.asnumpy().tobytes(),
    ],
)  # fmt: skip
def test_uses_that_leave_the_graph_are_refused(program):
    with pytest.raises(CompileError, match="AC1801"):
        ms.jit(program)(ms.Tensor(V))


def test_a_tensor_is_not_written_behind_its_array():
    def f(x):
        y = x * 1.0
        a = y.asnumpy()
        y[0] = 7.0
        return a

    with pytest.raises(CompileError, match=r"AC1602.*asnumpy"):
        ms.jit(f)(ms.Tensor(V))
    w = ms.Parameter(ms.Tensor(V), name="w")

    def g(x):
        a = w.asnumpy()
        ms.ops.assign(w, x)
        return a

    with pytest.raises(CompileError, match=r"AC1606.*asnumpy"):
        ms.jit(g)(ms.Tensor(V))


def test_a_list_of_tensors_is_no_data_in_either_mode():
    f = lambda x: ms.Tensor([x.sum(), x.mean()])
    texts = []
    for run in (f, ms.jit(f)):
        with pytest.raises(TypeError, match=r"ops\.stack") as caught:
            run(ms.Tensor(V))
        texts.append(str(caught.value.args[0]))
    assert texts[0] == texts[1]
    assert_same(
        ms.jit(lambda x: ms.Tensor([x.sum().item(), 1]))(ms.Tensor(V)), ms.Tensor([float(V.sum()), 1]), "numbers"
    )


def test_a_tensor_of_a_tensor_is_detached_in_either_mode():
    f = lambda x: (ms.Tensor(x) * x).sum()
    for g in (ms.grad(f), ms.jit(ms.grad(f))):
        np.testing.assert_array_equal(g(ms.Tensor(V)).asnumpy(), V)
