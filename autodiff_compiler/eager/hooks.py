"""Hooks of Tensors in eager code: `register_hook`.

On a tape hooks are a node between the Tensor's node and its later uses, so a use has the hooks that are registered at
that moment.  The hooks of a variable also see its whole gradient, when the backward pass is over.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import from_numpy
from ..errors import users_frames
from ..ir.primitive import F
from ..runtime.hooks import HookHandle, OutsideHooks, Registered, through
from ..runtime.parameter import Parameter
from ..runtime.rules import check_shape
from ..runtime.tensor import Tensor, wrap
from .custom import edited
from .tape import Node, tracked

__all__ = ["passed", "place_of_value", "variable_hooks"]


class TensorHooks(OutsideHooks):
    """The hooks of one Tensor, and the node that they have made for its present value."""

    __slots__ = ("_base", "_node", "_owner")

    def __init__(self, owner: Tensor) -> None:
        super().__init__()
        self._owner = weakref.ref(owner)
        self._base: Node | None = None
        self._node: Node | None = None

    def belong(self, x: Tensor) -> bool:
        """Whether they are hooks of the present value of x: those of a value on a tape end with it."""
        return self._node is None or x._node is self._node

    def changed(self) -> None:
        owner = self._owner()
        if owner is None:
            return
        if not isinstance(owner, Parameter) and (self._node is not None or tracked(owner)):
            self._place(owner)
        else:
            self.announce(counted=not isinstance(owner, Parameter))

    def _place(self, owner: Tensor) -> None:
        if owner._node is not self._node or self._node is None:
            self._base, self._node = owner._node, None
        if not self.registered:
            owner._node, self._node = self._base, None
            return
        hooks = self.registered
        here = edited(wrap(owner._data, self._base), lambda g: passed(hooks, g), hooks[-1].what, "AC1707")
        if here._node is not None:
            self._node = owner._node = here._node


def variable_hooks(x: Tensor) -> tuple[Registered, ...]:
    """The hooks that see the gradient of a derivative by x."""
    hooks = getattr(x, "_hooks", None)
    return () if hooks is None or not hooks.belong(x) else hooks.registered


def place_of_value(x: Tensor) -> Node | None:
    """Where the value of x lies on the tapes, before its hooks."""
    hooks = getattr(x, "_hooks", None)
    place: Node | None = x._node
    return hooks._base if hooks is not None and place is not None and place is hooks._node else place


def passed(hooks: Sequence[Registered], g: Any) -> Any:
    """A gradient after the hooks: a Tensor, or the number that the last of them gave."""
    like = g._data

    def as_tensor(found: Any, what: str) -> Tensor:
        if not isinstance(found, Tensor):
            return wrap(np.full(like.shape, found, like.dtype))
        check_shape(what, "AC1707", like.shape, found._data.shape)
        return found if found._data.dtype == like.dtype else F.cast(found, dtype=from_numpy(like.dtype))

    return through(hooks, g, lambda hook, g: hook.fn(g), as_tensor)


@users_frames
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> HookHandle:
    """Calls ``hook(grad)`` with the gradient that comes back to the Tensor from the uses that follow.

    Hooks run in the order of their registration; what one returns takes the place of the gradient, None keeps it.  On a
    Tensor or Parameter that a derivative is taken by, it sees the whole gradient when the backward pass is over.
    ``handle.remove()`` of the result takes the hook off for the uses that follow.

    In compiled code a hook lasts until the function ends; on Parameters it is registered outside (HookError AC1708).
    TypeError: `hook` cannot be called.  HookError (AC1707): it returns something else than a gradient.

    >>> x = Tensor([1.0])
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> from autodiff_compiler import grad
    >>> grad(lambda x: x * 3)(x).tolist()
    [30.0]
    """
    hooks = getattr(self, "_hooks", None)
    if hooks is None or not hooks.belong(self):
        hooks = self._hooks = TensorHooks(self)
    return hooks.add(hook)


Tensor.register_hook = register_hook  # type: ignore[method-assign, assignment]
