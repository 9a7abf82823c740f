"""Why a value is known only at run time, and what the operands of an op that is refused are."""

from __future__ import annotations

import gc
import os
import weakref

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import mutable, nn, ops
from autodiff_compiler.frontend.variables.frames import Frame
from tests.programs.compare import define

X = ms.Tensor(np.arange(12.0, dtype=np.float32).reshape(3, 4))
HERE = os.path.basename(__file__)


def refusal(f, *args):
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(f)(*args)
    return caught.value


def reason(f, *args):
    """The note with the reason, with `_` for the file of the program and `here` for the line of the call."""
    notes = [n for n in refusal(f, *args).notes if "dynamic because" in n]
    assert len(notes) == 1
    file = os.path.basename(f.__code__.co_filename)
    lines = {f"({HERE}:{n})" for n in range(1, 500) if f"({HERE}:{n})" in notes[0]}
    assert len(lines) <= 1
    text = notes[0].replace(file, "_")
    for line in lines:
        text = text.replace(line, "(here)")
    return text


CHAINS = [
    (
        "a mutable argument",
        "AC1302",
        "def f(x, n):\n    m = n * 2\n    k = m + 1\n    return x.sum(axis=k)",
        (mutable(0),),
        "`k` is dynamic because: argument `n` is mutable (here) → `m = n * 2` (_:2) → `k = m + 1` (_:3)",
    ),
    (
        "a Tensor read as a number",
        "AC1302",
        "def f(x):\n    t = x * 2\n    n = int(t.sum())\n    return x.sum(n)",
        (),
        "`n` is dynamic because: argument `x` is a Tensor (here) → `t = x * 2` (_:2) → `n = int(t.sum())` (_:3)",
    ),
    (
        "a key",
        "AC1302",
        "def f(x, n):\n    return {1: x}[n]",
        (mutable(1),),
        "`n` is dynamic because: argument `n` is mutable (here)",
    ),
    (
        "a comprehension",
        "AC1303",
        "def f(x):\n    s = x.sum(1)\n    return [v for v in s if v > 3]",
        (),
        "it is dynamic because: argument `x` is a Tensor (here) → `s = x.sum(1)` (_:2) → "
        "`return [v for v in s if v > 3]` (_:3)",
    ),
    (
        "an index",
        "AC1305",
        "def f(x, n):\n    xs = [x, x]\n    return xs[n + 1]",
        (mutable(0),),
        "it is dynamic because: argument `n` is mutable (here) → `return xs[n + 1]` (_:3)",
    ),
    (
        "a bound of a slice",
        "AC1306",
        "def f(x, n):\n    return [x, x][:n]",
        (mutable(1),),
        "`n` is dynamic because: argument `n` is mutable (here)",
    ),
    (
        "a branch",
        "AC1305",
        "def f(x):\n    if x.sum() > 3:\n        k = 1\n    else:\n        k = 0\n    return [x, x][k]",
        (),
        "`k` is dynamic because: argument `x` is a Tensor (here) → `if x.sum() > 3:` (_:2) → "
        "it differs between the branches of the `if` (_:2)",
    ),
    (
        "the index of a loop that is kept",
        "AC1502",
        "def f(x):\n    ws = [1.0, 'a']\n    for i in ms.keep(range(20)):\n        x = x * ws[i]\n    return x",
        (),
        "`i` is dynamic because: the index of the kept loop (_:3)",
    ),
    (
        "a long loop",
        "AC1501",
        "def f(x):\n    for i in range(5000):\n        j = i + 1\n        x = x + x.sum(j)\n    return x",
        (),
        "`j` is dynamic because: the index of the kept loop (_:2) → `j = i + 1` (_:3)",
    ),
    (
        "a number carried by a loop",
        "AC1305",
        "def f(x):\n    k = 0\n    while x.sum() < 99:\n        x, y = 2 * x, [x][k]\n        k = 1 - k\n    return x",
        (),
        "`k` is dynamic because: carried from trip to trip by the kept loop (_:3)",
    ),
    (
        "the result of a loop",
        "AC1302",
        "def f(x):\n    n = 0\n    while x.sum() < 1000:\n        x = x * 2\n        n += 1\n    return x.sum(axis=n)",
        (),
        "`n` is dynamic because: it is a result of the kept loop (_:3)",
    ),
    (
        "a global Tensor",
        "AC1302",
        "def f(x):\n    k = W.item()\n    return x.sum(axis=k)",
        (),
        "`k` is dynamic because: global W is a Tensor → `k = W.item()` (_:2)",
    ),
    (
        "a number of compile time made one of run time",
        "AC1302",
        "def f(x):\n    k = ms.mutable(1)\n    return x.sum(axis=k)",
        (),
        "`k` is dynamic because: `k = ms.mutable(1)` (_:2)",
    ),
    (
        "through a differentiated function",
        "AC1302",
        "def f(x):\n    def g(v):\n        k = v.sum().item()\n        return v.sum(k)\n    return ms.grad(g)(x * 2)",
        (),
        "`k` is dynamic because: argument `x` is a Tensor (here) → `return ms.grad(g)(x * 2)` (_:5) → "
        "`k = v.sum().item()` (_:3)",
    ),
]


