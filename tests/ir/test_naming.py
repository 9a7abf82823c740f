"""Names of values: unique in a function, the same at all stages, adjoints after the values they belong to."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.compiler.pipeline import optimise
from autodiff_compiler.dtypes import float32
from autodiff_compiler.ir.core import Block, Function, Value
from autodiff_compiler.ir.naming import Namer, name_values
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.source import Loc
from tests.programs.compare import define

F4 = tensor(float32, (4,))


def test_of_two_values_that_want_one_name_the_first_gets_it():
    namer = Namer()
    assert [namer.name(n) for n in ("h", "h", "h_1", "h", "a.b", "2x", "h")] == [
        "h", "h_1", "h_1_1", "h_2", "a_b", "_2x", "h_3",
    ]  # fmt: skip


def test_fresh_numbers_begin_behind_those_that_values_have():
    values = [Value(F4, Block(), 0) for _ in range(3)]
    values[1].number = 6
    namer = Namer(values)
    assert [namer.number(x.number) for x in values] == [7, 6, 8]
    assert Namer(values, first=20).number(None) == 20


def test_the_number_of_a_value_that_is_gone_is_not_given_again():
    module = parse_module("func @f(%x: f32[4]) -> (f32[4]) { %0: f32[4] = tanh %x ; %1: f32[4] = exp %0 ; return %1 }")
    name_values(module)
    body = Block([F4], ["x"])
    changed = module.like({"f": Function("f", body)})
    from autodiff_compiler.ir.build import Builder
    from autodiff_compiler.primitives import F

    with Builder(body) as b:
        b.ret(F.sin(body.args[0]))
    assert "%2: f32[4] = sin %x" in print_module(name_values(changed))


# ------------------------------------------------------------------------------------------- of programs
def lowered(source, *args, wrt=0, name="f"):
    return ms.jit(ms.grad(define(source, name), wrt)).lower(*args)


X = ms.Tensor(np.array([0.5, -0.25], np.float32))


def test_the_versions_of_a_variable_and_their_adjoints():
    artifact = lowered("""
        def f(x):
            h = ms.ops.sin(x)
            h = h * x
            h = ms.ops.exp(h)
            return h.sum()
    """, X)  # fmt: skip
    for stage in ("adjoint", "opt"):
        lines = artifact.ir(stage).splitlines()
        found = {m[1]: m[2] for line in lines if (m := re.match(r"  %(\w+): \S+ = (\w+) ", line))}
        assert found["h"] == "sin"
        assert found["h_1"] == "mul"
        assert found["h_2"] == "exp"
        assert found["d_h"] == "mul"  # by x: the adjoint of %h, the operand of the product
        assert found["d_x"] == "add"
    text = artifact.ir("adjoint")
    assert re.search(r"%d_h_1: f32\[2\] = mul %d_h_2, %h_2 ", text)
    assert re.search(r"%d_h: f32\[2\] = mul %d_h_1, %x ", text)


def test_only_the_full_sum_has_the_name_and_shares_are_numbered():
    text = lowered("""
        def f(x):
            a = ms.ops.sin(x)
            b = ms.ops.exp(x)
            return (a * b * x).sum()
    """, X).ir("adjoint")  # fmt: skip
    assert len(re.findall(r"%d_x: ", text)) == 1
    line = next(line for line in text.splitlines() if "%d_x: " in line)
    assert re.search(r"// sum of the uses at <program \d+>:3, <program \d+>:4, <program \d+>:5$", line)
    assert {"%d_x_part1", "%d_x_part2", "%d_x_part3"} <= set(re.findall(r"%\w+", text))


def test_the_second_order_has_names_of_its_own():
    artifact = ms.jit(ms.grad(lambda x: ms.grad(lambda x: (ms.ops.sin(x) * x).sum())(x).sum())).lower(X)
    names = set(re.findall(r"%(\w+): ", artifact.ir("adjoint")))
    assert {"d_x", "d2_x"} <= names
    assert any(name.startswith("d2_d_") for name in names)


def test_names_are_the_same_in_another_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import autodiff_compiler as ms\n"
        "def f(x, w):\n"
        "    h = x\n"
        "    for i in range(12):\n"
        "        h = ms.ops.tanh(h * w) + x\n"
        "    return h.sum()\n"
        "a = ms.jit(ms.grad(f, (0, 1))).lower(ms.Tensor([1.0]), ms.Tensor([2.0]))\n"
        "print(*[a.ir(stage) for stage in ('front', 'adjoint', 'opt', 'plan')])\n"
    )
    texts = set()
    for seed in ("1", "2"):
        env = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(ms.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
        found = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, check=True)
        texts.add(found.stdout)
    assert len(texts) == 1


def test_naming_does_not_change_the_key_of_a_kept_program():
    recipe = pytest.importorskip("autodiff_compiler.backends.native.recipe")
    module = parse_module("func @f(%x: f32[4]) -> (f32[4]) { %h: f32[4] = tanh %x ; return %h }")
    module.entry.body.ops[0].results[0].name = "x"  # wants a name that is taken
    before = recipe.module_key(module)
    optimise(module)
    assert module.entry.body.ops[0].results[0].name == "x_1"
    assert recipe.module_key(module) == before


def test_a_place_in_the_library_says_first_which_line_called_it():
    loc = Loc(ms.__file__, 70, 4, caller=Loc("/lib/other.py", 3, 2, caller=Loc("/home/net.py", 9, 1)), tag="adjoint")
    inner = Loc(ms.__file__, 70, 4, caller=Loc(ms.__file__, 5, 2, caller=Loc("/home/my net.py", 9, 1)))
    module = parse_module("func @f(%x: f32[4]) -> (f32[4]) { %h: f32[4] = tanh %x ; %k: f32[4] = sin %h ; return %k }")
    for op, place in zip(module.entry.body.ops, (loc, inner), strict=True):
        op.loc = place
    text = print_module(module)
    assert text.splitlines()[1].endswith(" @ other.py:3:2 in __init__.py:70:4 adjoint")
    assert text.splitlines()[2].endswith(' @ "my net.py":9:1 in __init__.py:70:4')
    again = parse_module(text)
    assert print_module(again) == text
    assert again.entry.body.ops[0].loc.of_user()[:3] == ("other.py", 3, 2)
    assert again.entry.body.ops[0].loc.tag == "adjoint"
