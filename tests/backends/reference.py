"""A naive interpreter of the IR, and random programs: what generated code is compared with.

The interpreter runs every op with its kernel as eager mode does, keeps sequences as Python lists and never writes to
an array it has made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler.dtypes import bool_, float32, int64
from autodiff_compiler.ir.build import Builder, current
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import REGISTRY, kernel_of
from autodiff_compiler.ir.types import Seq, TensorType, tensor
from autodiff_compiler.primitives import F


# ------------------------------------------------------------------------------------------------ interpreter
def interpret(module: Module, *arrays: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return _call(module, module.entry, [np.array(a) for a in arrays])


def _call(module, function, args):
    env = dict(zip(function.args, args, strict=True))
    return _block(module, function.body, env)


def _block(module, block, env):
    for op in block.ops:
        xs = [env[x] for x in op.operands]
        results = _op(module, op, xs, env)
        env.update(zip(op.results, results, strict=True))
    return [env[v] for v in block.outs]


def _op(module, op, xs, env):
    name, attrs = op.defn.name, dict(zip(op.defn.schema, op.attrs, strict=True))
    if name == "const":
        value, type_ = op.attrs
        if isinstance(value, str):
            return [np.array(module.constants[value.removeprefix("@")])]
        return [np.full(type_.shape, value).astype(type_.dtype.numpy)]
    if name == "undef":
        return [None]
    if name == "tuple_make":
        return [tuple(xs)]
    if name == "tuple_get":
        return [xs[0][attrs["index"]]]
    if name == "seq_len":
        return [np.array(len(xs[0]), np.int64)]
    if name == "seq_add":
        return [_added(*xs)]
    if name == "to_seq":
        return [[np.array(row) for row in xs[0]]]
    if name == "from_seq":
        elem = op.operands[0].type.elem
        return [np.array(xs[0], elem.dtype.numpy).reshape((len(xs[0]), *elem.shape))]
    if name == "call":
        return _call(module, module.functions[attrs["fn"].removeprefix("@")], xs)
    if name == "if":
        return _block(module, op.blocks[0 if xs[0] else 1], dict(env))
    if name == "while":
        return _while(module, op, xs, env)
    if name == "scan":
        return _scan(module, op, xs, env, attrs)
    if op.defn.scalar is not None:  # numbers are numbers: a full array of them could change the layout of the result
        xs = [x.ravel()[0] if v.constant is not None and x.size else x for x, v in zip(xs, op.operands, strict=True)]
        if np.broadcast_shapes(*[np.shape(x) for x in xs]) != op.results[0].type.shape:
            xs[0] = np.full(op.results[0].type.shape, xs[0])
    result = kernel_of(op.defn)(*[np.asarray(x) for x in xs], **attrs)
    return [np.asarray(r) for r in (result if op.defn.multiple else [result])]


def _added(x, y):
    if isinstance(x, list | tuple):
        return type(x)(_added(a, b) for a, b in zip(x, y, strict=True))
    return x + y


def _kept(value):
    """What a sequence holds: a copy in C order."""
    return np.array(value, order="C") if isinstance(value, np.ndarray) else value


def _while(module, op, carries, env):
    cond, body = op.blocks
    k, trips = len(carries), 0
    saved = [[] for _ in op.results[1 + k :]]
    while _block(module, cond, {**env, **dict(zip(cond.args, carries, strict=True))})[0]:
        outs = _block(module, body, {**env, **dict(zip(body.args, carries, strict=True))})
        carries = outs[:k]
        for kept, value in zip(saved, outs[k:], strict=True):
            kept.append(_kept(value))
        trips += 1
    return [np.array(trips, np.int64), *carries, *saved]


def _scan(module, op, xs, env, attrs):
    k, n = attrs["carries"], max(int(xs[0]), 0)
    carries, sequences = xs[1 : 1 + k], xs[1 + k :]
    (body,) = op.blocks
    saved = [[None] * n for _ in op.results[k:]]
    for i in reversed(range(n)) if attrs["reverse"] else range(n):
        args = [np.array(i, np.int64), *carries, *(s[i] for s in sequences)]
        outs = _block(module, body, {**env, **dict(zip(body.args, args, strict=True))})
        carries = outs[:k]
        for kept, value in zip(saved, outs[k:], strict=True):
            kept[i] = _kept(value)
    return [*carries, *saved]


# ------------------------------------------------------------------------------------------------ comparison
def assert_same(got: Any, expected: Any, where: str = "result") -> None:
    """Equal types and bits (NaNs are one), sequences element by element."""
    if isinstance(expected, list):
        assert len(got) == len(expected), where
        for i, e in enumerate(expected):
            if e is not None:
                assert_same(np.asarray(got[i]) if isinstance(e, np.ndarray) else got[i], e, f"{where}[{i}]")
    elif isinstance(expected, tuple):
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert_same(g, e, f"{where}.{i}")
    else:
        assert isinstance(got, np.ndarray), f"{where} is a {type(got)}"
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), where
        np.testing.assert_array_equal(got, expected, err_msg=where)
        if got.dtype.kind == "f":
            zero = expected == 0
            assert np.array_equal(np.signbit(got[zero]), np.signbit(expected[zero])), f"{where}: signs of zeros"


# ------------------------------------------------------------------------------------------------ random programs
SCALAR, ROW, MATRIX = tensor(float32, ()), tensor(float32, (40,)), tensor(float32, (40, 40))
COUNT, BOOL = tensor(int64, ()), tensor(bool_, ())
ARRAYS = (SCALAR, ROW, MATRIX)


class ProgramMaker:
    """Draws a program op by op.  `random` is a `random.Random` (hypothesis gives one that shrinks)."""

    def __init__(self, random: Any, size: int = 10, depth: int = 3) -> None:
        self.random, self.size, self.depth = random, size, depth
        self.module = Module()

    def make(self) -> Module:
        types = [SCALAR, ROW, MATRIX, MATRIX, COUNT]
        with Builder(Block(types, ["s", "r", "a", "b", "n"]), module=self.module) as b:
            values = list(b.block.args)
            self.fill(b, values, self.depth)
            tensors = [v for v in values if isinstance(v.type, TensorType)]
            b.ret(*[self.random.choice(tensors) for _ in range(3)], *values[-2:])
        self.module.functions = {"program": Function("program", b.block), **self.module.functions}
        return self.module

    def fill(self, b: Builder, values: list[Any], depth: int) -> None:
        for _ in range(self.random.randint(1, self.size)):
            kinds = ["op"] * 8 + (["if", "while", "scan", "scan", "call"] if depth else [])
            kind = self.random.choice(kinds)
            made = getattr(self, f"make_{kind}")(b, values, depth)
            values.extend(made if isinstance(made, tuple | list) else [made])

    def pick(self, values: list[Any], type_: Any) -> Any:
        """A known value of the type, later ones more often; arguments of the function are always there."""
        fitting = [v for v in values if v.type is type_]
        return fitting[max(self.random.randrange(len(fitting)), self.random.randrange(len(fitting)))]

    def make_op(self, b, values, depth):
        t = self.random.choice(ARRAYS)
        x, y = self.pick(values, t), self.pick(values, t)
        choice = self.random.choice(
            ["add", "sub", "mul", "maximum", "tanh", "sigmoid", "sin", "select", "const", "sum", "matmul", "transpose",
             "broadcast", "reshape", "half", "tuple", "concat", "stop", "column", "count", "scatter", "scatter",
             "update"]
        )  # fmt: skip
        if choice in ("add", "sub", "mul", "maximum"):
            return getattr(F, choice)(x, y)
        if choice in ("tanh", "sigmoid", "sin"):
            return getattr(F, choice)(x)
        return getattr(self, f"_{choice}")(values, t, x, y)

    def _select(self, values, t, x, y):
        return F.select(F.less(x, y), x, y * 0.5)

    def _half(self, values, t, x, y):
        return self.random.choice([lambda: x * 0.5, lambda: 1 - x, lambda: x + y * x])()

    def _const(self, values, t, x, y):
        return current().const(self.random.choice([0.0, -0.0, 1.0, 0.25]), t)

    def _sum(self, values, t, x, y):
        return F.sum(F.sin(self.pick(values, MATRIX)), axes=self.random.choice([(-1,), (-2,), (-2, -1)]))

    def _matmul(self, values, t, x, y):
        return F.matmul(F.sin(self.pick(values, MATRIX)), self.pick(values, MATRIX)) * 0.1

    def _transpose(self, values, t, x, y):
        return F.transpose(self.pick(values, MATRIX), axes=(-1, -2))

    def _broadcast(self, values, t, x, y):
        return F.broadcast_to(self.pick(values, self.random.choice([SCALAR, ROW])), shape=(40, 40))

    def _column(self, values, t, x, y):
        column = F.broadcast_to(F.reshape(self.pick(values, ROW), shape=(40, 1)), shape=(40, 40))
        return column * self.pick(values, MATRIX), column + F.broadcast_to(self.pick(values, ROW), shape=(40, 40))

    def _reshape(self, values, t, x, y):
        flat = F.reshape(self.pick(values, MATRIX), shape=(1600,))
        return F.reshape(F.sin(flat) if self.random.random() < 0.5 else flat, shape=(40, 40))

    def _tuple(self, values, t, x, y):
        made = F.tuple_make(x, y)
        return F.tuple_get(made, index=self.random.randrange(2))

    def _concat(self, values, t, x, y):
        r = self.pick(values, ROW)
        return F.sum(F.stack(r, r, self.pick(values, ROW), axis=-2), axes=(-2,))

    def _scatter(self, values, t, x, y):
        index = F.check_index(F.mod(self.pick(values, COUNT), 40), size=40)
        return F.scatter_add(self.pick(values, MATRIX), index, self.pick(values, ROW), axis=-2)

    def _update(self, values, t, x, y):
        rows = F.slice(self.pick(values, MATRIX), axes=(-2,), starts=(3,), stops=(23,), steps=(2,))
        return F.slice_update(self.pick(values, MATRIX), rows, axes=(-2,), starts=(0,), stops=(10,), steps=(1,)), rows

    def _stop(self, values, t, x, y):
        return F.stop_gradient(x)

    def _count(self, values, t, x, y):
        n = self.pick(values, COUNT)
        return F.add(n, self.pick(values, COUNT)), F.cast(n, dtype=float32)

    # -------------------------------------------------------------------------------------------- control flow
    def _carried(self, values):
        return [self.pick(values, self.random.choice((*ARRAYS, MATRIX))) for _ in range(self.random.randint(1, 3))]

    def _inner(self, b, types, values, depth):
        inner = b.nested(types)
        inner.__enter__()
        known = [*values, *inner.block.args]
        self.fill(inner, known, depth - 1)
        return inner, known

    def _saved(self, known):
        """Something to collect: tensors, and sequences (which become sequences of sequences)."""
        fitting = [v for v in known if isinstance(v.type, TensorType | Seq)]
        return [self.random.choice(fitting[-4:] if self.random.random() < 0.7 else fitting) for _ in range(2)]

    def make_if(self, b, values, depth):
        pred = F.less(self.pick(values, SCALAR), self.pick(values, SCALAR))
        types = [self.random.choice(ARRAYS) for _ in range(self.random.randint(1, 3))]
        blocks = []
        for _ in range(2):
            inner, known = self._inner(b, (), values, depth)
            undef = self.random.random() < 0.2
            inner.block.outs = [F.undef(type=BOOL) if undef else F.less(*[self.pick(known, SCALAR)] * 2)]
            inner.block.outs = [*(self.pick(known, t) for t in types), *inner.block.outs]
            inner.__exit__(None, None, None)
            blocks.append(inner.block)
        return list(b.emit_op(REGISTRY["if"], [pred], (), blocks).results[:-1])

    def make_while(self, b, values, depth):
        zero, limit = b.const(0, COUNT), b.const(self.random.randint(0, 3), COUNT)
        inits = [zero, *self._carried(values)]
        types = [v.type for v in inits]
        with b.nested(types) as cond:
            cond.ret(F.less(cond.block.args[0], limit))
        body, known = self._inner(b, types, values, depth)
        one = b.const(1, COUNT)
        nexts = [F.add(body.block.args[0], one), *(self.pick(known, t) for t in types[1:])]
        body.block.outs = [*nexts, *self._saved(known)]
        body.__exit__(None, None, None)
        return list(b.emit_op(REGISTRY["while"], inits, (), [cond.block, body.block]).results)

    def make_scan(self, b, values, depth):
        sequences = [v for v in values if isinstance(v.type, Seq)]
        inits = self._carried(values)
        reverse = self.random.random() < 0.5
        xs = []
        if sequences and self.random.random() < 0.8:
            xs = [self.random.choice(sequences[-3:])]
            n = F.seq_len(xs[0])
        else:
            n = b.const(self.random.randint(0, 3), COUNT)
        types = [COUNT, *(v.type for v in inits), *(v.type.elem for v in xs)]
        body, known = self._inner(b, types, values, depth)
        body.block.outs = [*(self.pick(known, v.type) for v in inits), *self._saved(known)]
        body.__exit__(None, None, None)
        return list(b.emit_op(REGISTRY["scan"], [n, *inits, *xs], (len(inits), reverse), [body.block]).results)

    def make_call(self, b, values, depth):
        """A new function of the module: it may return its arguments, or one value twice."""
        operands = [self.pick(values, t) for t in (SCALAR, ROW, MATRIX, MATRIX, COUNT)]
        with Builder(Block([v.type for v in operands]), module=self.module) as inner:
            known = list(inner.block.args)
            self.fill(inner, known, depth - 1)
            tensors = [v for v in known if isinstance(v.type, TensorType)]
            inner.ret(*[self.random.choice(tensors) for _ in range(3)])
        callee = self.module.add(Function(self.module.fresh_name("part"), inner.block))
        return list(b.emit_op(REGISTRY["call"], operands, (f"@{callee.name}", ())).results)
