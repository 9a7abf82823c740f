"""`dump`: stages, files, links, pictures and source, and `diff` and `run` of what it saves."""

from __future__ import annotations

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from autodiff_compiler.inspection.artifact import STAGES
from autodiff_compiler.inspection.derivative_source.python_source import PythonSource

ALL = (*STAGES, "explain")
LOSS = ("model.py:loss", "--args", "f32[3,2] f32[4,3]")


@pytest.mark.usefixtures("numpy_backend")
def test_every_stage(call, model):
    answer = call("dump", "model.py:settle", "--args", "f32[2] 5", "--stage", "all", "--grad", "0")
    assert answer.status == 0
    places = [answer.out.index(f"// ---- {stage} ----\n") for stage in ALL]
    assert places == sorted(places)
    assert "scan" in answer.out
    assert "def grad_settle(" in answer.out
    stages = call("dump", "model.py:settle", "--args", "f32[2] 5", "--stage", "all", "--grad", "0", "--json").json
    assert list(stages["stages"]) == list(ALL)
    assert stages["backend"] == "numpy"
    assert all(text in answer.out for stage, text in stages["stages"].items() if stage not in ("explain", "plan"))


def test_a_few_stages_and_one(call, model):
    assert call("dump", *LOSS, "--stage", "front,opt").out.count("// ---- ") == 2
    one = call("dump", *LOSS)
    assert "---- " not in one.out
    assert one.out == call("dump", *LOSS, "--stage", "opt").out
    assert one.out.rstrip("\n") == call("dump", *LOSS, "--json").json["stages"]["opt"].rstrip("\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--stage", "end"], "there is no stage 'end'; stages are source, front"),
        (["--stage", "front,opt", "--graph", "dot"], "--graph takes one stage"),
        (["--source"], "--source is about a derivative"),
        (["--grad", "weights"], "--grad weights needs a Cell"),
        (["--where", "model.py:1"], "model.py:1"),
        (["--where", "other.py:1"], "other.py"),
        (["--origin", "%nothing"], "%nothing"),
        (["--where", "model.py:14", "--origin", "%w"], "ask for one of --where and --origin"),
        (["--where", "model.py:14", "--stage", "opt"], "--where is about all stages"),
        (["--source", "--grad", "0", "--stage", "opt"], "--source is about all stages"),
        (["--assembly"], "write --stage code"),
        (["--html", "a.html", "--output", "b.html"], "--html names its file itself"),
        (["--html", "nowhere/a.html"], "nowhere/a.html cannot be written"),
        (["--output", "model.py/x"], "model.py/x cannot be written"),
        (["--stage", "all", "--output", "model.py"], "model.py is a file; several stages need a folder"),
    ],
)
def test_wrong_usage(words, says, call, model):
    answer = call("dump", *LOSS, *words)
    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err


def test_grad_needs_types(call, model):
    answer = call("dump", "model.py:settle", "--grad", "0")
    assert (answer.status, "settle(x, n=2) needs arguments" in answer.err) == (2, True)
    answer = call("dump", *LOSS, "--grad", "5")
    assert (answer.status, "--grad 5: the last argument of --args has the number 1" in answer.err) == (2, True)


def test_derivatives_by_arguments_and_by_parameters(call, model):
    both = call("dump", *LOSS, "--grad", "0", "--grad", "1").out
    assert "-> (f32[3,2], f32[4,3])" in both
    of_net = call("dump", "model.py:Net", "--make", "Net(3, 2)", "--args", "f32[4,3]", "--grad", "weights").out
    assert "-> (f32[2,3], f32[2])" in of_net
    all_of_it = ["--grad", "weights", "--grad", "0"]
    of_net = call("dump", "model.py:Net.construct", "--make", "Net(3, 2)", "--args", "f32[4,3]", *all_of_it).out
    assert "-> (f32[4,3], f32[2,3], f32[2])" in of_net


@pytest.mark.parametrize(("backend", "text"), [("numpy", "def loss("), ("native", "define ")])
def test_the_backend_is_chosen(backend, text, call, model):
    if backend == "native":
        pytest.importorskip("llvmlite")
    model.write_text(model.read_text("utf-8").replace("def loss", "@ms.jit\ndef loss"), "utf-8")  # decorated, too
    assert text in call("dump", *LOSS, "--stage", "code", "--backend", backend).out
    from autodiff_compiler.config import context

    assert context.backend != backend or os.environ.get("AC_BACKEND") == backend


def test_assembly(call, model):
    pytest.importorskip("llvmlite")
    assembly = call("dump", *LOSS, "--stage", "code", "--assembly", "--backend", "native").out
    assert "define " not in assembly
    assert "ret" in assembly


