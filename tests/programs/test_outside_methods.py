"""Methods that change containers, called by name: what Python calls for operators, and functions of the class.

Compiled code changes plain containers as eager code does, and refuses to change those of other classes; in hooks they
run at each call, with Tensors of that call.
"""

from __future__ import annotations

import collections
import operator

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn

from .everywhere import everywhere, t

CHANGES = {
    "d.__setitem__": lambda held, x: held["dict"].__setitem__("a", x),
    "dict.__setitem__": lambda held, x: dict.__setitem__(held["dict"], "a", x),
    "d.__ior__": lambda held, x: held["dict"].__ior__({"a": x}),
    "dict.__ior__": lambda held, x: dict.__ior__(held["dict"], {"a": x}),
    "dict.update": lambda held, x: dict.update(held["dict"], a=x),
    "l.__iadd__": lambda held, x: held["list"].__iadd__([x]),
    "list.__iadd__": lambda held, x: list.__iadd__(held["list"], [x]),
    "list.append": lambda held, x: list.append(held["list"], x),
    "list.append of a number": lambda held, x: list.append(held["list"], 1),
    "l.__imul__": lambda held, x: held["list"].__imul__(2),
    "l.__init__": lambda held, x: held["list"].__init__([x]),
    "l.__setitem__": lambda held, x: held["list"].__setitem__(0, x),
    "l.__delitem__": lambda held, x: held["list"].__delitem__(0),
    "list.__delitem__": lambda held, x: list.__delitem__(held["list"], 0),
    "operator.delitem": lambda held, x: operator.delitem(held["list"], 0),
    "s.__ior__": lambda held, x: held["set"].__ior__({5}),
    "set.__ior__": lambda held, x: set.__ior__(held["set"], {5}),
    "set.difference_update": lambda held, x: set.difference_update(held["set"], {3}),
    "deque.append": lambda held, x: collections.deque.append(held["deque"], x),
    "own.put": lambda held, x: held["own"].put(x),
    "ordered.move_to_end": lambda held, x: held["ordered"].move_to_end("a"),
    "counter.subtract": lambda held, x: held["counter"].subtract({"a": 1}),
}
#: Those of containers of other classes, and what has no operator.
REFUSED = {
    "l.__init__": "AC1807", "l.__delitem__": "AC1807", "list.__delitem__": "AC1807", "deque.append": "AC1602",
    "own.put": "AC1602", "ordered.move_to_end": "AC1602", "counter.subtract": "AC1602",
}  # fmt: skip
rows = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())


class Own(list):
    def put(self, x):
        self.append(x)


def containers():
    return {
        "dict": {}, "list": [7], "set": {3}, "deque": collections.deque([4]), "own": Own(),
        "ordered": collections.OrderedDict(a=1, b=2), "counter": collections.Counter("aab"),
    }  # fmt: skip


def told(held):
    """The containers with lists in the place of Tensors, and pairs in the order of dicts."""
    if isinstance(held, dict):
        return [(key, told(x)) for key, x in held.items()]
    if isinstance(held, list | collections.deque):
        return [told(x) for x in held]
    assert isinstance(held, Tensor | int | set), type(held)
    return held.tolist() if isinstance(held, Tensor) else held


@rows
def test_what_came_from_outside_is_changed_or_refused(change, request):
    held, expected, x = containers(), containers(), t(1.0, 2.0)

    def f(x):
        change(held, x)
        return x * 2

    compiled, name = ms.jit(f), request.node.callspec.id
    if name in REFUSED:
        with pytest.raises(ms.CompileError) as caught:
            compiled(x)
        assert caught.value.code == REFUSED[name]
        assert told(held) == told(containers())
        return
    for _ in range(2):
        change(expected, x)
        compiled(x)
        assert told(held) == told(expected)
        held["list"].append(8)  # so that there is an element to delete
        expected["list"].append(8)


@rows
def test_in_a_hook_they_run_at_each_call(change):
    """As many times, and with the same Tensors, as in eager code."""

    def run(mode):
        held, net = containers(), nn.ReLU()
        net.register_forward_hook(lambda cell, inputs, output: (change(held, output), None)[1])
        call = mode(lambda x: net(x) * 2)
        assert call(t(1.0, -2.0)).tolist() == [2.0, 0.0]
        return told(held)

    assert run(ms.jit) == run(lambda f: f) != told(containers())


def test_what_compiled_code_made_may_be_changed():
    def f(x):
        items, names = [x], {}
        items.__iadd__([x * 2])
        list.append(items, x * 3)
        items.__setitem__(0, x * 4)
        names.__setitem__("a", items[0])
        dict.update(names, b=items[1])
        names.__ior__({"c": items[2]})
        return names["a"], names["b"], names["c"]

    everywhere(f, t(1.0), expected=[[4.0], [2.0], [3.0]])


def test_an_attribute_set_by_name_in_a_hook():
    """What a hook of the backward pass stores with `setattr` is what ``cell.saved = g`` stores: dy / dx = 2 x."""

    class Square(nn.Cell):
        def construct(self, x):
            return x * x

    def f(x):
        net = Square()
        net.register_backward_hook(lambda cell, arrived, leaving: setattr(cell, "saved", leaving[0]))
        gradient = ms.grad(net)(x)
        return gradient, net.saved

    everywhere(f, t(3.0), expected=[np.array([6.0]), np.array([6.0])])
