"""Running primitives: results, errors in our own words, and the fast paths against the general one."""

import operator
import warnings

import ml_dtypes
import numpy as np
import pytest

import autodiff_compiler.dtypes as dt
from autodiff_compiler import ops
from autodiff_compiler.eager import differentiate, operators
from autodiff_compiler.eager.execute import plan_of
from autodiff_compiler.eager.tape import thread
from autodiff_compiler.errors import CompileError, DTypeError, ShapeError, UnsupportedCallError
from autodiff_compiler.ir.primitive import METHODS, REGISTRY, F, call
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.runtime import Parameter, Tensor
from tests.counted import calls_in

DTYPES = [d.numpy for d in dt.ALL]
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    operator.and_,
    operator.matmul,
]


def _outcome(f, *args):
    """Dtype and bytes of a result, or the kind of error."""
    try:
        out = f(*args)
    except (CompileError, TypeError, ValueError, OverflowError) as error:
        return type(error)
    return out.dtype, out.shape, out.asnumpy().tobytes()


@pytest.mark.parametrize("apply", OPERATORS, ids=lambda f: f.__name__)
def test_the_fast_paths_do_what_the_public_functions_do(apply):
    name = f"__{apply.__name__.strip('_')}__"
    public = METHODS[name]
    reflected = METHODS.get(f"__r{name[2:]}")
    operands = [Tensor(np.array([[1, 0], [2, 3]], d)) for d in DTYPES]
    for x in operands:
        for y in [*operands, 2, 3.5, True, -1, 1000, 0, np.float64(0.3), np.arange(2)]:
            assert _outcome(apply, x, y) == _outcome(public, x, y), (x.dtype, y)
            if reflected is not None and not isinstance(y, Tensor | np.ndarray):
                assert _outcome(apply, y, x) == _outcome(reflected, x, y), (y, x.dtype)


def test_every_float_function_and_operator_has_a_fast_path():
    assert operators._FAST_UNARY.keys() >= {"__neg__", "__abs__", "exp", "log1p", "arctanh", "floor", "sigmoid", "relu"}
    assert operators._FAST.keys() >= {"__add__", "__truediv__", "__floordiv__", "__mod__", "__lt__", "__ne__"}


@pytest.mark.parametrize("name", sorted(operators._FAST_UNARY))
def test_the_fast_functions_do_what_the_public_ones_do(name):
    for d in DTYPES:
        x = Tensor(np.array([1, 0, 2], d))
        assert _outcome(getattr(x, name)) == _outcome(METHODS[name], x), d


