"""Hooks in compiled code, which may touch objects of the program around it.

The Tensor code of a hook is compiled.  A statement that changes an object from outside (a list's `append`, an item of
a dict) becomes a callback in the order of effects, which gets copies.  A hook that cannot be compiled is one callback
as a whole; it may look at gradients, but not return new ones.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Sequence
from typing import Any

import gast

from ..errors import CompileError, HookError
from ..ir.primitive import trace
from .arithmetic import SLOT
from .calls import call
from .commits import emit_commit
from .guards import Content, Guard
from .host import HostArguments, emit_host_call, native_function
from .lookup import peek
from .lowering import Lowering
from .values import LocalDict, LocalList, LocalSet, is_dynamic

__all__ = ["changes_outside", "run_hook"]

#: Errors of these kinds say that a hook does what only Python can do; the others are mistakes in it.
_BEYOND = ("AC10", "AC11", "AC12", "AC13", "AC15", "AC16", "AC18")
_CONTAINERS = (list, dict, set, collections.deque, bytearray)
_OWN = (LocalList, LocalDict, LocalSet)
#: Methods of containers that return nothing.
_SILENT = {
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "remove", "reverse", "sort",
    "update",
}  # fmt: skip


def run_hook(lw: Lowering, fn: Any, args: Sequence[Any], what: str) -> Any:
    """``fn(*args)`` for a hook."""
    block = trace.builder.block
    before, guards = len(block.ops), set(lw.outside.guards)
    outer, lw.in_hook = lw.in_hook, True
    try:
        with lw.region() as region:
            try:
                return call(lw, fn, list(args), {})
            except CompileError as error:
                if not error.code.startswith(_BEYOND):
                    raise
                lw.restore(region)
                del block.ops[before:]
                _forget_contents(lw, guards)
                reason = error
    finally:
        lw.in_hook = outer
    return _as_callback(lw, fn, args, what, reason)


def _forget_contents(lw: Lowering, before: set[Any]) -> None:
    """Drops the guards on contents of containers that were read in vain: a callback may change them."""
    for key in [k for k in lw.outside.guards if k not in before]:
        guard = lw.outside.guards[key]
        if isinstance(guard, Guard) and isinstance(guard.expected, Content):
            del lw.outside.guards[key]


def _as_callback(lw: Lowering, fn: Any, args: Sequence[Any], what: str, reason: CompileError) -> None:
    given = HostArguments(lw, args, tensors=True)
    function = native_function(lw, fn)

    def run(arrays: Sequence[Any]) -> None:
        found = function(*given.made_of(arrays))
        if found is not None:
            raise HookError(
                f"{what} returns a {type(found).__name__}, but it runs as plain Python in compiled code, because "
                f"it cannot be compiled: {reason.message}",
                hint="let it return None, or take what cannot be compiled out of it",
            )

    _emit(lw, given, run)


def _emit(lw: Lowering, given: HostArguments, run: Callable[[Sequence[Any]], None]) -> None:
    def host(*arrays: Any) -> tuple[Any, ...]:
        run(arrays)
        return ()

    name = f"callback{len(lw.module.callables)}"
    lw.module.callables[name] = host
    emit_commit(lw)
    emit_host_call(given.values, name, ())


# ---------------------------------------------------------------------------------------------------- statements
def changes_outside(lw: Lowering, node: Any, silent: bool = False) -> bool:
    """Whether a statement of a hook (or, `silent`, its only expression) changes a container from outside.

    It is a callback then, and has been emitted.
    """
    if not lw.in_hook:
        return False
    if isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute):
        return _method_call(lw, node, silent)
    if isinstance(node, gast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], gast.Subscript):
        return _item(lw, node.targets[0], node.value, lambda owner, i, x: operator.setitem(owner, i, x))
    if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Subscript):
        change = getattr(operator, "i" + SLOT[type(node.op).__name__].strip("_"))
        return _item(lw, node.target, node.value, lambda owner, i, x: operator.setitem(owner, i, change(owner[i], x)))
    return False


def _method_call(lw: Lowering, node: Any, silent: bool) -> bool:
    method = node.func.attr
    if silent and method not in _SILENT:
        return False
    if any(isinstance(a, gast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return False
    reach = _outside_container(lw, node.func.value)
    if reach is None:
        return False
    values = [*lw.exprs(node.args), *lw.exprs([k.value for k in node.keywords])]
    names, n = [k.arg for k in node.keywords], len(node.args)
    given = HostArguments(lw, values, tensors=True)

    def run(arrays: Sequence[Any]) -> None:
        made = given.made_of(arrays)
        getattr(reach(), method)(*made[:n], **dict(zip(names, made[n:], strict=True)))

    lw.place(node)
    _emit(lw, given, run)
    return True


def _item(lw: Lowering, target: Any, value: Any, change: Callable[[Any, Any, Any], None]) -> bool:
    reach = _outside_container(lw, target.value)
    if reach is None:
        return False
    given = HostArguments(lw, [lw.expr(target.slice), lw.expr(value)], tensors=True)

    def run(arrays: Sequence[Any]) -> None:
        change(reach(), *given.made_of(arrays))

    lw.place(target)
    _emit(lw, given, run)
    return True


def _outside_container(lw: Lowering, node: Any) -> Callable[[], Any] | None:
    """How to reach, at run time, the container from outside that an expression names; None for something else."""
    path: list[Callable[[Any], Any]] = []
    names: list[str] = []
    while isinstance(node, gast.Attribute):
        path.insert(0, operator.attrgetter(node.attr))
        names.insert(0, node.attr)
        node = node.value
    root = _root(lw, node)
    found = root
    for name in names:
        found = None if found is None or is_dynamic(found) else peek(found, name)
    if not isinstance(found, _CONTAINERS) or type(found) in _OWN:
        return None

    def reach() -> Any:
        owner = root
        for step in path:
            owner = step(owner)
        return owner

    return reach


def _root(lw: Lowering, node: Any) -> Any:
    """What a name stands for, unless it is something that compiled code made; its content is not looked at."""
    if not isinstance(node, gast.Name):
        return None
    holder = lw.frame.holder(node.id)
    if holder is not None:
        return holder.env.get(node.id)
    bindings = lw.frame.bindings
    try:
        value = bindings.lookup(node.id)[1]
    except CompileError:
        return None
    key = ("named", id(bindings.globals), id(bindings.cells.get(node.id)), node.id)
    lw.outside.guard(key, f"name '{node.id}'", lambda: bindings.lookup(node.id)[1], value)
    return value
