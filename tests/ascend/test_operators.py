"""Every primitive on the device against its NumPy kernel: all samples and ties, forward and adjoint, in all modes."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.ascend.backend import AscendBackend
from autodiff_compiler.backends.ascend.emit import Ref
from autodiff_compiler.backends.ascend.recipes import Recipes
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.config import set_context
from autodiff_compiler.dtypes import bfloat16, bool_, float16, float32, float64, from_numpy, int32, int64, uint8
from autodiff_compiler.errors import UnsupportedCallError
from autodiff_compiler.inspection.samples import module_of, samples_of
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import REGISTRY, F
from tests.ascend.conftest import Simulator
from tests.ascend.sampled import WITH_SAMPLES, assert_like_numpy, compiled, forward, modules_of, refused
from tests.backends.sampled_modules import adjoint, of_views
from tools.ascend_page import HOST

#: What runs as operators, at least for some dtypes.
ON_DEVICE = [name for name in WITH_SAMPLES if REGISTRY[name].aclnn or REGISTRY[name].decomposed]


@pytest.mark.some(6)
@pytest.mark.parametrize("name", ON_DEVICE)
def test_a_primitive_is_what_its_numpy_kernel_is(name: str, device: Simulator) -> None:
    ran = set()
    for what, dtype, module, arrays in modules_of(name):
        reasons = refused(module)
        if reasons:
            assert dtype is float64 or reasons.keys() <= HOST.keys(), reasons
            continue
        program = compiled(module)
        assert_like_numpy(program, module, arrays, dtype, f"{what} of {name} at {dtype.name}")
        ran.add((what, dtype))
    assert ("forward", float32) in ran, "every primitive with a rule runs at float32"


@pytest.mark.some(10)
@pytest.mark.parametrize("mode", ["cached", "captured"])
@pytest.mark.parametrize("name", ON_DEVICE)
def test_a_repeated_run_gives_the_same(name: str, mode: str, device: Simulator) -> None:
    """The first run plans, the second captures, the third replays; operands change in between."""
    set_context(ascend_mode=mode)
    for what, dtype, module, arrays in modules_of(name, (float32,)):
        if refused(module):
            continue
        program = compiled(module)
        for _ in range(3):
            assert_like_numpy(program, module, arrays, dtype, f"{what} of {name}, {mode}")
            arrays = [x[::-1].copy() if x.dtype.kind == "f" and x.ndim == 1 else x for x in arrays]


@pytest.mark.some(4)
@pytest.mark.parametrize("name", [n for n in ON_DEVICE if REGISTRY[n].operand_names or REGISTRY[n].variadic])
def test_operands_may_be_views(name: str, device: Simulator) -> None:
    defn = REGISTRY[name]
    for dtype in (float32, int64, bool_):
        for xs, attrs in samples_of(defn, dtype):
            made = of_views(defn, xs, attrs)
            if made is not None and not refused(made[0]):
                assert_like_numpy(compiled(made[0]), *made, dtype, f"{name} of views")


@pytest.mark.some(3)
@pytest.mark.parametrize("name", [n for n in ON_DEVICE if REGISTRY[n].ties])
def test_derivatives_at_ties_are_the_closed_forms(name: str, device: Simulator) -> None:
    for operands, attrs, expected in REGISTRY[name].ties:
        for dtype in (np.float64, np.float32):  # the second where the device refuses the first
            with np.errstate(over="ignore"):
                xs = [np.asarray(x, dtype) if np.asarray(x).dtype.kind == "f" else np.asarray(x) for x in operands]
            made = adjoint(REGISTRY[name], xs, attrs)
            assert made is not None
            module, arrays = made
            if not refused(module):
                break
        arrays = [*xs, *[np.ones_like(g) for g in arrays[len(xs) :]]]
        found = [np.asarray(g) for g in compiled(module)(*arrays)]
        wanted = [np.asarray(e) for e in expected if e is not None]
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 3e4, -3e4])
#: Elementwise functions: those whose type rule takes operands of one float type and no attributes.
ELEMENTWISE = [n for n in ON_DEVICE if REGISTRY[n].scalar and not REGISTRY[n].schema]


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", [float32, float16, bfloat16], ids=lambda d: d.short)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_special_numbers(name: str, dtype, device: Simulator) -> None:
    """Pairs of nan, infinities, zeros and numbers give what NumPy gives, whatever `Maximum` does with nan."""
    defn = REGISTRY[name]
    grid = np.meshgrid(*[SPECIAL] * len(defn.operand_names))
    xs = [x.reshape(-1).astype(dtype.numpy) for x in grid]
    xs = [x.astype(bool) if name in {"select", "kept", "if_converged"} and i == 0 else x for i, x in enumerate(xs)]
    made = forward(defn, xs, {})
    if made is None:
        return
    assert_like_numpy(compiled(made[0]), *made, dtype, name)


@pytest.mark.parametrize("dtype", [float32, float16, bfloat16, float64], ids=lambda d: d.short)
@pytest.mark.parametrize("name", ["floordiv", "mod"])
def test_quotients_rounded_down_and_what_they_leave(name: str, dtype, device: Simulator) -> None:
    """Signs of zeros are NumPy's, too, and 1 // 0.1 is 9 as 0.1 is a little more than a tenth."""
    numbers = np.array([0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 3.5, -7.0, 3e4, np.inf, -np.inf, np.nan])
    xs = [x.reshape(-1).astype(dtype.numpy) for x in np.meshgrid(numbers, numbers)]
    made = forward(REGISTRY[name], xs, {})
    assert made is not None
    found = np.asarray(compiled(made[0])(*xs)[0]).astype(float)
    with np.errstate(all="ignore"):
        wanted = {"floordiv": np.floor_divide, "mod": np.remainder}[name](*xs).astype(float)
    np.testing.assert_array_equal(found, wanted)
    some = wanted == wanted
    np.testing.assert_array_equal(np.signbit(found[some]), np.signbit(wanted[some]))


