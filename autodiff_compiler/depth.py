"""Room for deep recursion: compiling recurses over expressions, statements and calls, several frames a level.

Measured with Python 3.11 to 3.13 on expressions of thousands of terms and `elif` chains of hundreds of arms, a frame
takes up to about 90 bytes of the thread's stack, what the interpreter's own parser and compiler take included.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .errors import RecursionDepthError
from .locks import Lock

__all__ = ["deep"]

P = ParamSpec("P")
R = TypeVar("R")

_FRAMES = 40_000
#: A thread with a smaller stack lets another one compile, with the stack below.
_NEEDED = _FRAMES * 128
_STACK = 16 << 20

_lock = Lock()
#: How deeply each thread is inside of functions that need the room.
_inside: dict[int, int] = {}
_before = 0


def deep(fn: Callable[P, R]) -> Callable[P, R]:
    """`fn` with more room for recursion; RecursionDepthError where that does not suffice either."""

    @functools.wraps(fn)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if _thread.small:
            return _elsewhere(functools.partial(run, *args, **kwargs))
        outer = _inside.get(threading.get_ident(), 0)
        try:
            _set(outer + 1)
            return fn(*args, **kwargs)
        except RecursionError as error:
            if isinstance(error, RecursionDepthError):
                raise
            raise RecursionDepthError(
                "the program is nested too deeply to be compiled",
                hint="split the function, or a long chain of `if`s in it",
            ) from None
        finally:
            _set(outer)

    return run


def _set(depth: int) -> None:
    """Notes the depth of this thread.  The limit is one for all: the first to enter raises it, the last restores it."""
    global _before
    with _lock:
        if not _inside:
            _before = sys.getrecursionlimit()
        _inside[threading.get_ident()] = depth
        if not depth:
            del _inside[threading.get_ident()]
        sys.setrecursionlimit(max(_before, _FRAMES) if _inside else _before)


def _forget_others() -> None:
    """In a forked process only the thread that forked goes on."""
    me = threading.get_ident()
    for thread in [t for t in _inside if t != me]:
        del _inside[thread]
        if not _inside:
            sys.setrecursionlimit(_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)


# ------------------------------------------------------------------------------------------------ small stacks
class _Thread(threading.local):
    def __init__(self) -> None:
        self.small = _stack_size() < _NEEDED


def _stack_size() -> int:
    """The size of this thread's stack, as far as the system tells."""
    try:
        system = ctypes.CDLL(None)
        attributes, start, size = (ctypes.c_char * 256)(), ctypes.c_void_p(), ctypes.c_size_t()
        system.pthread_self.restype = ctypes.c_void_p
        if system.pthread_getattr_np(ctypes.c_void_p(system.pthread_self()), attributes) == 0:
            system.pthread_attr_getstack(attributes, ctypes.byref(start), ctypes.byref(size))
            system.pthread_attr_destroy(attributes)
            return size.value
    except (OSError, AttributeError, TypeError):  # another system
        pass
    main = threading.current_thread() is threading.main_thread() and sys.platform != "win32"
    return _NEEDED if main else threading.stack_size()


_thread = _Thread()


def _elsewhere(fn: Callable[[], R]) -> R:
    """What `fn` gives or raises, called in a thread with a large stack; this one waits for it."""
    result: list[R] = []
    failure: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result.append(context.run(fn))
        except BaseException as error:
            failure.append(error)

    with _lock:
        before = threading.stack_size(_STACK)
        try:
            thread = threading.Thread(target=work, name="compiling")
            thread.start()
        finally:
            threading.stack_size(before)
    interrupt: BaseException | None = None
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:  # what it does must be complete before this thread goes on
            interrupt = error
    if interrupt is not None or failure:
        raise interrupt or failure[0]
    return result[0]
