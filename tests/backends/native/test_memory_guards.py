"""Where CPython keeps what guards ask, in words: the words follow every change, and say what is not there."""

from __future__ import annotations

import operator
import types

import pytest

from autodiff_compiler.backends.native.callpath import abi, memory_guards

pytestmark = pytest.mark.skipif(abi.why_not() is not None, reason="it reads the objects of CPython")


class Found:
    """Whether what is read is still there, by its words."""

    def __init__(self, get, key):
        self.value = get(key)
        before, place = memory_guards.place_read(get, key)
        self.words = [*before, (place, id(self.value))]

    def holds(self):
        return memory_guards.hold(self.words)


def attribute(owner, name):
    return Found(operator.attrgetter(name), owner)


def new(count=1, **attributes):
    """Objects of a class of their own."""
    cls = type("Made", (), {})
    made = []
    for _ in range(count):
        one = cls()
        one.first = object()
        for name, value in attributes.items():
            setattr(one, name, value)
        made.append(one)
    return made if count > 1 else made[0]


def with_dict():
    one = new()
    vars(one)
    return one


def with_another_dict():
    one = new()
    one.__dict__ = {"first": object(), "second": 2}
    return one


def with_many():
    one = new()
    for i in range(50):
        setattr(one, f"more{i}", i)
    return one


def out_of_order():
    one, other = new(2)
    one.a, one.b = 1, 2
    other.b, other.a = 1, 2
    return other


def after_a_deletion():
    one = new(second=2)
    del one.second
    return one


def function():
    def one():
        pass

    one.first = object()
    return one


def module():
    one = types.ModuleType("made")
    one.first = object()
    return one


def slotted():
    cls = type("Slotted", (), {"__slots__": ("zero", "first")})
    one = cls()
    one.first = object()
    return one


def exception():
    one = type("Mine", (Exception,), {})()
    one.first = object()
    return one


def namespace():
    return types.SimpleNamespace(first=object())


MAKERS = [
    new, with_dict, with_another_dict, with_many, out_of_order, after_a_deletion, function, module, exception,
    namespace, slotted,
]  # fmt: skip
WITH_DICT = [make for make in MAKERS if make is not slotted]


@pytest.mark.parametrize("make", MAKERS)
def test_an_attribute_that_is_set_anew(make):
    one = make()
    found = attribute(one, "first")
    assert found.holds()
    one.first = object()
    assert not found.holds()
    one.first = found.value
    assert attribute(one, "first").holds()


@pytest.mark.parametrize("make", MAKERS)
def test_an_attribute_that_is_deleted(make):
    one = make()
    found = attribute(one, "first")
    del one.first
    assert not found.holds()


@pytest.mark.parametrize("make", WITH_DICT)
def test_an_attribute_written_through_the_dict(make):
    one = make()
    found = attribute(one, "first")
    space = vars(one)
    space["first"] = object()
    assert not found.holds()
    found = attribute(one, "first")
    assert found.holds()
    del space["first"]
    assert not found.holds()


@pytest.mark.parametrize("make", WITH_DICT)
def test_a_dict_that_grows_and_shrinks(make):
    one = make()
    for i in range(100):
        found = attribute(one, "first")
        vars(one)[f"other{i}"] = i
        assert not found.holds() or one.first is found.value
        vars(one).pop(f"other{i - 5}", None)
    one.first = object()
    assert not found.holds()
    vars(one).clear()
    one.first = None
    assert not found.holds()


@pytest.mark.parametrize("make", [m for m in WITH_DICT if m not in (module, namespace)])
def test_a_dict_that_is_replaced(make):
    one = make()
    found = attribute(one, "first")
    one.__dict__ = {"first": object()}
    assert not found.holds()
    found = attribute(one, "first")
    one.__dict__ = {"first": 3}
    assert not found.holds()


def test_a_class_that_is_replaced():
    one, other = new(), new()
    found = attribute(one, "first")
    one.__class__ = type(other)
    assert not found.holds()
    assert attribute(one, "first").holds()
    without = memory_guards.absence(one, "nothing")
    one.__class__ = type(found.value.__class__.__name__, (), {"nothing": 1})
    assert not memory_guards.hold(without)


@pytest.mark.parametrize("make", WITH_DICT[:-1])
def test_what_is_not_there(make):
    one = make()
    for name in ("nothing", "second"):
        for write in (lambda n: setattr(one, n, 1), lambda n: vars(one).update({n: 1})):
            one.__dict__.pop(name, None)
            found = memory_guards.absence(one, name)
            assert found
            assert memory_guards.hold(found)
            write(name)
            assert not memory_guards.hold(found)


def test_a_name_that_comes_into_keys_without_being_interned():
    one, other = new(2)
    without = memory_guards.absence(one, "late name")
    name = "".join(["late", " ", "name"])
    vars(other)[name] = 1
    later = memory_guards.absence(one, "late name")
    vars(one)["".join(["late ", "name"])] = 2
    assert not memory_guards.hold(without)
    assert not memory_guards.hold(later)


def test_an_attribute_of_the_class():
    cls = type("Base", (), {"k": object()})
    one = type("Made", (cls,), {})()
    found = attribute(one, "k")
    assert found.holds()
    cls.k = object()
    assert not found.holds()
    found = attribute(one, "k")
    one.k = object()
    assert not found.holds()
    assert attribute(cls, "k").holds()


def test_what_runs_code_has_no_words():
    class Asked:
        def __getattribute__(self, name):
            return 1

    class Property:
        @property
        def k(self):
            return 1

    for one in (Asked(), Property()):
        assert memory_guards.place_read(operator.attrgetter("k"), one) is None


def test_dicts():
    space = {f"name{i}": object() for i in range(5)}
    found = Found(space.get, "name3")
    assert found.holds()
    space["name4"] = 1
    assert found.holds()
    space["name3"] = 1
    assert not found.holds()
    space["name3"] = found.value
    assert found.holds()
    absent = memory_guards.names_absent(space.keys().isdisjoint)
    assert absent
    assert memory_guards.hold(absent)
    space["other"] = 1
    assert not memory_guards.hold(absent)
    assert memory_guards.place_read({}.get, "a") is None
    assert memory_guards.place_read({1: 2}.get, "a") is None


def test_what_containers_hold():
    numbers = [object() for _ in range(3)]
    for one in ([*numbers], (*numbers,), dict(zip("abc", numbers, strict=True))):
        found, places = memory_guards.element_places(one)
        assert memory_guards.hold(found)
        assert [abi.word(place) for place in places] == list(map(id, numbers))
    one = [*numbers]
    for change in (one.pop, lambda: one.append(1), lambda: one.extend(range(100)), one.clear, lambda: one.append(1)):
        found, _ = memory_guards.element_places(one)
        change()
        assert not memory_guards.hold(found)
    space = dict.fromkeys("abc", 1)
    for change in (lambda: space.pop("b"), lambda: space.update(d=1), space.clear, lambda: space.update(d=1)):
        found, _ = memory_guards.element_places(space)
        change()
        assert not memory_guards.hold(found)
    assert memory_guards.element_places({1, 2}) is None
    assert memory_guards.element_places({1: 2}) is None
