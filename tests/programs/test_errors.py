"""Bad input: the code, the line, the advice, the builtin class; nothing cached, nothing changed."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.programs.compare import assert_same, define

X = np.array([0.4, 1.3, 2.1])

# What is wrong, the code, the builtin class, the line it is found in, a word the text must hold, the program.
BAD = [
    ("dtypes differ at a join", "AC1401", TypeError, 4, "f32", """
def f(x):
    if x[0] > 0:
        y = x.astype(ms.float32)
    else:
        y = x
    return y
"""),
    ("ranks differ at a join", "AC1402", TypeError, 4, "[3] on one path and []", """
def f(x):
    if x[0] > 0:
        y = x * 2
    else:
        y = x.sum()
    return x.reshape(y.shape)
"""),
    ("ranks of returned values differ", "AC1402", TypeError, 4, "return value", """
def returned(x, v):
    if v > 0:
        return x
    return v
def f(x):
    return ms.vmap(lambda v: returned(x, v))(x)
"""),
    ("lengths differ", "AC1403", TypeError, 4, "tuple of 2", """
def f(x):
    if x[0] > 0:
        y = (x, x)
    else:
        y = (x, x, x)
    return y
"""),
    ("keys differ", "AC1403", TypeError, 3, "keys", """
def f(x):
    y = {'a': x} if x[0] > 0 else {'b': x}
    return y
"""),
    ("a container and a Tensor", "AC1403", TypeError, 4, "tuple", """
def f(x):
    if x[0] > 0:
        y = (x,)
    else:
        y = x
    return y
"""),
    ("None and a value", "AC1404", TypeError, 4, "None", """
def f(x):
    if x[0] > 0:
        return x
"""),
    ("two strings", "AC1405", TypeError, 3, "'a'", """
def f(x):
    y = 'a' if x[0] > 0 else 'b'
    return y
"""),
    ("two functions", "AC1405", TypeError, 3, "call both", """
def f(x):
    g = (lambda u: u) if x[0] > 0 else (lambda u: u * 2)
    return g(x)
"""),
    ("dtype changes in a loop", "AC1406", TypeError, 4, "'y'", """
def f(x):
    y = x
    while y.sum() < 9:
        y = y.astype(ms.float32) * 2
    return y
"""),
    ("dtype changes in a loop", "AC1406", TypeError, 4, "'y'", """
def f(x):
    y = x
    while y.sum() < 9:
        y = y.astype(ms.float16) * 2
    return y
"""),
    ("container grows in a dynamic loop", "AC1504", RuntimeError, 4, "size", """
def f(x):
    y = []
    while x.sum() < 9:
        y.append(str(x.shape))
        x = x * 2
    return x
"""),
    ("unknown name", "AC1201", NameError, 4, "`total`", """
total = 1
def f(x):
    return x * totl
"""),
    ("value on some paths only", "AC1202", UnboundLocalError, 5, "'y'", """
def f(x):
    if x[0] > 0:
        y = x
    return y
"""),
    ("value only if the loop runs", "AC1202", UnboundLocalError, 5, "'y'", """
def f(x):
    while x.sum() < 9:
        y = x = x * 2
    return y
"""),
    ("read before assignment", "AC1202", UnboundLocalError, 3, "'y'", """
def f(x):
    z = y
    y = x
    return z
"""),
    ("unknown attribute of a Tensor", "AC1203", AttributeError, 3, "`sum`", """
def f(x):
    return x.sun()
"""),
    ("unknown attribute of an object", "AC1203", AttributeError, 6, "`scale`", """
class Box:
    scale = 2
box = Box()
def f(x):
    return x * box.scal
"""),
    ("missing argument", "AC1204", TypeError, 5, "'b'", """
def g(a, b):
    return a * b
def f(x):
    return g(x)
"""),
    ("unexpected argument", "AC1204", TypeError, 5, "'c'", """
def g(a, b=1):
    return a * b
def f(x):
    return g(x, c=3)
