"""`Layer`: Cells whose constructors, attributes and `repr` come from one description each."""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import ops
from ..dtypes import float32
from ..source import in_library
from ..surface.cells import CELLS
from ..surface.row import docstring, said_of
from .arguments import flag, fraction, integer, number, positive, probability
from .cell import Cell

__all__ = ["Layer", "made"]

#: The import that the examples of rows need.
_IMPORT = ">>> from autodiff_compiler import Tensor, nn"
#: What annotations of a description check, and the annotations of the signature made of it.
_CHECKS: dict[str, tuple[Callable[[str, Any], Any], str]] = {
    "flag": (flag, "bool"),
    "fraction": (fraction, "float"),
    "integer": (integer, "int"),
    "number": (number, "float"),
    "positive": (positive, "int"),
    "probability": (probability, "float"),
}


class Layer(Cell):
    """A Cell that its class statement describes: ``class Scale(Layer, parameters="by: number = 1", shown="by")``.

    `parameters` are those of the constructor.  Each becomes the attribute of its name, checked if its annotation is one
    of `_CHECKS`, unless the constructor of the base class takes it, or the class's method `_make` does, which is called
    last with the arguments that it names; one that a subclass without `parameters` defines is not called.  `shown` are
    the attributes in the `repr`, as ``name`` or ``label=name``.
    """

    _shown: tuple[tuple[str, str], ...] = ()

    if TYPE_CHECKING:  # the stub of `nn` has the signatures

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, parameters: str | None = None, shown: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if parameters is not None:
            cls.__init__ = _constructor(cls, parameters)  # type: ignore[method-assign]
        if shown:
            pairs = [pair.partition("=") for pair in shown.split(", ")]
            cls._shown = tuple([(label, name or label) for label, _, name in pairs])

    def extend_repr(self) -> str:
        return ", ".join([f"{label}={getattr(self, name)}" for label, name in self._shown])


def made(name: str) -> type[Cell]:
    """The class of this name, one of `CELLS`."""
    row = CELLS[name]
    constants, _, operands = row.signature.partition("(")[2].partition(")(")
    text = f"def construct({_head('self, ' + operands.removesuffix(')'))}) -> Any:\n    return {row.calls}\n"
    body = {
        "__doc__": docstring(row.doc or said_of(row.calls, ops), _IMPORT),
        "__module__": "autodiff_compiler.nn",
        "construct": _method(text, name, {"ops": ops}),
    }
    described = {"parameters": constants, "shown": row.shown}
    return types.new_class(name, (Layer,), described, lambda space: space.update(body))


def _constructor(cls: type[Layer], parameters: str) -> Any:
    """The `__init__` of a class with these parameters."""
    given = _arguments(parameters)
    base = _taken(given, super(cls, cls).__init__)
    make = _own_make(cls)
    last = [] if make is None else _taken(given, make)
    value = {p.arg: _checked(p) for p in given.args + given.kwonlyargs}
    lines = [f"super(cls, self).__init__({', '.join(f'{name}={name}' for name in base)})"]
    lines += [f"self.{name} = {value[name]}" for name in value if name not in (*base, *last)]
    if make is not None:
        lines.append(f"cls._make({', '.join(['self', *(f'{name}={value[name]}' for name in last)])})")
    text = f"def __init__({_head('self, ' + parameters)}) -> None:\n" + "".join(f"    {line}\n" for line in lines)
    checks = {name: check for name, (check, _) in _CHECKS.items()}
    return _method(text, cls.__qualname__, {**checks, "cls": cls, "float32": float32})


def _own_make(cls: type[Layer]) -> Any:
    """The method `_make` of a class, if the constructor of its base class does not call it already."""
    for owner in cls.__mro__:
        if owner is not cls and "__init__" in vars(owner):
            break
        if "_make" in vars(owner):
            return vars(owner)["_make"]
    return None


def _checked(p: ast.arg) -> str:
    """The argument, checked as the annotation says."""
    check = p.annotation.id if isinstance(p.annotation, ast.Name) else ""
    return f"{check}({p.arg!r}, {p.arg})" if check in _CHECKS else p.arg


def _arguments(parameters: str) -> ast.arguments:
    return ast.parse(f"def f({parameters}): pass").body[0].args  # type: ignore[attr-defined]


def _taken(given: ast.arguments, function: Any) -> list[str]:
    """The parameters that a function takes, too."""
    known = inspect.signature(function).parameters
    return [p.arg for p in given.args + given.kwonlyargs if p.arg in known]


def _head(parameters: str) -> str:
    """Parameters as a signature shows them: with types in place of checks."""
    given = _arguments(parameters)
    for p in given.args[1:] + given.kwonlyargs:
        name = "Any" if p.annotation is None else ast.unparse(p.annotation)
        p.annotation = ast.parse(_CHECKS[name][1] if name in _CHECKS else name, mode="eval").body
    return ast.unparse(given)


def _method(text: str, name: str, names: dict[str, Any]) -> Any:
    """The method that a text defines for a class of this name; its lines are found as those of a file are."""
    method = text.removeprefix("def ").partition("(")[0]
    file = in_library(f"nn/{name}/{method}")
    # No modification time: `linecache.checkcache` leaves such entries alone.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    code = compile(text, file, "exec", __future__.annotations.compiler_flag, dont_inherit=True)
    space = {**names, "__name__": "autodiff_compiler.nn"}
    exec(code, space)
    found = space[method]
    found.__qualname__ = f"{name}.{found.__name__}"
    return found
