"""The builder: emits ops into a block, inferring types, folding constants and numbering values on the way.

    with Builder(Block([f32_4], ["x"])) as b:
        x, = b.block.args
        b.ret(F.tanh(x) * 2)

While a builder is entered, it is the thread's current one: applying a primitive to Values emits there.
A nested block gets a builder of its own (`b.nested(...)`), which sees the values of the blocks around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from ..dtypes import DType, float64
from ..source import Loc, line_of
from .core import Attrs, Block, Module, Op, Value
from .definition import Definition, Effect
from .primitive import REGISTRY, kernel_of, trace
from .sizes import Size, Symbol, fresh, set_program, symbol_of, symbols_of
from .types import Dim, Shape, TensorType, Type, tensor

__all__ = ["Builder", "Rules", "attrs_key", "current", "scalar_key"]

#: Rewrites tried on an op before it is emitted: by name of the primitive, in order.
Rules = dict[str, list[Callable[..., Any]]]


def current() -> Builder:
    """The builder entered last in this thread."""
    builder: Builder | None = trace.builder
    if builder is None:
        raise RuntimeError("no builder is active: Values can only be used while a function is being built")
    return builder


def scalar_key(value: Any) -> Any:
    """A dictionary key that keeps 0.0 and -0.0 apart and makes NaNs equal."""
    if type(value) is float:
        if value != value:
            return "nan"
        if value == 0.0:
            return math.copysign(1.0, value), "zero"
    return value


def attrs_key(attrs: Attrs) -> Attrs:
    """Attributes as such a key."""
    for value in attrs:
        if value.__class__ is float and (value == 0.0 or value != value):
            return tuple([scalar_key(v) for v in attrs])
    return attrs


def canonical_number(value: Any, dtype: DType) -> Any:
    """A number as the Python value that `dtype` really holds (f32 0.1 is 0.10000000149...)."""
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind in "iu":
        return int(np.asarray(int(value)).astype(dtype.numpy))
    with np.errstate(all="ignore"):
        value = float(value) if dtype.bits == 64 else float(np.asarray(value).astype(dtype.numpy))
    return value if value == value else math.nan


def _is_finite(number: Any) -> bool:
    return isinstance(number, int) or bool(np.isfinite(number))


def _said_at(loc: Loc) -> str:
    """What the user's program says at a place, and where."""
    line = line_of(loc.file, loc.line)
    text = line[loc.col : loc.end_col if loc.end_line == loc.line else None].strip()
    return f"`{text}` ({loc.short})" if text else loc.short


