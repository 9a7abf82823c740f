"""Which processor code is made for, and every reason why none is made."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from autodiff_compiler import cli
from autodiff_compiler.backends.native.jit import machine as subject
from autodiff_compiler.backends.native.jit.machine import LLVMLITE_RANGE, Machine, machine, override, why_not

ROOT = Path(__file__).parents[3]

needs_native = pytest.mark.skipif(why_not() is not None, reason=f"no native code here: {why_not()}")


@pytest.fixture
def asked_anew():
    """Answers about this host are kept; a test that changes the host needs them forgotten before and after."""
    kept = (subject._why_not, subject.this_host)
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


@needs_native
def test_the_host_is_described_by_what_it_can_do():
    host = machine()
    assert host.triple.split("-")[0] in ("x86_64", "aarch64", "arm64")
    if host.triple.startswith("x86_64"):
        assert host.has("fma")
        assert host.vector_bytes == (64 if host.has("avx512f") and host.has("avx512vl") else 32)
    else:
        assert host.vector_bytes == 16
    assert host.lanes(4) == 2 * host.lanes(8) == host.vector_bytes // 4


def test_a_feature_is_found_by_its_whole_name():
    some = Machine("x86_64-linux-gnu", "some", "+avx512f,-avx512,+fma", 64, True)
    assert some.has("avx512f")
    assert some.has("fma")
    assert not some.has("avx512")
    assert not some.has("avx")


@needs_native
def test_override_is_another_processor_until_it_ends():
    host = machine()
    with override("x86-64-v3", triple="x86_64-unknown-linux-gnu") as other:
        assert machine() is other
        assert (other.vector_bytes, other.masked, other.lanes(4)) == (32, False, 8)
        assert other.has("fma")
        assert not other.has("avx512f")
        with override("x86-64-v4", triple="x86_64-unknown-linux-gnu") as wide:
            assert (wide.vector_bytes, wide.masked) == (64, True)
            assert wide.has("avx2")
        with override("neoverse-v1", triple="aarch64-unknown-linux-gnu") as arm:
            assert (arm.vector_bytes, arm.masked) == (16, False)
        assert machine() is other
    assert machine() == host


@needs_native
def test_override_ends_with_an_exception():
    host = machine()
    with pytest.raises(ZeroDivisionError), override("x86-64-v3", vector_bytes=16):
        1 // (machine().vector_bytes - 16)
    assert machine() == host


# ------------------------------------------------------------------------------------------------ why not
def test_the_variable_is_asked_each_time(monkeypatch):
    before = why_not()
    monkeypatch.setenv("AC_DISABLE_NATIVE", "1")
    assert "AC_DISABLE_NATIVE" in why_not()
    with pytest.raises(RuntimeError, match="AC_DISABLE_NATIVE"):
        machine()
    for off in ("0", ""):
        monkeypatch.setenv("AC_DISABLE_NATIVE", off)
        assert why_not() == before


def _getconfig(name, known=sysconfig.get_config_var):
    return 1 if name == "Py_GIL_DISABLED" else known(name)


@pytest.mark.parametrize(
    ("where", "name", "value", "said"),
    [
        (subject.platform, "python_implementation", lambda: "PyPy", "needs CPython; this is PyPy"),
        (subject.sysconfig, "get_config_var", _getconfig, "free-threaded"),
        (subject.sys, "version_info", (3, 14, 0, "final", 0), "below Python 3.14"),
        (subject.sys, "byteorder", "big", "little-endian"),
        (subject.ctypes, "sizeof", lambda kind: 4, "64-bit"),
        (subject.sys, "platform", "win32", "Linux and macOS"),
    ],
)
def test_interpreters_it_does_not_know(asked_anew, monkeypatch, where, name, value, said):
    monkeypatch.setattr(where, name, value)
    assert said in subject._interpreter()


def test_a_missing_library(asked_anew, monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)  # makes the import fail
    assert "llvmlite is not installed" in why_not()


@pytest.mark.parametrize("version", ["0.44.1", "0.51.0", "1.0.0", "unknown"])
@needs_native
def test_a_library_out_of_range(asked_anew, monkeypatch, version):
    import llvmlite

    monkeypatch.setattr(llvmlite, "__version__", version)
    assert why_not() == f"it needs llvmlite from 0.45 to below 0.51; {version} is installed"


@needs_native
def test_a_library_that_does_not_load(asked_anew, monkeypatch):
    def fails():
        raise OSError("libc.so.7: cannot open shared object file")

    monkeypatch.setattr(subject, "binding", fails)
    assert why_not() == "llvmlite does not work here (OSError: libc.so.7: cannot open shared object file)"


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (Machine("x86_64-unknown-linux-gnu", "core2", "+sse4.1", 32, False), "AVX2 and FMA; this is core2"),
        (Machine("x86_64-unknown-linux-gnu", "sandybridge", "+avx,-avx2,-fma", 32, False), "this is sandybridge"),
        (Machine("riscv64-unknown-linux-gnu", "generic", "", 0, False), "this is riscv64"),
    ],
)
@needs_native
def test_processors_without_what_it_needs(asked_anew, monkeypatch, host, said):
    monkeypatch.setattr(subject, "this_host", lambda: host)
    monkeypatch.setattr(subject, "_why_not", subject._why_not.__wrapped__)
    assert said in why_not()


@needs_native
def test_a_system_that_refuses_executable_memory(asked_anew, monkeypatch):
    class Refusing:
        def mprotect(self, start, size, protection):
            subject.ctypes.set_errno(13)
            return -1

    monkeypatch.setattr(subject.ctypes, "CDLL", lambda name, use_errno: Refusing())
    assert subject._executable_memory() == "this system refuses executable memory (Permission denied)"


def test_the_declared_range_is_the_one_that_is_checked():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (ours,) = [text for text in declared if text.startswith("llvmlite")]
    found = re.match(r"llvmlite>=(\d+)\.(\d+),<(\d+)\.(\d+);", ours)
    assert found
    numbers = tuple(map(int, found.groups()))
    assert (numbers[:2], numbers[2:]) == LLVMLITE_RANGE


def test_llvmlite_is_imported_when_it_is_asked_for():
    program = (
        "import sys, autodiff_compiler, autodiff_compiler.backends.native.jit.engine as engine\n"
        "assert 'llvmlite' not in sys.modules\n"
        "from autodiff_compiler.backends.native.jit.machine import why_not\n"
        "import os; os.environ['AC_DISABLE_NATIVE'] = '1'; why_not()\n"
        "assert 'llvmlite' not in sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


# ------------------------------------------------------------------------------------------------ the command
@needs_native
def test_env_says_what_was_found(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("AC_CACHE_DIR", str(tmp_path))
    assert cli.main(["env", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["native"]
    assert found["state"] == "usable"
    assert machine().cpu in found["processor"]
    assert found["cache"]["folder"] == str(tmp_path / "objects")


def test_env_says_why_not(monkeypatch, capsys):
    monkeypatch.setenv("AC_DISABLE_NATIVE", "1")
    monkeypatch.setenv("AC_CACHE", "0")
    assert cli.main(["env"]) == 0
    told = capsys.readouterr().out
    assert "not used, NumPy runs programs: the environment variable AC_DISABLE_NATIVE is set" in told
    assert "state: off: the environment variable AC_CACHE is 0" in told
