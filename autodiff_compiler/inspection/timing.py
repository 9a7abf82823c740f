"""Measured time of runs of one program: in all, and by line, kernel and op."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from ..compiler.pipeline import timed
from ..config import context
from ..runtime.commits import noting
from .compiled_call import CompiledCall
from .cost import CALL_ITSELF
from .figures import duration, quartiles
from .measured import LEFT, Row, Tally, notes_of, slowest_first, table_of
from .tabular import Cells, Tables, text_table

#: How many rows of a table are shown.
_SHOWN = 20
#: The ratio of the sum of rows to the median above which a note says so.
_APART = 1.02


@dataclass(frozen=True, repr=False)
class Timing(Tables):
    """Measured times of a program, in seconds.

    `runs`: of each run of the program that calls use.  `lines`, `kernels` and `ops`: what these take in one run, the
    slowest first, by another program which reads the clock between them (see `Row`): the mean of the faster half of
    its runs.  Where sizes are symbolic, that program is for the sizes of the call.  Ops of one kernel share its time as
    the model of cost estimates.  The last row of each is the call
    itself, `outside` in seconds: what is left of the median of the runs for entering, leaving and memory for results.
    """

    name: str
    backend: str
    runs: tuple[float, ...]
    lines: tuple[Row, ...]
    kernels: tuple[Row, ...]
    ops: tuple[Row, ...]
    outside: float
    _left = LEFT

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    @property
    def spread(self) -> float:
        """The range of the middle half of the runs."""
        low, high = quartiles(self.runs)
        return high - low

    def table(self, by: str = "line") -> str:
        """A table as text, by "line", "kernel" or "op"; ValueError for something else."""
        return text_table(*self._table(by), LEFT)

    def _notes(self) -> list[str]:
        notes = notes_of([*self.lines[:_SHOWN], *self.kernels[:_SHOWN]])
        inside = sum(row.seconds for row in self.kernels) - self.outside
        if inside > _APART * self.median:
            notes.append(f"the rows were measured in other runs, in which they took {duration(inside)} together")
        return notes

    def _headline(self) -> str:
        a_run = f"{duration(self.median)} a run (median of {len(self.runs)})"
        return f"{self.name} on {self.backend}: {a_run}, spread {duration(self.spread)}"

    def _tables(self, *, everything: bool = False) -> list[Cells]:
        return [self._table(by) for by in ("line", "kernel")]

    def _table(self, by: str) -> Cells:
        rows = {"line": self.lines, "kernel": self.kernels, "op": self.ops}
        if by not in rows:
            raise ValueError(f"a table is by line, kernel or op, not by {by!r}")
        *measured, rest = rows[by]
        return table_of(measured[:_SHOWN], by, [rest], len(measured) - _SHOWN, f"`{by}s` has all")


def timing(call: CompiledCall, n: int) -> Timing:
    """See `Artifact.timing`."""
    if n < 1:
        raise ValueError(f"n must be positive, but is {n}")
    if context.device_target != "CPU":
        raise RuntimeError(f"programs are timed on the CPU only, not on {context.device_target}")
    compiled = call.compiled
    program = compiled.program
    measuring = timed(call.opt_at(call.sizes), program.in_place)
    times = measuring.times
    assert times is not None
    given = [_drawn(x._data, i) if i in call.types_only else x._data for i, x in enumerate(call.leaves)]
    given += [c.fetch()._data for c in compiled.lowered.captures]
    given += [state._data for state in compiled.states_read]
    with noting(compiled.lowered.module.states) if program.commits else nullcontext():
        runs = [seconds for seconds, _ in _runs(program.executable, given, n)]
        fastest = sorted(_runs(measuring, given, n), key=lambda run: run[0])[: (n + 1) // 2]
    tally = Tally()
    tally.add(call.name, times, sum(table for _, table in fastest))
    n = len(fastest)
    inside = tally.seconds / n
    outside = max(0.0, statistics.median(runs) - inside)
    tally.finish(n * (inside + outside))
    rest = Row(CALL_ITSELF, seconds=outside, cumulative=outside, share=outside / (inside + outside))
    lines, kernels, ops = ((*_each(found.values(), n), rest) for found in (tally.lines, tally.kernels, tally.ops))
    return Timing(call.name, times.backend, tuple(runs), lines, kernels, ops, outside)


def _runs(executable: Any, given: list[Any], n: int) -> Iterator[tuple[float, Any]]:
    """Seconds and span table of each of `n` runs, after a warm-up.

    Arguments that the program overwrites are copied for each run.
    """
    times = executable.times
    for i in range(n + 1):
        arrays = [np.array(x) if i in executable.overwrites else x for i, x in enumerate(given)]
        before = None if times is None else times.now()
        began = perf_counter_ns()
        results = executable.run(*arrays)
        took = perf_counter_ns() - began
        del results  # before the next run, so that it gets the same memory
        if i:
            yield took * 1e-9, None if times is None else times.now() - before


def _drawn(array: Any, seed: int) -> Any:
    """Random elements for an argument that is given as a type."""
    if array.dtype.kind in "biu":
        return np.zeros(array.shape, array.dtype)
    return np.random.default_rng(seed).random(array.shape).astype(array.dtype)


def _each(rows: Any, n: int) -> tuple[Row, ...]:
    """Averages rows over `n` runs, the slowest first."""
    for row in rows:
        row.calls, row.flops, row.bytes = round(row.calls / n), row.flops // n, row.bytes // n
        row.seconds, row.cumulative, row.limit = row.seconds / n, row.cumulative / n, row.limit / n
    return tuple(slowest_first(rows))
