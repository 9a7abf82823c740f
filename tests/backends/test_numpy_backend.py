"""What generated modules look like, and how they run: structured ops, effects, constants, saved files, tracebacks."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
import traceback
import tracemalloc

import numpy as np
import pytest

from autodiff_compiler.backends.base import Executable
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import bfloat16, float32, float64, int64
from autodiff_compiler.errors import InternalCompilerError
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import F
from autodiff_compiler.source import Loc

V4, SQUARE = tensor(float32, (4,)), tensor(float32, (64, 64))
X4 = np.array([0.5, -1.0, 2.0, 3.0], np.float32)


def compiled(text, **bound):
    module = parse_module(text)
    module.constants.update(bound.get("constants", {}))
    module.callables.update(bound.get("callables", {}))
    return NumpyBackend().compile(module)


def built(types, build, names=None):
    with Builder(Block(types, names)) as b:
        b.ret(*build(b, *b.block.args))
    module = b.module
    module.functions["f"] = Function("f", b.block)
    return module


def body(program):
    """The statements of the entry, without comments."""
    tree = ast.parse(program.source)
    return [ast.unparse(s) for s in tree.body[-1].body]


def run_alone(folder, code):
    """What the code prints in a fresh interpreter that does not see this package."""
    code = textwrap.dedent(code)
    check = "assert not {'autodiff_compiler', 'scipy'} & sys.modules.keys()"
    whole = f"import sys; sys.path.insert(0, {str(folder)!r})\nimport numpy as np\n{code}\n{check}"
    done = subprocess.run([sys.executable, "-I", "-c", whole], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


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


def test_many_dtypes_in_one_program_load_again(tmp_path):
    """A constant too large for the text, at a dtype the .npz format does not know."""
    big = np.arange(200, dtype=np.float32).astype(bfloat16.numpy)

    def build(b, x):
        return [x + b.array(big, tensor(bfloat16, (200,))), b.array(np.array([1, 2]), tensor(int64, (2,)))]

    program = NumpyBackend().compile(built([tensor(bfloat16, (200,))], build))
    np.testing.assert_array_equal(program(big)[0], big + big)
    path = tmp_path / "saved.py"
    program.save(path)
    printed = run_alone(
        tmp_path,
        """
        import ml_dtypes, saved
        a, b = saved.f(np.ones(200, ml_dtypes.bfloat16))
        assert a.dtype == ml_dtypes.bfloat16
        print(float(a[3]), b.tolist())""",
    )
    assert printed == "4.0 [1, 2]"


# ------------------------------------------------------------------------------------------------ structured ops
LOOP = """
func @f(%x: f32[4], %n: i64[]) -> (i64[], f32[4], seq<f32[4]>, f32[]) {
  %zero: i64[] = const {value=0}
  %one: i64[] = const {value=1}
  %k: i64[], %i9: i64[], %y: f32[4], %r: seq<f32[4]> = while (%i = %zero, %c = %x) cond {
    %p: bool[] = less %i, %n
    yield %p
  } body {
    %i2: i64[] = add %i, %one
    %t: f32[4] = tanh %c
    yield %i2, %t ; %c
  }
  %s0: f32[] = const {value=0.0}
  %s: f32[] = scan %k (%acc = %s0 ; %e = %r) {reverse=True} body (%j) {
    %q: f32[] = sum %e {axes=[-1]}
    %weight: f32[] = cast %j {dtype=f32}
    %m: f32[] = mul %q, %weight
    %a2: f32[] = add %acc, %m
    yield %a2
  }
  return %k, %y, %r, %s
}
"""


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


NESTED = """
func @f(%n: i64[], %x: f32[4]) -> (f32[], seq<seq<f32[4]>>, i64[]) {
  %zero: i64[] = const {value=0}
  %c9: f32[4], %m: seq<i64[]>, %rs: seq<seq<f32[4]>> = scan %n (%c = %x) OUTER body (%i) {
    %d9: f32[4], %r: seq<f32[4]> = scan %i (%d = %c) {reverse=True} body (%j) {
      %e: f32[4] = tanh %d
      yield %e ; %d
    }
    yield %d9 ; %i, %r
  }
  %s0: f32[] = const {value=0.0}
  %s: f32[] = scan %n (%acc = %s0 ; %row = %rs, %len = %m) {reverse=True} body (%k) {
    %t: f32[] = scan %len (%a = %acc ; %el = %row) body (%l) {
      %q: f32[] = sum %el {axes=[-1]}
      %b: f32[] = add %a, %q
      yield %b
    }
    yield %t
  }
  %count: i64[] = seq_len %rs
  return %s, %rs, %count
}
"""


@pytest.mark.parametrize("reverse", [False, True])
def test_sequences_of_sequences(reverse):
    """Row i holds i states; a loop that runs backwards fills the rows from the end."""
    n = 6
    total, rows, count = compiled(NESTED.replace("OUTER", "{reverse=True}" if reverse else ""))(np.array(n), X4)
    state, expected = X4, [[] for _ in range(n)]
    for i in reversed(range(n)) if reverse else range(n):
        for j in reversed(range(i)):
            expected[i].insert(0, state)
            state = np.tanh(state)
            del j
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


def test_deep_nesting_and_long_code_compile_in_linear_time():
    def build(b, x):
        for _ in range(3000):
            x = F.tanh(x + x)
        return [x]

    program = NumpyBackend().compile(built([V4], build))
    assert np.all(np.abs(program(X4)[0]) <= 1)


# ------------------------------------------------------------------------------------------------ effects
def test_effects_happen_in_order(capsys):
    kept = []

    def report(x, s):
        kept.append((x, s))
        return x * 2

    program = compiled(
        """
