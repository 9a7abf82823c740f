"""Functions and classes of other packages: pure ones run natively while compiling, if all they get is static.

Their own source is never compiled.  A function of the user's that such a function is given is compiled where it is
called, so that what it reads is guarded.
"""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import operator
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import SideEffectError, StaticValueError, UnsupportedCallError
from ...ir.build import current
from ...runtime.host import name_of
from ...runtime.tensor import Tensor
from ..guards.objects import class_attribute, is_ours, peek, type_of
from .base import variable_of
from .elements import iterate_live
from .frames import Closure
from .interpreter import ValueContext
from .iterators import wrapped
from .numpy_calls import numpy_call
from .purity import compiled, run_now
from .requirements import check_key, check_seen, with_known_sizes
from .rules import intrinsic_of
from .structure import flatten, is_static, map_leaves, plain_copy
from .values import LocalDict, LocalList, TensorVar, describe, is_iterator

_PURE = {
    "math", "cmath", "operator", "itertools", "functools", "numpy", "scipy", "builtins", "_operator", "collections",
    "string", "re", "copy", "fractions", "decimal", "statistics", "bisect", "_bisect", "heapq", "_heapq", "textwrap",
    "numbers", "_functools", "_collections", "struct", "_struct", "json", "ml_dtypes", "_decimal", "packaging",
    "inspect",
}  # fmt: skip
IMPURE = {
    "time", "random", "os", "posix", "nt", "uuid", "socket", "subprocess", "secrets", "_random", "io", "datetime",
    "tempfile", "shutil", "pathlib", "logging", "urllib", "platform", "getpass", "sys", "threading",
}  # fmt: skip
#: Modules whose functions are not compiled from their source, whatever they are given.
_NATIVE_ONLY = {"numpy", "scipy", "ml_dtypes"}
#: Where a function of the user's may be an argument that is called.
_CALLING = {"numpy", "scipy", "itertools", "re", "bisect", "_bisect", "heapq", "_heapq", "functools", "_functools"}
#: Where a function of the user's is only kept.
_KEEPING = {"partial", "wraps", "update_wrapper", "lru_cache", "cache", "partialmethod"}

_NUMPY_IMPURE = {
    "load", "save", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap",
    "set_printoptions", "seterr", "seterrcall", "setbufsize", "show_config", "show_runtime", "info", "test", "empty",
    "empty_like", "tofile", "dump", "rvs",
}  # fmt: skip
#: What looks at the frames that run: compiled code has none.
_FRAMES = (inspect.currentframe, inspect.stack, inspect.trace, inspect.getouterframes, inspect.getinnerframes)
_WRITING = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "at"}
_ARRAY_WRITING = {"sort", "fill", "put", "partition", "resize", "setflags", "setfield", "byteswap", "__setitem__"}

