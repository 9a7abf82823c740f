"""The hooks of a Cell: functions called before and after its forward and backward passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runtime.hooks import CellHooks, HookHandle, outside_only

__all__ = ["HookedCell"]


class HookedCell:
    """The registration of hooks at a Cell; `calling` runs them in eager code, the frontend in compiled code."""

    _hooks: CellHooks | None = None

    @outside_only("a hook of a Cell cannot be registered")
    def register_forward_pre_hook(
        self, hook_fn: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls ``hook_fn(cell, inputs)`` before each call of the Cell, in eager and in compiled code.

        `inputs` is the tuple of positional arguments.  What the hook returns takes their place: a value or a tuple;
        None keeps them.  With `with_kwargs` it is called with ``(cell, inputs, kwargs)`` and returns a pair of both or
        None.  Hooks run in the order of registration, with `prepend` before those registered earlier.

        >>> from autodiff_compiler import Tensor, nn
        >>> relu = nn.ReLU()
        >>> handle = relu.register_forward_pre_hook(lambda cell, inputs: inputs[0] + 10)
        >>> relu(Tensor([1.0])).tolist()
        [11.0]
        """
        return self._hook("forward_pre", hook_fn, prepend, with_kwargs)

    @outside_only("a hook of a Cell cannot be registered")
    def register_forward_hook(
        self,
        hook_fn: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Calls ``hook_fn(cell, inputs, output)`` after each call of the Cell; what it returns replaces the output.

        None keeps the output.  With `with_kwargs` it is called with ``(cell, inputs, kwargs, output)``.  With
        `always_call` it is called in eager code after an exception too, with None for the output; in compiled code an
        exception ends the program.
        """
        return self._hook("forward", hook_fn, prepend, with_kwargs, always_call)

    @outside_only("a hook of a Cell cannot be registered")
    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Calls ``hook_fn(cell, grads)`` when gradients arrive at the Cell's outputs.

        `grads` is a tuple with one Tensor for each Tensor among the outputs, place by place: zeros for bools and for
        what is not used.  None keeps them; a tuple (or, for one, a Tensor) takes their place, in which a number stands
        for a Tensor full of it.  A Cell with backward hooks returns Tensors of its own, also for one it was given.
        """
        return self._hook("backward_pre", hook_fn)

    @outside_only("a hook of a Cell cannot be registered")
    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Calls ``hook_fn(cell, grad_input, grad_output)`` when gradients leave the Cell.

        `grad_input` are the gradients that arrived at its outputs from the next op, `grad_output` those that leave it
        towards its inputs; both are tuples with one Tensor for each Tensor among them, place by place, with zeros for
        bools and for what is not used.  None keeps `grad_output`; a tuple (or, for one, a Tensor) takes its place,
        in which a number stands for a Tensor full of it.  The order is that of MindSpore's documents; its release 2.10
        gives the two the other way round.

        >>> from autodiff_compiler import Tensor, grad, nn
        >>> relu = nn.ReLU()
        >>> handle = relu.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] * 10,))
        >>> grad(relu)(Tensor([1.0])).tolist()
        [10.0]
        """
        return self._hook("backward", hook_fn)

    def _hook(self, group: str, *how: Any) -> HookHandle:
        if self._hooks is None:
            self.__dict__["_hooks"] = CellHooks()
        return self._hooks.add(group, *how)  # type: ignore[union-attr]
