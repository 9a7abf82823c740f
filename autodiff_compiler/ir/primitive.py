"""What a primitive is: one class that says everything about an op, and `F`, which applies it.

Subclassing `Primitive` registers the class.  Its rules are plain functions and become static:

``infer(x: TensorType, *, axes: Ints, keepdims: bool)``
    Operand types to result type (a tuple for several results).  Its keyword-only parameters *are* the op's attributes;
    their annotations name the canonical form (see `CANONICAL`).
``scalar(k, x, ...)`` or ``numpy(x, ..., *, axes, ...)``
    What it computes: a formula per element over a kernel builder `k` (its functions carry NumPy's names; NumPy itself
    is one; numbers in a formula are ints, which adapt to every dtype), or a NumPy kernel.  A kernel may only use its
    arguments, `np` and builtins, because backends print its source into generated modules; where its body is one
    ``return`` of an expression they print that expression in place.  An attribute annotated `DType` reaches a kernel
    as the NumPy dtype.  Operands and results are arrays or NumPy scalars; operands broadcast if the op is elementwise.
    With ``widen = True`` the kernel never sees 16-bit floats: they are computed in float32 and rounded once.
``vjp(c, g, x, ...)``
    Cotangent of the result to cotangents of the operands (None: no cotangent).  `c` is a `Context`.
``batch(c, n, x, ...)``
    Only where one more leading dimension of all operands and results changes more than their types (axes are counted
    from the end, so mostly it does not): the op for `n` examples at once.  `c.needs.x` says whether the operand has
    the leading dimension; None leaves the op to be run example by example.
``aclnn``
    The operator of CANN that computes it: its name where it takes the operands and then the result, or a rule
    ``aclnn(c, x, ...)`` over views of the device's memory (`backends.ascend.emit`).
``decomposed(c, x, ...)``
    The op in terms of other ops, for backends that have no kernel for it.
``call(...)``
    What users call: promotion, broadcasting and defaults, in terms of `F`.  It runs on Tensors and on Values alike.
    A family may say `public` instead, which makes it from the name of each of its ops.

The same rule runs on `Value`s (emitting IR through the current builder) and on eager Tensors (running at once).
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..blas import SINGLE, products
from ..dtypes import DType, from_numpy
from ..errors import TooLittleMemoryError
from ..keywords import advise
from ..no_memory import refused
from ..source import calling_expression
from .core import Value
from .definition import (
    COSTLY,
    WHOLE,
    Attrs,
    Definition,
    Effect,
    Ints,
    Literal,
    Names,
    Number,
    OptionalInts,
    Parts,
    Types,
    annotation,
)
from .types import tensor

__all__ = [
    "COSTLY",
    "INTERNAL",
    "METHODS",
    "OPERATORS",
    "PROPERTIES",
    "REGISTRY",
    "UFUNCS",
    "WHOLE",
    "Context",
    "Effect",
    "F",
    "Ints",
    "Literal",
    "Names",
    "Number",
    "OptionalInts",
    "Parts",
    "Primitive",
    "Types",
    "bind",
    "call",
    "composite",
    "distinct",
    "kernel_of",
    "set_eager",
    "trace",
    "under_name",
]


REGISTRY: dict[str, type[Primitive]] = {}
#: Tensor methods by name: functions whose first argument is the Tensor (or the Value that stands for it).
METHODS: dict[str, Callable[..., Any]] = {}
#: Primitives and composites that are parts of others or of the compiler: `call` has them, `ops` does not.
INTERNAL: set[str] = set()
#: Those of METHODS that are attributes of a Tensor, read without a call (`x.T`).
PROPERTIES: set[str] = set()
#: NumPy's ufuncs, with the names of the functions of `call` that stand for them.
UFUNCS: dict[np.ufunc, str] = {}

#: Python's arithmetic operators, by the names of their methods without underscores.
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
#: Operator slots that Python calls on the right operand; in METHODS they take (right, left).
_REFLECTED = frozenset(f"__r{name}__" for name in OPERATORS)


class Primitive(Definition, abstract=True):
    """Base of every op.  A family (a base class that is no op itself) is declared with ``abstract=True``."""

    def __init_subclass__(cls, abstract: bool = False, **kw: Any) -> None:
        super().__init_subclass__(abstract=abstract, **kw)
        if abstract:
            return
        if "call" in cls.__dict__:
            cls.call = staticmethod(under_name(cls.__dict__["call"].__func__, cls.name, cls.__doc__))
        elif cls.public is not None:
            cls.call = staticmethod(under_name(cls.public(cls.name), cls.name, cls.__doc__))
        if cls.internal:
            INTERNAL.add(cls.name)
        if cls.name in REGISTRY:
            raise TypeError(f"two primitives are called {cls.name!r}")
        REGISTRY[cls.name] = cls
        if cls.ufunc is not None and not cls.internal:
            UFUNCS.setdefault(cls.ufunc, cls.name)
        if cls.methods:
            _add_methods(getattr(call, cls.name), cls.methods)


class Needs:
    """Which operands want a cotangent: by position or by the operand's name."""

    __slots__ = ("_defn", "_flags")

    def __init__(self, defn: type[Definition], flags: tuple[bool, ...]) -> None:
        self._defn, self._flags = defn, flags

    def __getitem__(self, i: int) -> bool:
        return self._flags[i]

    def __len__(self) -> int:
        return len(self._flags)

    def __getattr__(self, name: str) -> bool:
        return self._flags[self._defn.operand_names.index(name)]


