"""Writes docs/ops.md: every function of `ops` as users call it, then the primitives.

python tools/ops_table.py            writes the page
python tools/ops_table.py --check    fails if the page is not what the package says
"""

from __future__ import annotations

import dis
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import autodiff_compiler  # noqa: E402
from autodiff_compiler import Tensor, eager, ops  # noqa: E402
from autodiff_compiler.ir.primitive import METHODS, REGISTRY, F, Primitive, call  # noqa: E402
from autodiff_compiler.primitives.in_place import IN_PLACE  # noqa: E402
from autodiff_compiler.runtime.trees import leaves  # noqa: E402
from autodiff_compiler.surface import table  # noqa: E402
from autodiff_compiler.surface.row import names_of  # noqa: E402
from generated_pages import write_or_check  # noqa: E402

HEAD = """# Operations

Written by `python tools/ops_table.py` from the package itself; do not edit by hand.

## Functions

By subject; on the site a field above the first table finds functions by any word of their row. Everything in
`autodiff_compiler.ops`, with the arguments and defaults that users write. *Method*: the Tensor method of that name; its
arguments follow the Tensor, and are NumPy's where MindSpore's are (`help(Tensor.sum)`). *Made of*: the primitives it
applies, by the names of the last table (what is written with operators, `x * y`, is left out); the file of a primitive,
linked there, holds the formula and names its source where it is not a definition. *Derivative* and *takes* are measured
on small Tensors where a call with Tensors alone makes sense: whether a derivative arrives at the operand (0: it is zero
there, -: there is none), and which Tensors are taken; a float is a float16, bfloat16, float32 or float64. Where nothing
was measured, a derivative means that one of the primitives has one. The derivative of every rule is again an operation,
so one rule serves all orders, forward mode included.
"""

PRIMITIVES = """## Primitives

For those who read IR: one class each, with type rule, kernel and derivative. Behind `*` stand the attributes,
compile-time constants, with their defaults. A type rule takes operands of equal dtypes and shapes; promotion,
broadcasting and other defaults are those of the functions above. Where a function raises LinAlgError the primitive
alone gives nan. *Derivative* says whether there is a rule; at `control` both modes treat the op themselves.
"""

CLASSES = """## Operators as objects

MindSpore's classes: made once with what is constant, called with Tensors. `ops.ReduceSum(keep_dims=True)(x)`.
"""

#: The headings of the functions' tables, and the modules whose functions stand there.
SUBJECTS = {
    "Element by element": "surface.elementwise ops.math primitives.arithmetic primitives.compare primitives.conversion",
    "Special functions": "surface.special",
    "Sums, extremes and statistics": "surface.reductions primitives.summaries",
    "Shapes": "surface.shapes ops.array ops.basic primitives.rearrange primitives.shape primitives.placement",
    "Positions, sorting and searching": (
        "surface.indexing ops.indexing ops.segments primitives.index primitives.subscript"
    ),
    "Matrices": "surface.matrices ops.linalg",
    "Spectra": "ops.spectral",
    "Layers and losses": "surface.neural ops.nn_func primitives.losses primitives.normalization",
    "Images and boxes": "surface.vision ops.vision",
    "New Tensors": "surface.creation primitives.create",
    "Random numbers": "ops.random",
    "Writing in place, and state": "ops.state ops.in_place primitives.update",
    "Derivatives and transformations": "transforms",
    "Python's values, and names for compiled code": "ops.python_values ops.aliases ops.primitive ops.user_functions",
}

STRUCTURED = {"if", "while", "scan", "call", "grad", "linearize", "pull", "custom_vjp", "grad_map", "vmap"}


def first_sentence(doc: str | None) -> str:
    """The first paragraph of a docstring on one line, safe in a table."""
    text = " ".join((doc or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def signature(function: Callable[..., Any]) -> str:
    """The parameters and defaults as a call shows them."""
    given = inspect.signature(function)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in given.parameters.values()]
    plain = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) if p.kind is p.POSITIONAL_ONLY else p for p in plain]
    return str(given.replace(parameters=plain, return_annotation=inspect.Signature.empty)).replace("|", "\\|")


