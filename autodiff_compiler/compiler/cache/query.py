"""Queries of the disk cache: whether it is in use, and which program is looked for.

No import of the native backend here: the two levels themselves are loaded only where there is a cache to ask.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from ... import logs
from ...config import backends, context


class Interface(NamedTuple):
    """What calls need to know of a module that went through the pipeline.

    `inputs`, `outputs`: the states that its last arguments and results are; `results`: how many others there are;
    `may_share`: whether two results may alias; `warned`: whether a pass gave a warning.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    results: int
    may_share: bool
    warned: bool


class ProgramQuery(NamedTuple):
    """A program to look for: its key, and what the caller knows of its interface.

    `arguments`: the names of the dtypes and the shapes of its first arguments, sizes that only a call knows as texts;
    `results`: how many there are;
    `states`: those that it may have besides.
    """

    key: str
    arguments: Sequence[tuple[str, tuple[int | str, ...]]]
    results: int
    states: Collection[str] = ()

    def matches(self, found: Interface, program: dict[str, Any]) -> bool:
        """Whether the program stored under the key has such an interface."""
        arguments = [(name, tuple(shape)) for name, shape in program["arguments"]]
        known = len(self.arguments)
        return (
            arguments[:known] == list(self.arguments)
            and len(arguments) == known + len(found.inputs)
            and found.results == self.results
            and len(program["results"]) == found.results + len(found.outputs)
            and {*found.inputs, *found.outputs} <= {*self.states}
        )


def in_use(backend: str) -> bool:
    """Whether programs may come from the cache: machine code, and nobody looks at the steps on the way to it."""
    name = backend or context.backend
    if context.device_target != "CPU" or name == "numpy" or context.save_graphs or context.verify or context.profile:
        return False
    return backends["native"]() is None and not any(map(logs.listener, ("passes", "fusion", "gradients")))
