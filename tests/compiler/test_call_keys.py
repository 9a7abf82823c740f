"""Two arguments that a program can tell apart have keys of their own: attributes, names, slices, ranges.

Every case is called with one value and then with another; what must come out is written down, not computed eagerly.
"""

import copy
import functools
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import InitVar, dataclass, field

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit
from autodiff_compiler.compiler.call_key import signature


class Table(dict):
    pass


class Row(list):
    pass


class Slotted(list):
    __slots__ = ("scale",)


class Bunch(tuple):
    scale = 7.0

    def total(self):
        return sum(self)


class Pair(namedtuple("PairFields", "a b")):
    scale = 7.0


class Group(set):
    pass


class Angle(complex):
    pass


class Attributed(dict):
    """The idiom by which the elements of a dict are its attributes."""

    def __init__(self, **elements):
        super().__init__(elements)
        self.__dict__ = self


@dataclass(frozen=True)
class Setting:
    a: int
    given: InitVar[float] = 1.0

    def __post_init__(self, given):
        object.__setattr__(self, "scale", given)


@dataclass(frozen=True)
class Key:
    a: int
    scale: float = field(compare=False, default=1.0)


class Index:
    """An index that always looks the same."""

    def __init__(self, i):
        self.i = i

    def __index__(self):
        return self.i

    def __repr__(self):
        return "Index"


def scaled(made, scale):
    made.scale = scale
    return made


def x3():
    return Tensor([1.0, 2.0, 3.0])


def loss(x, c):
    return (x * x * c.scale).sum()