# ------------------------------------------------------------------------------------------------ made of
def made_of(function: Any) -> list[str]:
    """The primitives that a function applies, read from its code and that of the functions it calls."""
    found: set[str] = set()
    seen: set[Any] = set()
    todo: list[tuple[Any, frozenset[str]]] = [(function, frozenset())]
    while todo:
        f, given = todo.pop()
        f = inspect.unwrap(f) if callable(f) else f
        if not isinstance(f, types.FunctionType) or (f, given) in seen:
            continue
        seen.add((f, given))
        if not f.__module__.startswith("autodiff_compiler"):
            continue
        passed = frozenset(v for code in _codes(f.__code__) for v in code.co_consts if v in REGISTRY)
        for name, value in _mentioned(f, given):
            if value in REGISTRY and (name == "F" or (name == "call" and REGISTRY[value].call is None)):
                found.add(value)
            elif name == "call":
                todo.append((getattr(call, value, None), passed))
            elif name == "":
                todo.append((value, passed))
    return sorted(found)


def _mentioned(f: types.FunctionType, given: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """What a function reads: ("F" or "call", a name) and ("", a function).

    For ``getattr(F, name)`` the names are those in its closure and those `given`, which its caller mentions.
    """
    cells = dict(zip(f.__code__.co_freevars, (c.cell_contents for c in f.__closure__ or ()), strict=True))
    yield from (("", v) for v in cells.values())
    strings = {v for v in cells.values() if isinstance(v, str)} or given
    for code in _codes(f.__code__):
        table = ""
        for step in dis.get_instructions(code):
            value = f.__globals__.get(step.argval) if step.opname == "LOAD_GLOBAL" else None
            if table and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                yield table, step.argval
            elif table:
                yield from ((table, s) for s in strings)
            table = "F" if value is F else "call" if value is call else ""
            if isinstance(value, types.FunctionType) and value.__module__ != "autodiff_compiler.primitives.family":
                yield "", value


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


# ------------------------------------------------------------------------------------------------ measured
def _operands(kind: str, count: int) -> list[Tensor]:
    data = [np.array([[0.5, 0.25], [0.125, 0.75]], np.float32), np.array([[0.625, 0.5], [0.25, 0.875]], np.float32)]
    return [Tensor({"float": x, "int": (x * 8).astype(np.int64), "bool": x > 0.3}[kind]) for x in data[:count]]


def measured(function: Callable[..., Any]) -> tuple[str, str]:
    """Whether a derivative arrives at the operands ("yes", "0", "-"), the kinds of Tensors taken; "" if not known."""
    required = [
        p for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]  # fmt: skip
    if not 1 <= len(required) <= 2 or any(p.name not in _OPERANDS for p in required):
        return "", ""
    taken, derivative = [], ""
    for kind in ("float", "int", "bool"):
        try:
            outputs, pull = eager.vjp(lambda *xs: function(*xs), _operands(kind, len(required)))
            taken.append(kind)
            if kind == "float":
                derivative = _arrives(list(leaves(outputs)), pull)
        except Exception:
            continue
    return (derivative, " ".join(taken)) if taken else ("", "")


def _arrives(outputs: list[Tensor], pull: Callable[..., Any]) -> str:
    if not any(t.dtype.is_float for t in outputs):
        return "-"
    rng = np.random.default_rng(0)  # a cotangent of ones says nothing about a softmax
    seeds = [Tensor(rng.standard_normal(t.shape).astype(np.float32)) if t.dtype.is_float else None for t in outputs]
    with warnings.catch_warnings(action="ignore"):  # that nothing arrives is what the table says
        found = [g for g in pull(seeds) if g is not None]
    return "yes" if any(bool((g != 0).any()) for g in found) else "0"


#: Names of parameters that stand for a Tensor of any shape.
_OPERANDS = {"input", "x", "input_x", "y", "other", "value", "logits", "self", "target", "labels", "a", "b", "mat2"}


def _derivative_of(primitives: list[str]) -> str:
    if not primitives:
        return ""
    return "yes" if any(REGISTRY[p].vjp is not None or p in STRUCTURED for p in primitives) else "-"


# ------------------------------------------------------------------------------------------------ tables
def functions_tables() -> str:
    """One table for each subject."""
    by_subject: dict[str, list[str]] = {subject: [] for subject in SUBJECTS}
    first: dict[int, str] = {}
    for name in sorted(ops.__all__):
        function = getattr(ops, name)
        if isinstance(function, type):
            continue
        rows = by_subject[_subject(name, function)]
        if id(function) in first:
            rows.append(f"| `{name}` | {_method(name)} | another name of `{first[id(function)]}` | | | |")
        else:
            first[id(function)] = name
            rows.append(_row(name, function))
    head = "| function | method | what | derivative | takes | made of |\n|---|---|---|---|---|---|\n"
    return "\n".join(f"### {subject}\n\n{head}" + "\n".join(rows) + "\n" for subject, rows in by_subject.items())


def _row(name: str, function: Callable[..., Any]) -> str:
    parts = made_of(function)
    derivative, taken = measured(function)
    what = first_sentence(function.__doc__)
    made = ", ".join(f"`{p}`" for p in parts)
    return (
        f"| `{name}{signature(function)}` | {_method(name)} | {what} | {derivative or _derivative_of(parts)} "
        f"| {taken} | {made} |"
    )


def _subject(name: str, function: Callable[..., Any]) -> str:
    """The heading under which a function stands: that of its rows' module, or of the module that it is written in."""
    module = next((m.__name__ for m in table.SUBJECTS if any(name in names_of(row) for row in m.ROWS)), None)
    room = (module or function.__module__).removeprefix("autodiff_compiler.")
    folder = room.partition(".")[0]
    return next(subject for subject, rooms in SUBJECTS.items() if {room, folder} & set(rooms.split()))


def _method(name: str) -> str:
    found = [m for m in (name, name + "_") if m in METHODS or m in IN_PLACE]
    return ", ".join(f"`.{m}`" for m in found)


def classes_table() -> str:
    rows = ["| class | what |", "|---|---|"]
    for name in sorted(ops.__all__):
        cls = getattr(ops, name)
        if isinstance(cls, type):
            rows.append(f"| `{name}{signature(cls)}` | {first_sentence(cls.__doc__)} |")
    return "\n".join(rows) + "\n"


def primitives_table() -> str:
    families: dict[str, list[str]] = {}
    for name, defn in sorted(REGISTRY.items()):
        if defn.__module__.startswith("autodiff_compiler.primitives"):  # not one that a document or a test declared
            row = f"| `{name}({_operands_of(defn)})` | {first_sentence(defn.__doc__)} | {_rule(defn)} |"
            families.setdefault(defn.__module__.rpartition(".")[2], []).append(row)
    parts = []
    for family, rows in sorted(families.items()):
        link = f"[{family}](../autodiff_compiler/primitives/{family}.py)"
        parts.append(f"### {link}\n\n| op | what | derivative |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _operands_of(defn: type[Primitive]) -> str:
    operands = [*defn.operand_names, *(["*operands"] if defn.variadic else [])]
    attributes = [f"{a}={defn._defaults[a]!r}" if a in defn._defaults else a for a in defn.schema]
    return ", ".join([*operands, *(["*", *attributes] if attributes else [])])


def _rule(defn: type[Primitive]) -> str:
    return "control" if defn.name in STRUCTURED else "yes" if defn.vjp is not None else "-"


def page() -> str:
    """The text of docs/ops.md."""
    autodiff_compiler.set_seed(0)
    return "\n".join([HEAD, functions_tables(), CLASSES, classes_table(), PRIMITIVES, primitives_table()])


if __name__ == "__main__":
    sys.exit(write_or_check(ROOT / "docs" / "ops.md", page()))
