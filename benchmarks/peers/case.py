"""A case: one piece of work, how each column does it, what must come out, and how it is timed."""

from __future__ import annotations

import dataclasses
import functools
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .frameworks import arrays_of, blocking, compiled_torch, enter, put, vocabulary

Arrays = list[np.ndarray]
#: Made when a case is run: its name is known before.
Given = Callable[[], Arrays]
#: Turns the functions of a vocabulary into a function of arrays.
Formula = Callable[[Any], Callable[..., Any]]


class Call:
    """A function with its arguments: timed without the cost of a wrapper around it."""

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.function, self.args = function, args

    def __call__(self) -> Any:
        return self.function(*self.args)

    def timer(self) -> timeit.Timer:
        names = [f"a{i}" for i in range(len(self.args))]
        space = {"f": self.function, **dict(zip(names, self.args, strict=True))}
        return timeit.Timer(f"f({', '.join(names)})", "import gc; gc.enable()", globals=space)


#: Makes what is timed: everything that a user does once is done here.
Maker = Callable[[], Callable[[], Any]]


@dataclasses.dataclass
class Case:
    """One row of the table.

    `makers` by column; "compiled" stands for both backends.  `kind`: "call" times repeated calls in microseconds;
    "first" times the only call of what a maker makes, anew in each round, in milliseconds; "figure" takes the number
    that the call returns, in `unit`.
    """

    name: str
    makers: Mapping[str, Maker]
    #: What the results of the first `calls` calls must be; None: there is nothing to compare.
    reference: Callable[[], Arrays] | None = None
    #: Ratios that are to be reached, by column.
    targets: Mapping[str, float] = dataclasses.field(default_factory=dict)
    #: The greatest that our own figure may be.
    at_most: float | None = None
    #: Relative to the greatest element of each array; None: as its dtype deserves.
    tolerance: float | None = None
    calls: int = 1
    kind: str = "call"
    unit: str = ""
    #: At most so many rounds: for what takes long.
    rounds: int = 1000
    #: Columns that take long: one round of them is enough, which for "first" is the call that is checked.
    once: Sequence[str] = ()
    #: The numbers of threads it is run with.
    threads: tuple[int, ...] = (1, 2)
    #: Columns for scale, which do something else: they are not compared.
    beside: Mapping[str, Maker] = dataclasses.field(default_factory=dict)
    #: Why a column is absent.
    absent: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.unit = self.unit or {"call": "us", "first": "ms"}[self.kind]
        compiled = {} if "compiled" not in self.makers else dict.fromkeys(("native", "numpy"), self.makers["compiled"])
        self.makers = {**compiled, **{name: make for name, make in self.makers.items() if name != "compiled"}}

    def wrong(self, call: Callable[[], Any], expected: Arrays) -> str:
        """What is wrong with the results of a call; empty if they are right."""
        found = [a for _ in range(self.calls) for a in arrays_of(call())]
        if len(found) != len(expected):
            return f"{len(found)} results, not {len(expected)}"
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            if a.size != b.size:
                return f"result {i} has shape {a.shape}, not {b.shape}"
            error = np.abs(a.astype(np.float64).ravel() - b.ravel()).max() if a.size else 0.0
            tolerance = self.tolerance or (2e-4 if a.dtype == np.float32 else 1e-9)
            if not error <= tolerance * max(np.abs(b).max(), 1e-30):
                return f"result {i} is off by {error:.2g}, its greatest element is {np.abs(b).max():.2g}"
        return ""


