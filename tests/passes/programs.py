"""Random programs as text (so that nothing is folded or numbered beforehand), and what running one does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import autodiff_compiler.primitives  # noqa: F401  (registers the ops)
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.walk import ops_of
from tests.autodiff.interpreter import Interpreter

VECTOR, SCALAR, COUNT, TRUTH, PAIR = "f32[3]", "f32[]", "i64[]", "bool[]", "(f32[3], i64[])"
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 8.0, -3.5, float("inf"), float("nan"), float(2**120)])
ARGS = [("x", VECTOR), ("y", VECTOR), ("s", SCALAR), ("n", COUNT), ("p", TRUTH)]


class _Writer:
    """Writes blocks of ops; `known` are the visible names with their types."""

    def __init__(self, draw: Callable[..., Any], states: bool, callee: str | None) -> None:
        self.draw, self.states, self.callee = draw, states, callee
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self, known: list[tuple[str, str]], type: str) -> str:
        # The latest values are drawn most often, so that ops build on each other.
        found = [n for n, t in known if t == type]
        return found[-1 - min(self.draw(st.integers(0, 4)), len(found) - 1)]

    def block(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        """Some ops; the list of the caller grows, since it asks for results afterwards."""
        lines: list[str] = []
        kinds = ["arithmetic"] * 6 + [
            "constant",
            "constant",
            "compare",
            "shape",
            "cast",
            "container",
            "integer",
            "show",
        ]
        if depth < 2:
            kinds += ["if_", "if_", "scan", "scan", "while_"]
        if self.states:
            kinds += ["read", "write", "write"]
        if self.callee:
            kinds.append("call")
        for _ in range(self.draw(st.integers(1, 7 if depth == 0 else 4))):
            lines += getattr(self, self.draw(st.sampled_from(kinds)))(known, depth)
        return lines

    def define(self, known: list[tuple[str, str]], type: str, text: str) -> str:
        name = self.name()
        known.append((name, type))
        return f"{name}: {type} = {text}"

    # ------------------------------------------------------------------------------------------- ops
    def arithmetic(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        type = self.draw(st.sampled_from([VECTOR, VECTOR, SCALAR]))
        op = self.draw(st.sampled_from(["add", "sub", "mul", "div", "neg", "abs", "tanh", "maximum", "stop_gradient"]))
        count = 2 if op in ("add", "sub", "mul", "div", "maximum") else 1
        return [self.define(known, type, f"{op} {', '.join(self.pick(known, type) for _ in range(count))}")]

    def constant(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        type = self.draw(st.sampled_from([VECTOR, SCALAR, COUNT, TRUTH]))
        value: Any = self.draw(NUMBERS)
        if type == COUNT:
            value = self.draw(st.integers(-1, 2))
        elif type == TRUTH:
            value = self.draw(st.booleans())
        return [self.define(known, type, f"const {{value={value!r}}}")]

    def compare(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        kind = self.draw(st.sampled_from(["less", "equal", "logical_and", "logical_or", "logical_not", "select"]))
        if kind == "logical_not":
            return [self.define(known, TRUTH, f"logical_not {self.pick(known, TRUTH)}")]
        if kind == "select":
            p, x, y = self.pick(known, TRUTH), self.pick(known, SCALAR), self.pick(known, SCALAR)
            return [self.define(known, SCALAR, f"select {p}, {x}, {y}")]
        type = TRUTH if kind.startswith("logical") else self.draw(st.sampled_from([SCALAR, COUNT]))
        return [self.define(known, TRUTH, f"{kind} {self.pick(known, type)}, {self.pick(known, type)}")]

    def shape(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        kind = self.draw(st.sampled_from(["sum", "broadcast", "matrix"]))
        if kind == "sum":
            axes = self.draw(st.sampled_from(["[-1]", "[]"]))
            x = self.pick(known, VECTOR)
            return [self.define(known, SCALAR if axes == "[-1]" else VECTOR, f"sum {x} {{axes={axes}}}")]
        if kind == "broadcast":
            return [self.define(known, VECTOR, f"broadcast_to {self.pick(known, SCALAR)} {{shape=[3]}}")]
        a, b, c = self.name(), self.name(), self.name()
        return [
            f"{a}: f32[2,3] = broadcast_to {self.pick(known, VECTOR)} {{shape=[2,3]}}",
            f"{b}: f32[3,2] = transpose {a} {{axes=[-1,-2]}}",
            f"{c}: f32[2,3] = transpose {b} {{axes=[-1,-2]}}",
            self.define(known, VECTOR, f"max {c} {{axes=[-2]}}"),
        ]

    def cast(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        middle = self.draw(st.sampled_from(["f64", "f16", "bf16", "f32"]))
        a = self.name()
        return [
            f"{a}: {middle}[3] = cast {self.pick(known, VECTOR)} {{dtype={middle}}}",
            self.define(known, VECTOR, f"cast {a} {{dtype=f32}}"),
        ]

    def container(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        a, n = self.name(), self.pick(known, COUNT)
        lines = [f"{a}: {PAIR} = tuple_make {self.pick(known, VECTOR)}, {n}"]
        lines.append(self.define(known, VECTOR, f"tuple_get {a} {{index=0}}"))
        s, x = self.name(), self.pick(known, VECTOR)
        lines.append(f"{s}: seq<f32[]> = to_seq {x}")
        lines.append(self.define(known, VECTOR, f"from_seq {s} {{length=3}}"))
        lines.append(self.define(known, COUNT, f"seq_len {s}"))
        return lines

    def integer(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        op = self.draw(st.sampled_from(["add", "sub", "mul"]))
        n = self.name()
        return [
            f"{n}: {COUNT} = {op} {self.pick(known, COUNT)}, {self.pick(known, COUNT)}",
            self.define(known, SCALAR, f"cast {n} {{dtype=f32}}"),
        ]

    def show(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        return [f"print {self.pick(known, SCALAR)} {{parts=[0]}}"]

    def read(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        return [self.define(known, VECTOR, f'state_read {{state="{self.draw(st.sampled_from("ab"))}"}}')]

    def write(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        return [f'state_write {self.pick(known, VECTOR)} {{state="{self.draw(st.sampled_from("ab"))}"}}']

    def call(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        return [self.define(known, VECTOR, f"call @g {self.pick(known, VECTOR)}, {self.pick(known, SCALAR)}")]

    # ------------------------------------------------------------------------------------------- control flow
    def if_(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        p, arms = self.pick(known, TRUTH), []
        for _ in range(2):
            inner = list(known)
            lines = self.block(inner, depth + 1)
            arms.append([*lines, f"yield {self.pick(inner, VECTOR)}, {self.pick(inner, SCALAR)}"])
        v, s = self.name(), self.name()
        known += [(v, VECTOR), (s, SCALAR)]
        return [f"{v}: {VECTOR}, {s}: {SCALAR} = if {p} then {{", *arms[0], "} else {", *arms[1], "}"]

    def scan(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        limit, n = self.name(), self.name()
        a, b, i, e = self.name(), self.name(), self.name(), self.name()
        # Trip counts stay below 4: a known number, or what the function was given (which may be negative).
        trips = "%n" if self.draw(st.booleans()) else n
        x, y, xs = self.pick(known, VECTOR), self.pick(known, SCALAR), self.pick(known, VECTOR)
        reads = trips == n and self.draw(st.booleans())
        count = 3 if reads else self.draw(st.integers(-1, 3))
        inner = [*known, (a, VECTOR), (b, SCALAR), (i, COUNT), *([(e, SCALAR)] if reads else [])]
        lines = self.block(inner, depth + 1)
        outs = f"{self.pick(inner, VECTOR)}, {self.pick(inner, SCALAR)} ; {self.pick(inner, SCALAR)}"
        if self.draw(st.booleans()):
            outs = f"{a}, {self.pick(inner, SCALAR)} ; {self.pick(inner, SCALAR)}"  # a carry that never changes
        r, s, t = self.name(), self.name(), self.name()
        known += [(r, VECTOR), (s, SCALAR)]
        reverse = " {reverse=True}" if self.draw(st.booleans()) else ""
        elements = f" ; {e} = {limit}" if reads else ""
        after = [self.define(known, COUNT, f"seq_len {t}")]
        if reads:
            after.append(self.define(known, VECTOR, f"from_seq {t} {{length=3}}"))
        return [
            f"{limit}: seq<f32[]> = to_seq {xs}",
            f"{n}: {COUNT} = const {{value={count}}}",
            f"{r}: {VECTOR}, {s}: {SCALAR}, {t}: seq<f32[]> = scan {trips} ({a} = {x}, {b} = {y}{elements}){reverse} "
            f"body ({i}) {{",
            *lines, f"yield {outs}", "}", *after,
        ]  # fmt: skip

    def while_(self, known: list[tuple[str, str]], depth: int) -> list[str]:
        zero, limit, one, k = self.name(), self.name(), self.name(), self.name()
        a, p, after = self.name(), self.name(), self.name()
        inner = [*known, (a, VECTOR), (k, COUNT)]
        test = list(inner)
        asked = self.block(test, 2)
        lines = self.block(inner, depth + 1)
        x, out, collected = self.pick(known, VECTOR), self.pick(inner, VECTOR), self.pick(inner, SCALAR)
        n, j, r, t = self.name(), self.name(), self.name(), self.name()
        known += [(n, COUNT), (r, VECTOR)]
        return [
            f"{zero}: {COUNT} = const {{value=0}}",
            f"{limit}: {COUNT} = const {{value={self.draw(st.integers(0, 3))}}}",
            f"{n}: {COUNT}, {j}: {COUNT}, {r}: {VECTOR}, {t}: seq<f32[]> = while ({k} = {zero}, {a} = {x}) cond {{",
            *asked, f"{p}: {TRUTH} = less {k}, {limit}", f"yield {p}", "} body {",
            *lines, f"{one}: {COUNT} = const {{value=1}}", f"{after}: {COUNT} = add {k}, {one}",
            f"yield {after}, {out} ; {collected}", "}",
            self.define(known, COUNT, f"seq_len {t}"),
        ]  # fmt: skip


@st.composite
def programs(draw: Callable[..., Any], states: bool = False, everything: bool | None = None) -> Module:
    """A module whose entry takes `ARGS`, and which may call a second function; with states `a` and `b` if asked.

    The entry returns five of its values or all of them, unless `everything` is False.
    """
    callee = _Writer(draw, states, None)
    inside = [("%x", VECTOR), ("%s", SCALAR), ("%n", COUNT), ("%p", TRUTH)]
    start = ["%n: i64[] = const {value=2}", "%p: bool[] = const {value=True}"]
    body = [*start, *callee.block(inside, 1)]
    g = [f"func @g(%x: {VECTOR}, %s: {SCALAR}) -> ({VECTOR}) {{", *body, f"return {callee.pick(inside, VECTOR)}", "}"]
    entry = _Writer(draw, states, "g")
    known = [(f"%{n}", t) for n, t in ARGS]
    lines = entry.block(known, 0)
    results = [(entry.pick(known, t), t) for t in (VECTOR, VECTOR, SCALAR, COUNT, TRUTH)]
    if everything is None and draw(st.booleans()):
        results = known  # nothing at the top is dead
    outs, types = [n for n, _ in results], ", ".join(t for _, t in results)
    head = f"func @f({', '.join(f'%{n}: {t}' for n, t in ARGS)}) -> ({types}) {{"
    cells = [f"state @a: {VECTOR}", f"state @b: {VECTOR}"] if states else []
    return parse_module("\n".join([*cells, head, *lines, f"return {', '.join(outs)}", "}", *g]) + "\n")


def arguments(seed: int) -> list[Any]:
    """Arguments for `ARGS` with awkward numbers among them."""
    rng = np.random.default_rng(seed)
    awkward = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 1.0, -2.5, 1e30, 0.1], np.float32)
    x, y = rng.choice(awkward, 3), rng.choice(awkward, 3)
    return [x, y, rng.choice(awkward), int(rng.integers(-1, 4)), bool(rng.integers(2))]


class StateInterpreter(Interpreter):
    """Runs states as cells; a call that binds states renames them while it runs."""

    def __init__(self, module: Module, states: dict[str, Any] | None = None) -> None:
        super().__init__(module)
        self.states = dict(states or {})
        self.names: dict[str, str] = {}

    def op_state_read(self, op: Any, xs: Any, env: Any) -> Any:
        return (self.states[self.names.get(op.attr("state"), op.attr("state"))],)

    def op_state_write(self, op: Any, xs: Any, env: Any) -> Any:
        self.states[self.names.get(op.attr("state"), op.attr("state"))] = xs[0]
        return ()

    def op_call(self, op: Any, xs: Any, env: Any) -> Any:
        outer, callee = self.names, self.module.functions[op.attr("fn").removeprefix("@")]
        if op.attr("states"):
            mentioned = [o.attr("state") for o in ops_of(callee.body) if o.defn.name.startswith("state_")]
            bound = [outer.get(n, n) for n in op.attr("states")]
            self.names = dict(zip(dict.fromkeys(mentioned), bound, strict=True))
        results = super().op_call(op, xs, env)
        self.names = outer
        return results


def bits(values: Any) -> list[Any]:
    """Results as something to compare bit by bit, where every nan is one."""
    out = []
    for x in map(np.asarray, values):
        number = np.where(np.isnan(x), np.nan, x).astype(x.dtype) if x.dtype.kind == "f" else x
        out.append((str(x.dtype), x.shape, number.tobytes()))
    return out


def outcome(module: Module, args: list[Any], states: dict[str, Any] | None = None) -> tuple[Any, Any, Any]:
    """Results, what was printed and the final states of the entry."""
    run = StateInterpreter(module, states)
    results = run.run(None, *args)
    printed = [bits([np.float32(x)]) for call in run.calls for x in call[1:]]
    return bits(results), printed, {n: bits([x]) for n, x in run.states.items()}
