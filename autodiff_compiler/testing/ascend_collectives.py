"""Self-test of the collectives between Ascend devices, in stages that all processes run together."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import ops
from ..backends.ascend.acl import acl
from ..backends.ascend.device import current
from ..backends.ascend.library import MissingSymbolError
from ..backends.ascend.rank_table import TABLE_VARIABLE
from ..backends.ascend.selftest import SelfTest, Stage, StageFailure
from ..backends.ascend.tables import functions
from ..collectives import group, init, local_ranks, transfer
from ..collectives.group import WORLD_NAMES
from ..config import context, set_context
from ..dtypes import bfloat16, bool_, float16, float32, int8, int32, int64, uint8
from ..ir.primitive import F
from ..primitives.collective import REDUCTIONS
from ..runtime.tensor import Tensor
from ..transforms.grad import grad
from ..transforms.jit import jit

__all__ = ["collectives_test"]

_WORLD = WORLD_NAMES[0]
_DTYPES = (float32, float16, bfloat16, int64, int32, int8, uint8, bool_)
#: Bytes of the reductions that are timed, and how many of them.
_SIZES, _TIMES = (4, 1 << 20, 1 << 24), 10
#: How long a failing process lets the others wait, in seconds, unless the environment says another time.
_PATIENCE = {"HCCL_EXEC_TIMEOUT": "120", "HCCL_CONNECT_TIMEOUT": "120"}
_TOLERANCE = 1e-3


def collectives_test(progress: Callable[[str], None] = lambda name: None) -> tuple[dict[str, Any], bool]:
    """Runs all stages, each process on the device with its number on its machine; the report, and whether all passed.

    Settings are afterwards what they were.
    """
    for name, seconds in _PATIENCE.items():
        os.environ.setdefault(name, seconds)
    before = {name: context.get(name) for name in ("device_target", "device_id", "ascend_fallback")}
    test = SelfTest(progress)
    try:
        test.run("functions of HCCL", (), _functions)
        test.run("processes", (), _processes)
        test.run("communicator", ("functions of HCCL", "processes"), _communicator)
        test.run("values", ("communicator",), _values)
        test.run("gradients", ("communicator",), _gradients)
        test.run("speed", ("communicator",), _speed)
    finally:
        set_context(**before)
    stages = [
        {"stage": s.name, "status": s.status, "seconds": s.seconds, "text": s.lines, **s.data} for s in test.stages
    ]
    return {"stages": stages}, test.passed


def _of() -> dict[str, Any]:
    return {"group": _WORLD, "size": group(_WORLD).size}


def _functions(stage: Stage) -> None:
    names = [name for name, function in functions().items() if function.library == "hccl"]
    lacking = []
    for name in names:
        try:
            acl.libraries.function(name)
        except MissingSymbolError as error:
            lacking.append(name)
            if len(lacking) == len(names):
                raise StageFailure(str(error)) from None
    stage.say(f"{len(names) - len(lacking)} of {len(names)} functions are there", functions_missing=lacking)
    if lacking:
        raise StageFailure("missing functions: " + ", ".join(lacking))


def _processes(stage: Stage) -> None:
    """Who is where; each begins with its device."""
    init()
    world = group(_WORLD)
    if world.size == 1:
        raise StageFailure("there is one process: start several, mpirun -n 2 python -m autodiff_compiler ...")
    number = local_ranks(world).index(world.rank)
    set_context(device_target="Ascend", device_id=number)
    place = f"{platform.node()}, device {number}".encode()[:120].ljust(120)
    places = transfer.all_gather(np.frombuffer(place, np.uint8)[None], world)
    listed = [row.tobytes().decode("utf-8", "replace").strip() for row in places]
    stage.say(f"process {world.rank} of {world.size}", rank=world.rank, size=world.size, places=listed)
    stage.lines += [f"  {rank}: {text}" for rank, text in enumerate(listed)]


def _communicator(stage: Stage) -> None:
    began = time.perf_counter()
    found = F.all_reduce(Tensor(np.ones(3, np.float32)), op="sum", **_of()).tolist()
    seconds = time.perf_counter() - began
    way = f"the table {os.environ[TABLE_VARIABLE]}" if os.environ.get(TABLE_VARIABLE) else "root info"
    stage.say(f"begun by {way}, with the first collective, in {seconds:.2f} s", begun=seconds, way=way)
    if found != [group(_WORLD).size] * 3:
        raise StageFailure(f"ones of all processes added up to {found}")


def _collectives() -> dict[str, Callable[[Any], Any]]:
    """Collectives of a tensor of as many rows as there are processes."""
    of = _of()
    last = of["size"] - 1
    made: dict[str, Callable[[Any], Any]] = {
        f"all_reduce {op}": partial(F.all_reduce, op=op, **of) for op in REDUCTIONS
    }
    return made | {
        "all_gather": lambda x: F.all_gather(x, axis=-1, **of),
        "reduce_scatter": lambda x: F.reduce_scatter(x, axis=-2, **of),
        "all_to_all": lambda x: F.all_to_all(x, axis=-2, **of),
        "broadcast": lambda x: F.broadcast_from(x, root=last, **of),
        "reduce": lambda x: F.reduce_to(x, root=last, **of),
        "gather": lambda x: F.gather_to(x, axis=-3, root=last, **of),
        "scatter": lambda x: F.scatter_from(x, axis=-2, root=last, **of),
        "to the next process": _to_the_next,
    }


def _to_the_next(x: Any) -> Any:
    world = group(_WORLD)
    neighbors = {"to": ((world.rank + 1) % world.size,), "sources": ((world.rank - 1) % world.size,)}
    return F.exchange(x, **neighbors, dtype=x.dtype, ranks=(x.ndim,), sizes=x.shape, **_of())[0]


def _on_host(run: Callable[[], Any]) -> np.ndarray[Any, Any]:
    """What the host's collectives give, over MPI."""
    number = context.get("device_id")
    set_context(device_target="CPU")
    try:
        found: np.ndarray[Any, Any] = run().asnumpy()
        return found
    finally:
        set_context(device_target="Ascend", device_id=number)


