"""MindSpore's operators as objects, usually imported as `P`: ``P.ReduceSum(keep_dims=True)(x, 0)``."""

from __future__ import annotations

from typing import Any

from ..errors import did_you_mean
from ..transforms.custom import HookBackward, InsertGradientOf
from . import (
    array_classes,
    image_classes,
    math_classes,
    neural_classes,
    random_classes,
    segments,
    special_classes,
    state_classes,
    update_classes,
    user_functions,
)
from .array_classes import *  # noqa: F403
from .image_classes import *  # noqa: F403
from .math_classes import *  # noqa: F403
from .neural_classes import *  # noqa: F403
from .primitive import Primitive, PrimitiveWithCheck, PrimitiveWithInfer, prim_arg_register, prim_attr_register
from .random_classes import *  # noqa: F403
from .segments import *  # noqa: F403
from .special_classes import *  # noqa: F403
from .state_classes import *  # noqa: F403
from .update_classes import *  # noqa: F403
from .user_functions import *  # noqa: F403

__all__ = ["HookBackward", "InsertGradientOf"]
__all__ += ["Primitive", "PrimitiveWithCheck", "PrimitiveWithInfer", "prim_arg_register", "prim_attr_register"]
__all__ += array_classes.__all__
__all__ += image_classes.__all__
__all__ += math_classes.__all__
__all__ += neural_classes.__all__
__all__ += random_classes.__all__
__all__ += segments.__all__
__all__ += special_classes.__all__
__all__ += state_classes.__all__
__all__ += update_classes.__all__
__all__ += user_functions.__all__

#: Why MindSpore's other classes are not here.
LACKING = {
    "there is one process and one device": (
        "AllGather AllGatherV AllReduce AlltoAll AlltoAllV AlltoAllVC Barrier BatchISendIRecv Broadcast "
        "CollectiveGather CollectiveScatter NeighborExchange NeighborExchangeV2 P2POp Pull Push Receive Reduce "
        "ReduceScatter ReduceScatterV Send Reshard NPUAllocFloatStatus NPUClearFloatStatus NPUGetFloatStatus"
    ),
    "complex numbers are not supported": "Complex ComplexAbs ConjugateTranspose Eig FFTWithSize Polar STFT",
    "use the optimizers of `nn`": "AdamNoUpdateParam LARSUpdate",
    "operators of its own are written as functions, or as subclasses of `Primitive`": (
        "AiCPURegOp AkgGpuRegOp CpuRegOp CustomOpBuilder CustomRegOp TBERegOp Morph"
    ),
}


def lacking(name: str) -> str | None:
    """Advice on a name that is not here: why, or what comes near."""
    reason = next((why for why, names in LACKING.items() if name in names.split()), None)
    return reason or (did_you_mean(name, __all__) if name[:1].isupper() else None)


def missing(module: str, name: str) -> AttributeError:
    """The error for a name that is not here."""
    advice = lacking(name)
    return AttributeError(f"module {module!r} has no attribute {name!r}" + (f": {advice}" if advice else ""), name=name)


__lacking__ = lacking  # also in compiled code


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)
