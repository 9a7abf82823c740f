"""Effects keep their order; a generated module is a file that debuggers see and users can keep."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import traceback

import numpy as np
import pytest

from autodiff_compiler.backends.base import Executable
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import bfloat16, int64
from autodiff_compiler.errors import InternalCompilerError
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import F
from tests.backends.programs import LOOP, SQUARE, X4, built, compiled


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
    assert sorted(p.name for p in tmp_path.iterdir()) == ["saved.py", "saved.py.npz"]
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


def run_alone(folder, code):
    """What the code prints in a fresh interpreter that does not see this package."""
    code = textwrap.dedent(code)
    check = "assert not {'autodiff_compiler', 'scipy'} & sys.modules.keys()"
    whole = f"import sys; sys.path.insert(0, {str(folder)!r})\nimport numpy as np\n{code}\n{check}"
    done = subprocess.run([sys.executable, "-I", "-c", whole], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


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