"""),
    ("truth of a vector", "AC1301", ValueError, 3, ".any()", """
def f(x):
    if x > 0:
        return x
    return x * 2
"""),
    ("axis known only at run time", "AC1302", TypeError, 3, "`axis`", """
def f(x):
    return x.reshape(3, 1).sum(int(x[0]))
"""),
    ("length of a comprehension", "AC1303", TypeError, 3, "ops.where", """
def f(x):
    return [v for v in (x, x * 2) if v[0] > 0]
"""),
    ("identity of Tensors", "AC1304", TypeError, 3, "==", """
def f(x):
    return x is (x * 2)
"""),
    ("run-time index into a list", "AC1305", TypeError, 3, "stack", """
def f(x):
    return [x, x * 2][int(x[0])]
"""),
    ("run-time bounds of a slice", "AC1306", TypeError, 3, "slice", """
def f(x):
    return [x, x * 2][:int(x[0])]
"""),
    ("shapes that do not broadcast", "AC1410", ValueError, 3, "reshape", """
def f(x):
    return x + x.reshape(3, 1).sum(1, keepdims=True).reshape(1, 3)[:, :2]
"""),
    ("shapes that do not multiply", "AC1410", ValueError, 3, "3", """
def f(x):
    return x.reshape(1, 3) @ x.reshape(1, 3)
"""),
    ("a dtype an op does not take", "AC1410", TypeError, 3, "float", """
def f(x):
    return x << 2
"""),
    ("a loop too long to unroll", "AC1501", RuntimeError, 5, "2000", """
def f(x):
    ys = []
    for i in range(2000):
        ys.insert(0, x)
    return ys[0]
"""),
    ("a loop that must be kept", "AC1502", RuntimeError, 5, "kept", """
def f(x):
    ys = []
    for i in keep(range(5)):
        ys.insert(0, x)
    return ys[0]
"""),
    ("a loop without end", "AC1503", RuntimeError, 3, "never ends", """
def f(x):
    while True:
        x = x * 2
    return x
"""),
    ("recursion without end", "AC1505", RecursionError, 3, "256", """
def f(x, n=0):
    return f(x, n + 1)
"""),
    ("recursion decided by a Tensor", "AC1506", RecursionError, 5, "while", """
def f(x):
    if x.sum() > 100:
        return x
    return f(x * 2)
"""),
    ("write to a global Parameter", "AC1601", RuntimeError, 5, "ops.assign", """
total = ms.Parameter(ms.Tensor([1.0]), name="total")
def f(x):
    global total
    total = x
    return x
"""),
    ("change of an outside array", "AC1602", RuntimeError, 4, "copy", """
seen = np.zeros(3)
def f(x):
    seen[0] = 1.0
    return x
"""),
    ("write to an enclosing variable in the backward pass", "AC1603", RuntimeError, 6, "attribute", """
def f(x):
    k = 0
    def g(dx):
        nonlocal k
        k = k + 1
        return dx
    return ms.grad(lambda v: ms.ops.InsertGradientOf(g)(v * 2).sum())(x) + k
"""),
    ("frozen randomness", "AC1604", RuntimeError, 4, "argument", """
import random
def f(x):
    return x * random.random()
"""),
    ("try", "AC1101", NotImplementedError, 3, "if", """
def f(x):
    try:
        return x
    except ValueError:
        return x * 2
"""),
    ("yield", "AC1107", NotImplementedError, 3, "list", """
def f(x):
    yield x
"""),
    ("class inside", "AC1109", NotImplementedError, 3, "module level", """
def f(x):
    class A:
        pass
    return x
"""),
    ("loop over a set", "AC1105", NotImplementedError, 3, "sorted", """
def f(x):
    for k in {1, 2}:
        x = x * k
    return x
"""),
    ("bare raise", "AC1104", NotImplementedError, 4, "raise ValueError", """
def f(x):
    if x[0] > 0:
        raise
    return x
"""),
    ("context manager", "AC1108", NotImplementedError, 5, "nullcontext", """
