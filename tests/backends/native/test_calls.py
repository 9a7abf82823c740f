"""Functions of the module that others call."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.native.codegen.lanes import NotNativeError
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.ir.text import parse_module
from tests.backends.native.against_numpy import f64, same_results
from tests.backends.native.sampled import native

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


CALLS = """
func @f(%x: f64[3], %n: i64[]) -> (f64[3]) {
  %a: f64[3] = call %x, %n {fn="@g"}
  %b: f64[3] = call %a, %n {fn="@g"}
  return %b
}
func @g(%x: f64[3], %n: i64[]) -> (f64[3]) {
  %y: f64[3] = scan %n (%c = %x) body (%i) {
    %d: f64[3] = call %c {fn="@h"}
    yield %d
  }
  return %y
}
func @h(%x: f64[3]) -> (f64[3]) {
  %d: f64[3] = add %x, %x
  return %d
}
"""


@pytest.mark.parametrize("n", [0, 3])
def test_functions_are_written_where_they_are_called(n):
    same_results(parse_module(CALLS), f64(3), np.array(n))


def test_functions_that_call_themselves_are_left_to_the_fallback():
    module = parse_module(CALLS.replace("add %x, %x", 'call %x {fn="@h"}'))
    with pytest.raises(NotNativeError, match="themselves"):
        native(module)
