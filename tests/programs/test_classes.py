"""Objects of `jit_class` classes: made, read and changed by compiled code; and functions of the standard library."""

from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import functools
import heapq
import itertools
import operator

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn
from autodiff_compiler.errors import CompileError

from .compare import assert_same, check

X = np.array([[1.0, 2.0], [3.0, 4.0]])


@ms.jit_class
class Counter:
    kind = "counter"

    def __init__(self, n, scale=1.0):
        self.n = n
        self.scale = scale

    def add(self, k):
        self.n = self.n + k
        return self

    @property
    def twice(self):
        return self.n * 2

    @twice.setter
    def twice(self, value):
        self.n = value / 2

    @functools.cached_property
    def squared(self):
        return self.n * self.n

    @staticmethod
    def helper(x):
        return x + 1.0

    @classmethod
    def make(cls, n):
        return cls(n, scale=3.0)

    def __add__(self, other):
        return Counter(self.n + (other.n if isinstance(other, Counter) else other))

    def __radd__(self, other):
        return Counter(self.n + other)

    def __eq__(self, other):
        return self.scale == other.scale

    __hash__ = None

    def __call__(self, x):
        return x * self.n

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return self.n[i]

    def __setitem__(self, i, value):
        self.n[i] = value

    def __str__(self):
        return f"Counter({self.scale})"

    def __contains__(self, x):
        return x == 3


class Tenfold(Counter):
    def __init__(self, n):
        super().__init__(n, scale=5.0)
        self.first = n

    def add(self, k):
        return super().add(k * 10.0)


@ms.jit_class
@dataclasses.dataclass
class Record:
    a: object
    b: float = 2.0
    items: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.b = self.b * 2

    def norm(self):
        return (self.a * self.b).sum()


@ms.jit_class
class Empty:
    pass


def changed_by_index(x):
    c = Counter(x * 1.0)
    c[0] = 9.0
    return c.n


def augmented(x):
    c = Counter(x)
    c.n += 1.0
    c.new, c.serial = 3, 1
    c.serial += 4
    c.twice = c.twice + 2.0
    return c.n, c.new, c.serial, hasattr(c, "new"), hasattr(c, "old"), getattr(c, "old", 7)


def changed_in_a_branch(x):
    c = Counter(x)
    if x.sum() > 3:
        c.n = c.n * 2.0
    else:
        c.add(5.0)
    return c.n


def made_in_a_branch(x):
    c = Counter(x) if x.sum() > 3 else Counter(x * 3.0)
    return c.twice


def changed_in_a_loop(x):
    c = Counter(x)
    for _ in range(20):
        c.add(x * 0.5)
    return c.n


def changed_while(x):
    c = Counter(x + 1.0)
    while c.n.sum() < 1000:
        c.add(c.n)
    return c.n


def carried(x):
    c = Counter(x)
    for _ in range(20):
        c = c + Counter(x)
    return c.n


def shared(x):
    c = Counter(x)
    d = [c]
    d[0].n = x * 3.0
    return c.n, c is d[0], c == Counter(1), c != Counter(1, 4.0)


def left_early(x):
    c = Counter(x)
    for _ in range(3):
        if c.n.sum() > 15:
            return c.n
        c.add(c.n)
    return c.n + 1.0


def nested(x):
    c = Counter(Counter(x))
    c.n.n = c.n.n + 1.0
    return c.n.n


