"""A compiled entry: the program for one key with its guards, and the slow path of its calls.

The slow path is Python: it checks the guards, runs the program, and writes states, attributes and containers back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from ..config import context
from ..errors import SideEffectError
from ..frontend.effects.after_forward import AttributeCell
from ..frontend.effects.inputs import pattern_of
from ..frontend.effects.results import Unstacked
from ..frontend.guards.guards import in_short
from ..frontend.lower import Lowered
from ..frontend.variables.structure import parts
from ..frontend.variables.values import LocalDict, LocalList, LocalObject
from ..locks import Lock, locks_of
from ..runtime.commits import Committed, noting
from ..runtime.epoch import epoch
from ..runtime.hooks import registered_on, same_hooks
from ..runtime.random import generator
from ..runtime.storage import holders
from ..runtime.tensor import Tensor, wrap
from .call_sizes import Sizes
from .callback_state import CallbackState, replace_value, set_attribute, set_content
from .program import Program
from .result_templates import assembled, assembler


class CompiledEntry:
    """A compiled function for one key: the program, its guards, and what its calls write back."""

    #: the sizes of its calls, where it is for several
    sizes: Sizes | None = None

    def __init__(self, lowered: Lowered, program: Program) -> None:
        self.lowered, self.program = lowered, program
        #: the number of the epoch in which the guards held last
        self.seen_epoch = epoch.now
        #: what its program is made for
        self.machine = context.machine
        self._watched = [g for g in lowered.guards if g.watched]
        unwatched = [g for g in lowered.guards if not g.watched]
        #: all guards; and the same as identity guards first, the rest after them
        self._all_hold = [g.holds for g in unwatched]
        self._quick, self._holds = in_short(unwatched)
        self._fetch = [c.fetch for c in lowered.captures]
        self.program.in_place = [n for n, state in lowered.states.items() if isinstance(state, Tensor)]
        #: the arguments that are overwritten; a compilation that fails must fail here, before anything is cached
        self._overwritten = self.program.executable.overwrites
        self._commits = self.program.commits
        interface = self.program.interface
        #: the states that are the last arguments of the program; those that its last results are the next versions of
        self.states_read = [lowered.states[name] for name in interface.inputs]
        self.states_written = [lowered.states[name] for name in interface.outputs]
        #: how many results there are besides states
        self.result_count = interface.results
        #: assembles the returned value from the results and the inputs
        self.assemble = assembler(lowered.result)
        made = (LocalList, LocalDict, LocalObject, Unstacked)
        shared = [id(x) for x in parts(lowered.result) if isinstance(x, made)]
        if len(set(shared)) < len(shared):
            self.assemble = lambda results, inputs: assembled(lowered.result, results, inputs, {})
        contents = [template for _, _, template in (*lowered.attributes, *lowered.containers)]
        templates = [lowered.result, *contents]
        #: assembles the returned value and the attributes and containers written at once, where they may hold aliases
        self._assemble_all: Any = None
        if lowered.standing or any(isinstance(x, LocalList | LocalDict) for t in templates[1:] for x in parts(t)):
            self._assemble_all = lambda results, inputs, made: assembled(templates, results, inputs, made)
        self._attributes = [(owner, name, assembler(template)) for owner, name, template in lowered.attributes]
        #: whether the program depends on its arguments alone, and changes nothing
        changes = self.states_written or lowered.writes or contents or lowered.standing or self._commits
        self._alone = not (self._fetch or self.states_read or changes)
        self._draws = any(generator.owns(state) for state in self.states_written)
        owners = [owner for owner, _, _ in lowered.attributes]
        written = [s for s in self.states_written if type(s) is not AttributeCell and not generator.owns(s)]
        #: held during a call: two calls that read a state and write it must not overlap
        self._locked = [*written, *owners]
        self._locks = locks_of(self._locked)
        #: the same with the one that is held while numbers are drawn
        self.all_locks = [*self._locks, *([generator.drawing] if self._draws else [])]

    def valid(self) -> bool:
        """Whether the guards hold."""
        now = epoch.now
        if now is not self.seen_epoch:
            if context.machine != self.machine or not all(g.holds() for g in self._watched):
                return False
            self.seen_epoch = now
        try:
            for get, key, value in self._quick:
                if get(key) is not value:
                    return self._checked()
        except (AttributeError, KeyError, ValueError):  # it does not exist any more
            return self._checked()
        for holds in self._holds:  # noqa: SIM110  (a generator costs more than most guards)
            if not holds():
                return False
        return True

    def _checked(self) -> bool:
        """Whether all guards hold: one of identity fails where an equal value has taken the place of another."""
        return all(holds() for holds in self._all_hold)

    @property
    def universal(self) -> bool:
        """Whether neither aliases among the arguments nor their hooks matter."""
        return self.lowered.pattern is None and not self.lowered.hooks

    def agrees(self, leaves: Sequence[Tensor]) -> bool:
        """Whether, where that matters, the aliases among the Tensors and their hooks are those of the compilation."""
        pattern, hooks = self.lowered.pattern, self.lowered.hooks
        if hooks:
            inputs = [*leaves, *[fetch() for fetch in self._fetch]]
            if any(not same_hooks(registered_on(inputs[i]), expected) for i, expected in hooks.items()):
                return False
        return pattern is None or pattern_of([*map(id, leaves), *[id(fetch()) for fetch in self._fetch]]) == pattern

    def check_aliases(self, arguments: Any) -> None:
        """SideEffectError if an argument is, or holds, an alias of a container that the program changes."""
        changed = {id(place.fetch()) for place, _, _ in self.lowered.containers}
        if changed and any(id(part) in changed for part in parts(arguments)):
            raise SideEffectError(
                "a list, dict or set is an argument of compiled code that reaches it from outside, too, and changes it",
                code="AC1602",
                hint="give the function a copy, or let it use one of the two",
            )

    def __call__(self, leaves: Sequence[Tensor]) -> Any:
        if self._alone:
            return self.assemble(self.program(leaves), leaves)
        if not self._draws and not self._locks and not self.lowered.containers:
            return self._run(leaves)
        with ExitStack() as held:
            for lock in self._locks_of_call():
                held.enter_context(lock)
            if self._draws:
                held.enter_context(generator.drawing)  # otherwise two threads would draw the same numbers
            return self._run(leaves)

    def _locks_of_call(self) -> list[Lock]:
        if not self.lowered.containers:
            return self._locks
        return locks_of([*self._locked, *[place.fetch() for place, _, _ in self.lowered.containers]])

    def _run(self, leaves: Sequence[Tensor]) -> Any:
        inputs = [*leaves, *[fetch() for fetch in self._fetch]]
        if self.lowered.writes:
            states = [state for state in self.states_read if type(state) is not AttributeCell]
            check_memory([inputs[i] for i, _ in self.lowered.writes], [*inputs, *states])
        #: containers from outside that keep their identity, by the id of their place in the templates
        places = {id(place): place.fetch() for place in self.lowered.standing}
        if self._overwritten:
            results = self.program(unaliased([*inputs, *self.states_read], self._overwritten))
        elif not self._commits:
            results = self.program([*inputs, *self.states_read])
        else:
            results = self._noting(inputs, places)
        for state, new in zip(self.states_written, results[self.result_count :], strict=True):
            if type(state) is not AttributeCell:  # the attribute itself is written below
                replace_value(state, new)
        for i, result in self.lowered.writes:
            replace_value(inputs[i], results[result])
        if self._assemble_all is not None:
            returned, *contents = self._assemble_all(results, inputs, dict(places))
        else:
            returned = self.assemble(results, inputs)
            contents = [assemble(results, inputs) for _, _, assemble in self._attributes]
        for (owner, name, _), value in zip(self._attributes, contents, strict=False):
            set_attribute(owner, name, value)
        for (place, grows, _), held in zip(self.lowered.containers, contents[len(self._attributes) :], strict=True):
            set_content(places[id(place)], grows, held)
        return returned

    def _noting(self, inputs: list[Tensor], places: dict[int, Any]) -> list[Tensor]:
        """Runs the program; if an exception leaves it, writes back what it had written by then."""
        write_back = partial(self._write_back, places)
        owners = [places[id(place)] for place, _, _ in self.lowered.containers]
        callbacks = CallbackState(self.lowered, inputs, owners, write_back)
        with noting(self.lowered.module.states, callbacks) as noted:
            try:
                results = self.program([*inputs, *self.states_read])
            except BaseException:
                callbacks.take_back()
                write_back(noted, inputs, replace_value)
                raise
            callbacks.take_back()
            return results

    def _write_back(
        self, places: dict[int, Any], noted: Committed, inputs: Sequence[Tensor], replace: Callable[..., None]
    ) -> None:
        states = {name: wrap(np.array(array)) for name, array in noted.states.items()}
        rest = [wrap(np.array(array)) for array in noted.rest]
        for name, new in states.items():
            if isinstance(self.lowered.states[name], Tensor):  # else it belongs to an attribute
                replace(self.lowered.states[name], new)
        if noted.place is None:
            return
        site = self.lowered.sites[noted.place]
        for i, result in site.writes:
            replace(inputs[i], rest[result])
        made = dict(places)
        written = (*site.attributes, *site.containers)
        contents = [assembled(template, rest, inputs, made) for _, _, template in written]
        for (owner, name, _), value in zip(site.attributes, contents, strict=False):
            set_attribute(owner, name, value)
        for (place, grows, _), held in zip(site.containers, contents[len(site.attributes) :], strict=True):
            set_content(places[id(place)], grows, held)


def unaliased(inputs: list[Tensor], written: Sequence[int]) -> list[Tensor]:
    """The inputs, with copies of those that a program overwrites and others share memory with."""
    arrays = [inputs[i]._own() for i in written]
    if all(t._data.base is None for t in inputs) and len({id(t._data) for t in inputs}) == len(inputs):
        return inputs  # each owns its memory
    for i, array in zip(written, arrays, strict=True):
        others = [t._data for k, t in enumerate(inputs) if k != i]
        if any(np.may_share_memory(array, other) for other in others):
            inputs[i] = wrap(array.copy())
    return inputs


def check_memory(written: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """SideEffectError if one of the Tensors written is an alias of another one: compiled code knows of no aliases."""
    for target in written:
        if target._held & holders.live:
            continue  # a write goes to a copy
        for other in inputs:
            if other is not target and np.may_share_memory(target._data, other._data) and _overlap(target, other):
                raise SideEffectError(
                    "compiled code writes to a Tensor that shares its memory with another one it uses",
                    code="AC1602",
                    hint="copy one of them before the call",
                )


def _overlap(a: Tensor, b: Tensor) -> bool:
    work: Any = 10_000  # NumPy's stubs know two special values only
    try:
        return np.shares_memory(a._data, b._data, max_work=work)
    except np.exceptions.TooHardError:
        return True
