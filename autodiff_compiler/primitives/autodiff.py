"""Derivatives, users' derivative rules and gradient hooks as ops, which are differentiated again like others."""

from __future__ import annotations

from typing import Any

from ..dtypes import float32
from ..errors import ShapeError
from ..ir.core import Block, Module
from ..ir.definition import Types
from ..ir.primitive import Ints, Names, OptionalInts, Primitive
from ..ir.types import Link, Size, TensorType, Type, link, tensor
from .control import BOOL
from .requirements import require

#: The ops that `autodiff.expand` replaces.
EXPANDED = frozenset({"grad", "linearize", "pull", "vmap"})
#: The ops whose derivative is a user's rule: a block that need not be linear, nor zero at zero.
OF_USERS = frozenset({"custom_vjp", "grad_map"})


def with_leading(type: Any, size: Size) -> TensorType:
    """The type of `size` tensors of a type, stacked."""
    require(isinstance(type, TensorType), f"only tensors can be stacked, not {type}")
    return tensor(type.dtype, (size, *type.shape))


class StopGradient(Primitive):
    """The same value; no cotangent passes, at any order."""

    def infer(x: Type):
        return x

    def numpy(x):
        return x

    view = "x"

    def vjp(c, g, x):
        return None


class Grad(Primitive):
    """``%outs..., %d..., %m... = grad %x..., %seeds... {wrt=[..], seeds=[..], ...} body (%x...) {yield outs...}``.

    The body's results, then the cotangent of every operand listed in `wrt` and of every state in `wrt_states`.
    `seeds` lists the results that the trailing operands are cotangents of; with ``seeds=None`` every float result
    is seeded with ones.  Last comes, for every operand listed in `masks`, whether its cotangent was produced.

    With ``forward=True`` it is forward mode: the trailing operands are tangents of the operands in `wrt`, and the
    tangents of the results in `seeds` follow the results.
    """

    internal = True
    regions = ("body",)
    multiple = True

    def infer(
        *operands: Type,
        wrt: Ints,
        seeds: OptionalInts = None,
        wrt_states: Names = (),
        forward: bool = False,
        masks: Ints = (),
    ):
        raise TypeError("grad is inferred from its block")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        (body,) = blocks
        wrt, seeds, wrt_states, forward, masks = attrs
        args = [v.type for v in body.args]
        require(args == list(types[: len(args)]), f"body of grad takes {args}, got {types}")
        given = list(types[len(args) :])
        wanted = [body.outs[i].type for i in seeds or ()]
        if forward:
            tangents = [args[i] for i in wrt]
            require(given == tangents, f"tangents are {given}, the operands differentiated by are {tangents}")
            return *(v.type for v in body.outs), *wanted
        require(given == wanted, f"cotangents are {given}, the results seeded are {wanted}")
        states = tuple(module.states[name].type for name in wrt_states)
        return *(v.type for v in body.outs), *(args[i] for i in wrt), *states, *(BOOL for _ in masks)


class Linearize(Primitive):
    """``%outs..., %link = linearize %x... {wrt=[..], seeds=[..], wrt_states=[..]} body (%x...) {yield outs...}``.

    The body's results, and a link: each `pull` of it gives the cotangent of every operand listed in `wrt` and of every
    state in `wrt_states`, for cotangents of the results listed in `seeds`.  The body runs once, here.  A link is the
    first operand of `pull` and nothing else: it enters no block as an argument and leaves none.
    """

    internal = True
    regions = ("body",)
    multiple = True

    def infer(*operands: Type, wrt: Ints, seeds: Ints, wrt_states: Names = ()):
        raise TypeError("linearize is inferred from its block")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        (body,), (wrt, seeds, wrt_states) = blocks, attrs
        args, outs = [v.type for v in body.args], [v.type for v in body.outs]
        require(args == list(types), f"body of linearize takes {args}, got {types}")
        states = [module.states[name].type for name in wrt_states]
        return *outs, link((*(args[i] for i in wrt), *states), tuple(outs[j] for j in seeds))


