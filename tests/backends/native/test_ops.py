"""Machine code against the NumPy kernels: every primitive with samples, forward and adjoint, in all dtypes it takes."""

from __future__ import annotations

import re
from unittest import mock

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native.jit import engine
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import DType, bfloat16, bool_, float16, float32, float64, int32, int64, uint8
from autodiff_compiler.inspection.samples import forward, samples_of
from autodiff_compiler.primitives import REGISTRY, F
from tests.backends.native.sampled import (
    DTYPES,
    WITH_SAMPLES,
    assert_like_numpy,
    module_for,
    modules_of,
    native,
    vectors_of,
)
from tests.backends.sampled_modules import adjoint, of_views
from tests.selection import is_long, one_in

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

#: Of the dtypes those whose machine code is of its own kind; the others are as wide, or have the other sign.
COMMON = (float32, float64, float16, int32, bool_)
#: What moves, chooses, counts or compares elements: nothing is rounded, so every bit must be NumPy's.
EXACT = frozenset(
    "gather take_along_axis one_hot scatter_update scatter_max scatter_min check_index cummax cummin argmax "
    "argmin tril triu iota eye pad extend roll repeat_elements diagonal diag_embed kept bitcast windows max_pool "
    "max_pool_index random_uniform random_integers mod fmod floordiv gcd lcm int_pow nextafter population_count "
    "max min any all count transpose reshape slice slice_update concat stack broadcast_to select maximum minimum "
    "add sub mul div sqrt abs neg cumsum cumprod linear_recurrence sum_windows window_sum window_spread "
    "add_along_axis scatter_add scatter_mul shape_of sign floor ceil trunc round".split()
)


@pytest.fixture(params=[64, 32], ids=lambda n: f"{n} bytes")
def vectors(request):
    with vectors_of(request.param):
        yield request.param


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_a_primitive_is_what_its_numpy_kernel_is(name: str) -> None:
    """Without ``--long`` float32 is compiled as users have it, half of the others at level 0, which is faster."""
    if is_long():
        is_what_its_numpy_kernel_is(name, DTYPES)
    else:
        others = tuple(dtype for dtype in COMMON[1:] if one_in(2, f"{name} {dtype.name}"))
        is_what_its_numpy_kernel_is(name, (float32, *others), plain=others)


@pytest.mark.some(6)
@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_a_primitive_is_that_on_processors_with_shorter_vectors(name: str) -> None:
    with vectors_of(32):
        is_what_its_numpy_kernel_is(name, (float32,))


def is_what_its_numpy_kernel_is(name: str, dtypes: tuple[DType, ...], plain: tuple[DType, ...] = ()) -> None:
    ran = set()
    for what, dtype, module, arrays in modules_of(name, dtypes):
        exact = what == "forward" and name in EXACT
        if name == "check_index" and any(x.dtype.kind == "u" for x in arrays):
            arrays = [x % module.entry.body.ops[0].attr("size") for x in arrays]  # the samples count from the end
        with mock.patch.object(engine, "LARGE", 0 if dtype in plain else engine.LARGE):
            assert_like_numpy(module, arrays, f"{what} of {name} at {dtype.name}", exact=exact)
        ran.add((what, dtype))
    assert ("forward", float32) in ran


@pytest.mark.some(4)
@pytest.mark.parametrize("name", [n for n in WITH_SAMPLES if REGISTRY[n].operand_names or REGISTRY[n].variadic])
def test_operands_may_be_views(name: str) -> None:
    for dtype in (float32, int64):
        for xs, attrs in samples_of(REGISTRY[name], dtype):
            made = of_views(REGISTRY[name], xs, attrs)
            if made is not None:
                assert_like_numpy(*made, f"{name} of views")


