"""Dumps are programs: the text of each stage, read back, computes what eager code computes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops, parse_ir
from autodiff_compiler.config import context
from autodiff_compiler.ir.parser import ParseError
from autodiff_compiler.runtime.trees import leaves
from tests.inspection.lowered_programs import PROGRAMS, some

STAGES = ("front", "adjoint", "opt", "plan")
BACKENDS = ("native", "numpy")


@pytest.fixture(params=BACKENDS)
def backend(request):
    before = context.backend
    context.set(backend=request.param)
    yield request.param
    context.set(backend=before)


def arrays_of(args):
    return [t.asnumpy() for t in leaves(args)]


def results(value):
    """What a call returned, as arrays in order."""
    items = value if isinstance(value, tuple | list) else (value,)
    return [np.asarray(x.asnumpy() if isinstance(x, Tensor) else x) for x in items]


def close(found, wanted):
    for f, w in zip(found, wanted, strict=False):  # behind the results stands what the call writes
        assert f.dtype == w.dtype
        assert f.shape == w.shape
        np.testing.assert_allclose(f, w, rtol=2e-5, atol=1e-6)
    assert len(found) >= len(wanted)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_stage_runs_as_eager_code_does(name, backend):
    program = PROGRAMS[name]()
    before = [p.asnumpy().copy() for p in program.parameters]
    artifact = program.fn.lower(*program.args)
    texts = {stage: artifact.ir(stage) for stage in STAGES}
    parsed = {stage: parse_ir(text) for stage, text in texts.items()}
    found = {stage: p.run(*arrays_of(program.args)) for stage, p in parsed.items()}
    if backend == "numpy":
        parsed["code"] = parse_ir(artifact.ir("code"))
        found["code"] = parsed["code"].run(*arrays_of(program.args))
    for p, kept in zip(program.parameters, before, strict=True):  # nothing of this has touched the user's Parameters
        np.testing.assert_array_equal(p.asnumpy(), kept)
    with ms.disable_jit():
        wanted = results(program.fn(*program.args))
    for stage, got in found.items():
        close(got, wanted)
        left = parsed[stage].states
        for p in program.parameters:
            if p.name in left:
                np.testing.assert_allclose(left[p.name], p.asnumpy(), rtol=2e-5, atol=1e-6, err_msg=f"{stage} {p.name}")
    trained = [p for p, kept in zip(program.parameters, before, strict=True) if not np.array_equal(p.asnumpy(), kept)]
    assert {p.name for p in trained} <= set(parsed["opt"].states)


# ------------------------------------------------------------------------------------------------ text alone
def plain(text):
    return str(text)


@pytest.mark.parametrize("stage", STAGES)
def test_a_bare_text_needs_its_constants_states_and_functions_again(stage):
    program = PROGRAMS["train_step"]()
    text = program.fn.lower(*program.args).ir(stage)
    wanted = text.run(*arrays_of(program.args))
    bare = parse_ir(plain(text), callables=text.callables)
    with pytest.raises(LookupError, match=r"states=\{'first.weight': ..."):
        bare.run(*arrays_of(program.args))
    again = parse_ir(plain(text), states=text.states, callables=text.callables)
    assert [name for name, _ in again.inputs] == ["%x", "%y"]
    close(again.run(*arrays_of(program.args)), wanted)


def test_a_large_constant_is_given_by_name():
    program = PROGRAMS["from_outside"]()
    text = program.fn.lower(*program.args).ir("opt")
    (name,) = text.constants
    bare = parse_ir(plain(text))
    with pytest.raises(LookupError, match=f"constants={{'{name}': ...}}"):
        bare.run(*arrays_of(program.args), some(8, seed=9).asnumpy())
    twice = parse_ir(plain(text), constants={name: text.constants[name] * 2})
    (found,) = twice.run(*arrays_of(program.args), some(8, seed=9))
    np.testing.assert_allclose(found, 2 * text.run(*arrays_of(program.args))[0], rtol=1e-5)
    with pytest.raises(ValueError, match=f"constant {name} is f32"):
        parse_ir(plain(text), constants={name: np.ones(3, np.float32)})
    with pytest.raises(KeyError, match="the text has no constant zz"):
        parse_ir(plain(text), constants={"zz": 1})


def test_a_changed_text_keeps_what_it_is_bound_to():
    program = PROGRAMS["train_step"]()
    text = program.fn.lower(*program.args).ir("opt")
    changed = text.replace("tanh", "sin")
    assert changed.stage == "opt"
    assert changed.run(*arrays_of(program.args))[0] != text.run(*arrays_of(program.args))[0]


def test_a_program_of_text_keeps_its_states_from_run_to_run():
    counter = """state @n: f32[]
