"""Lowers modules to segments of operators and steps of the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...dtypes import DType, bfloat16, bool_, float16, float32
from ...errors import InternalCompilerError
from ...ir.build import Builder
from ...ir.core import Block, Function, Module, Op, Value
from ...ir.primitive import Context, Effect, F, kernel_of
from ...ir.types import TensorType, TupleType
from ...ir.walk import Cloner, uses
from ...registration import Registrar
from ...runtime.commits import Commit, sees_state
from ...source import Loc
from .arrays import KNOWN
from .emit import Buffer, Call, Ref, Refused, contiguous_strides
from .recipes import Recipes
from .steps import Bind, Frame, Host, Key, Operand, Segment, SeqKey, Step, keys_of

#: Floats that operators may not take, or that rules of several steps would round at each step.
_NARROW = (float16, bfloat16)
#: The most ops that the host computes again to check indices.
_FEW = 16
#: Ops that this package lowers itself, by name: control flow, tuples, sequences.
CONTROL: dict[str, Callable[[Lowering, Op], None]] = {}
control = Registrar(CONTROL)


class Lowering:
    """The lowering of one module: the view of each value, and the steps so far.

    `host` compiles a module for the host; `fallback` lets it run the device's ops, too.  `lacks`: see `AscendBackend`.
    `arrays` has the buffers of the module's arrays that other lowerings of it know, and gets those of this one.
    """

    def __init__(
        self,
        module: Module,
        host: Callable[[Module], Any],
        fallback: bool,
        lacks: Callable[[str], str],
        arrays: dict[str, Buffer],
    ) -> None:
        self.module, self.host, self.fallback, self.lacks = module, host, fallback, lacks
        self.arrays, self._own = arrays, frozenset(module.constants)
        self.uses = {v: u for function in module for v, u in uses(function.body).items()}
        self.env: dict[Value, Operand] = {}
        self.steps: list[Any] = []
        self.calls: list[Call] = []
        self.constants: dict[Buffer, np.ndarray[Any, Any]] = {}
        #: names and the keys that they may be bound to; None: undefined, or an element of a sequence
        self.meanings: list[tuple[Key, Key | None]] = []
        #: sums over processes that have begun, by their number
        self.buckets: dict[int, Ref] = {}
        self._numbers: dict[Any, Buffer] = {}
        #: how each op is run, why others cannot be, and operators on the slow cores
        self.ways: dict[str, str] = {}
        self.missing: dict[str, tuple[str, Loc | None]] = {}
        self.slow: set[str] = set()

    # ------------------------------------------------------------------------------------------- places
    def shape(self, type: TensorType) -> tuple[int, ...]:
        sizes = [n for n in type.shape if isinstance(n, int)]
        if len(sizes) < len(type.shape):
            raise InternalCompilerError(f"the Ascend backend needs sizes that are known: {type}")
        return tuple(sizes)

    def room(self, type: TensorType, label: str | None = None) -> Ref:
        """A new place for a value."""
        shape = self.shape(type)
        buffer = Buffer(math.prod(shape) * type.dtype.itemsize, label or "")
        return Ref(buffer, type.dtype, shape, contiguous_strides(shape))

    def constant(self, number: Any, type: TensorType) -> Ref:
        """A splat: one element with strides of 0."""
        shape = self.shape(type)
        return Ref(self.number(number, type.dtype), type.dtype, shape, (0,) * len(shape), 0, number)

    def number(self, number: Any, dtype: DType) -> Buffer:
        """The buffer of a constant: of one element, or an array."""
        if isinstance(number, np.ndarray):
            buffer = Buffer(number.nbytes)
            self.constants[buffer] = number
            return buffer
        key = (repr(number), dtype)
        if key not in self._numbers:
            buffer = self._numbers[key] = Buffer(dtype.itemsize)
            self.constants[buffer] = np.array([number]).astype(dtype.numpy)
        return self._numbers[key]

    def array(self, name: str, type: TensorType, label: str | None) -> Ref:
        """An array that the module mentions."""
        ref = self.room(type, label)
        if name in self._own:  # the lowering may have added others, which are its own
            ref = replace(ref, buffer=self.arrays.setdefault(name, ref.buffer))
        self.constants[ref.buffer] = np.ascontiguousarray(self.module.constants[name]).reshape(ref.shape)
        return ref

    def ref(self, value: Value) -> Ref:
        found = self.env[value]
        if found is None:
            assert isinstance(value.type, TensorType)
            return self.constant(0, value.type)
        if not isinstance(found, Ref):
            raise InternalCompilerError(f"{value.type} is no tensor")
        return found

    def emitter(self, op: Op, outs: Sequence[Ref]) -> Recipes:
        attrs = dict(zip(op.defn.schema, op.attrs, strict=True))
        return Recipes(attrs, outs, self.calls, str(op.loc) if op.loc else "", self.slow, self.number)

    def whole(self, ref: Ref, loc: str = "") -> Ref:
        """The value as all of a buffer of its own."""
        if ref.whole and ref.buffer not in self.constants:
            return ref
        buffer = Buffer(ref.size * ref.dtype.itemsize, ref.buffer.label)
        made = Ref(buffer, ref.dtype, ref.shape, contiguous_strides(ref.shape))
        if not made.size:
            return self._empty(made)
        self.copy(made, ref, loc)
        return made

    def settled(self, operand: Operand, loc: str = "") -> Operand:
        """The operand with all tensors whole, so that it can be bound to other names."""
        if isinstance(operand, Ref):
            return self.whole(operand, loc)
        return tuple([self.settled(x, loc) for x in operand]) if isinstance(operand, tuple) else operand

    def fresh(self, type: Any, label: str | None = None) -> Operand:
        """Names for a value of a type, for `bind`."""
        if isinstance(type, TensorType):
            return self.room(type, label)
        return tuple([self.fresh(t, label) for t in type.elems]) if isinstance(type, TupleType) else SeqKey()

    # ------------------------------------------------------------------------------------------- steps
    def flush(self) -> None:
        """Ends the segment."""
        if self.calls:
            self.steps.append(Segment(self.calls))
            self.calls = []

    def step(self, step: Step) -> None:
        self.flush()
        self.steps.append(step)

    def nested(self, write: Callable[[], None]) -> list[Any]:
        """The steps that `write` makes, as a list of their own."""
        self.flush()
        outer, self.steps = self.steps, []
        try:
            write()
            self.flush()
            return self.steps
        finally:
            self.steps = outer

    def copy(self, to: Ref, source: Ref, loc: str) -> None:
        """Writes a value to a place."""
        Recipes({}, (), self.calls, loc, self.slow, self.number).copy(to, source)

    def bind(self, to: Sequence[Operand], source: Sequence[Operand]) -> None:
        """Binds the names `to` to what `source` is now."""
        pairs = [
            pair for a, b in zip(to, source, strict=True) for pair in zip(keys_of(a), self._keys(b, a), strict=True)
        ]
        pairs = [(a, b) for a, b in pairs if a is not b]
        self.meanings += pairs
        if not pairs:
            return

        def run(frame: Frame) -> None:
            found = [(a, frame.get(b)) for a, b in pairs]  # all before any is written: carries may be swapped
            for a, value in found:
                if value is not None:
                    frame[a] = value

        self.step(Bind(run, [b for _, b in pairs if b is not None], [a for a, _ in pairs]))

    def mark_optional(self) -> None:
        """Marks the buffers that may be undefined: names that may be bound to nothing, transitively."""
        found: set[Key | None] = {None}
        before = 0
        while len(found) != before:
            before = len(found)
            found.update(a for a, b in self.meanings if b in found)
        for key in found:
            if isinstance(key, Buffer):
                key.optional = True

    def _keys(self, source: Operand, to: Operand) -> list[Any]:
        return list(keys_of(source)) if source is not None else [None for _ in keys_of(to)]

    # ------------------------------------------------------------------------------------------- ops
    def function(self, function: Function, args: Sequence[Operand]) -> list[Operand]:
        """Lowers a function's body for these arguments; its results."""
        self.env.update(zip(function.args, args, strict=True))
        self.block(function.body)
        return [self.env[v] for v in function.outs]

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        defn = op.defn
        lower = CONTROL.get(defn.name)
        if lower is not None:
            lower(self, op)
            self.ways.setdefault(defn.name, "host control")
        elif (known := self._known(op)) is not None:
            self.env[op.results[0]] = known
            self.ways.setdefault(defn.name, "operators")
        elif defn.effect is Effect.IO or defn.name.startswith("random_"):  # draws are the same on all devices
            self.on_host(op, "")
        elif defn.aclnn is None and defn.decomposed is not None:
            self._decomposed(op)
        elif defn.aclnn is None:
            self.on_host(op, f"no operator computes {defn.name}")
        else:
            self._on_device(op)

    def _known(self, op: Op) -> Ref | None:
        """The result of an op on numbers that are known now, as those that sizes make are; the host computes it."""
        defn, types = op.defn, [r.type for r in op.results]
        if defn.effect is not Effect.PURE or (defn.numpy is None and defn.scalar is None) or not op.operands:
            return None
        if len(types) != 1 or not isinstance(types[0], TensorType) or types[0].shape:
            return None
        arrays = []
        for v in op.operands:
            x = self.env[v]
            if not isinstance(x, Ref) or x.ndim or x.number is None:
                return None
            arrays.append(np.asarray(x.number).astype(x.dtype.numpy))
        with np.errstate(all="ignore"):
            found = kernel_of(defn)(*arrays, **dict(zip(defn.schema, op.attrs, strict=True)))
        return self.constant(np.asarray(found, types[0].dtype.numpy).item(), types[0])

    def _on_device(self, op: Op) -> None:
        outs = [self.room(r.type, r.name) for r in op.results]  # type: ignore[arg-type]
        why = ""
        if any(x.size for x in outs):
            operands = [self.ref(v) for v in op.operands]
            why = self._emitted(op, operands, outs)
            if why and any(x.dtype in _NARROW for x in operands):
                why = self._emitted(op, operands, outs, wide=True) and why
        if why:
            self.on_host(op, why)
        else:
            self.ways.setdefault(op.defn.name, "operators")
            self.env.update({r: x if x.size else self.nothing(r) for r, x in zip(op.results, outs, strict=True)})

    def nothing(self, value: Value) -> Ref:
        """A value without elements, which no operator writes."""
        assert isinstance(value.type, TensorType)
        return self._empty(self.room(value.type, value.name))

    def _empty(self, ref: Ref) -> Ref:
        self.constants[ref.buffer] = np.empty(ref.shape, ref.dtype.numpy)
        return ref

    def _emitted(self, op: Op, operands: list[Ref], outs: list[Ref], wide: bool = False) -> str:
        """Emits the op's operators and fills in `outs`; or says why not.  `wide`: 16-bit floats as float32."""
        length, slow, rule = len(self.calls), set(self.slow), op.defn.aclnn
        c = self.emitter(op, outs)
        try:
            if wide:
                operands = [c.cast(x, float32) if x.dtype in _NARROW else x for x in operands]
                c.give(*[c.temp(x.shape, float32) if x.dtype in _NARROW else x for x in outs])
            if isinstance(rule, str):
                c.op(rule, *operands, *c.outs)
            else:
                assert rule is not None
                rule(c, *operands)
            outs[:] = [c.cast(made, x.dtype) for made, x in zip(c.outs, outs, strict=True)]
            for call in self.calls[length:]:
                if why := self.lacks(call.operator):
                    raise Refused(why)
            return ""
        except Refused as refused:
            del self.calls[length:]
            self.slow = slow
            return str(refused)

    def _decomposed(self, op: Op) -> None:
        """Lowers the op's decomposition, with 16-bit floats as float32, rounded once."""
        if not any(math.prod(self.shape(r.type)) for r in op.results):  # type: ignore[arg-type]
            self.env.update({r: self.nothing(r) for r in op.results})
            return
        body = Block([v.type for v in op.operands])
        builder = Builder(body, module=self.module, loc=op.loc)
        rule = op.defn.decomposed
        assert rule is not None
        with builder:
            xs = [F.cast(x, dtype=float32) if x.dtype in _NARROW else x for x in body.args]
            found = rule(Context(op.defn, op.attrs, (), ()), *xs)
            if found is None:
                self.on_host(op, f"{op.defn.name} of these sizes is not made up of operators")
                return
            found = found if isinstance(found, tuple) else (found,)
            dtypes = [r.type.dtype for r in op.results]  # type: ignore[attr-defined]
            builder.ret(*[x if x.dtype is d else F.cast(x, dtype=d) for x, d in zip(found, dtypes, strict=True)])
        self.env.update(zip(body.args, [self.env[v] for v in op.operands], strict=True))
        self.block(body)
        self.env.update(zip(op.results, [self.env[v] for v in body.outs], strict=True))
        self.ways.setdefault(op.defn.name, "other ops")

    def on_host(self, op: Op, why: str) -> None:
        """The op as a step of the host; noted as missing where the device should have run it."""
        name = op.defn.name
        if why and not self.fallback:
            self.missing.setdefault(name, (why, op.loc))
            why = f"refused: {why}"
        else:
            self.ways[name] = f"host kernel: {why}" if why else "host"
        before, leaves = self._from_arguments(op) if name == "check_index" else ([], [])
        operands = leaves if before else list(dict.fromkeys(op.operands))
        program = self.host(_alone(self.module, [*before, op], operands))
        results = [self.room(r.type, r.name) for r in op.results]  # type: ignore[arg-type]
        fn = self.module.callables.get(str(op.attr("fn")).removeprefix("@")) if name == "host_call" else None
        commit = isinstance(fn, Commit) and not fn.lasting
        places = [r.buffer for r in results]
        given = [self.env[v] for v in operands]
        self.step(
            Host(name + (f" ({why})" if why else ""), program, given, places, str(op.loc or ""), commit, sees_state(fn))
        )
        self.env.update(zip(op.results, results, strict=True))

    def _from_arguments(self, op: Op) -> tuple[list[Op], list[Value]]:
        """The few ops that compute an op's operands from integer arguments, and these arguments.

        The host often knows these (labels): then it computes the ops itself and need not wait for the device.
        """
        found: dict[Op, None] = {}
        leaves: dict[Value, None] = {}
        entry = set(self.module.entry.args)
        steps = iter(range(4 * _FEW))

        def followed(value: Value) -> bool:
            type, owner = value.type, value.owner
            if next(steps, None) is None:
                return False
            if not isinstance(type, TensorType) or not (type.dtype.is_int or type.dtype is bool_):
                return False
            if not isinstance(owner, Op):
                if value in entry and math.prod(self.shape(type)) * type.dtype.itemsize <= KNOWN:
                    leaves[value] = None
                return value in leaves
            if owner in found:
                return True
            pure = owner.defn.effect is Effect.PURE and not owner.blocks and owner.defn.name != "call"
            if not pure or not all(map(followed, owner.operands)):
                return False
            found[owner] = None
            return True

        known = all(map(followed, op.operands)) and leaves and len(found) <= _FEW
        return (list(found), list(leaves)) if known else ([], [])


