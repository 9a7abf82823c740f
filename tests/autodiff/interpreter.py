"""A naive interpreter of the IR for these tests: one kernel per op, control flow as it reads."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.ir.primitive import kernel_of
from autodiff_compiler.ir.types import TensorType, TupleType


class Undefined:
    """What `undef` holds: using it in a kernel fails."""


class Interpreter:
    """Runs functions of a module on arrays; counts the elements pushed into sequences."""

    def __init__(self, module, complex_step=False):
        self.module = module
        # With complex numbers in the place of f64 the imaginary part of f(x + i*h*r) / h is an exact derivative.
        self.complex_step = complex_step
        self.pushed = 0  # numbers saved, trip by trip
        self.calls: list[tuple] = []  # what effect ops did

    def run(self, name=None, *args):
        function = self.module.entry if name is None else self.module.functions[name]
        pairs = zip(args, function.args, strict=True)
        args = [self.argument(x, a.type) for x, a in pairs]
        with np.errstate(all="ignore"):
            return self.block(function.body, args, {})

    def argument(self, x, type):
        if isinstance(x, Undefined) or not isinstance(type, TensorType):
            return x
        return np.asarray(x, self.dtype(type))

    def dtype(self, type):
        return np.dtype(complex) if self.complex_step and type.dtype.is_float else type.dtype.numpy

    def block(self, block, args, env):
        env.update(zip(block.args, args, strict=True))
        for op in block.ops:
            results = self.op(op, [env[x] for x in op.operands], env)
            for r, value in zip(op.results, results, strict=True):
                if isinstance(r.type, TensorType) and not isinstance(value, Undefined):
                    assert value.dtype in (r.type.dtype.numpy, self.dtype(r.type)), (op, value)
                    assert value.shape == r.type.shape, (op, value)
                env[r] = value
        return [env[x] for x in block.outs]

    def op(self, op, xs, env):
        name = op.defn.name
        special = getattr(self, f"op_{name}", None)
        if special is not None:
            return special(op, xs, env)
        assert not any(isinstance(x, Undefined) for x in xs), f"{op} reads undef"
        result = kernel_of(op.defn)(*xs, **dict(zip(op.defn.schema, op.attrs, strict=True)))
        return result if isinstance(result, tuple) else (np.asarray(result),)

    def op_kept(self, op, xs, env):
        mask, x = xs  # the kernel works on the bits of real numbers
        return (np.where(mask, x, np.zeros_like(x)),)

    def op_const(self, op, xs, env):
        value, type = op.attrs
        if isinstance(value, str):
            return (np.asarray(self.module.constants[value.removeprefix("@")]),)
        return (np.full(type.shape, value, type.dtype.numpy),)

    def op_undef(self, op, xs, env):
        return (_undefined(op.attrs[0]),)

    def op_tuple_make(self, op, xs, env):
        return (tuple(xs),)

    def op_tuple_get(self, op, xs, env):
        return (xs[0][op.attrs[0]],)

    def op_seq_len(self, op, xs, env):
        return (np.asarray(len(xs[0]), np.int64),)

    def op_seq_add(self, op, xs, env):
        def add(a, b):
            assert isinstance(a, list) is isinstance(b, list)
            if isinstance(a, list):
                return [add(x, y) for x, y in zip(a, b, strict=True)]
            return a + b

        return (add(*xs),)

    def op_to_seq(self, op, xs, env):
        return ([x for x in np.asarray(xs[0])],)

    def op_from_seq(self, op, xs, env):
        type = op.results[0].type
        assert len(xs[0]) == op.attrs[0]
        return (np.array(xs[0], self.dtype(type)).reshape(type.shape),)

    def op_if(self, op, xs, env):
        return self.block(op.blocks[0 if xs[0] else 1], [], env)

    def push(self, collected, values, outs):
        for sequence, value, out in zip(collected, values, outs, strict=True):
            sequence.append(value)
            self.pushed += 0 if isinstance(value, Undefined) else _size(out.type)

    def op_while(self, op, carries, env):
        cond, body = op.blocks
        k = len(carries)
        collected = [[] for _ in body.outs[k:]]
        n = 0
        while self.block(cond, carries, env)[0]:
            outs = self.block(body, carries, env)
            carries = outs[:k]
            self.push(collected, outs[k:], body.outs[k:])
            n += 1
            assert n < 100_000
        return [np.asarray(n, np.int64), *carries, *collected]

    def op_scan(self, op, xs, env):
        (body,), (k, reverse) = op.blocks, op.attrs
        n, carries, sequences = max(int(xs[0]), 0), xs[1 : 1 + k], xs[1 + k :]
        assert all(len(s) == n for s in sequences), (op, n, [len(s) for s in sequences])
        collected = [[] for _ in body.outs[k:]]
        for i in reversed(range(n)) if reverse else range(n):
            outs = self.block(body, [np.asarray(i, np.int64), *carries, *(s[i] for s in sequences)], env)
            carries = outs[:k]
            self.push(collected, outs[k:], body.outs[k:])
        return [*carries, *(s[::-1] if reverse else s for s in collected)]

    def op_call(self, op, xs, env):
        return self.block(self.module.functions[op.attrs[0].removeprefix("@")].body, xs, {})

    def op_stop_gradient(self, op, xs, env):
        return xs

    def op_custom_vjp(self, op, xs, env):
        return self.block(op.blocks[0], xs, env)

    def op_grad_map(self, op, xs, env):
        return xs

    def op_print(self, op, xs, env):
        self.calls.append(("print", *[float(x) for x in xs]))
        return ()

    def op_host_call(self, op, xs, env):
        assert op.attr("fn").startswith("commit"), "no other function of the host is known here"
        return ()


def _undefined(type):
    """An undefined sequence is empty, so that the zero cotangent of one has a length."""
    if isinstance(type, TensorType):
        return Undefined()
    return tuple(map(_undefined, type.elems)) if isinstance(type, TupleType) else []


def _size(type):
    if isinstance(type, TensorType):
        return int(np.prod(type.shape))
    return sum(map(_size, type.elems)) if isinstance(type, TupleType) else 0


def run(module, *args, name=None):
    """The results of a function of the module (of its entry, if no name is given)."""
    return Interpreter(module).run(name, *args)
