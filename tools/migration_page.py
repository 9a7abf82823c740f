"""Writes docs/migration.md: which of MindSpore's names there are, which differ, which are not planned, and how to move.

python tools/migration_page.py            writes the page
python tools/migration_page.py --check    fails if the page is not what the package says

`mindspore_names.txt` has the facts about MindSpore, `mindspore_differences.toml` what cannot be read off signatures,
and the package's `mindspore_names/absent.toml` why names are not there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parent
sys.path.insert(0, str(ROOT))

from autodiff_compiler.dtypes import DType  # noqa: E402
from autodiff_compiler.mindspore_names import absent, importer, places  # noqa: E402
from autodiff_compiler.ops import operations  # noqa: E402
from generated_pages import write_or_check  # noqa: E402

PAGE = ROOT / "docs" / "migration.md"

#: The sections of the names, and where this package has them: a module, or a class.
SECTIONS = {
    "mindspore": ("", "mindspore"),
    "mindspore.nn": ("nn", "mindspore.nn"),
    "mindspore.nn.Cell methods": ("nn:Cell", "Methods of mindspore.nn.Cell"),
    "mindspore.ops functions": ("ops", "Functions of mindspore.ops"),
    "mindspore.ops primitives": ("ops", "Operators of mindspore.ops as objects"),
    "Tensor methods": (":Tensor", "Methods of mindspore.Tensor"),
    "Parameter": (":Parameter", "Methods of mindspore.Parameter"),
    "mindspore.common.initializer": ("common.initializer", "mindspore.common.initializer"),
    "mindspore.amp": ("amp", "mindspore.amp"),
    "mindspore.train": ("train", "mindspore.train"),
    "mindspore.dataset": ("dataset", "mindspore.dataset"),
    "Dataset methods": ("dataset:Dataset", "Methods of datasets"),
    "mindspore.dataset.transforms": ("dataset.transforms", "mindspore.dataset.transforms"),
    "mindspore.dataset.vision": ("dataset.vision", "mindspore.dataset.vision"),
    "mindspore.numpy": ("numpy", "mindspore.numpy"),
    "mindspore.mint": ("mint", "Functions of mindspore.mint"),
    "mindspore.mint.nn.functional": ("mint.nn.functional", "mindspore.mint.nn.functional"),
}

HEAD = """# Coming from MindSpore

Written by `python tools/migration_page.py` from the package itself; do not edit by hand.

## Without changing a file

    python -m autodiff_compiler run train.py --epochs 3
    python -m autodiff_compiler run -m project.train --epochs 3

runs a program as Python does, with `import mindspore` and every module of the table below meaning this package.
MindSpore need not be installed, and is not looked at if it is. Options, exit status and tracebacks are the program's.
Processes that it starts with `multiprocessing` have the names too, by whichever method.
Checkpoints in the `safetensors` format need `pip install 'autodiff-compiler[safetensors]'`; `.ckpt` files, MindSpore's
own included, need nothing.
In a notebook or a test the same is

    import autodiff_compiler
    autodiff_compiler.as_mindspore()          # until the process ends; before the first `import mindspore`

    with autodiff_compiler.as_mindspore():    # or for a while
        import mindspore as ms

A name that is not here raises ImportError or AttributeError, which says so and offers the nearest one. A process that
is started anew (`multiprocessing` with "spawn") calls `as_mindspore` itself.

`mindspore.__version__` is "{version}" there: programs that compare versions to know what they may call ask about the
names, which are those of that release. `autodiff_compiler.__version__` is the version of this package.

## Changing one import

    import autodiff_compiler as ms            # was: import mindspore as ms
    from autodiff_compiler import nn, ops     # was: from mindspore import nn, ops

Modules that MindSpore divides further are one here: `from mindspore.nn.layer.conv import Conv2d` becomes
`from autodiff_compiler.nn import Conv2d`. `python -m autodiff_compiler check train.py` lists what compiled code in a
file could not do.

## What behaves differently

{differences}

Quirks of MindSpore that are kept, each with its place in the code, are in [quirks.md](quirks.md).