class Context:
    """What a derivative rule may ask for besides cotangents and operands.

    `c.out` / `c.outs` are the op's results, `c.needs.x` says whether operand `x` wants a cotangent, and every attribute
    of the op reads as `c.axes`.
    """

    __slots__ = ("attrs", "defn", "flags", "outs")

    def __init__(self, defn: type[Definition], attrs: Attrs, outs: Any, flags: tuple[bool, ...]) -> None:
        self.defn, self.attrs, self.outs, self.flags = defn, attrs, outs, flags

    @property
    def out(self) -> Any:
        return self.outs[0]

    @property
    def needs(self) -> Needs:
        return Needs(self.defn, self.flags)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.attrs[self.defn.schema.index(name)]
        except ValueError:
            raise AttributeError(f"{self.defn.name} has no attribute {name!r}") from None


def kernel_of(defn: type[Definition]) -> Callable[..., Any]:
    """The NumPy kernel of a primitive: its own, or its formula evaluated with NumPy.

    It takes arrays and the op's attributes as they are stored; it converts dtypes and widens as the class says.
    """
    kernel, formula = defn.numpy, defn.scalar
    if kernel is None:
        if formula is None:
            raise NotImplementedError(f"{defn.name} has no kernel: it is executed by the backends themselves")
        kernel = functools.partial(formula, np)
    if "DType" in [annotation(defn.infer, name) for name in defn.schema]:
        kernel = _with_numpy_dtypes(kernel)
    kernel = _widened(kernel) if defn.widen else kernel
    return _with_threads(kernel, defn.flops) if defn.blas and callable(defn.flops) else kernel


#: Elements of one operand up to which LAPACK asks for no more than one thread.
_FEW = 256


