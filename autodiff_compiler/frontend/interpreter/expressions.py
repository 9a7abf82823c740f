"""The abstract value of each kind of expression."""

from __future__ import annotations

import operator
from typing import Any

import gast

from ...errors import CompileError, StaticValueError, UnsupportedSyntaxError
from ..effects.after_forward import note_name
from ..guards.objects import UNBOUND
from ..syntax.unsupported_syntax import complex_literal
from ..variables import comparison, operators, requirements, tensors, truth_values
from ..variables.calls import call
from ..variables.elements import iterate_live, iterate_static
from ..variables.frames import Frame, turn
from ..variables.structure import is_static
from ..variables.text import concatenated, formatted
from ..variables.truth_values import truth
from ..variables.values import LocalDict, LocalList, LocalObject, LocalSet, LocalSuper, describe, is_unbound
from .conditions import condition_of, kept, note_branch, truth_at
from .context import StatementContext, expression
from .control import branch
from .statements import make_closure, store

_contents = operator.attrgetter("cell_contents")


@expression("Constant")
def _constant(lw: StatementContext, node: Any) -> Any:
    if isinstance(node.value, complex):
        raise lw.refused(node)
    return node.value


@expression("Kept")
def _kept_at_break(lw: StatementContext, node: Any) -> Any:
    """What a name holds at a `break` (see `jumps.Kept`); UNBOUND where nothing is to be kept."""
    when, name, kept = node.value
    env, late = lw.frame.env, lw.frame.late
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
def _name(lw: StatementContext, node: Any) -> Any:
    return read_name(lw, lw.frame, node.id, node)


def read_name(lw: StatementContext, frame: Frame, name: str, node: Any) -> Any:
    """The value of a name: a local one, one of an enclosing compiled function, or one of the world outside."""
    holder = frame.holder(name)
    if holder is not None:
        place = lw.place(node)
        value = holder.local(name, place)
        lw.effects.snapshots.note_read(value, place)
        if holder is not frame:
            note_name(lw, holder, name, value)
        return value
    bindings = frame.bindings
    kind, value = bindings.lookup(name)
    if kind == "builtin":
        lw.outside.builtin(name, bindings.globals, bindings.builtins)
        return value
    if kind == "closure":
        cell = bindings.cells[name]
        what, quick = f"closure {name}", (_contents, cell)
        return lw.outside.read(value, ("cell", id(cell)), what, lambda: cell.cell_contents, quick=quick)
    space = bindings.globals
    key, what = ("global", id(space), name), f"global {name}"
    return lw.outside.read(value, key, what, lambda: space[name], quick=(space.__getitem__, name))


@expression("Attribute")
def _attribute(lw: StatementContext, node: Any) -> Any:
    owner = lw.expr(node.value)
    lw.place(node)
    return operators.attribute(lw, owner, node.attr)


@expression("Subscript")
def _subscript(lw: StatementContext, node: Any) -> Any:
    owner, index = lw.expr(node.value), lw.expr(node.slice)
    lw.place(node)
    return operators.subscript(lw, owner, index)


@expression("Slice")
def _slice(lw: StatementContext, node: Any) -> Any:
    bounds = [lw.expr(n) if n is not None else None for n in (node.lower, node.upper, node.step)]
    for b in bounds:
        if not is_static(b):
            raise StaticValueError(
                f"the bounds of a slice must be known at compile time, this one is a {describe(b)}",
                code="AC1306",
                hint="a window of fixed size may move: `ops.narrow(x, axis, start, length)`",
            ).about(b)
    return slice(*bounds)


@expression("BinOp")
def _binop(lw: StatementContext, node: Any) -> Any:
    a, b = lw.expr(node.left), lw.expr(node.right)
    lw.place(node)
    try:
        return operators.binary(lw, type(node.op).__name__, a, b)
    except CompileError as error:
        lw.report.reasons.name_operands(error, lw.frame, (node.left, node.right), (a, b))
        raise


@expression("UnaryOp")
def _unary(lw: StatementContext, node: Any) -> Any:
    if isinstance(node.op, gast.Not):
        return truth_values.negate(condition_of(lw, node.operand))
    x = lw.expr(node.operand)
    lw.place(node)
    return operators.unary(lw, type(node.op).__name__, x)


