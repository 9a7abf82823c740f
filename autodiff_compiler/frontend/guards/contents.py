"""What a value from outside must match later, and how it is told: containers by content, Tensors by type."""

from __future__ import annotations

import enum
import functools
import itertools
import re
import reprlib
import types
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...dtypes import DType
from ...errors import RecursionDepthError
from ...ir.abstract import Abstract
from ...ir.types import TensorType
from ...runtime.parameter import Parameter
from ...runtime.records import held_besides, is_named_tuple
from ...runtime.tensor import Tensor
from .objects import module_name, same_static, type_of

_LEAVES_SHOWN = 4
#: Below how many bytes a copy of an array is made to compare it, which is quicker then.
_COPIED = 2048
#: In how many levels of containers from outside compiled code looks.
_DEEPEST = 200


def _rule(rules: dict[type, Any], x: Any) -> Any:
    """What is said for the class of x, or for the first that it inherits from."""
    return rules.get(type(x)) or next(rules[cls] for cls in type(x).__mro__ if cls in rules)


# ---------------------------------------------------------------------------------------------------- comparing
def matches(now: Any, expected: Any) -> bool:
    """Whether a value read again is, for compiled code, the one seen before."""
    if now is expected:
        return True
    if isinstance(expected, Content):
        return expected.matches(now)
    if isinstance(expected, TensorType):
        return isinstance(now, Tensor) and type_of(now) is expected
    if isinstance(expected, tuple) and type(now) is type(expected):
        return len(now) == len(expected) and all(map(matches, now, expected)) and not _attributes(now)
    return same_static(now, expected)


def check_nesting(value: Any) -> None:
    """Refuses a value from outside that holds itself, or containers in more levels than are followed."""
    level = [value]
    for _ in range(_DEEPEST):
        held = [x for holder in level for x in _held(holder) if isinstance(x, list | dict | tuple)]
        level = list({id(x): x for x in held}.values())
        if not level:
            return
    raise RecursionDepthError(
        f"a {type(value).__name__} from outside holds itself, or containers nested more than {_DEEPEST} deep",
        hint="keep the way back in an attribute of an object",
    )


def _held(holder: Any) -> Iterable[Any]:
    return type(holder).values(holder) if isinstance(holder, dict) else holder  # no method of an object of the user's


_BARE = frozenset((tuple, list, dict, set, frozenset, np.ndarray))


def _attributes(x: Any) -> list[tuple[str, Any]]:
    """What a container holds besides its elements."""
    return held_besides(x) if type(x) not in _BARE else []


class Content:
    """The content of an outside container as it was read; here of a list, or a tuple of such."""

    #: the bytes of an array's elements in the order of C, where those are no objects
    stored: bytes | None = None

    def __init__(self, owner: Any) -> None:
        self.kind = type(owner)
        #: what has attributes, which are watched where they are read: so another object cannot take its place
        self.only = owner if _attributes(owner) else None
        self.items: Any = self.read(owner)

    def read(self, owner: Any) -> Any:
        """The elements as they must be later."""
        return list(map(_content_of, self.of(owner)))

    @staticmethod
    def of(owner: Any) -> list[Any]:
        """The elements of a container."""
        return list(owner)

    def matches(self, now: Any) -> bool:
        """Whether another container may stand for the one that was read."""
        if type(now) is not self.kind or (now is not self.only and (self.only is not None or _attributes(now))):
            return False
        return self.same(now)

    def same(self, now: Any) -> bool:
        """Whether a container of the class holds what was read."""
        items = self.of(now)
        return len(items) == len(self.items) and all(map(matches, items, self.items))

    def written(self) -> str:
        """It as Python writes it."""
        return _sequence_written(self.kind, self.items)


class _OfSet(Content):
    """The elements of a set."""

    @staticmethod
    def of(owner: Any) -> list[Any]:
        return sorted(owner, key=repr)

    def written(self) -> str:
        text = f"{{{_some(map(shown, self.items))}}}" if self.items else ""
        plain = self.kind is set and self.items
        return _alike(self.kind, self.items) or (text if plain else f"{self.kind.__name__}({text})")


class _OfDict(Content):
    """The keys of a dict, then its values."""

    @staticmethod
    def of(owner: Any) -> list[Any]:
        return [*owner, *type(owner).values(owner)]

    def written(self) -> str:
        n = len(self.items) // 2
        pairs = zip(self.items[:n], self.items[n:], strict=True)
        text = f"{{{_some(f'{shown(key)}: {shown(value)}' for key, value in pairs)}}}"
        return text if self.kind is dict else f"{self.kind.__name__}({text})"


class _OfDefaultDict(_OfDict):
    """The keys and values of a dict that makes elements, and its factory."""

    def read(self, owner: Any) -> Any:
        self._factory = owner.default_factory
        return super().read(owner)

    def same(self, now: Any) -> bool:
        return now.default_factory is self._factory and super().same(now)


