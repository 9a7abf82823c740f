"""`benchmark`: the same function eagerly and compiled, side by side."""

from __future__ import annotations

import gc
import statistics
import tracemalloc
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import IO, Any

import numpy as np

from .. import progress
from ..backends.native.jit.cache import bypassed
from ..compiler.callback_state import set_content
from ..config import PYNATIVE_MODE, context, disable_jit
from ..errors import kind_of
from ..inspection.figures import duration, quartiles, size, times
from ..inspection.tabular import Cells, Tables
from ..runtime.tensor import Tensor
from ..runtime.trees import leaves
from ..transforms.grad import value_and_grad
from ..transforms.jit import JitFunction, jit
from .plot import Bar, plot
from .terminal import show

__all__ = ["Benchmark", "Measured", "NoGradient", "benchmark"]

#: The modes: "graph" is compiled for the backend in use, the last two for these.
_MODES = ("eager", "graph", "native", "numpy")
#: The relative tolerance of results, by the bytes of a number.
_CLOSE = {2: 3e-2, 4: 1e-3, 8: 1e-8, 16: 1e-8}
#: The least seconds of a batch of calls; the least and the most rounds.
_BATCH, _ROUNDS = 2e-3, (5, 200)
_LEFT = frozenset({"what", "mode"})
#: The spread, as a part of the median, above which a time says little.
_STEADY = 0.5


class NoGradient(ValueError):
    """There is no Tensor of floats to differentiate by."""


