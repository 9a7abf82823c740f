"""What the compiler says when it cannot go on: errors that name the user's line, and warnings.

Every error carries a code ``ACnnnn``; `catalogue.py` says what each code means and what to do about it.
Each class also inherits the builtin exception Python itself would raise for the same mistake, so that
``except TypeError`` keeps working when a function is compiled.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np

from . import escape
from .ascend_errors import AscendError, AscendMemoryError
from .environment import flag
from .likeness import did_you_mean, nearest
from .source import Loc, cell_of, excerpt, line_of

__all__ = [
    "NOTHING_RETURNED",
    "ZERO_GRADIENT",
    "AmbiguousTruthError",
    "ArgumentError",
    "AscendError",
    "AscendMemoryError",
    "AutodiffWarning",
    "BpropError",
    "BranchRaisesWarning",
    "BypassWarning",
    "CollectiveError",
    "CollectiveTimeoutError",
    "CompileError",
    "DTypeError",
    "DynamicShapeError",
    "GradientError",
    "GradientWarning",
    "GuardError",
    "HookError",
    "InternalCompilerError",
    "JoinError",
    "LoopError",
    "MissingAttributeError",
    "NonFiniteError",
    "NotDifferentiableError",
    "ParameterError",
    "RecompileWarning",
    "RecursionDepthError",
    "ShapeError",
    "SideEffectError",
    "SourceUnavailableError",
    "StaticValueError",
    "TooLittleMemoryError",
    "UnboundVariableError",
    "UnknownNameError",
    "UnrollWarning",
    "UnsupportedCallError",
    "UnsupportedSyntaxError",
    "did_you_mean",
    "kind_of",
    "leave_user_frames",
    "nearest",
    "place_note",
    "shown_as",
    "users_frames",
    "warn_at",
    "warn_once",
]

P = ParamSpec("P")
R = TypeVar("R")
_Class = TypeVar("_Class", bound=type)

_SHOWN_CALLS = 8
#: an article before the name of a class that wants "an"
_ARTICLE = re.compile(r"\b([Aa]) (?=(?:int|[AEIO][a-z]\w*)\b)")


class CompileError(Exception):
    """The user's code cannot be compiled; the text says where, why and what to write instead.

    `message` is one bare sentence.  `spans` are places with a note under the carets; `loc` is short for a
    first span without note.  `notes` are reasons, `hint` the alternative.  `chain` lists the calls that led
    there, innermost first; left empty, it is read from the `caller` of the first place.

    >>> print(CompileError("sizes differ: 2 and 3", code="AC1410", hint="reshape one of them"))
    [AC1410] sizes differ: 2 and 3
      = instead: reshape one of them
      = more: python -m autodiff_compiler explain AC1410
    """

    code: str = ""
    #: the value the error is about, until the reason why it is not known while compiling has become a note
    subject: Any = None
    #: whether that was done
    explained: bool = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        loc: Loc | None = None,
        spans: Iterable[tuple[Loc, str]] = (),
        notes: Iterable[str] = (),
        hint: str | None = None,
        chain: Iterable[Loc] = (),
        stage: str | None = None,
    ) -> None:
        message = _ARTICLE.sub(r"\1n ", message)
        super().__init__(message)
        self.__suppress_context__ = True  # what was handled while it was found is no part of the user's story
        self.message = message
        if code is not None:
            self.code = code
        #: the lines of the places as they were: the files may change, or be unknown to who unpickles the error
        self._lines: dict[tuple[str, int], str] = {}
        self._chain: tuple[Loc, ...] = tuple(chain)
        self.spans = (*(((loc, ""),) if loc is not None else ()), *spans)
        self.notes: tuple[str, ...] = tuple(notes)
        self.hint = hint
        self.stage = stage
        self._folder = _working_directory()

    @property
    def spans(self) -> tuple[tuple[Loc, str], ...]:
        """The places, each with the note under its carets."""
        return self._spans

    @spans.setter
    def spans(self, spans: tuple[tuple[Loc, str], ...]) -> None:
        self._spans = tuple(spans)
        for place in (*[loc for loc, _ in spans], *self.chain):
            self._lines.setdefault((place.file, place.line), line_of(place.file, place.line))

    @property
    def loc(self) -> Loc | None:
        """The first place of the error, or None."""
        return self.spans[0][0] if self.spans else None

    @property
    def chain(self) -> tuple[Loc, ...]:
        """The calls that led to the first place, innermost first."""
        if self._chain or not self.spans:
            return self._chain
        calls = []
        call = self.spans[0][0].caller
        while call is not None:
            calls.append(call)
            call = call.caller
        return tuple(calls)

    def at(self, loc: Loc | None, note: str = "") -> Self:
        """Give the error a place if it has none, as a type rule knows none; returns the error itself."""
        if not self.spans and loc is not None:
            self.spans = ((loc, note),)
        return self

    def about(self, value: Any) -> Self:
        """Says which value the error is about; returns the error itself."""
        self.subject = value
        return self

    def again(self, loc: Loc | None, note: str) -> Self:
        """The same error once more, with one more place at its end."""
        spans = (*self.spans, *(((loc, note),) if loc is not None else ()))
        return type(self)(
            self.message,
            code=self.code,
            spans=spans,
            notes=self.notes,
            hint=self.hint,
            chain=self._chain,
            stage=self.stage,
        )

    def __str__(self) -> str:
        head = f"[{self.code}] {self.message}" if self.code else self.message
        return "\n".join([head, *self._body()])

    def render(self) -> str:
        """The full text with the class name at its head, as a traceback ends."""
        head = type(self).__name__ + (f" [{self.code}]" if self.code else "")
        return "\n".join([f"{head}: {self.message}", *self._body()])

    def _body(self) -> list[str]:
        width = max((len(str(loc.line)) for loc, _ in self.spans), default=1)
        lines: list[str] = []
        for loc, note in self.spans:
            lines.append(f"{' ' * width}--> {_place(loc, self._folder)}")
            block = excerpt(loc, note, width, self._line(loc))
            lines += [*block.split("\n"), f"{' ' * width} |"] if block else []
            if note and not block:
                lines.append(f"{' ' * width} = {note}")
        facts = [*self._called_from(), *self.notes]
        if self.hint:
            facts.append(f"instead: {self.hint}")
        if self.code:
            facts.append(f"more: python -m autodiff_compiler explain {self.code}")
        return lines + [f"{' ' * width} = {fact}" for fact in facts]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data, for editors and reports."""
        return {
            "class": type(self).__name__,
            "code": self.code,
            "message": self.message,
            "spans": [{**self._plain(loc), "note": note} for loc, note in self.spans],
            "notes": list(self.notes),
            "hint": self.hint,
            "chain": [self._plain(loc) for loc in self.chain],
            "stage": self.stage,
        }

    def _line(self, loc: Loc) -> str:
        return self._lines.get((loc.file, loc.line), "")

    def _plain(self, loc: Loc) -> dict[str, Any]:
        return {key: value for key, value in loc._asdict().items() if key != "caller"} | {"source": self._line(loc)}

    def _called_from(self) -> list[str]:
        lines = []
        for call in self.chain:
            inside = f" in {call.function}" if call.function else ""
            code, place = self._line(call).strip(), call.short
            lines.append(escape.line(f"called from {place}{inside}" + (f":  {code}" if code else "")))
        left_out = len(lines) - _SHOWN_CALLS
        if left_out > 1:  # one hidden line would cost a line to say so
            lines[_SHOWN_CALLS - 2 : -2] = [f"... {left_out} more calls"]
        return lines

    def _repr_html_(self) -> str:
        head, *body = self.render().split("\n")
        return f"<pre><b>{escape.markup(head)}</b>\n{chr(10).join(map(_line_html, body))}</pre>"


