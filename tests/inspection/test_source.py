"""Gradients as Python over NumPy: the text reads well, runs without this package, and gives the same numbers."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Parameter, Tensor, TensorSpec, grad, jit, mutable, nn, ops, py_call, value_and_grad, vmap
from autodiff_compiler.common.seed import set_seed
from autodiff_compiler.compiler.pipeline import numpy_program
from autodiff_compiler.dtypes import float16, float32, float64
from autodiff_compiler.errors import UnsupportedCallError
from autodiff_compiler.inspection.derivative_source import PythonSource, python_of_module, readable
from autodiff_compiler.inspection.samples import forward, samples_of
from autodiff_compiler.ir.primitive import REGISTRY
from autodiff_compiler.ir.text import parse_module

RNG = np.random.default_rng(5)


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape)


# ------------------------------------------------------------------------------------------------ programs
def mlp(x, w1, b1, w2, b2):
    h = ops.tanh(x @ w1 + b1)
    y = h @ w2 + b2
    return (y * y).mean()


def branches(x, y):
    if x.sum() > y.sum():
        z = x * y
    elif x.max() > 0:
        z = ops.sin(x) + y
    else:
        z = x - y
    return (z * z).sum()


def kept_loop(x):
    y = x
    for _ in range(80):
        if y.sum() > 2:
            y = y * 0.5
        else:
            y = y + ops.sin(x)
    return y.sum()


def newton(a):
    x = a
    while abs(x * x - a) > 1e-5:
        x = 0.5 * (x + a / x)
    return x


def leaving(x):
    y = x
    while y.sum() < 10:
        if y.max() > 6:
            break
        y = y * 1.5 + ops.exp(-x)
    return (y * y).sum()


def fibonacci(x, n):
    a, b = x, x * 2
    while n > 0:
        a, b = b, ops.sin(a) + b
        n = n - 1
    return (a * b).sum()


def nested_loops(x):
    total = x * 0
    for i in range(40):
        y = x + i
        while y.sum() < 70:
            y = y * 1.25 + x
        total = total + y * x
    return total.sum()


def recurrent(x, w, u):
    h = ops.zeros(u.shape[0], x.dtype)
    for t in range(x.shape[0]):
        h = ops.tanh(x[t] @ w + h @ u)
    return (h * h).sum()


def cross_entropy(x, w, labels):
    logits = x @ w
    return ops.cross_entropy(logits, labels)


def convolution(x, w):
    return (ops.relu(ops.conv2d(x, w, stride=2, pad_mode="pad", padding=1)) ** 2).sum()


def pooling(x):
    return (ops.max_pool2d(x, 2) * ops.avg_pool2d(x, 2, 2)).sum()


def attention(q, k, v):
    s = ops.softmax(q @ k.swapaxes(-1, -2) / 2.0, -1)
    return (s @ v).sum()


def normalised(x, gamma, beta):
    m = x.mean(-1, keep_dims=True)
    v = ((x - m) ** 2).mean(-1, keep_dims=True)
    y = (x - m) / ops.sqrt(v + 1e-5) * gamma + beta
    return (y * y * y).sum()


def places(x, i):
    return (x[i] * x[1:4]).sum() + (x[::2] ** 3).sum() + x[0] * x[-1]


def writing(x):
    y = ops.zeros_like(x)
    y[0] = x[1] * 2
    y[1:] = x[:-1] * x[1:]
    return (y * x).sum()


def curve(x):
    return (ops.sin(x) * x * x).sum()


def slope_squared(x):
    return (grad(curve)(x) ** 2).sum()


def log_determinant(a):
    return ops.log(ops.abs(ops.det(a @ a.T + a)))


def in_a_dict(params, x):
    return ((params["w"] * x + params["b"]) ** 2).sum()


def special(x):
    return (ops.gelu(x) + ops.erf(x) * ops.softplus(x)).sum()


class Clipped(nn.Cell):
    """Its own derivative clips the cotangent."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (ops.clamp(dout, -1, 1) * 2 * x,)


clipped = Clipped()


def own_derivative(x):
    return (clipped(x) * x).sum()


@dataclass
class Program:
    name: str
    function: Any
    args: tuple[Any, ...]
    by: Any = 0

    def __repr__(self) -> str:
        return self.name


