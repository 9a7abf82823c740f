"""What compilation made of one call: source, IR at every stage, generated code, and what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backends.base import Coverage, SilentExecutable
from ..compiler.pipeline import coverage, numpy_program
from ..whole_files import write_text
from .compiled_call import STAGES, CompiledCall
from .cost import Cost
from .decisions import Explanation, explained
from .irtext import IRText
from .memory_use import MemoryUse
from .origin import Origin, origin
from .where import Where, where

if TYPE_CHECKING:
    from .comparison import Comparison
    from .derivative_source import PythonSource
    from .pictures import Picture
    from .timing import Timing

__all__ = ["STAGES", "Artifact", "CompiledCall"]


class Artifact:
    """Returned by ``fn.lower(*args)``."""

    def __init__(self, call: CompiledCall) -> None:
        self._call = call

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
        return self._call.ir(stage)

    @property
    def of(self) -> str:
        """The call that was compiled, e.g. ``loss(f32[8,4], 3)`` or ``Net.construct(f32[8,4])``."""
        return self._call.of

    def code(self, form: str = "source") -> str:
        """The generated program: a Python module over NumPy that runs without this package.

        Of the native backend: LLVM text, where every function names the ops and the lines of the user that it runs;
        with `form` "assembly" the processor's instructions.  On an Ascend device: the operators in order, with
        shapes, places and the user's lines.  ValueError for a form that there is not.
        """
        return self._call.code(form)

    def source(self) -> PythonSource:
        """The program as Python over NumPy: a text to read, which runs by itself; see `PythonSource`.

        UnsupportedCallError: something in the program, named with its line, is not to be had with NumPy alone.

        >>> from autodiff_compiler import TensorSpec, grad
        >>> source = grad(lambda x: (x * x).sum()).lower(TensorSpec("f32[3]")).source()
        >>> source.splitlines()[-2:]
        ['    d_x = 2 * x', '    return d_x']
        """
        from .derivative_source import python_of  # loaded when asked for: it is large

        return python_of(self._call.name, self._call.arguments, self._call.compiled)

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
        from .pictures import picture  # loaded when asked for, as few ask

        return picture(self._call, stage, fmt, by)

    def cost(self, *, trips: int = 1, **sizes: int) -> Cost:
        """Operations, bytes moved, and an estimate of time, in total and for each line; see `Cost`.

        `trips`: how many trips of loops are counted whose length is not known before the call.  The limits of the
        machine are measured when they are first asked for, which takes a second at most; ValueError if `trips` is
        negative.

        Where sizes are symbolic, counts are formulas; `sizes` gives symbols values.  TypeError for a symbol that there
        is not, ValueError for a size that the program does not take.

        >>> from autodiff_compiler import TensorSpec, jit
        >>> artifact = jit(lambda x, w: x @ w).lower(TensorSpec("f32[n,8]"), TensorSpec("f32[8,m]"))
        >>> artifact.cost().flops, artifact.cost(n=10, m=4).flops
        (16*m*n, 640)
        """
        return self._call.cost(trips, self._call.symbols_of(sizes))

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
        from .timing import timing  # loaded when asked for, as few ask

        return timing(self._call, n)

    def memory(self, **sizes: int) -> MemoryUse:
        """The bytes of arguments, results and constants, of the arena and of stacks, and of code; see `MemoryUse`.

        Where sizes are symbolic, they are formulas; `sizes` gives symbols values, see `cost`.

        >>> from autodiff_compiler import TensorSpec, jit
        >>> memory = jit(lambda x: x * 2).lower(TensorSpec("f32[n,8]")).memory
        >>> memory().arguments, memory(n=3).arguments
        (32*n, 96)
        """
        return self._call.memory(self._call.symbols_of(sizes))

    def save(self, path: str) -> None:
        """Writes the generated program to a file.

        Of the native backend LLVM text is written to a name that ends in ".ll"; to others, the program over NumPy,
        which Python can run.
        """
        program = self._call.compiled.program
        executable = program.executable
        if isinstance(executable, SilentExecutable) and not str(path).endswith(".ll"):
            executable = numpy_program(program.stages.opt)
        executable.save(path)

    def coverage(self) -> Coverage:
        """How each op runs on the device in use; of an Ascend device also what its slow cores do, and the host."""
        return coverage(self._call.compiled.program.stages.opt)

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
        return where(self._call, line)

    def origin(self, value: str, stage: str | None = None) -> Origin:
        """Where a value such as "%d_w1" comes from: its op, the user's line, and what it is the adjoint of.

        Without a stage it is looked for in adjoint, opt, plan and front, in this order; ValueError if it is in none.

        >>> from autodiff_compiler import Tensor, grad, ops
        >>> origin = grad(lambda x: ops.exp(x)).lower(Tensor(1.0)).origin("%d_x")
        >>> origin.relation, origin.of.value
        ('the adjoint of', '%x')
        """
        return origin(self._call, value, stage)

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
        write_text(path, _pages().page(self._call, timing))

    def explain(self) -> Explanation:
        """What was decided and why, in sections that are there if they have something to say.

        What is static and what dynamic; loops and branches; what the adjoint reads of the forward part, with bytes;
        kernels; guards; Tensors from outside; states; the passes with their times.  A str, whose `sections` are these.

        >>> from autodiff_compiler import Tensor, jit
        >>> explained = jit(lambda x, n: x * n).lower(Tensor([1.0]), 3).explain()
        >>> [line for line in explained.splitlines() if line.startswith("  n: ")]
        ['  n: static, int 3']
        """
        return explained(self._call)

    def compare(
        self, other: Artifact, names: tuple[str, str] | None = None, timings: tuple[Timing, Timing] | None = None
    ) -> Comparison:
        """This call beside another one: after a change, or for another backend; see `Comparison`.

        `names` are what tables call the two; `timings` what `timing` measured of both, for else times are estimates.

        >>> from autodiff_compiler import TensorSpec, jit
        >>> before, after = (jit(f).lower(TensorSpec("f32[8]")) for f in (lambda x: x * 2 * 3, lambda x: x * 6))
        >>> [(x.what, x.before, x.after) for x in before.compare(after).figures if x.what == "ops of stage front"]
        [('ops of stage front', 4, 2)]
        """
        from .comparison import Comparison  # loaded when asked for, as few ask

        return Comparison(self._call, other._call, names, timings)

    def __repr__(self) -> str:
        return f"<compiled {self.of}>"

    def _repr_html_(self) -> str:
        return str(_pages().compact(self._call))


def _pages() -> Any:
    """The module that makes pages, loaded when one is asked for: with pictures."""
    from . import report

    return report
