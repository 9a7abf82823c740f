"""The sources of kernels as they were imported, whatever happens to their files afterwards.

A file is read once, when the first of its kernels is printed.  If it may have changed since the package was imported,
its text is compiled, and used only if that gives the code object that runs.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import CompileError, InternalCompilerError, SourceUnavailableError
from ...source import IMPORTED

_PACKAGE = __name__.partition(".")[0]
#: The resolution of file times, in seconds.
_COARSE = 2.0


@functools.lru_cache(maxsize=1024)
def source_of(thing: Callable[..., Any] | type) -> str:
    """The source of a function or class of ours.

    SourceUnavailableError: its file was changed and no longer has it.  InternalCompilerError: there is no source.
    """
    module = sys.modules.get(thing.__module__)
    loader: Any = getattr(module, "__loader__", None)
    path: Any = getattr(module, "__file__", None)
    functions = [f for f in vars(thing).values() if inspect.isfunction(f)] if isinstance(thing, type) else [thing]
    codes: list[Any] = [getattr(f, "__code__", None) for f in functions]
    if not hasattr(loader, "get_source") or any(code is None or code.co_filename != path for code in codes):
        return _inspected(thing)  # from a notebook, say
    try:
        file = _file(path, loader, thing.__module__)
    except (OSError, ImportError, SyntaxError) as error:
        raise _changed(path) from error
    return file.of_class(thing, codes) if isinstance(thing, type) else file.of_function(codes[0])


def _inspected(thing: Callable[..., Any] | type) -> str:
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError, SyntaxError) as error:
        raise InternalCompilerError(f"the source of {thing!r} cannot be read: {error}") from error


def _changed(path: str) -> CompileError:
    return SourceUnavailableError(
        f"{_PACKAGE} itself was changed on disk since it was imported: {path} is not what runs",
        code="AC1002",
        hint="restart Python",
    )


@functools.lru_cache(maxsize=256)
def _file(path: str, loader: Any, module: str) -> _File:
    text = loader.get_source(module)
    if text is None:
        raise OSError(f"{path} has no source")
    return _File(path, text, _may_have_changed(path))


def _may_have_changed(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False  # in an archive
    return max(status.st_mtime, status.st_ctime) >= IMPORTED - _COARSE


class _File:
    """The text of one file; of a changed one also its code, to find what runs in it."""

    def __init__(self, path: str, text: str, changed: bool) -> None:
        self._path, self._text, self._lines = path, text, text.splitlines(keepends=True)
        self._codes: dict[str, list[types.CodeType]] | None = None
        if changed:
            self._codes = {}
            for code in _all_codes(compile(text, path, "exec", dont_inherit=True)):
                self._codes.setdefault(code.co_qualname, []).append(code)

    def _line(self, code: types.CodeType) -> int:
        if self._codes is None:
            return code.co_firstlineno
        same = [other for other in self._codes.get(code.co_qualname, ()) if _content(other) == _content(code)]
        if not same:
            raise _changed(self._path)
        return min((other.co_firstlineno for other in same), key=lambda line: abs(line - code.co_firstlineno))

    def of_function(self, code: types.CodeType) -> str:
        line = self._line(code)
        return textwrap.dedent("".join(inspect.getblock(self._lines[line - 1 :])))

    def of_class(self, thing: type, codes: list[Any]) -> str:
        for code in codes:
            self._line(code)
        for node in ast.walk(ast.parse(self._text)):
            if isinstance(node, ast.ClassDef) and node.name == thing.__name__:
                start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                return textwrap.dedent("".join(self._lines[start - 1 : node.end_lineno]))
        raise _changed(self._path)


def _all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _all_codes(constant)


def _content(code: types.CodeType) -> tuple[Any, ...]:
    """A code object without its positions, for comparison."""
    constants = tuple(_content(c) if isinstance(c, types.CodeType) else (type(c), repr(c)) for c in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
