"""Changes outside of compiled code are noticed at the next call: classes, builtins, libraries, dispatch, hooks.

Every row runs eagerly and compiled, before and after a change; the two must agree each time.  More is in
test_stale.py, test_guards.py and test_rows_guards.py.
"""

from __future__ import annotations

import linecache
import math
import sys
import threading
import types

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import UnsupportedCallError
from tests.programs.compare import assert_same, define

X = np.array([0.4, 1.3, 2.1])
CELL = "import autodiff_compiler.nn as nn\nclass N(nn.Cell):\n"


def run(text, space):
    """Executes a change in a module, with a source for the functions that it defines."""
    file = f"<change {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)


def follows(module, text, change):
    f = define(f"{module}\ndef f(x):\n    {text}\n")
    g, x = ms.jit(f), ms.Tensor(X)
    before = f(x)
    for _ in range(2):
        assert_same(g(x), before, "before")
    assert g.cache_info()["compiles"] == 1
    run(change, f.__globals__)
    after = f(x)
    for _ in range(2):
        assert_same(g(x), after, "after")
    assert not np.array_equal(before.asnumpy(), after.asnumpy())


@pytest.fixture(autouse=True)
def _module(monkeypatch):
    """Dataclasses look for the module that their class says it is from."""
    monkeypatch.setitem(sys.modules, "programs", types.ModuleType("programs"))


