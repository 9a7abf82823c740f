"""A function compiled for one key: the program, its guards, and how results are put together."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from .. import progress
from ..config import check_backend, check_looked_at, context
from ..depth import deep
from ..errors import SideEffectError
from ..frontend.effects.after_forward import AttributeCell
from ..frontend.effects.inputs import pattern_of
from ..frontend.effects.results import Chosen, Copied, Shared
from ..frontend.guards.guards import in_short
from ..frontend.lower import Arg, Lowered, NumberArgument, Options, Out, State, TensorArgument, lower
from ..frontend.variables.structure import elements, parts, rebuild
from ..frontend.variables.values import LocalDict, LocalList, LocalObject, LocalSet
from ..ir.primitive import trace
from ..locks import Lock, locks_of
from ..runtime.commits import Committed, noting
from ..runtime.epoch import epoch
from ..runtime.hooks import registered_on, same_hooks
from ..runtime.random import generator
from ..runtime.records import record_fields
from ..runtime.storage import holders
from ..runtime.tensor import Tensor, wrap
from .fast import REFUSED, ShortWay, obstacle, short_way, unusual_arguments
from .firsthand import Recalled, call_of
from .program import Program
from .recorder import compiling, waited, way
from .shown import Shown, replace_value, set_attribute, set_content
from .specialise import specification

__all__ = ["Specialised", "specialise"]


#: After how many calls a short way is looked for: it costs about as much as a thousand calls save.
LONG_WAYS = 8


class Specialised:
    """One entry of a compiled function's cache."""

    #: where each dynamic leaf stands: the number of its argument, then keys of containers; empty if unknown
    paths: tuple[tuple[Any, ...], ...] = ()
    #: what of the arguments it was compiled for only Python can look at
    unusual: tuple[str, ...] = ()

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        #: the call it was compiled for, as which one, and how often it was used since
        self.call, self.number, self.hits = "", 0, 0
        if isinstance(lowered, Recalled):
            self.program = Program(lowered.module_again, wanted=lowered.program)
        else:
            self.program = Program(lowered.module, lowered.states)
        self._epoch = epoch.now
        #: what its program is made for
        self.machine = context.machine
        self._watched = [g for g in lowered.guards if g.watched]
        unwatched = [g for g in lowered.guards if not g.watched]
        #: what all of them ask; and in short: what gives the very object that it gave, and then those left
        self._all_hold = [g.holds for g in unwatched]
        self._quick, self._holds = in_short(unwatched)
        self._fetch = [c.fetch for c in lowered.captures]
        self.program.in_place = [n for n, state in lowered.states.items() if isinstance(state, Tensor)]
        #: the arguments that are overwritten; a failing compile must fail here, before anything is cached
        self._overwritten = self.program.executable.overwrites
        self._commits = self.program.commits
        form = self.program.form
        self._inputs = [lowered.states[name] for name in form.inputs]
        self._written = [lowered.states[name] for name in form.outputs]
        self._results = form.results
        self._finish = _finisher(lowered.result)
        shared = [id(x) for x in parts(lowered.result) if isinstance(x, LocalList | LocalDict | LocalObject)]
        if len(set(shared)) < len(shared):
            self._finish = lambda results, inputs: _built(lowered.result, results, inputs, {})
        contents = [template for _, _, template in (*lowered.attributes, *lowered.containers)]
        templates = [lowered.result, *contents]
        #: puts the result, the attributes and containers together at once, where they may hold one list
        self._finish_all: Any = None
        if lowered.standing or any(isinstance(x, LocalList | LocalDict) for t in templates[1:] for x in parts(t)):
            self._finish_all = lambda results, inputs, made: _built(templates, results, inputs, made)
        self._attributes = [(owner, name, _finisher(template)) for owner, name, template in lowered.attributes]
        #: whether the program depends on its arguments alone, and changes nothing
        changes = self._written or lowered.writes or contents or lowered.standing or self._commits
        self._alone = not (self._fetch or self._inputs or changes)
        #: how many results there are besides states; the states read; how the returned value is made of the results
        self.result_count, self.states_read, self.finish = self._results, self._inputs, self._finish
        self._draws = any(generator.owns(state) for state in self._written)
        owners = [owner for owner, _, _ in lowered.attributes]
        written = [s for s in self._written if type(s) is not AttributeCell and not generator.owns(s)]
        #: held during a call: two calls that read a state and write it must not overlap
        self._locked = [*written, *owners]
        self._locks = locks_of(self._locked)
        #: the same with the one that is held while numbers are drawn
        self.all_locks = [*self._locks, *([generator.drawing] if self._draws else [])]
        #: whether machine code may check its calls: what the program is and what it does allow it
        self.may_be_short = not obstacle(self)
        self._short: ShortWay | None = None
        #: the short way as a function, once there is one
        self.function: Callable[..., Any] | None = None
        self._opening = Lock()
        #: whether the first argument of its calls is an object, which the short way is not given
        self.of_method = False

    def valid(self) -> bool:
        """Whether everything read from outside while compiling is still the same."""
        now = epoch.now
        if now is not self._epoch:
            if context.machine != self.machine or not all(g.holds() for g in self._watched):
                return False
            self._epoch = now
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

    @property
    def states_written(self) -> list[Any]:
        """What the last results are the next versions of."""
        return self._written

    @property
    def seen_epoch(self) -> int:
        """The number of the epoch in which it was valid last."""
        return self._epoch

    @property
    def uses(self) -> int:
        """How many calls used it."""
        short = self._short
        return self.hits if short is None else self.hits + short.calls

    def tried(self, args: Sequence[Any]) -> Any:
        """What a call gives that takes the short way, or REFUSED; the guards need not have been asked."""
        short = self._short  # which another thread may close
        if short is None:
            return REFUSED
        return short.tried(args[1:] if self.of_method else args)

    def shorten(
        self, slow: Callable[..., Any], name: str, args: Sequence[Any], owner: object
    ) -> Callable[..., Any] | None:
        """The short way as a function, opened (again) after a call that went the long one; None if there is none.

        The guards hold, and `args` fit.  What is unusual about a call, `slow` gets.  `owner`: to whom calls are
        attributed while somebody measures.
        """
        if self.hits < LONG_WAYS and self._short is None:
            return None
        began = perf_counter_ns()
        with self._opening:
            waited(began)
            if self._short is None and self.may_be_short:
                with compiling():
                    self._short = short_way(self, [i for i, x in enumerate(args) if type(x) is np.ndarray])
                if self._short is not None:
                    self.function = self._short.function(slow, name)
                    times = getattr(self.program.executable, "times", None)
                    if times is not None:
                        self.function = way(self.function, owner, name, times)
                self.may_be_short = self._short is not None
            elif self._short is not None and not self._short.again(self):
                self.hits, self._short = self.uses, None
                self.function, self.may_be_short = None, False
            return self.function

    def _checked(self) -> bool:
        """Whether the guards hold that are asked at each call: an equal value may have taken the place of another."""
        return all(holds() for holds in self._all_hold)

    @property
    def universal(self) -> bool:
        """Whether it does not matter which arguments are one object, and which hooks they have."""
        return self.lowered.pattern is None and not self.lowered.hooks

    def agrees(self, leaves: Sequence[Tensor]) -> bool:
        """Whether, where that matters, the same Tensors are one object, with the same hooks, as at compile time."""
        pattern, hooks = self.lowered.pattern, self.lowered.hooks
        if hooks:
            inputs = [*leaves, *[fetch() for fetch in self._fetch]]
            if any(not same_hooks(registered_on(inputs[i]), expected) for i, expected in hooks.items()):
                return False
        return pattern is None or pattern_of([*map(id, leaves), *[id(fetch()) for fetch in self._fetch]]) == pattern

    def check_apart(self, arguments: Any) -> None:
        """SideEffectError if an argument is, or holds, a container from outside that the program changes."""
        changed = {id(place.fetch()) for place, _, _ in self.lowered.containers}
        if changed and any(id(part) in changed for part in parts(arguments)):
            raise SideEffectError(
                "a list, dict or set is an argument of compiled code that reaches it from outside, too, and changes it",
                code="AC1602",
                hint="give the function a copy, or let it use one of the two",
            )

    def __call__(self, leaves: Sequence[Tensor]) -> Any:
        if self._alone:
            return self._finish(self.program(leaves), leaves)
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
            states = [state for state in self._inputs if type(state) is not AttributeCell]
            check_memory([inputs[i] for i, _ in self.lowered.writes], [*inputs, *states])
        #: the objects from outside that stay themselves, by what stands for them in templates
        places = {id(place): place.fetch() for place in self.lowered.standing}
        if self._overwritten:
            results = self.program(apart([*inputs, *self._inputs], self._overwritten))
        elif not self._commits:
            results = self.program([*inputs, *self._inputs])
        else:
            results = self._noting(inputs, places)
        for state, new in zip(self._written, results[self._results :], strict=True):
            if type(state) is not AttributeCell:  # the attribute itself is written below
                replace_value(state, new)
        for i, result in self.lowered.writes:
            replace_value(inputs[i], results[result])
        if self._finish_all is not None:
            returned, *contents = self._finish_all(results, inputs, dict(places))
        else:
            returned = self._finish(results, inputs)
            contents = [finish(results, inputs) for _, _, finish in self._attributes]
        for (owner, name, _), value in zip(self._attributes, contents, strict=False):
            set_attribute(owner, name, value)
        for (place, grows, _), held in zip(self.lowered.containers, contents[len(self._attributes) :], strict=True):
            set_content(places[id(place)], grows, held)
        return returned

    def _noting(self, inputs: list[Tensor], places: dict[int, Any]) -> list[Tensor]:
        """Runs the program; if an exception leaves it, what was written by then is written back."""
        write_back = partial(self._write_back, places)
        owners = [places[id(place)] for place, _, _ in self.lowered.containers]
        shown = Shown(self.lowered, inputs, owners, write_back)
        with noting(self.lowered.module.states, shown) as noted:
            try:
                results = self.program([*inputs, *self._inputs])
            except BaseException:
                shown.take_back()
                write_back(noted, inputs, replace_value)
                raise
            shown.take_back()
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
        contents = [_built(template, rest, inputs, made) for _, _, template in written]
        for (owner, name, _), value in zip(site.attributes, contents, strict=False):
            set_attribute(owner, name, value)
        for (place, grows, _), held in zip(site.containers, contents[len(site.attributes) :], strict=True):
            set_content(places[id(place)], grows, held)


