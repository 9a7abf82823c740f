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
from typing import Any, NamedTuple

import numpy as np

from ...errors import AutodiffWarning, CompileError, UnsupportedCallError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.failure import is_ours
from ...ir.primitive import REGISTRY, Effect, F, trace
from ...ir.sizes import deciding
from ...ir.walk import ops_of
from ...runtime.records import is_named_tuple
from ...runtime.tensor import wrap
from ...source import PACKAGE, Loc, full_place, line_of
from ..variables import requirements
from ..variables.interpreter import Diverged
from ..variables.rules import intrinsic
from ..variables.structure import is_static, parts
from ..variables.text import Operands
from ..variables.values import (
    ArrayVar,
    LocalDict,
    LocalList,
    NewException,
    StateVar,
    SymScalar,
    TensorVar,
    Text,
    class_of,
    describe,
)
from .commits import emit_commit, pending
from .effects import EffectContext

_NO_CAUSE = object()
#: How deep the arguments of an exception are told, and how many of a container.
_DEPTH, _SHOWN = 4, 16
_NUMPY = os.path.dirname(np.__file__)


# ---------------------------------------------------------------------------------------------------- emission
def emit_raise(ctx: EffectContext, exception: Any, cause: Any = _NO_CAUSE) -> None:
    """Emits the raising of an exception (a class or an object); the path being compiled ends here."""
    emit_commit(ctx, raising=True)
    _emit(ctx, exception, cause)
    raise Diverged(exception)


def emit_check(ctx: EffectContext, condition: Value, exception: Any) -> None:
    """Emits the raising of an exception where a condition does not hold at run time."""
    if not pending(ctx):
        operands, name = _prepared(ctx, exception, _NO_CAUSE)
        getattr(F, "assert")(condition, *operands, exception=name)
        return
    outer: Builder = trace.builder
    fine, failing = outer.nested(), outer.nested()
    with failing:
        emit_commit(ctx, raising=True)
        _emit(ctx, exception, _NO_CAUSE)
    outer.emit_op(REGISTRY["if"], (condition,), (), (fine.ret(), failing.ret()))


def raise_after_effects(ctx: EffectContext, error: Exception) -> None:
    """Leaves an exception of Python, met while compiling, to the program if it has done something visible before."""
    ops = ops_of(ctx.program.entry.body)
    if not (pending(ctx) or any(op.defn.effect > Effect.READ for op in ops)):
        raise error
    _raise_at_run_time(ctx, error, ctx.program.builder)


