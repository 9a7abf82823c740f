"""What counts as a structure with Tensors in it: the same for eager code, compiled code and every transform."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor

X = np.array([1.0, 2.0, 3.0], np.float32)
EYE = np.eye(3, dtype=np.float32)


@dataclass(frozen=True)
class Record:
    v: Tensor
    w: Tensor


class Named(NamedTuple):
    v: Tensor
    w: Tensor


@ms.jit_class
class Box:
    def __init__(self, v, w):
        self.z = v  # the order of assignment is not that of the names
        self.a = w


def _plain(x):
    """Containers as nested lists with arrays in them; attributes in order, with their names."""
    if isinstance(x, Tensor):
        return x.asnumpy().tolist()
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    if isinstance(x, tuple | list):
        return (type(x).__name__, [_plain(v) for v in x])
    return (type(x).__name__, {k: _plain(v) for k, v in vars(x).items()}) if hasattr(x, "__dict__") else x


def _like(kind, v, w):
    """What `_plain` gives for an object of the class with these arrays."""
    v, w = np.asarray(v).tolist(), np.asarray(w).tolist()
    return ("Record", {"v": v, "w": w}) if kind is Record else ("Box", {"z": v, "a": w})


def _in_graph_mode(f):
    def run(*args):
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            return f(*args)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)

    return run


#: eager code, the whole program compiled, and the transforms alone
MODES = {"eager": lambda f: f, "compiled": ms.jit, "graph mode": _in_graph_mode}


@pytest.fixture(params=list(MODES))
def how(request):
    return MODES[request.param]


@pytest.fixture(params=[Record, Box], ids=["frozen dataclass", "jit_class object"])
def kind(request):
    return request.param


def _fn(kind):
    return lambda x: (kind(x * x, 3.0 * x), x)


def test_a_gradient_sums_what_is_in_the_objects(how, kind):
    for differentiated in (lambda f: ms.grad(f), lambda f: ms.grad(ms.jit(f)), lambda f: ms.jit(ms.grad(f))):
        got = how(lambda x, d=differentiated: d(_fn(kind))(x))(Tensor(X))
        assert got.asnumpy().tolist() == (2 * X + 3 + 1).tolist()


def test_the_value_beside_a_gradient_keeps_its_objects(how, kind):
    value, g = how(lambda x: ms.value_and_grad(_fn(kind))(x))(Tensor(X))
    assert _plain(value) == ("tuple", [_like(kind, X * X, 3 * X), X.tolist()])
    assert g.asnumpy().tolist() == (2 * X + 4).tolist()


def test_cotangents_are_given_in_the_order_of_the_attributes(how, kind):
    one = Tensor(np.ones(3, np.float32))
    expected = (2 * X * 1 + 3 * 10 + 100).tolist()
    pulled = how(lambda x: ms.vjp(_fn(kind), x)[1](one, one * 10.0, one * 100.0))(Tensor(X))
    assert pulled[0].asnumpy().tolist() == expected
    seeded = ms.value_and_grad(_fn(kind), sens_param=True)
    _, g = how(lambda x: seeded(x, (one, one * 10.0, one * 100.0)))(Tensor(X))
    assert g.asnumpy().tolist() == expected


def test_tangents_are_in_the_objects(how, kind):
    v = Tensor(np.array([1.0, 10.0, 100.0], np.float32))
    expected = ("tuple", [_like(kind, 2 * X * v.asnumpy(), 3 * v.asnumpy()), v.asnumpy().tolist()])
    assert _plain(how(lambda x: ms.jvp(_fn(kind), x, v)[1])(Tensor(X))) == expected
    assert _plain(how(lambda x: ms.linearize(_fn(kind), x)[1](v))(Tensor(X))) == expected


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_jacobians_are_in_the_objects(how, kind, jacobian):
    got = how(lambda x: jacobian(_fn(kind))(x))(Tensor(X))
    assert _plain(got) == ("tuple", [_like(kind, np.diag(2 * X), 3 * EYE), EYE.tolist()])


def test_a_hessian_is_in_the_object(how, kind):
    def cubes(x):
        return kind((x * x * x).sum(), (x * x).sum())

    got = how(lambda x: ms.hessian(cubes)(x))(Tensor(X))
    assert got.asnumpy().tolist() == np.diag(6 * X + 2).tolist()


def test_examples_are_stacked_in_the_objects(how, kind):
    rows = np.stack([X, X + 1])
    got = how(lambda x: ms.vmap(lambda r: kind(r * r, 3.0 * r), out_axes=1)(x))(Tensor(rows))
    assert _plain(got) == _like(kind, (rows * rows).T, (3 * rows).T)


def test_records_are_arguments_of_vmap(how):
    rows = np.stack([X, X + 1])
    made = how(lambda a, b: ms.vmap(lambda r: r.v * r.w)(Record(a, b)))(Tensor(rows), Tensor(rows + 1))
    assert made.asnumpy().tolist() == (rows * (rows + 1)).tolist()


def test_examples_that_return_different_containers_are_refused():
    def f(x):
        return [x] if x.asnumpy().sum() > 1 else (x,)

    with pytest.raises(ValueError, match="one container for one example"):
        ms.vmap(f)(Tensor([1.0, 2.0]))


def test_an_argument_returned_in_an_object_is_the_callers(how):
    x = Tensor(X)
    value, _ = how(lambda x: ms.value_and_grad(lambda x: Box(x, x * x))(x))(x)
    assert value.z is x


def test_an_object_that_holds_itself_is_looked_into_once():
    def f(x):
        box = Box(x * x, x)
        box.me = box
        return box

    assert ms.grad(f)(Tensor(X)).asnumpy().tolist() == (2 * X + 1).tolist()


def test_a_changed_object_from_outside_is_not_differentiated_silently():
    box = Box(Tensor(X), None)

    def f(x):
        box.z = x * x
        return box

    assert ms.grad(f)(Tensor(X)).asnumpy().tolist() == (2 * X).tolist()
    with pytest.raises(ms.GradientError, match="returns Box object, made outside of it"):
        ms.jit(lambda x: ms.grad(f)(x))(Tensor(X))


@pytest.mark.parametrize("slots", [False, True])
def test_attributes_have_the_order_of_their_assignment(slots):
    @ms.jit_class
    class Ordered:
        if slots:
            __slots__ = ("a", "z")

        def __init__(self, x):
            self.z = x
            self.a = x + 1.0

    def names(o):
        return list(o.__slots__) if slots else list(vars(o))

    got, expected = ms.jit(lambda x: Ordered(x))(Tensor(X)), Ordered(Tensor(X))
    assert names(got) == names(expected)
    assert got.z.asnumpy().tolist() == X.tolist()
    assert got.a.asnumpy().tolist() == (X + 1).tolist()
    assert ms.grad(lambda x: Ordered(x * x))(Tensor(X)).asnumpy().tolist() == (4 * X).tolist()
    assert ms.jit(ms.grad(lambda x: Ordered(x * x)))(Tensor(X)).asnumpy().tolist() == (4 * X).tolist()


def test_objects_with_attributes_in_another_order_meet_at_a_branch():
    def f(x):
        if x.sum() > 0:
            box = Box(x, x * 2.0)
        else:
            box = Box(x, x)
            box.a = x * 3.0
        return box

    for sign in (1.0, -1.0):
        x = Tensor(sign * X)
        assert _plain(ms.jit(f)(x)) == _plain(f(x))
        assert ms.jit(ms.grad(f))(x).asnumpy().tolist() == [3.0 if sign > 0 else 4.0] * 3


# ------------------------------------------------------------------------------------------------ arguments
STRUCTURES = {
    "dict": lambda v, w: {"v": v, "w": w},
    "list": lambda v, w: [v, w],
    "tuple": lambda v, w: (v, w),
    "NamedTuple": Named,
    "frozen dataclass": Record,
}


def _product(s):
    """v * w, summed, of any of the structures."""
    if isinstance(s, dict):
        v, w = s["v"], s["w"]
    elif isinstance(s, Record):
        v, w = s.v, s.w
    else:
        v, w = s[0], s[1]
    return (v * v * w).sum()


@pytest.fixture(params=list(STRUCTURES))
def build(request):
    return STRUCTURES[request.param]


Y = X + 1


@pytest.fixture(params=["plain", "marked"])
def given(request):
    """Containers are arguments as they are, and marked."""
    return ms.mutable if request.param == "marked" else lambda x: x


def test_gradients_by_containers_that_compiled_code_makes(how, build, given):
    got = how(lambda x, y: ms.grad(_product)(given(build(x, y))))(Tensor(X), Tensor(Y))
    assert _plain(got) == _plain(build(Tensor(2 * X * Y), Tensor(X * X)))
    assert type(got) is type(build(1, 2))
    value, g = how(lambda x, y: ms.value_and_grad(_product)(given(build(x, y))))(Tensor(X), Tensor(Y))
    assert value.item() == float((X * X * Y).sum())
    assert _plain(g) == _plain(got)


def test_gradients_by_containers_as_arguments(how, build, given):
    got = how(lambda s: ms.grad(_product)(s))(given(build(Tensor(X), Tensor(Y))))
    assert _plain(got) == _plain(build(Tensor(2 * X * Y), Tensor(X * X)))


def test_pullbacks_to_containers(how, build, given):
    got = how(lambda x, y: ms.vjp(_product, given(build(x, y)))[1](ms.Tensor(2.0)))(Tensor(X), Tensor(Y))
    assert _plain(got) == ("tuple", [_plain(build(Tensor(4 * X * Y), Tensor(2 * X * X)))])


def test_tangents_along_containers(how, build, given):
    one = Tensor(np.ones(3, np.float32))
    slope = float((2 * X * Y + 10 * X * X).sum())

    def pushed(x, y):
        at, along = given(build(x, y)), build(one, one * 10.0)
        one_of_several = ms.jvp(_product, (at,), (along,))[1], ms.linearize(_product, (at,))[1]((along,))
        if isinstance(at, Named | dict | Record) or given is ms.mutable:  # a plain tuple or list holds several inputs
            return ms.jvp(_product, at, along), ms.linearize(_product, at)[1](along), *one_of_several
        return ms.jvp(_product, (at,), (along,)), *one_of_several

    (value, tangent), *others = how(pushed)(Tensor(X), Tensor(Y))
    assert value.item() == float((X * X * Y).sum())
    assert {x.item() for x in (tangent, *others)} == {slope}


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_jacobians_by_containers(how, build, given, jacobian):
    def f(s):
        return _product(s) * Tensor([1.0, 2.0])

    got = how(lambda x, y: jacobian(f)(given(build(x, y))))(Tensor(X), Tensor(Y))
    assert _plain(got) == _plain(build(Tensor(np.stack([2 * X * Y, 4 * X * Y])), Tensor(np.stack([X * X, 2 * X * X]))))


def test_second_derivatives_by_containers(how, given):
    def second(x, y):
        at = given({"v": x, "w": y})
        return ms.hessian(_product)(at), ms.hvp(_product, at, {"v": y, "w": x})

    whole, product = how(second)(Tensor(X), Tensor(Y))
    blocks = {"v": {"v": np.diag(2 * Y), "w": np.diag(2 * X)}, "w": {"v": np.diag(2 * X), "w": np.zeros((3, 3))}}
    assert _plain(whole) == {k: {n: b.tolist() for n, b in row.items()} for k, row in blocks.items()}
    assert _plain(product) == {"v": (2 * Y * Y + 2 * X * X).tolist(), "w": (2 * X * Y).tolist()}


def test_tangents_of_another_structure_are_refused(how):
    with pytest.raises(ms.GradientError, match="a container of the same structure"):
        how(lambda x: ms.jvp(lambda s: s["v"], ms.mutable({"v": x}), {"w": x}))(Tensor(X))


def test_marked_records_are_records():
    marked = ms.mutable(Record(Tensor(X), 2.0))
    assert isinstance(marked, Record)
    assert isinstance(copy.copy(marked), Record)
    assert marked.w == 2.0
    assert repr(marked).startswith("Record(")
    assert pickle.loads(pickle.dumps(marked)).w == 2.0
    scaled = ms.jit(lambda r: r.v * r.w)
    assert [scaled(ms.mutable(Record(Tensor(X), k))).tolist() for k in (2.0, 3.0)] == [
        (2 * X).tolist(),
        (3 * X).tolist(),
    ]
    assert scaled.cache_info()["compiles"] == 1


def test_marks_stay_through_branches_and_loops():
    def f(x):
        d = ms.mutable({"v": x, "w": x})
        if x.sum() > 0:
            d = ms.mutable({"v": x * 2.0, "w": x})
        for _ in range(3):
            d["v"] = d["v"] + 1.0
        return ms.grad(_product)(d)

    assert _plain(ms.jit(f)(Tensor(X))) == _plain(f(Tensor(X)))


# ------------------------------------------------------------------------------------------------ identity
def _changed_dict(x):
    d = {}

    def f(x):
        d["k"] = x * x
        return d

    value, g = ms.value_and_grad(f)(x)
    same = value is d
    d["k"] = x * 0.0
    return value, g, same


def _changed_object(x):
    box = Box(x, x)

    def f(x):
        box.z = x * x
        return box

    value, g = ms.value_and_grad(f)(x)
    return value, g, value is box


def _changed_inside_another(x):
    inner = []
    outer = {"l": inner}

    def f(x):
        inner.append(x * x)
        outer["n"] = inner
        return x.sum()

    g = ms.grad(f)(x)
    inner.append(x)
    return outer, g, outer["n"] is outer["l"]


def _appended_under_jvp(x):
    items = [x]

    def f(x):
        items.append(x * x)
        return items, x * 2.0

    value, tangent = ms.jvp(f, x, x)
    return value, tangent, value[0] is items


def _returned_twice(x):
    def f(x):
        items = [x * x]
        return items, items

    value, g = ms.value_and_grad(f)(x)
    value[0].append(x)
    return value, g, value[0] is value[1]


@pytest.mark.parametrize(
    "program", [_changed_dict, _changed_object, _changed_inside_another, _appended_under_jvp, _returned_twice]
)
def test_containers_that_a_differentiated_function_changes_and_returns(program):
    x = Tensor(X)
    got, expected = ms.jit(program)(x), program(x)
    assert expected[2] is True
    assert _plain(got) == _plain(expected)


@pytest.mark.parametrize(
    "beside",
    [lambda x, n: n * 2, lambda x, n: float(x.sum()), lambda x, n: x.asnumpy(), lambda x, n: Box(n, 2.5)],
    ids=["a run-time int", "a run-time float", "an array", "numbers in an object"],
)
def test_what_is_no_tensor_has_neither_cotangent_nor_tangent(beside):
    def f(x, n):
        value, tangent = ms.jvp(lambda x: (x * x, beside(x, n)), x, x)
        pulled = ms.vjp(lambda x: (x * x, beside(x, n)), x)[1](x)
        jacobian = ms.jacrev(lambda x: (x * x, beside(x, n)))(x)
        return value, tangent, pulled, jacobian

    x, n = Tensor(X), ms.mutable(3)
    got, expected = ms.jit(f)(x, n), f(x, n)
    assert str(_plain(got)) == str(_plain(expected))
    assert got[1][0].asnumpy().tolist() == (2 * X * X).tolist()
    assert got[2][0].asnumpy().tolist() == (2 * X * X).tolist()
