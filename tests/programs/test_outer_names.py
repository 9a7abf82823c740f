"""`nonlocal` and `global` names that compiled code assigns: eager mode is the reference."""

from __future__ import annotations

import contextlib
import io
import itertools
import types

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, ops
from tests.programs.compare import define
from tests.programs.same_results import same_results, total

X = np.array([0.4, 1.3, 2.1])

#: Bodies of `f(x)`, with functions inside that assign its variables.
NONLOCAL = {
    "counter": "n = 0\ndef inc(k):\n    nonlocal n\n    n += k\n    return n\nreturn x * inc(2) + inc(3) * n",
    "kept loop": "a = x * 0\ndef add(v):\n    nonlocal a\n    a = a * 0.5 + v\nfor i in range(20):\n"
    "    add(x * i)\nreturn a",
    "branch": "s, k = x, 1\ndef g():\n    nonlocal s, k\n    if s.sum() > 3:\n        s, k = s * 2, 5\n    else:\n"
    "        s = s + 1\ng()\ng()\nreturn s * k",
    "loop of run time": "s, n = x, 0\ndef step():\n    nonlocal s, n\n    s = s * 1.5\n    n += 1\n"
    "while s.sum() < 50:\n    step()\nreturn s * n",
    "two closures": "def make():\n    n = x\n    def inc():\n        nonlocal n\n        n = n * 2\n        return n\n"
    "    return inc\na, b = make(), make()\na()\nreturn a() + b()",
    "two levels": "v = 1\ndef a():\n    def b():\n        nonlocal v\n        v = v + 1\n        return v\n"
    "    return b() + b()\nreturn x * a() * v",
    "loop variable": "i = 0\ndef g():\n    nonlocal i\n    for i in range(5):\n        pass\ng()\nreturn x * i",
    "deleted": "v = x\ndef g():\n    nonlocal v\n    del v\ng()\nv = x * 2\nreturn v",
    "parameter": "def g(x):\n    def h():\n        nonlocal x\n        x = x * 3\n    h()\n    return x\n"
    "return g(x) + x",
    "collected": "ys, last = [], x\ndef push(v):\n    nonlocal last\n    last = v * 0.9\n    ys.append(last)\n"
    "for i in range(15):\n    push(last + x)\nreturn ops.stack(ys), last",
    "differentiated": "n, last = 0, x\ndef h(v):\n    nonlocal n, last\n    n, last = n + 1, v * 2\n"
    "    return (v**3).sum()\ng = ms.grad(h)(x)\nreturn g * n + last",
}

#: What a module holds, the body of its `f(x)`, and what is looked at after each call.
GLOBAL = {
    "int": ("K = 3", "global K\nK += 1\nreturn x * K", "K"),
    "read before": ("K = 3", "global K\ny = x * K\nK = K * 2\nreturn y + K", "K"),
    "Tensor": ("T = Tensor([1.0, 2.0, 3.0])", "global T\nT = T * 0.5 + x\nreturn T.sum() * x", "T"),
    "new": ("", "global NEW\nNEW = x * 2\nreturn NEW + 1", "NEW"),
    "helper": ("K = 3\ndef g(v):\n    global K\n    K = K + 1\n    return v * K", "return g(x) + g(x) * K", "K"),
    "branch": ("K = 3", "global K\nif x.sum() > 2:\n    K = 10\nelse:\n    K = K - 1\nreturn x * K", "K"),
    "loops": (
        "K = 3",
        "global K\nfor i in range(20):\n    K += i\nwhile x.sum() < 50:\n    x = x * 1.5\n    K += 1\nreturn x * K",
        "K",
    ),
    "None at first": ("N = None", "global N\nif N is None:\n    N = x * 1\nreturn x + N", "N"),
    "containers": (
        "L, P = [1], (1, 2.0)",
        "global L, P\nL = [*L, x]\nP = (P[0] + 1, P[1] * 2)\nreturn x * P[1]",
        "L, P",
    ),
    "prints": ("K = 3", "global K\nprint('a', K)\nK += 1\nprint('b', K, x.sum())\nreturn x * K", "K"),
    "raises": ("K = 3", "global K\nK += 1\nif x.sum() > 1:\n    raise ValueError('no')\nK += 1\nreturn x", "K"),
    "deleted": ("K = 3", "global K\ndel K\nK = 7\nreturn x * K", "K"),
    "hidden by a local": (
        "K = 3",
        "K = 5\ndef g():\n    global K\n    K = K + 1\n    return K\nreturn x * g() * K",
        "K",
    ),
    "match and walrus": ("K = 3", "global K\nmatch x.argmax():\n    case 2: K += 5\nreturn x * (K := K + 1)", "K"),
    "differentiated": (
        "K = 3\ndef h(v):\n    global K\n    K += 1\n    return (v**3).sum()",
        "return ms.grad(h)(x) * K",
        "K",
    ),
    "host code sees it": (
        "K = 3\ndef show():\n    print('K is', K)",
        "global K\nK += 1\nms.py_call(show)\nK += 1\nreturn x * K",
        "K",
    ),
    "names like those of objects": (
        "key = cell = 1",
        "global key, cell\nkey, cell = key + 1, x\nreturn x * key",
        "key, cell",
    ),
}


