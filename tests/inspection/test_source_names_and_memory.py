"""Gradients as Python over NumPy: names, exceptions, memory and files; each text is run in a namespace of its own."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from autodiff_compiler import Parameter, Tensor, TensorSpec, bfloat16, grad, jit, mutable, ops
from autodiff_compiler.errors import UnsupportedCallError
from autodiff_compiler.inspection.derivative_source import PythonSource


def arrays_of(x: Any) -> Any:
    return x.asnumpy().copy() if isinstance(x, Tensor) else x


def run(source: PythonSource, *args: Any, **given: Any) -> Any:
    """What the text gives, without the package's help."""
    space: dict[str, Any] = {}
    exec(compile(str(source), "<text>", "exec"), space)
    return space[source.name](*args, **given)


# ------------------------------------------------------------------------------------------------ exceptions
def tells_a_number(x):
    if x.sum() > 100:
        raise ValueError(f"too big: {x.sum()}, of {x.shape[0]}")
    return x * 2


def tells_a_python_number(x):
    n = int(x.max())
    if n > 100:
        raise KeyError(n)
    return x * 2


def asserts(x):
    assert x.sum() < 100, f"bad {x[0]}"
    return x * 2


@pytest.mark.parametrize("function", [tells_a_number, tells_a_python_number, asserts])
def test_exceptions_say_what_those_of_eager_code_say(function):
    source = jit(function).source(TensorSpec("f64[3]"))
    np.testing.assert_array_equal(run(source, np.ones(3)), 2 * np.ones(3))
    with pytest.raises((ValueError, KeyError, AssertionError)) as expected:
        function(Tensor(np.full(3, 200.0)))
    with pytest.raises(type(expected.value)) as caught:
        run(source, np.full(3, 200.0))
    told = [str(e.value).partition("\n")[0] for e in (caught, expected)]  # pytest adds lines to what assert says
    assert told[0] == told[1]


def test_an_exception_of_the_users_own_class_is_refused():
    class Odd(Exception):
        pass

    def odd(x):
        if x.sum() > 1:
            raise Odd(f"{x.sum()}")
        return x

    with pytest.raises(UnsupportedCallError, match="its exception is made by a function"):
        jit(odd).source(TensorSpec("f64[3]"))


def writes_then_raises(x, y):
    x[0] = 5
    if x.sum() > 100:
        raise ValueError(f"big {y[0]}")
    x[1] = 6
    return x * 2


def swaps_then_raises(x, y):
    t = x * 1
    x[:] = y
    y[:] = t
    if x.sum() > 100:
        raise ValueError(f"big {t[0]}")
    return x * y


def writes_then_looks_up(x, y):
    x[0] = 5
    z = y[x.sum().astype("int64")]
    x[1] = 6
    return z


@pytest.mark.parametrize("function", [writes_then_raises, swaps_then_raises, writes_then_looks_up])
@pytest.mark.parametrize("size", [-1.0, 300.0])
def test_writes_before_an_exception_are_made(function, size):
    x, y = np.arange(3.0), np.arange(3.0) + size
    source = jit(function).source(Tensor(x), Tensor(y))
    for first, second in ((x, y), (y, x)):
        got, tensors = [first.copy(), second.copy()], [Tensor(first.copy()), Tensor(second.copy())]
        outcomes = []
        for call in (lambda got=got: run(source, *got), lambda tensors=tensors: function(*tensors)):
            try:
                outcomes.append(arrays_of(call()).tolist())
            except (ValueError, IndexError) as error:
                outcomes.append(type(error) if isinstance(error, IndexError) else str(error))
        assert outcomes[0] == outcomes[1]
        for g, t in zip(got, tensors, strict=True):
            np.testing.assert_array_equal(g, t.asnumpy())


def test_states_written_before_an_exception_are_in_the_dict():
    w = Parameter(Tensor(np.ones(3)), name="w")

    def step(x):
        ops.assign(w, w + x)
        if x.sum() > 100:
            raise ValueError("big")
        ops.assign(w, w * 2)
        return x.sum()

    source = jit(step).source(TensorSpec("f64[3]"))
    parameters = source.given["parameters"]
    with pytest.raises(ValueError, match="big"):
        run(source, np.full(3, 50.0), parameters)
    np.testing.assert_array_equal(parameters["w"], np.full(3, 51.0))
    run(source, np.ones(3), parameters)
    np.testing.assert_array_equal(parameters["w"], np.full(3, 104.0))


# ------------------------------------------------------------------------------------------------ names
def named_like_a_helper(x, conv):
    return (ops.conv2d(x, conv) ** 2).sum()


def conv(x, padded):
    window_elements = ops.conv2d(x, padded)
    return (window_elements * window_elements).sum()


@pytest.mark.parametrize("function", [named_like_a_helper, conv])
def test_names_of_the_users_are_not_those_of_helpers(function):
    x, w = (
        np.random.default_rng(0).standard_normal((1, 2, 5, 5)),
        np.random.default_rng(1).standard_normal((3, 2, 2, 2)),
    )
    for form in (jit(function), grad(function, 1)):
        source = form.source(Tensor(x), Tensor(w))
        np.testing.assert_allclose(run(source, x, w), form(Tensor(x), Tensor(w)).asnumpy(), rtol=1e-12)


def test_texts_of_the_users_are_not_renamed():
    def keyed(p):
        return ops.erf(p["_erf"]).sum() + p["erf"].sum()

    params = {"_erf": Tensor(np.array([0.5])), "erf": Tensor(np.array([2.0]))}
    source = jit(keyed).source(mutable(params))
    got = run(source, {k: t.asnumpy() for k, t in params.items()})
    assert got == pytest.approx(0.5204998778130465 + 2)  # erf(1/2)