def _with_threads(kernel: Callable[..., Any], flops: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, with as many threads of BLAS as it is worth."""

    def counted(*xs: Any, **attrs: Any) -> Any:
        few = SINGLE // 2 if len(xs) > 1 else _FEW
        if math.prod([x.size for x in xs]) <= few:
            return kernel(*xs, **attrs)
        types = [tensor(from_numpy(x.dtype), x.shape) for x in xs]
        with products(max(SINGLE + 1, int(flops(*types, **attrs)))):
            return kernel(*xs, **attrs)

    return counted


def _with_numpy_dtypes(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def converted(*xs: Any, **attrs: Any) -> Any:
        return kernel(*xs, **{name: a.numpy if type(a) is DType else a for name, a in attrs.items()})

    return converted


def _widened(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def wide(*xs: Any, **attrs: Any) -> Any:
        narrow = xs[0].dtype
        if narrow.itemsize != 2 or narrow.kind in "iu":
            return kernel(*xs, **attrs)
        out = kernel(*[x.astype(np.float32) if x.dtype == narrow else x for x in xs], **attrs)
        return [_narrowed(r, narrow) for r in out] if isinstance(out, tuple | list) else _narrowed(out, narrow)

    return wide


def _narrowed(x: Any, narrow: Any) -> Any:
    return x.astype(narrow) if x.dtype.kind == "f" else x


# --------------------------------------------------------------------------------------------------- application
_eager: Callable[[type[Primitive], tuple[Any, ...], Attrs], Any] | None = None
_alias: Callable[[Any], Any] | None = None


def set_eager(run: Callable[[type[Primitive], tuple[Any, ...], Attrs], Any], alias: Callable[[Any], Any]) -> None:
    """Installs what runs a primitive on Tensors, and what makes another Tensor of the same bytes.

    Called once by `eager` when the package is imported.
    """
    global _eager, _alias
    _eager, _alias = run, alias


def bind(defn: type[Primitive], operands: tuple[Any, ...], attrs: Attrs) -> Any:
    """Applies a primitive: emits it if an operand is a Value (or tracing is on and there is none), else runs it."""
    for x in operands:
        if x.__class__ is Value:
            return trace.builder.apply(defn, operands, attrs)
    if not operands and trace.builder is not None:
        return trace.builder.apply(defn, operands, attrs)
    if _eager is None:
        raise RuntimeError(f"{defn.name} was applied to Tensors before the eager mode was loaded")
    return _eager(defn, operands, attrs)


def _applier(defn: type[Primitive]) -> Callable[..., Any]:
    def plain(*operands: Any) -> Any:
        return bind(defn, operands, ())

    def with_attributes(*operands: Any, **attrs: Any) -> Any:
        return bind(defn, operands, defn.attrs_of(attrs))

    apply: Callable[..., Any] = with_attributes if defn.schema else plain
    apply.__name__ = apply.__qualname__ = defn.name
    apply.__doc__ = defn.__doc__
    return apply


def under_name(function: Callable[..., Any], name: str, doc: str | None = None) -> Callable[..., Any]:
    """The function under the name that users call, which Python puts into the messages about its arguments."""
    if function.__qualname__ == name and function.__doc__:
        return function
    named = types.FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    functools.update_wrapper(named, function)
    del named.__dict__["__wrapped__"]
    named.__dict__.update(function.__dict__)  # which may have the `__wrapped__` that its signature is from
    named.__kwdefaults__ = function.__kwdefaults__
    named.__name__ = named.__qualname__ = name
    named.__doc__ = function.__doc__ or doc
    return named


class _Functions:
    """`F.name(*operands, **attributes)` applies a primitive as it is: equal dtypes and shapes, no promotion."""

    def __getattr__(self, name: str) -> Any:
        defn = REGISTRY.get(name)
        if defn is None:
            raise AttributeError(f"there is no primitive {name!r}")
        apply = _applier(defn)
        setattr(self, name, apply)
        return apply


def _signature(defn: type[Primitive]) -> inspect.Signature:
    """How a primitive without `call` is called: operands in order, attributes by keyword."""
    kinds = inspect.Parameter
    operands = [kinds(name, kinds.POSITIONAL_ONLY) for name in defn.operand_names]
    rest = [kinds("operands", kinds.VAR_POSITIONAL)] if defn.variadic else []
    attributes = [
        kinds(name, kinds.KEYWORD_ONLY, default=defn._defaults.get(name, kinds.empty)) for name in defn.schema
    ]
    return inspect.Signature([*operands, *rest, *attributes])


class _Public:
    """`call.name(...)` is what users call: with promotion, broadcasting and defaults where the primitive has them."""

    def __getattr__(self, name: str) -> Any:
        defn = REGISTRY.get(name)
        if defn is None:
            raise AttributeError(f"there is no primitive {name!r}")
        public = _distinct(defn.call or getattr(F, name))
        if defn.call is None:
            public.__signature__ = _signature(defn)  # type: ignore[attr-defined]
        setattr(self, name, public)
        return public


F: Any = _Functions()
call: Any = _Public()


def _distinct(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose result is a Tensor of its own also where there was nothing to do.

    Otherwise ``y = x.squeeze(); y[0] = 1`` would change x. A Value needs no such care: the frontend boxes results.
    """

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        try:
            out = function(*args, **kwargs)
        except TypeError as error:
            if kwargs:
                advise(error, function)
            raise
        except (MemoryError, ValueError) as error:
            told = error if isinstance(error, TooLittleMemoryError) else refused(error)
            if told is None:
                raise
            if trace.builder is None:  # else the place in the compiled function is known better later
                told.at(calling_expression())
            raise told from None
        return distinct(out, *args, *kwargs.values())

    return public


def distinct(out: Any, *operands: Any) -> Any:
    """The result of a function as a Tensor of its own, also where it is one of the operands itself."""
    if operands and any(out is x for x in operands) and _alias is not None and out.__class__ is not Value:
        return _alias(out)
    return out


def in_place(name: str) -> bool:
    """Whether a method of this name changes the Tensor."""
    return name.endswith("_") and not name.endswith("__")


def _add_methods(public: Callable[..., Any], names: tuple[str, ...]) -> None:
    for name in itertools.filterfalse(in_place, names):
        METHODS[name] = (lambda y, x: public(x, y)) if name in _REFLECTED else public


def composite(
    *methods: str, properties: tuple[str, ...] = (), internal: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Publishes a function written over primitives as `call.<its name>`, and as the methods and properties named.

    Users get it as `ops.<its name>`, unless it is `internal`: a part of other functions.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if internal:
            INTERNAL.add(function.__name__)
        public = _distinct(function)
        setattr(call, function.__name__, public)
        _add_methods(public, methods + properties)
        PROPERTIES.update(properties)
        return function

    return register


class _Trace(threading.local):
    """The builder that receives ops in this thread; None while nothing is being traced."""

    builder: Any = None
    #: what users call the operand that has a size, at the place that is compiled; empty if that is not known
    whose: Callable[[Any], str] = staticmethod(lambda size: "")


trace = _Trace()
