"""Passes before and after the derivative is expanded: it is the derivative of the same program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_compiler.autodiff.expand import expand_grads
from autodiff_compiler.errors import NotDifferentiableError
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.passes import PASSES, state_plan
from autodiff_compiler.passes.manager import has_grad
from tests.passes.programs import ARGS, StateInterpreter, programs
from tests.selection import part

HEAD = """
func @d({args}) -> (f32[3], f32[3], f32[3], f32[]) {{
  %one: f32[3] = const {{value=1.0}}
"""
GRAD = """
  %r: f32[3], %o: f32[3], %d0: f32[3], %d1: f32[3], %d2: f32[] = grad %x, %y, %s, %one, %one {wrt=[0,1,2], seeds=[0,1]}
    body (%a: f32[3], %b: f32[3], %c: f32[]) {
    %q: f32[3], %t: f32[3], %u: f32[], %v: i64[], %w: bool[] = call @f %a, %b, %c, %n, %p
    yield %q, %t
  }
"""
#: The same in two ops, the second of them in a loop of one trip.
LATE = """
  %r: f32[3], %o: f32[3], %l: link<(f32[3], f32[3], f32[]) -> (f32[3], f32[3])> =
    linearize %x, %y, %s {wrt=[0,1,2], seeds=[0,1]} body (%a: f32[3], %b: f32[3], %c: f32[]) {
    %q: f32[3], %t: f32[3], %u: f32[], %v: i64[], %w: bool[] = call @f %a, %b, %c, %n, %p
    yield %q, %t
  }
  %k: i64[] = const {value=1}
  %d0: f32[3], %d1: f32[3], %d2: f32[] = scan %k (%e0 = %x, %e1 = %y, %e2 = %s) body (%i) {
    %h0: f32[3], %h1: f32[3], %h2: f32[] = pull %l, %one, %one
    yield %h0, %h1, %h2
  }
"""


def wrapped(module: Module, derivative: str = GRAD) -> Module:
    """A module whose entry differentiates the entry of another."""
    text = print_module(module)
    at = text.index("func @")
    head = HEAD.format(args=", ".join(f"%{n}: {t}" for n, t in ARGS))
    return parse_module(f"{text[:at]}{head}{derivative}  return %r, %d0, %d1, %d2\n}}\n\n{text[at:]}")


def arguments(seed: int) -> list[Any]:
    """Arguments for `ARGS` at which derivatives are no surprise."""
    rng = np.random.default_rng(seed)
    vectors = [rng.uniform(0.5, 2, 3) for _ in "xy"]
    return [*vectors, rng.uniform(0.5, 2), int(rng.integers(0, 4)), bool(rng.integers(2))]


@given(module=programs(everything=False), seed=st.integers(0, 1000))
@settings(max_examples=part(60), deadline=None)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_simplified_first_the_derivative_is_the_same(module: Module, seed: int) -> None:
    module, args = wrapped(module), arguments(seed)
    expected = StateInterpreter(expand_grads(module)).run(None, *args)
    for names in (["simplify"], ["inline", "simplify", "licm"]):
        changed = module
        for name in names:
            changed = PASSES[name](changed)
        expanded = PASSES["dce"](PASSES["inline"](PASSES["simplify"](expand_grads(changed))))
        verify(expanded, "FIRST_ORDER")
        # A merged broadcast sums its cotangent in another order, the one rounding that rules may change.
        for a, b in zip(StateInterpreter(expanded).run(None, *args), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6, err_msg=print_module(changed))


@given(module=programs(states=True, everything=False), seed=st.integers(0, 1000))
@settings(max_examples=part(60), deadline=None)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_pulled_later_the_derivative_is_the_same(module: Module, seed: int) -> None:
    """`linearize` and one `pull` in a loop are a `grad`, states read and written included, whatever runs before."""
    args = arguments(seed)
    cells = dict(zip("ab", arguments(seed + 1), strict=False))

    def run(whole: Module, names: list[str]) -> list[Any]:
        for name in names:
            whole = PASSES[name](whole)
        while has_grad(whole):
            whole = PASSES["lift_state"](expand_grads(whole))
        for name in (n for n in ("inline", "simplify", "dce") if names[1:]):
            whole = PASSES[name](whole)
        verify(whole, "FIRST_ORDER" if names[1:] else "PURE")
        plan = state_plan(whole)
        found = StateInterpreter(whole).run(None, *args, *(cells[n] for n in plan.inputs))
        return [*found[:4], *(dict(zip(plan.outputs, found[4:], strict=True)).get(n, cells[n]) for n in "ab")]

    expected = run(wrapped(module), ["lift_state"])
    for names in (["lift_state"], ["lift_state", "simplify", "inline", "simplify", "licm"]):
        for a, b in zip(run(wrapped(module, LATE), names), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def lifted_around_expansion(text: str) -> Module:
    module = PASSES["lift_state"](parse_module(text))
    while has_grad(module):
        verify(module)
        module = PASSES["lift_state"](expand_grads(module))
    module = PASSES["inline"](module)
    verify(module, "FIRST_ORDER")
    return module


def test_a_backward_block_sees_what_the_forward_pass_left() -> None:
    """d/dx of x * n after n := 3x is taken at n = 3x; the gradient then meets n once more, as the forward left it."""
    module = lifted_around_expansion("""
state @n: f32[]
func @f(%x: f32[]) -> (f32[], f32[]) {
  %y: f32[], %dx: f32[] = grad %x {wrt=[0]} body (%a: f32[]) {
    %b: f32[] = grad_map %a bwd (%g: f32[]) { %c: f32[] = state_read {state="n"} ; %d: f32[] = mul %g, %c ; yield %d }
    %three: f32[] = const {value=3.0}
    %m: f32[] = mul %b, %three
    state_write %m {state="n"}
    %k: f32[] = state_read {state="n"}
    %e: f32[] = mul %b, %k
    yield %e
  }
  %z: f32[] = state_read {state="n"}
  %ten: f32[] = const {value=10.0}
  state_write %ten {state="n"}
  return %dx, %z
}
""")
    assert state_plan(module) == (("n",), ("n",))
    dx, z, n = StateInterpreter(module).run(None, 2.0, 100.0)
    # y = b * 3b, so dy/db = 6b = 12 at b = 2; the edit multiplies by n = 3 * 2.
    assert (dx, z, n) == (72.0, 6.0, 10.0)


def test_what_a_backward_block_writes_is_seen_by_what_comes_after() -> None:
    module = lifted_around_expansion(
        """
state @n: f32[]
func @f(%x: f32[]) -> (f32[], f32[]) {
  %y: f32[], %dx: f32[] = grad %x {wrt=[0]} body (%a: f32[]) {
    %b: f32[] = custom_vjp %a fwd (%u: f32[]) { %v: f32[] = mul %u, %u ; yield %v }
      bwd (%u: f32[], %o: f32[], %g: f32[]) {
      %c: f32[] = state_read {state="n"}
      %d: f32[] = add %c, %g
      state_write %d {state="n"}
      yield %d
    }
    yield %b
  }
  %z: f32[] = state_read {state="n"}
  return %dx, %z
}
""".replace("}\n      bwd", "} bwd")
    )
    dx, z, n = StateInterpreter(module).run(None, 2.0, 100.0)
    assert (dx, z, n) == (101.0, 101.0, 101.0)


def test_the_derivative_of_a_state_that_a_loop_changes() -> None:
    """w := w * x, three times; the result w * x**3 has the derivatives 3 w x**2 and x**3."""
    module = lifted_around_expansion("""
state @w: f32[]
func @f(%x: f32[]) -> (f32[], f32[], f32[]) {
  %y: f32[], %dx: f32[], %dw: f32[] = grad %x {wrt=[0], wrt_states=["w"]} body (%a: f32[]) {
    %n: i64[] = const {value=3}
    scan %n () body (%i) {
      %w: f32[] = state_read {state="w"}
      %v: f32[] = mul %w, %a
      state_write %v {state="w"}
      yield
    }
    %r: f32[] = state_read {state="w"}
    yield %r
  }
  return %y, %dx, %dw
}
""")
    y, dx, dw, w = StateInterpreter(module).run(None, 2.0, 5.0)
    assert (y, dx, dw, w) == (40.0, 60.0, 8.0, 40.0)


SECOND = """
state @n: f32[]
func @f(%x: f32[]) -> (f32[]) {
  %y: f32[], %d: f32[] = grad %x {wrt=[0]ASKED} body (%a: f32[]) {
    %z: f32[], %e: f32[] = grad %a {wrt=[0]} body (%b: f32[]) {
      %c: f32[] = grad_map %b bwd (%g: f32[]) {
        %s: f32[] = state_read {state="n"}
        %t: f32[] = mul %g, %s
        state_write %t {state="n"}
        yield %t
      }
      %q: f32[] = mul %c, %c
      yield %q
    }
    %m: f32[] = state_read {state="n"}
    %r: f32[] = add %e, %m
    yield %r
  }
  return %d
}
"""


def test_a_second_derivative_passes_through_a_state_that_the_first_changes() -> None:
    """With c = x the inner gradient is e = 2cn, which n becomes; r = e + n = 4cn, so dr/dc is 4n, and the edit of c
    multiplies it by the n of that time, 2cn."""
    module = lifted_around_expansion(SECOND.replace("ASKED", ""))
    d, n = StateInterpreter(module).run(None, 3.0, 5.0)
    assert (d, n) == (4 * 5 * (2 * 3 * 5), 4 * 5 * (2 * 3 * 5))


def test_a_second_derivative_by_a_state_that_the_first_changes_is_refused() -> None:
    text = SECOND.replace("ASKED", ', wrt_states=["n"]').replace(
        "%d: f32[] = grad %x", "%d: f32[], %k: f32[] = grad %x"
    )
    with pytest.raises(NotDifferentiableError, match="second derivative is asked of the state n"):
        PASSES["lift_state"](parse_module(text))
