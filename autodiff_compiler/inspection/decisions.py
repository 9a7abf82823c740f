"""`artifact.explain()`: what the compiler decided, and why, in sections; only the times at its end change."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .. import escape
from ..backends.stacks import Bytes, Stacks
from ..compiler.history import Watched, watched
from ..compiler.pipeline import coverage, kernels_of, why_numpy
from ..config import context
from ..frontend.guards import LookupGuard
from ..ir.core import Module, Op
from ..ir.types import TensorType
from ..ir.walk import count_ops, ops_of
from ..source import Loc
from .figures import size
from .kept import kept_for_adjoint
from .tabular import shortened
from .told import guards_by_kind, names_stand, states_told

if TYPE_CHECKING:
    from ..backends.native.apart import Grouped
    from ..compiler.specialised import Specialised
    from ..frontend.reasons import Reasons
    from .artifact import Artifact

__all__ = ["explained", "shared_kernels", "wrapped"]

#: Ops that nobody computes: what they give is there already, or another view of it.
_NO_WORK = frozenset({"const", "undef", "reshape", "expand_dims", "squeeze", "broadcast_to", "transpose", "slice"})
#: How many lines a list has at most.
_MOST = 30
#: How many reasons are given why ops have kernels of their own.
_APART = 8
_PLACE_OR_SIZE = re.compile(r"\([^)]*\)|\[[^]]*\]")
#: What makes the name of a value one of its own.
_NUMBER = re.compile(r"_\d+$")
_WIDTH = 116


def explained(artifact: Artifact) -> str:
    """The explanation of a compiled call."""
    compiled = artifact._compiled
    lowered, opt = compiled.lowered, compiled.program.stages.opt
    backend = artifact._work.backend
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
        ("States", states_told(opt)),
        (f"On {context.device_target}", _device(opt)),
        ("Passes", _passes(artifact)),
    ]  # fmt: skip
    parts = [f"{artifact.of}\n{_in_short(opt, backend)}"]
    for title, found in sections:
        lines = list(found)
        if lines:
            parts.append("\n".join([title, *[f"  {line}" for line in lines]]))
    return "\n\n".join(parts) + "\n"


def _in_short(opt: Module, backend: str) -> str:
    ops = sum(map(count_ops, opt))
    loops = sum(op.defn.name in ("while", "scan") for function in opt for op in ops_of(function.body))
    ran = f"{_count(ops, 'op')}, {_count(loops, 'loop')}, run by {_RUNNERS.get(backend, backend)}"
    return f"{ran}\nwhat is expensive in it: `cost()` estimates, `timing()` and `profile(fn)` measure it"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


_RUNNERS = {
    "native": "machine code (backend native)",
    "numpy": "calls of NumPy (backend numpy)",
    "ascend": "operators of an Ascend device",
}


def _place(loc: Loc | None) -> str:
    """A user's line, e.g. ``net.py:12``."""
    if loc is None:
        return "?"
    user = loc.of_user()
    return user.short


# ------------------------------------------------------------------------------------------------ control flow
def _control(reasons: Reasons) -> Iterator[str]:
    """A line for each loop and branch of the user's and each outcome, and why."""
    found: dict[tuple[str, int], list[str]] = {}
    for d in reasons.decisions:
        if not d.about:
            continue
        line = f"{_place(d.loc)}: {d.about}: {d.outcome}: {d.why}"
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
    """What ops of the adjoint read that others made, with its bytes, and what they compute again."""
    kernel = {op: i for i, ops in enumerate(native.kernels if native is not None else ()) for op in ops}
    alike: dict[_Kind, list[tuple[str, Bytes]]] = {}  # unrolled loops have many that differ in their names only
    total, again = Bytes(), Counter[str]()
    module = opt if native is None else native.module
    stacks = Stacks(module)
    for function in module:
        kept = kept_for_adjoint(function)
        again.update(f"{x.owner.defn.name} ({_place(x.owner.loc)})" for x in kept.again if isinstance(x.owner, Op))
        for x, ops in kept.readers.items():
            maker, nbytes = x.owner, stacks.of(x)
            assert isinstance(maker, Op)
            where = ", ".join(dict.fromkeys(_place(op.loc) for op in ops))
            at_hand = bool(kernel) and all(kernel.get(op, -1) == kernel.get(maker, -2) for op in ops)
            name = x.name or ""
            made = f"{maker.defn.name} ({_place(maker.loc)})"
            same = _Kind(at_hand, _NUMBER.sub("", name), made, repr(x.type), where)
            alike.setdefault(same, []).append((name, nbytes))
            total += Bytes() if at_hand else nbytes
    lines = [_kept(kind, values) for kind, values in alike.items()]
    lines += [f"computed again: {what}{f', {n} times' if n > 1 else ''}" for what, n in again.items()]
    if lines:
        yield f"{total.told(size) or 'nothing'} is saved; arguments, which are there anyway, are not counted"
        yield from _first(lines, "values")


