"""Initial values: the bounds and moments that the distributions have by mathematics."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from scipy import stats

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn
from autodiff_compiler.common import initializer as init
from autodiff_compiler.common.initializer import initializer

MANY = (200, 300)  # 60,000 numbers: the mean of n numbers is off by deviation / sqrt(n)


@pytest.fixture(autouse=True)
def seed() -> None:
    np.random.seed(5)


def draw(how: object, shape: tuple[int, ...] = MANY, dtype: object = ms.float32) -> np.ndarray:
    return initializer(how, shape, dtype).asnumpy()


def assert_moments(values: np.ndarray, mean: float, deviation: float) -> None:
    n = math.sqrt(values.size)
    assert abs(values.mean(dtype=np.float64) - mean) < 5 * deviation / n
    assert abs(values.std(dtype=np.float64) / deviation - 1) < 5 / n


# ------------------------------------------------------------------------------------------------ distributions
UNIFORM = [
    (init.Uniform(), MANY, 0.07),
    (init.Uniform(0.3), MANY, 0.3),
    ("uniform", MANY, 0.07),
    (init.XavierUniform(), MANY, math.sqrt(6 / 500)),
    (init.XavierUniform(gain=2), (20, 30, 5, 7), 2 * math.sqrt(6 / (50 * 35))),
    (init.HeUniform(), MANY, math.sqrt(6 / 300)),
    (init.HeUniform(mode="fan_out", nonlinearity="relu"), MANY, math.sqrt(6 / 200)),
    (init.HeUniform(negative_slope=math.sqrt(5)), MANY, 1 / math.sqrt(300)),
    (init.HeUniform(nonlinearity="tanh"), MANY, 5 / 3 * math.sqrt(3 / 300)),
    (init.HeUniform(nonlinearity="selu"), MANY, 3 / 4 * math.sqrt(3 / 300)),
    (init.HeUniform(nonlinearity="sigmoid"), (20, 30, 5, 7), math.sqrt(3 / (30 * 35))),
    (init.VarianceScaling(2.0, "fan_avg", "uniform"), MANY, math.sqrt(3 * 2 / 250)),
]


@pytest.mark.parametrize(("how", "shape", "bound"), UNIFORM, ids=lambda x: repr(x))
def test_even_distributions_fill_their_interval(how: object, shape: tuple[int, ...], bound: float) -> None:
    values = draw(how, shape, ms.float64)
    assert abs(values).max() <= bound
    assert abs(values).max() > 0.999 * bound
    assert_moments(values, 0.0, bound / math.sqrt(3))


NORMAL = [
    (init.Normal(), MANY, 0.0, 0.01),
    (init.Normal(0.5, 2.0), MANY, 2.0, 0.5),
    ("normal", MANY, 0.0, 0.01),
    (init.XavierNormal(), MANY, 0.0, math.sqrt(2 / 500)),
    (init.XavierNormal(gain=3), (20, 30, 5, 7), 0.0, 3 * math.sqrt(2 / (50 * 35))),
    (init.HeNormal(), MANY, 0.0, math.sqrt(2 / 300)),
    (init.HeNormal(mode="fan_out", nonlinearity="relu"), MANY, 0.0, math.sqrt(2 / 200)),
    (init.HeNormal(negative_slope=1.0), MANY, 0.0, math.sqrt(1 / 300)),
    (init.VarianceScaling(), MANY, 0.0, math.sqrt(1 / 300)),
    (init.VarianceScaling(5.0, "fan_out"), MANY, 0.0, math.sqrt(5 / 200)),
    (init.VarianceScaling(5.0, "fan_in", "untruncated_normal"), MANY, 0.0, math.sqrt(5 / 300)),
]


@pytest.mark.parametrize(("how", "shape", "mean", "deviation"), NORMAL, ids=lambda x: repr(x))
def test_normal_distributions_have_their_moments(how: object, shape: tuple, mean: float, deviation: float) -> None:
    assert_moments(draw(how, shape), mean, deviation)


@pytest.mark.parametrize(
    ("sigma", "mean", "a", "b"),
    [
        (0.01, 0.0, -2.0, 2.0),
        (1.0, 0.0, -2.0, 2.0),
        (1.0, 0.5, -0.5, 3.0),
        (0.5, 0.0, 2.0, 3.0),
        (0.5, 0.0, -3.0, -2.0),
    ],
)
def test_a_truncated_normal_keeps_to_its_bounds(sigma: float, mean: float, a: float, b: float) -> None:
    values = draw(init.TruncatedNormal(sigma, mean, a, b), dtype=ms.float64)
    assert values.min() >= a
    assert values.max() <= b
    expected = stats.truncnorm((a - mean) / sigma, (b - mean) / sigma, mean, sigma)
    assert_moments(values, expected.mean(), expected.std())
    assert stats.kstest(values.ravel(), expected.cdf).pvalue > 1e-4


def test_a_truncated_normal_without_spread_is_its_mean_within_the_bounds() -> None:
    assert draw(init.TruncatedNormal(0.0, 1.0), (3,)).tolist() == [1.0, 1.0, 1.0]
    assert draw(init.TruncatedNormal(0.0, 9.0), (2,)).tolist() == [2.0, 2.0]


def test_variance_scaling_cuts_at_two_deviations_of_the_wide_distribution() -> None:
    values = draw(init.VarianceScaling(3.0), dtype=ms.float64)
    wide = math.sqrt(3.0 / 300) / stats.truncnorm(-2, 2).std()
    assert abs(values).max() <= 2 * wide
    assert abs(values).max() > 1.99 * wide


# ------------------------------------------------------------------------------------------------ structures
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (6, 2), (4, 3, 2)])
def test_orthogonal_has_orthonormal_rows_or_columns(shape: tuple[int, ...]) -> None:
    w = draw(init.Orthogonal(gain=2.0), shape, ms.float64).reshape(shape[0], -1)
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(gram, 4 * np.eye(min(w.shape)), atol=1e-12)


def test_identity_is_an_eye() -> None:
    np.testing.assert_array_equal(draw(init.Identity(), (2, 3)), np.eye(2, 3))
    np.testing.assert_array_equal(draw("identity", (3, 2)), np.eye(3, 2))


@pytest.mark.parametrize(("shape", "groups"), [((3, 3, 3), 1), ((4, 2, 3, 5), 2), ((2, 3, 1, 3, 3), 1)])
def test_dirac_weights_hand_channels_on(shape: tuple[int, ...], groups: int) -> None:
    w = draw(init.Dirac(groups), shape)
    assert w.sum() == groups * min(shape[0] // groups, shape[1])
    x = np.random.uniform(size=(shape[1], *shape[2:]))
    # At the centre of a window of the kernel's size, a convolution is one sum of products.
    found = np.tensordot(w, x, x.ndim)
    centre = x[(slice(None), *[n // 2 for n in shape[2:]])]
    per_group = np.zeros(shape[0] // groups)
    n = min(len(per_group), len(centre))
    per_group[:n] = centre[:n]
    np.testing.assert_allclose(found, np.tile(per_group, groups), rtol=1e-6)


@pytest.mark.parametrize(("sparsity", "zeros"), [(0.0, 0), (0.1, 1), (0.25, 2), (0.3, 3), (1.0, 8)])
def test_sparse_columns_have_their_zeros(sparsity: float, zeros: int) -> None:
    w = draw(init.Sparse(sparsity, sigma=2.0), (8, 400))
    assert ((w == 0).sum(axis=0) == zeros).all()
    if zeros < 8:
        assert abs(w[w != 0].std() / 2 - 1) < 0.1
    if 0 < zeros < 8:
        assert ((w == 0).sum(axis=1) > 0).all()  # not always the same rows


def test_constants() -> None:
    assert draw(init.Zero(), (2,)).tolist() == draw("zeros", (2,)).tolist() == draw("Zero", (2,)).tolist() == [0, 0]
    assert draw(init.One(), (2,)).tolist() == draw("ones", (2,)).tolist() == draw("ONE", (2,)).tolist() == [1, 1]
    assert draw(0.5, (2,)).tolist() == draw(init.Constant(0.5), (2,)).tolist() == [0.5, 0.5]
    assert draw(init.Constant(np.array([1, 2])), (2, 2)).tolist() == [[1, 2], [1, 2]]
    assert draw(init.Constant(Tensor([3.0])), (2,)).tolist() == [3, 3]


# ------------------------------------------------------------------------------------------------ the factory
def test_the_result_has_the_shape_and_dtype_asked_for() -> None:
    for dtype in (ms.float16, ms.bfloat16, ms.float32, ms.float64, ms.int32):
        made = initializer("ones", [2, 3], dtype)
        assert (made.shape, made.dtype, type(made)) == ((2, 3), dtype, Tensor)
    assert initializer("zeros", 3).shape == (3,)
    assert initializer("zeros", ()).shape == ()
    source = Tensor([1.0, 2.0])
    copied = initializer(source, dtype="float64")
    source[0] = 9
    assert (copied.dtype, copied.tolist()) == (ms.float64, [1.0, 2.0])


def test_a_tensor_and_a_parameter_take_an_initializer() -> None:
    t = Tensor(shape=(2,), dtype=ms.float32, init=init.One())
    assert t.init_data() is t
    assert t.tolist() == [1, 1]
    p = Parameter(initializer("ones", (2,)), name="w")
    assert p.init_data() is p
    assert (p.name, p.tolist()) == ("w", [1, 1])


def test_a_subclass_fills_an_array_and_can_have_a_name() -> None:
    @init._register("counting_up")
    class Counting(init.Initializer):
        def __init__(self, start=0):
            super().__init__(start=start)
            self.start = start

        def _initialize(self, arr):
            init._assignment(arr, np.arange(self.start, self.start + arr.size).reshape(arr.shape))

    assert draw(Counting(2), (2, 2)).tolist() == [[2, 3], [4, 5]]
    assert draw("counting_up", (2,)).tolist() == draw("Counting", (2,)).tolist() == [0, 1]
    assert repr(Counting(2)) == "Counting(start=2)"
    assert nn.Dense(2, 1, weight_init=Counting(), bias_init="counting_up").weight.tolist() == [[0, 1]]
    with pytest.raises(NotImplementedError, match="_initialize"):
        draw(init.Initializer(), (2,))


def test_what_derived_distributions_use() -> None:
    assert init._calculate_fan_in_and_fan_out((4, 3, 5, 5)) == (75, 100)
    assert init._calculate_correct_fan((4, 3), "fan_out") == 4
    assert init._calculate_gain("leaky_relu") == math.sqrt(2 / (1 + 0.01**2))
    assert init._calculate_gain("linear") == 1


def test_seeds_make_weights_repeat() -> None:
    def weights(seed: int) -> list:
        ms.set_seed(seed)
        return [
            nn.Dense(3, 3).weight.tolist(),
            draw("truncated_normal", (4,)).tolist(),
            draw("orthogonal", (2, 2)).tolist(),
        ]

    first = weights(11)
    assert weights(11) == first
    assert weights(12) != first
    ms.set_seed(3)
    assert draw(init.Uniform(1.0), (4,), ms.float64).tolist() == np.random.RandomState(3).uniform(-1, 1, 4).tolist()


def test_default_weights_of_a_dense_layer() -> None:
    # Document: both from U(-sqrt(k), sqrt(k)) with k = 1 / in_features.
    layer = nn.Dense(25, 4000)
    for values in (layer.weight.asnumpy(), layer.bias.asnumpy()):
        assert abs(values).max() <= np.float32(0.2)
        assert abs(values).max() > 0.199
        assert_moments(values, 0.0, 0.2 / math.sqrt(3))


WRONG = [
    (lambda: initializer("no_such_thing", (2,)), ValueError, "no_such_thing"),
    (lambda: initializer("zeros", (-1, 2)), ValueError, "positive"),
    (lambda: initializer("zeros", (0, 2)), ValueError, "positive"),
    (lambda: initializer("zeros", (2.0,)), ValueError, "positive"),
    (lambda: initializer("zeros"), ValueError, "shape"),
    (lambda: initializer(Tensor([1.0]), (2,)), ValueError, "shape"),
    (lambda: initializer([1.0], (1,)), TypeError, "list"),
    (lambda: initializer(True, (1,)), TypeError, "bool"),
    (lambda: initializer("constant", (1,)), TypeError, "value"),
    (lambda: initializer("xavier_uniform", (2,)), ValueError, "two or more dimensions"),
    (lambda: initializer("he_normal", ()), ValueError, "two or more dimensions"),
    (lambda: initializer("identity", (2, 2, 2)), ValueError, "two dimensions"),
    (lambda: initializer("dirac", (2, 2)), ValueError, "3 to 5"),
    (lambda: initializer(init.Dirac(2), (3, 2, 2)), ValueError, "groups"),
    (lambda: initializer(init.Sparse(0.5), (3,)), ValueError, "two dimensions"),
    (lambda: init.HeUniform(mode="fan"), ValueError, "fan_in"),
    (lambda: init.HeNormal(nonlinearity="nothing"), ValueError, "nothing"),
    (lambda: init.VarianceScaling(-1.0), ValueError, "scale"),
    (lambda: init.VarianceScaling(1.0, "fan"), ValueError, "mode"),
    (lambda: init.VarianceScaling(1.0, "fan_in", "normal"), ValueError, "distribution"),
    (lambda: init.TruncatedNormal(a=1.0, b=1.0), ValueError, "less"),
    (lambda: init.Normal(-1.0), ValueError, "sigma"),
    (lambda: init.Uniform("x"), TypeError, "scale"),
    (lambda: init.Constant("x"), TypeError, "value"),
    (lambda: init.Sparse(1.5), ValueError, "sparsity"),
    (lambda: init.Dirac(0), ValueError, "groups"),
    (lambda: init.Dirac(1.0), TypeError, "groups"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_refused(number: int) -> None:
    make, error, words = WRONG[number]
    with pytest.raises(error, match=words):
        make()


# ------------------------------------------------------------------------------------------------ names of modules
def test_the_modules_of_common_have_what_mindspore_keeps_there() -> None:
    names = {
        "common": [
            "Tensor",
            "Parameter",
            "ParameterTuple",
            "dtype",
            "initializer",
            "set_seed",
            "jit",
            "mutable",
            "float32",
        ],
        "common.dtype": [
            "float32",
            "bool_",
            "int64",
            "dtype_to_nptype",
            "pytype_to_dtype",
            "float_type",
            "number_type",
        ],
        "common.parameter": ["Parameter", "ParameterTuple"],
        "common.tensor": ["Tensor"],
        "common.initializer": ["initializer", "Normal", "One", "Initializer"],
        "common.seed": ["set_seed", "get_seed"],
        "common.api": ["jit"],
    }
    for module, wanted in names.items():
        found = importlib.import_module(f"autodiff_compiler.{module}")
        assert [n for n in wanted if not hasattr(found, n)] == [], module
    assert ms.common.Tensor is ms.common.tensor.Tensor is Tensor
    assert ms.common.jit is ms.jit is ms.common.api.jit
    assert ms.dtype is ms.common.dtype
    assert ms.dtype.float32 is ms.float32
    with pytest.raises(AttributeError, match="nothing_there"):
        ms.common.nothing_there


def test_element_types_convert() -> None:
    dtype = ms.common.dtype
    assert dtype.dtype_to_nptype(ms.float16) is np.float16
    assert [dtype.dtype_to_pytype(d) for d in (ms.bool_, ms.uint8, ms.float16)] == [bool, int, float]
    assert [dtype.pytype_to_dtype(t) for t in (bool, int, float, np.int8)] == [ms.bool_, ms.int64, ms.float64, ms.int8]
    with pytest.raises(NotImplementedError, match="str"):
        dtype.pytype_to_dtype(str)
    assert ms.float16 in dtype.float_type
    assert ms.int8 not in dtype.float_type