# ------------------------------------------------------------------------------------------------ sampling
def sample(case: Case, ready: dict[str, Callable[[], Any]], rounds: int, pause: float) -> dict[str, list[float]]:
    """The figures of each column, one per round; rounds alternate and each begins with another column."""
    names = list(ready)
    found: dict[str, list[float]] = {name: [] for name in names}
    timers = {}
    if case.kind == "call":
        for name in names:
            enter(name)
            call = ready[name]
            timers[name] = _counted((call if isinstance(call, Call) else Call(call)).timer())
    for i in range(min(rounds, case.rounds)):
        first = i % len(names)
        for name in names[first:] + names[:first]:
            if found[name] and name in case.once:
                continue
            enter(name)
            time.sleep(pause)  # until the worker threads of the one before are asleep
            if case.kind == "call":
                timer, count = timers[name]
                if count > 1:
                    timer.timeit(1)
                found[name].append(1e6 * timer.timeit(count) / count)
            elif case.kind == "first":
                call = ready[name]()
                start = time.perf_counter()
                call()
                found[name].append(1e3 * (time.perf_counter() - start))
            else:
                found[name].append(float(ready[name]()()))
    return found


def _counted(timer: timeit.Timer, seconds: float = 0.02) -> tuple[timeit.Timer, int]:
    """A timer and how many calls fill a turn, once what is done in the first calls only is done."""
    timer.timeit(1)
    count = 1
    while True:
        taken = min(timer.timeit(count) for _ in range(4))
        if taken > seconds / 4:
            return timer, max(1, round(count * seconds / taken))
        count *= 4


# ------------------------------------------------------------------------------------------------ derivatives
def agrees_with_differences(
    by_hand: Callable[..., Sequence[Any]], arrays: Arrays, wrt: Sequence[int], weight: np.ndarray | float = 1.0
) -> bool:
    """Whether gradients written by hand are those of the value, by central differences along random directions."""
    rng = np.random.default_rng(7)
    _, *gradients = by_hand(*arrays)
    for i, gradient in zip(wrt, gradients, strict=True):
        direction = rng.standard_normal(arrays[i].shape)
        step = 1e-6 * max(1.0, float(np.abs(arrays[i]).max()))
        ends = []
        for sign in (1, -1):
            moved = [a + sign * step * direction if j == i else a for j, a in enumerate(arrays)]
            ends.append(by_hand(*moved)[0])
        found = float(((ends[0] - ends[1]) * weight).sum()) / (2 * step)
        if not abs(found - float((gradient * direction).sum())) <= 1e-4 * float(np.linalg.norm(gradient)):
            return False
    return True


def _reference(
    by_hand: Callable[..., Any], given: Given, wrt: Sequence[int] | None, weight: Callable[[], Any]
) -> Callable[[], Arrays]:
    """The results of a function written by hand, in float64, once its gradients agree with differences."""

    def reference() -> Arrays:
        doubles = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in given()]
        # Differences of sums over millions of elements say nothing; smaller cases have the same formula.
        small = sum(a.size for a in doubles) <= 2_000_000
        chosen = range(len(doubles)) if wrt is None else wrt
        if small and not agrees_with_differences(by_hand, doubles, chosen, weight()):
            raise AssertionError("the gradients written by hand are not those of central differences")
        return arrays_of(by_hand(*doubles))

    return reference


def _case(name: str, makers: dict[str, Maker], also: Mapping[str, Maker], options: dict[str, Any]) -> Case:
    kept = {column: make for column, make in makers.items() if column not in options.get("absent", ())}
    return Case(name, {**kept, **also}, **options)


