"""Derivatives as a transformation of the IR: reverse mode, expansion of `grad`, cutting into forward and backward."""

from . import control  # registers the rules of structured ops
from .expand import drop_overrides, expand_grads
from .split import Split, split

__all__ = ["Split", "control", "drop_overrides", "expand_grads", "split"]