def _body(text):
    return "def f(x):\n" + "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("name", NONLOCAL)
def test_nonlocal(name):
    f = define(_body(NONLOCAL[name]), ms=ms, ops=ops)

    def first(x):
        return grad(lambda x: total(f(x)))(x)

    def second(x):
        return grad(lambda x: (first(x) ** 2).sum())(x)

    for backend, fn in itertools.product(("native", "numpy"), (f, first, second)):
        same_results(jit(fn, backend=backend)(Tensor(X)), fn(Tensor(X)))


def _history(source, shown, wrap):
    """What three calls give, print and leave behind."""
    f = define(source, Tensor=Tensor, ms=ms)
    run, found = wrap(f), []
    for i in range(3):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                value = run(Tensor(X + i * 0.1))
            except ValueError as error:
                value = str(error)
        left = eval(shown, f.__globals__)
        found.append((value, printed.getvalue(), [*left] if isinstance(left, tuple) else left))
        found[-1] = _copied(found[-1])
    return found


def _copied(x):
    if isinstance(x, Tensor):
        return x.copy()
    return type(x)(map(_copied, x)) if isinstance(x, list | tuple) else x


@pytest.mark.parametrize("name", GLOBAL)
def test_global(name):
    before, text, shown = GLOBAL[name]
    source = f"{before}\n{_body(text)}"

    def gradient(f):
        return grad(lambda x: total(f(x)))

    for wrap in (lambda f: f, gradient):
        expected = _history(source, shown, wrap)
        for backend in ("native", "numpy"):
            same_results(_history(source, shown, lambda f, b=backend, w=wrap: jit(w(f), backend=b)), expected)


def test_variables_of_a_function_that_is_not_compiled():
    def made():
        count, last = 2, Tensor(np.ones(3))

        def f(x):
            nonlocal count, last
            count += 1
            last = last * x
            return x * count + last

        return f, lambda: (count, last)

    (f, seen), (g, seen_by_eager) = made(), made()
    run = jit(f)
    for _ in range(30):
        same_results(run(Tensor(X)), g(Tensor(X)))
        same_results(seen(), seen_by_eager())
    assert run.cache_info()["compiles"] == 1


def test_a_module_that_is_read_by_its_name_shows_what_was_assigned():
    module = types.ModuleType("counted")
    bump = define("def bump():\n    global K\n    K += 1", "bump")
    module.__dict__.update(K=3, bump=types.FunctionType(bump.__code__, module.__dict__))

    def g(x):
        before = module.K
        module.bump()
        return x * before + module.K

    assert jit(g)(Tensor([1.0])).tolist() == [7.0]
    assert jit(g)(Tensor([1.0])).tolist() == [9.0]
    assert module.K == 5


def test_a_function_of_the_backward_pass_cannot_assign():
    def f(x):
        count = 0

        def edit(dx):
            nonlocal count
            count = count + 1
            return dx

        return grad(lambda v: ops.InsertGradientOf(edit)(v * 2).sum())(x) * count

    with pytest.raises(ms.SideEffectError, match="AC1603"):
        jit(f)(Tensor([1.0]))
