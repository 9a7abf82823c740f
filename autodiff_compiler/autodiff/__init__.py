"""Derivatives as a transformation of the IR: reverse mode, expansion of `grad`, cutting into forward and backward."""

from . import control  # registers the rules of structured ops
from .expand import expand_grads
from .vjp_functions import Split, split

__all__ = ["Split", "control", "expand_grads", "split"]
