"""Process-wide settings: execution mode, dumps, compile options (MindSpore's `set_context`)."""

from __future__ import annotations

import difflib
import functools
import numbers
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from . import logs
from .blas import STATE
from .environment import choice, flag
from .errors import NonFiniteError, SideEffectError, UnsupportedSyntaxError, leave_user_frames
from .locks import Lock

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "as_written",
    "asks_settings",
    "called_outside",
    "check_device",
    "check_nonfinite",
    "compiles",
    "context",
    "disable_jit",
    "get_context",
    "jit_disabled",
    "set_context",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

GRAPH_MODE = 0
PYNATIVE_MODE = 1

#: Settings of MindSpore without effect here: their type is checked, and `get_context` returns them.
_KEPT: dict[str, Any] = {
    "aoe_config": {},
    "aoe_tune_mode": "",
    "ascend_config": {},
    "auto_tune_mode": "NO_TUNE",
    "check_bprop": False,  # what a bprop returns is checked always
    "compile_cache_path": ".",
    "debug_level": "RELEASE",
    "deterministic": "OFF",  # on the CPU every run is
    "device_id": 0,
    "disable_format_transform": False,
    "enable_compile_cache": False,
    "enable_dump": False,
    "enable_graph_kernel": False,
    "enable_profiling": False,
    "enable_reduce_precision": True,
    "enable_sparse": False,
    "env_config_path": "",
    "exec_order": "",
    "gpu_config": {},
    "grad_for_scalar": False,
    "graph_kernel_flags": "",
    "inter_op_parallel_num": 0,
    "jit_config": None,
    "jit_enable_inplace_ops": True,
    "jit_level": "O0",
    "jit_syntax_level": 2,
    "max_call_depth": 1000,
    "max_device_memory": "1024GB",
    "memory_offload": "OFF",
    "memory_optimize_level": "O0",
    "mempool_block_size": "1GB",
    "op_timeout": 900,
    "precompile_only": False,
    "print_file_path": "",
    "profiling_options": "training_trace",
    "pynative_synchronize": False,  # on the CPU operations are done when they return
    "reserve_class_name_in_scope": True,
    "runtime_num_threads": 30,
    "save_dump_path": ".",
    "support_binary": False,
    "variable_memory_max_size": "30GB",
}
#: Those of them that have a few values only.
_VALUES: dict[str, tuple[Any, ...]] = {
    "debug_level": ("RELEASE", "DEBUG"),
    "deterministic": ("ON", "OFF"),
    "exec_order": ("", "bfs", "dfs", "gpto"),
    "jit_level": ("", "O0", "O1", "O2"),
    "jit_syntax_level": (0, 1, 2),
    "memory_offload": ("ON", "OFF"),
    "memory_optimize_level": ("O0", "O1"),
    "ascend_mode": ("per_call", "cached", "captured"),
    "ascend_fallback": ("", "host"),
}
#: Devices that MindSpore knows; here there are the first two of them.
_DEVICES = ("CPU", "Ascend", "GPU", "Davinci")
_SIZE = re.compile(r"\d+(\.\d+)? ?[KMG]B")
#: The function that starts a device, by the device's name: called with its number; RuntimeError if it cannot be used.
devices: dict[str, Callable[[int], None]] = {}
#: Called when the device, or how it is used, has changed.
watchers: list[Callable[[], None]] = []
#: Called when calls have become eager or compiled.
switches: list[Callable[[], None]] = []

#: Why a backend of the CPU cannot be used here, by its name: a function that says it, or None.
backends: dict[str, Callable[[], str | None]] = {"auto": lambda: None, "numpy": lambda: None}
_DEFAULT_BACKEND = "auto"

#: The settings that say where and how operations run.
_OF_DEVICES = (
    "backend",
    "device_target",
    "device_id",
    "ascend_mode",
    "ascend_fallback",
    "deterministic",
    "max_device_memory",
    "check_nonfinite",
)
#: The time of the import of this package: files that are newer are not what runs.
IMPORTED = time.time()