@pytest.mark.parametrize(("code", "source", "args", "chain"), [c[1:] for c in CHAINS], ids=[c[0] for c in CHAINS])
def test_the_reason_is_a_chain(code, source, args, chain):
    f = define(source, W=ms.Tensor(1))
    assert refusal(f, X, *args).code == code
    assert reason(f, X, *args) == chain
    assert reason(define(source, W=ms.Tensor(1)), X, *args) == chain


def test_a_parameter_is_a_reason():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor(1.0), name="w")

        def construct(self, x):
            k = int(self.w)
            return x.sum(axis=k)

    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(ms.CompileError) as caught:
        Net()(X)
    assert "because: `w` is a Parameter → `k = int(self.w)`" in caught.value.notes[0]


def test_a_long_chain_is_shortened():
    lines = "".join(f"    n = n * 2 + {i}\n" for i in range(50))
    f = define(f"def f(x, n):\n{lines}    return x.sum(axis=n)")
    text = reason(f, X, mutable(1))
    assert text.count("→") <= 7
    assert "argument `n` is mutable" in text
    assert "→ ... →" in text
    assert text.endswith("`n = n * 2 + 49` (_:51)")


def test_an_error_without_a_value_has_no_reason():
    assert not [n for n in refusal(define("def f(x):\n    try:\n        pass\n    finally:\n        pass"), X).notes]


def test_errors_keep_neither_frames_nor_values():
    error = refusal(define("def f(x, n):\n    k = n + 1\n    return [x][k]"), X, mutable(0))
    assert error.subject is None
    seen, stack = set(), [error]
    while stack:
        x = stack.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        assert not isinstance(x, Frame)
        stack += [
            r for r in gc.get_referents(x) if not isinstance(r, type) and isinstance(r, dict | tuple | list | Frame)
        ]


# ------------------------------------------------------------------------------------------------ explain
def test_explain_lists_what_is_static_and_what_is_dynamic():
    f = define("""
def f(x, n, flag):
    a = n + 1
    b = x * a
    c = len(x.shape)
    g = lambda v: v
    for i in range(20):
        b = b + i
    return g(b)
""")
    artifact = ms.jit(f).lower(X, mutable(3), True)
    lines = [line.strip() for line in artifact.explain().splitlines()]
    at = f"({HERE}:{test_explain_lists_what_is_static_and_what_is_dynamic.__code__.co_firstlineno + 11})"
    file = os.path.basename(f.__code__.co_filename)
    for line in (
        f"x: dynamic, Tensor f32[3,4]: argument `x` is a Tensor {at}",
        f"n: dynamic, int known at run time: argument `n` is mutable {at}",
        "flag: static, bool True",
        f"a: dynamic, int known at run time: argument `n` is mutable {at} → `a = n + 1` ({file}:3)",
        f"b: dynamic, Tensor f32[3,4]: it is a result of the kept loop ({file}:7)",
        "c: static, int 2",
    ):
        assert line in lines


