"""Derivatives of small programs of any order, and what they are compared with.

The `order`-th directional derivative of a program is again a program, built from nested `grad` ops.  It is compared
with the complex step of the one before (exact to rounding, so no step size hides an error) or with a closed form.
"""

from __future__ import annotations

import numpy as np

from autodiff_compiler.autodiff import expand_grads
from autodiff_compiler.dtypes import float64
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import F
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import inline, ops_of
from autodiff_compiler.primitives.autodiff import EXPANDED, Grad, Linearize, Pull
from autodiff_compiler.primitives.control import If
from tests.autodiff.interpreter import Interpreter

STEP = 1e-30


def expanded(module):
    """The module without `grad`, verified, with the text round trip checked and the input left alone."""
    verify(module)
    before = print_module(module)
    result = expand_grads(module)
    assert print_module(module) == before
    verify(result, "PURE")
    assert not any(op.defn.name in EXPANDED for function in result for op in ops_of(function.body))
    text = print_module(result)
    assert print_module(parse_module(text)) == text
    return result


def parsed(text):
    module = parse_module(text)
    verify(module)
    return module


def directions(function):
    """A fixed direction for every argument: irregular numbers for f64, None for what has no derivative."""
    rng = np.random.default_rng(7)
    return [rng.uniform(0.5, 1.5, a.type.shape) if a.type.dtype is float64 else None for a in function.args]


def cotangents(builder, args, block, wrt, late):
    """The derivatives of a block with one scalar result: by a `grad`, or pulled in a branch after a `linearize`."""
    if not late:
        return builder.emit_op(Grad, args, (wrt, None, (), False, ()), (block,)).results[1:]
    link = builder.emit_op(Linearize, args, (wrt, (0,), ()), (block,)).results[-1]
    arms = [builder.nested(), builder.nested()]
    one = builder.const(1.0, block.outs[0].type)
    arms[0].ret(*arms[0].emit_op(Pull, (link, one), ()).results)
    arms[1].ret(*[arms[1].const(0.0, args[i].type) for i in wrt])
    with builder:
        x = args[wrt[0]]
        size = F.sum(x, axes=tuple(range(-x.ndim, 0))) if x.ndim else x
        taken = F.less(size, builder.const(1e9, size.type))
    return builder.emit_op(If, (taken,), (), [arm.block for arm in arms]).results


def directional(module, order, late=False):
    """A module whose entry computes the order-th derivative of the (one, scalar) result along `directions`."""
    entry = module.entry
    rs = directions(entry)
    wrt = tuple(i for i, r in enumerate(rs) if r is not None)
    out = module.like(dict(module.functions))
    types, names = [a.type for a in entry.args], [a.name for a in entry.args]
    builder = Builder(Block(types, names), module=out)

    def emit(builder, args, order):
        if order == 0:
            (result,) = inline(builder, entry.body, args)
            return result
        inner = builder.nested(types, names)
        inner.ret(emit(inner, inner.block.args, order - 1))
        found = cotangents(builder, args, inner.block, wrt, late)
        with builder:
            total = builder.const(0.0, tensor(float64, ()))
            for i, d in zip(wrt, found, strict=True):
                r = builder.array(np.asarray(rs[i]), types[i])
                part = F.mul(d, r)
                total = F.add(total, F.sum(part, axes=tuple(range(-part.ndim, 0))) if part.ndim else part)
        return total

    function = Function("main", builder.block)
    builder.ret(emit(builder, builder.block.args, order))
    return Module({"main": function, **out.functions}, out.constants, out.states, out.callables)


def check_orders(module, args, orders=3, rtol=1e-9, late=False):
    """Each derivative up to an order against the complex step of the derivative one order lower."""
    rs = directions(module.entry)
    lower = module
    for order in range(1, orders + 1):
        higher = expanded(directional(module, order, late))
        stepped = [a if r is None else np.asarray(a) + 1j * STEP * r for a, r in zip(args, rs, strict=True)]
        (value,) = Interpreter(lower, complex_step=True).run(None, *stepped)
        (found,) = Interpreter(higher).run(None, *args)
        np.testing.assert_allclose(found, value.imag / STEP, rtol=rtol, atol=1e-12, err_msg=f"order {order}")
        lower = higher


def central_difference(module, args, h=1e-6):
    """The directional derivative of the entry's result by central differences."""
    rs = directions(module.entry)

    def at(t):
        moved = [a if r is None else np.asarray(a) + t * r for a, r in zip(args, rs, strict=True)]
        return Interpreter(module).run(None, *moved)[0]

    return (at(h) - at(-h)) / (2 * h)