@dataclass(frozen=True)
class Measured:
    """The times of one mode in seconds per call: of a "call", or of one that gives the "gradient" with the value.

    `rounds`: the mean of each round.  `compile`: the time of compilation with nothing in the disk cache; None in eager
    mode.  `memory`: bytes that a call needed besides its arguments.
    """

    what: str
    mode: str
    rounds: tuple[float, ...]
    compile: float | None
    memory: int | None

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Between these lies the middle half of the rounds."""
        return quartiles(self.rounds)

    @property
    def spread(self) -> float:
        low, high = self.quartiles
        return high - low


@dataclass(frozen=True, repr=False)
class Benchmark(Tables):
    """The measured modes of a function; `print` shows a table, a notebook likewise, `plot` draws it."""

    name: str
    rows: tuple[Measured, ...]
    _left = _LEFT

    def speedup(self, mode: str, what: str = "call") -> float:
        """How many times as fast a mode was as the first of the modes; KeyError for what was not measured."""
        found = {row.mode: row for row in self.rows if row.what == what}
        return next(iter(found.values())).median / found[mode].median

    def data(self) -> list[dict[str, Any]]:
        """The rows as JSON has them."""
        return [
            {
                "what": row.what, "mode": row.mode, "median": row.median, "spread": row.spread,
                "rounds": list(row.rounds), "compile": row.compile, "memory": row.memory,
                "speedup": self.speedup(row.mode, row.what),
            }
            for row in self.rows
        ]  # fmt: skip

    def plot(self, path: str) -> None:
        """Draws the medians with their spread: a PNG with matplotlib, or an SVG, by the end of the path.

        ValueError for another kind of file, ImportError (with advice) for a PNG without matplotlib.
        """
        bars = []
        for row in self.rows:
            label = f"{duration(row.median)}  ({times(self.speedup(row.mode, row.what))})"
            bars.append(Bar(row.what, row.mode, row.median, *row.quartiles, label))
        plot(self.name, bars, path)

    def show(self, file: IO[str] | None = None) -> None:
        """Prints the table, in colours where `rich` is installed and the terminal has them (not with NO_COLOR)."""
        show(self, file)

    def _headline(self) -> str:
        return self.name

    def _notes(self) -> list[str]:
        """A note about rows whose times vary too much."""
        unsteady = [f"{row.what} ({row.mode})" for row in self.rows if row.spread > _STEADY * row.median]
        if not unsteady:
            return []
        much = "by more than half of their median: other work on the machine, or too few rounds (more seconds help)"
        return [f"unsteady: the rounds of {', '.join(unsteady)} differ {much}"]

    def _tables(self, *, everything: bool = False) -> list[Cells]:
        head = ["what", "mode", "median", "spread", "speed-up", "compile", "memory"]
        cells = []
        for row in self.rows:
            compiling = "" if row.compile is None else duration(row.compile)
            memory = "" if row.memory is None else size(row.memory)
            faster = times(self.speedup(row.mode, row.what))
            cells.append([row.what, row.mode, duration(row.median), duration(row.spread), faster, compiling, memory])
        return [Cells(head, cells)]


def benchmark(
    fn: Callable[..., Any],
    args: Any = (),
    modes: Sequence[str] = ("eager", "graph"),
    *,
    grad: bool = False,
    seconds: float = 1.0,
    rtol: float | None = None,
) -> Benchmark:
    """Measures ``fn(*args)`` in several modes: medians and their spread, compilation, speed-up, memory.

    `args` is a tuple or list of the arguments; anything else is the only one.  `modes` are some of "eager", "graph"
    (compiled), "native" and "numpy" (compiled for these backends); the speed-up is against the first of them.  With
    `grad`, the value with the gradients of all arguments of floats, or of the parameters of a Cell, is measured, too.
    Before that, the results of the modes are compared: they may differ by `rtol` (where it is None: by 1e-3 in float32,
    1e-8 in float64), or ValueError says by how much they do.  Rounds of the modes alternate, for about `seconds` each,
    every call with what the one before has left.

    When modes are compared, and afterwards, Tensors among the arguments are what they were; so are Parameters, other
    Tensors, attributes of Cells and the state of random numbers that compiled code writes.  Not so what only Python
    knows of: lists, ndarrays, files, and without a compiled mode everything but the arguments.

    ValueError for a mode that there is not, TypeError for what cannot be called.

    >>> from autodiff_compiler import Tensor
    >>> found = benchmark(lambda x: (x * x).sum(), [Tensor([1.0, 2.0])], seconds=0.01)
    >>> [row.mode for row in found.rows], found.speedup("eager")
    (['eager', 'graph'], 1.0)
    """
    if not callable(fn):
        raise TypeError(f"benchmark() takes a function or a Cell, not {kind_of(fn)}")
    for mode in modes:
        if mode not in _MODES:
            raise ValueError(f"a mode is one of {', '.join(_MODES)}, not {mode!r}")
    if not modes or len(set(modes)) < len(modes):
        raise ValueError("modes must be different ones, and at least one")
    args = tuple(args) if isinstance(args, tuple | list) else (args,)
    plain = _plain(fn)
    both = _with_gradient(plain, args) if grad else None
    name = str(getattr(plain, "__name__", None) or type(plain).__name__).replace("<lambda>", "lambda")
    with progress.shown(f"measuring {name}"):
        rows = _measured("call", [_Mode(mode, plain, _options(fn)) for mode in modes], args, seconds, rtol)
        if both is not None:
            rows += _measured("gradient", [_Mode(mode, both, _options(fn)) for mode in modes], args, seconds, rtol)
    return Benchmark(name, tuple(rows))


def _plain(fn: Any) -> Any:
    """The function that a compiled one is made from."""
    if isinstance(fn, JitFunction):
        return fn._fn
    inner = getattr(fn, "__func__", None)
    return types.MethodType(inner._fn, fn.__self__) if isinstance(inner, JitFunction) else fn


def _options(fn: Any) -> Any:
    fn = getattr(fn, "__func__", fn)
    return fn._options if isinstance(fn, JitFunction) else None


def _with_gradient(fn: Any, args: tuple[Any, ...]) -> Any:
    """The function that gives the value and the gradients; NoGradient where there is nothing to differentiate by."""
    weights = fn.trainable_params() if hasattr(fn, "trainable_params") else None
    if weights:
        return value_and_grad(fn, None, weights)
    positions = tuple(i for i, x in enumerate(args) if isinstance(x, Tensor) and x._data.dtype.kind not in "biu")
    if not positions:
        raise NoGradient("no argument is a Tensor of floats, and there are no Parameters: there is no gradient")
    return value_and_grad(fn, positions)


class _Mode:
    """A function in one mode, with its measurements."""

    def __init__(self, name: str, fn: Any, options: Any) -> None:
        self.name = name
        self.compile: float | None = None
        self.memory: int | None = None
        self.rounds: list[float] = []
        self.run = fn
        if name != "eager":
            chosen = "" if name == "graph" else name
            made = jit(fn, backend=chosen)
            inner = getattr(made, "__func__", made)
            if options is not None:
                inner._options = replace(options, backend=chosen or options.backend)
            self.run = made

    @contextmanager
    def on(self) -> Iterator[None]:
        """Sets the mode."""
        if self.name != "eager":
            yield
            return
        mode = context.mode
        context.set(mode=PYNATIVE_MODE)
        try:
            with disable_jit():
                yield
        finally:
            context.set(mode=mode)

    def called(self, args: tuple[Any, ...]) -> Any:
        """The result of a call."""
        with self.on():
            return self.run(*args)

    def compiled(self, args: tuple[Any, ...], kept: _Snapshot) -> None:
        """Compiles it; adds to the snapshot what the program reads or writes besides its arguments."""
        if self.name == "eager":
            return
        with bypassed():
            _load("" if self.name == "graph" else self.name)
            began = perf_counter()
            lowered = self.run.lower(*args)._call.compiled.lowered
            self.compile = perf_counter() - began
        for name, state in lowered.states.items():
            if isinstance(state, Tensor):
                kept.tensor(f"state {name}", state)
        for owner, name, _ in lowered.attributes:
            kept.attribute(owner, name)
        for place, _, _ in lowered.containers:
            kept.container(place.fetch())

    def peak(self, args: tuple[Any, ...]) -> int:
        """Bytes that a call needs."""
        if self.name != "eager":
            use = self.run.lower(*args).memory()
            return int(use.results + use.arena + use.stacks)
        tracemalloc.start()
        try:
            with self.on():
                self.run(*args)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def round(self, args: tuple[Any, ...], calls: int) -> float:
        """The mean time of so many calls."""
        run = self.run
        with self.on():
            run(*args)  # warm up the fast path
            began = perf_counter()
            for _ in range(calls):
                run(*args)
            return (perf_counter() - began) / calls


class _Snapshot:
    """A snapshot of what calls may change: Tensors, attributes, lists, dicts and sets."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self._tensors: dict[int, tuple[str, Tensor, Any]] = {}
        self._attributes: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self._containers: dict[int, tuple[Any, Any]] = {}
        for i, arg in enumerate(args):
            for x in leaves(arg):
                self.tensor(f"argument {i} after the call", x)

    def tensor(self, name: str, x: Tensor) -> None:
        self._tensors.setdefault(id(x), (name, x, np.array(x._data)))

    def attribute(self, owner: Any, name: str) -> None:
        what = f"attribute {type(owner).__name__}.{name}"
        value = getattr(owner, name, _MISSING)
        self._attributes.setdefault((id(owner), name), (owner, name, value))
        for x in leaves(value):  # these may be written in place
            self.tensor(what, x)

    def container(self, owner: Any) -> None:
        self._containers.setdefault(id(owner), (owner, owner.copy()))

    def now(self) -> list[tuple[str, Any]]:
        """The present values, by names for the user."""
        found = [(name, np.array(x._data)) for name, x, _ in self._tensors.values()]
        for owner, name, _ in self._attributes.values():
            value, what = getattr(owner, name, None), f"attribute {type(owner).__name__}.{name}"
            numbers = [np.asarray(value)] if isinstance(value, bool | int | float) else []
            found += [(what, array) for array in (*numbers, *(np.array(x._data) for x in leaves(value)))]
        return found

    def restore(self) -> None:
        for owner, name, value in self._attributes.values():
            if value is not _MISSING:
                setattr(owner, name, value)
            elif hasattr(owner, name):
                delattr(owner, name)
        for container, content in self._containers.values():
            set_content(container, False, content)
        for _, x, array in self._tensors.values():
            if x._data.tobytes() != array.tobytes():  # else it may be shared, or read-only
                x._own()[...] = array


