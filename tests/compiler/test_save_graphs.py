"""`save_graphs`: what its levels write (MindSpore's meaning), under which names, and what a failed compile leaves."""

import errno
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.numpy.backend import NumpyBackend
from autodiff_compiler.compiler import save_graphs
from autodiff_compiler.errors import InternalCompilerError, NotDifferentiableError
from autodiff_compiler.ir import failure
from autodiff_compiler.ir.text import parse_module
from tests.programs.compare import define

X = np.array([1.0, 2.0, 3.0])
PROGRAM = """
def f(x):
    return ms.ops.tanh(x * x).sum()
"""


@pytest.fixture
def graphs(tmp_path):
    """A folder for the dumps."""
    before = {name: ms.get_context(name) for name in ("save_graphs", "save_graphs_path")}
    ms.set_context(save_graphs_path=str(tmp_path / "graphs"))
    yield tmp_path / "graphs"
    ms.set_context(**before)


def written(graphs, level):
    """The names of the files that a compile leaves at a level, in their order."""
    ms.set_context(save_graphs=level)
    fn = ms.jit(ms.grad(define(PROGRAM)))
    np.testing.assert_allclose(fn(ms.Tensor(X)).asnumpy(), 2 * X / np.cosh(X * X) ** 2, rtol=1e-6)
    if not graphs.exists():
        return []
    (folder,) = graphs.iterdir()
    return sorted(path.name for path in folder.iterdir())


PASSES = [
    "00_input.ir", "01_lift_state.ir", "02_simplify.ir", "03_views.ir", "04_expand_grad.ir", "05_lift_state.ir",
    "06_simplify.ir", "07_inline.ir", "08_simplify.ir", "09_dce.ir", "10_licm.ir", "11_unread.ir", "12_buckets.ir",
]  # fmt: skip


@pytest.mark.parametrize("level", [0, False])
def test_level_0_writes_nothing(graphs, level):
    assert written(graphs, level) == []


def test_level_1_writes_the_input_and_what_each_pass_made(graphs):
    assert written(graphs, 1) == PASSES
    (folder,) = graphs.iterdir()
    assert re.fullmatch(r"\d{3}_grad_f", folder.name)
    names = {path.name: [op.defn.name for op in parse_module(path.read_text("ascii")).entry.body.ops]
             for path in folder.iterdir()}  # fmt: skip
    assert "grad" in names["00_input.ir"]
    assert "tanh" in names["04_expand_grad.ir"]
    assert "grad" not in names["04_expand_grad.ir"]


@pytest.mark.parametrize("level", [2, True])
def test_level_2_or_true_writes_what_the_backend_does_too(graphs, level, numpy_backend):
    assert written(graphs, level) == [*PASSES, "13_plan.ir", "14_code.py"]
    (folder,) = graphs.iterdir()
    assert "frees" in (folder / "13_plan.ir").read_text("ascii")
    assert "np.tanh" in (folder / "14_code.py").read_text()


def test_level_2_writes_the_text_of_machine_code(graphs):
    if ms.config.backends["native"]() is not None:
        pytest.skip("there is no machine code here")
    ms.set_context(save_graphs=2)
    ms.jit(define(PROGRAM), backend="native")(ms.Tensor(X))
    (code,) = graphs.glob("*/*_code.ll")
    assert "define " in code.read_text()


def test_level_3_draws_every_step_too(graphs, monkeypatch, numpy_backend):
    monkeypatch.setattr(save_graphs, "pictures", [lambda module: f"digraph {{ {module.entry.name} }}"])
    names = written(graphs, 3)
    pictures = [name for name in names if name.endswith(".dot")]
    assert pictures == [name.replace(".ir", ".dot") for name in PASSES]
    assert set(names) - set(pictures) == {*PASSES, "13_plan.ir", "14_code.py"}


def test_there_is_a_picture_of_level_3(graphs):
    pictures = [name for name in written(graphs, 3) if name.endswith(".dot")]
    assert len(pictures) == len(PASSES)
    (folder,) = graphs.iterdir()
    assert (folder / "00_input.dot").read_text().startswith("digraph")


