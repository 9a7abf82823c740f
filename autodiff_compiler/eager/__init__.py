"""Eager mode: primitives run at once on Tensors and are recorded on tapes for the derivatives.

Importing this package gives `Tensor` its operators and methods.
"""

from __future__ import annotations

from ..runtime.trees import leaves
from . import numpy_protocol as numpy_protocol  # importing it gives Tensors the protocol
from .execute import alias, run
from .grad import Tape, differentiate, vjp
from .operators import add_in_place, add_method, assign, assignable
from .tape import record, tracked

__all__ = [
    "Tape",
    "add_in_place",
    "add_method",
    "alias",
    "assign",
    "assignable",
    "differentiate",
    "leaves",
    "record",
    "run",
    "tracked",
    "vjp",
]
