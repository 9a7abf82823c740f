"""MindSpore's place of `HookHandle`."""

from ..runtime.hooks import HookHandle

__all__ = ["HookHandle"]
