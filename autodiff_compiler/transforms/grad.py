"""`grad`, `value_and_grad`, `GradOperation`: derivatives with MindSpore's arguments, in eager and in compiled code."""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Never

import numpy as np

from ..compiler.call_key import Identity
from ..compiler.fastcall.eligible import takes_fast_path
from ..config import GRAPH_MODE, compiles, context
from ..eager.grad import differentiate
from ..eager.recorded_call import taken
from ..errors import leave_user_frames
from ..frontend.derivatives.cell_calls import go_back
from ..frontend.derivatives.grad import differentiate as differentiate_in_graph
from ..frontend.variables.structure import arrays_as_tensors, with_parameters
from ..frontend.variables.values import LocalDict
from ..keywords import answering, refuse_unknown
from ..runtime.parameter import Parameter
from ..runtime.rules import cotangent_from
from ..runtime.tensor import Tensor, wrap
from ..source import Loc
from .compiled_form import HasCompiledForm
from .inputs import Inputs, flag, holds_variables, is_one_of_all, no_variable, with_keywords
from .jit import JitFunction, jit
from .memo import fast_memo, memoised
from .parts import Call, OfParts, at_positions, caller, cotangents_in, eagerly, is_tensor, made_again, of_parts

__all__ = ["GradOperation", "Gradient", "get_grad", "grad", "value_and_grad"]


def positions_of(grad_position: Any) -> tuple[int, ...] | None:
    """A checked `grad_position`: None, or numbers of parameters."""
    if grad_position is None:
        return None
    if isinstance(grad_position, bool) or not isinstance(grad_position, int | tuple):
        raise TypeError(f"grad_position must be an int, a tuple of ints or None, not {type(grad_position).__name__}")
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for p in positions:
        if isinstance(p, bool) or not isinstance(p, int):
            raise TypeError(f"grad_position must hold ints, not {type(p).__name__}")
        if operator.index(p) < 0:
            raise ValueError(f"grad_position must not be negative, got {p}")
    if len(set(positions)) != len(positions):
        raise ValueError(f"grad_position {positions} names one position twice: a duplicate")
    return positions


def weights_of(weights: Any) -> tuple[Parameter, ...] | None:
    """Checked `weights`: None, or the Parameters in a tuple; those of dicts are their values."""
    if weights is None:
        return None
    as_given = isinstance(weights, Parameter | Mapping | list | tuple) or not isinstance(weights, Iterable)
    several = weights if as_given else tuple(weights)
    items = tuple(_each(several))
    for w in items:
        if not isinstance(w, Parameter):
            raise TypeError(
                f"weights must be Parameters, not {type(w).__name__}; those of a network: trainable_params()"
            )
    if len(set(map(id, items))) != len(items):
        twice = next(w for i, w in enumerate(items) if any(w is other for other in items[:i]))
        raise ValueError(f"weights has the Parameter {twice.name!r} twice: a duplicate; name it once")
    return items


def _each(weights: Any) -> Iterator[Any]:
    if isinstance(weights, Mapping | list | tuple):
        for w in weights.values() if isinstance(weights, Mapping) else weights:
            yield from _each(w)
    else:
        yield weights


def in_form_of(weights: Any, gradients: Sequence[Any]) -> Any:
    """Gradients as the weights were given: bare for a single Parameter, by the names of dicts, else in tuples."""
    if not isinstance(weights, Parameter | Mapping | list | tuple):
        return tuple(gradients)
    return _filled(weights, iter(gradients))


def _filled(weights: Any, gradients: Iterator[Any]) -> Any:
    if isinstance(weights, Mapping):
        found = {name: _filled(w, gradients) for name, w in weights.items()}
        return LocalDict(found) if isinstance(weights, LocalDict) else found
    if isinstance(weights, list | tuple):
        return tuple([_filled(w, gradients) for w in weights])
    return next(gradients)


