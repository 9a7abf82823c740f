"""`Methods`: what type checkers and editors see of the methods that primitives give to Tensors.

The stub beside this file, which `tools/stubs.py` writes, has them all; `eager` attaches them to `Tensor` itself.
"""

from __future__ import annotations

__all__ = ["Methods"]


class Methods:
    """The base of `Tensor`."""

    __slots__ = ()
