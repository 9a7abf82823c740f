"""An observer that times the kernels of eager mode, by op and user's line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

from ..source import Loc, calling_place
from .nonfinite import defn_of
from .tape import thread, unwatch, watch


@contextmanager
def timing(note: Callable[[str, Loc | None, int, int, int], None]) -> Iterator[None]:
    """Within it `note(op, line, began, ended, noting)` is called after each kernel; `noting`: time of the observer."""

    def of(call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(kernel: Callable[..., Any], /, *args: Any, **attrs: Any) -> Any:
            start = perf_counter_ns()
            defn = defn_of(kernel)
            if defn is None:
                return call(kernel, *args, **attrs)
            began = perf_counter_ns()
            out = call(kernel, *args, **attrs)
            ended = perf_counter_ns()
            place = calling_place()
            if place is not None and thread.state.pulled:
                place = place.tagged("backward")
            note(defn.name, place, began, ended, began - start + perf_counter_ns() - ended)
            return out

        return timed

    watch(of)
    try:
        yield
    finally:
        unwatch(of)
