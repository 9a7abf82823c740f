"""What call paths do: entries by which Python calls compiled code, and guards as words of memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple, Protocol, TypeAlias

from ....ir.open_shapes import Relation
from ....locks import Lock
from ....runtime.tensor import Tensor
from ..codegen.emitter import Context
from .signature import Form, Signature

#: A comparison: the address of a word, and what it must be.
Word: TypeAlias = tuple[int, int]
#: Words to compare first, and the address that is valid while they hold.
Place: TypeAlias = tuple[list[Word], int]


class Entry(Protocol):
    """How Python calls a module.

    `text`: LLVM functions at the end of the module, which call main and find objects of this process in `@context`;
    `declares`: their declarations.
    """

    text: str
    declares: frozenset[str]

    def bind(
        self, loaded: Any, slow: Callable[..., Any], name: str = "call", others: Mapping[str, int] | None = None
    ) -> Callable[..., Any]:
        """The module as a Python function, which owns `loaded`; calls that fail a check go to `slow`.

        `others`: the pointers in the context that are not the entry's; `slow` keeps alive what they point to.
        """
        ...


class Program(Protocol):
    """A compiled module with an entry; `signature` is None where Python packs sequences around it."""

    signature: Signature | None
    run: Any

    def address(self, name: str) -> int:
        """The address of one of its functions."""
        ...


class BoundProgram(NamedTuple):
    """A program bound to the states that its guarded entry gives it.

    The program's last arguments are `states`, its last results the next versions of the `written` ones, by their
    numbers among `states`.  `arrays`: which of the other arguments are ndarrays, not Tensors.  `form` is what it
    returns.  `relations`: what else must hold of the sizes of arguments.
    """

    program: Program
    states: Sequence[Tensor]
    written: Sequence[int]
    arrays: Collection[int]
    form: Form
    relations: Collection[Relation] = ()


class GuardedEntry(Protocol):
    """An entry that compares the words of a guard table before it runs its program."""

    @property
    def calls(self) -> int:
        """How many calls passed the guards."""
        ...

    def function(self, slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The program as a Python function; calls that fail a check go to `slow`."""
        ...

    def watch(self, words: Sequence[Word]) -> None:
        """Replaces the guard table; the caller keeps alive the objects that the words lie in."""
        ...

    def rewrite(self, number: int, what: int) -> None:
        """Changes what one word of the table must be."""
        ...

    def settle(self) -> None:
        """Clears `_held` of overwritten states where no holder is alive any more: else calls take the slow path."""
        ...


class CallPath(ABC):
    """How calls get from Python into compiled code.

    For what it cannot do, here all that can be missing, it returns None, False, or a reason in place of an entry; then
    Python does it, with the same results.
    """

    name: str

    # ------------------------------------------------------------------------------------------- entries
    @abstractmethod
    def entry(self, signature: Signature, context: Context) -> Entry:
        """The entry of a module."""

    @abstractmethod
    def refusal(self, bound: BoundProgram) -> str:
        """Why `guarded` gives no entry; empty if it gives one."""

    def guarded(self, bound: BoundProgram, constants: Mapping[str, Any], kept: object) -> GuardedEntry | None:
        """The guarded entry of a program, if there can be one; it keeps alive its states, `constants` and `kept`.

        `constants`: the objects in what it returns, by name.
        """
        return None

    def install_vectorcall(self, function: FunctionType) -> bool:
        """Makes calls of a `__call__` enter ``self._fast`` directly, if that is set; whether this works here."""
        return False

    # ------------------------------------------------------------------------------------------- guards
    def place_read(self, get: Callable[[Any], Any], key: Any) -> Place | None:
        """The place where ``get(key)`` reads its answer."""
        return None

    def names_absent(self, get: Callable[[Any], Any]) -> list[Word] | None:
        """The words for ``get(names)``, of `dict.keys().isdisjoint`: the dict has none of the names."""
        return None

    def method(self, owner: Any, name: str) -> list[Word] | None:
        """The words for "a method is the same function": the class has it, and the object no attribute of that name."""
        return None

    def absence(self, owner: Any, name: str) -> list[Word] | None:
        """The words for "the object has no own attribute of that name"."""
        return None

    def array(self, owner: Any, content: bytes) -> list[Word] | None:
        """The words for "the array has the same shape, dtype and bytes"."""
        return None

    def element_places(self, owner: Any) -> tuple[list[Word], list[int]] | None:
        """The words and addresses of the elements of a list or tuple, or of the values of a dict."""
        return None

    def unlocked_words(self, locks: Sequence[Lock]) -> list[Word] | None:
        """The words for "no thread holds the locks"."""
        return None if locks else []
