"""Every rule of well-formed IR, broken once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autodiff_compiler.dtypes import bool_, float32, int64
from autodiff_compiler.errors import InternalCompilerError
from autodiff_compiler.ir.core import Block, Function, Module, Op, StateInfo, Value
from autodiff_compiler.ir.text import Unbound, parse_function, parse_module
from autodiff_compiler.ir.types import seq, tensor
from autodiff_compiler.ir.verify import STAGES, VerifyError, verify
from autodiff_compiler.ir.walk import ops_of
from autodiff_compiler.passes.manager import PASSES
from autodiff_compiler.primitives import REGISTRY
from autodiff_compiler.source import Loc

F4, COUNT = tensor(float32, (4,)), tensor(int64, ())

TEXT = """
state @w: f32[4]
constant @c0: f32[2] = [1.0,2.0]
callable @report
func @main(%x: f32[4], %p: bool[], %n: i64[]) -> (f32[4]) {
  %k: f32[4] = const {value=0.5}
  %table: f32[2] = const {value="@c0"}
  %a: f32[4] = tanh %x
  %b: f32[4] = add %a, %k
  %cast: i64[4] = cast %b {dtype=i64}
  %r: f32[4] = if %p then {
    %inner: f32[4] = mul %a, %b
    yield %inner
  } else {
    yield %a
  }
  %t: i64[], %y: f32[4], %saved: seq<f32[4]> = while (%c = %r) cond {
    yield %p
  } body {
    %next: f32[4] = tanh %c
    yield %next ; %c
  }
  %z: f32[4] = scan %n (%d = %y ; %e = %saved) {reverse=True} body (%i) {
    yield %e
  }
  %v: f32[4] = call @callee %z {states=["w"]}
  %s: f32[4] = state_read {state="w"}
  state_write %v {state="w"}
  assert %p {exception="@report"}
  return %v
}
func @callee(%x: f32[4]) -> (f32[4]) {
  return %x
}
"""


def broken_by(change: Callable[[Module, dict[str, Op]], None]) -> VerifyError:
    """What the verifier says after a change to the module above, which is well formed before."""
    module = parse_module(TEXT)
    verify(module)
    ops = {op.defn.name: op for op in reversed(list(ops_of(module.entry.body)))}  # the first op of each name
    change(module, ops)
    with pytest.raises(VerifyError) as caught:
        verify(module)
    return caught.value


def values(module: Module) -> dict[str, Value]:
    return {x.name: x for op in ops_of(module.entry.body) for x in op.results if x.name}


def replace(op: Op, **fields: object) -> None:
    for name, value in fields.items():
        setattr(op, name, value)


# --- structure ----------------------------------------------------------------------------------------------------


def test_an_operand_defined_later() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        replace(ops["tanh"], operands=(values(module)["b"],))

    error = broken_by(change)
    assert error.message == "tanh in @main: operand 0 (<%b: f32[4]>) is not defined before it"
    assert error.op is not None
    assert error.op.defn.name == "tanh"


def test_an_operand_from_inside_a_block() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        replace(ops["assert"], operands=(ops["scan"].blocks[0].args[0],))

    assert "operand 0 (<%i: i64[]>) is not defined before it" in broken_by(change).message


def test_an_operand_from_the_sibling_block() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        ops["if"].blocks[1].outs = [values(module)["inner"]]

    message = broken_by(change).message
    assert message == "if in @main: what the block ends with (number 0, <%inner: f32[4]>) is not defined there"


def test_an_operand_from_another_function() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        module.functions["callee"].body.outs = module.entry.args[:1]

    error = broken_by(change)
    assert error.message.startswith("@callee: what the block ends with (number 0, <%x: f32[4]>) is not defined there")
    assert error.op is None


def test_an_op_twice_in_a_block() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        module.entry.body.ops.append(ops["tanh"])

    assert "result 0 (<%a: f32[4]>) is defined twice" in broken_by(change).message


def test_an_op_in_a_block_that_is_not_its_parent() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        ops["if"].blocks[1].ops.append(ops["mul"])

    assert "not its parent" in broken_by(change).message


def test_a_result_that_does_not_know_its_op_or_position() -> None:
    def other_op(module: Module, ops: dict[str, Op]) -> None:
        ops["tanh"].results = [Value(F4, ops["add"], 0)]
        ops["add"].operands = (*ops["tanh"].results, module.entry.args[0])

    def swapped(module: Module, ops: dict[str, Op]) -> None:
        ops["while"].results[1].index = 0

    assert "tanh in @main: result 0" in broken_by(other_op).message
    assert "while in @main: result 1 (<%y: f32[4]>) does not know its place" in broken_by(swapped).message


def test_an_argument_that_does_not_know_its_block_or_position() -> None:
    def other_block(module: Module, ops: dict[str, Op]) -> None:
        ops["while"].blocks[0].args = ops["while"].blocks[1].args

    def swapped(module: Module, ops: dict[str, Op]) -> None:
        module.entry.args.reverse()

    assert "while in @main: argument 0 of a block does not know its place" in broken_by(other_block).message
    assert broken_by(swapped).message.startswith("@main: argument 0 of a block does not know its place")


def test_a_block_at_two_places() -> None:
    def one_op(module: Module, ops: dict[str, Op]) -> None:
        ops["if"].blocks = ops["if"].blocks[1:] * 2

    def two_ops(module: Module, ops: dict[str, Op]) -> None:
        ops["while"].blocks = (ops["if"].blocks[1], ops["while"].blocks[1])

    def two_functions(module: Module, ops: dict[str, Op]) -> None:
        module.add(Function("twin", module.functions["callee"].body))

    assert "if in @main: one block stands at two places" in broken_by(one_op).message
    assert "while in @main: its block `cond` has another parent" in broken_by(two_ops).message
    assert "@twin: one block stands at two places" in broken_by(two_functions).message


def test_a_wrong_number_of_blocks() -> None:
    def none(module: Module, ops: dict[str, Op]) -> None:
        ops["if"].blocks = ()

    def unexpected(module: Module, ops: dict[str, Op]) -> None:
        ops["tanh"].blocks = (Block(),)

    assert "if in @main: it has 0 blocks, not 2" in broken_by(none).message
    assert "tanh in @main: it has 1 blocks, not 0" in broken_by(unexpected).message


def test_a_function_whose_body_belongs_to_an_op() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        module.functions["callee"].body.parent = ops["if"]

    assert broken_by(change).message.startswith("@callee: its body belongs to an op")


def test_a_function_kept_under_another_name() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        module.functions["other"] = module.functions.pop("main")

    assert "the module calls it @other" in broken_by(change).message


# --- types --------------------------------------------------------------------------------------------------------


def test_a_result_of_another_type_than_the_rule_gives() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        ops["cast"].results[0].type = F4

    assert "cast in @main: its results are typed (f32[4]), inferred is (i64[4])" in broken_by(change).message


def test_a_result_too_many() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        ops["add"].add_result(F4)

    assert "its results are typed (f32[4], f32[4]), inferred is (f32[4])" in broken_by(change).message


def test_operands_that_the_rule_refuses() -> None:
    def shapes(module: Module, ops: dict[str, Op]) -> None:
        ops["add"].operands = (values(module)["a"], values(module)["table"])

    def number(module: Module, ops: dict[str, Op]) -> None:
        ops["cast"].operands = (values(module)["a"],) * 2

    assert "add in @main: the type rule refuses it: shapes differ: f32[4] and f32[2]" in broken_by(shapes).message
    assert "cast in @main: the type rule refuses it: TypeError" in broken_by(number).message


@pytest.mark.parametrize(
    ("op", "block", "message"),
    [
        ("if", 0, "the blocks of if yield different types"),
        ("while", 0, "cond of while yields"),
        ("while", 1, "body of while changes the carries"),
        ("scan", 0, "body of scan changes the carries"),
    ],
)
def test_a_block_that_yields_what_does_not_fit(op: str, block: int, message: str) -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        ops[op].blocks[block].outs = [module.entry.args[2]]

    assert f"{op} in @main: the type rule refuses it: {message}" in broken_by(change).message


def test_a_call_that_does_not_fit_its_callee() -> None:
    def change(module: Module, ops: dict[str, Op]) -> None:
        module.functions["callee"].body.args[0].type = seq(F4)

    assert "call in @main: the type rule refuses it: call of @callee with" in broken_by(change).message


# --- attributes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        ("cast", (), "its attributes are (); the schema is (dtype, linear)"),
        ("cast", (int64,), "the schema is (dtype, linear)"),
        ("cast", [int64], "its attributes are ["),
        ("cast", ("int64", False), "its attribute dtype is 'int64', the canonical form is"),
        ("cast", ("i65", False), "its attribute dtype cannot be 'i65'"),
        ("cast", (np.dtype("int64"), False), "its attribute dtype is no literal of the IR"),
        ("scan", (1, 1), "its attribute reverse is 1, the canonical form is True"),
        ("scan", (True, True), "its attribute carries is True, the canonical form is 1"),
        ("scan", (np.int64(1), True), "its attribute carries is no literal of the IR"),
        ("call", ("@callee", ["w"]), "its attribute states is no literal of the IR: ['w']"),
        ("const", (1, F4), "its value is 1, but f32 holds 1.0"),
        ("const", (0.1, F4), "its value is 0.1, but f32 holds 0.10000000149011612"),
        ("const", (True, F4), "its value is True, but f32 holds 1.0"),
        ("const", (None, F4), "not None"),
        ("const", (0.5, seq(F4)), "a constant is a tensor, not seq<f32[4]>"),
        ("const", (float("inf"), COUNT), "i64 cannot hold inf"),
        ("const", ("@nothing", F4), "the module has no constant @nothing"),
        ("const", ("@c0", F4), "the constant @c0 is float32[2], not f32[4]"),
    ],
)
def test_attributes_that_are_not_canonical(op: str, attrs: object, message: str) -> None:
    error = broken_by(lambda module, ops: replace(ops[op], attrs=attrs))
    assert error.message.startswith(f"{op} in @main: ")
    assert message in error.message


# --- what the module must have ------------------------------------------------------------------------------------


def test_names_that_the_module_does_not_have() -> None:
    def no_function(module: Module, ops: dict[str, Op]) -> None:
        del module.functions["callee"]

    def no_state(module: Module, ops: dict[str, Op]) -> None:
        module.states.clear()

    def no_state_read(module: Module, ops: dict[str, Op]) -> None:
        module.states["v"] = module.states.pop("w")
        replace(ops["call"], attrs=("@callee", ("v",)))

    def no_callable(module: Module, ops: dict[str, Op]) -> None:
        module.callables.clear()

    def other_constant(module: Module, ops: dict[str, Op]) -> None:
        module.constants["c0"] = Unbound("c0", F4)

    def other_state(module: Module, ops: dict[str, Op]) -> None:
        module.states["w"] = StateInfo("w", tensor(bool_, ()))

    assert "call in @main: the module has no function 'callee'" in broken_by(no_function).message
    assert "call in @main: the module has no state 'w'" in broken_by(no_state).message
    assert "state_read in @main: the module has no state 'w'" in broken_by(no_state_read).message
    assert "assert in @main: the module has no callable 'report'" in broken_by(no_callable).message
    assert "const in @main: the constant @c0 is f32[4], not f32[2]" in broken_by(other_constant).message
    assert "state_read in @main: the state 'w' is bool[], not f32[4]" in broken_by(other_state).message


def test_a_function_alone_is_verified_without_its_module() -> None:
    function = parse_module(TEXT).entry
    verify(function)
    function.body.ops[2].operands = ()
    with pytest.raises(VerifyError, match="tanh in @main: the type rule refuses it"):
        verify(function)


def test_grad_of_a_state_is_inferred_with_the_module_only() -> None:
    text = """state @w: f32[4]
    func @f(%x: f32[]) -> () {
      %y: f32[], %dx: f32[], %dw: f32[4] = grad %x {wrt=[0], wrt_states=["w"]} body (%a: f32[]) { yield %a }
      return
    }"""
    module = parse_module(text)
    verify(module)
    verify(module.entry)
    module.states["w"] = StateInfo("w", tensor(float32, (5,)))
    verify(module.entry)
    with pytest.raises(VerifyError, match=r"inferred is \(f32\[\], f32\[\], f32\[5\]\)"):
        verify(module)


# --- links --------------------------------------------------------------------------------------------------------

LINKED = """func @f(%x: f32[4], %p: bool[]) -> (f32[4], f32[4]) {
  %y: f32[4], %l: link<(f32[4]) -> (f32[4])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f32[4]) {
    %b: f32[4] = tanh %a
    yield %b
  }
  %r: f32[4] = if %p then {
    %d: f32[4] = pull %l, %x
    yield %d
  } else {
    yield %x
  }
  return %y, %r
}
"""


def test_a_link_in_its_places_is_well_formed() -> None:
    verify(parse_module(LINKED))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pull %l, %x", "pull %x, %x", "pull in @f: the type rule refuses it: pull takes a link"),
        ("pull %l, %x", "pull %l", "pull in @f: the type rule refuses it: cotangents are"),
        ("pull %l, %x", "pull %l, %l", "operand 1 (<%l: link<(f32[4]) -> (f32[4])>>) is a link: only `pull` takes it"),
        ("seeds=[0]", "seeds=[]", "linearize in @f: its results are typed"),
        ("-> (f32[4])>", "-> ()>", "linearize in @f: its results are typed"),
        ("-> (f32[4], f32[4]) {", "-> (link<(f32[4]) -> (f32[4])>, f32[4]) {", "leaves the block of its `linearize`"),
        ("(%x: f32[4],", "(%k: link<(f32[4]) -> (f32[4])>, %x: f32[4],", "from `linearize` itself"),
    ],
)
def test_a_link_in_another_place(old: str, new: str, message: str) -> None:
    text = LINKED.replace(old, new)
    text = text.replace("return %y", "return %l") if new.startswith("-> (link") else text
    text = text.replace("pull %l", "pull %k") if "%k" in new else text
    with pytest.raises(VerifyError) as caught:
        verify(parse_module(text))
    assert message in caught.value.message


def test_a_pull_before_its_linearize() -> None:
    module = parse_module(LINKED)
    first, branch = module.entry.body.ops
    module.entry.body.ops = [branch, first]
    with pytest.raises(VerifyError, match=r"pull in @f: operand 0 \(<%l: .*\) is not defined before it"):
        verify(module)


# --- stages -------------------------------------------------------------------------------------------------------

STATE = '%s: f32[4] = state_read {state="w"} ; state_write %x {state="w"}'
OPS = {
    "state": STATE,
    "nested state": f"if %p then {{ {STATE} ; yield }} else {{ yield }}",
    "state that runs backward": f"%y: f32[4] = grad_map %x bwd (%g: f32[4]) {{ {STATE} ; yield %g }}",
    "state nested in a block that runs backward": (
        "%y: f32[4] = custom_vjp %x fwd (%a: f32[4]) { yield %a } bwd (%b: f32[4], %o: f32[4], %g: f32[4]) "
        f"{{ if %p then {{ {STATE} ; yield }} else {{ yield }} ; yield %g }}"
    ),
    "state in the forward block of a custom_vjp": (
        f"%y: f32[4] = custom_vjp %x fwd (%a: f32[4]) {{ {STATE} ; yield %a }} "
        "bwd (%b: f32[4], %o: f32[4], %g: f32[4]) { yield %g }"
    ),
    "grad": "%y: f32[4], %dx: f32[4] = grad %x {wrt=[0]} body (%a: f32[4]) { yield %a }",
    "linearize": (
        "%y: f32[4], %l: link<(f32[4]) -> (f32[4])> = linearize %x {wrt=[0], seeds=[0]} body (%a: f32[4]) { yield %a }"
    ),
    "nested grad_map": "if %p then { %y: f32[4] = grad_map %x (%g: f32[4]) { yield %g } ; yield } else { yield }",
    "effects": "print %x {parts=[]}",
}
#: The first stage that rules it out.
RULED_OUT = {
    "state": "PURE", "nested state": "PURE", "state in the forward block of a custom_vjp": "PURE",
    "state that runs backward": "FIRST_ORDER", "state nested in a block that runs backward": "FIRST_ORDER",
    "grad": "FIRST_ORDER", "linearize": "FIRST_ORDER", "nested grad_map": "FIRST_ORDER", "effects": None,
}  # fmt: skip


@pytest.mark.parametrize("what", OPS)
def test_a_stage_rules_out_ops(what: str) -> None:
    function = parse_function(f"func @f(%x: f32[4], %p: bool[]) -> () {{ {OPS[what]} ; return }}")
    first = RULED_OUT[what]
    allowed = True
    for stage in STAGES:
        allowed = allowed and stage != first
        if allowed:
            verify(function, stage)
        else:
            with pytest.raises(VerifyError, match="this op may not exist at this stage"):
                verify(function, stage)


def test_the_stages_are_in_order() -> None:
    assert list(STAGES) == ["LOWERED", "PURE", "FIRST_ORDER", "FUSED"]
    with pytest.raises(KeyError):
        verify(Module(), "PUER")


# --- reports ------------------------------------------------------------------------------------------------------


def test_the_report_shows_ten_lines_around_the_op_and_its_location() -> None:
    ops = "\n".join(f"%a{i}: f32[4] = tanh %x @ net.py:{i}:4" for i in range(20))
    function = parse_function(f"func @f(%x: f32[4]) -> () {{\n{ops}\nreturn }}")
    function.body.ops[12].operands = (function.body.ops[15].results[0],)
    function.body.ops[12].loc = Loc("net.py", 12, 4, tag="adjoint")
    with pytest.raises(VerifyError) as caught:
        verify(function)
    error = caught.value
    assert isinstance(error, InternalCompilerError)
    assert error.loc == Loc("net.py", 12, 4, tag="adjoint")
    shown = [line for line in str(error).split("\n") if "tanh %" in line]
    assert [line.split(":")[0].strip(" >") for line in shown] == [f"%a{i}" for i in range(7, 18)]
    assert [line for line in shown if line.startswith(">")] == [shown[5]]
    assert "= tanh %?a15 " in shown[5]


def test_the_report_of_a_broken_end_of_a_block_marks_that_line() -> None:
    function = parse_function("func @f(%x: f32[4], %p: bool[]) -> () { if %p then { yield } else { yield } ; return }")
    (op,) = function.body.ops
    op.blocks[1].outs = [Value(F4, op, 0, "gone")]
    with pytest.raises(VerifyError) as caught:
        verify(function)
    (marked,) = (line for line in str(caught.value).split("\n") if line.startswith(">"))
    assert marked.split() == [">", "yield", "%?gone"]


def test_the_report_shows_attributes_that_are_no_literals() -> None:
    function = parse_function("func @f(%x: f32[4]) -> () { %y: i64[4] = cast %x {dtype=i64} ; return }")
    function.body.ops[0].attrs = (np.int64(3), False)
    with pytest.raises(VerifyError, match=r"> +%y: i64\[4\] = cast %x \{dtype=<"):
        verify(function)


def test_ir_too_broken_to_print_is_still_reported() -> None:
    function = parse_function("func @f(%x: f32[4]) -> () { %y: f32[4] = tanh %x ; return }")
    function.body.ops.append(Op(REGISTRY["tanh"], (), (None,), (), (), None, function.body))  # type: ignore[arg-type]
    with pytest.raises(VerifyError, match="the type rule refuses it") as caught:
        verify(function)
    assert "cannot be printed" in str(caught.value)


# --- placeholders -------------------------------------------------------------------------------------------------

MAYBE = """
func @main(%x: f32[4], %p: bool[], %n: i64[]) -> (f32[]) {
  %zero: f32[] = const {value=0.0}
  %v: f32[4] = if %p then {
    %a: f32[4] = tanh %x
    yield %a
  } else {
    %u: f32[4] = undef
    OTHER
    yield %u
  }
  OUTSIDE
  %r: f32[] = if %p then {
    INSIDE
    yield %zero
  } else {
    yield %zero
  }
  return %r
}
"""
SUM = "%s: f32[] = sum %v {axes=[-1]}"


def maybe(outside: str = "", inside: str = "%q: f32[] = neg %zero") -> Module:
    text = MAYBE.replace("OUTSIDE", outside).replace("INSIDE", inside).replace("OTHER", "")
    return parse_module(text)


def test_a_value_that_may_be_undef_is_read_under_a_condition_only() -> None:
    verify(maybe(inside=SUM))
    with pytest.raises(VerifyError, match=r"sum in @main: it reads <%v: f32\[4\]>, which may be undef there"):
        verify(maybe(outside=SUM))


@pytest.mark.parametrize(
    "carried",
    [
        "%t: (f32[4]) = tuple_make %v\n%w: f32[4] = tuple_get %t {index=0}",
        "%w: f32[4] = if %p then { yield %x } else { %y: f32[4] = if %p then { yield %x } else { "
        "%u2: f32[4] = undef; yield %u2 } yield %y }",
        "%w: f32[4] = scan %n (%c = %v) body (%i) { yield %c }",
        "%k: i64[], %w: f32[4] = while (%c = %v) cond { yield %p } body { yield %c }",
    ],
)
def test_a_placeholder_is_followed(carried: str) -> None:
    verify(maybe(outside=carried.replace(";", "\n"), inside=SUM.replace("%v", "%w")))
    with pytest.raises(VerifyError, match="may be undef"):
        verify(maybe(outside=carried.replace(";", "\n") + "\n" + SUM.replace("%v", "%w")))


def test_a_loop_that_surely_runs_gives_what_its_body_ends_with() -> None:
    two = "%two: i64[] = const {value=2}\n%w: f32[4] = scan COUNT (%c = %v) body (%i) { yield %x }\n"
    verify(maybe(outside=two.replace("COUNT", "%two") + SUM.replace("%v", "%w")))
    with pytest.raises(VerifyError, match="may be undef"):
        verify(maybe(outside=two.replace("COUNT", "%n") + SUM.replace("%v", "%w")))


def test_an_arm_that_raises_gives_no_placeholder() -> None:
    text = MAYBE.replace("OUTSIDE", SUM).replace("INSIDE", "").replace("OTHER", 'raise {exception="@report"}')
    verify(parse_module("callable @report\n" + text.lstrip()))


def test_what_stands_under_a_condition_is_not_moved_to_where_the_value_may_be_undef() -> None:
    module = parse_module("""
func @main(%x: f32[4], %p: bool[], %n: i64[]) -> (f32[1]) {
  %none: f32[1] = const {value=0.0}
  %y: f32[1] = scan %n (%c = %none) body (%i) {
    %v: f32[4] = if %p then {
      %a: f32[4] = tanh %x
      yield %a
    } else {
      %u: f32[4] = undef
      yield %u
    }
    %r: f32[1] = if %p then {
      %first: f32[1] = slice %v {axes=[-1], starts=[0], stops=[1], steps=[1]}
      %other: f32[1] = slice %x {axes=[-1], starts=[0], stops=[1], steps=[1]}
      %both: f32[1] = add %first, %other
      yield %both
    } else {
      yield %c
    }
    yield %r
  }
  return %y
}
""")
    for name in ("views", "licm"):
        moved = PASSES[name](module)
        verify(moved)
        first, other = (values(moved)[x].op for x in ("first", "other"))
        assert first.parent.parent.defn.name == "if"
        assert (other.parent is moved.entry.body) == (name == "views")  # nothing keeps that one