func @f(%x: f32[]) -> (f32[]) {
  %n: f32[] = state_read {state="n"}
  %m: f32[] = add %n, %x
  state_write %m {state="n"}
  return %m
}
"""
    program = parse_ir(counter, states={"n": 10})
    assert [float(program.run(1)[0]), float(program.run(1)[0])] == [11.0, 12.0]
    assert float(program.states["n"]) == 12.0


def test_other_dtypes_than_float32_and_numbers():
    text = "func @f(%x: bf16[2], %i: i64[], %p: bool[]) -> (bf16[2], i64[], bool[]) { return %x, %i, %p }"
    x, i, p = parse_ir(text).run(Tensor([1.5, 2.5], ms.bfloat16), 3, True)
    assert (x.dtype.name, i.dtype, p.dtype, int(i), bool(p)) == ("bfloat16", np.int64, np.bool_, 3, True)


# ------------------------------------------------------------------------------------------------ looking on
DOUBLE_NEGATION = "func @f(%x: f32[2]) -> (f32[2]) { %y: f32[2] = neg %x ; %z: f32[2] = neg %y ; return %z }"


def test_what_passes_make_of_a_text_is_shown_and_not_run():
    program = parse_ir(DOUBLE_NEGATION)
    assert "neg" not in program.ir("opt")
    assert program.ir("front").count("neg") == 2
    assert program.ir("code")
    np.testing.assert_array_equal(program.run(np.float32([1, 2]))[0], program.ir("opt").run([1.0, 2.0])[0])
    assert program.ir("front").diff(program.ir("opt")).count(" = neg ") == 2


def test_a_derivative_can_be_written_as_text():
    text = """
    func @f(%x: f32[3]) -> (f32[3]) {
      %y: f32[], %dx: f32[3] = grad %x {wrt=[0]} body (%a: f32[3]) {
        %b: f32[3] = mul %a, %a
        %s: f32[] = sum %b {axes=[-1]}
        yield %s
      }
      return %dx
    }
    """
    np.testing.assert_allclose(parse_ir(text).run([1.0, 2.0, 4.0])[0], [2.0, 4.0, 8.0])
    assert "grad" not in parse_ir(text).ir("adjoint")


# ------------------------------------------------------------------------------------------------ errors
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func @f(%x: f32[2]) -> (f32[2]) {\n  %y: f32[2] = tahn %x\n  return %y\n}",
            r"2:16: there is no primitive tahn",
        ),
        ("func @f(%x: f32[2]) -> (f32[2]) {\n  %y: f32[2] = tanh %z\n  return %y\n}", r"2:21: %z is not defined here"),
        ("func @f(%x: f32[2]) -> (f32[2]) {\n  %y: f32[3] = tanh %x\n  return %x\n}", r"2:16: "),
        ("func @f(%x: f32[2]) -> (f32[2]) {\n", r"2:1: "),
        ("// nothing", r"1:11: there is no function in it"),
    ],
)
def test_a_broken_text_says_where(text, message):
    with pytest.raises(ParseError, match=message) as caught:
        parse_ir(text)
    assert str(caught.value).rstrip().endswith("^")


def test_source_and_machine_code_say_what_to_do_instead(backend):
    artifact = ms.jit(lambda x: ops.tanh(x)).lower(Tensor([1.0]))
    with pytest.raises(ParseError, match="this is Python, not IR: call the function itself"):
        parse_ir(artifact.ir("source"))
    with pytest.raises(ParseError, match="this is Python, not IR"):
        parse_ir("def f(x):\n    return x\n")
    if backend == "native":
        for text in (artifact.ir("code"), plain(artifact.ir("code"))):
            with pytest.raises(ParseError, match="this is generated code, not IR"):
                parse_ir(text)
    else:
        changed = artifact.ir("code").replace("tanh", "sinh")
        np.testing.assert_allclose(changed.run([1.0])[0], np.sinh([1.0]), rtol=1e-6)


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ((), TypeError, r"2 arrays are wanted \(%x: f32\[2\], %i: i64\[2\]\), 0 are given"),
        (([1.0, 2.0], [1, 2], 3), TypeError, "3 are given"),
        ((np.ones(2), [1, 2]), TypeError, r"%x is f32\[2\], it cannot be of dtype float64"),
        (([1.0, 2.0], [1.5, 2.0]), TypeError, r"%i is i64\[2\], it cannot be of dtype float64"),
        (([1.0], [1, 2]), ValueError, r"%x is f32\[2\], it cannot be of shape \(1,\)"),
        ((1.0, [1, 2]), ValueError, r"%x is f32\[2\], it cannot be of shape \(\)"),
    ],
)
def test_arrays_that_do_not_fit(arrays, error, message):
    program = parse_ir("func @f(%x: f32[2], %i: i64[2]) -> (f32[2], i64[2]) { return %x, %i }")
    with pytest.raises(error, match=message):
        program.run(*arrays)


@pytest.mark.parametrize(
    ("dtype", "number", "shown"),
    [
        ("i32", 2**40, "1099511627776"),
        ("i32", -(2**31) - 1, "-2147483649"),
        ("i64", 2**63, "9223372036854775808"),
        ("i64", 10**30, "1" + 30 * "0"),
        ("u8", -1, "-1"),
        ("u8", 256, "256"),
        ("f16", 1e9, "1000000000.0"),
        ("f16", 70000, "70000.0"),
        ("bf16", -1e39, "-1e+39"),
        ("f32", 10**39, "1e+39"),
    ],
)
def test_numbers_that_a_dtype_cannot_hold(dtype, number, shown):
    one = parse_ir(f"func @f(%x: {dtype}[]) -> ({dtype}[]) {{ return %x }}")
    with pytest.raises(OverflowError, match=re.escape(f"%x is {dtype}[], it cannot hold {shown}")):
        one.run(number)
    several = parse_ir(f"func @f(%x: {dtype}[2]) -> ({dtype}[2]) {{ return %x }}")
    with pytest.raises(OverflowError, match=re.escape(f"%x is {dtype}[2], it cannot hold {shown}")):
        several.run([1, number])


@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [
        ("i32", [-(2**31), 2**31 - 1]),
        ("u8", [0, 255]),
        ("i64", [-(2**63), 2**63 - 1]),
        ("f16", [65504.0, float("-inf")]),
        ("f32", [float("inf"), 2**100]),
        ("u8", [True, False]),
    ],
)
def test_numbers_that_it_just_can_hold(dtype, numbers):
    (found,) = parse_ir(f"func @f(%x: {dtype}[2]) -> ({dtype}[2]) {{ return %x }}").run(numbers)
    assert found.dtype == np.dtype({"i": "int", "u": "uint", "f": "float"}[dtype[0]] + dtype[1:])
    assert found.tolist() == numbers


def test_states_and_constants_must_fit_too():
    text = """state @n: u8[]
