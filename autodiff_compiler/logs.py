"""What the compiler tells about its work, by Python's `logging`: nothing, unless somebody listens.

The loggers are `autodiff_compiler.recompiles` (what was compiled, and why again), `.fusion` (which operations share a
loop in machine code), `.passes` (what each pass changed, and how long it took) and `.gradients` (where a Tensor leaves
a derivative as a number or an array); their messages have the level INFO.
``AC_LOG=recompiles,passes`` writes those to standard error from the start.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .environment import words

if TYPE_CHECKING:
    import logging

    from .source import Loc

__all__ = ["asked", "leaves_derivative", "listener", "place", "start"]

#: The lines that `leaves_derivative` has told.
_told: set[str] = set()


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


def leaves_derivative(loc: Loc | None, form: str) -> None:
    """Tells once for each line of the user's that a Tensor becomes a number or an array in what is differentiated."""
    told = listener("gradients")
    where = place(loc)
    if told is not None and where not in _told:
        _told.add(where)
        told.info("%sa Tensor leaves the derivative as %s: what is computed from it is a constant", where, form)


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
    for topic in ("recompiles", "fusion", "passes", "gradients"):
        if asked(topic):
            logger = logging.getLogger(f"autodiff_compiler.{topic}")
            logger.setLevel(logging.INFO)
            logger.addHandler(handler)
