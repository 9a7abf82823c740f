"""Random modules for properties of the IR: every kind of op, nested, with awkward names, numbers and locations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from autodiff_compiler.dtypes import bool_, float32, int64
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module, StateInfo, Value
from autodiff_compiler.ir.types import Type, seq, tensor
from autodiff_compiler.primitives import REGISTRY, F
from autodiff_compiler.source import Loc

VECTOR, SCALAR, TRUTH, COUNT = (tensor(float32, (4,)), tensor(float32, ()), tensor(bool_, ()), tensor(int64, ()))
HINTS = st.sampled_from([None, None, "x", "x", "x_1", "h", "0", "1", "naïve", "αβ", "a.b", "", "_", "c d", "yield"])
FLOATS = st.sampled_from([0.0, -0.0, 1.0, 0.1, -2.5, math.nan, math.inf, -math.inf, 1e-30, 1e30])
LOCATIONS = st.one_of(
    st.none(),
    st.builds(
        Loc,
        st.sampled_from(["net.py", "dir/net.py", "my file.py", "<stdin>", 'odd"name:3.py', "größe.py"]),
        st.integers(0, 999),
        st.integers(0, 99),
        tag=st.sampled_from(["", "adjoint", "two words", "é", "in"]),
        uses=st.just(()),  # places of other ops, which a random module has not
    ),
)


@st.composite
def modules(draw: Any) -> Module:
    """A module of two functions, of which the first may call the second."""
    states = {"w": StateInfo("w", VECTOR), "odd name": StateInfo("odd name", VECTOR, "generator")}
    module = Module(states=states, callables={"report": print})
    module.constants["table"] = np.array([0.5, math.nan, -0.0, math.inf], np.float32)
    module.constants["big"] = np.zeros((5, 4), np.float32)
    callee = _function(draw, "f.callee", module, None)
    entry = _function(draw, "main", module, callee)
    module.functions = {"main": entry, "f.callee": callee}
    return module


def _function(draw: Any, name: str, module: Module, callee: Function | None) -> Function:
    types = [VECTOR, SCALAR, TRUTH, COUNT, seq(VECTOR)]
    builder = Builder(Block(types, [draw(HINTS) for _ in types]), module=module)
    module.functions[name] = function = Function(name, builder.block, draw(LOCATIONS))
    grower = _Grower(draw, callee)
    grower.grow(builder, list(builder.block.args), depth=0)
    return function


class _Grower:
    def __init__(self, draw: Any, callee: Function | None) -> None:
        self.draw, self.callee = draw, callee

    def pick(self, known: list[Value], type: Type) -> Value:
        return self.draw(st.sampled_from([x for x in known if x.type is type]))

    def grow(self, b: Builder, known: list[Value], depth: int, outs: list[Type] | None = None) -> Block:
        """Fills a block; `known` are the visible values, `outs` the types to end with (any values if None)."""
        kinds = ["scalars", "elementwise", "tuple", "state", "effect", "undef", "array"]
        if depth < 2:
            kinds += ["if_", "while_", "scan", "grad", "custom_vjp", "grad_map"]
        if self.callee is not None:
            kinds.append("call")
        with b:
            for _ in range(self.draw(st.integers(0, 4 if depth == 0 else 2))):
                b.loc = self.draw(LOCATIONS)
                for x in getattr(self, self.draw(st.sampled_from(kinds)))(b, known, depth) or ():
                    if x.name is None:
                        x.name = self.draw(HINTS)
                    known.append(x)
        if outs is None:
            return b.ret(*(self.draw(st.sampled_from(known)) for _ in range(self.draw(st.integers(0, 3)))))
        return b.ret(*(self.pick(known, t) for t in outs))

    def inner(self, b: Builder, known: list[Value], depth: int, args: list[Type], outs: list[Type]) -> Block:
        block = b.nested(args, [self.draw(HINTS) for _ in args])
        return self.grow(block, known + block.block.args, depth + 1, outs)

    def structured(self, b: Builder, name: str, operands: list[Value], attrs: tuple[Any, ...], *blocks: Block) -> Any:
        return b.emit_op(REGISTRY[name], operands, attrs, blocks).results

    # ------------------------------------------------------------------------------------------- kinds of ops
    def scalars(self, b: Builder, known: list[Value], depth: int) -> Any:
        draw = self.draw
        numbers = [b.const(draw(FLOATS), VECTOR), b.const(draw(FLOATS), SCALAR)]
        return [*numbers, b.const(draw(st.booleans()), TRUTH), b.const(draw(st.integers(-(2**63), 2**63 - 1)), COUNT)]

    def elementwise(self, b: Builder, known: list[Value], depth: int) -> Any:
        x, y = self.pick(known, VECTOR), self.pick(known, VECTOR)
        return [F.tanh(x), F.add(x, y), F.mul(y, 2.0), F.cast(F.cast(x, dtype=int64), dtype=float32)]

    def tuple(self, b: Builder, known: list[Value], depth: int) -> Any:
        pair = F.tuple_make(F.tuple_make(), self.draw(st.sampled_from(known)))
        return [pair, F.tuple_get(pair, index=1)]

    def state(self, b: Builder, known: list[Value], depth: int) -> Any:
        name = self.draw(st.sampled_from(["w", "odd name"]))
        F.state_write(self.pick(known, VECTOR), state=name, type=VECTOR)
        return [F.state_read(state=name, type=VECTOR)]

    def effect(self, b: Builder, known: list[Value], depth: int) -> Any:
        text = self.draw(st.text(max_size=5))
        F.print(self.pick(known, VECTOR), parts=(text, 0, (text, 0, (text, 0))), end=text)
        b.emit(REGISTRY["assert"], (self.pick(known, TRUTH),), ("@report",))
        return F.host_call(self.pick(known, SCALAR), fn="@report", types=(VECTOR, COUNT))

    def undef(self, b: Builder, known: list[Value], depth: int) -> Any:
        F.undef(type=self.draw(st.sampled_from([VECTOR, TRUTH, seq(VECTOR)])))  # nobody may read it
        return []

    def array(self, b: Builder, known: list[Value], depth: int) -> Any:
        b.array(b.module.constants["big"], tensor(float32, (5, 4)))
        return [b.array(b.module.constants["table"], VECTOR)]

    def if_(self, b: Builder, known: list[Value], depth: int) -> Any:
        outs = self.draw(st.lists(st.sampled_from([VECTOR, COUNT, seq(VECTOR)]), max_size=2))
        blocks = [self.inner(b, known, depth, [], outs) for _ in range(2)]
        return self.structured(b, "if", [self.pick(known, TRUTH)], (), *blocks)

    def while_(self, b: Builder, known: list[Value], depth: int) -> Any:
        carries = self.draw(st.lists(st.sampled_from([VECTOR, COUNT, seq(VECTOR)]), max_size=2))
        saved = self.draw(st.lists(st.sampled_from([VECTOR, SCALAR]), max_size=2))
        cond = self.inner(b, known, depth, carries, [TRUTH])
        body = self.inner(b, known, depth, carries, carries + saved)
        return self.structured(b, "while", [self.pick(known, t) for t in carries], (), cond, body)

    def scan(self, b: Builder, known: list[Value], depth: int) -> Any:
        carries = self.draw(st.lists(st.sampled_from([VECTOR, COUNT]), max_size=2))
        elems = self.draw(st.lists(st.just(VECTOR), max_size=2))
        saved = self.draw(st.lists(st.sampled_from([VECTOR, SCALAR]), max_size=2))
        body = self.inner(b, known, depth, [COUNT, *carries, *elems], carries + saved)
        operands = [self.pick(known, t) for t in [COUNT, *carries, *(seq(t) for t in elems)]]
        return self.structured(b, "scan", operands, (len(carries), self.draw(st.booleans())), body)

    def grad(self, b: Builder, known: list[Value], depth: int) -> Any:
        body = self.inner(b, known, depth, [VECTOR, SCALAR], [SCALAR])
        seeds = self.draw(st.sampled_from([None, (0,)]))
        operands = [self.pick(known, VECTOR), self.pick(known, SCALAR)] + [self.pick(known, SCALAR)] * bool(seeds)
        states, masks = self.draw(st.sampled_from([(), ("w",)])), self.draw(st.sampled_from([(), (0,)]))
        return self.structured(b, "grad", operands, ((0,), seeds, states, False, masks), body)

    def custom_vjp(self, b: Builder, known: list[Value], depth: int) -> Any:
        fwd = self.inner(b, known, depth, [VECTOR], [SCALAR])
        bwd = self.inner(b, known, depth, [VECTOR, SCALAR, SCALAR], [VECTOR])
        return self.structured(b, "custom_vjp", [self.pick(known, VECTOR)], ("", (), ""), fwd, bwd)

    def grad_map(self, b: Builder, known: list[Value], depth: int) -> Any:
        bwd = self.inner(b, known, depth, [VECTOR], [VECTOR])
        return self.structured(b, "grad_map", [self.pick(known, VECTOR)], (), bwd)

    def call(self, b: Builder, known: list[Value], depth: int) -> Any:
        assert self.callee is not None
        operands = [self.pick(known, x.type) for x in self.callee.args]
        return self.structured(b, "call", operands, ("@f.callee", ()))
