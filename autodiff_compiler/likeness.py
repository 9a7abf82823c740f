"""Names that look like one that is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest"]

#: From which likeness on one name may be a misspelling of another.
_NEAR = 0.76


def nearest(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The names that look most like `name`, best first."""
    # Names of the interpreter's own make no sense as a proposal unless one was asked for.
    known = {n for n in names if isinstance(n, str) and (name.startswith("_") or not n.startswith("_"))} - {name}
    slips = sorted(n for n in known if n.lower() == name.lower() or _one_slip(n, name))
    slips.sort(key=lambda n: (n.lower() != name.lower(), -_same_beginning(n, name)))
    alike = difflib.get_close_matches(name, sorted(known), limit, _NEAR)
    return [*slips, *(n for n in alike if n not in slips)][:limit]


def _same_beginning(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _one_slip(a: str, b: str) -> bool:
    """Whether two words differ by one wrong letter, or by the order of their letters: a lot in a short name."""
    return len(a) == len(b) > 2 and (sum(x != y for x, y in zip(a, b, strict=True)) == 1 or sorted(a) == sorted(b))


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """A hint such as ``use `relu` or `relu6` ``, or None when nothing comes near."""
    found = nearest(name, names)
    return "use " + " or ".join(f"`{n}`" for n in found) if found else None
