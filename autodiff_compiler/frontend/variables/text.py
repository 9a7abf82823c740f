"""Text made at run time: f-strings, `str`, `repr`, `format`, `%`, `+`, `join`, and `print`.

Static values become text while compiling.  A piece of text that is known only at run time is a `Text`: a format string
of Python and its arguments.  It can be printed, raised, used as the message of an assert, and joined to other text.
"""

from __future__ import annotations

import builtins
import collections
import dataclasses
import operator
import re
import string
import types
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import StaticValueError
from ...ir.build import current
from ...ir.core import Value
from ...runtime.parameter import ParameterTuple
from ...runtime.records import is_named_tuple
from ...runtime.tensor import Tensor, wrap
from ..guards import objects
from . import requirements
from .arithmetic import BINARY, SLOT, kind_of_number, lifted_number, to_number
from .base import kind, variable_of
from .elements import iterate_static
from .interpreter import ValueContext
from .objects import KnownSequence, ObjectVariable
from .requirements import refuse_text, require_static
from .rules import intrinsic
from .structure import elements, flatten, is_static, parts
from .values import (
    ArrayVar,
    DictView,
    LocalDict,
    LocalList,
    LocalObject,
    NewException,
    StateVar,
    TensorVar,
    Text,
    Weak,
    class_of,
    describe,
    is_dynamic,
    is_tensor,
    usable,
)

__all__ = ["Operands", "concatenated", "format_method", "formatted", "join", "method", "percent", "text"]

_ONLY = "such text can be printed, raised, be the message of an assert, or be joined to other text"


# ---------------------------------------------------------------------------------------------------- pieces
def _literal(piece: str) -> str:
    return piece.replace("{", "{{").replace("}", "}}")


def concatenated(*pieces: Any) -> Any:
    """Pieces of text, static or not, as one."""
    if all(isinstance(p, str) for p in pieces):
        return "".join(pieces)
    forms: list[str] = []
    arguments: list[Any] = []
    ways: list[str] = []
    for p in pieces:
        if type(p) is Text:
            forms.append(p.form)
            arguments += p.arguments
            ways += p.ways
        elif isinstance(p, str):
            forms.append(_literal(p))
        else:
            raise TypeError(f"can only concatenate str, not {describe(p)}")
    return Text("".join(forms), tuple(arguments), tuple(ways))


def join(separator: Any, pieces: Sequence[Any]) -> Any:
    """``separator.join(pieces)``."""
    for i, p in enumerate(pieces):
        if not isinstance(p, str | Text):
            raise TypeError(f"sequence item {i}: expected str instance, {describe(p)} found")
    return concatenated(*[x for p in pieces for x in (separator, p)][1:])


def text(lw: ValueContext, fn: Any, x: Any = "", *spec: Any) -> Any:
    """``str(x)``, ``repr(x)``, ``ascii(x)`` or ``format(x, spec)``; the methods of users' classes are compiled."""
    if fn is ascii:
        return _ascii(text(lw, repr, x))
    run_time = type(usable(x)) in (TensorVar, StateVar, Weak, Text, ArrayVar)
    if (fn is format and run_time) or (spec and type(spec[0]) is Text):
        return _formatted(lw, x, spec[0] if spec else "")
    if fn is str and spec:
        return str(x, *spec)
    made = _dynamic(lw, fn, x)
    if made is not None:
        return made
    method = requirements.python_method(lw, x, "__format__") if fn is format else None
    if method is not None:
        return lw.call_python(method, [x, *(spec or ("",))], {})
    if fn is not repr and not any(spec):
        method = requirements.python_method(lw, x, "__str__")
    method = method or requirements.python_method(lw, x, "__repr__")
    if method is not None and not objects.is_ours(method):
        if requirements.is_generated(x, method):
            return _fields(lw, class_of(x).__qualname__, _shown_fields(lw, x))
        if not _of_namedtuple(method):
            return lw.call_python(method, [x], {})
    if type(x) is LocalObject:
        raise StaticValueError(f"the text of a {describe(x)}", hint=f"give {x.cls.__name__} a `__str__` or `__repr__`")
    if elements(x) is None or (is_static(x) and all(map(requirements.is_seen, parts(x)))):
        return fn(x, *spec)
    if any(spec):
        raise TypeError(f"unsupported format string passed to {describe(x).split()[0]}.__format__")
    return _container(lw, x)


