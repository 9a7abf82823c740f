"""Ops that own blocks: `if`, `while`, `scan`, and the call of another function.

They have neither kernel nor `vjp`: backends print them as Python control flow, `autodiff.control` differentiates them.
Blocks mention the values around them directly, so only what changes from trip to trip is carried.
"""

from __future__ import annotations

from ..dtypes import bool_, int64
from ..errors import ShapeError
from ..ir.core import Block, Module
from ..ir.primitive import Names, Primitive
from ..ir.types import Seq, TensorType, Type, seq, tensor
from .requirements import require, require_dtype

BOOL = tensor(bool_, ())
COUNT = tensor(int64, ())


class If(Primitive):
    """``%r... = if %pred then {.. yield a...} else {.. yield b...}``: runs one of two blocks of equal result types."""

    internal = True
    regions = ("then", "else")
    multiple = True

    def infer(pred: TensorType):
        raise TypeError("if is inferred from its blocks")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        require_dtype(types == (BOOL,), f"the condition of if must be bool[], not {types}")
        then, other = ([v.type for v in b.outs] for b in blocks)
        require(then == other, f"the blocks of if yield different types: {then} and {other}")
        return tuple(then)


class While(Primitive):
    """``%n, %c..., %saved... = while (%c = %init...) cond {yield %p} body {yield next..., saved...}``.

    Result 0 is the number of trips (i64[]); then come the final carries; what the body yields beyond the carries
    is collected, one value per trip, into a Seq.
    """

    internal = True
    regions = ("cond", "body")
    multiple = True

    def infer(*inits: Type):
        raise TypeError("while is inferred from its blocks")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        cond, body = blocks
        k = len(types)
        require([v.type for v in cond.args] == list(types), f"cond of while takes {cond.args}, carries are {types}")
        require([v.type for v in cond.outs] == [BOOL], f"cond of while yields {cond.outs}, not one bool[]")
        require([v.type for v in body.args] == list(types), f"body of while takes {body.args}, carries are {types}")
        require([v.type for v in body.outs[:k]] == list(types), f"body of while changes the carries: {body.outs[:k]}")
        return COUNT, *types, *(seq(v.type) for v in body.outs[k:])


class Scan(Primitive):
    """``%c.., %ys.. = scan %n, %inits.., %xs.. {carries=k, reverse=..} body (%i, %c.., %x..) {yield c.., y..}``.

    Runs the body `n` times (none if n <= 0).  `%i` is the trip's index; operands after the carries are Seqs whose
    element of the trip the body gets; what it yields beyond the carries is collected into Seqs.  With ``reverse`` the
    indices go from n-1 to 0; Seqs are always indexed by `%i`.
    """

    internal = True
    regions = ("body",)
    multiple = True

    def infer(n: TensorType, *operands: Type, carries: int, reverse: bool = False):
        raise TypeError("scan is inferred from its blocks")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        (body,), k = blocks, attrs[0]
        require_dtype(types[0] is COUNT, f"the trip count of scan must be i64[], not {types[0]}")
        carries, xs = types[1 : 1 + k], types[1 + k :]
        elems = []
        for t in xs:
            if not isinstance(t, Seq):
                raise ShapeError(f"scan reads sequences, not {t}")
            elems.append(t.elem)
        args = [v.type for v in body.args]
        require(args == [COUNT, *carries, *elems], f"body of scan takes {args}, expected {[COUNT, *carries, *elems]}")
        outs = [v.type for v in body.outs]
        require(outs[:k] == list(carries), f"body of scan changes the carries: {outs[:k]}, expected {list(carries)}")
        return *carries, *(seq(t) for t in outs[k:])


class Call(Primitive):
    """``%r... = call %x... {fn="@name", states=[...]}``: runs another function of the module."""

    internal = True
    multiple = True

    def infer(*operands: Type, fn: str, states: Names = ()):
        raise TypeError("call is inferred from the function it names")

    def infer_blocks(types: tuple[Type, ...], attrs, blocks: tuple[Block, ...], module: Module):
        callee = module.functions.get(attrs[0].removeprefix("@"))
        if callee is None:
            raise ShapeError(f"call of {attrs[0]}, which the module does not have")
        expected = tuple(v.type for v in callee.args)
        require(types == expected, f"call of {attrs[0]} with {types}, it takes {expected}")
        return tuple(v.type for v in callee.outs)