def _form_of_weights(weights: Any) -> Any:
    """What `in_form_of` asks of weights, to be compared."""
    if isinstance(weights, Mapping):
        return tuple([(name, _form_of_weights(w)) for name, w in weights.items()])
    if isinstance(weights, list | tuple) and not all(isinstance(w, Parameter) for w in weights):
        return (tuple, *map(_form_of_weights, weights))
    return None if weights is None or isinstance(weights, Parameter) else tuple


class Gradient(HasCompiledForm):
    """The derivative of a function, as a function of the same arguments.

    `positions` None means all Tensor arguments (`GradOperation(get_all=True)`).  `shape` puts the gradients of inputs
    and weights together; with `ids` each comes as a pair with its position or its Parameter's name.  `weights` can be a
    method of a Cell that gives them at each call.
    """

    def __init__(
        self,
        fn: Any,
        positions: tuple[int, ...] | None,
        weights: tuple[Parameter, ...] | Callable[[], Sequence[Parameter]] | None,
        shape: Callable[[list[Any], list[Any]], Any],
        *,
        has_aux: bool = False,
        with_value: bool = False,
        sens: bool = False,
        by_all: bool = False,
        ids: bool = False,
        key: tuple[Any, ...] = (),
    ) -> None:
        self.fn, self.positions, self.weights, self.shape = fn, positions, weights, shape
        self.has_aux, self.with_value, self.sens, self.by_all, self.ids = has_aux, with_value, sens, by_all, ids
        self.__name__ = f"grad_{getattr(fn, '__name__', type(fn).__name__)}".replace("<lambda>", "lambda")
        self._jit: JitFunction | None = None
        #: what makes this derivative of `fn` equal to another one, if there may be others
        self._key = key

    #: the attributes that decide over its compiled form
    __compiled_from__ = (
        *("fn", "positions", "weights", "shape", "has_aux", "with_value", "sens", "by_all", "ids", "__name__"),
    )

    # ------------------------------------------------------------------------------------------- calling
    #: the fast path into the compiled form, as long as calls may take it
    _fast: Any = None

    @takes_fast_path
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            fast = self._fast
            if fast is not None:  # in GRAPH_MODE only
                return fast(*args, **kwargs) if kwargs else fast(*args)
            return self._call(*args, **kwargs)
        except BaseException as error:
            leave_user_frames(error)
            raise

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if (by_parts := self._by_parts(args, kwargs, is_tensor)) is not None:
            form, parts, named = by_parts
            return made_again(form(*parts, **named))
        if compiles():
            return self._as_compiled()(*args, **kwargs)
        args, sens = self._split(args, kwargs)
        args = self._by_position(args, kwargs)
        args = tuple(wrap(np.asarray(a)) if isinstance(a, np.ndarray) else a for a in args)
        inputs = self._inputs(args, is_tensor)

        def run(*aliases: Tensor) -> Any:
            return self.fn(*inputs.arguments(aliases), **kwargs)

        main = main_of if self.has_aux else None
        weights = (self.weights() if callable(self.weights) else self.weights) or ()
        recorded = taken(self.fn, args, kwargs)
        found = None if recorded is None else recorded.pull(inputs.tensors, weights, self._seeds(sens), main)
        if recorded is not None and found is not None:
            return self._result(recorded.outputs, inputs.by_position(found[0]), found[1], lambda w: w.name)
        outputs, grads, of_weights = differentiate(run, inputs.tensors, weights, self._seeds(sens), main)
        return self._result(outputs, inputs.by_position(grads), of_weights, lambda w: w.name)

    def _taken_apart(
        self, args: Sequence[Any], kwargs: dict[str, Any], call: Call, tensor: Callable[[Any], bool]
    ) -> tuple[list[Any], dict[str, Any]] | None:
        """The arguments with objects taken apart, where it is differentiated by some or these are the sensitivity."""
        if self.by_all or not self.positions:
            return None
        named, positions = dict(kwargs), self.positions or ()
        given = list(with_keywords(self.fn, args, named, positions))
        parts = at_positions(given, positions, call, tensor)
        made = given if parts is None else parts
        sens = named.get("sens", made[-1] if made else None) if self.sens else None
        seeds = cotangents_in(sens, call, tensor)
        if parts is None and seeds is sens:
            return None
        if "sens" in named:
            named["sens"] = seeds
        elif self.sens and made:
            made[-1] = seeds
        return made, named

    def _on(self, fn: Any) -> Gradient:
        """The same derivative of another function."""
        how = {"has_aux": self.has_aux, "with_value": self.with_value, "sens": self.sens, "ids": self.ids}
        return Gradient(fn, self.positions, self.weights, self.shape, **how, key=self._key)

    def _by_parts(self, args: Sequence[Any], kwargs: dict[str, Any], tensor: Any) -> tuple[Any, list[Any], dict] | None:
        apart = self._taken_apart(args, kwargs, eagerly, tensor)
        if apart is None:
            return None
        fn = of_parts(self.fn)
        form: Gradient = memoised(fn, self._key, lambda: self._on(fn)) if self._key else self._on(fn)
        return form, *apart

    def _as_compiled(self) -> JitFunction:
        if self._jit is None:
            self._jit = memoised(self.fn, ("jit", *self._key), lambda: jit(self)) if self._key else jit(self)
            if self._jit._fn is self:
                self._jit._front = self
        return self._jit

    def compiled(self) -> JitFunction:
        """The compiled form of this derivative."""
        return self._as_compiled()

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        kwargs = dict(kwargs)
        apart = self._taken_apart(args, kwargs, call := caller(ctx), ctx.is_tensor)
        if apart is not None:
            return made_again(self._on(OfParts(self.fn)).__graph_call__(ctx, *apart), call)
        given, sens = self._split(tuple(args), kwargs)
        given = self._by_position(given, kwargs)
        inputs = self._inputs(given, ctx.is_tensor, ctx.report.called_from if ctx.here is None else ctx.here.of_user())
        select = (lambda result: main_of(result)) if self.has_aux else None
        fn, operands, positions = inputs.taken_apart(self.fn)
        go_back(ctx, self.fn, given, kwargs)
        weights = with_parameters(ctx.call(self.weights, [], {})) if callable(self.weights) else self.weights
        outputs, grads, weight_grads = differentiate_in_graph(
            ctx, fn, arrays_as_tensors(operands), kwargs, positions, weights or (), select, sens
        )

        def name(w: Parameter) -> str:
            return str(ctx.outside.property(w, "name", "the name of a Parameter", lambda: w.name))

        return self._result(outputs, inputs.by_position(grads), weight_grads, name)

    # ------------------------------------------------------------------------------------------- parts
    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        if not self.sens:
            return args, None
        if "sens" in kwargs:
            return args, kwargs.pop("sens")
        if not args:
            raise TypeError("with sens_param the last argument is the sensitivity, none was given")
        if not kwargs:
            self._check_sensitivity(len(args))
        return args[:-1], args[-1]

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The positional arguments, with those by keyword that may be what the derivative is taken by."""
        if not kwargs:
            return args
        asked = range(len(args) + len(kwargs)) if self.by_all else self.positions or ()
        return tuple(with_keywords(self.fn, args, kwargs, asked))

    def _check_sensitivity(self, count: int) -> None:
        """TypeError if so many arguments are just those of the function."""
        function = getattr(self.fn, "construct", self.fn)
        if not isinstance(function, types.FunctionType | types.MethodType):
            return
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
        if count == len(parameters) and all(p.default is p.empty and p.kind < p.VAR_POSITIONAL for p in parameters):
            raise TypeError(
                "with sens_param the last argument is the sensitivity, none was given: "
                f"the function alone takes {count}"
            )

    def _inputs(self, args: tuple[Any, ...], is_tensor: Callable[[Any], bool], place: Loc | None = None) -> Inputs:
        """What to differentiate by; `place` is the user's line, where it is not the one that is running."""
        if self.by_all:
            return Inputs(args, [i for i, x in enumerate(args) if is_one_of_all(x, is_tensor)], is_tensor)
        positions = self.positions or ()
        chosen = []
        for p in positions:
            if p >= len(args):
                raise ValueError(f"grad_position {p} does not exist: {len(args)} positional arguments were given")
            if holds_variables(args[p], is_tensor):
                chosen.append(p)
            elif len(positions) == 1 and not self.weights:
                raise no_variable(self.fn, p, args[p], place)
        return Inputs(args, chosen, is_tensor)

    @staticmethod
    def _seeds(sens: Any) -> list[Any] | None:
        """Cotangents of the output Tensors: the given ones, or None for ones everywhere."""
        return None if sens is None else list(cotangents_of(sens))

    def _result(
        self, outputs: Any, by_position: dict[int, Any], weight_grads: Sequence[Any], name: Callable[[Parameter], str]
    ) -> Any:
        if self.by_all:
            inputs = list(by_position.values())
        else:
            inputs = [by_position.get(p, ()) for p in self.positions or ()]
        of_weights = list(weight_grads)
        if self.ids:
            inputs = list(zip(self.positions or (), inputs, strict=True))
            weights = () if callable(self.weights) else self.weights or ()
            of_weights = [(name(w), g) for w, g in zip(weights, of_weights, strict=True)]
        gradients = self.shape(inputs, of_weights)
        if self.with_value:
            return outputs, gradients
        if self.has_aux:
            return gradients, tuple(outputs[1:])
        return gradients


