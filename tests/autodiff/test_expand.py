"""`grad` ops: seeds, inputs, places where they stand, user overrides, errors, locations."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.autodiff import expand_grads
from autodiff_compiler.autodiff.activity import active_values
from autodiff_compiler.errors import NotDifferentiableError
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import ops_of
from autodiff_compiler.passes.manager import has_grad
from autodiff_compiler.passes.state import lift_state, state_plan
from autodiff_compiler.source import Loc
from tests.autodiff.derivatives import expanded, parsed
from tests.autodiff.interpreter import Interpreter, run


def results(text, *args):
    return [np.asarray(x).tolist() for x in run(expanded(parsed(text)), *args)]


def test_every_float_result_is_seeded_with_ones():
    text = """func @f(%x: f64[2]) -> (f64[2], i64[], f64[], f64[2]) {
      %a: f64[2], %i: i64[], %b: f64[], %d: f64[2] = grad %x {wrt=[0]} body (%v: f64[2]) {
        %k: i64[] = const {value=3}; %s: f64[] = sum %v {axes=[-1]}; %m: f64[2] = mul %v, %v; yield %m, %k, %s
      }
      return %a, %i, %b, %d
    }"""
    assert results(text, [2.0, 3.0]) == [[4.0, 9.0], 3, 5.0, [5.0, 7.0]]


def test_seeds_are_given_for_some_results():
    text = """func @f(%x: f64[2], %g: f64[2]) -> (f64[2]) {
      %a: f64[2], %b: f64[], %d: f64[2] = grad %x, %g {wrt=[0], seeds=[0]} body (%v: f64[2]) {
        %s: f64[] = sum %v {axes=[-1]}; %m: f64[2] = mul %v, %v; yield %m, %s
      }
      return %d
    }"""
    assert results(text, [2.0, 3.0], [1.0, 10.0]) == [[4.0, 60.0]]


def test_one_result_listed_twice_is_seeded_twice():
    text = """func @f(%x: f64[], %g: f64[], %h: f64[]) -> (f64[]) {
      %a: f64[], %b: f64[], %d: f64[] = grad %x, %g, %h {wrt=[0], seeds=[0,1]} body (%v: f64[]) { yield %v, %v }
      return %d
    }"""
    assert results(text, 5.0, 2.0, 3.0) == [5.0]


def test_an_unused_input_has_zeros_of_its_type():
    text = """func @f(%x: f32[2,3], %y: f64[], %n: i32[2]) -> (f32[2,3], f64[], i32[2]) {
      %o: f64[], %dx: f32[2,3], %dy: f64[], %dn: i32[2] = grad %x, %y, %n {wrt=[0,1,2]}
        body (%a: f32[2,3], %b: f64[], %c: i32[2]) { yield %b }
      return %dx, %dy, %dn
    }"""
    dx, dy, dn = run(expanded(parsed(text)), np.ones((2, 3)), 1.0, [1, 2])
    assert dx.tolist() == [[0.0] * 3] * 2
    assert dx.dtype == np.float32
    assert dy == 1.0
    assert dn.tolist() == [0, 0]
    assert dn.dtype == np.int32


def test_an_integer_input_gets_what_flows_through_its_casts():
    # d/da (a*b + a*a) = b + 2 a, cast share by share to a's dtype
    text = """func @f(%a: i32[], %b: f64[]) -> (i32[], f64[]) {
      %o: f64[], %da: i32[], %db: f64[] = grad %a, %b {wrt=[0,1]} body (%i: i32[], %x: f64[]) {
        %j: i32[] = mul %i, %i
        %u: f64[] = cast %j {dtype=f64}
        %c: f64[] = cast %i {dtype=f64}
        %m: f64[] = mul %c, %x
        %s: f64[] = add %m, %u
        yield %s
      }
      return %da, %db
    }"""
    assert results(text, 3, 7.5) == [7 + 2 * 3, 3.0]


def test_an_integer_input_is_followed_into_loops_and_calls():
    text = """func @f(%a: i32[], %b: f64[], %n: i64[]) -> (i32[]) {
      %o: f64[], %da: i32[] = grad %a {wrt=[0]} body (%i: i32[]) {
        %r: f64[] = scan %n (%c = %b) body (%k) { %x: f64[] = cast %i {dtype=f64}; %m: f64[] = add %c, %x; yield %m }
        %s: f64[] = call @g %i, %r
        yield %s
      }
      return %da
    }
    func @g(%i: i32[], %r: f64[]) -> (f64[]) { %x: f64[] = cast %i {dtype=f64}; %m: f64[] = mul %x, %r; return %m }"""
    # a * (b + n a): b + 2 n a
    assert results(text, 3, 5.0, 4) == [5 + 2 * 4 * 3]


def test_arguments_are_told_apart_even_where_their_values_are_one():
    # f(a, b) = a * b * x at a = b = x; the block captures x too.
    text = """func @f(%x: f64[]) -> (f64[]) {
      %o: f64[], %da: f64[] = grad %x, %x {wrt=[0]} body (%a: f64[], %b: f64[]) {
        %m: f64[] = mul %a, %b; %y: f64[] = mul %m, %x; yield %y
      }
      return %da
    }"""
    assert results(text, 3.0) == [9.0]


def test_an_op_before_the_grad_that_computes_the_same_is_not_mistaken_for_its_body():
    text = """func @f(%x: f64[]) -> (f64[], f64[]) {
      %s: f64[] = mul %x, %x
      %o: f64[], %d: f64[] = grad %x {wrt=[0]} body (%a: f64[]) { %m: f64[] = mul %a, %a; yield %m }
      return %s, %d
    }"""
    assert results(text, 3.0) == [9.0, 6.0]


def test_grad_inside_control_flow_and_called_functions():
    text = """func @main(%x: f64[], %n: i64[], %p: bool[]) -> (f64[]) {
      %r: f64[] = if %p
        then {
          %s: f64[] = scan %n (%c = %x) body (%i) {
            %y: f64[], %d: f64[] = grad %c {wrt=[0]} body (%a: f64[]) { %t: f64[] = call @g %a; yield %t }
            yield %d
          }
          yield %s
        }
        else { %e: f64[] = call @g %x; yield %e }
      return %r
    }
    func @g(%x: f64[]) -> (f64[]) {
      %y: f64[], %d: f64[] = grad %x {wrt=[0]} body (%a: f64[]) { %b: f64[] = sin %a; %c: f64[] = mul %b, %a; yield %c }
      return %d
    }"""
    # g = (x sin x)' = sin x + x cos x, g' = 2 cos x - x sin x
    assert results(text, 0.4, 1, False) == [pytest.approx(np.sin(0.4) + 0.4 * np.cos(0.4))]
    once = 2 * np.cos(0.4) - 0.4 * np.sin(0.4)
    assert results(text, 0.4, 1, True) == [pytest.approx(once)]
    assert results(text, 0.4, 2, True) == [pytest.approx(2 * np.cos(once) - once * np.sin(once))]


def test_a_while_trains_on_a_gradient_and_is_differentiated():
    # Gradient descent on (w - x)**2 inside a loop, differentiated with respect to x: 1 - (1 - 2 lr)**n.
    text = """func @main(%x: f64[], %n: i64[]) -> (f64[]) {
      %o: f64[], %dx: f64[] = grad %x {wrt=[0]} body (%t: f64[]) {
        %zero: f64[] = const {value=0.0}; %lr: f64[] = const {value=0.1}
        %w: f64[] = scan %n (%v = %zero) body (%i) {
          %l: f64[], %g: f64[] = grad %v {wrt=[0]} body (%u: f64[]) {
            %d: f64[] = sub %u, %t; %s: f64[] = mul %d, %d; yield %s
          }
          %step: f64[] = mul %g, %lr
          %v2: f64[] = sub %v, %step
          yield %v2
        }
        yield %w
      }
      return %dx
    }"""
    assert results(text, 0.4, 5) == [pytest.approx(1 - 0.8**5)]


def test_stop_gradient_ends_every_order():
    text = """func @main(%x: f64[]) -> (f64[], f64[]) {
      %d: f64[], %dd: f64[] = grad %x {wrt=[0]} body (%y: f64[]) {
        %o: f64[], %e: f64[] = grad %y {wrt=[0]} body (%z: f64[]) {
          %s: f64[] = stop_gradient %z; %a: f64[] = mul %s, %z; %b: f64[] = sin %a; yield %b
        }
        yield %e
      }
      return %d, %dd
    }"""
    # sin(k z) at k = z, twice by z only: k cos(k z), then -k k sin(k z); k counts as constant both times.
    assert results(text, 0.4) == [pytest.approx(0.4 * np.cos(0.16)), pytest.approx(-0.16 * np.sin(0.16))]


OVERRIDE = """func @main(%x: f64[], %w: f64[], %n: i64[]) -> (f64[], f64[], f64[], f64[]) {
  %one: f64[] = const {value=1.0}
  %d: f64[], %y: f64[], %dw: f64[], %dd: f64[] = grad %x, %one {wrt=[0], seeds=[0]} body (%x1: f64[]) {
    %o: f64[], %dx: f64[], %dv: f64[] = grad %x1, %w {wrt=[0,1]} body (%x2: f64[], %v: f64[]) {
      %r: f64[] = scan %n (%c = %x2) body (%i) {
        %k: f64[] = custom_vjp %c fwd (%a: f64[]) { %e: f64[] = sin %a; %p: f64[] = mul %e, %v; yield %p }
          bwd (%b: f64[], %out: f64[], %g: f64[]) { %q: f64[] = mul %b, %g; yield %q }
        yield %k
      }
      yield %r
    }
    yield %dx, %o, %dv
  }
  return %y, %d, %dw, %dd
}"""


def test_custom_vjp_replaces_the_derivative_and_is_differentiated_again():
    y, d, dw, dd = results(OVERRIDE, 0.6, 0.5, 1)
    # One trip: value w sin(x), "derivative" x, whose derivative is 1; the captured w gets nothing.
    assert (y, d, dw, dd) == (pytest.approx(0.5 * np.sin(0.6)), 0.6, 0.0, 1.0)
    y, d, dw, dd = results(OVERRIDE, 0.6, 0.5, 2)
    # Two trips: c1 = w sin(x), d = x * c1; c1 is differentiated by the override again: d' = c1 + x * x.
    c1 = 0.5 * np.sin(0.6)
    assert (d, dw, dd) == (pytest.approx(0.6 * c1), 0.0, pytest.approx(c1 + 0.36))


def test_custom_vjp_of_several_results_gets_zeros_for_unused_ones():
    text = """func @f(%x: f64[], %k: i64[]) -> (f64[]) {
      %o: f64[], %d: f64[] = grad %x {wrt=[0]} body (%v: f64[]) {
        %a: f64[], %b: f64[], %i: i64[] = custom_vjp %v, %k
          fwd (%p: f64[], %j: i64[]) { yield %p, %p, %j }
          bwd (%q: f64[], %j2: i64[], %r: f64[], %s: f64[], %t: i64[], %gr: f64[], %gs: f64[], %gt: i64[]) {
            %h: f64[] = const {value=10.0}; %m: f64[] = mul %gr, %h; %n: f64[] = add %m, %gs; yield %n, %gt }
        yield %a
      }
      return %d
    }"""
    assert results(text, 0.6, 3) == [10.0]


def test_grad_map_edits_the_cotangent_last_placed_first():
    text = """func @f(%x: f64[], %w: f64[]) -> (f64[], f64[]) {
      %o: f64[], %d: f64[] = grad %x {wrt=[0]} body (%v: f64[]) {
        %a: f64[] = grad_map %v bwd (%g: f64[]) { %h: f64[] = mul %g, %w; yield %h }
        %b: f64[] = grad_map %a bwd (%g2: f64[]) { %h2: f64[] = add %g2, %w; yield %h2 }
        yield %b
      }
      return %o, %d
    }"""
    assert results(text, 0.6, 3.0) == [0.6, (1.0 + 3.0) * 3.0]


STATES = """state @w: f64[]
func @main(%x: f64[]) -> (f64[], f64[]) {
  %d: f64[], %dx: f64[], %dw: f64[] = grad %x {wrt=[0], wrt_states=["w"]} body (%x1: f64[]) {
    %o: f64[], %e: f64[] = grad %x1 {wrt=[0]} body (%x2: f64[]) { BODY }
    yield %e
  }
  return %dx, %dw
}
"""
USED = """%k: f64[] = custom_vjp %x2 fwd (%a: f64[]) { %e2: f64[] = sin %a; yield %e2 }
      bwd (%b: f64[], %out: f64[], %g: f64[]) {
        %v: f64[] = state_read {state="w"}; %q: f64[] = mul %b, %g; %q2: f64[] = mul %q, %v; yield %q2
      }
    yield %k"""


def with_states(called, asked):
    """A gradient of a gradient of a rule that gives x * w; `asked`: also by the state w."""
    text = STATES if asked else STATES.replace(', wrt_states=["w"]', "").replace(", %dw: f64[] = grad", " = grad")
    if not asked:
        text = text.replace("-> (f64[], f64[])", "-> (f64[])").replace("return %dx, %dw", "return %dx")
    text = text.replace("BODY", "%k: f64[] = call @g %x2; yield %k" if called else USED)
    if called:
        text += "func @g(%x2: f64[]) -> (f64[]) { BODY }".replace("BODY", USED.replace("yield %k", "return %k"))
    return parsed(text)


@pytest.mark.parametrize("called", [False, True])
def test_an_outer_grad_waits_until_states_of_inner_backward_rules_are_lifted(called):
    module, runs = lift_state(with_states(called, asked=False)), 0
    while has_grad(module):
        module, runs = lift_state(expand_grads(module)), runs + 1
        verify(module)
    verify(module, "PURE")
    assert runs == 2
    assert state_plan(module).inputs == ("w",)
    assert [float(v) for v in run(module, 0.6, 5.0)] == [5.0]


@pytest.mark.parametrize("called", [False, True])
def test_the_derivative_by_a_state_that_an_inner_backward_rule_reads_is_refused(called):
    with pytest.raises(NotDifferentiableError, match="second derivative is asked of the state w"):
        lift_state(with_states(called, asked=True))


HOST = """callable @h
func @f(%x: f64[], %y: f64[]) -> (f64[], f64[]) {
  %o: f64[], %d: f64[] = grad WRT body (%v: f64[]) {
    %a: f64[] = host_call OPERAND {fn="@h"}
    %b: f64[] = mul %a, %v
    yield RESULT
  }
  return %o, %d
}"""


def host(operand, result):
    return parse_module(HOST.replace("WRT", "%x {wrt=[0]}").replace("OPERAND", operand).replace("RESULT", result))


def test_a_missing_derivative_is_an_error_only_if_it_is_needed():
    with pytest.raises(NotDifferentiableError, match="py_call") as caught:
        expand_grads(host("%v", "%b"))
    assert caught.value.code == "AC1709"
    expand_grads(host("%y", "%b"))  # its operand does not depend on the input
    expand_grads(host("%v", "%v"))  # its result is not used


def test_the_error_stands_at_the_line_of_the_op():
    module = host("%v", "%b")
    op = next(op for op in ops_of(module.entry.body) if op.defn.name == "host_call")
    op.loc = Loc("net.py", 12, 8)
    with pytest.raises(NotDifferentiableError) as caught:
        expand_grads(module)
    assert caught.value.loc == op.loc


def test_a_function_that_calls_itself_is_refused():
    module = parse_module("""func @f(%x: f64[]) -> (f64[]) {
      %o: f64[], %d: f64[] = grad %x {wrt=[0]} body (%v: f64[]) { %a: f64[] = call @g %v; yield %a }
      return %d
    }
    func @g(%x: f64[]) -> (f64[]) { %a: f64[] = call @g %x; %b: f64[] = sin %a; return %b }""")
    with pytest.raises(NotDifferentiableError, match="calls itself"):
        expand_grads(module)


def test_adjoint_ops_carry_the_line_and_the_name_of_what_they_belong_to():
    module = parsed("""func @f(%x: f64[]) -> (f64[]) {
      %o: f64[], %d: f64[] = grad %x {wrt=[0]} body (%v: f64[]) {
        %h: f64[] = mul %v, %v         @ net.py:12:8
        %y: f64[] = tanh %h            @ net.py:13:4
        yield %y
      }
      return %d
    }""")
    ops = list(ops_of(expanded(module).entry.body))
    backward = [op for op in ops if op.loc is not None and op.loc.tag == "adjoint"]
    assert {(op.loc.file, op.loc.line) for op in backward} == {("net.py", 12), ("net.py", 13)}
    assert [op.loc.line for op in backward] == sorted((op.loc.line for op in backward), reverse=True)
    assert "d_h" in {r.name for op in backward for r in op.results}


def test_an_effect_of_the_backward_pass_runs_where_the_cotangent_passes():
    text = """func @f(%x: f64[], %n: i64[]) -> (f64[]) {
      %o: f64[], %d: f64[] = grad %x {wrt=[0]} body (%v: f64[]) {
        %r: f64[] = scan %n (%c = %v) body (%i) {
          %e: f64[] = grad_map %c bwd (%g: f64[]) { print %g, %c {parts=[0,1]}; yield %g }
          %m: f64[] = mul %e, %v
          yield %m
        }
        yield %r
      }
      return %d
    }"""
    interpreter = Interpreter(expanded(parsed(text)))
    assert float(interpreter.run(None, 2.0, 2)[0]) == 12.0
    assert interpreter.calls == [("print", 2.0, 4.0), ("print", 4.0, 2.0)]


def test_activity_keeps_integers_constants_and_dead_values_out():
    module = parsed("""func @f(%x: f64[], %k: f64[], %n: i64[]) -> (f64[]) {
      %dead: f64[] = sin %x
      %other: f64[] = sin %k
      %r: f64[], %s: f64[] = scan %n (%c = %k, %q = %x) body (%i) {
        %t: f64[] = mul %c, %x; %u: f64[] = mul %q, %other; yield %t, %u
      }
      return %r
    }""")
    body = module.entry.body
    names = {v.name for v in active_values(body, body.args, body.outs)}
    assert names == {"x", "k", "r", "c", "t"}
    assert {v.name for v in active_values(body, body.args[:1], body.outs)} == {"x", "r", "c", "t"}
