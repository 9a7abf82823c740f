"""`tree`: leaves, structures and `map`, the same in eager and in compiled code."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import NamedTuple

import optree
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, tree


class Pair(NamedTuple):
    a: object
    b: object


@dataclass(frozen=True)
class Record:
    v: object
    w: object


class Box:
    def __init__(self, held, unit):
        self.held, self.unit = held, unit


tree.register(Box, lambda box: ((box.held,), box.unit), lambda unit, held: Box(*held, unit))


@pytest.fixture(params=["eager", "compiled"])
def how(request):
    return ms.jit if request.param == "compiled" else lambda f: f


#: of numbers, and of Tensors with these numbers: what `tree` must give does not depend on which
TREES = {
    "leaf": (lambda t: t(1), "*"),
    "tuple": (lambda t: (t(1), (t(2),)), "(*, (*,))"),
    "list": (lambda t: [t(1), [], [t(2), t(3)]], "[*, [], [*, *]]"),
    "dict": (lambda t: {"z": t(1), "a": {"k": t(2)}}, "{'z': *, 'a': {'k': *}}"),
    "NamedTuple": (lambda t: Pair(t(1), [t(2)]), "Pair(a=*, b=[*])"),
    "frozen dataclass": (lambda t: Record(t(1), Pair(t(2), t(3))), "Record(v=*, w=Pair(a=*, b=*))"),
    "None": (lambda t: (t(1), None, [None, t(2)]), "(*, None, [None, *])"),
}


def plain(x):
    return tree.map(lambda leaf: leaf.item() if isinstance(leaf, Tensor) else leaf, x)


@pytest.mark.parametrize("name", TREES)
def test_a_tree_is_its_leaves_and_its_structure(how, name):
    make, text = TREES[name]
    given = make(lambda n: Tensor(float(n)))
    expected, form = tree.flatten(make(float))
    assert expected == [float(n + 1) for n in range(form.count)]
    assert repr(form) == text
    assert plain(how(tree.leaves)(given)) == expected
    found, same = how(tree.flatten)(given)
    assert plain(found) == expected
    assert same == form == tree.structure(given)
    assert hash(same) == hash(form)
    doubled = how(lambda x: tree.unflatten(tree.structure(x), [2 * leaf for leaf in tree.leaves(x)]))(given)
    assert plain(doubled) == plain(how(lambda x: tree.map(lambda leaf: 2 * leaf, x))(given)) == make(lambda n: 2.0 * n)
    assert type(doubled) is type(given)


@pytest.mark.parametrize("name", TREES)
def test_map_goes_over_several_trees(how, name):
    make, _ = TREES[name]
    one, other = make(lambda n: Tensor(float(n))), make(lambda n: Tensor(10.0 * n))
    assert plain(how(lambda x, y: tree.map(lambda a, b: a + b, x, y))(one, other)) == make(lambda n: 11.0 * n)


def test_keys_of_dicts_say_what_belongs_together(how):
    found = how(lambda x, y: tree.map(lambda a, b: a - b, x, y))(
        {"a": Tensor(1.0), "b": Tensor(2.0)}, {"b": Tensor(20.0), "a": Tensor(10.0)}
    )
    assert plain(found) == {"a": -9.0, "b": -18.0}


def test_a_leaf_meets_none_and_containers(how):
    found = how(lambda x: tree.map(lambda a, b: a if b is None else a * len(b), x, [None, (1, 2, 3)]))(
        [Tensor(1.0), Tensor(2.0)]
    )
    assert plain(found) == [1.0, 6.0]


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ({"a": 1}, {"b": 1}, r"the first tree is a dict with the keys \['a'\], another a dict with the keys \['b'\]"),
        ({"a": [1, 2]}, {"a": (1, 2)}, r"at \['a'\] the first tree is a list of 2, another a tuple of 2"),
        ([1, 2], [1], "a list of 2, another a list of 1"),
        ((1,), 1, "a tuple of 1, another a leaf"),
        (None, 1, "the first tree is None, another a leaf"),
    ],
)
def test_trees_that_differ_are_refused(how, one, other, text):
    with pytest.raises(ValueError, match=text):
        how(lambda: tree.map(lambda a, b: a, one, other))()


def test_structures_that_differ_are_unequal():
    forms = [tree.structure(x) for x in (1, (1,), [1], {"a": 1}, {"b": 1}, Pair(1, 1), Record(1, 1), None, (1, 1))]
    assert [[a == b for b in forms].count(True) for a in forms] == [1] * len(forms)
    assert forms[0] != "*"


def test_leaves_must_be_as_many_as_the_structure_has(how):
    form = tree.structure((1, [2]))
    with pytest.raises(ValueError, match=r"1 leaves were given for a tree of 2: \(\*, \[\*\]\)"):
        how(lambda: tree.unflatten(form, [1.0]))()
    with pytest.raises(TypeError, match="made of a Structure, not of a tuple"):
        how(lambda: tree.unflatten((1, 2), [1.0]))()


def test_objects_of_registered_classes_are_containers():
    found = tree.map(lambda x: 2 * x, {"box": Box(Tensor(3.0), "m")})["box"]
    assert (type(found), found.held.item(), found.unit) == (Box, 6.0, "m")
    assert tree.structure(Box(1, "m")) == tree.structure(Box(2, "m")) != tree.structure(Box(1, "s"))
    with pytest.raises(ValueError, match="the trees differ"):
        tree.map(lambda a, b: a, Box(1, "m"), Box(1, "s"))


def test_compiled_code_takes_registered_objects_apart():
    assert ms.jit(lambda box: tree.leaves([box, box])[1] * 2)(Box(Tensor(3.0), "m")).item() == 6.0


def test_registered_code_that_is_compiled_makes_objects_of_classes_that_it_can_make():
    @ms.jit_class
    class Scale:
        def __init__(self, by):
            self.by = by

    tree.register(Scale, lambda s: ((s.by,), None), lambda more, items: Scale(*items))
    assert ms.jit(lambda x: tree.map(lambda leaf: 3 * leaf, Scale(x)).by)(Tensor(2.0)).item() == 6.0


@pytest.mark.parametrize("cls", [list, dict, Pair, Box])
def test_a_container_is_not_registered_again(cls):
    with pytest.raises(ValueError, match="is a container already"):
        tree.register(cls, list, lambda more, items: items)


def test_only_classes_are_registered_and_only_outside():
    with pytest.raises(TypeError, match="a class is registered, not a list"):
        tree.register([], list, list)
    with pytest.raises(ms.UnsupportedCallError, match="registered in compiled code"):
        ms.jit(lambda x: tree.register(Box, list, list))(Tensor(1.0))


def test_what_optree_knows_is_known():
    queue = collections.deque([Tensor(1.0), (Tensor(2.0),)])
    assert plain(tree.leaves(queue)) == [1.0, 2.0]
    doubled = tree.map(lambda x: 2 * x, queue)
    assert type(doubled) is collections.deque
    assert plain(list(doubled)) == [2.0, (4.0,)]
    _, form = optree.tree_flatten({"b": 1, "a": (2, 3)})
    assert tree.unflatten(form, [20, 30, 1]) == {"a": (20, 30), "b": 1}


def test_gradients_have_the_structure_of_their_arguments(how):
    make, _ = TREES["frozen dataclass"]
    at = make(lambda n: Tensor(float(n)))

    def product(r):
        return r.v * r.w.a * r.w.b

    slopes = how(ms.grad(product))(at)
    assert plain(slopes) == Record(6.0, Pair(3.0, 2.0))
    assert plain(how(lambda x, g: tree.map(lambda a, b: a - b, x, g))(at, slopes)) == Record(-5.0, Pair(-1.0, 1.0))
