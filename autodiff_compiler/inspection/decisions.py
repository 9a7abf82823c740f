"""`artifact.explain()`: what the compiler decided, and why, in sections; only the times at its end change."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..compiler.history import watched
from ..compiler.pipeline import coverage, kernels_of, why_numpy
from ..config import context
from ..ir.core import Module, Op, Value
from ..ir.types import Seq, TensorType, Type
from ..ir.walk import count_ops, ops_of
from ..primitives.flops import size_of_type
from ..source import Loc, is_users
from .dumps import kept_for_adjoint
from .figures import size

if TYPE_CHECKING:
    from ..backends.native.apart import Grouped
    from ..frontend.reasons import Reasons
    from .artifact import Artifact

__all__ = ["explained"]

#: Ops that nobody computes: what they give is there already, or another view of it.
_NO_WORK = frozenset({"const", "undef", "reshape", "expand_dims", "squeeze", "broadcast_to", "transpose", "slice"})
#: How many lines a list has at most.
_MOST = 30
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
        ("Valid as long as (guards, checked at every call)", _guards([str(w) for w in watched([compiled])])),
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
    return f"{os.path.basename(user.file)}:{user.line}"


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
    lines, total = [], 0
    again: Counter[str] = Counter()
    for function in opt if native is None else native.module:
        saved, recomputed = kept_for_adjoint(function)
        again.update(f"{x.owner.defn.name} ({_place(x.owner.loc)})" for x in recomputed if isinstance(x.owner, Op))
        readers: dict[Value, list[Op]] = {x: [] for x in saved}
        for op in ops_of(function.body):
            for x in op.operands if op.loc is not None and op.loc.tag else ():
                if x in readers:
                    readers[x].append(op)
        for x, ops in readers.items():
            maker, (nbytes, grows) = x.owner, _bytes(x)
            assert isinstance(maker, Op)
            what = f"{f'%{x.name} ' if x.name else ''}{maker.defn.name} ({_place(maker.loc)}), {x.type!r}"
            where = ", ".join(dict.fromkeys(_place(op.loc) for op in ops))
            if kernel and all(kernel.get(op, -1) == kernel.get(maker, -2) for op in ops):
                lines.append(f"at hand: {what}: for {where}, in the same kernel")
                continue
            amount = f"{size(nbytes)} for each trip" if grows else size(nbytes)
            lines.append(f"saved: {what}, {amount}: for {where}")
            total += nbytes
    lines += [f"computed again: {what}{f', {n} times' if n > 1 else ''}" for what, n in again.items()]
    if lines:
        yield f"{size(total) if total else 'nothing'} is saved; arguments, which are there anyway, are not counted"
        yield from _first(lines, "values")


def _bytes(x: Value) -> tuple[int, bool]:
    """The bytes of a value; of a sequence those of all trips, or of one if only a run can tell how many there are."""
    if not isinstance(x.type, Seq):
        return _of_type(x.type), False
    op, each = x.owner, _of_type(x.type.elem)
    trips = op.operands[0].constant if isinstance(op, Op) and op.defn.name == "scan" else None
    return (each, True) if trips is None else (each * int(trips), False)


def _of_type(type: Type) -> int:
    return size_of_type(type) * type.dtype.itemsize if isinstance(type, TensorType) else 0


# ------------------------------------------------------------------------------------------------ kernels
def _single(opt: Module, backend: str) -> list[str]:
    if backend != "numpy":
        return []
    return [f"NumPy computes one op after the other, none are fused; no machine code: {why_numpy(opt)}"]


def _fused(native: Grouped) -> Iterator[str]:
    """The ops that share a kernel, the others, and why they do not."""
    fused, alone = Counter[str](), Counter[str]()
    for kernel in native.kernels:
        ops = [op for op in kernel if op.defn.name not in _NO_WORK]
        if len(ops) > 1:
            by_place: dict[str, list[str]] = {}
            for op in ops:
                by_place.setdefault(_marked(op), []).append(op.defn.name)
            fused[f"{len(ops)} ops: " + "; ".join(f"{', '.join(n)} ({at})" for at, n in by_place.items())] += 1
        elif ops and not ops[0].blocks and _on_elements(ops[0]):
            alone[f"{ops[0].defn.name} ({_marked(ops[0])})"] += 1
    if not fused and len(alone) < 2:
        return
    yield from _first([part for line in _counted(fused) for part in _wrapped(line)], "lines")
    if alone:
        yield from _wrapped(f"alone: {', '.join(_counted(alone))}")
    lines = [
        f"apart: {a.maker.defn.name} ({_marked(a.maker)}) and {a.reader.defn.name} ({_marked(a.reader)}): {a.why}"
        for a in native.apart
    ]
    yield from _first([part for line in dict.fromkeys(lines) for part in _wrapped(line)], "lines")


def _counted(found: Counter[str]) -> list[str]:
    return [f"{what} x{n}" if n > 1 else what for what, n in found.items()]


def _on_elements(op: Op) -> bool:
    """Whether an op has to do with more than single numbers."""
    types = [x.type for x in (*op.operands, *op.results)]
    return any(isinstance(t, TensorType) and t.shape for t in types)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _marked(op: Op) -> str:
    tag = op.loc.tag if op.loc is not None else ""
    return f"{_place(op.loc)} {tag}".rstrip()


def _first(lines: list[str], what: str) -> list[str]:
    rest = len(lines) - _MOST
    return lines if rest <= 0 else [*lines[:_MOST], f"and {rest} more {what}"]


def _guards(lines: list[str]) -> list[str]:
    short = [line if len(line) <= 2 * _WIDTH else line[: 2 * _WIDTH - 3] + "..." for line in lines]
    return _first(short, "(`fn.guards()` has all)")


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
