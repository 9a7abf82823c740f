"""Checks of constructor arguments: each returns the value, or raises an error that names the argument."""

from __future__ import annotations

from typing import Any

from ..errors import kind_of
from ..primitives.window import padding_pairs, per_dimension

__all__ = ["choice", "flag", "fraction", "integer", "number", "padding", "positive", "probability", "sizes"]


def integer(name: str, value: Any, least: int | None = None) -> int:
    """An int, not below `least`; TypeError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"`{name}` must be an int, not {kind_of(value)}")
    if least is not None and value < least:
        raise ValueError(f"`{name}` must be {'positive' if least == 1 else f'at least {least}'}, not {value}")
    return value


def positive(name: str, value: Any) -> int:
    """An int of at least 1; TypeError, ValueError."""
    return integer(name, value, 1)


def number(name: str, value: Any) -> int | float:
    """An int or a float; TypeError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"`{name}` must be a number, not {kind_of(value)}")
    return value


def fraction(name: str, value: Any) -> float:
    """A number from 0 to 1; TypeError, ValueError."""
    if not 0 <= number(name, value) <= 1:
        raise ValueError(f"`{name}` must be from 0 to 1, not {value}")
    return float(value)


def probability(name: str, value: Any) -> float:
    """A number from 0 to less than 1; TypeError, ValueError."""
    if not 0 <= number(name, value) < 1:
        raise ValueError(f"{name} must be from 0 to less than 1, not {value}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """A bool; TypeError."""
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be a bool, not {kind_of(value)}")
    return value


def choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of some strings; TypeError for no string, ValueError for another."""
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a string, not {kind_of(value)}")
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return value


def sizes(name: str, value: Any, n: int, least: int = 1) -> tuple[int, ...]:
    """An int or n of them, as n ints, none below `least`; TypeError, ValueError."""
    for v in value if isinstance(value, tuple | list) else (value,):
        integer(name, v, least)
    if isinstance(value, tuple | list) and len(value) not in (1, n):
        raise ValueError(f"`{name}` must be one int or {n}, not {tuple(value)}")
    if isinstance(value, tuple | list) and len(value) == 1:
        value = value[0]
    return tuple(per_dimension(value, n, name, least))


def padding(pad_mode: str, value: Any, n: int) -> Any:
    """The padding of windows over n dimensions: an int, n or 2n ints; other than 0 only with `pad_mode` "pad"."""
    for v in value if isinstance(value, tuple | list) else (value,):
        integer("padding", v, 0)
    if pad_mode != "pad" and any(padding_pairs(value, n)):
        raise ValueError(f"padding={value!r} has no meaning with pad_mode={pad_mode!r}: use pad_mode='pad'")
    if isinstance(value, tuple | list) and len(value) not in (1, n, 2 * n):
        raise ValueError(f"`padding` must be one int, {n} or {2 * n}, not {tuple(value)}")
    return value[0] if isinstance(value, tuple | list) and len(value) == 1 else value
