"""Modules with hand-written mains, called through the entries under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_compiler.backends.native.callpath.entry import MachineEntry
from autodiff_compiler.backends.native.callpath.plain import PlainEntry
from autodiff_compiler.backends.native.callpath.signature import Argument, Result, Signature
from autodiff_compiler.backends.native.codegen.emitter import Context
from autodiff_compiler.backends.native.jit.engine import load
from autodiff_compiler.dtypes import float32

ENTRIES = {"fast": MachineEntry, "ctypes": PlainEntry}
V8 = Argument(float32, (8,))
R8 = Result(float32, (8,))

#: o = a + b of eight floats
ADD = """
define i32 @main(ptr %frame, ptr %a, ptr %b, ptr %o) {
  %x = load <8 x float>, ptr %a, align 4
  %y = load <8 x float>, ptr %b, align 4
  %z = fadd <8 x float> %x, %y
  store <8 x float> %z, ptr %o, align 4
  ret i32 0
}
"""
#: a += b
ADD_TO = ADD.replace(", ptr %o)", ")").replace("ptr %o", "ptr %a")

#: Calls the function `callback` of the context; fails with what it raises.  Then o = a, eight floats.
CALLBACK = """
declare ptr @PyObject_CallNoArgs(ptr)
define i32 @main(ptr %frame, ptr %a, ptr %o) {
  %f = load ptr, ptr <place>
  %r = call ptr @PyObject_CallNoArgs(ptr %f)
  %bad = icmp eq ptr %r, null
  br i1 %bad, label %fail, label %good
fail:
  ret i32 1
good:
  call void @Py_DecRef(ptr %r)
  %x = load <8 x float>, ptr %a, align 4
  store <8 x float> %x, ptr %o, align 4
  ret i32 0
}
"""


def copying(nbytes: int) -> str:
    """o = a"""
    return f"""
declare ptr @memcpy(ptr, ptr, i64)
define i32 @main(ptr %frame, ptr %a, ptr %o) {{
  %r = call ptr @memcpy(ptr %o, ptr %a, i64 {nbytes})
  ret i32 0
}}
"""


def slow(*args: Any, **options: Any) -> Any:
    """What Python would do with a call; says which it was."""
    return "slow", args, options


class Made:
    """A module and the function it is."""

    def __init__(
        self,
        kind: str,
        signature: Signature,
        main: str,
        slow: Callable[..., Any] = slow,
        callback: Any = None,
        others: dict[str, int] | None = None,
    ) -> None:
        context = Context()
        entry = ENTRIES[kind](signature, context)
        others = dict(others or {})
        if "<place>" in main:
            main = main.replace("<place>", context.place("callback"))
            others["callback"] = id(callback)
        #: lives as long as the callback is needed
        self.callback = callback
        given = {line for line in main.split("\n") if line.startswith("declare")}
        declares = entry.declares | {"declare void @Py_DecRef(ptr)"} if callback else entry.declares
        self.text = "\n".join([*sorted(declares - given), main, entry.text])
        self.function = entry.bind(load(self.text, context_size=len(context)), slow, "sample", others)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*args, **options)


def floats(*values: float) -> np.ndarray[Any, Any]:
    """Eight floats, zeros behind those given."""
    found = np.zeros(8, np.float32)
    found[: len(values)] = values
    return found
