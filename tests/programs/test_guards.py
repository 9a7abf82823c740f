"""What compiled code read from outside: changes are seen at the next call, else nothing is compiled; threads; tapes."""

from __future__ import annotations

import sys
import threading
import types

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn
from tests.programs.compare import assert_close, assert_same, define

X = np.array([0.4, 1.3, 2.1])


def compiles(fn):
    return fn.cache_info()["compiles"]


def follows(f, change, *, args=(), compiled=2):
    """Compiled code gives what eager code gives before and after a change, and is compiled as often as said."""
    g = ms.jit(f)
    x = ms.Tensor(X)
    for _ in range(2):
        assert_same(g(x, *args), f(x, *args), "before")
    assert compiles(g) == 1
    change()
    for _ in range(2):
        assert_same(g(x, *args), f(x, *args), "after")
    assert compiles(g) == compiled
    return g


# ------------------------------------------------------------------------------------------------ globals, closures
def test_global_number():
    f = define("k = 2.0\ndef f(x):\n    return x * k")
    follows(f, lambda: f.__globals__.update(k=3.0))


def test_global_that_is_not_read_any_more_is_defined_later():
    f = define("def f(x):\n    return x * k")
    with pytest.raises(NameError):
        ms.jit(f)(ms.Tensor(X))
    g = ms.jit(f)
    with pytest.raises(NameError):
        g(ms.Tensor(X))
    f.__globals__["k"] = 4.0
    assert_same(g(ms.Tensor(X)), ms.Tensor(X * 4.0), "defined later")


def test_builtin_shadowed_by_a_later_global():
    f = define("def f(x):\n    return x * abs(-2)")
    follows(f, lambda: f.__globals__.update(abs=lambda v: 7.0))


def test_global_function_redefined():
    f = define("def g(x):\n    return x * 2\ndef f(x):\n    return g(x) + 1")
    other = define("def g(x):\n    return x * 5", name="g")
    follows(f, lambda: f.__globals__.update(g=other))


def test_the_class_of_a_module():
    f = define("def f(x):\n    return x * made.k")
    made = f.__globals__["made"] = types.ModuleType("made")
    made.k = 2.0
    kind = type("Kind", (types.ModuleType,), {"k": property(lambda module: 8.0)})
    follows(f, lambda: setattr(made, "__class__", kind))


@pytest.mark.parametrize("before", [{}, {"__get__": lambda *args: 5.0}], ids=["plain", "descriptor"])
@pytest.mark.parametrize("hooks", [("__get__", "__set__"), ("__set__",), ("__delete__", "__get__")], ids=str)
def test_what_a_class_holds_becomes_a_descriptor(before, hooks):
    """One that objects cannot hide."""
    static = type("Static", (), before)
    one = type("Owner", (), {"k": static()})()
    vars(one)["k"] = 3.0
    f = define("def f(x):\n    return x * one.k")
    f.__globals__["one"] = one

    def change():
        for hook in hooks:
            setattr(static, hook, lambda *args: 8.0)

    follows(f, change)


def test_what_a_class_holds_gets_another_class():
    plain, other = type("Plain", (), {}), type("Other", (), {"__get__": lambda *a: 8.0, "__set__": lambda *a: None})
    one = type("Owner", (), {"k": plain()})()
    vars(one)["k"] = 2.0
    f = define("def f(x):\n    return x * one.k")
    f.__globals__["one"] = one
    follows(f, lambda: setattr(vars(type(one))["k"], "__class__", other))


def test_code_of_a_function_replaced():
    f = define("def g(x):\n    return x * 2\ndef f(x):\n    return g(x) + 1")
    g, other = f.__globals__["g"], define("def g(x):\n    return x * 5", name="g")
    follows(f, lambda: setattr(g, "__code__", other.__code__))


def test_defaults_of_a_function_replaced():
    f = define("def g(x, k=2.0, *, j=1.0):\n    return x * k * j\ndef f(x):\n    return g(x) + 1")
    g = f.__globals__["g"]
    follows(f, lambda: setattr(g, "__defaults__", (3.0,)))
    follows(f, lambda: setattr(g, "__kwdefaults__", {"j": 7.0}))