AB = "class A:\n    k = 1.0\nclass B(A):\n    pass\na = A()"
# Module, body of the function, change.
ROWS = {
    # ---- the class of an object
    "isinstance": (AB, "return x * 2 if isinstance(a, B) else x", "a.__class__ = B"),
    "isinstance of a union": (AB, "return x * 2 if isinstance(a, int | B) else x", "a.__class__ = B"),
    "type": (AB, "return x * 2 if type(a) is B else x", "a.__class__ = B"),
    "class attribute of another class": (
        AB, "return x * a.k", "class C:\n    k = 5.0\na.__class__ = C"),
    "attribute hidden by a property of another class": (
        AB + "\na.k = 2.0", "return x * a.k",
        "class C:\n    @property\n    def k(self): return 9.0\na.__class__ = C"),
    "class of a Cell": (
        CELL + "    def construct(self, v): return v * 2\nclass M(N):\n"
        "    def construct(self, v): return v * 3\nn = N()",
        "return n(x)", "n.__class__ = M"),
    "bases": (
        "class A:\n    @property\n    def p(self): return 2.0\nclass B(A): pass\nclass C:\n    @property\n"
        "    def p(self): return 6.0\nb = B()", "return x * b.p", "B.__bases__ = (C,)"),
    "isinstance after other bases": (
        "class A: pass\nclass B(A): pass\nclass C: pass\nb = B()", "return x if isinstance(b, A) else x * 2",
        "B.__bases__ = (C,)"),
    # ---- what decides about classes
    "ABC.register": (
        "import abc\nclass I(abc.ABC): pass\n" + AB, "return x * 2 if isinstance(a, I) else x", "I.register(A)"),
    "ABC.register, issubclass": (
        "import abc\nclass I(abc.ABC): pass\n" + AB, "return x * 2 if issubclass(A, I) else x", "I.register(A)"),
    "ABC.register of Tensor": (
        "import abc\nclass I(abc.ABC): pass", "return x * 2 if isinstance(x, I) else x", "I.register(ms.Tensor)"),
    "protocol": (
        "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n    def m(self): ...\n" + AB,
        "return x * 2 if isinstance(a, P) else x", "A.m = lambda self: 1"),
    "__instancecheck__": (
        "flag = [False]\nclass M(type):\n    def __instancecheck__(cls, o): return flag[0]\n"
        "class C(metaclass=M): pass",
        "return x * 2 if isinstance(3, C) else x", "flag[0] = True"),
    "__subclasscheck__": (
        "flag = [False]\nclass M(type):\n    def __subclasscheck__(cls, o): return flag[0]\n"
        "class C(metaclass=M): pass",
        "return x * 2 if issubclass(int, C) else x", "flag[0] = True"),
    "callable": (AB, "return x * 2 if callable(a) else x", "A.__call__ = lambda self: 1"),
    "singledispatch": (
        "import functools\n@functools.singledispatch\ndef g(v): return 1.0\n@g.register\ndef _(v: int): return 2.0",
        "return x * g(1.0)", "g.register(float, lambda v: 5.0)"),
    "singledispatch of a Tensor": (
        "import functools\n@functools.singledispatch\ndef g(v): return v",
        "return g(x)", "g.register(ms.Tensor, lambda v: v * 5.0)"),
    "singledispatchmethod": (
        "import functools\nclass A:\n    @functools.singledispatchmethod\n    def g(self, v): return 1.0\na = A()",
        "return x * a.g(1.0)", "A.__dict__['g'].register(float)(lambda self, v: 5.0)"),
    # ---- builtins, libraries, this package
    "builtin": ("import builtins", "return x * abs(-2)", "builtins.abs = lambda v: 7.0"),
    "function of a library": ("import math", "return x * math.sqrt(4.0)", "math.sqrt = lambda v: 7.0"),
    "function of this package": (
        "import autodiff_compiler.ops as ops", "return ops.sin(x)", "ops.sin = lambda v: v * 7.0"),
    "deleted global that hid a builtin": ("def len(v): return 9.0", "return x * len((1, 2))", "del len"),
    # ---- operators
    "reflected method of a subclass": (
        "class A:\n    def __add__(self, o): return 2.0\nclass B(A): pass\na = A()\nb = B()",
        "return x * (a + b)", "B.__radd__ = lambda self, o: 5.0"),
    "subclass of dict": ("class D(dict): pass\nd = D(k=1.0)", "return x * d['k']", "D.__getitem__ = lambda s, i: 7.0"),
    "subclass of list": ("class L(list): pass\nl = L([1.0])", "return x * l[0]", "L.__getitem__ = lambda s, i: 7.0"),
    "__missing__": (
        "class D(dict):\n    def __missing__(self, k): return k * 2.0\nd = D()", "return x * d[3]", "d[3] = 1.0"),
    "elements by number": (
        "class A:\n    n = 2\n    def __getitem__(self, i):\n        if i >= self.n: raise IndexError\n"
        "        return 2.0\na = A()", "for v in a: x = x * v\n    return x", "a.n = 3"),
    "membership by number": (
        "class A:\n    def __getitem__(self, i): return [1, 2][i]\na = A()", "return x * 2 if 2 in a else x",
        "A.__getitem__ = lambda self, i: [1, 3][i]"),
    "membership by iteration": (
        "class A:\n    items = [1]\n    def __iter__(self): return iter(self.items)\na = A()",
        "return x * 2 if 2 in a else x", "a.items.append(2)"),
    # ---- attributes found by code of the user's
    "__getattr__": (
        "class A:\n    def __init__(self): self.d = {'k': 2.0}\n    def __getattr__(self, name): return self.d[name]\n"
        "a = A()", "return x * a.k", "a.d['k'] = 5.0"),
    "__getattr__ no longer asked": (
        "class A:\n    def __getattr__(self, name): return 2.0\na = A()", "return x * a.k", "a.k = 5.0"),
    "__getattr__ replaced": (
        "class A:\n    def __getattr__(self, name): return 2.0\na = A()", "return x * a.k",
        "A.__getattr__ = lambda self, name: 5.0"),
    "__getattr__ of a Cell": (
        CELL + "    def __getattr__(self, name):\n        if name == 'q': return 3.0\n"
        "        raise AttributeError(name)\n"
        "    def construct(self, v): return v * self.q\nn = N()", "return n(x)", "n.q = 4.0"),
    "__getattr__ of a metaclass": (
        "class M(type):\n    def __getattr__(cls, name): return 2.0\nclass A(metaclass=M): pass",
        "return x * A.k", "A.k = 5.0"),
    "__getattr__ of a module": (
        "import types\nm = types.ModuleType('m')\ndef _get(name): return 2.0\nm.__getattr__ = _get",
        "return x * m.k", "m.k = 5.0"),
    "__getattribute__": (
        "class A:\n    k = 2.0\n    def __getattribute__(self, name):\n"
        "        return object.__getattribute__(self, name)\n"
        "a = A()", "return x * a.k", "a.k = 5.0"),
    "__getattribute__ gone": (
        "class A:\n    k = 2.0\n    def __getattribute__(self, name):\n        return super().__getattribute__(name)\n"
        "a = A()", "return x * a.k", "A.__getattribute__ = lambda self, name: 7.0"),
    "__get__": (
        "class D:\n    def __get__(self, o, t): return o.z * 2\nclass A:\n    k = D()\na = A()\na.z = 1.0",
        "return x * a.k", "a.z = 4.0"),
    "__get__ hidden": (
        "class D:\n    def __get__(self, o, t): return 2.0\nclass A:\n    k = D()\na = A()",
        "return x * a.k", "a.k = 4.0"),
    "__get__ of a class": (
        "class D:\n    v = 2.0\n    def __get__(self, o, t): return self.v if o is None else 1.0\nclass A:\n"
        "    k = D()",
        "return x * A.k", "A.__dict__['k'].v = 4.0"),
    "property of a metaclass": (
        "class M(type):\n    @property\n    def k(cls): return cls.z * 2\nclass A(metaclass=M):\n    z = 1.0",
        "return x * A.k", "A.z = 4.0"),
    "property that is no function": (
        "import operator\nclass A:\n    k = property(operator.attrgetter('z'))\na = A()\na.z = 2.0",
        "return x * a.k", "a.z = 3.0"),
    "hasattr of a property": (
        "class A:\n    @property\n    def p(self): return self.z\na = A()", "return x * 2 if hasattr(a, 'p') else x",
        "a.z = 1"),
    "hasattr by __getattr__": (
        "class A:\n    def __init__(self): self.d = {}\n    def __getattr__(self, name):\n        if name in self.d:\n"
        "            return self.d[name]\n        raise AttributeError(name)\na = A()",
        "return x * 2 if hasattr(a, 'q') else x * getattr(a, 'q', 1.5)", "a.d['q'] = 5.0"),
    "cached_property": (
        "import functools\nclass A:\n    z = 1.0\n    @functools.cached_property\n    def k(self): return self.z * 2\n"
        "a = A()", "return x * a.k", "a.z = 4.0\ndel a.k"),
    "bound method kept by an object": (
        "class A:\n    def __init__(self, k): self.k = k\n    def m(self, v): return v * self.k\nclass O: pass\n"
        "a = A(2.0)\nb = A(3.0)\no = O()\no.f = a.m", "return o.f(x)", "o.f = b.m"),
    # ---- containers
    "element 17 of a list": ("l = [1.0] * 40", "for v in l: x = x * v\n    return x", "l[17] = 7.0"),
    "value 17 of a dict": (
        "d = {i: 1.0 for i in range(40)}", "for k in d: x = x * d[k]\n    return x", "d[17] = 7.0"),
    "attribute of object 17": (
        "class O:\n    k = 1.0\nl = [O() for _ in range(40)]", "for o in l: x = x * o.k\n"
        "    return x", "l[17].k = 7.0"),
    "element 17 of an array": (
        "a = np.ones(40)", "return x * np.sum(a)", "a[17] = 7.0"),
    "ChainMap": (
        "import collections\nlow = {'k': 2.0}\n"
        "d = collections.ChainMap({}, low)", "return x * d['k']", "low['k'] = 3.0"),
    "defaults of a NamedTuple": (
        "import typing\nclass N(typing.NamedTuple):\n    k: float = 1.0", "return x * N().k",
        "N.__new__.__defaults__ = (4.0,)"),
    # ---- dataclasses
    "dataclasses.fields": (
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    k: float = 2.0\n    j: float = 3.0\nd = D()",
        "for f in dataclasses.fields(d): x = x * getattr(d, f.name)\n    return x", "d.k = 4.0"),
    "dataclasses.asdict": (
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    k: object\nd = D([{'a': D(2.0)}])",
        "return x * dataclasses.asdict(d)['k'][0]['a']['k']", "d.k[0]['a'] = D(3.0)"),
    "dataclasses.astuple": (
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    k: float = 2.0\nd = D()",
        "return x * dataclasses.astuple(d)[0]", "d.k = 4.0"),
    "dataclasses.replace": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass D:\n    k: float = 2.0\n"
        "    j: float = 3.0\nd = D()",
        "r = dataclasses.replace(d, j=x)\n    return r.j * r.k", "d = D(5.0)"),
    # ---- functions that remember their results
    "lru_cache cleared": (
        "import functools\nk = [1.0]\n@functools.lru_cache\ndef g(n): return n * k[0]", "return x * g(3)",
        "k[0] = 5.0\ng.cache_clear()"),
    "Tensor kept by lru_cache": (
        "import functools\n@functools.lru_cache\ndef g(n): return ms.ops.ones((n,)) * 2", "return x * g(3)",
        "g(3)[0] = 7.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_row(name, monkeypatch):
    import builtins

    for owner, attribute in ((builtins, "abs"), (math, "sqrt"), (ms.ops, "sin")):
        monkeypatch.setattr(owner, attribute, getattr(owner, attribute))  # put back afterwards
    follows(*ROWS[name])


def test_what_lru_cache_remembers_is_not_computed_again():
    """As in Python: a change of what the function reads shows only after its memory is cleared."""
    f = define("""
import functools
k = [2.0]
@functools.lru_cache
def scale(n): return n * k[0]
def f(x): return x * scale(3)
""")
    g, x = ms.jit(f), ms.Tensor(X)
    assert_same(g(x), ms.Tensor(X * 6.0), "first")
    f.__globals__["k"][0] = 5.0
    assert_same(f(x), ms.Tensor(X * 6.0), "Python")
    assert_same(g(x), ms.Tensor(X * 6.0), "remembered")


@pytest.mark.parametrize("body", ["print(n)\n    return n", "return w * n"])
def test_functions_that_remember_more_than_a_constant_are_refused(body):
    w = ms.Parameter(np.ones(3), name="w")
    f = define(
        f"import functools\n@functools.lru_cache\ndef g(n):\n    {body}\ndef f(x): return x * g(3)", w=w
    )  # fmt: skip
    with pytest.raises(UnsupportedCallError, match="remembers its results, but"):
        ms.jit(f)(ms.Tensor(X))


def test_a_cached_property_with_effects_is_refused_until_it_is_read():
    f = define("""
import functools
class A:
    @functools.cached_property
    def k(self):
        print("computed")
        return 2.0
a = A()
def f(x): return x * a.k
""")
    with pytest.raises(UnsupportedCallError, match="has effects"):
        ms.jit(f)(ms.Tensor(X))
    assert f.__globals__["a"].k == 2.0
    assert_same(ms.jit(f)(ms.Tensor(X)), ms.Tensor(X * 2.0), "read before")


HOOKS = {
    "__getattr__": "def __getattr__(self, name):\n        print('read', name)\n        return 2.0",
    "__getattribute__": "k = 2.0\n    def __getattribute__(self, name):\n        if name == 'k': print('read', name)\n"
    "        return super().__getattribute__(name)",
    "property": "@property\n    def k(self):\n        print('read k')\n        return 2.0",
}


@pytest.mark.parametrize("hook", HOOKS)
def test_code_that_finds_attributes_runs_once_per_read_in_its_place(hook, capsys):
    f = define(
        f"class A:\n    {HOOKS[hook]}\na = A()\ndef f(x):\n    print('in')\n    y = x * a.k\n    print('out')\n"
        f"    return y"
    )
    g, x = ms.jit(f), ms.Tensor(X)
    for _ in range(3):
        assert_same(g(x), ms.Tensor(X * 2.0), "value")
        assert capsys.readouterr().out == "in\nread k\nout\n"
    g.guards(), g.cache_info()
    assert capsys.readouterr().out == ""


def test_the_compiler_does_not_ask_objects_for_names_of_its_own():
    asked = []

    class Asked:
        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

        def __call__(self, x):
            return x * 2

    o = Asked()
    f = define("def f(x):\n    return o(x), o", o=o)
    assert ms.jit(f)(ms.Tensor(X))[1] is o
    assert_same(ms.jit(o)(ms.Tensor(X)), ms.Tensor(X * 2), "the object itself")
    assert [name for name in asked if not name.startswith("__")] == []
    assert "__graph_call__" not in asked
    assert "__graph_name__" not in asked


def test_errors_in_pythons_library_are_shown_at_the_users_call():
    f = define("import statistics\ndef f(x):\n    return statistics.fmean([x, x])")
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(f)(ms.Tensor(X))
    assert caught.value.loc.file.startswith("<program")
    assert caught.value.loc.line == 3
    assert any("Python's own library" in note for note in caught.value.notes)
    assert caught.value.hint


@pytest.mark.parametrize("change", ["d.pop('k')", "u.update(k=2.0)", "l.append(2.0)"])
def test_containers_of_the_library_are_not_changed_while_compiling(change):
    f = define(f"""
import collections
d, u, l = collections.ChainMap({{'k': 1.0}}), collections.UserDict(k=1.0), collections.UserList([1.0])
def f(x):
    {change}
    return x
""")
    with pytest.raises(ms.CompileError, match="AC1602"):
        ms.jit(f)(ms.Tensor(X))
    names = f.__globals__
    assert (dict(names["d"]), dict(names["u"]), list(names["l"])) == ({"k": 1.0}, {"k": 1.0}, [1.0])


def test_code_that_runs_while_compiling_runs_in_the_thread_that_called():
    """A thread with a small stack lets another one compile; the locks it holds must not stop that."""
    lock, own, found = threading.RLock(), threading.local(), []

    @ms.constexpr
    def number(n):
        with lock:
            return n + own.k + (float(g(ms.Tensor(1.0), n - 1)) if n else 0.0)

    g = ms.jit(define("def f(x, n):\n    return x * number(n)", number=number))

    def work():
        own.k = 5
        with lock:
            found.append(g(ms.Tensor(X), 2))

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join(60)
    assert not thread.is_alive()
    assert_same(found[0], ms.Tensor(X * (7.0 + 6.0 + 5.0)), "compiled with the lock held")
