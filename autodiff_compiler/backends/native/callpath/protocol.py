"""What a call path is: how Python calls compiled code, and where the answers of guards lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any, Protocol, TypeAlias

from ....locks import Lock
from ....runtime.tensor import Tensor
from ..codegen.context import Context
from .signature import Form, Signature

__all__ = ["CallPath", "Entry", "GuardedEntry", "Place", "Program", "Word"]

#: Where a word of memory lies, and what it must be.
Word: TypeAlias = tuple[int, int]
#: Words that must be compared first, and where the answer lies as long as they are what they are.
Place: TypeAlias = tuple[list[Word], int]


class Entry(Protocol):
    """How Python calls a module.

    `text` defines what calls main, for the end of the module; `declares` are the declarations it needs.  `text` asks
    `@context` for what it needs of this process.
    """

    text: str
    declares: frozenset[str]

    def bind(
        self, loaded: Any, slow: Callable[..., Any], name: str = "call", others: Mapping[str, int] | None = None
    ) -> Callable[..., Any]:
        """The module as a function, which owns what was loaded; `slow` is called with whatever is unusual.

        `others` are the pointers in the context that are not the entry's; `slow` keeps alive what they point to.
        """
        ...


class Program(Protocol):
    """A compiled module with an entry; `signature` is None where Python stands in front of that."""

    signature: Signature | None
    run: Any

    def address(self, name: str) -> int:
        """Where a function of it lies."""
        ...


class GuardedEntry(Protocol):
    """An entry to a program that compares the words of guards before it runs it."""

    @property
    def calls(self) -> int:
        """How many calls ran the program."""
        ...

    def function(self, slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The program as a function; what is unusual about a call, `slow` gets."""
        ...

    def watch(self, words: Sequence[Word]) -> None:
        """From now on these words decide whether the program may run; the caller keeps alive what they belong to."""
        ...

    def rewrite(self, number: int, what: int) -> None:
        """Another thing is what one of the words must be."""
        ...

    def settle(self) -> None:
        """Forgets who held the bytes of states, where none of them is left."""
        ...


class CallPath(Protocol):
    """How calls get from Python into compiled code.

    What it cannot do it says: no words, a reason in place of an entry, False.  Then Python does it, with the same
    results.
    """

    @property
    def name(self) -> str: ...

    # ------------------------------------------------------------------------------------------- entries
    def entry(self, signature: Signature, context: Context) -> Entry:
        """The entry of a module."""
        ...

    def refusal(
        self, program: Program, states: Sequence[Tensor], written: Sequence[int], arrays: Collection[int], form: Form
    ) -> str:
        """Why there is no guarded entry to a program; empty if there is one.  The arguments are those of `guarded`."""
        ...

    def guarded(
        self,
        program: Program,
        states: Sequence[Tensor],
        written: Sequence[int],
        arrays: Collection[int],
        form: Form,
        constants: Mapping[str, Any],
        kept: object,
    ) -> GuardedEntry | None:
        """The guarded entry to a program whose last arguments are these Tensors and Parameters, if there can be one.

        Its last results are the next versions of states: of `written`, by their numbers among `states`.  `arrays`:
        which of the other arguments are ndarrays, not Tensors.  `form` is what it returns; `constants` are those in it
        by name, kept alive as `kept` and the states are.
        """
        ...

    def hasten(self, function: FunctionType) -> bool:
        """Lets calls of a `__call__` take the way `_fast` of their first argument at once; whether that is so now."""
        ...

    # ------------------------------------------------------------------------------------------- guards
    def place_read(self, get: Callable[[Any], Any], key: Any) -> Place | None:
        """Where ``get(key)`` finds its answer."""
        ...

    def unread(self, get: Callable[[Any], Any]) -> list[Word] | None:
        """The words that say that ``get(names)``, whether a dict has none of some names, is true."""
        ...

    def method(self, owner: Any, name: str) -> list[Word] | None:
        """The words that say that an object's class has the function under a name that it has now, itself nothing."""
        ...

    def absence(self, owner: Any, name: str) -> list[Word] | None:
        """The words that say that an object has no attribute of its own of that name."""
        ...

    def array(self, owner: Any, content: bytes) -> list[Word] | None:
        """The words that say that an array has the shape and dtype that it has now, and these bytes."""
        ...

    def inside(self, owner: Any) -> tuple[list[Word], list[int]] | None:
        """Where a list, tuple or dict has its elements (a dict: its values), with the words that say so."""
        ...

    def free_words(self, locks: Sequence[Lock]) -> list[Word] | None:
        """The words that say that no thread holds the locks."""
        ...
