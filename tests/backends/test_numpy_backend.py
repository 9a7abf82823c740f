"""What generated modules look like, and how structured ops run in them."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import bfloat16, float32
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import F
from autodiff_compiler.source import Loc
from tests.backends.programs import LOOP, NESTED, SQUARE, V4, X4, built, compiled


def body(program):
    """The statements of the entry, without comments."""
    tree = ast.parse(program.source)
    return [ast.unparse(s) for s in tree.body[-1].body]


# ------------------------------------------------------------------------------------------------ the text
def test_small_formulas_are_nested_and_large_ones_reuse_buffers():
    small = NumpyBackend().compile(built([V4], lambda b, x: [F.tanh(x * 2.0 + 1.0)], ["x"]))
    assert body(small)[-1] == "return (tanh,)"
    assert "out=" not in small.source

    def build(b, x):
        y = F.tanh(F.exp(x) + 1.0)
        y.name = "y"
        return [y]

    large = NumpyBackend().compile(built([SQUARE], build, ["x"]))
    assert body(large) == ["y = np.exp(x)", "y = np.add(y, 1.0, out=y)", "y = np.tanh(y, out=y)", "return (y,)"]
    x = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    np.testing.assert_array_equal(large(x)[0], np.tanh(np.exp(x) + np.float32(1)))


def test_the_users_line_stands_beside_every_statement(tmp_path):
    file = tmp_path / "net.py"
    file.write_text("def f(x):\n    h = x * 2\n    return tanh(h)\n")

    def build(b, x):
        b.loc = Loc(str(file), 2, 4)
        h = x * 2.0
        b.loc = Loc(str(file), 3, 4, tag="adjoint")
        return [F.tanh(h)]

    source = NumpyBackend().compile(built([V4], build)).source
    assert "# net.py:2: h = x * 2\n" in source
    assert "# net.py:3 adjoint: return tanh(h)\n" in source


def test_names_come_from_the_program_and_never_collide():
    def build(b, x, y, z, w):
        b.block.args[0].name = "lambda"
        total = x + y
        total.name = "np"
        again = total * z
        again.name = "f"  # the function's own name: nothing calls it
        last = again - w
        last.name = "sum"
        return [last, total]

    program = NumpyBackend().compile(built([V4] * 4, build, ["a.b", "a_b", "1", "d"]))
    np.testing.assert_array_equal(program(X4, X4, X4, X4)[0], 2 * X4 * X4 - X4)


def test_a_broadcast_is_left_to_numpy():
    def build(b, x, y):
        z = F.broadcast_to(y, shape=(2, 64, 64))
        return [F.broadcast_to(y, shape=(64, 64)) * x, F.sum(z, axes=(-3, -1))]

    program = NumpyBackend().compile(built([SQUARE, tensor(float32, (64,))], build, ["x", "y"]))
    assert "np.multiply(y, x)" in program.source
    y = np.arange(64, dtype=np.float32)
    a, b = program(np.ones((64, 64), np.float32), y)
    np.testing.assert_array_equal(a, np.tile(y, (64, 1)))
    np.testing.assert_array_equal(b, np.full(64, 2 * y.sum()))


def test_indices_are_written_as_indices():
    def build(b, x):
        part = F.slice(x, axes=(-2, -1), starts=(3, 1), stops=(-1, 3), steps=(-1, 1))
        return [F.expand_dims(part, axes=(-2,)) * 2.0, F.slice(x, axes=(-2,), starts=(0,), stops=(0,), steps=(1,))]

    program = NumpyBackend().compile(built([tensor(float32, (4, 4))], build, ["x"]))
    assert body(program)[:2] == ["slice_1 = x[3::-1, 1:3]", "expand_dims = slice_1[:, None]"]
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(program(x)[0], 2 * x[::-1, None, 1:3])
    assert program(x)[1].shape == (0, 4)


def test_places_that_nobody_reads_are_not_found():
    program = NumpyBackend().compile(built([tensor(float32, (4, 4))], lambda b, x: [F.cummax(x, axis=-2)[0]], ["x"]))
    assert "np.maximum.accumulate(x, axis=-2)" in program.source
    x = np.random.default_rng(0).random((4, 4), np.float32)
    np.testing.assert_array_equal(program(x)[0], np.maximum.accumulate(x, 0))


def test_operands_smaller_than_the_result_are_stretched():
    program = compiled("""
