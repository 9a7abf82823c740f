"""Short ways into code that reads attributes of objects and what containers hold: every change is seen at once."""

from __future__ import annotations

import functools
import gc
import inspect
import pickle
import random
import types
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from tests.backends.native.short_calls import NEEDS_MACHINE_CODE, SHORT, A, Net, native, of, short, warm
from tests.selection import part

pytestmark = NEEDS_MACHINE_CODE
__all__ = ["native"]


class Plain:
    k = 2.0

    def scaled(self, x):
        return x * self.k


class Slotted:
    __slots__ = ("k",)


class Child(Plain):
    pass


def with_value(cls=Plain, k=3.0):
    one = cls()
    one.k = k
    return one


def reads(one):
    """A function that multiplies by an attribute, and takes the short way."""
    f = ms.jit(lambda x: x * one.k)
    warm(f, A)
    short(f, A)
    return f


def gives(f, factor):
    """The next call sees this factor, and calls take the short way again soon, which machine code checks alone."""
    assert f(A).tolist() == [factor, 2 * factor, 3 * factor]
    warm(f, A)
    assert short(f, A).tolist() == [factor, 2 * factor, 3 * factor]
    assert isinstance(f._fast, types.BuiltinFunctionType) is bool(SHORT)


# ------------------------------------------------------------------------------------------------ attributes
def test_values_of_attributes():
    one = with_value()
    f = reads(one)
    for value in (4.0, 5, True, 6.0):
        one.k = value
        gives(f, float(value))
    del one.k
    gives(f, 2.0)
    Plain.k = 7.0
    try:
        gives(f, 7.0)
        one.k = 1.0
        gives(f, 1.0)
    finally:
        Plain.k = 2.0
    gives(f, 1.0)


def test_attributes_written_past_setattr():
    one = with_value()
    f = reads(one)
    vars(one)["k"] = 4.0
    gives(f, 4.0)
    object.__setattr__(one, "k", 5.0)
    gives(f, 5.0)
    vars(one).update(a=1, k=6.0)
    gives(f, 6.0)
    vars(one).clear()
    gives(f, 2.0)
    one.__dict__ = {"k": 8.0}
    gives(f, 8.0)
    one.__dict__ = {"other": 8.0}
    gives(f, 2.0)


def test_an_object_that_gets_another_class():
    class Other(Plain):
        k = 9.0

    one = Plain()
    f = reads(one)
    one.__class__ = Other
    gives(f, 9.0)
    one.__class__ = Child
    gives(f, 2.0)
    Child.k = 4.0
    try:
        gives(f, 4.0)
    finally:
        del Child.k
    gives(f, 2.0)


def test_a_class_that_begins_to_run_code():
    class Late:
        pass

    one = with_value(Late)
    f = reads(one)
    Late.k = property(lambda self: 5.0)
    assert f(A).tolist() == [5, 10, 15]
    del Late.k
    assert f(A).tolist() == [3, 6, 9]
    Late.__getattribute__ = lambda self, name: 6.0
    assert f(A).tolist() == [6, 12, 18]


@pytest.mark.parametrize("own", [True, False])
def test_what_a_class_holds_becomes_a_descriptor(own):
    static = type("Static", (), {} if own else {"__get__": lambda *args: 2.0})
    one = type("Owner", (), {"k": static()})()
    one.k = 2.0
    f = reads(one)
    gives(f, 2)
    static.__get__, static.__set__ = (lambda *args: 8.0), (lambda *args: None)
    assert f(A).tolist() == [8, 16, 24]
    assert f(A).tolist() == [8, 16, 24]
    del static.__get__, static.__set__
    gives(f, 2)


def test_a_module_that_gets_another_class():
    made: Any = types.ModuleType("made")
    made.k = 2.0
    f = reads(made)
    gives(f, 2)
    made.__class__ = type("Kind", (types.ModuleType,), {"k": property(lambda module: 8.0)})
    assert f(A).tolist() == [8, 16, 24]
    made.__class__ = types.ModuleType
    gives(f, 2)