class Builder:
    """Appends ops to one block.  `parent` is the builder of the block around it (its values may be mentioned)."""

    __slots__ = (
        "_const", "_entered", "_known", "before_io", "block", "bound", "loc", "module", "numbers", "parent", "rules",
    )  # fmt: skip
    module: Module
    rules: Rules | None
    loc: Loc | None

    def __init__(
        self,
        block: Block,
        *,
        parent: Builder | None = None,
        module: Module | None = None,
        rules: Rules | None = None,
        loc: Loc | None = None,
    ) -> None:
        self.block, self.parent = block, parent
        self.module = module if module is not None else (parent.module if parent else Module())
        self.rules = rules if rules is not None else (parent.rules if parent else None)
        self.loc = loc if loc is not None else (parent.loc if parent else None)
        #: called before an op with IO is appended
        self.before_io: Callable[[type[Definition]], None] | None = parent.before_io if parent else None
        self.numbers: dict[Any, Any] = {}
        #: the keys of the numbers of all builders of the program
        self._known: set[Any] = parent._known if parent else set()
        #: the symbols of data that an op of the block binds, with the text in the user's program that they are from
        self.bound: dict[Symbol, str] = {}
        self._entered: list[Any] = []
        self._const = REGISTRY.get("const")

    # ------------------------------------------------------------------------------------------- scope
    def __enter__(self) -> Builder:
        self._entered.append(trace.builder)
        trace.builder = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        trace.builder = self._entered.pop()

    def nested(self, types: Sequence[Type] = (), names: Sequence[str | None] | None = None) -> Builder:
        """A builder for a new block inside this one."""
        return Builder(Block(types, names), parent=self)

    def nested_like(self, args: Sequence[Value]) -> Builder:
        """A builder for a new block inside this one, with arguments like these."""
        return Builder(Block.like(args), parent=self)

    def ret(self, *outs: Value) -> Block:
        """Ends the block: what it yields."""
        self.block.outs = list(outs)
        return self.block

    def mark(self) -> tuple[int, dict[Any, Any]]:
        """The state of the block, for `back_to`."""
        return len(self.block.ops), dict(self.numbers)

    def back_to(self, mark: tuple[int, dict[Any, Any]]) -> None:
        """Takes back the ops emitted since; nothing may mention their results."""
        length, self.numbers = mark
        del self.block.ops[length:]

    # ------------------------------------------------------------------------------------------- emission
    def apply(self, defn: type[Definition], operands: tuple[Any, ...], attrs: Attrs) -> Any:
        """What `F.name(...)` does on Values: lifts numbers, emits, and returns a Value, a tuple of them, or None."""
        for x in operands:
            if x.__class__ is not Value:
                operands = self._lift(defn, operands)
                break
        return self.emit(defn, operands, attrs)

    def emit(self, defn: type[Definition], operands: tuple[Value, ...], attrs: Attrs = ()) -> Any:
        """Emits one op (or finds its value among those already visible)."""
        if defn is self._const:
            return self._numbered_const(attrs, (scalar_key(attrs[0]), attrs[1]), attrs[1])
        pure = defn.effect is Effect.PURE
        numbered = pure and not (defn.cuts and self._cuts(defn, operands, attrs))
        if numbered:
            key = (defn, operands, attrs_key(attrs) if attrs else attrs)
            found = self._numbered(key)
            if found is not None:
                self._stands_for(found)
                return found
        elif self.before_io is not None and defn.effect is Effect.IO:
            self.before_io(defn)
        types = defn.infer_types(tuple([x.type for x in operands]), attrs)
        op = Op(defn, operands, types, attrs, (), self.loc, self.block)
        result: Any = self._rewritten(op) if pure else None
        if result is None:
            self.block.ops.append(op)
            results = op.results
            if defn.name == "bind_size":
                symbol = symbol_of(attrs[0])
                assert symbol is not None
                self.bound[symbol] = attrs[1]
            result = results[0] if len(results) == 1 and not defn.multiple else tuple(results)
        if numbered:
            self.numbers[key] = result
            self._known.add(key)
        return result if result != () else None

    def _cuts(self, defn: type[Definition], operands: tuple[Value, ...], attrs: Attrs) -> bool:
        """Whether a derivative would tell equal ops apart: each cuts its own share of the cotangent of an integer."""
        if self.module.derived or not operands[0].dtype.is_int:
            return False
        return defn.name != "cast" or attrs[0].is_float  # between integers it is exact

    def _numbered(self, key: Any) -> Any:
        """What the op of this key gives in this block or one around it; None if it is new."""
        found = self.numbers.get(key)
        if found is not None or key not in self._known:
            return found
        scope = self.parent
        while scope is not None:
            found = scope.numbers.get(key)
            if found is not None:
                self.numbers[key] = found  # blocks nested deeply shall not look for it level by level
                return found
            scope = scope.parent
        return None

    def _stands_for(self, found: Any, loc: Loc | None = None) -> None:
        """Notes that what is written here, or at `loc`, is computed by an op that there is already."""
        loc = loc or self.loc
        op = found.owner if found.__class__ is Value else found[0].owner if found else None
        if op.__class__ is Op and op.loc is not loc and op.loc is not None and loc is not None:
            op.loc = op.loc.with_also(loc)

    def _rewritten(self, op: Op) -> Any:
        """The value that makes `op` unnecessary: a folded constant or the result of a rewrite rule."""
        defn = op.defn
        if defn.scalar is not None and op.operands:
            for x in op.operands:
                owner = x.owner
                if type(owner) is not Op or owner.defn is not self._const or type(owner.attrs[0]) is str:
                    break
            else:
                return self._fold(op)
        if self.rules is not None:
            for rule in self.rules.get(defn.name, ()):
                found = rule(self, op, *op.operands)
                if found is not None:
                    return found
        return None

    def _fold(self, op: Op) -> Value | None:
        """An elementwise op on splat constants is a splat constant; the op's own kernel computes it.

        Where NaN and infinities are looked for, an op that is to blame for one stays, to be found when it runs.
        """
        arrays = [np.asarray(x.owner.attrs[0]).astype(x.dtype.numpy) for x in op.operands]  # type: ignore[union-attr]
        kernel = kernel_of(op.defn)
        with np.errstate(all="ignore"):
            value = kernel(*arrays, **dict(zip(op.defn.schema, op.attrs, strict=True)))
            bad = self.module.check_nonfinite and not np.isfinite(value)
            if bad and (np.isnan(value) or all(map(np.isfinite, arrays))):
                return None
        out = op.results[0].type
        folded = self.const(value.item() if hasattr(value, "item") else value, out)  # type: ignore[arg-type]
        same = [x for x in op.operands if x.is_const(folded.constant)]  # what it was multiplied by one, say
        for x in same[:1] or op.operands:
            place = x.op.loc if x.op is not None else None  # a number written on the line itself is elsewhere by chance
            if place is not None and not (op.loc and any(map(op.loc.on_line_of, place.places))):
                self._stands_for(folded, place)
        return folded

    def emit_op(
        self,
        defn: type[Definition],
        operands: Sequence[Value],
        attrs: Attrs = (),
        blocks: Sequence[Block] = (),
        types: Sequence[Type] | None = None,
    ) -> Op:
        """Emits an op that owns blocks (or whose result types the caller knows, as `call`); never numbered."""
        if types is None:
            assert defn.infer_blocks is not None
            operand_types = tuple([x.type for x in operands])
            types = defn.infer_blocks(operand_types, attrs, tuple(blocks), self.module)
        op = Op(defn, tuple(operands), types, attrs, tuple(blocks), self.loc, self.block)
        self.block.ops.append(op)
        return op

    # ------------------------------------------------------------------------------------------- sizes of data
    def bind(self, n: Value, low: int = 0, high: Size | None = None) -> Size:
        """The size that an int64 number is, which only run time knows; one for each Value.

        At least `low` and at most `high`, which whoever computes the number sees to.
        """
        if n.constant is not None:
            return int(n.constant)
        if n.made_by("size_value"):
            found: Size = n.op.attrs[0]  # type: ignore[union-attr]
            return found
        return self.bind_as(n, fresh(low, high), "" if self.loc is None else _said_at(self.loc.of_user()))

    def bind_as(self, n: Value, size: Dim, text: str) -> Size:
        """The same for a symbol that is wanted, which is bound nowhere around; another one if `n` has one already."""

        def bound() -> Dim:
            self.emit(REGISTRY["bind_size"], (n,), (size, text))
            return size

        found: Size = self.once(("bind_size", n), bound)
        return found

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is made in a scope for a key, once: also what an op with an effect gives."""
        found = self._numbered(key)
        if found is None:
            self.numbers[key] = found = make()
            self._known.add(key)
        return found

    def said(self, size: Size, otherwise: str) -> str:
        """What stands before the number of a size in a message: the text in the user's program that it is from."""
        symbol = symbol_of(size)
        text = self.binder_text(symbol) if symbol is not None and symbol.of_data else None
        if text:
            return f"{text} gives "
        owner = trace.whose(size)
        return f"{owner} has " if owner else otherwise

    def binder_text(self, symbol: Symbol) -> str | None:
        """The text that a symbol of data is from; None if no op around here binds it."""
        scope: Builder | None = self
        while scope is not None:
            if symbol in scope.bound:
                return scope.bound[symbol]
            scope = scope.parent
        return None

    def sees(self, size: Size) -> bool:
        """Whether all symbols of data in a size are bound here or around."""
        return all(not s.of_data or self.binder_text(s) is not None for s in symbols_of(size))

    # ------------------------------------------------------------------------------------------- constants
    def const(self, value: Any, type: TensorType) -> Value:
        """A tensor of `type` whose elements all equal the number `value`.

        Where NaN and infinities are looked for, a number that overflows the dtype is converted when it runs.
        """
        number, value = value, canonical_number(value, type.dtype)
        if self.module.check_nonfinite and type.dtype.is_float and math.isinf(value) and _is_finite(number):
            wide = tensor(float64, type.shape)
            return self.emit(REGISTRY["cast"], (self.const(float(number), wide),), (type.dtype, False))  # type: ignore[no-any-return]
        return self._numbered_const((value, type), (scalar_key(value), type), type)

    def array(self, array: np.ndarray[Any, Any], type: TensorType, hint: str = "c") -> Value:
        """A constant array, kept by name in the module (a splat constant where all elements are one number)."""
        if array.size and array.ndim == 0:
            return self.const(array.item(), type)
        name = next((n for n, known in self.module.constants.items() if known is array), None)
        if name is None:
            name = f"{hint}{len(self.module.constants)}"
            self.module.constants[name] = array
        return self._numbered_const(("@" + name, type), ("@" + name, type), type)

    def known(self, value: Value) -> np.ndarray[Any, Any] | None:
        """The elements of a constant; None for what is known only at run time."""
        if not value.made_by("const"):
            return None
        held, type_ = value.owner.attrs[0], value.type  # type: ignore[union-attr]
        if isinstance(held, str):
            array: np.ndarray[Any, Any] = self.module.constants[held[1:]]
            return array
        return np.full(type_.shape, held, type_.dtype.numpy)  # type: ignore[attr-defined]

    def _numbered_const(self, attrs: Attrs, key: Any, type: TensorType) -> Value:
        key = ("const", key)
        found = self._numbered(key)
        if found is not None:
            self._stands_for(found)
            return found  # type: ignore[no-any-return]
        op = Op(REGISTRY["const"], (), (type,), attrs, (), self.loc, self.block)
        self.block.ops.append(op)
        self.numbers[key] = op.results[0]
        self._known.add(key)
        return op.results[0]

    def zeros(self, type: TensorType) -> Value:
        return self.const(0, type)

    def full(self, value: Any, dtype: DType, shape: Shape) -> Value:
        return self.const(value, tensor(dtype, shape))

    def _size(self, x: Dim, like: TensorType) -> Value:
        """A size that only a call knows, as a Value of a type."""
        found = self.emit(REGISTRY["size_value"], (), (x,))
        found = found if found.dtype is like.dtype else self.emit(REGISTRY["cast"], (found,), (like.dtype, False))
        result: Value = found if like.shape == () else self.emit(REGISTRY["broadcast_to"], (found,), (like.shape,))
        return result

    def _lift(self, defn: type[Definition], operands: tuple[Any, ...]) -> tuple[Value, ...]:
        """Python numbers among the operands become constants of the last Value's type."""
        like = next((x.type for x in reversed(operands) if x.__class__ is Value), None)
        out = []
        for x in operands:
            if x.__class__ is Value:
                out.append(x)
            elif isinstance(x, bool | int | float) and isinstance(like, TensorType):
                out.append(self.const(x, like))
            elif isinstance(x, Dim) and isinstance(like, TensorType):
                out.append(self._size(x, like))
            else:
                raise TypeError(f"{defn.name}: cannot use a {type(x).__name__} as an operand while tracing")
        return tuple(out)


def _checked(a: Size, op: str, b: Size) -> None:
    """Makes a relation of sizes of data a check of the program that is being built."""
    builder: Builder | None = trace.builder
    if builder is not None:
        texts = (builder.said(a, "one is "), builder.said(b, "another is " if op == "==" else "at most "))
        builder.emit(REGISTRY["check_sizes"], (), (a, op, b, texts))


def _text_of(symbol: Symbol) -> str | None:
    """The text in the user's program that a symbol of data is from."""
    builder: Builder | None = trace.builder
    return None if builder is None else builder.binder_text(symbol)


set_program(_checked, _text_of)
