"""The fast path into a compiled entry, made of machine code; loaded when the first one of the process is opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...backends.native.backend import NativeProgram
from ...backends.native.callpath.choose import call_path
from ...backends.native.callpath.memory_guards import epoch_word, hold
from ...backends.native.callpath.protocol import BoundProgram, GuardedEntry
from ...backends.native.callpath.signature import Form
from ...dtypes import DType
from ...frontend.lower import Arg, Out, State
from ...frontend.variables.values import LocalDict, LocalList
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ..entry import CompiledEntry
from .eligible import REFUSED, callers, obstacle
from .guard_table import GuardTable


def _refuse(*args: Any, **kwargs: Any) -> Any:
    return REFUSED


class FastPath:
    """The fast path into one compiled entry, until `settle` says that it is closed for good."""

    def __init__(self, entry: CompiledEntry, made: GuardedEntry, guards: GuardTable, assemble: Any) -> None:
        self._made, self._guards, self._assemble = made, guards, assemble
        self._epoch = entry.seen_epoch
        self._words = guards.words()
        self._watch()
        #: refusals in a row, and how many calls it had run before them
        self._refused = self._calls = 0
        self._raw = made.function(_refuse, "call")

    @property
    def calls(self) -> int:
        """How many calls took it."""
        return self._made.calls

    def function(self, slow: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A function that takes the fast path where it can; for other calls it is `slow`."""
        if self._assemble is None and not self._guards.rest:
            return self._made.function(slow, name)
        tried = self.tried

        def call(*args: Any, **kwargs: Any) -> Any:
            found = tried(args) if not kwargs else REFUSED
            return slow(*args, **kwargs) if found is REFUSED else found

        return call

    def tried(self, args: Sequence[Any]) -> Any:
        """What a call gives, or REFUSED."""
        for holds in self._guards.rest:
            if not holds():
                return REFUSED
        found = self._raw(*args)
        if self._assemble is None or found is REFUSED:
            return found
        return self._assemble(found, (*args, *self._guards.captured))

    def settle(self, entry: CompiledEntry) -> bool:
        """Writes the guard table anew after a refusal though the guards hold: objects may lie elsewhere by now.

        Whether the fast path stays open.
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
            if not self._guards.still():
                return False
            if not hold(self._words):
                self._words = self._guards.words()
                self._watch()
        return True

    def _watch(self) -> None:
        self._made.watch([(epoch_word()[0], id(self._epoch)), *self._words])


class _Plan(NamedTuple):
    """The parts of a fast path: its guards, the states, which of them are written, and the layout of the result."""

    guards: GuardTable
    states: list[Any]
    written: list[int]
    form: Form | None
    constants: dict[str, Any]


def _plan(entry: CompiledEntry, arrays: Collection[int]) -> _Plan | str:
    """The parts of the fast path, or why there is none; `arrays`: which of the arguments are ndarrays."""
    guards = GuardTable(entry)
    states = [*guards.captured, *entry.states_read]
    if not all(type(x) is Parameter or type(x) is Tensor for x in states):
        return "the program reads Tensors of a class of its own"
    if call_path().unlocked_words(entry.all_locks) is None:
        return "the locks of states cannot be looked at here"
    places = {id(x): i for i, x in enumerate(states)}
    if not all(id(x) in places for x in entry.states_written):
        return "the program writes states that it does not read"  # it is given no place for them
    form, constants = result_layout(entry.lowered.result, arrays)
    if form is None and arrays:
        return "an ndarray is returned as it is"  # Python makes results of Tensors
    return _Plan(guards, states, [places[id(x)] for x in entry.states_written], form, constants)


def python_guards(entry: CompiledEntry) -> list[str]:
    """The guards that Python checks at each call of the fast path, as texts."""
    return GuardTable(entry).rest_names


def slow_because(entry: CompiledEntry) -> str:
    """Why calls of an entry with nothing but Tensors go the slow path; empty if they need not."""
    program, reason = entry.program.executable, obstacle(entry)
    if reason or type(program) is not NativeProgram:
        return reason or "NumPy runs the program"
    plan = _plan(entry, ())
    if isinstance(plan, str):
        return plan
    form = plan.form or parts_of(entry.result_count)
    return call_path().refusal(BoundProgram(program, plan.states, plan.written, (), form))


def fast_path(entry: CompiledEntry, arrays: Collection[int]) -> FastPath | None:
    """The fast path into an entry, if there can be one; `arrays`: which of its arguments are ndarrays."""
    program = entry.program.executable
    if type(program) is not NativeProgram:
        return None
    plan = _plan(entry, arrays)
    if isinstance(plan, str):
        return None
    # where machine code cannot assemble the returned value, it gives the results of the program
    form, kept = plan.form or parts_of(entry.result_count), (plan.guards.kept_alive, entry.lowered)
    path = call_path()
    relations = () if entry.sizes is None else entry.sizes.relations
    bound = BoundProgram(program, plan.states, plan.written, arrays, form, relations)
    made = path.guarded(bound, plan.constants, kept)
    if made is None:
        return None
    while callers:
        path.install_vectorcall(callers.pop())
    return FastPath(entry, made, plan.guards, None if plan.form is not None else entry.assemble)


# ------------------------------------------------------------------------------------------------ results
_CONTAINERS: dict[Any, str] = {tuple: "tuple", list: "list", LocalList: "list", dict: "dict", LocalDict: "dict"}
_CONSTANT = (type(None), bool, int, float, str, bytes, DType)


def result_layout(template: Any, arrays: Collection[int]) -> tuple[Form | None, dict[str, Any]]:
    """The form of a template, with the constants in it by name; None where only Python can assemble the value.

    `arrays`: which of the arguments are ndarrays; Python returns those.
    """
    constants: dict[str, Any] = {}
    try:
        form = _form(template, constants, set())
    except _InPythonError:
        return None, {}
    results: Counter[int] = Counter()
    bare: set[int] = set()
    for leaf in form.leaves():
        if leaf.kind == "argument" and leaf.number in arrays:
            return None, {}
        if leaf.kind in ("array", "result"):
            results[leaf.number] += 1
            bare |= {leaf.number} if leaf.kind == "array" else set()
    return (None, {}) if any(results[i] > 1 for i in bare) else (form, constants)


def parts_of(count: int) -> Form:
    """A tuple of the first results."""
    return Form("tuple", items=tuple(Form("result", number=i) for i in range(count)))


class _InPythonError(Exception):
    """A part that only Python can assemble."""


def _form(template: Any, constants: dict[str, Any], seen: set[int]) -> Form:
    kind = type(template)
    if kind is Out and template.kind is None:
        return Form("result", number=template.index)
    if kind is Out and template.kind is np.ndarray:
        return Form("array", number=template.index)
    if kind is Arg and template.kind is None:
        return Form("argument", number=template.index)
    if kind is State:
        return Form("constant", name=_named(template.source, constants))
    if kind in _CONSTANT:
        return Form("constant", name=_named(template, constants))
    if kind not in _CONTAINERS or (kind is not tuple and id(template) in seen):
        raise _InPythonError  # aliases
    seen.add(id(template))
    if _CONTAINERS[kind] != "dict":
        return Form(_CONTAINERS[kind], items=tuple(_form(t, constants, seen) for t in template))
    if not all(type(key) in _CONSTANT for key in template):
        raise _InPythonError
    keys = tuple(_named(key, constants) for key in template)
    return Form("dict", items=tuple(_form(t, constants, seen) for t in template.values()), keys=keys)


def _named(x: Any, constants: dict[str, Any]) -> str:
    name = f"constant {len(constants)}"
    constants[name] = x
    return name