def test_levels_are_checked(graphs):
    for wrong in (4, -1, "2"):
        with pytest.raises(ValueError, match="save_graphs is a bool or 0 to 3"):
            ms.set_context(save_graphs=wrong)


def test_the_derivative_of_a_call_has_folders_of_its_own(graphs, numpy_backend):
    ms.set_context(save_graphs=1)
    fn = ms.jit(define(PROGRAM))
    ms.grad(fn)(ms.Tensor(X))
    names = sorted(path.name.partition("_")[2] for path in graphs.iterdir())
    assert names == ["f", "f.bwd", "f.fwd"]


def test_files_of_an_earlier_process_do_not_stay_in_a_folder(graphs, monkeypatch):
    monkeypatch.setattr(save_graphs, "_numbers", iter([7]))
    old = graphs / "007_grad_f"
    old.mkdir(parents=True)
    for name in ("44_old.ir", "44_old.failed.ir", "45_code.py", "notes.txt"):
        (old / name).write_text("old")
    assert written(graphs, 1) == [*PASSES, "notes.txt"]


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    failure.leave(tmp_path, "00_a.ir", "first\n")

    def broken(source, target):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", broken)
        with pytest.raises(OSError, match="no space"):
            failure.leave(tmp_path, "00_a.ir", "second\n")
    assert (tmp_path / "00_a.ir").read_text() == "first\n"
    assert [path.name for path in tmp_path.iterdir()] == ["00_a.ir"]


@pytest.mark.parametrize(("path", "kind"), [("afile", FileExistsError), ("afile/graphs", NotADirectoryError)])
def test_a_folder_that_cannot_be_written_is_told(tmp_path, graphs, path, kind):
    (tmp_path / "afile").write_text("mine")
    ms.set_context(save_graphs=1, save_graphs_path=str(tmp_path / path))
    fn = ms.jit(define(PROGRAM))
    problem = "save_graphs cannot write there .*: set another save_graphs_path, or save_graphs=0: '.*afile.*'"
    with pytest.raises(kind, match=problem):
        fn(ms.Tensor(X))
    ms.set_context(save_graphs=0)
    np.testing.assert_allclose(fn(ms.Tensor(X)).asnumpy(), np.tanh(X * X).sum(), rtol=1e-6)


def test_a_disk_that_is_full_is_told(graphs, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "no space left", str(target))

    ms.set_context(save_graphs=1)
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match=r"save_graphs cannot write there \(no space left\).*00_input.ir") as raised:
            ms.jit(define(PROGRAM))(ms.Tensor(X))
    assert raised.value.errno == errno.ENOSPC


def test_threads_write_to_folders_of_their_own(graphs):
    ms.set_context(save_graphs=1)
    functions = [ms.jit(define(f"def f{i}(x):\n    return ms.ops.tanh(x) * {i}", f"f{i}")) for i in range(6)]
    results = [None] * len(functions)

    def call(i):
        results[i] = functions[i](ms.Tensor(X)).asnumpy()

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, result in enumerate(results):
        np.testing.assert_allclose(result, np.tanh(X) * i, rtol=1e-6)
    folders = sorted(path.name for path in graphs.iterdir())
    assert len({name[:3] for name in folders}) == len(functions)
    for i in range(len(functions)):
        (folder,) = [path for path in graphs.iterdir() if path.name.endswith(f"_f{i}")]
        assert parse_module((folder / "00_input.ir").read_text("ascii")).entry.name == f"f{i}"


# ------------------------------------------------------------------------------------------- of several processes
COMPILES = """
import sys
import autodiff_compiler as ms
from program import f

ms.set_context(save_graphs=1, save_graphs_path="graphs")
f.lower(ms.TensorSpec("f32[2]"))
print("done", flush=True)
sys.stdin.read()
"""
FORKS = """
import os, signal
import autodiff_compiler as ms
from program import f, g

ms.set_context(save_graphs=1, save_graphs_path="graphs")
f.lower(ms.TensorSpec("f32[2]"))
child = os.fork()
g.lower(ms.TensorSpec("f32[2]"))
if child:
    os._exit(os.waitpid(child, 0)[1])
os._exit(0)
"""


