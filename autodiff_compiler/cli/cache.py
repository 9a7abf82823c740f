"""`cache`: the machine code that is kept on disk."""

from __future__ import annotations

from argparse import Namespace

from .command import Argument, Command, Result
from .report import lines


def _cache(options: Namespace) -> Result:
    from ..backends.native.jit import cache  # not for --help: it loads the native backend

    found = cache.info()
    off = found["state"].startswith("off")
    if options.action == "clear":
        count, size = cache.clear()
        found = {**found, "removed": count, "removed bytes": size}
        found["objects"], found["bytes"] = found["objects"] - count, found["bytes"] - size
    return Result("\n".join(lines(found)), found, int(off and options.action == "clear"))


COMMAND = Command(
    "cache",
    "what machine code is kept on disk",
    _cache,
    [Argument("action", choices=("info", "clear"), metavar="info|clear", help="show what is kept, or remove it")],
    "With it a program is compiled once for each machine. It lies in AC_CACHE_DIR, else in the user's cache folder, "
    "up to AC_CACHE_SIZE (1G); AC_CACHE=0 switches that off.",
    ["cache info", "cache clear --json"],
)
