"""Text made at run time: f-strings, `str`, `repr`, `format`, `%`, `+`, `join`, and `print`.

Static values become text while compiling.  A piece of text that is known only at run time is a `Text`: a format string
of Python and its arguments.  It can be printed, raised, used as the message of an assert, and joined to other text.
"""

from __future__ import annotations

import collections
import dataclasses
import operator
import re
import string
from collections.abc import Sequence
from typing import Any

from ...errors import StaticValueError
from ...ir.build import current
from ...ir.core import Value
from ..guards import objects
from . import requirements
from .arithmetic import kind_of_number, lifted_number
from .base import variable_of
from .elements import iterate_static
from .interpreter import ValueContext
from .structure import elements, flatten, is_static, parts
from .values import SymScalar, Text, class_of, describe, is_dynamic, is_tensor, usable


# ---------------------------------------------------------------------------------------------------- pieces
def _literal(piece: str) -> str:
    return piece.replace("{", "{{").replace("}", "}}")


def as_text(piece: Any) -> Text:
    """A str, known now or only at run time, as text made at run time."""
    return Text(_literal(piece), (), ()) if isinstance(piece, str) else piece


def concatenated(*pieces: Any) -> Any:
    """Pieces of text, static or not, as one."""
    for p in pieces:
        if not issubclass(class_of(p), str):
            raise TypeError(f"can only concatenate str, not {describe(p)}")
    if all(isinstance(p, str) for p in pieces):
        return "".join(pieces)
    made = [as_text(p) for p in pieces]
    arguments = tuple([x for t in made for x in t.arguments])
    ways = tuple([w for t in made for w in t.ways])
    return Text("".join([t.form for t in made]), arguments, ways)


def join(separator: Any, pieces: Sequence[Any]) -> Any:
    """``separator.join(pieces)``."""
    for i, p in enumerate(pieces):
        if not issubclass(class_of(p), str):
            raise TypeError(f"sequence item {i}: expected str instance, {describe(p)} found")
    return concatenated(*[x for p in pieces for x in (separator, p)][1:])


def text(ctx: ValueContext, fn: Any, x: Any = "", *spec: Any) -> Any:
    """``str(x)``, ``repr(x)``, ``ascii(x)`` or ``format(x, spec)``; the methods of users' classes are compiled."""
    if fn is ascii:
        return _ascii(text(ctx, repr, x))
    if fn is not format and spec:
        return fn(x, *spec)
    variable = variable_of(usable(x))
    return variable.formatted(ctx, spec[0]) if any(spec) else variable.shown(ctx, fn)


def by_method(ctx: ValueContext, fn: Any, x: Any) -> Any:
    """The text that a method of the user's class gives; NotImplemented if there is none."""
    method = requirements.python_method(ctx, x, "__format__") if fn is format else None
    if method is not None:
        return ctx.call_python(method, [x, ""], {})
    method = None if fn is repr else requirements.python_method(ctx, x, "__str__")
    method = method or requirements.python_method(ctx, x, "__repr__")
    if method is None or objects.is_ours(method):
        return NotImplemented
    if requirements.is_generated(x, method):
        return fields(ctx, class_of(x).__qualname__, _shown_fields(ctx, x))
    return NotImplemented if _of_namedtuple(method) else ctx.call_python(method, [x], {})


def _of_namedtuple(method: Any) -> bool:
    return bool(method.__code__.co_filename == collections.__file__)


def _shown_fields(ctx: ValueContext, x: Any) -> list[tuple[str, Any]]:
    return [(f.name, ctx.call(getattr, [x, f.name], {})) for f in dataclasses.fields(class_of(x)) if f.repr]


def fields(ctx: ValueContext, name: str, held: Sequence[tuple[str, Any]]) -> Any:
    """The text of an object of a class by its fields."""
    return concatenated(f"{name}(", join(", ", [concatenated(f"{k}=", text(ctx, repr, v)) for k, v in held]), ")")


def _ascii(x: Any) -> Any:
    if isinstance(x, str):
        return x.encode("ascii", "backslashreplace").decode()
    escaped = x.form.encode("ascii", "backslashreplace").decode()
    return Text(escaped.replace("{!r}", "{!a}"), x.arguments, x.ways)


# ---------------------------------------------------------------------------------------------------- formatting
def formatted_object(ctx: ValueContext, x: Any, spec: Any) -> Any:
    """``format(x, spec)`` of an object; NotImplemented if the specification would have to be known."""
    kind = kind_of_number(x)
    if kind is not None and not isinstance(spec, str):
        return with_spec(SymScalar(lifted_number(x, kind, current()), kind), "number", spec)
    method = requirements.python_method(ctx, x, "__format__")
    if method is not None:
        return ctx.call_python(method, [x, spec], {})
    if not isinstance(spec, str):
        return NotImplemented
    if can_be_shown(x):
        return format(x, spec)
    raise TypeError(f"unsupported format string passed to {describe(x).split()[0]}.__format__")


def can_be_shown(x: Any) -> bool:
    """Whether Python itself can tell the text of an object while compiling."""
    return elements(x) is None or (is_static(x) and all(map(requirements.is_seen, parts(x))))


def with_spec(x: Any, way: str, spec: Any, like: Any = None) -> Text:
    """A value in one of the ways of `Text`, formatted; `like` is a known value, which raises what Python raises."""
    if isinstance(spec, str):
        format(like, spec)
        if not {"{", "}"}.intersection(spec):
            return Text(f"{{:{spec}}}", (x,), (way,))
    return Text("{:{}}", (x, as_text(spec)), (way, "text"))