class _OfPartial(Content):
    """The function of a `partial`, and what it binds."""

    @staticmethod
    def of(owner: Any) -> list[Any]:
        return [owner.func, owner.args, owner.keywords]

    def written(self) -> str:
        return f"partial({', '.join(map(shown, self.items))})"


class _OfArray(Content):
    """The elements of an array."""

    def read(self, owner: Any) -> Any:
        if owner.dtype.hasobject or not owner.nbytes:
            return owner.copy()
        self.stored = owner.tobytes()
        return np.frombuffer(self.stored, owner.dtype).reshape(owner.shape)

    def same(self, now: Any) -> bool:
        """Whether an array has these very bits: so NaNs equal themselves, and 0.0 is not -0.0."""
        if now.shape != self.items.shape or now.dtype != self.items.dtype:
            return False
        if self.stored is None:
            return bool(now.tobytes() == self.items.tobytes())
        if now.nbytes < _COPIED or not now.flags.c_contiguous:
            return bool(now.tobytes() == self.stored)
        word = np.uint64 if now.nbytes % 8 == 0 else np.uint8
        return bool((now.reshape(-1).view(word) == np.frombuffer(self.stored, word)).all())

    def written(self) -> str:
        items = self.items.ravel()[: _LEAVES_SHOWN + 1].tolist()
        return f"array {self.items.dtype}{[*self.items.shape]} of {shown(items)}"


# ---------------------------------------------------------------------------------------------------- reading
def content_of(value: Any) -> Any:
    """What an outside value must match later: containers by content, Tensors by type, other objects by identity."""
    if isinstance(value, list | dict | tuple):
        check_nesting(value)
    return _content_of(value)


def _content_of(value: Any) -> Any:
    return _rule(_CONTENTS, value)(value)


def _of_tuple(value: Any) -> Any:
    items = tuple(map(_content_of, value))
    plain = all(a is b for a, b in zip(items, value, strict=True)) and not _attributes(value)
    return value if plain else Content(value)


def _itself(value: Any) -> Any:
    return value


_CONTENTS: dict[type, Callable[[Any], Any]] = {
    # what compiled code made is no content that a guard watches
    **dict.fromkeys((object, type(None), bool, int, float, str, Parameter, Abstract), _itself),
    Tensor: type_of,
    list: Content,
    tuple: _of_tuple,
    dict: _OfDict,
    defaultdict: _OfDefaultDict,
    set: _OfSet,
    frozenset: _OfSet,
    np.ndarray: _OfArray,
    functools.partial: _OfPartial,
}


# ---------------------------------------------------------------------------------------------------- telling
#: How an object that is only compared by identity is shown.
_OBJECT = re.compile(r"a \w+ object$")


def shown(x: Any) -> str:
    """A value that guards compare, in few words."""
    return _rule(_TOLD, x)(x)


def _object_told(x: Any) -> str:
    return f"a {type(x).__name__} object"


def _sequence_told(x: Any) -> str:
    return _object_told(x) if is_named_tuple(x) else _sequence_written(type(x), x)


_TOLD: dict[type, Callable[[Any], str]] = {
    object: _object_told,
    TensorType: lambda x: f"Tensor {x}",
    Content: lambda x: x.written(),
    **dict.fromkeys((list, tuple), _sequence_told),
    types.ModuleType: lambda x: f"module {module_name(x)}",
    type: lambda x: f"class {x.__name__}",
    types.FunctionType: lambda x: f"function {x.__name__}",
    **dict.fromkeys(
        (type(None), bool, int, float, str, bytes, DType, slice, range, enum.Enum, np.generic), reprlib.repr
    ),
}


def _sequence_written(kind: type, items: Any) -> str:
    bare, brackets = (tuple, "({})") if issubclass(kind, tuple) else (list, "[{}]")
    text = brackets.format(_some(map(shown, items)) + "," * (bare is tuple and len(items) == 1))
    return _alike(kind, items) or (text if kind is bare else f"{kind.__name__}({text})")


def _alike(kind: type, items: Any) -> str:
    """A container of some objects of one class of which nothing else is known; nothing if it is none."""
    first = shown(items[0]) if len(items) > 1 else ""
    same = _OBJECT.match(first) and all(shown(x) == first for x in items)
    return f"a {kind.__name__} of {len(items)} {first[2:]}s" if same else ""


def _some(texts: Iterable[str]) -> str:
    """The first of some texts."""
    parts = [*itertools.islice(texts, _LEAVES_SHOWN + 1)]
    return ", ".join([*parts[:_LEAVES_SHOWN], *["..."] * (len(parts) > _LEAVES_SHOWN)])
