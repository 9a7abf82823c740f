"""Exceptions of compiled code: made, raised and checked at run time, with arguments known only then.

What is raised is an object that Python makes when the program gets there, by the user's own class.  Its traceback ends
in the user's lines, and a note says where they are.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import json
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import AutodiffWarning, CompileError, UnsupportedCallError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.failure import is_ours
from ...ir.primitive import REGISTRY, Effect, F, trace
from ...ir.walk import ops_of
from ...runtime.records import is_named_tuple
from ...runtime.tensor import wrap
from ...source import PACKAGE, Loc, line_of
from ..variables import requirements
from ..variables.interpreter import Diverged
from ..variables.rules import intrinsic
from ..variables.structure import is_static, parts
from ..variables.text import Operands
from ..variables.values import ArrayVar, LocalDict, LocalList, NewException, StateVar, TensorVar, Text, Weak, describe
from .commits import emit_commit, pending
from .effects import EffectContext

__all__ = ["emit_check", "emit_raise", "raise_after_effects", "raising_in_block"]

_NO_CAUSE = object()
#: How deep the arguments of an exception are told, and how many of a container.
_DEPTH, _SHOWN = 4, 16
_BRACKETS: dict[type, str] = {list: "[{}]", LocalList: "[{}]", tuple: "({})", dict: "{{{}}}", LocalDict: "{{{}}}"}
_NUMPY = os.path.dirname(np.__file__)


# ---------------------------------------------------------------------------------------------------- emission
def emit_raise(lw: EffectContext, exception: Any, cause: Any = _NO_CAUSE) -> None:
    """Emits the raising of an exception (a class or an object); the path being compiled ends here."""
    emit_commit(lw, raising=True)
    _emit(lw, exception, cause)
    raise Diverged(exception)


def emit_check(lw: EffectContext, condition: Value, exception: Any) -> None:
    """Emits the raising of an exception where a condition does not hold at run time."""
    if not pending(lw):
        operands, name = _prepared(lw, exception, _NO_CAUSE)
        getattr(F, "assert")(condition, *operands, exception=name)
        return
    outer: Builder = trace.builder
    fine, failing = outer.nested(), outer.nested()
    with failing:
        emit_commit(lw, raising=True)
        _emit(lw, exception, _NO_CAUSE)
    outer.emit_op(REGISTRY["if"], (condition,), (), (fine.ret(), failing.ret()))


def raise_after_effects(lw: EffectContext, error: Exception) -> None:
    """Leaves an exception of Python, met while compiling, to the program if it has done something visible before."""
    ops = ops_of(lw.program.entry.body)
    if not (pending(lw) or any(op.defn.effect > Effect.READ for op in ops)):
        raise error
    _raise_at_run_time(lw, error, lw.program.builder)


@contextlib.contextmanager
def raising_in_block(lw: EffectContext, builder: Builder, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """An exception of Python (`but` of some classes), met while a block is compiled, is raised where the block runs."""
    try:
        yield
    except (CompileError, AutodiffWarning, Diverged):
        raise
    except Exception as error:
        if is_ours(error) or isinstance(error, but):
            raise
        _raise_at_run_time(lw, error, builder)
        raise Diverged from None


def _raise_at_run_time(lw: EffectContext, error: Exception, builder: Builder) -> None:
    if lw.report.certain is None or lw.report.certain[1] is not builder:
        raise error
    with contextlib.suppress(Diverged), builder:
        builder.loc = lw.report.certain[0]
        emit_raise(lw, NewException(type(error), error.args, {}))


def _emit(lw: EffectContext, exception: Any, cause: Any) -> None:
    operands, name = _prepared(lw, exception, cause)
    getattr(F, "raise")(*operands, exception=name)


def _prepared(lw: EffectContext, exception: Any, cause: Any) -> tuple[list[Value], str]:
    """The operands of the op and the name of the function that makes the exception of them."""
    operands = Operands(lw)
    made = _maker(exception, operands)
    reason = None if cause is _NO_CAUSE or cause is None else _maker(cause, operands)
    ways, places = tuple(operands.ways), _places(lw.here)

    def make(*arrays: Any) -> BaseException:
        error = made(arrays, ways)
        if not isinstance(error, BaseException):
            raise TypeError("exceptions must derive from BaseException")
        if cause is not _NO_CAUSE:
            found = None if reason is None else reason(arrays, ways)
            if found is not None and not isinstance(found, BaseException):
                raise TypeError("exception causes must derive from BaseException")
            error.__cause__ = found
        return _placed(error, places)

    if cause is _NO_CAUSE:
        make.text = _spelt(exception, operands)  # type: ignore[attr-defined]
    told = _told(exception, operands)
    make.tells = told if cause is _NO_CAUSE else f"{told} from {_told(cause, operands)}"  # type: ignore[attr-defined]
    name = f"exception{len(lw.program.module.callables)}"
    lw.program.module.callables[name] = make
    return operands.values, name


def _maker(exception: Any, operands: Operands) -> Callable[[Any, Any], Any]:
    """The function from operands (and their ways) to the exception."""
    if isinstance(exception, type):
        exception = NewException(exception, (), {})
    if type(exception) is not NewException:
        return lambda arrays, ways: exception  # an object from outside
    cls, args, kwargs = exception.cls, [_recipe(a, operands) for a in exception.args], exception.kwargs
    named = {k: _recipe(v, operands) for k, v in kwargs.items()}

    def make(arrays: Any, ways: Any) -> Any:
        return cls(*[a(arrays, ways) for a in args], **{k: v(arrays, ways) for k, v in named.items()})

    return make


def _recipe(x: Any, operands: Operands) -> Callable[[Any, Any], Any]:
    """The function from operands (and their ways) to an argument of an exception."""
    if type(x) is Text:
        part = operands.part(x)
        return lambda arrays, ways: str(_shown(part, arrays, ways))
    if type(x) is Weak:
        n = operands.add(x, "number")
        return lambda arrays, ways: arrays[n].item()
    if type(x) is TensorVar:
        n = operands.add(x, "array")
        return lambda arrays, ways: wrap(np.array(arrays[n]))
    if type(x) is ArrayVar:
        n, scalar = operands.add(x, "array"), x.kind is not np.ndarray
        return lambda arrays, ways: arrays[n][()] if scalar else np.array(arrays[n])
    if type(x) is StateVar:
        return lambda arrays, ways: x.source
    if isinstance(x, NewException):
        return _maker(x, operands)
    if isinstance(x, dict) and type(x) in (dict, LocalDict):
        values = {k: _recipe(v, operands) for k, v in x.items()}
        return lambda arrays, ways: {k: v(arrays, ways) for k, v in values.items()}
    if type(x) in (list, LocalList, tuple) or is_named_tuple(x):
        items = [_recipe(i, operands) for i in x]
        kind: Any = list if isinstance(x, list) else tuple if type(x) is tuple else type(x)._make
        return lambda arrays, ways: kind([i(arrays, ways) for i in items])
    if not all(is_static(part) for part in parts(x)):
        raise UnsupportedCallError(f"an exception cannot hold a {describe(x)} in compiled code", code="AC1302")
    return lambda arrays, ways: x


def _shown(part: Any, arrays: Any, ways: Any) -> Any:
    """A part of text (as those of a print): what the format string gets for it."""
    if isinstance(part, str):
        return part
    if isinstance(part, tuple):
        form, *arguments = part
        return form.format(*[_shown(a, arrays, ways) for a in arguments])
    array, way = arrays[part], ways[part]
    if way == "number":
        return array.item()
    if way in ("array", "scalar"):
        return array if way == "array" else array[()]
    return str(wrap(array)) if way == "str" else repr(wrap(array))


def _spelt(exception: Any, operands: Operands) -> str | None:
    """The making of a plain exception as Python text, so that a saved program can raise it by itself."""
    if isinstance(exception, type):
        exception = NewException(exception, (), {})
    if type(exception) is not NewException:
        return None
    spelling = None if isinstance(exception.cls, type) else getattr(exception.cls, "spelling", None)  # ours have one
    if not spelling and not _is_builtin(exception.cls):
        return None
    texts = [_spelt_argument(a, operands) for a in exception.args]
    if None in texts or exception.kwargs:
        return None
    return str(spelling).format(*texts) if spelling else f"{exception.cls.__name__}({', '.join(map(str, texts))})"


def _is_builtin(cls: type) -> bool:
    """Whether the name of a class means this class everywhere; the user may give classes any name and module."""
    return getattr(builtins, cls.__name__, None) is cls


def _spelt_argument(x: Any, operands: Operands) -> str | None:
    if type(x) is Weak:
        return f"operands[{operands.add(x, 'number')}].item()"
    if type(x) is Text:
        part = operands.part(x)
        return f"str({_spelt_part(part, operands)})" if "repr" not in operands.ways else None
    return repr(x) if type(x) in (str, int, bool) else None


def _spelt_part(part: Any, operands: Operands) -> str:
    if isinstance(part, tuple):
        form, *arguments = part
        return f"{form!r}.format({', '.join(_spelt_part(a, operands) for a in arguments)})"
    return f"operands[{part}]" + (".item()" if operands.ways[part] == "number" else "")


def _told(x: Any, operands: Operands, depth: int = 0) -> str:
    """An exception, or an argument of one, as text that tells it from others: without addresses, on one line."""
    if isinstance(x, type):
        return x.__name__ if depth else f"{x.__name__}()"
    if isinstance(x, NewException | BaseException):
        cls, named = (x.cls, x.kwargs) if isinstance(x, NewException) else (type(x), {})
        arguments = [_told(a, operands, depth + 1) for a in x.args] if depth < _DEPTH else ["..."]
        arguments += [f"{k}={_told(v, operands, depth + 1)}" for k, v in named.items()]
        return f"{cls.__name__}({', '.join(arguments)})"
    if type(x) is str:
        return json.dumps(x)
    if type(x) is Text:
        return _told_part(operands.part(x), operands.ways)
    if type(x) in (Weak, TensorVar, ArrayVar):
        return f"operands[{operands.add(x, 'number' if type(x) is Weak else 'array')}]"
    if x is None or type(x) in (bool, int, float, complex, bytes) or isinstance(x, np.generic):
        return repr(x)
    if type(x) in _BRACKETS and depth < _DEPTH:
        items = [_told(i, operands, depth + 1) for i in list(x)[:_SHOWN]]
        if isinstance(x, dict):
            values = [_told(i, operands, depth + 1) for i in list(x.values())[:_SHOWN]]
            items = [f"{k}: {v}" for k, v in zip(items, values, strict=True)]
        return _BRACKETS[type(x)].format(", ".join([*items, *["..."] * (len(x) > _SHOWN)]))
    return f"<{type(x.source if type(x) is StateVar else x).__name__}>"


def _told_part(part: Any, ways: list[str]) -> str:
    if isinstance(part, str):
        return json.dumps(part)
    if isinstance(part, tuple):
        form, *arguments = part
        return f"{json.dumps(form)}.format({', '.join(_told_part(a, ways) for a in arguments)})"
    return f"repr(operands[{part}])" if ways[part] == "repr" else f"operands[{part}]"


# ---------------------------------------------------------------------------------------------------- warnings
@intrinsic(warnings.warn)
def _warn(
    lw: EffectContext, message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **more: Any
) -> None:  # fmt: skip
    """``warnings.warn(...)``: a warning at the user's line, each time the program gets there."""
    requirements.require_static((category, stacklevel, source, tuple(more.values())), "an argument of warnings.warn()")
    operands = Operands(lw)
    made = _recipe(message, operands)
    ways, places, space = tuple(operands.ways), _places(lw.here), lw.frame.bindings.globals
    beyond = max(stacklevel, 1) - len(places)

    def run(*arrays: Any) -> None:
        text = made(arrays, ways)
        kind = type(text) if isinstance(text, Warning) else category or UserWarning
        at = None if beyond > 0 else places[max(stacklevel, 1) - 1]
        file, line = _caller(beyond) if at is None else (at.file, at.line)
        registry = space.setdefault("__warningregistry__", {})
        warnings.warn_explicit(text, kind, file, line, space.get("__name__", "<unknown>"), registry, space, source)

    kind, told = getattr(category, "__name__", "UserWarning"), _told(message, operands)
    run.tells = told if isinstance(message, NewException | Warning) else f"{kind}({told})"  # type: ignore[attr-defined]
    emit_commit(lw)
    name = f"warning{len(lw.program.module.callables)}"
    lw.program.module.callables[name] = run
    F.host_call(*operands.values, fn=name, types=())


