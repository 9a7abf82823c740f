"""Recorded calls: a Cell with `set_grad()` records its call on a tape, and a gradient taken right after uses it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..runtime import epoch
from ..runtime.device_array import residence
from ..runtime.parameter import Parameter
from ..runtime.storage import SHARED
from ..runtime.tensor import Tensor
from ..runtime.trees import leaves
from .captured import content, snapshot
from .grad import Tape
from .tape import thread


class RecordedCall:
    """One recorded call: arguments, results and tape; it can be used while nothing that it read has changed."""

    def __init__(
        self,
        run: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        tensors: Sequence[Tensor],
        weights: Sequence[Parameter],
        cell: Any,
    ) -> None:
        self._args, self._kwargs, self._cell = tuple(args), dict(kwargs), cell
        if residence.bring is not None:  # before the snapshot: else the call's move would look like a write
            for x in tensors:
                residence.bring(x)
        before = _arrays(tensors)
        self._number = {id(x): i for i, x in enumerate((*tensors, *weights))}
        self._tape = Tape(run, tensors, weights)
        self.outputs, self._tape.outputs = self._tape.outputs, None
        kept = [*weights, *leaves(self.outputs)]
        for x in kept:
            x._held |= SHARED  # a write gives them another buffer, which `fits` sees
        self._arrays = _arrays(kept)
        self._seen = [(x, array, content(array)) for x, array in before]
        self._thread, self._epoch = threading.get_ident(), epoch.current()
        #: a snapshot of what the call captures, taken after it; None if something cannot be read
        self._state = snapshot([cell])

    def fits(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Whether a call with these arguments would repeat this one."""
        return (
            threading.get_ident() == self._thread
            and not thread.state.active
            and epoch.current() == self._epoch
            and len(args) == len(self._args)
            and kwargs.keys() == self._kwargs.keys()
            and all(map(_same, args, self._args))
            and all(_same(kwargs[k], x) for k, x in self._kwargs.items())
            and all(x._data is array for x, array in self._arrays)
            and all(x._data is array and content(array) == was for x, array, was in self._seen)
            and self._reads_the_same()
        )

    def _reads_the_same(self) -> bool:
        now = snapshot([self._cell]) if self._state is not None else None
        return now is not None and self._state is not None and now[0] == self._state[0]

    def pull(
        self, tensors: Sequence[Tensor], weights: Sequence[Parameter], seeds: Any, of: Callable[[Any], Any] | None
    ) -> tuple[list[Tensor], list[Tensor]] | None:
        """The gradients by some of the inputs and Parameters; None if one was no variable of the tape."""
        if any(id(x) not in self._number for x in (*tensors, *weights)):
            return None
        asked = [self._number[id(x)] for x in (*tensors, *weights)]
        if of is not None:
            del self._tape.targets[len(list(leaves(of(self.outputs)))) :]
        try:
            found = self._tape.pull(seeds, once=True, only=asked)
        finally:
            self._tape.close()
        return found[: len(tensors)], found[len(tensors) :]


def taken(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> RecordedCall | None:
    """The recorded call that a call with these arguments would repeat; it is removed from the Cell."""
    found = getattr(fn, "_recorded", None)
    if not isinstance(found, RecordedCall):
        return None
    fn.__dict__["_recorded"] = None
    return found if found.fits(args, kwargs) else None


def _arrays(tensors: Iterable[Tensor]) -> list[tuple[Tensor, Any]]:
    return [(x, x._data) for x in tensors]


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, int | float | str) and a == b)
