"""What a kept loop carries from trip to trip, and the types it has at the loop's head.

The types are found by tracing: assume what stands at the entry, trace the body, generalise the assumption by what the
body ends with, and repeat until it holds.  The last trace is the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ...dtypes import bool_
from ...errors import CompileError, JoinError, LoopError, SideEffectError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import F, trace
from ...ir.types import Type, tensor
from ...runtime.mutable import NUMBER_DTYPE
from ...source import Loc
from ..effects.exceptions import raising_in_block
from ..effects.may_alias import reaches
from ..effects.outside_containers import held_in
from ..guards.objects import UNBOUND, same_static
from ..variables.arithmetic import fits_tensor, joined_number, kind_of_number, lifted_number
from ..variables.interpreter import Diverged, Region
from ..variables.iterators import Progress
from ..variables.naming import name_of
from ..variables.structure import elements, parts, rebuild
from ..variables.templates import Slot, fill
from ..variables.values import (
    EITHER,
    OUTSIDE,
    PARAMETERS,
    ArrayVar,
    AttributeVar,
    Held,
    LocalDict,
    LocalList,
    LocalObject,
    LocalSet,
    MaybeUnbound,
    Snapshot,
    StateVar,
    TensorVar,
    Weak,
    describe,
    is_broken,
    serial_now,
    snapshot_of,
)
from .context import StatementContext
from .loop_ends import Ends
from .loop_memory import find, place_of

__all__ = ["Body", "Cell", "Loop"]

_TRACES = 64
#: The end of a hint, for loops whose trips are not known already.
KNOWN_TRIPS = ", or loop a number of times known at compile time"
_TIED = (TensorVar, LocalList, LocalDict, LocalSet, LocalObject)


def _label(lw: StatementContext, obj: Any) -> str:
    """What error messages call an object that a loop changes."""
    if type(obj) is AttributeVar:
        return obj.label
    name = name_of(lw, obj, local=True)
    if type(obj) is TensorVar:
        return f"`{name}`, assigned to by index," if name else "a Tensor assigned to by index"
    opened = lw.effects.containers.of_outside(obj)
    return opened.what if opened is not None else f"the {type(obj).__name__} `{name}`" if name else "a container"


@dataclass
class Cell:
    """Something a loop changes: a name of the frame, or a compile-time object."""

    name: str
    obj: Any = None

    def get(self, lw: StatementContext) -> Any:
        if self.obj is None:
            return lw.frame.env.get(self.name, UNBOUND)
        held = self.obj.content()
        return self.obj.as_value(held)

    def set(self, lw: StatementContext, value: Any) -> None:
        if self.obj is not None:
            lw.effects.touch(self.obj)
            self.obj.set_content(self.obj.of_value(value))
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


_ENTRY = object()


def _settled(entry: Any, assumed: Any) -> Any:
    """An assumption without the values it was made from; `_ENTRY` where it is what stands at the entry."""
    if assumed is entry:
        return _ENTRY
    if type(assumed) is _Late:
        return _Late(_settled(None, assumed.held))
    if type(assumed) is TensorVar:
        return _Assumed(assumed.type, assumed.locked, assumed.snapshot)
    if type(assumed) is Weak:
        return Weak(None, assumed.kind)  # type: ignore[arg-type]
    items, before = elements(assumed), elements(entry)
    if items is None:
        return assumed
    if before is None or len(before) != len(items):
        before = [None] * len(items)
    return rebuild(assumed, [_settled(e, a) for e, a in zip(before, items, strict=True)])


def _assumption(entry: Any, settled: Any) -> Any:
    """The assumption for an entry like the one at which it settled."""
    if settled is _ENTRY:
        return entry
    if type(settled) is _Late:
        return _Late(settled.held, entry)
    items, before = elements(settled), elements(entry)
    if items is None or before is None or len(before) != len(items):
        return settled if items is before is None else entry
    return rebuild(entry, [_assumption(e, s) for e, s in zip(before, items, strict=True)])


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

    lw: StatementContext
    node: Any
    names: list[str]
    loc: Loc | None
    at_least_once: bool
    cells: list[Cell] = field(default_factory=list)
    entry: list[Any] = field(default_factory=list)
    assumed: list[Any] = field(default_factory=list)
    #: the types of the slots of the last templates
    _types: list[Type] = field(default_factory=list)
    #: where, behind them, the conditions stand (see `loop_ends`)
    _behind: slice = field(default_factory=lambda: slice(0))

    def __post_init__(self) -> None:
        self._following = self.lw.effects.known.following
        self._shared = Ends(serial_now(), self.lw.effects.ties, following=self._following)
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
        memory, env = self.lw.loops, self.lw.frame.env
        key = memory.entry(self.node, env), self.at_least_once

        def locate(obj: Any) -> Any:
            place = place_of(env, obj)
            return None if place is None else (place, type(obj))

        if key in memory.settled:
            self._begin(*memory.settled[key])
        decided = self.lw.report.reasons.decisions
        before = len(decided)
        for _ in range(_TRACES):
            del decided[before:]
            body, done = self._trace_once(first, rest, run)
            if done:
                assumptions = [_settled(e, a) for e, a in zip(self.entry, self.assumed, strict=True)]
                objects = [locate(cell.obj) for cell in self.cells[len(self.names) :]]
                memory.settled[key] = assumptions, objects, self._shared.kept(locate)
                return body
        raise self._error("the types of what this loop carries do not settle")

    def _begin(self, assumptions: list[Any], objects: list[Any], shared: Any) -> None:
        """Starts from where the same loop settled before."""

        def fetch(located: Any) -> Any:
            return located and find(self.lw.frame.env, *located)

        for obj in map(fetch, objects):
            if obj is None or any(cell.obj is obj for cell in self.cells):
                return
            self._add(Cell(_label(self.lw, obj), obj))
        self.assumed = [_assumption(e, a) for e, a in zip(self.entry, assumptions, strict=True)]
        self._shared.begin(shared, fetch)

    def _trace_once(self, first: list[Type], rest: list[Type], run: Callable[..., None]) -> tuple[Body, bool]:
        lw = self.lw
        templates, types, names = self._templates()
        conditions = self._shared.begin_trace(self._handles(self.entry), self._held_elsewhere())
        self._behind = slice(len(types), len(types) + conditions)
        types += [tensor(bool_, ())] * conditions
        names += [None] * conditions
        builder = trace.builder.nested([*first, *types, *rest], [*([None] * len(first)), *names, *([None] * len(rest))])
        lw.report.reasons.loop(builder.block, self.loc, len(first))
        before = lw.frame.env
        lw.frame.env = dict(before)
        with lw.effects.region() as region, builder:
            try:
                seen = len(lw.effects.snapshots.read)
                args = builder.block.args
                k, m = len(first), len(first) + len(types)
                self.enter(templates, args[k:m])
                try:
                    with self._raising_in_a_trip(builder):
                        run(args[:k], args[m:])
                except Diverged:
                    self.enter(templates, args[k:m])
                found = [cell.get(lw) for cell in self.cells]
                lw.effects.snapshots.check_loop(region.start, seen)
                done = self._generalise(found, region)
                done = not self._ends_noted(found) and done
                ends = self.values(templates, found, builder) if done else []
            finally:
                lw.frame.env = before
                lw.effects.restore(region)
        return Body(builder, templates, types, names, ends, found), done

    def _raising_in_a_trip(self, builder: Builder) -> AbstractContextManager[None]:
        """Where nobody knows whether there is a trip, what Python raises in it is raised when it runs.

        Of a wrong type a value may be only because it is known no more than by its type.
        """
        wrong_type = (TypeError, AttributeError)
        return nullcontext() if self.at_least_once else raising_in_block(self.lw, builder, but=wrong_type)

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
            elif type(x) is ArrayVar:
                type_, kind = x.type, x.kind
            else:
                items = elements(x)
                if items is None or is_broken(x):
                    return x
                copy = rebuild(x, [go(i, cell) for i in items])
                if isinstance(copy, LocalList | LocalDict | LocalObject) and cell.obj is None:
                    copy.locked = self._locked(x, cell)
                return copy
            types.append(type_)
            names.append(cell.name if cell.obj is None and not cell.internal else None)
            return Slot(len(types) - 1, kind, self._locked(x, cell), getattr(x, "snapshot", None))

        return [go(x, cell) for x, cell in zip(self.assumed, self.cells, strict=True)], types, names

    def _held_elsewhere(self) -> dict[tuple[int, ...], TensorVar]:
        """The Tensors of the entry, by their places, that something else than the place may hold."""
        found: dict[tuple[int, ...], TensorVar] = {}

        def go(x: Any, place: tuple[int, ...], cell: Cell) -> None:
            if type(x) is TensorVar and self._held(x, cell):
                found[place] = x
            for i, part in enumerate(elements(x) or ()):
                go(part, (*place, i), cell)

        for i, x in enumerate(self._handles(self.entry) if self._following else ()):
            go(x, (i,), self.cells[i])
        return found

    def _locked(self, x: Any, cell: Cell) -> str:
        """Why the elements of a carried Tensor cannot be assigned: in the first trip it may have other names."""
        if type(x) not in (TensorVar, LocalList, LocalDict, LocalObject) or x.locked or cell.obj is x:
            return getattr(x, "locked", "")
        followed = self._following and type(x) is TensorVar
        return EITHER if not followed and self._held(x, cell) else ""

    def _held(self, x: Any, cell: Cell) -> bool:
        """Whether something else than the cell may hold a Tensor or container."""
        frame = self.lw.frame
        maybe = [x, *(other for other, _ in self.lw.effects.ties.spread(x))]
        if any(one.serial < frame.serial for one in maybe):
            return True
        if sum(part is x for part in parts(cell.get(self.lw))) > 1:
            return True
        others = [value for name, value in frame.env.items() if name != cell.name]
        others += [slot.held for slot in self.lw.effects.attributes.slots.values() if slot is not cell.obj]
        others += [held_in(x.local) for x in self.lw.effects.containers.pending() if x.local is not cell.obj]
        return any(reaches(value, one, set()) for one in maybe for value in others)

    def _tie(self, entry: Any, now: Any, cell: Cell, place: tuple[int, ...], scope: Any) -> None:
        """A write to what a cell held at the entry may be one to what it holds now, and is refused where it may."""
        if entry is now or isinstance(now, CompileError):
            return
        alike = type(entry) in _TIED and type(now) is type(entry)
        if alike and not self._shared.follows(place, entry) and self._held(entry, cell):
            self.lw.effects.ties.add(entry, now, None, scope=scope)
        for i, (x, y) in enumerate(zip(elements(entry) or (), elements(now) or (), strict=False)):
            self._tie(x, y, cell, (*place, i), scope)

    def _handles(self, values: Sequence[Any]) -> list[Any]:
        """The carried values that stand for objects, and not for the elements of a box."""
        return [None if type(cell.obj) is TensorVar else x for cell, x in zip(self.cells, values, strict=False)]

    def _ends_noted(self, found: list[Any]) -> bool:
        """Notes which objects the carried values share at the end of a trip; True if that is new."""
        return self._shared.note(self._handles(found))

    def _left(self, values: Sequence[Any], results: Any) -> list[Any]:
        """The values after the loop, with the objects that they surely are in the place of their boxes."""
        scope = results[0] if results else None
        conditions = results[self._behind]
        if not self.at_least_once:
            self._shared.tie(self._handles(values), scope, conditions)
            return list(values)
        settled = self._shared.settled(self._handles(values))
        self._shared.tie(settled, scope, conditions, ran=True)
        return [v if type(c.obj) is TensorVar else s for c, v, s in zip(self.cells, values, settled, strict=True)]

    def enter(self, templates: list[Any], args: Any) -> None:
        """Gives every cell its value at the head of a trip."""
        plain = [t.held if type(t) is _Late else t for t in templates]
        values = fill(plain, args)
        for i, (cell, template) in enumerate(zip(self.cells, templates, strict=True)):
            if type(template) is _Late and not cell.internal:
                values[i] = template.head  # what an earlier trip gave the name nobody can reach
            cell.set(self.lw, values[i])
        scope = trace.builder.block
        for i, (cell, entry, value) in enumerate(zip(self.cells, self.entry, values, strict=True)):
            self._tie(entry, value, cell, (i,), scope)
        self._shared.tie(self._handles(values), scope, args[self._behind])

    def leave(self, body: Body, results: Any) -> None:
        """Gives every cell its value after the loop."""
        plain = [t.held if type(t) is _Late else t for t in body.templates]
        values = self._left(fill(plain, results), results)
        rows = zip(self.entry, self.cells, body.templates, values, body.found, strict=True)
        for i, (entry, cell, template, value, end) in enumerate(rows):
            now, last = (value.value, end.value) if type(value) is type(end) is Held else (value, end)
            surely = self.at_least_once and type(now) is type(last) is TensorVar
            if not (surely and not last.locked):
                self._tie(entry, value, cell, (i,), results[0] if results else None)
            if template is UNBOUND:
                value = MaybeUnbound(self.loc, f"'{cell.name}' has a value only if the loop runs")
            elif surely and now is not last:
                now.locked, now.snapshot = last.locked, last.snapshot
            elif type(now) is type(last) is TensorVar and now is not last:
                now.snapshot = snapshot_of(now, last)
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
        return [*[out[i] for i in range(len(out))], *self._shared.conditions(self._handles(given), builder)]

    def _slot_value(self, slot: Slot, x: Any, builder: Builder, types: list[Type] | None) -> Value:
        if type(x) is ArrayVar:
            return x.value
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
                raise self._disagree(end, cell.label)  # about the content of a container
            try:
                new = self._wider(self.assumed[i], end, cell.label, cell)
            except (JoinError, LoopError, SideEffectError) as error:
                if isinstance(cell.obj, Progress):
                    raise self._taken_from() from None
                if cell.obj is not None or cell.internal or isinstance(error, LoopError):
                    raise
                new = MaybeUnbound(None, "", error)  # of interest only to who reads it
            if new is not self.assumed[i]:
                self.assumed[i], done = new, False
        known = {id(cell.obj) for cell in self.cells}
        changed = [(obj, before) for key, (obj, before) in region.saved.items() if key not in known]
        for obj, before in changed:
            now = obj.content()
            obj.set_content(before)
            self._add(Cell(_label(self.lw, obj), obj))
            obj.set_content(now)
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
        if type(assumed) is ArrayVar and type(end) is ArrayVar:
            if assumed.type is end.type and assumed.kind is end.kind:
                return assumed
            raise self._changes(assumed, end, name)
        for x in (assumed, end):
            if is_broken(x):
                raise self._disagree(x.broken.again(None, ""), name)
        xs, ys = elements(assumed), elements(end)
        if getattr(assumed, "form", None) != getattr(end, "form", None):
            raise self._changes(assumed, end, name)
        if xs is not None and ys is not None:
            if len(xs) != len(ys) or (isinstance(assumed, dict) and list(assumed) != list(end)):
                raise self._resized(f"{name} changes its size from {len(xs)} to {len(ys)}")
            labels = [name if isinstance(assumed, Held) else f"{name}[{i}]" for i in range(len(xs))]
            new = [self._wider(x, y, label, cell) for x, y, label in zip(xs, ys, labels, strict=True)]
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
        error = self._error(
            f"{name} is {before} when the loop begins a trip and {describe(end)} when it ends one",
            hint="give it its final type before the loop, e.g. with ops.zeros_like or astype",
        )
        variable = name.split("'")[1] if name.startswith("'") else ""
        place = self.lw.frame.places.get(variable)
        return error if place is None else error.again(place, "the trip ends with this value")

    def _taken_from(self) -> CompileError:
        return JoinError(
            "elements are taken from an iterator in a loop that runs at run time",
            code="AC1406",
            loc=self.loc,
            hint=f"make a list of its elements before the loop{KNOWN_TRIPS}",
        )

    def _disagree(self, error: CompileError, name: str) -> CompileError:
        """The error for a container about which the branches of the body disagree."""
        return self._resized(f"{name} changes its size on some paths") if error.code == "AC1403" else error

    def _resized(self, what: str) -> CompileError:
        return self._error(
            f"{what} in a loop that runs at run time",
            code="AC1504",
            hint=f"make a Tensor of the full size before and assign its elements{KNOWN_TRIPS}",
        )

    def _error(self, message: str, code: str = "AC1406", hint: str | None = None) -> CompileError:
        kind = LoopError if code == "AC1504" else JoinError
        return kind(message, code=code, loc=self.loc, hint=hint)