@pytest.mark.parametrize("name", [n for n in WITH_SAMPLES if REGISTRY[n].ties])
def test_derivatives_at_ties_are_the_closed_forms(name: str) -> None:
    for operands, attrs, expected in REGISTRY[name].ties:
        xs = [np.asarray(x, np.float64) if np.asarray(x).dtype.kind == "f" else np.asarray(x) for x in operands]
        made = adjoint(REGISTRY[name], xs, attrs)
        assert made is not None
        module, arrays = made
        found = native(module)(*xs, *[np.ones_like(g) for g in arrays[len(xs) :]])
        wanted = [np.asarray(e) for e in expected if e is not None]
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------------------------------------ numbers
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 3e4, -3e4, 1e-7, 2.0, -3.5])
#: Elementwise functions: those whose type rule takes operands of one float type and no attributes.
ELEMENTWISE = [n for n in WITH_SAMPLES if REGISTRY[n].scalar and not REGISTRY[n].schema]


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", [float32, float64, float16, bfloat16], ids=lambda d: d.short)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_special_numbers(name: str, dtype, vectors: int) -> None:
    """Pairs of nan, infinities, zeros and numbers give what NumPy gives."""
    defn = REGISTRY[name]
    grid = np.meshgrid(*[SPECIAL] * len(defn.operand_names))
    xs = [x.reshape(-1).astype(dtype.numpy) for x in grid]
    xs = [x.astype(bool) if name in {"select", "kept"} and i == 0 else x for i, x in enumerate(xs)]
    made = forward(defn, xs, {})
    if made is not None:
        assert_like_numpy(*made, name, exact=name in EXACT)


@pytest.mark.parametrize("name", ["mod", "fmod", "floordiv", "nextafter"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_remainders_of_all_sizes_of_numbers(name: str, dtype) -> None:
    """Random bit patterns: quotients of any size, subnormal numbers; every bit and sign is NumPy's."""
    rng = np.random.default_rng(3)
    xs = [rng.integers(0, 256, 40_000 * np.dtype(dtype).itemsize, np.uint8).view(dtype) for _ in range(2)]
    module = module_for(lambda x, y: getattr(F, name)(x, y), *xs)
    (got,) = native(module)(*xs)
    ufunc = {"mod": np.remainder, "floordiv": np.floor_divide}.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        wanted = ufunc(*xs)
    np.testing.assert_array_equal(got, wanted)
    real = wanted == wanted
    np.testing.assert_array_equal(np.signbit(got[real]), np.signbit(wanted[real]))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint32, np.float32, np.float64])
def test_casts_to_16_bits_round_as_numpy_does(dtype, vectors: int) -> None:
    """Numbers beside the middle of two: to float16 rounded once, to bfloat16 by way of float32 as ml_dtypes does."""
    if np.issubdtype(dtype, np.integer):
        # 2**60 + 2**52 is such a middle for bfloat16; what lies above it, float32 sees, but not by way of float64
        middles = [2049, 65519, 65520, 2**24 + 2**16, 2**31 - 2**23, 2**60 + 2**52, 2**60 + 2**52 + 2**36]
        near = [m + d for m in middles for d in (-1, 0, 1)]
        x = np.array([v for v in near if v <= np.iinfo(dtype).max], dtype)
        x = x if np.iinfo(dtype).min == 0 else np.concatenate([x, -x])
    else:
        middles = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-8, 65520.0, 2.0**-25, 1.5 * 2.0**-24])
        x = np.concatenate([middles * (1 + d) for d in (0, 2.0**-52, -(2.0**-52), 2.0**-30, 2.0**-22)]).astype(dtype)
    got = native(module_for(lambda v: [F.cast(v, dtype=float16), F.cast(v, dtype=bfloat16)], x))(x)
    with np.errstate(over="ignore"):
        wanted = x.astype(np.float16), x.astype(np.float32).astype(bfloat16.numpy)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a.view(np.uint16), b.view(np.uint16))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i8", "u8"])