def cotangents_of(tree: Any) -> Iterator[Any]:
    """Given cotangents in order: Tensors (made of ndarrays too), numbers, and what else stands between them."""
    if isinstance(tree, tuple | list):
        for item in tree:
            yield from cotangents_of(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from cotangents_of(item)
    else:
        yield cotangent_from(tree)


def main_of(outputs: Any) -> Any:
    """The differentiated one of several outputs; ValueError if there are no auxiliary ones beside it."""
    if not isinstance(outputs, tuple) or len(outputs) < 2:
        raise ValueError("with has_aux the function must return at least two values: the first is differentiated")
    return outputs[0]


def _structure(grad_position: Any, weights: Any) -> Callable[[list[Any], list[Any]], Any]:
    """How MindSpore puts gradients together: bare for an int position and a single Parameter, tuples otherwise."""

    def of_inputs(grads: list[Any]) -> Any:
        # MindSpore 2.10: `grad(f, (0,))` gives the gradient bare, like `grad(f, 0)`.
        return grads[0] if len(grads) == 1 else tuple(grads)

    if weights is None:
        return lambda inputs, w: of_inputs(inputs)
    if grad_position is None:
        return lambda inputs, w: in_form_of(weights, w)
    return lambda inputs, w: (of_inputs(inputs), in_form_of(weights, w))


def _gradient(
    fn: Any,
    grad_position: Any,
    weights: Any,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    *,
    with_value: bool,
    cached: bool = True,
) -> Gradient:
    usual = (
        cached
        and weights is None
        and type(grad_position) is int
        and has_aux is return_ids is sens_param is False
        and context.mode == GRAPH_MODE
    )
    if usual and (short := fast_memo(fn)) is not None and (grad_position, with_value) in short:
        found: Gradient = short[grad_position, with_value]
        return found
    made = _new_gradient(
        fn, grad_position, weights, has_aux, return_ids, sens_param, with_value=with_value, cached=cached
    )
    if usual and (short := fast_memo(fn)) is not None:
        short[grad_position, with_value] = made
    return made


def _new_gradient(
    fn: Any,
    grad_position: Any,
    weights: Any,
    has_aux: bool,
    return_ids: bool,
    sens_param: bool,
    *,
    with_value: bool,
    cached: bool,
) -> Gradient:
    positions, chosen = positions_of(grad_position), weights_of(weights)
    if positions is None and chosen is None:
        raise ValueError(
            "`grad_position` and `weight` can not be None at the same time: there would be nothing to differentiate by"
        )
    if not callable(fn):
        raise TypeError(f"the function to differentiate must be callable, not a {type(fn).__name__}")
    flag("has_aux", has_aux), flag("return_ids", return_ids), flag("sens_param", sens_param)

    same_weights = None if chosen is None else tuple(map(Identity, chosen))
    how = {"has_aux": has_aux, "with_value": with_value, "sens": sens_param, "ids": return_ids}
    key = ("grad", grad_position, same_weights, _form_of_weights(weights), *how.values())

    def make() -> Gradient:
        shape = _structure(grad_position, weights)
        return Gradient(fn, positions, chosen, shape, **how, key=key if cached else ())

    if not cached or context.mode != GRAPH_MODE:  # eager code has nothing to find again
        return make()
    return memoised(fn, key, make)


@answering
def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    **unknown: Never,
) -> Gradient:
    """The derivative of `fn` by its arguments at `grad_position` and by the Parameters in `weights`.

    The result takes the arguments of `fn`, by position or by keyword.  It returns a Tensor for an int position, a tuple
    for several; with `weights` a pair of both (only the weights' for ``grad_position=None``); weights in a dict, as
    `parameters_dict` gives them, have gradients in a dict, and those of several networks in one of dicts.  Several
    outputs are summed; with `has_aux` only the first is differentiated and the others are returned beside the gradient.
    With `return_ids` every gradient is a pair with its position or with the name of its Parameter, for `get_grad`.
    With `sens_param` the last argument of the call, or the keyword `sens`, is the cotangent of the output (a tuple for
    several outputs).

    Integer Tensors are variables, too: their gradients are integers, by the same rules; what an integer cannot hold of
    a float is cut off.

    ValueError: neither positions nor weights, negative or repeated positions, a repeated weight.  TypeError: flags that
    are no bools.  GradientError: an argument that holds no Tensor.

    >>> from autodiff_compiler import Tensor
    >>> grad(lambda x: x * x)(Tensor([3.0])).tolist(), grad(lambda x: x * x)(Tensor(3)).item()
    ([6.0], 6)
    """
    if unknown:
        refuse_unknown(grad, unknown)
    return _gradient(fn, grad_position, weights, has_aux, return_ids, sens_param, with_value=False)


