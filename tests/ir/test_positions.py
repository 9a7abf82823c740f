"""Positions that no `check_index` has seen are traced through whatever hands them on, and refused."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import parse_ir
from autodiff_compiler.ir.parser import ParseError
from autodiff_compiler.ir.positions import verify_positions
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.verify import VerifyError, verify

HEAD = "func @f(%x: f32[5,3], %i: i64[4], %k: i64[], %p: bool[]) -> (f32[4,3]) {\n"
GATHER = "\n%y: f32[4,3] = gather %x, %j {axis=-2}\nreturn %y }"


def refused(text, match="a `check_index` with size=5 must be before it"):
    module = parse_module(text)
    verify(module)
    with pytest.raises(VerifyError, match=match):
        verify_positions(module)


def let_pass(text):
    module = parse_module(text)
    verify(module)
    verify_positions(module)


UNCHECKED = {
    "an argument": "%j: i64[4] = reshape %i {shape=[4]}",
    "turned": "%j: i64[4] = slice %i {axes=[-1], starts=[3], stops=[-1], steps=[-1]}",
    "one number for all": "%j: i64[4] = broadcast_to %k {shape=[4]}",
    "a part": (
        "%a: i64[8] = concat %i, %i {axis=-1} %j: i64[4] = slice %a {axes=[-1], starts=[2], stops=[6], steps=[1]}"
    ),
    "among checked ones": (
        "%c: i64[4] = check_index %i {size=5} %a: i64[8] = concat %c, %i {axis=-1} "
        "%j: i64[4] = slice %a {axes=[-1], starts=[0], stops=[4], steps=[1]}"
    ),
    "in another dtype": "%a: u64[4] = cast %i {dtype=u64} %j: i64[4] = cast %a {dtype=i64}",
    "of a branch": ("%c: i64[4] = check_index %i {size=5} %j: i64[4] = if %p then { yield %c } else { yield %i }"),
    "carried by a loop": "%j: i64[4] = scan %k (%a = %i) body (%t) { %b: i64[4] = add %a, %a yield %b }",
    "checked for more elements": "%j: i64[4] = check_index %i {size=6}",
    "checked for very many elements": "%j: i64[4] = check_index %i {size=9223372036854775807}",
    "counted too far": "%j: i64[4] = iota {start=2, step=1, size=4, dtype=i64}",
    "counted down too far": "%j: i64[4] = iota {start=2, step=-1, size=4, dtype=i64}",
    "a constant": "%j: i64[4] = const {value=5}",
    "a negative constant": "%j: i64[4] = const {value=-1}",
    "looked up": "%c: i64[4] = check_index %i {size=4} %j: i64[4] = gather %i, %c {axis=-1}",
    "of a call": "%j: i64[4] = call @g %i {states=[]}",
    "of a sequence": (
        "%s: seq<i64[]> = to_seq %i %a: seq<i64[]> = scan %k ( ; %e = %s) body (%t) { yield ; %e } "
        "%j: i64[4] = from_seq %a {length=4}"
    ),
}
CHECKED = {
    "for its size": "%j: i64[4] = check_index %i {size=5}",
    "for less": "%j: i64[4] = check_index %i {size=2}",
    "moved after the check": "%c: i64[4] = check_index %i {size=5} %j: i64[4] = transpose %c {axes=[-1]}",
    "counted": "%j: i64[4] = iota {start=1, step=1, size=4, dtype=i64}",
    "counted down": "%j: i64[4] = iota {start=4, step=-1, size=4, dtype=i64}",
    "the last element": "%j: i64[4] = const {value=4}",
    "of sorting": "%j: i64[4] = argsort %i {axis=-1}",
}
CALLED = "\nfunc @g(%x: i64[4]) -> (i64[4]) { return %x }"


@pytest.mark.parametrize("what", UNCHECKED)
def test_refused(what):
    refused(HEAD + UNCHECKED[what] + GATHER + (CALLED if "call" in what else ""))


@pytest.mark.parametrize("what", CHECKED)
def test_let_pass(what):
    let_pass(HEAD + CHECKED[what] + GATHER)


@pytest.mark.parametrize("name", ["scatter_add", "scatter_update", "scatter_max", "scatter_min", "scatter_mul"])
def test_updates(name):
    text = (
        "func @f(%x: f32[5], %i: i64[4], %u: f32[4]) -> (f32[5]) "
        f"{{ %c: i64[4] = check_index %i {{size=5}} %y: f32[5] = {name} %x, %c, %u {{axis=-1}} return %y }}"
    )
    let_pass(text)
    refused(text.replace(f"{name} %x, %c", f"{name} %x, %i"))


@pytest.mark.parametrize("name", ["take_along_axis %x, %c", "add_along_axis %x, %c, %x"])
def test_along_an_axis(name):
    text = (
        "func @f(%x: f32[5], %i: i64[5]) -> (f32[5]) "
        f"{{ %c: i64[5] = check_index %i {{size=5}} %y: f32[5] = {name} {{axis=-1, distinct=False}} return %y }}"
    )
    let_pass(text)
    refused(text.replace("%x, %c", "%x, %i"))


def test_arguments_of_functions_are_what_calls_give():
    text = """func @f(%x: f32[5], %i: i64[4]) -> (f32[4]) {
      %c: i64[4] = check_index %i {size=5}
      %y: f32[4] = call @g %x, %c {states=[]}
      return %y
    }
    func @g(%x: f32[5], %i: i64[4]) -> (f32[4]) { %y: f32[4] = gather %x, %i {axis=-1} return %y }"""
    let_pass(text)
    refused(text.replace("call @g %x, %c", "call @g %x, %i"))


def test_constants_are_looked_into():
    text = "constant @t: i64[2] = [0,4]\nfunc @f(%x: f32[5]) -> (f32[2]) "
    text += '{ %t: i64[2] = const {value="@t"} %y: f32[2] = gather %x, %t {axis=-1} return %y }'
    let_pass(text)
    refused(text.replace("[0,4]", "[0,5]"))
    refused(text.replace("[0,4]", "[-1,4]"))


def test_text_is_refused_with_its_line_and_what_to_write():
    with pytest.raises(ParseError, match=r"2:16: its index may be -9223372036854775808, but the axis has 5 elements"):
        parse_ir(HEAD + GATHER.replace("%j", "%i")[1:])


def test_texts_of_this_process_are_read_back():
    """What the compiler wrote itself is as it was: the derivative may take positions that were checked elsewhere."""
    from autodiff_compiler import Tensor, grad, jit, ops

    def f(x, i):
        return (ops.gather(x, i, 0) ** 2).sum()

    compiled = jit(grad(f)).lower(Tensor(np.ones(3, np.float32)), Tensor(np.array([0, 2, 2])))
    for stage in ("front", "adjoint", "opt"):
        text = compiled.ir(stage)
        found = parse_ir(str(text), constants=text.constants).run(np.ones(3, np.float32), np.array([0, -1, 2]))
        if stage != "front":
            assert found[0].tolist() == [2.0, 0.0, 4.0]


# ------------------------------------------------------------------------------------------------ numbers of attributes
@pytest.mark.parametrize("number", [2**63, 99999999999999999999, -(2**63) - 1])
@pytest.mark.parametrize(
    "op",
    [
        "check_index %i {size=N}",
        "iota {start=0, step=1, size=N, dtype=i64}",
        "slice %i {axes=[-1], starts=[0], stops=[N], steps=[1]}",
        "slice %i {axes=[-1], starts=[N], stops=[4], steps=[1]}",
        "reshape %i {shape=[N]}",
        "argsort %i {axis=N}",
    ],
)
def test_numbers_beyond_64_bits_are_refused(op, number):
    with pytest.raises(ParseError):
        parse_ir(f"func @f(%i: i64[4]) -> (i64[4]) {{ %y: i64[4] = {op.replace('N', str(number))} return %y }}")


@pytest.mark.parametrize("value", ["-1", "True", "1.5", '"4"', "None", "[4]", "i64", "-9223372036854775808"])
def test_sizes_are_whole_and_not_negative(value):
    with pytest.raises(ParseError):
        parse_ir(f"func @f(%i: i64[4]) -> (i64[4]) {{ %y: i64[4] = check_index %i {{size={value}}} return %y }}")


@pytest.mark.parametrize("value", ['"x"', "[0]", "none", "i64"])
def test_numbers_are_numbers(value):
    with pytest.raises(ParseError):
        parse_ir(
            f"func @f() -> (i64[4]) {{ %y: i64[4] = iota {{start={value}, step=1, size=4, dtype=i64}} return %y }}"
        )


@pytest.mark.parametrize("size", ["99999999999999999999", "4611686018427387904", "2147483648,2147483648"])
def test_tensors_that_no_memory_holds_are_refused(size):
    with pytest.raises(ParseError, match="more bytes than there are addresses"):
        parse_ir(f"func @f(%x: f32[{size}]) -> (f32[{size}]) {{ %y: f32[{size}] = neg %x return %y }}")


def test_tensors_are_no_sequences():
    for op in ("seq_add %x, %x", "seq_len %x", "from_seq %x {length=4}"):
        with pytest.raises(ParseError):
            parse_ir(f"func @f(%x: i64[4]) -> (i64[4]) {{ %y: i64[4] = {op} return %y }}")
