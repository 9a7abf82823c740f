"""The short way into compiled code: a function of machine code that checks a call itself and runs the program.

A compiled form gets one where all that a call has to look at can be looked at there: the types of its Tensors, and what
its guards ask, as words of memory.  Whatever else a call is, it goes the long way, which is the only one that knows
what is right; so the short one may refuse at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .asked import Asked
from .returned import parts_of, returned

if TYPE_CHECKING:
    from ..backends.native.direct import Direct
    from .specialised import Specialised

__all__ = ["REFUSED", "ShortWay", "short_way", "takes_short_ways"]

F = TypeVar("F", bound=Callable[..., Any])
#: What a call gives that must go the long way.
REFUSED: Any = object()


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
        from ..backends.native.words import hold

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
        from ..backends.native.words import epoch_word

        self._made.watch([(epoch_word()[0], id(self._epoch)), *self._words])


def short_way(entry: Specialised, arrays: Collection[int]) -> ShortWay | None:
    """The short way into a compiled form, if there can be one; `arrays`: which of its arguments are ndarrays."""
    from ..backends.native.backend import NativeProgram

    program, lowered = entry.program.executable, entry.lowered
    if type(program) is not NativeProgram or not entry.may_be_short:
        return None
    from ..backends.native.direct import direct
    from ..backends.native.fronts import hasten
    from ..backends.native.words import free_words

    asked = Asked(entry)
    states = [*asked.captured, *entry.states_read]
    if not all(type(x) is Parameter or type(x) is Tensor for x in states) or free_words(entry.all_locks) is None:
        return None
    places = {id(x): i for i, x in enumerate(states)}
    if not all(id(x) in places for x in entry.states_written):
        return None  # it is given no place for what it only writes
    written = [places[id(x)] for x in entry.states_written]
    form, constants = returned(lowered.result, arrays)
    if form is None and arrays:
        return None  # Python makes results of Tensors
    # where machine code cannot put the result together, it gives the parts
    made = direct(
        program, states, written, arrays, form or parts_of(entry.result_count), constants, (asked.kept, lowered)
    )
    if made is None:
        return None
    while _callers:
        hasten(_callers.pop())
    return ShortWay(entry, made, asked, None if form is not None else entry.finish)