func @f(%x: f32[]) -> (f32[2,3], f32[2,3]) {
  %y: f32[2,3] = broadcast_to %x {shape=[2,3]}
  %c: f32[2,3] = const {value=2.0}
  %z: f32[2,3] = mul %y, %c
  %t: f32[2,3] = tanh %c
  return %z, %t
}""")
    z, t = program(np.float32(3))
    np.testing.assert_array_equal(z, np.full((2, 3), 6, np.float32))
    np.testing.assert_array_equal(t, np.full((2, 3), np.tanh(np.float32(2))))


def test_results_are_arrays_that_belong_to_the_caller():
    program = compiled(
        """
constant @c0: f32[4]
func @f(%x: f32[4], %s: f32[]) -> (f32[4], f32[4], f32[4], f32[], f32[2,2], f32[4]) {
  %c: f32[4] = const {value="@c0"}
  %y: f32[4] = mul %x, %x
  %r: f32[2,2] = reshape %y {shape=[2,2]}
  return %x, %c, %y, %s, %r, %y
}""",
        constants={"c0": X4.copy()},
    )
    x, s = X4.copy(), np.array(2, np.float32)
    results = program(x, s)
    assert all(isinstance(r, np.ndarray) for r in results)
    for r in results:
        r[...] = 7
    np.testing.assert_array_equal(x, X4)
    assert s == 2
    again = program(x, s)
    np.testing.assert_array_equal(again[1], X4)
    np.testing.assert_array_equal(again[2], X4 * X4)
    np.testing.assert_array_equal(again[4].ravel(), X4 * X4)


def test_numbers_keep_their_dtype():
    def build(b, x):
        half = b.const(0.1, tensor(bfloat16, (4,)))
        return [x * half, F.select(F.less(x, half), half, x), b.const(-0.0, x.type), b.const(float("nan"), V4)]

    program = NumpyBackend().compile(built([tensor(bfloat16, (4,))], build))
    x = X4.astype(bfloat16.numpy)
    tenth = bfloat16.numpy.type(0.1)
    product, chosen, zero, nan = program(x)
    assert [r.dtype for r in (product, chosen, zero)] == [bfloat16.numpy] * 3
    np.testing.assert_array_equal(product, x * tenth)
    np.testing.assert_array_equal(chosen, np.where(x < tenth, tenth, x))
    assert np.signbit(zero.astype(np.float32)).all()
    assert np.isnan(nan).all()
    assert nan.dtype == np.float32


# ------------------------------------------------------------------------------------------------ structured ops
@pytest.mark.parametrize("trips", [0, 1, 3, 200])
def test_while_and_reverse_scan(trips):
    k, y, r, s = compiled(LOOP)(X4, np.array(trips))
    states = [X4]
    for _ in range(trips):
        states.append(np.tanh(states[-1]))
    assert k == trips
    np.testing.assert_array_equal(y, states[-1])
    np.testing.assert_array_equal(r, np.array(states[:-1], np.float32).reshape(trips, 4))
    expected = np.float32(0)
    for j in reversed(range(trips)):
        expected += np.sum(states[j]) * np.float32(j)
    np.testing.assert_array_equal(s, expected)


def test_a_loop_is_readable():
    source = compiled(LOOP).source
    for line in ("while i < n:", "r[k] = c", "c = np.tanh(c)", "for j in range((k_1 - 1), -1, -1):", "e = r[j]"):
        assert f" {line}" in source, line


@pytest.mark.parametrize("n", [-3, 0, 2])
def test_scan_of_negative_and_no_trips(n):
    program = compiled("""
