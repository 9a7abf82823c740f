"""Sizes that are described, which program runs, what is shown of it, and that no call leaves its answers to others."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import ShapeError
from tests.programs.compare import assert_close
from tests.programs.test_sizes_of_calls import ones


# ------------------------------------------------------------------------------------------------ described sizes
def open_tensor(*shape):
    return Tensor(shape=shape, dtype=ms.float32)


def test_a_cell_with_described_inputs_is_compiled_once():
    net = nn.Dense(4, 2)
    net.set_inputs(open_tensor(None, 4))
    compiled = ms.jit(net)
    for n in (2, 3, 0):
        assert_close(compiled(ones(n, 4)), net(ones(n, 4)), f"n = {n}", 1e-6)
    assert compiled.cache_info()["keys"] == [{"call": "Dense(f32[n,4])", "hits": 2, "valid": True}]
    with pytest.raises(ValueError, match=r"`x` has the shape \[3, 5\], but is described as \[None, 4\]"):
        compiled(ones(3, 5))


def test_a_symbol_says_what_is_known_of_a_size():
    s = ms.Symbol(divisor=8, remainder=1, max=40, unique=True)

    @ms.jit
    @ms.enable_dynamic(x=open_tensor(s, 2), y=open_tensor(s))
    def f(x, y):
        return (x[1:].reshape(x.shape[0] // 8, 8, 2).sum(1) * y[0]).sum()

    for n in (9, 17, 33):
        assert f(ones(n, 2), ones(n)).item() == 2 * (n - 1)
    (form,) = f.cache_info()["keys"]
    assert form["call"] == "f(f32[8*n+1,2], f32[8*n+1])"
    assert str(f.guards()[0]) == "n: any size >= 0 and <= 4, from argument `x`, axis 0, of which 8*n+1 is the size"
    for n in (8, 41):
        with pytest.raises(ValueError, match="described as"):
            f(ones(n, 2), ones(n))
    with pytest.raises(ValueError, match="was 9 before"):
        f(ones(9, 2), ones(17))


@pytest.mark.parametrize(
    "arguments", [{"divisor": 4, "remainder": 5}, {"remainder": 3}, {"divisor": 3, "remainder": 8, "min": 3, "max": 12}]
)
def test_a_remainder_may_be_larger_than_the_divisor(arguments):
    s = ms.Symbol(**arguments)
    f = ms.jit(ms.enable_dynamic(x=open_tensor(s))(lambda x: x * x.shape[0]))
    for n in range(1, 20):
        if s.min <= n <= (s.max or n) and n % s.divisor == s.remainder % s.divisor:
            np.testing.assert_array_equal(f(ones(n)).asnumpy(), np.full(n, n))
        else:
            with pytest.raises(ValueError, match="described as"):
                f(ones(n))
    assert f.cache_info()["compiles"] == 1


@pytest.mark.parametrize("most", [2**63 - 1, 2**63, 2**64 + 3, 2**70])
def test_a_size_may_be_at_most_more_than_64_bits_hold(most):
    f = ms.jit(ms.enable_dynamic(x=open_tensor(ms.Symbol(max=most)))(lambda x: x * 2))
    g = ms.jit(lambda x: x * 2 if x.shape[0] <= most else x, dynamic=True)
    for n in range(1, 20):
        assert f(ones(n)).tolist() == g(ones(n)).tolist() == [2] * n
    assert [h.cache_info()["compiles"] for h in (f, g)] == [1, 1]


def test_an_input_signature_may_have_open_sizes():
    f = ms.jit(lambda x: x.sum(0), input_signature=open_tensor(None, 2))
    for n in (4, 2, 9):
        assert f(ones(n, 2)).tolist() == [n, n]
    assert f.cache_info()["compiles"] == 1
    with pytest.raises(ValueError, match="described as"):
        f(ones(2, 3))
    with pytest.raises(TypeError, match="int64"):
        f(Tensor([[1, 2]]))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"min": 0}, ValueError, "at least 1"),
        ({"max": 2, "min": 3}, ValueError, "at least 3 and at most 2"),
        ({"divisor": 1.5}, TypeError, "int, not of type float"),
        ({"unique": 1}, TypeError, "bool"),
    ],
)
def test_symbols_that_cannot_be(arguments, error, match):
    with pytest.raises(error, match=match):
        ms.Symbol(**arguments)


def test_the_setting_holds_where_jit_does_not_say():
    f, always = ms.jit(lambda x: x * 2), ms.jit(lambda x: x * 2, dynamic=True)
    ms.set_context(dynamic_shapes=False)
    try:
        for n in (2, 3, 4):
            f(ones(n))
            always(ones(n))
    finally:
        ms.set_context(dynamic_shapes=None)
    assert (f.cache_info()["compiles"], always.cache_info()["compiles"]) == (3, 1)
    with pytest.raises(ValueError, match="dynamic_shapes is None, True or False"):
        ms.set_context(dynamic_shapes="auto")


# ------------------------------------------------------------------------------------------------ which program runs
@pytest.mark.skipif(ms.config.backends["native"]() is not None, reason="no machine code here")
def test_a_size_that_comes_often_gets_a_program_of_its_own_where_python_runs_ops():
    f = ms.jit(lambda x: ops.sort(x)[0] * x.shape[0], backend="auto")
    for n in (2, 3, *[5] * 20, 4):
        assert_close(f(ones(n)), np.ones(n, np.float32) * n, f"n = {n}", 1e-6)
    assert [k["call"] for k in f.cache_info()["keys"]].count("lambda(f32[5])") == 1
    assert f.cache_info()["compiles"] == 3
    assert "come often or take long, and Python runs ops of the general program" in str(f.explain_recompiles()[-1])


def test_a_program_with_sizes_of_data_gets_none_for_one_size():
    """It would be NumPy's for known sizes, too."""
    f = ms.jit(ms.value_and_grad(lambda x: (x[x > 0] ** 2).sum()), backend="auto")
    for n in (2, 3, *[5] * 40, 4):
        value, gradient = f(ones(n))
        assert value.item() == n
        assert gradient.tolist() == [2] * n
    assert f.cache_info()["compiles"] == 2


