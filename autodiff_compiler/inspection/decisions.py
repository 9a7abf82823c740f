"""`artifact.explain()`: what the compiler decided, and why, in sections; only the times at its end change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..backends.base import Work
from ..backends.stacks import Bytes, Stacks
from ..compiler.history import Watched, watched
from ..compiler.pipeline import coverage, kernels_of, why_numpy
from ..config import context
from ..frontend.guards.guards import LookupGuard
from ..ir.core import Module, Op
from ..ir.types import TensorType
from ..ir.walk import count_ops, ops_of
from .compiled_call import CompiledCall
from .figures import size
from .guard_summary import guards_by_kind, names_guard, state_summary
from .highlight import ShownText, explanation_html
from .kernel_groups import CONTINUED, WIDTH, counted, marked, place, shared_kernels, unfused, working, wrapped
from .residuals import residuals_of
from .tabular import shortened

if TYPE_CHECKING:
    from ..backends.native.prepare.unfused import Grouped
    from ..compiler.specialised import Specialised
    from ..frontend.report.reasons import Reasons

#: What a line of a section begins with, and one that goes on with what stands above it.
_INDENT = "  "
_BROKEN = _INDENT + CONTINUED
#: How many lines a list has at most.
_MOST = 30
#: The suffix that makes the name of a value unique.
_NUMBER = re.compile(r"_\d+$")


class Section(NamedTuple):
    """A section of an explanation: its title, and what it says, a line for each fact."""

    title: str
    lines: tuple[str, ...]


class Explanation(ShownText):
    """What `explain` says: a `str`, which a notebook shows with its titles and places in colours."""

    @property
    def head(self) -> tuple[str, ...]:
        """The call, and what is said of it in short."""
        return tuple(self.partition("\n\n")[0].split("\n"))

    @property
    def sections(self) -> tuple[Section, ...]:
        """The parts below the head; what is wrapped in the text is one line."""
        parts = [part.split("\n") for part in self.rstrip("\n").split("\n\n")[1:]]
        return tuple([Section(title, tuple(_unwrapped(lines))) for title, *lines in parts])

    def _repr_html_(self) -> str:
        return explanation_html(self)


def _unwrapped(lines: Sequence[str]) -> list[str]:
    """The lines of a section without its indentation; what `wrapped` has broken is whole again."""
    found: list[str] = []
    for line in lines:
        if line.startswith(_BROKEN) and found:
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.removeprefix(_INDENT))
    return found


def explained(call: CompiledCall) -> Explanation:
    """The explanation of a compiled call."""
    compiled = call.compiled
    lowered, opt = compiled.lowered, call.opt
    backend = call.work.backend
    native = kernels_of(opt) if backend == "native" else None
    long_way, asked = _calls(compiled) if native is not None else ([], [])
    sections = [
        ("Static (known while compiling) or dynamic (known when it runs): names of the function at its end",
         lowered.reasons.table()),
        ("Loops and branches", _control(lowered.reasons)),
        ("Derivative: what its adjoint reads of the forward part", _saved(opt, native)),
        ("Kernels: ops that are computed together", _fused(native) if native is not None else _single(opt, backend)),
        ("Valid as long as (guards, checked at every call)", _guards(watched([compiled]))),
        ("Calls go the long way, in Python, which takes some microseconds each", long_way),
        ("Asked in Python before each call, about 0.2 us each or more", asked),
        ("Tensors from outside, read at every call", [f"{c.what}: {c.type!r}" for c in lowered.captures]),
        ("States", state_summary(opt)),
        (f"On {context.device_target}", _device(opt)),
        ("Passes", _passes(call)),
    ]  # fmt: skip
    parts = [f"{call.of}\n{_in_short(opt, call.work)}"]
    if call.sizes:
        names = ", ".join(map(str, call.sizes))
        parts.append(f"Symbolic sizes: {names}; the guards say what they may be. In this call {call.said_sizes}")
    for title, found in sections:
        lines = list(found)
        if lines:
            parts.append("\n".join([title, *[f"{_INDENT}{line}" for line in lines]]))
    return Explanation("\n\n".join(parts) + "\n")


def _in_short(opt: Module, work: Work) -> str:
    ops = sum(map(count_ops, opt))
    loops = sum(op.defn.name in ("while", "scan") for function in opt for op in ops_of(function.body))
    ran = f"{_count(ops, 'op')}, {_count(loops, 'loop')}, run by {_RUNNERS.get(work.backend, work.backend)}"
    if work.calls > work.functions:
        ran += f": {work.calls} calls of {_count(work.functions, 'kernel')}, as equal ones are one function"
    return f"{ran}\nwhat is expensive in it: `cost()` estimates, `timing()` and `profile(fn)` measure it"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


_RUNNERS = {
    "native": "machine code (backend native)",
    "numpy": "calls of NumPy (backend numpy)",
    "ascend": "operators of an Ascend device",
}


# ------------------------------------------------------------------------------------------------ control flow
def _control(reasons: Reasons) -> Iterator[str]:
    """A line for each loop and branch of the user's with its outcome and the reason."""
    found: dict[tuple[str, int], list[str]] = {}
    for d in reasons.decisions:
        if not d.about:
            continue
        line = f"{place(d.loc)}: {d.about}: {d.outcome}: {d.why}"
        because = reasons.why(d.because_of)
        line += f" ({because})" if because else ""
        user = d.loc.of_user()
        here = found.setdefault((user.file, user.line), [])
        if line not in here:
            here.append(line)
    for _, lines in sorted(found.items()):
        yield from lines