def test_closure():
    k = 2.0

    def f(x):
        return x * k

    def change():
        nonlocal k
        k = 5.0

    follows(f, change)


def test_defaults_of_the_compiled_function_itself():
    f = define("def f(x, k=2.0):\n    return x * k")
    follows(f, lambda: setattr(f, "__defaults__", (9.0,)))


@pytest.mark.parametrize("change", ["l.append(4.0)", "l[0] = 7.0", "d['a'] = 9.0", "del d['b']", "l.reverse()"])
def test_content_of_outside_containers(change):
    f = define("""
l = [1.0, 2.0]
d = {'a': 3.0, 'b': 4.0}
def f(x):
    for k in l:
        x = x * k
    return x * d['a'] + len(d)
""")
    follows(f, lambda: exec(change, f.__globals__))


def test_nested_containers():
    f = define("t = ([1.0, {'k': 2.0}], 3.0)\ndef f(x):\n    return x * t[0][1]['k'] + t[1]")
    follows(f, lambda: exec("t[0][1]['k'] = 8.0", f.__globals__))


def test_module_attribute():
    import math

    module = type(math)("settings")
    module.scale = 2.0
    f = define("def f(x):\n    return x * settings.scale", settings=module)
    follows(f, lambda: setattr(module, "scale", 3.0))


class Box:
    shared = 2.0

    def __init__(self):
        self.k = 3.0
        self.inner = None

    def apply(self, x):
        return x * self.k * self.shared

    @property
    def twice(self):
        return self.k * 2


@pytest.mark.parametrize(
    "change",
    [
        lambda b: setattr(b, "k", 5.0),
        lambda b: setattr(b, "shared", 7.0),
        lambda b: setattr(b, "apply", lambda x: x * 11.0),
    ],
    ids=["attribute", "class attribute hidden", "method hidden"],
)
def test_attributes(change):
    box = Box()
    f = define("def f(x):\n    return box.apply(x) + box.twice", box=box)
    follows(f, lambda: change(box))


def test_class_attribute_and_method_of_the_class():
    class Own(Box):
        pass

    box = Own()
    f = define("def f(x):\n    return box.apply(x)", box=box)
    follows(f, lambda: setattr(Own, "shared", 9.0))
    follows(f, lambda: setattr(Own, "apply", lambda self, x: x * 13.0))


def test_nan_is_itself():
    f = define("k = float('nan')\ndef f(x):\n    return x * k")
    follows(f, lambda: f.__globals__.update(k=float("nan")), compiled=1)


def test_types_count():
    f = define("k = 1\ndef f(x):\n    return x * k, k")
    follows(f, lambda: f.__globals__.update(k=True))
    f = define("k = 0.0\ndef f(x):\n    return x / k")
    follows(f, lambda: f.__globals__.update(k=-0.0))


def test_static_arguments_select_the_compiled_form():
    f = define("def f(x, n, flag=False, *, name='a'):\n    return (x * n if flag else x + n), name")
    g = ms.jit(f)
    x = ms.Tensor(X)
    calls = [((x, n), {}) for n in (1, 1.0, True, 2, 0.0, -0.0)]
    calls += [((x, 2, True), {}), ((x, 2), {"flag": True}), ((x, 2), {"name": "b"})]
    for args, kwargs in calls + calls:
        assert_same(g(*args, **kwargs), f(*args, **kwargs), str((args, kwargs)))
    assert compiles(g) == len(calls)


def test_dtype_and_shape_select_the_compiled_form():
    f = define("def f(x):\n    return x * 2, x.shape")
    g = ms.jit(f)
    for array in (X, X[:2], X.astype(np.float32), X.reshape(3, 1), np.array(2.0), np.array(2)) * 2:
        assert_same(g(ms.Tensor(array)), f(ms.Tensor(array)), "shape and dtype")
    assert compiles(g) == 6


def test_arrays_are_tensors():
    g = ms.jit(define("def f(x):\n    return x * 2"))
    assert_same(g(X), ms.Tensor(X * 2), "ndarray")
    assert isinstance(g(X), ms.Tensor)


