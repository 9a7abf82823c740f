"""Hooks in compiled code, which may touch objects of the program around it.

The Tensor code of a hook is compiled.  A statement that changes an object from outside (a list's `append`, an item of
a dict) becomes a callback in the order of effects, which gets copies.  A hook that cannot be compiled is one callback
as a whole; it may look at gradients, but not return new ones.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gast

from ...errors import CompileError, HookError, SideEffectError
from ...ir.primitive import trace
from ...runtime.commits import seeing
from ...runtime.parameter import Parameter
from ..effects.commits import emit_commit
from ..effects.host_code import CONTAINERS
from ..effects.inputs import Again
from ..functions.host import HostArguments, Listed, emit_host_call, expose, native_function
from ..guards.contents import Content
from ..guards.guards import Guard
from ..guards.objects import peek, plainly
from ..variables.arithmetic import SLOT
from ..variables.base import variable_of
from ..variables.calls import call
from ..variables.values import is_dynamic, is_tensor
from .context import DerivativeContext, Kept

#: Errors of these kinds say that a hook does what only Python can do; the others are mistakes in it.
_BEYOND = ("AC10", "AC11", "AC12", "AC13", "AC15", "AC16", "AC18")
_PLAIN = (bool, int, float, str, bytes, type(None))
#: Methods of containers that return nothing.
_SILENT = {
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "remove", "reverse", "sort",
    "update", "__setitem__", "__delitem__", "difference_update", "intersection_update", "symmetric_difference_update",
}  # fmt: skip


def run_hook(ctx: DerivativeContext, fn: Any, args: Sequence[Any], what: str) -> Any:
    """``fn(*args)`` for a hook."""
    mark, guards = trace.builder.mark(), set(ctx.outside.guards)
    outer, ctx.effects.hooks.in_hook = ctx.effects.hooks.in_hook, True
    before, ctx.derivatives.kept = ctx.derivatives.kept, _kept(args, ctx.depth + 1) if ctx.effects.in_backward else None
    try:
        with ctx.effects.region() as region:
            try:
                return call(ctx, fn, list(args), {})
            except CompileError as error:
                if not error.code.startswith(_BEYOND):
                    raise
                ctx.effects.restore(region)
                trace.builder.back_to(mark)
                _forget_contents(ctx, guards)
                reason = error
    finally:
        ctx.effects.hooks.in_hook, ctx.derivatives.kept = outer, before
    return _as_callback(ctx, fn, args, what, reason)


def _kept(args: Sequence[Any], depth: int) -> Kept:
    """The gradients, which are the last argument."""
    return Kept(depth, args[-1] if isinstance(args[-1], tuple) else (args[-1],))


def _forget_contents(ctx: DerivativeContext, before: set[Any]) -> None:
    """Drops the guards on contents of containers and attributes read in vain: a callback may change them."""
    for key in [k for k in ctx.outside.guards if k not in before]:
        guard = ctx.outside.guards[key]
        plain = key[0] == "attribute" and len(key) == 3
        if isinstance(guard, Guard) and (
            isinstance(guard.expected, Content) or (plain and type(guard.expected) in _PLAIN)
        ):
            del ctx.outside.guards[key]


def _as_callback(ctx: DerivativeContext, fn: Any, args: Sequence[Any], what: str, reason: CompileError) -> None:
    given = HostArguments(ctx, args, tensors=True)
    function = native_function(ctx, fn)

    def run(arrays: Sequence[Any]) -> None:
        found = function(*given.made_of(arrays))
        if found is not None:
            raise HookError(
                f"{what} returns a {type(found).__name__}, but it runs as plain Python in compiled code, because "
                f"it cannot be compiled: {reason.message}",
                hint="let it return None, or take what cannot be compiled out of it",
            )

    _emit(ctx, given, run, whole=True)


def _emit(
    ctx: DerivativeContext, given: HostArguments, run: Callable[[Sequence[Any]], None], whole: bool = False
) -> None:
    """Emits a call of host code: of a hook as a `whole`, which may look at all state, or of one statement."""
    home = ctx.program.module.states

    def host(*arrays: Any) -> tuple[Any, ...]:
        if whole:
            seeing(home, lambda: run(arrays))
        else:
            run(arrays)
        return ()

    name = f"callback{len(ctx.program.module.callables)}"
    if whole:
        expose(ctx, name, host)
    else:
        ctx.program.module.callables[name] = host
    emit_commit(ctx)
    emit_host_call(given.values, name, ())


# ---------------------------------------------------------------------------------------------------- reads
def check_reads(ctx: DerivativeContext) -> None:
    """At the end: restarts the compilation if hooks read what hooks change."""
    if ctx.effects.hooks.reads & (ctx.effects.hooks.changes - ctx.effects.known.hooks_change):
        raise Again(replace(ctx.effects.known, hooks_change=ctx.effects.known.hooks_change | ctx.effects.hooks.changes))
    both = [slot for key, slot in ctx.effects.attributes.slots.items() if key in ctx.effects.hooks.changes]
    containers = [x for x in ctx.effects.containers.pending() if id(x.place.seen) in ctx.effects.hooks.changes]
    if containers:
        raise SideEffectError(
            f"{containers[0].what} is changed by compiled code and by a hook that runs as plain Python",
            code="AC1602",
            hint="use two containers",
        )
    if both:
        raise SideEffectError(
            f"{both[0].label} is written in the forward pass and by a hook in the backward pass",
            code="AC1606",
            hint="use two attributes",
        )


# ---------------------------------------------------------------------------------------------------- statements
def changes_outside(ctx: DerivativeContext, node: Any, silent: bool = False) -> bool:
    """Whether a statement of a hook (or, `silent`, its only expression) changes a container from outside.

    It is a callback then, and has been emitted.
    """
    if not ctx.effects.hooks.in_hook:
        return False
    node = _as_assignment(node)
    if isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute):
        return _method_call(ctx, node, silent)
    if isinstance(node, gast.AugAssign):
        target, change = node.target, getattr(operator, "i" + SLOT[type(node.op).__name__])
    elif isinstance(node, gast.Assign) and len(node.targets) == 1:
        target, change = node.targets[0], None
    else:
        return False
    if isinstance(target, gast.Subscript):
        return _item(ctx, target, node.value, change)
    return (
        ctx.effects.in_backward and isinstance(target, gast.Attribute) and _attribute(ctx, target, node.value, change)
    )


def _as_assignment(node: Any) -> Any:
    """``setattr(owner, "name", value)`` as the assignment that it is; all else itself."""
    match node:
        case gast.Call(
            func=gast.Name(id="setattr"), args=[owner, gast.Constant(value=str(name)), value], keywords=[]
        ) if name.isidentifier():
            target = gast.copy_location(gast.Attribute(owner, name, gast.Store()), node)
            return gast.copy_location(gast.Assign([target], value, None), node)
    return node


def _method_call(ctx: DerivativeContext, node: Any, silent: bool) -> bool:
    method = node.func.attr
    if silent and method not in _SILENT:
        return False
    if any(isinstance(a, gast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return False
    reach = _outside_container(ctx, node.func.value)
    if reach is None:
        return False
    ctx.effects.hooks.note_change(id(reach()), ctx.effects.in_backward)
    values = [_argument(ctx, n) for n in (*node.args, *(k.value for k in node.keywords))]
    names, n = [k.arg for k in node.keywords], len(node.args)
    given = HostArguments(ctx, values, tensors=True)

    def run(arrays: Sequence[Any]) -> None:
        made = given.made_of(arrays)
        getattr(reach(), method)(*made[:n], **dict(zip(names, made[n:], strict=True)))

    ctx.place(node)
    _emit(ctx, given, run)
    return True


def _argument(ctx: DerivativeContext, node: Any) -> Any:
    """What a callback is given; ``tolist()`` is called when it runs."""
    if isinstance(node, gast.Tuple) and not any(isinstance(e, gast.Starred) for e in node.elts):
        return tuple([_argument(ctx, e) for e in node.elts])
    method = node.func if isinstance(node, gast.Call) and not node.args and not node.keywords else None
    if isinstance(method, gast.Attribute) and method.attr == "tolist" and _is_path(method.value):
        owner = ctx.expr(method.value)
        if is_tensor(owner):
            return Listed(owner)
    return ctx.expr(node)


def _is_path(node: Any) -> bool:
    """Whether evaluating an expression twice does no harm: a name, its attributes and elements."""
    while isinstance(node, gast.Attribute | gast.Subscript):
        if isinstance(node, gast.Subscript) and not isinstance(node.slice, gast.Constant | gast.Name):
            return False
        node = node.value
    return isinstance(node, gast.Name)


def _item(ctx: DerivativeContext, target: Any, value: Any, change: Callable[[Any, Any], Any] | None) -> bool:
    """An item set, or (`change`) replaced by what an operator gives of it, in a container from outside."""
    reach = _outside_container(ctx, target.value)
    if reach is None:
        return False
    ctx.effects.hooks.note_change(id(reach()), ctx.effects.in_backward)
    given = HostArguments(ctx, [ctx.expr(target.slice), _argument(ctx, value)], tensors=True)

    def run(arrays: Sequence[Any]) -> None:
        owner, (index, x) = reach(), given.made_of(arrays)
        owner[index] = x if change is None else change(owner[index], x)

    ctx.place(target)
    _emit(ctx, given, run)
    return True


def _attribute(ctx: DerivativeContext, target: Any, value: Any, change: Callable[[Any, Any], Any] | None) -> bool:
    """An attribute set by a hook of the backward pass; in the forward pass attributes are state of the program."""
    found = _outside(ctx, target.value)
    if found is None or not hasattr(type(found[0]), "__dict__") or isinstance(found[0], type | types.ModuleType):
        return False
    owner, reach = found
    name, held = target.attr, plainly(owner, target.attr)
    if variable_of(owner).made_here or isinstance(held, Parameter):
        return False
    if hasattr(type(held), "__graph_state__") or (id(owner), name) in ctx.effects.attributes.slots:
        return False
    ctx.effects.hooks.note_change((id(owner), name), ctx.effects.in_backward)
    given = HostArguments(ctx, [_argument(ctx, value)], tensors=True)

    def run(arrays: Sequence[Any]) -> None:
        owner, (x,) = reach(), given.made_of(arrays)
        setattr(owner, name, x if change is None else change(getattr(owner, name), x))

    ctx.place(target)
    _emit(ctx, given, run)
    return True


def _outside_container(ctx: DerivativeContext, node: Any) -> Callable[[], Any] | None:
    """How to reach, at run time, the container from outside that an expression names; None for something else."""
    found = _outside(ctx, node)
    of_outside = found is not None and isinstance(found[0], CONTAINERS) and not variable_of(found[0]).made_here
    return found[1] if found is not None and of_outside else None


def _outside(ctx: DerivativeContext, node: Any) -> tuple[Any, Callable[[], Any]] | None:
    """The object that a dotted name stands for while compiling, and how to reach it at run time."""
    path: list[Callable[[Any], Any]] = []
    names: list[str] = []
    while isinstance(node, gast.Attribute):
        path.insert(0, operator.attrgetter(node.attr))
        names.insert(0, node.attr)
        node = node.value
    root = _root(ctx, node)
    found = root
    for name in names:
        found = None if found is None or is_dynamic(found) else peek(found, name)
    if found is None:
        return None

    def reach() -> Any:
        owner = root
        for step in path:
            owner = step(owner)
        return owner

    return found, reach


def _root(ctx: DerivativeContext, node: Any) -> Any:
    """What a name stands for, unless it is something that compiled code made; its content is not looked at."""
    if not isinstance(node, gast.Name):
        return None
    holder = ctx.frame.holder(node.id)
    if holder is not None:
        return holder.now(node.id)
    bindings = ctx.frame.bindings
    try:
        value = bindings.lookup(node.id)[1]
    except CompileError:
        return None
    key = ("named", id(bindings.globals), id(bindings.cells.get(node.id)), node.id)
    ctx.outside.guard(key, f"name '{node.id}'", lambda: bindings.lookup(node.id)[1], value)
    return value
