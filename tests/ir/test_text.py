"""The text form: exact round trips, and errors that say where a text is no IR."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.dtypes import bfloat16, bool_, float32, float64, int64
from autodiff_compiler.ir.build import Builder, scalar_key
from autodiff_compiler.ir.core import Block, Function, Module, StateInfo
from autodiff_compiler.ir.sizes import symbol
from autodiff_compiler.ir.text import (
    ParseError,
    Unbound,
    literal_text,
    parse_function,
    parse_module,
    print_function,
    print_module,
)
from autodiff_compiler.ir.types import seq, tensor, tuple_of
from autodiff_compiler.primitives import REGISTRY, F
from autodiff_compiler.source import Loc

F4 = tensor(float32, (4,))


def wrapped(ops: str) -> str:
    """A function around some ops, as a parser finds it."""
    return f"func @f(%x: f32[4], %p: bool[], %n: i64[], %s: seq<f32[4]>) -> () {{\n{ops}\n  return\n}}"


def lines(ops: str) -> list[str]:
    """What is printed of some ops."""
    return print_function(parse_function(wrapped(ops))).split("\n")[1:-2]


# --- what a text says ---------------------------------------------------------------------------------------------

EXACT = {
    "no results": '  print %x {parts=["x = ",0]}',
    "several results": '  %a: f32[4], %b: i64[] = host_call %x {fn="@g"}',
    "constants": "  %a: f32[4] = const {value=-0.0}\n  %b: f64[] = const {value=nan}",
    "infinities": "  %a: f32[] = const {value=inf}\n  %b: f32[] = const {value=-inf}",
    "truths and exponents": "  %a: bool[] = const {value=True}\n  %b: f64[] = const {value=1e-30}",
    "integers": "  %a: i64[] = const {value=-9223372036854775808}\n  %b: u8[2,3] = const {value=255}",
    "the type of a constant stands once": '  %a: f32[2,3] = const {value="@c0"}\n  %b: seq<seq<f32[]>> = undef',
    "states": '  %a: f32[4] = state_read {state="l.0.w"}\n  state_write %x {state="l.0.w"}',
    "tuples": "  %a: () = tuple_make\n  %b: ((), f32[4]) = tuple_make %a, %x\n  %c: f32[4] = tuple_get %b {index=1}",
    "symbolic sizes": "  %a: f32[B,4] = from_seq %s {length=B}\n  %b: f32[4*B,0] = undef",
    "dtypes as attributes": "  %a: bf16[4] = cast %x {dtype=bf16}",
    "escapes": '  print {parts=["a\\n\\t\\"\\\\ \\u00e9\\ud83d\\ude00",None,[]], sep=""}',
    "locations": f"  {'%a: f32[4] = tanh %x':<70} @ net.py:12:8\n  {'%b: f32[4] = tanh %a':<70} @ net.py:13:0 adjoint",
    "odd locations": f'  {"%a: f32[4] = tanh %x":<70} @ "my \\u00e9.py":12:8 "two words"',
    "numbers for nameless values": "  %0: f32[4] = tanh %x\n  %1: f32[4] = add %0, %0",
    "if": """\
  %r: f32[4], %m: i64[] = if %p then {
    %a: f32[4] = tanh %x
    yield %a, %n
  } else {
    yield %x, %n
  }""",
    "if without results": """\
  if %p then {
    print {parts=["yes"]}
    yield
  } else {
    yield
  }""",
    "while": """\
  %t: i64[], %y: f32[4], %k: i64[], %r: seq<f32[4]> = while (%c = %x, %i = %n) cond {
    yield %p
  } body {
    %d: f32[4] = tanh %c
    yield %d, %i ; %c
  }""",
    "while without carries": """\
  %t: i64[] = while () cond {
    yield %p
  } body {
    yield
  }""",
    "while that only collects": """\
  %t: i64[], %r: seq<f32[4]> = while () cond {
    yield %p
  } body {
    yield ; %x
  }""",
    "scan": """\
  %y: f32[4], %r: seq<f32[4]> = scan %n (%c = %x ; %e = %s) {reverse=True} body (%i) {
    %d: f32[4] = add %c, %e
    yield %d ; %e
  }""",
    "scan over a range": """\
  %y: f32[4] = scan %n (%c = %x) body (%i) {
    yield %c
  }""",
    "scan without carries": """\
  %r: seq<f32[4]> = scan %n (; %e = %s) body (%i) {
    yield ; %e
  }""",
    "call": '  %a: f32[] = call @g %x, %n\n  %b: f32[] = call @f.fwd {states=["l.0.w"]}\n  call @"odd name" %x',
    "grad": """\
  %l: f32[4], %d: f32[4] = grad %x, %x {wrt=[0], seeds=[0]} body (%a: f32[4]) {
    yield %a
  }""",
    "grad without arguments": """\
  %l: f32[4], %d: f32[4] = grad {wrt=[], wrt_states=["w"]} body {
    yield %x
  }""",
    "linearize and pull": """\
  %y: f32[4], %m: i64[], %l: link<(f32[4]) -> (f32[4])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f32[4]) {
    yield %a, %n
  }
  %d: f32[4] = pull %l, %y
  %e: link<() -> ()> = linearize {wrt=[], seeds=[]} body {
    yield
  }
  pull %e""",
    "custom_vjp": """\
  %y: f32[4] = custom_vjp %x fwd (%a: f32[4]) {
    yield %a
  } bwd (%b: f32[4], %o: f32[4], %g: f32[4]) {
    yield %g
  }""",
    "custom_vjp that is recursive": """\
  %y: f32[4] = custom_vjp %x {label="solve_1", linear=[0]} fwd (%a: f32[4]) {
    yield %a
  } bwd (%b: f32[4], %o: f32[4], %g: f32[4]) {
    %d: f32[4] = again %g {label="solve_1"}
    yield %d
  }""",
    "grad_map": """\
  %y: f32[4] = grad_map %x bwd (%g: f32[4]) {
    yield %g
  }""",
    "nested": f"""\
  {"%r: f32[4] = if %p then {":<70} @ net.py:1:0
    {"%t: i64[], %y: f32[4] = while (%c = %x) cond {":<68} @ net.py:2:4 adjoint
      yield %p
    }} body {{
      %z: f32[4] = scan %n (%d = %c) body (%i) {{
        %e: f32[4] = add %d, %c
        yield %e
      }}
      yield %z
    }}
    yield %y
  }} else {{
    yield %x
  }}""",
}


@pytest.mark.parametrize("ops", EXACT.values(), ids=EXACT)
def test_printing_what_was_parsed_gives_the_text_back(ops: str) -> None:
    assert "\n".join(lines(ops)) == ops


def test_short_forms_are_read_and_printed_in_full() -> None:
    one_line = """%y: f32[4] = scan %n (%c = %x) body (%i) { %1: f32[4] = const {value=1.0} // one
        %m: f32[4] = mul %c, %1 ; yield %m } @ net.py:1:2 ; %r: f32[4] = grad_map %y { yield %x } ; """
    assert lines(one_line) == [
        f"  {'%y: f32[4] = scan %n (%c = %x) body (%i) {':<70} @ net.py:1:2",
        "    %1: f32[4] = const {value=1.0}",
        "    %m: f32[4] = mul %c, %1",
        "    yield %m",
        "  }",
        "  %r: f32[4] = grad_map %y bwd {",
        "    yield %x",
        "  }",
    ]


def test_an_attribute_with_its_default_value_is_left_out() -> None:
    assert lines('print {parts=[], sep=" ", end="\\n"}') == ["  print {parts=[]}"]


def test_a_parsed_location_keeps_file_line_column_and_tag() -> None:
    function = parse_function(
        "func @f(%x: f32[4]) -> () { @ net.py:10:2\n"
        '%a: f32[4] = tanh %x @ "my file.py":12:8 adjoint\n'
        "%b: f32[4] = tanh %a @ <stdin>:3:0\n"
        "%c: f32[4] = tanh %b\n return }"
    )
    a, b, c = (op.loc for op in function.body.ops)
    assert function.loc == Loc("net.py", 10, 2)
    assert a == Loc("my file.py", 12, 8, tag="adjoint")
    assert b == Loc("<stdin>", 3, 0)
    assert c is None


def test_only_the_last_part_of_a_path_is_printed() -> None:
    function = parse_function(wrapped("%a: f32[4] = tanh %x"))
    function.body.ops[0].loc = Loc(os.path.join("", "home", "me", "net.py"), 7, 1, function="Net.construct")
    assert print_function(function).split("\n")[1].endswith("tanh %x" + " " * 50 + " @ net.py:7:1")


def test_hints_become_unique_ascii_names() -> None:
    hints = ["h", "h", "h_1", None, "héllo wörld", "0", "", "l.0.w", None, "h"]
    block = Block([F4] * len(hints), hints)
    text = print_function(Function("f", block))
    names = [part.split(":")[0] for part in text[text.index("(") + 1 : text.index(")")].split(", ")]
    assert names == ["%h", "%h_1", "%h_1_1", "%0", "%h_llo_w_rld", "%_0", "%1", "%l_0_w", "%2", "%h_2"]
    assert print_function(parse_function(text)) == text


def test_sibling_blocks_may_use_one_name_and_are_printed_with_two() -> None:
    text = "if %p then { %a: f32[4] = tanh %x ; yield } else { %a: f32[4] = tanh %x ; yield }"
    assert [line.split(":")[0] for line in lines(text) if "tanh" in line] == ["    %a", "    %a_1"]


def test_a_module_prints_what_it_declares_and_arrays_of_few_elements() -> None:
    module = Module(
        states={"w": StateInfo("w", F4), "odd name": StateInfo("odd name", tensor(int64, ()), "generator")},
        constants={
            "c0": np.array([[1.5, math.nan], [-0.0, math.inf]], np.float32),
            "mask": np.array([True, False]),
            "none": np.zeros((0, 3), np.int64),
            "half": np.array([0.5, 3.0], bfloat16.numpy),
            "big": np.zeros((128, 64)),
        },
        callables={"report": print},
    )
    module.add(Function("main", Block([F4], ["x"])))
    text = print_module(module)
    assert text == (
        "state @w: f32[4]\n"
        'state @"odd name": i64[] {kind="generator"}\n'
        "constant @c0: f32[2,2] = [1.5,nan,-0.0,inf]\n"
        "constant @mask: bool[2] = [True,False]\n"
        "constant @none: i64[0,3] = []\n"
        "constant @half: bf16[2] = [0.5,3.0]\n"
        "constant @big: f64[128,64]\n"
        "callable @report\n"
        "\n"
        "func @main(%x: f32[4]) -> () {\n"
        "  return\n"
        "}\n"
    )
    parsed = parse_module(text)
    assert print_module(parsed) == text
    assert parsed.states == module.states
    for name in ("c0", "mask", "none", "half"):
        assert parsed.constants[name].dtype == module.constants[name].dtype
        assert parsed.constants[name].tobytes() == module.constants[name].tobytes()
    assert parsed.constants["big"] == Unbound("big", tensor(float64, (128, 64)))
    with pytest.raises(RuntimeError, match="bind it"):
        parsed.callables["report"]()


def test_f32_elements_are_printed_exactly() -> None:
    array = np.float32([0.1, 1 / 3, 1e-45, 3.4028235e38])
    parsed = parse_module(print_module(Module(constants={"c": array})))
    assert parsed.constants["c"].tobytes() == array.tobytes()


def test_notes_are_comments_behind_ops_and_ends_of_blocks() -> None:
    function = parse_function(wrapped("%a: f32[4] = tanh %x @ net.py:1:0"))
    text = print_function(function, {function.body.ops[0]: "saved\nché", function.body: "2 ops"})
    assert text.split("\n")[1:3] == [
        f"  {'%a: f32[4] = tanh %x':<70} @ net.py:1:0  // saved\\nch\\xe9",
        "  return  // 2 ops",
    ]
    assert print_function(parse_function(text)) == print_function(function)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"), (True, "True"), (1.0, "1.0"), (-0.0, "-0.0"), (1e16, "1e+16"), (None, "None"), ("%x", '"%x"'),
        (float32, "f32"), (bool_, "bool"), (F4, "f32[4]"), (tensor(float32, ()), "f32[]"), (seq(F4), "seq<f32[4]>"),
        (tuple_of((F4,)), "(f32[4])"), (tuple_of(()), "()"), ((), "[]"), ((1, (2.0, None)), "[1,[2.0,None]]"),
        (symbol("B"), "B"), ((symbol("B"), 4), "[B,4]"),
    ],
)  # fmt: skip
def test_literals(value: Any, text: str) -> None:
    assert literal_text(value) == text
    op = parse_function(wrapped(f"print {{parts=[{text}]}}")).body.ops[0]
    (found,) = op.attr("parts")
    assert type(found) is type(value)
    assert scalar_key(found) == scalar_key(value)


@pytest.mark.parametrize("value", [np.int64(1), 1j, b"x", [1], {"a": 1}, symbol("f32"), symbol("a b"), np.float64(0.5)])
def test_what_is_no_literal_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"literal|symbolic size"):
        literal_text((value,))


# --- errors -------------------------------------------------------------------------------------------------------

WRONG = {
    "an unknown op": ("%a: f32[4] = sigmoyd %x", "2:14", "there is no primitive sigmoyd; use `sigmoid`"),
    "an undefined value": ("%a: f32[4] = tanh %y", "2:19", "%y is not defined here"),
    "a use before the definition": ("%a: f32[4] = tanh %b\n%b: f32[4] = tanh %x", "2:19", "%b is not defined here"),
    "a value of a block used after it": (
        "if %p then { %a: f32[4] = tanh %x ; yield } else { yield }\n%b: f32[4] = tanh %a", "3:19", "%a is not defined",
    ),
    "a value of the sibling block": (
        "if %p then { %a: f32[4] = tanh %x ; yield } else { print %a {parts=[]} ; yield }", "2:58", "%a is not defined",
    ),
    "a carry used after its loop": (
        "%t: i64[], %y: f32[4] = while (%c = %x) cond { yield %p } body { yield %c }\n%b: f32[4] = tanh %c",
        "3:19", "%c is not defined",
    ),
    "a result inside its own op": (
        "%a: f32[4] = if %p then { yield %a } else { yield %x }", "2:33", "%a is not defined",
    ),
    "a second definition": ("%x: f32[4] = tanh %x", "2:1", "%x is defined twice"),
    "a definition that hides an outer one": (
        "if %p then { %x: f32[4] = tanh %n ; yield } else { yield }", "2:14", "%x is defined twice",
    ),
    "an unknown dtype": ("%a: f31[4] = tanh %x", "2:5", "there is no dtype f31"),
    "a negative size": ("%a: f32[-4] = tanh %x", "2:5", "a size must not be negative"),
    "a size named like a dtype": ("%a: f32[f32] = tanh %x", "2:5", "'f32' is no size"),
    "no type": ("%a = tanh %x", "2:4", "expected :, found ="),
    "no attribute": ("%a: f32[4] = cast %x", "2:14", "cast needs the attribute dtype"),
    "an unknown attribute": ("%a: f32[4] = tanh %x {axis=1}", "2:23", "tanh has no attribute axis; it has none"),
    "an attribute given twice": ("%a: f32[4] = cast %x {dtype=f32, dtype=f32}", "2:34", "dtype is given twice"),
    "a type that nothing implies": ("%a: f32[4], %b: f32[4] = undef", "2:26", "undef needs the attribute type"),
    "a broken literal": ("print {parts=[1 2]}", "2:17", "expected ,, found 2"),
    "a broken string": ('print {parts=["\\x"]}', "2:15", "escapes are those of JSON"),
    "an open string": ('print {parts=["abc]}', "2:15", 'expected a type, found "'),
    "a missing arm": ("if %p then { yield }", "3:3", "expected else, found return"),
    "saved values without a loop": ("if %p then { yield ; %x } else { yield }", "2:20", "only the body of a loop"),
    "saved values among the carries": (
        "%t: i64[], %y: f32[4], %r: seq<f32[4]> = while (%c = %x) cond { yield %p } body { yield %c, %c }",
        "2:89", "the loop carries 1, not 2",
    ),
    "carries among the saved values": (
        "%t: i64[], %y: f32[4], %r: seq<f32[4]> = while (%c = %x) cond { yield %p } body { yield ; %c, %c }",
        "2:89", "the loop carries 1, not 0",
    ),
    "an element that is no sequence": ("scan %n (; %e = %x) body (%i) { yield }", "2:1", "reads its elements from seq"),
    "a scan without count": ("scan (%e = %x) body (%i) { yield }", "2:1", "scan takes the trip count"),
    "a number as an operand": ("%a: f32[4] = add %x, 2.0", "2:22", "expected a value like %x, found 2.0"),
    "a stray sign": ("%a: f32[4] = tanh %x ?", "2:22", "there is no primitive ?"),
    "return inside a block": ("if %p then { return } else { yield }", "2:14", "there is no primitive return"),
}  # fmt: skip


@pytest.mark.parametrize(("ops", "place", "message"), WRONG.values(), ids=WRONG)
def test_an_error_says_where_and_shows_the_line(ops: str, place: str, message: str) -> None:
    text = wrapped(ops)
    with pytest.raises(ParseError) as caught:
        parse_function(text)
    line, col = map(int, place.split(":"))
    first, shown, caret = str(caught.value).split("\n")
    assert first.startswith(f"{place}: ")
    assert message in first
    assert (caught.value.line, caught.value.col) == (line, col)
    assert shown == "  " + text.split("\n")[line - 1]
    assert caret == "  " + " " * (col - 1) + "^"


WRONG_AROUND = {
    "no end": ("func @f() -> () { return", "1:25", "expected }, found the end"),
    "nothing": ("", "1:1", "expected func, found the end"),
    "other results than declared": ("func @f(%x: f32[4]) -> (f32[]) { return %x }", "1:24", r"returns (f32[4])"),
    "two functions": ("func @f() -> () { return } func @g() -> () { return }", "1:28", "expected the end, found func"),
    "no name": ("func f() -> () { return }", "1:6", "expected a name like @f, found f"),
    "arguments of one name": ("func @f(%x: f32[], %x: f32[]) -> () { return }", "1:20", "%x is defined twice"),
}


@pytest.mark.parametrize(("text", "place", "message"), WRONG_AROUND.values(), ids=WRONG_AROUND)
def test_errors_around_the_ops(text: str, place: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_function(text)
    assert str(caught.value).startswith(f"{place}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func @f() -> () { return }\nfunc @f() -> () { return }", "2:1: @f is declared twice"),
        ("state @w: f32[4]\nstate @w: f32[4]", "2:1: @w is declared twice"),
        ("state @w: seq<f32[4]>", "1:11: a state is a tensor"),
        ("constant @c: f32[3] = [1.0,2.0]", "1:23: these are not the elements of f32"),
        ("constant @c: u8[1] = [256]", "1:22: these are not the elements of u8"),
        ("constant @c: bool[1] = [None, f32]", "1:24: these are not the elements of bool"),
        ("constant @c: i64[1] = [1.5]", "1:23: these are not the elements of i64"),
        ("blah", "1:1: expected func, size, state, constant or callable, found blah"),
    ],
)
def test_errors_of_modules(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_module(text)
    assert str(caught.value).startswith(message)


# --- random modules -----------------------------------------------------------------------------------------------


def test_a_malformed_loop_is_printed_in_the_general_form_and_read_back() -> None:
    b = Builder(Block([F4, tensor(bool_, ())], ["x", "p"]))
    x, p = b.block.args
    cond, body = b.nested(), b.nested([tensor(int64, ())], ["c"])
    cond.ret(p)
    body.ret(body.block.args[0])
    b.emit_op(REGISTRY["while"], (x,), (), (cond.block, body.block), (tensor(int64, ()),))
    b.emit_op(REGISTRY["scan"], (x, x), (0, False), (b.nested().ret(),), ())  # its element is no sequence
    text = print_function(Function("f", b.ret()))
    assert "scan %x, %x {carries=0} body {\n" in text
    assert "while %x cond {\n    yield %p\n  } body (%c: i64[]) {\n    yield %c\n" in text
    assert print_function(parse_function(text)) == text


def test_long_functions_do_not_recurse() -> None:
    b = Builder(Block([F4], ["x"]))
    with b:
        (x,) = b.block.args
        for _ in range(3000):
            x = F.tanh(x)
        b.ret(x)
    text = print_function(Function("f", b.block))
    assert print_function(parse_function(text)) == text


def test_literals_of_all_kinds_are_read_as_they_are_written():
    text = (
        "func @f(%x: f32[4]) -> () {\n"
        '  print %x {parts=["\\u00e9\\n",[None,True,f32,f32[B,4],seq<f32[]>,(i64[]),-0.0,nan,-inf,1e-30,[],B]]}\n'
        "  return\n}"
    )
    assert print_function(parse_function(text)) == text
