"""`Row` and `Operator`: public functions and operator classes that have no body, and what is made of them."""

from __future__ import annotations
import __future__

import ast
import inspect
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..dtypes import DType, dtype_of, float32, float64, int32, int64
from ..ir.primitive import METHODS, OPERATORS, call, trace
from ..keywords import answering, refuse
from ..primitives.family import all_if_none, as_tensor
from ..runtime.tensor import Tensor
from ..source import in_library

__all__ = ["Operator", "Row", "docstring", "documented", "function", "maker", "names_of", "renamed", "said_of"]


class Row(NamedTuple):
    """A public function that only calls one of `call`.

    `signature` is the head of a ``def``: without annotations for Tensors and where a default tells the type.
    `calls` is the expression that it returns, over its parameters, `call` and the conversions of `_GLOBALS`; by default
    the function of `call` of the same name with the same arguments.  `doc` is the docstring, by default that of what it
    calls; its examples know `ops` and `Tensor`.  `also` are its other names, separated by spaces.  `mint` are its names
    there, or the signature of mint's own function, which differs in the names of parameters.  `op` are the operator
    classes without constants that apply it.
    """

    signature: str
    doc: str = ""
    calls: str = ""
    also: str = ""
    mint: str = ""
    op: str = ""

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0]

    @property
    def expression(self) -> str:
        """What it returns."""
        return self.calls or f"call.{self.name}({', '.join(_passed(self.signature))})"


class Operator(NamedTuple):
    """A public operator class that only calls a function.

    `signature` calls its constructor and then the object, ``Cholesky(upper=False)(input_x)``; `calls` is the expression
    that the object returns, over the parameters of both, `call`, `ops` and the conversions.  Without operands
    it has the function itself: ``Diag()`` and ``ops.diag``.  `doc` is by default the first sentence of the function's.
    """

    signature: str
    calls: str
    doc: str = ""

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0]


def maker(row: Operator, ops: Any) -> Callable[..., Callable[..., Any]]:
    """The function from constants to what an operator computes; `ops` has the functions that it may call."""
    head, _, operands = row.signature.partition(")(")
    inner = f"    def {row.name}({operands}:\n        return {row.calls}\n    return {row.name}\n"
    text = f"def {head}):\n{inner}" if operands else f"def {row.signature}:\n    return {row.calls}\n"
    space = _spaces.setdefault("operators", {**_GLOBALS, "__name__": "autodiff_compiler.ops.operations", "ops": ops})
    return _defined(row.name, text, space)


def documented(row: Operator, ops: Any) -> str:
    """The docstring of an operator class: how it is called, and what that gives."""
    function = _called(row.calls, ops)
    own = function is not None and ")(" not in row.signature  # it has the function's operands
    operands = f"({', '.join(inspect.signature(function).parameters)})" if own else ""
    return f"``{row.signature}{operands}``: {docstring(row.doc or said_of(row.calls, ops), _IMPORT)}"


def said_of(calls: str, ops: Any) -> str:
    """What the docstring of a function that an expression calls says first."""
    return inspect.cleandoc(getattr(_called(calls, ops), "__doc__", "") or "").partition("\n\n")[0]


def _called(calls: str, ops: Any) -> Any:
    """The function that an expression calls; None if it does something else."""
    found = re.match(r"(ops|call)\.(\w+)", calls)
    return getattr({"ops": ops, "call": call}[found[1]], found[2]) if found else None