#: Lines of a message by how they begin, and what they look like in a notebook.
_LOOKS = (
    (re.compile(r" *-->"), "color:#7a7a7a"),
    (re.compile(r" *\| +\^"), "color:#d1433a;font-weight:bold"),
    (re.compile(r" *= instead: "), "font-weight:bold"),
    (re.compile(r" *= "), "color:#7a7a7a"),
)


def _line_html(line: str) -> str:
    """A line of a message as HTML: places and facts are pale, carets red, the way out is bold."""
    look = next((look for begins, look in _LOOKS if begins.match(line)), "")
    return f'<span style="{look}">{escape.markup(line)}</span>' if look else escape.markup(line)


def place_note(loc: Loc, *facts: str) -> str:
    """A place as it stands in the message of a `CompileError`, to be a note of an exception of Python's own."""
    return "\n".join(CompileError("", loc=loc, notes=facts)._body())


def _place(loc: Loc, folder: str) -> str:
    """``path:line:column in function``; the path is relative where the file lies below this folder."""
    where = os.path.normpath(os.path.join(folder, loc.file))
    root = os.path.join(folder, "")
    file = where[len(root) :] if folder and where.startswith(root) else loc.file
    text = loc.short if cell_of(loc.file) else f"{file}:{loc.line}:{loc.col + 1}"
    if loc.function:
        text += f" in {loc.function}"
    return escape.line(f"{text} ({loc.tag})" if loc.tag else text)


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def leave_user_frames(error: BaseException) -> None:
    """Takes the frames of this package out of a traceback, unless the environment has AC_FULL_TRACEBACK.

    To be followed by a bare `raise`, which adds no frame of its own.
    """
    if flag("AC_FULL_TRACEBACK"):
        return
    if error.__context__ is not None and not error.__suppress_context__:
        leave_user_frames(error.__context__)
    kept = []
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OURS):
            kept.append(trace)
        trace = trace.tb_next
    last: TracebackType | None = None
    for trace in reversed(kept):  # an interrupt may come at a step that belongs to no line: -1 says so
        last = TracebackType(last, trace.tb_frame, trace.tb_lasti, trace.tb_lineno or -1)
    error.__traceback__ = last


