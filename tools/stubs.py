"""Writes the stubs of names that are made of rows and primitives: what editors complete and type checkers read.

python tools/stubs.py            writes autodiff_compiler/{ops,mint,nn,numpy}/__init__.pyi, runtime/tensor_methods.pyi
python tools/stubs.py --check    fails if they are not what the package says
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "autodiff_compiler"
sys.path.insert(0, str(ROOT))

import autodiff_compiler  # noqa: E402
from autodiff_compiler import Tensor, mint, numpy  # noqa: E402
from autodiff_compiler.dtypes import DType  # noqa: E402
from autodiff_compiler.ir.primitive import METHODS, PROPERTIES  # noqa: E402
from autodiff_compiler.nn.layer import Layer  # noqa: E402
from autodiff_compiler.ops.operation import Operation  # noqa: E402
from autodiff_compiler.surface.numpy import ROWS as NUMPY  # noqa: E402
from autodiff_compiler.surface.table import MINT, ROWS  # noqa: E402
from generated_pages import write_or_check  # noqa: E402

WRITTEN = '''"""Written by `python tools/stubs.py` from the package itself; do not edit by hand."""

'''
HEAD = (
    WRITTEN
    + """\
from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.dtypes import DType as _DType
from autodiff_compiler.nn.layer import Layer
from autodiff_compiler.ops.operation import Operation
from autodiff_compiler.runtime.tensor import Tensor

"""
)
METHODS_HEAD = (
    WRITTEN
    + """\
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..dtypes import DType as _DType
from .tensor import Tensor

class Methods:
"""
)
#: What operators and conversions of a Tensor return that is no Tensor.
RETURNED = {
    "__bool__": "builtins.bool",
    "__complex__": "builtins.complex",
    "__float__": "builtins.float",
    "__index__": "builtins.int",
    "__int__": "builtins.int",
    "__iter__": "Iterator[Tensor]",
    "__len__": "builtins.int",
    "__setitem__": "None",
    "__delitem__": "None",
}


#: What the constants of a module are.
_CONSTANTS = {DType: "_DType", float: "float", list: "list[str]"}


def stub(module: types.ModuleType) -> str:
    """The stub of a module: imports of what is written elsewhere, then what is made of rows."""
    imports, made, names = [], [], sorted(set(module.__all__))
    for name in names:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            imports.append(f"from . import {name} as {name}")
        elif (where := _written_in(name, value, module.__name__)) is not None:
            imports.append(f"from {where[0]} import {where[1]} as {name}")
        else:
            made.append("\n".join(_made(name, value, module)))
    exported = "\n".join(f"    {name!r}," for name in names)
    return HEAD + "\n".join(imports) + f"\n\n__all__ = [\n{exported}\n]\n\n" + "\n".join(made) + "\n"


def _written_in(name: str, value: Any, here: str) -> tuple[str, str] | None:
    """The module that defines a function or class, and its name there; None if it is made of a row or primitive."""
    where = getattr(value, "__module__", None)
    own = getattr(value, "__name__", name)
    if where is None or where == here:
        return None
    if inspect.isclass(value) and issubclass(value, Operation) and value is not Operation:
        return None
    if inspect.isclass(value) and issubclass(value, Layer) and not Path(inspect.getfile(value.__init__)).is_file():
        return None  # its description makes the constructor
    return (where, own) if own in _defined(where) else None


@functools.cache
def _defined(module: str) -> set[str]:
    """The functions and classes that the source of a module defines."""
    tree = ast.parse(Path(str(importlib.import_module(module).__file__)).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _made(name: str, value: Any, module: types.ModuleType) -> Iterator[str]:
    if inspect.isclass(value):
        parameters = ", ".join(["self", *_parameters(value)])
        bases = [c.__name__ for c in value.__mro__[1:] if getattr(module, c.__name__, None) is c]
        base = "Operation" if issubclass(value, Operation) else bases[0] if bases[0] != "Cell" else "Layer"
        yield f"class {name}({base}):\n{_doc(value)}    def __init__({parameters}) -> None: ..."
        return
    if not callable(value):
        yield f"{name}: {_CONSTANTS.get(type(value), 'Any')}"
        return
    head = f"def {name}({', '.join(_parameters(value))}) -> {_returned(name, module)}:"
    doc = _doc(value)
    yield f"{head}\n{doc}    ..." if doc else f"{head} ..."


def _returned(name: str, module: types.ModuleType) -> str:
    row = NUMPY.get(name) if module is numpy else (MINT if module is mint else ROWS).get(name)
    if row is not None:
        return row.signature.partition(" -> ")[2].replace("DType", "_DType") or "Tensor"
    return "Any"


def _parameters(value: Any) -> Iterator[str]:
    """The parameters, typed: as annotated, or as the default says; the default itself is in the source."""
    separated = False
    for p in inspect.signature(value).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not separated:
            yield "*"
        separated = separated or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        yield f"{stars}{p.name}: {_type(p)}" + ("" if p.default is p.empty else f" = {_default(p.default)}")


def _type(p: inspect.Parameter) -> str:
    if p.annotation is not p.empty:
        given = p.annotation if isinstance(p.annotation, str) else inspect.formatannotation(p.annotation)
        return re.sub(r"\bDType\b", "_DType", given)
    # Where a number is the default, a Tensor may be given.
    return {bool: "bool", str: "str"}.get(type(p.default), "Any")


def _default(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, bool | int | float | str | tuple) else "..."


def _doc(value: Any) -> str:
    first = " ".join(inspect.cleandoc(value.__doc__ or "").split("\n\n")[0].split()).replace("\\", "\\\\")
    return f'    """{first}"""\n' if first else ""


# ------------------------------------------------------------------------------------------------ methods of Tensors
def tensor_methods() -> str:
    """The stub of the methods, properties and operators that primitives give to Tensors."""
    tree = ast.parse((PACKAGE / "runtime" / "tensor.py").read_text("utf-8"))
    body = next(n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    own = {n.name for n in body if isinstance(n, ast.FunctionDef)}
    names = sorted(n for n in vars(Tensor) if n not in own and (n in METHODS or not n.startswith("_")))
    return METHODS_HEAD + "\n".join(line for name in names for line in _method(name, vars(Tensor)[name]))


def _method(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, property):
        yield f"    @property\n    def {name}(self) -> {'Tensor' if name in PROPERTIES else 'Any'}: ..."
    elif inspect.isfunction(value):
        _, *parameters = _parameters(value)
        known = name.startswith("__") or name.endswith("_") or (name in ROWS and " -> " not in ROWS[name].signature)
        returned = RETURNED.get(name, "Tensor" if known else "Any")
        ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        # Methods called `bool` and `float` hide the classes.
        parameters = [re.sub(r"\b(bool|float|int)\b(?=[^=]*)", r"builtins.\1", p) for p in parameters]
        head = f"    def {name}({', '.join(['self', *parameters])}) -> {returned}:"
        doc = _doc(value)
        yield f"{head}{ignored}\n    {doc}        ..." if doc else f"{head} ...{ignored}"


if __name__ == "__main__":
    pages = [
        (PACKAGE / m / "__init__.pyi", stub(getattr(autodiff_compiler, m))) for m in ("ops", "mint", "nn", "numpy")
    ]
    pages.append((PACKAGE / "runtime" / "tensor_methods.pyi", tensor_methods()))
    sys.exit(max(write_or_check(path, text) for path, text in pages))
