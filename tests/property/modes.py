"""Runs one program in every mode and compares all that can be seen of it."""

from __future__ import annotations

import contextlib
import io
import math
import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import nn
from autodiff_compiler.errors import CompileError, InternalCompilerError, ShapeError
from tests import agreement
from tests.programs.compare import define, leaves, plain, structure
from tests.property.grammar import Program

#: What the specification says compiled code refuses: joins of different types, containers whose size run time
#: decides, indices of containers that only run time knows.
REFUSED = {"AC1401", "AC1402", "AC1403", "AC1404", "AC1405", "AC1406", "AC1303", "AC1305", "AC1306", "AC1307", "AC1504"}
#: What programs raise on purpose.
PLANNED = {"AssertionError", "ValueError", "RuntimeError", "KeyError", "IndexError", "ZeroDivisionError"}
#: What a refusal with another code must say to be permitted.
SAYING = (
    "may be known by another name, depending on the trips of a loop",
    "an element of a Tensor that is one of several, chosen at run time",
    "is used that was changed under another name on some paths only",
    "one Tensor is given as two arguments that are differentiated",
)
CALLS = 4  # of one Cell, one after the other
ROWS = (7, 0, 1, 2, 64)  # of programs for any number, one after the other


class Base(nn.Cell):
    """What the programs' Cells start with."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        rng = np.random.default_rng(program.seed + 1)
        self.w = ms.Parameter(rng.uniform(-1, 1, program.shape).astype(program.dtype), name="w")
        self.z = ms.Tensor(rng.uniform(-1, 1, program.shape).astype(program.dtype))
        self.count, self.rate = 2, 0.5


class Difference(AssertionError):
    """Two modes disagree: `what` they disagree on, and how."""

    def __init__(self, what: str, told: str) -> None:
        super().__init__(f"{what}: {told}")
        self.what = what


class Refused(Exception):
    """A mode cannot compile the program, and may say so."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Late(BaseException):
    """A program runs too long."""


@dataclass
class Outcome:
    """All that can be seen of one call."""

    value: object
    printed: str
    error: tuple[str, str] | None
    state: dict[str, object]
    #: which of the results, arguments and attributes are one Tensor
    one: list[int]
    raised: BaseException | None = field(default=None, compare=False, repr=False)