PROGRAMS = [
    Program("mlp", mlp, (draw(8, 3), draw(3, 5), draw(5), draw(5, 2), draw(2)), (0, 1, 2, 3, 4)),
    Program("branch_then", branches, (abs(draw(4)), -abs(draw(4))), (0, 1)),
    Program("branch_elif", branches, (draw(4) + 1, draw(4) + 9), (0, 1)),
    Program("branch_else", branches, (-abs(draw(4)), abs(draw(4))), (0, 1)),
    Program("kept_loop", kept_loop, (draw(4),)),
    Program("newton", newton, (np.array(2.0),)),
    Program("leaving", leaving, (np.array([0.5, 0.25]),)),
    Program("fibonacci", fibonacci, (draw(3), np.array(5))),
    Program("nested_loops", nested_loops, (abs(draw(3)),)),
    Program("recurrent", recurrent, (draw(60, 3) / 4, draw(3, 4), draw(4, 4) / 4), (0, 1, 2)),
    Program("cross_entropy", cross_entropy, (draw(4, 3), draw(3, 5), np.array([1, 2, 3, 4])), (0, 1)),
    Program("convolution", convolution, (draw(2, 3, 7, 8), draw(4, 3, 3, 3)), (0, 1)),
    Program("pooling", pooling, (draw(2, 3, 6, 6),)),
    Program("attention", attention, (draw(2, 5, 4), draw(2, 5, 4), draw(2, 5, 4)), (0, 1, 2)),
    Program("normalised", normalised, (draw(2, 5), draw(5), draw(5)), (0, 1, 2)),
    Program("places", places, (draw(6), np.array([0, 2, -1]))),
    Program("writing", writing, (draw(5),)),
    Program("second_order", slope_squared, (draw(3),)),
    Program("log_determinant", log_determinant, (draw(3, 3),)),
    Program("special", special, (draw(3),)),
]


def flat(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [leaf for part in x.values() for leaf in flat(part)]
    if isinstance(x, tuple | list):
        return [leaf for part in x for leaf in flat(part)]
    return [x.asnumpy() if isinstance(x, Tensor) else np.asarray(x)]


def at(dtype: Any, args: tuple[Any, ...]) -> list[Any]:
    return [a.astype(dtype) if a.dtype.kind == "f" else a for a in args]


def assert_close(got: Any, expected: Any, **tolerance: Any) -> None:
    for g, e in zip(flat(got), flat(expected), strict=True):
        assert g.shape == e.shape
        assert g.dtype == e.dtype
        np.testing.assert_allclose(g, e, **tolerance)


def assert_readable(source: PythonSource) -> None:
    tree = ast.parse(source)
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"numpy", "math", "scipy", "sys", "ml_dtypes", "__future__"}
    assert max(map(len, source.splitlines())) <= 100
    assert not any(keyword.arg == "out" for node in ast.walk(tree) if isinstance(node, ast.Call)
                   for keyword in node.keywords)  # fmt: skip


# ------------------------------------------------------------------------------------------------ numbers
@pytest.mark.some(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=repr)
def test_gradient_is_that_of_eager_code(program):
    for dtype, rtol in ((np.float64, 1e-11), (np.float32, 2e-4)):
        args = at(dtype, program.args)
        tensors = [Tensor(a) for a in args]
        derivative = grad(program.function, program.by)
        source = derivative.source(*tensors)
        assert_readable(source)
        assert_close(source.function(*args), derivative(*tensors), rtol=rtol, atol=rtol)


@pytest.mark.some(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=repr)
def test_gradient_is_that_of_finite_differences(program):
    """The text alone, of the function and of its gradient."""
    args = at(np.float64, program.args)
    tensors = [Tensor(a) for a in args]
    function = jit(program.function).source(*tensors).function
    gradients = flat(grad(program.function, program.by).source(*tensors).function(*args))
    for position, gradient in zip([program.by] if isinstance(program.by, int) else program.by, gradients, strict=True):
        direction, step = RNG.standard_normal(args[position].shape), 1e-6
        shifted = [[a + s * step * direction if i == position else a for i, a in enumerate(args)] for s in (1, -1)]
        slope = (function(*shifted[0]) - function(*shifted[1])) / (2 * step)
        assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_value_and_gradient():
    args = at(np.float64, PROGRAMS[0].args)
    value, (d_w1,) = value_and_grad(mlp, (1,)).source(*map(Tensor, args)).function(*args), (None,)
    expected = value_and_grad(mlp, (1,))(*map(Tensor, args))
    assert_close(value, expected, rtol=1e-12)
    assert d_w1 is None


