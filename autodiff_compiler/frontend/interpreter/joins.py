"""One value where two run-time paths meet: what an `if`, a loop head or several returns make of two values.

Joining builds a *template*: the joined value with a `Slot` wherever a result of the control-flow op will stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...dtypes import from_numpy
from ...errors import CompileError, JoinError
from ...ir.build import Builder
from ...ir.core import Op, Value
from ...ir.primitive import F
from ...ir.types import TensorType, tensor
from ...runtime.records import is_named_tuple, record_fields
from ...source import Loc
from ..effects.may_alias import Ties
from ..guards.objects import UNBOUND, same_static
from ..variables.arithmetic import fits_tensor, joined_number, kind_of_number, lifted_number
from ..variables.growing import GrowingList
from ..variables.structure import elements, rebuild
from ..variables.templates import Slot
from ..variables.values import (
    PARAMETERS,
    ArrayVar,
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
    snapshot_of,
)

__all__ = ["Join"]


def _names_in(x: Any) -> Any:
    return x._fields if is_named_tuple(x) else None


#: Objects by their ids, with what they held.
Changes = Mapping[int, tuple[Any, Any]]

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
    if id(x) not in after:
        return x
    held = after[id(x)][1]
    if isinstance(held, CompileError):
        raise held
    if type(x) is GrowingList:
        x.on_read()
    if type(x) is LocalObject:
        stand_in: Any = LocalObject(x.cls, held)
    else:
        stand_in = TensorVar(held, snapshot=x.snapshot) if type(x) is TensorVar else type(x)(held)
    stand_in.locked, stand_in.serial = x.locked, x.serial
    if type(x) in (LocalList, LocalDict):
        stand_in.marked = x.marked
    return stand_in


_MUTABLE = (TensorVar, LocalList, LocalDict, LocalSet, LocalObject)


def _as_weak(x: Any) -> Any:
    return x if isinstance(x, bool) else Weak(x, bool)


def _array(x: Any, builder: Builder) -> Any:
    """An array known at compile time as one known by its type; other values as they are."""
    if not isinstance(x, np.ndarray | np.generic) or x.dtype.kind not in "biuf":
        return x
    array = np.array(x)
    type_ = tensor(from_numpy(array.dtype), array.shape)
    return ArrayVar(builder.array(array, type_), np.ndarray if isinstance(x, np.ndarray) else np.generic)


class Join:
    """Joins pairs of values; `a_outs` and `b_outs` are what the two blocks must yield for the slots."""

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

    def slot(
        self, a: Value, b: Value, kind: type | None = None, locked: str = "", snapshot: Snapshot | None = None
    ) -> Slot:
        self.a_outs.append(a)
        self.b_outs.append(b)
        return Slot(len(self.a_outs) - 1, kind, locked, snapshot)

    def _locked(self, *boxes: Any) -> str:
        """Why the elements of a Tensor that is one of these cannot be assigned."""
        for x in boxes:
            if type(x) in _MUTABLE and x.locked:
                return str(x.locked)
        return PARAMETERS if any(type(x) is StateVar for x in boxes) else ""

    def _tie(self, part: Any, a: Any = None, b: Any = None) -> Any:
        """Notes what the object that will be made of a part of the template may be: a on one path, b on the other."""
        targets: dict[int, Any] = {}
        siblings: dict[int, Any] = {}
        for i, (x, builder) in enumerate(((a, self.a), (b, self.b))):
            if type(x) not in _MUTABLE:
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
            known = type(x) in _MUTABLE and type(y) in _MUTABLE
            holds.append(known and self._ties.one(x, y, builder, seen))
        return self._where(*holds)

    def _where(self, a: Any, b: Any) -> Any:
        """Where something holds, given where it does on both paths: a path, a slot, or None if that is not known."""
        if a is None or b is None:
            return None
        if isinstance(a, bool) and isinstance(b, bool) and a is not b:
            return a
        return self.slot(lifted_number(_as_weak(a), bool, self.a), lifted_number(_as_weak(b), bool, self.b)).index

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
        if a is UNBOUND or b is UNBOUND:
            return self._partly_bound(a, b, name)
        key = (id(a), id(b))
        if key not in self._memo:
            self._alive += (a, b)
            self._memo[key] = self._join(a, b, name)
        return self._memo[key]

    def _join(self, a: Any, b: Any, name: str) -> Any:
        were = a, b
        a, b = _at_end(a, self._after[0]), _at_end(b, self._after[1])
        if a is UNBOUND or b is UNBOUND or type(a) is MaybeUnbound or type(b) is MaybeUnbound:
            return self._partly_bound(a, b, name)
        for x in (a, b):
            if is_broken(x):
                raise x.broken.again(None, "")
        xs, ys = elements(a), elements(b)
        if getattr(a, "form", None) != getattr(b, "form", None):
            raise self._error("AC1405", f"{name} is {describe(a)} on one path and another {describe(b)} on the other")
        if xs is not None and ys is not None:
            joined = self._containers(a, b, list(xs), list(ys), name)
            return self._tie(joined, *were) if type(joined) in _MUTABLE else joined
        if ArrayVar in (type(a), type(b)):
            a, b = _array(a, self.a), _array(b, self.b)
        if type(a) is ArrayVar and type(b) is ArrayVar and a.kind is b.kind:
            self._check_types(a.type, b.type, name)
            return self.slot(a.value, b.value, a.kind)
        ka, kb = kind_of_number(a), kind_of_number(b)
        if ka and kb and not (type(a) is not Weak and type(b) is not Weak and same_static(a, b)):
            kind = joined_number(ka, kb)
            if kind is None:
                raise self._error("AC1401", f"{name} is {describe(a)} on one path and {describe(b)} on the other")
            return self.slot(lifted_number(a, kind, self.a), lifted_number(b, kind, self.b), kind)
        ta, tb = self._tensor_type(a), self._tensor_type(b)
        if ta is None and tb is None and same_static(a, b):
            if type(a) is LocalSet:
                both = LocalSet(a)
                both.locked = self._locked(a, b)
                return self._tie(both, *were)
            return a
        if type(a) is StateVar and type(b) is StateVar and a.source is b.source:
            return a
        if ta and tb:
            self._check_types(ta, tb, name)
        elif not ((ta and kb and fits_tensor(kb, ta)) or (tb and ka and fits_tensor(ka, tb))):
            raise self._mismatch(a, b, name)
        type_ = ta or tb
        assert type_ is not None
        va, vb = self._value(a, type_, self.a), self._value(b, type_, self.b)
        if va is vb and va.block is not self.a.block:
            return self._tie(TensorVar(va, self._locked(a, b), snapshot_of(a, b)), *were)
        return self._tie(self.slot(va, vb, locked=self._locked(a, b), snapshot=snapshot_of(a, b)), *were)

    def _containers(self, a: Any, b: Any, xs: list[Any], ys: list[Any], name: str) -> Any:
        if isinstance(a, dict) and isinstance(b, dict):
            if list(a) != list(b):
                raise self._error("AC1403", f"{name} has the keys {list(a)} on one path and {list(b)} on the other")
            paths = [f"{name}[{k!r}]" for k in a]
        else:
            same = isinstance(a, list) == isinstance(b, list) and _names_in(a) == _names_in(b)
            fields = record_fields(a)
            same = same and (type(a) is type(b) or (fields is None and record_fields(b) is None))
            if not same or len(xs) != len(ys) or isinstance(a, dict) != isinstance(b, dict):
                raise self._error("AC1403", f"{name} is a {describe(a)} on one path and a {describe(b)} on the other")
            paths = [f"{name}[{i}]" for i in range(len(xs))] if fields is None else [f"{name}.{f}" for f in fields]
            if isinstance(a, Held):
                paths = [name, name]
        items = [self.join(x, y, p) for x, y, p in zip(xs, ys, paths, strict=True)]
        if all(i is x for i, x in zip(items, xs, strict=True)) and not isinstance(a, list | dict):
            return a
        new = rebuild(a, items)
        if isinstance(new, LocalList | LocalDict):
            new.locked = self._locked(a, b)
        return new

    def _partly_bound(self, a: Any, b: Any, name: str) -> Any:
        for x in (a, b):
            if type(x) is MaybeUnbound and x.error is not None:
                return x
        bound, builder = (b, self.a) if a is UNBOUND or type(a) is MaybeUnbound else (a, self.b)
        if "#" not in name or bound is UNBOUND or type(bound) is MaybeUnbound:
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
            if all(n is i for n, i in zip(new, items, strict=True)):
                return bound
            joined = rebuild(bound, new)
            return self._tie_one(joined, bound, other) if type(joined) in _MUTABLE else joined
        mine = self.a if other is self.b else self.b
        if type(bound) not in (TensorVar, Weak, ArrayVar) or bound.value.block is not mine.block:
            return bound
        with other:
            nothing = F.undef(type=bound.value.type)
        pair = (bound.value, nothing) if other is self.b else (nothing, bound.value)
        if type(bound) is not TensorVar:
            return self.slot(*pair, bound.kind)
        return self._tie_one(self.slot(*pair, locked=bound.locked, snapshot=bound.snapshot), bound, other)

    def _tie_one(self, part: Any, bound: Any, other: Builder) -> Any:
        return self._tie(part, bound) if other is self.b else self._tie(part, None, bound)

    # ------------------------------------------------------------------------------------------- leaves
    @staticmethod
    def _tensor_type(x: Any) -> TensorType | None:
        return x.type if type(x) in (TensorVar, StateVar) else None

    @staticmethod
    def _value(x: Any, type_: TensorType, builder: Builder) -> Value:
        if type(x) is TensorVar:
            return x.value
        with builder:
            if type(x) is StateVar:
                return F.state_read(state=x.name, type=x.type)
            if type(x) is Weak:
                return F.cast(x.value, dtype=type_.dtype)
        return builder.const(x, type_)

    def _check_types(self, a: TensorType, b: TensorType, name: str) -> None:
        if a.dtype is not b.dtype:
            raise self._error(
                "AC1401",
                f"{name} is {a} on one path and {b} on the other: dtypes differ",
                hint="cast one of them with astype",
            )
        if a.shape != b.shape:
            where = next((i for i, (p, q) in enumerate(zip(a.shape, b.shape, strict=False)) if p != q), None)
            why = f"dimension {where} differs" if len(a.shape) == len(b.shape) else "the numbers of dimensions differ"
            raise self._error(
                "AC1402", f"{name} has shape {list(a.shape)} on one path and {list(b.shape)} on the other: {why}"
            )

    def _mismatch(self, a: Any, b: Any, name: str) -> CompileError:
        if a is None or b is None:
            other = describe(b if a is None else a)
            return self._error(
                "AC1404",
                f"{name} is None on one path and {other} on the other",
                hint="give it a value on every path (is a `return` or an `else` missing?)",
            )
        code = "AC1405" if not (self._tensor_type(a) or self._tensor_type(b)) else "AC1403"
        hint = "call both and select between their results" if callable(a) and callable(b) else None
        return self._error(code, f"{name} is {describe(a)} on one path and {describe(b)} on the other", hint=hint)

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
