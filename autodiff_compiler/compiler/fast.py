"""The short way into compiled code: a function of machine code that checks a call itself and runs the program.

A compiled form gets one where all that a call has to look at can be looked at there: the types of its Tensors, and what
its guards ask, as words of memory.  Whatever else a call is, it goes the long way, which is the only one that knows
what is right; so the short one may refuse at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..frontend.guards import Guard, in_short
from ..frontend.lower import Out
from ..ir.types import TensorType
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor

if TYPE_CHECKING:
    from ..backends.native.direct import Direct
    from .specialised import Specialised

__all__ = ["REFUSED", "ShortWay", "short_way"]

#: What a call gives that must go the long way.
REFUSED: Any = object()


def _refuse(*args: Any, **kwargs: Any) -> Any:
    return REFUSED


class ShortWay:
    """The short way into one compiled form.

    It is gone for good where `again` says so.
    """

    def __init__(self, entry: Specialised, made: Direct, asked: _Asked, finish: Any) -> None:
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
            self._words = self._asked.words()
            self._watch()
        return True

    def _watch(self) -> None:
        from ..backends.native.words import epoch_word

        self._made.watch([(epoch_word()[0], id(self._epoch)), *self._words])


class _Asked:
    """What a call has to ask: as words of memory where that is possible, and what is left as functions."""

    def __init__(self, entry: Specialised) -> None:
        lowered = entry.lowered
        fetches = {c.fetch for c in lowered.captures}
        # of what is captured the type is asked by the program's entry
        guards = [g for g in lowered.guards if not g.watched]
        asked = [g for g in guards if not (isinstance(g, Guard) and g.fetch in fetches and _is_type(g.expected))]
        quick, self.rest = in_short(asked)
        self._captures = lowered.captures
        self.captured = [c.fetch() for c in lowered.captures]
        for c, x in zip(lowered.captures, self.captured, strict=True):
            if c.quick is None:
                self.rest.append(_is(c.fetch, x))
            else:
                quick.append((*c.quick, x))
        self._locks = entry.all_locks
        self._quick: list[Any] = []
        for one in quick:
            (self.rest.append(_gives(*one)) if _words(one) is None else self._quick.append(one))

    @property
    def kept(self) -> tuple[Any, ...]:
        """What the words belong to."""
        return (*self._quick, *self._locks)

    def words(self) -> list[tuple[int, int]]:
        """The words of now; one that cannot be right where some cannot be found any more."""
        from ..backends.native.words import free_words

        found: dict[tuple[int, int], None] = {}
        for one in self._quick:
            some = _words(one)
            if some is None:
                return [(id(REFUSED), 0)]  # where a count of references stands
            found.update(dict.fromkeys(some))
        locks = free_words(self._locks)
        return [(id(REFUSED), 0)] if locks is None else [*found, *locks]

    def still(self) -> bool:
        """Whether what is captured is what it was."""
        return all(c.fetch() is x for c, x in zip(self._captures, self.captured, strict=True))


def _is_type(expected: Any) -> bool:
    return isinstance(expected, TensorType)


def _words(one: tuple[Callable[[Any], Any], Any, Any]) -> list[tuple[int, int]] | None:
    from ..backends.native.words import words_of

    get, key, value = one
    try:
        return words_of(get, key, value) if get(key) is value else None
    except (AttributeError, KeyError, ValueError):
        return None


def _is(fetch: Callable[[], Any], x: Any) -> Callable[[], bool]:
    def holds() -> bool:
        try:
            return fetch() is x
        except (AttributeError, KeyError, IndexError, ValueError):
            return False

    return holds


def _gives(get: Callable[[Any], Any], key: Any, value: Any) -> Callable[[], bool]:
    return _is(lambda: get(key), value)


def short_way(entry: Specialised) -> ShortWay | None:
    """The short way into a compiled form, if there can be one."""
    from ..backends.native.backend import NativeProgram

    program, lowered = entry.program.executable, entry.lowered
    if type(program) is not NativeProgram or not entry.may_be_short:
        return None
    from ..backends.native.direct import direct
    from ..backends.native.words import free_words

    asked = _Asked(entry)
    states = [*asked.captured, *entry.states_read]
    if not all(type(x) is Parameter or type(x) is Tensor for x in states) or free_words(entry.all_locks) is None:
        return None
    n = entry.result_count
    assert program.signature is not None
    results = program.signature.results
    if any(r.argument is None for r in results[n:]):
        return None  # states that it does not write where they lie, which takes a lock
    template = lowered.result
    indices = [t.index if type(t) is Out and t.kind is None else -1 for t in _items(template)]
    plain = type(template) in (Out, tuple) and indices == list(range(n))
    bare = plain and type(template) is Out
    made = direct(program, states, range(n), bare, (asked.kept, lowered))
    if made is None:
        return None
    return ShortWay(entry, made, asked, None if plain else entry.finish)


def _items(template: Any) -> Sequence[Any]:
    return template if type(template) is tuple else [template]