func @f() -> (u8[]) {
  %n: u8[] = state_read {state="n"}
  return %n
}
"""
    with pytest.raises(OverflowError, match=r"state n is u8\[\], it cannot hold 300"):
        parse_ir(text, states={"n": 300})


@pytest.mark.parametrize("between", [False, True])
def test_functions_that_call_themselves_are_refused_at_the_call(between):
    text = "func @main(%x: f32[2]) -> (f32[2]) {\n  %y: f32[2] = call @f %x\n  return %y\n}\n"
    text += f"func @f(%a: f32[2]) -> (f32[2]) {{\n  %b: f32[2] = call @{'g' if between else 'f'} %a\n  return %b\n}}\n"
    if between:
        text += "func @g(%c: f32[2]) -> (f32[2]) {\n  %d: f32[2] = call @f %c\n  return %d\n}\n"
    with pytest.raises(ParseError, match=r"^(6|10):16: @[fg] calls itself: write the recursion as a loop"):
        parse_ir(text)


def test_results_that_are_not_computed_are_left_out():
    text = ms.jit(lambda x: (x, x * 2, 7)).lower(Tensor([3.0])).ir("opt")
    (found,) = text.run([3.0])
    np.testing.assert_array_equal(found, [6.0])


def test_names_of_stages_and_states_that_do_not_exist():
    program = parse_ir(DOUBLE_NEGATION)
    with pytest.raises(ValueError, match="stage must be front, adjoint, opt, plan or code, not 'source'"):
        program.ir("source")
    with pytest.raises(KeyError, match="the text has no state w; it has none"):
        parse_ir(DOUBLE_NEGATION, states={"w": 1})


# ------------------------------------------------------------------------------------------------ what does not fit
OPEN = "func @f(%x: f32[n], %y: f32[n,2]) -> (f32[]) { %z: f32[] = sum %x {axes=[-1]} return %z }"
ROWS = "func @f(%s: seq<f32[3]>) -> (f32[2,3]) { %t: f32[2,3] = from_seq %s {length=2} return %t }"
STATE = """
state @w: f32[3] {argument=1, result=1}
func @f(%x: f32[3], %w: f32[3]) -> (f32[3], f32[3]) { %y: f32[3] = add %x, %w return %y, %y }
"""


def test_sizes_that_only_a_call_knows(backend):
    program = parse_ir(OPEN)
    for n in (4, 2):
        assert program.run(np.ones(n, np.float32), np.ones((n, 2), np.float32))[0] == n
    with pytest.raises(ValueError, match=r"%y is f32\[n,2\]: its size n is 5, but that of %x is 3"):
        program.run(np.ones(3, np.float32), np.ones((5, 2), np.float32))


DECLARED = (
    "size @m {low=0, high=9} size @n {low=2, high=m} func @f(%x: f32[n], %y: f32[2*n+m], %z: f32[m]) -> (f32[]) {"
)


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ((3, 11, 5), ""),
        ((3, 12, 5), r"%y is f32\[m\+2\*n\]: its size m\+2\*n is 12, and not 11, where n is 3 from %x, m is 5 from %z"),
        ((1, 7, 5), "%x is .*its size n is 1, and must be at least 2, at most m"),
        ((6, 17, 5), "%x is .*its size n is 6, and must be at least 2, at most m"),
        ((2, 14, 10), "%z is .*its size m is 10, and must be at least 0, at most 9"),
    ],
)
def test_sizes_are_as_declared_and_fit_together(backend, sizes, told):
    program = parse_ir(DECLARED + " %s: f32[] = sum %y {axes=[-1]} return %s }")
    arrays = [np.ones(n, np.float32) for n in sizes]
    if told:
        with pytest.raises(ValueError, match=told):
            program.run(*arrays)
    else:
        assert program.run(*arrays)[0] == sizes[1]


def test_a_sequence_is_given_as_a_list_of_arrays(backend):
    program = parse_ir(ROWS)
    rows = np.float32([[1, 2, 3], [4, 5, 6]])
    for given in (rows, list(rows), rows.tolist()):
        np.testing.assert_array_equal(program.run(given)[0], rows)
    for given, error, told in (
        ([rows[0, :1], rows[1, :1]], ValueError, r"element 0 of %s is f32\[3\], it cannot be of shape \(1,\)"),
        ([rows[0], rows.astype(np.float64)[1]], TypeError, "element 1 of %s .* cannot be of dtype float64"),
        (7, TypeError, r"%s is seq<f32\[3\]>: give a list of arrays, not int"),
    ):
        with pytest.raises(error, match=told):
            program.run(given)


@pytest.mark.parametrize(
    ("value", "error"),
    [(np.ones(1, np.float32), ValueError), (np.ones((9, 9), np.float32), ValueError), (np.ones(3), TypeError)],
)
def test_a_state_of_another_type_is_refused(backend, value, error):
    program = parse_ir(STATE, states={"w": np.ones(3, np.float32)})
    assert program.run(np.ones(3, np.float32))[0].tolist() == [2, 2, 2]
    program.states["w"] = value
    with pytest.raises(error, match=r"state w is f32\[3\], it cannot be"):
        program.run(np.ones(3, np.float32))
