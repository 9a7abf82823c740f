"""Arguments of `jit` that are MindSpore's: checked, so that a misspelt one is no silent loss."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from ..compiler.described_sizes import DESCRIBED, by_names, fitting
from ..dtypes import DType
from ..keywords import KEYWORDS, refuse
from ..runtime.host import TensorSpec
from ..runtime.open_sizes import OpenSizes
from ..runtime.tensor import Tensor

_LEVELS = ("", "O0", "O1", "O2")
_VALUES: dict[str, tuple[Any, ...]] = {
    "capture_mode": ("ast", "bytecode", "trace"),
    "debug_level": ("RELEASE", "DEBUG"),
    "dynamic": (None, False, True),
    "exc_mode": ("auto", "sink", "no_sink"),
    "fullgraph": (False, True),
    "infer_boost": ("off", "on"),
    "jit_level": _LEVELS,
    "jit_syntax_level": ("", "STRICT", "COMPATIBLE", "LAX", 0, 1, 2),
    "mode": ("PSJit", "PIJit", "STRICT", "LAX"),
}
#: What `jit` takes besides its own arguments.  `input_signature` is looked at, the others change nothing.
_OPTIONS = (
    "compile_once",
    "debug_level",
    "disable_format_transform",
    "exc_mode",
    "exec_order",
    "ge_options",
    "hash_args",
    "infer_boost",
    "input_signature",
    "jit_config",
    "jit_syntax_level",
    "mode",
)


class JitConfig:
    """MindSpore's options of compilation: accepted, checked, kept; none of them changes a result here.

    ValueError: a value that MindSpore does not know.

    >>> JitConfig(jit_level="O1").jit_config_dict["jit_level"]
    'O1'
    """

    def __init__(
        self,
        jit_level: str = "",
        exc_mode: str = "auto",
        jit_syntax_level: str = "",
        debug_level: str = "RELEASE",
        infer_boost: str = "off",
        **kwargs: Any,
    ) -> None:
        named = {
            "jit_level": jit_level,
            "exc_mode": exc_mode,
            "jit_syntax_level": jit_syntax_level,
            "debug_level": debug_level,
            "infer_boost": infer_boost,
        }
        _check_values(named)
        self.jit_config_dict: dict[str, Any] = {**named, **kwargs}


def check_options(options: dict[str, Any], **named: Any) -> None:
    """TypeError for an option that neither we nor MindSpore have, ValueError for a value that it cannot have."""
    for name in options:
        if name not in _OPTIONS:
            others = ("backend", "check_nonfinite", "optimize", "unroll_limit", "unroll_max")
            known = (*_OPTIONS, *named, *others)
            if name in KEYWORDS:
                refuse("jit", {name: options[name]}, known)
            close = difflib.get_close_matches(name, known, 1)
            raise TypeError(f"jit() has no argument {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    _check_values({**named, **options})
    config = options.get("jit_config")
    if config is not None and not isinstance(config, JitConfig):
        raise TypeError(f"jit_config is a JitConfig, not a {type(config).__name__}")


def _check_values(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if name in _VALUES and value not in _VALUES[name]:
            raise ValueError(f"{name} is one of {', '.join(map(repr, _VALUES[name]))}, not {value!r}")


class Signature:
    """What an `input_signature` demands of every call: Tensors of these shapes and dtypes."""

    def __init__(self, given: Any) -> None:
        self._given = tuple(given) if isinstance(given, tuple | list) else (given,)
        for spec in self._given:
            _check_spec(spec)

    def by_names(self, fn: Any) -> dict[str, Any]:
        """What is demanded of the parameters of a function."""
        takes_object = inspect.isfunction(fn) and next(iter(inspect.signature(fn).parameters), "") == "self"
        return by_names(fn, (None, *self._given) if takes_object else self._given)

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """TypeError for a call that differs."""
        if kwargs:
            raise TypeError("a function with an input_signature takes no keywords")
        if len(args) == len(self._given) + 1 and not isinstance(args[0], Tensor | tuple | list):
            args = args[1:]  # a method's object
        if len(args) != len(self._given):
            raise TypeError(f"the input_signature has {len(self._given)} arguments, the call {len(args)}")
        for number, (spec, x) in enumerate(zip(self._given, args, strict=True)):
            _compare(f"argument {number}", spec, x)


def _check_spec(spec: Any) -> None:
    if isinstance(spec, tuple | list):
        for part in spec:
            _check_spec(part)
    elif not isinstance(spec, Tensor | TensorSpec):
        raise TypeError(f"an input_signature is made of Tensors, or of TensorSpecs, not of {type(spec).__name__}")


def _compare(where: str, spec: Any, x: Any) -> None:
    if isinstance(spec, tuple | list):
        if not isinstance(x, tuple | list) or len(x) != len(spec):
            raise TypeError(f"{where} is a {type(spec).__name__} of {len(spec)} in the input_signature")
        for number, (part, y) in enumerate(zip(spec, x, strict=True)):
            _compare(f"{where}[{number}]", part, y)
    elif not isinstance(x, Tensor):
        raise TypeError(f"{where} is a Tensor in the input_signature, not of type {type(x).__name__}")
    elif x.dtype is spec.dtype and isinstance(spec, Tensor) and isinstance(spec._data, OpenSizes):
        fitting(where, spec._data.sizes, x.shape, {})
    elif (x.shape, x.dtype) != (spec.shape, spec.dtype):
        demanded, given = _described(spec.shape, spec.dtype), _described(x.shape, x.dtype)
        raise TypeError(f"{where} is {demanded} in the input_signature, and {given} in the call")


def _described(shape: tuple[int, ...], dtype: DType) -> str:
    return f"{dtype.name}{list(shape)}"


def lazy_inline(fn: Any = None, attrs: Any = None, policy: Any = None) -> Any:
    """MindSpore's decorator of `__init__` for shorter compilation: the function itself."""
    return (lambda fn: fn) if fn is None else fn


def no_inline(fn: Any = None) -> Any:
    """MindSpore's decorator of functions that compiled code keeps apart: the function itself."""
    return (lambda fn: fn) if fn is None else fn


def enable_dynamic(**kwargs: Any) -> Any:
    """MindSpore's decorator that describes parameters: sizes of None, or of a `Symbol`, are symbolic at once.

    It stands below `jit`.  `kwargs`: a Tensor, or a tuple or list of Tensors, by the names of parameters.  A compiled
    call with other sizes than described is a ValueError.  ValueError: none.  TypeError: something else, or the function
    has no such parameter.

    >>> from autodiff_compiler import Tensor, float32, jit
    >>> @jit
    ... @enable_dynamic(x=Tensor(shape=[None, 2], dtype=float32))
    ... def f(x):
    ...     return x.sum(0)
    >>> f(Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist(), f.cache_info()["keys"][0]["call"]
    ([4.0, 6.0], 'f(f32[n,2])')
    """
    if not kwargs:
        raise ValueError("enable_dynamic() needs the parameters whose sizes are open")
    for name, spec in kwargs.items():
        for part in spec if isinstance(spec, tuple | list) else (spec,):
            if not isinstance(part, Tensor):
                raise TypeError(f"enable_dynamic() takes Tensors: {name!r} is of type {type(part).__name__}")

    def marked(fn: Any) -> Any:
        unknown = kwargs.keys() - inspect.signature(fn).parameters.keys()
        if unknown:
            raise TypeError(f"enable_dynamic() names {', '.join(sorted(unknown))}, which {fn!r} does not take")
        fn.__dict__[DESCRIBED] = kwargs
        return fn

    return marked
