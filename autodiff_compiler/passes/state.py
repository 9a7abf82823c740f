"""Lifts states to values: reads become arguments, writes become new versions and further results.

The entry gets one more argument per state that it or a callee reads or writes, and one more result per state written,
both in the order of the module's states; `state_plan` says which.  Inside, a state travels as a value: `if` joins the
versions of its arms, loops carry them, a callee takes and returns them, a `grad` differentiates them.

Blocks that run in the backward pass (`bwd`) keep their state ops; once the derivative is expanded they stand where they
run, and are lifted there by the next run of this pass.  They must then see what the forward pass left.  So a state that
such a block mentions and that is written anywhere stays a cell outside of the `grad` in question until then: it is read
before the `grad`, lifted inside, and written at the end of its body.

Ops with IO (`print`, `raise`, checks, `host_call`) may end the call with an exception.  Then the states shall have
the versions that they had there, so these are noted before (see `runtime.commits`), unless nothing was written yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import InternalCompilerError, NotDifferentiableError, SideEffectError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import REGISTRY, Effect
from ..ir.types import TensorType, Type
from ..ir.walk import Cloner, late_ops, ops_of
from ..runtime.commits import Commit
from .effect_analysis import StateEffects, binding, effects_of, effects_of_blocks, with_bound_copies
from .inline import callees_first
from .manager import module_pass

Env = dict[str, Value]


class StatePlan(NamedTuple):
    """The states that the entry's last arguments and last results stand for."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def state_plan(module: Module) -> StatePlan:
    """Which states the entry of a lifted module takes and returns, after the user's arguments and results."""
    return StatePlan(module.inputs, module.outputs)


@module_pass("lift_state")
def lift_state(module: Module) -> Module:
    """The module with states as values; running it again lifts only what expansion has brought to life since."""
    module = with_bound_copies(module)
    known = effects_of(module)
    entry = known[module.entry.name]
    changing = {n for n in entry.written | entry.deferred_written if n in entry.deferred}
    _refuse_cells_asked(module, known)
    if not any(t.forward for t in known.values()):
        return module
    made = module.like()
    context = _Context(made, known, changing)
    for name in callees_first(module):
        function = module.functions[name]
        if name == module.entry.name:
            made.functions[name] = _lifted_entry(function, context)
        else:
            made.functions[name] = _lifted(function, context)
    return made.like({name: made.functions[name] for name in module.functions})


def _refuse_cells_asked(module: Module, known: dict[str, StateEffects]) -> None:
    """No gradient can be asked of a state that stays a cell in the very block that is differentiated."""
    for op in (op for function in module for op in ops_of(function.body)):
        if op.defn.name not in ("grad", "linearize") or not op.attr("wrt_states"):
            continue
        cells = effects_of_blocks(list(op.blocks), module, known).pending
        for n in op.attr("wrt_states"):
            if n in cells:
                raise NotDifferentiableError(
                    f"a second derivative is asked of the state {n}, which is used by a bprop or hook",
                    loc=op.loc,
                    hint="pass its value to the bprop or hook another way",
                )


class _Context:
    """What all lifters of a module share."""

    def __init__(self, module: Module, effects: dict[str, StateEffects], changing: set[str]) -> None:
        self.module, self.effects, self.changing = module, effects, changing
        self._commits: dict[tuple[tuple[str, ...], bool], str] = {}

    def commit(self, names: tuple[str, ...], lasting: bool) -> str:
        """The host function that notes versions of these states."""
        if (names, lasting) not in self._commits:
            callables = self.module.callables
            name = self._commits[names, lasting] = f"commit{len(callables)}"
            callables[name] = Commit(self.module.states, names, lasting)
        return self._commits[names, lasting]

    def held(self, found: StateEffects) -> set[str]:
        """The states that stay cells in some code: a `grad` in it has a block that must see what forward left."""
        return found.pending & self.changing

    def values(self, function: str) -> list[str]:
        """The states that a function takes as arguments, by its own names."""
        found = self.effects[function]
        held = self.held(found)
        return [n for n in found.types if n in found.forward and n not in held]

    def results(self, function: str) -> list[str]:
        """The states that a function returns, by its own names."""
        written = self.effects[function].written
        return [n for n in self.values(function) if n in written]


