"""Keeps alive what a function of compiled code uses until nothing can call the function any more."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

#: What functions own, and how it is given up, by their anchors.
_owned: dict[int, tuple[Callable[[], None], tuple[object, ...]]] = {}
# Functions may be called until the very end of the process, so the end of this module must not free their code.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_owned))


class Anchor:
    """What it was made with is given up when the last reference to it goes.

    The garbage collector does not see it.  It would free the code of a function that is garbage before it runs the
    finalizers of other garbage, which may call the function.
    """

    __slots__ = ()

    def __del__(self, take: Callable[..., tuple[Callable[[], None], tuple[object, ...]]] = _owned.pop) -> None:
        let_go, things = take(id(self))
        let_go()
        del things  # after the work that needs them


def anchor(let_go: Callable[[], None], *things: object) -> Anchor:
    """An anchor that owns things; `let_go` is called before they go."""
    made = Anchor()
    _untrack(made)
    _owned[id(made)] = let_go, things
    return made


_untrack = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("PyObject_GC_UnTrack", ctypes.pythonapi))