# ------------------------------------------------------------------------------------------------ Tensors, Parameters
def test_captured_tensor():
    t = ms.Tensor(X)
    f = define("def f(x):\n    return x * t", t=t)
    follows(f, lambda: t.asnumpy().__setitem__(0, 9.0), compiled=1)
    follows(f, lambda: f.__globals__.update(t=ms.Tensor(X + 1)), compiled=1)
    follows(f, lambda: f.__globals__.update(t=ms.Tensor(np.array(2.0))), compiled=2)
    follows(f, lambda: f.__globals__.update(t=3), compiled=2)


def test_tensors_in_outside_containers():
    ts = [ms.Tensor(X), ms.Tensor(X * 2)]
    f = define("def f(x):\n    for t in ts:\n        x = x * t\n    return x + ts[0]", ts=ts)
    follows(f, lambda: ts.__setitem__(1, ms.Tensor(X * 5)), compiled=1)
    follows(f, lambda: ts.append(ms.Tensor(X * 3)), compiled=2)


def test_parameter_values():
    w = ms.Parameter(X, name="w")
    f = define("def f(x):\n    return x * w", w=w)
    follows(f, lambda: w.set_data(X * 3), compiled=1)
    follows(f, lambda: f.__globals__.update(w=ms.Parameter(X * 5, name="w")), compiled=2)


def test_written_parameters():
    w = ms.Parameter(np.zeros(3), name="w")
    f = define("""
def f(x):
    before = w * 1.0
    ms.ops.assign(w, w + x)
    if w.sum() > 7.0:
        ms.ops.assign(w, w * 0.5)
    return before, w * 2.0
""", w=w)  # fmt: skip
    g = ms.jit(f)
    for fn in (f, g):
        w.set_data(np.zeros(3))
        a = fn(ms.Tensor(X))
        b = fn(ms.Tensor(X))
        np.testing.assert_allclose(a[1].asnumpy(), 2 * X)
        np.testing.assert_allclose(b[0].asnumpy(), X)
        np.testing.assert_allclose(w.asnumpy(), X)  # 2 * 3.8 > 7: halved
    assert compiles(g) == 1


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(np.array([1.0, 2.0, 3.0]), name="w")
        self.fc = nn.Dense(3, 2)
        self.k = 2.0

    def construct(self, x):
        y = x * self.w * self.k
        if self.training:
            y = y + 100.0
        return y


@pytest.mark.parametrize(
    "change",
    [
        lambda net: setattr(net, "k", 5.0),
        lambda net: net.set_train(),
        lambda net: net.w.set_data(np.array([4.0, 5.0, 6.0])),
        lambda net: setattr(net, "w", ms.Parameter(np.array([7.0, 8.0, 9.0]), name="w")),
    ],
    ids=["attribute", "train", "value", "parameter"],
)
def test_cells(change):
    net = Net()
    x = ms.Tensor(X)
    g = ms.jit(net)
    for _ in range(2):
        assert_same(g(x), net(x), "before")
    change(net)
    assert_same(g(x), net(x), "after")
    count = compiles(g)
    assert_same(g(x), net(x), "after")
    assert compiles(g) == count <= 2


def test_graph_mode_runs_cells_compiled():
    net, x = Net(), ms.Tensor(X)
    expected = net(x)
    gradient = ms.grad(net)(x)
    ms.set_context(mode=ms.GRAPH_MODE)
    assert_same(net(x), expected, "Cell")
    assert_same(ms.grad(net)(x), gradient, "its gradient")
    net.k = 7.0
    ms.set_context(mode=ms.PYNATIVE_MODE)
    expected = net(x)
    ms.set_context(mode=ms.GRAPH_MODE)
    assert_same(net(x), expected, "changed")


def test_weights_in_both_modes():
    net, x = Net(), ms.Tensor(X)
    eager = ms.grad(net, None, net.trainable_params())(x)
    ms.set_context(mode=ms.GRAPH_MODE)
    assert_close(ms.grad(net, None, net.trainable_params())(x), eager, "weights", 1e-14)
    assert_close(ms.value_and_grad(net, 0, net.w)(x)[1][1], eager[0], "a single weight", 1e-14)


def test_gradients_made_anew_hit_the_cache():
    f = define("def f(x):\n    return x * x")
    ms.set_context(mode=ms.GRAPH_MODE)
    x = ms.Tensor(X)
    ms.grad(f)(x)
    first = ms.grad(f).compiled()
    for _ in range(3):
        ms.grad(f)(x)
    assert ms.grad(f).compiled() is first
    assert compiles(first) == 1


