"""The data structures of the IR: values, ops, blocks, functions, modules.

Structured SSA: a block is one ordered list of ops, control-flow ops own blocks, and a block sees the values of the
blocks around it.  There is no control-flow graph, there are no use lists and no effect tokens: the order of a block's
list *is* the order of effects.  Passes build new functions through `ir.build.Builder`; they do not edit old ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..dtypes import DType
from ..errors import shown_as
from ..source import Loc
from .definition import Attrs, Definition
from .types import Dim, Shape, TensorType, Type
from .unknown import Unknown, UnknownValueError

__all__ = ["Attrs", "Block", "Function", "Module", "Op", "StateInfo", "Unknown", "UnknownValueError", "Value"]


@shown_as("Tensor")
class Value(Unknown):
    """One SSA value: result number `index` of an op, or argument number `index` of a block.

    `name` is only a hint for printing, and `number` that of a value without one, so that it is printed alike at all
    stages (see `ir.naming`).  Identity is the identity of the object.  Arithmetic operators are attached by
    `primitives`: they take operands of equal type (or a Python number, which becomes a constant of that type).
    """

    __slots__ = ("index", "name", "number", "owner", "type")
    __array_ufunc__ = None  # NumPy operands must not swallow a Value

    def __init__(self, type: Type, owner: Op | Block, index: int, name: str | None = None) -> None:
        self.type, self.owner, self.index, self.name = type, owner, index, name
        self.number: int | None = None

    def named_after(self, other: Value) -> None:
        """Takes over the name of a value that this one stands for, unless it has one already; else the number.

        One that has a number keeps that if it is a constant, which stands for whatever is equal to it, or if another
        transformation made the other value: nothing of the user's is called after an adjoint that happens to be it.
        """
        if self.name is None:
            if self.number is None:
                self.name, self.number = other.name, other.number
            elif not self.made_by("const") and self._tag == other._tag:
                self.name = other.name

    @property
    def _tag(self) -> str:
        loc = self.owner.loc if type(self.owner) is Op else None
        return loc.tag if loc is not None else ""

    @property
    def dtype(self) -> DType:
        return self.type.dtype  # type: ignore[attr-defined,no-any-return]

    @property
    def shape(self) -> Shape:
        return self.type.shape  # type: ignore[attr-defined,no-any-return]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def op(self) -> Op | None:
        """The op that made this value; None for a block argument."""
        return self.owner if type(self.owner) is Op else None

    @property
    def block(self) -> Block | None:
        """The block in whose scope the value lies."""
        return self.owner.parent if type(self.owner) is Op else self.owner  # type: ignore[return-value]

    def made_by(self, name: str) -> bool:
        return type(self.owner) is Op and self.owner.defn.name == name

    @property
    def constant(self) -> Any:
        """The number every element holds if this is a splat constant, else None."""
        owner = self.owner
        if type(owner) is Op and owner.defn.name == "const" and type(owner.attrs[0]) is not str:
            return owner.attrs[0]
        return None

    def is_const(self, number: float) -> bool:
        """Whether every element is known to equal `number` (so 0.0 also covers -0.0)."""
        value = self.constant
        return value is not None and value == number

    def __repr__(self) -> str:
        return f"<%{self.name or '_'}: {self.type!r}>"


class Op:
    """One application of a primitive.  `attrs` are frozen literals in the order of the primitive's schema."""

    __slots__ = ("attrs", "blocks", "defn", "loc", "operands", "parent", "results")

    def __init__(
        self,
        defn: type[Definition],
        operands: tuple[Value, ...],
        types: Sequence[Type],
        attrs: Attrs = (),
        blocks: tuple[Block, ...] = (),
        loc: Loc | None = None,
        parent: Block | None = None,
    ) -> None:
        self.defn, self.operands, self.attrs, self.blocks = defn, operands, attrs, blocks
        self.loc, self.parent = loc, parent
        self.results: list[Value] = [Value(t, self, i) for i, t in enumerate(types)]
        for block in blocks:
            block.parent = self

    def attr(self, name: str) -> Any:
        return self.attrs[self.defn.schema.index(name)]

    def add_result(self, type: Type, name: str | None = None) -> Value:
        """One more result; only reverse mode extends ops in place (residuals of control flow)."""
        value = Value(type, self, len(self.results), name)
        self.results.append(value)
        return value

    def __repr__(self) -> str:
        return f"<{self.defn.name} {list(self.operands)} -> {self.results}>"


