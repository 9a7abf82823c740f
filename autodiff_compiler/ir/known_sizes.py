"""Sizes in modules: the same ops with numbers in the place of symbols, and which symbols a block mentions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .core import Block, Function, Module, Op, Value
from .open_shapes import definitions
from .sizes import Dim, Size, Symbol, substitute, symbols_of
from .types import Link, Seq, TensorType, TupleType, Type, link, seq, tensor, tuple_of
from .walk import ops_of


def with_known_sizes(module: Module, by: Mapping[Symbol, Size]) -> Module:
    """A copy of a module with sizes in the place of symbols; ops stay as they are, none is folded.

    ShapeError where a type would have a negative size.
    """
    known = _Known(by)
    functions = {f.name: Function(f.name, known.block(f.body), f.loc) for f in module}
    states = {name: replace(state, type=known.type(state.type)) for name, state in module.states.items()}
    return replace(module, functions=functions, states=states)


class _Known:
    def __init__(self, by: Mapping[Symbol, Size]) -> None:
        self.by = by
        self.values: dict[Value, Value] = {}

    def block(self, old: Block) -> Block:
        new = Block([self.type(x.type) for x in old.args])
        self._stand_for(old.args, new.args)
        for op in old.ops:
            blocks = tuple(map(self.block, op.blocks))
            operands = tuple([self.values[x] for x in op.operands])
            types = [self.type(x.type) for x in op.results]
            made = Op(op.defn, operands, types, self.attribute(op.attrs), blocks, op.loc, new)
            self._stand_for(op.results, made.results)
            new.ops.append(made)
        new.outs = [self.values[x] for x in old.outs]
        return new

    def _stand_for(self, old: list[Value], new: list[Value]) -> None:
        for x, y in zip(old, new, strict=True):
            y.name, y.number = x.name, x.number
            self.values[x] = y

    def type(self, old: Type) -> Any:
        match old:
            case TensorType():
                return tensor(old.dtype, self.attribute(old.shape))
            case TupleType():
                return tuple_of(tuple(map(self.type, old.elems)))
            case Seq():
                return seq(self.type(old.elem))
            case Link():
                return link(tuple(map(self.type, old.ins)), tuple(map(self.type, old.outs)))
        return old

    def attribute(self, old: Any) -> Any:
        if isinstance(old, tuple):
            return tuple(map(self.attribute, old))
        if isinstance(old, Type):
            return self.type(old)
        return substitute(old, self.by) if isinstance(old, Dim) else old


def mentioned_symbols(block: Block) -> Iterator[Symbol]:
    """The symbols in the types and attributes of a block, each as often as it stands there."""
    yield from symbols_in([x.type for x in block.args])
    for op in ops_of(block):
        yield from symbols_in([*[x.type for x in op.results], *op.attrs])
        yield from symbols_in([x.type for inner in op.blocks for x in inner.args])


def symbols_in(value: Any) -> Iterator[Symbol]:
    """The symbols in a type, a size, or what holds such."""
    match value:
        case Dim():
            yield from symbols_of(value)
        case tuple() | list():
            for part in value:
                yield from symbols_in(part)
        case TensorType():
            yield from symbols_in(value.shape)
        case TupleType():
            yield from symbols_in(value.elems)
        case Seq():
            yield from symbols_in(value.elem)
        case Link():
            yield from symbols_in((value.ins, value.outs))


def told_symbols(type: Type) -> Iterator[Symbol]:
    """The symbols whose values an array of this type tells by its shape."""
    yield from definitions([type.shape] if isinstance(type, TensorType) else [])
