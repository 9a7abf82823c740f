"""The text of one stage as users see it: a header, the IR with comments, and a footer that says what was decided.

Comments are for reading only: without them the text is the module's (`ir.text`), and parses to the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .. import escape
from ..backends.stacks import Bytes, Stacks
from ..compiler.pipeline import Stages, kernels_of
from ..config import context
from ..ir.core import Function, Module, Op, Value
from ..ir.naming import definitions
from ..ir.printer import FunctionPrinter
from ..ir.remarks import declarations, line_of_place
from ..ir.sizes import Dim, Size
from ..ir.walk import count_ops, ops_of
from ..passes.fuse import fusion_plan
from ..passes.manager import PassReport, dump_function
from ..primitives.autodiff import EXPANDED
from .figures import formula
from .kernel_groups import shared_kernels, wrapped
from .residuals import residuals_of
from .results import purposes, returned

if TYPE_CHECKING:
    from ..frontend.lower import Lowered
    from ..frontend.report.reasons import Reasons

_WHAT = {
    "front": "your function as it was read: one line an operation, `grad` where a derivative is asked for",
    "adjoint": 'derivatives are operations now: %d_h is the derivative by %h ("adjoint" marks what computes it)',
    "opt": "what is left after all passes, and is given to the backend",
    "plan": "operations that can share a loop, and bytes, whoever runs them; no backend has to keep to this plan",
}
_WITHOUT = "no derivative is asked for: as it was read, with states as arguments and results"
#: How many names a line of the footer shows.
_NAMED = 8
#: How many loops and branches are explained.
_DECISIONS = 20


def stage_text(
    stage: str, module: Module, stages: Stages, of: str, lowered: Lowered, symbols: Iterable[str] = ()
) -> str:
    """The text of a module, which is that of a stage of the program `of` (its call).

    `symbols`: what is known of each symbolic size.
    """
    names: dict[Value, str] = {}
    declared = "\n".join(declarations(module))
    parts = [declared] if declared else []
    for function in module:
        parts.append(dump_function(function, module, ["fuse", "plan_memory"] if stage == "plan" else [], names))
    header = [f"stage {stage} of {of}", *_header(stage, stages, of), *(f"size {text}" for text in symbols)]
    header += _results(module.entry, lowered, names)
    head = "\n".join(_comments(header))
    footer = [*_footer(stage, module, stages, names)]
    if stage == "front":
        decisions = [*dict.fromkeys(_decided(lowered.reasons))]
        footer += decisions[:_DECISIONS]
        if len(decisions) > _DECISIONS:
            footer.append(f"{len(decisions) - _DECISIONS} more loops and branches: explain() names them")
    return "\n\n".join([head, *parts, "\n".join(_comments(footer))]) + "\n"


def _comments(lines: Iterable[str]) -> list[str]:
    return [f"// {escape.ascii_line(line)}" for line in lines]


# ------------------------------------------------------------------------------------------- header
def _header(stage: str, stages: Stages, of: str) -> Iterator[str]:
    derivatives = [*_derivatives(stages.front)]
    yield f"what: {_WHAT[stage] if derivatives or stage != 'adjoint' else _WITHOUT}"
    asked = [f"optimize {context.optimize if stages.front.optimize is None else stages.front.optimize}"]
    asked.append(f"backend {stages.front.backend or context.backend}")
    if stages.front.check_nonfinite:
        asked.append(f"check_nonfinite {stages.front.check_nonfinite}")
    if context.device_target != "CPU":
        asked.append(f"device {context.device_target}")
    yield f"asked: {'; '.join([*derivatives, *asked])}"
    arguments = of.partition("(")[2].rpartition(")")[0]
    yield f"key: {arguments or 'no arguments'} (another type, or another value of what is no Tensor, is compiled anew)"


def _derivatives(module: Module) -> Iterator[str]:
    printer = FunctionPrinter()
    printer.function(module.entry)
    for op in ops_of(module.entry.body):
        if op.defn.name in EXPANDED and op.defn.name in ("grad", "linearize"):
            names = [printer.names[x] for x in (op.operands[i] for i in op.attr("wrt")) if x in printer.names]
            by = ", ".join([*names, *(f"@{state}" for state in op.attr("wrt_states"))])
            yield f"derivative by {by or 'nothing'}" + (f" at {line_of_place(op.loc)}" if op.loc is not None else "")


def _results(entry: Function, lowered: Lowered, names: Mapping[Value, str]) -> Iterator[str]:
    """Returned values that no op computes, and results with another purpose (see `results.purposes_in`)."""
    arguments = [names[x] for x in entry.args]
    what = returned(lowered, arguments)
    if what is not None:
        yield f"returned: {what}"
    for i, purpose in purposes(lowered, arguments).items():
        yield f"result {i} ({names[entry.outs[i]]}): {purpose}"


# ------------------------------------------------------------------------------------------- footer
def _footer(stage: str, module: Module, stages: Stages, names: Mapping[Value, str]) -> Iterator[str]:
    loops = [op for function in module for op in ops_of(function.body) if op.defn.name in ("while", "scan")]
    yield f"{sum(map(count_ops, module))} operations" + "".join(_loops(loops))
    if stage in ("adjoint", "opt"):
        yield from _kept(module, names)
    if stage == "opt":
        yield from _gone(stages.adjoint, names)
        yield from _dropped(stages.reports)
    if stage == "plan":
        for function in module:
            yield from _groups(function, names)
        yield from _kernels(stages.opt)


def _decided(reasons: Reasons) -> Iterator[str]:
    for d in reasons.decisions:
        if d.about:
            yield f"{d.about} at {line_of_place(d.loc)}: {d.outcome}: {d.why}"


def _loops(loops: Sequence[Op]) -> Iterator[str]:
    if loops:
        shown = ", ".join(_loop(op) for op in loops[:_NAMED])
        yield f"; loops kept at {shown}{' ...' if len(loops) > _NAMED else ''}"


def _loop(op: Op) -> str:
    if op.loc is None:
        return "one without a place"
    return line_of_place(op.loc) + (" (adjoint)" if op.loc.tag == "adjoint" else "")


def _kept(module: Module, names: Mapping[Value, str]) -> Iterator[str]:
    stacks = Stacks(module)
    for function in module:
        residuals = residuals_of(function)
        if residuals.readers:
            amount = sum(map(stacks.of, residuals.readers), Bytes()).told(_bytes) or "0 bytes"
            # A residual within one kernel has no bytes, but only the backend knows kernels.
            yield f"kept for the adjoint: {_named([*residuals.readers], names)} (up to {amount})"
        if residuals.recomputed:
            yield f"computed again for the adjoint: {_named(residuals.recomputed, names)}"


def _bytes(n: Size) -> str:
    return f"{formula(n) if isinstance(n, Dim) else n} bytes"


def _named(values: Sequence[Value], names: Mapping[Value, str]) -> str:
    shown = ", ".join(names.get(x, "?") for x in values[:_NAMED])
    return shown + (f" and {len(values) - _NAMED} more" if len(values) > _NAMED else "")


def _dropped(reports: Sequence[PassReport]) -> Iterator[str]:
    changes = [f"{r.name} {r.before} to {r.after}" for r in reports if r.before != r.after]
    yield f"operations before and after passes: {', '.join(changes) or 'no pass changed their number'}"


def _gone(adjoint: Module, names: Mapping[Value, str]) -> Iterator[str]:
    """The values of the stage adjoint that the passes removed; a value has the same name at all stages."""
    left = set(names.values())
    before = [f"%{x.name or x.number}" for function in adjoint for x in definitions(function) if x.op is not None]
    gone = [name for name in dict.fromkeys(before) if name not in left]
    if gone:
        more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
        yield f"dropped, as they are known, computed elsewhere or not needed: {', '.join(gone[:_NAMED])}{more}"


def _groups(function: Function, names: Mapping[Value, str]) -> Iterator[str]:
    for group in fusion_plan(function).groups:
        results = [x for op in group.ops for x in op.results]
        shape = ",".join(map(str, group.shape))
        yield f"group {group.number}: one loop over [{shape}] can compute {_named(results, names)}"


def _kernels(opt: Module) -> Iterator[str]:
    """The kernels of the native backend, which groups ops by itself."""
    if context.device_target != "CPU" or (opt.backend or context.backend) == "numpy" or opt.has_open_sizes:
        return
    found = shared_kernels(kernels_of(opt))
    if found:
        yield "the backend native makes its own kernels, which `explain()` and the stage code show:"
    yield from [f"  {part}" for line in found[:_NAMED] for part in wrapped(line)]
    if len(found) > _NAMED:
        yield f"  and {len(found) - _NAMED} more"
