"""The environment variables of the package: what they may be, and when a mistake is told."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import autodiff_compiler as ms
from autodiff_compiler import cli, environment
from autodiff_compiler.backends.native.jit import cache
from autodiff_compiler.config import context

MISTAKES = [
    ("AC_BACKEND", "foo", "auto, native, numpy"),
    ("AC_CACHE_SIZE", "abc", "500M"),
    ("AC_POOL_SIZE", "xx", "2G"),
    ("AC_CALLPATH", "foo", "plain"),
    ("AC_DISABLE_JIT", "off", "0, 1"),
    ("AC_FULL_TRACEBACK", "yes", "0, 1"),
]


@pytest.mark.parametrize(("name", "value", "choices"), MISTAKES)
def test_a_mistake_names_the_variable_the_value_and_what_it_can_be(monkeypatch, name, value, choices):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"environment variable {name} is '{value}'; .*{choices}"):
        environment.check_environment()


def started(*words, folder="", **variables):
    """What a process says, with these variables."""
    paths = os.pathsep.join(filter(None, [folder, *sys.path]))
    environ = {**os.environ, "PYTHONPATH": paths, **variables}
    return subprocess.run([sys.executable, *words], env=environ, capture_output=True, text=True, check=False)


def imported(**variables):
    """The same of one that imports the package."""
    return started("-c", "import autodiff_compiler as ms; print(ms.get_context('backend'))", **variables)


def test_a_mistake_is_told_at_import():
    found = imported(AC_POOL_SIZE="xx")
    assert found.returncode
    assert found.stderr.splitlines()[-1].startswith("ValueError: the environment variable AC_POOL_SIZE is 'xx'")
    places = [line.split(", ")[0] for line in found.stderr.splitlines() if line.startswith("  File ")]
    assert places == ['  File "<string>"', f'  File "{ms.__file__}"']  # the user's line, and one of the package


@pytest.mark.parametrize("name", ["config", "ops", "inspection.links"])
def test_it_is_told_whatever_is_imported_first(name):
    found = started("-c", f"import autodiff_compiler.{name}", AC_LOG="compile")
    assert found.stderr.splitlines()[-1].startswith("ValueError: the environment variable AC_LOG is 'compile'; ")


@pytest.mark.parametrize(("name", "value", "choices"), MISTAKES)
def test_the_command_line_says_it_in_a_line(name, value, choices):
    found = started("-m", "autodiff_compiler", "env", **{name: value})
    assert (found.returncode, found.stdout) == (2, "")
    (line,) = found.stderr.splitlines()
    assert line.startswith(f"autodiff_compiler: the environment variable {name} is '{value}'; ")
    assert choices in line


def test_the_command_line_says_it_as_json():
    found = started("-m", "autodiff_compiler", "env", "--json", AC_BACKEND="foo")
    assert (found.returncode, found.stderr) == (2, "")
    message = "the environment variable AC_BACKEND is 'foo'; it can be auto, native, numpy"
    assert json.loads(found.stdout) == {"error": {"code": None, "class": "Usage", "message": message}}


def test_a_program_of_that_name_is_no_command_line(tmp_path):
    """A module that is run by ``-m`` and imports the package gets the exception, as any other program does."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("import autodiff_compiler\n")
    (tmp_path / "mine" / "__main__.py").write_text("")
    found = started("-m", "mine", "autodiff_compiler", folder=str(tmp_path), AC_BACKEND="foo")
    assert found.returncode == 1
    assert found.stderr.splitlines()[-1].startswith("ValueError: the environment variable AC_BACKEND is 'foo'")


def test_the_backend_at_the_start():
    assert imported(AC_BACKEND="numpy").stdout == "numpy\n"
    assert imported(AC_BACKEND="").stdout == "auto\n"


def test_what_is_right_or_empty_is_accepted(monkeypatch):
    for name in ("AC_BACKEND", "AC_CACHE_SIZE", "AC_POOL_SIZE", "AC_CALLPATH", "AC_DISABLE_JIT", "AC_POISON"):
        monkeypatch.setenv(name, "")
    environment.check_environment()
    monkeypatch.setenv("AC_CACHE_SIZE", "2 GiB")
    monkeypatch.setenv("AC_BACKEND", "native")
    environment.check_environment()
    assert environment.amount("AC_CACHE_SIZE") == 2 * 1024**3
    assert environment.amount("AC_POOL_SIZE") is None
    assert environment.choice("AC_BACKEND") == "native"