def derivative(
    name: str,
    formula: Formula,
    given: Given,
    wrt: Sequence[int],
    by_hand: Callable[..., Any],
    *,
    formulas: Mapping[str, Formula] | None = None,
    also: Mapping[str, Maker] | None = None,
    **options: Any,
) -> Case:
    """The value of a scalar function of what `given` makes, and its gradients by the arguments `wrt`.

    `by_hand` gives the value and the gradients of NumPy arrays; `formulas` by column replace the common one, `also` are
    more columns.
    """
    wrt, given = tuple(wrt), functools.cache(given)

    def function(column: str) -> Callable[..., Any]:
        return (formulas or {}).get(column, formula)(vocabulary(column))

    def compiled() -> Call:
        import autodiff_compiler as ms

        return Call(ms.jit(ms.value_and_grad(function("numpy"), wrt)), *put("numpy", given()))

    def eager() -> Call:
        import autodiff_compiler as ms

        return Call(ms.value_and_grad(function("eager"), wrt), *put("eager", given()))

    def jax() -> Call:
        import jax

        return Call(blocking(jax.value_and_grad(function("jax"), wrt)), *put("jax", given()))

    def torch(column: str = "torch") -> Callable[[], Any]:
        import torch

        tensors = [t.requires_grad_(i in wrt) for i, t in enumerate(put(column, given()))]
        wanted = [tensors[i] for i in wrt]
        f = function(column) if column == "torch" else compiled_torch(function(column))

        def call() -> Any:
            value = f(*tensors)
            return value, torch.autograd.grad(value, wanted)

        return call

    def autograd() -> Call:
        import autograd

        return Call(autograd.value_and_grad(function("autograd"), wrt), *given())

    makers: dict[str, Maker] = {
        "compiled": compiled, "eager": eager, "jax": jax, "torch": torch,
        "torch.compile": lambda: torch("torch.compile"), "autograd": autograd, "hand": lambda: Call(by_hand, *given()),
    }  # fmt: skip
    return _case(name, makers, also or {}, {"reference": _reference(by_hand, given, wrt, lambda: 1.0), **options})


def _pullback_of_peers(formula: Formula, given: Given, cotangent: Callable[[], np.ndarray]) -> dict[str, Maker]:
    """How the others apply an adjoint."""

    def jax() -> Call:
        import jax

        f = formula(vocabulary("jax"))

        def both(g: Any, *args: Any) -> Any:
            y, pull = jax.vjp(f, *args)
            return y, pull(g)

        return Call(blocking(both), *put("jax", [cotangent(), *given()]))

    def torch(column: str = "torch") -> Callable[[], Any]:
        import torch

        (g,), tensors = put(column, [cotangent()]), put(column, given(), gradients=True)
        f = formula(vocabulary(column))
        f = f if column == "torch" else compiled_torch(f)

        def call() -> Any:
            y = f(*tensors)
            return y, torch.autograd.grad(y, tensors, g)

        return call

    def autograd() -> Callable[[], Any]:
        from autograd.builtins import tuple as boxed
        from autograd.core import make_vjp

        f, args, g = formula(vocabulary("autograd")), tuple(given()), cotangent()

        def call() -> Any:
            pull, y = make_vjp(lambda args: f(*args), boxed(args))
            return y, pull(g)

        return call

    return {"jax": jax, "torch": torch, "torch.compile": lambda: torch("torch.compile"), "autograd": autograd}


def pullback(
    name: str,
    formula: Formula,
    given: Given,
    cotangent: Callable[[], np.ndarray],
    by_hand: Callable[..., Any],
    **options: Any,
) -> Case:
    """An array-valued function and what its adjoint makes of a cotangent, by all arguments.

    `by_hand` of the cotangent and the arguments gives both.
    """
    given, cotangent = functools.cache(given), functools.cache(cotangent)

    def ours(column: str) -> Call:
        import autodiff_compiler as ms

        f = formula(vocabulary(column))

        def both(g: Any, *args: Any) -> Any:
            y, pull = ms.vjp(f, *args)
            return y, pull(g)

        return Call(both if column == "eager" else ms.jit(both), *put(column, [cotangent(), *given()]))

    def with_cotangent(*arrays: np.ndarray) -> Any:
        return by_hand(cotangent().astype(np.float64), *arrays)

    makers: dict[str, Maker] = {
        "compiled": lambda: ours("numpy"),
        "eager": lambda: ours("eager"),
        **_pullback_of_peers(formula, given, cotangent),
        "hand": lambda: Call(by_hand, cotangent(), *given()),
    }
    reference = _reference(with_cotangent, given, None, lambda: cotangent().astype(np.float64))
    return _case(name, makers, {}, {"reference": reference, **options})
