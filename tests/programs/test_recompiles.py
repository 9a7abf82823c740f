"""What compiled code depends on, how often it was compiled and why, and the warnings about it."""

from __future__ import annotations

import functools
import gc
import math
import sys
import warnings
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops
from autodiff_compiler.errors import GradientWarning, RecompileWarning
from autodiff_compiler.frontend.guards.contents import content_of, shown
from autodiff_compiler.frontend.guards.guards import Guard
from autodiff_compiler.frontend.guards.objects import same_static
from tests.programs.compare import define

X = ms.Tensor([1.0, 2.0])


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Every test gets its warnings, also if another one got them at the same line."""
    monkeypatch.setattr(ms.errors, "_warned", {})


def line_of_this():
    """The number of the line that calls this."""
    return sys._getframe(1).f_lineno


# ------------------------------------------------------------------------------------------------ cache_info
def test_hits_and_misses():
    g = ms.jit(lambda x, n=1: x * n)
    assert g.cache_info() == {"entries": 0, "compiles": 0, "hits": 0, "misses": 0, "keys": []}
    for _ in range(4):
        g(X)
    g(X, 2)
    g(X, n=2)
    g(X, 2)
    info = g.cache_info()
    assert {k: info[k] for k in ("entries", "compiles", "hits", "misses")} == {
        "entries": 3,
        "compiles": 3,
        "hits": 4,
        "misses": 3,
    }
    assert sorted((k["call"], k["hits"], k["valid"]) for k in info["keys"]) == [
        ("lambda(f32[2])", 3, True),
        ("lambda(f32[2], 2)", 1, True),
        ("lambda(f32[2], n=2)", 0, True),
    ]


def test_lowering_is_neither_hit_nor_miss():
    g = ms.jit(lambda x: x + 1)
    g.lower(X)
    g(X)
    info = g.cache_info()
    assert (info["compiles"], info["hits"], info["misses"]) == (1, 0, 1)


def test_a_failed_compile_is_a_miss_and_leaves_no_entry():
    g = ms.jit(define("def f(x):\n    return x.nothing"))
    for _ in range(2):
        with pytest.raises(AttributeError):
            g(X)
    info = g.cache_info()
    assert (info["entries"], info["compiles"], info["misses"], list(g.explain_recompiles())) == (0, 0, 2, [])


@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.RecompileWarning")
def test_hits_of_forms_that_were_dropped_count():
    f = define("def f(x):\n    return x * len(k)", k=())
    g = ms.jit(f)
    for k in range(12):
        f.__globals__["k"] = (k % 4,) * (k // 4 + 1)
        g(X), g(X)
    info = g.cache_info()
    assert (info["entries"], info["compiles"], info["hits"]) == (8, 12, 12)


# ------------------------------------------------------------------------------------------------ guards
def test_guards_name_what_is_read_and_where():
    scale, shift = 3, [1, 2]

    def f(x):
        return x * scale + shift[0]

    g = ms.jit(f)
    assert g.guards() == []
    g(X)
    found = {w.what: w for w in g.guards()}
    closure = found["closure scale"]
    assert (closure.seen, closure.now, closure.holds) == ("3", "3", True)
    assert (closure.loc.file, closure.loc.line) == (__file__, f.__code__.co_firstlineno + 1)
    assert found["closure shift"].seen == "[1, 2]"
    shift[0] = 5
    changed = {w.what: w for w in g.guards()}["closure shift"]
    assert (changed.now, changed.holds) == ("[5, 2]", False)
    assert "read at test_recompiles.py:" in str(changed)
    assert str(changed).endswith("; now it is [5, 2]")


class Numbers(list):
    pass


@pytest.mark.parametrize(
    "value",
    [
        [1.5], [], (1.5,), (), (1, "a"), {"a": 1.5, "b": [2, (3,)]}, {}, {2}, {1, 2}, set(), frozenset({3}),
        frozenset(), [None, True], (1.5, [()]),
    ],
    ids=repr,
)  # fmt: skip
def test_containers_are_told_as_python_writes_them(value):
    assert shown(content_of(value)) == repr(value)


def test_long_containers_and_others_are_told_in_short():
    assert shown(content_of([1, 2, 3, 4, 5])) == "[1, 2, 3, 4, ...]"
    assert shown((1, 2, 3, 4)) == "(1, 2, 3, 4)"
    assert shown(content_of(dict.fromkeys("abcde", 0))) == "{'a': 0, 'b': 0, 'c': 0, 'd': 0, ...}"
    assert shown(content_of(Numbers([1]))) == "Numbers([1])"
    assert shown(content_of(OrderedDict(a=1))) == "OrderedDict({'a': 1})"
    assert shown(content_of(np.arange(6.0).reshape(2, 3))) == "array float64[2, 3] of [0.0, 1.0, 2.0, 3.0, ...]"
    assert shown(content_of(functools.partial(pair, 1, b=[2]))) == "partial(function pair, (1,), {'b': [2]})"


def pair(a, b):
    return a, b


def test_guards_of_attributes_and_functions():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.k = 2.0
            self.w = ms.Parameter(ms.Tensor([1.0]))

        def construct(self, x):
            return helper(x) * self.k * self.w

    helper = define("def helper(x):\n    return x + 1", "helper")
    net = Net()
    ms.set_context(mode=ms.GRAPH_MODE)
    net(X)
    whats = {w.what: w.seen for w in net._compiled.guards()}
    assert whats["Net.k"] == "2.0"
    assert whats["type of w"] == "Tensor f32[1]"
    assert whats["function helper"].startswith("the definition at <program")


def test_what_vanished_is_said():
    f = define("def f(x):\n    return x * k", k=2)
    g = ms.jit(f)
    g(X)
    del f.__globals__["k"]
    (watched,) = [w for w in g.guards() if w.what == "global k"]
    assert (watched.holds, watched.now) == (False, "nothing: it does not exist any more")


# ------------------------------------------------------------------------------------------------ why it compiled
def changes(g, number):
    return [(c.kind, c.what, c.before, c.after) for c in g.explain_recompiles()[number - 1].changes]


def test_what_differs_between_calls():
    f = define("def f(x, n=1, c=None):\n    return x * n")
    g = ms.jit(f)
    assert str(g.explain_recompiles()) == "not compiled yet"
    g(X, 2), g(X, 3), g(X.astype(ms.float64), 3), g(ms.Tensor([1.0, 2.0, 3.0]), 3), g(ms.Tensor([[1.0, 2.0]]), 3)
    g(X, 3, {"a": [1, "s"]}), g(X, 3, {"a": [1, "t"]}), g(X, 3, {"b": 1}), g(X, 2.5)
    assert changes(g, 1) == []
    assert changes(g, 2) == [("value", "argument `n`", "2", "3")]
    assert changes(g, 3) == [("dtype", "argument `x`", "Tensor f32[2]", "Tensor f64[2]")]
    assert changes(g, 4) == [("dimension", "argument `x`", "Tensor f32[2]", "Tensor f32[3]")]
    assert changes(g, 5) == [("shape", "argument `x`", "Tensor f32[3]", "Tensor f32[1,2]")]
    assert changes(g, 6) == [("structure", "argument `c`", "nothing", "dict of 1")]
    assert changes(g, 7) == [("value", "argument `c['a'][1]`", "'s'", "'t'")]
    assert changes(g, 8) == [("structure", "argument `c`", "nothing", "dict of 1")]
    assert changes(g, 9) == [("value", "argument `n`", "3", "2.5")]


def test_numpy_numbers_are_values_too():
    g = ms.jit(define("def f(x, k):\n    return x * k"))
    g(X, np.float32(2.0)), g(X, np.float32(3.0))
    assert changes(g, 2) == [("value", "argument `k`", "np.float32(2.0)", "np.float32(3.0)")]
    assert "mutable(k.item())" in g.explain_recompiles()[1].changes[0].advice


def test_the_advice_and_the_place():
    g = ms.jit(define("def f(x, n):\n    return x * n"))
    g(X, 2)
    g(X, 3)
    line = line_of_this() - 1
    second = g.explain_recompiles()[1]
    assert (second.number, second.call, second.loc.file, second.loc.line) == (2, "f(f32[2], 3)", __file__, line)
    assert "mutable(n)" in second.changes[0].advice
    assert str(g.explain_recompiles()) == (
        f"1. f(f32[2], 2) at test_recompiles.py:{line - 1} in test_the_advice_and_the_place\n"
        f"2. f(f32[2], 3) at test_recompiles.py:{line} in test_the_advice_and_the_place\n"
        "   because argument `n` changed from 2 to 3\n"
        "   instead: pass `mutable(n)`, or a Tensor, if `n` need not be known while compiling"
    )


def test_guards_that_changed():
    f = define(
        "def f(x):\n    return helper(x) * rate", rate=2, helper=define("def helper(x):\n    return x", "helper")
    )
    g = ms.jit(f)
    g(X)
    f.__globals__["rate"] = 3
    g(X)
    (change,) = g.explain_recompiles()[1].changes
    assert (change.kind, change.what, change.before, change.after) == ("guard", "global rate", "2", "3")
    assert change.loc.line == 2
    assert "mutable" in change.advice
    f.__globals__["helper"].__code__ = (lambda x: x + 1).__code__
    g(X)
    assert "function helper" in [c.what for c in g.explain_recompiles()[2].changes]


def test_tensors_that_became_one():
    g = ms.jit(define("def f(a, b):\n    a[0] = 5.0\n    return a + b"))
    g(ms.Tensor([1.0]), ms.Tensor([2.0]))
    x = ms.Tensor([1.0])
    g(x, x)
    assert [c[0] for c in changes(g, 2)] == ["aliasing"]


def test_a_form_that_was_dropped():
    g = ms.jit(lambda x: x + 1)
    g(X)
    g.clear_cache()
    g(X)
    assert [c[0] for c in changes(g, 2)] == ["dropped"]


def test_the_history_keeps_nothing_alive():
    class Thing:
        k = 2

    g = ms.jit(define("def f(x, thing):\n    return x * thing.k"))
    thing = Thing()
    g(X, thing)
    alive = weakref.ref(thing)
    g.clear_cache()
    del thing
    gc.collect()
    assert len(g.explain_recompiles()) == 1
    assert alive() is None


def test_methods_tell_as_well():
    class Thing:
        @ms.jit
        def f(self, x, n):
            return x * n

    thing = Thing()
    thing.f(X, 2), thing.f(X, 3)
    assert thing.f.cache_info()["compiles"] == 2
    assert thing.f.explain_recompiles()[1].changes[0].what == "argument `n`"
    assert "function test_methods_tell_as_well.<locals>.Thing.f" in {w.what for w in thing.f.guards()}


# ------------------------------------------------------------------------------------------------ warnings
def caught(run):
    """The warnings of a call with this package's codes, with their lines."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [w for w in found if hasattr(w.message, "code")]