def test_the_function_takes_no_name_that_its_text_uses():
    def np(x):
        return ops.tanh(x).sum()

    def reversed(x):
        y = x
        while y.sum() < 10:
            y = y * y
        return y.sum()

    x = Tensor([2.0, 1.5])
    for function in (np, reversed):
        for form in (jit(function), grad(function)):
            got = run(form.source(x), x.asnumpy())
            assert got.tolist() == pytest.approx(form(x).asnumpy().tolist(), rel=1e-5)


@pytest.mark.parametrize("name", ['a"b', "a\nb", 'three""" quotes', "back\\slash", "\\N{", "it's"])
def test_names_of_keys_and_parameters_may_be_any_text(name):
    weight = Parameter(Tensor(np.array([2.0])), name=name)

    def keyed(p):
        return (p[name] * weight).sum()

    params = {name: Tensor(np.array([3.0]))}
    source = jit(keyed).source(mutable(params))
    (states,) = source.given.values()
    assert list(states) == [name]
    assert run(source, {name: np.array([3.0])}, states) == 6
    assert name in run_docstring(source)


def run_docstring(source: PythonSource) -> str:
    """The docstring of the function, with the spelling of texts undone."""
    return (source.function.__doc__ or "").replace("\\n", "\n").replace("\\\\", "\\")


# ------------------------------------------------------------------------------------------------ memory
def chosen(x, y):
    if x.sum() > 0:
        z = x
    else:
        z = y
    return z * 1, z.T, ops.broadcast_to(y.sum(), (2, 2)), x.reshape(4), x[0]


def same_twice(x, y):
    t = ops.sin(x)
    return t, t.T, t + y, t * 1


def kept(x, y):
    z = x
    for _ in range(3):
        z = z if z.sum() > 5 else z * 2
    return z, ops.transpose(z, (1, 0)), y


@pytest.mark.parametrize(
    "form",
    [
        grad(lambda x, y: (x * y).sum(), (0, 1)),
        grad(lambda x, y: (x + y).sum() + x.sum(), (0, 1)),
        grad(lambda x, y: (x @ y).sum(), (0, 1)),
        grad(lambda x, y: (x.sum() * y).sum(), (0, 1)),
        jit(chosen),
        jit(same_twice),
        jit(lambda x, y: (x + 0, y.T * 1, y.reshape(4) * 1, x[1:] * 1)),
        jit(kept),
    ],
)
def test_results_have_memory_of_their_own(form):
    x, y = np.array([[1.0, 2], [3, 4]]), np.array([[0.5, 0.25], [1, 2]])
    expected = form(Tensor(x), Tensor(y))
    source = form.source(Tensor(x), Tensor(y))
    got = run(source, x, y)
    results = [r for r, e in zip(got, expected, strict=True) if r is not y]  # `kept` returns y itself
    for r, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(r, e.asnumpy(), rtol=1e-12)
    for i, r in enumerate(results):
        others = [x, y, *results[:i], *results[i + 1 :]]
        assert not any(np.may_share_memory(r, o) and isinstance(r, np.ndarray) for o in others), source
        if r.ndim:
            r[...] = 7  # TypeError or ValueError if it were not writable


def test_states_and_results_are_apart():
    w, v = (Parameter(Tensor(np.full(2, n)), name=name) for name, n in (("w", 1.0), ("v", 2.0)))

    def exchange(x):
        old = w * 1
        ops.assign(w, v)
        ops.assign(v, old)
        return old, v * 1, x.sum()

    source = jit(exchange).source(TensorSpec("f64[2]"))
    parameters = source.given["parameters"]
    a, b, _ = run(source, np.ones(2), parameters)
    assert (parameters["w"].tolist(), parameters["v"].tolist()) == ([2, 2], [1, 1])
    a += 10
    b += 20
    assert (parameters["w"].tolist(), parameters["v"].tolist()) == ([2, 2], [1, 1])
    parameters["w"] += 1
    assert parameters["v"].tolist() == [1, 1]


def test_a_gradient_without_views_is_not_copied():
    assert grad(lambda x: (x * x).sum()).source(TensorSpec("f32[3]")).endswith("    return d_x\n")


# ------------------------------------------------------------------------------------------------ files and calls
def test_bfloat16_is_saved_and_read(tmp_path):
    w = Parameter(Tensor(np.array([1.0, 2.0]), bfloat16), name="w")
    source = jit(lambda x: x * w).source(Tensor(np.array([3.0, 4.0]), bfloat16))
    source.save(tmp_path / "scaled.py")
    loaded = PythonSource.load(tmp_path / "scaled.py")
    assert (loaded, loaded.name) == (source, source.name)
    assert loaded.given["parameters"]["w"].dtype == ml_dtypes.bfloat16
    got = run(loaded, np.array([3.0, 4.0], ml_dtypes.bfloat16), **loaded.given)
    assert got.astype(float).tolist() == [3, 8]


def test_a_function_without_arguments_has_a_source():
    w = Parameter(Tensor(np.array([1.0, 2.0])), name="w")

    class Model:
        @jit
        def norm(self):
            return (w * w).sum()

    assert run(jit(lambda: 1).source()) == 1
    source = jit(lambda: (w * w).sum()).source()
    assert run(source, **source.given) == 5
    source = Model().norm.source()
    assert run(source, **source.given) == 5