@pytest.mark.parametrize("words", [[], ["--output", "loss.s"]])
def test_assembly_is_of_machine_code(words, call, model):
    answer = call("dump", *LOSS, "--stage", "code", "--assembly", "--backend", "numpy", *words)
    assert (answer.status, answer.out) == (2, "")
    problem = "--assembly is of machine code, which the backend numpy does not make"
    assert answer.err.endswith(f"autodiff_compiler: {problem}\n")
    assert not os.path.exists("loss.s")


# ------------------------------------------------------------------------------------------------ files
def test_files(call, model):
    printed = call("dump", *LOSS).out
    answer = call("dump", *LOSS, "-o", "texts/loss.ir")
    assert (answer.status, answer.out) == (0, "texts/loss.ir\n")
    assert Path("texts/loss.ir").read_text("utf-8") == printed
    answer = call("dump", *LOSS, "--stage", "all", "-o", "new folder", "--backend", "numpy", "--json")
    names = [f"loss.{end}" for end in "source.py front.ir adjoint.ir opt.ir plan.ir code.py explain.txt".split()]
    assert answer.json == {"files": [os.path.join("new folder", name) for name in names]}
    assert sorted(os.listdir("new folder")) == sorted(names)
    call("dump", *LOSS, "-o", "new folder")
    assert Path("new folder/loss.opt.ir").read_text("utf-8") == printed


def test_saved_ir_runs(call, model):
    """On arrays from files, given types, and none; the expected values are NumPy's."""
    call("dump", *LOSS, "-o", "loss.ir")
    w, x = np.float32([[1, 2], [3, 4], [5, 6]]) / 8, np.eye(4, 3, dtype=np.float32)
    np.save("w.npy", w), np.save("x.npy", x)
    found = call("run", "loss.ir", "--args", "w.npy x.npy", "--json").json["results"]
    wanted = np.square(np.tanh(x @ w)).mean()
    assert [(r["dtype"], r["shape"]) for r in found] == [("float32", [])]
    np.testing.assert_allclose(found[0]["values"], wanted, rtol=1e-6)
    assert call("run", "loss.ir").out == call("run", "loss.ir", "--args", "f32[3,2] f32[4,3]", "--seed", "0").out
    assert call("run", "loss.ir").out != call("run", "loss.ir", "--seed", "1").out
    assert "result 0: float32[]\n" in call("run", "loss.ir").out


def test_run_says_what_results_are_for_that_are_not_just_returned(call, model):
    call("dump", "model.py:settle", "--args", "f32[2]", "-o", "settle.ir")
    said = "whether what is returned is the argument %x itself (else result 1)"
    answer = call("run", "settle.ir", "--args", "f32[2]", "--range", "4", "4")
    assert answer.out.startswith(f"result 0: bool[], {said}\nTrue\nresult 1: float32[2]\n")
    found = call("run", "settle.ir", "--json").json["results"]
    assert [x["purpose"] for x in found] == [said, ""]


def test_saved_ir_brings_its_states_and_constants(call, model):
    answer = call("dump", "model.py:Net", "--make", "Net(3, 2)", "--args", "f32[4,3]", "-o", "net.ir")
    assert answer.out == "net.ir\nnet.ir.npz\n"
    np.save("x.npy", np.float32([[1, 2, 3]] * 4))
    found = call("run", "net.ir", "--args", "x.npy", "--json").json["results"]
    assert found[0]["values"] == [[6, 6]] * 4  # weights of ones
    model.write_text(
        "import ml_dtypes, numpy as np\nfrom autodiff_compiler import Tensor\n"
        "table = np.arange(300).astype(ml_dtypes.bfloat16)\n\ndef f(x):\n    return x + Tensor(table)\n"
    )
    call("dump", "model.py:f", "--args", "bf16[]", "-o", "f.ir")
    found = call("run", "f.ir", "--args", "bf16[]", "--range", "1", "1", "--json").json["results"][0]
    assert found["dtype"] == "bfloat16"
    assert found["values"] == (np.arange(300).astype(ml_dtypes.bfloat16) + ml_dtypes.bfloat16(1)).tolist()


