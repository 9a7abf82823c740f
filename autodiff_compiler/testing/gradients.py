"""`gradcheck` and `check_bprop`: gradients compared with numerical ones, per mode, input and element."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import CompileError
from ..nn.cell import Cell
from ..ops.primitive import Primitive
from ..runtime.host import name_of
from ..runtime.mutable import Mutable
from ..runtime.parameter import Parameter
from ..runtime.tensor import Array, Tensor
from ..runtime.trees import leaves, replaced
from ..transforms.custom import custom_vjp
from ..transforms.grad import grad, weights_of
from ..transforms.vjp import vjp
from .modes import MODES, Beginning, in_mode, with_tensors
from .numerical import floats_of, numerical_gradient, step_for, weights_for

__all__ = [
    "GradientMismatch",
    "MeasuredGradient",
    "NothingToCheck",
    "check_bprop",
    "gradcheck",
    "gradient_errors",
    "is_variable",
]


class GradientMismatch(AssertionError):
    """A gradient differs from the numerical one: by which `input`, at which element (`index`), by how much."""

    def __init__(self, message: str, input: str, index: tuple[int, ...], difference: float) -> None:
        super().__init__(message)
        self.input, self.index, self.difference = input, index, difference


class NothingToCheck(ValueError):
    """The function has no gradient that could be compared with a numerical one."""


@dataclass(frozen=True)
class MeasuredGradient:
    """The gradient by one input in one mode beside the numerical one, at the element where they differ most.

    `input` is the name of an argument, or of a Parameter.  `wrong` of `checked` elements differ by more than is
    allowed; here `allowed` is.
    """

    order: int
    input: str
    mode: str
    index: tuple[int, ...]
    found: float
    wanted: float
    allowed: float
    checked: int
    wrong: int

    @property
    def difference(self) -> float:
        """By how much they differ there."""
        return 0.0 if _both_nan(self.found, self.wanted) else self.found - self.wanted


def gradcheck(
    fn: Callable[..., Any],
    args: Any,
    *,
    eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    order: int = 1,
    weights: Any = None,
) -> bool:
    """Whether the gradients of ``fn(*args)`` by every float Tensor among the arguments are those of its values.

    Those by the Parameters in `weights` (as `grad` takes them), too; without any they are not checked.  Checked in
    eager and in compiled mode, against five-point differences of a fixed weighted sum of the float outputs, at up to 64
    elements of each input; Tensors in `mutable` containers are inputs, too.  Parameters that `fn` assigns get their
    values back after every call, and each call draws the same random numbers.  ``order=2`` checks the gradients of the
    first gradient, too.  `args` is a tuple or list of arguments, or one Tensor.  Steps and tolerances follow the dtypes
    of the inputs and of what `fn` returns: float64 makes a sharp check (about seven digits), float32 a rough one (about
    two); `eps`, `rtol` and `atol` replace them: the step, and the error that is allowed relative to the gradient and
    beside that.  Differences of float16 and bfloat16 are too coarse to check anything.

    Returns True.  GradientMismatch: the worst element of the first input that differs.  ValueError: nothing to check,
    inputs of float16 or bfloat16, or a function that gives other results when it is called again.

    >>> from autodiff_compiler import Tensor, float64, nn, ops
    >>> gradcheck(lambda x: x * ops.sin(x), Tensor([0.5, 2.0], float64), order=2)
    True
    >>> net = nn.Dense(2, 1)
    >>> gradcheck(net, Tensor([[0.5, 2.0]]), weights=net.trainable_params())
    True
    """
    for check in _orders(fn, args, weights, eps, rtol, atol, order):
        check.run()
    return True


def gradient_errors(
    fn: Callable[..., Any],
    args: Any,
    *,
    eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    order: int = 1,
    weights: Any = None,
) -> list[MeasuredGradient]:
    """What `gradcheck` compares, measured: for every order, input and mode the element that differs most.

    Arguments and errors are those of `gradcheck`, but that a difference is no error here.

    >>> from autodiff_compiler import Tensor, float64
    >>> [(m.mode, m.input, m.wrong) for m in gradient_errors(lambda x: x * x, Tensor([0.5, 2.0], float64))]
    [('eager', 'x', 0), ('graph O0', 'x', 0), ('graph O2', 'x', 0)]
    """
    found = []
    for number, check in enumerate(_orders(fn, args, weights, eps, rtol, atol, order), 1):
        for _, measured, _ in check.measured():
            found.append(replace(measured, order=number))
    return found


def check_bprop(
    fn: Any, args: Any, *, eps: float | None = None, rtol: float | None = None, atol: float | None = None
) -> bool:
    """Whether the `bprop` of a Cell is the derivative of what it computes.

    Or the rule of a `custom_vjp` function, or what the `get_bprop` of a `Primitive` returns.  The custom gradients are
    compared with numerical ones, in eager and in compiled mode.  Where they differ, the message also shows what
    automatic differentiation of the same code gives, and where the rule stands.  TypeError: there is no such rule;
    otherwise as `gradcheck`.

    >>> from autodiff_compiler import Tensor, float64, nn
    >>> class Square(nn.Cell):
    ...     def construct(self, x):
    ...         return x * x
    ...     def bprop(self, x, out, dout):
    ...         return (2 * x * dout,)
    >>> check_bprop(Square(), Tensor([3.0], float64))
    True
    """
    if isinstance(fn, custom_vjp):
        rule, automatic = fn.bwd, fn.fn
    elif isinstance(fn, Cell):
        rule, automatic = type(fn).bprop, fn.construct
    elif isinstance(fn, Primitive) and (get := getattr(fn, "get_bprop", None)) is not None:
        rule, automatic = get(), None  # its `vm_impl` is no code that could be differentiated
    else:
        rule, automatic = None, None
    if rule is None:
        raise TypeError(
            f"{_named(fn)} has no derivative of its own: check_bprop() needs a `bprop`, `get_bprop` or `defbwd`"
        )
    given = list(args) if isinstance(args, tuple | list) else [args]
    check = _Check(fn, given, eps, rtol, atol)
    check.rule, check.automatic = rule, automatic
    check.run()
    return True


#: An argument, and the number of a Tensor in it.  The Parameters stand behind the arguments, as if in one more.
_Place = tuple[int, int]


def is_variable(x: Any) -> bool:
    """A float Tensor, or a container marked as `mutable` with one in it."""
    return isinstance(x, Tensor | Mutable) and any(t.dtype.is_float for t in leaves(x))


def _orders(
    fn: Any, args: Any, weights: Any, eps: float | None, rtol: float | None, atol: float | None, order: int
) -> Iterator[_Check]:
    """The checks of the first gradient, of the gradient of that, and so on."""
    given = list(args) if isinstance(args, tuple | list) else [args]
    check = _Check(fn, given, eps, rtol, atol, weights_of(weights) or ())
    for _ in range(order):
        yield check
        check.fn = _Gradients(check.fn, check.positions, check.parameters)


class _Check:
    """One comparison of the gradients of a function with numerical ones."""

    def __init__(
        self,
        fn: Any,
        args: list[Any],
        eps: float | None,
        rtol: float | None,
        atol: float | None,
        weights: Sequence[Parameter] = (),
    ) -> None:
        self.fn, self.args, self._eps, self._rtol, self._atol = fn, args, eps, rtol, atol
        self.positions = [i for i, x in enumerate(args) if is_variable(x)]
        self.parameters = tuple(w for w in weights if w.dtype.is_float)
        #: the float Tensors that are checked: each with the argument that holds it, and its number in there
        self._variables = {(p, k): x for p in self.positions for k, x in enumerate(leaves(args[p])) if x.dtype.is_float}
        self._variables |= {(len(args), k): w for k, w in enumerate(self.parameters)}
        self._beginning = Beginning(fn, *self.parameters)
        self._what, self._names = _named(fn), _parameters(fn)
        #: the float Tensors that the function returned
        self._outputs: list[Tensor] = []
        self.rule: Any = None
        self.automatic: Any = None
        if not self._variables:
            raise NothingToCheck(f"{self._what} is given no float Tensor: there is no gradient to check")
        coarse = [x.dtype for x in self._variables.values() if x.dtype.numpy.itemsize < 4]
        if coarse:
            raise NothingToCheck(
                f"{coarse[0]} is too coarse for numerical gradients: check {self._what} in float64, or in float32"
            )
        if not any(x.size for x in self._variables.values()):
            raise NothingToCheck(f"the float Tensors given to {self._what} have no elements: there is nothing to check")

    def run(self) -> None:
        """Raises GradientMismatch for the first input whose gradient is wrong in some mode."""
        for place, measured, weights in self.measured():
            if measured.wrong:
                raise self._mismatch(place, measured, weights)

    def measured(self) -> Iterator[tuple[_Place, MeasuredGradient, Sequence[Array]]]:
        """Every input in every mode, and the weights of the outputs."""
        outputs = self._called(self._copies())
        weights = weights_for(outputs)
        if not weights:
            raise NothingToCheck(f"{self._what} returns no float Tensor: there is no gradient to check")
        if not _alike(outputs, self._called(self._copies())):
            raise NothingToCheck(
                f"{self._what} gives other results when it is called again with the same arguments: it has no gradient "
                "to check; does it draw random numbers that are not ours, or count its calls?"
            )
        self._outputs = floats_of(outputs)
        numerical = {place: self._numerical(place, weights) for place in self._variables}
        for mode in MODES:
            with in_mode(mode):
                found = self._gradients(self.fn, weights)
            for place, wanted in numerical.items():
                yield place, self._compared(place, found[place], wanted, mode), weights

    def _copies(self) -> list[Any]:
        return [with_tensors(Tensor.copy, x) if isinstance(x, Tensor | Mutable) else x for x in self.args]

    def _called(self, args: Sequence[Any]) -> Any:
        """Calls the function, then restores the Parameters and the random number generators."""
        try:
            return replaced(self.fn(*args), Tensor.copy)
        finally:
            self._beginning.restore()

    def _numerical(self, place: _Place, weights: Sequence[Array]) -> dict[tuple[int, ...], float]:
        p, k = place
        if p == len(self.args):
            return self._by_parameter(place, weights)
        inside = list(leaves(self.args[p]))

        def of_tensors(*tensors: Tensor) -> Any:
            moved = {id(x): t for x, t in zip(inside, tensors, strict=True)}
            copies = self._copies()
            copies[p] = with_tensors(lambda x: moved[id(x)], self.args[p])
            return self._called(copies)

        return numerical_gradient(of_tensors, inside, k, weights, self._step(place))

    def _by_parameter(self, place: _Place, weights: Sequence[Array]) -> dict[tuple[int, ...], float]:
        parameter = self.parameters[place[1]]

        def of_value(value: Tensor) -> Any:
            given = self._copies()  # first: the Parameter may also be an argument, whose value must not change with it
            parameter.set_data(value)
            return self._called(given)

        start = Tensor(parameter.asnumpy().copy(), parameter.dtype)
        return numerical_gradient(of_value, [start], 0, weights, self._step(place))

    def _coarser(self, place: _Place) -> np.dtype[Any]:
        """The least precise dtype in differences by an input, which decides their rounding: its own or an output's."""
        dtypes = [x.dtype.numpy for x in (self._variables[place], *self._outputs)]
        return min((d for d in dtypes if d.itemsize >= 4), key=lambda d: d.itemsize)

    def _step(self, place: _Place) -> float:
        return step_for(self._coarser(place)) if self._eps is None else self._eps

    def _gradients(self, fn: Any, weights: Sequence[Array]) -> dict[_Place, Array]:
        outputs, pull = vjp(fn, *self._copies(), weights=self.parameters or None)
        of_floats = iter(weights)
        seeds = [
            Tensor(next(of_floats) if t.dtype.is_float else np.zeros_like(t.asnumpy()), t.dtype)
            for t in leaves(outputs)
        ]
        pulled = pull(*seeds)
        by_arguments, by_parameters = pulled if self.parameters else (pulled, ())
        found = [list(leaves(g)) for g in (*by_arguments, by_parameters)]
        self._beginning.restore()
        return {(p, k): np.broadcast_to(found[p][k].asnumpy(), x.shape) for (p, k), x in self._variables.items()}

    def _compared(self, place: _Place, found: Array, wanted: dict[Any, float], mode: str) -> MeasuredGradient:
        eps = float(np.finfo(self._coarser(place)).eps)
        rtol = 10 * eps**0.45 if self._rtol is None else self._rtol
        atol = 10 * eps**0.5 if self._atol is None else self._atol
        apart = {i: abs(float(found[i]) - w) - rtol * abs(w) for i, w in wanted.items()}
        apart = {i: d if np.isfinite(d) else np.inf for i, d in apart.items()}
        apart = {i: -np.inf if _both_nan(found[i], wanted[i]) else d for i, d in apart.items()}
        wrong = sum(d > atol for d in apart.values())
        index = max(apart, key=lambda i: apart[i], default=())
        there = wanted.get(index, 0.0)
        return MeasuredGradient(
            1, self._name(place), mode, index, float(found[index]) if apart else 0.0, there, atol + rtol * abs(there),
            len(wanted), wrong,
        )  # fmt: skip

    def _name(self, place: _Place) -> str:
        p, k = place
        if p == len(self.args):
            return self.parameters[k].name
        return self._names[p] if p < len(self._names) else f"input {p}"

    def _mismatch(self, place: _Place, measured: MeasuredGradient, weights: Sequence[Array]) -> GradientMismatch:
        m = measured
        message = (
            f"the gradient of {self._what} by '{m.input}' is wrong at element {list(m.index)}: "
            f"{'bprop' if self.rule else m.mode} gives {m.found:.6g}, numerically it is {m.wanted:.6g}\n"
            f"  difference {m.difference:.3g}; {m.wrong} of {m.checked} elements checked differ, in {m.mode} mode"
        )
        advice = self._advice(place, m.index, m.wanted, weights)
        return GradientMismatch(message + advice, m.input, m.index, m.difference)

    def _advice(self, place: _Place, index: tuple[int, ...], wanted: float, weights: Sequence[Array]) -> str:
        if self.rule is None:
            return ""
        code = getattr(self.rule, "__code__", None)
        rule = f"\n  the rule: {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
        if self.automatic is None:
            return rule
        try:
            with in_mode("eager"):
                own = float(self._gradients(self.automatic, weights)[place][index])
        except (CompileError, TypeError, ValueError) as error:
            return f"{rule}\n  automatic differentiation of the same code: {type(error).__name__}"
        return f"{rule}\n  automatic differentiation of the same code gives {own:.6g}"


