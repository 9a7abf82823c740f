"""`py_call` and `constexpr`: plain Python at run time and at compile time."""

from __future__ import annotations

import collections
import dataclasses
import io

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.errors import BpropError, CompileError, NotDifferentiableError
from tests.agreement import same_text
from tests.selection import is_long

from .compare import assert_same, check, define

X = np.array([[0.3, 1.2], [2.1, -0.4]])
Pair = collections.namedtuple("Pair", "total rows")


def sine(a):
    return np.sin(a)


def sine_bprop(x, out, dout):
    return ops.cos(x) * dout


def spoiled(a):
    a[...] = 7.0
    return a


def pair(a, number, names):
    assert isinstance(number, float)
    assert isinstance(a, np.ndarray)
    return Pair(float(a.sum()) * number, {n: a[i] for i, n in enumerate(names["rows"])})


VALUES = {
    "like a Tensor": lambda x: ms.py_call(np.sqrt, x * x, out=x),
    "spec": lambda x: ms.py_call(np.linalg.eigvalsh, x @ x.T, out=ms.TensorSpec(2, "float64")),
    "number": lambda x: ms.py_call(lambda a: float(a.sum()), x, out=float) + 1.0,
    "int and bool": lambda x: ms.py_call(lambda a: (a.size, bool(a[0, 0] > 5)), x, out=(int, bool)),
    "number for a 0-d Tensor": lambda x: ms.py_call(lambda a: 3, x, out=ms.TensorSpec((), "float64")) * x,
    "structure": lambda x: ms.py_call(
        pair, x, x.sum().item(), {"rows": ["a", "b"]}, out=Pair(float, {"a": x[0], "b": x[1]})
    ),
    "a Tensor returned": lambda x: ms.py_call(lambda a: ms.Tensor(a * 2.0), x, out=x),
    "array argument": lambda x: ms.py_call(np.sum, x.asnumpy(), out=float),
    "static arguments": lambda x: ms.py_call(np.full, x.shape, 2.0, out=x) * x,
    "copies": lambda x: (ms.py_call(spoiled, x, out=x), x),
    "of a compiled function": lambda x: ms.py_call(lambda a: INNER(ms.Tensor(a)), x, out=x),
    "a name of the enclosing function": lambda x: enclosing(x),
}
INNER = ms.jit(lambda x: x * 2.0)


def enclosing(x):
    k = 3.0

    def times(a, offset=1.0):
        return a * k + offset

    return ms.py_call(times, x, out=x)


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    x = ms.Tensor(X)
    expected, found = VALUES[name](x), ms.jit(VALUES[name])(x)
    assert type(found) is type(expected)
    assert_same(found, expected, name)
    np.testing.assert_array_equal(x.asnumpy(), X)


