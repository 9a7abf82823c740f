"""``python -m autodiff_compiler run``: MindSpore's programs as they are, as `python` itself runs programs."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from pathlib import Path

import pytest

from autodiff_compiler.cli import main
from tests import forked

SCRIPT = '''
"""A program."""
import pickle, sys
import mindspore as ms
import mindspore.nn as nn
from mindspore import Tensor, context, ops
from mindspore.common.initializer import One
import parts

context.set_context(mode=context.GRAPH_MODE, device_target="CPU")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 1, weight_init=One(), has_bias=False)

    def construct(self, x):
        y = self.fc(x)
        while y.sum() < 100:
            y = y * 2
        return y


class Kept:
    pass


if __name__ == "__main__":
    assert type(pickle.loads(pickle.dumps(Kept()))) is Kept
    assert __doc__ == "A program." and __spec__ is None and __package__ is None
    assert sys.modules["__main__"].Net is Net
    print(sys.argv[1:], __file__, sys.path[0])
    print(Net()(Tensor([[1.0, 2.0]])), parts.double(Tensor(3.0)))
    if sys.argv[1:2] == ["exit"]:
        sys.exit(int(sys.argv[2]))
    if sys.argv[1:2] == ["interrupt"]:
        raise KeyboardInterrupt
    if sys.argv[1:2] == ["fail"]:
        parts.fail()
'''
PARTS = """
import mindspore.ops as ops


def double(x):
    return ops.mul(x, 2)


def fail():
    raise ValueError("no luck")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "parts.py").write_text(PARTS)
    return tmp_path


