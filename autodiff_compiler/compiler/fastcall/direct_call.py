"""The short way into compiled code: a function of machine code that checks a call itself and runs the program.

A compiled form gets one where all that a call has to look at can be looked at there: the types of its Tensors, and what
its guards ask, as words of memory.  Whatever else a call is, it goes the long way, which is the only one that knows
what is right; so the short one may refuse at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ...backends.base import SilentExecutable
from ...frontend.lower import name_of_argument
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ..call_key import Identity, Key, signature
from .guard_table import Asked
from .result_layout import parts_of, returned

if TYPE_CHECKING:
    from ...backends.native.direct import Direct
    from ...backends.native.signature import Form
    from ..specialised import Specialised

__all__ = [
    "REFUSED",
    "TAKEN",
    "ShortWay",
    "asked_in_python",
    "is_of_method",
    "long_because",
    "obstacle",
    "short_way",
    "takes_short_ways",
    "unusual_arguments",
]

F = TypeVar("F", bound=Callable[..., Any])
#: What a call gives that must go the long way.
REFUSED: Any = object()
#: The classes of arguments that are one dynamic input each, and nothing more: those that the short way takes.
TAKEN = (Tensor, np.ndarray)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    return REFUSED


#: Those whose first step is not in machine code yet.
_callers: list[Any] = []


def takes_short_ways(call: F) -> F:
    """Marks a `__call__` that first of all takes the way `_fast` of its object, where that is not None.

    With the first short way of the process, this step of such functions is done in machine code.
    """
    _callers.append(call)
    return call


class ShortWay:
    """The short way into one compiled form.

    It is gone for good where `again` says so.
    """

    def __init__(self, entry: Specialised, made: Direct, asked: Asked, finish: Any) -> None:
        self._made, self._asked, self._finish = made, asked, finish
        self._epoch = entry.seen_epoch
        self._words = asked.words()
        self._watch()
        #: refusals since it ran last, and how many calls it had run by then
        self._refused = self._calls = 0
        self._raw = made.function(_refuse, "call")

    @property
    def calls(self) -> int:
        """How many calls went this way."""
        return self._made.calls

    def function(self, slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The function that takes this way where it can; for other calls it is `slow`."""
        if self._finish is None and not self._asked.rest:
            return self._made.function(slow, name)
        tried = self.tried

        def call(*args: Any, **kwargs: Any) -> Any:
            found = tried(args) if not kwargs else REFUSED
            return slow(*args, **kwargs) if found is REFUSED else found

        return call

    def tried(self, args: Sequence[Any]) -> Any:
        """What a call gives that takes this way, or REFUSED."""
        for holds in self._asked.rest:
            if not holds():
                return REFUSED
        found = self._raw(*args)
        if self._finish is None or found is REFUSED:
            return found
        return self._finish(found, (*args, *self._asked.captured))

    def again(self, entry: Specialised) -> bool:
        """After a refusal, and after the guards were found to hold: what they look at may lie elsewhere by now.

        Whether the way is still there.
        """
        from ...backends.native.words import hold

        if self._calls != self._made.calls:
            self._calls, self._refused = self._made.calls, 0
        self._refused += 1
        self._made.settle()
        now = entry.seen_epoch
        if now is not self._epoch:
            self._made.rewrite(0, id(now))
            self._epoch = now  # not before: another number could come to lie where the old one was
        if self._refused & (self._refused - 1) == 0:  # the first time, the second, the fourth ...
            if not self._asked.still():
                return False
            if not hold(self._words):
                self._words = self._asked.words()
                self._watch()
        return True

    def _watch(self) -> None:
        from ...backends.native.words import epoch_word

        self._made.watch([(epoch_word()[0], id(self._epoch)), *self._words])


def obstacle(entry: Specialised) -> str:
    """Why there can be no short way into a compiled form, as far as that is known at once; empty if there may be."""
    lowered = entry.lowered
    if not isinstance(entry.program.executable, SilentExecutable):
        return "NumPy runs the program"
    if lowered.writes:
        return "the program writes to Tensors that it is given"
    if lowered.pattern is not None:
        return "the program depends on which of its arguments are one object"
    if lowered.hooks:
        return "the Tensors that it is given have hooks"
    attributes = [(owner, name) for owner, name, _ in lowered.attributes]
    if attributes or not all(isinstance(state, Tensor) for state in entry.states_written):
        named = dict.fromkeys(f"{type(owner).__name__}.{name}" for owner, name in attributes)
        return f"the program sets attributes{': ' * bool(named)}{', '.join(named)}"
    if lowered.standing:
        return "the program changes lists, dicts or sets from outside"
    if entry.program.commits:
        return "the program writes states and runs Python in between, which may see them, or raise an exception"
    return ""