def test_slots():
    one = with_value(Slotted)
    f = reads(one)
    one.k = 4.0
    gives(f, 4.0)
    del one.k
    with pytest.raises(AttributeError):
        f(A)
    one.k = 3.0
    gives(f, 3.0)


def test_objects_that_take_each_others_place():
    holder = with_value(k=with_value())
    f = ms.jit(lambda x: x * holder.k.k)
    warm(f, A)
    short(f, A)
    holder.k = with_value(k=4.0)
    gives(f, 4.0)
    holder.k.k = 5.0
    gives(f, 5.0)


def test_an_equal_value_takes_the_short_way():
    one = with_value()
    f = reads(one)
    compiles = f.cache_info()["compiles"]
    for _ in range(5):
        one.k = float("3.0")
        assert short(f, A).tolist() == [3, 6, 9]
    one.k = -0.0
    gives(f, 0.0)
    one.k = 0.0
    assert np.signbit(f(A).asnumpy()).tolist() == [False] * 3
    one.k = 10**30
    g = ms.jit(lambda x: x * (one.k == 10**30))
    warm(g, A)
    one.k = 10**29 * 10
    assert short(g, A).tolist() == [1, 2, 3]
    one.k = 10**29
    assert g(A).tolist() == [0, 0, 0]
    assert compiles == 1


def test_texts_and_bytes():
    one = with_value(k="relu")
    f = ms.jit(lambda x: x * 2 if one.k == "relu" else x)
    warm(f, A)
    one.k = "".join(["re", "lu"])
    assert short(f, A).tolist() == [2, 4, 6]
    one.k = "tanh"
    assert f(A).tolist() == [1, 2, 3]
    one.k = b"relu"
    assert f(A).tolist() == [1, 2, 3]


def test_methods_of_objects():
    one = with_value()
    f = ms.jit(lambda x: one.scaled(x))
    warm(f, A)
    short(f, A)
    one.k = 4.0
    gives(f, 4.0)
    one.scaled = lambda x: x * 10
    gives(f, 10.0)
    del one.scaled
    gives(f, 4.0)
    method = Plain.scaled
    Plain.scaled = lambda self, x: x * 11
    try:
        gives(f, 11.0)
    finally:
        Plain.scaled = method
    gives(f, 4.0)


def test_an_attribute_that_is_asked_for():
    one = Child()
    f = ms.jit(lambda x: x * getattr(one, "late", 5.0))
    warm(f, A)
    short(f, A)
    one.late = 6.0
    assert warm(f, A).tolist() == [6, 12, 18]
    del one.late
    assert warm(f, A).tolist() == [5, 10, 15]
    assert short(f, A).tolist() == [5, 10, 15]
    Child.late = 7.0
    try:
        assert warm(f, A).tolist() == [7, 14, 21]
    finally:
        del Child.late


def test_tensors_of_objects():
    one = with_value(k=of(1, 1, 2))
    f = ms.jit(lambda x: x * one.k)
    warm(f, A)
    assert short(f, A).tolist() == [1, 2, 6]
    one.k.asnumpy()[0] = 5
    assert short(f, A).tolist() == [5, 2, 6]
    one.k = of(2, 2, 2)
    assert f(A).tolist() == [2, 4, 6]
    one.k = of(2)
    assert f(A).tolist() == [2, 4, 6]


def test_namespaces():
    one = types.SimpleNamespace(k=2.0)
    f = reads(one)
    one.k = 3.0
    gives(f, 3.0)
    one.__dict__.clear()
    one.k = 4.0
    gives(f, 4.0)


def test_functions_with_attributes():
    def g(x):
        return x * g.k

    g.k = 2.0
    f = ms.jit(g)
    warm(f, A)
    short(f, A)
    g.k = 3.0
    gives(f, 3.0)


