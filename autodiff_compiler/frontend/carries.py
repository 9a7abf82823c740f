"""What a kept loop carries from trip to trip, and the types it has at the loop's head.

The types are found by tracing: assume what stands at the entry, trace the body, generalise the assumption by what the
body ends with, and repeat until it holds.  The last trace is the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import CompileError, JoinError
from ..ir.build import Builder
from ..ir.core import Value
from ..ir.primitive import F, trace
from ..ir.types import Type, tensor
from ..source import Loc
from .joins import NUMBER_DTYPE, Slot, fill, fits_tensor, joined_number, kind_of_number, lifted_number, same_static
from .lowering import Diverged, Lowering, Region
from .values import (
    EITHER,
    OUTSIDE,
    PARAMETERS,
    UNBOUND,
    LocalDict,
    LocalList,
    MaybeUnbound,
    Snapshot,
    StateVar,
    TensorVar,
    Weak,
    content,
    describe,
    elements,
    parts,
    rebuild,
    set_content,
    snapshot_of,
)

__all__ = ["Body", "Cell", "Loop"]

_TRACES = 16


@dataclass
class Cell:
    """Something a loop changes: a name of the frame, or a compile-time object."""

    name: str
    obj: Any = None

    def get(self, lw: Lowering) -> Any:
        if self.obj is None:
            return lw.frame.env.get(self.name, UNBOUND)
        held = content(self.obj)
        return TensorVar(held) if type(self.obj) is TensorVar else held

    def set(self, lw: Lowering, value: Any) -> None:
        if self.obj is not None:
            lw.touch(self.obj)
            set_content(self.obj, value.value if type(self.obj) is TensorVar else value)
        elif value is UNBOUND:
            lw.frame.env.pop(self.name, None)
        else:
            lw.frame.env[self.name] = value

    @property
    def internal(self) -> bool:
        return "#" in self.name

    @property
    def label(self) -> str:
        return f"'{self.name}'" if self.obj is None else self.name


class _Assumed:
    """A leaf assumed to be a Tensor of some type at the head of the loop."""

    __slots__ = ("locked", "snapshot", "type")

    def __init__(self, type_: Any, locked: str, snapshot: Snapshot | None) -> None:
        self.type, self.locked, self.snapshot = type_, locked, snapshot


class _Late:
    """A name without a value at the entry, to which the body gives one that is needed after the loop."""

    __slots__ = ("head", "held")

    def __init__(self, held: Any, head: Any = UNBOUND) -> None:
        self.held, self.head = held, head


@dataclass
class Body:
    """The last trace of a loop's body."""

    builder: Builder
    templates: list[Any]
    types: list[Type]
    names: list[str | None]
    ends: list[Value]
    found: list[Any]


