"""What compilation made of one call: source, IR at every stage, generated code, and what was decided."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..backends.base import Coverage, SilentExecutable, Work
from ..backends.numpy.backend import NumpyProgram
from ..compiler.pipeline import coverage, numpy_program, planned, work
from ..compiler.specialised import Specialised
from ..frontend.guards.objects import is_ours
from ..ir.core import Module
from ..locks import remembered
from ..primitives.flops import bytes_of_type
from ..runtime.tensor import Tensor
from ..whole_files import write_text
from .irtext import Bindings, IRText
from .memory_use import MemoryUse

if TYPE_CHECKING:
    from .cost import Cost
    from .derivative_source import PythonSource
    from .origin import Origin
    from .pictures import Picture
    from .timing import Timing
    from .where import Where

__all__ = ["STAGES", "Artifact"]

#: source: the user's text; front: as lowered; adjoint: derivatives expanded; opt: after all passes; plan: what
#: can share loops and bytes; code: the generated program.
STAGES = ("source", "front", "adjoint", "opt", "plan", "code")


class Artifact:
    """Returned by ``fn.lower(*args)``."""

    def __init__(
        self,
        name: str,
        fn: Any,
        arguments: str,
        compiled: Specialised,
        leaves: Sequence[Tensor] = (),
        types_only: Sequence[Tensor] = (),
    ) -> None:
        self._name, self._fn, self._arguments, self._compiled = name, fn, arguments, compiled
        #: the Tensors among the arguments, for those who run the program
        self._leaves = tuple(leaves)
        #: which of them stand for a type and have no elements
        self._types_only = frozenset(i for i, x in enumerate(leaves) if any(x is t for t in types_only))
        compiled.program.front  # noqa: B018  (a program found on disk has none yet, and names the line that asks for it)

    def ir(self, stage: str = "opt") -> IRText:
        """The text of one stage, with a header: a str that can be compared, saved and run; see `IRText`.

        `stage` is "source", "front" (as lowered), "adjoint" (derivatives expanded), "opt" (after all passes), "plan"
        (what can share loops and bytes) or "code"; ValueError for one that does not exist.  But for "source" and
        "code", which show what the user has written, it is ASCII.

        >>> from autodiff_compiler import Tensor, jit
        >>> artifact = jit(lambda x: x * 2).lower(Tensor([1.0, 2.0]))
        >>> artifact.ir("front").run([3.0, 4.0])
        (array([6., 8.], dtype=float32),)
        """
        if stage not in STAGES:
            raise ValueError(f"stage must be one of {', '.join(STAGES)}, not {stage!r}")
        compiled = self._compiled
        if stage == "source":
            return IRText(_written(self._fn, self._name), stage, self.of)
        if stage == "code":
            return IRText(self.code(), stage, self.of, self._bound(compiled.program.stages.opt, code=True))
        from .dumps import stage_text

        module = self._module(stage)
        text = stage_text(stage, module, compiled.program.stages, self.of, compiled.lowered)
        return IRText(text, stage, self.of, self._bound(module))

    def _module(self, stage: str) -> Module:
        """The module whose text a stage shows; each time the same one, so that its ops can be found again."""
        return self._planned if stage == "plan" else getattr(self._compiled.program.stages, stage)

    @remembered
    def _planned(self) -> Module:
        return planned(self._compiled.program.stages.opt)

    def _bound(self, module: Module, code: bool = False) -> Bindings:
        """What a text of this program leaves out."""
        lowered, executable = self._compiled.lowered, self._compiled.program.executable
        again = None
        if code and isinstance(executable, NumpyProgram):
            again = executable.again
        return Bindings(module, lowered.states, tuple([c.fetch for c in lowered.captures]), again)

    @property
    def of(self) -> str:
        """The call that was compiled, e.g. ``loss(f32[8,4], 3)`` or ``Net.construct(f32[8,4])``."""
        owner, _, others = self._arguments.partition(", ")
        if _is_method(self._fn) and owner.isidentifier():
            return f"{owner}.{self._name}({others})"
        return f"{self._name}({self._arguments})"

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

    def source(self) -> PythonSource:
        """The program as Python over NumPy: a text to read, which runs by itself; see `PythonSource`.

        UnsupportedCallError: something in the program, named with its line, is not to be had with NumPy alone.

        >>> from autodiff_compiler import TensorSpec, grad
        >>> source = grad(lambda x: (x * x).sum()).lower(TensorSpec("f32[3]")).source()
        >>> source.splitlines()[-2:]
        ['    d_x = 2 * x', '    return d_x']
        """
        from .derivative_source import python_of

        return python_of(self._name, self._arguments, self._compiled)

    def graph(self, stage: str = "opt", fmt: str = "svg", by: str | None = None) -> Picture:
        """A stage as a picture: a str in the format `fmt`, "svg", "dot" or "mermaid"; see `Picture`.

        Nodes are ops, or `by` "line" the user's lines; None: ops unless there are very many.  Frames hold what belongs
        to one line, and the blocks of control flow; dashed is what the backward pass needs of the forward pass.
        `stage` is "front", "adjoint", "opt" or "plan"; ValueError for another one, or another format.

        >>> from autodiff_compiler import TensorSpec, grad
        >>> artifact = grad(lambda x: (x * x).sum()).lower(TensorSpec("f32[3]"))
        >>> artifact.graph(fmt="dot").startswith("digraph")
        True
        """
        from .pictures import picture

        return picture(self, stage, fmt, by)

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
        found = self._work
        limits = machine_limits(found.backend) if found.backend in ("native", "numpy") else None
        return cost_of(self._name, found, limits, trips)

    def timing(self, n: int = 20) -> Timing:
        """Runs the program `n` times: seconds of a run, and what each line and kernel takes of them; see `Timing`.

        The arguments are those that `lower` was given; for a `TensorSpec` numbers between 0 and 1 are drawn, integers
        are 0.  States and the state of random numbers stay what they are; what the program prints or calls back
        happens.  ValueError if `n` is not positive, RuntimeError on an Ascend device, whose kernels cannot be timed.

        >>> from autodiff_compiler import TensorSpec, jit
        >>> timing = jit(lambda x: (x * 2).sum()).lower(TensorSpec("f32[64]")).timing(3)
        >>> len(timing.runs), timing.median > 0
        (3, True)
        """
        from .timing import timing

        return timing(self, n)

    @remembered
    def _work(self) -> Work:
        """What the program does when it is called; it takes as long as its compilation to find out."""
        program = self._compiled.program
        return work(program.stages.opt, program.in_place)

    def memory(self) -> MemoryUse:
        """The bytes of arguments, results and constants, of the arena and of stacks, and of code; see `MemoryUse`."""
        program = self._compiled.program
        opt, executable = program.stages.opt, program.executable
        found = self._work
        arguments, results = ([bytes_of_type(x.type) for x in side] for side in (opt.entry.args, opt.entry.outs))
        storage = found.storage
        return MemoryUse(
            self._name, found.backend, sum(arguments), sum(results), sum(arguments[i] for i in executable.overwrites),
            storage.constants, storage.arena, storage.stacks.known, storage.stacks.per_trip,
            getattr(executable, "code_bytes", None), storage.alive,
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

    def where(self, line: str | int) -> Where:
        """What became of a line of the user's, "model.py:14" or 14: its ops at each stage, their adjoints, code.

        ValueError names the nearest lines with ops if there are none on this one.

        >>> from autodiff_compiler import Tensor, jit
        >>> def f(x):
        ...     y = x * 2
        ...     return y + 1
        >>> where = jit(f).lower(Tensor([1.0, 2.0])).where(2)
        >>> where.place.text, where.ops["opt"][-1].values
        ('y = x * 2', ('%y',))
        """
        from .where import where

        return where(self, line)

    def origin(self, value: str, stage: str | None = None) -> Origin:
        """Where a value such as "%d_w1" comes from: its op, the user's line, and what it is the adjoint of.

        Without a stage it is looked for in adjoint, opt, plan and front, in this order; ValueError if it is in none.

        >>> from autodiff_compiler import Tensor, grad, ops
        >>> origin = grad(lambda x: ops.exp(x)).lower(Tensor(1.0)).origin("%d_x")
        >>> origin.relation, origin.of.value
        ('the adjoint of', '%x')
        """
        from .origin import origin

        return origin(self, value, stage)

    def to_html(self, path: str, timing: Timing | None = None) -> None:
        """Writes a report to look at in a browser: source, IR and code side by side, linked by line, in one file.

        It also shows what each line costs, which values hold the memory, and what `explain` says; it needs no network.
        With what `timing` measured it shows measured times, too.

        >>> import os, tempfile
        >>> from autodiff_compiler import Tensor, jit
        >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
        >>> jit(lambda x: x * 2).lower(Tensor([1.0, 2.0])).to_html(path)
        >>> os.path.exists(path)
        True
        """
        from .report import page

        write_text(path, page(self, timing))

    def explain(self) -> str:
        """What was decided and why, in sections that are there if they have something to say.

        What is static and what dynamic; loops and branches; what the adjoint reads of the forward part, with bytes;
        kernels; guards; Tensors from outside; states; the passes with their times.

        >>> from autodiff_compiler import Tensor, jit
        >>> explained = jit(lambda x, n: x * n).lower(Tensor([1.0]), 3).explain()
        >>> [line for line in explained.splitlines() if line.startswith("  n: ")]
        ['  n: static, int 3']
        """
        from .decisions import explained

        return explained(self)

    def __repr__(self) -> str:
        return f"<compiled {self.of}>"

    def _repr_html_(self) -> str:
        from .report import compact

        return compact(self)


def _is_method(fn: Any) -> bool:
    """Whether a function was written in a class, for its objects."""
    owner = getattr(fn, "__qualname__", "").rpartition("<locals>.")[2].rpartition(".")[0]
    return bool(owner) and inspect.isfunction(fn) and fn.__code__.co_varnames[:1] == ("self",)


def _written(fn: Any, name: str) -> str:
    """The user's source of a function; of what was made of one (a derivative, a partial call), of that one."""
    fn = inspect.unwrap(fn)
    construct = getattr(type(fn), "construct", None)
    if construct is None:
        made_of = ["func"] if isinstance(fn, partial) else ["fn", "__func__"] if is_ours(type(fn)) else []
        for held in made_of:
            if hasattr(fn, held):
                return _written(getattr(fn, held), name)
    try:
        return inspect.getsource(construct or fn)
    except (OSError, TypeError):
        return f"# no source of {name}\n"
