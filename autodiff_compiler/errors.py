"""What the compiler says when it cannot go on: errors that name the user's line, and warnings.

Every error carries a code ``ACnnnn``; `catalogue.py` says what each code means and what to do about it.
Each class also inherits the builtin exception Python itself would raise for the same mistake, so that
``except TypeError`` keeps working when a function is compiled.
"""

from __future__ import annotations

import difflib
import html
import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

from .source import Loc, excerpt, line_of

__all__ = [
    "AmbiguousTruthError",
    "ArgumentError",
    "AutodiffWarning",
    "BpropError",
    "BranchRaisesWarning",
    "BypassWarning",
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
    "UnboundVariableError",
    "UnknownNameError",
    "UnrollWarning",
    "UnsupportedCallError",
    "UnsupportedSyntaxError",
    "did_you_mean",
    "nearest",
]

_SHOWN_CALLS = 8


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
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.spans: tuple[tuple[Loc, str], ...] = (*(((loc, ""),) if loc is not None else ()), *spans)
        self.notes: tuple[str, ...] = tuple(notes)
        self.hint = hint
        self._chain: tuple[Loc, ...] = tuple(chain)
        self.stage = stage

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
            lines.append(f"{' ' * width}--> {_place(loc)}")
            block = excerpt(loc, note, width)
            lines += [*block.split("\n"), f"{' ' * width} |"] if block else []
            if note and not block:
                lines.append(f"{' ' * width} = {note}")
        facts = [*_called_from(self.chain), *self.notes]
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
            "spans": [{**_plain(loc), "note": note} for loc, note in self.spans],
            "notes": list(self.notes),
            "hint": self.hint,
            "chain": [_plain(loc) for loc in self.chain],
            "stage": self.stage,
        }

    def _repr_html_(self) -> str:
        head, _, body = self.render().partition("\n")
        return f"<pre><b>{html.escape(head)}</b>\n{html.escape(body)}</pre>"


def _place(loc: Loc) -> str:
    """``path:line:column in function``; the path is relative where the file lies below the working directory."""
    where = os.path.abspath(loc.file)
    root = os.path.join(os.getcwd(), "")
    file = where[len(root) :] if where.startswith(root) else loc.file
    text = f"{file}:{loc.line}:{loc.col + 1}"
    if loc.function:
        text += f" in {loc.function}"
    return f"{text} ({loc.tag})" if loc.tag else text


def _called_from(chain: Sequence[Loc]) -> list[str]:
    lines = []
    for call in chain:
        inside = f" in {call.function}" if call.function else ""
        code = line_of(call.file, call.line).strip()
        lines.append(f"called from {os.path.basename(call.file)}:{call.line}{inside}" + (f":  {code}" if code else ""))
    left_out = len(lines) - _SHOWN_CALLS
    if left_out > 1:  # one hidden line would cost a line to say so
        lines[_SHOWN_CALLS - 2 : -2] = [f"... {left_out} more calls"]
    return lines


def _plain(loc: Loc) -> dict[str, Any]:
    return {key: value for key, value in loc._asdict().items() if key != "caller"}


def nearest(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The names that look most like `name`, best first."""
    # Names of the interpreter's own make no sense as a proposal unless one was asked for.
    known = {n for n in names if isinstance(n, str) and (name.startswith("_") or not n.startswith("_"))} - {name}
    same_letters = sorted(n for n in known if n.lower() == name.lower())
    return [
        *same_letters,
        *(n for n in difflib.get_close_matches(name, sorted(known), limit) if n not in same_letters),
    ][:limit]


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """A hint such as ``use `relu` or `relu6` ``, or None when nothing comes near."""
    found = nearest(name, names)
    return "use " + " or ".join(f"`{n}`" for n in found) if found else None


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
    """Shapes an op does not accept."""

    code = "AC1410"


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


class NonFiniteError(FloatingPointError):
    """Check mode met the first NaN or infinity; the text names the op and its line."""


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
        return f"{head} ({_place(self.loc)})" if self.loc is not None else head


class RecompileWarning(AutodiffWarning):
    """The function is compiled again and again for one changing value."""

    default_code = "AC2001"


class UnrollWarning(AutodiffWarning):
    """A long loop is unrolled."""

    default_code = "AC2002"


class GradientWarning(AutodiffWarning):
    """A gradient is zero because everything on the way is integer or stopped."""

    default_code = "AC2003"


class BranchRaisesWarning(AutodiffWarning):
    """A branch always raises when it is taken."""

    default_code = "AC2004"


class BypassWarning(AutodiffWarning):
    """A hook or gradient edit has no effect because a `bprop` goes around it."""

    default_code = "AC2005"