import threading
lock = threading.Lock()
def f(x):
    with lock:
        return x
"""),
    ("plain class", "AC1804", NotImplementedError, 5, "NamedTuple", """
class A:
    pass
def f(x):
    return A()
"""),
    ("leaving the graph", "AC1801", NotImplementedError, 3, "op", """
def f(x):
    return x.tolist()
"""),
    ("NumPy function without a mapping", "AC1805", NotImplementedError, 3, "ops.", """
def f(x):
    return np.nanprod(x)
"""),
    ("forbidden builtin", "AC1806", NotImplementedError, 3, "outside", """
def f(x):
    return x * eval('2')
"""),
]  # fmt: skip


@pytest.mark.parametrize(("code", "kind", "line", "word", "program"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_refused(code, kind, line, word, program):
    f = define(program, keep=_keep())
    g, gradient = ms.jit(f), ms.jit(ms.grad(f))
    x = ms.Tensor(X)
    for fn in (g, g, gradient):
        with pytest.raises(ms.CompileError) as caught:
            fn(x)
        error = caught.value
        assert error.code == code, str(error)
        assert isinstance(error, kind)
        assert error.loc is not None, str(error)
        assert error.loc.line == line, str(error)
        assert word in str(error), str(error)
        assert {"entries": 0, "compiles": 0}.items() <= fn.cache_info().items()
    assert error.hint, f"no advice: {error}"
    np.testing.assert_array_equal(x.asnumpy(), X)


def _keep():
    def keep(items):
        return items

    keep.__graph_name__ = "keep"
    return keep


def test_an_error_in_a_callee_shows_the_call():
    f = define("""
def inner(u):
    return u + u[:2]

def f(x):
    return inner(x) * 2
""")
    with pytest.raises(ValueError, match=r"called from .*:6 in f:  return inner\(x\) \* 2") as caught:
        ms.jit(f)(ms.Tensor(X))
    assert caught.value.loc.line == 3
    assert [place.line for place in caught.value.chain] == [6]


def test_code_that_is_not_reached_may_hold_anything():
    f = define("""
def f(x, flag=False):
    if flag:
        try:
            return x.nonsense + undefined
        except Exception:
            yield_ = {1: lambda: (v for v in x)}
    return x * 2
