"""What the adjoint of control flow saves, shares and computes again."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.autodiff import remat
from autodiff_compiler.ir.primitive import COSTLY, REGISTRY
from autodiff_compiler.ir.types import Seq
from autodiff_compiler.ir.walk import count_ops, ops_of
from tests.autodiff.derivatives import check_orders, directional, expanded, parsed
from tests.autodiff.interpreter import Interpreter, run


def ops_named(module, name):
    return [op for f in module for op in ops_of(f.body) if op.defn.name == name]


def pushed(text, *args):
    """How many numbers the first derivative saves from trip to trip."""
    module = parsed(text)
    check_orders(module, args, orders=2)
    interpreter = Interpreter(expanded(directional(module, 1)))
    interpreter.run(None, *args)
    return interpreter.pushed


def loop(body, out, carries="%c = %x"):
    return f"""func @f(%x: f64[], %w: f64[], %n: i64[]) -> (f64[]) {{
      %r: f64[] = scan %n ({carries}) body (%i) {{ {body}; yield {out} }}
      return %r
    }}"""


N = 20


@pytest.mark.parametrize(
    ("body", "out"),
    [
        ("%m: f64[] = mul %c, %w; %t: f64[] = tanh %m", "%t"),
        ("%m: f64[] = mul %c, %w; %t: f64[] = sin %m; %s: f64[] = add %t, %c", "%s"),
        ("%m: f64[] = mul %c, %w; %e: f64[] = exp %m; %k: f64[] = const {value=0.1}; %s: f64[] = mul %e, %k", "%s"),
        ("%k: f64[] = cast %i {dtype=f64}; %m: f64[] = mul %c, %k; %t: f64[] = tanh %m; %s: f64[] = mul %t, %w", "%s"),
    ],
)
def test_one_number_per_trip(body, out):
    # The cotangent needs c (for w) and tanh or the like of c * w, which c and w tell.
    assert pushed(loop(body, out), 0.3, 0.7, N) == N


def test_nothing_is_saved_where_the_adjoint_needs_nothing():
    assert pushed(loop("%m: f64[] = add %c, %w; %k: f64[] = neg %m", "%k"), 0.3, 0.7, N) == 0


def test_values_from_around_the_loop_are_not_saved_per_trip():
    text = """func @f(%x: f64[], %w: f64[], %n: i64[]) -> (f64[]) {
      %v: f64[] = sin %w
      %r: f64[] = scan %n (%c = %x) body (%i) { %m: f64[] = mul %v, %c; yield %m }
      return %r
    }"""
    assert pushed(text, 0.3, 0.7, N) == N  # c only


def test_an_expensive_carry_is_saved_once_for_both_its_trips():
    # h' = tanh(h @ w): the adjoint needs h and h'; one is the other of the next trip.
    text = """func @f(%x: f64[1,3], %w: f64[3,3], %n: i64[]) -> (f64[]) {
      %r: f64[1,3] = scan %n (%h = %x) body (%i) { %m: f64[1,3] = matmul %h, %w; %t: f64[1,3] = tanh %m; yield %t }
      %s: f64[] = sum %r {axes=[-2,-1]}
      return %s
    }"""
    rng = np.random.default_rng(1)
    assert pushed(text, rng.normal(size=(1, 3)), rng.normal(size=(3, 3)), N) == 3 * N


def test_the_small_side_of_a_broadcast_is_saved():
    text = """func @f(%x: f64[4], %w: f64[], %n: i64[]) -> (f64[]) {
      %r: f64[4], %s: f64[] = scan %n (%c = %x, %d = %w) body (%i) {
        %e: f64[] = sin %d
        %b: f64[4] = broadcast_to %e {shape=[4]}
        %m: f64[4] = mul %c, %b
        yield %m, %e
      }
      %t: f64[] = sum %r {axes=[-1]}
      return %t
    }"""
    assert pushed(text, np.arange(4.0), 0.7, N) == 5 * N  # c and d: b is computed again


def test_a_sequence_that_exists_is_used_again():
    text = """func @f(%x: f64[], %n: i64[]) -> (f64[]) {
      %r: f64[], %ys: seq<f64[]> = scan %n (%c = %x) body (%i) { %t: f64[] = exp %c; %u: f64[] = neg %t; yield %u ; %t }
      %q: f64[] = scan %n (%d = %r ; %y = %ys) body (%j) { %m: f64[] = sin %y; %a: f64[] = add %d, %m; yield %a }
      return %q
    }"""
    module = parsed(text)
    check_orders(module, (0.3, N), orders=2)
    derivative = expanded(directional(module, 1))
    # exp' needs t, sin' needs y: both are the sequence that the program collects itself.
    assert [r.type for op in ops_named(derivative, "scan")[:2] for r in op.results if isinstance(r.type, Seq)] == [
        ops_named(parsed(text), "scan")[0].results[1].type
    ]


def test_a_dead_carry_drags_no_sequence():
    text = """func @f(%x: f64[], %w: f64[], %n: i64[]) -> (f64[]) {
      %r: f64[], %dead: f64[] = scan %n (%c = %x, %d = %x) body (%i) {
        %m: f64[] = add %c, %w; %e: f64[] = mul %d, %d; %g: f64[] = sin %e; yield %m, %g
      }
      return %r
    }"""
    assert pushed(text, 0.3, 0.7, N) == 0


def test_only_the_asked_carry_is_followed():
    # d is live but nothing asked for depends on it: its adjoint is not built, and c stays unsaved.
    text = """func @f(%x: f64[], %k: f32[], %n: i64[]) -> (f64[]) {
      %one: f64[] = const {value=1.0}
      %r: f64[], %s: f64[] = scan %n (%c = %x, %d = %one) body (%i) {
        %m: f64[] = neg %c; %e: f64[] = sin %d; yield %m, %e
      }
      %o: f64[] = mul %r, %s
      return %o
    }"""
    module = parsed(text)
    derivative = expanded(directional(module, 1))
    backward = ops_named(derivative, "scan")[-1]
    assert backward.attr("carries") == 1
    assert not ops_named(derivative, "cos")


def test_the_arms_of_an_if_share_what_they_save():
    text = """func @f(%x: f64[], %p: bool[], %w: f64[4]) -> (f64[]) {
      %r: f64[] = if %p
        then { %a: f64[4] = broadcast_to %x {shape=[4]}; %b: f64[4] = mul %a, %w; %s: f64[] = sum %b {axes=[-1]}
               %t: f64[] = sin %s; yield %t }
        else { %c: f64[] = sum %w {axes=[-1]}; %d: f64[] = mul %c, %c; %e: f64[] = mul %d, %x; yield %e }
      return %r
    }"""
    module = parsed(text)
    derivative = expanded(directional(module, 1))
    forward, backward = ops_named(derivative, "if")
    assert len(forward.results) == 2
    assert not ops_named(derivative, "undef")
    assert forward.results[1] in {x for block in backward.blocks for op in ops_of(block) for x in op.operands}
    for p in (True, False):
        check_orders(module, (0.3, p, np.arange(4.0)), orders=3)


def test_what_one_arm_alone_saves_is_undefined_in_the_other():
    text = """func @f(%x: f64[2,2], %p: bool[]) -> (f64[]) {
      %r: f64[2,2] = if %p
        then { %a: f64[2,2] = matmul %x, %x; %t: f64[2,2] = tanh %a; %m: f64[2,2] = matmul %t, %t; yield %m }
        else { yield %x }
      %s: f64[] = sum %r {axes=[-2,-1]}
      return %s
    }"""
    module = parsed(text)
    forward = ops_named(expanded(directional(module, 1)), "if")[0]
    assert [x.made_by("undef") for x in forward.blocks[0].outs] == [False, False]
    assert [x.made_by("undef") for x in forward.blocks[1].outs] == [False, True]
    for p in (True, False):
        check_orders(module, (np.array([[0.3, -0.2], [0.5, 0.1]]), p), orders=3)


def test_computing_again_changes_no_bit(monkeypatch):
    module = parsed(loop(
        "%m: f64[] = mul %c, %w; %e: f64[] = exp %m; %t: f64[] = tanh %e; %s: f64[] = mul %t, %e", "%s"
    ))  # fmt: skip
    args = (0.3, 0.7, N)
    again = expanded(directional(module, 1))
    monkeypatch.setattr(remat, "BUDGET", -1)
    saved = expanded(directional(module, 1))
    counts = []
    for derivative in (again, saved):
        interpreter = Interpreter(derivative)
        counts.append((interpreter.run(None, *args)[0].tobytes(), interpreter.pushed))
    assert counts[0][0] == counts[1][0]
    assert counts[0][1] == N < counts[1][1]


def test_what_is_computed_again_has_the_name_of_the_first_time():
    """A constant has none; and the argument of the adjoint that stands for a saved value has that value's."""
    module = parsed(loop(
        "%m: f64[] = mul %c, %w; %k: f64[] = const {value=0.5}; %h: f64[] = mul %m, %k; %e: f64[] = exp %h; "
        "%t: f64[] = tanh %e; %s: f64[] = mul %t, %e", "%s"
    ))  # fmt: skip
    made = [op for function in expanded(directional(module, 1)) for op in ops_of(function.body)]
    named = {(op.defn.name, r.name) for op in made for r in op.results if (r.name or "").startswith("again")}
    assert named == {("mul", "again_m"), ("mul", "again_h"), ("exp", "again_e"), ("tanh", "again_t")}
    assert "was_c" in [a.name for op in made for block in op.blocks for a in block.args]


