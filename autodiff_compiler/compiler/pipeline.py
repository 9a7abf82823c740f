"""The way of a module from the frontend to an executable: passes in order, then the backend."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ..autodiff.expand import expand_grads
from ..backends.base import Backend, Coverage, Executable, HostBackend, Work
from ..backends.numpy.backend import NumpyBackend
from ..config import backends, context
from ..depth import deep
from ..ir.core import Module
from ..ir.failure import stage
from ..passes import dce, fuse, inline, licm, memory, simplify, state, unread  # noqa: F401  (passes register themselves)
from ..passes.manager import PIPELINE, PLANNING, REWRITES, PassReport, Step, module_pass, run

__all__ = ["Stages", "build", "coverage", "named_backend", "numpy_program", "optimise", "text", "work"]

module_pass("expand_grad")(expand_grads)

_numbers = itertools.count()


@dataclass
class Stages:
    """What became of a module: its text-able form after the steps users ask for, and a report per pass."""

    front: Module
    adjoint: Module
    opt: Module
    reports: list[PassReport] = field(default_factory=list)


@deep
def optimise(module: Module) -> Stages:
    """Runs the pipeline over a frontend's module; dumps and checks as the context asks."""
    found: dict[str, Module] = {}

    def observe(report: PassReport, now: Module) -> None:
        if report.name in ("lift_state", "expand_grad"):
            found["adjoint"] = now

    level = context.optimize if module.optimize is None else module.optimize
    pipeline = PIPELINE if level else _without_rewriting(PIPELINE)
    result, reports = run(module, pipeline, dump_dir=_dump_dir(module), verify=context.verify, observe=observe)
    return Stages(module, found.get("adjoint", module), result, reports)


def _without_rewriting(pipeline: Sequence[Step]) -> list[Step]:
    """The passes that a program cannot do without: what ``optimize=0`` asks for."""
    steps: list[Step] = []
    for step in pipeline:
        if isinstance(step, str):
            steps += [step] if step not in REWRITES else []
        else:
            steps.append(tuple([name for name in step if name not in REWRITES]))
    return steps


def planned(module: Module) -> Module:
    """The module with the plan a backend may follow; for inspection."""
    return run(module, PLANNING)[0]


@deep
def build(module: Module, in_place: Collection[str] = ()) -> Executable:
    """A module that went through the pipeline, as a program; it may overwrite the states `in_place` names."""
    with stage("backend", module):
        if context.device_target == "CPU":
            return _of_cpu(module).compile(module, in_place=in_place)
        return _of_device().compile(module)


def text(module: Module, in_place: Collection[str] = ()) -> str:
    """The LLVM text of such a module that has one; `in_place` as it was built with."""
    from ..backends.native.backend import NativeBackend

    return NativeBackend(NumpyBackend()).text(module, in_place=in_place)


def numpy_program(module: Module) -> Executable:
    """Such a module as a program over NumPy, whatever runs it here."""
    return NumpyBackend().compile(module)


def coverage(module: Module) -> Coverage:
    """How the device in use runs the ops of such a module."""
    return (_of_cpu(module) if context.device_target == "CPU" else _of_device()).coverage(module)


def work(module: Module, in_place: Collection[str] = ()) -> Work:
    """What the program of such a module does when it is called; `in_place` as it was built with."""
    if context.device_target == "CPU":
        return _of_cpu(module).work(module, in_place=in_place)
    return _of_device().work(module)


def _of_cpu(module: Module) -> HostBackend:
    """The backend that the module, or the context, asks for; "auto": machine code where there can be some."""
    name = module.backend or context.backend
    if name not in backends:
        raise ValueError(f"AC_BACKEND is one of {', '.join(backends)}, not {name!r}")
    if name == "numpy" or (name == "auto" and backends["native"]() is not None):
        return NumpyBackend()
    return named_backend("native")


def named_backend(name: str) -> HostBackend:
    """The backend of the CPU that is called "native" or "numpy"."""
    if name == "numpy":
        return NumpyBackend()
    from ..backends.native.backend import NativeBackend

    return NativeBackend(NumpyBackend())


def _of_device() -> Backend:
    from ..backends.ascend.acl import acl
    from ..backends.ascend.backend import AscendBackend

    return AscendBackend(NumpyBackend().compile, acl.libraries.lacks)


def _dump_dir(module: Module) -> str | None:
    if not context.save_graphs:
        return None
    return os.path.join(context.save_graphs_path or "graphs", f"{next(_numbers):03d}_{module.entry.name}")
