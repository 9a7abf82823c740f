"""A network's Parameters as a table (`Cell.summary`)."""

from __future__ import annotations

from collections.abc import Sequence

from ..runtime.parameter import Parameter

_HEAD = ("name", "shape", "dtype", "elements", "trained")


def table(parameters: Sequence[Parameter]) -> str:
    """One line per Parameter, and the totals."""
    rows = [_HEAD, *[(p.name, str(p.shape), str(p.dtype), str(p.size), _yes(p.requires_grad)) for p in parameters]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join([f"{{:{'>' if name == 'elements' else '<'}{n}}}" for name, n in zip(_HEAD, widths, strict=True)])
    lines = [form.format(*row).rstrip() for row in rows]
    trained = sum(p.size for p in parameters if p.requires_grad)
    total = sum(p.size for p in parameters)
    return "\n".join([*lines, f"{total} elements in {len(parameters)} Parameters, {trained} of them trained"])


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"