@pytest.mark.skipif(ms.config.backends["native"]() is not None, reason="no machine code here")
def test_machine_code_is_for_all_sizes():
    f = ms.jit(lambda x: ops.tanh(x) * x.shape[0], backend="auto")
    for n in (2, 3, *[5] * 50, 4, *range(100)):
        assert_close(f(ones(n)), np.tanh(np.ones(n, np.float32)) * n, f"n = {n}", 1e-6)
    assert [k["call"] for k in f.cache_info()["keys"]] == ["lambda(f32[2])", "lambda(f32[n])"]


def test_all_that_is_shown_of_a_compilation_has_its_symbols():
    def loss(w, x):
        return (ops.tanh(x @ w) ** 2).sum() / x.shape[0]

    for backend in ("auto", "numpy"):
        f = ms.jit(ms.value_and_grad(loss), backend=backend)
        for n in (2, 3, 4):
            f(ones(4, 3), ones(n, 4))
        shown = f.lower(ones(4, 3), ones(5, 4))
        for stage in ("front", "adjoint", "opt", "plan"):
            assert "f32[n,4]" in str(shown.ir(stage))
        for text in (shown.code(), shown.explain(), shown.cost(), shown.memory(), shown.timing(), shown.graph()):
            assert str(text)
        assert "n: any size >= 0, from argument `x`, axis 0" in str(shown.explain())
        run = f.source().function
        value, gradient = run(np.ones((4, 3), np.float32), np.ones((7, 4), np.float32))
        expected = ms.value_and_grad(loss)(ones(4, 3), ones(7, 4))
        np.testing.assert_allclose(value, expected[0].asnumpy(), rtol=1e-6)
        np.testing.assert_allclose(gradient, expected[1].asnumpy(), rtol=1e-5)


