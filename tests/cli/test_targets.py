"""`model.py:Net.construct`, `--make` and `--args`: what they name, and what is said where they name nothing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import TensorSpec
from autodiff_compiler.cli.command import Usage
from autodiff_compiler.cli.targets import Files
from autodiff_compiler.cli.values import random_values, read_values
from autodiff_compiler.ir.sizes import symbol


# ------------------------------------------------------------------------------------------------ targets
@pytest.mark.parametrize(
    ("target", "make", "arguments", "result"),
    [
        ("model.py:settle", None, [[1.0]], [2.0]),
        ("./model.py:settle", None, [[1.0]], [2.0]),
        ("model:settle", None, [[1.0]], [2.0]),
        ("model.py:Scaled", None, [[1.0]], [2.0]),
        ("model.py:Scaled.twice", None, [[1.0]], [2.0]),
        ("model.py:net", None, [[1.0, 2.0]], [3.0]),
        ("model.py:net.construct", None, [[1.0, 2.0]], [3.0]),
        ("model.py:Net", "Net(3, out=2)", [[1.0, 2.0, 3.0]], [6.0, 6.0]),
        ("model.py:Net.construct", "Net(1)", [[1.0]], [1.0]),
        ("model.py:Net.fc", " Net(1)", [[1.0]], [1.0]),
        ("model.py", "nn.SequentialCell(Net(1), Scaled())", [[1.0]], [2.0]),
    ],
)
def test_what_a_target_names(target, make, arguments, result, model):
    found = Files().find(target, make)
    assert found(*[ms.Tensor(x) for x in arguments]).tolist() == result


@pytest.mark.parametrize(
    ("target", "make", "says"),
    [
        ("modle.py:settle", None, "there is no file modle.py; did you mean model.py?"),
        ("nowhere/model.py:settle", None, "there is no file nowhere/model.py: there is no folder nowhere"),
        (".:settle", None, ". is a folder, not a file"),
        ("model.py:setle", None, "model.py has no 'setle'; did you mean settle?"),
        ("model.py:q", None, "model.py has no 'q'; it has settle, loss, broken, Net, Scaled"),
        ("model.py:net.constrct", None, "model.py has no 'net.constrct'; did you mean construct?"),
        ("model.py", None, "write model.py:settle, model.py:loss, model.py:broken, model.py:Net or model.py:Scaled"),
        ("model", None, "write model.py:settle, "),
        ("model.py:", None, "write model.py:settle, "),
        ("modle.py", None, "there is no file modle.py; did you mean model.py?"),
        ("settle", None, "'settle' does not name a function: write file.py:settle"),
        ("", None, "write file.py:function"),
        (":settle", None, "':settle' does not name a function: write file.py:settle"),
        ("nothing.of.this:f", None, "there is no module 'nothing'"),
        ("model.of.this:f", None, "there is no module 'model.of"),
        ("model.py:Net", None, 'Net of model.py needs arguments: write --make "Net(width)"'),
        ("model.py:Net", "Nett(3)", "--make: model.py has no 'Nett'; did you mean Net?"),
        ("model.py:Net", "Net()", "--make 'Net()' raises TypeError: "),
        ("model.py:Net", "Net(", "--make 'Net(' is no expression"),
        ("model.py", "words[7]", "--make 'words[7]' raises IndexError: list index out of range"),
        ("model.py:Net", "Scaled()", "--make must make an object of Net, not of Scaled"),
        ("model.py:loss", "Net(3)", "--make is for a class, which loss of model.py is not"),
    ],
)
def test_what_names_nothing(target, make, says, model):
    with pytest.raises(Usage) as caught:
        Files().find(target, make)
    assert says in str(caught.value)


def test_what_making_an_object_raises_is_the_programs(call, model):
    model.write_text(
        "class Net:\n    def __init__(self, n):\n        self.n = 1 / n\n\n    def f(self, x):\n        return x\n"
    )
    answer = call("dump", "model.py:Net.f", "--make", "Net(0)", "--args", "f32[2]")
    assert answer.status == 1
    assert answer.err == f"ZeroDivisionError: division by zero\nin --make 'Net(0)'\n  at {model}:3\n"


def test_what_cannot_be_called(call, model):
    answer = call("dump", "model.py:words")
    assert (answer.status, "is of the class list, which cannot be called" in answer.err) == (2, True)


def test_arguments_that_do_not_fit_the_function(call, model):
    """What was given stays in the example, and what is missing is added."""
    answer = call("dump", "model.py:loss", "--args", "f32[3]")
    problem = "--args does not fit loss(w, x): missing a required argument: 'x'"
    example = '; e.g. --args "f32[3] f32[2,3]"'
    assert (answer.status, answer.err.splitlines()[-1]) == (2, f"autodiff_compiler: {problem}{example}")
    answer = call("gradcheck", "model.py:Net.construct", "--make", "Net(3)", "--args", "f32[3] 1 2")
    problem, example = "--args does not fit Net.construct(x): too many positional arguments", '; e.g. --args "f32[2,3]"'
    assert (answer.status, answer.err.splitlines()[-1]) == (2, f"autodiff_compiler: {problem}{example}")


def test_spaces_and_other_letters_in_paths(call, model):
    folder = model.parent / "meine Größen"
    folder.mkdir()
    (folder / "ein netz.py").write_text("from part import double\n\ndef größe(x):\n    return double(x)\n", "utf-8")
    (folder / "part.py").write_text("def double(x):\n    return x * 2\n")
    answer = call("dump", "meine Größen/ein netz.py:größe", "--args", "f32[2]")
    assert (answer.status, answer.err) == (0, "")
    assert "mul" in answer.out
    answer = call("check", "meine Größen/ein netz.py", "--all")
    assert (answer.status, answer.err) == (0, "")
    answer = call("dump", "meine Größen/ein nets.py:größe")
    assert "did you mean ein netz.py?" in answer.err


def test_a_module_of_a_package_and_a_file_of_it(call, model):
    package = model.parent / "project"
    package.mkdir()
    (package / "__init__.py").write_text("def g(x):\n    return x + 1\n")
    (package / "parts.py").write_text("def double(x):\n    return x * 2\n")
    (package / "train.py").write_text("from .parts import double\n\ndef f(x):\n    return double(x)\n")
    assert call("dump", "project.train:f", "--args", "f32[2]").status == 0
    assert "add" in call("dump", "project:g", "--args", "f32[2]").out
    answer = call("dump", "project/train.py:f", "--args", "f32[2]")
    assert answer.status == 1
    assert "attempted relative import" in answer.err
    assert "a file of a package is named as a module: package.module:function" in answer.err
    for name in [name for name in sys.modules if name.partition(".")[0] == "project"]:
        del sys.modules[name]


def test_a_file_may_have_the_name_of_a_module_that_others_need(call, model):
    import json

    path = model.parent / "json.py"
    path.write_text("def f(x):\n    return x * 2\n")
    assert call("dump", "json.py:f", "--args", "f32[2]", "--json").json["target"] == "json.py:f"
    assert sys.modules["json"] is json


def test_a_script_that_reads_its_command_line_or_ends_itself(call, model):
    model.write_text("import sys\nassert sys.argv[1:] == []\n\ndef f(x):\n    return x\n\nassert __name__ == 'model'\n")
    assert call("dump", "model.py:f", "--args", "f32[2]").status == 0
    model.write_text("import sys\n\ndef f(x):\n    return x\n\nsys.exit(3)\n")
    answer = call("dump", "model.py:f", "--args", "f32[2]")
    assert answer.status == 1
    assert "model.py ended itself while it was imported (status 3): put what runs under `if __name__ ==" in answer.err
    model.write_text("def f(x:\n")
    answer = call("dump", "model.py:f")
    assert (answer.status, "model.py is not Python: " in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("GeneratorExit('enough')", "GeneratorExit: enough"),
        ("type('Mine', (BaseException,), {})('text')", "Mine: text"),
        ("type('Dumb', (Exception,), {'__str__': lambda self: 1 / 0})()", "Dumb: <exception str() failed>"),
    ],
)
def test_a_file_that_raises_what_is_no_ordinary_exception(call, model, raised, said):
    model.write_text(f"raise {raised}\n")
    answer = call("dump", "model.py:f", "--args", "f32[2]")
    assert answer.status == 1
    assert said in answer.err
    assert f"at {model}:1" in answer.err
    told = call("dump", "model.py:f", "--args", "f32[2]", "--json")
    assert (told.status, f"{told.json['error']['class']}: {told.json['error']['message']}") == (1, said)


def test_an_array_that_there_is_no_memory_for(call, model):
    model.write_text("def f(x):\n    return x\n")
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,), }".ljust(117) + b"\n"
    model.with_name("large.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + head)
    answer = call("dump", "model.py:f", "--args", "large.npy")
    assert answer.status == 2
    assert "large.npy holds more than there is memory for: Unable to allocate 364. TiB" in answer.err


# ------------------------------------------------------------------------------------------------ arguments
@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("3 -1 1e-3 True None", [3, -1, 1e-3, True, None]),
        ("3, True ,'a b'", [3, True, "a b"]),
        ("\"it's\" (1, 2) [1, 'x'] {'a': (1.5,), 2: None}", ["it's", (1, 2), [1, "x"], {"a": (1.5,), 2: None}]),
        ("inf -2.5", [float("inf"), -2.5]),
        ("'f32[2]' ['f32[]']", ["f32[2]", ["f32[]"]]),
    ],
)
def test_literals(text, values):
    assert read_values(text) == values


def test_types_stay_types():
    a, b, c, d, (e, [f]) = read_values("f32[2,3] i64[] float64[4] bool[ 1 , 2 ] (bf16[0], [u8[3]])")
    shapes = [((2, 3), ms.float32), ((), ms.int64), ((4,), ms.float64), ((1, 2), ms.bool_), ((0,), ms.bfloat16)]
    assert [(x.shape, x.dtype) for x in (a, b, c, d, e)] == shapes
    assert (f.shape, f.dtype) == ((3,), ms.uint8)
    assert all(isinstance(x, ms.TensorSpec) for x in (a, b, c, d, e, f))


def test_random_tensors_follow_the_seed():
    first, again, other = (random_values("f32[3,4] i64[100] bool[5]", seed) for seed in (0, 0, 1))
    assert [x.tolist() for x in first] == [x.tolist() for x in again]
    assert first[0].tolist() != other[0].tolist()
    assert set(first[1].tolist()) == {0, 1}
    drawn = random_values("f64[1000]", 0, (0.5, 2))[0].asnumpy()
    assert 0.5 <= drawn.min() < 0.6 < 1.9 < drawn.max() <= 2


def test_arrays_from_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(3, dtype=np.int32))
    np.save("my values.npy", np.eye(2))
    x, y = read_values("x.npy 'my values.npy'")
    assert (x.tolist(), x.dtype, y.tolist()) == ([0, 1, 2], ms.int32, [[1.0, 0.0], [0.0, 1.0]])
    (tmp_path / "no.npy").write_text("no array")
    np.save("objects.npy", np.array([{}]), allow_pickle=True)
    for path in ("no.npy", "objects.npy"):
        with pytest.raises(Usage, match=f"{path} holds no array: "):
            read_values(path)
    with pytest.raises(Usage, match=r"there is no file y\.npy"):
        read_values("y.npy")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q9[2]", "'q9' in --args is no dtype; dtypes are "),
        ("flot32[2]", "'flot32' in --args is no dtype; did you mean float32"),
        ("f32[-1]", "sizes are whole numbers"),
        ("f32[n-]", "cannot read the argument 'f32[n-]'"),
        ("f32[n/2]", "f32[n / 2] in --args is no type: sizes are whole numbers, names or formulas of these"),
        ("f32(2)", "cannot read the argument 'f32(2)'; write a type such as f32[2,3]"),
        ("print", "cannot read the argument 'print'"),
        ("__import__('os')", "cannot read the argument"),
        ("f32[2", "brackets do not match"),
        ("'a", "' is not closed"),
        ("{**{}}", "cannot read the argument"),
    ],
)
def test_what_is_no_argument(text, says):
    with pytest.raises(Usage) as caught:
        read_values(text)
    assert says in str(caught.value)


def test_names_of_sizes_are_for_commands_that_run_nothing():
    n = symbol("n")
    assert read_values("f32[n,3] f64[2*n+1]") == [TensorSpec((n, 3), "float32"), TensorSpec((2 * n + 1,), "float64")]
    with pytest.raises(Usage, match=r"f32\[n,3\] in --args has a size with a name, but the function is run"):
        random_values("f32[n,3]")


# ------------------------------------------------------------------------------------------------ arguments
@pytest.mark.parametrize(
    ("head", "example"),
    [
        ("x, w", "f32[2,3] f32[2,3]"),
        ("x, n: int, *rest", "f32[2,3] 3"),
        ("x: 'Tensor', rate: 'float', on: bool, name: str, /", "f32[2,3] 0.5 True 'text'"),
        ("x, scale=2.0, **more", "f32[2,3]"),
        ("x: [1]", "f32[2,3]"),
    ],
)
@pytest.mark.parametrize("command", [["dump"], ["dump", "--grad", "0"], ["explain"], ["bench"], ["gradcheck"]])
def test_an_example_of_arguments_where_there_are_none(head, example, command, call, model):
    """It is made of the function's own parameters, and is understood."""
    model.write_text(f"def f({head}):\n    return x.sum()\n")
    answer = call(command[0], "model.py:f", *command[1:])
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("autodiff_compiler: f(x")
    assert answer.err.endswith(f' needs arguments: write their types or values, e.g. --args "{example}"\n')
    assert call("dump", "model.py:f", "--args", example).status == 0