#: Containers of classes that compiled code does not know how to change.
_USERS = (collections.ChainMap, collections.UserDict, collections.UserList)
_CONTAINERS = (collections.deque, dict, list, set, bytearray, *_USERS)
CONTAINER_WRITING = {
    *("append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "rotate"),
    *("clear", "reverse", "sort", "update", "subtract", "setdefault", "add", "discard", "move_to_end", "__setitem__"),
    *("__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__", "__init__", "__setstate__"),
    *("difference_update", "intersection_update", "symmetric_difference_update"),
}
_CHANGING = {"heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "insort_left", "insort_right"}

_LOGGING = {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"}
_TO_DEBUG = "switch compiling off to debug: `with ms.disable_jit():` around the call, or AC_DISABLE_JIT=1 for all"
_FORBIDDEN: set[Any] = {
    eval, exec, compile, globals, locals, vars, dir, id, hash, input, open, breakpoint, __import__, memoryview,
}  # fmt: skip


def module_of(fn: Any) -> str:
    """The module of a function, of the class of a bound method's object, or of an object's class."""
    owner = peek(fn, "__self__")
    if owner is not None and not isinstance(owner, types.ModuleType) and not isinstance(fn, types.FunctionType):
        return str((owner if isinstance(owner, type) else type(owner)).__module__)
    found = peek(fn, "__module__") or peek(owner, "__name__")
    if not isinstance(found, str):
        found = type(fn).__module__
    return found


def public_name(fn: Any, name: str, module: str) -> str:
    """What a user calls a function of a library: ``random.random``, though that is a method of a hidden object."""
    last, packages = name.rpartition(".")[2], module.split(".")
    for depth in range(1, len(packages) + 1):
        path = _SPOKEN.get(module) or ".".join(packages[:depth])
        if getattr(sys.modules.get(path), last, None) == fn:
            return f"{path}.{last}"
    return name if any(part.startswith("_") for part in packages) else f"{module}.{name}"


#: Modules that users know by another name.
_SPOKEN = {"posix": "os", "nt": "os", "_io": "io"}


def is_foreign(fn: Any) -> bool:
    """Whether a function, method, class or callable object is one of those whose source is never compiled."""
    return module_of(fn).partition(".")[0] in _NATIVE_ONLY


def is_pure(fn: Any) -> bool:
    """Whether the module of a function or class is known to have no effects, whoever looks at the result."""
    return module_of(fn).partition(".")[0] in _PURE


def runs_natively(fn: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether the source of a Python function, method or callable object is left alone in this call."""
    if isinstance(fn, type) or is_ours(fn):
        return False
    if not isinstance(fn, types.FunctionType | types.MethodType):
        return is_foreign(fn) and isinstance(class_attribute(type(fn), "__call__"), types.FunctionType)
    root = module_of(fn).partition(".")[0]
    if root in _NATIVE_ONLY or root in IMPURE:
        return True
    return root in _PURE and is_static((args, tuple(kwargs.values())))


def foreign_call(ctx: ValueContext, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The call of something that is not compiled from source: evaluated now if it is pure and its arguments static."""
    name, module, owner = _known_as(fn)
    root = module.partition(".")[0]
    if isinstance(fn, types.MethodDescriptorType | types.WrapperDescriptorType) and args:  # `list.append`
        if isinstance(args[0], list | dict | set) and isinstance(args[0], fn.__objclass__):
            return variable_of(args[0]).call_method(ctx, fn.__name__, args[1:], kwargs)
        owner = args[0] if isinstance(args[0], _CONTAINERS) else owner
    if type(fn) is _MEMOISED and is_static((args, tuple(kwargs.values()))):
        return _remembered(ctx, fn, args, kwargs)
    _refuse_impure(fn, name, module, owner, kwargs)
    if root in _USING_UP or fn in (frozenset, bytes, bytearray):
        args = [list(iterate_live(ctx, a)) if is_iterator(a) else a for a in args]
    given = (args, tuple(kwargs.values()))
    if not is_static(given):
        return _dynamic_call(ctx, fn, name, root, args, kwargs)
    if root not in ("itertools", "collections"):  # which hand elements on without looking at them
        check_seen((given, owner) if isinstance(owner, slice) else given, f"{name}()")
    if name in _CHANGING or fn is operator.delitem:
        variable_of(args[0]).check_local(ctx)
        ctx.effects.change(args[0])
    if root in _CALLING and getattr(fn, "__name__", "") not in _KEEPING:
        args = [_calling(ctx, a) for a in args]
        kwargs = {k: _calling(ctx, v) for k, v in kwargs.items()}
        if type(fn) is np.vectorize:
            fn = copy.copy(fn)
            fn.pyfunc = _compiled(ctx, fn.pyfunc)
    found = fn(*args, **kwargs)
    if isinstance(found, np.ndarray | dict | list | set):
        ctx.outside.made.append(found)
    return localized(found)


#: Modules whose functions take all elements of an iterator at once.
_USING_UP = ("collections", "math", "statistics")
_MEMOISED = type(functools.lru_cache(lambda: None))


def _known_as(fn: Any) -> tuple[str, str, Any]:
    """The name of a function, its module, and the object it is a method of."""
    name = peek(fn, "__qualname__") or peek(fn, "__name__") or type(fn).__name__
    return name, module_of(fn), peek(fn, "__self__")


def refuse_call(fn: Any) -> None:
    """Raises what compiled code raises for a call of a library's function, whatever its arguments are."""
    native = _has_no_source(fn) or runs_natively(fn, [], {})
    if native and type(fn) is not _MEMOISED and intrinsic_of(fn) is None and not hasattr(fn, "__graph_call__"):
        _refuse_impure(fn, *_known_as(fn), {})


def _has_no_source(fn: Any) -> bool:
    """Whether a call of an object ends in code that nobody wrote in Python."""
    if isinstance(fn, types.FunctionType | types.MethodType | functools.partial) or is_ours(fn):
        return False
    return not isinstance(class_attribute(type(fn), "__call__"), types.FunctionType)


def _remembered(ctx: ValueContext, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The call of a function that remembers its results: its own memory answers, now and at each call.

    It must be one that could have been compiled, and of which nobody notices when it runs.
    """
    check_key(with_known_sizes((args, tuple(kwargs.values()))))
    part = compiled(ctx, lambda: ctx.call(fn.__wrapped__, list(args), kwargs))
    if part.changes or part.reads:
        raise UnsupportedCallError(
            f"{fn.__name__} remembers its results, but "
            + ("has effects" if part.changes else "reads what is known only at run time"),
            hint="leave the cache out",
        )
    given = tuple(args)

    def ask() -> Any:
        return fn(*given, **kwargs)

    key = ("remembered", id(fn), repr((given, kwargs)), fn)
    return ctx.outside.read(run_now(ask), key, f"what {fn.__name__}() remembers", ask)


def _refuse_impure(fn: Any, name: str, module: str, owner: Any, kwargs: dict[str, Any]) -> None:
    last, root = name.rpartition(".")[2], module.partition(".")[0]
    forbidden = isinstance(fn, types.BuiltinFunctionType | type) and fn in _FORBIDDEN
    impure = not forbidden and root in ("numpy", "scipy") and last in _NUMPY_IMPURE and not isinstance(fn, type)
    if impure or module.startswith("numpy.random") or (root in IMPURE and not forbidden):
        raise _impure(public_name(fn, name, module), "random" in (root, last) or "random" in module)
    if isinstance(owner, _CONTAINERS) and last in CONTAINER_WRITING:
        raise SideEffectError(
            f"{name}() would change a {type(owner).__name__} while compiling, once for all calls",
            code="AC1602",
            hint="use a list, dict or set, or change it outside compiled code",
        )
    writes = root == "numpy" and last in (_ARRAY_WRITING if isinstance(owner, np.ndarray) else _WRITING)
    if writes or (root == "numpy" and kwargs.get("out") is not None):
        raise SideEffectError(
            f"{name}() would change an ndarray while compiling, once for all calls",
            code="AC1602",
            hint="use a function that returns the new array",
        )
    if not callable(fn):
        raise TypeError(f"'{type(fn).__name__}' object is not callable")
    pure = (root in _PURE or isinstance(fn, np.ufunc)) and is_static(owner) and fn not in _FRAMES
    if forbidden or not pure:
        raise UnsupportedCallError(
            f"{name}() cannot be called in compiled code: "
            + ("it means nothing there" if forbidden else "its inside cannot be seen"),
            code="AC1806" if forbidden else "AC1807",
            hint=_TO_DEBUG
            if fn is breakpoint
            else "call it outside of the compiled function, mark it `constexpr` if its arguments are known at compile "
            f"time, or use ms.py_call({last}, ..., out=...)",
        )


def _impure(name: str, random: bool) -> SideEffectError:
    """The error for a function that does or gives something else each time."""
    last = name.rpartition(".")[2]
    result, hint = " and its result frozen", "call it outside and pass the value as an argument"
    if name.startswith("logging.") and last in _LOGGING:
        result, hint = " and not at each run", "use print(), or move it out of the compiled function"
    elif name == "time.sleep":
        result, hint = " and not at each run", "move it out of the compiled function"
    elif random:
        hint += ", or draw random numbers with `ops`"
    return SideEffectError(f"{name} would be called once, while compiling,{result}", code="AC1604", hint=hint)


def _dynamic_call(ctx: ValueContext, fn: Any, name: str, root: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call with values known only at run time."""
    if root in _NATIVE_ONLY:
        return numpy_call(ctx, fn, args, kwargs)
    if isinstance(fn, types.FunctionType) and not is_ours(fn):
        return ctx.call_python(fn, args, kwargs)
    dynamic = next(x for x in flatten((args, tuple(kwargs.values()))) if not is_static(x))
    with_known_sizes(dynamic)
    if isinstance(fn, type) and root == "collections":
        instead = "a list" if fn is collections.deque else "a dict"
        raise StaticValueError(
            f"compiled code makes no {fn.__name__} of what is known only at run time, here a {describe(dynamic)}",
            hint=f"use {instead}",
        ).about(dynamic)
    raise StaticValueError(
        f"an argument of {name}() must be known at compile time, this one is a {describe(dynamic)}"
    ).about(dynamic)


def _calling(ctx: ValueContext, x: Any) -> Any:
    """An argument with the user's functions in it compiled; the very object if there are none."""
    if all(_compiled(ctx, leaf) is leaf for leaf in flatten(x)):
        return x
    return map_leaves(lambda leaf: _compiled(ctx, leaf), x)


def _compiled(ctx: ValueContext, x: Any) -> Any:
    """A function of the user's as one that native code may call: it is compiled there, and its result is static."""
    users = isinstance(x, types.FunctionType | types.MethodType) and not is_ours(x) and not is_foreign(x)
    users = users or isinstance(x, functools.partial)
    if not (users or type(x) is Closure or isinstance(class_attribute(type(x), "__call__"), types.FunctionType)):
        return x
    if is_foreign(x):
        return x

    def run(*args: Any, **kwargs: Any) -> Any:
        found = ctx.call(x, list(args), kwargs)
        if not is_static(found):
            raise StaticValueError(
                f"{getattr(x, '__name__', 'a function')} is called while compiling, so its result must be known then; "
                f"it is a {describe(next(v for v in flatten(found) if not is_static(v)))}"
            )
        return found

    run.__name__ = run.__qualname__ = str(getattr(x, "__name__", "function"))
    return run


def localized(x: Any) -> Any:
    """What native code returned, as compiled code sees it: containers of its own, constant Tensors."""
    if isinstance(x, Tensor):
        return TensorVar(current().array(x.asnumpy().copy(), type_of(x), "constant"))
    if type(x) is list:
        return LocalList(map(localized, x))
    if type(x) is dict:
        return LocalDict({k: localized(v) for k, v in x.items()})
    if type(x) is tuple:
        return tuple(map(localized, x))
    return wrapped(x)


def at_compile_time(ctx: ValueContext, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a `constexpr` function: it runs now."""
    given = (tuple(args), tuple(kwargs.values()))
    if not is_static(given):
        dynamic = next(x for x in flatten(given) if not is_static(x))
        raise StaticValueError(
            f"an argument of {name_of(fn)}(), which runs while compiling, is a {describe(dynamic)}",
            hint="give it numbers, shapes and texts; ms.py_call runs a function at run time",
        ).about(dynamic)
    check_seen(given, f"{name_of(fn)}()")
    plain, named = [plain_copy(a) for a in args], {k: plain_copy(v) for k, v in kwargs.items()}
    return localized(run_now(lambda: fn(*plain, **named)))