def test_gradient_for_every_example_of_a_batch():
    x = draw(4, 3)
    per_example = vmap(grad(curve))
    expected = np.stack([grad(curve)(Tensor(row)).asnumpy() for row in x])
    assert_close(per_example.source(Tensor(x)).function(x), expected, rtol=1e-12)


def test_own_derivative_of_a_cell_shows_its_operations():
    x = draw(4)
    source = grad(own_derivative).source(Tensor(x))
    assert "np.clip(x, -1.0, 1.0)" in source
    assert_close(source.function(x), np.clip(x, -1, 1) * 2 * x + x * x, rtol=1e-12)


def test_containers_are_taken_as_they_are_given():
    params, x = {"w": Tensor(draw(3)), "b": Tensor(draw(3))}, Tensor(draw(3))
    derivative = grad(in_a_dict)
    source = derivative.source(mutable(params), x)
    assert "def grad_in_a_dict(params, x):" in source
    assert 'params["w"] * x + params["b"]' in source
    arrays = {name: t.asnumpy() for name, t in params.items()}
    assert_close(source.function(arrays, x.asnumpy()), derivative(mutable(params), x), rtol=1e-12)


# ------------------------------------------------------------------------------------------------ states
class Net(nn.Cell):
    """One of everything that has states."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.drop = nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Dropout(p=0.25)
        self.dense = nn.Dense(3 * 16, 2)

    def construct(self, x):
        return self.dense(self.drop(ops.relu(self.bn(self.conv(x)))).reshape(2, -1))


def test_training_step_updates_the_dict_of_parameters():
    set_seed(3)
    net = Net()
    net.set_train()
    optimizer, loss = nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.CrossEntropyLoss()
    forward_backward = value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    @jit
    def step(x, y):
        value, gradients = forward_backward(x, y)
        optimizer(gradients)
        return value

    x, y = draw(2, 1, 4, 4).astype(np.float32), np.array([0, 1])
    source = step.source(Tensor(x), Tensor(y))
    assert_readable(source)
    (states,) = source.given.values()
    assert set(states) >= {"conv.weight", "bn.moving_mean", "dense.bias", "moments.conv.weight", "global_step"}
    before = {name: array.copy() for name, array in states.items()}
    for _ in range(3):
        value = source.function(x, y, states)
        assert_close(value, step(Tensor(x), Tensor(y)), rtol=1e-4)
    assert not np.array_equal(before["conv.weight"], states["conv.weight"])
    for parameter in net.get_parameters():
        np.testing.assert_allclose(states[parameter.name], parameter.asnumpy(), rtol=1e-3, atol=1e-5)


def test_gradients_of_a_cell_and_its_own_source():
    set_seed(4)
    dense = nn.Dense(3, 2)
    x = draw(5, 3).astype(np.float32)
    source = dense.source(Tensor(x))
    assert source.splitlines()[-1] == "    return x @ weight.T + bias"
    assert_close(source.function(x, **source.given), dense(Tensor(x)), rtol=1e-5)
    weights = list(dense.trainable_params())
    derivative = grad(lambda x: (dense(x) ** 2).sum(), None, weights)
    source = derivative.source(Tensor(x))
    assert "d_bias = " in source
    assert_close(source.function(x, **source.given), derivative(Tensor(x)), rtol=1e-4)


def test_random_numbers_are_those_of_the_graph():
    @jit
    def noisy(x):
        return (x * ops.rand(4)).sum()

    set_seed(11)
    derivative = grad(noisy)
    x = Tensor(np.ones(4, np.float32))
    source = derivative.source(x)
    set_seed(11)
    states = derivative.source(x).given["parameters"]
    assert_close([source.function(x.asnumpy(), states) for _ in range(2)], [derivative(x), derivative(x)], rtol=0)


def test_tensors_from_outside_are_arguments_or_constants():
    small, large = Tensor(draw(2)), Tensor(draw(1000))
    scale = Parameter(Tensor(np.array(3.0)), name="scale")

    def outside(x):
        return ((x * large).sum() + small.sum() * x.sum()) * scale

    source = grad(outside).source(Tensor(draw(1000)))
    assert set(source.given) == {"large", "parameters"}
    assert "SMALL = np.array([" in source
    assert_close(source.function(draw(1000), **source.given), 3 * (large.asnumpy() + small.asnumpy().sum()), rtol=1e-12)


def test_written_arguments_are_updated_and_results_keep_what_they_were():
    def update(x, y):
        old, swapped = y[1:], y * x
        y[1] = x[0] * 3
        x[0] = y.sum()
        return old, swapped, y[:2]

    arrays = [draw(3), draw(3)]
    tensors = [Tensor(a.copy()) for a in arrays]
    source = jit(update).source(*tensors)
    got, expected = source.function(*arrays), jit(update)(*tensors)
    assert_close(got, expected, rtol=1e-12)
    assert_close(arrays, tensors, rtol=1e-12)


# ------------------------------------------------------------------------------------------------ text
def test_an_argument_that_may_be_returned_is_returned():
    for start in (1.0, 2.0):  # the loop leaves 1 as it is
        a = np.array(start)
        assert_close(jit(newton).source(Tensor(a)).function(a), jit(newton)(Tensor(a)), rtol=1e-12)


def test_an_mlp_reads_like_a_textbook():
    source = grad(mlp, (1, 2, 3, 4)).source(
        *[TensorSpec(t) for t in ("f32[8,3]", "f32[3,5]", "f32[5]", "f32[5,2]", "f32[2]")]
    )
    body = source[source.index("def ") :]
    code = [line.strip() for line in body.splitlines()[2:] if line.strip() and not line.strip().startswith("#")]
    assert code == [
        "h = np.tanh(x @ w1 + b1)",
        "y = h @ w2 + b2",
        "d_y = 0.125 * y",
        "d_b2 = d_y.sum(axis=0)",
        "d_h = d_y @ w2.T",
        "d_w2 = h.T @ d_y",
        "g = d_h * (1 - h * h)",
        "d_b1 = g.sum(axis=0)",
        "d_w1 = x.T @ g",
        "return d_w1, d_b1, d_w2, d_b2",
    ]  # fmt: skip
    line = mlp.__code__.co_firstlineno + 1
    assert f"    # test_source.py:{line}: h = ops.tanh(x @ w1 + b1)\n    h = " in body
    assert f"    # backward of test_source.py:{line}: h = ops.tanh(x @ w1 + b1)\n    g = " in body


def test_a_backward_pass_without_a_forward_one_begins_below_the_docstring():
    def f(w):
        return (w * w).sum()

    lines = grad(f).source(TensorSpec("f32[3]")).splitlines()
    end = max(i for i, line in enumerate(lines) if line.endswith('"""'))
    assert lines[end + 1].startswith("    # backward of test_source.py:")