class _Gradients:
    """The gradients of a function by what is checked, for the next order."""

    def __init__(self, fn: Any, positions: Sequence[int], weights: Sequence[Parameter]) -> None:
        self._gradient = grad(fn, tuple(positions) or None, tuple(weights) or None)
        self.__name__ = f"grad({_named(fn)})"

    def __call__(self, *args: Any) -> Any:
        return self._gradient(*args)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return ctx.call(self._gradient, args, kwargs)


#: The relative difference that rounding may cause, by the size of a float in bytes.
_ROUNDED = {2: 1e-2, 4: 1e-5, 8: 1e-12}


def _alike(first: Any, second: Any) -> bool:
    """Whether two calls gave the same floats, up to rounding of sums that threads split differently."""
    floats = floats_of(first), floats_of(second)
    if [t.shape for t in floats[0]] != [t.shape for t in floats[1]]:
        return False
    for pair in zip(*floats, strict=True):
        a, b = (t.asnumpy().astype(np.float64) for t in pair)
        limit = _ROUNDED[pair[0].dtype.itemsize]
        if not np.allclose(a, b, limit, limit, equal_nan=True):
            return False
    return True


def _both_nan(a: Any, b: float) -> bool:
    return bool(np.isnan(a) and np.isnan(b))


def _named(fn: Any) -> str:
    return getattr(fn, "__name__", None) or name_of(fn)


def _parameters(fn: Any) -> list[str]:
    called = fn.construct if isinstance(fn, Cell) else fn
    try:
        return list(inspect.signature(called).parameters)
    except (TypeError, ValueError):
        return []