func @f(%n: i64[], %x: f32[]) -> (f32[], seq<f32[]>, seq<i64[]>) {
  %c9: f32[], %ys: seq<f32[]>, %is: seq<i64[]> = scan %n (%c = %x) body (%i) {
    %d: f32[] = add %c, %c
    yield %d ; %c, %i
  }
  return %c9, %ys, %is
}""")
    c, ys, indices = program(np.array(n), np.float32(1))
    assert c == 2.0 ** max(n, 0)
    assert ys.tolist() == [2.0**i for i in range(n)]
    assert indices.tolist() == list(range(n))
    assert ys.dtype == np.float32


def test_carries_change_places():
    program = compiled("""
func @f(%n: i64[], %a: f32[4], %b: f32[4], %c: f32[4]) -> (f32[4], f32[4], f32[4]) {
  %p: f32[4], %q: f32[4], %r: f32[4] = scan %n (%x = %a, %y = %b, %z = %c) body (%i) {
    %t: f32[4] = add %x, %y
    yield %y, %z, %t
  }
  return %p, %q, %r
}""")
    a, b, c = X4, X4 + 1, X4 + 2
    expected = [a, b, c]
    for _ in range(5):
        expected = [expected[1], expected[2], expected[0] + expected[1]]
    for got, e in zip(program(np.array(5), a, b, c), expected, strict=True):
        np.testing.assert_array_equal(got, e)


def test_undef_holds_no_bytes():
    program = compiled("""
func @f(%p: bool[], %x: f32[4]) -> (f32[4]) {
  %y: f32[4], %saved: f32[4] = if %p then {
    %t: f32[4] = tanh %x
    yield %t, %t
  } else {
    %u: f32[4] = undef
    yield %x, %u
  }
  %z: f32[4] = if %p then {
    %g: f32[4] = mul %saved, %y
    yield %g
  } else { yield %y }
  return %z
}""")
    np.testing.assert_array_equal(program(np.array(True), X4)[0], np.tanh(X4) * np.tanh(X4))
    np.testing.assert_array_equal(program(np.array(False), X4)[0], X4)
    assert "saved = None" in program.source


@pytest.mark.parametrize("reverse", [False, True])
def test_sequences_of_sequences(reverse):
    """Row i holds i states; a loop that runs backwards fills the rows from the end."""
    n = 6
    total, rows, count = compiled(NESTED.replace("OUTER", "{reverse=True}" if reverse else ""))(np.array(n), X4)
    state, expected = X4, [[] for _ in range(n)]
    for i in reversed(range(n)) if reverse else range(n):
        for _ in range(i):  # its own loop runs backwards too
            expected[i].insert(0, state)
            state = np.tanh(state)
    assert count == n
    for i in range(n):
        np.testing.assert_array_equal(rows[i], np.array(expected[i], np.float32).reshape(-1, 4))
    acc = np.float32(0)
    for i in reversed(range(n)):
        for element in expected[i]:
            acc += np.sum(element)
    np.testing.assert_array_equal(total, acc)


def test_tensors_and_sequences_are_the_same_bytes():
    program = compiled("""
func @f(%x: f32[3,4]) -> (f32[3,4]) {
  %n: i64[] = const {value=3}
  %xs: seq<f32[4]> = to_seq %x
  %ys: seq<f32[4]> = scan %n (; %e = %xs) body (%i) {
    %y: f32[4] = mul %e, %e
    yield ; %y
  }
  %both: seq<f32[4]> = seq_add %xs, %ys
  %z: f32[3,4] = from_seq %both {length=3}
  return %z
}""")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(program(x)[0], x + x * x)


def test_tuples_through_branches_and_loops():
    program = compiled("""
