"""`jit`: a function or Cell that is compiled at its first call with new types."""

from __future__ import annotations

import copy
import functools
import os
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..compiler.artifact import Artifact
from ..compiler.specialise import Key, described, signature
from ..compiler.specialised import Specialised, specialise
from ..config import jit_disabled
from ..errors import InternalCompilerError
from ..frontend.lower import Options
from ..locks import Lock
from ..runtime.tensor import Tensor

__all__ = ["JitFunction", "jit"]

_MAX_ENTRIES = 64
_MAX_PER_KEY = 8


class JitFunction:
    """A compiled function: called like the original.

    Calls with new types of Tensors, or new values of anything else, compile again; so do calls after something that
    the function read from outside has changed.  At most 64 compiled forms are kept, the least recently used goes first.
    """

    def __init__(self, fn: Any, options: Options) -> None:
        self._fn = fn
        self._options = options
        self._entries: OrderedDict[Key, list[Specialised]] = OrderedDict()
        #: types and entry of the last call whose arguments were Tensors only: such a call needs no key
        self._last: tuple[tuple[Any, ...], Specialised | None] = ((), None)
        self._lock = Lock()
        self._compiles = 0
        name = getattr(fn, "__name__", None) or type(fn).__name__
        self._name = "lambda" if name == "<lambda>" else name
        if isinstance(fn, types.FunctionType):
            functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if jit_disabled():
            return self._fn(*args, **kwargs)
        types, entry = self._last
        if entry is not None and len(types) == len(args) and not kwargs and entry.valid():
            for x, t in zip(args, types):  # noqa: B905  (the lengths are equal, and `strict` costs time)
                if type(x) is not Tensor or (x._data.dtype, x._data.shape) != t:
                    break
            else:
                return entry(args)
        key, leaves = signature(args, kwargs)
        for place, entry in enumerate(self._entries.get(key, ())):
            if entry.valid():
                if place:
                    self._to_front(key, entry)
                if len(leaves) == len(args) and not kwargs and all(type(x) is Tensor for x in args):
                    self._last = tuple([(x._data.dtype, x._data.shape) for x in args]), entry
                return entry(leaves)
        return self._compiled(key, args, kwargs)(leaves)

    def _compiled(self, key: Key, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialised:
        """The valid entry of a key, compiled if there is none; one thread at a time compiles a function."""
        with self._lock:
            for entry in self._entries.get(key, ()):
                if entry.valid():
                    return entry
            try:
                entry = specialise(self._fn, args, kwargs, self._options, self._name)
            except Exception as error:
                if os.environ.get("AC_FULL_TRACEBACK") or isinstance(error, InternalCompilerError):
                    raise
                # The compiler's own frames say nothing about the user's mistake.
                raise error.with_traceback(None) from None
            self._compiles += 1
            self._to_front(key, entry)
            return entry

    def _to_front(self, key: Key, entry: Specialised) -> None:
        """Makes an entry the one used last.  Those that are not valid now stay: what they read may change back."""
        with self._lock:
            # Lists are replaced, never changed: other threads may be iterating over them.
            others = [e for e in self._entries.get(key, ()) if e is not entry]
            self._entries[key] = [entry, *others[: _MAX_PER_KEY - 1]]
            self._entries.move_to_end(key)
            while sum(map(len, self._entries.values())) > _MAX_ENTRIES:
                oldest = next(iter(self._entries))
                kept = self._entries[oldest][:-1]
                if kept:
                    self._entries[oldest] = kept
                else:
                    del self._entries[oldest]

    def lower(self, *args: Any, **kwargs: Any) -> Artifact:
        """What compilation makes of a call with these arguments: IR at every stage, generated code, explanation."""
        key, _ = signature(args, kwargs)
        entry = self._compiled(key, args, kwargs)
        return Artifact(self._name, self._fn, described(args, kwargs), entry)

    def cache_info(self) -> dict[str, int]:
        """How many compiled forms are kept and how many compilations there were."""
        return {"entries": sum(map(len, self._entries.values())), "compiles": self._compiles}

    def clear_cache(self) -> None:
        """Forgets all compiled forms."""
        with self._lock:
            self._entries = OrderedDict()
            self._last = ((), None)

    @property
    def __wrapped__(self) -> Any:
        return self._fn

    @__wrapped__.setter
    def __wrapped__(self, fn: Any) -> None:
        pass

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else _Bound(self, instance)

    def __graph_call__(self, lw: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Called from compiled code, the function becomes a part of the caller."""
        return lw.call(self._fn, args, kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> JitFunction:
        return JitFunction(copy.deepcopy(self._fn, memo), self._options)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: pickle the function and apply jit again")

    def __repr__(self) -> str:
        return f"<jit of {self._name}>"


class _Bound:
    """A compiled method of one object."""

    is_bound_method = True

    def __init__(self, function: JitFunction, instance: Any) -> None:
        self.__func__, self.__self__ = function, instance
        self.__name__ = function._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Artifact:
        """See `JitFunction.lower`."""
        return self.__func__.lower(self.__self__, *args, **kwargs)

    def __graph_call__(self, lw: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return lw.call(types.MethodType(self.__func__._fn, self.__self__), args, kwargs)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    unroll_limit: int = 8,
    unroll_max: int = 1024,
    **options: Any,
) -> Any:
    """Compiles a function, method or Cell: Python control flow on Tensors becomes part of one program.

    Used as ``@jit``, ``@jit(unroll_limit=4)`` or ``jit(fn)``.  Tensor arguments are dynamic (their dtype and shape
    select the compiled form), numbers, strings and other objects are compile-time constants.  `unroll_limit` and
    `unroll_max` say up to how many trips a loop with a known number of them is unrolled at once, and at most.  The
    other arguments are MindSpore's; they are accepted and change nothing.

    Raises CompileError (with the place in the source and advice) for what cannot be compiled.

    >>> from autodiff_compiler import Tensor
    >>> @jit
    ... def f(x):
    ...     while x.sum() < 10:
    ...         x = x * 2
    ...     return x
    >>> f(Tensor([1.0, 2.0])).tolist()
    [4.0, 8.0]
    """
    chosen = Options(unroll_limit, unroll_max)
    if function is None:
        return lambda fn: jit(fn, unroll_limit=unroll_limit, unroll_max=unroll_max)
    if isinstance(function, JitFunction):
        return function
    if isinstance(function, types.MethodType):
        return _Bound(JitFunction(function.__func__, chosen), function.__self__)
    if not callable(function):
        raise TypeError(f"jit() takes a function or a Cell, not a {type(function).__name__}")
    return JitFunction(function, chosen)
