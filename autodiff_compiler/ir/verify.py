"""The verifier: whether a function or module is well formed, and which ops may still exist after a stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..dtypes import DType
from ..errors import InternalCompilerError
from .build import canonical_number, scalar_key
from .core import Block, Function, Module, Op, Value
from .definition import WHOLE, Definition
from .printer import FunctionPrinter, Unbound, literal_text
from .sizes import ERASED_SYMBOL, Symbol, symbol_of
from .types import Dim, Link, TensorType, Type
from .undefined import misread
from .walk import ops_of, symbols_in, symbols_of_type

_CONTEXT = 10


@dataclass(frozen=True)
class Spec:
    """What a stage rules out: ops that exist nowhere, and ops that exist only in blocks that run backward (`bwd`)."""

    nowhere: frozenset[str] = frozenset()
    not_forward: frozenset[str] = frozenset()


_STATE_OPS = frozenset({"state_read", "state_write"})
_DERIVATIVES = frozenset({"again", "grad", "linearize", "pull", "vmap", "custom_vjp", "grad_map"})

#: What holds after a stage; each one keeps what the stages before it reached.
STAGES: dict[str, Spec] = {
    "LOWERED": Spec(),
    "PURE": Spec(not_forward=_STATE_OPS),
    "FIRST_ORDER": Spec(nowhere=_STATE_OPS | _DERIVATIVES),
    "FUSED": Spec(nowhere=_STATE_OPS | _DERIVATIVES),
}


class VerifyError(InternalCompilerError):
    """The IR breaks one of its rules: `op` is where (None: the function itself), the notes show the text around it."""

    def __init__(self, problem: str, function: Function, op: Op | None = None, where: Op | Block | None = None) -> None:
        self.problem, self.function, self.op = problem, function, op
        name = f"@{function.name}" if op is None else f"{op.defn.name} in @{function.name}"
        notes = [f"the IR there:\n{_context(function, op if where is None else where)}"]
        super().__init__(f"{name}: {problem}", loc=function.loc if op is None else op.loc, notes=notes)


class _Anything(FunctionPrinter):
    @staticmethod
    def literal(value: Any) -> str:
        try:
            return literal_text(value)
        except ValueError:
            return f"<{value!r}>"


def _context(function: Function, where: Op | Block | None) -> str:
    """The lines of the text around a place, marked with `>`."""
    printer = _Anything()
    try:
        lines = printer.function(function)
    except Exception as error:  # the report must not be lost because the IR is too broken to print
        return f"  (it cannot be printed: {error!r})"
    at = printer.line_of.get(where, 0) if where is not None else 0
    first = max(0, at - _CONTEXT // 2)
    shown = enumerate(lines[first : at + _CONTEXT // 2 + 1], first)
    return "\n".join(f"{'>' if i == at else ' '} {line}" for i, line in shown)


def verify(target: Module | Function, stage: str | None = None) -> None:
    """Raises VerifyError unless the IR is well formed and, with `stage`, holds what `STAGES[stage]` asks.

    A function alone is verified without what only its module knows: callees, states, constants, callables.
    """
    spec = STAGES["LOWERED" if stage is None else stage]
    if isinstance(target, Function):
        _Verifier(target, None, spec, set()).run()
        return
    seen: set[Block] = set()
    for name, function in target.functions.items():
        if name != function.name:
            raise VerifyError(f"the module calls it @{name}", function)
        _Verifier(function, target, spec, seen).run()


def verify_sizes(module: Module) -> None:
    """Raises VerifyError for tensors of which no machine can count the bytes, in IR that comes from outside.

    In IR of ours there may be some: of the user's program says the call, with the line, that there is no memory for it.
    """
    for function, x, op in uncountable(module):
        raise VerifyError(f"{x} is {x.type!r}: more bytes than there are addresses", function, op)


def uncountable(module: Module) -> Iterator[tuple[Function, Value, Op | None]]:
    """The tensors of which no machine can count the bytes, each with the op that makes it or whose block it begins."""
    for function in module:
        found: list[tuple[Value, Op | None]] = [(x, None) for x in function.body.args]
        for op in ops_of(function.body):
            found += [(x, op) for x in (*op.results, *(x for block in op.blocks for x in block.args))]
        yield from ((function, x, op) for x, op in found if not _is_countable(x.type))


class _Verifier:
    def __init__(self, function: Function, module: Module | None, spec: Spec, seen: set[Block]) -> None:
        self.function, self.module, self.spec, self.seen = function, module, spec, seen
        self.visible: set[Value] = set()
        #: the symbols of data that are bound here, or told by an argument of the function
        self.sizes: set[Symbol] = {s for x in function.body.args for s in symbols_of_type(x.type)}
        self.numbers: set[Any] = set()  # the constants found canonical

    def run(self) -> None:
        if self.function.body.parent is not None:
            raise VerifyError("its body belongs to an op", self.function)
        self.block(self.function.body, None, self.spec.nowhere | self.spec.not_forward)
        found = misread(self.function)
        if found is not None:
            raise self.fail(f"it reads {found[1]}, which may be undef there", found[0])

    def fail(self, problem: str, op: Op | None, where: Op | Block | None = None) -> VerifyError:
        return VerifyError(problem, self.function, op, where)

    # ------------------------------------------------------------------------------------------- structure
    def block(self, block: Block, owner: Op | None, forbidden: frozenset[str]) -> None:
        if block in self.seen:
            raise self.fail("one block stands at two places", owner)
        self.seen.add(block)
        visible = self.visible
        for i, x in enumerate(block.args):
            if x.owner is not block or x.index != i:
                raise self.fail(f"argument {i} of a block does not know its place", owner)
        visible.update(block.args)
        sizes = set(self.sizes)
        for op in block.ops:
            self.op(op, block, forbidden)
        for i, x in enumerate(block.outs):
            if x not in visible:
                raise self.fail(f"what the block ends with (number {i}, {x}) is not defined there", owner, block)
            if isinstance(x.type, Link):
                raise self.fail(f"a link ({x}) leaves the block of its `linearize`", owner, block)
        self.sizes = sizes
        visible.difference_update(block.args)
        for op in block.ops:
            visible.difference_update(op.results)

    def op(self, op: Op, parent: Block, forbidden: frozenset[str]) -> None:
        visible, defn = self.visible, op.defn
        if op.parent is not parent:
            raise self.fail("it stands in a block that is not its parent", op)
        if defn.name in forbidden:
            raise self.fail("this op may not exist at this stage", op)
        for i, x in enumerate(op.operands):
            if x not in visible:
                raise self.fail(f"operand {i} ({x}) is not defined before it", op)
            if isinstance(x.type, Link) and (defn.name != "pull" or i or not x.made_by("linearize")):
                raise self.fail(f"operand {i} ({x}) is a link: only `pull` takes it, from `linearize` itself", op)
        if op.attrs or defn.schema:
            self.attrs(op)
        self.symbols(op)
        if op.blocks or defn.regions:
            if len(op.blocks) != len(defn.regions):
                raise self.fail(f"it has {len(op.blocks)} blocks, not {len(defn.regions)}", op)
            for region, block in zip(defn.regions, op.blocks, strict=True):
                if block.parent is not op:
                    raise self.fail(f"its block `{region}` has another parent", op)
                self.block(block, op, self.spec.nowhere if region == "bwd" else forbidden)
        found, inferred = [x.type for x in op.results], self.inferred(op)
        if inferred is not None and found != inferred:
            raise self.fail(f"its results are typed {_shown(found)}, inferred is {_shown(inferred)}", op)
        for i, x in enumerate(op.results):
            if x in visible:
                raise self.fail(f"result {i} ({x}) is defined twice", op)
            if x.owner is not op or x.index != i:
                raise self.fail(f"result {i} ({x}) does not know its place", op)
            visible.add(x)

    def symbols(self, op: Op) -> None:
        """Whether the symbols of data that an op mentions are bound, and the one that it binds is not."""
        bound = symbol_of(op.attrs[0]) if op.defn.name == "bind_size" else None
        if bound is not None:
            if bound in self.sizes or not bound.of_data:
                raise self.fail(f"the size {bound} is bound already", op)
            self.sizes.add(bound)
        for symbol in symbols_in(op):
            if symbol not in self.sizes and symbol is not ERASED_SYMBOL:
                raise self.fail(f"the size {symbol} is bound nowhere before it", op)

    def inferred(self, op: Op) -> list[Type] | None:
        """The result types by the op's own rule; None where it takes a module to know them."""
        defn, types = op.defn, tuple([x.type for x in op.operands])
        try:
            if defn.infer_blocks is None:
                return list(defn.infer_types(types, op.attrs))
            states = "wrt_states" in defn.schema and op.attr("wrt_states")
            if self.module is None and (defn.name == "call" or states):
                return None
            return list(defn.infer_blocks(types, op.attrs, op.blocks, self.module or Module()))
        except Exception as error:  # a rule meets operands it was not written for
            message = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            raise self.fail(f"the type rule refuses it: {message}", op) from error

    # ------------------------------------------------------------------------------------------- attributes
    def attrs(self, op: Op) -> None:
        defn, attrs = op.defn, op.attrs
        if type(attrs) is not tuple or len(attrs) != len(defn.schema):
            raise self.fail(f"its attributes are {attrs!r}; the schema is ({', '.join(defn.schema)})", op)
        for name, canonical, value in zip(defn.schema, defn._canonical, attrs, strict=True):
            if not _is_literal(value):
                raise self.fail(f"its attribute {name} is no literal of the IR: {value!r}", op)
            try:
                expected = canonical(value)
            except Exception as error:  # whatever the conversion makes of a foreign value
                raise self.fail(f"its attribute {name} cannot be {value!r}: {error}", op) from error
            if not _identical(value, expected):
                raise self.fail(f"its attribute {name} is {value!r}, the canonical form is {expected!r}", op)
            limit = 2**63 if canonical in WHOLE else 2**64  # constants may be of uint64
            if not _fits(value, limit) and all(_is_countable(x.type) for x in op.results):
                raise self.fail(f"its attribute {name} is {value!r}, which does not fit in 64 bits", op)
        if defn.name == "const":
            self.const(op)
        if self.module is not None:
            for name, value in zip(defn.schema, attrs, strict=True):
                self.reference(op, defn, name, value, self.module)

    def const(self, op: Op) -> None:
        value, t = op.attrs
        if not isinstance(t, TensorType):
            raise self.fail(f"a constant is a tensor, not {t!r}", op)
        if type(value) is str:
            if self.module is not None:
                self.array(op, value, t, self.module)
            return
        key = (type(value), scalar_key(value), t.dtype)
        if key in self.numbers:
            return
        if type(value) not in (bool, int, float):
            raise self.fail(f"a constant is a number or the name of an array, not {value!r}", op)
        try:
            held = canonical_number(value, t.dtype)
        except (ValueError, OverflowError) as error:
            raise self.fail(f"{t.dtype.short} cannot hold {value!r}: {error}", op) from error
        if type(held) is not type(value) or scalar_key(held) != scalar_key(value):
            raise self.fail(f"its value is {value!r}, but {t.dtype.short} holds {held!r}", op)
        self.numbers.add(key)

    def array(self, op: Op, value: str, t: TensorType, module: Module) -> None:
        array = module.constants.get(value.removeprefix("@"))
        if array is None:
            raise self.fail(f"the module has no constant {value}", op)
        if isinstance(array, Unbound):
            if array.type is not t:
                raise self.fail(f"the constant {value} is {array.type}, not {t}", op)
        elif array.dtype != t.dtype.numpy or array.shape != t.shape:
            raise self.fail(f"the constant {value} is {array.dtype}{list(array.shape)}, not {t}", op)

    def reference(self, op: Op, defn: type[Definition], name: str, value: Any, module: Module) -> None:
        """Whether the module has what an attribute names."""
        table: dict[str, Any]
        if name in ("state", "states", "wrt_states"):
            names, table, what = ((value,) if name == "state" else value), module.states, "state"
        elif name in ("fn", "exception"):
            names = (value.removeprefix("@"),)
            table, what = (module.functions, "function") if defn.name == "call" else (module.callables, "callable")
        else:
            return
        for wanted in names:
            if wanted not in table:
                raise self.fail(f"the module has no {what} {wanted!r}", op)
        if name == "state" and module.states[value].type is not op.attr("type"):
            raise self.fail(f"the state {value!r} is {module.states[value].type}, not {op.attr('type')}", op)


def _shown(types: Sequence[Type]) -> str:
    return f"({', '.join(map(repr, types))})"


def _is_literal(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_literal, value))
    return value is None or type(value) in (bool, int, float, str, DType, Dim) or isinstance(value, Type)


def _is_countable(type: Type) -> bool:
    """False for arrays that there is no memory for on any machine: a program may ask for them, with any sizes."""
    return not isinstance(type, TensorType) or type.is_countable


def _fits(value: Any, limit: int) -> bool:
    """Whether all whole numbers of an attribute are such as code counts with, in 64 bits."""
    if type(value) is tuple:
        return all(_fits(v, limit) for v in value)
    return type(value) is not int or -(2**63) <= value < limit


def _identical(a: Any, b: Any) -> bool:
    """Equal and of equal types all the way down: 1, 1.0 and True differ, as 0.0 and -0.0 do; NaNs are one."""
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_identical, a, b))
    return bool(scalar_key(a) == scalar_key(b))
