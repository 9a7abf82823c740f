"""Modules with numbers in the place of symbolic sizes, and which symbols a block mentions."""

from __future__ import annotations

import pytest

from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.known_sizes import mentioned_symbols, told_symbols, with_known_sizes
from autodiff_compiler.ir.parser import parse_module
from autodiff_compiler.ir.sizes import symbol_of
from autodiff_compiler.ir.text import print_module
from autodiff_compiler.ir.verify import verify

TEXT = """size @n {low=1}
size @m {low=0}
func @main(%%x: f32[%(n)s,3], %%y: f32[%(twice)s], %%z: f32[%(m)s]) -> (f32[%(n)s,3], i64[]) {
  %%c: f32[%(n)s,3] = const {value=2.0}
  %%d: f32[%(n)s,3] = mul %%x, %%c
  %%k: i64[] = size_value {size=%(more)s}
  return %%d, %%k
}
"""


def test_types_and_attributes_have_numbers():
    module = parse_module(TEXT % {"n": "n", "twice": "2*n+1", "m": "m", "more": "`m*n+1`"})
    n, m = (symbol_of(x.shape[0]) for x in (module.entry.args[0], module.entry.args[2]))
    known = with_known_sizes(module, {n: 4, m: 5})
    verify(known, "PURE")
    expected = parse_module(TEXT % {"n": 4, "twice": 9, "m": 5, "more": 21})
    assert print_module(known).splitlines()[-6:] == print_module(expected).splitlines()[-6:]
    assert module.has_open_sizes
    assert not known.has_open_sizes
    assert not set(mentioned_symbols(known.entry.body))


def test_a_size_that_cannot_be():
    text = "size @n {low=2} func @main(%x: f32[n-2]) -> (f32[n-2]) { return %x }"
    module = parse_module(text)
    (n,) = told_symbols(module.entry.args[0].type)
    with pytest.raises(ShapeError, match="must not be negative"):
        with_known_sizes(module, {n: 1})


def test_symbols_that_are_mentioned_and_told():
    module = parse_module(TEXT % {"n": "n", "twice": "2*n+1", "m": "m", "more": "`m*n+1`"})
    x, y, z = (list(told_symbols(a.type)) for a in module.entry.args)
    assert ([s.name for s in x], y, [s.name for s in z]) == (["n"], x, ["m"])
    assert {s.name for s in mentioned_symbols(module.entry.body)} == {"n", "m"}
    product = parse_module("size @n {low=0} size @m {low=0} func @main(%x: f32[n*m]) -> (f32[n*m]) { return %x }")
    assert list(told_symbols(product.entry.args[0].type)) == []
