"""Calls of Python: ops without native code run their NumPy kernels on the program's arrays.

The code stores the pointers of operands and results in a table, and behind them the sizes that only the call knows, and
calls `@call_host` with the number of the call.  If the kernel raises, the exception stays set, and the program returns
at once.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import escape
from ....errors import CompileError
from ....ir.core import Op
from ....ir.primitive import kernel_of
from ....ir.printer import attributes_text
from ....ir.sizes import Dim, Symbol, evaluate, size_of
from ....ir.types import Shape, TensorType, tensor
from ....source import Loc, line_of
from ..codegen.emit import i64
from ..codegen.lanes import NotNativeError
from ..codegen.values import Array
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan

#: Calls the function of `run_hosts` with the number of the call and the address of its table of pointers.
_CALL_HOST = """define internal i32 @call_host(i64 %number, ptr %pointers) noinline {
  %args = alloca [2 x ptr], align 8
  %address = ptrtoint ptr %pointers to i64
  %which = call ptr @PyLong_FromLongLong(i64 %number)
  %place = call ptr @PyLong_FromLongLong(i64 %address)
  %second = getelementptr i8, ptr %args, i64 8
  store ptr %which, ptr %args, align 8
  store ptr %place, ptr %second, align 8
  %run = load ptr, ptr <host>, align 8
  %result = call ptr @PyObject_Vectorcall(ptr %run, ptr %args, i64 2, ptr null)
  call void @Py_DecRef(ptr %which)
  call void @Py_DecRef(ptr %place)
  call void @Py_DecRef(ptr %result)
  %failed = icmp eq ptr %result, null
  %code = zext i1 %failed to i32
  ret i32 %code
}"""
_DECLARES = (
    "declare ptr @PyLong_FromLongLong(i64)",
    "declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)",
    "declare void @Py_DecRef(ptr)",
)


@dataclass(eq=False)
class Host:
    """One call: the function, and the views of its operands and results.

    `symbols`: those of the sizes that views have; where it `takes_sizes`, `run` is given their values by name, too.
    `copies`: it gets copies of operands, as it may keep or change them.  `returns`: False if it always raises.
    `commits` run if it raises (see `runtime.commits`): functions, each with how many of the arrays `noted`, which
    stand behind the results, it takes.
    """

    run: Callable[..., Any]
    operands: Sequence[View]
    results: Sequence[View]
    copies: bool = False
    returns: bool = True
    commits: Sequence[tuple[Callable[..., Any], int]] = ()
    noted: Sequence[View] = ()
    loc: Loc | None = None
    symbols: Sequence[Symbol] = ()
    takes_sizes: bool = False

    def __post_init__(self) -> None:
        views = (*self.operands, *self.results, *self.noted)
        self._words = len(views)
        self._table = ctypes.c_void_p * len(views)
        self._sizes = ctypes.c_int64 * len(self.symbols)

    def __call__(self, place: int) -> None:
        pointers = self._table.from_address(place)
        if not self.symbols:
            self._called(self.run, pointers, self.operands, self.results, self.noted)
            return
        numbers = self._sizes.from_address(place + 8 * self._words)
        sizes = {symbol.name: n for symbol, n in zip(self.symbols, numbers, strict=True)}
        views = [[view.sized(sizes) for view in each] for each in (self.operands, self.results, self.noted)]
        self._called(functools.partial(self.run, sizes=sizes) if self.takes_sizes else self.run, pointers, *views)

    def _called(
        self,
        run: Callable[..., Any],
        pointers: Any,
        operands: Sequence[View],
        results: Sequence[View],
        noted_views: Sequence[View],
    ) -> None:
        n, end = len(operands), len(operands) + len(results)
        arrays = [view.at(p) for view, p in zip(operands, pointers, strict=False)]
        if self.copies:
            arrays = [np.array(a) for a in arrays]
        try:
            with np.errstate(all="ignore"):
                found = run(*arrays)
            if len(results) == 1 and not isinstance(found, tuple | list):
                found = (found,)
            for view, p, value in zip(results, pointers[n:end], found or (), strict=True):
                view.at(p)[...] = value
        except BaseException as error:
            noted = [np.array(view.at(p)) for view, p in zip(noted_views, pointers[end:], strict=True)]
            for note, count in self.commits:
                note(*noted[:count])
                del noted[:count]
            if isinstance(error, Exception) and not any("raised at" in n for n in getattr(error, "__notes__", ())):
                _name_line(error, self.loc)
            raise


def _name_line(error: Exception, loc: Loc | None) -> None:
    """Adds a note with the user's line to an error, unless the error has a line itself."""
    if loc is not None and not isinstance(error, CompileError):
        line = escape.line(line_of(loc.file, loc.line).strip())
        tag = escape.line(f" {loc.tag}") if loc.tag else ""
        error.add_note(f"raised at {loc.short}{tag}" + (f": {line}" if line else ""))