""")
    assert_same(ms.jit(f)(ms.Tensor(X)), ms.Tensor(X * 2), "the branch is pruned")


# ------------------------------------------------------------------------------------------------ derivatives
@pytest.mark.parametrize("position", [-1, (0, 0), (0, -2)])
def test_positions(position):
    with pytest.raises(ValueError, match="grad_position"):
        ms.grad(lambda x: x, position)


@pytest.mark.parametrize("position", ["0", [0], 0.0, True, (0, "1")])
def test_types_of_positions(position):
    with pytest.raises(TypeError, match="grad_position"):
        ms.grad(lambda x: x, position)


def test_neither_position_nor_weights():
    with pytest.raises(ValueError, match="`weight` can not be None"):
        ms.grad(lambda x: x, None)


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "compiled"])
def test_gradients_of_what_is_no_tensor(wrap):
    class Thing:
        k = 2.0

    f = define("def f(x, thing, n):\n    return x * thing.k * n")
    x = ms.Tensor(X)
    with pytest.raises(ValueError, match="grad_position 5"):
        wrap(ms.grad(f, 5))(x, Thing(), 2)
    with pytest.raises(TypeError, match="Tensor") as caught:
        wrap(ms.grad(f, 1))(x, Thing(), 2)
    assert caught.value.code == "AC1701"
    with pytest.raises(ms.CompileError, match="'n', is asked for, but it is of type int") as caught:
        wrap(ms.grad(f, 2))(x, Thing(), 2)
    assert caught.value.code == "AC1701"
    found = wrap(ms.grad(f, (0, 2)))(x, Thing(), 2)
    assert_same(found, (ms.Tensor(X * 0 + 4.0), ()), "a number has no gradient")


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "compiled"])
def test_sensitivities(wrap):
    f = define("def f(x):\n    return x * x, x.sum()")
    derivative = wrap(ms.GradOperation(sens_param=True)(f))
    x = ms.Tensor(X)
    good = derivative(x, (ms.Tensor(np.ones(3)), ms.Tensor(np.array(2.0))))
    np.testing.assert_allclose(good.asnumpy(), 2 * X + 2.0)
    for sens in ((ms.Tensor(np.ones(2)), ms.Tensor(np.array(2.0))), ms.Tensor(np.ones(3))):
        with pytest.raises(TypeError):
            derivative(x, sens)


def test_weights_must_be_parameters():
    with pytest.raises(TypeError, match="Parameter"):
        ms.grad(lambda x: x, None, [ms.Tensor(1.0)])


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "compiled"])
def test_aux_needs_a_second_result(wrap):
    with pytest.raises(ValueError, match="has_aux"):
        wrap(ms.grad(lambda x: x * 2, has_aux=True))(ms.Tensor(X))


@pytest.mark.filterwarnings(r"ignore:\[AC2003")
def test_shares_of_integers_are_cut_and_constants_have_no_gradient():
    f = define("def f(i, x):\n    return (i * x).sum(), 3, None, i")
    i, x = ms.Tensor(np.array([1, 2, 3])), ms.Tensor(X)
    for fn in (ms.grad(f, (0, 1)), ms.jit(ms.grad(f, (0, 1)))):
        di, dx = fn(i, x)
        assert di.dtype is ms.int64
        np.testing.assert_array_equal(di.asnumpy(), X.astype(np.int64) + 1)
        np.testing.assert_array_equal(dx.asnumpy(), [1.0, 2.0, 3.0])


# ------------------------------------------------------------------------------------------------ no change
def test_a_failed_compile_changes_no_state():
    w = ms.Parameter([1.0, 2.0], name="w")
    f = define("""
def f(x):
    ms.ops.assign(w, x) if False else None
    w2 = w * x
    return w2 + x[:1].nonsense
""", w=w)  # fmt: skip
    g = ms.jit(f)
    for _ in range(2):
        with pytest.raises(AttributeError):
            g(ms.Tensor([5.0, 6.0]))
    assert w.tolist() == [1.0, 2.0]
    assert {"entries": 0, "compiles": 0}.items() <= g.cache_info().items()


def test_a_function_works_after_a_failed_call_with_other_arguments():
    f = define("def f(x, y):\n    return x + y")
    g = ms.jit(f)
    with pytest.raises(ValueError, match="3"):
        g(ms.Tensor(X), ms.Tensor(X[:2]))
    assert_same(g(ms.Tensor(X), ms.Tensor(X)), ms.Tensor(X + X), "other shapes")
    assert {"entries": 1, "compiles": 1}.items() <= g.cache_info().items()


def test_a_run_time_error_leaves_the_compiled_form_usable():
    f = define("""
def f(x, n):
    if n > 2:
        raise ValueError("n is large")
    return x[int(n)]
""")
    g = ms.jit(f)
    x = ms.Tensor(X)
    assert g(x, ms.Tensor(1)).item() == X[1]
    with pytest.raises(ValueError, match="n is large") as caught:
        g(x, ms.Tensor(5))
    assert any("raised at" in note for note in caught.value.__notes__)
    with pytest.raises(IndexError):
        g(x, ms.Tensor(-9))
    assert g(x, ms.Tensor(0)).item() == X[0]
    assert {"entries": 1, "compiles": 1}.items() <= g.cache_info().items()


def test_what_cannot_be_compiled_at_all():
    with pytest.raises(TypeError):
        ms.jit(3)
    with pytest.raises(OSError, match="AC1001"):
        ms.jit(eval("lambda x: x"))(ms.Tensor(X))
    space = {}
    exec("def f(x):\n    return x", space)
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(space["f"])(ms.Tensor(X))
    assert caught.value.code == "AC1001"
    assert caught.value.hint
