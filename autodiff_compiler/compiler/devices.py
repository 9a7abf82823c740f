"""Use of an Ascend device: moves the elements of Tensors to where a program runs, and eager mode to the device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..backends.ascend.acl import acl
from ..backends.ascend.arrays import brought
from ..backends.ascend.device import current, device, started
from ..backends.ascend.program import AscendProgram
from ..backends.ascend.symbolic import SymbolicProgram
from ..config import context, watchers
from ..eager import on_device
from ..errors import AscendError
from ..locks import Lock
from ..runtime import epoch
from ..runtime.device_array import is_of_device, nobody_else_sees, residence
from ..runtime.parameter import Parameter
from ..runtime.random import generator
from ..runtime.tensor import Tensor
from .program import Program

_lock = Lock()
_attending = False


def use_ascend(number: int) -> None:
    """Starts an Ascend device; AscendError says why it cannot be used, and nothing is changed."""
    try:
        for group in ("runtime", "base", "operators"):
            acl.libraries.load(group)
        device(number)
    except AscendError as error:
        why = f"the device Ascend {number} cannot be used: {error}"
        found = AscendError(error.function, error.status, error.name, text=why)
        for note in getattr(error, "__notes__", ()):
            found.add_note(note)
        raise found from None
    _attend()


def _attend() -> None:
    """From now on elements may be on a device: programs and settings are told."""
    global _attending
    with _lock:
        if not _attending:
            _attending = True
            Program.bring = staticmethod(_bring)
            Program.__call__ = Program.call_anywhere  # type: ignore[method-assign]
            watchers.append(_changed)


def _changed() -> None:
    """After a change of the device or its settings: guards are checked again, eager mode moves."""
    epoch.bump()
    on_device.settle(context.device_target != "CPU")
    residence.bring = _brought if context.device_target != "CPU" else None
    for known in started():
        known.configure()


def _brought(x: Tensor) -> None:
    brought(x, current())


def _bring(executable: Any, tensors: Iterable[Any]) -> None:
    """Moves the elements of Tensors to where a program runs."""
    # Draws are the host's, and so are the states of generators.
    tensors = [t for t in tensors if isinstance(t, Tensor) and not (isinstance(t, Parameter) and generator.owns(t))]
    if isinstance(executable, AscendProgram | SymbolicProgram):
        here = current()
        for t in tensors:
            if is_of_device(t._data) or nobody_else_sees(t):  # else the program uploads it for itself
                brought(t, here)
    else:
        for t in tensors:
            if is_of_device(t._data):
                t._of_host()
