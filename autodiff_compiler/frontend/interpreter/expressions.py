"""The abstract value of each kind of expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gast

from ...errors import CompileError, UnsupportedSyntaxError
from ..guards.objects import UNBOUND
from ..syntax.unsupported_syntax import complex_literal
from ..variables import comparison, operators, requirements, truth_values
from ..variables.base import variable_of
from ..variables.calls import call
from ..variables.elements import iterate_live, iterate_static, iterator_of
from ..variables.frames import Frame, turn
from ..variables.iteration import open_iteration
from ..variables.text import concatenated, formatted
from ..variables.truth_values import truth
from ..variables.values import BoundMethod, LocalDict, LocalList, LocalSet, is_iterator, is_tensor, is_unbound
from .conditions import condition_of, kept, note_branch, short_circuit, truth_at
from .context import StatementContext, expression, operands
from .control import branch
from .generators import Generator
from .names import read_name
from .statements import make_closure, store


@expression("Constant")
def _constant(ctx: StatementContext, node: Any) -> Any:
    if isinstance(node.value, complex):
        raise ctx.refused(node)
    return node.value


@expression("Kept")
def _kept_at_break(ctx: StatementContext, node: Any) -> Any:
    """What a name holds at a `break` (see `jumps.Kept`); UNBOUND where nothing is to be kept."""
    when, name, kept = node.value
    env, late = ctx.frame.env, ctx.frame.late
    value = env.get(name, UNBOUND)
    bound = not is_unbound(value)
    if when == "before":
        late[kept] = not bound
        return UNBOUND
    if when == "break":
        late[kept] = late[kept] and bound
        return value if late[kept] else UNBOUND
    found = env.pop(kept, UNBOUND)
    return found if late[kept] and not is_unbound(found) else value


@expression("Name")
def _name(ctx: StatementContext, node: Any) -> Any:
    return read_name(ctx, ctx.frame, node.id, node)


@expression("Attribute")
def _attribute(ctx: StatementContext, node: Any) -> Any:
    owner = ctx.expr(node.value)
    ctx.place(node)
    return operators.attribute(ctx, owner, node.attr)


@expression("Subscript")
def _subscript(ctx: StatementContext, node: Any) -> Any:
    owner, index = ctx.expr(node.value), ctx.expr(node.slice)
    ctx.place(node)
    return operators.subscript(ctx, owner, index)


@expression("Slice")
def _slice(ctx: StatementContext, node: Any) -> Any:
    return slice(*[ctx.expr(n) if n is not None else None for n in (node.lower, node.upper, node.step)])


@expression("BinOp")
def _binop(ctx: StatementContext, node: Any) -> Any:
    a, b = ctx.expr(node.left), ctx.expr(node.right)
    ctx.place(node)
    with _naming(ctx, (node.left, node.right), (a, b)):
        return operators.binary(ctx, type(node.op).__name__, a, b)


@contextmanager
def _naming(ctx: StatementContext, nodes: Sequence[Any], values: Sequence[Any]) -> Iterator[None]:
    """Gives an error about the types of operands what the user calls them."""
    try:
        with operands(ctx, nodes, values):
            yield
    except CompileError as error:
        ctx.report.reasons.name_operands(error, ctx.frame, nodes, values)
        raise


@expression("UnaryOp")
def _unary(ctx: StatementContext, node: Any) -> Any:
    if isinstance(node.op, gast.Not):
        return truth_values.negate(condition_of(ctx, node.operand))
    x = ctx.expr(node.operand)
    ctx.place(node)
    return operators.unary(ctx, type(node.op).__name__, x)


@expression("Compare")
def _compare(ctx: StatementContext, node: Any) -> Any:
    return _chain(ctx, node, _compared(ctx, node.left), 0)


def _compared(ctx: StatementContext, node: Any) -> Any:
    """An operand of a comparison."""
    number = complex_literal(node)
    return ctx.expr(node) if number is None else number


def _chain(ctx: StatementContext, node: Any, left: Any, i: int) -> Any:
    """Comparison number i of ``a < b < c`` and the rest, which is evaluated only if it holds."""
    right = _compared(ctx, node.comparators[i])
    ctx.place(node)
    with _naming(ctx, (node.comparators[i - 1] if i else node.left, node.comparators[i]), (left, right)):
        result = comparison.compare(ctx, type(node.ops[i]).__name__, left, right)
    if i + 1 == len(node.ops):
        return result
    return short_circuit(ctx, truth(ctx, result), result, lambda: _chain(ctx, node, right, i + 1), node, is_and=True)


@expression("BoolOp")
def _boolop(ctx: StatementContext, node: Any) -> Any:
    is_and = isinstance(node.op, gast.And)

    def rest(i: int) -> Any:
        value = ctx.expr(node.values[i])
        if i + 1 == len(node.values):
            return value
        condition = truth_at(ctx, node.values[i], value)
        return short_circuit(ctx, condition, value, lambda: rest(i + 1), node, is_and=is_and)

    return rest(0)


@expression("IfExp")
def _ternary(ctx: StatementContext, node: Any) -> Any:
    condition = condition_of(ctx, node.test)
    note_branch(ctx, node, condition)
    if isinstance(condition, bool):
        return ctx.expr(node.body if condition else node.orelse)
    ctx.place(node)
    return branch(
        ctx,
        condition,
        lambda: ctx.expr(node.body),
        lambda: ctx.expr(node.orelse),
        node=node,
        name="the value of the conditional",
    )


@expression("NamedExpr")
def _walrus(ctx: StatementContext, node: Any) -> Any:
    value = ctx.expr(node.value)
    frame = ctx.frame
    while ctx.frame.arms is not None and ctx.frame.outer is not None:  # it binds in the function around a comprehension
        if ctx.frame.arms != ctx.arms:
            raise UnsupportedSyntaxError(
                "':=' where a branch inside a comprehension is chosen at run time",
                code="AC1103",
                loc=ctx.place(node),
                hint="write the comprehension as a loop",
            )
        ctx.frame = ctx.frame.outer
    try:
        store(ctx, node.target, value)
    finally:
        ctx.frame = frame
    return value


@expression("Lambda")
def _lambda(ctx: StatementContext, node: Any) -> Any:
    return make_closure(ctx, node)


@expression("Call")
def _call(ctx: StatementContext, node: Any) -> Any:
    fn = ctx.expr(node.func)
    args = _items(ctx, node.args)
    kwargs: dict[str, Any] = {}
    for k in node.keywords:
        if k.arg is None:
            kwargs |= ctx.expr(k.value)
        else:
            kwargs[k.arg] = ctx.expr(k.value)
    ctx.place(node)
    if fn is super and not args:
        return _super(ctx, node)
    with _naming(ctx, *_arguments(node, fn, args, kwargs)):
        return call(ctx, fn, args, kwargs)


def _arguments(node: Any, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The nodes of a method's object and of the arguments of a call, and their values."""
    found = []
    if type(fn) is BoundMethod and is_tensor(fn.owner) and isinstance(node.func, gast.Attribute):
        found.append((node.func.value, fn.owner))
    if not any(map(_is_unpacked, node.args)):
        found += zip(node.args, args, strict=True)
    found += [(k.value, kwargs[k.arg]) for k in node.keywords if k.arg is not None]
    return [part for part, _ in found], [x for _, x in found]