WRONG = {
    "dtype": (lambda x: ms.py_call(lambda a: a.astype(np.float32), x, out=x), TypeError, "dtype float32.*Float64"),
    "shape": (lambda x: ms.py_call(np.ravel, x, out=x), ValueError, r"ravel.*\(4,\).*\(2, 2\)"),
    "structure": (lambda x: ms.py_call(sine, x, out=(x, x)), TypeError, "sine.*tuple of 2"),
    "nothing promised": (lambda x: ms.py_call(sine, x), TypeError, "sine.*promises nothing"),
    "None returned": (lambda x: ms.py_call(lambda a: None, x, out=x), TypeError, "NoneType"),
    "float for int": (lambda x: ms.py_call(lambda a: 2.5, x, out=int), TypeError, "2.5.*Int64"),
    "promise": (lambda x: ms.py_call(sine, x, out="float32"), TypeError, "`out`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_breaks_the_promise_is_an_error_that_names_the_function(name):
    f, kind, text = WRONG[name]
    texts = []
    for run in (f, ms.jit(f)):
        with pytest.raises(kind, match=text) as caught:
            run(ms.Tensor(X))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_exceptions_pass_unchanged():
    class Own(Exception):
        pass

    error = Own("because")

    def fail(a):
        raise error

    f = define("def f(x):\n    y = x * 2.0\n    return ms.py_call(fail, y, out=y)", fail=fail)
    for run in (f, ms.jit(f)):
        with pytest.raises(Own) as caught:
            run(ms.Tensor(X))
        assert caught.value is error


def test_calls_keep_their_place_among_effects(capsys):
    f = define("""
        def f(x):
            print("first", x.sum())
            ms.py_call(print, "host", x.sum().item())
            if x.sum() > 0:
                ms.py_call(print, "yes")
            else:
                ms.py_call(print, "no")
            for i in range(12):
                ms.py_call(print, i)
            print("last")
            return x
    """)
    f(ms.Tensor(X))
    expected = capsys.readouterr().out
    ms.jit(f)(ms.Tensor(X))
    assert same_text(capsys.readouterr().out, expected)


def test_a_call_may_decide_how_long_a_loop_runs():
    def f(x):
        while ms.py_call(lambda a: bool(a.sum() < 100), x, out=bool):
            x = x * 2.0
        return x

    assert_same(ms.jit(f)(ms.Tensor(X)), f(ms.Tensor(X)), "while")


# ---------------------------------------------------------------------------------------------------- derivatives
@pytest.mark.parametrize("mode", ["eager", "compiled", "through a compiled call"])
def test_without_a_bprop_no_gradient_is_lost_silently(mode):
    f = define("def f(x):\n    y = x * 2.0\n    return (y * ms.py_call(sine, y, out=y)).sum()", sine=sine)
    runs = {"eager": ms.grad(f), "compiled": ms.jit(ms.grad(f)), "through a compiled call": ms.grad(ms.jit(f))}
    with pytest.raises(NotDifferentiableError, match="py_call has no derivative") as caught:
        runs[mode](ms.Tensor(X))
    assert caught.value.code == "AC1709"
    assert caught.value.loc.line == 3


def test_no_derivative_is_asked_where_none_is_needed():
    def f(x):
        n = ms.py_call(lambda a: int(a.size), x, out=int)
        return (x * x * n + ops.stop_gradient(ms.py_call(sine, x, out=x))).sum()

    for run in (ms.grad(f), ms.jit(ms.grad(f)), ms.grad(ms.jit(f))):
        np.testing.assert_allclose(run(ms.Tensor(X)).asnumpy(), 8 * X, rtol=1e-14)


def test_a_bprop_is_the_derivative_and_is_differentiated_again():
    def f(x):
        return x * ms.py_call(sine, x, out=x, bprop=sine_bprop) if isinstance(x, ms.Tensor) else x * np.sin(x)

    check(f, X, oracle=lambda x: x * np.sin(x))


def test_a_bprop_of_several_arguments_and_results():
    def host(a, n, b):
        return a * b, (a * n).sum()

    def bprop(a, n, b, out, dout):
        d, ds = dout
        return d * b + ds * n, None, d * a

    def f(x, y):
        product, total = ms.py_call(host, x, 3.0, y, out=(x, ms.TensorSpec((), "float64")), bprop=bprop)
        return product * total

    check(f, X, X + 1.5, oracle=lambda x, y: x * y * (3.0 * x).sum())


def test_a_number_is_a_cotangent_of_every_element():
    f = lambda x: ms.py_call(sine, x, out=x, bprop=lambda x, out, dout: 2.0).sum()
    for run in (ms.grad(f), ms.jit(ms.grad(f))):
        np.testing.assert_array_equal(run(ms.Tensor(X)).asnumpy(), np.full_like(X, 2.0))


@pytest.mark.parametrize(
    ("bprop", "code"),
    [(lambda x, y, out, dout: (dout,), "AC1703"), (lambda x, y, out, dout: (dout[0], dout), "AC1704")],
)
def test_what_a_bprop_must_return(bprop, code):
    f = lambda x, y: ms.py_call(np.add, x, y, out=x, bprop=bprop).sum()
    for run in (ms.grad(f), ms.jit(ms.grad(f))):
        with pytest.raises(BpropError) as caught:
            run(ms.Tensor(X), ms.Tensor(X))
        assert caught.value.code == code


def test_the_function_runs_once_for_a_gradient():
    calls = []

    def counted(a):
        calls.append(1)
        return np.sin(a)

    def f(x):
        return (x * ms.py_call(counted, x, out=x, bprop=sine_bprop)).sum()

    for run in (ms.grad(f), ms.jit(ms.grad(f)), ms.value_and_grad(f), ms.grad(ms.jit(f))):
        calls.clear()
        run(ms.Tensor(X))
        assert len(calls) == 1


def in_a_loop(counted):
    def f(x):
        trips = 0
        while trips < x.sum():  # three trips
            x = x * ms.py_call(counted, x, out=x, bprop=sine_bprop)
            trips += 1
        return x

    return f


@pytest.mark.parametrize("program", ["straight", "loop"])
def test_the_function_runs_once_for_derivatives_of_any_order(program):
    calls = []

    def counted(a):
        calls.append(1)
        ms.grad(ms.jit(lambda x: ms.py_call(np.sin, x, out=x, bprop=sine_bprop).sum()))(ms.Tensor(a))  # its own affair
        return np.sin(a)

    def straight(x):
        return x * ms.py_call(counted, x, out=x, bprop=sine_bprop)

    def plain(x):
        return x * ops.sin(x)

    x = ms.Tensor(X[0])
    f = straight if program == "straight" else in_a_loop(counted)
    f(x)
    once = len(calls)
    expected = {"straight": plain, "loop": lambda x: plain(plain(x))}[program]
    assert once == {"straight": 1, "loop": 2}[program]

    def total(g):
        return lambda x: g(x).sum()

    forms = {
        "jacrev": ms.jacrev,
        "hessian": lambda g: ms.hessian(total(g)),
        "twice": lambda g: ms.grad(total(ms.grad(total(g)))),
    }
    forms |= (
        {}
        if program == "loop" and not is_long()
        else {
            "jacfwd": ms.jacfwd,
            "three times": lambda g: ms.grad(total(ms.grad(total(ms.grad(total(g)))))),
            "rows of rows": lambda g: ms.jacrev(ms.jacrev(g)),
        }
    )
    for name, form in forms.items():
        known = form(expected)(x).asnumpy()
        for run in (form(f), form(ms.jit(f)), ms.jit(form(f))):
            calls.clear()
            np.testing.assert_allclose(run(x).asnumpy(), known, rtol=1e-5, atol=1e-6, err_msg=name)
            assert len(calls) == once, name


def test_a_pullback_may_be_called_often():
    calls = []

    def counted(a):
        calls.append(1)
        return np.sin(a)

    f = ms.jit(lambda x: x * ms.py_call(counted, x, out=x, bprop=sine_bprop))
    x, v = ms.Tensor(X), ms.Tensor(np.ones_like(X))
    _, pull = ms.vjp(f, x)
    found = [ms.grad(lambda s: (pull(s)[0] ** 2).sum())(v).asnumpy() for _ in range(2)]
    slope = np.sin(X) + X * np.cos(X)
    for each in found:
        np.testing.assert_allclose(each, 2 * slope**2, rtol=1e-6)
    assert len(calls) == 1


def test_a_jacobian_prints_as_its_rows_run(capsys):
    def loud(x, out, dout):
        print("row")
        return dout * ops.cos(x)

    def f(x):
        print("once")
        return ms.py_call(np.sin, x, out=x, bprop=loud)

    for jacobian in (ms.jacrev(f), ms.jit(ms.jacrev(f))):
        np.testing.assert_allclose(jacobian(ms.Tensor(X[0])).asnumpy(), np.diag(np.cos(X[0])))
        assert capsys.readouterr().out == "once\nrow\nrow\n"


# ---------------------------------------------------------------------------------------------------- constexpr
@ms.constexpr
def widths(n):
    try:  # anything is possible, as the function is not compiled
        return [2**i for i in range(n)]
    finally:
        pass


@ops.constexpr(name="table")
def table(n):
    return ms.Tensor(np.arange(float(n)))


def test_constexpr_functions_run_while_compiling():
    x = ms.Tensor(X)
    for f in (lambda x: x * sum(widths(3)), lambda x: x + table(2), lambda x: widths(2) + [x]):
        assert_same(ms.jit(f)(x), f(x), "constexpr")
    assert table.__name__ == "table"
    assert ms.constexpr(lambda: 3, get_instance=False)()() == 3


def test_constexpr_functions_need_static_arguments():
    with pytest.raises(CompileError, match=r"widths.*Tensor") as caught:
        ms.jit(lambda x: widths(x.sum()))(ms.Tensor(X))
    assert caught.value.code == "AC1302"


def test_a_lambda_that_reads_run_time_values_is_refused():
    def f(x):
        y = x * 2.0
        return ms.py_call(lambda a: a + y, x, out=x)

    with pytest.raises(CompileError, match="'y'") as caught:
        ms.jit(f)(ms.Tensor(X))
    assert caught.value.code == "AC1302"


def test_a_stream_is_written_by_a_host_call():
    stream = io.StringIO()
    ms.jit(lambda x: ms.py_call(stream.write, "text", out=int))(ms.Tensor(X))
    assert stream.getvalue() == "text"


def test_functions_of_packaging_and_inspect_run_while_compiling():
    import inspect

    from packaging import version

    def pair(a, b):
        return a - b

    @ms.jit
    def f(x):
        if version.parse("2.1.0") <= version.parse("2.10.0"):
            x = x * 2
        return pair(*[x] * len(inspect.signature(pair).parameters)) + x

    assert f(ms.Tensor(3.0)).item() == 6.0


def test_compiled_code_has_no_frames_to_look_at():
    import inspect

    @ms.jit
    def f(x):
        return x * len(inspect.stack())

    with pytest.raises(ms.UnsupportedCallError, match=r"stack\(\)"):
        f(ms.Tensor(3.0))


@pytest.mark.parametrize("make", [list, set])
def test_a_method_of_a_container_of_compiled_code_cannot_be_called_at_run_time(make):
    @ms.jit
    def f(x):
        made = make([1, 2])
        ms.py_call(getattr(made, "append" if make is list else "add"), 3)
        return x * len(made)

    with pytest.raises(ms.UnsupportedCallError, match="py_call cannot call a method object"):
        f(ms.Tensor(2.0))


def _grown(made):
    made.add(len(made)) if isinstance(made, set) else made.append(len(made))
    return len(made)


@dataclasses.dataclass(frozen=True)
class Holder:
    items: list


MADE = {
    "a set": lambda x: ms.py_call(_grown, {10, 11}, out=int) * x,
    "a list": lambda x: ms.py_call(_grown, [10, 11], out=int) * x,
    "a list in a tuple": lambda x: ms.py_call(lambda t: _grown(t[0]), ([10, 11], 3), out=int) * x,
    "a set in a dict": lambda x: ms.py_call(lambda d: _grown(d["a"]), {"a": {10, 11}}, out=int) * x,
    "a list in a frozen dataclass": lambda x: ms.py_call(lambda h: _grown(h.items), Holder([10, 11]), out=int) * x,
}


@pytest.mark.parametrize("name", MADE)
def test_a_host_function_gets_at_each_call_what_compiled_code_has_made(name):
    f, x = MADE[name], ms.Tensor(2.0)
    compiled = ms.jit(f)
    assert [compiled(x).item() for _ in range(3)] == [f(x).item() for _ in range(3)]
