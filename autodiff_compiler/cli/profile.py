"""`profile`: what calls of a function take, by line and by kernel."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from time import perf_counter
from typing import Any

from ..config import GRAPH_MODE, context
from .command import Argument, Command, Result
from .saved import writing
from .targets import BACKEND, GRAD, LOADED, MAKE, TARGET, asked_backend, compiled_of
from .values import ARGS, RANDOM, positive, random_values

#: The fewest calls: one that compiles, one that is a first call, one that shows what each takes.
_FEWEST = 3


def _profiled(options: Namespace) -> Result:
    from ..profiling.profile import profile  # not for --help: it loads the compiler

    arguments = random_values(options.args or "", options.seed, options.range)
    before = context.mode
    context.set(mode=GRAPH_MODE)
    try:
        with asked_backend(options):
            fn = compiled_of(options, arguments)
            with profile(fn) as found:
                _call(fn, arguments, options.seconds)
    finally:
        context.set(mode=before)
    if options.trace is not None:
        with writing(options, options.trace):
            found.trace(options.trace)
    rows = {f"{kind}s": [{"place": row.place, **asdict(row)} for row in found.by(kind)] for kind in ("line", "kernel")}
    data = {"calls": found.calls, "seconds": found.seconds, "compile_seconds": found.compile_seconds, **rows}
    text = str(found).rstrip("\n") + (f"\n\n{options.trace}" if options.trace else "")
    return Result(text, {"target": options.target, **data, "trace": options.trace})


def _call(fn: Any, arguments: list[Any], seconds: float) -> None:
    """Calls a function for some seconds; the time of the first call, which compiles, does not count."""
    fn(*arguments)
    end = perf_counter() + seconds
    count = 1
    while count < _FEWEST or perf_counter() < end:
        fn(*arguments)
        count += 1


COMMAND = Command(
    "profile",
    "show what calls of a function take, line by line and kernel by kernel",
    _profiled,
    [
        TARGET,
        ARGS,
        MAKE,
        GRAD,
        *RANDOM,
        BACKEND,
        Argument("--seconds", type=positive, default=1.0, metavar="S", help="how long it is called, about (1)"),
        Argument("--trace", metavar="FILE", help="write a trace for Perfetto or chrome://tracing"),
    ],
    f"It is called on random arguments, compiled in a form that reads the clock between its parts. {LOADED}",
    [
        'profile model.py:loss --args "f32[32,784] i64[32]" --grad 0',
        'profile model.py:Net --make "Net(3, 1)" --args "f32[8,3]" --grad weights --trace net.json',
    ],
)