def outside_class() -> CompileError:
    """The error for `super()` in a function that is no method."""
    text = "super() without arguments is possible in methods only"
    return UnsupportedSyntaxError(text, code="AC1103", hint="name the class whose method is meant: `Base.method(self)`")


def _super(ctx: StatementContext, node: Any) -> Any:
    frame: Frame | None = ctx.frame
    while frame is not None and frame.method_of is None:
        frame = frame.outer
    if frame is None or frame.method_of is None:
        raise outside_class().at(ctx.place(node))
    defining, owner = frame.method_of
    return variable_of(owner).inherited(defining)


# ---------------------------------------------------------------------------------------------------- displays
def _items(ctx: StatementContext, nodes: list[Any]) -> list[Any]:
    """The values of elements or arguments, some of which may be unpacked."""
    out: list[Any] = []
    for n in nodes:
        if _is_unpacked(n):
            out += iterate_static(ctx, ctx.expr(n.value))
        else:
            out.append(ctx.expr(n))
    return out


def _is_unpacked(node: Any) -> bool:
    """Whether an element or argument is written with a star."""
    return isinstance(node, gast.Starred)


@expression("Tuple")
def _tuple(ctx: StatementContext, node: Any) -> Any:
    return tuple(_items(ctx, node.elts))


@expression("List")
def _list(ctx: StatementContext, node: Any) -> Any:
    if not any(map(_is_unpacked, node.elts)):
        return LocalList(ctx.exprs(node.elts))
    made = LocalList()
    for n in node.elts:
        more = ctx.call(list, [ctx.expr(n.value)], {}) if _is_unpacked(n) else LocalList([ctx.expr(n)])
        made = operators.binary(ctx, "Add", made, more) if len(made) else more
    return made


