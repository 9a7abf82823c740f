"""What `explain` says is what was done: each reason on a program made for it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TensorSpec, mutable, nn, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.compiler.pipeline import why_numpy
from autodiff_compiler.config import context
from autodiff_compiler.inspection.figures import size
from autodiff_compiler.ir.text import parse_module
from tests.inspection.lowered_programs import PROGRAMS, Net

X = TensorSpec("f32[4]")
NO_MACHINE_CODE = why_not()
of_machine_code = pytest.mark.skipif(NO_MACHINE_CODE is not None, reason=str(NO_MACHINE_CODE))


@pytest.fixture(autouse=True)
def on_the_usual_backend():
    """Explanations speak of kernels, whatever the suite runs on."""
    before = context.backend
    context.set(backend="numpy" if NO_MACHINE_CODE else "native")
    yield
    context.set(backend=before)


def sections(text):
    """The lines under each heading, by the first word of the heading."""
    head, *parts = text.rstrip("\n").split("\n\n")
    found = {part.split()[0].rstrip(":"): [line[2:] for line in part.split("\n")[1:]] for part in parts}
    assert len(found) == len(parts)
    return head, found


def under(fn, *args, word):
    return sections(fn.lower(*args).explain())[1].get(word, [])


def line_of(fn, marker):
    """The place of the line of a function that ends in a marker."""
    import inspect

    lines, first = inspect.getsourcelines(fn)
    (at,) = [i for i, line in enumerate(lines) if line.rstrip().endswith(f"# {marker}")]
    return f"test_explain.py:{first + at}"


def about(lines, place):
    return [line for line in lines if line.startswith(f"{place}: ")]


# ------------------------------------------------------------------------------------------------ short and steady
def test_a_short_function_has_a_short_explanation():
    head, found = sections(ms.jit(lambda x: x * 2).lower(X).explain())
    assert head.startswith("lambda(f32[4])\n2 ops, 0 loops, run by ")
    assert set(found) - {"Kernels"} == {"Static", "Valid", "Passes"}
    assert len(found["Static"]) == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_explanations_differ_in_times_only(name):
    def without_times(text):
        return re.sub(r" +\d+\.\d\d$", "", text, flags=re.MULTILINE)

    program = PROGRAMS[name]()
    first, second = [program.fn.lower(*program.args).explain() for _ in range(2)]
    assert without_times(first) == without_times(second)
    assert first.isprintable() or "\n" in first


# ------------------------------------------------------------------------------------------------ loops and branches
def control(x, n, flag):
    for i in range(3):  # short
        x = x + i
    for i in range(30):  # long
        x = ops.sin(x)
    for i in range(n):  # unknown
        x = x + 1.0
    for i in ms.unroll(range(30)):  # forced
        x = x * 1.5
    for i in ms.keep(range(3)):  # asked
        x = x * 1.25
    grown = [x]
    for i in range(12):  # grows
        grown.insert(0, x * i)
    k = 0
    while k < 4:  # counted
        k = k + 1
    while x.sum() < 10:  # dynamic
        x = x * 2
    if flag:  # static
        x = x + 3
    if x.max() > 5:  # both
        x = x - 1
    y = x if x.min() > 0 else -x  # ternary
    for v in (1, 2):
        if v == 1:  # each
            y = y + grown[-1]
    return y


OUTCOMES = {
    "short": ["for: unrolled, 3 trips: up to 8 (`unroll_limit`) are unrolled"],
    "long": ["for: kept as a loop, 30 trips: up to 8 (`unroll_limit`) are unrolled"],
    "unknown": ["for: kept as a loop: how many trips it has is known only at run time (argument `n` is mutable"],
    "forced": ["for: unrolled, 30 trips: `unroll(...)` asks for it"],
    "asked": ["for: kept as a loop, 3 trips: `keep(...)` asks for it"],
    "grows": ["for: unrolled, 12 trips: it cannot be kept as a loop: a trip calls `insert` of the list `grown`"],
    "counted": ["while: unrolled, 4 trips: its condition is known while compiling"],
    "dynamic": ["while: kept as a loop: its condition is known only at run time ("],
    "static": ["if: one branch only: its condition is known while compiling: True"],
    "both": ["if: both branches: its condition is known only at run time ("],
    "ternary": ["if: both branches: its condition is known only at run time ("],
    "each": [
        "if: one branch only: its condition is known while compiling: True",
        "if: one branch only: its condition is known while compiling: False",
    ],
}


@pytest.fixture(scope="module")
def control_lines():
    return under(ms.jit(control), X, mutable(5), True, word="Loops")


@pytest.mark.parametrize("marker", OUTCOMES)
def test_each_loop_and_branch_has_its_reason(control_lines, marker):
    place = line_of(control, marker)
    found = [line.removeprefix(f"{place}: ") for line in about(control_lines, place)]
    assert len(found) == len(OUTCOMES[marker])
    assert all(line.startswith(start) for line, start in zip(found, OUTCOMES[marker], strict=True))


def test_the_ir_has_the_loops_that_are_said_to_be_kept():
    artifact = ms.jit(control).lower(X, mutable(5), True)
    kept = [line for line in sections(artifact.explain())[1]["Loops"] if ": kept as a loop" in line]
    text = artifact.ir("front")
    assert len(re.findall(r"= (?:scan|while) ", text)) == len(kept) == 4
    assert len(re.findall(r"= if ", text)) == 2


def test_jumps_are_no_branches_of_the_user():
    def f(x):
        for i in range(20):
            if x.sum() > i:  # leaves
                break
            x = x + 1
        return x

    lines = under(ms.jit(f), X, word="Loops")
    assert len(lines) == 2
    assert about(lines, line_of(f, "leaves"))


def test_what_was_tried_and_given_up_is_not_told():
    def f(x):
        held = []
        for i in range(10):
            if x.sum() > i:  # inside
                x = x + 1
            held.insert(0, x)
        return held[-1]

    lines = about(under(ms.jit(f), X, word="Loops"), line_of(f, "inside"))
    assert len(lines) == 10 or len(set(lines)) == len(lines)
    assert all("both branches" in line and "kept loop" not in line for line in lines)


# ------------------------------------------------------------------------------------------------ kernels
@of_machine_code
def test_ops_that_share_a_kernel_are_those_of_the_machine_code():
    def f(x):
        return ops.tanh(x * 2.0 + 1.0)  # one

    artifact = ms.jit(f).lower(X)
    (line,) = sections(artifact.explain())[1]["Kernels"]
    assert line == f"3 ops: mul, add, tanh ({line_of(f, 'one')})"
    assert len(re.findall(r"^define internal .* @k\d+\(", artifact.code(), flags=re.MULTILINE)) <= 1


@of_machine_code
@pytest.mark.parametrize(
    ("function", "args", "reason"),
    [
        (lambda x: x * x / (x * x).sum(1), ("f32[64,64]",), "broadcast_to spreads numbers of rows along other axes"),
        (lambda x: ops.exp(x).sum(0) + 1.0, ("f32[8,300]",), "a reduction that is complete only when the kernel"),
        (
            lambda x, w: ops.tanh(ops.matmul(ops.tanh(x), w)) + ops.tanh(x),
            ("f32[64,64]",) * 2,
            "matmul needs the whole",
        ),
        (lambda x: (ops.exp(x).sum(2).sum(), ops.exp(x).sum(0)), ("f32[8,4,300]",), "sum reduces other axes than"),
    ],
)
def test_why_ops_have_kernels_of_their_own(function, args, reason):
    lines = under(ms.jit(function), *map(TensorSpec, args), word="Kernels")
    text = " ".join(line.strip() for line in lines)
    assert "apart: " in text
    assert reason in text


@of_machine_code
def test_advice_on_keepdims_is_right():
    lines = under(ms.jit(lambda x: x * x / (x * x).sum(keepdims=True)), TensorSpec("f32[64]"), word="Kernels")
    assert len(lines) == 1
    assert lines[0].startswith("3 ops: mul, sum, div ")


def test_on_numpy_nothing_is_fused(on_the_usual_backend, numpy_backend):
    assert under(ms.jit(lambda x: ops.tanh(x + 1)), X, word="Kernels") == [
        "NumPy computes one op after the other, none are fused; no machine code: as the backend numpy was asked for"
    ]


RECURSIVE = """
func @double_until_ten(%x: f32[]) -> (f32[]) {
  %n: f32[] = const {value=10.0}
  %p: bool[] = less %x, %n
  %r: f32[] = if %p then {
    %y: f32[] = add %x, %x
    %z: f32[] = call @double_until_ten %y
    yield %z
  } else {
    yield %x
  }
  return %r
}
"""


@of_machine_code
def test_why_there_is_no_machine_code():
    assert why_numpy(parse_module(RECURSIVE)) == "functions that call themselves"


# ------------------------------------------------------------------------------------------------ derivatives
def test_what_the_adjoint_reads_is_told_with_its_bytes():
    def loss(w, x):
        h = ops.tanh(ops.matmul(x, w))  # hidden
        return (ops.matmul(h, w) ** 2).sum()

    lines = under(ms.grad(loss), TensorSpec("f32[16,16]"), TensorSpec("f32[8,16]"), word="Derivative")
    (hidden,) = [line for line in lines if line.startswith("saved: ") and f"tanh ({line_of(loss, 'hidden')})" in line]
    assert f", {8 * 16 * 4} B: for " in hidden
    assert lines[0].endswith("is saved; arguments, which are there anyway, are not counted")


def of_argument(x):
    y = ops.broadcast_to(x, (100, 100))
    return (ops.sin(y) * y).sum()


def of_something_kept(x, w):
    h = ops.matmul(x, w)
    spread = ops.broadcast_to(ops.expand_dims(h, 0), (50, 16, 16))
    return (ops.exp(spread) * ops.matmul(spread, spread)).sum()


def of_a_part(x, w):
    h = ops.tanh(ops.matmul(x, w))
    return (ops.matmul(h[:4], w) ** 2).sum()


#: the bytes that are kept: of sin(y); of h, exp and the product; of h, which has those of its rows, and the product
VIEWS = [
    (of_argument, ["f32[100]"], 40_000),
    (of_something_kept, ["f32[16,16]"] * 2, 1024 + 2 * 50 * 1024),
    (of_a_part, ["f32[16,16]"] * 2, 1024 + 256),
]


@pytest.mark.parametrize(("fn", "args", "nbytes"), VIEWS)
def test_views_have_no_bytes_of_their_own(fn, args, nbytes, numpy_backend):
    artifact = ms.grad(fn, tuple(range(len(args)))).lower(*map(TensorSpec, args))
    lines = sections(artifact.explain())[1]["Derivative"]
    assert lines[0].startswith(f"{size(nbytes)} is saved; ")
    assert not any(view in line for line in lines for view in ("broadcast_to", "expand_dims", "slice"))
    assert re.search(rf"^// kept for the adjoint: .* \(up to {nbytes} bytes\)$", artifact.ir("opt"), re.MULTILINE)
    assert artifact.memory().arena >= nbytes


@of_machine_code
def test_what_a_kernel_has_at_hand_takes_no_memory():
    artifact = ms.grad(of_argument).lower(TensorSpec("f32[100]"))
    lines = sections(artifact.explain())[1]["Derivative"]
    assert lines[0].startswith("nothing is saved; ")
    assert lines[1].startswith("at hand: sin ")
    assert artifact.memory().arena == 0


@of_machine_code
@pytest.mark.parametrize(("fn", "args"), [(fn, args) for fn, args, _ in VIEWS])
def test_footer_and_explanation_name_the_same_values(fn, args):
    artifact = ms.grad(fn, tuple(range(len(args)))).lower(*map(TensorSpec, args))
    told = [line for line in sections(artifact.explain())[1]["Derivative"] if line.startswith(("saved", "at hand"))]
    (footer,) = re.findall(r"^// kept for the adjoint: (.*) \(up to", artifact.ir("opt"), re.MULTILINE)
    assert len(footer.split(", ")) == len(told)


def test_loops_save_for_each_trip_what_they_cannot_compute_again():
    def known(x):
        for _ in range(20):
            x = ops.sin(x) * x
        return x.sum()

    def unknown(x):
        while x.sum() < 10:
            x = ops.exp(x) * x
        return x.sum()

    (saved,) = [line for line in under(ms.grad(known), X, word="Derivative") if line.startswith("saved: ")]
    assert f"seq<f32[4]>, {20 * 16} B" in saved
    assert f" (up to {20 * 16} bytes)\n" in ms.grad(known).lower(X).ir("opt")
    assert " and 16 bytes for each trip)\n" in ms.grad(unknown).lower(X).ir("opt")
    lines = under(ms.grad(unknown), X, word="Derivative")
    assert any("seq<f32[4]>, 16 B for each trip" in line for line in lines)
    assert re.match(r"(\d+ B and )?16 B for each trip is saved; ", lines[0])


def test_what_is_computed_again_is_told():
    def f(x):
        for _ in range(20):
            y = x * 2.0 + 1.0
            x = ops.sin(y) * y  # again
        return x.sum()

    artifact = ms.grad(f).lower(X)
    assert "recomputed" in artifact.ir("opt")
    lines = sections(artifact.explain())[1]["Derivative"]
    assert [line for line in lines if line.startswith("computed again: ") and f"sin ({line_of(f, 'again')})" in line]


def test_a_function_without_derivative_has_no_such_section():
    assert under(ms.jit(lambda x: ops.sin(x)), X, word="Derivative") == []


# ------------------------------------------------------------------------------------------------ what it depends on
class Holds(nn.Cell):
    """Has an attribute that derivatives have, too."""

    def __init__(self):
        super().__init__()
        self.fn = lambda inner: inner + 1

    def construct(self, outer):
        return self.fn(outer)


def test_a_cell_that_holds_a_function_has_its_own_arguments():
    assert under(Holds(), X, word="Static")[-1].startswith("outer: dynamic")


RATE = 3.0
OUTSIDE = Tensor(np.ones(4, np.float32))


def test_guards_tensors_from_outside_and_states():
    net = Net()

    def f(x):
        return net(x) * RATE + OUTSIDE.sum()

    found = sections(ms.jit(f).lower(TensorSpec("f32[3,5]")).explain())[1]
    assert any("RATE is 3.0" in line for line in found["Valid"])
    assert found["Tensors"] == ["global OUTSIDE: f32[4]"]
    assert "first.weight: f32[8,5], read" in found["States"]
    program = PROGRAMS["train_step"]()
    assert "first.weight: f32[8,5], read and written" in under(program.fn, *program.args, word="States")


def test_a_long_list_is_summed_up_and_says_so():
    net = nn.SequentialCell(*[nn.Dense(2, 2) for _ in range(20)])
    lines = under(net, TensorSpec("f32[1,2]"), word="Valid")
    assert sum(not line.startswith(" ") for line in lines) < 12  # the others go on with the one before
    assert re.fullmatch(r"\d+ in all \(`fn.guards\(\)` has each, with the line that reads it\)", lines[0])
    assert max(map(len, lines)) <= 116
    assert any(line.startswith("these names in classes, modules and builtins still stand for ") for line in lines)


@of_machine_code
def test_reasons_that_are_nearly_equal_are_summed_up():
    def repeated(x, w):
        for i in ms.unroll(range(12)):
            x = ops.tanh(ops.matmul(x, w)) + x.sum(0) * w[i]
        return x.sum()

    lines = under(ms.jit(ms.grad(repeated)), TensorSpec("f32[64,64]"), TensorSpec("f32[64,64]"), word="Kernels")
    apart = [i for i, line in enumerate(lines) if line.startswith("apart: ")]
    assert 2 <= len(apart) <= 8
    text = " ".join(line.strip() for line in lines[apart[0] :])
    assert " more like this)" in text
    assert not re.search(r"\bit\b", text)  # every sentence names the op that it is about
    for found in re.finditer(r"apart: (\w+) \([^)]*\) and (\w+) \([^)]*\): (\w+) ", text):
        assert found[3] == found[2]


def test_passes_come_last_with_their_times():
    text = ms.grad(lambda x: (x * x).sum()).lower(X).explain()
    last = text.rstrip("\n").split("\n\n")[-1].split("\n")
    assert last[0] == "Passes"
    assert [line.split()[0] for line in last[2:]][2:4] == ["views", "expand_grad"]