@pytest.mark.parametrize("helper", readable.__all__)
def test_what_is_printed_above_a_program_has_no_parameter_that_it_does_not_read(helper):
    (function,) = ast.parse(inspect.getsource(getattr(readable, helper))).body
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    assert {x.arg for x in function.args.args} <= read


def test_control_flow_is_written_as_statements():
    source = grad(newton).source(TensorSpec("f64[]"))
    code = [line for line in source.splitlines() if line.startswith("    ") and "#" not in line and '"""' not in line]
    assert [line[4:] for line in code] == [
        "x = a",
        "saved_x = []",
        "while np.abs(x * x - a) > 1e-05:",
        "    saved_x.append(x)",
        "    x = 0.5 * (x + a / x)",
        "d_x = np.float64(1)",
        "d_a = np.float64(0)",
        "for x in reversed(saved_x):",
        "    g = d_x * 0.5",
        "    g_1 = g / x",
        "    d_x = g - g_1 * (a / x)",
        "    d_a = d_a + g_1",
        "d_a = d_x + d_a",
        "return d_a",
    ]


#: A function that calls itself and has one result.
RECURSIVE = """
func @f(%n: i64[]) -> (i64[]) {
  %r: i64[] = call %n {fn="@g"}
  return %r
}
func @g(%n: i64[]) -> (i64[]) {
  %zero: i64[] = const {value=0}
  %one: i64[] = const {value=1}
  %p: bool[] = greater %n, %zero
  %r: i64[] = if %p then {
    %m: i64[] = sub %n, %one
    %q: i64[] = call %m {fn="@g"}
    %t: i64[] = add %q, %n
    yield %t
  } else {
    yield %zero
  }
  return %r
}
"""


def test_a_function_with_one_result_gives_that():
    source = python_of_module(parse_module(RECURSIVE))
    (total,) = source.function(np.array(4))
    assert (np.shape(total), total) == ((), 4 + 3 + 2 + 1)
    assert "return r" in source


