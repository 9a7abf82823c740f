"""Removes `break`, `continue` and early `return` from a function's tree; later steps know of no jumps.

An `if` whose one arm always leaves takes the statements after it into its other arm.  Where that is not
possible the jump sets a flag and what follows is guarded by it.  A continuation is moved or guarded, never
copied, so the size stays linear.  The names made here hold a ``#``, which no Python name can:

- ``return#value``  the value to return, ``ret#1``  whether the function has returned
- ``x#brkk``  what x held at a `break` of loop k, if it had no value before the loop
- ``brk#k``  whether loop k was left by `break`, ``cont#k``  whether its present trip was left by `continue`

Every `For` and `While` of the result has an attribute ``stop_flags``: the names of the flags that end it
early.  The test of a `While` asks them already; a `For` must be ended by whoever lowers it, after the trip
that sets one.  Neither has an ``orelse``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gast

from ...errors import RecursionDepthError

RETURN_VALUE: Final = "return#value"
RETURNED: Final = "ret#1"

# Moving the rest into an arm nests one level per `if`.  Beyond this depth guards are put one after the
# other wherever no variable crosses them; a variable that does would need a value on paths that have left.
_NESTING: Final = 20

Kinds = frozenset[str]  # of "ret", "brk", "cont": how control may leave a statement
_NONE: Final[Kinds] = frozenset()


@dataclass(frozen=True)
class _Facts:
    """How control gets through a statement."""

    jumps: Kinds = _NONE  # to places outside of the statement
    leaves: bool = False  # control never reaches the next statement
    plain: bool = True  # holds neither jump nor loop, so it can be kept as it is


@dataclass(eq=False)
class _Loop:
    """The loop around the statements at hand, with the names of its flags."""

    brk: str | None = None
    cont: str | None = None
    #: names that the loop may be the first to bind and that are read after it; what they hold at a `break` is kept
    late: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Context:
    """Where a list of statements stands."""

    loop: _Loop | None = None
    watch: Kinds = _NONE  # the jumps whose flags are asked after the list
    tail: bool = False  # falling off the end of the list is falling off the end of the function
    depth: int = 0  # levels of nesting added so far

    def inside(self, watch: Kinds = _NONE) -> _Context:
        """The context of an arm with statements after it."""
        return _Context(self.loop, self.watch | watch, False, self.depth)

    def deeper(self) -> _Context:
        return _Context(self.loop, self.watch, self.tail, self.depth + 1)


def remove_jumps(function: Any) -> Any:
    """An equivalent function without `break` and `continue` and with at most one `return`, its last statement.

    Takes a `gast.FunctionDef` or `gast.Lambda` and leaves it unchanged; the parts without jumps are shared.
    Functions defined inside are left alone.
    """
    if not isinstance(function, gast.FunctionDef):
        return function
    try:
        body = _Remover(
            n.id for n in gast.walk(function.args) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Param)
        ).function_body(function.body)
    except RecursionError:
        raise RecursionDepthError(
            f"`{function.name}` is nested too deeply once its early exits are rewritten",
            hint="split the function, or assign the result and return it once at the end",
        ) from None
    fields = {name: getattr(function, name) for name in function._fields if hasattr(function, name)}
    return gast.copy_location(gast.FunctionDef(**{**fields, "body": body}), function)


class _Remover:
    def __init__(self, bound: Iterable[str] = ()) -> None:
        self._bound = set(bound)  # names that surely have a value before the statements at hand
        self._facts: dict[int, _Facts] = {}
        self._read: dict[int, frozenset[str]] = {}
        self._made: list[Any] = []  # keeps new statements alive, so that the ids above stay theirs
        self._breaks = self._continues = 0
        self._last: list[Any] = []  # what follows the statements at hand at the end of the function

    # -- analysis -----------------------------------------------------------------------------------------

    def facts(self, stmt: Any) -> _Facts:
        found = self._facts.get(id(stmt))
        if found is None:
            found = self._facts[id(stmt)] = self._analyse(stmt)
        return found

    def jumps(self, stmts: Sequence[Any]) -> Kinds:
        return _NONE.union(*(self.facts(s).jumps for s in stmts))

    def leaves(self, stmts: Sequence[Any]) -> bool:
        return any(self.facts(s).leaves for s in stmts)

    def _analyse(self, stmt: Any) -> _Facts:
        match stmt:
            case gast.Return():
                return _Facts(frozenset({"ret"}), True, False)
            case gast.Break():
                return _Facts(frozenset({"brk"}), True, False)
            case gast.Continue():
                return _Facts(frozenset({"cont"}), True, False)
            case gast.Raise():
                return _Facts(leaves=True)
            case gast.If():
                arms = [*stmt.body, *stmt.orelse]
                leaves = self.leaves(stmt.body) and self.leaves(stmt.orelse)
                plain = all(self.facts(s).plain for s in arms) and not self._splits(stmt)
                return _Facts(self.jumps(arms), leaves, plain)
            case gast.For() | gast.While():
                inside, orelse = self.jumps(stmt.body), self.jumps(stmt.orelse)
                endless = isinstance(stmt, gast.While) and _always_true(stmt.test)
                leaves = "brk" not in inside and (endless or self.leaves(stmt.orelse))
                return _Facts((inside & {"ret"}) | orelse, leaves, False)
            case gast.With():
                plain = all(self.facts(s).plain for s in stmt.body)
                return _Facts(self.jumps(stmt.body), self.leaves(stmt.body), plain)
            case _:  # simple statements, definitions, and what the fence refuses when it is reached
                return _Facts()

    def _splits(self, stmt: Any) -> bool:
        """Whether exactly one arm of an `if` always leaves.

        A lone `if c: raise E` does not count: it changes no variable, and what follows is better left outside.
        """
        if not isinstance(stmt, gast.If) or self.leaves(stmt.body) == self.leaves(stmt.orelse):
            return False
        return not (not stmt.orelse and len(stmt.body) == 1 and isinstance(stmt.body[0], gast.Raise))

    # -- the function -------------------------------------------------------------------------------------

    def function_body(self, body: list[Any]) -> list[Any]:
        returns = list(_returns(body))
        before = body[:-1]
        last_only = len(returns) == 1 and returns[0] is body[-1]
        if last_only and not self.jumps(before) and not any(self._splits(s) or self.facts(s).leaves for s in before):
            self._last = [returns[0]]
            return [*self.block(before, _Context()), returns[0]]
        if not returns:
            return _filled(self.block(body, _Context()), body[0])
        out = self.block(body, _Context(tail=True))
        if any(_asks(s, RETURNED) for s in out):
            after_docstring = 1 if _is_docstring(body[0]) else 0
            out.insert(after_docstring, _assign(RETURNED, False, returns[0]))
        value = gast.copy_location(_name(RETURN_VALUE, gast.Load()), returns[-1])
        return [*out, gast.copy_location(gast.Return(value), returns[-1])]

    # -- statements ---------------------------------------------------------------------------------------

    def block(self, stmts: Sequence[Any], context: _Context) -> list[Any]:
        """The statements without jumps, up to the first that always leaves."""
        before = self._bound
        self._bound = set(before)
        try:
            return self._block(stmts, context)
        finally:
            self._bound = before

    def _block(self, stmts: Sequence[Any], context: _Context) -> list[Any]:
        out: list[Any] = []
        for i, stmt in enumerate(stmts):
            facts = self.facts(stmt)
            if isinstance(stmt, gast.Return | gast.Break | gast.Continue):
                return out + self._jump(stmt, context)
            if facts.plain:
                self._bound |= _written(stmt)
                out.append(stmt)
                if facts.leaves:
                    return out
                continue
            rest = stmts[i + 1 :]
            if isinstance(stmt, gast.If):
                if facts.jumps or (rest and self._takes_rest(stmt, rest, context)):
                    return out + self._if(stmt, rest, context)
                out.append(self._arms(stmt, stmt.body, stmt.orelse, context.inside(), context.inside()))
            elif isinstance(stmt, gast.With):
                if facts.jumps:
                    return out + self._with(stmt, rest, context)
                out.append(self._rebuilt_with(stmt, context.inside()))
            else:
                loop, otherwise = self._loop(stmt, context, rest)
                out += loop
                inside = self.jumps(stmt.body) & {"ret"}
                if inside or otherwise:
                    return out + self._after_loop(stmt, inside, [*otherwise, *rest], context)
            if facts.leaves:
                return out
        if context.tail:
            out.append(_assign(RETURN_VALUE, None, stmts[-1]))
        return out

    def _jump(self, stmt: Any, context: _Context) -> list[Any]:
        out = []
        if isinstance(stmt, gast.Return):
            out.append(_assign(RETURN_VALUE, stmt.value, stmt))
            if "ret" in context.watch:
                out.append(_assign(RETURNED, True, stmt))
        elif isinstance(stmt, gast.Break):
            flag = self._flag("brk", context)
            out += [_keep("break", name, flag, stmt) for name in context.loop.late]  # type: ignore[union-attr]
            out.append(_assign(flag, True, stmt))
        elif "cont" in context.watch:
            out.append(_assign(self._flag("cont", context), True, stmt))
        return out

    def _takes_rest(self, stmt: Any, rest: Sequence[Any], context: _Context) -> bool:
        return self._splits(stmt) and not (context.depth >= _NESTING and self._separable([stmt], rest))

    def _if(self, stmt: Any, rest: Sequence[Any], context: _Context) -> list[Any]:
        body, orelse, kinds = stmt.body, stmt.orelse, self.facts(stmt).jumps
        if not rest or self.facts(stmt).leaves:
            return [self._arms(stmt, body, orelse, context, context)]
        if self._takes_rest(stmt, rest, context):
            if self.leaves(body):
                return [self._arms(stmt, body, [*orelse, *rest], context.inside(), context.deeper())]
            return [self._arms(stmt, [*body, *rest], orelse, context.deeper(), context.inside())]
        inside = context.inside(kinds)
        return [self._arms(stmt, body, orelse, inside, inside), *self._guarded(rest, kinds, context)]

    def _arms(
        self, stmt: Any, body: Sequence[Any], orelse: Sequence[Any], for_body: _Context, for_else: _Context
    ) -> Any:
        new_body = _filled(self.block(body, for_body), body[0])
        new_else = self.block(orelse, for_else) if orelse else []
        if not orelse and for_else.tail:
            new_else = [_assign(RETURN_VALUE, None, stmt)]
        return gast.copy_location(gast.If(stmt.test, new_body, new_else), stmt)

    def _with(self, stmt: Any, rest: Sequence[Any], context: _Context) -> list[Any]:
        kinds = self.facts(stmt).jumps
        if not rest or self.facts(stmt).leaves:
            return [self._rebuilt_with(stmt, context)]
        return [self._rebuilt_with(stmt, context.inside(kinds)), *self._guarded(rest, kinds, context)]

    def _rebuilt_with(self, stmt: Any, context: _Context) -> Any:
        return _rebuilt(stmt, body=_filled(self.block(stmt.body, context), stmt.body[0]))

    def _loop(self, stmt: Any, context: _Context, rest: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The loop with what must stand before it, and what its `else` clause becomes."""
        kinds = self.jumps(stmt.body)
        loop = _Loop()
        endless = isinstance(stmt, gast.While) and _always_true(stmt.test)
        if "brk" in kinds:
            self._breaks += 1
            loop.brk = f"brk#{self._breaks}"
            if endless or stmt.orelse:
                bound = {n.id for s in stmt.body for n in gast.walk(s) if _is_store(n)} - self._bound
                loop.late = tuple(sorted(bound & self._all_reads([*rest, *self._last])))
        stop = (*((loop.brk,) if loop.brk else ()), *((RETURNED,) if "ret" in kinds else ()))
        body = self.block(stmt.body, _Context(loop, kinds & {"ret", "brk"}, False, context.depth))
        if loop.cont:
            body.insert(0, _assign(loop.cont, False, stmt))
        new = _rebuilt(stmt, body=_filled(body, stmt.body[0]), orelse=[])
        if stop and isinstance(stmt, gast.While):
            own = [] if _always_true(stmt.test) else [stmt.test]
            new.test = _none_of(stop, stmt.test, own)
        new.stop_flags = stop
        otherwise = stmt.orelse
        kept = [_keep("after", name, loop.brk, stmt) for name in loop.late]
        if loop.brk and endless:
            otherwise = kept
        elif loop.brk and otherwise:
            guard = gast.If(_none_of((loop.brk,), otherwise[0]), otherwise, kept)
            otherwise = [gast.copy_location(guard, otherwise[0])]
        self._made += otherwise
        before = [_keep("before", name, loop.brk, stmt) for name in loop.late]
        before += [_assign(loop.brk, False, stmt)] if loop.brk else []
        return [*before, new], otherwise

    def _after_loop(self, stmt: Any, kinds: Kinds, rest: Sequence[Any], context: _Context) -> list[Any]:
        if isinstance(stmt, gast.While) and _always_true(stmt.test) and "brk" not in self.jumps(stmt.body):
            return []
        if kinds:
            return self._guarded(rest, kinds, context, stmt)
        return self.block(rest, context)

    def _guarded(self, rest: Sequence[Any], kinds: Kinds, context: _Context, after: Any = None) -> list[Any]:
        """`rest` where none of the jumps `kinds` has happened."""
        if not rest:
            if not context.tail:
                return []
            return [self._guard([_assign(RETURN_VALUE, None, after)], kinds, after, context)]
        out: list[Any] = []
        while True:
            segment = self._segment(rest) if context.depth >= _NESTING else len(rest)
            if segment == len(rest):
                return [*out, self._guard(self.block(rest, context.deeper()), kinds, rest[0], context)]
            more = self.jumps(rest[:segment])
            body = self.block(rest[:segment], context.inside(more).deeper())
            out.append(self._guard(body, kinds, rest[0], context))
            kinds, rest = kinds | more, rest[segment:]

    def _segment(self, rest: Sequence[Any]) -> int:
        """How many statements can share one guard with nothing but the flags crossing its end."""
        end = next((i for i, s in enumerate(rest) if self.facts(s).jumps), len(rest) - 1) + 1
        if self.leaves(rest[:end]) or not self._separable(rest[:end], rest[end:]):
            return len(rest)
        return end

    def _separable(self, first: Sequence[Any], later: Sequence[Any]) -> bool:
        """Whether nothing that `first` changes is read in `later`."""
        changed = {name for stmt in first for name in _changed(stmt)}
        for stmt in later:
            if not changed:
                break
            if not changed.isdisjoint(self._reads(stmt)):
                return False
            changed -= _written(stmt)
        return True

    def _reads(self, stmt: Any) -> frozenset[str]:
        """The names whose value from before the statement it may use."""
        found = self._read.get(id(stmt))
        if found is None:
            found = self._read[id(stmt)] = self._find_reads(stmt)
        return found

    def _find_reads(self, stmt: Any) -> frozenset[str]:
        match stmt:
            case gast.If() | gast.While():
                return _loads(stmt.test) | self._all_reads(stmt.body) | self._all_reads(stmt.orelse)
            case gast.For():
                body = self._all_reads(stmt.body) - set(_changed(stmt.target))
                return _loads(stmt.iter) | _loads(stmt.target) | body | self._all_reads(stmt.orelse)
            case gast.AugAssign() | gast.Delete():
                return _loads(stmt) | frozenset(_changed(stmt))
            case _:
                return _loads(stmt)

    def _all_reads(self, stmts: Sequence[Any]) -> frozenset[str]:
        reads: set[str] = set()
        written: set[str] = set()
        for stmt in stmts:
            reads |= self._reads(stmt) - written
            written |= _written(stmt)
        return frozenset(reads)

    def _guard(self, body: list[Any], kinds: Kinds, place: Any, context: _Context) -> Any:
        flags = [self._flag(kind, context) for kind in ("ret", "brk", "cont") if kind in kinds]
        return gast.copy_location(gast.If(_none_of(flags, place), _filled(body, place), []), place)

    def _flag(self, kind: str, context: _Context) -> str:
        if kind == "ret":
            return RETURNED
        loop = context.loop
        assert loop is not None  # the parser refuses `break` and `continue` outside of loops
        if kind == "cont":
            if loop.cont is None:
                self._continues += 1
                loop.cont = f"cont#{self._continues}"
            return loop.cont
        assert loop.brk is not None
        return loop.brk