class View:
    """The shape, strides and dtype of an array, to be put on a pointer."""

    def __init__(self, type: TensorType, strides: Shape) -> None:
        self.type, self.shape, self.strides, self.dtype = type, type.shape, strides, type.dtype.numpy
        self.is_open = any(not isinstance(d, int) for d in (*type.shape, *strides))
        if not self.is_open:
            # With negative strides the pointer is not the lowest byte.
            spans: Any = [(d - 1) * s for d, s in zip(type.shape, strides, strict=True)]
            self.below = sum(min(s, 0) for s in spans)
            self._memory = ctypes.c_char * (sum(map(abs, spans)) + type.dtype.itemsize)

    def sized(self, sizes: Mapping[str, int]) -> View:
        """The view in a call with these sizes."""
        if not self.is_open:
            return self
        shape, strides = (tuple([evaluate(d, sizes) for d in each]) for each in (self.shape, self.strides))
        return View(tensor(self.type.dtype, shape), strides)

    def at(self, pointer: int | None) -> np.ndarray[Any, Any]:
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        assert pointer is not None
        memory = self._memory.from_address(pointer + self.below)
        return np.ndarray(self.shape, self.dtype, memory, -self.below, self.strides)


def run_hosts(hosts: Sequence[Host]) -> Callable[[int, int], None]:
    """The Python function that `@call_host` calls."""

    def run(number: int, place: int) -> None:
        hosts[number](place)

    return run


def lower_host(low: BufferPlan, op: Op) -> None:
    """Lowers an op to a call of its NumPy kernel."""
    if op.defn.numpy is None and op.defn.scalar is None:
        raise NotNativeError(op.defn.name)
    attributes = dict(zip(op.defn.schema, op.attrs, strict=True))
    kernel = kernel_of(op.defn)

    def run(*arrays: Any, sizes: Mapping[str, int] | None = None) -> Any:
        known = attributes if sizes is None else {name: sized(x, sizes) for name, x in attributes.items()}
        return kernel(*arrays, **known)

    call_host(low, op, run, takes_sizes=True)


def sized(value: Any, sizes: Mapping[str, int]) -> Any:
    """An attribute in a call with these sizes."""
    if isinstance(value, tuple):
        return tuple([sized(x, sizes) for x in value])
    return evaluate(value, sizes) if isinstance(value, Dim) else value


def call_host(
    low: BufferPlan,
    op: Op,
    run: Callable[..., Any],
    operands: Sequence[Any] | None = None,
    *,
    copies: bool = False,
    returns: bool = True,
    takes_sizes: bool = False,
) -> None:
    """Writes a call of `run` with the op's operands (or `operands`) as arrays, which returns the op's results."""
    operands = [array_of(low, x) for x in (op.operands if operands is None else operands)]
    results = []
    for r in op.results:
        if not isinstance(r.type, TensorType):
            raise NotNativeError(f"{op.defn.name} makes {r.type}")
        results.append(low.target_in_memory(r))
    low.text.note(f"Python runs: {_summary(low, op)}")
    more: dict[str, Any] = {"copies": copies, "returns": returns, "takes_sizes": takes_sizes}
    call_python(low, run, operands, results, loc=op.loc, **more)
    for r, array in zip(op.results, results, strict=True):
        low.load_scalar(r, array)


def _summary(low: BufferPlan, op: Op) -> str:
    """A comment for a call: the op with its attributes, and what its callable says of itself (`tells`)."""
    called = [op.attr(word) for word in ("exception", "fn") if word in op.defn.schema]
    tells = [getattr(low.module.callables.get(name.removeprefix("@")), "tells", None) for name in called]
    return escape.ascii_line(" ".join([f"{op.defn.name}{attributes_text(op)}", *filter(None, tells)]))


def call_python(
    low: BufferPlan,
    run: Callable[..., Any],
    operands: Sequence[Array],
    results: Sequence[Array],
    *,
    copies: bool = False,
    returns: bool = True,
    takes_sizes: bool = False,
    loc: Loc | None = None,
) -> None:
    """Writes a call of `run` with the arrays `operands`, whose results go to the arrays `results`."""
    text = low.text
    noted = [array_of(low, x) for op in low.noting for x in op.operands]
    arrays = [*operands, *results, *noted]
    symbols = list(text.symbols)  # a driver has all of them
    table = low.buffer(8 * max(1, len(arrays) + len(symbols)))
    for i, array in enumerate(arrays):
        low.touch(array)
        text.store(text.at(array.base, array.offset), text.at(table.base, 8 * i), 8)
    for i, symbol in enumerate(symbols, len(arrays)):
        text.store(text.whole(size_of(symbol)), text.at(table.base, 8 * i), 8)
    views = [View(a.type, a.strides) for a in arrays]
    n, end = len(operands), len(operands) + len(results)
    commits = [(low.module.callables[op.attr("fn").removeprefix("@")], len(op.operands)) for op in low.noting]
    more: dict[str, Any] = {"copies": copies, "returns": returns, "commits": commits, "noted": views[end:]}
    more |= {"symbols": symbols, "takes_sizes": takes_sizes}
    low.hosts.append(Host(run, views[:n], views[n:end], loc=loc or low.loc, **more))
    number = i64(len(low.hosts) - 1)
    text.needs["call_host"] = _CALL_HOST.replace("<host>", low.context.place("host"))
    text.declares.update(_DECLARES)
    failed = text.make("i32", f"call i32 @call_host({number}, {table.base})")
    text.leave_if(text.make("i1", f"icmp ne {failed}, 0"))
    low.may_fail()


def array_of(low: BufferPlan, x: Any) -> Array:
    if not isinstance(x.type, TensorType):
        raise NotNativeError(f"a kernel takes {x.type}")
    return low.in_memory(x, ordered=False)


OPS["host"] = lower_host