@pytest.mark.parametrize(
    "f",
    [
        *(lambda x, y: x % y, lambda x, y: x // y, lambda x, y: x % 0.7, lambda x, y: 2.7 % x, lambda x, y: x // 0.7),
        *(lambda x, y: 2.7 // x, lambda x, y: x.floor() * y, lambda x, y: x.sign() * y, lambda x, y: x.arctan() * y),
    ],
)
def test_fast_paths_have_the_derivatives_of_differences(f):
    x, y = np.array([1.3, -2.25, 0.6]), np.array([0.8, 1.6, -0.35])
    step = 1e-6
    _, gradients, _ = differentiate(f, [Tensor(x), Tensor(y)])
    for i, found in enumerate(gradients):
        moved = [x, y]
        ends = []
        for side in (step, -step):
            moved[i] = (x, y)[i] + side
            ends.append(f(*map(Tensor, moved)).asnumpy())
        np.testing.assert_allclose(found.asnumpy(), (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "index", [0, -1, slice(None, None, -1), (1, None, slice(0, 1)), ..., (Ellipsis, 0), 7, (0, 0, 0), True]
)
def test_basic_indexing_does_what_the_public_function_does(index):
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])

    def outcome(f):
        try:
            return f(x, index).tolist()
        except (IndexError, TypeError) as error:
            return str(error)

    assert outcome(operator.getitem) == outcome(METHODS["__getitem__"])


def test_promotion():
    i, f, d = Tensor([1, 2], dtype=dt.int32), Tensor(1.5), Tensor(np.float64(2))
    assert ((i + f).dtype, (f * d).dtype, (i * 2.0).dtype, (f * 2).dtype) == (
        dt.float32,
        dt.float64,
        dt.float32,
        dt.float32,
    )
    assert ((i / i).dtype, (i // 2).dtype, (Tensor(True) + 1).dtype, (2 - i).tolist()) == (
        dt.float32,
        dt.int32,
        dt.int64,
        [1, 0],
    )
    half = Tensor(np.ones(2, ml_dtypes.bfloat16))
    assert ((half * 2.5).dtype, (half + Tensor(np.float16(1))).dtype) == (dt.bfloat16, dt.float32)
    assert isinstance(f + Parameter(1.0), Tensor)


def test_nothing_warns_and_nothing_raises_on_infinite_results():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = Tensor([0.0, -1.0])
        assert (1 / x).tolist() == [np.inf, -1.0]
        assert np.isnan((x / 0.0).tolist()[0])
        assert x.log().tolist()[0] == -np.inf
        assert (Tensor([3e38]) * 10).tolist() == [np.inf]
        assert (Tensor([1.0]) * 1e300).tolist() == [np.inf]
        assert (Tensor([1]) // 0).tolist() == [0]
        assert differentiate(lambda x: x.sqrt(), [Tensor(0.0)])[1][0].item() == np.inf
        x[0] = 1e300
        assert x.tolist()[0] == np.inf


def test_computing_in_the_middle_of_a_kernel():
    """As a signal handler or a debugger does."""

    def handler():
        x = Tensor([3e38, 1.0])
        x[1] = 1e300
        return (x * 10 + x.tanh() + 1 / Tensor([0.0])).tolist() + call.full((1,), 1e300).tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert thread.state.quiet(handler) == handler() == [np.inf] * 3


def test_results_without_dimensions_are_tensors_over_arrays():
    x = Tensor(2.0)
    for out in (x + x, x.tanh(), Tensor([1.0]).sum(), Tensor([1.0])[0], x * 2):
        assert type(out._data) is np.ndarray
        assert out.shape == ()
        out[...] = 5.0
        assert out.item() == 5.0


# ------------------------------------------------------------------------------------------------ errors
def test_the_raw_form_never_mixes_dtypes():
    single, double, whole = Tensor([1.0]), Tensor(np.ones(1)), Tensor([1])
    for apply in (F.add, F.mul, F.maximum, F.equal):
        with pytest.raises(DTypeError, match=r"f32\[1\]"):
            apply(single, double)
    for use in (
        lambda: F.tanh(whole),
        lambda: F.div(whole, whole),
        lambda: F.matmul(Tensor([[1.0]]), Tensor(np.ones((1, 1)))),
    ):
        with pytest.raises(DTypeError):
            use()
    with pytest.raises(CompileError):
        F.concat(single, double, axis=-1)


def test_shapes_that_do_not_fit():
    with pytest.raises(ShapeError, match="broadcast"):
        Tensor([1.0, 2.0]) + Tensor([1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match="inner sizes"):
        Tensor([[1.0, 2.0]]) @ Tensor([[1.0, 2.0]])
    with pytest.raises(ShapeError):
        Tensor([1.0, 2.0]).reshape(3)
    with pytest.raises(ShapeError, match="axis 1"):
        Tensor([1.0]).sum(1)


@pytest.mark.parametrize("apply", OPERATORS[:7], ids=lambda f: f.__name__)
def test_operands_of_other_classes(apply):
    class Other:
        def __radd__(self, x):
            return "mine"

        __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __radd__

    assert apply(Tensor([1.0]), Other()) == "mine"
    for bad in ("text", None, [1.0], {}):
        with pytest.raises(TypeError):
            apply(Tensor([1.0]), bad)


def test_what_exists_in_compiled_code_only():
    with pytest.raises(UnsupportedCallError, match="compiled"):
        F.state_read(state="w", type=tensor(dt.float32, ()))


# ------------------------------------------------------------------------------------------------ without a kernel
def test_constants_and_containers():
    const = F.const(value=1.5, type=tensor(dt.float16, (2, 1)))
    assert (const.tolist(), const.dtype) == ([[1.5], [1.5]], dt.float16)
    array = np.arange(2)
    constant = F.const(value=array, type=tensor(dt.int64, (2,)))
    constant[0] = 7
    assert array.tolist() == [0, 1]
    x, y = Tensor([1.0, 2.0]), Tensor(3.0)
    assert F.tuple_get(F.tuple_make(x, y), index=1) is y
    assert call.zeros((2,)).tolist() == [0.0, 0.0]

    def through_sequence(x):
        parts = F.to_seq(x)
        assert F.seq_len(parts).item() == 2
        return F.from_seq(F.seq_add(parts, parts), length=2) * x

    out, (g,), _ = differentiate(through_sequence, [x])
    assert (out.tolist(), g.tolist()) == ([2.0, 8.0], [4.0, 8.0])  # 2 x^2 and 4 x


def test_every_primitive_can_be_planned():
    for defn in REGISTRY.values():
        plan = plan_of(defn)
        assert (plan.kernel is None) != (plan.special is None), defn.name


# ------------------------------------------------------------------------------------------------ NumPy functions
NUMPY = [
    (np.exp, np.exp),
    (lambda x: np.float32(2) * x, lambda x: 2 * x),
    (lambda x: np.arange(3.0) + x, lambda x: np.arange(3.0) + x),
    (lambda x: np.sum(x * x, axis=0), lambda x: np.sum(x * x, axis=0)),
    (lambda x: np.mean(x**2), lambda x: np.mean(x**2)),
    (lambda x: np.where(x > 0, x * x, 0.0), lambda x: np.where(x > 0, x * x, 0.0)),
    (lambda x: np.concatenate([x, x * x]), lambda x: np.concatenate([x, x * x])),
    (lambda x: 2.0**x, lambda x: 2.0**x),
    (lambda x: np.stack((x, x))[:, ::2], lambda x: np.stack((x, x))[:, ::2]),
    (lambda x: np.power(x, 3), lambda x: x**3),
    (lambda x: np.maximum(x, 0.1), lambda x: np.maximum(x, 0.1)),
    (lambda x: np.reshape(x, (3, 1)) * x, lambda x: x.reshape(3, 1) * x),
    (lambda x: np.ones((2, 3)) @ x, lambda x: np.ones((2, 3)) @ x),
]


@pytest.mark.parametrize("case", range(len(NUMPY)))
def test_numpy_functions_give_tensors_and_keep_gradients(case):
    ours, bare = NUMPY[case]
    x = np.array([-0.5, 0.3, 2.0])
    out, (g,), _ = differentiate(ours, [Tensor(x)])
    assert type(out) is Tensor
    np.testing.assert_allclose(out.asnumpy(), bare(x), rtol=1e-14)
    h = 1e-6
    slopes = [(np.sum(bare(x + h * e)) - np.sum(bare(x - h * e))) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(g.asnumpy(), slopes, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "f", [np.nancumsum, np.add.reduce, np.nanstd, lambda x: np.sum(x, where=[True, False]), np.spacing]
)
def test_numpy_functions_without_a_primitive_never_lose_a_gradient(f):
    x = np.array([1.0, 8.0])
    out = f(Tensor(x))
    np.testing.assert_array_equal(np.asarray(out), f(x))
    with pytest.raises(UnsupportedCallError, match="no derivative"):
        differentiate(f, [Tensor(x)])


def test_numpy_does_not_write_to_tensors_behind_their_back():
    t = Tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="write"):
        np.add(1.0, t, out=t)
    array = np.ones(2)
    same = array
    array += t
    assert same is array
    assert array.tolist() == [2.0, 3.0]
    with pytest.raises(UnsupportedCallError):
        differentiate(lambda t: np.add(array, t, out=array), [t])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "matmul"])
def test_functions_of_two_tensors_take_the_short_way_of_their_operators(name):
    """Of small Tensors the way to NumPy is most of the time."""
    a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Parameter([[0.5, -1.0], [2.0, 1.0]], name="b")
    function, sign = getattr(ops, name), getattr(operator, name)
    assert function(a, b).tolist() == getattr(np, {"mul": "multiply", "sub": "subtract"}.get(name, name))(
        a.numpy(), b.numpy()
    ).tolist()  # fmt: skip
    assert calls_in(lambda: function(a, b)) <= calls_in(lambda: sign(a, b)) + 5


def test_products_of_matrices_are_not_prepared_where_nothing_is_to_be_done():
    a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1, 2], [3, 4]])
    for _ in range(2):  # the first time the types are checked
        same, mixed = calls_in(lambda: a.matmul(a)), calls_in(lambda: a.matmul(b))
    assert same < mixed / 3
    assert a.matmul(b).tolist() == (a.numpy() @ b.numpy()).tolist()