@answering
def value_and_grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    **unknown: Never,
) -> Gradient:
    """Like `grad`, returning ``(fn(...), gradient)``; the function runs once.

    `grad_position`, `weights`, `has_aux`, `return_ids`, `sens_param` and the errors are those of `grad`.

    >>> from autodiff_compiler import Tensor
    >>> y, g = value_and_grad(lambda x: x * x)(Tensor([3.0]))
    >>> y.tolist(), g.tolist()
    ([9.0], [6.0])
    """
    if unknown:
        refuse_unknown(value_and_grad, unknown)
    return _gradient(fn, grad_position, weights, has_aux, return_ids, sens_param, with_value=True)


def get_grad(gradients: Any, identifier: int | Parameter) -> Any:
    """The gradient of one input or Parameter, out of what a derivative with ``return_ids=True`` returned.

    `identifier` is the position of the input, or the Parameter.  TypeError: it is neither.  ValueError: there is no
    such gradient, or there are several, as Parameters have the same name.

    >>> from autodiff_compiler import Tensor
    >>> found = grad(lambda x, y: x * y, (0, 1), return_ids=True)(Tensor(2.0), Tensor(3.0))
    >>> get_grad(found, 1).item()
    2.0
    """
    if isinstance(identifier, bool) or not isinstance(identifier, int | Parameter):
        raise TypeError(f"the identifier of a gradient is a position or a Parameter, not a {type(identifier).__name__}")
    return _labelled(gradients, identifier.name if isinstance(identifier, Parameter) else identifier)