def test_one_number_that_changes_at_each_call():
    g = ms.jit(define("def train(x, step, rate=0.1):\n    return x * step * rate", "train"))

    def run():
        for step in range(20):
            g(X, step)

    (warning,) = caught(run)
    assert (warning.category, warning.message.code) == (RecompileWarning, "AC2001")
    assert (warning.filename, warning.lineno) == (__file__, run.__code__.co_firstlineno + 2)
    text = str(warning.message)
    assert "train is compiled again and again" in text
    assert "argument `step`: 0, 1, 2" in text
    assert "mutable(step)" in text


def test_eight_values_are_fine():
    g = ms.jit(lambda x, n: x * n)
    assert caught(lambda: [g(X, n) for n in range(8)]) == []
    assert [w.message.code for w in caught(lambda: g(X, 8))] == ["AC2001"]


def test_one_dimension_that_changes_at_each_call():
    g = ms.jit(lambda batch: batch * 2, dynamic=False)
    (warning,) = caught(lambda: [g(ms.ops.ones((n, 3))) for n in range(1, 12)])
    assert warning.message.code == "AC2001"
    assert "argument `batch`" in str(warning.message)
    assert "pad `batch`" in str(warning.message)


def test_different_reasons_are_no_reason_to_warn():
    g = ms.jit(lambda x, n, m: x * n * m)
    assert caught(lambda: [g(X, n, n + 1) for n in range(12)]) == []
    h = ms.jit(lambda x: x, dynamic=False)
    assert caught(lambda: [h(ms.ops.ones((n, n))) for n in range(1, 12)]) == []


