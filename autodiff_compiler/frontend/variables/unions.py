"""Tensors whose number of dimensions only run time knows: tagged unions, which branches of different ranks leave.

A union holds one Tensor for each rank and the rank itself, an int.  What is done with it is compiled once for each rank
and joined, so that it ends where all ranks give one type, as `y.sum()` does; a result of the call is told by its tag.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...errors import CompileError, ShapeError
from ...ir.abstract import Abstract
from ...ir.core import Op, Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.sizes import ERASED, depends_on_data
from ...ir.types import has_erased_sizes, tensor
from ...primitives.sizes_of_data import sized
from ...runtime.tensor import Tensor
from .arithmetic import COMPARISON
from .base import Results, Variable, kind, variable_of
from .comparison import compare
from .elements import iterate_static
from .interpreter import Diverged, ValueContext
from .operators import attribute, binary, subscript, unary
from .structure import Form, Outline, elements, form, parts, rebuild
from .templates import leaf_of
from .truth_values import as_bool, truth
from .values import BoundMethod, NewException, is_box, is_dynamic, is_tensor, is_union

#: How many ranks one Tensor may have: each is one more copy of what is done with it.
MOST_RANKS = 4


class UnionVar(Abstract):
    """A Tensor of one of several ranks: its rank, an int of run time, and by ranks the Tensor that it is then.

    `error` is what a use is refused with for which the rank must be known.
    """

    __slots__ = ("by_rank", "error", "rank")
    is_union = True
    python_class = Tensor

    def __init__(self, rank: Any, by_rank: dict[int, Any], error: CompileError) -> None:
        self.rank, self.by_rank, self.error = rank, by_rank, error

    def has_rank(self, rank: int) -> Value:
        """Whether it has a rank, as a Value."""
        found: Value = getattr(F, COMPARISON["Eq"])(self.rank.value, rank)
        return found

    def describe(self) -> str:
        return f"Tensor of {' or '.join(map(str, self.by_rank))} dimensions"


@form(UnionVar)
class _UnionForm(Form):
    known = False
    code = "AC1402"

    def elements(self, x: Any) -> Any:
        return [x.rank, *x.by_rank.values()]

    def rebuilt(self, x: Any, items: list[Any]) -> Any:
        if type(items[0]) is Value:  # a function of this package would get it, and knows no unions
            raise x.error.again(None, "")
        return UnionVar(items[0], dict(zip(x.by_rank, items[1:], strict=True)), x.error)

    def outline(self, x: Any) -> Outline:
        return _UnionOutline(UnionVar, tuple(x.by_rank))


class _UnionOutline(Outline):
    """All parts of a union go by its name."""

    __slots__ = ()

    def labels(self, name: str) -> list[str]:
        return [name, *(name for _ in self.keys)]


def by_rank(x: Any) -> dict[int, Any] | None:
    """The Tensor that a value is, by the ranks that it may have; None for what is no Tensor."""
    if is_union(x):
        return x.by_rank
    leaf = leaf_of(x)
    return {leaf.type.ndim: x} if leaf is not None and leaf.kind is None else None


def rank_of(x: Any) -> Any:
    """The rank of a Tensor: an int, known now or only at run time."""
    return x.rank if is_union(x) else x.type.ndim


def differ_in_rank(a: Any, b: Any) -> bool:
    """Whether two values are Tensors of one dtype, not both of one known rank."""
    xs, ys = by_rank(a), by_rank(b)
    if xs is None or ys is None or xs.keys() == ys.keys():
        return False
    dtypes = {leaf.type.dtype for x in (*xs.values(), *ys.values()) if (leaf := leaf_of(x)) is not None}
    return len(dtypes) == 1


# ------------------------------------------------------------------------------------------------ uses
def holds_union(args: Iterable[Any]) -> bool:
    """Whether a union is among some values or in them."""
    return any(is_union(part) for x in args for part in parts(x))


def for_each_rank(ctx: ValueContext, fn: Callable[..., Any], *args: Any) -> Any:
    """``fn(*args)`` compiled for all ranks that the unions among the arguments, or in them, may have; joined."""
    found = list({id(part): part for part in parts(args) if is_union(part)}.values())
    ranks: dict[tuple[int, ...], Any] = {}
    refused: list[ShapeError] = []

    def split(cases: Sequence[tuple[int, ...]]) -> Any:
        at = next((i for i in range(len(found)) if len({case[i] for case in cases}) > 1), None)
        if at is None:
            chosen = {id(u): u.by_rank[rank] for u, rank in zip(found, cases[0], strict=True)}
            result = _of_case(ctx, fn, _replaced(args, chosen), refused)
            ranks[cases[0]] = result.type.ndim if is_tensor(result) else None
            return result
        first = cases[0][at]
        here, others = [[c for c in cases if (c[at] == first) is same] for same in (True, False)]
        condition = found[at].has_rank(first)
        name = f"what is made of a {found[at].describe()}"
        return ctx.branch(condition, lambda: split(here), lambda: split(others), name=name)

    cases = _cases(found)
    try:
        result = split(cases)
    except Diverged:
        if len(refused) == len(cases):  # it fits no rank
            raise refused[0] from None
        raise
    if is_union(result):
        for i, union in enumerate(found):
            if all(case[i] == rank for case, rank in ranks.items()):
                return UnionVar(union.rank, result.by_rank, union.error)
    return result


def _of_case(ctx: ValueContext, fn: Callable[..., Any], args: Any, refused: list[ShapeError]) -> Any:
    """``fn(*args)``; what Python raises for one rank, which may never come, is raised when that comes."""
    try:
        return fn(*args)
    except ShapeError as error:
        refused.append(error)
        raised = NewException(ValueError, (error.message,), {})
    except (CompileError, Diverged, RecursionError, Warning):
        raise
    except Exception as error:
        raised = NewException(type(error), error.args, {})
    ctx.raise_at_run_time(raised)
    return None


def _cases(unions: Sequence[UnionVar]) -> list[tuple[int, ...]]:
    """The ranks that unions may have together: those that one condition decides go together."""
    ranks = [tuple(u.by_rank) for u in unions]
    tags = [u.rank.value for u in unions]
    found = {*_together(tags, dict(zip(tags, ranks, strict=True)), {})}
    return [case for case in itertools.product(*ranks) if case in found]


class _OpenError(Exception):
    """What has to be decided, and the ways to do so, before the rank of a Tensor is known."""

    def __init__(self, what: Any, ways: Iterable[int]) -> None:
        self.what, self.ways = what, ways


def _together(
    tags: Sequence[Value], ranks: dict[Value, tuple[int, ...]], decided: dict[Any, int]
) -> Iterator[tuple[int, ...]]:
    """What some tags are together, for all that conditions of the user's may decide."""
    try:
        case = tuple([_rank_in(tag, ranks, decided) for tag in tags])
    except _OpenError as open_:
        for way in open_.ways:
            yield from _together(tags, ranks, {**decided, open_.what: way})
        return
    if None not in case:  # else a path on which it has none, and which raises
        yield case  # type: ignore[misc]


