"""`register_hook` in compiled code, and hooks registered outside on the variables of a derivative.

As in eager code, a use of a Tensor passes the hooks that are registered at that moment: the Tensor takes a new Value,
that of an op whose cotangent passes them.  A hook more, or less, replaces that op by another one over the same base.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...autodiff.activity import active_values
from ...errors import HookError
from ...ir.core import Block, Value
from ...ir.primitive import trace
from ...ir.types import TensorType
from ...ir.walk import ops_of
from ...runtime.hooks import HookHandle, Registered, any_outside, not_here, registered_on, through
from ...runtime.rules import check_shape
from ...source import Loc
from ..variables.rules import TENSOR_METHODS
from ..variables.structure import Form, form
from ..variables.values import EITHER, TensorVar, is_parameter
from .callbacks import run_hook
from .context import DerivativeContext
from .custom import edited, in_type


class Hooked(NamedTuple):
    """What a Tensor was before its hooks, its hooks, and where the last one was registered."""

    base: Value
    hooks: tuple[Registered, ...]
    loc: Loc | None


class Handle(HookHandle):
    """What `register_hook` returns in compiled code."""

    __slots__ = ("_box", "_lw")

    def __init__(self, ctx: DerivativeContext, box: TensorVar, hook: Registered) -> None:
        super().__init__(hook, "", 0)
        self._lw, self._box = weakref.ref(ctx), box

    def remove(self) -> None:
        """Takes the hook off for the uses that follow; when the function has ended there are none."""
        ctx = self._lw()
        if ctx is None or trace.builder is None:
            return
        known = _known(ctx, self._box)
        if any(h is self._hooks for h in known.hooks):
            _place(ctx, self._box, known._replace(hooks=tuple([h for h in known.hooks if h is not self._hooks])))


@form(Handle)
class _HandleForm(Form):
    def holds(self, x: Any) -> Sequence[Any]:
        return (x._box,)


def register(ctx: DerivativeContext, owner: Any, hook_fn: Any) -> Handle:
    """``owner.register_hook(hook_fn)``."""
    if not ctx.call(callable, [hook_fn], {}):
        raise TypeError(f"a hook must be callable, not a {type(hook_fn).__name__}")
    if is_parameter(owner):
        raise not_here("a hook of a Parameter cannot be registered")
    hook = Registered(hook_fn)
    known = _known(ctx, owner)
    _place(ctx, owner, Hooked(known.base, (*known.hooks, hook), ctx.here))
    return Handle(ctx, owner, hook)


TENSOR_METHODS["register_hook"] = register


def _known(ctx: DerivativeContext, box: TensorVar) -> Hooked:
    """The hooks of a Tensor; HookError if only a run can tell."""
    found = ctx.derivatives.hooked.get(box.value)
    if found is not None:
        return found
    ctx.effects.refuse_collected(box)
    if box.locked == EITHER or ctx.effects.ties.spread(box) or _perhaps(ctx, box.value):
        raise HookError(
            "which hooks this Tensor has is known only at run time",
            code="AC1708",
            hint="register the hooks where the Tensor is computed, or put an `ops.HookBackward` there",
        )
    return Hooked(box.value, (), ctx.here)


def _perhaps(ctx: DerivativeContext, value: Value) -> bool:
    """Whether some of the paths that meet in a Value leave a Tensor with hooks."""
    op = value.op
    if op is None or op.defn.name not in ("if", "while", "scan"):
        return False
    if op.defn.name == "if":
        return any(block.outs[value.index] in ctx.derivatives.hooked for block in op.blocks)
    return any(v in ctx.derivatives.hooked for v in op.blocks[-1].outs)


def _place(ctx: DerivativeContext, box: TensorVar, hooked: Hooked) -> None:
    base = hooked.base
    if ctx.effects.scouting or base.dtype.is_bool:
        return
    ctx.effects.inputs.note_write(box)
    ctx.effects.touch(box)
    if not hooked.hooks:
        box.value = base
        return
    what = hooked.hooks[-1].what
    box.value = edited(ctx, TensorVar(base), lambda g: _passed(ctx, hooked.hooks, g), what, "AC1707").value
    ctx.derivatives.hooked[box.value] = hooked
    ctx.effects.inputs.bases[box.value] = base


def _passed(ctx: DerivativeContext, hooks: Sequence[Registered], g: Any) -> Any:
    """A gradient after the hooks."""
    type_ = g.value.type

    def as_tensor(found: Any, what: str) -> Any:
        return _full(ctx, found, type_, what)

    return through(hooks, g, lambda hook, g: run_hook(ctx, hook.fn, [g], hook.what), as_tensor)


def check_loops(ctx: DerivativeContext) -> None:
    """HookError for a Tensor that gets one more hook in every trip of a loop: they would run in another order."""
    if not ctx.derivatives.hooked:
        return
    for op in ops_of(ctx.program.entry.body):
        if op.defn.name not in ("while", "scan"):
            continue
        body = op.blocks[-1]
        for v in body.outs:
            if v in ctx.derivatives.hooked and ctx.derivatives.hooked[v].base in body.args:
                raise HookError(
                    "every trip of a loop registers another hook on this Tensor, which was made before the loop",
                    code="AC1708",
                    loc=ctx.derivatives.hooked[v].loc,
                    hint="register it before the loop, or on what a trip computes",
                )


# ---------------------------------------------------------------------------------------------------- variables
def variable_hooks(ctx: DerivativeContext, x: Any) -> tuple[Registered, ...]:
    """The hooks that see the gradient of a derivative by x; those registered outside are watched."""
    if is_parameter(x):
        return _of_parameter(ctx, x.source)
    found = ctx.derivatives.hooked.get(x.value)
    inside = () if found is None else found.hooks
    if found is None and _perhaps(ctx, x.value):
        _known(ctx, x)
    number = ctx.effects.inputs.number.get(id(x))
    return (*(() if number is None else _of_input(ctx, number)), *inside)


def _of_parameter(ctx: DerivativeContext, p: Any) -> tuple[Registered, ...]:
    hooks = registered_on(p)
    key = ("hooks of a Parameter", id(p))
    ctx.outside.guard(key, f"the hooks of {p.name}", lambda: registered_on(p), hooks, watched=True)
    return hooks


def _of_input(ctx: DerivativeContext, number: int) -> tuple[Registered, ...]:
    source = ctx.effects.inputs.source(number)
    if source is None:
        return ()
    if not any_outside():
        what = "whether any Tensor has hooks"
        ctx.outside.guard(("hooks outside",), what, any_outside, False, watched=True)
        return ()
    hooks = registered_on(source)
    ctx.effects.inputs.hooks[number] = hooks
    return hooks


def after_variable_hooks(
    ctx: DerivativeContext, variables: Sequence[Any], block: Block, seeded: Sequence[Value], grads: Sequence[Any]
) -> list[Any]:
    """The gradients by variables (Tensors, Parameters), each after its hooks if the derivative reaches it.

    The first are the arguments of the differentiated block; Parameters after them are read in it.
    """
    found = list(grads)
    active: set[Value] | None = None
    for i, (x, g) in enumerate(zip(variables, grads, strict=True)):
        hooks = variable_hooks(ctx, x)
        if not hooks or ctx.effects.scouting:
            continue
        reads = [op.results[0] for op in ops_of(block) if op.defn.name == "state_read"]
        active = active or active_values(block, [*block.args, *reads], seeded)
        if any(v in active for v in (block.args[i : i + 1] if i < len(block.args) else _reads(x, reads))):
            found[i] = _full(ctx, _passed(ctx, hooks, _full(ctx, g, x.type)), x.type, hooks[-1].what)
    return found


def _reads(x: Any, reads: Sequence[Value]) -> list[Value]:
    return [v for v in reads if v.op is not None and v.op.attr("state") == x.name]


def _full(ctx: DerivativeContext, found: Any, wanted: TensorType, what: str = "") -> TensorVar:
    """A gradient, or what a hook made of it, in the type of its variable."""
    if isinstance(found, bool | int | float):
        return TensorVar(trace.builder.const(found, wanted))
    value = ctx.unwrap(found)
    if what:
        check_shape(what, "AC1707", wanted.shape, value.shape)
    return TensorVar(in_type(value, wanted))