def _lifted(function: Function, context: _Context) -> Function:
    names = context.values(function.name)
    if not context.effects[function.name].forward:
        return function
    body, lifter = _start(function, context, {})
    for name in names:
        lifter.env[name] = body.add_arg(context.effects[function.name].types[name], name)
        lifter.first.add(lifter.env[name])
    outs = lifter.clone_ops(function.body)
    body.outs = [*outs, *(lifter.env[n] for n in context.results(function.name))]
    return Function(function.name, body, function.loc)


def _lifted_entry(function: Function, context: _Context) -> Function:
    module = context.module
    found, fresh = context.effects[function.name], set(context.values(function.name))
    if not found.forward:
        return function
    again = fresh & set(module.outputs)
    if again:
        raise InternalCompilerError(f"states are touched after their final version was returned: {sorted(again)}")
    unknown = fresh - set(module.states)
    if unknown:
        raise InternalCompilerError(f"the module does not know the states {sorted(unknown)}")
    before = dict(zip(module.inputs, function.args[len(function.args) - len(module.inputs) :], strict=True))
    body, lifter = _start(function, context, before)
    for name in (n for n in module.states if n in fresh or n in before):
        arg = body.add_arg(module.states[name].type, name)
        lifter.env[name] = arg
        lifter.first.add(arg)
        if name in before:
            lifter.mapping[before[name]] = arg
    outs = lifter.clone_ops(function.body)
    users = len(outs) - len(module.outputs)
    final = dict(zip(module.outputs, outs[users:], strict=True))
    final.update((n, lifter.env[n]) for n in context.results(function.name))
    module.inputs = tuple(n for n in module.states if n in fresh or n in before)
    module.outputs = tuple(n for n in module.states if n in final)
    body.outs = [*outs[:users], *(final[n] for n in module.outputs)]
    return Function(function.name, body, function.loc)


def _start(function: Function, context: _Context, without: dict[str, Value]) -> tuple[Block, _Lifter]:
    """A lifter for the copy of a function, whose arguments are the old ones but those of states."""
    args = [x for x in function.args if x not in without.values()]
    body = Block.like(args)
    lifter = _Lifter(Builder(body, module=context.module), dict(zip(args, body.args, strict=True)))
    lifter.context, lifter.env, lifter.first = context, {}, set()
    return body, lifter


def _stops(blocks: Iterable[Block]) -> bool:
    """Whether an exception may leave these blocks."""
    ops = (op for block in blocks for op in ops_of(block))
    return any(op.defn.effect is Effect.IO or op.defn.name == "call" for op in ops)


