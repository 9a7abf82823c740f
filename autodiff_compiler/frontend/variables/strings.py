"""Operations on text, known now or only at run time, and on exceptions."""

from __future__ import annotations

import types
from typing import Any

from ...ir.abstract import abstract
from .arithmetic import BINARY, SLOT
from .base import class_name, kind
from .interpreter import ValueContext
from .objects import KnownSequence, ObjectVariable
from .requirements import require_static
from .rules import intrinsic
from .structure import is_static
from .text import as_text, concatenated, method, percent, text, with_spec
from .values import NewException, Text, class_of, is_tensor


@kind(str)
class StrVariable(KnownSequence):
    """A str known while compiling."""

    goes_first = True

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        if op == "Mod" and isinstance(a, str):
            return percent(ctx, a, b)
        if op == "Add" and issubclass(class_of(b), str):
            return concatenated(a, b)
        for x in (a, b):
            abstract(x).refuse(f"operator {SLOT[op]}")
        if is_tensor(b) and op == "Add":
            raise TypeError(f'can only concatenate str (not "{type(b).__name__}") to str')
        require_static(b, f"the operand of {SLOT[op]}")
        return BINARY[op](a, b)

    def contains(self, ctx: ValueContext, item: Any) -> Any:
        if not is_static(item):
            raise TypeError(f"'in <string>' requires string as left operand, not {class_name(item)}")
        return item in self.value

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        if isinstance(spec, str):
            return super().formatted(ctx, spec)
        return with_spec(as_text(self.value), "text", spec)


def _refusing(what: str) -> Any:
    """A verb that nobody can ask for; `what` may name its argument."""
    return lambda self, ctx, *given: self.value.refuse(what.format(*given))


class _Opaque(ObjectVariable):
    """A value known only at run time that nobody looks into."""

    made_here = True
    length = _refusing("len()")
    shown = _refusing("the text")
    contains = _refusing("'in'")
    truth = _refusing("the truth value")
    getattr = _refusing("'.{}'")
    getitem = _refusing("an element")
    iterate = _refusing("iteration")

    def number(self, ctx: ValueContext, kind: type, *more: Any) -> Any:
        return self.value.refuse("the truth value" if kind is bool else f"{kind.__name__}()")


@kind(Text)
class TextVariable(_Opaque, StrVariable):
    """A str known only at run time."""

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        return Text("{!r}", (self.value,), ("text",)) if fn is repr else self.value

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        return with_spec(self.value, "text", spec, "")

    def python_class(self) -> type:
        return str


@kind(NewException)
class NewExceptionVariable(_Opaque):
    """An exception that compiled code makes, which is raised and not looked at."""

    def python_class(self) -> type:
        return self.value.cls


@kind(types.BuiltinFunctionType)
class BuiltinVariable(ObjectVariable):
    """A function or bound method that C defines; one of a str may be given what is known at run time."""

    def called(self, ctx: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner = self.value.__self__
        made = method(ctx, owner, self.value.__name__, args, kwargs) if isinstance(owner, str) else None
        return super().called(ctx, args, kwargs) if made is None else made


# ---------------------------------------------------------------------------------------------------- functions
for _fn in (str, repr, format, ascii):
    intrinsic(_fn)(lambda ctx, *args, _fn=_fn, **kwargs: text(ctx, _fn, *args, **kwargs))