def _values(stage: Stage) -> None:
    """Every collective at every dtype: small integers, which all dtypes add and multiply exactly."""
    world, wrong, count = group(_WORLD), [], 0
    for dtype in _DTYPES:
        x = np.random.default_rng(world.rank).integers(0, 2, (world.size, 1000)).astype(dtype.numpy)
        for name, run in _collectives().items():
            found = run(Tensor(x)).asnumpy()
            expected = _on_host(partial(run, Tensor(x)))
            count += 1
            if found.dtype != expected.dtype or not np.array_equal(found, expected):
                wrong.append(f"{name} of {dtype.name}: {int((found != expected).sum())} of {found.size} elements")
    stage.say(f"{count - len(wrong)} of {count} right", wrong=wrong)
    if wrong:
        raise StageFailure("wrong: " + "; ".join(wrong))


def _gradients(stage: Stage) -> None:
    """Of compiled programs, as the host has them."""
    world = group(_WORLD)
    x = np.random.default_rng(world.rank).uniform(0.5, 1.5, (world.size, 100)).astype(np.float32)

    def loss(x: Any, run: Callable[[Any], Any]) -> Any:
        y = run(x * x)
        return ops.sum(y * y * (1.0 + world.rank))

    for name, run in _collectives().items():
        derivative = jit(grad(partial(loss, run=run)))
        found = derivative(Tensor(x)).asnumpy()
        expected = _on_host(partial(derivative, Tensor(x)))
        error = float(np.abs(found - expected).max() / max(1.0, float(np.abs(expected).max())))
        stage.say(f"{name}: error {error:.1e}", **{name: error})
        if not error <= _TOLERANCE:
            raise StageFailure("that is too much")


def _speed(stage: Stage) -> None:
    here, of = current(), _of()
    for nbytes in _SIZES:
        x = Tensor(np.ones(nbytes // 4, np.float32))
        F.all_reduce(x, op="max", **of).asnumpy()
        here.synchronize()
        began = time.perf_counter()
        for _ in range(_TIMES):
            x = F.all_reduce(x, op="max", **of)
        here.synchronize()
        seconds = (time.perf_counter() - began) / _TIMES
        said = f"all_reduce of {nbytes:,} bytes: {seconds * 1e6:,.0f} us, {nbytes / seconds / 1e9:.2f} GB/s"
        stage.say(said, **{str(nbytes): seconds})
