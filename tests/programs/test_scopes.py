"""Scopes of comprehensions, containers that change while they are gone over, names that may be one of several
Parameters, numbers known at run time: compiled code does what Python does with NumPy arrays, or refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.errors import LoopError, SideEffectError, UnsupportedSyntaxError
from tests.programs.compare import assert_same, define, texts

pytestmark = pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.AutodiffWarning")

X = np.array([1.0, 2.0, 3.0])


def body(text, **names):
    return define("def f(x):\n" + "".join(f"    {line}\n" for line in text.splitlines()), **names)


def check(text):
    """A function's body gives in compiled code what Python gives for an array."""
    f = body(text)
    assert_same(ms.jit(f)(ms.Tensor(X)), ms.Tensor(f(X)), text)


# ------------------------------------------------------------------------------------------------ comprehensions
COMPREHENSIONS = {
    "late binding": "i = 10\nfs = [lambda y: y * (i + 1) for i in range(3)]\nreturn fs[0](x) * i",
    "no outer name": "fs = [lambda y: y * (i + 1) for i in range(3)]\nreturn fs[0](x)",
    "bound by a default": "fs = [lambda y, i=i: y * i for i in range(3)]\nreturn fs[1](x) + fs[2](x)",
    "closure over the outer name": "i = 10\nf = lambda y: y * i\nreturn sum([f(x) * i for i in range(3)])",
    "nested": "return [[(lambda: x * i * j) for j in range(2)] for i in range(3)][0][1]()",
    "iterable of the outer name": "i = [x, x * 2]\nreturn sum([i * 2 for i in i])",
    "called inside": "return [f(x) for f in [lambda y: y + m for m in (1, 2)]][0]",
    "dict": "d = {k: (lambda y: y * k) for k in (1, 2)}\nreturn d[1](x) if x.sum() > 0 else x",
    "walrus": "r = [(t := x * i) for i in range(4)]\nreturn t + r[1]",
    "walrus, nested": "r = [[(t := x * i * j) for i in range(3)] for j in range(3)]\nreturn t",
    "walrus in a branch": "if x.sum() > 0:\n    r = [(t := x * i) for i in range(4)]\nelse:\n    t = x\nreturn t",
    "branch": "r = [x * i if x.sum() > 0 else x - i for i in range(4)]\nreturn r[3] + r[2]",
}


@pytest.mark.parametrize("name", COMPREHENSIONS)
def test_comprehension_scope(name):
    check(COMPREHENSIONS[name])


def test_walrus_in_a_run_time_branch_of_a_comprehension_is_refused():
    f = body("r = [(t := x * i) if x.sum() > 0 else x for i in range(4)]\nreturn t + r[1]")
    with pytest.raises(UnsupportedSyntaxError, match=":="):
        ms.jit(f)(ms.Tensor(X))


# ------------------------------------------------------------------------------------------------ changing containers
CHANGING = {
    "grows": "l = [1, 2]\nfor v in l:\n    if len(l) < 4: l.append(3)\n    x = x * v\nreturn x",
    "grows beyond the limit": "l = [x, x * 2]\nfor v in l:\n    if len(l) < 12: l.append(v + 1)\nreturn sum(l)",
    "shrinks": "l = [1, 2, 3, 4]\nfor v in l: l.remove(v)\nreturn x * len(l) + l[0]",
    "reversed": "l = [1, 2, 3, 4]\nfor v in reversed(l):\n    l.pop()\n    x = x * v + len(l)\nreturn x",
    "zip and enumerate": """l = [1, 2, 3]
for a, (i, b) in zip(l, enumerate(l)):
    if i < 2: l.append(a + b)
    x = x * a + b + i
return x""",
    "elements ahead": """l = [x * i for i in range(12)]
s = x
for i, v in enumerate(l):
    if i < 6: l[i + 2] = x
    s = s + v
return s""",
    "elements of the loop variable": "l = [x * i for i in range(12)]\nfor v in l: v[0] = 7.0\nreturn l[3]",
    "comprehension": "l = [1, 2, 3, 4]\nr = [l.pop() for v in l]\nreturn x * r[0] + r[1] + len(r)",
    "values of a dict": """d = {'a': x, 'b': x}
for k in d: d[k] = d[k] * 2
for k, v in d.items(): d[k] = v * 3
return d['a'] + d['b']""",
    "break after a dict grew": "d = {'a': 1}\nfor k in d:\n    d['b'] = 2\n    break\nreturn x * len(d)",
    "unchanged, kept": """l = [x * i for i in range(20)]
s = x
for v in l: s = s + v
for v in reversed(l): s = s * v + 1
for a, b in zip(l, l): s = s + a * b
return s""",
}