def _of_namedtuple(method: Any) -> bool:
    return bool(method.__code__.co_filename == collections.__file__)


def _shown_fields(lw: ValueContext, x: Any) -> list[tuple[str, Any]]:
    return [(f.name, lw.call(getattr, [x, f.name], {})) for f in dataclasses.fields(class_of(x)) if f.repr]


def _fields(lw: ValueContext, name: str, fields: Sequence[tuple[str, Any]]) -> Any:
    return concatenated(f"{name}(", join(", ", [concatenated(f"{k}=", text(lw, repr, v)) for k, v in fields]), ")")


def _dynamic(lw: ValueContext, fn: Any, x: Any) -> Any:
    """The text of a value known only at run time; None for other values."""
    kind = type(usable(x))
    if kind is Text:
        return Text("{!r}", (x,), ("text",)) if fn is repr else x
    if kind is Weak:
        return Text("{}", (x,), ("number",))
    if kind is StateVar:
        source = x.source
        return lw.outside.property(source, "text", "the text of a Parameter", lambda: str(source))
    if kind is TensorVar:
        if x.snapshot is not None:
            raise StaticValueError("the text of a Tensor that is one of several Parameters, chosen at run time")
        # A box of its own, so that later changes of the Tensor leave the text as it is.
        return Text("{!s}" if fn is str else "{}", (TensorVar(lw.unwrap(x)),), ("str" if fn is str else "repr",))
    if kind is ArrayVar:
        return Text("{!s}" if fn is str else "{!r}", (x,), (_way_of_array(x),))
    if isinstance(x, Tensor):
        return text(lw, fn, lw.outside.captured(x))
    return None


def _way_of_array(x: ArrayVar) -> str:
    return "array" if x.kind is np.ndarray else "scalar"


def _container(lw: ValueContext, x: Any) -> Any:
    """The text of a container that holds values known only at run time."""
    if isinstance(x, dict):
        _check_class(x, (dict, LocalDict))
        pairs = [(text(lw, repr, k), text(lw, repr, _element(lw, x, k))) for k in x]
        return concatenated("{", join(", ", [concatenated(k, ": ", v) for k, v in pairs]), "}")
    items = [_element(lw, x, i) for i in range(len(x))]
    if is_named_tuple(x):
        return _fields(lw, type(x).__name__, list(zip(x._fields, items, strict=True)))
    _check_class(x, (list, LocalList, tuple, ParameterTuple, DictView))
    shown = join(", ", [text(lw, repr, i) for i in items])
    if isinstance(x, DictView):
        return concatenated(f"dict_{x.kind}([", shown, "])")
    if isinstance(x, list):
        return concatenated("[", shown, "]")
    return concatenated("(", shown, ",)" if len(items) == 1 else ")")


def _element(lw: ValueContext, x: Any, key: Any) -> Any:
    return x[key] if isinstance(x, LocalList | LocalDict) else lw.outside.item(x, key, x[key])


def _check_class(x: Any, classes: tuple[type, ...]) -> None:
    if type(x) not in classes:
        raise StaticValueError(
            f"the text of a {type(x).__name__} that holds values known only at run time", hint="print its elements"
        )


def _ascii(x: Any) -> Any:
    if not isinstance(x, Text):
        return x.encode("ascii", "backslashreplace").decode()
    escaped = x.form.encode("ascii", "backslashreplace").decode()
    return Text(escaped.replace("{!r}", "{!a}"), x.arguments, x.ways)


