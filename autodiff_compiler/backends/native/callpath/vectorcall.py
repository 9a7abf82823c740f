"""A vectorcall stub for `__call__` of objects with a fast path.

Their `__call__` begins in Python with ``if self._fast is not None: return self._fast(*args, **kwargs)``, which costs
more than many compiled programs.  The stub does just that step in machine code, and calls the function's own vectorcall
for everything else; the function keeps its code, signature and name.
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
from ..jit.machine import this_host
from . import abi
from .memory_guards import place_of_field

_NAME = "_fast"
_CONTEXT = ("none", "name", "left", "code", "plain")


def install_vectorcall(function: types.FunctionType) -> bool:
    """Makes calls of a `__call__` enter ``self._fast`` directly, if that is set; whether this works here.

    If the function gets other code (``__code__``), that runs.
    """
    return vectorcall_is_known() and _stub_of(function) is not None


#: The stubs of functions; they live as long as the process.
_stubs: dict[types.FunctionType, Loaded] = {}


def _stub_of(function: types.FunctionType) -> Loaded | None:
    if function not in _stubs:
        place, where = place_of_field("__code__"), _place()
        if place is None or where is None:
            return None
        text = _TEXT.replace("<code>", str(place))
        for i, name in enumerate(_CONTEXT):
            text = text.replace(f"<at {name}>", f"getelementptr (i8, ptr @context, i64 {8 * i})")
        stub = load(text, context_size=len(_CONTEXT), target=this_host())
        code, plain = id(function.__code__), abi.word(id(function) + where)
        stub.fill([id(None), id(_NAME), id(_left), code, plain])
        _stubs[function] = stub
        _keep_forever((function, function.__code__, stub, _NAME, _left))
        _set_vectorcall(function, where, stub.address("vectorcall_stub"))
    return _stubs[function]


def _keep_forever(what: object) -> None:
    """Never frees an object: calls may come until the process ends, even after its modules were cleared."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(what))


def _left(error: BaseException) -> None:
    """Called with an exception that leaves the stub."""
    if isinstance(error, Exception):
        leave_user_frames(error)


def _set_vectorcall(function: types.FunctionType, where: int, address: int) -> None:
    if _setter() is None:
        ctypes.c_void_p.from_address(id(function) + where).value = address
    else:
        _setter()(function, address)


def _setter() -> Any:
    """CPython's function that sets a vectorcall; None in 3.11, which has none."""
    try:
        return ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_void_p)(
            ("PyFunction_SetVectorcall", ctypes.pythonapi)
        )
    except AttributeError:
        return None


@cache
def _place() -> int | None:
    """The offset in a function of its vectorcall pointer, found by search; None if it is not found."""
    try:
        if _setter() is None:
            usual = ctypes.cast(ctypes.pythonapi._PyFunction_Vectorcall, ctypes.c_void_p).value
            places = [_where(f, usual) for f in (_left, install_vectorcall)]
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
def vectorcall_is_known() -> bool:
    """Self-test: whether calls enter the stub and do the right thing, tried on an object of our own."""
    seen: list[Any] = []

    def fast(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(self)
        return None if self._fast is None else self._fast(*args, **kwargs)

    made = type("Made", (), {_NAME: None, "__call__": call})
    if _stub_of(cast(types.FunctionType, call)) is None:
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

define ptr @vectorcall_stub(ptr %function, ptr %args, i64 %counted, ptr %names) {
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
  call void @vectorcall_stub.left()
  ret ptr null
}

; Calls `_left` with the exception that is set.
define private void @vectorcall_stub.left() noinline cold {
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
