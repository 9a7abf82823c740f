"""Distinctions between ops of one name on one line, as equal layers of a network have them."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.core import Op, Value
from ..ir.types import TensorType

#: The limit of the search from an op back to a named argument.
_FOLLOWED = 200
_ARRANGING = frozenset({"transpose", "reshape", "expand_dims", "squeeze", "broadcast_to"})


def distinctions(ops: Sequence[Op | None]) -> list[str]:
    """A distinct text for each of several ops that look the same: the type of the result and the Parameter or argument
    that it derives from, as far as these differ; a number where they do not.
    """
    parts = [_if_different(["" if op is None else found(op) for op in ops]) for found in (_type, _origin)]
    texts = [" ".join(filter(None, both)) for both in zip(*parts, strict=True)]
    return [
        f"{text} #{texts[: i + 1].count(text)}".lstrip() if texts.count(text) > 1 else text
        for i, text in enumerate(texts)
    ]


def _if_different(texts: list[str]) -> list[str]:
    return texts if len(set(texts)) > 1 else [""] * len(texts)


def _type(op: Op) -> str:
    return repr(op.results[0].type) if op.results and isinstance(op.results[0].type, TensorType) else ""


def _origin(op: Op) -> str:
    """The gradient that an op gives; else the nearest named argument of the program that its operands are made of, of
    several as near the last, as Parameters are.
    """
    if op.loc is not None and op.loc.tag and op.results and op.results[0].name:
        return f"gives %{op.results[0].name}"
    level = [_arranged(x) for x in op.operands]
    seen: dict[Value, None] = {}
    while level and len(seen) < _FOLLOWED:
        named = [x for x in level if x.op is None and x.name]
        if named:
            return f"from %{max(named, key=lambda x: x.index).name}"
        seen |= dict.fromkeys(level)
        before = [_arranged(y) for x in level if x.op is not None for y in x.op.operands]
        level = [x for x in dict.fromkeys(before) if x not in seen]
    return ""


def _arranged(x: Value) -> Value:
    """The value of which `x` is a rearrangement: reshaped, transposed, broadcast."""
    while x.op is not None and x.op.defn.name in _ARRANGING:
        x = x.op.operands[0]
    return x