def test_a_global_number_that_changes_at_each_call():
    f = define("def f(x):\n    return x * step", step=0)
    g = ms.jit(f)

    def run():
        for step in range(20):
            f.__globals__["step"] = step
            g(X)

    (warning,) = caught(run)
    assert (warning.message.code, warning.lineno) == ("AC2001", run.__code__.co_firstlineno + 3)
    assert "global step: 1, 2, 3" in str(warning.message)
    assert "mutable" in str(warning.message)


def test_numbers_read_from_an_array_are_compared_by_value():
    """Whatever element is read, and however: NumPy makes a new object of it at each reading."""
    k = np.array([1.5, np.nan, -0.0], np.float32)
    f = define("def f(x):\n    return x * k[0], x * k[1].item(), x / k[2], x * sum(float(v) for v in k[:1])", k=k)
    g = ms.jit(f)
    for _ in range(3):
        first, second, third, fourth = g(X)
    assert g.cache_info()["compiles"] == 1
    assert first.tolist() == fourth.tolist() == [1.5, 3]
    assert np.isnan(second.asnumpy()).all()
    assert third.tolist() == [-math.inf, -math.inf]
    k[2] = 0.0  # equal, but not the same
    assert g(X)[2].tolist() == [math.inf, math.inf]
    k[0] = 2
    assert g(X)[0].tolist() == [2, 4]
    assert g.cache_info()["compiles"] == 3


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (np.float32(1), np.float32(1), True),
        (np.float32("nan"), np.float32("nan"), True),
        (np.float32(0), np.float32(-0.0), False),
        (np.float32(1), np.float64(1), False),
        (np.int64(1), np.int64(2), False),
    ],
)
def test_numbers_of_numpy_are_compared_bit_by_bit(a, b, same):
    assert same_static(a, b) is same


