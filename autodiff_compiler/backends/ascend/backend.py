"""The Ascend backend: modules to programs of CANN's operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...config import context
from ...errors import UnsupportedCallError
from ...ir.core import Module
from ...ir.types import TensorType
from ..base import Coverage
from ..target import Target
from . import control  # noqa: F401  (it enters how it lowers ops)
from .layout import lay_out
from .listing import listing
from .lower import Lowering
from .modes import MODES
from .program import AscendProgram, keys_of

__all__ = ["AscendBackend"]

TARGET = Target("ascend", alignment=64, inplace=False)


class AscendBackend:
    """Runs modules on an Ascend device; `host` compiles what the host does: output, exceptions, host functions.

    Ops without an operator are refused, unless ``set_context(ascend_fallback="host")`` lets them run on the host.
    """

    def __init__(self, host: Callable[[Module], Any], target: Target = TARGET) -> None:
        self.target = target
        self._host = host

    def compile(self, module: Module) -> AscendProgram:
        """The module as a program; UnsupportedCallError names all ops that the device cannot run."""
        low, args, outs = self._lowered(module)
        if low.missing:
            reasons = [f"{name}: {why}" for name, why in sorted(low.missing.items())]
            raise UnsupportedCallError(
                "the Ascend device cannot run " + ", ".join(sorted(low.missing)),
                code="AC1902",
                loc=low.missing_at,
                notes=reasons,
                hint='use float32 if the dtype is the reason, or let the host: set_context(ascend_fallback="host")',
            )
        name = module.entry.name
        text = listing(name, low.steps, [*module.entry.args], args, outs)
        return AscendProgram(name, text, low.steps, args, outs, low.constants, MODES[context.get("ascend_mode")]())

    def _lowered(self, module: Module) -> tuple[Lowering, list[Any], list[Any]]:
        low = Lowering(module, self._host, context.get("ascend_fallback") == "host")
        args = [low.fresh(a.type, a.name) for a in module.entry.args]
        found = low.function(module.entry, args)
        outs = [
            low.settled(low.constant(0, v.type) if x is None and isinstance(v.type, TensorType) else x)
            for x, v in zip(found, module.entry.outs, strict=True)
        ]
        low.flush()
        low.mark_optional()
        known = [*[key for a in args for key in keys_of(a)], *low.constants]
        lay_out(low.steps, known, [key for x in outs for key in keys_of(x)])
        return low, args, outs

    def coverage(self, module: Module) -> Coverage:
        """Which ops run as operators, which on the host or on the slow cores, and which cannot run."""
        low, _, _ = self._lowered(module)
        ways = dict(sorted(low.ways.items()))
        ways |= {f"aclnn{text}": "AI CPU (slow)" for text in sorted(low.slow)}
        return Coverage({k: v for k, v in ways.items() if k not in low.missing}, dict(sorted(low.missing.items())))