_SETTINGS = {
    "mode": PYNATIVE_MODE,
    "device_target": "CPU",
    "save_graphs": False,
    "save_graphs_path": "",
    "verify": False,
    "optimize": 2,
    "backend": choice("AC_BACKEND") or _DEFAULT_BACKEND,
    "num_threads": STATE.most,
    "ascend_mode": "per_call",
    "ascend_fallback": "",
    "dynamic_shapes": None,
    "check_nonfinite": {"1": True, "nan": "nan"}.get(choice("AC_CHECK_NONFINITE"), False),
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
    #: how many threads products use at most
    num_threads: int
    #: how operators reach an Ascend device: planned at each call, planned once, or captured and replayed
    ascend_mode: str
    #: "host": what an Ascend device cannot run, the host runs
    ascend_fallback: str
    #: whether sizes are symbolic: where calls differ (None), from the first call on, or never
    dynamic_shapes: bool | None
    #: whether every op is looked at for NaN and infinities; "nan": for NaN only
    check_nonfinite: bool | str

    def __init__(self) -> None:
        self._kept = dict(_KEPT)
        self.__dict__.update(_SETTINGS)
        #: whether programs measure what their parts take; no setting, as only a profile says so (`measure`)
        self.profile = False

    def measure(self, profile: bool) -> None:
        """From now on other programs run: those that measure themselves, or those that do not."""
        self.profile = profile
        for changed in watchers:
            changed()

    def set(self, **settings: Any) -> None:
        """Changes settings; an unknown name or value changes nothing."""
        for name, value in settings.items():
            self.check(name, value)
        if "num_threads" in settings:
            settings["num_threads"] = int(settings["num_threads"])
        before = self._of_devices()
        mode = self.mode
        after = before | {name: value for name, value in settings.items() if name in before}
        if after["check_nonfinite"]:
            check_looked_at(after["device_target"])
        if (after["device_target"], after["device_id"]) != (self.device_target, self.get("device_id")):
            check_device(after["device_target"], after["device_id"])
        for name, value in settings.items():
            if name in _SETTINGS:
                setattr(self, name, value)
            else:
                self._kept[name] = value
        STATE.most = self.num_threads
        for changed in [*(watchers if after != before else ()), *(switches if self.mode != mode else ())]:
            changed()

    def settings(self) -> dict[str, Any]:
        """All settings by name."""
        return {**{name: getattr(self, name) for name in _SETTINGS}, **self._kept}

    def _of_devices(self) -> dict[str, Any]:
        return {name: self.get(name) for name in _OF_DEVICES}

    @property
    def machine(self) -> tuple[str, ...]:
        """What a compiled program is made for."""
        checks = f"check_nonfinite={self.check_nonfinite}" if self.check_nonfinite else ""
        checks += " profile" * self.profile
        if self.device_target == "CPU":
            return "CPU", self.backend, checks
        return self.device_target, self.ascend_mode, self.ascend_fallback, checks

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
        if name == "device_target":
            _check_known(value)
        if name == "optimize" and value not in (0, 1, 2):
            raise ValueError(f"optimize is 0, 1 or 2, not {value!r}")
        if name == "backend":
            check_backend(value)
        if name == "num_threads":
            _check_count(name, value)
        if name == "check_nonfinite" and not (isinstance(value, bool) or value == "nan"):
            raise ValueError(f"check_nonfinite is True, False or 'nan', not {value!r}")
        if name == "dynamic_shapes" and value not in (None, False, True):
            raise ValueError(f"dynamic_shapes is None, True or False, not {value!r}")
        if name == "save_graphs" and value not in (False, True, 0, 1, 2, 3):
            raise ValueError(f"save_graphs is a bool or 0 to 3, not {value!r}")
        if name == "save_graphs_path" and not isinstance(value, str):
            raise TypeError(f"save_graphs_path must be a string, not {type(value).__name__}")
        if name in _VALUES and value not in _VALUES[name]:
            raise ValueError(f"{name} is one of {', '.join(map(repr, _VALUES[name]))}, not {value!r}")
        if name in _KEPT:
            _check_kept(name, value)


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} is at least 1, not {value}")