callable @report
func @f(%x: f32[4], %s: f32[]) -> (f32[4]) {
  %h: f32[4] = mul %x, %x
  print %h, %s {parts=["h", 0, "s", 1], sep=":", end="!\\n"}
  %r: f32[4] = host_call %h, %s {fn="report", types=[f32[4]]}
  print {parts=["done"]}
  %y: f32[4] = add %r, %h
  return %y
}""",
        callables={"report": report},
    )
    np.testing.assert_array_equal(program(X4, np.float32(2))[0], 3 * X4 * X4)
    assert capsys.readouterr().out == f"h:{X4 * X4}:s:2.0!\ndone\n"
    ((x, s),) = kept
    assert isinstance(s, np.ndarray)
    np.testing.assert_array_equal(x, X4 * X4)


def test_what_the_host_was_given_is_not_overwritten():
    kept = []

    def build(b, x):
        b.module.callables["keep"] = kept.append
        h = F.tanh(x)
        F.host_call(h, fn="keep", types=())
        return [F.exp(h)]

    program = NumpyBackend().compile(built([SQUARE], build))
    x = np.linspace(0, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    program(x)
    np.testing.assert_array_equal(kept[0], np.tanh(x))


def test_a_host_function_must_keep_its_promise():
    program = compiled(
        """
callable @half
func @f(%x: f32[4]) -> (f32[4]) {
  %r: f32[4] = host_call %x {fn="half", types=[f32[4]]}
  return %r
}""",
        callables={"half": lambda x: x[:2]},
    )
    with pytest.raises(TypeError, match=r"half is float32\[2\], it promised float32\[4\]"):
        program(X4)


RAISING = """
callable @too_big
func @f(%x: f32[], %limit: f32[]) -> (f32[]) {
  %p: bool[] = less %x, %limit
  assert %p, %x {exception="too_big"}
  %q: bool[] = less %limit, %x
  %y: f32[] = if %q then {
    raise %x {exception="too_big"}
    %u: f32[] = undef
    yield %u
  } else { yield %x }
  return %y
}"""


def test_raise_and_assert():
    program = compiled(RAISING, callables={"too_big": lambda x: ValueError(f"{x} is too big")})
    assert program(np.float32(1), np.float32(2)) == (1.0,)
    with pytest.raises(ValueError, match=r"3\.0 is too big"):
        program(np.float32(3), np.float32(2))


def test_a_traceback_shows_the_generated_line():
    program = compiled(RAISING, callables={"too_big": lambda x: ValueError("too big")})
    with pytest.raises(ValueError, match="too big") as caught:
        program(np.float32(3), np.float32(2))
    text = "".join(traceback.format_exception(caught.value))
    assert f'File "{program.filename}"' in text
    assert "raise CALLABLES['too_big'](np.asarray(x))" in text


def test_no_warning_where_numpy_would_warn():
    program = compiled("""
func @f(%x: f32[], %y: f32[]) -> (f32[], f32[]) {
  %q: f32[] = div %x, %y
  %l: f32[] = log %y
  return %q, %l
}""")
    assert [float(r) for r in program(np.float32(1), np.float32(0))] == [np.inf, -np.inf]


# ------------------------------------------------------------------------------------------------ the file
def test_a_saved_file_needs_numpy_only(tmp_path):
    """Large constants lie beside it; kernels and sequences of ours are printed into it."""
    program = compiled(
        """
