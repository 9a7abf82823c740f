"""Facts read of Parameters, classes, containers and users' objects: a change is seen, the same things compile once."""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn
from autodiff_compiler.errors import UnsupportedCallError
from tests.programs.compare import assert_same

X = np.array([0.4, 1.3, 2.1])


def follows(f, change, *args):
    """Compiled code gives what eager code gives before and after a change, without a needless compilation."""
    g, x = ms.jit(f), ms.Tensor(X)
    before = f(x, *args)
    for _ in range(2):
        assert_same(g(x, *args), before, "before")
    assert g.cache_info()["compiles"] == 1
    change()
    after = f(x, *args)
    for _ in range(2):
        assert_same(g(x, *args), after, "after")
    assert g.cache_info()["compiles"] == 2
    assert not np.array_equal(before.asnumpy(), after.asnumpy())


# ------------------------------------------------------------------------------------------------------- Parameters
def test_shape_of_a_parameter():
    p = ms.Parameter(X, name="p")
    follows(lambda x: (x * p).sum() / p.shape[0], lambda: p.set_data(np.ones((2, 3)), slice_shape=True))


def test_shape_of_a_parameter_among_the_arguments():
    p = ms.Parameter(X, name="p")
    follows(lambda x, p: x * p.shape[0], lambda: p.set_data(np.ones((2, 3)), slice_shape=True), p)


@pytest.mark.parametrize(
    ("read", "change"),
    [
        (lambda p: p.requires_grad, lambda p: setattr(p, "requires_grad", False)),
        (lambda p: p.name == "p", lambda p: setattr(p, "name", "q")),
    ],
)
def test_facts_of_a_parameter(read, change):
    p = ms.Parameter(X, name="p")
    follows(lambda x: x * 2 if read(p) else x, lambda: change(p))


# ------------------------------------------------------------------------------------------------------- containers
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, lambda **d: collections.defaultdict(float, d)])
def test_mappings_as_arguments(kind):
    d = kind(k=1.0, t=ms.Tensor(X))
    follows(lambda x, d: x * d["k"] + d["t"], lambda: d.update(k=5.0), d)


def test_mappings_keep_their_class_and_content():
    d = collections.OrderedDict(a=ms.Tensor(X), b=2)
    g = ms.jit(lambda d: d)
    back = g(d)
    assert type(back) is collections.OrderedDict
    assert list(back) == ["a", "b"]
    assert back["b"] == 2
    g(collections.OrderedDict(a=ms.Tensor(X * 2), b=2))  # a Tensor inside is dynamic
    assert g.cache_info()["compiles"] == 1
    counted = ms.jit(lambda c: c)(collections.Counter(a=3))
    assert type(counted) is collections.Counter
    assert counted == {"a": 3}


def test_sets_as_arguments():
    s = {1}
    follows(lambda x, s: x * len(s), lambda: s.add(2), s)
    g = ms.jit(lambda x, s: x * len(s))
    g(ms.Tensor(X), {1, 2})
    g(ms.Tensor(X), {1, 2})
    assert g.cache_info()["compiles"] == 1


def test_other_containers_as_arguments():
    d = collections.deque([1.0])
    follows(lambda x, d: x * d[0], lambda: d.__setitem__(0, 3.0), d)
    u = collections.UserDict(k=1.0)
    follows(lambda x, u: x * u["k"], lambda: u.update(k=3.0), u)


def test_a_sequence_with_reading_of_its_own_is_refused():
    class Doubled(list):
        def __getitem__(self, i):
            return 2 * super().__getitem__(i)

    with pytest.raises(UnsupportedCallError, match="__getitem__"):
        ms.jit(lambda x, d: x * d[0])(ms.Tensor(X), Doubled([1.0]))


def test_subclasses_without_reading_of_their_own():
    class Plain(list):
        pass

    g = ms.jit(lambda d: d[0] * d[1] if isinstance(d, Plain) else d[0])
    assert_same(g(Plain([ms.Tensor(X), 2.0])), ms.Tensor(X * 2), "elements")


@pytest.mark.parametrize("named", [False, True])
def test_partial(named):
    content = [1.0]

    def scaled(content, x):
        return x * content[0]

    p = functools.partial(scaled, content=content) if named else functools.partial(scaled, content)
    follows((lambda x: p(x=x)) if named else (lambda x: p(x)), lambda: content.__setitem__(0, 5.0))


def test_partial_as_argument():
    def scaled(k, x):
        return x * k

    g = ms.jit(lambda x, f: f(x))
    for k in (1.0, 1.0, 2.0):
        assert_same(g(ms.Tensor(X), functools.partial(scaled, k)), ms.Tensor(X * k), "partial")
    assert g.cache_info()["compiles"] == 2
    for k in (3.0, 4.0):  # a Tensor inside belongs to its partial
        assert_same(g(ms.Tensor(X), functools.partial(scaled, ms.Tensor(X * k))), ms.Tensor(X * (X * k)), "Tensor")