class _Lifter(Cloner):
    """Copies ops while `env` holds the current version of each state that is a value here; others stay cells."""

    context: _Context
    env: Env
    #: the versions that need not be noted: those at the entry
    first: set[Value]

    def nested(self, builder: Builder) -> _Lifter:
        return self._inside(builder, {})  # a block that runs elsewhere: nothing is known there

    def _inside(self, builder: Builder, env: Env) -> _Lifter:
        inner = type(self)(builder, self.mapping, self.relocate)
        inner.context, inner.env, inner.first = self.context, dict(env), self.first
        return inner

    # ------------------------------------------------------------------------------------------- versions
    def get(self, state: str, type: Type) -> Value:
        """The current version of a state."""
        value = self.env.get(state)
        if value is None:
            read: Value = self.builder.emit(REGISTRY["state_read"], (), (state, type))
            self._hint(read, state)
            return read
        return value

    def set(self, state: str, value: Value) -> None:
        """Makes `value` the current version of a state."""
        if state in self.env:
            self.env[state] = value
        else:
            self.builder.emit(REGISTRY["state_write"], (value,), (state, value.type))

    def changed(self, *ends: Env) -> list[str]:
        """The states of which one of the ways through a block made a new version."""
        return [n for n, x in self.env.items() if any(end.get(n) is not x for end in ends)]

    def effects(self, *blocks: Block) -> StateEffects:
        return effects_of_blocks(list(blocks), self.context.module, self.context.effects)

    def written(self, *blocks: Block) -> list[str]:
        """The states that are values here and of which loops over these blocks make new versions."""
        written = self.effects(*blocks).written
        return [n for n in self.env if n in written]

    # ------------------------------------------------------------------------------------------- ops
    def clone_op(self, op: Op) -> None:
        name = op.defn.name
        if name == "state_read" and op.attr("state") in self.env:
            self.mapping[op.results[0]] = self.env[op.attr("state")]
        elif name == "state_write" and op.attr("state") in self.env:
            (x,) = op.operands
            self.env[op.attr("state")] = self.mapping.get(x, x)
            if self.context.module.check_nonfinite:  # from now on any op may stop the program
                self._note([op.attr("state")], lasting=True)
        elif name == "assert" and self.unnoted():
            self._failing_assert(op)
        else:
            if op.defn.effect is Effect.IO:
                self.note()
            super().clone_op(op)

    # ------------------------------------------------------------------------------------------- exceptions
    def unnoted(self) -> list[str]:
        """The states whose versions are not what who stops here would leave behind."""
        return [n for n, x in self.env.items() if x not in self.first]

    def note(self, lasting: bool = False) -> None:
        """Notes the versions of the states for an exception that leaves the next op, or (`lasting`) any later one."""
        names = self.unnoted()
        if names:
            self._note(names, lasting)

    def _note(self, names: Sequence[str], lasting: bool) -> None:
        fn = self.context.commit(tuple(names), lasting)
        self.builder.emit(REGISTRY["host_call"], tuple([self.env[n] for n in names]), (fn, ()))

    def _failing_assert(self, op: Op) -> None:
        """An assert as an `if`, so that nothing is noted where it holds."""
        condition, *operands = [self.mapping.get(x, x) for x in op.operands]
        self.builder.loc = op.loc
        fine, failing = self.builder.nested(), self._inside(self.builder.nested(), self.env)
        failing.builder.loc = op.loc
        failing.note()
        failing.builder.emit(REGISTRY["raise"], tuple(operands), op.attrs)
        self.builder.emit_op(REGISTRY["if"], (condition,), (), (fine.ret(), failing.builder.ret()))

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        lift = getattr(self, f"_{op.defn.name}", None)
        if lift is None:
            if any(region != "bwd" for region in op.defn.regions):
                raise InternalCompilerError(f"states cannot be lifted through {op.defn.name}", loc=op.loc)
            return super().clone_structured(op, operands)
        results: Sequence[Value] = lift(op, operands)
        return results

    def _call(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        name = op.attr("fn").removeprefix("@")
        callee = self.context.effects[name]
        if not callee.forward:
            return super().clone_structured(op, operands)
        if _stops((self.context.module.functions[name].body,)):
            self.note(lasting=True)
        names = binding(op, callee)
        ins = [self.get(names.get(n, n), callee.types[n]) for n in self.context.values(name)]
        outs = [names.get(n, n) for n in self.context.results(name)]
        new = self.builder.emit_op(op.defn, (*operands, *ins), ("@" + name, ()))
        k = len(op.results)
        for state, x in zip(outs, new.results[k:], strict=True):
            self._hint(x, state)
            self.set(state, x)
        return new.results[:k]

    def _if(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        arms = [self._inside(self.builder.nested(), self.env) for _ in op.blocks]
        outs = [arm.clone_ops(block) for arm, block in zip(arms, op.blocks, strict=True)]
        names = self.changed(*(arm.env for arm in arms))
        blocks = [arm.builder.ret(*own, *(arm.env[n] for n in names)) for arm, own in zip(arms, outs, strict=True)]
        results = self.builder.emit_op(op.defn, operands, op.attrs, blocks).results
        return self._commit(names, results, len(op.results))

    def _commit(self, names: Sequence[str], results: Sequence[Value], at: int) -> list[Value]:
        """Takes the versions that begin at result `at`; returns the other results."""
        for name, x in zip(names, results[at:], strict=False):
            self._hint(x, name)
            self.env[name] = x
        return [*results[:at], *results[at + len(names) :]]

    def _hint(self, x: Value, name: str) -> None:
        if x.name is None:
            x.name = name

    def _block(self, block: Block, names: Sequence[str], at: int) -> _Lifter:
        """A lifter for the block of a loop, whose new arguments from `at` on are the versions of the states named."""
        types, hints = [x.type for x in block.args], [x.name for x in block.args]
        types[at:at] = [self.env[n].type for n in names]
        hints[at:at] = names
        inner = self._inside(self.builder.nested(types, hints), self.env)
        args = list(inner.builder.block.args)
        inner.env.update(zip(names, args[at : at + len(names)], strict=True))
        del args[at : at + len(names)]
        self.mapping.update(zip(block.args, args, strict=True))
        return inner

    def _while(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        cond, body = op.blocks
        if self.written(cond):
            return self._rotated(op, operands)
        names, k = self.written(body), len(operands)
        test = self._block(cond, names, k)
        test.builder.ret(*test.clone_ops(cond))
        trip = self._block(body, names, k)
        outs = trip.clone_ops(body)
        trip.builder.ret(*outs[:k], *(trip.env[n] for n in names), *outs[k:])
        ins = (*operands, *(self.env[n] for n in names))
        blocks = (test.builder.block, trip.builder.block)
        return self._commit(names, self.builder.emit_op(op.defn, ins, op.attrs, blocks).results, 1 + k)

    def _rotated(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        """A loop whose condition writes states: it is evaluated before the loop and at the end of every trip, in the
        same order as ever, since a condition can hand on nothing but its truth."""
        cond, body = op.blocks
        names, k = self.written(cond, body), len(operands)
        self.mapping.update(zip(cond.args, operands, strict=True))
        (first,) = self.clone_ops(cond)
        states = [self.env[n] for n in names]
        types = [*(x.type for x in operands), first.type, *(x.type for x in states)]
        hints = [*(x.name for x in body.args), "again", *names]
        test = self.builder.nested(types, hints)
        test.ret(test.block.args[k])
        trip = self._inside(self.builder.nested(types, hints), self.env)
        args = trip.builder.block.args
        trip.env.update(zip(names, args[k + 1 :], strict=True))
        self.mapping.update(zip(body.args, args[:k], strict=True))
        outs = trip.clone_ops(body)
        self.mapping.update(zip(cond.args, outs[:k], strict=True))
        (again,) = trip.clone_ops(cond)
        trip.builder.ret(*outs[:k], again, *(trip.env[n] for n in names), *outs[k:])
        blocks = (test.block, trip.builder.block)
        results = list(self.builder.emit_op(op.defn, (*operands, first, *states), op.attrs, blocks).results)
        del results[1 + k]
        return self._commit(names, results, 1 + k)

    def _scan(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        (body,) = op.blocks
        carries, reverse = op.attrs
        names = self.written(body)
        trip = self._block(body, names, 1 + carries)
        outs = trip.clone_ops(body)
        trip.builder.ret(*outs[:carries], *(trip.env[n] for n in names), *outs[carries:])
        ins = [*operands[: 1 + carries], *(self.env[n] for n in names), *operands[1 + carries :]]
        attrs = (carries + len(names), reverse)
        return self._commit(names, self.builder.emit_op(op.defn, ins, attrs, (trip.builder.block,)).results, carries)

    def _custom_vjp(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        fwd, bwd = op.blocks
        run = self._block(fwd, (), 0)
        outs = run.clone_ops(fwd)
        names = self.changed(run.env)
        versions = [run.env[n] for n in names]
        run.builder.ret(*outs, *versions)
        # The user's backward rule gets the new results and their cotangents too, and does not look at them.
        types = [x.type for x in versions]
        k, m, e = len(operands), len(outs), len(names)
        all_types = [x.type for x in bwd.args]
        hints = [x.name for x in bwd.args]
        all_types[k + 2 * m :], hints[k + 2 * m :] = types, [None] * e
        all_types[k + m : k + m], hints[k + m : k + m] = types, list(names)
        back = self._inside(self.builder.nested(all_types, hints), {})
        args = back.builder.block.args
        own = [*args[: k + m], *args[k + m + e : k + 2 * m + e]]
        self.mapping.update(zip(bwd.args, own, strict=True))
        back.builder.ret(*back.clone_ops(bwd))
        blocks = (run.builder.block, back.builder.block)
        return self._commit(names, self.builder.emit_op(op.defn, operands, op.attrs, blocks).results, m)

    # ------------------------------------------------------------------------------------------- derivatives
    def _vmap(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        (body,) = op.blocks
        if _stops((body,)):
            self.note(lasting=True)
        if self.effects(body).written:
            raise SideEffectError("what a `vmap` runs changes a state in its backward rule", loc=op.loc)
        trip = self._block(body, (), 0)
        trip.builder.ret(*trip.clone_ops(body))
        return self.builder.emit_op(op.defn, operands, op.attrs, (trip.builder.block,)).results

    def _grad(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        (body,) = op.blocks
        wrt, seeds, wrt_states, *forward = op.attrs  # a `linearize` has no direction
        found = self.effects(body)
        lifted = [n for n in found.types if n in found.forward and n not in self.context.held(found)]
        inputs = {n: self.get(n, self.context.module.states[n].type) for n in wrt_states}
        k = len(body.args)
        builder = self.builder.nested(
            [*(x.type for x in body.args), *(x.type for x in inputs.values())],
            [*(x.name for x in body.args), *wrt_states],
        )
        args = builder.block.args
        self.mapping.update(zip(body.args, args[:k], strict=True))
        start = {n: self.get(n, found.types[n]) for n in lifted if n not in inputs}
        start.update(zip(wrt_states, args[k:], strict=True))
        inner = self._inside(builder, start)
        inner.first = inner.first | {args[k + i] for i, n in enumerate(wrt_states) if inputs[n] in self.first}
        outs = inner.clone_ops(body)
        if _stops([b for o in ops_of(body) for r, b in zip(o.defn.regions, o.blocks, strict=True) if r == "bwd"]):
            inner.note(lasting=True)
        changed = [n for n, x in start.items() if inner.env[n] is not x]
        late = found.deferred & self.context.changing
        with builder:
            for n in changed:
                if n in late:
                    builder.emit(REGISTRY["state_write"], (inner.env[n],), (n, inner.env[n].type))
        returned = [n for n in changed if n not in late]
        builder.ret(*outs, *(inner.env[n] for n in returned))
        ins = [*operands[:k], *inputs.values(), *operands[k:]]
        if returned and seeds is None:
            seeds, ones = self._ones(outs)
            ins += ones
        attrs = ((*wrt, *range(k, k + len(wrt_states))), seeds, (), *forward)
        results = self.builder.emit_op(op.defn, ins, attrs, (builder.block,)).results
        m, e = len(outs), len(returned)
        for n, x in zip(returned, results[m : m + e], strict=True):
            self._hint(x, n)
            self.set(n, x)
        return [*results[:m], *results[m + e :]]

    _linearize = _grad

    def _pull(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        if any(late.defn.effect is Effect.IO for late in late_ops(op)):
            self.note(lasting=True)
        return super().clone_structured(op, operands)

    def _ones(self, outs: Sequence[Value]) -> tuple[tuple[int, ...], list[Value]]:
        """The seeds that a `grad` without any means: ones for every float result of the user's."""
        seeds = []
        for i, x in enumerate(outs):
            if not isinstance(x.type, TensorType):
                raise InternalCompilerError(f"a grad that writes states returns {x.type}: it needs explicit seeds")
            if x.dtype.is_float:
                seeds.append(i)
        return tuple(seeds), [self.builder.const(1, outs[i].type) for i in seeds]  # type: ignore[arg-type]
