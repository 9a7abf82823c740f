"""`jacrev`, `jacfwd`, `hessian`, `hvp`, `linearize`: derivatives as matrices and as linear maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Never

import numpy as np

from ..config import GRAPH_MODE, compiles, context
from ..eager.grad import vjp as eager_vjp
from ..errors import GradientError, shown_as, users_frames
from ..frontend.derivatives.batching import forward_jacobian, reverse_jacobian
from ..frontend.derivatives.grad import linearise, push_forward
from ..frontend.variables.structure import arrays_as_tensors
from ..ir.primitive import F
from ..keywords import answering, refuse_unknown
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import leaves as tensors_of
from ..runtime.trees import replaced
from .compiled_form import HasCompiledForm
from .grad import grad, main_of, positions_of
from .inputs import Inputs, as_tuple, directions, flag, holds_variables, is_several, tangents_given, with_keywords
from .jvp import aux_of, check_tangents, jvp, linearised
from .maps import LinearMap, made_eagerly
from .memo import memoised
from .parts import (
    OfParts,
    at_positions,
    caller,
    eagerly,
    is_tensor,
    made_again,
    of_objects,
    of_objects_compiled,
    of_parts,
)
from .vjp import mode_form


class Jacobian(HasCompiledForm):
    """The Jacobians of a function, as a function of the same arguments."""

    def __init__(self, fn: Any, grad_position: Any, has_aux: bool, forward: bool) -> None:
        positions = positions_of(grad_position)
        if positions is None or not positions:
            raise ValueError("grad_position must name an argument: there would be nothing to differentiate by")
        if not callable(fn):
            raise TypeError(f"the function to differentiate must be callable, not a {type(fn).__name__}")
        self.fn, self.positions, self.forward = fn, positions, forward
        self.has_aux = flag("has_aux", has_aux)
        name = f"{'jacfwd' if forward else 'jacrev'}_{getattr(fn, '__name__', type(fn).__name__)}"
        self.__name__ = name.replace("<lambda>", "lambda")
        self._how = positions, self.has_aux, forward

    @users_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (by_parts := self._by_parts(args, kwargs, is_tensor)) is not None:
            form, parts, named = by_parts
            return made_again(form(*parts, **named))
        if compiles():
            return self._as_compiled()(*args, **kwargs)
        args = tuple(with_keywords(self.fn, args, kwargs, self.positions))
        given = [wrap(np.asarray(x)) if isinstance(x, np.ndarray) else x for x in args]
        inputs = self._inputs(given, lambda x: isinstance(x, Tensor))

        def run(*aliases: Tensor) -> Any:
            return self.fn(*inputs.arguments(aliases), **kwargs)

        outputs, rows = (_columns if self.forward else _rows)(run, inputs.tensors, self.has_aux)
        main = main_of(outputs) if self.has_aux else outputs
        found = iter(rows)
        return self._result(outputs, replaced(main, lambda t: self._bare(inputs, next(found))))

    def _by_parts(self, args: Sequence[Any], kwargs: dict[str, Any], tensor: Any) -> tuple[Any, list[Any], dict] | None:
        named = dict(kwargs)
        given = with_keywords(self.fn, args, named, self.positions)
        parts = at_positions(given, self.positions, eagerly, tensor)
        return None if parts is None else (_jacobian(of_parts(self.fn), *self._how), parts, named)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        kwargs = dict(kwargs)
        given = with_keywords(self.fn, args, kwargs, self.positions)
        parts = at_positions(given, self.positions, call := caller(ctx), ctx.is_tensor)
        if parts is not None:
            return made_again(Jacobian(OfParts(self.fn), *self._how).__graph_call__(ctx, parts, kwargs), call)
        inputs = self._inputs(given, ctx.is_tensor)
        whole = forward_jacobian if self.forward else reverse_jacobian
        select = main_of if self.has_aux else None
        fn, operands, positions = inputs.taken_apart(self.fn)
        bare = partial(self._bare, inputs)
        outputs, found = whole(ctx, fn, arrays_as_tensors(operands), kwargs, positions, select, bare)
        return self._result(outputs, found)

    def _inputs(self, args: Sequence[Any], is_tensor: Callable[[Any], bool]) -> Inputs:
        for p in self.positions:
            if p >= len(args):
                raise ValueError(f"grad_position {p} does not exist: {len(args)} positional arguments were given")
            if not holds_variables(args[p], is_tensor):
                raise GradientError(f"argument {p} is no Tensor: only the derivative by a Tensor can be taken")
        return Inputs(args, self.positions, is_tensor)

    def _bare(self, inputs: Inputs, by_tensor: Sequence[Any]) -> Any:
        found = inputs.by_position(by_tensor)
        return found[self.positions[0]] if len(self.positions) == 1 else tuple([found[p] for p in self.positions])

    def _result(self, outputs: Any, found: Any) -> Any:
        return (found, aux_of(outputs)) if self.has_aux else found


def _unit(t: Tensor, k: int) -> Tensor:
    data = np.zeros(t.shape, t._data.dtype)
    data.reshape(-1)[k] = 1
    return wrap(data)


def _zeros(dtype: Any, shape: tuple[int, ...]) -> Tensor:
    return wrap(np.zeros(shape, dtype))


def _rows(fn: Any, inputs: Sequence[Tensor], has_aux: bool) -> tuple[Any, list[list[Tensor]]]:
    """The result of a function, and for each of its Tensors the Jacobians by the inputs: one pullback per element."""
    outputs, pullback = eager_vjp(fn, inputs)
    targets = list(tensors_of(main_of(outputs) if has_aux else outputs))
    total = len(list(tensors_of(outputs)))
    by_integers = not all(x.dtype.is_float for x in inputs)
    found = []
    for i, t in enumerate(targets):
        if not (t.dtype.is_float or (t.dtype.is_int and by_integers)) or not t._data.size:
            found.append([_zeros(x._data.dtype, (*t.shape, *x.shape)) for x in inputs])
            continue
        seeds: list[Any] = [None] * total
        rows = []
        for k in range(t._data.size):
            seeds[i] = _unit(t, k)
            rows.append([_full(g, x.shape) for g, x in zip(pullback(seeds), inputs, strict=True)])
        found.append([_joined(gs, -1 - x.ndim, (*t.shape, *x.shape)) for x, *gs in zip(inputs, *rows, strict=True)])
    return outputs, found


def _full(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient in its variable's shape: a user's rule may have given a number."""
    return g if g.shape == shape else F.broadcast_to(g, shape=shape)


