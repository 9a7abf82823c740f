"""Name hints: the user's names of values, recovered from the unique names in the IR.

There every value has a name of its own: `y_1` is what the user calls `y` the second time, `d_y_1` its cotangent,
`d_y_1_part2` a share of that, `was_y` what `y` was in a trip of a loop.  Here they may share a name again.
"""

from __future__ import annotations

import re

from ...ir.core import Module, Value
from ...ir.walk import ops_of
from ...source import Loc, is_users, lines_of

#: What the compiler puts before and behind the name of a value that it makes of another one.
_MADE = re.compile(
    r"(?P<how>(?:again_|was_|saved_)*)(?P<d>(?:d\d*_)*)(?P<name>.*?)(?:_part\d+|_so_far)*(?:_+\d+)?", re.ASCII
)
_VERSION = re.compile(r"_+\d+\Z", re.ASCII)


class Hints:
    """Recovers names: a numeric suffix is the compiler's unless the name occurs in the user's files."""

    def __init__(self, module: Module) -> None:
        self._gradients = {f"d_{spelt(a.name or '')}" for a in module.entry.args}
        self._words: set[str] = {part for name in module.states for part in re.split(r"\W", name)}
        files: set[str] = set()
        for function in module:
            for op in ops_of(function.body):
                loc: Loc | None = op.loc
                while loc is not None and loc.file not in files:
                    files.add(loc.file)
                    loc = loc.caller
        for file in files:
            self._words.update(re.findall(r"[^\W\d]\w*", "".join(lines_of(file))))
        #: states by the names under which their gradients are known, and their short names
        self.short: dict[str, str] = {}
        self._known: dict[str, str | None] = {}

    def of(self, value: Value) -> str | None:
        """The name for a value; None if the user has none for it."""
        name = value.name
        if not name or (self._of_library(value) and self._whole(name) not in self._gradients):
            return None
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def _of_library(self, value: Value) -> bool:
        """Whether it is code of ours that gave the name."""
        loc = value.op.loc if value.op is not None else None
        return loc is not None and not is_users(loc.file)

    def _whole(self, name: str) -> str:
        """The gradient that a value is, or is a share of."""
        return "d_" + spelt(self._plain(name)[2:]) if name.startswith("d_") else name

    def _plain(self, name: str) -> str:
        """The name without what says that it is a share of a sum."""
        return re.sub(r"(?:_part\d+|_so_far)+(?:_+\d+)?\Z", "", name)

    def _found(self, name: str) -> str | None:
        if name in self._words:
            return spelt(name)
        whole = re.fullmatch(_MADE, name)
        assert whole is not None
        core = name[len(whole["how"]) + len(whole["d"]) :]
        core = self._plain(core)
        while core not in self._words and (version := _VERSION.search(core)) is not None:
            core = core[: version.start()]
        if not core or core.isdigit():
            return "saved" if whole["how"].startswith("saved") else None
        kept = "saved_" if whole["how"].startswith("saved") else ""
        core = spelt(core)
        return kept + whole["d"] + (self.short.get(core, core) if whole["d"] else core)


def spelt(name: str) -> str:
    """A name of the IR as a Python name: what stands in front of a number goes behind it (`0.weight`: `weight_0`)."""
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    parts = [p for p in text.split("_") if p]
    leading = []
    while parts and parts[0].isdigit():
        leading.append(parts.pop(0))
    return "_".join([*(parts or ["x"]), *leading]) if leading else text or "x"