def _rank_in(tag: Value, ranks: dict[Value, tuple[int, ...]], decided: dict[Any, int]) -> int | None:
    """What a tag is where some ifs, and tags that nothing is known of, are decided; None: undefined."""
    if tag.constant is not None:
        return int(tag.constant)
    if tag.made_by("undef"):
        return None
    op = tag.op
    if op is None or op.defn.name != "if":
        if tag not in decided:
            raise _OpenError(tag, ranks.get(tag, ()))
        return decided[tag]
    return _rank_in(op.blocks[_arm(op, ranks, decided)].outs[tag.index], ranks, decided)


def _arm(op: Op, ranks: dict[Value, tuple[int, ...]], decided: dict[Any, int]) -> int:
    """The number of the arm that an if takes: where it asks for a rank, that rank tells."""
    condition = op.operands[0]
    if condition.made_by(COMPARISON["Eq"]):
        asked, number = condition.op.operands  # type: ignore[union-attr]
        with contextlib.suppress(_OpenError):
            if number.constant is not None:
                return int(_rank_in(asked, ranks, decided) != number.constant)
    if op not in decided:
        raise _OpenError(op, (0, 1))
    return decided[op]


def _replaced(x: Any, chosen: dict[int, Any]) -> Any:
    """A value with the Tensors that its unions are."""
    if is_union(x):
        return chosen[id(x)]
    items = elements(x)
    if items is None:
        return x
    new = [_replaced(i, chosen) for i in items]
    return x if all(n is i for n, i in zip(new, items, strict=True)) else rebuild(x, new)