@expression("Compare")
def _compare(lw: StatementContext, node: Any) -> Any:
    return _chain(lw, node, _compared(lw, node.left), 0)


def _compared(lw: StatementContext, node: Any) -> Any:
    """An operand of a comparison."""
    number = complex_literal(node)
    return lw.expr(node) if number is None else number


def _chain(lw: StatementContext, node: Any, left: Any, i: int) -> Any:
    """Comparison number i of ``a < b < c`` and the rest, which is evaluated only if it holds."""
    right = _compared(lw, node.comparators[i])
    lw.place(node)
    try:
        result = comparison.compare(lw, type(node.ops[i]).__name__, left, right)
    except CompileError as error:
        before = node.comparators[i - 1] if i else node.left
        lw.report.reasons.name_operands(error, lw.frame, (before, node.comparators[i]), (left, right))
        raise
    if i + 1 == len(node.ops):
        return result
    return _short_circuit(lw, truth(lw, result), result, lambda: _chain(lw, node, right, i + 1), node, is_and=True)


@expression("BoolOp")
def _boolop(lw: StatementContext, node: Any) -> Any:
    is_and = isinstance(node.op, gast.And)

    def rest(i: int) -> Any:
        value = lw.expr(node.values[i])
        if i + 1 == len(node.values):
            return value
        condition = truth_at(lw, node.values[i], value)
        return _short_circuit(lw, condition, value, lambda: rest(i + 1), node, is_and=is_and)

    return rest(0)


def _short_circuit(lw: StatementContext, condition: Any, left: Any, right: Any, node: Any, *, is_and: bool) -> Any:
    if isinstance(condition, bool):
        return right() if condition == is_and else left
    arms = (right, lambda: left) if is_and else (lambda: left, right)
    return branch(lw, condition, *arms, node=node, name=f"the value of '{'and' if is_and else 'or'}'")


@expression("IfExp")
def _ternary(lw: StatementContext, node: Any) -> Any:
    condition = condition_of(lw, node.test)
    note_branch(lw, node, condition)
    if isinstance(condition, bool):
        return lw.expr(node.body if condition else node.orelse)
    lw.place(node)
    return branch(
        lw,
        condition,
        lambda: lw.expr(node.body),
        lambda: lw.expr(node.orelse),
        node=node,
        name="the value of the conditional",
    )


@expression("NamedExpr")
def _walrus(lw: StatementContext, node: Any) -> Any:
    value = lw.expr(node.value)
    frame = lw.frame
    while lw.frame.arms is not None and lw.frame.outer is not None:  # it binds in the function around a comprehension
        if lw.frame.arms != lw.arms:
            raise UnsupportedSyntaxError(
                "':=' where a branch inside a comprehension is chosen at run time",
                code="AC1103",
                loc=lw.place(node),
                hint="write the comprehension as a loop",
            )
        lw.frame = lw.frame.outer
    try:
        store(lw, node.target, value)
    finally:
        lw.frame = frame
    return value


@expression("Lambda")
def _lambda(lw: StatementContext, node: Any) -> Any:
    return make_closure(lw, node)


@expression("Call")
def _call(lw: StatementContext, node: Any) -> Any:
    fn = lw.expr(node.func)
    args: list[Any] = []
    for a in node.args:
        if isinstance(a, gast.Starred):
            args += iterate_static(lw, lw.expr(a.value))
        else:
            args.append(lw.expr(a))
    kwargs: dict[str, Any] = {}
    for k in node.keywords:
        if k.arg is None:
            kwargs |= lw.expr(k.value)
        else:
            kwargs[k.arg] = lw.expr(k.value)
    lw.place(node)
    if fn is super and not args:
        return _super(lw, node)
    try:
        return call(lw, fn, args, kwargs)
    except CompileError as error:
        _name_arguments(lw, error, node, fn, args, kwargs)
        raise


def _name_arguments(
    lw: StatementContext, error: CompileError, node: Any, fn: Any, args: list[Any], kwargs: dict[str, Any]
) -> None:
    """Says what the arguments of a call are, and the object of a method."""
    nodes, values = [], []
    if type(fn) is tensors.TensorMethod and isinstance(node.func, gast.Attribute):
        nodes, values = [node.func.value], [fn.owner]
    if not any(isinstance(a, gast.Starred) for a in node.args):
        nodes, values = [*nodes, *node.args], [*values, *args]
    named = [k for k in node.keywords if k.arg is not None]
    lw.report.reasons.name_operands(
        error, lw.frame, [*nodes, *[k.value for k in named]], [*values, *[kwargs[k.arg] for k in named]]
    )