## Names

A name counts as *there* if it takes MindSpore's arguments, by position and by name, with the same defaults; what else
it takes is no difference. The names are those of MindSpore {version}.

{summary}
"""


# ------------------------------------------------------------------------------------------------ facts
def mindspore_names() -> dict[str, dict[str, str | None]]:
    """By section, the names of MindSpore with their parameters; None where MindSpore does not show them."""
    sections: dict[str, dict[str, str | None]] = {}
    for line in (TOOLS / "mindspore_names.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            names = sections[line[1:-1]] = {}
        elif line and not line.startswith("#"):
            name, _, parameters = line[:-1].partition("(")
            names[name] = None if parameters == "?" else parameters
    return sections


def notes() -> dict[str, Any]:
    """What a person has to say: differences in behaviour, and reasons for what is not planned."""
    return tomllib.loads((TOOLS / "mindspore_differences.toml").read_text("utf-8")) | {"absent": absent.entries()}


def ours(where: str) -> Any:
    """The module or class that has a section's names; None if there is none."""
    module, _, cls = where.partition(":")
    try:
        found = importlib.import_module("autodiff_compiler" + (f".{module}" if module else ""))
    except ModuleNotFoundError:
        return None
    return getattr(found, cls) if cls else found


# ------------------------------------------------------------------------------------------------ arguments
_EMPTY = inspect.Parameter.empty


