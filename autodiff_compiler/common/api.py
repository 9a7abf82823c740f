"""MindSpore's module of `jit`, with the two private objects that its own tests and some programs use."""

from __future__ import annotations

from typing import Any

from ..transforms.jit import jit, ms_function
from ..transforms.jit_options import JitConfig

__all__ = ["JitConfig", "jit", "ms_function", "ms_memory_recycle"]


class _PyNativeExecutor:
    """The executor of eager operations, each of which is done when it returns."""

    def sync(self) -> None:
        """Waits for nothing."""


class _CellGraphExecutor:
    """The executor that compiles a Cell or function ahead of its first call."""

    def compile(self, obj: Any, *args: Any, phase: str = "predict", **options: Any) -> tuple[str, bool]:
        """Compiles for calls with arguments like these; returns the phase, and True as MindSpore does.

        >>> from autodiff_compiler import Tensor
        >>> _cell_graph_executor.compile(lambda x: x + 1, Tensor(1.0))
        ('predict', True)
        """
        if hasattr(obj, "__graph_state__"):
            obj.compile(*args)
        else:
            jit(obj).compile(*args)
        return phase, True


_pynative_executor, _cell_graph_executor = _PyNativeExecutor(), _CellGraphExecutor()


def ms_memory_recycle() -> None:
    """Accepted without effect: a Tensor's memory is freed with the last reference to it."""
