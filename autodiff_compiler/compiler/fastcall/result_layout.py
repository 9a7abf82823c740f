"""Construction of the returned value in machine code, where its template allows that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from ...backends.native.callpath.signature import Form
from ...dtypes import DType
from ...frontend.lower import Arg, Out, State
from ...frontend.variables.values import LocalDict, LocalList

__all__ = ["parts_of", "result_layout"]

_CONTAINERS: dict[Any, str] = {tuple: "tuple", list: "list", LocalList: "list", dict: "dict", LocalDict: "dict"}
_CONSTANT = (type(None), bool, int, float, str, bytes, DType)


def result_layout(template: Any, arrays: Collection[int]) -> tuple[Form | None, dict[str, Any]]:
    """The form of a template, with the constants in it by name; None where only Python can assemble the value.

    `arrays`: which of the arguments are ndarrays; Python returns those.
    """
    constants: dict[str, Any] = {}
    try:
        form = _form(template, constants, set())
    except _InPythonError:
        return None, {}
    results: Counter[int] = Counter()
    bare: set[int] = set()
    for leaf in form.leaves():
        if leaf.kind == "argument" and leaf.number in arrays:
            return None, {}
        if leaf.kind in ("array", "result"):
            results[leaf.number] += 1
            bare |= {leaf.number} if leaf.kind == "array" else set()
    return (None, {}) if any(results[i] > 1 for i in bare) else (form, constants)


def parts_of(count: int) -> Form:
    """A tuple of the first results."""
    return Form("tuple", items=tuple(Form("result", number=i) for i in range(count)))


class _InPythonError(Exception):
    """A part that only Python can assemble."""


def _form(template: Any, constants: dict[str, Any], seen: set[int]) -> Form:
    kind = type(template)
    if kind is Out and template.kind is None:
        return Form("result", number=template.index)
    if kind is Out and template.kind is np.ndarray:
        return Form("array", number=template.index)
    if kind is Arg and template.kind is None:
        return Form("argument", number=template.index)
    if kind is State:
        return Form("constant", name=_named(template.source, constants))
    if kind in _CONSTANT:
        return Form("constant", name=_named(template, constants))
    if kind not in _CONTAINERS or (kind is not tuple and id(template) in seen):
        raise _InPythonError  # aliases
    seen.add(id(template))
    if _CONTAINERS[kind] != "dict":
        return Form(_CONTAINERS[kind], items=tuple(_form(t, constants, seen) for t in template))
    if not all(type(key) in _CONSTANT for key in template):
        raise _InPythonError
    keys = tuple(_named(key, constants) for key in template)
    return Form("dict", items=tuple(_form(t, constants, seen) for t in template.values()), keys=keys)


def _named(x: Any, constants: dict[str, Any]) -> str:
    name = f"constant {len(constants)}"
    constants[name] = x
    return name
