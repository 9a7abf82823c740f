"""The pages of the API reference, made of signatures and docstrings. `site_pages.py` puts them into the site.

The modules are imported, not read: names that are loaded when first asked for, and functions of `ops` that decorators
make, have no definition that a reader of source finds.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import autodiff_compiler  # noqa: E402

__all__ = ["GROUPS", "page_of", "pages", "shown"]

#: The first page, by title: what most users need. Every name of the package's `__all__` is here or a module or a dtype.
GROUPS = {
    "Compiling": "jit ms_function JitConfig jit_class keep unroll mutable constexpr py_call TensorSpec disable_jit",
    "Derivatives": "grad value_and_grad GradOperation get_grad vjp jvp jacrev jacfwd hessian hvp linearize vmap "
    "stop_gradient recompute functional_call",
    "Looking inside": "parse_ir profile benchmark check_nonfinite",
    "Tensors": "Tensor tensor from_numpy Parameter ParameterTuple",
    "Settings": "set_context get_context set_device get_current_device set_auto_parallel_context ParallelMode "
    "run_check as_mindspore",
    "Random numbers": "set_seed get_seed get_rng_state set_rng_state",
    "Files": "save_checkpoint load_checkpoint load_param_into_net",
    "Mixed precision": "LossScaleManager DynamicLossScaleManager FixedLossScaleManager",
}
#: The other pages: modules, what each is for.
MODULES = {
    "nn": "Cells, layers, losses, metrics",
    "ops": "functions of Tensors",
    "optim": "optimizers; `nn` has them, too",
    "testing": "checks of gradients, and of both modes against each other",
    "amp": "mixed precision",
    "tree": "nested containers of Tensors as one value",
    "implicit": "roots, fixed points, minima and linear systems, with their derivatives",
    "ode": "differential equations and integrals, with their derivatives",
    "train": "`Model`, callbacks, metrics, checkpoints",
    "dataset": "pipelines of data",
    "dataset.transforms": "transforms of data",
    "dataset.vision": "transforms of images",
    "common.initializer": "initial values",
    "experimental.optim": "optimizers with schedulers",
    "context": "settings of MindSpore's",
    "numpy": "NumPy's functions on Tensors, as in `mindspore.numpy`",
    "mint": "functions with PyTorch's arguments, as in `mindspore.mint`",
    "communication": "processes and their groups",
    "hal": "devices and their memory",
    "log": "MindSpore's logging",
}


#: What `lower` and its neighbours give: a page of its own, where every method has a section.
LOOKED_AT = (
    "inspection.artifact.Artifact", "inspection.irtext.IRText", "inspection.irtext.ParsedIR",
    "inspection.where.Where", "inspection.origin.Origin", "inspection.cost.Cost",
    "inspection.memory_use.MemoryUse", "inspection.timing.Timing", "inspection.pictures.picture.Picture",
    "inspection.derivative_source.python_source.PythonSource", "profiling.profile.Profile",
    "profiling.benchmark.Benchmark", "compiler.history.Recompiles",
)  # fmt: skip


def named(module: Any) -> Iterator[tuple[str, Any]]:
    """What a module publishes, but for modules, by name; of one object with several names the first."""
    for name in getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]:
        thing = getattr(module, name)
        if not inspect.ismodule(thing):
            yield name, thing


def signature(thing: Any) -> str:
    """Its parameters with their defaults, without annotations; empty where Python does not know them."""
    try:
        given = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    kept = [p.replace(annotation=p.empty) for p in given.parameters.values() if not p.name.startswith("_")]
    text = str(given.replace(parameters=kept, return_annotation=inspect.Signature.empty))
    text = re.sub(r"<class '(?:\w+\.)*(\w+)'>|autodiff_compiler\.(?=\w)", r"\1", text)
    text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)  # members of enumerations
    return re.sub(r"<.*? at 0x\w+>", "...", text)  # functions and objects


def call_of(name: str, thing: Any) -> str:
    """How it is called, one parameter a line where one line would be long."""
    text = f"{name}{signature(thing)}"
    if len(text) <= 100:
        return text
    inside = text[len(name) + 1 : -1]
    return (
        f"{name}(\n"
        + "\n".join(f"    {part}," for part in re.split(r", (?=\*?\*?\w+(?:[=,]|$)|[*/](?:,|$))", inside))
        + "\n)"
    )


def in_table(text: str) -> str:
    return text.replace("|", r"\|")


def first_paragraph(doc: str | None) -> str:
    """The first paragraph of a docstring on one line."""
    return in_table(" ".join((doc or "").split("\n\n")[0].split()))


def markdown(doc: str) -> str:
    """A docstring as Markdown: examples become code blocks."""
    found, example = [], False
    for line in inspect.cleandoc(doc).splitlines():
        if line.startswith(">>> ") and not example:
            found += ["", "```pycon"]
            example = True
        elif example and not line.strip():
            found.append("```")
            example = False
        found.append(line)
    return "\n".join([*found, "```"] if example else found)


def members(cls: type) -> Iterator[tuple[str, str, str]]:
    """Names, signatures and documents of the public methods and properties of a class, but for those it inherits."""
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        doc = inspect.getdoc(function)
        if name.startswith("_") or not doc or not (callable(function) or isinstance(member, property)):
            continue
        given = (
            ""
            if isinstance(member, property)
            else re.sub(r"^\((?:self|cls|x)(?:, /)?(?:, )?", "(", signature(function))
        )
        yield name, given, doc


def shown(name: str, thing: Any, level: str = "##") -> str:
    """The section of one function, class or value."""
    if not callable(thing):
        return f"{level} `{name}`\n\n`{thing!r}`\n"
    doc = (thing.__doc__ if inspect.isclass(thing) else inspect.getdoc(thing)) or ""
    lines = [f"{level} `{name}`", "", "```python", call_of(name, thing), "```", "", markdown(doc), ""]
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        rows = []
        for member, given, text in sorted(members(thing)):
            rows.append(f"| `{member}{in_table(given)}` | {first_paragraph(text)} |")
        if rows:
            lines += ["| of its own | what |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def page_of(module: types.ModuleType, what: str) -> str:
    """The page of a module: its functions and classes; another name of one before is a line."""
    lines = [f"# {module.__name__.partition('.')[2]}", "", f"`{module.__name__}`: {what}.", ""]
    seen: dict[int, str] = {}
    others = []
    for name, thing in named(module):
        if not callable(thing):
            continue
        if module.__name__.endswith(".ops") and inspect.isclass(thing) and "operations" in thing.__module__:
            others.append(f"`{name}`")
        elif id(thing) in seen:
            lines += [f"## `{name}`", "", f"Another name of `{seen[id(thing)]}`.", ""]
        else:
            seen[id(thing)] = name
            lines += [shown(name, thing), ""]
    if others:
        lines += ["## Operators as objects", "", "MindSpore's classes, made once with what is constant, called with "]
        lines += ["Tensors: " + ", ".join(others) + ". [Operations](../ops.md) says what each is.", ""]
    return "\n".join(lines)


def first_page() -> str:
    """The page of the package itself."""
    lines = ["# autodiff_compiler", "", "```python\nimport autodiff_compiler as ms\n```", ""]
    lines += ["| module | what is in it |", "|---|---|"]
    lines += ["| [artifacts](artifacts.md) | what `lower`, `profile` and `benchmark` give |"]
    lines += [f"| [`{module}`]({module}.md) | {what} |" for module, what in MODULES.items()]
    published = dict(named(autodiff_compiler))
    errors = [name for name, thing in published.items() if inspect.isclass(thing) and issubclass(thing, BaseException)]
    plain = [name for name, thing in published.items() if not callable(thing)]
    told = {name for names in GROUPS.values() for name in names.split()}
    if left := published.keys() - told - {*errors, *plain}:
        raise LookupError(f"tools/api_pages.py: in no group: {', '.join(sorted(left))}")
    for title, names in GROUPS.items():
        there = [name for name in names.split() if name in published]
        lines += ["", f"## {title}", "", *[shown(name, published[name], "###") for name in there]]
    lines += ["", "## Errors and warnings", "", "[Errors](../errors.md) lists them by their codes.", ""]
    lines += ["| class | what |", "|---|---|"]
    lines += [f"| `{name}` | {first_paragraph(published[name].__doc__)} |" for name in errors]
    lines += ["", "## Constants and types", "", ", ".join(f"`{name}`" for name in plain), ""]
    return "\n".join(lines)


def artifacts() -> str:
    """The page of what is given to look at."""
    lines = [
        "# Artifacts",
        "",
        "What `lower`, `profile` and `benchmark` give, and what that gives: made by them alone.",
        "",
    ]
    for where, _, name in (path.rpartition(".") for path in LOOKED_AT):
        cls = getattr(importlib.import_module(f"autodiff_compiler.{where}"), name)
        lines += [f"## `{name}`", "", markdown(cls.__doc__ or ""), ""]
        for member, given, doc in members(cls):
            lines += [f"### `{name}.{member}{given}`", "", markdown(doc), ""]
    return "\n".join(lines)


def pages() -> Iterator[tuple[str, str, str]]:
    """Paths in the site, titles and texts of all pages."""
    yield "api/index.md", "autodiff_compiler", first_page()
    yield "api/artifacts.md", "artifacts", artifacts()
    for name, what in MODULES.items():
        yield f"api/{name}.md", name, page_of(importlib.import_module(f"autodiff_compiler.{name}"), what)
