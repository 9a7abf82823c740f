"""Gradients against numerical ones, and eager against compiled mode: what `gradcheck` does.

The command loads this module when it runs: it loads the compiler.
"""

from __future__ import annotations

import dataclasses
import math
from argparse import Namespace
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from ..inspection.tabular import text_table
from ..runtime.mutable import Mutable, mutable
from ..runtime.tensor import Tensor
from ..runtime.trees import leaves, parts
from ..testing import MeasuredGradient, ModeMismatch, assert_modes_equal
from ..testing.gradients import NothingToCheck, gradient_errors, is_variable
from ..testing.modes import Beginning
from . import colour
from .command import Result, Usage
from .targets import asked_backend, function_of, name_in, trainable_of
from .values import random_values


def check_gradients(options: Namespace) -> Result:
    """What the command `gradcheck` finds."""
    if options.order < 1:
        raise Usage(f"--order must be at least 1, not {options.order}")
    given = random_values(options.args or "", options.seed, options.range)
    arguments = [_as_variable(x) for x in given]
    with asked_backend(options):
        fn = function_of(options, arguments)
        weights = _weights(fn, options)
        left_out = [*_left_out(arguments), *_other_parameters(fn, weights)]
        limits = {"rtol": options.rtol, "atol": options.atol}
        try:
            measured = gradient_errors(fn, arguments, eps=options.eps, order=options.order, weights=weights, **limits)
        except NothingToCheck as error:
            raise Usage("; ".join([str(error), *left_out])) from None
        apart = _apart(fn, arguments, weights, limits)
    failures = [text for m in measured if (text := _failure(m))]
    gradients = [_described(m) for m in measured]
    passed = not failures and apart is None
    lines = [
        _table(measured),
        "",
        *failures,
        apart or "results and gradients are equal in eager, graph O0 and graph O2",
    ]
    lines += [*left_out, "passed" if passed else "failed"]
    data = {"target": options.target, "passed": passed, "gradients": gradients, "modes_differ": apart}
    data["notes"] = left_out
    return Result("\n".join(lines), data, int(not passed), colour.verdict)


def _as_variable(x: Any) -> Any:
    """An argument as what has a gradient: a tuple, list or dict of Tensors is marked as `mutable`."""
    return mutable(x) if isinstance(x, tuple | list | dict) and _has_only_tensors(x) else x


def _has_only_tensors(x: Any) -> bool:
    inside = parts(x)
    return isinstance(x, Tensor) if inside is None else bool(inside) and all(map(_has_only_tensors, inside))


def _left_out(arguments: Sequence[Any]) -> list[str]:
    """Which Tensors of floats are not checked, and why."""
    notes = []
    for i, x in enumerate(arguments):
        floats = [t for t in leaves(x) if t.dtype.is_float]
        if floats and not isinstance(x, Tensor | Mutable):
            notes.append(f"not checked: the Tensors in argument {i}, which holds other values, too")
        elif any(not t.size for t in floats):
            notes.append(f"not checked: what has no elements in argument {i}")
    return notes


def _weights(fn: Any, options: Namespace) -> list[Any]:
    """The Parameters that ``--weights`` asks for."""
    if not options.weights:
        return []
    trainable = trainable_of(fn)
    if trainable is None:
        raise Usage(f"--weights needs a Cell, which {options.target} is not")
    found = _with_gradient(trainable)
    if not found:
        raise Usage(f"--weights: {name_in(options.target)} has no float Parameter that requires a gradient")
    return found


def _with_gradient(parameters: Iterable[Any]) -> list[Any]:
    return [p for p in parameters if p.requires_grad and p.dtype.is_float]


#: How many Parameters a note names.
_NAMED = 4


def _other_parameters(fn: Any, checked: Sequence[Any]) -> list[str]:
    """A note of the Parameters that a call reads, require a gradient, and are not checked."""
    others = [p for p in _with_gradient(Beginning(fn).parameters) if not any(p is c for c in checked)]
    if not others:
        return []
    own = trainable_of(fn) or []
    by_option = all(any(p is o for o in own) for p in others)
    names = ", ".join([p.name for p in others[:_NAMED]]) + ", ..." * (len(others) > _NAMED)
    count = f"{len(others)} Parameters" if len(others) > 1 else "1 Parameter"
    how = "--weights checks them, too" if by_option else "testing.gradcheck checks those of its `weights`, too"
    return [f"not checked: the gradients by {count} ({names}); {how}"]


def _apart(fn: Any, arguments: Sequence[Any], weights: Sequence[Any], limits: dict[str, float | None]) -> str | None:
    """Where eager and compiled mode differ."""
    positions = tuple(i for i, x in enumerate(arguments) if is_variable(x))
    given: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}
    try:
        assert_modes_equal(fn, *arguments, grad_position=positions or None, weights=weights or None, **given)
    except ModeMismatch as error:
        return str(error)
    return None


def _failure(m: MeasuredGradient) -> str:
    """What is wrong with a gradient, or nothing."""
    if not math.isfinite(m.wanted):
        return (
            f"{m.mode}: the gradient by {m.input} cannot be checked at {list(m.index)}: numerically it is {m.wanted}; "
            "--range LOW HIGH draws other arguments"
        )
    if not m.wrong:
        return ""
    return (
        f"{m.mode}: the gradient of order {m.order} by {m.input} is {m.found:.6g} at {list(m.index)}, numerically "
        f"{m.wanted:.6g}; {m.wrong} of {m.checked} elements checked are wrong"
    )


def _described(m: MeasuredGradient) -> dict[str, Any]:
    return {**dataclasses.asdict(m), "index": list(m.index), "difference": m.difference, "passed": not _failure(m)}


def _table(measured: Sequence[MeasuredGradient]) -> str:
    """A line for each input and order, with the worst error in each mode."""
    rows: list[list[str]] = []
    modes = list(dict.fromkeys(m.mode for m in measured))
    for _, same in groupby(sorted(measured, key=lambda m: m.order), key=lambda m: m.order):
        of_order = list(same)
        # Inputs keep their order; several Tensors of one argument stand below each other.
        by_mode = [[m for m in of_order if m.mode == mode] for mode in modes]
        for of_input in zip(*by_mode, strict=True):
            errors = [f"{abs(m.difference):.1e}" for m in of_input]
            rows.append(
                [
                    str(of_input[0].order),
                    of_input[0].input,
                    str(of_input[0].checked),
                    *errors,
                    f"{of_input[0].allowed:.1e}",
                ]
            )
    return text_table(["order", "input", "elements", *modes, "allowed"], rows, {"order", "input"})
