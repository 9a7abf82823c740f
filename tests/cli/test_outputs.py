"""Files that commands write: none takes the place of one that the command reads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

LOSS = ("model.py:loss", "--args", "f32[3,2] f32[4,3]")
#: A command that writes a file, and the option that names it, which comes last.
WRITERS = {
    "dump --output": ("dump", *LOSS, "--output"),
    "dump --source --output": ("dump", *LOSS, "--grad", "0", "--source", "--output"),
    "dump --where --output": ("dump", *LOSS, "--where", "model.py:14", "--output"),
    "dump --graph --output": ("dump", *LOSS, "--graph", "dot", "--output"),
    "dump --html": ("dump", *LOSS, "--html"),
    "view --output": ("view", *LOSS, "--no-open", "--output"),
}


def refused(answer, path, read):
    """Whether a command said why it does not write there."""
    problem = f"{path} is not written: it would take the place of {read}, which this command reads"
    return (answer.status, answer.out) == (2, "") and answer.err.endswith(f"autodiff_compiler: {problem}\n")


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_the_program_stays(words, call, model):
    text = model.read_text("utf-8")
    assert refused(call(*words, "model.py"), "model.py", model)
    assert model.read_text("utf-8") == text
    assert sorted(p.name for p in model.parent.iterdir() if p.name != "__pycache__") == ["model.py"]


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_whatever_it_is_called(link, call, model):
    text = model.read_text("utf-8")
    link(model, model.parent / "other.svg")
    Path("inside").mkdir()
    for path in ("other.svg", os.path.join("inside", "..", "model.py"), str(model)):
        assert refused(call("dump", *LOSS, "--output", path), path, model)
    plot = ("bench", *LOSS, "--seconds", "0.001", "--modes", "eager", "--plot", "other.svg")
    assert refused(call(*plot), "other.svg", model)
    assert model.read_text("utf-8") == text


def test_what_the_program_imports_stays(call, model, monkeypatch):
    monkeypatch.delitem(sys.modules, "layers_of_model", raising=False)
    layers = model.parent / "layers_of_model.py"
    layers.write_text("def double(x):\n    return x * 2\n", "utf-8")
    model.write_text("from layers_of_model import double\n\ndef f(x):\n    return double(x)\n", "utf-8")
    for words in (["dump", "--stage", "source", "--output"], ["view", "--no-open", "--output"]):
        answer = call(words[0], "model.py:f", "--args", "f32[2]", *words[1:], "layers_of_model.py")
        assert refused(answer, "layers_of_model.py", layers)
    assert layers.read_text("utf-8") == "def double(x):\n    return x * 2\n"


def test_a_stage_in_a_folder_takes_no_module_s_place(call, model, monkeypatch):
    """The name comes from the function and the stage; the file is imported by another path."""
    code = model.parent / "loss.source.py"
    code.write_text(model.read_text("utf-8"), "utf-8")
    text = code.read_text("utf-8")
    words = ("loss.source.py:loss", "--args", "f32[3,2] f32[4,3]", "--stage", "source")
    assert refused(call("dump", *words, "--output", "."), os.path.join(".", "loss.source.py"), code)
    assert code.read_text("utf-8") == text


def test_arrays_that_are_read_stay(call, model):
    np.save("x.npy", np.ones((4, 3), np.float32))
    answer = call("dump", "model.py:loss", "--args", "f32[3,2] 'x.npy'", "--output", "x.npy")
    assert refused(answer, "x.npy", "x.npy")
    assert np.load("x.npy").sum() == 12


def test_other_files_are_written_again(call, model):
    for path in ("loss.ir", "old.py"):
        Path(path).write_text("old", "utf-8")
        assert call("dump", *LOSS, "--output", path).out == f"{path}\n"
        assert "func @loss" in Path(path).read_text("utf-8")


def test_a_report_about_the_device_takes_no_module_s_place(call):
    from autodiff_compiler import version

    text = Path(version.__file__).read_text("utf-8")
    assert refused(call("ascend-selftest", "--out", version.__file__), version.__file__, version.__file__)
    assert Path(version.__file__).read_text("utf-8") == text