def _caller(n: int) -> tuple[str, int]:
    """File and line of the caller of compiled code that is running now (n = 1), or of its n-th caller."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, "<", _NUMPY)):
        frame = frame.f_back
    for _ in range(n - 1):
        frame = frame.f_back or frame
    return frame.f_code.co_filename, frame.f_lineno


# ---------------------------------------------------------------------------------------------------- places
def _places(loc: Loc | None) -> list[Loc]:
    """The user's places on the way to a place, the innermost first."""
    found = []
    while loc is not None:
        if not loc.file.startswith(PACKAGE):
            found.append(loc)
        loc = loc.caller
    return found


def _placed(error: BaseException, places: list[Loc]) -> BaseException:
    """The exception with a note that names the user's line, and a traceback that ends there."""
    if not places:
        return error
    note = f"  raised at {places[0].file}:{places[0].line} in {places[0].function} (compiled code)"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    traceback = None
    for place in places:
        frame = _frame(place)
        traceback = types.TracebackType(traceback, frame, frame.f_lasti, place.line)
    return error.with_traceback(traceback)


class _Reached(Exception):
    pass


def _frame(place: Loc) -> types.FrameType:
    """A frame that looks as if a function of the user were at that place."""
    tree = ast.parse("raise reached")
    for node in ast.walk(tree.body[0]):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno, node.end_lineno = place.line, max(place.line, place.end_line)
            node.col_offset, node.end_col_offset = _columns(place)
    code = compile(tree, place.file, "exec").replace(co_name=place.function, co_qualname=place.function)
    try:
        exec(code, {"reached": _Reached()})
    except _Reached as reached:
        traceback: Any = reached.__traceback__
    frame: types.FrameType = traceback.tb_next.tb_frame
    return frame


def _columns(place: Loc) -> tuple[int, int]:
    """Where an expression begins and ends as Python counts, in bytes; -1 twice where only its line is known."""
    if not place.end_col:
        return -1, -1
    begin = len(line_of(place.file, place.line)[: place.col].encode())
    return begin, len(line_of(place.file, place.end_line)[: place.end_col].encode())
