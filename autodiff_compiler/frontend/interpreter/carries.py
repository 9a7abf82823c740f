"""What a kept loop carries from trip to trip, and the types it has at the loop's head.

The types are found by tracing to a fixpoint: assume what stands at the entry, trace the body, widen the assumption by
what the body ends with, and repeat until it holds.  The last trace is the loop.  Widening is joining: where a phi of
the two would say less than the assumption does, what they have in common (`variables.leaves`) is assumed next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from ...dtypes import bool_
from ...errors import CompileError, JoinError, LoopError, SideEffectError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import trace
from ...ir.types import Type, tensor
from ...source import Loc
from ..effects.exceptions import raising_in_block
from ..effects.may_alias import reaches
from ..effects.outside_containers import held_in
from ..guards.objects import UNBOUND, same_static
from ..variables.changing import KNOWN_TRIPS, is_aliased, serial_now
from ..variables.collecting import Further
from ..variables.interpreter import Diverged, Region
from ..variables.leaves import RowsLeaf, common_leaf
from ..variables.naming import name_of
from ..variables.rows import IN_A_LIST, fitted, grows
from ..variables.structure import elements, outline, parts, rebuild, told_apart
from ..variables.templates import Slot, example, fill, leaf_of, matched, value_in
from ..variables.values import EITHER, MaybeUnbound, is_box, is_broken, is_unbound, is_union, snapshot_of
from .additions import Additions, lock
from .context import StatementContext
from .loop_ends import Ends, Place

_TRACES = 64


def _label(ctx: StatementContext, obj: Any) -> str:
    """What error messages call an object that a loop changes."""
    if obj.label:
        return obj.label
    name = name_of(ctx, obj, local=True)
    if is_box(obj):
        return f"`{name}`, assigned to by index," if name else "a Tensor assigned to by index"
    opened = ctx.effects.containers.of_outside(obj)
    return opened.what if opened is not None else f"the {type(obj).__name__} `{name}`" if name else "a container"


def _place_of(env: dict[str, Any], obj: Any) -> tuple[Any, ...] | None:
    """Where a frame holds an object: a name and a number among the parts of its value, or the object; None: nowhere."""
    if not (is_aliased(obj) or obj.is_variable):
        return (obj,)
    for name, value in env.items():
        for i, part in enumerate(parts(value)):
            if part is obj:
                return name, i
    return None


def _find(env: dict[str, Any], place: tuple[Any, ...], kind: type) -> Any:
    """The object of a kind at a place; None if there is none now."""
    if len(place) == 1:
        return place[0]
    name, number = place
    for i, part in enumerate(parts(env.get(name, UNBOUND))):
        if i == number:
            return part if type(part) is kind else None
    return None


#: That a name has a value at the entry, or needs none.
_BOUND = object()


@dataclass
class Cell:
    """Something a loop changes: a name of the frame, or a compile-time object."""

    name: str
    obj: Any = None
    #: of a name without a value at the entry, to which the body gives one that is needed after the loop: what stands
    #: for it at the head of a trip
    head: Any = _BOUND

    def get(self, ctx: StatementContext) -> Any:
        if self.obj is None:
            return ctx.frame.env.get(self.name, UNBOUND)
        held = self.obj.content()
        return self.obj.as_value(held)

    def set(self, ctx: StatementContext, value: Any) -> None:
        if self.obj is not None:
            ctx.effects.touch(self.obj)
            self.obj.set_content(self.obj.of_value(value))
        elif value is UNBOUND:
            ctx.frame.env.pop(self.name, None)
        else:
            ctx.frame.env[self.name] = value

    def seen(self, value: Any) -> Any:
        """Of what it holds the value that compiled code sees."""
        return value if self.obj is None else self.obj.seen(value)

    @property
    def internal(self) -> bool:
        return "#" in self.name

    @property
    def label(self) -> str:
        return f"'{self.name}'" if self.obj is None else self.name


_ENTRY = object()


def _settled(entry: Any, assumed: Any) -> Any:
    """An assumption without the values it was made from; `_ENTRY` where it is what stands at the entry."""
    if assumed is entry:
        return _ENTRY
    known = leaf_of(assumed)
    if known is not None and not known.fixed:
        return known
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
    items, before = elements(settled), elements(entry)
    if items is not None and len(items) == 1 and isinstance(items[0], RowsLeaf):
        return rebuild(settled, list(items))
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
    """The carries of one loop.  `at_least_once`: the body is known to run, so what it binds has a value afterwards.

    With `grows` lists may grow in it (`grown_lists`): it cannot be unrolled instead.  `node` is None for a loop that is
    no statement, of which nothing is remembered.
    """

    ctx: StatementContext
    node: Any
    names: list[str]
    loc: Loc | None
    at_least_once: bool
    grows: bool
    #: what the loop adds to lists, if its trips can be counted
    additions: Additions | None = None
    cells: list[Cell] = field(default_factory=list)
    entry: list[Any] = field(default_factory=list)
    assumed: list[Any] = field(default_factory=list)
    #: where, behind them, the conditions stand (see `loop_ends`)
    _behind: slice = field(default_factory=lambda: slice(0))

    def __post_init__(self) -> None:
        self._following = self.ctx.effects.known.following
        #: what the last trace has added to lists, as Values of its block
        self.added: list[Value] = []
        #: what the loop carries, at the head of the trip that was traced last
        self._heads: list[Any] = []
        #: the numbers of names that do not stand for the list of the entry at the end of each trip
        self._rebound: set[int] = set()
        self._shared = Ends(serial_now(), self.ctx.effects.ties, following=self._following)
        for name in self.names:
            self._add(Cell(name))

    def _add(self, cell: Cell) -> None:
        self.cells.append(cell)
        value = cell.get(self.ctx)
        self.entry.append(value)
        self.assumed.append(value)

    # --------------------------------------------------------------------------------------- tracing
    def trace(self, first: list[Type], rest: list[Type], run: Callable[[list[Value], list[Value]], None]) -> Body:
        """Traces the body to its fixpoint.  Its block takes `first`, the carries, and `rest`."""
        memory, env = self.ctx.loops, self.ctx.frame.env
        key = (memory.entry(self.node, env), self.at_least_once) if self.node is not None else None

        def locate(obj: Any) -> Any:
            place = _place_of(env, obj)
            return None if place is None else (place, type(obj))

        if key in memory.settled:
            self._begin(*memory.settled[key])
        decided = self.ctx.report.reasons.decisions
        before = len(decided)
        for _ in range(_TRACES):
            del decided[before:]
            try:
                body, done = self._trace_once(first, rest, run)
            except Further as further:
                self._carry_further(further)
                continue
            if done:
                late = [cell.head is not _BOUND for cell in self.cells]
                rows = zip(late, self.entry, self.assumed, strict=True)
                assumptions = [(is_late, _settled(None if is_late else e, a)) for is_late, e, a in rows]
                objects = [locate(cell.obj) for cell in self.cells[len(self.names) :]]
                if key is not None:
                    memory.settled[key] = assumptions, objects, self._shared.kept(locate)
                return body
        raise self._error("the types of what this loop carries do not settle")

    def _carry_further(self, further: Further) -> None:
        """Assumes that more elements of a list are known at the head of a trip."""
        if self.additions is None or not self.additions.carry_further(further):
            raise further  # the loop around collects the list
        i = next(i for i, cell in enumerate(self.cells) if cell.obj is further.of)
        self.entry[i] = self.assumed[i] = self.additions.at_head(further.of)

    def _begin(self, assumptions: list[Any], objects: list[Any], shared: Any) -> None:
        """Starts from where the same loop settled before."""

        def fetch(located: Any) -> Any:
            return located and _find(self.ctx.frame.env, *located)

        for obj in map(fetch, objects):
            if obj is None or any(cell.obj is obj for cell in self.cells):
                return
            self._add(Cell(_label(self.ctx, obj), obj))
        self.assumed = [a if late else _assumption(e, a) for e, (late, a) in zip(self.entry, assumptions, strict=True)]
        for cell, entry, (late, _) in zip(self.cells, self.entry, assumptions, strict=True):
            cell.head = entry if late else _BOUND
        self._shared.begin(shared, fetch)

    def _trace_once(self, first: list[Type], rest: list[Type], run: Callable[..., None]) -> tuple[Body, bool]:
        ctx = self.ctx
        templates, types, names = self._templates()
        conditions = self._shared.begin_trace(self._handles(self.entry), self._held_elsewhere())
        self._behind = slice(len(types), len(types) + conditions)
        types += [tensor(bool_, ())] * conditions
        names += [None] * conditions
        builder = trace.builder.nested([*first, *types, *rest], [*([None] * len(first)), *names, *([None] * len(rest))])
        ctx.report.reasons.loop(builder.block, self.loc, len(first))
        before = ctx.frame.env
        ctx.frame.env = dict(before)
        with ctx.effects.region() as region, builder:
            try:
                seen = len(ctx.effects.snapshots.read)
                args = builder.block.args
                k, m = len(first), len(first) + len(types)
                heads = self._heads = self.enter(templates, args[k:m])
                try:
                    with self._raising_in_a_trip(builder):
                        run(args[:k], args[m:])
                except Diverged:
                    self.enter(templates, args[k:m])
                found = [cell.get(ctx) for cell in self.cells]
                grown = self._cut_additions(found)
                ctx.effects.snapshots.check_loop(region.start, seen)
                done = self._generalise(found, region) and not grown
                done = not self._ends_noted(found) and done
                ends = self.values(templates, found, builder) if done else []
                if done and self.additions:
                    ends_seen = [x for x, cell in zip(found, self.cells, strict=True) if cell.head is _BOUND]
                    self.added = self.additions.values(builder, region.start, heads, ends_seen)
            finally:
                ctx.frame.env = before
                ctx.effects.restore(region)
        return Body(builder, templates, types, names, ends, found), done

    def _raising_in_a_trip(self, builder: Builder) -> AbstractContextManager[None]:
        """Where nobody knows whether there is a trip, what Python raises in it is raised when it runs.

        Of a wrong type a value may be only because it is known no more than by its type.
        """
        wrong_type = (TypeError, AttributeError)
        return nullcontext() if self.at_least_once else raising_in_block(self.ctx, builder, but=wrong_type)

    def _templates(self) -> tuple[list[Any], list[Type], list[str | None]]:
        types: list[Type] = []
        names: list[str | None] = []

        def go(x: Any, cell: Cell) -> Any:
            known = leaf_of(x)
            if (
                known is not None and not known.fixed
            ):  # two names of one Tensor get a slot each: they may part in the body
                known = known.hidden(trace.builder.sees)
                types.append(known.type)
                names.append(cell.name if cell.obj is None and not cell.internal else None)
                return Slot(len(types) - 1, replace(known, locked=self._locked(x, cell)))
            items = elements(x)
            if items is None or is_broken(x):
                return x
            copy = rebuild(x, [go(i, cell) for i in items])
            if is_aliased(copy) and cell.obj is None:
                copy.locked = self._locked(x, cell)
            return copy

        rows = enumerate(zip(self.assumed, self.cells, strict=True))
        own = [x if cell.obj is None and self._stays(i) else go(x, cell) for i, (x, cell) in rows]
        return own, types, names

    def _held_elsewhere(self) -> dict[Place, Any]:
        """The Tensors of the entry, by their places, that something else than the place may hold."""
        found: dict[Place, Any] = {}

        def go(x: Any, place: Place, cell: Cell) -> None:
            if is_box(x) and self.shared(x, cell):
                found[place] = x
            for i, part in enumerate(elements(x) or ()):
                go(part, (*place, i), cell)

        for i, x in enumerate(self._handles(self.entry) if self._following else ()):
            go(x, (i,), self.cells[i])
        return found

    def _locked(self, x: Any, cell: Cell) -> str:
        """Why the elements of a carried Tensor cannot be assigned: in the first trip it may have other names."""
        locked: str = getattr(x, "locked", "")
        if locked or cell.obj is x or not is_aliased(x):
            return locked
        followed = self._following and is_box(x)
        return EITHER if not followed and self.shared(x, cell) else ""

    def shared(self, x: Any, cell: Cell) -> bool:
        """Whether something else than the cell may hold a Tensor or container."""
        frame = self.ctx.frame
        maybe = [x, *(other for other, _ in self.ctx.effects.ties.spread(x))]
        if any(one.serial < frame.serial for one in maybe):
            return True
        if sum(part is x for part in parts(cell.get(self.ctx))) > 1:
            return True
        others = [value for name, value in frame.env.items() if name != cell.name]
        others += [slot.held for slot in self.ctx.effects.attributes.slots.values() if slot is not cell.obj]
        others += [held_in(x.local) for x in self.ctx.effects.containers.pending() if x.local is not cell.obj]
        return any(reaches(value, one, set()) for one in maybe for value in others)

    def _tie(self, entry: Any, now: Any, cell: Cell, place: Place, scope: Any) -> None:
        """A write to what a cell held at the entry may be one to what it holds now, and is refused where it may."""
        if entry is now or isinstance(now, CompileError):
            return
        if is_union(now):
            for rank, x in entry.by_rank.items():
                if is_box(x) and x is not now.by_rank[rank] and self.shared(x, cell):
                    self.ctx.effects.ties.add(x, now.by_rank[rank], None, scope=scope)
            return
        alike = is_aliased(entry) and type(now) is type(entry)
        if alike and not self._shared.follows(place, entry) and self.shared(entry, cell):
            self.ctx.effects.ties.add(entry, now, None, scope=scope)
        for i, (x, y) in enumerate(zip(elements(entry) or (), elements(now) or (), strict=False)):
            self._tie(x, y, cell, (*place, i), scope)

    def _handles(self, values: Sequence[Any]) -> list[Any]:
        """The carried values that stand for objects, and not for the elements of a box.

        A name of a list that the loop collects does not: the list is carried itself.
        """
        rows = enumerate(zip(self.cells, values, strict=False))
        return [None if is_box(cell.obj) or self._names_collected(i) else x for i, (cell, x) in rows]

    def _names_collected(self, i: int) -> bool:
        """Whether cell number i is a name that stands for a list that the loop collects."""
        return self.cells[i].obj is None and self._stays(i) and self.entry[i] in (self.additions or ())

    def _ends_noted(self, found: list[Any]) -> bool:
        """Notes which objects the carried values share at the end of a trip; True if that is new."""
        return self._shared.note(self._handles(found))

    def _left(self, values: Sequence[Any], results: Any) -> list[Any]:
        """The values after the loop, with the objects that they surely are in the place of their boxes."""
        scope = results[0].owner if results else None
        conditions = results[self._behind]
        if not self.at_least_once:
            self._shared.tie(self._handles(values), scope, conditions)
            return list(values)
        settled = self._shared.settled(self._handles(values))
        self._shared.tie(settled, scope, conditions, ran=True)
        handles = self._handles(values)
        return [v if h is None else s for v, h, s in zip(values, handles, settled, strict=True)]

    def enter(self, templates: list[Any], args: Any) -> list[Any]:
        """Gives every cell its value at the head of a trip; these."""
        values = fill(templates, args)
        for i, cell in enumerate(self.cells):
            if cell.head is not _BOUND and not cell.internal:
                values[i] = cell.head  # what an earlier trip gave the name nobody can reach
            cell.set(self.ctx, values[i])
        scope = trace.builder.block
        for i, (cell, entry, value) in enumerate(zip(self.cells, self.entry, values, strict=True)):
            self._tie(entry, value, cell, (i,), scope)
        self._shared.tie(self._handles(values), scope, args[self._behind])
        return values

    def leave(self, body: Body, results: Any) -> None:
        """Gives every cell its value after the loop."""
        values = self._left(fill(body.templates, results), results)
        rows = zip(self.entry, self.cells, body.templates, values, body.found, strict=True)
        for i, (entry, cell, template, value, end) in enumerate(rows):
            now, last = cell.seen(value), cell.seen(end)
            boxes = is_box(now) and is_box(last)
            surely = self.at_least_once and boxes
            if not (surely and not last.locked):
                self._tie(entry, value, cell, (i,), results[0].owner if results else None)
            if template is UNBOUND:
                value = MaybeUnbound(self.loc, f"'{cell.name}' has a value only if the loop runs")
            elif surely and now is not last:
                now.locked, now.snapshot = last.locked, last.snapshot
            elif boxes and now is not last:
                now.snapshot = snapshot_of(now, last)
            cell.set(self.ctx, value)
        for entry, head in zip(self.entry, self._heads, strict=False):
            self._lock_listed(entry, head)
        if self.additions:
            self._leave_additions(results[len(results) - len(self.added) :])

    @staticmethod
    def _lock_listed(entry: Any, head: Any) -> None:
        """What the first trip has added to a list is a Tensor of the entry: nobody can write to that any more."""
        for one, other in zip(parts(entry), parts(head), strict=False):
            if is_box(one) and is_box(other) and other.locked == IN_A_LIST:
                one.locked = one.locked or IN_A_LIST

    def _leave_additions(self, sequences: Sequence[Value]) -> None:
        """Gives the lists what the loop has collected; who held a Tensor at the entry may find it in one of them."""
        assert self.additions is not None
        for cell, entry in zip(self.cells, self.entry, strict=True):
            if cell.obj is None and entry is not cell.get(self.ctx):
                lock((entry, cell.get(self.ctx)))
        self.ctx.effects.collects = True
        self.additions.leave(sequences)

    # --------------------------------------------------------------------------------------- values of slots
    def inits(self, templates: list[Any]) -> list[Value]:
        """The carries at the entry."""
        return self.values(templates, self.entry, trace.builder)

    def values(self, templates: list[Any], given: list[Any], builder: Builder) -> list[Value]:
        """What the slots of the templates hold for given values of the cells."""
        rows = [fitted(template, x, builder) for template, x in zip(templates, given, strict=True)]
        found = [value_in(slot.leaf, x, builder) for slot, x in matched(templates, rows)]
        return [*found, *self._shared.conditions(self._handles(given), builder)]

    # --------------------------------------------------------------------------------------- generalisation
    def _cut_additions(self, found: list[Any]) -> bool:
        """Leaves out of lists what the loop collects, at the end of a trip; True if the next one begins otherwise."""
        if self.additions is None:
            return False
        other = False
        for i, (cell, end) in enumerate(zip(self.cells, found, strict=True)):
            if cell.obj is None and self._stays(i) and end is not self.entry[i]:
                self._rebound.add(i)
                other = True
            elif not getattr(cell.obj, "stacks", False) or is_broken(cell.obj):
                continue
            elif cell.obj in self.additions:
                found[i] = self.additions.cut(cell.obj, self.assumed[i], end)
            elif len(end) > len(self.assumed[i]):
                self.entry[i] = self.assumed[i] = found[i] = self.additions.at_head(cell.obj, self.entry[i])
                other = True
        return other

    def _stays(self, i: int) -> bool:
        """Whether a name stands for one list in all trips, as far as is known: ``ys += [y]`` gives it the same."""
        return self.additions is not None and getattr(self.entry[i], "stacks", False) and i not in self._rebound

    def _generalise(self, found: list[Any], region: Region) -> bool:
        """Widens the assumptions to cover what the body ends with; True if they already did."""
        done = True
        for cell in self.cells:
            if is_box(cell.obj) and cell.obj.locked == IN_A_LIST:
                raise SideEffectError(
                    f"{cell.name} is changed in a loop that adds it to a list, which would have it as it is at the end",
                    code="AC1602",
                    loc=self.loc,
                    hint="add a copy of it: `x.copy()`",
                )
        self._ends: dict[int, Any] = {}
        for i, (cell, end) in enumerate(zip(self.cells, found, strict=True)):
            if isinstance(end, CompileError):
                raise self._disagree(end, cell.label)  # about the content of a container
            try:
                new = self._wider(self.assumed[i], end, cell.label, cell)
            except (JoinError, LoopError, SideEffectError) as error:
                if cell.obj is not None:
                    raise cell.obj.changed_in_loop(error, self.loc) from None
                if cell.internal or isinstance(error, LoopError):
                    raise
                new = MaybeUnbound(None, "", error)  # of interest only to who reads it
            if new is not self.assumed[i]:
                self.assumed[i], done = new, False
        known = {id(cell.obj) for cell in self.cells}
        changed = [(obj, before) for key, (obj, before) in region.saved.items() if key not in known]
        for obj, before in changed:
            now = obj.content()
            obj.set_content(before)
            self._add(Cell(_label(self.ctx, obj), obj))
            obj.set_content(now)
            done = False
        return done

    def _wider(self, assumed: Any, end: Any, name: str, cell: Cell) -> Any:
        """The assumption that covers a value at the end of the body; `assumed` itself if that does."""
        new = self._widened(assumed, end, name, cell)
        known = leaf_of(assumed) if new is assumed else None
        # Two names of one value share a slot as long as every trip ends with them naming one value again.
        if known is None or known.fixed or self._ends.setdefault(id(assumed), end) is end:
            return new
        return replace(known, locked=self._locked(assumed, cell))

    def _widened(self, assumed: Any, end: Any, name: str, cell: Cell) -> Any:
        if assumed is end or (is_unbound(assumed) and is_unbound(end)):
            return assumed
        if is_union(end) and is_unbound(assumed) and not cell.internal:
            return assumed  # of use in its own trip only
        if is_union(end):  # derivatives of what a loop hands on of several ranks were seen to be wrong
            raise end.error.again(self.loc, "a loop that runs at run time would carry it")
        if is_unbound(assumed):
            if not (cell.internal or self.at_least_once):
                return assumed
            cell.head = assumed
            return end
        if is_unbound(end):
            if cell.internal:
                return assumed
            cell.head = _BOUND
            return MaybeUnbound(self.loc, f"{name} has no value after a trip of the loop") if end is UNBOUND else end
        for x in (assumed, end):
            if is_broken(x):
                raise self._disagree(x.broken.again(None, ""), name)
        xs, ys = elements(assumed), elements(end)
        if xs is not None and ys is not None:
            elem = grows(assumed, end, xs, ys) if self.grows else None
            if elem is not None:
                return rebuild(assumed, [RowsLeaf.of(elem)])
            new = [self._wider(x, y, label, cell) for x, y, label in self._rows(assumed, end, xs, ys, name)]
            return assumed if all(n is x for n, x in zip(new, xs, strict=True)) else rebuild(assumed, new)
        known, last = leaf_of(assumed), leaf_of(end)
        if same_static(assumed, end) or (known is not None and known.is_parameter(last)):
            return assumed
        common = common_leaf(known, last)
        if known is None or common is None:
            raise self._changes(assumed, end, name)
        return assumed if known.covers(common) else common

    def _rows(self, assumed: Any, end: Any, xs: Any, ys: Any, name: str) -> Iterable[tuple[Any, Any, str]]:
        """The elements of two containers, with what messages call them."""
        mine, other = outline(assumed), outline(end)
        if mine.kind != other.kind:
            raise self._changes(assumed, end, name)
        if mine != other:
            raise self._resized(f"{name} changes its size from {len(xs)} to {len(ys)}")
        return zip(xs, ys, mine.labels(name), strict=True)

    def _changes(self, assumed: Any, end: Any, name: str) -> CompileError:
        before, after = told_apart(example(assumed), end)
        error = self._error(
            f"{name} is {before} when the loop begins a trip and {after} when it ends one",
            hint="give it its final type before the loop, e.g. with ops.zeros_like or astype",
        )
        variable = name.split("'")[1] if name.startswith("'") else ""
        place = self.ctx.frame.places.get(variable)
        return error if place is None else error.again(place, "the trip ends with this value")

    def _disagree(self, error: CompileError, name: str) -> CompileError:
        """The error for a container about which the branches of the body disagree."""
        return self._resized(f"{name} changes its size on some paths") if error.code == "AC1403" else error

    def _resized(self, what: str) -> CompileError:
        why = self.ctx.effects.known.not_collected
        others = "append as many elements in every trip, without `break` or `return`"
        if self.grows:
            others = "append Tensors of one shape and dtype, or numbers, each kind to a list of its own"
        return self._error(
            f"{what} in a loop that runs at run time" + (f", and cannot be collected: {why}" if why else ""),
            code="AC1504",
            hint=f"{others}, or make a Tensor of the full size before and assign its elements{KNOWN_TRIPS}",
        )

    def _error(self, message: str, code: str = "AC1406", hint: str | None = None) -> CompileError:
        kind = LoopError if code == "AC1504" else JoinError
        return kind(message, code=code, loc=self.loc, hint=hint)
