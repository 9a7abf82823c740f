"""The native backend: compiles a module to one LLVM function, which Python calls like any other function."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ... import escape, logs
from ...ir.build import Builder
from ...ir.core import Block, Function, Module, Op
from ...ir.known_sizes import mentioned_symbols, symbols_in
from ...ir.open_shapes import definitions
from ...ir.primitive import F
from ...ir.sizes import OpenSizeError, answering, usual
from ...ir.types import MOST_BYTES, TensorType
from ...ir.verify import uncountable
from ...ir.walk import ops_of
from ...whole_files import write_text
from ..base import Coverage, Executable, HostBackend, SilentExecutable, Storage, Work
from ..timed import Times
from .callpath.choose import call_path
from .callpath.protocol import Entry
from .callpath.signature import Argument, Signature
from .codegen.lanes import NotNativeError
from .codegen.values import FUSED, HOST, NATIVE
from .control import branches, effects, loops, sequence_ops  # noqa: F401  (they enter how they lower ops)
from .control.sequence_arguments import leave, with_sequences
from .jit import shared
from .jit.engine import Loaded, assembly, load
from .jit.machine import machine, why_not
from .kernels import (  # noqa: F401  (they enter how they lower ops)
    any_product,
    collectives,
    convolutions,
    extremes,
    host_calls,
    indexing,
    positions,
    products,
    randoms,
    rearrangements,
    scans,
    scatters,
    structural,
    windows,
)
from .kernels.blas import gemm
from .kernels.host_calls import run_hosts
from .liveness import most_alive
from .lower import Lowering
from .memory.wishes import Keeping
from .prepare.decompositions import decomposed, without_calls
from .recipe import Recipe

#: Of what is alive the arena may take so many times before it is planned again, with one buffer for each carry.
_NEAR = 1.05
#: An arena of so many bytes fits the cache: to plan it again would take more compile time than it is worth.
SMALL = 1 << 16


class NativeProgram(SilentExecutable):
    """A compiled module: `program(*arrays)` runs it and returns a tuple of ndarrays.

    `run` is the Python function that enters it.  `overwrites`: the positions of arguments that their next versions are
    written over.
    """

    def __init__(
        self,
        recipe: Recipe,
        made: Entry,
        loaded: Loaded,
        source: Callable[[], str],
        name: str,
        times: Times | None = None,
    ) -> None:
        arguments, context = recipe.signature.arguments, recipe.context
        #: the times of its parts, if it has timers
        self.times = times
        self._recipe, self._loaded, self._source = recipe, loaded, source
        #: the signature of its machine code; None where Python packs and unpacks sequences around it
        self.signature: Signature | None = recipe.signature
        self.filename = f"<native program {escape.line(name)}>"
        self.overwrites = tuple(sorted(recipe.signature.overwritten))
        host = run_hosts(recipe.hosts)
        others = {"host": id(host)} | {f"{x}gemm": gemm(x) or 0 for x in "sd" if f"{x}gemm" in context.names}
        others |= {name: shared.address(name) for name in context.names if shared.is_shared(name)}
        others |= {f"constant {i}": array.ctypes.data for i, array in enumerate(recipe.constants)}
        kept = (host, recipe.constants, times)
        if times is not None:
            others["times"] = times.address

        def slow(*arrays: Any) -> Any:
            """The slow path: arrays of another layout are copied, and the program is called again."""
            assert kept
            if len(arrays) != len(arguments):
                raise TypeError(f"{name} takes {len(arguments)} arrays, not {len(arrays)}")
            made = [_ordered(x, a) for x, a in zip(arrays, arguments, strict=True)]
            if recipe.signature.shapes.values([x.shape for x in made]) is None:
                raise TypeError(f"{name} is not for arrays of the shapes {', '.join(str(x.shape) for x in made)}")
            return again[0](*made)

        self.run = made.bind(loaded, slow, name, others)
        again = [self.run]
        if recipe.sequences is not None:
            self.run, self.signature = with_sequences(self.run, *recipe.sequences), None

    @classmethod
    def of(cls, low: Lowering, name: str) -> NativeProgram:
        """The program of a lowered module."""
        text, recipe, made = written(low)
        times = None if low.timers is None else low.timers.times(usual(low.frame_bytes))
        return cls(recipe, made, load(text, context_size=len(low.context)), lambda: text, name, times)

    @classmethod
    def restored(cls, data: dict[str, Any], source: Callable[[], str], name: str) -> NativeProgram | None:
        """The program of a recipe's `data`, if its object code is still in the cache; `source` makes its LLVM text."""
        found = Recipe.restored(data)
        if found is None:
            return None
        recipe, loaded = found
        return cls(recipe, call_path().entry(recipe.signature, recipe.context), loaded, source, name)

    @property
    def data(self) -> dict[str, Any] | None:
        """The recipe as JSON, for `restored`; None where that is not all that it needs."""
        return None if self.times is not None else self._recipe.data(self._loaded)

    @property
    def calls_python(self) -> bool:
        """Whether Python runs some of its ops."""
        return bool(self._recipe.hosts)

    @property
    def source(self) -> str:
        """Its LLVM text."""
        return self._source()

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self.run(*arrays)  # type: ignore[no-any-return]

    @property
    def code_bytes(self) -> int:
        """The size of its object file."""
        return self._loaded.size

    def address(self, name: str) -> int:
        """The address of one of its functions."""
        return self._loaded.address(name)

    def assembly(self) -> str:
        """The machine code as text."""
        return assembly(self.source, context_size=len(self._recipe.context))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the LLVM text to `path`."""
        write_text(path, self.source)


def written(low: Lowering) -> tuple[str, Recipe, Entry]:
    """The LLVM text of a lowered module, its recipe and its entry."""
    recipe = Recipe.of(low)
    made = call_path().entry(recipe.signature, recipe.context)
    return low.module_text([made.text, recipe.text], made.declares), recipe, made


def _ordered(x: Any, argument: Argument) -> Any:
    """A copy of the array as the entry takes it: exact dtype, C order; TypeError for another shape or dtype."""
    array = np.asarray(x)
    known = [d if isinstance(d, int) else n for d, n in zip(argument.shape, array.shape, strict=False)]
    if array.ndim != len(argument.shape) or array.shape != tuple(known) or array.dtype != argument.dtype.numpy:
        raise TypeError(f"expected {argument.dtype.short}{list(argument.shape)}, not {array.dtype}{list(array.shape)}")
    return np.array(array, argument.dtype.numpy, order="C", subok=False)


class NativeBackend:
    """Compiles a whole module to machine code, or gives it to the backend that `fallback` makes."""

    def __init__(self, fallback: Callable[[], HostBackend]) -> None:
        self._fallback = fallback

    def compile(self, module: Module, *, in_place: Collection[str] = (), timed: bool = False) -> Executable:
        """The module as a program."""
        try:
            return self.native(module, in_place=in_place, timed=timed)
        except NotNativeError:
            return self._fallback().compile(module, in_place=in_place, timed=timed)

    def native(self, module: Module, *, in_place: Collection[str] = (), timed: bool = False) -> NativeProgram:
        """The module as machine code; NotNativeError says why there is none."""
        low = self._lowered(module, in_place, timed=timed)
        return NativeProgram.of(low, module.entry.name)

    def text(self, module: Module, *, in_place: Collection[str] = ()) -> str:
        """The LLVM text of a module; NotNativeError says why there is none."""
        return written(self._lowered(module, in_place))[0]

    def refusal(self, module: Module) -> str:
        """Why there is no machine code for a module; empty if there is."""
        try:
            self._lowered(module)
        except NotNativeError as error:
            return str(error)
        return ""

    def coverage(self, module: Module) -> Coverage:
        """Which ops have machine code, and which are run by Python inside the program."""
        try:
            low = self._lowered(module)
        except NotNativeError:
            return self._fallback().coverage(module)
        ways = dict(low.ways)
        for function in module:
            for op in ops_of(function.body):
                if op.defn.name not in ways:  # it was decomposed
                    parts = self._lowered(_alone(op)).ways.values()
                    ways[op.defn.name] = HOST if HOST in parts else FUSED if FUSED in parts else NATIVE
        named = {op.defn.name for function in module for op in ops_of(function.body)}
        return Coverage({name: ways[name] for name in sorted(named)}, {})

    def work(self, module: Module, *, in_place: Collection[str] = ()) -> Work:
        """The work of one call: its fused loops, products, loops and calls of Python."""
        try:
            low = self._lowered(module, in_place, records=True)
        except NotNativeError:
            return self._fallback().work(module, in_place=in_place)
        constants = sum(np.asarray(x).nbytes for x in low.constants)
        alive = most_alive(low) if isinstance(low.frame_bytes, int) else low.frame_bytes
        storage = Storage(constants, low.frame_bytes, low.trace.stacks(), alive)
        return Work("native", low.trace.end(), storage, len(low.kernels), low.trace.called)

    def _lowered(
        self, module: Module, in_place: Collection[str] = (), *, records: bool = False, timed: bool = False
    ) -> Lowering:
        """The module as LLVM functions; NotNativeError says why there are none."""
        why = reason(module)
        if why is not None:
            raise NotNativeError(why)
        try:
            with answering(None):
                parts = decomposed(without_calls(module))
                if any(uncountable(parts)):  # the fallback says what there is no memory for
                    raise NotNativeError("it has arrays of more bytes than there are addresses")
                low = _written(parts, _states(module, in_place), records=records, timed=timed)
        except OpenSizeError as error:
            raise NotNativeError(f"one of its kernels is for known sizes only: {error}") from None
        if (listener := logs.listener("fusion")) is not None:
            for line in low.told:
                listener.info("%s", line)
        if isinstance(low.frame_bytes, int) and low.frame_bytes >= MOST_BYTES:
            raise NotNativeError("it needs more bytes on the way than there are addresses")
        return low


def _written(module: Module, in_place: dict[int, int], **asked: bool) -> Lowering:
    """The program in the first way that takes little or about what is alive, or in the one that takes least."""
    best = Lowering(module, machine(), **asked)
    best.lower(in_place, leave)
    if usual(best.planned) <= SMALL:
        return best
    ways = [Keeping(one=True)] if best.keeping.turns else []
    if any(op.blocks for op in ops_of(module.entry.body)):
        ways.append(Keeping(one=True, moves=True))
    for way in ways:
        if usual(best.planned) <= _NEAR * most_alive(best):
            break
        low = _kept(module, in_place, way, int(usual(best.planned) / _NEAR), **asked)
        best = best if low is None else low
    return best


def _kept(module: Module, in_place: dict[int, int], way: Keeping, most: int, **asked: bool) -> Lowering | None:
    """The program in a way that plans at most so many bytes.

    It is lowered once more without the carries that turned out to be copied for too long, which takes no less.
    """
    while True:
        dear = set(way.dear)
        low = Lowering(module, machine(), **asked)
        low.lower(in_place, leave, way)
        if usual(low.planned) > most:
            return None
        if way.dear == dear:
            return low


def _alone(op: Op) -> Module:
    """A module of one op; of an op with blocks, an empty one."""
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
    if module.has_open_sizes and (missing := _undefined(module)):
        return f"no argument tells the size {', '.join(missing)}"
    values = (*module.entry.args, *module.entry.outs)
    if any(any(symbols_in(x.type)) for x in values if not isinstance(x.type, TensorType)):
        return "sequences of rows of symbolic sizes enter or leave it"
    return None


def _undefined(module: Module) -> list[str]:
    """The symbols of sizes that no argument has."""
    given = definitions([x.type.shape for x in module.entry.args if isinstance(x.type, TensorType)])
    mentioned = (symbol for function in module for symbol in mentioned_symbols(function.body))
    return list(dict.fromkeys(symbol.name for symbol in mentioned if symbol not in given))


def _states(module: Module, names: Collection[str]) -> dict[int, int]:
    """Results that are next versions of the named states, each with the argument that is its version now.

    Empty if Python writes another state: a signal between the two would show only some of the next versions.
    """
    args = dict(zip(reversed(module.inputs), reversed(range(len(module.entry.args))), strict=False))
    outs = dict(zip(reversed(module.outputs), reversed(range(len(module.entry.outs))), strict=False))
    if not all(n in args and n in names for n in outs):
        return {}
    return {out: args[n] for n, out in outs.items()}