MAKERS = {
    "dict": lambda s: scaled(Table(), s),
    "list": lambda s: scaled(Row([1]), s),
    "slots": lambda s: scaled(Slotted(), s),
    "tuple": lambda s: scaled(Bunch((1,)), s),
    "named tuple": lambda s: scaled(Pair(1, 2), s),
    "dataclass": lambda s: Setting(1, s),
    "partial": lambda s: scaled(functools.partial(max), s),
    "set": lambda s: scaled(Group([1]), s),
    "complex": lambda s: scaled(Angle(1j), s),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_attribute_of_an_argument_counts(make):
    g = jit(ms.grad(loss))
    assert g(Tensor([1.0, 2.0]), make(1.0)).tolist() == [2.0, 4.0]
    assert g(Tensor([1.0, 2.0]), make(5.0)).tolist() == [10.0, 20.0]
    assert g(Tensor([1.0, 2.0]), make(1.0)).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("make", [MAKERS[n] for n in ("dict", "list", "tuple", "named tuple", "dataclass")])
def test_one_that_lies_in_a_tuple_counts_too(make):
    f = jit(lambda x, c: x * c[0].scale)
    assert [f(x3(), (make(s),)).tolist()[0] for s in (1.0, 5.0)] == [1.0, 5.0]


@pytest.mark.parametrize("name", ["dict", "list", "slots", "tuple", "named tuple", "partial", "set"])
def test_an_attribute_that_changes_between_calls(name):
    c, f = MAKERS[name](1.0), jit(lambda x, c: x * c.scale)
    assert f(x3(), c).tolist() == [1.0, 2.0, 3.0]
    c.scale = 10.0
    assert f(x3(), c).tolist() == [10.0, 20.0, 30.0]


def test_attributes_that_are_objects():
    f = jit(lambda x, c: x * c.scale[0])
    first = scaled(Table(), [2.0])
    assert f(x3(), first).tolist()[0] == 2.0
    first.scale[0] = 3.0
    assert f(x3(), first).tolist()[0] == 3.0
    assert f(x3(), scaled(Table(), [4.0])).tolist()[0] == 4.0
    product = jit(lambda x, c: x * c.scale)
    assert [product(x3(), scaled(Table(), Tensor(s))).tolist()[0] for s in (2.0, 5.0)] == [2.0, 5.0]
    assert [product(x3(), scaled(Table(), ms.mutable(s))).tolist()[0] for s in (2.0, 5.0)] == [2.0, 5.0]


def test_equal_attributes_have_one_program():
    f = jit(lambda x, c: x * c.scale.a)
    for _ in range(3):
        f(x3(), scaled(Table(x=x3()), Key(2)))
    assert f.cache_info()["compiles"] == 1


def test_a_returned_container_has_the_attributes_of_the_one_given():
    f = jit(lambda x, c: c)
    for make in (MAKERS["dict"], MAKERS["list"], MAKERS["tuple"], MAKERS["named tuple"], MAKERS["dataclass"]):
        found = [f(x3(), make(s)) for s in (1.0, 5.0)]
        assert [r.scale for r in found] == [1.0, 5.0]
        assert [type(r) for r in found] == [type(make(1.0))] * 2


def test_a_tuple_of_a_users_class_keeps_its_class():
    f = jit(lambda x, c: x * c.total() if isinstance(c, Bunch) else x)
    assert f(x3(), Bunch((1.0, Tensor(2.0)))).tolist() == [3.0, 6.0, 9.0]


def test_a_named_tuple_that_makes_its_fields_itself():
    class Doubled(namedtuple("DoubledFields", "a b")):
        def __new__(cls, a):
            return super().__new__(cls, a, a * 2)

    f = jit(lambda x, c: (x * c.b, c))
    product, same = f(x3(), Doubled(Tensor(3.0)))
    assert product.tolist() == [6.0, 12.0, 18.0]
    assert (type(same), same.a.tolist(), same.b.tolist()) == (Doubled, 3.0, 6.0)


def test_a_dict_whose_elements_are_its_attributes():
    f = jit(lambda x, c: x * c.lr * c.w * c["w"])
    found = [f(x3(), Attributed(lr=lr, w=Tensor(w))).tolist()[0] for lr, w in ((1.0, 2.0), (1.0, 3.0), (5.0, 3.0))]
    assert found == [4.0, 9.0, 45.0]
    assert f.cache_info()["compiles"] == 2


def test_the_default_of_a_defaultdict():
    f = jit(lambda x, c: x * c.default_factory())
    assert [f(x3(), defaultdict(make)).tolist()[0] for make in (lambda: 2.0, lambda: 3.0)] == [2.0, 3.0]


def test_an_ordered_dict_keeps_its_order():
    d = OrderedDict(a=Tensor(1.0), b=Tensor(2.0))
    d.move_to_end("a")
    product, same = jit(lambda x, c: (x * c["a"], c))(x3(), d)
    assert product.tolist() == [1.0, 2.0, 3.0]
    assert [(k, v.tolist()) for k, v in same.items()] == [("b", 2.0), ("a", 1.0)]


def test_a_set_of_a_users_class_that_changes():
    s, f = Group([1]), jit(lambda x, s: x * len(s))
    assert f(x3(), s).tolist() == [1.0, 2.0, 3.0]
    s.add(2)
    assert f(x3(), s).tolist() == [2.0, 4.0, 6.0]


NAMES = {
    "zeros": (lambda k: np.copysign(1.0, k), [({0.0: 1}, 1.0), ({-0.0: 1}, -1.0)]),
    "in tuples": (
        lambda k: float(type(k[0]) is int) + 2.0 * (type(k[0]) is float),
        [({(1,): 1}, 1.0), ({(1.0,): 1}, 2.0), ({(True,): 1}, 0.0)],
    ),
    "unlike in what is not compared": (lambda k: k.scale, [({Key(1, 1.0): 1}, 1.0), ({Key(1, 5.0): 1}, 5.0)]),
}


@pytest.mark.parametrize(("read", "cases"), NAMES.values(), ids=NAMES)
def test_names_in_a_dict_count_as_values_do(read, cases):
    f = jit(lambda x, c: x * next(read(k) for k in c))
    assert [f(x3(), c).tolist()[0] for c, _ in cases] == [expected for _, expected in cases]


def test_bounds_of_a_slice():
    f = jit(lambda x, s: x[s])
    assert f(x3(), slice(0, Index(1))).tolist() == [1.0]
    assert f(x3(), slice(0, Index(3))).tolist() == [1.0, 2.0, 3.0]
    last = Index(1)
    assert f(x3(), slice(0, last)).tolist() == [1.0]
    last.i = 2
    assert f(x3(), slice(0, last)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("make", [np.array, lambda n: Tensor(n, ms.int32)])
def test_bounds_that_are_arrays(make):
    f = jit(lambda x, s: x[s])
    assert [f(x3(), slice(0, make(n))).tolist() for n in (1, 2)] == [[1.0], [1.0, 2.0]]
    assert jit(lambda x, s: x * s.stop)(x3(), slice(0, make(3))).tolist() == [3.0, 6.0, 9.0]


def test_an_array_that_bounds_a_slice_changes():
    last, f = np.array(1), jit(lambda x, s: x[s])
    assert f(x3(), slice(0, last)).tolist() == [1.0]
    last[...] = 2
    assert f(x3(), slice(0, last)).tolist() == [1.0, 2.0]


LAST = Index(1)
PART = slice(0, LAST)
SPAN = range(0)


@pytest.mark.parametrize(
    "read", [lambda x: x[PART], lambda x: x[0:LAST], lambda x: x[PART,], lambda x: Tensor([1.0, 2.0, 3.0][PART])]
)
def test_a_bound_of_a_slice_from_outside_changes(read):
    f = jit(read)
    try:
        assert f(x3()).tolist() == [1.0]
        LAST.i = 2
        assert f(x3()).tolist() == [1.0, 2.0]
    finally:
        LAST.i = 1


def test_a_bound_changes_where_elements_are_assigned():
    def f(x):
        x = x.copy()
        x[PART] = 9.0
        return x

    f = jit(f)
    try:
        assert f(x3()).tolist() == [9.0, 2.0, 3.0]
        LAST.i = 2
        assert f(x3()).tolist() == [9.0, 9.0, 3.0]
    finally:
        LAST.i = 1


def test_native_code_is_not_given_such_a_bound():
    with pytest.raises(ms.errors.UnsupportedCallError, match="would read an Index object unseen"):
        jit(lambda x, s: x[s.indices(3)[1] - 1])(x3(), slice(0, Index(2)))


def test_equal_ranges_may_have_other_bounds(monkeypatch):
    f, g = jit(lambda x, r: x * r.stop), jit(lambda x: x * SPAN.stop)
    assert [f(x3(), r).tolist()[0] for r in (range(0), range(5, 5))] == [0.0, 5.0]
    assert g(x3()).tolist() == [0.0, 0.0, 0.0]
    monkeypatch.setitem(globals(), "SPAN", range(5, 5))
    assert g(x3()).tolist() == [5.0, 10.0, 15.0]


def test_signs_of_zero_in_a_complex_number():
    f = jit(lambda x, c: x * np.copysign(1.0, c.real) * np.copysign(2.0, c.imag))
    numbers = [complex(0.0, 0.0), complex(-0.0, 0.0), complex(0.0, -0.0)]
    assert [f(x3(), c).tolist()[0] for c in numbers] == [2.0, -2.0, -2.0]
    assert signature((complex("nan"),), {}) == signature((complex("nan"),), {})


def test_units_of_numpys_times():
    assert signature((np.datetime64(1, "s"),), {})[0] != signature((np.datetime64(1, "ms"),), {})[0]


HELD = scaled(Table(), 1.0)
PAIR = scaled(Pair(1, 2), 1.0)
CALL = scaled(functools.partial(max), 1.0)


@pytest.mark.parametrize(
    ("name", "read", "other"),
    [
        ("HELD", lambda x: x * HELD.scale, lambda: scaled(Table(), 5.0)),
        ("PAIR", lambda x: x * PAIR.scale, lambda: scaled(Pair(1, 2), 5.0)),
        ("CALL", lambda x: x * CALL.scale, lambda: scaled(functools.partial(max), 5.0)),
    ],
)
def test_another_container_from_outside_with_other_attributes(monkeypatch, name, read, other):
    f = jit(read)
    assert f(x3()).tolist() == [1.0, 2.0, 3.0]
    monkeypatch.setitem(globals(), name, other())
    assert f(x3()).tolist() == [5.0, 10.0, 15.0]
    globals()[name].scale = 6.0
    assert f(x3()).tolist() == [6.0, 12.0, 18.0]


FALLBACK = defaultdict(lambda: 1.0)


def test_another_default_of_a_defaultdict_from_outside(monkeypatch):
    f = jit(lambda x: x * FALLBACK.default_factory())
    assert f(x3()).tolist()[0] == 1.0
    monkeypatch.setattr(FALLBACK, "default_factory", lambda: 3.0)
    assert f(x3()).tolist()[0] == 3.0


def test_a_partial_of_tensors_that_change():
    given = [Tensor(2.0)]
    f, p = jit(lambda x, p: p(x)), functools.partial(lambda y, x: x * y[0], given)
    assert f(x3(), p).tolist()[0] == 2.0
    given[0] = Tensor(7.0)
    assert f(x3(), p).tolist()[0] == 7.0


def test_it_is_told_which_attribute_changed():
    f = jit(lambda x, c: x * c.scale)
    for s in (1.0, 5.0):
        f(x3(), scaled(Table(), s))
    (change,) = f.explain_recompiles()[1].changes
    assert (change.what, change.before, change.after) == ("argument `c.scale`", "1.0", "5.0")


def test_a_copy_of_a_compiled_function_is_that_function():
    f = jit(lambda x: x * 2.0)
    signed = jit(input_signature=Tensor([1.0]))(lambda x: x * 2.0)
    assert copy.copy(f) is f
    assert copy.copy(signed) is signed
    assert copy.copy(jit(ms.grad(lambda x: (x * x).sum())))(x3()).tolist() == [2.0, 4.0, 6.0]
    assert copy.deepcopy(f)(x3()).tolist() == [2.0, 4.0, 6.0]
