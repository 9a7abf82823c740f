"""Programs found again on disk by what they were made of, so that passes and code generation need not run.

A program is kept where the printed form of the frontend's module says all that it is made of: modules with host
functions are not kept, nor those with constants that have no bytes.  What lies there is data (JSON), read only where
`backends.native.cache` vouches for the file; what is not as it should be is as if it were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ... import logs
from ...backends.base import Executable
from ...config import backends, context
from ...data_forms import is_size
from ...ir.core import Module
from ...ir.types import Shape, TensorType

__all__ = ["Expected", "Form", "expected", "keep", "possible", "recalled"]


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


class Expected(NamedTuple):
    """What a caller knows of a program that it looks for.

    `key`: its name; `arguments`: the names of the dtypes and the shapes of its first arguments; `results`: how many
    there are; `states`: those that it may have besides.
    """

    key: str
    arguments: Sequence[tuple[str, Shape]]
    results: int
    states: Collection[str] = ()

    def is_like(self, found: Form, program: dict[str, Any]) -> bool:
        """Whether what was kept under the name can be it."""
        arguments = [(name, tuple(shape)) for name, shape in program["arguments"]]
        known = len(self.arguments)
        return (
            arguments[:known] == list(self.arguments)
            and len(arguments) == known + len(found.inputs)
            and found.results == self.results
            and len(program["results"]) == found.results + len(found.outputs)
            and {*found.inputs, *found.outputs} <= {*self.states}
        )


def possible(backend: str) -> bool:
    """Whether programs are kept: machine code, and nothing that looks at the steps on the way to it."""
    name = backend or context.backend
    if context.device_target != "CPU" or name == "numpy" or context.save_graphs or context.verify or context.profile:
        return False
    if backends["native"]() is not None or any(map(logs.listener, ("passes", "fusion"))):
        return False
    from ...backends.native import cache

    return cache.why_off() is None


def expected(module: Module, in_place: Collection[str]) -> Expected | None:
    """A frontend's module as a program to look for; None if it cannot be kept, as one that calls Python's checks."""
    if module.check_nonfinite or not possible(module.backend):
        return None
    from ...backends.native.recipe import module_key

    types = [x.type for x in module.entry.args]
    key = module_key(module, "program", context.optimize, sorted(in_place))
    if key is None or not all(isinstance(t, TensorType) for t in types):
        return None
    arguments = [(t.dtype.name, t.shape) for t in types if isinstance(t, TensorType)]
    return Expected(key, arguments, len(module.entry.outs), module.states)


def recalled(wanted: Expected, source: Callable[[], str]) -> tuple[Executable, Form] | None:
    """The program that was kept under that name, if it can be it; `source` makes its text."""
    from ...backends.native.backend import NativeProgram
    from ...backends.native.cache import record
    from ...backends.native.recipe import FORM

    form = ([str], [str], is_size, bool, bool)
    data = record(wanted.key, {"name": str, "form": form, "program": FORM})
    if data is None:
        return None
    inputs, outputs, *rest = data["form"]
    found = Form(tuple(inputs), tuple(outputs), *rest)
    if not wanted.is_like(found, data["program"]):
        return None
    program = NativeProgram.again(data["program"], source, data["name"])
    return None if program is None else (program, found)


def keep(key: str, executable: Executable, form: Form, name: str) -> bool:
    """Keeps a program, unless it is of a kind that cannot lie on disk; whether it is one that can."""
    from ...backends.native.backend import NativeProgram
    from ...backends.native.cache import keep_record

    data: Any = executable.data if isinstance(executable, NativeProgram) else None
    if data is not None:
        keep_record(key, {"name": name, "form": form, "program": data})
    return data is not None
