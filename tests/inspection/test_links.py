"""From a line of source to its ops, adjoints and code, and back: `where`, `origin`, and the links they are made of."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit
from autodiff_compiler.inspection.figures import duration
from autodiff_compiler.inspection.links import STAGES_OF_OPS, Part, Place, links_of
from tests.inspection import linked_programs
from tests.inspection.linked_programs import Layer, TwoLayers, line_of, looped, net, reused
from tests.inspection.lowered_programs import PROGRAMS

FILE = linked_programs.__file__


def some(*shape):
    return Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


@pytest.fixture(params=["native", "numpy"])
def gradient(request):
    return jit(ms.value_and_grad(net, (0, 1)), backend=request.param).lower(some(16, 8), some(8, 32))


def names(ops):
    return [(op.op, op.part) for op in ops]


# ------------------------------------------------------------------------------------------------- where
def test_a_line_has_its_ops_at_each_stage(gradient):
    found = gradient.where(f"linked_programs.py:{line_of('hidden = ops')}")
    assert found.place == Place(FILE, line_of("hidden = ops"))
    assert found.place.text == "hidden = ops.matmul(x, w)"
    assert names(found.ops["front"]) == [("matmul", "")]
    expected = [("matmul", ""), *[("transpose", "adjoint"), ("matmul", "adjoint")] * 2]
    for stage in ("adjoint", "opt", "plan"):
        assert sorted(names(found.ops[stage])) == sorted(expected)
    assert found.ops["front"][0].values == ("%hidden",)
    assert {v for op in found.adjoints for v in op.values} >= {"%d_x", "%d_w"}
    assert not any(found.called.values())


def test_ops_stand_on_the_lines_of_the_text(gradient):
    found = gradient.where(f"linked_programs.py:{line_of('active = ops')}")
    for stage in STAGES_OF_OPS:
        lines = gradient.ir(stage).splitlines()
        for op in found.ops[stage]:
            assert lines[op.line - 1].lstrip().startswith(f"{op.values[0]}: ")
            assert f" = {op.op} " in lines[op.line - 1]


def test_what_a_line_calls(gradient):
    inner, outer = line_of("return z * 0.5"), line_of("half = scaled")
    found = gradient.where(f"linked_programs.py:{outer}")
    assert found.ops["opt"] == ()
    assert ("mul", "") in names(found.called["opt"])
    assert {op.places[:2] for op in found.called["opt"]} == {(Place(FILE, inner), Place(FILE, outer))}
    assert gradient.where(f"linked_programs.py:{inner}").ops["opt"] == found.called["opt"]


def test_the_code_of_a_line(gradient):
    """The code that is named computes the line: tanh has a function of NumPy, or instructions with its comment."""
    place = line_of("active = ops")
    found = gradient.where(f"linked_programs.py:{place}")
    lines = gradient.code().splitlines()
    text = "\n".join(line for code in found.code for line in lines[code.span.first - 1 : code.span.last])
    if gradient.cost().backend == "native":
        assert any(code.function.startswith("k") for code in found.code)
        assert "active" in text
        assert text.count(f"linked_programs.py:{place}") == gradient.code().count(f"linked_programs.py:{place}")
    else:
        assert "np.tanh(" in text
        assert "np.matmul" not in text
        assert len(text.splitlines()) == gradient.code().count(f"linked_programs.py:{place}")


def test_estimates_are_those_of_cost(gradient):
    place = line_of("hidden = ops")
    found = gradient.where(f"linked_programs.py:{place}")
    assert {x.part for x in found.time} == {"", "adjoint"}
    assert sum(x.share for x in found.time) == sum(x.share for x in gradient.cost().lines if x.line == place)


def test_it_prints(gradient):
    text = str(gradient.where(f"linked_programs.py:{line_of('active = ops')}"))
    assert text.startswith(f"linked_programs.py:{line_of('active = ops')}  active = ops.tanh(hidden)\n")
    assert re.search(r"%active: f32\[16,32\] = tanh %hidden\n", text)
    assert re.search(r"= mul .* adjoint\n", text)
    assert f"estimated time, of {duration(gradient.cost().seconds)} in all:" in text


def test_of_very_many_ops_the_first_are_printed():
    def often(x):
        for _ in ms.unroll(range(50)):
            x = ms.ops.sin(x)
        return x

    artifact = jit(often).lower(some(3))
    found = artifact.where(f":{often.__code__.co_firstlineno + 2}")
    assert len(found.ops["opt"]) == 50
    assert "and 10 more" in str(found)
    assert str(found).count("= sin ") == 4 * 40


def test_the_line_may_be_given_with_more_of_its_path_or_less(gradient):
    place = line_of("hidden = ops")
    for name in (FILE, "linked_programs.py", "inspection/linked_programs.py", ""):
        assert gradient.where(f"{name}:{place}").place.line == place
    assert gradient.where(place).place == gradient.where(str(place)).place == gradient.where(f":{place}").place


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("linked_programs.py", 'a line is named as "model.py:14", or as 14'),
        ("other.py:3", "nothing was compiled from other.py: there are ops of linked_programs.py"),
        ("programs.py:9", "nothing was compiled from programs.py"),
    ],
)
def test_names_of_lines_that_say_nothing(gradient, line, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        gradient.where(line)


def test_a_line_without_ops_names_the_nearest_with_some(gradient):
    place = line_of("def net")
    named = f"linked_programs.py:{place}"
    for line, said in ((named, named), (f":{place}", f"{named} or test_links.py:{place}")):
        with pytest.raises(ValueError, match=f"no op comes from {re.escape(said)};") as error:
            gradient.where(line)
        assert f"linked_programs.py:{place + 1}  hidden = ops.matmul(x, w)" in str(error.value)


def test_ops_of_a_library_belong_to_the_users_line():
    layer = Layer()
    found = layer.lower(some(2, 4)).where(f"linked_programs.py:{line_of('ops.relu')}")
    assert {op.op for op in found.ops["opt"]} >= {"matmul", "add", "max"} or "relu" in str(found)
    assert {op.places for op in found.ops["opt"]} == {(Place(FILE, line_of("ops.relu")),)}


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_code_of_a_layer_belongs_to_the_line_that_calls_it(backend):
    """Both layers run the same lines of the library: their products have code of their own."""
    model = TwoLayers()
    artifact = jit(ms.value_and_grad(model, None, model.trainable_params()), backend=backend).lower(some(2, 4))
    lines, links = artifact.code().splitlines(), links_of(artifact._call)
    first, second = (Place(FILE, line_of(f"self.{name}(x)")) for name in ("first", "second"))
    wanted = {Part(first): 1, Part(second): 1, Part(first, "adjoint"): 1, Part(second, "adjoint"): 2}  # none by x
    if backend == "numpy":
        products = [c.parts for c in links.code if "np.matmul(" in lines[c.line - 1]]
    else:
        products = [k.parts for k in links.kernels if re.match(r"; k\d+ .*= matmul: ", lines[k.span.first - 1])]
    assert sorted(products) == sorted((part,) for part, n in wanted.items() for _ in range(n))
    for place, other in ((first, second), (second, first)):
        for code in artifact.where(str(place)).code:
            span = "\n".join(lines[code.span.first - 1 : code.span.last])
            assert place.text in span or code.function == "main"
            assert other.text not in span or other in code.others


def test_a_loop_that_is_kept():
    artifact = jit(looped).lower(some(4), Tensor(3))
    head = artifact.where(f"linked_programs.py:{line_of('while n > 0')}")
    assert "while" in {op.op for op in head.ops["opt"]}
    body = artifact.where(f"linked_programs.py:{line_of('ops.cos')}")
    assert ("cos", "") in names(body.ops["opt"])


# ------------------------------------------------------------------------------------------------- origin
def test_the_adjoint_of_a_value_that_is_used_twice():
    found = ms.grad(reused).lower(some(5)).origin("%d_y")
    assert (found.stage, found.part, found.relation) == ("adjoint", "adjoint", "the adjoint of")
    assert found.of.value == "%y"
    assert found.of.places == (Place(FILE, line_of("y = ops.exp")),)
    assert {place.line for place in found.uses} == {line_of("a = ops.sin"), line_of("b = y * 3.0")}
    assert "the sum of what its uses give:" in str(found)
    assert "y = ops.exp(x)" in str(found)


def test_a_share_of_an_adjoint():
    found = ms.grad(reused).lower(some(5)).origin("d_y_part1")
    assert (found.relation, found.of.value) == ("a share of the adjoint of", "%y")
    assert [place.line for place in found.uses] in ([line_of("a = ops.sin")], [line_of("b = y * 3.0")])


def test_a_value_of_the_function_has_its_line_and_those_of_callers(gradient):
    found = gradient.origin("%half", stage="opt")
    assert [place.line for place in found.places] == [line_of("return z * 0.5"), line_of("half = scaled")]
    assert (found.part, found.of, found.uses) == ("", None, ())
    assert found.text.startswith("%half: f32[16,32] = mul ")
    assert gradient.ir("opt").splitlines()[found.line - 1].lstrip().startswith(found.text)
    assert f"called at linked_programs.py:{line_of('half = scaled')}" in str(found)


def test_values_that_the_derivative_of_a_loop_makes():
    def f(x, w):
        for _ in ms.keep(range(9)):
            x = ms.ops.tanh(x * w)
        return x.sum()

    artifact = ms.grad(f, (0, 1)).lower(some(4), some(4))
    names = re.findall(r"%(?:saved|was)_\w+|%\w+_so_far", artifact.ir("opt"))
    found = {name: artifact.origin(name) for name in names}
    relations = {(x.relation.partition(" ")[0], x.of.value) for x in found.values()}
    assert relations >= {("what", "%w"), ("kept", "%x_3"), ("in", "%x_3")}


def test_an_argument(gradient):
    found = gradient.origin("%w", stage="opt")
    assert found.text == "argument 1 of @grad_net"


def test_a_line_that_uses_a_value_twice_is_there_once():
    def cubed(x):
        y = ms.ops.sin(x)
        return (y * y * y).sum()

    found = jit(ms.grad(cubed)).lower(some(3)).origin("%d_y", stage="adjoint")
    assert len(found.uses) == 3
    assert [row for row in str(found).splitlines() if "(3 times)" in row] == [
        f"  test_links.py:{cubed.__code__.co_firstlineno + 2}  return (y * y * y).sum() (3 times)"
    ]


def test_a_user_may_call_a_variable_like_an_adjoint():
    def f(x):
        d_x = x * 2.0
        return d_x + 1.0

    assert jit(f).lower(some(3)).origin("%d_x").of is None


def test_names_that_do_not_exist(gradient):
    with pytest.raises(ValueError, match=re.escape("no value is called %hiden: use `%hidden`")):
        gradient.origin("%hiden")
    with pytest.raises(ValueError, match=r"no value is called %nope: there are %x, %w, .* and others$"):
        gradient.origin("%nope")
    with pytest.raises(ValueError, match="no value is called %d_w at stage front"):
        gradient.origin("%d_w", stage="front")
    with pytest.raises(ValueError, match="stage must be one of front, adjoint, opt, plan, not 'code'"):
        gradient.origin("%w", stage="code")


@pytest.mark.some(2)
@pytest.mark.parametrize("stage", STAGES_OF_OPS)
@pytest.mark.parametrize("name", ["gradient", "gradient_of_a_loop", "branch", "train_step"])
def test_every_value_of_every_stage_has_its_line(name, stage):
    """That of the text which has the value on the left, or where it is an argument names it first."""
    program = PROGRAMS[name]()
    artifact = program.fn.lower(*program.args)
    lines = artifact.ir(stage).splitlines()
    made = {v: i for i, line in enumerate(lines, 1) for v in re.findall(r"(%\w+): ", line.partition(" = ")[0])}
    assert any(lines[i - 1].startswith("func @") for i in made.values())
    for value, line in made.items():
        found = artifact.origin(value, stage)
        assert (found.stage, found.line) == (stage, line)


def test_the_planned_program_is_made_once(gradient):
    text = gradient.ir("plan")
    assert text._bound.module is gradient.ir("plan")._bound.module


# ------------------------------------------------------------------------------------------------- links
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_links_of_programs_of_all_kinds(name):
    """Each op that a text shows is linked, on its line and in order; code and kernels name only lines with ops."""
    program = PROGRAMS[name]()
    artifact = program.fn.lower(*program.args)
    links = links_of(artifact._call)
    for stage in STAGES_OF_OPS:
        shown = [i for i, line in enumerate(artifact.ir(stage).splitlines(), 1) if re.match(r"\s+%\w+: .* = ", line)]
        linked = [op.line for op in links.ops[stage]]
        assert linked == sorted(set(linked))
        assert set(shown) <= set(linked)
    known = {Part(op.places[0], op.part) for op in links.ops["opt"] if op.places}
    assert {part for line in links.code for part in line.parts} <= known
    assert {part for kernel in links.kernels for part in kernel.parts} <= known
    for kernel in links.kernels:
        assert re.match(
            rf"define .*@{kernel.name}\(|def {kernel.name}\(|; {kernel.name} ",
            links.lines["code"][kernel.span.first - 1],
        )


@pytest.mark.parametrize("name", [3, None])
def test_what_is_no_name_of_a_value(name):
    with pytest.raises(TypeError, match=f"a value is named as '%x', not {name}"):
        ms.jit(lambda x: x * 2).lower(ms.Tensor([1.0])).origin(name)
