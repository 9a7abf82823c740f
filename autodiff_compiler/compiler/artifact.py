"""What compilation made of one call: source, IR at every stage, generated code, and what was decided."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..backends.base import Coverage, SilentExecutable
from ..config import context
from ..ir.core import Value
from ..ir.text import print_module
from ..ir.types import TensorType
from ..ir.walk import count_ops, ops_of
from ..passes.manager import dump
from ..primitives.flops import size_of_type
from .history import watched
from .memory_use import MemoryUse
from .pipeline import coverage, numpy_program, planned, work
from .specialised import Specialised

if TYPE_CHECKING:
    from .cost import Cost

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

        Of the native backend: LLVM text, where every function names the ops and the lines of the user that it runs;
        with `form` "assembly" the processor's instructions.  On an Ascend device: the operators in order, with
        shapes, places and the user's lines.  ValueError for a form that there is not.
        """
        program = self._compiled.program
        executable = program.executable
        assembly = getattr(executable, "assembly", None)
        if form not in ("source", "assembly") or (form == "assembly" and assembly is None):
            forms = "source" if assembly is None else "source or assembly"
            raise ValueError(f"form must be {forms}, not {form!r}")
        if assembly is None:
            return executable.source
        from .annotated import with_assembly_comments, with_lines

        source = with_lines(executable.source, program.stages.opt)
        return source if form == "source" else with_assembly_comments(assembly(), source)

    def cost(self, *, trips: int = 1) -> Cost:
        """Operations, bytes moved, and an estimate of time, in total and for each line; see `Cost`.

        `trips`: how many trips of loops are counted whose length is not known before the call.  The limits of the
        machine are measured when they are first asked for, which takes a second at most; ValueError if `trips` is
        negative.
        """
        from .cost import cost_of
        from .machine_limits import machine_limits

        if trips < 0:
            raise ValueError(f"trips must not be negative, but is {trips}")
        program = self._compiled.program
        found = work(program.stages.opt, program.in_place)
        limits = machine_limits(found.backend) if found.backend in ("native", "numpy") else None
        return cost_of(self._name, found, limits, trips)

    def memory(self) -> MemoryUse:
        """The bytes of arguments, results and constants, of the arena and of stacks, and of code; see `MemoryUse`."""
        program = self._compiled.program
        opt, executable = program.stages.opt, program.executable
        found = work(opt, program.in_place)
        arguments, results = ([_bytes(x) for x in side] for side in (opt.entry.args, opt.entry.outs))
        storage = found.storage
        return MemoryUse(
            self._name, found.backend, sum(arguments), sum(results), sum(arguments[i] for i in executable.overwrites),
            storage.constants, storage.arena, storage.stacks, storage.per_trip, getattr(executable, "code_bytes", None),
        )  # fmt: skip

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


def _bytes(x: Value) -> int:
    """The bytes of a tensor; sequences, whose length only a call knows, count as none."""
    return size_of_type(x.type) * x.dtype.itemsize if isinstance(x.type, TensorType) else 0
