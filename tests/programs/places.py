"""Containers and objects from outside for programs that change them, and what these hold as comparable data."""

from __future__ import annotations

import dataclasses
import types

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import nn

X = np.array([1.5, -0.5, 2.0])


class Plain:
    total = 0

    def __init__(self):
        self.n, self.z, self.rate, self.items = 1, None, 0.5, []

    @property
    def level(self):
        return self.n * 2

    @level.setter
    def level(self, value):
        self.n = value + 1

    def count(self, by):
        self.n += by
        return self.n


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 2.0


class Watching:
    def __setattr__(self, name, value):
        print("set", name)
        super().__setattr__("_" + name, value)


@dataclasses.dataclass
class Data:
    n: int = 0
    last: object = None
    seen: list = dataclasses.field(default_factory=list)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.log, self.cache = [], {"k": [], "n": 0}
        self.w = ms.Parameter(np.array([2.0, 1.0, -1.0]), name="w")


def outside():
    """What the programs change; a fresh one for every run."""
    L = [ms.Tensor(X), 2, 0.5]
    N = {"k": [], "d": {"a": 1}, "l": L, "t": (L, 3)}
    return {
        "D": {"n": 0, "z": ms.Tensor(X), "tag": "a"},
        "L": L,
        "A": L,
        "H": [],
        "I": [3, 1, 2],
        "N": N,
        "S": {1, 2},
        "o": Plain(),
        "slots": Slots(),
        "watching": Watching(),
        "data": Data(),
        "net": Net(),
        "space": types.SimpleNamespace(n=1),
        "twin": (a := Plain(), a),
    }


def described(x, seen):
    """A value as comparable data: equal objects have equal numbers, so that it shows which of them are one."""
    if x is None or isinstance(x, bool | int | float | str):
        return type(x).__name__, (round(x, 9) if isinstance(x, float) else x)
    if isinstance(x, set):
        return "set", seen.setdefault(id(x), len(seen)), sorted(x)
    number = seen.setdefault(id(x), len(seen))
    if isinstance(x, ms.Tensor):
        return "Tensor", number, str(x.dtype), x.shape, np.round(x.asnumpy(), 9).tolist()
    if isinstance(x, dict):
        return "dict", number, [(k, described(v, seen)) for k, v in x.items()]
    if isinstance(x, list | tuple):
        return type(x).__name__, number if isinstance(x, list) else None, [described(v, seen) for v in x]
    held = {n: getattr(x, n) for n in getattr(type(x), "__slots__", ()) if hasattr(x, n)}
    held = held if isinstance(x, Slots) else {k: v for k, v in vars(x).items() if not k.startswith("_") or k == "_a"}
    if isinstance(x, nn.Cell):
        held = {"log": x.log, "cache": x.cache}
    return type(x).__name__, number, [(k, described(v, seen)) for k, v in held.items()]