@pytest.mark.parametrize(
    "name", ["mod", "fmod", "floordiv", "gcd", "lcm", "int_pow", "left_shift", "right_shift", "sign"]
)
def test_integers_at_their_ends(name: str, dtype: str) -> None:
    info = np.iinfo(dtype)
    ends = np.unique(np.array([info.min, info.min // 2, 0, 1, 2, 3, 7, info.max // 2, info.max - 1, info.max], dtype))
    if info.min:
        ends = np.union1d(ends, np.array([-1, -2, -3, -7], dtype))
    n = len(REGISTRY[name].operand_names)
    xs = [x.reshape(-1) for x in np.meshgrid(*[ends] * n)]
    module = module_for(lambda *vs: getattr(F, name)(*vs), *xs)
    assert_like_numpy(module, xs, name, exact=True)


# ------------------------------------------------------------------------------------------------ reductions
SHAPES = [
    (1,),
    (7,),
    (1, 5),
    (5, 1),
    (3, 4),
    (17, 33),
    (33, 17),
    (2, 3, 4),
    (4, 1, 6),
    (3, 70, 5),
    (0, 3),
    (3, 0),
    (2, 0, 3),
]


@pytest.mark.some(5)
@pytest.mark.parametrize("dtype", [float32, float64, float16, int64, uint8, bool_], ids=lambda d: d.short)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_of_all_axes(shape, dtype, vectors: int) -> None:
    rng = np.random.default_rng(5)
    x = (rng.standard_normal(shape) * 3).astype(dtype.numpy)
    if dtype.is_float and x.size > 3:
        x.reshape(-1)[rng.integers(0, x.size, 2)] = np.nan
    subsets = [
        s for n in range(1, 1 << len(shape)) if (s := tuple(a - len(shape) for a in range(len(shape)) if n >> a & 1))
    ]

    def build(v):
        found = []
        for axes in subsets:
            some = all(shape[a] for a in axes)
            names = [n for n, ok in (("sum", dtype not in (uint8, bool_)), ("max", some), ("min", some)) if ok]
            names += ["any", "all"] if dtype is bool_ else []
            for name in names:
                found += [getattr(F, name)(v, axes=axes, keepdims=k) for k in (False, True)]
            if len(axes) == 1 and some:
                found += [F.argmax(v, axis=axes[0], keepdims=False), F.argmin(v, axis=axes[0], keepdims=True)]
            if len(axes) == 1 and dtype not in (uint8, bool_):
                found += [F.prod(v, axis=axes[0], keepdims=False), F.cumsum(v, axis=axes[0])]
        return found

    assert_like_numpy(module_for(build, x), [x], f"reductions of {shape}")


def test_the_first_of_equal_elements_and_the_first_nan(vectors: int) -> None:
    rng = np.random.default_rng(6)
    for dtype in (np.float32, np.float64, np.int32, bool):
        x = rng.integers(0, 3, (40, 37)).astype(dtype)
        if x.dtype.kind == "f":
            x[::3, 5::7] = np.nan
            x[1::3, ::5] = -0.0
        module = module_for(lambda v: [getattr(F, n)(v, axis=a) for n in ("argmax", "argmin") for a in (-1, -2)], x)
        program = assert_like_numpy(module, [x], "argmax", exact=True)
        assert "call_host" not in program.source


def test_narrow_floats_are_summed_as_wide_ones(vectors: int) -> None:
    x = np.ones((4096, 8), np.float16)
    module = module_for(lambda v: [F.sum(v, axes=a) for a in ((-2,), (-2, -1))] + [F.cumsum(v, axis=-2)], x)
    columns, whole, running = native(module)(x)
    assert (columns == 4096).all()
    assert whole == 32768
    assert (running[-1] == 4096).all()


# ------------------------------------------------------------------------------------------------ places
def _index_cases():
    rng = np.random.default_rng(7)
    for shape, axis in (
        ((6,), -1),
        ((5, 3), -2),
        ((5, 3), -1),
        ((4, 40), -2),
        ((2, 5, 3), -2),
        ((3, 200), -1),
        ((9, 130), -2),
    ):
        size = shape[axis]
        for index_shape in ((), (1,), (4,), (2, 3), (0,)):
            yield rng.standard_normal(shape), rng.integers(0, size, index_shape), axis


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", [float32, float64, float16, bfloat16, int32, uint8], ids=lambda d: d.short)
def test_gathering_and_scattering_slices(dtype, vectors: int) -> None:
    for x, index, axis in _index_cases():
        x = (4 * x).astype(dtype.numpy)
        taken = np.asarray(np.take(x, index, axis))
        updates = (taken + np.arange(taken.size).reshape(taken.shape) % 5).astype(x.dtype)
        names = [f"scatter_{name}" for name in ("add", "update", "max", "min", "mul")]

        def build(v, i, u):
            return F.gather(v, i, axis=axis), *[getattr(F, name)(v, i, u, axis=axis) for name in names]

        arrays = [x, index, updates]
        program = assert_like_numpy(module_for(build, *arrays), arrays, f"{x.shape} {index.shape} {axis}", exact=True)
        assert "call_host" not in program.source


@pytest.mark.parametrize("axis", [-1, -2, -3])
def test_elements_along_an_axis(axis: int, vectors: int) -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((4, 5, 6)).astype(np.float32)
    shape = [4, 5, 6]
    shape[axis] = 7
    index = rng.integers(0, x.shape[axis], shape)
    updates = rng.standard_normal(shape).astype(np.float32)

    def build(v, i, u):
        turned = F.transpose(v, axes=(-1, -2, -3))
        back = F.transpose(turned, axes=(-1, -2, -3))
        return (
            F.take_along_axis(back, i, axis=axis), F.add_along_axis(back, i, u, axis=axis),
            F.add_along_axis(v, i, F.take_along_axis(v, i, axis=axis), axis=axis),
        )  # fmt: skip

    assert_like_numpy(module_for(build, x, index, updates), [x, index, updates], f"along {axis}", exact=True)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 40), (0,)], ids=str)