@dataclass
class Loop:
    """The carries of one loop.  `at_least_once`: the body is known to run, so what it binds has a value afterwards."""

    lw: Lowering
    names: list[str]
    loc: Loc | None
    at_least_once: bool
    cells: list[Cell] = field(default_factory=list)
    entry: list[Any] = field(default_factory=list)
    assumed: list[Any] = field(default_factory=list)
    #: the types of the slots of the last templates
    _types: list[Type] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in self.names:
            self._add(Cell(name))

    def _add(self, cell: Cell) -> None:
        self.cells.append(cell)
        value = cell.get(self.lw)
        self.entry.append(value)
        self.assumed.append(value)

    # --------------------------------------------------------------------------------------- tracing
    def trace(self, first: list[Type], rest: list[Type], run: Callable[[list[Value], list[Value]], None]) -> Body:
        """Traces the body to its fixpoint.  Its block takes `first`, the carries, and `rest`."""
        for _ in range(_TRACES):
            body, done = self._trace_once(first, rest, run)
            if done:
                return body
        raise self._error("the types of what this loop carries do not settle")

    def _trace_once(self, first: list[Type], rest: list[Type], run: Callable[..., None]) -> tuple[Body, bool]:
        lw = self.lw
        templates, types, names = self._templates()
        builder = trace.builder.nested([*first, *types, *rest], [*([None] * len(first)), *names, *([None] * len(rest))])
        before = lw.frame.env
        lw.frame.env = dict(before)
        with lw.region() as region, builder:
            try:
                seen = len(lw.snapshots.read)
                args = builder.block.args
                k, m = len(first), len(first) + len(types)
                self.enter(templates, args[k:m])
                try:
                    run(args[:k], args[m:])
                except Diverged:
                    self.enter(templates, args[k:m])
                found = [cell.get(lw) for cell in self.cells]
                lw.snapshots.check_loop(region.start, seen)
                done = self._generalise(found, region)
                ends = self.values(templates, found, builder) if done else []
            finally:
                lw.frame.env = before
                lw.restore(region)
        return Body(builder, templates, types, names, ends, found), done

    def _templates(self) -> tuple[list[Any], list[Type], list[str | None]]:
        types: list[Type] = []
        names: list[str | None] = []

        def go(x: Any, cell: Cell) -> Any:
            # Two names of one Tensor get a slot each: they may part in the body.
            if type(x) is _Late:
                return _Late(go(x.held, cell), x.head)
            if type(x) in (TensorVar, _Assumed):
                type_, kind = x.type, None
            elif type(x) is Weak:
                type_, kind = tensor(NUMBER_DTYPE[x.kind], ()), x.kind
            else:
                items = elements(x)
                if items is None:
                    return x
                copy = rebuild(x, [go(i, cell) for i in items])
                if isinstance(copy, LocalList | LocalDict) and cell.obj is None:
                    copy.locked = self._locked(x, cell)
                return copy
            types.append(type_)
            names.append(cell.name if cell.obj is None and not cell.internal else None)
            return Slot(len(types) - 1, kind, self._locked(x, cell), getattr(x, "snapshot", None))

        return [go(x, cell) for x, cell in zip(self.assumed, self.cells, strict=True)], types, names

    def _locked(self, x: Any, cell: Cell) -> str:
        """Why the elements of a carried Tensor cannot be assigned: in the first trip it may have other names."""
        if type(x) not in (TensorVar, LocalList, LocalDict) or x.locked or cell.obj is x:
            return getattr(x, "locked", "")
        frame = self.lw.frame
        held = any(part is x for name, value in frame.env.items() if name != cell.name for part in parts(value))
        return EITHER if held or x.serial < frame.serial else ""

    def enter(self, templates: list[Any], args: Any) -> None:
        """Gives every cell its value at the head of a trip."""
        plain = [t.held if type(t) is _Late else t for t in templates]
        for cell, template, value in zip(self.cells, templates, fill(plain, args), strict=True):
            cell.set(self.lw, template.head if type(template) is _Late and not cell.internal else value)

    def leave(self, body: Body, results: Any) -> None:
        """Gives every cell its value after the loop."""
        plain = [t.held if type(t) is _Late else t for t in body.templates]
        values = fill(plain, results)
        for cell, template, value, end in zip(self.cells, body.templates, values, body.found, strict=True):
            if template is UNBOUND:
                value = MaybeUnbound(self.loc, f"'{cell.name}' has a value only if the loop runs")
            elif self.at_least_once and type(value) is type(end) is TensorVar:
                value.locked, value.snapshot = end.locked, end.snapshot
            elif type(value) is type(end) is TensorVar:
                value.snapshot = snapshot_of(value, end)
            cell.set(self.lw, value)

    # --------------------------------------------------------------------------------------- values of slots
    def inits(self, templates: list[Any], types: list[Type]) -> list[Value]:
        """The carries at the entry."""
        return self.values(templates, self.entry, trace.builder, types)

    def values(
        self, templates: list[Any], given: list[Any], builder: Builder, types: list[Type] | None = None
    ) -> list[Value]:
        """What the slots of the templates hold for given values of the cells."""
        out: dict[int, Value] = {}

        def go(template: Any, x: Any, label: str) -> None:
            if type(template) is _Late:
                template = template.held
                if x is UNBOUND or type(x) is MaybeUnbound:
                    undefined(template)
                    return
            if type(template) is Slot:
                if x is UNBOUND or type(x) is MaybeUnbound:
                    undefined(template)
                elif template.index not in out:
                    out[template.index] = self._slot_value(template, x, builder, types)
                return
            items = elements(template)
            if items is not None:  # else a static value, or none at the head of the loop
                for t, i in zip(items, elements(x), strict=True):
                    go(t, i, label)

        def undefined(template: Any) -> None:
            if type(template) is Slot:
                with builder:
                    out.setdefault(template.index, F.undef(type=self._types[template.index]))
            for t in elements(template) or ():
                undefined(t)

        self._types = types if types is not None else self._types
        for template, x, cell in zip(templates, given, self.cells, strict=True):
            go(template, x, cell.label)
        return [out[i] for i in range(len(out))]

    def _slot_value(self, slot: Slot, x: Any, builder: Builder, types: list[Type] | None) -> Value:
        if slot.kind is not None:
            return lifted_number(x, slot.kind, builder)
        if type(x) is TensorVar:
            return x.value
        with builder:
            if type(x) is StateVar:
                return F.state_read(state=x.name, type=x.type)
            type_: Any = self._types[slot.index]
            if type(x) is Weak:
                return F.cast(x.value, dtype=type_.dtype)
        return builder.const(x, type_)

    # --------------------------------------------------------------------------------------- generalisation
    def _generalise(self, found: list[Any], region: Region) -> bool:
        """Widens the assumptions to cover what the body ends with; True if they already did."""
        done = True
        self._ends: dict[int, Any] = {}
        for i, (cell, end) in enumerate(zip(self.cells, found, strict=True)):
            if isinstance(end, CompileError):
                raise end  # a container about whose content the branches of the body disagree
            try:
                new = self._wider(self.assumed[i], end, cell.label, cell)
            except JoinError as error:
                if cell.obj is not None or cell.internal:
                    raise
                new = MaybeUnbound(None, "", error)  # of interest only to who reads it
            if new is not self.assumed[i]:
                self.assumed[i], done = new, False
        known = {id(cell.obj) for cell in self.cells}
        changed = [(obj, before) for key, (obj, before) in region.saved.items() if key not in known]
        for obj, before in changed:
            now = content(obj)
            set_content(obj, before)
            self._add(Cell("a Tensor assigned to by index" if type(obj) is TensorVar else "a container", obj))
            set_content(obj, now)
            done = False
        if done:
            self._types = self._templates()[1]
        return done

    def _wider(self, assumed: Any, end: Any, name: str, cell: Cell) -> Any:
        """The assumption that covers a value at the end of the body; `assumed` itself if that does."""
        new = self._widened(assumed, end, name, cell)
        if new is not assumed or type(assumed) not in (TensorVar, _Assumed, Weak):
            return new
        # Two names of one value share a slot as long as every trip ends with them naming one value again.
        if self._ends.setdefault(id(assumed), end) is end:
            return new
        if type(assumed) is Weak:
            return Weak(None, assumed.kind)  # type: ignore[arg-type]
        return _Assumed(assumed.type, self._locked(assumed, cell), snapshot_of(assumed))

    def _widened(self, assumed: Any, end: Any, name: str, cell: Cell) -> Any:
        if assumed is end:
            return assumed
        if type(assumed) is MaybeUnbound or assumed is UNBOUND:
            if type(end) is MaybeUnbound or end is UNBOUND:
                return assumed
            return _Late(end, assumed) if cell.internal or self.at_least_once else assumed
        if type(end) is MaybeUnbound or end is UNBOUND:
            if cell.internal:
                return assumed
            return MaybeUnbound(self.loc, f"{name} has no value after a trip of the loop") if end is UNBOUND else end
        if type(assumed) is _Late:
            held = self._wider(assumed.held, end, name, cell)
            return assumed if held is assumed.held else _Late(held, assumed.head)
        xs, ys = elements(assumed), elements(end)
        if xs is not None and ys is not None:
            if len(xs) != len(ys) or (isinstance(assumed, dict) and list(assumed) != list(end)):
                raise self._error(
                    f"{name} changes its size from {len(xs)} to {len(ys)} in a loop that runs at run time",
                    code="AC1504",
                    hint="make a Tensor of the full size before and assign its elements, or loop a number of times "
                    "known at compile time",
                )
            new = [self._wider(x, y, f"{name}[{i}]", cell) for i, (x, y) in enumerate(zip(xs, ys, strict=True))]
            return assumed if all(n is x for n, x in zip(new, xs, strict=True)) else rebuild(assumed, new)
        ka, ke = kind_of_number(assumed), kind_of_number(end)
        if ka and ke:
            return self._wider_number(assumed, end, ka, ke, name)
        return self._wider_tensor(assumed, end, ka, ke, name)

    def _wider_number(self, assumed: Any, end: Any, ka: type, ke: type, name: str) -> Any:
        if type(assumed) is not Weak and type(end) is not Weak and same_static(assumed, end):
            return assumed
        kind = joined_number(ka, ke)
        if kind is None:
            raise self._changes(assumed, end, name)
        return assumed if type(assumed) is Weak and assumed.kind is kind else Weak(None, kind)  # type: ignore[arg-type]

    def _wider_tensor(self, assumed: Any, end: Any, ka: type | None, ke: type | None, name: str) -> Any:
        ta = assumed.type if type(assumed) in (TensorVar, _Assumed, StateVar) else None
        te = end.type if type(end) in (TensorVar, StateVar) else None
        if ta is not None and te is not None:
            if type(assumed) is StateVar:
                same = type(end) is StateVar and end.source is assumed.source
                return assumed if same else _Assumed(ta, PARAMETERS, snapshot_of(assumed, end))
            if ta is te:
                locked = getattr(end, "locked", PARAMETERS)
                either = snapshot_of(assumed, end)
                covered = either is None or (assumed.snapshot and either.states <= assumed.snapshot.states)
                if covered and (assumed.locked or not locked):
                    return assumed
                return _Assumed(ta, assumed.locked or locked, either)
        elif ta is not None and ke and fits_tensor(ke, ta):
            return assumed
        elif te is not None and ka and fits_tensor(ka, te):
            return _Assumed(te, getattr(end, "locked", OUTSIDE), snapshot_of(end))
        elif ta is None and te is None and same_static(assumed, end):
            return assumed
        raise self._changes(assumed, end, name)

    def _changes(self, assumed: Any, end: Any, name: str) -> CompileError:
        before = f"Tensor {assumed.type}" if type(assumed) is _Assumed else describe(assumed)
        return self._error(
            f"{name} is {before} when the loop begins a trip and {describe(end)} when it ends one",
            hint="give it its final type before the loop, e.g. with ops.zeros_like or astype",
        )

    def _error(self, message: str, code: str = "AC1406", hint: str | None = None) -> CompileError:
        return JoinError(message, code=code, loc=self.loc, hint=hint)
