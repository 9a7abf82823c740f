"""`linearize` and `pull`: the function runs once, its backward pass where and as often as the link is pulled."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.autodiff import expand_grads
from autodiff_compiler.errors import NotDifferentiableError
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import effect_of, late_ops, ops_of
from autodiff_compiler.passes.dce import dce
from autodiff_compiler.passes.manager import has_grad
from autodiff_compiler.passes.state import lift_state, state_plan
from tests.autodiff.derivatives import expanded, parsed
from tests.autodiff.interpreter import Interpreter

#: x -> (x^(n+1) for n trips, with a print per trip), pulled where PULLS says; the cotangent of x is (n+1) x^n g.
POWER = """func @f(%x: f64[], %g: f64[], %n: i64[], %p: bool[]) -> (f64[], f64[]) {
  %y: f64[], %l: link<(f64[]) -> (f64[])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f64[]) {
    %r: f64[] = scan %n (%c = %a) body (%i) {
      print %i {parts=[0]}
      %m: f64[] = mul %c, %a
      yield %m
    }
    yield %r
  }
  PULLS
  return %y, %z
}"""

PULLS = {
    "once": ("%z: f64[] = pull %l, %g", 12.0 * 5.0),
    "twice": ("%u: f64[] = pull %l, %g ; %v: f64[] = pull %l, %y ; %z: f64[] = add %u, %v", 12.0 * 5.0 + 12.0 * 8.0),
    "never": ("%z: f64[] = add %g, %g", 10.0),
    "in a branch": ("%z: f64[] = if %p then { %d: f64[] = pull %l, %g ; yield %d } else { yield %g }", 60.0),
    "in a loop": ("%z: f64[] = scan %n (%h = %g) body (%j) { %d: f64[] = pull %l, %h ; yield %d }", 5.0 * 12.0**2),
    "in a while": (
        "%t: i64[], %z: f64[] = while (%h = %g) cond { %k: f64[] = const {value=100.0} ; %q: bool[] = less %h, %k ; "
        "yield %q } body { %d: f64[] = pull %l, %h ; yield %d }",
        5.0 * 12.0**2,
    ),
    "differentiated": (
        "%o: f64[], %z: f64[] = grad %g {wrt=[0]} body (%h: f64[]) "
        "{ %d: f64[] = pull %l, %h ; %e: f64[] = mul %d, %d ; yield %e }",
        2 * 144.0 * 5.0,
    ),
    "transposed": (
        "%zero: f64[] = const {value=0.0} ; %o: f64[], %k: link<(f64[]) -> (f64[])> = linearize %zero "
        "{wrt=[0], seeds=[0]} body (%h: f64[]) { %d: f64[] = pull %l, %h ; yield %d } ; %z: f64[] = pull %k, %g",
        60.0,
    ),
}


@pytest.mark.parametrize("where", PULLS)
def test_the_backward_pass_runs_where_the_link_is_pulled(where):
    pulls, expected = PULLS[where]
    module = expanded(parsed(POWER.replace("PULLS", pulls)))
    verify(module, "FIRST_ORDER")
    for work in (module, dce(module)):
        interpreter = Interpreter(work)
        y, z = interpreter.run(None, 2.0, 5.0, 2, True)
        assert (float(y), float(z)) == (8.0, expected)
        assert interpreter.calls == [("print", 0), ("print", 1)]


def test_a_link_that_nobody_pulls_saves_nothing_and_needs_no_derivative():
    module = expanded(parsed(POWER.replace("PULLS", PULLS["never"][0])))
    assert [len(op.results) for op in module.entry.body.ops if op.defn.name == "scan"] == [1]
    text = """callable @h
    func @f(%x: f64[]) -> (f64[]) {
      %y: f64[], %l: link<(f64[]) -> (f64[])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f64[]) {
        %b: f64[] = host_call %a {fn="@h"}
        yield %b
      }
      PULL
      return %y
    }"""
    expand_grads(parse_module(text.replace("PULL", "")))
    with pytest.raises(NotDifferentiableError, match="py_call"):
        expand_grads(parse_module(text.replace("PULL", "%d: f64[] = pull %l, %x")))


def test_residuals_of_a_branch_reach_a_later_branch():
    # sin in one arm, x^3 in the other: cos(x) g and 3 x^2 g, pulled under a condition of its own
    text = """func @f(%x: f64[], %g: f64[], %p: bool[], %q: bool[]) -> (f64[], f64[]) {
      %y: f64[], %l: link<(f64[]) -> (f64[])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f64[]) {
        %r: f64[] = if %p then { %s: f64[] = sin %a ; yield %s } else {
          %m: f64[] = mul %a, %a ; %c: f64[] = mul %m, %a ; yield %c
        }
        yield %r
      }
      %z: f64[] = if %q then { %d: f64[] = pull %l, %g ; yield %d } else { yield %g }
      return %y, %z
    }"""
    module = expanded(parsed(text))
    for p, q in np.ndindex(2, 2):
        y, z = Interpreter(module).run(None, 0.7, 2.0, bool(p), bool(q))
        np.testing.assert_allclose(y, np.sin(0.7) if p else 0.7**3)
        np.testing.assert_allclose(z, (2 * np.cos(0.7) if p else 6 * 0.7**2) if q else 2.0)


def test_a_derivative_through_linearize_and_pull_is_that_of_both():
    # y = x^3 and d = 3 x^2 g: d/dx (y + d) = 3 x^2 + 6 x g
    text = """func @f(%x: f64[], %g: f64[]) -> (f64[]) {
      %o: f64[], %z: f64[] = grad %x {wrt=[0]} body (%b: f64[]) {
        %y: f64[], %l: link<(f64[]) -> (f64[])> = linearize %b {wrt=[0], seeds=[0]} body (%a: f64[]) {
          %m: f64[] = mul %a, %a ; %c: f64[] = mul %m, %a ; yield %c
        }
        %d: f64[] = pull %l, %g
        %s: f64[] = add %y, %d
        yield %s
      }
      return %z
    }"""
    assert float(Interpreter(expanded(parsed(text))).run(None, 2.0, 5.0)[0]) == 12.0 + 60.0


def test_arguments_are_told_apart_even_where_their_values_are_one():
    text = """func @f(%x: f64[], %g: f64[]) -> (f64[], f64[]) {
      %y: f64[], %l: link<(f64[]) -> (f64[])> = linearize %x, %x {wrt=[1], seeds=[0]} body (%a: f64[], %b: f64[]) {
        %m: f64[] = mul %a, %b ; %k: f64[] = mul %m, %x ; yield %k
      }
      %d: f64[] = pull %l, %g
      return %y, %d
    }"""
    assert [float(v) for v in Interpreter(expanded(parsed(text))).run(None, 3.0, 2.0)] == [27.0, 18.0]


#: A rule with an effect of its own: its cotangent is g * 2.
LOUD = """func @f(%x: f64[], %g: f64[]) -> (f64[]) {
  %y: f64[], %l: link<(f64[]) -> (f64[])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f64[]) {
    print %a {parts=[0]}
    %m: f64[] = grad_map %a bwd (%h: f64[]) { print %h {parts=[0]} ; %s: f64[] = add %h, %h ; yield %s }
    yield %m
  }
  print %y {parts=[0]}
  %d: f64[] = pull %l, %g
  %e: f64[] = pull %l, %d
  return %d
}"""


def test_what_a_users_backward_rule_does_it_does_at_every_pull():
    module = parsed(LOUD)
    first, second = [op for op in ops_of(module.entry.body) if op.defn.name == "pull"]
    assert [op.defn.name for op in late_ops(first)] == ["print", "add"]
    assert effect_of(second, module, {}) == effect_of(module.entry.body.ops[0], module, {}) > 0
    for work in (module, dce(module)):  # the second result is not used, its effect is
        interpreter = Interpreter(expanded(work))
        assert float(interpreter.run(None, 3.0, 5.0)[0]) == 10.0
        assert interpreter.calls == [("print", 3.0), ("print", 3.0), ("print", 5.0), ("print", 10.0)]


def test_dead_code_goes_with_its_links():
    text = LOUD.replace("print %a {parts=[0]}", "").replace("print %h {parts=[0]} ;", "")
    module = dce(parsed(text))
    assert [op.defn.name for op in module.entry.body.ops] == ["linearize", "print", "pull"]
    text = text.replace("print %y {parts=[0]}", "").replace("return %d", "return %g")
    assert dce(parsed(text)).entry.body.ops == []


STATES = """state @w: f64[]
func @main(%x: f64[], %g: f64[]) -> (f64[], f64[]) {
  %y: f64[], %l: link<(f64[], f64[]) -> (f64[])> = linearize %x {wrt=[0], seeds=[0], wrt_states=["w"]}
    body (%a: f64[]) {
      %v: f64[] = state_read {state="w"}
      %p: f64[] = mul %a, %v
      state_write %p {state="w"}
      yield %p
    }
  %n: f64[] = state_read {state="w"}
  %m: f64[] = add %n, %n
  state_write %m {state="w"}
  %dx: f64[], %dw: f64[] = pull %l, %g
  return %dx, %dw
}
"""


def test_states_are_lifted_through_linearize_and_pulled_at_the_values_they_had():
    # y = x w and w' = x w, then w'' = 2 w': dx = w g, dw = x g
    module = lift_state(parsed(STATES))
    verify(module, "PURE")
    assert (state_plan(module).inputs, state_plan(module).outputs) == (("w",), ("w",))
    found = Interpreter(expanded(module)).run(None, 3.0, 5.0, 7.0)
    assert [float(v) for v in found] == [35.0, 15.0, 42.0]


def test_a_backward_rule_sees_a_state_as_it_is_when_pulled():
    text = """state @w: f64[]
    func @main(%x: f64[], %g: f64[]) -> (f64[], f64[]) {
      %y: f64[], %l: link<(f64[]) -> (f64[])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f64[]) {
        %k: f64[] = grad_map %a bwd (%h: f64[]) {
          %v: f64[] = state_read {state="w"} ; %q: f64[] = mul %h, %v ; state_write %q {state="w"} ; yield %q
        }
        %r: f64[] = state_read {state="w"}
        %s: f64[] = add %r, %a
        state_write %s {state="w"}
        yield %k
      }
      %d: f64[] = pull %l, %g
      %o: f64[], %e: f64[] = grad %g {wrt=[0]} body (%c: f64[]) { %i: f64[] = pull %l, %c ; yield %i }
      return %d, %e
    }"""
    # w = 7, then 7 + 3 = 10; the first pull gives 5 * 10 and leaves 50, the second 5 * 50 = 250, its slope is 50
    module, runs = lift_state(parsed(text)), 0
    while has_grad(module):
        module, runs = lift_state(expand_grads(module)), runs + 1
        verify(module)
    assert runs <= 2
    verify(module, "PURE")
    found = Interpreter(module).run(None, 3.0, 5.0, 7.0)
    assert [float(v) for v in found] == [50.0, 50.0, 250.0]