# ---------------------------------------------------------------------------------------------------- formatting
def _formatted(lw: ValueContext, x: Any, spec: Any) -> Any:
    """``format(x, spec)`` where one of the two is known only at run time."""
    if spec == "":
        return text(lw, str, x)
    kind = kind_of_number(x)
    if kind is not None:
        if isinstance(spec, str):
            format(kind(1), spec)  # raises what Python raises
        number = x if type(x) is Weak else Weak(lifted_number(x, kind, current()), kind)
        return _with_spec(number, "number", spec)
    if isinstance(x, str | Text):
        if isinstance(spec, str):
            format("", spec)
        return _with_spec(x if isinstance(x, Text) else Text(_literal(x), (), ()), "text", spec)
    if type(x) is ArrayVar:
        if isinstance(spec, str):
            sizes: Any = x.type.shape
            format(np.ones(sizes) if x.kind is np.ndarray else 1.0, spec)
        return _with_spec(x, _way_of_array(x), spec)
    if type(x) is TensorVar:
        made = text(lw, str, x)
        if isinstance(spec, str):
            shape: Any = x.type.shape
            format(wrap(np.ones(shape, x.type.dtype.numpy)), spec)
        return _with_spec(made.arguments[0], "number", spec)
    raise StaticValueError(f"how a {describe(x)} is formatted must be known at compile time")


def _with_spec(x: Any, way: str, spec: Any) -> Text:
    if isinstance(spec, str) and not {"{", "}"}.intersection(spec):
        return Text(f"{{:{spec}}}", (x,), (way,))
    nested = spec if type(spec) is Text else Text(_literal(spec), (), ())
    return Text("{:{}}", (x, nested), (way, "text"))


def formatted(lw: ValueContext, x: Any, conversion: str, spec: Any) -> Any:
    """What a replacement field gives: ``{x!conversion:spec}``."""
    conversions: dict[str, Any] = {"s": str, "r": repr, "a": ascii}
    if conversion in conversions:
        x = text(lw, conversions[conversion], x)
    return text(lw, format, x, spec)


