"""What `cache_info()` of a compiled function gives."""

from __future__ import annotations

from typing import Any

from .. import escape
from .tabular import html_table


class CacheInfo(dict[str, Any]):
    """A dict of counts and of the calls with a compiled form, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in self.items() if name != "keys")
        rows = [[key["call"], str(key["hits"]), "yes" if key["valid"] else "no"] for key in self["keys"]]
        return f"<p>{escape.markup(counts)}</p>{html_table(['call', 'hits', 'valid'], rows, {'call'}) if rows else ''}"
