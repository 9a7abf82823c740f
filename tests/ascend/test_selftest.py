"""`ascend-selftest` and `env`: what they report of a good device, and of one that is not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.ascend.library import LIBRARY_VARIABLE
from autodiff_compiler.cli import main
from autodiff_compiler.testing.ascend import environment, self_test
from tests import forked
from tests.ascend.conftest import WHERE, Simulator, builder
from tests.ascend.on_device import MODES

STAGES = [
    "libraries", "symbols", "device", "memory", "copies", "streams and events", "one operator", "all operators",
    "mode per_call", "mode cached", "mode captured", "control flow", "training",
]  # fmt: skip
simulated = pytest.mark.skipif(WHERE != "sim", reason="only a simulator fails on demand")


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {stage["stage"]: stage["status"] for stage in report["stages"]}


def stage(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(s for s in report["stages"] if s["stage"] == name)


@pytest.mark.long
def test_a_good_device_passes_every_stage(device: Simulator, capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    assert main(["ascend-selftest", "--json", "--out", str(file)]) == 0
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert report == json.loads(file.read_text("utf-8"))
    assert list(outcomes(report)) == STAGES
    assert set(outcomes(report).values()) == {"passed"}
    assert said.err.splitlines() == [f"{name} ..." for name in STAGES]
    assert report["environment"]["autodiff_compiler"] == ms.__version__
    assert stage(report, "symbols")["operators_missing"] == []
    assert stage(report, "device")["soc"].startswith("Ascend")
    errors = stage(report, "all operators")["errors"]
    assert errors["add"]["i64"] == 0
    assert 0 <= errors["exp"]["f16"] < 1e-2
    assert len(errors) > 140
    assert ms.get_context("device_target") == "CPU"
    assert main(["ascend-selftest", "--device", "1"]) == 0
    text = capsys.readouterr().out
    assert "device 1 started" in text
    assert text.count("[passed]") == len(STAGES)
    assert "  exp: f32 " in text


@simulated
@pytest.mark.long
def test_a_failing_operator_is_reported_and_the_rest_goes_on(device: Simulator) -> None:
    """Even where the device itself is lost: it is started anew."""
    assert device.core is not None
    device.core.aclsim_fail_call(b"aclnnTanh", 1, 561003)
    device.core.aclsim_fail_task(b"Sin", 1, 507015)
    report, passed = self_test()
    assert not passed
    assert outcomes(report) == dict.fromkeys(STAGES, "passed") | {"all operators": "failed"}
    text = "\n".join(stage(report, "all operators")["text"])
    assert "tanh f32: AscendError: aclnnTanhGetWorkspaceSize failed with 561003" in text
    assert "sin f32: AscendError: aclrtSynchronizeStream failed with 507015" in text
    assert isinstance(stage(report, "all operators")["errors"]["tanh"]["f16"], float)
    device.reset()


@simulated
@pytest.mark.long
def test_a_failing_stage_stops_only_what_needs_it(device: Simulator) -> None:
    assert device.core is not None
    device.core.aclsim_fail_call(b"aclrtCreateEventExWithFlag", 1, 207007)
    device.core.aclsim_fail_call(b"aclmdlRIExecuteAsync", 1, 507011)
    report, passed = self_test()
    assert not passed
    failed = {"streams and events": "failed", "mode captured": "failed"}
    assert outcomes(report) == dict.fromkeys(STAGES, "passed") | failed
    assert "207007 (ACL_ERROR_RT_NO_EVENT_RESOURCE)" in stage(report, "streams and events")["text"][0]
    device.reset()


@simulated
def test_without_devices_the_failing_function_is_named(device: Simulator, monkeypatch: Any) -> None:
    monkeypatch.setenv("ACLSIM_DEVICES", "0")
    report, passed = self_test()
    assert not passed
    found = outcomes(report)
    assert (found["libraries"], found["symbols"], found["device"]) == ("passed", "passed", "failed")
    assert {found[name] for name in STAGES[3:]} == {"not run"}
    assert "aclInit failed with 500000" in stage(report, "device")["text"][0]
    assert "aclInit failed with 500000" in environment()["cann"]["device"]
    monkeypatch.delenv("ACLSIM_DEVICES")
    assert environment()["cann"]["device"].startswith("usable: device 0")


def _command(lib: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _python(lib, "-m", "autodiff_compiler", *arguments)


def _python(lib: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND_")}
    variables |= {LIBRARY_VARIABLE: str(lib), "PYTHONPATH": str(Path(ms.__file__).parent.parent)}
    return forked.run(*arguments, env=variables)


@pytest.mark.long
@simulated
def test_an_older_release_lists_what_it_lacks(tmp_path: Path, objects: Path) -> None:
    lacking = ("aclnnTanh", "aclnnTanhGetWorkspaceSize", "aclmdlRICaptureBegin")
    done = _command(builder().build(tmp_path, lacking, objects), "ascend-selftest", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert stage(report, "symbols")["operators_missing"] == ["Tanh"]
    assert stage(report, "symbols")["functions_missing"] == ["aclmdlRICaptureBegin"]
    assert outcomes(report) == dict.fromkeys(STAGES, "passed") | {"symbols": "failed"}
    errors = stage(report, "all operators")["errors"]
    assert "exp" in errors
    assert "tanh" not in errors


@pytest.fixture(scope="module")
def without_tanh(tmp_path_factory: pytest.TempPathFactory, objects: Path) -> Path:
    """The libraries of a release that lacks one operator."""
    lib: Path = builder().build(tmp_path_factory.mktemp("old"), ("aclnnTanh", "aclnnTanhGetWorkspaceSize"), objects)
    return lib


@pytest.mark.some(3)
@simulated
@pytest.mark.parametrize("mode", MODES)
def test_an_operator_that_this_cann_lacks_is_refused_by_name_or_the_hosts(
    without_tanh: Path, tmp_path: Path, mode: str
) -> None:
    text = f"""
