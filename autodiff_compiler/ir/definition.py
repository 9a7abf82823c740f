"""What an op is, as data: its name, its operands and attributes, its rules; `ir.primitive` applies and publishes it."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from operator import index
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..dtypes import DType, dtype_of
from .sizes import assuming, deciding
from .types import Dim, Size, Type
from .unknown import Unknown

__all__ = [
    "COSTLY", "WHOLE", "Attrs", "Definition", "Effect", "Ints", "Literal", "Names", "Number", "OptionalInts", "Parts",
    "Types", "annotation", "take_operators",
]  # fmt: skip

Attrs: TypeAlias = tuple[Any, ...]


class Effect(enum.IntEnum):
    """What running an op does besides computing its results; the greater includes the order of the smaller."""

    PURE = 0
    READ = 1
    WRITE = 2
    IO = 3


# What attributes hold: names for the annotations of `infer`, beside bool, int, str, DType, Shape, Size and Type.
Ints: TypeAlias = tuple[int, ...]
OptionalInts: TypeAlias = Ints | None
Names: TypeAlias = tuple[str, ...]
Types: TypeAlias = tuple[Type, ...]
Number: TypeAlias = bool | int | float
#: A Python number, or the "@name" of an array kept in the module.
Literal: TypeAlias = Number | str
#: What a print shows: literal texts, operand numbers, and format strings with arguments.
Parts: TypeAlias = tuple[str | int | tuple[Any, ...], ...]


def _ints(v: Any) -> tuple[int, ...]:
    return tuple([index(i) for i in v])


def _sizes(v: Any) -> tuple[Any, ...]:
    return tuple([d if type(d) is Dim else index(d) for d in v])


def _text(v: Any) -> str:
    if not isinstance(v, str):
        raise TypeError(f"a text is needed, not {type(v).__name__}")
    return v


def _type(v: Any) -> Type:
    if not isinstance(v, Type):
        raise TypeError(f"a type is needed, not {v!r}")
    return v


def _literal(v: Any) -> Any:
    return float(v) if isinstance(v, Unknown) else v  # which refuses


def _number(v: Any) -> Any:
    if v is None or isinstance(v, str | tuple | list | DType | Dim | Type):
        raise TypeError(f"a number is needed, not {v!r}")
    return _literal(v)


#: How the annotation of an attribute makes its value canonical.
CANONICAL: dict[str, Callable[[Any], Any]] = {
    "Ints": _ints,
    "Shape": _sizes,
    "int": index,
    "float": float,
    "bool": bool,
    "str": _text,
    "DType": dtype_of,
    "Type": _type,
    "Literal": _literal,
    "Number": _number,
    "Size": lambda v: v if type(v) is Dim else index(v),
    "Names": lambda v: tuple([_text(name) for name in v]),
    "Types": lambda v: tuple([_type(t) for t in v]),
    "Parts": tuple,
    "OptionalInts": lambda v: None if v is None else _ints(v),
}

#: The `cost` of a function of every element (exp, tanh, a quotient), unless its class says that it is less.
COSTLY = 8

#: Of them those that hold whole numbers and nothing else.
WHOLE = frozenset(CANONICAL[name] for name in ("int", "Ints", "OptionalInts", "Shape", "Size"))

_RULES = (
    "infer", "infer_blocks", "scalar", "numpy", "vjp", "batch", "call", "public", "samples", "aclnn", "decomposed",
    "flops",
)  # fmt: skip
_VARIADIC = 0x04


class Definition:
    """Base of `Primitive`: reads its parameters off `infer`, and makes its rules static functions."""

    name: ClassVar[str]
    operand_names: ClassVar[tuple[str, ...]] = ()
    schema: ClassVar[tuple[str, ...]] = ()
    effect: ClassVar[Effect] = Effect.PURE
    #: Names of the blocks the op owns, in order ("then", "else").
    regions: ClassVar[tuple[str, ...]] = ()
    variadic: ClassVar[bool] = False
    #: Whether `vjp` receives and `infer` returns a tuple of results even if there is one.
    multiple: ClassVar[bool] = False
    #: Tensor methods that apply `call`, Python operator slots ("__add__", "__radd__"), and those of them with an
    #: underscore at the end ("exp_"), which give the Tensor its new value (`primitives.in_place`).
    methods: ClassVar[tuple[str, ...]] = ()
    #: NumPy's ufunc that the formula is, read from the formula; None: it is several calls, or there is no formula.
    ufunc: ClassVar[np.ufunc | None] = None
    #: The function of Python's `math` that the op is for one number, and whether it is total: raises for no float.
    python: ClassVar[Callable[..., float] | None] = None
    total: ClassVar[bool] = False
    #: Operand whose bytes the result shares / may overwrite.
    view: ClassVar[str | None] = None
    inplace: ClassVar[str | None] = None
    #: Whether 16-bit floats are computed in float32 and rounded once (sums of many products).
    widen: ClassVar[bool] = False
    #: About how many machine instructions per element an adjoint pays for running the op again instead of saving its
    #: result; None: never again.  Where a class says nothing: 1 for a view, `COSTLY` for a `scalar` formula.
    cost: ClassVar[int | None] = None
    #: How many operations on numbers it is, for estimates: so many per element of its first result, or a rule over the
    #: operands' types and the attributes.  Where a class says nothing, its formula tells: each function in it counts
    #: what the op says that is this function, or one (`primitives.flops`).
    flops: ClassVar[int | Callable[..., Size] | None] = None
    #: Whether the rule computes the cotangent of an integer in floats, so that it is cut.
    cuts: ClassVar[bool] = False
    #: Whether its kernel is BLAS's and LAPACK's work: it is told how many threads `flops` are worth.
    blas: ClassVar[bool] = False
    #: Operand of which only as many elements are read as the result has.
    picks: ClassVar[str | None] = None
    #: Operand of positions along the axis (attribute `axis`) of the first operand, which `check_index` has made.
    positions: ClassVar[str | None] = None

    infer: ClassVar[Callable[..., Any]]
    infer_blocks: ClassVar[Callable[..., Any] | None] = None
    scalar: ClassVar[Callable[..., Any] | None] = None
    numpy: ClassVar[Callable[..., Any] | None] = None
    vjp: ClassVar[Callable[..., Any] | None] = None
    batch: ClassVar[Callable[..., Any] | None] = None
    call: ClassVar[Callable[..., Any] | None] = None
    #: What makes `call` from the name of an op: for the ops of a family, unless they have one of their own.
    public: ClassVar[Callable[[str], Callable[..., Any]] | None] = None
    samples: ClassVar[Callable[..., Any] | None] = None
    aclnn: ClassVar[str | Callable[..., Any] | None] = None
    decomposed: ClassVar[Callable[..., Any] | None] = None
    #: Operands, attributes and a part of the message for what the type rule refuses; a shared rule may bring its own.
    errors: ClassVar[list[Any]] = []
    #: Values at kinks and ties: (operands, attributes, cotangents for a cotangent of ones).
    ties: ClassVar[list[Any]] = []

    #: Whether it makes, names or hides sizes of data (`primitives.sizes_of_data`).
    open_sizes: ClassVar[bool] = False

    #: Whether all processes of a group run it together.  None knows whether operands in another depend on a variable,
    #: or where results are used there: so the derivative of one of floats is taken in any case, on no condition that
    #: only run time knows, and with examples in all operands.
    collective: ClassVar[bool] = False
    #: What begins a collective in eager code: operands, attributes and the user's line to its array and a handle.
    start: ClassVar[Callable[..., Any] | None] = None

    #: Whether the op is a part of others or of the compiler, so that users get no function `ops.<name>`.
    internal: ClassVar[bool] = False

    _canonical: ClassVar[tuple[Callable[[Any], Any], ...]] = ()
    _defaults: ClassVar[dict[str, Any]] = {}
    memo: ClassVar[dict[Any, tuple[Type, ...]]]

    def __init_subclass__(cls, abstract: bool = False, **kw: Any) -> None:
        super().__init_subclass__(**kw)
        for rule in _RULES:
            fn = cls.__dict__.get(rule)
            if fn is not None and not isinstance(fn, staticmethod | str | int):
                setattr(cls, rule, staticmethod(fn))
        if abstract:
            return
        cls.name = cls.__dict__.get("name") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__.rstrip("_")).lower()
        cls._read_schema()
        cls.errors, cls.ufunc = cls.errors or getattr(cls.infer, "errors", []), _ufunc_of(cls)
        if cls.cost is None and cls.infer_blocks is None and cls.effect is Effect.PURE and not cls.multiple:
            cls.cost = 1 if cls.view is not None else COSTLY if cls.scalar is not None else None
        cls.memo = {}

    @classmethod
    def _read_schema(cls) -> None:
        infer = cls.infer
        code = infer.__code__
        n = code.co_argcount
        cls.variadic = bool(code.co_flags & _VARIADIC)
        cls.operand_names = code.co_varnames[:n]
        cls.schema = code.co_varnames[n : n + code.co_kwonlyargcount]
        for name in cls.schema:
            if annotation(infer, name) not in CANONICAL:
                raise TypeError(
                    f"{cls.__name__}.infer: the attribute {name!r} is annotated with "
                    f"{annotation(infer, name) or 'nothing'}, not with one of {', '.join(CANONICAL)}"
                )
        cls._canonical = tuple(CANONICAL[annotation(infer, name)] for name in cls.schema)
        cls._defaults = dict(infer.__kwdefaults__ or {})

    @classmethod
    def attrs_of(cls, kw: dict[str, Any]) -> Attrs:
        """Keyword attributes as the canonical tuple in schema order."""
        out, given = [], 0
        for name, canonical in zip(cls.schema, cls._canonical):  # noqa: B905  (a hot path)
            if name in kw:
                out.append(canonical(kw[name]))
                given += 1
            elif name in cls._defaults:
                out.append(cls._defaults[name])
            else:
                raise TypeError(f"{cls.name}() needs the attribute {name!r}")
        if given != len(kw):
            extra = sorted(set(kw) - set(cls.schema))
            raise TypeError(f"{cls.name}() has no attribute {extra[0]!r}; it has {', '.join(cls.schema) or 'none'}")
        return tuple(out)

    @classmethod
    def infer_types(cls, types: tuple[Type, ...], attrs: Attrs) -> tuple[Type, ...]:
        """Result types, memoised by operand types and attributes unless they depend on what a call answers."""
        key = (types, attrs)
        found = cls.memo.get(key)
        if found is None:
            before = deciding.open, assuming.times
            result = cls.infer(*types, **dict(zip(cls.schema, attrs, strict=True)))
            found = result if isinstance(result, tuple) else (() if result is None else (result,))
            # each program has to ask, and to check what it assumes
            if (deciding.open, assuming.times) == before and len(cls.memo) < 4096:
                cls.memo[key] = found
        return found


def annotation(infer: Callable[..., Any], name: str) -> str:
    """How a type rule's attribute is annotated, as text (which annotations are under the `__future__` import)."""
    note = infer.__annotations__.get(name, "")
    return note.__name__ if isinstance(note, type) else str(note)


