"""A compiled call: the module and the text of each stage, its generated code, and what it does and takes."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..backends.base import Work
from ..backends.numpy.backend import NumpyProgram
from ..compiler.pipeline import planned, work
from ..compiler.specialised import Specialised
from ..config import context
from ..frontend.guards.objects import is_ours
from ..ir.core import Module
from ..ir.known_sizes import with_known_sizes
from ..ir.sizes import Symbol
from ..locks import remembered
from ..primitives.flops import bytes_of_type
from ..runtime.tensor import Tensor
from .annotated import with_assembly_comments, with_lines
from .cost import Cost, cost_of
from .dumps import stage_text
from .irtext import Bindings, IRText
from .machine_limits import machine_limits
from .memory_use import MemoryUse

#: source: the user's text; front: as lowered; adjoint: derivatives expanded; opt: after all passes; plan: what
#: can share loops and bytes; code: the generated program.
STAGES = ("source", "front", "adjoint", "opt", "plan", "code")


class CompiledCall:
    """A call with its compiled form: what every view of an `Artifact` is made of."""

    def __init__(
        self,
        name: str,
        fn: Any,
        arguments: str,
        compiled: Specialised,
        values: Mapping[str, int] | None = None,
        leaves: Sequence[Tensor] = (),
        types_only: Sequence[Tensor] = (),
    ) -> None:
        self.name, self.fn, self.arguments, self.compiled = name, fn, arguments, compiled
        #: the Tensors among the arguments, for those who run the program
        self.leaves = tuple(leaves)
        #: the positions of those that stand for a type and have no elements
        self.types_only = frozenset(i for i, x in enumerate(leaves) if any(x is t for t in types_only))
        #: the symbols of its sizes, each with what it is in this call
        self.sizes = self.symbols_of(values or {})
        #: the backend that was asked for (a program found on disk has no `front` yet, and names the line that wants it)
        self._backend = compiled.program.front.backend or context.backend

    @property
    def of(self) -> str:
        """See `Artifact.of`."""
        owner, _, others = self.arguments.partition(", ")
        if _is_method(self.fn) and owner.isidentifier():
            return f"{owner}.{self.name}({others})"
        return f"{self.name}({self.arguments})"

    def ir(self, stage: str) -> IRText:
        """See `Artifact.ir`."""
        if stage not in STAGES:
            raise ValueError(f"stage must be one of {', '.join(STAGES)}, not {stage!r}")
        stages = self.compiled.program.stages
        if stage == "source":
            return IRText(_written(self.fn, self.name), stage, self.of)
        if stage == "code":
            return IRText(self.code(), stage, self.of, self._bound(stages.opt, code=True))
        module = self.module(stage)
        text = stage_text(stage, module, stages, self.of, self.compiled.lowered, self.said_of_symbols().values())
        return IRText(text, stage, self.of, self._bound(module))

    def module(self, stage: str) -> Module:
        """The module whose text a stage shows; each time the same one, so that its ops can be found again."""
        return self._planned if stage == "plan" else getattr(self.compiled.program.stages, stage)

    @remembered
    def _planned(self) -> Module:
        return planned(self.compiled.program.stages.opt)

    def _bound(self, module: Module, code: bool = False) -> Bindings:
        """The bindings of a text: constants, states, captures and host functions that it only names."""
        lowered, executable = self.compiled.lowered, self.compiled.program.executable
        again = None
        if code and isinstance(executable, NumpyProgram):
            again = executable.again
        return Bindings(module, lowered.states, tuple([c.fetch for c in lowered.captures]), again)

    def code(self, form: str = "source") -> str:
        """See `Artifact.code`."""
        program = self.compiled.program
        executable = program.executable
        assembly = getattr(executable, "assembly", None)
        if form not in ("source", "assembly") or (form == "assembly" and assembly is None):
            forms = "source" if assembly is None else "source or assembly"
            raise ValueError(f"form must be {forms}, not {form!r}")
        if assembly is None:
            return executable.source
        source = with_lines(executable.source, program.stages.opt)
        return source if form == "source" else with_assembly_comments(assembly(), source)

    @remembered
    def work(self) -> Work:
        """The work of one run, with formulas where sizes are symbolic; computing it takes as long as compilation."""
        return work(self.opt, self.compiled.program.in_place)

    @remembered
    def opt(self) -> Module:
        """The module after all passes, for the backend it was compiled for, whatever is in use now."""
        opt = self.compiled.program.stages.opt
        return opt if opt.backend else replace(opt, backend=self._backend)

    def opt_at(self, sizes: Mapping[Symbol, int]) -> Module:
        """The module after all passes with numbers in the place of some symbols, for the backend that runs this one."""
        return replace(with_known_sizes(self.opt, sizes), backend=self.work.backend) if sizes else self.opt

    def _work_at(self, sizes: Mapping[Symbol, int]) -> Work:
        return work(self.opt_at(sizes), self.compiled.program.in_place) if sizes else self.work

    def said_of_symbols(self, without: Collection[Symbol] = ()) -> dict[str, str]:
        """What is known of each symbol, by its name; `without` those that have a value."""
        sizes = self.compiled.sizes
        if sizes is None:
            return {}
        said = [text for text, _ in self.compiled.said_of_sizes()]
        return {s.name: text for s, text in zip(sizes.symbols, said, strict=False) if s not in without}

    @property
    def said_sizes(self) -> str:
        """The symbols with what they are in this call, as ``n = 32, m = 4``."""
        return ", ".join(f"{s} = {value}" for s, value in self.sizes.items())

    def symbols_of(self, given: Mapping[str, int]) -> dict[Symbol, int]:
        """The symbols of these names with their values; TypeError for other names, ValueError for values of no call."""
        symbols = {s.name: s for s in self.compiled.sizes.symbols} if self.compiled.sizes is not None else {}
        for name, value in given.items():
            if name not in symbols:
                known = (
                    f"those of this program are {', '.join(symbols)}" if symbols else "all of this program are known"
                )
                raise TypeError(f"{name!r} is no symbolic size: {known}")
            if type(value) is not int:
                raise TypeError(f"the size {name} is an int, not of type {type(value).__name__}")
        found = {symbols[name]: value for name, value in given.items()}
        if self.compiled.sizes is not None and (wrong := self.compiled.sizes.refused(given)):
            raise ValueError(f"{', '.join(f'{n} = {v}' for n, v in given.items())} is no call of this program: {wrong}")
        return found

    def cost(self, trips: int = 1, sizes: Mapping[Symbol, int] | None = None) -> Cost:
        """See `Artifact.cost`."""
        if trips < 0:
            raise ValueError(f"trips must not be negative, but is {trips}")
        backend, sizes = self.work.backend, sizes or {}
        limits = machine_limits(backend) if backend in ("native", "numpy") else None
        return cost_of(self.name, self._work_at(sizes), limits, trips, self.said_of_symbols(sizes))

    def cost_here(self) -> Cost:
        """The cost of a call of the sizes of this one."""
        return self.cost(sizes=self.sizes)

    def memory(self, sizes: Mapping[Symbol, int] | None = None) -> MemoryUse:
        """See `Artifact.memory`."""
        sizes = sizes or {}
        opt, executable, found = self.opt_at(sizes), self.compiled.program.executable, self._work_at(sizes)
        arguments, results = ([bytes_of_type(x.type) for x in side] for side in (opt.entry.args, opt.entry.outs))
        storage = found.storage
        return MemoryUse(
            self.name, found.backend, sum(arguments, 0), sum(results, 0),
            sum([arguments[i] for i in executable.overwrites], 0), storage.constants, storage.arena,
            storage.stacks.known, storage.stacks.per_trip, getattr(executable, "code_bytes", None), storage.alive,
            self.said_of_symbols(sizes),
        )  # fmt: skip


def _is_method(fn: Any) -> bool:
    """Whether a function is defined in a class, with `self`."""
    owner = getattr(fn, "__qualname__", "").rpartition("<locals>.")[2].rpartition(".")[0]
    return bool(owner) and inspect.isfunction(fn) and fn.__code__.co_varnames[:1] == ("self",)


def _written(fn: Any, name: str) -> str:
    """The user's source of a function; of a wrapper (derivative, partial) that of the wrapped function."""
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
