"""The sizes that calls of one function have had: they say which sizes are symbolic, and where known ones pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

from ..config import backends, context
from ..frontend.lower import Options
from ..ir.types import Shape
from .call_key import Key
from .call_sizes import Sizes, general, known_because, opened, shapes_of
from .described_sizes import descriptions

#: How many calls that were compiled for are remembered.
_MOST = 16


class SeenSizes:
    """What one compiled function has seen of sizes."""

    def __init__(self, options: Options) -> None:
        self._options = options
        #: by key without sizes: the shapes that calls have been compiled for, or why sizes must be known
        self._by_key: dict[Key, list[list[Shape]] | str] = {}
        #: how long the last compilation for known sizes took, in nanoseconds
        self._compile_time = 0

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def clear(self) -> None:
        self._by_key = {}

    def opened(
        self,
        key: Key,
        leaves: Sequence[Any],
        owners: tuple[Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        noted: bool = True,
    ) -> Sizes | None:
        """Which sizes of a call that is to be compiled are symbolic; None if none is.

        `owners`: the compiled function and the user's, which may describe their arguments.  `noted`: whether the call
        counts as one that was compiled for.
        """
        dynamic, described = self._options.dynamic, descriptions(*owners, args, kwargs)
        dynamic = context.dynamic_shapes if dynamic is None else dynamic
        if dynamic is False:
            return None
        known = self._by_key.get(general(key), [])
        if isinstance(known, str):
            return None
        seen = [*known, shapes_of(leaves)]
        del seen[1 : 1 - _MOST]
        if noted:
            self._by_key[general(key)] = seen
        sizes = opened(seen, dynamic is True, described)
        return sizes if sizes.is_open else None

    def must_be_known(self, key: Key, error: Exception) -> str:
        """Notes that there is no form for symbolic sizes, and why, in words."""
        self._by_key[general(key)] = why = known_because(error)
        return why

    def why_known(self, key: Key) -> str:
        """Why there is no form for symbolic sizes, in words; empty if nothing is noted."""
        why = self._by_key.get(general(key))
        return why if isinstance(why, str) else ""

    @contextmanager
    def compiling_known(self) -> Iterator[None]:
        """Measures how long a compilation for known sizes takes."""
        began = perf_counter_ns()
        yield
        self._compile_time = perf_counter_ns() - began

    def pays_for_one(self, sizes: Sizes, leaves: Sequence[Any]) -> bool:
        """Whether a program for the very sizes of a call is worth its compilation: NumPy runs what symbolic ones do.

        A device runs the same for either.
        """
        if context.device_target != "CPU":
            return False
        backend = self._options.backend or context.backend
        machine_code = backend != "numpy" and backends["native"]() is None
        return machine_code and sizes.becomes_hot(shapes_of(leaves), self._compile_time)