class _Plan(NamedTuple):
    """What a short way is made of: what a call asks, the states, which of them it writes, and what it returns."""

    asked: Asked
    states: list[Any]
    written: list[int]
    form: Form | None
    constants: dict[str, Any]


def _plan(entry: Specialised, arrays: Collection[int]) -> _Plan | str:
    """How calls take the short way, or why there is none; `arrays`: which of the arguments are ndarrays."""
    from ...backends.native.words import free_words

    asked = Asked(entry)
    states = [*asked.captured, *entry.states_read]
    if not all(type(x) is Parameter or type(x) is Tensor for x in states):
        return "the program reads Tensors of a class of its own"
    if free_words(entry.all_locks) is None:
        return "the locks of states cannot be looked at here"
    places = {id(x): i for i, x in enumerate(states)}
    if not all(id(x) in places for x in entry.states_written):
        return "the program writes states that it does not read"  # it is given no place for them
    form, constants = returned(entry.lowered.result, arrays)
    if form is None and arrays:
        return "an ndarray is returned as it is"  # Python makes results of Tensors
    return _Plan(asked, states, [places[id(x)] for x in entry.states_written], form, constants)


def is_of_method(key: Key, args: Sequence[Any], leaves: Sequence[Tensor]) -> bool:
    """Whether the first argument is an object that counts by identity, and the others are Tensors."""
    if len(args) < 1 or len(leaves) != len(args) - 1 or type(key[0]) is not Identity or key[0].obj is not args[0]:
        return False
    return all(type(x) is Tensor for x in args[1:]) and type(args[0]).__weakrefoffset__ != 0


def unusual_arguments(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """What of the arguments of a call only Python can look at, in words."""
    key, leaves = signature(args, kwargs)
    if not kwargs and is_of_method(key, args, leaves):
        return []
    kinds = [(name_of_argument(fn, i), type(x).__name__) for i, x in enumerate(args) if type(x) not in TAKEN]
    found = [f"argument `{name}` is of type {kind}" for name, kind in kinds]
    return [*found, *[f"argument `{name}` is given by its name" for name in kwargs]]


def asked_in_python(entry: Specialised) -> list[str]:
    """What Python is asked at each call that goes the short way, in words."""
    return Asked(entry).rest_names


def long_because(entry: Specialised) -> str:
    """Why calls of a compiled form with nothing but Tensors go the long way; empty if they need not."""
    from ...backends.native.backend import NativeProgram
    from ...backends.native.direct import direct_signature

    program, reason = entry.program.executable, obstacle(entry)
    if reason or type(program) is not NativeProgram:
        return reason or "NumPy runs the program"
    plan = _plan(entry, ())
    if isinstance(plan, str):
        return plan
    found = direct_signature(program, plan.states, plan.written, (), plan.form or parts_of(entry.result_count))
    return found if isinstance(found, str) else ""


def short_way(entry: Specialised, arrays: Collection[int]) -> ShortWay | None:
    """The short way into a compiled form, if there can be one; `arrays`: which of its arguments are ndarrays."""
    from ...backends.native.backend import NativeProgram

    program = entry.program.executable
    if type(program) is not NativeProgram or not entry.may_be_short:
        return None
    from ...backends.native.direct import direct
    from ...backends.native.fronts import hasten

    plan = _plan(entry, arrays)
    if isinstance(plan, str):
        return None
    # where machine code cannot put the result together, it gives the parts
    form, kept = plan.form or parts_of(entry.result_count), (plan.asked.kept, entry.lowered)
    made = direct(program, plan.states, plan.written, arrays, form, plan.constants, kept)
    if made is None:
        return None
    while _callers:
        hasten(_callers.pop())
    return ShortWay(entry, made, plan.asked, None if plan.form is not None else entry.finish)
