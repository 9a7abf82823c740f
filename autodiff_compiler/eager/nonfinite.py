"""Eager mode under `check_nonfinite`: an observer that checks every kernel's results.

While it is on, a thread calls its kernels through a `_Check` (see `tape.watch`), which also records for every result
the user's line that made it: errors in an adjoint name that line, since the adjoint's node holds the result.  While it
is off it costs nothing.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ..ir.primitive import REGISTRY, Primitive
from ..runtime.nonfinite import MOVING, Finding, Operand, Origin, any_of, error_of, found, inside_text
from ..runtime.tensor import Tensor
from ..source import Loc, is_users, place_of_frame
from . import execute
from .execute import CONVERSIONS, FAST_KERNELS
from .grad import Tape
from .tape import Applied, Node, Watcher, thread

#: The most steps back to the origin of an operand, and calls around a place, that are recorded.
_STEPS, _CALLS = 6, 8
_PULL = Applied.pull.__code__
#: The code that calls a differentiated function: frames outside of it are not reported.
_DIFFERENTIATED = Tape._run.__code__


class _Made(NamedTuple):
    """The origin of an array: the op that made it, its place, and the places of its operands, the last first."""

    array: weakref.ref[Any]
    op: str
    loc: Loc | None
    steps: tuple[Loc, ...]
    #: where a NaN in it comes from, if it is a constant or the result of a `MOVING` op
    origin: str = ""


#: By the id of an array, while that lives.
_made: dict[int, _Made] = {}
#: The primitives by the id of their kernel; and how many plans there were when this was filled.
_kernels: dict[int, type[Primitive]] = {}
_known_plans = 0


def looking(nan_only: bool) -> Watcher:
    """The observer of kernels that looks for NaN and infinities in their results."""
    _made.clear()
    _locs.clear()
    return lambda call: _Check(call, nan_only)


class _Check:
    """A kernel caller that raises where a result is not finite, and records where each was made."""

    def __init__(self, call: Callable[..., Any], nan_only: bool) -> None:
        self._call, self._nan_only = call, nan_only

    def __call__(self, kernel: Callable[..., Any], /, *args: Any, **attrs: Any) -> Any:
        defn = defn_of(kernel)
        if defn is None:
            if kernel not in CONVERSIONS:
                return self._call(kernel, *args, **attrs)
            self._convert(*CONVERSIONS[kernel](*args))
            out = self._call(kernel, *args)
            if out is not None:
                _note(out, "const", None, (), "a constant")
            return out
        operands: Sequence[Any] = args
        if isinstance(kernel, np.ufunc) and len(args) > kernel.nin:  # the last one is written to
            operands = [np.array(x) for x in args[: kernel.nin]]
        out = self._call(kernel, *args, **attrs)
        results = [np.asarray(x) for x in out] if defn.multiple else [np.asarray(out)]
        if any(x.dtype.kind not in "biu" for x in results):
            self._look(defn, results, operands)
        return results if defn.multiple else results[0]

    def _look(self, defn: type[Primitive], results: list[Any], operands: Sequence[Any]) -> None:
        loc, frame, node = _place()
        steps = tuple(_steps(loc, operands))
        origin = ""
        if defn.name in MOVING:
            if any(map(_has_nan, results)):
                origin = _origin([x for x in operands if _has_nan(x)], frame)
        else:
            finding = found(results, operands, defn.name, self._nan_only)
            if finding is not None:
                raise self._error(finding, defn, results, operands, Origin(defn.name, loc, steps=steps), frame, node)
        for x in results:
            _note(x, defn.name, loc, steps, origin)

    def _convert(self, number: Any, dtype: Any) -> None:
        """Checks the cast of a number or array to another dtype."""
        if isinstance(number, bool | int | float):
            given = np.asarray(float(number))
            _note(given, "const", None, (), "a constant")
        else:
            given = np.asarray(number)
        if given.dtype == dtype or np.dtype(dtype).kind in "biu":
            return
        made = np.asarray(self._call(given.astype, dtype))
        finding = found([made], [given], "cast", self._nan_only)
        if finding is not None and not finding.carried:
            loc, frame, node = _place()
            raise self._error(finding, REGISTRY["cast"], [made], [given], Origin("cast", loc), frame, node)

    @staticmethod
    def _error(
        finding: Finding,
        defn: type[Primitive],
        results: list[Any],
        operands: Sequence[Any],
        origin: Origin,
        frame: FrameType | None,
        node: Node | None,
    ) -> Exception:
        names = {} if frame is None else dict(_named_in(frame))
        known = [_described(x, names) for x in operands]
        made = None if node is None else _maker(node)
        facts = _layers(sys._getframe(2), frame)
        if node is None and thread.state.pulled:
            facts.append("a backward pass runs: this is called by it (a `bprop`, a hook, the sum of two gradients)")
        loc = origin.loc
        if loc is not None and not loc.tag:
            loc = loc._replace(caller=None)  # the traceback shows the calls
        origin = replace(origin, loc=loc, forward="" if made is None else made.op, facts=tuple(facts))
        return error_of(finding, results, operands, known, origin)


def defn_of(kernel: Any) -> type[Primitive] | None:
    """The primitive whose kernel it is; None for other functions."""
    global _known_plans
    plans = execute._plans
    if len(plans) != _known_plans:
        _kernels.update({id(function): defn for function, defn in FAST_KERNELS.items()})
        _known_plans = len(plans)
        for plan in list(plans.values()):
            for function in (plan.kernel, plan.ufunc):
                if function is not None:
                    _kernels.setdefault(id(function), plan.defn)
    return _kernels.get(id(kernel))


# ------------------------------------------------------------------------------------------------ places
_locs: dict[tuple[Any, int], Loc] = {}


def _place() -> tuple[Loc | None, FrameType | None, Node | None]:
    """Where the user's program is: the place and its frame, or the forward place of the node that is pulled."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code is _PULL:
            node = frame.f_locals["self"]
            made = _maker(node)
            loc = made.loc.tagged("adjoint") if made is not None and made.loc is not None else None
            return loc, None, node
        if is_users(frame.f_code.co_filename):
            return _loc_of(frame), frame, None
        frame = frame.f_back
    return None, None, None