def values(program: Program, call: int) -> dict[str, object]:
    """The arguments of a call, as arrays and numbers."""
    rng = np.random.default_rng((program.seed, call))
    shape = program.shape
    x, y = (rng.uniform(-1.2, 1.2, shape).astype(program.dtype) for _ in range(2))
    ix = rng.integers(0, max(1, shape[0]), shape[0])
    if program.dynamic:
        numbers = {"n": 1 + call, "r": 0.8 - 0.5 * call}
    else:
        numbers = {"n": (program.seed + call // 2) % 4, "r": 1.4}
    return {"x": x, "y": y, "ix": ix, **numbers, "flag": program.seed % 2 == 0}


def arguments(program: Program, call: int, moved: dict[str, np.ndarray] | None = None) -> list:
    found = {**values(program, call), **(moved or {})}
    made = [
        ms.Tensor(v) if isinstance(v, np.ndarray) else ms.mutable(v) if program.dynamic and k in "nr" else v
        for k, v in found.items()
    ]
    if call == 3:
        made[1] = made[0]  # one Tensor given twice
    return made


@contextlib.contextmanager
def at_most(seconds: float):
    """Raises Late after so many seconds, where the system has alarms."""

    def late(*_):
        raise Late

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def using(backend: str):
    """Compiled programs run on that backend of the CPU meanwhile."""
    before = ms.get_context("backend")
    ms.set_context(backend=backend)
    try:
        yield
    finally:
        ms.set_context(backend=before)


def watched(call: Callable, args: list, net: nn.Cell) -> Outcome:
    """Calls, and notes all that can be seen."""
    value = error = raised = None
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = call(*args)
        except Exception as exception:
            raised = exception
            error = (type(exception).__name__, str(exception))
    state = {"w": net.w, "z": net.z, "count": net.count, "rate": net.rate, "random": ms.get_rng_state()}
    state |= {f"argument {i}": a for i, a in enumerate(args) if isinstance(a, ms.Tensor)}
    tensors = [t for t in (*leaves(value), *args, net.z) if isinstance(t, ms.Tensor)]
    one = [min(i for i, t in enumerate(tensors) if t is other) for other in tensors]
    return Outcome(_frozen(value), out.getvalue(), error, {k: _frozen(v) for k, v in state.items()}, one, raised)


def _frozen(tree):
    """Copies, as later calls write into Tensors."""
    if isinstance(tree, dict):
        return {k: _frozen(v) for k, v in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(_frozen(v) for v in tree)
    return ms.Tensor(tree.asnumpy().copy()) if isinstance(tree, ms.Tensor) else tree


# ------------------------------------------------------------------------------------------------ comparison
def compare(found: Outcome, expected: Outcome, what: str, rtol: float = 0.0) -> None:
    """Raises Difference, or Refused where a compiler may refuse."""
    if expected.error and expected.error[0] not in PLANNED:
        raise Difference(f"the grammar: eager {expected.error[0]}", _told(expected.raised))
    if isinstance(found.raised, InternalCompilerError):
        raise Difference(f"{what}: internal error", _told(found.raised))
    if isinstance(found.raised, CompileError) and found.error != expected.error:
        code = found.raised.code
        if code in REFUSED or any(text in str(found.raised) for text in SAYING):
            raise Refused(code)
        raise Difference(f"{what}: refused with {code}", _told(found.raised))
    if found.error != expected.error and not _alike(found.error, expected.error):
        kinds = " instead of ".join((o.error[0] if o.error else "a value") for o in (found, expected))
        told = f"{found.error} instead of {expected.error}"
        raise Difference(f"{what}: {kinds}", told + _told(found.raised or expected.raised))
    if not _alike(found.printed, expected.printed):
        raise Difference(f"{what}: printed text", f"{found.printed!r} instead of {expected.printed!r}")
    same(found.value, expected.value, f"{what}: value", rtol)
    # Compiled code may give a new Tensor where a condition at run time decides which one it is, but no shared one.
    if [expected.one[i] for i in found.one] != expected.one:
        raise Difference(f"{what}: identity", f"{found.one} instead of {expected.one}")
    for name, value in expected.state.items():
        same(found.state[name], value, f"{what}: state {name}", rtol)


def _told(error: BaseException) -> str:
    return "\n" + "".join(traceback.format_exception(error)[-12:])


def _alike(found, expected) -> bool:
    """Whether texts, alone or in tuples, say the same."""
    if isinstance(found, tuple) and isinstance(expected, tuple):
        return all(map(_alike, found, expected))
    if isinstance(found, str) and isinstance(expected, str):
        return agreement.same_text(found, expected)
    return found == expected


def same(found, expected, what: str, rtol: float = 0.0) -> None:
    """Structure, dtypes and every bit; with `rtol` values may differ as much, relative to the largest."""
    if structure(found) != structure(expected):
        raise Difference(f"{what} (structure)", f"{structure(found)} instead of {structure(expected)}")
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        if isinstance(b, str) or b is None:
            equal = a == b
        else:
            a, b = plain(a), plain(b)
            equal = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            if not equal and rtol and a.dtype.kind == "f":
                scale = max(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
                equal = np.allclose(a, b, rtol=0, atol=rtol * scale, equal_nan=True)
        if not equal:
            raise Difference(what, f"{a!r} instead of {b!r}")


def compare_at(found: Outcome, expected: Outcome, what: str, rtol: float, rows: int) -> None:
    """The same for calls of sizes for which a program may have no value: then an error of the same class is as good.

    What is nothing for no rows may be refused on a path that is not taken.
    """
    if rows == 0 and isinstance(found.raised, ShapeError) and not isinstance(expected.raised, ValueError):
        raise Refused(found.raised.code)
    if expected.raised is None or found.raised is None or isinstance(found.raised, InternalCompilerError):
        compare(found, expected, what, rtol)
    elif not isinstance(found.raised, type(expected.raised)):
        compare(found, replace(expected, error=("ValueError", str(expected.raised))), what, rtol)


def bent(net: nn.Cell) -> Callable:
    """The derivative of the squares of a gradient."""

    def squares(x, y, *rest):
        gx, gy = ms.grad(net.total, (0, 1))(x, y, *rest)
        return (gx * gx).sum() + (gy * gy).sum()

    return ms.grad(squares, (0, 1))


# ------------------------------------------------------------------------------------------------ the modes
class Judge:
    """Compares the modes of one program; `source` may be another text than the program's, when it is made smaller."""

    def __init__(self, program: Program, source: str | None = None) -> None:
        self.program = program
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of programs made smaller
            self.net = define(source or program.source, "Net", Base=Base, ops=ms.ops, math=math)
        rounded = "float32" in program.source  # on the way: sums in another order differ by more than float64's
        self.rtol = 2e-3 if program.dtype != "float64" else 1e-6 if rounded else 1e-8
        self.rounding = 1e-4 if rounded or program.dtype != "float64" else 1e-10  # of compiled and eager code
        self.refused: dict[str, str] = {}
        self.compared: list[str] = []

    def made(self) -> nn.Cell:
        ms.set_seed(7)
        return self.net(self.program)

    def forward(self, level: int, unroll_limit: int = 8, backend: str = "") -> None:
        """Calls of one Cell one after the other, eager and compiled, for the backend in use or another."""
        program, backend = self.program, backend or ms.get_context("backend")
        net = self.made()
        expected = [watched(net, arguments(program, i), net) for i in range(CALLS)]
        net = self.made()
        compiled = ms.jit(net, unroll_limit=unroll_limit, optimize=level)
        with using(backend):
            rtol = 0.0 if agreement.bits() else self.rounding
            for i in range(CALLS):
                found = watched(compiled, arguments(program, i), net)
                compare(found, expected[i], f"O{level} on {backend} and eager, call {i}", rtol)

    def gradients(self, call: int, backend: str = "") -> None:
        """Of everything that a call returns: on the tape, compiled, around a compiled call."""
        backend = backend or ms.get_context("backend")
        expected = self.gradient(lambda f: f, lambda f: f, call)
        for what, outer, inner in (
            ("compiled gradient", lambda f: ms.jit(f, unroll_limit=8 if call else 1), lambda f: f),
            ("gradient of a compiled call", lambda f: f, ms.jit),
        ):
            with using(backend):
                compare(self.gradient(outer, inner, call), expected, f"{what} on {backend}", self.rtol)

    def gradient(self, outer: Callable, inner: Callable, call: int) -> Outcome:
        net = self.made()
        function = outer(ms.value_and_grad(inner(net.total), (0, 1), weights=(net.w,)))
        return watched(function, arguments(self.program, call), net)

    def open_sizes(self, call: int) -> None:
        """With symbolic sizes where these can be, values and gradients are as with known ones."""
        net = self.made()
        expected = watched(net, arguments(self.program, call), net)
        net = self.made()
        found = watched(ms.jit(net, dynamic=True), arguments(self.program, call), net)
        compare(found, expected, "symbolic sizes", self.rounding)
        expected = self.gradient(lambda f: f, lambda f: f, call)
        found = self.gradient(lambda f: ms.jit(f, dynamic=True), lambda f: f, call)
        compare(found, expected, "gradient with symbolic sizes", self.rtol)

    def sizes(self, what: str) -> None:
        """A program for any number of rows, for known and for symbolic sizes, does with each what eager code does."""
        if not self.program.sized:
            return
        rtol = {"value": self.rounding, "gradient": self.rtol, "second": 10 * self.rtol}[what]
        expected, refused = self.at_sizes(what, lambda f: f), set()
        for told, dynamic in (("known", False), ("symbolic", True), ("changing", None)):
            found = self.at_sizes(what, lambda f, dynamic=dynamic: ms.jit(f, dynamic=dynamic))
            for rows, one, other in zip(ROWS, found, expected, strict=True):
                try:
                    compare_at(one, other, f"{what} with {told} sizes at {rows}", rtol, rows)
                    self.compared.append(f"{what} with {told} sizes")
                except Refused as error:
                    refused.add(error.code)
        if refused:
            raise Refused(refused.pop())

    def at_sizes(self, what: str, outer: Callable) -> list[Outcome]:
        """The calls of one function with each number of rows."""
        net = self.made()
        function = outer({"value": net, "gradient": ms.value_and_grad(net.total, (0, 1)), "second": bent(net)}[what])
        outcomes = []
        for rows in ROWS:
            ms.set_seed(7)
            p = replace(self.program, shape=(rows, *self.program.shape[1:]))
            outcomes.append(watched(function, arguments(p, 0), net))
        return outcomes

    def differences(self, call: int) -> None:
        """The tape's gradient against central differences of eager code, where these settle."""
        exact = self.gradient(lambda f: f, lambda f: f, call)
        if exact.error or not self.program.smooth or self.program.dtype != "float64":
            return
        _, ((gx, gy), gw) = exact.value
        x, y, w = (values(self.program, call)["x"], values(self.program, call)["y"], self.made().w.asnumpy())
        rng = np.random.default_rng(5)
        vx, vy, vw = (rng.uniform(0.5, 1, x.shape) for _ in range(3))
        found = sum(
            float((plain(g) * v).sum()) for g, v in ((gx, vx), (gy, vy), (gw[0] if isinstance(gw, tuple) else gw, vw))
        )

        def at(t):
            net = self.made()
            net.w.set_data(ms.Tensor(w + t * vw))
            moved = {"x": x + t * vx, "y": y + t * vy}
            outcome = watched(net.total, arguments(self.program, call, moved), net)
            return float(plain(outcome.value)) if outcome.error is None else math.nan

        self.settle(at, found, "gradient and differences")

    def settle(self, at: Callable, found: float, what: str) -> None:
        slopes = [(8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h) for h in (1e-3, 5e-4, 2.5e-4)]
        scale = max(1.0, abs(slopes[0]))
        if not all(abs(a - slopes[0]) < 1e-6 * scale for a in slopes):
            return  # a kink or a branch lies within the step
        self.compared.append(what)
        if not abs(found - slopes[-1]) < 1e-4 * scale:
            raise Difference(what, f"{found} instead of {slopes[-1]}")

    def tangents(self, call: int, level: int = 2, backend: str = "") -> None:
        """Forward mode against reverse mode, eager and compiled."""
        exact = self.gradient(lambda f: f, lambda f: f, call)
        v = np.random.default_rng(6).uniform(0.5, 1, (2, *self.program.shape)).astype(self.program.dtype)

        def run(outer):
            net = self.made()
            x, y, *rest = arguments(self.program, call)

            def tangent(x, y, v, w):
                return ms.jvp(lambda a, b: net.total(a, b, *rest), (x, y), (v, w))

            return watched(outer(tangent), [x, y, ms.Tensor(v[0]), ms.Tensor(v[1])], net)

        eager = run(lambda f: f)
        if exact.error is None and eager.error is None:
            _, ((gx, gy), _) = exact.value
            along = sum((plain(g) * t).sum() for g, t in zip((gx, gy), v))
            same(ms.Tensor(plain(eager.value[1])), ms.Tensor(along), "forward and reverse mode", self.rtol)
        with using(backend or ms.get_context("backend")):
            compare(run(lambda f: ms.jit(f, optimize=level)), eager, f"compiled tangent, O{level}", self.rtol)

    def second(self, call: int) -> None:
        """Second derivatives along a direction: on tapes, compiled, and differences of the first."""
        v = np.random.default_rng(6).uniform(0.5, 1, (2, *self.program.shape)).astype(self.program.dtype)
        vs = [ms.Tensor(t) for t in v]

        def slope(net):
            def along(x, y, *rest):
                gx, gy = ms.grad(net.total, (0, 1))(x, y, *rest)
                return (gx * vs[0]).sum() + (gy * vs[1]).sum()

            return along

        def run(outer):
            net = self.made()
            return watched(outer(ms.grad(slope(net), (0, 1))), arguments(self.program, call), net)

        eager = run(lambda f: f)
        compare(run(ms.jit), eager, "compiled second derivative", 10 * self.rtol)
        if eager.error or not self.program.smooth or self.program.dtype != "float64":
            return
        found = sum(float((plain(g) * t).sum()) for g, t in zip(eager.value, v))
        x, y = (values(self.program, call)[k] for k in "xy")

        def at(t):
            net = self.made()
            outcome = watched(slope(net), arguments(self.program, call, {"x": x + t * v[0], "y": y + t * v[1]}), net)
            return float(plain(outcome.value)) if outcome.error is None else math.nan

        self.settle(at, found, "second derivative and differences")

    def check(self, name: str, *args) -> None:
        """Runs a check; a permitted refusal is noted."""
        try:
            getattr(self, name)(*args)
            self.compared.append(name)
        except Refused as error:
            self.refused[name] = error.code


CHECKS: tuple[tuple[str, tuple, int], ...] = (
    ("forward", (2,), 1),
    ("forward", (0, 1), 3),
    ("forward", (2, 1), 3),
    ("forward", (0,), 6),
    ("forward", (2, 8, "numpy"), 3),
    ("gradients", (0,), 2),
    ("gradients", (1,), 6),
    ("gradients", (1, "numpy"), 4),
    ("open_sizes", (0,), 3),
    ("sizes", ("value",), 1),
    ("sizes", ("gradient",), 2),
    ("sizes", ("second",), 8),
    ("differences", (0,), 2),
    ("tangents", (1,), 6),
    ("tangents", (0, 0), 6),
    ("tangents", (0, 2, "numpy"), 6),
    ("second", (0,), 8),
)  # name, arguments, and one in how many programs is checked so
