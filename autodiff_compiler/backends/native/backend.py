"""The native backend: a module as one LLVM function, which Python calls like any other function."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import numpy as np

from ...ir.build import Builder
from ...ir.core import Block, Function, Module, Op, Value
from ...ir.primitive import F
from ...ir.types import TensorType
from ...ir.walk import ops_of
from ..base import Coverage, Executable, HostBackend, SilentExecutable
from ..target import Target
from . import (  # noqa: F401  (they enter how they lower ops)
    branches,
    effects,
    hosts,
    indexing,
    loops,
    positions,
    products,
    randoms,
    rearrangements,
    reductions,
    scans,
    scatters,
    sequence_ops,
    structural,
    windows,
)
from .blas import gemm
from .calls import without_calls
from .crossing import leave, with_sequences
from .decompositions import decomposed
from .engine import load
from .entry import entry_for
from .hosts import run_hosts
from .lanes import NotNativeError
from .lower import Lowering
from .machine import machine, why_not
from .sequences import descriptor_type
from .signature import Argument, Result, Signature
from .values import HOST, NATIVE, WALK

__all__ = ["NativeBackend", "NativeProgram"]

#: Programs that touch so many bytes run long enough to let other threads run meanwhile.
_LONG = 1 << 18
TARGET = Target("native", fusion="elementwise")


class NativeProgram(SilentExecutable):
    """A compiled module: `program(*arrays)` runs it and returns a tuple of ndarrays.

    `source` is its LLVM text, `run` the function of Python that enters it.  `overwrites`: the arguments, by position,
    that it writes the results over that are their next versions.
    """

    def __init__(self, low: Lowering, name: str) -> None:
        entry = low.module.entry
        arguments = tuple(_argument(x) for x in entry.args)
        results = tuple(
            Result(a.dtype, a.shape, low.overwritten.get(i)) for i, a in enumerate(map(_argument, low.outs))
        )
        python = bool(low.hosts) or low.polls
        touched = low.frame_bytes + sum(a.nbytes for a in (*arguments, *results))
        alone = not python and not low.overwritten  # others must not see a state that is half written
        signature = Signature(
            arguments,
            results,
            low.frame_bytes,
            stacks=low.stacks,
            calls_python=python,
            release_gil=alone and touched >= _LONG,
        )
        #: how its machine code is entered; None where Python stands in front of it
        self.signature: Signature | None = signature
        made = entry_for(signature, low.context)
        self.source = low.module_text([made.text], made.declares)
        self.filename = f"<native program {name}>"
        self.overwrites = tuple(sorted(low.overwritten.values()))
        self._loaded = load(self.source, context_size=len(low.context))
        host = run_hosts(low.hosts)
        others = {"host": id(host)} | {f"{x}gemm": gemm(x) or 0 for x in "sd" if f"{x}gemm" in low.context.names}
        constants = []
        for i, array in enumerate(low.constants):
            constants.append(np.ascontiguousarray(array))
            others[f"constant {i}"] = constants[-1].ctypes.data
        self._kept = (host, constants)
        kept = self._kept

        def slow(*arrays: Any) -> Any:
            """A call with unusual arrays: they are put into order, and the program called again."""
            assert kept
            if len(arrays) != len(arguments):
                raise TypeError(f"{name} takes {len(arguments)} arrays, not {len(arrays)}")
            return again[0](*[_ordered(x, a) for x, a in zip(arrays, arguments, strict=True)])

        self.run = made.bind(self._loaded, slow, name, others)
        again = [self.run]
        types = [x.type for x in entry.args], [x.type for x in entry.outs]
        if not all(isinstance(t, TensorType) for side in types for t in side):
            self.run, self.signature = with_sequences(self.run, *types), None

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self.run(*arrays)  # type: ignore[no-any-return]

    def address(self, name: str) -> int:
        """Where a function of it lies."""
        return self._loaded.address(name)

    def assembly(self) -> str:
        """The machine code as text."""
        return self._loaded.assembly()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the LLVM text to `path`."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)


def _argument(x: Value) -> Argument:
    type = descriptor_type(x.type)
    return Argument(type.dtype, type.shape)  # type: ignore[arg-type]


def _ordered(x: Any, argument: Argument) -> Any:
    """The array as the entry takes it: exact dtype, C order, bytes of its own if they cannot be shared."""
    array = np.asarray(x)
    if array.shape != argument.shape or array.dtype != argument.dtype.numpy:
        raise TypeError(f"expected {argument.dtype.short}{list(argument.shape)}, not {array.dtype}{list(array.shape)}")
    return np.array(array, argument.dtype.numpy, order="C", subok=False)


class NativeBackend:
    """Machine code for the whole module where there can be some, and `fallback` where not."""

    def __init__(self, fallback: HostBackend, target: Target = TARGET) -> None:
        self.fallback, self.target = fallback, target

    def compile(self, module: Module, *, in_place: Collection[str] = ()) -> Executable:
        """The module as a program."""
        try:
            return self.native(module, in_place=in_place)
        except NotNativeError:
            return self.fallback.compile(module, in_place=in_place)

    def native(self, module: Module, *, in_place: Collection[str] = ()) -> NativeProgram:
        """The module as machine code; NotNativeError says why there is none."""
        low = self._lowered(module, in_place)
        return NativeProgram(low, module.entry.name)

    def coverage(self, module: Module) -> Coverage:
        """Which ops have machine code, and which are run by Python inside the program."""
        try:
            low = self._lowered(module)
        except NotNativeError:
            return self.fallback.coverage(module)
        ways = dict(low.ways)
        for function in module:
            for op in ops_of(function.body):
                if op.defn.name not in ways:  # made up of others
                    parts = self._lowered(_alone(op)).ways.values()
                    ways[op.defn.name] = HOST if HOST in parts else WALK if WALK in parts else NATIVE
        named = {op.defn.name for function in module for op in ops_of(function.body)}
        return Coverage({name: ways[name] for name in sorted(named)}, {})

    def _lowered(self, module: Module, in_place: Collection[str] = ()) -> Lowering:
        """The module as LLVM functions; NotNativeError says why there are none."""
        why = reason(module)
        if why is not None:
            raise NotNativeError(why)
        low = Lowering(decomposed(without_calls(module)), machine())
        low.lower(_states(module, in_place), leave)
        return low


def _alone(op: Op) -> Module:
    """A module that does nothing but one op without blocks."""
    with Builder(Block([x.type for x in op.operands])) as builder:
        attributes = dict(zip(op.defn.schema, op.attrs, strict=True))
        found = [] if op.blocks else getattr(F, op.defn.name)(*builder.block.args, **attributes)
        builder.ret(*(found if isinstance(found, tuple | list) else (found,)))
    return Module({"alone": Function("alone", builder.block)}, builder.module.constants, {}, builder.module.callables)


def reason(module: Module) -> str | None:
    """Why a module cannot be machine code; None if it may be."""
    why = why_not()
    if why is not None:
        return why
    return None


def _states(module: Module, names: Collection[str]) -> dict[int, int]:
    """Results that are the next versions of such states, each with the argument that is its version now."""
    args = dict(zip(reversed(module.inputs), reversed(range(len(module.entry.args))), strict=False))
    outs = dict(zip(reversed(module.outputs), reversed(range(len(module.entry.outs))), strict=False))
    return {out: args[n] for n, out in outs.items() if n in args and n in names}
