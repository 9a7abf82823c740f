"""What the compiler tells about its work, by Python's `logging`: nothing, unless somebody listens.

The loggers are `autodiff_compiler.recompiles` (what was compiled, and why again), `.fusion` (which operations share a
loop in machine code) and `.passes` (what each pass changed, and how long it took); their messages have the level INFO.
``AC_LOG=recompiles,passes`` writes those to standard error from the start.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .environment import words

if TYPE_CHECKING:
    import logging

    from .source import Loc

__all__ = ["asked", "listener", "place", "start"]


def listener(topic: str) -> logging.Logger | None:
    """The logger of a topic if it takes messages; None, at once, where nobody has asked for them."""
    module = sys.modules.get("logging")
    if module is None:  # nobody can have asked
        return None
    found: logging.Logger = module.getLogger(f"autodiff_compiler.{topic}")
    return found if found.isEnabledFor(module.INFO) else None


def place(loc: Loc | None) -> str:
    """How a message begins: with the user's line, if there is one."""
    if loc is None:
        return ""
    user = loc.of_user()
    return f"{user.short}: "


def asked(topic: str) -> bool:
    """Whether the environment asks for a topic."""
    return not {topic, "all"}.isdisjoint(words("AC_LOG"))


def start() -> None:
    """Does what ``AC_LOG`` asks for."""
    if not words("AC_LOG"):
        return
    import logging

    class Handler(logging.Handler):
        """Writes to what standard error is at that time; where the program has set up logging, that does."""

        def emit(self, record: logging.LogRecord) -> None:
            if not logging.getLogger().handlers and sys.stderr is not None:
                print(self.format(record), file=sys.stderr)

    handler = Handler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    for topic in ("recompiles", "fusion", "passes"):
        if asked(topic):
            logger = logging.getLogger(f"autodiff_compiler.{topic}")
            logger.setLevel(logging.INFO)
            logger.addHandler(handler)