def test_what_no_command_line_can_give(call, model):
    model.write_text("def f(x, *, axis):\n    return x.sum(axis)\n")
    assert call("dump", "model.py:f").err.endswith("f(x, *, axis): missing a required argument: 'x'\n")


def test_a_derivative_by_no_argument(call, model):
    model.write_text("def f(*x):\n    return x[0]\n")
    answer = call("dump", "model.py:f", "--grad", "0")
    assert (answer.status, answer.err) == (2, "autodiff_compiler: --grad 0: f is given no argument; --args has them\n")


def test_a_derivative_that_is_zero_is_warned_of(start, model):
    """As a call warns of it, where the function stands: no line of the user's asks for the derivative."""
    model.write_text("def f(x):\n    return (x > 1).sum() * 2.0\n")
    for _ in range(2):  # the second finds the program on disk
        out, err = start("dump", "model.py:f", "--args", "f32[3]", "--grad", "0").communicate(timeout=60)
        assert "%d_x: f32[3] = const {value=0.0}" in out
        assert f"{model}:1: GradientWarning: [AC2003] the gradient is zero" in err


# ------------------------------------------------------------------------------------------------ nested too deeply
DEEP = 100_000


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("types", f"func @f(%x: {'seq<' * DEEP}f32[]{'>' * DEEP}) -> () {{ return }}", "at most 200 levels deep"),
        ("tuples", f"func @f(%x: {'(' * DEEP}f32[]{')' * DEEP}) -> () {{ return }}", "at most 200 levels deep"),
        ("links", f"func @f(%x: {'link<(' * DEEP}f32[]{') -> ()>' * DEEP}) -> () {{ return }}", "at most 200 levels"),
        ("literals", f"func @f(%x: f32[2]) -> () {{ print {{parts={'[' * DEEP}{']' * DEEP}}} return }}", "at most 200"),
        ("blocks", f"func @f(%p: bool[]) -> () {{ {'if %p then { ' * DEEP}", "at most 1000 levels deep"),
        ("brackets", f"func @f(%p: bool[]) -> () {{ {'{' * DEEP}", "there is no primitive {"),
        ("digits", f"func @f(%x: f32[{'9' * DEEP}]) -> () {{ return }}", "a number of 100000 digits is too long"),
        ("place", f'func @f() -> () {{ @ "f.py":{"9" * DEEP}:1 return }}', "a number of 100000 digits is too long"),
        ("number", f"func @f(%{'9' * DEEP}: f32[]) -> () {{ return }}", "a number of 100000 digits is too long"),
    ],
)
def test_ir_that_is_nested_too_deeply_is_wrong_use(name, text, says, call, model):
    model.with_name(f"{name}.ir").write_text(text, "utf-8")
    answer = call("run", f"{name}.ir")
    assert answer.status == 2
    assert says in answer.err
    assert len(answer.err.splitlines()) == 1


def test_blocks_as_deep_as_programs_have_them_run(call, model):
    depth = 500
    names = [f"%y{i}" for i in range(depth)]
    opened = "".join(f"{name}: f32[2] = if %p then {{ " for name in names)
    closed = " } else { yield %x } yield ".join(["", *names[:0:-1]]) + f" }} else {{ yield %x }} return {names[0]} }}"
    text = f"func @f(%x: f32[2], %p: bool[]) -> (f32[2]) {{ {opened}%z: f32[2] = add %x, %x yield %z{closed}"
    model.with_name("deep.ir").write_text(text, "utf-8")
    assert call("run", "deep.ir", "--args", "[1.,2.] True").out.endswith("\n[2. 4.]\n")


@pytest.mark.parametrize("words", [("dump", "deep.py:f", "--args", "f32[2]"), ("check", "deep.py")])
def test_a_file_that_python_gives_up_on_is_wrong_use(words, call, model):
    model.with_name("deep.py").write_text(f"def f(x):\n    return {'-' * DEEP}x\n", "utf-8")
    answer = call(*words)
    assert answer.status == 2
    assert "deep.py is nested too deeply for Python: split its longest expressions" in answer.err
