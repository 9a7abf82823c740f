"""The entry of a compiled module: a Python function in machine code, which checks arguments, makes results, calls main.

It reads ndarrays (or Tensors) directly: the fast path.  A call that fails a check goes with the same arguments to the
slow path, a Python function that is its `__self__`; only that one defines semantics.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .... import escape
from ....ir.types import MOST_BYTES
from ....runtime.storage import holders
from ..codegen.emit import size_register
from ..codegen.emitter import Context
from ..jit.engine import load
from ..memory.anchor import anchor
from ..memory.frame_pool import POOL, Release, frame_size, functions_for
from .entry_text import EntryText
from .objects import pointer
from .protocol import BoundProgram, Word
from .signature import Signature


class MachineEntry:
    """The entry in machine code."""

    def __init__(self, signature: Signature, context: Context) -> None:
        self._signature, self._context = signature, context
        writer = EntryText(signature, context)
        self.text = writer.written()
        self.declares = frozenset(writer.declares)

    def bind(
        self, loaded: Any, slow: Callable[..., Any], name: str = "call", others: Mapping[str, int] | None = None
    ) -> Callable[..., Any]:
        return made_functions(loaded, self._signature, self._context, others or {})(slow, name)


def made_functions(
    loaded: Any,
    signature: Signature,
    context: Context,
    others: Mapping[str, int],
    hidden: tuple[object, ...] = (),
    seen: tuple[object, ...] = (),
) -> Callable[[Callable[..., Any], str], Callable[..., Any]]:
    """Makes functions that enter a module from their slow paths and names.

    They keep alive `hidden`, which the garbage collector does not see, and `seen`, which it does: tuples, which it does
    not clear.
    """
    loaded.fill(context.pointers(others, pointer))
    own = anchor(_releaser(loaded, signature, context), loaded, *hidden)

    def function(slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        method = _MethodDef(escape.line(name).encode(), loaded.address("entry"), _FASTCALL | _KEYWORDS, None)
        # owned like its module: CPython frees it only with the function
        owned = (anchor(_nothing, method), own, seen)
        made: Callable[..., Any] = _new_function(ctypes.addressof(method), slow, owned)
        return made

    return function


def _nothing() -> None:
    pass


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL, _KEYWORDS = 0x80, 0x2
_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)

#: Bytes of the shared frames that living modules need, by module.
_needs: dict[int, int] = {}


def _releaser(loaded: Any, signature: Signature, context: Context) -> Callable[[], None]:
    """A function that frees the frames of a module; shared ones that another module may need stay."""
    if not signature.frame_bytes:
        return lambda: None
    release = Release(functions_for(signature.frame_bytes).address("frames_release"))
    if not signature.shares_frames:
        mine = ctypes.addressof(loaded.context) + 8 * context.number("frames")
        return lambda: release(mine, 0)
    key, needs, pool = loaded.address("entry"), _needs, ctypes.addressof(POOL)
    size = frame_size(signature.frame_bytes, True)
    needs[key] = size if isinstance(size, int) else MOST_BYTES

    def leave() -> None:
        del needs[key]
        release(pool, max(list(needs.values()), default=0))

    return leave


# ------------------------------------------------------------------------------------------------ guarded entries
# The code of the program with another entry.  It owns the states of the program, so callers give the arguments of the
# user's function only.
class MachineGuardedEntry:
    """The guarded entry of one program; `calls`: how many calls passed its guards."""

    def __init__(self, bound: BoundProgram, signature: Signature, constants: Mapping[str, Any], kept: object) -> None:
        context, program, states = Context(), bound.program, bound.states
        entry = MachineEntry(signature, context)
        assert program.signature is not None
        shadow = {
            i: np.empty(r.nbytes, np.uint8)
            for i, r in enumerate(program.signature.results)
            if r.argument is None and signature.results[i].argument is not None
        }
        text = "\n".join([_forwarding_main(program.signature, signature, context), *sorted(entry.declares), entry.text])
        loaded = load(text, context_size=len(context))
        first = len(signature.arguments) - len(states)
        #: the guard table, in a list that the function keeps alive, since every call reads the table
        self._tables: list[Any] = [(ctypes.c_size_t * 2)()]
        others = {"main": program.address("main"), "watched": ctypes.addressof(self._tables[0])}
        for i, state in enumerate(states):
            others[f"state {i}"] = id(state)
        others |= {f"shadow {i}": array.ctypes.data for i, array in shadow.items()}
        others |= {name: id(x) for name, x in constants.items()}
        self._states = [x for i, x in enumerate(states, first) if i in signature.overwritten]
        hidden = (program.run, self._tables)  # in no cycle
        seen = (tuple(states), tuple(constants.values()), tuple(shadow.values()), kept)
        self._made = made_functions(loaded, signature, context, others, hidden, seen)
        self._context, self._place, self._count = loaded.context, context.number("watched"), context.number("calls")
        self._loaded = loaded  # whose context it is

    def function(self, slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The program as a Python function; calls that fail a check go to `slow`."""
        return self._made(slow, name)

    @property
    def calls(self) -> int:
        """How many calls passed the guards."""
        return self._context[self._count] or 0

    def watch(self, words: Sequence[Word]) -> None:
        """Replaces the guard table; the caller keeps alive the objects that the words lie in."""
        flat = [x for word in words for x in word]
        table = (ctypes.c_size_t * (len(flat) + 2))(*flat)
        self._context[self._place] = ctypes.addressof(table)
        self._tables[0] = table  # only now: the old one must live until it is replaced

    def rewrite(self, number: int, what: int) -> None:
        """Changes what one word of the table must be."""
        self._tables[0][2 * number + 1] = what

    def settle(self) -> None:
        """Clears `_held` of overwritten states where no holder is alive any more: else calls take the slow path."""
        for state in self._states:
            held = state._held
            if held and not held & holders.live:
                state._held = 0


