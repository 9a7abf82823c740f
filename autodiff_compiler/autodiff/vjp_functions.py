"""Forward and backward functions: the derivative of a call, and what an eager tape records of a compiled one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from .. import logs
from ..errors import NotDifferentiableError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.known_sizes import mentioned_symbols, told_symbols
from ..ir.types import Type
from ..ir.walk import clone_function, free_values, meets, ops_of, reachable, symbols_of_type
from ..primitives.control import Call
from ..source import Loc
from .accumulate import readers
from .activity import active_values, differentiable, holds_floats
from .masks import MASK, Masks
from .provenance import Provenance, order_of
from .remat import Unveiled, choose, prune, take_over
from .reverse import Cotangents, Shares, Sweep, adjoint


class Residual(NamedTuple):
    """A value that the backward function takes from the forward one.

    `kind` says where it is: argument `number` of the function, its original result or its additional result `number`.
    """

    kind: Literal["arg", "out", "residual"]
    number: int
    type: Type
    name: str | None


_Function = TypeVar("_Function", str, Module)


@dataclass(frozen=True, slots=True)
class _Pair(Generic[_Function]):
    """A function that also returns residuals, and the function from residuals and cotangents to cotangents.

    `forward` returns the original results, then the residuals of kind "residual".  `backward` takes `residuals`, the
    cotangents of the results `seeds` and the masks of those that have one; it returns the cotangents of the arguments
    `cotangents` (of the others asked for, the cotangent is zero whatever the inputs), and then masks.
    """

    forward: _Function
    backward: _Function
    residuals: tuple[Residual, ...]
    seeds: tuple[int, ...]
    cotangents: tuple[int, ...]
    #: for each of `cotangents` the number of the result that is its mask; None if it is there whatever the inputs
    masks: tuple[int | None, ...]


#: Both by their names in a module; and the two parts of a module's entry, as modules.
_Vjp: TypeAlias = _Pair[str]
Split: TypeAlias = _Pair[Module]


class Pushed(NamedTuple):
    """A function that also takes tangents of arguments, and masks of some of these.

    Behind its results it returns the tangents of those numbered `tangents`, then the masks of those numbered `masks`.
    """

    name: str
    tangents: tuple[int, ...]
    masks: tuple[int, ...]


#: A function, its arguments differentiated by, the results that have a cotangent, and the types of the masks of these.
_Key: TypeAlias = tuple[str, tuple[int, ...], tuple[int, ...], tuple[Type | None, ...]]


class VjpFunctions:
    """The forward and backward functions of a module, made once per function, active arguments and live cotangents.

    Without `hooks` a value that only a gradient hook observes has no cotangent.
    """

    def __init__(self, module: Module, hooks: bool = True) -> None:
        self.module, self.hooks = module, hooks
        self._made: dict[_Key, _Vjp | None] = {}
        self.pushed: dict[tuple[str, tuple[int, ...], tuple[Type | None, ...]], Pushed] = {}

    def of(
        self,
        name: str,
        wrt: Sequence[int],
        seeds: Sequence[int],
        masks: Sequence[Type | None] | None = None,
        loc: Loc | None = None,
    ) -> _Vjp:
        """The functions for the cotangents of the arguments `wrt`, given those of the results `seeds`.

        `masks` are the types of the masks of the latter; if not told, none has one.  The function itself stays as it
        is.  Raises NotDifferentiableError if it calls itself.
        """
        key = (name, tuple(wrt), tuple(seeds), (None,) * len(seeds) if masks is None else tuple(masks))
        if key in self._made:
            made = self._made[key]
            if made is None:
                raise NotDifferentiableError(f"the derivative of @{name} needs itself: it calls itself", loc=loc)
            return made
        self._made[key] = None
        try:
            self._made[key] = made = self._make(self.module.functions[name], *key[1:])
        finally:
            if self._made[key] is None:
                del self._made[key]
        return made

    def call(self, sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], masks: Masks) -> Shares:
        """The rule of `call`: emits a call of the backward function and makes the forward call return the residuals."""
        fn, states = op.attrs
        wrt = tuple(i for i, x in enumerate(op.operands) if x in sweep.active)
        seeds = tuple(j for j, g in enumerate(gs) if g is not None)
        arriving = [masks[j] for j in seeds]
        types = [None if mask is None else mask.type for mask in arriving]
        made = self.of(fn.removeprefix("@"), wrt, seeds, types, op.loc)
        if not made.cotangents and not meets(op, self.module):
            return ()
        op.attrs = ("@" + made.forward, states)
        residuals = []
        for kind, number, type, name in made.residuals:
            if kind == "residual":
                residuals.append(op.add_result(type, name))
            else:
                residuals.append(op.operands[number] if kind == "arg" else op.results[number])
        seeded = [g for g in [*gs, *arriving] if g is not None]
        results = builder.emit_op(Call, [*residuals, *seeded], ("@" + made.backward, states)).results
        leaving = [None if k is None else results[k] for k in made.masks]
        return [(op.operands[i], r, m) for i, r, m in zip(made.cotangents, results, leaving, strict=False)]

    def _make(
        self, function: Function, wrt: tuple[int, ...], seeds: tuple[int, ...], masks: tuple[Type | None, ...]
    ) -> _Vjp:
        module = self.module
        forward = clone_function(function, module)
        body = forward.body
        original = list(body.outs)
        active = active_values(body, [body.args[i] for i in wrt], [body.outs[j] for j in seeds], self.hooks)
        builder = Builder(Block(), module=module)
        sweep = Sweep(active, self.call, Provenance(active, order_of(body)), masked=[body.args[i] for i in wrt])
        cotangents = Cotangents(sweep, builder)
        hints = [sweep.provenance.hint(original[j]) for j in seeds]
        arriving = [Value(original[j].type, builder.block, 0, hint) for j, hint in zip(seeds, hints, strict=True)]
        of_seeds = [None if type is None else Value(type, builder.block, 0) for type in masks]
        for j, g, mask in zip(seeds, arriving, of_seeds, strict=True):
            cotangents.add(original[j], g, mask)
        adjoint(sweep, builder, list(body.ops), cotangents)
        found = {i: cotangents.pop(body.args[i]) for i in wrt}
        sweep.provenance.finish()
        present = {i: g for i, g in found.items() if g is not None}
        leaving = [cotangents.masks.get(body.args[i]) for i in present]
        distinct = list(dict.fromkeys(mask for mask in leaving if mask is not None))
        numbers = [None if mask is None else len(present) + distinct.index(mask) for mask in leaving]
        backward = builder.ret(*present.values(), *distinct)
        prune(backward, module, backward.outs)
        residuals = _save(forward, original, backward, [*arriving, *(mask for mask in of_seeds if mask is not None)])
        forward.name = module.fresh_name(f"{function.name}.fwd")
        module.add(forward)
        name = module.fresh_name(f"{function.name}.bwd")
        loc = None if function.loc is None else function.loc.tagged("adjoint")
        module.add(Function(name, backward, loc))
        return _Pair(forward.name, name, residuals, seeds, tuple(present), tuple(numbers))


def _save(forward: Function, original: list[Value], backward: Block, arriving: list[Value]) -> tuple[Residual, ...]:
    """Turns the forward values that the backward function reads into its arguments: the residuals."""
    body = forward.body
    outs = {v: j for j, v in enumerate(original) if v.block is body}
    mentioned = [v for v in free_values(backward) if v.block is body]
    choice = choose(mentioned, body, at_hand={*outs, *body.args}, visible=lambda v: True, once=True)
    mapping: dict[Value, Value] = {}
    args: list[Value] = []
    residuals = []
    sizes = Unveiled(body, backward)

    def handed(v: Value) -> Value:
        args.append(Value(v.type, backward, 0, v.name))
        if v.owner is body:
            residuals.append(Residual("arg", v.index, v.type, v.name))
        elif v in outs:
            residuals.append(Residual("out", outs[v], v.type, v.name))
        else:
            residuals.append(Residual("residual", len(body.outs) - len(original), v.type, v.name))
            body.outs.append(v)
        return args[-1]

    for v in choice.taken:
        mapping[v] = handed(v) if v in outs else sizes.shown(handed(sizes.hidden(v)), v)
    take_over(backward, body, mapping, choice.recomputed)
    sizes.bind(handed, {s for v in (*args, *arriving) for s in symbols_of_type(v.type)})
    backward.args = args + arriving
    for v in _needed_for_sizes(backward, body.args):
        args.append(Value(v.type, backward, 0, v.name))
        residuals.append(Residual("arg", v.index, v.type, v.name))
    backward.args = args + arriving
    for i, arg in enumerate(backward.args):
        arg.index = i
    return tuple(residuals)


def _needed_for_sizes(backward: Block, given: list[Value]) -> Iterator[Value]:
    """The arguments of the forward function that tell the sizes which no argument of the backward function tells."""
    tellers = {x: set(told_symbols(x.type)) for x in given}
    if not any(tellers.values()):
        return
    told = {s for x in backward.args for s in told_symbols(x.type)}
    for s in mentioned_symbols(backward):
        if s not in told:
            x = min((x for x, symbols in tellers.items() if s in symbols), key=lambda x: x.ndim, default=None)
            if x is not None:
                told |= tellers[x]
                yield x


# -------------------------------------------------------------------------------------------- calls on an eager tape
def split(module: Module, wrt: Sequence[int], hooks: bool = True, seeds: Sequence[int] | None = None) -> Split:
    """Cuts the entry of a module, which stays as it is; `wrt` numbers the arguments whose cotangents are wanted.

    `seeds` numbers the results that cotangents are given of; by default these are all that can have one.

    With `hooks` gradient hooks get their cotangents, even those of a Cell whose inputs are all constants.
    The module has no `grad` ops any more, but still the user's overrides (`custom_vjp`, `grad_map`).
    Raises NotDifferentiableError where an op without a derivative is on the way.
    """
    work = module.like(dict(module.functions))
    entry = work.entry
    if seeds is None:
        by_integers = not all(holds_floats(entry.args[i].type) for i in wrt)
        seeded = differentiable if by_integers else holds_floats
        seeds = [j for j, v in enumerate(entry.outs) if seeded(v.type)]
    _tell_of_leaving(module, wrt)
    made = VjpFunctions(work, hooks).of(entry.name, wrt, seeds)
    forward, backward = (_part(work, name) for name in (made.forward, made.backward))
    return _Pair(forward, backward, made.residuals, made.seeds, made.cotangents, made.masks)


def _tell_of_leaving(module: Module, wrt: Sequence[int]) -> None:
    """Tells listeners of `logs` where what is differentiated becomes a number or an array."""
    if not module.leaving or logs.listener("gradients") is None:
        return
    body = module.entry.body
    cuts = [op for op in ops_of(body) if op.defn.name == "stop_gradient" and op.loc in module.leaving]
    active = active_values(body, [body.args[i] for i in wrt], [op.operands[0] for op in cuts])
    for op in cuts:
        if op.operands[0] in active:
            logs.leaves_derivative(op.loc, module.leaving[op.loc])


def zeros_will_do(
    module: Module, wrt: Sequence[int], given: Sequence[int], missing: Sequence[int], hooks: bool
) -> bool:
    """Whether cotangents of zeros for the results `missing` change nothing, where those of `given` are there.

    They do where a derivative is behind them alone: it may be infinite, or a user's rule.
    """
    work = module.like(dict(module.functions))
    masks = [None] * len(given) + [MASK] * len(missing)
    made = VjpFunctions(work, hooks).of(work.entry.name, wrt, [*given, *missing], masks)
    backward = work.functions[made.backward].body
    return readers(backward).keys().isdisjoint(backward.args[-len(missing) :])


def _part(module: Module, name: str) -> Module:
    """The module with another entry."""
    part = drop_unreachable(module.like({name: module.functions[name], **module.functions}))
    part.inputs = part.outputs = ()  # its arguments and results are told by `Split`
    return part


def drop_unreachable(module: Module) -> Module:
    """The module without the functions that its entry does not reach."""
    reached = set(reachable(module))
    return module.like({name: f for name, f in module.functions.items() if name in reached})