def test_whatever_changes_at_each_call_is_told():
    """Not only numbers: this compiles at each call, and would do so in silence."""
    f = define("def f(x):\n    return x * len(names)", names=["a"])
    g = ms.jit(f)

    def run():
        for i in range(20):
            f.__globals__["names"].append(str(i))
            g(X)

    (warning,) = caught(run)
    assert warning.message.code == "AC2001"
    assert "f is compiled again and again: global names" in str(warning.message)


def test_a_guard_that_never_holds_is_told():
    """An object that shows itself as another one at each reading makes every compiled form useless at once."""
    f = define("def f(x):\n    return x * 2")
    g = ms.jit(f)
    never = Guard("the weather", object, object())

    def run():
        for _ in range(20):
            g(X)
            for entries in g._entries.values():
                for entry in entries:
                    entry.lowered.guards.append(never)
                    entry.valid = lambda: False

    (warning,) = caught(run)
    assert warning.message.code == "AC2001"
    assert "the weather changed" in str(warning.message)


def test_mutable_numbers_do_not_warn():
    g = ms.jit(lambda x, n: x * n)
    assert caught(lambda: [g(X, ms.mutable(n)) for n in range(40)]) == []


def test_more_than_half_of_the_keys():
    g = ms.jit(lambda x, n, m: x * n * m)
    found = caught(lambda: [g(X, n, n + 1) for n in range(40)])
    assert [(w.category, w.message.code) for w in found] == [(RecompileWarning, "AC2006")]
    assert "33 different signatures" in str(found[0].message)


