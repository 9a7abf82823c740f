"""`artifact.explain()`: what the compiler decided, and why, in sections; only the times at its end change."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..compiler.history import Watched, watched
from ..compiler.pipeline import coverage, kernels_of, why_numpy
from ..config import context
from ..frontend.guards import LookupGuard
from ..ir.core import Module, Op
from ..ir.types import TensorType
from ..ir.walk import count_ops, ops_of
from ..source import Loc, is_users
from .figures import size
from .kept import bytes_of, kept_for_adjoint

if TYPE_CHECKING:
    from ..backends.native.apart import Grouped
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
_WIDTH = 116


def explained(artifact: Artifact) -> str:
    """The explanation of a compiled call."""
    compiled = artifact._compiled
    lowered, opt = compiled.lowered, compiled.program.stages.opt
    backend = artifact._work.backend
    native = kernels_of(opt) if backend == "native" else None
    sections = [
        ("Static (known while compiling) or dynamic (known when it runs): names of the function at its end",
         lowered.reasons.table()),
        ("Loops and branches", _control(lowered.reasons)),
        ("Derivative: what its adjoint reads of the forward part", _saved(opt, native)),
        ("Kernels: ops that are computed together", _fused(native) if native is not None else _single(opt, backend)),
        ("Valid as long as (guards, checked at every call)", _guards(watched([compiled]))),
        ("Tensors from outside, read at every call", [f"{c.what}: {c.type!r}" for c in lowered.captures]),
        ("States", _states(opt)),
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
    return f"{_count(ops, 'op')}, {_count(loops, 'loop')}, run by {_RUNNERS.get(backend, backend)}"


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
        if not is_users(d.loc.file):
            continue
        line = f"{_place(d.loc)}: {d.statement}: {d.outcome}: {d.why}"
        because = reasons.why(d.because_of)
        line += f" ({because})" if because else ""
        here = found.setdefault((d.loc.file, d.loc.line), [])
        if line not in here:
            here.append(line)
    for _, lines in sorted(found.items()):
        yield from lines


# ------------------------------------------------------------------------------------------------ derivative
def _saved(opt: Module, native: Grouped | None) -> Iterator[str]:
    """What ops of the adjoint read that others made, with its bytes, and what they compute again."""
    kernel = {op: i for i, ops in enumerate(native.kernels if native is not None else ()) for op in ops}
    lines = list[str]()
    total = {False: 0, True: 0}  # in all, and in each trip of loops whose length is not known
    again: Counter[str] = Counter()
    for function in opt if native is None else native.module:
        kept = kept_for_adjoint(function)
        again.update(f"{x.owner.defn.name} ({_place(x.owner.loc)})" for x in kept.again if isinstance(x.owner, Op))
        for x, ops in kept.readers.items():
            maker, (nbytes, grows) = x.owner, bytes_of(x)
            assert isinstance(maker, Op)
            what = f"{f'%{x.name} ' if x.name else ''}{maker.defn.name} ({_place(maker.loc)}), {x.type!r}"
            where = ", ".join(dict.fromkeys(_place(op.loc) for op in ops))
            if kernel and all(kernel.get(op, -1) == kernel.get(maker, -2) for op in ops):
                lines.append(f"at hand: {what}: for {where}, in the same kernel")
                continue
            amount = f"{size(nbytes)} for each trip" if grows else size(nbytes)
            lines.append(f"saved: {what}, {amount}: for {where}")
            total[grows] += nbytes
    lines += [f"computed again: {what}{f', {n} times' if n > 1 else ''}" for what, n in again.items()]
    if lines:
        parts = [f"{size(n)}{' for each trip' * grows}" for grows, n in total.items() if n]
        yield f"{' and '.join(parts) or 'nothing'} is saved; arguments, which are there anyway, are not counted"
        yield from _first(lines, "values")


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
    return f"{_place(op.loc)} {tag}".rstrip()


def _first(lines: list[str], what: str) -> list[str]:
    rest = len(lines) - _MOST
    return lines if rest <= 0 else [*lines[:_MOST], f"and {rest} more {what}"]


def _guards(guards: Iterable[Watched]) -> list[str]:
    lines = []
    for guard in guards:
        line = str(guard)
        if guard.what == LookupGuard.what:  # it has a list of names, not a value
            line = f"these names in classes, modules and builtins still stand for what they did: {guard.seen}"
        lines.append(line if len(line) <= 2 * _WIDTH else line[: 2 * _WIDTH - 3] + "...")
    return [part for line in _first(lines, "(`fn.guards()` has all)") for part in wrapped(line)]


# --------------------------------------------------------------------------------------------- states, device, passes
def _states(module: Module) -> Iterator[str]:
    written = set(module.outputs)
    for name in module.inputs:
        yield f"{name}: {module.states[name].type!r}, {'read and written' if name in written else 'read'}"


def _device(module: Module) -> list[str]:
    return [] if context.device_target == "CPU" else str(coverage(module)).splitlines()


def _passes(artifact: Artifact) -> Iterator[str]:
    yield f"{'pass':<14}{'ops before':>12}{'ops after':>11}{'ms':>9}"
    for r in artifact._compiled.program.stages.reports:
        yield f"{r.name:<14}{r.before:>12}{r.after:>11}{r.seconds * 1e3:>9.2f}"