# ---------------------------------------------------------------------------------------------------------- classes
def cells():
    class Mixin:
        def shifted(self, x):
            return x + 1

    class Scale(Mixin, nn.Cell):
        k = 2.0

        @property
        def twice(self):
            return 2 * self.k

        def construct(self, x):
            return self.shifted(x) * self.k + self.twice

    return Mixin, Scale


@pytest.mark.parametrize(
    "change",
    [
        lambda mixin, scale: setattr(scale, "k", 5.0),
        lambda mixin, scale: setattr(scale, "construct", lambda self, x: x * 100),
        lambda mixin, scale: setattr(mixin, "shifted", lambda self, x: x + 7),
        lambda mixin, scale: setattr(scale, "shifted", lambda self, x: x + 8),
        lambda mixin, scale: setattr(scale, "twice", 1.0),
        lambda mixin, scale: setattr(scale, "twice", property(lambda self: self.k)),
    ],
)
def test_classes_of_cells(change):
    mixin, scale = cells()
    net = scale()
    follows(lambda x: net(x), lambda: change(mixin, scale))


def test_construct_of_one_object():
    net = cells()[1]()
    follows(lambda x: net(x), lambda: setattr(net, "construct", lambda x: x * 3))


def test_construct_of_the_base():
    base = cells()[1]

    class Sub(base):
        def construct(self, x):
            return super().construct(x) * 2

    net = Sub()
    follows(lambda x: net(x), lambda: setattr(base, "construct", lambda self, x: x))


def test_call_of_a_class():
    class Times:
        def __call__(self, x):
            return x * 2

    t = Times()
    follows(lambda x: t(x), lambda: setattr(Times, "__call__", lambda self, x: x * 9))


# -------------------------------------------------------------------------------------------------- special methods
class Number:
    def __init__(self, a):
        self.a = a

    def __lt__(self, o):
        return self.a < o

    def __ge__(self, o):
        return self.a >= o

    def __eq__(self, o):
        return self.a == (o.a if isinstance(o, Number) else o)

    __hash__ = None

    def __neg__(self):
        return -self.a

    def __invert__(self):
        return self.a + 0.5

    def __abs__(self):
        return abs(self.a)

    def __bool__(self):
        return self.a == 1

    def __float__(self):
        return float(self.a)

    def __index__(self):
        return int(self.a)

    def __contains__(self, k):
        return k == self.a

    def __str__(self):
        return str(self.a)

    def __reversed__(self):
        return [self.a, 1.0]


ROWS = [10.0, 20.0, 30.0, 40.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda n, x: x * 2 if n < 2 else x,
        lambda n, x: x * 2 if 2 > n else x,
        lambda n, x: x * 2 if n >= 2 else x,
        lambda n, x: x * 2 if operator.lt(n, 2) else x,
        lambda n, x: x * 2 if n == 1 else x,
        lambda n, x: x * 2 if n != 1 else x,
        lambda n, x: x * 2 if 1 == n else x,
        lambda n, x: x * 2 if [n, 3] == [1, 3] else x,
        lambda n, x: x * 2 if n in (5, 1) else x,
        lambda n, x: x * 2 if 1 in n else x,
        lambda n, x: x * 2 if 1 not in n else x,
        lambda n, x: x * 2 if n else x,
        lambda n, x: x * bool(n),
        lambda n, x: x * -n,
        lambda n, x: x * ~n,
        lambda n, x: x * abs(n),
        lambda n, x: x * float(n),
        lambda n, x: x * int(n),
        lambda n, x: x * ROWS[n],
        lambda n, x: x * len(range(n)),
        lambda n, x: x * 5 if isinstance(min(2, n), Number) else x,
        lambda n, x: x * sum(reversed(n)),
        lambda n, x: x * 2 if str(n) == "1" else x,
        lambda n, x: x * 2 if f"{n}" == "1" else x,
        lambda n, x: x * 2 if f"{n!s:>2}" == " 1" else x,
        lambda n, x: x * operator.attrgetter("a")(n),
        lambda n, x: x * operator.methodcaller("__float__")(n),
    ],
)
def test_special_methods(f):
    n = Number(1)
    follows(lambda x: f(n, x), lambda: setattr(n, "a", 3))


def test_special_methods_replaced():
    class N:
        def __lt__(self, o):
            return True

    n = N()
    follows(lambda x: x * 2 if n < 1 else x, lambda: setattr(N, "__lt__", lambda self, o: False))


