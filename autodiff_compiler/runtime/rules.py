"""Users' backward rules (`bprop`): how they are called, and checks of what they return, eager and compiled alike."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import BpropError, HookError
from ..source import Loc, line_of
from .tensor import wrap

__all__ = [
    "NOT_GIVEN",
    "about_rule",
    "bound",
    "check_shape",
    "cotangent_from",
    "entries",
    "keywords_of",
    "names_of",
    "not_a_gradient",
    "not_an_edit",
    "not_given",
    "of_leaves",
    "place_of",
]


class _NotGiven:
    def __repr__(self) -> str:
        return "not given"


#: The gradient of an argument for which a rule returns nothing.
NOT_GIVEN = _NotGiven()


def cotangent_from(given: Any) -> Any:
    """A cotangent from a user: arrays become Tensors, NumPy numbers Python's, everything else is returned as it is."""
    if isinstance(given, np.generic):
        return given.item()
    return wrap(np.array(given)) if isinstance(given, np.ndarray) else given


@contextmanager
def about_rule(rule: Any) -> Iterator[None]:
    """Within it errors about a user's rule get the rule's place."""
    try:
        yield
    except BpropError as error:
        error.at(place_of(rule))
        raise


def place_of(rule: Any) -> Loc | None:
    """The first line of a function; None if it has no source."""
    code = getattr(inspect.unwrap(getattr(rule, "__func__", rule)), "__code__", None)
    if code is None:
        return None
    file, line = code.co_filename, code.co_firstlineno
    text = line_of(file, line)
    return Loc(file, line, len(text) - len(text.lstrip()), line, len(text.rstrip()), code.co_qualname)


def entries(what: str, given: Any, names: Sequence[str]) -> list[Any]:
    """One entry for each parameter: None for zero; a value alone is for the first, the others are `NOT_GIVEN`.

    BpropError (AC1703): a tuple that is too short, or None for several.  What is beyond the parameters is ignored.
    """
    if given is None and len(names) > 1:
        raise BpropError(
            f"{what} returns None for {len(names)} inputs: is a `return` missing?",
            code="AC1703",
            hint=f"return a tuple with one entry for each of {_listed(names)}, None for zero",
        )
    if not isinstance(given, tuple | list):
        return [given, *[NOT_GIVEN] * (len(names) - 1)][: len(names)]
    if len(given) < len(names):
        raise BpropError(
            f"{what} returns {len(given)} gradients for {len(names)} inputs",
            code="AC1703",
            hint=f"return a tuple with one entry for each of {_listed(names)}, None for zero",
        )
    return list(given[: len(names)])


