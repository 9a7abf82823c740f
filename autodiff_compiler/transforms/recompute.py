"""`recompute`: memory saved by computing values again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..eager.recompute import recomputed
from ..errors import users_frames


@users_frames
def recompute(
    block: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn: Any = None,
    **kwargs: Any,
) -> Any:
    """``block(*args, **kwargs)``, whose values in between are not kept for the gradient, but computed again there.

    Results, gradients and random numbers are those of the plain call.  In eager code `block`, a Cell or a function,
    runs a second time when a gradient arrives: what it prints appears again; the Tensors and Cells that it reaches have
    their first values meanwhile, so that nothing is counted twice.  GradientError: it gives other values all the same,
    as something else that it reads was changed in between.  In compiled code this is
    the plain call: which values are kept is the compiler's choice there.  `use_reentrant`, `output_recompute`,
    `early_stop` and `context_fn` are accepted and change nothing.  TypeError: `block` cannot be called.

    >>> from autodiff_compiler import Tensor, grad
    >>> grad(lambda x: recompute(lambda v: v * v * v, x))(Tensor([2.0])).tolist()
    [12.0]
    """
    if not callable(block):
        raise TypeError(f"recompute() calls a Cell or a function, not a {type(block).__name__}")
    parameters: list[Any] = list(getattr(block, "get_parameters", list)())
    return recomputed(block, args, kwargs, parameters)


def _in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    ignored = ("use_reentrant", "output_recompute", "early_stop", "context_fn")
    return ctx.call(args[0], args[1:], {k: v for k, v in kwargs.items() if k not in ignored})


recompute.__graph_call__ = _in_compiled_code  # type: ignore[attr-defined]
