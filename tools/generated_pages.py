"""Pages of docs/ that tools write: written anew, or compared with what is there."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["write_or_check"]


def write_or_check(path: Path, text: str) -> int:
    """Writes the page; with ``--check`` on the command line says whether it is current. The exit status."""
    if "--check" not in sys.argv[1:]:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return 0
    print(f"{path.parent.name}/{path.name} is not current: run python tools/{Path(sys.argv[0]).name}", file=sys.stderr)
    return 1
