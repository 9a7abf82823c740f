"""Random structured programs: first and second derivatives against complex steps of the order below."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autodiff_compiler.dtypes import float64, int64
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import F
from autodiff_compiler.ir.types import Seq, tensor
from autodiff_compiler.primitives.control import If, Scan, While
from tests.autodiff.derivatives import check_orders
from tests.selection import part

REAL, INT = tensor(float64, ()), tensor(int64, ())


class Writer:
    """Writes random ops into builders; `draw` makes every choice, so a failing program shrinks."""

    def __init__(self, draw):
        self.draw = draw
        self.left = 12  # how many statements may still be written

    def choose(self, values):
        return values[-1 - self.draw(st.integers(0, len(values) - 1))]

    def condition(self, b, scope):
        with b:
            if self.draw(st.booleans()):
                return F.less(self.choose(scope["real"]), b.const(self.draw(st.sampled_from([-0.3, 0.1, 0.4])), REAL))
            return F.less(self.choose(scope["int"]), b.const(self.draw(st.integers(0, 2)), INT))

    def statements(self, b, scope, depth):
        """Appends statements to a copy of the scope, which it returns."""
        scope = {kind: list(values) for kind, values in scope.items()}
        for _ in range(self.draw(st.integers(1, 3))):
            if self.left == 0:
                break
            self.left -= 1
            kinds = ["unary", "binary", "binary", "select"]
            kinds += ["if", "scan", "while", "collect"] if depth else []
            getattr(self, self.draw(st.sampled_from(kinds)))(b, scope, depth)
        return scope

    def unary(self, b, scope, depth):
        name = self.draw(st.sampled_from(["sin", "tanh", "neg"]))
        with b:
            scope["real"].append(getattr(F, name)(self.choose(scope["real"])))

    def binary(self, b, scope, depth):
        name = self.draw(st.sampled_from(["mul", "add", "sub"]))
        with b:
            scope["real"].append(getattr(F, name)(self.choose(scope["real"]), self.choose(scope["real"])))

    def select(self, b, scope, depth):
        p = self.condition(b, scope)
        with b:
            scope["real"].append(F.select(p, self.choose(scope["real"]), self.choose(scope["real"])))

    def if_(self, b, scope, depth):
        p, n = self.condition(b, scope), self.draw(st.integers(1, 2))
        arms = []
        for _ in range(2):
            arm = b.nested()
            inner = self.statements(arm, scope, depth - 1)
            arms.append(arm.ret(*[self.choose(inner["real"]) for _ in range(n)]))
        scope["real"] += b.emit_op(If, (p,), (), arms).results

    def bounded(self, b, x):
        """Keeps what a loop carries from growing."""
        with b:
            return F.sin(x) if self.draw(st.booleans()) else F.tanh(x)

    def loop_body(self, trip, scope, depth, reals, ints, carries):
        inner = {"real": scope["real"] + reals, "int": scope["int"] + ints, "seq": scope["seq"]}
        inner = self.statements(trip, inner, depth - 1)
        return inner, [self.bounded(trip, self.choose(inner["real"])) for _ in range(carries)]

    def scan(self, b, scope, depth):
        carries = self.draw(st.integers(1, 2))
        trip = b.nested([INT] + [REAL] * carries)
        i, *args = trip.block.args
        _, outs = self.loop_body(trip, scope, depth, args, [i], carries)
        trip.ret(*outs)
        n = self.choose(scope["int"])
        inits = [self.choose(scope["real"]) for _ in range(carries)]
        op = b.emit_op(Scan, (n, *inits), (carries, self.draw(st.booleans())), (trip.block,))
        scope["real"] += op.results

    def collect(self, b, scope, depth):
        """A scan that reads a sequence if there is one, and collects another."""
        read = scope["seq"] and self.draw(st.booleans())
        trip = b.nested([INT, REAL, *([REAL] if read else [])])
        i, *args = trip.block.args
        inner, outs = self.loop_body(trip, scope, depth, args, [i], 1)
        trip.ret(*outs, self.choose(inner["real"]))
        xs = [self.choose(scope["seq"])] if read else []
        with b:
            n = F.seq_len(xs[0]) if read else self.choose(scope["int"])
        op = b.emit_op(Scan, (n, self.choose(scope["real"]), *xs), (1, self.draw(st.booleans())), (trip.block,))
        scope["real"].append(op.results[0])
        assert isinstance(op.results[1].type, Seq)
        scope["seq"].append(op.results[1])

    def while_(self, b, scope, depth):
        carries = self.draw(st.integers(1, 2))
        types = [INT] + [REAL] * carries
        cond, trip = b.nested(types), b.nested(types)
        with cond:
            k, c = cond.block.args[:2]
            fewer = F.less(k, cond.const(3, INT))
            cond.ret(F.logical_and(fewer, F.less(c, cond.const(self.draw(st.sampled_from([0.2, 9.0])), REAL))))
        k, *args = trip.block.args
        _, outs = self.loop_body(trip, scope, depth, args, [k], carries)
        with trip:
            trip.ret(F.add(k, trip.const(1, INT)), *outs)
        start = b.const(self.draw(st.integers(0, 3)), INT)
        inits = [self.choose(scope["real"]) for _ in range(carries)]
        op = b.emit_op(While, (start, *inits), (), (cond.block, trip.block))
        scope["int"] += op.results[:2]
        scope["real"] += op.results[2:]


setattr(Writer, "if", Writer.if_)
setattr(Writer, "while", Writer.while_)


@st.composite
def programs(draw):
    builder = Builder(Block([REAL, REAL, INT], ["x", "y", "n"]), module=Module())
    x, y, n = builder.block.args
    scope = Writer(draw).statements(builder, {"real": [x, y], "int": [n, builder.const(2, INT)], "seq": []}, 3)
    with builder:
        total = scope["real"][0]
        for v in scope["real"][1:]:
            total = total + F.tanh(v)
        for xs in scope["seq"]:
            trip = builder.nested([INT, REAL, REAL])
            _, c, e = trip.block.args
            with trip:
                trip.ret(F.add(c, F.mul(e, c)))
            total = total + builder.emit_op(Scan, (F.seq_len(xs), x, xs), (1, False), (trip.block,)).results[0]
    builder.ret(total)
    return builder.module.like({"f": Function("f", builder.block)})


@settings(max_examples=part(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from([(0.3, 0.8, 2), (-0.5, 0.15, 3), (0.9, -0.2, 0)]))
def test_random_programs(module, args):
    with np.errstate(all="ignore"):
        check_orders(module, args, orders=2, rtol=1e-6)


@settings(max_examples=part(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from([(0.3, 0.8, 2), (-0.5, 0.15, 3), (0.9, -0.2, 0)]))
def test_random_programs_pulled_later(module, args):
    with np.errstate(all="ignore"):
        check_orders(module, args, orders=2, rtol=1e-6, late=True)
