"""Diagnosis of an Ascend device: the environment, and a self-test of all operators and programs."""

from __future__ import annotations

import glob
import linecache
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import resources
from typing import Any

import numpy as np

from ..backends.ascend.acl import acl
from ..backends.ascend.backend import AscendBackend
from ..backends.ascend.device import current
from ..backends.ascend.library import LIBRARY_VARIABLE, folders
from ..backends.ascend.modes import MODES
from ..backends.ascend.selftest import SelfTest, Stage, StageFailure, basics, recover, told
from ..backends.ascend.steps import Segment
from ..backends.numpy import NumpyBackend
from ..config import context, set_context
from ..dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from ..errors import AscendError
from ..inspection.samples import forward, samples_of
from ..primitives import REGISTRY
from ..version import __version__
from .ascend_collectives import collectives_test

__all__ = ["collectives_test", "environment", "self_test"]

_VARIABLES = (
    LIBRARY_VARIABLE, "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH",
    "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "INF_NAN_MODE_ENABLE",
    "MS_ASCEND_CHECK_OVERFLOW_MODE", "LD_LIBRARY_PATH", "RANK_TABLE_FILE", "HCCL_CONNECT_TIMEOUT", "HCCL_EXEC_TIMEOUT",
    "HCCL_BUFFSIZE", "HCCL_DETERMINISTIC", "HCCL_IF_IP", "HCCL_SOCKET_IFNAME", "HCCL_WHITELIST_DISABLE",
)  # fmt: skip
_FILE = "<ascend-selftest>"
_DRIVER = ("/usr/local/Ascend/driver/version.info", "/etc/ascend_install.info")
_DTYPES = (float32, float16, bfloat16, int64, int32, int16, int8, uint8, bool_, float64)
#: The relative error, per dtype, that another order of summation or another formula may cause.
_TOLERANCES = {float32: 1e-4, float64: 1e-6, float16: 1e-2, bfloat16: 6e-2}


# ------------------------------------------------------------------------------------------------ environment
def environment(start: bool = True) -> dict[str, Any]:
    """What was found of Python, the machine and CANN; `start`: also whether a device starts, and why not."""
    found: dict[str, Any] = {
        "autodiff_compiler": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": platform.platform(),
        "cann": {
            "folders": folders(),
            "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
            "driver": {path: _read(path) for path in _DRIVER if os.path.exists(path)},
            "device files": sorted(glob.glob("/dev/davinci*")),
            "libraries": {group: acl.libraries.paths(group) for group in ("runtime", "base", "operators", "hccl")},
            "other users": [name for name in ("torch_npu", "acl") if name in sys.modules],
        },
    }
    if start:
        found["cann"]["device"] = _starts()
    return found


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(500).strip()
    except OSError as error:
        return str(error)


def _starts() -> str:
    """ "usable", or why the device that the context names cannot be used, with the function that failed."""
    try:
        for group in ("runtime", "base", "operators"):
            acl.libraries.load(group)
        here = current()
        free, total = here.memory()
    except AscendError as error:
        return told(error)
    return f"usable: device {here.number}, {free:,} of {total:,} bytes are free"


# ------------------------------------------------------------------------------------------------ self-test
def self_test(number: int = 0, progress: Callable[[str], None] = lambda name: None) -> tuple[dict[str, Any], bool]:
    """Runs all stages on a device; the report, and whether all passed.  Settings are afterwards what they were."""
    before = {name: context.get(name) for name in ("device_target", "device_id", "ascend_mode", "ascend_fallback")}
    test = SelfTest(progress)
    context._kept["device_id"] = number  # without `set_context`, which would start the device
    try:
        basics(test, acl, _operators_of_rules)
        test.run("all operators", ("one operator",), _all_operators)
        for mode in MODES:
            test.run(f"mode {mode}", ("one operator",), partial(_mode, mode=mode))
        test.run("control flow", ("mode per_call",), _control_flow)
        test.run("training", ("mode per_call",), _training)
    finally:
        context._kept["device_id"] = before["device_id"]
        set_context(**before)
    stages = [
        {"stage": s.name, "status": s.status, "seconds": s.seconds, "text": s.lines, **s.data} for s in test.stages
    ]
    return {"environment": environment(start=False), "stages": stages}, test.passed


def _backend() -> AscendBackend:
    return AscendBackend.installed(NumpyBackend().compile)


def _with_rule() -> list[str]:
    return sorted(n for n, d in REGISTRY.items() if d.samples and (d.aclnn or d.decomposed) and (d.numpy or d.scalar))


def _operators_of_rules() -> Iterable[str]:
    """The operators that the samples of all primitives need at float32 and int64."""
    found: set[str] = set()
    backend = AscendBackend(NumpyBackend().compile)
    with np.errstate(all="ignore"):
        for name in _with_rule():
            for dtype in (float32, int64):
                for xs, attrs in samples_of(REGISTRY[name], dtype):
                    made = forward(REGISTRY[name], xs, attrs)
                    if made is not None:
                        steps = backend._lowered(made[0])[0].steps
                        found |= {call.operator for step in steps if isinstance(step, Segment) for call in step.calls}
    return found