class _Kind(NamedTuple):
    """What values that the adjoint reads have in common: of one line of the user's in all trips of an unrolled loop."""

    at_hand: bool
    name: str
    maker: str
    type: str
    readers: str


def _kept(kind: _Kind, values: Sequence[tuple[str, Bytes]]) -> str:
    """A line for values of a kind, with their names and bytes."""
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
    for ops in _working(native):
        if len(ops) == 1 and not ops[0].blocks and _on_elements(ops[0]):
            alone[f"{ops[0].defn.name} ({_marked(ops[0])})"] += 1
    if not fused and len(alone) < 2:
        return
    yield from _first([part for line in fused for part in wrapped(line)], "lines")
    if alone:
        yield from wrapped(f"alone: {', '.join(_counted(alone))}")
    yield from _apart(native)


def shared_kernels(native: Grouped) -> list[str]:
    """The kernels of machine code that compute several ops, a line each."""
    fused = Counter[str]()
    for ops in _working(native):
        if len(ops) > 1:
            by_place: dict[str, list[str]] = {}
            for op in ops:
                by_place.setdefault(_marked(op), []).append(op.defn.name)
            fused[f"{len(ops)} ops: " + "; ".join(f"{', '.join(n)} ({at})" for at, n in by_place.items())] += 1
    return _counted(fused)


def _working(native: Grouped) -> Iterator[list[Op]]:
    """The ops of each kernel that it takes work to compute."""
    for kernel in native.kernels:
        yield [op for op in kernel if op.defn.name not in _NO_WORK]


def _apart(native: Grouped) -> Iterator[str]:
    """Why ops do not share a kernel though one reads what the other makes; those that differ in places, in sizes or in
    the other op only are summed up."""
    found: dict[str, dict[str, None]] = {}
    for a in native.apart:
        pair = f"{a.maker.defn.name} ({_marked(a.maker)}) and {a.reader.defn.name} ({_marked(a.reader)})"
        found.setdefault(_PLACE_OR_SIZE.sub("", a.why), {})[f"apart: {pair}: {a.why}"] = None
    for lines in [*found.values()][:_APART]:
        first, *others = lines
        yield from wrapped(first + (f" (and {len(others)} more like this)" if others else ""))
    more = sum(map(len, [*found.values()][_APART:]))
    if more:
        yield f"and {more} more like these"


def _counted(found: Counter[str]) -> list[str]:
    return [f"{what} x{n}" if n > 1 else what for what, n in found.items()]


def _on_elements(op: Op) -> bool:
    """Whether an op has to do with more than single numbers."""
    types = [x.type for x in (*op.operands, *op.results)]
    return any(isinstance(t, TensorType) and t.shape for t in types)


def wrapped(line: str) -> list[str]:
    """A line as lines that can be read, those below the first with space in front."""
    return textwrap.wrap(line, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _marked(op: Op) -> str:
    tag = op.loc.tag if op.loc is not None else ""
    return f"{_place(op.loc)} {escape.line(tag)}".rstrip()


def _first(lines: list[str], what: str) -> list[str]:
    rest = len(lines) - _MOST
    return lines if rest <= 0 else [*lines[:_MOST], f"and {rest} more {what}"]


def _guards(guards: Sequence[Watched]) -> list[str]:
    told = (
        names_stand(guard) if guard.what == LookupGuard.what else shortened(str(guard), 2 * _WIDTH) for guard in guards
    )
    lines = _counted(Counter(told))
    if len(lines) > _MOST:
        lines = list(guards_by_kind(guards))
    return [part for line in lines for part in wrapped(line)]


def _calls(compiled: Specialised) -> tuple[list[str], list[str]]:
    """Why machine code does not check calls of this form; if it does, what it asks Python."""
    from ..compiler.fastcall.direct_call import python_guards, slow_because  # NumPy's programs have no fast path

    reasons = [f"because {reason}" for reason in (*compiled.unusual, slow_because(compiled)) if reason]
    asked = [] if reasons else _first(_counted(Counter(python_guards(compiled))), "questions")
    return reasons, [part for line in asked for part in wrapped(line)]


# --------------------------------------------------------------------------------------------- states, device, passes
def _device(module: Module) -> list[str]:
    return [] if context.device_target == "CPU" else str(coverage(module)).splitlines()


def _passes(artifact: Artifact) -> Iterator[str]:
    yield f"{'pass':<14}{'ops before':>12}{'ops after':>11}{'ms':>9}"
    for r in artifact._compiled.program.stages.reports:
        yield f"{r.name:<14}{r.before:>12}{r.after:>11}{r.seconds * 1e3:>9.2f}"
