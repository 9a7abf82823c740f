"""Phis: what an `if`, or several returns, make of the two values that a name or object has on two run-time paths.

Values are trees (`variables.structure`): those that hold others must have one outline and are joined part by part; at
the ends a phi is what two leaves have in common (`variables.leaves`).  Joining builds a *template*: the joined value
with a `Slot` wherever a result of the control-flow op, a phi, will stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import CompileError, InternalCompilerError, JoinError
from ...ir.build import Builder
from ...ir.core import Op, Value
from ...ir.primitive import F
from ...ir.sizes import Size
from ...source import Loc
from ..effects.may_alias import Ties, as_condition
from ..guards.objects import same_static
from ..variables.arithmetic import kind_of_number
from ..variables.changing import is_aliased
from ..variables.leaves import Leaf, NumberLeaf, common_leaf
from ..variables.rows import grows, packed
from ..variables.structure import elements, form_of, outline, rebuild, told_apart
from ..variables.templates import Slot, leaf_of, value_in
from ..variables.unions import MOST_RANKS, UnionVar, by_rank, differ_in_rank, rank_key, rank_of
from ..variables.values import MaybeUnbound, describe, is_broken, is_size, is_unbound, is_union

#: Objects by their ids, with what they held.
Changes = Mapping[int, tuple[Any, Any]]


def _shapes(xs: Mapping[int, Any], ys: Mapping[int, Any], name: str) -> str:
    one, other = (" or ".join(str(list(x.type.shape)) for x in ways.values()) for ways in (xs, ys))
    return f"{name} has shape {one} on one path and {other} on the other"


#: The name under which `jumps` keeps the value of an early return.
RETURN = "return#value"


_HINTS = {
    "AC1401": "convert one of them, so that both paths give the same kind of number",
    "AC1402": "give both paths one shape, e.g. with reshape, broadcast_to or a reduction",
    "AC1403": "give it the same containers, of the same size, with the same keys in the same order, on every path",
    "AC1405": "decide by something known at compile time, or use both and select between the results",
}


def _at_end(x: Any, after: Changes) -> Any:
    """An object as it was at the end of a path; it holds again what it held before the paths parted."""
    return x.as_of(after[id(x)][1]) if id(x) in after else x


class Join:
    """The phis of one `if`: joins pairs of values; `a_outs` and `b_outs` are what its blocks yield for the slots."""

    def __init__(
        self,
        a: Builder,
        b: Builder,
        places: tuple[Loc | None, Loc | None],
        start: int,
        after: tuple[Changes, Changes],
        ties: Ties,
        condition: Value,
    ) -> None:
        self.a, self.b = a, b
        #: what the objects that each path changed held at its end
        self._after = after
        self.places = places
        self._start = start  # objects with a smaller serial were made before the paths parted
        self.a_outs: list[Value] = []
        self.b_outs: list[Value] = []
        self._memo: dict[tuple[int, int], Any] = {}
        #: the phis of ranks: Tensors whose ranks go together have one
        self._ranks: dict[tuple[Any, Any], Any] = {}
        self._alive: list[Any] = []
        self._ties, self._condition = ties, condition
        #: what the objects made of parts of templates may be, by the ids of the parts
        self._tied: dict[int, list[tuple[Any, Any]]] = {}
        #: the parts made of an object, by its id, on each path; and which two of them are one, and where
        self._made_of: tuple[dict[int, list[Any]], dict[int, list[Any]]] = ({}, {})
        self._siblings: list[tuple[Any, Any, Any]] = []
        #: what each part was made of on the two paths; and what was looked up in `ties` there
        self._parts: dict[int, tuple[Any, Any]] = {}
        self._seen: tuple[dict[int, Any], dict[int, Any]] = ({}, {})

    def phi(self, a: Value, b: Value, leaf: Leaf) -> Slot:
        """The phi of two Values, of which a leaf says what is known of either."""
        self.a_outs.append(a)
        self.b_outs.append(b)
        return Slot(len(self.a_outs) - 1, leaf)

    def _tie(self, part: Any, a: Any = None, b: Any = None) -> Any:
        """Notes what the object that will be made of a part of the template may be: a on one path, b on the other."""
        targets: dict[int, Any] = {}
        siblings: dict[int, Any] = {}
        for i, (x, builder) in enumerate(((a, self.a), (b, self.b))):
            if not is_aliased(x):
                continue
            reached = [x, *(self._ties.nearest(x, self._start, builder) if x.serial >= self._start else ())]
            for target in reached:
                if target.serial < self._start:
                    targets[id(target)] = target
                    continue
                siblings.update((id(s), s) for s in self._made_of[i].get(id(target), ()) if s is not part)
            self._made_of[i].setdefault(id(x), []).append(part)
            self._alive += (part, x)
        self._parts[id(part)] = a, b
        for sibling in siblings.values():
            self._siblings.append((part, sibling, self._where_one((a, b), self._parts[id(sibling)])))
        if targets:
            self._tied[id(part)] = [(target, self._where_one((a, b), (target, target))) for target in targets.values()]
        return part

    def _where_one(self, xs: tuple[Any, Any], ys: tuple[Any, Any]) -> Any:
        """Where two objects are one, given which they are on each path."""
        holds = []
        for x, y, builder, seen in zip(xs, ys, (self.a, self.b), self._seen, strict=True):
            known = is_aliased(x) and is_aliased(y)
            holds.append(known and self._ties.one(x, y, builder, seen))
        return self._where(*holds)

    def _where(self, a: Any, b: Any) -> Any:
        """Where something holds, given where it does on both paths: a path, a slot, or None if that is not known."""
        if a is None or b is None:
            return None
        if isinstance(a, bool) and isinstance(b, bool) and a is not b:
            return a
        return self.phi(as_condition(a, self.a), as_condition(b, self.b), NumberLeaf.of(bool)).index

    def tied(self, op: Op) -> Callable[[Any, Any], None]:
        """For `fill`: ties what was made of the results of the op, in the scope of the op."""

        objects: dict[int, Any] = {}
        siblings: dict[int, list[tuple[Any, Any, Any]]] = {}
        for one, other, where in self._siblings:
            siblings.setdefault(id(one), []).append((one, other, where))
            siblings.setdefault(id(other), []).append((one, other, where))

        def tie(made: Any, target: Any, where: Any) -> None:
            if where is None or isinstance(where, bool):
                condition = None if where is None else self._condition
                self._ties.add(made, target, condition, positive=where is not False, scope=op)
            else:
                self._ties.add(made, target, op.results[where], scope=op)

        def on_made(part: Any, made: Any) -> None:
            objects[id(part)] = made
            for target, where in self._tied.get(id(part), ()):
                tie(made, target, where)
            for one, other, where in siblings.get(id(part), ()):
                if id(one) in objects and id(other) in objects:
                    tie(objects[id(one)], objects[id(other)], where)

        return on_made

    def join(self, a: Any, b: Any, name: str) -> Any:
        """The template for two values; `name` is what the user calls them (a variable, "the return value")."""
        if a is b:
            return a
        if is_unbound(a) or is_unbound(b):
            return self._partly_bound(a, b, name)
        key = (id(a), id(b))
        if key not in self._memo:
            self._alive += (a, b)
            self._memo[key] = self._join(a, b, name)
        return self._memo[key]

    def _join(self, a: Any, b: Any, name: str) -> Any:
        were = a, b
        a, b = _at_end(a, self._after[0]), _at_end(b, self._after[1])
        if is_unbound(a) or is_unbound(b):
            return self._partly_bound(a, b, name)
        for x in (a, b):
            if is_broken(x):
                raise x.broken.again(None, "")
        if differ_in_rank(a, b):
            return self._union(a, b, were, name)
        xs, ys = elements(a), elements(b)
        if xs is not None and ys is not None:
            joined = self._containers(a, b, list(xs), list(ys), name)
            return self._tie(joined, *were) if is_aliased(joined) else joined
        known_a, known_b = leaf_of(a), leaf_of(b)
        if same_static(a, b) or (known_a is not None and known_a.is_parameter(known_b)):
            return self._tie(self._either(a, b, a.like(a)), *were) if is_aliased(a) else a
        common = common_leaf(known_a, known_b)
        if common is None:
            raise self._mismatch(a, b, known_a, known_b, name)
        common = common.hidden(self._sees)
        va, vb = value_in(common, a, self.a), value_in(common, b, self.b)
        if va is vb and va.block is not self.a.block and common.kind is None:
            return self._tie(common.made(va), *were)
        return self._tie(self.phi(va, vb, common), *were)

    def _union(self, a: Any, b: Any, were: tuple[Any, Any], name: str) -> UnionVar:
        """The union for two Tensors, or unions, of different ranks."""
        xs, ys = by_rank(a), by_rank(b)
        assert xs is not None
        assert ys is not None
        ranks = sorted({*xs, *ys})
        error = self._error("AC1402", f"{_shapes(xs, ys, name)}: the numbers of dimensions differ")
        if len(ranks) > MOST_RANKS or (a, b) != were:  # of a Tensor that was written to, others may see the union
            raise error
        key = rank_key(rank_of(a)), rank_key(rank_of(b))
        if key not in self._ranks:
            self._ranks[key] = self.join(rank_of(a), rank_of(b), name)
        parts = {}
        for rank in ranks:
            if rank in xs and rank in ys:
                parts[rank] = self.join(xs[rank], ys[rank], name)
            else:
                parts[rank] = self.with_undef(*((xs[rank], self.b) if rank in xs else (ys[rank], self.a)))
        return UnionVar(self._ranks[key], parts, error)

    def _sees(self, size: Size) -> bool:
        """Whether the symbols of data in a size are bound around the paths."""
        around = self.a.parent
        return around is not None and around.sees(size)

    def _containers(self, a: Any, b: Any, xs: list[Any], ys: list[Any], name: str) -> Any:
        elem = grows(a, b, xs, ys)
        if elem is not None:
            one, other = packed(xs, elem, self.a), packed(ys, elem, self.b)
            return self._either(a, b, rebuild(a, [self.join(one, other, name)]))
        mine = outline(a)
        if mine != outline(b):
            raise self._unlike(a, b, name)
        items = [self.join(x, y, label) for x, y, label in zip(xs, ys, mine.labels(name), strict=True)]
        if all(i is x for i, x in zip(items, xs, strict=True)) and not form_of(a).changes:
            return a
        return self._either(a, b, rebuild(a, items))

    @staticmethod
    def _either(a: Any, b: Any, new: Any) -> Any:
        """A new object that is one of two: nobody can change it who may not change both."""
        if is_aliased(new):
            new.locked = next((x.locked for x in (a, b) if is_aliased(x) and x.locked), "")
        return new

    def _partly_bound(self, a: Any, b: Any, name: str) -> Any:
        for x in (a, b):
            if is_unbound(x) and x.error is not None:
                return x
        bound, builder = (b, self.a) if is_unbound(a) else (a, self.b)
        if "#" not in name or is_unbound(bound):
            return MaybeUnbound(self.places[0], f"{name} has a value only on some paths")
        # Names made by `jumps` are read only where their flag says they have a value.
        return self.with_undef(bound, builder)

    def with_undef(self, bound: Any, other: Builder) -> Any:
        """A template for a value that the other path does not have: it yields `undef` there.

        What was made before the paths parted is left as it is, so that its aliases stay aliases.
        """
        key = (id(bound), 0)
        if key not in self._memo:
            self._alive.append(bound)
            self._memo[key] = self._with_undef(bound, other)
        return self._memo[key]

    def _with_undef(self, bound: Any, other: Builder) -> Any:
        items = elements(bound)
        if is_broken(bound):
            return bound
        if items is not None:
            new = [self.with_undef(i, other) for i in items]
            if is_union(bound):
                new[0] = self._rank_or_any(bound, other)
            same = all(n is i for n, i in zip(new, items, strict=True))
            return bound if same else self._tie_one(rebuild(bound, new), bound, other)
        mine = self.a if other is self.b else self.b
        leaf = leaf_of(bound)
        if is_size(bound):
            if self._sees(bound):
                return bound
        elif leaf is None or leaf.fixed or bound.value.block is not mine.block:
            return bound
        assert leaf is not None
        leaf = leaf.hidden(self._sees)
        value = value_in(leaf, bound, mine)
        with other:
            nothing = F.undef(type=leaf.type)
        one, two = (value, nothing) if other is self.b else (nothing, value)
        return self._tie_one(self.phi(one, two, leaf), bound, other)

    def _rank_or_any(self, union: UnionVar, other: Builder) -> Any:
        """The rank of a union that the other path does not have: one of its ranks there, as ranks are always read."""
        mine = self.a if other is self.b else self.b
        if union.rank.value.block is not mine.block:
            return union.rank
        with other:
            one = other.const(min(union.by_rank), union.rank.value.type)
        value: Value = union.rank.value
        return self.phi(*((value, one) if other is self.b else (one, value)), NumberLeaf.of(int))

    def _tie_one(self, part: Any, bound: Any, other: Builder) -> Any:
        return self._tie(part, bound) if other is self.b else self._tie(part, None, bound)

    # ------------------------------------------------------------------------------------------- errors
    def _unlike(self, a: Any, b: Any, name: str) -> CompileError:
        """The error for values that hold others, of which one can never be the other."""
        if outline(a).kind is outline(b).kind is dict:
            return self._error("AC1403", f"{name} has the keys {list(a)} on one path and {list(b)} on the other")
        code = max(form_of(a).code, form_of(b).code)
        if code == "AC1405":
            return self._error(code, f"{name} is {describe(a)} on one path and another {describe(b)} on the other")
        one, other = told_apart(a, b)
        return self._error(code, f"{name} is a {one} on one path and a {other} on the other")

    def _mismatch(self, a: Any, b: Any, known_a: Leaf | None, known_b: Leaf | None, name: str) -> CompileError:
        """The error for values without a common type."""
        if known_a is not None and known_b is not None and known_a.kind is known_b.kind:
            return self._types_differ(known_a, known_b, name)
        if a is None or b is None:
            other = describe(b if a is None else a)
            return self._error(
                "AC1404",
                f"{name} is None on one path and {other} on the other",
                hint="give it a value on every path (is a `return` or an `else` missing?)",
            )
        numbers = kind_of_number(a) and kind_of_number(b)
        tensors = any(x is not None and x.kind is None for x in (known_a, known_b))
        code = "AC1401" if numbers else "AC1403" if tensors else "AC1405"
        hint = "call both and select between their results" if callable(a) and callable(b) else None
        return self._error(code, f"{name} is {describe(a)} on one path and {describe(b)} on the other", hint=hint)

    def _types_differ(self, known_a: Leaf, known_b: Leaf, name: str) -> CompileError:
        a, b = known_a.type, known_b.type
        if a.dtype is not b.dtype:
            return self._error(
                "AC1401",
                f"{name} is {a} on one path and {b} on the other: dtypes differ",
                hint="cast one of them with astype",
            )
        raise InternalCompilerError(f"{name} has ranks {a.ndim} and {b.ndim}, and is no union")

    def _error(self, code: str, message: str, hint: str | None = None) -> CompileError:
        hint = hint or _HINTS[code]
        one, other = self.places
        spans = (
            ((one, "one path"), (other, "the other path"))
            if one and other and one != other
            else ((one, ""),)
            if one
            else ()
        )
        message = message.replace(RETURN, "the return value")
        return JoinError(message, code=code, spans=spans, hint=hint)