@pytest.mark.parametrize(("text", "on"), [("", False), ("0", False), ("1", True)])
def test_switches(monkeypatch, text, on):
    monkeypatch.setenv("AC_POISON", text)
    assert environment.flag("AC_POISON") is on


def test_machine_code_that_cannot_be_made_is_refused_at_the_first_compile(monkeypatch):
    """As `set_context` refuses it: AC_BACKEND is the context at the start."""
    monkeypatch.setattr(context, "backend", "native")  # as AC_BACKEND sets it
    monkeypatch.setenv("AC_DISABLE_NATIVE", "1")
    with pytest.raises(RuntimeError, match=r"'native' cannot be used: .*AC_DISABLE_NATIVE"):
        ms.jit(lambda x: x + 1)(ms.Tensor([1.0]))
    monkeypatch.setattr(context, "backend", "auto")
    assert ms.jit(lambda x: x + 1)(ms.Tensor([1.0])).tolist() == [2]


def test_env_shows_what_is_set_and_chosen(monkeypatch, capsys):
    monkeypatch.setenv("AC_POOL_SIZE", "512M")
    monkeypatch.setenv("AC_DISABLE_NATIVE", "1")
    monkeypatch.setattr(context, "backend", "auto")
    assert cli.main(["env"]) == 0
    told = capsys.readouterr().out
    assert "  AC_POOL_SIZE: 512M\n" in told
    assert "backend: auto, which is numpy here\n" in told
    assert told.index("native:") < told.index("cann:")
    assert max(map(len, told.splitlines())) <= 120


def test_a_folder_in_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AC_CACHE", raising=False)
    monkeypatch.setenv("AC_CACHE_DIR", "~/kept")
    assert cache.folder() == str(tmp_path / "kept" / "objects")
    monkeypatch.setenv("AC_CACHE_DIR", "~nobody_of_that_name/kept")
    assert "no home folder" in (cache.why_off() or "")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AC_CHCK_NONFINITE", "AC_CHECK_NONFINITE"),
        ("AC_LOGS", "AC_LOG"),
        ("AC_FULL_TRACEBAKC", "AC_FULL_TRACEBACK"),
        ("AC_DISABLE_NATIV", "AC_DISABLE_NATIVE"),
    ],
)
def test_a_misspelt_name_is_told(monkeypatch, name, meant):
    monkeypatch.setenv(name, "1")
    (told,) = environment.misspelt_names()
    assert told == f"the environment variable {name} means nothing; did you mean {meant}?"


def test_a_misspelt_name_is_a_warning_at_import(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os\nimport autodiff_compiler as ms\nimport autodiff_compiler.nn\n")
    told = "the environment variable AC_CHCK_NONFINITE means nothing; did you mean AC_CHECK_NONFINITE?"
    found = started(str(program), AC_CHCK_NONFINITE="1")
    assert found.returncode == 0
    assert found.stderr == f"{program}:2: UserWarning: {told}\n  import autodiff_compiler as ms\n"
    found = started("-m", "autodiff_compiler", "--version", AC_CHCK_NONFINITE="1")
    assert (found.returncode, found.stderr) == (0, f"autodiff_compiler: {told}\n")


def test_names_of_others_and_right_ones_are_accepted(monkeypatch):
    for name in ("AC_HOME", "AC_USER_TOKEN", "AC_LIBRARY_PATH", "ACLOG"):
        monkeypatch.setenv(name, "1")
    assert environment.misspelt_names() == []


def test_every_variable_that_is_read_is_known(monkeypatch):
    """Each name in quotes in the package; the warnings compare with a table of them."""
    package = Path(ms.__file__).parent
    texts = [path.read_text("utf-8") for path in package.rglob("*.py")]
    names = {name for text in texts for name in re.findall(r"[\"'](AC_[A-Z_]+)[\"']", text)}
    assert {"AC_CACHE_DIR", "AC_LOG"} <= names
    for name in names:
        monkeypatch.setenv(name, "")
    assert environment.misspelt_names() == []