def not_given(what: str, names: Sequence[str]) -> BpropError:
    """The error for a gradient that is `NOT_GIVEN`."""
    return BpropError(
        f"{what} returns one value, which is the gradient of '{names[0]}', and that of another input is asked for",
        code="AC1703",
        hint=f"return a tuple with one entry for each of {_listed(names)}, None for zero",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{n}'" for n in names)


def of_leaves(
    what: str, x: Any, entry: Any, parts: Callable[[Any], Any], is_variable: Callable[[Any], bool]
) -> Iterator[tuple[Any, Any]]:
    """Every variable in an argument with its entry; BpropError (AC1704) if the structures differ."""
    if is_variable(x):
        yield x, entry
        return
    items = parts(x)
    if items is None:
        return
    inner = [entry] * len(items) if entry is None or entry is NOT_GIVEN else parts(entry)
    if inner is None or len(inner) != len(items):
        kind = "one value" if inner is None else f"{len(inner)} values"
        raise BpropError(
            f"{what} returns {kind} for an input that is a {type(x).__name__} of {len(items)}",
            code="AC1704",
            hint="return a gradient of the structure of the input, None for zero",
        )
    for item, e in zip(items, inner, strict=True):
        yield from of_leaves(what, item, e, parts, is_variable)


def not_a_gradient(what: str, code: str, found: Any, of: str = "") -> BpropError | HookError:
    """The error for an entry that is neither a Tensor nor a number nor None; `of`: the input that it belongs to."""
    shown = f" {found!r}" if isinstance(found, str) else f" of {len(found)}" if isinstance(found, list | tuple) else ""
    kind = type(found).__name__.removeprefix("Local").lower()
    whose = f"the gradient of '{of}'" if of else "a gradient"
    return (HookError if code == "AC1707" else BpropError)(
        f"{what} returns a {kind}{shown} as {whose}", code=code, hint="return Tensors, numbers or None"
    )


def not_an_edit(what: str, code: str, found: Any) -> BpropError:
    """The error for a rule that returns neither a Tensor nor a number."""
    kind = "None" if found is None else f"a {type(found).__name__}"
    return BpropError(
        f"{what} returns {kind}", code=code, hint="return the gradient that is to go on: a Tensor or a number"
    )


def check_shape(what: str, code: str, wanted: Sequence[Any], found: Sequence[Any], of: str = "") -> None:
    """BpropError (HookError for AC1707) if a gradient has another shape than what it is the gradient of."""
    if tuple(found) != tuple(wanted):
        whose = f"for '{of}' " if of else ""
        raise (HookError if code == "AC1707" else BpropError)(
            f"{what} returns {whose}a gradient of shape {list(found)}, where the shape {list(wanted)} is needed",
            code=code,
            hint="return a gradient of that shape, a Python number, or None for zero"
            if code == "AC1704"
            else "return a gradient of the shape that came in, or a Python number",
        )


# ---------------------------------------------------------------------------------------------------- the call
def bound(
    construct: Any, bprop: Any, what: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], list[str], BpropError | None]:
    """What a call binds the parameters of a method to, in order, defaults included, and the names of the parameters.

    Also the error (AC1702), for when a derivative is asked for, if `bprop` does not take these and ``out, dout``.
    """
    found = _signature(construct).bind(*args, **kwargs)
    found.apply_defaults()
    values: list[Any] = []
    names: list[str] = []
    for name, value in found.arguments.items():
        kind = found.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            values += value
            names += [f"{name}[{i}]" for i in range(len(value))]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            values += value.values()
            names += value
        else:
            values.append(value)
            names.append(name)
    return values, names, _misfit(construct, bprop, what, names)


def names_of(function: Any, count: int) -> list[str]:
    """The names of a function's arguments in error messages, also if it has no signature."""
    try:
        found = bound(function, function, "", (None,) * count, {})[1]
    except (TypeError, ValueError):
        found = []
    return found if len(found) == count else [f"argument {i}" for i in range(count)]


def keywords_of(construct: Any, names: Sequence[str]) -> Sequence[str]:
    """The keyword-only ones of the parameters that `bound` gave, which are the last."""
    parameters = _signature(construct).parameters
    given = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = {n for n, p in parameters.items() if p.kind in given}
    return [n for n in names if n not in positional and not n.endswith("]")]


def _misfit(construct: Any, bprop: Any, what: str, names: Sequence[str]) -> BpropError | None:
    taken = _signature(bprop)
    try:
        taken.bind(*names, None, None)
    except TypeError:
        count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in taken.parameters.values())
        rule, function = (getattr(f, "__name__", type(f).__name__) for f in (bprop, construct))
        told = "it takes another number of arguments"
        if rule == "bprop":  # in MindSpore's words
            told = (
                f"Size of bprop func inputs[{max(count - 2, 0)}] is not equal to the size of cell inputs[{len(names)}]"
            )
        return BpropError(
            f"{what} does not fit: {told}: `{rule}{taken}` for `{function}{_signature(construct)}`",
            hint=f"write `{_head(bprop, rule, names)}`",
            loc=place_of(bprop),
        )
    return None


def _head(bprop: Any, name: str, names: Sequence[str]) -> str:
    """The first line of a rule that takes these inputs; one of `*args` becomes `args_0`."""
    first = ["self"] if hasattr(bprop, "__func__") else []
    taken = ", ".join([*first, *(n.replace("[", "_").removesuffix("]") for n in names), "out", "dout"])
    return f"def {name}({taken})" if name.isidentifier() else f"lambda {taken}: ..."


def _signature(method: Any) -> inspect.Signature:
    function = getattr(method, "__func__", None)
    if function is None:
        return inspect.signature(method)
    return _signature_of_method(function)


@functools.lru_cache(256)
def _signature_of_method(function: Any) -> inspect.Signature:
    whole = inspect.signature(function)
    return whole.replace(parameters=list(whole.parameters.values())[1:])


def only_in_reverse(instead: str, loc: Loc | None) -> BpropError:
    """The error where forward mode asks for a rule of this package's that it cannot transpose."""
    return BpropError("this has derivatives in reverse mode only", code="AC1705", loc=loc, hint=instead)