PROGRAMS = {
    "method": lambda x: Counter(x).add(2.0).n, "property": lambda x: Counter(x).twice,
    "cached property": lambda x: Counter(x).squared, "class": lambda x: (Counter.helper(x), Counter(x).kind),
    "classmethod": lambda x: (Counter.make(x).scale, Counter(x).make(x).n), "call": lambda x: Counter(x)(3.0),
    "operators": lambda x: ((Counter(x) + Counter(x)).n, (2.0 + Counter(x) + 1.0).n),
    "container": lambda x: (len(Counter(x)), Counter(x)[0], 3 in Counter(x), 4 in Counter(x)),
    "class of": lambda x: (isinstance(Tenfold(x), Counter), type(Counter(x)) is Counter, issubclass(Tenfold, Counter)),
    "text": lambda x: (str(Counter(x)), f"{Counter(x)}", str(Record(1, 2.0))),
    "super": lambda x: (Tenfold(x).add(1.0).n, Tenfold(x).scale, Tenfold(x).first),
    "dataclass": lambda x: (Record(x).norm(), Record(x, b=4.0).b, len(Record(x).items), Record(1) == Record(1)),
    "truth": lambda x: x * 2.0 if Empty() else x, "bound method": lambda x: (lambda f: f(1.0).n)(Counter(x).add),
    "by index": changed_by_index, "augmented": augmented, "branch": changed_in_a_branch, "made": made_in_a_branch,
    "loop": changed_in_a_loop, "while": changed_while, "carried": carried, "shared": shared, "early": left_early,
    "nested": nested,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_objects_made_in_compiled_code(name, scale):
    x = ms.Tensor(X * scale)
    assert_same(ms.jit(PROGRAMS[name])(x), PROGRAMS[name](x), name)


@pytest.mark.parametrize("name", ["branch", "made", "loop", "carried", "early", "nested"])
def test_derivatives_pass_through_objects(name):
    check(lambda x: PROGRAMS[name](x * x), X / 1.7)


def test_objects_may_be_returned():
    first, (second, again) = ms.jit(lambda x: (lambda c: (Counter(x * 2.0), [c, c]))(Tenfold(x)))(ms.Tensor(X))
    assert type(first) is Counter
    assert type(second) is type(again) is Tenfold
    np.testing.assert_array_equal(first.n.asnumpy(), X * 2.0)
    assert vars(second).keys() == {"n", "scale", "first"}
    np.testing.assert_array_equal(second.add(1.0).n.asnumpy(), X + 10.0)


def test_attributes_of_objects_from_outside_are_guarded():
    c = Counter(2.0)
    compiled = ms.jit(lambda x: c(x) + c.scale)
    x = ms.Tensor(X)
    np.testing.assert_array_equal(compiled(x).asnumpy(), X * 2.0 + 1.0)
    c.n = 5.0
    np.testing.assert_array_equal(compiled(x).asnumpy(), X * 5.0 + 1.0)
    del c.scale
    with pytest.raises(AttributeError, match="scale"):
        compiled(x)


def test_writes_to_objects_from_outside_are_written_back():
    def f(c, x):
        c.add(x.sum())
        return c(x)

    compiled, x = ms.jit(f), ms.Tensor(X)
    one, other = Counter(ms.Tensor(1.0, ms.float64)), Counter(ms.Tensor(1.0, ms.float64))
    for _ in range(2):
        assert_same(compiled(one, x), f(other, x), "result")
        assert_same(one.n, other.n, "state")
    assert compiled.cache_info()["compiles"] == 1


REFUSED = {
    "a plain class": (lambda x: Plain(x), "AC1804"),
    "a missing attribute": (lambda x: Counter(x).missing, "AC1203"),
    "an attribute on some paths": (lambda x: sometimes(x), "AC1403"),
    "a __new__": (lambda x: WithNew(), "AC1804"),
    "arguments": (lambda x: Empty(x), "AC1204"),
    "to py_call": (lambda x: ms.py_call(print, Counter(x)), "AC1807"),
}


class Plain:
    def __init__(self, x):
        self.x = x


@ms.jit_class
class WithNew:
    def __new__(cls):
        return object.__new__(cls)


def sometimes(x):
    c = Counter(x)
    if x.sum() > 3:
        c.z = 1
    return c.z


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    f, code = REFUSED[name]
    with pytest.raises(CompileError) as caught:
        ms.jit(f)(ms.Tensor(X))
    assert caught.value.code == code
    assert caught.value.spans


def test_jit_class_marks_classes_that_are_no_cells():
    class Net(nn.Cell):
        pass

    for wrong in (Net, lambda: None):
        with pytest.raises(TypeError, match="jit_class"):
            ms.jit_class(wrong)


# ---------------------------------------------------------------------------------------------------- standard library
def doubling(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs) * 2.0

    return inner


@doubling
def scaled(x, k=3.0):
    return x * k


def copies(x):
    a = [x, [x * 2.0]]
    b, c = copy.copy(a), copy.deepcopy(a)
    a[1].append(3.0)
    a.append(4.0)
    d = {"t": x * 1.0}
    e, f = copy.deepcopy(d), copy.copy(d)
    e["t"][0] = 9.0
    f["t"][1] = 7.0
    o = Counter(x * 1.0)
    p = copy.copy(o)
    p.n = x
    return len(a), len(b), len(b[1]), len(c[1]), d, e, o.n, copy.copy(x), copy.deepcopy(x)


@ms.jit_class
class Pair:
    def __init__(self, items):
        self.items = items

    def __copy__(self):
        return Pair([1, 2])


class _OfSign(type):
    def __instancecheck__(cls, x):
        return x.sum() > 0.0


class Positive(metaclass=_OfSign):
    pass


LIBRARY = {
    "copies": copies, "deep copy without `__copy__`": lambda x: copy.deepcopy(Pair([x, 7])).items[1] * x,
    "metaclass that looks at a Tensor": lambda x: (
        isinstance(x, Positive) * x, isinstance(-x, Positive) * x, isinstance(-x, (Positive, int)),
        isinstance(3, (int, Positive)),
    ),
    "wraps": lambda x: (scaled(x), scaled(x, k=4.0), scaled.__name__),
    "iter": lambda x: (lambda it: (next(it), next(it), next(it, 5)))(iter([x, 2])),
    "chain": lambda x: [v * 2.0 for v in itertools.chain([x], (x + 1.0,))],
    "from_iterable": lambda x: [v * 2.0 for v in itertools.chain.from_iterable([[x], [x + 1.0]])],
    "product": lambda x: [a * b for a, b in itertools.product([x, x + 1.0], repeat=2)],
    "zip_longest": lambda x: [a * b for a, b in itertools.zip_longest([x, x + 1.0], [2.0], fillvalue=3.0)],
    "accumulate": lambda x: list(itertools.accumulate([x, x + 1.0, x + 2.0])),
    "accumulate with a function": lambda x: list(itertools.accumulate([x, x], lambda a, b: a * b, initial=2.0)),
    "starmap": lambda x: list(itertools.starmap(lambda a, b: a * b, [(x, 2.0), (x, 3.0)])),
    "islice": lambda x: list(itertools.islice([x, x + 1.0, x + 2.0], 1, 3)),
    "pairwise": lambda x: [b - a for a, b in itertools.pairwise([x, x * 2.0, x * 4.0])],
    "groupby": lambda x: [(k, [v for _, v in g]) for k, g in itertools.groupby([(1, x), (1, x), (2, x)], lambda p: p[0])],  # noqa: E501
    "combinations": lambda x: [a * b for a, b in itertools.combinations([x, x + 1.0, x + 2.0], 2)],
    "permutations": lambda x: len(list(itertools.permutations([x, x + 1.0, x + 2.0]))),
    "cycle": lambda x: [a * b for a, b in zip([1.0, 2.0, 3.0], itertools.cycle([x, x + 1.0]))],
    "count": lambda x: [a * b for a, b in zip([x, x], itertools.count(1))],
    "repeat": lambda x: [a * 2.0 for a in itertools.repeat(x, 2)],
    "takewhile": lambda x: list(itertools.takewhile(lambda p: p[0] < 2, [(1, x), (2, x)])),
    "dropwhile": lambda x: list(itertools.dropwhile(lambda p: p[0] < 2, [(1, x), (2, x)])),
    "filterfalse": lambda x: list(itertools.filterfalse(lambda p: p[0] < 2, [(1, x), (2, x)])),
    "compress": lambda x: list(itertools.compress([x, x + 1.0], [0, 1])),
    "tee": lambda x: [list(i) for i in itertools.tee([x, x + 1.0])],
    "reduce": lambda x: functools.reduce(lambda a, b: a * b, [x, x, 2.0], 1.0),
    "partial": lambda x: functools.partial(lambda a, b: a * b, x)(3.0),
    "operator": lambda x: (
        operator.and_(x > 1, x > 2), operator.or_(x > 1, x > 2), operator.xor(x > 1, x > 2), operator.inv(x > 1),
        operator.not_(0), operator.concat([x], [1]), operator.iadd(1.0, x), operator.matmul(x, x),
        operator.itemgetter(0)([x]), operator.attrgetter("shape")(x), operator.methodcaller("sum")(x),
    ),
    "setitem": lambda x: (lambda items: (operator.setitem(items, 0, x), items)[1])([1]),
    "classes": lambda x: (isinstance(x, ms.Tensor), isinstance(x.sum().item(), float), isinstance([x], int | list)),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARY)
def test_functions_of_the_standard_library(name):
    x = ms.Tensor(X)
    assert_same(ms.jit(LIBRARY[name])(x), LIBRARY[name](x), name)


def test_effects_of_a_function_given_to_itertools_are_not_moved():
    def told(a, b):
        print(a)
        return a + b

    with pytest.raises(CompileError, match="accumulate"):
        ms.jit(lambda x: list(itertools.accumulate([x, x], told)))(ms.Tensor(X))


def heaps(x):
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    first = heapq.heappop(h)
    bisect.insort(h, 2)
    if x.sum() > 3:
        h.append(int(x.shape[0]))
    else:
        h.append(5)
    return x * first, h


def test_functions_that_change_a_list_change_it_in_compiled_code():
    x = ms.Tensor(X)
    assert_same(ms.jit(heaps)(x), heaps(x), "heaps")
    outside = [2, 1]
    ms.jit(lambda x: (heapq.heapify(outside), x))(x)
    assert outside == [1, 2]
    with pytest.raises(CompileError, match="AC1602"):
        ms.jit(lambda x: (collections.deque([1]).append(2), x))(x)


@functools.lru_cache
def remembered(n):
    return n * 2


def test_functions_that_remember_their_results_run_while_compiling():
    x = ms.Tensor(X)
    assert_same(ms.jit(lambda x: x * remembered(3))(x), x * 6, "cached")
    with pytest.raises(CompileError, match="AC1807"):
        ms.jit(lambda x: remembered(x))(x)