@kind(UnionVar)
class UnionVariable(Variable):
    """A Tensor of one of several ranks: its verbs are those of the Tensor that it is."""

    precedence = 5

    def _each(self, ctx: ValueContext, fn: Callable[..., Any], *more: Any) -> Any:
        return for_each_rank(ctx, fn, self.value, *more)

    def unary(self, ctx: ValueContext, op: str) -> Any:
        return self._each(ctx, lambda x: unary(ctx, op, x))

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        return for_each_rank(ctx, lambda x, y: binary(ctx, op, x, y), a, b)

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        return for_each_rank(ctx, lambda x, y: compare(ctx, op, x, y), a, b)

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        return truth(ctx, self._each(ctx, lambda x, y: as_bool(variable_of(x).contains(ctx, y)), item))

    def truth(self, ctx: ValueContext) -> Any:
        return truth(ctx, self._each(ctx, lambda x: as_bool(truth(ctx, x))))

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        if name == "ndim":
            return self.value.rank
        if name in ("shape", "strides", "register_hook"):
            raise self.value.error.again(ctx.here, f"`{name}` is asked for here")
        if callable(getattr(Tensor, name, None)):
            return BoundMethod(self.value, name)
        return self._each(ctx, lambda x: attribute(ctx, x, name))

    def call_method(self, ctx: ValueContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self._each(ctx, lambda x, a, k: ctx.call(attribute(ctx, x, name), list(a), k), tuple(args), kwargs)

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        return self._each(ctx, lambda x, i: subscript(ctx, x, i), index)

    def setitem(self, ctx: ValueContext, index: Any, value: Any) -> None:
        self._each(ctx, lambda x, i, v: variable_of(x).setitem(ctx, i, v), index, value)

    def iterate(self, ctx: ValueContext) -> Iterable[Any]:
        rows: tuple[Any, ...] = self._each(ctx, lambda x: tuple(iterate_static(ctx, x)))
        return rows

    def iteration(self, ctx: ValueContext) -> Any:
        raise self.value.error.again(ctx.here, "iterated over here")

    def copy(self, ctx: ValueContext) -> Any:
        return self._each(ctx, lambda x: variable_of(x).copy(ctx))

    def unwrap(self, ctx: ValueContext) -> Any:
        raise self.value.error.again(ctx.here, "used here")

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        return self.unwrap(ctx)

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        return self.unwrap(ctx)

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        return self.unwrap(ctx)

    def result(self, out: Results) -> Any:
        return out.union(self.value)


def of_rank(union: UnionVar, rank: int, x: Value) -> Value:
    """A Value of a union that has a value, and takes cotangents, only where that has its rank; zeros elsewhere."""
    sizes = tuple([ERASED if depends_on_data(d) else d for d in x.shape])
    type_ = tensor(x.dtype, sizes)
    condition = union.has_rank(rank)
    a, b = trace.builder.nested(), trace.builder.nested()
    with a:
        x = x if type_ is x.type else F.with_sizes(x, type=type_)
    with b:
        zeros = b.const(0, tensor(x.dtype, tuple([0 if d is ERASED else d for d in sizes])))
        zeros = zeros if type_ is zeros.type else F.with_sizes(zeros, type=type_)
    (result,) = trace.builder.emit_op(REGISTRY["if"], (condition,), (), (a.ret(x), b.ret(zeros))).results
    return sized(result) if has_erased_sizes(type_) else result


def may_be_undefined(x: Any) -> bool:
    """Whether a Tensor of a union may have no value where the union has another rank."""
    return is_box(x) and x.value.op is not None and (bool(x.value.op.blocks) or has_data_sizes(x))


def has_data_sizes(x: Any) -> bool:
    """Whether data decide a size of a Tensor."""
    return any(map(depends_on_data, x.type.shape))


def is_distributed(fn: Any, args: Iterable[Any]) -> bool:
    """Whether a call is one of each rank that its arguments may have: not what only puts them into a container."""
    of_container = type(fn) is BoundMethod and not (is_tensor(fn.owner) or is_union(fn.owner))
    return not of_container and any(is_union(x) for x in args)


def distributed(ctx: ValueContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Such a call."""
    return for_each_rank(ctx, lambda a, k: ctx.call(fn, list(a), k), tuple(args), kwargs)


def rank_key(x: Any) -> Any:
    """A key that two ranks share only if they are one."""
    return id(x.value) if is_dynamic(x) else x