@pytest.mark.parametrize("name", CHANGING)
def test_container_changes_while_gone_over(name):
    check(CHANGING[name])


@pytest.mark.parametrize("over", ["d", "d.items()", "d.values()"])
def test_dict_that_grows_while_gone_over(over):
    f = body(f"d = {{'a': 1}}\nfor k in {over}: d['b'] = 2\nreturn x")
    for g, x in ((f, X), (ms.jit(f), ms.Tensor(X))):
        with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
            g(x)


def test_list_that_grows_by_a_run_time_condition_is_refused():
    f = body("l = [x, x * 2]\nfor v in l:\n    if v.sum() > 100: break\n    l.append(v * 2)\nreturn x")
    with pytest.raises(LoopError, match="while it is iterated over"):
        ms.jit(f)(ms.Tensor(X))


# ------------------------------------------------------------------------------------------------ Parameters
CHOSEN = {
    "branch": "a = w if x.sum() > 0 else v\nreturn a * x",
    "assigned afterwards": "a = w if x.sum() > 0 else v\ny = a * x\nops.assign(w, w * 2)\nreturn y + w",
    "assigned before": """y = x
for i in range(12):
    ops.assign(w, w + 1)
    a = w if y.sum() > 40 else v
    y = y + a
return y + a""",
    "swapped": """a, b = w, v
for i in range(12):
    a, b = b, a
    ops.assign(w, w + x)
return a * 10 + b""",
    "in lists": "l = [w, v] if x.sum() > 0 else [v, w]\nreturn l[0] * 2 + x",
}
STALE = {
    "returned": "a = w if x.sum() > 0 else v\nops.assign(w, w * 2)\nreturn a",
    "used": "a = w if x.sum() > 0 else v\nops.assign(v, v * 2)\nreturn a * x",
    "next trip": """a = w if x.sum() > 0 else v
y = x
for i in range(12):
    y = y + a
    ops.assign(w, w + 1)
return y""",
    "carried": """a = w
for i in range(int(x.sum())):
    a = v
    ops.assign(w, w + 1)
return a * 1""",
    "condition": """a = w
while a.sum() < 100:
    a = w if x.sum() > 0 else v
    ops.assign(w, w * 2)
return x""",
    "list": "l = [w, v] if x.sum() > 0 else [v, w]\nops.assign(v, v * 2)\nreturn l",
    "assigned itself": "a = w if x.sum() > 0 else v\nops.assign(a, a * 2)\nreturn a",
    "element": "a = w if x.sum() > 0 else v\na[0] = 1.0\nreturn a * 1",
    "augmented": "a = w if x.sum() > 0 else v\na += 1\nreturn a",
}


def parameters():
    return {"w": ms.Parameter([1.0, 2.0, 3.0], name="w"), "v": ms.Parameter([1.0, 1.0, 1.0], name="v"), "ops": ops}


@pytest.mark.parametrize("name", CHOSEN)
def test_name_that_may_be_one_of_several_parameters(name):
    one, two = parameters(), parameters()
    x = ms.Tensor(X, ms.float32)
    assert_same(ms.jit(body(CHOSEN[name], **one))(x), body(CHOSEN[name], **two)(x), name)
    assert_same([one["w"].copy(), one["v"].copy()], [two["w"].copy(), two["v"].copy()], name)


