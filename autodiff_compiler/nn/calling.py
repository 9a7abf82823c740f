"""The eager call of a Cell: hooks, mixed precision, `bprop`, `construct`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..eager.call_hooks import with_backward_hooks
from ..eager.custom import custom
from ..eager.recompute import recomputed
from ..eager.recorded_call import RecordedCall
from ..eager.tape import thread
from ..runtime.hooks import Registered, after_backward, backward_what, hooked
from ..runtime.precision import in_dtype, plain, view_of, viewed
from ..runtime.rules import bound, check_shape
from ..runtime.tensor import Tensor
from ..runtime.trees import leaves
from ..transforms.inputs import Inputs, holds_variables

__all__ = ["call_eagerly"]


def call_eagerly(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call of a Cell that has hooks, a float type of its own, a `bprop`, or `set_grad()`."""
    if cell.requires_grad and not thread.state.active:
        return _recorded(cell, args, kwargs)
    return _called(cell, args, kwargs)


def _recorded(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call, with its tape kept for a gradient that is taken right after it (`set_grad`)."""
    inputs = Inputs(args, [i for i, x in enumerate(args) if holds_variables(x, _is_tensor)], _is_tensor)
    cell.__dict__["_recorded"] = None  # the memory of the last one is free before this one runs
    if len(list(leaves((args, kwargs)))) != len(inputs.tensors) or not inputs.tensors:
        return _called(cell, args, kwargs)

    def run(*tensors: Tensor) -> Any:
        return _called(cell, tuple(inputs.arguments(tensors)), kwargs)

    recorded = RecordedCall(run, args, kwargs, inputs.tensors, list(cell.get_parameters()), cell)
    cell.__dict__["_recorded"] = recorded
    return recorded.outputs


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _called(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not cell._recompute:
        return _plainly(cell, args, kwargs)
    return recomputed(lambda *a, **k: _plainly(cell, a, k), args, kwargs, list(cell.get_parameters()))


def _plainly(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    cell = viewed(cell)
    if not cell._hooks:
        return _constructed(cell, args, kwargs)
    hooks = cell._hooks.groups

    def watched(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before, behind = hooks["backward_pre"], hooks["backward"]
        if not (before or behind):
            return _constructed(cell, args, kwargs)
        return with_backward_hooks(
            lambda *a, **k: _constructed(cell, a, k),
            args,
            kwargs,
            lambda grads: _checked(cell, before, grads, after_backward(cell, before, grads, _call)),
            lambda first, grads: _checked(cell, behind, grads, after_backward(cell, behind, grads, _call, first)),
        )

    return hooked(cell, hooks, args, kwargs, _call, watched, always=True)


def _call(hook: Registered, *args: Any) -> Any:
    return hook.fn(*args)


def _checked(
    cell: Any, hooks: Sequence[Registered], before: tuple[Tensor, ...], after: tuple[Any, ...]
) -> tuple[Any, ...]:
    for g, new in zip(before, after, strict=True):
        if isinstance(new, Tensor):
            check_shape(backward_what(cell, hooks), "AC1707", g.shape, new.shape)
    return after


def _constructed(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    dtype = cell._precision
    if dtype is None:
        return _computed(cell, args, kwargs)
    named = {k: in_dtype(x, dtype) for k, x in kwargs.items()}
    return plain(_computed(view_of(cell, dtype), tuple([in_dtype(x, dtype) for x in args]), named))


def _computed(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if type(cell).bprop is None:
        return cell.construct(*args, **kwargs)
    what = f"the bprop of {type(cell).__name__}"
    values, names, refusal = bound(cell.construct, cell.bprop, what, args, kwargs)
    return custom(lambda: cell.construct(*args, **kwargs), values, names, cell.bprop, what, refusal)
