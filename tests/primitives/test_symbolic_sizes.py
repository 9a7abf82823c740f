"""Type rules, derivatives and batch rules of every op with a size that only a call knows.

Each size of each sample becomes a symbol in turn, in the operands and, where that is needed, in the attributes.  What
is inferred then, evaluated at a size, is what is inferred of the sample with that size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.autodiff.expand import expand_grads
from autodiff_compiler.dtypes import float64, from_numpy
from autodiff_compiler.errors import CompileError
from autodiff_compiler.inspection.samples import samples_of
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import REGISTRY, F, Primitive, annotation
from autodiff_compiler.ir.sizes import Dim, evaluate, symbol
from autodiff_compiler.ir.types import TensorType, tensor
from autodiff_compiler.ir.verify import verify

OPS = sorted(name for name, defn in REGISTRY.items() if defn.samples is not None)
N = symbol("n", 0, 1024)
VALUES = (0, 1, 2, 7, 64)
Exchange = Callable[[Any], Any]

#: Ops with no size that may be a symbol, and why.
WITHOUT = {
    "random_integers": "a state of 3 numbers",
    "random_normal": "a state of 3 numbers",
    "random_order": "a state of 3 numbers",
    "random_uniform": "a state of 3 numbers",
    "row_order": "as many rows as an attribute says",
    "sum_windows": "how many windows there are is a formula of an attribute",
}
#: Ops with a derivative of known sizes only, and why.
WITHOUT_DERIVATIVE = WITHOUT | {
    "alignment_scores": "a constant mask of its operand's shape",
    "exchange": "an attribute says the sizes of what comes, which is what the other process sends",
}
#: Ops whose examples are groups, the number of which is an attribute.
GROUPED = ("conv", "conv_filter", "conv_input")


def forward(name: str, attrs: dict[str, Any], types: list[TensorType]) -> Module:
    builder = Builder(Block(types), module=Module())
    with builder:
        found = getattr(F, name)(*builder.block.args, **attrs)
        builder.ret(*(found if isinstance(found, tuple) else (found,)))
    return builder.module.like({"main": Function("main", builder.block)})


def derivative(name: str, attrs: dict[str, Any], types: list[TensorType], tangents: bool) -> Module:
    """Of the float results by the float operands, forward or reverse, with its rules applied."""
    floats = [i for i, t in enumerate(types) if t.dtype.is_float]
    directions = [types[i] for i in floats] if tangents else []
    builder = Builder(Block([*types, *directions]), module=Module())
    inner = builder.nested(types)
    with inner:
        found = getattr(F, name)(*inner.block.args, **attrs)
        outs = found if isinstance(found, tuple) else (found,)
        inner.ret(*outs)
    seeds = tuple(i for i, v in enumerate(outs) if v.dtype.is_float) if tangents else None
    of_grad = (tuple(floats), seeds, (), tangents, ())
    builder.ret(*builder.emit_op(REGISTRY["grad"], builder.block.args, of_grad, (inner.block,)).results)
    module = expand_grads(builder.module.like({"main": Function("main", builder.block)}))
    verify(module, "PURE")
    return module


def shapes(module: Module, n: int) -> list[tuple[int, ...]]:
    """The shapes of the results at a size."""
    types = [v.type for v in module.entry.body.outs]
    return [tuple(evaluate(d, {"n": n}) if isinstance(d, Dim) else d for d in t.shape) for t in types]


def exchanged(old: int, new: Any) -> Exchange:
    """Puts another size in the place of one."""

    def go(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(go, value))
        return new if type(value) is int and value == old else value

    return go


def types_of(xs: list[Any], exchange: Exchange) -> list[TensorType]:
    return [tensor(from_numpy(x.dtype), exchange(x.shape)) for x in xs]


def attributes(defn: type[Primitive], attrs: dict[str, Any], exchange: Exchange, which: int) -> dict[str, Any]:
    """The attributes with the size exchanged in none of them (0), or in all that are sizes (1)."""
    sizes = [name for name in attrs if annotation(defn.infer, name) in ("Shape", "Size")] if which else ()
    return {k: exchange(v) if k in sizes else v for k, v in attrs.items()}


def symbolic(
    make: Any, defn: type[Primitive], xs: list[Any], attrs: dict[str, Any], size: int
) -> Iterator[tuple[Module, int]]:
    """The modules in which the symbol stands for the size, and whether it stands for that in attributes, too."""
    exchange = exchanged(size, N)
    for which in (0, 1) if attrs else (0,):
        try:
            yield make(attributes(defn, attrs, exchange, which), types_of(xs, exchange)), which
        except CompileError:
            continue


def checked(make: Any, defn: type[Primitive]) -> int:
    """How many sizes of samples may be symbols; fails if what is inferred then is wrong."""
    count = 0
    for xs, attrs in samples_of(defn, float64):
        for size in sorted({d for x in xs for d in x.shape if d > 1}):
            for module, which in symbolic(make, defn, xs, attrs, size):
                count += 1
                for n in VALUES:
                    exchange = exchanged(size, n)
                    try:
                        known = make(attributes(defn, attrs, exchange, which), types_of(xs, exchange))
                    except CompileError:  # not of this size, which a call must check
                        continue
                    assert shapes(module, n) == shapes(known, n), (attrs, [x.shape for x in xs], size, n)
    return count


def has_sizes(defn: type[Primitive]) -> bool:
    """Whether a sample has an operand of several elements."""
    return any(np.asarray(x).size > 1 for xs, _ in samples_of(defn, float64) for x in xs)


@pytest.mark.parametrize("name", OPS)
def test_types(name: str) -> None:
    count = checked(functools.partial(forward, name), REGISTRY[name])
    assert (count > 0) == (has_sizes(REGISTRY[name]) and name not in WITHOUT)


@pytest.mark.some(3)
@pytest.mark.parametrize("tangents", [False, True], ids=["reverse", "forward"])
@pytest.mark.parametrize("name", [n for n in OPS if REGISTRY[n].vjp is not None and n not in WITHOUT_DERIVATIVE])
def test_derivatives(name: str, tangents: bool) -> None:
    assert checked(functools.partial(derivative, name, tangents=tangents), REGISTRY[name])


def batched(name: str, attrs: dict[str, Any], types: list[TensorType], count: Any) -> Module:
    """For as many examples of every operand, with its rule applied."""
    builder = Builder(Block([tensor(t.dtype, (count, *t.shape)) for t in types]), module=Module())
    inner = builder.nested(types)
    with inner:
        found = getattr(F, name)(*inner.block.args, **attrs)
        inner.ret(*(found if isinstance(found, tuple) else (found,)))
    builder.ret(*builder.emit_op(REGISTRY["vmap"], builder.block.args, (count,), (inner.block,)).results)
    module = expand_grads(builder.module.like({"main": Function("main", builder.block)}))
    verify(module, "PURE")
    return module


@pytest.mark.parametrize("name", [name for name in OPS if name not in WITHOUT and has_sizes(REGISTRY[name])])
def test_examples_of_symbolic_sizes(name: str) -> None:
    assert checked(functools.partial(batched, name, count=3), REGISTRY[name])


@pytest.mark.parametrize("name", [name for name in OPS if name not in GROUPED])
def test_any_number_of_examples(name: str) -> None:
    for xs, attrs in samples_of(REGISTRY[name], float64):
        types = [tensor(from_numpy(x.dtype), x.shape) for x in xs]
        module = batched(name, attrs, types, N)
        for n in VALUES:
            assert shapes(module, n) == shapes(batched(name, attrs, types, n), n)
