"""MindSpore's operators as objects, usually imported as `P`: ``P.ReduceSum(keep_dims=True)(x, 0)``."""

from __future__ import annotations

import functools
import sys
from typing import Any

from ..errors import did_you_mean
from ..surface.row import Row, documented, maker
from ..surface.table import OPERATORS as ROWS
from ..surface.table import public
from ..transforms.custom import HookBackward, InsertGradientOf
from . import (
    array_classes,
    communication,
    communication_classes,
    image_classes,
    math_classes,
    neural_classes,
    primitive,
    random_classes,
    segments,
    state_classes,
    update_classes,
    user_functions,
)
from .functions import functions
from .operation import Operation, constant, operation

_WRITTEN = (
    *(array_classes, communication_classes, image_classes, math_classes, neural_classes, random_classes, segments),
    *(state_classes, update_classes, user_functions),
)
_CLASSES: dict[str, Any] = {name: getattr(module, name) for module in _WRITTEN for name in module.__all__}
_CLASSES |= {"P2POp": communication.P2POp, "ReduceOp": communication.ReduceOp}
_CLASSES |= {"HookBackward": HookBackward, "InsertGradientOf": InsertGradientOf, "Primitive": primitive.Primitive}
for _name in ("PrimitiveWithCheck", "PrimitiveWithInfer", "prim_arg_register", "prim_attr_register"):
    _CLASSES[_name] = getattr(primitive, _name)

#: Why MindSpore's other classes are not here.
LACKING = {
    "use `NeighborExchange`, which sends and receives tensors": "NeighborExchangeV2",
    "use `communication.comm_func.batch_isend_irecv`": "BatchISendIRecv",
    "each process has one device, and the whole of its tensors": (
        "Pull Push Reshard NPUAllocFloatStatus NPUClearFloatStatus NPUGetFloatStatus"
    ),
    "complex numbers are not supported": "Complex ComplexAbs ConjugateTranspose Eig FFTWithSize Polar STFT",
    "use the optimizers of `nn`": "AdamNoUpdateParam LARSUpdate",
    "operators of its own are written as functions, or as subclasses of `Primitive`": (
        "AiCPURegOp AkgGpuRegOp CpuRegOp CustomOpBuilder CustomRegOp TBERegOp Morph"
    ),
}


def names() -> set[str]:
    """The names of all classes."""
    return ROWS.keys() | _CLASSES.keys()


def lacking(name: str) -> str | None:
    """Advice on a name that is not here: why, or what comes near."""
    reason = next((why for why, names in LACKING.items() if name in names.split()), None)
    return reason or (did_you_mean(name, names()) if name[:1].isupper() else None)


def missing(module: str, name: str) -> AttributeError:
    """The error for a name that is not here."""
    advice = lacking(name)
    return AttributeError(f"module {module!r} has no attribute {name!r}" + (f": {advice}" if advice else ""), name=name)


__lacking__ = lacking  # also in compiled code


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(names())
    if name not in ROWS and name not in _CLASSES:
        raise missing(__name__, name)
    # Another thread may have made the class meanwhile: all get the first.
    return globals().setdefault(name, _made(name) if name in ROWS else _CLASSES[name])


def __dir__() -> list[str]:
    return sorted(names())


def _made(name: str) -> type[Operation]:
    """The class of a row."""
    row = ROWS[name]
    if isinstance(row, Row):
        return operation(name, constant(getattr(public, row.name)), __name__)
    return operation(name, maker(row, functions), __name__, documented(row, functions))


primitive.OPERATORS.update({name: functools.partial(getattr, sys.modules[__name__], name) for name in ROWS})