def _labelled(gradients: Any, label: int | str) -> Any:
    found = [g for name, g in _pairs(gradients) if name == label and type(name) is type(label)]
    if not found:
        raise ValueError(
            f"get_grad() finds no gradient for the identifier {label!r}: was it made with return_ids=True?"
        )
    if len(found) > 1:
        raise ValueError(f"get_grad() finds {len(found)} gradients labelled {label!r}: take yours by its place")
    return found[0]


def _pairs(gradients: Any) -> Iterator[tuple[int | str, Any]]:
    if not isinstance(gradients, tuple | list):
        return
    if len(gradients) == 2 and isinstance(gradients[0], int | str):
        yield gradients[0], gradients[1]
        return
    for part in gradients:
        yield from _pairs(part)


def _get_grad_in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    bound = inspect.signature(get_grad).bind(*args, **kwargs).arguments
    identifier = with_parameters(bound["identifier"])
    if isinstance(identifier, Parameter):
        w = identifier
        return _labelled(
            bound["gradients"], str(ctx.outside.property(w, "name", "the name of a Parameter", lambda: w.name))
        )
    return get_grad(bound["gradients"], identifier)


get_grad.__graph_call__ = _get_grad_in_compiled_code  # type: ignore[attr-defined]


def _in_compiled_code(public: Callable[..., Any], with_value: bool) -> Callable[..., Gradient]:
    """How compiled code runs `grad` and `value_and_grad`: its functions live as long as the compilation."""

    def graph_call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Gradient:
        bound = signature.bind(*with_parameters(args), **with_parameters(kwargs))
        bound.apply_defaults()
        return _gradient(*bound.arguments.values(), with_value=with_value, cached=False)

    signature = inspect.signature(public)
    return graph_call