# -- nodes ------------------------------------------------------------------------------------------------


class Kept(gast.Constant):
    """What a name holds at a `break`, kept for the statements after the loop; `value` is (when, name, kept as).

    Before the loop it notes whether the name has a value, and after it the name gets what was kept, if it had none.
    """


def _keep(when: str, name: str, flag: Any, place: Any) -> Any:
    kept = f"{name}#{flag.replace('#', '')}"
    value = gast.copy_location(Kept((when, name, kept), None), place)
    return _assign(name if when == "after" else kept, value, place)


def _is_store(node: Any) -> bool:
    return isinstance(node, gast.Name) and isinstance(node.ctx, gast.Store)


def _name(name: str, context: Any) -> Any:
    return gast.Name(name, context, None, None)


def _assign(name: str, value: Any, place: Any) -> Any:
    """`name = value` at the location of `place`; a value that is no node becomes a constant."""
    if not isinstance(value, gast.AST):
        value = gast.copy_location(gast.Constant(value, None), place)
    target = gast.copy_location(_name(name, gast.Store()), place)
    return gast.copy_location(gast.Assign([target], value, None), place)


def _none_of(flags: Sequence[str], place: Any, more: Sequence[Any] = ()) -> Any:
    """The test that no flag is set, and then whatever else is asked."""
    tests = []
    for flag in flags:
        read = gast.copy_location(_name(flag, gast.Load()), place)
        tests.append(gast.copy_location(gast.UnaryOp(gast.Not(), read), place))
    tests += more
    return tests[0] if len(tests) == 1 else gast.copy_location(gast.BoolOp(gast.And(), tests), place)


