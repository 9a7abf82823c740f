"""The Python function that a compiled module is: checks, new results, main, all in LLVM code.

The function reads ndarrays (or Tensors) directly.  Whatever is unusual about a call, it hands to a Python function with
the same arguments, which is its `__self__`; so semantics have one place and speed another.
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

__all__ = ["FastEntry", "made_functions"]


class FastEntry:
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
    """The maker of functions that enter a module, each with what is called in its place where a call is unusual.

    They keep alive what is `hidden` from the garbage collector, and what it sees: tuples, which it leaves whole.
    """
    loaded.fill(context.pointers(others, pointer))
    own = anchor(_releaser(loaded, signature, context), loaded, *hidden)

    def function(slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        method = _MethodDef(escape.line(name).encode(), loaded.address("entry"), _FASTCALL | _KEYWORDS, None)
        # as its module, what it owns stays until nothing can call it any more
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
    """What frees the frames of a module; of the shared ones those stay that another module can need."""
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
