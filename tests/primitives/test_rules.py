"""Every primitive against its own samples: types, kernels, derivatives of order 1 and 2, errors, kinks."""

from __future__ import annotations

import contextlib
import inspect

import numpy as np
import pytest

from autodiff_compiler import eager
from autodiff_compiler.dtypes import bfloat16, bool_, dtype_of, float16, float32, float64, from_numpy, int32, int64
from autodiff_compiler.errors import CompileError
from autodiff_compiler.ir.build import current
from autodiff_compiler.ir.primitive import METHODS, REGISTRY, F, kernel_of
from autodiff_compiler.ir.sizes import symbol
from autodiff_compiler.ir.types import Dim, tensor
from autodiff_compiler.primitives.samples import Draw
from autodiff_compiler.runtime.tensor import Tensor

#: What backends, `autodiff` and `passes` treat themselves, and so test themselves.
WITHOUT_SAMPLES = {
    "as_size", "assert", "bind_size", "broadcast_size", "call", "check_sizes", "const", "custom_vjp", "first_places",
    "from_seq", "grad", "grad_map", "host_call", "if", "places", "print", "raise", "repeated_places", "scan", "seq_add",
    "seq_len", "state_read", "state_write", "stop_gradient", "to_seq", "tuple_get", "tuple_make", "undef", "while",
    "with_sizes", "zeros_of",
    # they need several processes: tests/distributed
    "barrier", "begin_all_reduce", "end_all_reduce", "exchange", "receive_from", "send_to",
}  # fmt: skip


def _split(sample):
    *operands, attrs = sample if isinstance(sample[-1], dict) else (*sample, {})
    return [np.asarray(x) for x in operands], attrs


def _all_samples():
    for name, defn in sorted(REGISTRY.items()):
        if defn.samples is not None:
            for i, sample in enumerate(defn.samples(Draw())):
                yield pytest.param(defn, *_split(sample), id=f"{name}-{i}")


SAMPLES = list(_all_samples())


def _listed(what):
    for name, defn in sorted(REGISTRY.items()):
        for i, case in enumerate(getattr(defn, what)):
            yield pytest.param(defn, *case, id=f"{name}-{i}")


def _type_of(array):
    return tensor(from_numpy(array.dtype), array.shape)


def _results(defn, operands, attrs):
    """What the kernel computes, as a list."""
    out = kernel_of(defn)(*operands, **attrs)
    return list(out) if defn.multiple else [out]


def _apply(defn, attrs):
    return lambda *xs: getattr(F, defn.name)(*xs, **attrs)


# ------------------------------------------------------------------------------------------------ completeness
def test_every_primitive_has_a_docstring():
    assert [name for name, defn in REGISTRY.items() if not inspect.getdoc(defn)] == []


def test_every_primitive_with_a_kernel_has_samples_and_error_samples():
    computed = {name for name, defn in REGISTRY.items() if defn.numpy is not None or defn.scalar is not None}
    assert {n for n in computed if REGISTRY[n].samples is None} <= WITHOUT_SAMPLES
    never_refuse = {"abs", "cast", "iota", "size_value"}
    assert {n for n in computed if not REGISTRY[n].errors} - WITHOUT_SAMPLES == never_refuse


def test_every_differentiable_primitive_has_a_float_sample():
    for name, defn in REGISTRY.items():
        if defn.vjp is not None and name not in WITHOUT_SAMPLES | {"check_exponent", "check_index", "int_pow"}:
            drawn = [_split(s)[0] for s in defn.samples(Draw())]
            assert any(x.dtype == np.float64 for xs in drawn for x in xs), name


def test_reflected_operators_take_the_right_operand_first():
    seven, two = Tensor(7), Tensor(2)
    assert METHODS["__rsub__"](two, seven).item() == 5
    assert METHODS["__rfloordiv__"](two, seven).item() == 3
    assert METHODS["__rpow__"](two, seven).item() == 49
    assert METHODS["__rshift__"](seven, two).item() == 1