grad.__graph_call__ = _in_compiled_code(grad, False)  # type: ignore[attr-defined]
value_and_grad.__graph_call__ = _in_compiled_code(value_and_grad, True)  # type: ignore[attr-defined]


class GradOperation:
    """MindSpore's older form of `grad`: ``GradOperation(get_all=True)(fn)(x, y)``.

    `get_all`: by all Tensor arguments (a tuple) instead of the first; `get_by_list`: by Parameters, given to the second
    call, or those of a Cell that are trained; `sens_param`: the last argument of the third call is the cotangent of the
    output.  TypeError: flags that are no bools.  ValueError: `get_by_list` for a function without Parameters.

    >>> from autodiff_compiler import Tensor
    >>> dx, dy = GradOperation(get_all=True)(lambda x, y: x * y)(Tensor(2.0), Tensor(3.0))
    >>> dx.item(), dy.item()
    (3.0, 2.0)
    """

    #: Whether the results are pairs of what the function returns and its gradient.
    _with_value = False

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False) -> None:
        self.get_all, self.get_by_list = flag("get_all", get_all), flag("get_by_list", get_by_list)
        self.sens_param = flag("sens_param", sens_param)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Gradient:
        return self._of(*with_parameters(args), **with_parameters(kwargs))

    def __call__(self, fn: Any, weights: Any = None) -> Gradient:
        if context.mode != GRAPH_MODE or not callable(fn):
            return self._of(fn, weights)
        same_weights = tuple(map(Identity, weights_of(weights) or ()))
        how = (type(self), self.get_all, self.get_by_list, self.sens_param, _form_of_weights(weights))
        return memoised(fn, (*how, same_weights), lambda: self._of(fn, weights))

    def _of(self, fn: Any, weights: Any = None) -> Gradient:
        chosen: Any = weights_of(weights) if self.get_by_list else None
        if self.get_by_list and weights is None:
            chosen = getattr(fn, "trainable_params", None)
            if chosen is None:
                raise ValueError("get_by_list needs the Parameters as second argument, or a Cell as first")
        positions = () if self.get_by_list and not self.get_all else (0,)

        def shape(inputs: list[Any], weight_grads: list[Any]) -> Any:
            of_inputs = tuple(inputs) if self.get_all else (inputs[0] if inputs else ())
            if not self.get_by_list:
                return of_inputs
            of_weights = in_form_of(weights, weight_grads)
            return (of_inputs, of_weights) if self.get_all else of_weights

        value, sens = self._with_value, self.sens_param
        return Gradient(fn, positions, chosen, shape, with_value=value, sens=sens, by_all=self.get_all)
