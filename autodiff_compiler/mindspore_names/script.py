"""Runs a program as Python itself would, with ``import mindspore`` meaning this package."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import io
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

from . import importer
from .children import begin
from .importer import as_mindspore

__all__ = ["USAGE", "NoProgram", "run"]

USAGE = "usage: python -m autodiff_compiler run (script.py | folder | -m module) [argument ...]"


class NoProgram(Exception):
    """There is no program of that name."""


def run(arguments: Sequence[str]) -> None:
    """Runs ``script.py arguments...``, a folder with a ``__main__.py``, or ``-m module arguments...``.

    The program finds what Python would give it: `sys.argv`, the module `__main__`, its folder (for ``-m`` the current
    one) first on `sys.path`.  What it raises, `SystemExit` too, passes through; our own frames are not printed.

    NoProgram: there is no such file or module.
    """
    rest = list(arguments)
    if rest[:1] == ["-m"]:
        if len(rest) < 2:
            raise NoProgram(f"-m needs the name of a module\n{USAGE}")
        main, code = _module(rest[1])
        rest = rest[1:]
        assert isinstance(main.__file__, str)
        rest[0] = main.__file__
    elif rest:
        main, code = _file(rest[0])
    else:
        raise NoProgram(f"there is nothing to run\n{USAGE}")
    sys.argv[:] = rest
    begin()
    sys.modules["__main__"] = main
    _print_only_frames_of(main)
    exec(code, main.__dict__)


def _file(path: str) -> tuple[types.ModuleType, types.CodeType]:
    """The module `__main__` and the code of a file, or of the `__main__.py` of a folder."""
    full = os.path.abspath(path)
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(full):
        folder, full = full, os.path.join(full, "__main__.py")
    if not os.path.isfile(full):
        raise NoProgram(f"there is no file {full}")
    _search_first(folder)
    with io.open_code(full) as stream:
        source = stream.read()
    main = _main(full, importlib.machinery.SourceFileLoader("__main__", full))
    try:
        return main, compile(source, full, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # of null bytes, or nested too deeply
        _print_only_frames_of(main)
        raise


def _module(name: str) -> tuple[types.ModuleType, types.CodeType]:
    """The module `__main__` and the code of an importable module, or of the `__main__` of a package."""
    _search_first(os.getcwd())
    as_mindspore()  # finding a module imports the packages above it
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.__main__.".startswith(f"{error.name}."):
            raise
        spec = None
    get_code = getattr(spec and spec.loader, "get_code", None)
    if spec is None or get_code is None or spec.origin is None:
        raise NoProgram(f"there is no module {name!r} that could be run")
    main = _main(spec.origin, spec.loader)
    main.__spec__, main.__package__ = spec, spec.parent
    code = get_code(spec.name)
    assert isinstance(code, types.CodeType)
    return main, code


def _search_first(folder: str) -> None:
    if not sys.flags.safe_path:  # else Python put no folder first that could be replaced
        sys.path[0] = folder


def _main(path: str, loader: Any) -> types.ModuleType:
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __loader__=loader, __builtins__=builtins, __cached__=None, __annotations__={})
    return main


def _print_only_frames_of(main: types.ModuleType) -> None:
    """Leaves the frames out of printed tracebacks that are ours: before the program's own, and of its imports."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        inner = trace
        while inner is not None and inner.tb_frame.f_globals is not main.__dict__:
            inner = inner.tb_next
        last = inner
        while last is not None:
            if last.tb_next is not None and last.tb_next.tb_frame.f_code.co_filename == importer.__file__:
                last.tb_next = None
            last = last.tb_next
        before(kind, error.with_traceback(inner), inner)

    sys.excepthook = hook