# ------------------------------------------------------------------------------------------------ nothing is stale
def test_sizes_in_containers_are_named_as_they_are_written():
    f = ms.jit(lambda xs, named: xs[0].sum() + named["w"].sum(), dynamic=True)
    for n, m in ((2, 3), (4, 5)):
        assert f([ones(n)], {"w": ones(m)}).item() == n + m
    told = " ".join(str(g) for g in f.guards())
    assert "n: any size >= 0, from argument `xs[0]`, axis 0" in told
    assert "m: any size >= 0, from argument `named['w']`, axis 0" in told


def test_every_function_notes_its_guards():
    """What a rule was answered for one function, it is not told again without asking."""
    for _ in range(2):
        f = ms.jit(lambda x: ops.argmax(x), dynamic=True)
        assert f(ones(2, 3)).item() == 0
        assert "m*n != 0" in " ".join(map(str, f.guards()))
        with pytest.raises(ShapeError, match="no extreme element"):
            f(ones(2, 0))


def test_a_compilation_that_begins_again_notes_its_guards_again():
    """The fourth row of `y` is known to exist only after the answer about `x`, and the compilation begins again."""
    f = ms.jit(lambda x, y: ops.argmax(x) + y[3], dynamic=True)
    assert f(ones(2, 5), ones(6)).item() == 1
    assert "m*n != 0" in " ".join(map(str, f.guards()))
    with pytest.raises(ShapeError, match="no extreme element"):
        f(ones(2, 0), ones(6))


def test_what_passes_infer_is_no_answer_for_a_call():
    """Passes and derivatives infer types without a call; a call asks for itself afterwards."""
    x = ops.ones((2, 3))
    gradient = ms.jit(ms.grad(lambda x: (x * ops.argmax(x)).sum()), dynamic=True)
    assert gradient(x).shape == (2, 3)
    f = ms.jit(lambda x: x * ops.argmax(x), dynamic=True)
    f(x)
    with pytest.raises(ShapeError, match="no extreme element"):
        f(ones(0, 3))


@pytest.mark.filterwarnings("ignore:.*AC2003")  # the gradient of nothing is 0
@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_sequences_of_any_length_and_of_none(kind) -> None:
    """One compilation for all: of no steps the states are as they were, eagerly, too."""
    net = kind(3, 4)
    params = net.trainable_params()

    def f(x):
        out, end = net(x)
        return (out * out).sum() + (end[0] if isinstance(end, tuple) else end).sum(), out

    for dynamic in (None, True, False):
        compiled = ms.jit(ms.value_and_grad(f, 0, params, has_aux=True), dynamic=dynamic)
        for n in (12, 0, 1, 30, 9) if dynamic is not False else (1, 0):  # each of which is compiled
            x = Tensor(np.random.default_rng(n).standard_normal((n, 2, 3)).astype(np.float32))
            expected = ms.value_and_grad(f, 0, params, has_aux=True)(x)
            assert expected[0][1].shape == (n, 2, 4)
            assert_close(compiled(x), expected, n, 1e-5)
        assert compiled.cache_info()["compiles"] <= (5 if dynamic is False else 3)


def test_rows_beside_numbers_and_other_rows_are_read_as_sequences() -> None:
    """`zip` and `enumerate` of Tensors with one symbolic size: the derivative collects rows, and adds to no array."""

    def f(x, y):
        s = x[0] * 0.0
        for i, (a, b) in enumerate(zip(x, y)):
            s = ops.tanh(s + a * b) * (i % 3 + 1)
        return s.sum()

    compiled = ms.jit(ms.value_and_grad(f, (0, 1)))
    for n in (9, 12, 30, 1):
        x, y = (Tensor(np.random.default_rng(n + k).standard_normal((n, 3))) for k in range(2))
        assert_close(compiled(x, y), ms.value_and_grad(f, (0, 1))(x, y), n, 1e-9)
    assert compiled.cache_info()["compiles"] == 2
    text = compiled.lower(x, y).ir("opt")
    assert "scatter_add" not in text
    assert "from_seq" in text