def test_it_runs_without_the_package(tmp_path):
    args = at(np.float64, PROGRAMS[0].args)
    source = grad(mlp).source(*map(Tensor, args))
    path = tmp_path / "gradient.py"
    source.save(path)
    np.savez(tmp_path / "args.npz", *args)
    script = (
        "import sys; sys.modules['autodiff_compiler'] = None\n"
        "import numpy as np, gradient\n"
        "print(float(gradient.grad_mlp(*np.load('args.npz').values()).sum()))"
    )
    out = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert float(out.stdout) == pytest.approx(float(grad(mlp)(*map(Tensor, args)).asnumpy().sum()), rel=1e-9)


def test_what_it_was_given_is_saved_beside_it(tmp_path):
    dense = nn.Dense(3, 2)
    dense.source(Tensor(np.ones((1, 3), np.float32))).save(tmp_path / "dense.py")
    with np.load(tmp_path / "dense.py.npz") as saved:
        assert sorted(saved) == ["parameters/bias", "parameters/weight"]
        np.testing.assert_array_equal(saved["parameters/weight"], dense.weight.asnumpy())


def test_names_are_no_names_of_python_or_numpy():
    def function(np, x, lambda_):
        return (np * x * lambda_).sum()

    source = grad(function).source(*[TensorSpec("f64[2]")] * 3)
    assert_close(source.function(draw(2), np.array([1.0, 2.0]), np.array([3.0, 4.0])), np.array([3.0, 8.0]))


# ------------------------------------------------------------------------------------------------ calls
def test_without_arguments_it_is_what_was_compiled_last():
    derivative = grad(curve)
    with pytest.raises(TypeError, match=r"source\(\) of grad_curve needs the arguments of a call, or a TensorSpec"):
        derivative.source()
    derivative.lower(TensorSpec("f64[7]"))
    assert "Takes x: f64[7]." in derivative.source()
    compiled = derivative.compiled()
    compiled(Tensor(draw(9)))
    assert "Takes x: f64[9]." in derivative.source()
    assert compiled.source() == derivative.source()


def test_artifact_has_the_same_text():
    derivative = grad(curve)
    assert derivative.lower(TensorSpec("f64[7]")).source() == derivative.source(TensorSpec("f64[7]"))


def test_a_function_of_the_users_cannot_be_written():
    def on_the_host(x):
        return py_call(np.sort, x, out=x)

    with pytest.raises(UnsupportedCallError, match="host_call cannot be written as Python over NumPy") as caught:
        jit(on_the_host).source(Tensor(draw(2)))
    assert caught.value.loc.line == on_the_host.__code__.co_firstlineno + 1


def test_compiled_code_cannot_ask_for_it():
    derivative = grad(curve)

    @jit
    def asking(x):
        return derivative.source(x)

    with pytest.raises(UnsupportedCallError, match="compiled code cannot look at compiled forms"):
        asking(Tensor(draw(2)))


# ------------------------------------------------------------------------------------------------ ops
SAMPLED = sorted(name for name, defn in REGISTRY.items() if defn.samples is not None and "group" not in defn.schema)


@pytest.mark.some(6)
@pytest.mark.parametrize("name", SAMPLED)
def test_every_op_is_written_as_it_computes(name):
    defn, written = REGISTRY[name], 0
    for dtype in (float64, float32, float16):
        for xs, attrs in samples_of(defn, dtype):
            found = forward(defn, xs, attrs)
            if found is None:
                continue
            module, xs = found
            try:
                expected = numpy_program(module).run(*[np.array(x) for x in xs])
            except (ArithmeticError, LookupError, TypeError, ValueError):  # such operands are refused
                continue
            source = python_of_module(module)
            assert_readable_op(source)
            with np.errstate(all="ignore"):  # samples hold what overflows
                got = source.function(*[np.array(x) for x in xs])
            tolerance = {2: 2e-3, 4: 1e-5, 8: 1e-12}
            for g, e in zip(got, expected, strict=True):
                rtol = tolerance.get(e.itemsize, 0) if e.dtype.kind == "f" else 0
                assert_close(np.asarray(g), e, rtol=rtol, atol=rtol)
            written += 1
    assert written or name in NOT_RUN


#: Ops whose samples no NumPy program can run.
NOT_RUN: set[str] = set()


def assert_readable_op(source: PythonSource) -> None:
    assert "import autodiff_compiler" not in source
    assert max(map(len, source.splitlines())) <= 100