def _all_operators(stage: Stage) -> None:
    """Every primitive with a rule, at every dtype it takes, against its NumPy kernel."""
    table: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    with np.errstate(all="ignore"):
        for name in _with_rule():
            for dtype in _DTYPES:
                try:
                    error = _error_of(name, dtype)
                except Exception as failure:
                    table.setdefault(name, {})[dtype.short] = told(failure)
                    wrong.append(f"{name} {dtype.short}: {told(failure)}")
                    recover(failure)
                    continue
                if error is not None:
                    table.setdefault(name, {})[dtype.short] = error if math.isfinite(error) else "other values"
                    if not error <= _TOLERANCES.get(dtype, 0.0 if dtype is bool_ or dtype.is_int else 1e-4):
                        wrong.append(f"{name} {dtype.short}: error {error:.2e}")
    checks = sum(len(row) for row in table.values())
    stage.say(f"{len(table)} primitives at all dtypes they take: {checks - len(wrong)} of {checks} right", errors=table)
    for name, row in table.items():
        errors = [f"{dtype} {x:.0e}" if isinstance(x, float) else f"{dtype} {x}" for dtype, x in row.items() if x]
        stage.say(f"  {name}: " + (", ".join(errors) or "exact") + f" ({len(row)} dtypes)")
    if wrong:
        raise StageFailure("wrong:\n" + "\n".join(wrong))


def _error_of(name: str, dtype: DType) -> float | None:
    """The greatest error over all samples; None where the primitive does not run on the device at this dtype.

    Errors of floats are parts of the greatest number of the result, those of integers are differences.
    """
    most = None
    for xs, attrs in samples_of(REGISTRY[name], dtype):
        if not any(x.dtype == dtype.numpy for x in xs) and (xs or dtype is not float32):
            continue
        made = forward(REGISTRY[name], xs, attrs)
        program = _backend().compile_known(made[0]) if made is not None else None
        if made is None or program is None or program.refusal is not None:
            continue
        found = [np.asarray(x) for x in program(*xs)]
        expected = [np.asarray(x) for x in NumpyBackend().compile(made[0])(*xs)]
        errors = [_difference(f, e) for f, e in zip(found, expected, strict=True) if f.size or e.size]
        if not errors:
            continue  # results without elements need no operator
        most = max([most or 0.0, *errors])
    return most


def _difference(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return math.inf
    if expected.dtype.kind in "iub":
        return float(np.count_nonzero(found != expected))
    f, e = found.astype(float), expected.astype(float)
    same = (f == e) | (np.isnan(f) & np.isnan(e))
    if (np.isfinite(f) != np.isfinite(e)).any() or not same[~np.isfinite(e)].all():
        return math.inf
    scale = max(1.0, float(np.abs(e[np.isfinite(e)]).max(initial=0.0)))
    return float(np.abs(np.where(same, 0.0, f - e)).max(initial=0.0)) / scale


def _on_both(stage: Stage, what: str, run: Callable[[], Any], rtol: float = 1e-4) -> None:
    """The same on the device and on the CPU; for an operator that this CANN lacks, which `symbols` tells, the host."""
    number = context.get("device_id")
    set_context(device_target="Ascend", device_id=number, ascend_fallback="host")
    try:
        found = [np.asarray(x, float) for x in run()]
    finally:
        set_context(device_target="CPU", ascend_fallback="")
    expected = [np.asarray(x, float) for x in run()]
    error = max(_difference(f, e) for f, e in zip(found, expected, strict=True))
    stage.say(f"{what}: error {error:.1e}", **{what: error})
    if not error <= rtol:
        raise StageFailure("that is too much")


def _mode(stage: Stage, mode: str) -> None:
    """A small network and its gradient, again and again with other numbers."""
    set_context(ascend_mode=mode)
    try:
        _on_both(stage, "a network and its gradient", _program("network"))
    finally:
        set_context(ascend_mode="per_call")


def _control_flow(stage: Stage) -> None:
    for name in ("repeated", "chosen", "counted"):
        _on_both(stage, f"{name}, with its gradient", _program(f"run_{name}"), 1e-3)


def _training(stage: Stage) -> None:
    _on_both(stage, "losses of eight steps of training", _program("training"), 1e-3)


def _program(name: str) -> Callable[[], Any]:
    """A function of `ascend_programs.py` as a user's: what belongs to this package is not compiled."""
    text = resources.files(__package__).joinpath("ascend_programs.py").read_text(encoding="utf-8")
    linecache.cache[_FILE] = (len(text), None, text.splitlines(keepends=True), _FILE)
    space: dict[str, Any] = {"__name__": "ascend_selftest"}
    exec(compile(text, _FILE, "exec"), space)
    found: Callable[[], Any] = space[name]
    return found
