"""`vjp`: a function's result and the function from its cotangents to those of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..config import compiles
from ..eager.grad import vjp as eager_vjp
from ..errors import GradientError, shown_as, users_frames
from ..frontend.derivatives.grad import linearise
from ..frontend.variables.structure import arrays_as_tensors, with_parameters
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import leaves as tensors_of
from .grad import cotangents_of, in_form_of, main_of, weights_of
from .inputs import Inputs, flag, holds_variables
from .jit import jit
from .jvp import aux_of
from .maps import LinearMap, made_eagerly
from .memo import memoised
from .parts import caller, cotangents_like, of_objects, of_objects_compiled


def mode_form(fn: Any) -> Any:
    """The function as the mode of the context runs it: compiled in GRAPH_MODE (once per function), else itself."""
    if not compiles():
        return fn
    return memoised(fn, ("jit",), lambda: jit(fn))


def _arranged(found: Sequence[Any], inputs: Inputs, count: int, weights: Any) -> Any:
    """Gradients as vjp's function returns them: a tuple with one per input, and those of the weights if named."""
    n = len(inputs.tensors)
    by_position = inputs.by_position(found[:n])
    of_inputs = tuple([by_position.get(i, ()) for i in range(count)])
    if weights is None:
        return of_inputs
    return of_inputs, in_form_of(weights, found[n:])


def _variables(args: Sequence[Any], is_tensor: Callable[[Any], bool]) -> Inputs:
    """The inputs that the pullback gives cotangents of."""
    return Inputs(args, [i for i, x in enumerate(args) if holds_variables(x, is_tensor)], is_tensor)


@users_frames
@of_objects
def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """``fn(*inputs)`` and its pullback: ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)`` with `has_aux`.

    ``vjp_fn(v)`` takes a cotangent for every output Tensor (in a tuple, or one by one), of its shape, and returns a
    tuple with the cotangent of every input; with `weights` a pair of that and those of the Parameters.  It may be
    called any number of times.  With `has_aux` only the first output is differentiated.  A container of Tensors has a
    cotangent of its structure, an input without Tensors ``()``.  GradientError: cotangents that do not fit the outputs.

    >>> from autodiff_compiler import Tensor
    >>> y, pull = vjp(lambda x: x * x, Tensor([1.0, 2.0]))
    >>> y.tolist(), pull(Tensor([1.0, 10.0]))[0].tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    chosen, has_aux = weights_of(weights) or (), flag("has_aux", has_aux)
    given = [wrap(np.asarray(x)) if isinstance(x, np.ndarray) else x for x in inputs]
    variables = _variables(given, lambda x: isinstance(x, Tensor))
    outputs, pullback = eager_vjp(variables.of_tensors(mode_form(fn)), variables.tensors, chosen, hooks=True)
    main = main_of(outputs) if has_aux else outputs
    count = len(list(tensors_of(main)))
    rest = [None] * (len(list(tensors_of(outputs))) - count)

    def vjp_fn(*v: Any) -> Any:
        in_object = cotangents_like(main, v[0]) if len(v) == 1 else None
        seeds = list(cotangents_of(v if in_object is None else tuple(in_object)))
        if len(seeds) != count:
            raise GradientError(f"{len(seeds)} sensitivities were given for {count} outputs")
        return _arranged(pullback([*seeds, *rest]), variables, len(given), weights)

    pull = made_eagerly(vjp_fn, "vjp")
    return (outputs[0], pull, aux_of(outputs)) if has_aux else (outputs, pull)


@shown_as("function")
class _CompiledPullback(LinearMap):
    """The pullback inside compiled code: each call runs the backward pass of the one run of the function."""

    def __init__(self, linear: Any, main: Any, inputs: Inputs, count: int, weights: Any) -> None:
        self.linear, self.main, self.inputs, self.count, self.weights = linear, main, inputs, count, weights

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        in_object = cotangents_like(self.main, args[0], caller(ctx), ctx.is_tensor) if len(args) == 1 else None
        given = args if in_object is None else in_object
        return _arranged(self.linear.pull(ctx, tuple(given)), self.inputs, self.count, self.weights)


@of_objects_compiled
def _vjp_in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    def bound(fn: Any, *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
        asked = with_parameters(weights)
        variables = _variables(inputs, ctx.is_tensor)
        called, operands, positions = variables.taken_apart(fn)
        select = main_of if flag("has_aux", has_aux) else None
        linear = linearise(
            ctx, called, arrays_as_tensors(operands), {}, positions, weights_of(asked) or (), select, hooks=True
        )
        outputs = linear.result
        main = main_of(outputs) if has_aux else outputs
        pullback = _CompiledPullback(linear, main, variables, len(inputs), asked)
        return (outputs[0], pullback, aux_of(outputs)) if has_aux else (outputs, pullback)

    return bound(*args, **kwargs)


vjp.__graph_call__ = _vjp_in_compiled_code  # type: ignore[attr-defined]