import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
ms.set_context(device_target="Ascend", ascend_mode="{mode}")
f = ms.jit(lambda x: ops.tanh(x) + ops.exp(x))
print(f.lower(Tensor([0.0])).coverage().missing)
for run in (f, ops.tanh):
    try:
        run(Tensor([0.0]))
    except ms.UnsupportedCallError as error:
        print(error.code, error.loc is not None, error.notes, error.hint)
ms.set_context(ascend_fallback="host")
for _ in range(3):
    print(f(Tensor([0.0])).tolist(), ops.tanh(Tensor([0.0])).tolist())
"""
    (tmp_path / "program.py").write_text(text, "utf-8")
    done = _python(without_tanh, str(tmp_path / "program.py"))
    assert done.stderr == ""
    coverage, compiled, eager, *values = done.stdout.splitlines()
    assert coverage == "{'tanh': 'the installed CANN has no function aclnnTanh at program.py:5'}"
    for said in (compiled, eager):
        assert said.startswith("AC1902 True ('tanh: the installed CANN has no function aclnnTanh',)")
        assert said.endswith('install a newer CANN, or let the host do it: set_context(ascend_fallback="host")')
    assert values == ["[1.0] [0.0]"] * 3


def test_a_report_that_cannot_be_written_is_told_before_the_tests(tmp_path: Path) -> None:
    done = _command(tmp_path, "ascend-selftest", "--out", str(tmp_path / "none" / "report.json"))
    assert done.returncode == 2
    assert "report.json cannot be written: No such file" in done.stderr
    assert "libraries ..." not in done.stderr


def test_env_without_cann_says_what_was_looked_for(tmp_path: Path) -> None:
    done = _command(tmp_path, "env", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["cann"]["folders"] == [str(tmp_path)]
    assert found["cann"]["variables"][LIBRARY_VARIABLE] == str(tmp_path)
    assert "libascendcl.so" in found["cann"]["device"]
    assert "source set_env.sh" in found["cann"]["device"]
    text = _command(tmp_path, "env").stdout
    assert f"python: {found['python']}" in text
    assert "device: MissingSymbolError" in text
