"""The way of a module from the frontend to an executable: passes in order, then the backend."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field

from ..autodiff.expand import expand_grads
from ..backends.base import Executable
from ..backends.numpy.backend import NumpyBackend
from ..config import context
from ..ir.core import Module
from ..passes import dce, fuse, inline, licm, memory, simplify, state  # noqa: F401  (passes register themselves)
from ..passes.manager import PIPELINE, PLANNING, PassReport, module_pass, run
from .depth import deep

__all__ = ["Stages", "build", "optimise"]

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

    result, reports = run(module, PIPELINE, dump_dir=_dump_dir(module), verify=context.verify, observe=observe)
    return Stages(module, found.get("adjoint", module), result, reports)


def planned(module: Module) -> Module:
    """The module with the plan a backend may follow; for inspection."""
    return run(module, PLANNING)[0]


@deep
def build(module: Module) -> Executable:
    """A module that went through the pipeline, as a program."""
    return NumpyBackend().compile(module)


def _dump_dir(module: Module) -> str | None:
    if not context.save_graphs:
        return None
    return os.path.join(context.save_graphs_path or "graphs", f"{next(_numbers):03d}_{module.entry.name}")