class Block:
    """Arguments, ops in order, and `outs`: what the block yields (or the function returns)."""

    __slots__ = ("args", "ops", "outs", "parent")

    def __init__(self, types: Sequence[Type] = (), names: Sequence[str | None] | None = None) -> None:
        hints = names if names is not None else [None] * len(types)
        self.args: list[Value] = [Value(t, self, i, n) for i, (t, n) in enumerate(zip(types, hints, strict=True))]
        self.ops: list[Op] = []
        self.outs: list[Value] = []
        self.parent: Op | None = None

    @classmethod
    def like(cls, args: Sequence[Value]) -> Block:
        """An empty block with arguments like these, by type and name."""
        block = cls([x.type for x in args], [x.name for x in args])
        for old, new in zip(args, block.args, strict=True):
            new.number = old.number
        return block

    def add_arg(self, type: Type, name: str | None = None) -> Value:
        value = Value(type, self, len(self.args), name)
        self.args.append(value)
        return value


class Function:
    """A named block without a surrounding scope."""

    __slots__ = ("body", "loc", "name")

    def __init__(self, name: str, body: Block, loc: Loc | None = None) -> None:
        self.name, self.body, self.loc = name, body, loc

    @property
    def args(self) -> list[Value]:
        return self.body.args

    @property
    def outs(self) -> list[Value]:
        return self.body.outs

    def __repr__(self) -> str:
        return f"<func @{self.name}>"


@dataclass(frozen=True)
class StateInfo:
    """A cell that outlives a call: a Parameter, an attribute written by compiled code, the random generator."""

    name: str
    type: TensorType
    kind: str = "parameter"


@dataclass
class Module:
    """Functions that call each other, the arrays they mention, the state they touch and the host functions they call.

    The first function is the entry.  `constants`, `states` and `callables` must be bound again when a printed module is
    parsed and run: the text holds their names only.  `inputs` and `outputs` name the states that the entry's last
    arguments and last results stand for, once `passes.state` has lifted them.
    """

    functions: dict[str, Function] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    states: dict[str, StateInfo] = field(default_factory=dict)
    callables: dict[str, Callable[..., Any]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    #: how much passes rewrite it (`optimize` of `jit`); None: as the context says
    optimize: int | None = None
    #: numbers from here on never were names of its values (see `ir.naming`)
    numbered: int = 0
    #: which backend of the CPU runs it (`backend` of `jit`); empty: the one the context says
    backend: str = ""
    #: whether its program looks for NaN and infinities ("nan": for NaN only)
    check_nonfinite: bool | str = False
    #: whether a pass warned of something that its author should know
    warned: bool = False
    #: where a Tensor leaves a derivative that may be taken later, and as what: `logs.leaves_derivative` tells that then
    leaving: dict[Any, str] = field(default_factory=dict)
    #: whether no derivative of it will be taken any more
    derived: bool = False

    @property
    def entry(self) -> Function:
        return next(iter(self.functions.values()))

    @property
    def has_open_sizes(self) -> bool:
        """Whether some size of an argument is known only to a call, or some size only to data."""
        types = [x.type for function in self for x in function.body.args]
        if any(isinstance(d, Dim) for t in types if isinstance(t, TensorType) for d in t.shape):
            return True
        return self.has_sizes_of_data

    @property
    def has_sizes_of_data(self) -> bool:
        """Whether some size is known only to data: only NumPy runs such programs."""
        return any(_has_sizes_of_data(function.body) for function in self)

    def fresh_name(self, hint: str) -> str:
        """A function name not yet taken: `hint`, `hint.1`, ..."""
        name, k = hint, 0
        while name in self.functions:
            k += 1
            name = f"{hint}.{k}"
        return name

    def add(self, function: Function) -> Function:
        self.functions[function.name] = function
        return function

    def like(self, functions: dict[str, Function] | None = None) -> Module:
        """A module with the same constants, states, callables and state arguments, and other functions."""
        return replace(self, functions=functions or {})

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions.values())


def _has_sizes_of_data(block: Block) -> bool:
    """Whether an op of a block, or of one inside it, makes sizes of data or hides them."""
    return any(op.defn.open_sizes or any(map(_has_sizes_of_data, op.blocks)) for op in block.ops)