def _loc_of(frame: FrameType) -> Loc:
    """The place of a frame of the user's, with the calls around it."""
    callers: list[FrameType] = []
    outer = frame.f_back
    while outer is not None and len(callers) < _CALLS and outer.f_code is not _DIFFERENTIATED:
        if "-packages" in outer.f_code.co_filename or outer.f_code.co_filename.startswith("<frozen"):
            break
        if is_users(outer.f_code.co_filename):
            callers.append(outer)
        outer = outer.f_back
    loc: Loc | None = None
    for each in [*reversed(callers), frame]:
        key = (each.f_code, each.f_lasti)
        alone = _locs.get(key)
        if alone is None:
            alone = _locs[key] = place_of_frame(each)
        loc = alone._replace(caller=loc)
    assert loc is not None
    return loc


# ------------------------------------------------------------------------------------------------ what was made where
def _note(array: Any, op: str, loc: Loc | None, steps: tuple[Loc, ...], origin: str = "") -> None:
    key = id(array)

    def gone(ref: Any) -> None:
        known = _made.get(key)
        if known is not None and known.array is ref:
            del _made[key]

    _made[key] = _Made(weakref.ref(array, gone), op, loc, steps, origin)


def _record(array: Any) -> _Made | None:
    known = _made.get(id(array))
    return known if known is not None and known.array() is array else None


def _maker(node: Node) -> _Made | None:
    """The origin of the result of a node on a tape."""
    return _record(node.outs[0]) if isinstance(node, Applied) else None


def _steps(loc: Loc | None, operands: Sequence[Any]) -> Iterator[Loc]:
    """The places back along the first operand that an op computed."""
    made = next((m for m in map(_record, operands) if m is not None and m.loc is not None), None)
    if made is None:
        return
    if made.loc is not None and made.loc != loc:
        yield made.loc
    yield from made.steps[: _STEPS - 1]


def _layers(inner: FrameType | None, users: FrameType | None) -> list[str]:
    """The line in a layer of this package that the user's line called, if there is one."""
    while inner is not None and inner is not users and users is not None:
        if inner.f_code.co_name == "construct":
            return [inside_text(place_of_frame(inner))]
        inner = inner.f_back
    return []


# ------------------------------------------------------------------------------------------------ names
def _named_in(frame: FrameType) -> Iterator[tuple[int, tuple[str, bool]]]:
    """The ids of the arrays of Tensors in a frame's variables: the name, and whether that is an input.

    Inputs are the function's arguments, and names from outside.
    """
    code = frame.f_code
    outside = {name: frame.f_globals[name] for name in code.co_names if name in frame.f_globals}
    inputs = {*outside, *code.co_freevars, *code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    for name, x in [*outside.items(), *frame.f_locals.items()]:
        if isinstance(x, Tensor):
            yield id(x._data), (name, name in inputs)
            continue
        for attribute, y in list(getattr(x, "__dict__", {}).items()):
            if isinstance(y, Tensor):
                yield id(y._data), (f"{name}.{attribute}", True)


def _described(array: Any, names: dict[int, tuple[str, bool]]) -> Operand:
    name, given = names.get(id(array), ("", False))
    made = _record(array)
    if made is not None:
        return Operand(name, made.origin)
    of, is_part = ("", False) if given else names.get(id(getattr(array, "base", None)), ("", False))
    if given or is_part:
        return Operand(name, f"input `{name if given else of}`")
    if name:
        return Operand(name, f"`{name}`")
    return Operand(origin="an input" if isinstance(array, np.ndarray) and array.ndim else "")


def _has_nan(x: Any) -> bool:
    array = np.asarray(x)
    return array.dtype.kind not in "biuOSU" and bool(np.isnan(array).any())


def _origin(holders: Sequence[Any], frame: FrameType | None) -> str:
    """The origin of a NaN that was moved out of one of these arrays; if there are none, it is a padding constant."""
    if not holders:
        return "a constant"
    names = {} if frame is None else dict(_named_in(frame))
    found = [_described(x, names).origin for x in holders]
    return any_of(found) if all(found) else ""