class Pull(Primitive):
    """``%d... = pull %link, %g...``: the backward pass of a `linearize`, here, for these cotangents."""

    internal = True
    multiple = True

    def infer(link: Type, *cotangents: Type):
        raise TypeError("pull is inferred from its link")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        made, *given = types
        if not isinstance(made, Link):
            raise ShapeError(f"pull takes a link, got {made}")
        require(tuple(given) == made.outs, f"cotangents are {given}, the results seeded are {made.outs}")
        return made.ins


class Vmap(Primitive):
    """``%r... = vmap %x... {size=n} body (%x...) {yield r...}``: the block for every slice along the first dimensions.

    The operands' first dimension is `size` long; the results are stacked along a new one.  The block changes no state.
    """

    internal = True
    regions = ("body",)
    multiple = True

    def infer(*operands: Type, size: Size):
        raise TypeError("vmap is inferred from its block")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        (body,), (size,) = blocks, attrs
        wanted = [with_leading(x.type, size) for x in body.args]
        require(list(types) == wanted, f"the block of vmap takes slices of {wanted}, got {types}")
        return tuple(with_leading(x.type, size) for x in body.outs)


class CustomVjp(Primitive):
    """``%r... = custom_vjp %x... fwd (%x...) {yield r...} bwd (%x..., %r..., %g...) {yield d...}``: a `bprop`.

    With a `label` it is recursive: an `again` of that label inside `bwd` stands for this op on other operands.  It is
    zero where the operands `linear` are, if there are any.  `reverse_only` says what to do instead where forward mode
    asks for a rule that is known not to be linear.
    """

    internal = True
    regions = ("fwd", "bwd")
    multiple = True

    def infer(*operands: Type, label: str = "", linear: Ints = (), reverse_only: str = ""):
        raise TypeError("custom_vjp is inferred from its blocks")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        fwd, bwd = blocks
        require([v.type for v in fwd.args] == list(types), f"fwd takes {fwd.args}, got {types}")
        outs = [v.type for v in fwd.outs]
        require([v.type for v in bwd.args] == [*types, *outs, *outs], f"bwd takes {bwd.args}")
        fits = [v.type for v in bwd.outs] == list(types)
        require(fits, f"bwd yields {bwd.outs}, not a cotangent per operand {types}")
        return tuple(outs)


class Again(Primitive):
    """``%r... = again %x... {label=.., types=[..]}``: the innermost `custom_vjp` of that label around it, on these
    operands.

    It stands in blocks that run backward.  Whoever copies such a block into a derivative puts the op in its place, so a
    rule that uses the function it belongs to has derivatives of every order (`autodiff.recursion`).
    """

    internal = True
    multiple = True

    def infer(*operands: Type, label: str, types: Types):
        return types


class GradientSource(Primitive):
    """A value that is active in every derivative, since a gradient hook observes its cotangent."""

    internal = True
    cost = 0

    def infer():
        return tensor(float32, ())


class MissingCotangent(Primitive):
    """A cotangent that a user's rule does not return: a derivative that needs it raises this BpropError."""

    internal = True
    cost = 0

    def infer(*, type: Type, code: str, text: str, hint: str):
        return type


class NoCotangent(Primitive):
    """The None of a user's rule: no cotangent flows to that operand, and no rule on the way to it runs."""

    internal = True
    cost = 0

    def infer(*, type: Type):
        return type


class GradMap(Primitive):
    """The same value; its cotangent passes through the block: gradient edits and compiled hooks."""

    internal = True
    regions = ("bwd",)

    def infer(x: Type):
        raise TypeError("grad_map is inferred from its block")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        (bwd,) = blocks
        require([v.type for v in bwd.args] == list(types), f"the block of grad_map takes {bwd.args}, got {types}")
        require([v.type for v in bwd.outs] == list(types), f"the block of grad_map yields {bwd.outs}, not {types}")
        return types