# ------------------------------------------------------------------------------------------------ derivative
def _saved(opt: Module, native: Grouped | None) -> Iterator[str]:
    """The residuals with their bytes, and the values that the adjoint recomputes."""
    kernel = {op: i for i, ops in enumerate(native.kernels if native is not None else ()) for op in ops}
    alike: dict[_Kind, list[tuple[str, Bytes]]] = {}  # unrolled loops have many that differ in their names only
    total, again = Bytes(), Counter[str]()
    module = opt if native is None else native.module
    stacks = Stacks(module)
    for function in module:
        residuals = residuals_of(function)
        again.update(
            f"{x.owner.defn.name} ({place(x.owner.loc)})" for x in residuals.recomputed if isinstance(x.owner, Op)
        )
        for x, ops in residuals.readers.items():
            maker, nbytes = x.owner, stacks.of(x)
            assert isinstance(maker, Op)
            where = ", ".join(dict.fromkeys(place(op.loc) for op in ops))
            at_hand = bool(kernel) and all(kernel.get(op, -1) == kernel.get(maker, -2) for op in ops)
            name = x.name or ""
            made = f"{maker.defn.name} ({place(maker.loc)})"
            same = _Kind(at_hand, _NUMBER.sub("", name), made, repr(x.type), where)
            alike.setdefault(same, []).append((name, nbytes))
            total += Bytes() if at_hand else nbytes
    lines = [_kept(kind, values) for kind, values in alike.items()]
    lines += [f"computed again: {what}{f', {n} times' if n > 1 else ''}" for what, n in again.items()]
    if lines:
        yield f"{total.told(size) or 'nothing'} is saved; arguments, which are there anyway, are not counted"
        yield from _first(lines, "values")


class _Kind(NamedTuple):
    """The key by which residuals are summed up: equal for one line of the user's in all trips of an unrolled loop."""

    at_hand: bool
    name: str
    maker: str
    type: str
    readers: str


def _kept(kind: _Kind, values: Sequence[tuple[str, Bytes]]) -> str:
    """A line for residuals of a kind, with their names and bytes."""
    names = [f"%{name}" for name, _ in values if name]
    what = " ".join([*names, kind.maker])
    amount = sum((nbytes for _, nbytes in values), Bytes()).told(size) or size(0)
    if len(values) > 1:
        named = f" ({names[0]} {'and' if len(names) == 2 else 'to'} {names[-1]})" if names else ""
        what, amount = f"{len(values)} values{named} of {kind.maker}", f"{amount} in all"
    if kind.at_hand:
        return f"at hand: {what}, {kind.type}: for {kind.readers}, in the same kernel"
    return f"saved: {what}, {kind.type}, {amount}: for {kind.readers}"


# ------------------------------------------------------------------------------------------------ kernels
def _single(opt: Module, backend: str) -> list[str]:
    if backend != "numpy":
        return []
    return [f"NumPy computes one op after the other, none are fused; no machine code: {why_numpy(opt)}"]


def _fused(native: Grouped) -> Iterator[str]:
    """The ops that share a kernel, the others, and why they do not."""
    fused, alone = shared_kernels(native), Counter[str]()
    for ops in working(native):
        if len(ops) == 1 and not ops[0].blocks and _on_elements(ops[0]):
            alone[f"{ops[0].defn.name} ({marked(ops[0])})"] += 1
    if not fused and len(alone) < 2:
        return
    yield from _first([part for line in fused for part in wrapped(line)], "lines")
    if alone:
        yield from wrapped(f"alone: {', '.join(counted(alone))}")
    yield from unfused(native)


def _on_elements(op: Op) -> bool:
    """Whether an op has an operand or result that is no scalar."""
    types = [x.type for x in (*op.operands, *op.results)]
    return any(isinstance(t, TensorType) and t.shape for t in types)


def _first(lines: list[str], what: str) -> list[str]:
    rest = len(lines) - _MOST
    return lines if rest <= 0 else [*lines[:_MOST], f"and {rest} more {what}"]


def _guards(guards: Sequence[Watched]) -> list[str]:
    told = (
        names_guard(guard) if guard.what == LookupGuard.what else shortened(str(guard), 2 * WIDTH) for guard in guards
    )
    lines = counted(Counter(told))
    if len(lines) > _MOST:
        lines = list(guards_by_kind(guards))
    return [part for line in lines for part in wrapped(line)]


def _calls(compiled: Specialised) -> tuple[list[str], list[str]]:
    """Why calls do not take the fast path; if they do, the guards that are Python predicates."""
    from ..compiler.fastcall.direct_call import python_guards, slow_because  # NumPy's programs have no fast path

    reasons = [f"because {reason}" for reason in (*compiled.unusual, slow_because(compiled)) if reason]
    asked = [] if reasons else _first(counted(Counter(python_guards(compiled))), "questions")
    return reasons, [part for line in asked for part in wrapped(line)]


# --------------------------------------------------------------------------------------------- states, device, passes
def _device(module: Module) -> list[str]:
    return [] if context.device_target == "CPU" else str(coverage(module)).splitlines()


def _passes(call: CompiledCall) -> Iterator[str]:
    yield f"{'pass':<14}{'ops before':>12}{'ops after':>11}{'ms':>9}"
    for r in call.compiled.program.stages.reports:
        yield f"{r.name:<14}{r.before:>12}{r.after:>11}{r.seconds * 1e3:>9.2f}"
