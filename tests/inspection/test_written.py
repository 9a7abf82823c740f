"""`artifact.ir("source")`: what the user wrote, whatever was made of it."""

from __future__ import annotations

import functools
import inspect

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TensorSpec, nn

VECTOR, ROWS = TensorSpec("f32[3]"), TensorSpec("f32[2,3]")


def cubes(x):
    return (x * x * x).sum()


def weighted(w, x):
    return (w * x * x).sum()


def inner(x):
    return x + 1


class Holds(nn.Cell):
    """Has an attribute that derivatives have, too."""

    def __init__(self):
        super().__init__()
        self.fn = inner

    def construct(self, x):
        return self.fn(x).sum()


class Methods:
    def plain(self, x):
        return x.sum()

    @ms.jit
    def compiled(self, x):
        return (x + x).sum()


def doubled(fn):
    @functools.wraps(fn)
    def twice(x):
        return 2 * fn(x)

    return twice


PARTLY = functools.partial(weighted, Tensor(2.0))
CASES = {
    "jit": (ms.jit(cubes), VECTOR, cubes),
    "grad": (ms.grad(cubes), VECTOR, cubes),
    "jit of grad": (ms.jit(ms.grad(cubes)), VECTOR, cubes),
    "grad of jit": (ms.grad(ms.jit(cubes)), VECTOR, cubes),
    "vmap of grad": (ms.vmap(ms.grad(cubes)), ROWS, cubes),
    "hessian": (ms.hessian(cubes), VECTOR, cubes),
    "jacrev of grad": (ms.jacrev(ms.grad(cubes)), VECTOR, cubes),
    "partial": (ms.jit(PARTLY), VECTOR, weighted),
    "grad of partial": (ms.grad(PARTLY), VECTOR, weighted),
    "partial of partial": (ms.jit(functools.partial(functools.partial(weighted), Tensor(2.0))), VECTOR, weighted),
    "cell": (Holds(), VECTOR, Holds.construct),
    "jit of cell": (ms.jit(Holds()), VECTOR, Holds.construct),
    "vmap of grad of cell": (ms.vmap(ms.grad(Holds())), ROWS, Holds.construct),
    "grad of method": (ms.grad(Methods().plain), VECTOR, Methods.plain),
    "grad of compiled method": (ms.grad(Methods().compiled), VECTOR, Methods.compiled),
    "decorated": (ms.grad(doubled(cubes)), VECTOR, cubes),
}


@pytest.mark.parametrize("name", CASES)
def test_the_source_is_the_users(name):
    fn, argument, written = CASES[name]
    assert fn.lower(argument).ir("source") == inspect.getsource(written)


def greet(x):
    größe = x * 2  # how large
    print("größe", größe)
    return größe.sum()


@pytest.mark.parametrize("stage", ["front", "adjoint", "opt", "plan"])
def test_dumps_are_ascii(stage):
    assert ms.jit(greet).lower(VECTOR).ir(stage).isascii()