def test_recomputed_chains_are_bounded():
    # The adjoint needs all 100 values; each follows from the one before, but nobody wants 100 exps in a row again.
    body = "".join(f"%a{i + 1}: f64[] = exp %a{i};" for i in range(100)).replace("%a0", "%c")
    forward = ops_named(expanded(directional(parsed(loop(body, "%a100")), 1)), "scan")[0]
    saved = sum(isinstance(r.type, Seq) for r in forward.results)
    assert saved == 100 // (1 + remat.BUDGET // COSTLY)


def test_the_declared_cost_of_an_op_decides_whether_it_runs_again(monkeypatch):
    module = parsed(loop("%e: f64[] = sin %c; %t: f64[] = abs %e; %s: f64[] = mul %t, %t", "%s"))

    def runs_of_abs():
        scans = ops_named(expanded(directional(module, 1)), "scan")
        return [any(op.defn.name == "abs" for op in ops_of(scan.blocks[0])) for scan in scans]

    assert runs_of_abs() == [True, True]
    monkeypatch.setattr(REGISTRY["abs"], "cost", None)
    assert runs_of_abs() == [True, False]


def test_size_is_linear_in_sequential_ifs():
    def size(n):
        body = "".join(
            f"%q{i}: bool[] = less %y{i}, %w; %y{i + 1}: f64[] = if %q{i} "
            f"then {{ %a{i}: f64[] = mul %y{i}, %w; yield %a{i} }} else {{ %b{i}: f64[] = sin %y{i}; yield %b{i} }};"
            for i in range(n)
        ).replace("%y0", "%x")
        module = parsed(f"func @f(%x: f64[], %w: f64[]) -> (f64[]) {{ {body} return %y{n} }}")
        return [count_ops(expanded(directional(module, order)).entry) for order in (1, 2)]

    (small1, small2), (middle1, middle2), (large1, large2) = size(12), size(24), size(48)
    assert large1 - middle1 == 2 * (middle1 - small1)
    assert large2 - middle2 == 2 * (middle2 - small2)
    assert small1 < 12 * 20


