"""The explanation of a training step is read, not scrolled: what equal blocks and an optimizer repeat is said once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import TensorSpec, nn, ops
from autodiff_compiler.compiler.history import watched

WIDTH, DEPTH = 8, 4


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Dense(WIDTH, 16), nn.Dense(16, WIDTH)

    def construct(self, x):
        return x + self.down(ops.tanh(self.up(x)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block() for _ in range(DEPTH)])

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return x.mean()


NET = Net()
OPTIMIZER = nn.Adam(NET.trainable_params(), learning_rate=0.25)
DERIVATIVE = ms.value_and_grad(NET, None, OPTIMIZER.parameters)


def train_step(x):
    value, grads = DERIVATIVE(x)
    OPTIMIZER(grads)
    return value


@pytest.fixture(scope="module")
def artifact():
    return ms.jit(train_step).lower(TensorSpec(f"f32[16,{WIDTH}]"))


@pytest.fixture(scope="module")
def sections(artifact):
    head, *parts = artifact.explain().rstrip("\n").split("\n\n")
    return {"head": head.split("\n"), **{p.split()[0]: [x[2:] for x in p.split("\n")[1:]] for p in parts}}


def test_the_head_says_how_to_find_what_is_expensive(sections):
    assert {"`cost()`", "`timing()`", "`profile(fn)`"} <= set(re.findall(r"`[^`]*`", sections["head"][2]))


def test_the_parameters_of_an_optimizer_are_counted_not_listed(artifact):
    text = " ".join(artifact.explain().split())
    assert "ParameterTuple((" not in text
    assert "a Parameter object, a Parameter object" not in text
    (guard,) = [g for g in watched([artifact._call.compiled]) if g.what == "Adam.parameters"]
    assert guard.seen == f"a ParameterTuple of {len(NET.trainable_params())} Parameter objects"


def test_the_head_of_a_method_names_its_class():
    spec = TensorSpec(f"f32[16,{WIDTH}]")
    for method in (NET.construct, NET.blocks[0].construct):
        said = f"{type(method.__self__).__name__}.construct(f32[16,{WIDTH}])"
        assert ms.jit(method).lower(spec).explain().startswith(f"{said}\n")
    assert ms.jit(train_step).lower(spec).of == f"train_step(f32[16,{WIDTH}])"


def test_states_are_counted_and_repeated_ones_said_once(artifact, sections):
    parameters = [*NET.trainable_params()]
    nbytes = sum(p.asnumpy().nbytes for p in parameters)
    states = artifact._call.compiled.program.stages.opt.inputs
    lines = sections["States"]
    assert lines[0].startswith(f"{len(states)} in all, ")
    assert len(lines) < len(states) / 3
    for moment in ("moment1", "moment2"):
        (line,) = [line for line in lines if line.startswith(f"{moment}.*: ")]
        assert f"one for each of {len(parameters)} Parameters" in line
        assert f"{nbytes / 1024:.2f} KiB" in line
    (weights,) = [line for line in lines if line.startswith("blocks.0.up.weight")]
    assert f"to blocks.{DEPTH - 1}.up.weight, {DEPTH} of them: f32[16,{WIDTH}], read and written" in weights


def test_few_states_are_listed_with_their_names():
    cell = nn.Dense(2, 3)
    text = ms.jit(lambda x: cell(x)).lower(TensorSpec("f32[4,2]")).explain()
    (part,) = [p for p in text.split("\n\n") if p.startswith("States")]
    assert sorted(line.strip() for line in part.rstrip("\n").split("\n")[2:]) == [
        "bias: f32[3], read",
        "weight: f32[3,2], read",
    ]


def test_many_guards_are_summed_up_by_kind(artifact, sections):
    from autodiff_compiler.compiler.history import watched

    guards = watched([artifact._call.compiled])
    text = "\n".join(sections["Valid"])
    assert text.startswith(f"{len(guards)} in all")
    assert len(sections["Valid"]) < 40 < len(guards)
    joined = re.sub(r"\n\s+", " ", text)
    assert f"Block x{DEPTH}" in re.search(r"classes of objects: (.*)", joined)[1]
    assert "train_step (test_explain_train_step.py:" in re.search(r"functions as they are defined: (.*)", joined)[1]
    # what users change most comes first
    assert joined.index("\nvalues: ") < joined.index("\nfunctions as") < joined.index("\nno hooks")


def test_few_guards_are_told_with_their_places():
    k = np.float32(3.0).item()

    def f(x):
        return x * k

    text = ms.jit(f).lower(TensorSpec("f32[2]")).explain()
    assert re.search(r"\n  .*k is 3\.0 \(read at test_explain_train_step\.py:\d+ in .*f\)", text)


def test_values_of_equal_blocks_are_one_line(sections):
    saved = [line for line in sections["Derivative:"] if line.startswith(("saved", "at hand"))]
    assert len(saved) == len(set(saved)) <= 4
    assert any(f"{DEPTH} values" in line for line in saved)


def test_the_whole_fits_on_two_screens(sections):
    assert sum(map(len, sections.values())) < 100
