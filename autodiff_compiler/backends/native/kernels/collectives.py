"""Collectives: calls of Python, which get the memory of operands and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....ir.core import Op
from ....ir.primitive import REGISTRY
from ....ir.types import TensorType
from ..codegen.lanes import NotNativeError
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan
from .host_calls import array_of, call_host, call_python, sized


def _place(op: Op) -> str:
    return "" if op.loc is None else op.loc.of_user().short


def _collective(low: BufferPlan, op: Op) -> None:
    """A call that writes its result where it belongs; the kernels of these ops take it as `out`."""
    kernel, attributes, at = op.defn.numpy, dict(zip(op.defn.schema, op.attrs, strict=True)), _place(op)
    assert kernel is not None
    (result,) = op.results
    if not isinstance(result.type, TensorType):
        raise NotNativeError(f"{op.defn.name} makes {result.type}")
    operands = [array_of(low, x) for x in op.operands]
    target = low.target_in_memory(result)

    def run(*arrays: Any, sizes: Mapping[str, int] | None = None) -> tuple[()]:
        *given, out = arrays
        known = attributes if sizes is None else {name: sized(x, sizes) for name, x in attributes.items()}
        room = out if out.flags.c_contiguous else None
        found = kernel(*[np.asarray(x, order="C") for x in given], **known, out=room, at=at)
        if found is not room:
            out[...] = found
        return ()

    low.text.note(f"the processes together: {op.defn.name}")
    call_python(low, run, [*operands, target], [], loc=op.loc, takes_sizes=True)
    low.load_scalar(result, target)


def _exchange(low: BufferPlan, op: Op) -> None:
    """A call that returns its results."""
    kernel, attributes, at = op.defn.numpy, dict(zip(op.defn.schema, op.attrs, strict=True)), _place(op)
    assert kernel is not None

    def run(*arrays: Any, sizes: Mapping[str, int] | None = None) -> Any:
        known = attributes if sizes is None else {name: sized(x, sizes) for name, x in attributes.items()}
        return kernel(*arrays, **known, at=at)

    call_host(low, op, run, takes_sizes=True)


OPS.update(
    {
        name: _collective if "out" in (defn.numpy.__kwdefaults__ or {}) else _exchange
        for name, defn in REGISTRY.items()
        if defn.collective and defn.numpy is not None
    }
)