def test_indices_are_checked_and_counted_from_the_end(dtype, shape) -> None:
    rng = np.random.default_rng(9)
    low = 0 if dtype is np.uint8 else -6
    index = np.asarray(rng.integers(low, 6, shape)).astype(dtype)
    for negative in (True, False):
        module = module_for(lambda i, negative=negative: F.check_index(i, size=6, negative=negative), index)
        program, reference = native(module), NumpyBackend().compile(module)
        trials = [index if negative else abs(index)]
        if index.size:
            for wrong in (6, 7, 100, *((-7,) if low else ()), *((-1,) if low and not negative else ())):
                one = trials[0].copy()
                one.reshape(-1)[-1] = wrong
                trials.append(one)
        for trial in trials:
            try:
                (wanted,) = reference(trial)
            except IndexError as error:
                with pytest.raises(IndexError, match=re.escape(str(error))):
                    program(trial)
            else:
                np.testing.assert_array_equal(program(trial)[0], wanted)


def test_what_is_changed_is_not_what_others_read() -> None:
    """A scatter may write over an operand nobody needs, but not while it reads updates from the same bytes."""
    rng = np.random.default_rng(10)
    x, index = rng.standard_normal((6, 40)).astype(np.float32), np.array([4, 1, 1])

    def build(v, i):
        y = F.sin(v)  # in a buffer of its own, which ends with the scatter
        rows = F.slice(y, axes=(-2,), starts=(0,), stops=(3,), steps=(1,))
        z = F.scatter_add(y, i, rows, axis=-2)
        turned = F.slice(z, axes=(-2,), starts=(5,), stops=(-1,), steps=(-1,))
        kept = F.slice_update(z, turned, axes=(-2,), starts=(0,), stops=(6,), steps=(1,))
        return kept, F.scatter_update(F.cos(v), i, F.sin(rows), axis=-2), z

    assert_like_numpy(module_for(build, x, index), [x, index], "changes")


