"""Calls being compiled: their names, and the functions defined in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...errors import CompileError, UnboundVariableError, shown_as
from ...ir.abstract import abstract
from ...ir.primitive import trace
from ...source import Loc
from ..guards.objects import UNBOUND
from ..syntax.scope import Prepared
from ..syntax.source_tree import Bindings, SourceTree
from .changing import Changing, serial_now
from .structure import Form, form, form_of
from .values import MaybeUnbound, is_unbound, usable


@shown_as("function")
@dataclass(eq=False, repr=False)
class Closure:
    """A function made by compiled code: its tree, the frame it was defined in, and its evaluated defaults."""

    prepared: Prepared
    frame: Frame
    defaults: tuple[Any, ...]
    kw_defaults: dict[str, Any]
    #: the function whose name `functools.wraps` gave it
    wrapped: Any = None

    @property
    def __name__(self) -> str:
        return str(getattr(self.wrapped, "__name__", None) or getattr(self.prepared.node, "name", "<lambda>"))

    @property
    def defined(self) -> tuple[str, int]:
        """The file and line of its definition."""
        loc = self.prepared.tree.loc(self.prepared.node, None)
        return loc.file, loc.line

    def __repr__(self) -> str:
        return f"<function {self.__name__} of compiled code>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.__name__}() exists in compiled code only and cannot be called by code that runs now")


@form(Closure)
class _ClosureForm(Form):
    def identity(self, x: Closure) -> Any:
        return type(x), id(x.prepared)

    def holds(self, x: Closure) -> Sequence[Any]:
        return x.defaults, x.kw_defaults, x.frame


class VariableVar(Changing):
    """A variable of a compiled function that functions inside it assign (`nonlocal`): what it holds now."""

    __slots__ = ("held", "name", "serial")
    is_variable = True

    def __init__(self, name: str, held: Any) -> None:
        self.name, self.held = name, held
        self.serial = serial_now()

    @property
    def label(self) -> str:  # type: ignore[override]  # a constant of the others
        return f"'{self.name}'"

    def content(self) -> Any:
        return self.held

    def set_content(self, saved: Any) -> None:
        self.held = saved

    def uneven(self, error: CompileError) -> Any:
        return MaybeUnbound(None, "", error)


@dataclass(eq=False)
class Frame:
    """One call being compiled: local names and where the others come from."""

    prepared: Prepared
    bindings: Bindings
    outer: Frame | None = None
    caller: Loc | None = None
    env: dict[str, Any] = field(default_factory=dict)
    #: what `super()` without arguments means here: the class that defines the method, and self
    method_of: tuple[type, Any] | None = None
    #: greater than the serial of every object made before this call
    serial: int = field(default_factory=serial_now)
    #: where each name was assigned last on the path being compiled, for errors
    places: dict[str, Loc] = field(default_factory=dict)
    #: for names that a loop is the first to bind: whether they had a value at every `break` (see `jumps.Kept`)
    late: dict[str, bool] = field(default_factory=dict)
    #: for the scope of a comprehension: how many branches chosen at run time surround it
    arms: int | None = None
    #: the unrolled loop whose body is compiled now, and the number of the trip (see `turn`)
    turn: tuple[Loc, int] | None = None

    def __post_init__(self) -> None:
        for name in self.prepared.shared:
            self.env[name] = VariableVar(name, self.env.get(name, UNBOUND))

    @property
    def tree(self) -> SourceTree:
        return self.prepared.tree

    def now(self, name: str, otherwise: Any = None) -> Any:
        """What a local name stands for."""
        value = self.env.get(name, otherwise)
        return value.held if abstract(value).is_variable else value

    def names(self) -> dict[str, Any]:
        """All local names with what they stand for."""
        return {name: self.now(name) for name in self.env}

    def comprehension(self, targets: frozenset[str], arms: int) -> Frame:
        """The scope of a comprehension in this frame, in which its targets live."""
        prepared = Prepared(self.prepared.tree, self.prepared.node, targets, self.prepared.nested)
        return Frame(prepared, self.bindings, self, self.caller, arms=arms, turn=self.turn)

    def holder(self, name: str) -> Frame | None:
        """The frame whose local name this is; None for names of the world outside."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.prepared.global_names:
                return None
            if name in frame.env or name in frame.prepared.local_names:
                return frame
            frame = frame.outer
        return None

    def is_global(self, name: str) -> bool:
        """Whether a `global` statement, here or in a function around, says that a name is one of the module's."""
        frame: Frame | None = self
        while frame is not None and name not in frame.prepared.global_names:
            frame = frame.outer
        return frame is not None

    def local(self, name: str, loc: Loc) -> Any:
        """The value of a local name of this frame."""
        value = self.now(name, self)
        if usable(value) is self or value is UNBOUND:
            raise UnboundVariableError(
                f"'{name}' has no value here", loc=loc, hint=f"give '{name}' a value before this line"
            )
        if is_unbound(value):
            if value.error is not None:
                raise value.error.again(loc, "read here")
            spans = ((value.loc, "on the other path it gets none"),) if value.loc else ()
            hint = f"give '{name}' a value before the paths part"
            raise UnboundVariableError(value.why, loc=loc, spans=spans, hint=hint)
        return value


@form(VariableVar)
class _VariableForm(Form):
    def holds(self, x: VariableVar) -> Sequence[Any]:
        return (x.held,)

    def elements(self, x: Any) -> Any:
        return None

    def sort(self, x: VariableVar) -> Any:
        return form_of(x.held).sort(x.held)

    def identity(self, x: VariableVar) -> Any:
        return form_of(x.held).identity(x.held)


@form(Frame)
class _FrameForm(Form):
    def holds(self, x: Frame) -> Sequence[Any]:
        return x.env, x.outer


@contextmanager
def turn(ctx: Any, loop: Any, number: int) -> Iterator[None]:
    """Marks what is emitted inside as trip `number` of an unrolled loop, which `check_nonfinite` reports."""
    if not ctx.program.module.check_nonfinite:
        yield
        return
    frame, around = ctx.frame, ctx.frame.turn
    frame.turn = (frame.tree.loc(loop, frame.caller)._replace(turn=around), number)
    try:
        yield
    finally:
        frame.turn = around


@contextmanager
def turn_of_call(ctx: Any, place: Loc | None, number: int) -> Iterator[None]:
    """Marks what is emitted inside as the call for element `number` that `map` makes, which was written at `place`."""
    here = ctx.here
    if not ctx.program.module.check_nonfinite or place is None or here is None:
        yield
        return
    trace.builder.loc = here._replace(turn=(place, number))
    try:
        yield
    finally:
        trace.builder.loc = here