@expression("Set")
def _set(ctx: StatementContext, node: Any) -> Any:
    items = _items(ctx, node.elts)
    for i in items:
        requirements.require_static(i, "an element of a set")
    return LocalSet(items)


@expression("Dict")
def _dict(ctx: StatementContext, node: Any) -> Any:
    out = LocalDict()
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            out.update(ctx.expr(value))
        else:
            name = requirements.require_static(ctx.expr(key), "a dictionary key")  # evaluated before its value
            out[name] = ctx.expr(value)
    return out


@expression("ListComp")
def _list_comprehension(ctx: StatementContext, node: Any) -> Any:
    """Unrolled, or a loop over as many elements as run time knows."""
    over = iterator_of(ctx, ctx.expr(node.generators[0].iter))
    iteration = open_iteration(ctx, over)
    if iteration is not None:
        made = Generator(ctx, _by_rows(node), iteration, not is_iterator(over))
        if not made.force_unroll:
            return ctx.each(made, lambda item: item, flat=len(node.generators) > 1)
    return _unrolled(ctx, node, over)


@expression("SetComp", "DictComp")
def _comprehension(ctx: StatementContext, node: Any) -> Any:
    """Always unrolled."""
    return _unrolled(ctx, node, ctx.expr(node.generators[0].iter))


def _unrolled(ctx: StatementContext, node: Any, over: Any) -> Any:
    """A comprehension, in a scope of its own; its first iterable belongs to the scope around it."""
    targets = frozenset(n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name))
    first = iterate_live(ctx, over)
    items: list[Any] = []
    frame = ctx.frame
    ctx.frame = frame.comprehension(targets, ctx.arms)
    try:
        _generate(ctx, node, 0, first, items)
    finally:
        ctx.frame = frame
    if isinstance(node, gast.DictComp):
        return LocalDict(items)
    if isinstance(node, gast.SetComp):
        for i in items:
            requirements.require_static(i, "an element of a set")
        return LocalSet(items)
    return LocalList(items)


def _by_rows(node: Any) -> Any:
    """A comprehension with several clauses as one with the first, whose elements are lists."""
    first, *others = node.generators
    if not others:
        return node
    inner = gast.copy_location(gast.ListComp(node.elt, others), node)
    return gast.copy_location(gast.ListComp(inner, [first]), node)


def _generate(ctx: StatementContext, node: Any, depth: int, elements: Any, items: list[Any]) -> None:
    """Appends what the clauses from number `depth` on give; `elements` are those of that clause's iterable."""
    if depth == len(node.generators):
        if isinstance(node, gast.DictComp):
            items.append((requirements.require_static(ctx.expr(node.key), "a dictionary key"), ctx.expr(node.value)))
        else:
            items.append(ctx.expr(node.elt))
        return
    generator = node.generators[depth]
    for number, item in enumerate(elements):
        with turn(ctx, generator, number):
            store(ctx, generator.target, item)
            if all(kept(ctx, test) for test in generator.ifs):
                inner = node.generators[depth + 1].iter if depth + 1 < len(node.generators) else None
                _generate(ctx, node, depth + 1, inner and iterate_live(ctx, ctx.expr(inner)), items)


@expression("JoinedStr")
def _fstring(ctx: StatementContext, node: Any) -> Any:
    return concatenated(*ctx.exprs(node.values))


@expression("FormattedValue")
def _formatted(ctx: StatementContext, node: Any) -> Any:
    value = ctx.expr(node.value)
    spec = ctx.expr(node.format_spec) if node.format_spec is not None else ""
    ctx.place(node)
    return formatted(ctx, value, chr(node.conversion) if node.conversion > 0 else "", spec)