def test_classes_as_namespaces():
    class Settings:
        k = 2.0

    f = ms.jit(lambda x: x * Settings.k)
    warm(f, A)
    short(f, A)
    Settings.k = 3.0
    gives(f, 3.0)


# ------------------------------------------------------------------------------------------------ containers
def test_lists():
    rates = [1.0, 2.0]
    f = ms.jit(lambda x: x * rates[1])
    warm(f, A)
    assert short(f, A).tolist() == [2, 4, 6]
    rates[1] = 3.0
    gives(f, 3.0)
    rates.extend(range(100))
    gives(f, 3.0)
    rates.insert(0, 5.0)
    gives(f, 1.0)
    rates[:] = [5, 6.0]
    gives(f, 6.0)
    rates[1] = float("6")
    assert short(f, A).tolist() == [6, 12, 18]


def test_a_list_in_the_place_of_another():
    one = with_value(k=[1.0, [2.0, 3.0]])
    f = ms.jit(lambda x: x * one.k[1][0])
    warm(f, A)
    short(f, A)
    one.k = [1.0, [2.0, 3.0]]
    gives(f, 2.0)
    one.k[1] = [4.0, 3.0]
    gives(f, 4.0)
    one.k[1].pop()
    gives(f, 4.0)
    one.k[1][0] = 5.0
    gives(f, 5.0)
    one.k = (1.0, (6.0, 3.0))
    gives(f, 6.0)


def test_dicts():
    config = {"rate": 2.0, "more": [1, 2]}
    f = ms.jit(lambda x: x * config["rate"])
    warm(f, A)
    short(f, A)
    config["rate"] = 3.0
    gives(f, 3.0)
    config["more"].append(3)
    gives(f, 3.0)
    config["new"] = 1
    gives(f, 3.0)
    del config["more"]
    gives(f, 3.0)
    config.update(rate=4.0)
    gives(f, 4.0)


def test_containers_that_python_asks():
    for one, change in (({1: 2.0}, lambda c: c.update({1: 3.0})), (np.array([2.0, 2.0]), lambda c: c.fill(3.0))):
        f = ms.jit(lambda x, one=one: x * one[1])
        warm(f, A)
        assert short(f, A).tolist() == [2, 4, 6]
        change(one)
        assert f(A).tolist() == [3, 6, 9]


def test_partial_functions():
    times = functools.partial(ops.mul, 2.0)
    f = ms.jit(lambda x: times(x))
    assert warm(f, A).tolist() == [2, 4, 6]
    times.__setstate__((ops.mul, (3.0,), {}, {}))
    assert f(A).tolist() == [3, 6, 9]


def test_lists_of_tensors_and_parameters():
    parts = [of(1, 1, 2), Parameter(np.array([2, 2, 2], np.float32), name="p")]
    f = ms.jit(lambda x: x * parts[0] * parts[1])
    assert warm(f, A).tolist() == [2, 4, 12]
    parts[0] = of(0, 0, 1)
    assert f(A).tolist() == [0, 0, 6]
    parts[1] = Parameter(np.array([3, 3, 3], np.float32), name="q")
    assert f(A).tolist() == [0, 0, 9]
    parts[0] = of(1)
    assert f(A).tolist() == [3, 6, 9]


def test_lists_that_cells_hold():
    class Several(nn.Cell):
        def __init__(self):
            super().__init__()
            self.rates = [1.0, 2.0]
            self.options = {"add": 1.0}

        def construct(self, x):
            return x * self.rates[1] + self.options["add"]

    net = Several()
    warm(net, A)
    assert short(net, A).tolist() == [3, 5, 7]
    net.rates[1] = 3.0
    assert net(A).tolist() == [4, 7, 10]
    net.options["add"] = 0.0
    assert warm(net, A).tolist() == [3, 6, 9]
    assert short(net, A).tolist() == [3, 6, 9]


