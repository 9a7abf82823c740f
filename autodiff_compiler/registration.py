"""Tables of rules that enter themselves, each by a decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


class Registrar:
    """The decorator of a table.

    >>> table = {}; rule = Registrar(table); rule("add", "sub")(len) is table["add"] is table["sub"]
    True
    """

    def __init__(self, table: dict[Any, Any]) -> None:
        self._table = table

    def __call__(self, *keys: Any) -> Callable[[_T], _T]:
        """Enters what it decorates under these keys."""

        def enter(rule: _T) -> _T:
            self._table.update(dict.fromkeys(keys, rule))
            return rule

        return enter