# ------------------------------------------------------------------------------------------------ zero gradients
ZERO = [
    ("a step of integers", lambda v: v // 2, ms.Tensor(3)),
    ("a Python number", lambda x: math.exp(x), ms.Tensor(3.0)),
    ("a comparison", lambda x: (x > 0).astype(ms.float32), ms.Tensor(3.0)),
    ("stopped", lambda x: ops.stop_gradient(x) * 2, ms.Tensor(3.0)),
    ("item()", lambda x: ms.Tensor(x.item() * 2.0), ms.Tensor(3.0)),
    ("argmax", lambda x: x.argmax() * 1.0, ms.Tensor([1.0, 3.0])),
    ("a condition", lambda x: ms.Tensor(1.0) if x > 0 else ms.Tensor(2.0), ms.Tensor(3.0)),
    ("NumPy", lambda x: ms.Tensor(np.sin(x.asnumpy())).sum(), ms.Tensor([1.0, 3.0])),
    ("a constant", lambda x: ms.Tensor(2.0), ms.Tensor(3.0)),
    ("something else", lambda x, y=ms.Tensor(2.0): y * 2, ms.Tensor(3.0)),
    ("stopped in a program of its own", ms.jit(lambda x: ops.stop_gradient(x) * 2), ms.Tensor(3.0)),
]


@pytest.mark.parametrize("way", ["eager", "compiled", "graph mode"])
@pytest.mark.parametrize(("fn", "x"), [z[1:] for z in ZERO], ids=[z[0] for z in ZERO])
def test_a_gradient_that_is_zero_because_nothing_leads_to_the_result(fn, x, way):
    if way == "graph mode":
        ms.set_context(mode=ms.GRAPH_MODE)
    gradient = ms.jit(ms.grad(fn)) if way == "compiled" else ms.grad(fn)
    found = []

    def run():
        for _ in range(3):
            found.append(gradient(x))

    (warning,) = caught(run)
    assert (warning.category, warning.message.code) == (GradientWarning, "AC2003")
    assert (warning.filename, warning.lineno) == (__file__, run.__code__.co_firstlineno + 2)
    assert [np.count_nonzero(g.asnumpy()) for g in found] == [0, 0, 0]


def test_inside_compiled_code_the_line_of_the_derivative_is_named():
    g = ms.jit(define("def f(x):\n    y = x * 2\n    return ms.grad(lambda v: ms.ops.stop_gradient(v) * v.item())(y)"))
    (warning,) = caught(lambda: g(ms.Tensor(2.0)))
    assert (warning.message.code, warning.lineno) == ("AC2003", 3)


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (lambda x: x * 0, (ms.Tensor(3.0),)),
        (lambda x: ops.stop_gradient(x) * x, (ms.Tensor(3.0),)),
        (lambda x, y: (x * y).sum(), (ms.Tensor([3, 4]), ms.Tensor([1.5, 2.5]))),
        (lambda x: ms.grad(lambda v: ops.relu(v))(x), (ms.Tensor(3.0),)),
        (lambda x: ms.grad(lambda v: v * 2 if v.sum() > 1 else v)(x), (ms.Tensor(3.0),)),
    ],
    ids=["times zero", "partly stopped", "an integer input", "relu twice", "linear twice"],
)
def test_other_zeros_do_not_warn(fn, args, wrap):
    assert caught(lambda: wrap(ms.grad(fn))(*args)) == []


# ------------------------------------------------------------------------------------------------ advice
def advice(g):
    return [change.advice for change in g.explain_recompiles()[-1].changes]


def test_a_tensor_that_became_a_number_and_the_reverse():
    for first, second in ((ms.Tensor(2.0), 2.0), (3, ms.Tensor(2))):
        g = ms.jit(lambda x, n: x * n)
        g(X, first), g(X, second)
        assert "pass a Tensor for `n` at every call" in advice(g)[0]