# ------------------------------------------------------------------------------------------------ the call itself
def test_calls_of_cells_of_all_kinds():
    class Hooked(Net):
        def __getattr__(self, name):
            raise AttributeError(name)

    for net in (Net(), Hooked()):
        warm(net, A)
        assert short(net, A).tolist() == [2, 8, 18]
        assert nn.Cell.__call__(net, A).tolist() == [2, 8, 18]
        assert net.__call__(A).tolist() == [2, 8, 18]
        assert net(x=A).tolist() == [2, 8, 18]
        with pytest.raises(TypeError):
            net(A, y=1)
        with pytest.raises(TypeError):
            net()
        with pytest.raises(TypeError):
            nn.Cell.__call__()


def test_a_class_with_a_call_of_its_own():
    class Mine(Net):
        def __call__(self, x, twice=False):
            found = super().__call__(x)
            return found * 2 if twice else found

    ms.set_context(mode=ms.PYNATIVE_MODE)
    net = Mine()
    assert net(A).tolist() == [2, 8, 18]
    assert net(A, twice=True).tolist() == [4, 16, 36]


def test_the_call_of_cells_stays_a_function():
    warm(Net(), A)
    call = nn.Cell.__call__
    assert type(call) is types.FunctionType
    assert list(inspect.signature(call).parameters) == ["self", "args", "kwargs"]
    assert pickle.loads(pickle.dumps(call)) is call


def test_exceptions_out_of_compiled_code_show_the_users_frames_only():
    def fails(x):
        if fails.now:
            raise KeyError("from outside")
        return x

    fails.now = False
    net = Net()
    handle = net.register_forward_hook(lambda cell, inputs, output: Tensor(fails(output.asnumpy())))
    warm(net, A)
    fails.now = True
    with pytest.raises(KeyError, match="from outside") as caught:
        net(A)
    files = [entry.path.name for entry in caught.traceback]
    assert set(files) == {"test_fast_attributes.py"}
    handle.remove()
    assert net(A).tolist() == [2, 8, 18]


# ------------------------------------------------------------------------------------------------ all together
@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.RecompileWarning")
@pytest.mark.parametrize("seed", range(part(2)))
def test_changes_in_any_order(seed):
    draw = random.Random(seed)

    class Base:
        k = 2.0

        def scaled(self, x):
            return x * self.k

    class Model(Base):
        pass

    class Like(Base):
        pass

    one = Model()
    one.rates = [1.0, 2.0]
    f = ms.jit(lambda x: one.scaled(x) + one.rates[1])
    changes = [
        lambda: setattr(one, "k", draw.choice((2.0, 3.0))),
        lambda: one.__dict__.pop("k", None),
        lambda: one.__dict__.update(k=float(draw.choice("23"))),
        lambda: setattr(one, "__dict__", {"rates": [1.0, 2.0]}),
        lambda: setattr(one, "__dict__", dict(vars(one))),
        lambda: setattr(one, f"other{draw.randrange(40)}", 1),
        lambda: one.__dict__.pop(f"other{draw.randrange(40)}", None),
        lambda: setattr(Base, "k", draw.choice((2.0, 3.0))),
        lambda: setattr(Model, "k", draw.choice((2.0, 3.0))),
        lambda: "k" in vars(Model) and delattr(Model, "k"),
        lambda: setattr(one, "__class__", draw.choice((Model, Like))),
        lambda: one.rates.__setitem__(1, draw.choice((2.0, 5.0))),
        lambda: setattr(one, "rates", [1.0, draw.choice((2.0, 5.0))]),
        lambda: one.rates.append(1.0) if len(one.rates) < 4 else one.rates.__delitem__(slice(2, None)),
        gc.collect,
    ]
    for _ in range(150):
        draw.choice(changes)()
        expected = (one.k + one.rates[1], 2 * one.k + one.rates[1], 3 * one.k + one.rates[1])
        for _ in range(draw.choice((1, 1, 2, 12))):
            assert tuple(f(A).tolist()) == expected