def test_size_is_linear_in_nesting():
    def nest(depth):
        body = f"%m{depth}: f64[] = mul %c{depth}, %w; %t{depth}: f64[] = sin %m{depth}; "
        if depth == 0:
            return body, "%t0"
        inner, out = nest(depth - 1)
        head = f"%r{depth}: f64[] = scan %n (%c{depth - 1} = %t{depth}) body (%i{depth})"
        return f"{body} {head} {{ {inner}; yield {out} }}; %q{depth}: f64[] = mul %r{depth}, %c{depth}", f"%q{depth}"

    def size(depth, order):
        body, out = nest(depth)
        module = parsed(f"func @f(%c{depth}: f64[], %w: f64[], %n: i64[]) -> (f64[]) {{ {body}; return {out} }}")
        if depth == 3:
            check_orders(module, (0.4, 0.9, 2), orders=3)
        return count_ops(expanded(directional(module, order)).entry)

    for order in (1, 2, 3):
        sizes = [size(depth, order) for depth in (3, 4, 5, 6)]
        steps = np.diff(sizes)
        assert steps.max() <= steps.min() * 1.1 + 4, sizes


def test_calls_of_one_function_share_one_pair():
    text = """func @f(%x: f64[], %w: f64[]) -> (f64[]) {
      %a: f64[] = call @g %x, %w; %b: f64[] = call @g %a, %w; %c: f64[] = call @g %b, %w
      return %c
    }
    func @g(%x: f64[], %w: f64[]) -> (f64[]) { %m: f64[] = mul %x, %w; %t: f64[] = tanh %m; return %t }"""
    module = parsed(text)
    derivative = expanded(directional(module, 1))
    assert sorted(derivative.functions) == ["g.bwd", "g.fwd", "main"]
    assert [op.attrs[0] for op in ops_named(derivative, "call")] == ["@g.fwd"] * 3 + ["@g.bwd"] * 3
    # tanh(x * w) is the result and x, w are arguments: nothing more is returned.
    assert len(derivative.functions["g.fwd"].outs) == 1
    check_orders(module, (0.3, 0.7), orders=3)


def test_a_call_with_other_active_arguments_gets_a_pair_of_its_own():
    text = """func @f(%x: f64[], %k: f64[]) -> (f64[]) {
      %y: f64[], %dx: f64[] = grad %x {wrt=[0]} body (%a: f64[]) {
        %b: f64[] = call @g %a, %k; %c: f64[] = call @g %k, %b; %d: f64[] = call @g %b, %c
        yield %d
      }
      return %dx
    }
    func @g(%x: f64[], %w: f64[]) -> (f64[]) { %m: f64[] = mul %x, %w; return %m }"""
    derivative = expanded(parsed(text))
    assert sorted(derivative.functions) == ["f", "g.bwd", "g.bwd.1", "g.bwd.2", "g.fwd", "g.fwd.1", "g.fwd.2"]
    assert len(derivative.functions["g.bwd"].outs) == 2
    # b = xk, c = kb, d = bc = k (xk)**2
    assert float(run(derivative, 0.3, 0.7)[0]) == pytest.approx(2 * 0.3 * 0.7**3)