def check_backend(name: Any) -> None:
    """Raises ValueError for what is no backend of the CPU, RuntimeError for one that cannot be used here."""
    if name not in backends:
        raise ValueError(f"there is no backend {name!r}; there are {', '.join(map(repr, backends))}")
    why = backends[name]()
    if why is not None:
        raise RuntimeError(f"the backend {name!r} cannot be used: {why}")


def check_device(name: Any, number: int | None = None) -> None:
    """Raises ValueError for what is no device of MindSpore's, RuntimeError for one that cannot be used here."""
    _check_known(name)
    if name != "CPU":
        devices[name](context.get("device_id") if number is None else number)


def check_looked_at(device: str) -> None:
    """Raises RuntimeError where results lie on a device, at which `check_nonfinite` cannot look."""
    if device != "CPU":
        raise RuntimeError(
            f"check_nonfinite looks at what the CPU computes, and device_target is {device!r}: "
            'find the NaN with device_target="CPU"'
        )


def _check_known(name: Any) -> None:
    if name not in _DEVICES:
        if isinstance(name, str) and name.upper() in _DEVICES[:3]:
            raise ValueError(f"there is no device {name!r}; write {name.upper()!r}")
        raise ValueError(
            f"there is no device {name!r}; there are {', '.join(_DEVICES[:3])} in MindSpore, 'CPU' and 'Ascend' here"
        )
    if name != "CPU" and name not in devices:
        raise RuntimeError(f"no {name} device can be used: this build runs on the devices 'CPU' and 'Ascend' only")


def _check_kept(name: str, value: Any) -> None:
    kind = type(_KEPT[name])
    if _KEPT[name] is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        raise TypeError(f"{name} is of type {kind.__name__}, not {type(value).__name__}")
    if kind is int and value < 0:
        raise ValueError(f"{name} is not negative; this is {value}")
    if name == "max_device_memory" and not (_SIZE.fullmatch(value) and float(value[:-2])):
        raise ValueError(f"max_device_memory is a size as in '30GB', not {value!r}")
    if name == "grad_for_scalar" and value:
        raise ValueError("grad_for_scalar: a Python number has no derivative; make it a Tensor")


logs.start()
context = Context()


# ------------------------------------------------------------------------------------------------ in compiled code
def asks_settings(function: _Function) -> _Function:
    """Marks a function of the settings alone: compiled code calls it while compiling and guards its result."""

    def graph_call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        call = ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())])
        what = f"{function.__name__}({call})"
        return ctx.outside.property(function, what, what, lambda: function(*args, **kwargs))

    function.__graph_call__ = graph_call  # type: ignore[attr-defined]
    return function


def called_outside(function: _Function) -> _Function:
    """Marks a function that compiled code cannot call: it would be called once, and not at every run."""

    def graph_call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        raise SideEffectError(
            f"{function.__name__}() would be called once, while this is compiled",
            code="AC1604",
            hint="call it before the compiled function",
        )

    function.__graph_call__ = graph_call  # type: ignore[attr-defined]
    return function


# ------------------------------------------------------------------------------------------------ the public functions
@called_outside
def set_context(**settings: Any) -> None:
    """Changes process-wide settings.

    `mode`: `GRAPH_MODE` compiles Cell calls and every function whose derivative is taken, `PYNATIVE_MODE` (the default)
    runs them eagerly.  `backend` runs compiled programs on the CPU: "auto" (the default) and "native" as machine code
    where there can be some, "numpy" by NumPy; RuntimeError for "native" where it cannot be used.  `save_graphs` with
    `save_graphs_path` writes the IR after every pass of every compilation.  `verify` checks the IR after every pass.
    `check_nonfinite` looks for NaN and infinities, see there.  `dynamic_shapes`, None, True or False, is the
    `dynamic` of `jit` where that is not given.  `num_threads` is how many threads a product of matrices and a
    decomposition use at most (as many as there are cores, at the start): large ones, where cores are free.
    ValueError or TypeError for what is unknown; then nothing is changed.

    >>> set_context(mode=PYNATIVE_MODE)
    >>> get_context("mode") == PYNATIVE_MODE
    True
    """
    context.set(**settings)


@asks_settings
def get_context(attr_key: str) -> Any:
    """The value of one setting of `set_context`, by its name `attr_key`; ValueError if there is none of that name.

    >>> get_context("backend") in ("auto", "native", "numpy")
    True
    """
    return context.get(attr_key)