def _given(parameters: str) -> list[tuple[str, Any, bool]]:
    """MindSpore's parameters: name, default, whether it may be given by position.  Starred ones are left out."""
    text = ", ".join(p for p in _parts(parameters))
    arguments = ast.parse(f"def f({text}): pass").body[0].args  # type: ignore[attr-defined]
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [_EMPTY] * (len(plain) - len(arguments.defaults)) + [_literal(d) for d in arguments.defaults]
    found = [(a.arg, d, True) for a, d in zip(plain, defaults, strict=True)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found + [(a.arg, _EMPTY if d is None else _literal(d), False) for a, d in keywords]


def _parts(parameters: str) -> Iterator[str]:
    """The parameters; what follows one with a default but has none itself can be given by keyword anyway."""
    had = False
    for part in _split(parameters):
        had = had or ("=" in part and not part.startswith("*"))
        starred = part.startswith("*") or part == "/"
        yield f"{part}=..." if had and "=" not in part and not starred else part


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [p for p in (*parts, current.strip()) if p]


_UNKNOWN = object()


def _literal(node: ast.expr) -> Any:
    """A default's value; a name stands for itself, and what cannot be read for anything."""
    if isinstance(node, ast.Name):
        return node.id
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return _UNKNOWN
    return _UNKNOWN if value is ... else value


def difference(theirs: str | None, found: Any, *, method: bool = False) -> str | None:
    """How the arguments differ from MindSpore's; None if whatever MindSpore takes is taken."""
    if theirs is None or not callable(found):
        return None
    try:
        parameters = list(inspect.signature(found).parameters.values())[method:]
    except ValueError:  # a builtin class
        return None
    kinds = {p.kind for p in parameters}
    by_name = {p.name: p for p in parameters}
    positions = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    open_names = inspect.Parameter.VAR_KEYWORD in kinds
    if inspect.Parameter.VAR_POSITIONAL in kinds and not positions:
        return None  # it takes anything, and looks itself
    said = []
    given = [g for g in _given(theirs) if g[0] not in ("self", "cls")]
    for index, (name, default, by_position) in enumerate(given):
        p = by_name.get(name)
        if p is None:
            if not open_names:
                said.append(f"without `{name}`")
        elif by_position and p.kind is p.KEYWORD_ONLY and inspect.Parameter.VAR_POSITIONAL not in kinds:
            said.append(f"`{name}` by keyword only")
        elif by_position and name in positions and positions.index(name) != index and not said:
            said.append(f"`{name}` at another position")
        elif default is not _EMPTY and p.default is _EMPTY and p.kind is not p.VAR_POSITIONAL:
            said.append(f"`{name}` has no default")
        elif default is not _EMPTY and not _same(default, p.default):
            said.append(f"`{name}={_shown(p.default)}`, not `{_shown(default)}`")
    return "; ".join(said) or None


def _same(theirs: Any, default: Any) -> bool:
    if theirs is _UNKNOWN or default is theirs:
        return True
    if isinstance(default, DType):
        return str(theirs).lower() in (str(default).lower(), repr(default).rpartition(".")[2])
    if callable(default) or type(default).__name__ in ("_Given", "object", "EnumType"):
        return True
    if isinstance(theirs, list | tuple) and isinstance(default, list | tuple):
        return list(theirs) == list(default)
    try:
        return bool(theirs == default) or (theirs is None and default is _EMPTY)
    except Exception:
        return True


def _shown(value: Any) -> str:
    return repr(value) if not isinstance(value, DType) else repr(value).rpartition(".")[2]


# ------------------------------------------------------------------------------------------------ the page
class Section:
    """The names of one section, sorted into there, differs and absent."""

    def __init__(self, name: str, names: dict[str, str | None], said: dict[str, Any]) -> None:
        where, self.title = SECTIONS[name]
        self.there: list[str] = []
        self.differs: dict[str, str] = {}
        self.absent: dict[str, list[str]] = {}
        owner = ours(where)
        reasons = {n: why for why, names in operations.LACKING.items() for n in names.split()} if "ops" in name else {}
        reasons |= {n: entry["reason"] for entry in said["absent"] for n in entry["names"].get(name, "").split()}
        for n, parameters in names.items():
            if owner is None or not hasattr(owner, n):
                self.absent.setdefault(reasons.get(n, ""), []).append(n)
                continue
            method = isinstance(owner, type) and not isinstance(inspect.getattr_static(owner, n), staticmethod)
            same = n in said["same"].get(name, "").split()
            how = said["differs"].get(name, {}).get(n)
            if how is None and not same:
                how = difference(parameters, getattr(owner, n), method=method)
            if how:
                self.differs[n] = how
            else:
                self.there.append(n)

    @property
    def counts(self) -> tuple[int, int, int]:
        return len(self.there), len(self.differs), sum(map(len, self.absent.values()))

    def text(self) -> str:
        there, differs, absent = self.counts
        lines = [f"### {self.title}", "", f"Of {there + differs + absent} names {there} are there:", ""]
        lines += [_listed(self.there), ""]
        if self.differs:
            lines += ["| differs | how |", "|---|---|", *[f"| `{n}` | {h} |" for n, h in self.differs.items()], ""]
        if self.absent:
            lines += ["| not planned | why |", "|---|---|"]
            lines += [f"| {_listed(ns)} | {reason} |" for reason, ns in sorted(self.absent.items())] + [""]
        return "\n".join(lines)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def sections() -> list[Section]:
    """All sections in the order of the page."""
    facts, said = mindspore_names(), notes()
    return [Section(name, facts[name], said) for name in SECTIONS]


def modules() -> str:
    """The modules that `import mindspore...` finds."""
    lines = ["### Modules", "", "| of MindSpore | here |", "|---|---|"]
    for place in places.PLACES:
        found = importer.sources(place)
        if found:
            shown = _listed([m.__name__ for m in found])
            lines.append(f"| `{'.'.join(filter(None, ('mindspore', place)))}` | {shown} |")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    parts = sections()
    rows = ["| | there | differ | not planned |", "|---|--:|--:|--:|"]
    rows += [f"| {s.title} | {' | '.join(map(str, s.counts))} |" for s in parts]
    total = [sum(column) for column in zip(*[s.counts for s in parts], strict=True)]
    rows.append(f"| all | {' | '.join(map(str, total))} |")
    differences = "\n".join(f"- {text}" for text in notes()["behaviour"])
    head = HEAD.format(version=places.VERSION, differences=differences, summary="\n".join(rows))
    return "\n".join([head, modules(), "", *[s.text() for s in parts]]).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
