"""From the frontend's module to an executable: the passes in order, then the backend."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import progress
from ..autodiff.expand import expand_grads
from ..backends.base import Backend, Coverage, Executable, HostBackend, Work
from ..backends.timed import TimedExecutable
from ..config import backends, context
from ..depth import deep
from ..ir.core import Module
from ..ir.failure import stage
from ..ir.naming import name_values
from ..ir.walk import count_ops, ops_of
from ..locks import importing
from ..passes import buckets, dce, fuse, inline, licm, memory, nonfinite, simplify, state, under_mask, unread  # noqa: F401  (passes register themselves)
from ..passes.manager import PIPELINE, PLANNING, REWRITES, PassReport, Step, module_pass, run
from ..passes.under_mask import selects
from .recorder import record_runs
from .save_graphs import dump_folder, save_late, save_picture

if TYPE_CHECKING:
    from ..backends.native.backend import NativeBackend
    from ..backends.native.prepare.unfused import Grouped
    from ..backends.numpy.backend import NumpyBackend

#: Part of the names of copies that passes made, which must not look like versions of a variable.
_COPY = "__"


@module_pass("expand_grad")
def _expand(module: Module) -> Module:
    return name_values(expand_grads(module), _COPY)


@dataclass
class Stages:
    """A module at the stages that users may look at, and a report per pass."""

    front: Module
    adjoint: Module
    opt: Module
    reports: list[PassReport] = field(default_factory=list)
    #: where the passes left their dumps, if they did
    folder: Path | None = None


@deep
def optimise(module: Module) -> Stages:
    """Runs the pipeline over a frontend's module; dumps and checks as the context asks."""
    found: dict[str, Module] = {}
    folder = dump_folder(module.entry.name)
    ran = itertools.count(1)

    def observe(report: PassReport, now: Module) -> None:
        if report.name in ("lift_state", "expand_grad"):
            found["adjoint"] = now
        if folder is not None:
            save_picture(folder, next(ran), report.name, now)

    name_values(module)
    level = context.optimize if module.optimize is None else module.optimize
    pipeline = PIPELINE if level else _without_rewriting(PIPELINE)
    if level and selects(module) and not _asks_numpy(module):  # NumPy gathers, and adds in the order of eager mode
        at = pipeline.index("simplify") + 1
        pipeline = [*pipeline[:at], "under_mask", *pipeline[at:]]
    if module.check_nonfinite:  # what would be moved out of a loop would run even if that has no trip
        pipeline = [*(step for step in pipeline if step != "licm"), "check_nonfinite"]
    if folder is not None:
        save_picture(folder, 0, "input", module)
    result, reports = run(module, pipeline, dump_dir=folder, verify=context.verify, observe=observe)
    result = name_values(_without_names(result), _COPY)
    return Stages(module, found.get("adjoint", module), result, reports, folder)


def _without_rewriting(pipeline: Sequence[Step]) -> list[Step]:
    """The pipeline of ``optimize=0``: only the passes that a program cannot do without."""
    steps: list[Step] = []
    for step in pipeline:
        if isinstance(step, str):
            steps += [step] if step not in REWRITES else []
        else:
            steps.append(tuple([name for name in step if name not in REWRITES]))
    return steps


def _without_names(module: Module) -> Module:
    """The module without names of constants that a derivative gave: other ops read the same constants by now."""
    for function in module:
        for op in ops_of(function.body):
            if op.defn.name == "const" and op.loc is not None and op.loc.tag:
                op.results[0].name = None
    return module


def planned(module: Module) -> Module:
    """The module with the plan a backend may follow; for inspection."""
    return run(module, PLANNING)[0]


#: The share of the time of a compilation that is usually over when the passes are.
_DONE = 0.4


@deep
def build(module: Module, in_place: Collection[str] = ()) -> Executable:
    """A module that went through the pipeline, as a program; it may overwrite the states `in_place` names."""
    progress.at("code for the processor", lambda: sum(map(count_ops, module)), done=_DONE)
    with stage("backend", module):
        if context.device_target != "CPU":
            return _of_device().compile(module)
        if not context.profile:
            return _of_cpu(module).compile(module, in_place=in_place)
        made = timed(module, in_place)
        record_runs(made, module.entry.name)
        return made


def built(stages: Stages, in_place: Collection[str] = ()) -> Executable:
    """The program of what went through the pipeline; `save_graphs` may ask for its code."""
    made = build(stages.opt, in_place)
    if stages.folder is not None:
        save_late(stages.folder, stages.opt, len(stages.reports), made)
    return made


def timed(module: Module, in_place: Collection[str] = ()) -> TimedExecutable:
    """Such a module as a program of the CPU that times its parts."""
    made: Any = _of_cpu(module).compile(module, in_place=in_place, timed=True)
    return made


def text(module: Module, in_place: Collection[str] = ()) -> str:
    """The LLVM text of such a module that has one; `in_place` as it was built with."""
    return _native().text(module, in_place=in_place)


def numpy_program(module: Module) -> Executable:
    """Such a module as a program over NumPy, whatever runs it here."""
    return _numpy().compile(module)


def coverage(module: Module) -> Coverage:
    """How the device in use runs the ops of such a module."""
    return (_of_cpu(module) if context.device_target == "CPU" else _of_device()).coverage(module)


def work(module: Module, in_place: Collection[str] = ()) -> Work:
    """What the program of such a module does when it is called; `in_place` as it was built with."""
    if context.device_target == "CPU":
        return _of_cpu(module).work(module, in_place=in_place)
    return _of_device().work(module)


def kernels_of(module: Module) -> Grouped:
    """Of such a module's machine code: which ops share a kernel, and why others do not."""
    from ..backends.native.prepare.unfused import grouped  # only for inspection, and where there is a native backend

    return grouped(module)


def why_numpy(module: Module) -> str:
    """Why NumPy runs such a module, and no machine code."""
    if (module.backend or context.backend) == "numpy":
        return "as the backend numpy was asked for"
    missing = backends["native"]()
    return _native().refusal(module) if missing is None else missing


def _asks_numpy(module: Module) -> bool:
    """Whether the module, or the context, asks for NumPy's program; "auto": machine code where there can be some."""
    name = module.backend or context.backend
    if name not in backends:
        raise ValueError(f"AC_BACKEND is one of {', '.join(backends)}, not {name!r}")
    return name == "numpy" or (name == "auto" and backends["native"]() is not None)


def _of_cpu(module: Module) -> HostBackend:
    """The backend that the module, or the context, asks for."""
    return _numpy() if _asks_numpy(module) else _native()


def named_backend(name: str) -> HostBackend:
    """The backend of the CPU that is called "native" or "numpy"."""
    return _numpy() if name == "numpy" else _native()


def _native() -> NativeBackend:
    with importing:  # not before it is used: it is large, and may be missing
        from ..backends.native.backend import NativeBackend
    return NativeBackend(_numpy)


def _numpy() -> NumpyBackend:
    with importing:  # not before it is used: most programs are machine code
        from ..backends.numpy.backend import NumpyBackend
    return NumpyBackend()


def _of_device() -> Backend:
    # not before a device is used: its libraries may be missing
    from ..backends.ascend.backend import AscendBackend

    return AscendBackend.installed(_numpy().compile)