def _columns(fn: Any, inputs: Sequence[Tensor], has_aux: bool) -> tuple[Any, list[list[Tensor]]]:
    """Like `_rows`, with one tangent per element of the inputs."""
    outputs, push = linearised(fn, inputs, has_aux)
    targets = list(tensors_of(main_of(outputs) if has_aux else outputs))
    still = [_zeros(x._data.dtype, x.shape) for x in inputs]
    found: list[list[Tensor]] = [[] for _ in targets]
    for j, x in enumerate(inputs):
        if x.dtype.is_bool:  # nothing has a derivative by it, and there is nothing to push
            for i, t in enumerate(targets):
                found[i].append(_zeros(x._data.dtype, (*t.shape, *x.shape)))
            continue
        columns = [list(tensors_of(push([*still[:j], _unit(x, k), *still[j + 1 :]]))) for k in range(x._data.size)]
        for i, t in enumerate(targets):
            shape = (*t.shape, *x.shape)
            of_target = [] if t.dtype.is_bool else [c[i] for c in columns]
            dtype = x._data.dtype if t.dtype.is_bool else t._data.dtype
            found[i].append(_joined(of_target, -1, shape) if of_target else _zeros(dtype, shape))
    return outputs, found


def _joined(parts: Sequence[Tensor], axis: int, shape: tuple[int, ...]) -> Tensor:
    joined: Tensor = F.reshape(F.stack(*parts, axis=axis), shape=shape)
    return joined


def _jacobian(fn: Any, grad_position: Any, has_aux: bool, forward: bool) -> Jacobian:
    """A Jacobian; the one made before for the same function if it may have been compiled."""
    made = Jacobian(fn, grad_position, has_aux, forward)
    if context.mode != GRAPH_MODE:
        return made
    found: Jacobian = memoised(fn, ("jacobian", made.positions, has_aux, forward), lambda: made)
    return found


@answering
def jacrev(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False, **unknown: Never
) -> Jacobian:
    """The Jacobian of `fn` by its arguments at `grad_position`, in reverse mode: best for few outputs.

    The result takes the arguments of `fn`; for every output Tensor of shape S it returns a Tensor of shape S followed
    by the argument's shape, a tuple of them for several positions, in the structure of the outputs.  With `has_aux`
    only the first output is differentiated, and the rest is returned beside the Jacobian.

    ValueError: positions that are negative, repeated, or of no argument.  GradientError: an argument that is no Tensor.

    >>> from autodiff_compiler import Tensor
    >>> jacrev(lambda x: x * x)(Tensor([1.0, 3.0])).tolist()
    [[2.0, 0.0], [0.0, 6.0]]
    """
    if unknown:
        refuse_unknown(jacrev, unknown)
    return _jacobian(fn, grad_position, has_aux, False)


@answering
def jacfwd(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False, **unknown: Never
) -> Jacobian:
    """Like `jacrev`, in forward mode: best for few inputs.

    `fn`, `grad_position`, `has_aux` and the errors are those of `jacrev`; besides, BpropError: a derivative of one's
    own that is not linear in its cotangent has no forward mode.

    >>> from autodiff_compiler import Tensor
    >>> jacfwd(lambda x: x.sum() * x)(Tensor([1.0, 3.0])).tolist()
    [[5.0, 1.0], [3.0, 7.0]]
    """
    if unknown:
        refuse_unknown(jacfwd, unknown)
    return _jacobian(fn, grad_position, has_aux, True)


