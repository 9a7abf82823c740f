"""MindSpore's place of `jit`."""

from ..transforms.jit import jit

__all__ = ["jit"]