def program(folder, text):
    """A process that compiles in a folder."""
    (folder / "program.py").write_text(
        "from autodiff_compiler import jit\n\n@jit\ndef f(x):\n    return x * 2\n\n@jit\ndef g(x):\n    return x * 3\n"
    )
    (folder / "main.py").write_text(text)
    paths = os.pathsep.join([str(folder), str(Path(ms.__file__).parents[1])])
    return subprocess.Popen(
        [sys.executable, "main.py"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": paths, "AC_BACKEND": "numpy"},
    )  # fmt: skip


def folders(path):
    return sorted(p.name for p in path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of folders")
def test_processes_of_one_time_have_a_folder_each(tmp_path):
    graphs = tmp_path / "graphs"
    first = program(tmp_path, COMPILES)
    assert first.stdout.readline() == "done\n"
    (graphs / "000_f" / "00_input.ir").write_text("the first process's")
    for _ in range(2):  # one after the other: the second finds the folder free again
        other = program(tmp_path, COMPILES)
        assert other.communicate("") == ("done\n", None)
        assert folders(graphs) == ["000_f", "process_1"]
        assert folders(graphs / "process_1") == ["000_f"]
    assert (graphs / "000_f" / "00_input.ir").read_text() == "the first process's"
    first.communicate("")
    later = program(tmp_path, COMPILES)
    later.communicate("")
    assert "func @f" in (graphs / "000_f" / "00_input.ir").read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_process_has_a_folder_of_its_own(tmp_path):
    forks = program(tmp_path, FORKS)
    forks.communicate("")
    assert forks.returncode == 0
    assert folders(tmp_path / "graphs") == ["000_f", "001_g", "process_1"]
    assert folders(tmp_path / "graphs" / "process_1") == ["001_g"]


def test_a_folder_that_was_removed_is_made_again(graphs):
    ms.set_context(save_graphs=1)
    for name in ("f", "g"):
        ms.jit(define(f"def {name}(x):\n    return x * 2\n", name)).lower(ms.Tensor(X))
        assert [path.name[4:] for path in graphs.iterdir()] == [name]
        shutil.rmtree(graphs)


# ------------------------------------------------------------------------------------------- of failed compiles
def left(error):
    text = f"{error} {' '.join(getattr(error, '__notes__', ()))}"
    return Path(re.search(r": (\S+\.ir)", text)[1])


def test_a_failing_backend_leaves_the_module_with_the_op_marked(graphs, monkeypatch, numpy_backend):
    ms.set_context(save_graphs=1)
    kept = NumpyBackend.compile

    def compile(self, module, in_place=(), **more):
        for op in module.entry.body.ops:
            assert op.defn.name != "tanh", "the backend does not like tanh"
        return kept(self, module, in_place=in_place, **more)

    monkeypatch.setattr(NumpyBackend, "compile", compile)
    with pytest.raises(InternalCompilerError) as caught:
        ms.jit(define(PROGRAM))(ms.Tensor(X))
    path = left(caught.value)
    assert path.parent == graphs
    (marked,) = [line for line in path.read_text().splitlines() if "<--" in line]
    assert "= tanh" in marked


def test_a_refused_derivative_of_a_call_is_left_too(graphs):
    ms.set_context(save_graphs=1)
    fn = ms.jit(define("def f(x):\n    return ms.py_call(np.sin, x, out=x).sum() + ms.ops.tanh(x).sum()"))
    with pytest.raises(NotDifferentiableError) as caught:
        ms.grad(fn)(ms.Tensor(X))
    path = left(caught.value)
    assert path.parent == graphs
    (marked,) = [line for line in path.read_text().splitlines() if "<--" in line]
    assert "host_call" in marked


def test_the_folder_of_reports_is_one_for_the_process_and_made_anew_if_it_is_gone():
    first = failure.reports_folder()
    assert failure.reports_folder() == first
    found = []
    threads = [threading.Thread(target=lambda: found.append(failure.leave(None, "x.ir", "text"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8
    assert {Path(path).parent for path in found} == {first}
    for path in first.iterdir():
        path.unlink()
    first.rmdir()
    assert failure.reports_folder() != first