# ------------------------------------------------------------------------------------------------ types and kernels
@pytest.mark.parametrize(("defn", "operands", "attrs"), SAMPLES)
def test_the_kernel_makes_the_inferred_type(defn, operands, attrs):
    for dtype in (float64, float32, float16, bfloat16, int64, int32, bool_):
        _assert_inferred(defn, operands, attrs, dtype)


def _assert_inferred(defn, operands, attrs, dtype):
    if dtype.is_float:
        operands = [x.astype(dtype.numpy) if x.dtype == np.float64 else x for x in operands]
    elif all(x.dtype == np.float64 for x in operands):
        operands = [np.ceil(np.abs(x)).astype(dtype.numpy) for x in operands]
    attrs = {name: dtype_of(v) if name == "dtype" else v for name, v in attrs.items()}
    canonical = defn.attrs_of(attrs)
    try:
        expected = defn.infer_types(tuple(map(_type_of, operands)), canonical)
    except CompileError:
        assert not dtype.is_float, "every op of floats takes all float dtypes"
        return
    before = [x.copy() for x in operands]
    with np.errstate(all="ignore"):
        results = _results(defn, operands, dict(zip(defn.schema, canonical, strict=True)))
    assert all(isinstance(r, np.ndarray | np.generic) for r in results)
    assert tuple(map(_type_of, results)) == expected, dtype
    for x, old in zip(operands, before, strict=True):
        np.testing.assert_array_equal(x, old)


@pytest.mark.parametrize(("defn", "operands", "attrs"), SAMPLES)
def test_narrow_floats_are_as_exact_as_their_dtype(defn, operands, attrs):
    """The bfloat16 result is that of float64 on the same numbers, up to a few roundings of one operation."""
    if not any(x.dtype == np.float64 for x in operands) or attrs.get("dtype") or defn.name in {"mod", "floordiv"}:
        return
    canonical = dict(zip(defn.schema, defn.attrs_of(attrs), strict=True))
    narrow = [x.astype(bfloat16.numpy) if x.dtype == np.float64 else x for x in operands]
    wide = [x.astype(np.float64) if x.dtype == bfloat16.numpy else x for x in narrow]
    with np.errstate(all="ignore"):
        pairs = list(zip(_results(defn, narrow, canonical), _results(defn, wide, canonical), strict=True))
    for got, expected in pairs:
        if expected.dtype == np.float64:
            np.testing.assert_allclose(np.asarray(got, np.float64), expected, rtol=2**-6, atol=2**-9)
        else:
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("defn", "types", "attrs", "text"), list(_listed("errors")))
def test_what_does_not_fit_is_refused(defn, types, attrs, text):
    with pytest.raises(CompileError) as caught:
        defn.infer_types(types, defn.attrs_of(attrs))
    assert text in caught.value.message


@pytest.mark.parametrize(("defn", "types", "attrs", "text"), list(_listed("errors")))
def test_eager_mode_refuses_it_after_calls_that_fit(defn, types, attrs, text):
    """The kernels of most would compute something; that such dtypes were right once says nothing of this call."""
    if defn.name in WITHOUT_SAMPLES or any(type(d) is Dim for t in types for d in t.shape):
        return
    for sample in defn.samples(Draw()):
        operands, fitting = _split(sample)
        for dtype in {t.dtype for t in types}:
            xs = [Tensor(x.astype(dtype.numpy) if x.dtype == np.float64 else x) for x in operands]
            with contextlib.suppress(CompileError):
                _apply(defn, fitting)(*xs)
    with pytest.raises(CompileError) as caught:
        _apply(defn, attrs)(*[Tensor(np.zeros(t.shape, t.dtype.numpy)) for t in types])
    stretched = defn.scalar is not None and text == "shapes differ"  # eager formulas broadcast where they can
    assert ("do not broadcast" if stretched else text) in caught.value.message


