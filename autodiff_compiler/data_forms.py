"""Schemas of JSON files: types, fields and lengths, validated once, when a file is read."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["OneOf", "fits", "is_key", "is_size"]

_KEY = re.compile(r"[0-9a-f]{64}")
_MOST = 1 << 47  # bytes that a process can address


class OneOf:
    """Any of several forms."""

    def __init__(self, *forms: Any) -> None:
        self.forms = forms


def fits(data: Any, form: Any) -> bool:
    """Whether data has a form.

    A form is a type, None, the one text that is meant, a dict of forms with all keys that there are, a list of the one
    form of all elements, a tuple of the forms of a list of that length, `OneOf` several, or a function that says it.

    >>> fits({"a": [1, 2], "b": [True, "x"]}, {"a": [int], "b": (bool, str)}), fits({"a": [1.0]}, {"a": [int]})
    (True, False)
    """
    if form is None or isinstance(form, type):
        return data is None if form is None else type(data) is form
    if isinstance(form, str):
        return type(data) is str and data == form
    if isinstance(form, OneOf):
        return any(fits(data, one) for one in form.forms)
    if isinstance(form, dict):
        return type(data) is dict and data.keys() == form.keys() and all(fits(data[k], form[k]) for k in form)
    if isinstance(form, list):
        return type(data) is list and all(fits(x, form[0]) for x in data)
    if isinstance(form, tuple):
        return type(data) is list and len(data) == len(form) and all(map(fits, data, form))
    return bool(form(data))


def is_key(data: Any) -> bool:
    """The name of a file of the cache."""
    return type(data) is str and _KEY.fullmatch(data) is not None


def is_size(data: Any) -> bool:
    """A number of bytes or of things."""
    return type(data) is int and 0 <= data < _MOST