func @f(%p: bool[], %n: i64[], %x: f32[4], %y: f32[4]) -> (f32[4], f32[4]) {
  %t: (f32[4], f32[4]) = tuple_make %x, %y
  %u: (f32[4], f32[4]) = if %p then { yield %t } else {
    %v: (f32[4], f32[4]) = tuple_make %y, %x
    yield %v
  }
  %w: (f32[4], f32[4]), %ts: seq<(f32[4], f32[4])> = scan %n (%c = %u) body (%i) {
    %a: f32[4] = tuple_get %c {index=0}
    %b: f32[4] = tuple_get %c {index=1}
    %d: f32[4] = add %a, %b
    %e: (f32[4], f32[4]) = tuple_make %b, %d
    yield %e ; %c
  }
  %z0: f32[4] = const {value=0.0}
  %z: f32[4] = scan %n (%acc = %z0 ; %el = %ts) body (%i2) {
    %g: f32[4] = tuple_get %el {index=1}
    %h: f32[4] = add %acc, %g
    yield %h
  }
  %r: f32[4] = tuple_get %w {index=0}
  return %r, %z
}""")
    for first, second in ((X4, X4 + 1), (X4 + 1, X4)):
        a, b, total = first, second, np.zeros(4, np.float32)
        for _ in range(3):
            total += b
            a, b = b, a + b
        r, z = program(np.array(first is X4), np.array(3), X4, X4 + 1)
        np.testing.assert_array_equal(r, a)
        np.testing.assert_array_equal(z, total)


def test_functions_call_each_other():
    program = compiled(
        """
func @main(%x: f32[64,64], %y: f32[64,64]) -> (f32[64,64], f32[64,64]) {
  %a: f32[64,64], %b: f32[64,64] = call @layer %x, %y {fn="@layer"}
  %s: f32[64,64] = add %a, %b
  %c: f32[64,64], %d: f32[64,64] = call @layer %s, %x {fn="@layer"}
  return %c, %d
}
func @layer(%p: f32[64,64], %q: f32[64,64]) -> (f32[64,64], f32[64,64]) {
  %m: f32[64,64] = mul %p, %q
  return %m, %p
}""".replace('{fn="@layer"}', "")
    )
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 64, 64)).astype(np.float32)
    c, d = program(x, y)
    np.testing.assert_array_equal(d, x * y + x)
    np.testing.assert_array_equal(c, (x * y + x) * x)


def test_a_program_of_thousands_of_statements():
    def build(b, x):
        for _ in range(3000):
            x = F.sin(x + x)
        return [x]

    expected = X4
    for _ in range(3000):
        expected = np.sin(expected + expected)
    np.testing.assert_array_equal(NumpyBackend().compile(built([V4], build))(X4)[0], expected)


def test_a_repeated_argument_that_is_a_result_is_the_callers_own():
    module = parse_module(
        "func @f(%r: f32[3]) -> (f32[2,3]) {\n"
        "  %0: f32[2,3] = broadcast_to %r {shape=[2,3]}\n"
        "  %1: (f32[2,3], f32[3]) = tuple_make %0, %r\n"
        "  %2: f32[2,3] = tuple_get %1 {index=0}\n"
        "  return %2\n}\n"
    )
    r = np.arange(3, dtype=np.float32)
    (found,) = NumpyBackend().compile(module)(r)
    found[0, 0] = 7
    np.testing.assert_array_equal(found, [[7, 1, 2], [0, 1, 2]])
    np.testing.assert_array_equal(r, [0, 1, 2])


def test_no_new_dimension_of_a_scalar_is_an_array_without_dimensions():
    module = parse_module("func @f(%x: f32[]) -> (f32[]) { %y: f32[] = expand_dims %x {axes=[]} ; return %y }")
    (result,) = NumpyBackend().compile(module)(np.array(3.0, np.float32))
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result == 3