def test_attributes_are_not_rounded():
    x = Tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="integer"):
        F.argmax(x, axis=-1.0)
    with pytest.raises(TypeError, match="integer"):
        F.expand_dims(x, axes=(-1.5,))
    assert F.argmax(x, axis=np.int64(-1)).item() == 1


def test_a_leading_symbolic_dimension_passes_through():
    batch = symbol("B")
    x, w = tensor(float32, (batch, 3)), tensor(float32, (batch, 3, 2))
    kept = {"tanh": {}, "relu": {}, "sign": {}, "softmax": {"axis": -1}, "log_softmax": {"axis": -1}}
    for name, attrs in kept.items():
        defn = REGISTRY[name]
        assert defn.infer_types((x,), defn.attrs_of(attrs)) == (x,)
    for name in ("add", "sub", "mul", "div", "pow", "maximum"):
        assert REGISTRY[name].infer_types((x, x), ()) == (x,)

    def shape(name, *types, **attrs):
        defn = REGISTRY[name]
        return defn.infer_types(types, defn.attrs_of(attrs))[0].shape

    assert shape("sum", x, axes=(-1,)) == (batch,)
    assert shape("max", x, axes=(-1,), keepdims=True) == (batch, 1)
    assert shape("matmul", w, tensor(float32, (batch, 2, 5))) == (batch, 3, 5)
    assert shape("transpose", w, axes=(-3, -1, -2)) == (batch, 2, 3)
    assert shape("expand_dims", x, axes=(-2,)) == (batch, 1, 3)
    assert shape("reshape", w, shape=(batch, 6)) == (batch, 6)
    assert shape("broadcast_to", tensor(float32, (3,)), shape=(batch, 3)) == (batch, 3)
    assert shape("concat", x, x, axis=-1) == (batch, 6)
    assert shape("slice", x, axes=(-1,), starts=(0,), stops=(2,), steps=(1,)) == (batch, 2)
    assert shape("gather", x, tensor(int64, (4,)), axis=-1) == (batch, 4)
    assert shape("shape_of", x, axis=-2) == ()
    with pytest.raises(CompileError, match="shapes differ"):
        REGISTRY["add"].infer_types((x, tensor(float32, (symbol("C"), 3))), ())


# ------------------------------------------------------------------------------------------------ derivatives
def _float_positions(operands):
    return [i for i, x in enumerate(operands) if x.dtype == np.float64]


def _closed(defn, attrs, operands):
    """The op as a function of its float operands."""
    at = _float_positions(operands)

    def fn(*floats):
        xs = [Tensor(x) if isinstance(floats[0], Tensor) else _constant(x) for x in operands]
        for i, x in zip(at, floats, strict=True):
            xs[i] = x
        return _apply(defn, attrs)(*xs)

    return fn, [operands[i] for i in at]


def _constant(array):
    return current().array(array, _type_of(array))


def _raw(x):
    return np.asarray(x.asnumpy() if isinstance(x, Tensor) else x, np.float64)


def _dot(xs, ys):
    return sum(float(np.sum(_raw(x) * _raw(y))) for x, y in zip(xs, ys, strict=True))


def _slope(f, xs, directions, h=1e-5):
    """Central difference of f (a list of arrays to a list of arrays) along the directions."""
    high, low = (f([x + s * h * u for x, u in zip(xs, directions, strict=True)]) for s in (1, -1))
    return [(_raw(a) - _raw(b)) / (2 * h) for a, b in zip(high, low, strict=True)]


def _differentiable():
    for p in SAMPLES:
        defn, operands, attrs = p.values
        # What random_gamma draws moves with alpha otherwise than by its quantile: test_random_classes.py.
        own = defn.name in {"check_index", "random_gamma"}
        if defn.vjp is not None and _float_positions(operands) and not own:
            results = defn.infer_types(tuple(map(_type_of, operands)), defn.attrs_of(attrs))
            if all(r.dtype is float64 for r in results):
                yield p