@pytest.mark.parametrize("name", ["asinh", "acosh"])
def test_great_numbers_have_a_logarithm(name: str, device: Simulator) -> None:
    x = np.array([3.4e38, 1e30, 1e19, 1e10, 9e9, 1e5, 1.0 + 1e-6, 1.0, np.inf], np.float32)
    x = np.concatenate([x, -x, np.float32([1e-30, 0.0, -0.0])]) if name == "asinh" else x
    made = forward(REGISTRY[name], [x], {})
    assert made is not None
    found = np.asarray(compiled(made[0])(x)[0])
    np.testing.assert_allclose(found, getattr(np, "arc" + name[1:])(x.astype(float)), rtol=3e-6)
    assert not np.signbit(found[-2:]).any() if name == "acosh" else np.signbit(found[-2:]).tolist() == [False, True]


def _reduced(name: str, x: np.ndarray, **attrs: object) -> None:
    made = forward(REGISTRY[name], [x], attrs)
    assert made is not None
    assert_like_numpy(compiled(made[0]), *made, float32, f"{name} of {x}")


@pytest.mark.parametrize("name", ["max", "min", "logsumexp", "sum", "nansum"])
def test_reductions_of_nan_and_infinities(name: str, device: Simulator) -> None:
    nan, inf = np.nan, np.inf
    rows = [[nan, 1, 2], [1, nan, nan], [inf, 1, 2], [-inf, -inf, -inf], [-inf, inf, 0], [nan, inf, 1], [1, 1, 0]]
    for axis in (-1, -2):
        _reduced(name, np.array(rows, np.float32), axes=(axis,))


@pytest.mark.parametrize("name", ["argmax", "argmin", "cummax", "cummin", "sort", "argsort", "msort"])
def test_positions_among_equals_and_nan(name: str, device: Simulator) -> None:
    nan = np.nan
    rows = [[1, 3, 3, 1, 2], [nan, 1, nan, 5, 5], [2, 2, 2, 2, 2], [1, nan, 0, nan, 7]]
    for axis in (-1, -2):
        _reduced(name, np.array(rows, np.float32), axis=axis)
    _reduced(name, np.array(rows[0], np.int32), axis=-1)


@pytest.mark.parametrize("name", ["max_pool", "max_pool_index"])
def test_windows_with_nan_and_infinities(name: str, device: Simulator) -> None:
    """Padding is no element: not even where all elements of a window are -inf."""
    nan, inf = np.nan, np.inf
    image = [[-inf, -inf, 1, 1], [-inf, -inf, nan, 2], [inf, 3, nan, 2], [3, 3, -inf, -inf]]
    for padding in ((0, 0, 0, 0), (1, 0, 0, 1)):
        _reduced(
            name, np.array([image], np.float32), kernel=(2, 2), stride=(1, 1), padding=padding, dilation=(1, 1)
        )  # fmt: skip


def test_products_of_many_batch_dimensions(device: Simulator) -> None:
    a, b = np.ones((2, 1, 2, 1, 1, 2, 3), np.float32), np.arange(48, dtype=np.float32).reshape(2, 1, 2, 1, 1, 3, 4)
    made = forward(REGISTRY["matmul"], [a, b], {})
    assert made is not None
    assert_like_numpy(compiled(made[0]), *made, float32, "matmul")


def test_operators_repeat_their_operands_themselves(device: Simulator) -> None:
    """A bias over rows and a number reach the operator with sizes of 1, not as views of step 0."""
    x = np.ones((4, 3), np.float32)

    def build(x, bias):
        return (F.add(x, F.broadcast_to(bias, shape=(4, 3))) * 0.5,)

    module = module_of([tensor(float32, (4, 3)), tensor(float32, (3,))], build)
    low, _, _ = AscendBackend(NumpyBackend().compile)._lowered(module)
    (segment,) = low.steps
    add, mul = segment.calls[:2]
    assert [v.shape for v in add.values if isinstance(v, Ref)] == [(4, 3), (1, 3), (4, 3)]
    assert [v.shape for v in mul.values if isinstance(v, Ref)] == [(4, 3), (1, 1), (4, 3)]
    assert_like_numpy(compiled(module), module, [x, np.arange(3, dtype=np.float32)], float32, "bias")


