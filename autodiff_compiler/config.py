"""Process-wide settings: execution mode, dumps, compile options (MindSpore's `set_context`)."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "context", "disable_jit", "get_context", "jit_disabled", "set_context"]

GRAPH_MODE = 0
PYNATIVE_MODE = 1

#: Settings of MindSpore that change nothing here: accepted, kept, given back.
_KEPT = {
    "device_id": 0,
    "max_call_depth": 1000,
    "pynative_synchronize": False,
    "jit_config": None,
    "enable_graph_kernel": False,
    "graph_kernel_flags": "",
    "deterministic": "OFF",
    "memory_optimize_level": "O0",
    "max_device_memory": "1024GB",
    "enable_compile_cache": False,
    "compile_cache_path": "",
    "runtime_num_threads": 30,
    "precompile_only": False,
    "jit_syntax_level": 2,
    "debug_level": "RELEASE",
    "jit_level": "O0",
    "exec_order": "",
}
_SETTINGS = {
    "mode": PYNATIVE_MODE,
    "device_target": "CPU",
    "save_graphs": False,
    "save_graphs_path": "",
    "verify": False,
    "optimize": 2,
    "backend": "numpy",
}


class Context:
    """The settings, as attributes."""

    mode: int
    device_target: str
    save_graphs: bool | int
    save_graphs_path: str
    verify: bool
    optimize: int
    backend: str

    def __init__(self) -> None:
        self._kept = dict(_KEPT)
        self.__dict__.update(_SETTINGS)

    def set(self, **settings: Any) -> None:
        """Changes settings; an unknown name or value changes nothing."""
        for name, value in settings.items():
            self.check(name, value)
        for name, value in settings.items():
            if name in _SETTINGS:
                setattr(self, name, value)
            else:
                self._kept[name] = value

    def get(self, name: str) -> Any:
        if name in _SETTINGS:
            return getattr(self, name)
        if name in self._kept:
            return self._kept[name]
        raise ValueError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, [*_SETTINGS, *_KEPT], 1)
        return f"there is no setting {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")

    def check(self, name: str, value: Any) -> None:
        """Raises ValueError or TypeError for a setting that does not exist or cannot have this value."""
        if name not in _SETTINGS and name not in _KEPT:
            raise ValueError(self._unknown(name))
        if name == "mode" and value not in (GRAPH_MODE, PYNATIVE_MODE):
            raise ValueError(f"mode is GRAPH_MODE (0) or PYNATIVE_MODE (1), not {value!r}")
        if name == "device_target" and value != "CPU":
            raise ValueError(f"this build runs on the device 'CPU' only, not on {value!r}")
        if name == "optimize" and value not in (0, 1, 2):
            raise ValueError(f"optimize is 0, 1 or 2, not {value!r}")
        if name == "backend" and value != "numpy":
            raise ValueError(f"this build has the backend 'numpy' only, not {value!r}")
        if name == "save_graphs" and value not in (False, True, 0, 1, 2, 3):
            raise ValueError(f"save_graphs is a bool or 0 to 3, not {value!r}")
        if name == "save_graphs_path" and not isinstance(value, str):
            raise TypeError(f"save_graphs_path must be a string, not {type(value).__name__}")


context = Context()


def set_context(**settings: Any) -> None:
    """Changes process-wide settings.

    `mode`: `GRAPH_MODE` compiles Cell calls and every function whose derivative is taken, `PYNATIVE_MODE` (the default)
    runs them eagerly.  `save_graphs` with `save_graphs_path` writes the IR after every pass of every compilation.
    `verify` checks the IR after every pass.  ValueError or TypeError for what is unknown; then nothing is changed.

    >>> set_context(mode=PYNATIVE_MODE)
    >>> get_context("mode") == PYNATIVE_MODE
    True
    """
    context.set(**settings)


def get_context(attr_key: str) -> Any:
    """The value of one setting; ValueError if there is none of that name."""
    return context.get(attr_key)


_disabled = int(os.environ.get("AC_DISABLE_JIT", "") not in ("", "0"))


@contextmanager
def disable_jit() -> Iterator[None]:
    """Runs everything eagerly inside, also what is decorated with `jit`: for debuggers.

    The environment variable AC_DISABLE_JIT=1 does the same for a whole process.
    """
    global _disabled
    _disabled += 1
    try:
        yield
    finally:
        _disabled -= 1


def jit_disabled() -> bool:
    """Whether compiled functions run eagerly now."""
    return _disabled > 0