@pytest.mark.parametrize(("defn", "operands", "attrs"), list(_differentiable()))
def test_derivatives_of_order_one_and_two_match_differences(defn, operands, attrs, graph):
    fn, xs = _closed(defn, attrs, operands)
    draw, n = Draw(1), len(xs)

    def values(*points):
        out = fn(*points)
        return list(out) if defn.multiple else [out]

    def value(arrays):
        return values(*map(Tensor, arrays))

    vs = [draw(*y.shape) for y in value(xs)]

    def first(arrays):  # operands and the cotangents of the results to the operands' cotangents
        ts = list(map(Tensor, arrays))
        return eager.vjp(fn, ts[:n])[1](ts[n:])

    us = [draw(*x.shape) for x in xs]
    order1 = first([*xs, *vs])
    assert _dot(us, order1) == pytest.approx(_dot(vs, _slope(value, xs, us)), rel=1e-6, abs=1e-7)

    def second(arrays):  # ... and the cotangents `us` of those back to operands and cotangents
        return eager.vjp(lambda *ts: tuple(eager.vjp(fn, ts[:n])[1](list(ts[n:]))), list(map(Tensor, arrays)))[1](
            [Tensor(u) for u in us]
        )

    ws = [draw(*x.shape) for x in (*xs, *vs)]
    order2 = second([*xs, *vs])
    assert _dot(ws, order2) == pytest.approx(_dot(us, _slope(first, [*xs, *vs], ws)), rel=1e-6, abs=1e-7)

    def both_orders(*given):
        b = current()
        points = list(given[:n])
        gs = graph.pull(b, values(*points), list(given[n:]), points)
        gs = [b.zeros(x.type) if h is None else h for x, h in zip(points, gs, strict=True)]
        hs = graph.pull(b, gs, [_constant(u) for u in us], list(given))
        return *gs, *(b.zeros(x.type) if h is None else h for x, h in zip(given, hs, strict=True))

    for got, expected in zip(graph.run(both_orders, *xs, *vs), [*order1, *order2], strict=True):
        np.testing.assert_allclose(got, expected.asnumpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("defn", "operands", "attrs", "expected"), list(_listed("ties")))
def test_values_at_kinks(defn, operands, attrs, expected, graph):
    operands = [np.asarray(x) for x in operands]
    fn, xs = _closed(defn, attrs, operands)
    wanted = [e for e in expected if e is not None]
    out, pullback = eager.vjp(fn, [Tensor(x) for x in xs])
    for got, e in zip(pullback([Tensor(np.ones(out.shape))]), wanted, strict=True):
        np.testing.assert_allclose(got.asnumpy(), e, rtol=1e-15)

    def pulled(*values):
        y = fn(*values)
        return graph.pull(current(), [y], [current().const(1, y.type)], list(values))

    for got, e in zip(graph.run(pulled, *xs), wanted, strict=True):
        np.testing.assert_allclose(got, e, rtol=1e-15)


def test_a_cotangent_of_a_broadcast_operand_is_summed_by_the_tape():
    x, y = Tensor(np.arange(3.0).reshape(3, 1)), Tensor(np.arange(4.0))
    _, (dx, dy), _ = eager.differentiate(lambda x, y: F.maximum(F.mul(x, y), F.select(F.less(x, y), x, y)), [x, y])
    assert dx.shape == (3, 1)
    assert dy.shape == (4,)


def test_an_integer_operand_gets_its_cotangent_through_the_cast():
    x = Tensor(np.array([1, 2], np.int32))
    _, (dx,), _ = eager.differentiate(lambda x: (x * Tensor([2.5, 3.5])).sum(), [x])
    assert dx.dtype is int32
    assert dx.tolist() == [2, 3]


def test_float16_sums_do_not_saturate():
    ones = np.ones(5000)
    assert float(kernel_of(REGISTRY["sum"])(ones.astype(bfloat16.numpy), axes=(-1,), keepdims=False)) == 4992.0
    assert float(kernel_of(REGISTRY["sum"])(ones.astype(float16.numpy), axes=(-1,), keepdims=False)) == 5000.0
