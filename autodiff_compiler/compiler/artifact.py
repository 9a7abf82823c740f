"""What compilation made of one call: source, IR at every stage, generated code, and what was decided."""

from __future__ import annotations

import inspect
from typing import Any

from ..backends.base import Coverage, SilentExecutable
from ..config import context
from ..ir.text import print_module
from ..ir.walk import count_ops, ops_of
from ..passes.manager import dump
from .history import watched
from .pipeline import coverage, numpy_program, planned
from .specialised import Specialised

__all__ = ["STAGES", "Artifact"]

#: source: the user's text; front: as lowered; adjoint: derivatives expanded; opt: after all passes; plan: fused and
#: planned; code: the generated program.
STAGES = ("source", "front", "adjoint", "opt", "plan", "code")


class Artifact:
    """Returned by ``fn.lower(*args)``."""

    def __init__(self, name: str, fn: Any, arguments: str, compiled: Specialised) -> None:
        self._name, self._fn, self._arguments, self._compiled = name, fn, arguments, compiled

    def ir(self, stage: str = "opt") -> str:
        """The text of one stage, with a header; ValueError for a stage that does not exist."""
        if stage not in STAGES:
            raise ValueError(f"stage must be one of {', '.join(STAGES)}, not {stage!r}")
        if stage == "source":
            return self.source()
        if stage == "code":
            return self.code()
        stages = self._compiled.program.stages
        header = f"// stage {stage} of {self._name}({self._arguments})\n"
        if stage == "plan":
            return header + dump(planned(stages.opt), "plan_memory")
        return header + print_module(getattr(stages, stage))

    def source(self) -> str:
        """The user's source of the function."""
        fn = getattr(self._fn, "fn", self._fn)  # a derivative shows the function it is taken of
        construct = getattr(type(fn), "construct", None)
        try:
            return inspect.getsource(construct or inspect.unwrap(fn))
        except (OSError, TypeError):
            return f"# no source of {self._name}\n"

    def code(self, form: str = "source") -> str:
        """The generated program: a Python module over NumPy that runs without this package.

        Of the native backend: LLVM text, with the user's lines as comments; with `form` "assembly" the processor's
        instructions.  On an Ascend device: the operators in order, with shapes, places and the user's lines.
        ValueError for a form that there is not.
        """
        executable = self._compiled.program.executable
        if form == "source":
            return executable.source
        assembly = getattr(executable, "assembly", None)
        if form != "assembly" or assembly is None:
            forms = "source" if assembly is None else "source or assembly"
            raise ValueError(f"form must be {forms}, not {form!r}")
        return assembly()

    def save(self, path: str) -> None:
        """Writes the generated program to a file.

        Of the native backend LLVM text is written to a name that ends in ".ll"; to others, the program over NumPy,
        which Python can run.
        """
        program = self._compiled.program
        executable = program.executable
        if isinstance(executable, SilentExecutable) and not str(path).endswith(".ll"):
            executable = numpy_program(program.stages.opt)
        executable.save(path)

    def coverage(self) -> Coverage:
        """How each op runs on the device in use; of an Ascend device also what its slow cores do, and the host."""
        return coverage(self._compiled.program.stages.opt)

    def explain(self) -> str:
        """What was compiled, what it depends on, and what every pass did."""
        lowered, stages = self._compiled.lowered, self._compiled.program.stages
        lines = [f"{self._name}({self._arguments})", "", "values of the outermost function, as it left them:"]
        lines += [f"  {line}" for line in lowered.reasons.table()] or ["  none"]
        lines += ["", "depends on (checked at every call):"]
        lines += [f"  {w}" for w in watched([self._compiled])] or ["  nothing but its arguments"]
        lines += ["", "Tensors found outside (read at every call):"]
        lines += [f"  {c.what}: {c.type!r}" for c in lowered.captures] or ["  none"]
        lines += ["", "states:"]
        written = set(stages.opt.outputs)
        lines += [f"  {n}: {'read and written' if n in written else 'read'}" for n in stages.opt.inputs] or ["  none"]
        lines += ["", f"{'pass':<14}{'ms':>8}{'ops before':>12}{'ops after':>11}"]
        lines += [f"{r.name:<14}{r.seconds * 1e3:>8.2f}{r.before:>12}{r.after:>11}" for r in stages.reports]
        loops = [op for f in stages.opt for op in ops_of(f.body) if op.defn.name in ("while", "scan")]
        lines += ["", f"{sum(map(count_ops, stages.opt))} ops, {len(loops)} loops kept"]
        lines += [f"  {op.defn.name} at {op.loc}" for op in loops]
        if context.device_target != "CPU":
            lines += ["", f"on {context.device_target}:", *[f"  {line}" for line in str(self.coverage()).splitlines()]]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"<compiled {self._name}({self._arguments})>"
