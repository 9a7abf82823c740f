"""From a Python function to typed SSA: `lower`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .. import progress
from ..depth import deep
from ..errors import AutodiffWarning, CompileError
from ..ir.core import Module, Value
from ..ir.failure import is_ours
from ..ir.primitive import F, trace
from ..ir.types import TensorType
from ..primitives.sizes_of_data import erased
from ..runtime.commits import Commit
from .derivatives.callbacks import check_reads
from .derivatives.tensor_hooks import check_loops
from .effects.after_forward import check_scouted, flush
from .effects.commits import CommitsOfStatements, Site, commit_before, structures_left
from .effects.exceptions import raise_after_effects
from .effects.inputs import Again, Foreknown
from .effects.outside_containers import Standing
from .effects.results import Arg, Out, State
from .functions import builtins, host, math_functions, patterns, standard_library  # noqa: F401  (rules that register)
from .guards.guards import AnyGuard
from .guards.objects import peek
from .guards.outside import Capture
from .interpreter import control, expressions, generators, loops, managers, statements  # noqa: F401  (likewise)
from .interpreter.interpreter import Interpreter, NumberArgument, TensorArgument
from .report.reasons import Reasons
from .report.report import point_at_user, report_failure
from .syntax.scope import parameters
from .variables import arrays, iterators, kinds, numbers, open_sizes, strings, tensors  # noqa: F401  (kinds register, too)
from .variables.calls import call
from .variables.frames import Closure
from .variables.interpreter import Diverged, Options, Program

__all__ = ["Arg", "Lowered", "NumberArgument", "Options", "Out", "State", "TensorArgument", "lower", "name_of_argument"]


@dataclass
class Lowered(Site):
    """A function as typed SSA, how to call it, and what it writes back at its end.

    `module.entry` takes the dynamic leaves of the arguments in order, then the captured Tensors.  `result` is the
    structure of the returned value: `Out` leaves are results, `Arg` leaves are inputs returned as they are.
    """

    module: Module
    argument_types: list[TensorType]
    captures: list[Capture]
    guards: list[AnyGuard]
    states: dict[str, Any]
    result: Any
    #: which inputs must be one object, where that matters (see `inputs`)
    pattern: tuple[int, ...] | None
    #: the hooks that some inputs must have, by their numbers
    hooks: dict[int, Any]
    #: the objects from outside that are found when a call begins: these containers, and what they may hold
    standing: list[Standing]
    #: what is written back when an exception leaves the program there, by the function that notes the values
    sites: dict[Commit, Site]
    #: of the guards those of what is read after a function of the user's that runs as plain Python
    after_host: list[AnyGuard]
    #: why the values that are known only at run time are not known before
    reasons: Reasons
    #: whether the user was told something (a warning)
    told: bool


@deep
def lower(
    fn: Any, args: Sequence[Any], kwargs: dict[str, Any], options: Options | None = None, name: str | None = None
) -> Lowered:
    """Compiles ``fn(*args, **kwargs)`` to typed SSA.

    Arguments are given as specifications: `TensorArgument` and `NumberArgument` leaves are dynamic, everything else is
    static.
    """
    name = name or str(peek(fn, "__name__") or type(fn).__name__).strip("<>") or "main"
    known, refused = Foreknown(), None
    while True:
        lowering = Interpreter(name, options or Options(), known)
        progress.at("reading the function")
        try:
            lowered = _lower(lowering, fn, args, kwargs)
            lowering.report.flush_warnings()
            return lowered
        except Again as again:
            known = again.known
        except (AutodiffWarning, RecursionError):
            raise
        except Exception as error:
            if lowering.effects.collects and not known.not_collected:  # what is done with a list may need its elements
                known = replace(known, not_collected=f"then it is a {type(error).__name__}: {error.args[0]}")
                refused = lowering, error
                continue
            last = error
            if refused is not None and getattr(error, "code", "") == "AC1501":  # the loop is too long for that
                lowering, error = refused
            if isinstance(error, CompileError):
                if not error.explained:
                    lowering.report.reasons.conclude(error, {})
                point_at_user(error)
            told = report_failure(lowering.program, lowering.report, error)
            if told is last:
                raise
            if told is error:
                raise told from told.__cause__
            raise told from error


def _leaving(x: Value) -> Value:
    """A result of the program: its type says nothing of sizes that only the program knows."""
    type_ = erased(x.type, lambda symbol: symbol.of_data)
    return x if type_ is x.type else F.with_sizes(x, type=type_)


@contextmanager
def _naming(lowering: Interpreter) -> Iterator[None]:
    """Meanwhile checks of sizes say what the user calls what has them."""
    before, trace.whose = trace.whose, lowering.whose
    try:
        yield
    finally:
        trace.whose = before


def _lower(lowering: Interpreter, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Lowered:
    lowering.program.builder.before_io = lambda op: commit_before(lowering, op)
    if lowering.program.module.check_nonfinite:
        lowering.after_statement = CommitsOfStatements(lowering)
    with lowering.program.builder, _naming(lowering):
        given = [lowering.argument(a, name_of_argument(fn, i)) for i, a in enumerate(args)]
        named = {k: lowering.argument(v, k) for k, v in kwargs.items()}
        try:
            returned = call(lowering, fn, given, named)
        except (CompileError, AutodiffWarning, RecursionError):
            raise
        except Diverged:
            returned = None
        except Exception as error:
            if is_ours(error):
                raise
            raise_after_effects(lowering, error)
            returned = None
        check_loops(lowering)
        check_reads(lowering)
        check_scouted(lowering)
        flush(lowering)
        changed = lowering.effects.attributes.final(), lowering.effects.containers.final()
        (result,), left, outs = structures_left(lowering, *changed, returned)
        lowering.effects.containers.guard_aliases()
        lowering.program.builder.ret(*map(_leaving, outs))
    return Lowered(
        module=lowering.program.module,
        argument_types=_finished(lowering.program),
        captures=lowering.outside.captures,
        guards=lowering.outside.all_guards(),
        states=lowering.outside.states,
        result=result,
        writes=left.writes,
        pattern=lowering.effects.inputs.pattern,
        hooks=lowering.effects.inputs.hooks,
        attributes=left.attributes,
        containers=left.containers,
        standing=lowering.effects.containers.standing(),
        sites=lowering.effects.sites,
        after_host=_after_host(lowering),
        reasons=lowering.report.reasons,
        told=bool(lowering.report.warnings),
    )


def _finished(program: Program) -> list[TensorType]:
    """Gives the entry the arguments for what was captured; the types of those for the arguments' leaves."""
    entry = program.entry
    types: list[Any] = [a.type for a in entry.args]
    entry.body.args += program.captured
    for i, arg in enumerate(entry.args):
        arg.index = i
    program.module.functions = {entry.name: entry, **program.module.functions}
    return types


def name_of_argument(fn: Any, i: int) -> str:
    """What the user calls argument number `i`."""
    while not hasattr(type(fn), "construct") and (inner := peek(fn, "fn") or peek(fn, "__wrapped__")) is not None:
        fn = inner  # a derivative takes its function's
    if type(fn) is Closure:
        names = [p.id for p in parameters(fn.prepared.node)]
        return names[i] if i < len(names) else f"arg{i}"
    method = getattr(type(fn), "construct", None)
    code = peek(method or peek(fn, "__func__") or fn, "__code__")
    i += method is not None or peek(fn, "__self__") is not None
    return str(code.co_varnames[i]) if code is not None and i < code.co_argcount else f"arg{i}"


def _after_host(lowering: Interpreter) -> list[AnyGuard]:
    """The guards of what is read after host functions, but for attributes that compiled code writes itself."""
    guards, own = lowering.outside.guards, lowering.effects.attributes.slots
    keys = [k for k in lowering.effects.host_ran.keys if k in guards and not (k[0] == "attribute" and k[1:] in own)]
    return [guards[k] for k in guards if k in {*keys}]