def apart(inputs: list[Tensor], written: Sequence[int]) -> list[Tensor]:
    """The inputs with copies of those a program overwrites whose memory others share, which would see it too early."""
    arrays = [inputs[i]._own() for i in written]
    if all(t._data.base is None for t in inputs) and len({id(t._data) for t in inputs}) == len(inputs):
        return inputs  # each owns its memory
    for i, array in zip(written, arrays, strict=True):
        others = [t._data for k, t in enumerate(inputs) if k != i]
        if any(np.may_share_memory(array, other) for other in others):
            inputs[i] = wrap(array.copy())
    return inputs


def check_memory(written: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """SideEffectError if a write to one of the Tensors would show in another one, which compiled code cannot know."""
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


@compiling()  # with the thread that `deep` may begin
@deep
def specialise(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, name: str) -> Specialised:
    """Compiles a function for the types and static values of these arguments.

    RuntimeError where the backend that is asked for cannot be used: AC_BACKEND is not looked at before.
    """
    if context.device_target == "CPU":
        check_backend(options.backend or context.backend)
    if options.check_nonfinite is None:
        options = replace(options, check_nonfinite=context.check_nonfinite)
    if options.check_nonfinite:
        check_looked_at(context.device_target)
    specs = [specification(a) for a in args]
    named = {k: specification(v) for k, v in kwargs.items()}
    with _collector_paused(), _builder_restored(), progress.shown(f"compiling {name}"):
        call = call_of(fn, args, kwargs, options, name)
        found = None if call is None else call.recalled(lower)
        made = Specialised(found or lower(fn, specs, named, options, name))
        if found is not None and made.program.form.results != found.program.results:  # the note was of another call
            found = None
            made = Specialised(lower(fn, specs, named, options, name))
        if call is not None and found is None and made.program.key is not None:
            call.keep(made.lowered, made.program.key)
        made.paths = tuple(_paths([*specs, *named.values()], ()))
        made.unusual = tuple(unusual_arguments(fn, args, kwargs))
        return made


def _paths(spec: Any, here: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Where the dynamic leaves of lists, tuples and dicts stand, in order."""
    if isinstance(spec, TensorArgument | NumberArgument):
        yield here
    elif isinstance(spec, list | tuple | dict):
        for key, part in spec.items() if isinstance(spec, dict) else enumerate(spec):
            yield from _paths(part, (*here, key))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """A compilation makes many objects that live until its end: looking for garbage among them costs a third."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _builder_restored() -> Iterator[None]:
    """An interrupt in the very step that enters or leaves a builder would leave it to the eager code that follows."""
    before = trace.builder
    try:
        yield
    finally:
        trace.builder = before


def _built(template: Any, results: list[Tensor], inputs: Sequence[Tensor], made: dict[int, Any]) -> Any:
    """What `_finisher` makes, with one list for every place of one list in the template."""
    if id(template) in made:
        return made[id(template)]
    items = elements(template)
    if items is None:
        return _finisher(template)(results, inputs)
    new = rebuild(template, [_built(i, results, inputs, made) for i in items])
    if isinstance(new, LocalObject):
        made[id(template)] = _instance(new.cls, new.slots)
    else:
        made[id(template)] = (
            list(new) if isinstance(new, LocalList) else dict(new) if isinstance(new, LocalDict) else new
        )
    return made[id(template)]


def _instance(cls: type, attributes: dict[str, Any]) -> Any:
    """An object of a user's class with these attributes; its `__init__` has run in compiled code."""
    made: Any = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def _choice(template: Chosen) -> Callable[[list[Tensor], Sequence[Tensor]], Any]:
    ways = [(index, _finisher(one)) for index, one in template.ways]
    new = template.otherwise.index

    def finish(results: list[Tensor], leaves: Sequence[Tensor]) -> Any:
        for index, one in ways:
            if results[index]._data:
                return one(results, leaves)
        return results[new]

    return finish


def _finisher(template: Any) -> Callable[[list[Tensor], Sequence[Tensor]], Any]:
    """The function that makes the returned value from the program's results and the call's leaves."""
    if type(template) is Out and template.kind is None:
        index = template.index
        return lambda results, leaves: results[index]
    if isinstance(template, tuple | list | dict):
        parts = [_finisher(t) for t in (template.values() if isinstance(template, dict) else template)]
        if isinstance(template, dict):
            keys = list(template)
            if not isinstance(template, LocalDict) and type(template) is not dict:
                return lambda results, leaves: rebuild(template, [p(results, leaves) for p in parts])
            return lambda results, leaves: dict(zip(keys, [p(results, leaves) for p in parts], strict=True))
        if type(template) is tuple:
            return lambda results, leaves: tuple([p(results, leaves) for p in parts])
        if isinstance(template, LocalList):
            return lambda results, leaves: [p(results, leaves) for p in parts]
        return lambda results, leaves: rebuild(template, [p(results, leaves) for p in parts])
    if type(template) is LocalObject:
        cls, named = template.cls, {name: _finisher(t) for name, t in template.slots.items()}
        return lambda results, leaves: _instance(cls, {name: p(results, leaves) for name, p in named.items()})
    if type(template) is LocalSet:
        return lambda results, leaves: set(template)
    if record_fields(template) is not None:
        parts = [_finisher(t) for t in elements(template)]
        return lambda results, leaves: rebuild(template, [p(results, leaves) for p in parts])
    if type(template) is Chosen:
        return _choice(template)
    if type(template) is Shared:
        of = _finisher(template.tensor)
        return lambda results, leaves: of(results, leaves).asnumpy()
    if type(template) is Copied:
        return lambda results, leaves: template.array.copy()
    if type(template) is Out and template.kind in (np.ndarray, np.generic):
        index, key = template.index, () if template.kind is np.generic else ...
        return lambda results, leaves: results[index]._data.copy()[key]
    if type(template) is Out:
        index, number = template.index, template.kind or float
        return lambda results, leaves: number(results[index]._data.item())
    if type(template) is Arg:
        index = template.index
        if template.kind is not None:
            return lambda results, leaves: leaves[index]._data.item()
        return lambda results, leaves: leaves[index]
    if type(template) is State:
        return lambda results, leaves: template.source
    return lambda results, leaves: template
