"""Random modules: their text, their copies, their free values, and the names of their values."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, given, settings

from autodiff_compiler.ir.build import scalar_key
from autodiff_compiler.ir.core import Block, Module, Value
from autodiff_compiler.ir.naming import definitions, name_values
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import clone_function, free_values, ops_of, uses
from autodiff_compiler.source import Loc
from tests.ir.programs import modules
from tests.selection import part


@settings(max_examples=part(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(modules())
def test_random_modules(module: Module) -> None:
    """One test for all: what takes time is making the modules."""
    verify(module)
    text = print_module(module)
    assert_round_trip(module, text)
    assert_copies(module, text)
    assert_names(module, text)


def assert_round_trip(module: Module, text: str) -> None:
    """The text is ASCII, and what is read from it prints and verifies as the module does, and is the same."""
    assert text.isascii()
    parsed = parse_module(text)
    assert print_module(parsed) == text
    assert_same(module, parsed)
    verify(parsed)


def assert_copies(module: Module, text: str) -> None:
    """Copies verify and print alike; a value is free exactly if it is used inside and defined outside."""
    copy = module.like()
    for function in module:
        copy.add(clone_function(function, copy))
    verify(copy)
    assert print_module(copy) == text
    for op in ops_of(module.entry.body):
        for block in op.blocks:
            blocks = [block, *(b for inner in ops_of(block) for b in inner.blocks)]
            inside = {x for b in blocks for x in b.args} | {x for inner in ops_of(block) for x in inner.results}
            free = free_values(block)
            assert len(set(free)) == len(free)
            assert set(free) == set(uses(block)) - inside


def assert_names(module: Module, text: str) -> None:
    """Named values are printed as they were; all have names or numbers, each another one."""
    name_values(module)
    assert print_module(module) == text
    for function in module:
        names = [x.name or x.number for x in definitions(function)]
        assert None not in names
        assert len(set(names)) == len(names)


def assert_same(a: Module, b: Module) -> None:
    """Equal but for the paths of files: compared on the data structures, not on their text."""
    assert list(a.functions) == list(b.functions)
    assert a.states == b.states
    assert list(a.constants) == list(b.constants)
    assert list(a.callables) == list(b.callables)
    for f, g in zip(a, b, strict=True):
        assert short(f.loc) == short(g.loc)
        assert_same_block(f.body, g.body, {})


def assert_same_block(a: Block, b: Block, pairs: dict[Value, Value]) -> None:
    def pair(xs: Any, ys: Any) -> None:
        assert [x.type for x in xs] == [y.type for y in ys]
        pairs.update(zip(xs, ys, strict=True))

    pair(a.args, b.args)
    for op, other in zip(a.ops, b.ops, strict=True):
        assert op.defn is other.defn
        assert [pairs[x] for x in op.operands] == list(other.operands)
        assert key(op.attrs) == key(other.attrs)
        assert short(op.loc) == short(other.loc)
        for inner, other_inner in zip(op.blocks, other.blocks, strict=True):
            assert_same_block(inner, other_inner, pairs)
            assert other_inner.parent is other
        assert other.parent is b
        pair(op.results, other.results)
    assert [pairs[x] for x in a.outs] == b.outs


def key(value: Any) -> Any:
    return tuple(map(key, value)) if isinstance(value, tuple) else (type(value), scalar_key(value))


def short(loc: Loc | None) -> Loc | None:
    return loc and Loc(os.path.basename(loc.file), loc.line, loc.col, tag=loc.tag)
