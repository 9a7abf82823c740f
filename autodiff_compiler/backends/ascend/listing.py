"""A program as text: operators in order, with shapes, places and the user's lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ... import escape
from ...ir.types import Type
from .emit import Buffer, Ref, contiguous_strides
from .launch import Number
from .steps import Branch, Collective, Host, Loop, Segment


class _Names:
    """Short names of buffers, in the order in which they appear."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._taken: set[str] = set()

    def of(self, buffer: Buffer) -> str:
        if buffer not in self._names:
            name = stem = buffer.label or "t"
            k = 0
            while name in self._taken or name == "t":
                name, k = f"{stem}{k}", k + 1
            self._names[buffer] = name
            self._taken.add(name)
        return self._names[buffer]

    def view(self, x: Ref) -> str:
        sizes = ",".join(map(str, x.shape))
        text = f"{self.of(x.buffer)}:{x.dtype.short}[{sizes}]"
        if x.number is not None and all(s == 0 for s in x.strides):
            return f"{x.number}:{x.dtype.short}[{sizes}]"
        if x.strides != contiguous_strides(x.shape):
            text += f" strides({','.join(map(str, x.strides))})"
        return text + (f" +{x.offset}" if x.offset else "")

    def value(self, x: Any) -> str:
        if isinstance(x, Ref):
            return self.view(x)
        if isinstance(x, list):
            return "[" + ", ".join(map(self.view, x)) + "]"
        if isinstance(x, Number):
            return f"{x.value!r}"
        return str(list(x)) if isinstance(x, tuple) else getattr(x, "short", None) or repr(x)


def listing(
    name: str, steps: Sequence[Any], args: Sequence[tuple[str | None, Type]], places: Sequence[Any], outs: Sequence[Any]
) -> str:
    """The text of a program; `args`: names and types."""
    names = _Names()
    head = ", ".join(
        names.view(p) if isinstance(p, Ref) else f"{label or '_'}:{type}"
        for (label, type), p in zip(args, places, strict=True)
    )
    results = ", ".join(names.view(x) for x in outs if isinstance(x, Ref))
    lines = [f"ascend program {name}({head}) -> ({results})", *_lines(steps, names, "  ")]
    return "\n".join(map(escape.line, lines)) + "\n"


def _at(step: Any) -> str:
    """The comment with the user's place, if it is known."""
    return f"  # {escape.line(step.loc)}" if step.loc else ""


def _lines(steps: Sequence[Any], names: _Names, indent: str) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Segment):
            yield f"{indent}segment  # {len(step.calls)} operators, arena of {step.arena} bytes"
            for call in step.calls:
                values = ", ".join(map(names.value, call.values))
                yield f"{indent}  aclnn{call.operator}({values})" + _at(call)
        elif isinstance(step, Host):
            made = ", ".join(names.of(b) for b in step.results)
            yield f"{indent}host {step.name} -> ({made})" + _at(step)
        elif isinstance(step, Collective):
            read, made = (", ".join(map(names.of, keys)) for keys in (step.reads, step.makes))  # type: ignore[arg-type]
            yield f"{indent}together {step.name}({read}) -> ({made})" + _at(step)
        elif isinstance(step, Branch):
            for word, arm in zip((f"if {names.view(step.test)}:", "else:"), step.arms, strict=True):
                yield indent + word + ("" if word == "else:" else _at(step))
                yield from _lines(arm, names, indent + "  ")
        elif isinstance(step, Loop) and step.blocks:
            yield f"{indent}loop:" + _at(step)
            for block in step.blocks:
                yield f"{indent}  block:"
                yield from _lines(block, names, indent + "    ")
