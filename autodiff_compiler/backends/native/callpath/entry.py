"""The entry of a compiled module: a Python function in machine code, which checks arguments, makes results, calls main.

It reads ndarrays (or Tensors) directly: the fast path.  A call that fails a check goes with the same arguments to the
slow path, a Python function that is its `__self__`; only that one defines semantics.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from .... import escape
from ..codegen.context import Context
from ..memory.anchor import anchor
from ..memory.frame_pool import POOL, Release, frame_size, functions_for
from .entry_text import EntryText
from .objects import pointer
from .signature import Signature

__all__ = ["MachineEntry", "made_functions"]


class MachineEntry:
    """The entry in machine code."""

    def __init__(self, signature: Signature, context: Context) -> None:
        self._signature, self._context = signature, context
        writer = EntryText(signature, context)
        self.text = writer.written()
        self.declares = frozenset(writer.declares)

    def bind(
        self, loaded: Any, slow: Callable[..., Any], name: str = "call", others: Mapping[str, int] | None = None
    ) -> Callable[..., Any]:
        return made_functions(loaded, self._signature, self._context, others or {})(slow, name)


def made_functions(
    loaded: Any,
    signature: Signature,
    context: Context,
    others: Mapping[str, int],
    hidden: tuple[object, ...] = (),
    seen: tuple[object, ...] = (),
) -> Callable[[Callable[..., Any], str], Callable[..., Any]]:
    """Makes functions that enter a module from their slow paths and names.

    They keep alive `hidden`, which the garbage collector does not see, and `seen`, which it does: tuples, which it does
    not clear.
    """
    loaded.fill(context.pointers(others, pointer))
    own = anchor(_releaser(loaded, signature, context), loaded, *hidden)

    def function(slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        method = _MethodDef(escape.line(name).encode(), loaded.address("entry"), _FASTCALL | _KEYWORDS, None)
        # owned like its module: CPython frees it only with the function
        owned = (anchor(_nothing, method), own, seen)
        made: Callable[..., Any] = _new_function(ctypes.addressof(method), slow, owned)
        return made

    return function


def _nothing() -> None:
    pass


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL, _KEYWORDS = 0x80, 0x2
_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)

#: Bytes of the shared frames that living modules need, by module.
_needs: dict[int, int] = {}


def _releaser(loaded: Any, signature: Signature, context: Context) -> Callable[[], None]:
    """A function that frees the frames of a module; shared ones that another module may need stay."""
    if not signature.frame_bytes:
        return lambda: None
    release = Release(functions_for(signature.frame_bytes).address("frames_release"))
    if not signature.shares_frames:
        mine = ctypes.addressof(loaded.context) + 8 * context.number("frames")
        return lambda: release(mine, 0)
    key, needs, pool = loaded.address("entry"), _needs, ctypes.addressof(POOL)
    needs[key] = frame_size(signature.frame_bytes, True)

    def leave() -> None:
        del needs[key]
        release(pool, max(list(needs.values()), default=0))

    return leave