def test_disable_jit():
    f = define("def f(x):\n    marks.append(1)\n    return x", marks=(marks := []))
    g = ms.jit(f)
    with ms.disable_jit():
        g(ms.Tensor(X))
    assert marks == [1]
    assert compiles(g) == 0


# ------------------------------------------------------------------------------------------------ tapes
def nonlinear():
    return define("""
def f(x, y):
    z = x * y
    while z.sum() < 20.0:
        z = z * x + y
        if z[0] > 9.0:
            break
    return z * x, z.sum()
""")


def test_a_compiled_call_on_a_tape():
    f = nonlinear()
    g = ms.jit(f)
    x, y = ms.Tensor(X), ms.Tensor(X + 0.5)

    def around(fn):
        def run(x, y):
            a, b = fn(x * x, y)
            c, _ = fn(a * 0.1, x)
            return (c * b).sum()

        return run

    assert_close(ms.grad(around(g), (0, 1))(x, y), ms.grad(around(f), (0, 1))(x, y), "first order", 1e-12)

    def second(fn):
        def run(x, y):
            gx, gy = ms.grad(around(fn), (0, 1))(x, y)
            return (gx * gx).sum() + (gx * gy).sum()

        return run

    assert_close(ms.grad(second(g), (0, 1))(x, y), ms.grad(second(f), (0, 1))(x, y), "second order", 1e-11)

    def third(fn):
        return lambda x, y: (ms.grad(second(fn))(x, y) * x).sum()

    assert_close(ms.grad(third(g))(x, y), ms.grad(third(f))(x, y), "third order", 1e-10)


def test_what_is_not_on_the_tape_is_a_constant():
    g = ms.jit(nonlinear())
    y = ms.Tensor(X + 0.5)
    found = ms.grad(lambda x: g(x, y)[0])(ms.Tensor(X))
    assert_close(found, ms.grad(lambda x: nonlinear()(x, y)[0])(ms.Tensor(X)), "one input", 1e-12)


def test_a_tape_through_captured_tensors_and_parameters():
    t = ms.Tensor(X)
    w = ms.Parameter(X * 2, name="w")
    f = define("def f(x):\n    return x * t * w * w", t=t, w=w)
    g = ms.jit(f)
    x = ms.Tensor(X)
    assert_close(ms.grad(g, 0, [w])(x), ms.grad(f, 0, [w])(x), "weights", 1e-13)

    def outer(fn):
        def run(u):
            f.__globals__["t"] = u * u
            return fn(x)

        return run

    expected, found = (ms.grad(outer(fn))(ms.Tensor(X)) for fn in (f, g))
    assert_close(found, expected, "captured", 1e-13)


def test_writing_to_results_and_inputs_does_not_change_gradients():
    """The residuals of a compiled call are what the call saw, whatever is written afterwards."""
    f = define("def f(x, y):\n    z = x * y\n    return z, z * z")
    for fn in (f, ms.jit(f)):

        def loss(x, y, fn=fn):
            a = x * 1.0
            z, square = fn(a, y)
            total = square.sum()
            z[0] = 100.0
            a[1] = 50.0
            return total + z.sum() * 0.0

        gx, gy = ms.grad(loss, (0, 1))(ms.Tensor(X), ms.Tensor(X + 1))
        np.testing.assert_allclose(gx.asnumpy(), 2 * X * (X + 1) ** 2)
        np.testing.assert_allclose(gy.asnumpy(), 2 * X**2 * (X + 1))


def test_writing_to_a_result_changes_neither_input_nor_constants():
    f = define("def f(x):\n    return x + 0, x.reshape(3, 1), ms.Tensor([1.0, 2.0]), x * 0 + 1.0")
    g = ms.jit(f)
    x = ms.Tensor(X)
    for _ in range(2):
        results = g(x)
        assert_same(results, f(ms.Tensor(X)), "fresh results")
        for r in results:
            r.asnumpy()[...] = -1.0
        np.testing.assert_array_equal(x.asnumpy(), X)


