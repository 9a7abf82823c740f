"""What collectives of this process have moved: how often, how many bytes, and how long it waited in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..locks import Lock

__all__ = ["Traffic", "add", "so_far"]


class Traffic(NamedTuple):
    """Calls of one kind and line: their number, the bytes of this process's operands, the seconds of waiting."""

    calls: int = 0
    bytes: int = 0
    seconds: float = 0.0


_counted: dict[str, Traffic] = {}
_lock = Lock()


def add(call: str, bytes: int, seconds: float) -> None:
    """Counts a collective that is done; `call` says what it was, and where."""
    with _lock:
        old = _counted.get(call, Traffic())
        _counted[call] = Traffic(old.calls + 1, old.bytes + bytes, old.seconds + seconds)


def so_far(before: Mapping[str, Traffic] | None = None) -> dict[str, Traffic]:
    """What has been counted, or what has come since `before`; the longest waits come first."""
    with _lock:
        found = dict(_counted)
    for call, old in (before or {}).items():
        new = found.pop(call)
        if new.calls > old.calls:
            found[call] = Traffic(new.calls - old.calls, new.bytes - old.bytes, new.seconds - old.seconds)
    return dict(sorted(found.items(), key=lambda row: -row[1].seconds))