def outside_class() -> CompileError:
    """The error for `super()` in a function that is no method."""
    text = "super() without arguments is possible in methods only"
    return UnsupportedSyntaxError(text, code="AC1103", hint="name the class whose method is meant: `Base.method(self)`")


def _super(lw: StatementContext, node: Any) -> Any:
    frame: Frame | None = lw.frame
    while frame is not None and frame.method_of is None:
        frame = frame.outer
    if frame is None or frame.method_of is None:
        raise outside_class().at(lw.place(node))
    defining, owner = frame.method_of
    return LocalSuper(defining, owner) if type(owner) is LocalObject else super(defining, owner)


# ---------------------------------------------------------------------------------------------------- displays
def _items(lw: StatementContext, nodes: list[Any]) -> list[Any]:
    out: list[Any] = []
    for n in nodes:
        if isinstance(n, gast.Starred):
            out += iterate_static(lw, lw.expr(n.value))
        else:
            out.append(lw.expr(n))
    return out


@expression("Tuple")
def _tuple(lw: StatementContext, node: Any) -> Any:
    return tuple(_items(lw, node.elts))


@expression("List")
def _list(lw: StatementContext, node: Any) -> Any:
    return LocalList(_items(lw, node.elts))


@expression("Set")
def _set(lw: StatementContext, node: Any) -> Any:
    items = _items(lw, node.elts)
    for i in items:
        requirements.require_static(i, "an element of a set")
    return LocalSet(items)


@expression("Dict")
def _dict(lw: StatementContext, node: Any) -> Any:
    out = LocalDict()
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            out.update(lw.expr(value))
        else:
            name = requirements.require_static(lw.expr(key), "a dictionary key")  # evaluated before its value
            out[name] = lw.expr(value)
    return out


@expression("ListComp", "SetComp", "DictComp")
def _comprehension(lw: StatementContext, node: Any) -> Any:
    """Always unrolled, in a scope of its own; its first iterable belongs to the scope around it."""
    targets = frozenset(n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name))
    first = iterate_live(lw, lw.expr(node.generators[0].iter))
    items: list[Any] = []
    frame = lw.frame
    lw.frame = frame.comprehension(targets, lw.arms)
    try:
        _generate(lw, node, 0, first, items)
    finally:
        lw.frame = frame
    if isinstance(node, gast.DictComp):
        return LocalDict(items)
    if isinstance(node, gast.SetComp):
        for i in items:
            requirements.require_static(i, "an element of a set")
        return LocalSet(items)
    return LocalList(items)


def _generate(lw: StatementContext, node: Any, depth: int, elements: Any, items: list[Any]) -> None:
    """Appends what the clauses from number `depth` on give; `elements` are those of that clause's iterable."""
    if depth == len(node.generators):
        if isinstance(node, gast.DictComp):
            items.append((requirements.require_static(lw.expr(node.key), "a dictionary key"), lw.expr(node.value)))
        else:
            items.append(lw.expr(node.elt))
        return
    generator = node.generators[depth]
    for number, item in enumerate(elements):
        with turn(lw, generator, number):
            store(lw, generator.target, item)
            if all(kept(lw, test) for test in generator.ifs):
                inner = node.generators[depth + 1].iter if depth + 1 < len(node.generators) else None
                _generate(lw, node, depth + 1, inner and iterate_live(lw, lw.expr(inner)), items)


@expression("JoinedStr")
def _fstring(lw: StatementContext, node: Any) -> Any:
    return concatenated(*lw.exprs(node.values))


@expression("FormattedValue")
def _formatted(lw: StatementContext, node: Any) -> Any:
    value = lw.expr(node.value)
    spec = lw.expr(node.format_spec) if node.format_spec is not None else ""
    lw.place(node)
    return formatted(lw, value, chr(node.conversion) if node.conversion > 0 else "", spec)


@expression("Starred")
def _starred(lw: StatementContext, node: Any) -> Any:
    raise lw.refused(node)


@expression("Await", "Yield", "YieldFrom")
def _suspended(lw: StatementContext, node: Any) -> Any:
    raise lw.refused(node)


__all__ = ["read_name"]
