"""Eager mode on a device: every primitive is a program of one op, its results stay on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.ascend.arrays import AscendArray, brought
from ..backends.ascend.backend import AscendBackend
from ..backends.ascend.device import Device, current
from ..backends.ascend.modes import MODES
from ..backends.ascend.program import AscendProgram
from ..backends.numpy.backend import NumpyBackend
from ..config import context
from ..dtypes import from_numpy
from ..ir.build import Builder, attrs_key
from ..ir.core import Attrs, Block, Function, Module
from ..ir.primitive import F, Primitive, set_eager
from ..ir.types import tensor
from ..locks import Lock
from ..primitives.family import broadcast_shapes
from ..runtime.device_array import is_of_device
from ..runtime.tensor import Tensor, wrap
from ..source import calling_place
from . import execute
from .execute import Plan, alias, check_types, fill_numbers, plan_of
from .operators import use_fast_paths
from .tape import place, thread

_REMEMBERED, _NUMBERS = 4096, 1024
_programs: dict[Any, AscendProgram] = {}
_lock = Lock()


def settle(on_device: bool) -> None:
    """Runs primitives on the device that the context names, or on the host again."""
    use_fast_paths(not on_device)
    set_eager(_run if on_device else _run_on_host, alias)


def _run_on_host(defn: type[Primitive], operands: tuple[Any, ...], attrs: Attrs) -> Any:
    """`execute.run`, after operands were fetched from a device."""
    for x in operands:
        if isinstance(x, Tensor) and is_of_device(x._data):
            x._of_host()
    return execute.run(defn, operands, attrs)


def _run(defn: type[Primitive], operands: tuple[Any, ...], attrs: Attrs) -> Any:
    """Applies a primitive to Tensors (and Python numbers) on the device."""
    plan = plan_of(defn)
    if plan.special is not None:
        return execute.run(defn, operands, attrs)
    device = current()
    arrays: list[Any] = [brought(x, device) if isinstance(x, Tensor) else None for x in operands]
    if None in arrays:
        fill_numbers(defn, operands, arrays)
        arrays = [a if isinstance(a, AscendArray) else _number(device, a) for a in arrays]
    key = (context.machine, defn, attrs_key(attrs), *[(a.dtype, a.shape) for a in arrays])
    program = _programs.get(key)
    if program is None:
        check_types(plan, arrays, attrs, key)
        program = _compiled(key, plan, arrays, attrs)
    results = [wrap(out) for out in program(*arrays)]
    if thread.state.active:
        place(plan, attrs, operands, tuple(arrays), results, thread.state.active)
    return tuple(results) if defn.multiple else results[0] if results else None


def _number(device: Device, number: np.ndarray[Any, Any]) -> AscendArray:
    """A Python number on the device, cached."""
    known = device.kept.setdefault(_number, {})
    key = (number.dtype, number.tobytes())  # 0.0 is not -0.0, and nan is nan
    found: AscendArray | None = known.get(key)
    if found is None:
        if len(known) >= _NUMBERS:
            known.clear()
        found = known[key] = AscendArray.of(number, device)
    return found.copy()


def _compiled(key: Any, plan: Plan, arrays: list[Any], attrs: Attrs) -> AscendProgram:
    module, defn = Module(), plan.defn
    body = Block([tensor(from_numpy(a.dtype), a.shape) for a in arrays])
    builder = Builder(body, module=module)
    with builder:
        operands = tuple(body.args)
        if plan.elementwise:  # kernels of the host broadcast by themselves
            shape = broadcast_shapes([a.shape for a in arrays])
            operands = tuple([x if x.shape == shape else F.broadcast_to(x, shape=shape) for x in operands])
        found = builder.emit(defn, operands, attrs)
        builder.ret(*(found if isinstance(found, tuple) else () if found is None else (found,)))
    module.add(Function(defn.name, body))
    program = AscendBackend.installed(NumpyBackend().compile).compile_known(module)
    if program.refusal is not None:
        raise program.refusal().at(calling_place())
    program.mode = MODES["per_call"]()  # caching by addresses does not pay for one op
    with _lock:
        if len(_programs) >= _REMEMBERED:
            _programs.clear()
        _programs[key] = program
    return program
