"""What one compilation remembers for derivatives, and what they see of the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ...ir.core import Op, Value
from ...source import Loc
from ..effects.effects import EffectContext


class Kept(NamedTuple):
    """The gradients that a hook was given, and the depth of the calls where its own code stands."""

    depth: int
    gradients: Sequence[Any]


@dataclass
class Derivatives:
    """The state of one compilation that belongs to derivatives."""

    #: whether a function that is differentiated is being compiled, and the last calls of Cells (see `cell_calls`)
    differentiated: bool = False
    called: dict[int, Any] = field(default_factory=dict)
    #: the gradients that the hook being compiled was given (see `callbacks`)
    kept: Kept | None = None
    #: what Tensors with hooks hold, and the hooks (see `tensor_hooks`)
    hooked: dict[Value, Any] = field(default_factory=dict)
    #: the overriding ops whose rule gives a Python number, with the numbers of those operands (see `custom`)
    bare_numbers: set[tuple[Op, int]] = field(default_factory=set)
    #: the labels of the recursive rules that are being compiled, by whose they are, and how many there were
    recursive: dict[Any, str] = field(default_factory=dict)
    labels: int = 0


class DerivativeContext(EffectContext, Protocol):
    """What derivatives see of the interpreter."""

    @property
    def derivatives(self) -> Derivatives: ...

    def expr(self, node: Any) -> Any: ...
    def exprs(self, nodes: Sequence[Any]) -> list[Any]: ...
    def place(self, node: Any) -> Loc: ...