def _filled(body: list[Any], place: Any) -> list[Any]:
    return body or [gast.copy_location(gast.Pass(), place)]


def _rebuilt(stmt: Any, **changed: Any) -> Any:
    fields = {name: getattr(stmt, name) for name in stmt._fields if hasattr(stmt, name)}
    return gast.copy_location(type(stmt)(**{**fields, **changed}), stmt)


def _always_true(test: Any) -> bool:
    return isinstance(test, gast.Constant) and bool(test.value)


def asks_return(test: Any) -> bool:
    """Whether a test made here asks exactly that the function has not returned."""
    return isinstance(test, gast.UnaryOp) and isinstance(test.operand, gast.Name) and test.operand.id == RETURNED


def _is_docstring(stmt: Any) -> bool:
    return isinstance(stmt, gast.Expr) and isinstance(stmt.value, gast.Constant) and isinstance(stmt.value.value, str)


def _returns(stmts: Sequence[Any]) -> Iterator[Any]:
    """The `return` statements of this function in order, not those of functions inside it."""
    for stmt in stmts:
        if isinstance(stmt, gast.Return):
            yield stmt
        elif isinstance(stmt, gast.If | gast.For | gast.While):
            yield from _returns(stmt.body)
            yield from _returns(stmt.orelse)
        elif isinstance(stmt, gast.With):
            yield from _returns(stmt.body)