_MISSING = object()


def _measured(
    what: str, modes: list[_Mode], args: tuple[Any, ...], seconds: float, rtol: float | None
) -> list[Measured]:
    kept = _Snapshot(args)
    for mode in modes:
        progress.at(f"{what}, compiling for {mode.name}")
        mode.compiled(args, kept)
    try:
        _check_agreement(what, modes, args, kept, rtol)
        for mode in modes:
            mode.memory = mode.peak(args)
        _rounds(what, modes, args, seconds)
    finally:
        kept.restore()
    return [Measured(what, mode.name, tuple(mode.rounds), mode.compile, mode.memory) for mode in modes]


def _load(backend: str) -> None:
    """Warms up a backend by compiling an empty program, without writing files of graphs."""
    saved = context.save_graphs
    context.save_graphs = False
    try:
        jit(_nothing, backend=backend).lower(Tensor(0.0))
    finally:
        context.save_graphs = saved


def _nothing(x: Any) -> Any:
    return x


def _rounds(what: str, modes: list[_Mode], args: tuple[Any, ...], seconds: float) -> None:
    calls = {}
    for mode in modes:
        for _ in range(10):  # until the fast path is installed
            once = mode.round(args, 1)
            if once > 0.1 * seconds:
                break
        calls[mode.name] = max(1, min(10_000, round(_BATCH / max(once, 1e-9))))
    least, most = _ROUNDS
    spent = dict.fromkeys(calls, 0.0)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for i in range(most):
            waiting = [m for m in modes if len(m.rounds) < least or spent[m.name] < seconds]
            if not waiting:
                break
            for mode in waiting:
                progress.at(f"{what}, {mode.name}, round {i + 1}")
                began = perf_counter()
                mode.rounds.append(mode.round(args, calls[mode.name]))
                spent[mode.name] += perf_counter() - began
            gc.collect(0)
    finally:
        if collecting:
            gc.enable()