def guarded_signature(bound: BoundProgram) -> Signature | str:
    """The signature of a program's guarded entry, or why there is none."""
    program, states, written, arrays, form, relations = bound
    s = program.signature
    if s is None:
        return "the program takes or gives sequences, which Python packs"
    given, new = len(s.arguments) - len(states), len(s.results) - len(written)
    changes = bool(s.overwritten or written)
    if min(s.overwritten, default=given) < given:
        return "the program writes over an argument"
    if changes and s.resumes:
        return "the program writes states and runs Python in between, at least to look for Ctrl-C"
    if any(s.arguments[given + i].kind != r.kind for i, r in zip(written, s.results[new:], strict=True)):
        return "a state gets another type or shape"
    arguments = [replace(a, plain=True, array=i in arrays) for i, a in enumerate(s.arguments[:given])]
    arguments += [replace(a, captured=f"state {i}") for i, a in enumerate(s.arguments[given:])]
    results = [replace(r, argument=given + i) for i, r in zip(written, s.results[new:], strict=True)]
    return replace(
        s, arguments=tuple(arguments), results=(*s.results[:new], *results), tensors=True, form=form, watched=True,
        relations=tuple(relations),
        # other threads must not see a half-written state, nor run the program, which has one shadow for each state
        release_gil=s.release_gil and not changes,
    )  # fmt: skip


def _forwarding_main(program: Signature, guarded: Signature, context: Context) -> str:
    """The main of this module: it calls the program's main.

    Next versions that the program does not write over their states are written to shadows, and copied at its end.
    """
    given = ["ptr %frame", *[f"ptr %a{i}" for i in range(len(program.arguments))]]
    shadow = [i for i in program.fresh if guarded.results[i].argument is not None]
    lines = [f"  %main = load ptr, ptr {context.place('main')}"]
    lines += [f"  %o{i} = load ptr, ptr {context.place(f'shadow {i}')}" for i in shadow]
    sizes = [str(size_register(symbol)) for symbol in program.shapes.definitions]
    passed = [*given, *[f"ptr %o{i}" for i in program.fresh], *sizes]
    lines += [f"  %code = call i32 %main({', '.join(passed)})", "  %failed = icmp ne i32 %code, 0"]
    lines += ["  br i1 %failed, label %end, label %take", "take:"]
    for i in shadow:
        size, argument = program.results[i].nbytes, guarded.results[i].argument
        lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %a{argument}, ptr %o{i}, i64 {size}, i1 false)")
    lines += ["  br label %end", "end:", "  ret i32 %code"]
    parameters = ", ".join([*given, *[f"ptr %o{i}" for i in guarded.fresh], *sizes])
    declared = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n" if shadow else ""
    return "\n".join([f"{declared}define internal i32 @main({parameters}) {{", *lines, "}", ""])