def users_frames(fn: Callable[P, R]) -> Callable[P, R]:
    """`fn`, whose exceptions show the user's frames only."""

    @functools.wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fn(*args, **kwargs)
        except BaseException as error:
            leave_user_frames(error)
            raise

    return call


#: What the file names of frames begin with that say nothing about the user's program.
_OURS = (
    os.path.join(os.path.dirname(os.path.abspath(__file__)), ""),
    os.path.join(os.path.dirname(np.__file__), ""),
    contextlib.__file__,
    "<numpy program",
)


def shown_as(word: str) -> Callable[[_Class], _Class]:
    """Gives a class of ours the name of what it stands for in the user's program.

    Both our messages and Python's own (`'list' object is not callable`) take the name of a class from the class.
    """

    def rename(cls: _Class) -> _Class:
        cls.__name__ = word
        return cls

    return rename


def kind_of(value: Any) -> str:
    """What a message calls a value of the wrong type: "a list", "an int"."""
    return _ARTICLE.sub(r"\1n ", f"a {type(value).__name__}")


class SourceUnavailableError(CompileError, OSError):
    """The source of a function cannot be read, or is not what was imported."""

    code = "AC1001"


class UnsupportedSyntaxError(CompileError, NotImplementedError):
    """A statement or expression that compiled code cannot contain."""

    code = "AC1103"


class UnknownNameError(CompileError, NameError):
    """A name that is neither local, enclosing, global nor builtin."""

    code = "AC1201"


class UnboundVariableError(CompileError, UnboundLocalError):
    """A variable that has no value on some path to where it is read."""

    code = "AC1202"


class MissingAttributeError(CompileError, AttributeError):
    """An attribute the object does not have."""

    code = "AC1203"


class ArgumentError(CompileError, TypeError):
    """A call whose arguments do not fit the signature."""

    code = "AC1204"


class AmbiguousTruthError(CompileError, ValueError):
    """The truth value of a Tensor that has not exactly one element."""

    code = "AC1301"


class StaticValueError(CompileError, TypeError):
    """A value known only at run time where a constant is needed."""

    code = "AC1302"


class DynamicShapeError(CompileError, TypeError):
    """A result whose size depends on data."""

    code = "AC1307"


class JoinError(CompileError, TypeError):
    """Two paths give one variable values that have no common type."""

    code = "AC1401"


class ShapeError(CompileError, ValueError):
    """Shapes an op does not accept.  `between`: two sizes, or shapes, that had to be equal."""

    code = "AC1410"
    between: tuple[Any, Any] | None = None


class DTypeError(CompileError, TypeError):
    """Dtypes an op does not accept."""

    code = "AC1410"


class LoopError(CompileError, RuntimeError):
    """A loop that can be neither unrolled nor kept."""

    code = "AC1501"


class RecursionDepthError(CompileError, RecursionError):
    """A recursion that is too deep, or whose end only run time could decide."""

    code = "AC1505"