@pytest.mark.parametrize("name", STALE)
def test_chosen_parameter_that_is_assigned_is_refused(name):
    with pytest.raises(SideEffectError):
        ms.jit(body(STALE[name], **parameters()))(ms.Tensor(X, ms.float32))


# ------------------------------------------------------------------------------------------------ run-time numbers
def outcome(f, x):
    try:
        return f(x)
    except ArithmeticError as error:
        return type(error), error.args


OPERANDS = texts("int(s); int(-s); float(s); int(s - 6); float(s - 6); bool(s > 0); 0; 2; 0.0; -1.0; 2.5")
POWERS = texts("""int(s) ** -1; int(s) ** 2; int(s) ** int(s); 2 ** int(s); float(s) ** -2.0; float(s) ** int(-s)
    int(s - 6) ** -1; float(s - 6) ** int(-s); int(-s) ** 3; int(-s) ** -1.0; True ** int(s)""")


@pytest.mark.parametrize("op", ["/", "//", "%"])
@pytest.mark.parametrize("a", OPERANDS)
def test_division_of_run_time_numbers(op, a):
    """Those that raise nothing in one program, each of the others in one of its own."""
    expected = {b: outcome(body(f"s = x.sum()\nreturn {a} {op} {b}"), X) for b in OPERANDS}
    raising = [b for b in OPERANDS if isinstance(expected[b], tuple)]
    values = [b for b in OPERANDS if b not in raising]
    f = body("s = x.sum()\nreturn [" + ", ".join(f"{a} {op} {b}" for b in values) + "]")
    for b, given in zip(values, ms.jit(f)(ms.Tensor(X)), strict=True):
        assert (type(given), given) == (type(expected[b]), expected[b]), b
    for b in raising:
        f = body(f"s = x.sum()\nreturn {a} {op} {b}")
        assert outcome(ms.jit(f), ms.Tensor(X)) == expected[b], b


@pytest.mark.parametrize("text", POWERS)
def test_power_of_run_time_numbers(text):
    f = body(f"s = x.sum()\nreturn {text}")
    expected, given = outcome(f, X), outcome(ms.jit(f), ms.Tensor(X))
    assert type(given) is type(expected)
    assert given == expected or math.isclose(given, expected, rel_tol=1e-14)


@pytest.mark.parametrize("text", ["2 ** int(-s)", "int(s) ** int(-s)", "float(-s) ** 0.5"])
def test_power_of_another_kind_is_refused_at_run_time(text):
    with pytest.raises(ValueError, match=r"float|complex"):
        ms.jit(body(f"s = x.sum()\nreturn {text}"))(ms.Tensor(X))


def test_division_of_tensors_by_a_run_time_zero_is_not_checked():
    f = ms.jit(body("return x / int(x.sum() - 6)"))
    assert_same(f(ms.Tensor(X)), ms.Tensor([np.inf] * 3, ms.float64), "tensor")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{'a': n} == {'b': n}", False), ("{'a': n, 'b': 2} == {'b': 2, 'a': n}", True), ("{'a': n} != [n]", True),
     ("(n,) == [n]", False), ("[{'a': n}] == [{'a': 6}]", True), ("{'a': n} == {'a': 5}", False)],
)  # fmt: skip
def test_comparing_containers(text, expected):
    assert ms.jit(body(f"n = int(x.sum())\nreturn {text}"))(ms.Tensor(X)) is expected


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("[n, 2]", ms.float32), ("[2, n]", ms.float32), ("[k, 2.5]", ms.float32), ("[b, k]", ms.int64),
     ("[[1, 2], [n, 4]]", ms.float32), ("[b, True]", ms.bool_), ("[k, 2], ms.float16", ms.float16)],
)  # fmt: skip
def test_tensor_of_run_time_numbers(text, dtype):
    f = body(f"n = float(x.sum())\nk = int(n)\nb = bool(n > 0)\nreturn ms.Tensor({text})")
    x = ms.Tensor(X)
    assert f(x).dtype is dtype
    assert_same(ms.jit(f)(x), f(x), text)