@answering
def hessian(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, **unknown: Never) -> Jacobian:
    """The second derivatives of a function with one float output: the Jacobian of its gradient, forward over reverse.

    For several positions a tuple of tuples.

    >>> from autodiff_compiler import Tensor
    >>> hessian(lambda x: (x * x * x).sum())(Tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    if unknown:
        refuse_unknown(hessian, unknown)
    return _jacobian(grad(fn, grad_position), grad_position, False, True)


@users_frames
@of_objects
def hvp(fn: Callable[..., Any], inputs: Any, v: Any) -> Any:
    """The product of the Hessian of `fn` at `inputs` with `v`, without the Hessian; in the form of `inputs`.

    >>> from autodiff_compiler import Tensor
    >>> hvp(lambda x: (x * x * x).sum(), Tensor([1.0, 2.0]), Tensor([1.0, 10.0])).tolist()
    [6.0, 120.0]
    """
    given = as_tuple(inputs)
    _, product = jvp(grad(fn, tuple(range(len(given)))), given, tangents_given(inputs, v))
    return _in_form_of(inputs, product)


def _in_form_of(inputs: Any, product: Any) -> Any:
    """Results for every input, in a tuple if the inputs were."""
    return product if not is_several(inputs) or len(inputs) > 1 else (product,)


@users_frames
@of_objects
def linearize(fn: Callable[..., Any], inputs: Any) -> Any:
    """``fn(*inputs)`` and the linear map of tangents there: ``(output, f)``, ``f(v)`` as the tangent of `jvp`.

    `inputs` is a Tensor or a tuple of them.  In eager mode the function runs once, however often the map is called.

    >>> from autodiff_compiler import Tensor
    >>> y, push = linearize(lambda x: x * x, Tensor([1.0, 2.0]))
    >>> push(Tensor([1.0, 10.0])).tolist()
    [2.0, 40.0]
    """
    given = as_tuple(inputs)
    variables, _ = check_tangents(given, given)
    outputs, push = linearised(variables.of_tensors(mode_form(fn)), variables.tensors)

    def tangent(*v: Any) -> Any:
        _, along = check_tangents(given, tangents_given(inputs, v[0]) if len(v) == 1 else v)
        return push(along)

    return outputs, made_eagerly(tangent, "linearize")


# ------------------------------------------------------------------------------------------------- compiled code
@shown_as("function")
class _CompiledTangent(LinearMap):
    """The linear map inside compiled code, at the point of the one run of the function."""

    def __init__(self, linear: Any, inputs: Any) -> None:
        self.linear, self.inputs = linear, inputs

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = tangents_given(self.inputs, args[0]) if len(args) == 1 else tuple(args)
        _, along = directions(as_tuple(self.inputs), given, ctx.is_tensor)
        return self.linear.push(ctx, along)


@of_objects_compiled
def _linearize_in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    def bound(fn: Any, inputs: Any) -> Any:
        given = as_tuple(inputs)
        variables, _ = directions(given, given, ctx.is_tensor)
        called, operands, positions = variables.taken_apart(fn)
        linear = linearise(ctx, called, operands, {}, positions)
        linear.forward_link(ctx)
        return linear.result, _CompiledTangent(linear, inputs)

    return bound(*args, **kwargs)


def _jacobian_in_compiled_code(forward: bool) -> Callable[..., Any]:
    def graph_call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Jacobian:
        def bound(fn: Any, grad_position: Any = 0, has_aux: bool = False) -> Jacobian:
            return Jacobian(fn, grad_position, has_aux, forward)

        return bound(*args, **kwargs)

    return graph_call


def _gradient_in_compiled_code(ctx: Any, fn: Any, grad_position: Any) -> Any:
    return ctx.call(grad, [fn, grad_position], {})


def _hessian_in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Jacobian:
    def bound(fn: Any, grad_position: Any = 0) -> Jacobian:
        return Jacobian(_gradient_in_compiled_code(ctx, fn, grad_position), grad_position, False, True)

    return bound(*args, **kwargs)


@of_objects_compiled
def _hvp_in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    def bound(fn: Any, inputs: Any, v: Any) -> Any:
        given = as_tuple(inputs)
        gradient = _gradient_in_compiled_code(ctx, fn, tuple(range(len(given))))
        variables, along = directions(given, tangents_given(inputs, v), ctx.is_tensor)
        _, product = push_forward(ctx, *variables.taken_apart(gradient), along)
        return _in_form_of(inputs, product)

    return bound(*args, **kwargs)


jacrev.__graph_call__ = _jacobian_in_compiled_code(False)  # type: ignore[attr-defined]
jacfwd.__graph_call__ = _jacobian_in_compiled_code(True)  # type: ignore[attr-defined]
hessian.__graph_call__ = _hessian_in_compiled_code  # type: ignore[attr-defined]
hvp.__graph_call__ = _hvp_in_compiled_code  # type: ignore[attr-defined]
linearize.__graph_call__ = _linearize_in_compiled_code  # type: ignore[attr-defined]