def test_an_int_and_a_float_are_two_kinds_of_number():
    g = ms.jit(define("def f(x, n):\n    return x * n"))
    g(X, 2), g(X, 2.5)
    assert advice(g) == ["pass one kind of number, `mutable(float(n))`: an int and a float have programs of their own"]
    # What is advised: one program for both.
    g = ms.jit(define("def f(x, n):\n    return x * n"))
    for n in (2, 2.5):
        g(X, ms.mutable(float(n)))
    assert g.cache_info()["compiles"] == 1


def test_changed_defaults_and_definitions_are_told_apart():
    helper = define("def helper(x, k=1):\n    return x * k", "helper")
    g = ms.jit(define("def f(x):\n    return helper(x)", helper=helper))
    g(X)
    helper.__defaults__ = (2,)
    g(X)
    assert [c.before.rpartition(" ")[2] for c in g.explain_recompiles()[-1].changes] == ["(1,)"]
    assert advice(g) == ["leave its defaults alone, and pass other values as arguments"]
    helper.__code__ = (lambda x, k=1: x + k).__code__
    g(X)
    assert "define it once: every definition has a program of its own" in advice(g)


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (2, 3, "`mutable(...)`"),
        ("a", "b", "every value has a program of its own"),
        ([1], [1, 2], "keep what changes in Tensors"),
        (ms.Tensor([1.0]), ms.Tensor([1.0, 2.0]), "its elements may change"),
    ],
)
def test_every_changed_global_has_advice(before, after, word):
    f = define("def f(x):\n    return x, len(str(k)) if not isinstance(k, ms.Tensor) else k", k=before)
    g = ms.jit(f)
    g(X)
    f.__globals__["k"] = after
    g(X)
    assert any(word in text for text in advice(g))


def test_guards_of_several_forms_say_whose_they_are():
    f = define("def f(x, n):\n    return x * n * k", k=2)
    g = ms.jit(f)
    g(X, 1)
    assert str(g.guards()[-1]).startswith("global k is 2") or "compilation" not in "".join(map(str, g.guards()))
    g(X, 5)
    f.__globals__["k"] = 3
    g(X, 5)
    of_k = [w for w in g.guards() if w.what == "global k"]
    assert [(w.number, w.call, w.seen, w.holds) for w in of_k] == [
        (1, "f(f32[2], 1)", "2", False),
        (2, "f(f32[2], 5)", "2", False),
        (3, "f(f32[2], 5)", "3", True),
    ]
    assert [str(w).partition(": ")[0] for w in of_k] == [
        "compilation 1, f(f32[2], 1)",
        "compilation 2, f(f32[2], 5)",
        "compilation 3, f(f32[2], 5)",
    ]


def test_a_changed_global_is_why_a_form_for_several_sizes_is_compiled_again():
    names = {"k": 2.0}
    f = define("def f(x):\n    return x * k\n", **names)
    compiled = ms.jit(f, backend="numpy")
    for n, k in ((1, 2.0), (2, 2.0), (3, 2.0), (4, 3.0), (5, 3.0)):
        f.__globals__["k"] = k
        assert compiled(ms.Tensor(np.ones(n))).tolist() == [k] * n
    _first, second, third = compiled.explain_recompiles()
    assert [c.kind for c in second.changes] == ["dimension"]
    assert [(c.kind, c.before, c.after) for c in third.changes] == [("guard", "2.0", "3.0")]
    assert third.call == "f(f64[n])"


@pytest.mark.skipif(ms.config.backends["native"]() is not None, reason="no machine code here")
def test_a_size_that_comes_often_is_why_it_has_a_form_of_its_own():
    compiled = ms.jit(lambda x: ops.sort(x)[0] * x.shape[0], backend="auto")
    for n in (2, 3, *[5] * 20):
        compiled(ms.Tensor(np.ones(n)))
    told = str(compiled.explain_recompiles()[-1])
    assert "because calls with these very sizes come often" in told
    assert "instead" not in told
