"""Eager mode: primitives run at once on Tensors and are recorded on tapes for the derivatives.

Importing this package gives `Tensor` its operators and methods.
"""

from __future__ import annotations

from . import numpy_protocol, operators
from .execute import run
from .grad import Tape, differentiate, leaves, vjp
from .operators import assign
from .tape import record, tracked

__all__ = ["Tape", "assign", "differentiate", "leaves", "numpy_protocol", "operators", "record", "run", "tracked", "vjp"]