def test_a_file_that_is_written_again_loses_what_belonged_to_the_old_one(call, model):
    net = ["dump", "model.py:Net", "--make", "Net(3, 2)", "--args", "f32[4,3]", "-o"]
    assert call(*net, "f.ir").out == "f.ir\nf.ir.npz\n"
    model.write_text(model.read_text() + "\ndef f(x):\n    return x * 2\n")
    assert call("dump", "model.py:f", "--args", "f64[2]", "-o", "f.ir").out == "f.ir\n"
    assert not os.path.exists("f.ir.npz")
    np.savez("f.ir.npz", mine=np.arange(3))  # of the user's: it stays, and is none of what was written
    assert call("dump", "model.py:f", "--args", "f64[2]", "-o", "f.ir").out == "f.ir\n"
    problem = "its arrays would take the place of f.ir.npz, which does not belong to it"
    answer = call(*net, "f.ir")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.endswith(f"autodiff_compiler: f.ir cannot be written: {problem}\n")
    with np.load("f.ir.npz") as found:
        assert found["mine"].tolist() == [0, 1, 2]
    assert call("run", "f.ir", "--range", "3", "3", "--json").json["results"][0]["values"] == [6, 6]


def test_a_source_is_saved_with_what_it_was_given(call, model):
    model.write_text("import numpy as np\nc = np.arange(300.0)\n\ndef f(x):\n    return (x * c).sum()\n")
    answer = call("dump", "model.py:f", "--args", "f64[300]", "--grad", "0", "--source", "-o", "d_f.py")
    assert answer.out == "d_f.py\nd_f.py.npz\n"
    loaded = PythonSource.load("d_f.py")
    np.testing.assert_array_equal(loaded.function(np.ones(300), **loaded.given), np.arange(300.0))


@pytest.mark.parametrize(
    ("text", "words", "status", "says"),
    [
        (None, [], 2, "there is no file p.ir"),
        (b"\xff\xfe", [], 2, "p.ir holds no text"),
        (b"", [], 2, "p.ir is no IR: 1:1: there is no function in it"),
        (b"def f(x):\n    return x\n", [], 2, "this is Python, not IR"),
        (
            b"func @f(%x: f32[2]) -> (f32[3]) { return %x }",
            [],
            2,
            "p.ir is no IR: 1:24: the function returns (f32[2]), but declares (f32[3])",
        ),
        (b"func @f(%x: f32[2]) -> (f32[2]) { return %x }", ["--args", "f32[3]"], 2, "%x is f32[2]"),
        (b"func @f(%x: f32[2]) -> (f32[2]) { return %x }", ["--args", "i32[2]"], 2, "--args does not fit p.ir: %x"),
        (b"func @f(%x: f32[2]) -> (f32[2]) { return %x }", ["--args", ""], 2, "1 arrays are wanted (%x: f32[2])"),
        (b"func @f(%x: f32[2]) -> (f32[2]) { return %x }", ["--args", "f32[2", "--json"], 2, "brackets"),
    ],
)
def test_ir_that_does_not_run(text, words, status, says, call, model):
    if text is not None:
        (model.parent / "p.ir").write_bytes(text)
    answer = call("run", "p.ir", *words)
    assert answer.status == status
    assert says in (answer.json["error"]["message"] if "--json" in words else answer.err)


@pytest.mark.parametrize("command", [["run", "f.ir"], ["diff", "f.ir", "f.ir"]])
def test_what_is_no_npz(command, call, model):
    model.write_text("def f(x):\n    return x * 2\n")
    call("dump", "model.py:f", "--args", "f64[2]", "-o", "f.ir")
    assert call(*command).status == 0
    (model.parent / "f.ir.npz").write_text("nothing")
    assert call(*command) == (2, "", "autodiff_compiler: f.ir.npz, which belongs to f.ir, holds no arrays\n")


def test_constants_that_are_not_there(call, model):
    model.write_text("import numpy as np\nc = np.arange(99.0)\n\ndef f(x):\n    return x * c\n")
    call("dump", "model.py:f", "--args", "f64[99]", "-o", "f.ir")
    assert call("run", "f.ir").status == 0
    os.remove("f.ir.npz")
    answer = call("run", "f.ir")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("autodiff_compiler: f.ir cannot be run without the .npz beside it: ")


# ------------------------------------------------------------------------------------------------ differences
def test_two_stages_of_a_program(call, model):
    answer = call("diff", *LOSS)
    assert (answer.status, answer.err) == (1, "model.py is imported\n")
    assert answer.out.startswith("--- front of loss(")
    assert "\n+++ opt of loss(" in answer.out
    assert "div" in answer.out  # by the number of elements, which becomes a product
    document = call("diff", *LOSS, "--stage", "front,front", "--json")
    assert (document.status, document.json["differs"], document.json["diff"]) == (0, False, "")
    assert call("diff", *LOSS, "--stage", "front,front").out == "no difference\n"


