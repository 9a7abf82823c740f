"""The first step of a call of an object that has a short way, in machine code.

The `__call__` of such objects begins in Python with ``if self._fast is not None: return self._fast(*args, **kwargs)``.
That step alone costs more than many compiled programs take.  Here a function gets another way in, which does just that
and leaves everything else to the function itself; the function stays what it is, with its code, signature and name.
"""

from __future__ import annotations

import ctypes
import operator
import types
from collections.abc import Callable
from functools import cache
from typing import Any, cast

from ....errors import leave_user_frames
from ..jit.engine import Loaded, load
from . import abi
from .memory_guards import place_of_field

__all__ = ["hasten", "works"]

_NAME = "_fast"
_CONTEXT = ("none", "name", "left", "code", "plain")


def hasten(function: types.FunctionType) -> bool:
    """Lets calls of a `__call__` take the way `_fast` of their first argument at once; whether that is so now.

    Where the function gets other code, that counts.
    """
    return works() and _given_front(function) is not None


#: The machine code in front of functions, which lives as long as the process.
_fronts: dict[types.FunctionType, Loaded] = {}


def _given_front(function: types.FunctionType) -> Loaded | None:
    if function not in _fronts:
        place, where = place_of_field("__code__"), _place()
        if place is None or where is None:
            return None
        text = _TEXT.replace("<code>", str(place))
        for i, name in enumerate(_CONTEXT):
            text = text.replace(f"<at {name}>", f"getelementptr (i8, ptr @context, i64 {8 * i})")
        front = load(text, context_size=len(_CONTEXT))
        code, plain = id(function.__code__), abi.word(id(function) + where)
        front.fill([id(None), id(_NAME), id(_left), code, plain])
        _fronts[function] = front
        _keep_forever((function, function.__code__, front, _NAME, _left))
        _set_way_in(function, where, front.address("front"))
    return _fronts[function]


def _keep_forever(what: object) -> None:
    """Calls may come as long as there is a process, after its modules were taken apart, too."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(what))


def _left(error: BaseException) -> None:
    """What is done with an exception that leaves."""
    if isinstance(error, Exception):
        leave_user_frames(error)


def _set_way_in(function: types.FunctionType, where: int, address: int) -> None:
    if _setter() is None:
        ctypes.c_void_p.from_address(id(function) + where).value = address
    else:
        _setter()(function, address)


def _setter() -> Any:
    """Python's own function for that, which 3.11 has not."""
    try:
        return ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_void_p)(
            ("PyFunction_SetVectorcall", ctypes.pythonapi)
        )
    except AttributeError:
        return None


@cache
def _place() -> int | None:
    """Where a function has the address of what calls it."""
    try:
        if _setter() is None:
            usual = ctypes.cast(ctypes.pythonapi._PyFunction_Vectorcall, ctypes.c_void_p).value
            places = [_where(f, usual) for f in (_left, hasten)]
        else:
            places = [_where_set(mark) for mark in (0x5A5A5A50, 0x3C3C3C30)]
    except AttributeError:
        return None
    return places[0][0] if len(places[0]) == 1 and places[0] == places[1] else None


def _where(function: Any, what: int | None) -> list[int]:
    words = range(object.__basicsize__, types.FunctionType.__basicsize__ // 8 * 8, 8)
    return [at for at in words if abi.word(id(function) + at) == what]


def _where_set(mark: int) -> list[int]:
    def never_called() -> None:
        pass

    before = _where(never_called, mark)
    _setter()(never_called, mark)
    return [at for at in _where(never_called, mark) if at not in before]


@cache
def works() -> bool:
    """Whether calls come the way that is set here, tried on an object of our own."""
    seen: list[Any] = []

    def fast(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(self)
        return None if self._fast is None else self._fast(*args, **kwargs)

    made = type("Made", (), {_NAME: None, "__call__": call})
    if _given_front(cast(types.FunctionType, call)) is None:
        return False
    one: Callable[..., Any] = made()
    if one(1) is not None or seen != [one]:
        return False
    one._fast = fast  # type: ignore[attr-defined]
    found = [one(), one(1, 2), one(1, a=2), operator.methodcaller("__call__", 3)(one)]
    return found == [((), {}), ((1, 2), {}), ((1,), {"a": 2}), ((3,), {})] and len(seen) == 1


_TEXT = """
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare void @PyErr_Clear()
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare ptr @PyException_GetTraceback(ptr)

define ptr @front(ptr %function, ptr %args, i64 %counted, ptr %names) {
  %code.at = getelementptr i8, ptr %function, i64 <code>
  %code = load ptr, ptr %code.at
  %known = load ptr, ptr <at code>
  %same = icmp eq ptr %code, %known
  %count = and i64 %counted, 9223372036854775807
  %some = icmp ne i64 %count, 0
  %may = and i1 %same, %some
  br i1 %may, label %look, label %whole
look:
  %self = load ptr, ptr %args
  %name = load ptr, ptr <at name>
  %fast = call ptr @PyObject_GetAttr(ptr %self, ptr %name)
  %lost = icmp eq ptr %fast, null
  br i1 %lost, label %without, label %ask
without:
  call void @PyErr_Clear()
  br label %whole
ask:
  %none = load ptr, ptr <at none>
  %nothing = icmp eq ptr %fast, %none
  br i1 %nothing, label %drop, label %take
drop:
  call void @Py_DecRef(ptr %fast)
  br label %whole
whole:
  %plain = load ptr, ptr <at plain>
  %slowly = tail call ptr %plain(ptr %function, ptr %args, i64 %counted, ptr %names)
  ret ptr %slowly
take:
  %rest = getelementptr i8, ptr %args, i64 8
  %fewer = sub i64 %count, 1
  %found = call ptr @PyObject_Vectorcall(ptr %fast, ptr %rest, i64 %fewer, ptr %names)
  call void @Py_DecRef(ptr %fast)
  %failed = icmp eq ptr %found, null
  br i1 %failed, label %leave, label %give
give:
  ret ptr %found
leave:
  call void @front.left()
  ret ptr null
}

; Shows the exception that is set to the function for those that leave.
define private void @front.left() noinline cold {
  %kind.at = alloca ptr
  %error.at = alloca ptr
  %trace.at = alloca ptr
  call void @PyErr_Fetch(ptr %kind.at, ptr %error.at, ptr %trace.at)
  call void @PyErr_NormalizeException(ptr %kind.at, ptr %error.at, ptr %trace.at)
  %trace = load ptr, ptr %trace.at
  %error = load ptr, ptr %error.at
  %bare = icmp eq ptr %trace, null
  br i1 %bare, label %show, label %set
set:
  %ignored = call i32 @PyException_SetTraceback(ptr %error, ptr %trace)
  call void @Py_DecRef(ptr %trace)
  br label %show
show:
  %left = load ptr, ptr <at left>
  %done = call ptr @PyObject_Vectorcall(ptr %left, ptr %error.at, i64 1, ptr null)
  %failed = icmp eq ptr %done, null
  br i1 %failed, label %clear, label %drop
clear:
  call void @PyErr_Clear()
  br label %restore
drop:
  call void @Py_DecRef(ptr %done)
  br label %restore
restore:
  %kind = load ptr, ptr %kind.at
  %shorter = call ptr @PyException_GetTraceback(ptr %error)
  call void @PyErr_Restore(ptr %kind, ptr %error, ptr %shorter)
  ret void
}
"""
