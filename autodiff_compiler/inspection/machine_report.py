"""This machine, for `autodiff-compiler env`: whether there is machine code, and how fast programs run."""

from __future__ import annotations

from typing import Any

from ..backends.native.callpath.choose import unknown_layouts, why_plain
from ..backends.native.jit import cache
from ..backends.native.jit.machine import machine, versions, why_not
from ..backends.native.memory import large_alloc
from ..config import context
from ..environment import environment_set
from .machine_limits import known_limits, machine_limits

_TELLING = ("avx2", "fma", "f16c", "avx512f", "avx512bf16", "avx512fp16", "neon", "fullfp16", "sve")


def native() -> dict[str, Any]:
    """Whether programs become machine code, or why the NumPy backend runs them; the processor, and the cache."""
    reason = why_not()
    if reason is not None:
        return {"state": f"not used, NumPy runs programs: {reason}", "cache": cache.info()}
    host = machine()
    return {
        "state": "usable",
        "llvm": versions(),
        "processor": f"{host.cpu} ({host.triple})",
        "features": " ".join(filter(host.has, _TELLING)),
        "vectors": f"{host.vector_bytes} bytes{', masked' if host.masked else ''}",
        "calls": _calls(),
        "pool": {"limit": large_alloc.limit_asked_for()},
        "cache": cache.info(),
    }


def _calls() -> str:
    """Whether machine code checks calls and guards, or why Python does; what it leaves to Python."""
    reason = why_plain()
    if reason is not None:
        return f"checked in Python: {reason}"
    unknown = unknown_layouts()
    return "checked in machine code" + (f"; in Python where they read {', '.join(unknown)}" if unknown else "")


def settings() -> dict[str, Any]:
    """Which backend of the CPU runs compiled programs, and the variables of the environment that say something."""
    reason = why_not()
    chosen = context.backend
    if chosen == "auto":
        chosen = f"auto, which is {'native' if reason is None else 'numpy'} here"
    elif chosen == "native" and reason is not None:
        chosen = f"native, which cannot be used: {reason}"
    return {"backend": chosen, "variables": environment_set()}


def limits(*, measure: bool = False) -> dict[str, str]:
    """The speed of one thread in the code of the best backend there is; `measure` takes a second."""
    backend = "numpy" if why_not() is not None else "native"
    found = machine_limits(backend, measure=True) if measure else known_limits(backend)
    if found is None:
        return {"state": "not measured yet; `env --measure`, or the first artifact.cost(), does it"}
    return {"backend": backend, **found.summary()}