def _asks(stmt: Any, flag: str) -> bool:
    return any(isinstance(n, gast.Name) and n.id == flag for n in gast.walk(stmt))


# -- which variables cross from one statement to another --------------------------------------------------


def _loads(node: Any) -> frozenset[str]:
    return frozenset(n.id for n in gast.walk(node) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Load))


def _written(stmt: Any) -> set[str]:
    """The names an assignment gives a new value in any case."""
    return set(_changed(stmt)) if isinstance(stmt, gast.Assign) else set()


def _changed(stmt: Any) -> Iterator[str]:
    """The names that a statement binds, or whose objects it visibly changes."""
    for node in gast.walk(stmt):
        match node:
            case gast.Name(ctx=gast.Store() | gast.Del()):
                yield node.id
            case gast.FunctionDef() | gast.ClassDef():
                yield node.name
            case gast.alias():
                yield (node.asname or node.name).split(".")[0]
            case gast.Attribute(ctx=gast.Store() | gast.Del()) | gast.Subscript(ctx=gast.Store() | gast.Del()):
                yield _root(node)
            case gast.Expr(value=gast.Call(func=gast.Attribute())):
                yield _root(node.value.func)


def _root(node: Any) -> str:
    while isinstance(node, gast.Attribute | gast.Subscript | gast.Call):
        node = node.func if isinstance(node, gast.Call) else node.value
    return node.id if isinstance(node, gast.Name) else ""