def run(*arguments: str, folder: Path, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return forked.run(*flags, "-m", "autodiff_compiler", "run", *arguments, cwd=folder, env=_environment())


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.mark.parametrize(
    "text",
    [
        "func @f() -> (f32[999999,999999]) { %y: f32[999999,999999] = const {value=1.0} ; return %y }",
        "func @f(%x: f32[]) -> (f32[999999,999999]) "
        "{ %y: f32[999999,999999] = broadcast_to %x {shape=[999999, 999999]} ; return %y }",
        "func @f(%x: f32[999999,999999]) -> (f32[999999,999999]) { return %x }",
    ],
    ids=["const", "broadcast_to", "argument"],
)
def test_what_there_is_no_memory_for(tmp_path, capsys, text):
    path = tmp_path / "large.ir"
    path.write_text(text)
    assert main(["run", str(path)]) == 1
    said = capsys.readouterr().err
    assert "[AC1904]: there is no memory for f32[999999,999999]: 3,999,992,000,004 bytes (3,725 GiB)" in said


@pytest.mark.parametrize(
    ("takes", "said"),
    [("f32[B,3]", "f32[2,3]"), ("seq<f32[4]>", "[f32[4], f32[4]]")],
    ids=["a named size", "a sequence"],
)
def test_what_the_types_of_a_program_leave_open_is_asked_for(tmp_path, capsys, takes, said):
    path = tmp_path / "open.ir"
    path.write_text(f"func @f(%x: {takes}) -> (f32[]) {{ %y: f32[] = const {{value=3.0}} ; return %y }}")
    assert main(["run", str(path)]) == 2
    assert f'{path} takes {takes}: choose what that leaves open, such as --args "{said}"' in capsys.readouterr().err
    assert main(["run", str(path), "--args", said]) == 0
    assert capsys.readouterr().out == "result 0: float32[]\n3.0\n"


def test_a_script_runs_as_it_is(folder: Path) -> None:
    (folder / "below").mkdir()
    done = run("../train.py", "--epochs", "3", "-m", folder=folder / "below")
    assert done.stderr == ""
    assert done.returncode == 0
    # 1 + 2 is doubled until it is at least 100
    assert done.stdout.splitlines() == [f"['--epochs', '3', '-m'] {folder}/train.py {folder}", "[[192.]] 6.0"]


CHILDREN = """
import multiprocessing
import mindspore as ms
from mindspore import nn


class Twice(nn.Cell):
    def construct(self, x):
        return x * 2


def twice(i):
    return Twice()(ms.Tensor([float(i)])).tolist()


def in_a_child_of_a_child(i):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(twice, [i])


if __name__ == "__main__":
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.map(twice, [1, 2]))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(twice, (3,)))
    other = multiprocessing.get_context("spawn").Process(target=in_a_child_of_a_child, args=(4,))
    other.start(), other.join()
    print(other.exitcode)
"""


@pytest.mark.some(2)
@pytest.mark.parametrize("arguments", [("children.py",), ("-m", "children")], ids=["script", "module"])
def test_processes_of_a_program_have_the_names_too(folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "children.py").write_text(CHILDREN)
    done = run(*arguments, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    ways = len(multiprocessing.get_all_start_methods())
    assert done.stdout.splitlines() == ["[[2.0], [4.0]]"] * ways + ["[6.0]", "0"]


def test_a_module_runs_as_it_is(folder: Path) -> None:
    done = run("-m", "train", "--epochs", folder=folder)
    assert (done.returncode, done.stderr.count("Assertion")) == (1, 1)  # __spec__ is that of the module, as in Python
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("import mindspore")
    (folder / "package" / "__main__.py").write_text(
        "import sys\nfrom . import mindspore as ms\nprint(__name__, __package__, __spec__.name, sys.argv, ms.Tensor(1))"
    )
    done = run("-m", "package", "x", folder=folder)
    path = folder / "package" / "__main__.py"
    assert done.stdout == f"__main__ package package.__main__ ['{path}', 'x'] 1\n", done.stderr
    done = run("package", folder=folder)
    assert "attempted relative import" in done.stderr  # a folder is no package, as in Python


@pytest.mark.parametrize(
    ("arguments", "status", "last"),
    [(("exit", "3"), 3, ""), (("fail",), 1, "ValueError: no luck"), (("interrupt",), 130, "KeyboardInterrupt")],
)
def test_its_exit_status_and_traceback_are_its_own(
    folder: Path, arguments: tuple[str, ...], status: int, last: str
) -> None:
    done = run("train.py", *arguments, folder=folder)
    assert done.returncode in (status, status - 256, -2 if status == 130 else status)
    assert done.stderr.rstrip("\n").rpartition("\n")[2] == last
    if status != 3:
        assert "autodiff_compiler/" not in done.stderr
        assert "runpy" not in done.stderr
        assert done.stderr.splitlines()[1].strip().startswith(f'File "{folder}/train.py"')


def test_a_missing_name_and_broken_syntax_point_at_the_program(folder: Path) -> None:
    (folder / "lacks.py").write_text("import sys\nfrom mindspore.nn import Dens\n")
    done = run("lacks.py", folder=folder)
    assert done.returncode == 1
    assert "line 2, in <module>" in done.stderr
    assert "cannot import name 'Dens' from 'mindspore.nn': use `Dense`; docs/migration.md" in done.stderr
    assert "importer.py" not in done.stderr
    (folder / "broken.py").write_text("x = (\n")
    done = run("broken.py", folder=folder)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].strip() == f'File "{folder}/broken.py", line 1'
    assert "SyntaxError" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "there is nothing to run"),
        (("nothing.py",), "there is no file"),
        (("-m",), "-m needs the name of a module"),
        (("-m", "nothing.below"), "there is no module 'nothing.below'"),
    ],
)
def test_what_cannot_be_run_is_wrong_usage(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments, folder=folder)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_about_run(folder: Path) -> None:
    done = run("--help", folder=folder)
    assert done.returncode == 0
    assert "(script.py | folder | -m module) [argument ...]" in done.stdout


def test_a_safe_path_stays_safe(folder: Path) -> None:
    (folder / "path.py").write_text("import sys; print(sys.path[0])")
    done = run("path.py", folder=folder, flags=("-P",))
    assert done.stdout.strip() != str(folder)
    assert done.returncode == 0, done.stderr


def test_check_and_dump_know_the_names(folder: Path) -> None:
    (folder / "f.py").write_text("import mindspore as ms\n\n@ms.jit\ndef f(x):\n    return ms.ops.abss(x)\n")
    done = forked.run("-m", "autodiff_compiler", "check", "f.py", cwd=folder, env=_environment())
    assert "module 'mindspore.ops' has no attribute 'abss'" in done.stdout
    command = ["-m", "autodiff_compiler", "dump", "train.py:Net", "--args", "f32[1,2]"]
    done = forked.run(*command, cwd=folder, env=_environment())
    assert "while" in done.stdout, done.stderr