@contextlib.contextmanager
def raising_in_block(ctx: EffectContext, builder: Builder, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """An exception of Python (`but` of some classes), met while a block is compiled, is raised where the block runs."""
    try:
        yield
    except (CompileError, AutodiffWarning, Diverged):
        raise
    except Exception as error:
        if is_ours(error) or isinstance(error, but):
            raise
        _raise_at_run_time(ctx, error, builder)
        raise Diverged from None


def _raise_at_run_time(ctx: EffectContext, error: Exception, builder: Builder) -> None:
    if ctx.report.certain is None or ctx.report.certain[1] is not builder:
        raise error
    if deciding.by is not None:  # its message may name sizes
        deciding.by.settle(error)
    with contextlib.suppress(Diverged), builder:
        builder.loc = ctx.report.certain[0]
        emit_raise(ctx, NewException(type(error), error.args, {}))


def _emit(ctx: EffectContext, exception: Any, cause: Any) -> None:
    operands, name = _prepared(ctx, exception, cause)
    getattr(F, "raise")(*operands, exception=name)


def _prepared(ctx: EffectContext, exception: Any, cause: Any) -> tuple[list[Value], str]:
    """The operands of the op and the name of the function that makes the exception of them."""
    operands = Operands(ctx)
    made = _raised(exception, operands)
    reason = None if cause is _NO_CAUSE or cause is None else _raised(cause, operands)
    ways, places = tuple(operands.ways), _places(ctx.here)

    def make(*arrays: Any) -> BaseException:
        error = made.make(arrays, ways)
        if not isinstance(error, BaseException):
            raise TypeError("exceptions must derive from BaseException")
        if cause is not _NO_CAUSE:
            found = None if reason is None else reason.make(arrays, ways)
            if found is not None and not isinstance(found, BaseException):
                raise TypeError("exception causes must derive from BaseException")
            error.__cause__ = found
        return _placed(error, places)

    make.tells = made.told(0)  # type: ignore[attr-defined]
    if cause is _NO_CAUSE:
        make.text = made.spelt()  # type: ignore[attr-defined]
    else:
        make.tells += f" from {None if reason is None else reason.told(0)}"  # type: ignore[attr-defined]
    name = f"exception{len(ctx.program.module.callables)}"
    ctx.program.module.callables[name] = make
    return operands.values, name


def _raised(exception: Any, operands: Operands) -> _Argument:
    """What is raised, or given as the cause: a class, an exception that compiled code makes, or an object."""
    if isinstance(exception, type):
        exception = NewException(exception, (), {})
    return _RULES.get(type(exception), lambda x, _: _object(x, None))(exception, operands)


# ---------------------------------------------------------------------------------------------------- arguments
class _Argument(NamedTuple):
    """An argument of an exception."""

    #: makes it at run time, of the operands and their ways
    make: Callable[[Any, Any], Any]
    #: it as text that tells it from others: without addresses, on one line; given how deep it lies
    told: Callable[[int], str]
    #: its making as Python text, so that a saved program can make it by itself, if it has one
    spelt: Callable[[], str | None] = lambda: None


def _argument(x: Any, operands: Operands | None) -> _Argument:
    """What makes x; without operands of something that an object from outside holds."""
    return _RULES.get(type(x), _sequence if is_named_tuple(x) else _object)(x, operands)


def _object(x: Any, operands: Operands | None) -> _Argument:
    """An object of Python's."""
    if operands is not None and not all(is_static(part) for part in parts(x)):
        raise UnsupportedCallError(f"an exception cannot hold a {describe(x)} in compiled code", code="AC1302")

    def told(depth: int) -> str:
        if isinstance(x, BaseException):
            return _call_told(type(x), [_argument(a, None) for a in x.args], {}, depth)
        if isinstance(x, type):
            return x.__name__ if depth else f"{x.__name__}()"
        if type(x) is str:
            return json.dumps(x)
        plain = x is None or type(x) in (bool, int, float, complex, bytes) or isinstance(x, np.generic)
        return repr(x) if plain else f"<{type(x).__name__}>"

    return _Argument(lambda arrays, ways: x, told, lambda: repr(x) if type(x) in (str, int, bool) else None)


def _sequence(x: Any, operands: Operands | None) -> _Argument:
    items, cls = [_argument(i, operands) for i in x], class_of(x)
    make: Any = cls if cls in (list, tuple) else getattr(cls, "_make", None)
    known: dict[type, str] = {list: "[{}]", tuple: "({})"}
    return _Argument(
        lambda arrays, ways: make([i.make(arrays, ways) for i in items]),
        lambda depth: _some_told([i.told for i in items], depth, known.get(cls)) or f"<{cls.__name__}>",
    )


def _dict(x: Any, operands: Operands | None) -> _Argument:
    items = [(_argument(k, None).told, _argument(v, operands)) for k, v in x.items()]
    pairs = [lambda depth, k=k, v=v: f"{k(depth)}: {v.told(depth)}" for k, v in items]
    return _Argument(
        lambda arrays, ways: dict(zip(x, [v.make(arrays, ways) for _, v in items], strict=True)),
        lambda depth: _some_told(pairs, depth, "{{{}}}") or "<dict>",
    )


def _some_told(items: list[Any], depth: int, brackets: str | None) -> str:
    """The first items as text; nothing where they lie too deep."""
    if brackets is None or depth >= _DEPTH:
        return ""
    shown = [one(depth + 1) for one in items[:_SHOWN]]
    return brackets.format(", ".join([*shown, *["..."] * (len(items) > _SHOWN)]))


def _text(x: Text, operands: Operands) -> _Argument:
    part, known = operands.part(x), operands.ways
    return _Argument(
        lambda arrays, ways: str(_shown(part, arrays, ways)),
        lambda depth: _told_part(part, known),
        lambda: None if "repr" in known else f"str({_spelt_part(part, operands)})",
    )


def _operand(x: Any, operands: Operands, of: Callable[[Any], Any], way: str = "array") -> _Argument:
    n = operands.add(x, way)
    spelt = f"operands[{n}].item()" if way == "number" else None
    return _Argument(lambda arrays, ways: of(arrays[n]), lambda depth: f"operands[{n}]", lambda: spelt)


def _new(x: NewException, operands: Operands) -> _Argument:
    cls, args = x.cls, [_argument(a, operands) for a in x.args]
    named = {k: _argument(v, operands) for k, v in x.kwargs.items()}

    def make(arrays: Any, ways: Any) -> Any:
        return cls(*[a.make(arrays, ways) for a in args], **{k: v.make(arrays, ways) for k, v in named.items()})

    def spelt() -> str | None:
        spelling = None if isinstance(cls, type) else getattr(cls, "spelling", None)  # ours have one
        # The user may give classes any name and module: a builtin's name must mean this class everywhere.
        if not spelling and getattr(builtins, cls.__name__, None) is not cls:
            return None
        texts = [a.spelt() for a in args]
        if None in texts or named:
            return None
        return str(spelling).format(*texts) if spelling else f"{cls.__name__}({', '.join(map(str, texts))})"

    return _Argument(make, lambda depth: _call_told(cls, args, named, depth), spelt)


def _call_told(cls: type, args: list[_Argument], named: dict[str, _Argument], depth: int) -> str:
    arguments = [a.told(depth + 1) for a in args] if depth < _DEPTH else ["..."]
    arguments += [f"{k}={v.told(depth + 1)}" for k, v in named.items()]
    return f"{cls.__name__}({', '.join(arguments)})"


#: How values of a class are made at run time; others are objects, or named tuples.
_RULES: dict[type, Callable[[Any, Any], _Argument]] = {
    **dict.fromkeys((list, LocalList, tuple), _sequence),
    **dict.fromkeys((dict, LocalDict), _dict),
    Text: _text,
    NewException: _new,
    SymScalar: lambda x, operands: _operand(x, operands, lambda array: array.item(), "number"),
    TensorVar: lambda x, operands: _operand(x, operands, lambda array: wrap(np.array(array))),
    ArrayVar: lambda x, operands: _operand(x, operands, np.array if x.kind is np.ndarray else lambda array: array[()]),
    StateVar: lambda x, operands: _object(x.source, None),
}


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


def _spelt_part(part: Any, operands: Operands) -> str:
    if isinstance(part, tuple):
        form, *arguments = part
        return f"{form!r}.format({', '.join(_spelt_part(a, operands) for a in arguments)})"
    return f"operands[{part}]" + (".item()" if operands.ways[part] == "number" else "")


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
    ctx: EffectContext, message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **more: Any
) -> None:  # fmt: skip
    """``warnings.warn(...)``: a warning at the user's line, each time the program gets there."""
    requirements.require_static((category, stacklevel, source, tuple(more.values())), "an argument of warnings.warn()")
    operands = Operands(ctx)
    made = _argument(message, operands)
    ways, places, space = tuple(operands.ways), _places(ctx.here), ctx.frame.bindings.globals
    beyond = max(stacklevel, 1) - len(places)

    def run(*arrays: Any) -> None:
        text = made.make(arrays, ways)
        kind = type(text) if isinstance(text, Warning) else category or UserWarning
        at = None if beyond > 0 else places[max(stacklevel, 1) - 1]
        file, line = _caller(beyond) if at is None else (at.file, at.line)
        registry = space.setdefault("__warningregistry__", {})
        warnings.warn_explicit(text, kind, file, line, space.get("__name__", "<unknown>"), registry, space, source)

    kind, told = getattr(category, "__name__", "UserWarning"), made.told(0)
    run.tells = told if issubclass(class_of(message), Warning) else f"{kind}({told})"  # type: ignore[attr-defined]
    emit_commit(ctx)
    name = f"warning{len(ctx.program.module.callables)}"
    ctx.program.module.callables[name] = run
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
    note = f"  raised at {full_place(places[0].file, places[0].line)} in {places[0].function} (compiled code)"
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
    return traceback.tb_next.tb_frame


def _columns(place: Loc) -> tuple[int, int]:
    """Where an expression begins and ends as Python counts, in bytes; -1 twice where only its line is known."""
    if not place.end_col:
        return -1, -1
    begin = len(line_of(place.file, place.line)[: place.col].encode())
    return begin, len(line_of(place.file, place.end_line)[: place.end_col].encode())
