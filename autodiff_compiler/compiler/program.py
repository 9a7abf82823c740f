"""A compiled program: a module that runs on Tensors, as it is or recorded on a tape with its derivative."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from .. import progress
from ..autodiff.activity import active_values
from ..autodiff.vjp_functions import Residual, Split, split, zeros_will_do
from ..backends.base import Executable, SilentExecutable
from ..depth import deep
from ..eager.tape import Selective, SelectiveRule, record, thread, tracked
from ..errors import CollectiveError, CompileError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module
from ..ir.failure import stage
from ..ir.primitive import REGISTRY, Effect
from ..ir.sizes import ERASED
from ..ir.types import Seq, TensorType, TupleType, Type, seq
from ..ir.walk import Cloner, is_met, ops_of
from ..locks import Lock, importing
from ..no_memory import is_refusal
from ..passes.effect_analysis import effects_of
from ..primitives.autodiff import EXPANDED, OF_USERS
from ..runtime.commits import Commit, noting, sees_state
from ..runtime.host import HostCalls
from ..runtime.storage import SHARED, holders
from ..runtime.tensor import Tensor, wrap
from .cache.query import Interface, ProgramQuery, in_use
from .numpy_errors import of_no_elements
from .out_of_memory import explained
from .pipeline import Stages, built, optimise, text
from .recorder import compiling, waited
from .together import tell_difference

_NOTHING = nullcontext()


class Program:
    """A frontend's module, compiled when first needed.

    Its inputs are the entry's arguments and then the states it reads; its results the entry's and then the states it
    writes.  Derivatives of a call are programs as well, made once per set of tracked inputs.
    """

    def __init__(
        self,
        module: Module | Callable[[], Module],
        states: Mapping[str, Any] | None = None,
        inputs: int | None = None,
        wanted: ProgramQuery | None = None,
    ) -> None:
        self._front = module
        self._wanted = wanted
        #: its key in the disk cache, if it is there
        self.key = None if wanted is None else wanted.key
        #: at how many of its first arguments a derivative calls gradient hooks: the others are cotangents
        if inputs is None:
            inputs = len(self.front.entry.args if wanted is None else wanted.arguments)
        self._hooked = inputs
        #: the Tensors behind the module's states, for those that a backward part reads or writes
        self._states = states or {}
        self._lock = Lock()
        self._stages: Stages | None = None
        self._run: Executable | None = None
        #: the states that calls give the program to overwrite (see `Executable.overwrites`); said before it is compiled
        self.in_place: Collection[str] = ()
        #: whether the program, once compiled, calls functions that states are written back for, or that see them
        self.commits = False
        #: whether two results may be aliases
        self._may_share = False
        self._meets: bool | None = None
        self._interface: Interface | None = None
        #: the bare function, once compiled, of a program that calls nothing but NumPy
        self._pure: Callable[..., tuple[Any, ...]] | None = None
        #: the function itself, once compiled, of one that gives no warnings
        self._silent: Callable[..., tuple[Any, ...]] | None = None
        self._splits: dict[tuple[tuple[int, ...], tuple[int, ...] | None], _Parts] = {}
        #: by the tracked inputs: the results that cotangents came back for, if not for all and the derivative differs
        self._seeded: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        self._pullbacks: dict[tuple[tuple[int, ...], tuple[int, ...]], _Pullback] = {}

    @property
    def front(self) -> Module:
        """The frontend's module, made now where the program was found without it."""
        if not isinstance(self._front, Module):
            self._front = self._front()
        return self._front

    @property
    def stages(self) -> Stages:
        with self._lock:
            if self._stages is None:
                self._stages = optimise(self.front)
            return self._stages

    @property
    def meets(self) -> bool:
        """Whether it holds collectives of floats, whose derivative is taken in any case."""
        with self._lock:
            if self._meets is None:  # what was stored on disk has none
                self._meets = isinstance(self._front, Module) and any(
                    is_met(op) for function in self.front for op in ops_of(function.body)
                )
            return self._meets

    @property
    def executable(self) -> Executable:
        began = perf_counter_ns()
        with self._lock:
            waited(began)
            if self._run is None:
                with compiling():
                    self._run, self._interface = self._made()
                self._may_share = self._interface.may_share
                if isinstance(self._run, SilentExecutable):
                    self._silent = self._run.run
                elif not self.front.callables and not self.front.check_nonfinite:
                    self._pure = getattr(self._run.run, "__wrapped__", None)
            return self._run

    def executables(self) -> Iterator[Executable]:
        """All that it was compiled to: the program, and those of its derivatives."""
        if self._run is not None:
            yield self._run
        for parts in tuple(self._splits.values()):
            yield from (parts.forward, parts.backward)
        for pullback in tuple(self._pullbacks.values()):
            yield from pullback.program.executables()

    @property
    def interface(self) -> Interface:
        """The states among its arguments and results, and what else calls need to know."""
        self.executable  # noqa: B018  (it finds out)
        assert self._interface is not None
        return self._interface

    def _made(self) -> tuple[Executable, Interface]:
        """The program, from the disk cache or compiled now."""
        wanted = self._wanted
        if wanted is not None or in_use(self.front.backend):
            with importing:  # not before the disk cache is in use: it needs the whole native backend
                from .cache import programs

            wanted = wanted or programs.query(self.front, self.in_place)
            found = None if wanted is None else programs.find(wanted, lambda: text(self.stages.opt, self.in_place))
            if wanted is not None and found is not None:
                self.key = wanted.key
                if found[1].warned:
                    self.stages  # noqa: B018  (the passes warn again, of the lines that it has here)
                return found
        opt = self.stages.opt
        self.commits = any(isinstance(fn, Commit) or sees_state(fn) for fn in opt.callables.values())
        if self.commits:  # what is noted must stay as it was
            self.in_place = ()
        made = built(self.stages, self.in_place)
        results = len(opt.entry.outs) - len(opt.outputs)
        interface = Interface(opt.inputs, opt.outputs, results, _may_share(opt), opt.warned)
        self.key = None
        together = any(op.defn.collective for function in opt for op in ops_of(function.body))
        if (
            wanted is not None
            and not (opt.callables or together)
            and programs.store(wanted.key, made, interface, opt.entry.name)
        ):
            self.key = wanted.key
        return made, interface

    #: moves the elements of Tensors to where a program runs, once a device was in use in this process
    bring: Callable[[Executable, Sequence[Any]], None] | None = None

    def call_anywhere(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """What a call is once a device was in use in this process."""
        assert self.bring is not None
        self.bring(self.executable, tensors)
        return _call(self, tensors)

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Runs the program; what lies on an active tape is recorded as one node."""
        try:
            state = thread.state
            if state.active:
                active = tuple([i for i, t in enumerate(tensors) if tracked(t)])
                if active or self.meets:
                    parts = self._parts(active)
                    if parts.linked:
                        return self._recorded(tensors, active, parts)
                    for i in active:  # here their trace ends
                        holders.lost |= tensors[i]._node.mask
                        if parts.of_derivative:
                            holders.inner |= tensors[i]._node.mask & state.active
            arrays = [t._data for t in tensors]
            if self._silent is not None:
                found = self._silent(*arrays)
            else:
                pure = self._pure
                found = self.executable(*arrays) if pure is None else state.silently(pure, *arrays)
            results = [wrap(a) for a in found]
            if self._may_share:
                _mark_shared(results)
            return results
        except BaseException as error:
            if is_refusal(error):
                shapes = [t._data.shape for t in tensors]
                if (told := explained(error, self.stages.opt, self.executable, shapes)) is not None:
                    raise told from None
            if (told := of_no_elements(error, _line_of(error), self.stages.opt)) is not None:
                raise told from None
            _name_line(error)
            if isinstance(error, CollectiveError):
                tell_difference(error, self.stages.opt)
            raise

    # ------------------------------------------------------------------------------------------- derivatives
    def _recorded(self, tensors: Sequence[Tensor], active: tuple[int, ...], parts: _Parts) -> list[Tensor]:
        arrays = [t._data for t in tensors]
        with HostCalls() as calls:
            found = parts.forward(*arrays)
        n = len(self.stages.opt.entry.outs)
        results = [wrap(a) for a in found[:n]]
        for t in results:
            t._held = SHARED  # the residuals may be views of them
        kept = [_residual(r, arrays, found, n) for r in parts.split.residuals]
        operands = [tensors[i] for i in active]
        inputs = list(tensors)
        aliases = [wrap(t._data, t._node) for t in inputs]

        def pullback(cotangents: list[Tensor | None], wanted: tuple[bool, ...]) -> Sequence[Tensor | None]:
            asked = active
            if parts.rules:
                thread.state.cut = True  # from outside it is not seen that a rule applies a step
            if parts.acts and not all(wanted):  # users' rules on the way to the others must not run
                asked = tuple([i for i, one in zip(active, wanted, strict=True) if one])
            seeded = tuple([j for j in parts.results if cotangents[j] is not None])
            seeds: list[Tensor] = [cotangents[j] for j in seeded]  # type: ignore[misc]
            whole = asked is active and not any(map(tracked, aliases)) and not any(map(tracked, seeds))
            fits = seeded == parts.split.seeds or parts.zeros_do.get(seeded)
            if self.meets:  # the same in all processes, whatever has arrived here
                seeded, seeds = parts.results, [_seed(cotangents[j], found[j]) for j in parts.results]
                whole, fits = asked is active and not thread.state.active, seeded == parts.split.seeds
            if not (whole and (fits or self._fits(parts, active, seeded))):
                by_input = self._pulled_again(asked, seeded, [*aliases, *seeds], calls)
                return [by_input.get(i) for i in active]
            if len(seeded) != len(parts.split.seeds):
                seeds = [_seed(cotangents[j], found[j]) for j in parts.split.seeds]
            read = [self._states[name]._data for name in parts.reads]
            if self.bring is not None:
                self.bring(parts.backward, seeds)
            with self._noting() if parts.writes else _NOTHING:
                results = [wrap(a) for a in parts.backward(*kept, *[s._data for s in seeds], *read)]
            self._commit(parts.writes, results[len(results) - len(parts.writes) :])
            by_input = dict(zip(parts.split.cotangents, results, strict=False))
            if parts.masks:
                _drop_absent(by_input, results, parts.masks)
            return [by_input.get(i) for i in active]

        for t in inputs:
            t._held |= SHARED  # the residuals may be the inputs' own buffers
        kind = SelectiveRule if parts.rules else Selective
        record(operands, results, pullback, kind, meets=self.meets)
        return results

    def _pulled_again(
        self, asked: tuple[int, ...], seeded: tuple[int, ...], given: Sequence[Tensor], calls: HostCalls
    ) -> dict[int, Tensor]:
        """The cotangents of the inputs `asked` by the program of a pullback, which runs on inputs and cotangents."""
        program, reached, masks = self._pullback(asked, seeded)
        opt = program.stages.opt
        with HostCalls(calls), self._noting():
            results = program([*given, *[self._states[name] for name in opt.inputs]])
        self._commit(opt.outputs, results[len(results) - len(opt.outputs) :])
        by_input = {i: g for i, g in zip(asked, results, strict=False) if i in reached}
        _drop_absent(by_input, results, masks)
        return by_input

    def _fits(self, parts: _Parts, active: tuple[int, ...], seeded: tuple[int, ...]) -> bool:
        """Whether a backward part gives the derivative by cotangents of just these results, with zeros for its others.

        If not, the next call is recorded with the parts for these; after the second time again with those for all.
        """
        fits: bool = parts.fitted_with_zeros(seeded)
        if not fits:
            self._seeded[active] = None if active in self._seeded else seeded
        return fits

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Around a backward part that runs: if an exception leaves it, states get what it had written."""
        with noting(self.front.states) as noted:
            try:
                yield
            except BaseException:
                self._commit(list(noted.states), [wrap(np.array(array)) for array in noted.states.values()])
                raise

    def _commit(self, names: Sequence[str], values: Sequence[Tensor]) -> None:
        """Writes the states that a backward part has changed."""
        for name, value in zip(names, values, strict=True):
            if isinstance(self._states[name], Tensor):  # else a mirror of something that forward code writes
                self._states[name]._own()[...] = value._data
                self._states[name]._node = value._node

    @deep
    def _parts(self, active: tuple[int, ...]) -> _Parts:
        began = perf_counter_ns()
        with self._lock:
            waited(began)
            seeds = self._seeded.get(active)
            if (active, seeds) not in self._splits:
                whole = self.stages.whole
                hooks = any(i < self._hooked for i in active)
                with compiling(), progress.shown(f"compiling the derivative of {whole.entry.name}"):
                    with stage("derivative", whole):
                        parts = split(whole, active, hooks, seeds)
                    results = parts.seeds if seeds is None else self._splits[active, None].results
                    self._splits[active, seeds] = _Parts(parts, results, whole, active, self.front, hooks)
            return self._splits[active, seeds]

    def _pullback(self, active: tuple[int, ...], seeds: tuple[int, ...]) -> _Pullback:
        """The program from inputs and cotangents of the results `seeds` to the cotangents of the `active` inputs.

        It computes the forward part again (without its effects), so that it can itself be differentiated.
        """
        with self._lock:
            if (active, seeds) not in self._pullbacks:
                whole, hooks = self.stages.whole, any(i < self._hooked for i in active)
                with stage("derivative", whole):
                    parts = split(whole, active, hooks, seeds)
                    masked = tuple([i for i, k in zip(parts.cotangents, parts.masks, strict=True) if k is not None])
                    made = _pullback_module(whole, active, seeds, masked, hooks)
                masks = [(i, len(active) + k) for k, i in enumerate(masked)]
                self._pullbacks[active, seeds] = _Pullback(
                    Program(made, self._states, self._hooked), parts.cotangents, masks
                )
            return self._pullbacks[active, seeds]


_call = Program.__call__


def _line_of(error: BaseException) -> str:
    """The user's line that failed or was interrupted: NumPy's programs have it behind the statement; else empty."""
    trace = error.__traceback__
    found = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith("<numpy program"):
            _, behind, comment = linecache.getline(file, trace.tb_lineno).rstrip().partition("  # ")
            found = comment if behind else found
        trace = trace.tb_next
    return found


def _name_line(error: BaseException) -> None:
    """Adds the user's line to an error."""
    found = _line_of(error)
    note = f"{'raised' if isinstance(error, Exception) else 'interrupted'} at {found}"
    shown = isinstance(error, CompileError)  # it has its place
    if found and not shown and not any("raised at" in known for known in getattr(error, "__notes__", ())):
        error.add_note(note)


def _may_share(module: Module) -> bool:
    """Whether two results of the entry may be aliases."""
    outs = module.entry.outs
    views = any(op.defn.view is not None for function in module for op in ops_of(function.body))
    return len(outs) > 1 and (views or len(set(outs)) < len(outs))


def _mark_shared(results: Sequence[Tensor]) -> None:
    """Marks Tensors that are aliases: a write to one of them goes to a copy."""
    first: dict[int, Tensor] = {}
    for t in results:
        root = t._data
        while isinstance(root.base, np.ndarray):
            root = root.base
        other = first.setdefault(id(root), t)
        if other is not t:
            t._held = other._held = SHARED


class _Pullback(NamedTuple):
    """The program of a pullback, and the numbers of the inputs that it gives a cotangent: the others have zeros.

    `masks` are, for those that not every path gives one, the number of the input and of the result that is its mask.
    """

    program: Program
    reached: tuple[int, ...]
    masks: Sequence[tuple[int, int]]


class _Parts:
    """Forward and backward executables of a recorded call."""

    def __init__(
        self, made: Split, results: tuple[int, ...], whole: Module, active: tuple[int, ...], front: Module, hooks: bool
    ) -> None:
        self.split, self._whole, self._active, self._hooks = made, whole, active, hooks
        #: the numbers of the results that may have a cotangent: `backward` may be that of some of them
        self.results = results
        body = whole.entry.body
        self.forward = built(optimise(made.forward))
        stages = optimise(made.backward)
        #: the numbers of the inputs whose cotangent may be absent, and of the results that are the masks of these
        self.masks = _without_constant_masks(stages.opt, made)
        self.backward, backward = built(stages), stages.opt
        #: states that users' backward blocks read and write: more arguments and results of `backward`
        self.reads, self.writes = backward.inputs, backward.outputs
        #: whether users see that `backward` runs
        self.acts = any(
            op.defn.effect is Effect.IO and not op.defn.collective
            for function in made.backward
            for op in ops_of(function.body)
        )
        #: whether users' rules are part of it that nobody sees run, so that they can be tried out
        self.rules = not self.acts and any(op.defn.name in OF_USERS for each in whole for op in ops_of(each.body))
        #: whether anything leads from the active inputs to the results
        self.linked = self.acts or bool(
            made.cotangents
            or any(is_met(op) for function in whole for op in ops_of(function.body))
            or active_values(body, [body.args[i] for i in active], body.outs)
        )
        #: whether it takes derivatives: that of one is zero where the function is linear, which is nothing to tell
        self.of_derivative = any(op.defn.name in EXPANDED for function in front for op in ops_of(function.body))
        #: whether `backward` may be given zeros for all results but these
        self.zeros_do: dict[tuple[int, ...], bool] = {}

    @deep
    def fitted_with_zeros(self, seeded: tuple[int, ...]) -> bool:
        """Whether `backward` may be given zeros for all results but `seeded`."""
        if seeded not in self.zeros_do:
            missing = [j for j in self.split.seeds if j not in seeded]
            known = len(missing) + len(seeded) == len(self.split.seeds)
            known = known and zeros_will_do(self._whole, self._active, seeded, missing, self._hooks)
            self.zeros_do[seeded] = known
        return self.zeros_do[seeded]


def _without_constant_masks(backward: Module, made: Split) -> list[tuple[int, int]]:
    """Takes masks that turned out to be true out of a backward part's results; the inputs with one, and its number."""
    outs = backward.entry.body.outs
    constant = [k for k in sorted({k for k in made.masks if k is not None}) if outs[k].constant is True]
    for k in reversed(constant):
        del outs[k]
    return [
        (i, k - sum(other < k for other in constant))
        for i, k in zip(made.cotangents, made.masks, strict=True)
        if k is not None and k not in constant
    ]


def _drop_absent(by_input: dict[int, Tensor], results: Sequence[Tensor], masks: Sequence[tuple[int, int]]) -> None:
    """Drops the cotangents that a backward pass did not produce: those whose mask is false."""
    for i, k in masks:
        if not np.asarray(results[k]._data):
            del by_input[i]


def _residual(residual: Residual, arrays: list[Any], found: tuple[Any, ...], n: int) -> Any:
    if residual.kind == "arg":
        return arrays[residual.number]
    kept = found[residual.number] if residual.kind == "out" else found[n + residual.number]
    return _absent(residual.type) if kept is None else kept


def _absent(type: Type) -> Any:
    """Stands for a residual of a path that was not taken: nobody reads it, but a sequence has a length."""
    if isinstance(type, Seq):
        inner = type.elem
        return tuple([_absent(seq(t)) for t in inner.elems]) if isinstance(inner, TupleType) else ()
    if isinstance(type, TupleType):
        return tuple(map(_absent, type.elems))
    assert isinstance(type, TensorType)
    shape = [0 if d is ERASED else d for d in type.shape]
    return np.broadcast_to(np.zeros((), type.dtype.numpy), shape)  # type: ignore[arg-type]


def _seed(g: Tensor | None, result: Any) -> Tensor:
    return wrap(np.zeros_like(result)) if g is None else g


def _pullback_module(
    module: Module, active: tuple[int, ...], seeded: tuple[int, ...], masked: tuple[int, ...], hooks: bool
) -> Module:
    entry = module.entry
    out = module.like({})
    out.inputs = out.outputs = ()
    types = [a.type for a in entry.args]
    seeds = [entry.outs[j].type for j in seeded]
    function = Function(
        f"{entry.name}.pullback", Block([*types, *seeds], [a.name for a in entry.args] + [None] * len(seeds))
    )
    builder = Builder(function.body, module=out)
    with builder:
        inner = builder.nested(types, [a.name for a in entry.args])
        cloner = (_Silent if hooks else _Hookless)(inner, dict(zip(entry.args, inner.block.args, strict=True)))
        with inner:
            outs = cloner.clone_ops(entry.body)
            _leave_states(module, outs, inner)
        inner.ret(*outs)
        op = builder.emit_op(REGISTRY["grad"], function.args, (active, seeded, (), False, masked), (inner.block,))
        builder.ret(*op.results[len(outs) :])
    out.functions = {function.name: function, **{k: v for k, v in module.functions.items() if k != entry.name}}
    return out


def _leave_states(module: Module, outs: Sequence[Any], builder: Builder) -> None:
    """Writes the final versions of lifted states that backward blocks, which still mention them by name, must see."""
    effects = effects_of(module)
    mentioned = effects[module.entry.name].deferred
    for name, value in zip(module.outputs, outs[len(outs) - len(module.outputs) :], strict=True):
        if name in mentioned:
            builder.emit(REGISTRY["state_write"], (value,), (name, value.type))


class _Silent(Cloner):
    """Copies ops without what they do to the outside; what users' derivatives do is still to come."""

    def clone_block(self, block: Block) -> Block:
        name = block.parent.defn.name if block.parent is not None else ""
        if name == "grad_map" or (name == "custom_vjp" and block is not block.parent.blocks[0]):  # type: ignore[union-attr]
            return Cloner(self.builder, self.mapping, self.relocate).clone_block(block)
        return super().clone_block(block)

    def clone_op(self, op: Any) -> Any:
        if op.defn.effect is Effect.IO and not op.results:
            return ()
        return super().clone_op(op)


class _Hookless(_Silent):
    """The same without what calls gradient hooks where only constants enter a Cell."""

    def clone_op(self, op: Any) -> Any:
        if op.defn.name == "gradient_source":
            self.mapping[op.results[0]] = self.builder.const(0, op.results[0].type)
            return ()
        return super().clone_op(op)
