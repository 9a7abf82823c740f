"""The NumPy backend: modules to Python source over NumPy, run or saved."""

from __future__ import annotations

import ast
import contextlib
import itertools
import linecache
import os
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ... import escape
from ...blas import products
from ...errors import InternalCompilerError
from ...ir.core import Function, Module, Op, Value
from ...ir.sizes import symbols_of, usual
from ...ir.types import TensorType
from ...ir.undefined import undefined_values
from ...ir.walk import ops_of, reachable
from ...whole_files import write_with_arrays
from ..base import Coverage, Storage, Work
from ..op_by_op import peak, pieces_of
from ..stacks import Stacks
from ..timed import Times
from . import calls, loops  # noqa: F401  (they enter how they lower ops)
from .instrumentation import Timer
from .lower import LOWERINGS, UNDEF, Lowering, Stretched
from .module_code import ModuleCode
from .nest import nest_small
from .plan import plan_buffers
from .printer import Namer, module_text
from .program import Step, nodes_of
from .scratch import BLOCKS, give_back, leased, place_buffers
from .syntax import (
    Var,
    assign,
    call,
    load,
    none,
    size_definitions,
    size_of,
    size_variable,
    store,
    subscript,
    tuple_expr,
)

#: Arrays of fewer bytes are not worth a plan.
_REUSE_BYTES = 4096
_numbers = itertools.count()
#: Files of collected programs.  The collector may run while `linecache.cache` is iterated, so their entries are
#: removed when the next program enters.
_gone: list[str] = []