def _alone(module: Module, ops: Sequence[Op], operands: Sequence[Value]) -> Module:
    """A module whose entry applies these ops to its arguments, and returns the results of the last one."""
    made, op = module.like({}), ops[-1]
    made.inputs = made.outputs = ()
    body = Block([v.type for v in operands], [v.name for v in operands])
    builder = Builder(body, module=made, loc=op.loc)
    with builder:
        cloner = Cloner(builder, dict(zip(operands, body.args, strict=True)))
        for one in ops:
            cloner.clone_op(one)
        builder.ret(*[cloner.mapping[r] for r in op.results])
    function = Function(op.defn.name, body)
    made.functions = {function.name: function}
    return made


# ------------------------------------------------------------------------------------------------ values
@control("const")
def _const(low: Lowering, op: Op) -> None:
    value, type = op.attr("value"), op.results[0].type
    assert isinstance(type, TensorType)
    if isinstance(value, str):
        low.env[op.results[0]] = low.array(value.removeprefix("@"), type, op.results[0].name)
    else:
        low.env[op.results[0]] = low.constant(value, type)


@control("size_value")
def _size_value(low: Lowering, op: Op) -> None:
    type = op.results[0].type
    assert isinstance(type, TensorType)
    low.env[op.results[0]] = low.constant(op.attr("size"), type)


@control("undef")
def _undef(low: Lowering, op: Op) -> None:
    low.env[op.results[0]] = None


@control("stop_gradient")
def _same(low: Lowering, op: Op) -> None:
    low.env[op.results[0]] = low.env[op.operands[0]]


@control("tuple_make")
def _tuple_make(low: Lowering, op: Op) -> None:
    low.env[op.results[0]] = tuple([low.env[v] for v in op.operands])


@control("tuple_get")
def _tuple_get(low: Lowering, op: Op) -> None:
    packed = low.env[op.operands[0]]
    low.env[op.results[0]] = None if packed is None else packed[op.attr("index")]  # type: ignore[index]


@control("call")
def _call(low: Lowering, op: Op) -> None:
    function = low.module.functions[op.attr("fn").removeprefix("@")]
    outs = low.function(function, [low.env[v] for v in op.operands])
    low.env.update(zip(op.results, outs, strict=True))