#: NumPy's functions by the names of Python's operators without underscores: of two operands in either order, of two as
#: they stand, of one.
_ARITHMETIC = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
_OF_ONE = {"neg": "negative", "abs": "absolute", "invert": "invert"}


def take_operators(cls: type, apply: Callable[..., Any]) -> None:
    """Lets formulas use Python's operators on objects of a class: `apply` gets the object, the function, operands."""
    for slot, name in _ARITHMETIC.items():
        setattr(cls, f"__{slot}__", lambda a, b, name=name: apply(a, name, a, b))
        setattr(cls, f"__r{slot}__", lambda a, b, name=name: apply(a, name, b, a))
    for slot, name in _COMPARISONS.items():
        setattr(cls, f"__{slot}__", lambda a, b, name=name: apply(a, name, a, b))
    for slot, name in _OF_ONE.items():
        setattr(cls, f"__{slot}__", lambda a, name=name: apply(a, name, a))


class _Probe:
    """The `k` of a formula: each function gives its name and what it was called with."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args: (name, args)


def _ufunc_of(defn: type[Definition]) -> np.ufunc | None:
    """NumPy's ufunc that a formula is: its one call, of the operands in order."""
    if defn.scalar is None or defn.schema:
        return None
    operands = tuple([object() for _ in defn.operand_names])
    try:
        found = defn.scalar(_Probe(), *operands)
    except Exception:  # it computes with its operands: it is more than one call
        return None
    if isinstance(found, tuple) and len(found) == 2 and found[1] == operands:
        function = getattr(np, found[0], None)
        return function if isinstance(function, np.ufunc) else None
    return None