def test_jit_of_a_derivative_of_a_compiled_function():
    f = nonlinear()
    g = ms.jit(f)
    x, y = ms.Tensor(X), ms.Tensor(X + 0.5)
    assert_close(ms.jit(ms.grad(g, (0, 1)))(x, y), ms.grad(f, (0, 1))(x, y), "jit(grad(jit))", 1e-12)


def test_stop_gradient_inside():
    f = define("def f(x):\n    return x * ms.stop_gradient(x * x) + x")
    for fn in (f, ms.jit(f)):
        np.testing.assert_allclose(ms.grad(fn)(ms.Tensor(X)).asnumpy(), X**2 + 1)
        np.testing.assert_allclose(ms.grad(lambda v: ms.grad(fn)(v).sum())(ms.Tensor(X)).asnumpy(), 0 * X)


# ------------------------------------------------------------------------------------------------ threads, interrupts
def test_concurrent_first_calls_compile_once_per_key():
    f = define("""
def f(x, n):
    for i in range(30):
        x = x * 0.9 + n
    return x
""")
    g = ms.jit(f, dynamic=False)
    keys = [(ms.Tensor(X[:size]), n) for size in (1, 2, 3) for n in (1.0, 2.0)]
    expected = [f(*k) for k in keys]
    barrier = threading.Barrier(8)
    failures = []

    def work(seed):
        barrier.wait()
        for j in range(30):
            i = (seed * 7 + j) % len(keys)
            try:
                assert_same(g(*keys[i]), expected[i], "thread")
            except BaseException as error:
                failures.append(error)
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    assert compiles(g) == len(keys)


def test_threads_differentiate_for_themselves():
    f = nonlinear()
    g = ms.jit(f)
    y = ms.Tensor(X + 0.5)
    xs = [ms.Tensor(X * s) for s in (0.5, 1.0, 1.5, 2.0)]
    expected = [ms.grad(lambda v: f(v, y)[1])(x) for x in xs]
    found = [None] * len(xs)
    gradients = [ms.grad(lambda v: g(v, y)[1]), ms.jit(ms.grad(f))]

    def work(i):
        for _ in range(10):
            found[i] = gradients[0](xs[i])
            gradients[1](xs[i], y)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(xs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, "thread", 1e-12)


def test_an_interrupt_while_compiling_leaves_a_usable_function():
    calls = []

    @ms.constexpr
    def k(i):
        calls.append(i)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return 2.0

    g = ms.jit(define("def f(x):\n    for i in range(4):\n        x = x * k(i)\n    return x", k=k))
    with pytest.raises(KeyboardInterrupt):
        g(ms.Tensor(X))
    assert {"entries": 0, "compiles": 0}.items() <= g.cache_info().items()
    assert_same(g(ms.Tensor(X)), ms.Tensor(X * 2.0 * 2.0 * 2.0 * 2.0), "after the interrupt")
    assert_same((ms.Tensor(X) * 2 + 1), ms.Tensor(X * 2 + 1), "eager code after the interrupt")
    assert_same(ms.grad(lambda v: v * v)(ms.Tensor(X)), ms.Tensor(2 * X), "tape after the interrupt")


def test_a_function_called_by_itself_while_it_is_compiled():
    """Code that runs while compiling may call compiled functions: the compiler is entered again on the same thread."""
    h = ms.jit(define("def h(x):\n    return x * 3.0", name="h"))

    @ms.constexpr
    def other(n):
        return float(h(ms.Tensor(2.0))) + (float(g(ms.Tensor(1.0), n - 1)) if n else 0)

    g = ms.jit(define("def f(x, n):\n    return x * other(n)", other=other))
    assert_same(g(ms.Tensor(X), 2), ms.Tensor(X * 18.0), "nested compile")


@pytest.mark.filterwarnings(r"ignore:\[AC200")
def test_cache_is_bounded_and_least_recently_used():
    g = ms.jit(define("def f(x, n):\n    return x * n"))
    x = ms.Tensor(X)
    for n in range(70):
        g(x, n)
    assert g.cache_info()["entries"] <= 64
    count = compiles(g)
    g(x, 69)
    assert compiles(g) == count
    g.clear_cache()
    assert g.cache_info()["entries"] == 0
    assert_same(g(x, 2), ms.Tensor(X * 2), "after clearing")