class SideEffectError(CompileError, RuntimeError):
    """A change of outside state that a graph cannot repeat faithfully."""

    code = "AC1601"


class GradientError(CompileError, TypeError):
    """A gradient asked for something that has none."""

    code = "AC1701"


class BpropError(CompileError, TypeError):
    """A user's `bprop` or gradient edit that does not fit the function it belongs to."""

    code = "AC1702"


class HookError(CompileError, TypeError):
    """A hook that returned the wrong structure, or was registered where it cannot be."""

    code = "AC1707"


class NotDifferentiableError(CompileError, NotImplementedError):
    """An op without a derivative of the order or mode asked."""

    code = "AC1709"


class UnsupportedCallError(CompileError, NotImplementedError):
    """A call that compiled code cannot make."""

    code = "AC1807"


class ParameterError(CompileError, ValueError, RuntimeError):
    """Two Parameters of one network have the same name."""

    code = "AC1808"


class InternalCompilerError(CompileError, RuntimeError):
    """A mistake of the compiler, not of the user."""

    code = "AC1901"


class GuardError(RuntimeError):
    """A lowered function was called with other types than it was lowered for."""


class TooLittleMemoryError(CompileError, MemoryError):
    """There is no memory for an array, or for what a program computes on the way; the text says how much."""

    code = "AC1904"


class NonFiniteError(CompileError, FloatingPointError):
    """`check_nonfinite` met the first NaN or infinity; the text names the op and its line."""

    code = "AC1903"


class CollectiveError(CompileError, RuntimeError):
    """Processes that do not come together: their calls differ, one has gone, or this one cannot take part."""

    code = "AC3002"


class CollectiveTimeoutError(CollectiveError, TimeoutError):
    """A process has waited for others longer than AC_TIMEOUT; the text says where each of them is."""

    code = "AC3001"


class AutodiffWarning(UserWarning):
    """Base of the warnings of this package; `code` is its number in the catalogue."""

    default_code: ClassVar[str] = ""

    def __init__(self, message: str, *, code: str | None = None, loc: Loc | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = self.default_code if code is None else code
        self.loc = loc

    def __str__(self) -> str:
        head = f"[{self.code}] {self.message}" if self.code else self.message
        return f"{head} ({_place(self.loc, _working_directory())})" if self.loc is not None else head


#: (code, file, line) of warnings that come once per place.
_warned: dict[tuple[str, str, int], None] = {}
_WARNED_AT_MOST = 1000


def warn_once(warning: AutodiffWarning, place: Loc | None) -> None:
    """Warns at a user's line, but not if a warning of this code was given there before."""
    if place is not None:
        key = (warning.code, place.file, place.line)
        if key in _warned:
            return
    warn_at(warning, place)
    if place is not None:  # not before: a filter may have made an error of it
        _warned[key] = None
        while len(_warned) > _WARNED_AT_MOST:
            _warned.pop(next(iter(_warned)), None)


def warn_at(warning: AutodiffWarning, place: Loc | None) -> None:
    """Warns at a user's line."""
    if place is None:
        warnings.warn(warning, stacklevel=2)
    else:
        warnings.warn_explicit(warning, type(warning), place.file, place.line)


class RecompileWarning(AutodiffWarning):
    """The function is compiled again and again for one changing value."""

    default_code = "AC2001"


class UnrollWarning(AutodiffWarning):
    """A long loop is unrolled."""

    default_code = "AC2002"


class GradientWarning(AutodiffWarning):
    """A gradient is zero because nothing is on the way, or all of it is a step or stopped."""

    default_code = "AC2003"


#: What a `GradientWarning` says where no derivative reaches any of the inputs asked for.
ZERO_GRADIENT = (
    "the gradient is zero: the result does not depend on what it is taken by, or only through bools, indices, casts of "
    "floats to integers, Python numbers, NumPy arrays, stop_gradient or a bprop; use Tensors, functions of `ops` that "
    "have a derivative and the weights of the net that runs"
)
#: What one says where the function returns nothing that could have a derivative.
NOTHING_RETURNED = "the gradient is zero: the function returns no Tensor; is a `return` missing?"


class BranchRaisesWarning(AutodiffWarning):
    """A branch always raises when it is taken."""

    default_code = "AC2004"


class BypassWarning(AutodiffWarning):
    """A hook or gradient edit has no effect because a `bprop` goes around it."""

    default_code = "AC2005"