def test_two_programs_and_files(call, model):
    model.write_text("def f(x):\n    return x * 2 + 1\n\ndef h(x):\n    return x * 2 - 1\n\nprint('!')\n")
    answer = call("diff", "model.py:f", "model.py:h", "--args", "f32[2]")
    assert (answer.status, answer.err) == (1, "!\n")  # imported once
    assert [line[:4] for line in answer.out.splitlines() if line[0] in "-+"].count("-   ") == 1
    call("dump", "model.py:f", "--args", "f32[2]", "-o", "f.ir")
    call("dump", "model.py:h", "--args", "f32[2]", "-o", "h.ir")
    saved = call("diff", "f.ir", "h.ir")
    assert (saved.status, saved.out) == (1, answer.out)
    assert call("diff", "f.ir", "model.py:f", "--args", "f32[2]").status == 0
    assert call("diff", "f.ir", "f.ir").out == "no difference\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["model.py:loss", "model.py:loss", "--stage", "front,opt"], "two programs are compared at one stage"),
        ([*LOSS, "--stage", "opt"], "one program is compared at two stages"),
        ([*LOSS, "--stage", "opt,explain"], "`explain` is no stage"),
        (["model.py", "model.py:loss"], "model.py is a file of Python: write model.py:function"),
        (["f.ir", "g.ir"], "there is no file f.ir"),
    ],
)
def test_wrong_comparisons(words, says, call, model):
    answer = call("diff", *words)
    assert (answer.status, says in answer.err) == (2, True)


def test_the_numbers_in_large_constants_count(call, model):
    model.write_text(
        "import numpy as np\nfrom autodiff_compiler import Tensor\n"
        "first = np.arange(300.0)\nsecond = first.copy()\nsecond[149] = 151\n"
        "def f(x):\n    return x * Tensor(first)\n\ndef g(x):\n    return x * Tensor(second)\n"
    )
    lines = ["@@ constant @tensor0: 1 of 300 elements differ, first [149] @@", "- [149] 149.0", "+ [149] 151.0"]
    answer = call("diff", "model.py:f", "model.py:g", "--args", "f64[]")
    assert (answer.status, answer.out.splitlines()[2:]) == (1, lines)
    for name in "fg":
        call("dump", f"model.py:{name}", "--args", "f64[]", "-o", f"{name}.ir")
    assert call("diff", "f.ir", "g.ir").out == answer.out
    assert call("diff", "f.ir", "model.py:f", "--args", "f64[]") == (0, "no difference\n", "")
    np.savez("g.ir.npz", **{"constant/tensor0": np.zeros(2)})
    assert call("diff", "f.ir", "g.ir").err.startswith("autodiff_compiler: g.ir.npz does not belong to g.ir: ")
    os.remove("g.ir.npz")
    answer = call("diff", "f.ir", "g.ir")
    note = "the numbers in the constants of g.ir are not known, and not compared"
    assert (answer.status, answer.out) == (0, f"no difference\n{note}\n")
    assert call("diff", "f.ir", "g.ir", "--json").json["notes"] == [note]


def test_names_of_functions_do_not_count(call, model):
    model.write_text("def f(x):\n    return x * 2\n\ndef g(x):\n    return x * 2\n\ndef h(x):\n    return x * 3\n")
    for words in ([], ["--grad", "0"], ["--stage", "front", "--grad", "0"]):
        assert call("diff", "model.py:f", "model.py:g", "--args", "f32[2]", *words).status == 0
        assert call("diff", "model.py:f", "model.py:h", "--args", "f32[2]", *words).status == 1


@pytest.mark.parametrize("text", ["hello\n", "def f(x):\n    return x\n", "; ModuleID = 'm'\n"])
def test_only_ir_is_compared(text, call, model):
    (model.parent / "a.txt").write_text(text)
    answer = call("diff", "a.txt", "a.txt")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("autodiff_compiler: a.txt is no IR: 1:1: ")
    assert answer.err.count("\n") == 1


def test_types_are_no_arrays(call, model):
    """Of 400 TB, if they were."""
    words = ["model.py:settle", "--args", "f32[99999999999999]"]
    assert "%x: f32[99999999999999]" in call("dump", *words).out
    assert "model.py:9" in call("dump", *words, "--where", "9").out
    assert call("dump", *words, "--grad", "0", "--source").status == 0
    assert call("diff", *words).status == 1
    answer = call("dump", "model.py:settle", "--args", "f32[99999999999,99999999999]")
    assert (answer.status, "has more elements than can be counted" in answer.err) == (2, True)
