"""What the user calls an operand that has a size: for checks of sizes that only run time knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gast

from ...ir.core import Op
from ...ir.sizes import Size
from ...ir.types import known_same
from ..variables.frames import Frame
from ..variables.values import is_parameter, is_tensor, is_union
from .reasons import text_of


def whose(size: Size, frame: Frame, nodes: Sequence[Any], values: Sequence[Any]) -> str:
    """The user's text for the only operand with a size, and the line that made it; empty if that is not clear."""
    found = {}
    for node, x in _single(nodes, values):
        loc = frame.tree.loc(node, frame.caller)
        text = text_of(loc) if loc.of_user() is loc else ""
        if text and is_tensor(x) and not is_union(x) and _has(x.type.shape, size):
            value = None if is_parameter(x) else x.value
            made = value.owner.loc if value is not None and isinstance(value.owner, Op) else None
            found[text] = f" ({made.of_user().short})" if made is not None else ""
    ((text, place),) = found.items() if len(found) == 1 else (("", ""),)
    return f"`{text}`{place}" if text else ""


def _single(nodes: Sequence[Any], values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The operands, those in a list or a tuple one by one."""
    for node, x in zip(nodes, values, strict=True):
        if isinstance(node, gast.List | gast.Tuple) and isinstance(x, list | tuple) and len(node.elts) == len(x):
            yield from zip(node.elts, x, strict=True)
        else:
            yield node, x


def _has(shape: Sequence[Size], size: Size) -> bool:
    return any(known_same((d,), (size,)) for d in shape)