@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_operands_that_are_repeated_along_many_axes(dtype: str, device: Simulator) -> None:
    """Of these dtypes CANN takes fewer than 6 groups of axes: more are repeated by copies before."""
    shapes = [((2, 1, 3, 1, 2, 1, 3, 1), (1, 3, 1, 2, 1, 2, 1, 2)), ((1, 3, 1, 2, 1, 2), (2, 2, 1, 3, 1, 2, 1))]
    for shape in shapes:
        x, y = (np.random.default_rng(1).integers(1, 9, s).astype(dtype) for s in shape)
        whole = np.broadcast_shapes(*shape)
        types = [tensor(from_numpy(v.dtype), v.shape) for v in (x, y)]

        def build(x, y, whole=whole):
            less = F.less(F.broadcast_to(x, shape=whole), F.broadcast_to(y, shape=whole))
            total = F.add(F.broadcast_to(x, shape=whole), F.broadcast_to(y, shape=whole))
            return total, F.select(less, total, F.broadcast_to(y, shape=whole)), F.broadcast_to(x, shape=whole)

        total, chosen, repeated = [np.asarray(a) for a in compiled(module_of(types, build))(x, y)]
        np.testing.assert_array_equal(total, x + y)
        np.testing.assert_array_equal(chosen, np.where(x < y, x + y, np.broadcast_to(y, whole)))
        np.testing.assert_array_equal(repeated, np.broadcast_to(x, whole))


def test_no_attribute_hides_behind_a_method_of_the_emitter():
    """Rules read attributes from the emitter, `c.axis`, where its own methods come first."""
    names = {name for defn in REGISTRY.values() if defn.aclnn for name in defn.schema}
    assert not names & set(dir(Recipes))


def test_the_last_writer_of_a_place_wins(device: Simulator) -> None:
    x, updates = np.zeros((4, 2), np.float32), np.arange(12, dtype=np.float32).reshape(6, 2)
    made = forward(REGISTRY["scatter_update"], [x, np.array([1, 1, 3, 0, 1, 3]), updates], {"axis": -2})
    assert made is not None
    (found,) = compiled(made[0])(*made[1])
    np.testing.assert_array_equal(np.asarray(found), [[6, 7], [8, 9], [0, 0], [10, 11]])


@pytest.mark.parametrize("dtype", [int32, int64, uint8], ids=lambda d: d.short)
def test_integers_divided_by_zero_are_zero(dtype, device: Simulator) -> None:
    xs = [np.array([7, 7, 0], dtype.numpy), np.array([2, 0, 0], dtype.numpy)]
    for name, expected in (("floordiv", [3, 0, 0]), ("mod", [1, 0, 0]), ("fmod", [1, 0, 0])):
        made = forward(REGISTRY[name], xs, {})
        if made is not None:
            np.testing.assert_array_equal(np.asarray(compiled(made[0])(*xs)[0]), expected)


def test_narrower_integers_keep_the_low_bits(device: Simulator) -> None:
    x = np.array([300, -1, 70000, -40000, 2**40 + 5], np.int64)
    for dtype in ("int8", "uint8", "int16", "int32"):
        made = forward(REGISTRY["cast"], [x], {"dtype": dtype})
        assert made is not None
        np.testing.assert_array_equal(np.asarray(compiled(made[0])(x)[0]), x.astype(dtype))


def test_what_would_be_too_many_operators_is_refused(device: Simulator) -> None:
    x = np.ones((300, 2), np.float32)
    for name, xs, attrs in (
        ("linear_recurrence", [x, x], {"axis": -2}),
        ("banded_recurrence", [x, np.ones((1, 300, 2), np.float32)], {}),
        ("scatter_update", [np.ones(9, np.float32), np.zeros(5000, np.int64), np.ones(5000, np.float32)], {"axis": -1}),
        ("scatter_max", [np.ones(9000, np.float32), np.zeros(5000, np.int64), np.ones(5000, np.float32)], {"axis": -1}),
    ):
        made = forward(REGISTRY[name], xs, attrs)
        assert made is not None
        assert refused(made[0]).keys() == {name}


def test_what_no_operator_takes_is_refused_by_name_or_runs_on_the_host(device: Simulator) -> None:
    x = np.ones((2, 2))
    made = forward(REGISTRY["matmul"], [x, x], {})
    assert made is not None
    with pytest.raises(UnsupportedCallError) as caught:
        compiled(made[0])(x, x)
    assert "matmul" in caught.value.message
    assert any("float64" in note for note in caught.value.notes)
    set_context(ascend_fallback="host")
    program = compiled(made[0])
    np.testing.assert_array_equal(np.asarray(program(x, x)[0]), x @ x)
