"""`jvp`: the derivative along a direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..config import compiles
from ..eager.grad import vjp as eager_vjp
from ..eager.linear import has_rules, transposed
from ..errors import GradientError, users_frames
from ..frontend.derivatives.grad import push_forward
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import leaves as tensors_of
from ..runtime.trees import replaced
from .grad import main_of
from .inputs import Inputs, as_tuple, directions, flag, tangents_given
from .jit import JitFunction, jit
from .memo import memoised
from .parts import of_objects, of_objects_compiled

__all__ = ["jvp"]


class PushForward:
    """``(inputs, tangents) -> (fn(*inputs), tangent of the result)``."""

    def __init__(self, fn: Any, has_aux: bool = False) -> None:
        self.fn, self.has_aux = fn, flag("has_aux", has_aux)
        self.__name__ = f"jvp_{getattr(fn, '__name__', type(fn).__name__)}".replace("<lambda>", "lambda")

    @users_frames
    def __call__(self, inputs: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        variables, along = check_tangents(inputs, tangents)
        outputs, push = linearised(variables.of_tensors(self.fn), variables.tensors, self.has_aux)
        tangent = push(along)
        return (outputs[0], tangent, aux_of(outputs)) if self.has_aux else (outputs, tangent)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        inputs, tangents = args
        select = main_of if self.has_aux else None
        variables, along = directions(inputs, tangents, ctx.is_tensor)
        outputs, tangent = push_forward(ctx, *variables.taken_apart(self.fn), along, select)
        return (outputs[0], tangent, aux_of(outputs)) if self.has_aux else (outputs, tangent)


def check_tangents(inputs: Sequence[Any], tangents: Sequence[Any]) -> tuple[Inputs, list[Any]]:
    """The Tensors of the inputs and their tangents; GradientError unless there is one of its type along each."""
    variables, along = directions(inputs, tangents, lambda x: isinstance(x, Tensor))
    for x, t in zip(variables.tensors, along, strict=True):
        if x.shape != t.shape or x.dtype is not t.dtype:
            raise GradientError(
                f"the tangent of an input {x.dtype.name}{list(x.shape)} is {t.dtype.name}{list(t.shape)}"
            )
    return variables, along


def aux_of(outputs: Any) -> Any:
    """What the function returned beside the differentiated output: a single thing bare, several in a tuple."""
    return outputs[1] if len(outputs) == 2 else tuple(outputs[1:])


def linearised(fn: Any, inputs: Sequence[Tensor], has_aux: bool = False) -> tuple[Any, Callable[[Sequence[Any]], Any]]:
    """``fn(*inputs)``, run eagerly once, and the linear map from tangents of the inputs to those of the result."""
    outputs, pullback = eager_vjp(fn, inputs)
    main = main_of(outputs) if has_aux else outputs
    # The pullback is linear in the cotangents; its own pullback, at any point, is the map of tangents.
    at = [None if t.dtype.is_bool else wrap(np.zeros_like(t._data)) for t in tensors_of(main)]
    numbers = [i for i, a in enumerate(at) if a is not None]
    rest = [None] * (len(list(tensors_of(outputs))) - len(at))

    def backward(*cotangents: Tensor) -> Any:
        seeds: list[Any] = list(at)
        for i, g in zip(numbers, cotangents, strict=True):
            seeds[i] = g
        return tuple(pullback([*seeds, *rest]))

    zeros: list[Any] = [at[i] for i in numbers]
    forward = transposed(backward, zeros) if has_rules(pullback) else eager_vjp(backward, zeros)[1]

    def push(tangents: Sequence[Any]) -> Any:
        by_out = dict(zip(numbers, forward(list(tangents)), strict=True))
        every = iter([by_out.get(i) for i in range(len(at))])
        return replaced(main, lambda t: _or_zeros(next(every), t))

    return outputs, push


def _or_zeros(tangent: Tensor | None, t: Tensor) -> Tensor:
    return wrap(np.zeros_like(t._data)) if tangent is None else tangent


def _compiled_form(fn: Any, has_aux: bool) -> JitFunction:
    return memoised(fn, ("jvp", flag("has_aux", has_aux)), lambda: jit(PushForward(fn, has_aux)))


@users_frames
@of_objects
def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """``fn(*inputs)`` and its derivative along `v`: a pair, or ``(output, tangent, aux)`` with `has_aux`.

    `inputs` and `v` are a Tensor each or tuples of Tensors of the same shapes and dtypes; an input may be a container
    of Tensors, its tangent has its structure.  With `has_aux` only the first output is
    differentiated.  GradientError: what is no Tensor, or a tangent that does not fit its input.

    The tangent is made from the derivative rules of reverse mode by transposition, so every operation that has a
    gradient has a tangent.

    >>> from autodiff_compiler import Tensor
    >>> y, t = jvp(lambda x: x * x, Tensor([1.0, 2.0]), Tensor([1.0, 10.0]))
    >>> y.tolist(), t.tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    given, along = as_tuple(inputs), tangents_given(inputs, v)
    check_tangents(given, along)
    if compiles():
        return _compiled_form(fn, has_aux)(given, along)
    return PushForward(fn, has_aux)(given, along)


@of_objects_compiled
def _jvp_in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    def bound(fn: Any, inputs: Any, v: Any, has_aux: bool = False) -> Any:
        return PushForward(fn, has_aux).__graph_call__(ctx, [as_tuple(inputs), tangents_given(inputs, v)], {})

    return bound(*args, **kwargs)


jvp.__graph_call__ = _jvp_in_compiled_code  # type: ignore[attr-defined]