# ------------------------------------------------------------------------------------------------ scans
@pytest.mark.some(5)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize(
    "shape", [(1,), (9,), (4, 7), (7, 4), (70, 3), (3, 70), (5, 2, 33), (33, 1, 2), (6, 5, 1)], ids=str
)
def test_scans_along_all_axes(shape, dtype, vectors: int) -> None:
    rng = np.random.default_rng(11)
    x = np.clip(rng.standard_normal(shape) * 2, -3, 3).astype(dtype)
    if x.dtype.kind == "f" and x.size > 4:
        x.reshape(-1)[x.size // 2] = np.nan

    def build(v):
        found = []
        for axis in range(-len(shape), 0):
            for reverse in (False, True):
                for exclusive in (False, True):
                    how = {"axis": axis, "reverse": reverse, "exclusive": exclusive}
                    found += [F.cumsum(v, **how), F.cumprod(v, **how)]
            found += [*F.cummax(v, axis=axis), *F.cummin(v, axis=axis)]
        return found

    program = assert_like_numpy(module_for(build, x), [x], f"scans of {shape}", exact=True)
    assert "call_host" not in program.source


# ------------------------------------------------------------------------------------------------ randomness
@pytest.mark.parametrize("shape", [(), (1,), (3,), (8,), (17,), (50, 33)], ids=str)
@pytest.mark.parametrize("state", [(7, 1, 5), (-3, 2**62, -1), (0, 0, 0)], ids=str)
def test_draws_are_those_of_numpy(state, shape) -> None:
    key = np.array(state, np.int64)
    ends = [
        (0, 1),
        (-2, 9),
        (0, 2**32),
        (5, 2**31 + 7),
        (-(2**63), 2**63),
        (-(2**62), 2**62 + 5),
        (0, 3 * 2**61),
        (0, 3 * 2**30),
    ]

    def build(s):
        found = [F.random_uniform(s, shape=shape, dtype=d) for d in (float32, float64, float16, bfloat16)]
        return found + [F.random_integers(s, low=a, high=b, shape=shape) for a, b in ends]

    program = assert_like_numpy(module_for(build, key), [key], "draws", exact=True)
    assert "call_host" not in program.source


# ------------------------------------------------------------------------------------------------ numbers of places
def test_numbers_of_places_join_walks() -> None:
    """Triangles, one-hot rows and counts are formulas of the place: one loop, and nothing in memory."""
    x = np.random.default_rng(12).standard_normal((30, 30)).astype(np.float32)

    def build(v):
        masked = F.tril(F.exp(v), k=-1) + F.eye(rows=30, columns=30, dtype=float32)
        places = F.broadcast_to(F.iota(start=0, step=2, size=30, dtype=int32), shape=(30, 30))
        return F.triu(masked, k=-5) * F.cast(places, dtype=float32)

    program = assert_like_numpy(module_for(build, x), [x], "places")
    assert program.source.count("define internal void @k") == 1


@pytest.mark.parametrize("axis", [-1, -2, -3])
def test_one_hot_in_all_dimensions(axis: int) -> None:
    index = np.array([[0, 3, -1], [2, 9, 1]])
    for dtype in (np.int64, np.int8, np.uint8):
        i = index.astype(dtype)
        build = lambda v: [
            F.one_hot(v, depth=4, axis=axis, on=2.5, off=-1, dtype=float64),
            F.one_hot(v, depth=4, axis=axis, dtype=bool_),
        ]
        assert_like_numpy(module_for(build, i), [i], "one_hot", exact=True)


def test_places_are_numbers_for_every_reader() -> None:
    """Counts that others read as arrays: products, concatenation, indices, results."""
    index = np.array([1, 2])

    def counted(start, step, size, dtype=int64):
        return F.iota(start=start, step=step, size=size, dtype=dtype)

    def build(i):
        n = counted(3, -2, 6)
        m = F.reshape(n, shape=(2, 3))
        return (
            n,
            F.matmul(m, F.transpose(m, axes=(-1, -2))),
            F.concat(n, counted(0, 1, 2), axis=-1),
            F.gather(n, i, axis=-1),
            F.gather(counted(0, 5, 9), counted(1, 1, 3), axis=-1),
            F.cumsum(n, axis=-1),
            F.slice(n, axes=(-1,), starts=(4,), stops=(1,), steps=(-1,)),
            F.sum(m, axes=(-1,)),
            F.cast(counted(-1, 100, 5, int32), dtype=float32),
            *F.sort(n, axis=-1),
        )

    assert_like_numpy(module_for(build, index), [index], "counts", exact=True)


# ------------------------------------------------------------------------------------------------ in loops
def _row_after_row(x, n):
    i, y = 0 * n, x
    while i < n:
        y[i % 8] = x[1]
        y[(i + 3) % 8] = y[i % 8] * 2.0
        i = i + 1
    return y


def _of_the_version_before(x, n):
    i, y, z = 0 * n, x * 2.0, x
    while i < n:
        z = y
        y = y + 0.0
        y[i % 8] = z[(i + 1) % 8] * 0.5
        i = i + 1
    return y, z


@pytest.mark.parametrize("function", [_row_after_row, _of_the_version_before])
@pytest.mark.parametrize("trips", [0, 1, 2, 9])
def test_rows_are_written_in_loops(function, trips: int) -> None:
    """The next version may lie where the last one does, but never where the operand or an older one does."""
    x = np.random.default_rng(13).standard_normal((8, 50)).astype(np.float32)
    given = ms.Tensor(x)
    found = ms.jit(function, backend="native")(given, ms.mutable(trips))
    expected = function(ms.Tensor(x), trips)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for got, wanted in pairs:
        np.testing.assert_array_equal(got.asnumpy(), wanted.asnumpy())