# ------------------------------------------------------------------------------------------------ agreement
def _check_agreement(what: str, modes: list[_Mode], args: tuple[Any, ...], kept: _Snapshot, rtol: float | None) -> None:
    """ValueError where the results of two modes differ, each begun in the same state."""
    wanted: list[tuple[str, Any]] | None = None
    for mode in modes:
        progress.at(f"{what}, comparing the results of {mode.name}")
        kept.restore()
        tensors = [x for x in leaves(mode.called(args)) if isinstance(x, Tensor)]
        found = [(f"result {i}", np.array(x._data)) for i, x in enumerate(tensors)] + kept.now()
        if wanted is None:
            wanted = found
        elif len(wanted) != len(found):
            raise ValueError(f"{what}: {modes[0].name} gives {len(wanted)} Tensors, {mode.name} {len(found)}")
        for (name, a), (_, b) in zip(wanted, found, strict=True):
            why = _difference(a, b, rtol)
            if why:
                raise ValueError(
                    f"{what}: {modes[0].name} and {mode.name} do not agree: {name} {why}; "
                    "or calls change something on which it depends and of which compiled code does not know"
                )
    kept.restore()


def _difference(a: Any, b: Any, rtol: float | None) -> str:
    """How two arrays differ; empty where they are close."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"is {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    if a.dtype.kind in "biu":
        return "" if np.array_equal(a, b) else f"differs in {int((a != b).sum())} of {a.size} elements"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b, itemsize = a.astype(wide), b.astype(wide), a.dtype.itemsize
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return "has NaN or infinities in one of them"
        scale = max(float(np.abs(a[finite]).max(initial=0.0)), 1e-30)
        most = float(np.abs(a - b)[finite].max(initial=0.0))
    close = _CLOSE[itemsize] if rtol is None else rtol
    return "" if most <= close * scale else f"differs by {most:.3g}, where its largest element is {scale:.3g}"
