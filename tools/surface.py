"""Prints the public surface, one line per name: where it is, its signature, what a wrong call says, its docstring.

    python tools/surface.py > before.txt    # at one commit; again at another, and `diff` shows what changed

Modules and functions are those that `dir` of a public module shows, methods those that a class has itself. A wrong call
gives an argument that no function has.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

PACKAGE = "autodiff_compiler"
MODULES = (
    *("", "amp", "common", "common.initializer", "context", "dataset", "experimental", "hal", "log", "mint"),
    *("mint.linalg", "mint.nn", "mint.nn.functional", "mint.special", "nn", "numpy", "numpy.fft", "ops"),
    *("ops.composite", "ops.functional", "ops.operations", "ops.primitive", "optim", "profiling", "testing", "train"),
)
_WRONG = "no_such_argument"


def lines() -> Iterator[str]:
    """The surface of the package."""
    for name in MODULES:
        try:
            module = importlib.import_module(f"{PACKAGE}.{name}" if name else PACKAGE)
        except ModuleNotFoundError as error:
            yield f"{name}: {error}"
            continue
        yield from _members(name or "ms", module)


def _members(place: str, owner: Any) -> Iterator[str]:
    names = vars(owner) if inspect.isclass(owner) else dir(owner)
    for name in sorted(n for n in names if not n.startswith("_")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(owner, name, None)
        if isinstance(value, types.ModuleType):
            continue
        yield f"{place}.{name}{_described(value)}"
        if inspect.isclass(value) and value.__module__.startswith(PACKAGE) and place in ("ms", "nn"):
            yield from _members(f"{place}.{name}", value)


def _described(value: Any) -> str:
    if not callable(value):
        return f": {type(value).__name__}"
    doc = " ".join((inspect.getdoc(value) or "").split())
    return f"{_signature(value)} | {_refusal(value)} | {doc}"


def _signature(value: Any) -> str:
    try:
        given = inspect.signature(value)
    except (TypeError, ValueError):
        return "(?)"
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in given.parameters.values()]
    return str(given.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _refusal(value: Any) -> str:
    if not str(getattr(value, "__module__", "")).startswith(f"{PACKAGE}.") or inspect.isclass(value):
        return ""
    try:
        value(**{_WRONG: None})
    except TypeError as error:
        return str(error)
    except Exception as error:  # it takes any keyword
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return "taken"


if __name__ == "__main__":
    for line in lines():
        print(line)
