"""A compiled program as a function of Tensors, which Python code calls with nothing in between.

The machine code is that of the program; what is made here is another entry to it.  The states of the program are its
own, so callers give the arguments of the user's function only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from ...runtime.storage import holders
from ...runtime.tensor import Tensor
from .backend import NativeProgram
from .engine import load
from .entry import FastEntry, entry_for, made_functions
from .signature import Context, Signature
from .words import Word

__all__ = ["Direct", "direct"]


class Direct:
    """The entry to one program: `function` gives it as a function of Python.

    `calls` counts the calls that ran the program.
    """

    def __init__(self, program: NativeProgram, signature: Signature, states: Sequence[Tensor], kept: object) -> None:
        context = Context()
        entry = FastEntry(signature, context)
        count = len(signature.arguments) + len(signature.fresh)
        text = "\n".join([_onward(count, context), *sorted(entry.declares), entry.text])
        loaded = load(text, context_size=len(context))
        first = len(signature.arguments) - len(states)
        #: the table that is compared; it is looked at whenever the function is called, so the function keeps it
        self._tables: list[Any] = [(ctypes.c_size_t * 2)()]
        others = {"main": program.address("main"), "watched": ctypes.addressof(self._tables[0])}
        for i, state in enumerate(states):
            others[f"state {i}"] = id(state)
        self._states = [x for i, x in enumerate(states, first) if i in signature.overwritten]
        hidden = (program.run, self._tables)  # in no cycle
        self._made = made_functions(loaded, signature, context, others, hidden, (tuple(states), kept))
        self._context, self._place, self._count = loaded.context, context.number("watched"), context.number("calls")
        self._loaded = loaded  # whose context it is

    def function(self, slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The program as a function; what is unusual about a call, `slow` gets."""
        return self._made(slow, name)

    @property
    def calls(self) -> int:
        """How many calls ran the program."""
        return self._context[self._count] or 0

    def watch(self, words: Sequence[Word]) -> None:
        """From now on these words decide whether the program may run; the caller keeps alive what they belong to."""
        flat = [x for word in words for x in word]
        table = (ctypes.c_size_t * (len(flat) + 2))(*flat)
        self._context[self._place] = ctypes.addressof(table)
        self._tables[0] = table  # not before: there is always one

    def rewrite(self, number: int, what: int) -> None:
        """Another thing is what one of the words must be."""
        self._tables[0][2 * number + 1] = what

    def settle(self) -> None:
        """Forgets who held the bytes of states, where none of them is left."""
        for state in self._states:
            held = state._held
            if held and not held & holders.live:
                state._held = 0


def direct(
    program: NativeProgram, states: Sequence[Tensor], returned: Collection[int], bare: bool, kept: object
) -> Direct | None:
    """An entry to a program whose last arguments are these Tensors and Parameters; None if there can be none.

    `returned`: the numbers of the results that are wanted, among them all that are new.  `bare`: there is one only, and
    it is returned itself.  `kept` is kept alive, as are the states.
    """
    s = program.signature
    if s is None:
        return None
    given = len(s.arguments) - len(states)
    changes = bool(s.overwritten)
    if min(s.overwritten, default=given) < given or (changes and (s.calls_python or s.release_gil)):
        return None
    arguments = [replace(a, plain=True) for a in s.arguments[:given]]
    arguments += [replace(a, captured=f"state {i}") for i, a in enumerate(s.arguments[given:])]
    results = [r if r.argument is None else replace(r, returned=i in returned) for i, r in enumerate(s.results)]
    signature = replace(s, arguments=tuple(arguments), results=tuple(results), tensors=True, bare=bare, watched=True)
    if type(entry_for(signature, Context())) is not FastEntry:
        return None
    return Direct(program, signature, states, kept)


def _onward(count: int, context: Context) -> str:
    """The main of this module: it calls that of the program."""
    given = ", ".join(f"ptr %x{i}" for i in range(count + 1))
    return f"""define internal i32 @main({given}) {{
  %main = load ptr, ptr {context.place("main")}
  %code = tail call i32 %main({given})
  ret i32 %code
}}
"""
