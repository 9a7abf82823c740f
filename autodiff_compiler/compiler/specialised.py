"""A function compiled for one key: the program, its guards, and how results are put together."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..frontend.lower import Arg, Lowered, Options, Out, State, lower
from ..frontend.values import LocalDict, LocalList, rebuild
from ..runtime import epoch
from ..runtime.random import generator
from ..runtime.tensor import Tensor
from .depth import deep
from .program import Program
from .specialise import specification

__all__ = ["Specialised", "specialise"]


class Specialised:
    """One entry of a compiled function's cache."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.program = Program(lowered.module)
        self._epoch = epoch.current()
        self._watched = [g for g in lowered.guards if g.watched]
        self._holds = [g.holds for g in lowered.guards if not g.watched]
        self._fetch = [c.fetch for c in lowered.captures]
        stages = self.program.stages
        self.program.executable  # noqa: B018  (a failing compile must fail here, before anything is cached)
        opt = stages.opt
        self._inputs = [lowered.states[name] for name in opt.inputs]
        self._written = [lowered.states[name] for name in opt.outputs]
        self._results = len(opt.entry.outs) - len(opt.outputs)
        self._finish = _finisher(lowered.result)
        #: whether the program depends on its arguments alone
        self._alone = not (self._fetch or self._inputs or self._written)
        self._draws = any(generator.owns(state) for state in self._written)

    def valid(self) -> bool:
        """Whether everything read from outside while compiling is still the same."""
        now = epoch.current()
        if now != self._epoch:
            if not all(g.holds() for g in self._watched):
                return False
            self._epoch = now
        for holds in self._holds:  # noqa: SIM110  (a generator costs more than most guards)
            if not holds():
                return False
        return True

    def __call__(self, leaves: Sequence[Tensor]) -> Any:
        if self._alone:
            return self._finish(self.program(leaves), leaves)
        if not self._draws:
            return self._run(leaves)
        with generator.drawing:  # otherwise two threads would draw the same numbers
            return self._run(leaves)

    def _run(self, leaves: Sequence[Tensor]) -> Any:
        results = self.program([*leaves, *[fetch() for fetch in self._fetch], *self._inputs])
        for state, new in zip(self._written, results[self._results :], strict=True):
            replace_value(state, new)
        return self._finish(results, leaves)


def replace_value(state: Any, new: Tensor) -> None:
    """A Parameter takes the value that compiled code assigned to it, and the value's place on the tapes."""
    state._write(new._data)
    state._node = new._node


@deep
def specialise(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, name: str) -> Specialised:
    """Compiles a function for the types and static values of these arguments."""
    specs = [specification(a) for a in args]
    named = {k: specification(v) for k, v in kwargs.items()}
    with _collector_paused():
        return Specialised(lower(fn, specs, named, options, name))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """A compilation makes many objects that live until its end: looking for garbage among them costs a third."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _finisher(template: Any) -> Callable[[list[Tensor], Sequence[Tensor]], Any]:
    """The function that makes the returned value from the program's results and the call's leaves."""
    if type(template) is Out and template.kind is None:
        index = template.index
        return lambda results, leaves: results[index]
    if isinstance(template, tuple | list | dict):
        parts = [_finisher(t) for t in (template.values() if isinstance(template, dict) else template)]
        if isinstance(template, dict):
            keys = list(template)
            if not isinstance(template, LocalDict) and type(template) is not dict:
                return lambda results, leaves: rebuild(template, [p(results, leaves) for p in parts])
            return lambda results, leaves: dict(zip(keys, [p(results, leaves) for p in parts], strict=True))
        if hasattr(template, "_fields"):
            cls = type(template)
            return lambda results, leaves: cls(*[p(results, leaves) for p in parts])
        kind = list if isinstance(template, LocalList) else type(template)
        if kind is tuple:
            return lambda results, leaves: tuple([p(results, leaves) for p in parts])
        return lambda results, leaves: kind([p(results, leaves) for p in parts])
    if type(template) is Out:
        index, number = template.index, template.kind or float
        return lambda results, leaves: number(results[index]._data.item())
    if type(template) is Arg:
        index = template.index
        return lambda results, leaves: leaves[index]
    if type(template) is State:
        return lambda results, leaves: template.source
    return lambda results, leaves: template
