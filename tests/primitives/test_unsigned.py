"""uint16, uint32 and uint64: NumPy's arithmetic, MindSpore's widening to floats."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.dtypes import BY_NAME, dtype_of, promote

UNSIGNED = ("uint16", "uint32", "uint64")
RNG = np.random.default_rng(5)


def pair(dtype):
    """Operands over the whole range, with both ends."""
    most = np.iinfo(dtype).max
    x = np.append(RNG.integers(0, most, 5, dtype=dtype, endpoint=True), np.array([0, 1, most, most], dtype))
    y = np.append(RNG.integers(1, most, 5, dtype=dtype, endpoint=True), np.array([most, 7, most, 3], dtype))
    return x, y


def same(found, expected):
    found = found.asnumpy()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_),
    *(operator.xor, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
]


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_arithmetic_is_numpys(dtype):
    x, y = pair(dtype)
    for op in BINARY:
        for run in (op, ms.jit(lambda x, y, op=op: op(x, y))):
            same(run(Tensor(x), Tensor(y)), op(x, y))
    for ours, theirs in ((operator.neg, np.negative), (operator.invert, np.invert), (abs, np.abs),
                         (ops.square, np.square), (ops.sign, np.sign)):  # fmt: skip
        for run in (ours, ms.jit(lambda x, ours=ours: ours(x))):
            same(run(Tensor(x)), theirs(x))
    same(ops.maximum(Tensor(x), Tensor(y)), np.maximum(x, y))
    same(Tensor(x) + 3, x + np.array(3, dtype))
    same(ops.bitwise_right_shift(Tensor(x), 5), x >> np.array(5, dtype))
    same(ops.bitwise_left_shift(Tensor(x), 5), x << np.array(5, dtype))


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_sorting_and_reducing(dtype):
    x, _ = pair(dtype)
    most = np.iinfo(dtype).max
    many = RNG.integers(most - 1000, most, 2000, dtype=dtype)  # sorted by keys, some greater than any int64
    for values in (x, many):
        same(ops.sort(Tensor(values))[0], np.sort(values))
        same(ops.sort(Tensor(values), descending=True)[0], np.sort(values)[::-1])
        np.testing.assert_array_equal(ops.argsort(Tensor(values)).asnumpy(), np.argsort(values, kind="stable"))
        same(ops.topk(Tensor(values), 3)[0], np.sort(values)[::-1][:3])
    wide = np.uint64 if dtype == "uint64" else np.int64  # an int64 would lose the upper half
    for run in (lambda x: (x.max(), x.min(), x.sum(), x.prod(), ops.cumsum(x, 0)),
                ms.jit(lambda x: (x.max(), x.min(), x.sum(), x.prod(), ops.cumsum(x, 0)))):  # fmt: skip
        greatest, least, total, product, running = run(Tensor(x))
        same(greatest, x.max())
        same(least, x.min())
        same(total, x.sum(dtype=wide))
        same(product, x.prod(dtype=wide))
        same(running, x.cumsum(dtype=dtype))
    np.testing.assert_allclose(Tensor(x).mean().asnumpy(), sum(map(int, x)) // len(x))
    same(Tensor(x).sum(dtype=ms.uint16), x.sum(dtype=np.uint16))


@pytest.mark.parametrize("a", [*UNSIGNED, "uint8", "int8", "int16", "int32", "int64", "bool"])
@pytest.mark.parametrize("b", UNSIGNED)
def test_integers_meet_as_in_numpy(a, b):
    known = np.promote_types(a, b)
    for x, y in ((a, b), (b, a)):
        assert promote(BY_NAME[x], BY_NAME[y]).numpy == known
        for run in (operator.add, ms.jit(lambda x, y: x + y)):
            assert run(Tensor([1], x), Tensor([1], y)).asnumpy().dtype == known


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_floats_numbers_and_casts(dtype):
    x = Tensor([3, 200], dtype)
    for other in ("float16", "bfloat16", "float32", "float64"):
        assert (x + Tensor([1.0], other)).dtype is BY_NAME[other]
    assert (x / x).dtype is ms.float32
    assert (x + 1.5).dtype is ms.float32
    assert (x * True).dtype is BY_NAME[dtype]
    for run in (lambda x: x + -1, ms.jit(lambda x: x + -1)):
        with pytest.raises(OverflowError, match=f"-1 does not fit in {dtype}"):
            run(x)
    for run in (lambda x: x.astype(dtype), ms.jit(lambda x: x.astype(dtype))):
        same(run(Tensor([2.7, 300.2])), np.array([2, 300], dtype))
        same(run(Tensor([-1])), np.array([-1]).astype(dtype))
    grad = ms.grad(lambda x, y: (x * y).sum(), (0, 1))(x, Tensor([2.0, 3.0]))
    assert [g.dtype for g in grad] == [BY_NAME[dtype], ms.float32]  # a gradient has its input's dtype
    assert [g.tolist() for g in grad] == [[2, 3], [3.0, 200.0]]


def test_the_greatest_numbers():
    most = 2**64 - 1
    assert Tensor(most, ms.uint64).item() == most
    assert Tensor([most, 1], "uint64").tolist() == [most, 1]
    for run in (lambda x: (x, x - 1, x // 2), ms.jit(lambda x: (x, x - 1, x // 2))):
        assert [t.item() for t in run(Tensor(most, ms.uint64))] == [most, most - 1, most // 2]
    for data in (2**63, [2**63, 1]):
        with pytest.raises(TypeError, match="do not fit in int64"):
            Tensor(data)
    with pytest.raises(TypeError, match="out of bounds"):
        Tensor([2**63, -1])
    assert Tensor([2.0**63, 1.0]).dtype is ms.float32


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_names_and_texts(dtype):
    ours = getattr(ms, dtype)
    assert (repr(ours), str(ours)) == (f"autodiff_compiler.{dtype}", "UInt" + dtype[4:])
    assert dtype_of(dtype) is dtype_of(np.dtype(dtype)) is dtype_of(getattr(np, dtype)) is ours
    assert pickle.loads(pickle.dumps(ours)) is copy.deepcopy(ours) is ours
    x = Tensor([1, 20], dtype)
    assert str(x) == "[ 1 20]"
    assert repr(x) == f"Tensor(shape=[2], dtype=UInt{dtype[4:]}, value= [ 1, 20])"
    assert x[Tensor([1], dtype)].tolist() == [20]  # as indices
    assert f"u{dtype[4:]}[2]" in ms.jit(lambda x: x + x).lower(x).ir("front")