def test_explanations_keep_no_frames_alive():
    class Thing:
        pass

    g = ms.jit(define("def f(x, thing):\n    def h(v):\n        return v, thing\n    return h(x)[0]"))
    thing = Thing()
    g(X, thing)
    (entry,) = [e for entries in g._entries.values() for e in entries]
    names = entry.lowered.reasons.variables
    assert "h" not in names
    assert names["thing"] is thing
    alive = weakref.ref(thing)
    del names, entry, thing
    g.clear_cache()
    gc.collect()
    assert alive() is None


# ------------------------------------------------------------------------------------------------ operands
W = ms.Tensor(np.ones((4, 5), np.float32))
OPERANDS = [
    ("a matrix product", lambda a, b: a.T @ b, "`a.T` is a Tensor f32[4,3], `b` is a Tensor f32[4,5]", "3 != 4"),
    ("a sum", lambda a, b: a[0] + b, "`a[0]` is a Tensor f32[4], `b` is a Tensor f32[4,5]", "4 != 5"),
    ("a comparison", lambda a, b: a < b, "`a` is a Tensor f32[3,4], `b` is a Tensor f32[4,5]", "3 != 4"),
    (
        "a method",
        lambda a, b: (a + 1).reshape(b.size, 2),
        "`a + 1` is a Tensor f32[3,4], `b.size` is an int 20",
        "[20, 2]",
    ),
    (
        "a function",
        lambda a, b: ops.concat([a, b[0]], axis=0),
        "`[a, b[0]]` is a list of Tensor f32[3,4], Tensor f32[5]",
        "",
    ),
    ("a dtype", lambda a, b: a & b, "`a` is a Tensor f32[3,4], `b` is a Tensor f32[4,5]", ""),
]


@pytest.mark.parametrize(("fn", "note", "rule"), [o[1:] for o in OPERANDS], ids=[o[0] for o in OPERANDS])
def test_operands_are_called_what_the_user_calls_them(fn, note, rule):
    error = refusal(fn, X, W)
    assert error.code == "AC1410"
    assert note in error.notes
    assert rule in error.message


def test_operands_of_an_augmented_assignment():
    error = refusal(define("def f(a, b):\n    a += b\n    return a"), X, W)
    assert "`a` is a Tensor f32[3,4], `b` is a Tensor f32[4,5]" in error.notes


def test_operands_inside_a_layer_are_those_of_its_call():
    layer = nn.Dense(7, 2)
    error = refusal(define("def f(a):\n    return layer(a * 2)", layer=layer), X)
    assert error.code == "AC1410"
    origin = "4 is the size of `a` along axis 1, 7 that of the Parameter `weight` along axis 1"
    assert error.notes == ("`a * 2` is a Tensor f32[3,4]", origin)
    assert error.loc.line == 2


def test_operands_inside_a_function_are_its_own():
    error = refusal(define("def f(a, b):\n    return g(a * 2, b)\n\ndef g(p, q):\n    return p @ q @ q"), X, W)
    origin = "5 is the size of `b` along axis 1, 4 that of `b` along axis 0"
    assert error.notes == ("`p @ q` is a Tensor f32[3,5], `q` is a Tensor f32[4,5]", origin)


def test_a_value_that_cannot_leave_has_a_reason():
    f = define("def f(x, n):\n    return f'{n}'")
    assert "dynamic because: argument `n` is mutable" in refusal(f, X, mutable(1)).notes[0]


def test_the_name_of_an_attribute_must_be_known():
    for name in ("getattr(x, f'{n}')", "hasattr(x, f'{n}')"):
        assert refusal(define(f"def f(x, n):\n    return {name}"), X, mutable(1)).code == "AC1302"


@pytest.mark.parametrize(("file", "place"), [("<stdin>", ""), (__file__, f" ({HERE}:1)")])
def test_a_call_that_nobody_can_look_up_has_no_place(file, place):
    """Of a program from standard input there is no line 1 to read."""
    f = define("def f(x):\n    n = int(x.sum())\n    return x.sum(n)")
    calling = compile("fn(x)", file, "exec")
    with pytest.raises(ms.CompileError) as caught:
        exec(calling, {"fn": ms.jit(f), "x": X})
    (note,) = [n for n in caught.value.notes if "dynamic because" in n]
    assert note.startswith(f"`n` is dynamic because: argument `x` is a Tensor{place} → ")
