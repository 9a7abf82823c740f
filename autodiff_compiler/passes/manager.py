"""Runs passes over a module: the list of passes, their times, dumps and checks.

A pass is a function from Module to Module, declared by name with `module_pass`; a pipeline is a list of names.  Layers
above declare passes of their own (the derivative, `expand_grad`) before they run a pipeline that names them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .. import escape, logs, progress
from ..errors import CompileError, InternalCompilerError
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.failure import failing_op, history_of, internal_error, leave, marked, op_of, place_of
from ..ir.remarks import declarations, remarks
from ..ir.text import FunctionPrinter, print_module
from ..ir.verify import verify as check
from ..ir.walk import count_ops, ops_of
from ..primitives.autodiff import EXPANDED

Pass: TypeAlias = Callable[[Module], Module]
#: What a dump prints behind an op, or behind the last line of a block.
Notes: TypeAlias = dict[Op | Block, str]
Describe: TypeAlias = Callable[[Function, dict[Value, str]], Notes]
#: The name of a pass, or names to be repeated as long as the module holds a `grad`.
Step: TypeAlias = str | tuple[str, ...]

PASSES: dict[str, Pass] = {}
#: By name of a pass: what it found out about a function (whose values have these names), shown in its dump.
NOTES: dict[str, Describe] = {}

#: From the frontend's module to what every backend takes.
PIPELINE: list[Step] = [
    "lift_state",
    "simplify",
    ("views", "expand_grad", "lift_state", "simplify"),
    "inline",
    "simplify",
    "dce",
    "licm",
    "unread",
    "buckets",
]
#: Those of them that only make programs better.
REWRITES = {"simplify", "dce", "licm", "unread", "views", "buckets"}
#: What follows for a backend that wants it.
PLANNING: list[Step] = ["fuse", "plan_memory"]


@dataclass(frozen=True)
class PassReport:
    """What one pass took and did: ops count nested ones in all functions."""

    name: str
    seconds: float
    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.name}: {self.before} to {self.after} operations in {self.seconds * 1e3:.2f} ms"


def module_pass(name: str, notes: Describe | None = None) -> Callable[[Pass], Pass]:
    """Declares a pass; `notes` says what its dump shows besides the IR."""

    def register(fn: Pass) -> Pass:
        PASSES[name] = fn
        if notes is not None:
            NOTES[name] = notes
        return fn

    return register


def run(
    module: Module,
    pipeline: Sequence[Step],
    *,
    dump_dir: str | Path | None = None,
    verify: bool = False,
    observe: Callable[[PassReport, Module], None] | None = None,
) -> tuple[Module, list[PassReport]]:
    """Runs the passes of a pipeline in order; returns the module and a report per pass that ran.

    With `dump_dir` every pass leaves ``NN_name.ir`` there (00 is the input); with `verify` every result is checked;
    `observe` is called after each pass.  A CompileError of the user's program passes through (with `dump_dir` it leaves
    ``NN_name.failed.ir`` with the op marked); any other failure of a pass leaves ``NN_name.before.ir`` (and
    ``.after.ir``) and raises InternalCompilerError, which names both.
    """
    folder = None if dump_dir is None else Path(dump_dir)
    if folder is not None:
        leave(folder, "00_input.ir", dump(module))
    reports: list[PassReport] = []
    told = logs.listener("passes")
    finished: set[str] = set()
    steps = list(reversed(pipeline))
    while steps:
        step = steps.pop()
        if not isinstance(step, str):
            if has_grad(module):
                steps += [step, *reversed(step)]
            continue
        before, stem, start = module, f"{len(reports) + 1:02d}_{step}", time.perf_counter()
        after: Module | None = None
        progress.at(f"pass {step}", reports[-1].after if reports else None)
        try:
            after = PASSES[step](before)
            seconds = time.perf_counter() - start
            finished.add(step)
            if step == "expand_grad":
                finished.discard("lift_state")  # backward blocks have come to life, and states with them
            if verify:
                check(after, _stage(after, finished))
        except Exception as error:
            if isinstance(error, RecursionError | Warning):  # a warning that the user asked to be an error
                raise
            if isinstance(error, CompileError) and not isinstance(error, InternalCompilerError):
                if folder is not None:
                    text = marked(before, op_of(before, error), error.message)
                    error.notes += (f"the program as it was then: {leave(folder, f'{stem}.failed.ir', text)}",)
                raise
            raise _failure(stem, before, after, folder, error) from error
        module = after
        reports.append(PassReport(step, seconds, _size(before), _size(module)))
        if told is not None:
            told.info("%s%s: %s", _place(module), module.entry.name, reports[-1])
        if folder is not None:
            leave(folder, f"{stem}.ir", dump(module, step))
        if observe is not None:
            observe(reports[-1], module)
    return module, reports


def has_grad(module: Module) -> bool:
    """Whether a derivative or a `vmap` is still to be expanded."""
    return any(op.defn.name in EXPANDED for function in module for op in ops_of(function.body))


def _stage(module: Module, finished: set[str]) -> str:
    """The stage of the verifier that a module has reached once these passes have run."""
    if "lift_state" not in finished or has_grad(module):  # what runs under a `grad` may still keep cells
        return "LOWERED"
    if "inline" not in finished:
        return "PURE"
    return "FUSED" if "fuse" in finished else "FIRST_ORDER"


def dump(module: Module, name: str | None = None) -> str:
    """The text of a module with remarks; with the name of a pass, what that pass found out stands there, too."""
    parts = ["\n".join(declarations(module))] if module.states or module.constants or module.callables else []
    parts += [dump_function(function, module, [name or ""]) for function in module]
    return "\n\n".join(parts) + "\n"


def dump_function(
    function: Function, module: Module, passes: Sequence[str] = (), names: dict[Value, str] | None = None
) -> str:
    """The text of a module's function with remarks and what these passes found out; `names` takes up its names."""
    printer = FunctionPrinter()
    lines = printer.function(function)
    if names is not None:
        names.update(printer.names)
    notes = remarks(function, printer.names, module.outputs if function is module.entry else ())
    for describe in [NOTES[name] for name in passes if name in NOTES]:
        for where, note in describe(function, printer.names).items():
            notes.setdefault(where, []).append(note)
    for where, texts in notes.items():
        lines[printer.line_of[where]] += f"  // {escape.ascii_line('; '.join(texts))}"
    return "\n".join(lines)


def _size(module: Module) -> int:
    return sum(map(count_ops, module))


def _place(module: Module) -> str:
    return logs.place(module.entry.loc or next((op.loc for op in module.entry.body.ops if op.loc is not None), None))


def _failure(stem: str, before: Module, after: Module | None, folder: Path | None, error: Exception) -> CompileError:
    """The report of a pass that failed, with the module as it was and as it became left in files."""
    name = stem.split("_", 1)[1]
    what = f"the pass {name} " + ("failed" if after is None else "made a module that is not valid")
    op = failing_op(error)
    note = f"{type(error).__name__}: {error}"
    files = [leave(folder, f"{stem}.before.ir", marked(before, op, note) + "\n" + history_of(error))]
    if after is not None:
        beside = Path(files[0])
        files.append(leave(beside.parent, beside.name.replace(".before.", ".after."), print_module(after)))
    return internal_error(error, what, name, files, place_of(error, before))
