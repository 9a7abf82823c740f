"""Tables of CANN's interface: prototypes of the runtime's functions and of the operators, and error codes.

The facts were gathered from CANN 8.1.RC1 and from sources of mid 2026; docs/ascend.md says how they were checked.
`runtime.json`: functions with their arguments (`*` before a type: a pointer to it), and the names of status codes;
those of HCCL's functions are apart.
`operators.json`: the arguments of an operator's first phase before `workspaceSize` and `executor`, with the dtypes that
an Atlas A2 takes, the ranks, and whether a view that is not contiguous is refused (`dense`).
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

__all__ = ["Argument", "Function", "Operator", "code_name", "functions", "operators"]


@dataclass(frozen=True)
class Function:
    """A C function: its library ("runtime", "base" or "hccl"), result type and arguments (name, type)."""

    name: str
    library: str
    returns: str
    args: tuple[tuple[str, str], ...]
    newer: bool


@dataclass(frozen=True)
class Argument:
    """One argument of an operator's first phase.

    `kind`: tensor, tensors, scalar, ints, bools, dtype, or a C number (bool, i8, i32, i64, u64, f32, f64).  `role`:
    in, out, or inout.  `dtypes`: those that it takes (none for what is no tensor).  `ranks`: least and greatest.
    `dense`: views must be contiguous.  `image`: three to five dimensions are an image's (NCL, NCHW, NCDHW).
    """

    name: str
    kind: str
    role: str
    dtypes: frozenset[str]
    ranks: tuple[int, int]
    optional: bool
    dense: bool
    image: bool


@dataclass(frozen=True)
class Operator:
    """An operator: its library ("math" or "nn"), arguments, and the dtypes that run on the fast cores.

    `fast` is empty where they are not known.  `deterministic`: whether it gives the same bits each time by default.
    """

    name: str
    library: str
    args: tuple[Argument, ...]
    fast: frozenset[str]
    newer: bool
    deterministic: bool


@functools.cache
def _table(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


@functools.cache
def functions() -> dict[str, Function]:
    """The functions of the runtime, of the base library and of HCCL, by name."""
    return {
        name: Function(name, f["library"], f["returns"], tuple((n, t) for n, t in f["args"]), f["since"] == "newer")
        for name, f in _table("runtime")["functions"].items()
    }


@functools.cache
def operators() -> dict[str, Operator]:
    """The operators by name, without `aclnn` before it."""
    table = _table("operators")
    named: dict[str, str] = table["dtypes"]

    def dtypes(text: str) -> frozenset[str]:
        return frozenset((named[text[1:]] if text.startswith("@") else text).split())

    def argument(a: dict[str, Any]) -> Argument:
        least, _, most = a.get("rank", "0-8").partition("-")
        flags = [bool(a.get(flag)) for flag in ("optional", "dense", "image")]
        ranks = (int(least), int(most or least))
        return Argument(a["name"], a["kind"], a.get("role", "in"), dtypes(a.get("dtypes", "")), ranks, *flags)

    return {
        name: Operator(
            name, o["library"], tuple(map(argument, o["args"])), dtypes(o.get("aicore", "")),
            o.get("since") == "newer", o.get("deterministic", True),
        )
        for name, o in table["operators"].items()
    }  # fmt: skip


def code_name(code: int, of: str = "codes") -> str:
    """The name of a status code (`of`: "codes", or "hccl_codes" of HCCL's functions); "" if it is not known."""
    return str(_table("runtime")[of].get(str(code), ""))