def format_method(lw: ValueContext, form: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``form.format(*args, **kwargs)``."""
    counter = iter(range(len(args) + 1))

    def fields(form: str) -> Any:
        pieces: list[Any] = []
        for literal, name, spec, conversion in string.Formatter().parse(form):
            pieces.append(literal)
            if name is not None:
                x = _field(lw, name, counter, args, kwargs)
                pieces.append(formatted(lw, x, conversion or "", fields(spec or "")))
        return concatenated(*pieces)

    return fields(form)


def method(lw: ValueContext, owner: str, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a method of a static str gives for values known only at run time; None if Python itself can call it."""
    if name == "join" and len(args) == 1 and not kwargs:
        pieces = list(iterate_static(lw, args[0]))
        return owner.join(pieces) if all(map(is_static, pieces)) else join(owner, pieces)
    if name not in ("format", "format_map"):
        return None
    given = [*args, *kwargs.values()]
    if is_static(given) and all(requirements.is_seen(leaf) for leaf in flatten(given)):
        return None
    return format_method(lw, owner, args, kwargs) if name == "format" else format_method(lw, owner, (), args[0])


def _field(lw: ValueContext, name: str, counter: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The value that a field of a format string names: ``0``, ``x.shape``, ``d[key]``."""
    first = re.match(r"[^.\[]*", name)[0]  # type: ignore[index]
    if first == "" or first.isdigit():
        number = int(first) if first else next(counter)
        if number >= len(args):
            raise IndexError(f"Replacement index {number} out of range for positional args tuple")
        x = args[number]
    else:
        x = kwargs[first]
    for attribute, index in re.findall(r"\.([^.\[]+)|\[([^\]]+)\]", name[len(first) :]):
        key: Any = int(index) if index.isdigit() else index
        x = lw.call(getattr, [x, attribute], {}) if attribute else lw.call(operator.getitem, [x, key], {})
    return x


_PERCENT = re.compile(r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[#0\- +]*)(?P<width>\d+|\*)?(?:\.(?P<digits>\d+|\*)?)?"
                      r"[hlL]?(?P<kind>[%a-zA-Z])")  # fmt: skip


def percent(lw: ValueContext, form: str, given: Any) -> Any:
    """``form % given``."""
    mapping = given if isinstance(given, dict) else None
    values = iter(given if isinstance(given, tuple) else (given,))
    pieces, end = [], 0
    for found in _PERCENT.finditer(form):
        pieces.append(form[end : found.start()])
        end = found.end()
        if found["kind"] == "%":
            pieces.append("%")
            continue
        try:
            stars = [next(values) if found[part] == "*" else found[part] for part in ("width", "digits")]
            x = lw.call(operator.getitem, [mapping, found["key"]], {}) if mapping is not None else next(values)
        except StopIteration:
            raise TypeError("not enough arguments for format string") from None
        pieces.append(_conversion(lw, found, x, *(requirements.require_static(s, "a width of '%'") for s in stars)))
    if mapping is None and next(values, pieces) is not pieces:
        raise TypeError("not all arguments converted during string formatting")
    return concatenated(*pieces, form[end:])


def _conversion(lw: ValueContext, found: Any, x: Any, width: Any, digits: Any) -> Any:
    """One ``%5.2f`` of an argument."""
    flags, kind = found["flags"], found["kind"]
    if kind not in "diuoxXeEfFgGcrsa":
        raise ValueError(f"unsupported format character {kind!r} ({hex(ord(kind))}) at index {found.end() - 1}")
    if ("." in found[0].rpartition(")")[2]) and digits is None:
        digits = 0
    if is_static(x) and requirements.is_seen(x):
        return f"%{flags}{'' if width is None else width}{'' if digits is None else f'.{digits}'}{kind}" % (x,)
    align = "<" if "-" in flags else ">"
    cut = "" if digits is None else f".{digits}"
    if kind in "sra":
        x = text(lw, {"s": str, "r": repr, "a": ascii}[kind], x)
        spec = f"{align}{width}{cut}" if width is not None else cut
        return text(lw, format, x, spec)
    whole = kind in "diuxXoc"
    if not (is_dynamic(x) or requirements.is_seen(x)):
        x = lw.call(int if whole else float, [x], {})
        return _conversion(lw, found, x, width, digits)
    if type(x) is Weak or type(x) in (TensorVar, StateVar):
        if whole and digits is None and (kind not in "xXoc" or _kind_of(x) is not float):
            x = to_number(lw, x, int) if is_dynamic(x) and type(x) is not Weak else lw.call(int, [x], {})
        elif kind in "eEfFgG":
            x = to_number(lw, x, float) if type(x) is not Weak else lw.call(float, [x], {})
        else:
            raise StaticValueError(f"'{found[0]}' of a {describe(x)} known only at run time", hint="use format()")
        sign = "+" if "+" in flags else " " if " " in flags else ""
        fill = "0" if "0" in flags and "-" not in flags else ""
        place = align if "-" in flags else ""
        letter = {"i": "d", "u": "d"}.get(kind, kind)
        sharp = "#" if "#" in flags else ""
        return text(lw, format, x, f"{place}{sign}{sharp}{fill}{'' if width is None else width}{cut}{letter}")
    raise TypeError(f"%{kind} format: a real number is required, not {describe(x)}")


def _kind_of(x: Any) -> type:
    return x.kind if type(x) is Weak else float if x.type.dtype.is_float else int


# ---------------------------------------------------------------------------------------------------- operands
class Operands:
    """The operands of an op that prints or raises text, with what each of them stands for."""

    def __init__(self, lw: ValueContext) -> None:
        self._lw = lw
        self.values: list[Value] = []
        self.ways: list[str] = []
        self._known: dict[tuple[int, str], int] = {}

    def add(self, x: Any, way: str) -> int:
        """The number of an operand: a Tensor or a number in one of the ways of `Text`."""
        value = x.value if type(x) in (Weak, ArrayVar) else self._lw.unwrap(x)
        key = (id(value), way)
        if key not in self._known:
            self._known[key] = len(self.values)
            self.values.append(value)
            self.ways.append(way)
        return self._known[key]

    def part(self, x: Any) -> Any:
        """Text as a part of a `print`: itself, the number of an operand, or a format string with its arguments."""
        if not isinstance(x, Text):
            return x
        if x.form in ("{}", "{!s}") and x.ways[0] in ("str", "number"):
            return self.add(x.arguments[0], x.ways[0])
        return self._form(x)

    def _form(self, x: Text) -> tuple[Any, ...]:
        pairs = zip(x.arguments, x.ways, strict=True)
        return (x.form, *[self._form(a) if way == "text" else self.add(a, way) for a, way in pairs])


# ---------------------------------------------------------------------------------------------------- functions
def _text_function(name: str) -> Any:
    fn = getattr(builtins, name)
    return lambda lw, *args, **kwargs: text(lw, fn, *args, **kwargs)


for _name in ("str", "repr", "format", "ascii"):
    intrinsic(getattr(builtins, _name))(_text_function(_name))


# ---------------------------------------------------------------------------------------------------- what can be done
@kind(str)
class StrVariable(KnownSequence):
    """A str known while compiling."""

    __slots__ = ()
    goes_first = True

    def binary(self, lw: ValueContext, op: str, a: Any, b: Any) -> Any:
        if op == "Mod" and isinstance(a, str):
            return percent(lw, a, b)
        if op == "Add" and isinstance(b, str | Text):
            return concatenated(a, b)
        refuse_text(a, f"operator {SLOT[op]}")
        refuse_text(b, f"operator {SLOT[op]}")
        if is_tensor(b) and op == "Add":
            raise TypeError(f'can only concatenate str (not "{type(b).__name__}") to str')
        require_static(b, f"the operand of {SLOT[op]}")
        return BINARY[op](a, b)

    def contains(self, lw: ValueContext, item: Any) -> Any:
        if not is_static(item):
            kind = variable_of(item).python_class()
            raise TypeError(f"'in <string>' requires string as left operand, not {kind.__name__}")
        return item in self.value


class _Opaque(ObjectVariable):
    """A value known only at run time that nobody looks into."""

    __slots__ = ()
    made_here = True

    def length(self, lw: ValueContext) -> Any:
        return refuse_text(self.value, "len()")

    def number(self, lw: ValueContext, kind: type, *more: Any) -> Any:
        return refuse_text(self.value, "the truth value" if kind is bool else f"{kind.__name__}()")

    def contains(self, lw: ValueContext, item: Any) -> Any:
        return refuse_text(self.value, "'in'")

    def truth(self, lw: ValueContext) -> Any:
        return refuse_text(self.value, "the truth value")

    def getattr(self, lw: ValueContext, name: str) -> Any:
        return refuse_text(self.value, f"'.{name}'")

    def getitem(self, lw: ValueContext, index: Any) -> Any:
        return refuse_text(self.value, "an element")

    def iterate(self, lw: ValueContext) -> Iterable[Any]:
        refuse_text(self.value, "iteration")
        return ()


@kind(Text)
class TextVariable(_Opaque, StrVariable):
    """A str known only at run time."""

    __slots__ = ()

    def python_class(self) -> type:
        return str


@kind(NewException)
class NewExceptionVariable(_Opaque):
    """An exception that compiled code makes, which is raised and not looked at."""

    __slots__ = ()

    def python_class(self) -> type:
        cls: type = self.value.cls
        return cls


@kind(types.BuiltinFunctionType)
class BuiltinVariable(ObjectVariable):
    """A function or bound method that C defines; one of a str may be given what is known at run time."""

    __slots__ = ()

    def called(self, lw: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner = self.value.__self__
        made = method(lw, owner, self.value.__name__, args, kwargs) if isinstance(owner, str) else None
        return super().called(lw, args, kwargs) if made is None else made