class check_nonfinite:
    """Inside, the first op that makes a NaN or an infinity raises NonFiniteError, forward or backward.

    Used as ``with check_nonfinite():`` or as a decorator; ``jit(check_nonfinite=True)`` does it for one function, and
    ``set_context(check_nonfinite=True)`` for good.  The error has the line, the op, the first bad element, the ranges
    of the operands and the way back.  With ``inf=False`` only NaN counts; without it an infinity counts as well, unless
    an operand has one already, as a mask does on purpose.  A NaN that comes from outside may be moved, chosen and
    tested (`isnan`); the first op that computes with it raises.

    Like all settings it holds for all threads.  Compiled functions are compiled again with checks, and without them
    their programs are as they were.  What was written before the error stays written, as with any exception.

    >>> from autodiff_compiler import NonFiniteError, Tensor, ops
    >>> with check_nonfinite():
    ...     try:
    ...         ops.log(Tensor([1.0, 0.0]))
    ...     except NonFiniteError as error:
    ...         print(error.message)
    `log` makes -inf of finite numbers
    """

    __graph_advice__ = "put it around the call of the compiled function, or use `jit(check_nonfinite=True)`"

    def __init__(self, inf: bool = True) -> None:
        self._inf = inf
        self._value = True if inf else "nan"
        self._entered: list[object] = []

    def __call__(self, fn: _Function) -> _Function:
        @functools.wraps(fn)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with check_nonfinite(self._inf):
                return fn(*args, **kwargs)

        def graph_call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
            what = "a function decorated with check_nonfinite cannot be called in compiled code"
            raise UnsupportedSyntaxError(what, code="AC1108", hint=self.__graph_advice__)

        checked.__graph_call__ = graph_call  # type: ignore[attr-defined]
        return cast(_Function, checked)

    def __enter__(self) -> None:
        with _asking:
            if not _asked:
                _asked.append((None, context.check_nonfinite))
            mark = object()
            self._entered.append(mark)
            _asked.append((mark, self._value))
            context.set(check_nonfinite=self._value)

    def __exit__(self, kind: object = None, error: BaseException | None = None, trace: object = None) -> None:
        if isinstance(error, NonFiniteError):
            leave_user_frames(error)
        with _asking:
            mark = self._entered.pop()
            _asked[:] = [one for one in _asked if one[0] is not mark]
            context.set(check_nonfinite=_asked[-1][1])
            if len(_asked) == 1:
                _asked.clear()


#: What was set before, and the `check_nonfinite` that are entered now, the last one last.
_asked: list[tuple[object, bool | str]] = []
_asking = Lock()

_disabled = int(flag("AC_DISABLE_JIT"))


@contextmanager
def disable_jit() -> Iterator[None]:
    """Runs everything eagerly inside, also what is decorated with `jit`: for debuggers.

    The environment variable AC_DISABLE_JIT=1 does the same for a whole process.

    >>> from autodiff_compiler import Tensor, jit
    >>> @jit
    ... def f(x):
    ...     print(type(x).__name__, x)  # a breakpoint would stop here, too
    ...     return x * 2
    >>> with disable_jit():
    ...     f(Tensor(3.0)).item()
    Tensor 3.0
    6.0
    """
    global _disabled
    with _asking:
        _disabled += 1
    for changed in switches:
        changed()
    try:
        yield
    finally:
        with _asking:
            _disabled -= 1


def jit_disabled() -> bool:
    """Whether compiled functions run eagerly now."""
    return _disabled > 0


class _Thread(threading.local):
    """How many `as_written` a thread is in."""

    depth = 0


_thread = _Thread()


@contextmanager
def as_written() -> Iterator[None]:
    """Derivatives and Cells are not compiled inside, in GRAPH_MODE neither, by this thread; what `jit` made is."""
    _thread.depth += 1
    try:
        yield
    finally:
        _thread.depth -= 1


def compiles() -> bool:
    """Whether this thread compiles Cells and functions whose derivative is taken: in GRAPH_MODE."""
    return context.mode == GRAPH_MODE and not _disabled and not _thread.depth
