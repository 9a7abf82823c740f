"""Programs found again on disk by what they were made of, so that passes and code generation need not run.

A program is kept where the printed form of the frontend's module says all that it is made of: modules with host
functions are not kept, nor those with constants that have no bytes.  What lies there is data (JSON), read only where
`backends.native.cache` vouches for the file; what is not as it should be is as if it were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from .. import logs
from ..backends.base import Executable
from ..config import backends, context
from ..ir.core import Module

__all__ = ["Form", "keep", "key_of", "possible", "recalled"]


class Form(NamedTuple):
    """What calls need to know of a module that went through the pipeline.

    `inputs`, `outputs`: the states that its last arguments and results are; `results`: how many others there are;
    `may_share`: whether two results may be views of the same bytes; `warned`: whether a pass gave a warning.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    results: int
    may_share: bool
    warned: bool


def possible(backend: str) -> bool:
    """Whether programs are kept: machine code, and nothing that looks at the steps on the way to it."""
    name = backend or context.backend
    if context.device_target != "CPU" or name == "numpy" or context.save_graphs or context.verify or context.profile:
        return False
    if backends["native"]() is not None or any(map(logs.listener, ("passes", "fusion"))):
        return False
    from ..backends.native import cache

    return cache.why_off() is None


def key_of(module: Module, in_place: Collection[str]) -> str | None:
    """The name of a frontend's module as a program; None if it cannot be kept, as one that calls Python's checks."""
    if module.check_nonfinite or not possible(module.backend):
        return None
    from ..backends.native.recipe import module_key

    return module_key(module, "program", context.optimize, sorted(in_place))


def recalled(key: str, source: Callable[[], str]) -> tuple[Executable, Form] | None:
    """The program of that name, if it was kept; `source` makes its text."""
    from ..backends.native.backend import NativeProgram
    from ..backends.native.cache import record

    data = record(key)
    if data is None:
        return None
    inputs, outputs, *rest = data["form"]
    program = NativeProgram.again(data["program"], source, data["name"])
    return None if program is None else (program, Form(tuple(inputs), tuple(outputs), *rest))


def keep(key: str, executable: Executable, form: Form, name: str) -> bool:
    """Keeps a program, unless it is of a kind that cannot lie on disk; whether it is one that can."""
    from ..backends.native.backend import NativeProgram
    from ..backends.native.cache import keep_record

    data: Any = executable.data if isinstance(executable, NativeProgram) else None
    if data is not None:
        keep_record(key, {"name": name, "form": form, "program": data})
    return data is not None