constant @c0: f32[100]
func @f(%n: i64[]) -> (f32[100], f32[], i64[]) {
  %c0: f32[100] = const {value="@c0"}
  %last: i64[] = const {value=-1}
  %at: i64[] = check_index %last {size=100}
  %g: f32[] = gather %c0, %at {axis=-1}
  %rows: seq<seq<f32[]>> = scan %n () body (%i) {
    %row: seq<f32[]> = scan %i () body (%j) { yield ; %g }
    yield ; %row
  }
  %count: i64[] = seq_len %rows
  return %c0, %g, %count
}""",
        constants={"c0": np.arange(100, dtype=np.float32)},
    )
    program.save(tmp_path / "saved.py")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["saved.npz", "saved.py"]
    code = """
        import saved
        c, g, n = saved.f(np.array(4))
        print(c.sum(), g, n)"""
    assert run_alone(tmp_path, code) == "4950.0 99.0 4"


def test_a_program_is_an_executable():
    program = compiled(LOOP)
    assert isinstance(program, Executable)
    assert program.source.startswith('"""`f`, written by the NumPy backend')
    other = compiled(LOOP)
    assert other.filename != program.filename


def test_ops_of_earlier_stages_are_an_internal_error():
    text = """
func @f(%x: f32[4]) -> (f32[4]) {
  %y: f32[4] = grad_map %x bwd (%g: f32[4]) { yield %g }
  return %y
}"""
    with pytest.raises(InternalCompilerError, match="cannot run grad_map"):
        compiled(text)
    report = NumpyBackend().coverage(parse_module(text))
    assert not report.complete
    assert "grad_map: NOT COVERED" in str(report)
    assert NumpyBackend().coverage(parse_module(LOOP)).complete


# ------------------------------------------------------------------------------------------------ memory
def peak_of(run):
    run()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


#: What tracemalloc may see of arrays that grow, in bytes per byte needed.  While an array is extended, NumPy counts it
#: twice from 2.5 on: its allocator is Python's, whose hook counts the new size before NumPy takes back the old one.
GROWING = 1.25 if np.lib.NumpyVersion(np.__version__) < "2.5.0" else 2.25


@pytest.mark.parametrize("shape", [(), (16,), (200,)], ids=str)
def test_ten_thousand_trips_take_what_they_must(shape):
    """Values collected by a loop whose trip count is not known: at most `GROWING` times their bytes, and 256 KiB."""
    trips, t = 10_000, "f64[" + ",".join(map(str, shape)) + "]"
    program = compiled(LOOP.replace("f32[4]", t).replace("sum %e {axes=[-1]}", "const {value=1.0}"))
    x = np.full(shape, 0.5)
    needed = trips * x.nbytes
    assert peak_of(lambda: program(x, np.array(trips))) <= GROWING * needed + 2**18


def test_nested_loops_take_what_they_must():
    program = compiled(NESTED.replace("OUTER", ""))
    needed = sum(range(300)) * X4.nbytes
    assert peak_of(lambda: program(np.array(300), X4)) <= GROWING * needed + 2**18


def test_a_chain_of_large_ops_needs_few_buffers():
    def build(b, x):
        for _ in range(30):
            x = F.tanh(F.sin(x) + F.exp(x) * 0.5)
        return [x]

    module = built([tensor(float64, (512, 512))], build)
    x = np.zeros((512, 512))
    assert peak_of(lambda: NumpyBackend().compile(module) and None) < 2**24
    program = NumpyBackend().compile(module)
    assert peak_of(lambda: program(x)) <= 3.1 * x.nbytes


def test_an_accumulator_is_updated_in_place():
    """Adding to one row per trip must not copy the whole array per trip."""
    text = """
func @f(%n: i64[], %x: f32[1000,256], %u: f32[256]) -> (f32[1000,256]) {
  %y: f32[1000,256] = scan %n (%c = %x) body (%i) {
    %d: f32[1000,256] = scatter_add %c, %i, %u {axis=-2}
    yield %d
  }
  return %y
}"""
    program = compiled(text)
    x, u = np.zeros((1000, 256), np.float32), np.ones(256, np.float32)
    (y,) = program(np.array(900), x, u)
    np.testing.assert_array_equal(y.sum(axis=1), np.where(np.arange(1000) < 900, 256, 0))
    assert not x.any()
    # The argument is not ours: one copy before the loop, one of the result for the caller at most.
    assert peak_of(lambda: program(np.array(900), x, u)) <= 2.1 * x.nbytes
    assert "_scatter_add_into(" in program.source
