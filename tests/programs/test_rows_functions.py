"""The rows of functions, classes and objects: one program per row, which gives the same in every mode.

Rows and tests: parameters and arguments in `CALLS`; methods, properties, descriptors, slots, special methods and
`super` in `OBJECTS`; `functools.partial`, `wraps`, nested `jit` and decorators of nested functions in `WRAPPERS`;
closures, lambdas and recursion in `CLOSURES`; NamedTuple, frozen dataclasses and enums in `CLASSES`; imports and
libraries in `LIBRARIES`.  More programs are in test_language.py; wrong calls in test_rows_refused.py.
"""

from __future__ import annotations

import pytest

from .rows import agree, body

#: What the programs find in their module.
MODULE = """
import functools, dataclasses, enum, typing, math, operator
from functools import partial, wraps
class P(typing.NamedTuple):
    a: object
    b: object = 2.0
    def total(self):
        return self.a + self.b
    @property
    def twice(self):
        return self.a * 2
@dataclasses.dataclass(frozen=True)
class D:
    a: object
    b: object = 3
    c: tuple = ()
    def total(self):
        return self.a * self.b
    @property
    def twice(self):
        return self.a * 2
    @classmethod
    def make(cls, v):
        return cls(v, 1)
    @staticmethod
    def k():
        return 4
@dataclasses.dataclass(frozen=True, slots=True)
class DS:
    a: object
    b: int = dataclasses.field(default=7)
@dataclasses.dataclass(frozen=True, kw_only=True)
class DK:
    a: object
class E(enum.Enum):
    A = 1
    B = "b"
    def scale(self):
        return 2.0 if self is E.A else 3.0
class IE(enum.IntEnum):
    ONE = 1
    TWO = 2
class F(enum.Flag):
    P = 1
    Q = 2
class Slots:
    __slots__ = ("k",)
    def __init__(self, k): self.k = k
    def run(self, v): return v * self.k
class Desc:
    def __get__(self, obj, owner): return 5.0 if obj is None else obj.base * 2
class Base:
    factor = 2.0
    d = Desc()
    def __init__(self): self.base = 3.0
    def m(self, v): return v * self.factor
    @classmethod
    def c(cls, v): return v * cls.factor
    @staticmethod
    def s(v, w=1.0): return v + w
    @property
    def p(self): return self.base + 1
    @functools.cached_property
    def cp(self): return self.base + 2
    def __call__(self, v, *rest, k=1.0): return v * k + len(rest)
    def __getattr__(self, name):
        if name == "magic": return 11.0
        raise AttributeError(name)
class Derived(Base):
    factor = 4.0
    def m(self, v): return super().m(v) + 1
    @classmethod
    def c(cls, v): return super().c(v) * 2
    @property
    def p(self): return super().p * 2
    def q(self, v): return super(Derived, self).m(v)
class Multi(Derived):
    def m(self, v): return [super(Derived, self).m(w) for w in (v,)][0]
class Ops:
    def __init__(self, v): self.v = v
    def __add__(self, o): return o + self.v
    def __radd__(self, o): return o - self.v
    def __matmul__(self, o): return o * 7
    def __neg__(self): return -self.v
    def __eq__(self, o): return True
    def __lt__(self, o): return self.v < o
    def __contains__(self, i): return i == 3
    def __bool__(self): return self.v > 100
    def __len__(self): return 3
    def __getitem__(self, i): return self.v * i
    def __int__(self): return 4
    def __float__(self): return 4.5
    def __abs__(self): return 9
    def __invert__(self): return 10
    def __iadd__(self, o): return Ops(self.v + 1) if False else o
    def __hash__(self): return 1
    def __reversed__(self): return [3, 2]
    def __index__(self): return 2
    def __iter__(self): return iter((1, 2))
b = Base(); d = Derived(); mu = Multi(); sl = Slots(2.0); o = Ops(2.0)
def deco(f):
    @wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs) * 2
    return inner
@deco
def decorated(v, k=1.0):
    return v + k
def po(a, /, b, *, c, d=4.0): return a * b + c - d
def va(*args, **kwargs): return sum(args) + len(kwargs) + sum(kwargs[k] for k in sorted(kwargs))
def outer(*args, **kwargs): return va(*args, *args, **kwargs, z=1)
def fact(k): return 1 if k < 2 else k * fact(k - 1)
def chain(v, k):
    if k == 0: return v
    return chain(v * 2, k - 1)
@ms.jit
def jitted(v, k=2): return v * k
TOP = partial(po, c=1.0)
"""