def renamed(row: Row, signature: str) -> Row:
    """The row of a function that is the same by other names of its parameters, in the same order."""
    names = dict(zip(_parameters(row.signature), _parameters(signature), strict=True))
    tree = ast.parse(row.expression, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    doc = re.sub(r"`(\w+)`", lambda said: f"`{names.get(said[1], said[1])}`", row.doc.partition(">>>")[0])
    return Row(signature, doc, ast.unparse(tree))


def names_of(row: Row) -> list[str]:
    """All names of the function."""
    return [row.name, *row.also.split()]


def _head(signature: str) -> str:
    """A signature without what it returns."""
    return signature.partition(" -> ")[0]


def _arguments(signature: str) -> ast.arguments:
    return ast.parse(f"def {_head(signature)}: pass").body[0].args  # type: ignore[attr-defined, no-any-return]


def _parameters(signature: str) -> list[str]:
    given = _arguments(signature)
    return [p.arg for p in given.args + given.kwonlyargs]


def _passed(signature: str) -> list[str]:
    """The parameters of a signature as a call with the same ones passes them on."""
    given = _arguments(signature)
    rest = [f"*{given.vararg.arg}"] if given.vararg else []
    return [*(p.arg for p in given.args), *rest, *(f"{p.arg}={p.arg}" for p in given.kwonlyargs)]


#: What expressions and annotations may name.
_GLOBALS: dict[str, Any] = {
    "call": call,
    "all_if_none": all_if_none,
    "as_tensor": as_tensor,
    "dtype_of": dtype_of,
    "float32": float32,
    "float64": float64,
    "int32": int32,
    "int64": int64,
    "refuse": refuse,
    "trace": trace,
    "Callable": Callable,
    "DType": DType,
    "Sequence": Sequence,
    "Tensor": Tensor,
}
#: Two Tensors in eager mode go to Python's operator, which has a fast path.
_OF_TENSORS = """\
    if trace.builder is None and isinstance({a}, Tensor) and isinstance({b}, Tensor):
        return {sign}({a}, {b})
"""


#: The import that the examples of rows of `ops` need.
_IMPORT = ">>> from autodiff_compiler import Tensor, ops"


def function(row: Row, module: str, names: Mapping[str, Any] = {}, needed: str = _IMPORT) -> Callable[..., Any]:
    """The function of a row, as if it were written in a module of this name.

    `names` are what its expression may name beside the conversions, `needed` is the import that its examples need.
    """
    space = _spaces.setdefault(module, {**names, **_GLOBALS, "__name__": module})
    head, more = _answering(row.signature)
    text = f"def {head}:\n{more}{_fast_path(row, space)}    return {row.expression}\n"
    result = answering(_defined(row.name, text, space))
    result.__doc__ = docstring(row.doc, needed) if row.doc else getattr(call, _target(row)).__doc__
    return result


def _answering(signature: str) -> tuple[str, str]:
    """The head of a row's function with a parameter `unknown`, and the statement that refuses what comes there."""
    head = ast.parse(f"def {_head(signature)}: pass").body[0]
    assert isinstance(head, ast.FunctionDef)
    if head.args.kwarg is not None:
        return _head(signature), ""
    head.args.kwarg = ast.arg("unknown")
    refusal = f"    if unknown:\n        refuse({head.name!r}, unknown, {_parameters(signature)})\n"
    return f"{head.name}({ast.unparse(head.args)})", refusal


def _defined(name: str, text: str, space: dict[str, Any]) -> Callable[..., Any]:
    """The function of this name that a text of the package's own defines."""
    made: dict[str, Any] = {}
    code = compile(text, in_library(f"surface/{name}"), "exec", __future__.annotations.compiler_flag, dont_inherit=True)
    exec(code, space, made)
    return made[name]  # type: ignore[no-any-return]


def docstring(doc: str, needed: str) -> str:
    """The text, its examples behind the import that they need."""
    said, prompt, examples = inspect.cleandoc(doc).partition(">>>")
    return f"{said}{needed}\n>>>{examples}" if prompt else said.rstrip()


_spaces: dict[str, dict[str, Any]] = {}


def _target(row: Row) -> str:
    """The name of the function of `call` that a row calls."""
    found = re.search(r"call\.(\w+)\(", row.expression)
    assert found is not None
    return found[1]


def _fast_path(row: Row, space: dict[str, Any]) -> str:
    parameters = _passed(row.signature)
    if len(parameters) != 2 or row.expression != f"call.{_target(row)}({', '.join(parameters)})":
        return ""
    public = getattr(call, _target(row))
    slot = next((s for s in OPERATORS if METHODS.get(f"__{s}__") is public), None)
    if slot is None:
        return ""
    space[f"operator_{slot}"] = getattr(operator, f"__{slot}__")
    return _OF_TENSORS.format(a=parameters[0], b=parameters[1], sign=f"operator_{slot}")
