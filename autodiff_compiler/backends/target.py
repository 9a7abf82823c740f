"""The properties of a backend that passes after `licm` use: for fusion and the memory plan."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """The rules of one backend.

    `fusion`: "none" (ops run one by one) or "elementwise" (chains become one loop).  `alignment`: of buffers, in bytes.
    `reuse_bytes`: buffers smaller than that are not worth a plan.  `views`: whether a result may share its operand's
    bytes (`Primitive.view`).  `inplace`: whether an op may overwrite a dead operand (`Primitive.inplace`).
    """

    name: str
    fusion: str = "none"
    alignment: int = 64
    reuse_bytes: int = 4096
    views: bool = True
    inplace: bool = True
