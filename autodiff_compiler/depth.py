"""Room for deep recursion: compiling recurses over expressions, statements and calls, several frames a level.

Measured with Python 3.11 to 3.13 on expressions of thousands of terms and `elif` chains of hundreds of arms, a frame
takes up to about 90 bytes of the thread's stack, what the interpreter's own parser and compiler take included.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import os
import queue
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from .errors import RecursionDepthError
from .locks import Lock

__all__ = ["along", "at_home", "deep"]

P = ParamSpec("P")
R = TypeVar("R")

_FRAMES = 40_000
#: A thread with a stack smaller than this compiles in a helper thread with a stack of the size below.
_NEEDED = _FRAMES * 128
_STACK = 16 << 20

_lock = Lock()
#: The nesting depth of `deep` functions, per thread.
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
        #: the thread that compiles for this one, and the one that this thread compiles for
        self.helper: _Helper | None = None
        self.helped: _Helper | None = None


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


#: Thread-local state, besides the context, that a helper takes over from the thread that it works for.
along: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []


class _Helper:
    """A thread with a large stack that works for one with a small stack, which waits for it.

    The two take turns: code of the user's runs in the thread that called, so that it finds the locks and the
    thread-local values it may rely on, and what it compiles in turn goes to the same helper, which holds our locks.
    """

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._taken = [(take, give()) for give, take in along]
        context = contextvars.copy_context()
        with _lock:
            before = threading.stack_size(_STACK)
            try:
                self.thread = threading.Thread(target=lambda: context.run(self._work), name="compiling")
                self.thread.start()
            finally:
                threading.stack_size(before)

    def _work(self) -> None:
        _thread.helped = self
        for take, what in self._taken:
            take(what)
        while (fn := self.requests.get()) is not None:
            self.answers.put((None, *_outcome(fn)))

    def run(self, fn: Callable[[], Any]) -> Any:
        """What `fn` gives or raises, called in the helper; the one that called does what it is asked for meanwhile."""
        self.requests.put(fn)
        interrupt: BaseException | None = None
        while True:
            try:
                asked, *outcome = self.answers.get()
            except BaseException as error:  # what the helper does must be complete before this thread goes on
                interrupt = error
                continue
            if asked is None:
                break
            self.requests.put(_Answer(*_outcome(asked)))
        if interrupt is not None:
            raise interrupt
        return _result(*outcome)

    def ask(self, fn: Callable[[], Any]) -> Any:
        """Called in the helper: what `fn` gives or raises in the thread that called."""
        self.answers.put((fn,))
        while not isinstance(request := self.requests.get(), _Answer):
            self.answers.put((None, *_outcome(request)))  # `fn` compiles something itself
        return _result(request.value, request.failure)

    def end(self) -> None:
        self.requests.put(None)
        self.thread.join()


@dataclass(frozen=True)
class _Answer:
    value: Any
    failure: BaseException | None


def _outcome(fn: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return fn(), None
    except BaseException as error:
        return None, error


def _result(value: Any, failure: BaseException | None) -> Any:
    if failure is not None:
        raise failure
    return value


def _elsewhere(fn: Callable[[], R]) -> R:
    """What `fn` gives or raises, called in a thread with a large stack; this one waits for it."""
    result: R
    if _thread.helper is not None:
        result = _thread.helper.run(fn)
        return result
    helper = _thread.helper = _Helper()
    try:
        result = helper.run(fn)
        return result
    finally:
        _thread.helper = None
        helper.end()


def at_home(fn: Callable[[], R]) -> R:
    """What `fn`, code of the user's, gives or raises in the thread that is waiting for this one; else called here."""
    helper = _thread.helped
    if helper is None:
        return fn()
    result: R = helper.ask(fn)
    return result