def formatted(ctx: ValueContext, x: Any, conversion: str, spec: Any) -> Any:
    """What a replacement field gives: ``{x!conversion:spec}``."""
    conversions: dict[str, Any] = {"s": str, "r": repr, "a": ascii}
    if conversion in conversions:
        x = text(ctx, conversions[conversion], x)
    return text(ctx, format, x, spec)


def format_method(ctx: ValueContext, form: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``form.format(*args, **kwargs)``."""
    counter = iter(range(len(args) + 1))

    def fields(form: str) -> Any:
        pieces: list[Any] = []
        for literal, name, spec, conversion in string.Formatter().parse(form):
            pieces.append(literal)
            if name is not None:
                x = _field(ctx, name, counter, args, kwargs)
                pieces.append(formatted(ctx, x, conversion or "", fields(spec or "")))
        return concatenated(*pieces)

    return fields(form)


def method(ctx: ValueContext, owner: str, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a method of a static str gives for values known only at run time; None if Python itself can call it."""
    if name == "join" and len(args) == 1 and not kwargs:
        pieces = list(iterate_static(ctx, args[0]))
        return owner.join(pieces) if all(map(is_static, pieces)) else join(owner, pieces)
    if name not in ("format", "format_map"):
        return None
    given = [*args, *kwargs.values()]
    if is_static(given) and all(requirements.is_seen(leaf) for leaf in flatten(given)):
        return None
    return format_method(ctx, owner, args, kwargs) if name == "format" else format_method(ctx, owner, (), args[0])


def _field(ctx: ValueContext, name: str, counter: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
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
        x = ctx.call(getattr, [x, attribute], {}) if attribute else ctx.call(operator.getitem, [x, key], {})
    return x


_PERCENT = re.compile(r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[#0\- +]*)(?P<width>\d+|\*)?(?:\.(?P<digits>\d+|\*)?)?"
                      r"[hlL]?(?P<kind>[%a-zA-Z])")  # fmt: skip


def percent(ctx: ValueContext, form: str, given: Any) -> Any:
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
            x = ctx.call(operator.getitem, [mapping, found["key"]], {}) if mapping is not None else next(values)
        except StopIteration:
            raise TypeError("not enough arguments for format string") from None
        pieces.append(_conversion(ctx, found, x, *(requirements.require_static(s, "a width of '%'") for s in stars)))
    if mapping is None and next(values, pieces) is not pieces:
        raise TypeError("not all arguments converted during string formatting")
    return concatenated(*pieces, form[end:])


def _conversion(ctx: ValueContext, found: Any, x: Any, width: Any, digits: Any) -> Any:
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
        x = text(ctx, {"s": str, "r": repr, "a": ascii}[kind], x)
        spec = f"{align}{width}{cut}" if width is not None else cut
        return text(ctx, format, x, spec)
    whole = kind in "diuxXoc"
    if not (is_dynamic(x) or requirements.is_seen(x)):
        return _conversion(ctx, found, variable_of(x).number(ctx, int if whole else float), width, digits)
    given = (float if x.type.dtype.is_float else int) if is_tensor(x) else kind_of_number(x)
    if given is None:
        raise TypeError(f"%{kind} format: a real number is required, not {describe(x)}")
    if not ((whole and digits is None and (kind not in "xXoc" or given is not float)) or kind in "eEfFgG"):
        raise StaticValueError(f"'{found[0]}' of a {describe(x)} known only at run time", hint="use format()")
    x = variable_of(x).number(ctx, int if whole else float)
    sign = "+" if "+" in flags else " " if " " in flags else ""
    fill = "0" if "0" in flags and "-" not in flags else ""
    place = align if "-" in flags else ""
    letter = {"i": "d", "u": "d"}.get(kind, kind)
    sharp = "#" if "#" in flags else ""
    return text(ctx, format, x, f"{place}{sign}{sharp}{fill}{'' if width is None else width}{cut}{letter}")


# ---------------------------------------------------------------------------------------------------- operands
class Operands:
    """The operands of an op that prints or raises text, with what each of them stands for."""

    def __init__(self, ctx: ValueContext) -> None:
        self._lw = ctx
        self.values: list[Value] = []
        self.ways: list[str] = []
        self._known: dict[tuple[int, str], int] = {}

    def add(self, x: Any, way: str) -> int:
        """The number of an operand: a Tensor or a number in one of the ways of `Text`."""
        value = variable_of(x).to_operand(self._lw)
        key = (id(value), way)
        if key not in self._known:
            self._known[key] = len(self.values)
            self.values.append(value)
            self.ways.append(way)
        return self._known[key]

    def part(self, x: Any) -> Any:
        """Text as a part of a `print`: itself, the number of an operand, or a format string with its arguments."""
        if isinstance(x, str):
            return x
        if x.form in ("{}", "{!s}") and x.ways[0] in ("str", "number"):
            return self.add(x.arguments[0], x.ways[0])
        return self._form(x)

    def _form(self, x: Text) -> tuple[Any, ...]:
        pairs = zip(x.arguments, x.ways, strict=True)
        return (x.form, *[self._form(a) if way == "text" else self.add(a, way) for a, way in pairs])
