"""MindSpore's `_Function`: a computation and its derivative as two static methods, which share a context."""

from __future__ import annotations

import inspect
from typing import Any

from ..eager.custom import constant_of, custom
from ..eager.tape import thread, tracked
from ..errors import UnsupportedCallError, users_frames
from ..ir.primitive import trace
from ..runtime.host import name_of
from ..runtime.tensor import Tensor
from ..runtime.trees import leaves, replaced

__all__ = ["Context", "_Function"]


class Context:
    """What `forward` leaves for `backward`: Tensors saved, and attributes of any name."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()
    _constant: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps Tensors, which `backward` finds as ``ctx.saved_tensors``."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *args: Any) -> None:
        """Says of results that no derivative passes through them."""
        self._constant = args

    def mark_dirty(self, *args: Any) -> None:
        """Says which inputs `forward` changed in place: nothing needs to know."""

    def set_materialize_grads(self, value: bool) -> None:
        """Says what stands for the gradient of a result that is not used: a Tensor of zeros, always."""


class _Function:
    """A function with its own derivative: `forward` and `backward` are static methods, `apply` calls it.

    ``forward(ctx, *args)`` computes, and keeps in `ctx` what ``backward(ctx, *grads)`` needs; that gets a gradient for
    each result and returns one for each argument of `forward`, None for zero.  A subclass may write
    ``forward(*args)`` and ``setup_context(ctx, inputs, output)`` instead.

    UnsupportedCallError: `apply` in compiled code; a second derivative through Tensors in `ctx` that are neither
    arguments nor results.

    >>> from autodiff_compiler import grad
    >>> class Cube(_Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, dout):
    ...         (x,) = ctx.saved_tensors
    ...         return dout * 3 * x * x
    >>> grad(Cube.apply)(Tensor([2.0])).tolist()
    [12.0]
    """

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """What is computed; every subclass defines it."""
        raise NotImplementedError("a subclass of _Function defines `forward`")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Its derivative; every subclass defines it."""
        raise NotImplementedError("a subclass of _Function defines `backward`")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        """Keeps what `backward` needs, where `forward` takes no context."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Computes `forward`, with `backward` for its derivative."""
        return _applied(cls, args, kwargs)


@users_frames
def _applied(cls: type[_Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if trace.builder is not None:
        raise UnsupportedCallError(
            f"{name_of(cls)}.apply() cannot be called in compiled code",
            hint="write the function and its derivative with ops.custom_vjp, or as a Cell with a `bprop`",
        )
    ctx, apart = Context(), cls.setup_context is not _Function.setup_context
    given = inspect.signature(cls.forward).bind(*(() if apart else (ctx,)), *args, **kwargs)
    given.apply_defaults()
    values = given.args if apart else given.args[1:]
    names = list(given.arguments)[-len(values) :] if len(given.arguments) >= len(values) else []
    names = [names[i] if i < len(names) else f"argument {i}" for i in range(len(values))]
    ctx.needs_input_grad = tuple(isinstance(v, Tensor) and tracked(v) for v in values)

    def run() -> Any:
        found = cls.forward(*given.args, **given.kwargs)
        if apart:
            cls.setup_context(ctx, given.args, found)
        results.append(found)
        return found

    def rule(*known: Any) -> Any:
        *inputs, out, dout = known
        with_nodes = dict(zip(map(id, leaves([values, results[0]])), leaves([inputs, out]), strict=True))
        kept = Context()
        vars(kept).update(replaced(vars(ctx), lambda t: _of_the_call(cls, with_nodes, t)))
        return cls.backward(kept, *(dout if isinstance(dout, tuple) else (dout,)))

    results: list[Any] = []
    out = custom(run, values, names, rule, f"backward, the derivative of {name_of(cls)},")
    constant = set(map(id, ctx._constant))
    if not constant:
        return out
    same = dict(zip(map(id, leaves(out)), leaves(results[0]), strict=True))
    return replaced(out, lambda t: constant_of(t) if id(same[id(t)]) in constant else t)


def _of_the_call(cls: type, known: dict[int, Any], kept: Tensor) -> Tensor:
    """A Tensor that `forward` left in its context, on the tapes that the call was recorded on."""
    if id(kept) not in known and thread.state.active:
        raise UnsupportedCallError(
            f"{name_of(cls)} is differentiated again, and `forward` keeps a Tensor that is no argument and no result",
            hint="compute it in `backward` from the arguments, so that its derivative is known",
        )
    return known.get(id(kept), kept)