class NumpyProgram:
    """A compiled module: `program(*arrays)` runs it and returns a tuple of ndarrays.

    `source` is its text, `filename` the name under which tracebacks and debuggers know it, `run` the entry function
    itself.  `overwrites`: the positions of the arguments (states) that the program updates in place.  `times`: those
    of its spans, if it was compiled with `timed`.
    """

    def __init__(
        self,
        source: str,
        entry: str,
        arrays: dict[str, Any],
        callables: dict[str, Any],
        overwrites: Sequence[int] = (),
        *,
        timer: Timer | None = None,
        times: Times | None = None,
    ) -> None:
        self.times = times
        self.source, self.arrays, self.overwrites = source, arrays, tuple(overwrites)
        self._entry, self._callables = entry, callables
        self.filename = f"<numpy program {escape.line(entry)} #{next(_numbers)}>"
        with contextlib.suppress(IndexError):  # until it is empty; other threads may do the same
            while True:
                linecache.cache.pop(_gone.pop(), None)
        # No modification time: `linecache.checkcache` leaves such entries alone.
        linecache.cache[self.filename] = (len(source), None, source.splitlines(keepends=True), self.filename)
        weakref.finalize(self, _gone.append, self.filename)
        self.namespace: dict[str, Any] = {"__name__": entry, "__file__": self.filename}
        self.namespace |= {"CONSTANTS": arrays, "CALLABLES": callables, "BLOCKS": BLOCKS, "PRODUCTS": products}
        if timer is not None:
            self.namespace |= {"CLOCK": timer.began, "LAP": timer.lap, "RUNS": timer.counts}
        exec(compile(source, self.filename, "exec", dont_inherit=True), self.namespace)
        self.run = self.namespace[entry]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self.run(*arrays)  # type: ignore[no-any-return]

    def again(self, source: str) -> NumpyProgram:
        """The program of another text, with the same large constants and host functions."""
        return NumpyProgram(source, self._entry, self.arrays, self._callables, self.overwrites)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the source to `path` (a .py file) and large constants beside it, as .py.npz."""
        bits = {k: a.view(np.uint16) if a.dtype.name == "bfloat16" else a for k, a in self.arrays.items()}
        write_with_arrays(path, self.source, bits)


class NumpyBackend:
    """Readable Python over NumPy kernels; it runs everywhere and computes what eager mode computes, bit for bit.

    >>> from autodiff_compiler.dtypes import float32
    >>> from autodiff_compiler.ir.build import Builder
    >>> from autodiff_compiler.ir.core import Block, Function, Module
    >>> from autodiff_compiler.ir.types import tensor
    >>> from autodiff_compiler.primitives import F
    >>> with Builder(Block([tensor(float32, (2,))], ["x"])) as b:
    ...     _ = b.ret(F.tanh(b.block.args[0]))
    >>> program = NumpyBackend().compile(Module({"f": Function("f", b.block)}))
    >>> program(np.zeros(2, np.float32))
    (array([0., 0.], dtype=float32),)
    """

    def __init__(self, reuse_bytes: int = _REUSE_BYTES) -> None:
        self._reuse_bytes = reuse_bytes

    def compile(self, module: Module, *, in_place: Collection[str] = (), timed: bool = False) -> NumpyProgram:
        """The module as a program; InternalCompilerError where an op is left that a pass should have removed.

        The next versions of the states `in_place` may be written over the arguments: see `NumpyProgram.overwrites`.
        `timed`: it measures what its statements take.
        """
        namer = Namer()
        names = {function.name: namer.name(function.name) for function in module}
        code = ModuleCode(module, undefined_values(module), names, self._reuse_bytes)
        functions = [module.functions[name] for name in reachable(module)]
        kept = _states(module, in_place, self._reuse_bytes)
        lowered = [_lowered(code, function, kept) for function in reversed(functions)]
        for low in reversed(lowered):
            low.link()
            variables = [_variable(low, v) for v in low.function.outs]
            nest_small(low.out, variables, self._reuse_bytes)
            states = _next_versions(low, variables, kept) if low.out.is_entry else {}
            buffers = plan_buffers(low.out, variables, self._reuse_bytes, states)
            if buffers:
                code.uses_scratch = True
                place_buffers(low.out, buffers, code.support.include(leased), code.support.include(give_back))
            self._returns(low, low.function.outs, states)
            code.results[low.function.name] = [None if v is None or v.foreign else id(v.root()) for v in variables]
        done = {low.function.name: low.out for low in lowered}
        code.functions = [done[function.name] for function in module if function.name in done]
        written = done[module.entry.name]
        overwritten = {node.donor for node in nodes_of(written.body) if isinstance(node, Step)}
        arguments = [i for i, var in enumerate(written.args) if var in overwritten]
        code.overwritten = [written.args[i] for i in arguments]
        times = None
        if timed:
            code.timer = Timer(module)
            code.timer.write(written)
            times = code.timer.times(usual(peak(module.entry.body)))
        source = module_text(code, module)
        name = names[module.entry.name]
        return NumpyProgram(source, name, code.arrays, module.callables, arguments, timer=code.timer, times=times)

    def _returns(self, low: Lowering, outs: list[Value], states: Mapping[Var, Var]) -> None:
        """The results; those of the entry are arrays that belong to the caller alone, or states written in place."""
        given: set[Var] = set()
        for value in outs:
            tree, var = low.tree(value), _variable(low, value)
            if low.out.is_entry and isinstance(value.type, TensorType) and low.env[value] is not UNDEF:
                plain = tree
                shown = var is not None and (var.foreign or var.root() in given or var.states - {states.get(var)})
                if shown or isinstance(low.env[value], Stretched):  # others see the same bytes
                    tree = call("np.array", tree)
                elif value.type.shape == ():
                    tree = call("np.asarray", tree)
                if tree is not plain and value in low.code.undefined:
                    exists = ast.Compare(left=plain, ops=[ast.IsNot()], comparators=[none()])
                    tree = ast.IfExp(test=exists, body=tree, orelse=none())
            if var is not None:
                given.add(var.root())
            low.out.returns.append((tree, var))

    def coverage(self, module: Module) -> Coverage:
        """Which ops of the module the backend runs, and how."""
        ways: dict[str, str] = {}
        missing: dict[str, str] = {}
        for function in module:
            for op in ops_of(function.body):
                way = _lowering_kind(op)
                if way is None:
                    missing[op.defn.name] = "it has no kernel: a pass must remove it before"
                else:
                    ways[op.defn.name] = way
        return Coverage(dict(sorted(ways.items())), dict(sorted(missing.items())))

    def work(self, module: Module, *, in_place: Collection[str] = ()) -> Work:
        """The work of a call: functions of NumPy one after the other, and Python around them."""
        constants = sum(np.asarray(x).nbytes for x in module.constants.values())
        return Work("numpy", pieces_of(module), Storage(constants, peak(module.entry.body), Stacks(module).whole()))


def _states(module: Module, names: Collection[str], reuse_bytes: int) -> dict[Value, Value]:
    """The states that are worth updating in place, each with its next version."""
    args = dict(zip(reversed(module.inputs), reversed(module.entry.args), strict=False))
    outs = dict(zip(reversed(module.outputs), reversed(module.entry.outs), strict=False))
    return {
        args[n]: out for n, out in outs.items() if n in args and n in names and size_of(args[n].type) >= reuse_bytes
    }


def _next_versions(low: Lowering, variables: list[Var | None], kept: Mapping[Value, Value]) -> dict[Var, Var]:
    """The argument (a state) that each next version may overwrite, where it is no other result as well."""
    made = {_variable(low, out): arg for arg, out in kept.items()}
    found = {var: _variable(low, arg) for var, arg in made.items() if var is not None and variables.count(var) == 1}
    return {var: arg for var, arg in found.items() if arg is not None and arg is not var}


def _lowered(code: ModuleCode, function: Function, states: Mapping[Value, Value]) -> Lowering:
    """A function as statements; its callers were lowered before."""
    is_entry = function is code.module.entry
    low = Lowering(code, function, is_entry=is_entry)
    for i, arg in enumerate(function.args):
        var = Var(arg.type, arg.name, foreign=arg not in states, joined=True)
        if arg in states:
            var.become_state()
        low.out.args.append(var)
        low.env[arg] = var
        for operands in code.sites.get(function.name, ()):
            low.order(var, [operands[i]], view=True)
        if is_entry and isinstance(arg.type, TensorType) and arg.type.shape == () and low.uses.get(arg):
            # Arithmetic on NumPy scalars is ten times as fast as on 0-d arrays.
            low.run(assign(store(var), subscript(load(var), tuple_expr([]))))
    for name, tree in _sizes(low.out.args):
        low.run(assign(store(name), tree))
    low.lower_block(function.body)
    return low


def _sizes(args: Sequence[Var]) -> Iterator[tuple[str, ast.expr]]:
    """What the variable of each symbol in the types of a function's arguments is."""
    types = [var.type for var in args if isinstance(var.type, TensorType)]
    needed = dict.fromkeys(symbol for t in types for d in t.shape for symbol in symbols_of(d))
    found = size_definitions([(var.type, load(var)) for var in args if var.type is not None])
    missing = [symbol.name for symbol in needed if symbol not in found]
    if missing:
        raise InternalCompilerError(
            f"no argument has a dimension that tells the size {', '.join(missing)}, which the types of others need"
        )
    yield from ((size_variable(symbol), found[symbol]) for symbol in needed)


def _lowering_kind(op: Op) -> str | None:
    defn = op.defn
    if defn.name in LOWERINGS:
        return "Python"
    if defn.numpy is not None:
        return "NumPy kernel"
    return "NumPy formula" if defn.scalar is not None else None


def _variable(low: Lowering, value: Value) -> Var | None:
    operand = low.env[value]
    return operand if isinstance(operand, Var) else None