CALLS = {
    "positional only": "return po(x, y, c=1.0), po(x, b=y, c=2, d=x)",
    "var": "return va(x, y, q=1.0, r=x), outer(x, q=2.0), va(*[x, y], **{'k': y})",
    "star mix": "return va(*(x,), y, *[x], k=1, **dict(j=2))",
    "kwargs order": """
g = lambda **k: list(k)
return g(b=1, a=2), x
""",
    "args type": """
g = lambda *a: a
return g(x, y), g()
""",
    "default dyn": """
def g(v, w=x * 2): return v + w
x = y
return g(y)
""",
    "kwdefault": """
def g(v, *, w=x * 2): return v + w
x = y
return g(y), g(y, w=1.0)
""",
    "closure calls args": """
def apply(f, *a, **k): return f(*a, **k)
return apply(po, x, y, c=1.0), apply(lambda: x), apply(b, x)
""",
    "immediate": "return (lambda v: v * 2)(x), (lambda *, k: k)(k=y)",
    "annotations": """
def g(v: float, w: 'x' = 2) -> 'nothing': return v * w
return g(x)
""",
    "docstring": """
def g(v):
    'doc'
    return v * 2
return g(x)
""",
    "vararg join": "return [*map(lambda *a: sum(a), [x, y], [y, x])]",
}
OBJECTS = {
    "methods": """
return (
    b.m(x), d.m(x), mu.m(x), Base.m(d, x), b.c(x), d.c(x), Derived.c(x), b.s(x),
    Derived.s(x, 2.0), d.q(x)
)
""",
    "props": """
return (
    b.p * x, d.p * x, b.d * x, Base.d * x, b.magic * x, b.cp * x, b.factor, d.factor,
    Base.factor
)
""",
    "callable": "return b(x), b(x, 1, 2, k=3.0), callable(b), callable(x), callable(len), callable(3)",
    "slots": "return sl.run(x), sl.k * x",
    "getattr forms": """
return (
    getattr(b, 'factor') * x, getattr(b, 'nope', 3) * x, hasattr(b, 'm'), hasattr(b, 'nope'),
    getattr(x, 'sum')(), hasattr(x, 'sum'), hasattr(x, 'zz')
)
""",
    "bound method var": """
g = b.m
h = x.sum
return g(x), h(), [f(x) for f in (b.m, d.m)]
""",
    "super in properties": "return mu.m(x), mu.c(x), mu.p * x, mu.q(x)",
    "nested class attr": "return Base.s(x), Base().s(x) if False else b.s(x), b.__class__.factor, type(b).factor",
    "isinst": """
return (
    isinstance(b, Base), isinstance(d, (int, Base)), issubclass(Derived, Base),
    type(d) is Derived, type(d).__name__, isinstance(x, ms.Tensor), isinstance(int(n), int),
    isinstance(float(s), float), isinstance(x, (list, tuple)), isinstance(True, int),
    isinstance((), tuple), isinstance([], list), isinstance({}, dict),
    isinstance(n > 2, ms.Tensor), isinstance(3, int | float)
)
""",
    "ops user": """
return (
    o + x, x + o, o @ x, -o, o == 1, o < 3, 3 in o, x if o else y, len(o), o[2], int(o),
    float(o), abs(o), ~o, x[o], [5, 6, 7][o]
)
""",
    "user iter": "return [v * x for v in o], list(o), tuple(reversed(o))",
    "user aug": """
o2 = o
o2 += x
return o2
""",
    "generator in method": "return sum(b.m(v) for v in (x, y))",
}
WRAPPERS = {
    "partial": """
g = partial(po, x, c=1.0)
return g(y), g(y, d=2.0), partial(g, y)(), TOP(x, y), g.func is po, len(g.args)
""",
    "partial method": """
g = partial(b.m, x)
return g(), partial(jitted, k=3)(x), partial(lambda v, w: v * w, x)(y)
""",
    "wraps": "return decorated(x), decorated(x, k=y), decorated.__name__",
    "nested wraps": """
def dec(f):
    @wraps(f)
    def inner(*a, **k): return f(*a, **k) * 2
    return inner
g = dec(lambda v: v + 1)
return g(x)
""",
    "nested deco jit": """
@ms.jit
def g(v): return v * y
return g(x)
""",
    "nested deco partial": """
@partial(partial, x)
def g(u, v): return u * v
return g(y)
""",
    "nested jit call": """
g = ms.jit(lambda v: v * y)
return g(x)
""",
    "nested jit": "return jitted(x), jitted(x, k=3), jitted(y, 2.5)",
    "nested deco jit args": """
@ms.jit(unroll_limit=4)
def g(v): return v * y
return g(x)
""",
}
CLOSURES = {
    "recursion": "return fact(5) * x, chain(x, 6)",
    "nested recursion": """
def g(v, k): return v if k == 0 else g(v * x, k - 1)
return g(y, 3)
""",
    "late binding": """
def g(): return k * x
k = 2.0
a = g()
k = 3.0
return a, g()
""",
    "late binding branch": """
def g(): return k * x
k = 2.0
if n > 2:
    k = 3.0
return g()
""",
    "late binding loop": """
fs = []
for i in range(3):
    def g(v, i=i): return v * i
    fs.append(g)
return [f(x) for f in fs]
""",
    "late binding loop 2": """
fs = []
for i in range(3):
    def g(v): return v * i
    fs.append(g)
return [f(x) for f in fs]
""",
    "closure tensors": """
def mk(k):
    def g(v): return v * k
    return g
a, c = mk(x), mk(y)
return a(c(x))
""",
    "closure returned through": """
def mk(k):
    c = [k]
    def add(v):
        c.append(v)
        return c
    return add
g = mk(x)
g(y)
return g(1)
""",
    "def in branch": """
if len(m) == 2:
    def g(v): return v * 2
else:
    def g(v): return v
return g(x)
""",
    "def in dyn branch": """
if n > 2:
    def g(v): return v * 2
    x = g(x)
else:
    def g(v): return v * 3
    x = g(x)
return x
""",
    "closure in loop kept": """
def g(v): return v * y
for i in range(20):
    x = g(x) * 0.5
return x
""",
    "def inside kept loop": """
for i in range(20):
    def g(v): return v * y * 0.5
    x = g(x)
return x
""",
    "lambda inside dyn loop": """
k = 0
while x.sum() < 100:
    f = lambda v: v * 2 + k
    x = f(x)
    k += 1
return x, k
""",
}
CLASSES = {
    "named": """
p = P(x, y)
q = p._replace(b=1.0)
a, c = p
return (
    p, q, p.total(), p.twice, p[0], len(p), p._fields, p._asdict(), P._make([x, y]),
    isinstance(p, tuple), P(x)
)
""",
    "named join": """
p = P(x, 1.0) if n > 2 else P(y, 2.0)
return p, p.a, type(p) is P
""",
    "named loop": """
p = P(x, 0)
for i in range(20):
    p = P(p.a * 0.9, p.b + i)
return p
""",
    "dataclass": """
p = D(x, c=(y,))
return (
    p.a, p.c[0], p.b, p.total(), p.twice, D.make(x).a, D.k(), D(a=x, b=y).total(), DS(x).a,
    DS(x).b, DK(a=x).a
)
""",
    "dataclass replace": """
p = D(x)
q = dataclasses.replace(p, b=y)
return q.a, q.b, isinstance(q, D), p.b
""",
    "dataclass eq": "return D(1) == D(1), D(1) == D(2), D(1) != D(1), x",
    "dataclass returned": "return D(x, y)",
    "dataclass join": """
p = D(x, 1) if n > 2 else D(y, 2)
return p.a, p.b
""",
    "dataclass if": """
p = D(x, 1)
if n > 2:
    p = D(y, 5)
return p.total()
""",
    "dataclass loop": """
p = D(x, 0)
for i in range(20):
    p = D(p.a * 0.9, p.b + i)
return p.a, p.b
""",
    "dataclass nested": """
p = D(P(x, y), [x])
return p.a.total(), p.b[0]
""",
    "enum": """
return (
    E.A.scale() * x, E.A is E.A, E.A == E.B, E.B.value, E('b') is E.B, E['A'].name,
    IE.ONE + 1, x * IE.TWO, IE.ONE < IE.TWO, isinstance(E.A, E), [e.value for e in E],
    len(E)
)
""",
    "enum flag": """
f = F.P | F.Q
return F.P in f, bool(f & F.P), x
""",
    "enum if": """
e = E.A if len(m) == 2 else E.B
if e is E.A:
    return x
return y
""",
}
LIBRARIES = {
    "imports": """
import math
from math import pi, sqrt as r
import functools as ft
return x * math.sin(1.0) * pi * r(4.0), ft.reduce(lambda a, c: a * c, (x, y))
""",
    "map lambda": """
return (
    list(map(lambda a, c: a * c, (x, y), (1, 2))), list(map(str, [1, 2])), [*map(abs, (x,))],
    list(filter(lambda v: v > 1, [1, 2, 3])), list(filter(None, [0, 1]))
)
""",
    "map method": """
return (
    list(map(b.m, (x, y))), tuple(map(partial(po, x, c=1.0), (y,))),
    sum(map(lambda v: v * v, m))
)
""",
    "global fn": """
return (
    x * math.sqrt(2) * math.prod((2, 3)), operator.add(x, y), operator.itemgetter(1)((x, y)),
    operator.attrgetter('factor')(b), operator.neg(x)
)
""",
}
ROWS = {**CALLS, **OBJECTS, **WRAPPERS, **CLOSURES, **CLASSES, **LIBRARIES}


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    agree(MODULE + body(ROWS[name]))