def test_generated_methods_of_dataclasses():
    @dataclasses.dataclass(order=True)
    class Config:
        a: int
        b: float = 2.0

    c = Config(1)
    other = Config(1)
    follows(lambda x: x * 2 if c == other else x, lambda: setattr(c, "a", 2))
    follows(lambda x: x * 2 if c > other else x, lambda: setattr(c, "a", 0))
    follows(lambda x: x * len(str(c)), lambda: setattr(c, "a", 1000))
    assert ms.jit(lambda x: (x, str(c), f"{c!r}"))(ms.Tensor(X))[1:] == (str(c), repr(c))


def test_equality_without_a_method_is_identity():
    class Plain:
        pass

    a, b = Plain(), Plain()
    assert ms.jit(lambda x: (x, a == b, a == a, a != b, a in (b, a)))(ms.Tensor(X))[1:] == (False, True, True, True)


@pytest.mark.parametrize("f", [lambda n: np.sin(n), lambda n: round(n), lambda n: operator.mod(b"%d", n)])
def test_native_code_is_not_given_objects_unseen(f):
    n = Number(1)
    with pytest.raises(UnsupportedCallError, match="unseen"):
        ms.jit(lambda x: (x, f(n)))(ms.Tensor(X))


def test_keys():
    @dataclasses.dataclass(frozen=True)
    class Key:
        a: int

    class Hashed(Number):
        def __hash__(self):
            return self.a

    d, h = {Key(1): 2.0, 3: 4.0}, Hashed(3)
    assert_same(ms.jit(lambda x: x * d[Key(1)])(ms.Tensor(X)), ms.Tensor(X * 2), "frozen key")
    for f in (lambda x: x * d[h], lambda x: x * (h in d)):
        with pytest.raises(UnsupportedCallError, match="unseen"):
            ms.jit(f)(ms.Tensor(X))


# ------------------------------------------------------------------------------------------ nothing compiled needlessly
def test_toggling_compiles_twice():
    class Net(nn.Cell):
        def construct(self, x):
            return x * 2 if self.training else x

    net = Net()
    g, x = ms.jit(net), ms.Tensor(X)
    for i in range(10):
        net.set_train(i % 2 == 0)
        assert_same(g(x), net(x), "toggled")
    assert {"entries": 2, "compiles": 2}.items() <= g.cache_info().items()


@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.RecompileWarning")
def test_forms_of_one_key_are_bounded():
    held = [0]
    g = ms.jit(lambda x: x * held[0])
    for i in range(20):
        held[0] = i
        assert_same(g(ms.Tensor(X)), ms.Tensor(X * i), "value")
    assert {"entries": 8, "compiles": 20}.items() <= g.cache_info().items()
    held[0] = 12  # still kept, and now the one used last
    g(ms.Tensor(X))
    held[0] = 99
    g(ms.Tensor(X))
    held[0] = 12
    g(ms.Tensor(X))
    assert {"entries": 8, "compiles": 21}.items() <= g.cache_info().items()


class Model:
    def loss(self, x):
        return (x * x).sum()


def test_bound_methods_are_compared_by_their_parts(monkeypatch):
    from autodiff_compiler.transforms import jit as jit_module

    count = []
    compile_once = jit_module.specialise
    monkeypatch.setattr(jit_module, "specialise", lambda *a, **k: count.append(1) or compile_once(*a, **k))
    m, x = Model(), ms.Tensor(X)
    called = ms.jit(lambda x, f: f(x))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for run in (
            lambda: ms.grad(m.loss)(x),
            lambda: ms.GradOperation()(m.loss)(x),
            lambda: ms.jvp(m.loss, x, x),
            lambda: called(x, m.loss),
        ):
            count.clear()
            for _ in range(3):
                run()
            assert len(count) == 1
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_values_are_keyed_by_content():
    @dataclasses.dataclass(frozen=True)
    class Config:
        k: float
        rest: tuple = ()

    @dataclasses.dataclass(frozen=True)
    class Holder:
        t: ms.Tensor

    x = ms.Tensor(X)
    g = ms.jit(lambda x, n: x * n)
    for n in (np.float32(2), np.float32(2), np.float32(3)):
        g(x, n)
    assert g.cache_info()["compiles"] == 2
    g = ms.jit(lambda x, c: x * c.k)
    for k in (2.0, 2.0, 3.0):
        assert_same(g(x, Config(k, (1, 2))), ms.Tensor(X * k), "config")
    assert g.cache_info()["compiles"] == 2
    g = ms.jit(lambda x, h: x * h.t)
    for k in (2.0, 3.0):
        assert_same(g(x, Holder(ms.Tensor(X * k))), ms.Tensor(X * (X * k)), "Tensor inside")
