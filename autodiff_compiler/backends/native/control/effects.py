"""Ops with side effects: calls of Python, in program order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....ir.core import Op
from ....ir.types import TensorType
from ....runtime.commits import Commit
from ....runtime.host import checked_results
from ....runtime.text import tensor_repr
from ..codegen.emit import Reg
from ..codegen.lanes import NotNativeError
from ..kernels.host_calls import array_of, call_host, call_python, sized
from ..lower import OPS, Lowering


def _print(low: Lowering, op: Op) -> None:
    if not all(isinstance(x.type, TensorType) for x in op.operands):
        raise NotNativeError("print of something else than a Tensor")
    dtypes = [str(x.dtype) for x in op.operands]
    parts, ways = op.attr("parts"), op.attr("ways")
    more = {"sep": op.attr("sep"), "end": op.attr("end"), "flush": op.attr("flush")}
    stream = op.attr("stream")

    def shown(part: Any, arrays: Sequence[Any]) -> Any:
        if isinstance(part, str):
            return part
        if isinstance(part, tuple | list):
            form, *arguments = part
            return str.format(form, *[shown(a, arrays) for a in arguments])
        array, way = arrays[part], ways[part] if ways else "str"
        if way == "number":
            return array.item()
        if way == "repr":
            return tensor_repr(array, dtypes[part])
        return array if way == "array" else array[()]

    def run(*arrays: Any) -> None:
        print(*[shown(p, arrays) for p in parts], file=getattr(sys, stream), **more)

    call_host(low, op, run, copies=True)


def _host(low: Lowering, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = low.module.callables[name.removeprefix("@")]
    return found


def _raiser(low: Lowering, op: Op) -> Callable[..., Any]:
    make = _host(low, op.attr("exception"))

    def run(*arrays: Any) -> None:
        raise make(*arrays)

    return run


def _raise(low: Lowering, op: Op) -> None:
    call_host(low, op, _raiser(low, op), copies=True, returns=False)


def _assert(low: Lowering, op: Op) -> None:
    condition, *operands = op.operands
    holds = low.scalar(condition).reg

    def fail() -> list[Reg]:
        with low.inside():
            call_host(low, op, _raiser(low, op), operands, copies=True, returns=False)
        return []

    low.text.branch(low.text.let("i1", f"xor {holds}, true"), fail, rare=True)


def _host_call(low: Lowering, op: Op) -> None:
    name = op.attr("fn").removeprefix("@")
    fn = _host(low, name)
    if isinstance(fn, Commit) and not fn.lasting:
        low.commits.append(op)
        return
    promised = []
    for r in op.results:
        if not isinstance(r.type, TensorType):
            raise NotNativeError(f"a host function returns {r.type}")
        promised.append((r.type.shape, r.type.dtype.numpy))

    def run(*arrays: Any, sizes: Mapping[str, int] | None = None) -> Any:
        found = fn(*arrays)
        known = tuple(promised) if sizes is None else sized(tuple(promised), sizes)
        return checked_results(name, found, known) if promised else ()

    call_host(low, op, run, copies=True, takes_sizes=True)


def _commit(low: Lowering, op: Op) -> None:
    """Runs a pending `commit`: Python records the values so far."""
    fn = _host(low, op.attr("fn"))

    def run(*arrays: Any) -> tuple[()]:
        fn(*[np.array(a) for a in arrays])
        return ()

    call_python(low, run, [array_of(low, x) for x in op.operands], [])


OPS.update({"print": _print, "raise": _raise, "assert": _assert, "host_call": _host_call, "commit": _commit})
